/* EIG_GRAD through LAPACK: only eigenpairs that some seed weighs get vectors, by inverse iteration
   on the Hessenberg form; a full eigenvector solve would cost several times more.

   M in memory reads as N = M' to LAPACK. With N x = lambda x and y^H N = lambda y^H, the vectors of
   M are r = conj(y) and l = conj(x), so d lambda / dM = conj(l) r^T / (l^H r) = x y^H / (y^H x).
   SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/cpu/gemm/blas.h"
#include "kernels/cpu/linalg/lapack.h"
#include "kernels/rows.h"

#include "base/dtype.h"
#include "base/status.h"

#include <complex.h>
#include <math.h>
#include <string.h>

typedef struct grad_kernel {
    lt_host_kernel host;
    lt_dtype t;
    int64_t n, n_matrices, n_seeds;     /* seed l belongs to matrix l % n_matrices */
    size_t  h_at, tau_at, wr_at, work_at, right_at, left_at, mixed_at, mixed_bytes, select_at;
    int     n_lanes, lwork;
} grad_kernel;

/* What phase one found for a matrix: columns of x (scaled by 1/(y^H x)) and y; one column for a real
   eigenvalue, two (real and imaginary part) for a conjugate pair. */
typedef struct grad_job {
    const grad_kernel *v;
    void *const *arg;
    char *scratch;
    int64_t matrix;
    int n_columns;
    int *select;        /* per eigenvalue: its first column + 1, or 0 */
} grad_job;

static void *at(const grad_job *j, size_t offset) { return j->scratch + offset; }

static const void *weights(const grad_job *j) /* W of this matrix: real parts, imaginary parts */
{
    return lt_offset(j->arg[1], (size_t)(j->matrix * 2 * j->v->n) * lt_dtype_size(j->v->t));
}

static double weight_im(const grad_job *j, int64_t i) { return lt_load_double(j->v->t, weights(j), j->v->n + i); }

static double seed(const grad_job *j, int64_t l, int part, int64_t i)
{
    return lt_load_double(j->v->t, j->arg[2], (l * 2 + part) * j->v->n + i);
}

/* Marks the eigenvalues with a nonzero weight in any seed; a pair is marked at its first member. */
static int select_pairs(const grad_job *j)
{
    const grad_kernel *v = j->v;
    int columns = 0;
    for (int64_t i = 0; i < v->n; i++) {
        bool pair = weight_im(j, i) != 0 && i + 1 < v->n, wanted = false;
        for (int64_t l = j->matrix; l < v->n_seeds && !wanted; l += v->n_matrices)
            for (int64_t e = i; e <= i + pair; e++) wanted = wanted || seed(j, l, 0, e) != 0 || seed(j, l, 1, e) != 0;
        j->select[i] = wanted;
        if (wanted) columns += 1 + pair;
        if (pair) j->select[++i] = 0;
    }
    return columns;
}

static lt_status find_vectors(const grad_job *j)
{
    const grad_kernel *v = j->v;
    size_t size = lt_dtype_size(v->t), matrix = (size_t)(v->n * v->n) * size;
    int n = (int)v->n, one = 1, info = 0, found = 0, columns = j->n_columns, *failed = j->select + n;
    void *h = at(j, v->h_at), *tau = at(j, v->tau_at), *wr = at(j, v->wr_at), *work = at(j, v->work_at);
    void *x = at(j, v->right_at), *y = at(j, v->left_at), *wi = lt_offset(wr, (size_t)n * size);
    memcpy(h, lt_offset(j->arg[0], (size_t)j->matrix * matrix), matrix);
    memcpy(wr, weights(j), 2 * (size_t)n * size); /* hsein may nudge close eigenvalues apart */
    LT_LAPACK_CALL(v->t, gehrd, &n, &one, &n, h, &n, tau, work, &v->lwork, &info);
    LT_LAPACK_CALL(v->t, hsein, "B", "N", "N", j->select, &n, h, &n, wr, wi, y, &n, x, &n, &columns, &found, work,
                   failed, failed + n, &info, (size_t)1, (size_t)1, (size_t)1);
    if (info)
        return LT_FAIL(LT_ERR_NUMERIC, "eig_grad: inverse iteration failed for %d of %d vectors (n = %d)", info, columns, n);
    LT_LAPACK_CALL(v->t, ormhr, "L", "N", &n, &columns, &one, &n, h, &n, tau, x, &n, work, &v->lwork, &info, (size_t)1, (size_t)1);
    LT_LAPACK_CALL(v->t, ormhr, "L", "N", &n, &columns, &one, &n, h, &n, tau, y, &n, work, &v->lwork, &info, (size_t)1, (size_t)1);
    return LT_OK;
}

/* Column c of the n x columns array at `from`, element e. */
static double element(const grad_job *j, const void *from, int64_t c, int64_t e)
{
    return lt_load_double(j->v->t, from, c * j->v->n + e);
}

/* Divides x by y^H x and turns select into column numbers. */
static void scale_vectors(const grad_job *j)
{
    const grad_kernel *v = j->v;
    void *x = at(j, v->right_at), *y = at(j, v->left_at);
    int64_t c = 0;
    for (int64_t i = 0; i < v->n; i++) {
        if (!j->select[i]) continue;
        bool pair = weight_im(j, i) != 0 && i + 1 < v->n;
        double complex dot = 0;
        for (int64_t e = 0; e < v->n; e++) {
            double complex xe = element(j, x, c, e) + (pair ? I * element(j, x, c + 1, e) : 0);
            double complex ye = element(j, y, c, e) + (pair ? I * element(j, y, c + 1, e) : 0);
            dot += conj(ye) * xe;
        }
        for (int64_t e = 0; e < v->n; e++) {
            double complex xe = (element(j, x, c, e) + (pair ? I * element(j, x, c + 1, e) : 0)) / dot;
            lt_store_double(v->t, x, c * v->n + e, creal(xe));
            if (pair) lt_store_double(v->t, x, (c + 1) * v->n + e, cimag(xe));
        }
        j->select[i] = (int)c + 1;
        c += 1 + pair;
    }
}

/* Re(x y^H) = xr yr' + xi yi' and Im(x y^H) = xi yr' - xr yi', so with weights a (real part) and b
   (imaginary part) the columns of y meet a xr + b xi and a xi - b xr. The other member of a pair has
   the conjugate derivative: its weights join as a + a', b - b'. */
static lt_status seed_item(void *ctx, int64_t item, int lane)
{
    const grad_job *j = ctx;
    const grad_kernel *v = j->v;
    int64_t l = j->matrix + item * v->n_matrices;
    void *x = at(j, v->right_at), *mixed = at(j, v->mixed_at + (size_t)lane * v->mixed_bytes);
    for (int64_t i = 0; i < v->n; i++) {
        int64_t c = j->select[i] - 1;
        if (c < 0) continue;
        bool pair = weight_im(j, i) != 0 && i + 1 < v->n;
        double a = seed(j, l, 0, i), b = seed(j, l, 1, i);
        if (pair) a += seed(j, l, 0, i + 1), b -= seed(j, l, 1, i + 1);
        for (int64_t e = 0; e < v->n; e++) {
            double re = element(j, x, c, e), im = pair ? element(j, x, c + 1, e) : 0;
            lt_store_double(v->t, mixed, c * v->n + e, a * re + b * im);
            if (pair) lt_store_double(v->t, mixed, (c + 1) * v->n + e, a * im - b * re);
        }
    }
    lt_gemm g = { .t = v->t, .trans_a = true, .m = v->n, .n = v->n, .k = j->n_columns, .lda = v->n, .ldb = v->n, .ldc = v->n };
    lt_gemm_run(&g, mixed, at(j, v->left_at), lt_offset(j->arg[3], (size_t)(l * v->n * v->n) * lt_dtype_size(v->t)));
    return LT_OK;
}

static lt_status grad_run(const lt_kernel *k, lt_pool *pool, void *const *arg)
{
    const grad_kernel *v = (const grad_kernel *)k;
    size_t size = lt_dtype_size(v->t);
    grad_job j = { .v = v, .arg = arg, .scratch = arg[k->n_args] };
    j.select = at(&j, v->select_at);
    for (j.matrix = 0; v->n && j.matrix < v->n_matrices; j.matrix++) {
        int64_t seeds = (v->n_seeds - j.matrix + v->n_matrices - 1) / v->n_matrices;
        bool finite = lt_all_finite(v->t, lt_offset(arg[0], (size_t)(j.matrix * v->n * v->n) * size), v->n * v->n) &&
                      lt_all_finite(v->t, weights(&j), 2 * v->n);
        for (int64_t s = 0; !finite && s < seeds; s++)
            lt_fill_nan(v->t, lt_offset(arg[3], (size_t)((j.matrix + s * v->n_matrices) * v->n * v->n) * size), v->n * v->n);
        if (!finite) continue;
        j.n_columns = select_pairs(&j);
        if (j.n_columns) {
            LT_TRY(find_vectors(&j));
            scale_vectors(&j);
        }
        LT_TRY(lt_host_run_lanes(pool, v->n_lanes, seeds, seed_item, &j));
    }
    return LT_OK;
}

bool lt_eig_grad_lapack_applies(const lt_problem_key *p) { return lt_lapack_applies(p); }

/* Pieces of the scratch block, one after the other. */
static size_t take(size_t *end, int64_t count, size_t size)
{
    size_t begin = *end;
    *end += lt_align64((size_t)count * size);
    return begin;
}

lt_status lt_eig_grad_lapack_prepare(const lt_problem_key *p, lt_kernel **out)
{
    *out = NULL;
    LT_TRY(lt_openblas_open());
    grad_kernel *v = lt_host_kernel_create(p, sizeof *v, "eig_grad_lapack", grad_run);
    if (!v) return LT_ERR_MEMORY;
    const lt_shape *m = &p->in[0].shape, *g = &p->in[2].shape;
    v->t = p->out.dtype;
    v->n = m->dim[m->rank - 1];
    v->n_matrices = lt_leading_count(m, m->rank - 2);
    v->n_seeds = lt_leading_count(g, g->rank - 2);
    v->n_lanes = lt_host_lanes(v->n_seeds);
    int64_t n = v->n, lwork = LT_MAX(n * (n + 2), 64 * n) + 65 * 64 + 64; /* hsein; blocked gehrd and ormhr */
    v->lwork = (int)LT_MIN(lwork, INT32_MAX);
    size_t end = 0, size = lt_dtype_size(v->t);
    v->h_at = take(&end, n * n, size);
    v->tau_at = take(&end, n, size);
    v->wr_at = take(&end, 2 * n, size);
    v->work_at = take(&end, lwork, size);
    v->right_at = take(&end, n * n, size);
    v->left_at = take(&end, n * n, size);
    v->select_at = take(&end, 3 * n, sizeof(int));
    v->mixed_bytes = lt_align64((size_t)(n * n) * size);
    v->mixed_at = take(&end, v->n_lanes, v->mixed_bytes);
    v->host.kernel.scratch_bytes = end;
    v->host.kernel.flops = (10.0 / 3 * (double)n + 2.0 * (double)v->n_seeds) * (double)n * (double)n;
    return lt_host_kernel_finish(&v->host, LT_OK, out);
}
