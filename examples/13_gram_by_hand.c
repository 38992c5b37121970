/* Tiles, threads and method chosen by hand, with progress; the result is the same to the bit.
   SPDX-License-Identifier: BSD-3-Clause */
#include <lathe/lathe.h>

#include <math.h>
#include <stdio.h>

enum { ROWS = 500, QUBITS = 8, LAYERS = 2 };
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
    lt_gram_info info;
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
