/* NORM: square roots of sums of squares; a block takes the norm of a line anew, scaled by its largest element, where its sum
   over- or underflowed (decision 195). SPDX-License-Identifier: BSD-3-Clause

   LINES: how many; LENGTH: elements of one; LEAST: the smallest sum that lost nothing. line_offset and element_offset, written
   by norm.c, say where elements lie. */
inline f64 fold_block(f64 *part, f64 own, bool largest)
{
    __syncthreads();
    part[threadIdx.x] = own;
    __syncthreads();
    for (int half = 128; half > 0; half /= 2) {
        if (threadIdx.x < half) {
            f64 other = part[threadIdx.x + half];
            part[threadIdx.x] = largest ? fold_max(part[threadIdx.x], other) : part[threadIdx.x] + other;
        }
        __syncthreads();
    }
    return part[0];
}

inline f64 norm_of_line(const T *x, f64 *part)
{
    f64 largest = 0, sum = 0;
    int exponent;
    for (i64 i = threadIdx.x; i < LENGTH; i += 256) largest = fold_max((f64)fabs(widen<f64>(x[element_offset(i)])), largest);
    largest = fold_block(part, largest, true);
    if (!(largest > 0 && largest <= 1.7976931348623157e308)) return largest;
    frexp(largest, &exponent);
    for (i64 i = threadIdx.x; i < LENGTH; i += 256) {
        f64 scaled = ldexp(widen<f64>(x[element_offset(i)]), -exponent);
        sum += scaled * scaled;
    }
    return ldexp(sqrt(fold_block(part, sum, false)), exponent);
}

extern "C" __global__ void __launch_bounds__(256) norms(const T *sums, const T *x, T *out)
{
    lt_wait();
    __shared__ f64 part[256];
    __shared__ unsigned char odd[256];
    __shared__ int any;
    const i64 first = blockIdx.x * (i64)256, own = first + threadIdx.x;
    if (threadIdx.x == 0) any = 0;
    odd[threadIdx.x] = 0;
    __syncthreads();
    if (own < LINES) {
        f64 s = widen<f64>(sums[own]);
        narrow(sqrt(s), out[own]);
        if (s == s && !(s >= LEAST && s <= 1.7976931348623157e308)) odd[threadIdx.x] = 1, any = 1;
    }
    __syncthreads();
    if (!any) return;
    for (int k = 0; k < 256; k++) {
        if (!odd[k]) continue;
        f64 y = norm_of_line(x + line_offset(first + k), part);
        if (threadIdx.x == 0) narrow(y, out[first + k]);
    }
}
