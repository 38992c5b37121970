/* Reading zip archives: the directory at the end, with zip64, and CRC-32.
   SPDX-License-Identifier: BSD-3-Clause */
#include "base/files/zip.h"

#include "base/alloc.h"
#include "base/files/file.h"
#include "base/status.h"

#include <inttypes.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

enum { END_BYTES = 22, LOCATOR_BYTES = 20, END64_BYTES = 56, ENTRY_BYTES = 46, LOCAL_BYTES = 30, COMMENT_MAX = 65535 };

static uint16_t le16(const uint8_t *p) { return (uint16_t)(p[0] | p[1] << 8); }
static uint32_t le32(const uint8_t *p) { return le16(p) | (uint32_t)le16(p + 2) << 16; }
static uint64_t le64(const uint8_t *p) { return le32(p) | (uint64_t)le32(p + 4) << 32; }

/* ---- CRC-32 -------------------------------------------------------------------------- */
static uint32_t crc_table[8][256]; /* [k][b]: byte b followed by k zero bytes */
static pthread_once_t crc_made = PTHREAD_ONCE_INIT;

static void make_crc_table(void)
{
    for (uint32_t b = 0; b < 256; b++) {
        uint32_t c = b;
        for (int i = 0; i < 8; i++) c = c >> 1 ^ (c & 1 ? 0xedb88320u : 0);
        crc_table[0][b] = c;
    }
    for (int k = 1; k < 8; k++)
        for (uint32_t b = 0; b < 256; b++)
            crc_table[k][b] = crc_table[k - 1][b] >> 8 ^ crc_table[0][crc_table[k - 1][b] & 255];
}

uint32_t lt_crc32(uint32_t crc, const void *data, size_t n_bytes)
{
    pthread_once(&crc_made, make_crc_table);
    const uint8_t *p = data;
    uint32_t c = ~crc;
    for (; n_bytes >= 8; n_bytes -= 8, p += 8) { /* eight bytes at a time */
        uint32_t low = c ^ le32(p), high = le32(p + 4);
        c = crc_table[7][low & 255] ^ crc_table[6][low >> 8 & 255] ^ crc_table[5][low >> 16 & 255] ^
            crc_table[4][low >> 24] ^ crc_table[3][high & 255] ^ crc_table[2][high >> 8 & 255] ^
            crc_table[1][high >> 16 & 255] ^ crc_table[0][high >> 24];
    }
    while (n_bytes--) c = c >> 8 ^ crc_table[0][(c ^ *p++) & 255];
    return ~c;
}

/* Sums are polynomials over GF(2) modulo that of CRC-32, bits in reverse: appending n bytes to A multiplies its sum by x^(8 n). */
static uint32_t multiply(uint32_t a, uint32_t b)
{
    uint32_t product = 0;
    for (uint32_t bit = 1u << 31; bit; bit >>= 1) {
        if (a & bit) product ^= b;
        b = b & 1 ? b >> 1 ^ 0xedb88320u : b >> 1;
    }
    return product;
}

uint32_t lt_crc32_join(uint32_t a, uint32_t b, uint64_t b_bytes)
{
    uint32_t power = 1u << 31, square = 1u << 23; /* 1, x^8 */
    for (; b_bytes; b_bytes >>= 1) {
        if (b_bytes & 1) power = multiply(power, square);
        square = multiply(square, square);
    }
    return multiply(a, power) ^ b;
}

/* ---- The end of the archive -------------------------------------------------------------- */
/* The end record is the last one whose comment reaches exactly to the end of the file. */
static lt_status find_end(lt_zip *z, uint64_t *end_at, uint8_t end[END_BYTES])
{
    uint8_t tail[END_BYTES + COMMENT_MAX];
    size_t n = (size_t)LT_MIN(z->file_bytes, (uint64_t)sizeof tail);
    LT_TRY(lt_file_read_at(z->fd, z->path, z->file_bytes - n, tail, n));
    for (size_t back = END_BYTES; back <= n; back++) {
        const uint8_t *p = tail + n - back;
        if (le32(p) == 0x06054b50 && le16(p + 20) == back - END_BYTES) {
            *end_at = z->file_bytes - back;
            memcpy(end, p, END_BYTES);
            return LT_OK;
        }
    }
    return LT_FAIL(LT_ERR_FORMAT, "%s: no end record in %" PRIu64 " bytes, expected a zip archive", z->path, z->file_bytes);
}

typedef struct extent { uint64_t offset, bytes, n_members; } extent;

static lt_status read_end64(lt_zip *z, uint64_t end_at, extent *e, bool *found)
{
    *found = false;
    if (end_at < LOCATOR_BYTES) return LT_OK;
    uint8_t locator[LOCATOR_BYTES], end64[END64_BYTES];
    LT_TRY(lt_file_read_at(z->fd, z->path, end_at - LOCATOR_BYTES, locator, sizeof locator));
    if (le32(locator) != 0x07064b50) return LT_OK;
    uint64_t at = le64(locator + 8);
    if (at > end_at - LOCATOR_BYTES || end_at - LOCATOR_BYTES - at < END64_BYTES)
        return LT_FAIL(LT_ERR_FORMAT, "%s: zip64 end record at byte %" PRIu64 ", expected it before byte %" PRIu64,
                       z->path, at, end_at - LOCATOR_BYTES);
    LT_TRY(lt_file_read_at(z->fd, z->path, at, end64, sizeof end64));
    if (le32(end64) != 0x06064b50)
        return LT_FAIL(LT_ERR_FORMAT, "%s: signature %08x at byte %" PRIu64 ", expected a zip64 end record", z->path,
                       le32(end64), at);
    *e = (extent){ .n_members = le64(end64 + 32), .bytes = le64(end64 + 40), .offset = le64(end64 + 48) };
    *found = true;
    return LT_OK;
}

static lt_status read_directory(lt_zip *z)
{
    uint64_t end_at;
    uint8_t end[END_BYTES];
    extent e;
    bool has_64;
    LT_TRY(find_end(z, &end_at, end));
    LT_TRY(read_end64(z, end_at, &e, &has_64));
    if (!has_64) e = (extent){ .n_members = le16(end + 10), .bytes = le32(end + 12), .offset = le32(end + 16) };
    if (e.offset > end_at || e.bytes > end_at - e.offset)
        return LT_FAIL(LT_ERR_FORMAT,
                       "%s: directory of %" PRIu64 " bytes at byte %" PRIu64 ", expected it before byte %" PRIu64, z->path,
                       e.bytes, e.offset, end_at);
    if (e.n_members > e.bytes / ENTRY_BYTES)
        return LT_FAIL(LT_ERR_FORMAT,
                       "%s: %" PRIu64 " members in a directory of %" PRIu64 " bytes, expected at most %" PRIu64, z->path,
                       e.n_members, e.bytes, e.bytes / ENTRY_BYTES);
    z->n_members = e.n_members;
    z->directory_bytes = (size_t)e.bytes;
    z->directory = lt_malloc((size_t)e.bytes);
    if (!z->directory) return LT_ERR_MEMORY;
    return lt_file_read_at(z->fd, z->path, e.offset, z->directory, (size_t)e.bytes);
}

lt_status lt_zip_open(const char *path, lt_zip *z)
{
    *z = (lt_zip){ .path = path, .fd = -1 };
    LT_TRY(lt_file_open(path, &z->fd, &z->file_bytes));
    lt_status s = read_directory(z);
    if (s) lt_zip_close(z);
    return s;
}

void lt_zip_close(lt_zip *z)
{
    if (z->fd >= 0) close(z->fd);
    lt_free(z->directory);
    *z = (lt_zip){ .fd = -1 };
}

/* ---- Members ------------------------------------------------------------------------------- */
/* Fields that did not fit 32 bits are in an extra field, in this order and only those. */
static void apply_zip64(const uint8_t *extra, size_t n, lt_zip_member *m)
{
    while (n >= 4) {
        size_t size = le16(extra + 2);
        if (size > n - 4) return;
        if (le16(extra) == 1) {
            const uint8_t *p = extra + 4, *end = p + size;
            uint64_t *field[] = { &m->bytes, &m->packed_bytes, &m->data_offset };
            for (size_t i = 0; i < LT_LEN(field); i++)
                if (*field[i] == UINT32_MAX && end - p >= 8) {
                    *field[i] = le64(p);
                    p += 8;
                }
            return;
        }
        extra += 4 + size;
        n -= 4 + size;
    }
}

lt_status lt_zip_next(const lt_zip *z, size_t *at, lt_zip_member *m, bool *found)
{
    *found = false;
    if (*at == z->directory_bytes) return LT_OK;
    const uint8_t *p = z->directory + *at;
    size_t left = z->directory_bytes - *at;
    if (left < ENTRY_BYTES || le32(p) != 0x02014b50)
        return LT_FAIL(LT_ERR_FORMAT, "%s: directory broken at its byte %zu of %zu, expected a member", z->path, *at,
                       z->directory_bytes);
    size_t name = le16(p + 28), extra = le16(p + 30), comment = le16(p + 32);
    if (name + extra + comment > left - ENTRY_BYTES)
        return LT_FAIL(LT_ERR_FORMAT, "%s: member of %zu bytes in the directory, expected at most %zu", z->path,
                       name + extra + comment, left - ENTRY_BYTES);
    *m = (lt_zip_member){
        .name = (const char *)p + ENTRY_BYTES, .name_bytes = name, .method = le16(p + 10), .encrypted = le16(p + 8) & 1,
        .crc = le32(p + 16), .packed_bytes = le32(p + 20), .bytes = le32(p + 24), .data_offset = le32(p + 42),
    };
    apply_zip64(p + ENTRY_BYTES + name, extra, m);
    *at += ENTRY_BYTES + name + extra + comment;
    *found = true;
    return LT_OK;
}

lt_status lt_zip_locate(const lt_zip *z, lt_zip_member *m)
{
    uint8_t local[LOCAL_BYTES];
    if (m->data_offset > z->file_bytes || z->file_bytes - m->data_offset < LOCAL_BYTES)
        return LT_FAIL(LT_ERR_FORMAT, "%s: member '%.*s' at byte %" PRIu64 " of %" PRIu64 ", expected it inside", z->path,
                       (int)LT_MIN(m->name_bytes, (size_t)100), m->name, m->data_offset, z->file_bytes);
    LT_TRY(lt_file_read_at(z->fd, z->path, m->data_offset, local, sizeof local));
    if (le32(local) != 0x04034b50)
        return LT_FAIL(LT_ERR_FORMAT, "%s: signature %08x at byte %" PRIu64 ", expected the head of member '%.*s'", z->path,
                       le32(local), m->data_offset, (int)LT_MIN(m->name_bytes, (size_t)100), m->name);
    m->data_offset += LOCAL_BYTES + (uint64_t)le16(local + 26) + le16(local + 28);
    if (m->data_offset > z->file_bytes || m->packed_bytes > z->file_bytes - m->data_offset)
        return LT_FAIL(LT_ERR_FORMAT, "%s: member '%.*s' of %" PRIu64 " bytes at byte %" PRIu64 " of %" PRIu64
                       ", expected it inside", z->path, (int)LT_MIN(m->name_bytes, (size_t)100), m->name, m->packed_bytes,
                       m->data_offset, z->file_bytes);
    return LT_OK;
}
