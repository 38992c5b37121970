/* The builder of kernels from text: all kernels or none, whatever fails. SPDX-License-Identifier: BSD-3-Clause */
#include "lt_test.h"

#include "base/alloc.h"
#include "base/status.h"
#include "device/null/null.h"
#include "kernels/cuda/builder.h"

/* ---- a device that keeps the texts it is given ---- */
static struct { char source[3][200]; lt_kernel_key key[3]; int n, refuse; } seen;

static void drop(lt_kernel *k) { lt_free(k); }

static lt_status keep(lt_device *dev, const lt_kernel_key *key, lt_kernel **out)
{
    (void)dev;
    if (seen.n == seen.refuse) return LT_FAIL(LT_ERR_FORMAT, "refused");
    snprintf(seen.source[seen.n], sizeof seen.source[0], "%s", key->source);
    seen.key[seen.n++] = *key;
    lt_kernel *k = lt_calloc(1, sizeof *k);
    if (!k) return LT_ERR_MEMORY;
    k->destroy = drop;
    *out = k;
    return LT_OK;
}
static const lt_backend backend = { .name = "keep", .build = keep };
static lt_device device = { .backend = &backend, .id = "keep" };

/* Two texts, three kernels. */
static lt_status build(lt_device *dev, lt_pool *pool, lt_kernel *out[3])
{
    lt_builder b = lt_builder_begin(dev);
    lt_text *first = lt_builder_text(&b), *second = lt_builder_text(&b);
    lt_text_define(first, "N", 5);
    lt_text_define_as(first, "REAL", "float");
    lt_text_part(first, "body of the first");
    lt_text_part(second, "the second");
    lt_builder_add(&b, first, &(lt_kernel_key){ .name = "one", .entry = "a", .n_args = 1, .grid = { 7 }, .block = { 32 } }, &out[0]);
    lt_builder_add(&b, first, &(lt_kernel_key){ .name = "two", .entry = "b", .n_args = 2, .grid = { 1, 2, 3 } }, &out[1]);
    lt_builder_add(&b, second, &(lt_kernel_key){ .name = "three", .entry = "c" }, &out[2]);
    lt_status s = lt_builder_finish(&b, pool);
    LT_CHECK(!b.texts && !b.orders && !b.n);
    return s;
}

static void destroy(lt_kernel *k[3])
{
    for (int i = 0; i < 3; i++) lt_kernel_destroy(k[i]);
}

LT_TEST(texts_and_keys_reach_the_device)
{
    lt_kernel *k[3];
    seen.n = 0, seen.refuse = -1;
    LT_CHECK_OK(build(&device, NULL, k));
    LT_CHECK_EQ_INT(seen.n, 3);
    LT_CHECK(!strcmp(seen.source[0], "#define N 5\n#define REAL float\nbody of the first\n") && !strcmp(seen.source[1], seen.source[0]));
    LT_CHECK(!strcmp(seen.source[2], "the second\n") && !strcmp(seen.key[1].entry, "b") && seen.key[1].n_args == 2);
    LT_CHECK(seen.key[0].grid[0] == 7 && seen.key[0].grid[2] == 1 && seen.key[0].block[0] == 32 && seen.key[1].grid[2] == 3 && seen.key[2].block[0] == 1);
    destroy(k);
}

LT_TEST(all_kernels_or_none)
{
    for (int at = 0; at < 3; at++) {
        lt_kernel *k[3];
        int64_t live = lt_alloc_live();
        seen.n = 0, seen.refuse = at;
        LT_CHECK_FAILS(build(&device, NULL, k), LT_ERR_FORMAT, "refused");
        LT_CHECK(!k[0] && !k[1] && !k[2]);
        LT_CHECK_EQ_INT(lt_alloc_live(), live);
    }
    seen.refuse = -1;
}

LT_TEST(every_allocation_may_fail)
{
    lt_device *dev = NULL;
    LT_CHECK_OK(lt_device_open("null", &dev));
    int failed = 0;
    for (int64_t at = 1; at < 20; at++) {
        lt_kernel *k[3];
        int64_t live = lt_alloc_live();
        lt_alloc_fail_at(at);
        lt_status s = build(dev, lt_device_pool(dev), k);
        lt_alloc_fail_at(0);
        LT_CHECK(s == LT_OK || (s == LT_ERR_MEMORY && !k[0] && !k[1] && !k[2]));
        failed += s != LT_OK;
        destroy(k);
        LT_CHECK_EQ_INT(lt_alloc_live(), live);
    }
    LT_CHECK(failed >= 8); /* two texts, their words, the list, three kernels */
    lt_device_close(dev);
}

LT_TEST(the_cpu_takes_no_text)
{
    lt_device *dev = NULL;
    lt_kernel *k[3];
    LT_CHECK_OK(lt_device_open("cpu", &dev));
    LT_CHECK_FAILS(build(dev, lt_device_pool(dev), k), LT_ERR_UNSUPPORTED, "source text for another device");
    lt_device_close(dev);
}

LT_TEST_MAIN()
