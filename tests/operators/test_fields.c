/* Initial fields: every type and variant against the oracle, distributions, selection, determinism.
   SPDX-License-Identifier: BSD-3-Clause */
#include "lt_test.h"

#include "config_text.h"
#include "fields_oracle.h"
#include "operators/fields/draw.h"

#include "base/alloc.h"

enum { MOST = 3 * 64 * 64 };
static float field[MOST], other[MOST];
static double want[MOST];

static lt_field_recipe recipe_of(lt_field_type t)
{
    lt_field_recipe r;
    lt_field_recipe_default(t, lt_field_types[t].name, &r);
    return r;
}

/* A grid of ten has no power of two, eleven no middle column: sizes at which slips show. */
static void compare(const lt_field_recipe *r, bool physical)
{
    static const int grids[] = { 8, 10, 11 };
    for (size_t s = 0; s < sizeof grids / sizeof *grids; s++) {
        int g = grids[s];
        lt_field_maker *m;
        LT_CHECK_OK(lt_field_maker_create(g, &m));
        for (int64_t index = 0; index < 4; index++) {
            LT_CHECK_OK(lt_field_draw_recipe(m, r, physical, 7, index * 1000000007, field));
            oracle_field(r, g, physical, 7, index * 1000000007, want);
            double worst = 0, largest = 1e-30;
            for (int i = 0; i < 3 * g * g; i++) {
                worst = fmax(worst, fabs(field[i] - want[i]));
                largest = fmax(largest, fabs(want[i]));
            }
            if (!(worst <= 3e-6 * largest)) {
                LT_TEST_FAIL("%s%s, variant %g, grid %d, index %lld: off by %g of %g", r->alias, physical ? " (physical)" : "", r->value[0].item[0], g,
                             (long long)index, worst, largest);
                index = 4;
            }
        }
        lt_field_maker_destroy(m);
    }
}

/* ---- Against the oracle --------------------------------------------------------------------------- */
LT_TEST(every_type_and_variant_agrees_with_the_oracle)
{
    int n_variants = 0;
    for (int t = 0; t < LT_FIELD_TYPE_COUNT; t++) {
        const lt_field_type_row *row = &lt_field_types[t];
        for (int physical = 0; physical < 2; physical++) {
            if (t == LT_FIELD_DLA && physical) continue; /* grown by walkers: tested by what it is */
            lt_field_recipe r = recipe_of((lt_field_type)t);
            if (t == LT_FIELD_DLA) r.value[2].item[0] = 0.6;  /* otherwise the grids are full at once */
            if (t == LT_FIELD_DLA) r.value[0].item[0] = 60;
            if (t == LT_FIELD_CELLS) r.value[0].item[0] = 12;
            if (t == LT_FIELD_CODE) r.value[2].item[0] = 3;
            if (t == LT_FIELD_LOCALIZED) { r.value[1].item[0] = 1; r.value[2].item[0] = 3; }
            compare(&r, physical);
            for (int i = 0; i < row->n_params; i++)
                for (int v = 1; row->params[i].kind == LT_FIELD_NAME && row->params[i].names[v]; v++) {
                    lt_field_recipe variant = r;
                    variant.value[i].item[0] = v;
                    compare(&variant, physical);
                    n_variants++;
                }
        }
    }
    LT_CHECK_EQ_INT(n_variants, 48);
}

LT_TEST(counts_ranges_and_given_angles_are_used)
{
    lt_field_recipe r = recipe_of(LT_FIELD_TURING);
    r.value[1] = (lt_field_value){ .drawn = true, .n = 2, .item = { 4, 9 } };
    compare(&r, false);
    r = recipe_of(LT_FIELD_QUANTUM_PACKET);
    r.value[2] = (lt_field_value){ .drawn = true, .n = 2, .item = { 2, 5 } }; /* 2, 3 or 4 packets */
    compare(&r, false);
    r = recipe_of(LT_FIELD_SHOCK);
    r.value[0] = (lt_field_value){ .n = 1, .item = { 0.4 } };
    r.value[1] = (lt_field_value){ .n = 1, .item = { 0.9 } };
    compare(&r, false);
    r = recipe_of(LT_FIELD_PHASE_BOUNDARY);
    r.value[1] = (lt_field_value){ .n = 1, .item = { -0.5 } };
    compare(&r, true);
    r = recipe_of(LT_FIELD_INTERFERENCE);
    r.value[3] = (lt_field_value){ .n = 1, .item = { 4 } };
    compare(&r, false);
    r = recipe_of(LT_FIELD_GENES);
    r.value[0].item[0] = 2;
    r.value[1] = (lt_field_value){ .n = 2, .item = { 3, 0 } };
    compare(&r, true);
    r = recipe_of(LT_FIELD_REACTION_FRONT);
    r.value[2].item[0] = 3;
    compare(&r, false);
    r = recipe_of(LT_FIELD_MULTISCALE);
    r.value[0] = (lt_field_value){ .n = 2, .item = { 0.3, 0.05 } };
    compare(&r, true);
}

/* ---- Distributions ------------------------------------------------------------------------------------ */
/* Mean and variance over many fields, and the share of power in long waves. */
static void moments(const lt_field_recipe *r, bool physical, int g, double *mean, double *variance, double *neighbour)
{
    enum { FIELDS = 60 };
    lt_field_maker *m;
    LT_CHECK_OK(lt_field_maker_create(g, &m));
    double sum = 0, squares = 0, products = 0;
    for (int i = 0; i < FIELDS; i++) {
        LT_CHECK_OK(lt_field_draw_recipe(m, r, physical, 11, i, field));
        for (int k = 0; k < 3 * g * g; k++) {
            sum += field[k];
            squares += (double)field[k] * field[k];
            products += (double)field[k] * field[k / g * g + (k % g + 1) % g];
        }
    }
    double n = FIELDS * 3.0 * g * g;
    *mean = sum / n;
    *variance = squares / n - *mean * *mean;
    *neighbour = products / squares;
    lt_field_maker_destroy(m);
}

LT_TEST(random_fields_have_the_variance_of_their_mode)
{
    double mean, variance, neighbour;
    lt_field_recipe r = recipe_of(LT_FIELD_GRF);
    r.value[1].item[0] = 4;
    moments(&r, false, 32, &mean, &variance, &neighbour);
    LT_CHECK_NEAR(variance * 2 * 32 * 32 / 4, 1, 0.02);  /* white, variance v / 2 G^2 … */
    LT_CHECK(fabs(neighbour) < 0.02 && fabs(mean) < 0.001);
    moments(&r, true, 32, &mean, &variance, &neighbour);
    LT_CHECK_NEAR(variance / 4, 1, 0.05);                /* … or v, and smooth */
    double cosines = 0, total = 0; /* correlation one pixel apart: the transform of the spectrum, l = 3.2 pixels */
    for (int k = -16; k < 16; k++) {
        double power = exp(-0.5 * pow(3.2 * k / 32, 2));
        cosines += power * cos(2 * M_PI * k / 32);
        total += power;
    }
    LT_CHECK_NEAR(neighbour, cosines / total, 0.02);
    r = recipe_of(LT_FIELD_MULTISCALE);
    moments(&r, true, 32, &mean, &variance, &neighbour);
    LT_CHECK_NEAR(variance, 1, 0.1);
    r = recipe_of(LT_FIELD_HEAVY_TAILED);
    moments(&r, true, 32, &mean, &variance, &neighbour);
    LT_CHECK_NEAR(variance, 1, 0.1);
    r = recipe_of(LT_FIELD_CRITICAL);
    moments(&r, true, 32, &mean, &variance, &neighbour);
    LT_CHECK_NEAR(variance, 1, 0.15);
    LT_CHECK(neighbour > 0.7); /* long correlations */
    r = recipe_of(LT_FIELD_CODE);
    moments(&r, false, 32, &mean, &variance, &neighbour);
    LT_CHECK_NEAR(variance + mean * mean, 1, 1e-12); /* all values are -1 or 1 */
}

LT_TEST(heavy_tailed_reference_fields_are_nearly_constant)
{
    lt_field_recipe r = recipe_of(LT_FIELD_HEAVY_TAILED);
    lt_field_maker *m;
    LT_CHECK_OK(lt_field_maker_create(64, &m));
    LT_CHECK_OK(lt_field_draw_recipe(m, &r, false, 1, 2, field));
    double mean = 0, spread = 0;
    for (int i = 0; i < 64 * 64; i++) mean += field[i] / 4096;
    for (int i = 0; i < 64 * 64; i++) spread += (field[i] - mean) * (field[i] - mean) / 4096;
    LT_CHECK(sqrt(spread) < 0.5 * fabs(mean));
    lt_field_maker_destroy(m);
}

LT_TEST(walkers_grow_a_connected_thin_cluster)
{
    lt_field_recipe r = recipe_of(LT_FIELD_DLA);
    r.value[3].item[0] = 1; /* indicator */
    lt_field_maker *m;
    LT_CHECK_OK(lt_field_maker_create(64, &m));
    for (int seed_type = 0; seed_type < 2; seed_type++) {
        r.value[1].item[0] = seed_type;
        LT_CHECK_OK(lt_field_draw_recipe(m, &r, true, 3, 0, field));
        int n = 0, alone = 0;
        for (int y = 1; y < 63; y++)
            for (int x = 1; x < 63; x++) {
                if (field[64 * y + x] == 0) continue;
                int near = -1;
                for (int k = 0; k < 9; k++) near += field[64 * (y + k / 3 - 1) + x + k % 3 - 1] != 0;
                n++;
                alone += near == 0;
            }
        LT_CHECK(n > 100 && n <= 501 + 64 && alone == 0);
    }
    lt_field_maker_destroy(m);
}

/* ---- Selection and determinism --------------------------------------------------------------------------- */
LT_TEST(shares_of_types_follow_their_weights)
{
    enum { N = 10000 };
    lt_dataset_config *c = NULL;
    LT_CHECK_OK(load_with("{structured: 1}", "{gaussian_random_field_v0: 0.05, gaussian_random_field_v1: 0.05, multiscale_grf_low: 0.15, structured: 0.25, localized: 0.5}", NULL, &c));
    if (!c) return;
    int count[5] = { 0 };
    for (int64_t i = 0; i < N; i++) count[lt_field_choose(c, i)]++;
    for (int k = 0; k < 5; k++) LT_CHECK(fabs(count[k] / (double)N - c->field_weight[k]) < (k < 2 ? 0.01 : 0.02));
    LT_CHECK(!strcmp(lt_field_alias(c, 1), "gaussian_random_field_v1"));
    lt_dataset_config_destroy(c);
}

LT_TEST(a_field_depends_on_seed_and_index_alone_and_drawing_allocates_nothing)
{
    lt_dataset_config *c = NULL;
    lt_field_maker *a, *b;
    LT_CHECK_OK(load_with("{structured: 1}", "{structured: 1, gaussian_random_field: 1, dla_cluster: 1, gene_expression: 1}", NULL, &c));
    LT_CHECK_OK(lt_field_maker_create(32, &a));
    LT_CHECK_OK(lt_field_maker_create(32, &b));
    if (!c) return;
    size_t bytes = 3 * 32 * 32 * sizeof *field;
    for (int which = 0; which < 4; which++) {
        LT_CHECK_OK(lt_field_draw(b, c, (which + 1) % 4, 99, other)); /* what b did before leaves no trace */
        int64_t before = lt_alloc_count();
        LT_CHECK_OK(lt_field_draw(a, c, which, 5, field));
        LT_CHECK_EQ_INT(lt_alloc_count(), before);
        LT_CHECK_OK(lt_field_draw(b, c, which, 5, other));
        LT_CHECK(!memcmp(field, other, bytes));
        LT_CHECK_OK(lt_field_draw(b, c, which, 5 + (INT64_C(1) << 32), other)); /* all bits of the index count */
        LT_CHECK(which == 2 || memcmp(field, other, bytes) != 0);               /* a full cluster has no chance in it */
    }
    LT_CHECK_FAILS(lt_field_draw(a, c, 4, 0, field), LT_ERR_ARGUMENT, "initial field 4: expected 0..3");
    lt_field_maker_destroy(a);
    lt_field_maker_destroy(b);
    lt_dataset_config_destroy(c);
    LT_CHECK_FAILS(lt_field_maker_create(1, &a), LT_ERR_ARGUMENT, "a grid of 1");
}

LT_TEST(every_type_is_finite_at_sizes_large_and_small)
{
    static const int grids[] = { 2, 3, 7, 64 };
    for (size_t s = 0; s < sizeof grids / sizeof *grids; s++) {
        lt_field_maker *m;
        LT_CHECK_OK(lt_field_maker_create(grids[s], &m));
        for (int t = 0; t < LT_FIELD_TYPE_COUNT; t++)
            for (int physical = 0; physical < 2; physical++) {
                lt_field_recipe r = recipe_of((lt_field_type)t);
                LT_CHECK_OK(lt_field_draw_recipe(m, &r, physical, 5, t, field));
                bool finite = true;
                for (int i = 0; i < 3 * grids[s] * grids[s]; i++) finite &= isfinite(field[i]);
                if (!finite) LT_TEST_FAIL("%s at %d is not finite", r.alias, grids[s]);
            }
        lt_field_maker_destroy(m);
    }
}

LT_TEST(aliases_name_their_type)
{
    lt_field_type t;
    LT_CHECK(lt_field_type_find("turing_pattern_v12", &t) && t == LT_FIELD_TURING);
    LT_CHECK(lt_field_type_find("multiscale_grf_high", &t) && t == LT_FIELD_MULTISCALE);
    LT_CHECK(lt_field_type_find("random", &t) && t == LT_FIELD_GRF);
    LT_CHECK(lt_field_type_find("dla_cluster", &t) && t == LT_FIELD_DLA);
    LT_CHECK(!lt_field_type_find("turing_pattern_v", &t) && !lt_field_type_find("turing", &t) && !lt_field_type_find("_v1", &t) && !lt_field_type_find("", &t));
    LT_CHECK(!strcmp(lt_field_type_nearest("turing_patern_v3"), "turing_pattern"));
}

LT_TEST_MAIN()
