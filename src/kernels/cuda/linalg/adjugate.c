/* ADJUGATE on the CUDA device. SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/cuda/rows.h"
#include "kernels/cuda/sequence.h"
#include "kernels/cuda/text_kernel.h"
#include "kernels/host_kernel.h"

#include "base/dtype.h"
#include "base/status.h"

extern const char lt_text_adjugate_cu[];

bool lt_cuda_adjugate_applies(const lt_problem_key *p) { return lt_key_is_float(p); }

static lt_status add_part(lt_device *dev, const lt_problem_key *p, lt_sequence *s)
{
    enum { M, DET, OUT };
    const lt_shape *shape = &p->in[0].shape;
    int64_t n = shape->dim[shape->rank - 1], count = lt_leading_count(shape, shape->rank - 2), room = LT_MAX(n * n, 2 * n);
    size_t lu = lt_sequence_scratch(s, (size_t)(count * n * n) * sizeof(double)), x = lt_sequence_scratch(s, (size_t)(count * room) * sizeof(double));
    size_t row = lt_sequence_scratch(s, (size_t)(count * n) * sizeof(int32_t)), column = lt_sequence_scratch(s, (size_t)(count * n) * sizeof(int32_t));
    lt_text t = { 0 };
    lt_kernel *k;
    lt_text_type(&t, "T", p->out.dtype);
    lt_text_constant(&t, "N", n), lt_text_constant(&t, "ROOM", room);
    LT_TRY(lt_text_kernel_build(dev, &(lt_text_kernel){ .name = "adjugate_cuda", .entry = "adjugate", .body = lt_text_adjugate_cu, .n_args = 7,
                                                        .grid = { (unsigned)count }, .block = { 256 }, .bytes = lt_problem_bytes(p) }, &t, &k));
    const lt_part_arg arg[] = { { M, 0 }, { DET, 0 }, { OUT, 0 }, { LT_SEQUENCE_SCRATCH, lu }, { LT_SEQUENCE_SCRATCH, x }, { LT_SEQUENCE_SCRATCH, row },
                                { LT_SEQUENCE_SCRATCH, column } };
    return lt_sequence_add(s, k, arg);
}

lt_status lt_cuda_adjugate_prepare(lt_device *dev, const lt_problem_key *p, lt_kernel **out)
{
    lt_sequence *s;
    *out = NULL;
    LT_TRY(lt_sequence_create(dev, "adjugate_cuda", p->n_in + 1, &s));
    return lt_sequence_finish(s, lt_tensor_count(&p->out) > 0 ? add_part(dev, p, s) : LT_OK, out);
}
