/* The fields of a checkpoint, one at a time and in both directions. A file may be anything, its digest included: each field says
   what it is called and what it may be, and nothing else is taken over. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_OPTIMIZE_OUTPUT_CHECKPOINT_FIELDS_H
#define LT_OPTIMIZE_OUTPUT_CHECKPOINT_FIELDS_H

#include "base/files/file.h"
#include "base/hash.h"

#define LT_SAVED_MOST ((int64_t)1 << 60) /* of a count: nothing overflows that a run adds to it, and ns of 36 years fit */

typedef struct lt_saved {
    bool   writing;
    lt_status status;      /* the first failure; fields after it are skipped, and keep their values */
    lt_atomic_file file;   /* writing */
    lt_sha256 hash;
    const char *path;      /* reading, for messages */
    char  *data;           /* the whole file; */
    const char *at, *end;  /* and what is left of its fields */
} lt_saved;

typedef enum lt_saved_rule {
    LT_SAVED_ANY,          /* NaN and infinity are answers, or are found out where they are used */
    LT_SAVED_NUMBER,       /* not NaN */
    LT_SAVED_FINITE
} lt_saved_rule;

/* Tables: rows of fields that are walked one after the other. */
typedef struct lt_saved_count { const char *name; int64_t *at, least, most; } lt_saved_count;
typedef struct lt_saved_number { const char *name; double *at; lt_saved_rule rule; } lt_saved_number;

void lt_saved_counts(lt_saved *io, const lt_saved_count *row, size_t n);
void lt_saved_numbers(lt_saved *io, const lt_saved_number *row, size_t n);

void lt_saved_int(lt_saved *io, const char *name, int32_t *at, int32_t least, int32_t most);
void lt_saved_word(lt_saved *io, uint64_t *at); /* all values are allowed */
void lt_saved_flags(lt_saved *io, const char *name, bool *at, int64_t count);
void lt_saved_text(lt_saved *io, const char *name, char *text, size_t size); /* at most size - 1 bytes */
void lt_saved_reals(lt_saved *io, const char *name, double *at, int64_t count, lt_saved_rule rule);
/* Numbers of slots, each below the next one. */
void lt_saved_ascending(lt_saved *io, const char *name, int64_t *at, int64_t count, int64_t below);
void lt_saved_skip(lt_saved *io, size_t bytes); /* reading */

/* For what fields must be to each other: a failure of the file unless `holds`. */
void lt_saved_expect(lt_saved *io, bool holds, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Failures are in io->status; commit and close come in any case. Closing finds out whether fields are left over. */
void lt_saved_create(lt_saved *io, const char *path);
lt_status lt_saved_commit(lt_saved *io);
void lt_saved_open(lt_saved *io, const char *path);
lt_status lt_saved_close(lt_saved *io);

#endif
