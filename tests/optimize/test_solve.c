/* The optimizer against published iteration tables and known optima.
   SPDX-License-Identifier: BSD-3-Clause */
#include "solve_tools.h"

/* Printed digits: relative to the number itself, whatever its size. */
#define NEAR(got, want, digits) \
    do { double g = (got), w = (want); \
         if (!(fabs(g - w) <= 0.6 * pow(10, -(digits)) * fabs(w)) && g != w) \
             LT_TEST_FAIL("%s is %.15g, expected %.15g to %d digits", #got, g, w, digits); } while (0)

typedef struct traced { int64_t iter; double mu, phi, f, tvi; int64_t evals; double t, stat; } traced;

static void check_rows(const lt_solution *s, const traced *want, size_t n, int digits)
{
    for (size_t i = 0; s && i < n; i++) {
        const lt_history_row *row = row_of(s, want[i].iter);
        if (!row) { LT_TEST_FAIL("no row %lld", (long long)want[i].iter); continue; }
        if (!isnan(want[i].mu)) NEAR(row->mu, want[i].mu, 6);
        if (!isnan(want[i].phi)) NEAR(row->phi, want[i].phi, digits);
        if (!isnan(want[i].f)) NEAR(row->f, want[i].f, digits);
        if (!isnan(want[i].tvi)) NEAR(row->tvi, want[i].tvi, 6);
        if (want[i].evals) LT_CHECK_EQ_INT(row->evals, want[i].evals);
        if (!isnan(want[i].t)) LT_CHECK(row->t == want[i].t);
        if (!isnan(want[i].stat)) NEAR(row->stat, want[i].stat, 3);
    }
}
#define ROWS(s, digits, ...) \
    check_rows((s), (const traced[]){ __VA_ARGS__ }, sizeof((const traced[]){ __VA_ARGS__ }) / sizeof(traced), (digits))

static lt_solve_options base(void) { return lt_solve_defaults(); }
static lt_solve_options long_steps(void) { return SOLVE_OPTIONS(AS_PUBLISHED, o.mu0 = 100, o.max_iterations = 10); }

LT_TEST(rosenbrock_table_is_reproduced_row_by_row)
{
    lt_solution *s = solve_example(example_rosenbrock(5.5, 5.5), long_steps(), false);
    ROWS(s, 11,
         { 0, 100, 21841.7781746, 218.25, 10, 1, 0, 9732.770 },
         { 1, 34.86784, 1509.66611872, 42.9789783006, 11.08181, 10, 0.001953125, 546.6040 },
         { 2, 34.86784, 1378.57842221, 39.2815768212, 8.914529, 3, 1.5, 4.455384 },
         { 3, 12.15767, 285.452828054, 22.6935200208, 9.552604, 2, 2, 0.297144 },
         { 4, 12.15767, 264.999595731, 21.0732808630, 8.797697, 2, 2, 0.603629 },
         { 5, 4.239116, 60.5144787250, 12.1478493778, 9.018338, 2, 2, 0.111610 },
         { 6, 4.239116, 53.5399399407, 10.5181947367, 8.952094, 2, 0.5, 0.164082 },
         { 7, 3.815204, 48.9917031616, 10.4947962860, 8.951912, 4, 0.125, 0.033640 },
         { 8, 3.815204, 48.7011303503, 10.4372013183, 8.881076, 2, 2, 0.018555 },
         { 9, 3.815204, 48.2564717826, 10.3422772655, 8.798572, 2, 2, 0.057946 },
         { 10, 3.815204, 39.4225027901, 9.27057783616, 4.053355, 5, 16, 0.001796 });
    LT_CHECK_EQ_INT(s->iters, 10);
    LT_CHECK_EQ_INT(s->fn_evals, 35);
    LT_CHECK_EQ_INT(s->termination_code, LT_TERMINATION_MAX_ITERATIONS);
    LT_CHECK(!s->best.present && s->most_feasible.present);
    lt_solution_destroy(s);
}

LT_TEST(restart_goes_on_from_the_final_matrix)
{
    lt_solution *a = solve_example(example_rosenbrock(5.5, 5.5), long_steps(), false);
    lt_solve_options opt = SOLVE_OPTIONS(AS_PUBLISHED, o.x0 = a->final.x, o.H0 = a->H_final.H, o.mu0 = a->final.mu,
                             o.scale_H0 = false, o.stationarity_tol = 1e-6, o.max_iterations = 100);
    lt_solution *s = solve_example(example_rosenbrock(0, 0), opt, false);
    ROWS(s, 10, { 0, NAN, NAN, NAN, NAN, 0, NAN, 0.161642 },
         { 1, 2.503156, 27.1659262914, 9.40498130422, NAN, 2, 2, NAN },
         { 5, NAN, 18.8070548305, 9.27572664351, 0, 3, 4, NAN });
    ROWS(s, 9, { 15, NAN, 2.41981099682, NAN, NAN, 0, NAN, NAN });
    LT_CHECK(s->final.f <= 0.0862 && s->final.feasible_to_tol && s->iters <= 60);
    LT_CHECK(s->termination_code == LT_TERMINATION_CONVERGED || s->termination_code == LT_TERMINATION_BRACKET_FEASIBLE);
    lt_solution_destroy(a);
    lt_solution_destroy(s);
}

LT_TEST(limited_memory_table_and_its_warm_start)
{
    lt_solve_options opt = long_steps();
    opt.lbfgs_pairs = 1;
    lt_solution *a = solve_example(example_rosenbrock(5.5, 5.5), opt, false);
    ROWS(a, 11, { 4, NAN, 262.610250639, NAN, NAN, 0, NAN, NAN }, { 6, 4.239116, 57.9458175917, NAN, NAN, 3, 0.75, NAN },
         { 8, 1.642320, 26.2056730861, NAN, NAN, 0, NAN, NAN }, { 10, NAN, 25.9163909350, NAN, NAN, 0, NAN, NAN });
    NEAR(a->final.f, 10.4174724535, 11);
    NEAR(a->most_feasible.f, 75.6886238113, 11);
    NEAR(a->most_feasible.tvi, 8.192103, 6);
    LT_CHECK_EQ_INT(a->fn_evals, 29);
    lt_solve_options again = SOLVE_OPTIONS(o.x0 = a->final.x, o.mu0 = a->final.mu, o.lbfgs_pairs = 1, o.scale_H0 = false,
                               o.lbfgs_fixed_scaling = false, o.lbfgs_state = &a->H_final, o.max_iterations = 100);
    lt_solution *s = solve_example(example_rosenbrock(0, 0), again, false);
    LT_CHECK(s->final.f <= 0.0860 && (s->termination_code == LT_TERMINATION_CONVERGED || s->termination_code == LT_TERMINATION_BRACKET_FEASIBLE));
    lt_solution_destroy(a);
    lt_solution_destroy(s);
}

LT_TEST(rosenbrock_from_the_kink_and_from_random_starts)
{
    double best = (1 - sqrt(0.5)) * (1 - sqrt(0.5));
    lt_solution *s = solve_example(example_rosenbrock(1, 1), base(), false);
    LT_CHECK(s->best.present && s->best.f >= best - 1e-5 && s->best.f <= 0.0859);
    LT_CHECK(s->termination_code == LT_TERMINATION_CONVERGED || s->termination_code == LT_TERMINATION_BRACKET_FEASIBLE);
    lt_solution_destroy(s);
    for (int64_t seed = 0; seed < 8; seed++) {
        lt_solve_options opt = SOLVE_OPTIONS(o.stationarity_tol = 1e-6, o.max_iterations = 100, o.seed = seed);
        example *e = example_rosenbrock(0, 0);
        lt_solution *t = NULL;
        lt_problem *p = example_problem(e);
        LT_CHECK_OK(lt_solve(p, &opt, &t)); /* no x0: drawn from the seed */
        LT_CHECK(t && t->best.present && t->best.f <= 0.0862);
        lt_solution_destroy(t);
        lt_problem_destroy(p);
        example_free(e);
    }
}

LT_TEST(feasibility_problem_ends_in_three_steps)
{
    lt_solution *s = solve_example(example_feasibility(-3), SOLVE_OPTIONS(AS_PUBLISHED), false);
    LT_CHECK_EQ_INT(s->iters, 3);
    LT_CHECK_EQ_INT(s->fn_evals, 7);
    LT_CHECK_EQ_INT(s->termination_code, LT_TERMINATION_CONVERGED);
    LT_CHECK_NEAR(s->final.x[0], 1.688660, 1e-6);
    LT_CHECK_NEAR(s->final.x[1], -2.486619, 1e-6);
    lt_solution_destroy(s);
    s = solve_example(example_feasibility(-3), SOLVE_OPTIONS(AS_PUBLISHED, o.compat = 1), false);
    LT_CHECK_EQ_INT(row_of(s, 1)->n_gradients, 2); /* PyGRANSO's cache lets the origin in */
    lt_solution_destroy(s);
}

LT_TEST(sphere_finds_the_largest_eigenvalue)
{
    lt_solve_options opt = SOLVE_OPTIONS(AS_PUBLISHED, o.mu0 = 0.1, o.stationarity_tol = 1e-6, o.compat = 1);
    lt_solution *s = solve_example(example_sphere(300, -1), opt, false);
    ROWS(s, 6, { 0, 0.1, 233.5984, NAN, NAN, 0, NAN, NAN }, { 10, 0.03874205, 4.736972, NAN, NAN, 0, NAN, NAN },
         { 20, NAN, -0.9039475, NAN, NAN, 0, NAN, NAN }, { 40, NAN, -0.9407962, NAN, NAN, 0, NAN, NAN });
    LT_CHECK_EQ_INT(s->iters, 85);
    LT_CHECK_EQ_INT(s->fn_evals, 96);
    LT_CHECK_EQ_INT(s->termination_code, LT_TERMINATION_CONVERGED);
    LT_CHECK(fabs(s->final.f + 24.28592206) <= 1e-6);
    lt_solution_destroy(s);
    opt.compat = 0;
    s = solve_example(example_sphere(300, -1), opt, false);
    LT_CHECK(abs((int)s->iters - 82) <= 2 && fabs(s->final.f + 24.28592206) <= 1e-6 && s->termination_code == LT_TERMINATION_CONVERGED);
    lt_solution_destroy(s);
}

LT_TEST(sphere_with_the_other_sign)
{
    lt_solve_options opt = SOLVE_OPTIONS(AS_PUBLISHED, o.mu0 = 0.1, o.stationarity_tol = 1e-6, o.max_iterations = 20);
    lt_solution *s = solve_example(example_sphere(500, 1), opt, false);
    NEAR(row_of(s, 0)->phi, 478.38486, 6);
    NEAR(row_of(s, 0)->f, 239.734202, 5);
    NEAR(row_of(s, 20)->phi, 0.58254455, 5);
    NEAR(s->final.mu, 0.0313811, 5);
    LT_CHECK_EQ_INT(s->fn_evals, 24);
    lt_solution_destroy(s);
}

LT_TEST(trace_problem_with_dependent_constraints)
{
    lt_solution *s = solve_example(example_trace(1), SOLVE_OPTIONS(AS_PUBLISHED, o.max_iterations = 3000), false);
    ROWS(s, 5, { 0, NAN, 1.167248, NAN, NAN, 0, NAN, NAN }, { 2, NAN, -7.445131, NAN, NAN, 0, NAN, NAN },
         { 5, NAN, -0.0515928, NAN, NAN, 0, NAN, NAN }, { 10, NAN, -0.9430633, NAN, NAN, 0, NAN, NAN });
    LT_CHECK(fabs(s->final.f + 3.04324830604) <= 1e-8);
    LT_CHECK(s->termination_code == LT_TERMINATION_CONVERGED || s->termination_code == LT_TERMINATION_BRACKET_FEASIBLE);
    lt_solution_destroy(s);
    s = solve_example(example_trace(2), SOLVE_OPTIONS(AS_PUBLISHED, o.stationarity_tol = 5e-6), false);
    LT_CHECK(s->final.feasible_to_tol && s->final.f <= -3.922 && s->final.f >= -3.93228070919 - 1e-5);
    lt_solution_destroy(s);
}

LT_TEST(robust_pca_reaches_the_sparse_answer)
{
    example *e = example_robust_pca();
    lt_solution *s = solve_example(e, SOLVE_OPTIONS(o.stationarity_tol = 1e-6), true);
    LT_CHECK_NEAR(e->b[0], 0.661352158, 1e-8);
    LT_CHECK(s->best.present && s->best.f <= 0.3342 && s->best.f >= e->best - 1e-5 && s->best.tve <= 1e-6);
    LT_CHECK(s->termination_code == LT_TERMINATION_CONVERGED || s->termination_code == LT_TERMINATION_BRACKET_FEASIBLE);
    lt_solution_destroy(s);
    example_free(e);
}

LT_TEST(total_variation_early_rows_and_optimum)
{
    lt_solution *s = solve_example(example_total_variation(), base(), false);
    ROWS(s, 8, { 0, NAN, NAN, 23.9720755177, NAN, 0, NAN, NAN }, { 1, NAN, NAN, 13.220094293, NAN, 0, NAN, NAN },
         { 2, NAN, NAN, 11.262893653, NAN, 0, NAN, NAN }, { 5, NAN, NAN, 7.7970451835, NAN, 0, NAN, NAN },
         { 10, NAN, NAN, 6.11242762691, NAN, 0, NAN, NAN });
    ROWS(s, 5, { 30, NAN, NAN, 5.31815576231, NAN, 0, NAN, NAN }, { 50, NAN, NAN, 5.15831247662, NAN, 0, NAN, NAN });
    LT_CHECK(s->final.f <= 5.0779552563 && s->iters <= 600);
    LT_CHECK(s->termination_code == LT_TERMINATION_CONVERGED || s->termination_code == LT_TERMINATION_BRACKET_FEASIBLE);
    LT_CHECK_EQ_INT(s->loop_allocations, 0);
    lt_solution_destroy(s);
}

LT_TEST(dictionary_table_and_both_early_stops)
{
    lt_solve_options opt = SOLVE_OPTIONS(AS_PUBLISHED, o.max_iterations = 500, o.compat = 1);
    lt_solution *s = solve_example(example_dictionary(), opt, false);
    static const double phi[] = { 0.61751624522, 0.60573380055, 0.58456516016, 0.50113197499, 0.49278124194,
                                  0.49225009818, 0.49212731751, 0.49203371691, 0.49197689465 };
    for (int i = 0; i < 9; i++) NEAR(row_of(s, 10 * i)->phi, phi[i], 10);
    NEAR(row_of(s, 0)->stat, 0.054664, 4);
    static const int grads[] = { 5, 10, 18, 27, 37 };
    for (int i = 0; i < 3; i++) LT_CHECK_EQ_INT(row_of(s, 90 + 10 * i)->n_gradients, grads[i]);
    double most = 0;
    for (int i = 0; i < 30; i++) most = fmax(most, fabs(s->final.x[i]));
    LT_CHECK(fabs(most - 1) <= 1e-6 && fabs(s->final.f - 0.4919422) <= 1e-6);
    LT_CHECK(s->termination_code == LT_TERMINATION_CONVERGED || s->termination_code == LT_TERMINATION_BRACKET_FEASIBLE);
    lt_solution_destroy(s);

    opt.target_f = 0.4963;
    s = solve_example(example_dictionary(), opt, false);
    LT_CHECK(s->iters == 77 && s->fn_evals == 256 && s->termination_code == LT_TERMINATION_TARGET);
    NEAR(s->final.f, 0.49205285240, 10);
    lt_solution_destroy(s);
    opt.compat = 0;
    s = solve_example(example_dictionary(), opt, false);
    LT_CHECK(s->iters == 77 && s->fn_evals == 255 && s->termination_code == LT_TERMINATION_TARGET);
    lt_solution_destroy(s);

    opt = SOLVE_OPTIONS(AS_PUBLISHED, o.max_iterations = 500, o.compat = 1, o.stationarity_tol = 1e-4);
    s = solve_example(example_dictionary(), opt, false);
    LT_CHECK(s->iters == 90 && s->fn_evals == 299 && s->termination_code == LT_TERMINATION_CONVERGED);
    lt_solution_destroy(s);
}

/* Convex and separable enough that a plain run with tight tolerance serves for comparison. */
LT_TEST(logistic_path_agrees_with_long_runs)
{
    for (int k = 0; k < 16; k++) {
        double C = 0.10007147962830593 * pow(10, 7.0 * k / 15);
        lt_solution *s = solve_example(example_logistic(C), SOLVE_OPTIONS(AS_PUBLISHED, o.max_iterations = 50, o.stationarity_tol = 1e-6), false);
        lt_solution *best = solve_example(example_logistic(C), SOLVE_OPTIONS(AS_PUBLISHED, o.max_iterations = 3000, o.stationarity_tol = 1e-13), false);
        LT_CHECK_NEAR(row_of(s, 0)->f, 100 * log(2), 1e-14);
        LT_CHECK(s->best.f <= best->best.f * (1 + 2e-5));
        lt_solution_destroy(s);
        lt_solution *more = solve_example(example_logistic(C), SOLVE_OPTIONS(AS_PUBLISHED, o.max_iterations = 500, o.stationarity_tol = 1e-6), false);
        LT_CHECK(more->best.f <= best->best.f * (1 + 1e-6));
        lt_solution_destroy(more);
        lt_solution_destroy(best);
    }
}

/* Gradients are asked for only where the decrease test passed, and the path does not depend on it. */
LT_TEST(gradients_on_demand_change_nothing_but_their_number)
{
    example *a = example_total_variation(), *b = example_total_variation();
    lt_solve_options opt = SOLVE_OPTIONS(o.max_iterations = 100, o.gradients = LT_GRADIENTS_ALWAYS);
    lt_solution *s = solve_example(a, opt, true);
    opt.gradients = LT_GRADIENTS_ON_DEMAND;
    lt_solution *t = solve_example(b, opt, true);
    LT_CHECK(!memcmp(s->final.x, t->final.x, (size_t)s->n * sizeof(double)));
    LT_CHECK_EQ_INT(s->fn_evals, t->fn_evals);
    LT_CHECK_EQ_INT(a->n_gradients, s->fn_evals);
    LT_CHECK_EQ_INT(b->n_gradients, t->gradient_evals);
    LT_CHECK(b->n_gradients * 2 < a->n_gradients);
    lt_solution_destroy(s);
    lt_solution_destroy(t);
    example_free(a);
    example_free(b);
}

LT_TEST(single_precision_state_still_finds_the_optima)
{
    lt_solve_options opt = SOLVE_OPTIONS(o.double_precision = false, o.stationarity_tol = 1e-4, o.inequality_tol = 1e-4, o.equality_tol = 1e-4);
    lt_solution *s = solve_example(example_rosenbrock(-1.3, 0.8), opt, false);
    LT_CHECK(s->best.present && s->best.f <= 0.0859 + 1e-3);
    for (int i = 0; i < 2; i++) LT_CHECK(s->final.x[i] == (double)(float)s->final.x[i]);
    lt_solution_destroy(s);
    s = solve_example(example_feasibility(-3), opt, false);
    LT_CHECK(s->best.present && s->best.tv <= 1e-4);
    lt_solution_destroy(s);
    opt.mu0 = 0.1;
    s = solve_example(example_sphere(300, -1), opt, false);
    LT_CHECK(s->best.present && fabs(s->best.f + 24.28592) <= 1e-2);
    lt_solution_destroy(s);
    opt.mu0 = 1;
    s = solve_example(example_total_variation(), opt, false);
    LT_CHECK(s->best.f <= 5.07795525617 * (1 + 1e-3));
    lt_solution_destroy(s);
}

LT_TEST_MAIN()
