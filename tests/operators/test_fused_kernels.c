/* The kernels of fused steps, run on the CPU thread by thread, against plain loops. Needs a C++ compiler, no GPU.
   SPDX-License-Identifier: BSD-3-Clause */
#include "lt_test.h"

#include "base/status.h"
#include "device/backend.h"
#include "guarded_memory.h"
#include "half_maps.h"
#include "host_device.h"
#include "build_kernel.h"

static const lt_backend backend = { .name = "host", .build = host_device_build };
static lt_device device = { .backend = &backend, .id = "host" };

static void launch(const lt_kernel *k, void *const *arg) { LT_CHECK_OK(k->run(k, NULL, arg)); }

/* ---- convolutions ---- */
typedef struct conv_case {
    lt_conv_source source;
    lt_conv_result result;
    int  kernel, stem, in_c, out_c, grid, samples;
    bool bf16, wrap;
    int  act, group, pairs;       /* pairs: of blocks */
    int  finishers, c_stages;     /* 0: as chosen */
} conv_case;

typedef struct conv_bench {
    conv_case     c;
    lt_conv_shape s;
    int           tiles_wide, inputs;
    size_t        map_in, map_out, sums_bytes, norm_in, norm_out;
    uint16_t     *source, *result;
    float        *state, *weights, *norms_in, *affine, *sums, *norms;
    uint32_t     *counts;
    void         *packed;
} conv_bench;

static bool from_state(const conv_bench *b) { return b->c.source == LT_SOURCE_STATE; }
static size_t pixels(const conv_bench *b) { return (size_t)(b->c.grid * b->c.grid); }
static size_t state_floats(const conv_bench *b) { return (size_t)b->c.samples * 3 * pixels(b); }
static size_t weight_count(const conv_bench *b) { return (size_t)(b->s.in_c * b->s.out_c * b->s.kernel * b->s.kernel); }

static void conv_create(const conv_case *c, conv_bench *b)
{
    *b = (conv_bench){ .c = *c, .tiles_wide = (c->grid + 15) / 16, .inputs = c->source == LT_SOURCE_STATE ? 3 * c->stem * c->stem : c->in_c };
    b->s = (lt_conv_shape){ .source = c->source, .result = c->result, .kernel = c->kernel, .stem = c->stem, .in_c = c->in_c, .out_c = c->out_c };
    LT_CHECK(lt_conv_shape_choose(&b->s));
    if (c->finishers) b->s.finishers = c->finishers;
    if (c->c_stages) b->s.c_stages = c->c_stages;
    b->map_in = (size_t)c->samples * pixels(b) * (size_t)c->in_c, b->map_out = (size_t)c->samples * pixels(b) * (size_t)c->out_c;
    b->sums_bytes = (size_t)(c->samples * b->tiles_wide * b->tiles_wide * c->out_c) * 8;
    b->norm_in = (size_t)(c->samples * c->in_c) * 2, b->norm_out = (size_t)(c->samples * c->out_c) * 2;
    b->source = guarded_alloc(b->map_in * 2);
    b->result = guarded_alloc(b->map_out * 2);
    b->state = guarded_alloc(state_floats(b) * 4);
    b->weights = guarded_alloc((size_t)(b->inputs * c->out_c * c->kernel * c->kernel) * 4);
    b->packed = guarded_alloc(weight_count(b) * 2);
    b->norms_in = guarded_alloc(b->norm_in * 4);
    b->affine = guarded_alloc((size_t)c->out_c * 8);
    b->sums = guarded_alloc(b->sums_bytes);
    b->norms = guarded_alloc(b->norm_out * 4);
    b->counts = guarded_alloc((size_t)c->samples * 4);
}

static void conv_destroy(conv_bench *b)
{
    guarded_free(b->source, b->map_in * 2);
    guarded_free(b->result, b->map_out * 2);
    guarded_free(b->state, state_floats(b) * 4);
    guarded_free(b->weights, (size_t)(b->inputs * b->c.out_c * b->c.kernel * b->c.kernel) * 4);
    guarded_free(b->packed, weight_count(b) * 2);
    guarded_free(b->norms_in, b->norm_in * 4);
    guarded_free(b->affine, (size_t)b->c.out_c * 8);
    guarded_free(b->sums, b->sums_bytes);
    guarded_free(b->norms, b->norm_out * 4);
    guarded_free(b->counts, (size_t)b->c.samples * 4);
}

static void conv_fill(conv_bench *b)
{
    const conv_case *c = &b->c;
    uint64_t seed = 7;
    fill_halves(b->source, b->map_in, c->bf16, &seed);
    fill_floats(b->state, state_floats(b), 0, 1, &seed);
    fill_floats(b->weights, (size_t)(b->inputs * c->out_c * c->kernel * c->kernel), 0, (float)(1 / sqrt(b->inputs * c->kernel * c->kernel)), &seed);
    fill_floats(b->norms_in, b->norm_in, 0.2f, 0.7f, &seed);
    fill_floats(b->affine, (size_t)c->out_c * 2, 0.5f, 0.5f, &seed);
    memset(b->counts, 0, (size_t)c->samples * 4);
}

/* Weights by pack.cu. */
static void conv_pack(conv_bench *b)
{
    lt_fused_style style = { .numbers = (lt_fused_numbers)b->c.bf16 };
    lt_kernel *k = NULL;
    lt_pack_job job = { .count = (int64_t)weight_count(b) / 2, .second = -1, .to = b->packed, .kind = LT_PACK_CONV, .inputs = b->inputs, .outputs = b->c.out_c,
                        .taps = b->s.kernel * b->s.kernel, .chunk = b->s.chunk, .tile = b->s.tile_n, .chunks = b->s.in_c / b->s.chunk, .cell = 8 };
    BUILD_KERNEL(&device, lt_fused_add_pack, &style, 3, 1, &k);
    launch(k, (void *[]){ &job, b->weights });
    lt_kernel_destroy(k);
}

static lt_conv_job conv_job(const conv_bench *b)
{
    const conv_case *c = &b->c;
    return (lt_conv_job){ .source = ANY(b->source), .weights = ANY(b->packed), .result = ANY(b->result), .norm = { ANY(b->norms_in), c->in_c, c->in_c },
        .own = { ANY(b->sums), ANY(b->affine), ANY(b->norms), ANY(b->counts), b->tiles_wide * b->tiles_wide, c->out_c, c->out_c, c->group, (float)pixels(b) },
        .samples = c->samples, .grid = c->grid, .tiles_wide = b->tiles_wide, .in_c = c->in_c, .out_c = c->out_c, .chunks = c->in_c / b->s.chunk, .blocks_n = b->s.blocks_n };
}

/* What the convolution reads, in double precision: [samples, grid, grid, inputs]. */
static double *read_source(const conv_bench *b)
{
    const conv_case *c = &b->c;
    size_t channels = from_state(b) ? 3 : (size_t)c->in_c;
    double *x = malloc((size_t)c->samples * pixels(b) * channels * sizeof *x);
    for (size_t s = 0; s < (size_t)c->samples; s++)
        for (size_t p = 0; p < pixels(b); p++)
            for (size_t i = 0; i < channels; i++) {
                size_t at = (s * pixels(b) + p) * channels + i;
                const float *norm = &b->norms_in[2 * (s * channels + i)];
                if (from_state(b)) x[at] = from_half(to_half(b->state[(s * channels + i) * pixels(b) + p], c->bf16), c->bf16);
                else x[at] = from_half(b->source[at], c->bf16);
                if (c->source == LT_SOURCE_NORMALISED) x[at] = activated(x[at] * norm[0] + norm[1], c->act);
            }
    return x;
}

static double *convolve(const conv_bench *b)
{
    const conv_case *c = &b->c;
    int kernel = from_state(b) ? c->stem : c->kernel, channels = from_state(b) ? 3 : c->in_c, taps = kernel * kernel, g = c->grid;
    double *x = read_source(b), *y = calloc(b->map_out, sizeof *y), *w = malloc((size_t)(taps * channels * c->out_c) * sizeof *w);
    for (int o = 0; o < c->out_c; o++)
        for (int i = 0; i < channels; i++)
            for (int t = 0; t < taps; t++) w[(t * channels + i) * c->out_c + o] = from_half(to_half(b->weights[(o * channels + i) * taps + t], c->bf16), c->bf16);
    for (int s = 0; s < c->samples; s++)
        for (int p = 0; p < g * g; p++)
            for (int t = 0; t < taps; t++) {
                int yy = p / g + t / kernel - kernel / 2, xx = p % g + t % kernel - kernel / 2;
                if (c->wrap) yy = (yy + g) % g, xx = (xx + g) % g;
                if (yy < 0 || yy >= g || xx < 0 || xx >= g) continue;
                const double *from = x + (size_t)((s * g + yy) * g + xx) * (size_t)channels;
                double *to = y + (size_t)(s * g * g + p) * (size_t)c->out_c;
                for (int i = 0; i < channels; i++)
                    for (int o = 0; o < c->out_c; o++) to[o] += from[i] * w[(t * channels + i) * c->out_c + o];
            }
    free(x);
    free(w);
    return y;
}

/* From the map as it was written. */
static void check_norms(const conv_bench *b, const char *what)
{
    const conv_case *c = &b->c;
    size_t out = (size_t)c->out_c, group = (size_t)c->group;
    for (size_t s = 0; s < (size_t)c->samples; s++) {
        LT_CHECK_EQ_INT(b->counts[s], 0);
        for (size_t first = 0; first < out; first += group) {
            double mean = 0, square = 0, n = (double)(pixels(b) * group);
            for (size_t p = 0; p < pixels(b); p++)
                for (size_t i = first; i < first + group; i++) {
                    double v = from_half(b->result[(s * pixels(b) + p) * out + i], c->bf16);
                    mean += v / n, square += v * v / n;
                }
            for (size_t i = first; i < first + group; i++) {
                double scale = b->affine[2 * i] / sqrt(square - mean * mean + 1e-5), shift = b->affine[2 * i + 1] - mean * scale;
                const float *got = &b->norms[2 * (s * out + i)];
                if (!(fabs(got[0] - scale) <= 1e-4 * fabs(scale) && fabs(got[1] - shift) <= 1e-4 * (fabs(shift) + fabs(mean * scale) + fabs(scale) * 0.01)))
                    LT_TEST_FAIL("%s: norm of sample %zu, channel %zu is %g, %g, expected %g, %g", what, s, i, got[0], got[1], scale, shift);
            }
        }
    }
}

static void describe(const conv_bench *b, char *what, size_t size)
{
    const conv_case *c = &b->c;
    const lt_conv_shape *s = &b->s;
    snprintf(what, size, "%d samples, grid %d, %d to %d channels, kernel %d, source %d%s%s: chunk %d, tile %d, stages %d %d %d, %d finishers", c->samples, c->grid, c->in_c, c->out_c,
             from_state(b) ? c->stem : c->kernel, c->source, c->bf16 ? ", bf16" : "", c->wrap ? ", wrapped" : "", s->chunk, s->tile_n, s->a_stages, s->b_stages, s->c_stages, s->finishers);
}

/* In both orders of threads, blocks and asynchronous work: they give the same bits. */
static void check_conv(const conv_case *c)
{
    char what[160];
    conv_bench b;
    lt_kernel *k = NULL;
    lt_fused_style style = { .numbers = (lt_fused_numbers)c->bf16, .wrap = c->wrap, .activation = c->act };
    conv_create(c, &b);
    conv_fill(&b);
    conv_pack(&b);
    describe(&b, what, sizeof what);
    BUILD_KERNEL(&device, lt_fused_add_conv, &style, &b.s, 2 * (unsigned)c->pairs, 0, &k);
    double *want = convolve(&b);
    uint16_t *before = malloc(b.map_out * 2);
    lt_conv_job job = conv_job(&b);
    for (int mixed = 0; k && mixed < 2; mixed++) {
        memset(b.result, 0x7e, b.map_out * 2);
        memset(b.norms, 0x7e, b.norm_out * 4);
        host_device_mix(mixed);
        launch(k, (void *[]){ &job, b.state });
        if (mixed) LT_CHECK(!memcmp(before, b.result, b.map_out * 2));
        memcpy(before, b.result, b.map_out * 2);
        check_halves(b.result, want, b.map_out, c->bf16, c->source == LT_SOURCE_NORMALISED, what);
        if (c->result == LT_RESULT_NORMS) check_norms(&b, what);
    }
    free(before);
    free(want);
    lt_kernel_destroy(k);
    conv_destroy(&b);
}

static void check_convs(const conv_case *row, size_t n)
{
    for (size_t i = 0; i < n; i++) check_conv(&row[i]);
}

/* Grids of 40 end inside a tile; three samples of them are an odd number of tiles. */
LT_TEST(plain_maps_are_convolved)
{
    if (!host_device_possible()) LT_SKIP("no C++ compiler to run kernels with");
    static const conv_case row[] = {
        { LT_SOURCE_MAP, LT_RESULT_MAP, .kernel = 3, .stem = 1, .in_c = 16, .out_c = 16, .grid = 32, .samples = 1, .pairs = 1 },
        { LT_SOURCE_MAP, LT_RESULT_MAP, .kernel = 1, .stem = 1, .in_c = 160, .out_c = 160, .grid = 40, .samples = 1, .pairs = 3 },
        { LT_SOURCE_MAP, LT_RESULT_NORMS, .kernel = 5, .stem = 1, .in_c = 48, .out_c = 64, .grid = 40, .samples = 1, .bf16 = true, .wrap = true, .group = 1, .pairs = 2 },
        { LT_SOURCE_MAP, LT_RESULT_NORMS, .kernel = 3, .stem = 1, .in_c = 64, .out_c = 48, .grid = 40, .samples = 3, .group = 3, .pairs = 4, .finishers = 4, .c_stages = 1 },
    };
    check_convs(row, LT_LEN(row));
}

LT_TEST(maps_are_normalised_and_activated_on_the_way)
{
    if (!host_device_possible()) LT_SKIP("no C++ compiler to run kernels with");
    static const conv_case row[] = {
        { LT_SOURCE_NORMALISED, LT_RESULT_NORMS, .kernel = 3, .stem = 1, .in_c = 64, .out_c = 64, .grid = 32, .samples = 3, .act = 1, .group = 1, .pairs = 2 },
        { LT_SOURCE_NORMALISED, LT_RESULT_NORMS, .kernel = 3, .stem = 1, .in_c = 128, .out_c = 160, .grid = 40, .samples = 1, .wrap = true, .act = 1, .group = 8, .pairs = 3 },
        { LT_SOURCE_NORMALISED, LT_RESULT_NORMS, .kernel = 5, .stem = 1, .in_c = 48, .out_c = 16, .grid = 40, .samples = 3, .bf16 = true, .act = 1, .group = 16, .pairs = 5 },
        { LT_SOURCE_NORMALISED, LT_RESULT_MAP, .kernel = 1, .stem = 1, .in_c = 16, .out_c = 128, .grid = 32, .samples = 1, .bf16 = true, .wrap = true, .act = 4, .pairs = 1 },
    };
    check_convs(row, LT_LEN(row));
}

LT_TEST(states_are_convolved)
{
    if (!host_device_possible()) LT_SKIP("no C++ compiler to run kernels with");
    static const conv_case row[] = {
        { LT_SOURCE_STATE, LT_RESULT_NORMS, .kernel = 1, .stem = 3, .in_c = 32, .out_c = 64, .grid = 40, .samples = 3, .group = 2, .pairs = 3 },
        { LT_SOURCE_STATE, LT_RESULT_NORMS, .kernel = 1, .stem = 5, .in_c = 96, .out_c = 48, .grid = 32, .samples = 1, .bf16 = true, .wrap = true, .group = 1, .pairs = 2 },
        { LT_SOURCE_STATE, LT_RESULT_MAP, .kernel = 1, .stem = 5, .in_c = 96, .out_c = 16, .grid = 40, .samples = 1, .pairs = 1 },
    };
    check_convs(row, LT_LEN(row));
}

LT_TEST_MAIN()
