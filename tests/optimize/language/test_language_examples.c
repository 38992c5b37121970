/* The built-in examples: sizes, values at the start as published, gradients against differences.
   SPDX-License-Identifier: BSD-3-Clause */
#include "language_test.h"

#include "lathe/rng.h"

/* f, and the sums of |ci| and |ce|, at the start; NaN: nothing is published or computed elsewhere. */
static const struct { const char *name; int64_t n, p, q; double f, tolerance, ci, ce; } rows[] = {
    { "A1", 2, 2, 0, 0, 0, 1.4142135623730951, 0 },
    { "A1b", 2, 2, 0, 218.25, 1e-14, 16.778174593052, 0 },        /* 100*218.25 + 16.778 = 21841.778 */
    { "A2", 20, 1, 0, NAN, 0, NAN, 0 },
    { "A2full", 200, 1, 0, NAN, 0, NAN, 0 },
    { "A3", 30, 0, 1, 0.61751624522, 1e-11, 0, 0 },
    { "B1", 2, 3, 0, 0, 0, 1 + 4 + 4, 0 },
    { "B2", 300, 0, 1, -777.13839, 1e-6, 0, 311.31229 },          /* 0.1*f + |ce| = 233.5984 */
    { "B3", 5, 0, 1, -2.145921, 1e-6, 0, 3.313169 },              /* f + |ce| = 1.167248 */
    { "B3d2", 10, 0, 4, NAN, 0, 0, NAN },
    { "C1", 24, 0, 12, 0.2*3.4641016151377544 + 0.05*2.4, 1e-12, 0, NAN },
    { "C2", 80, 0, 0, 23.9720755177, 1e-11, 0, 0 },
    { "C3", 4, 0, 0, 69.314718055994530, 1e-14, 0, 0 },           /* 100 log 2 */
    { "D1v", 4257, 0, 0, NAN, 0, 0, 0 },
    { "D2v", 768, 1, 0, NAN, 0, 0.5, 0 },
    { "D3v", 2110, 0, 1, NAN, 0, 0, NAN },
};

static double sum_abs(const lt_model_view *v, lt_node n, int64_t count)
{
    if (lt_is_none(n)) return 0;
    double *out = calloc((size_t)count, sizeof *out), sum = 0;
    LT_CHECK_OK(evaluate_node(v, n, v->x0, out));
    for (int64_t i = 0; i < count; i++) sum += fabs(out[i]);
    free(out);
    return sum;
}

LT_TEST(sizes_and_values_at_the_start)
{
    LT_CHECK_EQ_INT(lt_example_count(), sizeof rows / sizeof *rows);
    for (int i = 0; i < (int)(sizeof rows / sizeof *rows); i++) {
        char path[40];
        lt_example example = { .size = sizeof example };
        lt_model *m = NULL;
        snprintf(path, sizeof path, "example:%s", rows[i].name);
        LT_CHECK(lt_example_get(i, &example) && !strcmp(example.name, rows[i].name) && example.title[0] && strlen(example.text) > 50);
        LT_CHECK_OK(lt_model_read(path, &m));
        lt_model_view v = lt_model_get(m);
        LT_CHECK(!strcmp(lt_model_messages(m), ""));
        if (v.graph) {
            double f = NAN;
            LT_CHECK(v.n == rows[i].n && v.p == rows[i].p && v.q == rows[i].q);
            LT_CHECK_OK(evaluate_node(&v, v.f, v.x0, &f));
            if (isnan(rows[i].f)) LT_CHECK(isfinite(f));
            else LT_CHECK_NEAR(f, rows[i].f, rows[i].tolerance);
            if (!isnan(rows[i].ci)) LT_CHECK_NEAR(sum_abs(&v, v.ci, v.p), rows[i].ci, 1e-11);
            if (!isnan(rows[i].ce)) LT_CHECK_NEAR(sum_abs(&v, v.ce, v.q), rows[i].ce, 1e-6);
        }
        lt_model_destroy(m);
    }
    lt_example none = { .size = sizeof none };
    LT_CHECK(!lt_example_get(-1, &none) && !lt_example_get(lt_example_count(), &none));
    LT_CHECK_OK(lt_example_find("b3D2", &none));
    LT_CHECK_FAILS(lt_example_find("zzzzzz", &none), LT_ERR_ARGUMENT, "no example 'zzzzzz'");
}

/* The derivative along random directions, away from the start's kinks. */
static void check_gradient(const char *name, const lt_model_view *v, lt_node y, int64_t count, lt_rng *r)
{
    lt_node seed, g;
    double *w = calloc((size_t)count, sizeof *w), *x = calloc((size_t)v->n, sizeof *x), *d = calloc((size_t)v->n, sizeof *d);
    double *gradient = calloc((size_t)v->n, sizeof *gradient), *at = calloc((size_t)v->n, sizeof *at), *out = calloc((size_t)count, sizeof *out);
    for (int64_t i = 0; i < count; i++) w[i] = lt_rng_normal(r);
    for (int64_t i = 0; i < v->n; i++) x[i] = v->x0[i] + 0.01 * lt_rng_normal(r), d[i] = lt_rng_normal(r);
    seed = lt_constant(v->graph, LT_F64, lt_node_shape(v->graph, y), w);
    LT_CHECK_OK(lt_vjp(v->graph, y, seed, &v->x, 1, &g));
    LT_CHECK_OK(evaluate_node(v, g, x, gradient));
    lt_node weighted = lt_sum(v->graph, lt_mul(v->graph, y, seed));
    double slope = 0, value[2], h = 1e-6, scale = 0;
    lt_program *p = NULL;
    LT_CHECK_OK(lt_program_create(v->graph, &weighted, 1, NULL, &p));
    for (int s = 0; s < 2; s++) {
        for (int64_t i = 0; i < v->n; i++) at[i] = x[i] + (s ? -h : h) * d[i];
        LT_CHECK_OK(lt_program_run(p, (const void *const[]){ at }, (void *const[]){ &value[s] }));
    }
    for (int64_t i = 0; i < v->n; i++) slope += gradient[i] * d[i], scale += fabs(gradient[i] * d[i]);
    double difference = (value[0] - value[1]) / (2 * h);
    if (!(fabs(slope - difference) <= 1e-4 * fmax(1, scale))) LT_TEST_FAIL("%s: slope %.10g, difference %.10g", name, slope, difference);
    lt_program_destroy(p);
    free(w), free(x), free(d), free(gradient), free(at), free(out);
}

LT_TEST(gradients_against_differences)
{
    lt_rng r = lt_rng_seed(4);
    for (int i = 0; i < lt_example_count(); i++) {
        lt_example example = { .size = sizeof example };
        lt_model *m = NULL;
        char path[40];
        lt_example_get(i, &example);
        if (!strcmp(example.name, "A2full")) continue; /* the same text as A2 with larger matrices */
        snprintf(path, sizeof path, "example:%s", example.name);
        LT_CHECK_OK(lt_model_read(path, &m));
        lt_model_view v = lt_model_get(m);
        check_gradient(example.name, &v, v.f, 1, &r);
        if (v.p) check_gradient(example.name, &v, v.ci, v.p, &r);
        if (v.q) check_gradient(example.name, &v, v.ce, v.q, &r);
        lt_model_destroy(m);
    }
}

/* All sixteen points of C3's path, by changing k. */
LT_TEST(logistic_path)
{
    lt_example example = { .size = sizeof example };
    LT_CHECK_OK(lt_example_find("C3", &example));
    const char *line = strstr(example.text, "data k = 7\n");
    LT_CHECK(line != NULL);
    for (int k = 0; k < 16; k++) {
        char text[2000];
        lt_model *m = NULL;
        double f = NAN, w[4] = { 1, 0, -1, 2 };
        snprintf(text, sizeof text, "%.*sdata k = %d\n%s", (int)(line - example.text), example.text, k, line + strlen("data k = 7\n"));
        LT_CHECK_OK(lt_model_parse("c3.lt", NULL, text, strlen(text), &m));
        lt_model_view v = lt_model_get(m);
        LT_CHECK_OK(evaluate_node(&v, v.f, v.x0, &f));
        LT_CHECK_NEAR(f, 100*log(2), 1e-14);
        double C = 0.10007147962830593 * pow(10, 7.0 * k / 15), with, without = 0;
        LT_CHECK_OK(evaluate_node(&v, v.f, w, &with));
        for (int i = 0; i < 4; i++) without += fabs(w[i]);
        double loss = with - without / C; /* the same for every k */
        static double first;
        if (k == 0) first = loss;
        LT_CHECK_NEAR(loss, first, 1e-12);
        lt_model_destroy(m);
    }
}

/* The files and what is built in are the same: reading the folder gives the same numbers. */
LT_TEST(files_of_the_folder)
{
    static const char *const names[] = { "c3", "b1", "a1" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[600];
        lt_model *m = NULL;
        snprintf(path, sizeof path, "%s/%s.lt", LT_PROBLEMS, names[i]);
        LT_CHECK_OK(lt_model_read(path, &m));
        lt_model_view v = lt_model_get(m);
        double f = NAN;
        LT_CHECK_OK(evaluate_node(&v, v.f, v.x0, &f));
        LT_CHECK(isfinite(f) && !strcmp(v.name, path));
        lt_model_destroy(m);
    }
}

/* The problems of the language's page, which is the indented blocks with variables and an objective. */
LT_TEST(problems_of_the_documentation)
{
    FILE *f = fopen(LT_LANGUAGE_PAGE, "r");
    char line[500], block[4000] = "";
    int n_problems = 0;
    LT_CHECK(f != NULL);
    for (bool more = f != NULL; more;) {
        more = fgets(line, sizeof line, f) != NULL;
        if (more && !strncmp(line, "    ", 4)) { strncat(block, line + 4, sizeof block - strlen(block) - 1); continue; }
        if (strstr(block, "var ") && strstr(block, "\nminimize")) {
            LT_CHECK(isfinite(objective_of(block)));
            n_problems++;
        }
        block[0] = 0;
    }
    LT_CHECK_EQ_INT(n_problems, 3);
    if (f) fclose(f);
}

LT_TEST_MAIN()
