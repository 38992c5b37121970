/* Files of older engines, rewritten with the columns of this one. SPDX-License-Identifier: BSD-3-Clause

   Engine 0.2.1 differs from those before it in SUMMARY only: the order of four columns, and the formulas of a few. A row is computed again; the columns
   that did not change must come out as the file has them, which shows that the row is the same, and stay as they are to the bit
   (decision 205). */
#include "operators/tools/extract.h"

#include "base/alloc.h"
#include "base/sized.h"
#include "base/status.h"
#include "lathe/device.h"
#include "operators/file/dataset_file.h"
#include "trace/clock.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Beginnings of names of columns whose formula changed. */
static const char *const changed[] = { "causality_lag_corr_asymmetry_", "trend_strength", "linearity_r2" };

struct lt_upgrade {
    int   n;                 /* SUMMARY columns */
    int  *from;              /* [n] where the file has each of ours */
    bool *computed;          /* [n] whether the new value counts */
    float *row;              /* [3 n] of the file, in our order, or [M, n] */
};

static bool is_changed(const char *name)
{
    for (size_t i = 0; i < LT_LEN(changed); i++)
        if (!strncmp(name, changed[i], strlen(changed[i]))) return true;
    return false;
}

static lt_status match_columns(const lt_extract *e, lt_upgrade *u)
{
    const lt_part_plan *p = &e->plan.part[LT_PART_PER_TRAJECTORY];
    const char *const *names;
    int64_t n;
    LT_TRY(lt_dataset_texts(e->d, "/features/summary/per_trajectory/features@column_names", &n, &names));
    if (n != u->n) return LT_FAIL(LT_ERR_FORMAT, "%s: names %" PRId64 " SUMMARY columns, its configuration gives %d", e->d->path, n, u->n);
    for (int k = 0; k < u->n; k++) {
        u->from[k] = -1;
        for (int j = 0; j < u->n && u->from[k] < 0; j++)
            if (!strcmp(names[j], p->names[k])) u->from[k] = j;
        if (u->from[k] < 0) return LT_FAIL(LT_ERR_FORMAT, "%s: has no SUMMARY column '%s'", e->d->path, p->names[k]);
        u->computed[k] = is_changed(p->names[k]);
    }
    return LT_OK;
}

/* A replay on another kind of device has other last bits. Stored states need no replay. */
static lt_status check_device(const lt_extract *e)
{
    const char *here = lt_device_kind(e->opt->device);
    if (e->in.has_outputs || !e->in.device[0] || !strcmp(e->in.device, here)) return LT_OK;
    return LT_FAIL(LT_ERR_ARGUMENT, "%s: was made on %s, this is %s: its rows are computed again, on a device of the same kind (--device)", e->d->path, e->in.device, here);
}

lt_status lt_upgrade_create(const lt_extract *e, lt_upgrade **out)
{
    size_t n = (size_t)e->plan.summary_columns;
    *out = NULL;
    if (!n) return LT_OK;
    LT_TRY(check_device(e));
    if (e->c->features.clip_batch) return LT_FAIL(LT_ERR_ARGUMENT, "%s: engine.clip is batch, so rows cannot be computed one by one: generate it anew", e->d->path);
    lt_upgrade *u = lt_calloc(1, sizeof *u);
    if (!u) return LT_ERR_MEMORY;
    u->n = (int)n;
    u->from = lt_malloc(n * sizeof *u->from);
    u->computed = lt_malloc(n * sizeof *u->computed);
    u->row = lt_malloc(n * (size_t)LT_MAX(e->plan.realizations, (int64_t)3) * sizeof *u->row);
    lt_status s = u->from && u->computed && u->row ? match_columns(e, u) : LT_ERR_MEMORY;
    if (s) lt_upgrade_destroy(u);
    else *out = u;
    return s;
}

void lt_upgrade_destroy(lt_upgrade *u)
{
    if (!u) return;
    lt_free(u->from);
    lt_free(u->computed);
    lt_free(u->row);
    lt_free(u);
}

/* Another processor of the same kind may round differently; a row that is another one differs in every digit. */
static bool agree(float a, float b)
{
    if (isnan(a) || isnan(b)) return isnan(a) && isnan(b);
    double size = fmax(fabs((double)a), fabs((double)b));
    return a == b || fabs((double)a - b) <= 1e-3 * size + 1e-6;
}

/* [groups, n] of the file in our order. */
static lt_status read_old(lt_upgrade *u, lt_extract *e, lt_part part, int64_t row, int64_t groups)
{
    const float *old;
    LT_TRY(lt_row_reader_get(&e->old, part, e->plan.part[part].path, row, groups * u->n, &old));
    for (int64_t g = 0; g < groups; g++)
        for (int k = 0; k < u->n; k++) u->row[g * u->n + k] = old[g * u->n + u->from[k]];
    return LT_OK;
}

static lt_status upgrade_part(lt_upgrade *u, lt_extract *e, lt_part part, int64_t row, int64_t groups, bool check, float *out)
{
    LT_TRY(read_old(u, e, part, row, groups));
    for (int64_t i = 0; i < groups * u->n; i++) {
        if (u->computed[i % u->n]) continue;
        if (check && !agree(out[i], u->row[i]))
            return LT_FAIL(LT_ERR_ARGUMENT, "%s: row %" PRId64 " does not come out as stored: %s is %g there, %g here; it needs the kind of machine that made it", e->d->path,
                           row, e->plan.part[LT_PART_PER_TRAJECTORY].names[i % u->n], (double)u->row[i], (double)out[i]);
        out[i] = u->row[i];
    }
    return LT_OK;
}

lt_status lt_upgrade_row(lt_upgrade *u, lt_extract *e, int64_t row, lt_store_row *out)
{
    LT_TRY(upgrade_part(u, e, LT_PART_PER_TRAJECTORY, row, e->plan.realizations, true, out->part[LT_PART_PER_TRAJECTORY]));
    return upgrade_part(u, e, LT_PART_AGGREGATED, row, 3, false, out->part[LT_PART_AGGREGATED]); /* follows from the other */
}

/* ---- The whole -------------------------------------------------------------------------------------------- */

void lt_upgrade_defaults_into(lt_upgrade_options *out)
{
    LT_GIVE(out, &(lt_upgrade_options){ .size = sizeof(lt_upgrade_options) });
}

static lt_status upgrade(lt_dataset *d, const lt_upgrade_options *opt, lt_generate_info *info)
{
    unsigned summary = 1u << LT_PART_PER_TRAJECTORY | 1u << LT_PART_AGGREGATED;
    lt_extract_options o = lt_extract_defaults();
    o.device = opt->device;
    o.stop = opt->stop;
    o.progress = opt->progress;
    o.progress_ctx = opt->progress_ctx;
    lt_extract e = { .d = d, .in = lt_dataset_get_info(d), .opt = &o, .info = info, .in_place = true, .upgrading = true,
                     .kept = ((1u << LT_PART_OUTPUT) - 1) & ~summary };
    lt_status s = lt_extract_run(&e);
    lt_extract_release(&e);
    return s;
}

lt_status lt_dataset_upgrade(const char *path, const lt_upgrade_options *options, lt_generate_info *out)
{
    lt_generate_info info = { .size = sizeof info };
    lt_upgrade_options opt = lt_upgrade_defaults();
    lt_dataset *d;
    LT_TRY(LT_TAKE(lt_upgrade_options, options, &opt));
    LT_TRY(LT_CHECK_SIZE(lt_generate_info, out));
    int64_t start = lt_clock_ns();
    LT_TRY(lt_dataset_open(path, &d));
    bool current = lt_dataset_get_info(d).engine_age == 0 && lt_dataset_get_info(d).engine_version[0];
    lt_status s = current ? LT_OK : upgrade(d, &opt, &info); /* nothing to do: the file is left alone */
    lt_dataset_close(d);
    info.total_seconds = lt_seconds_since(start);
    info.samples_per_second = (double)info.samples / info.total_seconds;
    LT_GIVE(out, &info);
    return s;
}
