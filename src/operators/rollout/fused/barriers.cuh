/* Shared memory by address, and barriers in it. SPDX-License-Identifier: BSD-3-Clause

   Follows half.cuh. */
static __device__ __forceinline__ u32 shared_address(const void *p) { return (u32)__cvta_generic_to_shared(p); }
static __device__ __forceinline__ void barrier_set(u32 at, u32 count) { asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(at), "r"(count)); }
static __device__ __forceinline__ void barrier_wait(u32 at, u32 parity)
{
    asm volatile("{\n.reg .pred p;\nagain: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n@p bra done;\nbra again;\ndone:\n}" :: "r"(at), "r"(parity) : "memory");
}
/* So many bytes will come. */
static __device__ __forceinline__ void barrier_expect(u32 at, u32 bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(at), "r"(bytes) : "memory");
}
static __device__ __forceinline__ uint4 get_cell(u32 at)
{
    uint4 v;
    asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "r"(at) : "memory");
    return v;
}
