/* Fused programs on the GPU against the evaluator: random programs of ops that IEEE arithmetic fixes
   bit for bit, on memory that is not always aligned. SPDX-License-Identifier: BSD-3-Clause */
#include "fused_program.h"

#include "kernels/cuda/cuda_table.h"

static lt_device *dev;
#define OPEN_OR_SKIP() do { if (!dev && lt_device_open("cuda", &dev)) { dev = NULL; LT_SKIP("%s", lt_error_text()); } } while (0)

static const lt_op exact[] = { LT_OP_NEG, LT_OP_ABS, LT_OP_SIGN, LT_OP_SQUARE, LT_OP_SQRT, LT_OP_RELU, LT_OP_FLOOR, LT_OP_RECIP, LT_OP_ADD,
                               LT_OP_SUB, LT_OP_MUL, LT_OP_DIV, LT_OP_MIN, LT_OP_MAX, LT_OP_LT, LT_OP_LE, LT_OP_GT, LT_OP_GE, LT_OP_EQ,
                               LT_OP_WHERE, LT_OP_CLAMP };

/* The program's memory on the device, each argument shifted by some elements. */
typedef struct uploaded { void *base[MAX_ARGS + 1], *arg[MAX_ARGS + 1]; } uploaded;

static uploaded upload(const program *p, const memory *m, size_t scratch_bytes)
{
    uploaded r = { 0 };
    lt_stream *st = lt_device_stream(dev);
    for (int a = 0; a < p->f.n_args; a++) {
        if (p->alias[a] >= 0) { r.arg[a] = r.arg[p->alias[a]]; continue; }
        size_t bytes = arg_bytes(p, a) + 64, shift = (size_t)(chance(50) ? 0 : pick(8)) * lt_dtype_size(p->arg_type[a]);
        LT_CHECK_OK(lt_device_alloc(dev, st, bytes + shift, "test", &r.base[a]));
        r.arg[a] = (char *)r.base[a] + shift;
        LT_CHECK_OK(lt_stream_copy(st, r.arg[a], m->arg[a], bytes, LT_TRANSFER_H2D, false));
    }
    LT_CHECK_OK(lt_device_alloc(dev, st, scratch_bytes + 1, "test", &r.base[p->f.n_args]));
    r.arg[p->f.n_args] = r.base[p->f.n_args];
    LT_CHECK_OK(lt_stream_sync(st));
    return r;
}

static void download(const program *p, const uploaded *r, memory *m)
{
    lt_stream *st = lt_device_stream(dev);
    for (int a = 0; a < p->f.n_args; a++)
        if (p->alias[a] < 0) LT_CHECK_OK(lt_stream_copy(st, m->arg[a], r->arg[a], arg_bytes(p, a) + 64, LT_TRANSFER_D2H, false));
    LT_CHECK_OK(lt_stream_sync(st));
}

static void release(const program *p, const uploaded *r)
{
    for (int a = 0; a <= p->f.n_args; a++) LT_CHECK_OK(lt_device_free(dev, NULL, r->base[a]));
}

static void check_guards(const program *p, const memory *m)
{
    for (int a = 0; a < p->f.n_args; a++)
        for (size_t i = 0; p->alias[a] < 0 && i < 64; i++)
            if ((unsigned char)m->arg[a][arg_bytes(p, a) + i] != 0x5a) {
                LT_TEST_FAIL("argument %d was written past its end", a);
                return;
            }
}

static void check_program(const program *p)
{
    lt_kernel *k = NULL;
    if (lt_fused_prepare_cuda(dev, &p->f, &k)) {
        LT_TEST_FAIL("prepare: %s", lt_error_text());
        return;
    }
    memory in = make_memory(p, 0), want = copy_memory(p, &in, 0), got = copy_memory(p, &in, 0), again = copy_memory(p, &in, 0);
    fold_want folds[MAX_REDUCES] = { 0 };
    make_folds(p, folds);
    evaluate(p, lt_vec_set_of(LT_ISA_PLAIN, p->f.type), &in, &want, folds);
    memory *result[] = { &got, &again };
    for (int run = 0; run < 2; run++) {
        uploaded r = upload(p, &in, k->scratch_bytes);
        LT_CHECK_OK(lt_stream_launch(lt_device_stream(dev), &(lt_launch){ k, r.arg }));
        download(p, &r, result[run]);
        release(p, &r);
    }
    check_stores(p, &got, &want);
    check_reduces(p, &got, folds);
    check_guards(p, &got);
    for (int a = 0; a < p->f.n_args; a++)
        if (memcmp(got.arg[a], again.arg[a], arg_bytes(p, a))) LT_TEST_FAIL("argument %d: a second run differs", a);
    free_folds(p, folds);
    free_memory(p, &in), free_memory(p, &want), free_memory(p, &got), free_memory(p, &again);
    lt_kernel_destroy(k);
}

static void random_cases(lt_dtype type, int n, uint64_t seed)
{
    for (int i = 0; i < n && lt_test_failures < 5; i++) {
        program p;
        rng_state = seed + (uint64_t)i;
        random_program_of(&p, type, exact, (int)LT_LEN(exact));
        int before = lt_test_failures;
        check_program(&p);
        if (lt_test_failures > before)
            fprintf(stderr, "  %s over %s, seed %llu: %d loads %d steps %d stores %d reduces\n", lt_dtype_name(type), lt_shape_str(&p.f.domain).s,
                    (unsigned long long)(seed + (uint64_t)i), p.f.n_loads, p.f.n_steps, p.f.n_stores, p.f.n_reduces);
    }
}

LT_TEST(random_programs_f32) { OPEN_OR_SKIP(); random_cases(LT_F32, 60, 1); }
LT_TEST(random_programs_f64) { OPEN_OR_SKIP(); random_cases(LT_F64, 60, 5000); }

LT_TEST_MAIN()
