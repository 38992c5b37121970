/* Support vector machines on quantum kernels: scores, properties of the pipeline, files, mistakes.
   SPDX-License-Identifier: BSD-3-Clause */
#include "base/alloc.h"
#include "base/pool.h"
#include "base/scratch.h"
#include "lathe/npy.h"
#include "lathe/qsvm.h"
#include "lathe/rng.h"
#include "lt_test.h"
#include "qkernel/svm/machine.h"
#include "qkernel/svm/scores.h"

#include <pthread.h>

/* Two clouds that overlap a little; features of very different size. */
enum { N = 60, D = 6 };
typedef struct clouds { double x[N * D]; uint8_t y[N]; } clouds;

static clouds make_clouds(uint64_t seed)
{
    clouds c;
    lt_rng r = lt_rng_seed(seed);
    for (int i = 0; i < N; i++) {
        c.y[i] = i % 3 == 0;
        for (int k = 0; k < D; k++) c.x[i * D + k] = (lt_rng_normal(&r) + (c.y[i] ? 1.2 : -0.4) * (k < 3)) * (k + 1);
    }
    return c;
}
static lt_rows rows_of(const double *x, int64_t n, int64_t d) { return (lt_rows){ x, LT_F64, n, d, 0 }; }

static lt_qsvm_options small_options(void)
{
    lt_qsvm_options opt = lt_qsvm_defaults();
    opt.n_qubits = 4;
    opt.gram.re_embed_between_layers = true;
    opt.n_trials = 5;
    return opt;
}

static lt_qsvm *fitted(const lt_qsvm_options *opt, const clouds *c)
{
    lt_qsvm *q = NULL;
    lt_rows x = rows_of(c->x, N, D);
    LT_CHECK_OK(lt_qsvm_create(NULL, opt, &q));
    LT_CHECK_OK(lt_qsvm_fit(q, &x, c->y));
    return q;
}

static void decide(lt_qsvm *q, const double *x, int64_t n, double *out)
{
    lt_rows r = rows_of(x, n, D);
    LT_CHECK_OK(lt_qsvm_decide(q, LT_QSVM_QUANTUM, &r, out));
}

/* ---- scores ---- */

LT_TEST(scores_count_ties_and_missing_classes)
{
    lt_qsvm_scores s;
    LT_CHECK_OK(lt_qsvm_score((uint8_t[]){ 0, 1, 0, 1 }, (double[]){ -1, 1, 0.5, 0.5 }, 4, 0, &s));
    LT_CHECK(s.true_positive == 2 && s.false_positive == 1 && s.true_negative == 1 && s.false_negative == 0);
    LT_CHECK_NEAR(s.f1, 0.8, 1e-15);
    LT_CHECK_NEAR(s.roc_auc, 0.875, 1e-15); /* the tie of rows 2 and 3 counts half */
    LT_CHECK_NEAR(s.average_precision, (1 + 2.0 / 3) / 2, 1e-15);
    LT_CHECK_NEAR(s.balanced_accuracy, 0.75, 1e-15);
    LT_CHECK_OK(lt_qsvm_score((uint8_t[]){ 0, 0 }, (double[]){ -1, -2 }, 2, 0, &s));
    LT_CHECK(s.f1 == 0 && s.precision == 0 && s.recall == 0 && s.accuracy == 1 && s.balanced_accuracy == 1);
    LT_CHECK(isnan(s.roc_auc) && isnan(s.average_precision));
    LT_CHECK_OK(lt_qsvm_score((uint8_t[]){ 1, 1 }, (double[]){ 1, -2 }, 2, 0, &s));
    LT_CHECK(s.balanced_accuracy == 0.5 && isnan(s.roc_auc));
    LT_CHECK_FAILS(lt_qsvm_score((uint8_t[]){ 2 }, (double[]){ 1 }, 1, 0, &s), LT_ERR_ARGUMENT, "row 0 is 2");
    LT_CHECK_FAILS(lt_qsvm_score((uint8_t[]){ 1 }, (double[]){ NAN }, 1, 0, &s), LT_ERR_ARGUMENT, "not a number");
    LT_CHECK_FAILS(lt_qsvm_score(NULL, NULL, 0, 0, &s), LT_ERR_ARGUMENT, "at least one row");
}

LT_TEST(roc_encloses_the_area_the_score_says)
{
    enum { M = 200 };
    uint8_t y[M];
    double d[M], x[M + 1], t[M + 1], area = 0;
    lt_rng r = lt_rng_seed(3);
    for (int i = 0; i < M; i++) {
        y[i] = lt_rng_below(&r, 2) != 0;
        d[i] = floor(4 * (lt_rng_normal(&r) + y[i])); /* coarse: many ties */
    }
    int64_t n;
    lt_qsvm_scores s;
    LT_CHECK_OK(lt_qsvm_roc(y, d, M, x, t, &n));
    LT_CHECK_OK(lt_qsvm_score(y, d, M, 0, &s));
    LT_CHECK(x[0] == 0 && t[0] == 0 && x[n - 1] == 1 && t[n - 1] == 1);
    for (int64_t i = 1; i < n; i++) {
        LT_CHECK(x[i] >= x[i - 1] && t[i] >= t[i - 1]);
        area += (x[i] - x[i - 1]) * (t[i] + t[i - 1]) / 2;
    }
    LT_CHECK_NEAR(area, s.roc_auc, 1e-14);
}

LT_TEST(threshold_moves_only_for_a_better_f1)
{
    LT_CHECK(lt_best_threshold((uint8_t[]){ 0, 1 }, (double[]){ -1, 1 }, 2) == 0);
    double t = lt_best_threshold((uint8_t[]){ 0, 0, 1, 1 }, (double[]){ -4, -3, -2, -1 }, 4);
    LT_CHECK(t >= -3 && t < -2);
}

/* ---- preparation ---- */

/* The same components whether there are more rows than features or fewer, and whatever the sign LAPACK gives. */
LT_TEST(components_are_orthonormal_signed_and_sorted)
{
    enum { ROWS = 9, FEATURES = 20, Q = 4 };
    double x[ROWS * FEATURES], flipped[ROWS * FEATURES], z[ROWS * Q];
    lt_rng r = lt_rng_seed(11);
    for (int i = 0; i < ROWS * FEATURES; i++) flipped[i] = -(x[i] = lt_rng_normal(&r));
    lt_prepare p, f;
    LT_CHECK_OK(lt_prepare_fit(x, ROWS, FEATURES, Q, true, &p));
    LT_CHECK_OK(lt_prepare_fit(flipped, ROWS, FEATURES, Q, true, &f));
    lt_prepare_apply(&p, x, ROWS, z);
    double before = INFINITY;
    for (int a = 0; a < Q; a++) {
        double largest = 0, low = INFINITY, high = -INFINITY;
        for (int b = 0; b <= a; b++) {
            double dot = 0;
            for (int k = 0; k < FEATURES; k++) dot += p.components[a * FEATURES + k] * p.components[b * FEATURES + k];
            LT_CHECK_NEAR(dot, a == b, 1e-12);
        }
        for (int k = 0; k < FEATURES; k++) {
            double c = p.components[a * FEATURES + k];
            if (fabs(c) > fabs(largest)) largest = c;
            LT_CHECK_NEAR(f.components[a * FEATURES + k], c, 1e-10); /* the sign follows the component, not the data */
        }
        LT_CHECK(largest > 0);
        for (int i = 0; i < ROWS; i++) low = fmin(low, z[i * Q + a]), high = fmax(high, z[i * Q + a]);
        LT_CHECK(low == 0 && high == 1);
        double variance = 0, mean = 0;
        for (int i = 0; i < ROWS; i++) mean += z[i * Q + a] / ROWS;
        for (int i = 0; i < ROWS; i++) variance += pow((z[i * Q + a] - mean) * p.width[a], 2);
        LT_CHECK(variance <= before);
        before = variance;
    }
    lt_prepare_release(&p);
    lt_prepare_release(&f);
    /* nine rows span eight directions */
    LT_CHECK_FAILS(lt_prepare_fit(x, ROWS, FEATURES, 9, true, &p), LT_ERR_ARGUMENT, "span 8 directions, too few for 9 qubits");
}

LT_TEST(features_that_never_change_become_zero)
{
    double x[] = { 1, 5, 2, 5, 3, 5 }, z[6], fresh[2] = { 4, 9 }, out[2];
    lt_prepare p;
    LT_CHECK_OK(lt_prepare_fit(x, 3, 2, 2, true, &p));
    lt_prepare_apply(&p, x, 3, z);
    LT_CHECK(z[0] == 0 && z[2] == 0.5 && z[4] == 1 && z[1] == 0 && z[3] == 0 && z[5] == 0);
    lt_prepare_apply(&p, fresh, 1, out);
    LT_CHECK(out[0] == 1.5 && out[1] == 0); /* new rows may leave the range */
    lt_prepare_release(&p);
}

LT_TEST(folds_are_stratified_disjoint_and_learn_from_their_training_rows)
{
    clouds c = make_clouds(1);
    lt_prepare like = { .n_features = D, .n_outputs = 3, .scales = true };
    lt_folds f;
    int seen[N] = { 0 };
    LT_CHECK_OK(lt_folds_make(c.x, c.y, N, &like, 4, 5, &f));
    for (int64_t k = 0; k < 4; k++) {
        const lt_fold *fold = &f.fold[k];
        int64_t positives = 0;
        LT_CHECK_EQ_INT(fold->n_train + fold->n_test, N);
        LT_CHECK_EQ_INT(fold->n_test, N / 4);
        for (int64_t i = 0; i < N; i++) {
            LT_CHECK(fold->y[i] == c.y[fold->row[i]]);
            if (i < fold->n_train) continue;
            seen[fold->row[i]]++;
            positives += fold->y[i];
        }
        LT_CHECK_EQ_INT(positives, 5); /* 20 of 60 */
        for (int j = 0; j < 3; j++) { /* scaled by the training rows alone */
            double low = INFINITY, high = -INFINITY;
            for (int64_t i = 0; i < fold->n_train; i++) low = fmin(low, fold->z[i * 3 + j]), high = fmax(high, fold->z[i * 3 + j]);
            LT_CHECK(low == 0 && high == 1);
        }
    }
    for (int i = 0; i < N; i++) LT_CHECK_EQ_INT(seen[i], 1);
    /* Held-out rows may be anything: what the training rows become does not change. */
    clouds moved = c;
    lt_folds g;
    for (int64_t i = f.fold[0].n_train; i < N; i++)
        for (int k = 0; k < D; k++) moved.x[f.fold[0].row[i] * D + k] += 1000;
    LT_CHECK_OK(lt_folds_make(moved.x, c.y, N, &like, 4, 5, &g));
    LT_CHECK(!memcmp(f.fold[0].z, g.fold[0].z, (size_t)(3 * f.fold[0].n_train) * sizeof(double)));
    lt_folds_release(&f);
    lt_folds_release(&g);
}

/* ---- solving ---- */

/* Free coefficients lie on the margin, others on the right side of it. */
LT_TEST(optimality_conditions_hold)
{
    clouds c = make_clouds(2);
    lt_qsvm_options opt = small_options();
    opt.C = 2;
    opt.n_folds = 0;
    opt.tolerance = 1e-9;
    opt.solver = LT_SVM_SMO;
    lt_qsvm *q = fitted(&opt, &c);
    const lt_qsvm_fitted *m = &lt_qsvm_get_info(q)->machine[LT_QSVM_QUANTUM];
    const double *beta = lt_qsvm_coefficients(q, NULL), *K = lt_qsvm_kernel(q, NULL);
    double sum = 0;
    for (int i = 0; i < N; i++) {
        double f = m->bias, y = c.y[i] ? 1 : -1, alpha = y * beta[i];
        for (int j = 0; j < N; j++) f += beta[j] * K[i * N + j];
        sum += beta[i];
        LT_CHECK(alpha >= 0 && alpha <= m->cost[c.y[i]]);
        if (alpha == 0) LT_CHECK(y * f >= 1 - 1e-8);
        else if (alpha == m->cost[c.y[i]]) LT_CHECK(y * f <= 1 + 1e-8);
        else LT_CHECK_NEAR(y * f, 1, 1e-8);
    }
    LT_CHECK_NEAR(sum, 0, 1e-12);
    LT_CHECK(m->converged && m->solver == LT_SVM_SMO);
    lt_qsvm_destroy(q);
}

LT_TEST(a_limit_of_iterations_is_reported)
{
    clouds c = make_clouds(2);
    lt_qsvm_options opt = small_options();
    opt.C = 50;
    opt.n_folds = 0;
    opt.max_iterations = 3;
    lt_qsvm *q = fitted(&opt, &c);
    const lt_qsvm_info *i = lt_qsvm_get_info(q);
    LT_CHECK(!i->machine[0].converged && i->machine[0].iterations == 3 && i->machine[0].solver == LT_SVM_SMO);
    bool said = false;
    for (int k = 0; k < i->n_advice; k++) said = said || strstr(i->advice[k], "without meeting the tolerance");
    LT_CHECK(said);
    lt_qsvm_destroy(q);
}

LT_TEST(centring_and_normalising_leave_decisions_alone)
{
    clouds c = make_clouds(3), t = make_clouds(4);
    double plain[N], other[N];
    lt_qsvm_options opt = small_options();
    opt.C = 3;
    opt.tolerance = 1e-11;
    opt.solver = LT_SVM_SMO;
    lt_qsvm *q = fitted(&opt, &c);
    lt_qsvm_scores cv = lt_qsvm_get_info(q)->machine[0].best.mean;
    decide(q, t.x, N, plain);
    lt_qsvm_destroy(q);
    for (int k = 0; k < 3; k++) {
        opt.center = k != 1;
        opt.gram.normalize = k != 0;
        q = fitted(&opt, &c);
        LT_CHECK_NEAR(lt_qsvm_get_info(q)->machine[0].best.mean.f1, cv.f1, 1e-12);
        LT_CHECK_NEAR(lt_qsvm_get_info(q)->machine[0].best.mean.roc_auc, cv.roc_auc, 1e-12);
        decide(q, t.x, N, other);
        for (int i = 0; i < N; i++) LT_CHECK_NEAR(other[i], plain[i], 1e-7);
        lt_qsvm_destroy(q);
    }
}

/* With jitter j, training entries off the diagonal become K / (1 + j): cross entries must, too. A row of the training
   set met again as a new row differs by the jitter on its own diagonal only. */
LT_TEST(jitter_shrinks_new_rows_like_training_rows)
{
    clouds c = make_clouds(5);
    lt_qsvm_options opt = small_options();
    opt.C = 3;
    opt.n_folds = 0;
    opt.gram.normalize = true;
    opt.gram.jitter = 0.5;
    lt_qsvm *q = fitted(&opt, &c);
    const double *K = lt_qsvm_kernel(q, NULL), *beta = lt_qsvm_coefficients(q, NULL);
    double got[N];
    decide(q, c.x, N, got);
    for (int i = 0; i < N; i++) {
        double f = lt_qsvm_get_info(q)->machine[0].bias;
        for (int j = 0; j < N; j++) f += beta[j] * (i == j ? 1 / 1.5 : K[i * N + j]);
        LT_CHECK_NEAR(got[i], f, 1e-10);
    }
    lt_qsvm_destroy(q);
}

/* ---- the whole ---- */

static bool same_machine(lt_qsvm *a, lt_qsvm *b, const double *x)
{
    double da[N], db[N];
    decide(a, x, N, da);
    decide(b, x, N, db);
    const lt_qsvm_fitted *ma = lt_qsvm_get_info(a)->machine, *mb = lt_qsvm_get_info(b)->machine;
    return !memcmp(da, db, sizeof da) && ma->C == mb->C && ma->threshold == mb->threshold && !memcmp(&ma->best.mean, &mb->best.mean, sizeof ma->best.mean);
}

LT_TEST(same_seed_same_bits_whatever_the_threads)
{
    clouds c = make_clouds(6), t = make_clouds(7);
    lt_qsvm_options opt = small_options();
    opt.tune_threshold = opt.compare_rbf = true;
    lt_qsvm *first = fitted(&opt, &c);
    LT_CHECK_OK(lt_pool_shared_resize(1));
    lt_qsvm *second = fitted(&opt, &c);
    LT_CHECK_OK(lt_pool_shared_resize(3));
    lt_qsvm *third = fitted(&opt, &c);
    LT_CHECK_OK(lt_pool_shared_resize(0));
    LT_CHECK(same_machine(first, second, t.x) && same_machine(first, third, t.x));
    LT_CHECK(lt_qsvm_get_info(first)->machine[1].gamma == lt_qsvm_get_info(third)->machine[1].gamma);
    opt.seed = 1;
    lt_qsvm *other = fitted(&opt, &c);
    LT_CHECK(lt_qsvm_get_info(other)->machine[0].C != lt_qsvm_get_info(first)->machine[0].C);
    lt_rows x = rows_of(c.x, N, D);
    LT_CHECK_OK(lt_qsvm_fit(second, &x, c.y)); /* a handle may be used again */
    LT_CHECK(same_machine(first, second, t.x));
    lt_qsvm_destroy(first);
    lt_qsvm_destroy(second);
    lt_qsvm_destroy(third);
    lt_qsvm_destroy(other);
}

LT_TEST(trials_cover_the_range_of_c)
{
    clouds c = make_clouds(8);
    lt_qsvm_options opt = small_options();
    opt.C_low = 0.01;
    opt.C_high = 10;
    opt.n_trials = 6;
    lt_qsvm *q = fitted(&opt, &c);
    int64_t n;
    const lt_qsvm_trial *t = lt_qsvm_trials(q, LT_QSVM_QUANTUM, &n);
    LT_CHECK_EQ_INT(n, 6);
    double best = -1;
    for (int64_t i = 0; i < n; i++) {
        LT_CHECK(t[i].C >= 0.01 * pow(1000, (double)i / 6) * (1 - 1e-12) && t[i].C <= 0.01 * pow(1000, (double)(i + 1) / 6) * (1 + 1e-12));
        best = fmax(best, t[i].mean.f1);
    }
    LT_CHECK(lt_qsvm_get_info(q)->machine[0].best.mean.f1 == best);
    lt_qsvm_destroy(q);
}

LT_TEST(select_finds_a_kernel_that_has_to_do_with_the_labels)
{
    clouds c = make_clouds(9);
    lt_qsvm_options opt = small_options();
    opt.gram.angle_scale = 0.01; /* collapsed */
    opt.gram.re_embed_between_layers = false;
    lt_qsvm *poor = fitted(&opt, &c);
    const lt_qsvm_info *i = lt_qsvm_get_info(poor);
    bool said = false;
    for (int k = 0; k < i->n_advice; k++) said = said || strstr(i->advice[k], "raise --angle-scale");
    LT_CHECK(said);
    double before = i->machine[0].best.mean.f1;
    opt.select = true;
    lt_qsvm *good = fitted(&opt, &c);
    int64_t n;
    const lt_qsvm_candidate *k = lt_qsvm_candidates(good, &n);
    LT_CHECK(n > 20);
    for (int64_t j = 1; j < n; j++) LT_CHECK(k[j].alignment <= k[j - 1].alignment);
    i = lt_qsvm_get_info(good);
    LT_CHECK(i->machine[0].best.mean.f1 > before && i->angle_scale > 0.1);
    LT_CHECK(!isnan(k[0].f1) && isnan(k[n - 1].f1));
    lt_qsvm_destroy(poor);
    lt_qsvm_destroy(good);
}

LT_TEST(diagnostics_of_a_kernel_known_by_hand)
{
    const double K[] = { 1, 0.5, 0, 0.5, 1, 0, 0, 0, 1 };
    const uint8_t y[] = { 0, 0, 1 };
    lt_qsvm_diagnostics d;
    double *v, ideal[9];
    LT_CHECK_OK(lt_qsvm_diagnose(K, y, 3, &d, &v));
    LT_CHECK_NEAR(v[0], 0.5, 1e-14);
    LT_CHECK_NEAR(v[1], 1, 1e-14);
    LT_CHECK_NEAR(v[2], 1.5, 1e-14);
    lt_free(v);
    LT_CHECK_NEAR(d.effective_rank, 9 / 3.5, 1e-13);
    LT_CHECK_NEAR(d.condition, 3, 1e-13);
    LT_CHECK_NEAR(d.frobenius, sqrt(3.5), 1e-14);
    LT_CHECK(d.negative_fraction == 0 && d.finite_fraction == 1 && d.max_asymmetry == 0 && d.diagonal.std == 0);
    LT_CHECK_NEAR(d.off_diagonal.mean, 1.0 / 6, 1e-14);
    LT_CHECK(d.same_class.mean == 0.5 && d.other_class.mean == 0 && d.class_gap == 0.5);
    for (int i = 0; i < 9; i++) ideal[i] = y[i / 3] == y[i % 3];
    double a;
    LT_CHECK_OK(lt_qsvm_alignment(ideal, y, 3, &a));
    LT_CHECK_NEAR(a, 1, 1e-14);
    LT_CHECK(d.alignment > 0 && d.alignment < 1);
}

/* ---- files ---- */

static bool same_bytes(const char *a, const char *b)
{
    FILE *f = fopen(a, "rb"), *g = fopen(b, "rb");
    bool same = f && g;
    for (int x = 0; same && x != EOF;) same = (x = getc(f)) == getc(g);
    if (f) fclose(f);
    if (g) fclose(g);
    return same;
}

LT_TEST(a_stored_machine_decides_alike)
{
    clouds c = make_clouds(10), t = make_clouds(11);
    for (int k = 0; k < 4; k++) {
        lt_qsvm_options opt = small_options();
        opt.n_qubits = k == 0 ? D : 4; /* without and with PCA */
        opt.center = k == 1;
        opt.gram.normalize = k == 2;
        opt.gram.jitter = k == 2 ? 0.1 : 0;
        opt.gram.entangler = k == 3 ? LT_ENTANGLER_STRONG : LT_ENTANGLER_BASIC;
        opt.gram.embed_mode = k == 3 ? LT_EMBED_ANGLE : LT_EMBED_RYRZ;
        opt.tune_threshold = true;
        opt.class_name[0] = "no";
        opt.class_name[1] = "yes";
        lt_qsvm *q = fitted(&opt, &c), *r;
        double a[N], b[N];
        decide(q, t.x, N, a);
        LT_CHECK_OK(lt_qsvm_save(q, scratch("m.qsvm")));
        LT_CHECK_OK(lt_qsvm_load(NULL, scratch("m.qsvm"), &r));
        decide(r, t.x, N, b);
        LT_CHECK(!memcmp(a, b, sizeof a));
        const lt_qsvm_info *i = lt_qsvm_get_info(r), *j = lt_qsvm_get_info(q);
        LT_CHECK(!strcmp(i->class_name[1], "yes") && i->machine[0].threshold == j->machine[0].threshold && i->n_features == D);
        LT_CHECK(i->range == j->range && i->range == (k == 3 ? LT_QSVM_RANGE_PI : LT_QSVM_RANGE_UNIT));
        LT_CHECK_OK(lt_qsvm_save(r, scratch("again.qsvm"))); /* a copy of a copy is the same file */
        LT_CHECK(same_bytes(scratch("m.qsvm"), scratch("again.qsvm")));
        lt_qsvm_destroy(q);
        lt_qsvm_destroy(r);
    }
}

LT_TEST(files_that_are_no_machines_are_refused)
{
    lt_qsvm *r;
    double one = 1;
    int64_t two = 2;
    lt_array a[2] = { { LT_I64, lt_shape0(), &two }, { LT_F64, lt_shape0(), &one } };
    LT_CHECK_FAILS(lt_qsvm_load(NULL, scratch("missing"), &r), LT_ERR_IO, "missing");
    LT_CHECK(lt_npy_write(scratch("a.npy"), LT_F64, &a[1].shape, &one) == LT_OK);
    LT_CHECK_FAILS(lt_qsvm_load(NULL, scratch("a.npy"), &r), LT_ERR_FORMAT, "a.npy");
    LT_CHECK_OK(lt_npz_write(scratch("b"), 1, (const char *[]){ "format" }, a));
    LT_CHECK_FAILS(lt_qsvm_load(NULL, scratch("b"), &r), LT_ERR_FORMAT, "'format' is out of range");
    LT_CHECK_OK(lt_npz_write(scratch("b"), 1, (const char *[]){ "format" }, a + 1));
    LT_CHECK_FAILS(lt_qsvm_load(NULL, scratch("b"), &r), LT_ERR_FORMAT, "another type");
    two = 1;
    LT_CHECK_OK(lt_npz_write(scratch("b"), 1, (const char *[]){ "format" }, a));
    LT_CHECK_FAILS(lt_qsvm_load(NULL, scratch("b"), &r), LT_ERR_FORMAT, "embed");
    LT_CHECK(r == NULL);
}

/* ---- mistakes ---- */

LT_TEST(options_that_make_no_sense_are_refused)
{
    lt_qsvm *q;
    static const struct { const char *name, *value, *part; } bad[] = {
        { "c", "0", "'c'" }, { "c", "-1", "'c'" }, { "tolerance", "0", "tolerance" }, { "folds", "-1", "folds" }, { "qubits", "-2", "qubits" },
        { "weight-0", "0", "weight-0" }, { "solver", "sgd", "solver" }, { "range", "wide", "range" },
    };
    lt_qsvm_options opt = lt_qsvm_defaults();
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        LT_CHECK_FAILS(lt_options_set(lt_qsvm_options_table(), bad[i].name, bad[i].value, &opt), LT_ERR_ARGUMENT, bad[i].part);
#define REFUSED(change, part) do { opt = lt_qsvm_defaults(); change; LT_CHECK_FAILS(lt_qsvm_create(NULL, &opt, &q), LT_ERR_ARGUMENT, part); LT_CHECK(!q); } while (0)
    double w[6] = { 0 };
    REFUSED(opt.C = -1, "'c'");
    REFUSED(opt.C = NAN, "'c'");
    REFUSED(opt.C_low = 20; opt.C_high = 10, "from 20 to 10");
    REFUSED(opt.n_folds = 1, "1 fold");
    REFUSED(opt.n_folds = 0, "give C");
    REFUSED(opt.n_folds = 0; opt.C = 1; opt.select = true, "need folds");
    REFUSED(opt.gram.packed = true, "packed");
    REFUSED(opt.gram.return_dtype = LT_GRAM_FLOAT32, "return_dtype");
    REFUSED(opt.class_name[0] = "", "called ''");
    REFUSED(opt.weights = ((lt_weights){ w, 2, 3 }); opt.n_qubits = 4, "4 qubits asked for");
    REFUSED(opt.weights = ((lt_weights){ w, 2, 3 }); opt.n_layers = 3, "only 2");
    REFUSED(opt.weights = ((lt_weights){ w, 0, 3 }), "0 layers");
#undef REFUSED
    LT_CHECK_FAILS(lt_qsvm_create(NULL, NULL, &q), LT_ERR_ARGUMENT, "lt_qsvm_defaults");
    lt_svm_solver solver;
    opt = lt_qsvm_defaults();
    opt.solver = LT_SVM_LIBSVM;
    opt.max_iterations = 5;
    if (lt_svm_resolve(LT_SVM_LIBSVM, 0, &solver)) LT_CHECK_FAILS(lt_qsvm_create(NULL, &opt, &q), LT_ERR_UNSUPPORTED, "built without");
    else LT_CHECK_FAILS(lt_qsvm_create(NULL, &opt, &q), LT_ERR_ARGUMENT, "takes no limit");
}

LT_TEST(rows_and_labels_that_make_no_sense_are_refused)
{
    clouds c = make_clouds(12);
    lt_qsvm_options opt = small_options();
    lt_qsvm *q;
    double d[N];
    lt_rows x = rows_of(c.x, N, D), narrow = rows_of(c.x, N, 3), wrong = x, none = rows_of(c.x, 0, D);
    opt.class_name[0] = "left";
    LT_CHECK_OK(lt_qsvm_create(NULL, &opt, &q));
    LT_CHECK_FAILS(lt_qsvm_decide(q, LT_QSVM_QUANTUM, &x, d), LT_ERR_ARGUMENT, "not been trained");
    LT_CHECK_FAILS(lt_qsvm_save(q, scratch("x")), LT_ERR_ARGUMENT, "not been trained");
    LT_CHECK(!lt_qsvm_get_info(q));
    LT_CHECK_FAILS(lt_qsvm_fit(q, &narrow, c.y), LT_ERR_ARGUMENT, "4 qubits, but rows have 3 features");
    LT_CHECK_FAILS(lt_qsvm_fit(q, &none, c.y), LT_ERR_ARGUMENT, "at least one row");
    LT_CHECK_FAILS(lt_qsvm_fit(q, &x, NULL), LT_ERR_ARGUMENT, "no labels");
    wrong.dtype = LT_I32;
    LT_CHECK_FAILS(lt_qsvm_fit(q, &wrong, c.y), LT_ERR_ARGUMENT, "type i32");
    uint8_t one[N] = { 0 }, three[N] = { 0, 1, 2 }, few[N] = { 1 };
    LT_CHECK_FAILS(lt_qsvm_fit(q, &x, one), LT_ERR_ARGUMENT, "all 60 training labels are 'left'");
    LT_CHECK_FAILS(lt_qsvm_fit(q, &x, three), LT_ERR_ARGUMENT, "row 2 is 2");
    LT_CHECK_FAILS(lt_qsvm_fit(q, &x, few), LT_ERR_ARGUMENT, "class '1' has 1 training rows, too few for 3 folds");
    LT_CHECK_OK(lt_qsvm_fit(q, &x, c.y));
    LT_CHECK_FAILS(lt_qsvm_decide(q, LT_QSVM_QUANTUM, &narrow, d), LT_ERR_ARGUMENT, "3 columns, but the machine was trained on 6");
    LT_CHECK_FAILS(lt_qsvm_decide(q, LT_QSVM_RBF, &x, d), LT_ERR_ARGUMENT, "no such machine");
    c.x[2 * D + 5] = NAN;
    LT_CHECK_FAILS(lt_qsvm_decide(q, LT_QSVM_QUANTUM, &x, d), LT_ERR_ARGUMENT, "row 2, column 5");
    LT_CHECK_FAILS(lt_qsvm_fit(q, &x, c.y), LT_ERR_ARGUMENT, "row 2, column 5");
    LT_CHECK(!lt_qsvm_get_info(q)); /* what the last fit left is gone */
    lt_qsvm_destroy(q);
    lt_qsvm_destroy(NULL);
}

static bool stop_after(void *ctx, const char *step, int64_t done, int64_t total)
{
    (void)step, (void)done, (void)total;
    return --*(int *)ctx > 0;
}

LT_TEST(a_run_can_be_stopped_at_every_step)
{
    clouds c = make_clouds(13);
    lt_rows x = rows_of(c.x, N, D);
    lt_qsvm_options opt = small_options();
    opt.select = opt.compare_rbf = true;
    int left, n = 0;
    opt.progress = stop_after;
    opt.progress_ctx = &left;
    int64_t live = lt_alloc_live();
    for (lt_status s = LT_ERR_CANCELLED; s; n++) {
        lt_qsvm *q;
        left = n;
        LT_CHECK_OK(lt_qsvm_create(NULL, &opt, &q));
        s = lt_qsvm_fit(q, &x, c.y);
        LT_CHECK(s == (left > 0 ? LT_OK : LT_ERR_CANCELLED));
        lt_qsvm_destroy(q);
        if (n == 0) live = lt_alloc_live(); /* the first run made the shared pool and device */
        LT_CHECK_EQ_INT(lt_alloc_live(), live);
        if (n > 200) break;
    }
    LT_CHECK(n > 40 && n < 200);
}

LT_TEST(failing_allocations_leave_nothing)
{
    clouds c = make_clouds(14);
    lt_rows x = rows_of(c.x, N, D);
    lt_qsvm_options opt = small_options();
    opt.compare_rbf = true;
    opt.n_trials = 2;
    opt.solver = LT_SVM_SMO;
    lt_qsvm_destroy(fitted(&opt, &c));
    LT_CHECK_OK(lt_pool_shared_resize(1)); /* so that the n-th allocation is the same one every time */
    int64_t live = lt_alloc_live(), n = lt_alloc_count();
    lt_qsvm_destroy(fitted(&opt, &c));
    n = lt_alloc_count() - n;
    for (int64_t k = 1; k <= n; k += 1 + k / 40) {
        lt_qsvm *q;
        lt_alloc_fail_at(k);
        lt_status s = lt_qsvm_create(NULL, &opt, &q);
        if (!s) s = lt_qsvm_fit(q, &x, c.y);
        lt_alloc_fail_at(0);
        LT_CHECK(s == LT_ERR_MEMORY || s == LT_OK); /* some callees do without what they could not get */
        lt_qsvm_destroy(q);
        if (lt_alloc_live() != live) LT_TEST_FAIL("allocation %lld of %lld failing leaks", (long long)k, (long long)n);
        live = lt_alloc_live();
    }
    LT_CHECK_OK(lt_pool_shared_resize(0));
}

typedef struct job { clouds c; double decision[N]; } job;
static void *train(void *ctx)
{
    job *j = ctx;
    lt_qsvm_options opt = small_options();
    lt_qsvm *q = fitted(&opt, &j->c);
    decide(q, j->c.x, N, j->decision);
    lt_qsvm_destroy(q);
    return NULL;
}

LT_TEST(two_threads_train_at_once)
{
    static job alone[2], together[2];
    pthread_t thread[2];
    for (int i = 0; i < 2; i++) {
        alone[i].c = together[i].c = make_clouds((uint64_t)(20 + i));
        train(&alone[i]);
    }
    for (int i = 0; i < 2; i++) pthread_create(&thread[i], NULL, train, &together[i]);
    for (int i = 0; i < 2; i++) pthread_join(thread[i], NULL);
    for (int i = 0; i < 2; i++) LT_CHECK(!memcmp(alone[i].decision, together[i].decision, sizeof alone[i].decision));
}

LT_TEST_MAIN()
