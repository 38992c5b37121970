/* Rollouts in a watched process: the same file, and operators that hang or kill it cost themselves alone.
   SPDX-License-Identifier: BSD-3-Clause */
#include "dataset_main.h"

#include "base/scratch.h"

#include <unistd.h>

enum { ROWS = 9 };
static const char *parallelism = ""; /* a key of simulation */
static const char *description = ""; /* in words */

static lt_dataset_config *config_of(const char *output, const char *engine)
{
    size_t bytes = 2048 + strlen(description);
    char *text = malloc(bytes);
    lt_dataset_config *c = NULL;
    snprintf(text, bytes,
             "metadata: {name: watched, description: '%s'}\n"
             "parameter_space:\n"
             "  architecture: {num_layers: {type: integer, bounds: [2, 4]}, base_channels: {type: integer, bounds: [4, 6]},\n"
             "    kernel_size: {type: choice, choices: [3, 5]}, activation: {type: choice, choices: [gelu]}}\n"
             "  stochastic: {noise_type: {type: choice, choices: [gaussian]}, noise_scale: {type: continuous, bounds: [0.001, 0.1], log_scale: true}}\n"
             "  operator: {normalization: {type: choice, choices: [instance]}, grid_size: {type: choice, choices: [12, 16]}}\n"
             "sampling: {total_samples: %d, batch_size: 4, sobol: {seed: 5}}\n"
             "simulation: {device: cpu, precision: float32, num_realizations: 2, num_timesteps: 5, extract_operator_features: true, %sinput_generation: {method: structured}}\n"
             "dataset: {output_path: '%s', storage: {chunk_size: 4, store_trajectories: true}}\n"
             "features: {initial: {enabled: true}}\n"
             "engine: {%s}\n", description, ROWS, parallelism, output, engine);
    LT_CHECK_OK(lt_dataset_config_parse(text, strlen(text), "test.yaml", NULL, &c));
    free(text);
    return c;
}

static int n_devices; /* each is the CPU */
static lt_device *device; /* NULL: the CPU */
static double suspected_after = 0.2; /* seconds */

static lt_status generate(const char *output, const char *engine, const char *const *worker, lt_generate_info *info)
{
    lt_generate_options opt = lt_generate_defaults();
    opt.devices = (const char *[]){ "cpu", "cpu", "cpu", "cpu" };
    opt.n_devices = n_devices;
    opt.device = device;
    lt_dataset_config *c = config_of(output, engine);
    opt.worker = worker;
    opt.watchdog_seconds = suspected_after;
    opt.overwrite = true;
    lt_status s = c ? lt_generate(c, &opt, info) : LT_ERR_ARGUMENT;
    lt_dataset_config_destroy(c);
    return s;
}

/* Rows of any array that differ between two files, as bits. */
static unsigned different_rows(const char *path_a, const char *path_b)
{
    static const char *const arrays[] = { "/inputs/fields", "/outputs/fields", "/features/temporal/features", "/features/summary/per_trajectory/features",
                                          "/features/summary/aggregated/features", "/features/initial/aggregated/features",
                                          "/features/summary/operator_sensitivity_inline/gain_scale_0.50" };
    lt_dataset *a = NULL, *b = NULL;
    unsigned rows = 0;
    LT_CHECK_OK(lt_dataset_open(path_a, &a));
    LT_CHECK_OK(lt_dataset_open(path_b, &b));
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays && a && b; i++) {
        lt_shape shape = lt_dataset_shape(a, arrays[i]), other = lt_dataset_shape(b, arrays[i]);
        LT_CHECK(shape.rank > 0 && lt_shape_count(&shape) == lt_shape_count(&other));
        size_t n = (size_t)(lt_shape_count(&shape) / ROWS);
        float *x = malloc(2 * n * ROWS * sizeof *x), *y = x + n * ROWS;
        LT_CHECK_OK(lt_dataset_read(a, arrays[i], 0, ROWS, x, (int64_t)n * ROWS));
        LT_CHECK_OK(lt_dataset_read(b, arrays[i], 0, ROWS, y, (int64_t)n * ROWS));
        for (int r = 0; r < ROWS; r++)
            if (memcmp(x + (size_t)r * n, y + (size_t)r * n, n * sizeof *x)) rows |= 1u << r;
        free(x);
    }
    lt_dataset_close(a);
    lt_dataset_close(b);
    return rows;
}

static void check_status(const char *path, int64_t row, int64_t code, int64_t step)
{
    lt_dataset *d = NULL;
    int64_t codes[ROWS], steps[ROWS];
    LT_CHECK_OK(lt_dataset_open(path, &d));
    LT_CHECK_OK(lt_dataset_read_ints(d, "/status/code", 0, ROWS, codes, ROWS));
    LT_CHECK_OK(lt_dataset_read_ints(d, "/status/step", 0, ROWS, steps, ROWS));
    LT_CHECK_EQ_INT(codes[row], code);
    LT_CHECK_EQ_INT(steps[row], step);
    lt_dataset_close(d);
}

/* A run whose faults strike every time: all rows are written, n of them as lost, named in the error. */
#define CHECK_LOST(run, info, n)                                                                          \
    do {                                                                                                  \
        LT_CHECK_FAILS(run, LT_ERR_DEVICE, "of 9 operators were lost to faults of the device, also when tried again: "); \
        LT_CHECK_EQ_INT((info).lost, n);                                                                  \
        LT_CHECK_EQ_INT((info).failed, 0);                                                                \
        LT_CHECK_EQ_INT((info).samples, ROWS);                                                            \
        LT_CHECK((info).complete && (info).retries >= (n));                                               \
    } while (0)

LT_TEST(a_watched_run_gives_the_same_file)
{
    const char *here = scratch("here.h5"), *there = scratch("there.h5");
    lt_generate_info info = { .size = sizeof info };
    LT_CHECK_OK(generate(here, "", NULL, &info));
    LT_CHECK_EQ_INT(info.workers, 0);
    LT_CHECK_OK(generate(there, "watchdog: on", (const char *[]){ LT_WORKER, NULL }, &info));
    LT_CHECK_EQ_INT(info.workers, 1);
    LT_CHECK_EQ_INT(info.samples, ROWS);
    LT_CHECK(info.inference_seconds > 0 && info.feature_seconds > 0 && info.ahead_seconds > 0 && info.total_flops > 0 && info.peak_bytes > 0);
    LT_CHECK(different_rows(here, there) == 0);
    LT_CHECK_OK(generate(there, "watchdog: auto", (const char *[]){ "/nowhere", NULL }, &info)); /* off for the CPU */
    LT_CHECK_EQ_INT(info.workers, 0);
}

LT_TEST(a_hanging_step_costs_its_operator)
{
    const char *here = scratch("calm.h5"), *there = scratch("hang.h5");
    lt_generate_info info = { .size = sizeof info };
    LT_CHECK_OK(generate(here, "", NULL, &info));
    CHECK_LOST(generate(there, "watchdog: on", (const char *[]){ LT_WORKER, "hang", "3", "2", NULL }, &info), info, 1);
    LT_CHECK_EQ_INT(info.workers, 3); /* it had one to itself */
    LT_CHECK(info.retries == 1 && info.lost_operators[0] == 3);
    LT_CHECK(strstr(info.first_failure, "operator 3: a step took more than"));
    LT_CHECK(different_rows(here, there) == 1u << 3);
    check_status(there, 3, LT_RUN_LOST, 3);
    check_status(there, 4, LT_RUN_DONE, 4);
}

LT_TEST(a_crash_costs_the_operator_it_happened_to)
{
    const char *here = scratch("whole.h5"), *there = scratch("crash.h5");
    lt_generate_info info = { .size = sizeof info };
    LT_CHECK_OK(generate(here, "", NULL, &info));
    CHECK_LOST(generate(there, "watchdog: on", (const char *[]){ LT_WORKER, "crash", "0", "-1", "crash", "5", "4", NULL }, &info), info, 2);
    LT_CHECK(info.workers >= 5 && info.workers <= 7); /* each strikes three times, or twice when its process had no other row */
    LT_CHECK(info.lost_operators[0] == 0 && info.lost_operators[1] == 5);
    LT_CHECK(strstr(info.first_failure, "signal 9"));
    LT_CHECK(different_rows(here, there) == (1u << 0 | 1u << 5));
    check_status(there, 0, LT_RUN_LOST, 0);
    check_status(there, 5, LT_RUN_LOST, 5);
}

LT_TEST(a_device_lost_in_a_worker_costs_the_operator_under_way)
{
    const char *here = scratch("kept.h5"), *there = scratch("lost.h5");
    lt_generate_info info = { .size = sizeof info };
    LT_CHECK_OK(generate(here, "", NULL, &info));
    CHECK_LOST(generate(there, "watchdog: on", (const char *[]){ LT_WORKER, "lose", "2", "1", NULL }, &info), info, 1);
    LT_CHECK(info.workers == 3 || info.workers == 4);
    LT_CHECK(strstr(info.first_failure, "operator 2: the test's device is lost"));
    LT_CHECK(different_rows(here, there) == 1u << 2);
}

/* What strikes once is made good by a fresh process, and leaves no trace in the file. */
LT_TEST(what_fails_once_is_run_again)
{
    static const char *const faults[] = { "hang", "crash", "lose", "cut", "lie" };
    const char *here = scratch("steady.h5"), *there = scratch("shaken.h5"), *once = scratch("once");
    lt_generate_info info = { .size = sizeof info };
    LT_CHECK_OK(generate(here, "", NULL, &info));
    setenv("FAULTY_ONCE", once, 1);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        FILE *f = fopen(once, "w");
        LT_CHECK(f && !fclose(f));
        LT_CHECK_OK(generate(there, "watchdog: on", (const char *[]){ LT_WORKER, faults[i], "3", "2", NULL }, &info));
        LT_CHECK(access(once, F_OK) != 0);
        LT_CHECK(info.lost == 0 && info.failed == 0 && info.samples == ROWS && info.workers >= 2);
        LT_CHECK(different_rows(here, there) == 0);
        check_status(there, 3, LT_RUN_DONE, 4);
    }
    unsetenv("FAULTY_ONCE");
}

static void keep_errors(void *ctx, lt_finding_level level, const char *text)
{
    if (level == LT_FINDING_ERROR) snprintf(ctx, 300, "%s", text);
}

static const char *error_of(const char *path)
{
    static char text[300];
    lt_dataset *d = NULL;
    text[0] = 0;
    LT_CHECK_OK(lt_dataset_open(path, &d));
    LT_CHECK_OK(lt_dataset_validate(d, &(lt_validate_options){ sizeof(lt_validate_options), false, true, 1, NULL }, keep_errors, text));
    lt_dataset_close(d);
    return text;
}

/* Rows that stay lost are named by validate, made by a run that resumes, and refused by a merge. */
LT_TEST(lost_rows_are_found_and_made_later)
{
    const char *here = scratch("sound.h5"), *there = scratch("gaps.h5"), *merged = scratch("merged.h5");
    lt_generate_options opt = lt_generate_defaults();
    lt_generate_info info = { .size = sizeof info };
    LT_CHECK_OK(generate(here, "", NULL, &info));
    LT_CHECK(!error_of(here)[0]);
    CHECK_LOST(generate(there, "watchdog: on", (const char *[]){ LT_WORKER, "crash", "2", "1", "crash", "7", "-1", NULL }, &info), info, 2);
    LT_CHECK(strstr(error_of(there), "2 operators were lost to faults of the device: 2, 7; lathe generate --resume makes them"));
    LT_CHECK(different_rows(here, there) == (1u << 2 | 1u << 7));
    LT_CHECK_FAILS(lt_dataset_merge(merged, 1, &there), LT_ERR_ARGUMENT, "row 2 was lost to a fault of its device");
    lt_dataset_config *c = config_of(there, "watchdog: on");
    opt.worker = (const char *[]){ LT_WORKER, "crash", "7", "-1", NULL };
    LT_CHECK_FAILS(lt_generate(c, &opt, &info), LT_ERR_ARGUMENT, "holds an unfinished run");
    opt.resume = true;
    LT_CHECK_FAILS(lt_generate(c, &opt, &info), LT_ERR_DEVICE, "1 of 9 operators were lost");
    LT_CHECK(info.samples == 2 && info.skipped == ROWS - 2 && info.lost_operators[0] == 7);
    LT_CHECK(different_rows(here, there) == 1u << 7);
    opt.worker = (const char *[]){ LT_WORKER, NULL };
    LT_CHECK_OK(lt_generate(c, &opt, &info));
    LT_CHECK(info.samples == 1 && info.skipped == ROWS - 1);
    LT_CHECK(different_rows(here, there) == 0);
    LT_CHECK(!error_of(there)[0]);
    LT_CHECK_OK(lt_generate(c, &opt, &info));
    LT_CHECK(info.samples == 0 && info.skipped == ROWS); /* nothing is left of it, the journal neither */
    LT_CHECK_OK(lt_dataset_merge(merged, 1, &there));
    LT_CHECK(different_rows(here, merged) == 0);
    lt_dataset_config_destroy(c);
}

/* As generate, by that many workers. */
static lt_status generate_by(int n, const char *output, const char *const *worker, lt_generate_info *info)
{
    n_devices = n;
    lt_status s = generate(output, "watchdog: on", worker, info);
    n_devices = 0;
    return s;
}

LT_TEST(rows_do_not_depend_on_who_makes_them)
{
    const char *here = scratch("alone.h5"), *there = scratch("shared.h5");
    lt_generate_info alone = { .size = sizeof alone }, info = { .size = sizeof info };
    LT_CHECK_OK(generate(here, "", NULL, &alone));
    LT_CHECK_EQ_INT(alone.devices, 1);
    for (int n = 2; n <= 4; n++) {
        LT_CHECK_OK(generate_by(n, there, (const char *[]){ LT_WORKER, NULL }, &info));
        LT_CHECK_EQ_INT(info.workers, n);
        LT_CHECK(info.devices >= 1 && info.devices <= n);
        LT_CHECK_EQ_INT(info.samples, ROWS);
        LT_CHECK_EQ_INT(info.realizations, 2 * ROWS);
        LT_CHECK(fabs(info.total_flops / alone.total_flops - 1) < 1e-12);
        LT_CHECK(different_rows(here, there) == 0);
    }
}

/* Rows that take a while, so that more than one worker is up before the rows are gone. */
LT_TEST(rows_go_to_whoever_is_free)
{
    const char *here = scratch("even.h5"), *there = scratch("uneven.h5");
    lt_generate_info info = { .size = sizeof info };
    LT_CHECK_OK(generate(here, "", NULL, &info));
    LT_CHECK_OK(generate_by(3, there, (const char *[]){ LT_WORKER, "nap", "-1", "-1", NULL }, &info));
    LT_CHECK(info.devices >= 2);
    LT_CHECK_EQ_INT(info.failed, 0);
    LT_CHECK(different_rows(here, there) == 0);
}

LT_TEST(a_worker_that_goes_leaves_the_others_at_work)
{
    static const struct { const char *fault, *step, *told; } fault[] = { { "hang", "2", "a step took more than" }, { "crash", "-1", "signal 9" },
                                                                         { "crash", "4", "signal 9" }, { "lose", "1", "the test's device is lost" } };
    const char *here = scratch("quiet.h5"), *there = scratch("restless.h5");
    lt_generate_info info = { .size = sizeof info };
    LT_CHECK_OK(generate(here, "", NULL, &info));
    for (size_t i = 0; i < sizeof fault / sizeof *fault; i++)
        for (int n = 2; n <= 3; n++) {
            CHECK_LOST(generate_by(n, there, (const char *[]){ LT_WORKER, fault[i].fault, "4", fault[i].step, NULL }, &info), info, 1);
            LT_CHECK(strstr(info.first_failure, fault[i].told));
            LT_CHECK(!info.device_reason[0]);
            LT_CHECK(different_rows(here, there) == 1u << 4);
        }
    CHECK_LOST(generate_by(2, there, (const char *[]){ LT_WORKER, "crash", "1", "0", "hang", "3", "1", "crash", "6", "-1", "crash", "8", "4", NULL }, &info), info, 4);
    LT_CHECK(different_rows(here, there) == (1u << 1 | 1u << 3 | 1u << 6 | 1u << 8));
}

/* The null device runs several operators side by side. Each is dealt again, alone, when their process was lost. */
LT_TEST(no_row_pays_for_another_that_ran_beside_it)
{
    const char *path = scratch("beside.h5");
    lt_generate_info info = { .size = sizeof info };
    LT_CHECK_OK(lt_device_open("null", &device));
    for (int r = 0; r < ROWS; r++) {
        char row[8], at[8];
        int step = r % 3 * 2 - 1;
        snprintf(row, sizeof row, "%d", r);
        snprintf(at, sizeof at, "%d", step);
        CHECK_LOST(generate(path, "watchdog: on", (const char *[]){ LT_WORKER, "crash", row, at, NULL }, &info), info, 1);
        check_status(path, r, LT_RUN_LOST, step + 1);
    }
    lt_device_close(device);
    device = NULL;
}

/* Lost while kernels are compiled, before any row was taken: that is no row's fault, and not tried for ever. */
LT_TEST(processes_that_are_lost_before_they_take_a_row_end_the_run)
{
    lt_generate_info info = { .size = sizeof info };
    LT_CHECK_OK(lt_device_open("null", &device));
    LT_CHECK_FAILS(generate(scratch("early.h5"), "watchdog: on", (const char *[]){ LT_WORKER, "crash", "-1", "0", NULL }, &info), LT_ERR_DEVICE,
                   "3 worker processes one after the other were lost before they took a row: the worker process ended: signal 9");
    LT_CHECK_EQ_INT(info.samples, 0);
    lt_device_close(device);
    device = NULL;
}

/* Amid a message, or with one that makes no sense: nobody waits for the rest of it, and nothing of it counts. */
LT_TEST(half_a_message_and_nonsense_cost_the_operator_alone)
{
    static const struct { const char *fault, *told; } fault[] = { { "cut", "signal 9" }, { "stall", "a step took more than" },
                                                                  { "lie", "it sent word 99" }, { "leave", "which makes no sense there" } };
    const char *here = scratch("clear.h5"), *there = scratch("garbled.h5");
    lt_generate_info info = { .size = sizeof info };
    LT_CHECK_OK(generate(here, "", NULL, &info));
    for (size_t i = 0; i < sizeof fault / sizeof *fault; i++)
        for (int n = 1; n <= 2; n++) {
            bool last = n == 1; /* the last row, slow enough for its worker to know that there are no more */
            const char *row = last ? "8" : "4", *second = strcmp(fault[i].fault, "stall") ? "0" : "-1"; /* naps amid steps make a stall longer */
            CHECK_LOST(generate_by(n, there, (const char *[]){ LT_WORKER, fault[i].fault, row, "2", "nap", row, "-1", "nap", row, second, NULL }, &info), info, 1);
            if (!strstr(info.first_failure, fault[i].told)) LT_TEST_FAIL("%s: %s", fault[i].fault, info.first_failure);
            LT_CHECK(different_rows(here, there) == 1u << (last ? 8 : 4));
        }
}

/* Workers that are done and do not go away are waited for as little as those that hang. */
LT_TEST(a_worker_that_does_not_end_holds_nobody_up)
{
    lt_generate_info info = { .size = sizeof info };
    LT_CHECK_OK(generate_by(2, scratch("lingering.h5"), (const char *[]){ LT_WORKER, "linger", "0", "0", "nap", "-1", "-1", NULL }, &info));
    LT_CHECK_EQ_INT(info.samples, ROWS);
    LT_CHECK_EQ_INT(info.failed, 0);
}

/* What a terminal or a scheduler sends to all processes of a run is for the parent to obey; its files are not theirs. */
LT_TEST(signals_and_files_of_the_run_are_not_the_workers)
{
    const char *here = scratch("calm.h5"), *there = scratch("signalled.h5");
    int inherited = dup(STDERR_FILENO);
    lt_generate_info info = { .size = sizeof info };
    LT_CHECK(inherited > 2);
    LT_CHECK_OK(generate(here, "", NULL, &info));
    LT_CHECK_OK(generate_by(1, there, (const char *[]){ LT_WORKER, "signal", "4", "2", NULL }, &info));
    LT_CHECK_EQ_INT(info.workers, 1);
    LT_CHECK_EQ_INT(info.failed, 0);
    LT_CHECK(different_rows(here, there) == 0);
    close(inherited);
}

/* Rows longer than what a socket takes at once: a worker that does not listen is given up, not waited for. */
LT_TEST(a_worker_that_does_not_listen_is_told)
{
    char *words = malloc(300001);
    memset(words, 'x', 300000);
    words[300000] = 0;
    description = words;
    suspected_after = 0.02;
    LT_CHECK_FAILS(generate_by(2, scratch("deaf.h5"), (const char *[]){ LT_WORKER, "deaf", "0", "0", NULL }, NULL), LT_ERR_DEVICE, "did not start: it does not answer");
    suspected_after = 0.2;
    description = "";
    free(words);
}

/* A device that does not open is left out; when none does, the reason is told. */
LT_TEST(devices_that_do_not_start_are_given_up)
{
    const char *here = scratch("whole.h5"), *there = scratch("half.h5");
    lt_generate_options opt = lt_generate_defaults();
    lt_generate_info info = { .size = sizeof info };
    LT_CHECK_OK(generate(here, "", NULL, &info));
    lt_dataset_config *c = config_of(there, "");
    opt.worker = (const char *[]){ LT_WORKER, "nap", "-1", "-1", NULL }; /* so that there are rows left when it does not */
    opt.devices = (const char *[]){ "cuda:77", "cpu" };
    opt.n_devices = 2;
    LT_CHECK_OK(lt_generate(c, &opt, &info));
    LT_CHECK_EQ_INT(info.samples, ROWS);
    LT_CHECK(strstr(info.device_reason, "cuda:77 was given up: "));
    LT_CHECK(different_rows(here, there) == 0);
    opt.devices = (const char *[]){ "cuda:78", "cuda:77" };
    opt.n_devices = 2;
    LT_CHECK(lt_generate(c, &opt, &info) != LT_OK);
    LT_CHECK(strstr(lt_error_text(), "device 'cuda:7"));
    LT_CHECK_EQ_INT(info.samples, 0);
    lt_dataset_config_destroy(c);
}

/* Stops after some operators; the other rows are then made here. */
typedef struct stopper { volatile int flag; } stopper;

static void stop_soon(void *ctx, const lt_generate_progress *p)
{
    if (p->rows_done >= 4) ((stopper *)ctx)->flag = 1;
}

static void stop_and_resume(int n, int then)
{
    const char *here = scratch("once.h5"), *there = scratch("twice.h5");
    lt_generate_info info = { .size = sizeof info };
    LT_CHECK_OK(generate(here, "", NULL, &info));
    lt_generate_options opt = lt_generate_defaults();
    opt.overwrite = true;
    opt.devices = (const char *[]){ "cpu", "cpu", "cpu" };
    opt.n_devices = n;
    stopper s = { 0 };
    opt.worker = (const char *[]){ LT_WORKER, NULL };
    opt.stop = &s.flag;
    opt.progress = stop_soon;
    opt.progress_ctx = &s;
    lt_dataset_config *c = config_of(there, "watchdog: on");
    LT_CHECK_FAILS(lt_generate(c, &opt, NULL), LT_ERR_CANCELLED, "stopped");
    lt_dataset_config_destroy(c);
    opt.overwrite = false;
    opt.resume = true;
    opt.stop = NULL;
    opt.n_devices = then;
    c = config_of(there, then ? "watchdog: on" : "watchdog: off");
    LT_CHECK_OK(lt_generate(c, &opt, &info));
    LT_CHECK((info.workers > 0) == (then > 0));
    LT_CHECK(info.skipped >= 4 && info.skipped < ROWS);
    lt_dataset_config_destroy(c);
    LT_CHECK(different_rows(here, there) == 0);
}

LT_TEST(a_watched_run_stops_and_resumes_with_any_number_of_devices)
{
    static const int devices[][2] = { { 0, 0 }, { 3, 0 }, { 3, 2 }, { 1, 3 } };
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++) stop_and_resume(devices[i][0], devices[i][1]);
}

LT_TEST(runs_on_other_devices_go_on_with_a_file)
{
    static const char *const keys[] = { "parallelism: {devices: [0, 1]}, ", "", "parallelism: {strategy: ddp, devices: auto}, " };
    lt_generate_options opt = lt_generate_defaults();
    opt.resume = true;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        lt_generate_info info = { .size = sizeof info };
        parallelism = keys[i];
        lt_dataset_config *c = config_of(scratch("moved.h5"), "");
        LT_CHECK_OK(lt_generate(c, &opt, &info));
        LT_CHECK_EQ_INT(info.skipped, i ? ROWS : 0);
        lt_dataset_config_destroy(c);
    }
    parallelism = "";
}

LT_TEST(what_cannot_be_shared_is_told_before_the_file_is_begun)
{
    const char *path = scratch("unshared.h5");
    n_devices = 2;
    LT_CHECK_FAILS(generate(path, "", NULL, NULL), LT_ERR_ARGUMENT, "2 devices are to share the rows, a worker process each: the program gave no worker");
    LT_CHECK_FAILS(generate(path, "watchdog: off", (const char *[]){ LT_WORKER, NULL }, NULL), LT_ERR_ARGUMENT, "a worker process each: engine.watchdog is off");
    LT_CHECK_FAILS(generate(path, "clip: batch", (const char *[]){ LT_WORKER, NULL }, NULL), LT_ERR_ARGUMENT, "a worker process each: engine.clip: batch");
    n_devices = 0;
    lt_generate_options opt = lt_generate_defaults();
    lt_dataset_config *c = config_of(path, "");
    opt.n_devices = 33;
    opt.worker = (const char *[]){ LT_WORKER, NULL };
    LT_CHECK_FAILS(lt_generate(c, &opt, NULL), LT_ERR_ARGUMENT, "n_devices is 33: expected 0 to 32");
    opt.n_devices = 2;
    LT_CHECK_FAILS(lt_generate(c, &opt, NULL), LT_ERR_ARGUMENT, "devices[0] is '': expected a device");
    opt.devices = (const char *[]){ "cpu", "a device of quite some name" };
    LT_CHECK_FAILS(lt_generate(c, &opt, NULL), LT_ERR_ARGUMENT, "devices[1] is 'a device of quite some name': expected a device");
    lt_dataset_config_destroy(c);
    LT_CHECK(access(path, F_OK) != 0);
}

LT_TEST(what_cannot_be_watched_is_told)
{
    const char *path = scratch("refused.h5");
    LT_CHECK_FAILS(generate(path, "watchdog: on", NULL, NULL), LT_ERR_ARGUMENT, "gave no worker");
    LT_CHECK_FAILS(generate(path, "watchdog: on, clip: batch", (const char *[]){ LT_WORKER, NULL }, NULL), LT_ERR_ARGUMENT, "engine.clip: batch");
    LT_CHECK_FAILS(generate(path, "watchdog: on", (const char *[]){ "/nowhere/worker", NULL }, NULL), LT_ERR_DEVICE, "did not start: exit status 127");
    LT_CHECK_FAILS(generate(path, "watchdog: on", (const char *[]){ "true", NULL }, NULL), LT_ERR_DEVICE, "did not start: exit status 0");
}

LT_DATASET_TEST_MAIN()
