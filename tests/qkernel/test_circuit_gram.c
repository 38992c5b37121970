/* Gram matrices of circuits: stored vectors, kernels of states, what may not change their bits. SPDX-License-Identifier: BSD-3-Clause */
#include "lt_test.h"
#include "map_file.h"

#include "kernels/fused.h"
#include "lathe/circuit.h"
#include "lathe/rng.h"

static lt_circuit *circuit_of(const char *map, int64_t n_features)
{
    lt_map_options opt = lt_map_defaults();
    lt_circuit *c = NULL;
    opt.n_features = n_features;
    LT_CHECK_OK(lt_circuit_from_map(map, &opt, &c));
    return c;
}

static lt_gram *gram_of(const lt_circuit *c, const lt_gram_options *opt, const lt_similarity_options *s, const double *w)
{
    lt_gram *g = NULL;
    LT_CHECK_OK(lt_gram_create_circuit(NULL, opt, s, c, w, lt_circuit_describe(c).n_weights, &g));
    return g;
}

/* ---- stored vectors ---- */

static double worst[2];

static void check_case(const map_case *c, lt_gram_float type)
{
    lt_gram_options opt = lt_gram_defaults();
    opt.dtype = type;
    int64_t n = c->X.rows;
    double *K = malloc((size_t)(n * n) * sizeof *K);
    lt_rows x = { c->X.v, LT_F64, n, c->X.columns, 0 };
    lt_circuit *circuit = circuit_of(c->map, c->X.columns);
    for (int method = LT_GRAM_AUTO; circuit && method <= LT_GRAM_STATES; method++) {
        opt.method = (lt_gram_method)method;
        lt_gram *g = gram_of(circuit, &opt, NULL, c->W.v);
        if (!g) break;
        LT_CHECK_OK(lt_gram_fill(g, &x, NULL, K));
        for (int64_t i = 0; i < n * n; i++) {
            double off = fabs(K[i] - c->K.v[i]);
            worst[type] = fmax(worst[type], off);
            if (!(off < (type ? 2e-5 : 1e-12))) {
                LT_TEST_FAIL("%s: entry %lld is %.17g, expected %.17g", c->map, (long long)i, K[i], c->K.v[i]);
                break;
            }
        }
        lt_gram_destroy(g);
    }
    lt_circuit_destroy(circuit);
    free(K);
}

LT_TEST(every_stored_map_has_its_matrix_on_every_instruction_set)
{
    for (int isa = 0; isa < LT_ISA_COUNT; isa++) {
        if (!lt_isa_usable(isa)) continue;
        setenv("LATHE_ISA", lt_isa_name(isa), 1);
        worst[0] = worst[1] = 0;
        FILE *f = vectors_open("maps.txt");
        map_case c;
        int n = 0;
        for (; map_read(f, &c); n++) {
            check_case(&c, LT_GRAM_FLOAT64);
            check_case(&c, LT_GRAM_FLOAT32);
            map_free(&c);
        }
        fclose(f);
        LT_CHECK_EQ_INT(n, 131);
        printf("%s: worst entry off by %.2g (f64), %.2g (f32)\n", lt_isa_name(isa), worst[0], worst[1]);
    }
    unsetenv("LATHE_ISA");
}

/* ---- data ---- */

enum { N = 67, M = 23, Q = 5 };
static double X[N][Q], Y[M][Q], W[3 * Q * 3];

static void make_data(void)
{
    lt_rng r = lt_rng_seed(3);
    for (int i = 0; i < N * Q; i++) X[i / Q][i % Q] = 4 * lt_rng_uniform(&r) - 2;
    for (int i = 0; i < M * Q; i++) Y[i / Q][i % Q] = 4 * lt_rng_uniform(&r) - 2;
    for (size_t i = 0; i < sizeof W / sizeof *W; i++) W[i] = 4 * lt_rng_uniform(&r) - 2;
}

static const lt_rows rows_x = { X, LT_F64, N, Q, 0 }, rows_y = { Y, LT_F64, M, Q, 0 };

/* All amplitudes of rows; freed by the caller. */
static double *states_of(const lt_circuit *c, const double *w, const lt_rows *x)
{
    lt_circuit_info i = lt_circuit_describe(c);
    double *S = malloc((size_t)x->n * sizeof(double) << (i.n_qubits + 1));
    LT_CHECK_OK(lt_circuit_states(c, w, i.n_weights, x, LT_GRAM_FLOAT64, S));
    return S;
}

static void overlap(const double *a, const double *b, int64_t n, double *re, double *im)
{
    *re = *im = 0;
    for (int64_t k = 0; k < n; k++) {
        *re += a[2 * k] * b[2 * k] + a[2 * k + 1] * b[2 * k + 1];
        *im += a[2 * k] * b[2 * k + 1] - a[2 * k + 1] * b[2 * k];
    }
}

/* ---- bits ---- */

static const char *const maps[] = { "zz", "strong(layers=3, angle_rotation=Y, reupload=true)", "z(reps=2)", "demo(layers=2)", "pauli(paulis=[Y, XX], entanglement=[[0, 1], [3, 4]])",
                                    "basic(layers=2, rotation=Y, angle_rotation=Y, reupload=true)", "iqp(repeats=2, pattern=[[1, 2]])" };

/* Threads, tiles, blocks, memory: none may change a bit. */
LT_TEST(bits_do_not_depend_on_threads_tiles_or_blocks)
{
    make_data();
    static double first[N * N], again[N * N];
    for (size_t m = 0; m < sizeof maps / sizeof *maps; m++)
        for (int type = 0; type < 2; type++) {
            lt_circuit *c = circuit_of(maps[m], Q);
            for (int way = 0; c && way < 6; way++) {
                lt_gram_options opt = lt_gram_defaults();
                opt.dtype = (lt_gram_float)type;
                opt.n_workers = way == 1 ? 1 : way == 2 ? 3 : 2;
                if (way == 3) opt.tile_size = 1;
                if (way == 4) opt.precompute_all_states = false, opt.state_tile = 9;
                if (way == 5) opt.symmetric = false;
                lt_gram *g = gram_of(c, &opt, NULL, W);
                LT_CHECK_OK(lt_gram_fill(g, &rows_x, NULL, way ? again : first));
                if (way && memcmp(first, again, sizeof first)) LT_TEST_FAIL("%s: way %d changed bits", maps[m], way);
                lt_gram_destroy(g);
            }
            lt_circuit_destroy(c);
        }
}

LT_TEST(rows_alone_and_together_have_the_same_entries)
{
    make_data();
    static double all[N * M], one[M];
    for (size_t m = 0; m < sizeof maps / sizeof *maps; m++) {
        lt_circuit *c = circuit_of(maps[m], Q);
        lt_gram_options opt = lt_gram_defaults();
        lt_gram *g = gram_of(c, &opt, NULL, W);
        LT_CHECK_OK(lt_gram_fill(g, &rows_x, &rows_y, all));
        for (int i = 0; i < N; i += 11) {
            LT_CHECK_OK(lt_gram_fill(g, &(lt_rows){ X[i], LT_F64, 1, Q, 0 }, &rows_y, one));
            if (memcmp(one, all + i * M, sizeof one)) LT_TEST_FAIL("%s: row %d differs", maps[m], i);
        }
        lt_gram_destroy(g);
        lt_circuit_destroy(c);
    }
}

/* ---- what the compiler leaves out ---- */

static lt_circuit *custom(bool suffix, bool phase, bool permuted)
{
    static const int order[Q] = { 3, 0, 4, 1, 2 };
    lt_circuit *c;
    LT_CHECK_OK(lt_circuit_create(Q, Q, 2, &c));
    char angle[64];
    for (int i = 0; i < Q; i++) {
        int w[2] = { permuted ? order[i] : i, permuted ? order[(i + 1) % Q] : (i + 1) % Q };
        snprintf(angle, sizeof angle, "x[%d]", i);
        LT_CHECK_OK(lt_circuit_gate(c, "RY", w, 1, (const char *[]){ angle }, 1));
        if (phase) LT_CHECK_OK(lt_circuit_gate(c, "GlobalPhase", NULL, 0, (const char *[]){ angle }, 1));
        LT_CHECK_OK(lt_circuit_gate(c, "CRX", w, 2, (const char *[]){ "w[0] + x[1]" }, 1));
    }
    for (int i = 0; suffix && i + 1 < Q; i++) {
        LT_CHECK_OK(lt_circuit_gate(c, "U3", (int[]){ i }, 1, (const char *[]){ "w[1]", "0.3", "-1" }, 3));
        LT_CHECK_OK(lt_circuit_gate(c, "CX", (int[]){ i, i + 1 }, 2, NULL, 0));
        LT_CHECK_OK(lt_circuit_gate(c, "iSWAP", (int[]){ i + 1, i }, 2, NULL, 0));
    }
    return c;
}

LT_TEST(suffixes_phases_and_orders_of_wires_do_not_matter)
{
    make_data();
    static double K[4][N * N];
    for (int way = 0; way < 4; way++) {
        lt_circuit *c = custom(way == 1, way == 2, way == 3);
        lt_gram_options opt = lt_gram_defaults();
        lt_gram *g = gram_of(c, &opt, NULL, W);
        LT_CHECK_OK(lt_gram_fill(g, &rows_x, NULL, K[way]));
        double off = 0;
        for (int i = 0; i < N * N; i++) off = fmax(off, fabs(K[way][i] - K[0][i]));
        if (!(off < 1e-13)) LT_TEST_FAIL("way %d is off by %g", way, off);
        lt_gram_destroy(g);
        lt_circuit_destroy(c);
    }
    LT_CHECK(!memcmp(K[0], K[1], sizeof K[0])); /* what is left is the same program */
}

LT_TEST(circuits_whose_wires_never_meet_are_products)
{
    make_data();
    static double K[N * N], S[N * N];
    const char *const products[] = { "z(reps=3)", "angle(rotation=Y)", "strong(layers=2)", "demo(layers=1)", "pauli(paulis=[X, Y, Z])" };
    for (size_t m = 0; m < sizeof products / sizeof *products; m++) {
        lt_circuit *c = circuit_of(products[m], Q);
        lt_gram_options opt = lt_gram_defaults();
        lt_gram *g = gram_of(c, &opt, NULL, W);
        LT_CHECK_OK(lt_gram_fill(g, &rows_x, NULL, K));
        LT_CHECK_EQ_INT(lt_gram_get_info(g).method, LT_GRAM_PRODUCT);
        double *psi = states_of(c, W, &rows_x), re, im;
        for (int i = 0; i < N * N; i++) {
            overlap(psi + (i / N << (Q + 1)), psi + (i % N << (Q + 1)), 1 << Q, &re, &im);
            S[i] = re * re + im * im;
            if (!(fabs(K[i] - S[i]) < 1e-13)) LT_TEST_FAIL("%s: entry %d is %.17g, expected %.17g", products[m], i, K[i], S[i]);
        }
        free(psi);
        lt_gram_destroy(g);
        lt_circuit_destroy(c);
    }
}

/* Many wires in small groups: no state of all of them could be held. */
LT_TEST(groups_of_wires_that_never_meet_multiply)
{
    enum { WIRES = 60, ROWS = 30 };
    static double x[ROWS][WIRES], K[ROWS * ROWS], part[ROWS * ROWS], want[ROWS * ROWS];
    lt_rng r = lt_rng_seed(8);
    for (int i = 0; i < ROWS * WIRES; i++) x[i / WIRES][i % WIRES] = lt_rng_uniform(&r) / 2;
    for (int type = 0; type < 2; type++) {
        lt_gram_options opt = lt_gram_defaults();
        opt.dtype = (lt_gram_float)type;
        lt_circuit *all, *one;
        LT_CHECK_OK(lt_circuit_create(WIRES, WIRES, 0, &all));
        for (int i = 0; i < ROWS * ROWS; i++) want[i] = 1;
        for (int w = 0; w < WIRES; w += 3) {
            LT_CHECK_OK(lt_circuit_create(3, WIRES, 0, &one));
            for (int k = 0; k < 3; k++) {
                char a[32], b[64];
                snprintf(a, sizeof a, "x[%d]", w + k);
                snprintf(b, sizeof b, "x[%d]*x[%d]", w + k, w + (k + 1) % 3);
                for (int which = 0; which < 2; which++) {
                    lt_circuit *c = which ? one : all;
                    int base = which ? 0 : w, wires[2] = { base + k, base + (k + 1) % 3 };
                    LT_CHECK_OK(lt_circuit_gate(c, "RY", wires, 1, (const char *[]){ a }, 1));
                    LT_CHECK_OK(lt_circuit_gate(c, "RXX", wires, 2, (const char *[]){ b }, 1));
                }
            }
            lt_gram *g = gram_of(one, &opt, NULL, NULL);
            LT_CHECK_OK(lt_gram_fill(g, &(lt_rows){ x, LT_F64, ROWS, WIRES, 0 }, NULL, part));
            for (int i = 0; i < ROWS * ROWS; i++) want[i] *= part[i];
            lt_gram_destroy(g);
            lt_circuit_destroy(one);
        }
        lt_gram *g = gram_of(all, &opt, NULL, NULL);
        LT_CHECK_OK(lt_gram_fill(g, &(lt_rows){ x, LT_F64, ROWS, WIRES, 0 }, NULL, K));
        for (int i = 0; i < ROWS * ROWS; i++)
            if (!(fabs(K[i] - want[i]) < (type ? 2e-5 : 1e-13))) LT_TEST_FAIL("entry %d is %.17g, expected %.17g", i, K[i], want[i]);
        lt_gram_destroy(g);
        lt_circuit_destroy(all);
    }
}

/* ---- kernels of states ---- */

LT_TEST(real_parts_keep_the_phases_of_rows)
{
    make_data();
    static double K[N * M];
    const char *const some[] = { "zz", "z(reps=1)", "amplitude", "demo(layers=2)", "basic(layers=2, rotation=Y, angle_rotation=Y, reupload=true)" };
    for (size_t m = 0; m < sizeof some / sizeof *some; m++) {
        lt_circuit *c = circuit_of(some[m], Q);
        int64_t q = lt_circuit_describe(c).n_qubits;
        lt_gram_options opt = lt_gram_defaults();
        lt_similarity_options s = lt_similarity_defaults();
        s.kind = LT_SIMILARITY_REAL;
        lt_gram *g = gram_of(c, &opt, &s, W);
        LT_CHECK_OK(lt_gram_fill(g, &rows_x, &rows_y, K));
        double *a = states_of(c, W, &rows_x), *b = states_of(c, W, &rows_y), re, im;
        for (int i = 0; i < N * M; i++) {
            overlap(a + ((int64_t)(i / M) << (q + 1)), b + ((int64_t)(i % M) << (q + 1)), (int64_t)1 << q, &re, &im);
            if (!(fabs(K[i] - re) < 1e-13)) LT_TEST_FAIL("%s: entry %d is %.17g, expected %.17g", some[m], i, K[i], re);
        }
        free(a);
        free(b);
        lt_gram_destroy(g);
        lt_circuit_destroy(c);
    }
}

/* rho of one wire, from the definition. */
static void reduced(const double *psi, int q, int wire, double rho[8])
{
    memset(rho, 0, 8 * sizeof *rho);
    int64_t bit = (int64_t)1 << (q - 1 - wire);
    for (int64_t k = 0; k < (int64_t)1 << q; k++)
        for (int other = 0; other < 2; other++) {
            int64_t l = other ? k | bit : k & ~bit;
            int at = 2 * (2 * ((k & bit) != 0) + other);
            rho[at] += psi[2 * k] * psi[2 * l] + psi[2 * k + 1] * psi[2 * l + 1];
            rho[at + 1] += psi[2 * k + 1] * psi[2 * l] - psi[2 * k] * psi[2 * l + 1];
        }
}

LT_TEST(projected_kernels_follow_their_definition)
{
    make_data();
    static double K[N * M], again[N * N];
    lt_circuit *c = circuit_of("zz(entanglement=linear)", Q);
    lt_gram_options opt = lt_gram_defaults();
    lt_similarity_options s = lt_similarity_defaults();
    s.kind = LT_SIMILARITY_PROJECTED;
    s.gamma = 0.7;
    lt_gram *g = gram_of(c, &opt, &s, NULL);
    LT_CHECK_OK(lt_gram_fill(g, &rows_x, &rows_y, K));
    double *a = states_of(c, NULL, &rows_x), *b = states_of(c, NULL, &rows_y);
    for (int i = 0; i < N * M; i++) {
        double sum = 0, r[8], t[8];
        for (int w = 0; w < Q; w++) {
            reduced(a + ((i / M) << (Q + 1)), Q, w, r);
            reduced(b + ((i % M) << (Q + 1)), Q, w, t);
            for (int k = 0; k < 8; k++) sum += (r[k] - t[k]) * (r[k] - t[k]);
        }
        LT_CHECK_NEAR(K[i], exp(-0.7 * sum), 1e-13);
    }
    free(a);
    free(b);
    lt_gram_destroy(g);
    s.gamma = 0; /* by the median: the middle exponent is 1/q */
    g = gram_of(c, &opt, &s, NULL);
    LT_CHECK_OK(lt_gram_fill(g, &rows_x, NULL, again));
    int below = 0, above = 0;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < i; j++) {
            LT_CHECK(again[i * N + j] == again[j * N + i]);
            below += again[i * N + j] <= exp(-1.0 / Q);
            above += again[i * N + j] >= exp(-1.0 / Q);
        }
    LT_CHECK(abs(below - above) <= 1);
    lt_gram_destroy(g);
    lt_circuit_destroy(c);
}

LT_TEST(draws_are_binomial_means_and_noise_mixes)
{
    make_data();
    static double K[N * N], D[N * N], P[N * N], again[N * N];
    lt_circuit *c = circuit_of("iqp(repeats=2)", Q);
    lt_gram_options opt = lt_gram_defaults();
    lt_similarity_options s = lt_similarity_defaults();
    lt_gram *g = gram_of(c, &opt, &s, NULL);
    LT_CHECK_OK(lt_gram_fill(g, &rows_x, NULL, K));
    lt_gram_destroy(g);
    const int64_t shots[] = { 1, 20, 1000, 1000000 };
    for (size_t t = 0; t < sizeof shots / sizeof *shots; t++) {
        s.shots = shots[t];
        s.seed = 5;
        double z = 0, n_shots = (double)shots[t];
        for (int threads = 1; threads <= 2; threads++) {
            opt.n_workers = threads;
            g = gram_of(c, &opt, &s, NULL);
            LT_CHECK_OK(lt_gram_fill(g, &rows_x, NULL, threads == 1 ? D : again));
            lt_gram_destroy(g);
        }
        LT_CHECK(!memcmp(D, again, sizeof D));
        int n = 0;
        for (int i = 0; i < N; i++) {
            LT_CHECK(D[i * N + i] == 1);
            for (int j = 0; j < i; j++, n++) {
                double k = K[i * N + j], whole = D[i * N + j] * n_shots;
                LT_CHECK(D[i * N + j] == D[j * N + i]);
                LT_CHECK(fabs(whole - round(whole)) < 1e-6);
                z += (D[i * N + j] - k) * (D[i * N + j] - k) * n_shots / fmax(k * (1 - k), 1e-12);
            }
        }
        /* The mean of squared standard scores is 1, with a spread of a few hundredths. */
        if (!(fabs(z / n - 1) < 0.2)) LT_TEST_FAIL("%lld shots: the mean squared score is %g", (long long)shots[t], z / n);
    }
    s = lt_similarity_defaults();
    s.depolarizing = 0.25;
    g = gram_of(c, &opt, &s, NULL);
    LT_CHECK_OK(lt_gram_fill(g, &rows_x, NULL, P));
    for (int i = 0; i < N * N; i++) LT_CHECK_NEAR(P[i], 0.75 * K[i] + 0.25 / 32, 1e-15);
    lt_gram_destroy(g);
    lt_circuit_destroy(c);
}

/* ---- bad input ---- */

LT_TEST(mistakes_are_named)
{
    make_data();
    lt_circuit *c = NULL;
    lt_gram *g = NULL;
    lt_gram_options opt = lt_gram_defaults();
    lt_map_options map = lt_map_defaults();
    static double K[N * N];
    map.n_features = Q;
    const struct { const char *map, *part; } bad[] = {
        { "zzz", "column 1: 'zzz', expected a map" }, { "zz(reps=0)", "column 9: '0', expected a whole number" }, { "zz(rep=1)", "column 4: zz has no argument 'rep'; it has reps, entanglement" },
        { "zz(reps=1", "the end of the text, expected ')'" }, { "zz(entanglement=ring)", "'ring', expected full" }, { "pauli(paulis=[A])", "'A', expected a word" },
        { "basic(rotation=Q)", "'Q', expected X, Y or Z" }, { "zz(reps=1, reps=2)", "'reps' twice" }, { "zz) x", "')' after the map" },
        { "zz(wires=3)", "holds 3 features, and X has 5 columns; reupload=true" }, { "zz(wires=9)", "needs as many features" }, { "amplitude(wires=2)", "holds 4 features" },
        { "strong(layers=2, ranges=[1])", "1 ranges for 2 layers" }, { "strong(layers=1, ranges=[5])", "joins wires to themselves" },
        { "pauli(paulis=[ZZZ], entanglement=pairwise)", "pairwise joins two wires" }, { "zz(entanglement=[[0, 7]])", "names wire 7" },
        { "basic(layers=1, wires=2, reupload=true)", "need 3 layers" },
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        lt_status s = lt_circuit_from_map(bad[i].map, &map, &c);
        if (!s || !strstr(lt_error_text(), bad[i].part)) LT_TEST_FAIL("%s: '%s' lacks '%s'", bad[i].map, s ? lt_error_text() : "no failure", bad[i].part);
        lt_circuit_destroy(c);
        c = NULL;
    }
    LT_CHECK_OK(lt_circuit_create(2, 1, 1, &c));
    LT_CHECK_FAILS(lt_circuit_gate(c, "RX", (int[]){ 2 }, 1, (const char *[]){ "0" }, 1), LT_ERR_ARGUMENT, "RX on wire 2, expected 0 to 1");
    LT_CHECK_FAILS(lt_circuit_gate(c, "CX", (int[]){ 1, 1 }, 2, NULL, 0), LT_ERR_ARGUMENT, "CX names wire 1 twice");
    LT_CHECK_FAILS(lt_circuit_gate(c, "Foo", (int[]){ 1 }, 1, NULL, 0), LT_ERR_ARGUMENT, "no gate 'Foo'");
    LT_CHECK_FAILS(lt_circuit_gate(c, "RX", (int[]){ 1 }, 1, (const char *[]){ "x[1]" }, 1), LT_ERR_FORMAT, "line 1, column 3: x['1']: expected a number below 1");
    LT_CHECK_FAILS(lt_circuit_gate(c, "RX", (int[]){ 1 }, 1, (const char *[]){ "2*foo(1)" }, 1), LT_ERR_FORMAT, "column 3: unknown function 'foo'");
    LT_CHECK_FAILS(lt_circuit_gate(c, "RX", (int[]){ 1 }, 1, (const char *[]){ "(1" }, 1), LT_ERR_FORMAT, "column 3: the end of the text, expected ')'");
    LT_CHECK_FAILS(lt_circuit_unitary(c, (double[]){ 1, 0, 1, 0, 0, 0, 1, 0 }, (int[]){ 0 }, 1), LT_ERR_ARGUMENT, "not unitary");
    LT_CHECK_OK(lt_circuit_gate(c, "RX", (int[]){ 1 }, 1, (const char *[]){ "1/w[0] + arccos(x[0])" }, 1));
    LT_CHECK_FAILS(lt_gram_create_circuit(NULL, &opt, NULL, c, (double[]){ 0 }, 1, &g), LT_ERR_FORMAT, "line 1, column 2: 1/w[0] is infinite");
    LT_CHECK_FAILS(lt_gram_create_circuit(NULL, &opt, NULL, c, (double[]){ 1, 2 }, 2, &g), LT_ERR_ARGUMENT, "2 weights, expected 1");
    LT_CHECK_OK(lt_gram_create_circuit(NULL, &opt, NULL, c, (double[]){ 1 }, 1, &g));
    LT_CHECK_FAILS(lt_gram_fill(g, &(lt_rows){ (double[]){ 0.5, 1.5 }, LT_F64, 2, 1, 0 }, NULL, K), LT_ERR_ARGUMENT,
                   "line 1, column 10: arccos(x[0]) is not a number for row 1 of X, where x[0] is 1.5");
    LT_CHECK_FAILS(lt_gram_fill(g, &rows_x, NULL, K), LT_ERR_ARGUMENT, "X has 5 columns, and the circuit has 1 features");
    double many[200] = { 0 };
    many[150] = 1.5;
    many[180] = NAN; /* rows are checked many at once: the first one is named */
    LT_CHECK_FAILS(lt_gram_fill(g, &(lt_rows){ many, LT_F64, 200, 1, 0 }, NULL, K), LT_ERR_ARGUMENT, "not a number for row 150 of X, where x[0] is 1.5");
    many[150] = 0;
    LT_CHECK_FAILS(lt_gram_fill(g, &(lt_rows){ many, LT_F64, 200, 1, 0 }, NULL, K), LT_ERR_ARGUMENT, "X is nan at row 180, column 0");
    lt_gram_destroy(g);
    lt_circuit_destroy(c);
    c = circuit_of("amplitude", Q);
    g = gram_of(c, &opt, NULL, NULL);
    double zero[2 * Q] = { 1 };
    LT_CHECK_FAILS(lt_gram_fill(g, &(lt_rows){ zero, LT_F64, 2, Q, 0 }, NULL, K), LT_ERR_ARGUMENT, "row 1 of X is zero");
    lt_gram_destroy(g);
    lt_circuit_destroy(c);
}

LT_TEST(a_circuit_without_features_has_a_matrix_of_ones)
{
    make_data();
    static double K[N * N];
    lt_circuit *c;
    LT_CHECK_OK(lt_circuit_create(3, Q, 0, &c));
    LT_CHECK_OK(lt_circuit_gate(c, "H", (int[]){ 1 }, 1, NULL, 0));
    lt_gram_options opt = lt_gram_defaults();
    lt_gram *g = gram_of(c, &opt, NULL, NULL);
    LT_CHECK_OK(lt_gram_fill(g, &rows_x, NULL, K));
    for (int i = 0; i < N * N; i++) LT_CHECK(K[i] == 1);
    char text[2048];
    LT_CHECK_OK(lt_gram_explain(g, N, 0, text, sizeof text));
    LT_CHECK(strstr(text, "1 gates, 1 primitives of which 1 cancel"));
    lt_gram_destroy(g);
    lt_circuit_destroy(c);
}

LT_TEST_MAIN()
