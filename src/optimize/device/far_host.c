/* The kernels of optimize/cuda/hessian.cu in C: what they compute, for a device that is the host.
   SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/device/far_internal.h"
#include "optimize/vector.h"

#include "base/alloc.h"
#include "base/status.h"

#include <string.h>

typedef struct host_kernel { lt_kernel base; int width; } host_kernel;

static int width_of(const lt_kernel *k) { return ((const host_kernel *)k)->width; }

static lt_status multiply(const lt_kernel *k, lt_pool *pool, void *const *arg)
{
    (void)pool;
    const lt_far_sizes *z = arg[0];
    const double *H = arg[1], *b = arg[2];
    double *out = arg[3];
    for (int c = 0; c < width_of(k); c++)
        for (int64_t i = 0; i < z->n; i++) out[c * z->stride + i] = lt_vec_dot(z->stride, H + i * z->stride, b + c * z->stride);
    return LT_OK;
}

static lt_status identity(const lt_kernel *k, lt_pool *pool, void *const *arg)
{
    (void)k;
    (void)pool;
    const lt_far_sizes *z = arg[0];
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
    const lt_far_sizes *z = arg[0];
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

static lt_status dots(const lt_kernel *k, lt_pool *pool, void *const *arg)
{
    (void)pool;
    const lt_far_sizes *z = arg[0];
    const double *P = arg[1], *head = arg[2], *b = arg[3];
    double *part = arg[4];
    const int64_t rows = 2 * z->pairs, used = (int64_t)head[0];
    for (int c = 0; c < width_of(k); c++)
        for (int64_t row = 0; row < rows; row++)
            for (int64_t chunk = 0; row % z->pairs < used && chunk < z->chunks; chunk++) {
                int64_t first = chunk * z->chunk, count = LT_MIN(z->chunk, z->stride - first);
                part[(c * rows + row) * z->chunks + chunk] = lt_vec_dot(count, P + row * z->stride + first, b + c * z->stride + first);
            }
    return LT_OK;
}

static lt_status combine(const lt_kernel *k, lt_pool *pool, void *const *arg)
{
    (void)pool;
    const lt_far_sizes *z = arg[0];
    const double *P = arg[1], *head = arg[2], *b = arg[3], *factor = arg[4];
    const int64_t rows = 2 * z->pairs, used = (int64_t)head[0];
    for (int c = 0; c < width_of(k); c++) {
        double *out = (double *)arg[5] + c * z->stride;
        for (int64_t i = 0; i < z->stride; i++) out[i] = head[1] * b[c * z->stride + i];
        for (int64_t row = 0; row < rows; row++)
            if (row % z->pairs < used) lt_vec_axpy(z->stride, factor[c * rows + row], P + row * z->stride, out);
    }
    return LT_OK;
}

static void destroy(lt_kernel *k) { lt_free(k); }

lt_kernel *lt_far_host_kernel(lt_far_entry entry, int width, const char *name)
{
    static const struct { lt_status (*run)(const lt_kernel *, lt_pool *, void *const *); int n_args; } row[LT_FAR_ENTRY_COUNT] = {
        [LT_FAR_MULTIPLY] = { multiply, 4 }, [LT_FAR_IDENTITY] = { identity, 3 }, [LT_FAR_RANK2] = { rank2, 3 }, [LT_FAR_DOTS] = { dots, 5 },
        [LT_FAR_COMBINE] = { combine, 6 }, [LT_FAR_CHANGE] = { change, 5 },
    };
    host_kernel *k = lt_calloc(1, sizeof *k);
    if (!k) return NULL;
    k->base = (lt_kernel){ .name = name, .run = row[entry].run, .destroy = destroy, .n_args = row[entry].n_args };
    k->width = width;
    return &k->base;
}
