/* States that do not fit: a share of the memory, few rows held at once, the same bits.
   SPDX-License-Identifier: BSD-3-Clause */
#include <lathe/lathe.h>

#include <math.h>
#include <stdio.h>

enum { ROWS = 300, QUBITS = 9, LAYERS = 2 };
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
    opt.re_embed_between_layers = true;
    opt.method = LT_GRAM_STATES;
    lt_gram_info whole, blocks;
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
