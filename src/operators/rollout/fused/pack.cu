/* Drawn weights brought into the forms of conv.cu, conv_mma.cu and the output. SPDX-License-Identifier: BSD-3-Clause

   Follows half.cuh and cells.cuh. Padding channels get zeros everywhere, so that they stay zero through all layers. */
/* Which channel of a tile is the n-th: with fragments, a lane of conv_mma.cu ends with neighbours. */
static __device__ __forceinline__ int channel_of(int n, int fragments)
{
    if (!fragments) return n;
    int own = n % (8 * fragments), row = own % 8;
    return n - own + row / 2 * 2 * fragments + own / 8 * 2 + row % 2;
}
static __device__ __forceinline__ float weight_at(const lt_pack_job &j, const float *w, i64 i)
{
    int e = (int)(i % j.cell);
    i /= j.cell;
    int n = channel_of((int)(i % j.tile), j.fragments);
    i /= j.tile;
    int plane = (int)(i % (j.chunk / j.cell));
    i /= j.chunk / j.cell;
    int tap = (int)(i % j.taps);
    i /= j.taps;
    int chunk = (int)(i % j.chunks), out = (int)(i / j.chunks) * j.tile + n, in = chunk * j.chunk + plane * j.cell + e;
    return out < j.outputs && in < j.inputs ? w[((i64)out * j.inputs + in) * j.taps + tap] : 0.f;
}

/* channels: with filling, of the last map. */
static __device__ __forceinline__ float output_at(const lt_pack_job &j, const float *block, i64 i)
{
    int channels = j.chunk, c = (int)(i / channels), k = (int)(i % channels);
    if (c == 3) return block[j.second + k];
    return k < j.inputs ? block[j.from + (i64)c * j.inputs + k] : 0.f;
}

extern "C" __global__ void __launch_bounds__(256) pack_weights(const lt_pack_job *jobs, const float *block)
{
    i64 total = jobs[N_JOBS - 1].first + jobs[N_JOBS - 1].count;
    for (i64 item = blockIdx.x * 256ll + threadIdx.x; item < total; item += gridDim.x * 256ll) {
        int k = 0;
        while (k + 1 < N_JOBS && item >= jobs[k + 1].first) k++;
        const lt_pack_job &j = jobs[k];
        i64 i = item - j.first;
        if (j.kind == LT_PACK_CONV) {
            if (j.single) ((u32 *)j.to)[i] = j.single == 2 ? to_tf32(weight_at(j, block + j.from, i)) : __float_as_uint(weight_at(j, block + j.from, i));
            else ((u32 *)j.to)[i] = pack(weight_at(j, block + j.from, 2 * i), weight_at(j, block + j.from, 2 * i + 1));
        } else if (j.kind == LT_PACK_AFFINE) {
            float gamma = i < j.outputs ? j.scale * (j.from < 0 ? 1.f : block[j.from + i]) : 0.f;
            ((float2 *)j.to)[i] = make_float2(gamma, i < j.outputs && j.second >= 0 ? block[j.second + i] : 0.f);
        } else {
            ((float *)j.to)[i] = output_at(j, block, i);
        }
    }
}
