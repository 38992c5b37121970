/* The call of the Python pipeline, unchanged: its parameters by their names, defaults included.
   SPDX-License-Identifier: BSD-3-Clause */
#include <lathe/lathe.h>

#include <math.h>
#include <stdio.h>

enum { ROWS = 100, QUBITS = 6, LAYERS = 2 };
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

/* compute_kernel_matrix(X, weights=W, embed_mode="ryrz", angle_scale=0.1, normalize=True, dtype="float64") */
static const char *const keyword[][2] = {
    { "embed", "ryrz" }, { "angle_scale", "0.1" }, { "normalize", "true" }, { "dtype", "float64" }, { "return_dtype", "float64" },
    { "tile_size", "128" }, { "symmetric", "true" }, { "jitter", "0.0" }, { "state_tile", "-1" }, { "vram_fraction", "0.95" },
};

int main(void)
{
    make_data();
    lt_gram_options opt = lt_gram_defaults();
    for (size_t i = 0; i < sizeof keyword / sizeof *keyword; i++)
        if (lt_options_set(lt_gram_options_table(), keyword[i][0], keyword[i][1], &opt)) return fail();
    lt_gram_info info;
    if (gram(&opt, &info)) return fail();
    printf("K[0][1] = %.12g by method %s\n%s\n", K[1], lt_gram_method_name(info.method), info.note);
    return K[0] != 1 || info.method != LT_GRAM_PRODUCT || !info.note[0]; /* re-embedding is off: the weights cancel */
}
