/* The kernels of vectors.cu in C: what they compute, for a device that is the host.
   SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/device/vectors_internal.h"

#include "base/alloc.h"
#include "base/status.h"

#include <math.h>
#include <string.h>

/* Both kernels: what may run side by side may run in order. */
static lt_status statements(const lt_kernel *k, lt_pool *pool, void *const *arg)
{
    (void)k;
    (void)pool;
    const lt_vector_sizes *z = arg[0];
    const lt_word *list = arg[1], *terms = list + LT_LIST_HEAD + 4 * list[0].i, *sums = list + lt_list_sums(list);
    lt_word *rest = arg[2];
    memcpy(rest, list, LT_LIST_HEAD * sizeof *rest);
    memcpy(rest + LT_LIST_HEAD, sums, (size_t)(4 * (list[2].i & UINT32_MAX)) * sizeof *rest);
    for (int64_t i = 0; i < list[LT_LIST_PASSED].i; i++) z->passed[i] = list[LT_LIST_PASSED + 1 + i].d;
    for (int64_t s = 0; s < list[0].i; s++) {
        const lt_word *statement = list + LT_LIST_HEAD + 4 * s, *term = terms + 2 * (statement[1].i & UINT32_MAX);
        for (int64_t i = 0; i < z->n; i++) {
            double v = statement[2].i ? term[0].d * term[1].q[i] : statement[3].d;
            for (int64_t t = 1; t < statement[2].i; t++) v += term[2 * t].d * term[2 * t + 1].q[i];
            statement[0].p[i] = v;
        }
    }
    return LT_OK;
}

double lt_device_vectors_fold(lt_measure what, double sum, double more)
{
    if (what != LT_MEASURE_LARGEST) return sum + more;
    return isnan(sum) ? sum : isnan(more) ? more : fmax(sum, more);
}

static double entry(lt_measure what, double a, double b)
{
    switch (what) {
    case LT_MEASURE_DOT: return a * b;
    case LT_MEASURE_SQUARES: return (a - b) * (a - b);
    case LT_MEASURE_LARGEST: return fabs(a);
    default: return isfinite(a) ? 0 : 1;
    }
}

static lt_arrival arrival(double v, uint32_t ticket)
{
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    return (lt_arrival){ (uint32_t)bits, ticket, (uint32_t)(bits >> 32), ticket };
}

static lt_status finish(const lt_kernel *k, lt_pool *pool, void *const *arg)
{
    (void)k;
    (void)pool;
    const lt_vector_sizes *z = arg[0];
    const lt_word *rest = arg[1];
    lt_arrival *results = arg[2], *host = arg[4];
    const lt_arrival *last = arg[5];
    const double *values = arg[3];
    const uint32_t ticket = (uint32_t)(rest[2].i >> 32);
    for (int64_t i = 0; arg[3] != arg[4] && i <= last - host; i++) host[i] = arrival(values[i], ticket);
    for (int64_t item = 0; item < (rest[2].i & UINT32_MAX) * z->chunks; item++) {
        const lt_word *sum = rest + LT_LIST_HEAD + 4 * (item / z->chunks);
        const lt_measure what = (lt_measure)sum[0].i;
        const int64_t first = item % z->chunks * z->chunk, end = LT_MIN(first + z->chunk, z->n);
        double v = 0;
        if (sum[0].i == LT_LIST_COPY) {
            memcpy(sum[2].p + first, sum[1].q + first, (size_t)(end - first) * sizeof v);
            continue;
        }
        for (int64_t i = first; i < end; i++) v = lt_device_vectors_fold(what, v, entry(what, sum[1].q[i], sum[2].q[i]));
        results[item] = arrival(v, ticket);
    }
    return LT_OK;
}

static void destroy(lt_kernel *k) { lt_free(k); }

lt_kernel *lt_device_vectors_host_kernel(lt_vector_entry which, const char *name)
{
    lt_kernel *k = lt_calloc(1, sizeof *k);
    if (!k) return NULL;
    const bool sums = which == LT_VECTORS_FINISH;
    *k = (lt_kernel){ .name = name, .run = sums ? finish : statements, .destroy = destroy, .n_args = sums ? 6 : 3 };
    return k;
}
