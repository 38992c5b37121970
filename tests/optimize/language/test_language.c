/* The problem language: what texts mean. Every function is used once on constants (computed while
   reading) and once on variables (built as a graph), which must agree with the value written here.
   SPDX-License-Identifier: BSD-3-Clause */
#include "base/status.h"
#include "language_test.h"

/* v = [0.5, -1.5, 2], M = [[1, 2], [3, 5]], s = 0.3, P = [[4, 1], [1, 3]]; each row has one number. */
static const struct { const char *expression; double want; } rows[] = {
    /* operators and precedence */
    { "-s^2", -0.09 }, { "2^3^2", 512 }, { "2^-1", 0.5 }, { "(-2)^3", -8 }, { "1 - 2 - 3", -4 }, { "12/2/3", 2 },
    { "2*3 + 4*5", 26 }, { "2 + 3*4^2", 50 }, { "-v[1]^2", -2.25 }, { "v[0]^2 + v[1]^3", 0.25 - 3.375 }, { "+s", 0.3 },
    { "v' @ v", 0.25 + 2.25 + 4 }, { "(M @ M)[0, 1]", 12 }, { "M'[0, 1]", 3 }, { "v @ [1, 2, 3]", 3.5 }, { "(M @ [1, 1])[1]", 8 },
    { "sum(M*[1, 10])", 74 }, { "sum(M/M)", 4 }, { "sum(v + unsqueeze(v, 1))", 6 }, { "1e3 + .5 + 2.", 1002.5 }, { "pi", 3.14159265358979323846 },
    { "true + false", 1 }, { "sum(v^2)", 6.5 }, { "sum(2^v)", 1.4142135623730951 + 0.35355339059327379 + 4 },
    { "x0 + v[0]*0", 1 },
    /* elementwise */
    { "sum(abs(v))", 4 }, { "sum(sign(v))", 1 }, { "sum(square(v))", 6.5 }, { "sqrt(s)", 0.54772255750516611 },
    { "cbrt(v[1])", -1.1447142425533319 }, { "exp(s)", 1.3498588075760032 }, { "expm1(s)", 0.34985880757600318 },
    { "log(s)", -1.2039728043259361 }, { "log1p(s)", 0.26236426446749106 }, { "sin(s)", 0.29552020666133955 },
    { "cos(s)", 0.95533648912560598 }, { "tan(s)", 0.30933624960962325 }, { "asin(s)", 0.30469265401539752 },
    { "acos(s)", 1.2661036727794992 }, { "atan(s)", 0.29145679447786709 }, { "atan2(s, v[1])", 2.9441970937399127 },
    { "sinh(s)", 0.30452029344714265 }, { "cosh(s)", 1.0453385141288605 }, { "tanh(s)", 0.29131261245159090 },
    { "sigmoid(s)", 0.57444251681165903 }, { "softplus(s)", 0.85435524446852724 }, { "sum(relu(v))", 2.5 },
    { "gelu(s)", 0.3*0.61791142218895267 }, { "erf(s)", 0.32862675945912743 }, { "sum(floor(v))", 0 }, { "mod(v[1], 1)", 0.5 },
    { "pow(v[1], 2)", 2.25 }, { "hypot(v[1], 2)", 2.5 }, { "sum(clamp(v, -1, 1))", 0.5 }, { "min(v[0], v[1], 7)", -1.5 },
    { "sum(max(v, 0, [1, 1, 1]))", 4 }, { "sum(where(gt(v, 0), v, 10))", 12.5 },
    { "sum([lt(v[0], 1), le(v[0], 0.5), gt(v[0], 1), ge(v[0], 0.5), eq(v[0], 0.5)])", 4 },
    /* reductions and norms */
    { "mean(M)", 2.75 }, { "prod(M)", 30 }, { "max(v)", 2 }, { "min(v)", -1.5 }, { "sum(M, axis=0)[1]", 7 },
    { "sum(M, axis=-1, keepdims=true)[1, 0]", 8 }, { "mean(M, axis=1)[0]", 1.5 }, { "prod(M, axis=0)[1]", 10 },
    { "max(M, axis=0)[0]", 3 }, { "min(M, axis=1, keepdims=true)[1, 0]", 3 }, { "logsumexp([s, s])", 0.3 + 0.69314718055994531 },
    { "logsumexp(0*M, axis=0)[1]", 0.69314718055994531 }, { "amax_abs(v)", 2 }, { "amax_abs(-M, axis=0)[0]", 3 },
    { "argmax(v)", 2 }, { "argmin(v)", 1 }, { "argmax(M, axis=1)[0]", 1 }, { "topk(v, 2)[1]", 0.5 }, { "cumsum(v)[2]", 1 },
    { "cumsum(M, axis=0)[1, 1]", 7 }, { "sum(M, keepdims=true)[0, 0]", 11 },
    { "norm(v)", 2.5495097567963922 }, { "norm(v, 1)", 4 }, { "norm(v, 2)", 2.5495097567963922 }, { "norm(v, inf)", 2 },
    { "norm(M, \"fro\")", 6.2449979983983983 }, { "norm(M, 1, axis=0)[1]", 7 }, { "norm(M, axis=1)[0]", 2.2360679774997897 },
    { "norm(M, inf, axis=1, keepdims=true)[1, 0]", 5 }, { "norm(M, \"nuc\")", 6.4031242374328485 }, { "norm(M, \"spec\")", 6.2429433838655 },
    /* linear algebra */
    { "dot(v, v)", 6.5 }, { "outer(v, v)[0, 2]", 1 }, { "transpose(M)[1, 0]", 2 }, { "trace(M)", 6 }, { "diag(v)[1, 1]", -1.5 },
    { "diag(M)[1]", 5 }, { "det(M)", -1 }, { "logdet(P)", 2.3978952727983707 }, { "inv(P)[0, 1]", -1.0/11 }, { "solve(P, [1, 0])[0]", 3.0/11 },
    { "sum(svdvals(M))", 6.4031242374328485 }, { "sum(eigvals_re(M))", 6 }, { "sum(eigvals_im(M))", 0 }, { "eigvalsh(P)[0]", 2.3819660112501051 },
    { "cholesky(P)[1, 1]", 1.6583123951777 },
    /* shape */
    { "reshape(M, 4)[2]", 3 }, { "reshape(M, -1, 1)[3, 0]", 5 }, { "reshape(M, [1, 4])[0, 1]", 2 }, { "flatten(M)[3]", 5 },
    { "concat(v, v)[5]", 2 }, { "concat(M, M, axis=1)[0, 3]", 2 }, { "stack(v, v, axis=1)[2, 0]", 2 }, { "split(M, 2, axis=1)[1, 0, 0]", 2 },
    { "squeeze(unsqueeze(v, 0), 0)[2]", 2 }, { "squeeze(reshape(v, 1, 3, 1))[2]", 2 }, { "unsqueeze(v, -1)[2, 0]", 2 },
    { "gather(v, [2, 0])[0]", 2 }, { "gather(M, [1], axis=1)[0, 0]", 2 }, { "gather(M, [[1], [0]], axis=1)[1, 0]", 3 }, { "flip(v)[0]", 2 },
    { "flip(M, axis=1)[0, 0]", 2 }, { "roll(v, 1)[0]", 2 }, { "roll(M, 1, axis=0)[0, 0]", 3 }, { "pad(v, 1)[1] + len(pad(v, 1, 2))", 6.5 },
    { "size(pad(M, 1, 0, axis=0))", 6 }, { "detach(v)[0]", 0.5 }, { "cast(s, \"f32\")", 0.30000001192092896 }, { "cast(v[1], \"i32\")", -1 },
    { "len(v) + len(M)", 5 }, { "size(M) + 10*size(M, 1)", 24 },
    /* networks */
    { "sum(conv2d(reshape(M, 1, 1, 2, 2), ones(1, 1, 2, 2)))", 11 },
    { "size(conv2d(reshape(M, 1, 1, 2, 2), ones(3, 1, 1, 1), ones(3), stride=2, padding=[1, 0]))", 6 },
    { "maxpool2d(reshape(M, 1, 1, 2, 2), 2)[0, 0, 0, 0]", 5 }, { "avgpool2d(reshape(M, 1, 1, 2, 2), 2)[0, 0, 0, 0]", 2.75 },
    { "maxpool2d(reshape(M, 1, 1, 2, 2), 1, stride=2, padding=0)[0, 0, 0, 0]", 1 },
    { "batchnorm(M, mean=[1, 2], var=[4, 9], eps=0)[1, 1]", 1 }, { "batchnorm(M, ones(2), zeros(2))[0, 0]", -0.99999500003749969 },
    { "linear(M, [[1, 1]], [10])[1, 0]", 18 }, { "rnn_tanh(reshape(M, 1, 2, 2), ones(1, 2), ones(1, 1))[0, 0, 0]", 0.99505475368673046 },
    { "softmax(v)[2]", 0.797876026206993 }, { "sum(log_softmax(M, axis=0))", -4.0 - 2*(0.12692801104297250 + 0.048587351573742) + 0 - 1 },
    { "cross_entropy(M, [1, 0])", 0.5*(0.31326168751822286 + 2.1269280110429727) },
    /* folds */
    { "fold_max(v)", 2 }, { "fold_max_abs(-v)", 2 }, { "fold_l1(v)", 4 }, { "fold_l2(v)", 2.5495097567963922 }, { "sum(lower(M))", 9 },
    /* indexing and lists */
    { "v[-1]", 2 }, { "sum(v[1:])", 0.5 }, { "sum(v[:-1])", -1 }, { "sum(v[::2])", 2.5 }, { "v[::-1][0]", 2 }, { "sum(M[:, 1])", 7 },
    { "M[1][0]", 3 }, { "M[1:, :-1][0, 0]", 3 }, { "sum(v[5:])", 0 }, { "[[1, 2], v[:2]][1, 0]", 0.5 }, { "len([])", 0 }, { "v[2 - 1]", -1.5 },
    { "v[len(v) - 1]", 2 }, { "sum(v[2:0:-1])", 0.5 },
    /* comprehensions */
    { "sum([v[i] for i in 0:3])", 1 }, { "sum([v[i]*i for i in 1:3])", 2.5 }, { "[v[2 - i] for i in 0:3][0]", 2 },
    { "[M[i, j] for i in 0:2 for j in 0:2][1, 0]", 3 }, { "[M[j, i] for i in 0:2 for j in 0:2][1, 0]", 2 }, { "sum([M[i, i] for i in 0:2])", 6 },
    { "sum([v[i + j] for i in 0:2 for j in 0:2])", 0.5 - 1.5 - 1.5 + 2 }, { "sum([v[i] for i in 0:3:2])", 2.5 },
    { "sum([[v[i], i] for i in 0:3])", 4 }, { "[M[i] for i in 0:2][1, 1]", 5 }, { "sum([M[:, i] @ v[:2] for i in 0:2])", 1*0.5 - 3*1.5 + 2*0.5 - 5*1.5 },
    { "sum([max(M[i]) for i in 0:2])", 7 }, { "sum([sum([v[i]*v[j] for j in 0:3]) for i in 0:3])", 1 },
    { "sum([sum([v[j] for j in 0:i]) for i in 1:4])", 0.5 - 1 + 1 }, { "sum([det(M*i) for i in 1:3])", -5 },
    { "sum([norm(v*i) for i in 1:3])", 3*2.5495097567963922 }, { "sum([norm(M, \"nuc\")*i for i in 1:3])", 3*6.4031242374328485 },
    { "sum([7 for i in 0:5])", 35 }, { "size([v for i in 0:4])", 12 }, { "size([v[i] for i in 2:1])", 0 }, { "sum([where(gt(v[i], 0), v[i], i) for i in 0:3])", 3.5 },
    { "sum([reshape(M*i, 4)[2] for i in 0:2])", 3 }, { "sum([dot(v*i, v) for i in 0:3])", 19.5 }, { "sum([v[i]^i for i in 0:3])", 1 - 1.5 + 4 },
    { "sum([M[i, :] for i in 1:-1:-1])", 11 }, { "sum([v[0:2][i] for i in 0:2])", -1 }, { "sum([(v*i)[2] for i in 0:3])", 6 },
    { "sum([(v*i)[i] for i in 0:3])", 2.5 }, { "sum([cumsum(v*i)[2] for i in 0:3])", 3 }, { "sum([softmax(v*i)[2] for i in 0:2])", 1.0/3 + 0.797876026206993 },
    { "sum([(M*i) @ v[:2] for i in 1:3])", -25.5 }, { "sum([v[:2] @ (M*i) for i in 1:3])", -31.5 }, { "sum([(v*i) @ v for i in 1:3])", 19.5 },
    { "sum([(M*i) @ M for i in 1:3])", 204 }, { "sum([M' @ M*i for i in 0:2])", 73 }, { "[i + 10*j for i in 0:3 for j in 0:2][2, 1]", 12 }, { "sum([min(v[i], 0, i) for i in 0:3])", -1.5 },
    { "sum([transpose(M)[0, i] for i in 0:2])", 4 }, { "sum([flatten(M)[i] for i in 0:4])", 11 }, { "sum([cast(v[i], \"i32\") for i in 0:3])", 1 },
    /* user functions */
    { "twice(v[0])", 1 }, { "plus(twice(s), 1)", 1.6 }, { "sum([twice(v[i]) for i in 0:3])", 2 }, { "outer_name(2)", 2.6 },
};

static const char *const prelude =
    "data v = [0.5, -1.5, 2]\ndata M = [[1, 2], [3, 5]]\ndata s = 0.3\ndata P = [[4, 1], [1, 3]]\n";
static const char *const variable_prelude =
    "var v[3] = [0.5, -1.5, 2]\nvar M[2, 2] = [[1, 2], [3, 5]]\nvar s = 0.3\nvar P = [[4, 1], [1, 3]]\n";
static const char *const functions = "fn twice(t) = 2*t\nfn plus(a, b) = a + b\nfn outer_name(t) = t + 2*s\n";

static double value_of(const char *head, const char *expression)
{
    char text[1000];
    snprintf(text, sizeof text, "var x0 = 1\n%s%sminimize %s\n", head, functions, expression);
    return objective_of(text);
}

LT_TEST(values_of_constants)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double got = value_of(prelude, rows[i].expression);
        if (!(fabs(got - rows[i].want) <= 1e-7*fmax(1, fabs(rows[i].want)))) LT_TEST_FAIL("%s is %.15g, expected %.15g", rows[i].expression, got, rows[i].want);
    }
}

LT_TEST(values_of_variables)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double got = value_of(variable_prelude, rows[i].expression);
        if (!(fabs(got - rows[i].want) <= 1e-7*fmax(1, fabs(rows[i].want)))) LT_TEST_FAIL("%s is %.15g, expected %.15g", rows[i].expression, got, rows[i].want);
    }
}

/* ---- ranges: every start, end and step, inside and outside, against plain counting ---- */

enum { NONE = 99 }; /* left out */

static int part_text(char *to, int part) { return part == NONE ? 0 : sprintf(to, "%d", part); }

/* The elements that Python's rules select of 1, 10, 100, 1000: their sum says which, the first of them in what order. */
static double expected_range(int from, int to, int step, double *first)
{
    static const double v[4] = { 1, 10, 100, 1000 };
    const int n = 4, low = step > 0 ? 0 : -1, high = step > 0 ? n : n - 1;
    double sum = 0;
    *first = 0;
    from = from == NONE ? (step > 0 ? 0 : n - 1) : from < 0 ? from + n : from;
    to = to == NONE ? (step > 0 ? n : -1) : to < 0 ? to + n : to;
    from = from < low ? low : from > high ? high : from;
    to = to < low ? low : to > high ? high : to;
    for (int i = from; step > 0 ? i < to : i > to; i += step) {
        if (*first == 0) *first = v[i];
        sum += v[i];
    }
    return sum;
}

static void check_range(const char *head, int from, int to, int step)
{
    char range[64], expression[160];
    int n = part_text(range, from);
    n += sprintf(range + n, ":");
    n += part_text(range + n, to);
    if (step != 1) sprintf(range + n, ":%d", step);
    double first, want = expected_range(from, to, step, &first);
    if (want) snprintf(expression, sizeof expression, "sum(r[%s]) + 1e5*r[%s][0]", range, range);
    else snprintf(expression, sizeof expression, "sum(r[%s])", range);
    double got = value_of(head, expression);
    if (got != want + 1e5 * first) LT_TEST_FAIL("r[%s]: %.17g, expected %.17g", range, got, want + 1e5 * first);
}

LT_TEST(ranges_are_those_of_python)
{
    static const int ends[] = { NONE, -6, -4, -3, -1, 0, 1, 3, 4, 6 }, steps[] = { 1, 2, 3, -1, -2, -7 };
    for (size_t a = 0; a < LT_LEN(ends); a++)
        for (size_t b = 0; b < LT_LEN(ends); b++)
            for (size_t c = 0; c < LT_LEN(steps); c++) {
                check_range("data s = 1\ndata r = [1, 10, 100, 1000]\n", ends[a], ends[b], steps[c]);
                if ((a + b + c) % 5 == 0) check_range("data s = 1\nvar r[4] = [1, 10, 100, 1000]\n", ends[a], ends[b], steps[c]);
            }
}

/* More parts than a node takes are joined in groups, groups of groups. */
LT_TEST(lists_of_many_parts)
{
    static char text[40000];
    static const int counts[] = { 2, 63, 64, 65, 700, 5000 };
    for (int h = 0; h < 2; h++)
        for (size_t i = 0; i < LT_LEN(counts); i++) {
            int n = sprintf(text, "var x0 = 1\n%s[3] = [1, 2, 4]\nminimize sum(concat(", h ? "var v" : "var u[1]\nvar v");
            for (int k = 0; k < counts[i]; k++) n += sprintf(text + n, "%sv", k ? ", " : "");
            sprintf(text + n, ")) + concat(v, v)[4]\n");
            LT_CHECK_NEAR(objective_of(text), 7 * counts[i] + 2, 1e-12);
        }
}

/* The same for the elements of one list, and for lines of constraints: each in its place. */
LT_TEST(lists_and_constraints_of_many_lines)
{
    static char text[60000];
    static const int counts[] = { 31, 32, 33, 64, 65, 1025 };
    for (size_t i = 0; i < LT_LEN(counts); i++) {
        const int count = counts[i];
        int n = sprintf(text, "var x = 2\nminimize [");
        double want = 0;
        for (int k = 1; k <= count; k++) n += sprintf(text + n, "%s%d*x", k > 1 ? ", " : "", k), want += 2.0 * k * k;
        n += sprintf(text + n, "] @ arange(1, %d)\nsubject to\n", count + 1);
        LT_CHECK_NEAR(objective_of(text), want, 1e-9 * want);
        for (int k = 0; k < count; k++) n += sprintf(text + n, "  x <= %d\n", k);
        lt_model *m = read_good(text);
        lt_model_view v = lt_model_get(m);
        double ci[1025] = { 0 };
        LT_CHECK_EQ_INT(v.p, count);
        LT_CHECK_OK(evaluate_node(&v, v.ci, v.x0, ci));
        for (int k = 0; k < count; k++) LT_CHECK_NEAR(ci[k], 2 - k, 0);
        lt_model_destroy(m);
    }
}

/* ---- lines and words ---- */

LT_TEST(lines_and_words)
{
    LT_CHECK_NEAR(objective_of("\xef\xbb\xbf# a mark\r\nvar x = 2\r\n\tminimize x^2 # end\r\n"), 4, 0);
    LT_CHECK_NEAR(objective_of("var x = 2\nminimize x +\n  # between\n\n  x*\n 3"), 8, 0);
    LT_CHECK_NEAR(objective_of("var x[\n2\n] = [1,\n 2 # two\n]\nminimize (x[0]\n + x[1])"), 3, 0);
    LT_CHECK_NEAR(objective_of("var x = 1\nminimize x # \xff\x01 anything\n"), 1, 0);
    LT_CHECK_NEAR(objective_of("var _a1 = 1\nminimize _a1"), 1, 0);
    LT_CHECK_NEAR(objective_of("rng g = mt19937(0)\nvar x = 1\ndata r = normal(2,\n  rng=g)\nminimize x"), 1, 0);
}

LT_TEST(objective_and_sense)
{
    LT_CHECK_NEAR(objective_of("var x = 2\nmaximize 3*x"), 6, 0);
    LT_CHECK_NEAR(objective_of("var x[1] = 2\nminimize x"), 2, 0);
    lt_model *m = read_good("var x\nvar y[2, 2] = 1\nminimize 0\n");
    lt_model_view v = lt_model_get(m);
    LT_CHECK_EQ_INT(v.n, 5);
    LT_CHECK(isnan(v.x0[0]) && v.x0[1] == 1 && v.x0[4] == 1);
    LT_CHECK_EQ_INT(v.variables[1].offset, 1);
    LT_CHECK_EQ_INT(v.variables[1].shape.rank, 2);
    LT_CHECK(!strcmp(v.variables[0].name, "x") && lt_is_none(v.ci) && lt_is_none(v.ce) && !v.maximize);
    LT_CHECK(!strcmp(lt_model_messages(m), ""));
    lt_model_destroy(m);
}

LT_TEST(constraints_in_order)
{
    lt_model *m = read_good("var x[3] = [1, 2, 3]\nminimize x[0]\nsubject to\n  x <= [4, 5, 6]\n  sphere: x @ x == 1\n"
                            "  both: 0 <= x[1] <= 7\n  9 >= x[2] >= 1\n  reshape(x, 3, 1) == [1, 2]\noption mu0 = 0.5\noption print_ascii = true\n"
                            "option opt_tol = 1e-4\noption stationarity_tol = 1e-6\noption max_iterations = 2*50\noption compile_mode = eager\n");
    lt_model_view v = lt_model_get(m);
    LT_CHECK_EQ_INT(v.p, 7);
    LT_CHECK_EQ_INT(v.q, 7);
    double ci[7], ce[7];
    static const double want_ci[] = { -3, -3, -3, -2, -5, -6, -2 }, want_ce[] = { 13, 0, -1, 1, 0, 2, 1 };
    LT_CHECK_OK(evaluate_node(&v, v.ci, v.x0, ci));
    LT_CHECK_OK(evaluate_node(&v, v.ce, v.x0, ce));
    for (int i = 0; i < 7; i++) { LT_CHECK_NEAR(ci[i], want_ci[i], 0); LT_CHECK_NEAR(ce[i], want_ce[i], 0); }
    LT_CHECK_EQ_INT(v.n_constraints, 7);
    LT_CHECK(!v.constraints[0].name && !strcmp(v.constraints[1].name, "sphere") && v.constraints[1].equality);
    LT_CHECK(!strcmp(v.constraints[2].name, "both") && !strcmp(v.constraints[3].name, "both"));
    LT_CHECK_EQ_INT(v.constraints[3].first, 4);
    LT_CHECK_EQ_INT(v.constraints[6].first, 1);
    LT_CHECK_EQ_INT(v.constraints[6].count, 6);
    LT_CHECK_EQ_INT(v.constraints[1].line, 5);
    static const char *const values[] = { "0.5", "true", "1e-4", "1e-6", "100", "eager" };
    LT_CHECK_EQ_INT(v.n_options, 6);
    for (int i = 0; i < v.n_options; i++) LT_CHECK(!strcmp(v.options[i].value, values[i]));
    LT_CHECK(v.options[1].line == 10 && v.options[1].column == 8);
    lt_model_destroy(m);
}

LT_TEST(warnings_keep_the_problem)
{
    lt_model *m = read_good("var x[2] = 1\nminimize sum(x)\nsubject to\n  1 <= 2\n  [1, 2] <= [1, 2]\n  x <= [1, inf]\n  -inf <= x\n");
    lt_model_view v = lt_model_get(m);
    LT_CHECK_EQ_INT(v.p, 1);
    LT_CHECK_EQ_INT(lt_model_error_count(m), 0);
    LT_CHECK(strstr(lt_model_messages(m), "t.lt:4:3: warning: a constraint without variables always holds; it is left out\n  1 <= 2\n  ^~~~~~\n"));
    LT_CHECK(strstr(lt_model_messages(m), "t.lt:6:3: warning: 1 of 2 constraints have an infinite bound and are left out"));
    LT_CHECK(strstr(lt_model_messages(m), "t.lt:7:3: warning: 2 of 2 constraints have an infinite bound and are left out"));
    lt_model_destroy(m);
}

/* ---- streams ---- */

LT_TEST(streams_draw_the_published_numbers)
{
    LT_CHECK_NEAR(objective_of("rng g = mt19937(1)\nvar Y[3, 4] = normal(3, 4, rng=g)\nminimize Y[2, 3]"), -0.0582501777, 1e-9);
    LT_CHECK_NEAR(objective_of("rng g = mt19937(0)\nvar R[32] = normal(32, rng=g)\nminimize R[4]"), 0.84871036, 1e-6);
    LT_CHECK_NEAR(objective_of("var b[5] = uniform(5, seed=1)\nminimize b[1]"), 0.279310882, 1e-9);
    /* successive draws continue a stream, and names share it */
    double ten = objective_of("rng g = mt19937(3)\ndata a = uniform(10, rng=g)\nvar x = 1\nminimize x*a[9]");
    LT_CHECK_NEAR(objective_of("rng g = mt19937(3)\ndata a = uniform(9, rng=g)\ndata b = uniform(rng=g)\nvar x = 1\nminimize x*b"), ten, 0);
    LT_CHECK_NEAR(objective_of("rng g = mt19937(3)\ndata a = [uniform(rng=g) for i in 0:10]\nvar x = 1\nminimize x*a[9]"), ten, 0);
    double p = objective_of("rng g = philox(3)\ndata a = normal(rng=g)\ndata b = normal(rng=g)\nvar x = 1\nminimize x*(a - b)");
    LT_CHECK(p != 0 && isfinite(p));
    double narrow = objective_of("rng g = philox(3)\nvar x = 1\nminimize x*normal(4, rng=g, type=\"f32\")[2]");
    LT_CHECK(narrow == (double)(float)narrow && isfinite(narrow));
    LT_CHECK(isfinite(objective_of("var x = 1\nminimize x*normal(seed=3, type=\"f64\") + uniform(seed=3, type=\"f64\")")));
}

/* ---- promises of section 4 ---- */

LT_TEST(shifted_indices_become_slices)
{
    lt_model *m = read_good("data n = 10000\nvar x[n] = [i for i in 0:n]\nminimize sum([abs(x[i + 1] - x[i])*i for i in 0:n - 1])\n"
                            "subject to\n  [x[i] + x[n - 1 - i] for i in 0:n:2] <= 3\n  [sum([x[i + j] for j in 0:3]) for i in 0:n - 2] >= 0\n");
    lt_model_view v = lt_model_get(m);
    LT_CHECK_EQ_INT(v.p, 5000 + 9998);
    LT_CHECK(lt_graph_node_count(v.graph) < 60);
    double f;
    LT_CHECK_OK(evaluate_node(&v, v.f, v.x0, &f));
    LT_CHECK_NEAR(f, 9999.0*9998/2, 1e-15);
    lt_model_destroy(m);
}

LT_TEST(stable_forms)
{
    LT_CHECK_NEAR(objective_of("var t = 800\nminimize log(1 + exp(t))"), 800, 1e-15);
    lt_model *m = read_good("data A = [[1, 2], [3, 4]]\nvar x[2] = [1, 1]\nminimize norm(A @ x - [3, 7])^2\n");
    lt_model_view v = lt_model_get(m);
    lt_node g;
    double gradient[2] = { 1, 1 };
    LT_CHECK_OK(lt_grad(v.graph, v.f, &v.x, 1, &g));
    LT_CHECK_OK(evaluate_node(&v, g, v.x0, gradient));
    LT_CHECK(gradient[0] == 0 && gradient[1] == 0);
    lt_model_destroy(m);
}

/* ---- description, arguments ---- */

LT_TEST(describes_a_model)
{
    lt_model *m = read_good("var x[2]\nvar y = 1\nmaximize y - x @ x\nsubject to\n  cap: y <= 1\n  x == 0\noption mu0 = 2\n");
    char *text = NULL;
    size_t n = 0;
    FILE *to = open_memstream(&text, &n);
    LT_CHECK_OK(lt_model_describe(m, to));
    fclose(to);
    static const char *const parts[] = { "problem      t.lt: maximize\n", "variables    n = 3\n  x [2]\n    no start given", "  y\n",
                                         "p = 1 inequalities, q = 2 equalities", "  line 5: cap, 1 inequality\n", "  line 6: 2 equalities\n",
                                         "option       mu0 = 2\n", "operations   ", " input", " sum" };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (!strstr(text, parts[i])) LT_TEST_FAIL("'%s' is not in:\n%s", parts[i], text);
    free(text);
    lt_model_destroy(m);
    m = read_text("var x\nminimize y\n");
    LT_CHECK_FAILS(lt_model_describe(m, stdout), LT_ERR_ARGUMENT, "the model has errors");
    lt_model_destroy(m);
}

LT_TEST(arguments_are_checked)
{
    lt_model *m = NULL;
    LT_CHECK_FAILS(lt_model_parse("t", NULL, "", 0, NULL), LT_ERR_ARGUMENT, "out is NULL");
    LT_CHECK_FAILS(lt_model_parse(NULL, NULL, "", 0, &m), LT_ERR_ARGUMENT, "name is NULL");
    LT_CHECK_FAILS(lt_model_parse("t", NULL, NULL, 1, &m), LT_ERR_ARGUMENT, "text is NULL");
    LT_CHECK_FAILS(lt_model_read(NULL, &m), LT_ERR_ARGUMENT, "path is NULL");
    LT_CHECK_FAILS(lt_model_read("/nowhere/none.lt", &m), LT_ERR_IO, "/nowhere/none.lt");
    LT_CHECK_FAILS(lt_model_read("example:A4", &m), LT_ERR_ARGUMENT, "no example 'A4'; did you mean 'A1'?");
    LT_CHECK(m == NULL && lt_model_error_count(NULL) == 0 && !strcmp(lt_model_messages(NULL), ""));
    lt_model_destroy(NULL);
    LT_CHECK(!lt_model_get(NULL).graph);
}

LT_TEST_MAIN()
