/* A file in memory with a path, so that the readers' own file handling is exercised. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_FUZZ_MEMORY_FILE_H
#define LT_FUZZ_MEMORY_FILE_H

#include "fuzz.h"

#include <sys/mman.h>
#include <unistd.h>

/* The path of a file that holds these bytes until the next call. */
static inline const char *lt_memory_file(const uint8_t *data, size_t n_bytes)
{
    static int fd = -1;
    static char path[64];
    if (fd < 0) {
        fd = memfd_create("fuzz", MFD_CLOEXEC);
        LT_FUZZ_REQUIRE(fd >= 0);
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    }
    LT_FUZZ_REQUIRE(ftruncate(fd, 0) == 0 && pwrite(fd, data, n_bytes, 0) == (ssize_t)n_bytes);
    return path;
}

#endif
