/* RFFT2 and IRFFT2 through FFTW, one transform per image. SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/host_kernel.h"
#include "kernels/rows.h"

#include "base/alloc.h"
#include "base/status.h"

#include <fftw3.h>
#include <pthread.h>
#include <string.h>

#ifndef LT_HAVE_FFTW
#define LT_HAVE_FFTW 0
#endif
#ifndef LT_HAVE_FFTWF
#define LT_HAVE_FFTWF 0
#endif

/* FFTW's planner is not thread safe; executing a plan on new arrays is. */
static pthread_mutex_t planner = PTHREAD_MUTEX_INITIALIZER;

typedef struct fft_kernel {
    lt_host_kernel host;
    int64_t h, w, count;
    size_t  real_bytes, half_bytes, lane_bytes;
    int     n_lanes;
    void   *plan;
} fft_kernel;

typedef struct fft_job { const fft_kernel *v; char *in, *out, *scratch; } fft_job;

#define PLAN_ROOM ((size_t)16 << 20) /* plans take some kilobytes; the heap grows by more */
#define PLAN_FLAGS (FFTW_ESTIMATE | FFTW_UNALIGNED)

static void make_plan(fft_kernel *v, bool single, bool forward)
{
    int h = (int)v->h, w = (int)v->w;
    /* With FFTW_ESTIMATE the arrays are not touched; only that they differ counts. */
    char *a = (char *)64, *b = (char *)128;
    pthread_mutex_lock(&planner);
#if LT_HAVE_FFTWF
    if (single) v->plan = forward ? fftwf_plan_dft_r2c_2d(h, w, (float *)a, (fftwf_complex *)b, PLAN_FLAGS)
                                  : fftwf_plan_dft_c2r_2d(h, w, (fftwf_complex *)a, (float *)b, PLAN_FLAGS);
#endif
#if LT_HAVE_FFTW
    if (!single) v->plan = forward ? fftw_plan_dft_r2c_2d(h, w, (double *)a, (fftw_complex *)b, PLAN_FLAGS)
                                   : fftw_plan_dft_c2r_2d(h, w, (fftw_complex *)a, (double *)b, PLAN_FLAGS);
#endif
    pthread_mutex_unlock(&planner);
}

static void fft_release(lt_host_kernel *h)
{
    fft_kernel *v = (fft_kernel *)h;
    if (!v->plan) return;
    pthread_mutex_lock(&planner);
#if LT_HAVE_FFTWF
    if (h->key.out.dtype == LT_F32) fftwf_destroy_plan(v->plan);
#endif
#if LT_HAVE_FFTW
    if (h->key.out.dtype == LT_F64) fftw_destroy_plan(v->plan);
#endif
    pthread_mutex_unlock(&planner);
}

static lt_status forward_item(void *ctx, int64_t i, int lane)
{
    (void)lane;
    const fft_job *j = ctx;
    const fft_kernel *v = j->v;
    void *in = j->in + (size_t)i * v->real_bytes, *out = j->out + (size_t)i * v->half_bytes;
#if LT_HAVE_FFTWF
    if (v->host.key.out.dtype == LT_F32) fftwf_execute_dft_r2c(v->plan, in, out);
#endif
#if LT_HAVE_FFTW
    if (v->host.key.out.dtype == LT_F64) fftw_execute_dft_r2c(v->plan, in, out);
#endif
    return LT_OK;
}

/* A c2r transform in two dims destroys its input, so each lane works on a copy. */
static lt_status backward_item(void *ctx, int64_t i, int lane)
{
    const fft_job *j = ctx;
    const fft_kernel *v = j->v;
    void *copy = j->scratch + (size_t)lane * v->lane_bytes, *out = j->out + (size_t)i * v->real_bytes;
    memcpy(copy, j->in + (size_t)i * v->half_bytes, v->half_bytes);
#if LT_HAVE_FFTWF
    if (v->host.key.out.dtype == LT_F32) fftwf_execute_dft_c2r(v->plan, copy, out);
#endif
#if LT_HAVE_FFTW
    if (v->host.key.out.dtype == LT_F64) fftw_execute_dft_c2r(v->plan, copy, out);
#endif
    return LT_OK;
}

static lt_status fft_run(const lt_kernel *k, lt_pool *pool, void *const *arg)
{
    const fft_kernel *v = (const fft_kernel *)k;
    fft_job j = { v, arg[0], arg[1], k->scratch_bytes ? arg[k->n_args] : NULL };
    return lt_host_run_lanes(pool, v->n_lanes, v->count, v->host.key.op == LT_OP_RFFT2 ? forward_item : backward_item, &j);
}

bool lt_fft_fftw_applies(const lt_problem_key *p)
{
    lt_dtype t = p->out.dtype;
    if (!lt_key_is_all(p, t) || !((t == LT_F32 && LT_HAVE_FFTWF) || (t == LT_F64 && LT_HAVE_FFTW))) return false;
    int64_t n = lt_tensor_count(&p->in[0]);
    return n > 0 && n <= INT32_MAX && lt_tensor_count(&p->out) > 0;
}

lt_status lt_fft_fftw_prepare(const lt_problem_key *p, lt_kernel **out)
{
    *out = NULL;
    fft_kernel *v = lt_host_kernel_create(p, sizeof *v, "fft_fftw", fft_run);
    if (!v) return LT_ERR_MEMORY;
    v->host.release = fft_release;
    bool forward = p->op == LT_OP_RFFT2;
    const lt_shape *real = forward ? &p->in[0].shape : &p->out.shape;
    size_t size = lt_dtype_size(p->out.dtype);
    v->h = real->dim[real->rank - 2];
    v->w = real->dim[real->rank - 1];
    v->count = lt_leading_count(real, real->rank - 2);
    v->real_bytes = (size_t)(v->h * v->w) * size;
    v->half_bytes = (size_t)(v->h * (v->w / 2 + 1)) * 2 * size;
    v->n_lanes = lt_host_lanes(v->count);
    v->lane_bytes = forward ? 0 : lt_align64(v->half_bytes);
    v->host.kernel.scratch_bytes = (size_t)v->n_lanes * v->lane_bytes;
    v->host.kernel.flops = lt_fft2_flops(v->count, v->h, v->w);
    lt_status s = lt_need_room(PLAN_ROOM, "FFTW");
    if (!s) make_plan(v, p->out.dtype == LT_F32, forward);
    if (!s && !v->plan) s = LT_FAIL(LT_ERR_INTERNAL, "FFTW has no plan for %lld by %lld", (long long)v->h, (long long)v->w);
    return lt_host_kernel_finish(&v->host, s, out);
}
