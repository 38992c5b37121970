/* NORM, ADJUGATE and the check of LOGDET of the CUDA device, run by the CPU thread by thread, against the plain rows.
   SPDX-License-Identifier: BSD-3-Clause */
#include "host_library.h"
#include "ops_test.h"

#include "kernels/cuda/rows.h"
#include "kernels/cuda/text_kernel.h"

/* ---- A device whose kernels are libraries of the CPU ---- */
typedef void run_launch(unsigned blocks, unsigned threads, int backwards, void **arg);
typedef struct host_kernel { lt_kernel base; run_launch *launch; unsigned blocks, threads; } host_kernel;
static int backwards; /* the order of threads: what depends on it lacks a barrier */

static void destroy(lt_kernel *k) { lt_free(k); }

static run_launch *compile(const char *source, const char *entry)
{
    char options[128];
    run_launch *found = NULL;
    snprintf(options, sizeof options, "-ffp-contract=off -fno-strict-aliasing -w -DKERNEL_ENTRY=%s", entry);
    void *library = host_library_open(source, options, "linalg_host.cc"); /* stays: kernels come and go */
    if (library) *(void **)&found = dlsym(library, "run_launch");
    return found;
}

static lt_status build(lt_device *dev, const lt_kernel_key *key, lt_kernel **out)
{
    host_kernel *k = lt_calloc(1, sizeof *k);
    (void)dev;
    *out = NULL;
    if (!k) return LT_ERR_MEMORY;
    *k = (host_kernel){ .base = { .name = "host", .destroy = destroy, .n_args = key->n_args }, .launch = compile(key->source, key->entry),
                        .blocks = key->grid[0], .threads = key->block[0] };
    if (!k->launch) return destroy(&k->base), LT_FAIL(LT_ERR_UNSUPPORTED, "the C++ compiler refuses kernel '%s'", key->name);
    *out = &k->base;
    return LT_OK;
}

static lt_status launch(lt_stream *st, const lt_launch *at)
{
    const host_kernel *k = (const host_kernel *)at->kernel;
    if (at->kernel->enqueue) return at->kernel->enqueue(at->kernel, st, at->arg);
    k->launch(k->blocks, k->threads, backwards, at->arg);
    return LT_OK;
}

static const lt_backend backend = { .name = "host", .build = build, .launch = launch };
static lt_device device = { .backend = &backend, .id = "host" };

/* Both orders of threads against the plain row, within `roundings` of the largest element. */
static void compare(const lt_problem_key *p, lt_status (*prepare)(lt_device *, const lt_problem_key *, lt_kernel **), void *const *in, double roundings)
{
    lt_stream st = { .dev = &device };
    lt_kernel *k = NULL;
    int64_t n = lt_tensor_count(&p->out);
    double *want = ops_result(ops_plain_row(p), p, in);
    void *got = ops_alloc(&p->out);
    LT_CHECK_OK(prepare(&device, p, &k));
    if (!k) { free(want), free(got); return; }
    void *room = lt_malloc_aligned(k->scratch_bytes + 64), *arg[] = { in[0], in[1], got, room };
    for (backwards = 0; backwards < 2; backwards++) {
        memset(room, 0xff, k->scratch_bytes);
        LT_CHECK_OK(lt_stream_launch(&st, &(lt_launch){ k, arg }));
        for (int64_t i = 0; i < n; i++) {
            double y = lt_load_double(p->out.dtype, got, i);
            if (y != want[i] && !(fabs(y - want[i]) <= roundings * ops_unit(p->out.dtype) * fabs(want[i])))
                LT_TEST_FAIL("%s: element %lld is %.17g, expected %.17g", lt_op_name(p->op), (long long)i, y, want[i]);
        }
    }
    lt_free_aligned(room);
    lt_kernel_destroy(k);
    free(want), free(got);
}

static void norms(lt_dtype t, int exponent, int64_t n)
{
    lt_tensor_type x = ops_type(t, lt_shape3(3, n, 100)), s = ops_type(t, lt_shape2(3, 100)); /* 300 lines: more than a block */
    lt_attr attr = { .u.reduce.axes = 2 };
    lt_problem_key p = { .op = LT_OP_NORM, .n_in = 2, .attr = &attr, .in = { s, x }, .out = s };
    void *in[2] = { ops_alloc(&s), ops_random_tensor(&x) };
    for (int64_t line = 0; line < 300; line++) {
        long double sum = 0;
        for (int64_t i = 0; i < n; i++) { /* every tenth line is out of range */
            int64_t at = (line / 100 * n + i) * 100 + line % 100;
            lt_store_double(t, in[1], at, ldexp(lt_load_double(t, in[1], at), line % 10 ? 0 : exponent));
            sum += (long double)lt_load_double(t, in[1], at) * (long double)lt_load_double(t, in[1], at);
        }
        lt_store_double(t, in[0], line, (double)sum);
    }
    compare(&p, lt_cuda_norm_prepare, in, 4 + sqrt((double)n));
    free(in[0]), free(in[1]);
}

LT_TEST(norms_agree_with_the_plain_row)
{
    if (!host_library_possible()) LT_SKIP("no C++ compiler");
    norms(LT_F64, 700, 5);
    norms(LT_F64, -700, 300);
    norms(LT_F32, 100, 3);
}

static void adjugate(int64_t n, int rank, double det)
{
    lt_tensor_type square = ops_type(LT_F64, lt_shape3(2, n, n)), dets = ops_type(LT_F64, lt_shape1(2));
    lt_problem_key p = { .op = LT_OP_ADJUGATE, .n_in = 2, .attr = &ops_no_attr, .in = { square, dets }, .out = square };
    double *m = ops_alloc(&square), d[2] = { det, det };
    for (int64_t b = 0; b < 2; b++)
        for (int r = 0; r < rank; r++) /* small integers: ranks are exact where pivots are */
            for (int64_t i = 0; i < n * n; i++) m[b * n * n + i] += (double)((i / n * (r + 1) + r * r + b) % 5 - 2) * (double)((i % n * (r + 2) + 3 * r) % 7 - 3);
    compare(&p, lt_cuda_adjugate_prepare, (void *[]){ m, d }, 1e3);
    free(m);
}

LT_TEST(adjugates_agree_with_the_plain_row)
{
    if (!host_library_possible()) LT_SKIP("no C++ compiler");
    adjugate(1, 0, 0);
    adjugate(4, 4, -INFINITY);
    adjugate(4, 2, 0);
    adjugate(5, 1, 0);
    adjugate(3, 3, 7);
}

static double spoiled(run_launch *run, int64_t n, const double *a, double value)
{
    double work[16] = { 0 };
    void *arg[] = { (void *)(uintptr_t)a, work, &value };
    (void)n;
    run(1, 256, 1, arg);
    return value;
}

LT_TEST(indefinite_matrices_are_found)
{
    extern const char lt_text_linalg_cu[];
    if (!host_library_possible()) LT_SKIP("no C++ compiler");
    lt_text constants = { 0 }, whole = { 0 };
    lt_text_add(&constants, "typedef f64 T;\nenum : i64 { M = 3, N = 3, ROWS = 3, COLUMNS = 3, COUNT = 9, TRANSPOSE = 0, LOGARITHM = 1, POSITIVE = 1, CHECK_INFO = 0 };\n");
    lt_text_kernel_join(&constants, lt_text_linalg_cu, &whole);
    run_launch *run = compile(whole.s, "spoil_indefinite");
    LT_CHECK(run != NULL);
    if (run) {
        LT_CHECK(spoiled(run, 3, (double[]){ 4, 1, 0, 1, 3, 1, 0, 1, 2 }, 1.5) == 1.5);
        LT_CHECK(isnan(spoiled(run, 3, (double[]){ -1, 0, 0, 0, -1, 0, 0, 0, 2 }, 1.5)));  /* determinant 2 */
        LT_CHECK(isnan(spoiled(run, 3, (double[]){ 1, 2, 0, 2, 1, 0, 0, 0, -1 }, 1.5)));   /* determinant 3 */
        LT_CHECK(spoiled(run, 3, (double[]){ 0, -1, 0, 1, 0, 0, 0, 0, 1 }, 1.5) == 1.5);   /* unsymmetric */
        LT_CHECK(spoiled(run, 3, (double[]){ 0, 0, 0, 0, 1, 0, 0, 0, 1 }, -INFINITY) == -INFINITY);
    }
    lt_text_free(&constants), lt_text_free(&whole);
}

LT_TEST_MAIN()
