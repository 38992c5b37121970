/* Writing .npz files: members stored as they are, zip64 where it is needed, no time stamps, so
   that the same arrays give the same bytes. SPDX-License-Identifier: BSD-3-Clause */
#include "base/alloc.h"
#include "base/dtype.h"
#include "base/files/file.h"
#include "base/files/npy.h"
#include "base/status.h"
#include "base/files/zip.h"

#include <string.h>

/* What the directory says about a member already written. */
typedef struct written {
    const char *name;
    uint32_t    crc;
    uint64_t    bytes, offset;
} written;

typedef struct archive {
    lt_atomic_file file;
    uint64_t       at;
    uint64_t       zip64_from;
} archive;

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

/* The data of an array: bf16 widened to f32, block by block; everything else in one piece. Given
   an archive it is written, without one only its checksum is taken. */
static lt_status pass_data(archive *a, const lt_array *array, int64_t n, uint32_t *crc)
{
    float block[1024];
    const char *at = array->data;
    size_t item = lt_dtype_size(array->dtype);
    bool widens = array->dtype == LT_BF16;
    int64_t step = widens ? (int64_t)LT_LEN(block) : n;
    for (int64_t done = 0; done < n; done += step) {
        int64_t k = LT_MIN(step, n - done);
        const void *piece = at + (size_t)done * item;
        size_t bytes = (size_t)k * (widens ? sizeof(float) : item);
        if (widens) {
            lt_convert(LT_F32, block, LT_BF16, piece, k);
            piece = block;
        }
        if (a) LT_TRY(emit(a, piece, bytes));
        else *crc = lt_crc32(*crc, piece, bytes);
    }
    return LT_OK;
}

static lt_status emit_member(archive *a, const char *name, const lt_array *array, written *w)
{
    int64_t n = lt_shape_count(&array->shape);
    size_t item = array->dtype == LT_BF16 ? sizeof(float) : lt_dtype_size(array->dtype);
    lt_npy_head head = lt_npy_header_format(array->dtype, &array->shape);
    *w = (written){ .name = name, .offset = a->at, .bytes = head.n + (uint64_t)n * item };
    w->crc = lt_crc32(0, head.s, head.n);
    LT_TRY(pass_data(NULL, array, n, &w->crc)); /* the header before the data carries it */
    LT_TRY(emit_local_header(a, w));
    LT_TRY(emit(a, head.s, head.n));
    return pass_data(a, array, n, NULL);
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
    archive a = { .zip64_from = zip64_from };
    written *members = lt_calloc((size_t)n, sizeof *members);
    if (!members) return LT_ERR_MEMORY;
    lt_status s = lt_atomic_open(path, &a.file);
    for (int i = 0; !s && i < n; i++) s = emit_member(&a, names[i], &arrays[i], &members[i]);
    uint64_t directory_at = a.at;
    for (int i = 0; !s && i < n; i++) s = emit_directory_entry(&a, &members[i]);
    if (!s) s = emit_end(&a, (uint64_t)n, directory_at);
    lt_free(members);
    if (!s) return lt_atomic_commit(&a.file);
    lt_atomic_cancel(&a.file);
    return s;
}

lt_status lt_npz_write(const char *path, int n, const char *const *names, const lt_array *arrays)
{
    return lt_npz_write_with(path, n, names, arrays, UINT32_MAX);
}
