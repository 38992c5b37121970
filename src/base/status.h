/* Making and passing on failures. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_BASE_STATUS_H
#define LT_BASE_STATUS_H

#include "lathe/base.h"

#define LT_ERROR_TEXT_BYTES 1024 /* longer messages are cut; the place at the end is kept */

/* Records "<status>: <text> (<file>:<line>)" for this thread and returns s. */
lt_status lt_fail_at(lt_status s, const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
#define LT_FAIL(status, ...) lt_fail_at((status), __FILE__, __LINE__, __VA_ARGS__)

/* Sets this thread's text as it stands: the pool hands a worker's failure to its caller. */
void lt_error_set(const char *text);

/* This thread's text without status and place, for a failure that quotes it. Fits LT_ERROR_TEXT_BYTES. */
void lt_error_reason(char *out, size_t bytes);

/* Returns from the caller when the call fails; the text is already set. */
#define LT_TRY(call)                                \
    do {                                            \
        lt_status lt_try_status_ = (call);          \
        if (lt_try_status_) return lt_try_status_;  \
    } while (0)

#define LT_LEN(array) (sizeof(array) / sizeof(array)[0])
#define LT_MIN(a, b) ((a) < (b) ? (a) : (b))
#define LT_MAX(a, b) ((a) > (b) ? (a) : (b))

#endif
