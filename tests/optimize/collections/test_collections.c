/* Every file of the collections is a problem with a published optimum and a start at which everything is finite; all but six of the
   Hock and Schittkowski ones are solved at defaults. SPDX-License-Identifier: BSD-3-Clause */
#include "lathe/solve.h"
#include "lt_test.h"

#include <dirent.h>

enum { MAX_FILES = 256 };

static int by_name(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

static int list_files(const char *folder, char *paths[MAX_FILES])
{
    char where[1024];
    int n = 0;
    snprintf(where, sizeof where, "%s/%s", LT_COLLECTIONS, folder);
    DIR *d = opendir(where);
    for (struct dirent *e; d && n < MAX_FILES && (e = readdir(d));) {
        size_t length = strlen(e->d_name);
        if (length < 4 || strcmp(e->d_name + length - 3, ".lt") != 0) continue;
        paths[n] = malloc(strlen(where) + length + 2);
        sprintf(paths[n++], "%s/%s", where, e->d_name);
    }
    if (d) closedir(d);
    qsort(paths, (size_t)n, sizeof *paths, by_name);
    return n;
}

static bool read_optimum(const char *path, double *f)
{
    FILE *file = fopen(path, "r");
    char line[512];
    bool found = false;
    while (file && !found && fgets(line, sizeof line, file)) found = sscanf(line, "# expect f = %lf", f) == 1;
    if (file) fclose(file);
    return found;
}

/* Values and gradients at the start. */
static void check_start(const char *path, lt_problem *p, const double *x0)
{
    lt_problem_size s = lt_problem_get_size(p);
    size_t n = (size_t)s.n, rows = (size_t)(s.p + s.q);
    double f, *grad = malloc(n * sizeof *grad), *c = malloc((rows + 1) * sizeof *c);
    lt_outputs out = { .f = &f, .grad_f = grad, .ci = s.p ? c : NULL, .ce = s.q ? c + s.p : NULL };
    bool finite = lt_problem_evaluate(p, x0, &out) == LT_OK && isfinite(f);
    for (size_t i = 0; i < n; i++) finite = finite && isfinite(grad[i]);
    for (size_t i = 0; i < rows; i++) finite = finite && isfinite(c[i]);
    if (!finite) LT_TEST_FAIL("%s: not finite at its start", path);
    free(grad), free(c);
}

/* Whether the run ends feasible within 1e-4 of the optimum. */
static bool is_solved(lt_problem *p, double optimum)
{
    lt_solution *s = NULL;
    bool solved = lt_solve(p, NULL, &s) == LT_OK && s->best.present && s->best.feasible_to_tol && s->best.f - optimum <= 1e-4 * fmax(1, fabs(optimum));
    lt_solution_destroy(s);
    return solved;
}

static int walk(const char *folder, bool solve, int *n_solved)
{
    char *paths[MAX_FILES];
    int n = list_files(folder, paths);
    for (int i = 0; i < n; i++) {
        double optimum;
        lt_model *m = NULL;
        lt_problem *p = NULL;
        if (!read_optimum(paths[i], &optimum)) LT_TEST_FAIL("%s: no line '# expect f = …'", paths[i]);
        lt_status status = lt_model_read(paths[i], &m);
        if (!status) status = lt_problem_from_model(m, &p);
        if (status) LT_TEST_FAIL("%s: %s\n%s", paths[i], lt_error_text(), m ? lt_model_messages(m) : "");
        else {
            if (lt_model_get(m).n_options > 0) LT_TEST_FAIL("%s: sets an option", paths[i]);
            check_start(paths[i], p, lt_model_get(m).x0);
            bool solved = solve && is_solved(p, optimum);
            if (solve && !solved) printf("not solved: %s\n", paths[i]);
            *n_solved += solved;
        }
        lt_problem_destroy(p);
        lt_model_destroy(m);
        free(paths[i]);
    }
    return n;
}

LT_TEST(files_are_problems_with_finite_starts)
{
    int none = 0;
    LT_CHECK(walk("nonsmooth", false, &none) >= 10);
    LT_CHECK(walk("scalable", false, &none) == 30);
    LT_CHECK(walk("smooth", false, &none) >= 20);
}

/* Untuned, at defaults. Raise it with the solver. */
LT_TEST(all_but_six_of_hock_and_schittkowski_are_solved)
{
    int solved = 0, n = walk("hs", true, &solved);
    printf("%d of %d solved\n", solved, n);
    LT_CHECK(n >= 50 && solved >= n - 6);
}

LT_TEST_MAIN()
