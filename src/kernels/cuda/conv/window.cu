/* Pooling and plain convolution: one thread per result, sums in R. SPDX-License-Identifier: BSD-3-Clause

   Steps xs0.. and ys0.. are those of n, channel, row and column. A position in the padding is zero
   (convolution, average) or absent (maximum). */
#ifdef MAXPOOL
extern "C" __global__ void __launch_bounds__(256) maxpool(const T *x, i64 *out)
{
    lt_wait();
    i64 o = (i64)blockIdx.x * 256 + threadIdx.x;
    if (o >= PLANES * OH * OW * C) return;
    i64 c = o % C, ox = o / C % OW, oy = o / C / OW % OH, b = o / C / OW / OH, best = -1;
    const T *plane = x + b * H * W * C + c;
    f64 have = 0;
    for (i64 r = 0; r < KH; r++)
        for (i64 q = 0; q < KW; q++) {
            i64 y = oy * SH - PH + r * DH, z = ox * SW - PW + q * DW;
            if (y < 0 || y >= H || z < 0 || z >= W) continue;
            f64 next = widen<f64>(plane[(y * W + z) * C]);
            if (best < 0 || (have == have && (next > have || next != next))) best = y * W + z, have = next;
        }
    out[o] = best < 0 ? 0 : best;
}
#endif

#ifdef AVGPOOL
extern "C" __global__ void __launch_bounds__(256) avgpool(const T *x, T *out)
{
    lt_wait();
    i64 o = (i64)blockIdx.x * 256 + threadIdx.x;
    if (o >= PLANES * OH * OW * C) return;
    i64 c = o % C, ox = o / C % OW, oy = o / C / OW % OH, b = o / C / OW / OH;
    const T *plane = x + b * H * W * C + c;
    f64 sum = 0;
    for (i64 r = 0; r < KH; r++)
        for (i64 q = 0; q < KW; q++) {
            i64 y = oy * SH - PH + r * DH, z = ox * SW - PW + q * DW;
            if (y >= 0 && y < H && z >= 0 && z < W) sum += widen<f64>(plane[(y * W + z) * C]);
        }
    narrow(sum / (f64)(KH * KW), out[o]);
}
#endif

/* The windows an element lies in: along one axis those o with o * stride = at + pad - tap * dilation. */
inline bool window(i64 at, i64 pad, i64 tap, i64 dilation, i64 stride, i64 n_out, i64 &o)
{
    i64 from = at + pad - tap * dilation;
    o = from / stride;
    return from >= 0 && from % stride == 0 && o < n_out;
}

#ifdef AVGPOOL_GRAD
extern "C" __global__ void __launch_bounds__(256) avgpool_grad(const T *gy, T *out)
{
    lt_wait();
    i64 i = (i64)blockIdx.x * 256 + threadIdx.x, oy, ox;
    if (i >= PLANES * H * W * C) return;
    i64 c = i % C, z = i / C % W, y = i / C / W % H, b = i / C / W / H;
    f64 sum = 0;
    for (i64 r = 0; r < KH; r++)
        for (i64 q = 0; q < KW; q++)
            if (window(y, PH, r, DH, SH, OH, oy) && window(z, PW, q, DW, SW, OW, ox))
                sum += widen<f64>(gy[((b * OH + oy) * OW + ox) * C + c]);
    narrow(sum / (f64)(KH * KW), out[i]);
}
#endif

#ifdef CONV
extern "C" __global__ void __launch_bounds__(256) conv(const T *x, const T *w, T *out)
{
    lt_wait();
    i64 i = (i64)blockIdx.x * 256 + threadIdx.x;
    if (i >= N * O * OH * OW) return;
    i64 ox = i % OW, oy = i / OW % OH, o = i / OW / OH % O, n = i / OW / OH / O;
    i64 cg = C / GROUPS, first = o / (O / GROUPS) * cg;
    R sum = 0;
    for (i64 c = 0; c < cg; c++)
        for (i64 r = 0; r < KH; r++)
            for (i64 q = 0; q < KW; q++) {
                i64 y = oy * SH - PH + r * DH, z = ox * SW - PW + q * DW;
                if (y < 0 || y >= H || z < 0 || z >= W) continue;
                sum += widen<R>(x[n * XS0 + (first + c) * XS1 + y * XS2 + z * XS3]) * widen<R>(w[((o * cg + c) * KH + r) * KW + q]);
            }
    narrow(sum, out[n * YS0 + o * YS1 + oy * YS2 + ox * YS3]);
}
#endif

#ifdef DGRAD
extern "C" __global__ void __launch_bounds__(256) conv(const T *gy, const T *w, T *out)
{
    lt_wait();
    i64 i = (i64)blockIdx.x * 256 + threadIdx.x, oy, ox;
    if (i >= N * C * H * W) return;
    i64 z = i % W, y = i / W % H, c = i / W / H % C, n = i / W / H / C;
    i64 cg = C / GROUPS, og = O / GROUPS, first = c / cg * og;
    R sum = 0;
    for (i64 k = 0; k < og; k++)
        for (i64 r = 0; r < KH; r++)
            for (i64 q = 0; q < KW; q++)
                if (window(y, PH, r, DH, SH, OH, oy) && window(z, PW, q, DW, SW, OW, ox))
                    sum += widen<R>(gy[n * YS0 + (first + k) * YS1 + oy * YS2 + ox * YS3])
                         * widen<R>(w[(((first + k) * cg + c % cg) * KH + r) * KW + q]);
    narrow(sum, out[n * XS0 + c * XS1 + y * XS2 + z * XS3]);
}
#endif

#ifdef WGRAD
/* One block per weight: its threads share the images and positions. */
extern "C" __global__ void __launch_bounds__(256) conv(const T *x, const T *gy, T *out)
{
    lt_wait();
    __shared__ R pile[256];
    i64 i = blockIdx.x, q = i % KW, r = i / KW % KH, cg = C / GROUPS, c = i / KW / KH % cg, o = i / KW / KH / cg % O, k = i / KW / KH / cg / O;
    const T *px = x + (K_IN_X ? k * N * C * H * W : 0), *py = gy + (K_IN_Y ? k * N * O * OH * OW : 0);
    i64 channel = o / (O / GROUPS) * cg + c;
    R sum = 0;
    for (i64 j = threadIdx.x; j < N * OH * OW; j += 256) {
        i64 ox = j % OW, oy = j / OW % OH, n = j / OW / OH, y = oy * SH - PH + r * DH, z = ox * SW - PW + q * DW;
        if (y < 0 || y >= H || z < 0 || z >= W) continue;
        sum += widen<R>(px[n * XS0 + channel * XS1 + y * XS2 + z * XS3]) * widen<R>(py[n * YS0 + o * YS1 + oy * YS2 + ox * YS3]);
    }
    pile[threadIdx.x] = sum;
    __syncthreads();
    for (int half = 128; half > 0; half /= 2) {
        if (threadIdx.x < half) pile[threadIdx.x] += pile[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) narrow(pile[0], out[i]);
}
#endif
