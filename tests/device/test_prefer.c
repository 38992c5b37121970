/* Which GPU is meant where no number is said: ranks of one machine share them out. The driver is made up, with two devices. SPDX-License-Identifier: BSD-3-Clause */
#include "device/flags.h"
#include "lt_test.h"

static void expect(const char *name, const char *id)
{
    lt_device *dev = NULL;
    LT_CHECK_OK(lt_device_open(name, &dev));
    if (!dev) return;
    LT_CHECK(!strcmp(lt_device_id(dev), id));
    lt_device_close(dev);
}

LT_TEST(numbers_go_round_the_gpus_that_are_here)
{
    expect("cuda", "cuda:0");
    for (int rank = 0; rank < 5; rank++) {
        lt_device_prefer(rank);
        expect("cuda", rank % 2 ? "cuda:1" : "cuda:0");
        expect("cuda:0", "cuda:0"); /* a number is a number */
        expect("cuda:1", "cuda:1");
        expect("cpu", "cpu");
        expect("null", "null");
    }
    lt_device_prefer(0);
}

LT_TEST_MAIN()
