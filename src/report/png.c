/* A palette PNG inside a data: address, with zlib where it is built in and stored blocks otherwise.
   SPDX-License-Identifier: BSD-3-Clause */
#include "report/markup.h"

#include "base/alloc.h"
#include "base/status.h"

#include <string.h>

#if LT_HAVE_ZLIB
#include <zlib.h>
#endif

/* ---- Bytes ----------------------------------------------------------------- */

static uint8_t *put_u32(uint8_t *to, uint32_t v)
{
    for (int i = 0; i < 4; i++) to[i] = (uint8_t)(v >> (24 - 8 * i));
    return to + 4;
}

static uint32_t crc_of(const uint8_t *data, size_t n)
{
    uint32_t crc = 0xffffffff;
    for (size_t i = 0; i < n; i++) {
        crc ^= data[i];
        for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
    }
    return ~crc;
}

/* Length, name, data, checksum over name and data. data may already lie at to + 8. */
static uint8_t *put_chunk(uint8_t *to, const char name[4], const uint8_t *data, size_t n)
{
    put_u32(to, (uint32_t)n);
    memcpy(to + 4, name, 4);
    if (n && data != to + 8) memcpy(to + 8, data, n);
    return put_u32(to + 8 + n, crc_of(to + 4, n + 4));
}

/* ---- The zlib stream --------------------------------------------------------- */
#if LT_HAVE_ZLIB
static size_t deflate_bound(size_t n) { return compressBound(n); }

static size_t deflate_bytes(uint8_t *to, size_t capacity, const uint8_t *data, size_t n)
{
    uLongf length = capacity;
    return compress2(to, &length, data, n, 9) == Z_OK ? length : 0;
}
#else
enum { BLOCK = 65535 };

static size_t deflate_bound(size_t n) { return 2 + n + 5 * (n / BLOCK + 1) + 4; }

static size_t deflate_bytes(uint8_t *to, size_t capacity, const uint8_t *data, size_t n)
{
    (void)capacity;
    uint8_t *p = to;
    uint32_t a = 1, b = 0;                /* Adler-32 */
    *p++ = 0x78;
    *p++ = 0x01;
    for (size_t i = 0; i < n; i += BLOCK) {
        size_t part = LT_MIN(n - i, (size_t)BLOCK);
        *p++ = i + part == n;
        *p++ = (uint8_t)part;
        *p++ = (uint8_t)(part >> 8);
        *p++ = (uint8_t)~part;
        *p++ = (uint8_t)(~part >> 8);
        memcpy(p, data + i, part);
        p += part;
    }
    for (size_t i = 0; i < n; i++) {
        a = (a + data[i]) % 65521;
        b = (b + a) % 65521;
    }
    return (size_t)(put_u32(p, b << 16 | a) - to);
}
#endif

/* ---- Base64 ------------------------------------------------------------------ */

static void put_base64(lt_markup *m, const uint8_t *data, size_t n)
{
    static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char line[4 * 256];
    size_t used = 0;
    for (size_t i = 0; i < n; i += 3) {
        uint32_t v = (uint32_t)data[i] << 16 | (i + 1 < n ? (uint32_t)data[i + 1] << 8 : 0) | (i + 2 < n ? data[i + 2] : 0);
        line[used++] = digit[v >> 18];
        line[used++] = digit[v >> 12 & 63];
        line[used++] = i + 1 < n ? digit[v >> 6 & 63] : '=';
        line[used++] = i + 2 < n ? digit[v & 63] : '=';
        if (used == sizeof line || i + 3 >= n) {
            lt_markup_bytes(m, line, used);
            used = 0;
        }
    }
}

/* ---- The image ----------------------------------------------------------------- */

/* Each row starts with a filter byte: 0, none. */
static void put_rows(uint8_t *to, const uint8_t *pixels, int64_t width, int64_t height)
{
    for (int64_t y = 0; y < height; y++) {
        *to++ = 0;
        memcpy(to, pixels + y * width, (size_t)width);
        to += width;
    }
}

void lt_markup_png(lt_markup *m, const uint8_t *pixels, int64_t width, int64_t height, const uint8_t palette[768])
{
    size_t raw_bytes = (size_t)height * ((size_t)width + 1), bound = deflate_bound(raw_bytes);
    uint8_t *raw = lt_malloc(raw_bytes), *png = lt_malloc(bound + 1024);
    if (!raw || !png) {
        if (!m->status) m->status = LT_ERR_MEMORY;
        lt_free(raw);
        lt_free(png);
        return;
    }
    put_rows(raw, pixels, width, height);
    uint8_t *p = png, header[13] = { 0 };
    memcpy(p, "\x89PNG\r\n\x1a\n", 8);
    put_u32(header, (uint32_t)width);
    put_u32(header + 4, (uint32_t)height);
    header[8] = 8;                        /* bits per pixel */
    header[9] = 3;                        /* palette */
    p = put_chunk(p + 8, "IHDR", header, sizeof header);
    p = put_chunk(p, "PLTE", palette, 768);
    p = put_chunk(p, "tRNS", (const uint8_t[]){ 0 }, 1);
    size_t packed = deflate_bytes(p + 8, bound, raw, raw_bytes);
    if (packed) {
        p = put_chunk(p, "IDAT", p + 8, packed);
        p = put_chunk(p, "IEND", NULL, 0);
        lt_markup_raw(m, "data:image/png;base64,");
        put_base64(m, png, (size_t)(p - png));
    } else if (!m->status) {
        m->status = LT_FAIL(LT_ERR_INTERNAL, "report: zlib refused an image of %zu bytes", raw_bytes);
    }
    lt_free(raw);
    lt_free(png);
}
