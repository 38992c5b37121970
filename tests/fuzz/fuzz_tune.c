/* Fuzz target: any bytes as a tuning file. What is read is in its limits, is written and read again as it was.
   SPDX-License-Identifier: BSD-3-Clause */
#include "fuzz.h"

#include "base/alloc.h"
#include "lathe/json.h"
#include "tune/tune_table.h"

#include <string.h>

static const char header[] = "lathe-tune 1 device=\"cpu\" driver=none kernels=1";

/* The text form again, as tune_file.c writes it. */
static char *write_table(const lt_tune_table *t, size_t *n_bytes)
{
    size_t room = sizeof header + 1 + (size_t)t->n * (2 * LT_TUNE_TEXT_MAX + 64), used;
    char *text = malloc(room), digits[32];
    LT_FUZZ_REQUIRE(text);
    used = (size_t)snprintf(text, room, "%s\n", header);
    for (int64_t i = 0; i < t->n; i++) {
        lt_double_text(t->item[i].time_us, digits);
        used += (size_t)snprintf(text + used, room - used, "%s : %s : %s us\n", t->item[i].problem, t->item[i].choice, digits);
    }
    *n_bytes = used;
    return text;
}

static void read_again(const lt_tune_table *t)
{
    size_t n_bytes;
    char *text = write_table(t, &n_bytes);
    lt_tune_table again;
    LT_FUZZ_REQUIRE(lt_tune_parse(text, n_bytes, header, "again", &again) == LT_OK && again.n == t->n);
    for (int64_t i = 0; i < t->n; i++) {
        const lt_tune_item *a = &t->item[i], *b = lt_tune_table_find(&again, a->problem);
        LT_FUZZ_REQUIRE(lt_tune_text_ok(a->problem) && lt_tune_text_ok(a->choice) && lt_tune_time_ok(a->time_us));
        LT_FUZZ_REQUIRE(b && !strcmp(a->choice, b->choice));
    }
    lt_tune_table_release(&again);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    int64_t live = lt_alloc_live();
    /* Mostly lines behind the right header: the first byte is even then. */
    size_t head = n_bytes && data[0] % 2 == 0 ? sizeof header : 0, body = n_bytes ? n_bytes - 1 : 0;
    char *text = malloc(head + body + 1);
    LT_FUZZ_REQUIRE(text);
    if (head) memcpy(text, header, sizeof header - 1), text[sizeof header - 1] = '\n';
    if (body) memcpy(text + head, data + 1, body);
    lt_tune_table t;
    lt_status s = lt_tune_parse(text, head + body, header, "fuzz", &t);
    LT_FUZZ_REQUIRE(s == LT_OK || s == LT_ERR_FORMAT);
    if (!s) read_again(&t);
    else LT_FUZZ_REQUIRE(!t.item && !t.slot && lt_error_text()[0]);
    lt_tune_table_release(&t);
    free(text);
    LT_FUZZ_REQUIRE(lt_alloc_live() == live);
    return 0;
}

size_t lt_fuzz_seed(int index, uint8_t *out, size_t capacity)
{
    static const char *const seeds[] = {
        "0matmul f32 m=64 n=64 k=8 : tiled TM=8 TN=4 : 11.8 us\nconv2d f32 : direct : 1e-3 us\n", "0a : b : 1.5e+2 us\na : c : 2 us\n",
        "0a : b : 0.000000000000000000000000000001 us\n", "1lathe-tune 1 device=\"cpu\" driver=none kernels=1\na : b : 3 us\n", "1lathe-tune 2\n", "0a : b : nan us\n",
    };
    if (index >= (int)(sizeof seeds / sizeof *seeds)) return 0;
    size_t n = strlen(seeds[index]);
    if (n > capacity) return 0;
    memcpy(out, seeds[index], n);
    return n;
}
