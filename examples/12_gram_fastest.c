/* The fastest ways to the same matrix: closed forms where they are exact, single precision where it will do.
   SPDX-License-Identifier: BSD-3-Clause */
#include <lathe/lathe.h>

#include <math.h>
#include <stdio.h>

enum { ROWS = 400, QUBITS = 12, LAYERS = 2 };
static double x[ROWS * QUBITS], weights[LAYERS * QUBITS], K[ROWS * ROWS];

static void make_data(void)
{
    for (int i = 0; i < ROWS * QUBITS; i++) x[i] = 3 * sin(1 + 0.7 * i);
    for (int i = 0; i < LAYERS * QUBITS; i++) weights[i] = 0.1 * cos(i);
}

static lt_status gram(const lt_gram_options *opt, lt_gram_info *info)
{
    lt_gram *g;
    lt_status s = lt_gram_create(NULL, opt, &(lt_weights){ weights, LAYERS, QUBITS }, &g);
    if (!s) s = lt_gram_fill(g, &(lt_rows){ x, LT_F64, ROWS, QUBITS, 0 }, NULL, K);
    if (!s) *info = lt_gram_get_info(g);
    lt_gram_destroy(g);
    return s;
}

static int fail(void)
{
    fprintf(stderr, "%s\n", lt_error_text());
    return 1;
}

int main(void)
{
    make_data();
    lt_gram_options opt = lt_gram_defaults();
    lt_gram_info states, single, closed;
    opt.re_embed_between_layers = true;
    opt.method = LT_GRAM_STATES;
    if (gram(&opt, &states)) return fail();
    double exact = K[5];
    opt.dtype = LT_GRAM_FLOAT32; /* error below 2e-5, whatever the number of qubits */
    if (gram(&opt, &single)) return fail();
    double rounded = K[5];
    opt.dtype = LT_GRAM_FLOAT64;
    opt.autotune = false;        /* by the built-in threshold, not by timings of this machine */
    opt.method = LT_GRAM_AUTO;   /* two re-embedded layers: transfer matrices, exact, without 2^q anywhere */
    if (gram(&opt, &closed)) return fail();
    printf("states float64 %.3g ms, float32 %.3g ms, %s %.3g ms\n", 1e3 * states.total_seconds, 1e3 * single.total_seconds,
           lt_gram_method_name(closed.method), 1e3 * closed.total_seconds);
    return closed.method != LT_GRAM_TRANSFER || fabs(K[5] - exact) > 1e-12 || fabs(rounded - exact) > 2e-5;
}
