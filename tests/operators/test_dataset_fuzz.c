/* Damaged dataset files: whatever the bytes, readers answer with an error or with numbers.
   SPDX-License-Identifier: BSD-3-Clause */
#include "dataset_main.h"

#include "base/alloc.h"
#include "base/files/file.h"
#include "base/scratch.h"
#include "base/status.h"
#include "lathe/rng.h"
#include "operators/file/journal.h"

/* The HDF5 library forgets some of its own memory when it fails on damaged texts. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void) { return "leak:libhdf5"; }

static const char config_text[] =
    "metadata: {name: fuzz}\n"
    "parameter_space:\n"
    "  architecture: {num_layers: {type: integer, bounds: [2, 3]}, base_channels: {type: integer, bounds: [4, 5]}, kernel_size: {type: choice, choices: [3]}}\n"
    "  stochastic: {noise_type: {type: choice, choices: [gaussian]}}\n"
    "  operator: {normalization: {type: choice, choices: [none]}, grid_size: {type: choice, choices: [8]}}\n"
    "sampling: {total_samples: 4, batch_size: 2}\n"
    "simulation: {device: cpu, precision: float32, num_realizations: 1, num_timesteps: 2}\n"
    "dataset: {output_path: x.h5, storage: {chunk_size: 2}}\n";

static lt_dataset_config *config_for(const char *path)
{
    lt_dataset_config *c = NULL;
    LT_CHECK_OK(lt_dataset_config_parse(config_text, sizeof config_text - 1, "fuzz.yaml", &(lt_dataset_overrides){ .size = sizeof(lt_dataset_overrides), .output = path }, &c));
    return c;
}

static lt_status ignore_item(void *ctx, const lt_dataset_item *item)
{
    (void)item;
    ++*(int *)ctx;
    return LT_OK;
}

static void ignore_finding(void *ctx, lt_finding_level level, const char *text)
{
    (void)ctx, (void)level, (void)text;
}

/* Everything a reader does; true when the file was accepted. */
static bool read_everything(const char *path)
{
    lt_dataset *d;
    int items = 0;
    if (lt_dataset_open(path, &d)) {
        LT_CHECK(lt_error_text()[0]);
        return false;
    }
    lt_status s = lt_dataset_walk(d, ignore_item, &items);
    LT_CHECK(s || items > 0);
    if (lt_dataset_get_info(d).rows == 4) lt_dataset_validate(d, &(lt_validate_options){ sizeof(lt_validate_options), false, true, 0, NULL }, ignore_finding, NULL);
    lt_dataset_close(d);
    return true;
}

LT_TEST(damaged_bytes)
{
    const char *good = scratch("good.h5"), *bad = scratch("bad.h5");
    lt_dataset_config *c = config_for(good);
    lt_generate_options opt = lt_generate_defaults();
    char *data;
    size_t n;
    LT_CHECK_OK(lt_generate(c, &opt, NULL));
    lt_dataset_config_destroy(c);
    LT_CHECK_OK(lt_file_read(good, 1 << 24, &data, &n));
    LT_CHECK(read_everything(good));
    lt_rng rng = lt_rng_seed(11);
    char *copy = malloc(n);
    int accepted = 0, resumed = 0;
    for (int round = 0; round < 48; round++) {
        size_t length = round % 10 ? n : 1 + lt_rng_below(&rng, n);
        memcpy(copy, data, n);
        for (int k = 0; k < 1 + round % 4; k++) {
            /* Mostly in the first kilobytes: superblock, headers, names, indexes. */
            size_t at = lt_rng_below(&rng, round % 3 ? LT_MIN(n, (size_t)6000) : n);
            copy[at] = round % 2 ? (char)lt_rng_u64(&rng) : (char)(lt_rng_below(&rng, 2) ? 0xff : 0);
        }
        LT_CHECK_OK(lt_file_write(bad, copy, length));
        accepted += read_everything(bad);
        c = config_for(bad);
        opt.resume = true;
        resumed += lt_generate(c, &opt, NULL) == LT_OK;
        lt_dataset_config_destroy(c);
    }
    LT_CHECK(accepted > 2 && accepted < 48); /* some bytes do not matter, some do */
    LT_CHECK(resumed > 0);
    free(copy);
    lt_free(data);
}

static lt_status count_row(void *ctx, int64_t row, int64_t slot)
{
    int64_t *n = ctx;
    LT_CHECK(row >= 0 && row < 5 && slot >= 0);
    ++*n;
    return LT_OK;
}

LT_TEST(damaged_journals)
{
    const char *path = scratch("journal.h5");
    lt_journal_shape shape = { .n_rows = 5, .n_steps = 2, .step_bytes = 40, .rest_bytes = 100 };
    char file[400], piece[100] = { 0 };
    snprintf(file, sizeof file, "%s.journal", path);
    lt_rng rng = lt_rng_seed(5);
    lt_journal j;
    LT_CHECK_OK(lt_journal_claim(path, &j));
    LT_CHECK_OK(lt_journal_open(&j, &shape, false, NULL, NULL));
    for (int64_t row = 0; row < 5; row++) {
        lt_journal_row r;
        LT_CHECK_OK(lt_journal_begin(&j, &r));
        for (int t = 0; t < 2; t++) LT_CHECK_OK(lt_journal_add(&j, &r, piece, 40));
        LT_CHECK_OK(lt_journal_add(&j, &r, piece, 100));
        LT_CHECK_OK(lt_journal_end(&j, &r, row));
    }
    lt_journal_close(&j);
    char *data;
    size_t n;
    LT_CHECK_OK(lt_file_read(file, 1 << 20, &data, &n));
    for (int round = 0; round < 300; round++) {
        char *copy = malloc(n);
        memcpy(copy, data, n);
        copy[lt_rng_below(&rng, n)] ^= (char)(1 + lt_rng_below(&rng, 255));
        LT_CHECK_OK(lt_file_write(file, copy, round % 3 ? n : 1 + lt_rng_below(&rng, n)));
        int64_t found = 0;
        LT_CHECK_OK(lt_journal_claim(path, &j));
        lt_status s = lt_journal_open(&j, &shape, true, count_row, &found);
        LT_CHECK(s == LT_OK ? found >= 0 && found <= 5 : lt_error_text()[0] != 0);
        if (round % 3) LT_CHECK(s || found >= 4); /* one byte costs one row at most */
        free(copy);
        lt_journal_close(&j);
    }
    lt_free(data);
}

LT_DATASET_TEST_MAIN()
