/* Solves every problem file of this folder and compares with the optimum the file states; see README.md.
   SPDX-License-Identifier: BSD-3-Clause */
#include "lathe/solve.h"
#include "lt_test.h"

#include <dirent.h>

enum { MAX_FILES = 512 };

typedef struct expectation { double f, tolerance; } expectation;

/* Finds the line "# expect f = VALUE [rel TOLERANCE]". */
static bool read_expectation(const char *path, expectation *out)
{
    FILE *file = fopen(path, "r");
    char line[512];
    bool found = false;
    *out = (expectation){ .tolerance = 1e-6 };
    while (file && !found && fgets(line, sizeof line, file))
        found = sscanf(line, "# expect f = %lf rel %lf", &out->f, &out->tolerance) >= 1;
    if (file) fclose(file);
    return found;
}

static int by_name(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

/* The names of all .lt files, sorted; the caller frees each. */
static int list_problems(char *names[MAX_FILES])
{
    DIR *folder = opendir(LT_LITERATURE);
    int n = 0;
    for (struct dirent *e; folder && n < MAX_FILES && (e = readdir(folder));) {
        size_t length = strlen(e->d_name);
        if (length < 4 || strcmp(e->d_name + length - 3, ".lt") != 0) continue;
        names[n] = malloc(length + 1);
        memcpy(names[n++], e->d_name, length + 1);
    }
    if (folder) closedir(folder);
    qsort(names, (size_t)n, sizeof *names, by_name);
    return n;
}

static void compare(const char *name, const lt_solution *s, bool maximize, expectation want)
{
    double f = maximize ? -s->best.f : s->best.f;
    double error = fabs(f - want.f) / fmax(1, fabs(want.f));
    printf("%-24s %3lld %3lld %3lld  %4d %5lld %5lld  %19.12g %9.1e %8.2f\n", name, (long long)s->n, (long long)s->p,
           (long long)s->q, s->termination_code, (long long)s->iters, (long long)s->fn_evals, f, error, 1e3 * s->time_total);
    if (s->termination_code != LT_TERMINATION_CONVERGED && s->termination_code != LT_TERMINATION_BRACKET_FEASIBLE) LT_TEST_FAIL("%s: code %d", name, s->termination_code);
    if (s->quadprog_failure_rate > 0) LT_TEST_FAIL("%s: %.2f %% of its QPs failed", name, s->quadprog_failure_rate);
    if (!s->best.present || !s->best.feasible_to_tol) LT_TEST_FAIL("%s: nothing feasible", name);
    else if (!(error <= want.tolerance)) LT_TEST_FAIL("%s: f is %.12g, expected %.12g", name, f, want.f);
}

static void solve_file(const char *name)
{
    char path[1024];
    expectation want;
    lt_model *model = NULL;
    lt_problem *problem = NULL;
    lt_solution *solution = NULL;
    lt_solve_options options = lt_solve_defaults();
    snprintf(path, sizeof path, "%s/%s", LT_LITERATURE, name);
    if (!read_expectation(path, &want)) { LT_TEST_FAIL("%s: no line '# expect f = …'", name); return; }
    lt_status status = lt_model_read(path, &model);
    if (!status) status = lt_solve_options_from_model(&options, model);
    if (!status) status = lt_problem_from_model(model, &problem);
    if (!status) status = lt_solve(problem, &options, &solution);
    if (status) LT_TEST_FAIL("%s: %s\n%s", name, lt_error_text(), model ? lt_model_messages(model) : "");
    else compare(name, solution, lt_model_get(model).maximize, want);
    lt_solution_destroy(solution);
    lt_problem_destroy(problem);
    lt_model_destroy(model);
}

LT_TEST(problems_of_the_literature_reach_their_optima)
{
    char *names[MAX_FILES];
    int n = list_problems(names);
    LT_CHECK(n >= 45 && n < MAX_FILES);
    printf("%-24s %3s %3s %3s  %4s %5s %5s  %19s %9s %8s\n", "file", "n", "p", "q", "code", "its", "evals", "best f", "error", "ms");
    for (int i = 0; i < n; i++) {
        solve_file(names[i]);
        free(names[i]);
    }
    printf("%d problems\n", n);
}

/* The reader of expectations must not pass files that state none. */
LT_TEST(a_file_without_expectation_is_noticed)
{
    expectation e;
    LT_CHECK(!read_expectation(LT_LITERATURE "/README.md", &e));
    LT_CHECK(read_expectation(LT_LITERATURE "/cb2.lt", &e) && e.tolerance == 1e-6 && fabs(e.f - 1.9522245) < 1e-7);
}

LT_TEST_MAIN()
