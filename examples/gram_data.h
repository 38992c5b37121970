/* What the examples of Gram matrices have in common: some rows and weights, one call, one way to fail. Each says
   how many ROWS and QUBITS before it includes this. SPDX-License-Identifier: BSD-3-Clause */
#include <lathe/lathe.h>

#include <math.h>
#include <stdio.h>

enum { LAYERS = 2 };
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
