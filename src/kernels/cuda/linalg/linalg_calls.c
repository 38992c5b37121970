/* Which functions of cuSOLVER an op calls, and how our row-major matrices look to it.
   SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/cuda/linalg/linalg.h"

#include "device/cuda/api_cublaslt.h"

static unsigned type_of(const lt_solver *v) { return v->element == 8 ? LT_CUDA_R_64F : LT_CUDA_R_32F; }
static unsigned complex_of(const lt_solver *v) { return v->element == 8 ? LT_CUDA_C_64F : LT_CUDA_C_32F; }

/* The matrix it sees is the transpose of ours, so solving with its transpose solves with ours. */
static unsigned call_lu(const lt_solver *v, const lt_library_handle *h, const lt_solver_places *p, char *out)
{
    unsigned t = type_of(v);
    unsigned r = v->api->cusolverDnXgetrf(h->solver, h->params, v->n, v->n, t, p->work, v->n, p->pivot, t, p->device, v->device_bytes, v->host,
                                          v->host_bytes, p->state);
    if (!r && v->op == LT_OP_SOLVE)
        r = v->api->cusolverDnXgetrs(h->solver, h->params, v->transposed ? LT_CUBLAS_OP_N : LT_CUBLAS_OP_T, v->n, v->out_count / v->n, t, p->work, v->n,
                                     p->pivot, t, p->second, v->n, p->state + 2);
    if (!r && v->op == LT_OP_INV) /* the inverse of the transpose, in columns, is the inverse in rows */
        r = v->api->cusolverDnXgetrs(h->solver, h->params, LT_CUBLAS_OP_N, v->n, v->n, t, p->work, v->n, p->pivot, t, out, v->n, p->state + 2);
    return r;
}

/* Of a wide matrix the factors of the transpose, in reverse, are ours in our layout. */
static unsigned call_svd(const lt_solver *v, const lt_library_handle *h, const lt_solver_places *p, char *out)
{
    unsigned t = type_of(v);
    char *s = out + (size_t)(v->m * v->r) * v->element, *vt = s + (size_t)v->r * v->element;
    if (v->turned)
        return v->api->cusolverDnXgesvd(h->solver, h->params, 'S', 'S', v->m, v->n, t, p->work, v->m, t, s, t, p->second, v->m, t, p->third, v->r, t,
                                        p->device, v->device_bytes, v->host, v->host_bytes, p->state);
    return v->api->cusolverDnXgesvd(h->solver, h->params, 'S', 'S', v->n, v->m, t, p->work, v->n, t, s, t, vt, v->n, t, out, v->r, t, p->device,
                                    v->device_bytes, v->host, v->host_bytes, p->state);
}

unsigned lt_solver_call(const lt_solver *v, const lt_library_handle *h, const lt_solver_places *p, char *out)
{
    const lt_cusolver *s = v->api;
    unsigned t = type_of(v);
    switch (v->op) {
    case LT_OP_CHOLESKY: /* our lower triangle is its upper one */
        return s->cusolverDnXpotrf(h->solver, h->params, LT_CUBLAS_FILL_MODE_UPPER, v->n, t, out, v->n, t, p->device, v->device_bytes, v->host,
                                   v->host_bytes, p->state);
    case LT_OP_EIGH:
        return s->cusolverDnXsyevd(h->solver, h->params, LT_CUSOLVER_EIG_MODE_VECTOR, LT_CUBLAS_FILL_MODE_UPPER, v->n, t, p->work, v->n, t,
                                   out + (size_t)(v->n * v->n) * v->element, t, p->device, v->device_bytes, v->host, v->host_bytes, p->state);
    case LT_OP_EIG: /* the transpose has the same eigenvalues */
        return s->cusolverDnXgeev(h->solver, h->params, LT_CUSOLVER_EIG_MODE_NOVECTOR, LT_CUSOLVER_EIG_MODE_NOVECTOR, v->n, t, p->work, v->n,
                                  complex_of(v), p->second, t, NULL, v->n, t, NULL, v->n, t, p->device, v->device_bytes, v->host, v->host_bytes, p->state);
    case LT_OP_SVD: return call_svd(v, h, p, out);
    default: return call_lu(v, h, p, out);
    }
}

unsigned lt_solver_sizes(lt_solver *v, const lt_library_handle *h)
{
    const lt_cusolver *s = v->api;
    unsigned t = type_of(v);
    size_t *d = &v->device_bytes, *host = &v->host_bytes;
    int64_t rows = v->turned ? v->m : v->n, columns = v->turned ? v->n : v->m;
    switch (v->op) {
    case LT_OP_CHOLESKY: return s->cusolverDnXpotrf_bufferSize(h->solver, h->params, LT_CUBLAS_FILL_MODE_UPPER, v->n, t, NULL, v->n, t, d, host);
    case LT_OP_EIGH:
        return s->cusolverDnXsyevd_bufferSize(h->solver, h->params, LT_CUSOLVER_EIG_MODE_VECTOR, LT_CUBLAS_FILL_MODE_UPPER, v->n, t, NULL, v->n, t, NULL, t, d, host);
    case LT_OP_EIG:
        return s->cusolverDnXgeev_bufferSize(h->solver, h->params, LT_CUSOLVER_EIG_MODE_NOVECTOR, LT_CUSOLVER_EIG_MODE_NOVECTOR, v->n, t, NULL, v->n,
                                             complex_of(v), NULL, t, NULL, v->n, t, NULL, v->n, t, d, host);
    case LT_OP_SVD:
        return s->cusolverDnXgesvd_bufferSize(h->solver, h->params, 'S', 'S', rows, columns, t, NULL, rows, t, NULL, t, NULL, rows, t, NULL, v->r, t, d, host);
    default: return s->cusolverDnXgetrf_bufferSize(h->solver, h->params, v->n, v->n, t, NULL, v->n, t, d, host);
    }
}
