/* EIG, EIGH and SVD through LAPACK; the iteration of moderate EIG is our own. Input that is not finite gives NaN; an iteration that does not
   converge is LT_ERR_NUMERIC. SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/cpu/gemm/blas.h"
#include "kernels/cpu/linalg/hessenberg_qr.h"
#include "kernels/cpu/linalg/lapack.h"
#include "kernels/rows.h"

#include "base/dtype.h"
#include "base/status.h"

#include <math.h>
#include <string.h>

typedef struct eig_kernel {
    lt_host_kernel host;
    lt_dtype t;
    int64_t m, n, count, packed;      /* packed: elements of one result */
    size_t  matrix_bytes, work_at, iwork_at, lane_bytes;
    int     n_lanes, lwork, liwork;
    lt_status (*one)(const struct eig_kernel *v, void *a, void *out, void *work, int *iwork);
} eig_kernel;

typedef struct eig_job { const eig_kernel *v; void *const *arg; char *scratch; } eig_job;

static lt_status eig_item(void *ctx, int64_t i, int lane)
{
    const eig_job *j = ctx;
    const eig_kernel *v = j->v;
    char *memory = j->scratch + (size_t)lane * v->lane_bytes;
    const void *in = lt_offset(j->arg[0], (size_t)i * v->matrix_bytes);
    void *out = lt_offset(j->arg[1], (size_t)(i * v->packed) * lt_dtype_size(v->t));
    if (!lt_all_finite(v->t, in, v->m * v->n)) {
        lt_fill_nan(v->t, out, v->packed);
        return LT_OK;
    }
    memcpy(memory, in, v->matrix_bytes);
    return v->one(v, memory, out, memory + v->work_at, (int *)(void *)(memory + v->iwork_at));
}

static lt_status eig_run(const lt_kernel *k, lt_pool *pool, void *const *arg)
{
    const eig_kernel *v = (const eig_kernel *)k;
    eig_job j = { v, arg, arg[k->n_args] };
    return v->packed && v->m && v->n ? lt_host_run_lanes(pool, v->n_lanes, v->count, eig_item, &j) : LT_OK;
}

/* The workspace query leaves its answer as a floating number; float may have rounded it down. */
static int asked(lt_dtype t, const double *answer)
{
    return t == LT_F32 ? (int)(*(const float *)(const void *)answer * 1.001f) + 1 : (int)*answer;
}

static eig_kernel *create(const lt_problem_key *p, const char *name, double flops_factor)
{
    if (lt_openblas_open()) return NULL;
    eig_kernel *v = lt_host_kernel_create(p, sizeof *v, name, eig_run);
    if (!v) return NULL;
    const lt_shape *s = &p->in[0].shape;
    v->t = p->out.dtype;
    v->m = s->dim[s->rank - 2];
    v->n = s->dim[s->rank - 1];
    v->count = lt_leading_count(s, s->rank - 2);
    v->matrix_bytes = (size_t)(v->m * v->n) * lt_dtype_size(v->t);
    v->n_lanes = lt_host_lanes(v->count);
    v->host.kernel.flops = flops_factor * (double)LT_MIN(v->m, v->n) * (double)lt_tensor_count(&p->in[0]);
    return v;
}

static lt_status finish(eig_kernel *v, lt_kernel **out)
{
    v->work_at = lt_align64(v->matrix_bytes);
    v->iwork_at = v->work_at + lt_align64((size_t)v->lwork * lt_dtype_size(v->t));
    v->lane_bytes = v->iwork_at + lt_align64((size_t)v->liwork * sizeof(int));
    v->host.kernel.scratch_bytes = (size_t)v->n_lanes * v->lane_bytes;
    return lt_host_kernel_finish(&v->host, LT_OK, out);
}

/* ---- EIG: the transpose has the same eigenvalues ------------------------------------------------ */
static void call_geev(const eig_kernel *v, void *a, void *wr, void *wi, void *work, int lwork, int *info)
{
    int n = (int)v->n, one = 1;
    LT_LAPACK_CALL(v->t, geev, "N", "N", &n, a, &n, wr, wi, work, &one, work, &one, work, &lwork, info, (size_t)1, (size_t)1);
}

/* Entries whose squares neither vanish nor overflow; others are left to LAPACK, which scales. */
static bool is_moderate(const eig_kernel *v, const double *a)
{
    double most = 0;
    for (int64_t i = 0; i < v->n * v->n; i++) most = fmax(most, fabs(a[i]));
    return most == 0 || (most > 1e-100 && most < 1e100);
}

/* Balanced and brought to Hessenberg form by LAPACK. work: scales, factors of reflectors, the rest. */
static bool eig_moderate(const eig_kernel *v, double *a, double *out, double *work)
{
    int n = (int)v->n, low, high, info = 0, rest = v->lwork - 2 * n;
    LT_OPENBLAS_CALL(dgebal_, "B", &n, a, &n, &low, &high, work, &info, (size_t)1);
    LT_OPENBLAS_CALL(dgehrd_, &n, &low, &high, a, &n, work + n, work + 2 * n, &rest, &info);
    for (int64_t j = 0; j + 2 < n; j++) memset(a + j * n + j + 2, 0, (size_t)(n - j - 2) * sizeof *a);
    return lt_hessenberg_qr(n, a, out, out + n);
}

static lt_status eig_one(const eig_kernel *v, void *a, void *out, void *work, int *iwork)
{
    (void)iwork;
    int info = 0;
    if (v->t == LT_F64 && v->n <= LT_HESSENBERG_QR_MAX && is_moderate(v, a)) info = !eig_moderate(v, a, out, work);
    else call_geev(v, a, out, lt_offset(out, (size_t)v->n * lt_dtype_size(v->t)), work, v->lwork, &info);
    if (info == 0) return LT_OK;
    return LT_FAIL(LT_ERR_NUMERIC, "eig: the QR iteration did not converge (n = %lld, info %d)", (long long)v->n, info);
}

bool lt_eig_lapack_applies(const lt_problem_key *p) { return lt_lapack_applies(p); }

lt_status lt_eig_lapack_prepare(const lt_problem_key *p, lt_kernel **out)
{
    *out = NULL;
    eig_kernel *v = create(p, "eig_lapack", 10);
    if (!v) return LT_ERR_MEMORY;
    double answer[2] = { 0 };
    int info = 0;
    if (v->n) call_geev(v, answer, answer, answer, answer, -1, &info);
    v->one = eig_one;
    v->packed = 2 * v->n;
    v->lwork = asked(v->t, answer) + (int)(66 * v->n) + 65 * 64; /* blocked gehrd, scales and factors */
    return finish(v, out);
}

/* ---- EIGH -------------------------------------------------------------------------------------------- */
static void call_syevd(const eig_kernel *v, void *a, void *w, void *work, int lwork, int *iwork, int liwork, int *info)
{
    int n = (int)v->n; /* our lower triangle is Fortran's upper one */
    LT_LAPACK_CALL(v->t, syevd, "V", "U", &n, a, &n, w, work, &lwork, iwork, &liwork, info, (size_t)1, (size_t)1);
}

static lt_status eigh_one(const eig_kernel *v, void *a, void *out, void *work, int *iwork)
{
    int info = 0;
    call_syevd(v, a, lt_offset(out, v->matrix_bytes), work, v->lwork, iwork, v->liwork, &info);
    if (info) return LT_FAIL(LT_ERR_NUMERIC, "eigh: no convergence (n = %lld, info %d)", (long long)v->n, info);
    lt_matrix_transpose(v->t, out, a, v->n, v->n);
    return LT_OK;
}

bool lt_eigh_lapack_applies(const lt_problem_key *p) { return lt_lapack_applies(p); }

lt_status lt_eigh_lapack_prepare(const lt_problem_key *p, lt_kernel **out)
{
    *out = NULL;
    eig_kernel *v = create(p, "eigh_lapack", 9);
    if (!v) return LT_ERR_MEMORY;
    double answer[2] = { 0 };
    int info = 0, integers = 1;
    if (v->n) call_syevd(v, answer, answer, answer, -1, &integers, -1, &info);
    v->one = eigh_one;
    v->packed = v->n * v->n + v->n;
    v->lwork = asked(v->t, answer);
    v->liwork = integers;
    return finish(v, out);
}

/* ---- SVD: of the transpose, whose factors are ours in reverse, already in our layout -------------------- */
static void call_gesdd(const eig_kernel *v, void *a, void *s, void *vt, void *u, void *work, int lwork, int *iwork, int *info)
{
    int m = (int)v->m, n = (int)v->n, r = LT_MIN(m, n);
    LT_LAPACK_CALL(v->t, gesdd, "S", &n, &m, a, &n, s, vt, &n, u, &r, work, &lwork, iwork, info, (size_t)1);
}

static lt_status svd_one(const eig_kernel *v, void *a, void *out, void *work, int *iwork)
{
    int info = 0;
    size_t size = lt_dtype_size(v->t);
    int64_t r = LT_MIN(v->m, v->n);
    void *s = lt_offset(out, (size_t)(v->m * r) * size), *vt = lt_offset(s, (size_t)r * size);
    call_gesdd(v, a, s, vt, out, work, v->lwork, iwork, &info);
    if (info == 0) return LT_OK;
    return LT_FAIL(LT_ERR_NUMERIC, "svd: no convergence (%lld by %lld, info %d)", (long long)v->m, (long long)v->n, info);
}

bool lt_svd_lapack_applies(const lt_problem_key *p) { return lt_lapack_applies(p); }

lt_status lt_svd_lapack_prepare(const lt_problem_key *p, lt_kernel **out)
{
    *out = NULL;
    eig_kernel *v = create(p, "svd_lapack", 14);
    if (!v) return LT_ERR_MEMORY;
    double answer[2] = { 0 };
    int info = 0, iwork = 0;
    int64_t r = LT_MIN(v->m, v->n);
    if (r) call_gesdd(v, answer, answer, answer, answer, answer, -1, &iwork, &info);
    v->one = svd_one;
    v->packed = v->m * r + r + r * v->n;
    v->lwork = asked(v->t, answer);
    v->liwork = (int)(8 * r);
    return finish(v, out);
}
