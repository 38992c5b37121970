/* A start from the result of another run: x, mu, H and multipliers are taken, and what does not fit is named. What options were changed when a run is
   resumed. SPDX-License-Identifier: BSD-3-Clause */
#include "../base/scratch.h"
#include "solve_tools.h"

#include "lathe/npy.h"

enum { N = 2 };

/* min (x0 - 2)^2 + (x1 - 1)^2 + |x0 - x1| subject to x0 + x1 <= 2, x0 = x1^2. */
static lt_status bent(void *ctx, const double *x, const lt_outputs *out)
{
    const double s = x[0] >= x[1] ? 1 : -1;
    (void)ctx;
    if (out->f) *out->f = (x[0] - 2) * (x[0] - 2) + (x[1] - 1) * (x[1] - 1) + fabs(x[0] - x[1]);
    if (out->grad_f) out->grad_f[0] = 2 * (x[0] - 2) + s, out->grad_f[1] = 2 * (x[1] - 1) - s;
    if (out->ci) *out->ci = x[0] + x[1] - 2;
    if (out->grad_ci) out->grad_ci[0] = out->grad_ci[1] = 1;
    if (out->ce) *out->ce = x[0] - x[1] * x[1];
    if (out->grad_ce) out->grad_ce[0] = 1, out->grad_ce[1] = -2 * x[1];
    return LT_OK;
}

static const double start[] = { 3, 1.5 };

static lt_solution *first_run(int64_t pairs, int64_t iterations)
{
    return solve_function(N, 1, 1, bent, NULL, SOLVE_OPTIONS(o.x0 = start, o.lbfgs_pairs = pairs, o.max_iterations = iterations, o.mu0 = 0.25));
}

static void put(FILE *f, const char *key, const double *v, int64_t n)
{
    fprintf(f, "\"%s\": [", key);
    for (int64_t i = 0; i < n; i++) fprintf(f, "%s%.17g", i ? ", " : "", v[i]);
    fprintf(f, "]");
}

/* As the command writes it, in what matters. */
static const char *write_json(const lt_solution *s, const char *name)
{
    const char *path = scratch(name);
    const lt_solution_point *p = s->best.present ? &s->best : &s->final;
    FILE *f = fopen(path, "w");
    fprintf(f, "{\"problem\": {\"n\": %d, \"p\": 1, \"q\": 1}, \"%s\": {", N, s->best.present ? "best" : "final");
    put(f, "x", p->x, N);
    fprintf(f, ", \"mu\": %.17g}, \"certificate\": {", p->mu);
    put(f, "ci_multipliers", s->certificate->ci_multipliers, 1);
    fprintf(f, ", ");
    put(f, "ce_multipliers", s->certificate->ce_multipliers, 1);
    fprintf(f, "}, ");
    if (s->H_final.H) put(f, "H_final", s->H_final.H, N * N);
    else {
        fprintf(f, "\"H_final\": {");
        put(f, "S", s->H_final.S, s->H_final.m * N), fprintf(f, ", ");
        put(f, "Y", s->H_final.Y, s->H_final.m * N), fprintf(f, ", ");
        put(f, "rho", s->H_final.rho, s->H_final.m), fprintf(f, ", \"gamma\": %.17g}", s->H_final.gamma);
    }
    fprintf(f, "}\n");
    fclose(f);
    return path;
}

static lt_array array_of(const double *v, lt_shape s) { return (lt_array){ .dtype = LT_F64, .shape = s, .data = (void *)(uintptr_t)v }; }

static const char *write_npz(const lt_solution *s, const char *name)
{
    const char *path = scratch(name), *const names[] = { "x", "mu", "ci_multipliers", "ce_multipliers", "H" };
    const lt_solution_point *p = s->best.present ? &s->best : &s->final;
    const lt_array arrays[] = { array_of(p->x, lt_shape1(N)), array_of(&p->mu, lt_shape0()), array_of(s->certificate->ci_multipliers, lt_shape1(1)),
                                array_of(s->certificate->ce_multipliers, lt_shape1(1)), array_of(s->H_final.H, lt_shape2(N, N)) };
    LT_CHECK_OK(lt_npz_write(path, 5, names, arrays));
    return path;
}

typedef struct seen { double mu, H[N * N]; int64_t m; } seen;

static bool look(void *ctx, const lt_iterate *it)
{
    seen *at = ctx;
    lt_hessian_state h;
    if (it->iter) return true;
    LT_CHECK_OK(lt_iterate_hessian(it, &h));
    at->mu = it->mu;
    at->m = h.m;
    if (h.H) memcpy(at->H, h.H, sizeof at->H);
    lt_hessian_state_release(&h);
    return true;
}

static seen start_from(const char *path, int64_t pairs, double mu0)
{
    seen at = { 0 };
    lt_solution *s = solve_function(N, 1, 1, bent, NULL, SOLVE_OPTIONS(o.x0_file = path, o.lbfgs_pairs = pairs, o.mu0 = mu0, o.iterate_fn = look, o.iterate_ctx = &at));
    lt_solution_destroy(s);
    return at;
}

LT_TEST(everything_is_taken)
{
    lt_solution *s = first_run(0, 6);
    const lt_solution_point *p = s->best.present ? &s->best : &s->final;
    for (int k = 0; k < 2; k++) {
        const char *path = k ? write_npz(s, "r.npz") : write_json(s, "r.json");
        seen at = start_from(path, 0, 1);
        LT_CHECK(at.mu == p->mu && p->mu != 1);
        LT_CHECK(!memcmp(at.H, s->H_final.H, sizeof at.H));
        at = start_from(path, 0, 0.125); /* asked for */
        LT_CHECK(at.mu == 0.125);
        at = start_from(path, 5, 1);     /* a full H says nothing to limited memory */
        LT_CHECK(at.mu == p->mu && at.m == 0);
    }
    lt_solution_destroy(s);
    s = first_run(4, 6);
    seen at = start_from(write_json(s, "r.json"), 4, 1);
    LT_CHECK_EQ_INT(at.m, s->H_final.m);
    LT_CHECK(at.m > 0);
    lt_solution_destroy(s);
}

LT_TEST(a_run_gets_on_from_where_another_ended)
{
    lt_solution *whole = first_run(0, 1000), *part = first_run(0, 8);
    lt_solution *rest = solve_function(N, 1, 1, bent, NULL, SOLVE_OPTIONS(o.x0_file = write_json(part, "p.json")));
    LT_CHECK_EQ_INT(rest->termination_code, LT_TERMINATION_CONVERGED);
    LT_CHECK_NEAR(rest->best.f, whole->best.f, 1e-7);
    LT_CHECK(rest->iters < whole->iters);
    lt_solution *done = solve_function(N, 1, 1, bent, NULL, SOLVE_OPTIONS(o.x0_file = write_npz(whole, "w.npz")));
    LT_CHECK(done->iters <= 2);
    lt_solution_destroy(done);
    lt_solution_destroy(rest);
    lt_solution_destroy(part);
    lt_solution_destroy(whole);
}

static void refused(const char *name, const char *text, lt_status status, const char *says)
{
    const char *path = scratch(name);
    lt_problem *p;
    lt_solution *s = NULL;
    FILE *f = fopen(path, "w");
    fputs(text, f);
    fclose(f);
    LT_CHECK_OK(lt_problem_from_function(N, 1, 1, bent, NULL, &p));
    lt_solve_options opt = SOLVE_OPTIONS(o.x0_file = path);
    LT_CHECK_FAILS(lt_solve(p, &opt, &s), status, says);
    LT_CHECK(!s && strstr(lt_error_text(), name));
    lt_problem_destroy(p);
}

LT_TEST(what_does_not_fit_is_named)
{
    refused("a.json", "{\"problem\": {\"n\": 3, \"p\": 1, \"q\": 1}, \"final\": {\"x\": [1, 2, 3]}}", LT_ERR_MISMATCH, "another problem: n 3, this one's 2");
    refused("a.json", "{\"problem\": {\"n\": 2, \"p\": 1, \"q\": 0}, \"final\": {\"x\": [1, 2]}}", LT_ERR_MISMATCH, "another problem: q 0, this one's 1");
    refused("a.json", "{\"problem\": {\"n\": 2, \"p\": 1, \"q\": 1}, \"final\": {\"x\": [1, 2, 3]}}", LT_ERR_MISMATCH, "x 3, this one's 2");
    refused("a.json", "{\"problem\": {\"n\": 2, \"p\": 1, \"q\": 1}, \"final\": {\"x\": [1, \"NaN\"]}}", LT_ERR_FORMAT, "entry 1 of x is nan");
    refused("a.json", "{\"problem\": {\"n\": 2, \"p\": 1, \"q\": 1}, \"final\": {\"x\": [1, \"b\"]}}", LT_ERR_FORMAT, "x: expected numbers");
    refused("a.json", "{\"problem\": {\"n\": 2, \"p\": 1, \"q\": 1}}", LT_ERR_FORMAT, "has no 'x'");
    refused("a.json", "{\"problem\": {\"n\": 2, \"p\": 1, \"q\": 1}, \"final\": {\"x\": [1, 2", LT_ERR_FORMAT, "the file ends early");
    refused("a.json", "[1, 2]", LT_ERR_FORMAT, "has no problem.n");
    refused("a.json", "{\"problem\": {\"n\": 2, \"p\": 1, \"q\": 1}, \"final\": {\"x\": [1, 2]}, \"H_final\": [1, 2, 3, 4]}", LT_ERR_ARGUMENT, "expected a symmetric matrix");
    refused("a.json", "{\"problem\": {\"n\": 2, \"p\": 1, \"q\": 1}, \"final\": {\"x\": [1, 2]}, \"H_final\": [1, 2, 3]}", LT_ERR_MISMATCH, "H_final 3, this one's 4");
    refused("b.npz", "PK", LT_ERR_FORMAT, "expected a zip archive");
}

/* Every truncation of a .npz file is refused or, where its directory is whole, read. */
LT_TEST(truncated_npz)
{
    lt_solution *s = first_run(0, 6);
    const char *path = write_npz(s, "whole.npz"), *cut = scratch("cut.npz");
    static char bytes[1 << 14];
    FILE *f = fopen(path, "rb");
    const size_t n = fread(bytes, 1, sizeof bytes, f);
    fclose(f);
    lt_problem *p;
    LT_CHECK_OK(lt_problem_from_function(N, 1, 1, bent, NULL, &p));
    for (size_t k = 0; k < n; k += 7) {
        lt_solution *none = NULL;
        f = fopen(cut, "wb");
        fwrite(bytes, 1, k, f);
        fclose(f);
        lt_solve_options opt = SOLVE_OPTIONS(o.x0_file = cut);
        LT_CHECK_FAILS(lt_solve(p, &opt, &none), LT_ERR_FORMAT, "cut.npz");
    }
    lt_problem_destroy(p);
    lt_solution_destroy(s);
}

/* ---- Graphs: variables have names ------------------------------------------------------------------------------------ */
static lt_status from_text(const char *text, const char *path, int64_t *iters)
{
    lt_model *m = NULL;
    lt_problem *p = NULL;
    lt_solution *s = NULL;
    LT_CHECK_OK(lt_model_parse("t.lt", "", text, strlen(text), &m));
    LT_CHECK_OK(lt_problem_from_model(m, &p));
    lt_solve_options opt = SOLVE_OPTIONS(o.x0_file = path);
    const lt_status got = lt_solve(p, &opt, &s);
    if (s) *iters = s->iters;
    lt_solution_destroy(s);
    lt_problem_destroy(p);
    lt_model_destroy(m);
    return got;
}

LT_TEST(variables_by_name)
{
    const double a[] = { 0.5, 0.5 }, mu = 7;
    int64_t iters = -1;
    const char *const names[] = { "a", "mu", "mu_" };
    const lt_array arrays[] = { array_of(a, lt_shape1(2)), array_of(&mu, lt_shape0()), array_of(a, lt_shape0()) };
    const char *path = scratch("named.npz");
    LT_CHECK_OK(lt_npz_write(path, 3, names, arrays));
    LT_CHECK_OK(from_text("var mu = 0\nvar a[2] = 0\nminimize (mu - 7)^2 + sum((a - 0.5)^2)\n", path, &iters));
    LT_CHECK_EQ_INT(iters, 0);
    LT_CHECK_FAILS(from_text("var b = 0\nvar a[2] = 0\nminimize b^2 + sum(a^2)\n", path, &iters), LT_ERR_MISMATCH, "has no variable 'b'");
    LT_CHECK_FAILS(from_text("var a[3] = 0\nminimize sum(a^2)\n", path, &iters), LT_ERR_MISMATCH, "a 2, this one's 3");
    const char *json = scratch("named.json");
    FILE *f = fopen(json, "w");
    fputs("{\"problem\": {\"n\": 2, \"p\": 0, \"q\": 0}, \"best\": {\"x\": [1, 2]}, \"variables\": {\"u\": 1, \"v\": 2}}", f);
    fclose(f);
    LT_CHECK_OK(from_text("var u = 0\nvar v = 0\nminimize (u - 1)^2 + (v - 2)^2\n", json, &iters));
    LT_CHECK_EQ_INT(iters, 0);
    LT_CHECK_FAILS(from_text("var v = 0\nvar u = 0\nminimize (u - 1)^2 + (v - 2)^2\n", json, &iters), LT_ERR_MISMATCH, "no variable 'v' in place 0");
}

/* ---- Resuming ----------------------------------------------------------------------------------------------------------- */
LT_TEST(a_resumed_run_says_what_was_changed)
{
    const char *path = scratch("run.ckpt");
    lt_solve_options opt = SOLVE_OPTIONS(o.x0 = start, o.max_iterations = 4, o.checkpoint = path, o.wolfe_slope = 0.7);
    lt_solution_destroy(solve_function(N, 1, 1, bent, NULL, opt));
    opt.x0 = NULL, opt.checkpoint = NULL, opt.resume = path;
    lt_solution *s = solve_function(N, 1, 1, bent, NULL, opt);
    LT_CHECK(s->n_changed_options == 0 && !s->changed_options);
    lt_solution_destroy(s);
    opt = SOLVE_OPTIONS(o.resume = path, o.stationarity_tol = 1e-5, o.print_level = 2);
    s = solve_function(N, 1, 1, bent, NULL, opt);
    static const char *const expected[][3] = { { "stationarity_tol", "1e-08", "1e-05" }, { "max_iterations", "4", "1000" }, { "wolfe_slope", "0.7", "0.5" } };
    LT_CHECK_EQ_INT(s->n_changed_options, 3);
    for (int i = 0; i < 3 && i < s->n_changed_options; i++)
        LT_CHECK(!strcmp(s->changed_options[i].name, expected[i][0]) && !strcmp(s->changed_options[i].was, expected[i][1]) && !strcmp(s->changed_options[i].now, expected[i][2]));
    lt_solution_destroy(s);
    lt_problem *p;
    LT_CHECK_OK(lt_problem_from_function(N, 1, 1, bent, NULL, &p));
    opt = SOLVE_OPTIONS(o.resume = path, o.lbfgs_pairs = 3, o.compat = 1);
    LT_CHECK_FAILS(lt_solve(p, &opt, &s), LT_ERR_MISMATCH, "made with lbfgs_pairs 0, this run has 3; compat 0, this run has 1");
    lt_problem_destroy(p);
}

LT_TEST_MAIN()
