/* Arrays of texts in .npy files: UTF-8 in memory, four-byte characters or bytes in the file. SPDX-License-Identifier: BSD-3-Clause */
#include "base/files/npy.h"

#include "base/alloc.h"
#include "base/files/file.h"
#include "base/status.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

enum { LAST_CHARACTER = 0x10ffff, LONGEST = 16384 /* characters of a text that is written */ };

/* ---- Characters ------------------------------------------------------------------------------- */
static bool is_character(uint32_t c) { return c <= LAST_CHARACTER && (c < 0xd800 || c > 0xdfff); }

static char *put_utf8(char *to, uint32_t c)
{
    if (c < 0x80) *to++ = (char)c;
    else if (c < 0x800) *to++ = (char)(0xc0 | c >> 6), *to++ = (char)(0x80 | (c & 63));
    else if (c < 0x10000) *to++ = (char)(0xe0 | c >> 12), *to++ = (char)(0x80 | (c >> 6 & 63)), *to++ = (char)(0x80 | (c & 63));
    else *to++ = (char)(0xf0 | c >> 18), *to++ = (char)(0x80 | (c >> 12 & 63)), *to++ = (char)(0x80 | (c >> 6 & 63)), *to++ = (char)(0x80 | (c & 63));
    return to;
}

/* The character at *text, which moves on behind it; false where the bytes are not UTF-8. */
static bool get_utf8(const unsigned char **text, uint32_t *out)
{
    static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
    const unsigned char *s = *text;
    int n = s[0] < 0x80 ? 1 : s[0] >> 5 == 6 ? 2 : s[0] >> 4 == 14 ? 3 : s[0] >> 3 == 30 ? 4 : 0;
    if (!n) return false;
    uint32_t c = n == 1 ? s[0] : s[0] & (0x7fu >> n);
    for (int i = 1; i < n; i++) {
        if (s[i] >> 6 != 2) return false; /* the end of the text too */
        c = c << 6 | (s[i] & 63);
    }
    *text = s + n;
    *out = c;
    return c >= least[n] && is_character(c);
}

/* ---- Reading ------------------------------------------------------------------------------------ */
static lt_status bad_text(const char *what, int64_t i, const char *why)
{
    return LT_FAIL(LT_ERR_FORMAT, "%s: text %" PRId64 " (counted from 0) %s", what, i, why);
}

/* One text of the file, without the zeros that fill its field; *to moves behind its end. */
static lt_status decode(const char *what, const lt_npy_header *h, const char *field, int64_t i, char **to)
{
    int wide = h->kind == 'U' ? 4 : 1, n = h->item_bytes / wide;
    bool ended = false;
    for (int k = 0; k < n; k++) {
        uint32_t c = (unsigned char)field[k];
        if (wide == 4) memcpy(&c, field + 4 * k, sizeof c);
        if (wide == 4 && h->swapped) c = __builtin_bswap32(c);
        if (ended && c) return bad_text(what, i, "has a zero before its end");
        ended = !c;
        if (ended) continue;
        if (wide == 4 && !is_character(c)) return bad_text(what, i, "holds a number that is no Unicode character");
        if (wide == 4) *to = put_utf8(*to, c);
        else *(*to)++ = (char)c;
    }
    *(*to)++ = 0;
    return LT_OK;
}

/* Pointers first, then the texts: one block of memory. A character of four bytes takes four in UTF-8 at most. */
static lt_status decode_all(const char *what, const lt_npy_header *h, const char *data, lt_npy_texts *out)
{
    int64_t n = h->shape.dim[0];
    size_t bytes;
    if (__builtin_mul_overflow((size_t)n, sizeof *out->text + (size_t)h->item_bytes + 1, &bytes)) return LT_ERR_MEMORY;
    out->text = lt_malloc(LT_MAX(bytes, 1));
    if (!out->text) return LT_ERR_MEMORY;
    char *to = (char *)(out->text + n);
    for (int64_t i = 0; i < n; i++) {
        out->text[i] = to;
        LT_TRY(decode(what, h, data + (size_t)i * (size_t)h->item_bytes, i, &to));
    }
    out->n = n;
    return LT_OK;
}

lt_status lt_npy_read_texts_source(lt_source *s, lt_npy_texts *out)
{
    *out = (lt_npy_texts){ 0 };
    lt_npy_header h;
    LT_TRY(lt_npy_read_any_header(s, &h));
    if (!lt_npy_is_text(&h)) return LT_FAIL(LT_ERR_TYPE, "%s: holds numbers, expected texts", s->what);
    if (h.shape.rank != 1) return LT_FAIL(LT_ERR_SHAPE, "%s: texts of shape %s, expected one axis", s->what, lt_shape_str(&h.shape).s);
    size_t bytes = (size_t)s->left_bytes;
    char *data = lt_malloc(LT_MAX(bytes, 1));
    if (!data) return LT_ERR_MEMORY;
    lt_status status = lt_source_take(s, data, bytes);
    if (!status) status = decode_all(s->what, &h, data, out);
    lt_free(data);
    if (status) lt_npy_texts_free(out);
    return status;
}

lt_status lt_npy_read_texts(const char *path, lt_npy_texts *out)
{
    LT_NEED(path);
    LT_NEED(out);
    *out = (lt_npy_texts){ 0 };
    lt_file_source f;
    LT_TRY(lt_file_source_open(path, &f));
    lt_status s = lt_npy_read_texts_source(&f.base, out);
    close(f.fd);
    return s;
}

lt_status lt_npy_holds_text(const char *path, bool *out)
{
    lt_file_source f;
    lt_npy_header h;
    LT_TRY(lt_file_source_open(path, &f));
    lt_status s = lt_npy_read_any_header(&f.base, &h);
    close(f.fd);
    LT_TRY(s);
    *out = lt_npy_is_text(&h);
    return LT_OK;
}

void lt_npy_texts_free(lt_npy_texts *t)
{
    if (!t) return;
    lt_free(t->text);
    *t = (lt_npy_texts){ 0 };
}

/* ---- Writing ------------------------------------------------------------------------------------ */
lt_status lt_npy_text_characters(const char *what, const char *text, int64_t i, int most, int *out)
{
    uint32_t c;
    const unsigned char *at = (const unsigned char *)text;
    if (!most) most = LONGEST;
    for (*out = 0; at && *at; ++*out)
        if (*out == most || !get_utf8(&at, &c))
            return LT_FAIL(LT_ERR_ARGUMENT, "%s: text %" PRId64 " (counted from 0) is %s", what, i, *out == most ? "too long" : "not UTF-8");
    return at ? LT_OK : LT_FAIL(LT_ERR_ARGUMENT, "%s: text %" PRId64 " is NULL", what, i);
}

void lt_npy_text_encode(const char *text, int width, uint32_t *field)
{
    const unsigned char *at = (const unsigned char *)text;
    memset(field, 0, (size_t)width * sizeof *field);
    for (int k = 0; k < width && *at; k++) get_utf8(&at, &field[k]);
}

static lt_status write_text(lt_atomic_file *f, const char *text, int width, uint32_t *field)
{
    lt_npy_text_encode(text, width, field);
    return lt_atomic_write(f, field, (size_t)width * sizeof *field);
}

static lt_status write_all(lt_atomic_file *f, int64_t n, const char *const *text, int width)
{
    lt_shape shape = lt_shape1(n);
    lt_npy_head head = lt_npy_header_format_text(width, &shape);
    uint32_t *field = lt_malloc((size_t)width * sizeof *field);
    lt_status s = field ? lt_atomic_write(f, head.s, head.n) : LT_ERR_MEMORY;
    for (int64_t i = 0; !s && i < n; i++) s = write_text(f, text[i], width, field);
    lt_free(field);
    return s;
}

lt_status lt_npy_write_texts(const char *path, int64_t n, const char *const *text)
{
    int width = 1, length;
    if (!path || n < 0 || (!text && n)) return LT_FAIL(LT_ERR_ARGUMENT, "texts to write: path, count or texts are missing");
    for (int64_t i = 0; i < n; i++) {
        LT_TRY(lt_npy_text_characters(path, text[i], i, 0, &length));
        width = LT_MAX(width, length);
    }
    lt_atomic_file f;
    LT_TRY(lt_atomic_open(path, &f));
    lt_status s = write_all(&f, n, text, width);
    if (!s) return lt_atomic_commit(&f);
    lt_atomic_cancel(&f);
    return s;
}
