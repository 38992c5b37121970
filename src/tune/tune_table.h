/* The tuner's table of answers, and its file. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_TUNE_TUNE_TABLE_H
#define LT_TUNE_TUNE_TABLE_H

#include "lathe/tune.h"

enum { LT_TUNE_TEXT_MAX = 400, LT_TUNE_HEADER_MAX = 512, LT_TUNE_ENTRIES_MAX = 200000 };
#define LT_TUNE_FILE_MAX_BYTES ((size_t)64 << 20)

typedef struct lt_tune_item {
    char  *problem, *choice;          /* one allocation: choice lies behind problem */
    double time_us;
    bool   measured;                  /* by this process: wins over what a file says */
} lt_tune_item;

typedef struct lt_tune_table {        /* zero-initialised is empty */
    lt_tune_item *item;
    int64_t       n, max;
    int32_t      *slot;               /* open addressing: item + 1, 0 = free */
    int64_t       n_slots;            /* a power of two, at least twice n */
} lt_tune_table;

void          lt_tune_table_release(lt_tune_table *t);
lt_tune_item *lt_tune_table_find(const lt_tune_table *t, const char *problem);
/* Adds a problem, or replaces its answer. */
lt_status     lt_tune_table_put(lt_tune_table *t, const char *problem, const char *choice, double time_us, bool measured);

/* Printable ASCII, no " : ", neither empty nor with spaces at its ends, not too long. */
bool      lt_tune_text_ok(const char *text);
bool      lt_tune_time_ok(double time_us);

/* tune_file.c: the text form. `path` is for messages. */
lt_status lt_tune_parse(const char *text, size_t bytes, const char *header, const char *path, lt_tune_table *out);
lt_status lt_tune_read(const char *path, const char *header, lt_tune_table *out); /* *out empty on failure */
lt_status lt_tune_write(const char *path, const char *header, const lt_tune_table *t);

#endif
