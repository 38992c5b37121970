/* What processes that share work compare of their machines. SPDX-License-Identifier: BSD-3-Clause */
#include "lt_test.h"

#include "kernels/arithmetic.h"

#include <stdlib.h>
#include <string.h>

static const char *text_of(const lt_arithmetic *a, const char *what)
{
    for (int i = 0; i < a->n; i++)
        if (!strcmp(a->trait[i].what, what)) return a->trait[i].text;
    return NULL;
}

/* Each is there once and says something. */
static void check_traits(const lt_arithmetic *a)
{
    LT_CHECK(a->n > 0 && a->n <= LT_ARITHMETIC_TRAITS);
    for (int i = 0; i < a->n; i++) {
        LT_CHECK(a->trait[i].text[0] && strlen(a->trait[i].text) < sizeof a->trait[i].text - 1);
        LT_CHECK(text_of(a, a->trait[i].what) == a->trait[i].text);
    }
}

LT_TEST(a_processor_has_the_same_traits_each_time)
{
    lt_arithmetic own, all, again;
    LT_CHECK_OK(lt_arithmetic_describe(NULL, false, &own));
    LT_CHECK_OK(lt_arithmetic_describe(NULL, true, &all));
    LT_CHECK_OK(lt_arithmetic_describe(NULL, true, &again));
    check_traits(&own);
    check_traits(&all);
    LT_CHECK(all.n > own.n && all.n == again.n);
    for (int i = 0; i < all.n; i++) LT_CHECK(!strcmp(all.trait[i].text, again.trait[i].text));
    LT_CHECK(text_of(&own, "instruction set") && !text_of(&own, "OpenBLAS") && text_of(&all, "OpenBLAS") && text_of(&all, "processor caches"));
    LT_CHECK(!text_of(&all, "kind of GPU"));
}

LT_TEST(a_gpu_adds_its_own)
{
    lt_arithmetic cpu, gpu;
    lt_device *dev;
    LT_CHECK_OK(lt_device_open("cuda", &dev)); /* made up: tests/device/fake_cuda.c */
    LT_CHECK_OK(lt_arithmetic_describe(NULL, true, &cpu));
    LT_CHECK_OK(lt_arithmetic_describe(dev, true, &gpu));
    check_traits(&gpu);
    LT_CHECK_EQ_INT(gpu.n, cpu.n + 2);
    LT_CHECK(strstr(text_of(&gpu, "kind of GPU"), "fake GPU") && strstr(text_of(&gpu, "CUDA libraries"), "NVRTC 12."));
    lt_device_close(dev);
}

LT_TEST_MAIN()
