/* Animated PNG files, which browsers play and no other program is needed for. SPDX-License-Identifier: BSD-3-Clause

   A PNG file (signature, IHDR, acTL) whose frames follow one another: fcTL, then the image as IDAT for the first frame and as fdAT with a sequence number for the
   others. The number of frames stands in acTL and is filled in at the end. */
#include "operators/tools/pictures/image_apng.h"

#include "base/alloc.h"
#include "base/files/file.h"
#include "base/status.h"

#include <string.h>

#if LT_HAVE_ZLIB
#include <zlib.h>

struct lt_apng {
    lt_atomic_file file;
    int            width, height, fps;
    uint32_t       n_frames, sequence;
    uint8_t       *rows, *packed;   /* rows with their filter bytes; room for four bytes before what is packed */
    size_t         rows_bytes, packed_room;
};

enum { HEAD = 8 + 25, COUNT_AT = HEAD }; /* signature and IHDR; then acTL */

static void put_u32(uint8_t *to, uint32_t v)
{
    for (int i = 0; i < 4; i++) to[i] = (uint8_t)(v >> (24 - 8 * i));
}

static void put_u16(uint8_t *to, uint32_t v)
{
    to[0] = (uint8_t)(v >> 8);
    to[1] = (uint8_t)v;
}

/* Length, name, data, checksum of name and data. */
static lt_status put_chunk(lt_apng *a, const char *name, const uint8_t *data, size_t n)
{
    uint8_t head[8], tail[4];
    put_u32(head, (uint32_t)n);
    memcpy(head + 4, name, 4);
    uLong sum = crc32(crc32(0, head + 4, 4), data, (uInt)n);
    put_u32(tail, (uint32_t)(n ? sum : crc32(0, head + 4, 4)));
    LT_TRY(lt_atomic_write(&a->file, head, sizeof head));
    if (n) LT_TRY(lt_atomic_write(&a->file, data, n));
    return lt_atomic_write(&a->file, tail, sizeof tail);
}

static lt_status put_head(lt_apng *a)
{
    uint8_t ihdr[13] = { 0 }, count[8] = { 0 };
    put_u32(ihdr, (uint32_t)a->width);
    put_u32(ihdr + 4, (uint32_t)a->height);
    ihdr[8] = 8; /* bits */
    ihdr[9] = 2; /* red, green, blue */
    LT_TRY(lt_atomic_write(&a->file, "\x89PNG\r\n\x1a\n", 8));
    LT_TRY(put_chunk(a, "IHDR", ihdr, sizeof ihdr));
    return put_chunk(a, "acTL", count, sizeof count); /* no frames yet; 0 plays for ever */
}

static lt_status put_control(lt_apng *a)
{
    uint8_t c[26] = { 0 };
    put_u32(c, a->sequence++);
    put_u32(c + 4, (uint32_t)a->width);
    put_u32(c + 8, (uint32_t)a->height);
    put_u16(c + 20, 1); /* seconds as 1 / fps */
    put_u16(c + 22, (uint32_t)a->fps);
    return put_chunk(a, "fcTL", c, sizeof c);
}

lt_status lt_apng_begin(const char *path, int width, int height, int fps, lt_apng **out)
{
    *out = NULL;
    lt_apng *a = lt_calloc(1, sizeof *a);
    if (!a) return LT_ERR_MEMORY;
    a->width = width;
    a->height = height;
    a->fps = fps;
    a->rows_bytes = (size_t)height * (1 + 3 * (size_t)width);
    a->packed_room = compressBound((uLong)a->rows_bytes);
    a->rows = lt_malloc(a->rows_bytes);
    a->packed = lt_malloc(a->packed_room + 4);
    lt_status s = a->rows && a->packed ? lt_atomic_open(path, &a->file) : LT_ERR_MEMORY;
    if (!s) s = put_head(a);
    if (s) return lt_apng_finish(a, s);
    *out = a;
    return LT_OK;
}

lt_status lt_apng_put(lt_apng *a, const lt_image *frame)
{
    size_t row = 3 * (size_t)a->width;
    uLongf packed = (uLongf)a->packed_room;
    for (int y = 0; y < a->height; y++) {
        a->rows[(size_t)y * (row + 1)] = 0; /* no filter */
        memcpy(a->rows + (size_t)y * (row + 1) + 1, frame->rgb + (size_t)y * row, row);
    }
    LT_TRY(put_control(a));
    if (compress2(a->packed + 4, &packed, a->rows, (uLong)a->rows_bytes, 6) != Z_OK) return LT_FAIL(LT_ERR_INTERNAL, "%s: a frame cannot be packed", a->file.path);
    if (a->n_frames++ == 0) return put_chunk(a, "IDAT", a->packed + 4, packed);
    put_u32(a->packed, a->sequence++);
    return put_chunk(a, "fdAT", a->packed, packed + 4);
}

/* acTL anew, now that the number of frames is known. */
static lt_status put_count(lt_apng *a)
{
    uint8_t chunk[20] = { 0, 0, 0, 8, 'a', 'c', 'T', 'L' };
    put_u32(chunk + 8, a->n_frames);
    put_u32(chunk + 16, (uint32_t)crc32(0, chunk + 4, 12));
    return lt_file_write_at(a->file.fd, a->file.path, COUNT_AT, chunk, sizeof chunk);
}

lt_status lt_apng_finish(lt_apng *a, lt_status s)
{
    if (!a) return s;
    if (!s && !a->n_frames) s = LT_FAIL(LT_ERR_ARGUMENT, "%s: no frames", a->file.path);
    if (!s) s = put_chunk(a, "IEND", NULL, 0);
    if (!s) s = put_count(a);
    if (s) lt_atomic_cancel(&a->file);
    else s = lt_atomic_commit(&a->file);
    lt_free(a->rows);
    lt_free(a->packed);
    lt_free(a);
    return s;
}

#else

lt_status lt_apng_begin(const char *path, int width, int height, int fps, lt_apng **out)
{
    (void)width, (void)height, (void)fps;
    *out = NULL;
    return LT_FAIL(LT_ERR_UNSUPPORTED, "%s: lathe was built without zlib, so it writes no animated PNG", path);
}

lt_status lt_apng_put(lt_apng *a, const lt_image *frame)
{
    (void)a, (void)frame;
    return LT_ERR_UNSUPPORTED;
}

lt_status lt_apng_finish(lt_apng *a, lt_status s)
{
    (void)a;
    return s;
}

#endif
