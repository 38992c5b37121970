/* Names of the enumerations. SPDX-License-Identifier: BSD-3-Clause */
#include "lt_test.h"
#include "operators/config/names.h"

#include <string.h>

LT_TEST(every_value_has_its_own_name)
{
    for (int i = 0; i < LT_ACT_COUNT; i++)
        for (int j = 0; j < i; j++) LT_CHECK(strcmp(lt_activation_name((lt_activation)i), lt_activation_name((lt_activation)j)) != 0);
    LT_CHECK(strcmp(lt_policy_name(LT_POLICY_CONVEX), "convex") == 0);
    LT_CHECK(strcmp(lt_precision_name(LT_PRECISION_BFLOAT16), "bfloat16") == 0);
    LT_CHECK(!lt_noise_names[LT_NOISE_COUNT] && !lt_normalization_names[LT_NORM_COUNT]);
}

LT_TEST(out_of_range_is_a_question_mark)
{
    LT_CHECK(strcmp(lt_operator_kind_name((lt_operator_kind)-1), "?") == 0);
    LT_CHECK(strcmp(lt_noise_schedule_name(LT_SCHEDULE_COUNT), "?") == 0);
}

LT_TEST_MAIN()
