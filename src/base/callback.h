/* What a caller's function returned. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_BASE_CALLBACK_H
#define LT_BASE_CALLBACK_H

#include "base/status.h"

/* A number that is no status would be passed on to callers whose tables end before it. */
static inline lt_status lt_callback_status(const char *what, lt_status s)
{
    if ((unsigned)s < LT_STATUS_COUNT) return s;
    return LT_FAIL(LT_ERR_ARGUMENT, "%s returned %d, which is no status: expected 0 to %d", what, (int)s, LT_STATUS_COUNT - 1);
}

#endif
