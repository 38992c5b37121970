/* Scale and shift of a sample's channels, from the sums its tiles left. SPDX-License-Identifier: BSD-3-Clause

   Who writes a sample's last tile makes them, who reads the map loads them. Sums are added in an order that does not
   depend on what ran beside them: runs repeat to the bit. Follows half.cuh. */
#define MAX_CHANNELS 512 /* of a map */
#define EPSILON 1e-5f

struct __align__(16) norm_table { float2 norm[MAX_CHANNELS]; };

template <int BARRIER, int THREADS> static __device__ __forceinline__ void meet()
{
    asm volatile("bar.sync %0, %1;" :: "n"(BARRIER), "n"(THREADS) : "memory");
}

static __device__ __forceinline__ const float2 *norms_of(const lt_norm_job &n, int sample) { return n.ready + sample * n.stride; }

/* By THREADS threads, this one the t-th, which meet at BARRIER: before, when nobody may read the last sample's any more, and after. */
template <int BARRIER, int THREADS> static __device__ __forceinline__ void load_norms(const lt_norm_job &n, int sample, norm_table &table, int t)
{
    meet<BARRIER, THREADS>();
    for (int c = t; c < n.channels; c += THREADS) table.norm[c] = norms_of(n, sample)[c];
    meet<BARRIER, THREADS>();
}

/* The same in half precision, of a whole block that does nothing else meanwhile. */
struct half_table { half_norms of_cell[MAX_CHANNELS / 8]; };
template <int THREADS> static __device__ __forceinline__ void load_half_table(const lt_norm_job &n, int sample, half_table &table)
{
    for (int cell = threadIdx.x; cell * 8 < n.channels; cell += THREADS) table.of_cell[cell] = load_half_norms(norms_of(n, sample) + cell * 8);
    __syncthreads();
}

struct sums_scratch { float4 part[MAX_CHANNELS]; float2 moments[MAX_CHANNELS]; };

/* Mean and variance of a channel's group. */
static __device__ __forceinline__ float2 group_moments(const lt_sums_job &n, const sums_scratch &scratch, int c)
{
    if (n.group == 1 || c >= n.real) return scratch.moments[c];
    int first = c / n.group * n.group;
    double m = 0, v = 0;
    for (int i = first; i < first + n.group; i++) m += scratch.moments[i].x;
    m /= n.group;
    for (int i = first; i < first + n.group; i++) v += scratch.moments[i].y + (scratch.moments[i].x - m) * (scratch.moments[i].x - m);
    return make_float2((float)m, (float)(v / n.group));
}

/* Other blocks wrote them in this launch: not from the cache that is near. */
static __device__ __forceinline__ float4 load_far(const float4 *from)
{
    float4 v;
    asm volatile("ld.global.cg.v4.f32 {%0, %1, %2, %3}, [%4];" : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w) : "l"(from));
    return v;
}

/* A pair of channels of every step-th tile, from the first on. All loads are on their way before the first is added, which
   a loop over tiles does not make the compiler do. Four tiles are added in single precision, as the pixels of one are. */
enum { TILES_AT_ONCE = 16 };
struct pair_sums { double s0, q0, s1, q1; };
static __device__ __forceinline__ void add_tiles(pair_sums &all, const float4 *from, int stride, int first, int step, int tiles)
{
    float4 v[TILES_AT_ONCE];
    #pragma unroll
    for (int i = 0; i < TILES_AT_ONCE; i++) {
        int tile = first + i * step;
        v[i] = make_float4(0, 0, 0, 0);
        if (tile < tiles) v[i] = load_far(from + (i64)tile * stride);
    }
    #pragma unroll
    for (int i = 0; i < TILES_AT_ONCE; i += 4) {
        all.s0 += (v[i].x + v[i + 1].x) + (v[i + 2].x + v[i + 3].x), all.q0 += (v[i].y + v[i + 1].y) + (v[i + 2].y + v[i + 3].y);
        all.s1 += (v[i].z + v[i + 1].z) + (v[i + 2].z + v[i + 3].z), all.q1 += (v[i].w + v[i + 1].w) + (v[i + 2].w + v[i + 3].w);
    }
}

/* A pair of channels is added up by several threads, each some of the tiles. The launch ends with this: as little as
   possible waits for memory, and nothing twice. */
template <int BARRIER, int THREADS> static __device__ __forceinline__ void make_norms(const lt_sums_job &n, int sample, sums_scratch &scratch, int t)
{
    enum { OWN = (MAX_CHANNELS + THREADS - 1) / THREADS }; /* channels of a thread */
    int pairs = n.channels / 2, parts = max(1, (THREADS < MAX_CHANNELS ? THREADS : MAX_CHANNELS) / pairs);
    double each = 1. / n.pixels;
    float2 affine[OWN];
    #pragma unroll
    for (int o = 0; o < OWN; o++)
        if (t + o * THREADS < n.channels) affine[o] = n.affine[t + o * THREADS];
    for (int w = t; w < pairs * parts; w += THREADS) {
        const float4 *from = (const float4 *)(n.sums + (i64)sample * n.tiles * n.channels) + w % pairs;
        pair_sums all = { 0, 0, 0, 0 };
        for (int i = w / pairs; i < n.tiles; i += TILES_AT_ONCE * parts) add_tiles(all, from, pairs, i, parts, n.tiles);
        scratch.part[w] = make_float4((float)all.s0, (float)all.q0, (float)all.s1, (float)all.q1);
    }
    meet<BARRIER, THREADS>();
    for (int c = t; c < n.channels; c += THREADS) {
        double s = 0, q = 0;
        for (int i = 0; i < parts; i++) {
            const float *p = (const float *)&scratch.part[i * pairs + c / 2] + c % 2 * 2;
            s += p[0], q += p[1];
        }
        double mean = s * each;
        scratch.moments[c] = make_float2((float)mean, (float)fmax(q * each - mean * mean, 0.));
    }
    meet<BARRIER, THREADS>();
    #pragma unroll
    for (int o = 0; o < OWN; o++) {
        int c = t + o * THREADS;
        if (c >= n.channels) break;
        float2 m = group_moments(n, scratch, c);
        float scale = affine[o].x * rsqrtf(m.y + EPSILON);
        n.norms[(i64)sample * n.channels + c] = make_float2(scale, fmaf(-m.x, scale, affine[o].y));
    }
}
