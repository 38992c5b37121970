/* The parts of the pipeline: scores, preparation, folds, solving, diagnostics. SPDX-License-Identifier: BSD-3-Clause */
#include "base/alloc.h"
#include "clouds.h"
#include "qkernel/svm/machine.h"
#include "qkernel/svm/scores.h"

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
    int32_t label[N];
    for (int i = 0; i < N; i++) label[i] = c.y[i];
    const lt_targets targets = { .n_classes = 2, .label = label };
    int seen[N] = { 0 };
    LT_CHECK_OK(lt_folds_make(c.x, &targets, N, &like, 4, 5, &f));
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
    LT_CHECK_OK(lt_folds_make(moved.x, &targets, N, &like, 4, 5, &g));
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
        small_gram.normalize = k != 0;
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
    small_gram.normalize = true;
    small_gram.jitter = 0.5;
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

/* ---- diagnostics ---- */

LT_TEST(diagnostics_of_a_kernel_known_by_hand)
{
    const double K[] = { 1, 0.5, 0, 0.5, 1, 0, 0, 0, 1 };
    const int32_t y[] = { 0, 0, 1 };
    const lt_targets targets = { .n_classes = 2, .label = y };
    lt_qsvm_diagnostics d = { .size = sizeof d };
    double *v, ideal[9];
    LT_CHECK_OK(lt_qsvm_diagnose(K, &targets, 3, &d, &v));
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
    LT_CHECK_OK(lt_qsvm_alignment(ideal, &targets, 3, &a));
    LT_CHECK_NEAR(a, 1, 1e-14);
    LT_CHECK(d.alignment > 0 && d.alignment < 1);
}

/* Eigenvalues -1 and 3: what no kernel has, and what rounding or shots make of one. */
LT_TEST(diagnostics_of_a_kernel_that_is_none)
{
    const double K[] = { 1, 2, 2, 1 }, zeros[4] = { 0 };
    const int32_t y[] = { 0, 1 };
    const lt_targets targets = { .n_classes = 2, .label = y };
    lt_qsvm_diagnostics d = { .size = sizeof d };
    double *v;
    LT_CHECK_OK(lt_qsvm_diagnose(K, &targets, 2, &d, &v));
    LT_CHECK_NEAR(v[0], -1, 1e-14);
    lt_free(v);
    LT_CHECK_EQ_INT(d.n_eigenvalues, 2);
    LT_CHECK_NEAR(d.eigen_min, -1, 1e-14);
    LT_CHECK_NEAR(d.eigen_max, 3, 1e-14);
    LT_CHECK_NEAR(d.negative_fraction, 0.5, 0);
    LT_CHECK_NEAR(d.negative_mass, 0.25, 1e-14);
    LT_CHECK_NEAR(d.condition, 1, 1e-13); /* of the eigenvalues that are positive */
    LT_CHECK_NEAR(d.effective_rank, 0.4, 1e-14);
    LT_CHECK_OK(lt_qsvm_diagnose(zeros, &targets, 2, &d, &v));
    LT_CHECK(d.negative_fraction == 0 && d.negative_mass == 0 && d.effective_rank == 0);
    lt_free(v);
    LT_CHECK_FAILS(lt_qsvm_diagnose((const double[]){ 1, NAN, 0, 1 }, &targets, 2, &d, &v), LT_ERR_INTERNAL, "not finite");
    LT_CHECK(!v);
}

LT_TEST_MAIN()
