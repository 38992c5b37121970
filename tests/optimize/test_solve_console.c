/* What a run prints: numbers in their columns, the table in all its forms. SPDX-License-Identifier: BSD-3-Clause */
#include "solve_tools.h"

#include "optimize/output/console.h"

#include <stdlib.h>

LT_TEST(numbers_fill_their_columns)
{
    static const struct { double v; int w; bool with_sign; const char *text; } row[] = {
        { 218.25, 14, true, " 218.250000000" }, { 0, 14, true, " 0.00000000000" }, { 0, 9, false, "0.000000" },
        { -24.2859220401, 14, true, "-24.2859220401" }, { 100, 9, false, "100.0000" }, { 1.5e-7, 9, false, "1.50e-07" },
        { 5.5e-4, 14, true, " 5.5000000e-04" }, { 0.001953125, 9, false, "0.001953" }, { 1e120, 14, true, " 1.000000e+120" },
        { 123456.75, 14, true, " 123456.750000" }, { 1234567.0, 9, false, "1.23e+06" }, { INFINITY, 9, false, "Inf     " },
        { NAN, 14, true, "NaN           " }, { -INFINITY, 9, true, "-Inf     " } };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        char text[64];
        lt_console_number(row[i].v, row[i].w, row[i].with_sign, text, sizeof text);
        if (strcmp(text, row[i].text)) LT_TEST_FAIL("%g: '%s', expected '%s'", row[i].v, text, row[i].text);
    }
}

static char *printed(example *e, lt_solve_options opt)
{
    char *text = NULL;
    size_t size = 0;
    opt.print_to = open_memstream(&text, &size);
    lt_solution *s = solve_example(e, opt, false);
    fclose(opt.print_to);
    lt_solution_destroy(s);
    return text;
}

static int count(const char *text, const char *part)
{
    int n = 0;
    for (const char *at = text; (at = strstr(at, part)); at += strlen(part)) n++;
    return n;
}

static bool same_widths(const char *text) /* in ASCII every line of the table is equally long */
{
    size_t width = 0;
    for (const char *at = text; *at;) {
        size_t n = strcspn(at, "\n");
        if (!width) width = n;
        if (n != width) return false;
        at += n + (at[n] == '\n');
    }
    return true;
}

LT_TEST(the_table_in_all_its_forms)
{
    lt_solve_options opt = SOLVE_OPTIONS(AS_PUBLISHED, o.mu0 = 100, o.max_iterations = 10);
    char *text = printed(example_rosenbrock(5.5, 5.5), opt);
    LT_CHECK(strstr(text, "   1 ║ 34.86784 │  1509.66611872 ║  42.9789783006 ║ 11.08181 │  -   ║ S  │    10 │ 0.001953 ║     1 │ 546.6040   ║"));
    LT_CHECK(strstr(text, "<--- Penalty Function -->") && strstr(text, "Total Violation") && strstr(text, "\033[33m"));
    LT_CHECK(strstr(text, "Function evaluations:    35") && strstr(text, "Iterations:              10"));
    LT_CHECK(strstr(text, "Termination code:        4 --- maximum number of iterations reached."));
    free(text);
    for (int width = 9; width <= 23; width += 14)
        for (int unconstrained = 0; unconstrained < 2; unconstrained++) {
            opt = SOLVE_OPTIONS(o.print_ascii = true, o.print_width = width, o.max_iterations = 45);
            text = printed(unconstrained ? example_total_variation() : example_robust_pca(), opt);
            LT_CHECK(same_widths(text) && !strstr(text, "\033") && !strstr(text, "║"));
            LT_CHECK(unconstrained == (strstr(text, "Penalty Fn") != NULL));
            if (unconstrained) LT_CHECK_EQ_INT(count(text, "Objective"), 3); /* at the top, before rows 20 and 40 */
            free(text);
        }
    opt = SOLVE_OPTIONS(o.print_ascii = true, o.max_iterations = 45, o.print_every = 10, o.print_qp_notice = false);
    text = printed(example_total_variation(), opt);
    LT_CHECK(strstr(text, "\n  40 |") && !strstr(text, "\n  45 |") && !strstr(text, "\n   1 |") && !strstr(text, "QP SOLVER"));
    free(text);
    opt.print_every = INFINITY;
    text = printed(example_total_variation(), opt);
    LT_CHECK(strstr(text, "\n   0 |") && !strstr(text, "\n  10 |") && strstr(text, "Iterations:"));
    free(text);
    opt.lbfgs_pairs = 4;
    text = printed(example_total_variation(), opt);
    LT_CHECK(strstr(text, "Limited-memory mode with 4 pairs"));
    free(text);
    opt.print_level = 0;
    text = printed(example_total_variation(), opt);
    LT_CHECK(!*text);
    free(text);
}

LT_TEST_MAIN()
