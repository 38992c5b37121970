/* Circuits: made, extended, described, ended. SPDX-License-Identifier: BSD-3-Clause */
#include "qkernel/circuit/circuit.h"

#include "base/alloc.h"
#include "base/sized.h"
#include "base/status.h"

#include <math.h>
#include <string.h>

lt_status lt_circuit_create(int64_t n_qubits, int64_t n_features, int64_t n_weights, lt_circuit **out)
{
    if (!out) return LT_FAIL(LT_ERR_ARGUMENT, "circuit: out is NULL");
    *out = NULL;
    if (n_qubits < 1 || n_qubits > LT_CIRCUIT_MAX_QUBITS)
        return LT_FAIL(LT_ERR_ARGUMENT, "circuit: %lld qubits, expected 1 to %d", (long long)n_qubits, LT_CIRCUIT_MAX_QUBITS);
    if (n_features < 0 || n_features > 1 << 24 || n_weights < 0 || n_weights > 1 << 24)
        return LT_FAIL(LT_ERR_ARGUMENT, "circuit: %lld features and %lld weights, expected 0 to %d of each", (long long)n_features,
                       (long long)n_weights, 1 << 24);
    lt_circuit *c = lt_calloc(1, sizeof *c);
    if (!c) return LT_ERR_MEMORY;
    c->n_qubits = n_qubits;
    c->n_features = n_features;
    c->n_weights = n_weights;
    if (n_weights) c->weights = lt_shape1(n_weights);
    *out = c;
    return LT_OK;
}

void lt_circuit_destroy(lt_circuit *c)
{
    if (!c) return;
    lt_exprs_destroy(&c->exprs);
    lt_free(c->gate);
    lt_free(c->wire);
    lt_free(c->number);
    lt_free(c->letter);
    lt_free(c);
}

/* Room for n more elements of a list. */
static lt_status grow(void *list, int64_t n_used, int64_t *capacity, int64_t n, size_t element)
{
    void **p = list;
    if (n_used + n <= *capacity) return LT_OK;
    int64_t larger = LT_MAX(2 * *capacity, n_used + n + 16);
    void *more = lt_realloc(*p, (size_t)larger * element);
    if (!more) return LT_ERR_MEMORY;
    *p = more;
    *capacity = larger;
    return LT_OK;
}

lt_status lt_circuit_copy(const lt_circuit *c, lt_circuit **out)
{
    LT_TRY(lt_circuit_create(c->n_qubits, c->n_features, c->n_weights, out));
    lt_circuit *d = *out;
    d->weights = c->weights;
    d->amplitudes = c->amplitudes;
    lt_status s = lt_exprs_copy(&c->exprs, &d->exprs);
    if (!s) s = grow(&d->gate, 0, &d->gate_capacity, c->n_gates, sizeof *d->gate);
    if (!s) s = grow(&d->wire, 0, &d->wire_capacity, c->n_wires, sizeof *d->wire);
    if (!s) s = grow(&d->number, 0, &d->number_capacity, c->n_numbers, sizeof *d->number);
    if (!s) s = grow(&d->letter, 0, &d->letter_capacity, c->n_letters, sizeof *d->letter);
    if (s) {
        lt_circuit_destroy(d);
        *out = NULL;
        return s;
    }
    if (c->n_gates) memcpy(d->gate, c->gate, (size_t)c->n_gates * sizeof *c->gate);
    if (c->n_wires) memcpy(d->wire, c->wire, (size_t)c->n_wires * sizeof *c->wire);
    if (c->n_numbers) memcpy(d->number, c->number, (size_t)c->n_numbers * sizeof *c->number);
    if (c->n_letters) memcpy(d->letter, c->letter, (size_t)c->n_letters);
    d->n_gates = c->n_gates;
    d->n_wires = c->n_wires;
    d->n_numbers = c->n_numbers;
    d->n_letters = c->n_letters;
    return LT_OK;
}

/* ---- gates ---- */

static lt_status check_wires(const lt_circuit *c, const lt_gate_request *r)
{
    const lt_gate_row *row = lt_gate_at(r->kind);
    int own = r->n_wires - r->n_controls;
    if (r->n_controls > LT_CIRCUIT_MAX_CONTROLS)
        return LT_FAIL(LT_ERR_ARGUMENT, "circuit: %s with %d controls, expected at most %d", row->name, r->n_controls, LT_CIRCUIT_MAX_CONTROLS);
    if (row->n_wires == LT_ANY_WIRES ? own < 1 : own != row->n_wires)
        return LT_FAIL(LT_ERR_ARGUMENT, "circuit: %s on %d wires, expected %s%d", row->name, own, row->n_wires == LT_ANY_WIRES ? "at least " : "",
                       row->n_wires == LT_ANY_WIRES ? 1 : row->n_wires);
    for (int i = 0; i < r->n_wires; i++) {
        if (r->wires[i] < 0 || r->wires[i] >= c->n_qubits)
            return LT_FAIL(LT_ERR_ARGUMENT, "circuit: %s on wire %d, expected 0 to %lld", row->name, (int)r->wires[i], (long long)c->n_qubits - 1);
        for (int j = 0; j < i; j++)
            if (r->wires[j] == r->wires[i]) return LT_FAIL(LT_ERR_ARGUMENT, "circuit: %s names wire %d twice", row->name, (int)r->wires[i]);
    }
    return LT_OK;
}

/* Rows of length 1, orthogonal to each other, to what rounding in decimal texts leaves. */
static lt_status check_unitary(const double *m, int n_wires)
{
    int n = 1 << n_wires;
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++) {
            double re = 0, im = 0;
            for (int k = 0; k < n; k++) {
                const double *a = m + 2 * (i * n + k), *b = m + 2 * (j * n + k);
                re += a[0] * b[0] + a[1] * b[1];
                im += a[1] * b[0] - a[0] * b[1];
            }
            double off = fabs(re - (i == j)) + fabs(im);
            if (!(off <= 1e-6)) return LT_FAIL(LT_ERR_ARGUMENT, "circuit: the matrix is not unitary: rows %d and %d are off by %.3g", j, i, off);
        }
    return LT_OK;
}

static lt_status check_extra(const lt_gate_request *r)
{
    int own = r->n_wires - r->n_controls;
    if (r->kind == LT_GATE_PAULIROT)
        for (int i = 0; i < own; i++)
            if (!r->letters[i] || !strchr("IXYZ", r->letters[i]))
                return LT_FAIL(LT_ERR_ARGUMENT, "circuit: PauliRot of '%.40s', expected one of I, X, Y, Z for each of %d wires", r->letters, own);
    if (r->kind != LT_GATE_UNITARY) return LT_OK;
    if (own > LT_CIRCUIT_MAX_MATRIX_QUBITS || r->n_controls)
        return LT_FAIL(LT_ERR_ARGUMENT, "circuit: a matrix on %d wires with %d controls, expected at most %d wires and no controls", own, r->n_controls,
                       LT_CIRCUIT_MAX_MATRIX_QUBITS);
    return check_unitary(r->matrix, own);
}

static lt_status reserve_gate(lt_circuit *c, const lt_gate_request *r, int64_t n_numbers)
{
    if (c->n_gates >= LT_CIRCUIT_MAX_GATES) return LT_FAIL(LT_ERR_ARGUMENT, "circuit: more than %d gates", LT_CIRCUIT_MAX_GATES);
    LT_TRY(grow(&c->gate, c->n_gates, &c->gate_capacity, 1, sizeof *c->gate));
    LT_TRY(grow(&c->wire, c->n_wires, &c->wire_capacity, r->n_wires, sizeof *c->wire));
    LT_TRY(grow(&c->number, c->n_numbers, &c->number_capacity, n_numbers, sizeof *c->number));
    return grow(&c->letter, c->n_letters, &c->letter_capacity, r->n_wires, 1);
}

lt_status lt_circuit_add(lt_circuit *c, const lt_gate_request *r)
{
    const lt_gate_row *row = lt_gate_at(r->kind);
    int own = r->n_wires - r->n_controls;
    if (r->n_angles != row->n_angles)
        return LT_FAIL(LT_ERR_ARGUMENT, "circuit: %s with %d angle%s, expected %d", row->name, r->n_angles, r->n_angles == 1 ? "" : "s", row->n_angles);
    for (int i = 0; i < r->n_angles; i++)
        if (r->angles[i] < 0) return LT_ERR_MEMORY; /* its text is set */
    LT_TRY(check_wires(c, r));
    LT_TRY(check_extra(r));
    int64_t n_numbers = r->kind == LT_GATE_UNITARY ? INT64_C(2) << (2 * own) : 0;
    LT_TRY(reserve_gate(c, r, n_numbers));
    lt_gate g = { .kind = (uint8_t)r->kind, .n_controls = (uint8_t)r->n_controls, .first_wire = (int32_t)c->n_wires, .n_wires = r->n_wires };
    for (int i = 0; i < r->n_angles; i++) g.angle[i] = r->angles[i];
    memcpy(c->wire + c->n_wires, r->wires, (size_t)r->n_wires * sizeof *c->wire);
    c->n_wires += r->n_wires;
    if (r->kind == LT_GATE_UNITARY) {
        g.extra = (int32_t)c->n_numbers;
        memcpy(c->number + c->n_numbers, r->matrix, (size_t)n_numbers * sizeof *c->number);
        c->n_numbers += n_numbers;
    }
    if (r->kind == LT_GATE_PAULIROT) {
        g.extra = (int32_t)c->n_letters;
        memcpy(c->letter + c->n_letters, r->letters, (size_t)own);
        c->n_letters += own;
    }
    c->gate[c->n_gates++] = g;
    return LT_OK;
}

/* ---- the public calls ---- */

enum { MAX_CALL_WIRES = LT_CIRCUIT_MAX_QUBITS };

static lt_status add_texts(lt_circuit *c, lt_gate_request r, const int *wires, const char *const *angles)
{
    int32_t nodes[LT_GATE_MAX_ANGLES], own[MAX_CALL_WIRES];
    if (r.n_wires < 0 || r.n_wires > MAX_CALL_WIRES || (r.n_wires && !wires))
        return LT_FAIL(LT_ERR_ARGUMENT, "circuit: %s on %d wires", lt_gate_at(r.kind)->name, r.n_wires);
    if (r.n_angles < 0 || r.n_angles > LT_GATE_MAX_ANGLES || (r.n_angles && !angles))
        return LT_FAIL(LT_ERR_ARGUMENT, "circuit: %s with %d angles, expected %d", lt_gate_at(r.kind)->name, r.n_angles, lt_gate_at(r.kind)->n_angles);
    for (int i = 0; i < r.n_wires; i++) own[i] = wires[i];
    for (int i = 0; i < r.n_angles; i++) {
        if (!angles[i]) return LT_FAIL(LT_ERR_ARGUMENT, "circuit: angle %d of %s is NULL", i, lt_gate_at(r.kind)->name);
        LT_TRY(lt_expr_parse(angles[i], &c->exprs, c->n_features, c->n_weights, &nodes[i]));
    }
    r.wires = own;
    r.angles = nodes;
    return lt_circuit_add(c, &r);
}

lt_status lt_circuit_gate(lt_circuit *c, const char *name, const int *wires, int n_wires, const char *const *angles, int n_angles)
{
    if (!c || !name) return LT_FAIL(LT_ERR_ARGUMENT, "circuit: the circuit or the gate's name is NULL");
    lt_gate_kind kind = lt_gate_named(name, strlen(name));
    if (kind == LT_GATE_COUNT) return LT_FAIL(LT_ERR_ARGUMENT, "circuit: there is no gate '%.40s'", name);
    if (kind == LT_GATE_PAULIROT || kind == LT_GATE_UNITARY)
        return LT_FAIL(LT_ERR_ARGUMENT, "circuit: %s has a call of its own, lt_circuit_%s", name, kind == LT_GATE_UNITARY ? "unitary" : "pauli");
    return add_texts(c, (lt_gate_request){ .kind = kind, .n_wires = n_wires, .n_angles = n_angles }, wires, angles);
}

lt_status lt_circuit_pauli(lt_circuit *c, const char *word, const char *angle, const int *wires, int n_wires)
{
    if (!c || !word) return LT_FAIL(LT_ERR_ARGUMENT, "circuit: the circuit or the word is NULL");
    if (n_wires < 1 || strlen(word) != (size_t)n_wires)
        return LT_FAIL(LT_ERR_ARGUMENT, "circuit: PauliRot of '%.40s' on %d wires, expected a letter for each", word, n_wires);
    return add_texts(c, (lt_gate_request){ .kind = LT_GATE_PAULIROT, .n_wires = n_wires, .n_angles = 1, .letters = word }, wires, &angle);
}

lt_status lt_circuit_unitary(lt_circuit *c, const double *matrix, const int *wires, int n_wires)
{
    if (!c || !matrix) return LT_FAIL(LT_ERR_ARGUMENT, "circuit: the circuit or the matrix is NULL");
    return add_texts(c, (lt_gate_request){ .kind = LT_GATE_UNITARY, .n_wires = n_wires, .matrix = matrix }, wires, NULL);
}

static int needs_of(const lt_circuit *c, const lt_gate *g)
{
    int needs = 0;
    for (int i = 0; i < lt_gate_at(g->kind)->n_angles; i++) needs |= c->exprs.node[g->angle[i]].needs;
    return needs;
}

void lt_circuit_describe_into(const lt_circuit *c, lt_circuit_info *out)
{
    lt_circuit_info i = { .size = sizeof i, .n_qubits = c->n_qubits, .n_features = c->n_features, .n_weights = c->n_weights, .n_gates = c->n_gates,
                          .weights = c->weights, .amplitudes = c->amplitudes };
    for (int64_t g = 0; g < c->n_gates; g++) {
        int needs = needs_of(c, &c->gate[g]);
        i.n_with_features += (needs & LT_EXPR_NEEDS_X) != 0;
        i.n_with_weights += (needs & LT_EXPR_NEEDS_W) != 0;
    }
    LT_GIVE(out, &i);
}

lt_status lt_circuit_check_weights(const lt_circuit *c, const double *w, int64_t n)
{
    if (n != c->n_weights)
        return LT_FAIL(LT_ERR_ARGUMENT, "circuit: %lld weights, expected %lld: shape %s", (long long)n, (long long)c->n_weights, lt_shape_str(&c->weights).s);
    if (n && !w) return LT_FAIL(LT_ERR_ARGUMENT, "circuit: the weights are NULL, expected %lld", (long long)n);
    for (int64_t i = 0; i < n; i++)
        if (!isfinite(w[i])) return LT_FAIL(LT_ERR_ARGUMENT, "circuit: weight %lld is %g: every number must be finite", (long long)i, w[i]);
    return LT_OK;
}
