/* Widening and narrowing around matrix products of half types. SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/cpu/gemm/matmul_wide.h"

#include "base/dtype.h"
#include "base/status.h"

typedef struct convert_job { lt_dtype to, from; void *dst; const void *src; int64_t n, n_parts; } convert_job;

static lt_status convert_part(void *ctx, int64_t part, int worker)
{
    (void)worker;
    const convert_job *j = ctx;
    int64_t begin, end;
    lt_part_range(j->n, j->n_parts, part, &begin, &end);
    lt_convert(j->to, lt_offset(j->dst, (size_t)begin * lt_dtype_size(j->to)), j->from,
               lt_offset(j->src, (size_t)begin * lt_dtype_size(j->from)), end - begin);
    return LT_OK;
}

static lt_status convert(lt_pool *pool, lt_dtype to, void *dst, lt_dtype from, const void *src, int64_t n)
{
    convert_job j = { to, from, dst, src, n, LT_MAX(1, n >> 15) };
    return lt_pool_run(pool, j.n_parts, convert_part, &j);
}

size_t lt_matmul_wide_place(lt_matmul_wide *w, const lt_problem_key *p)
{
    *w = (lt_matmul_wide){ .t = lt_compute_type(p->out.dtype) };
    w->half = p->out.dtype != w->t;
    if (!w->half) return 0;
    size_t size = lt_dtype_size(w->t);
    w->b_at = lt_align64((size_t)lt_tensor_count(&p->in[0]) * size);
    w->c_at = w->b_at + lt_align64((size_t)lt_tensor_count(&p->in[1]) * size);
    return w->c_at + lt_align64((size_t)lt_tensor_count(&p->out) * size);
}

lt_status lt_matmul_wide_begin(const lt_matmul_wide *w, const lt_problem_key *p, lt_pool *pool, void *const *arg, char *scratch, char *abc[3])
{
    const size_t at[3] = { w->a_at, w->b_at, w->c_at };
    for (int i = 0; i < 3; i++) {
        abc[i] = w->half ? lt_offset(scratch, at[i]) : arg[i];
        if (w->half && i < 2) LT_TRY(convert(pool, w->t, abc[i], p->in[i].dtype, arg[i], lt_tensor_count(&p->in[i])));
    }
    return LT_OK;
}

lt_status lt_matmul_wide_end(const lt_matmul_wide *w, const lt_problem_key *p, lt_pool *pool, void *const *arg, const char *c)
{
    return w->half ? convert(pool, p->out.dtype, arg[2], w->t, c, lt_tensor_count(&p->out)) : LT_OK;
}
