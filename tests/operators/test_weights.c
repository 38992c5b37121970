/* Weights: their distribution, their names and shapes, and that they depend on (seed, index) alone.
   SPDX-License-Identifier: BSD-3-Clause */
#include "lt_test.h"

#include "base/alloc.h"
#include "lathe/npy.h"
#include "lathe/rng.h"
#include "operators/rollout/noise_loops.h"
#include "operators/network/weights.h"

#include <unistd.h>

static lt_operator_weights *drawn(const lt_operator_spec *s, uint64_t seed, int64_t index)
{
    lt_operator_weights *w = NULL;
    LT_CHECK_OK(lt_operator_weights_create(s, &w));
    if (w) LT_CHECK_OK(lt_operator_weights_draw(w, seed, index));
    return w;
}

static lt_operator_spec cnn(int layers, int channels)
{
    lt_operator_spec s = lt_operator_defaults(LT_OPERATOR_CNN);
    s.num_layers = layers, s.base_channels = channels;
    return s;
}

/* ---- Streams in bulk -------------------------------------------------------------------------- */
LT_TEST(bulk_draws_agree_with_the_streams)
{
    enum { N = 10007 };
    static float got[N], want[N];
    lt_draws s = lt_draws_make(11, "noise", 3, 5, 7);
    lt_draw_fill(&s, LT_VARIATE_NORMAL, 0, N, 1, got);
    LT_CHECK_OK(lt_draws_normal_f32(&s, 0, N, want));
    for (int i = 0; i < N; i++) LT_CHECK_NEAR(got[i], want[i], 1e-6);
    lt_draw_fill(&s, LT_VARIATE_UNIFORM, 0, N, 0.5f, got);
    LT_CHECK_OK(lt_draws_uniform_f32(&s, 0, N, want));
    for (int i = 0; i < N; i++) LT_CHECK(got[i] == want[i] - 0.5f);
    lt_draw_fill(&s, LT_VARIATE_LAPLACE, 0, N, 2, got);
    for (int i = 0; i < N; i++) {
        uint32_t counter[4] = { (uint32_t)i / 4, 3, 5, 7 }, word[4];
        lt_philox4x32(counter, s.key, word);
        double e = -2 * log(((word[i % 4] & 0x7fffffff) + 1.0) / 0x1p31);
        LT_CHECK_NEAR(got[i], word[i % 4] >> 31 ? -e : e, 1e-6);
    }
}

LT_TEST(a_range_of_a_stream_is_its_part_of_the_whole)
{
    static float whole[4096], part[4096];
    lt_draws s = lt_draws_make(2, "noise", 0, 0, 0);
    for (int v = 0; v < LT_VARIATE_COUNT; v++) {
        lt_draw_fill(&s, (lt_variate)v, 0, 4096, 1, whole);
        for (int first = 0; first < 1024; first += 252) {
            lt_draw_fill(&s, (lt_variate)v, first, 1001, 1, part);
            LT_CHECK(memcmp(part, whole + first, 1001 * sizeof *part) == 0);
        }
    }
}

LT_TEST(every_instruction_set_draws_the_same_bits)
{
    enum { N = 4 * LT_DRAW_CHUNK };
    float plain[N], other[N];
    lt_draws s = lt_draws_make(5, "weights", 1, 2, 3);
    for (int v = 0; v < LT_VARIATE_COUNT; v++)
        for (uint32_t block = 0; block < 100000; block += 4999) {
            lt_draw_chunk_plain[v](&s, block, 0.7f, plain);
            lt_draw_fill(&s, (lt_variate)v, 4 * (int64_t)block, N, 0.7f, other);
            LT_CHECK(memcmp(plain, other, sizeof plain) == 0);
        }
}

/* ---- Tensors ------------------------------------------------------------------------------------- */
LT_TEST(weights_follow_their_distributions)
{
    lt_operator_spec s = lt_operator_defaults(LT_OPERATOR_UAFNO);
    s.base_channels = 8, s.encoder_levels = 2, s.modes = 6, s.afno_blocks = 1;
    lt_operator_weights *w = drawn(&s, 1, 0);
    for (int i = 0; w && i < w->network.n_tensors; i++) {
        const lt_network_tensor *t = &w->network.tensor[i];
        const float *v = w->block + t->offset;
        double n = (double)t->count, sum = 0, square = 0, top = 0;
        for (int64_t k = 0; k < t->count; k++) sum += v[k], square += (double)v[k] * v[k], top = fmax(top, fabs(v[k]));
        double spread = sqrt(square / n);
        bool norm = strstr(t->name, "norm") != NULL;
        if (norm) {
            LT_CHECK(spread == (strstr(t->name, ".weight") ? 1 : 0));
        } else if (strstr(t->name, ".real") || strstr(t->name, ".imag")) {
            double want = 1.0 / (32.0 * 32.0);
            LT_CHECK(fabs(spread / want - 1) < 5 / sqrt(2 * n) && fabs(sum / n) < 5 * want / sqrt(n));
        } else {
            double fan = t->shape.rank == 1 ? 0 : 1;
            for (int d = 1; d < t->shape.rank; d++) fan *= (double)t->shape.dim[d];
            double bound = fan > 0 ? 1 / sqrt(fan) : t->scale;
            LT_CHECK(top <= bound && fabs(t->scale - bound) < 1e-7);
            if (n > 500) LT_CHECK(top > 0.95 * bound && fabs(spread / bound - 1 / sqrt(3)) < 3 / sqrt(n) && fabs(sum / n) < 5 * bound / sqrt(3 * n));
        }
    }
    lt_operator_weights_destroy(w);
}

LT_TEST(weights_depend_on_seed_and_index_alone)
{
    lt_operator_spec s = cnn(4, 24);
    lt_operator_weights *a = drawn(&s, 9, 3), *b = drawn(&s, 9, 4), *c = drawn(&s, 8, 3);
    size_t bytes = (size_t)a->network.tensor[0].count * sizeof(float);
    LT_CHECK(memcmp(a->block, b->block, bytes) != 0 && memcmp(a->block, c->block, bytes) != 0);
    LT_CHECK_OK(lt_operator_weights_draw(b, 9, 3));
    for (int i = 0; i < a->network.n_tensors; i++) {
        const lt_network_tensor *t = &a->network.tensor[i];
        LT_CHECK(memcmp(a->block + t->offset, b->block + t->offset, (size_t)t->count * sizeof(float)) == 0);
    }
    LT_CHECK_FAILS(lt_operator_weights_draw(b, 9, -1), LT_ERR_ARGUMENT, "index -1");
    lt_operator_weights_destroy(a);
    lt_operator_weights_destroy(b);
    lt_operator_weights_destroy(c);
}

/* An element is a function of (seed, tensor, operator, position), as documented. */
LT_TEST(an_element_is_the_one_its_counter_names)
{
    lt_operator_spec s = cnn(2, 16);
    lt_operator_weights *w = drawn(&s, 77, 5);
    for (int i = 0; w && i < w->network.n_tensors; i++) {
        const lt_network_tensor *t = &w->network.tensor[i];
        if (t->init != LT_INIT_UNIFORM) continue;
        lt_draws d = lt_draws_make(77, "weights", (uint32_t)i, 5, 0);
        float u[9];
        LT_CHECK_OK(lt_draws_uniform_f32(&d, t->count - 3, 3, u));
        for (int k = 0; k < 3; k++) LT_CHECK_NEAR(w->block[t->offset + t->count - 3 + k], (2 * u[k] - 1) * t->scale, 1e-7);
    }
    lt_operator_weights_destroy(w);
}

static void check_names(lt_operator_spec s, const char *const *names)
{
    lt_operator_weights *w = drawn(&s, 1, 0);
    int n = 0;
    while (names[n]) n++;
    LT_CHECK_EQ_INT(w->network.n_tensors, n);
    for (int i = 0; i < n && i < w->network.n_tensors; i++)
        if (strcmp(w->network.tensor[i].name, names[i])) LT_TEST_FAIL("tensor %d is %s, expected %s", i, w->network.tensor[i].name, names[i]);
    lt_operator_weights_destroy(w);
}

LT_TEST(names_are_the_documented_ones)
{
    lt_operator_spec s = cnn(1, 4);
    check_names(s, (const char *const[]){ "stem.weight", "stem.norm.weight", "stem.norm.bias", "blocks.0.weight", "blocks.0.norm.weight",
                                          "blocks.0.norm.bias", "output.weight", "output.bias", NULL });
    s.normalization = LT_NORM_NONE;
    check_names(s, (const char *const[]){ "stem.weight", "stem.bias", "blocks.0.weight", "blocks.0.bias", "output.weight", "output.bias", NULL });
    s.num_layers = 4;
    check_names(s, (const char *const[]){ "stem.weight", "stem.bias", "blocks.0.conv1.weight", "blocks.0.conv1.bias", "blocks.0.conv2.weight", "blocks.0.conv2.bias",
        "blocks.1.conv1.weight", "blocks.1.conv1.bias", "blocks.1.conv2.weight", "blocks.1.conv2.bias", "blocks.1.proj.weight",
        "blocks.2.conv1.weight", "blocks.2.conv1.bias", "blocks.2.conv2.weight", "blocks.2.conv2.bias", "blocks.2.proj.weight",
        "blocks.3.conv1.weight", "blocks.3.conv1.bias", "blocks.3.conv2.weight", "blocks.3.conv2.bias", "output.weight", "output.bias", NULL });
    s = lt_operator_defaults(LT_OPERATOR_UAFNO);
    s.base_channels = 2, s.encoder_levels = 1, s.afno_blocks = 1, s.blocks_per_level = 1, s.normalization = LT_NORM_NONE, s.grid = 8;
    check_names(s, (const char *const[]){ "stem.weight", "stem.bias", "encoder.0.blocks.0.conv1.weight", "encoder.0.blocks.0.conv1.bias",
        "encoder.0.blocks.0.conv2.weight", "encoder.0.blocks.0.conv2.bias", "encoder.0.blocks.0.proj.weight", "encoder.0.down.weight", "encoder.0.down.bias",
        "bottleneck.0.norm1.weight", "bottleneck.0.norm1.bias", "bottleneck.0.spectral.real", "bottleneck.0.spectral.imag",
        "bottleneck.0.spectral.fc1.weight", "bottleneck.0.spectral.fc1.bias", "bottleneck.0.spectral.fc2.weight", "bottleneck.0.spectral.fc2.bias",
        "bottleneck.0.norm2.weight", "bottleneck.0.norm2.bias", "bottleneck.0.mlp.fc1.weight", "bottleneck.0.mlp.fc1.bias", "bottleneck.0.mlp.fc2.weight",
        "bottleneck.0.mlp.fc2.bias", "decoder.0.conv.weight", "decoder.0.conv.bias", "decoder.0.blocks.0.conv1.weight", "decoder.0.blocks.0.conv1.bias",
        "decoder.0.blocks.0.conv2.weight", "decoder.0.blocks.0.conv2.bias", "output.weight", "output.bias", NULL });
}

LT_TEST(unread_modes_are_neither_held_nor_drawn)
{
    lt_operator_spec s = lt_operator_defaults(LT_OPERATOR_UAFNO); /* 64x64, three levels: an 8x8 bottleneck */
    lt_operator_weights *w = NULL;
    LT_CHECK_OK(lt_operator_weights_create(&s, &w));
    for (int i = 0; w && i < w->network.n_tensors; i++)
        if (strstr(w->network.tensor[i].name, ".real")) {
            LT_CHECK_EQ_INT(w->network.tensor[i].shape.dim[2], 8);
            LT_CHECK_EQ_INT(w->network.tensor[i].shape.dim[3], 5);
        }
    lt_operator_weights_destroy(w);
}

LT_TEST(saved_weights_read_back_the_same)
{
    char path[] = "/tmp/lathe-weights-XXXXXX";
    int fd = mkstemp(path);
    if (fd >= 0) close(fd);
    lt_operator_spec s = cnn(4, 6);
    lt_operator_weights *w = NULL;
    LT_CHECK_OK(lt_operator_weights_create(&s, &w));
    LT_CHECK_FAILS(lt_operator_weights_save(w, path), LT_ERR_ARGUMENT, "drawn");
    LT_CHECK_OK(lt_operator_weights_draw(w, 4, 2));
    LT_CHECK_OK(lt_operator_weights_save(w, path));
    lt_npz_names names;
    LT_CHECK_OK(lt_npz_list(path, &names));
    LT_CHECK_EQ_INT(names.n, w->network.n_tensors);
    lt_npz_names_free(&names);
    for (int i = 0; i < w->network.n_tensors; i++) {
        const lt_network_tensor *t = &w->network.tensor[i];
        lt_array a;
        LT_CHECK_OK(lt_npz_read(path, t->name, &a));
        LT_CHECK(a.dtype == LT_F32 && lt_shape_equal(&a.shape, &t->shape));
        LT_CHECK(a.data && memcmp(a.data, w->block + t->offset, (size_t)t->count * sizeof(float)) == 0);
        lt_array_free(&a);
    }
    lt_operator_weights_destroy(w);
    unlink(path);
}

LT_TEST(failing_allocations_leave_nothing_behind)
{
    lt_operator_spec s = cnn(4, 4);
    int64_t live = lt_alloc_live();
    for (int64_t n = 1; n < 10000; n++) {
        lt_operator_weights *w = NULL;
        lt_alloc_fail_at(n);
        lt_status status = lt_operator_weights_create(&s, &w);
        lt_alloc_fail_at(0);
        if (status) LT_CHECK(!w && lt_alloc_live() == live);
        lt_operator_weights_destroy(w);
        if (!status) break;
    }
    LT_CHECK_EQ_INT(lt_alloc_live(), live);
}

LT_TEST_MAIN()
