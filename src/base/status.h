/* Making and passing on failures. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_BASE_STATUS_H
#define LT_BASE_STATUS_H

#include "lathe/base.h"

#define LT_ERROR_TEXT_BYTES 1024 /* longer messages are cut; the source line at the end is kept */

/* Records "<status>: <text> (<file>:<line>)" for this thread, without a place, and returns s. */
lt_status lt_fail_at(lt_status s, const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
#define LT_FAIL(status, ...) lt_fail_at((status), __FILE__, __LINE__, __VA_ARGS__)

/* What the failure just recorded is about (decision 171); each returns s: return lt_place_option(LT_FAIL(…), row->name). */
lt_status lt_place_argument(lt_status s, const char *name);
lt_status lt_place_option(lt_status s, const char *name);
lt_status lt_place_file(lt_status s, const char *path);
lt_status lt_place_line(lt_status s, const char *name, int64_t line, int64_t column);
lt_status lt_place_row(lt_status s, const char *array, int64_t row, int64_t column);
lt_status lt_place_objective(lt_status s);
lt_status lt_place_constraint(lt_status s, bool equality, int64_t index);
lt_status lt_place_again(lt_status s, const lt_error_place *p); /* that of an earlier failure, which this one quotes */

/* Sets this thread's text as it stands, without a place. */
void lt_error_set(const char *text);

/* A failure that is handed to another thread, or kept for later: text and place. */
typedef struct lt_error {
    char           text[LT_ERROR_TEXT_BYTES];
    lt_error_place place;
} lt_error;
void lt_error_keep(lt_error *out);           /* of this thread */
void lt_error_restore(const lt_error *e);

/* Whether a character of n bytes, right as UTF-8, steers a terminal: a control character, or a mark that turns the direction of writing. */
bool lt_text_steers(const char *text, size_t n);

/* This thread's text without status and source line, for a failure that quotes it. Fits LT_ERROR_TEXT_BYTES. */
void lt_error_reason(char *out, size_t bytes);

/* Returns from the caller when the call fails; the text is already set. */
#define LT_TRY(call)                                \
    do {                                            \
        lt_status lt_try_status_ = (call);          \
        if (lt_try_status_) return lt_try_status_;  \
    } while (0)

/* The first lines of a public function: what its caller has to give. */
#define LT_NEED(argument)                                                                               \
    do {                                                                                                \
        if (!(argument)) return LT_FAIL(LT_ERR_ARGUMENT, "%s: %s is NULL", __func__, #argument);        \
    } while (0)

#define LT_LEN(array) (sizeof(array) / sizeof(array)[0])
#define LT_MIN(a, b) ((a) < (b) ? (a) : (b))
#define LT_MAX(a, b) ((a) > (b) ? (a) : (b))

#endif
