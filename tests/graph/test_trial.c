/* Timed choice between ways to compute something on a device: what is stored is used without timing, what fails is
   left out. On the null device, which runs nothing and checks every address. SPDX-License-Identifier: BSD-3-Clause */
#include "base/status.h"
#include "device/null/null.h"
#include "graph/lower/trial.h"
#include "lt_test.h"

#include <unistd.h>

enum { WAYS = 3 };
#define FILE_NAME "test_trial_tune.txt"
static const char *const names[WAYS] = { "way 0", "way 1", "way 2" };
static lt_device *dev;
static int n_prepared, fails;

static lt_status prepare(void *ctx, int way, lt_kernel **out)
{
    (void)ctx;
    n_prepared++;
    *out = NULL;
    if (way == fails) return LT_FAIL(LT_ERR_UNSUPPORTED, "way %d is not for this problem", way);
    lt_kernel_key key = { .name = names[way], .source = "text", .entry = "entry", .n_args = 2, .grid = { 1, 1, 1 }, .block = { 1, 1, 1 },
                          .scratch_bytes = (size_t)(way == 1 ? 5000 : 1000) };
    return lt_device_build(dev, &key, out);
}

static lt_tuner *open_tuner(lt_tune_mode mode)
{
    lt_tuner *t;
    lt_tuner_options opt = lt_tuner_defaults();
    opt.path = FILE_NAME;
    opt.mode = mode;
    opt.trust_ns = 20000;
    LT_CHECK_OK(lt_tuner_create(&opt, &t));
    return t;
}

static lt_status choose(lt_tuner *t, lt_kernel **out)
{
    size_t bytes[] = { 64, 0 };
    n_prepared = 0;
    return lt_trial_choose(t, &(lt_trial){ .dev = dev, .problem = "a problem", .n_ways = WAYS, .name = names, .prepare = prepare, .n_args = 2,
                                           .arg_bytes = bytes }, out);
}

LT_TEST(a_stored_choice_is_used_without_timing)
{
    lt_kernel *k = NULL;
    (void)unlink(FILE_NAME);
    LT_CHECK_OK(lt_device_open("null", &dev));
    fails = 0; /* the best guess does not work here */
    lt_tuner *t = open_tuner(LT_TUNE_MEASURE);
    LT_CHECK_OK(choose(t, &k));
    LT_CHECK(n_prepared == WAYS && k && strcmp(k->name, names[0]) != 0);
    LT_CHECK_EQ_INT(lt_tuner_measured(t), 1);
    LT_CHECK_OK(lt_tuner_save(t));
    lt_tuner_destroy(t);

    char chosen[16] = "";
    if (k) snprintf(chosen, sizeof chosen, "%s", k->name);
    lt_kernel_destroy(k);
    t = open_tuner(LT_TUNE_STORED);
    lt_null_counts before = lt_null_read(dev);
    LT_CHECK_OK(choose(t, &k));
    LT_CHECK(n_prepared == 1 && k && strcmp(k->name, chosen) == 0);
    LT_CHECK_EQ_INT(lt_tuner_measured(t), 0);
    LT_CHECK_EQ_INT(lt_null_read(dev).launches - before.launches, 0);
    lt_kernel_destroy(k);
    lt_tuner_destroy(t);
    lt_device_close(dev);
    (void)unlink(FILE_NAME);
    (void)unlink(FILE_NAME ".lock");
}

LT_TEST(nothing_stored_and_nothing_working_are_errors)
{
    lt_kernel *k;
    LT_CHECK_OK(lt_device_open("null", &dev));
    fails = -1;
    lt_tuner *t = open_tuner(LT_TUNE_STORED);
    LT_CHECK_FAILS(choose(t, &k), LT_ERR_MISMATCH, "a problem");
    LT_CHECK(n_prepared == 0 && !k);
    lt_tuner_destroy(t);
    t = open_tuner(LT_TUNE_MEASURE);
    lt_null_capacity(dev, 1 << 10); /* no room for the arguments */
    LT_CHECK_FAILS(choose(t, &k), LT_ERR_MEMORY, "null");
    LT_CHECK(!k);
    lt_tuner_destroy(t);
    lt_device_close(dev);
}

LT_TEST_MAIN()
