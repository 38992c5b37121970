/* Heat maps: one pixel per value, a colour scale beside them. SPDX-License-Identifier: BSD-3-Clause */
#include "report/markup.h"

#include "base/alloc.h"
#include "base/sized.h"
#include "base/status.h"

#include <math.h>
#include <string.h>

enum { N_COLOURS = 255, MAX_EXTENT = 4096, N_ANCHORS = 9 };

/* Dark violet to yellow, even to the eye and readable in grey; blue to red through light grey for
   signed data. */
static const uint8_t sequential[N_ANCHORS][3] = {
    { 68, 1, 84 }, { 71, 44, 122 }, { 59, 81, 139 }, { 44, 113, 142 }, { 33, 144, 141 },
    { 39, 173, 129 }, { 92, 200, 99 }, { 170, 220, 50 }, { 253, 231, 37 } };
static const uint8_t signed_anchors[N_ANCHORS][3] = {
    { 33, 60, 150 }, { 54, 101, 186 }, { 108, 154, 214 }, { 176, 200, 230 }, { 232, 232, 232 },
    { 238, 190, 170 }, { 224, 132, 104 }, { 196, 68, 60 }, { 150, 22, 40 } };

/* Entry 0 stays free for blanks. */
static void make_palette(bool diverging, uint8_t palette[768])
{
    const uint8_t (*anchor)[3] = diverging ? signed_anchors : sequential;
    for (int c = 0; c < 3; c++) palette[c] = 0;
    for (int i = 0; i < N_COLOURS; i++) {
        double at = (double)i / (N_COLOURS - 1) * (N_ANCHORS - 1);
        int k = LT_MIN((int)at, N_ANCHORS - 2);
        for (int c = 0; c < 3; c++)
            palette[3 * (i + 1) + c] = (uint8_t)lround(anchor[k][c] + (at - k) * (anchor[k + 1][c] - anchor[k][c]));
    }
}

static uint8_t colour_of(double value, double low, double high)
{
    if (!isfinite(value)) return 0;
    double share = (value / 2 - low / 2) / (high / 2 - low / 2); /* halves: the difference may overflow */
    return (uint8_t)(1 + LT_MIN((int)(share * N_COLOURS), N_COLOURS - 1));
}

static int64_t value_range(const lt_heatmap *h, double *low, double *high)
{
    int64_t blanks = 0;
    *low = INFINITY;
    *high = -INFINITY;
    for (int64_t i = 0; i < h->rows * h->columns; i++) {
        if (!isfinite(h->values[i])) {
            blanks++;
            continue;
        }
        *low = fmin(*low, h->values[i]);
        *high = fmax(*high, h->values[i]);
    }
    if (*low > *high) *low = 0, *high = 1;
    if (h->diverging) *high = fmax(fabs(*low), fabs(*high)), *low = -*high;
    if (*low == *high) *low -= 0.5, *high += 0.5;
    return blanks;
}

static void put_image(lt_markup *m, const char *place, const uint8_t *pixels, int64_t width, int64_t height,
                      const uint8_t palette[768])
{
    lt_markup_format(m, "<image preserveAspectRatio=\"none\" %s href=\"", place);
    lt_markup_png(m, pixels, width, height, palette);
    lt_markup_raw(m, "\"/>\n");
}

/* The scale: a column of all colours with its own axis, right of the map. */
static void draw_scale(lt_markup *m, double low, double high, double top, double bottom, const char *unit,
                       const uint8_t palette[768])
{
    uint8_t column[N_COLOURS];
    for (int i = 0; i < N_COLOURS; i++) column[i] = (uint8_t)(N_COLOURS - i);
    char place[120];
    snprintf(place, sizeof place, "x=\"540\" y=\"%d\" width=\"16\" height=\"%d\"", (int)top, (int)(bottom - top));
    put_image(m, place, column, 1, N_COLOURS, palette);
    int room = LT_MIN(LT_MAX((int)((bottom - top) / 25), 2), 4); /* ticks that fit without touching */
    lt_axis ticks = lt_axis_make(low, high, false, bottom, top, room), axis = ticks;
    axis.low = low;                       /* ticks at round numbers, the scale at the data's own ends */
    axis.high = high;
    for (int i = 0; i < ticks.n_ticks; i++) {
        double at = lt_axis_place(&axis, ticks.tick[i]);
        if (at < top - 0.5 || at > bottom + 0.5) continue;
        lt_markup_raw(m, "<text x=\"562\"");
        lt_markup_attribute(m, "y", at + 4.5);
        lt_markup_format(m, ">%s</text>\n", ticks.label[i]);
    }
    if (!unit) return;
    lt_markup_raw(m, "<text x=\"540\"");
    lt_markup_attribute(m, "y", bottom + 19);
    lt_markup_raw(m, ">");
    lt_markup_text(m, unit);
    lt_markup_raw(m, "</text>\n");
}

/* Names in the middle of equal shares of the axis; long ones are cut with dots. */
static void name_ticks(lt_axis *a, int n, const char *const *names, int most)
{
    a->n_ticks = LT_MIN(n, LT_AXIS_MAX_TICKS);
    for (int i = 0; i < a->n_ticks; i++) {
        const char *name = names[i] ? names[i] : "";
        bool whole = (int)strlen(name) <= most;
        a->tick[i] = a->low + (a->high - a->low) * (i + 0.5) / n;
        snprintf(a->label[i], sizeof a->label[i], "%.*s%s", whole ? most : most - 3, name, whole ? "" : "...");
    }
}

enum { NAMES_LEFT = 176, X_NAME = 36, Y_NAME = 22, NAME_HEIGHT = 18 }; /* room for names of rows, in the drawing and in characters */

static void draw_map(lt_markup *m, const lt_heatmap *h, const uint8_t *pixels, double low, double high)
{
    uint8_t palette[768];
    make_palette(h->diverging, palette);
    const int left = h->n_y_names ? NAMES_LEFT : LT_FIGURE_LEFT;
    const double width = 520 - left, top = LT_FIGURE_TOP;
    double height = LT_MIN(LT_MAX(LT_MAX(width * (double)h->rows / (double)h->columns, 60), NAME_HEIGHT * h->n_y_names), 480), bottom = top + height;
    lt_axis x = lt_axis_make(0, (double)h->columns, false, left, 520, 5);
    lt_axis y = lt_axis_make(0, (double)h->rows, false, top, bottom, 5); /* row 0 on top, as in print */
    lt_figure_svg_begin(m, bottom + LT_FIGURE_BOTTOM, h->title);
    char place[120];
    snprintf(place, sizeof place, "class=\"pixels\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\"", left, (int)top,
             (int)width, (int)height);
    put_image(m, place, pixels, h->columns, h->rows, palette);
    for (int i = 0; i < 2; i++) {         /* the ends of the data, not the round numbers beyond */
        lt_axis *a = i ? &y : &x;
        a->low = 0;
        a->high = (double)(i ? h->rows : h->columns);
        while (a->n_ticks && a->tick[a->n_ticks - 1] > a->high) a->n_ticks--;
    }
    if (h->n_x_names) name_ticks(&x, h->n_x_names, h->x_names, X_NAME);
    if (h->n_y_names) name_ticks(&y, h->n_y_names, h->y_names, Y_NAME);
    if (h->bare_rows) y.n_ticks = 0;
    lt_axis below = y;                    /* lt_figure_axes draws the x axis at y.from */
    below.from = bottom;
    below.to = top;
    for (int i = 0; i < y.n_ticks; i++) below.tick[i] = y.high - y.tick[i];
    lt_markup_raw(m, "<g class=\"bare\">");
    lt_figure_axes(m, &x, &below, h->x_label, h->y_label);
    lt_markup_raw(m, "</g>");
    draw_scale(m, low, high, top, bottom, h->unit, palette);
    lt_figure_svg_end(m);
}

void lt_heatmap_defaults_into(lt_heatmap *out)
{
    LT_GIVE(out, &(lt_heatmap){ .size = sizeof(lt_heatmap) });
}

/* The caller's map, whole and checked. */
static lt_status take_map(const lt_heatmap *from, lt_heatmap *h)
{
    LT_TRY(LT_TAKE(lt_heatmap, from, h));
    if (h->n_y_names && (h->n_y_names != h->rows || h->n_y_names > LT_AXIS_MAX_TICKS || !h->y_names))
        return LT_FAIL(LT_ERR_ARGUMENT, "heat map of %lld rows with %d names of rows, expected as many, and at most %d", (long long)h->rows, h->n_y_names, LT_AXIS_MAX_TICKS);
    if (h->values && h->rows >= 1 && h->columns >= 1 && h->rows <= MAX_EXTENT && h->columns <= MAX_EXTENT) return LT_OK;
    return LT_FAIL(LT_ERR_ARGUMENT, "heat map of %lld x %lld values, expected 1..%d each", (long long)h->rows, (long long)h->columns, MAX_EXTENT);
}

void lt_report_heatmap(lt_report *r, const lt_heatmap *map)
{
    if (!r) return;
    lt_heatmap own = lt_heatmap_defaults(), *h = &own;
    lt_status bad = take_map(map, h);
    if (bad) {
        lt_report_fail(r, bad);
        return;
    }
    uint8_t *pixels = lt_malloc((size_t)(h->rows * h->columns));
    if (!pixels) {
        lt_report_fail(r, LT_ERR_MEMORY);
        return;
    }
    double low, high;
    int64_t blanks = value_range(h, &low, &high);
    for (int64_t i = 0; i < h->rows * h->columns; i++) pixels[i] = colour_of(h->values[i], low, high);
    lt_markup *m = &r->body;
    lt_figure_begin(m, h->title);
    draw_map(m, h, pixels, low, high);
    if (blanks) lt_markup_format(m, "<p class=\"note\">Left blank: %lld not finite.</p>\n", (long long)blanks);
    lt_figure_end(m);
    lt_free(pixels);
}
