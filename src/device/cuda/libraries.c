/* The vendor's mathematical libraries, opened when first needed. SPDX-License-Identifier: BSD-3-Clause */
#include "device/cuda/libraries.h"

#include "base/alloc.h"
#include "base/status.h"

#include <stdio.h>

struct lt_cuda_libraries {
    pthread_mutex_t    use;              /* of handles that carry a stream */
    cublasLtHandle_t   blaslt;
    lt_cudnn_handle    dnn;
    lt_cusolver_handle solver;
    lt_cusolver_params solver_params;
};

/* ---- The files --------------------------------------------------------------------------- */
#define X(result, name, args) #name,
static const char *const blaslt_symbols[] = { LT_CUBLASLT_FUNCTIONS(X) };
static const char *const dnn_symbols[] = { LT_CUDNN_FUNCTIONS(X) };
static const char *const fft_symbols[] = { LT_CUFFT_FUNCTIONS(X) };
static const char *const solver_symbols[] = { LT_CUSOLVER_FUNCTIONS(X) };
#undef X

static const char *const blaslt_files[] = { "libcublasLt.so.13", "libcublasLt.so.12", NULL };
static const char *const dnn_files[] = { "libcudnn.so.9", NULL };
static const char *const fft_files[] = { "libcufft.so.12", "libcufft.so.11", NULL };
static const char *const solver_files[] = { "libcusolver.so.12", "libcusolver.so.11", NULL };
#define TOOLKIT "install the CUDA toolkit 12.6 or later, or set LATHE_CUDA to the folder that holds it"

static struct {
    lt_cublaslt blaslt;
    lt_cudnn    dnn;
    lt_cufft    fft;
    lt_cusolver solver;
} table;

/* One row per library; `state` is under the lock below. */
static struct row {
    lt_cuda_library lib;
    void  *table;
    size_t bytes;
    bool   tried;
    lt_status status;
    char   text[LT_ERROR_TEXT_BYTES];
} rows[] = {
    { { "cuBLASLt", blaslt_files, TOOLKIT, blaslt_symbols, (int)LT_LEN(blaslt_symbols) }, &table.blaslt, sizeof table.blaslt, false, LT_OK, "" },
    { { "cuDNN", dnn_files, "install cuDNN 9, or set LATHE_CUDA to the folder that holds it", dnn_symbols, (int)LT_LEN(dnn_symbols) },
      &table.dnn, sizeof table.dnn, false, LT_OK, "" },
    { { "cuFFT", fft_files, TOOLKIT, fft_symbols, (int)LT_LEN(fft_symbols) }, &table.fft, sizeof table.fft, false, LT_OK, "" },
    { { "cuSOLVER", solver_files, TOOLKIT, solver_symbols, (int)LT_LEN(solver_symbols) }, &table.solver, sizeof table.solver, false, LT_OK, "" },
};
enum { BLASLT, DNN, FFT, SOLVER };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Opens row i once per process; a failure is remembered with its text. */
static lt_status open_row(int i)
{
    struct row *r = &rows[i];
    pthread_mutex_lock(&lock);
    if (!r->tried) {
        r->status = lt_cuda_library_open(&r->lib, r->table, r->bytes);
        if (r->status) snprintf(r->text, sizeof r->text, "%s", lt_error_text());
        r->tried = true;
    } else if (r->status) {
        lt_error_set(r->text);
    }
    pthread_mutex_unlock(&lock);
    return r->status;
}

/* ---- Handles of a device -------------------------------------------------------------------- */
static lt_status of_device(lt_device *dev, struct lt_cuda_libraries **out)
{
    lt_cuda *c = lt_cuda_of(dev);
    LT_TRY(lt_cuda_enter(c));
    pthread_mutex_lock(&c->lock);
    if (!c->libraries && (c->libraries = lt_calloc(1, sizeof *c->libraries))) pthread_mutex_init(&c->libraries->use, NULL);
    *out = c->libraries;
    pthread_mutex_unlock(&c->lock);
    return *out ? LT_OK : LT_FAIL(LT_ERR_MEMORY, "%s: no memory for library handles", dev->id);
}

lt_status lt_cuda_blaslt(lt_device *dev, const lt_cublaslt **api, cublasLtHandle_t *handle)
{
    struct lt_cuda_libraries *l;
    LT_TRY(open_row(BLASLT));
    LT_TRY(of_device(dev, &l));
    *api = &table.blaslt;
    pthread_mutex_lock(&l->use);
    unsigned r = l->blaslt ? 0 : table.blaslt.cublasLtCreate(&l->blaslt);
    *handle = l->blaslt;
    pthread_mutex_unlock(&l->use);
    return r ? LT_FAIL(LT_ERR_DEVICE, "%s: cuBLASLt does not start: %s", dev->id, table.blaslt.cublasLtGetStatusString(r)) : LT_OK;
}

lt_status lt_cuda_dnn(lt_device *dev, const lt_cudnn **api, lt_cudnn_handle *handle)
{
    struct lt_cuda_libraries *l;
    LT_TRY(open_row(DNN));
    LT_TRY(of_device(dev, &l));
    *api = &table.dnn;
    pthread_mutex_lock(&l->use);
    unsigned r = l->dnn ? 0 : table.dnn.cudnnCreate(&l->dnn);
    *handle = l->dnn;
    pthread_mutex_unlock(&l->use);
    return r ? LT_FAIL(LT_ERR_DEVICE, "%s: cuDNN does not start: %s", dev->id, table.dnn.cudnnGetErrorString(r)) : LT_OK;
}

lt_status lt_cuda_fft(const lt_cufft **api)
{
    *api = &table.fft;
    return open_row(FFT);
}

lt_status lt_cuda_solver(lt_device *dev, const lt_cusolver **api, lt_cusolver_handle *handle, lt_cusolver_params *params)
{
    struct lt_cuda_libraries *l;
    LT_TRY(open_row(SOLVER));
    LT_TRY(of_device(dev, &l));
    *api = &table.solver;
    pthread_mutex_lock(&l->use);
    unsigned r = l->solver ? 0 : table.solver.cusolverDnCreate(&l->solver);
    if (!r && !l->solver_params) r = table.solver.cusolverDnCreateParams(&l->solver_params);
    *handle = l->solver;
    *params = l->solver_params;
    pthread_mutex_unlock(&l->use);
    return r ? LT_FAIL(LT_ERR_DEVICE, "%s: cuSOLVER does not start (status %u)", dev->id, r) : LT_OK;
}

void lt_cuda_libraries_lock(lt_device *dev) { pthread_mutex_lock(&lt_cuda_of(dev)->libraries->use); }
void lt_cuda_libraries_unlock(lt_device *dev) { pthread_mutex_unlock(&lt_cuda_of(dev)->libraries->use); }

void lt_cuda_libraries_close(lt_cuda *c)
{
    struct lt_cuda_libraries *l = c->libraries;
    if (!l) return;
    (void)c->cu->cuCtxSetCurrent(c->context);
    if (l->blaslt) (void)table.blaslt.cublasLtDestroy(l->blaslt);
    if (l->dnn) (void)table.dnn.cudnnDestroy(l->dnn);
    if (l->solver_params) (void)table.solver.cusolverDnDestroyParams(l->solver_params);
    if (l->solver) (void)table.solver.cusolverDnDestroy(l->solver);
    pthread_mutex_destroy(&l->use);
    lt_free(l);
    c->libraries = NULL;
}

/* ---- What is here --------------------------------------------------------------------------- */
static void put_version(int i, char *out, size_t bytes)
{
    int v = 0;
    size_t n;
    out[0] = 0;
    switch (i) {
    case BLASLT: n = table.blaslt.cublasLtGetVersion(); snprintf(out, bytes, "%zu.%zu.%zu", n / 10000, n / 100 % 100, n % 100); break;
    case DNN: n = table.dnn.cudnnGetVersion(); snprintf(out, bytes, "%zu.%zu.%zu", n / 10000, n / 100 % 100, n % 100); break;
    case FFT: if (!table.fft.cufftGetVersion(&v)) snprintf(out, bytes, "%d.%d.%d", v / 1000, v / 100 % 10, v % 100); break;
    default: if (!table.solver.cusolverGetVersion(&v)) snprintf(out, bytes, "%d.%d.%d", v / 1000, v / 100 % 10, v % 100); break;
    }
}

bool lt_device_library(int index, lt_device_library_info *out)
{
    if (!out) return false;
    static const char *const purpose[] = { "matrix products", "convolution", "Fourier transforms", "eigenvalues, factorisations" };
    *out = (lt_device_library_info){ .name = "" };
    if (index == 0) {
        const lt_nvrtc *rtc;
        int major, minor;
        snprintf(out->name, sizeof out->name, "NVRTC");
        snprintf(out->purpose, sizeof out->purpose, "compiles kernels at run time");
        out->usable = !lt_nvrtc_open(&rtc, &major, &minor);
        if (out->usable) snprintf(out->version, sizeof out->version, "%d.%d", major, minor);
    } else if (index > 0 && index <= (int)LT_LEN(rows)) {
        snprintf(out->name, sizeof out->name, "%s", rows[index - 1].lib.title);
        snprintf(out->purpose, sizeof out->purpose, "%s", purpose[index - 1]);
        out->usable = !open_row(index - 1);
        if (out->usable) put_version(index - 1, out->version, sizeof out->version);
    } else {
        return false;
    }
    if (!out->usable) snprintf(out->reason, sizeof out->reason, "%s", lt_error_text());
    return true;
}
