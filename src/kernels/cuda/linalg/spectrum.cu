/* Half spectra made fit for a transform to real numbers. SPDX-License-Identifier: BSD-3-Clause

   cuFFT takes for granted that the columns which are their own mirror image, 0 and WIDTH/2, are Hermitian
   down the rows, and answers arbitrarily where they are not. The op drops the imaginary part between the two
   passes instead, which is the same as taking the Hermitian part of these columns before the first. */
extern "C" __global__ void __launch_bounds__(256) take_hermitian(const T *x, T *out)
{
    lt_wait();
    const i64 half = WIDTH / 2 + 1, o = (i64)blockIdx.x * 256 + threadIdx.x;
    if (o >= COUNT * HEIGHT * half) return;
    const i64 column = o % half, row = o / half % HEIGHT, image = o / half / HEIGHT;
    T re = x[2 * o], im = x[2 * o + 1];
    if (column == 0 || 2 * column == WIDTH) {
        const i64 m = (image * HEIGHT + (HEIGHT - row) % HEIGHT) * half + column;
        re = (T)0.5 * (re + x[2 * m]), im = (T)0.5 * (im - x[2 * m + 1]);
    }
    out[2 * o] = re, out[2 * o + 1] = im;
}
