/* Support vector machines against stored answers: one small problem to many digits, and twenty-four runs of the whole
   pipeline on synthetic images. SPDX-License-Identifier: BSD-3-Clause */
#include "lathe/features.h"
#include "lathe/qsvm.h"
#include "lt_test.h"
#include "vector_file.h"

static bool has(const char *feature)
{
    lt_feature f = { .size = sizeof f };
    for (int i = 0; lt_feature_get(i, &f); i++)
        if (!strcmp(f.name, feature)) return f.built_in;
    return false;
}

static uint8_t *labels_of(matrix m)
{
    uint8_t *y = malloc((size_t)m.columns);
    for (int64_t i = 0; i < m.columns; i++) y[i] = m.v[i] != 0;
    return y;
}

/* ---- the small problem ---- */

static void small_problem(lt_svm_solver solver, bool center)
{
    FILE *f = vectors_open("svm_small.txt");
    matrix X = matrix_named(f, "X_train"), Y = matrix_named(f, "y_train"), T = matrix_named(f, "X_test"), S = matrix_named(f, "y_test"),
           W = matrix_named(f, "weights"), beta = matrix_named(f, "coefficients"), decision = matrix_named(f, "decision"),
           expected = matrix_named(f, "expected");
    fclose(f);
    const double *e = expected.v;
    uint8_t *y = labels_of(Y), *s = labels_of(S);
    double got[20];
    lt_qsvm *q;
    lt_qsvm_options opt = lt_qsvm_defaults();
    lt_gram_options gram = lt_gram_defaults();
    opt.gram = &gram;
    gram.angle_scale = e[0];
    gram.re_embed_between_layers = true;
    opt.weights = (lt_weights){ W.v, W.rows, W.columns };
    opt.range = LT_QSVM_RANGE_NONE; /* the rows are scaled already */
    opt.C = e[1];
    opt.tolerance = 1e-10;
    opt.solver = solver;
    opt.center = center;
    LT_CHECK_OK(lt_qsvm_create(NULL, &opt, &q));
    LT_CHECK_OK(lt_qsvm_fit(q, &(lt_rows){ X.v, LT_F64, X.rows, X.columns, 0 }, y));
    LT_CHECK_OK(lt_qsvm_decide(q, LT_QSVM_QUANTUM, &(lt_rows){ T.v, LT_F64, T.rows, T.columns, 0 }, got));
    const lt_qsvm_fitted *m = &lt_qsvm_get_info(q)->machine[LT_QSVM_QUANTUM];
    LT_CHECK_NEAR(m->cost[0], 40.0 / (2 * 24), 1e-15);
    LT_CHECK_NEAR(m->cost[1], 40.0 / (2 * 16), 1e-15);
    double tight = 1e-6; /* the stored answer, too, was found with a kernel in single precision */
    LT_CHECK(m->converged && m->iterations > 0);
    LT_CHECK_NEAR(m->objective, e[3], 1e-12);
    LT_CHECK_EQ_INT(m->n_support[0], e[4]);
    LT_CHECK_EQ_INT(m->n_support[1], e[5]);
    if (!center) LT_CHECK_NEAR(m->bias, e[2], tight);
    for (int64_t i = 0; i < 20; i++) LT_CHECK_NEAR(got[i], decision.v[i], tight);
    for (int64_t i = 0; i < 40; i++) LT_CHECK_NEAR(lt_qsvm_coefficients(q, NULL)[i], beta.v[i], 100 * tight);
    lt_qsvm_scores r;
    LT_CHECK_OK(lt_qsvm_score(s, got, 20, 0, &r));
    double rates[] = { r.f1, r.accuracy, r.precision, r.recall, r.balanced_accuracy, r.roc_auc, r.average_precision };
    for (int k = 0; k < 7; k++) LT_CHECK_NEAR(rates[k], e[6 + k], 1e-15);
    lt_qsvm_destroy(q);
    matrix *all[] = { &X, &Y, &T, &S, &W, &beta, &decision, &expected };
    for (size_t i = 0; i < 8; i++) free(all[i]->v);
    free(y);
    free(s);
}

LT_TEST(small_machine_by_smo) { small_problem(LT_SVM_SMO, false); }
/* Coefficients sum to zero, so what centring takes away cancels: the same machine, through other numbers. */
LT_TEST(small_machine_centred) { small_problem(LT_SVM_SMO, true); }
LT_TEST(small_machine_by_libsvm)
{
    if (!has("libsvm")) LT_SKIP("built without LIBSVM");
    small_problem(LT_SVM_LIBSVM, false);
    small_problem(LT_SVM_LIBSVM, true);
}

/* ---- synthetic images, end to end ---- */

enum { HALF = LT_QSVM_IMAGES / 2 };
typedef struct images { double x[LT_QSVM_IMAGES * LT_QSVM_PIXELS]; uint8_t y[LT_QSVM_IMAGES]; } images;

typedef struct expected {
    char   task[8], mode[8];
    int    q, re_embed;
    double scale, C, pixel_mean, row1_sum, pixel[4], eigenvalue[4], off_mean, off_std, k01, k02, cross00, f1, accuracy, auc, ap, n_support,
           objective, bias;
} expected;

static bool expected_read(FILE *f, expected *e)
{
    int n = fscanf(f, "%7s %d %7s %d %lf %lf %lf %lf %lf %lf %lf %lf %lf %lf %lf %lf %lf %lf %lf %lf %lf %lf %lf %lf %lf %lf %lf %lf",
                   e->task, &e->q, e->mode, &e->re_embed, &e->scale, &e->C, &e->pixel_mean, &e->row1_sum, &e->pixel[0], &e->pixel[1],
                   &e->pixel[2], &e->pixel[3], &e->eigenvalue[0], &e->eigenvalue[1], &e->eigenvalue[2], &e->eigenvalue[3], &e->off_mean,
                   &e->off_std, &e->k01, &e->k02, &e->cross00, &e->f1, &e->accuracy, &e->auc, &e->ap, &e->n_support, &e->objective, &e->bias);
    if (n != EOF && n != 28) vectors_broken("synthetic");
    return n == 28;
}

static void check_images(const images *im, const expected *e)
{
    double sum = 0, row1 = 0;
    for (int i = 0; i < LT_QSVM_IMAGES * LT_QSVM_PIXELS; i++) sum += im->x[i];
    for (int k = 0; k < LT_QSVM_PIXELS; k++) row1 += im->x[LT_QSVM_PIXELS + k];
    for (int k = 0; k < 4; k++) LT_CHECK_NEAR(im->x[k], e->pixel[k], 1e-14);
    LT_CHECK_NEAR(sum / (LT_QSVM_IMAGES * LT_QSVM_PIXELS), e->pixel_mean, 1e-14);
    LT_CHECK_NEAR(row1, e->row1_sum, 1e-12);
}

/* The variance of the training rows along the first components. */
static void check_components(const lt_qsvm *q, const images *im, const expected *e)
{
    int64_t n_qubits, d;
    const double *c = lt_qsvm_components(q, &n_qubits, &d);
    LT_CHECK_EQ_INT(n_qubits, e->q);
    LT_CHECK_EQ_INT(d, LT_QSVM_PIXELS);
    for (int j = 0; j < 4; j++, c += d) {
        double mean = 0, square = 0, largest = 0;
        for (int i = 0; i < HALF; i++) {
            double z = 0;
            for (int64_t k = 0; k < d; k++) z += c[k] * im->x[i * d + k];
            mean += z;
            square += z * z;
        }
        LT_CHECK_NEAR((square - mean * mean / HALF) / (HALF - 1), e->eigenvalue[j], 1e-10);
        for (int64_t k = 0; k < d; k++)
            if (fabs(c[k]) > fabs(largest)) largest = c[k];
        LT_CHECK(largest > 0);
    }
}

static void synthetic_row(const images *im, const expected *e, lt_svm_solver solver)
{
    double weights[32], decision[HALF];
    lt_qsvm *q;
    lt_qsvm_options opt = lt_qsvm_defaults();
    lt_gram_options gram = lt_gram_defaults();
    opt.gram = &gram;
    lt_qsvm_synthetic_weights(2, e->q, weights);
    opt.weights = (lt_weights){ weights, 2, e->q };
    gram.embed_mode = !strcmp(e->mode, "ry") ? LT_EMBED_RY : LT_EMBED_RYRZ;
    gram.angle_scale = e->scale;
    gram.re_embed_between_layers = e->re_embed;
    opt.C = e->C;
    opt.n_folds = 0;
    opt.tolerance = 1e-8;
    opt.solver = solver;
    LT_CHECK_OK(lt_qsvm_create(NULL, &opt, &q));
    LT_CHECK_OK(lt_qsvm_fit(q, &(lt_rows){ im->x, LT_F64, HALF, LT_QSVM_PIXELS, 0 }, im->y));
    LT_CHECK_OK(lt_qsvm_decide(q, LT_QSVM_QUANTUM, &(lt_rows){ im->x + HALF * LT_QSVM_PIXELS, LT_F64, HALF, LT_QSVM_PIXELS, 0 }, decision));
    const lt_qsvm_info *i = lt_qsvm_get_info(q);
    const double *K = lt_qsvm_kernel(q, NULL);
    check_components(q, im, e);
    LT_CHECK_NEAR(K[1], e->k01, 1e-10);
    LT_CHECK_NEAR(K[2], e->k02, 1e-10);
    LT_CHECK_NEAR(i->diagnostics->off_diagonal.mean, e->off_mean, 1e-9);
    LT_CHECK_NEAR(i->diagnostics->off_diagonal.std, e->off_std, 1e-9);
    const lt_qsvm_fitted *m = &i->machine[LT_QSVM_QUANTUM];
    LT_CHECK(fabs(m->objective - e->objective) <= 1e-5 * fabs(e->objective));
    LT_CHECK(fabs((double)(m->n_support[0] + m->n_support[1]) - e->n_support) <= 2);
    lt_qsvm_scores s;
    LT_CHECK_OK(lt_qsvm_score(im->y + HALF, decision, HALF, m->threshold, &s));
    LT_CHECK_NEAR(s.f1, e->f1, 0.005);
    LT_CHECK_NEAR(s.accuracy, e->accuracy, 0.005);
    LT_CHECK_NEAR(s.roc_auc, e->auc, 0.001);
    LT_CHECK_NEAR(s.average_precision, e->ap, 0.001);
    lt_qsvm_destroy(q);
}

static void synthetic_rows(lt_svm_solver solver)
{
    static images easy, hard;
    lt_qsvm_synthetic(false, easy.x, easy.y);
    lt_qsvm_synthetic(true, hard.x, hard.y);
    FILE *f = vectors_open("svm_synthetic.txt");
    expected e;
    int n = 0, every = has("openblas") ? 1 : 6; /* plain eigenvalues of 400 x 400 take seconds each */
    for (; expected_read(f, &e); n++) {
        const images *im = strcmp(e.task, "easy") ? &hard : &easy;
        check_images(im, &e);
        if (n % every == every - 1) synthetic_row(im, &e, solver);
    }
    fclose(f);
    LT_CHECK_EQ_INT(n, 24);
}

LT_TEST(synthetic_images_by_smo) { synthetic_rows(LT_SVM_SMO); }
LT_TEST(synthetic_images_by_libsvm)
{
    if (!has("libsvm")) LT_SKIP("built without LIBSVM");
    synthetic_rows(LT_SVM_LIBSVM);
}

LT_TEST_MAIN()
