/* Fused kernels against an evaluator that takes one element at a time: random programs over random
   domains and views. Stored values and extremes must agree bit for bit, sums within the rounding
   bound, and every thread count must give the same bits. SPDX-License-Identifier: BSD-3-Clause */
#include "fused_program.h"

static void check_same(const program *p, const memory *a, const memory *b, const char *what)
{
    for (int i = 0; i < p->f.n_args; i++)
        if (memcmp(a->arg[i], b->arg[i], arg_bytes(p, i) + 64)) {
            LT_TEST_FAIL("argument %d differs: %s", i, what);
            return;
        }
}

static lt_pool *pools[3];

static void check_program(const program *p, lt_isa isa)
{
    const lt_fused *f = &p->f;
    lt_kernel *k = NULL;
    lt_status s = lt_fused_prepare_cpu(f, isa, &k);
    if (s) {
        LT_TEST_FAIL("prepare: %s", lt_error_text());
        return;
    }
    memory in = make_memory(p, k->scratch_bytes), want = copy_memory(p, &in, 0), serial = copy_memory(p, &in, k->scratch_bytes);
    fold_want folds[MAX_REDUCES] = { 0 };
    make_folds(p, folds);
    evaluate(p, lt_vec_set_of(isa, f->type), &in, &want, folds);
    LT_CHECK_OK(k->run(k, NULL, (void *const *)serial.arg));
    int before = lt_test_failures;
    check_stores(p, &serial, &want);
    check_reduces(p, &serial, folds);
    for (int t = 0; t < 3; t++) {
        memory again = copy_memory(p, &in, k->scratch_bytes);
        LT_CHECK_OK(k->run(k, pools[t], (void *const *)again.arg));
        check_same(p, &serial, &again, "thread count");
        free_memory(p, &again);
    }
    if (lt_test_failures > before)
        fprintf(stderr, "  kernel %s over %s: %d loads %d consts %d steps %d stores %d reduces\n", k->name,
                lt_shape_str(&f->domain).s, f->n_loads, f->n_consts, f->n_steps, f->n_stores, f->n_reduces);
    free_folds(p, folds);
    free_memory(p, &in);
    free_memory(p, &want);
    free_memory(p, &serial);
    lt_kernel_destroy(k);
}

static void random_cases(lt_dtype type, int n_cases, uint64_t seed)
{
    for (int t = 0; t < 3; t++) LT_CHECK_OK(lt_pool_create(t + 1, &pools[t]));
    for (int isa = 0; isa < LT_ISA_COUNT; isa++) {
        if (!lt_isa_usable((lt_isa)isa)) continue;
        for (int i = 0; i < n_cases && lt_test_failures < 5; i++) {
            program p;
            rng_state = seed + (uint64_t)i;
            random_program(&p, type);
            int before = lt_test_failures;
            check_program(&p, (lt_isa)isa);
            if (lt_test_failures > before) fprintf(stderr, "  case %d, seed %llu\n", i, (unsigned long long)(seed + (uint64_t)i));
        }
    }
    for (int t = 0; t < 3; t++) lt_pool_destroy(pools[t]);
}

LT_TEST(random_programs_f64) { random_cases(LT_F64, 300, 1000); }
LT_TEST(random_programs_f32) { random_cases(LT_F32, 300, 500000); }

LT_TEST_MAIN()
