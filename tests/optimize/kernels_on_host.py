"""Runs the optimizer's kernel texts, and the SVD of small matrices, on the host, a fiber for each of their threads, and checks what they compute.

    python3 kernels_on_host.py FOLDER_OF_TEXTS

No GPU is needed: barriers and shuffles are those of tests/cuda_shim.h. Exits with 77 where there is no C++ compiler.
SPDX-License-Identifier: BSD-3-Clause
"""
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

TEXTS = Path(sys.argv[1])
SHIMS = Path(__file__).resolve().parent.parent

SHIM = r"""
#include "cuda_shim.h"
#undef __shared__
#define __shared__ static
#define __restrict__
#define __cluster_dims__(...)
#include <algorithm>
using std::min;
using std::max;
using shim::launch;
static unsigned long long atomicAdd(unsigned long long *at, unsigned long long v) { return __atomic_fetch_add(at, v, __ATOMIC_SEQ_CST); }
static long long __double_as_longlong(double v) { long long bits; memcpy(&bits, &v, sizeof bits); return bits; }
static void __threadfence_system() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
static double __ldcs(const double *p) { return *p; }
static double2 __ldcs(const double2 *p) { return *p; }
static void __stcs(double2 *p, double2 v) { *p = v; }
static int failures;
static void check(bool good, const char *what, double got) { if (!good) printf("FAIL %s: %g\n", what, got), failures++; }

static double draw() { static unsigned long long s = 9; s = s * 6364136223846793005ull + 1442695040888963407ull; return (double)(s >> 11) / 9007199254740992.0 - 0.5; }
static std::vector<double> drawn(size_t n) { std::vector<double> x(n); for (double &v : x) v = draw(); return x; }
"""

# Statements whose results others read, more words than the first trip fetches, sums of every kind over several chunks.
VECTORS = r"""
/* Levels of 1, 2, 3, 5 and 9 statements; each level adds to what the one before wrote. */
static void levels(const sizes &z, std::vector<word> list)
{
    std::vector<word> rest(list);
    const int width[] = { 1, 2, 3, 5, 9 };
    for (unsigned blocks = 1; blocks <= 3; blocks++) {
        std::vector<std::vector<double>> x;
        for (int i = 0; i < 10; i++) x.push_back(drawn(z.n));
        auto want = x;
        int count = 0, end = 0;
        word *at = list.data() + HEAD, *term = at + 4 * 20;
        for (int level = 0; level < 5; level++) {
            end += width[level];
            for (int i = 0; count < end; i++, count++) { /* x[9 - i] = 0.5 x[9 - i] + x[0]; the last level writes that, too */
                const int to = level == 4 ? 9 - i : 9 - i % 9, from = level == 4 ? 9 - i : 0;
                at[4 * count].p = x[to].data(), at[4 * count + 1].i = 2 * count | (i64)end << 32, at[4 * count + 2].i = 2;
                term[4 * count].d = 0.5, term[4 * count + 1].p = x[to].data(), term[4 * count + 2].d = 1, term[4 * count + 3].p = x[from].data();
                for (i64 k = 0; k < z.n; k++) want[to][k] = 0.5 * want[to][k] + 1 * want[from][k];
            }
        }
        list[0].i = count, list[1].i = 2 * count, list[PASSED].i = 0;
        check(count == 20, "statements", count);
        launch(blocks, 128, [&] { in_order(&z, list.data(), rest.data()); });
        check(x == want, "levels", blocks);
    }
}

int main()
{
    const i64 n = 700, chunk = 256, many = 40;
    double passed[4] = { 0 };
    const sizes z = { n, chunk, (n + chunk - 1) / chunk, passed };
    std::vector<word> list(5 * MOST, word{ 0 }), rest(list);
    std::vector<std::vector<double>> x, want;
    for (i64 i = 0; i < many + 3; i++) x.push_back(drawn(n));
    want = x;
    word *at = list.data() + HEAD, *term = at + 4 * (many + 1);
    for (i64 s = 0; s <= many; s++) { /* x[s + 2] = 0.5 x[s] - x[s + 1] + x[s + 2]; the last one is a constant */
        const i64 count = s == many ? 0 : 3;
        at[4 * s].p = x[s + 2].data();
        at[4 * s + 1].i = 3 * s | (s + 1) << 32, at[4 * s + 2].i = count, at[4 * s + 3].d = 7.25; /* a level for each */
        const double factor[] = { 0.5, -1, 1 };
        for (i64 t = 0; t < count; t++) term[2 * (3 * s + t)].d = factor[t], term[2 * (3 * s + t) + 1].p = x[s + t].data();
        for (i64 i = 0; i < n; i++) want[s + 2][i] = count ? 0.5 * want[s][i] + -1 * want[s + 1][i] + 1 * want[s + 2][i] : 7.25;
    }
    list[0].i = many + 1, list[1].i = 3 * many, list[PASSED].i = 3;
    for (int i = 0; i < 4; i++) list[PASSED + 1 + i].d = 1.5 + i;
    launch(2, 256, [&] { in_order(&z, list.data(), rest.data()); });
    check(x == want, "in_order", 0);
    check(passed[0] == 1.5 && passed[2] == 3.5 && passed[3] == 0, "numbers passed", passed[2]);

    auto a = drawn(n), b = drawn(n), c = drawn(n), d = drawn(n);
    auto c_want = c, d_want = d;
    for (i64 i = 0; i < n; i++) c_want[i] = 2 * c[i] + 3 * a[i], d_want[i] = -1 * b[i];
    word *w = list.data();
    w[0].i = 2, w[1].i = 3;
    w[HEAD].p = c.data(), w[HEAD + 1].i = 0, w[HEAD + 2].i = 2;
    w[HEAD + 4].p = d.data(), w[HEAD + 5].i = 2, w[HEAD + 6].i = 1;
    term = w + HEAD + 8;
    term[0].d = 2, term[1].p = c.data(), term[2].d = 3, term[3].p = a.data(), term[4].d = -1, term[5].p = b.data();
    launch(3, 256, [&] { side_by_side(&z, w, rest.data()); });
    check(c == c_want && d == d_want, "side_by_side", 0);
    levels(z, list);

    b[650] = NAN, d[300] = INFINITY;
    struct sum { i64 kind; double *a, *b; };
    std::vector<sum> sums = { { DOT, a.data(), c.data() }, { SQUARES, a.data(), c.data() }, { LARGEST, a.data(), a.data() },
        { LARGEST, b.data(), b.data() }, { BAD, b.data(), b.data() }, { BAD, a.data(), a.data() }, { LARGEST, d.data(), d.data() } };
    while (sums.size() < 60) sums.push_back({ DOT, d.data(), a.data() }); /* more than the first trip fetches */
    const i64 count = sums.size();
    std::vector<arrival> results(count * z.chunks), host(5);
    std::vector<double> values = drawn(5);
    auto kept = std::vector<double>(n, -1), also = kept;
    w[2].i = (count + 2) | 77ll << 32; /* and two copies */
    w[0].i = w[1].i = 0;
    word *at_sum = w + HEAD;
    at_sum[4 * count].i = COPY, at_sum[4 * count + 1].p = a.data(), at_sum[4 * count + 2].p = kept.data();
    at_sum[4 * count + 4].i = COPY, at_sum[4 * count + 5].p = c.data(), at_sum[4 * count + 6].p = also.data();
    for (i64 s = 0; s < count; s++) at_sum[4 * s].i = sums[s].kind, at_sum[4 * s + 1].p = sums[s].a, at_sum[4 * s + 2].p = sums[s].b;
    launch(2, 256, [&] { in_order(&z, w, rest.data()); });
    launch(4, 128, [&] { finish(&z, rest.data(), results.data(), values.data(), host.data(), host.data() + 4); });
    auto number = [](const arrival &a) {
        check(a.ticket == 77 && a.again == 77, "tickets", a.ticket);
        const unsigned long long bits = a.low | (unsigned long long)a.high << 32;
        double v;
        memcpy(&v, &bits, sizeof v);
        return v;
    };
    check(kept == a && also == c, "copies", 0);
    for (int i = 0; i < 5; i++) check(number(host[i]) == values[i], "values", values[i]);
    double dot = 0, squares = 0, largest = 0;
    std::vector<double> got(count);
    auto fold = [](i64 kind, double sum, double more) { return kind == LARGEST ? larger(sum, more) : sum + more; };
    for (i64 i = 0; i < n; i++) dot += a[i] * c[i], squares += (a[i] - c[i]) * (a[i] - c[i]), largest = std::max(largest, std::fabs(a[i]));
    for (i64 s = 0; s < count; s++)
        for (i64 k = 0; k < z.chunks; k++) got[s] = fold(sums[s].kind, got[s], number(results[s * z.chunks + k]));
    check(std::fabs(got[0] - dot) < 1e-12, "a dot product", got[0]);
    check(std::fabs(got[1] - squares) < 1e-12, "squares", got[1]);
    check(got[2] == largest && std::isnan(got[3]) && std::isinf(got[6]), "the largest", got[2]);
    check(got[4] == 1 && got[5] == 0, "bad entries", got[4]);
    check(std::isinf(got[59]) || std::isnan(got[59]), "the last one", got[59]);
    return failures != 0;
}
"""

# An update and a product in one pass have the bits of one after the other; a product of limited memory is that of the two
# loops on whole vectors, while pairs come in and when the ring is full.
HESSIAN = r"""
static double dot(const double *a, const double *b, i64 n) { double v = 0; for (i64 i = 0; i < n; i++) v += a[i] * b[i]; return v; }

static void limited()
{
    const i64 n = 93, stride = 96, pairs = 37, rows = 2 * pairs;
    const sizes z = { n, stride, pairs, 48, 2 };
    std::vector<double> P(rows * stride), b(2 * stride), part(3 * rows * z.chunks), table(3 * pairs * pairs + pairs), factor(2 * rows), out(2 * stride), rho(pairs);
    for (i64 push = 0; push < 42; push++) {
        const i64 at = push % pairs, used = std::min(push + 1, pairs);
        double *s = &P[at * stride], *y = &P[(pairs + at) * stride];
        for (i64 i = 0; i < n; i++) s[i] = draw(), y[i] = s[i] * (1 + i % 5) + 0.1 * draw();
        rho[at] = 1 / dot(s, y, n);
        const double head[] = { (double)used, 0.7, (double)at, rho[at] };
        for (double &v : b) v = 0;
        for (i64 c = 0; c < 2; c++) for (i64 i = 0; i < n; i++) b[c * stride + i] = draw();
        double *mine = &part[rows * z.chunks];
        launch(rows * z.chunks, 32, [&] { dots2(&z, P.data(), head, b.data(), part.data(), mine); });
        launch(2, 64, [&] { loops(&z, head, part.data(), mine, table.data(), factor.data()); });
        double *const targets[] = { out.data(), out.data() + stride };
        launch(1, 64, [&] { combine2(&z, P.data(), head, b.data(), factor.data(), targets); });
        if (push % 7 && push < 39) continue;
        for (i64 c = 0; c < 2; c++) {
            std::vector<double> q(b.begin() + c * stride, b.begin() + c * stride + n), alpha(pairs);
            for (i64 age = 0; age < used; age++) {
                const i64 i = (at - age + pairs) % pairs;
                alpha[i] = rho[i] * dot(&P[i * stride], q.data(), n);
                for (i64 j = 0; j < n; j++) q[j] -= alpha[i] * P[(pairs + i) * stride + j];
            }
            for (double &v : q) v *= 0.7;
            for (i64 age = used - 1; age >= 0; age--) {
                const i64 i = (at - age + pairs) % pairs;
                const double f = alpha[i] - rho[i] * dot(&P[(pairs + i) * stride], q.data(), n);
                for (i64 j = 0; j < n; j++) q[j] += f * P[i * stride + j];
            }
            double off = 0, most = 0;
            for (i64 j = 0; j < n; j++) off = std::max(off, std::fabs(q[j] - out[c * stride + j])), most = std::max(most, std::fabs(q[j]));
            check(off <= 1e-11 * most, "limited memory", off / most);
        }
    }
}

int main()
{
    limited();
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
    double *const targets[] = { out.data(), out.data() + stride, out.data() + 2 * stride, out.data() + 3 * stride };
    double *const wanted[] = { want.data(), want.data() + stride, want.data() + 2 * stride, want.data() + 3 * stride };
    launch((n + 1) / 2, 64, [&] { multiply4(&z, two.data(), b.data(), wanted); });
    launch((n + 1) / 2, 64, [&] { change4(&z, step.data(), H.data(), b.data(), targets); });
    check(H == two, "the update", 0);
    check(out == want, "the products", 0);
    for (i64 i = 0; i < n; i++)
        for (i64 j = 0; j < i; j++) check(H[i * stride + j] == H[j * stride + i], "symmetry", (double)i);
    return failures != 0;
}
"""


# Copies by one block and by several, the last of which says that all have ended.
MOVE = r"""
int main()
{
    for (int count : { 5, 300, 2000 }) {
        auto from = drawn(count), to = std::vector<double>(count + 1, -1);
        double reported = 0;
        unsigned long long ended[2] = { 0 };
        launch(4, 128, [&] { move_to_device(from.data(), to.data(), to.data() + count - 1); });
        check(std::equal(from.begin(), from.end(), to.begin()) && to[count] == -1, "move", count);
        for (int run = 1; run <= 2; run++) {
            to.assign(count + 1, -1);
            launch(4, 128, [&] { move_to_host(from.data(), to.data(), to.data() + count - 1, ended, &reported); });
            check(std::equal(from.begin(), from.end(), to.begin()) && to[count] == -1, "move_to_host", count);
            check(reported == run && ended[0] == 0, "the end", reported);
        }
    }
    return failures != 0;
}
"""

# The SVD that functions of small matrices call: wide, tall, square, of full rank and of less, zero, not finite.
SVD = r"""
template <i64 m, i64 n, class F> static void check_svd(F kernel, int kind)
{
    const i64 r = std::min(m, n), l = std::max(m, n), count = m * r + r + r * n;
    std::vector<double> a(2 * m * n), out(2 * count, -1);
    for (i64 i = 0; i < 2 * m * n; i++) a[i] = kind == 0 ? draw() : kind == 1 ? 1e-200 * (1 + i / n % m) * (1 + i % n) : kind == 2 ? 0 : i / n % m == 1 ? 0 : draw();
    if (kind == 4) a[m * n - 1] = NAN;
    launch(2, 32, [&] { kernel(a.data(), out.data()); });
    if (kind == 4)
        for (i64 i = 0; i < count; i++) check(std::isnan(out[i]), "NaN", out[i]);
    for (i64 b = kind == 4; b < 2; b++) {
        const double *u = &out[b * count], *s = u + m * r, *vt = s + r, scale = s[0];
        for (i64 i = 0; i < r; i++) {
            check(s[i] >= 0 && (!i || s[i] <= s[i - 1]), "descending", s[i]);
            for (i64 j = 0; j < r; j++) {
                double uu = 0, vv = 0;
                for (i64 k = 0; k < m; k++) uu += u[k * r + i] * u[k * r + j];
                for (i64 k = 0; k < n; k++) vv += vt[i * n + k] * vt[j * n + k];
                check(std::fabs(uu - (i == j)) < 1e-13 * l && std::fabs(vv - (i == j)) < 1e-13 * l, "orthonormal", std::max(uu, vv));
            }
        }
        for (i64 i = 0; i < m; i++)
            for (i64 j = 0; j < n; j++) {
                double v = -a[(b * m + i) * n + j];
                for (i64 k = 0; k < r; k++) v += u[i * r + k] * s[k] * vt[k * n + j];
                check(std::fabs(v) <= 1e-14 * l * scale, "U s Vt", v);
            }
    }
}

int main()
{
    for (int kind = 0; kind < 5; kind++) {
        check_svd<3, 4>(wide::svd, kind);
        check_svd<9, 4>(tall::svd, kind);
        check_svd<2, 2>(square::svd, kind);
        check_svd<1, 5>(row::svd, kind);
    }
    check_svd<16, 32>(large::svd, 0);
    return failures != 0;
}
"""


def svd_text(text):
    """The text for several sizes, each in a namespace of its own, and what the prelude would give."""
    sizes = {"wide": (3, 4), "tall": (9, 4), "square": (2, 2), "row": (1, 5), "large": (16, 32)}
    prelude = r"""
typedef long long i64;
typedef double f64;
typedef double T;
static void lt_wait() {}
template <class R> static R widen(double v) { return v; }
static void narrow(double v, double &to) { to = v; }
static bool __any_sync(unsigned, bool v) { double n = v; for (int s = 16; s; s /= 2) n += __shfl_xor_sync(0, n, s); return n > 0; }
static double __longlong_as_double(long long) { return NAN; }
"""
    body = text.replace('extern "C"', "static")
    return prelude + "".join(f"namespace {name} {{ enum : i64 {{ M = {m}, N = {n}, R = {min(m, n)}, L = {max(m, n)} }};\n{body} }}\n"
                             for name, (m, n) in sizes.items())


def run(compiler, folder, texts, main, prepare=lambda text: text):
    """One text, behind the headers it shares with C."""
    source, program = folder / "kernel.cpp", folder / "kernel"
    source.write_text(SHIM + prepare("".join((TEXTS / text).read_text() for text in texts)) + main)
    subprocess.run([compiler, "-std=c++17", "-O1", "-w", "-ffp-contract=off", "-I", SHIMS, "-o", program, source], check=True)
    good = subprocess.run([program]).returncode == 0
    print(texts[-1], "ok" if good else "FAILED")
    return good


def main():
    compiler = shutil.which("g++") or shutil.which("clang++")
    if not compiler:
        print("no C++ compiler")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        results = [run(compiler, Path(folder), ["../vectors/measure.h", "vectors_job.h", "vectors.cu"], VECTORS),
                   run(compiler, Path(folder), ["hessian_job.h", "hessian.cu"], HESSIAN), run(compiler, Path(folder), ["move.cu"], MOVE),
                   run(compiler, Path(folder), ["../../kernels/cuda/linalg/svd.cu"], SVD, svd_text)]
    return 0 if all(results) else 1


sys.exit(main())
