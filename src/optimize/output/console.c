/* The table printed during a run. Nothing is printed without opt.print_to.
   SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/output/console.h"

#include "base/alloc.h"
#include "base/status.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

#define HEADER_EVERY 20 /* printed rows */

static int digits(int64_t v)
{
    int n = 1;
    while (v >= 10) v /= 10, n++;
    return n;
}

static bool wants(const lt_run *r, int level) { return r->opt.print_to && r->opt.print_level >= level; }

/* ---- Numbers ------------------------------------------------------------------------------------------------ */
/* A number in w columns, the first of them for the sign; without it when the column is never negative. */
void lt_console_number(double v, int w, bool with_sign, char *text, size_t size)
{
    char body[64];
    double a = fabs(v);
    if (isnan(v) || isinf(v)) {
        snprintf(text, size, "%-*s", with_sign ? w : w - 1, isnan(v) ? "NaN" : v > 0 ? "Inf" : "-Inf");
        return;
    }
    int integer = a >= 1 ? (int)floor(log10(a)) + 1 : 1;
    if (v == 0) snprintf(body, sizeof body, "0.%0*d", w - 3, 0);
    else if (a >= 1e100 || a < 1e-99) snprintf(body, sizeof body, "%.*e", w - 8, a);
    else if (integer > w - 3 || a < 1e-3) snprintf(body, sizeof body, "%.*e", w - 7, a);
    else {
        snprintf(body, sizeof body, "%.*f", w - 2 - integer, a);
        if ((int)strlen(body) > w - 1) body[w - 1] = 0; /* 9.9996 rounded up to one digit more */
    }
    snprintf(text, size, "%s%s", with_sign ? (v < 0 ? "-" : " ") : "", body);
}

/* ---- Borders -------------------------------------------------------------------------------------------------- */
static const lt_borders unicode_borders = { "═", "║", "│", "╦", "╬", "╩", "╣", "╔", "╗", "╚", "╝" };
static const lt_borders ascii_borders = { "=", "|", "|", "=", "=", "=", "|", "#", "#", "#", "#" };

static void repeat(FILE *f, const char *s, int n)
{
    for (int i = 0; i < n; i++) fputs(s, f);
}

static void centred(FILE *f, const char *label, int width)
{
    int n = (int)strlen(label), left = width > n ? (width - n) / 2 : 0;
    fprintf(f, "%*s%s%*s", left, "", label, width - n - left > 0 ? width - n - left : 0, "");
}

static void rule(const lt_console *c, const char *cross)
{
    for (int g = 0; g < c->n_groups; g++) {
        repeat(c->to, c->border->across, c->group[g].width);
        fputs(g + 1 < c->n_groups ? cross : c->border->right, c->to);
    }
    fputc('\n', c->to);
}

static void box_line(const lt_console *c, const char *text)
{
    /* one column less than the table: the right border closes it */
    fprintf(c->to, "%-*s%s\n", c->width - 1, text, c->border->down);
}

static void plain_rule(const lt_console *c, const char *end)
{
    repeat(c->to, c->border->across, c->width - 1);
    fprintf(c->to, "%s\n", end);
}

/* ---- Layout ----------------------------------------------------------------------------------------------------- */
static void add_group(lt_console *c, const char *label)
{
    c->group[c->n_groups++] = (lt_console_group){ .label = label, .first = c->n_columns };
}

static void add_column(lt_console *c, const char *label, int width)
{
    lt_console_group *g = &c->group[c->n_groups - 1];
    c->column[c->n_columns++] = (lt_console_column){ label, width };
    g->n_columns++;
    g->width += width + (c->n_groups == 1 ? 1 : 2) + (g->n_columns > 1); /* blanks around, and a bar between */
}

static void lay_out(lt_run *r, lt_console *c)
{
    int w = r->opt.print_width, evals = LT_MAX(5, isinf(r->opt.search_evals) ? 5 : digits((int64_t)r->opt.search_evals));
    add_group(c, "");
    add_column(c, "Iter", LT_MAX(4, digits(r->opt.max_iterations)));
    add_group(c, !r->constrained ? "Penalty Fn" : w < 12 ? "Penalty Function" : "<--- Penalty Function -->");
    add_column(c, "Mu", r->constrained ? 8 : 2);
    add_column(c, "Value", r->constrained ? w : 5);
    add_group(c, "");
    add_column(c, "Objective", w);
    add_group(c, r->constrained ? "Total Violation" : "Violation");
    add_column(c, "Ineq", r->p ? 8 : 4);
    add_column(c, "Eq", r->q ? 8 : 4);
    add_group(c, "<--- Line Search --->");
    add_column(c, "SD", 2);
    add_column(c, "Evals", evals);
    add_column(c, "t", 8);
    add_group(c, "<- Stationarity ->");
    add_column(c, "Grads", LT_MAX(5, digits(r->opt.max_samples)));
    add_column(c, "Value", 10);
    for (int g = 0; g < c->n_groups; g++) c->width += c->group[g].width + 1;
}

lt_status lt_console_create(lt_run *r)
{
    if (!r->opt.print_to || !r->opt.print_level) return LT_OK;
    lt_console *c = lt_calloc(1, sizeof *c);
    if (!c) return LT_ERR_MEMORY;
    c->to = r->opt.print_to;
    c->border = r->opt.print_ascii ? &ascii_borders : &unicode_borders;
    c->colour = r->opt.print_color && !r->opt.print_ascii;
    lay_out(r, c);
    r->console = c;
    return LT_OK;
}

void lt_console_destroy(lt_console *c) { lt_free(c); }

/* ---- Notices ------------------------------------------------------------------------------------------------------ */
static void notice(const lt_console *c, const char *title, const char *const *lines, int n)
{
    const lt_borders *b = c->border;
    int inner = c->width - 2, title_width = (int)strlen(title) + 2;
    if (c->colour) fputs("\033[33m", c->to);
    fprintf(c->to, "%s", b->top_left);
    repeat(c->to, b->across, 5);
    fprintf(c->to, " %s ", title);
    repeat(c->to, b->across, inner - 5 - title_width);
    fprintf(c->to, "%s\n", b->top_right);
    for (int i = 0; i < n; i++) {
        const char *side = b == &ascii_borders ? "#" : b->down;
        fprintf(c->to, "%s  %-*s%s\n", side, inner - 2, lines[i], side);
    }
    fprintf(c->to, "%s", b->bottom_left);
    repeat(c->to, b->across, inner);
    fprintf(c->to, "%s", b->bottom_right);
    if (c->colour) fputs("\033[0m", c->to);
    fputc('\n', c->to);
}

static void list_scaled(const lt_run *r, int64_t first, int64_t count, const char *what, char *line, size_t size)
{
    int64_t n = 0;
    for (int64_t j = first; j < first + count; j++) n += r->oracle.scale[j] != 1;
    size_t used = strlen(line);
    if (n) snprintf(line + used, size - used, "%s%lld %s", used ? ", " : "", (long long)n, what);
}

static void prescaling_notice(const lt_run *r)
{
    if (!r->opt.print_prescaling || !r->oracle.prescaled || r->oracle.hidden) return;
    char line[160] = "", first[224];
    list_scaled(r, 0, 1, "objective", line, sizeof line);
    list_scaled(r, 1 + r->q, r->p, "inequality constraints", line, sizeof line);
    list_scaled(r, 1, r->q, "equality constraints", line, sizeof line);
    snprintf(first, sizeof first, "Scaled to gradients of norm %g at x0: %s.", r->opt.prescale_above, line);
    notice(r->console, "PRESCALING", (const char *const[]){ first, "Values below are of the scaled problem." }, 2);
}

static void resumed_notice(const lt_run *r)
{
    enum { SHOWN = 12 };
    char line[SHOWN][160];
    const char *lines[SHOWN];
    const int n = LT_MIN(r->resumed.n, SHOWN);
    for (int i = 0; i < n; i++) {
        const lt_option_change *c = &r->resumed.change[i];
        snprintf(line[i], sizeof line[i], "%s: %s, was %s", c->name, *c->now ? c->now : "none", *c->was ? c->was : "none");
        lines[i] = line[i];
    }
    if (n) notice(r->console, "OPTIONS ARE NOT THOSE OF THE CHECKPOINT", lines, n);
}

static void notices(const lt_run *r)
{
    static const char *const qp[] = { "Quadratic programs are solved by lathe's own active-set code;",
                                      "every answer is certified. Disable this notice with print_qp_notice." };
    if (r->opt.print_qp_notice) notice(r->console, "QP SOLVER NOTICE", qp, 2);
    prescaling_notice(r);
    if (r->warm.text[0]) notice(r->console, "START FROM ANOTHER RUN", (const char *const[]){ r->warm.text }, 1);
    resumed_notice(r);
    if (r->bounds.n_moved) {
        char moved[120];
        snprintf(moved, sizeof moved, "%lld of %lld variables of the start were outside of their bounds and are moved to them.", (long long)r->bounds.n_moved, (long long)r->n);
        notice(r->console, "START MOVED", (const char *const[]){ moved }, 1);
    }
    if (!r->hessian.limited) return;
    char size[80];
    snprintf(size, sizeof size, "Limited-memory mode with %lld pairs.", (long long)r->hessian.capacity);
    notice(r->console, "LIMITED-MEMORY MODE NOTICE",
           (const char *const[]){ size, "Full memory is advised for nonsmooth problems where n allows it." }, 2);
}

/* ---- Table ------------------------------------------------------------------------------------------------------------- */
static void table_head(const lt_console *c)
{
    rule(c, c->border->tee);
    for (int g = 0; g < c->n_groups; g++) {
        centred(c->to, c->group[g].label, c->group[g].width);
        fputs(c->border->down, c->to);
    }
    fputc('\n', c->to);
    for (int g = 0; g < c->n_groups; g++) {
        for (int i = 0; i < c->group[g].n_columns; i++) {
            const lt_console_column *column = &c->column[c->group[g].first + i];
            if (i) fputs(c->border->bar, c->to);
            if (g) fputc(' ', c->to);
            centred(c->to, column->label, column->width);
            fputc(' ', c->to);
        }
        fputs(c->border->down, c->to);
    }
    fputc('\n', c->to);
    rule(c, c->border->cross);
}

void lt_console_header(lt_run *r)
{
    const lt_console *c = r->console;
    if (!c) return;
    char line[128];
    notices(r);
    plain_rule(c, c->border->top_right);
    snprintf(line, sizeof line, "lathe solve: nonsmooth constrained optimization by BFGS-SQP, version %s", lt_version());
    box_line(c, line);
    box_line(c, "BSD 3-Clause licence");
    plain_rule(c, c->border->right);
    box_line(c, "Problem specifications:");
    snprintf(line, sizeof line, " # of variables                     : %lld", (long long)r->n);
    box_line(c, line);
    if (lt_bounded(&r->bounds)) {
        snprintf(line, sizeof line, " # of bounds, which are kept         : %lld", (long long)lt_bounds_count(r));
        box_line(c, line);
    }
    snprintf(line, sizeof line, " # of inequality constraints        : %lld", (long long)r->p);
    box_line(c, line);
    snprintf(line, sizeof line, " # of equality constraints          : %lld", (long long)r->q);
    box_line(c, line);
    table_head(c);
}

/* One row of cells, already padded to their columns; a cell may carry colour. */
static void print_cells(const lt_console *c, char cell[][LT_CELL_BYTES], uint32_t coloured)
{
    for (int g = 0; g < c->n_groups; g++) {
        for (int i = 0; i < c->group[g].n_columns; i++) {
            int at = c->group[g].first + i, width = c->column[at].width, n = (int)strlen(cell[at]);
            if (i) fputs(c->border->bar, c->to);
            if (g) fputc(' ', c->to);
            bool colour = c->colour && (coloured >> at & 1);
            fprintf(c->to, "%s%s%s%*s ", colour ? "\033[33m" : "", cell[at], colour ? "\033[0m" : "",
                    width > n ? width - n : 0, "");
        }
        fputs(c->border->down, c->to);
    }
    fputc('\n', c->to);
}

static void dash(char *cell, int width) { snprintf(cell, LT_CELL_BYTES, "%*s-", (width - 1) / 2, ""); }

static void write_point(const lt_run *r, double f, double tvi, double tve, char cell[][LT_CELL_BYTES])
{
    lt_console_number(r->problem->maximize ? 0 - f : f, r->opt.print_width, true, cell[LT_COL_F], LT_CELL_BYTES);
    if (r->p) lt_console_number(tvi, 9, false, cell[LT_COL_INEQ], LT_CELL_BYTES);
    else dash(cell[LT_COL_INEQ], 4);
    if (r->q) lt_console_number(tve, 9, false, cell[LT_COL_EQ], LT_CELL_BYTES);
    else dash(cell[LT_COL_EQ], 4);
}

static void direction_code(const lt_run *r, char *cell)
{
    static const char *const names[] = { "S", "SI", "QN", "GD", "R" };
    if (!r->iter) snprintf(cell, LT_CELL_BYTES, "-");
    else if (r->last.level == LT_LEVEL_RANDOM) snprintf(cell, LT_CELL_BYTES, "R%lld", (long long)r->fallback.random_attempts);
    else snprintf(cell, LT_CELL_BYTES, "%s", names[r->last.level]);
}

void lt_console_row(lt_run *r)
{
    lt_console *c = r->console;
    if (!c || fmod((double)r->iter, r->opt.print_every) != 0) return;
    if (r->iter && ++c->n_rows == HEADER_EVERY) {
        table_head(c);
        c->n_rows = 0;
    }
    const lt_point *x = r->cur;
    char cell[LT_COL_COUNT][LT_CELL_BYTES];
    snprintf(cell[LT_COL_ITER], LT_CELL_BYTES, "%*lld", c->column[LT_COL_ITER].width, (long long)r->iter);
    if (r->constrained) {
        lt_console_number(x->mu, 9, false, cell[LT_COL_MU], LT_CELL_BYTES);
        lt_console_number(x->phi, r->opt.print_width, true, cell[LT_COL_PHI], LT_CELL_BYTES);
    } else {
        dash(cell[LT_COL_MU], 3);
        dash(cell[LT_COL_PHI], 5);
    }
    write_point(r, lt_oracle_f(&r->oracle, x->f), x->tvi, x->tve, cell);
    direction_code(r, cell[LT_COL_SD]);
    snprintf(cell[LT_COL_EVALS], LT_CELL_BYTES, "%*lld", c->column[LT_COL_EVALS].width, (long long)r->last.evals);
    lt_console_number(r->last.alpha, 9, false, cell[LT_COL_T], LT_CELL_BYTES);
    snprintf(cell[LT_COL_GRADS], LT_CELL_BYTES, "%*lld", c->column[LT_COL_GRADS].width, (long long)r->stat.n_samples);
    lt_console_number(r->stat.value, 9, false, cell[LT_COL_STAT], LT_CELL_BYTES);
    if (r->stat.attempts > 1) {
        size_t used = strlen(cell[LT_COL_STAT]);
        snprintf(cell[LT_COL_STAT] + used, LT_CELL_BYTES - used, ":%d", r->stat.attempts);
    }
    uint32_t coloured = (uint32_t)(r->iter && r->last.level > r->opt.first_fallback) << LT_COL_SD
                      | (uint32_t)(r->stat.attempts > 1) << LT_COL_STAT;
    print_cells(c, cell, coloured);
    fflush(c->to);
}

void lt_console_note(lt_run *r, int level, const char *format, ...)
{
    if (!r->console || !wants(r, level)) return;
    va_list list;
    va_start(list, format);
    if (r->console->colour) fputs("\033[33m", r->console->to);
    vfprintf(r->console->to, format, list);
    if (r->console->colour) fputs("\033[0m", r->console->to);
    fputc('\n', r->console->to);
    va_end(list);
}

/* ---- The end ------------------------------------------------------------------------------------------------------------- */
static void result_row(const lt_run *r, const char *name, const lt_solution_point *p)
{
    char cell[LT_COL_COUNT][LT_CELL_BYTES];
    if (!p->present) return;
    for (int i = 0; i < LT_COL_COUNT; i++) cell[i][0] = 0;
    snprintf(cell[LT_COL_ITER], LT_CELL_BYTES, "%*s", r->console->column[LT_COL_ITER].width, name);
    write_point(r, p->f, p->tvi, p->tve, cell);
    print_cells(r->console, cell, 0);
}

static void result_rows(const lt_run *r, const char *title, const lt_solution_point *f, const lt_solution_point *b,
                        const lt_solution_point *m)
{
    box_line(r->console, title);
    rule(r->console, r->console->border->tee);
    result_row(r, "F", f);
    result_row(r, "B", b);
    result_row(r, "MF", m);
    rule(r->console, r->console->border->foot);
}

/* Text broken at blanks to the width of the table. */
static void wrapped(const lt_console *c, const char *text)
{
    char line[512];
    size_t limit = (size_t)LT_MIN(c->width - 2, (int)sizeof line - 1);
    while (strlen(text) > limit) {
        size_t n = limit;
        while (n > 0 && text[n] != ' ') n--;
        if (!n) n = limit;
        snprintf(line, n + 1, "%s", text);
        box_line(c, line);
        text += n;
        while (*text == ' ') text++;
    }
    box_line(c, text);
}

void lt_console_end(lt_run *r, const lt_solution *s)
{
    const lt_console *c = r->console;
    if (!c) return;
    char line[768];
    plain_rule(c, c->border->right);
    box_line(c, "F = final iterate, B = best (to tolerance), MF = most feasible");
    result_rows(r, "Optimization results:", &s->final, &s->best, &s->most_feasible);
    if (r->oracle.prescaled && !r->oracle.hidden)
        result_rows(r, "Optimization results, unscaled:", &s->final_unscaled, &s->best_unscaled, &s->most_feasible_unscaled);
    snprintf(line, sizeof line, "Iterations:              %lld", (long long)s->iters);
    box_line(c, line);
    snprintf(line, sizeof line, "Function evaluations:    %lld", (long long)s->fn_evals);
    box_line(c, line);
    snprintf(line, sizeof line, "Termination code:        %d --- %s.", s->termination_code, lt_termination_text(s->termination_code));
    wrapped(c, line);
    if (s->error) wrapped(c, s->error);
    if (!r->opt.compat && s->certificate->known) {
        const lt_certificate *k = s->certificate;
        snprintf(line, sizeof line, "KKT residual:            %.2e, %s; %lld constraints active, %lld violated", k->residual,
                 k->stationary ? "stationary" : "not stationary", (long long)k->n_active, (long long)k->n_violated);
        wrapped(c, line);
    }
    if (s->quadprog_failure_rate > 1) {
        snprintf(line, sizeof line, "WARNING: %.1f %% of the quadratic programs failed.", s->quadprog_failure_rate);
        box_line(c, line);
    }
    plain_rule(c, c->border->bottom_right);
    fflush(c->to);
}
