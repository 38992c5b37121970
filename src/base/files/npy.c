/* .npy files: reading from any source into native row-major arrays, writing, and mapped writing.
   SPDX-License-Identifier: BSD-3-Clause */
#include "base/files/npy.h"

#include "base/alloc.h"
#include "base/dtype.h"
#include "base/files/file.h"
#include "base/status.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

void lt_array_free(lt_array *a)
{
    if (!a) return;
    lt_free_aligned(a->data);
    *a = (lt_array){ 0 };
}

lt_status lt_array_widen(lt_array *a)
{
    LT_NEED(a);
    if (a->dtype == LT_F64) return LT_OK;
    if (a->dtype == LT_C64 || a->dtype == LT_C128)
        return LT_FAIL(LT_ERR_TYPE, "the array holds %s, expected real numbers", lt_dtype_name(a->dtype));
    int64_t n = lt_shape_count(&a->shape);
    double *wide = lt_malloc_aligned((size_t)n * sizeof *wide);
    if (!wide) return LT_ERR_MEMORY;
    for (int64_t i = 0; i < n; i++) wide[i] = lt_load_double(a->dtype, a->data, i);
    lt_free_aligned(a->data);
    a->data = wide;
    a->dtype = LT_F64;
    return LT_OK;
}

/* ---- From a source ------------------------------------------------------------------- */
lt_status lt_source_take(lt_source *s, void *data, size_t n_bytes)
{
    if (n_bytes > s->left_bytes)
        return LT_FAIL(LT_ERR_FORMAT, "%s: %" PRIu64 " bytes left, expected %zu", s->what, s->left_bytes, n_bytes);
    LT_TRY(s->read(s, data, n_bytes));
    s->left_bytes -= n_bytes;
    return LT_OK;
}

lt_status lt_npy_read_any_header(lt_source *s, lt_npy_header *out)
{
    char text[LT_NPY_PREFIX_MAX + LT_NPY_HEADER_MAX];
    size_t prefix = (size_t)LT_MIN(s->left_bytes, (uint64_t)LT_NPY_PREFIX_MAX), header;
    LT_TRY(lt_source_take(s, text, prefix));
    LT_TRY(lt_npy_header_bytes(s->what, (const uint8_t *)text, prefix, &header));
    if (header < prefix)
        return LT_FAIL(LT_ERR_FORMAT, "%s: header text of %zu bytes, expected a dictionary", s->what, header - 10);
    if (header - prefix > s->left_bytes)
        return LT_FAIL(LT_ERR_FORMAT, "%s: %" PRIu64 " bytes, expected a header of %zu", s->what,
                       s->left_bytes + prefix, header);
    LT_TRY(lt_source_take(s, text + prefix, header - prefix));
    size_t skip = text[6] == 1 ? 10 : 12;
    LT_TRY(lt_npy_header_parse(s->what, text + skip, header - skip, out));
    uint64_t data;
    LT_TRY(lt_npy_header_data_bytes(s->what, out, &data));
    if (data != s->left_bytes)
        return LT_FAIL(LT_ERR_FORMAT, "%s: %" PRIu64 " bytes of data, expected %" PRIu64 " for shape %s", s->what,
                       s->left_bytes, data, lt_shape_str(&out->shape).s);
    return LT_OK;
}

lt_status lt_npy_read_header(lt_source *s, lt_npy_header *out)
{
    LT_TRY(lt_npy_read_any_header(s, out));
    if (lt_npy_is_text(out)) return LT_FAIL(LT_ERR_TYPE, "%s: holds texts, expected numbers", s->what);
    return LT_OK;
}

static void swap_bytes(void *data, int64_t n, int bytes)
{
    if (bytes == 2) for (uint16_t *p = data; n--; p++) *p = __builtin_bswap16(*p);
    else if (bytes == 4) for (uint32_t *p = data; n--; p++) *p = __builtin_bswap32(*p);
    else if (bytes == 8) for (uint64_t *p = data; n--; p++) *p = __builtin_bswap64(*p);
}

/* Integers that have no type of ours, in the next wider one that has. */
static lt_status widen(const lt_npy_header *h, const char *what, const void *raw, int64_t n, void *out)
{
    for (int64_t i = 0; i < n; i++) {
        if (h->kind == 'i' && h->item_bytes == 1) ((int32_t *)out)[i] = ((const int8_t *)raw)[i];
        else if (h->kind == 'i') ((int32_t *)out)[i] = ((const int16_t *)raw)[i];
        else if (h->item_bytes == 2) ((int32_t *)out)[i] = ((const uint16_t *)raw)[i];
        else if (h->item_bytes == 4) ((int64_t *)out)[i] = ((const uint32_t *)raw)[i];
        else {
            uint64_t v = ((const uint64_t *)raw)[i];
            if (v > INT64_MAX)
                return LT_FAIL(LT_ERR_TYPE, "%s: uint64 value %" PRIu64 " at element %" PRId64 ", expected at most 2^63 - 1",
                               what, v, i);
            ((int64_t *)out)[i] = (int64_t)v;
        }
    }
    return LT_OK;
}

static bool needs_widening(const lt_npy_header *h)
{
    return (h->kind == 'u' && h->item_bytes > 1) || (h->kind == 'i' && h->item_bytes < 4);
}

/* Column-major to row-major: walks the output in order, stepping through the input. */
static void reorder(const lt_shape *shape, size_t item, const char *in, char *out)
{
    int64_t step[LT_MAX_RANK], index[LT_MAX_RANK] = { 0 }, n = lt_shape_count(shape), at = 0;
    for (int d = 0, last = shape->rank - 1; d <= last; d++) step[d] = d ? step[d - 1] * shape->dim[d - 1] : 1;
    for (int64_t i = 0; i < n; i++) {
        memcpy(out + (size_t)i * item, in + (size_t)at * item, item);
        for (int d = shape->rank - 1; d >= 0; d--) {
            at += step[d];
            if (++index[d] < shape->dim[d]) break;
            at -= step[d] * shape->dim[d];
            index[d] = 0;
        }
    }
}

/* Byte order, truth values, wider integers and row order, one after the other; *data may be replaced. */
static lt_status to_native(const lt_npy_header *h, const char *what, void **data)
{
    int64_t n = lt_shape_count(&h->shape);
    bool complex_type = h->kind == 'c';
    if (h->swapped) swap_bytes(*data, complex_type ? 2 * n : n, complex_type ? h->item_bytes / 2 : h->item_bytes);
    if (h->kind == 'b')
        for (uint8_t *p = *data, *end = p + n; p < end; p++) *p = *p != 0;
    bool turn = h->fortran_order && h->shape.rank > 1;
    if (needs_widening(h)) {
        void *wide = lt_malloc_aligned((size_t)n * lt_dtype_size(h->dtype));
        if (!wide) return LT_ERR_MEMORY;
        lt_status s = widen(h, what, *data, n, wide);
        lt_free_aligned(*data);
        *data = wide;
        LT_TRY(s);
    }
    if (turn) {
        void *rows = lt_malloc_aligned((size_t)n * lt_dtype_size(h->dtype));
        if (!rows) return LT_ERR_MEMORY;
        reorder(&h->shape, lt_dtype_size(h->dtype), *data, rows);
        lt_free_aligned(*data);
        *data = rows;
    }
    return LT_OK;
}

lt_status lt_npy_read_source(lt_source *s, lt_array *out)
{
    *out = (lt_array){ 0 };
    lt_npy_header h;
    LT_TRY(lt_npy_read_header(s, &h));
    size_t bytes = (size_t)s->left_bytes;
    void *data = lt_malloc_aligned(bytes);
    if (!data) return LT_ERR_MEMORY;
    lt_status status = lt_source_take(s, data, bytes);
    if (!status) status = to_native(&h, s->what, &data);
    if (status) {
        lt_free_aligned(data);
        return status;
    }
    *out = (lt_array){ h.dtype, h.shape, data };
    return LT_OK;
}

/* ---- From a file --------------------------------------------------------------------------- */
static lt_status read_from_file(lt_source *s, void *data, size_t n_bytes)
{
    lt_file_source *f = (lt_file_source *)s;
    LT_TRY(lt_file_read_at(f->fd, s->what, f->offset, data, n_bytes));
    f->offset += n_bytes;
    return LT_OK;
}

lt_status lt_file_source_open(const char *path, lt_file_source *f)
{
    *f = (lt_file_source){ .base = { .read = read_from_file, .what = path } };
    return lt_file_open(path, &f->fd, &f->base.left_bytes);
}

lt_status lt_npy_read(const char *path, lt_array *out)
{
    if (!out) return LT_FAIL(LT_ERR_ARGUMENT, "npy: out is NULL");
    *out = (lt_array){ 0 };
    lt_file_source f;
    LT_TRY(lt_file_source_open(path, &f));
    lt_status s = lt_npy_read_source(&f.base, out);
    close(f.fd);
    return s;
}

lt_status lt_npy_info(const char *path, lt_dtype *dtype, lt_shape *shape)
{
    if (!dtype || !shape) return LT_FAIL(LT_ERR_ARGUMENT, "npy: %s is NULL", dtype ? "shape" : "dtype");
    lt_file_source f;
    lt_npy_header h;
    LT_TRY(lt_file_source_open(path, &f));
    lt_status s = lt_npy_read_header(&f.base, &h);
    close(f.fd);
    LT_TRY(s);
    *dtype = h.dtype;
    *shape = h.shape;
    return LT_OK;
}

/* ---- Writing ---------------------------------------------------------------------------------- */
/* bf16 as f32, block by block. */
static lt_status write_widened(lt_atomic_file *f, const uint16_t *data, int64_t n)
{
    float block[1024];
    for (int64_t at = 0; at < n; at += (int64_t)LT_LEN(block)) {
        int64_t k = LT_MIN(n - at, (int64_t)LT_LEN(block));
        lt_convert(LT_F32, block, LT_BF16, data + at, k);
        LT_TRY(lt_atomic_write(f, block, (size_t)k * sizeof *block));
    }
    return LT_OK;
}

lt_status lt_npy_write(const char *path, lt_dtype dtype, const lt_shape *shape, const void *data)
{
    int64_t n;
    LT_TRY(lt_npy_check_array(path, dtype, shape, data, &n));
    lt_npy_head head = lt_npy_header_format(dtype, shape);
    lt_atomic_file f;
    LT_TRY(lt_atomic_open(path, &f));
    lt_status s = lt_atomic_write(&f, head.s, head.n);
    if (!s) s = dtype == LT_BF16 ? write_widened(&f, data, n) : lt_atomic_write(&f, data, (size_t)n * lt_dtype_size(dtype));
    if (!s) return lt_atomic_commit(&f);
    lt_atomic_cancel(&f);
    return s;
}

/* ---- Mapped writing ----------------------------------------------------------------------------- */
struct lt_npy_map {
    lt_atomic_file file;
    void  *base; /* header and data; NULL until mapped */
    size_t bytes, head_bytes;
    bool   apart; /* in memory, written at the end */
};

static lt_status map_file(lt_npy_map *m, const lt_npy_head *head)
{
    LT_TRY(lt_atomic_write(&m->file, head->s, head->n));
    /* Reserved now: a full disk must be an error here, not a fault at some later store. */
    LT_TRY(lt_file_reserve(m->file.fd, m->file.path, m->bytes));
    void *base = mmap(NULL, m->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, m->file.fd, 0);
    m->apart = base == MAP_FAILED && errno == ENODEV; /* some file systems of user space map nothing that is written */
    if (m->apart) base = mmap(NULL, m->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED)
        return LT_FAIL(LT_ERR_MEMORY, "%s: cannot map %zu bytes: %s", m->file.path, m->bytes, strerror(errno));
    m->base = base;
    return LT_OK;
}

lt_status lt_npy_map_create(const char *path, lt_dtype dtype, const lt_shape *shape, lt_npy_map **out)
{
    if (!out) return LT_FAIL(LT_ERR_ARGUMENT, "npy: out is NULL");
    *out = NULL;
    int64_t n;
    LT_TRY(lt_npy_check_array(path, dtype, shape, path, &n)); /* any pointer: the data is the file's */
    if (dtype == LT_BF16) return LT_FAIL(LT_ERR_TYPE, "%s: bf16 cannot be mapped, expected another element type", path);
    lt_npy_head head = lt_npy_header_format(dtype, shape);
    lt_npy_map *m = lt_calloc(1, sizeof *m);
    if (!m) return LT_ERR_MEMORY;
    m->file.fd = -1;
    m->head_bytes = head.n;
    m->bytes = head.n + (size_t)n * lt_dtype_size(dtype);
    lt_status s = lt_atomic_open(path, &m->file);
    if (!s) s = map_file(m, &head);
    if (s) {
        lt_npy_map_destroy(m);
        return s;
    }
    *out = m;
    return LT_OK;
}

void *lt_npy_map_data(lt_npy_map *m) { return (char *)m->base + m->head_bytes; }

lt_status lt_npy_map_commit(lt_npy_map *m)
{
    LT_NEED(m);
    lt_status s = LT_OK;
    if (m->apart) s = lt_file_write_at(m->file.fd, m->file.path, m->head_bytes, lt_npy_map_data(m), m->bytes - m->head_bytes);
    else if (msync(m->base, m->bytes, MS_SYNC))
        s = LT_FAIL(LT_ERR_IO, "%s: cannot sync %zu bytes: %s", m->file.path, m->bytes, strerror(errno));
    if (!s) s = lt_atomic_commit(&m->file);
    lt_npy_map_destroy(m); /* after a commit there is no file left for it to remove */
    return s;
}

void lt_npy_map_destroy(lt_npy_map *m)
{
    if (!m) return;
    if (m->base) munmap(m->base, m->bytes);
    lt_atomic_cancel(&m->file);
    lt_free(m);
}
