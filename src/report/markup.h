/* Growing HTML text, and the axes and images drawn into it. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_REPORT_MARKUP_H
#define LT_REPORT_MARKUP_H

#include "lathe/report.h"

#include <stdarg.h>

/* ---- Text ------------------------------------------------------------------ */
/* The first failure is kept and every later call does nothing (decision 10). */
typedef struct lt_markup {
    char     *text;               /* zero terminated once anything was added */
    size_t    length, capacity;
    lt_status status;
} lt_markup;

void lt_markup_release(lt_markup *m);
void lt_markup_bytes(lt_markup *m, const char *bytes, size_t n);
void lt_markup_raw(lt_markup *m, const char *html);      /* as it stands */
void lt_markup_text(lt_markup *m, const char *text);     /* escaped; NULL adds nothing */
/* As printf, for markup without user text: arguments are not escaped. */
void lt_markup_format(lt_markup *m, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A coordinate with two decimals, whatever the locale. */
void lt_markup_coord(lt_markup *m, double value);
/* ` name="value"` with a coordinate. */
void lt_markup_attribute(lt_markup *m, const char *name, double value);

typedef struct lt_number_text { char s[40]; } lt_number_text;
lt_number_text lt_number_str(double value, int digits);  /* %.*g with a point, whatever the locale */

struct lt_report {
    lt_markup body;
    char     *title;
};

/* The report's failure, if it has none yet. */
void lt_report_fail(lt_report *r, lt_status s);

/* ---- Axes ------------------------------------------------------------------ */
#define LT_AXIS_MAX_TICKS 24

typedef struct lt_axis {
    bool   log;
    double low, high;             /* data range shown; low < high; both > 0 on a log axis */
    double from, to;              /* where low and high lie in the drawing */
    int    n_ticks;
    double tick[LT_AXIS_MAX_TICKS];
    char   label[LT_AXIS_MAX_TICKS][40];
} lt_axis;

/* Chooses ticks for data between low and high; widens the range to round numbers on a linear axis
   and to a visible width when low == high. Not finite (no data): 0..1, on a log axis 1..10. */
lt_axis lt_axis_make(double low, double high, bool log, double from, double to, int target_ticks);
lt_axis lt_axis_make_whole(double low, double high, double from, double to, int target_ticks); /* linear, with ticks at whole numbers only */
bool    lt_axis_shows(const lt_axis *a, double value);   /* finite, and positive on a log axis */
double  lt_axis_place(const lt_axis *a, double value);

/* The drawing area of every figure, in SVG units. */
enum { LT_FIGURE_WIDTH = 640, LT_FIGURE_HEIGHT = 340, LT_FIGURE_LEFT = 76, LT_FIGURE_RIGHT = 18,
       LT_FIGURE_TOP = 14, LT_FIGURE_BOTTOM = 52 };

void lt_figure_begin(lt_markup *m, const char *title);
void lt_figure_end(lt_markup *m);
void lt_figure_svg_begin(lt_markup *m, double height, const char *label);
void lt_figure_svg_end(lt_markup *m);
void lt_figure_axes(lt_markup *m, const lt_axis *x, const lt_axis *y, const char *x_label, const char *y_label);

/* ---- Images ---------------------------------------------------------------- */
/* Adds <width x height> palette indices as a PNG in a data: address. Index 0 is transparent;
   palette has 256 entries of red, green, blue. */
void lt_markup_png(lt_markup *m, const uint8_t *pixels, int64_t width, int64_t height, const uint8_t palette[768]);

#endif
