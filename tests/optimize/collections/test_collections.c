/* Every file of the collections and of the held-out set is a problem with a published optimum and a start at which everything is finite. All are
   solved at defaults: no quadratic program fails, code 0 is stationary, and few optima are missed. SPDX-License-Identifier: BSD-3-Clause */
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

/* ---- Ends ------------------------------------------------------------------------------------------------------ */
static double length(const double *v, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += v[i] * v[i];
    return sqrt(sum);
}

/* The KKT residual at `final` by plain loops: gradients as the problem evaluates them, with the multipliers that the certificate states. */
static double residual_at(lt_problem *problem, const lt_solution *s)
{
    const int64_t n = s->n, p = s->p, m = s->p + s->q;
    double f, *v = calloc((size_t)(n + m + m * n + 1), sizeof *v), *c = v + n, *g = c + m;
    lt_outputs out = { .f = &f, .grad_f = v, .ci = p ? c : NULL, .grad_ci = p ? g : NULL, .ce = s->q ? c + p : NULL, .grad_ce = s->q ? g + p * n : NULL };
    LT_CHECK_OK(lt_problem_evaluate(problem, s->final.x, &out));
    double weight = length(v, n), products = 0;
    for (int64_t j = 0; j < m; j++) {
        const double l = j < p ? s->certificate->ci_multipliers[j] : s->certificate->ce_multipliers[j - p];
        LT_CHECK(j >= p || l >= 0);
        for (int64_t i = 0; i < n; i++) v[i] += l * g[j * n + i];
        weight += fabs(l) * length(g + j * n, n);
        products += j < p ? l * c[j] * l * c[j] : 0;
    }
    const double stationarity = length(v, n);
    free(v);
    return sqrt(stationarity * stationarity + products) / fmax(1, weight);
}

/* Code 0 means stationary: what the point alone certifies is computed again; what its samples do is small by the solver's word. */
static void check_end(const char *path, lt_problem *p, const lt_solution *s)
{
    if (s->quadprog_failure_rate > 0) LT_TEST_FAIL("%s: %g %% of its QPs failed", path, s->quadprog_failure_rate);
    if (s->termination_code != LT_TERMINATION_CONVERGED) return;
    if (!(s->certificate->residual <= 1e-4)) LT_TEST_FAIL("%s: code 0 with a residual of %g", path, s->certificate->residual);
    const double again = s->certificate->n_samples == 1 ? residual_at(p, s) : 0;
    if (!(again <= 1e-4)) LT_TEST_FAIL("%s: code 0, but the residual is %g", path, again);
}

/* Whether the run ends feasible within 1e-4 of the optimum, lower or not. */
static bool is_solved(const char *path, lt_problem *p, double optimum, bool maximize)
{
    lt_solution *s = NULL;
    LT_CHECK_OK(lt_solve(p, NULL, &s));
    if (!s) return false;
    check_end(path, p, s);
    const double above = (maximize ? -1 : 1) * (s->best.f - optimum);
    bool solved = s->best.present && s->best.feasible_to_tol && above <= 1e-4 * fmax(1, fabs(optimum));
    lt_solution_destroy(s);
    return solved;
}

static int walk(const char *folder, int *n_solved)
{
    char *paths[MAX_FILES];
    int n = list_files(folder, paths);
    *n_solved = 0;
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
            bool solved = is_solved(paths[i], p, optimum, lt_model_get(m).maximize);
            if (!solved) printf("not solved: %s\n", paths[i]);
            *n_solved += solved;
        }
        lt_problem_destroy(p);
        lt_model_destroy(m);
        free(paths[i]);
    }
    printf("%s: %d of %d solved\n", folder, *n_solved, n);
    return n;
}

/* Untuned, at defaults. Raise the numbers with the solver. */
LT_TEST(hock_and_schittkowski_are_solved_but_for_one)
{
    int solved, n = walk("hs", &solved);
    LT_CHECK(n >= 50 && solved >= n - 1);
}

LT_TEST(nonsmooth_and_large_ones_are_solved)
{
    int solved;
    LT_CHECK(walk("nonsmooth", &solved) >= 10 && solved >= 14);
    LT_CHECK(walk("scalable", &solved) == 30 && solved >= 29);
    LT_CHECK(walk("smooth", &solved) >= 20 && solved >= 22);
}

/* Written before the solver was run on them; nothing was chosen on these. */
LT_TEST(held_out_problems_are_solved_as_far_as_they_were)
{
    int solved;
    LT_CHECK(walk("../heldout", &solved) >= 50 && solved >= 49);
}

LT_TEST_MAIN()
