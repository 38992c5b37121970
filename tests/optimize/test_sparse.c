/* Sparse gradients of constraints: patterns and their entries against dense gradients, programs against dense ones, whole runs against dense runs and
   against known answers. SPDX-License-Identifier: BSD-3-Clause */
#include "base/alloc.h"
#include "lt_test.h"
#include "shadowed.h"

#include "lathe/problem.h"
#include "lathe/qp.h"
#include "lathe/rng.h"
#include "optimize/options.h"
#include "optimize/problem/compressed.h"
#include "optimize/sparse/program.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

/* ---- Models ------------------------------------------------------------------------------------------------- */
typedef struct model { lt_model *text; lt_problem *problem; lt_solve_options opt; } model;

static model read_model(const char *text)
{
    model m = { .opt = lt_solve_defaults() };
    LT_CHECK_OK(lt_model_parse("test", NULL, text, strlen(text), &m.text));
    LT_CHECK_OK(lt_problem_from_model(m.text, &m.problem));
    LT_CHECK_OK(lt_solve_options_from_model(&m.opt, m.text));
    return m;
}

static void free_model(model *m)
{
    lt_problem_destroy(m->problem);
    lt_model_destroy(m->text);
}

static lt_solution *solve(const char *text, lt_jacobian_kind kind)
{
    model m = read_model(text);
    lt_solution *s = NULL;
    m.opt.jacobian = kind;
    LT_CHECK_OK(lt_solve(m.problem, &m.opt, &s));
    free_model(&m);
    return s;
}

static const char *with_n(const char *text, int n)
{
    static char out[600];
    snprintf(out, sizeof out, "data n = %d\n%s", n, text);
    return out;
}

/* ---- Patterns ------------------------------------------------------------------------------------------------- */
static double *dense_gradients(model *m, const double *x)
{
    const lt_problem_size z = lt_problem_get_size(m->problem);
    double *g = calloc((size_t)((z.p + z.q) * z.n + 1), sizeof *g);
    LT_CHECK_OK(lt_problem_evaluate(m->problem, x, &(lt_outputs){ .grad_ce = z.q ? g : NULL, .grad_ci = z.p ? g + z.q * z.n : NULL }));
    return g;
}

/* Entries are those of the dense gradients, which are zero everywhere else. most: groups. */
static void must_match(const char *text, int64_t most_groups, int64_t most_entries)
{
    model m = read_model(text);
    const lt_problem_size z = lt_problem_get_size(m.problem);
    lt_problem *sparse = NULL;
    double *x = malloc((size_t)z.n * sizeof *x);
    lt_rng r = lt_rng_seed(7);
    for (int64_t i = 0; i < z.n; i++) x[i] = 0.3 + lt_rng_uniform(&r);
    LT_CHECK_OK(lt_problem_sparse(m.problem, &sparse));
    const lt_csr *a = &sparse->compressed->a;
    double *dense = dense_gradients(&m, x), *entry = calloc((size_t)a->start[a->m] + 1, sizeof *entry), worst = 0;
    LT_CHECK_OK(lt_problem_evaluate(sparse, x, &(lt_outputs){ .grad_ce = entry }));
    LT_CHECK_EQ_INT(a->m, z.p + z.q);
    for (int64_t i = 0; i < a->m; i++) {
        for (int64_t e = a->start[i]; e < a->start[i + 1]; e++) {
            double *d = &dense[i * z.n + a->column[e]];
            worst = fmax(worst, fabs(*d - entry[e]) / fmax(1, fabs(*d)));
            *d = 0;
        }
        for (int64_t k = 0; k < z.n; k++) worst = fmax(worst, fabs(dense[i * z.n + k]));
    }
    if (!(worst <= 1e-14)) LT_TEST_FAIL("%s: entries differ by %g", text, worst);
    if (sparse->compressed->n_groups > most_groups || a->start[a->m] > most_entries)
        LT_TEST_FAIL("%s: %lld groups, %lld entries", text, (long long)sparse->compressed->n_groups, (long long)a->start[a->m]);
    free(dense);
    free(entry);
    free(x);
    free_model(&m);
}

LT_TEST(entries_are_those_of_dense_gradients)
{
    must_match("var x[9]\nminimize sum(x)\nsubject to\n  x[1:]^2*x[:-1] <= 1\n  x[0]*x[8] == 1\n", 3, 18);
    must_match("var x[12]\nvar y[12]\nminimize sum(x)\nsubject to\n  exp(x) + log(y) == 1\n  x[::2]*y[::2] <= 1\n", 2, 36);
    must_match("data A = [[1, 0, 0, 2], [0, 3, 0, 0], [0, 0, 0, 0]]\nvar x[4]\nminimize sum(x)\nsubject to\n  A @ x <= 1\n", 1, 3);
    must_match("var X[5, 4]\nminimize sum(X)\nsubject to\n  sum(X^2, axis=1) <= 1\n  max(X, axis=0) <= 2\n", 5, 40);
    must_match("var x[6]\nminimize sum(x)\nsubject to\n  cumsum(x) <= 1\n", 6, 36);
    must_match("var x[10]\nminimize sum(x)\nsubject to\n  x[1:] - x[:-1] <= 1\n  sum(x) == 1\n", 3, 28);
    must_match("var x[7]\nminimize sum(x)\nsubject to\n  gather(x, [3, 3, 0, 6])*x[0:4] == 1\n", 4, 8);
    must_match("var M[3, 3]\nminimize sum(M)\nsubject to\n  det(M) >= 1\n  M' @ M == eye(3)\n", 10, 72);
}

/* ---- Programs --------------------------------------------------------------------------------------------------- */
enum { N = 40, M = 55, PAIRS = 6 };

typedef struct program_case { lt_csr a; double *value, dense[M * N], linear[M], lower[M], upper[M]; lt_hessian h; } program_case;

/* Rows of a few variables beside each other, some far apart, one of all; pairs of a positive definite matrix. */
static void make_case(program_case *c, lt_rng *r, int pairs, int equalities)
{
    lt_solve_options opt = lt_solve_defaults();
    lt_solve_debug debug = lt_solve_debug_defaults();
    int64_t at = 0;
    memset(c, 0, sizeof *c);
    c->a = (lt_csr){ M, N, lt_malloc((M + 1) * sizeof(int64_t)), lt_malloc(M * N * sizeof(int32_t)) };
    c->value = malloc(M * N * sizeof(double));
    for (int i = 0; i < M; i++) {
        c->a.start[i] = at;
        for (int k = 0; k < N; k++) {
            const bool in = i == M / 2 || (k >= i % N && k < i % N + 3) || lt_rng_below(r, 60) == 0;
            if (!in) continue;
            c->a.column[at] = k;
            c->value[at] = c->dense[i * N + k] = lt_rng_normal(r);
            at++;
        }
        c->linear[i] = lt_rng_normal(r);
        c->lower[i] = i < equalities ? -1 : 0;
        c->upper[i] = i % 7 == 3 ? (double)INFINITY : 1;
    }
    c->a.start[M] = at;
    opt.lbfgs_pairs = PAIRS;
    opt.max_samples = 1;
    opt.debug = &debug;
    LT_CHECK_OK(lt_hessian_create(N, &opt, &c->h));
    for (int k = 0; k < pairs; k++) {
        double s[N], y[N];
        for (int i = 0; i < N; i++) s[i] = lt_rng_normal(r);
        for (int i = 0; i < N; i++) y[i] = (1 + i % 5) * s[i] + (i ? 0.3 * s[i - 1] : 0) + (i + 1 < N ? 0.3 * s[i + 1] : 0);
        (void)lt_hessian_update(&c->h, s, y, NULL, NULL);
    }
}

static void free_case(program_case *c)
{
    lt_csr_release(&c->a);
    free(c->value);
    lt_hessian_release(&c->h);
}

static void dense_matrix(program_case *c, double *Q)
{
    double w[N];
    for (int i = 0; i < M; i++) {
        lt_hessian_apply(&c->h, c->dense + i * N, w);
        for (int j = 0; j < M; j++) {
            Q[i * M + j] = 0;
            for (int k = 0; k < N; k++) Q[i * M + j] += c->dense[j * N + k] * w[k];
        }
    }
    for (int i = 0; i < M; i++)
        for (int j = 0; j < i; j++) Q[i * M + j] = Q[j * M + i];
}

static double objective(const double *Q, const double *linear, const double *y)
{
    double sum = 0;
    for (int i = 0; i < M; i++) {
        sum += linear[i] * y[i];
        for (int j = 0; j < M; j++) sum += 0.5 * y[i] * Q[i * M + j] * y[j];
    }
    return sum;
}

static void compare_with_dense(program_case *c, lt_sparse_program *p, bool warm, double *y)
{
    static double Q[M * M], want[M], out[M], x[M];
    double size = 0, worst = 0;
    lt_qp *qp;
    lt_qp_info info = { .size = sizeof info };
    dense_matrix(c, Q);
    lt_sparse_program_set(p, c->value, NULL, &c->h);
    for (int i = 0; i < M; i++) x[i] = sin(i);
    lt_sparse_program_multiply(p, x, out);
    for (int i = 0; i < M; i++) {
        double v = 0;
        for (int j = 0; j < M; j++) v += Q[i * M + j] * x[j], size = fmax(size, fabs(Q[i * M + j]));
        worst = fmax(worst, fabs(v - out[i]));
    }
    LT_CHECK(worst <= 1e-12 * M * size);
    LT_CHECK_OK(lt_qp_create(M, NULL, &qp));
    LT_CHECK_OK(lt_qp_set_matrix(qp, M, Q, M));
    LT_CHECK_OK(lt_qp_solve(qp, &(lt_qp_problem){ .c = c->linear, .lower = c->lower, .upper = c->upper }, want, &info));
    LT_CHECK(lt_sparse_program_solve(p, c->linear, c->lower, c->upper, warm, y));
    for (int i = 0; i < M; i++) LT_CHECK(y[i] >= c->lower[i] && y[i] <= c->upper[i]);
    const double a = objective(Q, c->linear, want), b = objective(Q, c->linear, y);
    if (!(fabs(a - b) <= 1e-10 * fmax(1, fabs(a)))) LT_TEST_FAIL("objective %.15g, by the dense program %.15g (%lld systems)", b, a, (long long)p->n_iterations);
    lt_qp_destroy(qp);
}

LT_TEST(programs_have_the_answers_of_dense_ones)
{
    lt_rng r = lt_rng_seed(11);
    for (int k = 0; k < 40; k++) {
        program_case c;
        lt_sparse_program p;
        double y[M] = { 0 };
        make_case(&c, &r, k % (PAIRS + 3), k % 20);
        LT_CHECK_OK(lt_sparse_program_create(&c.a, PAIRS, &p));
        compare_with_dense(&c, &p, false, y);
        for (int i = 0; i < M; i++) c.linear[i] += 0.01 * lt_rng_normal(&r);
        compare_with_dense(&c, &p, true, y);
        LT_CHECK(p.n_iterations < 60);
        lt_sparse_program_release(&p);
        free_case(&c);
    }
}

/* ---- Runs --------------------------------------------------------------------------------------------------------- */
static double farthest(int64_t n, const double *a, const double *b)
{
    double worst = 0;
    for (int64_t i = 0; i < n; i++) worst = fmax(worst, fabs(a[i] - b[i]));
    return worst;
}

static void runs_must_agree(const char *text)
{
    lt_solution *dense = solve(text, LT_JACOBIAN_DENSE), *sparse = solve(text, LT_JACOBIAN_SPARSE);
    if (!dense || !sparse) return;
    LT_CHECK(strstr(sparse->device_reason, "sparse") && !strstr(dense->device_reason, "sparse"));
    LT_CHECK_EQ_INT(sparse->termination_code, 0);
    LT_CHECK(sparse->certificate->residual <= 1e-6);
    LT_CHECK_NEAR(sparse->final.f, dense->final.f, 1e-7 * fmax(1, fabs(dense->final.f)));
    LT_CHECK(farthest(dense->n, dense->final.x, sparse->final.x) <= 1e-5);
    if (dense->p) LT_CHECK(farthest(dense->p, dense->certificate->ci_multipliers, sparse->certificate->ci_multipliers) <= 1e-4);
    if (dense->q) LT_CHECK(farthest(dense->q, dense->certificate->ce_multipliers, sparse->certificate->ce_multipliers) <= 1e-4);
    lt_solution_destroy(dense);
    lt_solution_destroy(sparse);
}

LT_TEST(sparse_runs_end_where_dense_runs_do)
{
    runs_must_agree(with_n("var x[n] = 0.5*ones(n)\nminimize sum((x - 2)^2)\nsubject to\n  x[1:]^2 + x[:-1]^2 <= 1\n", 40));
    runs_must_agree(with_n("var x[n] = 1.5*ones(n)\nminimize sum((x - 1)^2)\nsubject to\n  x[1:]*x[:-1] == 1\n", 40));
    runs_must_agree(with_n("var x[n] = 0.2*ones(n)\nminimize sum((x - 2)^2)\nsubject to\n  x[1:]^2 + x[:-1]^2 <= 1\n  sum(x) == n/4\n", 40));
    runs_must_agree(with_n("var x[n] in [-0.3, 0.4] = 0.1*ones(n)\nminimize sum((x - 2)^2)\nsubject to\n  x[2:] + 0.5*x[1:-1]^2 - x[:-2] <= 0.3\n", 30));
    runs_must_agree("var x[8] = 0.1*ones(8)\nminimize sum(exp(x)) - 2*sum(x)\nsubject to\n  x[0] - x[7]^2 == 0\n  x[1:] >= 0.1\noption prescale_above = 0.5\n");
}

/* What is known: x, all alike, and f. */
static void ends_at(const char *text, double x, double f)
{
    lt_solution *s = solve(text, LT_JACOBIAN_AUTO);
    if (!s) return;
    double worst = 0;
    for (int64_t i = 0; i < s->n; i++) worst = fmax(worst, fabs(s->final.x[i] - x));
    LT_CHECK(strstr(s->device_reason, "sparse"));
    LT_CHECK_EQ_INT(s->termination_code, 0);
    if (!(worst <= 1e-5) || !(fabs(s->final.f - f) <= 1e-6 * fmax(1, fabs(f)))) LT_TEST_FAIL("%s: x is %g off, f = %.12g", text, worst, s->final.f);
    lt_solution_destroy(s);
}

/* Dense gradients would take 800 MB for each of several points, the program a matrix of as much. */
LT_TEST(ten_thousand_constraints_take_no_dense_matrix)
{
    static const char *const kinks = "var x[n] = 0.4*ones(n)\nminimize sum(x^2 - 3*x)\nsubject to\n  max(abs(x[1:]) + abs(x[:-1]), x[1:]^2 + x[:-1]^2) <= 1\n";
    static const char *const equal = "var x[n] = 1.5*ones(n)\nminimize sum((x - 1)^2)\nsubject to\n  x[1:]*x[:-1] == 1\n";
    struct rusage before, after;
    getrusage(RUSAGE_SELF, &before);
    ends_at(with_n(kinks, 10000), 0.5, -12500);
    ends_at(with_n(equal, 10000), 1, 0);
    getrusage(RUSAGE_SELF, &after);
    if (SHADOWED) return;
    LT_CHECK(after.ru_maxrss - before.ru_maxrss < 128 * 1024); /* KiB */
}

LT_TEST(a_thousand_are_left_dense_unless_asked_for)
{
    lt_solution *s = solve(with_n("var x[n] = 1.5*ones(n)\nminimize sum((x - 1)^2)\nsubject to\n  x[1:]*x[:-1] == 1\n", 200), LT_JACOBIAN_AUTO);
    LT_CHECK(s && !strstr(s->device_reason, "sparse"));
    lt_solution_destroy(s);
    s = solve(with_n("var x[n] = 1.5*ones(n)\nminimize sum((x - 1)^2)\nsubject to\n  x[1:]*x[:-1] == 1\n", 1000), LT_JACOBIAN_SPARSE);
    LT_CHECK(s && strstr(s->device_reason, "sparse") && s->final.f <= 1e-12);
    LT_CHECK(s && s->H_final.m > 0);
    lt_solution_destroy(s);
}

/* ---- What cannot be ------------------------------------------------------------------------------------------------- */
static void must_refuse(const char *text, void (*change)(lt_solve_options *o), const char *why)
{
    model m = read_model(text);
    lt_solution *s = NULL;
    m.opt.jacobian = LT_JACOBIAN_SPARSE;
    if (change) change(&m.opt);
    LT_CHECK_EQ_INT(lt_solve(m.problem, &m.opt, &s), LT_ERR_UNSUPPORTED);
    if (!strstr(lt_error_text(), why) || !strstr(lt_error_text(), "jacobian")) LT_TEST_FAIL("'%s' does not say '%s'", lt_error_text(), why);
    free_model(&m);
}

static void with_checkpoint(lt_solve_options *o) { o->checkpoint = "never-written"; }
static void with_compat(lt_solve_options *o) { o->compat = 1; }

static lt_status nothing(void *ctx, const double *x, const lt_outputs *out)
{
    (void)ctx, (void)x, (void)out;
    return LT_OK;
}

LT_TEST(what_has_no_sparse_gradients_is_refused)
{
    static const char *const chain = "var x[9] = ones(9)\nminimize sum(x)\nsubject to\n  x[1:]*x[:-1] == 1\n";
    lt_problem *p;
    lt_solution *s = NULL;
    lt_solve_options opt = lt_solve_defaults();
    must_refuse(chain, with_checkpoint, "a checkpoint");
    must_refuse(chain, with_compat, "compat=1");
    must_refuse("var x[3] = ones(3)\nminimize sum(x^2)\n", NULL, "no constraints");
    must_refuse("var x[300] = ones(300)\nminimize sum(x^2)\nsubject to\n  x[1:]*x[0] <= 1\n", NULL, "groups");
    LT_CHECK_OK(lt_problem_from_function(3, 1, 0, nothing, NULL, &p));
    opt.jacobian = LT_JACOBIAN_SPARSE;
    LT_CHECK_EQ_INT(lt_solve(p, &opt, &s), LT_ERR_UNSUPPORTED);
    LT_CHECK(strstr(lt_error_text(), "a function"));
    lt_problem_destroy(p);
}

/* One variable in all constraints: auto goes back to dense gradients, where they fit. */
LT_TEST(auto_goes_back_to_dense_gradients)
{
    lt_solution *s = solve("var x[30000] = 0.5*ones(30000)\nminimize sum((x - 1)^2)\nsubject to\n  x[1:301] - x[0] <= 1\noption lbfgs_pairs = 5\noption max_iterations = 1\noption max_samples = 1\n", LT_JACOBIAN_AUTO);
    LT_CHECK(s && !strstr(s->device_reason, "sparse"));
    lt_solution_destroy(s);
}

LT_TEST(a_derivative_that_is_not_finite_is_named)
{
    model m = read_model("var x[6] = [1, 1, 0, 1, 1, 1]\nminimize sum(x)\nsubject to\n  sqrt(x[1:]) + x[:-1] <= 2\n");
    lt_solution *s = NULL;
    m.opt.jacobian = LT_JACOBIAN_SPARSE;
    LT_CHECK(lt_solve(m.problem, &m.opt, &s) == LT_ERR_NUMERIC);
    LT_CHECK(strstr(lt_error_text(), "inequality constraint 1") && strstr(lt_error_text(), "x[2]"));
    free_model(&m);
}

LT_TEST_MAIN()
