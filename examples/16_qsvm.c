/* A support vector machine on a quantum kernel: trained, tested, stored, and what went wrong when it did.
   SPDX-License-Identifier: BSD-3-Clause */
#include <lathe/lathe.h>

#include <stdio.h>
#include <string.h>

enum { HALF = LT_QSVM_IMAGES / 2, QUBITS = 8 };
static double   x[LT_QSVM_IMAGES * LT_QSVM_PIXELS], decision[HALF], again[HALF];
static uint8_t  y[LT_QSVM_IMAGES];
static const char *const model = "example-16.qsvm";

static lt_rows images(int first) { return (lt_rows){ x + first * LT_QSVM_PIXELS, LT_F64, HALF, LT_QSVM_PIXELS, 0 }; }

/* Trains on the first half, scores on the second. */
static lt_status train(double angle_scale, lt_qsvm **q, lt_qsvm_scores *test)
{
    lt_qsvm_options opt = lt_qsvm_defaults();
    lt_gram_options gram = lt_gram_defaults();
    lt_rows train_x = images(0), test_x = images(HALF);
    opt.n_qubits = QUBITS;
    opt.gram = &gram;
    gram.re_embed_between_layers = true;
    gram.angle_scale = angle_scale;
    lt_status s = lt_qsvm_create(NULL, &opt, q);
    if (!s) s = lt_qsvm_fit(*q, &train_x, y);
    if (!s) s = lt_qsvm_decide(*q, LT_QSVM_QUANTUM, &test_x, decision);
    if (s) return s;
    const lt_qsvm_info *i = lt_qsvm_get_info(*q);
    s = lt_qsvm_score(y + HALF, decision, HALF, i->machine[LT_QSVM_QUANTUM].threshold, test);
    printf("angle scale %g: K %.4f +- %.4f, C %.3g, %.0f %% support vectors, F1 %.4f\n", angle_scale, i->diagnostics->off_diagonal.mean,
           i->diagnostics->off_diagonal.std, i->machine[LT_QSVM_QUANTUM].C, 100 * i->machine[LT_QSVM_QUANTUM].support_fraction, test->f1);
    for (int k = 0; k < i->n_advice; k++) printf("  %s\n", i->advice[k]);
    return s;
}

static lt_status store_and_load(const lt_qsvm *q)
{
    lt_qsvm *loaded = NULL;
    lt_rows test_x = images(HALF);
    lt_status s = lt_qsvm_save(q, model);
    if (!s) s = lt_qsvm_load(NULL, model, &loaded);
    if (!s) s = lt_qsvm_decide(loaded, LT_QSVM_QUANTUM, &test_x, again);
    lt_qsvm_destroy(loaded);
    remove(model);
    return s;
}

int main(void)
{
    lt_qsvm *q = NULL;
    lt_qsvm_scores small = { 0 }, good = { 0 };
    lt_qsvm_synthetic(true, x, y);
    lt_status s = train(0.1, &q, &small); /* angles too small: the advice says so */
    lt_qsvm_destroy(q);
    q = NULL;
    if (!s) s = train(2, &q, &good);
    if (!s) s = store_and_load(q);
    lt_qsvm_destroy(q);
    if (s) {
        fprintf(stderr, "%s\n", lt_error_text());
        return 1;
    }
    bool same = !memcmp(decision, again, sizeof decision);
    printf("the stored machine decides %s\n", same ? "alike" : "otherwise");
    return !same || good.f1 <= small.f1;
}
