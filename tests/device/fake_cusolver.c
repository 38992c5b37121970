/* A cuSOLVER that is none and knows Cholesky's factorisation alone. A handle is for one thread at a time, and holds memory of the work
   it queued: another stream may use it only after it was taken off the first. SPDX-License-Identifier: BSD-3-Clause */
#include "fake_library.h"

#include "device/cuda/api_cusolver.h"

#define X(result, name, args) result name args;
#pragma GCC visibility push(default)
LT_CUSOLVER_FUNCTIONS(X)
#pragma GCC visibility pop
#undef X

enum { INTERNAL_ERROR = 7, NOT_SUPPORTED = 9 };

struct cusolverDnContext { fake_use use; lt_cu_stream stream, worked_on; };
struct cusolverDnParams { int unused; };
static atomic_int executed;

unsigned cusolverGetVersion(int *v) { *v = 12000; return 0; }
unsigned cusolverDnCreate(lt_cusolver_handle *h) { *h = calloc(1, sizeof **h); return *h ? 0 : INTERNAL_ERROR; }
unsigned cusolverDnDestroy(lt_cusolver_handle h) { free(h); return 0; }
unsigned cusolverDnCreateParams(lt_cusolver_params *p) { *p = calloc(1, sizeof **p); return *p ? 0 : INTERNAL_ERROR; }
unsigned cusolverDnDestroyParams(lt_cusolver_params p) { free(p); return 0; }

unsigned cusolverDnSetStream(lt_cusolver_handle h, lt_cu_stream st)
{
    bool alone = fake_enter(&h->use);
    h->stream = st;
    if (!st) h->worked_on = NULL;
    fake_leave(&h->use);
    return alone ? 0 : INTERNAL_ERROR;
}

unsigned cusolverDnXpotrf_bufferSize(lt_cusolver_handle h, lt_cusolver_params p, unsigned uplo, int64_t n, unsigned type, const void *a, int64_t lda,
                                     unsigned compute, size_t *device, size_t *host)
{
    (void)p, (void)uplo, (void)n, (void)type, (void)a, (void)lda, (void)compute;
    bool alone = fake_enter(&h->use);
    fake_leave(&h->use);
    *device = *host = 64;
    return alone ? 0 : INTERNAL_ERROR;
}

unsigned cusolverDnXpotrf(lt_cusolver_handle h, lt_cusolver_params p, unsigned uplo, int64_t n, unsigned type, void *a, int64_t lda, unsigned compute, void *device,
                          size_t device_bytes, void *host, size_t host_bytes, int *info)
{
    (void)p, (void)uplo, (void)n, (void)type, (void)a, (void)lda, (void)compute, (void)device, (void)device_bytes, (void)info;
    bool alone = fake_enter(&h->use), other = h->worked_on && h->worked_on != h->stream;
    memset(host, 0, host_bytes);
    h->worked_on = h->stream;
    fake_leave(&h->use);
    return alone && !other && h->stream && !fake_fault(&executed) ? 0 : INTERNAL_ERROR;
}

/* ---- What nobody asks of it ---- */
#define NONE { return NOT_SUPPORTED; }
#pragma GCC diagnostic ignored "-Wunused-parameter"
unsigned cusolverDnXgetrf_bufferSize(lt_cusolver_handle a, lt_cusolver_params b, int64_t c, int64_t d, unsigned e, const void *f, int64_t g, unsigned h, size_t *i,
                                     size_t *j) NONE
unsigned cusolverDnXgetrf(lt_cusolver_handle a, lt_cusolver_params b, int64_t c, int64_t d, unsigned e, void *f, int64_t g, int64_t *h, unsigned i, void *j, size_t k,
                          void *l, size_t m, int *n) NONE
unsigned cusolverDnXgetrs(lt_cusolver_handle a, lt_cusolver_params b, unsigned c, int64_t d, int64_t e, unsigned f, const void *g, int64_t h, const int64_t *i,
                          unsigned j, void *k, int64_t l, int *m) NONE
unsigned cusolverDnXsyevd_bufferSize(lt_cusolver_handle a, lt_cusolver_params b, unsigned c, unsigned d, int64_t e, unsigned f, const void *g, int64_t h, unsigned i,
                                     const void *j, unsigned k, size_t *l, size_t *m) NONE
unsigned cusolverDnXsyevd(lt_cusolver_handle a, lt_cusolver_params b, unsigned c, unsigned d, int64_t e, unsigned f, void *g, int64_t h, unsigned i, void *j,
                          unsigned k, void *l, size_t m, void *n, size_t o, int *p) NONE
unsigned cusolverDnXgesvd_bufferSize(lt_cusolver_handle a, lt_cusolver_params b, signed char c, signed char d, int64_t e, int64_t f, unsigned g, const void *h,
                                     int64_t i, unsigned j, const void *k, unsigned l, const void *m, int64_t n, unsigned o, const void *p, int64_t q, unsigned r,
                                     size_t *s, size_t *t) NONE
unsigned cusolverDnXgesvd(lt_cusolver_handle a, lt_cusolver_params b, signed char c, signed char d, int64_t e, int64_t f, unsigned g, void *h, int64_t i, unsigned j,
                          void *k, unsigned l, void *m, int64_t n, unsigned o, void *p, int64_t q, unsigned r, void *s, size_t t, void *u, size_t v, int *w) NONE
unsigned cusolverDnXgeev_bufferSize(lt_cusolver_handle a, lt_cusolver_params b, unsigned c, unsigned d, int64_t e, unsigned f, const void *g, int64_t h, unsigned i,
                                    const void *j, unsigned k, const void *l, int64_t m, unsigned n, const void *o, int64_t p, unsigned q, size_t *r, size_t *s) NONE
unsigned cusolverDnXgeev(lt_cusolver_handle a, lt_cusolver_params b, unsigned c, unsigned d, int64_t e, unsigned f, void *g, int64_t h, unsigned i, void *j,
                         unsigned k, void *l, int64_t m, unsigned n, void *o, int64_t p, unsigned q, void *r, size_t s, void *t, size_t u, int *v) NONE
