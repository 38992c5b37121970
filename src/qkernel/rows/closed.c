/* Per-row data of the closed forms. SPDX-License-Identifier: BSD-3-Clause */
#include "qkernel/rows/closed.h"

#include "base/status.h"
#include "qkernel/rows/rows.h"

int lt_closed_components(const lt_layers *c, lt_gram_method method)
{
    if (method == LT_GRAM_TRANSFER) return LT_TRANSFER_REALS;
    return c->program || c->embed == LT_EMBED_RYRZ ? LT_CLOSED_BLOCH : LT_CLOSED_RY;
}

/* The numbers of one wire of one row, for transfer matrices. */
static void transfer_numbers(const lt_layers *c, int64_t wire, double angle, double *out, int64_t step)
{
    lt_su2 e = lt_su2_embed(c->embed, angle), a = lt_su2_times(c->gates[wire], e);
    double part[LT_TRANSFER_REALS] = { a.ar + a.br, a.ai + a.bi, a.ar - a.br, a.ai - a.bi, e.ar, e.ai, e.br, e.bi };
    for (int i = 0; i < LT_TRANSFER_REALS; i++) out[i * step] = part[i];
}

/* The numbers of one wire of a panel of rows, for the product. */
static void product_numbers(const lt_layers *c, const lt_closed_loops *l, double *angle, double *out)
{
    _Alignas(LT_LINE_BYTES) double sine[LT_CLOSED_MAX_PANEL], cosine[LT_CLOSED_MAX_PANEL];
    bool bloch = c->embed == LT_EMBED_RYRZ;
    for (int r = 0; !bloch && r < l->panel; r++) angle[r] /= 2;
    l->sincos(sine, cosine, angle, l->panel);
    for (int r = 0; r < l->panel; r++) {
        out[r] = bloch ? sine[r] * cosine[r] : cosine[r];
        out[l->panel + r] = bloch ? sine[r] * sine[r] : sine[r];
        if (bloch) out[2 * l->panel + r] = cosine[r];
    }
}

typedef struct work {
    const lt_layers *c;
    const lt_closed_loops *l;
    lt_gram_method method;
    const lt_rows *x;
    int64_t first;
    double *panels;
} work;

static lt_status pack_panel(void *ctx, int64_t index, int worker)
{
    work *w = ctx;
    (void)worker;
    int components = lt_closed_components(w->c, w->method), panel = w->l->panel;
    double *to = w->panels + index * panel * components * w->c->q;
    for (int64_t k = 0; k < w->c->q; k++, to += panel * components) {
        _Alignas(LT_LINE_BYTES) double angle[LT_CLOSED_MAX_PANEL];
        for (int r = 0; r < panel; r++) {
            int64_t row = w->first + index * panel + r;
            angle[r] = row >= 0 && row < w->x->n ? w->c->scale * lt_rows_at(w->x, row, k) : 0;
        }
        if (w->method == LT_GRAM_PRODUCT) product_numbers(w->c, w->l, angle, to);
        else
            for (int r = 0; r < panel; r++) transfer_numbers(w->c, k, angle[r], to + r, panel);
    }
    return LT_OK;
}

lt_status lt_closed_pack(const lt_layers *c, const lt_closed_loops *l, lt_gram_method method, lt_pool *pool,
                         const lt_rows *x, int64_t first, int64_t n, double *panels)
{
    work w = { c, l, method, x, first, panels };
    return lt_pool_run(pool, (n + l->panel - 1) / l->panel, pack_panel, &w);
}
