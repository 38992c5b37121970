/* Fourier transforms by cuFFT. SPDX-License-Identifier: BSD-3-Clause */
#include "device/cuda/libraries.h"
#include "kernels/cuda/rows.h"
#include "kernels/cuda/text_kernel.h"
#include "kernels/cuda/through.h"
#include "kernels/host_kernel.h"
#include "kernels/rows.h"

#include "base/alloc.h"
#include "base/status.h"

extern const char lt_text_spectrum_cu[];
enum { THREADS = 256 };

typedef struct transform {
    lt_kernel base;
    const lt_cufft *api;
    lt_kernel *hermitian;       /* the inverse overwrites its input, and wants it Hermitian: it works on such a copy */
    int    plan;                /* -1: none, nothing to compute */
    pthread_mutex_t use;        /* of the plan, which holds stream and work area: two threads must not set them at a time */
    bool   forward, wide;       /* wide: f64 */
    size_t work_bytes;
} transform;

static unsigned execute(transform *f, const lt_stream *st, void *in, void *out, void *work)
{
    pthread_mutex_lock(&f->use);
    unsigned r = f->api->cufftSetStream(f->plan, lt_cuda_handle(st));
    if (!r && f->work_bytes) r = f->api->cufftSetWorkArea(f->plan, work);
    if (!r && f->forward) r = f->wide ? f->api->cufftExecD2Z(f->plan, in, out) : f->api->cufftExecR2C(f->plan, in, out);
    else if (!r) r = f->wide ? f->api->cufftExecZ2D(f->plan, in, out) : f->api->cufftExecC2R(f->plan, in, out);
    pthread_mutex_unlock(&f->use);
    return r;
}

static lt_status enqueue(const lt_kernel *k, lt_stream *st, void *const *arg)
{
    const transform *f = (const transform *)k;
    if (f->plan < 0) return LT_OK;
    char *scratch = (char *)(((uintptr_t)arg[k->n_args] + 255) / 256 * 256);
    void *in = f->forward ? arg[0] : scratch + f->work_bytes;
    if (!f->forward) LT_TRY(lt_stream_launch(st, &(lt_launch){ f->hermitian, (void *[]){ arg[0], in } }));
    unsigned r = execute((transform *)(uintptr_t)f, st, in, arg[1], scratch); /* what is locked is not part of what const promises */
    return r ? LT_FAIL(LT_ERR_DEVICE, "cuFFT: transform: status %u", r) : LT_OK;
}

static void destroy(lt_kernel *k)
{
    transform *f = (transform *)k;
    if (f->plan >= 0) (void)f->api->cufftDestroy(f->plan);
    lt_kernel_destroy(f->hermitian);
    pthread_mutex_destroy(&f->use);
    lt_free(f);
}

static lt_status build_hermitian(transform *f, lt_device *dev, int64_t h, int64_t w, int64_t count)
{
    lt_text t = { 0 };
    int64_t entries = count * h * (w / 2 + 1);
    lt_text_type(&t, "T", f->wide ? LT_F64 : LT_F32);
    lt_text_constant(&t, "COUNT", count);
    lt_text_constant(&t, "HEIGHT", h);
    lt_text_constant(&t, "WIDTH", w);
    f->base.scratch_bytes += (size_t)entries * (f->wide ? 16 : 8);
    return lt_text_kernel_build(dev, &(lt_text_kernel){ "spectrum_cuda", "take_hermitian", lt_text_spectrum_cu, 2, { lt_blocks(entries, THREADS) },
                                                        { THREADS }, 0, (double)entries * (f->wide ? 32 : 16) }, &t, &f->hermitian);
}

static lt_status make_plan(transform *f, long long h, long long w, long long count)
{
    long long size[2] = { h, w };
    size_t work = 0;
    unsigned type = f->wide ? (f->forward ? LT_CUFFT_D2Z : LT_CUFFT_Z2D) : f->forward ? LT_CUFFT_R2C : LT_CUFFT_C2R;
    unsigned r = f->api->cufftCreate(&f->plan);
    if (r) f->plan = -1;
    if (!r) r = f->api->cufftSetAutoAllocation(f->plan, 0);
    if (!r) r = f->api->cufftMakePlanMany64(f->plan, 2, size, NULL, 1, 0, NULL, 1, 0, type, count, &work); /* both sides dense */
    if (r) return LT_FAIL(LT_ERR_DEVICE, "cuFFT: plan for %lld transforms of [%lld, %lld]: status %u", count, h, w, r);
    f->work_bytes = (work + 255) / 256 * 256;
    f->base.scratch_bytes = f->work_bytes + 256;
    return LT_OK;
}

static lt_status prepare_real(lt_device *dev, const lt_problem_key *p, lt_kernel **out)
{
    transform *f = lt_calloc(1, sizeof *f);
    *out = NULL;
    if (!f) return LT_FAIL(LT_ERR_MEMORY, "no memory for a Fourier transform");
    pthread_mutex_init(&f->use, NULL);
    f->plan = -1;
    f->forward = p->op == LT_OP_RFFT2;
    f->wide = p->out.dtype == LT_F64;
    const lt_shape *real = f->forward ? &p->in[0].shape : &p->out.shape;
    int64_t h = real->dim[real->rank - 2], w = real->dim[real->rank - 1], count = lt_leading_count(real, real->rank - 2);
    f->base = (lt_kernel){ .name = f->forward ? "rfft2_cufft" : "irfft2_cufft", .enqueue = enqueue, .destroy = destroy, .module = dev->state, .n_args = 2,
                           .flops = lt_fft2_flops(count, h, w), .bytes = lt_problem_bytes(p) };
    lt_status s = lt_cuda_fft(&f->api);
    if (!s) s = lt_cuda_enter(lt_cuda_of(dev));
    bool work = h > 0 && w > 0 && count > 0;
    if (!s && work) s = make_plan(f, h, w, count);
    if (!s && work && !f->forward) s = build_hermitian(f, dev, h, w, count);
    if (s) destroy(&f->base);
    else *out = &f->base;
    return s;
}

bool lt_fft_cufft_applies(const lt_problem_key *p) { return lt_key_is_float(p); }

lt_status lt_fft_cufft_prepare(lt_device *dev, const lt_problem_key *p, lt_kernel **out)
{
    bool half = p->out.dtype == LT_F16 || p->out.dtype == LT_BF16;
    return half ? lt_through_f32(dev, p, prepare_real, out) : prepare_real(dev, p, out);
}
