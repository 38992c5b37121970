/* Reading and evaluating problem texts in tests. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LANGUAGE_TEST_H
#define LANGUAGE_TEST_H

#include "lt_test.h"

#include "lathe/problem.h"

static inline lt_model *read_text(const char *text)
{
    lt_model *m = NULL;
    (void)lt_model_parse("t.lt", NULL, text, strlen(text), &m);
    return m;
}

/* The text must be free of errors. */
static inline lt_model *read_good(const char *text)
{
    lt_model *m = NULL;
    lt_status s = lt_model_parse("t.lt", NULL, text, strlen(text), &m);
    if (s) LT_TEST_FAIL("%.300s\n%.300s\n%.600s", text, lt_error_text(), lt_model_messages(m));
    return m;
}

/* A node's values at x. */
static inline lt_status evaluate_node(const lt_model_view *v, lt_node n, const double *x, double *out)
{
    lt_program *p = NULL;
    lt_status s = lt_program_create(v->graph, &n, 1, NULL, &p);
    if (!s) s = lt_program_run(p, (const void *const[]){ x }, (void *const[]){ out });
    lt_program_destroy(p);
    return s;
}

/* f of a text at its start; NaN after a failure. */
static inline double objective_of(const char *text)
{
    double f = NAN;
    lt_model *m = read_good(text);
    lt_model_view v = lt_model_get(m);
    if (v.graph) LT_CHECK_OK(evaluate_node(&v, v.f, v.x0, &f));
    lt_model_destroy(m);
    return v.maximize ? -f : f;
}

#endif
