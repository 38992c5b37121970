/* Jacobians in one sweep: every differentiable case against differences, random graphs against
   reverse passes one at a time, and the structure that must stay sparse.
   SPDX-License-Identifier: BSD-3-Clause */
#include "graph/build/build.h"
#include "graph/case.h"
#include "graph/random_graph.h"
#include "lt_test.h"
#include "tolerance.h"

static double *numbers(int64_t n) { return calloc((size_t)(n > 0 ? n : 1), sizeof(double)); }
static int64_t count_of(const lt_graph *g, lt_node n) { lt_shape s = lt_node_shape(g, n); return lt_shape_count(&s); }

/* ---- cases against differences ---- */

typedef struct trial {
    const op_case *c;
    lt_graph *g;
    lt_node   x[CASE_INPUTS], y;
    double   *value[CASE_INPUTS];
    int64_t   n[CASE_INPUTS], rows;
} trial;

static void trial_begin(trial *t, const op_case *c)
{
    lt_rng r = lt_rng_seed(strlen(c->name) * 17 + (uint64_t)c->in[0].dim[0]);
    *t = (trial){ .c = c };
    LT_CHECK_OK(lt_graph_create(&t->g));
    for (int i = 0; i < c->n_inputs; i++) {
        t->n[i] = lt_shape_count(&c->in[i]);
        t->value[i] = numbers(t->n[i]);
        t->x[i] = lt_input(t->g, "x", LT_F64, c->in[i]);
        for (int64_t k = 0; k < t->n[i]; k++) t->value[i][k] = c->lo + (c->hi - c->lo) * lt_rng_uniform(&r);
    }
    int64_t m = c->in[0].dim[1];
    for (int64_t i = 0; c->draw != DRAW_UNIFORM && i < m; i++) {
        for (int64_t j = 0; j < i && c->draw != DRAW_DOMINANT; j++) t->value[0][j * m + i] = t->value[0][i * m + j];
        if (c->draw != DRAW_SYMMETRIC) t->value[0][i * m + i] += 2 * (double)m;
    }
    t->y = c->build(t->g, t->x);
    t->rows = count_of(t->g, t->y);
}

static void trial_end(trial *t)
{
    for (int i = 0; i < t->c->n_inputs; i++) free(t->value[i]);
    lt_graph_destroy(t->g);
}

static void evaluate(trial *t, lt_program *p, double *y)
{
    LT_CHECK_OK(lt_program_run(p, (const void *const *)t->value, (void *[]){ y }));
}

/* Column k of the Jacobian by input i: all rows at once from two evaluations. */
static void compare_column(trial *t, lt_program *p, int i, int64_t k, const double *jacobian, double size)
{
    double *up = numbers(t->rows), *down = numbers(t->rows), at = t->value[i][k], h = LT_DIFFERENCE_STEP * fmax(1, fabs(at));
    t->value[i][k] = at + h;
    evaluate(t, p, up);
    t->value[i][k] = at - h;
    evaluate(t, p, down);
    t->value[i][k] = at;
    for (int64_t r = 0; r < t->rows; r++) {
        double want = (up[r] - down[r]) / (2 * h), got = jacobian[r * t->n[i] + k];
        if (fabs(got - want) <= LT_DIFFERENCE_TOLERANCE * size) continue;
        LT_TEST_FAIL("%s: d y[%lld] / d input %d [%lld] is %.12g, differences give %.12g", t->c->name, (long long)r, i, (long long)k, got, want);
        break;
    }
    free(up);
    free(down);
}

static void check_input(trial *t, lt_program *value, int i)
{
    lt_node j;
    lt_program *p = NULL;
    int64_t n = t->rows * t->n[i];
    lt_status s = lt_jacobian(t->g, &t->y, 1, t->x[i], &j);
    if (!s) s = lt_program_create(t->g, &j, 1, NULL, &p);
    double *jacobian = numbers(n), size = 1;
    if (!s) s = lt_program_run(p, (const void *const *)t->value, (void *[]){ jacobian });
    if (s) LT_TEST_FAIL("%s by input %d: %s", t->c->name, i, lt_error_text());
    for (int64_t k = 0; k < n; k++) size = fmax(size, fabs(jacobian[k]));
    int before = lt_test_failures;
    for (int64_t k = 0; !s && k < t->n[i] && lt_test_failures == before; k++) compare_column(t, value, i, k, jacobian, size);
    free(jacobian);
    lt_program_destroy(p);
}

static void walk(const op_case *table)
{
    for (const op_case *c = table; c->name; c++) {
        trial t;
        lt_program *value = NULL;
        if (!(c->flags & CASE_GRAD)) continue;
        trial_begin(&t, c);
        LT_CHECK_OK(lt_program_create(t.g, &t.y, 1, &(lt_compile_options){ .size = sizeof(lt_compile_options), .mode = LT_MODE_EAGER }, &value));
        for (int i = 0; value && i < c->n_inputs && !lt_graph_status(t.g); i++) check_input(&t, value, i);
        lt_program_destroy(value);
        trial_end(&t);
    }
}

LT_TEST(elementwise) { walk(cases_elementwise); }
LT_TEST(reductions) { walk(cases_reduce); }
LT_TEST(shapes) { walk(cases_shape); }
LT_TEST(linear_algebra) { walk(cases_linalg); }
LT_TEST(networks) { walk(cases_network); }

/* ---- random graphs against reverse passes ---- */

/* s' J must be the vector-Jacobian product with seed s, for every output and input together. */
static void check_random(uint64_t seed)
{
    maker m;
    lt_node y[2], jac[2], product[2], weight[2];
    maker_begin(&m, seed, LT_F64, true, 5 + (int)(seed % 25));
    y[0] = lt_sin(m.g, m.output[0].node);
    y[1] = lt_tanh(m.g, m.output[m.n_outputs - 1].node);
    lt_node x = m.input[0];
    if (count_of(m.g, y[0]) > 150 || count_of(m.g, y[1]) > 150) { maker_end(&m); return; }
    lt_status s = lt_jacobian(m.g, y, 2, x, jac);
    for (int i = 0; !s && i < 2; i++) {
        int64_t n = count_of(m.g, y[i]);
        double *w = numbers(n);
        for (int64_t k = 0; k < n; k++) w[k] = lt_rng_uniform(&m.rng);
        weight[i] = lt_constant(m.g, LT_F64, lt_node_shape(m.g, y[i]), w);
        s = lt_vjp(m.g, y[i], weight[i], &x, 1, &product[i]);
        free(w);
    }
    lt_node both[4];
    for (int i = 0; !s && i < 2; i++) {
        both[2 * i] = lt_matmul(m.g, lt_flatten(m.g, weight[i]), jac[i]);
        both[2 * i + 1] = lt_flatten(m.g, product[i]);
    }
    lt_program *p = NULL;
    if (!s) s = lt_program_create(m.g, both, 4, NULL, &p);
    double *out[4];
    for (int i = 0; i < 4; i++) out[i] = numbers(m.count[0]);
    if (!s) s = lt_program_run(p, (const void *const *)m.raw, (void *const *)out);
    if (s) LT_TEST_FAIL("seed %llu: %s", (unsigned long long)seed, lt_error_text());
    for (int i = 0; !s && i < 4; i += 2)
        for (int64_t k = 0; k < m.count[0]; k++) {
            double size = 1 + fabs(out[i + 1][k]);
            /* both are sums of the same products in another order; cancellation inside deep graphs costs the rest */
            if (fabs(out[i][k] - out[i + 1][k]) <= 1e-9 * size) continue;
            LT_TEST_FAIL("seed %llu: weighed rows give %.15g, the reverse pass %.15g (output %d, element %lld)", (unsigned long long)seed, out[i][k], out[i + 1][k], i / 2, (long long)k);
            break;
        }
    for (int i = 0; i < 4; i++) free(out[i]);
    lt_program_destroy(p);
    maker_end(&m);
}

LT_TEST(random_graphs_agree_with_reverse_passes)
{
    for (uint64_t seed = 20000; seed < 20250; seed++) check_random(seed);
}

/* ---- structure ---- */

/* Orthogonality, V'V - I: as many rows as V has elements squared over; far below one sweep a row. */
LT_TEST(orthogonality_constraints_share_their_work)
{
    lt_graph *g;
    LT_CHECK_OK(lt_graph_create(&g));
    int64_t n = 8;
    lt_node v = lt_input(g, "V", LT_F64, lt_shape2(n, n)), c = lt_sub(g, lt_matmul(g, lt_transpose(g, v), v), lt_eye(g, LT_F64, n)), j;
    int before = lt_graph_node_count(g);
    LT_CHECK_OK(lt_jacobian(g, &c, 1, v, &j));
    LT_CHECK(lt_graph_node_count(g) - before < 60); /* not n^2 sweeps of a dozen nodes each */
    lt_shape s = lt_node_shape(g, j);
    LT_CHECK(s.rank == 2 && s.dim[0] == n * n && s.dim[1] == n * n);
    double *x = numbers(n * n), *out = numbers(n * n * n * n);
    for (int64_t i = 0; i < n * n; i++) x[i] = sin((double)i);
    lt_program *p;
    LT_CHECK_OK(lt_program_create(g, &j, 1, NULL, &p));
    LT_CHECK_OK(lt_program_run(p, (const void *[]){ x }, (void *[]){ out }));
    for (int64_t e = 0; e < n * n * n * n; e++) { /* d (V'V)_ab / d V_kc = V_ka [b = c] + V_kb [a = c] */
        int64_t a = e / (n * n) / n, b = e / (n * n) % n, k = e % (n * n) / n, col = e % n;
        double want = (b == col ? x[k * n + a] : 0) + (a == col ? x[k * n + b] : 0);
        if (!lt_within(out[e], want, 2, 4, LT_F64)) { LT_TEST_FAIL("element %lld is %.17g, expected %.17g", (long long)e, out[e], want); break; }
    }
    lt_program_destroy(p);
    lt_graph_destroy(g);
    free(x);
    free(out);
}

/* Elementwise constraints have a diagonal: the sweep makes the same few nodes whatever their number. */
LT_TEST(elementwise_constraints_do_not_cost_a_sweep_each)
{
    int nodes[2];
    for (int k = 0; k < 2; k++) {
        lt_graph *g;
        LT_CHECK_OK(lt_graph_create(&g));
        lt_node x = lt_input(g, "x", LT_F64, lt_shape1(k ? 500 : 5)), y = lt_exp(g, lt_square(g, x)), j;
        int before = lt_graph_node_count(g);
        LT_CHECK_OK(lt_jacobian(g, &y, 1, x, &j));
        nodes[k] = lt_graph_node_count(g) - before;
        lt_graph_destroy(g);
    }
    LT_CHECK_EQ_INT(nodes[0], nodes[1]);
}

LT_TEST(outputs_that_do_not_depend_have_zero_rows)
{
    lt_graph *g;
    lt_program *p;
    double x[] = { 1, 2 }, z[] = { 3, 4, 5 }, zero[6] = { 9, 9, 9, 9, 9, 9 }, one[4];
    LT_CHECK_OK(lt_graph_create(&g));
    lt_node in = lt_input(g, "x", LT_F64, lt_shape1(2)), other = lt_input(g, "z", LT_F64, lt_shape1(3));
    lt_node y[] = { lt_square(g, other), in }, j[2];
    LT_CHECK_OK(lt_jacobian(g, y, 2, in, j));
    LT_CHECK_OK(lt_program_create(g, j, 2, NULL, &p));
    LT_CHECK_OK(lt_program_run(p, (const void *[]){ x, z }, (void *[]){ zero, one }));
    for (int i = 0; i < 6; i++) LT_CHECK(zero[i] == 0);
    LT_CHECK(one[0] == 1 && one[1] == 0 && one[2] == 0 && one[3] == 1);
    lt_program_destroy(p);
    lt_graph_destroy(g);
}

LT_TEST_MAIN()
