/* Writing .npz files: members stored as they are, zip64 where it is needed, no time stamps, so
   that the same arrays give the same bytes. SPDX-License-Identifier: BSD-3-Clause */
#include "base/alloc.h"
#include "base/dtype.h"
#include "base/files/file.h"
#include "base/files/npy.h"
#include "base/status.h"
#include "base/files/zip.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* What the directory says about a member already written. */
typedef struct written {
    char     name[LT_NPZ_NAME_BYTES];
    uint32_t crc;
    uint64_t bytes, offset;
} written;

struct lt_npz_stream {
    lt_atomic_file file;
    uint64_t       at, zip64_from;
    int            n, room;
    written       *member;
    uint64_t       left;       /* bytes that the last member still lacks */
    uint64_t       data_at;    /* where its data begin */
};
typedef lt_npz_stream archive;

/* A record being put together, little endian. */
typedef struct record { uint8_t byte[160]; size_t n; } record;

static void put(record *r, int n_bytes, uint64_t value)
{
    for (int i = 0; i < n_bytes; i++) r->byte[r->n++] = (uint8_t)(value >> 8 * i);
}

static lt_status emit(archive *a, const void *data, size_t n_bytes)
{
    LT_TRY(lt_atomic_write(&a->file, data, n_bytes));
    a->at += n_bytes;
    return LT_OK;
}

static bool is_wide(const archive *a, uint64_t value) { return value >= a->zip64_from; }
static uint32_t clip(const archive *a, uint64_t value) { return is_wide(a, value) ? UINT32_MAX : (uint32_t)value; }

/* Version needed to read, flags (UTF-8 names), method, time, date (1980-01-01). */
static void put_common(record *r, bool wide)
{
    put(r, 2, wide ? 45 : 20);
    put(r, 2, 0x800);
    put(r, 2, 0);
    put(r, 2, 0);
    put(r, 2, 1 << 5 | 1);
}

static lt_status emit_name(archive *a, const char *name)
{
    LT_TRY(emit(a, name, strlen(name)));
    return emit(a, ".npy", 4);
}

static lt_status emit_local_header(archive *a, const written *w)
{
    bool wide = is_wide(a, w->bytes);
    record r = { .n = 0 }, extra = { .n = 0 };
    if (wide) { /* in local headers both sizes are given */
        put(&extra, 2, 1);
        put(&extra, 2, 16);
        put(&extra, 8, w->bytes);
        put(&extra, 8, w->bytes);
    }
    put(&r, 4, 0x04034b50);
    put_common(&r, wide);
    put(&r, 4, w->crc);
    put(&r, 4, clip(a, w->bytes));
    put(&r, 4, clip(a, w->bytes));
    put(&r, 2, strlen(w->name) + 4);
    put(&r, 2, extra.n);
    LT_TRY(emit(a, r.byte, r.n));
    LT_TRY(emit_name(a, w->name));
    return emit(a, extra.byte, extra.n);
}

static lt_status emit_directory_entry(archive *a, const written *w)
{
    bool wide_size = is_wide(a, w->bytes), wide_offset = is_wide(a, w->offset);
    record r = { .n = 0 }, extra = { .n = 0 };
    if (wide_size || wide_offset) {
        put(&extra, 2, 1);
        put(&extra, 2, (wide_size ? 16u : 0u) + (wide_offset ? 8u : 0u));
        if (wide_size) put(&extra, 8, w->bytes), put(&extra, 8, w->bytes);
        if (wide_offset) put(&extra, 8, w->offset);
    }
    put(&r, 4, 0x02014b50);
    put(&r, 2, 45); /* made by version 4.5 */
    put_common(&r, extra.n > 0);
    put(&r, 4, w->crc);
    put(&r, 4, clip(a, w->bytes));
    put(&r, 4, clip(a, w->bytes));
    put(&r, 2, strlen(w->name) + 4);
    put(&r, 2, extra.n);
    put(&r, 2, 0); /* comment */
    put(&r, 2, 0); /* disk */
    put(&r, 2, 0); /* internal attributes */
    put(&r, 4, 0); /* external attributes */
    put(&r, 4, clip(a, w->offset));
    LT_TRY(emit(a, r.byte, r.n));
    LT_TRY(emit_name(a, w->name));
    return emit(a, extra.byte, extra.n);
}

static lt_status emit_end(archive *a, uint64_t n, uint64_t directory_at)
{
    uint64_t bytes = a->at - directory_at, end64_at = a->at;
    record r = { .n = 0 };
    if (n >= UINT16_MAX || is_wide(a, bytes) || is_wide(a, directory_at)) {
        put(&r, 4, 0x06064b50);
        put(&r, 8, 44); /* what follows */
        put(&r, 2, 45);
        put(&r, 2, 45);
        put(&r, 8, 0); /* disks */
        put(&r, 8, n);
        put(&r, 8, n);
        put(&r, 8, bytes);
        put(&r, 8, directory_at);
        put(&r, 4, 0x07064b50); /* the locator */
        put(&r, 4, 0);
        put(&r, 8, end64_at);
        put(&r, 4, 1);
    }
    put(&r, 4, 0x06054b50);
    put(&r, 4, 0); /* disks */
    put(&r, 2, LT_MIN(n, (uint64_t)UINT16_MAX));
    put(&r, 2, LT_MIN(n, (uint64_t)UINT16_MAX));
    put(&r, 4, clip(a, bytes));
    put(&r, 4, clip(a, directory_at));
    put(&r, 2, 0);
    return emit(a, r.byte, r.n);
}

/* ---- Members ------------------------------------------------------------------------------------------- */

static lt_status grow(archive *a)
{
    int room = 2 * a->room + 16;
    if (a->n < a->room) return LT_OK;
    written *more = lt_realloc(a->member, (size_t)room * sizeof *more);
    if (!more) return LT_ERR_MEMORY;
    a->member = more;
    a->room = room;
    return LT_OK;
}

lt_status lt_npz_stream_open(const char *path, uint64_t zip64_from, lt_npz_stream **out)
{
    *out = NULL;
    archive *a = lt_calloc(1, sizeof *a);
    if (!a) return LT_ERR_MEMORY;
    a->zip64_from = zip64_from ? zip64_from : UINT32_MAX;
    lt_status s = lt_atomic_open(path, &a->file);
    if (s) lt_free(a);
    else *out = a;
    return s;
}

lt_status lt_npz_stream_member(lt_npz_stream *a, const char *name, const lt_npy_head *head, uint64_t data_bytes)
{
    LT_TRY(grow(a));
    written *w = &a->member[a->n++];
    *w = (written){ .offset = a->at, .bytes = head->n + data_bytes, .crc = lt_crc32(0, head->s, head->n) };
    snprintf(w->name, sizeof w->name, "%s", name);
    LT_TRY(emit_local_header(a, w)); /* its checksum is put in when it is known */
    LT_TRY(emit(a, head->s, head->n));
    a->left = data_bytes;
    a->data_at = a->at;
    return LT_OK;
}

static lt_status finish_member(archive *a)
{
    enum { CRC_OFFSET = 14 };
    record r = { .n = 0 };
    const written *w = &a->member[a->n - 1];
    if (a->left) return LT_OK;
    put(&r, 4, w->crc);
    return lt_file_write_at(a->file.fd, a->file.path, w->offset + CRC_OFFSET, r.byte, r.n);
}

lt_status lt_npz_stream_data(lt_npz_stream *a, const void *data, size_t n_bytes)
{
    written *w = &a->member[a->n - 1];
    LT_TRY(emit(a, data, n_bytes));
    w->crc = lt_crc32(w->crc, data, n_bytes);
    a->left -= n_bytes;
    return finish_member(a);
}

lt_status lt_npz_stream_put(lt_npz_stream *a, uint64_t offset, const void *data, size_t n_bytes)
{
    return lt_file_write_at(a->file.fd, a->file.path, a->data_at + offset, data, n_bytes);
}

lt_status lt_npz_stream_done(lt_npz_stream *a, uint32_t crc, uint64_t n_bytes)
{
    written *w = &a->member[a->n - 1];
    w->crc = lt_crc32_join(w->crc, crc, n_bytes);
    a->left -= n_bytes;
    a->at += n_bytes;
    if (lseek(a->file.fd, (off_t)a->at, SEEK_SET) < 0) return LT_FAIL(LT_ERR_IO, "%s: cannot go on at byte %" PRIu64, a->file.path, a->at);
    return finish_member(a);
}

lt_status lt_npz_stream_finish(lt_npz_stream *a, lt_status s)
{
    if (!a) return s;
    uint64_t directory_at = a->at;
    for (int i = 0; !s && i < a->n; i++) s = emit_directory_entry(a, &a->member[i]);
    if (!s) s = emit_end(a, (uint64_t)a->n, directory_at);
    if (s) lt_atomic_cancel(&a->file);
    else s = lt_atomic_commit(&a->file);
    lt_free(a->member);
    lt_free(a);
    return s;
}

/* The data of an array: bf16 widened to f32, block by block; everything else in one piece. */
static lt_status emit_data(archive *a, const lt_array *array, int64_t n)
{
    float block[1024];
    const char *at = array->data;
    size_t item = lt_dtype_size(array->dtype);
    if (array->dtype != LT_BF16) return lt_npz_stream_data(a, at, (size_t)n * item);
    for (int64_t done = 0; done < n; done += (int64_t)LT_LEN(block)) {
        int64_t k = LT_MIN((int64_t)LT_LEN(block), n - done);
        lt_convert(LT_F32, block, LT_BF16, at + (size_t)done * item, k);
        LT_TRY(lt_npz_stream_data(a, block, (size_t)k * sizeof *block));
    }
    return LT_OK;
}

static lt_status emit_member(archive *a, const char *name, const lt_array *array)
{
    int64_t n = lt_shape_count(&array->shape);
    size_t item = array->dtype == LT_BF16 ? sizeof(float) : lt_dtype_size(array->dtype);
    lt_npy_head head = lt_npy_header_format(array->dtype, &array->shape);
    LT_TRY(lt_npz_stream_member(a, name, &head, (uint64_t)n * item));
    return n ? emit_data(a, array, n) : finish_member(a);
}

static lt_status check_names(const char *path, int n, const char *const *names, const lt_array *arrays)
{
    if (!path || (n > 0 && (!names || !arrays)))
        return LT_FAIL(LT_ERR_ARGUMENT, "%s of arrays to write is NULL", !path ? "path" : !names ? "names" : "data");
    if (n < 0) return LT_FAIL(LT_ERR_ARGUMENT, "%s: %d arrays, expected 0 or more", path, n);
    for (int i = 0; i < n; i++) {
        int64_t count;
        if (!names[i] || !*names[i] || strlen(names[i]) > 1000)
            return LT_FAIL(LT_ERR_ARGUMENT, "%s: name of array %d is %s, expected 1 to 1000 bytes", path, i,
                           !names[i] ? "NULL" : *names[i] ? "too long" : "empty");
        for (int j = 0; j < i; j++)
            if (!strcmp(names[i], names[j]))
                return LT_FAIL(LT_ERR_ARGUMENT, "%s: two arrays are called '%s', expected distinct names", path, names[i]);
        LT_TRY(lt_npy_check_array(names[i], arrays[i].dtype, &arrays[i].shape, arrays[i].data, &count));
    }
    return LT_OK;
}

lt_status lt_npz_write_with(const char *path, int n, const char *const *names, const lt_array *arrays, uint64_t zip64_from)
{
    LT_TRY(check_names(path, n, names, arrays));
    lt_npz_stream *a;
    LT_TRY(lt_npz_stream_open(path, zip64_from, &a));
    lt_status s = LT_OK;
    for (int i = 0; !s && i < n; i++) s = emit_member(a, names[i], &arrays[i]);
    return lt_npz_stream_finish(a, s);
}

lt_status lt_npz_write(const char *path, int n, const char *const *names, const lt_array *arrays)
{
    return lt_npz_write_with(path, n, names, arrays, UINT32_MAX);
}
