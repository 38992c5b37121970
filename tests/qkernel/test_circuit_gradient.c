/* Gradients of kernels against differences. SPDX-License-Identifier: BSD-3-Clause */
#include "lt_test.h"

#include "kernels/fused.h"
#include "lathe/circuit.h"
#include "lathe/rng.h"

enum { MAX_N = 300, MAX_D = 6, MAX_W = 64 };
static double X[MAX_N * MAX_D], W[MAX_W], LOSS[MAX_N * MAX_N];

static void make_data(int n, int d, int n_weights, uint64_t seed)
{
    lt_rng r = lt_rng_seed(seed);
    for (int i = 0; i < n * d; i++) X[i] = 2 * lt_rng_uniform(&r) - 1;
    for (int i = 0; i < n_weights; i++) W[i] = 2 * lt_rng_uniform(&r) - 1;
    for (int i = 0; i < n * n; i++) LOSS[i] = 2 * lt_rng_uniform(&r) - 1; /* not symmetric */
}

static lt_similarity_options similarity(lt_similarity kind)
{
    lt_similarity_options s = lt_similarity_defaults();
    s.kind = kind;
    return s;
}

static double loss_at(const lt_circuit *c, lt_similarity kind, const double *x, int n, int d, const double *w)
{
    static double K[MAX_N * MAX_N];
    lt_gram_options opt = lt_gram_defaults();
    lt_similarity_options s = similarity(kind);
    lt_gram *g = NULL;
    double sum = 0;
    LT_CHECK_OK(lt_gram_create_circuit(NULL, &opt, &s, c, w, lt_circuit_describe(c).n_weights, &g));
    LT_CHECK_OK(lt_gram_fill(g, &(lt_rows){ x, LT_F64, n, d, 0 }, NULL, K));
    for (int i = 0; i < n * n; i++) sum += LOSS[i] * K[i];
    lt_gram_destroy(g);
    return sum;
}

static double central(const lt_circuit *c, lt_similarity kind, int n, int d, double *at)
{
    const double h = 1e-5, kept = *at;
    *at = kept + h;
    double above = loss_at(c, kind, X, n, d, W);
    *at = kept - h;
    double below = loss_at(c, kind, X, n, d, W);
    *at = kept;
    return (above - below) / (2 * h);
}

static void check_gradient(const lt_circuit *c, const char *what, lt_similarity kind, int n, int d)
{
    double dw[MAX_W + 1] = { 0 }, dx[MAX_N * MAX_D], again[MAX_W + 1] = { 0 };
    int64_t n_weights = lt_circuit_describe(c).n_weights;
    lt_similarity_options s = similarity(kind);
    for (int threads = 1; threads <= 2; threads++) {
        lt_gram_options opt = lt_gram_defaults();
        lt_gram *g = NULL;
        opt.n_workers = threads;
        LT_CHECK_OK(lt_gram_create_circuit(NULL, &opt, &s, c, W, n_weights, &g));
        LT_CHECK_OK(lt_gram_gradient(g, &(lt_rows){ X, LT_F64, n, d, 0 }, LOSS, threads == 1 ? dw : again, threads == 1 ? dx : NULL));
        lt_gram_destroy(g);
    }
    if (memcmp(dw, again, sizeof dw)) LT_TEST_FAIL("%s: threads changed bits", what);
    double scale = 1;
    for (int64_t i = 0; i < n_weights; i++) scale = fmax(scale, fabs(dw[i]));
    for (int64_t i = 0; i < n_weights; i++) {
        double want = central(c, kind, n, d, &W[i]);
        if (!(fabs(dw[i] - want) < 1e-7 * scale * n)) LT_TEST_FAIL("%s, %s: by weight %lld %.12g, differences say %.12g", what, lt_similarity_name(kind), (long long)i, dw[i], want);
    }
    for (int i = 0; i < n * d; i += n * d / 7 + 1) {
        double want = central(c, kind, n, d, &X[i]);
        if (!(fabs(dx[i] - want) < 1e-7 * scale * n)) LT_TEST_FAIL("%s, %s: by feature %d %.12g, differences say %.12g", what, lt_similarity_name(kind), i, dx[i], want);
    }
}

LT_TEST(maps_agree_with_differences)
{
    static const struct { const char *map; int d, n; } maps[] = {
        { "strong(layers=3, reupload=true)", 4, 13 }, { "strong(layers=2, imprimitive=CZ, reupload=true, angle_rotation=Z)", 3, 30 }, { "basic(layers=3, rotation=Z, reupload=true)", 4, 9 },
        { "basic(layers=2, rotation=Y, reupload=true)", 5, 5 }, { "qaoa(layers=2)", 4, 11 }, { "qaoa(layers=1, wires=5)", 3, 8 }, { "demo(layers=2)", 4, 12 }, { "demo(layers=2)", 2, 7 },
        { "demo(layers=1, wires=1)", 1, 7 }, { "zz", 4, 6 }, { "strong(layers=2)", 4, 6 },
    };
    for (size_t m = 0; m < sizeof maps / sizeof *maps; m++) {
        lt_map_options opt = lt_map_defaults();
        lt_circuit *c = NULL;
        opt.n_features = maps[m].d;
        make_data(maps[m].n, maps[m].d, MAX_W, m);
        LT_CHECK_OK(lt_circuit_from_map(maps[m].map, &opt, &c));
        if (!c) continue;
        check_gradient(c, maps[m].map, LT_SIMILARITY_FIDELITY, maps[m].n, maps[m].d);
        check_gradient(c, maps[m].map, LT_SIMILARITY_REAL, maps[m].n, maps[m].d);
        lt_circuit_destroy(c);
    }
}

/* Every kind of gate, with expressions of both; and wires that never meet. */
static lt_circuit *everything(void)
{
    static const char text[] =
        "include \"stdgates.inc\"; input array[float[64], 3] x; input array[float[64], 6] w; qubit[6] q;"
        "gate word(t) a, b, c { h a; rx(pi/2) b; cx a, b; cx b, c; rz(t) c; cx b, c; cx a, b; rx(-pi/2) b; h a; }"
        "ry(x[0]*w[0]) q[0]; U(w[1], x[1], w[2]*x[2]) q[1]; rx(sin(w[3] + x[0])) q[2]; p(x[1]) q[0];"
        "crx(w[0] + x[1]) q[0], q[1]; cry(w[4]^2*x[2] + 1) q[1], q[2]; cp(x[0]*w[5]) q[2], q[0]; ctrl(2) @ ry(w[2] - x[0]) q[0], q[1], q[2];"
        "rxx(w[1]*x[1]) q[0], q[2]; ryy(w[3]) q[1], q[2]; word(w[4]/(2 + x[1])) q[2], q[0], q[1]; swap q[0], q[1]; iswap q[1], q[2]; ccx q[0], q[1], q[2];"
        "sx q[0]; ry(exp(w[5])*x[2]) q[0]; ctrl @ gphase(w[0]*x[0]) q[1]; x q[2]; ch q[2], q[1]; rz(x[2] + w[1]) q[1]; ry(x[0]) q[1]; h q[2]; t q[2]; rx(x[1]*w[3]) q[2];"
        "rx(w[0]*x[0]) q[3]; rzz(x[1]*w[2]) q[3], q[4]; ry(x[2]) q[4]; rx(x[0]) q[3]; h q[5]; rz(x[1]*w[5]) q[5]; gphase(w[4]*x[0]);";
    lt_circuit *c = NULL;
    char v2[2048];
    snprintf(v2, sizeof v2, "%s", text);
    char *caret = strchr(v2, '^'); /* ** in version 3 */
    if (caret) memmove(caret + 2, caret + 1, strlen(caret)), caret[0] = caret[1] = '*';
    LT_CHECK_OK(lt_circuit_from_qasm(v2, strlen(v2), "everything", &c));
    return c;
}

LT_TEST(every_gate_agrees_with_differences_on_every_instruction_set)
{
    lt_circuit *c = everything();
    for (int isa = 0; c && isa < LT_ISA_COUNT; isa++) {
        if (!lt_isa_usable(isa)) continue;
        setenv("LATHE_ISA", lt_isa_name(isa), 1);
        make_data(27, 3, 6, 77);
        check_gradient(c, lt_isa_name(isa), LT_SIMILARITY_FIDELITY, 27, 3);
        check_gradient(c, lt_isa_name(isa), LT_SIMILARITY_REAL, 27, 3);
    }
    unsetenv("LATHE_ISA");
    lt_circuit_destroy(c);
}

/* More rows than a chunk of sums. */
LT_TEST(many_rows_agree_with_differences)
{
    lt_circuit *c = everything();
    make_data(270, 3, 6, 5);
    if (c) check_gradient(c, "270 rows", LT_SIMILARITY_FIDELITY, 270, 3);
    lt_circuit_destroy(c);
}

/* One group of wires: overlaps of pairs are made once, and sums over rows go through several chunks. */
LT_TEST(many_rows_of_one_factor_agree_with_differences)
{
    lt_map_options opt = lt_map_defaults();
    lt_circuit *c = NULL;
    opt.n_features = 3;
    LT_CHECK_OK(lt_circuit_from_map("strong(layers=2, reupload=true)", &opt, &c));
    for (int n = 265; c && n <= 281; n += 8) { /* panels of 24 rows end before and behind them */
        make_data(n, 3, 18, (uint64_t)n);
        check_gradient(c, "strong", n == 273 ? LT_SIMILARITY_REAL : LT_SIMILARITY_FIDELITY, n, 3);
    }
    lt_circuit_destroy(c);
}

/* Gates on four wires, and others up to `wires` that join them and do nothing. */
static lt_circuit *padded(int wires)
{
    lt_circuit *c = NULL;
    LT_CHECK_OK(lt_circuit_create(wires, 1, 2, &c));
    for (int i = 0; c && i < 4; i++) LT_CHECK_OK(lt_circuit_gate(c, "RY", (int[]){ i }, 1, (const char *[]){ "x[0]*w[0] + w[1]" }, 1));
    for (int i = 0; c && i < 3; i++) LT_CHECK_OK(lt_circuit_gate(c, "RZZ", (int[]){ i, i + 1 }, 2, (const char *[]){ "x[0]" }, 1));
    for (int i = 3; c && i + 1 < wires; i++) LT_CHECK_OK(lt_circuit_gate(c, "RZZ", (int[]){ i, i + 1 }, 2, (const char *[]){ "0*x[0]" }, 1));
    if (c) LT_CHECK_OK(lt_circuit_gate(c, "RX", (int[]){ 0 }, 1, (const char *[]){ "x[0]*w[0]" }, 1));
    return c;
}

/* From 22 wires on each row is a state of its own, without others beside it. */
LT_TEST(wires_that_do_nothing_change_nothing)
{
    double dw[2][2], dx[2][2];
    make_data(2, 1, 2, 3);
    for (int wide = 0; wide < 2; wide++) {
        lt_gram_options opt = lt_gram_defaults();
        lt_gram *g = NULL;
        lt_circuit *c = padded(wide ? 22 : 4);
        opt.n_workers = 1;
        LT_CHECK_OK(lt_gram_create_circuit(NULL, &opt, NULL, c, W, 2, &g));
        LT_CHECK_OK(lt_gram_gradient(g, &(lt_rows){ X, LT_F64, 2, 1, 0 }, LOSS, dw[wide], dx[wide]));
        lt_gram_destroy(g);
        lt_circuit_destroy(c);
    }
    for (int i = 0; i < 2; i++) {
        LT_CHECK(fabs(dw[0][i]) > 1e-3 && fabs(dw[0][i] - dw[1][i]) < 1e-12);
        LT_CHECK(fabs(dx[0][i]) > 1e-3 && fabs(dx[0][i] - dx[1][i]) < 1e-12);
    }
}

/* Losses by entries of K, each with its mirror image, since K is symmetric. */
LT_TEST(losses_agree_with_differences)
{
    enum { N = 12 };
    double K[N * N], dK[N * N], value, above, below;
    int32_t label[N];
    const double h = 1e-6;
    make_data(N, 4, 0, 9);
    for (int i = 0; i < N * N; i++) {
        double d = 0;
        for (int k = 0; k < 4; k++) d += (X[i / N * 4 + k] - X[i % N * 4 + k]) * (X[i / N * 4 + k] - X[i % N * 4 + k]);
        K[i] = exp(-d);
    }
    for (int loss = 0; loss < LT_KERNEL_LOSS_COUNT; loss++)
        for (int classes = 2; classes <= (loss == LT_KERNEL_LOSS_SVM_MARGIN ? 2 : 3); classes++) {
            for (int i = 0; i < N; i++) label[i] = i % classes;
            LT_CHECK_OK(lt_kernel_loss_evaluate(loss, K, N, label, 0.7, &value, dK));
            for (int at = 0; at < N * N; at += 17) {
                int mirror = at % N * N + at / N;
                double kept = K[at];
                K[at] = K[mirror] = kept + h;
                LT_CHECK_OK(lt_kernel_loss_evaluate(loss, K, N, label, 0.7, &above, NULL));
                K[at] = K[mirror] = kept - h;
                LT_CHECK_OK(lt_kernel_loss_evaluate(loss, K, N, label, 0.7, &below, NULL));
                K[at] = K[mirror] = kept;
                double want = (above - below) / (2 * h), got = at == mirror ? dK[at] : dK[at] + dK[mirror];
                if (!(fabs(got - want) < 1e-5)) LT_TEST_FAIL("%s, %d classes: by entry %d %.9g, differences say %.9g", lt_kernel_loss_name(loss), classes, at, got, want);
            }
        }
    label[3] = 2;
    LT_CHECK_FAILS(lt_kernel_loss_evaluate(LT_KERNEL_LOSS_SVM_MARGIN, K, N, label, 1, &value, NULL), LT_ERR_ARGUMENT, "of two classes");
    for (int i = 0; i < N; i++) label[i] = 0;
    LT_CHECK_FAILS(lt_kernel_loss_evaluate(LT_KERNEL_LOSS_CENTRED_ALIGNMENT, K, N, label, 1, &value, NULL), LT_ERR_NUMERIC, "constant");
}

LT_TEST(what_has_no_gradient_is_refused)
{
    lt_map_options map = lt_map_defaults();
    lt_gram_options opt = lt_gram_defaults();
    lt_similarity_options s = similarity(LT_SIMILARITY_PROJECTED);
    lt_circuit *c;
    lt_gram *g;
    double dw[16], dx[16];
    make_data(2, 4, 16, 1);
    lt_rows x = { X, LT_F64, 2, 4, 0 };
    map.n_features = 4;
    LT_CHECK_OK(lt_circuit_from_map("basic(layers=1)", &map, &c));
    LT_CHECK_OK(lt_gram_create_circuit(NULL, &opt, &s, c, W, 4, &g));
    LT_CHECK_FAILS(lt_gram_gradient(g, &x, LOSS, dw, NULL), LT_ERR_UNSUPPORTED, "not of projected");
    lt_gram_destroy(g);
    lt_circuit_destroy(c);
    LT_CHECK_OK(lt_circuit_from_map("amplitude", &map, &c));
    LT_CHECK_OK(lt_gram_create_circuit(NULL, &opt, NULL, c, NULL, 0, &g));
    LT_CHECK_FAILS(lt_gram_gradient(g, &x, LOSS, dw, dx), LT_ERR_UNSUPPORTED, "begin as x itself");
    LT_CHECK_OK(lt_gram_gradient(g, &x, LOSS, NULL, NULL));
    lt_gram_destroy(g);
    lt_circuit_destroy(c);
    LT_CHECK_OK(lt_gram_create(NULL, &opt, &(lt_weights){ W, 1, 4 }, &g));
    LT_CHECK_FAILS(lt_gram_gradient(g, &x, LOSS, dw, NULL), LT_ERR_UNSUPPORTED, "not of a circuit");
    lt_gram_destroy(g);
}

LT_TEST_MAIN()
