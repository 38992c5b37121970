/* A kernel that writes where it must not: the device is lost, and says so, and nothing hangs or
   crashes afterwards. A program of its own, as the fault ends the device for the whole process.
   SPDX-License-Identifier: BSD-3-Clause */
#include "device/stream.h"
#include "lt_test.h"

static const char source[] = "extern \"C\" __global__ void stray(float *x) { x[(1ull << 45) + threadIdx.x] = 1; }";

LT_TEST(a_stray_write_loses_the_device_with_a_clear_text)
{
    lt_device *dev;
    if (lt_device_open("cuda", &dev)) LT_SKIP("%s", lt_error_text());
    const lt_kernel_key key = { .name = "stray", .source = source, .entry = "stray", .n_args = 1, .grid = { 1, 1, 1 }, .block = { 32, 1, 1 } };
    lt_kernel *k = NULL;
    void *x = NULL;
    float kept = 3;
    lt_stream *st = lt_device_stream(dev);
    LT_CHECK_OK(lt_device_build(dev, &key, &k));
    LT_CHECK_OK(lt_device_alloc(dev, st, 256, "test", &x));
    LT_CHECK_OK(lt_stream_launch(st, &(lt_launch){ k, &x }));
    LT_CHECK_FAILS(lt_stream_sync(st), LT_ERR_DEVICE, "lost");
    LT_CHECK_FAILS(lt_stream_copy(st, &kept, x, sizeof kept, LT_TRANSFER_D2H, false), LT_ERR_DEVICE, "lost since an earlier fault");
    LT_CHECK(kept == 3);
    void *y = NULL;
    LT_CHECK_FAILS(lt_device_alloc(dev, st, (size_t)1 << 30, "test", &y), LT_ERR_DEVICE, "start again");
    lt_kernel_destroy(k);
    (void)lt_device_free(dev, st, x);
    lt_device_close(dev);
}

LT_TEST_MAIN()
