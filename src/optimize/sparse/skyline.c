/* Cholesky factors of symmetric matrices whose entries lie near the diagonal: rows in the order of Cuthill and McKee (1969), backwards, each kept
   from its first entry on. SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/sparse/csr.h"

#include "base/alloc.h"
#include "base/status.h"
#include "optimize/vectors/vector.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CROWDED 32 /* times the mean number of neighbours: such a row stands last, since it would pull all others apart */

/* ---- The order ------------------------------------------------------------------------------------------ */
typedef struct order {
    int64_t m, n;            /* rows; those that have a place */
    const int64_t *from;
    const int32_t *to;
    int32_t *row;            /* by place */
    int32_t *level;          /* by row: -1 = has no place yet */
    bool    *last;           /* crowded */
} order;

static int64_t degree(const order *o, int64_t row) { return o->from[row + 1] - o->from[row]; }

typedef struct ranked { int64_t degree; int32_t row; } ranked;

static int by_degree(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    if (x->degree != y->degree) return x->degree < y->degree ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

/* Appends the rows that are reached from `start`, those with few neighbours first; the last is as far away as any. */
static void walk(order *o, int32_t start, ranked *work)
{
    int64_t at = o->n;
    o->row[o->n++] = start;
    o->level[start] = 0;
    for (; at < o->n; at++) {
        const int32_t row = o->row[at];
        int64_t n = 0;
        for (int64_t k = o->from[row]; k < o->from[row + 1]; k++) {
            const int32_t other = o->to[k];
            if (o->level[other] >= 0 || o->last[other]) continue;
            o->level[other] = o->level[row] + 1;
            work[n++] = (ranked){ degree(o, other), other };
        }
        qsort(work, (size_t)n, sizeof *work, by_degree);
        for (int64_t k = 0; k < n; k++) o->row[o->n++] = work[k].row;
    }
}

/* From an end of the component: the row that is farthest from any. */
static void walk_component(order *o, int32_t start, ranked *work)
{
    const int64_t begin = o->n;
    walk(o, start, work);
    const int32_t end = o->row[o->n - 1];
    for (int64_t k = begin; k < o->n; k++) o->level[o->row[k]] = -1;
    o->n = begin;
    walk(o, end, work);
}

static void place_all(order *o, ranked *sorted, ranked *work)
{
    const double mean = o->m ? (double)o->from[o->m] / (double)o->m : 0;
    for (int64_t i = 0; i < o->m; i++) {
        sorted[i] = (ranked){ degree(o, i), (int32_t)i };
        o->last[i] = (double)degree(o, i) > CROWDED * (mean + 1);
        o->level[i] = -1;
    }
    qsort(sorted, (size_t)o->m, sizeof *sorted, by_degree);
    for (int64_t i = 0; i < o->m; i++)
        if (o->level[sorted[i].row] < 0 && !o->last[sorted[i].row]) walk_component(o, sorted[i].row, work);
    for (int64_t i = 0, j = o->n - 1; i < j; i++, j--) {
        const int32_t t = o->row[i];
        o->row[i] = o->row[j];
        o->row[j] = t;
    }
    for (int64_t i = 0; i < o->m; i++)
        if (o->last[i]) o->row[o->n++] = (int32_t)i;
}

/* ---- Memory ----------------------------------------------------------------------------------------------- */
static lt_status measure(const order *o, lt_skyline *s)
{
    s->at[0] = 0;
    for (int64_t i = 0; i < o->m; i++) s->place[o->row[i]] = (int32_t)i;
    for (int64_t i = 0; i < o->m; i++) {
        const int32_t row = o->row[i];
        s->first[i] = i;
        for (int64_t k = o->from[row]; k < o->from[row + 1]; k++) s->first[i] = LT_MIN(s->first[i], s->place[o->to[k]]);
        s->at[i + 1] = s->at[i] + i - s->first[i] + 1;
        if (s->at[i + 1] > LT_SKYLINE_MOST)
            return LT_FAIL(LT_ERR_UNSUPPORTED, "constraints share variables in a way that leaves no band: their products take more than %lld numbers",
                           (long long)LT_SKYLINE_MOST);
    }
    return LT_OK;
}

lt_status lt_skyline_create(int64_t m, const int64_t *from, const int32_t *to, lt_skyline *s)
{
    const size_t n = (size_t)LT_MAX(m, 1);
    *s = (lt_skyline){ .m = m, .place = lt_malloc(n * sizeof *s->place), .first = lt_malloc(n * sizeof *s->first), .at = lt_malloc((n + 1) * sizeof *s->at) };
    order o = { .m = m, .from = from, .to = to, .row = lt_malloc(n * sizeof *o.row), .level = lt_malloc(n * sizeof *o.level), .last = lt_malloc(n) };
    ranked *sorted = lt_malloc(2 * n * sizeof *sorted);
    lt_status status = s->place && s->first && s->at && o.row && o.level && o.last && sorted ? LT_OK : LT_ERR_MEMORY;
    if (!status) place_all(&o, sorted, sorted + n);
    if (!status) status = measure(&o, s);
    lt_free(o.row);
    lt_free(o.level);
    lt_free(o.last);
    lt_free(sorted);
    if (!status) {
        s->value = lt_malloc_aligned((size_t)LT_MAX(s->at[m], 1) * sizeof *s->value);
        s->inverse = lt_malloc(n * sizeof *s->inverse);
        if (!s->value || !s->inverse) status = LT_ERR_MEMORY;
    }
    if (status) lt_skyline_release(s);
    return status;
}

void lt_skyline_release(lt_skyline *s)
{
    lt_free(s->place);
    lt_free(s->first);
    lt_free(s->at);
    lt_free_aligned(s->value);
    lt_free(s->inverse);
    *s = (lt_skyline){ 0 };
}

/* ---- Factor and solve --------------------------------------------------------------------------------------- */
#define SHORT 16 /* numbers: a function for fewer takes longer than they do */

static double dot(int64_t n, const double *a, const double *b)
{
    double sum = 0;
    if (n >= SHORT) return lt_vec_dot(n, a, b);
    for (int64_t i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

bool lt_skyline_factor(lt_skyline *s)
{
    for (int64_t i = 0; i < s->m; i++) {
        const int64_t first = s->first[i];
        double *row = s->value + s->at[i] - first; /* row[j] is entry (i, j) */
        for (int64_t j = first; j < i; j++) {
            const int64_t from = LT_MAX(first, s->first[j]);
            const double *other = s->value + s->at[j] - s->first[j];
            row[j] = (row[j] - dot(j - from, row + from, other + from)) * s->inverse[j];
        }
        const double pivot = row[i] - dot(i - first, row + first, row + first);
        if (!(pivot > 0) || isinf(pivot)) return false;
        row[i] = sqrt(pivot);
        s->inverse[i] = 1 / row[i];
    }
    return true;
}

void lt_skyline_forward(const lt_skyline *s, double *x)
{
    for (int64_t i = 0; i < s->m; i++) {
        const double *row = s->value + s->at[i] - s->first[i];
        x[i] = (x[i] - dot(i - s->first[i], row + s->first[i], x + s->first[i])) * s->inverse[i];
    }
}

void lt_skyline_backward(const lt_skyline *s, double *x)
{
    for (int64_t i = s->m - 1; i >= 0; i--) {
        const double *row = s->value + s->at[i] - s->first[i];
        const double v = x[i] *= s->inverse[i];
        for (int64_t j = s->first[i]; j < i; j++) x[j] -= v * row[j];
    }
}

void lt_skyline_forward_rows(const lt_skyline *s, int64_t k, double *x)
{
    for (int64_t i = 0; i < s->m; i++) {
        const double *row = s->value + s->at[i] - s->first[i];
        double *to = x + i * k;
        for (int64_t j = s->first[i]; j < i; j++) {
            const double *from = x + j * k, c = row[j];
            for (int64_t e = 0; e < k; e++) to[e] -= c * from[e];
        }
        for (int64_t e = 0; e < k; e++) to[e] *= s->inverse[i];
    }
}
