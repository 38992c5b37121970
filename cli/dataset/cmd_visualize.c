/* lathe visualize-dataset and visualize-features: pictures of stored operators. SPDX-License-Identifier: BSD-3-Clause */
#include "cli/dataset/dataset.h"

#include <stdlib.h>
#include <string.h>

/* ---- visualize-dataset ---- */

enum { VIDEO, FRAMES, BOTH };
static const char *const format_names[] = { "video", "frames", "both", NULL };
static const char *const post_names[] = { "none", "minmax", "zscore", NULL };
static const char *const policy_names[] = { "dataset", "autoregressive", "residual", "convex", NULL };

typedef struct movie_cli {
    cli_common   common;
    const char  *dataset, *output, *size, *colormap, *operator_indices;
    int          format, color_norm, sampling, policy, post;
    int          fps, n_operators, n_realizations, display_realizations;
    int64_t      steps, stride, seed;
    lt_text_list aggregates;
    bool         no_spacing, dry_run, verbose;
    double       clamp_min, clamp_max;
} movie_cli;

#define O movie_cli
static const lt_option movie_rows[] = {
    LT_OPTION_PATH(O, dataset, "dataset", NULL, "FILE.h5", "the dataset; may also be given as the operand"),
    LT_OPTION_PATH(O, output, "output", NULL, "FILE.mp4",
                   "the video, by default named as the dataset; FILE.png is an animated PNG, which needs no ffmpeg; frames go to a folder beside it"),
    LT_OPTION_ENUM(O, format, "format", "video", format_names, "what to write; a video needs ffmpeg, unless it is an animated PNG"),
    LT_OPTION_INT(O, fps, "fps", "30", LT_RANGE_CLOSED(1, 240), "N", "frames per second"),
    LT_OPTION_INT(O, n_operators, "n-operators", "10", LT_RANGE_CLOSED(1, 512), "N", "rows of the picture"),
    LT_OPTION_INT(O, n_realizations, "n-realizations", "0", LT_RANGE_CLOSED(0, 100), "M", "realizations that are run; 0 = the dataset's"),
    LT_OPTION_INT(O, display_realizations, "display-realizations", "2", LT_RANGE_CLOSED(0, 100), "N", "of these, how many are shown"),
    LT_OPTION_INT(O, steps, "steps", "500", LT_RANGE_CLOSED(1, 100000), "T", "steps that are run"),
    LT_OPTION_STRING(O, size, "size", "64x64", "WxH", "pixels of a cell"),
    LT_OPTION_INT(O, stride, "stride", "1", LT_AT_LEAST(1), "N", "every N-th step is a frame"),
    LT_OPTION_STRING(O, colormap, "colormap", "viridis", "NAME", "false colours of single planes"),
    LT_OPTION_ENUM(O, color_norm, "color-norm-mode", "per-cell", NULL, "whose range colours span", .names_of = lt_color_norm_names),
    LT_OPTION_LIST(O, aggregates, "aggregates", "NAME", "over realizations: mean, envelope, entropy (the default), variance, stddev, overlay, pca, ssim, spectral, "
                   "none; several: again, or with commas"),
    LT_OPTION_BOOL(O, no_spacing, "no-spacing", "false", "no white lines between cells"),
    LT_OPTION_ENUM(O, sampling, "sampling-method", "sobol", NULL, "how operators are chosen", .names_of = lt_pick_names),
    LT_OPTION_ENUM(O, policy, "evolution-policy", "dataset", policy_names, "another update policy than the stored one"),
    LT_OPTION_STRING(O, operator_indices, "operator-indices", NULL, "LIST", "these rows, as in 3,5,8-11, instead of choosing"),
    LT_OPTION_INT(O, seed, "seed", "42", LT_AT_LEAST(0), "N", "seed of the choice"),
    LT_OPTION_ENUM(O, post, "normalization", "none", post_names, "applied to every state as it is made"),
    LT_OPTION_REAL(O, clamp_min, "clamp-min", "-inf", LT_RANGE_CLOSED(-INFINITY, INFINITY), "X", "states are not let below this"),
    LT_OPTION_REAL(O, clamp_max, "clamp-max", "inf", LT_RANGE_CLOSED(-INFINITY, INFINITY), "X", "states are not let above this"),
    LT_OPTION_BOOL(O, dry_run, "dry-run", "false", "say what would be drawn; write nothing"),
    LT_OPTION_BOOL(O, verbose, "verbose", "false", "say what is drawn"),
};
#undef O
#define OWN_SEED(own_rows)                                                        \
    { { .title = "Options", .rows = own_rows, .n_rows = CLI_LEN(own_rows) },       \
      { .title = "Common options", .rows = cli_common_rows, .n_rows = CLI_N_COMMON_ROWS - 1 } }
static const lt_option_group movie_groups[] = OWN_SEED(movie_rows);
static const lt_option_table movie_table = {
    .program = "lathe visualize-dataset", .summary = "Show stored operators in motion", .operands = "[FILE.h5]", .max_operands = 1,
    .groups = movie_groups, .n_groups = 2, .example = "lathe visualize-dataset small.h5 --n-operators 4 --steps 50 --output small.mp4",
};

static lt_status parse_size(const char *text, int *width, int *height)
{
    char rest;
    if (sscanf(text, "%dx%d%c", width, height, &rest) == 2 && *width >= 8 && *height >= 8 && *width <= 4096 && *height <= 4096) return LT_OK;
    return cli_fail(LT_ERR_ARGUMENT, "--size %s: expected WxH, each 8..4096, as in 64x64", text);
}

static lt_status add_aggregate(lt_movie_options *m, const char *name, size_t n)
{
    char word[32];
    snprintf(word, sizeof word, "%.*s", (int)n, name);
    if (!strcmp(word, "none")) return LT_OK;
    for (int i = 0; lt_aggregate_names()[i]; i++)
        if (!strcmp(lt_aggregate_names()[i], word)) {
            if (m->n_aggregates == LT_AGGREGATE_ROOM) return cli_fail(LT_ERR_ARGUMENT, "--aggregates names more than %d", LT_AGGREGATE_ROOM);
            m->aggregate[m->n_aggregates++] = (lt_aggregate)i;
            return LT_OK;
        }
    const char *near = lt_text_nearest(word, lt_aggregate_names(), LT_AGGREGATE_COUNT);
    if (near) return cli_fail(LT_ERR_ARGUMENT, "--aggregates %s: no such aggregate; did you mean '%s'?", word, near);
    char known[256] = "";
    for (int i = 0; lt_aggregate_names()[i]; i++) snprintf(known + strlen(known), sizeof known - strlen(known), "%s, ", lt_aggregate_names()[i]);
    return cli_fail(LT_ERR_ARGUMENT, "--aggregates %s: expected %snone", word, known);
}

static lt_status read_aggregates(const movie_cli *o, lt_movie_options *m)
{
    if (o->aggregates.n == 0) return LT_OK;
    m->n_aggregates = 0;
    for (int i = 0; i < o->aggregates.n; i++)
        for (const char *at = o->aggregates.item[i]; *at;) {
            size_t n = strcspn(at, ", ");
            if (n) CLI_TRY(add_aggregate(m, at, n));
            at += n + (at[n] != '\0');
        }
    return LT_OK;
}

static lt_status movie_options(cli_context *c, const movie_cli *o, lt_dataset *d, int64_t **indices, lt_replay_options *replay,
                               lt_movie_options *m)
{
    *m = lt_movie_defaults();
    m->fps = o->fps;
    m->n_operators = o->n_operators;
    m->realizations = o->n_realizations;
    m->shown = o->display_realizations;
    m->steps = o->steps;
    m->stride = o->stride;
    m->colormap = o->colormap;
    m->norm = (lt_color_norm)o->color_norm;
    m->spacing = !o->no_spacing;
    m->pick = (lt_pick)o->sampling;
    m->seed = (uint64_t)o->seed;
    *replay = dataset_replay_options(c, d);
    m->replay = replay;
    replay->post = (lt_post)o->post;
    replay->policy = o->policy - 1;
    replay->clamp = isfinite(o->clamp_min) || isfinite(o->clamp_max);
    replay->clamp_lo = o->clamp_min;
    replay->clamp_hi = o->clamp_max;
    if (o->clamp_min > o->clamp_max) return cli_fail(LT_ERR_ARGUMENT, "--clamp-min %g is above --clamp-max %g", o->clamp_min, o->clamp_max);
    m->stop = cli_interrupt_flag();
    CLI_TRY(parse_size(o->size, &m->cell_width, &m->cell_height));
    CLI_TRY(read_aggregates(o, m));
    int64_t rows = lt_dataset_get_info(d).rows;
    if (o->operator_indices) {
        CLI_TRY(dataset_indices("operator-indices", o->operator_indices, rows, indices, &m->n_operators));
        m->indices = *indices;
    } else if (m->n_operators > rows) m->n_operators = (int)rows;
    return LT_OK;
}

/* "x.h5" gives "x.mp4" and the folder "x_frames". */
static void name_outputs(const char *dataset, const char *output, char *video, char *frames, size_t size)
{
    const char *base = output ? output : dataset, *slash = strrchr(base, '/'), *dot = strrchr(base, '.');
    int stem = (int)(dot && dot > base && (!slash || dot > slash + 1) ? (size_t)(dot - base) : strlen(base));
    if (output && dot && stem < (int)strlen(base)) snprintf(video, size, "%s", output);
    else snprintf(video, size, "%.*s.mp4", stem, base);
    snprintf(frames, size, "%.*s_frames", stem, base);
}

static lt_status make_movie(cli_context *c, const movie_cli *o, lt_dataset *d, lt_movie_options *m)
{
    char video[1024], frames[1024];
    lt_movie_info info = { .size = sizeof info };
    dataset_bar bar = { .c = c, .label = "movie" };
    const char *path = dataset_path(c, o->dataset);
    lt_dataset_config *config;
    CLI_TRY(dataset_config(d, path, &config)); /* a file that cannot be replayed is refused here */
    lt_dataset_config_destroy(config);
    name_outputs(path, o->output, video, frames, sizeof video);
    if (lt_dataset_is_at(d, video)) return cli_fail(LT_ERR_ARGUMENT, "the video would replace the dataset itself, %s: give --output FILE.mp4", video);
    if (!o->dry_run && o->format != FRAMES) m->video = video;
    if (!o->dry_run && o->format != VIDEO) m->frames = frames;
    m->progress = dataset_bar_set;
    m->progress_ctx = &bar;
    lt_status s = lt_dataset_movie(d, m, &info);
    dataset_bar_end(&bar);
    if (s == LT_ERR_CANCELLED && cli_interrupted()) return cli_stopped();
    CLI_TRY(s);
    const char *folder = m->frames || (m->video && !info.video) ? frames : NULL; /* frames stand in for a video without ffmpeg */
    if (info.note[0] && !c->common.quiet) fprintf(stderr, "lathe: %s\n", info.note);
    if (c->json) {
        lt_json_field_int(c->json, "frames", info.frames);
        lt_json_field_int(c->json, "operators", info.operators);
        lt_json_field_int(c->json, "width", info.width);
        lt_json_field_int(c->json, "height", info.height);
        lt_json_field_string(c->json, "video", info.video ? video : NULL);
        lt_json_field_string(c->json, "folder", folder);
        lt_json_field_string(c->json, "note", info.note);
        return LT_OK;
    }
    printf("%lld frames of %d x %d pixels, %lld operators%s\n", (long long)info.frames, info.width, info.height, (long long)info.operators,
           o->dry_run ? "; nothing written" : "");
    if (o->verbose) printf("colours %s, %d cells to a row, every %lld-th of %lld steps\n", lt_color_norm_names()[m->norm], m->shown + m->n_aggregates,
                           (long long)m->stride, (long long)m->steps);
    if (info.video) printf("%s\n", video);
    if (folder) printf("%s\n", folder);
    return LT_OK;
}

static lt_status run_movie(cli_context *c)
{
    const movie_cli *o = c->options;
    lt_dataset *d;
    lt_movie_options m = { .size = sizeof m };
    lt_replay_options replay = { .size = sizeof replay };
    int64_t *indices = NULL;
    CLI_TRY(dataset_open(c, o->dataset, &d));
    lt_status s = movie_options(c, o, d, &indices, &replay, &m);
    if (!s) s = make_movie(c, o, d, &m);
    free(indices);
    lt_dataset_close(d);
    return s;
}

const cli_command cli_visualize_dataset = {
    .name = "visualize-dataset", .options = &movie_table, .options_bytes = sizeof(movie_cli), .need = CLI_NEED_CHOSEN, .stops = true, .run = run_movie,
    .description = "Replays chosen operators, exactly as they were generated, and draws one row for each: realizations side by side, then aggregates over all of "
                   "them. Frames are PNG files; a video is made by an ffmpeg process where there is one, an animated PNG (--output FILE.png) by lathe itself.",
};

/* ---- visualize-features ---- */

typedef struct picture_cli {
    cli_common  common;
    const char *dataset, *output, *operator_indices;
    int         n_operators, width_px, dpi;
    int64_t     seed;
    double      alpha;
    bool        verbose, dry_run;
} picture_cli;

#define O picture_cli
static const lt_option picture_rows[] = {
    LT_OPTION_PATH(O, dataset, "dataset", NULL, "FILE.h5", "the dataset; may also be given as the operand"),
    LT_OPTION_PATH(O, output, "output", NULL, "FILE.png", "where the picture goes"),
    LT_OPTION_INT(O, n_operators, "n-operators", "2", LT_RANGE_CLOSED(1, 64), "N", "how many"),
    LT_OPTION_STRING(O, operator_indices, "operator-indices", NULL, "LIST", "these rows, as in 3,5,8-11, instead of choosing"),
    LT_OPTION_REAL(O, alpha, "diversity-alpha", "0.5", LT_RANGE_CLOSED(0, 1), "A", "1: operators far apart in their features, 0: typical ones"),
    LT_OPTION_INT(O, seed, "seed", "42", LT_AT_LEAST(0), "N", "seed of the choice"),
    LT_OPTION_INT(O, width_px, "width-px", "256", LT_RANGE_CLOSED(16, 4096), "W", "side of a panel"),
    LT_OPTION_INT(O, dpi, "dpi", "100", LT_RANGE_CLOSED(1, 1000), "D", "size of text: 100 is one dot to the pixel"),
    LT_OPTION_BOOL(O, verbose, "verbose", "false", "say what is drawn"),
    LT_OPTION_BOOL(O, dry_run, "dry-run", "false", "write nothing"),
};
#undef O
static const lt_option_group picture_groups[] = OWN_SEED(picture_rows);
static const lt_option_table picture_table = {
    .program = "lathe visualize-features", .summary = "Show the features of stored operators", .operands = "[FILE.h5]", .max_operands = 1,
    .groups = picture_groups, .n_groups = 2, .example = "lathe visualize-features small.h5 --output features.png --operator-indices 0,3",
};

static lt_status draw_picture(cli_context *c, const picture_cli *o, lt_dataset *d, int64_t **indices)
{
    lt_feature_picture_options p = { .size = sizeof p, .output = o->output, .n_operators = o->n_operators, .width = o->width_px, .dpi = o->dpi, .alpha = o->alpha,
                                     .seed = (uint64_t)o->seed };
    int64_t rows = lt_dataset_get_info(d).rows;
    if (!o->output && !o->dry_run) return cli_fail(LT_ERR_ARGUMENT, "where to? Give --output FILE.png");
    if (o->operator_indices) {
        CLI_TRY(dataset_indices("operator-indices", o->operator_indices, rows, indices, &p.n_operators));
        p.indices = *indices;
    } else if (p.n_operators > rows) p.n_operators = (int)rows;
    if (!o->dry_run) CLI_TRY(lt_dataset_feature_picture(d, &p));
    if (c->json) lt_json_field_int(c->json, "operators", p.n_operators);
    else if (o->verbose || o->dry_run) printf("%d operators, panels of %d pixels\n", p.n_operators, p.width);
    if (!c->json && !o->dry_run) printf("%s\n", cli_shown(o->output).s);
    return LT_OK;
}

static lt_status run_picture(cli_context *c)
{
    const picture_cli *o = c->options;
    lt_dataset *d;
    int64_t *indices = NULL;
    CLI_TRY(dataset_open(c, o->dataset, &d));
    lt_status s = draw_picture(c, o, d, &indices);
    free(indices);
    lt_dataset_close(d);
    return s;
}

const cli_command cli_visualize_features = {
    .name = "visualize-features", .options = &picture_table, .options_bytes = sizeof(picture_cli), .need = CLI_NEED_NOTHING, .run = run_picture,
    .description = "One row per operator: its initial field, its TEMPORAL features over time and its SUMMARY features by realization, every column scaled to its range.",
};
