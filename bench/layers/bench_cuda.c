/* What a GPU reaches of its own copy rate: a fused chain of 8 elementwise ops on 10^8 f32 for several
   widths and unrolls, sums, and what a launch costs. One line per case.
   SPDX-License-Identifier: BSD-3-Clause */
#include "base/status.h"
#include "kernels/cuda/cuda_table.h"
#include "kernels/cuda/fused/pass.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 100000000, ROUNDS = 20, LAUNCHES = 100 };

static lt_device *dev;
static lt_stream *st;

static void check(lt_status s)
{
    if (!s) return;
    fprintf(stderr, "%s\n", lt_error_text());
    exit(1);
}

/* Median time of ROUNDS runs after two to warm up, by events. */
static int ascending(const void *a, const void *b) { return (*(const double *)a > *(const double *)b) - (*(const double *)a < *(const double *)b); }
static double time_of(void (*fn)(void *), void *ctx)
{
    double ns[ROUNDS];
    lt_event *from, *to;
    check(lt_event_create(dev, &from));
    check(lt_event_create(dev, &to));
    for (int i = -2; i < ROUNDS; i++) {
        check(lt_event_record(from, st));
        fn(ctx);
        check(lt_event_record(to, st));
        check(lt_event_sync(to));
        if (i >= 0) check(lt_event_elapsed(from, to, &ns[i]));
    }
    lt_event_destroy(from);
    lt_event_destroy(to);
    qsort(ns, ROUNDS, sizeof ns[0], ascending);
    return ns[ROUNDS / 2];
}

static void *array[3];
static void copy(void *ctx) { (void)ctx; check(lt_stream_copy(st, array[1], array[0], N * 4ul, LT_TRANSFER_D2D, false)); }
static void launch(void *ctx) { check(lt_stream_launch(st, &(lt_launch){ ctx, array })); }
static void replay(void *ctx) { check(lt_capture_replay(st, ctx)); }
static void launch_each(void *ctx) { for (int i = 0; i < LAUNCHES; i++) launch(ctx); }

/* y = 8 ops of x */
static const lt_fused_load load = { 0, 0, LT_F32, { 0, { 1 } } };
static const lt_fused_const consts[] = { { 1, 1.5 }, { 2, -0.25 } };
static const lt_fused_step steps[] = { { LT_OP_MUL, 3, { 0, 1 } }, { LT_OP_ADD, 4, { 3, 2 } }, { LT_OP_ABS, 5, { 4 } }, { LT_OP_SQRT, 6, { 5 } },
                                       { LT_OP_MUL, 7, { 6, 0 } }, { LT_OP_MAX, 8, { 7, 2 } }, { LT_OP_SUB, 9, { 8, 1 } }, { LT_OP_SQUARE, 10, { 9 } } };
static const lt_fused_store store = { 10, 1, LT_F32, { 0, { 1 } } };

static lt_fused chain(int64_t n)
{
    return (lt_fused){ .type = LT_F32, .domain = lt_shape1(n), .n_regs = 11, .n_args = 2, .n_loads = 1, .loads = &load, .n_consts = 2, .consts = consts,
                       .n_steps = 8, .steps = steps, .n_stores = 1, .stores = &store };
}

static void chain_variant(int vector, int unroll, double copy_ns)
{
    lt_fused f = chain(N);
    lt_fused_pass p;
    lt_text text = { 0 };
    lt_kernel *k;
    check(lt_fused_pass_plan(&f, 0, true, &p));
    p.vector = vector;
    p.unroll = unroll;
    p.grid[0] = (unsigned)((N / vector + LT_FUSED_THREADS * unroll - 1) / (LT_FUSED_THREADS * unroll));
    lt_fused_render(&p, &text);
    check(lt_device_build(dev, &(lt_kernel_key){ .name = "chain", .source = text.s, .entry = "fused", .n_args = 2, .grid = { p.grid[0], 1, 1 },
                                                 .block = { LT_FUSED_THREADS, 1, 1 }, .waits = true }, &k));
    double ns = time_of(launch, k);
    printf("chain vector=%d unroll=%d us=%.1f TB/s=%.3f share=%.3f\n", vector, unroll, ns / 1e3, 8e-3 * N / ns, copy_ns / ns);
    lt_kernel_destroy(k);
    lt_text_free(&text);
}

static void sums(void)
{
    lt_fused_reduce r = { LT_OP_SUM, 0, 1, LT_F32, 1 };
    static const struct { const char *name; lt_shape d; uint32_t axes; } c[] = {
        { "all", { 1, { N } }, 1 }, { "rows of 1000", { 2, { N / 1000, 1000 } }, 2 }, { "columns of 1000", { 2, { 1000, N / 1000 } }, 1 },
        { "rows of 10^6", { 2, { 100, N / 100 } }, 2 } };
    for (size_t i = 0; i < LT_LEN(c); i++) {
        lt_fused_load l = { 0, 0, LT_F32, { 0, { 1 } } };
        if (c[i].d.rank == 2) l.view = (lt_affine){ 0, { c[i].d.dim[1], 1 } };
        r.axes = c[i].axes;
        lt_fused f = { .type = LT_F32, .domain = c[i].d, .n_regs = 1, .n_args = 2, .n_loads = 1, .loads = &l, .n_reduces = 1, .reduces = &r };
        lt_kernel *k;
        void *scratch = NULL;
        check(lt_fused_prepare_cuda(dev, &f, &k));
        check(lt_device_alloc(dev, st, k->scratch_bytes + 1, "bench", &scratch));
        array[2] = scratch;
        double ns = time_of(launch, k);
        printf("sum %s us=%.1f TB/s=%.3f\n", c[i].name, ns / 1e3, 4e-3 * N / ns);
        check(lt_device_free(dev, st, scratch));
        lt_kernel_destroy(k);
    }
}

/* What one of LAUNCHES kernels in a row costs, each waiting for the one before it. */
static void launches(int64_t n)
{
    lt_fused f = chain(n);
    lt_kernel *k;
    lt_capture *c;
    lt_stream *own;
    check(lt_fused_prepare_cuda(dev, &f, &k));
    check(lt_stream_create(dev, &own));
    check(lt_capture_begin(own));
    for (int i = 0; i < LAUNCHES; i++) check(lt_stream_launch(own, &(lt_launch){ k, array }));
    check(lt_capture_end(own, &c));
    printf("launch one by one of %lld elements us=%.3f\n", (long long)n, time_of(launch_each, k) / 1e3 / LAUNCHES);
    printf("launch captured of %lld elements us=%.3f\n", (long long)n, time_of(replay, c) / 1e3 / LAUNCHES);
    lt_capture_destroy(c);
    lt_stream_destroy(own);
    lt_kernel_destroy(k);
}

static void rates(void)
{
    double copy_ns = time_of(copy, NULL);
    printf("copy us=%.1f TB/s=%.3f\n", copy_ns / 1e3, 8e-3 * N / copy_ns);
    for (int v = 1; v <= 8; v *= 2)
        for (int u = 1; u <= 4; u *= 2) chain_variant(v, u, copy_ns);
    sums();
}

/* bench_cuda [launch]: everything, or what a launch costs. */
int main(int n_args, char **arg)
{
    bool all = n_args < 2 || strcmp(arg[1], "launch");
    check(lt_device_open("cuda", &dev));
    st = lt_device_stream(dev);
    for (int i = 0; i < 2; i++) check(lt_device_alloc(dev, st, N * 4ul + 256, "bench", &array[i]));
    check(lt_stream_fill(st, array[0], 0x3f, N * 4ul));
    if (all) rates();
    for (int64_t n = 1024; n <= 1 << 24; n *= 128) launches(n);
    for (int i = 0; i < 2; i++) check(lt_device_free(dev, st, array[i]));
    lt_device_close(dev);
    return 0;
}
