/* Matrix products by cuBLASLt, with the bias in its epilogue. SPDX-License-Identifier: BSD-3-Clause

   cuBLASLt thinks in columns: our row-major out = a b is its out' = b' a', so b comes first. */
#include "device/cuda/libraries.h"
#include "kernels/cuda/fused/epilogue.h"
#include "kernels/cuda/rows.h"
#include "kernels/cuda/text_kernel.h"
#include "kernels/host_kernel.h"
#include "kernels/matmul_shape.h"

#include "base/alloc.h"
#include "base/status.h"

#include <stdio.h>
#include <string.h>

#define WORKSPACE_BYTES ((size_t)32 << 20)
enum { FAST_ALIGNMENT = 16, MAX_ALGORITHMS = 16 };

typedef struct lt_product {
    lt_kernel base;
    const lt_cublaslt *api;
    cublasLtHandle_t handle;
    cublasLtMatmulDesc_t desc;
    cublasLtMatrixLayout_t first, second, result; /* b, a, out */
    cublasLtMatmulAlgo_t algo[2];                 /* for addresses that are multiples of 16 bytes, and for any */
    size_t  workspace[2];
    lt_matmul_shape s;                            /* rank: outer dims that are looped over */
    size_t  element;                              /* bytes */
    bool    wide;                                 /* f64: scale factors are doubles */
    int     bias, out;                            /* arguments; bias -1: none */
    pthread_mutex_t use;                          /* of desc, which holds where the bias of a launch lies */
} lt_product;

static lt_status failed(const lt_product *m, unsigned r, const char *what)
{
    return LT_FAIL(LT_ERR_DEVICE, "cuBLASLt: %s: %s", what, m->api->cublasLtGetStatusString(r));
}
#define LT_TRY_BLAS(what, call) do { unsigned r_ = (call); if (r_) return failed(m, r_, what); } while (0)

static bool aligned(const void *p) { return (uintptr_t)p % FAST_ALIGNMENT == 0; }

static lt_status run_one(const lt_product *m, lt_stream *st, const char *a, const char *b, char *out, char *workspace)
{
    static const double one = 1, zero = 0;
    static const float one32 = 1, zero32 = 0;
    int how = aligned(a) && aligned(b) && aligned(out) ? 0 : 1;
    const void *alpha = m->wide ? (const void *)&one : &one32, *beta = m->wide ? (const void *)&zero : &zero32;
    LT_TRY_BLAS("matmul", m->api->cublasLtMatmul(m->handle, m->desc, alpha, b, m->first, a, m->second, beta, out, m->result, out, m->result,
                                                 &m->algo[how], workspace, m->workspace[how], lt_cuda_handle(st)));
    return LT_OK;
}

static lt_status run_all(const lt_product *m, lt_stream *st, void *const *arg)
{
    const lt_matmul_shape *s = &m->s;
    char *workspace = m->base.scratch_bytes ? (char *)(((uintptr_t)arg[m->base.n_args] + 255) / 256 * 256) : NULL;
    int64_t n = 1;
    for (int d = 0; d < s->rank; d++) n *= s->dim[d];
    int64_t group = s->batch / n;
    if (m->bias >= 0)
        LT_TRY_BLAS("bias", m->api->cublasLtMatmulDescSetAttribute(m->desc, LT_CUBLASLT_MATMUL_DESC_BIAS_POINTER, &arg[m->bias], sizeof arg[m->bias]));
    for (int64_t i = 0; i < n; i++) {
        int64_t a, b;
        lt_matmul_operands(s, i, &a, &b);
        LT_TRY(run_one(m, st, (const char *)arg[0] + (size_t)(a * s->m * s->k) * m->element, (const char *)arg[1] + (size_t)(b * s->k * s->n) * m->element,
                       (char *)arg[m->out] + (size_t)(i * group * s->m * s->n) * m->element, workspace));
    }
    return LT_OK;
}

static lt_status enqueue(const lt_kernel *k, lt_stream *st, void *const *arg)
{
    lt_product *m = (lt_product *)(uintptr_t)k; /* what is locked is not part of what const promises */
    pthread_mutex_lock(&m->use);
    lt_status s = run_all(m, st, arg);
    pthread_mutex_unlock(&m->use);
    return s;
}

static void destroy(lt_kernel *k)
{
    lt_product *m = (lt_product *)k;
    if (m->desc) (void)m->api->cublasLtMatmulDescDestroy(m->desc);
    if (m->first) (void)m->api->cublasLtMatrixLayoutDestroy(m->first);
    if (m->second) (void)m->api->cublasLtMatrixLayoutDestroy(m->second);
    if (m->result) (void)m->api->cublasLtMatrixLayoutDestroy(m->result);
    pthread_mutex_destroy(&m->use);
    lt_free(m);
}

/* ---- Making -------------------------------------------------------------------------------------- */
static unsigned data_type(lt_dtype t)
{
    return t == LT_F64 ? LT_CUDA_R_64F : t == LT_F32 ? LT_CUDA_R_32F : t == LT_F16 ? LT_CUDA_R_16F : LT_CUDA_R_16BF;
}

static lt_status make_layout(const lt_product *m, lt_dtype t, int64_t rows, int64_t columns, int64_t batch, int64_t step, cublasLtMatrixLayout_t *out)
{
    int32_t count = (int32_t)batch;
    LT_TRY_BLAS("layout", m->api->cublasLtMatrixLayoutCreate(out, data_type(t), (uint64_t)rows, (uint64_t)columns, rows));
    if (batch == 1) return LT_OK;
    LT_TRY_BLAS("batch", m->api->cublasLtMatrixLayoutSetAttribute(*out, LT_CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof count));
    LT_TRY_BLAS("batch step", m->api->cublasLtMatrixLayoutSetAttribute(*out, LT_CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &step, sizeof step));
    return LT_OK;
}

/* A batch that shares b is one tall product; otherwise the innermost dims that step evenly become cuBLASLt's
   batch. The dims that are left (s->rank) are looped over. */
static void split_batch(lt_matmul_shape *s, int64_t *count, int64_t *step_a, int64_t *step_b)
{
    bool shares_b = !s->trans_a;
    for (int d = 0; d < s->rank; d++) shares_b = shares_b && (s->dim[d] == 1 || (s->b[d] == 0 && s->a[d] != 0));
    *count = 1;
    *step_a = *step_b = 0;
    if (shares_b) {
        s->m *= s->batch;
        s->batch = 1;
        s->rank = 0;
        return;
    }
    for (; s->rank > 0; s->rank--) {
        int d = s->rank - 1;
        if (s->dim[d] == 1) continue;
        if (*count > 1 && (s->a[d] != *step_a * *count || s->b[d] != *step_b * *count)) break;
        if (*count * s->dim[d] > INT32_MAX) break;
        if (*count == 1) {
            *step_a = s->a[d];
            *step_b = s->b[d];
        }
        *count *= s->dim[d];
    }
}

/* "6.20.1.0.0.0.15.0.2": what makes an algorithm, in the order of cuBLASLt's attributes. */
static void name_algorithm(const lt_product *m, const cublasLtMatmulAlgo_t *algo, char text[LT_CUDA_VARIANT_TEXT])
{
    size_t at = 0;
    text[0] = '\0';
    for (unsigned a = LT_CUBLASLT_ALGO_CONFIG_ID; a <= LT_CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID; a++) {
        uint32_t value = 0;
        size_t written, bytes = a >= LT_CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID ? sizeof(uint16_t) : sizeof value;
        (void)m->api->cublasLtMatmulAlgoConfigGetAttribute(algo, a, &value, bytes, &written);
        at += (size_t)snprintf(text + at, LT_CUDA_VARIANT_TEXT - at, "%s%u", a ? "." : "", value);
    }
}

/* The algorithms for addresses that are multiples of `alignment` bytes, cuBLASLt's favourite first. */
static lt_status list_algorithms(const lt_product *m, uint32_t alignment, cublasLtMatmulHeuristicResult_t *found, int max, int *n)
{
    cublasLtMatmulPreference_t pref;
    size_t limit = WORKSPACE_BYTES;
    uint32_t reduction = LT_CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE; /* 16 bits hold results, never sums */
    *n = 0;
    LT_TRY_BLAS("preference", m->api->cublasLtMatmulPreferenceCreate(&pref));
    unsigned r = m->api->cublasLtMatmulPreferenceSetAttribute(pref, LT_CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &limit, sizeof limit);
    if (!r && m->element < 4) r = m->api->cublasLtMatmulPreferenceSetAttribute(pref, LT_CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, &reduction, sizeof reduction);
    for (unsigned a = LT_CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES; a <= LT_CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES && !r; a++)
        r = m->api->cublasLtMatmulPreferenceSetAttribute(pref, a, &alignment, sizeof alignment);
    if (!r) r = m->api->cublasLtMatmulAlgoGetHeuristic(m->handle, m->desc, m->first, m->second, m->result, m->result, pref, max, found, n);
    (void)m->api->cublasLtMatmulPreferenceDestroy(pref);
    return r || !*n ? failed(m, r, "no algorithm for this product") : LT_OK;
}

/* variant: the algorithm for aligned addresses; NULL: the library's favourite. */
static lt_status find_algorithms(lt_product *m, const char *variant)
{
    cublasLtMatmulHeuristicResult_t found[MAX_ALGORITHMS] = { 0 };
    for (int how = 0; how < 2; how++) {
        int n, take = 0;
        bool named = how == 0 && variant;
        LT_TRY(list_algorithms(m, how == 0 ? FAST_ALIGNMENT : (uint32_t)m->element, found, named ? MAX_ALGORITHMS : 1, &n));
        for (bool match = !named; !match && take < n; take += !match) {
            char text[LT_CUDA_VARIANT_TEXT];
            name_algorithm(m, &found[take].algo, text);
            match = strcmp(text, variant) == 0;
        }
        if (take == n) return LT_FAIL(LT_ERR_UNSUPPORTED, "cuBLASLt: no algorithm '%s' for this product", variant);
        m->algo[how] = found[take].algo;
        m->workspace[how] = found[take].workspaceSize;
        if (m->workspace[how]) m->base.scratch_bytes = LT_MAX(m->base.scratch_bytes, m->workspace[how] + 256);
    }
    return LT_OK;
}

static lt_status make_descriptor(lt_product *m)
{
    unsigned trans_first = m->s.trans_b ? LT_CUBLAS_OP_T : LT_CUBLAS_OP_N, trans_second = m->s.trans_a ? LT_CUBLAS_OP_T : LT_CUBLAS_OP_N;
    unsigned epilogue = m->bias >= 0 ? LT_CUBLASLT_EPILOGUE_BIAS : LT_CUBLASLT_EPILOGUE_DEFAULT;
    LT_TRY_BLAS("descriptor", m->api->cublasLtMatmulDescCreate(&m->desc, m->wide ? LT_CUBLAS_COMPUTE_64F : LT_CUBLAS_COMPUTE_32F,
                                                               m->wide ? LT_CUDA_R_64F : LT_CUDA_R_32F));
    LT_TRY_BLAS("transpose", m->api->cublasLtMatmulDescSetAttribute(m->desc, LT_CUBLASLT_MATMUL_DESC_TRANSA, &trans_first, sizeof trans_first));
    LT_TRY_BLAS("transpose", m->api->cublasLtMatmulDescSetAttribute(m->desc, LT_CUBLASLT_MATMUL_DESC_TRANSB, &trans_second, sizeof trans_second));
    LT_TRY_BLAS("epilogue", m->api->cublasLtMatmulDescSetAttribute(m->desc, LT_CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof epilogue));
    return LT_OK;
}

/* Everything but the algorithm. */
static lt_status make(lt_product *m, lt_dtype t)
{
    int64_t count, step_a, step_b;
    lt_matmul_shape *s = &m->s;
    split_batch(s, &count, &step_a, &step_b);
    LT_TRY(make_descriptor(m));
    LT_TRY(make_layout(m, t, s->trans_b ? s->k : s->n, s->trans_b ? s->n : s->k, count, step_b * s->k * s->n, &m->first));
    LT_TRY(make_layout(m, t, s->trans_a ? s->m : s->k, s->trans_a ? s->k : s->m, count, step_a * s->m * s->k, &m->second));
    return make_layout(m, t, s->n, s->m, count, s->m * s->n, &m->result);
}

bool lt_matmul_cublaslt_applies(const lt_problem_key *p)
{
    lt_matmul_shape s = lt_matmul_shape_of(p);
    lt_dtype t = p->out.dtype;
    return lt_key_is_all(p, t) && (t == LT_F16 || t == LT_BF16 || t == LT_F32 || t == LT_F64) && s.m > 0 && s.n > 0 && s.k > 0 && s.batch > 0;
}

static bool is_bias(const lt_problem_key *p, lt_epilogue_chain *chain)
{
    return lt_epilogue_is_chain(p, p->out.shape.rank - 1, chain) && chain->n_steps == 1 && chain->step[0].op == LT_OP_ADD && !chain->step[0].whole;
}

static lt_status create(lt_device *dev, const lt_problem_key *p, lt_product **out)
{
    lt_dtype t = p->out.dtype;
    lt_epilogue_chain chain;
    lt_product *m = lt_calloc(1, sizeof *m);
    *out = NULL;
    if (!m) return LT_FAIL(LT_ERR_MEMORY, "no memory for a matrix product");
    pthread_mutex_init(&m->use, NULL);
    m->s = lt_matmul_shape_of(p);
    double n = (double)m->s.batch * (double)m->s.m * (double)m->s.n;
    bool fused = is_bias(p, &chain);
    m->bias = fused ? chain.step[0].arg : -1;
    m->out = fused ? chain.result : p->n_in;
    m->element = lt_dtype_size(t);
    m->wide = t == LT_F64;
    m->base = (lt_kernel){ .name = fused ? "matmul_cublaslt_bias" : "matmul_cublaslt", .enqueue = enqueue, .destroy = destroy, .module = dev->state,
                           .n_args = p->n_in + (fused ? p->epilogue->n_args : 1), .flops = 2 * n * (double)m->s.k, .bytes = lt_problem_bytes(p) };
    lt_status s = lt_cuda_blaslt(dev, &m->api, &m->handle);
    if (!s) s = make(m, t);
    if (s) destroy(&m->base);
    else *out = m;
    return s;
}

lt_status lt_matmul_cublaslt_prepare(lt_device *dev, const lt_problem_key *p, lt_kernel **out)
{
    lt_product *m;
    *out = NULL;
    LT_TRY(create(dev, p, &m));
    lt_status s = find_algorithms(m, p->variant);
    if (s) {
        destroy(&m->base);
        return s;
    }
    if (m->bias < 0) return lt_epilogue_wrap(dev, p, "matmul_cublaslt+epilogue", &m->base, out);
    *out = &m->base;
    return LT_OK;
}

int lt_matmul_cublaslt_variants(lt_device *dev, const lt_problem_key *p, char (*variant)[LT_CUDA_VARIANT_TEXT], int max)
{
    cublasLtMatmulHeuristicResult_t found[MAX_ALGORITHMS] = { 0 };
    lt_product *m;
    int n = 0, written = 0;
    if (create(dev, p, &m)) return 0;
    if (list_algorithms(m, FAST_ALIGNMENT, found, MAX_ALGORITHMS, &n)) n = 0;
    for (int i = 0; i < n && written < max; i++) {
        bool again = false;
        name_algorithm(m, &found[i].algo, variant[written]);
        for (int j = 0; j < written; j++) again = again || strcmp(variant[j], variant[written]) == 0;
        written += !again;
    }
    destroy(&m->base);
    return written;
}
