# CUDA kernels of the kernels layer: sources that need no CUDA to build, texts compiled at run time.
# SPDX-License-Identifier: BSD-3-Clause
foreach(source
        builder cuda_table sequence text text_kernel through
        fused/fused fused/pass fused/render fused/epilogue
        conv/conv_cudnn conv/conv_f32 conv/cudnn_graph conv/cudnn_plan conv/window
        linalg/adjugate linalg/eig_grad linalg/fft_cufft linalg/linalg_calls linalg/linalg_cusolver linalg/matmul linalg/matmul_cublaslt linalg/norm linalg/svd
        move/index move/movement)
    target_sources(lt_kernels_obj PRIVATE cuda/${source}.c)
endforeach()
lt_embed(kernels
    cuda/fused/prelude.cu cuda/fused/cast.cu cuda/conv/conv_f32.cu cuda/conv/window.cu
    cuda/linalg/adjugate.cu cuda/linalg/eig_grad.cu cuda/linalg/linalg.cu cuda/linalg/matmul.cu cuda/linalg/norm.cu cuda/linalg/spectrum.cu cuda/linalg/svd.cu
    cuda/move/index.cu cuda/move/place.cu)
