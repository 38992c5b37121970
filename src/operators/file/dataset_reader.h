/* Between a dataset and the jailed process that reads its file: what each sends. SPDX-License-Identifier: BSD-3-Clause

   The HDF5 library reads a stranger's file only in that process (dataset_serve.c) (decision 153). It first sends what it found: a head, objects, texts.
   The parent checks all of it (dataset_layout.c) and then asks for numbers and texts, each answer of a size it knows or bounds. */
#ifndef LT_OPERATORS_FILE_DATASET_READER_H
#define LT_OPERATORS_FILE_DATASET_READER_H

#include "base/status.h"

#include <sys/types.h>

enum { LT_FILE_PATH_BYTES = 256, LT_FILE_MAX_ITEMS = 10000, LT_FILE_MAX_TEXT_BYTES = 1 << 30 };

/* Element types we read; the rest is LT_ELEMENT_OTHER. */
typedef enum lt_element {
    LT_ELEMENT_OTHER, LT_ELEMENT_TEXT, LT_ELEMENT_ENUM, LT_ELEMENT_I8, LT_ELEMENT_I16, LT_ELEMENT_I32, LT_ELEMENT_I64, LT_ELEMENT_U8, LT_ELEMENT_U16,
    LT_ELEMENT_U32, LT_ELEMENT_U64, LT_ELEMENT_F16, LT_ELEMENT_F32, LT_ELEMENT_F64, LT_ELEMENT_COUNT
} lt_element;

typedef struct lt_file_item {          /* a group or an array */
    char     path[LT_FILE_PATH_BYTES], compression[96];
    int32_t  group, element;           /* group 1: no array */
    int32_t  rank, chunk_rank;         /* chunk_rank 0: in one piece */
    int32_t  element_bytes, lzf_wrong; /* of the file's type; whether its LZF filter unpacks to other sizes than its chunks have */
    int64_t  dim[LT_MAX_RANK], chunk[LT_MAX_RANK];
    uint64_t stored_bytes;
    uint64_t header, data;             /* where in the file: its object header; an array in one piece, or LT_FILE_NOWHERE */
} lt_file_item;

#define LT_FILE_NOWHERE UINT64_MAX

/* Attributes that say what the file is. */
enum { LT_FILE_CONFIG, LT_FILE_ENGINE_CONFIG, LT_FILE_ENGINE_VERSION, LT_FILE_PRECISION, LT_FILE_DATE, LT_FILE_METRICS, LT_FILE_DEVICE, LT_FILE_TEXTS };
enum { LT_FILE_ROWS, LT_FILE_REALIZATIONS, LT_FILE_GRID, LT_FILE_SHARD_INDEX, LT_FILE_SHARD_COUNT, LT_FILE_SEED, LT_FILE_SKELETON, LT_FILE_INTS };

typedef struct lt_file_head {
    int32_t  n_items, unused;
    int32_t  has_int[LT_FILE_INTS], unused2;
    int64_t  value[LT_FILE_INTS];
    uint64_t text_bytes[LT_FILE_TEXTS]; /* without a zero; UINT64_MAX: no such attribute */
} lt_file_head;

/* AS_STORED: the file's type in this machine's order, half precision as float32. */
typedef enum lt_read_what { LT_READ_F32, LT_READ_I64, LT_READ_U8, LT_READ_AS_STORED, LT_READ_LABELS, LT_READ_ATTRIBUTE, LT_READ_REST, LT_READ_WAKE } lt_read_what;
size_t lt_element_bytes(int element); /* of a number that is read as it is stored; 0: not a number */

typedef struct lt_read_request {
    int32_t what, item;                /* of the list */
    int64_t start[LT_MAX_RANK], count[LT_MAX_RANK];
    char    attribute[64];
} lt_read_request;

/* Rows of the next answer to a request for numbers: whole chunks where they are not too large. Both sides count with it. */
int64_t lt_read_piece(const lt_file_item *item, const lt_read_request *q, int64_t row);
size_t  lt_read_row_bytes(const lt_file_item *item, const lt_read_request *q);

/* What the process serves: a path that leads to this very file, and the file's own name. The library asks for that name where the path ends in
   a symbolic link, and links are not to be read in the jail. */
typedef struct lt_dataset_source { const char *path, *own; dev_t device; ino_t inode; } lt_dataset_source;
void lt_dataset_serve(void *source, int fd);
/* A process at rest ends after this time without a request, and lets go of the file with it. */
enum { LT_READ_REST_SECONDS = 1 };

const char *lt_element_name(int element);

#endif
