/* The CPU as a GPU of Gram matrices: memory of its own that is the host's, and kernels whose text is compiled as C++ and run thread by
   thread (gram_host.cc). It says that it has no tensor cores, so that all texts are plain. With LATHE_TEST_DEVICE=cuda a real GPU is in its place,
   with as little shared memory as is asked for. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_TEST_HOST_GPU_H
#define LT_TEST_HOST_GPU_H

#include "host_library.h"
#include "lt_test.h"

#include "base/alloc.h"
#include "base/status.h"
#include "device/backend.h"

#include <pthread.h>

typedef void host_run(unsigned blocks, unsigned threads, size_t shared_bytes, int backwards, void **arg);
typedef struct host_kernel { lt_kernel base; host_run *run; unsigned blocks, threads; size_t shared_bytes; } host_kernel;

enum { HOST_MAX_TEXTS = 128 };
static struct { char *source; void *library; } host_known[HOST_MAX_TEXTS];
static pthread_mutex_t host_lock = PTHREAD_MUTEX_INITIALIZER;
static bool host_backwards; /* the last thread of a block first: what depends on it lacks a barrier */

/* The text with "extern __shared__" as the shim has it, behind the name of its entry. */
static inline char *host_text(const lt_kernel_key *key)
{
    const size_t bytes = strlen(key->source) + 256;
    char *text = malloc(bytes), *to = text;
    to += sprintf(to, "#define KERNEL_ENTRY %s\n", key->entry);
    for (const char *p = key->source; *p;) {
        static const char dynamic[] = "extern __shared__";
        bool here = !strncmp(p, dynamic, sizeof dynamic - 1);
        if (here) to += sprintf(to, "extern"), p += sizeof dynamic - 1;
        else *to++ = *p++;
    }
    *to = 0;
    return text;
}

static inline void *host_compiled(const lt_kernel_key *key)
{
    char *text = host_text(key);
    void *library = NULL;
    pthread_mutex_lock(&host_lock);
    int i = 0;
    while (i < HOST_MAX_TEXTS && host_known[i].source && strcmp(host_known[i].source, text)) i++;
    if (i < HOST_MAX_TEXTS && !host_known[i].source) {
        host_known[i].library = host_library_open(text, "-w", "gram_host.cc");
        host_known[i].source = text;
        text = NULL;
    }
    if (i < HOST_MAX_TEXTS) library = host_known[i].library;
    pthread_mutex_unlock(&host_lock);
    free(text);
    return library;
}

static inline lt_status host_kernel_run(const lt_kernel *base, lt_pool *pool, void *const *arg)
{
    const host_kernel *k = (const host_kernel *)base;
    void *copy[LT_KERNEL_MAX_ARGS];
    (void)pool;
    memcpy(copy, arg, (size_t)base->n_args * sizeof *copy);
    k->run(k->blocks, k->threads, k->shared_bytes, host_backwards, copy);
    return LT_OK;
}

static inline void host_kernel_destroy(lt_kernel *base) { lt_free(base); }

static inline lt_status host_build(lt_device *dev, const lt_kernel_key *key, lt_kernel **out)
{
    void *library = host_compiled(key);
    if (key->shared_bytes > dev->shared_bytes) return LT_FAIL(LT_ERR_INTERNAL, "kernel '%s' wants %zu bytes of shared memory", key->name, key->shared_bytes);
    if (!library) return LT_FAIL(LT_ERR_UNSUPPORTED, "the C++ compiler refuses kernel '%s'", key->name);
    host_kernel *k = lt_calloc(1, sizeof *k);
    if (!k) return LT_ERR_MEMORY;
    k->base = (lt_kernel){ .name = key->name, .run = host_kernel_run, .destroy = host_kernel_destroy, .n_args = key->n_args };
    k->blocks = key->grid[0], k->threads = key->block[0], k->shared_bytes = key->shared_bytes;
    *(void **)&k->run = dlsym(library, "run_launch");
    *out = &k->base;
    return LT_OK;
}

static const lt_backend *host_cpu;
static lt_backend host_table;

static inline lt_status host_describe(lt_device *dev, lt_device_info *out)
{
    LT_TRY(host_cpu->describe(dev, out));
    snprintf(out->features, sizeof out->features, "sm_70");
    out->cores = 2;
    return LT_OK;
}

static inline bool host_gpu_is_real(void) { return getenv("LATHE_TEST_DEVICE") && !strcmp(getenv("LATHE_TEST_DEVICE"), "cuda"); }

#define HOST_GPU_OR_SKIP()                                                                                             \
    do {                                                                                                               \
        lt_device *dev_ = NULL;                                                                                        \
        if (host_gpu_is_real() && lt_device_open("cuda", &dev_)) LT_SKIP("%s", lt_error_text());                       \
        lt_device_close(dev_);                                                                                         \
        if (!host_gpu_is_real() && !host_library_possible()) LT_SKIP("no C++ compiler to run kernels with");           \
    } while (0)

/* shared_bytes: of a block. Closed by host_gpu_close. */
static inline lt_device *host_gpu_open(size_t shared_bytes)
{
    lt_device *dev = NULL;
    LT_CHECK_OK(lt_device_open(host_gpu_is_real() ? "cuda" : "cpu", &dev));
    host_cpu = dev->backend;
    dev->shared_bytes = shared_bytes;
    if (host_gpu_is_real()) return dev;
    host_table = *host_cpu;
    host_table.flags = LT_DEVICE_OWN_MEMORY | LT_DEVICE_TEXT_KERNELS | LT_DEVICE_COMPUTES;
    host_table.describe = host_describe, host_table.build = host_build;
    dev->backend = &host_table;
    dev->generation = 70;
    return dev;
}

static inline void host_gpu_close(lt_device *dev)
{
    dev->backend = host_cpu;
    lt_device_close(dev);
}

#endif
