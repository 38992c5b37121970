/* A small JSON writer: escaping, commas and numbers done right, nothing else.
   SPDX-License-Identifier: BSD-3-Clause */
#ifndef LATHE_JSON_H
#define LATHE_JSON_H

#include "lathe/base.h"

#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The first failure (a full disk, no memory, a value where a key belongs) is kept, every later
   call does nothing, and lt_json_finish returns it: callers check once, at the end.

       lt_json *j;
       LT_TRY(lt_json_create_file(stdout, LT_JSON_INDENT, &j));
       lt_json_object_begin(j);
       lt_json_field_string(j, "device", "cpu");
       lt_json_object_end(j);
       lt_status s = lt_json_finish(j);
       lt_json_destroy(j);
*/
typedef struct lt_json lt_json; /* opaque */

enum {                       /* style: any of these or'ed together */
    LT_JSON_COMPACT = 0,
    LT_JSON_INDENT = 1,      /* one member per line, two spaces per level */
    LT_JSON_NONFINITE_TEXT = 2 /* NaN and infinities as "NaN", "Infinity", "-Infinity"; else null */
};

/* Writes to memory; the text is read with lt_json_text. */
LT_API lt_status lt_json_create(int style, lt_json **out);
/* Writes to file as it goes (borrowed; neither flushed before finish nor closed). */
LT_API lt_status lt_json_create_file(FILE *file, int style, lt_json **out);
LT_API void      lt_json_destroy(lt_json *j); /* NULL is allowed */

/* Checks that every object and array was closed and reports the first failure. A document in
   a file ends with a newline and is flushed. */
LT_API lt_status   lt_json_finish(lt_json *j);
/* The text written so far, zero terminated, owned by j; "" for a writer to a file. */
LT_API const char *lt_json_text(const lt_json *j);

LT_API void lt_json_object_begin(lt_json *j);
LT_API void lt_json_object_end(lt_json *j);
LT_API void lt_json_array_begin(lt_json *j);
LT_API void lt_json_array_end(lt_json *j);
LT_API void lt_json_key(lt_json *j, const char *key);        /* then exactly one value */
LT_API void lt_json_string(lt_json *j, const char *text);    /* NULL writes null; bad UTF-8 becomes U+FFFD */
LT_API void lt_json_double(lt_json *j, double value);        /* shortest text that reads back equal */
LT_API void lt_json_int(lt_json *j, int64_t value);
LT_API void lt_json_bool(lt_json *j, bool value);
LT_API void lt_json_null(lt_json *j);

/* A key and its value. */
LT_API void lt_json_field_string(lt_json *j, const char *key, const char *text);
LT_API void lt_json_field_double(lt_json *j, const char *key, double value);
LT_API void lt_json_field_int(lt_json *j, const char *key, int64_t value);
LT_API void lt_json_field_bool(lt_json *j, const char *key, bool value);

#ifdef __cplusplus
}
#endif
#endif
