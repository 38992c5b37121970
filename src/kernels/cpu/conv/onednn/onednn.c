/* The oneDNN engine and its threads. SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/cpu/conv/onednn/onednn.h"

#include "base/alloc.h"
#include "kernels/cpu/trial.h"
#include "kernels/kernel_table.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

static pthread_once_t once = PTHREAD_ONCE_INIT;
static dnnl_engine_t engine;
static dnnl_status_t engine_status;
/* oneDNN is usually built on OpenMP; whichever runtime it brought in is asked, none is linked. */
static void (*set_threads)(int);
static int (*get_threads)(void);

static bool tiles_work;

/* A small bfloat16 convolution, to see whether it ends. */
static void try_bf16(void)
{
    static uint16_t x[16 * 16 * 32], w[32 * 32], y[16 * 16 * 32];
    dnnl_engine_t e;
    dnnl_stream_t stream;
    dnnl_dims_t image = { 1, 32, 16, 16 }, kernel = { 32, 32, 1, 1 };
    lt_dnnl_desc xd, wd;
    dnnl_primitive_desc_t pd;
    dnnl_primitive_t conv;
    dnnl_memory_t mx, mw, my;
    if (dnnl_engine_create(&e, dnnl_cpu, 0) || dnnl_stream_create(&stream, e, dnnl_stream_default_flags)
        || lt_dnnl_desc_make(&xd, 4, image, dnnl_bf16, dnnl_nhwc) || lt_dnnl_desc_make(&wd, 4, kernel, dnnl_bf16, dnnl_format_tag_any)) return;
    lt_dnnl_conv c = { .pass = LT_DNNL_FORWARD, .x = lt_dnnl_look(&xd), .w = lt_dnnl_look(&wd), .y = lt_dnnl_look(&xd), .stride = { 1, 1 } };
    if (lt_dnnl_conv_create(&pd, e, &c, NULL) || dnnl_primitive_create(&conv, pd) || dnnl_memory_create(&mx, c.x, e, x)
        || dnnl_memory_create(&mw, dnnl_primitive_desc_query_md(pd, dnnl_query_weights_md, 0), e, w) || dnnl_memory_create(&my, c.y, e, y)) return;
    dnnl_exec_arg_t arg[] = { { DNNL_ARG_SRC, mx }, { DNNL_ARG_WEIGHTS, mw }, { DNNL_ARG_DST, my } };
    if (dnnl_primitive_execute(conv, stream, 3, arg) == dnnl_success) (void)dnnl_stream_wait(stream);
}

/* Some virtual machines announce AMX in leaf 7 but hide the tiles' description (leaf 0x1D reads zero):
   oneDNN would pick AMX code there and die of an illegal instruction. So tiles count only when they
   are described and a child process survives using them; else the library is asked to do without
   before it decides. */
static void look_for_tiles(void)
{
#if defined(__x86_64__)
    unsigned a, b, c, d, max_palette = 0;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || !(d >> 24 & 1)) return;
    bool bf16 = d >> 22 & 1;
    if (__get_cpuid_count(0x1d, 0, &a, &b, &c, &d)) max_palette = a;
    tiles_work = max_palette > 0 && bf16 && lt_trial_survives(try_bf16, 10);
    if (!tiles_work) (void)dnnl_set_max_cpu_isa(dnnl_cpu_isa_avx512_core_bf16);
#endif
}

bool lt_onednn_bf16_is_native(void)
{
    return lt_onednn_engine() && lt_kernel_bf16_choice(tiles_work);
}

void lt_onednn_describe(char *out, size_t bytes)
{
    const dnnl_version_t *v = dnnl_version();
    int isa = lt_onednn_engine() ? (int)dnnl_get_effective_cpu_isa() : 0;
    snprintf(out, bytes, "%d.%d.%d, isa %#x", v->major, v->minor, v->patch, (unsigned)isa);
}

lt_status lt_onednn_need_room(void) { return lt_need_room((size_t)16 << 20, "oneDNN"); }

static void start(void)
{
    engine_status = dnnl_out_of_memory;
    if (lt_onednn_need_room()) return;
    look_for_tiles();
    *(void **)&set_threads = dlsym(RTLD_DEFAULT, "omp_set_num_threads");
    *(void **)&get_threads = dlsym(RTLD_DEFAULT, "omp_get_max_threads");
    engine_status = dnnl_engine_create(&engine, dnnl_cpu, 0);
}

dnnl_engine_t lt_onednn_engine(void)
{
    pthread_once(&once, start);
    if (engine_status != dnnl_success) {
        (void)LT_FAIL(engine_status == dnnl_out_of_memory ? LT_ERR_MEMORY : LT_ERR_INTERNAL, "oneDNN: status %d making the CPU engine", (int)engine_status);
        return NULL;
    }
    return engine;
}

int lt_onednn_enter(void)
{
    pthread_once(&once, start); /* before the first primitive: what is made with several threads runs with them for good */
    if (!set_threads || !get_threads) return 0;
    int before = get_threads();
    set_threads(1);
    return before;
}

void lt_onednn_leave(int token)
{
    if (token > 0) set_threads(token);
}
