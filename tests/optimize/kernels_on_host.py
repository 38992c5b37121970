"""Runs the optimizer's kernel texts on the host, a thread for each of theirs, and checks what they compute.

    python3 kernels_on_host.py FOLDER_OF_TEXTS

No GPU is needed: barriers and shuffles are stood in for by plain C++. Exits with 77 where there is no C++20 compiler.
SPDX-License-Identifier: BSD-3-Clause
"""
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

TEXTS = Path(sys.argv[1])

SHIM = r"""
#include <algorithm>
#include <barrier>
#include <cmath>
#include <cstdio>
#include <memory>
#include <thread>
#include <vector>
#define __global__
#define __device__
#define __shared__ static
#define __restrict__
#define __launch_bounds__(...)
using std::min;
using std::max;
struct double2 { double x, y; };
static double2 make_double2(double x, double y) { return { x, y }; }
struct index3 { unsigned x; };
static thread_local index3 threadIdx;
static index3 blockIdx, gridDim, blockDim;
static std::barrier<> *block_barrier;
static std::unique_ptr<std::barrier<>> warp_barrier[32];
static double lanes[1024];
static void __syncthreads() { block_barrier->arrive_and_wait(); }
static double __shfl_xor_sync(unsigned, double v, int step)
{
    std::barrier<> &warp = *warp_barrier[threadIdx.x / 32];
    lanes[threadIdx.x] = v;
    warp.arrive_and_wait();
    const double other = lanes[threadIdx.x ^ step];
    warp.arrive_and_wait();
    return other;
}
static int failures;
static void check(bool good, const char *what, double got) { if (!good) printf("FAIL %s: %g\n", what, got), failures++; }

template <class F> static void launch(unsigned blocks, unsigned threads, F body)
{
    gridDim = { blocks }, blockDim = { threads };
    for (unsigned b = 0; b < blocks; b++) {
        std::barrier<> barrier(threads);
        std::vector<std::thread> all;
        blockIdx = { b }, block_barrier = &barrier;
        for (unsigned w = 0; w < threads / 32; w++) warp_barrier[w] = std::make_unique<std::barrier<>>(32);
        for (unsigned t = 0; t < threads; t++) all.emplace_back([=] { threadIdx = { t }; body(); });
        for (auto &t : all) t.join();
    }
}
static double draw() { static unsigned long long s = 9; s = s * 6364136223846793005ull + 1442695040888963407ull; return (double)(s >> 11) / 9007199254740992.0 - 0.5; }
static std::vector<double> drawn(size_t n) { std::vector<double> x(n); for (double &v : x) v = draw(); return x; }
"""

# Statements whose results others read, more words than the first trip fetches, sums of every kind over several chunks.
VECTORS = r"""
int main()
{
    const i64 n = 700, chunk = 256, many = 40;
    const sizes z = { n, chunk, (n + chunk - 1) / chunk };
    std::vector<word> list(SUMS + 4 * SUMS, word{ 0 });
    std::vector<std::vector<double>> x, want;
    for (i64 i = 0; i < many + 3; i++) x.push_back(drawn(n));
    want = x;
    word *at = list.data() + HEAD, *term = at + 4 * (many + 1);
    for (i64 s = 0; s <= many; s++) { /* x[s + 2] = 0.5 x[s] - x[s + 1] + x[s + 2]; the last one is a constant */
        const i64 count = s == many ? 0 : 3;
        at[4 * s].p = x[s + 2].data();
        at[4 * s + 1].i = 3 * s, at[4 * s + 2].i = count, at[4 * s + 3].d = 7.25;
        const double factor[] = { 0.5, -1, 1 };
        for (i64 t = 0; t < count; t++) term[2 * (3 * s + t)].d = factor[t], term[2 * (3 * s + t) + 1].p = x[s + t].data();
        for (i64 i = 0; i < n; i++) want[s + 2][i] = count ? 0.5 * want[s][i] + -1 * want[s + 1][i] + 1 * want[s + 2][i] : 7.25;
    }
    list[0].i = many + 1, list[1].i = 3 * many;
    launch(2, 128, [&] { in_order(&z, list.data()); });
    check(x == want, "in_order", 0);

    auto a = drawn(n), b = drawn(n), c = drawn(n), d = drawn(n);
    auto c_want = c, d_want = d;
    for (i64 i = 0; i < n; i++) c_want[i] = 2 * c[i] + 3 * a[i], d_want[i] = -1 * b[i];
    word *w = list.data();
    w[0].i = 2, w[1].i = 3;
    w[HEAD].p = c.data(), w[HEAD + 1].i = 0, w[HEAD + 2].i = 2;
    w[HEAD + 4].p = d.data(), w[HEAD + 5].i = 2, w[HEAD + 6].i = 1;
    term = w + HEAD + 8;
    term[0].d = 2, term[1].p = c.data(), term[2].d = 3, term[3].p = a.data(), term[4].d = -1, term[5].p = b.data();
    launch(3, 128, [&] { side_by_side(&z, w); });
    check(c == c_want && d == d_want, "side_by_side", 0);

    b[650] = NAN, d[300] = INFINITY;
    const struct { i64 kind; double *a, *b; } sums[] = { { DOT, a.data(), c.data() }, { SQUARES, a.data(), c.data() }, { LARGEST, a.data(), a.data() },
        { LARGEST, b.data(), b.data() }, { BAD, b.data(), b.data() }, { BAD, a.data(), a.data() }, { LARGEST, d.data(), d.data() } };
    const i64 count = sizeof sums / sizeof *sums;
    std::vector<double> results(count * z.chunks, -1), values = drawn(5), home(5);
    w[2].i = count;
    for (i64 s = 0; s < count; s++) w[SUMS + 4 * s].i = sums[s].kind, w[SUMS + 4 * s + 1].p = sums[s].a, w[SUMS + 4 * s + 2].p = sums[s].b;
    launch(4, 128, [&] { finish(&z, w, results.data(), values.data(), home.data(), home.data() + 4); });
    check(home == values, "values", 0);
    double dot = 0, squares = 0, largest = 0, got[7] = { 0 };
    for (i64 i = 0; i < n; i++) dot += a[i] * c[i], squares += (a[i] - c[i]) * (a[i] - c[i]), largest = std::max(largest, std::fabs(a[i]));
    for (i64 s = 0; s < count; s++)
        for (i64 k = 0; k < z.chunks; k++) got[s] = fold(sums[s].kind, got[s], results[s * z.chunks + k]);
    check(std::fabs(got[0] - dot) < 1e-12, "a dot product", got[0]);
    check(std::fabs(got[1] - squares) < 1e-12, "squares", got[1]);
    check(got[2] == largest && std::isnan(got[3]) && std::isinf(got[6]), "the largest", got[2]);
    check(got[4] == 1 && got[5] == 0, "bad entries", got[4]);
    return failures != 0;
}
"""

# An update and a product in one pass have the bits of one after the other.
HESSIAN = r"""
int main()
{
    const i64 n = 37, stride = 40;
    const sizes z = { n, stride, 0, 0, 0 };
    std::vector<double> H(n * stride), step(3 * stride), b(4 * stride), out(4 * stride, -1), want(4 * stride, -1);
    for (i64 i = 0; i < n; i++)
        for (i64 j = 0; j <= i; j++) H[i * stride + j] = H[j * stride + i] = draw();
    for (i64 i = 0; i < n; i++) step[i] = draw(), step[stride + i] = draw();
    step[2 * stride] = 0.75;
    for (i64 c = 0; c < 4; c++)
        for (i64 i = 0; i < n; i++) b[c * stride + i] = draw();
    auto two = H;
    launch(n, 64, [&] { rank2(&z, step.data(), two.data()); });
    launch((n + 1) / 2, 64, [&] { multiply4(&z, two.data(), b.data(), want.data()); });
    launch((n + 1) / 2, 64, [&] { change4(&z, step.data(), H.data(), b.data(), out.data()); });
    check(H == two, "the update", 0);
    check(out == want, "the products", 0);
    for (i64 i = 0; i < n; i++)
        for (i64 j = 0; j < i; j++) check(H[i * stride + j] == H[j * stride + i], "symmetry", (double)i);
    return failures != 0;
}
"""


def run(compiler, folder, text, main):
    source, program = folder / "kernel.cpp", folder / "kernel"
    source.write_text(SHIM + (TEXTS / text).read_text() + main)
    subprocess.run([compiler, "-std=c++20", "-O1", "-w", "-ffp-contract=off", "-pthread", "-o", program, source], check=True)
    good = subprocess.run([program]).returncode == 0
    print(text, "ok" if good else "FAILED")
    return good


def main():
    compiler = shutil.which("g++") or shutil.which("clang++")
    if not compiler:
        print("no C++ compiler")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        results = [run(compiler, Path(folder), text, body) for text, body in (("vectors.cu", VECTORS), ("hessian.cu", HESSIAN))]
    return 0 if all(results) else 1


sys.exit(main())
