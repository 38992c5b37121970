/* The networks among the examples, to their acceptance: everything learned, constraints kept, attacks
   found. SPDX-License-Identifier: BSD-3-Clause */
#include "lathe/solve.h"
#include "lt_test.h"

#include <stdlib.h>

/* The text with every `from` turned into `to`; NULL twice: as it is. */
static char *edited(const char *text, const char *from, const char *to)
{
    size_t n = strlen(text), grown = from ? strlen(to) : 0;
    char *out = malloc((n + 1) * (grown + 1)), *at = out; /* generous: every letter replaced */
    while (*text) {
        if (from && !strncmp(text, from, strlen(from))) {
            memcpy(at, to, grown);
            at += grown;
            text += strlen(from);
        } else {
            *at++ = *text++;
        }
    }
    *at = '\0';
    return out;
}

typedef struct network { lt_model *model; lt_problem *problem; lt_solve_options opt; } network;

/* An example after up to three replacements. */
static network open_network(const char *name, const char *const (*change)[2])
{
    lt_example e = { .size = sizeof e };
    network w = { .opt = lt_solve_defaults() };
    LT_CHECK_OK(lt_example_find(name, &e));
    char *text = edited(e.text, NULL, NULL);
    for (int i = 0; change && i < 3 && change[i][0]; i++) {
        LT_CHECK(strstr(text, change[i][0]) != NULL);
        char *next = edited(text, change[i][0], change[i][1]);
        free(text);
        text = next;
    }
    LT_CHECK_OK(lt_model_parse(name, NULL, text, strlen(text), &w.model));
    LT_CHECK_OK(lt_problem_from_model(w.model, &w.problem));
    LT_CHECK_OK(lt_solve_options_from_model(&w.opt, w.model));
    free(text);
    return w;
}

static void close_network(network *w)
{
    lt_problem_destroy(w->problem);
    lt_model_destroy(w->model);
}

/* Iterations allocate nothing, but for the program of the measure: of 901 columns a sample it has room for few samples, and grows once. */
static lt_solution *solve_network(network *w)
{
    enum { PROGRAM_BLOCKS = 9, MANY = 900 };
    lt_solution *s = NULL;
    LT_CHECK_OK(lt_solve(w->problem, &w->opt, &s));
    LT_CHECK(s->loop_allocations == 0 || (s->p + s->q >= MANY && s->loop_allocations == PROGRAM_BLOCKS));
    return s;
}

/* How many samples the network puts into the wrong class: the same text with that as its objective. */
static double mistakes(const char *name, const char *loss, const char *scores, const double *x)
{
    char count[160];
    double f = NAN;
    snprintf(count, sizeof count, "sum(1 - eq(argmax(%s, axis=1), label))", scores);
    network w = open_network(name, (const char *const[3][2]){ { loss, count } });
    LT_CHECK_OK(lt_problem_evaluate(w.problem, x, &(lt_outputs){ .f = &f }));
    close_network(&w);
    return f;
}

LT_TEST(a_convolutional_network_learns_all_its_images)
{
    network w = open_network("D1v", NULL);
    lt_solution *s = solve_network(&w);
    LT_CHECK_EQ_INT(s->termination_code, LT_TERMINATION_CONVERGED);
    LT_CHECK(s->best.f <= 1e-3);
    LT_CHECK(mistakes("D1v", "cross_entropy(linear(a4, W5, w5), label)", "linear(a4, W5, w5)", s->best.x) == 0);
    lt_solution_destroy(s);
    close_network(&w);
}

/* A margin of one within each of the three distances, and for a larger image with limited memory. With
   seed 6 such images exist for all of them. */
LT_TEST(attacks_are_found_within_every_distance)
{
    static const char *const distance = "norm(features(x) - features(image)) <= 0.5";
    static const char *const change[4][3][2] = {
        { { NULL, NULL } },
        { { distance, "norm(x - image) <= 1" }, { "mt19937(0)", "mt19937(6)" } },
        { { distance, "amax_abs(x - image) <= 8/255\noption mu0 = 0.1" }, { "mt19937(0)", "mt19937(6)" }, { "max_iterations = 100", "max_iterations = 1000" } },
        { { "16, 16", "64, 64" }, { "option stationarity_tol", "option lbfgs_pairs = 20\noption stationarity_tol" } },
    };
    for (int i = 0; i < 4; i++) {
        network w = open_network("D2v", change[i]);
        lt_solution *s = solve_network(&w);
        if (s->termination_code != LT_TERMINATION_CONVERGED || !s->best.present || s->best.f > -1 + 1e-12 || s->best.tvi > 1e-6)
            LT_TEST_FAIL("attack %d: code %d, best f %g, violation %g", i, s->termination_code, s->best.f, s->best.tvi);
        LT_CHECK_EQ_INT(s->n, i == 3 ? 12288 : 768);
        lt_solution_destroy(s);
        close_network(&w);
    }
}

/* One folded constraint, then all 900 with a QP of that size in every iteration. */
LT_TEST(a_recurrent_network_learns_with_an_orthogonal_matrix)
{
    static const char *const change[2][3][2] = { { { NULL, NULL } }, { { "fold_l2(W' @ W - eye(30)) == 0", "W' @ W == eye(30)" } } };
    static const char *const loss = "cross_entropy(linear(hidden[:, -1, :], U, u), label)";
    for (int i = 0; i < 2; i++) {
        network w = open_network("D3v", change[i]);
        lt_solution *s = solve_network(&w);
        LT_CHECK_EQ_INT(s->q, i ? 900 : 1);
        LT_CHECK(s->termination_code == LT_TERMINATION_CONVERGED || s->termination_code == LT_TERMINATION_BRACKET_FEASIBLE);
        LT_CHECK(s->best.present && s->best.tve <= 1e-4);
        LT_CHECK(mistakes("D3v", loss, "linear(hidden[:, -1, :], U, u)", s->best.x) == 0);
        lt_solution_destroy(s);
        close_network(&w);
    }
}

LT_TEST_MAIN()
