/* Plain matrix products on the CUDA device. SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/cuda/fused/epilogue.h"
#include "kernels/cuda/rows.h"
#include "kernels/cuda/text_kernel.h"
#include "kernels/host_kernel.h"
#include "kernels/matmul_shape.h"

#include "base/status.h"

#include <inttypes.h>

extern const char lt_text_matmul_cu[];
enum { THREADS = 256 };

/* name(i): which matrix of an operand the i-th product takes. */
static void add_operand(lt_text *t, const char *name, const lt_matmul_shape *s, const int64_t *step)
{
    lt_text_add(t, "inline i64 %s(i64 i)\n{\n    i64 at = 0;\n", name);
    for (int d = s->rank - 1; d >= 0; d--)
        lt_text_add(t, "    at += i %% %" PRId64 "ll * %" PRId64 "ll; i /= %" PRId64 "ll;\n", s->dim[d], step[d], s->dim[d]);
    lt_text_add(t, "    return at;\n}\n");
}

bool lt_cuda_matmul_applies(const lt_problem_key *p) { return lt_key_is_real(p); }

lt_status lt_cuda_matmul_prepare(lt_device *dev, const lt_problem_key *p, lt_kernel **out)
{
    lt_matmul_shape s = lt_matmul_shape_of(p);
    int64_t n = s.batch * s.m * s.n;
    lt_text t = { 0 };
    lt_kernel *k;
    if (n == 0) return lt_epilogue_wrap(dev, p, "matmul_cuda", NULL, out);
    lt_text_type(&t, "A", p->in[0].dtype);
    lt_text_type(&t, "B", p->in[1].dtype);
    lt_text_type(&t, "T", p->out.dtype);
    lt_text_type(&t, "R", lt_compute_type(p->out.dtype));
    lt_text_constant(&t, "M", s.m), lt_text_constant(&t, "N", s.n), lt_text_constant(&t, "K", s.k), lt_text_constant(&t, "BATCH", s.batch);
    lt_text_constant(&t, "TRANS_A", s.trans_a), lt_text_constant(&t, "TRANS_B", s.trans_b);
    add_operand(&t, "a_matrix", &s, s.a);
    add_operand(&t, "b_matrix", &s, s.b);
    LT_TRY(lt_text_kernel_build(dev, &(lt_text_kernel){ "matmul_cuda", "matmul", lt_text_matmul_cu, 3, { lt_blocks(n, THREADS) }, { THREADS },
                                                        2.0 * (double)n * (double)s.k, lt_problem_bytes(p) }, &t, &k));
    return lt_epilogue_wrap(dev, p, "matmul_cuda", k, out);
}
