/* Circuits: gates, angles and named maps against stored vectors and a dense simulator written apart. SPDX-License-Identifier: BSD-3-Clause */
#include "lt_test.h"
#include "dense.h"
#include "map_file.h"

#include "kernels/fused.h"
#include "lathe/circuit.h"
#include "lathe/rng.h"

/* ---- stored vectors ---- */

static lt_circuit *circuit_of(const char *map, int64_t n_features)
{
    lt_map_options opt = lt_map_defaults();
    lt_circuit *c = NULL;
    opt.n_features = n_features;
    LT_CHECK_OK(lt_circuit_from_map(map, &opt, &c));
    return c;
}

/* |<a|b>| of two states of length 1: 1 where they differ by a phase. */
static double fidelity(const double *a, const double *re, const double *im, int64_t n)
{
    double r = 0, i = 0;
    for (int64_t k = 0; k < n; k++) {
        r += a[2 * k] * re[k] + a[2 * k + 1] * im[k];
        i += a[2 * k] * im[k] - a[2 * k + 1] * re[k];
    }
    return hypot(r, i);
}

static double worst_state;

static void check_states(const map_case *c, const lt_circuit *circuit)
{
    int64_t n = c->X.rows, D = (int64_t)1 << lt_circuit_describe(circuit).n_qubits;
    double *S = malloc((size_t)(n * D) * 2 * sizeof *S);
    LT_CHECK_OK(lt_circuit_states(circuit, c->W.v, c->W.columns, &(lt_rows){ c->X.v, LT_F64, n, c->X.columns, 0 }, LT_GRAM_FLOAT64, S));
    for (int64_t i = 0; i < n; i++) {
        double off = 0;
        if (c->re.v) off = fabs(1 - fidelity(S + 2 * i * D, c->re.v + i * D, c->im.v + i * D, D));
        for (int64_t j = 0; j < n; j++) {
            double re = 0, im = 0;
            for (int64_t k = 0; k < D; k++) {
                const double *a = S + 2 * (i * D + k), *b = S + 2 * (j * D + k);
                re += a[0] * b[0] + a[1] * b[1];
                im += a[0] * b[1] - a[1] * b[0];
            }
            off = fmax(off, fabs(re * re + im * im - c->K.v[i * n + j]));
        }
        worst_state = fmax(worst_state, off);
        if (!(off < 1e-12)) LT_TEST_FAIL("%s with %lld features: row %lld is off by %g", c->map, (long long)c->X.columns, (long long)i, off);
    }
    free(S);
}

LT_TEST(every_stored_map_has_its_states)
{
    FILE *f = vectors_open("maps.txt");
    map_case c;
    int n = 0;
    for (; map_read(f, &c); n++) {
        lt_circuit *circuit = circuit_of(c.map, c.X.columns);
        if (circuit) check_states(&c, circuit);
        lt_circuit_destroy(circuit);
        map_free(&c);
    }
    fclose(f);
    LT_CHECK_EQ_INT(n, 131);
    printf("%d maps, worst error %.2g\n", n, worst_state);
}

/* ---- random circuits against dense matrices ---- */

enum { N_FEATURES = 3, N_WEIGHTS = 4, N_ROWS = 5 };

/* A text and its value: the same expression written twice. */
static void random_angle(lt_rng *r, const double *x, const double *w, char *text, size_t bytes, double *value)
{
    int i = (int)lt_rng_below(r, N_FEATURES), j = (int)lt_rng_below(r, N_WEIGHTS);
    double a = 4 * lt_rng_uniform(r) - 2;
    switch (lt_rng_below(r, 8)) {
    case 0: snprintf(text, bytes, "%.17g", a); *value = a; break;
    case 1: snprintf(text, bytes, "w[%d]", j); *value = w[j]; break;
    case 2: snprintf(text, bytes, "2*(pi - x[%d])*(pi - w[%d])", i, j); *value = 2 * (M_PI - x[i]) * (M_PI - w[j]); break;
    case 3: snprintf(text, bytes, "-x[%d]^2 + pi/4", i); *value = -x[i] * x[i] + M_PI / 4; break;
    case 4: snprintf(text, bytes, "arctan(x[%d]) / (1 + exp(-w[%d]))", i, j); *value = atan(x[i]) / (1 + exp(-w[j])); break;
    case 5: snprintf(text, bytes, "sin(x[%d])*cos(w[%d]) - sqrt(2)^3", i, j); *value = sin(x[i]) * cos(w[j]) - pow(sqrt(2), 3); break;
    default: snprintf(text, bytes, "%.17g*x[%d]", a, i); *value = a * x[i];
    }
}

typedef struct random_gate { char name[12], angle[3][96]; int wires[6], n_wires, n_angles; dense m[4096]; } random_gate;

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

static const struct { const char *name; int n_wires, n_angles; } all_gates[] = {
    { "I", 1, 0 }, { "X", 1, 0 }, { "Y", 1, 0 }, { "Z", 1, 0 }, { "H", 1, 0 }, { "S", 1, 0 }, { "Sdg", 1, 0 }, { "T", 1, 0 }, { "Tdg", 1, 0 }, { "SX", 1, 0 },
    { "RX", 1, 1 }, { "RY", 1, 1 }, { "RZ", 1, 1 }, { "P", 1, 1 }, { "U3", 1, 3 }, { "CX", 2, 0 }, { "CY", 2, 0 }, { "CZ", 2, 0 }, { "CH", 2, 0 }, { "SWAP", 2, 0 },
    { "iSWAP", 2, 0 }, { "CRX", 2, 1 }, { "CRY", 2, 1 }, { "CRZ", 2, 1 }, { "CP", 2, 1 }, { "RXX", 2, 1 }, { "RYY", 2, 1 }, { "RZZ", 2, 1 }, { "CCX", 3, 0 }, { "CSWAP", 3, 0 },
};

/* A unitary matrix: rows of random numbers, made orthogonal one after the other. */
static void random_unitary(lt_rng *r, int n, dense *m)
{
    for (int i = 0; i < n; i++) {
        double length = 0;
        for (int k = 0; k < n; k++) m[i * n + k] = lt_rng_normal(r) + DENSE_I * lt_rng_normal(r);
        for (int pass = 0; pass < 2; pass++)
            for (int j = 0; j < i; j++) {
                dense dot = 0;
                for (int k = 0; k < n; k++) dot += conj(m[j * n + k]) * m[i * n + k];
                for (int k = 0; k < n; k++) m[i * n + k] -= dot * m[j * n + k];
            }
        for (int k = 0; k < n; k++) length += creal(m[i * n + k] * conj(m[i * n + k]));
        for (int k = 0; k < n; k++) m[i * n + k] /= sqrt(length);
    }
}

/* The same gate for the circuit and for each of the dense states. */
static void add_random_gate(lt_rng *r, int q, lt_circuit *c, double (*x)[N_FEATURES], const double *w, dense *states)
{
    int64_t D = (int64_t)1 << q;
    lt_rng again = *r;
    for (int row = 0; row < N_ROWS; row++) {
        static random_gate g;
        const char *angles[3] = { g.angle[0], g.angle[1], g.angle[2] };
        double value[3] = { 0 };
        dense P[1024];
        *r = again;
        uint64_t which = lt_rng_below(r, 34);
        if (which < 30) {
            do which = lt_rng_below(r, 30);
            while (all_gates[which].n_wires > q);
            g.n_wires = all_gates[which].n_wires;
            distinct_wires(r, q, g.n_wires, g.wires);
            for (int a = 0; a < all_gates[which].n_angles; a++) random_angle(r, x[row], w, g.angle[a], sizeof g.angle[a], &value[a]);
            LT_CHECK_EQ_INT(dense_gate(all_gates[which].name, value, g.m), g.n_wires);
            if (row == 0) LT_CHECK_OK(lt_circuit_gate(c, all_gates[which].name, g.wires, g.n_wires, angles, all_gates[which].n_angles));
        } else {
            g.n_wires = 1 + (int)lt_rng_below(r, (uint64_t)(q < 4 ? q : 4));
            int d = 1 << g.n_wires;
            distinct_wires(r, q, g.n_wires, g.wires);
            random_angle(r, x[row], w, g.angle[0], sizeof g.angle[0], &value[0]);
            char word[8] = "ZZZZ";
            word[g.n_wires] = 0;
            if (which == 33) {
                random_unitary(r, d, g.m);
                if (row == 0) LT_CHECK_OK(lt_circuit_unitary(c, (double *)g.m, g.wires, g.n_wires));
            } else {
                for (int i = 0; which != 30 && i < g.n_wires; i++) word[i] = "IXYZ"[lt_rng_below(r, 4)];
                dense_word(P, word);
                dense_rotation(g.m, P, d, value[0]);
                if (row == 0 && which == 30) LT_CHECK_OK(lt_circuit_gate(c, "MultiRZ", g.wires, g.n_wires, angles, 1));
                if (row == 0 && which != 30) LT_CHECK_OK(lt_circuit_pauli(c, word, angles[0], g.wires, g.n_wires));
            }
        }
        dense_apply(states + row * D, q, g.m, g.wires, g.n_wires);
    }
}

/* States with their phases. */
static double states_differ(const lt_circuit *c, int q, double (*x)[N_FEATURES], const double *w, const dense *want, lt_gram_float type)
{
    int64_t n = N_ROWS * ((int64_t)1 << q);
    void *S = malloc((size_t)n * sizeof(dense));
    double worst = 0;
    LT_CHECK_OK(lt_circuit_states(c, w, N_WEIGHTS, &(lt_rows){ x, LT_F64, N_ROWS, N_FEATURES, 0 }, type, S));
    for (int64_t i = 0; i < n; i++) {
        dense got = type == LT_GRAM_FLOAT64 ? ((dense *)S)[i] : (dense)((float _Complex *)S)[i];
        worst = fmax(worst, cabs(got - want[i]));
    }
    free(S);
    return worst;
}

static void each_isa(void (*run)(const char *isa))
{
    for (int isa = 0; isa < LT_ISA_COUNT; isa++) {
        if (!lt_isa_usable(isa)) continue;
        setenv("LATHE_ISA", lt_isa_name(isa), 1);
        run(lt_isa_name(isa));
    }
    unsetenv("LATHE_ISA");
}

static void check_random_circuits(const char *isa)
{
    double worst[2] = { 0 };
    for (int seed = 0; seed < 200; seed++) {
        lt_rng r = lt_rng_seed((uint64_t)seed);
        int q = 1 + seed % 8, n_gates = 1 + (int)lt_rng_below(&r, 60);
        double x[N_ROWS][N_FEATURES], w[N_WEIGHTS];
        for (int i = 0; i < N_ROWS * N_FEATURES; i++) x[i / N_FEATURES][i % N_FEATURES] = 4 * lt_rng_uniform(&r) - 2;
        for (int i = 0; i < N_WEIGHTS; i++) w[i] = 4 * lt_rng_uniform(&r) - 2;
        int64_t D = (int64_t)1 << q;
        dense *states = calloc((size_t)(N_ROWS * D), sizeof *states);
        for (int i = 0; i < N_ROWS; i++) states[i * D] = 1;
        lt_circuit *c;
        LT_CHECK_OK(lt_circuit_create(q, N_FEATURES, N_WEIGHTS, &c));
        for (int g = 0; g < n_gates; g++) add_random_gate(&r, q, c, x, w, states);
        for (int type = 0; type < 2; type++) {
            double off = states_differ(c, q, x, w, states, (lt_gram_float)type);
            worst[type] = fmax(worst[type], off);
            if (!(off < (type ? 1e-5 : 1e-13))) LT_TEST_FAIL("%s: circuit %d of %d gates on %d wires is off by %g", isa, seed, n_gates, q, off);
        }
        lt_circuit_destroy(c);
        free(states);
    }
    printf("%s: worst amplitude off by %.2g (f64), %.2g (f32)\n", isa, worst[0], worst[1]);
}

LT_TEST(random_circuits_agree_with_dense_matrices) { each_isa(check_random_circuits); }

LT_TEST_MAIN()
