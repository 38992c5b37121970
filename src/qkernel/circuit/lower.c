/* Gates as primitives, with their controls. SPDX-License-Identifier: BSD-3-Clause

   Control adds a rule for each primitive. A rotation about Z...Z by t becomes two, by t/2 without the control and by -t/2 with it; other
   rotations and nots are that between a change of basis, which needs no control; a global phase becomes a phase of the control. */
#include "qkernel/circuit/lower.h"

#include "base/alloc.h"
#include "base/status.h"

#include <math.h>
#include <string.h>

void lt_prims_destroy(lt_prims *p)
{
    lt_free(p->prim);
    lt_free(p->wire);
    *p = (lt_prims){ 0 };
}

enum { MAX_PRIMS = 1 << 26 };

static lt_status add(lt_prims *p, lt_prim prim, const int32_t *wires, int n)
{
    if (p->n == p->capacity) {
        if (p->n >= MAX_PRIMS) return LT_FAIL(LT_ERR_ARGUMENT, "circuit: more than %d rotations and nots in its gates", MAX_PRIMS);
        int64_t capacity = LT_MAX(64, 2 * p->capacity);
        lt_prim *more = lt_realloc(p->prim, (size_t)capacity * sizeof *more);
        if (!more) return LT_ERR_MEMORY;
        p->prim = more;
        p->capacity = capacity;
    }
    if (p->n_wires + n > p->wire_capacity) {
        int64_t capacity = LT_MAX(p->n_wires + n, 2 * p->wire_capacity);
        int32_t *more = lt_realloc(p->wire, (size_t)capacity * sizeof *more);
        if (!more) return LT_ERR_MEMORY;
        p->wire = more;
        p->wire_capacity = capacity;
    }
    prim.first = (int32_t)p->n_wires;
    prim.n = n;
    if (n) memcpy(p->wire + p->n_wires, wires, (size_t)n * sizeof *wires);
    p->n_wires += n;
    p->prim[p->n++] = prim;
    return LT_OK;
}

/* ---- with controls ---- */

typedef struct controls { const int32_t *wire; int n; } controls;

static lt_angle scaled(lt_angle a, double by) { return (lt_angle){ a.node, a.factor * by, a.offset * by }; }
static lt_angle fixed(double radians) { return (lt_angle){ -1, 0, radians }; }

static lt_status add_rotation(lt_prims *p, int axis, int32_t wire, lt_angle angle)
{
    return add(p, (lt_prim){ .op = LT_PRIM_ROTATE, .axis = (uint8_t)axis, .angle = angle }, &wire, 1);
}

static lt_status add_hadamard(lt_prims *p, int32_t wire) { return add(p, (lt_prim){ .op = LT_PRIM_H, .angle = fixed(0) }, &wire, 1); }

/* wires holds room for the controls behind its n entries. */
static lt_status add_parity(lt_prims *p, int32_t *wires, int n, lt_angle angle, controls c)
{
    if (c.n == 0) return add(p, (lt_prim){ .op = LT_PRIM_PARITY, .angle = angle }, wires, n);
    controls rest = { c.wire, c.n - 1 };
    LT_TRY(add_parity(p, wires, n, scaled(angle, 0.5), rest));
    wires[n] = c.wire[c.n - 1];
    return add_parity(p, wires, n + 1, scaled(angle, -0.5), rest);
}

static lt_status add_phase(lt_prims *p, lt_angle angle, controls c)
{
    if (c.n == 0) return add(p, (lt_prim){ .op = LT_PRIM_PHASE, .angle = angle }, NULL, 0);
    int32_t wires[1 + LT_CIRCUIT_MAX_CONTROLS] = { c.wire[c.n - 1] };
    controls rest = { c.wire, c.n - 1 };
    LT_TRY(add_parity(p, wires, 1, angle, rest)); /* diag(1, e^{ia}) = e^{ia/2} RZ(a) */
    return add_phase(p, scaled(angle, 0.5), rest);
}

/* A phase pi of `wire` under controls: Z. */
static lt_status add_controlled_z(lt_prims *p, int32_t wire, controls c)
{
    int32_t wires[1 + LT_CIRCUIT_MAX_CONTROLS] = { wire };
    LT_TRY(add_parity(p, wires, 1, fixed(M_PI), c));
    return add_phase(p, fixed(M_PI / 2), c);
}

static lt_status add_not(lt_prims *p, int32_t target, controls c)
{
    if (c.n == 0) return add(p, (lt_prim){ .op = LT_PRIM_X, .angle = fixed(0) }, &target, 1);
    if (c.n == 1) return add(p, (lt_prim){ .op = LT_PRIM_CX, .angle = fixed(0) }, (int32_t[]){ c.wire[0], target }, 2);
    LT_TRY(add_hadamard(p, target));
    LT_TRY(add_controlled_z(p, target, c));
    return add_hadamard(p, target);
}

static lt_status add_swap(lt_prims *p, int32_t a, int32_t b, controls c)
{
    int32_t with[1 + LT_CIRCUIT_MAX_CONTROLS];
    if (c.n == 0) return add(p, (lt_prim){ .op = LT_PRIM_SWAP, .angle = fixed(0) }, (int32_t[]){ a, b }, 2);
    memcpy(with, c.wire, (size_t)c.n * sizeof *with);
    with[c.n] = a;
    LT_TRY(add_not(p, a, (controls){ &b, 1 }));
    LT_TRY(add_not(p, b, (controls){ with, c.n + 1 }));
    return add_not(p, a, (controls){ &b, 1 });
}

static lt_status add_turn(lt_prims *p, int axis, int32_t wire, lt_angle angle, controls c)
{
    int32_t wires[1 + LT_CIRCUIT_MAX_CONTROLS] = { wire };
    if (c.n == 0) return add_rotation(p, axis, wire, angle);
    if (axis == LT_AXIS_X) LT_TRY(add_hadamard(p, wire)); /* X = H Z H, Y = RX(-pi/2) Z RX(pi/2) */
    else LT_TRY(add_rotation(p, LT_AXIS_X, wire, fixed(M_PI / 2)));
    LT_TRY(add_parity(p, wires, 1, angle, c));
    if (axis == LT_AXIS_X) return add_hadamard(p, wire);
    return add_rotation(p, LT_AXIS_X, wire, fixed(-M_PI / 2));
}

static lt_status add_controlled_hadamard(lt_prims *p, int32_t wire, controls c)
{
    if (c.n == 0) return add_hadamard(p, wire);
    LT_TRY(add_rotation(p, LT_AXIS_Y, wire, fixed(-M_PI / 4))); /* H = RY(pi/4) Z RY(-pi/4) */
    LT_TRY(add_controlled_z(p, wire, c));
    return add_rotation(p, LT_AXIS_Y, wire, fixed(M_PI / 4));
}

/* ---- gates ---- */

static lt_status add_recipe_step(const lt_gate *g, const lt_recipe_step *s, const int32_t *wire, controls c, lt_prims *p)
{
    lt_angle angle = { s->parameter < 0 ? -1 : g->angle[s->parameter], s->factor, s->pis * M_PI };
    int32_t wires[8 + LT_CIRCUIT_MAX_CONTROLS], with[1 + LT_CIRCUIT_MAX_CONTROLS];
    int n = 0;
    switch (s->op) {
    case LT_PRIM_ROTATE: return add_turn(p, s->axis, wire[s->wires], angle, c);
    case LT_PRIM_H: return add_controlled_hadamard(p, wire[s->wires], c);
    case LT_PRIM_PARITY:
        for (int i = 0; i < 8; i++)
            if (s->wires >> i & 1) wires[n++] = wire[i];
        return add_parity(p, wires, n, angle, c);
    case LT_PRIM_X: return add_not(p, wire[s->wires], c);
    case LT_PRIM_CX:
        if (c.n) memcpy(with, c.wire, (size_t)c.n * sizeof *with);
        with[c.n] = wire[s->wires];
        return add_not(p, wire[s->second], (controls){ with, c.n + 1 });
    case LT_PRIM_SWAP: return add_swap(p, wire[s->wires], wire[s->second], c);
    default: return add_phase(p, angle, c);
    }
}

/* exp(-i t/2 P): to a basis where every letter is Z, and back; the basis needs no control. A word of Is is a phase. */
static lt_status add_word(const char *letters, const int32_t *wire, int n, lt_angle angle, controls c, lt_prims *p)
{
    int32_t wires[LT_CIRCUIT_MAX_QUBITS + LT_CIRCUIT_MAX_CONTROLS];
    int n_parity = 0;
    for (int undo = 0; undo < 2; undo++) {
        for (int i = 0; i < n; i++) {
            if (letters[i] == 'X') LT_TRY(add_hadamard(p, wire[i]));
            if (letters[i] == 'Y') LT_TRY(add_rotation(p, LT_AXIS_X, wire[i], fixed(undo ? -M_PI / 2 : M_PI / 2)));
            if (!undo && letters[i] != 'I') wires[n_parity++] = wire[i];
        }
        if (!undo) LT_TRY(n_parity ? add_parity(p, wires, n_parity, angle, c) : add_phase(p, scaled(angle, -0.5), c));
    }
    return LT_OK;
}

static lt_status lower_gate(const lt_circuit *c, const lt_gate *g, lt_prims *p)
{
    const lt_gate_row *row = lt_gate_at(g->kind);
    const int32_t *wire = c->wire + g->first_wire;
    controls with = { wire, g->n_controls };
    wire += g->n_controls;
    int own = g->n_wires - g->n_controls;
    lt_angle angle = { g->angle[0], 1, 0 };
    if (g->kind == LT_GATE_UNITARY) return add(p, (lt_prim){ .op = LT_PRIM_MATRIX, .angle = fixed(0), .matrix = g->extra }, wire, own);
    if (g->kind == LT_GATE_PAULIROT) return add_word(c->letter + g->extra, wire, own, angle, with, p);
    if (g->kind == LT_GATE_MULTIRZ) {
        int32_t wires[LT_CIRCUIT_MAX_QUBITS + LT_CIRCUIT_MAX_CONTROLS];
        memcpy(wires, wire, (size_t)own * sizeof *wires);
        return add_parity(p, wires, own, angle, with);
    }
    for (int i = 0; i < row->n_steps; i++) LT_TRY(add_recipe_step(g, &row->step[i], wire, with, p));
    return LT_OK;
}

lt_status lt_prims_of(const lt_circuit *c, lt_prims *out)
{
    *out = (lt_prims){ 0 };
    for (int64_t i = 0; i < c->n_gates; i++) LT_TRY(lower_gate(c, &c->gate[i], out));
    return LT_OK;
}
