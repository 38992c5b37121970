/* MAXPOOL_INDEX, AVGPOOL and AVGPOOL_GRAD: planes shared out over the pool. Half types are widened
   plane by plane. SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/host_kernel.h"
#include "kernels/rows.h"
#include "kernels/window.h"

#include "base/dtype.h"
#include "base/status.h"

#include <math.h>
#include <string.h>

#define T float
#define BITS int32_t /* as wide as T; of two vectors of 16 bytes, every other element: */
#define EVEN 0, 2, 4, 6
#define ODD 1, 3, 5, 7
#define NAME(x) x##_f32
#include "kernels/cpu/conv/pool_body.h"
#undef T
#undef BITS
#undef EVEN
#undef ODD
#undef NAME
#define T double
#define BITS int64_t
#define EVEN 0, 2
#define ODD 1, 3
#define NAME(x) x##_f64
#include "kernels/cpu/conv/pool_body.h"
#undef T
#undef BITS
#undef EVEN
#undef ODD
#undef NAME

typedef struct pool_kernel {
    lt_host_kernel host;
    lt_pool_sizes s;
    lt_dtype t;                     /* what is computed in: F32 or F64 */
    int64_t n_items;                /* groups of planes */
    int64_t in_plane, out_plane;    /* elements */
    int     n_lanes;
    size_t  in_bytes, lane_bytes;
} pool_kernel;

typedef struct pool_job { const pool_kernel *v; void *const *arg; char *scratch; } pool_job;

static void pool_plane(const pool_kernel *v, void *in, void *out, void *work)
{
    bool single = v->t == LT_F32, grad = v->host.key.op == LT_OP_AVGPOOL_GRAD;
    if (v->host.key.op == LT_OP_MAXPOOL_INDEX) (single ? max_plane_f32 : max_plane_f64)(&v->s, in, out, work);
    else if (single) mean_plane_f32(&v->s, grad ? out : in, grad ? in : out, grad);
    else mean_plane_f64(&v->s, grad ? out : in, grad ? in : out, grad);
}

static lt_status pool_item(void *ctx, int64_t item, int lane)
{
    const pool_job *j = ctx;
    const pool_kernel *v = j->v;
    const lt_problem_key *p = &v->host.key;
    char *memory = j->scratch + (size_t)lane * v->lane_bytes;
    bool half = p->in[0].dtype != v->t, narrow = half && p->op != LT_OP_MAXPOOL_INDEX;
    int64_t begin, end;
    lt_part_range(v->s.planes, v->n_items, item, &begin, &end);
    for (int64_t i = begin; i < end; i++) {
        void *in = lt_offset(j->arg[0], (size_t)(i * v->in_plane) * lt_dtype_size(p->in[0].dtype));
        void *out = lt_offset(j->arg[1], (size_t)(i * v->out_plane) * lt_dtype_size(p->out.dtype));
        if (half) lt_convert(v->t, memory, p->in[0].dtype, in, v->in_plane);
        char *rest = memory + (half ? v->in_bytes : 0);
        pool_plane(v, half ? memory : in, narrow ? rest : out, rest);
        if (narrow) lt_convert(p->out.dtype, out, v->t, rest, v->out_plane);
    }
    return LT_OK;
}

static lt_status pool_run(const lt_kernel *k, lt_pool *pool, void *const *arg)
{
    const pool_kernel *v = (const pool_kernel *)k;
    pool_job j = { v, arg, arg[k->n_args] };
    return lt_host_run_lanes(pool, v->n_lanes, v->n_items, pool_item, &j);
}

bool lt_pool_planes_applies(const lt_problem_key *p)
{
    lt_dtype t = p->in[0].dtype;
    return lt_dtype_is_float(t) && (p->op == LT_OP_MAXPOOL_INDEX ? p->out.dtype == LT_I64 : p->out.dtype == t) &&
           lt_tensor_count(&p->in[0]) > 0 && lt_tensor_count(&p->out) > 0;
}

lt_status lt_pool_planes_prepare(const lt_problem_key *p, lt_kernel **out)
{
    enum { ITEM_TAPS = 1 << 15 };
    *out = NULL;
    pool_kernel *v = lt_host_kernel_create(p, sizeof *v, "pool_planes", pool_run);
    if (!v) return LT_ERR_MEMORY;
    v->s = lt_pool_sizes_of(p);
    v->t = lt_compute_type(p->in[0].dtype);
    v->in_plane = lt_tensor_count(&p->in[0]) / v->s.planes;
    v->out_plane = lt_tensor_count(&p->out) / v->s.planes;
    int64_t taps = v->s.oh * v->s.ow * v->s.c * v->s.win.kernel[0] * v->s.win.kernel[1];
    v->n_items = LT_MAX(1, LT_MIN(v->s.planes, v->s.planes * taps / ITEM_TAPS));
    v->n_lanes = lt_host_lanes(v->n_items);
    bool half = p->in[0].dtype != v->t;
    size_t size = lt_dtype_size(v->t);
    v->in_bytes = half ? lt_align64((size_t)v->in_plane * size) : 0;
    v->lane_bytes = v->in_bytes + lt_align64((size_t)LT_MAX(half ? v->out_plane : 0, v->s.ow * v->s.c) * size);
    v->host.kernel.scratch_bytes = (size_t)v->n_lanes * v->lane_bytes;
    v->host.kernel.flops = (double)v->s.planes * (double)taps;
    return lt_host_kernel_finish(&v->host, LT_OK, out);
}
