/* What all figures share: frame, title, axes. SPDX-License-Identifier: BSD-3-Clause */
#include "report/markup.h"

void lt_figure_begin(lt_markup *m, const char *title)
{
    lt_markup_raw(m, "<figure>\n");
    if (!title) return;
    lt_markup_raw(m, "<figcaption>");
    lt_markup_text(m, title);
    lt_markup_raw(m, "</figcaption>\n");
}

void lt_figure_end(lt_markup *m) { lt_markup_raw(m, "</figure>\n"); }

void lt_figure_svg_begin(lt_markup *m, double height, const char *label)
{
    lt_markup_format(m, "<svg viewBox=\"0 0 %d ", LT_FIGURE_WIDTH);
    lt_markup_coord(m, height);
    lt_markup_raw(m, "\" role=\"img\" aria-label=\"");
    lt_markup_text(m, label ? label : "figure");
    lt_markup_raw(m, "\">\n");
}

void lt_figure_svg_end(lt_markup *m) { lt_markup_raw(m, "</svg>\n"); }

static void line(lt_markup *m, const char *class, double x1, double y1, double x2, double y2)
{
    lt_markup_format(m, "<line class=\"%s\"", class);
    lt_markup_attribute(m, "x1", x1);
    lt_markup_attribute(m, "y1", y1);
    lt_markup_attribute(m, "x2", x2);
    lt_markup_attribute(m, "y2", y2);
    lt_markup_raw(m, "/>");
}

static void text_at(lt_markup *m, double x, double y, const char *anchor, const char *text)
{
    lt_markup_format(m, "<text text-anchor=\"%s\"", anchor);
    lt_markup_attribute(m, "x", x);
    lt_markup_attribute(m, "y", y);
    lt_markup_raw(m, ">");
    lt_markup_text(m, text);
    lt_markup_raw(m, "</text>\n");
}

void lt_figure_axes(lt_markup *m, const lt_axis *x, const lt_axis *y, const char *x_label, const char *y_label)
{
    for (int i = 0; i < y->n_ticks; i++) {
        double at = lt_axis_place(y, y->tick[i]);
        line(m, "grid", x->from, at, x->to, at);
        text_at(m, x->from - 8, at + 4.5, "end", y->label[i]);
    }
    for (int i = 0; i < x->n_ticks; i++) {
        double at = lt_axis_place(x, x->tick[i]);
        line(m, "grid", at, y->from, at, y->to);
        text_at(m, at, y->from + 19, "middle", x->label[i]);
    }
    line(m, "axis", x->from, y->from, x->to, y->from);
    line(m, "axis", x->from, y->from, x->from, y->to);
    if (x_label) text_at(m, (x->from + x->to) / 2, y->from + 40, "middle", x_label);
    if (y_label) {
        lt_markup_raw(m, "<text class=\"side\" text-anchor=\"middle\" transform=\"translate(15 ");
        lt_markup_coord(m, (y->from + y->to) / 2);
        lt_markup_raw(m, ") rotate(-90)\">");
        lt_markup_text(m, y_label);
        lt_markup_raw(m, "</text>\n");
    }
}
