/* Bar charts and histograms. SPDX-License-Identifier: BSD-3-Clause */
#include "report/markup.h"

#include "base/alloc.h"
#include "base/status.h"

#include <math.h>

/* One row of HTML per bar, so long labels wrap and narrow screens need no scaling. */
static void draw_bar(lt_markup *m, const char *label, double value, const char *unit, double low, double high)
{
    lt_markup_raw(m, "<tr><th scope=\"row\">");
    lt_markup_text(m, label);
    lt_markup_raw(m, "</th><td class=\"track\">");
    if (isfinite(value)) {
        double left = (fmin(value, 0) - low) / (high - low), width = fabs(value) / (high - low);
        lt_markup_raw(m, "<span class=\"bar\" style=\"margin-left:");
        lt_markup_coord(m, 100 * left);
        lt_markup_raw(m, "%;width:");
        lt_markup_coord(m, 100 * width);
        lt_markup_raw(m, "%\"></span>");
    }
    lt_markup_format(m, "</td><td class=\"number\">%s", lt_number_str(value, 4).s);
    if (unit) {
        lt_markup_raw(m, " ");
        lt_markup_text(m, unit);
    }
    lt_markup_raw(m, "</td></tr>\n");
}

void lt_report_bars(lt_report *r, const char *title, const char *unit, int n,
                    const char *const *labels, const double *values)
{
    if (!r) return;
    if (n < 0 || (n > 0 && (!labels || !values))) {
        lt_report_fail(r, LT_FAIL(LT_ERR_ARGUMENT, "bars: %d bars, expected labels and values for each", n));
        return;
    }
    double low = 0, high = 0;
    for (int i = 0; i < n; i++) {
        if (!isfinite(values[i])) continue;
        low = fmin(low, values[i]);
        high = fmax(high, values[i]);
    }
    if (low == high) high = 1;
    lt_markup *m = &r->body;
    lt_figure_begin(m, title);
    lt_markup_raw(m, "<table class=\"bars\">\n");
    for (int i = 0; i < n; i++) draw_bar(m, labels[i], values[i], unit, low, high);
    lt_markup_raw(m, "</table>\n");
    lt_figure_end(m);
}

static int64_t finite_range(int64_t n, const double *values, double *low, double *high)
{
    int64_t count = 0;
    *low = INFINITY;
    *high = -INFINITY;
    for (int64_t i = 0; i < n; i++) {
        if (!isfinite(values[i])) continue;
        *low = fmin(*low, values[i]);
        *high = fmax(*high, values[i]);
        count++;
    }
    return count;
}

static void draw_column(lt_markup *m, const lt_axis *x, const lt_axis *y, double from, double to, int64_t count)
{
    double left = lt_axis_place(x, from), right = lt_axis_place(x, to), top = lt_axis_place(y, (double)count);
    lt_markup_raw(m, "<rect class=\"fill s0\"");
    lt_markup_attribute(m, "x", left + 0.5);
    lt_markup_attribute(m, "y", top);
    lt_markup_attribute(m, "width", fmax(right - left - 1, 0.5));
    lt_markup_attribute(m, "height", y->from - top);
    lt_markup_format(m, "><title>%s to %s: %lld</title></rect>\n", lt_number_str(from, 5).s, lt_number_str(to, 5).s,
                     (long long)count);
}

enum { MAX_BINS = 200 };

void lt_report_histogram(lt_report *r, const char *title, const char *x_label, int64_t n,
                         const double *values, int n_bins)
{
    if (!r) return;
    if (n < 0 || (n > 0 && !values) || n_bins < 0 || n_bins > MAX_BINS) {
        lt_report_fail(r, LT_FAIL(LT_ERR_ARGUMENT, "histogram: %lld values in %d bins, expected 0..%d bins",
                                  (long long)n, n_bins, MAX_BINS));
        return;
    }
    double low, high;
    int64_t count = finite_range(n, values, &low, &high), bin[MAX_BINS] = { 0 }, tallest = 0;
    /* Rice's rule: twice the cube root. */
    if (n_bins == 0) n_bins = (int)LT_MIN(LT_MAX(2 * cbrt((double)count), 1), 60);
    if (count == 0) low = 0, high = 1;
    /* One value alone still gets a column one can see. */
    if (low == high) {
        double pad = low != 0 ? fabs(low) * 0.05 : 0.5;
        low -= pad;
        high += pad;
    }
    for (int64_t i = 0; i < n; i++) {
        if (!isfinite(values[i])) continue;
        int k = (int)((values[i] / 2 - low / 2) / (high / 2 - low / 2) * n_bins);
        int64_t height = ++bin[LT_MIN(k, n_bins - 1)];
        tallest = LT_MAX(tallest, height);
    }
    lt_axis x = lt_axis_make(low, high, false, LT_FIGURE_LEFT, LT_FIGURE_WIDTH - LT_FIGURE_RIGHT, 6);
    lt_axis y = lt_axis_make(0, (double)LT_MAX(tallest, 1), false, LT_FIGURE_HEIGHT - LT_FIGURE_BOTTOM, LT_FIGURE_TOP, 5);
    lt_markup *m = &r->body;
    lt_figure_begin(m, title);
    lt_figure_svg_begin(m, LT_FIGURE_HEIGHT, title);
    lt_figure_axes(m, &x, &y, x_label, "count");
    for (int k = 0; k < n_bins; k++)
        if (bin[k])
            draw_column(m, &x, &y, low + (high - low) * k / n_bins, low + (high - low) * (k + 1) / n_bins, bin[k]);
    lt_figure_svg_end(m);
    if (count < n)
        lt_markup_format(m, "<p class=\"note\">Not shown: %lld not finite.</p>\n", (long long)(n - count));
    lt_figure_end(m);
}
