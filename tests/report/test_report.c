/* Reports: escaping, tables, figures, images, failures. SPDX-License-Identifier: BSD-3-Clause */
#include "lt_test.h"
#include "report/progress_rate.h"

#include "base/alloc.h"
#include "lathe/report.h"
#include "report/markup.h"

#include <locale.h>
#include <unistd.h>

/* The page as text; the caller frees it. */
static char *page_text(lt_report *r)
{
    char *text = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&text, &n);
    lt_status s = lt_report_print(r, f);
    fclose(f);
    if (s) LT_TEST_FAIL("print: %s", lt_error_text());
    return text;
}

static int count(const char *text, const char *part)
{
    int n = 0;
    for (const char *p = text; (p = strstr(p, part)); p += strlen(part)) n++;
    return n;
}

LT_TEST(all_text_is_escaped)
{
    static const char evil[] = "<script>alert('x')</script> & \"quoted\" \x01 \xff end";
    const char *cell[] = { evil, evil }, *label[] = { evil };
    double one[] = { 1, 2 };
    lt_series s = { .name = evil, .y = one, .n = 2 };
    lt_report *r;
    LT_CHECK_OK(lt_report_create(evil, &r));
    lt_report_heading(r, evil);
    lt_report_paragraph(r, "%s", evil);
    lt_report_listing(r, evil);
    lt_report_facts(r, 1, cell, cell);
    lt_report_table(r, evil, 1, cell, 1, cell);
    lt_report_plot(r, &(lt_plot){ .size = sizeof(lt_plot), .title = evil, .x_label = evil, .y_label = evil, .n_series = 1, .series = &s });
    lt_report_bars(r, evil, evil, 1, label, one);
    lt_report_histogram(r, evil, evil, 2, one, 0);
    lt_report_heatmap(r, &(lt_heatmap){ .size = sizeof(lt_heatmap), .title = evil, .unit = evil, .rows = 1, .columns = 2, .values = one });
    char *page = page_text(r);
    LT_CHECK(!strstr(page, "<script"));
    LT_CHECK(!strstr(page, "\x01"));
    LT_CHECK(!strchr(page, '\xff'));
    LT_CHECK(strstr(page, "&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt; &amp; &quot;quoted&quot;"));
    LT_CHECK(count(page, "&lt;script") >= 15);
    LT_CHECK(!strstr(page, "http:") && !strstr(page, "https:")); /* nothing is fetched */
    LT_CHECK(strstr(page, "prefers-color-scheme: dark"));
    free(page);
    lt_report_destroy(r);
}

LT_TEST(columns_of_numbers_are_set_to_the_right)
{
    const char *columns[] = { "what", "time", "mixed" };
    const char *cells[] = { "one", "1.5 us", "3", "two", "2.5e-3 s", "about 4 more words" };
    lt_report *r;
    LT_CHECK_OK(lt_report_create("t", &r));
    lt_report_table(r, NULL, 3, columns, 2, cells);
    char *page = page_text(r);
    LT_CHECK(strstr(page, "<th class=\"number\">time</th>"));
    LT_CHECK(strstr(page, "<td class=\"number\">2.5e-3 s</td>"));
    LT_CHECK(strstr(page, "<th>mixed</th>"));
    LT_CHECK(strstr(page, "<td>one</td>"));
    free(page);
    lt_report_destroy(r);
}

LT_TEST(lines_break_at_gaps_and_the_page_says_what_is_missing)
{
    double y[] = { 1, 10, NAN, 100, 1000, -5, 0, 10 };
    lt_series s = { .name = "y", .y = y, .n = 8 };
    lt_report *r;
    LT_CHECK_OK(lt_report_create("t", &r));
    lt_report_plot(r, &(lt_plot){ .size = sizeof(lt_plot), .y_log = true, .n_series = 1, .series = &s });
    char *page = page_text(r);
    const char *path = strstr(page, "class=\"line s0\" d=\"");
    LT_CHECK(path != NULL);
    if (path) {
        char d[400];
        sscanf(path, "class=\"line s0\" d=\"%399[^\"]", d);
        LT_CHECK_EQ_INT(count(d, "M"), 3);
        LT_CHECK_EQ_INT(count(d, "L"), 2);
    }
    LT_CHECK(strstr(page, "Not shown: 1 not finite, 2 not positive, on a logarithmic axis."));
    LT_CHECK(!strstr(page, "nan") && !strstr(page, "inf\""));
    free(page);
    lt_report_destroy(r);
}

LT_TEST(long_series_are_thinned_but_keep_their_extremes)
{
    enum { N = 200000 };
    double *y = malloc(N * sizeof *y);
    for (int i = 0; i < N; i++) y[i] = sin(i * 0.01);
    y[77777] = 9; /* one outlier among two hundred thousand */
    lt_series s = { .y = y, .n = N };
    lt_report *r;
    LT_CHECK_OK(lt_report_create("t", &r));
    lt_report_plot(r, &(lt_plot){ .size = sizeof(lt_plot), .n_series = 1, .series = &s });
    char *page = page_text(r);
    LT_CHECK(strlen(page) < 120000);
    lt_axis axis = lt_axis_make(-1, 9, false, LT_FIGURE_HEIGHT - LT_FIGURE_BOTTOM, LT_FIGURE_TOP, 5);
    char at[64];
    snprintf(at, sizeof at, " %.4g", lt_axis_place(&axis, 9));
    LT_CHECK(strstr(page, at));
    free(page);
    free(y);
    lt_report_destroy(r);
}

/* Ticks: inside the range, ascending, evenly spaced or whole decades, labels all different. */
LT_TEST(ticks_are_round_and_cover_the_data)
{
    static const double range[][2] = { { 0, 1 }, { -3, 7 }, { 1e-9, 3e-9 }, { 1e6, 1.00001e6 }, { -1e300, 1e300 },
                                       { 5, 5 }, { 0, 0 }, { 1e15, 1e15 + 10 }, { 0.1, 0.30000001 }, { -1e-320, 1e-320 } };
    for (size_t i = 0; i < sizeof range / sizeof range[0]; i++) {
        lt_axis a = lt_axis_make(range[i][0], range[i][1], false, 0, 100, 5);
        LT_CHECK(a.low <= range[i][0] && a.high >= range[i][1] && a.low < a.high);
        LT_CHECK(a.n_ticks >= 2 && a.n_ticks <= 14);
        for (int k = 1; k < a.n_ticks; k++) {
            LT_CHECK(a.tick[k] > a.tick[k - 1]);
            if (!strcmp(a.label[k], a.label[k - 1]))
                LT_TEST_FAIL("range %zu: ticks %.17g and %.17g are both '%s'", i, a.tick[k - 1], a.tick[k], a.label[k]);
        }
    }
    static const double logs[][2] = { { 1, 10 }, { 1e-12, 1 }, { 3, 4 }, { 7, 7 }, { 1e-300, 1e300 } };
    for (size_t i = 0; i < sizeof logs / sizeof logs[0]; i++) {
        lt_axis a = lt_axis_make(logs[i][0], logs[i][1], true, 0, 100, 5);
        LT_CHECK(a.n_ticks >= 1 && a.n_ticks <= 14);
        for (int k = 0; k < a.n_ticks; k++) LT_CHECK(isfinite(lt_axis_place(&a, a.tick[k])));
    }
    static const double counts[][2] = { { 0, 1 }, { 0, 3 }, { 0, 561 }, { 7, 7 }, { 1, 40 } };
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        lt_axis a = lt_axis_make_whole(counts[i][0], counts[i][1], 0, 100, 6);
        LT_CHECK(a.low <= counts[i][0] && a.high >= counts[i][1] && a.n_ticks >= 2 && a.n_ticks <= 14);
        for (int k = 0; k < a.n_ticks; k++) LT_CHECK(a.tick[k] == rint(a.tick[k]));
    }
    lt_axis decades = lt_axis_make(1e-8, 1, true, 0, 100, 9);
    LT_CHECK(!strcmp(decades.label[0], "10⁻⁸"));
    lt_axis none = lt_axis_make(INFINITY, -INFINITY, true, 0, 1, 5);
    LT_CHECK(none.low == 1 && none.high == 10);
}

/* Decodes the PNG just enough to check frame, sizes and checksums. */
LT_TEST(heat_maps_hold_a_well_formed_png)
{
    double v[6] = { 0, 1, 2, NAN, 4, 5 };
    lt_report *r;
    LT_CHECK_OK(lt_report_create("t", &r));
    lt_report_heatmap(r, &(lt_heatmap){ .size = sizeof(lt_heatmap), .title = "map", .rows = 2, .columns = 3, .values = v, .unit = "K" });
    char *page = page_text(r);
    /* \x89PNG\r\n\x1a\n, then a 13-byte IHDR of 3 x 2 pixels, 8 bits, palette */
    LT_CHECK(strstr(page, "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAMAAAACCAMAAAC"));
    LT_CHECK(strstr(page, "AABJRU5ErkJggg==") || strstr(page, "SUVORK5CYII=") || strstr(page, "JRU5ErkJggg"));
    LT_CHECK(strstr(page, "Left blank: 1 not finite."));
    LT_CHECK_EQ_INT(count(page, "<image "), 2);
    free(page);
    lt_report_destroy(r);
}

LT_TEST(heat_maps_name_bands_instead_of_columns)
{
    double v[8] = { 0, 1, 2, 3, 4, 5, 6, 7 };
    lt_report *r;
    LT_CHECK_OK(lt_report_create("t", &r));
    lt_report_heatmap(r, &(lt_heatmap){ .size = sizeof(lt_heatmap), .rows = 2, .columns = 4, .values = v, .n_x_names = 2, .x_names = (const char *[]){ "first <", "last" }, .bare_rows = true });
    char *page = page_text(r);
    LT_CHECK(strstr(page, ">first &lt;</text>") && strstr(page, ">last</text>"));
    LT_CHECK(!strstr(page, "text-anchor=\"end\"")); /* no row numbers */
    free(page);
    lt_report_destroy(r);
}

LT_TEST(heat_maps_name_rows)
{
    double v[6] = { 0, 1, 2, 3, 4, 5 };
    lt_report *r;
    LT_CHECK_OK(lt_report_create("t", &r));
    lt_report_heatmap(r, &(lt_heatmap){ .size = sizeof(lt_heatmap), .rows = 2, .columns = 3, .values = v, .n_y_names = 2, .y_names = (const char *[]){ "upper <", "a_name_of_more_characters_than_fit" } });
    char *page = page_text(r);
    const char *upper = strstr(page, ">upper &lt;</text>"), *lower = strstr(page, ">a_name_of_more_char...</text>");
    LT_CHECK(upper && lower && strstr(page, "text-anchor=\"end\""));
    double upper_y = 0, lower_y = 0;
    while (upper && upper > page && strncmp(upper, " y=\"", 4)) upper--;
    while (lower && lower > page && strncmp(lower, " y=\"", 4)) lower--;
    LT_CHECK(upper && lower && sscanf(upper, " y=\"%lf", &upper_y) == 1 && sscanf(lower, " y=\"%lf", &lower_y) == 1 && upper_y < lower_y);
    free(page);
    lt_report_destroy(r);
    LT_CHECK_OK(lt_report_create("t", &r));
    lt_report_heatmap(r, &(lt_heatmap){ .size = sizeof(lt_heatmap), .rows = 2, .columns = 3, .values = v, .n_y_names = 3, .y_names = (const char *[]){ "a", "b", "c" } });
    LT_CHECK_FAILS(lt_report_print(r, stdout), LT_ERR_ARGUMENT, "2 rows with 3 names");
    lt_report_destroy(r);
}

LT_TEST(histograms_count_each_value_once)
{
    enum { N = 1000 };
    double v[N];
    for (int i = 0; i < N; i++) v[i] = fmod(i * 0.618033988749895, 1);
    v[17] = NAN;
    lt_report *r;
    LT_CHECK_OK(lt_report_create("t", &r));
    lt_report_histogram(r, NULL, NULL, N, v, 10);
    char *page = page_text(r);
    long total = 0;
    for (const char *p = page; (p = strstr(p, "<title>")) != NULL; p++) {
        long here;
        if (sscanf(p, "<title>%*g to %*g: %ld<", &here) == 1) total += here;
    }
    LT_CHECK_EQ_INT(total, N - 1);
    LT_CHECK(strstr(page, "Not shown: 1 not finite."));
    free(page);
    lt_report_destroy(r);
}

LT_TEST(bars_share_one_scale_around_zero)
{
    const char *labels[] = { "up", "down", "lost" };
    double v[] = { 3, -1, NAN };
    lt_report *r;
    LT_CHECK_OK(lt_report_create("t", &r));
    lt_report_bars(r, "b", "K", 3, labels, v);
    char *page = page_text(r);
    LT_CHECK(strstr(page, "margin-left:25%;width:75%"));
    LT_CHECK(strstr(page, "margin-left:0%;width:25%"));
    LT_CHECK_EQ_INT(count(page, "class=\"bar\""), 2);
    LT_CHECK(strstr(page, "nan K"));
    free(page);
    lt_report_destroy(r);
}

LT_TEST(numbers_have_a_point_in_every_locale)
{
    if (!setlocale(LC_ALL, "de_DE.UTF-8")) LT_SKIP("no German locale here");
    double y[] = { 0.25, 1.75 };
    lt_series s = { .y = y, .n = 2 };
    lt_report *r;
    LT_CHECK_OK(lt_report_create("t", &r));
    lt_report_plot(r, &(lt_plot){ .size = sizeof(lt_plot), .n_series = 1, .series = &s });
    char *page = page_text(r);
    LT_CHECK(strstr(page, "0.5</text>") && !strstr(page, "0,5</text>"));
    free(page);
    lt_report_destroy(r);
    setlocale(LC_ALL, "C");
}

LT_TEST(bad_arguments_are_kept_and_reported_at_the_end)
{
    double v[1] = { 0 };
    lt_series s = { .y = v, .n = -1 };
    lt_report *r;
    LT_CHECK_FAILS(lt_report_create(NULL, &r), LT_ERR_ARGUMENT, "title");
    struct { int which; const char *part; } bad[] = {
        { 0, "0 series, expected 1..16" }, { 1, "-1 points" }, { 2, "heat map of 5000 x 1" }, { 3, "-1 rows" },
        { 4, "-2 bars" }, { 5, "300 bins" }, { 6, "table of 0 columns" } };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        LT_CHECK_OK(lt_report_create("t", &r));
        switch (bad[i].which) {
        case 0: lt_report_plot(r, &(lt_plot){ .size = sizeof(lt_plot) }); break;
        case 1: lt_report_plot(r, &(lt_plot){ .size = sizeof(lt_plot), .n_series = 1, .series = &s }); break;
        case 2: lt_report_heatmap(r, &(lt_heatmap){ .size = sizeof(lt_heatmap), .rows = 5000, .columns = 1, .values = v }); break;
        case 3: lt_report_facts(r, -1, NULL, NULL); break;
        case 4: lt_report_bars(r, NULL, NULL, -2, NULL, NULL); break;
        case 5: lt_report_histogram(r, NULL, NULL, 1, v, 300); break;
        case 6: lt_report_table(r, NULL, 0, NULL, 0, NULL); break;
        }
        LT_CHECK_FAILS(lt_report_print(r, stderr), LT_ERR_ARGUMENT, bad[i].part);
        lt_report_destroy(r);
    }
    LT_CHECK_OK(lt_report_create("t", &r));
    LT_CHECK_FAILS(lt_report_write(r, "/no/such/folder/page.html"), LT_ERR_IO, "/no/such/folder/page.html");
    LT_CHECK_FAILS(lt_report_write(r, NULL), LT_ERR_ARGUMENT, "path");
    lt_report_destroy(r);
    lt_report_destroy(NULL);
}

static lt_status build_everything(FILE *to)
{
    double v[] = { 1, 2, 3, 4 };
    const char *t[] = { "a", "b", "c", "d" };
    lt_series s = { .name = "s", .y = v, .n = 4 };
    lt_report *r;
    lt_status status = lt_report_create("t", &r);
    if (status) return status;
    lt_report_heading(r, "h");
    lt_report_table(r, "t", 2, t, 2, t);
    lt_report_plot(r, &(lt_plot){ .size = sizeof(lt_plot), .n_series = 1, .series = &s });
    lt_report_heatmap(r, &(lt_heatmap){ .size = sizeof(lt_heatmap), .rows = 2, .columns = 2, .values = v });
    for (int i = 0; i < 40; i++) lt_report_paragraph(r, "%0500d", i); /* makes the text grow several times */
    status = lt_report_print(r, to);
    lt_report_destroy(r);
    return status;
}

LT_TEST(every_allocation_may_fail)
{
    FILE *null = fopen("/dev/null", "w");
    int64_t live = lt_alloc_live(), n = 0;
    for (;;) {
        lt_alloc_fail_at(++n);
        lt_status s = build_everything(null);
        lt_alloc_fail_at(0);
        if (lt_alloc_live() != live) LT_TEST_FAIL("allocation %lld: %lld left behind", (long long)n, (long long)(lt_alloc_live() - live));
        if (s == LT_OK) break;
        LT_CHECK_EQ_INT(s, LT_ERR_MEMORY);
        if (n > 1000) { LT_TEST_FAIL("never succeeds"); break; }
    }
    LT_CHECK(n > 5);
    fclose(null);
}

LT_TEST(progress_fits_its_width_and_says_what_is_left)
{
    char t[256];
    lt_progress_text("fit", "iteration", 50, 200, 10, 100, t, sizeof t);
    LT_CHECK(strstr(t, "fit [") && strstr(t, " 25 %") && strstr(t, "50/200") && strstr(t, "5.00 iteration/s") && strstr(t, "left 30 s"));
    lt_progress_text("fit", "it", 1, 100000, 1, 100, t, sizeof t);
    LT_CHECK(strstr(t, "left 27:46:39"));
    lt_progress_text("load", "byte", 123456789, 0, 10, 100, t, sizeof t);
    LT_CHECK(!strcmp(t, "load 123456789, 12.3M byte/s"));
    for (int width = 0; width < 120; width++) {
        int n = lt_progress_text("a label", NULL, 3, 7, 0.5, width, t, sizeof t);
        LT_CHECK(n <= width && (size_t)n == strlen(t));
    }
    LT_CHECK_EQ_INT(lt_progress_text("x", NULL, 9, 7, 1, 80, t, 4), 3);  /* more than all, tiny buffer */
    LT_CHECK_EQ_INT(lt_progress_text("x", NULL, 0, 7, 0, 80, t, sizeof t), (int)strlen(t)); /* no time yet */
}

LT_TEST(rates_are_of_this_run_and_of_some_time)
{
    char t[256];
    lt_progress_text("gram", "pair", 200000000, 1000000000, 0.1, 100, t, sizeof t);
    LT_CHECK(strstr(t, "200000000/1000000000") && !strstr(t, "pair/s") && !strstr(t, "left"));
    lt_progress_rate r = { 0 };
    LT_CHECK(lt_progress_rate_at(&r, 900, 100) < 0); /* rows of an earlier run */
    LT_CHECK(lt_progress_rate_at(&r, 901, 100.01) < 0);
    LT_CHECK(lt_progress_rate_at(&r, 900, 101) < 0); /* nothing done yet */
    LT_CHECK(lt_progress_rate_at(&r, 904, 102) == 2);
}

LT_TEST(progress_is_silent_away_from_a_terminal)
{
    char path[] = "/tmp/lt_progress_XXXXXX";
    int fd = mkstemp(path), saved = dup(STDERR_FILENO);
    dup2(fd, STDERR_FILENO);
    lt_progress *p;
    lt_status s = lt_progress_create("fit", NULL, 10, false, &p);
    lt_progress_set(p, 5);
    lt_progress_destroy(p);
    dup2(saved, STDERR_FILENO);
    LT_CHECK_EQ_INT(s, LT_OK);
    LT_CHECK_EQ_INT(lseek(fd, 0, SEEK_END), 0);
    close(fd);
    close(saved);
    unlink(path);
    LT_CHECK_FAILS(lt_progress_create("fit", NULL, -1, false, &p), LT_ERR_ARGUMENT, "-1");
    lt_progress_set(NULL, 1);
    lt_progress_destroy(NULL);
}

LT_TEST_MAIN()
