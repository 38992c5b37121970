/* Every stored vector, by every method that applies, in both precisions, on every instruction set.
   A new case is a block in tests/data/qkernel/circuits.txt. SPDX-License-Identifier: BSD-3-Clause */
#define LT_TEST_KEPT_BLOCKS 40 /* the device keeps blocks of every size for reuse */
#include "lt_test.h"
#include "vector_file.h"

#include "kernels/fused.h"
#include "lathe/gram.h"

static const double tolerance[] = { [LT_GRAM_FLOAT64] = 1e-12, [LT_GRAM_FLOAT32] = 2e-5 };
static double worst_state[2], worst_gram[2];

static lt_gram *make(const vector_case *c, lt_gram_method method, lt_gram_float type)
{
    lt_gram_options opt = lt_gram_defaults();
    const lt_option_table *t = lt_gram_options_table();
    LT_CHECK_OK(lt_options_set(t, "embed", c->mode, &opt));
    LT_CHECK_OK(lt_options_set(t, "entangler", c->entangler, &opt));
    opt.angle_scale = c->scale;
    opt.re_embed_between_layers = c->re_embed;
    opt.method = method;
    opt.dtype = type;
    lt_gram *g = NULL;
    LT_CHECK_OK(lt_gram_create(NULL, &opt, &(lt_weights){ c->W.v, c->layers, c->q }, &g));
    return g;
}

static lt_rows rows_of(const matrix *m) { return (lt_rows){ m->v, LT_F64, m->rows, m->columns, 0 }; }

static void compare(const vector_case *c, const char *what, const double *got, const matrix *want, double tol, double *worst)
{
    for (int64_t i = 0; i < want->rows * want->columns; i++) {
        double error = fabs(got[i] - want->v[i]);
        if (!(error <= *worst)) *worst = error;
        if (!(error <= tol)) {
            LT_TEST_FAIL("%s: %s at row %lld, column %lld is %.17g, expected %.17g", c->id, what, (long long)(i / want->columns),
                         (long long)(i % want->columns), got[i], want->v[i]);
            return;
        }
    }
}

static void check_gram(const vector_case *c, lt_gram_method method, lt_gram_float type)
{
    lt_gram *g = make(c, method, type);
    if (!g) return;
    lt_rows x = rows_of(&c->X), y = rows_of(&c->Y);
    double *K = malloc((size_t)(x.n * (x.n + (c->Y.v ? y.n : 0))) * sizeof *K);
    double tol = method == LT_GRAM_STATES ? tolerance[type] : tolerance[LT_GRAM_FLOAT64];
    double *worst = &worst_gram[method == LT_GRAM_STATES ? type : LT_GRAM_FLOAT64];
    if (method == LT_GRAM_AUTO) tol = tolerance[type], worst = &worst_gram[type];
    LT_CHECK_OK(lt_gram_fill(g, &x, NULL, K));
    compare(c, lt_gram_method_name(lt_gram_get_info(g).method), K, &c->gram, tol, worst);
    for (int64_t i = 0; i < x.n; i++)
        for (int64_t j = 0; j < i; j++)
            if (memcmp(&K[i * x.n + j], &K[j * x.n + i], sizeof *K)) LT_TEST_FAIL("%s: not symmetric to the bit", c->id);
    if (c->Y.v) {
        LT_CHECK_OK(lt_gram_fill(g, &x, &y, K));
        compare(c, "cross", K, &c->cross_gram, tol, worst);
    }
    free(K);
    lt_gram_destroy(g);
}

static void check_states(const vector_case *c, lt_gram_float type)
{
    lt_gram *g = make(c, LT_GRAM_AUTO, type);
    if (!g) return;
    int64_t D = (int64_t)1 << c->q;
    lt_rows x = rows_of(&c->X);
    void *S = malloc((size_t)(x.n * D) * 2 * sizeof(double));
    double *part = malloc((size_t)D * sizeof *part);
    LT_CHECK_OK(lt_gram_states(g, &x, S));
    for (int64_t r = 0; r < c->state_rows.columns; r++)
        for (int im = 0; im < 2; im++) {
            int64_t row = (int64_t)c->state_rows.v[r];
            for (int64_t k = 0; k < D; k++) {
                int64_t at = 2 * (row * D + k) + im;
                part[k] = type == LT_GRAM_FLOAT64 ? ((double *)S)[at] : (double)((float *)S)[at];
            }
            matrix want = { 1, D, (im ? c->states_im.v : c->states_re.v) + r * D };
            compare(c, im ? "imaginary parts" : "real parts", part, &want, tolerance[type], &worst_state[type]);
        }
    free(part);
    free(S);
    lt_gram_destroy(g);
}

static int check_all(void)
{
    FILE *f = vectors_open("circuits.txt");
    vector_case c;
    int n = 0;
    for (; case_read(f, &c); n++) {
        bool collapses = !c.re_embed || c.layers == 1;
        if (!strcmp(c.shortcut, "product")) LT_CHECK(collapses);
        for (int type = LT_GRAM_FLOAT64; type <= LT_GRAM_FLOAT32; type++) { /* what the CPU has */
            check_gram(&c, LT_GRAM_AUTO, type);
            check_gram(&c, LT_GRAM_STATES, type);
            if (c.states_re.v) check_states(&c, type);
        }
        if (collapses) check_gram(&c, LT_GRAM_PRODUCT, LT_GRAM_FLOAT64);
        if (c.re_embed && c.layers == 2 && !(c.q == 2 && !strcmp(c.entangler, "strong"))) check_gram(&c, LT_GRAM_TRANSFER, LT_GRAM_FLOAT64);
        case_free(&c);
    }
    fclose(f);
    return n;
}

LT_TEST(every_case_on_every_instruction_set)
{
    for (int isa = 0; isa < LT_ISA_COUNT; isa++) {
        if (!lt_isa_usable(isa)) continue;
        setenv("LATHE_ISA", lt_isa_name(isa), 1);
        memset(worst_state, 0, sizeof worst_state);
        memset(worst_gram, 0, sizeof worst_gram);
        LT_CHECK(check_all() >= 83);
        printf("%s: worst error of states %.2g (f64) %.2g (f32), of K %.2g (f64) %.2g (f32)\n", lt_isa_name(isa),
               worst_state[0], worst_state[1], worst_gram[0], worst_gram[1]);
    }
    unsetenv("LATHE_ISA");
}

LT_TEST(post_processing)
{
    FILE *f = vectors_open("post.txt");
    vector_case c = { .id = "post" };
    char word[32];
    double jitter, worst = 0;
    int n = 0;
    while (fscanf(f, "%31s %lf", word, &jitter) == 2) {
        n++;
        if (!strcmp(word, "centre")) {
            matrix train = matrix_named(f, "train"), test = matrix_named(f, "test"), train_centred = matrix_named(f, "train_centred"),
                   test_centred = matrix_named(f, "test_centred");
            double *means = malloc((size_t)train.rows * sizeof *means), mean;
            LT_CHECK_OK(lt_gram_center(train.v, train.rows, means, &mean));
            LT_CHECK_OK(lt_gram_center_cross(test.v, test.rows, test.columns, means, mean));
            compare(&c, "train", train.v, &train_centred, 1e-14, &worst);
            compare(&c, "test", test.v, &test_centred, 1e-14, &worst);
            free(means), free(train.v), free(test.v), free(train_centred.v), free(test_centred.v);
            continue;
        }
        matrix input = matrix_named(f, "input"), left = { 0 }, right = { 0 };
        if (!strcmp(word, "cross")) {
            left = matrix_named(f, "left");
            right = matrix_named(f, "right");
            LT_CHECK_OK(lt_gram_normalize_cross(input.v, input.rows, input.columns, left.v, right.v));
        } else {
            LT_CHECK_OK(lt_gram_normalize(input.v, input.rows, jitter));
        }
        matrix output = matrix_named(f, "output");
        for (int64_t i = 0; i < output.rows * output.columns; i++) LT_CHECK_NEAR(input.v[i], output.v[i], 1e-14);
        free(input.v), free(output.v), free(left.v), free(right.v);
    }
    LT_CHECK_EQ_INT(n, 5);
    fclose(f);
}

LT_TEST(state_tiles_of_the_reference)
{
    FILE *f = vectors_open("sizes.txt");
    long long total, tile, precompute;
    double fraction;
    int q, bytes, n = 0;
    for (; fscanf(f, "%lld %lf %d %d %lld %lld", &total, &fraction, &q, &bytes, &tile, &precompute) == 6; n++) {
        LT_CHECK_EQ_INT(lt_gram_state_tile(total, fraction, q, bytes), tile);
        LT_CHECK_EQ_INT(lt_gram_max_precompute(total, fraction, q, bytes), precompute);
    }
    LT_CHECK(n > 20);
    fclose(f);
    LT_CHECK_EQ_INT(lt_gram_state_tile(0, 0.85, 10, 16), 8192);
    LT_CHECK_EQ_INT(lt_gram_state_tile(INT64_C(1) << 36, 0.0, 10, 16), 8192);
    LT_CHECK_EQ_INT(lt_gram_max_precompute(-1, 0.85, 10, 16), 8192);
}

LT_TEST_MAIN()
