/* Gram matrices in files: where tiles lie, and the table of what is there. SPDX-License-Identifier: BSD-3-Clause

   Tiles are squares of `side` rows and columns, smaller at the edges. Without Y only those on and above the diagonal are units; each is written twice, the second
   time as its mirror image, unless the file holds the upper half alone (packed). A tile is computed as a whole in memory, row by row. */
#ifndef LT_QKERNEL_FILE_FILE_H
#define LT_QKERNEL_FILE_FILE_H

#include "base/files/file.h"
#include "lathe/gram.h"

/* ---- Where tiles lie (layout.c) ------------------------------------------------------------------------------------------------------- */
typedef struct lt_layout {
    int64_t n, m, side;            /* rows and columns of K; of a tile */
    bool    half, packed, f32;     /* no Y; the upper half alone; single precision */
    size_t  head;                  /* bytes before the first entry */
} lt_layout;

typedef struct lt_tile { int64_t row, n_rows, column, n_columns; } lt_tile;

/* Of the shape; side stays 0. */
lt_layout lt_layout_of(int64_t n, int64_t m, bool half, bool packed, bool f32);
static inline size_t lt_layout_entry(const lt_layout *l) { return l->f32 ? 4 : 8; }
uint64_t  lt_layout_bytes(const lt_layout *l);          /* of the whole file */
int64_t   lt_layout_tiles(const lt_layout *l);
lt_tile   lt_layout_tile(const lt_layout *l, int64_t unit);
/* Where entry (row, column) lies; of a packed one column >= row. */
uint64_t  lt_layout_at(const lt_layout *l, int64_t row, int64_t column);

/* An open file. */
typedef struct lt_open_file { int fd; const char *path; } lt_open_file;
/* Numbers of one stripe, which the two below need to turn tiles. */
int64_t   lt_layout_stripe(const lt_layout *l);
/* Writes a tile and its mirror image. */
lt_status lt_layout_write(const lt_layout *l, lt_open_file f, lt_tile t, const void *tile, void *stripe);
/* Reads a tile; *whole: its mirror image is there, too. */
lt_status lt_layout_read(const lt_layout *l, lt_open_file f, lt_tile t, void *tile, void *stripe, bool *whole);
uint64_t  lt_layout_sum(const lt_layout *l, lt_tile t, const void *tile);

/* ---- The table of tiles (table.c) --------------------------------------------------------------------------------------------------------- */
/* A head that says of which matrix, and 16 bytes for each tile: its sum, and a seal over number, sum and head; zeros where it is not there. */
enum { LT_TABLE_KIND = 112, LT_TABLE_HEAD = 256 };
typedef struct lt_tile_head {
    char     magic[16];
    char     digest[32];           /* lt_gram_digest */
    char     kind[LT_TABLE_KIND];  /* what the last bits depend on: method, precision, device */
    int64_t  n, m, side, tiles;
    uint64_t flags, seal;          /* of what is before it */
    char     unused[LT_TABLE_HEAD - 16 - 32 - LT_TABLE_KIND - 48];
} lt_tile_head;

typedef struct lt_tile_entry { uint64_t sum, seal; } lt_tile_entry;

lt_tile_head  lt_table_head(const lt_layout *l, const char *digest, const char *kind);
lt_layout     lt_table_layout(const lt_tile_head *h);
static inline bool lt_table_has(const lt_tile_entry *e) { return e->seal != 0; }
/* Reads a whole table; what cannot be one is LT_ERR_FORMAT. *entries is freed by the caller. */
lt_status lt_table_read(lt_open_file f, lt_tile_head *head, lt_tile_entry **entries);
lt_status lt_table_begin(lt_open_file f, const lt_tile_head *head);
lt_status lt_table_put(lt_open_file f, const lt_tile_head *head, int64_t unit, uint64_t sum);
/* LT_ERR_ARGUMENT where the table is of another matrix, or was made in another way. */
lt_status lt_table_match(const char *path, const lt_tile_head *found, const lt_tile_head *wanted);

#endif
