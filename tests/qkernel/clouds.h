/* Rows of two classes, and machines trained on them. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_TEST_CLOUDS_H
#define LT_TEST_CLOUDS_H

#include "lathe/qsvm.h"
#include "lathe/rng.h"
#include "lt_test.h"

/* Two clouds that overlap a little; features of very different size. */
enum { N = 60, D = 6 };
typedef struct clouds { double x[N * D]; uint8_t y[N]; } clouds;

static inline clouds make_clouds(uint64_t seed)
{
    clouds c;
    lt_rng r = lt_rng_seed(seed);
    for (int i = 0; i < N; i++) {
        c.y[i] = i % 3 == 0;
        for (int k = 0; k < D; k++) c.x[i * D + k] = (lt_rng_normal(&r) + (c.y[i] ? 1.2 : -0.4) * (k < 3)) * (k + 1);
    }
    return c;
}
static inline lt_rows rows_of(const double *x, int64_t n, int64_t d) { return (lt_rows){ x, LT_F64, n, d, 0 }; }

static _Thread_local lt_gram_options small_gram; /* of the last small_options() */

static inline lt_qsvm_options small_options(void)
{
    lt_qsvm_options opt = lt_qsvm_defaults();
    opt.n_qubits = 4;
    small_gram = lt_gram_defaults();
    small_gram.re_embed_between_layers = true;
    opt.gram = &small_gram;
    opt.n_trials = 5;
    return opt;
}

static inline lt_qsvm *fitted(const lt_qsvm_options *opt, const clouds *c)
{
    lt_qsvm *q = NULL;
    lt_rows x = rows_of(c->x, N, D);
    LT_CHECK_OK(lt_qsvm_create(NULL, opt, &q));
    LT_CHECK_OK(lt_qsvm_fit(q, &x, c->y));
    return q;
}

static inline void decide(lt_qsvm *q, const double *x, int64_t n, double *out)
{
    lt_rows r = rows_of(x, n, D);
    LT_CHECK_OK(lt_qsvm_decide(q, LT_QSVM_QUANTUM, &r, out));
}

#endif
