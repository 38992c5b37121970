/* Fused steps on a card where nobody measured them: tried once, remembered, and given up where they differ or do not end. The driver is
   a made-up one (tests/device/fake_cuda.c) and kernels do nothing. SPDX-License-Identifier: BSD-3-Clause */
#include "lt_test.h"

#include "base/alloc.h"
#include "base/status.h"
#include "device/backend.h"
#include "lathe/graph.h"
#include "operators/rollout/device/parts.h"

#include <glob.h>
#include <unistd.h>

static int builds;

static lt_status enqueue_nothing(const lt_kernel *k, lt_stream *st, void *const *arg)
{
    (void)k, (void)st, (void)arg;
    return LT_OK;
}
static void drop(lt_kernel *k) { lt_free(k); }
static lt_status build_nothing(lt_device *dev, const lt_kernel_key *key, lt_kernel **out)
{
    lt_kernel *k = lt_calloc(1, sizeof *k);
    if (!k) return LT_ERR_MEMORY;
    *k = (lt_kernel){ .name = "nothing", .enqueue = enqueue_nothing, .destroy = drop, .module = dev->state, .n_args = key->n_args, .scratch_bytes = key->scratch_bytes };
    *out = k;
    __atomic_fetch_add(&builds, 1, __ATOMIC_RELAXED);
    return LT_OK;
}

/* The only file of this kind in the cache. */
static bool find(const char *folder, const char *pattern, char path[512])
{
    char text[512];
    glob_t g;
    snprintf(text, sizeof text, "%s/%s", folder, pattern);
    bool found = !glob(text, 0, NULL, &g);
    if (found) snprintf(path, 512, "%s", g.gl_pathv[0]);
    globfree(&g);
    return found;
}

static bool verdict(lt_device *dev, bool may_try, const char *reason)
{
    char why[160];
    bool taken = true;
    LT_CHECK_OK(lt_step_trial(dev, LT_PRECISION_TF32, may_try, &taken, why));
    if (reason && !strstr(why, reason)) LT_TEST_FAIL("'%s' does not say '%s'", why, reason);
    return taken;
}

LT_TEST(steps_are_tried_once_and_remembered)
{
    char folder[] = "/tmp/lathe-trial-XXXXXX", path[512], marker[512];
    lt_device *dev = NULL;
    LT_CHECK(mkdtemp(folder) != NULL);
    setenv("LATHE_CACHE", folder, 1);
    LT_CHECK_OK(lt_device_open("cuda", &dev));
    const lt_backend *real = dev->backend;
    lt_backend table = *real;
    table.build = build_nothing;
    dev->backend = &table;

    LT_CHECK(!verdict(dev, false, "have not been tried"));
    LT_CHECK_EQ_INT(builds, 0);
    LT_CHECK(!verdict(dev, true, "mma was off")); /* nothing was computed */
    LT_CHECK(builds > 20);
    int before = builds;
    LT_CHECK(!verdict(dev, true, "mma was off") && !verdict(dev, false, "mma was off"));
    LT_CHECK_EQ_INT(builds, before);
    LT_CHECK(!find(folder, "trial-*.trying", path));

    /* A process that was ended by its trial leaves a marker, and the next one does not try. */
    LT_CHECK(find(folder, "tune-*.txt", path) && unlink(path) == 0);
    LT_CHECK(find(folder, "trial-*.lock", path));
    snprintf(marker, sizeof marker, "%.*s.trying", (int)(strlen(path) - strlen(".lock")), path);
    FILE *f = fopen(marker, "w");
    LT_CHECK(f && fclose(f) == 0);
    LT_CHECK(!verdict(dev, true, "did not end"));
    LT_CHECK_EQ_INT(builds, before);
    LT_CHECK(access(marker, F_OK) != 0);

    /* Where the file says so they are taken. */
    lt_tuner *t = NULL;
    lt_tune_entry e;
    char line[4096];
    LT_CHECK_OK(lt_tuner_open(dev, LT_TUNE_ESTIMATE, NULL, &t));
    LT_CHECK(lt_tuner_entry(t, 0, &e));
    snprintf(line, sizeof line, "%s\n%s : mma : 12 us\n", lt_tuner_header(t), e.problem);
    f = fopen(lt_tuner_path(t), "w");
    LT_CHECK(f && fputs(line, f) >= 0 && fclose(f) == 0);
    lt_tuner_destroy(t);
    LT_CHECK(verdict(dev, true, NULL) && verdict(dev, false, NULL));

    setenv("LATHE_CACHE", "/proc/nowhere", 1); /* nothing can be remembered: the graph runs, as before */
    LT_CHECK(!verdict(dev, true, "cannot be tried"));

    dev->backend = real;
    lt_device_close(dev);
    char command[600];
    snprintf(command, sizeof command, "rm -r '%s'", folder);
    LT_CHECK_EQ_INT(system(command), 0);
}

LT_TEST_MAIN()
