/* Vectors on a device, for the solver: what ../vectors/vectors.h asks for by what vectors.h has. SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/device/vectors.h"

#include "base/status.h"

#include <math.h>

/* ---- Memory ------------------------------------------------------------------------------------- */
static lt_status take(const lt_vectors *s, int64_t count, const char *what, double **out) { return lt_device_vectors_take(s->device, count, what, out); }
static lt_status take_kept(const lt_vectors *s, double **out) { return lt_device_vectors_take_host(s->device, s->n, out); }
static void      end_run(const lt_vectors *s) { lt_device_vectors_reset(s->device); }

static void give_block(const lt_vectors *s, double *block) /* goes with all others, when the run ends */
{
    (void)s;
    (void)block;
}

/* ---- Arithmetic --------------------------------------------------------------------------------- */
static void combine(const lt_vectors *s, int64_t m, const double *c, const double *const *a, double *to) { lt_device_vectors_combine(s->device, m, c, a, to); }

static void copy(const lt_vectors *s, int64_t rows, const double *a, double *to)
{
    for (int64_t i = 0; i < rows; i++) lt_vectors_scaled(s, 1, a + i * s->n, to + i * s->n);
}

static void fill(const lt_vectors *s, double value, double *to) { lt_device_vectors_fill(s->device, value, to); }
static void sum_begin(const lt_vectors *s, double *y) { lt_device_vectors_sum_begin(s->device, y); }
static void sum_end(const lt_vectors *s) { lt_device_vectors_sum_end(s->device); }
static void many_begin(const lt_vectors *s, int64_t count) { lt_device_vectors_many_begin(s->device, count); }
static void many_end(const lt_vectors *s) { lt_device_vectors_many_end(s->device); }

static void sum_add(const lt_vectors *s, double c, const double *a, double *y)
{
    (void)y; /* that of sum_begin */
    lt_device_vectors_sum_add(s->device, c, a);
}

/* ---- Numbers ------------------------------------------------------------------------------------ */
static double measure(const lt_vectors *s, lt_measure what, const double *a, const double *b) { return lt_device_vectors_measure(s->device, what, a, b); }
static double dot(const lt_vectors *s, const double *a, const double *b) { return measure(s, LT_MEASURE_DOT, a, b); }
static double norm2(const lt_vectors *s, const double *a) { return lt_device_vectors_norm2(s->device, a); }
static double max_abs(const lt_vectors *s, const double *a) { return measure(s, LT_MEASURE_LARGEST, a, a); }
static double distance(const lt_vectors *s, const double *a, const double *b) { return sqrt(measure(s, LT_MEASURE_SQUARES, a, b)); }
static bool   finite_(const lt_vectors *s, const double *a) { return measure(s, LT_MEASURE_BAD, a, a) == 0; }

static double dot_sum(const lt_vectors *s, const double *a, const lt_combination *b)
{
    double total = 0;
    for (int64_t i = 0; i < b->m; i++) total += b->c[i] * dot(s, a, b->a[i]);
    return total;
}

static void expect(const lt_vectors *s, lt_measure what, const double *a, const double *b) { lt_device_vectors_expect(s->device, what, a, b); }
static bool awaited(const lt_vectors *s, lt_measure what, const double *a, const double *b) { return lt_device_vectors_awaited(s->device, what, a, b); }
static bool known(const lt_vectors *s, lt_measure what, const double *a, const double *b, double *out) { return lt_device_vectors_known(s->device, what, a, b, out); }
static void forget(const lt_vectors *s) { lt_device_vectors_forget(s->device); }
static void written(const lt_vectors *s, const double *first, int64_t count) { lt_device_vectors_written(s->device, first, count); }

/* ---- The host's side ---------------------------------------------------------------------------- */
static void put(const lt_vectors *s, int64_t count, const double *from, double *to) { lt_device_vectors_put(s->device, count, from, to); }
static void get(const lt_vectors *s, int64_t count, const double *from, double *to) { lt_device_vectors_get(s->device, count, from, to); }

static const double *look(const lt_vectors *s, int64_t count, const double *from, int64_t row)
{
    double *to = s->window + row * s->n;
    get(s, count, from, to);
    return to;
}

static double *stage(const lt_vectors *s, double *vector)
{
    (void)vector;
    return s->window;
}

static int64_t   keep(const lt_vectors *s, const double *from, double *kept) { return lt_device_vectors_keep(s->device, from, kept); }
static int64_t   arrived(const lt_vectors *s) { return lt_device_vectors_arrived(s->device); }
static void      settle(const lt_vectors *s) { lt_device_vectors_settle(s->device); }
static lt_status failure(const lt_vectors *s) { return lt_device_vectors_failure(s->device); }

static void report(const lt_vectors *s, lt_solve_transfers *to)
{
    to->vectors_on_device = true;
    to->vectors = lt_device_vectors_crossings(s->device);
}

static const lt_vectors_table table = {
    .queues = true, .take = take, .take_kept = take_kept, .take_block = take, .give_block = give_block, .end_run = end_run, .combine = combine,
    .copy = copy, .fill = fill, .sum_begin = sum_begin, .sum_add = sum_add, .sum_end = sum_end, .many_begin = many_begin,
    .many_end = many_end, .dot = dot, .dot_sum = dot_sum, .norm2 = norm2, .max_abs = max_abs, .distance = distance, .finite = finite_,
    .expect = expect, .awaited = awaited, .known = known, .forget = forget, .written = written, .put = put, .get = get, .look = look, .stage = stage,
    .keep = keep, .arrived = arrived, .settle = settle, .failure = failure, .report = report,
};

lt_status lt_vectors_on_device(lt_device_vectors *v, int64_t n, int64_t rows, lt_arena *arena, lt_vectors *out)
{
    double *window = lt_arena_alloc(arena, (size_t)(rows * n) * sizeof *window);
    if (!window) return LT_ERR_MEMORY;
    *out = (lt_vectors){ .on = &table, .n = n, .device = v, .window = window };
    return LT_OK;
}
