/* Helpers of the op tests: random tensors, running one row, comparing it with the plain row under
   a bound that follows from rounding. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_OPS_TEST_H
#define LT_OPS_TEST_H

#include "lt_test.h"

#include "base/alloc.h"
#include "base/dtype.h"
#include "base/pool.h"
#include "base/status.h"
#include "kernels/host_kernel.h"

#include <float.h>

#ifdef OPS_CUDA
#include "ops_cuda.h" /* the rows that face the plain one are those of the GPU */
#endif

static const lt_attr ops_no_attr; /* for ops that read none, or all false */
static uint64_t ops_seed = 1;

static inline double ops_random(void) /* uniform in [-1, 1), fixed sequence: a failure repeats */
{
    ops_seed = ops_seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(int64_t)(ops_seed >> 11) * 0x1p-52 - 1;
}

static inline lt_tensor_type ops_type(lt_dtype t, lt_shape s) { return (lt_tensor_type){ t, s }; }

/* Memory for a tensor, never NULL; released with free. */
static inline void *ops_alloc(const lt_tensor_type *t)
{
    void *p = calloc(1, lt_tensor_bytes(t) + 64);
    if (!p) abort();
    return p;
}

static inline void *ops_random_tensor(const lt_tensor_type *t)
{
    char *p = ops_alloc(t);
    int64_t n = lt_tensor_count(t);
    bool complex = lt_dtype_is_complex(t->dtype);
    lt_dtype part = t->dtype == LT_C64 ? LT_F32 : t->dtype == LT_C128 ? LT_F64 : t->dtype;
    for (int64_t i = 0; i < n * (complex ? 2 : 1); i++)
        lt_store_double(part, p, i, lt_dtype_is_integer(t->dtype) ? floor(50 + 50 * ops_random()) : ops_random());
    return p;
}

static inline lt_pool *ops_pool(int threads) /* kept for the whole run */
{
    static lt_pool *pool[8];
    if (!pool[threads] && lt_pool_create(threads, &pool[threads])) {
        fprintf(stderr, "%s\n", lt_error_text());
        abort();
    }
    return pool[threads];
}

/* Prepares row for p and runs it once; arg holds n_in inputs and the output (and what an epilogue
   takes). The output is filled with NaN bytes first, so that an element left out is seen. With
   `twice` it runs again and must give the same bits. */
static inline lt_status ops_run_times(const lt_kernel_row *row, const lt_problem_key *p, void *const *arg, int threads, bool twice)
{
    lt_kernel *k = NULL;
    LT_TRY(row->prepare(p, &k));
    void *full[LT_KERNEL_MAX_ARGS + 1] = { 0 };
    memcpy(full, arg, (size_t)k->n_args * sizeof *full);
    void *scratch = lt_malloc_aligned(k->scratch_bytes + 64);
    memset(scratch, 0xff, k->scratch_bytes);
    full[k->n_args] = scratch;
    memset(full[p->n_in], 0xff, lt_tensor_bytes(&p->out));
    lt_pool *pool = ops_pool(threads);
    int64_t before = lt_alloc_count();
    lt_status s = k->run(k, pool, full);
    if (lt_alloc_count() != before) LT_TEST_FAIL("%s allocates while running", row->name);
    if (s == LT_OK && twice) {
        size_t bytes = lt_tensor_bytes(&p->out);
        void *copy = malloc(bytes + 1);
        memcpy(copy, full[p->n_in], bytes);
        s = k->run(k, pool, full);
        if (memcmp(copy, full[p->n_in], bytes)) LT_TEST_FAIL("%s: a second run differs", row->name);
        free(copy);
    }
    lt_free_aligned(scratch);
    lt_kernel_destroy(k);
    return s;
}

static inline lt_status ops_run(const lt_kernel_row *row, const lt_problem_key *p, void *const *arg, int threads)
{
    return ops_run_times(row, p, arg, threads, true);
}

static inline const lt_kernel_row *ops_plain_row(const lt_problem_key *p)
{
    const lt_kernel_row *row[16];
    int n = lt_kernel_candidates(p, row, 16);
    if (!n) LT_TEST_FAIL("no row for op %s", lt_op_name(p->op));
    return n ? row[n - 1] : NULL;
}

static inline double ops_unit(lt_dtype t) /* half an ulp of 1 */
{
    return t == LT_F16 ? 0x1p-11 : t == LT_BF16 ? 0x1p-8 : t == LT_F32 ? FLT_EPSILON / 2 : DBL_EPSILON / 2;
}

/* Any order of summation is within k u/(1 - k u) of the exact sum of k products, measured
   against the sum of their magnitudes. */
static inline double dot_bound(int64_t k, double u)
{
    double ku = (double)(k + 2) * u;
    return ku < 0.5 ? ku / (1 - ku) : 1;
}

/* Rows against the last of them, on one and two threads with equal bits. The op is linear in every
   input marked in `linear`; with those replaced by their magnitudes the last row gives the
   magnitude that `depth` roundings are measured against (depth 0: exact). */
static inline void ops_walk_rows(const lt_problem_key *p, void *const *in, uint32_t linear, int64_t depth, const lt_kernel_row *const *row, int n)
{
    void *want_arg[LT_OP_MAX_INPUTS + 1], *mag_arg[LT_OP_MAX_INPUTS + 1], *got_arg[LT_OP_MAX_INPUTS + 1];
    for (int i = 0; i < p->n_in; i++) {
        want_arg[i] = got_arg[i] = mag_arg[i] = in[i];
        if (!(linear >> i & 1) || !lt_dtype_is_float(p->in[i].dtype)) continue;
        mag_arg[i] = ops_alloc(&p->in[i]);
        for (int64_t j = 0; j < lt_tensor_count(&p->in[i]); j++)
            lt_store_double(p->in[i].dtype, mag_arg[i], j, fabs(lt_load_double(p->in[i].dtype, in[i], j)));
    }
    void *want = want_arg[p->n_in] = ops_alloc(&p->out), *mag = mag_arg[p->n_in] = ops_alloc(&p->out);
    void *got = got_arg[p->n_in] = ops_alloc(&p->out), *again = ops_alloc(&p->out);
    LT_CHECK_OK(ops_run_times(row[n - 1], p, want_arg, 1, false));
    LT_CHECK_OK(ops_run_times(row[n - 1], p, mag_arg, 1, false));
    lt_dtype t = p->out.dtype;
    double u = ops_unit(lt_compute_type(t)), bound = depth ? dot_bound(depth, u) : 0;
    for (int r = 0; r < n - 1; r++) {
        if (lt_test_brief() && strstr(row[r]->name, "cudnn")) continue; /* racecheck dies of some of its kernels, and none is ours to judge */
        got_arg[p->n_in] = again;
        LT_CHECK_OK(ops_run(row[r], p, got_arg, 2));
        got_arg[p->n_in] = got;
        LT_CHECK_OK(ops_run(row[r], p, got_arg, 1));
        if (memcmp(got, again, lt_tensor_bytes(&p->out)))
            LT_TEST_FAIL("%s: bits depend on the thread count", row[r]->name);
        if (!depth || !lt_dtype_is_float(t)) {
            if (memcmp(got, want, lt_tensor_bytes(&p->out)))
                LT_TEST_FAIL("%s %s: differs from %s", row[r]->name, lt_dtype_name(t), row[n - 1]->name);
            continue;
        }
        for (int64_t i = 0; i < lt_tensor_count(&p->out); i++) {
            double g = lt_load_double(t, got, i), w = lt_load_double(t, want, i), m = lt_load_double(t, mag, i);
            double tol = bound * m + (t == LT_F32 || t == LT_F64 ? 2 : 3) * ops_unit(t) * fabs(w) + (t == LT_F16 ? 0x1p-24 : 0);
            if (!(fabs(g - w) <= tol) && !(isnan(g) && isnan(w))) {
                LT_TEST_FAIL("%s %s: element %lld is %.17g, expected %.17g within %.3g; output %s", row[r]->name,
                             lt_dtype_name(t), (long long)i, g, w, tol, lt_shape_str(&p->out.shape).s);
                break;
            }
        }
    }
    for (int i = 0; i < p->n_in; i++)
        if (mag_arg[i] != in[i]) free(mag_arg[i]);
    free(want), free(mag), free(got), free(again);
}

/* Every faster row that applies to p against the plain one. */
static inline void ops_walk(const lt_problem_key *p, void *const *in, uint32_t linear, int64_t depth)
{
    const lt_kernel_row *row[16];
    int n = lt_kernel_candidates(p, row, 16);
    if (n) ops_walk_rows(p, in, linear, depth, row, n);
    else LT_TEST_FAIL("no row for op %s", lt_op_name(p->op));
}

/* The same with random inputs. */
static inline void ops_walk_random(const lt_problem_key *p, int64_t depth)
{
    void *in[LT_OP_MAX_INPUTS];
    for (int i = 0; i < p->n_in; i++) in[i] = ops_random_tensor(&p->in[i]);
    ops_walk(p, in, ~0u, depth);
    for (int i = 0; i < p->n_in; i++) free(in[i]);
}

/* The best row alone: the result in double, to be released with free. */
static inline double *ops_result(const lt_kernel_row *row, const lt_problem_key *p, void *const *in)
{
    void *arg[LT_OP_MAX_INPUTS + 1];
    for (int i = 0; i < p->n_in; i++) arg[i] = in[i];
    arg[p->n_in] = ops_alloc(&p->out);
    LT_CHECK_OK(ops_run(row, p, arg, 2));
    int64_t n = lt_tensor_count(&p->out);
    double *d = calloc((size_t)n + 1, sizeof *d);
    if (!d) abort();
    for (int64_t i = 0; i < n; i++) d[i] = lt_load_double(p->out.dtype, arg[p->n_in], i);
    free(arg[p->n_in]);
    return d;
}

#endif
