/* The oneDNN engine and its threads. SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/cpu/onednn.h"

#include <dlfcn.h>
#include <pthread.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

static pthread_once_t once = PTHREAD_ONCE_INIT;
static dnnl_engine_t engine;
static dnnl_status_t engine_status;
/* oneDNN is usually built on OpenMP; whichever runtime it brought in is asked, none is linked. */
static void (*set_threads)(int);
static int (*get_threads)(void);

/* Some virtual machines announce AMX in leaf 7 but have no palette in leaf 0x1D: oneDNN would
   pick AMX code there and fault. */
static void avoid_amx_without_tiles(void)
{
#if defined(__x86_64__)
    unsigned a, b, c, d, max_palette = 0;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || !(d >> 24 & 1)) return;
    if (__get_cpuid_count(0x1d, 0, &a, &b, &c, &d)) max_palette = a;
    if (max_palette == 0) (void)dnnl_set_max_cpu_isa(dnnl_cpu_isa_avx512_core_bf16);
#endif
}

static void start(void)
{
    avoid_amx_without_tiles();
    *(void **)&set_threads = dlsym(RTLD_DEFAULT, "omp_set_num_threads");
    *(void **)&get_threads = dlsym(RTLD_DEFAULT, "omp_get_max_threads");
    engine_status = dnnl_engine_create(&engine, dnnl_cpu, 0);
}

dnnl_engine_t lt_onednn_engine(void)
{
    pthread_once(&once, start);
    if (engine_status != dnnl_success) {
        (void)LT_FAIL(LT_ERR_INTERNAL, "oneDNN: status %d making the CPU engine", (int)engine_status);
        return NULL;
    }
    return engine;
}

int lt_onednn_enter(void)
{
    if (!set_threads || !get_threads) return 0;
    int before = get_threads();
    set_threads(1);
    return before;
}

void lt_onednn_leave(int token)
{
    if (token > 0) set_threads(token);
}
