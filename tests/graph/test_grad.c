/* Derivatives: every differentiable case of the tables against central differences in f64, twice
   differentiable ones twice; then the conventions at kinks, one by one.
   SPDX-License-Identifier: BSD-3-Clause */
#include "graph/case.h"
#include "lathe/rng.h"
#include "lt_test.h"
#include "tolerance.h"

/* ---- against differences ---- */

typedef struct trial {
    const op_case *c;
    lt_graph *g;
    lt_node   x[CASE_INPUTS], df[CASE_INPUTS], f;
    double   *value[CASE_INPUTS];
    int64_t   n[CASE_INPUTS];
} trial;

static void draw(trial *t, lt_rng *r)
{
    for (int i = 0; i < t->c->n_inputs; i++)
        for (int64_t k = 0; k < t->n[i]; k++) t->value[i][k] = t->c->lo + (t->c->hi - t->c->lo) * lt_rng_uniform(r);
    int64_t m = t->c->in[0].dim[1];
    for (int64_t i = 0; t->c->draw != DRAW_UNIFORM && i < m; i++) {
        for (int64_t j = 0; j < i && t->c->draw != DRAW_DOMINANT; j++) t->value[0][j * m + i] = t->value[0][i * m + j];
        if (t->c->draw != DRAW_SYMMETRIC) t->value[0][i * m + i] += 2 * (double)m;
    }
}

/* sum of y times fixed random weights: one number that sees every element. */
static lt_node weighed(lt_graph *g, lt_node y, uint64_t seed)
{
    lt_rng r = lt_rng_seed(seed);
    lt_shape s = lt_node_shape(g, y);
    int64_t n = lt_shape_count(&s);
    double *w = malloc((size_t)(n + 1) * sizeof *w);
    for (int64_t i = 0; i < n; i++) w[i] = 0.5 + lt_rng_uniform(&r);
    lt_node f = lt_sum(g, lt_mul(g, y, lt_constant(g, LT_F64, s, w)));
    free(w);
    return f;
}

/* The sum of the weighed gradients by all inputs. */
static lt_node slope_of(trial *t, lt_node f, lt_node *d)
{
    lt_node total = LT_NONE;
    LT_CHECK_OK(lt_grad(t->g, f, t->x, t->c->n_inputs, d));
    for (int i = 0; i < t->c->n_inputs; i++) {
        lt_node part = weighed(t->g, d[i], 77 + (uint64_t)i);
        total = i ? lt_add(t->g, total, part) : part;
    }
    return total;
}

static bool trial_begin(trial *t, const op_case *c, int order)
{
    *t = (trial){ .c = c };
    LT_CHECK_OK(lt_graph_create(&t->g));
    lt_rng r = lt_rng_seed(strlen(c->name) * 31 + (uint64_t)c->in[0].dim[0]);
    for (int i = 0; i < c->n_inputs; i++) {
        t->n[i] = lt_shape_count(&c->in[i]);
        t->value[i] = malloc((size_t)(t->n[i] + 1) * sizeof(double));
        t->x[i] = lt_input(t->g, "x", LT_F64, c->in[i]);
    }
    draw(t, &r);
    t->f = weighed(t->g, c->build(t->g, t->x), 5);
    if (order == 2) t->f = slope_of(t, t->f, t->df);
    lt_status s = lt_grad(t->g, t->f, t->x, c->n_inputs, t->df);
    if (s) LT_TEST_FAIL("%s, derivative %d: %s", c->name, order, lt_error_text());
    return !s;
}

static void trial_end(trial *t)
{
    for (int i = 0; i < t->c->n_inputs; i++) free(t->value[i]);
    lt_graph_destroy(t->g);
}

static double value_at(trial *t, lt_program *p)
{
    double f = NAN;
    LT_CHECK_OK(lt_program_run(p, (const void *const *)t->value, (void *[]){ &f }));
    return f;
}

static double difference(trial *t, lt_program *p, double *x)
{
    double at = *x, h = LT_DIFFERENCE_STEP * fmax(1, fabs(at)), up, down;
    *x = at + h;
    up = value_at(t, p);
    *x = at - h;
    down = value_at(t, p);
    *x = at;
    return (up - down) / (2 * h);
}

static double largest(const double *x, int64_t n)
{
    double m = 0;
    for (int64_t i = 0; i < n; i++) m = fmax(m, fabs(x[i]));
    return m;
}

static void compare(trial *t, lt_program *value, double *const *gradient, int order)
{
    double size = 1;
    for (int i = 0; i < t->c->n_inputs; i++) size = fmax(size, largest(gradient[i], t->n[i]));
    size = fmax(size, fabs(value_at(t, value)));
    for (int i = 0; i < t->c->n_inputs; i++)
        for (int64_t k = 0; k < t->n[i]; k++) {
            double want = difference(t, value, &t->value[i][k]), got = gradient[i][k];
            if (fabs(got - want) <= LT_DIFFERENCE_TOLERANCE * size) continue;
            LT_TEST_FAIL("%s: derivative %d by element %lld of input %d %s is %.12g, differences give %.12g (size %.3g)", t->c->name, order,
                         (long long)k, i, lt_shape_str(&t->c->in[i]).s, got, want, size);
            return;
        }
}

static void check_order(const op_case *c, int order)
{
    trial t;
    double *gradient[CASE_INPUTS];
    lt_program *value = NULL, *slope = NULL;
    if (trial_begin(&t, c, order)) {
        for (int i = 0; i < c->n_inputs; i++) gradient[i] = malloc((size_t)(t.n[i] + 1) * sizeof(double));
        LT_CHECK_OK(lt_program_create(t.g, &t.f, 1, &(lt_compile_options){ .size = sizeof(lt_compile_options), .mode = LT_MODE_EAGER }, &value));
        LT_CHECK_OK(lt_program_create(t.g, t.df, c->n_inputs, NULL, &slope));
        if (value && slope) {
            lt_status s = lt_program_run(slope, (const void *const *)t.value, (void *const *)gradient);
            if (s) LT_TEST_FAIL("%s, derivative %d: %s", c->name, order, lt_error_text());
            else compare(&t, value, gradient, order);
        }
        for (int i = 0; i < c->n_inputs; i++) free(gradient[i]);
    }
    lt_program_destroy(value);
    lt_program_destroy(slope);
    trial_end(&t);
}

static void walk(const op_case *table)
{
    for (const op_case *c = table; c->name; c++) {
        if (c->flags & CASE_GRAD) check_order(c, 1);
        if (c->flags & CASE_GRAD2) check_order(c, 2);
    }
}

LT_TEST(elementwise) { walk(cases_elementwise); }
LT_TEST(reductions) { walk(cases_reduce); }
LT_TEST(shapes) { walk(cases_shape); }
LT_TEST(linear_algebra) { walk(cases_linalg); }
LT_TEST(networks) { walk(cases_network); }

/* ---- conventions at kinks ---- */

typedef lt_node (*function)(lt_graph *g, lt_node x);

/* Value and gradient of f at x, in every mode. */
static void check_at(const char *what, function f, lt_shape s, const double *x, double value, const double *gradient)
{
    static const lt_mode modes[] = { LT_MODE_EAGER, LT_MODE_DEFAULT, LT_MODE_REDUCE_OVERHEAD };
    int64_t n = lt_shape_count(&s);
    double got[64], v;
    for (int m = 0; m < 3; m++) {
        lt_graph *g;
        lt_program *p = NULL;
        LT_CHECK_OK(lt_graph_create(&g));
        lt_node in = lt_input(g, "x", LT_F64, s), y = f(g, in), d;
        LT_CHECK_OK(lt_grad(g, y, &in, 1, &d));
        LT_CHECK_OK(lt_program_create(g, (lt_node[]){ y, d }, 2, &(lt_compile_options){ .size = sizeof(lt_compile_options), .mode = modes[m] }, &p));
        LT_CHECK_OK(lt_program_run(p, (const void *[]){ x }, (void *[]){ &v, got }));
        if (!lt_within(v, value, fabs(value), 100, LT_F64)) LT_TEST_FAIL("%s: value %.17g, expected %.17g", what, v, value);
        for (int64_t i = 0; i < n; i++)
            if (!lt_within(got[i], gradient[i], 1, 100, LT_F64))
                LT_TEST_FAIL("%s %s: gradient[%lld] is %.17g, expected %.17g", what, lt_mode_name(modes[m]), (long long)i, got[i], gradient[i]);
        lt_program_destroy(p);
        lt_graph_destroy(g);
    }
}

#define AT(f, shape, x, value, ...) check_at(#f " at " #x, f, shape, (const double[])x, value, (const double[])__VA_ARGS__)
#define X(...) { __VA_ARGS__ }

static lt_node sum_abs(lt_graph *g, lt_node x) { return lt_sum(g, lt_abs(g, x)); }
static lt_node sum_relu(lt_graph *g, lt_node x) { return lt_sum(g, lt_relu(g, x)); }
static lt_node max_rows(lt_graph *g, lt_node x) { return lt_sum(g, lt_max_axis(g, x, 1, false)); }
static lt_node min_columns(lt_graph *g, lt_node x) { return lt_sum(g, lt_min_axis(g, x, 0, true)); }
static lt_node amax_rows(lt_graph *g, lt_node x) { return lt_sum(g, lt_amax_abs_axis(g, x, -1, false)); }
static lt_node pooled(lt_graph *g, lt_node x) { return lt_sum(g, lt_maxpool2d(g, x, 2, 2, 0)); }
static lt_node clamped(lt_graph *g, lt_node x) { return lt_sum(g, lt_clamp_scalar(g, x, -1, 2)); }
static lt_node norm_rows(lt_graph *g, lt_node x) { return lt_sum(g, lt_norm_axis(g, x, 2, 1, false)); }
static lt_node halves_maximum(lt_graph *g, lt_node x) { return lt_maximum(g, lt_at(g, x, 0), lt_at(g, x, 1)); }
static lt_node halves_minimum(lt_graph *g, lt_node x) { return lt_minimum(g, lt_at(g, x, 0), lt_at(g, x, 1)); }
static lt_node hypotenuse(lt_graph *g, lt_node x) { return lt_hypot(g, lt_at(g, x, 0), lt_at(g, x, 1)); }
static lt_node top_two(lt_graph *g, lt_node x) { return lt_sum(g, lt_topk(g, x, 2)); }

LT_TEST(kinks_of_absolute_values)
{
    AT(sum_abs, lt_shape1(3), X(-2, 0, 3), 5, { -1, 0, 1 });
    AT(lt_norm1, lt_shape1(3), X(-2, 0, 3), 5, { -1, 0, 1 });
    AT(lt_fold_l1, lt_shape1(2), X(0, 0), 0, { 0, 0 });
    AT(sum_relu, lt_shape1(3), X(-2, 0, 3), 3, { 0, 0, 1 });
}

LT_TEST(norms_at_zero)
{
    AT(lt_norm, lt_shape1(3), X(0, 0, 0), 0, { 0, 0, 0 });
    AT(lt_fold_l2, lt_shape1(2), X(0, 0), 0, { 0, 0 });
    AT(lt_norm, lt_shape1(2), X(3, -4), 5, { 0.6, -0.8 });
    AT(norm_rows, lt_shape2(2, 2), X(0, 0, 3, 4), 5, { 0, 0, 0.6, 0.8 });
    AT(hypotenuse, lt_shape1(2), X(0, 0), 0, { 0, 0 });
    AT(lt_norm_inf, lt_shape1(2), X(0, 0), 0, { 0, 0 });
}

LT_TEST(ties_over_everything_share)
{
    AT(lt_max, lt_shape1(4), X(1, 5, 5, 2), 5, { 0, 0.5, 0.5, 0 });
    AT(lt_min, lt_shape2(2, 2), X(1, 1, 1, 2), 1, { 1.0 / 3, 1.0 / 3, 1.0 / 3, 0 });
    AT(lt_fold_max, lt_shape1(2), X(7, 7), 7, { 0.5, 0.5 });
    AT(lt_amax_abs, lt_shape1(3), X(-4, 4, 1), 4, { -0.5, 0.5, 0 });
    AT(lt_norm_inf, lt_shape1(3), X(-4, 4, 1), 4, { -0.5, 0.5, 0 });
    AT(lt_fold_max_abs, lt_shape1(3), X(4, 4, 4), 4, { 1.0 / 3, 1.0 / 3, 1.0 / 3 });
    AT(halves_maximum, lt_shape1(2), X(3, 3), 3, { 0.5, 0.5 });
    AT(halves_minimum, lt_shape1(2), X(3, 3), 3, { 0.5, 0.5 });
    AT(halves_maximum, lt_shape1(2), X(3, 4), 4, { 0, 1 });
}

LT_TEST(ties_along_an_axis_go_to_the_first)
{
    AT(max_rows, lt_shape2(2, 3), X(1, 5, 5, 2, 2, 2), 7, { 0, 1, 0, 1, 0, 0 });
    AT(min_columns, lt_shape2(2, 2), X(1, 3, 1, 2), 3, { 1, 0, 0, 1 });
    AT(amax_rows, lt_shape2(1, 3), X(-4, 4, 1), 4, { -1, 0, 0 });
    AT(pooled, lt_shape2(2, 4), X(1, 1, 0, 3, 1, 0, 3, 3), 4, { 1, 0, 0, 1, 0, 0, 0, 0 });
    AT(top_two, lt_shape1(4), X(2, 3, 3, 3), 6, { 0, 1, 1, 0 });
}

LT_TEST(clamp_passes_on_its_closed_interval) { AT(clamped, lt_shape1(5), X(-2, -1, 0, 2, 3), 2, { 0, 1, 1, 1, 0 }); }

/* Only singular values above rounding count: rank one here, so the gradient is u v'. */
LT_TEST(nuclear_norm_leaves_out_zero_singular_values)
{
    AT(lt_norm_nuc, lt_shape2(2, 2), X(3, 0, 0, 0), 3, { 1, 0, 0, 0 });
    AT(lt_norm_nuc, lt_shape2(2, 3), X(0, 0, 0, 0, 0, 0), 0, { 0, 0, 0, 0, 0, 0 });
    AT(lt_norm_nuc, lt_shape2(2, 2), X(2, 0, 0, -5), 7, { 1, 0, 0, -1 });
}

/* ---- eigenvalues ---- */

static lt_node largest_re(lt_graph *g, lt_node x) { return lt_max(g, lt_eigvals_re(g, x)); }
static lt_node largest_im(lt_graph *g, lt_node x) { return lt_max(g, lt_eigvals_im(g, x)); }
static lt_node largest_of_symmetric(lt_graph *g, lt_node x) { return lt_at(g, lt_eigvalsh(g, x), -1); }

LT_TEST(eigenvalues_real_and_imaginary)
{
    /* Triangular: the eigenvalue 3 has right vector (1, 1), left vector (0, 1). */
    AT(largest_re, lt_shape2(2, 2), X(2, 1, 0, 3), 3, { 0, 0, 1, 1 });
    /* a +- ib of [[a, -b], [b, a]]: the imaginary part is (x10 - x01) / 2 to first order. */
    AT(largest_im, lt_shape2(2, 2), X(1, -2, 2, 1), 2, { 0, -0.5, 0.5, 0 });
    AT(largest_of_symmetric, lt_shape2(2, 2), X(2, 1, 1, 2), 3, { 0.5, 0.5, 0.5, 0.5 });
}

LT_TEST(second_derivative_of_eigenvalues_is_refused)
{
    lt_graph *g;
    LT_CHECK_OK(lt_graph_create(&g));
    lt_node x = lt_input(g, "x", LT_F64, lt_shape2(3, 3)), d, dd;
    LT_CHECK_OK(lt_grad(g, lt_sum(g, lt_square(g, lt_eigvals_re(g, x))), &x, 1, &d));
    LT_CHECK_FAILS(lt_grad(g, lt_sum(g, lt_square(g, d)), &x, 1, &dd), LT_ERR_UNSUPPORTED, "eig_grad");
    lt_graph_destroy(g);
}

/* ---- identities users rely on ---- */

static lt_node log_one_plus_exp(lt_graph *g, lt_node x) { return lt_sum(g, lt_log(g, lt_shift(g, lt_exp(g, x), 1))); }
static lt_node log1p_exp(lt_graph *g, lt_node x) { return lt_sum(g, lt_log1p(g, lt_exp(g, x))); }
static lt_node one_plus_exp(lt_graph *g, lt_node x) { return lt_sum(g, lt_log(g, lt_add(g, lt_scalar(g, LT_F64, 1), lt_exp(g, x)))); }
static lt_node softplus(lt_graph *g, lt_node x) { return lt_sum(g, lt_softplus(g, x)); }
static lt_node residual(lt_graph *g, lt_node x)
{
    static const double a[] = { 1, 2, 3, 4, 5, 6 }, b[] = { 5, 11, 17 }; /* b = A (1, 2) */
    lt_node r = lt_sub(g, lt_matmul(g, lt_constant(g, LT_F64, lt_shape2(3, 2), a), x), lt_constant(g, LT_F64, lt_shape1(3), b));
    return lt_square(g, lt_norm(g, r));
}
static lt_node product(lt_graph *g, lt_node x) { return lt_prod(g, x); }
static lt_node logsumexp(lt_graph *g, lt_node x) { return lt_logsumexp(g, x); }

LT_TEST(logarithm_of_one_plus_exponential_is_stable)
{
    AT(log_one_plus_exp, lt_shape1(3), X(-1000, 0, 1000), 1000 + log(2), { 0, 0.5, 1 });
    AT(log1p_exp, lt_shape1(3), X(-1000, 0, 1000), 1000 + log(2), { 0, 0.5, 1 });
    AT(one_plus_exp, lt_shape1(3), X(-1000, 0, 1000), 1000 + log(2), { 0, 0.5, 1 });
    AT(softplus, lt_shape1(3), X(-1000, 0, 1000), 1000 + log(2), { 0, 0.5, 1 });
    AT(logsumexp, lt_shape1(3), X(1000, 1000, -1000), 1000 + log(2), { 0.5, 0.5, 0 });
}

LT_TEST(squared_norm_has_a_gradient_at_zero_residual)
{
    AT(residual, lt_shape1(2), X(1, 2), 0, { 0, 0 });
    AT(residual, lt_shape1(2), X(1, 3), 4 + 16 + 36, { 88, 112 });
}

LT_TEST(product_with_zeros)
{
    AT(product, lt_shape1(3), X(2, 0, 5), 0, { 0, 10, 0 });
    AT(product, lt_shape1(3), X(0, 0, 5), 0, { 0, 0, 0 });
    AT(product, lt_shape2(2, 2), X(2, -1, 3, 0.5), -3, { -1.5, 3, -1, -6 });
}

/* d^2 / dx_0 dx_1 of x_0 x_1 x_2 at zeros: the third factor. */
LT_TEST(second_derivative_of_a_product_with_zeros)
{
    lt_graph *g;
    lt_program *p;
    double x[] = { 0, 0, 5 }, out[3];
    LT_CHECK_OK(lt_graph_create(&g));
    lt_node in = lt_input(g, "x", LT_F64, lt_shape1(3)), d, dd;
    LT_CHECK_OK(lt_grad(g, lt_prod(g, in), &in, 1, &d));
    LT_CHECK_OK(lt_grad(g, lt_at(g, d, 0), &in, 1, &dd));
    LT_CHECK_OK(lt_program_create(g, &dd, 1, NULL, &p));
    LT_CHECK_OK(lt_program_run(p, (const void *[]){ x }, (void *[]){ out }));
    LT_CHECK(out[0] == 0 && out[1] == 5 && out[2] == 0);
    lt_program_destroy(p);
    lt_graph_destroy(g);
}

/* ---- what does not depend ---- */

LT_TEST(absent_and_detached_variables_have_zero_gradient)
{
    lt_graph *g;
    lt_program *p;
    double a[] = { 1, 2 }, b[] = { 3, 4 }, c[] = { 5 }, da[] = { 9, 9 }, db[] = { 9, 9 }, dc[] = { 9 };
    LT_CHECK_OK(lt_graph_create(&g));
    lt_node x[] = { lt_input(g, "a", LT_F64, lt_shape1(2)), lt_input(g, "b", LT_F64, lt_shape1(2)), lt_input(g, "c", LT_F64, lt_shape1(1)) }, d[3];
    lt_node f = lt_sum(g, lt_mul(g, x[0], lt_detach(g, lt_mul(g, x[0], x[1]))));
    LT_CHECK_OK(lt_grad(g, f, x, 3, d));
    LT_CHECK_OK(lt_program_create(g, d, 3, NULL, &p));
    LT_CHECK_OK(lt_program_run(p, (const void *[]){ a, b, c }, (void *[]){ da, db, dc }));
    LT_CHECK(da[0] == 3 && da[1] == 8);
    LT_CHECK(db[0] == 0 && db[1] == 0 && dc[0] == 0);
    lt_program_destroy(p);
    lt_graph_destroy(g);
}

/* Differentiating by a node in the middle of a graph, and by f itself. */
LT_TEST(gradient_by_an_intermediate_node)
{
    lt_graph *g;
    lt_program *p;
    double x[] = { 1, 2 }, d_mid[2], d_x[2], d_f;
    LT_CHECK_OK(lt_graph_create(&g));
    lt_node in = lt_input(g, "x", LT_F64, lt_shape1(2)), mid = lt_square(g, in), f = lt_sum(g, lt_square(g, mid)), d[3];
    LT_CHECK_OK(lt_grad(g, f, (lt_node[]){ mid, in, f }, 3, d));
    LT_CHECK_OK(lt_program_create(g, d, 3, NULL, &p));
    LT_CHECK_OK(lt_program_run(p, (const void *[]){ x }, (void *[]){ d_mid, d_x, &d_f }));
    LT_CHECK(d_mid[0] == 2 && d_mid[1] == 8 && d_x[0] == 4 && d_x[1] == 32 && d_f == 1);
    lt_program_destroy(p);
    lt_graph_destroy(g);
}

/* vjp with a seed: the seed's product with the Jacobian, here that of elementwise squares. */
LT_TEST(vector_jacobian_product)
{
    lt_graph *g;
    lt_program *p;
    double x[] = { 1, 2, 3 }, seed[] = { 1, 0, -2 }, d[3];
    LT_CHECK_OK(lt_graph_create(&g));
    lt_node in = lt_input(g, "x", LT_F64, lt_shape1(3)), s = lt_input(g, "seed", LT_F64, lt_shape1(3)), out;
    LT_CHECK_OK(lt_vjp(g, lt_square(g, in), s, &in, 1, &out));
    LT_CHECK_OK(lt_program_create(g, &out, 1, NULL, &p));
    LT_CHECK_OK(lt_program_run(p, (const void *[]){ x, seed }, (void *[]){ d }));
    LT_CHECK(d[0] == 2 && d[1] == 0 && d[2] == -12);
    lt_program_destroy(p);
    lt_graph_destroy(g);
}

LT_TEST_MAIN()
