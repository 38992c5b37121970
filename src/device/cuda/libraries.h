/* cuBLASLt, cuDNN, cuFFT and cuSOLVER of a device: opened when a kernel first needs them.
   SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_DEVICE_CUDA_LIBRARIES_H
#define LT_DEVICE_CUDA_LIBRARIES_H

#include "device/cuda/api_cublaslt.h"
#include "device/cuda/api_cudnn.h"
#include "device/cuda/api_cufft.h"
#include "device/cuda/api_cusolver.h"
#include "device/cuda/cuda.h"

/* The functions, and the handle of this device. Each is LT_ERR_UNSUPPORTED with the reason where
   the library is not here. */
lt_status lt_cuda_blaslt(lt_device *dev, const lt_cublaslt **api, cublasLtHandle_t *handle);
lt_status lt_cuda_dnn(lt_device *dev, const lt_cudnn **api, lt_cudnn_handle *handle);
lt_status lt_cuda_fft(const lt_cufft **api);
lt_status lt_cuda_solver(lt_device *dev, const lt_cusolver **api, lt_cusolver_handle *handle, lt_cusolver_params *params);

/* Handles of cuDNN and cuSOLVER carry the stream they work on: hold this from setting it to the
   end of the call. */
void lt_cuda_libraries_lock(lt_device *dev);
void lt_cuda_libraries_unlock(lt_device *dev);

void lt_cuda_libraries_close(lt_cuda *c); /* called when the device is closed */

/* The stream a kernel's enqueue function gives to a library. */
static inline lt_cu_stream lt_cuda_handle(const lt_stream *st) { return ((const lt_cuda_stream *)st)->handle; }

#endif
