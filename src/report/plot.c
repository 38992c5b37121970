/* Line plots as inline SVG. SPDX-License-Identifier: BSD-3-Clause */
#include "report/markup.h"

#include "base/sized.h"
#include "base/status.h"

#include <math.h>

enum {
    MAX_SERIES = 16,
    N_COLOURS = 8,          /* as many as the style sheet knows; later series are dashed */
    MAX_MARKED = 40,        /* up to this many points, each gets a visible mark */
    MAX_HOVER = 200,        /* at most this many points show their value */
    COLUMNS = LT_FIGURE_WIDTH /* longer series are thinned to the extremes of each column */
};

static double x_of(const lt_series *s, int64_t i) { return s->x ? s->x[i] : (double)i; }

static bool shown(const lt_axis *x, const lt_axis *y, const lt_series *s, int64_t i)
{
    return lt_axis_shows(x, x_of(s, i)) && lt_axis_shows(y, s->y[i]);
}

/* The range of everything that can be shown; low > high when nothing can. */
static void range(const lt_plot *p, bool of_x, double *low, double *high)
{
    const lt_axis probe_x = { .log = p->x_log }, probe_y = { .log = p->y_log };
    *low = INFINITY;
    *high = -INFINITY;
    for (int k = 0; k < p->n_series; k++)
        for (int64_t i = 0; i < p->series[k].n; i++) {
            if (!shown(&probe_x, &probe_y, &p->series[k], i)) continue;
            double v = of_x ? x_of(&p->series[k], i) : p->series[k].y[i];
            *low = fmin(*low, v);
            *high = fmax(*high, v);
        }
}

/* Whether x counts something, as iterations: whole numbers in all series. */
static bool counts(const lt_plot *p)
{
    for (int k = 0; k < p->n_series; k++)
        for (int64_t i = 0; p->series[k].x && i < p->series[k].n; i++)
            if (p->series[k].x[i] != rint(p->series[k].x[i])) return false;
    return true;
}

/* A path under construction: the pen is up before the first point and after each gap. */
typedef struct pen { lt_markup *m; bool down; } pen;

static void pen_to(pen *p, double x, double y)
{
    lt_markup_raw(p->m, p->down ? "L" : "M");
    lt_markup_coord(p->m, x);
    lt_markup_raw(p->m, " ");
    lt_markup_coord(p->m, y);
    p->down = true;
}

static bool x_ascends(const lt_series *s)
{
    for (int64_t i = 1; i < s->n; i++)
        if (!(x_of(s, i) >= x_of(s, i - 1))) return false;
    return true;
}

/* Long series: of all points in one column of pixels only first, lowest, highest and last can be
   seen, so only those are written (decision 11); gaps stay gaps. */
static void thin_path(pen *p, const lt_axis *x, const lt_axis *y, const lt_series *s)
{
    int64_t i = 0;
    while (i < s->n) {
        if (!shown(x, y, s, i)) {
            p->down = false;
            i++;
            continue;
        }
        double column = floor(lt_axis_place(x, x_of(s, i)));
        int64_t low = i, high = i, last = i;
        for (int64_t j = i; j < s->n && shown(x, y, s, j) && floor(lt_axis_place(x, x_of(s, j))) == column; j++) {
            if (s->y[j] < s->y[low]) low = j;
            if (s->y[j] > s->y[high]) high = j;
            last = j;
        }
        const int64_t keep[4] = { i, LT_MIN(low, high), LT_MAX(low, high), last };
        for (int k = 0; k < 4; k++)
            if (k == 0 || keep[k] != keep[k - 1])
                pen_to(p, lt_axis_place(x, x_of(s, keep[k])), lt_axis_place(y, s->y[keep[k]]));
        i = last + 1;
    }
}

static void full_path(pen *p, const lt_axis *x, const lt_axis *y, const lt_series *s)
{
    for (int64_t i = 0; i < s->n; i++) {
        if (shown(x, y, s, i)) pen_to(p, lt_axis_place(x, x_of(s, i)), lt_axis_place(y, s->y[i]));
        else p->down = false;
    }
}

static void draw_line(lt_markup *m, const lt_axis *x, const lt_axis *y, const lt_series *s, int index)
{
    lt_markup_format(m, "<path class=\"line s%d%s\" d=\"", index % N_COLOURS, index >= N_COLOURS ? " dash" : "");
    pen p = { .m = m };
    if (s->n > 4 * COLUMNS && x_ascends(s)) thin_path(&p, x, y, s);
    else full_path(&p, x, y, s);
    lt_markup_raw(m, "\"/>\n");
}

/* Marks carry a <title>: hovering shows name and values. A point between two gaps has no line, so
   it is always marked. */
static void draw_marks(lt_markup *m, const lt_axis *x, const lt_axis *y, const lt_series *s, int index, bool all)
{
    int64_t stride = all ? 1 : LT_MAX((s->n + MAX_HOVER - 1) / MAX_HOVER, 1);
    for (int64_t i = 0; i < s->n; i++) {
        if (!shown(x, y, s, i)) continue;
        bool alone = (i == 0 || !shown(x, y, s, i - 1)) && (i + 1 == s->n || !shown(x, y, s, i + 1));
        if (i % stride && !alone) continue;
        bool visible = all || alone || s->n <= MAX_MARKED;
        lt_markup_format(m, "<circle class=\"%s s%d\" r=\"%s\"", visible ? "mark" : "hover", index % N_COLOURS,
                         visible ? "3" : "7");
        lt_markup_attribute(m, "cx", lt_axis_place(x, x_of(s, i)));
        lt_markup_attribute(m, "cy", lt_axis_place(y, s->y[i]));
        lt_markup_raw(m, "><title>");
        if (s->name) {
            lt_markup_text(m, s->name);
            lt_markup_raw(m, ": ");
        }
        lt_markup_format(m, "%s, %s</title></circle>\n", lt_number_str(x_of(s, i), 7).s, lt_number_str(s->y[i], 7).s);
    }
}

static void draw_legend(lt_markup *m, const lt_plot *p)
{
    bool any = false;
    for (int k = 0; k < p->n_series; k++) any = any || p->series[k].name;
    if (!any) return;
    lt_markup_raw(m, "<ul class=\"legend\">");
    for (int k = 0; k < p->n_series; k++) {
        if (!p->series[k].name) continue;
        lt_markup_format(m, "<li><svg viewBox=\"0 0 24 10\"><path class=\"line s%d%s\" d=\"M1 5L23 5\"/></svg>",
                         k % N_COLOURS, k >= N_COLOURS ? " dash" : "");
        lt_markup_text(m, p->series[k].name);
        lt_markup_raw(m, "</li>");
    }
    lt_markup_raw(m, "</ul>\n");
}

/* What the picture cannot show is said beneath it. */
static void draw_note(lt_markup *m, const lt_plot *p, const lt_axis *x, const lt_axis *y)
{
    int64_t not_finite = 0, not_positive = 0;
    for (int k = 0; k < p->n_series; k++)
        for (int64_t i = 0; i < p->series[k].n; i++) {
            const lt_series *s = &p->series[k];
            if (shown(x, y, s, i)) continue;
            if (isfinite(x_of(s, i)) && isfinite(s->y[i])) not_positive++;
            else not_finite++;
        }
    if (not_finite + not_positive == 0) return;
    lt_markup_raw(m, "<p class=\"note\">Not shown: ");
    if (not_finite) lt_markup_format(m, "%lld not finite%s", (long long)not_finite, not_positive ? ", " : "");
    if (not_positive) lt_markup_format(m, "%lld not positive, on a logarithmic axis", (long long)not_positive);
    lt_markup_raw(m, ".</p>\n");
}

void lt_plot_defaults_into(lt_plot *out)
{
    LT_GIVE(out, &(lt_plot){ .size = sizeof(lt_plot) });
}

/* The caller's plot, whole and checked. */
static lt_status take_plot(const lt_plot *from, lt_plot *p)
{
    LT_TRY(LT_TAKE(lt_plot, from, p));
    if (p->n_series < 1 || p->n_series > MAX_SERIES || !p->series)
        return LT_FAIL(LT_ERR_ARGUMENT, "plot: %d series, expected 1..%d", p->n_series, MAX_SERIES);
    for (int k = 0; k < p->n_series; k++)
        if (p->series[k].n < 0 || (p->series[k].n > 0 && !p->series[k].y))
            return LT_FAIL(LT_ERR_ARGUMENT, "plot: series %d has %lld points and %s", k, (long long)p->series[k].n,
                           p->series[k].y ? "data" : "no data");
    return LT_OK;
}

void lt_report_plot(lt_report *r, const lt_plot *plot)
{
    if (!r) return;
    lt_plot own = lt_plot_defaults(), *p = &own;
    lt_status bad = take_plot(plot, p);
    if (bad) {
        lt_report_fail(r, bad);
        return;
    }
    double low, high;
    range(p, true, &low, &high);
    const double left = LT_FIGURE_LEFT, right = LT_FIGURE_WIDTH - LT_FIGURE_RIGHT;
    lt_axis x = !p->x_log && counts(p) ? lt_axis_make_whole(low, high, left, right, 6) : lt_axis_make(low, high, p->x_log, left, right, 6);
    range(p, false, &low, &high);
    lt_axis y = lt_axis_make(low, high, p->y_log, LT_FIGURE_HEIGHT - LT_FIGURE_BOTTOM, LT_FIGURE_TOP, 5);
    lt_markup *m = &r->body;
    lt_figure_begin(m, p->title);
    lt_figure_svg_begin(m, LT_FIGURE_HEIGHT, p->title);
    lt_figure_axes(m, &x, &y, p->x_label, p->y_label);
    for (int k = 0; k < p->n_series; k++) {
        if (!p->points) draw_line(m, &x, &y, &p->series[k], k);
        draw_marks(m, &x, &y, &p->series[k], k, p->points);
    }
    lt_figure_svg_end(m);
    draw_legend(m, p);
    draw_note(m, p, &x, &y);
    lt_figure_end(m);
}
