/* Learned features against loops in double precision; training against differences of its loss.
   SPDX-License-Identifier: BSD-3-Clause */
#include "lt_test.h"
#include "oracle.h"

#include "base/pool.h"
#include "lathe/rng.h"
#include "operators/features/learned.h"
#include "operators/network/weights.h"

enum { SEED = 11, M = 2, T = 4, MAX_ROW = 1 << 15 };

static lt_learned_options base_options(void)
{
    return (lt_learned_options){ .enabled = true, .skip_levels = 7, .temporal_agg = LT_AGG_MEAN_MAX, .training_epochs = 3, .patience = 20,
                                 .learning_rate = 1e-3, .cosine = true };
}

static lt_operator_spec small(lt_operator_kind kind)
{
    lt_operator_spec s = lt_operator_defaults(kind);
    s.grid = 8, s.base_channels = 4, s.num_layers = 2, s.policy = LT_POLICY_CONVEX;
    s.encoder_levels = 2, s.modes = 2, s.afno_blocks = 1, s.hidden_dim = 6, s.blocks_per_level = 1;
    return s;
}

static lt_learned_setup setup_of(const lt_learned_options *o, lt_operator_kind kind)
{
    return (lt_learned_setup){ .opt = o, .kind = kind, .seed = SEED, .realizations = M, .steps = T, .max_grid = 8, .precision = LT_PRECISION_FLOAT32 };
}

/* An operator with its trajectory: smooth enough numbers, the second realization apart from the first. */
typedef struct subject { lt_operator_spec spec; lt_operator_weights *w; float *states; int64_t field, failed[M]; } subject;

static subject make_subject(lt_operator_kind kind)
{
    subject s = { .spec = small(kind), .failed = { -1, -1 } };
    s.field = 3 * (int64_t)s.spec.grid * s.spec.grid;
    s.states = malloc((size_t)(T * M * s.field) * sizeof *s.states);
    lt_draws d = lt_draws_make(SEED, "test", 0, 0, 0);
    LT_CHECK_OK(lt_draws_normal_f32(&d, 0, T * M * s.field, s.states));
    LT_CHECK_OK(lt_operator_weights_create(&s.spec, &s.w));
    LT_CHECK_OK(lt_operator_weights_draw(s.w, SEED, 2));
    return s;
}

static void release(subject *s)
{
    lt_operator_weights_destroy(s->w);
    free(s->states);
}

/* The row of the product; its columns are returned. */
static int row_of(const subject *s, const lt_learned_options *o, float *row)
{
    lt_learned_setup setup = setup_of(o, s->spec.kind);
    lt_learned *l = NULL;
    int columns = 0;
    LT_CHECK_OK(lt_learned_columns(o, s->spec.kind, setup.max_grid, &columns));
    LT_CHECK(columns <= MAX_ROW);
    LT_CHECK_OK(lt_learned_create(&setup, &l));
    if (!l) return 0;
    LT_CHECK_OK(lt_learned_begin(l, &s->spec, s->w));
    for (int64_t t = 0; t < T; t++) LT_CHECK_OK(lt_learned_push(l, t, s->states + t * M * s->field, s->failed));
    LT_CHECK_OK(lt_learned_finish(l, row));
    lt_learned_destroy(l);
    return columns;
}

/* ---- The oracle ---- */

typedef struct collector { const char *const *wanted; int at; bool flatten; double *out; int64_t n; } collector;

static void collect(void *ctx, const char *name, const map *x)
{
    collector *c = ctx;
    int64_t plane = x->h * x->w;
    if (strcmp(name, c->wanted[c->at])) return;
    for (int64_t i = 0; i < x->c; i++) {
        double sum = 0;
        for (int64_t k = 0; k < plane; k++) {
            if (c->flatten) c->out[c->n++] = x->v[i * plane + k];
            sum += x->v[i * plane + k];
        }
        if (!c->flatten) c->out[c->n++] = sum / (double)plane;
    }
}

/* Latents of one state in the order of `wanted`, NULL at the end. */
static int64_t latents(const subject *s, const float *state, const char *const *wanted, bool flatten, double *out)
{
    collector c = { .wanted = wanted, .flatten = flatten, .out = out };
    double *wide = malloc((size_t)s->field * sizeof *wide);
    for (int64_t i = 0; i < s->field; i++) wide[i] = state[i];
    for (; wanted[c.at]; c.at++) {
        oracle o = { .spec = s->spec, .weights = s->w, .tap = collect, .tap_ctx = &c };
        free(oracle_apply(&o, wide, NULL, false, false).v);
    }
    free(wide);
    return c.n;
}

/* Of the series x[T], by the definition. */
static double reduced(const double *x, lt_temporal_agg agg)
{
    double mean = 0, most = x[0], square = 0;
    for (int t = 0; t < T; t++) mean += x[t] / T, most = fmax(most, x[t]);
    for (int t = 0; t < T; t++) square += (x[t] - mean) * (x[t] - mean);
    return agg == LT_AGG_MEAN ? mean : agg == LT_AGG_MAX ? most : sqrt(square / (T - 1));
}

static int64_t oracle_row(const subject *s, const lt_learned_options *o, const char *const *wanted, double *row)
{
    double *x = malloc(sizeof *x * M * T * MAX_ROW);
    int64_t n = 0, at = 0, kept = (s->failed[0] < 0) + (s->failed[1] < 0);
    for (int64_t k = 0; k < T * M; k++) n = latents(s, s->states + k * s->field, wanted, o->flatten, x + k * MAX_ROW);
    bool both = o->temporal_agg == LT_AGG_MEAN_MAX;
    for (int half = 0; half <= both; half++)
        for (int64_t i = 0; i < n; i++) {
            double sum = 0;
            for (int m = 0; m < M; m++) {
                double series[T];
                for (int t = 0; t < T; t++) series[t] = x[(t * M + m) * MAX_ROW + i];
                if (s->failed[m] < 0) sum += reduced(series, both ? (half ? LT_AGG_MAX : LT_AGG_MEAN) : o->temporal_agg);
            }
            row[at++] = sum / (double)kept;
        }
    free(x);
    return at;
}

static void check_row(const subject *s, const lt_learned_options *o, const char *const *wanted, const float *got, int columns)
{
    double *want = malloc(sizeof *want * 2 * MAX_ROW), worst = 0;
    int64_t n = oracle_row(s, o, wanted, want);
    int rest = 0;
    for (int64_t i = 0; i < n && i < columns; i++) worst = fmax(worst, fabs(got[i] - want[i]) / fmax(1, fabs(want[i])));
    for (int64_t i = n; i < columns; i++) rest += got[i] != 0;
    if (!(worst <= 2e-5)) LT_TEST_FAIL("error %.3g", worst);
    LT_CHECK_EQ_INT(rest, 0);
    free(want);
}

static const char *const cnn_all[] = { "early", "mid_1", "mid_2", "pre_output", NULL };

/* ---- Rows ---- */

LT_TEST(every_reduction_of_a_cnn_matches_the_oracle)
{
    static const int width[] = { [LT_AGG_MEAN_MAX] = 768, [LT_AGG_MEAN] = 384, [LT_AGG_MAX] = 384, [LT_AGG_STD] = 384 };
    subject s = make_subject(LT_OPERATOR_CNN);
    float row[768];
    for (int a = LT_AGG_MEAN_MAX; a <= LT_AGG_STD; a++) {
        lt_learned_options o = base_options();
        o.temporal_agg = (lt_temporal_agg)a;
        LT_CHECK_EQ_INT(row_of(&s, &o, row), width[a]);
        check_row(&s, &o, cnn_all, row, width[a]);
    }
    release(&s);
}

LT_TEST(latents_are_chosen_by_name_and_number)
{
    static const struct { lt_learned_from from; uint32_t layers; const char *const wanted[4]; } choice[] = {
        { LT_LEARNED_EARLY, 0, { "early" } }, { LT_LEARNED_MID, 0, { "mid_1", "mid_2" } }, { LT_LEARNED_MID, 2, { "mid_2" } },
        { LT_LEARNED_PRE_OUTPUT, 0, { "pre_output" } }, { LT_LEARNED_ALL, 1, { "early", "mid_1", "pre_output" } },
    };
    subject s = make_subject(LT_OPERATOR_CNN);
    float row[768];
    for (size_t i = 0; i < sizeof choice / sizeof *choice; i++) {
        lt_learned_options o = base_options();
        o.from = choice[i].from;
        o.layer_indices = choice[i].layers;
        check_row(&s, &o, choice[i].wanted, row, row_of(&s, &o, row));
    }
    release(&s);
}

LT_TEST(flattened_latents_are_channel_by_channel)
{
    static const char *const wanted[] = { "early", NULL };
    static float row[MAX_ROW];
    subject s = make_subject(LT_OPERATOR_CNN);
    lt_learned_options o = base_options();
    o.flatten = true, o.from = LT_LEARNED_EARLY, o.temporal_agg = LT_AGG_MEAN;
    LT_CHECK_EQ_INT(row_of(&s, &o, row), 32 * 8 * 8);
    check_row(&s, &o, wanted, row, 32 * 8 * 8);
    release(&s);
}

LT_TEST(wide_operators_are_cut)
{
    static const char *const wanted[] = { "early", NULL };
    float row[64];
    subject s = make_subject(LT_OPERATOR_CNN);
    lt_operator_weights_destroy(s.w);
    s.spec.base_channels = 40;
    LT_CHECK_OK(lt_operator_weights_create(&s.spec, &s.w));
    LT_CHECK_OK(lt_operator_weights_draw(s.w, SEED, 2));
    lt_learned_options o = base_options();
    o.from = LT_LEARNED_EARLY;
    LT_CHECK_EQ_INT(row_of(&s, &o, row), 64);
    check_row(&s, &o, wanted, row, 64);
    release(&s);
}

LT_TEST(realizations_that_failed_are_left_out)
{
    float row[768];
    subject s = make_subject(LT_OPERATOR_CNN);
    lt_learned_options o = base_options();
    s.failed[0] = 2;
    check_row(&s, &o, cnn_all, row, row_of(&s, &o, row));
    s.failed[1] = 0;
    row_of(&s, &o, row);
    LT_CHECK(isnan(row[0]) && isnan(row[767]));
    release(&s);
}

LT_TEST(one_latent_order_is_alphabetical_not_numeric)
{
    static const char *const wanted[] = { "mid_1", "mid_10", "mid_2", NULL };
    float row[448];
    subject s = make_subject(LT_OPERATOR_CNN);
    lt_operator_weights_destroy(s.w);
    s.spec.num_layers = 10, s.spec.base_channels = 2;
    LT_CHECK_OK(lt_operator_weights_create(&s.spec, &s.w));
    LT_CHECK_OK(lt_operator_weights_draw(s.w, SEED, 2));
    lt_learned_options o = base_options();
    o.from = LT_LEARNED_MID, o.layer_indices = 1 | 2 | 512;
    LT_CHECK_EQ_INT(row_of(&s, &o, row), 192);
    check_row(&s, &o, wanted, row, 192);
    release(&s);
}

LT_TEST(bad_choices_are_refused)
{
    lt_learned_options o = base_options();
    int n;
    o.from = LT_LEARNED_BOTTLENECK;
    LT_CHECK_FAILS(lt_learned_columns(&o, LT_OPERATOR_CNN, 64, &n), LT_ERR_ARGUMENT, "extract_from is bottleneck: expected early, mid, pre_output or all");
    o.from = LT_LEARNED_MID;
    LT_CHECK_FAILS(lt_learned_columns(&o, LT_OPERATOR_UAFNO, 64, &n), LT_ERR_ARGUMENT, "extract_from is mid: expected bottleneck, skips or all");
    o.from = LT_LEARNED_SKIPS, o.skip_levels = 8;
    LT_CHECK_FAILS(lt_learned_columns(&o, LT_OPERATOR_UAFNO, 64, &n), LT_ERR_ARGUMENT, "no latent is left");
}

/* ---- Projection ---- */

LT_TEST(projection_is_two_linear_maps_and_a_norm)
{
    enum { IN = 21, OUT = 9 };
    float x[IN], got[OUT], w[IN + OUT], b;
    double hidden[OUT], y[OUT], mean = 0, var = 0;
    for (int i = 0; i < IN; i++) x[i] = (float)(i % 5) - 2;
    LT_CHECK_OK(lt_learned_project(3, x, IN, OUT, got));
    for (uint32_t layer = 0; layer < 2; layer++)
        for (int o = 0; o < OUT; o++) {
            int n = layer ? OUT : IN;
            lt_draws dw = lt_draws_make(3, "projection", 2 * layer, (uint32_t)o, 0), db = lt_draws_make(3, "projection", 2 * layer + 1, (uint32_t)o, 0);
            LT_CHECK_OK(lt_draws_uniform_f32(&dw, 0, n, w)); /* in [0, 1) */
            LT_CHECK_OK(lt_draws_uniform_f32(&db, 0, 1, &b));
            double sum = (2.0 * b - 1) / sqrt(n);
            for (int i = 0; i < n; i++) sum += (2.0 * w[i] - 1) / sqrt(n) * (layer ? hidden[i] : x[i]);
            if (layer) y[o] = sum;
            else hidden[o] = sum;
            if (!layer && o == OUT - 1)
                for (int i = 0; i < OUT; i++) hidden[i] = 0.5 * hidden[i] * (1 + erf(hidden[i] / sqrt(2)));
        }
    for (int i = 0; i < OUT; i++) mean += y[i] / OUT;
    for (int i = 0; i < OUT; i++) var += (y[i] - mean) * (y[i] - mean) / OUT;
    for (int i = 0; i < OUT; i++) LT_CHECK_NEAR(got[i], (y[i] - mean) / sqrt(var + 1e-5), 1e-5);
}

LT_TEST(projected_rows_have_the_projections_width)
{
    float row[16], plain[768], again[16];
    subject s = make_subject(LT_OPERATOR_CNN);
    lt_learned_options o = base_options();
    int n = row_of(&s, &o, plain);
    o.projection_dim = 16;
    LT_CHECK_EQ_INT(row_of(&s, &o, row), 16);
    LT_CHECK_OK(lt_learned_project(SEED, plain, n, 16, again));
    LT_CHECK(!memcmp(row, again, sizeof row));
    release(&s);
}

/* ---- Training ---- */

static lt_trajectory trajectory_of(const subject *s, const int64_t *kept)
{
    return (lt_trajectory){ s->states, T, M, s->field, kept };
}

/* Mean squared error of the operator over all pairs, in double. */
static double oracle_loss(const subject *s)
{
    double *wide = malloc((size_t)s->field * sizeof *wide), loss = 0;
    for (int64_t k = 0; k < (T - 1) * M; k++) {
        const float *x = s->states + k * s->field, *next = x + M * s->field;
        oracle o = { .spec = s->spec, .weights = s->w };
        for (int64_t i = 0; i < s->field; i++) wide[i] = x[i];
        map y = oracle_apply(&o, wide, NULL, false, false);
        for (int64_t i = 0; i < s->field; i++) loss += (y.v[i] - next[i]) * (y.v[i] - next[i]) / (double)s->field;
        free(y.v);
    }
    free(wide);
    return loss / ((T - 1) * M);
}

/* Adam's first step is the rate against the sign of the gradient. */
LT_TEST(the_first_step_goes_down_the_gradient)
{
    static const int64_t kept[M] = { 0, 0 };
    subject s = make_subject(LT_OPERATOR_UAFNO);
    lt_learned_options o = base_options();
    lt_training_result r;
    lt_trainer *t = NULL;
    lt_trajectory x = trajectory_of(&s, kept);
    o.training_epochs = 1;
    LT_CHECK_OK(lt_trainer_create(&s.spec, NULL, &t));
    LT_CHECK_OK(lt_trainer_run(t, &o, &x, s.w, NULL, &r));
    LT_CHECK_EQ_INT(r.epochs, 1);
    LT_CHECK_NEAR(r.first_loss, oracle_loss(&s), 1e-5);
    int checked = 0;
    for (int k = 0; k < s.w->network.n_tensors; k++) {
        int64_t at = s.w->network.tensor[k].offset + s.w->network.tensor[k].count / 2;
        float old = s.w->block[at], h = 1.0f / 64;
        s.w->block[at] = old + h;
        double above = oracle_loss(&s);
        s.w->block[at] = old - h;
        double slope = (above - oracle_loss(&s)) / (2.0 * (double)h);
        s.w->block[at] = old;
        if (fabs(slope) < 1e-4) continue; /* no sign to be sure of */
        LT_CHECK_NEAR((lt_trainer_weights(t)[at] - old) / (slope > 0 ? -1e-3 : 1e-3), 1, 1e-2);
        checked++;
    }
    LT_CHECK(checked > s.w->network.n_tensors / 2);
    lt_trainer_destroy(t);
    release(&s);
}

LT_TEST(training_lowers_the_loss_and_stops_when_it_does_not)
{
    static const int64_t kept[M] = { 0, -1 };
    subject s = make_subject(LT_OPERATOR_UAFNO);
    lt_learned_options o = base_options();
    lt_training_result r;
    lt_trainer *t = NULL;
    lt_trajectory x = trajectory_of(&s, kept);
    o.training_epochs = 40;
    LT_CHECK_OK(lt_trainer_create(&s.spec, NULL, &t));
    LT_CHECK_OK(lt_trainer_run(t, &o, &x, s.w, NULL, &r));
    LT_CHECK_EQ_INT(r.epochs, 40);
    LT_CHECK(r.last_loss < 0.9 * r.first_loss);
    o.learning_rate = 1e-12, o.patience = 4;
    LT_CHECK_OK(lt_trainer_run(t, &o, &x, s.w, NULL, &r));
    LT_CHECK_EQ_INT(r.epochs, 5);
    volatile int stop = 1;
    LT_CHECK_FAILS(lt_trainer_run(t, &o, &x, s.w, &stop, &r), LT_ERR_CANCELLED, "stopped");
    lt_trainer_destroy(t);
    release(&s);
}

LT_TEST(rows_of_a_uafno_are_those_of_the_trained_operator)
{
    static const int64_t kept[M] = { 0, 0 };
    static const char *const all[] = { "bottleneck", "skip_0", "skip_1", NULL };
    subject s = make_subject(LT_OPERATOR_UAFNO);
    lt_learned_options o = base_options();
    lt_trainer *t = NULL;
    lt_trajectory x = trajectory_of(&s, kept);
    float row[2 * 704], again[2 * 704];
    LT_CHECK_EQ_INT(row_of(&s, &o, row), 2 * 704);
    LT_CHECK_OK(lt_pool_shared_resize(1));
    row_of(&s, &o, again);
    LT_CHECK_OK(lt_pool_shared_resize(0));
    LT_CHECK(!memcmp(row, again, sizeof row));
    LT_CHECK_OK(lt_trainer_create(&s.spec, NULL, &t));
    LT_CHECK_OK(lt_trainer_run(t, &o, &x, s.w, NULL, NULL));
    memcpy(s.w->block, lt_trainer_weights(t), (size_t)s.w->network.n_floats * sizeof(float));
    check_row(&s, &o, all, row, 2 * 704);
    lt_trainer_destroy(t);
    release(&s);
}

LT_TEST_MAIN()
