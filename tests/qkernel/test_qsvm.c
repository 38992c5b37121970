/* Support vector machines on quantum kernels as a whole: repeatable, selectable, stored, stopped; mistakes named.
   SPDX-License-Identifier: BSD-3-Clause */
#include "base/alloc.h"
#include "base/pool.h"
#include "base/scratch.h"
#include "clouds.h"
#include "lathe/npy.h"
#include "graph/program/program.h"
#include "qkernel/svm/machines/svm.h"

#include <pthread.h>

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
    small_gram.angle_scale = 0.01; /* collapsed */
    small_gram.re_embed_between_layers = false;
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
        small_gram.normalize = k == 2;
        small_gram.jitter = k == 2 ? 0.1 : 0;
        small_gram.entangler = k == 3 ? LT_ENTANGLER_STRONG : LT_ENTANGLER_BASIC;
        small_gram.embed_mode = k == 3 ? LT_EMBED_ANGLE : LT_EMBED_RYRZ;
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

/* A file with other names of features, or (format 1) without that member. */
static void rewrite_names(const char *from, const char *to, int64_t format, const char *names, int64_t bytes)
{
    static const char *const member[] = { "format", "embed", "entangler", "re_embed", "range", "normalize", "method", "dtype", "n_train", "angle_scale", "jitter",
                                          "bias", "threshold", "C", "weights", "mean", "components", "low", "width", "support", "coefficient", "class_names", "feature_names" };
    enum { ALL = sizeof member / sizeof *member };
    lt_array a[ALL];
    for (int k = 0; k < ALL; k++) LT_CHECK_OK(lt_npz_read(from, member[k], &a[k]));
    lt_array changed[ALL];
    memcpy(changed, a, sizeof a);
    changed[0] = (lt_array){ LT_I64, lt_shape0(), &format };
    changed[ALL - 1] = (lt_array){ LT_U8, lt_shape1(bytes), (void *)(uintptr_t)names };
    LT_CHECK_OK(lt_npz_write(to, format == 1 ? ALL - 1 : ALL, member, changed));
    for (int k = 0; k < ALL; k++) lt_array_free(&a[k]);
}

LT_TEST(names_of_features_go_with_a_machine)
{
    clouds c = make_clouds(13);
    lt_qsvm_options opt = small_options();
    lt_qsvm *q, *r;
    char names[4 * D] = "", *to = names;
    for (int k = 0; k < D; k++) to += sprintf(to, "%sx%d", k ? "\n" : "", k);
    opt.feature_names = names;
    q = fitted(&opt, &c);
    names[0] = '?'; /* they were copied */
    LT_CHECK(!strncmp(lt_qsvm_get_info(q)->feature_names, "x0\nx1\n", 6));
    LT_CHECK_OK(lt_qsvm_save(q, scratch("names.qsvm")));
    LT_CHECK_OK(lt_qsvm_load(NULL, scratch("names.qsvm"), &r));
    LT_CHECK(!strcmp(lt_qsvm_get_info(r)->feature_names, lt_qsvm_get_info(q)->feature_names));
    lt_qsvm_destroy(r);
    lt_qsvm_destroy(q);
    rewrite_names(scratch("names.qsvm"), scratch("old.qsvm"), 1, NULL, 0);
    LT_CHECK_OK(lt_qsvm_load(NULL, scratch("old.qsvm"), &r));
    LT_CHECK(!lt_qsvm_get_info(r)->feature_names);
    lt_qsvm_destroy(r);
    static const struct { const char *text; int64_t bytes; } bad[] = { { "one", 3 }, { "a\0b", 3 }, { "\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n", 23 } };
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        rewrite_names(scratch("names.qsvm"), scratch("bad.qsvm"), 2, bad[k].text, bad[k].bytes);
        LT_CHECK_FAILS(lt_qsvm_load(NULL, scratch("bad.qsvm"), &r), LT_ERR_FORMAT, "'feature_names' are not a line for each feature");
    }
    opt.feature_names = "a\nb";
    LT_CHECK_OK(lt_qsvm_create(NULL, &opt, &q));
    LT_CHECK_FAILS(lt_qsvm_fit(q, &(lt_rows){ c.x, LT_F64, N, D, 0 }, c.y), LT_ERR_ARGUMENT, "feature_names are not");
    lt_qsvm_destroy(q);
}

/* Trained in float16, on a device that has it; the CPU refuses to train so, and decides in float32. */
LT_TEST(machines_of_half_numbers_decide_on_the_cpu)
{
    clouds c = make_clouds(12);
    lt_qsvm_options opt = small_options();
    lt_device *null;
    lt_qsvm *q, *r;
    double decided[N];
    small_gram.dtype = LT_GRAM_FLOAT16;
    small_gram.method = LT_GRAM_STATES;
    LT_CHECK_OK(lt_qsvm_create(NULL, &opt, &q));
    LT_CHECK_FAILS(lt_qsvm_fit(q, &(lt_rows){ c.x, LT_F64, N, D, 0 }, c.y), LT_ERR_ARGUMENT, "use float32");
    lt_qsvm_destroy(q);
    LT_CHECK_OK(lt_device_open("null", &null));
    LT_CHECK_OK(lt_qsvm_create(null, &opt, &q));
    LT_CHECK_OK(lt_qsvm_fit(q, &(lt_rows){ c.x, LT_F64, N, D, 0 }, c.y));
    LT_CHECK(lt_qsvm_get_info(q)->gram->precision == LT_GRAM_FLOAT16);
    LT_CHECK_OK(lt_qsvm_save(q, scratch("half.qsvm")));
    LT_CHECK_OK(lt_qsvm_load(NULL, scratch("half.qsvm"), &r));
    decide(r, c.x, N, decided);
    LT_CHECK(isfinite(decided[0]));
    lt_qsvm_destroy(q);
    lt_qsvm_destroy(r);
    lt_device_close(null);
}

LT_TEST(files_that_are_no_machines_are_refused)
{
    lt_qsvm *r;
    double one = 1;
    int64_t format = 4;
    lt_array a[2] = { { LT_I64, lt_shape0(), &format }, { LT_F64, lt_shape0(), &one } };
    LT_CHECK_FAILS(lt_qsvm_load(NULL, scratch("missing"), &r), LT_ERR_IO, "missing");
    LT_CHECK(lt_npy_write(scratch("a.npy"), LT_F64, &a[1].shape, &one) == LT_OK);
    LT_CHECK_FAILS(lt_qsvm_load(NULL, scratch("a.npy"), &r), LT_ERR_FORMAT, "a.npy");
    LT_CHECK_OK(lt_npz_write(scratch("b"), 1, (const char *[]){ "format" }, a));
    LT_CHECK_FAILS(lt_qsvm_load(NULL, scratch("b"), &r), LT_ERR_FORMAT, "'format' is out of range");
    LT_CHECK_OK(lt_npz_write(scratch("b"), 1, (const char *[]){ "format" }, a + 1));
    LT_CHECK_FAILS(lt_qsvm_load(NULL, scratch("b"), &r), LT_ERR_FORMAT, "another type");
    format = 1;
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
#define REFUSED(change, part) do { opt = small_options(); opt.n_qubits = 0; change; LT_CHECK_FAILS(lt_qsvm_create(NULL, &opt, &q), LT_ERR_ARGUMENT, part); LT_CHECK(!q); } while (0)
    double w[6] = { 0 };
    REFUSED(opt.C = -1, "'c'");
    REFUSED(opt.C = NAN, "'c'");
    REFUSED(opt.C_low = 20; opt.C_high = 10, "from 20 to 10");
    REFUSED(opt.n_folds = 1, "1 fold");
    REFUSED(opt.n_folds = 0, "give C");
    REFUSED(opt.n_folds = 0; opt.C = 1; opt.select = true, "need folds");
    REFUSED(small_gram.packed = true, "packed");
    REFUSED(small_gram.return_dtype = LT_GRAM_FLOAT32, "return_dtype");
    REFUSED(small_gram.profile_memory = true, "profile_memory");
    REFUSED(opt.class_name[0] = "", "called ''");
    REFUSED(opt.weights = ((lt_weights){ w, 2, 3 }); opt.n_qubits = 4, "4 qubits asked for");
    REFUSED(opt.weights = ((lt_weights){ w, 2, 3 }); opt.n_layers = 3, "only 2");
    REFUSED(opt.weights = ((lt_weights){ w, 0, 3 }), "0 layers");
#undef REFUSED
    LT_CHECK_FAILS(lt_qsvm_create(NULL, &(lt_qsvm_options){ .size = 0, .C = 1 }, &q), LT_ERR_ARGUMENT, "lt_qsvm_options: its size is 0");
    LT_CHECK_OK(lt_qsvm_create(NULL, NULL, &q)); /* all defaults */
    lt_qsvm_destroy(q);
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
    double still[N * D];
    for (int i = 0; i < N * D; i++) still[i] = c.x[i % D];
    lt_rows same = rows_of(still, N, D);
    LT_CHECK_FAILS(lt_qsvm_fit(q, &same, c.y), LT_ERR_ARGUMENT, "all 60 training rows have the same features");
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

/* How often a kernel asks depends on the clock, so those calls are not counted. */
static const char in_kernel[] = "computing a kernel";
static bool stop_after(void *ctx, const char *step, int64_t done, int64_t total)
{
    (void)done, (void)total;
    return !strcmp(step, in_kernel) || --*(int *)ctx > 0;
}
static bool stop_in_kernel(void *ctx, const char *step, int64_t done, int64_t total)
{
    (void)ctx, (void)done, (void)total;
    return strcmp(step, in_kernel) != 0;
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
    lt_qsvm *q;
    opt.progress = stop_in_kernel;
    LT_CHECK_OK(lt_qsvm_create(NULL, &opt, &q));
    LT_CHECK(lt_qsvm_fit(q, &x, c.y) == LT_ERR_CANCELLED);
    lt_qsvm_destroy(q);
    LT_CHECK_EQ_INT(lt_alloc_live(), live);
}

/* Blocks in use; what the device keeps for its next call is given back first. */
static int64_t blocks_in_use(void)
{
    lt_device *dev;
    LT_CHECK_OK(lt_default_device(&dev));
    LT_CHECK_OK(lt_device_memory_trim(dev));
    return lt_alloc_live();
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
    int64_t live = blocks_in_use(), n = lt_alloc_count();
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
        int64_t now = blocks_in_use();
        if (now != live) LT_TEST_FAIL("allocation %lld of %lld failing leaks: %lld blocks, %lld before", (long long)k, (long long)n, (long long)now, (long long)live);
        live = now;
    }
    LT_CHECK_OK(lt_pool_shared_resize(0));
}

/* The kernel of some rows borrows from that of all: a refused allocation must not release it twice. */
LT_TEST(failing_allocations_of_probabilities_leave_nothing)
{
    clouds c = make_clouds(14);
    lt_rows x = rows_of(c.x, N, D);
    lt_qsvm_options opt = small_options();
    opt.probability = true;
    opt.n_trials = 1;
    opt.solver = LT_SVM_LIBSVM;
    lt_qsvm_destroy(fitted(&opt, &c));
    LT_CHECK_OK(lt_pool_shared_resize(1));
    int64_t live = blocks_in_use(), n = lt_alloc_count();
    lt_qsvm_destroy(fitted(&opt, &c));
    n = lt_alloc_count() - n;
    for (int64_t k = 1; k <= n; k += 1 + k / 200) {
        lt_qsvm *q;
        lt_alloc_fail_at(k);
        lt_status s = lt_qsvm_create(NULL, &opt, &q);
        if (!s) s = lt_qsvm_fit(q, &x, c.y);
        lt_alloc_fail_at(0);
        LT_CHECK(s == LT_ERR_MEMORY || s == LT_OK);
        lt_qsvm_destroy(q);
        LT_CHECK_EQ_INT(blocks_in_use(), live);
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
