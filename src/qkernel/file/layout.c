/* Where tiles of K lie in a .npy file. SPDX-License-Identifier: BSD-3-Clause */
#include "qkernel/file/file.h"

#include "base/files/npy.h"
#include "base/hash.h"
#include "base/status.h"

#include <string.h>

enum { STRIPE = 64 }; /* rows of a mirror image that are turned at a time */

lt_layout lt_layout_of(int64_t n, int64_t m, bool half, bool packed, bool f32)
{
    lt_shape shape = packed ? lt_shape1(n * (n + 1) / 2) : lt_shape2(n, m);
    return (lt_layout){ .n = n, .m = m, .half = half, .packed = packed, .f32 = f32, .head = lt_npy_header_format(f32 ? LT_F32 : LT_F64, &shape).n };
}

static uint64_t entries_before(const lt_layout *l, int64_t row)
{
    uint64_t r = (uint64_t)row, n = (uint64_t)l->n;
    return l->packed ? r * n - (r * r - r) / 2 : r * (uint64_t)l->m;
}

uint64_t lt_layout_bytes(const lt_layout *l) { return l->head + entries_before(l, l->n) * lt_layout_entry(l); }

uint64_t lt_layout_at(const lt_layout *l, int64_t row, int64_t column)
{
    uint64_t at = entries_before(l, row) + (uint64_t)(l->packed ? column - row : column);
    return l->head + at * lt_layout_entry(l);
}

/* ---- Units ---------------------------------------------------------------------------------------------------------------------------- */

static int64_t across(const lt_layout *l) { return (l->m + l->side - 1) / l->side; }
static int64_t down(const lt_layout *l) { return (l->n + l->side - 1) / l->side; }

int64_t lt_layout_tiles(const lt_layout *l) { return l->half ? down(l) * (down(l) + 1) / 2 : down(l) * across(l); }

lt_tile lt_layout_tile(const lt_layout *l, int64_t unit)
{
    int64_t i = 0, j;
    if (l->half) {
        for (; unit >= across(l) - i; i++) unit -= across(l) - i;
        j = i + unit;
    } else {
        i = unit / across(l);
        j = unit % across(l);
    }
    lt_tile t = { .row = i * l->side, .column = j * l->side };
    t.n_rows = LT_MIN(l->side, l->n - t.row);
    t.n_columns = LT_MIN(l->side, l->m - t.column);
    return t;
}

static bool on_diagonal(const lt_layout *l, lt_tile t) { return l->half && t.row == t.column; }
static bool has_image(const lt_layout *l, lt_tile t) { return l->half && !l->packed && t.row != t.column; }

uint64_t lt_layout_sum(const lt_layout *l, lt_tile t, const void *tile)
{
    return lt_hash64(tile, (size_t)(t.n_rows * t.n_columns) * lt_layout_entry(l), (uint64_t)t.row * 0x9e3779b97f4a7c15u + (uint64_t)t.column);
}

/* ---- Reading and writing ------------------------------------------------------------------------------------------------------------------ */

int64_t lt_layout_stripe(const lt_layout *l) { return 2 * STRIPE * l->side; }

/* Columns first..first+count-1 of the tile become rows, in squares that stay in the cache. */
static void turn(const lt_layout *l, lt_tile t, const void *tile, int64_t first, int64_t count, void *stripe)
{
    enum { SQUARE = 16 };
    for (int64_t r0 = 0; r0 < t.n_rows; r0 += SQUARE)
        for (int64_t c = 0; c < count; c++)
            for (int64_t r = r0; r < LT_MIN(r0 + SQUARE, t.n_rows); r++) {
                int64_t from = r * t.n_columns + first + c, to = c * t.n_rows + r;
                if (l->f32) ((float *)stripe)[to] = ((const float *)tile)[from];
                else ((double *)stripe)[to] = ((const double *)tile)[from];
            }
}

/* Columns of row r of the tile that the file has at this place: all, or those from the diagonal on. */
static int64_t first_column(const lt_layout *l, lt_tile t, int64_t r) { return l->packed && on_diagonal(l, t) ? r : 0; }

static lt_status write_image(const lt_layout *l, lt_open_file f, lt_tile t, const void *tile, char *stripe)
{
    size_t bytes = (size_t)t.n_rows * lt_layout_entry(l);
    for (int64_t first = 0; first < t.n_columns; first += STRIPE) {
        int64_t count = LT_MIN((int64_t)STRIPE, t.n_columns - first);
        turn(l, t, tile, first, count, stripe);
        for (int64_t c = 0; c < count; c++)
            LT_TRY(lt_file_write_at(f.fd, f.path, lt_layout_at(l, t.column + first + c, t.row), stripe + (size_t)c * bytes, bytes));
    }
    return LT_OK;
}

lt_status lt_layout_write(const lt_layout *l, lt_open_file f, lt_tile t, const void *tile, void *stripe)
{
    size_t each = lt_layout_entry(l);
    for (int64_t r = 0; r < t.n_rows; r++) {
        int64_t c = first_column(l, t, r);
        LT_TRY(lt_file_write_at(f.fd, f.path, lt_layout_at(l, t.row + r, t.column + c), (const char *)tile + (size_t)(r * t.n_columns + c) * each,
                                (size_t)(t.n_columns - c) * each));
    }
    return has_image(l, t) ? write_image(l, f, t, tile, stripe) : LT_OK;
}

static lt_status read_image(const lt_layout *l, lt_open_file f, lt_tile t, const void *tile, char *stripe, bool *same)
{
    size_t bytes = (size_t)t.n_rows * lt_layout_entry(l);
    char *found = stripe + STRIPE * (size_t)l->side * lt_layout_entry(l);
    for (int64_t first = 0; first < t.n_columns && *same; first += STRIPE) {
        int64_t count = LT_MIN((int64_t)STRIPE, t.n_columns - first);
        turn(l, t, tile, first, count, stripe);
        for (int64_t c = 0; c < count; c++) LT_TRY(lt_file_read_at(f.fd, f.path, lt_layout_at(l, t.column + first + c, t.row), found + (size_t)c * bytes, bytes));
        *same = !memcmp(stripe, found, (size_t)count * bytes);
    }
    return LT_OK;
}

/* The half below the diagonal of a tile that has only the other. */
static void mirror(const lt_layout *l, lt_tile t, void *tile)
{
    for (int64_t r = 1; r < t.n_rows; r++)
        for (int64_t c = 0; c < r; c++) {
            int64_t to = r * t.n_columns + c, from = c * t.n_columns + r;
            if (l->f32) ((float *)tile)[to] = ((const float *)tile)[from];
            else ((double *)tile)[to] = ((const double *)tile)[from];
        }
}

lt_status lt_layout_read(const lt_layout *l, lt_open_file f, lt_tile t, void *tile, void *stripe, bool *whole)
{
    size_t each = lt_layout_entry(l);
    *whole = true;
    for (int64_t r = 0; r < t.n_rows; r++) {
        int64_t c = first_column(l, t, r);
        LT_TRY(lt_file_read_at(f.fd, f.path, lt_layout_at(l, t.row + r, t.column + c), (char *)tile + (size_t)(r * t.n_columns + c) * each, (size_t)(t.n_columns - c) * each));
    }
    if (l->packed && on_diagonal(l, t)) mirror(l, t, tile);
    return has_image(l, t) ? read_image(l, f, t, tile, stripe, whole) : LT_OK;
}
