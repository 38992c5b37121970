/* Memory for kernels that the CPU runs. SPDX-License-Identifier: BSD-3-Clause */
#ifndef GUARDED_MEMORY_H
#define GUARDED_MEMORY_H

#include "lt_test.h"

#include <sys/mman.h>
#include <unistd.h>

/* Memory that ends where nothing is mapped: a kernel that reads or writes past the end of a buffer is stopped. */
static inline size_t mapped_bytes(size_t bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    return (bytes + page - 1) / page * page + page;
}

static inline void *guarded_alloc(size_t bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), all = mapped_bytes(bytes);
    char *p = mmap(NULL, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    LT_CHECK(p != MAP_FAILED && mprotect(p + all - page, page, PROT_NONE) == 0);
    memset(p, 0x7e, all - page);
    return p + all - page - bytes;
}

static inline void guarded_free(void *at, size_t bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), all = mapped_bytes(bytes);
    LT_CHECK(munmap((char *)at - (all - page - bytes), all) == 0);
}

#endif
