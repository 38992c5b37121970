/* SOLVE, INV, DET, LOGDET and CHOLESKY through LAPACK. As in ref/lu.c a singular matrix is an
   answer: NaN, so that a line search can reject the point. SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/cpu/gemm/blas.h"
#include "kernels/cpu/linalg/lapack.h"
#include "kernels/rows.h"

#include "base/dtype.h"
#include "base/status.h"

#include <math.h>
#include <string.h>

/* ---- Helpers shared by the LAPACK rows ---------------------------------------------------- */
bool lt_all_finite(lt_dtype t, const void *x, int64_t n)
{
    bool finite = true;
    if (t == LT_F32) for (int64_t i = 0; i < n; i++) finite &= isfinite(((const float *)x)[i]) != 0;
    else for (int64_t i = 0; i < n; i++) finite &= isfinite(((const double *)x)[i]) != 0;
    return finite;
}

void lt_fill_nan(lt_dtype t, void *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++) lt_store_double(t, x, i, NAN);
}

#define TRANSPOSE(T)                                                                \
    do {                                                                            \
        for (int64_t i = 0; i < rows; i++)                                          \
            for (int64_t j = 0; j < columns; j++) ((T *)dst)[j * rows + i] = ((const T *)src)[i * columns + j]; \
    } while (0)

void lt_matrix_transpose(lt_dtype t, void *dst, const void *src, int64_t rows, int64_t columns)
{
    if (t == LT_F32) TRANSPOSE(float);
    else TRANSPOSE(double);
}

bool lt_lapack_applies(const lt_problem_key *p)
{
    lt_dtype t = p->out.dtype;
    if ((t != LT_F32 && t != LT_F64) || !lt_key_is_all(p, t)) return false;
    for (int i = 0; i < p->n_in; i++)
        if (!lt_blas_fits(lt_tensor_count(&p->in[i]))) return false;
    return lt_openblas_is_here();
}

/* ---- One matrix per item --------------------------------------------------------------------- */
typedef struct lu_kernel {
    lt_host_kernel host;
    lt_dtype t;
    int64_t n, columns, count_a, count; /* columns of B; matrices A; items */
    size_t  matrix_bytes, factor_bytes; /* one matrix; one factored matrix with pivots and a flag */
    size_t  lane_at, lane_bytes;
    int     n_lanes, lwork;
} lu_kernel;

typedef struct lu_job { const lu_kernel *v; void *const *arg; char *scratch; } lu_job;

static char *lane_memory(const lu_job *j, int lane)
{
    return j->scratch + j->v->lane_at + (size_t)lane * j->v->lane_bytes;
}

static lu_kernel *create(const lt_problem_key *p, const char *name, lt_host_run run, double flops_factor)
{
    if (lt_openblas_open()) return NULL;
    lu_kernel *v = lt_host_kernel_create(p, sizeof *v, name, run);
    if (!v) return NULL;
    const lt_shape *s = &p->in[0].shape;
    v->t = p->out.dtype;
    v->n = s->dim[s->rank - 1];
    v->count = v->count_a = lt_leading_count(s, s->rank - 2);
    v->matrix_bytes = (size_t)(v->n * v->n) * lt_dtype_size(v->t);
    v->n_lanes = lt_host_lanes(v->count);
    v->host.kernel.flops = flops_factor * (double)v->n * (double)lt_tensor_count(&p->in[0]);
    return v;
}

static void lanes_after(lu_kernel *v, size_t at, size_t lane_bytes)
{
    v->lane_at = at;
    v->lane_bytes = lt_align64(lane_bytes);
    v->host.kernel.scratch_bytes = at + (size_t)v->n_lanes * v->lane_bytes;
}

static lt_status run_items(const lt_kernel *k, lt_pool *pool, void *const *arg, lt_lane_item item)
{
    const lu_kernel *v = (const lu_kernel *)k;
    lu_job j = { v, arg, arg[k->n_args] };
    return v->n ? lt_host_run_lanes(pool, v->n_lanes, v->count, item, &j) : LT_OK;
}

/* ---- INV --------------------------------------------------------------------------------------- */
static lt_status invert_item(void *ctx, int64_t i, int lane)
{
    const lu_job *j = ctx;
    const lu_kernel *v = j->v;
    int n = (int)v->n, info = 0, *pivot = (int *)(void *)lane_memory(j, lane);
    void *work = lane_memory(j, lane) + lt_align64((size_t)n * sizeof(int)), *a = lt_offset(j->arg[1], (size_t)i * v->matrix_bytes);
    memcpy(a, lt_offset(j->arg[0], (size_t)i * v->matrix_bytes), v->matrix_bytes);
    LT_LAPACK_CALL(v->t, getrf, &n, &n, a, &n, pivot, &info);
    if (info == 0) LT_LAPACK_CALL(v->t, getri, &n, a, &n, pivot, work, &v->lwork, &info);
    if (info != 0) lt_fill_nan(v->t, a, v->n * v->n);
    return LT_OK;
}

static lt_status invert_run(const lt_kernel *k, lt_pool *pool, void *const *arg)
{
    return run_items(k, pool, arg, invert_item);
}

bool lt_inv_lapack_applies(const lt_problem_key *p) { return lt_lapack_applies(p); }

lt_status lt_inv_lapack_prepare(const lt_problem_key *p, lt_kernel **out)
{
    *out = NULL;
    lu_kernel *v = create(p, "inv_lapack", invert_run, 2);
    if (!v) return LT_ERR_MEMORY;
    v->lwork = (int)LT_MIN(LT_MAX(1, 64 * v->n), INT32_MAX); /* blocks of 64 columns, what OpenBLAS asks for */
    lanes_after(v, 0, lt_align64((size_t)v->n * sizeof(int)) + (size_t)v->lwork * lt_dtype_size(v->t));
    return lt_host_kernel_finish(&v->host, LT_OK, out);
}

/* ---- DET and LOGDET ------------------------------------------------------------------------------ */
static bool is_symmetric(lt_dtype t, const void *a, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < i; j++)
            if (lt_load_double(t, a, i * n + j) != lt_load_double(t, a, j * n + i)) return false;
    return true;
}

/* Symmetric without being positive definite: out of the domain of LOGDET, whatever the determinant (decision 196). */
static bool is_indefinite(const lu_kernel *v, const void *a, void *work)
{
    int n = (int)v->n, info = 0;
    if (!is_symmetric(v->t, a, v->n)) return false;
    memcpy(work, a, v->matrix_bytes);
    LT_LAPACK_CALL(v->t, potrf, "U", &n, work, &n, &info, (size_t)1);
    return info != 0;
}

static lt_status determinant_item(void *ctx, int64_t i, int lane)
{
    const lu_job *j = ctx;
    const lu_kernel *v = j->v;
    void *a = lane_memory(j, lane);
    int n = (int)v->n, info = 0, *pivot = lt_offset(a, lt_align64(v->matrix_bytes));
    memcpy(a, lt_offset(j->arg[0], (size_t)i * v->matrix_bytes), v->matrix_bytes);
    LT_LAPACK_CALL(v->t, getrf, &n, &n, a, &n, pivot, &info);
    double product = 1, logarithm = 0;
    bool negative = false;
    for (int d = 0; d < n; d++) {
        double u = lt_load_double(v->t, a, (int64_t)d * n + d);
        product *= pivot[d] != d + 1 ? -u : u;
        logarithm += log(fabs(u));
        negative ^= (pivot[d] != d + 1) != (u < 0);
    }
    if (v->host.key.op == LT_OP_LOGDET && isfinite(logarithm) &&
        (negative || is_indefinite(v, lt_offset(j->arg[0], (size_t)i * v->matrix_bytes), a))) logarithm = NAN;
    lt_store_double(v->t, j->arg[1], i, v->host.key.op == LT_OP_DET ? product : logarithm);
    return LT_OK;
}

static lt_status determinant_run(const lt_kernel *k, lt_pool *pool, void *const *arg)
{
    const lu_kernel *v = (const lu_kernel *)k;
    for (int64_t i = 0; v->n == 0 && i < v->count; i++) /* of an empty matrix: an empty product */
        lt_store_double(v->t, arg[1], i, v->host.key.op == LT_OP_DET ? 1 : 0);
    return run_items(k, pool, arg, determinant_item);
}

bool lt_det_lapack_applies(const lt_problem_key *p) { return lt_lapack_applies(p); }

lt_status lt_det_lapack_prepare(const lt_problem_key *p, lt_kernel **out)
{
    *out = NULL;
    lu_kernel *v = create(p, "det_lapack", determinant_run, 2.0 / 3);
    if (!v) return LT_ERR_MEMORY;
    lanes_after(v, 0, lt_align64(v->matrix_bytes) + (size_t)v->n * sizeof(int));
    return lt_host_kernel_finish(&v->host, LT_OK, out);
}

/* ---- CHOLESKY -------------------------------------------------------------------------------------- */
static lt_status cholesky_item(void *ctx, int64_t i, int lane)
{
    (void)lane;
    const lu_job *j = ctx;
    const lu_kernel *v = j->v;
    int n = (int)v->n, info = 0;
    size_t size = lt_dtype_size(v->t);
    char *a = lt_offset(j->arg[1], (size_t)i * v->matrix_bytes);
    memcpy(a, lt_offset(j->arg[0], (size_t)i * v->matrix_bytes), v->matrix_bytes);
    LT_LAPACK_CALL(v->t, potrf, "U", &n, (void *)a, &n, &info, (size_t)1); /* our lower is Fortran's upper */
    if (info != 0) lt_fill_nan(v->t, a, v->n * v->n);
    else
        for (int64_t r = 0; r < v->n; r++)
            memset(a + (size_t)(r * v->n + r + 1) * size, 0, (size_t)(v->n - 1 - r) * size);
    return LT_OK;
}

static lt_status cholesky_run(const lt_kernel *k, lt_pool *pool, void *const *arg)
{
    return run_items(k, pool, arg, cholesky_item);
}

bool lt_cholesky_lapack_applies(const lt_problem_key *p) { return lt_lapack_applies(p); }

lt_status lt_cholesky_lapack_prepare(const lt_problem_key *p, lt_kernel **out)
{
    *out = NULL;
    lu_kernel *v = create(p, "cholesky_lapack", cholesky_run, 1.0 / 3);
    if (!v) return LT_ERR_MEMORY;
    return lt_host_kernel_finish(&v->host, LT_OK, out);
}

/* ---- SOLVE: factor every A, then solve every B -------------------------------------------------------- */
typedef struct factored { void *lu; int *pivot, *singular; } factored;

static factored factored_at(const lu_job *j, int64_t i)
{
    char *at = j->scratch + (size_t)i * j->v->factor_bytes;
    int *pivot = (int *)(void *)(at + lt_align64(j->v->matrix_bytes));
    return (factored){ at, pivot, pivot + j->v->n };
}

static lt_status factor_item(void *ctx, int64_t i, int lane)
{
    (void)lane;
    const lu_job *j = ctx;
    const lu_kernel *v = j->v;
    factored f = factored_at(j, i);
    int n = (int)v->n;
    memcpy(f.lu, lt_offset(j->arg[0], (size_t)i * v->matrix_bytes), v->matrix_bytes);
    LT_LAPACK_CALL(v->t, getrf, &n, &n, f.lu, &n, f.pivot, f.singular);
    return LT_OK;
}

static lt_status solve_item(void *ctx, int64_t i, int lane)
{
    const lu_job *j = ctx;
    const lu_kernel *v = j->v;
    factored f = factored_at(j, i % v->count_a);
    int n = (int)v->n, m = (int)v->columns, info = 0;
    size_t bytes = (size_t)(v->n * v->columns) * lt_dtype_size(v->t);
    void *b = lt_offset(j->arg[1], (size_t)i * bytes), *x = lt_offset(j->arg[2], (size_t)i * bytes), *columns = lane_memory(j, lane);
    if (*f.singular) {
        lt_fill_nan(v->t, x, v->n * v->columns);
        return LT_OK;
    }
    /* What was factored is A' to LAPACK, so our plain solve is its transposed one. */
    const char *trans = v->host.attr.u.trans.a ? "N" : "T";
    lt_matrix_transpose(v->t, columns, b, v->n, v->columns);
    LT_LAPACK_CALL(v->t, getrs, trans, &n, &m, f.lu, &n, f.pivot, columns, &n, &info, (size_t)1);
    lt_matrix_transpose(v->t, x, columns, v->columns, v->n);
    return LT_OK;
}

static lt_status solve_run(const lt_kernel *k, lt_pool *pool, void *const *arg)
{
    const lu_kernel *v = (const lu_kernel *)k;
    lu_job j = { v, arg, arg[k->n_args] };
    if (v->n == 0 || v->columns == 0) return LT_OK;
    LT_TRY(lt_host_run_lanes(pool, v->n_lanes, v->count_a, factor_item, &j));
    return lt_host_run_lanes(pool, v->n_lanes, v->count, solve_item, &j);
}

bool lt_solve_lapack_applies(const lt_problem_key *p) { return lt_lapack_applies(p); }

lt_status lt_solve_lapack_prepare(const lt_problem_key *p, lt_kernel **out)
{
    *out = NULL;
    lu_kernel *v = create(p, "solve_lapack", solve_run, 2.0 / 3);
    if (!v) return LT_ERR_MEMORY;
    const lt_shape *b = &p->in[1].shape;
    v->columns = b->dim[b->rank - 1];
    v->count = lt_leading_count(b, b->rank - 2);
    v->n_lanes = lt_host_lanes(LT_MAX(v->count, v->count_a));
    v->factor_bytes = lt_align64(v->matrix_bytes) + lt_align64((size_t)(v->n + 1) * sizeof(int));
    v->host.kernel.flops += 2.0 * (double)v->n * (double)lt_tensor_count(&p->in[1]);
    lanes_after(v, (size_t)v->count_a * v->factor_bytes, (size_t)(v->n * v->columns) * lt_dtype_size(v->t));
    return lt_host_kernel_finish(&v->host, LT_OK, out);
}
