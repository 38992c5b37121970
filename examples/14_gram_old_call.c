/* The call of the Python pipeline, unchanged: its parameters by their names, defaults included.
   SPDX-License-Identifier: BSD-3-Clause */
enum { ROWS = 100, QUBITS = 6 };
#include "gram_data.h"

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
    lt_gram_info info = { .size = sizeof info };
    if (gram(&opt, &info)) return fail();
    printf("K[0][1] = %.12g by method %s\n%s\n", K[1], lt_gram_method_name(info.method), info.note);
    return K[0] != 1 || info.method != LT_GRAM_PRODUCT || !info.note[0]; /* re-embedding is off: the weights cancel */
}
