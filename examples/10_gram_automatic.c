/* A Gram matrix with everything left to the library: method, tiles, memory.
   SPDX-License-Identifier: BSD-3-Clause */
#include <lathe/lathe.h>

#include <math.h>
#include <stdio.h>

enum { ROWS = 300, QUBITS = 10, LAYERS = 2 };
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
    opt.re_embed_between_layers = true; /* without, the weights cancel: info.note would say so */
    lt_gram_info info;
    if (gram(&opt, &info)) return fail();
    printf("%s by %s in %.3g ms, %.3g million pairs per second\n%s\n", lt_gram_method_name(info.method), info.kernel,
           1e3 * info.total_seconds, info.mpairs_per_s, info.plan);
    printf("K[0][1] = %.12g\n", K[1]);
    return fabs(K[0] - 1) > 1e-14 || K[1] != K[ROWS] || info.note[0];
}
