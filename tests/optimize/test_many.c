/* Many runs: starts are those of lt_solve_multistart, sweeps those of single solves; values that are wrong are rows. SPDX-License-Identifier: BSD-3-Clause */
#include "lathe/solve.h"
#include "lt_test.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static lt_problem *open_text(const char *text, lt_model **m)
{
    lt_problem *p = NULL;
    LT_CHECK_OK(lt_model_parse("text", NULL, text, strlen(text), m));
    LT_CHECK_OK(lt_problem_from_model(*m, &p));
    return p;
}

static const char nonsmooth[] = "var x[2] = [1, 1]\nminimize 8*abs(x[0]^2 - x[1]) + (1 - x[0])^2\nsubject to\n  sqrt(2)*x[0] <= 1\n  2*x[1] <= 1\n";
static const char two_minima[] = "var x[3]\nmaximize -sum(abs(x^2 - 1)) + 0.1*x[0]\n";

LT_TEST(starts_are_those_of_one_process_in_the_same_order)
{
    static const char *const texts[] = { nonsmooth, two_minima };
    for (int k = 0; k < 2; k++) {
        lt_model *m;
        lt_problem *p = open_text(texts[k], &m);
        lt_multistart *all;
        lt_solve_options opt = lt_solve_defaults();
        opt.print_to = NULL;
        opt.seed = 7;
        LT_CHECK_OK(lt_solve_multistart(p, &opt, 17, 2, &all));
        for (int threads = 1; threads <= 5; threads += 2) {
            lt_runs *runs;
            lt_run_row row = { .size = sizeof row };
            LT_CHECK_OK(lt_solve_starts(NULL, p, &opt, 17, threads, &runs));
            LT_CHECK_EQ_INT(lt_runs_count(runs), 17);
            for (int64_t i = 0; i < 17; i++) {
                const lt_solution *s = all->solution[i];
                const lt_solution_point *shown = s->best.present ? &s->best : &s->final;
                LT_CHECK(lt_runs_get(runs, i, &row) && row.number == all->start[i] && !row.failed && row.feasible == s->best.present);
                LT_CHECK(row.f == shown->f && row.tv == shown->tv && row.iters == s->iters && row.fn_evals == s->fn_evals && row.termination_code == s->termination_code && row.value != row.value);
            }
            LT_CHECK(!lt_runs_get(runs, 17, &row) && !lt_runs_get(runs, -1, &row) && lt_runs_x(runs, 0) == NULL);
            const lt_solution *best = lt_runs_best(runs);
            LT_CHECK(best && !memcmp(best->final.x, all->solution[0]->final.x, (size_t)best->n * sizeof(double)));
            lt_runs_destroy(runs);
        }
        lt_multistart_destroy(all);
        lt_problem_destroy(p);
        lt_model_destroy(m);
    }
}

LT_TEST(starts_that_cannot_begin_are_rows_at_the_end)
{
    lt_model *m;
    lt_runs *runs;
    lt_run_row row = { .size = sizeof row };
    lt_problem *p = open_text("var x[1]\nminimize x[0] - log(x[0])\n", &m); /* not finite at half of the starts */
    lt_solve_options opt = lt_solve_defaults();
    opt.print_to = NULL;
    LT_CHECK_OK(lt_solve_starts(NULL, p, &opt, 20, 2, &runs));
    int failed = 0;
    for (int64_t i = 0; lt_runs_get(runs, i, &row); i++) {
        failed += row.failed;
        LT_CHECK(row.failed ? row.error[0] && row.f != row.f : !failed);
    }
    LT_CHECK(failed > 2 && failed < 18);
    lt_runs_destroy(runs);
    lt_problem_destroy(p);
    lt_model_destroy(m);
    p = open_text("var x[1]\nminimize log(-1 - x[0]^2)\n", &m);
    LT_CHECK_FAILS(lt_solve_starts(NULL, p, &opt, 5, 2, &runs), LT_ERR_NUMERIC, "no start could begin; the first: ");
    LT_CHECK_FAILS(lt_solve_starts(NULL, p, &opt, 0, 2, &runs), LT_ERR_ARGUMENT, "expected at least 1");
    opt.checkpoint = "no.ckpt";
    LT_CHECK_FAILS(lt_solve_starts(NULL, p, &opt, 5, 2, &runs), LT_ERR_ARGUMENT, "'checkpoint' is of a single run");
    LT_CHECK(runs == NULL && lt_runs_count(NULL) == 0 && lt_runs_best(NULL) == NULL);
    lt_problem_destroy(p);
    lt_model_destroy(m);
}

/* ---- Sweeps -------------------------------------------------------------------------------------------------------------------------------- */

static char path[64];

static void write_text(const char *text)
{
    snprintf(path, sizeof path, "/tmp/lathe-sweep-XXXXXX");
    int fd = mkstemp(path);
    LT_CHECK(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    close(fd);
}

LT_TEST(a_datum_gets_another_value)
{
    lt_model *m;
    write_text("data a = 2\ndata b = a + 1\ndata v = [1, 2]\nvar x[1] = [0]\nminimize (x[0] - b)^2\n");
    LT_CHECK_OK(lt_model_read_with(path, "a", 10, &m));
    lt_problem *p;
    double f, x = 0;
    LT_CHECK_OK(lt_problem_from_model(m, &p));
    LT_CHECK_OK(lt_problem_evaluate(p, &x, &(lt_outputs){ .f = &f }));
    LT_CHECK(f == 121); /* what is made of it follows */
    lt_problem_destroy(p);
    lt_model_destroy(m);
    LT_CHECK_FAILS(lt_model_read_with(path, "c", 1, &m), LT_ERR_ARGUMENT, "has no 'data c = ");
    lt_model_destroy(m);
    LT_CHECK_FAILS(lt_model_read_with(path, "x", 1, &m), LT_ERR_ARGUMENT, "has no 'data x = "); /* variables are no data */
    lt_model_destroy(m);
    LT_CHECK(lt_model_read_with(path, "v", 1, &m) == LT_ERR_FORMAT && strstr(lt_model_messages(m), "only a single number"));
    lt_model_destroy(m);
    LT_CHECK_FAILS(lt_model_read_with(path, "a", NAN, &m), LT_ERR_ARGUMENT, "finite");
    LT_CHECK_FAILS(lt_model_read_with("some.nl", "a", 1, &m), LT_ERR_ARGUMENT, "AMPL");
    unlink(path);
}

LT_TEST(a_sweep_is_a_solve_for_each_value)
{
    lt_runs *runs;
    lt_solve_options opt = lt_solve_defaults();
    lt_run_row row = { .size = sizeof row };
    opt.print_to = NULL;
    write_text("data a = 1\nvar x[2] = [1, 1]\nminimize abs(x[0] - a) + 2*abs(x[1] + a)\n");
    LT_CHECK_OK(lt_solve_sweep(NULL, path, "a", -1, 2, 7, &opt, 3, &runs));
    LT_CHECK_EQ_INT(lt_runs_count(runs), 7);
    for (int64_t i = 0; i < 7; i++) {
        lt_model *m;
        lt_problem *p;
        lt_solution *s;
        const double value = i == 6 ? 2 : -1 + 3 * ((double)i / 6), *x = lt_runs_x(runs, i);
        LT_CHECK_OK(lt_model_read_with(path, "a", value, &m));
        LT_CHECK_OK(lt_problem_from_model(m, &p));
        LT_CHECK_OK(lt_solve(p, &opt, &s));
        LT_CHECK(lt_runs_get(runs, i, &row) && row.value == value && row.number == i && row.f == s->best.f && row.iters == s->iters && x && x[0] == s->best.x[0] && x[1] == s->best.x[1]);
        lt_solution_destroy(s);
        lt_problem_destroy(p);
        lt_model_destroy(m);
    }
    LT_CHECK(lt_runs_best(runs) == NULL);
    lt_runs_destroy(runs);
    LT_CHECK_FAILS(lt_solve_sweep(NULL, path, "q", 0, 1, 3, &opt, 1, &runs), LT_ERR_ARGUMENT, "data q");
    LT_CHECK_FAILS(lt_solve_sweep(NULL, path, "a", 0, INFINITY, 3, &opt, 1, &runs), LT_ERR_ARGUMENT, "finite");
    LT_CHECK_FAILS(lt_solve_sweep(NULL, path, "a", 0, 1, 0, &opt, 1, &runs), LT_ERR_ARGUMENT, "at least 1");
    unlink(path);
}

LT_TEST(values_for_which_the_text_is_wrong_are_rows)
{
    lt_runs *runs;
    lt_solve_options opt = lt_solve_defaults();
    lt_run_row row = { .size = sizeof row };
    opt.print_to = NULL;
    write_text("data n = 2\nvar x[n] = 1\nminimize sum(x^2)\n"); /* another number of variables each time, and none for 2.5 */
    lt_status s = lt_solve_sweep(NULL, path, "n", 2, 3, 3, &opt, 1, &runs);
    if (s) printf("%s\n", lt_error_text());
    LT_CHECK_OK(s);
    LT_CHECK(lt_runs_get(runs, 0, &row) && !row.failed && lt_runs_x(runs, 0) != NULL);
    LT_CHECK(lt_runs_get(runs, 1, &row) && row.failed && row.error[0] && row.value == 2.5);
    LT_CHECK(lt_runs_get(runs, 2, &row) && !row.failed && lt_runs_x(runs, 2) == NULL);
    lt_runs_destroy(runs);
    unlink(path);
}

LT_TEST_MAIN()
