/* Problems without a feasible point: the set that is named is checked by arithmetic of this file's own, and is the one that the problem was
   built around. SPDX-License-Identifier: BSD-3-Clause */
#include "solve_tools.h"

#include "lathe/problem.h"

typedef struct outcome { lt_solution *s; lt_problem *problem; lt_model *model; } outcome;

static outcome solve_text(const char *text)
{
    outcome o = { 0 };
    LT_CHECK_OK(lt_model_parse("t.lt", "", text, strlen(text), &o.model));
    LT_CHECK_OK(lt_problem_from_model(o.model, &o.problem));
    const lt_solve_options opt = lt_solve_defaults();
    LT_CHECK_OK(lt_solve(o.problem, &opt, &o.s));
    return o;
}

static void end(outcome *o)
{
    lt_solution_destroy(o->s);
    lt_problem_destroy(o->problem);
    lt_model_destroy(o->model);
}

/* Weights of linear models that prove the contradiction: gradients cancel, values do not. */
static void must_prove(const outcome *o, const char *what)
{
    const lt_solution *s = o->s;
    const lt_certificate *c = s->certificate;
    const int64_t n = s->n, p = s->p, q = s->q;
    double *ci = calloc((size_t)(p + q + (p + q + 1) * n), sizeof *ci), *ce = ci + p, *gi = ce + q, *ge = gi + p * n, *sum = ge + q * n, value = 0, size = 0, total = 0;
    LT_CHECK_OK(lt_problem_evaluate(o->problem, s->final.x, &(lt_outputs){ .ci = p ? ci : NULL, .ce = q ? ce : NULL, .grad_ci = p ? gi : NULL, .grad_ce = q ? ge : NULL }));
    for (int64_t i = 0; i < c->n_conflict; i++) {
        const int64_t j = c->conflict[i];
        const double w = c->conflict_weights[i], *g = j < p ? gi + j * n : ge + (j - p) * n;
        if (j < p && w < 0) LT_TEST_FAIL("%s: an inequality has weight %g", what, w);
        for (int64_t k = 0; k < n; k++) sum[k] += w * g[k], size += fabs(w * g[k]);
        value += w * (j < p ? ci[j] : ce[j - p]);
        total += fabs(w);
    }
    double length = 0;
    for (int64_t k = 0; k < n; k++) length += sum[k] * sum[k];
    if (!(sqrt(length) <= 1e-4 * size) || !(value > 0)) LT_TEST_FAIL("%s: gradients add up to %g of %g, values to %g", what, sqrt(length), size, value);
    LT_CHECK_NEAR(total, 1, 1e-12);
    free(ci);
}

static void must_name(const outcome *o, const char *what, int64_t n, const int64_t *numbers)
{
    const lt_certificate *c = o->s->certificate;
    LT_CHECK(!o->s->best.present && !o->s->final.feasible_to_tol);
    bool same = c->n_conflict == n;
    for (int64_t i = 0; same && i < n; i++) same = c->conflict[i] == numbers[i];
    if (same) return;
    LT_TEST_FAIL("%s: %lld constraints, expected %lld", what, (long long)c->n_conflict, (long long)n);
    for (int64_t i = 0; i < c->n_conflict; i++) fprintf(stderr, "  %lld weight %g\n", (long long)c->conflict[i], c->conflict_weights[i]);
}

#define NAMES(o, what, ...) must_name(o, what, (int64_t)(sizeof (int64_t[]){ __VA_ARGS__ } / sizeof(int64_t)), (int64_t[]){ __VA_ARGS__ })

LT_TEST(linear_ones)
{
    outcome o = solve_text("var x[3] = [1, 1, 1]\nminimize sum(x^2)\nsubject to\n x[0] + x[1] + x[2] <= 100\n x[0] + x[1] >= 4\n x[0] + 0*x[2] <= 1.5\n x[1] + 0*x[2] <= 1.5\n"
                           " x[2]^2 <= 4\n x[2] + 0*x[0] == 1\n");
    NAMES(&o, "two against one", 1, 2, 3);
    must_prove(&o, "two against one");
    end(&o);
    o = solve_text("var x[2] = [3, -2]\nminimize x[0]\nsubject to\n x[0] - x[1] <= 7\n x[0] + x[1] == 1\n x[0] + x[1] == 2\n x[0] + 2*x[1] == 5\n");
    LT_CHECK_EQ_INT(o.s->certificate->n_conflict, 2); /* any two of: parallel ones; never all three */
    must_prove(&o, "parallel equalities");
    end(&o);
}

LT_TEST(kinks)
{
    outcome o = solve_text("var x[2] = [3, 1]\nminimize x[0]\nsubject to\n x[0]^2 + x[1]^2 <= 1\n abs(x[0] - 3) + abs(x[1]) <= 1\n x[0] + x[1] <= 9\n");
    NAMES(&o, "a disk and a diamond", 0, 1);
    end(&o);
    o = solve_text("var x[2] = [3, 1]\nminimize x[0]\nsubject to\n max(abs(x)) + 0.5 <= 0\n x[0] + x[1] <= 9\n"); /* one alone: at its kink */
    NAMES(&o, "a kink", 0);
    end(&o);
}

LT_TEST(one_alone)
{
    outcome o = solve_text("var x[2] = [3, 1]\nminimize sum(x^2)\nsubject to\n x[0] + x[1] <= 1\n 0*x[0] + 1 <= 0\n");
    NAMES(&o, "a constant", 1);
    end(&o);
    o = solve_text("var x[2] = [3, 1]\nminimize sum(x)\nsubject to\n x[0] + x[1] <= 9\n sum((x - 2)^2) + 1 == 0\n");
    NAMES(&o, "a bowl above zero", 1);
    end(&o);
}

LT_TEST(none_where_a_point_is_feasible)
{
    outcome o = solve_text("var x[2] = [3, 1]\nminimize sum(x^2)\nsubject to\n x[0] + x[1] >= 1\n x[0] - x[1] == 0\n");
    LT_CHECK(o.s->best.present && o.s->certificate->n_conflict == 0 && !o.s->certificate->conflict);
    end(&o);
}

/* A chain of n differences that adds up to more than its ends allow: all of it, and nothing of what stands beside. */
LT_TEST(long_ones)
{
    enum { N = 40 };
    char text[4096];
    size_t used = (size_t)snprintf(text, sizeof text, "var x[%d] = 0\nminimize sum(x^2)\nsubject to\n", N);
    for (int i = 0; i + 1 < N; i++) used += (size_t)snprintf(text + used, sizeof text - used, " x[%d] - x[%d] >= 1\n", i + 1, i);
    snprintf(text + used, sizeof text - used, " x[%d] - x[0] <= %d\n sum(x) <= 1000\n x[3] + x[4] >= -50\n", N - 1, N - 2);
    outcome o = solve_text(text);
    LT_CHECK_EQ_INT(o.s->certificate->n_conflict, N);
    for (int64_t i = 0; i < o.s->certificate->n_conflict; i++) {
        LT_CHECK_EQ_INT(o.s->certificate->conflict[i], i);
        LT_CHECK_NEAR(o.s->certificate->conflict_weights[i], 1.0 / N, 1e-6);
    }
    must_prove(&o, "a chain");
    end(&o);
}

LT_TEST_MAIN()
