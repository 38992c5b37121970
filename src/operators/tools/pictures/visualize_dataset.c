/* Rollouts of a few operators as a video or frames. SPDX-License-Identifier: BSD-3-Clause */
#include "operators/tools/pictures/visualize.h"

#include "base/alloc.h"
#include "base/files/file.h"
#include "base/sized.h"
#include "base/status.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

const char *const *lt_color_norm_names(void)
{
    static const char *const names[] = { "per-cell", "per-operator", "global", NULL };
    return names;
}

enum { HEADER = 80, GAP = 2, BACKGROUND = 0xffffff, INK = 0x202020 };

typedef struct movie {
    const lt_movie_options *opt;
    lt_movie_info          *info;
    lt_dataset_config      *config;
    lt_replay              *replay;
    int64_t                *rows;        /* of the dataset, global numbers */
    int                     m, columns, gap;
    int64_t                 frames;
    uint8_t                 table[256][3];
    lt_image                strip;       /* one operator's row of one frame */
    FILE                   *strips;      /* all of them: [operator][frame], on disk until every operator has run */
    float                  *range;       /* [frames, 2]: of all operators; only for global colours */
    /* the operator that runs */
    int                     op;
    lt_cell_maker           cells;
    bool                    measuring;   /* first pass of global colours */
} movie;

void lt_movie_defaults_into(lt_movie_options *out)
{
    LT_GIVE(out, &(lt_movie_options){ .size = sizeof(lt_movie_options), .fps = 30, .n_operators = 10, .shown = 2, .steps = 500, .stride = 1, .cell_width = 64, .cell_height = 64,
                               .colormap = "viridis", .norm = LT_COLOR_PER_CELL, .n_aggregates = 3,
                               .aggregate = { LT_AGGREGATE_MEAN, LT_AGGREGATE_ENVELOPE, LT_AGGREGATE_ENTROPY }, .spacing = true, .pick = LT_PICK_SOBOL,
                               .seed = 42 });
}

/* ---- Layout ------------------------------------------------------------------------------------------ */

static lt_rect cell_rect(const movie *v, int column)
{
    return (lt_rect){ v->gap + column * (v->opt->cell_width + v->gap), 0, v->opt->cell_width, v->opt->cell_height };
}

/* Sides are even: video formats halve the colour planes. */
static lt_status lay_out(movie *v)
{
    const lt_movie_options *o = v->opt;
    v->gap = o->spacing ? GAP : 0;
    v->columns = o->shown + o->n_aggregates;
    v->frames = (v->config ? (o->steps - 1) / o->stride + 1 : 0);
    int width = v->gap + v->columns * (o->cell_width + v->gap), height = HEADER + o->n_operators * (o->cell_height + v->gap) + v->gap;
    if (width > LT_IMAGE_MAX_SIDE || height > LT_IMAGE_MAX_SIDE) return LT_FAIL(LT_ERR_ARGUMENT, "a frame of %d by %d pixels is too large", width, height);
    *v->info = (lt_movie_info){ .size = sizeof(lt_movie_info), .frames = v->frames, .operators = o->n_operators, .width = width + (width & 1), .height = height + (height & 1) };
    return lt_image_create(v->info->width, o->cell_height, BACKGROUND, &v->strip);
}

static void draw_header(const movie *v, lt_image *frame, int64_t t)
{
    char text[96];
    int scale = v->opt->cell_width >= 128 ? 2 : 1;
    snprintf(text, sizeof text, "step %lld", (long long)t);
    lt_image_text(frame, 4 + v->gap, 10, 2, INK, text);
    for (int c = 0; c < v->columns; c++) {
        if (c < v->opt->shown) snprintf(text, sizeof text, "run %d", c);
        else snprintf(text, sizeof text, "%s", lt_aggregate_names()[v->opt->aggregate[c - v->opt->shown]]);
        lt_image_text(frame, cell_rect(v, c).x, HEADER - 12 * scale, scale, INK, text);
    }
}

/* ---- One operator ----------------------------------------------------------------------------------------- */

/* Mean of the pictures of all realizations, each with its own colours. */
static lt_status draw_overlay(movie *v, const float *states, lt_rect where)
{
    int64_t n = (int64_t)LT_FIELD_CHANNELS * v->cells.grid * v->cells.grid;
    size_t bytes = (size_t)where.width * (size_t)where.height * 3;
    lt_image one;
    double *sum = lt_calloc(bytes, sizeof *sum);
    lt_status s = sum ? lt_image_create(where.width, where.height, BACKGROUND, &one) : LT_ERR_MEMORY;
    if (s) {
        lt_free(sum);
        return s;
    }
    for (int m = 0; m < v->m; m++) {
        lt_cell cell = { LT_FIELD_CHANNELS, (float *)states + m * n };
        float lo, hi;
        lt_cell_range(&v->cells, &cell, &lo, &hi);
        lt_cell_draw(&v->cells, &cell, lo, hi, v->table, &one, (lt_rect){ 0, 0, where.width, where.height });
        for (size_t i = 0; i < bytes; i++) sum[i] += one.rgb[i];
    }
    for (int y = 0; y < where.height; y++)
        for (int i = 0; i < where.width * 3; i++)
            v->strip.rgb[((size_t)(where.y + y) * (size_t)v->strip.width + (size_t)where.x) * 3 + (size_t)i] =
                (uint8_t)lround(sum[(size_t)y * (size_t)where.width * 3 + (size_t)i] / v->m);
    lt_image_free(&one);
    lt_free(sum);
    return LT_OK;
}

/* The common range of the shown realizations. */
static void row_range(movie *v, const float *states, float *lo, float *hi)
{
    int64_t n = (int64_t)LT_FIELD_CHANNELS * v->cells.grid * v->cells.grid;
    *lo = INFINITY;
    *hi = -INFINITY;
    for (int m = 0; m < LT_MAX(v->opt->shown, 1); m++) {
        lt_cell cell = { LT_FIELD_CHANNELS, (float *)states + m * n };
        float a, b;
        lt_cell_range(&v->cells, &cell, &a, &b);
        *lo = fminf(*lo, a);
        *hi = fmaxf(*hi, b);
    }
}

static lt_status draw_strip(movie *v, int64_t frame, const float *states)
{
    int64_t n = (int64_t)LT_FIELD_CHANNELS * v->cells.grid * v->cells.grid;
    float lo = 0, hi = 0, row_lo = 0, row_hi = 0;
    if (v->opt->norm == LT_COLOR_PER_OPERATOR) row_range(v, states, &row_lo, &row_hi);
    if (v->opt->norm == LT_COLOR_GLOBAL) row_lo = v->range[2 * frame], row_hi = v->range[2 * frame + 1];
    for (int c = 0; c < v->columns; c++) {
        lt_rect where = cell_rect(v, c);
        lt_aggregate which = c < v->opt->shown ? LT_AGGREGATE_COUNT : v->opt->aggregate[c - v->opt->shown];
        if (which == LT_AGGREGATE_OVERLAY) {
            LT_TRY(draw_overlay(v, states, where));
            continue;
        }
        lt_cell cell = { LT_FIELD_CHANNELS, (float *)states + c * n };
        if (which != LT_AGGREGATE_COUNT) lt_cell_aggregate(&v->cells, which, states, &cell);
        /* Aggregates other than the mean have units of their own. */
        bool shared = v->opt->norm != LT_COLOR_PER_CELL && (which == LT_AGGREGATE_COUNT || which == LT_AGGREGATE_MEAN);
        if (shared) lo = row_lo, hi = row_hi;
        else lt_cell_range(&v->cells, &cell, &lo, &hi);
        lt_cell_draw(&v->cells, &cell, lo, hi, v->table, &v->strip, where);
    }
    return LT_OK;
}

static lt_status take_state(void *ctx, int64_t t, const float *states, const int64_t *failed)
{
    (void)failed;
    movie *v = ctx;
    if (v->opt->stop && *v->opt->stop) return LT_FAIL(LT_ERR_CANCELLED, "stopped");
    if (t % v->opt->stride) return LT_OK;
    int64_t frame = t / v->opt->stride;
    if (v->measuring) {
        float lo, hi;
        row_range(v, states, &lo, &hi);
        v->range[2 * frame] = fminf(v->range[2 * frame], lo);
        v->range[2 * frame + 1] = fmaxf(v->range[2 * frame + 1], hi);
        return LT_OK;
    }
    LT_TRY(draw_strip(v, frame, states));
    size_t bytes = (size_t)v->strip.width * (size_t)v->strip.height * 3;
    return lt_file_write_at(fileno(v->strips), "a temporary file", (uint64_t)(v->op * v->frames + frame) * bytes, v->strip.rgb, bytes);
}

static lt_status run_operators(movie *v, bool measuring)
{
    v->measuring = measuring;
    for (v->op = 0; v->op < v->opt->n_operators; v->op++) {
        lt_operator_spec spec = { .size = sizeof spec };
        LT_TRY(lt_replay_row(v->replay, v->rows[v->op], &spec, NULL));
        LT_TRY(lt_cell_maker_create(v->m, spec.grid, &v->cells));
        lt_status s = lt_replay_run(v->replay, v->rows[v->op], -1, take_state, v, NULL);
        lt_cell_maker_release(&v->cells);
        LT_TRY(s);
        if (v->opt->progress && !measuring)
            v->opt->progress(v->opt->progress_ctx, &(lt_generate_progress){ sizeof(lt_generate_progress), v->op + 1, v->opt->n_operators, (v->op + 1) * v->opt->steps });
    }
    return LT_OK;
}

/* ---- Frames ------------------------------------------------------------------------------------------------- */

static lt_status assemble(movie *v, lt_frame_sink *sink)
{
    lt_image frame;
    size_t strip_bytes = (size_t)v->strip.width * (size_t)v->strip.height * 3;
    lt_status s = LT_OK;
    for (int64_t f = 0; f < v->frames && !s; f++) {
        LT_TRY(lt_image_create(v->info->width, v->info->height, BACKGROUND, &frame));
        draw_header(v, &frame, f * v->opt->stride);
        for (int op = 0; op < v->opt->n_operators && !s; op++) {
            size_t y = (size_t)(HEADER + v->gap + op * (v->opt->cell_height + v->gap));
            s = lt_file_read_at(fileno(v->strips), "a temporary file", (uint64_t)(op * v->frames + f) * strip_bytes,
                                frame.rgb + y * (size_t)frame.width * 3, strip_bytes);
        }
        if (!s) s = lt_frame_sink_put(sink, &frame);
        lt_image_free(&frame);
    }
    return s;
}

static lt_status write_frames(movie *v)
{
    lt_frame_sink *sink;
    const lt_movie_options *o = v->opt;
    LT_TRY(lt_frame_sink_open(o->video, o->frames, v->info->width, v->info->height, o->fps, v->info->note, sizeof v->info->note, &sink));
    lt_status s = assemble(v, sink);
    lt_frame_sink_stop(sink, s);
    lt_status closed = lt_frame_sink_close(sink, &v->info->video);
    return s ? s : closed;
}

/* ---- The whole ------------------------------------------------------------------------------------------------- */

static lt_status find_colormap(movie *v)
{
    int which;
    LT_TRY(lt_colormap_find(v->opt->colormap, &which));
    lt_colormap_table(which, v->table);
    return LT_OK;
}

static lt_status choose_rows(movie *v, lt_dataset *d)
{
    lt_dataset_info i = lt_dataset_get_info(d);
    int n = v->opt->n_operators;
    v->rows = lt_malloc((size_t)LT_MAX(n, 1) * sizeof *v->rows);
    if (!v->rows) return LT_ERR_MEMORY;
    if (!v->opt->indices) LT_TRY(lt_pick_rows(d, v->opt->pick, v->opt->seed, n, v->rows));
    for (int k = 0; k < n; k++) {
        int64_t row = v->opt->indices ? v->opt->indices[k] : v->rows[k];
        if (row < 0 || row >= i.rows) return LT_FAIL(LT_ERR_ARGUMENT, "row %lld: expected 0..%lld", (long long)row, (long long)i.rows - 1);
        v->rows[k] = i.shard_index + row * i.shard_count;
    }
    return LT_OK;
}

static lt_status check_options(const movie *v)
{
    const lt_movie_options *o = v->opt;
    if (o->steps < 1 || o->stride < 1 || o->cell_width < 8 || o->cell_height < 8 || o->fps < 1 || v->m < 1)
        return LT_FAIL(LT_ERR_ARGUMENT, "steps, stride, frames per second and realizations are at least 1, cells at least 8 by 8");
    if (o->n_aggregates < 0 || o->n_aggregates > LT_AGGREGATE_ROOM)
        return LT_FAIL(LT_ERR_ARGUMENT, "%d aggregates: expected 0 to %d", o->n_aggregates, LT_AGGREGATE_ROOM);
    if (o->shown < 0 || o->shown > v->m || o->shown + o->n_aggregates < 1)
        return LT_FAIL(LT_ERR_ARGUMENT, "%d realizations shown of %d", o->shown, v->m);
    return LT_OK;
}

static lt_status make_movie(movie *v, lt_dataset *d)
{
    lt_dataset_info i = lt_dataset_get_info(d);
    lt_replay_options r = lt_replay_defaults();
    LT_TRY(LT_TAKE(lt_replay_options, v->opt->replay, &r));
    LT_TRY(lt_dataset_config_parse(i.config, strlen(i.config), "the configuration in the file", NULL, &v->config));
    v->m = v->opt->realizations ? v->opt->realizations : (int)lt_dataset_config_summary(v->config).realizations;
    LT_TRY(check_options(v));
    LT_TRY(find_colormap(v));
    LT_TRY(choose_rows(v, d));
    LT_TRY(lay_out(v));
    if (!v->opt->video && !v->opt->frames) return LT_OK;
    r.steps = v->opt->steps;
    r.realizations = v->m;
    LT_TRY(lt_replay_create(v->config, &r, &v->replay));
    v->strips = tmpfile();
    if (!v->strips) return LT_FAIL(LT_ERR_IO, "no temporary file for the frames");
    if (v->opt->norm == LT_COLOR_GLOBAL) {
        v->range = lt_malloc((size_t)(2 * v->frames) * sizeof *v->range);
        if (!v->range) return LT_ERR_MEMORY;
        for (int64_t f = 0; f < v->frames; f++) v->range[2 * f] = INFINITY, v->range[2 * f + 1] = -INFINITY;
        LT_TRY(run_operators(v, true));
    }
    LT_TRY(run_operators(v, false));
    return write_frames(v);
}

lt_status lt_dataset_movie(lt_dataset *d, const lt_movie_options *options, lt_movie_info *out)
{
    LT_NEED(d);
    lt_movie_options opt = lt_movie_defaults();
    lt_movie_info info = { .size = sizeof info };
    LT_TRY(LT_TAKE(lt_movie_options, options, &opt));
    LT_TRY(LT_CHECK_SIZE(lt_movie_info, out));
    movie v = { .opt = &opt, .info = &info };
    lt_status s = make_movie(&v, d);
    LT_GIVE(out, &info);
    if (v.strips) fclose(v.strips);
    lt_image_free(&v.strip);
    lt_replay_destroy(v.replay);
    lt_dataset_config_destroy(v.config);
    lt_free(v.rows);
    lt_free(v.range);
    return s;
}
