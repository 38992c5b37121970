/* Random expressions against a small evaluator of this test's own, on constants and on variables; and
   comprehensions against the same elements written out. SPDX-License-Identifier: BSD-3-Clause */
#include "language_test.h"

#include "lathe/rng.h"

/* ---- an expression as text and as a number, made together ---- */

typedef struct writer { lt_rng r; char text[4000]; double x[4]; } writer;

static void put(writer *w, const char *s) { strncat(w->text, s, sizeof w->text - strlen(w->text) - 1); }

/* How tightly the last thing written binds: 0 sum, 1 product, 2 sign, 3 power, 4 primary. */
static double write_level(writer *w, int depth, int level);

static double write_primary(writer *w, int depth)
{
    char s[40];
    switch (lt_rng_below(&w->r, depth > 0 ? 6 : 2)) {
    case 0: {
        double v = (double)lt_rng_below(&w->r, 40) / 8;
        snprintf(s, sizeof s, "%g", v);
        put(w, s);
        return v;
    }
    case 1: {
        int i = (int)lt_rng_below(&w->r, 4);
        snprintf(s, sizeof s, lt_rng_below(&w->r, 2) ? "x[%d]" : "x[%d - 4]", i);
        put(w, s);
        return w->x[i];
    }
    case 2: {
        static const struct { const char *name; double (*f)(double); } table[] = { { "abs(", fabs }, { "sin(", sin }, { "atan(", atan }, { "tanh(", tanh } };
        size_t k = lt_rng_below(&w->r, 4);
        put(w, table[k].name);
        double v = table[k].f(write_level(w, depth - 1, 0));
        put(w, ")");
        return v;
    }
    case 3: {
        put(w, "max(");
        double a = write_level(w, depth - 1, 0);
        put(w, ", ");
        double b = write_level(w, depth - 1, 0);
        put(w, ")");
        return fmax(a, b);
    }
    case 4: {
        put(w, "[");
        double a = write_level(w, depth - 1, 0);
        put(w, ",\n ");
        double b = write_level(w, depth - 1, 0);
        put(w, "] @ [2, -1]");
        put(w, "");
        return 2 * a - b; /* binds like a product: only used where that is right, see below */
    }
    default: {
        put(w, "(");
        double v = write_level(w, depth - 1, 0);
        put(w, ")");
        return v;
    }
    }
}

static double write_power(writer *w, int depth)
{
    if (depth <= 0 || lt_rng_below(&w->r, 3)) return write_primary(w, 0);
    put(w, "(");
    double base = write_level(w, depth - 1, 0);
    int exponent = (int)lt_rng_below(&w->r, 4);
    char s[20];
    snprintf(s, sizeof s, ")^%d", exponent);
    put(w, s);
    return pow(base, exponent);
}

static double write_level(writer *w, int depth, int level)
{
    if (level == 2) {
        if (lt_rng_below(&w->r, 4)) return write_power(w, depth);
        put(w, "-");
        return -write_level(w, depth, 2); /* -a^2 is -(a^2) */
    }
    /* a first operand and up to three more, from left to right */
    double v = level == 0 ? write_level(w, depth, 1) : lt_rng_below(&w->r, 3) ? write_level(w, depth, 2) : write_primary(w, depth);
    for (uint64_t n = lt_rng_below(&w->r, depth > 0 ? 3 : 1); n; n--) {
        if (level == 0) {
            bool plus = lt_rng_below(&w->r, 2);
            put(w, plus ? " + " : " - ");
            double b = write_level(w, depth - 1, 1);
            v = plus ? v + b : v - b;
        } else if (lt_rng_below(&w->r, 2)) {
            put(w, "*");
            v = v * write_level(w, depth - 1, 2);
        } else {
            put(w, "/(1 + abs(");
            v = v / (1 + fabs(write_level(w, depth - 1, 0)));
            put(w, "))");
        }
    }
    return v;
}

static double value_with(const char *head, const char *expression)
{
    static char text[8000];
    snprintf(text, sizeof text, "%s\nminimize %s\n", head, expression);
    return objective_of(text);
}

LT_TEST(random_expressions)
{
    for (int i = 0; i < 400; i++) {
        writer w = { .r = lt_rng_seed((uint64_t)i), .text = "(", .x = { 0.5, -1.25, 2, 0.125 } };
        double want = write_level(&w, 3, 0);
        put(&w, ")");
        if (strlen(w.text) > 3000) continue;
        double constant = value_with("var y = 1\ndata x = [0.5, -1.25, 2, 0.125]", w.text);
        double variable = value_with("var x[4] = [0.5, -1.25, 2, 0.125]", w.text);
        if (!(fabs(constant - want) <= 1e-11 * fmax(1, fabs(want))) || !(fabs(variable - want) <= 1e-11 * fmax(1, fabs(want))))
            LT_TEST_FAIL("%s: %.15g and %.15g, expected %.15g", w.text, constant, variable, want);
    }
}

/* ---- comprehensions, lifted and written out ---- */

/* A body over i and j (and x, A), with its indices replaced by numbers in the written-out form. */
static const char *const bodies[] = {
    "x[I]*x[J]", "x[I + 1] - x[I]*J", "x[5 - I] + A[J, I]", "A[I, J]*A[J, I]", "sin(x[I])^2/(1 + J)", "sum(A[I, :]*x[:4])*x[J]",
    "A[I] @ A[:, J]", "max(x[I], x[J], 0)", "norm(A[I] - A[J])", "x[2*I - I + J]", "where(lt(I, J), x[I], -x[J])", "mean(A[I:I + 2, J])",
    "[x[I], x[J]] @ [1, 2]", "det(A[:2, :2] + I*J)", "sum([x[I + k]*A[k, J] for k in 0:3])", "A[I][J] + A'[I, J]", "g(x[I], J)", "(A @ A)[I, J]",
    "max(A, axis=0)[I]*J", "dot(A[I], A[J])", "(x*I)[J]", "sum(softmax(A[I]*J)*x[:4])", "x[I]^J", "I/(J + 1)",
};

static void replace(const char *body, const char *i, const char *j, char *out)
{
    for (; *body; body++) {
        bool alone = !(body[1] >= 'a' && body[1] <= 'z');
        if (*body == 'I' && alone) out += sprintf(out, "%s", i);
        else if (*body == 'J' && alone) out += sprintf(out, "%s", j);
        else *out++ = *body;
    }
    *out = 0;
}

LT_TEST(comprehensions_equal_their_elements)
{
    static const char head[] = "var x[6] = [0.5, -1.5, 2, 0.25, -0.75, 1]\nvar A[4, 4] = [[sin(3*i + j) for j in 0:4] for i in 0:4]\nfn g(a, b) = a*b + x[1]\n";
    for (size_t b = 0; b < sizeof bodies / sizeof *bodies; b++) {
        char piece[200], lifted[400], spread[6000] = "[";
        replace(bodies[b], "i", "j", piece);
        snprintf(lifted, sizeof lifted, "sum([%s for i in 0:3 for j in 0:4:2]*[[1, 2], [3, 4], [5, 6]])", piece);
        for (int i = 0; i < 3; i++) {
            strcat(spread, i ? ", [" : "[");
            for (int j = 0; j < 4; j += 2) {
                char si[4], sj[4];
                snprintf(si, sizeof si, "%d", i), snprintf(sj, sizeof sj, "%d", j);
                replace(bodies[b], si, sj, piece);
                strcat(strcat(spread, j ? ", " : ""), piece);
            }
            strcat(spread, "]");
        }
        char both[6100];
        snprintf(both, sizeof both, "sum(%s]*[[1, 2], [3, 4], [5, 6]])", spread);
        double got = value_with(head, lifted), want = value_with(head, both);
        if (!(fabs(got - want) <= 1e-12 * fmax(1, fabs(want)))) LT_TEST_FAIL("%s: %.15g, written out %.15g", bodies[b], got, want);
    }
}

LT_TEST_MAIN()
