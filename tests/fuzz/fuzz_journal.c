/* Fuzz target: any bytes as the journal of a dataset, its heads and checks made to fit where the input says so. Rows that are found are in
   the table, and what they hold can be read. SPDX-License-Identifier: BSD-3-Clause */
#include "fuzz.h"

#include "base/alloc.h"
#include "base/scratch.h"
#include "base/status.h"
#include "operators/file/journal.h"

#include <fcntl.h>
#include <string.h>

enum { ROWS = 6, STEPS = 2, STEP_BYTES = 16, REST_BYTES = 40 };
static const lt_journal_shape shape = { .identity = { { 1, 2, 3 } }, .n_rows = ROWS, .n_steps = STEPS, .step_bytes = STEP_BYTES, .rest_bytes = REST_BYTES };

typedef struct found { lt_journal *j; int n; } found;

static lt_status take(void *ctx, int64_t row, int64_t slot)
{
    found *f = ctx;
    uint8_t content[STEPS * STEP_BYTES + REST_BYTES];
    LT_FUZZ_REQUIRE(row >= 0 && row < ROWS && slot >= 0);
    LT_FUZZ_REQUIRE(lt_journal_read(f->j, slot, 0, content, sizeof content) == LT_OK);
    f->n++;
    return LT_OK;
}

/* A journal with three finished rows and one cut off, as a run leaves it. */
static void write_good(const char *dataset)
{
    lt_journal j;
    uint8_t block[REST_BYTES];
    found none = { &j, 0 };
    memset(block, 7, sizeof block);
    LT_FUZZ_REQUIRE(lt_journal_claim(dataset, &j) == LT_OK && lt_journal_open(&j, &shape, false, take, &none) == LT_OK);
    for (int64_t row = 0; row < 4; row++) {
        lt_journal_row r;
        LT_FUZZ_REQUIRE(lt_journal_begin(&j, &r) == LT_OK);
        for (int t = 0; t < STEPS; t++) LT_FUZZ_REQUIRE(lt_journal_add(&j, &r, block, STEP_BYTES) == LT_OK);
        if (row == 3) break;
        LT_FUZZ_REQUIRE(lt_journal_add(&j, &r, block, REST_BYTES) == LT_OK && lt_journal_end(&j, &r, 5 - row) == LT_OK);
    }
    lt_journal_close(&j);
}

/* The good journal, made once, and changed by records of four bytes: where (two), what, how; "cut" ends it there. */
static size_t change(uint8_t *image, size_t bytes, const uint8_t *data, size_t n_bytes)
{
    for (size_t at = 0; at + 4 <= n_bytes; at += 4) {
        size_t where = (size_t)(data[at] | data[at + 1] << 8) % bytes;
        if (data[at + 3] % 8 == 0) bytes = where + 1;
        else if (data[at + 3] % 8 == 1) memset(image + where, data[at + 2], bytes - where < 64 ? bytes - where : 64);
        else image[where] = (uint8_t)(data[at + 3] & 8 ? image[where] ^ data[at + 2] : data[at + 2]);
    }
    return bytes;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    static uint8_t good[1 << 16], image[1 << 16];
    static size_t good_bytes;
    static char dataset[400], path[420];
    if (!good_bytes) {
        if (!access("/dev/shm", W_OK)) setenv("TMPDIR", "/dev/shm", 1);
        snprintf(dataset, sizeof dataset, "%s", scratch("d.h5"));
        snprintf(path, sizeof path, "%s.journal", dataset);
        write_good(dataset);
        FILE *f = fopen(path, "rb");
        LT_FUZZ_REQUIRE(f && (good_bytes = fread(good, 1, sizeof good, f)) > 4096);
        fclose(f);
    }
    memcpy(image, good, good_bytes);
    size_t bytes = change(image, good_bytes, data, n_bytes);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    LT_FUZZ_REQUIRE(fd >= 0 && write(fd, image, bytes) == (ssize_t)bytes);
    close(fd);
    int64_t live = lt_alloc_live();
    lt_journal j;
    found f = { &j, 0 };
    bool foreign;
    LT_FUZZ_REQUIRE(lt_journal_claim(dataset, &j) == LT_OK);
    (void)lt_journal_is_foreign(&j, &shape.identity, &foreign);
    lt_status s = lt_journal_open(&j, &shape, true, take, &f);
    LT_FUZZ_REQUIRE(s == LT_OK || ((s == LT_ERR_ARGUMENT || s == LT_ERR_FORMAT || s == LT_ERR_IO) && lt_error_text()[0]));
    LT_FUZZ_REQUIRE(n_bytes >= 4 || (!s && f.n == 3));
    lt_journal_remove(&j);
    lt_journal_close(&j);
    LT_FUZZ_REQUIRE(lt_alloc_live() == live);
    return 0;
}

size_t lt_fuzz_seed(int index, uint8_t *out, size_t capacity)
{
    static const uint8_t seeds[][8] = { { 9, 0, 9, 2 }, { 0, 16, 1, 2 }, { 8, 16, 255, 2 }, { 0, 17, 9, 0 }, { 60, 0, 1, 10, 20, 16, 3, 3 }, { 72, 16, 1, 1, 1, 0, 2, 0 }, { 3, 0, 0, 0 } };
    if (index >= (int)(sizeof seeds / sizeof *seeds) || capacity < 8) return 0;
    memcpy(out, seeds[index], 8);
    return seeds[index][6] ? 8 : 4;
}
