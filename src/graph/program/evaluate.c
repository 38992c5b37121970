/* Running one op by itself on host memory. SPDX-License-Identifier: BSD-3-Clause */
#include "graph/program/evaluate.h"

#include "base/alloc.h"
#include "base/dtype.h"
#include "base/status.h"

lt_status lt_kernel_best(const lt_problem_key *p, lt_kernel **out)
{
    const lt_kernel_row *row;
    *out = NULL;
    if (lt_kernel_candidates(p, &row, 1) < 1)
        return LT_FAIL(LT_ERR_UNSUPPORTED, "no kernel for %s of %s%s", lt_op_name(p->op), lt_dtype_name(p->out.dtype),
                       lt_shape_str(&p->out.shape).s);
    return row->prepare(p, out);
}

lt_status lt_evaluate(lt_op op, int n_in, const lt_tensor_type *type, const void *const *in,
                      const lt_tensor_type *out_type, const lt_attr *attr, void *out)
{
    lt_problem_key key = { .op = op, .n_in = n_in, .out = *out_type, .attr = attr, .isa = lt_isa_best() };
    void *arg[LT_OP_MAX_INPUTS + 2];
    for (int i = 0; i < n_in; i++) { key.in[i] = type[i]; arg[i] = (void *)(uintptr_t)in[i]; }
    lt_kernel *k;
    LT_TRY(lt_kernel_best(&key, &k));
    void *scratch = k->scratch_bytes ? lt_malloc_aligned(k->scratch_bytes) : NULL;
    lt_status s = k->scratch_bytes && !scratch ? LT_ERR_MEMORY : LT_OK;
    arg[n_in] = out;
    arg[n_in + 1] = scratch;
    if (!s) s = k->run(k, lt_pool_shared(), arg);
    lt_free_aligned(scratch);
    lt_kernel_destroy(k);
    return s;
}

lt_status lt_evaluate_scalar(lt_op op, lt_dtype t, int n_in, const double *in, double *out)
{
    double data[3], result = 0;
    const void *arg[3];
    lt_tensor_type type[3], scalar = { t, lt_shape0() };
    for (int i = 0; i < n_in; i++) {
        lt_store_double(t, &data[i], 0, in[i]);
        arg[i] = &data[i];
        type[i] = scalar;
    }
    LT_TRY(lt_evaluate(op, n_in, type, arg, &scalar, NULL, &result));
    *out = lt_load_double(t, &result, 0);
    return LT_OK;
}
