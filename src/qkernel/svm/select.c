/* Choosing embedding, angle scale and layers: alignment sorts many candidates cheaply, cross-validation decides among
   the first few. SPDX-License-Identifier: BSD-3-Clause */
#include "qkernel/svm/machine.h"

#include "base/alloc.h"
#include "base/status.h"

#include <math.h>
#include <stdlib.h>

enum { FINALISTS = 5, MOST_LAYERS = 3, STATES_UP_TO = 12 }; /* three layers need state vectors: small circuits only */

static const lt_embed embeds[] = { LT_EMBED_RY, LT_EMBED_RYRZ };
static const double scales[] = { 0.5, 1, 1.5707963267948966, 2, 3.141592653589793, 4.5, 6.283185307179586 };
enum { MOST_CANDIDATES = 1 + 2 * 7 * MOST_LAYERS };
_Static_assert(LT_LEN(embeds) * LT_LEN(scales) * MOST_LAYERS + 1 == MOST_CANDIDATES, "room for all");

static bool same(const lt_qsvm_candidate *a, const lt_qsvm_candidate *b)
{
    /* Without re-embedding, layers cannot matter. */
    int64_t la = a->re_embed ? a->n_layers : 1, lb = b->re_embed ? b->n_layers : 1;
    return a->embed_mode == b->embed_mode && a->angle_scale == b->angle_scale && la == lb;
}

/* What the options say comes first, so that of equals it is kept. */
static int64_t list(const lt_qsvm *q, lt_qsvm_candidate *c)
{
    int64_t n = 0;
    c[n++] = q->circuit;
    for (int layers = 1; layers <= LT_MIN(MOST_LAYERS, q->n_weight_layers); layers++)
        for (size_t e = 0; e < LT_LEN(embeds); e++)
            for (size_t s = 0; s < LT_LEN(scales); s++) {
                lt_qsvm_candidate x = { .embed_mode = embeds[e], .angle_scale = scales[s], .n_layers = layers, .re_embed = layers > 1 };
                if ((layers > 2 && q->prepare.n_outputs > STATES_UP_TO) || same(&x, &c[0])) continue;
                c[n++] = x;
            }
    for (int64_t i = 0; i < n; i++) c[i].f1 = c[i].f1_std = NAN;
    return n;
}

static int by_alignment(const void *a, const void *b)
{
    double x = ((const lt_qsvm_candidate *)a)->alignment, y = ((const lt_qsvm_candidate *)b)->alignment;
    return (x < y) - (x > y);
}

static lt_status align(lt_qsvm *q, const double *z, const lt_targets *t, int64_t n, double *K, lt_qsvm_candidate *c)
{
    lt_gram *gram;
    LT_TRY(lt_qsvm_make_gram(q, c, &gram));
    lt_row_kernel kernel = lt_qsvm_row_kernel(q, gram);
    lt_status s = lt_row_kernel_fill(&kernel, z, n, NULL, 0, K);
    if (!s) s = lt_qsvm_alignment(K, t, n, &c->alignment);
    lt_gram_destroy(gram);
    return s;
}

static lt_status validate(lt_qsvm *q, const lt_folds *folds, lt_qsvm_trial *trials, lt_qsvm_candidate *c, double *auc)
{
    lt_gram *gram;
    const int64_t n = lt_trials_draw(&q->opt, false, 0, trials);
    LT_TRY(lt_qsvm_make_gram(q, c, &gram));
    lt_row_kernel kernel = lt_qsvm_row_kernel(q, gram);
    lt_search search = { .folds = folds, .opt = &q->opt, .solver = q->solver, .kernel = &kernel, .n_trials = n, .trials = trials };
    lt_status s = lt_trials_run(&search);
    lt_gram_destroy(gram);
    if (s) return s;
    c->f1 = trials[search.best].mean.f1;
    c->f1_std = trials[search.best].std.f1;
    *auc = trials[search.best].mean.roc_auc;
    return LT_OK;
}

static lt_status compare(lt_qsvm *q, const double *z, const lt_targets *t, int64_t n, const lt_folds *folds, double *K, lt_qsvm_trial *trials)
{
    lt_qsvm_candidate *c = q->candidates;
    int64_t count = q->n_candidates, best = 0;
    double best_auc = 0;
    for (int64_t i = 0; i < count; i++) {
        LT_TRY(lt_qsvm_step(q, "aligning", i, count));
        LT_TRY(align(q, z, t, n, K, &c[i]));
    }
    qsort(c, (size_t)count, sizeof *c, by_alignment);
    for (int64_t i = 0; i < LT_MIN(count, FINALISTS); i++) {
        double auc;
        LT_TRY(lt_qsvm_step(q, "comparing circuits", i, LT_MIN(count, FINALISTS)));
        LT_TRY(validate(q, folds, trials, &c[i], &auc));
        if (i == 0 || c[i].f1 > c[best].f1 || (c[i].f1 == c[best].f1 && auc > best_auc)) {
            best = i;
            best_auc = auc;
        }
    }
    q->circuit = c[best];
    return LT_OK;
}

lt_status lt_qsvm_choose_circuit(lt_qsvm *q, const double *z, const lt_targets *t, int64_t n, const lt_folds *folds)
{
    double *K = lt_malloc((size_t)(n * n) * sizeof *K);
    lt_qsvm_trial *trials = lt_calloc((size_t)q->opt.n_trials, sizeof *trials);
    q->candidates = lt_calloc(MOST_CANDIDATES, sizeof *q->candidates);
    lt_status s = K && trials && q->candidates ? LT_OK : LT_ERR_MEMORY;
    if (!s) {
        q->n_candidates = list(q, q->candidates);
        s = compare(q, z, t, n, folds, K, trials);
    }
    lt_free(K);
    lt_free(trials);
    return s;
}
