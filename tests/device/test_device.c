/* Opening, listing, describing devices, and planning tiles. SPDX-License-Identifier: BSD-3-Clause */
#include "lt_test.h"

#include "base/alloc.h"
#include "base/status.h"
#include "device/backend.h"

LT_TEST(devices_open_by_name)
{
    static const struct { const char *name, *id; } c[] = { { "cpu", "cpu" }, { "cpu:0", "cpu" }, { "null", "null" }, { "auto", "cpu" } };
    for (size_t i = 0; i < LT_LEN(c); i++) {
        lt_device *dev;
        LT_CHECK_OK(lt_device_open(c[i].name, &dev));
        bool gpu = strcmp(c[i].name, "auto") == 0 && lt_backend_cuda()->count() > 0;
        LT_CHECK(dev && strcmp(lt_device_id(dev), gpu ? "cuda:0" : c[i].id) == 0);
        lt_device_close(dev);
    }
    lt_device_close(NULL);
}

LT_TEST(bad_names_say_what_exists)
{
    static const struct { const char *name; lt_status s; const char *text; } c[] = {
        { NULL, LT_ERR_ARGUMENT, "no device named" }, { "", LT_ERR_ARGUMENT, "no device named" },
        { "gpu", LT_ERR_ARGUMENT, "no device 'gpu'; expected auto, or one of those here: cpu, null" },
        { "CPU", LT_ERR_ARGUMENT, "no device 'CPU'" }, { ":0", LT_ERR_ARGUMENT, "no device ':0'" },
        { "cpux", LT_ERR_ARGUMENT, "no device 'cpux'" }, { "auto:1", LT_ERR_ARGUMENT, "no device 'auto:1'" },
        { "cpu:1", LT_ERR_ARGUMENT, "ordinal 1 is out of range, there is 1; devices here: cpu, null" },
        { "cpu:", LT_ERR_ARGUMENT, "after the colon" }, { "cpu:-1", LT_ERR_ARGUMENT, "after the colon" },
        { "cpu:1x", LT_ERR_ARGUMENT, "after the colon" }, { "cpu: 0", LT_ERR_ARGUMENT, "after the colon" },
        { "cpu:99999999999999999999", LT_ERR_ARGUMENT, "after the colon" },
        { "cuda", LT_ERR_UNSUPPORTED, "device 'cuda' cannot run: " },
        { "cuda:3", LT_ERR_UNSUPPORTED, "devices here: cpu, null" },
    };
    bool gpu = lt_backend_cuda()->count() > 0;
    for (size_t i = 0; i < LT_LEN(c); i++) {
        lt_device *dev = (lt_device *)&c;
        if (gpu && c[i].s == LT_ERR_UNSUPPORTED) continue; /* those rows are about machines without */
        LT_CHECK_FAILS(lt_device_open(c[i].name, &dev), c[i].s, c[i].text);
        LT_CHECK(dev == NULL);
    }
}

LT_TEST(every_slot_of_every_table_is_filled)
{
    const lt_backend *table[] = { lt_backend_cpu(), lt_backend_null(), lt_backend_cuda() };
    for (size_t i = 0; i < LT_LEN(table); i++) {
        lt_backend copy = *table[i];
        void *slot[sizeof copy / sizeof(void *)];
        if (!copy.launch_all) memcpy(&copy.launch_all, &copy.launch, sizeof copy.launch_all); /* these three are optional */
        if (!copy.await) memcpy(&copy.await, &copy.sync, sizeof copy.await);
        if (!copy.capture_share) memcpy(&copy.capture_share, &copy.capture_abort, sizeof copy.capture_share);
        memcpy(slot, &copy, sizeof slot);
        for (size_t k = 0; k < LT_LEN(slot); k++)
            if (!slot[k]) LT_TEST_FAIL("%s: slot %zu is empty", copy.name, k);
    }
}

LT_TEST(the_list_describes_each)
{
    int n = lt_device_count();
    LT_CHECK(n >= 2);
    for (int i = 0; i < n; i++) {
        lt_device_info info = { .size = sizeof info };
        LT_CHECK_OK(lt_device_list(i, &info));
        LT_CHECK(info.id[0] && info.name[0] && info.cores >= 1);
        LT_CHECK(info.memory_total_bytes > 0 && info.memory_free_bytes > 0 && info.memory_free_bytes <= info.memory_total_bytes);
        if (strcmp(info.id, "cpu") == 0) {
            LT_CHECK(info.computes && info.cache_bytes[0] >= 8192);
            LT_CHECK(info.memory_total_bytes > INT64_C(64) << 20);
        }
    }
    lt_device_info info = { .size = sizeof info };
    LT_CHECK_FAILS(lt_device_list(-1, &info), LT_ERR_ARGUMENT, "device number -1");
    LT_CHECK_FAILS(lt_device_list(n, &info), LT_ERR_ARGUMENT, "there are");
    LT_CHECK_FAILS(lt_device_describe(NULL, &info), LT_ERR_ARGUMENT, "NULL");
    LT_CHECK_FAILS(lt_device_memory_limit(NULL, 0), LT_ERR_ARGUMENT, "NULL");
}

LT_TEST(opening_survives_every_failing_allocation)
{
    static const char *const name[] = { "cpu", "null" };
    lt_device *dev;
    LT_CHECK_OK(lt_device_open("cpu", &dev)); /* makes the shared pool, which stays */
    lt_device_close(dev);
    int64_t live = lt_alloc_live();
    for (size_t k = 0; k < LT_LEN(name); k++) {
        bool opened = false;
        for (int64_t at = 1; at < 20 && !opened; at++) {
            lt_alloc_fail_at(at);
            lt_status s = lt_device_open(name[k], &dev);
            lt_alloc_fail_at(0);
            opened = s == LT_OK;
            LT_CHECK(opened || (s == LT_ERR_MEMORY && !dev));
            lt_device_close(dev);
            LT_CHECK_EQ_INT(lt_alloc_live(), live);
        }
        LT_CHECK(opened);
    }
}

/* ---- Tiles ----------------------------------------------------------------------------------- */
static int64_t cost(const lt_tile_request *r, int64_t t) { return r->fixed_bytes + t * r->bytes_per_row + t * t * r->bytes_per_pair; }

LT_TEST(tiles_are_the_largest_power_of_two_that_fits)
{
    int64_t row[] = { 0, 16, 4096 }, pair[] = { 0, 8 }, space[] = { 1 << 16, 1 << 20, 1 << 30 }, rows[] = { 1, 3, 1000, 1 << 20 };
    double fraction[] = { 0.1, 0.5, 1 };
    for (int a = 0; a < 3; a++) for (int b = 0; b < 2; b++) for (int c = 0; c < 3; c++) for (int d = 0; d < 4; d++) for (int e = 0; e < 3; e++) {
        lt_tile_request r = { .size = sizeof r, .rows = rows[d], .bytes_per_row = row[a], .bytes_per_pair = pair[b], .fixed_bytes = 100,
                              .free_bytes = space[c], .fraction = fraction[e] };
        lt_tile_plan p = { .size = sizeof p };
        LT_CHECK_OK(lt_plan_tiles(&r, &p));
        int64_t t = p.tile_rows, budget = (int64_t)((double)space[c] * fraction[e]);
        LT_CHECK(t > 0 && (t & (t - 1)) == 0);
        LT_CHECK_EQ_INT(p.tile_bytes, cost(&r, t));
        LT_CHECK(cost(&r, t) <= budget && p.budget_bytes == budget);
        LT_CHECK(t >= rows[d] || cost(&r, 2 * t) > budget);     /* the next one does not fit … */
        LT_CHECK(t == 1 || t / 2 < rows[d]);                    /* … or is not needed */
        LT_CHECK(p.n_tiles == (rows[d] + t - 1) / t && p.reason[0]);
    }
}

LT_TEST(tiles_keep_to_their_limits)
{
    lt_tile_request r = { .size = sizeof r, .rows = 1 << 20, .bytes_per_row = 16, .free_bytes = INT64_C(1) << 40, .fraction = 0.9, .min_tile = 256, .max_tile = 32768 };
    lt_tile_plan p = { .size = sizeof p };
    LT_CHECK_OK(lt_plan_tiles(&r, &p));
    LT_CHECK_EQ_INT(p.tile_rows, 32768);
    LT_CHECK(strstr(p.reason, "largest allowed"));
    r.rows = 3;
    LT_CHECK_OK(lt_plan_tiles(&r, &p));
    LT_CHECK_EQ_INT(p.tile_rows, 256);
    LT_CHECK(strstr(p.reason, "covers all rows"));
    r = (lt_tile_request){ .size = sizeof(lt_tile_request), .rows = INT64_C(1) << 40, .bytes_per_row = INT64_MAX / 4, .bytes_per_pair = INT64_MAX / 4, .free_bytes = INT64_MAX, .fraction = 1 };
    LT_CHECK_OK(lt_plan_tiles(&r, &p)); /* no overflow */
    LT_CHECK_EQ_INT(p.tile_rows, 1);
}

LT_TEST(bad_tile_requests_name_the_number)
{
    const lt_tile_request ok = { .size = sizeof ok, .rows = 10, .bytes_per_row = 8, .bytes_per_pair = 8, .free_bytes = 1 << 20, .fraction = 0.5 };
    lt_tile_request bad[10];
    for (int i = 0; i < 10; i++) bad[i] = ok;
    bad[0].rows = 0; bad[1].bytes_per_row = -1; bad[2].fraction = 0; bad[3].fraction = 1.5; bad[4].fraction = NAN;
    bad[5].min_tile = 3; bad[6].max_tile = 100; bad[7].min_tile = 64; bad[7].max_tile = 32; bad[8].free_bytes = -5; bad[9].fixed_bytes = -1;
    static const char *const text[] = { "rows is 0", "row -1", "fraction is 0", "fraction is 1.5", "fraction is nan", "min_tile is 3",
                                        "max_tile is 100", "max_tile is 32", "free -5", "fixed -1" };
    lt_tile_plan p = { .size = sizeof p };
    for (int i = 0; i < 10; i++) LT_CHECK_FAILS(lt_plan_tiles(&bad[i], &p), LT_ERR_ARGUMENT, text[i]);
    LT_CHECK_FAILS(lt_plan_tiles(NULL, &p), LT_ERR_ARGUMENT, "NULL");
    lt_tile_request big = ok;
    big.min_tile = 1024;
    LT_CHECK_FAILS(lt_plan_tiles(&big, &p), LT_ERR_MEMORY, "a tile of 1024 rows needs 8396800 bytes, the budget is 524288");
}

LT_TEST_MAIN()
