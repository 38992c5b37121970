/* Options that a checkpoint was made with, and which of them are others in the run that goes on. SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/output/checkpoint_fields.h"
#include "optimize/solver.h"

#include "base/alloc.h"
#include "base/status.h"

#include <string.h>

enum { TEXT = 64, MOST = 128 };

/* What a run that goes on does not read, or what says only where and how much is written. */
static bool matters(const char *name)
{
    static const char *const others[] = { "x0", "H0", "lbfgs_state", "check_H0", "scale_H0", "checkpoint", "checkpoint_every", "checkpoint_seconds",
                                          "resume", "profile", "threads" };
    for (size_t i = 0; i < LT_LEN(others); i++)
        if (!strcmp(name, others[i])) return false;
    return strncmp(name, "print_", 6) != 0;
}

static const lt_option *row_at(int k)
{
    const lt_option_table *t = lt_solve_options_table();
    for (int g = 0; g < t->n_groups; k -= t->groups[g++].n_rows)
        if (k < t->groups[g].n_rows) return &t->groups[g].rows[k];
    return NULL;
}

static void value_of(const lt_option *row, const lt_solve_options *o, char *text)
{
    text[0] = 0;
    (void)lt_options_get(lt_solve_options_table(), row->name, o, text, TEXT);
}

/* In the user's sense. */
static lt_solve_options as_given(const lt_run *r)
{
    lt_solve_options o = r->opt;
    if (r->problem->maximize) o.target_f = -o.target_f;
    return o;
}

/* ---- Writing: those that are not the defaults, by number ------------------------------------------------------------------- */
static void write_all(lt_saved *io, const lt_run *r)
{
    const lt_solve_options defaults = lt_solve_defaults(), own = as_given(r);
    char usual[TEXT], now[TEXT];
    int64_t n = 0;
    for (int pass = 0; pass < 2; pass++) {
        if (pass) lt_saved_counts(io, &(lt_saved_count){ "options", &n, 0, MOST }, 1);
        for (int k = 0; row_at(k); k++) {
            value_of(row_at(k), &defaults, usual);
            value_of(row_at(k), &own, now);
            if (!matters(row_at(k)->name) || !strcmp(usual, now)) continue;
            if (!pass) n++;
            else lt_saved_int(io, "an option", &k, 0, MOST), lt_saved_text(io, "the value of an option", now, TEXT);
        }
    }
}

/* ---- Reading ------------------------------------------------------------------------------------------------------------------- */
static void note(lt_run *r, const lt_option *row, const char *was, const char *now)
{
    lt_option_change *c = &r->resumed.change[r->resumed.n];
    if (!strcmp(was, now)) return;
    *c = (lt_option_change){ row->name, lt_arena_strdup(&r->arena, was), lt_arena_strdup(&r->arena, now) };
    r->resumed.n += c->was && c->now;
}

static void read_all(lt_saved *io, lt_run *r)
{
    const lt_solve_options defaults = lt_solve_defaults(), own = as_given(r);
    char was[TEXT], now[TEXT];
    int rows = 0, next = 0;
    int64_t n = 0;
    while (row_at(rows)) rows++;
    r->resumed.change = lt_arena_alloc(&r->arena, (size_t)rows * sizeof *r->resumed.change);
    if (!r->resumed.change) io->status = LT_ERR_MEMORY;
    lt_saved_counts(io, &(lt_saved_count){ "options", &n, 0, rows }, 1);
    for (int64_t i = 0; i <= n && !io->status; i++, next++) {
        int at = rows; /* past the last that was written there are defaults only */
        if (i < n) lt_saved_int(io, "an option", &at, next, rows - 1);
        for (; next < at && !io->status; next++) {
            value_of(row_at(next), &defaults, was);
            value_of(row_at(next), &own, now);
            if (matters(row_at(next)->name)) note(r, row_at(next), was, now);
        }
        if (i == n || io->status) break;
        lt_saved_text(io, "the value of an option", was, TEXT);
        value_of(row_at(at), &own, now);
        if (!io->status) note(r, row_at(at), was, now);
    }
}

void lt_resumed_walk(lt_saved *io, lt_run *r)
{
    if (io->writing) write_all(io, r);
    else read_all(io, r);
}

/* ---- What the solution says ------------------------------------------------------------------------------------------------------ */
lt_status lt_resumed_give(const lt_run *r, lt_solution *s)
{
    const lt_resumed *from = &r->resumed;
    size_t bytes = (size_t)from->n * sizeof *from->change;
    if (!from->n) return LT_OK;
    for (int i = 0; i < from->n; i++) bytes += strlen(from->change[i].was) + strlen(from->change[i].now) + 2;
    lt_option_change *to = lt_malloc(bytes);
    if (!to) return LT_ERR_MEMORY;
    char *text = (char *)(to + from->n);
    for (int i = 0; i < from->n; i++) {
        to[i] = from->change[i];
        to[i].was = strcpy(text, from->change[i].was);
        text += strlen(text) + 1;
        to[i].now = strcpy(text, from->change[i].now);
        text += strlen(text) + 1;
    }
    s->changed_options = to;
    s->n_changed_options = from->n;
    return LT_OK;
}
