/* A Gram matrix with everything left to the library: method, tiles, memory.
   SPDX-License-Identifier: BSD-3-Clause */
enum { ROWS = 300, QUBITS = 10 };
#include "gram_data.h"

int main(void)
{
    make_data();
    lt_gram_options opt = lt_gram_defaults();
    opt.re_embed_between_layers = true; /* without, the weights cancel: info.note would say so */
    lt_gram_info info = { .size = sizeof info };
    if (gram(&opt, &info)) return fail();
    printf("%s by %s in %.3g ms, %.3g million pairs per second\n%s\n", lt_gram_method_name(info.method), info.kernel,
           1e3 * info.total_seconds, info.mpairs_per_s, info.plan);
    printf("K[0][1] = %.12g\n", K[1]);
    return fabs(K[0] - 1) > 1e-14 || K[1] != K[ROWS] || info.note[0];
}
