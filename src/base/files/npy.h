/* Inside the array files: the .npy header, and arrays read from any source of bytes.
   SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_BASE_FILES_NPY_H
#define LT_BASE_FILES_NPY_H

#include "lathe/npy.h"

/* Headers of plain arrays are about a hundred bytes; longer ones than this are refused. */
#define LT_NPY_HEADER_MAX 16384
#define LT_NPY_PREFIX_MAX 12 /* magic, version, length of the text */

typedef struct lt_npy_header {
    char     kind;          /* NumPy's letter: f c i u b; of texts: U (4-byte characters) S (bytes) */
    int      item_bytes;
    bool     swapped;       /* not this machine's byte order */
    bool     fortran_order;
    lt_dtype dtype;         /* what it is read as */
    lt_shape shape;
} lt_npy_header;

/* The length of prefix and header text, from the first n bytes of a file (12 are enough). */
lt_status lt_npy_header_bytes(const char *what, const uint8_t *prefix, size_t n, size_t *header_bytes);
/* The header text after the prefix; `what` names the file in messages. */
lt_status lt_npy_header_parse(const char *what, const char *text, size_t n, lt_npy_header *out);
/* Bytes of data the header asks for; LT_ERR_FORMAT when that overflows. */
lt_status lt_npy_header_data_bytes(const char *what, const lt_npy_header *h, uint64_t *bytes);

typedef struct lt_npy_head { char s[320]; size_t n; } lt_npy_head;
/* The header NumPy would write: version 1.0, padded to a multiple of 64. bf16 is described as f32. */
lt_npy_head lt_npy_header_format(lt_dtype dtype, const lt_shape *shape);
lt_npy_head lt_npy_header_format_text(int n_characters, const lt_shape *shape);
lt_npy_head lt_npy_header_format_as(const char *descr, const lt_shape *shape); /* "<i2" */
/* Characters of a text that is to be written (`most` of them, 0: 16384); LT_ERR_ARGUMENT for more, and for what is not UTF-8. */
lt_status   lt_npy_text_characters(const char *what, const char *text, int64_t i, int most, int *out);
void        lt_npy_text_encode(const char *text, int width, uint32_t *field); /* counted before, so it fits */
/* Checks what a caller wants written; *n is the number of elements. */
lt_status lt_npy_check_array(const char *what, lt_dtype dtype, const lt_shape *shape, const void *data, int64_t *n);

/* Bytes in order, from a file or a member of an archive. */
typedef struct lt_source lt_source;
struct lt_source {
    lt_status (*read)(lt_source *s, void *data, size_t n_bytes);
    uint64_t    left_bytes; /* exactly this many remain */
    const char *what;       /* "x.npy", "x.npz: member 'a'" */
};
lt_status lt_npy_read_any_header(lt_source *s, lt_npy_header *out);
lt_status lt_npy_read_header(lt_source *s, lt_npy_header *out); /* of numbers: texts are LT_ERR_TYPE */
lt_status lt_source_take(lt_source *s, void *data, size_t n_bytes); /* LT_ERR_FORMAT when fewer are left */
static inline bool lt_npy_is_text(const lt_npy_header *h) { return h->kind == 'U' || h->kind == 'S'; }
lt_status lt_npy_read_source(lt_source *s, lt_array *out);
lt_status lt_npy_read_texts_source(lt_source *s, lt_npy_texts *out);

typedef struct lt_file_source {
    lt_source base;
    int       fd;           /* the caller closes it */
    uint64_t  offset;
} lt_file_source;
lt_status lt_file_source_open(const char *path, lt_file_source *f);

/* An archive written member by member, none of which need be in memory: whole or not at all. */
enum { LT_NPZ_NAME_BYTES = 1008 };
typedef struct lt_npz_stream lt_npz_stream;
lt_status lt_npz_stream_open(const char *path, uint64_t zip64_from, lt_npz_stream **out); /* zip64_from 0: where the format needs it */
lt_status lt_npz_stream_member(lt_npz_stream *a, const char *name, const lt_npy_head *head, uint64_t data_bytes);
/* The data of the last member: in order, piece by piece … */
lt_status lt_npz_stream_data(lt_npz_stream *a, const void *data, size_t n_bytes);
/* … or in any order at offsets, and then the checksum of all bytes in their order. */
lt_status lt_npz_stream_put(lt_npz_stream *a, uint64_t offset, const void *data, size_t n_bytes);
lt_status lt_npz_stream_done(lt_npz_stream *a, uint32_t crc, uint64_t n_bytes);
lt_status lt_npz_stream_finish(lt_npz_stream *a, lt_status s); /* s not LT_OK: nothing is left; returns the first failure */

/* As lt_npz_write, with zip64 records for sizes and offsets from `zip64_from` on: tests need not
   write four gigabytes. */
lt_status lt_npz_write_with(const char *path, int n, const char *const *names, const lt_array *arrays,
                            uint64_t zip64_from);

#endif
