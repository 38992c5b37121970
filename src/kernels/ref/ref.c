/* Widening, running and rounding of reference kernels. SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/ref/ref.h"

#include "base/dtype.h"
#include "base/status.h"

typedef struct ref_kernel {
    lt_host_kernel host;
    lt_ref_body body;
    size_t at[LT_OP_MAX_INPUTS], out_at, work_at; /* bytes into the scratch */
} ref_kernel;

static lt_status ref_run(const lt_kernel *k, lt_pool *pool, void *const *arg)
{
    const ref_kernel *r = (const ref_kernel *)k;
    const lt_problem_key *p = &r->host.key;
    double nothing[1]; /* so that bodies get a pointer even where nothing is needed */
    char *scratch = k->scratch_bytes ? arg[k->n_args] : (char *)nothing;
    const double *in[LT_OP_MAX_INPUTS];
    for (int i = 0; i < p->n_in; i++) {
        in[i] = arg[i];
        if (p->in[i].dtype == LT_F64) continue;
        in[i] = lt_offset(scratch, r->at[i]);
        lt_convert(LT_F64, lt_offset(scratch, r->at[i]), p->in[i].dtype, arg[i], lt_tensor_count(&p->in[i]));
    }
    bool direct = p->out.dtype == LT_F64;
    double *out = direct ? arg[p->n_in] : lt_offset(scratch, r->out_at);
    LT_TRY(r->body(p, in, out, lt_offset(scratch, r->work_at)));
    if (!direct) lt_convert(p->out.dtype, arg[p->n_in], LT_F64, out, lt_tensor_count(&p->out));
    return lt_host_epilogue(&r->host, pool, arg);
}

static size_t widened_bytes(const lt_tensor_type *t)
{
    return t->dtype == LT_F64 ? 0 : lt_align64((size_t)lt_tensor_count(t) * sizeof(double));
}

lt_status lt_ref_prepare(const lt_problem_key *p, const char *name, lt_ref_body body,
                         int64_t work_doubles, double flops, lt_kernel **out)
{
    *out = NULL;
    ref_kernel *r = lt_host_kernel_create(p, sizeof *r, name, ref_run);
    if (!r) return LT_ERR_MEMORY;
    r->body = body;
    size_t at = 0;
    for (int i = 0; i < p->n_in; i++) {
        r->at[i] = at;
        at += widened_bytes(&p->in[i]);
    }
    r->out_at = at;
    at += widened_bytes(&p->out);
    r->work_at = at;
    at += lt_align64((size_t)work_doubles * sizeof(double));
    r->host.kernel.scratch_bytes = at;
    r->host.kernel.flops = flops;
    return lt_host_kernel_finish(&r->host, lt_host_epilogue_prepare(&r->host, p), out);
}
