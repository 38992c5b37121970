/* The vendor's mathematical libraries, opened when first needed. SPDX-License-Identifier: BSD-3-Clause */
#include "device/cuda/libraries.h"

#include "base/sized.h"
#include "base/status.h"

#include <stdio.h>

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

lt_status lt_cuda_blaslt_api(const lt_cublaslt **api) { *api = &table.blaslt; return open_row(BLASLT); }
lt_status lt_cuda_dnn_api(const lt_cudnn **api) { *api = &table.dnn; return open_row(DNN); }
lt_status lt_cuda_fft(const lt_cufft **api) { *api = &table.fft; return open_row(FFT); }
lt_status lt_cuda_solver_api(const lt_cusolver **api) { *api = &table.solver; return open_row(SOLVER); }

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

static bool describe(int index, lt_device_library_info *out)
{
    static const char *const purpose[] = { "matrix products", "convolution", "Fourier transforms", "eigenvalues, factorisations" };
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

bool lt_device_library(int index, lt_device_library_info *out)
{
    lt_device_library_info info = { .size = sizeof info };
    if (!out || LT_CHECK_SIZE(lt_device_library_info, out) || !describe(index, &info)) return false;
    LT_GIVE(out, &info);
    return true;
}
