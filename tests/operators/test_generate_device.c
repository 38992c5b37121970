/* Datasets made on a device with memory of its own: planned on the null device, compared with the CPU's on the first
   CUDA device where there is one. SPDX-License-Identifier: BSD-3-Clause */
#include "dataset_main.h"

#include "base/scratch.h"
#include "base/status.h"
#include "device/null/null.h"

#include <stdatomic.h>
#include <unistd.h>

enum { ROWS = 9 };
static int grid = 16, rows = ROWS;
static bool alike; /* one architecture for all rows, compiled once */
static const char *engine = ""; /* keys of the engine's section */

static lt_dataset_config *config_of(const char *output, const char *precision, bool trajectories)
{
    char text[4096];
    lt_dataset_config *c = NULL;
    snprintf(text, sizeof text,
             "version: '1.0'\n"
             "metadata: {name: device}\n"
             "parameter_space:\n"
             "  architecture: {num_layers: {type: choice, choices: [%s]}, base_channels: {type: choice, choices: [%s]},\n"
             "    kernel_size: {type: choice, choices: [%s]}, activation: {type: choice, choices: [gelu]}}\n"
             "  stochastic: {noise_type: {type: choice, choices: [gaussian]}, noise_scale: {type: continuous, bounds: [0.001, 0.1], log_scale: true}}\n"
             "  operator: {normalization: {type: choice, choices: [instance]}, grid_size: {type: choice, choices: [%d]}}\n"
             "  evolution: {update_policy: {type: choice, choices: [residual, convex]}}\n"
             "sampling: {total_samples: %d, batch_size: 3, sobol: {seed: 5}}\n"
             "simulation: {device: cpu, precision: %s, num_realizations: 2, num_timesteps: 12,\n"
             "  input_generation: {method: sampled, ic_type_weights: {structured: 0.5, localized: 0.5}, localized: {num_blobs: 2, min_width: 2, max_width: 4}}}\n"
             "dataset: {output_path: '%s', storage: {chunk_size: 4, store_trajectories: %s}}\n"
             "engine: {%s}\n",
             alike ? "2" : "2, 3, 4", alike ? "4" : "4, 5, 6", alike ? "3" : "3, 5", grid, rows, precision, output, trajectories ? "true" : "false", engine);
    LT_CHECK_OK(lt_dataset_config_parse(text, strlen(text), "test.yaml", NULL, &c));
    return c;
}

static lt_generate_info generate(lt_device *dev, const char *path, const char *precision, bool trajectories, int at_once)
{
    lt_generate_options opt = lt_generate_defaults();
    lt_generate_info info = { .size = sizeof info };
    lt_dataset_config *c = config_of(path, precision, trajectories);
    opt.device = dev;
    opt.at_once = at_once;
    opt.overwrite = true;
    LT_CHECK_OK(lt_generate(c, &opt, &info));
    lt_dataset_config_destroy(c);
    return info;
}

LT_TEST(rows_run_side_by_side_and_states_travel_only_where_they_are_kept)
{
    lt_device *dev;
    int64_t copied[2];
    const char *path = scratch("null.h5");
    for (int trajectories = 0; trajectories < 2; trajectories++)
        for (int at_once = 0; at_once <= 4; at_once++) {
            LT_CHECK_OK(lt_device_open("null", &dev));
            lt_generate_info info = generate(dev, path, "float16", trajectories, at_once);
            LT_CHECK_EQ_INT(info.samples, ROWS);
            LT_CHECK_EQ_INT(info.failed, 0);
            copied[trajectories] = lt_null_read(dev).copy_bytes[LT_TRANSFER_D2H];
            lt_device_close(dev);
        }
    int64_t states = (int64_t)sizeof(float) * ROWS * 2 * 3 * 16 * 16 * 12;
    LT_CHECK(copied[1] - copied[0] >= states - 1);
    LT_CHECK(copied[0] < states);
}

LT_TEST(features_that_stay_on_the_cpu_are_told)
{
    lt_device *dev;
    const char *path = scratch("null.h5");
    LT_CHECK_OK(lt_device_open("null", &dev));
    LT_CHECK(!generate(dev, path, "float32", false, 0).feature_reason[0]);
    grid = 11;
    lt_generate_info info = generate(dev, path, "float32", false, 0);
    LT_CHECK(strstr(info.feature_reason, "9 of 9 operators") && strstr(info.feature_reason, "prime factor above 7"));
    LT_CHECK(!generate(NULL, path, "float32", false, 0).feature_reason[0]);
    grid = 16;
    lt_device_close(dev);
}

static volatile int stop;
static void stop_after_two(void *ctx, const lt_generate_progress *p)
{
    (void)ctx;
    if (p->rows_done == 2) stop = 1;
}

LT_TEST(a_run_that_is_stopped_with_rollouts_under_way_can_be_resumed)
{
    lt_device *dev;
    lt_generate_options opt = lt_generate_defaults();
    lt_generate_info info = { .size = sizeof info };
    const char *path = scratch("null.h5");
    LT_CHECK_OK(lt_device_open("null", &dev));
    lt_dataset_config *c = config_of(path, "float32", false);
    opt.device = dev;
    opt.stop = &stop;
    opt.progress = stop_after_two;
    stop = 0;
    LT_CHECK_FAILS(lt_generate(c, &opt, &info), LT_ERR_CANCELLED, "stopped");
    LT_CHECK_EQ_INT(info.samples, 2);
    stop = 0;
    opt.progress = NULL;
    opt.resume = true;
    opt.device = NULL; /* rows of another kind of device would have other last bits */
    LT_CHECK_FAILS(lt_generate(c, &opt, &info), LT_ERR_ARGUMENT, "its device is null, now it is cpu");
    opt.device = dev;
    setenv("LATHE_CUDA_STEP", "mma", 1); /* and so would other steps on the same one, which a clock may have chosen meanwhile */
    LT_CHECK_FAILS(lt_generate(c, &opt, &info), LT_ERR_ARGUMENT, "its rows were made by graph steps, here they would be mma ones, with other last bits: set LATHE_CUDA_STEP=graph");
    unsetenv("LATHE_CUDA_STEP");
    LT_CHECK_OK(lt_generate(c, &opt, &info));
    LT_CHECK_EQ_INT(info.skipped, 2);
    LT_CHECK_EQ_INT(info.samples, ROWS - 2);
    lt_dataset_config_destroy(c);
    lt_device_close(dev);
}

/* The null device's table with waits, launches and replays that fail once it is lost, or for a while: the calls from number `first` on,
   `n` of them (-1: for ever), as a library's do. */
static struct { lt_backend table; atomic_bool lost; atomic_int calls, first, n; } fragile;

static lt_status fragile_check(void) { return fragile.lost ? LT_FAIL(LT_ERR_DEVICE, "the test's device is lost") : LT_OK; }
static lt_status fragile_sync(lt_stream *st) { LT_TRY(fragile_check()); return lt_backend_null()->sync(st); }
static lt_status fragile_event_sync(lt_event *e) { LT_TRY(fragile_check()); return lt_backend_null()->event_sync(e); }

static lt_status fragile_call(void)
{
    int call = ++fragile.calls;
    LT_TRY(fragile_check());
    if (!fragile.first || call < fragile.first || (fragile.n >= 0 && call >= fragile.first + fragile.n)) return LT_OK;
    return LT_FAIL(LT_ERR_DEVICE, "cuDNN: convolution: a fault made up by the test");
}
static lt_status fragile_replay(lt_stream *st, lt_capture *c) { LT_TRY(fragile_call()); return lt_backend_null()->replay(st, c); }
static lt_status fragile_launch(lt_stream *st, const lt_launch *at) { LT_TRY(fragile_call()); return lt_backend_null()->launch(st, at); }

static void strike(int first, int n)
{
    fragile.calls = 0;
    fragile.first = first;
    fragile.n = n;
}

static lt_device *open_fragile(void)
{
    lt_device *dev;
    LT_CHECK_OK(lt_device_open("null", &dev));
    fragile.table = *dev->backend;
    fragile.table.sync = fragile_sync;
    fragile.table.event_sync = fragile_event_sync;
    fragile.table.replay = fragile_replay;
    fragile.table.launch = fragile_launch;
    fragile.lost = false;
    strike(0, 0);
    dev->backend = &fragile.table;
    return dev;
}

static void lose_after_two(void *ctx, const lt_generate_progress *p)
{
    (void)ctx;
    if (p->rows_done == 2) fragile.lost = true;
}

/* The operator it happened to is lost; those to come are left to a process that has a device. Both are made when the run goes on. */
LT_TEST(a_lost_device_ends_the_run_and_keeps_what_was_written)
{
    for (int at_once = 1; at_once <= 4; at_once++) {
        alike = at_once % 2;
        lt_generate_options opt = lt_generate_defaults();
        lt_generate_info info = { .size = sizeof info };
        const char *path = scratch("lost.h5");
        lt_device *dev = open_fragile();
        lt_dataset_config *c = config_of(path, "float32", false);
        opt.device = dev;
        opt.at_once = at_once;
        opt.overwrite = true;
        opt.progress = lose_after_two;
        LT_CHECK_FAILS(lt_generate(c, &opt, &info), LT_ERR_DEVICE, "the test's device is lost");
        LT_CHECK(info.samples >= 2 && info.samples <= 3 && info.lost == info.samples - 2 && !info.failed && !info.complete);
        fragile.lost = false; /* as in a new process */
        opt.progress = NULL;
        opt.overwrite = false;
        opt.resume = true;
        LT_CHECK_OK(lt_generate(c, &opt, &info));
        LT_CHECK_EQ_INT(info.skipped, 2);
        LT_CHECK_EQ_INT(info.samples, ROWS - 2);
        LT_CHECK(info.failed == 0 && info.lost == 0 && info.complete);
        lt_dataset_config_destroy(c);
        lt_device_close(dev);
    }
    alike = false;
}

/* Rows that ran to their end, and lost ones; others there must not be. What the null device computes may be finite or not. */
static void check_codes(const char *path, int64_t made, int64_t lost)
{
    lt_dataset *d = NULL;
    LT_CHECK_OK(lt_dataset_open(path, &d));
    lt_dataset_info i = lt_dataset_get_info(d);
    LT_CHECK_EQ_INT(i.status[LT_RUN_DONE] + i.status[LT_RUN_NON_FINITE], made);
    LT_CHECK_EQ_INT(i.status[LT_RUN_LOST], lost);
    LT_CHECK_EQ_INT(made + lost, i.rows);
    lt_dataset_close(d);
}

/* A device that fails at its k-th launch, once or for a while, whatever runs beside: the operator is run again, and no row is the worse. */
LT_TEST(what_fails_once_is_run_again)
{
    lt_generate_options opt = lt_generate_defaults();
    const char *path = scratch("again.h5");
    lt_device *dev = open_fragile();
    lt_dataset_config *c = config_of(path, "float32", true);
    lt_generate_info info = { .size = sizeof info };
    opt.device = dev;
    opt.overwrite = true;
    LT_CHECK_OK(lt_generate(c, &opt, &info));
    LT_CHECK_EQ_INT(info.retries, 0);
    int all = fragile.calls, struck = 0;
    LT_CHECK(all > 100);
    for (int at_once = 1; at_once <= 4; at_once += 3)
        for (int n = 1; n <= 2; n++) /* one fault; one in the operator's second run, too, if nothing else is called */
            for (int first = 1; first <= all; first += LT_MAX(all / 12, 1)) {
                strike(first, n);
                opt.at_once = at_once;
                LT_CHECK_OK(lt_generate(c, &opt, &info));
                LT_CHECK(info.samples == ROWS && info.lost == 0 && info.failed == 0 && info.complete);
                LT_CHECK(!info.retries == !info.retry_reason[0]);
                struck += info.retries > 0;
                check_codes(path, ROWS, 0);
            }
    LT_CHECK(struck > 20);
    lt_dataset_config_destroy(c);
    lt_device_close(dev);
}

static void keep_error(void *ctx, lt_finding_level level, const char *text)
{
    if (level == LT_FINDING_ERROR) snprintf(ctx, 200, "%s", text);
}

/* For ever: every operator is tried a few times, marked and named, nothing else; the next run has all of them to make. */
LT_TEST(what_fails_for_ever_is_marked_named_and_made_later)
{
    lt_generate_options opt = lt_generate_defaults();
    const char *path = scratch("never.h5");
    char told[200] = "";
    lt_device *dev = open_fragile();
    lt_dataset *d = NULL;
    lt_generate_info info = { .size = sizeof info };
    lt_dataset_config *c = config_of(path, "float32", true);
    opt.device = dev;
    LT_CHECK_OK(lt_generate(c, &opt, &info));
    int all = fragile.calls;
    strike(all / 2, -1);
    opt.overwrite = true;
    opt.at_once = 1;
    LT_CHECK_FAILS(lt_generate(c, &opt, &info), LT_ERR_DEVICE, "of 9 operators were lost to faults of the device, also when tried again: ");
    LT_CHECK(strstr(lt_error_text(), "a fault made up by the test"));
    LT_CHECK(info.lost > 1 && info.lost < ROWS && info.samples == ROWS && info.complete && info.failed == 0);
    LT_CHECK_EQ_INT(info.retries, 2 * info.lost);
    for (int64_t i = 1; i < info.lost; i++) LT_CHECK(info.lost_operators[i] > info.lost_operators[i - 1]);
    check_codes(path, ROWS - info.lost, info.lost);
    LT_CHECK_OK(lt_dataset_open(path, &d));
    LT_CHECK_OK(lt_dataset_validate(d, &(lt_validate_options){ sizeof(lt_validate_options), false, false, 1, NULL }, keep_error, told));
    LT_CHECK(strstr(told, "operators were lost to faults of the device: "));
    lt_dataset_close(d);
    int64_t lost = info.lost;
    strike(0, 0);
    opt.overwrite = false;
    opt.resume = true;
    LT_CHECK_OK(lt_generate(c, &opt, &info));
    LT_CHECK(info.samples == lost && info.skipped == ROWS - lost && info.lost == 0);
    check_codes(path, ROWS, 0);
    lt_dataset_config_destroy(c);
    lt_device_close(dev);
}

static void strike_after_a_batch(void *ctx, const lt_generate_progress *p)
{
    (void)ctx;
    if (p->rows_done == 3) strike(1, -1);
}

/* Bounds of a batch without one of its operators would be others: all of it is lost, and all of it is made again. */
LT_TEST(a_batch_that_is_clipped_together_is_lost_together)
{
    lt_generate_options opt = lt_generate_defaults();
    const char *path = scratch("batch.h5");
    lt_device *dev = open_fragile();
    lt_generate_info info = { .size = sizeof info };
    engine = "clip: batch";
    lt_dataset_config *c = config_of(path, "float32", true);
    engine = "";
    opt.device = dev;
    opt.at_once = 1;
    opt.overwrite = true;
    opt.progress = strike_after_a_batch;
    LT_CHECK_FAILS(lt_generate(c, &opt, &info), LT_ERR_DEVICE, "operators were lost to faults of the device");
    LT_CHECK(info.lost > 0 && info.lost < ROWS && info.lost % 3 == 0); /* batches of three */
    for (int64_t i = 0; i < info.lost; i += 3) LT_CHECK(info.lost_operators[i] % 3 == 0 && info.lost_operators[i + 2] == info.lost_operators[i] + 2);
    check_codes(path, ROWS - info.lost, info.lost);
    int64_t lost = info.lost;
    strike(0, 0);
    opt.progress = NULL;
    opt.overwrite = false;
    opt.resume = true;
    LT_CHECK_OK(lt_generate(c, &opt, &info));
    LT_CHECK(info.samples == lost && info.skipped == ROWS - lost);
    check_codes(path, ROWS, 0);
    lt_dataset_config_destroy(c);
    lt_device_close(dev);
}

static bool is_there(const char *path)
{
    char journal[512];
    snprintf(journal, sizeof journal, "%s.journal", path);
    return access(path, F_OK) == 0 || access(journal, F_OK) == 0;
}

/* On a null device of so many bytes. */
static lt_status generate_within(int64_t bytes, const char *path, const char *precision, lt_generate_info *info)
{
    lt_device *dev;
    lt_generate_options opt = lt_generate_defaults();
    LT_CHECK_OK(lt_device_open("null", &dev));
    LT_CHECK_OK(lt_device_memory_limit(dev, bytes));
    lt_dataset_config *c = config_of(path, precision, false);
    opt.device = dev;
    opt.overwrite = true;
    lt_status s = lt_generate(c, &opt, info);
    lt_dataset_config_destroy(c);
    lt_device_close(dev);
    return s;
}

LT_TEST(a_full_device_names_the_operator_and_what_would_help_before_anything_is_written)
{
    const char *path = scratch("full.h5");
    lt_generate_plan plan = { .size = sizeof plan };
    LT_CHECK_FAILS(generate_within(64 << 10, path, "float32", NULL), LT_ERR_MEMORY, "generate: 2 realizations of a cnn operator (base_channels 6, grid 16");
    LT_CHECK(strstr(lt_error_text(), "do not fit on null: fewer realizations (--num-realizations), simulation.precision float16 or --device cpu would help"));
    LT_CHECK(!is_there(path));
    grid = 64;
    LT_CHECK_FAILS(generate_within(1 << 20, path, "float16", NULL), LT_ERR_MEMORY, "bytes for activations, of 524288 allowed");
    LT_CHECK(!is_there(path));
    lt_device *dev;
    lt_generate_options opt = lt_generate_defaults();
    LT_CHECK_OK(lt_device_open("null", &dev));
    LT_CHECK_OK(lt_device_memory_limit(dev, 1 << 20));
    lt_dataset_config *c = config_of(path, "float16", false);
    opt.device = dev;
    LT_CHECK_FAILS(lt_generate_make_plan(c, &opt, &plan), LT_ERR_MEMORY, "generate: 2 realizations of a cnn operator");
    lt_dataset_config_destroy(c);
    lt_device_close(dev);
    grid = 16;
}

/* Fused steps: a device of any size either refuses at the start or makes all rows, one operator at a time if need be. */
LT_TEST(memory_never_runs_out_on_the_way)
{
    const char *path = scratch("tight.h5");
    int refused = 0, made = 0;
    grid = 64;
    for (int64_t bytes = 1 << 20; bytes < 64 << 20; bytes += bytes / 16) {
        lt_generate_info info = { .size = sizeof info };
        lt_status s = generate_within(bytes, path, "float16", &info);
        if (s) {
            if (s != LT_ERR_MEMORY || is_there(path)) LT_TEST_FAIL("%lld bytes: %s", (long long)bytes, lt_error_text());
            LT_CHECK(!made);
            refused++;
            continue;
        }
        LT_CHECK_EQ_INT(info.samples, ROWS);
        remove(path);
        made++;
    }
    LT_CHECK(refused > 0 && made > 0);
    grid = 16;
}

/* Rows that a larger device did are no reason to refuse what is left. */
LT_TEST(what_is_left_of_a_run_is_what_has_to_fit)
{
    const char *path = scratch("rest.h5");
    lt_device *dev;
    lt_generate_options opt = lt_generate_defaults();
    lt_generate_info info = { .size = sizeof info };
    LT_CHECK_OK(lt_device_open("null", &dev));
    lt_dataset_config *c = config_of(path, "float32", false);
    opt.device = dev;
    opt.stop = &stop;
    opt.progress = stop_after_two;
    stop = 0;
    LT_CHECK_FAILS(lt_generate(c, &opt, &info), LT_ERR_CANCELLED, "stopped");
    opt.stop = NULL;
    opt.progress = NULL;
    opt.resume = true;
    LT_CHECK_OK(lt_device_memory_trim(dev));
    LT_CHECK_OK(lt_device_memory_limit(dev, 64 << 10));
    LT_CHECK_FAILS(lt_generate(c, &opt, &info), LT_ERR_MEMORY, "do not fit on null");
    LT_CHECK_OK(lt_device_memory_limit(dev, 0));
    LT_CHECK_OK(lt_generate(c, &opt, &info));
    LT_CHECK_EQ_INT(info.skipped, 2);
    LT_CHECK_OK(lt_device_memory_limit(dev, 64 << 10));
    LT_CHECK_OK(lt_generate(c, &opt, &info)); /* nothing is left */
    LT_CHECK_EQ_INT(info.skipped, ROWS);
    lt_dataset_config_destroy(c);
    lt_device_close(dev);
}

static void keep_finding(void *ctx, lt_finding_level level, const char *text)
{
    if (strstr(text, "replayed")) snprintf(ctx, 200, "%d %s", (int)level, text);
}

LT_TEST(files_say_where_they_were_made_and_are_replayed_there_alone)
{
    const char *path = scratch("made.h5");
    char told[200] = "";
    lt_device *dev;
    lt_dataset *d;
    LT_CHECK_OK(lt_device_open("null", &dev));
    generate(dev, path, "float32", false, 0);
    LT_CHECK_OK(lt_dataset_open(path, &d));
    LT_CHECK(strcmp(lt_dataset_get_info(d).device, "null") == 0);
    LT_CHECK_OK(lt_dataset_validate(d, &(lt_validate_options){ sizeof(lt_validate_options), true, false, 2, NULL }, keep_finding, told));
    LT_CHECK(strstr(told, "1 rows were not replayed: the file was made on null, this is cpu") != NULL);
    lt_dataset_close(d);
    lt_device_close(dev);
}

/* ---- On a GPU ---- */
static const char *const arrays[] = { "/features/temporal/features", "/features/summary/per_trajectory/features", "/features/summary/aggregated/features" };

static float *read_all(const char *file, const char *path, int64_t *n)
{
    lt_dataset *d = NULL;
    LT_CHECK_OK(lt_dataset_open(file, &d));
    lt_shape shape = lt_dataset_shape(d, path);
    *n = shape.rank ? lt_shape_count(&shape) : 0;
    float *x = malloc((size_t)(*n + 1) * sizeof *x);
    if (*n) LT_CHECK_OK(lt_dataset_read(d, path, 0, shape.dim[0], x, *n));
    lt_dataset_close(d);
    return x;
}

/* The share of values that differ by more than the tolerance, relative to the largest of the array's row. */
static double share_apart(const char *a, const char *b, const char *path, double tolerance)
{
    int64_t n, m, apart = 0;
    float *x = read_all(a, path, &n), *y = read_all(b, path, &m);
    LT_CHECK(n > 0 && n == m);
    for (int64_t i = 0; i < n && n == m; i++)
        apart += !(fabs((double)x[i] - y[i]) <= tolerance * fmax(1, fabs((double)x[i]))) && !(isnan(x[i]) && isnan(y[i]));
    free(x);
    free(y);
    return n ? (double)apart / (double)n : 1;
}

LT_TEST(features_of_a_gpu_are_close_to_the_cpus_and_independent_of_what_runs_beside)
{
    const char *cpu = scratch("cpu.h5"), *one = scratch("one.h5"), *many = scratch("many.h5"), *kept = scratch("kept.h5");
    lt_device *dev;
    if (lt_device_open("cuda", &dev)) LT_SKIP("%s", lt_error_text());
    if (lt_test_brief()) rows = 3;
    generate(NULL, cpu, "float32", false, 0);
    generate(dev, one, "float32", false, 1);
    lt_generate_info info = generate(dev, many, "float32", false, 4);
    generate(dev, kept, "float32", true, 2);
    LT_CHECK(info.device_seconds > 0);
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        /* Thresholds and bins may flip on a last bit: a few values may differ. */
        double apart = share_apart(cpu, one, arrays[i], 2e-3);
        if (!(apart < 0.02)) LT_TEST_FAIL("%s: %.3g of the values differ from the CPU's", arrays[i], apart);
        LT_CHECK(share_apart(one, many, arrays[i], 0) == 0);
        LT_CHECK(share_apart(one, kept, arrays[i], 0) == 0);
    }
    lt_dataset *d;
    char told[200] = "";
    LT_CHECK_OK(lt_dataset_open(many, &d));
    LT_CHECK_OK(lt_dataset_validate(d, &(lt_validate_options){ sizeof(lt_validate_options), true, false, 3, dev }, keep_finding, told));
    LT_CHECK(strstr(told, "0 3 rows replayed, features of 0 differ") != NULL);
    rows = ROWS;
    lt_dataset_close(d);
    lt_device_close(dev);
}

/* Many small operators side by side, while others are made: none is lost, none is run again, and two runs agree in every bit. */
LT_TEST(small_operators_side_by_side_lose_no_row)
{
    const char *path[] = { scratch("first.h5"), scratch("second.h5") };
    lt_device *dev;
    if (lt_device_open("cuda", &dev)) LT_SKIP("%s", lt_error_text());
    for (int i = 0; i < 2; i++) {
        lt_generate_options opt = lt_generate_defaults();
        lt_generate_info info = { .size = sizeof info };
        lt_dataset_config *c = NULL;
        lt_dataset_overrides over = { .size = sizeof over, .output = path[i], .total_samples = lt_test_brief() ? 48 : 0 };
        LT_CHECK_OK(lt_dataset_config_load(LT_SIDE_BY_SIDE, &over, &c));
        opt.device = dev;
        opt.at_once = 4;
        LT_CHECK_OK(lt_generate(c, &opt, &info));
        LT_CHECK_EQ_INT(info.samples, lt_dataset_config_summary(c).total_samples);
        LT_CHECK(info.lost == 0 && info.failed == 0 && info.retries == 0);
        if (info.retries) LT_TEST_FAIL("run again: %s", info.retry_reason);
        lt_dataset_config_destroy(c);
    }
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) LT_CHECK(share_apart(path[0], path[1], arrays[i], 0) == 0);
    lt_device_close(dev);
}

LT_DATASET_TEST_MAIN()
