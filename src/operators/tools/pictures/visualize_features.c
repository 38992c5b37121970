/* Features of a few operators as one picture. SPDX-License-Identifier: BSD-3-Clause */
#include "operators/tools/pictures/visualize.h"

#include "base/alloc.h"
#include "base/sized.h"
#include "base/status.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MARGIN = 12, BACKGROUND = 0xffffff, INK = 0x202020 };
static const char temporal_path[] = "/features/temporal/features", summary_path[] = "/features/summary/per_trajectory/features";

typedef struct picture {
    lt_dataset                       *d;
    lt_dataset_info                   i;
    const lt_feature_picture_options *opt;
    int                               scale, line;   /* of text; pixels of a line */
    lt_image                          image;
    uint8_t                           table[256][3];
    float                            *x, *plane, *scratch;
} picture;

/* Each column scaled to 0..1 over time, so that features of any size share the colours; [columns, steps]. */
static void scale_columns(const float *x, int64_t steps, int64_t columns, float *out)
{
    for (int64_t c = 0; c < columns; c++) {
        float lo = INFINITY, hi = -INFINITY;
        for (int64_t t = 0; t < steps; t++) {
            lo = fminf(lo, x[t * columns + c]);
            hi = fmaxf(hi, x[t * columns + c]);
        }
        for (int64_t t = 0; t < steps; t++) {
            float v = x[t * columns + c];
            out[c * steps + t] = !isfinite(v) ? NAN : hi > lo ? (v - lo) / (hi - lo) : 0.5f;
        }
    }
}

static lt_status draw_operator(picture *p, int64_t row, int y)
{
    int w = p->opt->width;
    int64_t g = p->i.grid, t = p->i.steps, c = p->i.temporal_columns, m = p->i.realizations, s = p->i.summary_columns;
    char text[96];
    snprintf(text, sizeof text, "operator %lld", (long long)row);
    lt_image_text(&p->image, MARGIN, y, p->scale, INK, text);
    y += p->line;
    float lo, hi;
    LT_TRY(lt_dataset_read(p->d, "/inputs/fields", row, 1, p->x, LT_FIELD_CHANNELS * g * g));
    lt_image_quantiles(p->x, LT_FIELD_CHANNELS * g * g, p->scratch, &lo, &hi);
    lt_image_colour_planes(&p->image, (lt_rect){ MARGIN, y, w, w }, p->x, (int)g, (int)g, lo, hi);
    if (c > 0) {
        LT_TRY(lt_dataset_read(p->d, temporal_path, row, 1, p->x, t * c));
        scale_columns(p->x, t, c, p->plane);
        lt_image_plane(&p->image, (lt_rect){ 2 * MARGIN + w, y, 2 * w, w }, p->plane, (int)c, (int)t, 0, 1, p->table);
    }
    if (s > 0) {
        LT_TRY(lt_dataset_read(p->d, summary_path, row, 1, p->x, m * s));
        scale_columns(p->x, m, s, p->plane);
        lt_image_plane(&p->image, (lt_rect){ 3 * MARGIN + 3 * w, y, w, w }, p->plane, (int)s, (int)m, 0, 1, p->table);
    }
    return LT_OK;
}

static lt_status draw_all(picture *p, const int64_t *rows)
{
    int w = p->opt->width, n = p->opt->n_operators, row_height = w + p->line + MARGIN;
    LT_TRY(lt_image_create(4 * w + 4 * MARGIN, 2 * p->line + n * row_height + MARGIN, BACKGROUND, &p->image));
    lt_image_text(&p->image, MARGIN, MARGIN / 2, p->scale, INK, "initial field");
    lt_image_text(&p->image, 2 * MARGIN + w, MARGIN / 2, p->scale, INK, "TEMPORAL: columns down, steps across");
    lt_image_text(&p->image, 3 * MARGIN + 3 * w, MARGIN / 2, p->scale, INK, "SUMMARY by run");
    for (int k = 0; k < n; k++) LT_TRY(draw_operator(p, rows[k], 2 * p->line + k * row_height));
    return lt_image_write_png(&p->image, p->opt->output);
}

static lt_status allocate(picture *p)
{
    int64_t largest = LT_FIELD_CHANNELS * p->i.grid * p->i.grid;
    largest = LT_MAX(largest, p->i.steps * p->i.temporal_columns);
    largest = LT_MAX(largest, p->i.realizations * p->i.summary_columns);
    p->x = lt_malloc((size_t)largest * sizeof *p->x);
    p->plane = lt_malloc((size_t)largest * sizeof *p->plane);
    p->scratch = lt_malloc((size_t)largest * sizeof *p->scratch);
    return p->x && p->plane && p->scratch ? LT_OK : LT_ERR_MEMORY;
}

void lt_feature_picture_defaults_into(lt_feature_picture_options *out)
{
    LT_GIVE(out, &(lt_feature_picture_options){ .size = sizeof(lt_feature_picture_options), .n_operators = 2, .width = 256, .dpi = 100, .alpha = 0.5, .seed = 42 });
}

lt_status lt_dataset_feature_picture(lt_dataset *d, const lt_feature_picture_options *options)
{
    LT_NEED(d);
    lt_feature_picture_options own = lt_feature_picture_defaults(), *opt = &own;
    LT_TRY(LT_TAKE(lt_feature_picture_options, options, opt));
    picture p = { .d = d, .i = lt_dataset_get_info(d), .opt = opt };
    if (opt->n_operators < 1 || opt->width < 16 || opt->dpi < 1)
        return LT_FAIL(LT_ERR_ARGUMENT, "a picture needs at least one operator, 16 pixels of width and 1 dot per inch");
    p.scale = LT_MAX(1, opt->dpi / 100);
    p.line = (LT_FONT_HEIGHT + 5) * p.scale;
    lt_colormap_table(0, p.table);
    int64_t *rows = lt_malloc((size_t)opt->n_operators * sizeof *rows);
    lt_status s = rows ? allocate(&p) : LT_ERR_MEMORY;
    if (!s && opt->indices) memcpy(rows, opt->indices, (size_t)opt->n_operators * sizeof *rows);
    else if (!s) s = lt_pick_spread(d, opt->alpha, opt->seed, opt->n_operators, rows);
    if (!s) s = draw_all(&p, rows);
    lt_image_free(&p.image);
    lt_free(rows);
    lt_free(p.x);
    lt_free(p.plane);
    lt_free(p.scratch);
    return s;
}
