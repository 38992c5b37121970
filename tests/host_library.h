/* The text of a device's kernels as a library of the CPU: compiled as C++ when the test runs, by a wrapper that includes it
   as KERNEL_TEXT after cuda_shim.h. Tests that use it are named to lt_test_host_text (tests/CMakeLists.txt).
   SPDX-License-Identifier: BSD-3-Clause */
#ifndef HOST_LIBRARY_H
#define HOST_LIBRARY_H

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static inline bool host_library_possible(void) { return LT_CXX[0] != 0; }

static inline bool host_library_write(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    bool written = f && fputs(text, f) >= 0;
    if (f) written = fclose(f) == 0 && written;
    return written;
}

/* NULL when the compiler refuses the text, and says why on standard error. Its files are gone afterwards; dlclose is the caller's. */
static inline void *host_library_open(const char *text, const char *options, const char *wrapper)
{
    char folder[] = "/tmp/lathe-kernels-XXXXXX", source[64], built[64], command[1024];
    void *library = NULL;
    if (!mkdtemp(folder)) return NULL;
    snprintf(source, sizeof source, "%s/kernel.cu", folder);
    snprintf(built, sizeof built, "%s/kernel.so", folder);
    snprintf(command, sizeof command, "'%s' -std=c++17 -O1 %s -shared -fPIC '-DKERNEL_TEXT=\"%s\"' '%s/%s' -o '%s'", LT_CXX, options, source, LT_TEST_SOURCES, wrapper, built);
    if (host_library_write(source, text) && system(command) == 0) {
        library = dlopen(built, RTLD_NOW | RTLD_LOCAL);
        if (!library) fprintf(stderr, "%s\n", dlerror());
    }
    unlink(built);
    unlink(source);
    rmdir(folder);
    return library;
}

#endif
