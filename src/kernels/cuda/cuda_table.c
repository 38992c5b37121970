/* The table of CUDA kernels: for each op the best row first. SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/cuda/cuda_table.h"

#include "base/status.h"
#include "kernels/fused_key.h"
#include "kernels/cuda/rows.h"
#include "kernels/host_kernel.h"

#include <stdio.h>
#include <string.h>

enum { MAX_VARIANTS = 40 };

static lt_status fused_prepare(lt_device *dev, const lt_problem_key *p, lt_kernel **out)
{
    lt_fused_one one;
    lt_fused_of_key(p, &one);
    return lt_fused_prepare_cuda(dev, &one.f, out);
}

static const lt_cuda_row rows[] = {
#define LT_ELEMENTWISE(ID, name, n) { "elementwise_fused", LT_OP_##ID, lt_key_is_real, fused_prepare, NULL, LT_VENDOR_NONE },
#include "kernels/ops.def"
    { "reduce_fused", LT_OP_SUM, lt_key_is_real, fused_prepare, NULL, LT_VENDOR_NONE },
    { "reduce_fused", LT_OP_RMAX, lt_key_is_real, fused_prepare, NULL, LT_VENDOR_NONE },
    { "reduce_fused", LT_OP_RMIN, lt_key_is_real, fused_prepare, NULL, LT_VENDOR_NONE },
#define ROW(op, name) { #name, LT_OP_##op, lt_##name##_applies, lt_##name##_prepare, NULL, LT_VENDOR_NONE }
#define VARIED(op, name) { #name, LT_OP_##op, lt_##name##_applies, lt_##name##_prepare, lt_##name##_variants, LT_VENDOR_NONE }
#define LIBRARY(op, name, vendor) { #name, LT_OP_##op, lt_##name##_applies, lt_##name##_prepare, NULL, LT_VENDOR_##vendor }
#define VARIED_LIBRARY(op, name, vendor) { #name, LT_OP_##op, lt_##name##_applies, lt_##name##_prepare, lt_##name##_variants, LT_VENDOR_##vendor }
    ROW(CAST, cuda_cast), ROW(RESHAPE, cuda_reshape), ROW(VIEW, cuda_view), ROW(PLACE, cuda_place),
    ROW(NORM, cuda_norm), ROW(ADJUGATE, cuda_adjugate),
    ROW(ARGMAX, cuda_arg), ROW(ARGMIN, cuda_arg), ROW(CUMSUM, cuda_cumsum), ROW(TOPK_INDEX, cuda_topk),
    ROW(TAKE, cuda_take), ROW(PUT, cuda_put), ROW(TAKE_ALONG, cuda_take_along), ROW(PUT_ALONG, cuda_put_along),
    VARIED_LIBRARY(MATMUL, matmul_cublaslt, CUBLASLT), ROW(MATMUL, cuda_matmul),
    VARIED_LIBRARY(CONV2D, conv_tf32, CUDNN), VARIED_LIBRARY(CONV2D_DGRAD, conv_tf32, CUDNN), VARIED_LIBRARY(CONV2D_WGRAD, conv_tf32, CUDNN),
    VARIED(CONV2D, conv_f32), VARIED(CONV2D_DGRAD, conv_f32),
    VARIED_LIBRARY(CONV2D, conv_cudnn, CUDNN), VARIED_LIBRARY(CONV2D_DGRAD, conv_cudnn, CUDNN), VARIED_LIBRARY(CONV2D_WGRAD, conv_cudnn, CUDNN),
    ROW(CONV2D, cuda_conv), ROW(CONV2D_DGRAD, cuda_conv), ROW(CONV2D_WGRAD, cuda_conv),
    LIBRARY(RFFT2, fft_cufft, CUFFT), LIBRARY(IRFFT2, fft_cufft, CUFFT),
    LIBRARY(SOLVE, linalg_cusolver, CUSOLVER), LIBRARY(INV, linalg_cusolver, CUSOLVER), LIBRARY(DET, linalg_cusolver, CUSOLVER), LIBRARY(LOGDET, linalg_cusolver, CUSOLVER), LIBRARY(LOGABSDET, linalg_cusolver, CUSOLVER),
    LIBRARY(CHOLESKY, linalg_cusolver, CUSOLVER), LIBRARY(EIGH, linalg_cusolver, CUSOLVER), ROW(SVD, cuda_svd), LIBRARY(SVD, linalg_cusolver, CUSOLVER), LIBRARY(EIG, linalg_cusolver, CUSOLVER),
    ROW(EIG_GRAD, cuda_eig_grad),
    ROW(MAXPOOL_INDEX, cuda_pool), ROW(AVGPOOL, cuda_pool), ROW(AVGPOOL_GRAD, cuda_pool),
};

const lt_cuda_row *lt_cuda_rows(int *n_rows)
{
    *n_rows = (int)LT_LEN(rows);
    return rows;
}

lt_digest lt_cuda_table_digest(void)
{
    lt_sha256 h;
    lt_sha256_start(&h);
    for (size_t i = 0; i < LT_LEN(rows); i++) lt_sha256_add(&h, rows[i].name, strlen(rows[i].name) + 1);
    return lt_sha256_finish(&h);
}

void lt_cuda_way_library(const lt_cuda_way *way, char *text, size_t bytes)
{
    lt_device_library_info library = { .size = sizeof library };
    text[0] = 0;
    if (way->row->vendor && lt_device_library((int)way->row->vendor, &library)) snprintf(text, bytes, "%s=%s", library.name, library.version);
}

int lt_cuda_candidates(const lt_problem_key *p, const lt_cuda_row **out, int max)
{
    int n = 0;
    for (size_t i = 0; i < LT_LEN(rows) && n < max; i++)
        if (rows[i].op == p->op && rows[i].applies(p)) out[n++] = &rows[i];
    return n;
}

static void add_way(const lt_cuda_row *row, const char *variant, lt_cuda_way *out)
{
    out->row = row;
    snprintf(out->variant, sizeof out->variant, "%.*s", LT_CUDA_VARIANT_TEXT - 1, variant);
    snprintf(out->name, sizeof out->name, "%.30s%s%s", row->name, variant[0] ? " " : "", out->variant);
}

int lt_cuda_ways(lt_device *dev, const lt_problem_key *p, lt_cuda_way *out, int max)
{
    const lt_cuda_row *row[8];
    int n_rows = lt_cuda_candidates(p, row, 8), n = 0;
    for (int i = 0; i < n_rows; i++) {
        char variant[MAX_VARIANTS][LT_CUDA_VARIANT_TEXT];
        int n_variants = row[i]->variants ? row[i]->variants(dev, p, variant, MAX_VARIANTS) : 0;
        for (int v = 0; v < n_variants && n < max; v++) add_way(row[i], variant[v], &out[n++]);
        if (!row[i]->variants && n < max) add_way(row[i], "", &out[n++]);
    }
    return n;
}

lt_status lt_cuda_way_prepare(lt_device *dev, const lt_problem_key *p, const lt_cuda_way *way, lt_kernel **out)
{
    lt_problem_key key = *p;
    key.variant = way->variant[0] ? way->variant : NULL;
    return way->row->prepare(dev, &key, out);
}

lt_status lt_cuda_prepare(lt_device *dev, const lt_problem_key *p, lt_kernel **out)
{
    const lt_cuda_row *row[8];
    int n = lt_cuda_candidates(p, row, 8);
    *out = NULL;
    for (int i = 0; i < n; i++) { /* a library that is not here, or has no engine for this, leaves it to the next row */
        lt_status s = row[i]->prepare(dev, p, out);
        if (s != LT_ERR_UNSUPPORTED || i == n - 1) return s;
    }
    char types[128] = "";
    size_t at = 0;
    for (int i = 0; i < p->n_in && i < 3; i++)
        at += (size_t)snprintf(types + at, sizeof types - at, "%s%s", i ? ", " : "", lt_dtype_name(p->in[i].dtype));
    return LT_FAIL(LT_ERR_UNSUPPORTED, "%s has no kernel for op '%s' of (%s) -> %s; run it on the CPU (--device cpu)", lt_device_id(dev),
                   lt_op_name(p->op), types, lt_dtype_name(p->out.dtype));
}

lt_status lt_cuda_prepare_texts(lt_device *dev, const lt_problem_key *p)
{
    const lt_cuda_row *best;
    lt_kernel *k;
    if (!lt_cuda_candidates(p, &best, 1) || best->vendor) return LT_OK;
    LT_TRY(best->prepare(dev, p, &k));
    lt_kernel_destroy(k);
    return LT_OK;
}
