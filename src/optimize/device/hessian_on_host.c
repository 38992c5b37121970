/* The kernels of hessian.cu in C: what they compute, for a device that is the host.
   SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/device/hessian_internal.h"
#include "optimize/vectors/vector.h"

#include "base/alloc.h"
#include "base/status.h"

#include <string.h>

typedef struct host_kernel { lt_kernel base; int width; } host_kernel;

static int width_of(const lt_kernel *k) { return ((const host_kernel *)k)->width; }

static lt_status multiply(const lt_kernel *k, lt_pool *pool, void *const *arg)
{
    (void)pool;
    const lt_hessian_sizes *z = arg[0];
    const double *H = arg[1], *b = arg[2];
    double *const *to = arg[3];
    for (int c = 0; c < width_of(k); c++)
        for (int64_t i = 0; i < z->n; i++) to[c][i] = lt_vec_dot(z->stride, H + i * z->stride, b + c * z->stride);
    return LT_OK;
}

static lt_status identity(const lt_kernel *k, lt_pool *pool, void *const *arg)
{
    (void)k;
    (void)pool;
    const lt_hessian_sizes *z = arg[0];
    const double *scale = arg[1];
    double *H = arg[2];
    memset(H, 0, (size_t)(z->n * z->stride) * sizeof *H);
    for (int64_t i = 0; i < z->n; i++) H[i * z->stride + i] = *scale;
    return LT_OK;
}

static lt_status rank2(const lt_kernel *k, lt_pool *pool, void *const *arg)
{
    (void)k;
    (void)pool;
    const lt_hessian_sizes *z = arg[0];
    const double *s = arg[1], *w = s + z->stride, gamma = s[2 * z->stride];
    for (int64_t i = 0; i < z->n; i++) {
        double *row = (double *)arg[2] + i * z->stride;
        for (int64_t j = 0; j < z->stride; j++) row[j] = gamma * row[j] + (s[i] * w[j] + w[i] * s[j]);
    }
    return LT_OK;
}

static lt_status change(const lt_kernel *k, lt_pool *pool, void *const *arg)
{
    LT_TRY(rank2(k, pool, arg));
    return multiply(k, pool, (void *const[]){ arg[0], arg[2], arg[3], arg[4] });
}

/* Shares of all rows in use times x. */
static void shares(const lt_hessian_sizes *z, const double *P, int64_t used, const double *x, double *part)
{
    for (int64_t row = 0; row < 2 * z->pairs; row++)
        for (int64_t chunk = 0; row % z->pairs < used && chunk < z->chunks; chunk++) {
            int64_t first = chunk * z->chunk, count = LT_MIN(z->chunk, z->stride - first);
            part[row * z->chunks + chunk] = lt_vec_dot(count, P + row * z->stride + first, x + first);
        }
}

static lt_status dots(const lt_kernel *k, lt_pool *pool, void *const *arg)
{
    (void)pool;
    const lt_hessian_sizes *z = arg[0];
    const double *P = arg[1], *head = arg[2], *b = arg[3];
    double *pair = arg[4], *part = arg[5];
    const int64_t used = (int64_t)head[LT_HEAD_USED];
    for (int c = 0; c < width_of(k); c++) shares(z, P, used, b + c * z->stride, part + c * 2 * z->pairs * z->chunks);
    if (head[LT_HEAD_RHO] != 0) shares(z, P, used, P + (z->pairs + (int64_t)head[LT_HEAD_NEWEST]) * z->stride, pair);
    return LT_OK;
}

static double folded(const lt_hessian_sizes *z, const double *part, int64_t row)
{
    double sum = 0;
    for (int64_t i = 0; i < z->chunks; i++) sum += part[row * z->chunks + i];
    return sum;
}

typedef struct table { int64_t pairs, used, newest; double *sy, *ys, *yy, *rho; } table;

static table table_of(const lt_hessian_sizes *z, const double *head, double *at)
{
    const int64_t n = z->pairs, square = n * n;
    return (table){ n, (int64_t)head[LT_HEAD_USED], (int64_t)head[LT_HEAD_NEWEST], at, at + square, at + 2 * square, at + 3 * square };
}

static int64_t slot_of_age(const table *t, int64_t age) { return (t->newest - age + t->pairs) % t->pairs; }

static void enter(const lt_hessian_sizes *z, const table *t, const double *pair, double rho)
{
    const int64_t at = t->newest, n = t->pairs;
    for (int64_t i = 0; i < t->used; i++) {
        t->sy[i * n + at] = t->ys[at * n + i] = folded(z, pair, i);
        t->yy[i * n + at] = t->yy[at * n + i] = folded(z, pair, n + i);
    }
    t->rho[at] = rho;
}

/* The factors of s begin as s'b and those of y as y'b. */
static void two_loops(const table *t, double gamma, double *s, double *y)
{
    const int64_t n = t->pairs;
    for (int64_t age = 0; age < t->used; age++) {
        int64_t i = slot_of_age(t, age);
        s[i] *= t->rho[i];
        for (int64_t older = age + 1; older < t->used; older++) {
            int64_t j = slot_of_age(t, older);
            s[j] -= s[i] * t->ys[i * n + j];
        }
    }
    for (int64_t i = 0; i < t->used; i++) {
        for (int64_t j = 0; j < t->used; j++) y[i] -= s[j] * t->yy[j * n + i];
        y[i] *= gamma;
    }
    for (int64_t age = t->used - 1; age >= 0; age--) {
        int64_t i = slot_of_age(t, age);
        double alpha = s[i];
        s[i] = alpha - t->rho[i] * y[i];
        y[i] = -gamma * alpha;
        for (int64_t newer = age - 1; newer >= 0; newer--) {
            int64_t j = slot_of_age(t, newer);
            y[j] += s[i] * t->sy[i * n + j];
        }
    }
}

static lt_status loops(const lt_kernel *k, lt_pool *pool, void *const *arg)
{
    (void)pool;
    const lt_hessian_sizes *z = arg[0];
    const double *head = arg[1], *pair = arg[2], *part = arg[3];
    const table t = table_of(z, head, arg[4]);
    if (head[LT_HEAD_RHO] != 0) enter(z, &t, pair, head[LT_HEAD_RHO]);
    for (int c = 0; c < width_of(k); c++) {
        double *factor = (double *)arg[5] + c * 2 * z->pairs;
        for (int64_t i = 0; i < t.used; i++) {
            factor[i] = folded(z, part + c * 2 * z->pairs * z->chunks, i);
            factor[z->pairs + i] = folded(z, part + c * 2 * z->pairs * z->chunks, z->pairs + i);
        }
        two_loops(&t, head[LT_HEAD_GAMMA], factor, factor + z->pairs);
    }
    return LT_OK;
}

static lt_status combine(const lt_kernel *k, lt_pool *pool, void *const *arg)
{
    (void)pool;
    const lt_hessian_sizes *z = arg[0];
    const double *P = arg[1], *head = arg[2], *b = arg[3], *factor = arg[4];
    const int64_t rows = 2 * z->pairs, used = (int64_t)head[LT_HEAD_USED];
    for (int c = 0; c < width_of(k); c++) {
        double *to = ((double *const *)arg[5])[c];
        for (int64_t i = 0; i < z->n; i++) to[i] = head[LT_HEAD_GAMMA] * b[c * z->stride + i];
        for (int64_t row = 0; row < rows; row++)
            if (row % z->pairs < used) lt_vec_axpy(z->n, factor[c * rows + row], P + row * z->stride, to);
    }
    return LT_OK;
}

static void destroy(lt_kernel *k) { lt_free(k); }

lt_kernel *lt_device_hessian_host_kernel(lt_hessian_entry entry, int width, const char *name, int n_args)
{
    static lt_status (*const run[LT_HESSIAN_ENTRY_COUNT])(const lt_kernel *, lt_pool *, void *const *) = {
        [LT_HESSIAN_MULTIPLY] = multiply, [LT_HESSIAN_IDENTITY] = identity, [LT_HESSIAN_RANK2] = rank2, [LT_HESSIAN_DOTS] = dots,
        [LT_HESSIAN_COMBINE] = combine, [LT_HESSIAN_CHANGE] = change, [LT_HESSIAN_LOOPS] = loops,
    };
    host_kernel *k = lt_calloc(1, sizeof *k);
    if (!k) return NULL;
    k->base = (lt_kernel){ .name = name, .run = run[entry], .destroy = destroy, .n_args = n_args };
    k->width = width;
    return &k->base;
}
