/* NORM without a look at its second operand where the sums of squares are ordinary, which is nearly always.
   SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/host_kernel.h"
#include "kernels/norm_lines.h"
#include "kernels/rows.h"

#include "base/dtype.h"
#include "base/status.h"

#include <math.h>

enum { PART_LINES = 1 << 14 };

typedef struct norm_kernel {
    lt_host_kernel host;
    lt_norm_lines  lines;
    int64_t        n, n_parts;
} norm_kernel;

typedef struct norm_job { const norm_kernel *v; void *const *arg; } norm_job;

/* Lines [first, end): square roots; whether every sum was ordinary. */
static bool take_roots(const norm_kernel *v, const void *s, void *out, int64_t first, int64_t end)
{
    lt_dtype t = v->lines.type;
    bool ordinary = true;
    for (int64_t i = first; i < end; i++) {
        double sum = lt_load_double(t, s, i);
        ordinary &= lt_norm_is_ordinary(t, sum);
        lt_store_double(t, out, i, sqrt(sum));
    }
    return ordinary;
}

static lt_status norm_part(void *ctx, int64_t part, int worker)
{
    (void)worker;
    const norm_job *j = ctx;
    const norm_kernel *v = j->v;
    lt_dtype t = v->lines.type;
    int64_t first, end;
    lt_part_range(v->n, v->n_parts, part, &first, &end);
    if (take_roots(v, j->arg[0], j->arg[2], first, end)) return LT_OK;
    for (int64_t i = first; i < end; i++) {
        double sum = lt_load_double(t, j->arg[0], i);
        if (!isnan(sum) && !lt_norm_is_ordinary(t, sum)) lt_store_double(t, j->arg[2], i, lt_norm_of_line(&v->lines, t, j->arg[1], i));
    }
    return LT_OK;
}

static lt_status norm_run(const lt_kernel *k, lt_pool *pool, void *const *arg)
{
    norm_job j = { (const norm_kernel *)k, arg };
    return j.v->n_parts == 1 ? norm_part(&j, 0, 0) : lt_pool_run(pool, j.v->n_parts, norm_part, &j);
}

bool lt_norm_lazy_applies(const lt_problem_key *p) { return lt_key_is_float(p); }

lt_status lt_norm_lazy_prepare(const lt_problem_key *p, lt_kernel **out)
{
    *out = NULL;
    norm_kernel *v = lt_host_kernel_create(p, sizeof *v, "norm_lazy", norm_run);
    if (!v) return LT_ERR_MEMORY;
    v->lines = lt_norm_lines_of(p);
    v->n = lt_tensor_count(&p->out);
    v->n_parts = LT_MAX(1, v->n / PART_LINES);
    v->host.kernel.flops = 4 * (double)v->n;
    v->host.kernel.bytes = 2.0 * (double)lt_tensor_bytes(&p->out);
    *out = &v->host.kernel;
    return LT_OK;
}
