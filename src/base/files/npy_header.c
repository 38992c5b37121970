/* The header of .npy files: a Python dictionary in text, read by hand and checked in full.
   SPDX-License-Identifier: BSD-3-Clause */
#include "base/files/npy.h"
#include "base/status.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define NATIVE '<'
#else
#define NATIVE '>'
#endif

/* ---- Prefix -------------------------------------------------------------------------- */
lt_status lt_npy_header_bytes(const char *what, const uint8_t *prefix, size_t n, size_t *header_bytes)
{
    static const uint8_t magic[6] = { 0x93, 'N', 'U', 'M', 'P', 'Y' };
    if (n < 10) return LT_FAIL(LT_ERR_FORMAT, "%s: %zu bytes, expected a .npy header of at least 10", what, n);
    if (memcmp(prefix, magic, sizeof magic))
        return LT_FAIL(LT_ERR_FORMAT, "%s: begins with bytes %02x %02x %02x %02x, expected a .npy file (93 4e 55 4d)",
                       what, prefix[0], prefix[1], prefix[2], prefix[3]);
    int version = prefix[6];
    if (version < 1 || version > 3 || prefix[7] != 0)
        return LT_FAIL(LT_ERR_FORMAT, "%s: .npy version %d.%d, expected 1.0, 2.0 or 3.0", what, version, prefix[7]);
    uint64_t text = prefix[8] | (uint64_t)prefix[9] << 8, head = 10;
    if (version > 1) {
        if (n < 12) return LT_FAIL(LT_ERR_FORMAT, "%s: %zu bytes, expected a .npy header of at least 12", what, n);
        text |= (uint64_t)prefix[10] << 16 | (uint64_t)prefix[11] << 24;
        head = 12;
    }
    if (text > LT_NPY_HEADER_MAX)
        return LT_FAIL(LT_ERR_FORMAT, "%s: header of %" PRIu64 " bytes, expected at most %d", what, text, LT_NPY_HEADER_MAX);
    *header_bytes = (size_t)(head + text);
    return LT_OK;
}

/* ---- Text ------------------------------------------------------------------------------ */
typedef struct parser {
    const char *what;
    const char *at, *end, *begin;
    lt_npy_header *out;
    bool has_descr, has_order, has_shape;
} parser;

/* What stands at the parser, made printable, for messages. */
typedef struct excerpt { char s[28]; } excerpt;
static excerpt here(const parser *p)
{
    excerpt e;
    size_t n = 0;
    for (const char *c = p->at; c < p->end && n < 24; c++) e.s[n++] = isprint((unsigned char)*c) ? *c : '?';
    e.s[n] = 0;
    return e;
}

static lt_status unexpected(const parser *p, const char *expected)
{
    return LT_FAIL(LT_ERR_FORMAT, "%s: header has '%s' at byte %td of its text, expected %s", p->what, here(p).s,
                   p->at - p->begin, expected);
}

static void skip_blanks(parser *p)
{
    while (p->at < p->end && (*p->at == ' ' || *p->at == '\t' || *p->at == '\n' || *p->at == '\r')) p->at++;
}

static bool accept(parser *p, char c)
{
    skip_blanks(p);
    if (p->at >= p->end || *p->at != c) return false;
    p->at++;
    return true;
}

static bool accept_word(parser *p, const char *word)
{
    size_t n = strlen(word);
    skip_blanks(p);
    if ((size_t)(p->end - p->at) < n || memcmp(p->at, word, n)) return false;
    p->at += n;
    return true;
}

/* A quoted string without escapes, cut to the buffer (no string we know is that long). Whoever wants one has skipped blanks. */
static lt_status parse_string(parser *p, char *text, size_t bytes)
{
    if (p->at >= p->end || (*p->at != '\'' && *p->at != '"')) return unexpected(p, "a quoted text");
    char quote = *p->at++;
    size_t n = 0;
    for (; p->at < p->end && *p->at != quote; p->at++) {
        if (!isprint((unsigned char)*p->at) || *p->at == '\\') return unexpected(p, "a plain ASCII text");
        if (n + 1 < bytes) text[n++] = *p->at;
    }
    text[n] = 0;
    if (p->at >= p->end) return unexpected(p, "a closing quote");
    p->at++;
    return LT_OK;
}

/* ---- Types ------------------------------------------------------------------------------ */
static const struct { char kind; int bytes; lt_dtype dtype; } known[] = {
    { 'f', 2, LT_F16 }, { 'f', 4, LT_F32 }, { 'f', 8, LT_F64 }, { 'c', 8, LT_C64 }, { 'c', 16, LT_C128 },
    { 'i', 1, LT_I32 }, { 'i', 2, LT_I32 }, { 'i', 4, LT_I32 }, { 'i', 8, LT_I64 }, { 'b', 1, LT_U8 },
    { 'u', 1, LT_U8 }, { 'u', 2, LT_I32 }, { 'u', 4, LT_I64 }, { 'u', 8, LT_I64 },
};

/* 'U' counts characters of four bytes, 'S' bytes. */
static lt_status take_text(parser *p, char kind, int length, bool swapped)
{
    if (length < 1) return LT_FAIL(LT_ERR_TYPE, "%s: texts of no characters, expected at least 1", p->what);
    p->out->kind = kind;
    p->out->item_bytes = kind == 'U' ? 4 * length : length;
    p->out->dtype = LT_U8;
    p->out->swapped = swapped && kind == 'U';
    return LT_OK;
}

static lt_status parse_descr(parser *p)
{
    skip_blanks(p);
    if (p->at < p->end && *p->at == '[')
        return LT_FAIL(LT_ERR_TYPE, "%s: holds records (structured dtype), expected a plain array of numbers", p->what);
    char text[32];
    LT_TRY(parse_string(p, text, sizeof text));
    char order = text[0];
    if (order == '|' && text[1] == 'O')
        return LT_FAIL(LT_ERR_TYPE, "%s: holds Python objects (dtype object, which NumPy pickles), and only Python can read those; save a plain array instead: "
                       "x.astype(float) for numbers, x.astype(str) for texts", p->what);
    if (!order || !strchr("<>=|", order) || !text[1] || !isdigit((unsigned char)text[2]))
        return LT_FAIL(LT_ERR_FORMAT, "%s: descr '%s', expected byte order, letter and size as in '<f8'", p->what, text);
    int bytes = 0;
    for (const char *c = text + 2; *c; c++) {
        if (!isdigit((unsigned char)*c) || bytes > 9999)
            return LT_FAIL(LT_ERR_TYPE, "%s: element type '%s', expected numbers", p->what, text);
        bytes = 10 * bytes + (*c - '0');
    }
    for (size_t i = 0; i < LT_LEN(known); i++)
        if (known[i].kind == text[1] && known[i].bytes == bytes) {
            p->out->kind = known[i].kind;
            p->out->item_bytes = bytes;
            p->out->dtype = known[i].dtype;
            p->out->swapped = (order == '<' || order == '>') && order != NATIVE && bytes > 1;
            return LT_OK;
        }
    if (text[1] == 'U' || text[1] == 'S') return take_text(p, text[1], bytes, (order == '<' || order == '>') && order != NATIVE);
    return LT_FAIL(LT_ERR_TYPE, "%s: element type '%s', expected a float, complex or integer type of at most 8 bytes a part",
                   p->what, text);
}

/* ---- Shape -------------------------------------------------------------------------------- */
static lt_status parse_extent(parser *p, int64_t *out)
{
    skip_blanks(p);
    if (p->at >= p->end || !isdigit((unsigned char)*p->at)) return unexpected(p, "an extent of 0 or more");
    const char *start = p->at;
    int64_t v = 0;
    for (; p->at < p->end && isdigit((unsigned char)*p->at); p->at++)
        if (__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, *p->at - '0', &v)) {
            p->at = start;
            return unexpected(p, "an extent below 2^63");
        }
    if (p->at < p->end && *p->at == 'L') p->at++; /* Python 2 wrote its long integers so */
    *out = v;
    return LT_OK;
}

static lt_status parse_shape(parser *p)
{
    lt_shape *shape = &p->out->shape;
    *shape = lt_shape0();
    if (!accept(p, '(')) return unexpected(p, "a tuple of extents");
    while (!accept(p, ')')) {
        if (shape->rank == LT_MAX_RANK)
            return LT_FAIL(LT_ERR_FORMAT, "%s: shape has more than %d extents, expected at most that", p->what, LT_MAX_RANK);
        LT_TRY(parse_extent(p, &shape->dim[shape->rank++]));
        if (accept(p, ',')) continue;
        if (shape->rank == 1) return unexpected(p, "a comma after the only extent");
        if (!accept(p, ')')) return unexpected(p, "',' or ')'");
        break;
    }
    if (lt_shape_count(shape) < 0)
        return LT_FAIL(LT_ERR_FORMAT, "%s: shape %s, expected fewer than 2^63 elements", p->what, lt_shape_str(shape).s);
    return LT_OK;
}

/* ---- The dictionary --------------------------------------------------------------------------- */
static lt_status once(const parser *p, const char *key, bool *seen)
{
    if (*seen) return LT_FAIL(LT_ERR_FORMAT, "%s: header has '%s' twice, expected it once", p->what, key);
    *seen = true;
    return LT_OK;
}

static lt_status parse_entry(parser *p)
{
    char key[32];
    LT_TRY(parse_string(p, key, sizeof key));
    if (!accept(p, ':')) return unexpected(p, "':'");
    if (!strcmp(key, "descr")) {
        LT_TRY(once(p, key, &p->has_descr));
        return parse_descr(p);
    }
    if (!strcmp(key, "shape")) {
        LT_TRY(once(p, key, &p->has_shape));
        return parse_shape(p);
    }
    if (!strcmp(key, "fortran_order")) {
        LT_TRY(once(p, key, &p->has_order));
        p->out->fortran_order = accept_word(p, "True");
        return p->out->fortran_order || accept_word(p, "False") ? LT_OK : unexpected(p, "True or False");
    }
    return LT_FAIL(LT_ERR_FORMAT, "%s: header key '%s', expected descr, fortran_order and shape", p->what, key);
}

lt_status lt_npy_header_parse(const char *what, const char *text, size_t n, lt_npy_header *out)
{
    *out = (lt_npy_header){ 0 };
    parser p = { .what = what, .at = text, .begin = text, .end = text + n, .out = out };
    if (!accept(&p, '{')) return unexpected(&p, "'{'");
    while (!accept(&p, '}')) {
        LT_TRY(parse_entry(&p));
        if (accept(&p, ',')) continue;
        if (!accept(&p, '}')) return unexpected(&p, "',' or '}'");
        break;
    }
    skip_blanks(&p);
    if (p.at < p.end) return unexpected(&p, "nothing after '}'");
    if (!p.has_descr || !p.has_order || !p.has_shape)
        return LT_FAIL(LT_ERR_FORMAT, "%s: header lacks '%s', expected descr, fortran_order and shape", what,
                       !p.has_descr ? "descr" : !p.has_order ? "fortran_order" : "shape");
    return LT_OK;
}

lt_status lt_npy_header_data_bytes(const char *what, const lt_npy_header *h, uint64_t *bytes)
{
    /* Also in the type it is read as, which may be wider. */
    uint64_t widest = LT_MAX((uint64_t)h->item_bytes, (uint64_t)lt_dtype_size(h->dtype)), total;
    uint64_t count = (uint64_t)lt_shape_count(&h->shape);
    if (__builtin_mul_overflow(count, widest, &total) || total > INT64_MAX)
        return LT_FAIL(LT_ERR_FORMAT, "%s: shape %s of %d-byte elements, expected fewer than 2^63 bytes", what,
                       lt_shape_str(&h->shape).s, h->item_bytes);
    *bytes = count * (uint64_t)h->item_bytes;
    return LT_OK;
}

/* ---- Writing ------------------------------------------------------------------------------------ */
static lt_npy_head format_header(const char *descr, const lt_shape *shape)
{
    lt_npy_head h = { .s = "\x93NUMPY\x01" };
    size_t n = 10, room = sizeof h.s;
    n += (size_t)snprintf(h.s + n, room - n, "{'descr': '%s', 'fortran_order': False, 'shape': (", descr);
    for (int i = 0; i < shape->rank; i++)
        n += (size_t)snprintf(h.s + n, room - n, "%s%" PRId64, i ? ", " : "", shape->dim[i]);
    n += (size_t)snprintf(h.s + n, room - n, "%s), }", shape->rank == 1 ? "," : "");
    size_t padded = (n + 1 + 63) / 64 * 64; /* data begins at a multiple of 64 */
    memset(h.s + n, ' ', padded - n);
    h.s[padded - 1] = '\n';
    h.s[8] = (char)((padded - 10) & 255);
    h.s[9] = (char)((padded - 10) >> 8);
    h.n = padded;
    return h;
}

lt_npy_head lt_npy_header_format_text(int n_characters, const lt_shape *shape)
{
    char descr[16];
    snprintf(descr, sizeof descr, "%cU%d", NATIVE, n_characters);
    return format_header(descr, shape);
}

lt_npy_head lt_npy_header_format_as(const char *descr, const lt_shape *shape) { return format_header(descr, shape); }

lt_npy_head lt_npy_header_format(lt_dtype dtype, const lt_shape *shape)
{
    static const char *const code[] = {
        [LT_F16] = "f2", [LT_BF16] = "f4", [LT_F32] = "f4", [LT_F64] = "f8", [LT_C64] = "c8",
        [LT_C128] = "c16", [LT_I32] = "i4", [LT_I64] = "i8", [LT_U8] = "u1",
    };
    _Static_assert(LT_LEN(code) == LT_DTYPE_COUNT, "one code per element type");
    char descr[16];
    snprintf(descr, sizeof descr, "%c%s", dtype == LT_U8 ? '|' : NATIVE, code[dtype]);
    return format_header(descr, shape);
}

lt_status lt_npy_check_array(const char *what, lt_dtype dtype, const lt_shape *shape, const void *data, int64_t *n)
{
    if (!what || !shape) return LT_FAIL(LT_ERR_ARGUMENT, "%s of an array to write is NULL", what ? "shape" : "path");
    if (lt_dtype_size(dtype) == 0)
        return LT_FAIL(LT_ERR_TYPE, "%s: element type %d, expected 0..%d", what, (int)dtype, LT_DTYPE_COUNT - 1);
    *n = lt_shape_count(shape);
    if (*n < 0 || *n > INT64_MAX / 16)
        return LT_FAIL(LT_ERR_SHAPE, "%s: shape %s of rank %d, expected extents of 0 or more and fewer than 2^59 elements",
                       what, lt_shape_str(shape).s, shape->rank);
    if (!data && *n) return LT_FAIL(LT_ERR_ARGUMENT, "%s: data is NULL for shape %s", what, lt_shape_str(shape).s);
    return LT_OK;
}
