/* Rollouts on a device with memory of its own. Plans, counts and order are checked on the null device; on the
   first CUDA device, where there is one, states, noise and weights are those of the CPU.
   SPDX-License-Identifier: BSD-3-Clause */
#include "lt_test.h"

#include "base/alloc.h"
#include "base/status.h"
#include "device/null/null.h"
#include "lathe/rng.h"
#include "operators/rollout/noise.h"
#include "operators/rollout/device/parts.h"

#define SEED 21
#define INDEX 6
enum { MAX_STEPS = 40 };

static lt_operator_spec small(lt_operator_kind kind, lt_noise noise)
{
    lt_operator_spec s = lt_operator_defaults(kind);
    s.num_layers = 2, s.base_channels = 6, s.grid = kind == LT_OPERATOR_CNN ? 9 : 8, s.noise = noise, s.noise_scale = 0.3;
    s.encoder_levels = 1, s.afno_blocks = 1, s.modes = 2, s.blocks_per_level = 1;
    if (kind == LT_OPERATOR_UAFNO) s.base_channels = 3;
    return s;
}

static int64_t field_size(const lt_operator_spec *s) { return 3 * (int64_t)s->grid * s->grid; }

static lt_rollout_options options(lt_device *dev, int64_t realizations, int64_t steps)
{
    lt_rollout_options o = lt_rollout_defaults();
    o.device = dev;
    o.realizations = realizations;
    o.steps = steps;
    return o;
}

static lt_device *open_null(void)
{
    lt_device *dev = NULL;
    LT_CHECK_OK(lt_device_open("null", &dev));
    return dev;
}

/* ---- One rollout and what its sink saw ---- */
typedef struct bed {
    lt_operator_spec     spec;
    lt_rollout_options   opt;
    lt_rollout          *r;
    lt_operator_weights *w;
    float               *field, *states;     /* states: [T, n, field] */
    int64_t              n, calls, stop_at;
    int64_t              failed[64];
    int64_t              allocations[MAX_STEPS];
    lt_rollout_result    result;
} bed;

static lt_status store(void *ctx, int64_t t, const float *states, const int64_t *failed)
{
    bed *b = ctx;
    int64_t per_step = b->n * field_size(&b->spec);
    LT_CHECK_EQ_INT(t, b->calls);
    if (t == b->stop_at) return LT_ERR_CANCELLED;
    memcpy(b->states + t * per_step, states, (size_t)per_step * sizeof *states);
    memcpy(b->failed, failed, (size_t)b->n * sizeof *failed);
    b->allocations[t] = lt_alloc_count();
    b->calls++;
    return LT_OK;
}

static void make(bed *b, const lt_operator_spec *s, const lt_rollout_options *o)
{
    *b = (bed){ .result.size = sizeof b->result, .spec = *s, .opt = *o, .stop_at = -1, .n = o->realizations };
    b->field = malloc((size_t)field_size(s) * sizeof *b->field);
    b->states = calloc((size_t)(o->steps * o->realizations * field_size(s)), sizeof *b->states);
    lt_draws d = lt_draws_make(SEED, "test field", 0, 0, 0);
    LT_CHECK_OK(lt_draws_normal_f32(&d, 0, field_size(s), b->field));
    LT_CHECK_OK(lt_operator_weights_create(s, &b->w));
    LT_CHECK_OK(lt_operator_weights_draw(b->w, SEED, INDEX));
    LT_CHECK_OK(lt_rollout_create(s, o, &b->r));
    if (b->r) LT_CHECK_OK(lt_rollout_set_operator(b->r, s, b->w));
}

static void run(bed *b, int64_t realization)
{
    b->n = realization < 0 ? b->opt.realizations : 1;
    b->calls = 0;
    LT_CHECK_OK(lt_rollout_run(b->r, b->field, realization, store, b, &b->result));
}

static void drop(bed *b)
{
    lt_rollout_destroy(b->r);
    lt_operator_weights_destroy(b->w);
    free(b->field);
    free(b->states);
}

/* ---- Plans and counts ---- */
LT_TEST(sequences_are_recorded_once_and_nothing_waits_or_allocates_in_the_loop)
{
    lt_device *dev = open_null();
    lt_operator_spec s = small(LT_OPERATOR_CNN, LT_NOISE_GAUSSIAN);
    lt_rollout_options o = options(dev, 3, 20); /* X_0, two sequences of 8, three steps left over */
    bed b;
    make(&b, &s, &o);
    lt_rollout_info info = lt_rollout_get_info(b.r);
    LT_CHECK_EQ_INT(info.steps_per_launch, 8);
    lt_null_counts before = lt_null_read(dev);
    LT_CHECK_EQ_INT(before.captures, 2);
    run(&b, -1);
    lt_null_counts after = lt_null_read(dev);
    LT_CHECK_EQ_INT(b.calls, 20);
    LT_CHECK_EQ_INT(after.captures, 2);
    LT_CHECK_EQ_INT(after.replays - before.replays, 2);
    LT_CHECK_EQ_INT(after.replayed_launches - before.replayed_launches, 2 * (8 * (info.kernels_per_step - 1) + 1 + 1)); /* noise of eight steps is one launch */
    LT_CHECK_EQ_INT(after.launches - before.launches, 2 + 3 * info.kernels_per_step + 1);
    LT_CHECK_EQ_INT(after.syncs, before.syncs);
    LT_CHECK_EQ_INT(after.allocs, before.allocs);
    LT_CHECK_EQ_INT(after.host_allocs, before.host_allocs);
    LT_CHECK_EQ_INT(after.copies[LT_TRANSFER_H2D] - before.copies[LT_TRANSFER_H2D], 1);           /* the field */
    LT_CHECK_EQ_INT(after.copies[LT_TRANSFER_D2H] - before.copies[LT_TRANSFER_D2H], 20 + 4 + 1);  /* states; failures of four chunks, at the end */
    for (int t = 1; t < 20; t++) LT_CHECK_EQ_INT(b.allocations[t], b.allocations[0]);
    /* The graph's step: a convolution, four passes of its normalisation, one with the activation; then noise and the end. */
    LT_CHECK(info.kernels_per_step <= 6 * 4 + 2);
    run(&b, 1); /* one realization: the same work, less copied */
    LT_CHECK_EQ_INT(lt_null_read(dev).copies[LT_TRANSFER_D2H] - after.copies[LT_TRANSFER_D2H], 20 + 4 + 1);
    drop(&b);
    lt_device_close(dev);
}

LT_TEST(steps_can_be_launched_apart_and_in_sequences_of_any_length)
{
    for (int64_t k = 1; k <= 24; k += k < 3 ? 1 : 7) {
        lt_device *dev = open_null();
        lt_operator_spec s = small(LT_OPERATOR_CNN, LT_NOISE_LAPLACE);
        lt_rollout_options o = options(dev, 2, 20);
        o.steps_per_launch = k;
        o.apart = k == 10;
        bed b;
        make(&b, &s, &o);
        int64_t taken = LT_MIN(k, 19), replays = o.apart ? 0 : 19 / taken;
        run(&b, -1);
        LT_CHECK_EQ_INT(b.calls, 20);
        LT_CHECK_EQ_INT(lt_null_read(dev).replays, replays);
        LT_CHECK_EQ_INT(lt_null_read(dev).captures, LT_MIN(replays, 2));
        drop(&b);
        lt_device_close(dev);
    }
}

LT_TEST(every_kind_of_noise_and_network_is_planned)
{
    lt_device *dev = open_null();
    for (int kind = 0; kind < LT_OPERATOR_KIND_COUNT; kind++)
        for (int noise = 0; noise < LT_NOISE_COUNT; noise++)
            for (int full = 0; full < 2; full++)
                for (int64_t steps = 1; steps <= 12; steps += 11) {
                    lt_operator_spec s = small((lt_operator_kind)kind, (lt_noise)noise);
                    lt_rollout_options o = options(dev, 2, steps);
                    bed b;
                    s.spatial_correlation = 0.2, s.full_noise = full;
                    make(&b, &s, &o);
                    run(&b, -1);
                    LT_CHECK_EQ_INT(b.calls, steps);
                    drop(&b);
                }
    lt_device_close(dev);
}

/* A reader that queues nothing but counts its calls. */
typedef struct calls { int begin, end, before_is_now; int64_t states, brought; } calls;
static lt_status note_begin(void *ctx, lt_stream *st) { (void)st; ((calls *)ctx)->begin++; return LT_OK; }
static lt_status note_end(void *ctx, lt_stream *st) { (void)st; ((calls *)ctx)->end++; return LT_OK; }
static lt_status note_states(void *ctx, lt_stream *st, const lt_state_view *v)
{
    calls *c = ctx;
    LT_CHECK(st && v->t && v->failed);
    c->states += v->n;
    c->before_is_now += v->before == v->now;
    return LT_OK;
}

static lt_status note_bring(void *ctx, lt_stream *home, int64_t t, int64_t n)
{
    calls *c = ctx;
    LT_CHECK(home && n > 0);
    LT_CHECK_EQ_INT(t, c->brought);
    c->brought = t + n;
    return LT_OK;
}

static lt_status count_told(void *ctx, int64_t t, const float *states, const int64_t *failed)
{
    int64_t *told = ctx;
    LT_CHECK(!states && !failed);
    LT_CHECK_EQ_INT(t, *told);
    ++*told;
    return LT_OK;
}

/* Kernels of fused steps, every one that a rollout then builds; no memory, and nothing is queued. */
LT_TEST(kernels_are_prepared_before_there_is_a_rollout)
{
    lt_device *dev = open_null();
    lt_operator_spec s = lt_operator_defaults(LT_OPERATOR_CNN);
    lt_rollout_options o = options(dev, 3, 20);
    s.num_layers = 4, s.base_channels = 16, s.grid = 32, s.noise = LT_NOISE_NONE;
    o.precision = LT_PRECISION_FLOAT16;
    LT_CHECK_OK(lt_device_rollout_prepare(&s, &o));
    lt_null_counts c = lt_null_read(dev);
    LT_CHECK(c.builds > 12 && c.allocs == 0 && c.host_allocs == 0 && c.launches == 0 && c.copies[LT_TRANSFER_H2D] == 0);
    lt_rollout *r = NULL;
    LT_CHECK_OK(lt_rollout_create(&s, &o, &r));
    if (r) LT_CHECK_EQ_INT(c.builds, lt_rollout_get_info(r).kernels_per_step + 1 + 4); /* the one that packs; begin, advance, settle, weights */
    lt_rollout_destroy(r);
    lt_device_close(dev);
}

LT_TEST(readers_see_every_step_and_no_state_travels_without_a_sink)
{
    lt_device *dev = open_null();
    lt_operator_spec s = small(LT_OPERATOR_CNN, LT_NOISE_GAUSSIAN);
    lt_rollout_options o = options(dev, 3, 20);
    calls c = { 0 };
    lt_state_reader reader = { &c, note_begin, note_states, note_end, note_bring };
    bed b;
    make(&b, &s, &o);
    LT_CHECK_OK(lt_rollout_set_reader(b.r, &reader));
    LT_CHECK_EQ_INT(c.states, 16); /* recorded */
    lt_null_counts before = lt_null_read(dev);
    LT_CHECK_OK(lt_rollout_run(b.r, b.field, -1, NULL, NULL, &b.result));
    LT_CHECK_EQ_INT(c.states, 16 + 1 + 3); /* X_0 and what is left over */
    LT_CHECK_EQ_INT(c.before_is_now, 1);
    LT_CHECK(c.begin == 1 && c.end == 1 && c.brought == 0); /* nobody is told of steps */
    lt_null_counts after = lt_null_read(dev);
    LT_CHECK_EQ_INT(after.copies[LT_TRANSFER_D2H] - before.copies[LT_TRANSFER_D2H], 1); /* failures */
    LT_CHECK_EQ_INT(after.syncs, before.syncs);
    int64_t told = 0;
    LT_CHECK_OK(lt_rollout_keep_states(b.r, true));
    LT_CHECK_OK(lt_rollout_run(b.r, b.field, -1, count_told, &told, &b.result));
    LT_CHECK(told == 20 && c.brought == 20);
    LT_CHECK_EQ_INT(lt_null_read(dev).copies[LT_TRANSFER_D2H] - after.copies[LT_TRANSFER_D2H], 1);
    drop(&b);
    o.device = NULL;
    make(&b, &s, &o);
    LT_CHECK_FAILS(lt_rollout_set_reader(b.r, &reader), LT_ERR_ARGUMENT, "memory of their own");
    LT_CHECK_FAILS(lt_rollout_keep_states(b.r, true), LT_ERR_ARGUMENT, "memory of their own");
    drop(&b);
    lt_device_close(dev);
}

LT_TEST(rollouts_run_side_by_side)
{
    lt_device *dev = open_null();
    lt_operator_spec s = small(LT_OPERATOR_CNN, LT_NOISE_GAUSSIAN);
    lt_rollout_options o = options(dev, 2, 30);
    bed b[3];
    for (int i = 0; i < 3; i++) make(&b[i], &s, &o);
    for (int i = 0; i < 3; i++) LT_CHECK_OK(lt_rollout_start(b[i].r, b[i].field, -1, store, &b[i]));
    for (int i = 0; i < 3; i++) {
        LT_CHECK_OK(lt_rollout_wait(b[i].r, &b[i].result));
        LT_CHECK_EQ_INT(b[i].calls, 30);
    }
    for (int i = 0; i < 3; i++) drop(&b[i]);
    lt_device_close(dev);
}

LT_TEST(a_sink_that_refuses_stops_the_run_and_the_next_one_works)
{
    lt_device *dev = open_null();
    lt_operator_spec s = small(LT_OPERATOR_CNN, LT_NOISE_GAUSSIAN);
    lt_rollout_options o = options(dev, 2, 30);
    bed b;
    make(&b, &s, &o);
    b.stop_at = 11;
    LT_CHECK(lt_rollout_run(b.r, b.field, -1, store, &b, &b.result) == LT_ERR_CANCELLED);
    LT_CHECK_EQ_INT(b.calls, 11);
    b.stop_at = -1;
    run(&b, -1);
    LT_CHECK_EQ_INT(b.calls, 30);
    drop(&b);
    lt_device_close(dev);
}

LT_TEST(memory_is_planned_and_refused_before_anything_runs)
{
    lt_device *dev = open_null();
    lt_operator_spec s = small(LT_OPERATOR_CNN, LT_NOISE_GAUSSIAN);
    lt_rollout_options o = options(dev, 7, 5);
    bed b;
    s.grid = 32;
    make(&b, &s, &o);
    int64_t whole = lt_rollout_get_info(b.r).arena_bytes;
    LT_CHECK_EQ_INT(lt_rollout_get_info(b.r).micro_batch, 7);
    drop(&b);
    o.memory_bytes = whole / 2;
    make(&b, &s, &o); /* 4 or fewer at once: the kernels of a step run again for the rest */
    LT_CHECK(lt_rollout_get_info(b.r).micro_batch < 7 && lt_rollout_get_info(b.r).arena_bytes <= whole / 2);
    run(&b, -1);
    LT_CHECK_EQ_INT(b.calls, 5);
    drop(&b);
    o.memory_bytes = 1000;
    lt_rollout *r;
    LT_CHECK_FAILS(lt_rollout_create(&s, &o, &r), LT_ERR_MEMORY, "of 1000 allowed");
    o.memory_bytes = 0;
    o.realizations = 30000;
    LT_CHECK_FAILS(lt_rollout_create(&s, &o, &r), LT_ERR_ARGUMENT, "expected at most 21845");
    o.realizations = 7;
    lt_null_capacity(dev, 100000);
    LT_CHECK_FAILS(lt_rollout_create(&s, &o, &r), LT_ERR_MEMORY, "");
    lt_device_close(dev);
}

LT_TEST(memory_that_cannot_be_page_locked_is_replaced)
{
    lt_device *dev = open_null();
    lt_operator_spec s = small(LT_OPERATOR_CNN, LT_NOISE_GAUSSIAN);
    lt_rollout_options o = options(dev, 2, 12);
    bed b;
    lt_null_refuse_pinning(dev, true);
    make(&b, &s, &o);
    run(&b, -1);
    LT_CHECK_EQ_INT(b.calls, 12);
    drop(&b);
    lt_device_close(dev);
}

/* ---- Against the CPU, on a GPU ---- */
static lt_device *cuda(void)
{
    static lt_device *dev;
    static bool tried;
    if (!tried && lt_device_open("cuda", &dev)) printf("no CUDA device here: %s\n", lt_error_text());
    tried = true;
    return dev;
}

/* What the device holds at p. */
static void fetch(lt_device *dev, const void *p, size_t bytes, void *out)
{
    LT_CHECK_OK(lt_stream_copy(lt_device_stream(dev), out, p, bytes, LT_TRANSFER_D2H, false));
    LT_CHECK_OK(lt_stream_sync(lt_device_stream(dev)));
}

static void compare(const lt_operator_spec *s, lt_rollout_options o, double tolerance, const char *what)
{
    bed near, far;
    o.device = NULL;
    make(&near, s, &o);
    run(&near, -1);
    o.device = cuda();
    make(&far, s, &o);
    run(&far, -1);
    int64_t count = o.steps * o.realizations * field_size(s);
    for (int64_t i = 0; i < count; i++) {
        double a = near.states[i], b = far.states[i];
        if (isnan(a) && isnan(b)) continue;
        if (fabs(a - b) <= tolerance * fmax(1, fabs(a))) continue;
        LT_TEST_FAIL("%s, kind %d, noise %s, t %d, element %d: CPU %.9g, device %.9g", what, (int)s->kind, lt_noise_name(s->noise),
                     (int)(i / (count / o.steps)), (int)(i % (count / o.steps)), a, b);
        break;
    }
    for (int64_t m = 0; m < o.realizations; m++) LT_CHECK_EQ_INT(far.failed[m], near.failed[m]);
    LT_CHECK_EQ_INT(far.result.status, near.result.status);
    LT_CHECK_EQ_INT(far.result.step, near.result.step);
    drop(&near);
    drop(&far);
}

LT_TEST(states_are_those_of_the_cpu)
{
    if (!cuda()) LT_SKIP("no CUDA device");
    for (int kind = 0; kind < LT_OPERATOR_KIND_COUNT; kind++)
        for (int noise = 0; noise < LT_NOISE_COUNT; noise++)
            for (int full = 0; full < 2; full++) {
                lt_operator_spec s = small((lt_operator_kind)kind, (lt_noise)noise);
                lt_rollout_options o = options(NULL, 3, 7);
                if (lt_test_brief() && full != noise % 2) continue;
                s.full_noise = full, s.spatial_correlation = 0.2, s.policy = LT_POLICY_CONVEX;
                s.schedule = noise % 2 ? LT_SCHEDULE_PERIODIC : LT_SCHEDULE_ANNEALING, s.schedule_period = 5;
                o.steps_per_launch = 2; /* sequences, and a step left over for T - 1 = 6 at 4 */
                compare(&s, o, 2e-4, "noise");
                o.steps_per_launch = 4;
                if (!lt_test_brief()) compare(&s, o, 2e-4, "longer sequences");
            }
}

LT_TEST(policies_normalisations_and_snapshots_are_those_of_the_cpu)
{
    if (!cuda()) LT_SKIP("no CUDA device");
    for (int norm = 0; norm < LT_NORM_COUNT; norm++) {
        lt_operator_spec s = small(LT_OPERATOR_CNN, LT_NOISE_GAUSSIAN);
        s.normalization = (lt_normalization)norm, s.policy = (lt_policy)(norm % LT_POLICY_COUNT), s.num_layers = 4, s.grid = 16;
        s.circular_padding = norm == 1, s.tanh_gelu = norm == 2, s.activation = (lt_activation)(norm % LT_ACT_COUNT);
        compare(&s, options(NULL, 2, 4), 5e-4, "network");
        compare(&s, options(NULL, 2, 1), 5e-4, "snapshot");
    }
}

LT_TEST(post_processing_and_failures_are_those_of_the_cpu)
{
    if (!cuda()) LT_SKIP("no CUDA device");
    for (int post = 0; post < LT_POST_COUNT; post++) {
        lt_operator_spec s = small(LT_OPERATOR_CNN, LT_NOISE_GAUSSIAN);
        lt_rollout_options o = options(NULL, 3, 5);
        o.post = (lt_post)post, o.clamp = post != LT_POST_MINMAX, o.clamp_lo = -0.5, o.clamp_hi = 0.75;
        compare(&s, o, 5e-4, "post");
    }
    lt_operator_spec s = small(LT_OPERATOR_CNN, LT_NOISE_GAUSSIAN);
    s.policy = LT_POLICY_AUTOREGRESSIVE, s.normalization = LT_NORM_NONE, s.activation = LT_ACT_NONE, s.noise_scale = 1e12;
    compare(&s, options(NULL, 3, 30), 1e-2, "overflow"); /* grows until it is infinite, at a step that noise decides */
}

LT_TEST(noise_and_weights_have_the_bits_of_the_cpu)
{
    if (!cuda()) LT_SKIP("no CUDA device");
    for (int kind = 0; kind < LT_OPERATOR_KIND_COUNT; kind++)
        for (int noise = 1; noise < LT_NOISE_COUNT; noise++)
            for (int correlated = 0; correlated < 2; correlated++) {
                lt_operator_spec s = small((lt_operator_kind)kind, (lt_noise)noise);
                lt_noise_maker maker;
                bed b;
                s.full_noise = true, s.spatial_correlation = correlated ? 0.2 : 0;
                lt_rollout_options o = options(cuda(), 3, 2); /* one step: its noise stays on the device */
                make(&b, &s, &o);
                run(&b, -1);
                const lt_device_rollout *e = b.r->on_device;
                LT_CHECK_OK(lt_noise_create(&s, &maker));
                lt_noise_set(&maker, &s, b.w);
                size_t count = (size_t)(3 * maker.count);
                float *want = malloc(count * sizeof *want), *got = malloc(count * sizeof *got);
                LT_CHECK_OK(lt_noise_draw(&maker, lt_pool_shared(), 1, 1, 0, 3, want));
                fetch(cuda(), e->noise, count * sizeof *got, got);
                if (!maker.at.correlated) LT_CHECK(memcmp(got, want, count * sizeof *got) == 0);
                for (size_t i = 0; maker.at.correlated && i < count; i++) LT_CHECK_NEAR(got[i], want[i], 1e-5);
                float *weights = malloc((size_t)b.w->network.n_floats * sizeof *weights);
                fetch(cuda(), e->weights, (size_t)b.w->network.n_floats * sizeof *weights, weights);
                for (int i = 0; i < b.w->network.n_tensors; i++) {
                    const lt_network_tensor *t = &b.w->network.tensor[i];
                    LT_CHECK(memcmp(weights + t->offset, b.w->block + t->offset, (size_t)t->count * sizeof *weights) == 0);
                }
                free(want);
                free(got);
                free(weights);
                lt_noise_release(&maker);
                drop(&b);
            }
}

LT_TEST(runs_repeat_to_the_last_bit_however_they_are_launched)
{
    if (!cuda()) LT_SKIP("no CUDA device");
    const int64_t steps = lt_test_brief() ? 10 : 20;
    for (int p = 0; p < LT_PRECISION_COUNT; p++) {
        lt_operator_spec s = small(LT_OPERATOR_CNN, LT_NOISE_GAUSSIAN);
        s.grid = 16, s.base_channels = 16;
        lt_rollout_options o = options(cuda(), 3, steps);
        bed a, b;
        o.precision = (lt_precision)p;
        make(&a, &s, &o);
        run(&a, -1);
        o.apart = true;
        make(&b, &s, &o);
        run(&b, -1);
        if (!lt_test_brief()) run(&b, -1);
        LT_CHECK(memcmp(a.states, b.states, (size_t)(steps * 3 * field_size(&s)) * sizeof *a.states) == 0);
        run(&b, 2); /* one of them */
        for (int t = 0; t < steps; t++)
            LT_CHECK(memcmp(b.states + t * field_size(&s), a.states + (t * 3 + 2) * field_size(&s), (size_t)field_size(&s) * sizeof *a.states) == 0);
        drop(&a);
        drop(&b);
    }
}

LT_TEST_MAIN()
