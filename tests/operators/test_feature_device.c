/* Features measured on a GPU against the CPU's. Runs on the first CUDA device; where there is none the null device
   still walks memory and launches. SPDX-License-Identifier: BSD-3-Clause */
#include "feature_sides.h"

#include "base/status.h"
#include "operators/features/device/device.h"

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
typedef struct device_run { lt_device *dev; lt_stream *st; int64_t stride; float *states; int64_t *t; } device_run;

static device_run device_run_create(lt_device *dev, const run *r)
{
    device_run q = { .dev = dev, .st = lt_device_stream(dev), .stride = lt_state_stride(r->m, r->g) };
    size_t floats = (size_t)(q.stride * r->t), steps = (size_t)r->t * sizeof *q.t;
    float *staged = calloc(floats, sizeof *staged);
    int64_t *t = malloc(steps);
    for (int i = 0; i < r->t; i++) {
        gather_states(r, i, staged + i * q.stride);
        t[i] = i;
    }
    LT_CHECK_OK(lt_device_alloc(dev, q.st, floats * sizeof *staged, "states", (void **)&q.states));
    LT_CHECK_OK(lt_device_alloc(dev, q.st, steps, "steps", (void **)&q.t));
    LT_CHECK_OK(lt_stream_copy(q.st, q.states, staged, floats * sizeof *staged, LT_TRANSFER_H2D, false));
    LT_CHECK_OK(lt_stream_copy(q.st, q.t, t, steps, LT_TRANSFER_H2D, false));
    LT_CHECK_OK(lt_stream_sync(q.st));
    free(staged);
    free(t);
    return q;
}

static void device_run_destroy(device_run *q)
{
    LT_CHECK_OK(lt_device_free(q->dev, q->st, q->states));
    LT_CHECK_OK(lt_device_free(q->dev, q->st, q->t));
}

/* All steps of a run, as an engine would show them: the first, then the others together. With a sink records come home in between. */
static void roll(const lt_state_reader *reader, device_run *q, const run *r, bool sink)
{
    if (reader->begin) LT_CHECK_OK(reader->begin(reader->ctx, q->st));
    LT_CHECK_OK(reader->states(reader->ctx, q->st, &(lt_state_view){ .n = 1, .now = q->states, .before = q->states, .t = q->t }));
    if (sink) LT_CHECK_OK(reader->copy(reader->ctx, q->st, 0, 1));
    LT_CHECK_OK(reader->states(reader->ctx, q->st, &(lt_state_view){ .n = r->t - 1, .now = q->states + q->stride, .before = q->states, .t = q->t + 1 }));
    LT_CHECK_OK(reader->end(reader->ctx, q->st));
    LT_CHECK_OK(lt_stream_sync(q->st));
}

static void check(const lt_feature_options *o, const run *r, const char *what)
{
    bool computes;
    lt_device *dev = device(&computes);
    lt_device_features *f;
    sides s = sides_create(o, r);
    LT_CHECK_OK(lt_device_features_create(dev, s.set, r->g, r->m, r->t, &f));
    if (f) {
        device_run q = device_run_create(dev, r);
        lt_state_reader reader = lt_device_features_reader(f);
        for (int again = lt_test_brief(); again < 2; again++) { /* nothing is left over from the run before */
            lt_feature_stream_reset(s.near);
            lt_feature_stream_reset(s.far);
            roll(&reader, &q, r, again);
            if (!computes) continue;
            push_near(&s);
            for (int64_t t = 0; t < r->t; t++) LT_CHECK_OK(lt_device_features_push(f, s.far, t));
            check_exact(&s, lt_device_features_records(f) + (int64_t)(r->t - 1) * r->m, what);
            compare_sides(&s, what);
        }
        device_run_destroy(&q);
        lt_device_features_destroy(f);
    }
    sides_destroy(&s);
}

LT_TEST(features_measured_on_the_device)
{
    static const struct { int m, t, g; } size[] = { { 2, 12, 16 }, { 1, 4, 2 }, { 8, 6, 32 }, { 3, 4, 48 }, { 2, 4, 105 }, { 5, 9, 128 }, { 1, 3, 256 } };
    for (size_t i = 0; i < LT_LEN(size); i++)
        for (int k = 0; k < KINDS; k += lt_test_brief() ? 3 : 1) {
            char what[64];
            lt_feature_options o = default_options();
            run r = lt_test_brief() ? run_create(1, i ? 2 : 10, size[i].g) : run_create(size[i].m, size[i].t, size[i].g);
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

LT_TEST_MAIN()
