/* Products with sparse rows, and which of them have variables in common. SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/sparse/csr.h"

#include "base/alloc.h"
#include "base/status.h"

#include <string.h>

void lt_csr_release(lt_csr *a)
{
    lt_free(a->start);
    lt_free(a->column);
    *a = (lt_csr){ 0 };
}

double lt_csr_dot(const lt_csr *a, const double *value, int64_t row, const double *x)
{
    double sum = 0;
    for (int64_t e = a->start[row]; e < a->start[row + 1]; e++) sum += value[e] * x[a->column[e]];
    return sum;
}

void lt_csr_apply(const lt_csr *a, const double *value, const double *x, double *out)
{
    for (int64_t i = 0; i < a->m; i++) out[i] = lt_csr_dot(a, value, i, x);
}

static void add_row(const lt_csr *a, const double *value, int64_t row, double c, double *y)
{
    for (int64_t e = a->start[row]; e < a->start[row + 1]; e++) y[a->column[e]] += c * value[e];
}

void lt_csr_add(const lt_csr *a, const double *value, const double *c, double *y)
{
    for (int64_t i = 0; i < a->m; i++)
        if (c[i] != 0) add_row(a, value, i, c[i], y);
}

/* ---- Neighbours --------------------------------------------------------------------------------------- */
/* The rows in which a variable occurs: those of variable v are at row[start[v]] … row[start[v + 1] - 1]. */
typedef struct occurrences { int64_t *start; int32_t *row; } occurrences;

static lt_status list_occurrences(const lt_csr *a, occurrences *o)
{
    o->start = lt_calloc((size_t)a->n + 1, sizeof *o->start);
    o->row = lt_malloc((size_t)LT_MAX(a->start[a->m], 1) * sizeof *o->row);
    if (!o->start || !o->row) return LT_ERR_MEMORY;
    for (int64_t e = 0; e < a->start[a->m]; e++) o->start[a->column[e] + 1]++;
    for (int64_t v = 0; v < a->n; v++) o->start[v + 1] += o->start[v];
    for (int64_t i = a->m - 1; i >= 0; i--) /* from behind: start[v + 1] moves down to where v + 1 begins */
        for (int64_t e = a->start[i]; e < a->start[i + 1]; e++) o->row[--o->start[a->column[e] + 1]] = (int32_t)i;
    memmove(o->start, o->start + 1, (size_t)a->n * sizeof *o->start);
    o->start[a->n] = a->start[a->m];
    return LT_OK;
}

/* Calls itself twice: to count, and to write. seen: the row that a row was last found from. */
static int64_t neighbours_of(const lt_csr *a, const occurrences *o, int64_t row, int32_t *seen, int32_t *to)
{
    int64_t n = 0;
    seen[row] = (int32_t)row;
    for (int64_t e = a->start[row]; e < a->start[row + 1]; e++)
        for (int64_t k = o->start[a->column[e]]; k < o->start[a->column[e] + 1]; k++) {
            const int32_t other = o->row[k];
            if (seen[other] == row) continue;
            seen[other] = (int32_t)row;
            if (to) to[n] = other;
            n++;
        }
    return n;
}

static lt_status list_neighbours(const lt_csr *a, const occurrences *o, int64_t most, int32_t *seen, int64_t *from, int32_t **to)
{
    from[0] = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (int64_t i = 0; i < a->m; i++) seen[i] = -1;
        for (int64_t i = 0; i < a->m; i++) {
            const int64_t n = neighbours_of(a, o, i, seen, pass ? *to + from[i] : NULL);
            if (!pass) from[i + 1] = from[i] + n;
            if (from[i + 1] > most)
                return LT_FAIL(LT_ERR_UNSUPPORTED, "constraints share too many variables: more than %lld pairs of them have one in common",
                               (long long)most / 2);
        }
        if (!pass && !(*to = lt_malloc((size_t)LT_MAX(from[a->m], 1) * sizeof **to))) return LT_ERR_MEMORY;
    }
    return LT_OK;
}

lt_status lt_csr_neighbours(const lt_csr *a, int64_t most, int64_t **from, int32_t **to)
{
    occurrences o = { 0 };
    int32_t *seen = lt_malloc((size_t)LT_MAX(a->m, 1) * sizeof *seen);
    *to = NULL;
    *from = lt_malloc((size_t)(a->m + 1) * sizeof **from);
    lt_status s = seen && *from ? list_occurrences(a, &o) : LT_ERR_MEMORY;
    if (!s) s = list_neighbours(a, &o, most, seen, *from, to);
    lt_free(seen);
    lt_free(o.start);
    lt_free(o.row);
    if (!s) return LT_OK;
    lt_free(*from);
    lt_free(*to);
    *from = NULL;
    *to = NULL;
    return s;
}
