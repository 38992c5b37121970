/* LT_OOM_AT=2 in the environment makes the second allocation of the process fail.
   SPDX-License-Identifier: BSD-3-Clause */
#include "lt_test.h"

#include "base/alloc.h"

LT_TEST(second_allocation_fails)
{
    if (!getenv("LT_OOM_AT")) LT_SKIP("run by ctest with LT_OOM_AT=2");
    void *a = lt_malloc(8), *b = lt_malloc(8), *c = lt_malloc(8);
    LT_CHECK(a && !b && c);
    LT_CHECK(strstr(lt_error_text(), "memory: no memory for 8 bytes"));
    lt_free(a), lt_free(b), lt_free(c);
}

LT_TEST_MAIN()
