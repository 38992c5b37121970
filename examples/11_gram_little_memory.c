/* States that do not fit: a share of the memory, few rows held at once, the same bits.
   SPDX-License-Identifier: BSD-3-Clause */
enum { ROWS = 300, QUBITS = 9 };
#include "gram_data.h"

int main(void)
{
    make_data();
    lt_gram_options opt = lt_gram_defaults();
    opt.re_embed_between_layers = true;
    opt.method = LT_GRAM_STATES;
    lt_gram_info whole = { .size = sizeof whole }, blocks = { .size = sizeof blocks };
    if (gram(&opt, &whole)) return fail();
    double before = K[ROWS + 7];
    opt.vram_fraction = 0.7;           /* leave memory to others */
    opt.precompute_all_states = false; /* build states again rather than hold them all */
    opt.state_tile = 64;
    if (gram(&opt, &blocks)) return fail();
    printf("all states: %.3g MB held, %lld built; blocks: %.3g MB held, %lld built\n%s\n", 1e-6 * (double)whole.peak_bytes,
           (long long)whole.states_built, 1e-6 * (double)blocks.peak_bytes, (long long)blocks.states_built, blocks.plan);
    return before != K[ROWS + 7] || blocks.peak_bytes >= whole.peak_bytes;
}
