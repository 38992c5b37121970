/* Hostile texts: deep, huge, broken; and every allocation failing in turn. None may crash or hang.
   SPDX-License-Identifier: BSD-3-Clause */
#include "language_test.h"

#include "base/alloc.h"


static char *repeat(const char *head, const char *piece, size_t n, const char *tail)
{
    size_t length = strlen(head) + strlen(piece) * n + strlen(tail);
    char *text = malloc(length + 1), *at = text + sprintf(text, "%s", head);
    for (size_t i = 0; i < n; i++, at += strlen(piece)) memcpy(at, piece, strlen(piece));
    strcpy(at, tail);
    return text;
}

static void check_message(char *text, const char *want)
{
    lt_model *m = read_text(text);
    if (!strstr(lt_model_messages(m), want)) LT_TEST_FAIL("'%.40s' gave '%.300s', expected %s", text, lt_model_messages(m), want);
    lt_model_destroy(m);
    free(text);
}

LT_TEST(nesting_is_limited)
{
    static const char *const pieces[] = { "(", "[", "-", "abs(", "x[", "2^", "-(" };
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        check_message(repeat("var x[2] = 1\nminimize ", pieces[i], 400, "1"), "error: more than 200 levels of nesting");
        check_message(repeat("var x[2] = 1\nminimize ", pieces[i], 1000000, "1"), "error: more than 200 levels of nesting");
    }
    check_message(repeat("var x[2] = 1\nminimize x", "'", 1000000, ""), "error: more than 200 levels of nesting");
    check_message(repeat("var x[2] = 1\nminimize x", "[0:]", 100000, ""), "error: more than 200 levels of nesting");
    char *good = repeat("var x = 2\nminimize ", "(", 60, "x"), *close = repeat(good, ")", 60, "");
    LT_CHECK_NEAR(objective_of(close), 2, 0);
    free(good), free(close);
}

LT_TEST(functions_in_functions)
{
    char *text = malloc(1 << 20), *at = text + sprintf(text, "var x = 1\nfn f0(t) = t\n");
    for (int i = 1; i < 300; i++) at += sprintf(at, "fn f%d(t) = f%d(t)\n", i, i - 1);
    sprintf(at, "minimize f299(x)");
    check_message(text, "error: more than 200 functions within each other");
    text = malloc(1 << 20), at = text + sprintf(text, "var x = 1\nfn f0(t) = t\n");
    for (int i = 1; i < 190; i++) at += sprintf(at, "fn f%d(t) = abs(abs(abs(abs(abs(f%d(t))))))\n", i, i - 1);
    sprintf(at, "minimize f189(x)");
    check_message(text, "error: functions nest too deeply here");
    text = malloc(1 << 20), at = text + sprintf(text, "var x = 1\nfn f0(t) = t + t\n");
    for (int i = 1; i < 60; i++) at += sprintf(at, "fn f%d(t) = f%d(t) + f%d(t)\n", i, i - 1, i - 1);
    sprintf(at, "data a = f59(1)\nminimize x");
    check_message(text, "error: this statement takes more than 20000000 steps to expand");
}

LT_TEST(long_texts)
{
    char *sum = repeat("var x = 1\nminimize x*(1", " + 1", 1000000, ")");
    LT_CHECK_NEAR(objective_of(sum), 1000001, 0);
    free(sum);
    check_message(repeat("var x = 1\nminimize ", "a", 1 << 20, ""), "error: unknown name 'aaa");
    check_message(repeat("var x = 1\nminimize ", "9", 1 << 20, ""), "is too large; the largest is 1.797e308");
    check_message(repeat("var x = 1\nminimize ", "\"", 1 << 20, ""), "error: ");
    check_message(repeat("", "x\n", 1 << 20, ""), "error: this is not a statement");
    check_message(repeat("", "fn f(x) = g(x)\n", 100000, ""), "error: 'f' is defined already, on line 1");
    check_message(repeat("var x[3] = 1\nfn f(t) = t + [1, 2]\nminimize f(x)[0]", " + f(x)[0]", 100000, ""), "(in 'f' called on line 3)");
    check_message(repeat("subject to\n", "a: 1 <= 2\n", 100000, ""), "a constraint 'a' exists already, on line 2");
    lt_model *m = NULL;
    char *big = malloc((16u << 20) + 1);
    memset(big, ' ', (16u << 20) + 1);
    LT_CHECK_FAILS(lt_model_parse("big.lt", NULL, big, (16u << 20) + 1, &m), LT_ERR_FORMAT, "big.lt: 16777217 bytes of text; at most 16777216 are read");
    LT_CHECK(m == NULL);
    LT_CHECK_FAILS(lt_model_parse("big.lt", NULL, big, 16u << 20, &m), LT_ERR_FORMAT, "the problem has no 'minimize'");
    lt_model_destroy(m);
    memset(big, '\t', 1 << 20);
    memcpy(big + (1 << 20) - 1, "@", 1);
    LT_CHECK_FAILS(lt_model_parse("big.lt", NULL, big, 1 << 20, &m), LT_ERR_FORMAT, "this is not a statement");
    lt_model_destroy(m);
    free(big);
}

LT_TEST(bytes_that_are_no_text)
{
    static const char with_zero[] = "var x = 1\0\nminimize x\n";
    lt_model *m = NULL;
    LT_CHECK_FAILS(lt_model_parse("z.lt", NULL, with_zero, sizeof with_zero - 1, &m), LT_ERR_FORMAT, "z.lt:1:10: error: byte 0x00 is not allowed here");
    lt_model_destroy(m);
    static const char in_comment[] = "var x = 1 # \0 \xfe\nminimize x\n";
    LT_CHECK_OK(lt_model_parse("z.lt", NULL, in_comment, sizeof in_comment - 1, &m));
    lt_model_destroy(m);
    static const char *const bad[] = { "\x80", "\xc0\xaf", "\xe0\x80\xaf", "\xed\xa0\x80", "\xf5\x80\x80\x80", "\xf4\x90\x80\x80", "\xe2\x82", "\xf0\x80\x80\x80", "\xfe" };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char text[40];
        snprintf(text, sizeof text, "var x = %s", bad[i]);
        m = read_text(text);
        LT_CHECK(strstr(lt_model_messages(m), "t.lt:1:9: error: byte 0x") && strstr(lt_model_messages(m), "is not UTF-8 text"));
        lt_model_destroy(m);
    }
}

LT_TEST(huge_tensors_are_refused)
{
    static const char *const texts[] = {
        "var x = 1\nminimize sum(ones(2000000000))", "var x = 1\nminimize sum(eye(40000))", "var x[2147483647]\nminimize sum(x)",
        "var x = 1\nminimize sum([1 for i in 0:2000000000])", "var x = 1\nminimize sum(arange(1e300))", "var x = 1\nminimize sum(linspace(0, 1, 2000000000))",
        "var x = 1\nminimize sum([i + j for i in 0:100000 for j in 0:100000])", "var x = 1\nminimize sum(pad(ones(2), 2147483648))",
        "var x[40000] = 1\nminimize sum(outer(x, x) @ outer(x, x)[:, :2]) + sum(unsqueeze(x, 1) + outer(x, x)[:, 0:1] + ones(1, 60000))",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        lt_model *m = read_text(texts[i]);
        LT_CHECK(strstr(lt_model_messages(m), "too many elements") || strstr(lt_model_messages(m), "of memory") || lt_model_get(m).graph);
        lt_model_destroy(m);
    }
}

/* Arguments that no value fits: each is one error, at its call, in constants and in variables alike. */
LT_TEST(arguments_outside_are_refused)
{
    static const char *const calls[] = {
        "concat(M, M, axis=5)", "stack(v, v, axis=5)", "split(M, 2, axis=7)", "split(M, 0)", "split(M, 3)", "split(M, 2000000)", "squeeze(M, 4)", "unsqueeze(v, 9)",
        "gather(v, [0], axis=3)", "gather(v, [9])", "gather(v, [-1])", "gather(v, [0.5])", "flip(M, axis=9)", "roll(M, 1, axis=9)", "pad(M, -1, 0)", "pad(M, 0, -1)",
        "pad(M, 1, 1, axis=9)", "cast(v, \"c64\")", "cast(v, \"c128\")", "cast(v, \"f99\")", "softmax(v, axis=9)", "log_softmax(v, axis=-9)", "reshape(M, -2)",
        "reshape(M, -1, -1)", "reshape(M, 3)", "reshape(M, 3, -1)", "cross_entropy(M, [5, 0])", "sum(M, axis=9)", "size(M, 9)", "arange(0, 1, 0)", "v @ 2", "2 @ v", "v @ M",
        "M + [1, 2, 3]", "cumsum(M, axis=9)", "max(M, axis=-3)", "norm(M, 1, axis=4)", "argmax(M, axis=9)",
    };
    static const char *const heads[] = { "data v = [1, 2, 3]\ndata M = [[1, 2], [3, 5]]\n", "var v[3] = 1\nvar M[2, 2] = 1\n" };
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        for (int h = 0; h < 2; h++) {
            char text[400];
            snprintf(text, sizeof text, "var x = 1\n%sminimize x + sum(%s)\n", heads[h], calls[i]);
            lt_model *m = read_text(text);
            const char *messages = lt_model_messages(m);
            if (!strstr(messages, "t.lt:4:") || !strstr(messages, "error: ")) LT_TEST_FAIL("%s: '%s'", text, messages);
            lt_model_destroy(m);
        }
}

static const char all_kinds[] =
    "rng g = mt19937(0)\ndata A = normal(3, 3, rng=g)\ndata t = csv(\"data/iris100.csv\")\nfn f(a, b) = a*b + t[0, 0]\nvar x[3] = [1, 2, 3]\nvar M[3, 3] = A\n"
    "let B = A @ M + M'\nminimize sum([f(x[i], i)*x[i] for i in 0:3]) + norm(B, \"nuc\") + sum([det(M*i) for i in 1:3])\nsubject to\n"
    "  box: -1 <= x <= [1, 2, inf]\n  x' @ x == 1\n  1 <= 2\noption mu0 = 2\n";
/* Written out element by element: more than one concatenation takes. */
static const char written_out[] =
    "var x[40] = 1\nrng g = philox(3)\ndata r = uniform(2, rng=g)\nminimize sum([sum(x[0:i+1]) + r[0] for i in 0:40]) + sum([x[0], 2, x[1] + r[1]])\n"
    "subject to\n  [prod(x[i:]) for i in 0:40] >= 0\noption max_iterations = 3\n";
static const char wrong_kinds[] = "data a = bcd(1)\nvar x = [1, 2\nminimize asb(x) + y\nsubject to\n x < 1\n";

LT_TEST(every_allocation_may_fail)
{
    static const char *const texts[] = { all_kinds, written_out, wrong_kinds };
    static const lt_status done[] = { LT_OK, LT_OK, LT_ERR_FORMAT };
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
        int64_t live = lt_alloc_live();
        lt_model *m = NULL;
        LT_CHECK_EQ_INT(lt_model_parse("t.lt", NULL, texts[k], strlen(texts[k]), &m), done[k]); /* warms shared things up */
        lt_model_destroy(m);
        live = lt_alloc_live();
        lt_status s = LT_ERR_MEMORY;
        int64_t at = 1;
        for (; s == LT_ERR_MEMORY && at < 100000; at += 1 + at / 200) {
            lt_alloc_fail_at(at);
            s = lt_model_parse("t.lt", NULL, texts[k], strlen(texts[k]), &m);
            lt_alloc_fail_at(0);
            if (s != LT_ERR_MEMORY && s != done[k]) LT_TEST_FAIL("allocation %lld: %s", (long long)at, lt_error_text());
            lt_model_destroy(m);
            if (lt_alloc_live() != live) { LT_TEST_FAIL("allocation %lld: %lld are left", (long long)at, (long long)(lt_alloc_live() - live)); break; }
        }
        if (at <= 10 || s != done[k]) LT_TEST_FAIL("text %d: %s at allocation %lld", (int)k, lt_status_name(s), (long long)at);
    }
}

LT_TEST_MAIN()
