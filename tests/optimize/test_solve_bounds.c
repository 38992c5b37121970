/* Bounds that are kept: no point outside is evaluated, answers are those known, and the KKT conditions hold by arithmetic of this file's own.
   SPDX-License-Identifier: BSD-3-Clause */
#include "../base/scratch.h"
#include "shadowed.h"
#include "solve_tools.h"

#include "lathe/problem.h"
#include "optimize/hessian/hessian.h"

enum { N = 6 };

/* A chained kink with weights; an inequality and an equality. Every x is looked at. */
typedef struct watched { const double *lower, *upper; int64_t n, calls, outside; bool smooth; } watched;

static void look(watched *w, const double *x)
{
    w->calls++;
    for (int64_t i = 0; i < w->n; i++) w->outside += !(x[i] >= w->lower[i] && x[i] <= w->upper[i]);
}

static lt_status chained(void *ctx, const double *x, const lt_outputs *out)
{
    watched *w = ctx;
    const int64_t n = w->n;
    double f = 0;
    look(w, x);
    if (out->grad_f) memset(out->grad_f, 0, (size_t)n * sizeof(double));
    for (int64_t i = 0; i < n; i++) {
        const double t = x[i] - (double)(i % 5) + 1.5, k = i + 1 < n ? x[i + 1] - 0.3 * x[i] * x[i] : 0;
        f += t * t + (w->smooth ? k * k : fabs(k));
        if (!out->grad_f) continue;
        out->grad_f[i] += 2 * t;
        if (i + 1 == n) continue;
        const double s = w->smooth ? 2 * k : k >= 0 ? 1 : -1;
        out->grad_f[i + 1] += s;
        out->grad_f[i] -= 0.6 * s * x[i];
    }
    if (out->f) *out->f = f;
    if (out->ci) *out->ci = x[0] + x[1] + x[2] - 1;
    if (out->grad_ci) memset(out->grad_ci, 0, (size_t)n * sizeof(double)), out->grad_ci[0] = out->grad_ci[1] = out->grad_ci[2] = 1;
    if (out->ce) *out->ce = x[3] * x[3] + x[4] - 1;
    if (out->grad_ce) memset(out->grad_ce, 0, (size_t)n * sizeof(double)), out->grad_ce[3] = 2 * x[3], out->grad_ce[4] = 1;
    return LT_OK;
}

static const double lower[N] = { -0.5, -INFINITY, 0.25, -2, 0, 0.1 }, upper[N] = { 0.5, 0.4, INFINITY, 2, 0.8, 0.1 };
static const double start[N] = { 3, 3, -3, 0.5, 9, -1 };

static lt_solution *run(int p, int q, watched *w, const lt_solve_options *opt)
{
    lt_problem *problem;
    lt_solution *s = NULL;
    LT_CHECK_OK(lt_problem_from_function(w->n, p, q, chained, w, &problem));
    LT_CHECK_OK(lt_problem_set_bounds(problem, w->lower, w->upper));
    LT_CHECK_OK(lt_solve(problem, opt, &s));
    lt_problem_destroy(problem);
    return s;
}

/* |gradient of f + l ci + m ce - z|, with the signs and distances that z must have. */
static void must_balance(const lt_solution *s, watched *w, const char *what)
{
    const int64_t n = w->n;
    double *g = malloc((size_t)(3 * n) * sizeof *g), *gi = g + n, *ge = gi + n, length = 0, size = 1;
    LT_CHECK_OK(chained(w, s->final.x, &(lt_outputs){ .grad_f = g, .grad_ci = gi, .grad_ce = ge }));
    for (int64_t i = 0; i < n; i++) {
        const double z = s->certificate->bound_multipliers[i], at_lower = s->final.x[i] - w->lower[i], at_upper = w->upper[i] - s->final.x[i];
        double v = g[i] - z;
        if (s->p) v += s->certificate->ci_multipliers[0] * gi[i];
        if (s->q) v += s->certificate->ce_multipliers[0] * ge[i];
        length += v * v;
        size = fmax(size, fabs(g[i]));
        if ((z > 0 && at_lower > 1e-6) || (z < 0 && at_upper > 1e-6)) LT_TEST_FAIL("%s: x[%lld] is at no bound, but has the multiplier %g", what, (long long)i, z);
    }
    if (!(sqrt(length) <= 1e-4 * size)) LT_TEST_FAIL("%s: the gradients leave %g", what, sqrt(length));
    free(g);
}

/* ---- Where points are ---------------------------------------------------------------------------------------------- */
typedef struct kind { const char *what; int p, q; lt_solve_options opt; } kind;

LT_TEST(no_point_outside_is_evaluated)
{
    const kind kinds[] = {
        { "full memory", 0, 0, SOLVE_OPTIONS(0) },
        { "constrained", 1, 1, SOLVE_OPTIONS(0) },
        { "limited memory", 0, 0, SOLVE_OPTIONS(o.lbfgs_pairs = 4) },
        { "limited memory, constrained", 1, 1, SOLVE_OPTIONS(o.lbfgs_pairs = 4) },
        { "random directions", 1, 1, SOLVE_OPTIONS(o.last_fallback = 4, o.stationarity_tol = 0) },
        { "gradients only", 1, 0, SOLVE_OPTIONS(o.first_fallback = 3, o.max_iterations = 60) },
        { "backtracking", 0, 0, SOLVE_OPTIONS(o.backtracking = true, o.max_iterations = 60) },
        { "long steps", 1, 1, SOLVE_OPTIONS(o.first_step = 64) },
        { "single precision", 1, 0, SOLVE_OPTIONS(o.double_precision = false, o.stationarity_tol = 1e-4) },
        { "a bounded condition of H", 1, 1, SOLVE_OPTIONS(o.condition_limit = 1e3) },
        { "patience", 1, 1, SOLVE_OPTIONS(o.patience = 5) },
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        for (int smooth = 0; smooth < 2; smooth++) {
            watched w = { lower, upper, N, 0, 0, smooth };
            lt_solve_options opt = kinds[i].opt;
            opt.x0 = start;
            opt.debug = NULL;
            lt_solution *s = run(kinds[i].p, kinds[i].q, &w, &opt);
            if (w.outside) LT_TEST_FAIL("%s: %lld numbers of %lld points were outside", kinds[i].what, (long long)w.outside, (long long)w.calls);
            LT_CHECK_EQ_INT(s->n_start_moved, 5);
            LT_CHECK(w.calls > 3 && s->certificate->bound_multipliers);
            if (s->termination_code == LT_TERMINATION_CONVERGED && smooth && opt.double_precision) must_balance(s, &w, kinds[i].what);
            if (i < 4 && !(s->certificate->residual <= 1e-4)) LT_TEST_FAIL("%s, smooth %d: code %d, residual %g", kinds[i].what, smooth, s->termination_code, s->certificate->residual);
            lt_solution_destroy(s);
        }
}

/* ---- Known answers ------------------------------------------------------------------------------------------------------ */
/* (x - t)'D(x - t): the nearest point of a box. */
typedef struct bowl { int64_t n; const double *lower, *upper; bool kink; int64_t outside; } bowl;
static double wanted(const bowl *b, int64_t i)
{
    const double t = sin((double)(3 * i)) * 2;
    return fmin(fmax(t, b->lower[i]), b->upper[i]);
}

static lt_status bowl_fn(void *ctx, const double *x, const lt_outputs *out)
{
    bowl *b = ctx;
    double f = 0;
    for (int64_t i = 0; i < b->n; i++) {
        const double d = 1 + (double)(i % 10), t = x[i] - sin((double)(3 * i)) * 2;
        b->outside += !(x[i] >= b->lower[i] && x[i] <= b->upper[i]);
        f += b->kink ? d * fabs(t) : d * t * t;
        if (out->grad_f) out->grad_f[i] = b->kink ? (t >= 0 ? d : -d) : 2 * d * t;
    }
    if (out->f) *out->f = f;
    return LT_OK;
}

static lt_solution *solve_bowl(bowl *b, int64_t pairs, int64_t samples)
{
    lt_problem *problem;
    lt_solution *s = NULL;
    double *x0 = calloc((size_t)b->n, sizeof *x0);
    const lt_solve_options opt = SOLVE_OPTIONS(o.lbfgs_pairs = pairs, o.max_samples = samples, o.x0 = x0, o.stationarity_tol = 1e-7);
    LT_CHECK_OK(lt_problem_from_function(b->n, 0, 0, bowl_fn, b, &problem));
    LT_CHECK_OK(lt_problem_set_bounds(problem, b->lower, b->upper));
    LT_CHECK_OK(lt_solve(problem, &opt, &s));
    lt_problem_destroy(problem);
    free(x0);
    return s;
}

static void make_box(int64_t n, double *l, double *u)
{
    for (int64_t i = 0; i < n; i++) l[i] = i % 3 ? -1 : -INFINITY, u[i] = i % 4 ? 1 - 0.5 * (double)(i % 2) : INFINITY;
}

LT_TEST(nearest_points_of_boxes)
{
    enum { MOST = 120 };
    double l[MOST], u[MOST];
    make_box(MOST, l, u);
    for (int k = 0; k < 8; k++) {
        bowl b = { k & 1 ? MOST : 9, l, u, (k & 2) != 0 && !(k & 1), 0 };
        lt_solution *s = solve_bowl(&b, k & 4 ? 7 : 0, 0);
        double off = 0;
        int64_t inexact = 0, at_bounds = 0;
        for (int64_t i = 0; i < b.n; i++) {
            off = fmax(off, fabs(s->best.x[i] - wanted(&b, i)));
            at_bounds += wanted(&b, i) == l[i] || wanted(&b, i) == u[i];
            inexact += (wanted(&b, i) == l[i] || wanted(&b, i) == u[i]) && s->best.x[i] != wanted(&b, i);
        }
        if (off > (b.kink ? 1e-4 : 1e-5) || 2 * inexact > at_bounds || b.outside) LT_TEST_FAIL("run %d: off by %g, %lld not at their bound, %lld outside; code %d", k, off, (long long)inexact, (long long)b.outside, s->termination_code);
        for (int64_t i = 0; i < b.n && !b.kink; i++) { /* sensitivity: the slope that the bound holds */
            const double d = 1 + (double)(i % 10), slope = 2 * d * (wanted(&b, i) - sin((double)(3 * i)) * 2);
            LT_CHECK_NEAR(s->certificate->bound_multipliers[i], slope, 1e-4);
        }
        lt_solution_destroy(s);
    }
}

/* A linear objective: the first full step reaches the vertex, exactly. */
static lt_status slope(void *ctx, const double *x, const lt_outputs *out)
{
    (void)ctx;
    if (out->f) *out->f = x[0] - 0.1 * x[1] + 0.3 * x[2];
    if (out->grad_f) out->grad_f[0] = 1, out->grad_f[1] = -0.1, out->grad_f[2] = 0.3;
    return LT_OK;
}

LT_TEST(a_vertex_is_reached_exactly)
{
    static const double l[] = { -0.1, -3, 1.0 / 3 }, u[] = { 7, 0.7, 5 }, x0[] = { 0.3, 0.1, 1 };
    for (int pairs = 0; pairs < 6; pairs += 5) {
        lt_problem *problem;
        lt_solution *s = NULL;
        const lt_solve_options opt = SOLVE_OPTIONS(o.x0 = x0, o.lbfgs_pairs = pairs, o.stationarity_tol = 1e-12);
        LT_CHECK_OK(lt_problem_from_function(3, 0, 0, slope, NULL, &problem));
        LT_CHECK_OK(lt_problem_set_bounds(problem, l, u));
        LT_CHECK_OK(lt_solve(problem, &opt, &s));
        LT_CHECK(s->final.x[0] == l[0] && s->final.x[1] == u[1] && s->final.x[2] == l[2]);
        LT_CHECK_EQ_INT(s->termination_code, LT_TERMINATION_CONVERGED);
        LT_CHECK(s->iters <= 40);
        lt_solution_destroy(s);
        lt_problem_destroy(problem);
    }
}

/* ---- Rows of text -------------------------------------------------------------------------------------------------------- */
typedef struct seen { int64_t p, outside; double lower[8], upper[8]; } seen;

static bool watch(void *ctx, const lt_iterate *it)
{
    seen *s = ctx;
    s->p = it->p;
    for (int64_t i = 0; i < it->n && i < 8; i++) s->outside += !(it->x[i] >= s->lower[i] && it->x[i] <= s->upper[i]);
    return false;
}

static lt_status solve_text(const char *text, lt_honor honor, seen *at, lt_solution **s)
{
    lt_model *m = NULL;
    lt_problem *p = NULL;
    *s = NULL;
    LT_CHECK_OK(lt_model_parse("t.lt", "", text, strlen(text), &m));
    LT_CHECK_OK(lt_problem_from_model(m, &p));
    const lt_solve_options opt = SOLVE_OPTIONS(o.honor_bounds = honor, o.iterate_fn = at ? watch : NULL, o.iterate_ctx = at);
    const lt_status got = lt_solve(p, &opt, s);
    lt_problem_destroy(p);
    lt_model_destroy(m);
    return got;
}

static const char rows_text[] =
    "var x[4] = [0.5, 5, 5, 0.2]\nvar y = 7\nminimize sum((x - 2)^2) + (y - 3)^2 + abs(x[0] - y)\nsubject to\n"
    "  -1 <= x[1:3] <= 1.25\n  both: 2*x[0] + x[1] <= 3\n  3*y >= -0.5\n  x/3 <= [1, 2, 3, 0.5]\n  -(y - 0.1) >= -2\n  x[3]^2 <= 9\n  0*x[0] + x[1] <= 50\n";

LT_TEST(rows_of_one_variable_are_found)
{
    lt_solution *all, *none, *automatic;
    seen at = { .lower = { -INFINITY, -1, -1, -INFINITY, -0.5 / 3 }, .upper = { 3, 1.25, 1.25, 1.5, 2.1 } };
    LT_CHECK_OK(solve_text(rows_text, LT_HONOR_ALL, &at, &all));
    LT_CHECK_EQ_INT(at.p, 3);
    LT_CHECK_EQ_INT(at.outside, 0);
    LT_CHECK_EQ_INT(all->p, 13);
    LT_CHECK_OK(solve_text(rows_text, LT_HONOR_NONE, &at, &none));
    LT_CHECK_EQ_INT(at.p, 13);
    LT_CHECK_OK(solve_text(rows_text, LT_HONOR_AUTO, &at, &automatic));
    LT_CHECK_EQ_INT(at.p, 13);
    LT_CHECK(automatic->final.f == none->final.f && automatic->fn_evals == none->fn_evals);
    LT_CHECK_NEAR(all->best.f, none->best.f, 1e-6);
    for (int j = 0; j < 13; j++) {
        LT_CHECK_NEAR(all->best.ci[j], none->best.ci[j], 1e-4);
        LT_CHECK(all->best.ci[j] <= 1e-12 || j == 4);
        LT_CHECK_NEAR(all->certificate->ci_multipliers[j], none->certificate->ci_multipliers[j], 2e-2);
    }
    LT_CHECK(all->certificate->stationary && all->certificate->n_active == none->certificate->n_active);
    lt_solution_destroy(all);
    lt_solution_destroy(none);
    lt_solution_destroy(automatic);
}

LT_TEST(declared_bounds_are_kept_by_themselves)
{
    static const char text[] = "var x[3] in [0.001, [1, 2, inf]] = 5\nvar y in [-1, 1] = 0\nminimize sum(x*log(x)) + (y - 3)^2\nsubject to\n  cap: x[0] + y in [-inf, 1.5]\n  x[1] in [0.15, 3]\n  x[0] <= 0.9\n";
    seen at = { .lower = { 0.001, 0.15, 0.001, -1 }, .upper = { 1, 2, INFINITY, 1 } };
    lt_solution *s;
    LT_CHECK_OK(solve_text(text, LT_HONOR_AUTO, &at, &s));
    LT_CHECK_EQ_INT(at.p, 2);
    LT_CHECK_EQ_INT(at.outside, 0);
    LT_CHECK_EQ_INT(s->n_start_moved, 2);
    LT_CHECK_NEAR(s->best.x[0], exp(-1), 1e-5);
    LT_CHECK_NEAR(s->best.x[3], 1, 0);
    lt_solution_destroy(s);
}

/* ---- Problems of the literature ------------------------------------------------------------------------------------------- */
LT_TEST(problems_with_published_optima)
{
    static const struct { const char *name; double f; } problems[] = {
        { "hs021", -99.96 }, { "hs032", 1 }, { "hs036", -3300 }, { "hs071", 17.0140172891 }, { "hs076", -4.68181818182 }, { "a_optimal", NAN }, { "water_filling", NAN } };
    for (size_t i = 0; i < sizeof problems / sizeof *problems; i++) {
        char path[400], line[400];
        double expected = NAN;
        lt_model *m = NULL;
        lt_problem *p = NULL;
        lt_solution *s = NULL;
        const lt_solve_options opt = SOLVE_OPTIONS(o.honor_bounds = LT_HONOR_ALL);
        snprintf(path, sizeof path, "%s/%s.lt", LT_LITERATURE, problems[i].name);
        FILE *f = fopen(path, "r");
        while (f && fgets(line, sizeof line, f) && sscanf(line, "# expect f = %lf", &expected) != 1) {}
        if (f) fclose(f);
        LT_CHECK(!isnan(expected));
        if (!isnan(problems[i].f)) LT_CHECK_NEAR(expected, problems[i].f, 1e-9);
        LT_CHECK_OK(lt_model_read(path, &m));
        LT_CHECK_OK(lt_problem_from_model(m, &p));
        LT_CHECK_OK(lt_solve(p, &opt, &s));
        const double sign = lt_model_get(m).maximize ? -1 : 1, got = s->best.present ? sign * s->best.f : NAN;
        if (!(fabs(got - expected) <= 1e-6 * fmax(1, fabs(expected)))) LT_TEST_FAIL("%s: %.12g, expected %.12g; code %d", problems[i].name, got, expected, s->termination_code);
        LT_CHECK(s->certificate->bound_multipliers && s->certificate->stationary);
        lt_solution_destroy(s);
        lt_problem_destroy(p);
        lt_model_destroy(m);
    }
}

/* ---- Bad input --------------------------------------------------------------------------------------------------------------- */
LT_TEST(what_cannot_be_is_named)
{
    lt_problem *p;
    lt_solution *s;
    watched w = { lower, upper, N, 0, 0, true };
    LT_CHECK_OK(lt_problem_from_function(N, 0, 0, chained, &w, &p));
    double l[N] = { 0 }, u[N] = { 1, 1, 1, 1, 1, 1 };
    l[3] = 2;
    LT_CHECK_FAILS(lt_problem_set_bounds(p, l, u), LT_ERR_ARGUMENT, "x[3] is to lie in [2, 1]");
    l[3] = NAN;
    LT_CHECK_FAILS(lt_problem_set_bounds(p, l, u), LT_ERR_ARGUMENT, "the lower bound of x[3] is NaN");
    l[3] = INFINITY, u[3] = INFINITY;
    LT_CHECK_FAILS(lt_problem_set_bounds(p, l, u), LT_ERR_ARGUMENT, "no number does");
    LT_CHECK_FAILS(lt_problem_set_bounds(NULL, l, u), LT_ERR_ARGUMENT, "NULL");
    LT_CHECK_OK(lt_problem_set_bounds(p, NULL, upper));
    lt_solve_options opt = SOLVE_OPTIONS(o.compat = 1);
    LT_CHECK_FAILS(lt_solve(p, &opt, &s), LT_ERR_UNSUPPORTED, "option 'compat'");
    opt = SOLVE_OPTIONS(o.honor_bounds = LT_HONOR_NONE);
    LT_CHECK_FAILS(lt_solve(p, &opt, &s), LT_ERR_UNSUPPORTED, "option 'honor_bounds'");
    opt = SOLVE_OPTIONS(o.hessian_on = LT_HESSIAN_DEVICE);
    LT_CHECK_FAILS(lt_solve(p, &opt, &s), LT_ERR_UNSUPPORTED, "hessian_on");
    lt_problem_destroy(p);
    LT_CHECK_FAILS(solve_text("var z[2] = 1\nminimize sum(z)\nsubject to\n z[1] >= 2\n 2*z[1] <= 3\n", LT_HONOR_ALL, NULL, &s), LT_ERR_MISMATCH,
                   "the bounds of z, element 1, contradict each other: at least 2 and at most 1.5");
    LT_CHECK_OK(solve_text("var z[2] = 1\nminimize sum(z)\nsubject to\n z[1] >= 2\n 2*z[1] <= 3\n", LT_HONOR_AUTO, NULL, &s)); /* not declared: a conflict */
    LT_CHECK_EQ_INT(s->certificate->n_conflict, 2);
    lt_solution_destroy(s);
}

/* Bounds take part in conflicts, by the rows that say them. */
LT_TEST(bounds_in_a_conflict)
{
    lt_solution *s;
    LT_CHECK_OK(solve_text("var x[3] = 1\nminimize sum(x^2)\nsubject to\n x in [-5, 1.5]\n x[0] + x[1] >= 4\n sum(x) <= 100\n", LT_HONOR_AUTO, NULL, &s));
    const lt_certificate *c = s->certificate;
    LT_CHECK_EQ_INT(c->n_conflict, 3);
    int64_t sum = 0;
    for (int64_t i = 0; i < c->n_conflict; i++) sum += c->conflict[i] == 3 || c->conflict[i] == 4 || c->conflict[i] == 6; /* upper bounds of x[0] and x[1]; the first constraint */
    LT_CHECK_EQ_INT(sum, 3);
    lt_solution_destroy(s);
}

/* ---- Checkpoints ------------------------------------------------------------------------------------------------------------- */
LT_TEST(resumed_bit_for_bit)
{
    for (int pairs = 0; pairs < 5; pairs += 4) {
        watched w = { lower, upper, N, 0, 0, false };
        const char *path = scratch("b.ckpt");
        lt_solve_options opt = SOLVE_OPTIONS(o.x0 = start, o.lbfgs_pairs = pairs, o.max_iterations = 12, o.max_samples = 5);
        lt_solution *whole = run(1, 1, &w, &opt);
        opt.max_iterations = 5, opt.checkpoint = path;
        lt_solution *part = run(1, 1, &w, &opt);
        opt.max_iterations = 12, opt.checkpoint = NULL, opt.resume = path, opt.x0 = NULL;
        lt_solution *rest = run(1, 1, &w, &opt);
        LT_CHECK(rest->iters == whole->iters && !memcmp(rest->final.x, whole->final.x, N * sizeof(double)) && rest->fn_evals == whole->fn_evals);
        LT_CHECK(part->iters == 5);
        lt_solution_destroy(whole);
        lt_solution_destroy(part);
        lt_solution_destroy(rest);
    }
}

/* ---- Many variables ------------------------------------------------------------------------------------------------------------ */
static int64_t peak_kib(void)
{
    char line[200];
    int64_t kib = -1;
    FILE *f = fopen("/proc/self/status", "r");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "VmHWM: %lld", (long long *)&kib) == 1) break;
    if (f) fclose(f);
    return kib;
}

static lt_solution *solve_large(bowl *b)
{
    lt_problem *problem;
    lt_solution *s = NULL;
    const lt_solve_options opt = SOLVE_OPTIONS(o.lbfgs_pairs = 5, o.max_samples = 3, o.stationarity_tol = 1e-4, o.max_iterations = 60);
    LT_CHECK_OK(lt_problem_from_function(b->n, 0, 0, bowl_fn, b, &problem));
    LT_CHECK_OK(lt_problem_set_bounds(problem, b->lower, b->upper));
    LT_CHECK_OK(lt_solve(problem, &opt, &s));
    lt_problem_destroy(problem);
    return s;
}

/* Memory is that of 2 M + 6 vectors, one per sample and its gradient, and what bounds take: 4 for the bounds and their rows, 4 for multipliers;
   and the solution's own points. */
LT_TEST(a_million_bounded_variables)
{
    const int64_t n = lt_test_brief() ? 20000 : 1000000;
    double *l = malloc((size_t)(2 * n) * sizeof *l), *u = l + n;
    make_box(n, l, u);
    bowl b = { n, l, u, false, 0 };
    const int64_t before = peak_kib();
    lt_solution *s = solve_large(&b);
    const int64_t after = peak_kib();
    double off = 0;
    for (int64_t i = 0; i < n; i++) off = fmax(off, fabs(s->best.x[i] - wanted(&b, i)));
    LT_CHECK(off < 1e-5 && !b.outside);
    LT_CHECK_EQ_INT(s->termination_code, LT_TERMINATION_CONVERGED);
    const double vectors = (double)(after - before) * 1024 / (8.0 * (double)n);
    printf("n = %lld: %lld iterations, %lld evaluations, %.1f vectors of memory\n", (long long)n, (long long)s->iters, (long long)s->fn_evals, vectors);
    LT_CHECK(SHADOWED || vectors < 2 * 5 + 6 + 2 * 3 + 8 + 6);
    lt_solution_destroy(s);
    free(l);
}

/* Two rows per variable, which as constraints would have gradients of terabytes. */
LT_TEST(rows_of_many_bounds_are_never_gradients)
{
    seen at = { .lower = { -0.5, -0.5, -0.5, -0.5, -0.5, -0.5, -0.5, -0.5 }, .upper = { 0.25, 0.25, 0.25, 0.25, 0.25, 0.25, 0.25, 0.25 } };
    lt_solution *s;
    const char *const texts[] = { "var x[300000] in [-0.5, 0.25] = 0\n", "var x[300000] = 0\n" }; /* declared; or kept because there are so many */
    for (int k = 0; k < 2; k++) {
        char text[600];
        snprintf(text, sizeof text, "%sdata t = linspace(-1, 1, 300000)\nminimize sum((x - t)^2) + 0.1*sum((x[1:] - x[:-1])^2)\n%s", texts[k], k ? "subject to\n -0.5 <= x <= 0.25\n" : "");
        lt_model *m = NULL;
        lt_problem *p = NULL;
        const lt_solve_options opt = SOLVE_OPTIONS(o.lbfgs_pairs = 5, o.max_samples = 3, o.stationarity_tol = 1e-4, o.iterate_fn = watch, o.iterate_ctx = &at);
        LT_CHECK_OK(lt_model_parse("t.lt", "", text, strlen(text), &m));
        LT_CHECK_OK(lt_problem_from_model(m, &p));
        LT_CHECK_OK(lt_solve(p, &opt, &s));
        LT_CHECK(at.p == 0 && at.outside == 0 && s->p == 600000 && s->certificate->stationary);
        LT_CHECK(s->best.x[0] == -0.5 && s->best.x[299999] == 0.25);
        LT_CHECK_NEAR(s->best.x[150000], 0, 1e-4);
        lt_solve_options none = SOLVE_OPTIONS(o.honor_bounds = LT_HONOR_NONE, o.jacobian = LT_JACOBIAN_DENSE, o.lbfgs_pairs = 5);
        lt_solution *never = NULL;
        if (!SHADOWED) LT_CHECK_FAILS(lt_solve(p, &none, &never), LT_ERR_MEMORY, "");
        lt_solution_destroy(s);
        lt_problem_destroy(p);
        lt_model_destroy(m);
    }
}

/* A direction over the free variables takes three passes over the pairs: one for what is left of their curvature, two for the product. */
LT_TEST(passes_over_pairs)
{
    enum { M = 6, SIZE = 400 };
    lt_hessian h;
    uint8_t *free_ones = malloc(SIZE);
    double *v = malloc((3 * SIZE) * sizeof *v), *s = v + SIZE, *y = s + SIZE;
    const lt_solve_options opt = SOLVE_OPTIONS(o.lbfgs_pairs = M);
    LT_CHECK_OK(lt_hessian_create(SIZE, &opt, &h));
    for (int k = 0; k < M + 3; k++) {
        for (int i = 0; i < SIZE; i++) s[i] = sin(k + 3 * i), y[i] = (1 + i % 7) * s[i];
        LT_CHECK_EQ_INT(lt_hessian_update(&h, s, y, NULL, NULL), LT_UPDATE_DONE);
    }
    for (int i = 0; i < SIZE; i++) v[i] = cos(i), free_ones[i] = i % 3 != 0;
    const int64_t before = h.n_passes;
    lt_hessian_free_variables(&h, free_ones);
    lt_hessian_apply(&h, v, s);
    LT_CHECK_EQ_INT(h.n_passes - before, 3 * M);
    double slope_along = 0;
    for (int i = 0; i < SIZE; i++) {
        LT_CHECK(free_ones[i] || s[i] == 0);
        slope_along += s[i] * v[i];
    }
    LT_CHECK(slope_along > 0); /* positive definite on the free ones */
    lt_hessian_free_variables(&h, NULL);
    lt_hessian_release(&h);
    free(v);
    free(free_ones);
}

LT_TEST_MAIN()
