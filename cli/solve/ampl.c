/* lathe-ampl: the solver as AMPL and Pyomo start it: lathe-ampl STUB -AMPL [NAME=VALUE…]. It reads STUB.nl and writes STUB.sol.
   SPDX-License-Identifier: BSD-3-Clause */
#include <lathe/lathe.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EXIT_USAGE = 2 };
static volatile int interrupted;
static void stop(int sig) { (void)sig; interrupted = 1; }

static const char usage[] =
    "usage: lathe-ampl STUB [-AMPL] [NAME=VALUE]...\n\n"
    "Solves the model of STUB.nl and writes the answer to STUB.sol. In AMPL: option solver lathe-ampl; solve;\n"
    "Options of the solver (lathe explain option) stand behind the stub or in the environment variable lathe_options,\n"
    "separated by spaces: option lathe_options 'max_iterations=500 stationarity_tol=1e-6';\n";

static int fail(const char *text) { return fprintf(stderr, "lathe-ampl: %s\n", text), EXIT_USAGE; }

/* ---- Options --------------------------------------------------------------------------------------- */

static lt_status set_option(lt_solve_options *o, char *item)
{
    char *equals = strchr(item, '=');
    if (!equals || equals == item) {
        fprintf(stderr, "lathe-ampl: '%s': expected NAME=VALUE\n", item);
        return LT_ERR_ARGUMENT;
    }
    *equals = 0;
    lt_status s = lt_solve_options_set(o, item, equals + 1);
    if (s) fprintf(stderr, "lathe-ampl: %s\n", lt_error_text());
    return s;
}

static const char *options_of_environment(void)
{
    int n;
    const lt_env_row *rows = lt_env_rows(&n);
    for (int i = 0; i < n; i++)
        if (!strcmp(rows[i].name, "lathe_options")) return lt_env_value(&rows[i]);
    return NULL;
}

/* The texts of strings must outlive the options: `copy` does. */
static lt_status set_from_environment(lt_solve_options *o, char **copy)
{
    const char *text = options_of_environment();
    *copy = text ? strdup(text) : NULL;
    if (text && !*copy) return LT_ERR_MEMORY;
    char *rest = *copy;
    for (char *item; rest && (item = strtok_r(rest, " \t\n", &rest));)
        if (set_option(o, item)) return LT_ERR_ARGUMENT;
    return LT_OK;
}

/* ---- Answers --------------------------------------------------------------------------------------- */

/* AMPL's solve_result_num. */
static int code_of(const lt_solution *s)
{
    if (!s->best.present && s->certificate->n_conflict) return 200; /* whatever the search ended with */
    switch ((lt_termination)s->termination_code) {
    case LT_TERMINATION_CONVERGED: case LT_TERMINATION_TARGET: return 0;
    case LT_TERMINATION_BRACKET_FEASIBLE: return s->certificate->stationary ? 0 : 100;
    case LT_TERMINATION_SMALL_DECREASE: case LT_TERMINATION_NOT_STATIONARY: return 100; /* solved, perhaps not to the last digit */
    case LT_TERMINATION_BRACKET_INFEASIBLE: return 200;
    case LT_TERMINATION_UNBOUNDED: return 300;
    case LT_TERMINATION_MAX_ITERATIONS: return 400;
    case LT_TERMINATION_MAX_TIME: return 401;
    case LT_TERMINATION_HALTED: return 402;
    default: return 500;
    }
}

/* Which constraints cannot hold together, where that is known. */
static void add_conflict(const lt_model_view *v, const lt_certificate *c, char *text, size_t size)
{
    size_t used = strlen(text);
    for (int64_t i = 0; i < c->n_conflict && used + 80 < size; i++)
        for (int k = 0; k < v->n_constraints; k++) {
            const lt_model_constraint *at = &v->constraints[k];
            const int64_t first = at->first + (at->equality ? v->p : 0);
            if (c->conflict[i] < first || c->conflict[i] >= first + at->count) continue;
            used += (size_t)snprintf(text + used, size - used, "%s%.60s", i ? ", " : "\nthese cannot hold together: ", at->name ? at->name : "?");
        }
}

static int write_answer(const lt_model *m, const char *path, const lt_solution *s)
{
    const lt_solution_point *p = s->best.present ? &s->best : &s->final;
    char message[1000], f[32];
    const lt_model_view v = lt_model_get(m);
    lt_double_text(v.maximize ? -p->f : p->f, f);
    snprintf(message, sizeof message, "lathe %s: %s\nobjective %s, largest violation %.3g; %lld iterations, %lld evaluations", lt_version(),
             lt_termination_text(s->termination_code), f, p->tv, (long long)s->iters, (long long)s->fn_evals);
    if (!s->best.present) add_conflict(&v, s->certificate, message, sizeof message);
    puts(message);
    lt_ampl_answer answer = { .size = sizeof answer, .message = message, .code = code_of(s), .x = p->x,
                              .ci_multipliers = s->certificate->ci_multipliers, .ce_multipliers = s->certificate->ce_multipliers };
    if (!lt_model_write_sol(m, path, &answer)) return 0;
    fprintf(stderr, "lathe-ampl: %s\n", lt_error_text());
    return 1;
}

/* A model that cannot be solved still has an answer, which says why. */
static int write_failure(const lt_model *m, const char *path)
{
    lt_ampl_answer answer = { .size = sizeof answer, .message = lt_error_text(), .code = 500 };
    fprintf(stderr, "lathe-ampl: %s\n", lt_error_text());
    if (lt_model_write_sol(m, path, &answer)) fprintf(stderr, "lathe-ampl: %s\n", lt_error_text());
    return 1;
}

static int solve_model(const lt_model *m, const lt_solve_options *o, const char *path)
{
    lt_problem *p = NULL;
    lt_solution *s = NULL;
    lt_status st = lt_problem_from_model(m, &p);
    if (!st) st = lt_solve(p, o, &s);
    int status = st ? write_failure(m, path) : write_answer(m, path, s);
    lt_solution_destroy(s);
    lt_problem_destroy(p);
    return status;
}

/* ---- The program --------------------------------------------------------------------------------------- */

/* STUB or STUB.nl: both paths, in one block; free *model. */
static bool make_paths(const char *stub, char **model, char **answer)
{
    size_t n = strlen(stub);
    if (n > 3 && !strcmp(stub + n - 3, ".nl")) n -= 3;
    *model = malloc(2 * n + 16);
    if (!*model) return false;
    *answer = *model + sprintf(*model, "%.*s.nl", (int)n, stub) + 1;
    sprintf(*answer, "%.*s.sol", (int)n, stub);
    return true;
}

static int run(const char *stub, int n_items, char **items)
{
    lt_solve_options o = lt_solve_defaults();
    lt_model *m = NULL;
    char *model, *answer, *texts = NULL;
    int status = EXIT_USAGE;
    if (!make_paths(stub, &model, &answer)) return fail("no memory"), 1;
    lt_status s = set_from_environment(&o, &texts);
    for (int i = 0; i < n_items && !s; i++)
        if (strcmp(items[i], "-AMPL")) s = set_option(&o, items[i]);
    o.interrupt = &interrupted;
    if (!s) {
        if (lt_model_read(model, &m)) fail(lt_error_text());
        else status = solve_model(m, &o, answer);
    }
    lt_model_destroy(m);
    free(model);
    free(texts);
    return status;
}

int main(int argc, char **argv)
{
    signal(SIGINT, stop);
    signal(SIGTERM, stop);
    if (argc < 2) return fputs(usage, stderr), EXIT_USAGE;
    if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")) return fputs(usage, stdout), 0;
    if (!strcmp(argv[1], "-v") || !strcmp(argv[1], "--version")) return printf("lathe-ampl %s\n", lt_version()), 0;
    return run(argv[1], argc - 2, argv + 2);
}
