/* Crafted dataset files: a good one with one thing changed. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_TEST_CRAFT_H
#define LT_TEST_CRAFT_H

#include <stdbool.h>
#include <stdint.h>

/* What is done to an array, or to an attribute "object@name". */
typedef enum craft_change {
    CRAFT_MISSING, CRAFT_GROUP, CRAFT_SCALAR, CRAFT_RANK_MORE, CRAFT_RANK_LESS, CRAFT_ROWS_MORE, CRAFT_ROWS_NONE, CRAFT_WIDER, CRAFT_NARROWER,
    CRAFT_INTEGERS, CRAFT_FLOATS, CRAFT_TEXT, CRAFT_FIXED_TEXT, CRAFT_COMPOUND, CRAFT_OPAQUE, CRAFT_ODD_FLOAT, CRAFT_REFERENCES, CRAFT_HUGE_CHUNK,
    CRAFT_LZF_WRONG, CRAFT_ARRAY_CHANGES,
    /* arrays that lead out of the file or to other code */
    CRAFT_SOFT_LINK = CRAFT_ARRAY_CHANGES, CRAFT_EXTERNAL_LINK, CRAFT_USER_LINK, CRAFT_EXTERNAL_STORAGE, CRAFT_VIRTUAL, CRAFT_COMMITTED, CRAFT_FILTER, CRAFT_CHANGES,
    /* attributes */
    CRAFT_ATTRIBUTE_MISSING = CRAFT_CHANGES, CRAFT_ATTRIBUTE_INT, CRAFT_ATTRIBUTE_HUGE_INT, CRAFT_ATTRIBUTE_FLOAT, CRAFT_ATTRIBUTE_LIST,
    CRAFT_ATTRIBUTE_FIXED, CRAFT_ATTRIBUTE_COMPOUND, CRAFT_ATTRIBUTE_EMPTY, CRAFT_ATTRIBUTE_GARBAGE, CRAFT_ALL
} craft_change;

extern const char *const craft_arrays[], *const craft_attributes[]; /* each ends with NULL */
const char *craft_name(int change);
/* Copies `good` to `bad` and changes what lies at `where`. False when this cannot be done to it. */
bool craft_file(const char *good, const char *bad, const char *where, int change);
/* The same to a file that is open, an hid_t. */
bool craft_open(int64_t file, const char *where, int change);
/* Closes the file and whatever of it is still open: a type that stays would keep the whole file open. */
void craft_close(int64_t file);
/* Every array claims this many rows; none are stored. */
bool craft_rows(const char *good, const char *bad, long long rows);
/* Every number of a small array is this one. */
bool craft_value(const char *good, const char *bad, const char *where, double value);

#endif
