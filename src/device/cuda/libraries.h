/* cuBLASLt, cuDNN, cuFFT and cuSOLVER of a device: opened when a kernel first needs them (libraries.c), their handles handed
   out so that nobody shares what must not be shared (handles.c). SPDX-License-Identifier: BSD-3-Clause

   A handle of cuDNN holds the stream it works on and streams of its own, which some engines fork from that one. While a stream is
   captured, those belong to the capture: work of another stream through the same handle fails then (ForkInternalStreams). A handle of
   cuSOLVER holds its stream and memory of its own. So each stream has handles to itself (decision 143), and code that only plans takes one for a while.
   cuBLASLt's handle holds neither and serves all threads of a device; cuFFT has plans instead of handles (kernels/cuda/linalg/fft_cufft.c). */
#ifndef LT_DEVICE_CUDA_LIBRARIES_H
#define LT_DEVICE_CUDA_LIBRARIES_H

#include "device/cuda/api_cublaslt.h"
#include "device/cuda/api_cudnn.h"
#include "device/cuda/api_cufft.h"
#include "device/cuda/api_cusolver.h"
#include "device/cuda/cuda.h"

/* ---- libraries.c: the functions; LT_ERR_UNSUPPORTED with the reason where the library is not here ---- */
lt_status lt_cuda_blaslt_api(const lt_cublaslt **api);
lt_status lt_cuda_dnn_api(const lt_cudnn **api);
lt_status lt_cuda_fft(const lt_cufft **api);
lt_status lt_cuda_solver_api(const lt_cusolver **api);

/* ---- handles.c ---- */
typedef enum lt_library_kind { LT_LIBRARY_DNN, LT_LIBRARY_SOLVER, LT_LIBRARY_KINDS } lt_library_kind;

/* Made once and kept until the device is closed: destroying one waits for all work of the device. */
typedef struct lt_library_handle {
    struct lt_library_handle *next;     /* idle ones */
    lt_library_kind kind;
    lt_cudnn_handle    dnn;          /* of its kind; the others are NULL */
    lt_cusolver_handle solver;
    lt_cusolver_params params;
} lt_library_handle;

/* The handle that all threads of the device share. */
lt_status lt_cuda_blaslt(lt_device *dev, const lt_cublaslt **api, cublasLtHandle_t *handle);
/* A handle for the calling thread alone, which queues no work with it, until it is given back. */
lt_status lt_cuda_library_take(lt_device *dev, lt_library_kind kind, lt_library_handle **out);
void      lt_cuda_library_give(lt_device *dev, lt_library_handle *h);
/* The handle of this stream, which works on it. On LT_OK the calling thread alone has it until lt_cuda_stream_unlock. */
lt_status lt_cuda_stream_lock(lt_stream *st, lt_library_kind kind, const lt_library_handle **out);
void      lt_cuda_stream_unlock(lt_stream *st);
/* Before a stream is captured: it gets its handle of cuDNN where the device uses cuDNN at all, since making one amid a capture would
   allocate there. */
lt_status lt_cuda_stream_equip(lt_cuda_stream *st);
void      lt_cuda_stream_strip(lt_cuda_stream *st);  /* before the stream goes; its work has ended */

void lt_cuda_libraries_close(lt_cuda *c); /* called when the device is closed */

/* The stream a kernel's enqueue function gives to a library. */
static inline lt_cu_stream lt_cuda_handle(const lt_stream *st) { return ((const lt_cuda_stream *)st)->handle; }

#endif
