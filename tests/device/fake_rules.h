/* Rules of the CUDA driver that the made-up one keeps an eye on (decision 431). Who breaks one learns which, and the process ends: a real driver would refuse the call, or
   take it and do something undefined. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_TEST_FAKE_RULES_H
#define LT_TEST_FAKE_RULES_H

#include "../cubin.h"

#include <stdarg.h>
#include <stdlib.h>

__attribute__((format(printf, 1, 2), noreturn)) static inline void fake_refuse(const char *format, ...)
{
    va_list arg;
    va_start(arg, format);
    fputs("made-up driver: ", stderr);
    vfprintf(stderr, format, arg);
    fputc('\n', stderr);
    va_end(arg);
    abort();
}

/* A function of a module: what its machine code says, where it is real. */
typedef struct fake_function {
    char        name[64];
    bool        known, loaded;
    cubin_entry code;
    size_t      most_dynamic; /* bytes of shared memory that may be asked for at a launch */
} fake_function;

/* What needs no asking, with the static part. */
enum { FAKE_PLAIN_SHARED_BYTES = 48 << 10 };

static inline fake_function fake_function_of(const char *image, const char *name, int sm)
{
    fake_function f = { .loaded = true };
    snprintf(f.name, sizeof f.name, "%s", name);
    f.known = cubin_describe(image, name, sm, &f.code);
    f.most_dynamic = f.code.shared_bytes < FAKE_PLAIN_SHARED_BYTES ? FAKE_PLAIN_SHARED_BYTES - f.code.shared_bytes : 0;
    return f;
}

static inline void fake_allow_dynamic(fake_function *f, size_t bytes, int sm)
{
    if (f->known && f->code.shared_bytes + bytes > cubin_most_shared(sm)) fake_refuse("%s: %zu bytes of shared memory beside %zu", f->name, bytes, f->code.shared_bytes);
    f->most_dynamic = bytes;
}

static inline void fake_check_launch(const fake_function *f, int sm, const unsigned grid[3], const unsigned block[3], size_t dynamic)
{
    enum { MOST_ROWS = 65535 };
    if (!f->loaded) fake_refuse("%s: its module is gone", f->name);
    if (!f->known) return;
    const char *why = cubin_refusal(&f->code, sm, block, dynamic);
    if (why) fake_refuse("%s: %s (%u x %u x %u threads, %d registers, %zu + %zu bytes)", f->name, why, block[0], block[1], block[2], f->code.registers, f->code.shared_bytes, dynamic);
    if (dynamic > f->most_dynamic) fake_refuse("%s: %zu bytes of shared memory, %zu are allowed so far", f->name, dynamic, f->most_dynamic);
    if (!grid[0] || !grid[1] || !grid[2] || grid[0] > INT32_MAX || grid[1] > MOST_ROWS || grid[2] > MOST_ROWS) fake_refuse("%s: a grid of %u x %u x %u", f->name, grid[0], grid[1], grid[2]);
    if (!f->code.pointers) fake_refuse("%s: parameters that are no pointers", f->name);
}

#endif
