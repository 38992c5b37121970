/* The circuits that named maps stand for. SPDX-License-Identifier: BSD-3-Clause */
#include "qkernel/circuit/map.h"

#include "base/sized.h"
#include "base/status.h"

#include <math.h>
#include <string.h>

/* A circuit on its way: the first failure stays, so that gates can be listed without a check at each. */
typedef struct builder {
    lt_circuit   *c;
    const lt_map *m;
    int64_t       q, d, n_blocks; /* wires; features; blocks of q features that are uploaded in turn */
    lt_status     status;
} builder;

/* ---- gates and angles ---- */

static void put(builder *b, lt_gate_kind kind, const int32_t *wires, int n_wires, int32_t angle)
{
    if (b->status) return;
    lt_gate_request r = { .kind = kind, .wires = wires, .n_wires = n_wires, .angles = &angle, .n_angles = lt_gate_at(kind)->n_angles };
    b->status = lt_circuit_add(b->c, &r);
}

static void put1(builder *b, lt_gate_kind kind, int64_t wire, int32_t angle) { put(b, kind, (int32_t[]){ (int32_t)wire }, 1, angle); }
static void put2(builder *b, lt_gate_kind kind, int64_t v, int64_t w, int32_t angle) { put(b, kind, (int32_t[]){ (int32_t)v, (int32_t)w }, 2, angle); }

static int32_t leaf(builder *b, lt_expr_op op, int64_t index) { return lt_expr_leaf(&b->c->exprs, op, (int32_t)index); }
static int32_t weight(builder *b, int64_t index) { return leaf(b, LT_EXPR_W, index); }
static int32_t times(builder *b, double factor, int32_t node)
{
    if (factor == 1) return node;
    int32_t number = lt_expr_number(&b->c->exprs, factor);
    return lt_expr_binary(&b->c->exprs, LT_EXPR_MUL, number, node);
}
static int32_t binary(builder *b, lt_expr_op op, int32_t x, int32_t y) { return lt_expr_binary(&b->c->exprs, op, x, y); }

/* The feature of a wire in upload number `upload`; -1 when the last block does not reach so far (decision 166). */
static int64_t feature(const builder *b, int64_t upload, int64_t wire)
{
    int64_t at = upload % b->n_blocks * b->q + wire;
    return at < b->d ? at : -1;
}

static lt_gate_kind rotation(char axis) { return axis == 'X' ? LT_GATE_RX : axis == 'Y' ? LT_GATE_RY : LT_GATE_RZ; }

static void hadamards(builder *b)
{
    for (int64_t i = 0; i < b->q; i++) put1(b, LT_GATE_H, i, -1);
}

static void upload_angles(builder *b, char axis, int64_t upload)
{
    for (int64_t i = 0; i < b->q; i++)
        if (feature(b, upload, i) >= 0) put1(b, rotation(axis), i, leaf(b, LT_EXPR_X, feature(b, upload, i)));
}

/* ---- maps of Pauli words ---- */

/* x_i of one wire, the product of pi - x_i of several; false when a feature is not there. */
static bool word_angle(builder *b, int64_t upload, const int32_t *wires, int k, double alpha, int32_t *angle)
{
    int32_t product = -1;
    for (int i = 0; i < k; i++) {
        int64_t at = feature(b, upload, wires[i]);
        if (at < 0) return false;
        int32_t part = leaf(b, LT_EXPR_X, at);
        if (k > 1) part = binary(b, LT_EXPR_SUB, leaf(b, LT_EXPR_PI, 0), part);
        product = i == 0 ? times(b, alpha, part) : binary(b, LT_EXPR_MUL, product, part);
    }
    *angle = product;
    return true;
}

/* Words are read right to left: the last letter belongs to the first wire of the tuple. */
static void put_word(builder *b, const char *word, const int32_t *wires, int k, int32_t angle)
{
    for (int undo = 0; undo < 2; undo++) {
        for (int i = 0; undo && i < k - 1; i++) put2(b, LT_GATE_CX, wires[k - 2 - i], wires[k - 1 - i], -1);
        for (int i = 0; i < k; i++) {
            char letter = word[k - 1 - i];
            if (letter == 'X') put1(b, LT_GATE_H, wires[i], -1);
            if (letter == 'Y') put1(b, LT_GATE_RX, wires[i], times(b, undo ? -0.5 : 0.5, leaf(b, LT_EXPR_PI, 0)));
        }
        for (int i = 0; !undo && i < k - 1; i++) put2(b, LT_GATE_CX, wires[i], wires[i + 1], -1);
        if (!undo) put1(b, LT_GATE_P, wires[k - 1], angle);
    }
}

static void add_words(builder *b, int64_t repetition, const char *word)
{
    lt_tuples t = { 0 };
    int k = (int)strlen(word);
    int32_t angle;
    if (!b->status) b->status = lt_tuples_of(b->m->entanglement, b->q, k, repetition, &b->m->list, &t);
    for (int64_t i = 0; !b->status && i < t.n; i++) {
        const int32_t *wires = t.wire + i * k;
        for (int j = 0; j < k; j++)
            if (wires[j] >= b->q) b->status = LT_FAIL(LT_ERR_ARGUMENT, "circuit: the entanglement names wire %d of %lld", (int)wires[j], (long long)b->q);
        if (!b->status && word_angle(b, repetition, wires, k, b->m->alpha, &angle)) put_word(b, word, wires, k, angle);
    }
    lt_tuples_destroy(&t);
}

static void build_pauli(builder *b)
{
    static const char z[] = "Z", zz[] = "ZZ";
    const lt_map *m = b->m;
    for (int64_t r = 0; r < (m->reps ? m->reps : 2) * b->n_blocks; r++) {
        hadamards(b);
        if (m->kind == LT_MAP_PAULI)
            for (int i = 0; i < m->n_words; i++) add_words(b, r, m->word[i]);
        else {
            add_words(b, r, z);
            if (m->kind == LT_MAP_ZZ && b->q > 1) add_words(b, r, zz);
        }
    }
}

static void build_iqp(builder *b)
{
    const lt_map *m = b->m;
    if (m->list.width != 0 && m->list.width != 2) b->status = LT_FAIL(LT_ERR_ARGUMENT, "circuit: iqp's pattern has tuples of %d wires, expected pairs", m->list.width);
    for (int64_t r = 0; !b->status && r < (m->reps ? m->reps : 1) * b->n_blocks; r++) {
        lt_tuples t = { 0 };
        hadamards(b);
        upload_angles(b, 'Z', r);
        if (b->q > 1 && !b->status) b->status = lt_tuples_of(m->list.width ? LT_ENTANGLE_LIST : LT_ENTANGLE_FULL, b->q, 2, r, &m->list, &t);
        for (int64_t i = 0; !b->status && i < t.n; i++) {
            const int32_t *w = t.wire + 2 * i;
            if (w[0] >= b->q || w[1] >= b->q) {
                b->status = LT_FAIL(LT_ERR_ARGUMENT, "circuit: iqp's pattern names wires %d and %d of %lld", (int)w[0], (int)w[1], (long long)b->q);
                break;
            }
            int64_t x = feature(b, r, w[0]), y = feature(b, r, w[1]);
            if (x < 0 || y < 0) continue;
            int32_t first = leaf(b, LT_EXPR_X, x);
            put(b, LT_GATE_MULTIRZ, w, 2, binary(b, LT_EXPR_MUL, first, leaf(b, LT_EXPR_X, y)));
        }
        lt_tuples_destroy(&t);
    }
}

/* ---- layers ---- */

static void build_angle(builder *b)
{
    for (int64_t u = 0; u < b->n_blocks; u++) upload_angles(b, b->m->rotation, u);
}

/* Uploads before layer l: once before the first, or before each with re-uploading. */
static void upload_before(builder *b, int64_t layer)
{
    if (layer == 0 || b->m->reupload) upload_angles(b, b->m->angle_rotation, layer);
}

static void build_basic(builder *b)
{
    for (int64_t l = 0; l < b->m->reps; l++) {
        upload_before(b, l);
        for (int64_t i = 0; i < b->q; i++) put1(b, rotation(b->m->rotation), i, weight(b, l * b->q + i));
        for (int64_t i = 0; i < (b->q == 2 ? 1 : b->q) && b->q > 1; i++) put2(b, LT_GATE_CX, i, (i + 1) % b->q, -1);
    }
}

static void build_strong(builder *b)
{
    const lt_map *m = b->m;
    const int64_t q = b->q;
    if (m->n_ranges && m->n_ranges != m->reps)
        b->status = LT_FAIL(LT_ERR_ARGUMENT, "circuit: strong has %d ranges for %lld layers, expected one for each", m->n_ranges, (long long)m->reps);
    for (int64_t l = 0; !b->status && l < m->reps; l++) {
        int64_t range = m->n_ranges ? m->range[l] : q > 1 ? 1 + l % (q - 1) : 0;
        if (m->n_ranges && q > 1 && range % q == 0)
            b->status = LT_FAIL(LT_ERR_ARGUMENT, "circuit: strong's range %lld joins wires to themselves on %lld wires", (long long)range, (long long)q);
        upload_before(b, l);
        for (int64_t i = 0; i < q; i++) { /* RZ(w2) RY(w1) RZ(w0) */
            put1(b, LT_GATE_RZ, i, weight(b, (l * q + i) * 3));
            put1(b, LT_GATE_RY, i, weight(b, (l * q + i) * 3 + 1));
            put1(b, LT_GATE_RZ, i, weight(b, (l * q + i) * 3 + 2));
        }
        for (int64_t i = 0; i < q && q > 1; i++) put2(b, m->cz ? LT_GATE_CZ : LT_GATE_CX, i, (i + range) % q, -1);
    }
}

static void upload_qaoa(builder *b)
{
    for (int64_t i = 0; i < b->q; i++) {
        if (i < b->d) put1(b, LT_GATE_RX, i, leaf(b, LT_EXPR_X, i));
        else put1(b, LT_GATE_H, i, -1);
    }
}

static void build_qaoa(builder *b)
{
    const int64_t q = b->q, n_zz = q == 1 ? 0 : q == 2 ? 1 : q, per_layer = n_zz + q;
    for (int64_t l = 0; l < b->m->reps; l++) {
        upload_qaoa(b);
        for (int64_t i = 0; i < n_zz; i++) put2(b, LT_GATE_RZZ, i, (i + 1) % q, weight(b, l * per_layer + i));
        for (int64_t i = 0; i < q; i++) put1(b, rotation(b->m->local_field), i, weight(b, l * per_layer + n_zz + i));
    }
    upload_qaoa(b);
}

/* Features go on from wire to wire and from layer to layer, round and round. */
static void build_demo(builder *b)
{
    const int64_t q = b->q;
    for (int64_t l = 0; l < b->m->reps; l++) {
        for (int64_t i = 0; i < q; i++) {
            put1(b, LT_GATE_H, i, -1);
            put1(b, LT_GATE_RZ, i, leaf(b, LT_EXPR_X, (l * q + i) % b->d));
            put1(b, LT_GATE_RY, i, weight(b, 2 * l * q + i));
        }
        for (int64_t i = 0; i < q && q > 1; i++) put2(b, LT_GATE_CRZ, i, (i + 1) % q, weight(b, (2 * l + 1) * q + i));
    }
}

static void build_amplitude(builder *b) { b->c->amplitudes = true; }

/* ---- sizes ---- */

static const struct { void (*build)(builder *b); bool layers, fewer_features, uploads_by_layer; } maps[] = {
    [LT_MAP_Z] = { build_pauli, false, false, false },   [LT_MAP_ZZ] = { build_pauli, false, false, false },
    [LT_MAP_PAULI] = { build_pauli, false, false, false }, [LT_MAP_IQP] = { build_iqp, false, false, false },
    [LT_MAP_ANGLE] = { build_angle, false, true, false }, [LT_MAP_BASIC] = { build_basic, true, true, true },
    [LT_MAP_STRONG] = { build_strong, true, true, true }, [LT_MAP_QAOA] = { build_qaoa, true, true, false },
    [LT_MAP_AMPLITUDE] = { build_amplitude, false, true, false }, [LT_MAP_DEMO] = { build_demo, true, true, true },
};
_Static_assert(LT_LEN(maps) == LT_MAP_COUNT, "one row per map");

static lt_shape weights_shape(lt_map_kind kind, int64_t layers, int64_t q)
{
    switch (kind) {
    case LT_MAP_BASIC: return lt_shape2(layers, q);
    case LT_MAP_STRONG: return lt_shape3(layers, q, 3);
    case LT_MAP_QAOA: return lt_shape2(layers, q == 1 ? 1 : q == 2 ? 3 : 2 * q);
    case LT_MAP_DEMO: return lt_shape3(layers, 2, q);
    default: return lt_shape0();
    }
}

static int64_t qubits_of_amplitudes(int64_t d)
{
    int64_t q = 1;
    while (((int64_t)1 << q) < d) q++;
    return q;
}

static lt_status choose_sizes(builder *b, const lt_map *m)
{
    const char *name = lt_map_name(m->kind);
    b->q = m->wires ? m->wires : m->kind == LT_MAP_AMPLITUDE ? qubits_of_amplitudes(b->d) : b->d;
    int64_t room = m->kind == LT_MAP_AMPLITUDE ? (b->q < 40 ? (int64_t)1 << b->q : INT64_MAX) : b->q;
    if (b->d < b->q && !maps[m->kind].fewer_features)
        return LT_FAIL(LT_ERR_ARGUMENT, "circuit: %s on %lld wires needs as many features, and X has %lld columns", name, (long long)b->q, (long long)b->d);
    if (b->d > room && !m->reupload)
        return LT_FAIL(LT_ERR_ARGUMENT, "circuit: %s on %lld wires holds %lld features, and X has %lld columns%s", name, (long long)b->q, (long long)room,
                       (long long)b->d, m->kind == LT_MAP_AMPLITUDE || m->kind == LT_MAP_QAOA ? "" : "; reupload=true uploads them in blocks, one after the other");
    b->n_blocks = m->kind == LT_MAP_AMPLITUDE ? 1 : LT_MAX(1, (b->d + b->q - 1) / b->q);
    if (maps[m->kind].uploads_by_layer && m->reps < b->n_blocks)
        return LT_FAIL(LT_ERR_ARGUMENT, "circuit: %lld features on %lld wires need %lld layers that upload them, and %s has %lld", (long long)b->d,
                       (long long)b->q, (long long)b->n_blocks, name, (long long)m->reps);
    return LT_OK;
}

static lt_status build_map(const lt_map *given, const lt_map_options *opt, lt_circuit **out)
{
    lt_map m = *given;
    *out = NULL;
    if (opt->n_features < 1 || opt->n_features > 1 << 24) return LT_FAIL(LT_ERR_ARGUMENT, "circuit: a map of %lld features, expected at least one", (long long)opt->n_features);
    if (maps[m.kind].layers && !m.reps) m.reps = opt->n_layers > 0 ? opt->n_layers : 1;
    builder b = { .m = &m, .d = opt->n_features };
    LT_TRY(choose_sizes(&b, &m));
    lt_shape shape = weights_shape(m.kind, m.reps, b.q);
    int64_t n_weights = shape.rank ? lt_shape_count(&shape) : 0;
    LT_TRY(lt_circuit_create(b.q, b.d, n_weights, &b.c));
    b.c->weights = shape;
    maps[m.kind].build(&b);
    if (b.status) {
        lt_circuit_destroy(b.c);
        return b.status;
    }
    *out = b.c;
    return LT_OK;
}

void lt_map_defaults_into(lt_map_options *out) { LT_GIVE(out, &(lt_map_options){ .size = sizeof(lt_map_options) }); }

lt_status lt_circuit_from_map(const char *text, const lt_map_options *opt, lt_circuit **out)
{
    lt_map m;
    if (!out) return LT_FAIL(LT_ERR_ARGUMENT, "circuit: out is NULL");
    *out = NULL;
    if (!text) return LT_FAIL(LT_ERR_ARGUMENT, "circuit: the map's text is NULL");
    lt_map_options own = lt_map_defaults();
    LT_TRY(LT_TAKE(lt_map_options, opt, &own));
    lt_status s = lt_map_read(text, &m);
    if (!s) s = build_map(&m, &own, out);
    lt_map_destroy(&m);
    return s;
}
