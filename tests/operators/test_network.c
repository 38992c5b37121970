/* Networks against loops in double precision; parameter counts and costs against the published ones.
   SPDX-License-Identifier: BSD-3-Clause */
#include "lt_test.h"
#include "oracle.h"

#include "lathe/rng.h"
#include "operators/network/network.h"
#include "operators/network/weights.h"

#define SEED 7

typedef struct capture { float *last; int64_t n, calls; } capture;

static lt_status keep_last(void *ctx, int64_t t, const float *states, const int64_t *failed)
{
    capture *c = ctx;
    (void)t;
    (void)failed;
    memcpy(c->last, states, (size_t)c->n * sizeof *states);
    c->calls++;
    return LT_OK;
}

/* The operator on one field of normal noise about `level`, both ways; the relative error in the 2-norm. */
static double one_step_error(lt_operator_spec spec, lt_precision precision, int64_t index, float level)
{
    int64_t n = 3 * (int64_t)spec.grid * spec.grid;
    float *field = malloc((size_t)n * sizeof *field), *got = malloc((size_t)n * sizeof *got);
    double *wide = malloc((size_t)n * sizeof *wide), error = NAN;
    lt_operator_weights *w = NULL;
    lt_rollout *r = NULL;
    lt_rollout_options opt = lt_rollout_defaults();
    lt_draws s = lt_draws_make(SEED, "test", (uint32_t)index, 0, 0);
    LT_CHECK_OK(lt_draws_normal_f32(&s, 0, n, field));
    for (int64_t i = 0; i < n; i++) wide[i] = field[i] += level;
    opt.steps = 1;
    opt.precision = precision;
    spec.noise = LT_NOISE_NONE;
    LT_CHECK_OK(lt_operator_weights_create(&spec, &w));
    LT_CHECK_OK(lt_operator_weights_draw(w, SEED, index));
    LT_CHECK_OK(lt_rollout_create(&spec, &opt, &r));
    if (w && r) {
        capture c = { got, n, 0 };
        oracle o = { .spec = spec, .weights = w };
        LT_CHECK_OK(lt_rollout_set_operator(r, &spec, w));
        LT_CHECK_OK(lt_rollout_run(r, field, -1, keep_last, &c, NULL));
        map want = oracle_apply(&o, wide, NULL, false, false);
        error = oracle_relative_error(got, want.v, n);
        free(want.v);
    }
    lt_rollout_destroy(r);
    lt_operator_weights_destroy(w);
    free(field);
    free(got);
    free(wide);
    return error;
}

static lt_operator_spec small_cnn(void)
{
    lt_operator_spec s = lt_operator_defaults(LT_OPERATOR_CNN);
    s.num_layers = 2, s.base_channels = 9, s.grid = 12;
    return s;
}

static lt_operator_spec small_uafno(void)
{
    lt_operator_spec s = lt_operator_defaults(LT_OPERATOR_UAFNO);
    s.base_channels = 5, s.grid = 16, s.encoder_levels = 2, s.modes = 3, s.afno_blocks = 2, s.hidden_dim = 12, s.blocks_per_level = 1;
    return s;
}

static void check_step(lt_operator_spec s, const char *what)
{
    double error = one_step_error(s, LT_PRECISION_FLOAT32, 3, 0);
    if (!(error <= 1e-5)) LT_TEST_FAIL("%s: relative error %.3g", what, error);
}

LT_TEST(every_activation_matches_the_oracle)
{
    for (int a = 0; a < LT_ACT_COUNT; a++) {
        lt_operator_spec s = small_cnn();
        s.activation = (lt_activation)a;
        check_step(s, lt_activation_name(s.activation));
        s = small_uafno();
        s.activation = (lt_activation)a;
        check_step(s, lt_activation_name(s.activation));
    }
    lt_operator_spec s = small_cnn();
    s.tanh_gelu = true;
    check_step(s, "tanh gelu");
}

LT_TEST(every_normalization_matches_the_oracle)
{
    for (int k = 0; k < LT_NORM_COUNT; k++) {
        lt_operator_spec s = small_cnn();
        s.normalization = (lt_normalization)k;
        check_step(s, lt_normalization_name(s.normalization));
        s.base_channels = 40; /* 20 groups of 2 first, then of 4 and 8 … */
        check_step(s, lt_normalization_name(s.normalization));
        s = small_uafno();
        s.normalization = (lt_normalization)k;
        check_step(s, lt_normalization_name(s.normalization));
    }
}

LT_TEST(depth_width_kernel_and_padding_match_the_oracle)
{
    static const int layers[] = { 1, 3, 4, 5 }, kernels[] = { 1, 3, 5, 7 }, grids[] = { 7, 16 }, widths[] = { 1, 16, 20 };
    for (size_t i = 0; i < 4; i++)
        for (int circular = 0; circular < 2; circular++) {
            lt_operator_spec s = small_cnn();
            s.num_layers = layers[i], s.kernel_size = kernels[i], s.grid = grids[i % 2], s.base_channels = widths[i % 3], s.circular_padding = circular;
            char what[64];
            snprintf(what, sizeof what, "layers %d kernel %d circular %d", layers[i], kernels[i], circular);
            check_step(s, what);
        }
}

/* The deepest networks with the widest windows lose the most digits to transformed tiles. */
LT_TEST(deep_networks_of_wide_windows_stay_within_the_threshold)
{
    for (int kernel = 3; kernel <= 7; kernel += 2) {
        lt_operator_spec s = small_cnn();
        s.num_layers = 5, s.base_channels = 16, s.kernel_size = kernel, s.grid = 18;
        char what[48];
        snprintf(what, sizeof what, "five layers, %dx%d", kernel, kernel);
        check_step(s, what);
    }
}

LT_TEST(uafno_modes_levels_and_padding_match_the_oracle)
{
    lt_operator_spec s = small_uafno();
    s.modes = 64; /* more than there are: all of the half spectrum */
    check_step(s, "all modes");
    s.modes = 1;
    check_step(s, "one mode");
    s.encoder_levels = 3, s.blocks_per_level = 2, s.hidden_dim = 0, s.base_channels = 2;
    check_step(s, "three levels");
    s.circular_padding = true, s.afno_blocks = 0;
    check_step(s, "circular, no blocks");
}

/* Thresholds of the specification for one step against double precision. */
LT_TEST(precisions_stay_within_their_thresholds)
{
    static const double limit[LT_PRECISION_COUNT] = { [LT_PRECISION_FLOAT32] = 1e-5, [LT_PRECISION_FLOAT16] = 4e-3, [LT_PRECISION_BFLOAT16] = 3e-2, [LT_PRECISION_TF32] = 2e-3 };
    for (int p = 0; p < LT_PRECISION_COUNT; p++)
        for (int i = 0; i < 6; i++) {
            lt_operator_spec s = i < 5 ? small_cnn() : small_uafno();
            if (i < 5) s.num_layers = i + 1, s.base_channels = 16, s.kernel_size = 3 + 2 * (i % 2);
            double error = one_step_error(s, (lt_precision)p, i, 0);
            if (!(error <= limit[p])) LT_TEST_FAIL("%s, %d layers: relative error %.3g above %.3g", lt_precision_name((lt_precision)p), i + 1, error, limit[p]);
            /* Nearly flat: the first normalisation takes the level away and would make the most of its rounding. */
            s.circular_padding = true;
            error = one_step_error(s, (lt_precision)p, i, 20);
            if (!(error <= limit[p])) LT_TEST_FAIL("%s, %d layers, a nearly flat field: relative error %.3g above %.3g", lt_precision_name((lt_precision)p), i + 1, error, limit[p]);
        }
}

/* ---- Counts ------------------------------------------------------------------------------------- */
LT_TEST(parameter_counts_and_costs_are_the_published_ones)
{
    static const struct { int l, b, k; int64_t params; double gflop; } row[] = {
        { 2, 16, 3, 7571, 0.24 }, { 2, 16, 5, 20627, 0.67 }, { 2, 16, 7, 40211, 1.31 },
        { 2, 64, 3, 113219, 3.69 }, { 2, 64, 5, 312899, 10.24 }, { 2, 64, 7, 612419, 20.05 },
        { 3, 32, 3, 103139, 3.36 }, { 3, 32, 5, 284899, 9.32 }, { 3, 32, 7, 557539, 18.25 },
        { 3, 64, 3, 409027, 13.37 }, { 3, 64, 5, 1132995, 37.09 }, { 3, 64, 7, 2218947, 72.68 },
        { 4, 32, 3, 602787, 19.70 }, { 4, 32, 5, 1652899, 54.11 }, { 4, 32, 7, 3228067, 105.7 },
        { 4, 64, 3, 2405699, 78.73 }, { 4, 64, 5, 6603075, 216.3 }, { 4, 64, 7, 12899139, 422.6 },
        { 5, 64, 3, 3586371, 117.4 }, { 5, 64, 5, 9880899, 323.7 }, { 5, 64, 7, 19322691, 633.0 },
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        lt_operator_spec s = lt_operator_defaults(LT_OPERATOR_CNN);
        s.num_layers = row[i].l, s.base_channels = row[i].b, s.kernel_size = row[i].k, s.grid = 128;
        LT_CHECK_EQ_INT(lt_operator_parameter_count(&s), row[i].params);
        double gflop = lt_operator_flops(&s) * 1e-9;
        if (fabs(gflop - row[i].gflop) > (row[i].gflop >= 100 ? 0.06 : 0.005)) LT_TEST_FAIL("row %zu: %.4f GFLOP, expected %.4g", i, gflop, row[i].gflop);
    }
}

LT_TEST(uafno_counts_and_costs_are_the_published_ones)
{
    static const struct { int b, e, m, a, r, h; double millions, tolerance, gflop; } row[] = {
        { 32, 3, 32, 4, 2, 0, 547, 0.5, 9.8 }, { 32, 3, 16, 4, 2, 0, 144.7, 0.05, 9.8 },
        { 16, 2, 8, 2, 1, 32, 1.40, 0.005, 0.98 }, { 48, 3, 24, 4, 2, 96, 701, 0.5, 21.9 },
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        lt_operator_spec s = lt_operator_defaults(LT_OPERATOR_UAFNO);
        s.base_channels = row[i].b, s.encoder_levels = row[i].e, s.modes = row[i].m, s.afno_blocks = row[i].a, s.blocks_per_level = row[i].r;
        s.hidden_dim = row[i].h, s.grid = 64;
        double millions = (double)lt_operator_parameter_count(&s) * 1e-6, gflop = lt_operator_flops(&s) * 1e-9;
        if (fabs(millions - row[i].millions) > row[i].tolerance) LT_TEST_FAIL("row %zu: %.3f million parameters, expected %.4g", i, millions, row[i].millions);
        if (fabs(gflop - row[i].gflop) > 0.05 * (row[i].gflop < 1 ? 0.1 : 1)) LT_TEST_FAIL("row %zu: %.3f GFLOP, expected %.4g", i, gflop, row[i].gflop);
    }
}

LT_TEST(bad_specifications_name_field_value_and_expectation)
{
    lt_operator_spec s = small_cnn();
    s.kernel_size = 4;
    LT_CHECK_FAILS(lt_operator_check(&s), LT_ERR_ARGUMENT, "kernel_size is 4: expected an odd number");
    s = small_cnn();
    s.noise = LT_NOISE_DROPOUT, s.noise_scale = 1;
    LT_CHECK_FAILS(lt_operator_check(&s), LT_ERR_ARGUMENT, "dropout");
    s = small_cnn();
    s.alpha = 1;
    LT_CHECK_FAILS(lt_operator_check(&s), LT_ERR_ARGUMENT, "alpha is 1");
    s = small_uafno();
    s.grid = 18;
    LT_CHECK_FAILS(lt_operator_check(&s), LT_ERR_ARGUMENT, "multiple of 4");
    s = small_cnn();
    s.noise_scale = NAN;
    LT_CHECK_FAILS(lt_operator_check(&s), LT_ERR_ARGUMENT, "noise_scale");
    LT_CHECK_EQ_INT(lt_operator_parameter_count(&s), -1);
}

LT_TEST(groups_are_the_largest_divisor_up_to_32)
{
    static const int64_t want[][2] = { { 1, 1 }, { 9, 9 }, { 18, 18 }, { 32, 32 }, { 33, 11 }, { 36, 18 }, { 37, 1 }, { 64, 32 }, { 80, 20 }, { 96, 32 } };
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) LT_CHECK_EQ_INT(lt_group_count(want[i][0]), want[i][1]);
}

/* ---- Several samples at once ------------------------------------------------------------------------------ */

/* The step of `batch` samples as one program: states and noise [batch, ...] to the next states. */
static void run_batch(const lt_operator_spec *s, const lt_operator_weights *w, int64_t batch, const float *state, const float *noise, float *next)
{
    lt_network n;
    lt_program *p = NULL;
    const void *input[512];
    float keep = 0.25f, gain = 0.75f;
    LT_CHECK_OK(lt_network_create_batch(s, batch, &n));
    LT_CHECK_OK(lt_program_create(n.graph, &n.next, 1, NULL, &p));
    LT_CHECK(n.n_tensors == w->network.n_tensors && n.n_floats == w->network.n_floats && n.flops == w->network.flops);
    input[LT_STEP_STATE] = state, input[LT_STEP_NOISE] = noise, input[LT_STEP_KEEP] = &keep, input[LT_STEP_GAIN] = &gain;
    for (int i = 0; i < n.n_tensors; i++) input[LT_STEP_TENSORS + i] = w->block + n.tensor[i].offset;
    if (p) LT_CHECK_OK(lt_program_run(p, input, (void *[]){ next }));
    lt_program_destroy(p);
    lt_network_release(&n);
}

static void check_batch(lt_operator_spec s, const char *what)
{
    enum { BATCH = 3, MOST = BATCH * 64 * 20 * 20 };
    static float state[MOST], noise[MOST], together[MOST], apart[MOST];
    int64_t field = 3 * (int64_t)s.grid * s.grid;
    lt_noise_shape at = lt_network_noise(&s);
    int64_t per = at.channels * (at.by_channel ? 1 : (int64_t)s.grid * s.grid);
    lt_operator_weights *w = NULL;
    lt_draws d = lt_draws_make(SEED, "test", 1, 0, 0), e = lt_draws_make(SEED, "test", 2, 0, 0);
    LT_CHECK(BATCH * per <= MOST && BATCH * field <= MOST);
    LT_CHECK_OK(lt_draws_normal_f32(&d, 0, BATCH * field, state));
    LT_CHECK_OK(lt_draws_normal_f32(&e, 0, BATCH * per, noise));
    LT_CHECK_OK(lt_operator_weights_create(&s, &w));
    LT_CHECK_OK(lt_operator_weights_draw(w, SEED, 3));
    run_batch(&s, w, BATCH, state, noise, together);
    for (int64_t b = 0; b < BATCH; b++) run_batch(&s, w, 1, state + b * field, noise + b * per, apart + b * field);
    double worst = 0;
    for (int64_t i = 0; i < BATCH * field; i++) worst = fmax(worst, fabs((double)together[i] - apart[i]) / fmax(1, fabs((double)apart[i])));
    if (!(worst <= 1e-5)) LT_TEST_FAIL("%s: samples together differ from samples alone by %.3g", what, worst);
    lt_operator_weights_destroy(w);
}

LT_TEST(samples_of_a_batch_never_meet)
{
    for (int norm = 0; norm < LT_NORM_COUNT; norm++)
        for (int noise = 0; noise < LT_NOISE_COUNT; noise++) {
            lt_operator_spec s = small_cnn();
            s.normalization = (lt_normalization)norm, s.noise = (lt_noise)noise, s.num_layers = noise == LT_NOISE_LAPLACE ? 4 : 2;
            s.circular_padding = noise == LT_NOISE_DROPOUT;
            check_batch(s, lt_normalization_name(s.normalization));
        }
    lt_operator_spec s = small_uafno();
    check_batch(s, "uafno");
    s.noise = LT_NOISE_MULTIPLICATIVE, s.normalization = LT_NORM_GROUP;
    check_batch(s, "uafno, group");
}

LT_TEST_MAIN()
