/* .npz files: .npy arrays as members of a zip archive. SPDX-License-Identifier: BSD-3-Clause */
#include "base/alloc.h"
#include "base/dtype.h"
#include "base/files/file.h"
#include "base/files/npy.h"
#include "base/status.h"
#include "base/files/zip.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#ifdef LT_HAVE_ZLIB
#include <zlib.h>
#endif

/* ---- Finding members ------------------------------------------------------------------- */
/* The length of the name without ".npy"; 0 for members that are not arrays. */
static size_t bare_length(const lt_zip_member *m)
{
    size_t n = m->name_bytes;
    return n > 4 && !memcmp(m->name + n - 4, ".npy", 4) && !memchr(m->name, 0, n) ? n - 4 : 0;
}

static bool is_called(const lt_zip_member *m, const char *name)
{
    size_t n = strlen(name), bare = bare_length(m);
    return bare && (n == bare || n == m->name_bytes) && !memcmp(m->name, name, n);
}

/* "'a', 'b', …" of the members there are, for messages. */
static void list_for_message(const lt_zip *z, char *text, size_t bytes)
{
    size_t at = 0, used = 0;
    lt_zip_member m;
    bool found;
    text[0] = 0;
    while (lt_zip_next(z, &at, &m, &found) == LT_OK && found && used + 40 < bytes)
        if (bare_length(&m))
            used += (size_t)snprintf(text + used, bytes - used, "%s'%.*s'", used ? ", " : "",
                                     (int)LT_MIN(bare_length(&m), (size_t)30), m.name);
}

static lt_status find_member(const lt_zip *z, const char *name, lt_zip_member *m)
{
    size_t at = 0;
    bool found;
    for (;;) {
        LT_TRY(lt_zip_next(z, &at, m, &found));
        if (!found) break;
        if (is_called(m, name)) return LT_OK;
    }
    char names[300];
    list_for_message(z, names, sizeof names);
    return LT_FAIL(LT_ERR_ARGUMENT, "%s: no array '%.100s', expected one of %s", z->path, name, *names ? names : "(none)");
}

lt_status lt_npz_list(const char *path, lt_npz_names *out)
{
    if (!out) return LT_FAIL(LT_ERR_ARGUMENT, "npz: out is NULL");
    *out = (lt_npz_names){ 0 };
    lt_zip z;
    LT_TRY(lt_zip_open(path, &z));
    lt_status s = LT_OK;
    out->name = lt_calloc((size_t)z.n_members, sizeof *out->name);
    if (!out->name) s = LT_ERR_MEMORY;
    size_t at = 0;
    bool found = true;
    while (!s) {
        lt_zip_member m;
        s = lt_zip_next(&z, &at, &m, &found);
        if (s || !found) break;
        size_t n = bare_length(&m);
        if (!n) continue;
        if ((uint64_t)out->n == z.n_members) {
            s = LT_FAIL(LT_ERR_FORMAT, "%s: directory holds more members than the %" PRIu64 " it announces", path,
                        z.n_members);
            break;
        }
        char *copy = lt_malloc(n + 1);
        if (!copy) s = LT_ERR_MEMORY;
        else {
            memcpy(copy, m.name, n);
            copy[n] = 0;
            out->name[out->n++] = copy;
        }
    }
    lt_zip_close(&z);
    if (s) lt_npz_names_free(out);
    return s;
}

void lt_npz_names_free(lt_npz_names *names)
{
    if (!names) return;
    for (int i = 0; i < names->n; i++) lt_free(names->name[i]);
    lt_free(names->name);
    *names = (lt_npz_names){ 0 };
}

/* ---- Reading members --------------------------------------------------------------------- */
typedef struct member_source {
    lt_source     base;
    const lt_zip *zip;
    uint64_t      offset, packed_left;
    uint32_t      crc;
    char          what[256];
#ifdef LT_HAVE_ZLIB
    z_stream      inflater;
    uint8_t       packed[1 << 15];
#endif
} member_source;

static lt_status read_stored(lt_source *s, void *data, size_t n_bytes)
{
    member_source *m = (member_source *)s;
    LT_TRY(lt_file_read_at(m->zip->fd, m->what, m->offset, data, n_bytes));
    m->offset += n_bytes;
    m->crc = lt_crc32(m->crc, data, n_bytes);
    return LT_OK;
}

#ifdef LT_HAVE_ZLIB
/* zlib's own allocations are counted and injected like all others. */
static void *zlib_alloc(void *unused, unsigned count, unsigned bytes)
{
    (void)unused;
    return lt_calloc(count, bytes);
}

static void zlib_free(void *unused, void *p)
{
    (void)unused;
    lt_free(p);
}

static lt_status refill(member_source *m)
{
    size_t n = (size_t)LT_MIN(m->packed_left, (uint64_t)sizeof m->packed);
    LT_TRY(lt_file_read_at(m->zip->fd, m->what, m->offset, m->packed, n));
    m->offset += n;
    m->packed_left -= n;
    m->inflater.next_in = m->packed;
    m->inflater.avail_in = (uInt)n;
    return LT_OK;
}

static lt_status read_deflated(lt_source *s, void *data, size_t n_bytes)
{
    member_source *m = (member_source *)s;
    uint8_t *out = data;
    for (size_t left = n_bytes; left;) {
        if (!m->inflater.avail_in && m->packed_left) LT_TRY(refill(m));
        uInt ask = (uInt)LT_MIN(left, (size_t)1 << 30);
        m->inflater.next_out = out;
        m->inflater.avail_out = ask;
        int result = inflate(&m->inflater, Z_NO_FLUSH);
        size_t got = ask - m->inflater.avail_out;
        m->crc = lt_crc32(m->crc, out, got);
        out += got;
        left -= got;
        if (result == Z_MEM_ERROR) return LT_ERR_MEMORY;
        if (left && (result != Z_OK || (!got && !m->inflater.avail_in && !m->packed_left)))
            return LT_FAIL(LT_ERR_FORMAT, "%s: compressed data %s, expected %zu more bytes", m->what,
                           result == Z_STREAM_END ? "ends early" : "is broken", left);
    }
    return LT_OK;
}
#endif

/* Refuses what cannot be read before anything is allocated for it. */
static lt_status check_member(const lt_zip_member *m, const char *what)
{
    if (m->encrypted) return LT_FAIL(LT_ERR_UNSUPPORTED, "%s: encrypted, expected plain data", what);
    if (m->method != 0 && m->method != 8)
        return LT_FAIL(LT_ERR_UNSUPPORTED, "%s: compression method %d, expected 0 (stored) or 8 (deflated)", what,
                       m->method);
    if (m->method == 0 && m->packed_bytes != m->bytes)
        return LT_FAIL(LT_ERR_FORMAT, "%s: stored with %" PRIu64 " bytes, expected %" PRIu64, what, m->packed_bytes,
                       m->bytes);
    /* Deflate cannot shrink by more than 1032: a larger claim is a lie that would cost memory. */
    if (m->method == 8 && m->bytes / 1032 > m->packed_bytes)
        return LT_FAIL(LT_ERR_FORMAT,
                       "%s: %" PRIu64 " bytes from %" PRIu64 " compressed ones, expected at most 1032 times as many", what,
                       m->bytes, m->packed_bytes);
    return LT_OK;
}

static lt_status read_member(const lt_zip *z, lt_zip_member *m, lt_array *out)
{
    member_source src = { .base = { .read = read_stored, .left_bytes = m->bytes }, .zip = z };
    src.packed_left = m->packed_bytes;
    snprintf(src.what, sizeof src.what, "%.180s: '%.*s'", z->path, (int)LT_MIN(m->name_bytes, (size_t)60), m->name);
    src.base.what = src.what;
    LT_TRY(check_member(m, src.what));
    LT_TRY(lt_zip_locate(z, m));
    src.offset = m->data_offset;
#ifdef LT_HAVE_ZLIB
    src.inflater.zalloc = zlib_alloc;
    src.inflater.zfree = zlib_free;
    if (m->method == 8) {
        src.base.read = read_deflated;
        if (inflateInit2(&src.inflater, -MAX_WBITS) != Z_OK) /* negative: no zlib header */
            return LT_FAIL(LT_ERR_MEMORY, "%s: no memory to decompress", src.what);
    }
#else
    if (m->method == 8)
        return LT_FAIL(LT_ERR_UNSUPPORTED, "%s: compressed, and this lathe was built without zlib (LT_ZLIB)", src.what);
#endif
    lt_status s = lt_npy_read_source(&src.base, out);
#ifdef LT_HAVE_ZLIB
    if (m->method == 8) inflateEnd(&src.inflater);
#endif
    if (!s && src.crc != m->crc) {
        lt_array_free(out);
        return LT_FAIL(LT_ERR_FORMAT, "%s: checksum %08x, expected %08x", src.what, src.crc, m->crc);
    }
    return s;
}

lt_status lt_npz_read(const char *path, const char *name, lt_array *out)
{
    if (!out) return LT_FAIL(LT_ERR_ARGUMENT, "npz: out is NULL");
    *out = (lt_array){ 0 };
    lt_zip z;
    lt_zip_member m;
    if (!name) return LT_FAIL(LT_ERR_ARGUMENT, "%s: name of the array is NULL", path ? path : "NULL");
    LT_TRY(lt_zip_open(path, &z));
    lt_status s = find_member(&z, name, &m);
    if (!s) s = read_member(&z, &m, out);
    lt_zip_close(&z);
    return s;
}
