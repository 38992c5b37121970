/* The kernels that end residual blocks and steps, run on the CPU thread by thread, against plain loops. Needs a C++
   compiler, no GPU. SPDX-License-Identifier: BSD-3-Clause */
#include "lt_test.h"

#include "base/status.h"
#include "device/backend.h"
#include "guarded_memory.h"
#include "half_maps.h"
#include "host_device.h"
#include "build_kernel.h"

static const lt_backend backend = { .name = "host", .build = host_device_build };
static lt_device device = { .backend = &backend, .id = "host" };

enum { SAMPLES = 2, BLOCKS = 3 };

/* Two maps with norms of their own. */
typedef struct maps { int pixels, channels; uint16_t *map, *skip; float *norm, *skip_norm; } maps;

static size_t map_count(const maps *m) { return (size_t)(SAMPLES * m->pixels * m->channels); }
static size_t norm_floats(const maps *m) { return (size_t)(SAMPLES * m->channels * 2); }

static maps maps_create(int pixels, int channels, bool bf16, uint64_t *seed)
{
    maps m = { .pixels = pixels, .channels = channels };
    m.map = guarded_alloc(map_count(&m) * 2);
    m.skip = guarded_alloc(map_count(&m) * 2);
    m.norm = guarded_alloc(norm_floats(&m) * 4);
    m.skip_norm = guarded_alloc(norm_floats(&m) * 4);
    fill_halves(m.map, map_count(&m), bf16, seed);
    fill_halves(m.skip, map_count(&m), bf16, seed);
    fill_floats(m.norm, norm_floats(&m), 0.2f, 0.7f, seed);
    fill_floats(m.skip_norm, norm_floats(&m), 0.2f, 0.7f, seed);
    return m;
}

static void maps_destroy(maps *m)
{
    guarded_free(m->map, map_count(m) * 2);
    guarded_free(m->skip, map_count(m) * 2);
    guarded_free(m->norm, norm_floats(m) * 4);
    guarded_free(m->skip_norm, norm_floats(m) * 4);
}

static double normalised(const maps *m, const uint16_t *map, const float *norm, size_t i, bool bf16, int act)
{
    size_t channels = (size_t)m->channels, at = 2 * (i / (channels * (size_t)m->pixels) * channels + i % channels);
    return activated(from_half(map[i], bf16) * norm[at] + norm[at + 1], act);
}

LT_TEST(maps_are_joined_in_place)
{
    if (!host_device_possible()) LT_SKIP("no C++ compiler to run kernels with");
    static const struct { bool bf16, skip_norm; int act, pixels, channels; } row[] = { { false, false, 1, 1681, 48 }, { true, true, 3, 1025, 96 }, { false, true, 2, 37, 16 } };
    for (size_t r = 0; r < LT_LEN(row); r++) {
        uint64_t seed = r;
        bool bf16 = row[r].bf16;
        host_device_mix(r % 2);
        lt_kernel *k = NULL;
        maps m = maps_create(row[r].pixels, row[r].channels, bf16, &seed);
        double *want = malloc(map_count(&m) * sizeof *want);
        for (size_t i = 0; i < map_count(&m); i++)
            want[i] = normalised(&m, m.map, m.norm, i, bf16, row[r].act) +
                      (row[r].skip_norm ? normalised(&m, m.skip, m.skip_norm, i, bf16, row[r].act) : from_half(m.skip[i], bf16));
        lt_join_job job = { ANY(m.map), ANY(m.skip), ANY(m.map), { ANY(m.norm), m.channels, m.channels }, { ANY(m.skip_norm), m.channels, m.channels }, m.pixels };
        BUILD_KERNEL(&device, lt_fused_add_join, &(lt_fused_style){ .numbers = (lt_fused_numbers)bf16, .activation = row[r].act }, SAMPLES, BLOCKS, m.channels, row[r].skip_norm, &k);
        if (k) LT_CHECK_OK(k->run(k, NULL, (void *[]){ &job }));
        check_halves(m.map, want, map_count(&m), bf16, true, row[r].skip_norm ? "join of two normalised maps" : "join");
        free(want);
        lt_kernel_destroy(k);
        maps_destroy(&m);
    }
}

/* Cells of eight inputs of every output, as conv.cu has them. */
static double projected(const uint16_t *x, const uint16_t *weights, size_t in_c, size_t out_c, size_t pixel, size_t out, bool bf16)
{
    double sum = 0;
    for (size_t i = 0; i < in_c; i++) sum += from_half(x[pixel * in_c + i], bf16) * from_half(weights[(i / 8 * out_c + out) * 8 + i % 8], bf16);
    return sum;
}

LT_TEST(maps_are_joined_with_a_projection)
{
    if (!host_device_possible()) LT_SKIP("no C++ compiler to run kernels with");
    static const struct { bool bf16; int act, pixels, in_c, out_c; } row[] = { { false, 1, 1681, 48, 96 }, { true, 3, 517, 160, 320 }, { false, 4, 37, 16, 48 }, { false, 0, 390, 128, 256 } };
    for (size_t r = 0; r < LT_LEN(row); r++) {
        uint64_t seed = r;
        bool bf16 = row[r].bf16;
        host_device_mix(r % 2);
        size_t in_c = (size_t)row[r].in_c, out_c = (size_t)row[r].out_c, pixels = (size_t)row[r].pixels;
        lt_kernel *k = NULL;
        maps m = maps_create(row[r].pixels, row[r].out_c, bf16, &seed);
        uint16_t *x = guarded_alloc(SAMPLES * pixels * in_c * 2), *weights = guarded_alloc(in_c * out_c * 2);
        double *want = malloc(map_count(&m) * sizeof *want);
        fill_halves(x, SAMPLES * pixels * in_c, bf16, &seed);
        fill_halves(weights, in_c * out_c, bf16, &seed);
        for (size_t i = 0; i < in_c * out_c; i++) weights[i] = to_half((float)(from_half(weights[i], bf16) / sqrt((double)in_c)), bf16);
        for (size_t i = 0; i < map_count(&m); i++)
            want[i] = normalised(&m, m.map, m.norm, i, bf16, row[r].act) + projected(x, weights, in_c, out_c, i / out_c, i % out_c, bf16);
        lt_project_job job = { ANY(m.map), ANY(x), ANY(weights), ANY(m.map), { ANY(m.norm), m.channels, m.channels }, m.pixels };
        BUILD_KERNEL(&device, lt_fused_add_project, &(lt_fused_style){ .numbers = (lt_fused_numbers)bf16, .activation = row[r].act }, SAMPLES, BLOCKS, row[r].in_c, row[r].out_c, &k);
        if (k) LT_CHECK_OK(k->run(k, NULL, (void *[]){ &job }));
        check_halves(m.map, want, map_count(&m), bf16, true, "join with a projection");
        free(want);
        guarded_free(x, SAMPLES * pixels * in_c * 2);
        guarded_free(weights, in_c * out_c * 2);
        lt_kernel_destroy(k);
        maps_destroy(&m);
    }
}

/* ---- outputs ---- */
/* ACT 0 stands for a map that stays as it is: then only products are rounded, of weights in single precision. */
typedef struct output_case { bool bf16, skip; int noise, act, pixels, channels, real; } output_case;

/* What the 1x1 convolution reads. */
static double last_map(const output_case *c, const maps *m, const float *noise, size_t sample, size_t pixel, size_t channel)
{
    size_t i = (sample * (size_t)m->pixels + pixel) * (size_t)m->channels + channel;
    double x = normalised(m, m->map, m->norm, i, c->bf16, c->act) + (c->skip ? from_half(m->skip[i], c->bf16) : 0);
    size_t row = sample * (size_t)c->real + channel;
    if (c->noise == 3) x += noise[row * (size_t)m->pixels + pixel];
    if (c->noise == 4) x *= noise[row * (size_t)m->pixels + pixel];
    if (c->noise == 5) x *= noise[row];
    return x;
}

static double output_of(const output_case *c, const maps *m, const float *weights, const float *noise, size_t sample, size_t out, size_t pixel)
{
    size_t at = (sample * 3 + out) * (size_t)m->pixels + pixel;
    double o = weights[3 * m->channels + (int)out];
    for (size_t i = 0; i < (size_t)c->real; i++) o += weights[out * (size_t)m->channels + i] * last_map(c, m, noise, sample, pixel, i);
    if (c->noise == 1) o += noise[at];
    if (c->noise == 2) o *= noise[at];
    return o;
}

static size_t noise_count(const output_case *c)
{
    return (size_t)(SAMPLES * (c->noise == 5 ? c->real : (c->noise >= 3 ? c->real : 3) * c->pixels));
}

static void check_output(const output_case *c)
{
    static const float policy[2] = { 0.3f, 0.8f };
    uint64_t seed = 3;
    size_t n = (size_t)(SAMPLES * 3 * c->pixels), n_weights = (size_t)(3 * c->channels + 3);
    maps m = maps_create(c->pixels, c->channels, c->bf16, &seed);
    float *weights = guarded_alloc(n_weights * 4), *state = guarded_alloc(n * 4), *next = guarded_alloc(n * 4), *noise = guarded_alloc(noise_count(c) * 4);
    fill_floats(weights, n_weights, 0, (float)(1 / sqrt(c->real)), &seed);
    for (int i = 0; i < 3 * c->channels; i++)
        if (i % c->channels >= c->real) weights[i] = 0;
    fill_floats(state, n, 0, 1, &seed);
    fill_floats(noise, noise_count(c), 1, 0.5f, &seed);
    for (size_t i = 0; c->act == 0 && i < norm_floats(&m); i++) m.norm[i] = i % 2 == 0;
    lt_kernel *k = NULL;
    uint32_t ended[SAMPLES] = { 0 };
    int64_t step = 7, failed[SAMPLES] = { -1, -1 };
    lt_output_job job = { ANY(m.map), ANY(m.skip), weights, ended, { ANY(m.norm), c->channels, c->channels }, c->pixels, c->real };
    BUILD_KERNEL(&device, lt_fused_add_output, &(lt_fused_style){ .numbers = (lt_fused_numbers)c->bf16, .activation = c->act }, SAMPLES, BLOCKS, c->channels, c->skip, c->noise, &k);
    if (k) LT_CHECK_OK(k->run(k, NULL, (void *[]){ &job, state, noise, (void *)(uintptr_t)policy, next, &step, failed }));
    for (int i = 0; i < SAMPLES; i++) LT_CHECK(failed[i] == -1 && ended[i] == 0);
    double bound = c->act == 0 ? (c->bf16 ? 1e-4 : 2e-6) : c->bf16 ? 0x1p-6 : 0x1p-9, worst = 0; /* of numbers around one */
    for (size_t i = 0; i < n; i++) {
        size_t pixel = i % (size_t)c->pixels, out = i / (size_t)c->pixels % 3, sample = i / (size_t)c->pixels / 3;
        double want = policy[0] * state[i] + policy[1] * output_of(c, &m, weights, noise, sample, out, pixel), d = fabs(next[i] - want);
        if (!(d <= worst)) worst = d;
    }
    if (!(worst <= bound)) LT_TEST_FAIL("noise %d, skip %d, %d channels, bf16 %d: off by %g", c->noise, c->skip, c->channels, c->bf16, worst);
    lt_kernel_destroy(k);
    maps_destroy(&m);
    guarded_free(weights, n_weights * 4);
    guarded_free(state, n * 4);
    guarded_free(next, n * 4);
    guarded_free(noise, noise_count(c) * 4);
}

LT_TEST(outputs_with_every_noise)
{
    if (!host_device_possible()) LT_SKIP("no C++ compiler to run kernels with");
    static const output_case row[] = {
        { false, false, 0, 1, 1225, 16, 16 }, { false, true, 1, 1, 1089, 48, 37 }, { true, false, 2, 1, 1089, 48, 48 },
        { false, true, 3, 4, 1225, 96, 90 },  { true, true, 4, 3, 1033, 96, 96 },  { false, false, 5, 5, 1089, 48, 40 },
        { false, false, 1, 0, 1033, 96, 96 }, { true, false, 2, 0, 1033, 48, 48 },
    };
    for (size_t i = 0; i < LT_LEN(row); i++) {
        host_device_mix(i % 2);
        check_output(&row[i]);
    }
}

/* One number that is not finite ends its realization, and one that is over stays so; the others go on. */
LT_TEST(outputs_end_what_is_not_finite)
{
    if (!host_device_possible()) LT_SKIP("no C++ compiler to run kernels with");
    enum { PIXELS = 1033, CHANNELS = 16, FIELD = 3 * PIXELS };
    static const float policy[2] = { 1, 0.5f };
    static float weights[3 * CHANNELS + 3], state[SAMPLES * FIELD], next[SAMPLES * FIELD];
    static const struct { float bad; int64_t failed_before, failed_after; } row[] = { { INFINITY, -1, 7 }, { NAN, -1, 7 }, { 3e38f, -1, -1 }, { 1, 4, 4 } };
    uint64_t seed = 5;
    maps m = maps_create(PIXELS, CHANNELS, false, &seed);
    lt_kernel *k = NULL;
    BUILD_KERNEL(&device, lt_fused_add_output, &(lt_fused_style){ .activation = 1 }, SAMPLES, BLOCKS, CHANNELS, false, 0, &k);
    for (size_t r = 0; k && r < LT_LEN(row); r++) {
        uint32_t ended[SAMPLES] = { 0 };
        int64_t step = 7, failed[SAMPLES] = { -1, row[r].failed_before };
        lt_output_job job = { ANY(m.map), NULL, weights, ended, { ANY(m.norm), CHANNELS, CHANNELS }, PIXELS, CHANNELS };
        fill_floats(state, SAMPLES * FIELD, 0, 1, &seed);
        state[FIELD + 1234] = row[r].bad;
        LT_CHECK_OK(k->run(k, NULL, (void *[]){ &job, state, state, (void *)(uintptr_t)policy, next, &step, failed }));
        LT_CHECK(failed[0] == -1 && failed[1] == row[r].failed_after && ended[0] == 0 && ended[1] == 0);
        for (int i = 0; i < FIELD; i++) LT_CHECK(isfinite(next[i]) && isnan(next[FIELD + i]) == (row[r].failed_after >= 0));
    }
    lt_kernel_destroy(k);
    maps_destroy(&m);
}

/* Padding gets zeros; a missing gamma is one, a missing beta zero. */
LT_TEST(affine_and_output_weights_are_packed)
{
    if (!host_device_possible()) LT_SKIP("no C++ compiler to run kernels with");
    enum { REAL = 5, WIDTH = 16, OUT = 3 * WIDTH + 3 };
    float block[64], affine[2][WIDTH][2], output[OUT];
    uint64_t seed = 1;
    lt_kernel *k = NULL;
    fill_floats(block, 64, 0, 1, &seed);
    lt_pack_job job[] = {
        { .first = 0, .count = WIDTH, .from = 2, .second = 9, .to = affine[0], .kind = LT_PACK_AFFINE, .outputs = REAL, .scale = 0.5f },
        { .first = WIDTH, .count = WIDTH, .from = -1, .second = -1, .to = affine[1], .kind = LT_PACK_AFFINE, .outputs = REAL, .scale = 1 },
        { .first = 2 * WIDTH, .count = OUT, .from = 20, .second = 50, .to = output, .kind = LT_PACK_OUTPUT, .inputs = REAL, .chunk = WIDTH },
    };
    BUILD_KERNEL(&device, lt_fused_add_pack, &(lt_fused_style){ 0 }, 2, LT_LEN(job), &k);
    if (k) LT_CHECK_OK(k->run(k, NULL, (void *[]){ job, block }));
    for (int i = 0; i < WIDTH; i++) {
        LT_CHECK(affine[0][i][0] == (i < REAL ? 0.5f * block[2 + i] : 0) && affine[0][i][1] == (i < REAL ? block[9 + i] : 0));
        LT_CHECK(affine[1][i][0] == (i < REAL ? 1 : 0) && affine[1][i][1] == 0);
    }
    for (int i = 0; i < 3 * WIDTH; i++) LT_CHECK(output[i] == (i % WIDTH < REAL ? block[20 + i / WIDTH * REAL + i % WIDTH] : 0));
    for (int i = 0; i < 3; i++) LT_CHECK(output[3 * WIDTH + i] == block[50 + i]);
    lt_kernel_destroy(k);
}

LT_TEST_MAIN()
