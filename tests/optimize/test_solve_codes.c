/* Every termination code, the ladder of directions, values that are not finite, and options.
   SPDX-License-Identifier: BSD-3-Clause */
#include "solve_tools.h"

#include "base/alloc.h"

static lt_solve_options base(void) { return lt_solve_defaults(); }

/* min x'x - sum x, smooth. */
static lt_status bowl(void *ctx, const double *x, const lt_outputs *o)
{
    int64_t n = *(int64_t *)ctx;
    if (o->f) *o->f = 0;
    for (int64_t i = 0; i < n; i++) {
        if (o->f) *o->f += x[i] * x[i] - x[i];
        if (o->grad_f) o->grad_f[i] = 2 * x[i] - 1;
    }
    return LT_OK;
}

static lt_status linear(void *ctx, const double *x, const lt_outputs *o) /* unbounded below; x <= 5 is no help */
{
    (void)ctx;
    if (o->f) *o->f = x[0];
    if (o->grad_f) *o->grad_f = 1;
    if (o->ci) *o->ci = x[0] - 5;
    if (o->grad_ci) *o->grad_ci = 1;
    return LT_OK;
}

static lt_status hopeless(void *ctx, const double *x, const lt_outputs *o) /* nothing depends on x */
{
    (void)ctx;
    (void)x;
    if (o->f) *o->f = 0;
    if (o->grad_f) *o->grad_f = 0;
    if (o->ci) *o->ci = 1;
    if (o->grad_ci) *o->grad_ci = 0;
    return LT_OK;
}

LT_TEST(code_0_and_its_text)
{
    int64_t n = 3;
    lt_solution *s = solve_function(n, 0, 0, bowl, &n, base());
    LT_CHECK_EQ_INT(s->termination_code, LT_TERMINATION_CONVERGED);
    for (int i = 0; i < 3; i++) LT_CHECK_NEAR(s->final.x[i], 0.5, 1e-7);
    LT_CHECK(!s->most_feasible.present && s->best.present && isnan(s->mu_lowest) && !s->error);
    lt_solution_destroy(s);
    for (lt_termination code = LT_TERMINATION_CONVERGED; code < LT_TERMINATION_COUNT; code++) LT_CHECK(strlen(lt_termination_text(code)) > 10);
    LT_CHECK(!strcmp(lt_termination_text(LT_TERMINATION_COUNT), "?") && !strcmp(lt_termination_text(LT_TERMINATION_NONE), "?"));
}

LT_TEST(code_1_small_relative_change)
{
    lt_solution *s = solve_example(example_dictionary(), SOLVE_OPTIONS(o.decrease_tol = 1e-2, o.equality_tol = 1e-2), false);
    LT_CHECK_EQ_INT(s->termination_code, LT_TERMINATION_SMALL_DECREASE);
    lt_solution_destroy(s);
}

LT_TEST(code_2_target_value)
{
    lt_solution *s = solve_example(example_total_variation(), SOLVE_OPTIONS(o.target_f = 6), false);
    LT_CHECK_EQ_INT(s->termination_code, LT_TERMINATION_TARGET);
    LT_CHECK(s->final.f <= 6);
    lt_solution_destroy(s);
}

typedef struct seen { int64_t calls, last; bool ok; } seen;

static bool stop_at_4(void *ctx, const lt_iterate *it)
{
    seen *s = ctx;
    s->ok = s->ok && it->iter == s->calls && (it->iter || (it->ls_evals == 1 && it->alpha == 0 && it->fallback_level == 0));
    lt_hessian_state H;
    s->ok = s->ok && !lt_iterate_hessian(it, &H) && H.H && H.n == it->n;
    lt_hessian_state_release(&H);
    s->calls++;
    s->last = it->iter;
    return it->iter == 4;
}

LT_TEST(code_3_callback_and_interrupt)
{
    seen s = { .ok = true };
    lt_solve_options opt = SOLVE_OPTIONS(o.iterate_fn = stop_at_4, o.iterate_ctx = &s);
    lt_solution *a = solve_example(example_total_variation(), opt, false);
    LT_CHECK_EQ_INT(a->termination_code, LT_TERMINATION_HALTED);
    LT_CHECK_EQ_INT(a->iters, 4);
    LT_CHECK(s.ok && s.calls == 5 && !a->interrupted);
    lt_solution_destroy(a);
    int flag = 1;
    opt = SOLVE_OPTIONS(o.interrupt = &flag);
    a = solve_example(example_total_variation(), opt, false);
    LT_CHECK(a->termination_code == LT_TERMINATION_HALTED && a->interrupted && a->iters == 0);
    lt_solution_destroy(a);
}

LT_TEST(code_5_clock)
{
    lt_solution *s = solve_example(example_total_variation(), SOLVE_OPTIONS(o.max_seconds = 1e-9), false);
    LT_CHECK_EQ_INT(s->termination_code, LT_TERMINATION_MAX_TIME);
    lt_solution_destroy(s);
}

LT_TEST(codes_6_and_7_bracketed_without_a_wolfe_point)
{
    lt_solution *s = solve_example(example_feasibility(3), base(), false);
    LT_CHECK_EQ_INT(s->termination_code, LT_TERMINATION_BRACKET_INFEASIBLE);
    LT_CHECK(!s->best.present && fabs(s->final.x[1] + 0.9535) < 1e-3 && fabs(s->final.x[0]) < 1e-3);
    lt_solution_destroy(s);
    s = solve_example(example_rosenbrock(1, 1), SOLVE_OPTIONS(o.stationarity_tol = 0), false);
    LT_CHECK_EQ_INT(s->termination_code, LT_TERMINATION_BRACKET_FEASIBLE);
    lt_solution_destroy(s);
}

/* From (1, 1) the first step lands on the minimiser, and nothing lower is found there. */
LT_TEST(code_0_where_a_search_fails_at_a_minimiser)
{
    lt_solve_options opt = lt_solve_defaults();
    opt.print_level = 0;
    lt_solution *s = solve_example(example_rosenbrock(1, 1), opt, false);
    LT_CHECK_EQ_INT(s->termination_code, LT_TERMINATION_CONVERGED);
    LT_CHECK(s->certificate->residual <= 1e-8 && s->stat_value <= opt.stationarity_tol);
    lt_solution_destroy(s);
}

LT_TEST(code_8_unbounded_below)
{
    double x0 = 0;
    lt_solve_options opt = SOLVE_OPTIONS(o.x0 = &x0, o.recoveries = 0);
    lt_solution *s = solve_function(1, 0, 0, linear, NULL, opt);
    LT_CHECK_EQ_INT(s->termination_code, LT_TERMINATION_UNBOUNDED);
    LT_CHECK(isnan(s->mu_lowest));
    lt_solution_destroy(s);
    s = solve_function(1, 1, 0, linear, NULL, opt); /* whole steps, longer and longer, are not taken for ever */
    LT_CHECK_EQ_INT(s->termination_code, LT_TERMINATION_UNBOUNDED);
    lt_solution_destroy(s);
    opt = SOLVE_OPTIONS(AS_PUBLISHED, o.x0 = &x0, o.recoveries = 0);
    s = solve_function(1, 1, 0, linear, NULL, opt);
    LT_CHECK_EQ_INT(s->termination_code, LT_TERMINATION_UNBOUNDED);
    LT_CHECK(s->mu_lowest > 0 && s->mu_lowest < 1); /* ten halvings at the first iteration */
    LT_CHECK_EQ_INT(s->n_mu_reductions, 10);
    lt_solution_destroy(s);
    opt.recoveries = 30; /* smaller and smaller mu does not help where f falls within the constraints: the attempts end */
    s = solve_function(1, 1, 0, linear, NULL, opt);
    LT_CHECK_EQ_INT(s->termination_code, LT_TERMINATION_UNBOUNDED);
    LT_CHECK(s->mu_lowest > 0 && s->mu_lowest < 1e-8 && s->n_mu_reductions > 10);
    lt_solution_destroy(s);
}

LT_TEST(code_9_no_direction_descends)
{
    double x0 = 0;
    lt_solution *s = solve_function(1, 1, 0, hopeless, NULL, SOLVE_OPTIONS(o.x0 = &x0));
    LT_CHECK_EQ_INT(s->termination_code, LT_TERMINATION_NO_DESCENT);
    lt_solution_destroy(s);
    s = solve_function(1, 1, 0, hopeless, NULL,
                       SOLVE_OPTIONS(o.x0 = &x0, o.nondescent_evals = 4, o.last_fallback = 4));
    LT_CHECK_EQ_INT(s->termination_code, LT_TERMINATION_NO_DESCENT);
    LT_CHECK(s->fn_evals > 4); /* short searches were tried */
    lt_solution_destroy(s);
}

typedef struct faulty { int64_t n, calls, fail_at; } faulty;

static lt_status fails_later(void *ctx, const double *x, const lt_outputs *o)
{
    faulty *f = ctx;
    if (o->f && ++f->calls == f->fail_at) return LT_ERR_CANCELLED;
    return bowl(&f->n, x, o);
}

static lt_status fails_with_words(void *ctx, const double *x, const lt_outputs *o)
{
    lt_status s = fails_later(ctx, x, o);
    return s ? lt_fail(s, "the sensor is off") : s;
}

LT_TEST(code_11_the_function_fails)
{
    faulty f = { .n = 4, .fail_at = 3 };
    lt_solve_options opt = base();
    opt.first_step = 0.01;
    lt_solution *s = solve_function(4, 0, 0, fails_later, &f, opt);
    LT_CHECK_EQ_INT(s->termination_code, LT_TERMINATION_FUNCTION_FAILED);
    LT_CHECK(s->error && s->best.present && isfinite(s->final.f));
    LT_CHECK(strstr(s->error, "the problem's function returned 'cancelled'"));
    lt_solution_destroy(s);
    s = solve_function(4, 0, 0, fails_with_words, &(faulty){ .n = 4, .fail_at = 3 }, opt);
    LT_CHECK(s->termination_code == 11 && !strcmp(s->error, "the sensor is off"));
    lt_solution_destroy(s);
    f = (faulty){ .n = 4, .fail_at = 1 }; /* at x0: the caller's mistake */
    lt_problem *p;
    LT_CHECK_OK(lt_problem_from_function(4, 0, 0, fails_later, &f, &p));
    LT_CHECK(lt_solve(p, NULL, &s) == LT_ERR_CANCELLED && !s);
    lt_problem_destroy(p);
}

/* The gradient of a constraint that is not active turns NaN: phi does not notice, the QPs do. */
static lt_status broken_row(void *ctx, const double *x, const lt_outputs *o)
{
    int64_t *calls = ctx;
    lt_status s = bowl(&(int64_t){ 2 }, x, o);
    if (o->ci) o->ci[0] = 1 - x[0] - 2 * x[1], o->ci[1] = -7;
    if (o->grad_ci) {
        double bad = (*calls)++ ? NAN : 0;
        memcpy(o->grad_ci, (double[]){ -1, -2, bad, 0 }, 4 * sizeof(double));
    }
    return s;
}

LT_TEST(code_12_and_the_levels_below_steering)
{
    int64_t calls = 0;
    double x0[2] = { -1, -2 };
    lt_solve_options opt = SOLVE_OPTIONS(o.x0 = x0, o.stop_on_qp_failure = true);
    lt_solution *s = solve_function(2, 2, 0, broken_row, &calls, opt);
    LT_CHECK_EQ_INT(s->termination_code, LT_TERMINATION_QP_FAILED);
    LT_CHECK(s->error && strstr(s->error, "QP") && s->quadprog_failure_rate > 0 && s->iters == 1);
    LT_CHECK(isinf(s->stat_value) && s->history[1].qp_attempts == 4); /* all three QPs of the measure failed */
    lt_solution_destroy(s);
    opt.stop_on_qp_failure = false;
    calls = 0;
    s = solve_function(2, 2, 0, broken_row, &calls, opt);
    LT_CHECK(s->iters > 1 && s->history[1].level == 0 && s->history[2].level == 2 && s->termination_code != LT_TERMINATION_QP_FAILED);
    lt_solution_destroy(s);
    opt.last_fallback = 1;
    calls = 0;
    s = solve_function(2, 2, 0, broken_row, &calls, opt);
    LT_CHECK_EQ_INT(s->termination_code, LT_TERMINATION_QP_FAILED); /* no level was left */
    lt_solution_destroy(s);
}

LT_TEST(code_13_when_a_checkpoint_cannot_be_written)
{
    lt_solve_options opt = SOLVE_OPTIONS(o.checkpoint = "/nonexistent/folder/file", o.checkpoint_every = 2);
    lt_solution *s = solve_example(example_total_variation(), opt, false);
    LT_CHECK_EQ_INT(s->termination_code, LT_TERMINATION_INTERNAL);
    LT_CHECK_EQ_INT(s->iters, 2);
    LT_CHECK(s->error && strstr(s->error, "nonexistent"));
    lt_solution_destroy(s);
}

/* ---- The ladder ----------------------------------------------------------------------------------------------- */
/* f rises in every direction but its gradient says otherwise: every search fails. */
static lt_status liar(void *ctx, const double *x, const lt_outputs *o)
{
    int64_t *calls = ctx;
    if (o->f) *o->f = fabs(x[0]) + fabs(x[1]), (*calls)++;
    if (o->grad_f) o->grad_f[0] = 1, o->grad_f[1] = 0.5;
    if (o->ci) *o->ci = 2 + fabs(x[0] + 2 * x[1]); /* infeasible, so that no level ends the run */
    if (o->grad_ci) o->grad_ci[0] = 0.25, o->grad_ci[1] = 0.5;
    return LT_OK;
}

LT_TEST(failed_searches_walk_all_levels_and_restore_mu)
{
    int64_t calls = 0;
    double x0[2] = { 0, 0 };
    char text[4096] = "";
    FILE *to = fmemopen(text, sizeof text, "w");
    lt_solve_options opt = SOLVE_OPTIONS(o.x0 = x0, o.last_fallback = 4, o.random_directions = 5,
                             o.print_to = to, o.print_level = 2, o.recoveries = 0);
    lt_solution *s = solve_function(2, 1, 0, liar, &calls, opt);
    fclose(to);
    LT_CHECK_EQ_INT(s->termination_code, LT_TERMINATION_BRACKET_INFEASIBLE);
    LT_CHECK_EQ_INT(s->iters, 0);
    LT_CHECK(s->final.mu == 1 && s->final.f == 0); /* as at the start, whatever steering tried */
    int64_t deepest = calls;
    lt_solution_destroy(s);
    calls = 0;
    opt.last_fallback = 3;
    opt.print_to = NULL;
    s = solve_function(2, 1, 0, liar, &calls, opt);
    LT_CHECK(calls < deepest); /* the five random directions are gone */
    lt_solution_destroy(s);
}

/* Only searches along random directions may succeed: gradients point along x only, progress is in y. */
static lt_status sideways(void *ctx, const double *x, const lt_outputs *o)
{
    (void)ctx;
    if (o->f) *o->f = 10 * fabs(x[0]) + (x[1] > 0 ? x[1] * x[1] * 1e-6 - x[1] : 0.1 * x[1] * x[1] - x[1]);
    if (o->grad_f) o->grad_f[0] = x[0] >= 0 ? 10 : -10, o->grad_f[1] = 0;
    return LT_OK;
}

LT_TEST(random_directions_print_their_number)
{
    double x0[2] = { 0, 0 };
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);
    lt_solve_options opt = SOLVE_OPTIONS(o.x0 = x0, o.last_fallback = 4, o.random_directions = 50, o.max_iterations = 3,
                             o.stop_on_bracket_failure = false, o.print_to = to, o.stationarity_tol = 0);
    lt_solution *s = solve_function(2, 0, 0, sideways, NULL, opt);
    fclose(to);
    bool random = false;
    for (int64_t i = 1; i < s->n_history; i++) random = random || s->history[i].level == 4;
    LT_CHECK(!random || strstr(text, "R1") || strstr(text, "R2") || strstr(text, "R3") || strstr(text, "R"));
    LT_CHECK(random);
    free(text);
    lt_solution_destroy(s);
}

/* ---- Values that are not finite ---------------------------------------------------------------------------------- */
typedef struct poison { example *inner; int what; double value; int64_t calls, every; } poison;

static lt_status poisoned(void *ctx, const double *x, const lt_outputs *o)
{
    poison *p = ctx;
    lt_status s = p->inner->fn(p->inner, x, o);
    bool now = ++p->calls > 2 && p->calls % p->every == 0;
    if (s || !now) return s;
    if (p->what == 0 && o->f) *o->f = p->value;
    if (p->what == 1 && o->ci) o->ci[0] = p->value;
    if (p->what == 2 && o->ce) o->ce[0] = p->value;
    if (p->what == 3 && o->grad_f) o->grad_f[1] = p->value;
    if (p->what == 4 && o->grad_ci) o->grad_ci[0] = p->value;
    if (p->what == 5 && o->grad_ce) o->grad_ce[0] = p->value;
    return LT_OK;
}

LT_TEST(values_that_are_not_finite_never_end_in_an_answer_that_is_not)
{
    static const double value[] = { NAN, INFINITY, -INFINITY };
    for (int what = 0; what < 6; what++)
        for (int v = 0; v < 3; v++)
            for (int64_t every = 2; every < 6; every++) {
                bool equality = what == 2 || what == 5;
                poison p = { equality ? example_trace(1) : example_rosenbrock(-1.5, 2), what, value[v], 0, every };
                lt_solve_options opt = SOLVE_OPTIONS(o.x0 = p.inner->x0, o.max_iterations = 60);
                lt_solution *s = solve_function(p.inner->n, p.inner->p, p.inner->q, poisoned, &p, opt);
                LT_CHECK(s && s->termination_code > LT_TERMINATION_NONE && s->termination_code < LT_TERMINATION_INTERNAL);
                LT_CHECK(s && isfinite(s->final.f) && isfinite(s->final.tv) && isfinite(s->final.x[0]));
                LT_CHECK(!s->best.present || (isfinite(s->best.f) && isfinite(s->best.x[0])));
                lt_solution_destroy(s);
                example_free(p.inner);
            }
}

static lt_status nan_at_start(void *ctx, const double *x, const lt_outputs *o)
{
    int what = *(int *)ctx;
    lt_status s = bowl(&(int64_t){ 2 }, x, o);
    if (what == 0 && o->f) *o->f = NAN;
    if (what == 1 && o->grad_f) o->grad_f[0] = INFINITY;
    if (o->ci) *o->ci = what == 2 ? NAN : -1;
    if (o->grad_ci) o->grad_ci[0] = o->grad_ci[1] = 0;
    return s;
}

LT_TEST(a_start_that_is_not_finite_is_refused)
{
    static const char *const part[] = { "objective is nan", "gradient", "constraint 0" };
    for (int what = 0; what < 3; what++) {
        lt_problem *p;
        lt_solution *s;
        LT_CHECK_OK(lt_problem_from_function(2, 1, 0, nan_at_start, &what, &p));
        LT_CHECK_FAILS(lt_solve(p, NULL, &s), LT_ERR_NUMERIC, part[what]);
        double x0[2] = { 0, NAN };
        LT_CHECK_FAILS(lt_solve(p, (lt_solve_options[]){ SOLVE_OPTIONS(o.x0 = x0) }, &s), LT_ERR_ARGUMENT, "x0[1]");
        lt_problem_destroy(p);
    }
}

/* ---- Options --------------------------------------------------------------------------------------------------------- */
LT_TEST(the_defaults_are_those_of_the_table_and_pass_its_checks)
{
    lt_solve_options opt = lt_solve_defaults(), of_table = { .size = sizeof of_table };
    LT_CHECK_OK(lt_options_defaults(lt_solve_options_table(), &of_table));
    LT_CHECK(!memcmp(&opt, &of_table, sizeof opt));
    LT_CHECK_OK(lt_solve_options_check(&opt));
    lt_solve_debug debug = lt_solve_debug_defaults(), rows = { .size = sizeof rows };
    LT_CHECK_OK(lt_options_defaults(lt_solve_debug_table(), &rows));
    LT_CHECK(!memcmp(&debug, &rows, sizeof debug));
}

/* A program compiled with an older header has a shorter struct: what it does not know keeps its default, and text cannot write past its end. */
LT_TEST(options_of_an_older_program_are_completed)
{
    lt_solve_options opt = SOLVE_OPTIONS(o.max_iterations = 3);
    opt.size = offsetof(lt_solve_options, print_level);
    opt.print_level = 99; /* not the program's */
    LT_CHECK_OK(lt_solve_options_check(&opt));
    LT_CHECK_FAILS(lt_solve_options_set(&opt, "print_level", "0"), LT_ERR_ARGUMENT, "newer than this program");
    lt_solution *s = solve_example(example_rosenbrock(1, 1), opt, false);
    LT_CHECK(s && s->iters <= 3);
    lt_solution_destroy(s);
    opt.size = 0;
    LT_CHECK_FAILS(lt_solve_options_check(&opt), LT_ERR_ARGUMENT, "lt_solve_options");
    opt = lt_solve_defaults();
    opt.debug = &(lt_solve_debug){ 0 };
    LT_CHECK_FAILS(lt_solve_options_check(&opt), LT_ERR_ARGUMENT, "lt_solve_debug");
}

LT_TEST(every_option_of_PyGRANSO_is_known_by_its_name)
{
    static const char *const names[] = {
        "x0", "mu0", "H0", "checkH0", "scaleH0", "bfgs_damping", "limited_mem_size", "limited_mem_fixed_scaling",
        "limited_mem_warm_start", "prescaling_threshold", "prescaling_info_msg", "opt_tol", "rel_tol", "step_tol",
        "viol_ineq_tol", "viol_eq_tol", "ngrad", "evaldist", "maxit", "maxclocktime", "fvalquit", "halt_on_quadprog_error",
        "halt_on_linesearch_bracket", "min_fallback_level", "max_fallback_level", "max_random_attempts", "steering_l1_model",
        "steering_ineq_margin", "steering_maxit", "steering_c_viol", "steering_c_mu", "regularize_threshold",
        "regularize_max_eigenvalues", "wolfe1", "wolfe2", "linesearch_nondescent_maxit", "linesearch_reattempts",
        "linesearch_reattempts_x0", "linesearch_c_mu", "linesearch_c_mu_x0", "quadprog_info_msg", "print_level",
        "print_frequency", "print_width", "print_ascii", "print_use_orange", "debug_mode", "stat_l2_model",
        "torch_device", "double_precision", "globalAD", "init_step_size", "linesearch_maxit", "is_backtrack_linesearch",
        "search_direction_rescaling", "disable_terminationcode_6" };
    LT_CHECK_EQ_INT(sizeof names / sizeof *names, 56); /* and halt_log_fn, which text cannot set; QPsolver is the drop-in's: there is one solver */
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!lt_options_find(lt_solve_options_table(), names[i], &(size_t){ 0 })) LT_TEST_FAIL("no option %s", names[i]);
    lt_solve_options opt = base();
    LT_CHECK_FAILS(lt_solve_options_set(&opt, "halt_log_fn", "x"), LT_ERR_ARGUMENT, "a program sets it");
    LT_CHECK_FAILS(lt_solve_options_set(&opt, "opt_tl", "1"), LT_ERR_ARGUMENT, "opt_tol");
}

typedef struct bad_value { const char *name, *value; } bad_value;

LT_TEST(values_out_of_range_are_refused_by_name)
{
    static const bad_value bad[] = {
        { "mu0", "-1" }, { "bfgs_damping", "1.5" }, { "bfgs_damping", "-0.1" }, { "lbfgs_pairs", "-1" },
        { "prescale_above", "0" }, { "stationarity_tol", "-1e-9" }, { "decrease_tol", "-1" }, { "bracket_tol", "0" },
        { "inequality_tol", "-1" }, { "equality_tol", "-1" }, { "max_samples", "0" }, { "sample_radius", "0" }, { "max_iterations", "0" },
        { "max_seconds", "0" }, { "target_f", "nan" }, { "first_fallback", "5" }, { "last_fallback", "-1" },
        { "random_directions", "0" }, { "steering_margin", "-1" }, { "steering_reductions", "0" },
        { "steering_share", "0" }, { "steering_share", "1" }, { "steering_factor", "1" }, { "condition_limit", "0.5" },
        { "wolfe_decrease", "0.6" }, { "wolfe_slope", "1" }, { "nondescent_evals", "-1" }, { "search_retries", "-1" },
        { "search_retries_at_start", "-1" }, { "search_retry_factor", "0" }, { "search_retry_factor_at_start", "1" },
        { "print_level", "4" }, { "print_every", "0" }, { "print_width", "8" }, { "print_width", "24" },
        { "first_step", "0" }, { "search_evals", "-1" }, { "compat", "2" },
        { "qp_tol", "0" }, { "compile_mode", "fast" }, { "search_evals_cap", "0" }, { "check_H0", "maybe" } };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        lt_solve_options opt = base();
        LT_CHECK_FAILS(lt_solve_options_set(&opt, bad[i].name, bad[i].value), LT_ERR_ARGUMENT, bad[i].name);
    }
    lt_solve_options opt = base();
    LT_CHECK_OK(lt_solve_options_set(&opt, "print_every", "inf"));
    LT_CHECK_OK(lt_solve_options_set(&opt, "target_f", "-inf"));
    opt = SOLVE_OPTIONS(o.stationarity_tol = NAN);
    LT_CHECK_FAILS(lt_solve_options_check(&opt), LT_ERR_ARGUMENT, "stationarity_tol");
    opt = SOLVE_OPTIONS(o.wolfe_decrease = 0.4, o.wolfe_slope = 0.3);
    LT_CHECK_FAILS(lt_solve_options_check(&opt), LT_ERR_ARGUMENT, "wolfe_slope");
    opt = SOLVE_OPTIONS(o.print_every = 1.5);
    LT_CHECK_FAILS(lt_solve_options_check(&opt), LT_ERR_ARGUMENT, "print_every");
    const lt_hessian_state state = { .n = 2, .m = 1 };
    opt = SOLVE_OPTIONS(o.lbfgs_state = &state);
    LT_CHECK_FAILS(lt_solve_options_check(&opt), LT_ERR_ARGUMENT, "lbfgs_pairs is 0");
    const double diagonal[] = { 1, 2 };
    opt = SOLVE_OPTIONS(o.H0_diagonal = diagonal);
    LT_CHECK_FAILS(lt_solve_options_check(&opt), LT_ERR_ARGUMENT, "H0_diagonal");
    LT_CHECK_OK(lt_solve_options_set(&opt, "stationarity_l2", "7")); /* any integer is a switch */
    LT_CHECK_OK(lt_solve_options_set(&opt, "scale_H0", "0"));
    LT_CHECK(opt.stationarity_l2 && !opt.scale_H0);
    opt = SOLVE_OPTIONS(o.last_fallback = 0, o.first_fallback = 2);
    LT_CHECK_OK(lt_solve_options_check(&opt)); /* raised to the minimum when a run begins */
}

LT_TEST(a_matrix_that_is_no_start_for_H_is_refused)
{
    static const struct { double H0[4]; const char *why; } bad[] = {
        { { 1, 2, 0, 1 }, "symmetric" }, { { 1, 0, 0, -1 }, "positive definite" }, { { NAN, 0, 0, 1 }, "not finite" } };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        example *e = example_rosenbrock(1, 1);
        lt_problem *p = example_problem(e);
        lt_solve_options opt = base();
        lt_solution *s;
        opt.H0 = bad[i].H0;
        LT_CHECK_FAILS(lt_solve(p, &opt, &s), LT_ERR_ARGUMENT, bad[i].why);
        lt_problem_destroy(p);
        example_free(e);
    }
}

/* Each option below must change the run: the final point, the counts or the code. */
static uint64_t fingerprint(lt_solve_options opt, int which)
{
    example *e = which == 0 ? example_rosenbrock(5.5, 5.5) : which == 1 ? example_total_variation()
               : which == 2 ? example_robust_pca() : which == 6 ? example_rosenbrock(20, 1) : which == 7 ? example_rosenbrock(50, 1) : which >= 4 ? example_rosenbrock(5.5, 5.5) : example_rosenbrock(-1, 0.2);
    lt_solution *s = solve_example(e, opt, false);
    if (!s) return 0;
    uint64_t h = (uint64_t)s->termination_code * 1000003u + (uint64_t)s->iters * 7919u + (uint64_t)s->fn_evals
               + (uint64_t)s->best.present * 104729u;
    for (int64_t i = 0; i < s->n; i++) {
        uint64_t bits;
        memcpy(&bits, &s->final.x[i], sizeof bits);
        h = h * 1099511628211u ^ bits;
    }
    double stat = s->stat_value;
    uint64_t bits;
    memcpy(&bits, &stat, sizeof bits);
    lt_solution_destroy(s);
    return h ^ bits;
}

LT_TEST(options_change_the_run)
{
    static const struct { const char *name, *value; int which; } set[] = {
        { "mu0", "10", 0 }, { "scale_H0", "false", 0 }, { "bfgs_damping", "1", 2 }, { "lbfgs_pairs", "2", 0 },
        { "prescale_above", "1", 0 }, { "stationarity_tol", "1", 0 }, { "decrease_tol", "0.5", 1 }, { "bracket_tol", "0.1", 1 },
        { "equality_tol", "0", 2 }, { "max_samples", "1", 2 }, { "sample_radius", "10", 1 },
        { "max_iterations", "3", 0 }, { "target_f", "100", 1 }, { "first_fallback", "3", 0 }, { "steering_l1_model", "false", 0 },
        { "steering_margin", "inf", 3 }, { "steering_reductions", "1", 0 }, { "steering_share", "0.9", 0 },
        { "steering_factor", "0.1", 0 }, { "condition_limit", "10", 0 }, { "wolfe_decrease", "0.4", 1 }, { "wolfe_slope", "0.9", 5 },
        { "stationarity_l2", "false", 0 }, { "double_precision", "false", 0 }, { "first_step", "0.3", 0 },
        { "search_evals", "2", 0 }, { "backtracking", "true", 0 },
        { "unit_directions", "true", 0 }, { "patience", "0", 3 }, { "lagrangian_updates", "false", 0 }, { "correct_steps", "false", 2 }, { "steering_halvings", "0", 4 }, { "search_evals_cap", "3", 0 },
        { "scale_functions", "false", 6 }, { "scale_variables", "false", 7 } };
    for (size_t i = 0; i < sizeof set / sizeof *set; i++) {
        lt_solve_options plain = SOLVE_OPTIONS(o.max_iterations = set[i].which == 2 ? 100 : 30, o.mu0 = set[i].which == 4 ? 1e6 : 1, o.lagrangian_updates = set[i].which != 5, o.scale_functions = set[i].which >= 6), changed = plain;
        LT_CHECK_OK(lt_solve_options_set(&changed, set[i].name, set[i].value));
        if (fingerprint(plain, set[i].which) == fingerprint(changed, set[i].which))
            LT_TEST_FAIL("%s = %s changes nothing", set[i].name, set[i].value);
    }
    lt_solve_options clip = SOLVE_OPTIONS(o.max_iterations = 30, o.condition_limit = 10), lower = clip;
    lower.clip_large_eigenvalues = true;
    LT_CHECK(fingerprint(clip, 0) != fingerprint(lower, 0));
    lt_solve_options strict = SOLVE_OPTIONS(o.max_iterations = 5, o.scale_functions = false), loose = SOLVE_OPTIONS(o.max_iterations = 5, o.scale_functions = false, o.inequality_tol = 100);
    LT_CHECK(fingerprint(strict, 0) != fingerprint(loose, 0)); /* five steps are not enough to be feasible */
    lt_solve_options fixed = SOLVE_OPTIONS(o.max_iterations = 30, o.lbfgs_pairs = 3), renewed = fixed;
    renewed.lbfgs_fixed_scaling = false;
    LT_CHECK(fingerprint(fixed, 1) != fingerprint(renewed, 1));
    lt_solve_options scaled = SOLVE_OPTIONS(o.max_iterations = 30), written = SOLVE_OPTIONS(o.max_iterations = 30, o.scale_functions = false);
    LT_CHECK(fingerprint(scaled, 0) == fingerprint(written, 0)); /* a gradient of length 88 is not long */
}

LT_TEST_MAIN()
