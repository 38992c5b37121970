/* Rows of a finished matrix, read without the rest; what lies on the disk against its checksums. SPDX-License-Identifier: BSD-3-Clause */
#include "qkernel/file/file.h"

#include "base/alloc.h"
#include "base/files/file.h"
#include "base/files/npy.h"
#include "base/sized.h"
#include "base/status.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct lt_gram_file {
    lt_open_file   file;
    char          *path, *table_path;
    lt_layout      layout;
    lt_tile_head   head;   /* of the table beside it */
    lt_tile_entry *entry;  /* NULL: there is none */
};

/* ---- Opening ------------------------------------------------------------------------------------------------------------------------------ */

static lt_status take_shape(lt_gram_file *f, const lt_npy_header *h)
{
    int64_t n = h->shape.dim[0], m = h->shape.rank == 2 ? h->shape.dim[1] : 0;
    if (h->dtype != LT_F64 && h->dtype != LT_F32) return LT_FAIL(LT_ERR_FORMAT, "%s: holds %s, expected float64 or float32", f->path, lt_dtype_name(h->dtype));
    if (h->swapped || h->fortran_order || h->kind != 'f' || h->item_bytes != (int)lt_dtype_size(h->dtype))
        return LT_FAIL(LT_ERR_FORMAT, "%s: rows are not stored one after the other in this machine's byte order", f->path);
    if (h->shape.rank == 1 && n > 0) {
        int64_t entries = n;
        n = (int64_t)((sqrt(8.0 * (double)entries + 1) - 1) / 2);
        while (n * (n + 1) / 2 < entries) n++;
        while (n * (n + 1) / 2 > entries) n--;
        m = n * (n + 1) / 2 == entries ? n : 0;
    }
    if (n < 1 || m < 1)
        return LT_FAIL(LT_ERR_FORMAT, "%s: has shape %s, expected a matrix, or n (n + 1) / 2 entries of the upper half of one", f->path, lt_shape_str(&h->shape).s);
    bool packed = h->shape.rank == 1;
    f->layout = lt_layout_of(n, m, packed, packed, h->dtype == LT_F32);
    return LT_OK;
}

static lt_status read_header(lt_gram_file *f)
{
    lt_file_source source;
    lt_npy_header h;
    LT_TRY(lt_file_source_open(f->path, &source));
    f->file = (lt_open_file){ source.fd, f->path };
    LT_TRY(lt_npy_read_header(&source.base, &h));
    LT_TRY(take_shape(f, &h));
    f->layout.head = (size_t)source.offset; /* other programs pad their headers otherwise */
    return LT_OK;
}

/* A table beside it must be of a matrix like it. */
static lt_status read_table(lt_gram_file *f)
{
    lt_open_file t = { -1, f->table_path };
    uint64_t bytes;
    if (access(t.path, F_OK) && errno == ENOENT) return LT_OK;
    LT_TRY(lt_file_open(t.path, &t.fd, &bytes));
    lt_status s = lt_table_read(t, &f->head, &f->entry);
    close(t.fd);
    LT_TRY(s);
    lt_layout l = lt_table_layout(&f->head);
    if (l.n != f->layout.n || l.m != f->layout.m || l.packed != f->layout.packed || l.f32 != f->layout.f32)
        return LT_FAIL(LT_ERR_FORMAT, "%s: is of a matrix of %lld x %lld%s, which %s is not: remove it", t.path, (long long)l.n, (long long)l.m,
                       l.packed ? ", packed" : "", f->path);
    l.head = f->layout.head;
    f->layout = l;
    return LT_OK;
}

lt_status lt_gram_file_open(const char *path, lt_gram_file **out)
{
    if (!path || !out) return LT_FAIL(LT_ERR_ARGUMENT, "gram file: the path or out is NULL");
    *out = NULL;
    lt_gram_file *f = lt_calloc(1, sizeof *f);
    if (!f) return LT_ERR_MEMORY;
    size_t bytes = strlen(path) + sizeof ".tiles";
    f->file.fd = -1;
    f->path = lt_strdup(path);
    f->table_path = lt_malloc(bytes);
    if (f->table_path) snprintf(f->table_path, bytes, "%s.tiles", path);
    lt_status s = f->path && f->table_path ? read_header(f) : LT_ERR_MEMORY;
    if (!s) s = read_table(f);
    if (s) lt_gram_file_close(f);
    else *out = f;
    return s;
}

void lt_gram_file_close(lt_gram_file *f)
{
    if (!f) return;
    if (f->file.fd >= 0) close(f->file.fd);
    lt_free(f->path);
    lt_free(f->table_path);
    lt_free(f->entry);
    lt_free(f);
}

lt_gram_file_shape lt_gram_file_get_shape(const lt_gram_file *f)
{
    return (lt_gram_file_shape){ f->layout.n, f->layout.m, f->layout.packed, f->layout.f32 ? LT_F32 : LT_F64, f->entry ? f->head.tiles : 0 };
}

/* ---- Rows ---------------------------------------------------------------------------------------------------------------------------------- */

static void copy(const lt_layout *l, void *to, int64_t at, const void *from, int64_t index)
{
    if (l->f32) ((float *)to)[at] = ((const float *)from)[index];
    else ((double *)to)[at] = ((const double *)from)[index];
}

/* What lies left of the diagonal stands in the rows above. */
static lt_status read_left(const lt_gram_file *f, int64_t first, int64_t count, void *out)
{
    const lt_layout *l = &f->layout;
    size_t bytes = (size_t)count * lt_layout_entry(l);
    void *column = lt_malloc(bytes);
    lt_status s = column ? LT_OK : LT_ERR_MEMORY;
    for (int64_t j = 0; j < first && !s; j++) {
        s = lt_file_read_at(f->file.fd, f->path, lt_layout_at(l, j, first), column, bytes);
        for (int64_t i = 0; i < count && !s; i++) copy(l, out, i * l->m + j, column, i);
    }
    lt_free(column);
    for (int64_t i = 0; i < count && !s; i++)
        for (int64_t j = 0; j < i; j++) copy(l, out, i * l->m + first + j, out, j * l->m + first + i);
    return s;
}

lt_status lt_gram_file_rows(lt_gram_file *f, int64_t first, int64_t count, void *out)
{
    if (!f || !out) return LT_FAIL(LT_ERR_ARGUMENT, "gram file: the file or out is NULL");
    const lt_layout *l = &f->layout;
    if (first < 0 || count < 1 || first >= l->n || count > l->n - first)
        return LT_FAIL(LT_ERR_ARGUMENT, "%s: has rows 0 to %lld, asked for %lld of them from %lld on", f->path, (long long)l->n - 1, (long long)count, (long long)first);
    size_t each = lt_layout_entry(l);
    for (int64_t i = 0; i < count; i++) {
        int64_t from = l->packed ? first + i : 0;
        LT_TRY(lt_file_read_at(f->file.fd, f->path, lt_layout_at(l, first + i, from), (char *)out + (size_t)(i * l->m + from) * each, (size_t)(l->m - from) * each));
    }
    return l->packed ? read_left(f, first, count, out) : LT_OK;
}

/* ---- Checking ------------------------------------------------------------------------------------------------------------------------------ */

static lt_status check_tile(const lt_gram_file *f, int64_t unit, void *tile, void *stripe)
{
    bool whole;
    lt_tile t = lt_layout_tile(&f->layout, unit);
    LT_TRY(lt_layout_read(&f->layout, f->file, t, tile, stripe, &whole));
    if (whole && lt_table_has(&f->entry[unit]) && lt_layout_sum(&f->layout, t, tile) == f->entry[unit].sum) return LT_OK;
    return LT_FAIL(LT_ERR_MISMATCH, "%s: rows %lld to %lld, columns %lld to %lld are not what %s says: the file was changed, or the disk has lost it", f->path, (long long)t.row,
                   (long long)(t.row + t.n_rows - 1), (long long)t.column, (long long)(t.column + t.n_columns - 1), f->table_path);
}

lt_status lt_gram_file_check(lt_gram_file *f)
{
    if (!f) return LT_FAIL(LT_ERR_ARGUMENT, "gram file: the file is NULL");
    if (!f->entry) return LT_FAIL(LT_ERR_ARGUMENT, "%s: has no table of checksums beside it (%s)", f->path, f->table_path);
    const lt_layout *l = &f->layout;
    size_t each = lt_layout_entry(l);
    void *tile = lt_malloc((size_t)(LT_MIN(l->side, l->n) * LT_MIN(l->side, l->m)) * each), *stripe = lt_malloc((size_t)lt_layout_stripe(&f->layout) * each);
    lt_status s = tile && stripe ? LT_OK : LT_ERR_MEMORY;
    for (int64_t i = 0; i < f->head.tiles && !s; i++) s = check_tile(f, i, tile, stripe);
    lt_free(tile);
    lt_free(stripe);
    return s;
}
