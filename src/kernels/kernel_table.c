/* The table of CPU kernels: for each op the best row first, the plain one last.
   SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/kernel_table.h"

#include "kernels/host_kernel.h"
#include "kernels/rows.h"
#if LT_VEC_X86
#include "kernels/cpu/conv/tiles/tiles.h"
#endif
#if LT_HAVE_ONEDNN
#include "kernels/cpu/conv/onednn/onednn.h"
#endif

#include "base/config.h"
#include "base/status.h"

static bool always(const lt_problem_key *p) { (void)p; return true; }

#define FAST(op, name) { #name, LT_OP_##op, lt_##name##_applies, lt_##name##_prepare }
#define REAL(op, name) { #name "_ref", LT_OP_##op, lt_key_is_real, lt_##name##_ref_prepare }
#define ANY(op, name)  { #name "_ref", LT_OP_##op, always, lt_##name##_ref_prepare }

static const lt_kernel_row rows[] = {
#define LT_ELEMENTWISE(ID, name, n) FAST(ID, elementwise_fused), REAL(ID, elementwise),
#include "kernels/ops.def"
    FAST(CAST, cast_threaded),       ANY(CAST, cast),
    FAST(RESHAPE, reshape_threaded), ANY(RESHAPE, reshape),
    FAST(VIEW, view_affine),         ANY(VIEW, view),
    FAST(PLACE, place_affine),       ANY(PLACE, place),
    FAST(SUM, reduce_fused),  REAL(SUM, reduce),
    FAST(RMAX, reduce_fused), REAL(RMAX, reduce),
    FAST(RMIN, reduce_fused), REAL(RMIN, reduce),
    FAST(NORM, norm_lazy), { "norm_ref", LT_OP_NORM, lt_norm_lazy_applies, lt_norm_ref_prepare },
    REAL(ARGMAX, arg), REAL(ARGMIN, arg), REAL(CUMSUM, cumsum),
    FAST(TOPK_INDEX, topk_sorted),     REAL(TOPK_INDEX, topk),
    FAST(TAKE, take_rows),             ANY(TAKE, take),
    FAST(TAKE_ALONG, take_along_rows), ANY(TAKE_ALONG, take_along),
    FAST(PUT_ALONG, put_along_rows),   REAL(PUT_ALONG, put_along),
    REAL(PUT, put),
    FAST(MATMUL, matmul_packed),
#if LT_HAVE_OPENBLAS
    FAST(MATMUL, matmul_openblas),
#endif
    FAST(MATMUL, matmul_packed_any),
    REAL(MATMUL, matmul),
#if LT_HAVE_ONEDNN
    FAST(CONV2D, conv_onednn_bf16),
#endif
#if LT_VEC_X86
    FAST(CONV2D, conv_tiles), FAST(CONV2D, conv_fourier), FAST(CONV2D, conv_winograd), FAST(CONV2D_DGRAD, conv_winograd), FAST(CONV2D_WGRAD, conv_winograd_grad),
#endif
    FAST(CONV2D, conv_direct), FAST(CONV2D_DGRAD, conv_direct), FAST(CONV2D_WGRAD, conv_direct),
#if LT_HAVE_ONEDNN
    FAST(CONV2D, conv_onednn), FAST(CONV2D_DGRAD, conv_onednn), FAST(CONV2D_WGRAD, conv_onednn),
#endif
    FAST(CONV2D, conv_direct_wide), FAST(CONV2D_DGRAD, conv_direct_wide), FAST(CONV2D_WGRAD, conv_direct_wide),
    REAL(CONV2D, conv), REAL(CONV2D_DGRAD, conv), REAL(CONV2D_WGRAD, conv),
    FAST(MAXPOOL_INDEX, pool_planes), REAL(MAXPOOL_INDEX, pool),
    FAST(AVGPOOL, pool_planes),       REAL(AVGPOOL, pool),
    FAST(AVGPOOL_GRAD, pool_planes),  REAL(AVGPOOL_GRAD, pool),
#if LT_HAVE_OPENBLAS
    FAST(EIG, eig_lapack), FAST(EIG_GRAD, eig_grad_lapack), FAST(EIGH, eigh_lapack), FAST(SVD, svd_lapack),
    FAST(CHOLESKY, cholesky_lapack), FAST(SOLVE, solve_lapack), FAST(INV, inv_lapack),
    FAST(DET, det_lapack), FAST(LOGDET, det_lapack), FAST(LOGABSDET, det_lapack),
#endif
    REAL(EIG, eig), REAL(EIG_GRAD, eig_grad), REAL(EIGH, eigh), REAL(SVD, svd),
    REAL(CHOLESKY, cholesky), REAL(SOLVE, solve), REAL(INV, inv), REAL(DET, det), REAL(LOGDET, det), REAL(LOGABSDET, det), REAL(ADJUGATE, adjugate),
#if LT_HAVE_FFTW || LT_HAVE_FFTWF
    FAST(RFFT2, fft_fftw), FAST(IRFFT2, fft_fftw),
#endif
    REAL(RFFT2, fft), REAL(IRFFT2, fft),
};

bool lt_kernel_bf16_choice(bool pays)
{
    static const char *const names[] = { "auto", "native", "widen" };
    int choice = 0;
    if (lt_config_choice(LT_CONFIG_BF16, names, (int)LT_LEN(names), 0, &choice)) return false;
    return choice == 0 ? pays : choice == 1;
}

bool lt_kernel_bf16_is_native(void)
{
#if LT_VEC_X86
    if (lt_kernel_bf16_choice(lt_tiles_work())) return true;
#endif
#if LT_HAVE_ONEDNN
    if (lt_onednn_bf16_is_native()) return true;
#endif
    return false;
}

const lt_kernel_row *lt_kernel_rows(int *n_rows)
{
    *n_rows = (int)LT_LEN(rows);
    return rows;
}

int lt_kernel_candidates(const lt_problem_key *p, const lt_kernel_row **out, int max)
{
    int n = 0;
    for (size_t i = 0; i < LT_LEN(rows) && n < max; i++)
        if (rows[i].op == p->op && rows[i].applies(p)) out[n++] = &rows[i];
    return n;
}
