/* What a timed choice is worth on a GPU: convolutions with bias and GELU, and matrix products, by the way that is taken
   unasked and by the fastest one. One line per problem. SPDX-License-Identifier: BSD-3-Clause */
#include "base/status.h"
#include "kernels/cuda/cuda_table.h"
#include "kernels/window.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 20, ROUNDS = 7, MAX_WAYS = 48 };

static lt_device *dev;
static lt_stream *st;
static char *memory; /* room for all arguments, one after the other */
#define ROOM ((size_t)3 << 30)

static void check(lt_status s)
{
    if (!s) return;
    fprintf(stderr, "%s\n", lt_error_text());
    exit(1);
}

static size_t aligned(size_t bytes) { return (bytes + 255) / 256 * 256; }
static size_t bytes_of(const lt_tensor_type *t) { return (size_t)lt_shape_count(&t->shape) * lt_dtype_size(t->dtype); }

/* Microseconds of one run, the best of ROUNDS captured batches; 0 when it cannot run. */
static double time_of(const lt_kernel *k, void **arg)
{
    lt_capture *c;
    lt_stream *own;
    lt_event *from, *to;
    double ns, best = 0;
    check(lt_stream_create(dev, &own));
    check(lt_capture_begin(own));
    for (int i = 0; i < BATCH; i++) check(lt_stream_launch(own, &(lt_launch){ k, arg }));
    check(lt_capture_end(own, &c));
    check(lt_event_create(dev, &from));
    check(lt_event_create(dev, &to));
    for (int i = 0; i < ROUNDS; i++) {
        check(lt_event_record(from, st));
        check(lt_capture_replay(st, c));
        check(lt_event_record(to, st));
        check(lt_event_sync(to));
        check(lt_event_elapsed(from, to, &ns));
        if (i == 0 || ns < best) best = ns;
    }
    lt_event_destroy(from);
    lt_event_destroy(to);
    lt_capture_destroy(c);
    lt_stream_destroy(own);
    return best / 1e3 / BATCH;
}

static double time_kernel(const lt_problem_key *p, const lt_cuda_way *way, bool pack, double *flops)
{
    lt_kernel *k;
    void *arg[8] = { NULL };
    size_t at = 0;
    if (way ? lt_cuda_way_prepare(dev, p, way, &k) : lt_cuda_prepare(dev, p, &k)) return 0;
    for (int i = 0; i < k->n_args; i++) {
        arg[i] = memory + at;
        at += aligned(i < p->n_in ? bytes_of(&p->in[i]) : bytes_of(&p->out));
    }
    arg[k->n_args] = memory + at;
    at += aligned(k->scratch_bytes);
    k->packed = pack && k->queue_pack ? memory + at : NULL;
    if (k->packed) check(k->queue_pack(k, st, arg[k->pack_arg], k->packed));
    *flops = k->flops;
    double us = at + k->packed_bytes <= ROOM ? time_of(k, arg) : 0;
    lt_kernel_destroy(k);
    return us;
}

static void race(const char *what, const lt_problem_key *p, bool plain_rows)
{
    static lt_cuda_way way[MAX_WAYS];
    double flops = 0, unasked = time_kernel(p, NULL, true, &flops), turned = time_kernel(p, NULL, false, &flops), best = 0, apart = 0;
    int n = lt_cuda_ways(dev, p, way, MAX_WAYS), first = 0;
    for (int i = 0; i < n; i++) {
        if (!plain_rows && !way[i].row->variants) continue;
        double us = time_kernel(p, &way[i], true, &flops);
        if (us > 0 && (best == 0 || us < best)) best = us, first = i;
        if (us > 0 && !strstr(way[i].name, "fused ") && (apart == 0 || us < apart)) apart = us;
    }
    printf("%s unasked us=%.2f weights turned each time us=%.2f best us=%.2f TFLOP/s=%.1f best of those without epilogue us=%.2f ways=%d '%s'\n", what, unasked,
           turned, best, best > 0 ? flops / best / 1e6 : 0, apart, n, way[first].name);
    fflush(stdout); /* a line may take a minute: some engines are compiled first */
}

/* gelu(conv(x, w) + bias), channels last. */
static void convolution(lt_dtype t, int64_t n, int64_t c, int64_t side, int64_t o, int64_t k)
{
    lt_attr attr = { .u.conv = { .kernel = { k, k }, .stride = { 1, 1 }, .pad = { k / 2, k / 2 }, .dilation = { 1, 1 }, .size = { side, side }, .groups = 1,
                                 .channels_last = true } };
    lt_affine whole = { 0, { side * side * o, side * o, o, 1 } }, channel = { 0, { 0, 0, 0, 1 } };
    lt_fused_load load[] = { { 0, 0, t, whole }, { 1, 1, t, channel } };
    lt_fused_step step[] = { { LT_OP_ADD, 2, { 0, 1 } }, { LT_OP_GELU, 3, { 2 } } };
    lt_fused_store store = { 3, 2, t, whole };
    lt_fused f = { .type = LT_F32, .domain = lt_shape4(n, side, side, o), .n_regs = 4, .n_args = 3, .n_loads = 2, .loads = load, .n_steps = 2, .steps = step,
                   .n_stores = 1, .stores = &store };
    lt_problem_key p = { .op = LT_OP_CONV2D, .n_in = 2, .attr = &attr, .in = { { t, lt_shape4(n, side, side, c) }, { t, lt_shape4(o, c, k, k) } },
                         .out = { t, f.domain }, .epilogue = &f };
    char what[96];
    snprintf(what, sizeof what, "conv+bias+gelu %s [%lld, %lld, %lld, %lld] to %lld, %lldx%lld:", lt_dtype_name(t), (long long)n, (long long)side,
             (long long)side, (long long)c, (long long)o, (long long)k, (long long)k);
    race(what, &p, false);
}

static void product(lt_dtype t, int64_t m, int64_t n, int64_t k)
{
    static const lt_attr attr;
    lt_problem_key p = { .op = LT_OP_MATMUL, .n_in = 2, .attr = &attr, .in = { { t, lt_shape2(m, k) }, { t, lt_shape2(k, n) } }, .out = { t, lt_shape2(m, n) } };
    char what[96];
    snprintf(what, sizeof what, "matmul %s %lld x %lld x %lld:", lt_dtype_name(t), (long long)m, (long long)n, (long long)k);
    race(what, &p, false);
}

/* Halves between 0.5 and 2 of either sign, which read as wider types are finite, too: zeros would need less power than numbers do. */
static void fill_with_numbers(void)
{
    enum { BYTES = 16 << 20 };
    static uint16_t block[BYTES / 2];
    uint64_t x = 88172645463325252u;
    for (size_t i = 0; i < sizeof block / sizeof *block; i++) {
        x ^= x << 13, x ^= x >> 7, x ^= x << 17;
        block[i] = (uint16_t)((x & 0x87ff) | 0x3800);
    }
    for (size_t at = 0; at < ROOM; at += BYTES) check(lt_stream_copy(st, memory + at, block, BYTES, LT_TRANSFER_H2D, false));
    check(lt_stream_sync(st));
}

int main(void)
{
    void *room;
    check(lt_device_open("cuda", &dev));
    st = lt_device_stream(dev);
    check(lt_device_alloc(dev, st, ROOM, "bench", &room));
    memory = room;
    fill_with_numbers();
    convolution(LT_F16, 16, 64, 64, 64, 3);
    convolution(LT_F16, 32, 128, 32, 128, 3);
    convolution(LT_F16, 8, 32, 128, 32, 7);
    convolution(LT_F32, 16, 64, 64, 64, 3);
    product(LT_F16, 4096, 4096, 4096);
    product(LT_F32, 4096, 4096, 4096);
    product(LT_F64, 2048, 2048, 2048);
    product(LT_F32, 256, 256, 256);
    product(LT_F16, 64, 4096, 1024);
    check(lt_device_free(dev, st, room));
    lt_device_close(dev);
    return 0;
}
