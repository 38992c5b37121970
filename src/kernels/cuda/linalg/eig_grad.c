/* EIG_GRAD on the CUDA device, by texts of its own: cuSOLVER has no left eigenvectors (decision 109).
   SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/cuda/rows.h"
#include "kernels/cuda/sequence.h"
#include "kernels/cuda/text_kernel.h"
#include "kernels/host_kernel.h"

#include "base/dtype.h"
#include "base/status.h"

extern const char lt_text_eig_grad_cu[];

enum { THREADS = 128, MAX_SLOTS = 264 };
#define FACTORS_BYTES ((size_t)256 << 20) /* for the factors of eigenvalues that are worked on at once */

typedef struct eig_layout {               /* offsets in the scratch */
    int64_t n, n_matrices, n_seeds, n_slots;
    size_t  h, v, lu, swapped, right, left, used;
} eig_layout;

static eig_layout lay_out(const lt_problem_key *p, lt_sequence *s)
{
    const lt_shape *m = &p->in[0].shape, *g = &p->in[2].shape;
    eig_layout y = { .n = m->dim[m->rank - 1], .n_matrices = lt_leading_count(m, m->rank - 2), .n_seeds = lt_leading_count(g, g->rank - 2) };
    size_t square = (size_t)(y.n * y.n), matrices = (size_t)y.n_matrices, complex_bytes = 2 * sizeof(double);
    int64_t fitting = (int64_t)(FACTORS_BYTES / LT_MAX(square * complex_bytes, 1));
    y.n_slots = LT_MAX(1, LT_MIN(LT_MIN(y.n_matrices * y.n, MAX_SLOTS), fitting));
    y.h = lt_sequence_scratch(s, matrices * square * sizeof(double));
    y.v = lt_sequence_scratch(s, matrices * square * sizeof(double));
    y.lu = lt_sequence_scratch(s, (size_t)y.n_slots * square * complex_bytes);
    y.swapped = lt_sequence_scratch(s, (size_t)(y.n_slots * y.n) * sizeof(int32_t));
    y.right = lt_sequence_scratch(s, matrices * square * complex_bytes);
    y.left = lt_sequence_scratch(s, matrices * square * complex_bytes);
    y.used = lt_sequence_scratch(s, (size_t)(y.n_matrices * y.n) * sizeof(int32_t));
    return y;
}

static lt_status add(lt_device *dev, const lt_problem_key *p, const eig_layout *y, lt_sequence *s, const char *entry, unsigned grid, double flops, int n_args,
                     const lt_part_arg *arg)
{
    lt_text t = { 0 };
    lt_kernel *k;
    lt_text_type(&t, "T", p->out.dtype);
    lt_text_constant(&t, "N", y->n), lt_text_constant(&t, "MATRICES", y->n_matrices), lt_text_constant(&t, "SEEDS", y->n_seeds);
    lt_text_constant(&t, "THREADS", THREADS);
    LT_TRY(lt_text_kernel_build(dev, &(lt_text_kernel){ .name = entry, .entry = entry, .body = lt_text_eig_grad_cu, .n_args = n_args, .grid = { grid },
                                                        .block = { THREADS }, .flops = flops, .bytes = lt_problem_bytes(p) / 3 }, &t, &k));
    return lt_sequence_add(s, k, arg);
}

static lt_status add_parts(lt_device *dev, const lt_problem_key *p, lt_sequence *s)
{
    enum { M, W, G, OUT };
    eig_layout y = lay_out(p, s);
    double cube = (double)y.n * (double)y.n * (double)y.n;
#define AT(member) { LT_SEQUENCE_SCRATCH, y.member }
    const lt_part_arg reduce[] = { { M, 0 }, AT(h), AT(v) };
    const lt_part_arg find[] = { { W, 0 }, { G, 0 }, AT(h), AT(v), AT(lu), AT(swapped), AT(right), AT(left), AT(used) };
    const lt_part_arg gather[] = { { G, 0 }, AT(right), AT(left), AT(used), { OUT, 0 } };
#undef AT
    LT_TRY(add(dev, p, &y, s, "hessenberg", (unsigned)y.n_matrices, 10.0 / 3 * cube * (double)y.n_matrices, 3, reduce));
    LT_TRY(add(dev, p, &y, s, "vectors", (unsigned)y.n_slots, 100.0 * cube * (double)y.n_matrices, 9, find));
    return add(dev, p, &y, s, "gather", lt_blocks(y.n_seeds * y.n * y.n, THREADS), 8 * cube * (double)y.n_seeds, 5, gather);
}

bool lt_cuda_eig_grad_applies(const lt_problem_key *p) { return lt_key_is_float(p); }

lt_status lt_cuda_eig_grad_prepare(lt_device *dev, const lt_problem_key *p, lt_kernel **out)
{
    lt_sequence *s;
    *out = NULL;
    LT_TRY(lt_sequence_create(dev, "eig_grad_cuda", p->n_in + 1, &s));
    return lt_sequence_finish(s, lt_tensor_count(&p->out) > 0 ? add_parts(dev, p, s) : LT_OK, out);
}
