/* Vectors on the host: everything is carried out at once. SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/vectors/vectors.h"

#include "optimize/vectors/dense.h"
#include "optimize/vectors/vector.h"

#include "base/alloc.h"
#include "base/status.h"

#include <math.h>
#include <string.h>

/* ---- Memory ------------------------------------------------------------------------------------- */
static lt_status take(const lt_vectors *s, int64_t count, const char *what, double **out)
{
    (void)what;
    *out = lt_arena_alloc(s->arena, (size_t)LT_MAX(count, 1) * sizeof **out);
    return *out ? LT_OK : LT_ERR_MEMORY;
}

static lt_status take_kept(const lt_vectors *s, double **out) { return take(s, s->n, "a record", out); }

static lt_status take_block(const lt_vectors *s, int64_t count, const char *what, double **out)
{
    (void)s;
    (void)what;
    *out = lt_malloc_aligned((size_t)count * sizeof **out);
    return *out ? LT_OK : LT_ERR_MEMORY;
}

static void give_block(const lt_vectors *s, double *block)
{
    (void)s;
    lt_free_aligned(block);
}

/* ---- Arithmetic --------------------------------------------------------------------------------- */
static void mix(int64_t n, double c, const double *a, double d, const double *b, double *to)
{
    if (c == 1 && to != b) lt_vec_step(n, a, d, b, to);
    else for (int64_t i = 0; i < n; i++) to[i] = c * a[i] + d * b[i];
}

static void combine(const lt_vectors *s, int64_t m, const double *c, const double *const *a, double *to)
{
    const int64_t n = s->n;
    if (m == 2) {
        mix(n, c[0], a[0], c[1], a[1], to);
        return;
    }
    if (to != a[0] || c[0] != 1)
        for (int64_t i = 0; i < n; i++) to[i] = c[0] * a[0][i];
    for (int64_t j = 1; j < m; j++) s->dense->axpy(n, c[j], a[j], to);
}

static void copy(const lt_vectors *s, int64_t rows, const double *a, double *to) { memcpy(to, a, (size_t)(rows * s->n) * sizeof *to); }

static void fill(const lt_vectors *s, double value, double *to)
{
    for (int64_t i = 0; i < s->n; i++) to[i] = value;
}

static void sum_begin(const lt_vectors *s, double *y) { memset(y, 0, (size_t)s->n * sizeof *y); }
static void sum_add(const lt_vectors *s, double c, const double *a, double *y) { s->dense->axpy(s->n, c, a, y); }

/* ---- Numbers ------------------------------------------------------------------------------------ */
static double dot(const lt_vectors *s, const double *a, const double *b) { return s->dense->dot(s->n, a, b); }
static double norm2(const lt_vectors *s, const double *a) { return lt_vec_norm2(s->n, a); }
static double max_abs(const lt_vectors *s, const double *a) { return lt_vec_max_abs(s->n, a); }
static double distance(const lt_vectors *s, const double *a, const double *b) { return lt_vec_distance(s->n, a, b); }
static bool   finite_(const lt_vectors *s, const double *a) { return lt_vec_finite(s->n, a); }

static double dot_sum(const lt_vectors *s, const double *a, const lt_combination *b) { return dot(s, a, b->whole); }

/* ---- The host's side ---------------------------------------------------------------------------- */
static void put(const lt_vectors *s, int64_t count, const double *from, double *to)
{
    (void)s;
    if (to != from) memcpy(to, from, (size_t)count * sizeof *to);
}

static const double *look(const lt_vectors *s, int64_t count, const double *from, int64_t row)
{
    (void)s;
    (void)count;
    (void)row;
    return from;
}

static double *stage(const lt_vectors *s, double *vector)
{
    (void)s;
    return vector;
}

static int64_t keep(const lt_vectors *s, const double *from, double *kept)
{
    copy(s, 1, from, kept);
    return 0;
}

/* What only a device does is left out. */
static const lt_vectors_table table = {
    .take = take, .take_kept = take_kept, .take_block = take_block, .give_block = give_block, .combine = combine, .copy = copy, .fill = fill,
    .sum_begin = sum_begin, .sum_add = sum_add, .dot = dot, .dot_sum = dot_sum, .norm2 = norm2, .max_abs = max_abs, .distance = distance,
    .finite = finite_, .put = put, .get = put, .look = look, .stage = stage, .keep = keep,
};

lt_vectors lt_vectors_on_host(int64_t n, lt_arena *arena)
{
    return (lt_vectors){ .on = &table, .n = n, .arena = arena, .dense = lt_dense_best() };
}
