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
        if (!copy.launch_all) memcpy(&copy.launch_all, &copy.launch, sizeof copy.launch_all); /* these four are optional */
        if (!copy.await) memcpy(&copy.await, &copy.sync, sizeof copy.await);
        if (!copy.capture_share) memcpy(&copy.capture_share, &copy.capture_abort, sizeof copy.capture_share);
        if (!copy.have_code) memcpy(&copy.have_code, &copy.build, sizeof copy.have_code);
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

LT_TEST_MAIN()
