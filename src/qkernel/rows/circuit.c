/* Circuits as stages of fused one-wire gates and address maps. SPDX-License-Identifier: BSD-3-Clause */
#include "qkernel/simulate/program.h"

#include "base/alloc.h"
#include "base/status.h"

#include <math.h>

/* ---- gates ---- */

lt_su2 lt_su2_embed(lt_embed mode, double angle)
{
    double c = cos(angle / 2), s = sin(angle / 2);
    if (mode == LT_EMBED_RYRZ) return (lt_su2){ c * c, -s * c, c * s, s * s };
    return (lt_su2){ c, 0, s, 0 };
}

static lt_su2 turn_rx(double angle) { return (lt_su2){ cos(angle / 2), 0, 0, -sin(angle / 2) }; }

/* RZ(omega) RY(theta) RZ(phi) */
static lt_su2 turn_rot(double phi, double theta, double omega)
{
    double c = cos(theta / 2), s = sin(theta / 2), plus = (omega + phi) / 2, minus = (omega - phi) / 2;
    return (lt_su2){ c * cos(plus), -c * sin(plus), s * cos(minus), s * sin(minus) };
}

lt_su2 lt_su2_times(lt_su2 a, lt_su2 b)
{
    return (lt_su2){
        a.ar * b.ar - a.ai * b.ai - (a.br * b.br + a.bi * b.bi), a.ar * b.ai + a.ai * b.ar - (a.br * b.bi - a.bi * b.br),
        a.br * b.ar - a.bi * b.ai + (a.ar * b.br + a.ai * b.bi), a.br * b.ai + a.bi * b.ar + (a.ar * b.bi - a.ai * b.br),
    };
}

/* ---- rings ---- */

/* Where the basis state that ends at o came from: the gates backwards, each its own inverse. */
static uint32_t before_ring(uint32_t o, int q, int n_gates, int range)
{
    for (int k = n_gates - 1; k >= 0; k--) {
        int control = q - 1 - k, target = q - 1 - (k + range) % q; /* wire 0 is the top bit */
        o ^= (o >> control & 1) << target;
    }
    return o;
}

lt_status lt_ring_create(int q, int n_gates, int range, lt_ring *out)
{
    int low_bits = (q + 1) / 2;
    size_t n_low = (size_t)1 << low_bits, n_high = (size_t)1 << (q - low_bits);
    *out = (lt_ring){ .low_bits = low_bits };
    out->low = lt_malloc((n_low + n_high) * sizeof *out->low);
    if (!out->low) return LT_ERR_MEMORY;
    out->high = out->low + n_low;
    for (uint32_t o = 0; o < n_low; o++) out->low[o] = before_ring(o, q, n_gates, range);
    for (uint32_t o = 0; o < n_high; o++) out->high[o] = before_ring(o << low_bits, q, n_gates, range);
    return LT_OK;
}

void lt_ring_destroy(lt_ring *r)
{
    lt_free(r->low);
    *r = (lt_ring){ 0 };
}

/* ---- circuits ---- */

static lt_status make_gates(const lt_weights *w, lt_entangler entangler, lt_layers *c)
{
    int64_t n = w->n_layers * w->n_qubits;
    c->gates = lt_calloc((size_t)n, sizeof *c->gates);
    if (!c->gates) return LT_ERR_MEMORY;
    for (int64_t i = 0; i < n; i++)
        c->gates[i] = entangler == LT_ENTANGLER_STRONG ? turn_rot(w->data[3 * i], w->data[3 * i + 1], w->data[3 * i + 2])
                                                       : turn_rx(w->data[i]);
    return LT_OK;
}

/* rings[0] is the identity; rings[1 + l] that of layer l, which repeats after n_rings - 1 layers. */
static lt_status make_rings(lt_entangler entangler, lt_layers *c)
{
    int q = c->q, n = entangler == LT_ENTANGLER_STRONG && q > 2 ? q - 1 : 1;
    if (n > c->n_layers) n = (int)c->n_layers;
    c->rings = lt_calloc((size_t)n + 1, sizeof *c->rings);
    if (!c->rings) return LT_ERR_MEMORY;
    c->n_rings = n + 1;
    LT_TRY(lt_ring_create(q, 0, 1, &c->rings[0]));
    /* The basic template has one controlled not, not two, on two wires. */
    int n_gates = q == 1 ? 0 : q == 2 && entangler == LT_ENTANGLER_BASIC ? 1 : q;
    for (int l = 0; l < n; l++) LT_TRY(lt_ring_create(q, n_gates, l + 1, &c->rings[1 + l]));
    return LT_OK;
}

static lt_stage layer_stage(const lt_layers *c, int64_t layer, bool re_embed)
{
    return (lt_stage){ .gate = c->gates + layer * c->q, .embed = re_embed || layer == 0,
                       .ring = &c->rings[1 + layer % (c->n_rings - 1)] };
}

static lt_status make_stages(bool re_embed, lt_layers *c)
{
    c->full = lt_calloc(2 * (size_t)c->n_layers, sizeof *c->full);
    if (!c->full) return LT_ERR_MEMORY;
    c->overlap = c->full + c->n_layers;
    for (int64_t l = 0; l < c->n_layers; l++) c->full[c->n_full++] = layer_stage(c, l, re_embed);
    for (int64_t l = 0; l + 1 < c->n_layers; l++) c->overlap[c->n_overlap++] = layer_stage(c, l, re_embed);
    if (re_embed || c->n_layers == 1)
        c->overlap[c->n_overlap++] = (lt_stage){ .embed = true, .ring = &c->rings[0] };
    c->overlap[c->n_overlap - 1].ring = &c->rings[0]; /* the same permutation of all rows */
    return LT_OK;
}

/* Whether a gate is real: RX by a multiple of 4 pi, or a rotation about Y alone. */
static bool has_real_stages(const lt_layers *c)
{
    if (c->embed == LT_EMBED_RYRZ) return false;
    for (int64_t s = 0; s < c->n_overlap; s++)
        for (int k = 0; c->overlap[s].gate && k < c->q; k++)
            if (c->overlap[s].gate[k].ai != 0 || c->overlap[s].gate[k].bi != 0) return false;
    return true;
}

lt_status lt_layers_create(const lt_gram_options *opt, const lt_weights *w, lt_layers *c)
{
    bool re_embed = opt->re_embed_between_layers;
    *c = (lt_layers){ .q = (int)w->n_qubits, .n_layers = w->n_layers, .embed = opt->embed_mode, .scale = opt->angle_scale };
    c->collapses = !re_embed || w->n_layers == 1;
    c->parity_ring = w->n_qubits >= 3;
    c->has_transfer = re_embed && w->n_layers == 2 && !(opt->entangler == LT_ENTANGLER_STRONG && w->n_qubits == 2);
    LT_TRY(make_gates(w, opt->entangler, c));
    if (c->q > LT_STATES_MAX_QUBITS) return LT_OK; /* closed forms only */
    LT_TRY(make_rings(opt->entangler, c));
    LT_TRY(make_stages(re_embed, c));
    c->real = has_real_stages(c);
    return LT_OK;
}

int lt_layers_widest(const lt_layers *c) { return c->program ? c->program->widest : c->q; }

void lt_layers_destroy(lt_layers *c)
{
    for (int i = 0; i < c->n_rings; i++) lt_ring_destroy(&c->rings[i]);
    lt_free(c->rings);
    lt_free(c->full);
    lt_free(c->gates);
    *c = (lt_layers){ 0 };
}
