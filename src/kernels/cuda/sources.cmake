# CUDA kernels of the kernels layer: sources that need no CUDA to build, texts compiled at run time.
# SPDX-License-Identifier: BSD-3-Clause
foreach(source cuda_table fused_cuda fused_pass fused_render sequence text)
    target_sources(lt_kernels_obj PRIVATE cuda/${source}.c)
endforeach()
lt_embed(kernels cuda/prelude.cu)
