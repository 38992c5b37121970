/* The rows of a dataset before they run. SPDX-License-Identifier: BSD-3-Clause */
#include "operators/generate/row_table.h"

#include "base/alloc.h"
#include "base/status.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Thresholds of Spinlock's labels. */
static const char *noise_regime(const lt_operator_spec *s)
{
    return s->noise_scale < 0.01 ? "low" : s->noise_scale < 0.1 ? "medium" : "high";
}

static lt_status fill_row(const lt_dataset_config *c, lt_row_table *t, int64_t i)
{
    lt_operator_spec *s = &t->spec[i];
    LT_TRY(lt_dataset_unit_row(c, t->index[i], t->unit + i * t->parameters));
    LT_TRY(lt_dataset_map_row(c, t->unit + i * t->parameters, s));
    LT_TRY(lt_operator_check(s));
    t->field[i] = lt_field_choose(c, t->index[i]);
    t->alias[i] = lt_field_alias(c, t->field[i]);
    t->policy[i] = lt_policy_name(s->policy);
    t->noise[i] = noise_regime(s);
    t->grid[i] = s->grid;
    t->max_grid = LT_MAX(t->max_grid, s->grid);
    return LT_OK;
}

static lt_status allocate(lt_row_table *t)
{
    size_t n = (size_t)t->n;
    t->index = lt_malloc(n * sizeof *t->index);
    t->unit = lt_malloc(n * (size_t)t->parameters * sizeof *t->unit);
    t->spec = lt_malloc(n * sizeof *t->spec);
    t->field = lt_malloc(n * sizeof *t->field);
    t->alias = lt_malloc(n * sizeof *t->alias);
    t->policy = lt_malloc(n * sizeof *t->policy);
    t->noise = lt_malloc(n * sizeof *t->noise);
    t->grid = lt_malloc(n * sizeof *t->grid);
    return t->index && t->unit && t->spec && t->field && t->alias && t->policy && t->noise && t->grid ? LT_OK : LT_ERR_MEMORY;
}

lt_status lt_row_table_create(const lt_dataset_config *c, int64_t first, int64_t stride, int64_t total, lt_row_table *out)
{
    *out = (lt_row_table){ .n = first < total ? (total - first + stride - 1) / stride : 0, .parameters = c->space.n };
    if (out->n < 1) return LT_FAIL(LT_ERR_ARGUMENT, "no rows: first %" PRId64 ", then every %" PRId64 " below %" PRId64, first, stride, total);
    lt_status s = allocate(out);
    for (int64_t i = 0; i < out->n && !s; i++) {
        out->index[i] = first + i * stride;
        s = fill_row(c, out, i);
    }
    if (s) lt_row_table_release(out);
    return s;
}

void lt_row_table_release(lt_row_table *t)
{
    lt_free(t->index);
    lt_free(t->unit);
    lt_free(t->spec);
    lt_free(t->field);
    lt_free((void *)t->alias);
    lt_free((void *)t->policy);
    lt_free((void *)t->noise);
    lt_free(t->grid);
    *t = (lt_row_table){ 0 };
}

/* ---- Architectures ---------------------------------------------------------------------------- */

/* U-AFNO operators have fields for layers and kernel size, which belong to the CNN and are ignored. */
int lt_architecture_compare(const lt_operator_spec *a, const lt_operator_spec *b)
{
    bool cnn = a->kind == LT_OPERATOR_CNN;
    const int x[][2] = {
        { (int)a->kind, (int)b->kind }, { a->grid, b->grid }, { cnn ? a->num_layers : 0, cnn ? b->num_layers : 0 },
        { a->base_channels, b->base_channels }, { cnn ? a->kernel_size : 0, cnn ? b->kernel_size : 0 },
        { (int)a->normalization, (int)b->normalization }, { (int)a->activation, (int)b->activation },
        { (int)a->noise, (int)b->noise }, { a->encoder_levels, b->encoder_levels }, { a->modes, b->modes }, { a->hidden_dim, b->hidden_dim },
        { a->afno_blocks, b->afno_blocks }, { a->blocks_per_level, b->blocks_per_level },
    };
    for (size_t i = 0; i < LT_LEN(x); i++)
        if (x[i][0] != x[i][1]) return x[i][0] < x[i][1] ? -1 : 1;
    return 0;
}

static int compare_pointed(const void *a, const void *b)
{
    return lt_architecture_compare(*(const lt_operator_spec *const *)a, *(const lt_operator_spec *const *)b);
}

lt_status lt_row_table_signatures(const lt_row_table *t, int64_t *out)
{
    const lt_operator_spec **list = lt_malloc((size_t)t->n * sizeof *list);
    if (!list) return LT_ERR_MEMORY;
    for (int64_t i = 0; i < t->n; i++) list[i] = &t->spec[i];
    qsort(list, (size_t)t->n, sizeof *list, compare_pointed);
    *out = 1;
    for (int64_t i = 1; i < t->n; i++) *out += lt_architecture_compare(list[i - 1], list[i]) != 0;
    lt_free((void *)list);
    return LT_OK;
}
