/* Gram matrices too large to stay in memory: written band by band, to the bits of those that are mirrored. SPDX-License-Identifier: BSD-3-Clause */
#include "lt_test.h"

#include "lathe/gram.h"
#include "qkernel/gram_inside.h"

enum { N = 331, Q = 5, LAYERS = 3, BAND = 64 };

static double x[N * Q], weights[LAYERS * Q], K[N * N], banded[N * N];
static const lt_rows X = { x, LT_F64, N, Q, 0 };

static void make_numbers(void)
{
    for (int i = 0; i < N * Q; i++) x[i] = 3 * sin(1.7 * i + 0.01 * i * i);
    for (int i = 0; i < LAYERS * Q; i++) weights[i] = sin(5.1 * i);
}

/* The same matrix, with tiles that are mirrored or in bands. */
static lt_gram_info fill(const lt_gram_options *opt, int n_layers, bool bands, void *to)
{
    lt_gram *g;
    LT_CHECK_OK(lt_gram_create(NULL, opt, &(lt_weights){ weights, n_layers, Q }, &g));
    if (bands) g->large = (lt_large_matrix){ .from_bytes = 1, .band_rows = BAND };
    memset(to, 0xff, sizeof K);
    LT_CHECK_OK(lt_gram_fill(g, &X, NULL, to));
    LT_CHECK(g->plan.by_bands == (bands && opt->symmetric && !opt->packed));
    lt_gram_info info = lt_gram_get_info(g);
    lt_gram_destroy(g);
    return info;
}

LT_TEST(bands_give_the_bits_of_mirrored_tiles)
{
    static const struct { lt_gram_method method; int n_layers; } way[] = { { LT_GRAM_STATES, 3 }, { LT_GRAM_STATES, 2 }, { LT_GRAM_TRANSFER, 2 }, { LT_GRAM_PRODUCT, 1 } };
    make_numbers();
    for (int kind = 0; kind < 48; kind++) {
        lt_gram_options opt = lt_gram_defaults();
        const int m = kind % 4;
        opt.re_embed_between_layers = true;
        opt.learn_tiles = false;
        opt.method = way[m].method;
        opt.dtype = m == 1 && kind / 4 % 2 ? LT_GRAM_FLOAT32 : LT_GRAM_FLOAT64;
        opt.return_dtype = kind / 8 % 2 ? LT_GRAM_FLOAT32 : LT_GRAM_FLOAT64;
        opt.normalize = kind / 16 == 1;
        opt.tile_size = kind / 16 == 2 ? 32 : 512;
        opt.n_workers = 1 + kind % 3;
        lt_gram_info whole = fill(&opt, way[m].n_layers, false, K), parts = fill(&opt, way[m].n_layers, true, banded);
        if (memcmp(K, banded, sizeof K)) LT_TEST_FAIL("kind %d: bits differ", kind);
        LT_CHECK_EQ_INT(whole.pairs, N * (N + 1) / 2);
        LT_CHECK(parts.pairs > whole.pairs && parts.pairs < (int64_t)N * N);
        LT_CHECK(strstr(parts.plan, "computed again") && !strstr(whole.plan, "computed again"));
        LT_CHECK_EQ_INT(whole.states_built, parts.states_built);
    }
}

LT_TEST(what_has_no_mirror_image_needs_no_bands)
{
    make_numbers();
    for (int kind = 0; kind < 2; kind++) {
        lt_gram_options opt = lt_gram_defaults();
        opt.re_embed_between_layers = true;
        opt.packed = kind;
        opt.symmetric = kind;
        (void)fill(&opt, LAYERS, false, K);
        (void)fill(&opt, LAYERS, true, banded);
        LT_CHECK(!memcmp(K, banded, sizeof K));
    }
}

/* ---- the order of writing ---- */

static bool is_written(int64_t row, int64_t column) { return banded[row * N + column] == banded[row * N + column]; }

static bool is_whole(int64_t row)
{
    for (int64_t j = 0; j < N; j++)
        if (!is_written(row, j)) return false;
    return true;
}

/* Nothing of a band is touched before the rows above it are whole. */
static bool look(void *ctx, const lt_gram_progress *p)
{
    const lt_gram *g = *(lt_gram **)ctx;
    (void)p;
    int64_t last = -1;
    for (int64_t i = 0; i < N; i++)
        for (int64_t j = 0; j < N && last < i; j++)
            if (is_written(i, j)) last = i;
    for (int64_t i = 0; i < last / g->plan.band_rows * g->plan.band_rows; i++)
        if (!is_whole(i)) LT_TEST_FAIL("row %lld is written, row %lld is not whole", (long long)last, (long long)i);
    return true;
}

LT_TEST(each_band_is_written_before_the_next)
{
    make_numbers();
    lt_gram *g = NULL;
    lt_gram_options opt = lt_gram_defaults();
    opt.re_embed_between_layers = true;
    opt.n_workers = 1;
    opt.progress = look;
    opt.progress_ctx = &g;
    LT_CHECK_OK(lt_gram_create(NULL, &opt, &(lt_weights){ weights, LAYERS, Q }, &g));
    g->large = (lt_large_matrix){ .from_bytes = 1, .band_rows = BAND };
    for (int i = 0; i < N * N; i++) banded[i] = NAN;
    LT_CHECK_OK(lt_gram_fill(g, &X, NULL, banded));
    LT_CHECK(g->plan.by_bands && g->plan.band_rows < N / 2 && is_whole(N - 1));
    lt_gram_destroy(g);
}

LT_TEST_MAIN()
