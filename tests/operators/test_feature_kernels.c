/* The text of the feature kernels: compiled for the architectures lathe is made for, and run on the CPU, thread by
   thread, against the CPU's own loops. Needs no GPU. SPDX-License-Identifier: BSD-3-Clause */
#include "compile_kernels.h"
#include "feature_sides.h"
#include "guarded_memory.h"
#include "host_library.h"

#include "base/alloc.h"
#include "base/status.h"
#include "device/cuda/compile.h"
#include "device/cuda/library.h"
#include "operators/features/device/kernels.h"
#include "operators/features/device/device.h"

/* ---- Kernels as a library of the CPU -------------------------------------------------------------------- */
typedef void run_launch(int which, unsigned blocks, unsigned threads, size_t shared_bytes, int backwards, void **arg);
typedef struct host_kernels { void *library; run_launch *launch; } host_kernels;

/* False: there is no C++ compiler, or (a failed check) it refuses the text. */
static bool compile_host(const lt_feature_shape *shape, host_kernels *out)
{
    lt_text text = { 0 };
    *out = (host_kernels){ 0 };
    if (!host_library_possible()) return false;
    lt_feature_kernels_text(shape, &text);
    LT_CHECK(!text.failed);
    if (!text.failed) out->library = host_library_open(text.s, "", "feature_kernels_host.cc");
    lt_text_free(&text);
    LT_CHECK(out->library != NULL);
    if (out->library) *(void **)&out->launch = dlsym(out->library, "run_launch");
    return out->launch != NULL;
}

/* ---- Features by them ------------------------------------------------------------------------------------ */
typedef struct bench { lt_feature_shape shape; void *buffer[LT_FEATURE_BUFFERS]; } bench;

static size_t buffer_bytes(const bench *b, int i)
{
    size_t state = (size_t)lt_state_stride(b->shape.realizations, b->shape.grid) * sizeof(float);
    if (i == LT_FEATURE_STEP) return (size_t)b->shape.together * sizeof(int64_t);
    return i == LT_FEATURE_NOW ? (size_t)b->shape.together * state : i == LT_FEATURE_BEFORE ? state : b->shape.bytes[i];
}

static void bench_create(const lt_field_plan *plan, const run *r, bench *b)
{
    lt_feature_shape_make(plan, r->m, r->t, &b->shape);
    for (int i = 0; i < LT_FEATURE_BUFFERS; i++) b->buffer[i] = guarded_alloc(buffer_bytes(b, i));
    lt_feature_tables_fill(plan, b->buffer);
}

static void bench_destroy(bench *b)
{
    for (int i = 0; i < LT_FEATURE_BUFFERS; i++) guarded_free(b->buffer[i], buffer_bytes(b, i));
}

static void measure(const host_kernels *k, bench *b, int states, int backwards)
{
    for (int i = 0; i < LT_FEATURE_LAUNCHES; i++) {
        void *arg[LT_FEATURE_MAX_ARGS];
        for (int a = 0; a < lt_feature_launches[i].n_args; a++) arg[a] = b->buffer[lt_feature_launches[i].arg[a]];
        k->launch(i, (unsigned)states * b->shape.blocks[i], (unsigned)b->shape.threads, b->shape.shared_bytes[i], backwards, arg);
    }
}

static void gather_some(const sides *s, bench *b, int t, int states)
{
    int64_t stride = lt_state_stride(s->r->m, s->r->g);
    gather_states(s->r, t ? t - 1 : 0, b->buffer[LT_FEATURE_BEFORE]);
    for (int i = 0; i < states; i++) {
        gather_states(s->r, t + i, (float *)b->buffer[LT_FEATURE_NOW] + i * stride);
        ((int64_t *)b->buffer[LT_FEATURE_STEP])[i] = t + i;
    }
}

/* The first state alone, then two together and so on, alone and together. Threads run in order and, once, in reverse: a missing
   barrier would show. */
static void push_far(sides *s, const host_kernels *k, bench *b, const char *what)
{
    size_t bytes = 2 * (size_t)s->r->m * sizeof(lt_state_record);
    lt_state_record *records = b->buffer[LT_FEATURE_RECORDS], *again = malloc(bytes);
    for (int t = 0, states = 1; t < s->r->t; t += states, states = LT_MIN(3 - states, s->r->t - t)) {
        gather_some(s, b, t, states);
        measure(k, b, states, 0);
        if (t != 1) continue;
        memcpy(again, records + t * s->r->m, bytes);
        measure(k, b, states, 1);
        if (memcmp(again, records + t * s->r->m, bytes)) LT_TEST_FAIL("%s: the order of threads changes the record", what);
    }
    for (int t = 0; t < s->r->t; t++) LT_CHECK_OK(lt_feature_stream_push_records(s->far, t, records + t * s->r->m));
    check_exact(s, records + (s->r->t - 1) * s->r->m, what);
    free(again);
}

static void check_runs(const lt_feature_options *o, int m, int t, int g, void (*change)(run *r, int which))
{
    run first = run_create(m, t, g);
    lt_feature_set *set;
    lt_field_plan *plan;
    host_kernels kernels;
    lt_feature_shape shape;
    LT_CHECK_OK(lt_feature_set_create(o, false, &set));
    LT_CHECK_OK(lt_field_plan_create(set, g, &plan));
    lt_feature_shape_make(plan, m, t, &shape);
    bool there = compile_host(&shape, &kernels);
    for (int which = 0; there && which < KINDS; which++) {
        char what[64];
        bench b;
        snprintf(what, sizeof what, "%dx%d kind %d%s", g, g, which, change ? " changed" : "");
        fill(&first, (kind)which, (uint64_t)(g + which));
        if (change) change(&first, which);
        sides s = sides_create(o, &first);
        bench_create(plan, &first, &b);
        push_near(&s);
        push_far(&s, &kernels, &b, what);
        compare_sides(&s, what);
        bench_destroy(&b);
        sides_destroy(&s);
    }
    if (kernels.library) dlclose(kernels.library);
    lt_field_plan_destroy(plan);
    lt_feature_set_destroy(set);
    free(first.x);
    if (!there) LT_SKIP("no C++ compiler to run kernels with");
}

LT_TEST(kernels_on_the_cpu_give_what_its_loops_give)
{
    lt_feature_options o = default_options();
    check_runs(&o, 2, 4, 16, NULL);
    o.corrected = true;
    check_runs(&o, 1, 3, 64, NULL);
}

/* No power of two, odd, several slices with a short last one; other numbers of bins and bands, a wider filter. */
LT_TEST(any_grid_and_options)
{
    lt_feature_options o = default_options();
    o.corrected = true;
    o.num_fft_scales = 10;
    o.mi_num_bins = 32;
    o.entropy_num_bins = 128;
    o.gaussian_sigma = 5;
    check_runs(&o, 1, 3, 21, NULL);
    o = default_options();
    o.gaussian_sigma = 0.5;
    check_runs(&o, 1, 3, 2, NULL);
}

/* Flat, huge, tiny, with a range that float32 cannot hold; numbers of which most lie in one bucket; -0. */
static void make_hard(run *r, int which)
{
    int cells = r->g * r->g;
    for (int64_t i = 0; i < (int64_t)r->m * r->t * 3 * cells; i++) {
        float *v = &r->x[i];
        if (which == 0) *v = i / cells % 3 == 0 ? 0 : i / cells % 3 == 1 ? -2.5f : *v * 3e36f;
        if (which == 1) *v = i / cells % 3 == 0 ? *v * 1e-42f : i / cells % 3 == 1 ? (i % 3 ? 3e38f : -3e38f) : i % cells == 1 ? 1e30f : *v;
        if (which == 2) *v = i % 2 ? -0.0f : i % 7 ? 0.0f : -*v;
        if (which == 3) *v = (float)ldexp((double)*v, (int)(i % 120) - 60);
    }
}

LT_TEST(hard_fields)
{
    lt_feature_options o = default_options();
    check_runs(&o, 1, 3, 32, make_hard);
}

static void fail_one(run *r, int which)
{
    for (int t = 1 + which % 2; t < r->t; t++)
        for (int i = 0; i < 3 * r->g * r->g; i++) state_of(r, 0, t)[i] = which < 2 ? NAN : INFINITY;
}

LT_TEST(failed_realizations)
{
    lt_feature_options o = default_options();
    check_runs(&o, 2, 4, 12, fail_one);
}

/* ---- For devices ---------------------------------------------------------------------------------------------- */
LT_TEST(text_compiles_for_every_architecture)
{
    static const int grids[] = { 48, 256 };
    OPEN_OR_SKIP();
    lt_feature_options o = default_options();
    lt_feature_set *set;
    LT_CHECK_OK(lt_feature_set_create(&o, false, &set));
    for (size_t i = 0; i < LT_LEN(grids); i++) {
        lt_field_plan *plan;
        lt_feature_shape shape;
        lt_text text = { 0 };
        LT_CHECK_OK(lt_field_plan_create(set, grids[i], &plan));
        lt_feature_shape_make(plan, 5, 10, &shape);
        for (int k = 0; k < LT_FEATURE_LAUNCHES; k++) LT_CHECK(shape.shared_bytes[k] <= (size_t)99 << 10);
        lt_feature_kernels_text(&shape, &text);
        compile_kernels(&(lt_kernel_key){ .name = "features", .source = text.s, .entry = "feature_slices" });
        lt_text_free(&text);
        lt_field_plan_destroy(plan);
    }
    lt_feature_set_destroy(set);
}

LT_TEST(what_stays_on_the_cpu_says_why)
{
    lt_feature_options o = default_options();
    lt_feature_set *set;
    char why[160];
    LT_CHECK_OK(lt_feature_set_create(&o, false, &set));
    LT_CHECK(lt_device_features_fit(set, 128, 5, 500, why) && !why[0]);
    LT_CHECK(!lt_device_features_fit(set, 121, 5, 500, why) && strstr(why, "prime factor above 7"));
    LT_CHECK(!lt_device_features_fit(set, 512, 5, 500, why) && strstr(why, "up to 256"));
    LT_CHECK(!lt_device_features_fit(set, 64, 1000, 5000, why) && strstr(why, "256 MiB"));
    lt_feature_set_destroy(set);
    static const char *const on[] = { "spatial.include_histogram", "cross_channel.include_coherence", "multiscale.enabled" };
    for (size_t i = 0; i < LT_LEN(on); i++) {
        o = default_options();
        LT_CHECK_OK(lt_options_set(lt_feature_options_table(), on[i], "true", &o));
        LT_CHECK_OK(lt_feature_set_create(&o, false, &set));
        LT_CHECK(!lt_device_features_fit(set, 64, 2, 10, why) && strstr(why, i == 1 ? "coherence" : "optional"));
        lt_feature_set_destroy(set);
    }
}

LT_TEST_MAIN()
