/* Lanes: bytes arrive, both ways, on every device that computes; bad arguments are named.
   SPDX-License-Identifier: BSD-3-Clause */
#include "lt_test.h"

#include "base/alloc.h"
#include "lathe/lane.h"

enum { BYTES = 9 << 20 }; /* more than two slots of the ring, and no multiple of one */

static void round_trip(lt_device *dev, lt_lane_way way)
{
    unsigned char *a = malloc(BYTES), *b = malloc(BYTES);
    for (int i = 0; i < BYTES; i++) a[i] = (unsigned char)(i * 7 + i / 251);
    memset(b, 0, BYTES);
    lt_lane *l;
    LT_CHECK_OK(lt_lane_create(dev, BYTES, way, &l));
    LT_CHECK_OK(lt_lane_upload(l, a, BYTES));
    LT_CHECK_OK(lt_lane_download(l, b, BYTES));
    LT_CHECK(!memcmp(a, b, BYTES));
    LT_CHECK_OK(lt_lane_upload(l, a + 1, 5)); /* only the front changes */
    LT_CHECK_OK(lt_lane_download(l, b, BYTES));
    LT_CHECK(!memcmp(b, a + 1, 5) && !memcmp(b + 5, a + 5, BYTES - 5));
    LT_CHECK(way == LT_LANE_STAGED || !lt_lane_pinned(l));
    LT_CHECK_FAILS(lt_lane_upload(l, a, BYTES + 1), LT_ERR_ARGUMENT, "9437185 bytes, but it holds 9437184");
    LT_CHECK_FAILS(lt_lane_download(l, NULL, 1), LT_ERR_ARGUMENT, "host memory is NULL");
    lt_lane_destroy(l);
    free(a);
    free(b);
}

LT_TEST(bytes_arrive_both_ways)
{
    for (int i = 0; i < lt_device_count(); i++) {
        lt_device_info info = { .size = sizeof info };
        lt_device *dev;
        LT_CHECK_OK(lt_device_list(i, &info));
        if (!info.computes) continue;
        LT_CHECK_OK(lt_device_open(info.id, &dev));
        round_trip(dev, LT_LANE_DIRECT);
        round_trip(dev, LT_LANE_STAGED);
        lt_device_close(dev);
    }
}

LT_TEST(bad_arguments_are_refused)
{
    lt_device *dev;
    lt_lane *l;
    LT_CHECK_OK(lt_device_open("cpu", &dev));
    LT_CHECK_FAILS(lt_lane_create(NULL, 8, LT_LANE_DIRECT, &l), LT_ERR_ARGUMENT, "device is NULL");
    LT_CHECK_FAILS(lt_lane_create(dev, 0, LT_LANE_DIRECT, &l), LT_ERR_ARGUMENT, "0 bytes");
    LT_CHECK(l == NULL);
    LT_CHECK_FAILS(lt_lane_upload(NULL, "x", 1), LT_ERR_ARGUMENT, "lane is NULL");
    LT_CHECK(!lt_lane_pinned(NULL));
    lt_lane_destroy(NULL);
    lt_device_close(dev);
}

LT_TEST(every_allocation_may_fail)
{
    lt_device *dev;
    LT_CHECK_OK(lt_device_open("cpu", &dev));
    int failed = 0;
    for (int64_t n = 1; n <= 12; n++) { /* a ring that cannot be page-locked is no failure, so success may come early */
        lt_lane *l;
        LT_CHECK_OK(lt_device_memory_trim(dev));
        int64_t live = lt_alloc_live();
        lt_alloc_fail_at(n);
        lt_status s = lt_lane_create(dev, 4096, LT_LANE_STAGED, &l);
        lt_alloc_fail_at(0);
        LT_CHECK(s == LT_OK || (s == LT_ERR_MEMORY && l == NULL));
        failed += s != LT_OK;
        lt_lane_destroy(l);
        LT_CHECK_OK(lt_device_memory_trim(dev));
        LT_CHECK_EQ_INT(lt_alloc_live(), live);
    }
    LT_CHECK(failed >= 2);
    lt_device_close(dev);
}

LT_TEST_MAIN()
