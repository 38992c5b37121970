/* The fastest ways to the same matrix: closed forms where they are exact, single precision where it will do.
   SPDX-License-Identifier: BSD-3-Clause */
enum { ROWS = 400, QUBITS = 12 };
#include "gram_data.h"

int main(void)
{
    make_data();
    lt_gram_options opt = lt_gram_defaults();
    lt_gram_info states = { .size = sizeof states }, single = { .size = sizeof single }, closed = { .size = sizeof closed };
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
