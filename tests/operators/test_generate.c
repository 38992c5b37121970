/* Datasets from end to end: the same rows however they are made, stopped, sharded or replayed.
   SPDX-License-Identifier: BSD-3-Clause */
#include "dataset_main.h"

#include "base/alloc.h"
#include "base/files/file.h"
#include "base/pool.h"
#include "base/scratch.h"

#include <unistd.h>

/* ---- Configurations ---- */

typedef struct variant {
    const char *name, *grids, *policies, *extra_evolution, *noise, *features, *engine, *storage;
    int         samples, batch, realizations, steps, chunk;
} variant;

static variant base_variant(void)
{
    return (variant){ .name = "test", .grids = "[16]", .policies = "[residual, convex]", .extra_evolution = "", .noise = "[gaussian]", .features = "{}",
                      .engine = "{}", .storage = "", .samples = 9, .batch = 4, .realizations = 2, .steps = 5, .chunk = 4 };
}

static lt_dataset_config *config_of(const variant *v, const char *output)
{
    char text[4096];
    lt_dataset_config *c = NULL;
    snprintf(text, sizeof text,
             "version: '1.0'\n"
             "metadata: {name: %s}\n"
             "parameter_space:\n"
             "  architecture: {num_layers: {type: integer, bounds: [2, 4]}, base_channels: {type: integer, bounds: [4, 6]},\n"
             "    kernel_size: {type: choice, choices: [3, 5]}, activation: {type: choice, choices: [gelu]}}\n"
             "  stochastic: {noise_type: {type: choice, choices: %s}, noise_scale: {type: continuous, bounds: [0.001, 0.1], log_scale: true}}\n"
             "  operator: {normalization: {type: choice, choices: [instance]}, grid_size: {type: choice, choices: %s}}\n"
             "  evolution: {update_policy: {type: choice, choices: %s}%s}\n"
             "sampling: {total_samples: %d, batch_size: %d, sobol: {seed: 5}}\n"
             "simulation: {device: cpu, precision: float32, num_realizations: %d, num_timesteps: %d,\n"
             "  input_generation: {method: sampled, ic_type_weights: {structured: 0.5, localized: 0.5}, localized: {num_blobs: 2, min_width: 2, max_width: 4}}}\n"
             "dataset: {output_path: '%s', storage: {chunk_size: %d%s}}\n"
             "features: %s\n"
             "engine: %s\n",
             v->name, v->noise, v->grids, v->policies, v->extra_evolution, v->samples, v->batch, v->realizations, v->steps, output, v->chunk, v->storage,
             v->features, v->engine);
    LT_CHECK_OK(lt_dataset_config_parse(text, strlen(text), "test.yaml", NULL, &c));
    return c;
}

static lt_generate_info generate(const variant *v, const char *output, const lt_generate_options *opt)
{
    lt_generate_options defaults = lt_generate_defaults();
    lt_generate_info info = { .size = sizeof info };
    lt_dataset_config *c = config_of(v, output);
    LT_CHECK_OK(lt_generate(c, opt ? opt : &defaults, &info));
    lt_dataset_config_destroy(c);
    return info;
}

/* ---- Comparing ---- */

static const char *const arrays[] = {
    "/parameters/params", "/inputs/fields", "/outputs/fields", "/features/temporal/features", "/features/summary/per_trajectory/features",
    "/features/summary/aggregated/features", "/features/summary/learned/features", "/features/initial/aggregated/features", "/features/architecture/aggregated/features",
    "/features/summary/operator_sensitivity_inline/lipschitz_eps_1e-03", "/features/summary/operator_sensitivity_inline/compression_ratio",
};

static lt_dataset *open_ok(const char *path)
{
    lt_dataset *d = NULL;
    LT_CHECK_OK(lt_dataset_open(path, &d));
    return d;
}

/* One array as a whole; *n is its number of elements. */
static float *read_all(lt_dataset *d, const char *path, int64_t *n)
{
    lt_shape shape = lt_dataset_shape(d, path);
    *n = shape.rank ? lt_shape_count(&shape) : 0;
    float *x = *n ? malloc((size_t)*n * sizeof *x) : NULL;
    if (x) LT_CHECK_OK(lt_dataset_read(d, path, 0, shape.dim[0], x, *n));
    return x;
}

/* Arrays that differ; those one file lacks do not count when `both` is false. */
static int differences(const char *path_a, const char *path_b, bool both)
{
    lt_dataset *a = open_ok(path_a), *b = open_ok(path_b);
    int wrong = 0;
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays && a && b; i++) {
        int64_t n, m;
        float *x = read_all(a, arrays[i], &n), *y = read_all(b, arrays[i], &m);
        if (both || (x && y)) wrong += n != m || (n && memcmp(x, y, (size_t)n * sizeof *x));
        free(x);
        free(y);
    }
    lt_dataset_close(a);
    lt_dataset_close(b);
    return wrong;
}

static lt_dataset_info info_of(const char *path)
{
    lt_dataset *d = open_ok(path);
    lt_dataset_info i = lt_dataset_get_info(d);
    lt_dataset_close(d);
    return i; /* its texts are gone; numbers are not */
}

static void count_finding(void *ctx, lt_finding_level level, const char *text)
{
    int *n = ctx;
    n[level]++;
    if (level == LT_FINDING_ERROR) fprintf(stderr, "validate: %s\n", text);
}

/* Every check of validate, replays included. */
static void check_valid(const char *path)
{
    int n[3] = { 0 };
    lt_dataset *d = open_ok(path);
    LT_CHECK_OK(lt_dataset_validate(d, &(lt_validate_options){ sizeof(lt_validate_options), true, true, 4, NULL }, count_finding, n));
    LT_CHECK_EQ_INT(n[LT_FINDING_ERROR], 0);
    LT_CHECK(n[LT_FINDING_OK] > 10);
    lt_dataset_close(d);
}

/* ---- Tests ---- */

LT_TEST(batch_size_and_threads_change_nothing)
{
    variant v = base_variant();
    const char *a = scratch("batch1.h5"), *b = scratch("batch.h5");
    v.features = "{initial: {enabled: true}, architecture: {enabled: true}}";
    v.storage = ", store_trajectories: true";
    v.batch = 1;
    generate(&v, a, NULL);
    check_valid(a);
    static const int batches[] = { 7, 64 };
    for (int i = 0; i < 2; i++)
        for (int threads = 1; threads <= 2; threads++) {
            lt_generate_options opt = lt_generate_defaults();
            opt.threads = threads;
            LT_CHECK_OK(lt_pool_shared_resize(threads));
            v.batch = batches[i];
            v.chunk = 2 + i;
            lt_generate_info info = generate(&v, b, &opt);
            LT_CHECK_EQ_INT(info.samples, 9);
            LT_CHECK_EQ_INT(differences(a, b, true), 0);
        }
    LT_CHECK_OK(lt_pool_shared_resize(0));
}

/* Stops the run after some operators by raising the flag from the progress call. */
typedef struct stopper { volatile int flag; int64_t after; } stopper;

static void stop_after(void *ctx, const lt_generate_progress *p)
{
    stopper *s = ctx;
    if (p->rows_done >= s->after) s->flag = 1;
}

LT_TEST(a_stopped_run_resumes_to_the_same_file)
{
    variant v = base_variant();
    v.features = "{summary: {summary_mode: hybrid}}";
    const char *whole = scratch("whole.h5"), *parts = scratch("parts.h5");
    generate(&v, whole, NULL);
    lt_generate_options opt = lt_generate_defaults();
    opt.resume = true;
    for (int64_t after = 1; after <= 9; after += 2) {
        stopper s = { 0, after };
        lt_generate_info info = { .size = sizeof info };
        opt.progress = stop_after;
        opt.progress_ctx = &s;
        opt.stop = &s.flag;
        v.batch = after % 4 + 1;
        lt_dataset_config *c = config_of(&v, parts);
        lt_status st = lt_generate(c, &opt, &info);
        LT_CHECK(st == LT_ERR_CANCELLED || (st == LT_OK && after == 9));
        lt_dataset_config_destroy(c);
        lt_dataset_info i = info_of(parts);
        LT_CHECK(i.status[LT_RUN_DONE] >= after);
        LT_CHECK_EQ_INT(i.status[LT_RUN_DONE] + i.status[LT_RUN_PENDING], 9);
    }
    generate(&v, parts, &opt);
    LT_CHECK_EQ_INT(differences(whole, parts, true), 0);
    check_valid(parts);
    lt_generate_info again = generate(&v, parts, &opt);
    LT_CHECK_EQ_INT(again.samples, 0);
    LT_CHECK_EQ_INT(again.skipped, 9);
}

LT_TEST(resuming_something_else_is_refused)
{
    variant v = base_variant();
    const char *path = scratch("refused.h5");
    generate(&v, path, NULL);
    lt_generate_options opt = lt_generate_defaults();
    opt.resume = true;
    variant other = v;
    other.steps = 6;
    lt_dataset_config *c = config_of(&other, path);
    LT_CHECK_FAILS(lt_generate(c, &opt, NULL), LT_ERR_ARGUMENT, "another configuration");
    lt_dataset_config_destroy(c);
    c = config_of(&v, path);
    opt.shard_count = 2;
    LT_CHECK_FAILS(lt_generate(c, &opt, NULL), LT_ERR_ARGUMENT, "shard");
    opt.shard_index = 2;
    LT_CHECK_FAILS(lt_generate(c, &opt, NULL), LT_ERR_ARGUMENT, "expected i/n");
    opt = lt_generate_defaults();
    opt.resume = true;
    LT_CHECK_OK(lt_file_write(path, "not a dataset", 13));
    LT_CHECK_FAILS(lt_generate(c, &opt, NULL), LT_ERR_FORMAT, "not an HDF5 file");
    lt_dataset_config_destroy(c);
}

LT_TEST(shards_merge_to_the_whole)
{
    variant v = base_variant();
    v.features = "{summary: {summary_mode: hybrid}}";
    const char *whole = scratch("all.h5"), *merged = scratch("merged.h5"), *shard[3] = { scratch("s0.h5"), scratch("s1.h5"), scratch("s2.h5") };
    v.storage = ", store_trajectories: true";
    generate(&v, whole, NULL);
    for (int i = 0; i < 3; i++) {
        lt_generate_options opt = lt_generate_defaults();
        opt.shard_index = i;
        opt.shard_count = 3;
        generate(&v, shard[i], &opt);
        lt_dataset_info info = info_of(shard[i]);
        LT_CHECK_EQ_INT(info.rows, 3);
        LT_CHECK_EQ_INT(info.shard_index, i);
        check_valid(shard[i]);
    }
    LT_CHECK_OK(lt_dataset_merge(merged, 3, shard));
    LT_CHECK_EQ_INT(differences(whole, merged, true), 0);
    check_valid(merged);
    LT_CHECK_FAILS(lt_dataset_merge(merged, 2, shard), LT_ERR_ARGUMENT, "in none of");
    LT_CHECK_FAILS(lt_dataset_merge(merged, 3, (const char *[]){ shard[0], shard[1], shard[1] }), LT_ERR_ARGUMENT, "occurs twice");
    v.steps = 4;
    lt_generate_options opt = lt_generate_defaults();
    opt.shard_index = 2;
    opt.shard_count = 3;
    generate(&v, shard[2], &opt);
    LT_CHECK_FAILS(lt_dataset_merge(merged, 3, shard), LT_ERR_ARGUMENT, "differ in configuration");
}

/* Every sensitivity column is an array of its own too; other rows of an unfinished file are not a number. */
LT_TEST(values_of_operators_are_arrays_of_their_own)
{
    variant v = base_variant();
    const char *path = scratch("folder/below/inline.h5"), *part = scratch("inline_part.h5"); /* folders are made */
    v.features = "{summary: {extract_operator_features: true}}";
    generate(&v, path, NULL);
    lt_dataset *d = open_ok(path);
    int64_t n, n_names;
    const char *const *names;
    float *x = read_all(d, "/features/summary/per_trajectory/features", &n);
    LT_CHECK_OK(lt_dataset_texts(d, "/features/summary/per_trajectory/features@column_names", &n_names, &names));
    LT_CHECK_EQ_INT(n_names, 120);
    for (int64_t k = 110; k < n_names; k++) {
        char name[160];
        snprintf(name, sizeof name, "/features/summary/operator_sensitivity_inline/%s", names[k]);
        float *y = read_all(d, name, &n);
        LT_CHECK_EQ_INT(n, 9);
        for (int64_t r = 0; y && r < n; r++) LT_CHECK(y[r] == x[r * 2 * n_names + k]);
        free(y);
    }
    free(x);
    lt_dataset_close(d);
    stopper s = { 0, 4 };
    lt_generate_options opt = lt_generate_defaults();
    opt.progress = stop_after, opt.progress_ctx = &s, opt.stop = &s.flag;
    lt_dataset_config *c = config_of(&v, part);
    LT_CHECK_FAILS(lt_generate(c, &opt, NULL), LT_ERR_CANCELLED, "stopped");
    lt_dataset_config_destroy(c);
    d = open_ok(part);
    x = read_all(d, "/features/summary/operator_sensitivity_inline/linearity_r2", &n);
    int known = 0;
    for (int64_t r = 0; x && r < n; r++) known += !isnan(x[r]);
    LT_CHECK_EQ_INT(known, lt_dataset_get_info(d).status[LT_RUN_DONE]);
    free(x);
    lt_dataset_close(d);
    opt = lt_generate_defaults();
    opt.resume = true;
    generate(&v, part, &opt);
    LT_CHECK_EQ_INT(differences(path, part, true), 0);
}

/* A replay of stored states; the first difference stops it. */
typedef struct compare { lt_dataset *d; int64_t row, m, grid, from_grid, wrong; float *stored; } compare;

static lt_status compare_state(void *ctx, int64_t t, const float *x, const int64_t *failed)
{
    compare *c = ctx;
    int64_t low = (c->from_grid - c->grid) / 2;
    (void)failed;
    LT_CHECK_OK(lt_dataset_read_step(c->d, c->row, 1, t, c->stored, c->m * 3 * c->from_grid * c->from_grid));
    for (int64_t p = 0; p < c->m * 3; p++)
        for (int64_t y = 0; y < c->grid; y++)
            c->wrong += memcmp(x + (p * c->grid + y) * c->grid, c->stored + (p * c->from_grid + low + y) * c->from_grid + low, (size_t)c->grid * sizeof *x) != 0;
    return LT_OK;
}

LT_TEST(replays_are_the_stored_states)
{
    variant v = base_variant();
    const char *path = scratch("states.h5"), *one = scratch("one.h5"), *weights = scratch("w.npz");
    v.grids = "[12, 16, 20]";
    v.storage = ", store_trajectories: true, compression: lzf";
    generate(&v, path, NULL);
    check_valid(path);
    lt_dataset_config *c = config_of(&v, path);
    lt_replay_options opt = lt_replay_defaults();
    lt_replay *r = NULL;
    lt_dataset *d = open_ok(path);
    LT_CHECK_OK(lt_replay_create(c, &opt, &r));
    bool padded = false;
    for (int64_t row = 0; row < 9; row++) {
        lt_operator_spec spec = { .size = sizeof spec };
        LT_CHECK_OK(lt_replay_row(r, row, &spec, NULL));
        compare k = { d, row, 2, spec.grid, lt_dataset_get_info(d).grid, 0, malloc(2 * 3 * 20 * 20 * sizeof(float)) };
        padded = padded || k.grid != k.from_grid;
        LT_CHECK_OK(lt_replay_run(r, row, -1, compare_state, &k, NULL));
        LT_CHECK_EQ_INT(k.wrong, 0);
        free(k.stored);
    }
    LT_CHECK(padded);
    LT_CHECK_FAILS(lt_replay_run(r, 9, -1, compare_state, NULL, NULL), LT_ERR_ARGUMENT, "expected 0..8");
    LT_CHECK_OK(lt_replay_save_weights(r, 4, weights));
    lt_rollout_result result = { .size = sizeof result };
    LT_CHECK_OK(lt_replay_to_file(c, &opt, 4, 1, one, &result));
    lt_dataset *e = open_ok(one);
    lt_shape shape = lt_dataset_shape(e, "/outputs/fields");
    LT_CHECK(shape.rank == 6 && shape.dim[0] == 1 && shape.dim[1] == 1 && shape.dim[2] == 5);
    lt_dataset_close(e);
    lt_dataset_close(d);
    lt_replay_destroy(r);
    lt_dataset_config_destroy(c);
}

LT_TEST(features_of_stored_and_of_replayed_states_are_those_of_the_run)
{
    variant v = base_variant();
    const char *inline_path = scratch("inline.h5"), *stored = scratch("stored.h5"), *from_stored = scratch("from_stored.h5"), *replayed = scratch("replayed.h5");
    v.grids = "[12, 16]";
    v.features = "{summary: {extract_operator_features: true}}";
    generate(&v, inline_path, NULL);
    v.storage = ", store_trajectories: true";
    generate(&v, stored, NULL);
    LT_CHECK_EQ_INT(info_of(inline_path).summary_columns, 120);
    LT_CHECK_EQ_INT(differences(inline_path, stored, false), 0);
    lt_dataset *d = open_ok(stored);
    LT_CHECK_OK(lt_dataset_extract(d, &(lt_extract_options){ .size = sizeof(lt_extract_options), .output = from_stored }, NULL));
    LT_CHECK_FAILS(lt_dataset_extract(d, &(lt_extract_options){ .size = sizeof(lt_extract_options), .output = from_stored }, NULL), LT_ERR_ARGUMENT, "overwrite");
    lt_dataset_close(d);
    d = open_ok(inline_path);
    LT_CHECK_OK(lt_dataset_extract(d, &(lt_extract_options){ .size = sizeof(lt_extract_options), .output = replayed, .max_rows = 9 }, NULL));
    lt_dataset_close(d);
    LT_CHECK_EQ_INT(differences(inline_path, from_stored, true), 0);
    LT_CHECK_EQ_INT(differences(inline_path, replayed, true), 0);
}

LT_TEST(extraction_takes_a_document_of_its_own)
{
    variant v = base_variant();
    const char *path = scratch("plain.h5"), *out = scratch("some.h5"), *document = scratch("extract.yaml");
    static const char text[] = "summary:\n  spectral: {num_fft_scales: 3}\n  spatial: {include_histogram: true}\nmax_samples: 4\noverwrite: true\n";
    static const char bad[] = "sumary: {}\n";
    generate(&v, path, NULL);
    LT_CHECK_OK(lt_file_write(document, text, sizeof text - 1));
    lt_dataset *d = open_ok(path);
    LT_CHECK_OK(lt_dataset_extract(d, &(lt_extract_options){ .size = sizeof(lt_extract_options), .output = out, .config = document }, NULL));
    LT_CHECK_EQ_INT(info_of(out).rows, 4);
    LT_CHECK_EQ_INT(info_of(out).temporal_columns, 63 - 6 + 3);
    LT_CHECK_OK(lt_file_write(document, bad, sizeof bad - 1));
    LT_CHECK_FAILS(lt_dataset_extract(d, &(lt_extract_options){ .size = sizeof(lt_extract_options), .output = out, .config = document }, NULL), LT_ERR_ARGUMENT, "did you mean 'summary'");
    lt_dataset_close(d);
}

/* A step length of 1e30 sends states beyond any float: such rows are marked, the others are as ever. */
LT_TEST(operators_that_diverge_are_marked_and_the_run_goes_on)
{
    variant v = base_variant();
    v.features = "{summary: {summary_mode: hybrid}}";
    const char *path = scratch("diverges.h5");
    v.extra_evolution = ", dt: {type: choice, choices: [0.01, 1.0e+38]}";
    v.policies = "[residual]";
    v.storage = ", store_trajectories: true";
    lt_generate_info info = generate(&v, path, NULL);
    LT_CHECK(info.non_finite > 0 && info.non_finite < 9);
    check_valid(path);
    lt_dataset *d = open_ok(path);
    int64_t code[9], step[9], n;
    LT_CHECK_OK(lt_dataset_read_ints(d, "/status/code", 0, 9, code, 9));
    LT_CHECK_OK(lt_dataset_read_ints(d, "/status/step", 0, 9, step, 9));
    float *x = read_all(d, "/features/temporal/features", &n);
    for (int r = 0; r < 9; r++) {
        bool nan = false;
        for (int64_t i = 0; i < n / 9; i++) nan = nan || isnan(x[r * n / 9 + i]);
        LT_CHECK(nan == (code[r] == LT_RUN_NON_FINITE));
        LT_CHECK(code[r] == LT_RUN_DONE ? step[r] == 4 : step[r] < 4);
    }
    free(x);
    x = read_all(d, "/features/summary/learned/features", &n);
    for (int r = 0; r < 9 && x; r++) LT_CHECK(isnan(x[r * n / 9]) == (code[r] == LT_RUN_NON_FINITE)); /* both realizations leave */
    LT_CHECK_EQ_INT(n, 9 * 768);
    free(x);
    lt_dataset_close(d);
}

LT_TEST(snapshots_have_one_step)
{
    variant v = base_variant();
    const char *path = scratch("snapshot.h5");
    v.steps = 1;
    v.storage = ", store_trajectories: true";
    generate(&v, path, NULL);
    lt_dataset *d = open_ok(path);
    lt_shape outputs = lt_dataset_shape(d, "/outputs/fields"), temporal = lt_dataset_shape(d, "/features/temporal/features");
    LT_CHECK(outputs.rank == 5 && outputs.dim[1] == 2 && outputs.dim[2] == 3);
    LT_CHECK(temporal.rank == 3 && temporal.dim[1] == 1);
    lt_dataset_close(d);
    check_valid(path);
}

LT_TEST(batch_clipping_survives_a_stop)
{
    variant v = base_variant();
    v.features = "{summary: {summary_mode: hybrid}}";
    const char *whole = scratch("clip.h5"), *parts = scratch("clip_parts.h5");
    v.engine = "{clip: batch}";
    v.storage = ", store_trajectories: true";
    generate(&v, whole, NULL);
    lt_generate_options opt = lt_generate_defaults();
    stopper s = { 0, 6 };
    opt.resume = true;
    opt.progress = stop_after;
    opt.progress_ctx = &s;
    opt.stop = &s.flag;
    lt_dataset_config *c = config_of(&v, parts);
    LT_CHECK(lt_generate(c, &opt, NULL) == LT_ERR_CANCELLED);
    s = (stopper){ 0, 100 };
    LT_CHECK_OK(lt_generate(c, &opt, NULL));
    lt_dataset_config_destroy(c);
    LT_CHECK_EQ_INT(differences(whole, parts, true), 0);
}

LT_TEST(unfinished_files_are_not_replaced_unasked)
{
    variant v = base_variant();
    const char *path = scratch("unfinished.h5");
    lt_generate_options opt = lt_generate_defaults();
    stopper s = { 0, 2 };
    opt.progress = stop_after;
    opt.progress_ctx = &s;
    opt.stop = &s.flag;
    lt_dataset_config *c = config_of(&v, path);
    LT_CHECK(lt_generate(c, &opt, NULL) == LT_ERR_CANCELLED);
    opt.stop = NULL;
    LT_CHECK_FAILS(lt_generate(c, &opt, NULL), LT_ERR_ARGUMENT, "unfinished run");
    opt.overwrite = true;
    LT_CHECK_OK(lt_generate(c, &opt, NULL));
    LT_CHECK_EQ_INT(info_of(path).status[LT_RUN_DONE], 9);
    lt_dataset_config_destroy(c);
}

LT_TEST(the_plan_counts_what_the_run_writes)
{
    variant v = base_variant();
    lt_generate_options opt = lt_generate_defaults();
    lt_generate_plan plan = { .size = sizeof plan };
    lt_dataset_config *c = config_of(&v, scratch("planned.h5"));
    LT_CHECK_OK(lt_generate_make_plan(c, &opt, &plan));
    LT_CHECK(plan.rows == 9 && plan.steps == 5 && plan.grid == 16 && plan.signatures > 1 && plan.signatures <= 9);
    LT_CHECK(plan.total_flops > 0 && plan.estimated_seconds > 0 && plan.arena_bytes > 0 && plan.state_bytes > 0);
    LT_CHECK(plan.raw_bytes > 9 * (3 * 16 * 16 + 5 * 63 + 2 * 110 + 330) * 4);
    LT_CHECK(access(scratch("planned.h5"), F_OK) != 0);
    lt_dataset_config_destroy(c);
}

/* ---- Learned features ---- */

LT_TEST(learned_rows_are_the_same_however_they_are_made)
{
    variant v = base_variant();
    const char *a = scratch("latents.h5"), *b = scratch("latents_b.h5");
    v.features = "{summary: {summary_mode: hybrid, learned: {extract_from: all, temporal_agg: mean_max}}}";
    generate(&v, a, NULL);
    check_valid(a);
    for (int threads = 1; threads <= 2; threads++) {
        LT_CHECK_OK(lt_pool_shared_resize(threads));
        v.batch = 9 / threads, v.chunk = 3;
        v.storage = threads == 1 ? "" : ", store_trajectories: true";
        generate(&v, b, NULL);
        LT_CHECK_EQ_INT(differences(a, b, false), 0);
    }
    LT_CHECK_OK(lt_pool_shared_resize(0));
    lt_dataset *d = open_ok(b);
    const char *extracted = scratch("latents_c.h5");
    LT_CHECK_OK(lt_dataset_extract(d, &(lt_extract_options){ .size = sizeof(lt_extract_options), .output = extracted }, NULL));
    lt_dataset_close(d);
    LT_CHECK_EQ_INT(differences(a, extracted, true), 0);
    d = open_ok(a);
    LT_CHECK_OK(lt_dataset_extract(d, &(lt_extract_options){ .size = sizeof(lt_extract_options), .output = extracted, .overwrite = true }, NULL));
    lt_dataset_close(d);
    LT_CHECK_EQ_INT(differences(a, extracted, true), 0);
}

LT_TEST(learned_files_have_their_array_with_names)
{
    variant v = base_variant();
    const char *path = scratch("learned.h5"), *const *names;
    int64_t n;
    v.samples = 3;
    v.features = "{summary: {summary_mode: learned, learned: {extract_from: pre_output, temporal_agg: std}}}";
    generate(&v, path, NULL);
    lt_dataset *d = open_ok(path);
    lt_shape learned = lt_dataset_shape(d, "/features/summary/learned/features");
    LT_CHECK(learned.rank == 2 && learned.dim[0] == 3 && learned.dim[1] == 128);
    LT_CHECK_EQ_INT(lt_dataset_shape(d, "/features/summary/aggregated/features").rank, 0);
    LT_CHECK_EQ_INT(lt_dataset_shape(d, "/features/temporal/features").rank, 3);
    LT_CHECK_OK(lt_dataset_texts(d, "/features/summary/learned/features@column_names", &n, &names));
    LT_CHECK(n == 128 && !strcmp(names[127], "learned_127"));
    LT_CHECK_OK(lt_dataset_texts(d, "/features/summary/learned@description", &n, &names));
    LT_CHECK(n == 1 && strstr(names[0], "latents pre_output of the untrained operators"));
    LT_CHECK_OK(lt_dataset_texts(d, "/features/summary/learned@version", &n, &names));
    LT_CHECK(n == 1 && !strcmp(names[0], "1.0.0"));
    float *x = read_all(d, "/features/summary/learned/features", &n), sum = 0;
    for (int64_t i = 0; x && i < n; i++) sum += x[i];
    LT_CHECK(isfinite(sum) && sum > 0);
    free(x);
    lt_dataset_close(d);
}

LT_TEST(latents_of_another_kind_of_operator_are_refused)
{
    variant v = base_variant();
    lt_generate_options opt = lt_generate_defaults();
    v.features = "{summary: {summary_mode: hybrid, learned: {extract_from: bottleneck}}}";
    lt_dataset_config *c = config_of(&v, scratch("refused.h5"));
    LT_CHECK_FAILS(lt_generate(c, &opt, NULL), LT_ERR_ARGUMENT, "extract_from is bottleneck");
    lt_dataset_config_destroy(c);
}

LT_TEST(uafno_operators_too)
{
    static const char text[] =
        "metadata: {name: uafno}\n"
        "parameter_space:\n"
        "  architecture: {base_channels: {type: integer, bounds: [4, 5]}, activation: {type: choice, choices: [gelu]}}\n"
        "  stochastic: {noise_type: {type: choice, choices: [gaussian]}, noise_scale: {type: continuous, bounds: [0.001, 0.01], log_scale: true}}\n"
        "  operator: {normalization: {type: choice, choices: [instance]}, grid_size: {type: choice, choices: [16]}}\n"
        "  evolution: {update_policy: {type: choice, choices: [residual]}}\n"
        "  u_afno: {modes: {type: integer, bounds: [2, 3]}, hidden_dim: {type: integer, bounds: [8, 9]}, encoder_levels: {type: integer, bounds: [1, 2]},\n"
        "    afno_blocks: {type: integer, bounds: [1, 2]}, blocks_per_level: {type: integer, bounds: [1, 2]}}\n"
        "sampling: {total_samples: 3, batch_size: 1}\n"
        "simulation: {device: cpu, operator_type: u_afno, precision: float32, num_realizations: 2, num_timesteps: 3}\n"
        "dataset: {output_path: x.h5, storage: {chunk_size: 2}}\n"
        "features: {summary: {summary_mode: hybrid, learned: {extract_from: bottleneck, projection_dim: 8, training_epochs: 3}}}\n";
    const char *path = scratch("uafno.h5");
    lt_dataset_config *c = NULL;
    lt_generate_options opt = lt_generate_defaults();
    LT_CHECK_OK(lt_dataset_config_parse(text, sizeof text - 1, "uafno.yaml", &(lt_dataset_overrides){ .size = sizeof(lt_dataset_overrides), .output = path }, &c));
    LT_CHECK_OK(lt_generate(c, &opt, NULL));
    check_valid(path);
    lt_dataset *d = open_ok(path);
    LT_CHECK_EQ_INT(lt_dataset_shape(d, "/features/summary/learned/features").dim[1], 8);
    lt_dataset_close(d);
    lt_dataset_config_destroy(c);
}

LT_DATASET_TEST_MAIN()
