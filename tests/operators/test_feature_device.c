/* Features measured on a GPU against the CPU's. Runs on the first CUDA device; where there is none the null device
   still walks memory and launches. SPDX-License-Identifier: BSD-3-Clause */
#include "feature_sides.h"

#include "base/status.h"
#include "operators/remote/features.h"

static lt_device *device(bool *computes)
{
    static lt_device *dev;
    static bool real;
    if (!dev) {
        real = lt_device_open("cuda", &dev) == LT_OK;
        if (!real) {
            printf("no CUDA device here (%s): launches only, on null\n", lt_error_text());
            LT_CHECK_OK(lt_device_open("null", &dev));
        }
    }
    *computes = real;
    return dev;
}

/* ---- States on the device ------------------------------------------------------------------------------- */
typedef struct remote_run { lt_device *dev; lt_stream *st; size_t bytes; float *state[2]; int64_t *t; float *staged; } remote_run;

static remote_run remote_create(lt_device *dev, const run *r)
{
    remote_run q = { .dev = dev, .st = lt_device_stream(dev), .bytes = (size_t)r->m * 3 * (size_t)(r->g * r->g) * sizeof(float) };
    for (int i = 0; i < 2; i++) LT_CHECK_OK(lt_device_alloc(dev, q.st, q.bytes, "states", (void **)&q.state[i]));
    LT_CHECK_OK(lt_device_alloc(dev, q.st, sizeof *q.t, "step", (void **)&q.t));
    q.staged = malloc(q.bytes);
    return q;
}

static void remote_destroy(remote_run *q)
{
    for (int i = 0; i < 2; i++) LT_CHECK_OK(lt_device_free(q->dev, q->st, q->state[i]));
    LT_CHECK_OK(lt_device_free(q->dev, q->st, q->t));
    free(q->staged);
}

static lt_state_view show(remote_run *q, const run *r, int64_t t)
{
    gather_states(r, (int)t, q->staged);
    LT_CHECK_OK(lt_stream_copy(q->st, q->state[t & 1], q->staged, q->bytes, LT_TRANSFER_H2D, false));
    LT_CHECK_OK(lt_stream_copy(q->st, q->t, &t, sizeof t, LT_TRANSFER_H2D, false));
    LT_CHECK_OK(lt_stream_sync(q->st));
    return (lt_state_view){ .now = q->state[t & 1], .before = q->state[t ? (t - 1) & 1 : 0], .t = q->t };
}

/* All steps of a run, as an engine would show them. */
static void roll(const lt_state_reader *reader, remote_run *q, const run *r)
{
    if (reader->begin) LT_CHECK_OK(reader->begin(reader->ctx, q->st));
    for (int64_t t = 0; t < r->t; t++) {
        lt_state_view view = show(q, r, t);
        LT_CHECK_OK(reader->step(reader->ctx, q->st, &view));
    }
    LT_CHECK_OK(reader->end(reader->ctx, q->st));
    LT_CHECK_OK(lt_stream_sync(q->st));
}

static void check(const lt_feature_options *o, const run *r, const char *what)
{
    bool computes;
    lt_device *dev = device(&computes);
    lt_remote_features *f;
    sides s = sides_create(o, r);
    LT_CHECK_OK(lt_remote_features_create(dev, s.set, r->g, r->m, r->t, &f));
    if (f) {
        remote_run q = remote_create(dev, r);
        lt_state_reader reader = lt_remote_features_reader(f);
        for (int again = 0; again < 2; again++) { /* nothing is left over from the run before */
            lt_feature_stream_reset(s.near);
            lt_feature_stream_reset(s.far);
            roll(&reader, &q, r);
            if (!computes) continue;
            push_near(&s);
            LT_CHECK_OK(lt_remote_features_push(f, s.far));
            check_exact(&s, lt_remote_features_records(f) + (int64_t)(r->t - 1) * r->m, what);
            compare_sides(&s, what);
        }
        remote_destroy(&q);
        lt_remote_features_destroy(f);
    }
    sides_destroy(&s);
}

LT_TEST(features_measured_on_the_device)
{
    static const struct { int m, t, g; } size[] = { { 2, 6, 16 }, { 1, 4, 2 }, { 3, 4, 48 }, { 2, 4, 105 }, { 5, 4, 128 }, { 1, 3, 256 } };
    for (size_t i = 0; i < LT_LEN(size); i++)
        for (int k = 0; k < KINDS; k++) {
            char what[64];
            lt_feature_options o = default_options();
            run r = run_create(size[i].m, size[i].t, size[i].g);
            o.corrected = k & 1;
            fill(&r, (kind)k, 11 * i + (uint64_t)k);
            snprintf(what, sizeof what, "%dx%d kind %d", r.g, r.g, k);
            check(&o, &r, what);
            free(r.x);
        }
}

LT_TEST(failed_realizations_fail_there_too)
{
    lt_feature_options o = default_options();
    run r = run_create(2, 5, 32);
    fill(&r, NOISE, 3);
    for (int t = 2; t < r.t; t++)
        for (int i = 0; i < 3 * r.g * r.g; i++) state_of(&r, 1, t)[i] = NAN;
    check(&o, &r, "failed");
    free(r.x);
}

/* ---- Cost: printed, never judged ------------------------------------------------------------------------- */
static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Microseconds of a step, from a captured sequence of them on one stream: nothing to overlap with. */
static double step_us(lt_device *dev, const lt_state_reader *reader, remote_run *q, const lt_state_view *view)
{
    enum { STEPS = 32, ROUNDS = 9 };
    lt_capture *c = NULL;
    lt_event *from, *to;
    double ns[ROUNDS];
    LT_CHECK_OK(lt_event_create(dev, &from));
    LT_CHECK_OK(lt_event_create(dev, &to));
    LT_CHECK_OK(lt_capture_begin(q->st));
    for (int i = 0; i < STEPS; i++) LT_CHECK_OK(reader->step(reader->ctx, q->st, view));
    LT_CHECK_OK(lt_capture_end(q->st, &c));
    for (int i = 0; c && i < ROUNDS; i++) {
        LT_CHECK_OK(lt_event_record(from, q->st));
        LT_CHECK_OK(lt_capture_replay(q->st, c));
        LT_CHECK_OK(lt_event_record(to, q->st));
        LT_CHECK_OK(lt_event_sync(to));
        LT_CHECK_OK(lt_event_elapsed(from, to, &ns[i]));
    }
    qsort(ns, ROUNDS, sizeof *ns, by_size);
    lt_capture_destroy(c);
    lt_event_destroy(from);
    lt_event_destroy(to);
    return 1e-3 * ns[ROUNDS / 2] / STEPS;
}

LT_TEST(what_a_step_costs)
{
    static const struct { int m, g; } size[] = { { 5, 64 }, { 1, 128 }, { 5, 128 }, { 40, 128 }, { 5, 256 } };
    bool computes;
    lt_device *dev = device(&computes);
    if (!computes) LT_SKIP("null has no clock");
    for (size_t i = 0; i < LT_LEN(size); i++)
        for (int k = NOISE; k <= SPARSE; k++) {
            lt_feature_options o = default_options();
            lt_feature_set *set;
            lt_remote_features *f;
            run r = run_create(size[i].m, 1, size[i].g);
            fill(&r, (kind)k, 5);
            LT_CHECK_OK(lt_feature_set_create(&o, false, &set));
            LT_CHECK_OK(lt_remote_features_create(dev, set, r.g, r.m, 1, &f));
            remote_run q = remote_create(dev, &r);
            lt_state_reader reader = lt_remote_features_reader(f);
            lt_state_view view = show(&q, &r, 0);
            printf("features of %d states of 3x%dx%d, kind %d: %.1f us\n", r.m, r.g, r.g, k, step_us(dev, &reader, &q, &view));
            remote_destroy(&q);
            lt_remote_features_destroy(f);
            lt_feature_set_destroy(set);
            free(r.x);
        }
}

static lt_status ignore_states(void *ctx, int64_t t, const float *states, const int64_t *failed)
{
    (void)ctx, (void)t, (void)states, (void)failed;
    return LT_OK;
}

/* Seconds of a whole rollout on the device, the median of several. */
static double rollout_seconds(const lt_operator_spec *spec, const lt_rollout_options *opt, const lt_operator_weights *w, const float *field,
                              const lt_state_reader *reader)
{
    enum { ROUNDS = 3 };
    double seconds[ROUNDS] = { 0 };
    lt_rollout *r = NULL;
    LT_CHECK_OK(lt_rollout_create_read(spec, opt, reader, &r));
    if (!r) return 0;
    LT_CHECK_OK(lt_rollout_set_operator(r, spec, w));
    LT_CHECK_OK(lt_rollout_keep_states(r, true));
    for (int i = -1; i < ROUNDS; i++) {
        lt_rollout_result out = { 0 };
        LT_CHECK_OK(lt_rollout_run(r, field, -1, ignore_states, NULL, &out));
        if (i >= 0) seconds[i] = out.device_seconds;
    }
    lt_rollout_destroy(r);
    qsort(seconds, ROUNDS, sizeof *seconds, by_size);
    return seconds[ROUNDS / 2];
}

/* The workload of the targets: four blocks of 64 channels, 128 x 128, five realizations. */
LT_TEST(what_features_add_to_a_rollout)
{
    bool computes;
    lt_device *dev = device(&computes);
    if (!computes) LT_SKIP("null has no clock");
    lt_operator_spec spec = lt_operator_defaults(LT_OPERATOR_CNN);
    lt_rollout_options opt = lt_rollout_defaults();
    lt_feature_options o = default_options();
    lt_operator_weights *w;
    lt_feature_set *set;
    lt_remote_features *f;
    spec.num_layers = 4, spec.base_channels = 64, spec.kernel_size = 3, spec.grid = 128;
    spec.noise = LT_NOISE_GAUSSIAN, spec.noise_scale = 0.01, spec.policy = LT_POLICY_CONVEX, spec.alpha = 0.5;
    opt.realizations = 5, opt.steps = 161, opt.precision = LT_PRECISION_FLOAT16, opt.device = dev;
    run r = run_create(1, 1, spec.grid);
    fill(&r, SMOOTH, 1);
    LT_CHECK_OK(lt_operator_weights_create(&spec, &w));
    LT_CHECK_OK(lt_operator_weights_draw(w, 1, 0));
    LT_CHECK_OK(lt_feature_set_create(&o, false, &set));
    LT_CHECK_OK(lt_remote_features_create(dev, set, spec.grid, opt.realizations, opt.steps, &f));
    lt_state_reader reader = lt_remote_features_reader(f);
    double without = rollout_seconds(&spec, &opt, w, r.x, NULL), with = rollout_seconds(&spec, &opt, w, r.x, &reader);
    printf("161 steps of the reference operator: %.1f ms, with features %.1f ms (%+.1f %%)\n", 1e3 * without, 1e3 * with, 100 * (with / without - 1));
    lt_remote_features_destroy(f);
    lt_feature_set_destroy(set);
    lt_operator_weights_destroy(w);
    free(r.x);
}

LT_TEST_MAIN()
