/* Instructions of sm_80 and sm_90 that kernels name themselves, on the CPU: an asm statement of a kernel's text becomes a call of
   ptx_… with its operands in order, named after its instructions and the numbers among their operands. Follows cluster_shim.h.
   SPDX-License-Identifier: BSD-3-Clause */
#ifndef PTX_HOST_H
#define PTX_HOST_H

#include <cmath>
#include <initializer_list>

#define __device__
#define __global__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __cluster_dims__(...)
#define __align__(n) __attribute__((aligned(n)))

struct alignas(8) float2 { float x, y; };
struct alignas(16) float4 { float x, y, z, w; };
struct alignas(8) uint2 { unsigned x, y; };
static inline uint2 make_uint2(unsigned x, unsigned y) { return { x, y }; }
struct alignas(16) uint4 { unsigned x, y, z, w; };
static inline float2 make_float2(float x, float y) { return { x, y }; }
static inline float4 make_float4(float x, float y, float z, float w) { return { x, y, z, w }; }
static inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return { x, y, z, w }; }
using std::isfinite;
static inline float __uint_as_float(unsigned bits) { float x; memcpy(&x, &bits, sizeof x); return x; }
static inline unsigned __float_as_uint(float x) { unsigned bits; memcpy(&bits, &x, sizeof bits); return bits; }
static inline float rsqrtf(float x) { return (float)(1 / std::sqrt((double)x)); }
static inline int min(int a, int b) { return a < b ? a : b; }
static inline int max(int a, int b) { return a > b ? a : b; }
static inline size_t __cvta_generic_to_shared(const void *p) { return shim::address(p); }

/* ---- half-precision numbers ---- */
namespace half {

/* To `bits` after the first, ties to even, exponents from `least` on. */
static inline double rounded(double x, int bits, int least)
{
    uint64_t word;
    memcpy(&word, &x, sizeof word);
    int e = (int)(word >> 52 & 0x7ff) - 1023;
    if (e == 1024) return x;
    word = (uint64_t)((e < least ? least : e) - bits + 52 + 1023) << 52 | (uint64_t)1 << 51;
    double shift;
    memcpy(&shift, &word, sizeof shift);
    return std::copysign((x + shift) - shift, x);
}
static inline unsigned encode_f16(double x)
{
    float f = (float)rounded(x, 10, -14);
    unsigned bits = __float_as_uint(f), sign = bits >> 16 & 0x8000, size = bits & 0x7fffffff;
    if (size > 0x7f800000) return 0x7fff;
    if (size >= 0x47800000) return sign | 0x7c00;
    if (size >= 0x38800000) return sign | (size - 0x38000000) >> 13;
    return sign | (unsigned)(std::fabs(f) * 0x1p24f);
}
static inline unsigned encode_bf16(double x)
{
    unsigned bits = __float_as_uint((float)rounded(x, 7, -126));
    return (bits & 0x7fffffff) > 0x7f800000 ? 0x7fff : bits >> 16;
}
static inline float decode_bf16(unsigned h) { return __uint_as_float(h << 16); }
static inline float decode_f16(unsigned h)
{
    unsigned e = h >> 10 & 31;
    float size = e == 31 ? (h & 0x3ff ? NAN : INFINITY) : e ? __uint_as_float((h & 0x7fff) << 13) * 0x1p112f : (float)(h & 0x3ff) * 0x1p-24f;
    return h & 0x8000 ? -size : size;
}

struct f16 { static unsigned encode(double x) { return encode_f16(x); } static float decode(unsigned h) { return decode_f16(h); } };
struct bf16 { static unsigned encode(double x) { return encode_bf16(x); } static float decode(unsigned h) { return decode_bf16(h); } };
/* Both numbers of a word; products of two are exact in double precision. */
template <class T, class F> static inline unsigned each(F f) { return T::encode(f(0)) | T::encode(f(16)) << 16; }
template <class T> static inline double part(unsigned v, int shift) { return T::decode(v >> shift & 0xffff); }
template <class T> static inline void fma(unsigned &v, unsigned x, unsigned y, unsigned z) { v = each<T>([=](int s) { return part<T>(x, s) * part<T>(y, s) + part<T>(z, s); }); }
template <class T> static inline void mul(unsigned &v, unsigned x, unsigned y) { v = each<T>([=](int s) { return part<T>(x, s) * part<T>(y, s); }); }
template <class T> static inline void add(unsigned &v, unsigned x, unsigned y) { v = each<T>([=](int s) { return part<T>(x, s) + part<T>(y, s); }); }

}

static inline void ptx_mov_b32__cvt_f32_f16__cvt_f32_f16(float &x, float &y, unsigned v) { x = half::decode_f16(v & 0xffff), y = half::decode_f16(v >> 16); }
static inline void ptx_cvt_rn_f16x2_f32(unsigned &v, float x, float y) { v = half::encode_f16(x) | half::encode_f16(y) << 16; }
static inline void ptx_cvt_rn_bf16x2_f32(unsigned &v, float x, float y) { v = half::encode_bf16(x) | half::encode_bf16(y) << 16; }
static inline void ptx_fma_rn_f16x2(unsigned &v, unsigned x, unsigned y, unsigned z) { half::fma<half::f16>(v, x, y, z); }
static inline void ptx_fma_rn_bf16x2(unsigned &v, unsigned x, unsigned y, unsigned z) { half::fma<half::bf16>(v, x, y, z); }
static inline void ptx_mul_rn_f16x2(unsigned &v, unsigned x, unsigned y) { half::mul<half::f16>(v, x, y); }
static inline void ptx_mul_rn_bf16x2(unsigned &v, unsigned x, unsigned y) { half::mul<half::bf16>(v, x, y); }
static inline void ptx_add_rn_f16x2(unsigned &v, unsigned x, unsigned y) { half::add<half::f16>(v, x, y); }
static inline void ptx_add_rn_bf16x2(unsigned &v, unsigned x, unsigned y) { half::add<half::bf16>(v, x, y); }
static inline void ptx_mul_rn_sat_f16x2(unsigned &v, unsigned x, unsigned y) /* NaN becomes 0 */
{
    v = half::each<half::f16>([=](int s) { return std::fmin(std::fmax(half::part<half::f16>(x, s) * half::part<half::f16>(y, s), 0.), 1.); });
}
static inline void ptx_tanh_approx_f16x2(unsigned &v)
{
    unsigned x = v;
    v = half::each<half::f16>([=](int s) { return std::tanh(half::part<half::f16>(x, s)); });
}
/* Eleven digits, ties away from zero. */
static inline void ptx_cvt_rna_tf32_f32(unsigned &v, float x)
{
    unsigned bits = __float_as_uint(x);
    v = (bits & 0x7f800000) == 0x7f800000 ? bits : (bits + 0x1000) & ~0x1fffu;
}
static inline void ptx_tanh_approx_f32(float &x) { x = std::tanh(x); }

/* ---- memory ---- */
static inline void copy_cell(void *to, const void *from)
{
    if (((uintptr_t)to | (uintptr_t)from) % 16) shim::fail("a cell that is not aligned");
    memcpy(to, from, 16);
}
template <class T> static inline void load_cell_from(T &x, T &y, T &z, T &w, const void *from)
{
    alignas(16) T v[4];
    copy_cell(v, from);
    x = v[0], y = v[1], z = v[2], w = v[3];
}
static inline void store_cell_at(void *to, unsigned x, unsigned y, unsigned z, unsigned w)
{
    alignas(16) unsigned v[4] = { x, y, z, w };
    copy_cell(to, v);
}
static inline void ptx_ld_global_L1__no_allocate_v4_b32(unsigned &x, unsigned &y, unsigned &z, unsigned &w, const void *from) { load_cell_from(x, y, z, w, from); }
static inline void ptx_ld_global_cg_v4_f32(float &x, float &y, float &z, float &w, const void *from) { load_cell_from(x, y, z, w, from); }
static inline void ptx_ld_shared_v4_b32(unsigned &x, unsigned &y, unsigned &z, unsigned &w, unsigned at) { load_cell_from(x, y, z, w, shim::pointer(at, 16)); }
static inline void ptx_st_global_v4_b32(void *to, unsigned x, unsigned y, unsigned z, unsigned w) { store_cell_at(to, x, y, z, w); }
static inline void ptx_st_shared_v4_b32(unsigned at, unsigned x, unsigned y, unsigned z, unsigned w) { store_cell_at(shim::pointer(at, 16), x, y, z, w); }

static inline void ptx_cp_async_cg_shared_global_16(unsigned to, const void *from) { shim::copy_cell_later(to, from); }
static inline void ptx_cp_async_commit_group() { shim::close_copy_group(); }
static inline void ptx_cp_async_wait_group(unsigned left) { shim::wait_copy_groups(left); }

/* ---- waiting ---- */
static inline void ptx_bar_sync(unsigned id, unsigned count)
{
    if (id >= shim::BARRIERS || count % shim::LANES) shim::fail("bar.sync %u, %u", id, count);
    shim::meet(shim::blocks[shim::now].barrier[id], "bar.sync", count);
}
static inline void ptx_mbarrier_init_shared__cta_b64(unsigned at, unsigned count)
{
    shim::phases p = {};
    p.pending = p.expected = (uint16_t)count;
    memcpy(shim::pointer(at, 8), &p, sizeof p);
}
static inline void ptx_mbarrier_arrive_shared__cta_b64(unsigned at) { shim::arrive(shim::phases_at(at)); }
static inline unsigned of_cluster(unsigned block) { return shim::blocks[shim::now].cluster * shim::cluster_size + block; }
static inline void ptx_mapa_shared__cluster_u32__mbarrier_arrive_shared__cluster_b64(unsigned at, unsigned block) { shim::arrive(shim::phases_at(at, of_cluster(block))); }
static inline void ptx_mbarrier_try_wait_parity_shared__cta_b64(unsigned at, unsigned parity) { shim::wait_phase(at, parity); }
static inline void ptx_mbarrier_arrive_expect_tx_shared__cta_b64(unsigned at, unsigned bytes)
{
    shim::phases_at(at)->bytes += (int)bytes;
    shim::arrive(shim::phases_at(at));
}
static inline void ptx_barrier_cluster_arrive_release__barrier_cluster_wait_acquire()
{
    shim::meet(shim::clusters[shim::blocks[shim::now].cluster], "barrier.cluster", shim::cluster_size * shim::threads);
}
/* In two parts: who waits has arrived. */
static inline void ptx_barrier_cluster_arrive_relaxed() {}
static inline void ptx_barrier_cluster_wait_acquire() { ptx_barrier_cluster_arrive_release__barrier_cluster_wait_acquire(); }
/* To the same place in every block of the mask. */
static inline void ptx_cp_async_bulk_shared__cluster_global_mbarrier__complete_tx__bytes_multicast__cluster(unsigned to, const void *from, unsigned bytes, unsigned barrier, unsigned short mask)
{
    shim::copy c = { of_cluster(0), mask, to, barrier, bytes, from };
    if (((uintptr_t)from | to | bytes) % 16 || mask >> shim::cluster_size) shim::fail("cp.async.bulk of %u bytes to blocks %u", bytes, mask);
    if (shim::how.late) shim::copies.push_back(c);
    else shim::run_copy(c);
}
/* To the block itself. */
static inline void ptx_cp_async_bulk_shared__cluster_global_mbarrier__complete_tx__bytes(unsigned to, const void *from, unsigned bytes, unsigned barrier)
{
    shim::copy c = { shim::now, 1, to, barrier, bytes, from };
    if (((uintptr_t)from | to | bytes) % 16 || !bytes) shim::fail("cp.async.bulk of %u bytes", bytes);
    if (shim::how.late) shim::copies.push_back(c);
    else shim::run_copy(c);
}
static inline void ptx_createpolicy_fractional_L2__evict_first_b64__cp_async_bulk_shared__cluster_global_mbarrier__complete_tx__bytes_L2__cache_hint(unsigned to, const void *from, unsigned bytes, unsigned barrier)
{
    ptx_cp_async_bulk_shared__cluster_global_mbarrier__complete_tx__bytes(to, from, bytes, barrier);
}
/* What orders memory has nothing to do here: fibers see what was written. */
static inline void ptx_fence_proxy_async_shared__cta() {}
static inline void ptx_fence_mbarrier_init_release_cluster() {}
static inline void ptx_wgmma_fence_sync_aligned() {}
static inline void ptx_setmaxnreg_inc_sync_aligned_u32(unsigned) {}
static inline void ptx_setmaxnreg_dec_sync_aligned_u32(unsigned) {}
static inline void ptx_(float &) {} /* an empty statement that names a register */

/* ---- tensor cores ---- */
namespace tensor {

/* A matrix of eights of rows and of columns along the sum, without swizzling. */
struct matrix {
    uint64_t at;
    template <class T> float get(unsigned row, unsigned k) const
    {
        unsigned start = (unsigned)(at & 0x3fff) << 4, along = (unsigned)(at >> 16 & 0x3fff) << 4, rows = (unsigned)(at >> 32 & 0x3fff) << 4;
        uint16_t h;
        memcpy(&h, shim::pointer(start + k / 8 * along + row / 8 * rows + row % 8 * 16, 16) + k % 8 * 2, sizeof h);
        return T::decode(h);
    }
};

template <class T, unsigned N> static void multiply(const shim::product &p)
{
    matrix a = { p.a }, b = { p.b };
    if ((a.at | b.at) & ~0x3fff3fff3fffull) shim::fail("a matrix with swizzling or bits that are not known");
    static float left[64][16], right[16][N], out[64][N];
    for (unsigned k = 0; k < 16; k++) {
        for (unsigned row = 0; row < 64; row++) left[row][k] = a.get<T>(row, k);
        for (unsigned n = 0; n < N; n++) right[k][n] = b.get<T>(n, k);
    }
    for (unsigned row = 0; row < 64; row++) {
        for (unsigned n = 0; n < N; n++) out[row][n] = 0;
        for (unsigned k = 0; k < 16; k++)
            for (unsigned n = 0; n < N; n++) out[row][n] += left[row][k] * right[k][n];
    }
    for (unsigned t = 0; t < shim::WARPGROUP; t++)
        for (unsigned i = 0; i < N / 2; i++) {
            unsigned row = t / 32 * 16 + t % 32 / 4 + i / 2 % 2 * 8, column = i / 4 * 8 + t % 4 * 2 + i % 2;
            p.sums[t][i] = (p.keep ? p.sums[t][i] : 0) + out[row][column];
        }
}

template <class T, unsigned N> static void queue(float &first, uint64_t a, uint64_t b, int keep)
{
    struct operands { float *sums; uint64_t a, b; bool keep; } mine = { &first, a, b, keep != 0 };
    shim::warpgroup &g = shim::own_group();
    shim::meet_group("wgmma", &mine, [&g](std::vector<void *> &all) {
        const operands *o = (const operands *)all[0];
        shim::product p = { multiply<T, N>, {}, o->a, o->b, o->keep };
        for (unsigned t = 0; t < shim::WARPGROUP; t++) {
            const operands *other = (const operands *)all[t];
            if (other->a != o->a || other->b != o->b || other->keep != o->keep) shim::fail("threads of a warpgroup name different matrices");
            p.sums[t] = other->sums;
        }
        if (shim::how.late) g.open.push_back(p);
        else p.multiply(p);
    });
}
/* After the sums come two matrices and whether sums are kept. */
struct operand {
    uint64_t v;
    operand(const float &) : v(0) {}
    operand(unsigned long long x) : v(x) {}
    operand(int x) : v((uint64_t)x) {}
};
template <class T, unsigned N> static inline void take(float &first, std::initializer_list<operand> rest)
{
    const operand *o = rest.begin() + N / 2 - 1;
    if (rest.size() != N / 2 - 1 + 3) shim::fail("a product of %u channels without a register for every sum", N);
    queue<T, N>(first, o[0].v, o[1].v, (int)o[2].v);
}

/* 16 x 8 sums of 16 products, in fragments of a warp. */
template <class T> static inline void multiply_fragments(float &c0, float &c1, float &c2, float &c3, unsigned a0, unsigned a1, unsigned a2, unsigned a3, unsigned b0, unsigned b1)
{
    struct lane { float c[4]; unsigned a[4], b[2]; } mine = { { c0, c1, c2, c3 }, { a0, a1, a2, a3 }, { b0, b1 } };
    shim::meet_warp("mma", &mine, [](std::vector<void *> &all) {
        for (unsigned t = 0; t < 32; t++)
            for (unsigned i = 0; i < 4; i++) {
                unsigned row = t / 4, column = t % 4 * 2 + i % 2;
                float sum = ((lane *)all[t])->c[i];
                for (unsigned k = 0; k < 16; k++) {
                    unsigned q = k % 8 / 2, shift = k % 2 * 16;
                    unsigned a = ((lane *)all[row * 4 + q])->a[i / 2 + k / 8 * 2], b = ((lane *)all[column * 4 + q])->b[k / 8];
                    sum += T::decode(a >> shift & 0xffff) * T::decode(b >> shift & 0xffff);
                }
                ((lane *)all[t])->c[i] = sum;
            }
    });
    c0 = mine.c[0], c1 = mine.c[1], c2 = mine.c[2], c3 = mine.c[3];
}

/* The same of eight products of numbers of TF32. As tensor cores add: all addends are cut to the place of the largest with two digits
   more than single precision has, and so is the sum, towards zero. */
static inline uint64_t bits_of(double x) { uint64_t b; memcpy(&b, &x, sizeof b); return b; }
static inline int exponent(double x) { return (int)(bits_of(x) >> 52 & 0x7ff); }
/* Without digits behind so many after the first. */
static inline double cut(double x, int digits)
{
    if (digits < 0) return 0;
    uint64_t b = bits_of(x) & ~(((uint64_t)1 << (52 - digits)) - 1);
    memcpy(&x, &b, sizeof x);
    return x;
}
static inline float add_cut(const double *x, int n)
{
    int most = 0;
    double sum = 0;
    for (int i = 0; i < n; i++) most = exponent(x[i]) > most ? exponent(x[i]) : most;
    if (most == 0x7ff) {
        for (int i = 0; i < n; i++) sum += x[i];
        return (float)sum;
    }
    for (int i = 0; i < n; i++) sum += cut(x[i], 25 - (most - exponent(x[i])));
    return (float)cut(sum, 23);
}
static inline double tf32_of(unsigned bits) { return __uint_as_float(bits & ~0x1fffu); }
static inline void multiply_tf32(float &c0, float &c1, float &c2, float &c3, unsigned a0, unsigned a1, unsigned a2, unsigned a3, unsigned b0, unsigned b1)
{
    struct lane { float c[4]; unsigned a[4], b[2]; } mine = { { c0, c1, c2, c3 }, { a0, a1, a2, a3 }, { b0, b1 } };
    shim::meet_warp("mma", &mine, [](std::vector<void *> &all) {
        for (unsigned t = 0; t < 32; t++)
            for (unsigned i = 0; i < 4; i++) {
                unsigned row = t / 4, column = t % 4 * 2 + i % 2;
                double addend[9] = { ((lane *)all[t])->c[i] };
                for (unsigned k = 0; k < 8; k++)
                    addend[1 + k] = tf32_of(((lane *)all[row * 4 + k % 4])->a[i / 2 + k / 4 * 2]) * tf32_of(((lane *)all[column * 4 + k % 4])->b[k / 4]);
                ((lane *)all[t])->c[i] = add_cut(addend, 9);
            }
    });
    c0 = mine.c[0], c1 = mine.c[1], c2 = mine.c[2], c3 = mine.c[3];
}

}

#define WGMMA(n) \
    template <class... A> static inline void ptx_setp_ne_b32_0__wgmma_mma_async_sync_aligned_m64n##n##k16_f32_f16_f16_1_1_0_0(float &d, const A &... a) { tensor::take<half::f16, n>(d, { a... }); } \
    template <class... A> static inline void ptx_setp_ne_b32_0__wgmma_mma_async_sync_aligned_m64n##n##k16_f32_bf16_bf16_1_1_0_0(float &d, const A &... a) { tensor::take<half::bf16, n>(d, { a... }); }
WGMMA(16) WGMMA(32) WGMMA(48) WGMMA(64) WGMMA(80) WGMMA(96) WGMMA(112) WGMMA(128)
static inline void ptx_wgmma_commit_group_sync_aligned()
{
    shim::warpgroup &g = shim::own_group();
    shim::meet_group("wgmma.commit_group", nullptr, [&g](std::vector<void *> &) {
        if (shim::how.late) g.committed.push_back(std::move(g.open));
        g.open.clear();
    });
}
static inline void wait_products(size_t left)
{
    shim::warpgroup &g = shim::own_group();
    shim::meet_group("wgmma.wait_group", nullptr, [&g, left](std::vector<void *> &) {
        for (; g.committed.size() > left; g.committed.erase(g.committed.begin()))
            for (const shim::product &p : g.committed.front()) p.multiply(p);
    });
}
static inline void ptx_wgmma_wait_group_sync_aligned_0() { wait_products(0); }
static inline void ptx_wgmma_wait_group_sync_aligned_1() { wait_products(1); }

template <class... A> static inline void ptx_mma_sync_aligned_m16n8k16_row_col_f32_f16_f16_f32(A &&... a) { tensor::multiply_fragments<half::f16>(a...); }
template <class... A> static inline void ptx_mma_sync_aligned_m16n8k16_row_col_f32_bf16_bf16_f32(A &&... a) { tensor::multiply_fragments<half::bf16>(a...); }

static inline void ptx_mma_sync_aligned_m16n8k8_row_col_f32_tf32_tf32_f32(float &c0, float &c1, float &c2, float &c3, unsigned a0, unsigned a1, unsigned a2, unsigned a3, unsigned b0, unsigned b1)
{
    tensor::multiply_tf32(c0, c1, c2, c3, a0, a1, a2, a3, b0, b1);
}

/* The other way round: lane 4 r + q gets four bytes of row r of each matrix. */
template <unsigned N> static inline void load_matrices(unsigned at, unsigned (&v)[N])
{
    struct lane { unsigned at, v[N]; } mine = { at, {} };
    shim::meet_warp("ldmatrix", &mine, [](std::vector<void *> &all) {
        for (unsigned i = 0; i < N; i++)
            for (unsigned t = 0; t < 32; t++) memcpy(&((lane *)all[t])->v[i], shim::pointer(((lane *)all[8 * i + t / 4])->at, 16) + t % 4 * 4, 4);
    });
    memcpy(v, mine.v, sizeof v);
}
static inline void ptx_ldmatrix_sync_aligned_m8n8_x4_shared_b16(unsigned &a, unsigned &b, unsigned &c, unsigned &d, unsigned at)
{
    unsigned v[4];
    load_matrices(at, v);
    a = v[0], b = v[1], c = v[2], d = v[3];
}
static inline void ptx_ldmatrix_sync_aligned_m8n8_x2_shared_b16(unsigned &a, unsigned &b, unsigned at)
{
    unsigned v[2];
    load_matrices(at, v);
    a = v[0], b = v[1];
}

/* Four matrices of eight rows of 16 bytes; lane 8 i + r knows where row r of the i-th goes. */
static inline void ptx_stmatrix_sync_aligned_m8n8_x4_shared_b16(unsigned at, unsigned v0, unsigned v1, unsigned v2, unsigned v3)
{
    struct lane { unsigned at, v[4]; } mine = { at, { v0, v1, v2, v3 } };
    shim::meet_warp("stmatrix", &mine, [](std::vector<void *> &all) {
        for (unsigned i = 0; i < 4; i++)
            for (unsigned t = 0; t < 32; t++) memcpy(shim::pointer(((lane *)all[8 * i + t / 4])->at, 16) + t % 4 * 4, &((lane *)all[t])->v[i], 4);
    });
}

#endif
