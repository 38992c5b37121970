# CUDA kernels of the kernels layer: sources that need no CUDA to build, texts compiled at run time.
# SPDX-License-Identifier: BSD-3-Clause
foreach(source conv_cudnn conv_f32 cuda_table cudnn_graph cudnn_plan eig_grad epilogue fft_cufft fused_cuda fused_pass fused_render index linalg_calls linalg_cusolver matmul matmul_cublaslt movement sequence svd text text_kernel through window)
    target_sources(lt_kernels_obj PRIVATE cuda/${source}.c)
endforeach()
lt_embed(kernels cuda/prelude.cu cuda/cast.cu cuda/conv_f32.cu cuda/eig_grad.cu cuda/index.cu cuda/linalg.cu cuda/matmul.cu cuda/place.cu cuda/spectrum.cu cuda/svd.cu cuda/window.cu)
