/* Functions with guards, verification against eager, mixed precision, kernels chosen by timing.
   SPDX-License-Identifier: BSD-3-Clause */
#include "base/dtype.h"
#include "graph/random_graph.h"
#include "lathe/features.h"
#include "lathe/tune.h"
#include "lt_test.h"
#include "tolerance.h"

/* ---- functions ---- */

/* y = sum(x^2) and 2 x; counts how often it is asked. */
static lt_status squares(void *ctx, lt_graph *g, const lt_node *in, int n_in, lt_node *out, int n_out)
{
    ++*(int *)ctx;
    LT_CHECK_EQ_INT(n_in, 1);
    LT_CHECK_EQ_INT(n_out, 2);
    out[0] = lt_sum(g, lt_square(g, in[0]));
    return lt_grad(g, out[0], in, 1, &out[1]);
}

static lt_status call(lt_function *f, lt_dtype t, int64_t n, void *x, void *value, void *gradient)
{
    lt_tensor in = { t, lt_shape1(n), x }, out[2] = { { t, lt_shape0(), value }, { t, lt_shape1(n), gradient } };
    return lt_function_call(f, &in, out);
}

LT_TEST(functions_compile_once_for_each_signature)
{
    lt_function *f;
    int built = 0;
    double x[5] = { 1, 2, 3, 4, 5 }, v, d[5];
    float xf[3] = { 1, 2, 3 }, vf, df[3];
    LT_CHECK_OK(lt_function_create(squares, &built, 1, 2, NULL, &f));
    LT_CHECK_OK(call(f, LT_F64, 3, x, &v, d));
    LT_CHECK(v == 14 && d[2] == 6);
    LT_CHECK(strstr(lt_function_get_stats(f).last_reason, "first call"));
    LT_CHECK_OK(call(f, LT_F64, 3, x + 2, &v, d));
    LT_CHECK(v == 50 && d[2] == 10);
    LT_CHECK_EQ_INT(built, 1);
    LT_CHECK_OK(call(f, LT_F64, 5, x, &v, d));
    LT_CHECK(v == 55);
    LT_CHECK(strstr(lt_function_get_stats(f).last_reason, "f64[5], was f64[3]"));
    LT_CHECK_OK(call(f, LT_F32, 3, xf, &vf, df));
    LT_CHECK(vf == 14 && df[1] == 4);
    LT_CHECK(strstr(lt_function_get_stats(f).last_reason, "f32[3]"));
    LT_CHECK_OK(call(f, LT_F64, 3, x, &v, d));
    lt_function_stats s = lt_function_get_stats(f);
    LT_CHECK_EQ_INT(s.compiles, 3);
    LT_CHECK_EQ_INT(s.hits, 2);
    LT_CHECK_EQ_INT(s.evictions, 0);
    LT_CHECK_EQ_INT(built, 3);
    LT_CHECK(!s.eager);
    lt_function_destroy(f);
}

LT_TEST(the_least_recently_used_plan_leaves)
{
    lt_function *f;
    int built = 0;
    double x[4] = { 1, 2, 3, 4 }, v, d[4];
    LT_CHECK_OK(lt_function_create(squares, &built, 1, 2, &(lt_function_options){ .size = sizeof(lt_function_options), .max_plans = 2 }, &f));
    for (int64_t n = 1; n <= 2; n++) LT_CHECK_OK(call(f, LT_F64, n, x, &v, d));
    LT_CHECK_OK(call(f, LT_F64, 1, x, &v, d));
    LT_CHECK_OK(call(f, LT_F64, 3, x, &v, d)); /* drops the plan for 2 */
    LT_CHECK_EQ_INT(lt_function_get_stats(f).evictions, 1);
    LT_CHECK_OK(call(f, LT_F64, 1, x, &v, d));
    LT_CHECK_EQ_INT(built, 3);
    LT_CHECK_OK(call(f, LT_F64, 2, x, &v, d));
    LT_CHECK_EQ_INT(built, 4);
    LT_CHECK(v == 5 && d[1] == 4);
    lt_function_destroy(f);
}

LT_TEST(too_many_compilations_end_in_eager_mode)
{
    lt_function *f;
    int built = 0;
    double x[8] = { 1, 1, 1, 1, 1, 1, 1, 1 }, v, d[8];
    LT_CHECK_OK(lt_function_create(squares, &built, 1, 2, &(lt_function_options){ .size = sizeof(lt_function_options), .max_compiles = 3 }, &f));
    for (int64_t n = 1; n <= 8; n++) {
        LT_CHECK_OK(call(f, LT_F64, n, x, &v, d));
        LT_CHECK(v == (double)n && d[n - 1] == 2);
        LT_CHECK(lt_function_get_stats(f).eager == (n >= 3));
    }
    lt_function_destroy(f);
}

static lt_status fails(void *ctx, lt_graph *g, const lt_node *in, int n_in, lt_node *out, int n_out)
{
    (void)ctx; (void)n_in; (void)n_out;
    out[0] = lt_matmul(g, in[0], in[0]);
    return lt_graph_status(g);
}

static lt_status forgets(void *ctx, lt_graph *g, const lt_node *in, int n_in, lt_node *out, int n_out)
{
    (void)ctx; (void)g; (void)in; (void)n_in; (void)out; (void)n_out;
    return LT_OK;
}

LT_TEST(functions_refuse_mistakes)
{
    lt_function *f = NULL;
    int built = 0;
    double x[12] = { 0 }, v, d[12];
    lt_tensor in = { LT_F64, lt_shape2(3, 4), x }, out = { LT_F64, lt_shape2(3, 4), d };
    LT_CHECK_FAILS(lt_function_create(NULL, NULL, 1, 1, NULL, &f), LT_ERR_ARGUMENT, "builder NULL");
    LT_CHECK_FAILS(lt_function_create(squares, NULL, 1, 0, NULL, &f), LT_ERR_ARGUMENT, "0 outputs");
    LT_CHECK_FAILS(lt_function_create(squares, NULL, -1, 1, NULL, &f), LT_ERR_ARGUMENT, "-1 inputs");
    LT_CHECK_FAILS(lt_function_create(squares, NULL, 1, 1, NULL, NULL), LT_ERR_ARGUMENT, "out is NULL");
    LT_CHECK(f == NULL);
    LT_CHECK_OK(lt_function_create(squares, &built, 1, 2, NULL, &f));
    LT_CHECK_FAILS(lt_function_call(NULL, &in, &out), LT_ERR_ARGUMENT, "function is NULL");
    LT_CHECK_FAILS(lt_function_call(f, NULL, &out), LT_ERR_ARGUMENT, "inputs is NULL");
    LT_CHECK_FAILS(lt_function_call(f, &in, NULL), LT_ERR_ARGUMENT, "outputs is NULL");
    lt_tensor vector = { LT_F64, lt_shape1(3), x }, wrong[2] = { { LT_F64, lt_shape0(), &v }, { LT_F64, lt_shape1(4), d } };
    LT_CHECK_FAILS(lt_function_call(f, &vector, wrong), LT_ERR_SHAPE, "output 1 is f64[3], the tensor given is f64[4]");
    lt_tensor bad_type = { (lt_dtype)50, lt_shape1(3), x };
    LT_CHECK_FAILS(lt_function_call(f, &bad_type, wrong), LT_ERR_TYPE, "unknown element type");
    LT_CHECK_OK(call(f, LT_F64, 3, x, &v, d)); /* still of use */
    lt_function_destroy(f);
    LT_CHECK_OK(lt_function_create(fails, NULL, 1, 1, NULL, &f));
    LT_CHECK_FAILS(lt_function_call(f, &in, &out), LT_ERR_SHAPE, "inner sizes");
    LT_CHECK_FAILS(lt_function_call(f, &in, &out), LT_ERR_SHAPE, "inner sizes");
    lt_function_destroy(f);
    LT_CHECK_OK(lt_function_create(forgets, NULL, 1, 1, NULL, &f));
    LT_CHECK_FAILS(lt_function_call(f, &in, &out), LT_ERR_ARGUMENT, "none");
    lt_function_destroy(f);
    lt_function_destroy(NULL);
    LT_CHECK_EQ_INT(lt_function_get_stats(NULL).compiles, 0);
}

/* ---- verification ---- */

LT_TEST(random_graphs_verify)
{
    for (uint64_t seed = 40000; seed < 40040; seed++) {
        maker m;
        lt_node out[MAKER_OUTPUTS + 1];
        maker_begin(&m, seed, LT_F64, true, 30);
        for (int i = 0; i < m.n_outputs; i++) out[i] = m.output[i].node;
        LT_CHECK_OK(lt_graph_verify(m.g, out, m.n_outputs, NULL, (const void *const *)m.raw, 1e-9));
        maker_end(&m);
    }
}

/* Weights stored in bf16 are off by 2^-8: that is found, at the product and not after it. */
LT_TEST(verification_names_the_first_node_that_differs)
{
    lt_graph *g;
    float x[6] = { 0.1f, 0.2f, 0.3f, 0.4f, 0.5f, 0.6f }, w[6] = { 0.7f, 0.11f, 0.13f, 0.17f, 0.19f, 0.23f };
    const void *in[] = { x, w };
    lt_compile_options low = { .size = sizeof low, .low_precision = true, .storage_type = LT_BF16 };
    LT_CHECK_OK(lt_graph_create(&g));
    lt_node a = lt_input(g, "x", LT_F32, lt_shape2(2, 3)), b = lt_input(g, "w", LT_F32, lt_shape2(3, 2));
    lt_node y = lt_exp(g, lt_tanh(g, lt_matmul(g, lt_square(g, a), b)));
    LT_CHECK_OK(lt_graph_verify(g, &y, 1, NULL, in, 1e-5));
    LT_CHECK_OK(lt_graph_verify(g, &y, 1, &low, in, 0.05));
    LT_CHECK_FAILS(lt_graph_verify(g, &y, 1, &low, in, 1e-5), LT_ERR_MISMATCH, "= matmul f32[2, 2]");
    LT_CHECK_FAILS(lt_graph_verify(g, &y, 1, NULL, in, -1), LT_ERR_ARGUMENT, "rel_tol");
    LT_CHECK_FAILS(lt_graph_verify(g, &y, 0, NULL, in, 1), LT_ERR_ARGUMENT, "at least one output");
    LT_CHECK_FAILS(lt_graph_verify(NULL, &y, 1, NULL, in, 1), LT_ERR_ARGUMENT, "NULL");
    LT_CHECK_FAILS(lt_graph_verify(g, &y, 1, NULL, NULL, 1), LT_ERR_ARGUMENT, "input 0 'x' is NULL");
    lt_graph_destroy(g);
}

/* ---- mixed precision ---- */

/* A product with ones shows what it reads: eleven digits, the nearest there are. */
LT_TEST(tf32_products_read_eleven_digits)
{
    enum { N = 64 };
    float x[N], ones[1] = { 1 }, got[N];
    lt_rng r = lt_rng_seed(4);
    for (int i = 0; i < N; i++) x[i] = ldexpf((float)lt_rng_uniform(&r) - 0.5f, i - N / 2);
    for (int matmul = 0; matmul < 2; matmul++)
        for (int full = 0; full < 2; full++) {
            lt_graph *g;
            lt_program *p;
            LT_CHECK_OK(lt_graph_create(&g));
            lt_node a = lt_input(g, "x", LT_F32, matmul ? lt_shape2(N, 1) : lt_shape4(1, 1, 8, 8)), w = lt_input(g, "w", LT_F32, matmul ? lt_shape2(1, 1) : lt_shape4(1, 1, 1, 1));
            lt_node y = matmul ? lt_matmul(g, a, w) : lt_conv2d(g, a, w, LT_NONE, NULL);
            LT_CHECK_OK(lt_program_create(g, &y, 1, &(lt_compile_options){ .size = sizeof(lt_compile_options), .tf32 = true, .full_first = full }, &p));
            LT_CHECK_OK(lt_program_run(p, (const void *[]){ x, ones }, (void *[]){ got }));
            for (int i = 0; i < N; i++) {
                float unit = ldexpf(1, ilogbf(x[i]) - 10);
                if (full) LT_CHECK(got[i] == x[i]);
                else LT_CHECK(fmodf(got[i], unit) == 0 && fabsf(got[i] - x[i]) <= unit / 2);
            }
            lt_program_destroy(p);
            lt_graph_destroy(g);
        }
    lt_graph *g;
    lt_program *p = NULL;
    LT_CHECK_OK(lt_graph_create(&g));
    lt_node y = lt_relu(g, lt_input(g, "x", LT_F32, lt_shape1(3)));
    LT_CHECK_FAILS(lt_program_create(g, &y, 1, &(lt_compile_options){ .size = sizeof(lt_compile_options), .tf32 = true, .low_precision = true, .storage_type = LT_F16 }, &p),
                   LT_ERR_ARGUMENT, "tf32 is about products of f32");
    lt_graph_destroy(g);
}

/* Products read rounded operands and round their result; sums stay in f32. Products of inputs are left alone where that is asked for. */
LT_TEST(low_precision_rounds_as_stated)
{
    for (int k = 0; k < 4; k++) {
        lt_graph *g;
        lt_program *p;
        lt_dtype t = k % 2 ? LT_BF16 : LT_F16;
        bool full = k > 1;
        enum { M = 9, K = 17, N = 5 };
        float x[M * K], w[K * N], got[M * N];
        lt_rng r = lt_rng_seed(3);
        for (int i = 0; i < M * K; i++) x[i] = (float)lt_rng_uniform(&r) - 0.5f;
        for (int i = 0; i < K * N; i++) w[i] = (float)lt_rng_uniform(&r) - 0.5f;
        LT_CHECK_OK(lt_graph_create(&g));
        lt_node a = lt_input(g, "x", LT_F32, lt_shape2(K, M)), b = lt_input(g, "w", LT_F32, lt_shape2(K, N));
        lt_node y = lt_relu(g, lt_matmul(g, lt_transpose(g, a), b));
        LT_CHECK_OK(lt_program_create(g, &y, 1, &(lt_compile_options){ .size = sizeof(lt_compile_options), .low_precision = true, .storage_type = t, .full_first = full }, &p));
        LT_CHECK_OK(lt_program_run(p, (const void *[]){ x, w }, (void *[]){ got }));
        bool rounded = false;
        for (int i = 0; i < M * N; i++) {
            double sum = 0, size = 0;
            for (int j = 0; j < K; j++) { double v = (double)x[j * M + i / N] * w[j * N + i % N]; sum += v; size += fabs(v); }
            if (!lt_within(got[i], fmax(sum, 0), size, 4, t)) LT_TEST_FAIL("%s: element %d is %.9g, expected %.9g", lt_dtype_name(t), i, got[i], fmax(sum, 0));
            rounded = rounded || !lt_within(got[i], fmax(sum, 0), size, K + 2, LT_F32);
        }
        LT_CHECK(rounded == !full); /* what is rounded is stored in the small type */
        lt_program_destroy(p);
        lt_graph_destroy(g);
    }
}

/* ---- kernels chosen by timing ---- */

static bool built_with(const char *name)
{
    lt_feature f = { .size = sizeof f };
    for (int i = 0; lt_feature_get(i, &f); i++) if (strcmp(f.name, name) == 0) return f.built_in;
    return false;
}

LT_TEST(timed_choices_compute_the_same)
{
    lt_tuner *tuner;
    lt_tuner_options opt = lt_tuner_defaults();
    opt.device = "cpu test";
    opt.driver = "none";
    opt.kernels = "test";
    opt.path = "test_function_tune.txt"; /* never written: the tuner is not saved */
    opt.mode = LT_TUNE_MEASURE;
    opt.trust_ns = 1000;
    opt.budget_ns = 20000;
    opt.rounds = 1;
    LT_CHECK_OK(lt_tuner_create(&opt, &tuner));
    for (uint64_t seed = 41000; seed < 41040; seed++) {
        maker m;
        lt_node out[MAKER_OUTPUTS + 1];
        maker_begin(&m, seed, seed % 2 ? LT_F64 : LT_F32, true, 40);
        for (int i = 0; i < m.n_outputs; i++) out[i] = m.output[i].node;
        lt_compile_options timed = { .size = sizeof timed, .mode = LT_MODE_MAX_AUTOTUNE, .tuner = tuner };
        double error = 0;
        for (int i = 0; i < m.n_outputs; i++) error = fmax(error, m.output[i].error);
        lt_status s = lt_graph_verify(m.g, out, m.n_outputs, &timed, (const void *const *)m.raw, fmax(1e4 * error, 1e-9));
        if (s) LT_TEST_FAIL("seed %llu: %s", (unsigned long long)seed, lt_error_text());
        maker_end(&m);
    }
    LT_CHECK(lt_tuner_count(tuner) > 0 || !built_with("onednn")); /* without it there is no choice between convolutions */
    lt_tuner_destroy(tuner);
}

LT_TEST_MAIN()
