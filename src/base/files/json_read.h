/* Reading JSON that lathe wrote: a text is checked once, then values are looked up in it. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_BASE_FILES_JSON_READ_H
#define LT_BASE_FILES_JSON_READ_H

#include "lathe/base.h"

/* Where a value of a checked text begins; NULL: there is none. */
typedef const char *lt_json_at;

/* One whole value and nothing behind it, or LT_ERR_FORMAT with file and line. `text` ends with a zero byte; `name` is for messages. */
lt_status  lt_json_check(const char *name, const char *text, size_t n_bytes);
lt_json_at lt_json_member(lt_json_at object, const char *key);     /* NULL also where that is no object */
/* The k-th key of an object with its value; false past the last. Keys are as written: escapes stay. */
bool       lt_json_key_at(lt_json_at object, int64_t k, const char **key, size_t *key_bytes, lt_json_at *value);
/* How many numbers a number or nested lists hold, row major; -1: other things are among them. */
int64_t    lt_json_count(lt_json_at value);
void       lt_json_numbers(lt_json_at value, double *out);         /* as many; "NaN", "Infinity" and "-Infinity" are the numbers they name */

#endif
