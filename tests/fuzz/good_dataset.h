/* A small dataset file, made once by the library itself, and how fuzz targets read one. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_FUZZ_GOOD_DATASET_H
#define LT_FUZZ_GOOD_DATASET_H

#include "fuzz.h"

#include "base/alloc.h"
#include "base/files/file.h"
#include "base/scratch.h"
#include "lathe/dataset.h"

#include <fcntl.h>
#include <string.h>

enum { GOOD_BYTES_MOST = 1 << 20 };

static char *good_bytes;
static size_t n_good_bytes;

/* Files in memory where there is a folder for them. */
static inline void good_dataset_make(void)
{
    static const char text[] =
        "metadata: {name: fuzz}\n"
        "parameter_space:\n"
        "  architecture: {num_layers: {type: integer, bounds: [2, 3]}, base_channels: {type: integer, bounds: [4, 5]}, kernel_size: {type: choice, choices: [3]}}\n"
        "  stochastic: {noise_type: {type: choice, choices: [gaussian]}}\n"
        "  operator: {normalization: {type: choice, choices: [none]}, grid_size: {type: choice, choices: [8]}}\n"
        "sampling: {total_samples: 3, batch_size: 2}\n"
        "simulation: {device: cpu, precision: float32, num_realizations: 1, num_timesteps: 2}\n"
        "dataset: {output_path: x.h5, storage: {chunk_size: 2, store_trajectories: true}}\n";
    lt_dataset_config *c = NULL;
    lt_generate_options opt = lt_generate_defaults();
    if (!access("/dev/shm", W_OK)) setenv("TMPDIR", "/dev/shm", 1);
    const char *path = scratch("good.h5");
    lt_dataset_overrides over = { .size = sizeof over, .output = path };
    LT_FUZZ_REQUIRE(lt_dataset_config_parse(text, sizeof text - 1, "fuzz.yaml", &over, &c) == LT_OK);
    LT_FUZZ_REQUIRE(lt_generate(c, &opt, NULL) == LT_OK);
    lt_dataset_config_destroy(c);
    LT_FUZZ_REQUIRE(lt_file_read(path, GOOD_BYTES_MOST, &good_bytes, &n_good_bytes) == LT_OK);
}

/* The path of a file that holds these bytes until the next call. It has a name, which the HDF5 library asks for. */
static inline const char *dataset_put(const void *data, size_t n_bytes)
{
    static int fd = -1;
    static char path[400];
    if (fd < 0) {
        snprintf(path, sizeof path, "%s", scratch("bad.h5"));
        fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    }
    LT_FUZZ_REQUIRE(fd >= 0 && ftruncate(fd, 0) == 0 && pwrite(fd, data, n_bytes, 0) == (ssize_t)n_bytes);
    return path;
}

static inline lt_status good_dataset_count(void *ctx, const lt_dataset_item *item)
{
    LT_FUZZ_REQUIRE(memchr(item->path, 0, 256) && item->shape.rank <= LT_MAX_RANK);
    *(int64_t *)ctx += item->path[0] == '/';
    return LT_OK;
}

static inline void good_dataset_finding(void *ctx, lt_finding_level level, const char *text)
{
    (void)ctx, (void)level;
    LT_FUZZ_REQUIRE(text[0]);
}

/* What dataset_read_as_users does beyond opening and reading: values of an input's byte. What writes files takes twenty times as long as all the
   reading, and a check of all half as much, so few values ask for it. */
enum { READ_ALL = 200, READ_TABLE, READ_EXPORT };

/* Splits with their statistics, cards, archives. */
static inline void good_dataset_export(lt_dataset *d, int some)
{
    static char split[400], card[400], statistics[400], npz[400];
    if (!npz[0]) snprintf(npz, sizeof npz, "%s", scratch("export.npz"));
    if (!split[0]) snprintf(split, sizeof split, "%s", scratch("split.json"));
    if (!card[0]) snprintf(card, sizeof card, "%s", scratch("card.md"));
    if (!statistics[0]) snprintf(statistics, sizeof statistics, "%s", scratch("statistics.json"));
    lt_row_split_options o = lt_row_split_defaults();
    lt_row_split *made = NULL;
    o.stratify = some == READ_EXPORT;
    if (!lt_dataset_split(d, &o, &made)) (void)lt_row_split_save(made, d, split);
    lt_row_split_destroy(made);
    (void)lt_dataset_save_statistics(d, 0, NULL, statistics);
    (void)lt_dataset_save_card(d, NULL, card);
    (void)lt_dataset_export(d, &(lt_export_options){ .size = sizeof(lt_export_options), .npz = npz }, NULL);
}

/* Every reader of a file as users call them, or some of them as `some` chooses; blocks are released whatever it holds. */
static inline void dataset_read_as_users(const char *path, const char *const *arrays, const char *const *attributes, int some)
{
    enum { VALUES = 1 << 16 };
    static float values[VALUES];
    static int64_t ints[VALUES];
    int64_t live = lt_alloc_live(), items = 0, n;
    const char *const *texts;
    lt_dataset *d;
    static char csv[400];
    if (!csv[0]) snprintf(csv, sizeof csv, "%s", scratch("table.csv"));
    if (lt_dataset_open(path, &d)) {
        LT_FUZZ_REQUIRE(!d && lt_error_text()[0] && lt_alloc_live() == live);
        return;
    }
    (void)lt_dataset_walk(d, good_dataset_count, &items);
    for (int i = 0; arrays[i]; i++) {
        if (some != READ_ALL && (i + some) % 8) continue;
        lt_shape shape = lt_dataset_shape(d, arrays[i]);
        int64_t count = shape.rank > 0 && shape.dim[0] > 0 ? lt_shape_count(&shape) / shape.dim[0] : 1;
        (void)lt_dataset_texts(d, arrays[i], &n, &texts);
        if (count > VALUES) count = VALUES;
        (void)lt_dataset_read(d, arrays[i], 0, 1, values, count);
        (void)lt_dataset_read_ints(d, arrays[i], shape.rank ? shape.dim[0] - 1 : 0, 1, ints, count);
    }
    (void)lt_dataset_read_step(d, 0, 1, 1, values, 3 * 8 * 8);
    for (int i = 0; attributes[i]; i++)
        if (some == READ_ALL || (i + some) % 8 == 0) (void)lt_dataset_texts(d, attributes[i], &n, &texts);
    if (some == READ_ALL || some % 16 == 0) (void)lt_dataset_validate(d, &(lt_validate_options){ sizeof(lt_validate_options), false, true, 0, NULL }, good_dataset_finding, NULL);
    if (some == READ_ALL || some == READ_TABLE) (void)lt_dataset_table(d, &(lt_table_options){ .size = sizeof(lt_table_options), .csv = csv, .unit = some == READ_TABLE }, NULL);
    if (some == READ_ALL || some == READ_EXPORT) good_dataset_export(d, some);
    lt_dataset_close(d);
    LT_FUZZ_REQUIRE(lt_alloc_live() == live);
}

#endif
