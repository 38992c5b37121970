/* Fused kernels: what random programs do not reach. Large maps that stream, many live values, runs
   of rows, empty domains, refused programs, failing allocations, and sums whose bits must not
   depend on the kernel's other outputs. SPDX-License-Identifier: BSD-3-Clause */
#include "lt_test.h"

#include "base/alloc.h"
#include "base/dtype.h"
#include "base/status.h"
#include "kernels/fused.h"

enum { MAX_STEPS = 600 };

typedef struct maker {
    lt_fused f;
    lt_fused_load loads[8];
    lt_fused_const consts[8];
    lt_fused_step steps[MAX_STEPS];
    lt_fused_store stores[8];
    lt_fused_reduce reduces[8];
} maker;

static lt_affine dense(const lt_shape *d)
{
    lt_affine v = { 0 };
    int64_t stride = 1;
    for (int i = d->rank - 1; i >= 0; i--) {
        v.stride[i] = stride;
        stride *= d->dim[i];
    }
    return v;
}

static void begin(maker *m, lt_dtype type, lt_shape domain, int n_args)
{
    memset(m, 0, sizeof *m);
    m->f = (lt_fused){ .type = type, .domain = domain, .n_args = n_args, .loads = m->loads, .consts = m->consts,
                       .steps = m->steps, .stores = m->stores, .reduces = m->reduces };
}

static int load(maker *m, int arg)
{
    m->loads[m->f.n_loads++] = (lt_fused_load){ arg, m->f.n_regs, m->f.type, dense(&m->f.domain) };
    return m->f.n_regs++;
}

static int constant(maker *m, double value)
{
    m->consts[m->f.n_consts++] = (lt_fused_const){ m->f.n_regs, value };
    return m->f.n_regs++;
}

static int step(maker *m, lt_op op, int a, int b)
{
    m->steps[m->f.n_steps++] = (lt_fused_step){ op, m->f.n_regs, { a, b, 0 } };
    return m->f.n_regs++;
}

static void store(maker *m, int reg, int arg) { m->stores[m->f.n_stores++] = (lt_fused_store){ reg, arg, m->f.type, dense(&m->f.domain) }; }

static void reduce(maker *m, lt_op op, int reg, int arg, uint32_t axes)
{
    m->reduces[m->f.n_reduces++] = (lt_fused_reduce){ op, reg, arg, m->f.type, axes };
}

/* Prepares, runs once on the shared pool, destroys. */
static lt_status run(const maker *m, lt_isa isa, void **arg)
{
    lt_kernel *k;
    LT_TRY(lt_fused_prepare_cpu(&m->f, isa, &k));
    arg[m->f.n_args] = lt_malloc_aligned(k->scratch_bytes + 64);
    lt_status s = arg[m->f.n_args] ? k->run(k, lt_pool_shared(), arg) : LT_ERR_MEMORY;
    lt_free_aligned(arg[m->f.n_args]);
    lt_kernel_destroy(k);
    return s;
}

static double *ramp(int64_t n)
{
    double *x = malloc((size_t)(n + 16) * sizeof *x);
    for (int64_t i = 0; i < n + 16; i++) x[i] = 0.25 * (double)(i % 1001) - 100;
    return x;
}

/* ---- large maps ------------------------------------------------------------------- */
LT_TEST(large_maps_stream_and_agree)
{
    const int64_t n = 2300001;
    double *x = ramp(n), *y = malloc((size_t)(n + 16) * 8), *z = malloc((size_t)(n + 16) * 8);
    for (int isa = 0; isa < LT_ISA_COUNT; isa++)
        for (int shift = 0; shift < 2 && lt_isa_usable((lt_isa)isa); shift++) {
            maker m;
            begin(&m, LT_F64, lt_shape1(n), 3);
            int a = load(&m, 0), b = step(&m, LT_OP_MUL, a, constant(&m, 3)), c = step(&m, LT_OP_SUB, a, b);
            store(&m, b, 1);
            store(&m, step(&m, LT_OP_ADD, c, b), 2);
            memset(y, 0, (size_t)(n + 16) * 8);
            memset(z, 0, (size_t)(n + 16) * 8);
            void *arg[4] = { x, y + shift, z + 2 * shift };
            LT_CHECK_OK(run(&m, (lt_isa)isa, arg));
            int64_t bad = 0;
            for (int64_t i = 0; i < n; i++) bad += y[i + shift] != 3 * x[i] || z[i + 2 * shift] != x[i] - 3 * x[i] + 3 * x[i];
            LT_CHECK_EQ_INT(bad, 0);
            LT_CHECK(y[n + shift] == 0 && z[n + 2 * shift] == 0);
            begin(&m, LT_F64, lt_shape1(n), 2); /* nothing but registers: pages are read side by side */
            store(&m, step(&m, LT_OP_ADD, step(&m, LT_OP_MUL, load(&m, 0), constant(&m, 3)), constant(&m, 1)), 1);
            LT_CHECK_OK(run(&m, (lt_isa)isa, arg));
            for (int64_t i = 0; i < n; i++) bad += y[i + shift] != 3 * x[i] + 1;
            LT_CHECK_EQ_INT(bad, 0);
        }
    free(x);
    free(y);
    free(z);
}

/* ---- many live values ---------------------------------------------------------------- */
LT_TEST(many_live_values)
{
    const int64_t n = 3000;
    double *x = ramp(n), *y = malloc((size_t)n * 8);
    static const int depth[] = { 100, 140 };
    for (size_t d = 0; d < LT_LEN(depth); d++) {
        maker m;
        begin(&m, LT_F64, lt_shape1(n), 2);
        int reg[200], a = load(&m, 0), sum = a;
        for (int i = 0; i < depth[d]; i++) reg[i] = step(&m, LT_OP_ADD, i ? reg[i - 1] : a, a);
        for (int i = depth[d] - 1; i >= 0; i--) sum = step(&m, LT_OP_SUB, sum, reg[i]);
        store(&m, sum, 1);
        void *arg[3] = { x, y };
        LT_CHECK_OK(run(&m, lt_isa_best(), arg));
        double k = depth[d];
        int64_t bad = 0;
        for (int64_t i = 0; i < n; i++) bad += y[i] != x[i] - x[i] * (k * (k + 1) / 2 + k);
        LT_CHECK_EQ_INT(bad, 0);
    }
    maker m;
    begin(&m, LT_F64, lt_shape1(n), 2);
    int reg[MAX_STEPS], a = load(&m, 0), sum = a;
    for (int i = 0; i < 250; i++) reg[i] = step(&m, LT_OP_EXP, i ? reg[i - 1] : a, a);
    for (int i = 249; i >= 0; i--) sum = step(&m, LT_OP_SUB, sum, reg[i]);
    store(&m, sum, 1);
    lt_kernel *k;
    LT_CHECK_FAILS(lt_fused_prepare_cpu(&m.f, lt_isa_best(), &k), LT_ERR_UNSUPPORTED, "values alive");
    free(x);
    free(y);
}

/* ---- sums do not know what else the kernel does ---------------------------------------- */
LT_TEST(sums_do_not_depend_on_other_outputs)
{
    static const int64_t shapes[][3] = { { 1, 1, 100000 }, { 3, 700, 60 }, { 500, 3, 7 }, { 40, 1100, 2 }, { 2, 33, 1500 } };
    for (size_t s = 0; s < LT_LEN(shapes); s++)
        for (uint32_t axes = 1; axes < 8; axes++) {
            lt_shape d = lt_shape3(shapes[s][0], shapes[s][1], shapes[s][2]);
            int64_t n = lt_shape_count(&d);
            double *x = ramp(n), *alone = calloc((size_t)n, 8), *among = calloc((size_t)n, 8);
            double *other[3];
            for (int i = 0; i < 3; i++) other[i] = calloc((size_t)n, 8);
            for (int64_t i = 0; i < n; i++) x[i] = sin((double)i);
            maker m;
            begin(&m, LT_F64, d, 2);
            reduce(&m, LT_OP_SUM, load(&m, 0), 1, axes);
            void *arg[8] = { x, alone };
            LT_CHECK_OK(run(&m, lt_isa_best(), arg));
            begin(&m, LT_F64, d, 5);
            int a = load(&m, 0), live[120], b = a;
            for (int i = 0; i < 120; i++) live[i] = step(&m, LT_OP_ADD, i ? live[i - 1] : a, a);
            for (int i = 119; i >= 0; i--) b = step(&m, LT_OP_SUB, b, live[i]);
            store(&m, b, 2);
            reduce(&m, LT_OP_RMAX, b, 3, axes);
            reduce(&m, LT_OP_SUM, a, 1, axes);
            reduce(&m, LT_OP_SUM, b, 4, axes ^ 7);
            void *more[8] = { x, among, other[0], other[1], other[2] };
            LT_CHECK_OK(run(&m, lt_isa_best(), more));
            LT_CHECK(memcmp(alone, among, (size_t)n * 8) == 0);
            for (int i = 0; i < 3; i++) free(other[i]);
            free(x);
            free(alone);
            free(among);
        }
}

/* A sum of n equal terms, or of alternating ones, shows a lost digit at once. */
LT_TEST(long_sums_keep_their_digits)
{
    const int64_t n = 4000000;
    float *x = malloc((size_t)n * sizeof *x), sum = 0;
    for (int64_t i = 0; i < n; i++) x[i] = 0.1f;
    maker m;
    begin(&m, LT_F32, lt_shape1(n), 2);
    reduce(&m, LT_OP_SUM, load(&m, 0), 1, 1);
    void *arg[3] = { x, &sum };
    LT_CHECK_OK(run(&m, lt_isa_best(), arg));
    LT_CHECK_NEAR(sum, (double)0.1f * (double)n, 4e-7);
    free(x);
}

/* ---- rows --------------------------------------------------------------------------- */
LT_TEST(rows_of_an_epilogue)
{
    enum { ROWS = 37, WIDTH = 129 };
    double *x = ramp(ROWS * WIDTH), *y = calloc(ROWS * WIDTH, 8), bias[WIDTH];
    for (int i = 0; i < WIDTH; i++) bias[i] = i;
    maker m;
    begin(&m, LT_F64, lt_shape2(ROWS, WIDTH), 3);
    int a = load(&m, 0), b = load(&m, 1);
    m.loads[1].view = (lt_affine){ .stride = { 0, 1 } };
    store(&m, step(&m, LT_OP_RELU, step(&m, LT_OP_ADD, a, b), 0), 2);
    lt_kernel *k;
    LT_CHECK_OK(lt_fused_prepare_cpu(&m.f, lt_isa_best(), &k));
    void *arg[4] = { x, bias, y };
    LT_CHECK_OK(lt_fused_run_rows(k, arg, 5, 20));
    int64_t bad = 0;
    for (int r = 0; r < ROWS; r++)
        for (int c = 0; c < WIDTH; c++) {
            double v = x[r * WIDTH + c] + bias[c], want = r < 5 || r >= 25 || v < 0 ? 0 : v;
            bad += y[r * WIDTH + c] != want;
        }
    LT_CHECK_EQ_INT(bad, 0);
    LT_CHECK_OK(lt_fused_run_rows(k, arg, 37, 0));
    LT_CHECK_FAILS(lt_fused_run_rows(k, arg, 30, 8), LT_ERR_ARGUMENT, "[37, 129]");
    LT_CHECK_FAILS(lt_fused_run_rows(k, arg, -1, 2), LT_ERR_ARGUMENT, "rows -1");
    lt_kernel_destroy(k);
    reduce(&m, LT_OP_SUM, a, 2, 1);
    LT_CHECK_OK(lt_fused_prepare_cpu(&m.f, lt_isa_best(), &k));
    LT_CHECK_FAILS(lt_fused_run_rows(k, arg, 0, 1), LT_ERR_ARGUMENT, "reductions");
    lt_kernel_destroy(k);
    free(x);
    free(y);
}

/* Values per column, one of them in bfloat16, over rows of many lengths; all at once and from the middle of a row on. */
LT_TEST(short_rows_repeat)
{
    enum { ROWS = 300, LONGEST = 700, START = 77 };
    static const int64_t width[] = { 2, 3, 64, 72, 256, 500, 512, 513, LONGEST };
    float *x = malloc(ROWS * LONGEST * sizeof *x), *y = malloc(ROWS * LONGEST * sizeof *y), *again = malloc(ROWS * LONGEST * sizeof *again), scale[LONGEST];
    uint16_t shift[LONGEST];
    for (int i = 0; i < ROWS * LONGEST; i++) x[i] = (float)(i % 1001) / 8 - 60;
    for (int i = 0; i < LONGEST; i++) scale[i] = (float)(i % 7) - 3, shift[i] = lt_f32_to_bf16((float)(i % 64));
    for (int w = 0; w < (int)LT_LEN(width); w++)
        for (int isa = 0; isa < LT_ISA_COUNT && lt_isa_usable((lt_isa)isa); isa++) {
            int64_t n = ROWS * width[w], bad = 0;
            maker m;
            begin(&m, LT_F32, lt_shape2(ROWS, width[w]), 4);
            int a = load(&m, 0), b = load(&m, 1), c = load(&m, 2);
            m.loads[1].view = m.loads[2].view = (lt_affine){ .stride = { 0, 1 } };
            m.loads[2].from = LT_BF16;
            store(&m, step(&m, LT_OP_ADD, step(&m, LT_OP_MUL, a, b), c), 3);
            void *arg[5] = { x, scale, shift, y };
            LT_CHECK_OK(run(&m, (lt_isa)isa, arg));
            for (int64_t i = 0; i < n; i++) bad += y[i] != x[i] * scale[i % width[w]] + (float)(i % width[w] % 64);
            LT_CHECK_EQ_INT(bad, 0);
            lt_kernel *k;
            LT_CHECK_OK(lt_fused_prepare_cpu(&m.f, (lt_isa)isa, &k));
            arg[3] = again;
            LT_CHECK_OK(lt_fused_run_range(k, arg, START, n));
            LT_CHECK(!memcmp(again + START, y + START, (size_t)(n - START) * sizeof *y));
            lt_kernel_destroy(k);
        }
    free(x);
    free(y);
    free(again);
}

/* ---- empty domains ---------------------------------------------------------------- */
LT_TEST(empty_domains)
{
    double out[3] = { 7, 7, 7 }, x = 1;
    maker m;
    begin(&m, LT_F64, lt_shape2(3, 0), 2);
    reduce(&m, LT_OP_SUM, load(&m, 0), 1, 2);
    void *arg[3] = { &x, out };
    LT_CHECK_OK(run(&m, lt_isa_best(), arg));
    LT_CHECK(out[0] == 0 && out[1] == 0 && out[2] == 0);
    lt_kernel *k;
    m.reduces[0].op = LT_OP_RMAX;
    LT_CHECK_FAILS(lt_fused_prepare_cpu(&m.f, lt_isa_best(), &k), LT_ERR_SHAPE, "max over no elements");
    m.reduces[0].axes = 1; /* [3, 0] over axis 0: no results either */
    LT_CHECK_OK(run(&m, lt_isa_best(), arg));
}

/* ---- refused programs -------------------------------------------------------------- */
static void refuse(const maker *m, lt_status status, const char *part)
{
    lt_kernel *k = (lt_kernel *)&k;
    LT_CHECK_FAILS(lt_fused_prepare_cpu(&m->f, LT_ISA_PLAIN, &k), status, part);
    LT_CHECK(k == NULL);
}

static void sound(maker *m)
{
    begin(m, LT_F64, lt_shape1(8), 2);
    store(m, step(m, LT_OP_ADD, load(m, 0), load(m, 0)), 1);
}

LT_TEST(programs_that_do_not_hold_together_are_refused)
{
    maker m;
    sound(&m); m.f.type = LT_F16; refuse(&m, LT_ERR_TYPE, "f16");
    sound(&m); m.f.domain.dim[0] = -1; refuse(&m, LT_ERR_SHAPE, "domain");
    sound(&m); m.f.domain.rank = 9; refuse(&m, LT_ERR_SHAPE, "domain");
    sound(&m); m.f.n_args = 1000; refuse(&m, LT_ERR_ARGUMENT, "1000 arguments");
    sound(&m); m.f.n_steps = -1; refuse(&m, LT_ERR_ARGUMENT, "negative");
    sound(&m); m.loads[0].arg = 2; refuse(&m, LT_ERR_ARGUMENT, "load of argument 2");
    sound(&m); m.loads[0].from = LT_C64; refuse(&m, LT_ERR_TYPE, "c64");
    sound(&m); m.loads[1].reg = 0; refuse(&m, LT_ERR_ARGUMENT, "set twice");
    sound(&m); m.loads[1].reg = 99; refuse(&m, LT_ERR_ARGUMENT, "register 99");
    sound(&m); m.steps[0].op = LT_OP_MATMUL; refuse(&m, LT_ERR_ARGUMENT, "matmul");
    sound(&m); m.steps[0].op = (lt_op)-1; refuse(&m, LT_ERR_ARGUMENT, "step 0");
    sound(&m); m.steps[0].src[1] = 2; refuse(&m, LT_ERR_ARGUMENT, "reads register 2");
    sound(&m); m.stores[0].reg = -1; refuse(&m, LT_ERR_ARGUMENT, "register -1");
    sound(&m); m.stores[0].to = LT_C128; refuse(&m, LT_ERR_TYPE, "c128");
    sound(&m); m.stores[0].arg = -1; refuse(&m, LT_ERR_ARGUMENT, "argument -1");
    sound(&m); reduce(&m, LT_OP_ADD, 0, 1, 1); refuse(&m, LT_ERR_ARGUMENT, "add");
    sound(&m); reduce(&m, LT_OP_SUM, 0, 1, 2); refuse(&m, LT_ERR_SHAPE, "axes 0x2");
    sound(&m); reduce(&m, LT_OP_SUM, 9, 1, 1); refuse(&m, LT_ERR_ARGUMENT, "register 9");
    lt_kernel *k;
    sound(&m);
    LT_CHECK_FAILS(lt_fused_prepare_cpu(&m.f, LT_ISA_COUNT, &k), LT_ERR_UNSUPPORTED, "instruction set");
}

LT_TEST(every_allocation_may_fail)
{
    maker m;
    begin(&m, LT_F32, lt_shape3(30, 40, 50), 4);
    int a = load(&m, 0), b = step(&m, LT_OP_EXP, step(&m, LT_OP_MUL, a, constant(&m, 2)), 0);
    store(&m, b, 1);
    reduce(&m, LT_OP_SUM, b, 2, 5);
    reduce(&m, LT_OP_RMAX, b, 3, 2);
    int64_t live = lt_alloc_live();
    for (int64_t n = 1;; n++) {
        lt_kernel *k = NULL;
        lt_alloc_fail_at(n);
        lt_status s = lt_fused_prepare_cpu(&m.f, lt_isa_best(), &k);
        lt_alloc_fail_at(0);
        if (s == LT_OK) {
            LT_CHECK(n > 4);
            lt_kernel_destroy(k);
            break;
        }
        LT_CHECK_EQ_INT(s, LT_ERR_MEMORY);
        LT_CHECK(k == NULL && lt_alloc_live() == live);
    }
    LT_CHECK_EQ_INT(lt_alloc_live(), live);
}

LT_TEST(running_does_not_allocate)
{
    double x[64] = { 1, 2, 3 }, y[64], z[8];
    maker m;
    begin(&m, LT_F64, lt_shape2(8, 8), 3);
    int a = load(&m, 0), b = step(&m, LT_OP_TANH, a, 0);
    store(&m, b, 1);
    reduce(&m, LT_OP_SUM, b, 2, 1);
    lt_kernel *k;
    LT_CHECK_OK(lt_fused_prepare_cpu(&m.f, lt_isa_best(), &k));
    LT_CHECK(k->flops > 0 && k->bytes >= 128 * 8 && k->n_args == 3 && strstr(k->name, "fused_f64"));
    void *scratch = lt_malloc_aligned(k->scratch_bytes + 64), *arg[4] = { x, y, z, scratch };
    lt_pool *pool = lt_pool_shared();
    int64_t before = lt_alloc_count();
    for (int i = 0; i < 10; i++) LT_CHECK_OK(k->run(k, pool, arg));
    LT_CHECK_EQ_INT(lt_alloc_count(), before);
    lt_free_aligned(scratch);
    lt_kernel_destroy(k);
}

LT_TEST_MAIN()
