/* A dataset file open for reading. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_OPERATORS_FILE_DATASET_FILE_H
#define LT_OPERATORS_FILE_DATASET_FILE_H

#include "base/jail.h"
#include "lathe/dataset.h"
#include "operators/file/dataset_reader.h"

#include <time.h>

typedef struct lt_dataset_texts_kept { struct lt_dataset_texts_kept *next; char *path; int64_t n; char **list; } lt_dataset_texts_kept;

struct lt_dataset {
    char           *path, *own;         /* as given; where no link is in the way */
    lt_jail         reader;             /* the process that has the file open */
    lt_dataset_source source;
    struct timespec modified, changed;  /* when it was opened */
    bool            may_rest, rests;
    int             n_items;
    lt_file_item   *item;
    lt_dataset_info info;
    uint64_t        skeleton_bytes;     /* of the file before its first row (store_order.c); 0: it does not say */
    char           *text[LT_FILE_TEXTS]; /* of info, owned */
    lt_dataset_texts_kept *kept;
};

/* An object of the file, or NULL. */
const lt_file_item *lt_dataset_find(const lt_dataset *d, const char *path);
lt_shape            lt_dataset_item_shape(const lt_file_item *item);

/* Every array that we know has the shape and type it must have; fills in the sizes of d->info. */
lt_status lt_dataset_check_layout(lt_dataset *d, const lt_file_head *head);
/* Checks that the file is large enough for what it claims to hold, as far as compression allows: for arrays written whole at the start
   (`all`), or for `rows` finished rows of the others. Reading then takes time in proportion to the file, not to its claims. */
lt_status lt_dataset_check_stored(const lt_dataset *d, bool all, int64_t rows);
/* A box inside an array of numbers, as stored (lt_element_bytes), rows in order; the caller knows that it lies inside. The answer is taken before the next is asked
   for; in between the process that reads the file works on it. */
typedef struct lt_dataset_box { const lt_file_item *item; int item_number; int64_t start[LT_MAX_RANK], count[LT_MAX_RANK]; } lt_dataset_box;
lt_status lt_dataset_ask_box(lt_dataset *d, const lt_dataset_box *b);
lt_status lt_dataset_take_box(lt_dataset *d, const lt_dataset_box *b, void *out);
/* The state of every row, [rows]; all done where the file keeps none. */
lt_status lt_dataset_read_codes(lt_dataset *d, uint8_t *code);

#endif
