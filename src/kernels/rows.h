/* The functions the kernel table lists, one pair per row; kernel_table.c says which op each serves.
   SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_KERNELS_ROWS_H
#define LT_KERNELS_ROWS_H

#include "kernels/kernel_table.h"

#define LT_ROW(name)                                                          \
    bool      lt_##name##_applies(const lt_problem_key *p);                   \
    lt_status lt_##name##_prepare(const lt_problem_key *p, lt_kernel **out);
#define LT_REF_ROW(name) lt_status lt_##name##_ref_prepare(const lt_problem_key *p, lt_kernel **out);

/* ref/: plain loops. They apply to every problem of their op, except that arithmetic needs real types. */
LT_REF_ROW(elementwise) LT_REF_ROW(cast) LT_REF_ROW(reshape) LT_REF_ROW(view) LT_REF_ROW(place)
LT_REF_ROW(reduce) LT_REF_ROW(norm) LT_REF_ROW(arg) LT_REF_ROW(cumsum) LT_REF_ROW(topk)
LT_REF_ROW(take) LT_REF_ROW(put) LT_REF_ROW(take_along) LT_REF_ROW(put_along)
LT_REF_ROW(matmul) LT_REF_ROW(conv) LT_REF_ROW(pool)
LT_REF_ROW(solve) LT_REF_ROW(inv) LT_REF_ROW(det) LT_REF_ROW(adjugate) LT_REF_ROW(cholesky)
LT_REF_ROW(eigh) LT_REF_ROW(svd) LT_REF_ROW(eig) LT_REF_ROW(eig_grad) LT_REF_ROW(fft)

/* cpu/: threaded, vectorised. */
LT_ROW(elementwise_fused) LT_ROW(reduce_fused) LT_ROW(norm_lazy)
LT_ROW(matmul_packed) LT_ROW(matmul_packed_any)
LT_ROW(conv_direct) LT_ROW(conv_direct_wide) LT_ROW(pool_planes)
LT_ROW(topk_sorted) LT_ROW(take_rows) LT_ROW(take_along_rows) LT_ROW(put_along_rows)
LT_ROW(cast_threaded) LT_ROW(reshape_threaded) LT_ROW(view_affine) LT_ROW(place_affine)

/* cpu/: with OpenBLAS. */
LT_ROW(matmul_openblas)
LT_ROW(eig_lapack) LT_ROW(eig_grad_lapack) LT_ROW(eigh_lapack) LT_ROW(svd_lapack)
LT_ROW(cholesky_lapack) LT_ROW(solve_lapack) LT_ROW(inv_lapack) LT_ROW(det_lapack)

/* cpu/: with AVX2 or AVX-512. */
LT_ROW(conv_fourier)
LT_ROW(conv_tiles)
LT_ROW(conv_winograd)
LT_ROW(conv_winograd_grad)

/* cpu/: with oneDNN. */
LT_ROW(conv_onednn) LT_ROW(conv_onednn_bf16)

/* cpu/: with FFTW. */
LT_ROW(fft_fftw)

/* The row of indices that row `row` of the other operand of TAKE_ALONG and PUT_ALONG uses. */
int64_t lt_along_index_row(const lt_shape *rows, const lt_shape *index, int64_t row);
/* The usual count: 2.5 n log2 n for n real points. */
double  lt_fft2_flops(int64_t count, int64_t h, int64_t w);

#endif
