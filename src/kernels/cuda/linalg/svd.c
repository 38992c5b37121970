/* The SVD of small matrices in one kernel: cuSOLVER's waits for the device several times, so that nothing around it can be captured (decision 119).
   SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/cuda/rows.h"
#include "kernels/cuda/text_kernel.h"
#include "kernels/host_kernel.h"

#include "base/status.h"

extern const char lt_text_svd_cu[];

/* Rotations go one after the other: from here on the library is faster. Rows must fit a warp. */
enum { MAX_SHORT = 16, MAX_LONG = 32 };

static int64_t rows_of(const lt_problem_key *p) { return p->in[0].shape.dim[p->in[0].shape.rank - 2]; }
static int64_t columns_of(const lt_problem_key *p) { return p->in[0].shape.dim[p->in[0].shape.rank - 1]; }

bool lt_cuda_svd_applies(const lt_problem_key *p)
{
    const lt_dtype t = p->out.dtype;
    const int64_t m = rows_of(p), n = columns_of(p);
    const bool real = t == LT_F16 || t == LT_BF16 || t == LT_F32 || t == LT_F64;
    return real && lt_key_is_all(p, t) && lt_tensor_count(&p->in[0]) > 0 && LT_MIN(m, n) <= MAX_SHORT && LT_MAX(m, n) <= MAX_LONG;
}

lt_status lt_cuda_svd_prepare(lt_device *dev, const lt_problem_key *p, lt_kernel **out)
{
    const int64_t m = rows_of(p), n = columns_of(p), count = lt_tensor_count(&p->in[0]) / (m * n);
    lt_text t = { 0 };
    lt_text_type(&t, "T", p->out.dtype);
    lt_text_constant(&t, "M", m), lt_text_constant(&t, "N", n);
    lt_text_constant(&t, "R", LT_MIN(m, n)), lt_text_constant(&t, "L", LT_MAX(m, n));
    return lt_text_kernel_build(dev, &(lt_text_kernel){ .name = "svd_cuda", .entry = "svd", .body = lt_text_svd_cu, .n_args = 2, .grid = { (unsigned)count },
                                                        .block = { 32 }, .flops = 20.0 * (double)LT_MIN(m, n) * (double)lt_tensor_count(&p->in[0]),
                                                        .bytes = lt_problem_bytes(p) }, &t, out);
}
