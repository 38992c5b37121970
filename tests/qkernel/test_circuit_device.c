/* Circuits of any gates on a device: the very texts of its kernels, run by the CPU thread by thread, against the CPU's own states and
   kernels. Needs a C++ compiler, no GPU; the test circuit_cuda is the same program on a real one. SPDX-License-Identifier: BSD-3-Clause */
#define LT_TEST_KEPT_BLOCKS 64
#include "lt_test.h"
#include "host_gpu.h"
#include "map_file.h"

#include "lathe/gram.h"
#include "lathe/rng.h"

static lt_circuit *circuit_of(const char *map, int64_t n_features)
{
    lt_map_options opt = lt_map_defaults();
    lt_circuit *c = NULL;
    opt.n_features = n_features;
    LT_CHECK_OK(lt_circuit_from_map(map, &opt, &c));
    return c;
}

typedef struct asked { lt_gram_options opt; lt_similarity_options similarity; } asked;
static asked usual(void) { return (asked){ lt_gram_defaults(), lt_similarity_defaults() }; }

static lt_gram_info fill(lt_device *dev, const asked *a, const lt_circuit *c, const matrix *W, const lt_rows *x, const lt_rows *y, void *K)
{
    lt_gram *g = NULL;
    lt_gram_info info = { .size = sizeof info };
    LT_CHECK_OK(lt_gram_create_circuit(dev, &a->opt, &a->similarity, c, W->v, W->columns, &g));
    if (!g) return info;
    LT_CHECK_OK(lt_gram_fill(g, x, y, K));
    info = lt_gram_get_info(g);
    lt_gram_destroy(g);
    return info;
}

/* ---- stored vectors ---- */

LT_TEST(every_stored_map_has_its_kernel)
{
    HOST_GPU_OR_SKIP();
    FILE *f = vectors_open("maps.txt");
    map_case c;
    int n = 0, closed = 0;
    double worst = 0;
    lt_device *dev = host_gpu_open(99 << 10);
    asked a = usual();
    for (; map_read(f, &c); n++) {
        lt_circuit *circuit = circuit_of(c.map, c.X.columns);
        int64_t rows = c.X.rows;
        double *K = malloc((size_t)(rows * rows) * sizeof *K), off = 0;
        lt_gram_info info = fill(dev, &a, circuit, &c.W, &(lt_rows){ c.X.v, LT_F64, rows, c.X.columns, 0 }, NULL, K);
        closed += info.method == LT_GRAM_PRODUCT;
        for (int64_t i = 0; i < rows * rows; i++) off = fmax(off, fabs(K[i] - c.K.v[i]));
        if (!(off < 1e-12)) LT_TEST_FAIL("%s with %lld features: off by %g", c.map, (long long)c.X.columns, off);
        worst = fmax(worst, off);
        free(K);
        lt_circuit_destroy(circuit);
        map_free(&c);
    }
    fclose(f);
    host_gpu_close(dev);
    LT_CHECK_EQ_INT(n, 131);
    LT_CHECK(closed > 10 && closed < 100); /* both ways were gone */
    printf("%d maps (%d as products over wires), worst error %.2g\n", n, closed, worst);
}

/* ---- random circuits ---- */

enum { N_FEATURES = 3, N_WEIGHTS = 4, N_ROWS = 7, MOST_WIRES = 13 };

static void distinct_wires(lt_rng *r, int q, int n, int *wires)
{
    for (int i = 0; i < n; i++) {
        bool again;
        do {
            wires[i] = (int)lt_rng_below(r, (uint64_t)q);
            again = false;
            for (int j = 0; j < i; j++) again |= wires[j] == wires[i];
        } while (again);
    }
}

/* A reflection. */
static void random_unitary(lt_rng *r, int n, double *m)
{
    double v[32], length = 0;
    for (int i = 0; i < 2 * n; i++) v[i] = lt_rng_normal(r), length += v[i] * v[i];
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            m[2 * (i * n + j)] = (i == j) - 2 * (v[2 * i] * v[2 * j] + v[2 * i + 1] * v[2 * j + 1]) / length;
            m[2 * (i * n + j) + 1] = -2 * (v[2 * i + 1] * v[2 * j] - v[2 * i] * v[2 * j + 1]) / length;
        }
}

static void add_random_gate(lt_rng *r, int q, lt_circuit *c)
{
    static const struct { const char *name; int n_wires, n_angles; } all[] = {
        { "X", 1, 0 }, { "H", 1, 0 }, { "S", 1, 0 }, { "SX", 1, 0 }, { "RX", 1, 1 }, { "RY", 1, 1 }, { "RZ", 1, 1 }, { "P", 1, 1 }, { "U3", 1, 3 }, { "CX", 2, 0 }, { "CX", 2, 0 },
        { "CH", 2, 0 }, { "SWAP", 2, 0 }, { "iSWAP", 2, 0 }, { "CRX", 2, 1 }, { "CRZ", 2, 1 }, { "CP", 2, 1 }, { "RXX", 2, 1 }, { "RZZ", 2, 1 }, { "CCX", 3, 0 },
    };
    char text[3][64];
    const char *angles[3] = { text[0], text[1], text[2] };
    int wires[4];
    for (int i = 0; i < 3; i++)
        snprintf(text[i], sizeof text[i], "%.3f*x[%d] + sin(w[%d])*%.3f", 4 * lt_rng_uniform(r) - 2, (int)lt_rng_below(r, N_FEATURES), (int)lt_rng_below(r, N_WEIGHTS), lt_rng_uniform(r));
    uint64_t which = lt_rng_below(r, LT_LEN(all) + 3);
    if (which < LT_LEN(all)) {
        distinct_wires(r, q, all[which].n_wires, wires);
        LT_CHECK_OK(lt_circuit_gate(c, all[which].name, wires, all[which].n_wires, angles, all[which].n_angles));
        return;
    }
    int n = 1 + (int)lt_rng_below(r, (uint64_t)LT_MIN(4, q));
    distinct_wires(r, q, n, wires);
    if (which == LT_LEN(all)) {
        double m[2 * 256];
        random_unitary(r, 1 << n, m);
        LT_CHECK_OK(lt_circuit_unitary(c, m, wires, n));
    } else if (which == LT_LEN(all) + 1) LT_CHECK_OK(lt_circuit_gate(c, "MultiRZ", wires, n, angles, 1));
    else LT_CHECK_OK(lt_circuit_pauli(c, &"XYZZ"[4 - n], angles[0], wires, n));
}

static lt_circuit *random_circuit(lt_rng *r, int q, int n_gates)
{
    lt_circuit *c = NULL;
    LT_CHECK_OK(lt_circuit_create(q, N_FEATURES, N_WEIGHTS, &c));
    for (int i = 0; i < n_gates; i++) add_random_gate(r, q, c);
    return c;
}

static double x[N_ROWS * N_FEATURES], y[N_ROWS * N_FEATURES], weights[N_WEIGHTS];

static void draw(lt_rng *r)
{
    for (size_t i = 0; i < LT_LEN(x); i++) x[i] = lt_rng_normal(r), y[i] = lt_rng_normal(r);
    for (size_t i = 0; i < LT_LEN(weights); i++) weights[i] = lt_rng_normal(r);
}

/* The largest difference from the CPU, for a kernel of x with itself or with y. */
static double differs(lt_device *dev, const asked *a, const lt_circuit *c, bool cross)
{
    double near[N_ROWS * N_ROWS], far[N_ROWS * N_ROWS], worst = 0;
    const matrix W = { .rows = 1, .columns = N_WEIGHTS, .v = weights };
    const lt_rows X = { x, LT_F64, N_ROWS, N_FEATURES, 0 }, Y = { y, LT_F64, N_ROWS - 2, N_FEATURES, 0 };
    const int64_t n = N_ROWS * (cross ? Y.n : X.n);
    fill(NULL, a, c, &W, &X, cross ? &Y : NULL, near);
    fill(dev, a, c, &W, &X, cross ? &Y : NULL, far);
    for (int64_t i = 0; i < n; i++) worst = fmax(worst, fabs(near[i] - far[i]));
    return worst;
}

/* Chunks of 2^8 amplitudes: several small states, one, and parts of larger ones, whose gates take several sweeps. */
LT_TEST(random_circuits_agree_whatever_lies_in_a_chunk)
{
    HOST_GPU_OR_SKIP();
    lt_rng r = lt_rng_seed(23);
    double worst = 0;
    lt_device *dev = host_gpu_open(24 << 8);
    for (int i = 0; i < 36; i++) {
        static const int wires[] = { 4, 6, 8, 9, 10, 12 };
        const int q = wires[i % 6];
        draw(&r);
        host_backwards = i / 6 % 2;
        lt_circuit *c = random_circuit(&r, q, i < 18 ? 40 : 120);
        asked a = usual();
        a.similarity.kind = i % 5 == 1 ? LT_SIMILARITY_REAL : LT_SIMILARITY_FIDELITY;
        a.opt.normalize = i % 7 == 2;
        double off = differs(dev, &a, c, i % 3 == 1);
        if (!(off < 1e-12)) LT_TEST_FAIL("circuit %d of %d wires: off by %g", i, q, off);
        worst = fmax(worst, off);
        lt_circuit_destroy(c);
    }
    host_backwards = false;
    host_gpu_close(dev);
    printf("worst %.2g\n", worst);
}

/* ---- kernels beside exact fidelities, precisions, states ---- */

LT_TEST(other_kernels_and_precisions_agree)
{
    HOST_GPU_OR_SKIP();
    lt_rng r = lt_rng_seed(24);
    lt_device *dev = host_gpu_open(24 << 8);
    for (int i = 0; i < 10; i++) {
        const int q = i % 2 ? 9 : 5;
        asked a = usual();
        draw(&r);
        lt_circuit *c = random_circuit(&r, q, 60);
        a.similarity.kind = i % 5 == 0 ? LT_SIMILARITY_PROJECTED : i % 5 == 1 ? LT_SIMILARITY_REAL : LT_SIMILARITY_FIDELITY;
        a.similarity.shots = i % 5 == 2 ? 1000 : 0;
        a.similarity.depolarizing = i % 5 == 3 ? 0.25 : 0;
        a.opt.normalize = i % 5 == 2 || i % 5 == 3;
        a.opt.dtype = i % 5 == 4 ? LT_GRAM_FLOAT32 : LT_GRAM_FLOAT64;
        double bound = a.opt.dtype == LT_GRAM_FLOAT32 ? lt_gram_float_bound(LT_GRAM_FLOAT32) : a.similarity.shots ? 1.001e-3 : 1e-12; /* a draw may fall on the other side of rounding */
        for (int cross = 0; cross < 2; cross++) {
            double off = differs(dev, &a, c, cross);
            if (!(off < bound)) LT_TEST_FAIL("kernel %d of %d wires, cross %d: off by %g", i, q, cross, off);
        }
        lt_circuit_destroy(c);
    }
    host_gpu_close(dev);
}

LT_TEST(states_come_with_what_cancels_in_kernels)
{
    HOST_GPU_OR_SKIP();
    lt_rng r = lt_rng_seed(25);
    lt_device *dev = host_gpu_open(24 << 8);
    for (int i = 0; i < 6; i++) {
        const int q = i % 2 ? 9 : 3;
        asked a = usual();
        lt_gram *g = NULL;
        const int64_t n = N_ROWS * (INT64_C(2) << q);
        double *near = malloc((size_t)n * sizeof *near), *far = malloc((size_t)n * sizeof *far), off = 0;
        draw(&r);
        lt_circuit *c = random_circuit(&r, q, 50);
        const lt_rows X = { x, LT_F64, N_ROWS, N_FEATURES, 0 };
        LT_CHECK_OK(lt_circuit_states(c, weights, N_WEIGHTS, &X, LT_GRAM_FLOAT64, near));
        LT_CHECK_OK(lt_gram_create_circuit(dev, &a.opt, &a.similarity, c, weights, N_WEIGHTS, &g));
        LT_CHECK_OK(lt_gram_states(g, &X, far));
        for (int64_t k = 0; k < n; k++) off = fmax(off, fabs(near[k] - far[k]));
        if (!(off < 1e-13)) LT_TEST_FAIL("circuit %d of %d wires: amplitudes are off by %g", i, q, off);
        lt_gram_destroy(g);
        lt_circuit_destroy(c);
        free(near);
        free(far);
    }
    host_gpu_close(dev);
}

/* ---- weights that change, derivatives ---- */

static double gradients_differ(lt_device *dev, const lt_circuit *c, const double *loss, bool real_part)
{
    const lt_rows X = { x, LT_F64, N_ROWS, N_FEATURES, 0 };
    double dw[2][N_WEIGHTS], dx[2][N_ROWS * N_FEATURES], size = 1, off = 0;
    for (int i = 0; i < 2; i++) {
        asked a = usual();
        lt_gram *g = NULL;
        a.similarity.kind = real_part ? LT_SIMILARITY_REAL : LT_SIMILARITY_FIDELITY;
        LT_CHECK_OK(lt_gram_create_circuit(i ? dev : NULL, &a.opt, &a.similarity, c, weights, N_WEIGHTS, &g));
        LT_CHECK_OK(lt_gram_gradient(g, &X, loss, dw[i], dx[i]));
        lt_gram_destroy(g);
    }
    for (int k = 0; k < N_WEIGHTS; k++) size = fmax(size, fabs(dw[0][k])), off = fmax(off, fabs(dw[0][k] - dw[1][k]));
    for (size_t k = 0; k < LT_LEN(dx[0]); k++) off = fmax(off, fabs(dx[0][k] - dx[1][k]));
    return off / size;
}

LT_TEST(derivatives_agree_whatever_lies_in_a_chunk)
{
    HOST_GPU_OR_SKIP();
    lt_rng r = lt_rng_seed(26);
    double loss[N_ROWS * N_ROWS], worst = 0;
    lt_device *dev = host_gpu_open(40 << 8);
    for (int i = 0; i < 14; i++) {
        static const int wires[] = { 3, 4, 5, 7, 8, 9, 11 };
        const int q = wires[i % 7];
        draw(&r);
        host_backwards = i / 7 % 2;
        for (size_t k = 0; k < LT_LEN(loss); k++) loss[k] = lt_rng_normal(&r);
        lt_circuit *c = random_circuit(&r, q, i < 7 ? 30 : 90);
        double off = gradients_differ(dev, c, loss, i % 3 == 1);
        if (!(off < 1e-11)) LT_TEST_FAIL("circuit %d of %d wires: derivatives are off by %g", i, q, off);
        worst = fmax(worst, off);
        lt_circuit_destroy(c);
    }
    host_backwards = false;
    host_gpu_close(dev);
    printf("worst %.2g\n", worst);
}

LT_TEST(a_handle_takes_other_weights)
{
    HOST_GPU_OR_SKIP();
    lt_rng r = lt_rng_seed(27);
    lt_device *dev = host_gpu_open(48 << 10);
    double near[N_ROWS * N_ROWS], far[N_ROWS * N_ROWS], off = 0;
    const lt_rows X = { x, LT_F64, N_ROWS, N_FEATURES, 0 };
    const matrix W = { .rows = 1, .columns = N_WEIGHTS, .v = weights };
    asked a = usual();
    lt_gram *g = NULL;
    draw(&r);
    lt_circuit *c = random_circuit(&r, 5, 60);
    LT_CHECK_OK(lt_gram_create_circuit(dev, &a.opt, &a.similarity, c, weights, N_WEIGHTS, &g));
    LT_CHECK_OK(lt_gram_fill(g, &X, NULL, far));
    for (int k = 0; k < N_WEIGHTS; k++) weights[k] += 0.5;
    LT_CHECK_OK(lt_gram_set_weights(g, weights, N_WEIGHTS));
    LT_CHECK_OK(lt_gram_fill(g, &X, NULL, far));
    fill(NULL, &a, c, &W, &X, NULL, near);
    for (int i = 0; i < N_ROWS * N_ROWS; i++) off = fmax(off, fabs(near[i] - far[i]));
    if (!(off < 1e-12)) LT_TEST_FAIL("off by %g", off);
    lt_gram_destroy(g);
    lt_circuit_destroy(c);
    host_gpu_close(dev);
}

LT_TEST_MAIN()
