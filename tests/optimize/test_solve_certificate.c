/* The certificate of a solution: recomputed here from gradients, against published multipliers, and against differences of optimal values.
   SPDX-License-Identifier: BSD-3-Clause */
#include "base/status.h"
#include "lathe/solve.h"
#include "lt_test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct solved {
    lt_model    *model;
    lt_problem  *problem;
    lt_solution *s;
} solved;

static void release(solved *k)
{
    lt_solution_destroy(k->s);
    lt_problem_destroy(k->problem);
    lt_model_destroy(k->model);
}

/* Solves a problem text at defaults, but for options of the form "name=value". */
static solved solve_text(const char *text, const char *option)
{
    solved k = { 0 };
    char name[64];
    lt_solve_options o = lt_solve_defaults();
    LT_CHECK_OK(lt_model_parse("certificate.lt", NULL, text, strlen(text), &k.model));
    LT_CHECK_OK(lt_solve_options_from_model(&o, k.model));
    for (; option && *option; option += strcspn(option, " "), option += *option == ' ') {
        char value[64];
        LT_CHECK(sscanf(option, "%63[^=]=%63s", name, value) == 2);
        LT_CHECK_OK(lt_solve_options_set(&o, name, value));
    }
    LT_CHECK_OK(lt_problem_from_model(k.model, &k.problem));
    LT_CHECK_OK(lt_solve(k.problem, &o, &k.s));
    return k;
}

/* ---- Recomputed ------------------------------------------------------------------------------------- */
/* The residual of the point alone with the multipliers the certificate states: plain loops over what the problem evaluates to. */
static double residual_at(const solved *k, double *weight)
{
    const lt_solution *s = k->s;
    const int64_t n = s->n, p = s->p, q = s->q;
    double f, *v = calloc((size_t)(n + p + q + (p + q) * n + 1), sizeof *v), *ci = v + n, *ce = ci + p, *gi = ce + q, *ge = gi + p * n;
    double sum = 0, products = 0;
    LT_CHECK_OK(lt_problem_evaluate(k->problem, s->final.x, &(lt_outputs){ .f = &f, .grad_f = v, .ci = p ? ci : NULL, .grad_ci = p ? gi : NULL,
                                                                           .ce = q ? ce : NULL, .grad_ce = q ? ge : NULL }));
    double w = 0;
    for (int64_t i = 0; i < n; i++) w += v[i] * v[i];
    w = sqrt(w);
    for (int64_t j = 0; j < p + q; j++) {
        const double l = j < p ? s->certificate->ci_multipliers[j] : s->certificate->ce_multipliers[j - p], *g = j < p ? gi + j * n : ge + (j - p) * n;
        double norm = 0;
        for (int64_t i = 0; i < n; i++) v[i] += l * g[i], norm += g[i] * g[i];
        w += fabs(l) * sqrt(norm);
        if (j < p) products += l * ci[j] * l * ci[j];
    }
    for (int64_t i = 0; i < n; i++) sum += v[i] * v[i];
    free(v);
    *weight = w;
    return sqrt(sum + products) / fmax(1, w);
}

static const char hs071[] =
    "var x[4] = [1, 5, 5, 1]\nminimize x[0]*x[3]*(x[0] + x[1] + x[2]) + x[2]\nsubject to\n  product: prod(x) >= 25\n  sphere: sum(x^2) == 40\n"
    "  box: 1 <= x <= 5\n";

LT_TEST(the_residual_is_that_of_the_stated_multipliers)
{
    static const char *const texts[] = {
        hs071,
        "var x[2] = [2, 2]\nminimize (x[0] - 2)^2 + (x[1] - 1)^2\nsubject to\n  x[0]^2 - x[1] <= 0\n  x[0] + x[1] <= 2\n",
        "var x[3] = [1, 2, 3]\nminimize 9 - 8*x[0] - 6*x[1] - 4*x[2] + 2*x[0]^2 + 2*x[1]^2 + x[2]^2 + 2*x[0]*x[1] + 2*x[0]*x[2]\nsubject to\n"
        "  x[0] + x[1] + 2*x[2] <= 3\n  x >= 0\n",
        "var x[5] = [2, 2, 2, 2, 2]\nminimize (x[0] - x[1])^2 + (x[1] + x[2] - 2)^2 + (x[3] - 1)^2 + (x[4] - 1)^2\nsubject to\n"
        "  x[0] + 3*x[1] == 0\n  x[2] + x[3] - 2*x[4] == 0\n  x[1] - x[4] == 0\n" };
    for (size_t i = 0; i < LT_LEN(texts); i++) {
        solved k = solve_text(texts[i], NULL);
        const lt_certificate *c = k.s->certificate;
        double weight, mine = residual_at(&k, &weight);
        LT_CHECK(c->known && c->stationary && c->residual <= 1e-4 && c->size == sizeof *c);
        if (c->n_samples == 1) { /* with several samples the multipliers belong to gradients that are not recomputed here */
            LT_CHECK_NEAR(mine, c->residual, 1e-9 + 1e-6 * mine);
            LT_CHECK_NEAR(weight, c->weight, 1e-9 * weight);
        }
        LT_CHECK(mine < 1e-3);
        release(&k);
    }
}

/* Hock and Schittkowski's problems with multipliers that follow from their optimality conditions by hand. */
LT_TEST(multipliers_are_the_known_ones)
{
    /* HS 35: at (4/3, 7/9, 4/9) the gradient is -2/9 (1, 1, 2). */
    solved k = solve_text("var x[3] = 0.5\nminimize 9 - 8*x[0] - 6*x[1] - 4*x[2] + 2*x[0]^2 + 2*x[1]^2 + x[2]^2 + 2*x[0]*x[1] + 2*x[0]*x[2]\nsubject to\n"
                          "  x[0] + x[1] + 2*x[2] <= 3\n  x >= 0\n", NULL);
    LT_CHECK_NEAR(k.s->certificate->ci_multipliers[0], 2.0 / 9, 1e-6);
    for (int j = 1; j < 4; j++) LT_CHECK_NEAR(k.s->certificate->ci_multipliers[j], 0, 1e-6);
    LT_CHECK(k.s->certificate->n_active == 1 && k.s->certificate->active[0] == 0 && k.s->certificate->n_violated == 0);
    release(&k);
    /* HS 28: the minimum of f lies on the plane, so that the multiplier is zero. HS 48 has none either; HS 6: x1 = 1, multiplier 0. */
    k = solve_text("var x[3] = [-4, 1, 1]\nminimize (x[0] + x[1])^2 + (x[1] + x[2])^2\nsubject to\n  x[0] + 2*x[1] + 3*x[2] == 1\n", NULL);
    LT_CHECK_NEAR(k.s->certificate->ce_multipliers[0], 0, 1e-6);
    release(&k);
    /* HS 7: x = (0, sqrt 3), grad f = (0, -1), grad c = (0, 2 sqrt 3): m = 1 / (2 sqrt 3). */
    k = solve_text("var x[2] = 2\nminimize log(1 + x[0]^2) - x[1]\nsubject to\n  (1 + x[0]^2)^2 + x[1]^2 == 4\n", NULL);
    LT_CHECK_NEAR(k.s->certificate->ce_multipliers[0], 0.5 / sqrt(3), 1e-4);
    release(&k);
    /* HS 71, as Ipopt's documentation prints it: 0.5522937 and 0.1614686 in absolute value; the lower bound of x[0] has 1.0878712. */
    k = solve_text(hs071, NULL);
    LT_CHECK_NEAR(k.s->certificate->ci_multipliers[0], 0.5522937, 1e-4);
    LT_CHECK_NEAR(k.s->certificate->ce_multipliers[0], 0.1614686, 1e-4);
    LT_CHECK_NEAR(k.s->certificate->ci_multipliers[1], 1.0878712, 1e-4);
    release(&k);
}

/* side times multiplier is the derivative of the optimal value, in problems solved for two right-hand sides. */
LT_TEST(sensitivities_are_differences_of_optimal_values)
{
    static const char *const forms[] = { "%g*1 >= x[0] + 2*x[1]", "x[0] + 2*x[1] <= %g", "x[0] + 2*x[1] == %g", "%g >= x[0] + 2*x[1]" };
    for (size_t i = 0; i < LT_LEN(forms); i++)
        for (int maximize = 0; maximize < 2; maximize++) {
            double f[2], slope = 0;
            for (int side = 0; side < 2; side++) {
                char text[300], constraint[80];
                snprintf(constraint, sizeof constraint, forms[i], 1 + 1e-3 * side);
                snprintf(text, sizeof text, "var x[2] = [0.1, 0.2]\n%s((x[0] - 2)^2 + (x[1] - 1)^2)\nsubject to\n  %s\n", maximize ? "maximize -" : "minimize ", constraint);
                solved k = solve_text(text, "stationarity_tol=1e-10");
                const lt_model_constraint *c = &lt_model_get(k.model).constraints[0];
                const lt_certificate *z = k.s->certificate;
                if (!side) slope = c->side * (c->equality ? z->ce_multipliers : z->ci_multipliers)[c->first];
                f[side] = k.s->final.f;
                release(&k);
            }
            LT_CHECK_NEAR(slope, (f[1] - f[0]) / 1e-3, 2e-3);
            LT_CHECK(slope < -1);
        }
}

/* ---- What code 0 means --------------------------------------------------------------------------------- */
static const char hs106[] =
    "var x[8] = [5000, 5000, 5000, 200, 350, 150, 225, 425]\nminimize x[0] + x[1] + x[2]\nsubject to\n"
    "  0.0025*(x[3] + x[5]) <= 1\n  0.0025*(x[4] + x[6] - x[3]) <= 1\n  0.01*(x[7] - x[4]) <= 1\n"
    "  x[0]*x[5] - 833.33252*x[3] - 100*x[0] + 83333.333 >= 0\n  x[1]*x[6] - 1250*x[4] - x[1]*x[3] + 1250*x[3] >= 0\n"
    "  x[2]*x[7] - 1250000 - x[2]*x[4] + 2500*x[4] >= 0\n  100 <= x[0] <= 10000\n  1000 <= x[1:3] <= 10000\n  10 <= x[3:8] <= 1000\n";
static const char hs056[] =
    "var x[7] = [1, 1, 1, 0.50973968, 0.50973968, 0.50973968, 0.98511078]\nminimize -x[0]*x[1]*x[2]\nsubject to\n"
    "  x[0] == 4.2*sin(x[3])^2\n  x[1] == 4.2*sin(x[4])^2\n  x[2] == 4.2*sin(x[5])^2\n  x[0] + 2*x[1] + 2*x[2] == 7.2*sin(x[6])^2\n";

/* A measure that mu or H makes small is no reason to stop: at tiny mu0 the measure of phi is small almost everywhere. */
LT_TEST(code_0_is_certified_whatever_mu_is)
{
    static const char *const problems[] = { hs071, hs056, hs106 };
    static const char *const options[] = { NULL, "mu0=0.01", "mu0=1e-5", "mu0=1e-7" };
    int n_zero = 0;
    for (size_t i = 0; i < LT_LEN(problems); i++)
        for (size_t j = 0; j < LT_LEN(options); j++) {
            solved k = solve_text(problems[i], options[j]);
            const lt_certificate *c = k.s->certificate;
            double weight;
            n_zero += k.s->termination_code == LT_TERMINATION_CONVERGED;
            if (k.s->termination_code == LT_TERMINATION_CONVERGED) LT_CHECK(c->stationary && c->residual <= 1e-4 && residual_at(&k, &weight) < 1e-2);
            release(&k);
        }
    LT_CHECK(n_zero >= 4);
}

/* Without the test the run ends early and says so; with it, it goes on to the optimum. */
LT_TEST(a_small_mu_no_longer_ends_a_run)
{
    solved hasty = solve_text(hs071, "mu0=1e-6 kkt_tol=inf patience=0 lagrangian_updates=false bfgs_damping=1e-4"), k = solve_text(hs071, "mu0=1e-6");
    LT_CHECK(hasty.s->termination_code == LT_TERMINATION_CONVERGED && !hasty.s->certificate->stationary && hasty.s->certificate->residual > 1e-3);
    LT_CHECK(k.s->certificate->stationary);
    LT_CHECK_NEAR(k.s->best.f, 17.0140173, 1e-4);
    release(&hasty);
    release(&k);
}

/* Attempts are bounded, and what cannot be certified has a code of its own. */
LT_TEST(without_recovery_the_code_says_that_the_point_is_not_stationary)
{
    solved k = solve_text(hs071, "mu0=1e-6 recoveries=0 patience=0 lagrangian_updates=false bfgs_damping=1e-4");
    LT_CHECK_EQ_INT(k.s->termination_code, LT_TERMINATION_NOT_STATIONARY);
    LT_CHECK(!k.s->certificate->stationary && strstr(lt_termination_text(LT_TERMINATION_NOT_STATIONARY), "multipliers"));
    release(&k);
}

/* A coil spring (Belegundu 1982), whose f is small beside the residuals that functions near 1 have: residuals of 4e-5 were 1 % away from the optimum. */
LT_TEST(small_functions_are_minimised_as_well)
{
    static const char spring[] =
        "var d in [0.05, 2] = %s\nvar D in [0.25, 1.3] = %s\nvar N in [2, 15] = 8\nminimize (N + 2)*D*d^2\nsubject to\n"
        "  1 - D^3*N/(71785*d^4) <= 0\n  (4*D^2 - d*D)/(12566*(D*d^3 - d^4)) + 1/(5108*d^2) - 1 <= 0\n  1 - 140.45*d/(D^2*N) <= 0\n  (D + d)/1.5 - 1 <= 0\n";
    static const char *const starts[][2] = { { "0.06", "0.4" }, { "1", "0.7" } };
    for (size_t i = 0; i < LT_LEN(starts); i++) {
        char text[512];
        snprintf(text, sizeof text, spring, starts[i][0], starts[i][1]);
        solved k = solve_text(text, NULL);
        LT_CHECK_EQ_INT(k.s->termination_code, LT_TERMINATION_CONVERGED);
        LT_CHECK_NEAR(k.s->best.f / 0.0126652328, 1, 1e-6);
        release(&k);
    }
}

/* Where no point is certified to kkt_tol, one that nearly was is an answer: this run ended with code 15 at a point that is right to 2e-8. */
LT_TEST(a_point_that_was_nearly_certified_counts)
{
    static const char crescent[] =
        "var x[1000] = 3.5*mod(arange(0, 1000, 1), 2) - 1.5\nlet a = x[:-1]\nlet b = x[1:]\n"
        "minimize sum(max(a^2 + (b - 1)^2 + b - 1, -a^2 - (b - 1)^2 + b + 1))\n";
    solved k = solve_text(crescent, NULL);
    LT_CHECK_EQ_INT(k.s->termination_code, LT_TERMINATION_CONVERGED);
    LT_CHECK(k.s->best.f < 1e-6 && k.s->certificate->residual > 1e-6 && k.s->certificate->residual <= 1e-4);
    release(&k);
}

/* compat=1 stops where PyGRANSO does. */
LT_TEST(compatible_runs_ask_for_no_certificate)
{
    solved k = solve_text(hs071, "mu0=1e-6 compat=1");
    LT_CHECK_EQ_INT(k.s->termination_code, LT_TERMINATION_CONVERGED);
    LT_CHECK(k.s->certificate->known && !k.s->certificate->stationary);
    release(&k);
}

LT_TEST(scaled_problems_have_multipliers_in_the_users_units)
{
    solved plain = solve_text(hs071, NULL), scaled = solve_text(hs071, "prescale_above=1");
    LT_CHECK(scaled.s->scalings.f && scaled.s->certificate->stationary);
    LT_CHECK_NEAR(scaled.s->certificate->ci_multipliers[0], plain.s->certificate->ci_multipliers[0], 1e-3);
    LT_CHECK_NEAR(scaled.s->certificate->ce_multipliers[0], plain.s->certificate->ce_multipliers[0], 1e-3);
    release(&plain);
    release(&scaled);
}

/* Kinks: no single gradient is small, a combination of nearby ones is. */
LT_TEST(kinks_are_certified_from_samples)
{
    solved k = solve_text("var x[3] = [1, 2, -1]\nminimize abs(x[0]) + 2*abs(x[1] - 1) + max(x[2], -3*x[2])\n", NULL);
    LT_CHECK(k.s->certificate->stationary && k.s->certificate->n_samples > 1 && k.s->certificate->residual <= 1e-4);
    release(&k);
    k = solve_text("var x[20] = linspace(-1, 2, 20)\nminimize 20*max(x) - sum(x)\n", "max_iterations=5000");
    LT_CHECK(k.s->certificate->stationary && k.s->best.f < 1e-4);
    release(&k);
}

/* Maxima, saddles and ties, where gradients balance at the start. */
LT_TEST(starts_that_are_no_minima_are_left)
{
    static const struct { const char *text; double start, optimum; } problems[] = {
        { "var x = 0\nminimize x^4 - x^2\n", 0, -0.25 },
        { "var x[2] = [1, 0]\nminimize (x[0]^2 - 1)^2 + x[1]^4 - 2*sqrt(2)*x[1]^2\n", 0, -2 },
        { "var x[2] = [0, 0]\nminimize x[0]*x[1]\nsubject to\n  -1 <= x <= 1\n", 0, -1 },
        { "var x[2] in [-2, 2] = [0, 0]\nminimize -abs(x[0]) - 3*abs(x[1])\n", 0, -8 },
        { "var x[2] = [0, 0]\nminimize abs(x[0]) + max(-1, -abs(x[1]))\n", 0, -1 },
    };
    for (size_t i = 0; i < LT_LEN(problems); i++) {
        solved k = solve_text(problems[i].text, NULL), stays = solve_text(problems[i].text, "recover_start=0");
        LT_CHECK_EQ_INT(k.s->termination_code, LT_TERMINATION_CONVERGED);
        LT_CHECK_NEAR(k.s->best.f, problems[i].optimum, 1e-8);
        LT_CHECK(stays.s->iters == 0 && stays.s->fn_evals == 1 && stays.s->best.f == problems[i].start);
        release(&k);
        release(&stays);
    }
    solved k = solve_text("var x[30] = zeros(30)\nminimize sum(x^2)\n", NULL);
    LT_CHECK(k.s->iters == 0 && k.s->fn_evals <= 31 && k.s->final.f == 0); /* a minimum is not left */
    release(&k);
}

/* No step along -H g is short enough for one variable and long enough for the other until H has their scales. */
LT_TEST(scales_are_taken_from_gradients_where_a_run_is_stuck)
{
    static const char text[] = "var x[2] = [1e8, 1e-8]\nminimize (x[0]/1e8 - 2)^2 + (x[1]*1e8 - 3)^2\n";
    solved k = solve_text(text, NULL), without = solve_text(text, "recover_scales=false");
    LT_CHECK_EQ_INT(k.s->termination_code, LT_TERMINATION_CONVERGED);
    LT_CHECK(k.s->best.f < 1e-12 && without.s->best.f > 1);
    release(&k);
    release(&without);
}

LT_TEST_MAIN()
