/* Tiles, threads and method chosen by hand, with progress; the result is the same to the bit.
   SPDX-License-Identifier: BSD-3-Clause */
enum { ROWS = 500, QUBITS = 8 };
#include "gram_data.h"

static bool show(void *ctx, const lt_gram_progress *p)
{
    int *calls = ctx;
    if (++*calls % 5 == 1) printf("%3.0f %% of the pairs after %.3g ms\n", 100.0 * (double)p->pairs_done / (double)p->pairs_total, 1e3 * p->seconds);
    return true; /* false would stop */
}

int main(void)
{
    make_data();
    lt_gram_options opt = lt_gram_defaults();
    lt_gram_info info = { .size = sizeof info };
    opt.re_embed_between_layers = true;
    opt.method = LT_GRAM_STATES;
    if (gram(&opt, &info)) return fail();
    double before = K[3];
    int calls = 0;
    opt.tile_size = 48;
    opt.n_workers = 2;
    opt.autotune = false;
    opt.progress = show;
    opt.progress_ctx = &calls;
    if (gram(&opt, &info)) return fail();
    printf("%lld tiles on %d threads\n", (long long)info.tiles, info.threads);
    return K[3] != before || calls == 0;
}
