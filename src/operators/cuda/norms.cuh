/* Scale and shift of a sample's channels from the sums its tiles left. SPDX-License-Identifier: BSD-3-Clause

   Sums are added in an order that does not depend on what ran beside them: runs repeat to the bit. Follows half.cuh. */
#define MAX_CHANNELS 512 /* of a map */
#define EPSILON 1e-5f

struct norm_job { /* as fused.c writes it */
    const float2 *sums;   /* [samples, tiles, channels]: of values and of squares; NULL: nothing is measured */
    const float2 *affine; /* gamma and beta, [channels] */
    int tiles, channels;  /* channels with the filling, even */
    int real, group;      /* without it; how many are normalised together */
    float count;          /* pixels */
};

struct __align__(16) norm_table { float2 moments[MAX_CHANNELS], norm[MAX_CHANNELS]; };

template <int BARRIER, int THREADS> static __device__ __forceinline__ void meet()
{
    asm volatile("bar.sync %0, %1;" :: "n"(BARRIER), "n"(THREADS) : "memory");
}

/* Mean and variance of a channel's group. */
static __device__ __forceinline__ float2 group_moments(const norm_job &n, const norm_table &table, int c)
{
    if (n.group == 1 || c >= n.real) return table.moments[c];
    int first = c / n.group * n.group;
    double m = 0, v = 0;
    for (int i = first; i < first + n.group; i++) m += table.moments[i].x;
    m /= n.group;
    for (int i = first; i < first + n.group; i++) v += table.moments[i].y + (table.moments[i].x - m) * (table.moments[i].x - m);
    return make_float2((float)m, (float)(v / n.group));
}

/* By THREADS threads, this one the t-th, which meet at BARRIER: before, when nobody may read the last sample's
   any more, in between, and after. A pair of channels is added up by several threads, each some of the tiles. */
template <int BARRIER, int THREADS> static __device__ __forceinline__ void fill_norms(const norm_job &n, int sample, norm_table &table, int t)
{
    float4 *part = (float4 *)&table; /* MAX_CHANNELS of them */
    int pairs = n.channels / 2, parts = (THREADS < MAX_CHANNELS ? THREADS : MAX_CHANNELS) / pairs;
    if (parts < 1) parts = 1;
    meet<BARRIER, THREADS>();
    if (!n.sums) {
        for (int c = t; c < n.channels; c += THREADS) table.norm[c] = n.affine[c];
        meet<BARRIER, THREADS>();
        return;
    }
    for (int w = t; w < pairs * parts; w += THREADS) {
        const float4 *from = (const float4 *)(n.sums + (i64)sample * n.tiles * n.channels) + w % pairs;
        double s0 = 0, q0 = 0, s1 = 0, q1 = 0;
        #pragma unroll (THREADS < 256 ? 4 : 8)
        for (int i = w / pairs; i < n.tiles; i += parts) {
            float4 v = from[(i64)i * pairs];
            s0 += v.x, q0 += v.y, s1 += v.z, q1 += v.w;
        }
        part[w] = make_float4((float)s0, (float)q0, (float)s1, (float)q1);
    }
    meet<BARRIER, THREADS>();
    float2 own[(MAX_CHANNELS + THREADS - 1) / THREADS];
    #pragma unroll
    for (int k = 0; k < (MAX_CHANNELS + THREADS - 1) / THREADS; k++) {
        int c = t + k * THREADS;
        double s = 0, q = 0;
        for (int i = 0; i < parts && c < n.channels; i++) {
            const float *p = (const float *)&part[i * pairs + c / 2] + c % 2 * 2;
            s += p[0], q += p[1];
        }
        double mean = s / n.count;
        own[k] = make_float2((float)mean, (float)fmax(q / n.count - mean * mean, 0.));
    }
    meet<BARRIER, THREADS>();
    #pragma unroll
    for (int k = 0; k < (MAX_CHANNELS + THREADS - 1) / THREADS; k++)
        if (t + k * THREADS < n.channels) table.moments[t + k * THREADS] = own[k];
    meet<BARRIER, THREADS>();
    for (int c = t; c < n.channels; c += THREADS) {
        float2 m = group_moments(n, table, c), affine = n.affine[c];
        float scale = affine.x * rsqrtf(m.y + EPSILON);
        table.norm[c] = make_float2(scale, fmaf(-m.x, scale, affine.y));
    }
    meet<BARRIER, THREADS>();
}
