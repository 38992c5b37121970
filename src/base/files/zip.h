/* The zip records .npz files are made of. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_BASE_FILES_ZIP_H
#define LT_BASE_FILES_ZIP_H

#include "lathe/base.h"

typedef struct lt_zip_member {
    const char *name; /* not terminated; points into the directory */
    size_t      name_bytes;
    int         method; /* 0 stored, 8 deflated */
    bool        encrypted;
    uint32_t    crc;
    uint64_t    packed_bytes, bytes;
    uint64_t    data_offset; /* of the local header, until lt_zip_locate */
} lt_zip_member;

typedef struct lt_zip {
    const char *path;
    int         fd;
    uint64_t    file_bytes;
    uint8_t    *directory;
    size_t      directory_bytes;
    uint64_t    n_members;
} lt_zip;

/* Opens the archive and reads its directory, every size checked against the file first. */
lt_status lt_zip_open(const char *path, lt_zip *z);
void      lt_zip_close(lt_zip *z);
/* The member at *at (0 for the first), which moves on to the next; false at the end. */
lt_status lt_zip_next(const lt_zip *z, size_t *at, lt_zip_member *m, bool *found);
/* Turns the offset of the local header into that of the data. */
lt_status lt_zip_locate(const lt_zip *z, lt_zip_member *m);

uint32_t lt_crc32(uint32_t crc, const void *data, size_t n_bytes); /* starts from 0 */
/* Of A followed by B, from the sums of both and the length of B. */
uint32_t lt_crc32_join(uint32_t a, uint32_t b, uint64_t b_bytes);

#endif
