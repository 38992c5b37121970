/* Machines of several classes, of numbers and of one class; weights, probabilities, kernels computed before, circuits; kept and read back.
   SPDX-License-Identifier: BSD-3-Clause */
#include "base/pool.h"
#include "base/scratch.h"
#include "clouds.h"
#include "lathe/npy.h"
#include "qkernel/svm/machines/machines.h"

enum { CLASSES = 4, PAIRS = CLASSES * (CLASSES - 1) / 2 };
typedef struct many { double x[N * D], value[N]; int32_t label[N]; } many;

/* Four clouds, and a value that follows from the features. */
static many make_many(uint64_t seed)
{
    many m;
    lt_rng r = lt_rng_seed(seed);
    for (int i = 0; i < N; i++) {
        m.label[i] = i % CLASSES;
        for (int k = 0; k < D; k++) m.x[i * D + k] = lt_rng_normal(&r) * 0.5 + (k == m.label[i] ? 2 : 0);
        m.value[i] = sin(m.x[i * D]) + 0.5 * m.x[i * D + 1];
    }
    return m;
}

static const char *const names[CLASSES] = { "ant", "bee", "cat", "dog" };

static lt_qsvm_options many_options(void)
{
    lt_qsvm_options opt = small_options();
    opt.n_qubits = 0;
    opt.n_classes = CLASSES;
    opt.class_names = names;
    return opt;
}

static lt_qsvm *fitted_to(const lt_qsvm_options *opt, const double *x, int64_t columns, const int32_t *label, const double *value, const double *weight)
{
    lt_qsvm *q = NULL;
    LT_CHECK_OK(lt_qsvm_create(NULL, opt, &q));
    LT_CHECK_OK(lt_qsvm_fit_targets(q, &(lt_rows){ x, LT_F64, N, columns, 0 }, &(lt_qsvm_targets){ sizeof(lt_qsvm_targets), label, value, weight }));
    return q;
}

static void decide_many(lt_qsvm *q, const double *x, int64_t columns, double *out) { LT_CHECK_OK(lt_qsvm_decide_pairs(q, LT_QSVM_QUANTUM, &(lt_rows){ x, LT_F64, N, columns, 0 }, out)); }

/* ---- several classes ---- */

LT_TEST(several_classes_are_learnt_by_pairs)
{
    many m = make_many(1), t = make_many(2);
    lt_qsvm_options opt = many_options();
    opt.probability = true;
    lt_qsvm *q = fitted_to(&opt, m.x, D, m.label, NULL, NULL);
    const lt_qsvm_info *i = lt_qsvm_get_info(q);
    LT_CHECK(i->n_classes == CLASSES && i->n_machines == PAIRS && !strcmp(i->class_names[3], "dog") && i->class_counts[2] == N / CLASSES);
    double decision[N * PAIRS], p[N * CLASSES];
    int32_t label[N];
    int64_t votes[CLASSES], confusion[CLASSES * CLASSES], hits = 0;
    decide_many(q, t.x, D, decision);
    LT_CHECK_OK(lt_qsvm_labels(q, LT_QSVM_QUANTUM, decision, N, label));
    LT_CHECK_OK(lt_qsvm_probabilities(q, decision, N, p));
    int agree = 0;
    for (int k = 0; k < N; k++) {
        double sum = 0;
        int most = 0;
        hits += label[k] == t.label[k];
        LT_CHECK_EQ_INT(label[k], lt_voters_elect(decision + k * PAIRS, CLASSES, votes));
        for (int c = 0; c < CLASSES; c++) {
            LT_CHECK(p[k * CLASSES + c] >= 0 && p[k * CLASSES + c] <= 1);
            sum += p[k * CLASSES + c];
            if (p[k * CLASSES + c] > p[k * CLASSES + most]) most = c;
        }
        LT_CHECK_NEAR(sum, 1, 1e-9);
        agree += most == label[k];
    }
    LT_CHECK(hits > 0.8 * N && agree > 0.9 * N);
    lt_qsvm_scores s;
    LT_CHECK_OK(lt_qsvm_score_labels(t.label, label, N, CLASSES, &s, confusion));
    LT_CHECK_NEAR(s.accuracy, (double)hits / N, 1e-15);
    LT_CHECK_EQ_INT(confusion[0] + confusion[1] + confusion[2] + confusion[3], N / CLASSES);
    LT_CHECK_FAILS(lt_qsvm_decide(q, LT_QSVM_QUANTUM, &(lt_rows){ t.x, LT_F64, N, D, 0 }, decision), LT_ERR_ARGUMENT, "lt_qsvm_decide_pairs");
    LT_CHECK(i->machine[0].best.mean.f1 > 0.7 && isnan(i->machine[0].best.mean.roc_auc));
    lt_qsvm_destroy(q);
}

/* The machine of a pair is the machine of two classes trained on the rows of that pair alone. */
LT_TEST(a_pair_is_a_machine_of_two_classes)
{
    many m = make_many(3);
    double K[N * N], part[N * N], whole[N * PAIRS], two[N];
    lt_qsvm_options opt = many_options();
    opt.n_folds = 0;
    opt.C = 2;
    opt.balanced = false;
    opt.tolerance = 1e-10;
    opt.solver = LT_SVM_SMO;
    lt_qsvm *q = fitted_to(&opt, m.x, D, m.label, NULL, NULL);
    int64_t n;
    memcpy(K, lt_qsvm_kernel(q, &n), sizeof K);
    decide_many(q, m.x, D, whole);
    int rows[N], count = 0;
    uint8_t y[N];
    for (int i = 0; i < N; i++)
        if (m.label[i] == 1 || m.label[i] == 3) {
            y[count] = m.label[i] == 3;
            rows[count++] = i;
        }
    for (int i = 0; i < count; i++)
        for (int j = 0; j < count; j++) part[i * count + j] = K[rows[i] * N + rows[j]];
    lt_qsvm_options pair = opt;
    pair.n_classes = 0;
    pair.class_names = NULL;
    pair.precomputed = true;
    lt_qsvm *r;
    LT_CHECK_OK(lt_qsvm_create(NULL, &pair, &r));
    LT_CHECK_OK(lt_qsvm_fit(r, &(lt_rows){ part, LT_F64, count, count, 0 }, y));
    LT_CHECK_OK(lt_qsvm_decide(r, LT_QSVM_QUANTUM, &(lt_rows){ part, LT_F64, count, count, 0 }, two));
    for (int i = 0; i < count; i++) LT_CHECK_NEAR(whole[rows[i] * PAIRS + 4], two[i], 1e-8); /* (0,1) (0,2) (0,3) (1,2) (1,3) */
    lt_qsvm_destroy(q);
    lt_qsvm_destroy(r);
}

LT_TEST(bits_of_many_classes_do_not_depend_on_threads)
{
    many m = make_many(4);
    double a[N * PAIRS], b[N * PAIRS];
    lt_qsvm_options opt = many_options();
    opt.probability = true;
    LT_CHECK_OK(lt_pool_shared_resize(1));
    lt_qsvm *q = fitted_to(&opt, m.x, D, m.label, NULL, NULL);
    LT_CHECK_OK(lt_pool_shared_resize(3));
    lt_qsvm *r = fitted_to(&opt, m.x, D, m.label, NULL, NULL);
    LT_CHECK_OK(lt_pool_shared_resize(0));
    decide_many(q, m.x, D, a);
    decide_many(r, m.x, D, b);
    LT_CHECK(!memcmp(a, b, sizeof a));
    double p[N * CLASSES], s[N * CLASSES];
    LT_CHECK_OK(lt_qsvm_probabilities(q, a, N, p));
    LT_CHECK_OK(lt_qsvm_probabilities(r, b, N, s));
    LT_CHECK(!memcmp(p, s, sizeof p));
    lt_qsvm_destroy(q);
    lt_qsvm_destroy(r);
}

/* ---- weights ---- */

/* A row of weight 2 counts like the row given twice, one of weight 0 like none. */
LT_TEST(weights_count_rows)
{
    many m = make_many(5);
    double K[N * N], doubled[N * N], weight[N], a[N * PAIRS], b[N * PAIRS];
    int from[N];
    int32_t label[N];
    lt_qsvm_options opt = many_options();
    opt.n_folds = 0;
    opt.C = 0.3;
    opt.tolerance = 1e-10;
    lt_qsvm *q = fitted_to(&opt, m.x, D, m.label, NULL, NULL);
    memcpy(K, lt_qsvm_kernel(q, NULL), sizeof K);
    lt_qsvm_destroy(q);
    for (int i = 0; i < N; i++) { /* the first 12 rows twice, the last 12 not at all */
        from[i] = i < 12 ? i : i < 24 ? i - 12 : i - 12;
        weight[i] = i < 12 ? 2 : i < N - 12 ? 1 : 0;
    }
    for (int i = 0; i < N; i++) {
        label[i] = m.label[from[i]];
        for (int j = 0; j < N; j++) doubled[i * N + j] = K[from[i] * N + from[j]];
    }
    opt.precomputed = true;
    q = fitted_to(&opt, K, N, m.label, NULL, weight);
    LT_CHECK(lt_qsvm_get_info(q)->machine[0].solver == LT_SVM_SMO);
    lt_qsvm *r = fitted_to(&opt, doubled, N, label, NULL, NULL);
    decide_many(q, K, N, a);
    decide_many(r, doubled, N, b);
    for (int i = 24; i < N; i++)
        for (int k = 0; k < PAIRS; k++) LT_CHECK_NEAR(a[(i - 12) * PAIRS + k], b[i * PAIRS + k], 1e-7);
    lt_qsvm_destroy(q);
    lt_qsvm_destroy(r);
    opt.class_weights = (double[]){ 1, 1, 5, 1 };
    q = fitted_to(&opt, K, N, m.label, NULL, NULL);
    decide_many(q, K, N, b);
    LT_CHECK(memcmp(a, b, sizeof a));
    lt_qsvm_destroy(q);
}

/* ---- numbers, and one class ---- */

/* Both optima are known by their conditions: every row has the error its coefficient says. */
LT_TEST(regression_meets_its_conditions)
{
    many m = make_many(6);
    double f[N];
    lt_qsvm_options opt = many_options();
    opt.n_classes = 0;
    opt.class_names = NULL;
    opt.task = LT_QSVM_REGRESS;
    opt.epsilon = 0.05;
    opt.n_folds = 0;
    opt.C = 10;
    opt.tolerance = 1e-9;
    lt_qsvm *q = fitted_to(&opt, m.x, D, NULL, m.value, NULL);
    decide_many(q, m.x, D, f);
    int64_t n, columns;
    const double *beta = lt_qsvm_dual(q, &n, &columns);
    double sum = 0;
    LT_CHECK(n == N && columns == 1);
    for (int i = 0; i < N; i++) {
        const double error = m.value[i] - f[i];
        sum += beta[i];
        if (beta[i] == 0) LT_CHECK(fabs(error) <= 0.05 + 1e-8);
        else if (fabs(beta[i]) < 10) LT_CHECK_NEAR(error, copysign(0.05, beta[i]), 1e-8);
        else LT_CHECK(error * beta[i] >= 10 * (0.05 - 1e-8));
    }
    LT_CHECK_NEAR(sum, 0, 1e-9);
    lt_qsvm_errors e;
    LT_CHECK_OK(lt_qsvm_score_values(m.value, f, N, &e));
    LT_CHECK(e.r2 > 0.9 && e.rmse >= e.mae);
    lt_qsvm_destroy(q);
    opt.C = 0;
    opt.n_folds = 3;
    opt.compare_rbf = true;
    q = fitted_to(&opt, m.x, D, NULL, m.value, NULL);
    const lt_qsvm_errors *trials = lt_qsvm_trial_errors(q, LT_QSVM_QUANTUM, &n);
    double best = -INFINITY;
    LT_CHECK_EQ_INT(n, opt.n_trials);
    for (int64_t t = 0; t < n; t++) best = fmax(best, trials[t].r2);
    LT_CHECK(lt_qsvm_get_info(q)->errors.r2 == best && best > 0.3);
    int32_t label[N];
    LT_CHECK_FAILS(lt_qsvm_labels(q, LT_QSVM_QUANTUM, f, N, label), LT_ERR_ARGUMENT, "no labels");
    lt_qsvm_destroy(q);
}

LT_TEST(one_class_leaves_nu_outside)
{
    many m = make_many(7);
    double f[N], far[N * D];
    int32_t label[N];
    lt_qsvm_options opt = many_options();
    opt.n_classes = 0;
    opt.class_names = NULL;
    opt.task = LT_QSVM_ONE_CLASS;
    opt.nu = 0.25;
    opt.tolerance = 1e-9;
    opt.range = LT_QSVM_RANGE_NONE;
    small_gram.angle_scale = 0.4;
    lt_qsvm *q = fitted_to(&opt, m.x, D, NULL, NULL, NULL);
    decide_many(q, m.x, D, f);
    const double *alpha = lt_qsvm_dual(q, NULL, NULL);
    double sum = 0;
    int outside = 0;
    for (int i = 0; i < N; i++) {
        sum += alpha[i];
        outside += f[i] < -1e-8;
        LT_CHECK(alpha[i] >= 0 && alpha[i] <= 1);
        if (alpha[i] > 0 && alpha[i] < 1) LT_CHECK_NEAR(f[i], 0, 1e-8);
    }
    LT_CHECK_NEAR(sum, 0.25 * N, 1e-9);
    LT_CHECK(outside <= 0.25 * N && lt_qsvm_get_info(q)->n_supports >= 0.25 * N);
    for (int i = 0; i < N * D; i++) far[i] = 4 + m.x[i];
    decide_many(q, far, D, f);
    LT_CHECK_OK(lt_qsvm_labels(q, LT_QSVM_QUANTUM, f, N, label));
    int like = 0;
    for (int i = 0; i < N; i++) like += label[i] == 1;
    LT_CHECK(like < N / 4);
    lt_qsvm_destroy(q);
}

/* ---- coupling ---- */

/* Sigmoids of numbers drawn from one; a distribution whose pairs agree is found again. */
LT_TEST(probabilities_are_those_that_were_put_in)
{
    enum { M = 4000, K = 5 };
    static double f[M];
    static uint8_t y[M];
    double sigmoid[2], r[K * (K - 1) / 2], p[K], work[K * K + K];
    static const double want[K] = { 0.5, 0.2, 0.15, 0.1, 0.05 };
    lt_rng g = lt_rng_seed(3);
    for (int i = 0; i < M; i++) {
        f[i] = lt_rng_normal(&g) * 2;
        y[i] = lt_rng_uniform(&g) < 1 / (1 + exp(-1.5 * f[i] + 0.5));
    }
    LT_CHECK_OK(lt_sigmoid_fit(f, y, M, sigmoid));
    LT_CHECK(fabs(sigmoid[0] + 1.5) < 0.15 && fabs(sigmoid[1] - 0.5) < 0.15);
    LT_CHECK_NEAR(lt_sigmoid_at((double[]){ -1, 0 }, 0), 0.5, 0);
    LT_CHECK(lt_sigmoid_at((double[]){ -1, 0 }, 1e4) == 1 && lt_sigmoid_at((double[]){ -1, 0 }, -1e4) == 0);
    int at = 0;
    for (int a = 0; a < K; a++)
        for (int b = a + 1; b < K; b++) r[at++] = want[b] / (want[a] + want[b]);
    lt_couple(r, K, p, work);
    for (int c = 0; c < K; c++) LT_CHECK_NEAR(p[c], want[c], 1e-9);
    lt_couple((double[]){ 0.3 }, 2, p, work);
    LT_CHECK_NEAR(p[1], 0.3, 0);
}

/* ---- circuits, and files ---- */

static void same_after_a_file(const lt_qsvm_options *opt, const many *m, const double *x, int64_t columns)
{
    double a[N * PAIRS], b[N * PAIRS], p[N * CLASSES], s[N * CLASSES];
    lt_qsvm *q = fitted_to(opt, x, columns, opt->task == LT_QSVM_CLASSIFY ? m->label : NULL, opt->task == LT_QSVM_REGRESS ? m->value : NULL, NULL), *r = NULL;
    LT_CHECK_OK(lt_qsvm_save(q, scratch("t.qsvm")));
    LT_CHECK_OK(lt_qsvm_load(NULL, scratch("t.qsvm"), &r));
    decide_many(q, x, columns, a);
    decide_many(r, x, columns, b);
    const int64_t machines = lt_qsvm_get_info(q)->n_machines;
    LT_CHECK(!memcmp(a, b, (size_t)(N * machines) * sizeof *a));
    if (opt->probability) {
        LT_CHECK_OK(lt_qsvm_probabilities(q, a, N, p));
        LT_CHECK_OK(lt_qsvm_probabilities(r, b, N, s));
        LT_CHECK(!memcmp(p, s, sizeof p));
    }
    const lt_qsvm_info *i = lt_qsvm_get_info(r), *j = lt_qsvm_get_info(q);
    LT_CHECK(i->task == j->task && i->n_classes == j->n_classes && i->n_supports == j->n_supports && i->precomputed == j->precomputed && i->probability == j->probability);
    for (int64_t c = 0; c < i->n_classes; c++) LT_CHECK(!strcmp(i->class_names[c], j->class_names[c]));
    lt_qsvm_destroy(q);
    LT_CHECK_OK(lt_qsvm_save(r, scratch("again.qsvm")));
    lt_qsvm_destroy(r);
}

LT_TEST(every_kind_of_machine_is_kept)
{
    many m = make_many(8);
    double K[N * N], w[3] = { 0.3, -0.2, 0.9 };
    lt_circuit *c;
    lt_similarity_options projected = lt_similarity_defaults();
    projected.kind = LT_SIMILARITY_PROJECTED;
    projected.gamma = 0.7;
    lt_qsvm_options opt = many_options();
    opt.n_folds = 0;
    opt.C = 1;
    opt.probability = true;
    same_after_a_file(&opt, &m, m.x, D);
    small_gram.re_embed_between_layers = false;
    opt.map = "zz(reps=1, entanglement=linear)";
    opt.n_qubits = 3;
    same_after_a_file(&opt, &m, m.x, D);
    opt.map = "basic(rotation=Y, reupload=true)";
    opt.n_layers = 2;
    same_after_a_file(&opt, &m, m.x, D);
    opt.n_layers = 0;
    opt.similarity = &projected;
    same_after_a_file(&opt, &m, m.x, D);
    opt.map = NULL;
    opt.n_qubits = 0;
    LT_CHECK_OK(lt_circuit_create(2, 3, 3, &c));
    for (int k = 0; k < 3; k++) LT_CHECK_OK(lt_circuit_gate(c, "RY", (int[]){ k % 2 }, 1, (const char *[]){ k == 0 ? "x[0]*w[0] + w[1]" : k == 1 ? "x[1]" : "x[2]*w[2]" }, 1));
    LT_CHECK_OK(lt_circuit_gate(c, "CX", (int[]){ 0, 1 }, 2, NULL, 0));
    opt.circuit = c;
    opt.circuit_weights = w;
    opt.n_circuit_weights = 3;
    same_after_a_file(&opt, &m, m.x, D);
    opt.n_circuit_weights = 2;
    lt_qsvm *q;
    LT_CHECK_OK(lt_qsvm_create(NULL, &opt, &q));
    LT_CHECK_FAILS(lt_qsvm_fit_targets(q, &(lt_rows){ m.x, LT_F64, N, D, 0 }, &(lt_qsvm_targets){ sizeof(lt_qsvm_targets), m.label, NULL, NULL }), LT_ERR_ARGUMENT, "2 weights, expected 3");
    lt_qsvm_destroy(q);
    lt_circuit_destroy(c);
    opt = many_options();
    opt.n_folds = 0;
    opt.C = 1;
    q = fitted_to(&opt, m.x, D, m.label, NULL, NULL);
    memcpy(K, lt_qsvm_kernel(q, NULL), sizeof K);
    lt_qsvm_destroy(q);
    opt.precomputed = true;
    same_after_a_file(&opt, &m, K, N);
    opt.n_classes = 0;
    opt.class_names = NULL;
    opt.task = LT_QSVM_REGRESS;
    same_after_a_file(&opt, &m, K, N);
    opt.task = LT_QSVM_ONE_CLASS;
    opt.C = 0;
    opt.precomputed = false;
    same_after_a_file(&opt, &m, m.x, D);
}

/* A member of a file replaced by numbers of its own type and shape. */
static void rewrite(const char *from, const char *to, const char *name, lt_dtype dtype, lt_shape shape, const void *data)
{
    lt_npz_names all;
    lt_array a[64], changed[64];
    const char *member[64];
    LT_CHECK_OK(lt_npz_list(from, &all));
    for (int k = 0; k < all.n; k++) {
        LT_CHECK_OK(lt_npz_read(from, all.name[k], &a[k]));
        member[k] = all.name[k];
        changed[k] = strcmp(all.name[k], name) ? a[k] : (lt_array){ dtype, shape, (void *)(uintptr_t)data };
    }
    LT_CHECK_OK(lt_npz_write(to, all.n, member, changed));
    for (int k = 0; k < all.n; k++) lt_array_free(&a[k]);
    lt_npz_names_free(&all);
}

LT_TEST(crafted_files_are_refused_by_member)
{
    many m = make_many(9);
    lt_qsvm_options opt = many_options();
    opt.n_folds = 0;
    opt.C = 1;
    opt.probability = true;
    small_gram.re_embed_between_layers = false;
    opt.map = "zz(reps=1)";
    lt_qsvm *q = fitted_to(&opt, m.x, D, m.label, NULL, NULL), *r;
    const int64_t n = lt_qsvm_get_info(q)->n_supports;
    LT_CHECK_OK(lt_qsvm_save(q, scratch("good.qsvm")));
    lt_qsvm_destroy(q);
    int32_t *class_of = calloc((size_t)n, sizeof *class_of);
    int64_t *row = calloc((size_t)n, sizeof *row);
    double many_numbers[64] = { 0 };
    class_of[0] = CLASSES;
#define REFUSED(name, dtype, shape, data, part) do { \
        rewrite(scratch("good.qsvm"), scratch("bad.qsvm"), name, dtype, shape, data); \
        LT_CHECK_FAILS(lt_qsvm_load(NULL, scratch("bad.qsvm"), &r), LT_ERR_FORMAT, part); LT_CHECK(!r); \
    } while (0)
    REFUSED("support_class", LT_I32, lt_shape1(n), class_of, "'support_class' holds a class that does not exist");
    REFUSED("support_class", LT_I32, lt_shape1(n - 1), class_of, "'support_class' does not go");
    REFUSED("support_row", LT_I64, lt_shape1(n), row, "'support_row' does not hold growing");
    REFUSED("biases", LT_F64, lt_shape1(PAIRS - 1), many_numbers, "'biases' does not go");
    REFUSED("sigmoid", LT_F64, lt_shape2(PAIRS, 3), many_numbers, "'sigmoid' does not go");
    REFUSED("sigmoid", LT_F64, lt_shape2(PAIRS - 1, 2), many_numbers, "'sigmoid' does not go");
    REFUSED("coefficient", LT_F64, lt_shape1(n), many_numbers, "'coefficient' does not go");
    REFUSED("task", LT_I64, lt_shape0(), (&(int64_t){ 3 }), "'task' is out of range");
    REFUSED("task", LT_I64, lt_shape0(), (&(int64_t){ 1 }), "'n_classes' does not go with 'task'");
    REFUSED("n_classes", LT_I64, lt_shape0(), (&(int64_t){ 1 }), "'n_classes' does not go");
    REFUSED("n_classes", LT_I64, lt_shape0(), (&(int64_t){ 1001 }), "'n_classes' is out of range");
    REFUSED("precomputed", LT_I64, lt_shape0(), (&(int64_t){ 1 }), "not a machine of lathe qsvm");
    REFUSED("similarity", LT_I64, lt_shape0(), (&(int64_t){ LT_SIMILARITY_PROJECTED }), "'gamma' is out of range");
    REFUSED("nu", LT_F64, lt_shape0(), (&(double){ 2 }), "'nu' is out of range");
    REFUSED("epsilon", LT_F64, lt_shape0(), (&(double){ -1 }), "'epsilon' is out of range");
    REFUSED("map", LT_U8, lt_shape1(4), "spin", "spin");
    REFUSED("map", LT_U8, lt_shape1(3), "z\0z", "'map' holds bytes of zero");
    REFUSED("map", LT_U8, lt_shape1(0), "", "'weights' does not go");
    REFUSED("circuit", LT_U8, lt_shape1(6), "qubit;", "'circuit' does not go with 'map'");
    REFUSED("circuit_weights", LT_F64, lt_shape1(2), many_numbers, "2 weights, expected 0");
#undef REFUSED
    free(class_of);
    free(row);
}

/* ---- mistakes ---- */

LT_TEST(options_that_do_not_go_together_are_refused)
{
    many m = make_many(10);
    lt_qsvm_options opt;
    lt_qsvm *q;
    lt_similarity_options s = lt_similarity_defaults();
#define REFUSED(change, part) do { opt = many_options(); small_gram.re_embed_between_layers = false; change; LT_CHECK_FAILS(lt_qsvm_create(NULL, &opt, &q), LT_ERR_ARGUMENT, part); LT_CHECK(!q); } while (0)
    REFUSED(opt.n_classes = 1, "1 classes, expected 2");
    REFUSED(opt.n_classes = 1001; opt.class_names = NULL, "1001 classes");
    REFUSED(opt.tune_threshold = true, "two classes");
    REFUSED(opt.class_weight[1] = 2, "weight-0 and weight-1");
    REFUSED(opt.class_weights = ((double[]){ 1, 0, 1, 1 }), "the weight of class 1 is 0");
    REFUSED(opt.task = LT_QSVM_REGRESS; opt.probability = true, "the task is regress");
    REFUSED(opt.task = LT_QSVM_REGRESS; opt.select = true, "the task is regress");
    REFUSED(opt.task = LT_QSVM_ONE_CLASS; opt.C = 1, "nu says");
    REFUSED(opt.task = LT_QSVM_ONE_CLASS; opt.center = true, "leave center out");
    REFUSED(opt.precomputed = true; opt.n_qubits = 2, "computed already");
    REFUSED(opt.precomputed = true; opt.select = true, "need features");
    REFUSED(opt.map = "zz"; small_gram.embed_mode = LT_EMBED_ANGLE, "about layers");
    REFUSED(opt.similarity = &s, "there is none");
    REFUSED(opt.map = "zz"; s.shots = 10; opt.similarity = &s, "lathe gram --shots");
    REFUSED(opt.map = "zz"; s.shots = 0; s.kind = LT_SIMILARITY_PROJECTED; opt.similarity = &s, "need their gamma");
#undef REFUSED
    opt = many_options();
    opt.n_folds = 0;
    opt.C = 1;
    LT_CHECK_OK(lt_qsvm_create(NULL, &opt, &q));
    const lt_rows x = { m.x, LT_F64, N, D, 0 };
    double weight[N] = { 0 };
#define FIT(label, weight) lt_qsvm_fit_targets(q, &x, &(lt_qsvm_targets){ sizeof(lt_qsvm_targets), label, NULL, weight })
    LT_CHECK_FAILS(FIT(NULL, NULL), LT_ERR_ARGUMENT, "no labels");
    LT_CHECK_FAILS(FIT(m.label, weight), LT_ERR_ARGUMENT, "have weight 0");
    for (int i = 0; i < N; i++) weight[i] = m.label[i] != 2;
    LT_CHECK_FAILS(FIT(m.label, weight), LT_ERR_ARGUMENT, "of class 'cat' have weight 0");
    weight[3] = -1;
    LT_CHECK_FAILS(FIT(m.label, weight), LT_ERR_ARGUMENT, "the weight of row 3 is -1");
    m.label[5] = 4;
    LT_CHECK_FAILS(FIT(m.label, NULL), LT_ERR_ARGUMENT, "the label of row 5 is 4, expected 0 to 3");
    for (int i = 0; i < N; i++) m.label[i] = i % 3;
    LT_CHECK_FAILS(FIT(m.label, NULL), LT_ERR_ARGUMENT, "class 'dog' has no training row");
#undef FIT
    lt_qsvm_destroy(q);
    opt.precomputed = true;
    LT_CHECK_OK(lt_qsvm_create(NULL, &opt, &q));
    LT_CHECK_FAILS(lt_qsvm_fit_targets(q, &x, &(lt_qsvm_targets){ sizeof(lt_qsvm_targets), make_many(1).label, NULL, NULL }), LT_ERR_ARGUMENT, "as many columns as rows");
    LT_CHECK_FAILS(lt_qsvm_fit_targets(q, &(lt_rows){ m.x, LT_F64, 8, 8, 0 }, &(lt_qsvm_targets){ sizeof(lt_qsvm_targets), make_many(1).label, NULL, NULL }), LT_ERR_ARGUMENT, "must be symmetric");
    lt_qsvm_destroy(q);
}

LT_TEST_MAIN()
