/* The vector functions against libm in a wider type: error in units of the last place over ordinary
   and special values, for every op, type and instruction set; and the same bits wherever an element
   stands. `test_vec --table` prints docs/accuracy.md. SPDX-License-Identifier: BSD-3-Clause */
#include "lt_test.h"

#include "base/status.h"
#include "kernels/cpu/vec/vec.h"

#include <float.h>
#include <sys/mman.h>
#include <unistd.h>

/* ---- bounds --------------------------------------------------------------------- */
/* Units in the last place of the result. libmvec promises 4 against the rounded value, which is
   half a unit more against the exact one; ops composed of two functions add theirs up. */
static double bound_of(lt_op op)
{
    if (op == LT_OP_SIGMOID || op == LT_OP_SOFTPLUS) return 6;
    return lt_op_is_slow(op) ? 4.5 : 0.5; /* gelu: against max(|result|, |x|/2) */
}

/* ---- exact values: the bodies of ops.def in long double ------------------------------- */
#define R long double
#define LIBM(name) name##l
#define LT_UNARY(ID, name, x, flops, kind, vector, builder, language, doc, domain, body, ...) static R exact_##name(R x) body
#define LT_BINARY(ID, name, a, b, flops, kind, vector, builder, language, doc, domain, body, ...) static R exact_##name(R a, R b) body
#define LT_TERNARY(ID, name, x, y, z, flops, kind, vector, builder, language, doc, domain, body, ...) static R exact_##name(R x, R y, R z) body
#include "kernels/ops.def"

static long double exact(lt_op op, double a, double b, double c)
{
    if (op == LT_OP_GELU && isinf(a) && a < 0) return NAN; /* -inf * 0 */
    switch (op) {
#define LT_UNARY(ID, name, ...) case LT_OP_##ID: return exact_##name(a);
#define LT_BINARY(ID, name, ...) case LT_OP_##ID: return exact_##name(a, b);
#define LT_TERNARY(ID, name, ...) case LT_OP_##ID: return exact_##name(a, b, c);
#include "kernels/ops.def"
    default: return NAN;
    }
}

/* ---- error ---------------------------------------------------------------------------- */
static double ulp_of(lt_dtype t, long double x)
{
    int e;
    frexpl(fabsl(x), &e);
    return t == LT_F64 ? ldexp(1, LT_MAX(e - 53, -1074)) : ldexp(1, LT_MAX(e - 24, -149));
}

static long double round_to(lt_dtype t, long double x) { return t == LT_F64 ? (long double)(double)x : (long double)(float)x; }

/* Infinity where the kind of value is wrong: NaN, an infinity, the sign of a zero. */
static double error_ulps(lt_op op, lt_dtype t, double a, double got, long double want)
{
    long double rounded = round_to(t, want);
    if (isnan(want)) return isnan(got) ? 0 : INFINITY;
    if (isinf(rounded)) return isinf(got) && (got > 0) == (want > 0) ? 0 : INFINITY;
    if (isnan(got)) return INFINITY;
    if (isinf(got)) return (double)((round_to(t, t == LT_F64 ? DBL_MAX : FLT_MAX) - fabsl(want)) / ulp_of(t, want));
    if (got == 0 && rounded == 0) return !signbit(got) == !signbit(rounded) || op == LT_OP_GELU ? 0 : INFINITY;
    long double scale = op == LT_OP_GELU ? fmaxl(fabsl(want), fabsl((long double)a) / 2) : want;
    return (double)(fabsl(got - want) / ulp_of(t, scale));
}

/* ---- arguments -------------------------------------------------------------------------- */
static uint64_t rng_state = 1;
static uint64_t rng(void)
{
    rng_state += 0x9e3779b97f4a7c15u;
    uint64_t z = rng_state;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}
static double uniform(double lo, double hi) { return lo + (hi - lo) * (double)(rng() >> 11) * 0x1p-53; }

static double random_bits(lt_dtype t)
{
    uint64_t u = rng();
    double d;
    float f;
    memcpy(&d, &u, sizeof d);
    memcpy(&f, &u, sizeof f);
    return t == LT_F64 ? d : (double)f;
}

static double random_argument(lt_dtype t, int range)
{
    static const double width[] = { 1, 10, 100, 1500, 1e6 };
    double x = range < 5 ? uniform(-width[range], width[range]) : random_bits(t);
    return t == LT_F64 ? x : (double)(float)x;
}
enum { N_RANGES = 6 };

static const double specials[] = {
    0.0, -0.0, 1, -1, INFINITY, -INFINITY, NAN, 5e-324, -5e-324, 1e-310, -1e-310, 2.2250738585072014e-308, 1e308, -1e308,
    DBL_MAX, -DBL_MAX, 0.5, -0.5, 2, -2, 3, -3, 709.78, 709.79, -745.13, -745.14, -708.4, -720, 710.4, 710.5, 1e10, 1e15,
    1e22, 1e100, -1e22, 1e-20, -1e-20, 1.5707963267948966, 3.141592653589793, 0.9999999999999999, 1.0000000000000002,
    -0.9999999999999999, 88.72, 88.73, -87.33, -103.9, -104, 1e-40, -1e-40, 1e-45, FLT_MAX, -FLT_MAX, 1e20,
    4503599627370496.5, 9007199254740993.0, 27, -27, 6, -6, 26.5, 1e-5, 10, 100, 0.33, -0.33 };
enum { N_SPECIALS = (int)LT_LEN(specials) };

typedef union reals { double d[64]; float f[64]; } reals;
static void set_real(lt_dtype t, reals *r, int i, double x) { if (t == LT_F64) r->d[i] = x; else r->f[i] = (float)x; }
static double get_real(lt_dtype t, const reals *r, int i) { return t == LT_F64 ? r->d[i] : (double)r->f[i]; }

typedef struct worst { double ulps, a, b, c, got; } worst;

static void measure_block(lt_op op, lt_dtype t, const lt_vec_set *set, const reals in[3], int n, worst *w)
{
    reals out;
    set->op[op][0](&out, &in[0], &in[1], &in[2], n);
    for (int i = 0; i < n; i++) {
        double a = get_real(t, &in[0], i), b = get_real(t, &in[1], i), c = get_real(t, &in[2], i), got = get_real(t, &out, i);
        double e = error_ulps(op, t, a, got, exact(op, a, b, c));
        if (e > w->ulps) *w = (worst){ e, a, b, c, got };
    }
}

static worst measure(lt_op op, lt_dtype t, const lt_vec_set *set, int n_blocks)
{
    worst w = { 0 };
    reals in[3];
    for (int range = 0; range < N_RANGES; range++)
        for (int block = 0; block < n_blocks; block++) {
            for (int j = 0; j < 3; j++)
                for (int i = 0; i < 64; i++) set_real(t, &in[j], i, random_argument(t, range));
            measure_block(op, t, set, in, 64, &w);
        }
    int n_second = lt_op_arity(op) > 1 ? N_SPECIALS : 1, third = 0;
    for (int i = 0; i < N_SPECIALS; i++)
        for (int j = 0; j < n_second; j++) {
            set_real(t, &in[0], 0, specials[i]);
            set_real(t, &in[1], 0, specials[j]);
            set_real(t, &in[2], 0, specials[third++ % N_SPECIALS]);
            measure_block(op, t, set, in, 1, &w);
        }
    return w;
}

static void check_accuracy(lt_dtype t)
{
    for (int isa = 0; isa < LT_ISA_COUNT; isa++) {
        if (!lt_isa_usable((lt_isa)isa)) continue;
        for (int op = 0; op < LT_N_ELEMENTWISE; op++) {
            rng_state = 7;
            worst w = measure((lt_op)op, t, lt_vec_set_of((lt_isa)isa, t), 40);
            if (!(w.ulps <= bound_of((lt_op)op)))
                LT_TEST_FAIL("%s %s %s(%.17g, %.17g, %.17g) = %.17g: %.3g ulp", lt_isa_name((lt_isa)isa), lt_dtype_name(t),
                             lt_op_name((lt_op)op), w.a, w.b, w.c, w.got, w.ulps);
        }
    }
}

LT_TEST(every_op_is_accurate_f64) { check_accuracy(LT_F64); }
LT_TEST(every_op_is_accurate_f32) { check_accuracy(LT_F32); }

/* Equal bits; a NaN is a NaN, since compilers may exchange the operands of a sum of two. */
static bool same_bits(lt_dtype t, const reals *a, const reals *b, size_t first, size_t n)
{
    for (size_t i = first; i < first + n; i++) {
        double x = get_real(t, a, (int)i), y = get_real(t, b, (int)i);
        if (memcmp(&x, &y, sizeof x) && !(isnan(x) && isnan(y))) return false;
    }
    return true;
}

/* An element alone, as its neighbours, in a tail, off alignment, with scalar operands, in place:
   always the same bits. */
static void check_position(lt_op op, lt_dtype t, const lt_vec_set *set)
{
    reals in[3], alone, out;
    const size_t size = lt_dtype_size(t);
    for (int j = 0; j < 3; j++)
        for (int i = 0; i < 64; i++) set_real(t, &in[j], i, i % 3 ? random_argument(t, i % N_RANGES) : specials[(i + 17 * j) % N_SPECIALS]);
    for (size_t i = 0; i < 64; i++)
        set->op[op][0]((char *)&alone + i * size, (char *)&in[0] + i * size, (char *)&in[1] + i * size, (char *)&in[2] + i * size, 1);
    for (size_t first = 0; first < 20; first++)
        for (size_t n = 1; n <= 64 - first; n += 1 + n / 8) {
            memset(&out, 0x77, sizeof out);
            const char *a = (char *)&in[0] + first * size, *b = (char *)&in[1] + first * size, *c = (char *)&in[2] + first * size;
            set->op[op][0]((char *)&out + first * size, a, b, c, (int64_t)n);
            if (!same_bits(t, &out, &alone, first, n))
                LT_TEST_FAIL("%s %s: bits depend on n = %zu or position %zu", lt_op_name(op), lt_dtype_name(t), n, first);
            reals place = in[0];
            set->op[op][0]((char *)&place + first * size, (char *)&place + first * size, b, c, (int64_t)n);
            if (!same_bits(t, &place, &alone, first, n))
                LT_TEST_FAIL("%s %s: bits change in place", lt_op_name(op), lt_dtype_name(t));
        }
}

static void check_forms(lt_op op, lt_dtype t, const lt_vec_set *set)
{
    const int n_in = lt_op_arity(op);
    reals in[3], spread[3], want, got;
    for (int form = 1; form < LT_VEC_N_FORMS && n_in > 1; form++) {
        if (!set->op[op][form]) continue;
        for (int i = 0; i < 64; i++)
            for (int j = 0; j < 3; j++) set_real(t, &in[j], i, i % 3 ? random_argument(t, 1) : specials[(i + 29 * j) % N_SPECIALS]);
        for (int j = 0; j < 3; j++) {
            bool scalar = n_in == 3 ? (form << 1 >> j & 1) : (form >> j & 1);
            for (int i = 0; i < 64; i++) set_real(t, &spread[j], i, get_real(t, &in[j], scalar ? 0 : i));
        }
        set->op[op][0](&want, &spread[0], &spread[1], &spread[2], 61);
        set->op[op][form](&got, &in[0], &in[1], &in[2], 61);
        if (!same_bits(t, &want, &got, 0, 61))
            LT_TEST_FAIL("%s %s: form %d differs from form 0", lt_op_name(op), lt_dtype_name(t), form);
    }
}

LT_TEST(bits_do_not_depend_on_position)
{
    for (int isa = 0; isa < LT_ISA_COUNT; isa++)
        for (int t = LT_F32; t <= LT_F64; t++)
            for (int op = 0; op < LT_N_ELEMENTWISE && lt_isa_usable((lt_isa)isa); op++) {
                rng_state = 11;
                const lt_vec_set *set = lt_vec_set_of((lt_isa)isa, (lt_dtype)t);
                check_position((lt_op)op, (lt_dtype)t, set);
                check_forms((lt_op)op, (lt_dtype)t, set);
            }
}

/* ---- chains ---------------------------------------------------------------------------- */
enum { STREAM_N = 3 * LT_CHAIN_PAGES * 1024 + 777 }; /* groups of pages in either type, whole tiles, and a rest */

/* One read, NaNs among the data, and one write: from memory and past the caches, or not. */
static void run_chain(const lt_vec_set *set, bool streams, char *x, char *y, char *bounds, int64_t element, int64_t n)
{
    const lt_chain_step steps[] = {
        { streams ? LT_CHAIN_LOAD_AHEAD : LT_CHAIN_LOAD, 0, 0 }, { LT_CHAIN_SQUARE, 0, 0 }, { LT_CHAIN_SUB_AV, 0, 0 },
        { LT_CHAIN_MIN_AS, 2, 0 }, { LT_CHAIN_MAX_SA, 3, 0 }, { LT_CHAIN_MAX_AV, 0, 0 }, { streams ? LT_CHAIN_STREAM : LT_CHAIN_STORE, 1, 0 },
        { LT_CHAIN_END, 0, 0 },
    };
    char *addr[] = { x, y, bounds, bounds + element };
    set->chain(steps, addr, n);
    set->fence();
}

LT_TEST(chains_from_memory_have_the_bits_of_others)
{
    static _Alignas(64) char x[STREAM_N * 8 + 64], near[STREAM_N * 8 + 64], streamed[STREAM_N * 8 + 64];
    static const double bounds_f64[] = { 3, -0.125 };
    static const float bounds_f32[] = { 3, -0.125f };
    for (int t = LT_F32; t <= LT_F64; t++) {
        int64_t element = t == LT_F64 ? 8 : 4;
        for (int64_t i = 0; i < STREAM_N + 8; i++) {
            double v = i % 11 == 3 ? NAN : 0.01 * (double)(i % 999) - 5;
            if (t == LT_F64) memcpy(x + i * 8, &v, 8);
            else memcpy(x + i * 4, &(float){ (float)v }, 4);
        }
        for (int isa = 0; isa < LT_ISA_COUNT; isa++)
            for (int64_t shift = 0; shift < 3 && lt_isa_usable((lt_isa)isa); shift++) {
                const lt_vec_set *set = lt_vec_set_of((lt_isa)isa, (lt_dtype)t);
                char *bounds = t == LT_F64 ? (char *)bounds_f64 : (char *)bounds_f32, *y = streamed + shift * element;
                memset(near, 0, sizeof near);
                memset(streamed, 0, sizeof streamed);
                run_chain(set, false, x, near, bounds, element, STREAM_N);
                run_chain(set, true, x, y, bounds, element, STREAM_N);
                LT_CHECK(memcmp(near, y, (size_t)(STREAM_N * element)) == 0);
                LT_CHECK(memcmp(y + STREAM_N * element, near + STREAM_N * element, 8) == 0); /* nothing behind the end */
            }
    }
}

/* Data and result at the very end of a page, with nothing mapped behind it. */
LT_TEST(chains_end_with_their_page)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *map = mmap(NULL, 4 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    LT_CHECK(map != MAP_FAILED && !mprotect(map + page, page, PROT_NONE) && !mprotect(map + 3 * page, page, PROT_NONE));
    for (int isa = 0; isa < LT_ISA_COUNT; isa++)
        for (int64_t n = 1; n < 150 && lt_isa_usable((lt_isa)isa); n++) {
            static const lt_chain_step steps[] = { { LT_CHAIN_LOAD, 0, 0 }, { LT_CHAIN_ADD_AV, 0, 0 }, { LT_CHAIN_STORE, 1, 0 }, { LT_CHAIN_END, 0, 0 } };
            double *x = (double *)(void *)(map + page) - n, *y = (double *)(void *)(map + 3 * page) - n;
            for (int64_t i = 0; i < n; i++) x[i] = (double)(i + 1);
            memset(map + 2 * page, 0, page);
            lt_vec_set_of((lt_isa)isa, LT_F64)->chain(steps, (char *[]){ (char *)x, (char *)y }, n);
            int64_t wrong = y[-1] != 0; /* nothing in front either */
            for (int64_t i = 0; i < n; i++) wrong += y[i] != 2 * (double)(i + 1);
            float *xf = (float *)(void *)(map + page) - n, *yf = (float *)(void *)(map + 3 * page) - n;
            for (int64_t i = 0; i < n; i++) xf[i] = (float)(i + 1);
            memset(map + 2 * page, 0, page);
            lt_vec_set_of((lt_isa)isa, LT_F32)->chain(steps, (char *[]){ (char *)xf, (char *)yf }, n);
            wrong += yf[-1] != 0;
            for (int64_t i = 0; i < n; i++) wrong += yf[i] != 2 * (float)(i + 1);
            if (wrong) LT_TEST_FAIL("%s: %lld wrong values of %lld", lt_isa_name((lt_isa)isa), (long long)wrong, (long long)n);
        }
    munmap(map, 4 * page);
}

/* Matrices turned around hold what the op alone makes of each element, whole tiles and edges alike, and touch nothing else. */
static void check_turn(const lt_vec_set *set, lt_vec_turn way, int64_t rows, int64_t columns)
{
    static const lt_op op[LT_TURN_COUNT] = { [LT_TURN_RELU] = LT_OP_RELU, [LT_TURN_GELU] = LT_OP_GELU };
    enum { MOST = 100 };
    static float a[MOST][MOST + 3], d[MOST + 1][MOST + 5], want[MOST][MOST];
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < columns; j++) a[i][j] = i * j % 29 == 7 ? NAN : (float)uniform(-6, 6);
        if (way == LT_TURN_COPY) memcpy(want[i], a[i], (size_t)columns * sizeof(float));
        else set->op[op[way]][0](want[i], a[i], NULL, NULL, columns);
    }
    for (int64_t i = 0; i <= MOST; i++)
        for (int64_t j = 0; j < MOST + 5; j++) d[i][j] = 77;
    set->turn[way](d[0], MOST + 5, a[0], MOST + 3, rows, columns);
    int64_t wrong = 0;
    for (int64_t j = 0; j <= MOST; j++)
        for (int64_t i = 0; i < MOST + 5; i++) {
            float w = j < columns && i < rows ? want[i][j] : 77;
            wrong += memcmp(&d[j][i], &w, sizeof w) != 0 && !(isnan(w) && isnan(d[j][i]));
        }
    if (wrong) LT_TEST_FAIL("way %d of %lld by %lld: %lld wrong", (int)way, (long long)rows, (long long)columns, (long long)wrong);
}

LT_TEST(matrices_are_turned_around)
{
    static const int64_t size[][2] = { { 1, 1 }, { 16, 16 }, { 17, 3 }, { 3, 40 }, { 64, 33 }, { 33, 64 }, { 100, 100 }, { 15, 100 }, { 8, 16 } };
    for (int isa = 0; isa < LT_ISA_COUNT; isa++)
        for (int way = 0; way < LT_TURN_COUNT && lt_isa_usable((lt_isa)isa); way++)
            for (size_t i = 0; i < LT_LEN(size); i++) check_turn(lt_vec_set_of((lt_isa)isa, LT_F32), (lt_vec_turn)way, size[i][0], size[i][1]);
}

LT_TEST(the_environment_lowers_the_instruction_set)
{
    setenv("LATHE_ISA", "plain", 1);
    LT_CHECK(lt_isa_best() == LT_ISA_PLAIN);
    setenv("LATHE_ISA", "nonsense", 1);
    LT_CHECK(lt_isa_usable(lt_isa_best()));
    unsetenv("LATHE_ISA");
    LT_CHECK(lt_isa_usable(lt_isa_best()));
    LT_CHECK(!lt_isa_usable(LT_ISA_COUNT));
    LT_CHECK(strcmp(lt_isa_name(LT_ISA_AVX2), "avx2") == 0);
}

/* ---- the table of docs/accuracy.md ------------------------------------------------- */
static int print_table(void)
{
    puts("# Accuracy of the elementwise functions on the CPU\n\n"
         "Largest error found, in units of the last place of the result, against libm in long double (f64) or\n"
         "double and wider (f32). Arguments: uniform in ±1, ±10, ±100, ±1500, ±10^6, random bit patterns (so also huge,\n"
         "denormal and not-a-number values), and a list of special values, in all pairs for binary ops.\n"
         "Special values give what libm gives: NaN, infinities and signed zeros included. With AVX2 and AVX-512 the\n"
         "functions are glibc's libmvec, but for exp and gelu in f32, which are ours; `plain` is libm. Ops not listed are correctly rounded (at most 0.5).\n"
         "The error of gelu is measured against max(|result|, |x|/2): see src/kernels/cpu/vec/math.h.\n\n"
         "Made by `test_vec --table`; the test suite asserts the bound.\n\n"
         "| function | bound | plain f64 | avx2 f64 | avx512 f64 | plain f32 | avx2 f32 | avx512 f32 |\n"
         "| --- | --- | --- | --- | --- | --- | --- | --- |");
    for (int op = 0; op < LT_N_ELEMENTWISE; op++) {
        if (bound_of((lt_op)op) <= 0.5) continue;
        printf("| %s | %.1f |", lt_op_name((lt_op)op), bound_of((lt_op)op));
        for (int t = LT_F64; t >= LT_F32; t--)
            for (int isa = 0; isa < LT_ISA_COUNT; isa++) {
                rng_state = 7;
                if (!lt_isa_usable((lt_isa)isa)) printf(" - |");
                else printf(" %.2f |", measure((lt_op)op, (lt_dtype)t, lt_vec_set_of((lt_isa)isa, (lt_dtype)t), 2000).ulps);
            }
        puts("");
    }
    return 0;
}

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "--table")) return print_table();
    return lt_test_main(argc, argv);
}
