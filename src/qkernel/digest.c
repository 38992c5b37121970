/* A name for what a Gram matrix depends on, and for nothing else. SPDX-License-Identifier: BSD-3-Clause */
#include "lathe/circuit.h"

#include "base/hash.h"
#include "base/sized.h"
#include "base/status.h"
#include "qkernel/circuit/circuit.h"
#include "qkernel/rows/rows.h"

#include <inttypes.h>
#include <stdio.h>

/* Raised whenever entries may come out differently by more than rounding. */
enum { RESULT_VERSION = 1 };

typedef struct digest { uint64_t a, b; } digest; /* two hashes of the same bytes from different seeds */

static void add(digest *d, const void *bytes, size_t n)
{
    d->a = lt_hash64(bytes, n, d->a);
    d->b = lt_hash64(bytes, n, d->b);
}

static void add_int(digest *d, int64_t v) { add(d, &v, sizeof v); }
static void add_real(digest *d, double v) { v += 0.0; add(d, &v, sizeof v); } /* -0 is 0 */

/* Values, not where they lie: neither single precision nor gaps between rows make another matrix (decision 101). */
static void add_rows(digest *d, const lt_rows *x)
{
    add_int(d, x->n);
    add_int(d, x->columns);
    for (int64_t i = 0; i < x->n; i++)
        for (int64_t k = 0; k < x->columns; k++) add_real(d, lt_rows_at(x, i, k));
}

static void finish(const digest *d, char text[LT_GRAM_DIGEST_BYTES]) { snprintf(text, LT_GRAM_DIGEST_BYTES, "%016" PRIx64 "%016" PRIx64, d->a, d->b); }

/* Gates, angles, wires: field by field, since structs have gaps. */
static void add_circuit(digest *d, const lt_circuit *c, const double *weights)
{
    add_int(d, c->n_qubits);
    add_int(d, c->n_features);
    add_int(d, c->amplitudes);
    for (int64_t i = 0; i < c->n_gates; i++) {
        const lt_gate *g = &c->gate[i];
        add_int(d, g->kind);
        add_int(d, g->n_controls);
        add(d, c->wire + g->first_wire, (size_t)g->n_wires * sizeof *c->wire);
        for (int a = 0; a < lt_gate_at(g->kind)->n_angles; a++) add_int(d, g->angle[a]);
    }
    for (int32_t i = 0; i < c->exprs.n; i++) {
        const lt_expr_node *n = &c->exprs.node[i];
        add_int(d, n->op);
        add_int(d, n->a);
        add_int(d, n->b);
        add_real(d, n->value);
    }
    add(d, c->number, (size_t)c->n_numbers * sizeof *c->number);
    add(d, c->letter, (size_t)c->n_letters);
    for (int64_t i = 0; i < c->n_weights; i++) add_real(d, weights[i]);
}

lt_status lt_gram_digest_circuit(const lt_gram_options *options, const lt_similarity_options *similarity, const lt_circuit *c, const double *weights,
                                 const lt_rows *x, const lt_rows *y, char text[LT_GRAM_DIGEST_BYTES])
{
    lt_gram_options own = lt_gram_defaults(), *opt = &own;
    lt_similarity_options kernel = lt_similarity_defaults(), *s = &kernel;
    LT_TRY(LT_TAKE(lt_gram_options, options, opt));
    LT_TRY(LT_TAKE(lt_similarity_options, similarity, s));
    if (!c || (c->n_weights && !weights) || !x || !x->data || (y && !y->data) || !text)
        return LT_FAIL(LT_ERR_ARGUMENT, "gram_digest: the circuit, weights, X or the text are NULL");
    digest d = { 0x63697263, 0x75697473 };
    add_int(&d, RESULT_VERSION);
    add_circuit(&d, c, weights);
    add_int(&d, s->kind);
    add_real(&d, s->kind == LT_SIMILARITY_PROJECTED ? s->gamma : 0);
    add_int(&d, s->shots);
    add_int(&d, s->shots ? s->seed : 0);
    add_real(&d, s->depolarizing);
    add_int(&d, opt->dtype);
    add_int(&d, opt->return_dtype);
    add_int(&d, opt->packed);
    add_int(&d, opt->normalize);
    add_real(&d, opt->normalize && !y ? opt->jitter : 0);
    add_rows(&d, x);
    add_int(&d, y != NULL);
    if (y) add_rows(&d, y);
    finish(&d, text);
    return LT_OK;
}

lt_status lt_gram_digest(const lt_gram_options *options, const lt_weights *w, const lt_rows *x, const lt_rows *y, char text[LT_GRAM_DIGEST_BYTES])
{
    lt_gram_options own = lt_gram_defaults(), *opt = &own;
    LT_TRY(LT_TAKE(lt_gram_options, options, opt));
    if (!w || !w->data || !x || !x->data || (y && !y->data) || !text)
        return LT_FAIL(LT_ERR_ARGUMENT, "gram_digest: the weights, X or the text are NULL");
    digest d = { 0x6772616d, 0x6b65726e };
    bool strong = opt->entangler == LT_ENTANGLER_STRONG;
    add_int(&d, RESULT_VERSION);
    add_int(&d, opt->embed_mode == LT_EMBED_RYRZ); /* angle is another name of ry */
    add_real(&d, opt->angle_scale);
    add_int(&d, opt->re_embed_between_layers);
    add_int(&d, opt->entangler);
    add_int(&d, opt->dtype);
    add_int(&d, opt->return_dtype);
    add_int(&d, opt->packed);
    add_int(&d, opt->normalize);
    add_real(&d, opt->normalize && !y ? opt->jitter : 0); /* else it has no effect */
    add_int(&d, w->n_layers);
    add_int(&d, w->n_qubits);
    for (int64_t i = 0; i < w->n_layers * w->n_qubits * (strong ? 3 : 1); i++) add_real(&d, w->data[i]);
    add_rows(&d, x);
    add_int(&d, y != NULL);
    if (y) add_rows(&d, y);
    finish(&d, text);
    return LT_OK;
}
