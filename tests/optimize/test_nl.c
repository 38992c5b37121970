/* Models of AMPL's: what is read is what was meant, in text and in binary; what is wrong is said with its place.
   SPDX-License-Identifier: BSD-3-Clause */
#include "lt_test.h"

#include "base/alloc.h"
#include "base/status.h"
#include "lathe/solve.h"
#include "optimize/nl/ampl.h"

#include <math.h>
#include <string.h>

/* n variables, m constraints, one objective, n_defined defined variables. */
#define HEADER(n, m, defined) \
    "g3 1 1 0\n " #n " " #m " 1 0 0\n 0 0\n 0 0\n 0 0 0\n 0 0 0 1\n 0 0 0 0 0\n 0 0\n 0 0\n " #defined " 0 0 0 0\n"

static lt_model *parse(const char *text)
{
    lt_model *m = NULL;
    LT_CHECK_OK(lt_ampl_parse("t.nl", text, strlen(text), NULL, NULL, &m));
    return m;
}

/* f at x, and ci, ce where asked for. */
static double value_at(lt_model *m, const double *x, double *ci, double *ce)
{
    lt_problem *p = NULL;
    double f = NAN;
    LT_CHECK_OK(lt_problem_from_model(m, &p));
    LT_CHECK_OK(lt_problem_evaluate(p, x, &(lt_outputs){ .f = &f, .ci = ci, .ce = ce }));
    lt_problem_destroy(p);
    return f;
}

/* The value of one expression of x = (0.3, 0.7), as an objective. */
static double objective(const char *expression)
{
    char text[2000];
    snprintf(text, sizeof text, HEADER(2, 0, 0) "O0 0\n%sb\n3\n3\nx2\n0 0.3\n1 0.7\n", expression);
    lt_model *m = parse(text);
    double v = m ? value_at(m, (double[]){ 0.3, 0.7 }, NULL, NULL) : NAN;
    lt_model_destroy(m);
    return v;
}

typedef struct outside { int64_t p, n; } outside;

static bool look(void *ctx, const lt_iterate *it)
{
    outside *o = ctx;
    o->p = it->p;
    o->n += !(it->x[0] >= 0.25 && it->x[0] <= 4 && it->x[1] >= 1);
    return false;
}

/* x log x + (y - 1/2)^2 with 0.25 <= x <= 4, y >= 1, from outside: bounds of AMPL's are kept, and are no constraints of the run. */
LT_TEST(bounds_are_kept)
{
    lt_model *m = parse(HEADER(2, 0, 0) "O0 0\no0\no2\nv0\no43\nv0\no5\no1\nv1\nn0.5\nn2\nb\n0 0.25 4\n2 1\nx2\n0 -3\n1 -5\n");
    lt_problem *p = NULL;
    lt_solution *s = NULL;
    outside o = { 0 };
    lt_solve_options opt = lt_solve_defaults();
    opt.iterate_fn = look;
    opt.iterate_ctx = &o;
    LT_CHECK_OK(lt_problem_from_model(m, &p));
    LT_CHECK_OK(lt_solve(p, &opt, &s));
    LT_CHECK(o.p == 0 && o.n == 0 && s->p == 3 && s->n_start_moved == 2);
    LT_CHECK_NEAR(s->best.x[0], exp(-1), 1e-6);
    LT_CHECK(s->best.x[1] == 1);
    LT_CHECK_NEAR(s->certificate->bound_multipliers[1], 1, 1e-6);
    LT_CHECK_NEAR(s->certificate->ci_multipliers[2], 1, 1e-6); /* 1 - y <= 0 comes last */
    lt_solution_destroy(s);
    lt_problem_destroy(p);
    lt_model_destroy(m);
}

LT_TEST(every_operator_means_what_it_says)
{
    static const struct { const char *text; double want; } cases[] = {
        { "o0\nv0\nv1\n", 1.0 }, { "o1\nv0\nv1\n", -0.4 }, { "o2\nv0\nv1\n", 0.21 }, { "o3\nv0\nv1\n", 3.0 / 7 },
        { "o4\nn-7.5\no0\nn2\no2\nn0\nv0\n", -1.5 }, { "o5\nv0\nn3\n", 0.027 }, { "o5\nv1\nv0\n", pow(0.7, 0.3) },
        { "o6\nv1\nv0\n", 0.4 }, { "o6\nv0\nv1\n", 0 }, { "o11\n3\nv1\nv0\nn0.5\n", 0.3 }, { "o12\n3\nv1\nv0\nn0.5\n", 0.7 },
        { "o13\no2\nn10\nv0\n", 3 }, { "o14\no2\nn4\nv0\n", 2 }, { "o15\no16\nv0\n", 0.3 }, { "o16\nv0\n", -0.3 },
        { "o35\no22\nv0\nv1\nv0\nv1\n", 0.3 }, { "o35\no29\nv0\nv1\nv0\nv1\n", 0.7 }, { "o35\no20\no28\nv0\nv1\no23\nv0\nv1\nn5\nn6\n", 5 },
        { "o35\no21\no28\nv0\nv1\no23\nv0\nv1\nn5\nn6\n", 6 }, { "o35\no34\no24\nv0\nv1\nn5\nn6\n", 5 }, { "o35\no30\nv0\nv0\nn5\nn6\n", 6 },
        { "o35\no70\n3\no22\nv0\nv1\no22\nv0\nn1\no22\nv1\nn1\nn5\nn6\n", 5 }, { "o35\no71\n2\no29\nv0\nv1\no29\nv0\nn1\nn5\nn6\n", 6 },
        { "o37\nv0\n", tanh(0.3) }, { "o38\nv0\n", tan(0.3) }, { "o39\nv0\n", sqrt(0.3) }, { "o40\nv0\n", sinh(0.3) }, { "o41\nv0\n", sin(0.3) },
        { "o42\nv0\n", log10(0.3) }, { "o43\nv0\n", log(0.3) }, { "o44\nv0\n", exp(0.3) }, { "o45\nv0\n", cosh(0.3) }, { "o46\nv0\n", cos(0.3) },
        { "o47\nv0\n", atanh(0.3) }, { "o48\nv0\nv1\n", atan2(0.3, 0.7) }, { "o49\nv0\n", atan(0.3) }, { "o50\no16\nv0\n", asinh(-0.3) },
        { "o51\nv0\n", asin(0.3) }, { "o52\no0\nn1\nv0\n", acosh(1.3) }, { "o53\nv0\n", acos(0.3) }, { "o54\n3\nv0\nv1\nn1.5\n", 2.5 },
        { "o55\nn7\no2\nn10\nv0\n", 2 }, { "o75\nv0\nn2\n", 0.09 }, { "o76\nv1\n", 0.49 }, { "o77\nn2\nv0\n", pow(2, 0.3) },
        { "o64\n3\nn-1\nn0\nn2\nn0.5\nn4\nv1\n", 1.8 }, /* slopes -1, 2, 4 with bends at 0 and 0.5 */
        { "o64\n2\nn1\nn1\nn3\nv1\n", 0.7 }, { "l7\n", 7 }, { "s3\n", 3 },
    };
    for (size_t i = 0; i < LT_LEN(cases); i++) {
        double got = objective(cases[i].text);
        if (!(fabs(got - cases[i].want) <= 1e-11)) LT_TEST_FAIL("%s is %.15g, expected %.15g", cases[i].text, got, cases[i].want);
    }
}

/* Hock and Schittkowski's problem 71, as AMPL writes it, with bounds on the variables. */
static const char hs071[] =
    "g3 1 1 0\n 4 2 1 0 1\n 2 1\n 0 0\n 4 4 4\n 0 0 0 1\n 0 0 0 0 0\n 8 4\n 0 0\n 0 0 0 0 0\n"
    "C0\no2\no2\no2\nv0\nv1\nv2\nv3\nC1\no54\n4\no5\nv0\nn2\no5\nv1\nn2\no5\nv2\nn2\no5\nv3\nn2\n"
    "O0 0\t#obj\no2\no2\nv0\nv3\no54\n3\nv0\nv1\nv2\n"
    "x4\n0 1\n1 5\n2 5\n3 1\nr\n2 25\t# a comment\n4 40\nb\n0 1 5\n0 1 5\n0 1 5\n0 1 5\nk3\n2\n4\n6\nJ0 4\n0 0\n1 0\n2 0\n3 0\nJ1 4\n0 0\n1 0\n2 0\n3 0\n"
    "G0 4\n0 0\n1 0\n2 1\n3 0\nS0 1 priority\n0 3\n";

LT_TEST(a_model_is_solved)
{
    lt_model *m = parse(hs071);
    lt_problem *p = NULL;
    lt_solution *s = NULL;
    lt_model_view v = lt_model_get(m);
    LT_CHECK_EQ_INT(v.n, 4);
    LT_CHECK_EQ_INT(v.p, 9);
    LT_CHECK_EQ_INT(v.q, 1);
    LT_CHECK_OK(lt_problem_from_model(m, &p));
    LT_CHECK_OK(lt_solve(p, NULL, &s));
    LT_CHECK(s->best.present && fabs(s->best.f - 17.0140173) < 1e-5);
    lt_solution_destroy(s);
    lt_problem_destroy(p);
    lt_model_destroy(m);
}

/* Ranges, one-sided rows, free rows, fixed variables; defined variables in two levels; linear parts of several lengths. */
LT_TEST(rows_bounds_and_defined_variables)
{
    static const char text[] =
        HEADER(3, 5, 3)
        "V3 1 0\n0 2\no5\nv1\nn2\nV4 0 0\no2\nv3\nv2\nV5 1 0\n3 1\no41\nv4\n" /* d3 = 2x + y^2, d4 = d3 z, d5 = d3 + sin d4 */
        "C0\nv4\nC1\no44\nv5\nC2\nn0\nC3\nn0\nC4\nn0\nO0 1\no54\n2\nv5\nv0\n"
        "r\n0 -1 8\n1 3\n2 4\n3\n4 5\nb\n3\n0 0 2\n4 1.5\nJ0 1\n1 3\nJ2 3\n0 1\n1 1\n2 1\nJ3 1\n0 1\nJ4 2\n0 1\n2 -1\n";
    lt_model *m = parse(text);
    lt_model_view v = lt_model_get(m);
    double x = 0.4, y = 1.25, z = 1.5, d3 = 2 * x + y * y, d4 = d3 * z, d5 = d3 + sin(d4), ci[8], ce[4];
    LT_CHECK_EQ_INT(v.p, 2 + 1 + 1 + 2);
    LT_CHECK_EQ_INT(v.q, 1 + 1);
    LT_CHECK(v.maximize);
    LT_CHECK(fabs(value_at(m, (double[]){ x, y, z }, ci, ce) + (d5 + x)) < 1e-14); /* negated: maximize */
    const struct { const char *name; bool equality; double want[2]; int n; } rows[] = {
        { "_scon[1]", false, { d4 + 3 * y - 8, -1 - d4 - 3 * y }, 2 }, { "_scon[2]", false, { exp(d5) - 3 }, 1 },
        { "_scon[3]", false, { 4 - x - y - z }, 1 }, { "_scon[5]", true, { x - z - 5 }, 1 },
        { "fixed variables", true, { z - 1.5 }, 1 }, { "upper bounds", false, { y - 2 }, 1 }, { "lower bounds", false, { 0 - y }, 1 },
    };
    int at = 0;
    for (size_t i = 0; i < LT_LEN(rows); i++)
        for (int k = 0; k < rows[i].n; k++, at++) {
            const lt_model_constraint *c = &v.constraints[at];
            LT_CHECK(!strcmp(c->name, rows[i].name) && c->equality == rows[i].equality && c->count == 1);
            double got = (c->equality ? ce : ci)[c->first];
            if (!(fabs(got - rows[i].want[k]) < 1e-13)) LT_TEST_FAIL("%s is %.15g, expected %.15g", c->name, got, rows[i].want[k]);
        }
    LT_CHECK_EQ_INT(at, v.n_constraints);
    lt_model_destroy(m);
}

/* Two thousand terms and constraints of one shape are a few operations on vectors, not thousands. */
LT_TEST(equal_shapes_are_built_once)
{
    enum { N = 2000 };
    char *text = malloc(400000), *at = text;
    at += sprintf(at, "g3 1 1 0\n %d %d 1 0 0\n 0 0\n 0 0\n 0 0 0\n 0 0 0 1\n 0 0 0 0 0\n 0 0\n 0 0\n 0 0 0 0 0\n", N, N - 1);
    for (int i = 0; i < N - 1; i++) at += sprintf(at, "C%d\no0\no5\nv%d\nn2\no2\nn%d\nv%d\n", i, i, i % 7, (i * 37 + 1) % N);
    at += sprintf(at, "O0 0\no54\n%d\n", N);
    for (int i = 0; i < N; i++) at += sprintf(at, "o5\no1\nv%d\nn%d\nn2\n", i, i % 3);
    at += sprintf(at, "r\n");
    for (int i = 0; i < N - 1; i++) at += sprintf(at, "1 %d\n", i);
    at += sprintf(at, "b\n");
    for (int i = 0; i < N; i++) at += sprintf(at, "3\n");
    for (int i = 0; i < N - 1; i++) {
        at += sprintf(at, "J%d %d\n%d 1.5\n%d 2\n", i, i % 2 ? 3 : 2, i, i + 1);
        if (i % 2) at += sprintf(at, "%d -1\n", (i + 2) % N);
    }
    *at = 0;
    lt_model *m = parse(text);
    LT_CHECK(m && lt_graph_node_count(lt_model_get(m).graph) < 80);
    double *x = malloc(N * sizeof *x), *ci = malloc(N * sizeof *ci), f = 0;
    for (int i = 0; i < N; i++) x[i] = sin(i), f += (x[i] - i % 3) * (x[i] - i % 3);
    LT_CHECK(fabs(value_at(m, x, ci, NULL) - f) < 1e-10 * f);
    lt_model_view v = lt_model_get(m);
    for (int i = 0; i < v.n_constraints; i++) {
        double want = x[i] * x[i] + i % 7 * x[(i * 37 + 1) % N] + 1.5 * x[i] + 2 * x[i + 1] - (i % 2 ? x[(i + 2) % N] : 0) - i;
        if (!(fabs(ci[v.constraints[i].first] - want) < 1e-10)) LT_TEST_FAIL("constraint %d is %g, expected %g", i, ci[v.constraints[i].first], want);
    }
    lt_model_destroy(m);
    free(x), free(ci), free(text);
}

/* ---- Binary -------------------------------------------------------------------------------------------- */

/* The text of a model as AMPL would write it in binary: the header stays, the rest is translated word by word. */
static size_t to_binary(const char *text, char *out)
{
    const char *at = text;
    char *to = out;
    for (int line = 0; line < 10; line++) {
        size_t n = strcspn(at, "\n") + 1;
        memcpy(to, at, n);
        at += n, to += n;
    }
    out[0] = 'b';
    char segment = 0;
    while (*at) {
        size_t n = strcspn(at, "\n");
        char word[200], *rest = word;
        snprintf(word, sizeof word, "%.*s", (int)strcspn(at, "#\n"), at);
        for (size_t k = strlen(word); k && strchr(" \t", word[k - 1]); k--) word[k - 1] = 0;
        at += n + 1;
        if (strchr("COVJGxrbkdS", word[0]) && word[0]) segment = *rest++, *to++ = segment;
        else if (strchr("onvls", word[0])) *to++ = *rest++;
        else if (segment == 'r' || segment == 'b') *to++ = *rest++;
        bool real = (word[0] == 'n') || ((segment == 'r' || segment == 'b') && rest != word && word[0] != segment);
        for (int k = 0; *rest; k++) {
            char *end;
            double v = strtod(rest, &end);
            if (end == rest) { /* the name of a suffix */
                while (*rest == ' ') rest++;
                int32_t length = (int32_t)strlen(rest);
                memcpy(to, &length, 4), memcpy(to + 4, rest, (size_t)length), to += 4 + length;
                break;
            }
            rest = end;
            bool pair = (segment == 'J' || segment == 'G' || segment == 'x' || segment == 'V') && word[0] >= '0' && word[0] <= '9' && k == 1;
            if (real || pair) memcpy(to, &v, 8), to += 8;
            else if (word[0] == 's') memcpy(to, &(int16_t){ (int16_t)v }, 2), to += 2;
            else memcpy(to, &(int32_t){ (int32_t)v }, 4), to += 4;
        }
    }
    return (size_t)(to - out);
}

LT_TEST(binary_models_are_the_same)
{
    char *bytes = malloc(10000);
    size_t n = to_binary(hs071, bytes);
    lt_model *a = parse(hs071), *b = NULL;
    LT_CHECK_OK(lt_ampl_parse("b.nl", bytes, n, NULL, NULL, &b));
    static const double x[] = { 1.1, 2.2, 3.3, 4.4 };
    double ca[10], cb[10], ea[1], eb[1];
    LT_CHECK(value_at(a, x, ca, ea) == value_at(b, x, cb, eb));
    LT_CHECK(!memcmp(ca, cb, 9 * sizeof *ca) && ea[0] == eb[0]);
    LT_CHECK(!memcmp(lt_model_get(a).x0, lt_model_get(b).x0, sizeof x));
    lt_model_destroy(b);
    for (size_t cut = 0; cut < n; cut++) { /* cut anywhere, it is refused; copied to its exact size, so that reading past the end shows */
        char *exact = malloc(cut + 1);
        memcpy(exact, bytes, cut);
        b = NULL;
        lt_status s = lt_ampl_parse("b.nl", exact, cut, NULL, NULL, &b);
        if (cut < n - 30) LT_CHECK(s == LT_ERR_FORMAT && !b);
        lt_model_destroy(b);
        free(exact);
    }
    bytes[strstr(bytes, " 0 0 0 1\n") - bytes + 5] = '2';
    LT_CHECK_EQ_INT(lt_ampl_parse("b.nl", bytes, n, NULL, NULL, &b), LT_ERR_FORMAT);
    LT_CHECK(strstr(lt_error_text(), "another order of bytes"));
    lt_model_destroy(a);
    free(bytes);
}

/* ---- Names, mistakes, answers ---------------------------------------------------------------------------- */

LT_TEST(names_come_from_the_files_beside)
{
    lt_model *m = NULL;
    LT_CHECK_OK(lt_ampl_parse("t.nl", hs071, strlen(hs071), "a\nb\nc\nd\n", "product\nsquares\nobj\n", &m));
    lt_model_view v = lt_model_get(m);
    LT_CHECK(v.n_variables == 4 && !strcmp(v.variables[2].name, "c") && v.variables[2].offset == 2 && v.variables[2].shape.rank == 0);
    LT_CHECK(!strcmp(v.constraints[0].name, "product") && !strcmp(v.constraints[1].name, "squares"));
    lt_model_destroy(m);
    LT_CHECK_OK(lt_ampl_parse("t.nl", hs071, strlen(hs071), "a\nb\n", "\n\n", &m)); /* too few names: none */
    LT_CHECK(lt_model_get(m).n_variables == 1);
    lt_model_destroy(m);
}

LT_TEST(mistakes_are_named_with_their_place)
{
    static const struct { const char *text, *says; } cases[] = {
        { "", "t.nl:1: no .nl file" }, { "x3 1 1 0\n", "neither g nor b" }, { "g3 1 1 0\n 2 0 1\n", "ends inside its header" },
        { HEADER(0, 0, 0), "no variables" }, { HEADER(100000000, 0, 0), "in a file of" },
        { "g3 1 1 0\n 2 0 1 0 0\n 0 0\n 0 0\n 0 0 0\n 0 0 0 1\n 1 0 0 0 0\n 0 0\n 0 0\n 0 0 0 0 0\n", "1 variables are integer or binary" },
        { "g3 1 1 0\n 2 0 1 0 0\n 0 0\n 0 0\n 0 0 0\n 0 3 0 1\n 0 0 0 0 0\n 0 0\n 0 0\n 0 0 0 0 0\n", "3 imported functions" },
        { HEADER(2, 0, 0) "O0 0\nv2\n", "t.nl:12: a variable is 2, expected 0 to 1" }, { HEADER(2, 0, 0) "O0 0\no999\n", "operator o999 does not exist" },
        { HEADER(2, 0, 0) "O0 0\no74\n2\nv0\nv1\n", "(alldiff) is not supported" }, { HEADER(2, 0, 0) "O0 0\no0\nv0\n", "ends inside an expression" },
        { HEADER(2, 0, 0) "O0 0\nf0 1\nv0\n", "imported functions are not supported" }, { HEADER(2, 0, 0) "O0 0\nnabc\n", "'abc' where a number is expected" },
        { HEADER(2, 0, 0) "O0 0\nv0\n", "without a segment b" }, { HEADER(2, 0, 0) "O0 0\nv0\nb\n0 2 1\n3\n", "contradict each other" },
        { HEADER(2, 0, 0) "b\n3\n3\n", "without a segment O" }, { HEADER(2, 1, 0) "C0\nv0\nO0 0\nv0\nb\n3\n3\n", "without a segment r" },
        { HEADER(2, 1, 0) "C0\nv0\nC0\nv1\n", "two segments C" }, { HEADER(2, 1, 0) "r\n5 1 2\n", "complementarity" }, { HEADER(2, 0, 0) "L0\n", "logical constraints" },
        { HEADER(2, 0, 1) "O0 0\nv2\n", "v2 is used before it is defined" }, { HEADER(2, 0, 1) "V2 0 0\nv2\n", "v2 is used before it is defined" },
        { HEADER(2, 0, 0) "q\n", "there is no segment 'q'" }, { HEADER(2, 0, 0) "x3\n", "is 3, expected 0 to 2" },
        { HEADER(2, 0, 0) "O0 0\no54\n5000000\n", "a file that ends before them" }, { HEADER(2, 0, 0) "O0 0\no64\n2\nn1\nv0\n", "'v' where a number is expected" },
    };
    for (size_t i = 0; i < LT_LEN(cases); i++) {
        lt_model *m = NULL;
        lt_status s = lt_ampl_parse("t.nl", cases[i].text, strlen(cases[i].text), NULL, NULL, &m);
        if (s != LT_ERR_FORMAT || m || !strstr(lt_error_text(), cases[i].says)) LT_TEST_FAIL("status %d, '%s', expected '%s'", s, lt_error_text(), cases[i].says);
        lt_model_destroy(m);
    }
}

/* A sum of sums a hundred thousand deep is read and built without a stack as deep. */
LT_TEST(depth_is_no_danger)
{
    enum { DEPTH = 100000 };
    char *text = malloc(DEPTH * 8 + 1000), *at = text;
    at += sprintf(at, HEADER(2, 0, 0) "O0 0\n");
    for (int i = 0; i < DEPTH; i++) at += sprintf(at, "o0\nv%d\n", i % 2);
    sprintf(at, "v0\nb\n3\n3\n");
    lt_model *m = parse(text);
    LT_CHECK(fabs(value_at(m, (double[]){ 1, 2 }, NULL, NULL) - 150001) < 1e-6);
    lt_model_destroy(m);
    free(text);
}

LT_TEST(memory_that_runs_out_is_said_so)
{
    for (int k = 1; k < 400; k++) {
        lt_model *m = NULL;
        lt_alloc_fail_at(k);
        lt_status s = lt_ampl_parse("t.nl", hs071, strlen(hs071), NULL, NULL, &m);
        lt_alloc_fail_at(0);
        LT_CHECK(s == LT_OK ? m != NULL : s == LT_ERR_MEMORY && !m);
        lt_model_destroy(m);
        if (!s) return;
    }
    LT_TEST_FAIL("400 allocations and no end");
}

LT_TEST_MAIN()
