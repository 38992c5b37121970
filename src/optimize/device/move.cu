// Moves a few numbers between page-locked host memory and the device. A copy of its own kind would make the next kernel
// wait for another engine. SPDX-License-Identifier: BSD-3-Clause

static __device__ void wait_for_those_before()
{
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;");
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

static __device__ void copy(const double *from, double *to, long long count)
{
    const long long step = (long long)gridDim.x * blockDim.x;
    for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) to[i] = from[i];
}

extern "C" __global__ void move_to_device(const double *from, double *to, const double *last)
{
    wait_for_those_before();
    copy(from, to, last - to + 1);
}

// The same to host memory, where the last block to end says so after everything has arrived. ended: blocks that have, and runs.
// Blocks without a number leave at once.
extern "C" __global__ void move_to_host(const double *from, double *to, const double *last, unsigned long long *ended, double *reported)
{
    wait_for_those_before();
    const unsigned long long runs = ended[1] + 1;
    const long long count = last - to + 1, full = (count + blockDim.x - 1) / blockDim.x, blocks = full < gridDim.x ? full : gridDim.x;
    if (blockIdx.x >= blocks) return;
    copy(from, to, count);
    __threadfence_system();
    __syncthreads();
    if (threadIdx.x != 0) return;
    if (blocks > 1) {
        if (atomicAdd(&ended[0], 1ull) != blocks - 1) return;
        ended[0] = 0;
        __threadfence_system();
    }
    *(volatile double *)reported = (double)runs;
    ended[1] = runs;
}
