/* Speed of fused kernels against the machine's own limit: each line is one case, its time and what
   it is compared with in the same run. SPDX-License-Identifier: BSD-3-Clause */
#include "base/alloc.h"
#include "base/pool.h"
#include "base/status.h"
#include "kernels/cpu/vec/vec.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

typedef void (*bench_fn)(void *ctx);

/* The best of `repeats` timings, each of enough calls to be trusted. */
static double best_ns(bench_fn fn, void *ctx, int repeats)
{
    int64_t calls = 1;
    double best = INFINITY;
    fn(ctx);
    for (;;) {
        double t0 = now_ns();
        for (int64_t i = 0; i < calls; i++) fn(ctx);
        double t = now_ns() - t0;
        if (t > 2e6) break;
        calls *= 2;
    }
    for (int r = 0; r < repeats; r++) {
        double t0 = now_ns();
        for (int64_t i = 0; i < calls; i++) fn(ctx);
        double t = (now_ns() - t0) / (double)calls;
        if (t < best) best = t;
    }
    return best;
}

/* ---- stream copy: the limit of one read and one write ---------------------------- */
typedef struct copy_run { lt_pool *pool; const lt_vec_set *set; bool streaming; char *to, *from; int64_t n; } copy_run;

static lt_status copy_task(void *ctx, int64_t i, int worker)
{
    copy_run *c = ctx;
    (void)worker;
    int64_t from = c->n / 8 * i, to = i == 7 ? c->n : c->n / 8 * (i + 1);
    if (c->streaming) c->set->copy_streaming(c->to + from * 8, c->from + from * 8, NULL, NULL, to - from);
    else c->set->op[LT_OP_NEG][0](c->to + from * 8, c->from + from * 8, NULL, NULL, to - from);
    return LT_OK;
}
static void copy_all(void *ctx) { lt_pool_run(((copy_run *)ctx)->pool, 8, copy_task, ctx); }

/* ---- fused kernels ------------------------------------------------------------------ */
typedef struct kernel_run { lt_kernel *k; lt_pool *pool; void *arg[8]; void *scratch; } kernel_run;
static void run_kernel(void *ctx)
{
    kernel_run *r = ctx;
    r->k->run(r->k, r->pool, r->arg);
}

typedef struct maker {
    lt_fused f;
    lt_fused_load loads[4];
    lt_fused_const consts[8];
    lt_fused_step steps[64];
    lt_fused_store stores[4];
    lt_fused_reduce reduces[2];
} maker;

static lt_affine dense(const lt_shape *d)
{
    lt_affine v = { 0 };
    int64_t stride = 1;
    for (int i = d->rank - 1; i >= 0; i--) { v.stride[i] = stride; stride *= d->dim[i]; }
    return v;
}
static void begin(maker *m, lt_dtype type, lt_shape domain)
{
    memset(m, 0, sizeof *m);
    m->f = (lt_fused){ .type = type, .domain = domain, .loads = m->loads, .consts = m->consts, .steps = m->steps,
                       .stores = m->stores, .reduces = m->reduces };
}
static int load_as(maker *m, int arg, lt_affine view)
{
    m->f.n_args = LT_MAX(m->f.n_args, arg + 1);
    m->loads[m->f.n_loads++] = (lt_fused_load){ arg, m->f.n_regs, m->f.type, view };
    return m->f.n_regs++;
}
static int load(maker *m, int arg) { return load_as(m, arg, dense(&m->f.domain)); }
static int constant(maker *m, double v) { m->consts[m->f.n_consts++] = (lt_fused_const){ m->f.n_regs, v }; return m->f.n_regs++; }
static int step(maker *m, lt_op op, int a, int b, int c)
{
    m->steps[m->f.n_steps++] = (lt_fused_step){ op, m->f.n_regs, { a, b, c } };
    return m->f.n_regs++;
}
static void store(maker *m, int reg, int arg)
{
    m->f.n_args = LT_MAX(m->f.n_args, arg + 1);
    m->stores[m->f.n_stores++] = (lt_fused_store){ reg, arg, m->f.type, dense(&m->f.domain) };
}
static void reduce(maker *m, lt_op op, int reg, int arg, uint32_t axes)
{
    m->f.n_args = LT_MAX(m->f.n_args, arg + 1);
    m->reduces[m->f.n_reduces++] = (lt_fused_reduce){ op, reg, arg, m->f.type, axes };
}

static double *buffers[4];
static float *narrow[4];
static lt_pool *pool;

static double time_kernel(maker *m, int repeats)
{
    kernel_run r = { .pool = pool };
    if (lt_fused_prepare_cpu(&m->f, lt_isa_best(), &r.k)) { printf("%s\n", lt_error_text()); exit(1); }
    for (int i = 0; i < m->f.n_args; i++) r.arg[i] = m->f.type == LT_F64 ? (void *)buffers[i] : (void *)narrow[i];
    r.scratch = lt_malloc_aligned(r.k->scratch_bytes + 64);
    r.arg[m->f.n_args] = r.scratch;
    double t = best_ns(run_kernel, &r, repeats);
    lt_free_aligned(r.scratch);
    lt_kernel_destroy(r.k);
    return t;
}

static void chain_body(maker *m, bool transcendental)
{
    int x = load(m, 0), c = constant(m, 1.5), d = constant(m, -0.25), y;
    y = step(m, LT_OP_MUL, x, c, 0);
    y = step(m, LT_OP_ADD, y, d, 0);
    y = transcendental ? step(m, LT_OP_EXP, y, 0, 0) : step(m, LT_OP_ABS, y, 0, 0);
    y = step(m, LT_OP_MAX, y, d, 0);
    y = step(m, LT_OP_SUB, c, y, 0);
    y = step(m, LT_OP_MUL, y, x, 0);
    y = transcendental ? step(m, LT_OP_TANH, y, 0, 0) : step(m, LT_OP_SQUARE, y, 0, 0);
    y = step(m, LT_OP_ADD, y, x, 0);
    store(m, y, 1);
}

static void line(const char *name, double ns, double limit_ns, const char *limit)
{
    printf("%-44s %12.1f us  %6.1f %% of %s\n", name, ns / 1e3, 100 * limit_ns / ns, limit);
}

static void bench_large(int64_t n)
{
    copy_run c = { pool, lt_vec_set_of(lt_isa_best(), LT_F64), false, (char *)buffers[1], (char *)buffers[0], n };
    double plain = best_ns(copy_all, &c, 7);
    c.streaming = true;
    double streaming = best_ns(copy_all, &c, 7), limit = LT_MIN(plain, streaming);
    printf("stream copy of %lld f64: plain %.1f us, streaming %.1f us, %.2f GB/s\n", (long long)n, plain / 1e3,
           streaming / 1e3, (double)n * 16 / limit);
    maker m;
    begin(&m, LT_F64, lt_shape1(n));
    chain_body(&m, false);
    line("chain of 8 cheap ops f64", time_kernel(&m, 7), limit, "stream copy");
    begin(&m, LT_F64, lt_shape1(n));
    chain_body(&m, true);
    line("chain of 8 with exp and tanh f64", time_kernel(&m, 5), limit, "stream copy");
    begin(&m, LT_F32, lt_shape1(2 * n));
    chain_body(&m, false);
    line("chain of 8 cheap ops f32 (twice as many)", time_kernel(&m, 7), limit, "stream copy");
    begin(&m, LT_F64, lt_shape1(n));
    reduce(&m, LT_OP_SUM, load(&m, 0), 2, 1);
    double sum = time_kernel(&m, 7);
    line("sum f64", sum, limit / 2, "half a stream copy");
    begin(&m, LT_F64, lt_shape2(n / 1000, 1000));
    reduce(&m, LT_OP_SUM, load(&m, 0), 2, 2);
    line("row sums [n/1000, 1000]", time_kernel(&m, 7), sum, "sum");
    begin(&m, LT_F64, lt_shape2(n / 10, 10));
    reduce(&m, LT_OP_SUM, load(&m, 0), 2, 2);
    line("row sums [n/10, 10]", time_kernel(&m, 7), sum, "sum");
    begin(&m, LT_F64, lt_shape2(n / 1000, 1000));
    reduce(&m, LT_OP_SUM, load(&m, 0), 2, 1);
    line("column sums [n/1000, 1000]", time_kernel(&m, 7), sum, "sum");
    begin(&m, LT_F64, lt_shape2(n / 10, 10));
    reduce(&m, LT_OP_SUM, load(&m, 0), 2, 1);
    line("column sums [n/10, 10]", time_kernel(&m, 7), sum, "sum");
    begin(&m, LT_F64, lt_shape2(10, n / 10));
    reduce(&m, LT_OP_SUM, load(&m, 0), 2, 1);
    line("column sums [10, n/10]", time_kernel(&m, 7), sum, "sum");
    begin(&m, LT_F64, lt_shape3(n / 10000, 100, 100));
    reduce(&m, LT_OP_RMAX, load(&m, 0), 2, 2);
    line("middle max [n/10000, 100, 100]", time_kernel(&m, 7), sum, "sum");
    begin(&m, LT_F64, lt_shape3(n / 10000, 100, 100));
    reduce(&m, LT_OP_SUM, load(&m, 0), 2, 5);
    line("sum of first and last axis, same shape", time_kernel(&m, 7), sum, "sum");
}

static void bench_views(void)
{
    maker m;
    lt_shape d = lt_shape2(1000, 1000);
    begin(&m, LT_F64, d);
    store(&m, step(&m, LT_OP_NEG, load(&m, 0), 0, 0), 1);
    double base = time_kernel(&m, 7);
    line("neg [1000, 1000] f64", base, base, "itself");
    begin(&m, LT_F64, d);
    store(&m, step(&m, LT_OP_ADD, load(&m, 0), load_as(&m, 2, (lt_affine){ .stride = { 0, 1 } }), 0), 1);
    line("add row vector", time_kernel(&m, 7), base, "neg");
    begin(&m, LT_F64, d);
    store(&m, step(&m, LT_OP_ADD, load(&m, 0), load_as(&m, 2, (lt_affine){ .stride = { 1, 0 } }), 0), 1);
    line("add column vector", time_kernel(&m, 7), base, "neg");
    begin(&m, LT_F64, lt_shape2(100000, 10));
    store(&m, step(&m, LT_OP_ADD, load(&m, 0), load_as(&m, 2, (lt_affine){ .stride = { 0, 1 } }), 0), 1);
    line("add row vector of 10", time_kernel(&m, 7), base, "neg");
    begin(&m, LT_F64, lt_shape2(100000, 10));
    store(&m, step(&m, LT_OP_ADD, load(&m, 0), load_as(&m, 2, (lt_affine){ .stride = { 1, 0 } }), 0), 1);
    line("add column vector, rows of 10", time_kernel(&m, 7), base, "neg");
    begin(&m, LT_F64, d);
    store(&m, step(&m, LT_OP_ADD, load(&m, 0), load_as(&m, 2, (lt_affine){ .stride = { 1, 1000 } }), 0), 1);
    line("add transposed", time_kernel(&m, 7), base, "neg");
}

static void bench_functions(void)
{
    static const lt_op ops[] = { LT_OP_ADD, LT_OP_DIV, LT_OP_EXP, LT_OP_LOG, LT_OP_SIN, LT_OP_TANH, LT_OP_ERF, LT_OP_SIGMOID,
                                 LT_OP_SOFTPLUS, LT_OP_GELU, LT_OP_POW, LT_OP_ATAN2, LT_OP_CBRT, LT_OP_ASIN };
    for (size_t i = 0; i < LT_LEN(ops); i++)
        for (int t = LT_F32; t <= LT_F64; t++) {
            maker m;
            begin(&m, (lt_dtype)t, lt_shape1(1024));
            store(&m, step(&m, ops[i], load(&m, 0), 0, 0), 1);
            printf("%-10s %s  %6.3f ns per element\n", lt_op_name(ops[i]), lt_dtype_name((lt_dtype)t), time_kernel(&m, 5) / 1024);
        }
    maker m;
    begin(&m, LT_F32, lt_shape1(1000000));
    reduce(&m, LT_OP_SUM, step(&m, LT_OP_EXP, step(&m, LT_OP_NEG, step(&m, LT_OP_SQUARE, load(&m, 0), 0, 0), 0, 0), 0, 0), 1, 1);
    double fused = time_kernel(&m, 7);
    begin(&m, LT_F32, lt_shape1(1000000));
    store(&m, step(&m, LT_OP_EXP, load(&m, 0), 0, 0), 1);
    line("sum(exp(-x^2)) over 10^6 f32", fused, time_kernel(&m, 7), "exp alone");
}

static void bench_tiny(void)
{
    static const int64_t sizes[] = { 1, 2, 8, 16, 17, 64, 1024 };
    for (size_t i = 0; i < LT_LEN(sizes); i++) {
        maker m;
        begin(&m, LT_F64, lt_shape1(sizes[i]));
        int x = load(&m, 0), y = load(&m, 1), c = constant(&m, 1.5);
        for (int s = 0; s < 8; s++) {
            y = step(&m, LT_OP_MUL, x, y, 0);
            y = step(&m, LT_OP_SUB, y, c, 0);
            y = step(&m, LT_OP_ABS, y, 0, 0);
        }
        store(&m, y, 2);
        double ns = time_kernel(&m, 7);
        begin(&m, LT_F64, lt_shape1(sizes[i]));
        store(&m, step(&m, LT_OP_ABS, load(&m, 0), 0, 0), 2);
        double one = time_kernel(&m, 7);
        begin(&m, LT_F64, lt_shape1(sizes[i]));
        reduce(&m, LT_OP_SUM, step(&m, LT_OP_SQUARE, load(&m, 0), 0, 0), 2, 1);
        printf("tiny n=%lld: 24 steps %.1f ns (%.2f ns per step), one step %.1f ns, square+sum %.1f ns\n", (long long)sizes[i],
               ns, ns / 24, one, time_kernel(&m, 7));
    }
}

int main(int argc, char **argv)
{
    int64_t n = argc > 1 ? atoll(argv[1]) : 10000000;
    const char *only = argc > 2 ? argv[2] : "";
    if (lt_pool_create(0, &pool)) return 1;
    for (int i = 0; i < 3; i++) {
        buffers[i] = lt_malloc_aligned((size_t)n * 8 + 64);
        narrow[i] = lt_malloc_aligned((size_t)n * 8 + 64);
        if (!buffers[i] || !narrow[i]) return 1;
        for (int64_t j = 0; j < 2 * n; j++) narrow[i][j] = 0.1f + (float)(j % 1000) * 8e-4f;
        for (int64_t j = 0; j < n; j++) buffers[i][j] = 0.1 + (double)(j % 1000) * 8e-4;
    }
    printf("%s, %d threads\n", lt_isa_name(lt_isa_best()), lt_pool_threads(pool));
    if (strstr("large", only)) bench_large(n);
    if (strstr("views", only)) bench_views();
    if (strstr("functions", only)) bench_functions();
    if (strstr("tiny", only)) bench_tiny();
    for (int i = 0; i < 3; i++) {
        lt_free_aligned(buffers[i]);
        lt_free_aligned(narrow[i]);
    }
    lt_pool_destroy(pool);
    return 0;
}
