/* Crafted dataset files: whatever stands where an array or attribute should, every reader answers with a sentence, soon, and no file but
   the dataset is opened. SPDX-License-Identifier: BSD-3-Clause */
#include "dataset_main.h"

#include "base/scratch.h"
#include "craft.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* The HDF5 library forgets some of its own memory when it fails on damaged texts. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void) { return "leak:libhdf5"; }

static const char config_text[] =
    "metadata: {name: crafted}\n"
    "parameter_space:\n"
    "  architecture: {num_layers: {type: integer, bounds: [2, 3]}, base_channels: {type: integer, bounds: [4, 5]}, kernel_size: {type: choice, choices: [3]}}\n"
    "  stochastic: {noise_type: {type: choice, choices: [gaussian]}}\n"
    "  operator: {normalization: {type: choice, choices: [none]}, grid_size: {type: choice, choices: [8]}}\n"
    "sampling: {total_samples: 3, batch_size: 2}\n"
    "simulation: {device: cpu, precision: float32, num_realizations: 2, num_timesteps: 3}\n"
    "features: {initial: {enabled: true}, architecture: {enabled: true}}\n"
    "dataset: {output_path: x.h5, storage: {chunk_size: 2, store_trajectories: true}}\n";

static lt_dataset_config *config_for(const char *path)
{
    lt_dataset_config *c = NULL;
    LT_CHECK_OK(lt_dataset_config_parse(config_text, sizeof config_text - 1, "crafted.yaml", &(lt_dataset_overrides){ .size = sizeof(lt_dataset_overrides), .output = path }, &c));
    return c;
}

/* Thousands of small files that are synced: in memory where there is a place for that. */
__attribute__((constructor)) static void choose_folder(void)
{
    if (!getenv("TMPDIR") && access("/dev/shm", W_OK) == 0) setenv("TMPDIR", "/dev/shm", 1);
}

static const char *good_file(void)
{
    static char path[400];
    if (path[0]) return path;
    snprintf(path, sizeof path, "%s", scratch("good.h5"));
    lt_dataset_config *c = config_for(path);
    lt_generate_options opt = lt_generate_defaults();
    LT_CHECK_OK(lt_generate(c, &opt, NULL));
    lt_dataset_config_destroy(c);
    return path;
}

/* scratch() keeps eight answers; this one is needed for longer. */
static const char *bad_file(void)
{
    static char path[400];
    if (!path[0]) snprintf(path, sizeof path, "%s", scratch("bad.h5"));
    return path;
}

static lt_status ignore_item(void *ctx, const lt_dataset_item *item)
{
    (void)ctx, (void)item;
    return LT_OK;
}

static void ignore_finding(void *ctx, lt_finding_level level, const char *text)
{
    (void)level;
    LT_CHECK(text[0]);
    ++*(int *)ctx;
}

/* ---- The readers: what each command does with a file -------------------------------------------------------- */

static lt_status do_info(const char *path, lt_dataset *d)
{
    static const char *const lists[] = { "/parameters@dimension_names", "/features/temporal/features@column_names", "/metadata/ic_types", "/metadata/noise_regimes" };
    const char *const *texts;
    int64_t n;
    (void)path;
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        if (lt_dataset_texts(d, lists[i], &n, &texts)) return LT_ERR_FORMAT;
    return lt_dataset_walk(d, ignore_item, NULL);
}

static lt_status do_validate(const char *path, lt_dataset *d)
{
    int n = 0;
    (void)path;
    lt_status s = lt_dataset_validate(d, &(lt_validate_options){ sizeof(lt_validate_options), true, true, 1, NULL }, ignore_finding, &n);
    LT_CHECK(s || n > 0);
    return s;
}

static lt_status do_replay(const char *path, lt_dataset *d)
{
    lt_dataset_config *c = NULL;
    lt_dataset_info i = lt_dataset_get_info(d);
    lt_replay_options opt = lt_replay_defaults();
    (void)path;
    lt_status s = lt_dataset_config_parse(i.config, strlen(i.config), "crafted", NULL, &c);
    if (!s) s = lt_replay_to_file(c, &opt, 0, -1, scratch("replayed.h5"), NULL);
    lt_dataset_config_destroy(c);
    return s;
}

static lt_status do_merge(const char *path, lt_dataset *d)
{
    (void)d;
    return lt_dataset_merge(scratch("merged.h5"), 1, &path);
}

static lt_status do_extract(const char *path, lt_dataset *d)
{
    (void)path;
    return lt_dataset_extract(d, &(lt_extract_options){ .size = sizeof(lt_extract_options), .output = scratch("extracted.h5"), .overwrite = true }, NULL);
}

static lt_status do_table(const char *path, lt_dataset *d)
{
    (void)path;
    return lt_dataset_table(d, &(lt_table_options){ .size = sizeof(lt_table_options), .csv = scratch("t.csv"), .parquet = scratch("t.parquet") }, NULL);
}

static lt_status do_split(const char *path, lt_dataset *d)
{
    lt_row_split_options opt = lt_row_split_defaults();
    lt_row_split *made = NULL;
    const int64_t *rows = NULL;
    int64_t n = 0;
    (void)path;
    opt.stratify = true;
    lt_status s = lt_dataset_split(d, &opt, &made);
    if (!s) s = lt_row_split_save(made, d, scratch("split.json"));
    if (!s) n = lt_row_split_rows(made, LT_SPLIT_TRAIN, &rows);
    if (!s) s = lt_dataset_save_statistics(d, n, rows, scratch("statistics.json"));
    lt_row_split_destroy(made);
    return s;
}

static lt_status do_card(const char *path, lt_dataset *d)
{
    (void)path;
    return lt_dataset_save_card(d, NULL, scratch("card.md"));
}

static lt_status do_export(const char *path, lt_dataset *d)
{
    lt_export_options opt = lt_export_defaults();
    char command[500];
    (void)path;
    opt.npz = scratch("e.npz");
    opt.zarr = scratch("e.zarr");
    lt_status s = lt_dataset_export(d, &opt, NULL);
    snprintf(command, sizeof command, "rm -rf '%s'", opt.zarr);
    LT_CHECK_EQ_INT(system(command), 0);
    opt.npz = opt.zarr = NULL;
    opt.the_well = scratch("e.well.h5");
    return s ? s : lt_dataset_export(d, &opt, NULL);
}

static lt_status do_features(const char *path, lt_dataset *d)
{
    (void)path;
    return lt_dataset_feature_picture(d, &(lt_feature_picture_options){ .size = sizeof(lt_feature_picture_options), .output = scratch("f.png"), .n_operators = 2, .width = 16, .dpi = 100, .alpha = 0.5 });
}

static lt_status do_movie(const char *path, lt_dataset *d)
{
    lt_movie_options opt = lt_movie_defaults();
    (void)path;
    opt.frames = scratch("frames");
    opt.n_operators = opt.steps = 2;
    opt.cell_width = opt.cell_height = 8;
    opt.pick = LT_PICK_DIVERSE;
    return lt_dataset_movie(d, &opt, NULL);
}

static lt_status do_report(const char *path, lt_dataset *d)
{
    lt_report *r = NULL;
    (void)path;
    LT_CHECK_OK(lt_report_create("crafted", &r));
    lt_status s = lt_dataset_report(d, NULL, r);
    lt_report_destroy(r);
    return s;
}

static lt_status do_resume(const char *path, lt_dataset *d)
{
    lt_generate_options opt = lt_generate_defaults();
    lt_dataset_config *c = config_for(path);
    (void)d;
    opt.resume = true;
    lt_status s = lt_generate(c, &opt, NULL);
    lt_dataset_config_destroy(c);
    return s;
}

typedef lt_status (*reader)(const char *path, lt_dataset *d);
static const reader readers[] = { do_info, do_validate, do_replay, do_merge, do_extract, do_table, do_split, do_card, do_export, do_features, do_movie, do_report, do_resume /* last: it writes */ };

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t); /* a loaded machine does not count */
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* How many readers accepted it; -1 when it does not open. */
static int read_by_all(const char *path, const char *where, const char *what)
{
    int accepted = 0;
    lt_dataset *d;
    double start = seconds();
    if (lt_dataset_open(path, &d)) {
        LT_CHECK(strstr(lt_error_text(), path));
        return -1;
    }
    for (size_t i = 0; i < sizeof readers / sizeof *readers; i++) {
        lt_status s = readers[i](path, d);
        accepted += !s;
        if (s && (s == LT_ERR_INTERNAL || s == LT_ERR_MEMORY || !lt_error_text()[0])) LT_TEST_FAIL("%s %s: reader %zu: %s: %s", where, what, i, lt_status_name(s), lt_error_text());
    }
    lt_dataset_close(d);
    if (seconds() - start > 10) LT_TEST_FAIL("%s %s: %.1f s", where, what, seconds() - start);
    return accepted;
}

/* ---- Cases ------------------------------------------------------------------------------------------------------- */

LT_TEST(the_good_file)
{
    LT_CHECK_EQ_INT(read_by_all(good_file(), "all", "good"), sizeof readers / sizeof *readers);
}

/* Exact extents and types, for every array: what opens at all is of the right kind. */
LT_TEST(arrays)
{
    const char *bad = bad_file();
    int tried = 0;
    for (int i = 0; craft_arrays[i]; i++)
        for (int change = 0; change < CRAFT_ARRAY_CHANGES; change++) {
            if (!craft_file(good_file(), bad, craft_arrays[i], change)) continue;
            int accepted = read_by_all(bad, craft_arrays[i], craft_name(change));
            bool shape = change >= CRAFT_GROUP && change <= CRAFT_NARROWER, one = change == CRAFT_NARROWER || change == CRAFT_WIDER;
            bool columns = strstr(craft_arrays[i], "aggregated") || one; /* any number of columns may be right */
            if (shape && !columns && accepted >= 0) LT_TEST_FAIL("%s %s was opened", craft_arrays[i], craft_name(change));
            tried++;
        }
    LT_CHECK_EQ_INT(tried, 16 * CRAFT_ARRAY_CHANGES - 4); /* texts of fixed length are too wide for four of them */
}

/* The sentence says what, where and what was expected. */
LT_TEST(sentences)
{
    const char *bad = bad_file();
    lt_dataset *d = NULL;
    LT_CHECK(craft_file(good_file(), bad, "/status/code", CRAFT_RANK_MORE));
    LT_CHECK_FAILS(lt_dataset_open(bad, &d), LT_ERR_FORMAT, "/status/code is uint8 [3, 2000], expected integers [3]");
    LT_CHECK(craft_file(good_file(), bad, "/inputs/fields", CRAFT_WIDER));
    LT_CHECK_FAILS(lt_dataset_open(bad, &d), LT_ERR_FORMAT, "/inputs/fields is float32 [3, 3, 8, 800], expected numbers [3, 3, G, G]");
    LT_CHECK(craft_file(good_file(), bad, "/parameters/params", CRAFT_COMPOUND));
    LT_CHECK_FAILS(lt_dataset_open(bad, &d), LT_ERR_FORMAT, "/parameters/params is other");
    LT_CHECK(craft_file(good_file(), bad, "/metadata@grid_size", CRAFT_ATTRIBUTE_HUGE_INT));
    LT_CHECK_FAILS(lt_dataset_open(bad, &d), LT_ERR_FORMAT, "/metadata@grid_size is -9223372036854775808, expected 8..8");
    LT_CHECK(craft_file(good_file(), bad, "/@seed", CRAFT_ATTRIBUTE_LIST));
    LT_CHECK_FAILS(lt_dataset_open(bad, &d), LT_ERR_FORMAT, "attribute seed of / is not an integer");
    LT_CHECK(craft_file(good_file(), bad, "/metadata@config", CRAFT_ATTRIBUTE_INT));
    LT_CHECK_FAILS(lt_dataset_open(bad, &d), LT_ERR_FORMAT, "attribute config of /metadata is not a text");
}

/* Parameters beyond the unit interval stand for no choice of a list. */
LT_TEST(parameters_outside)
{
    static const double outside[] = { -5, -1e30, 1.5, 1e30, NAN };
    lt_table_options opt = { .size = sizeof opt, .csv = scratch("p.csv") };
    for (size_t i = 0; i < sizeof outside / sizeof *outside; i++) {
        lt_dataset *d = NULL;
        LT_CHECK(craft_value(good_file(), bad_file(), "/parameters/params", outside[i]));
        LT_CHECK_OK(lt_dataset_open(bad_file(), &d));
        opt.unit = false;
        LT_CHECK_FAILS(lt_dataset_table(d, &opt, NULL), LT_ERR_FORMAT, "of row 0 is stored as");
        LT_CHECK(access(opt.csv, F_OK) != 0);
        opt.unit = true;
        LT_CHECK_OK(lt_dataset_table(d, &opt, NULL));
        remove(opt.csv);
        lt_dataset_close(d);
    }
}

LT_TEST(capacities)
{
    lt_dataset *d = NULL;
    float x[64] = { 0 };
    int64_t rows[8] = { 0 };
    LT_CHECK_OK(lt_dataset_open(good_file(), &d));
    LT_CHECK_OK(lt_dataset_read_ints(d, "/status/code", 0, 3, rows, 3));
    LT_CHECK_FAILS(lt_dataset_read_ints(d, "/status/code", 0, 3, rows, 2), LT_ERR_FORMAT, "3 rows of it are 3 values, expected 2");
    LT_CHECK_FAILS(lt_dataset_read(d, "/inputs/fields", 0, 1, x, 64), LT_ERR_FORMAT, "[3, 3, 8, 8]: 1 rows of it are 192 values, expected 64");
    LT_CHECK_FAILS(lt_dataset_read(d, "/inputs/fields", 3, 1, x, 192), LT_ERR_ARGUMENT, "which has 3");
    LT_CHECK_FAILS(lt_dataset_read(d, "/inputs/fields", INT64_MAX, 1, x, 192), LT_ERR_ARGUMENT, "which has 3");
    LT_CHECK_FAILS(lt_dataset_read(d, "/metadata/ic_types", 0, 1, x, 1), LT_ERR_FORMAT, "does not hold numbers");
    LT_CHECK_FAILS(lt_dataset_read_step(d, 0, 1, 2, x, 64), LT_ERR_FORMAT, "expected 64");
    LT_CHECK_FAILS(lt_dataset_read_step(d, 0, 4, 0, x, 64), LT_ERR_ARGUMENT, "no 4 rows from 0 on");
    lt_dataset_close(d);
}

LT_TEST(attributes)
{
    const char *bad = bad_file();
    int tried = 0;
    for (int i = 0; craft_attributes[i]; i++)
        for (int change = CRAFT_CHANGES; change < CRAFT_ALL; change++) {
            if (!craft_file(good_file(), bad, craft_attributes[i], change)) continue;
            read_by_all(bad, craft_attributes[i], craft_name(change));
            tried++;
        }
    LT_CHECK_EQ_INT(tried, 16 * (CRAFT_ALL - CRAFT_CHANGES));
}

/* ---- Ways out of the file ------------------------------------------------------------------------------------------- */

LT_TEST(ways_out_are_refused_by_name)
{
    static const char *const words[] = { "a soft link", "an external link", "a user-defined link", "in external storage", "a virtual array", "of a committed type",
                                         "has filter 305" };
    const char *bad = bad_file();
    lt_dataset *d = NULL;
    for (int i = 0; craft_arrays[i]; i++)
        for (int change = CRAFT_SOFT_LINK; change < CRAFT_CHANGES; change++) {
            if (!craft_file(good_file(), bad, craft_arrays[i], change)) continue;
            char expected[200];
            snprintf(expected, sizeof expected, "%s%s%s", craft_arrays[i], change == CRAFT_FILTER ? " " : " is ", words[change - CRAFT_SOFT_LINK]);
            LT_CHECK_FAILS(lt_dataset_open(bad, &d), LT_ERR_FORMAT, expected);
        }
}

LT_TEST(claimed_rows)
{
    static const long long rows[] = { 1000, 1 << 20, 1 << 28, (1LL << 28) + 1, 1LL << 40 };
    const char *bad = bad_file();
    lt_dataset *d = NULL;
    double start = seconds();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        LT_CHECK(craft_rows(good_file(), bad, rows[i]));
        LT_CHECK_FAILS(lt_dataset_open(bad, &d), LT_ERR_FORMAT, rows[i] > 1 << 28 ? "expected numbers [N, P]" : "rows, the file stores 0");
    }
    LT_CHECK(seconds() - start < 5);
}

LT_TEST(files_that_are_none)
{
    lt_dataset *d = NULL;
    lt_dataset_config *c = NULL;
    const char *fifo = scratch("fifo"), *folder = scratch("folder");
    LT_CHECK(mkfifo(fifo, 0600) == 0 && mkdir(folder, 0700) == 0);
    LT_CHECK_FAILS(lt_dataset_open(fifo, &d), LT_ERR_IO, "not a regular file");
    LT_CHECK_FAILS(lt_dataset_open(folder, &d), LT_ERR_IO, "not a regular file");
    LT_CHECK_FAILS(lt_dataset_open("/dev/zero", &d), LT_ERR_IO, "not a regular file");
    LT_CHECK_FAILS(lt_dataset_config_load(fifo, NULL, &c), LT_ERR_IO, "not a regular file");
    LT_CHECK_FAILS(lt_dataset_config_load("/dev/zero", NULL, &c), LT_ERR_IO, "not a regular file");
}

LT_DATASET_TEST_MAIN()
