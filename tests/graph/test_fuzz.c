/* Random graphs: compiled must equal eager in every mode and without each pass, run after run;
   gradients must equal differences. SPDX-License-Identifier: BSD-3-Clause */
#include "base/dtype.h"
#include "base/pool.h"
#include "graph/random_graph.h"
#include "lt_test.h"
#include "tolerance.h"

#ifndef N_GRAPHS
#define N_GRAPHS 400
#endif

typedef struct results {
    void  *raw[MAKER_OUTPUTS + 1];
    int64_t n[MAKER_OUTPUTS + 1];
} results;

static size_t bytes_of(const maker *m, const results *r, int i) { return (size_t)r->n[i] * lt_dtype_size(lt_node_dtype(m->g, m->output[i].node)); }

static void results_make(const maker *m, results *r)
{
    for (int i = 0; i < m->n_outputs; i++) {
        lt_shape s = lt_node_shape(m->g, m->output[i].node);
        r->n[i] = lt_shape_count(&s);
        r->raw[i] = calloc((size_t)r->n[i] + 1, sizeof(double));
    }
}

static void results_free(const maker *m, results *r) { for (int i = 0; i < m->n_outputs; i++) free(r->raw[i]); }

static lt_status compile(const maker *m, const lt_compile_options *opt, lt_program **p)
{
    lt_node out[MAKER_OUTPUTS + 1];
    for (int i = 0; i < m->n_outputs; i++) out[i] = m->output[i].node;
    return lt_program_create(m->g, out, m->n_outputs, opt, p);
}

/* Runs twice, the second time over the first's results: bits must repeat. */
static bool evaluate(const maker *m, uint64_t seed, const lt_compile_options *opt, results *r)
{
    lt_program *p;
    lt_status s = compile(m, opt, &p);
    if (!s) s = lt_program_run(p, (const void *const *)m->raw, r->raw);
    if (s) LT_TEST_FAIL("seed %llu, %s, skip 0x%x: %s", (unsigned long long)seed, lt_mode_name(opt->mode), opt->skip_passes, lt_error_text());
    results again;
    results_make(m, &again);
    if (!s) s = lt_program_run(p, (const void *const *)m->raw, again.raw);
    for (int i = 0; !s && i < m->n_outputs; i++)
        if (memcmp(r->raw[i], again.raw[i], bytes_of(m, r, i)))
            LT_TEST_FAIL("seed %llu, %s: output %d has other bits in the second run", (unsigned long long)seed, lt_mode_name(opt->mode), i);
    results_free(m, &again);
    lt_program_destroy(p);
    return !s;
}

static void compare(const maker *m, uint64_t seed, const lt_compile_options *opt, const results *want, const results *got)
{
    for (int i = 0; i < m->n_outputs; i++) {
        lt_dtype t = lt_node_dtype(m->g, m->output[i].node);
        for (int64_t k = 0; k < want->n[i]; k++) {
            double a = lt_load_double(t, want->raw[i], k), b = lt_load_double(t, got->raw[i], k);
            if (fabs(a - b) <= m->output[i].error || a == b) continue;
            LT_TEST_FAIL("seed %llu %s, %s, skip 0x%x: output %d element %lld is %.17g, eager %.17g, bound %.3g", (unsigned long long)seed,
                         lt_dtype_name(m->type), lt_mode_name(opt->mode), opt->skip_passes, i, (long long)k, b, a, m->output[i].error);
            return;
        }
    }
}

static void check_graph(uint64_t seed, lt_dtype type, int n_nodes)
{
    maker m;
    results eager, other;
    maker_begin(&m, seed, type, false, n_nodes);
    if (lt_graph_status(m.g)) LT_TEST_FAIL("seed %llu: %s", (unsigned long long)seed, lt_error_text());
    results_make(&m, &eager);
    results_make(&m, &other);
    if (!lt_graph_status(m.g) && evaluate(&m, seed, &(lt_compile_options){ .size = sizeof(lt_compile_options), .mode = LT_MODE_EAGER }, &eager)) {
        static const lt_mode modes[] = { LT_MODE_DEFAULT, LT_MODE_REDUCE_OVERHEAD };
        for (int k = 0; k < 2 + LT_PASS_COUNT; k++) {
            lt_compile_options opt = { .size = sizeof opt, .mode = k < 2 ? modes[k] : LT_MODE_DEFAULT, .skip_passes = k < 2 ? 0 : 1u << (k - 2) };
            if (evaluate(&m, seed, &opt, &other)) compare(&m, seed, &opt, &eager, &other);
        }
    }
    results_free(&m, &eager);
    results_free(&m, &other);
    maker_end(&m);
}

LT_TEST(compiled_equals_eager)
{
    for (uint64_t seed = 1; seed <= N_GRAPHS; seed++) check_graph(seed, seed % 2 ? LT_F64 : LT_F32, 5 + (int)(seed * 7 % 56));
}

LT_TEST(compiled_equals_eager_with_two_threads)
{
    LT_CHECK_OK(lt_pool_shared_resize(2));
    for (uint64_t seed = 1000; seed < 1000 + N_GRAPHS / 5; seed++) check_graph(seed, seed % 2 ? LT_F64 : LT_F32, 40);
    LT_CHECK_OK(lt_pool_shared_resize(1));
}

/* ---- gradients ---- */

/* One number from all outputs. */
static lt_node total(maker *m)
{
    lt_node f = lt_scalar(m->g, LT_F64, 0);
    for (int i = 0; i < m->n_outputs; i++) f = lt_add(m->g, f, lt_mean(m->g, lt_sin(m->g, m->output[i].node)));
    return f;
}

static double along(maker *m, lt_program *value, double *const *direction, double h)
{
    double f = NAN, *at[MAKER_INPUTS];
    for (int i = 0; i < m->n_inputs; i++) {
        at[i] = malloc((size_t)(m->count[i] + 1) * sizeof(double));
        for (int64_t k = 0; k < m->count[i]; k++) at[i][k] = m->data[i][k] + h * direction[i][k];
    }
    LT_CHECK_OK(lt_program_run(value, (const void *const *)at, (void *[]){ &f }));
    for (int i = 0; i < m->n_inputs; i++) free(at[i]);
    return f;
}

/* Central differences with two steps, extrapolated: the error left is of fourth order. */
static double directional(maker *m, lt_program *value, double *const *direction)
{
    const double h = 1e-4;
    double coarse = (along(m, value, direction, h) - along(m, value, direction, -h)) / (2 * h);
    double fine = (along(m, value, direction, h / 2) - along(m, value, direction, -h / 2)) / h;
    return (4 * fine - coarse) / 3;
}

/* The tolerance is that of tolerance.h, with a factor of 100 for derivatives that chains of up to
   25 ops amplify; a wrong rule is off by far more. Near a kink differences mean nothing: when two
   step sizes disagree, the graph is left out, which may happen to a few only. */
static bool check_gradient(uint64_t seed)
{
    maker m;
    double *direction[MAKER_INPUTS], *gradient[MAKER_INPUTS], slope = 0;
    lt_node d[MAKER_INPUTS];
    lt_program *value = NULL, *derivative = NULL;
    maker_begin(&m, seed, LT_F64, true, 5 + (int)(seed % 20));
    lt_node f = total(&m);
    lt_status s = lt_grad(m.g, f, m.input, m.n_inputs, d);
    if (!s) s = lt_program_create(m.g, &f, 1, &(lt_compile_options){ .size = sizeof(lt_compile_options), .mode = LT_MODE_EAGER }, &value);
    if (!s) s = lt_program_create(m.g, d, m.n_inputs, NULL, &derivative);
    for (int i = 0; i < m.n_inputs; i++) {
        direction[i] = malloc((size_t)(m.count[i] + 1) * sizeof(double));
        gradient[i] = calloc((size_t)m.count[i] + 1, sizeof(double));
        for (int64_t k = 0; k < m.count[i]; k++) direction[i][k] = 2 * lt_rng_uniform(&m.rng) - 1;
    }
    if (!s) s = lt_program_run(derivative, (const void *const *)m.raw, (void *const *)gradient);
    if (s) LT_TEST_FAIL("seed %llu: %s", (unsigned long long)seed, lt_error_text());
    double size = 1;
    for (int i = 0; !s && i < m.n_inputs; i++)
        for (int64_t k = 0; k < m.count[i]; k++) { slope += gradient[i][k] * direction[i][k]; size += fabs(gradient[i][k]); }
    bool smooth = false;
    if (!s) {
        double want = directional(&m, value, direction), h = 1e-5;
        double check = (along(&m, value, direction, h) - along(&m, value, direction, -h)) / (2 * h);
        smooth = fabs(want - check) <= 30 * LT_DIFFERENCE_TOLERANCE * size;
        if (smooth && fabs(slope - want) > 100 * LT_DIFFERENCE_TOLERANCE * size)
            LT_TEST_FAIL("seed %llu: slope %.12g, differences give %.12g (size %.3g)", (unsigned long long)seed, slope, want, size);
    }
    for (int i = 0; i < m.n_inputs; i++) { free(direction[i]); free(gradient[i]); }
    lt_program_destroy(value);
    lt_program_destroy(derivative);
    maker_end(&m);
    return smooth;
}

LT_TEST(gradients_equal_differences)
{
    int used = 0;
    for (uint64_t seed = 5000; seed < 5000 + N_GRAPHS; seed++) used += check_gradient(seed);
    if (used < N_GRAPHS * 8 / 10) LT_TEST_FAIL("only %d of %d graphs were smooth enough to compare", used, N_GRAPHS);
}

LT_TEST_MAIN()
