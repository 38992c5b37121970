/* Per-row data of the closed forms. SPDX-License-Identifier: BSD-3-Clause */
#include "qkernel/closed.h"

#include "base/status.h"
#include "qkernel/rows.h"

#include <math.h>

int lt_closed_components(const lt_circuit *c, lt_gram_method method)
{
    if (method == LT_GRAM_TRANSFER) return LT_TRANSFER_REALS;
    return c->embed == LT_EMBED_RYRZ ? LT_CLOSED_BLOCH : LT_CLOSED_RY;
}

/* The numbers of one wire of one row. */
static void wire_numbers(const lt_circuit *c, lt_gram_method method, int64_t wire, double angle, double *out)
{
    if (method == LT_GRAM_TRANSFER) {
        lt_su2 e = lt_su2_embed(c->embed, angle), a = lt_su2_times(c->gates[wire], e);
        double part[LT_TRANSFER_REALS] = { a.ar + a.br, a.ai + a.bi, a.ar - a.br, a.ai - a.bi, e.ar, e.ai, e.br, e.bi };
        for (int i = 0; i < LT_TRANSFER_REALS; i++) out[i] = part[i];
    } else if (c->embed == LT_EMBED_RYRZ) {
        double s = sin(angle), co = cos(angle);
        out[0] = s * co;
        out[1] = s * s;
        out[2] = co;
    } else {
        out[0] = cos(angle / 2);
        out[1] = sin(angle / 2);
    }
}

typedef struct work {
    const lt_circuit *c;
    const lt_closed_loops *l;
    lt_gram_method method;
    const lt_rows *x;
    int64_t first, n;
    double *panels;
} work;

static lt_status pack_panel(void *ctx, int64_t index, int worker)
{
    work *w = ctx;
    (void)worker;
    int components = lt_closed_components(w->c, w->method), panel = w->l->panel;
    double *to = w->panels + index * panel * components * w->c->q;
    for (int64_t k = 0; k < w->c->q; k++)
        for (int r = 0; r < panel; r++) {
            int64_t row = index * panel + r;
            double part[LT_TRANSFER_REALS] = { 0 }, angle = row < w->n ? w->c->scale * lt_rows_at(w->x, w->first + row, k) : 0;
            wire_numbers(w->c, w->method, k, angle, part);
            for (int i = 0; i < components; i++) to[(k * components + i) * panel + r] = part[i];
        }
    return LT_OK;
}

lt_status lt_closed_pack(const lt_circuit *c, const lt_closed_loops *l, lt_gram_method method, lt_pool *pool,
                         const lt_rows *x, int64_t first, int64_t n, double *panels)
{
    work w = { c, l, method, x, first, n, panels };
    return lt_pool_run(pool, (n + l->panel - 1) / l->panel, pack_panel, &w);
}
