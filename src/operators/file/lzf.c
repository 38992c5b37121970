/* LZF: literal runs and back references. SPDX-License-Identifier: BSD-3-Clause

   Format: a control byte c < 32 is followed by c + 1 literal bytes. Otherwise it is a reference:
   length (c >> 5) + 2, or when that top part is 7 a further byte is added to it; then the low byte of
   the distance, whose high five bits are the rest of c. The distance counts back from one before. */
#include "operators/file/lzf.h"

#include <string.h>

enum { HASH_BITS = 14, MAX_DISTANCE = 1 << 13, MAX_LENGTH = 7 + 255 + 2, MAX_LITERALS = 32 };

static uint32_t hash_of(const uint8_t *p)
{
    uint32_t v = (uint32_t)p[0] << 16 | (uint32_t)p[1] << 8 | p[2];
    return v * 2654435761u >> (32 - HASH_BITS);
}

typedef struct writer { uint8_t *out; size_t at, capacity; } writer;

static int put_literals(writer *w, const uint8_t *from, size_t n)
{
    while (n) {
        size_t run = n < MAX_LITERALS ? n : MAX_LITERALS;
        if (w->at + run + 1 > w->capacity) return 0;
        w->out[w->at++] = (uint8_t)(run - 1);
        memcpy(w->out + w->at, from, run);
        w->at += run;
        from += run;
        n -= run;
    }
    return 1;
}

static int put_reference(writer *w, size_t distance, size_t length)
{
    if (w->at + 3 > w->capacity) return 0;
    size_t d = distance - 1, l = length - 2;
    w->out[w->at++] = (uint8_t)((l < 7 ? l : 7) << 5 | d >> 8);
    if (l >= 7) w->out[w->at++] = (uint8_t)(l - 7);
    w->out[w->at++] = (uint8_t)d;
    return 1;
}

size_t lt_lzf_pack(const uint8_t *in, size_t n, uint8_t *out, size_t capacity)
{
    uint32_t seen[1 << HASH_BITS] = { 0 }; /* position + 1, by hash of three bytes */
    writer w = { out, 0, capacity };
    size_t i = 0, literals = 0;
    if (n > UINT32_MAX - 1) return 0;
    while (i + 3 <= n) {
        uint32_t *slot = &seen[hash_of(in + i)];
        size_t from = *slot, distance = from ? i + 1 - from : 0;
        *slot = (uint32_t)i + 1;
        if (!from || distance > MAX_DISTANCE || memcmp(in + from - 1, in + i, 3)) {
            i++;
            continue;
        }
        size_t length = 3, limit = n - i < MAX_LENGTH ? n - i : MAX_LENGTH;
        while (length < limit && in[from - 1 + length] == in[i + length]) length++;
        if (!put_literals(&w, in + literals, i - literals) || !put_reference(&w, distance, length)) return 0;
        i += length;
        literals = i;
    }
    return put_literals(&w, in + literals, n - literals) ? w.at : 0;
}

size_t lt_lzf_unpack(const uint8_t *in, size_t n, uint8_t *out, size_t capacity)
{
    size_t i = 0, at = 0;
    while (i < n) {
        size_t c = in[i++];
        if (c < MAX_LITERALS) {
            if (n - i < c + 1 || capacity - at < c + 1) return 0;
            memcpy(out + at, in + i, c + 1);
            i += c + 1;
            at += c + 1;
            continue;
        }
        size_t length = c >> 5;
        if (length == 7) {
            if (i >= n) return 0;
            length += in[i++];
        }
        if (i >= n) return 0;
        size_t distance = ((c & 31) << 8 | in[i++]) + 1;
        length += 2;
        if (distance > at || capacity - at < length) return 0;
        for (size_t k = 0; k < length; k++, at++) out[at] = out[at - distance]; /* may overlap itself */
    }
    return at;
}
