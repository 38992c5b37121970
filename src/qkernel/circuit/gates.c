/* The table of gates. SPDX-License-Identifier: BSD-3-Clause */
#include "qkernel/circuit/gates.h"

#include "base/status.h"

#include <string.h>
#include <strings.h>

/* Rotations of a wire by a parameter or by a fixed angle in multiples of pi. */
#define ROT(ax, w, p, f) { .op = LT_PRIM_ROTATE, .axis = LT_AXIS_##ax, .wires = w, .parameter = p, .factor = f }
#define TURN(ax, w, t) { .op = LT_PRIM_ROTATE, .axis = LT_AXIS_##ax, .wires = w, .parameter = -1, .pis = t }
/* Rotations about products of Zs: wires are bits, 1 for the first. */
#define PAR(ws, p, f) { .op = LT_PRIM_PARITY, .wires = ws, .parameter = p, .factor = f }
#define ZTURN(ws, t) { .op = LT_PRIM_PARITY, .wires = ws, .parameter = -1, .pis = t }
#define PHASE(p, f) { .op = LT_PRIM_PHASE, .parameter = p, .factor = f }
#define CONST(t) { .op = LT_PRIM_PHASE, .parameter = -1, .pis = t }
#define HAD(w) { .op = LT_PRIM_H, .wires = w, .parameter = -1 }
#define FLIP(w) { .op = LT_PRIM_X, .wires = w, .parameter = -1 }
#define NOT(c, t) { .op = LT_PRIM_CX, .wires = c, .second = t, .parameter = -1 }
#define EXCHANGE { .op = LT_PRIM_SWAP, .wires = 0, .second = 1, .parameter = -1 }

#define STEPS(...) .n_steps = (int)LT_LEN(((lt_recipe_step[]){ __VA_ARGS__ })), .step = { __VA_ARGS__ }

/* diag(1, e^{it}) = e^{it/2} RZ(t). A phase on ab is half of those on a and b less half of that on a xor b. */
#define PHASES_OF_AB(p, f) PAR(1, p, (f) / 2), PAR(2, p, (f) / 2), PAR(3, p, -(f) / 2), PHASE(p, (f) / 4)
#define CZ_STEPS ZTURN(1, 0.5), ZTURN(2, 0.5), ZTURN(3, -0.5), CONST(0.25)
#define CCZ_STEPS ZTURN(1, 0.25), ZTURN(2, 0.25), ZTURN(4, 0.25), ZTURN(3, -0.25), ZTURN(5, -0.25), ZTURN(6, -0.25), ZTURN(7, 0.25), CONST(0.125)
#define CRZ_STEPS PAR(2, 0, 0.5), PAR(3, 0, -0.5)

static const lt_gate_row rows[LT_GATE_COUNT] = {
    [LT_GATE_I] = { "I", "id", 1, 0, true, .n_steps = 0 },
    [LT_GATE_X] = { "X", "x", 1, 0, false, STEPS(FLIP(0)) },
    [LT_GATE_Y] = { "Y", "y", 1, 0, false, STEPS(ZTURN(1, -0.5), FLIP(0), ZTURN(1, 0.5)) }, /* S X S^-1 */
    [LT_GATE_Z] = { "Z", "z", 1, 0, true, STEPS(ZTURN(1, 1), CONST(0.5)) },
    [LT_GATE_H] = { "H", "h", 1, 0, false, STEPS(HAD(0)) },
    [LT_GATE_S] = { "S", "s", 1, 0, true, STEPS(ZTURN(1, 0.5), CONST(0.25)) },
    [LT_GATE_SDG] = { "Sdg", "sdg", 1, 0, true, STEPS(ZTURN(1, -0.5), CONST(-0.25)) },
    [LT_GATE_T] = { "T", "t", 1, 0, true, STEPS(ZTURN(1, 0.25), CONST(0.125)) },
    [LT_GATE_TDG] = { "Tdg", "tdg", 1, 0, true, STEPS(ZTURN(1, -0.25), CONST(-0.125)) },
    [LT_GATE_SX] = { "SX", "sx", 1, 0, false, STEPS(TURN(X, 0, 0.5), CONST(0.25)) },
    [LT_GATE_SXDG] = { "SXdg", NULL, 1, 0, false, STEPS(TURN(X, 0, -0.5), CONST(-0.25)) },
    [LT_GATE_RX] = { "RX", "rx", 1, 1, false, STEPS(ROT(X, 0, 0, 1)) },
    [LT_GATE_RY] = { "RY", "ry", 1, 1, false, STEPS(ROT(Y, 0, 0, 1)) },
    [LT_GATE_RZ] = { "RZ", "rz", 1, 1, true, STEPS(PAR(1, 0, 1)) },
    [LT_GATE_P] = { "P", "p", 1, 1, true, STEPS(PAR(1, 0, 1), PHASE(0, 0.5)) },
    [LT_GATE_U3] = { "U3", "u3", 1, 3, false, STEPS(PAR(1, 2, 1), ROT(Y, 0, 0, 1), PAR(1, 1, 1), PHASE(1, 0.5), PHASE(2, 0.5)) },
    [LT_GATE_GPHASE] = { "GlobalPhase", "gphase", 0, 1, true, STEPS(PHASE(0, 1)) },
    [LT_GATE_CX] = { "CX", "cx", 2, 0, false, STEPS(NOT(0, 1)) },
    [LT_GATE_CY] = { "CY", "cy", 2, 0, false, STEPS(ZTURN(2, -0.5), NOT(0, 1), ZTURN(2, 0.5)) },
    [LT_GATE_CZ] = { "CZ", "cz", 2, 0, true, STEPS(CZ_STEPS) },
    [LT_GATE_CH] = { "CH", "ch", 2, 0, false, STEPS(TURN(Y, 1, -0.25), CZ_STEPS, TURN(Y, 1, 0.25)) }, /* H = RY(pi/4) Z RY(-pi/4) */
    [LT_GATE_SWAP] = { "SWAP", "swap", 2, 0, false, STEPS(EXCHANGE) },
    [LT_GATE_ISWAP] = { "iSWAP", NULL, 2, 0, false, STEPS(ZTURN(3, 0.5), EXCHANGE, CONST(0.25)) },
    [LT_GATE_CRX] = { "CRX", "crx", 2, 1, false, STEPS(HAD(1), CRZ_STEPS, HAD(1)) },
    [LT_GATE_CRY] = { "CRY", "cry", 2, 1, false, STEPS(TURN(X, 1, 0.5), CRZ_STEPS, TURN(X, 1, -0.5)) }, /* Y = RX(-pi/2) Z RX(pi/2) */
    [LT_GATE_CRZ] = { "CRZ", "crz", 2, 1, true, STEPS(CRZ_STEPS) },
    [LT_GATE_CP] = { "CP", "cp", 2, 1, true, STEPS(PHASES_OF_AB(0, 1.0)) },
    [LT_GATE_RXX] = { "RXX", NULL, 2, 1, false, STEPS(HAD(0), HAD(1), PAR(3, 0, 1), HAD(0), HAD(1)) },
    [LT_GATE_RYY] = { "RYY", NULL, 2, 1, false, STEPS(TURN(X, 0, 0.5), TURN(X, 1, 0.5), PAR(3, 0, 1), TURN(X, 0, -0.5), TURN(X, 1, -0.5)) },
    [LT_GATE_RZZ] = { "RZZ", NULL, 2, 1, true, STEPS(PAR(3, 0, 1)) },
    [LT_GATE_CCX] = { "CCX", "ccx", 3, 0, false, STEPS(HAD(2), CCZ_STEPS, HAD(2)) },
    [LT_GATE_CSWAP] = { "CSWAP", "cswap", 3, 0, false, STEPS(NOT(2, 1), HAD(2), CCZ_STEPS, HAD(2), NOT(2, 1)) },
    [LT_GATE_MULTIRZ] = { "MultiRZ", NULL, LT_ANY_WIRES, 1, true, .n_steps = 0 },
    [LT_GATE_PAULIROT] = { "PauliRot", NULL, LT_ANY_WIRES, 1, false, .n_steps = 0 },
    [LT_GATE_UNITARY] = { "Unitary", NULL, LT_ANY_WIRES, 0, false, .n_steps = 0 },
};

const lt_gate_row *lt_gate_at(lt_gate_kind kind) { return &rows[kind]; }

static const struct { const char *name; lt_gate_kind kind; } other_names[] = {
    { "Identity", LT_GATE_I }, { "Hadamard", LT_GATE_H }, { "PauliX", LT_GATE_X }, { "PauliY", LT_GATE_Y }, { "PauliZ", LT_GATE_Z },
    { "CNOT", LT_GATE_CX }, { "Toffoli", LT_GATE_CCX }, { "Fredkin", LT_GATE_CSWAP }, { "PhaseShift", LT_GATE_P }, { "phase", LT_GATE_P },
    { "u1", LT_GATE_P }, { "cphase", LT_GATE_CP }, { "cu1", LT_GATE_CP }, { "ControlledPhaseShift", LT_GATE_CP }, { "IsingXX", LT_GATE_RXX },
    { "IsingYY", LT_GATE_RYY }, { "IsingZZ", LT_GATE_RZZ }, { "id", LT_GATE_I }, { "gphase", LT_GATE_GPHASE }, { "u", LT_GATE_U3 },
};

static bool same(const char *row, const char *name, size_t length) { return strlen(row) == length && !strncasecmp(row, name, length); }

lt_gate_kind lt_gate_named(const char *name, size_t length)
{
    for (int k = 0; k < LT_GATE_COUNT; k++)
        if (same(rows[k].name, name, length)) return (lt_gate_kind)k;
    for (size_t i = 0; i < LT_LEN(other_names); i++)
        if (same(other_names[i].name, name, length)) return other_names[i].kind;
    return LT_GATE_COUNT;
}

lt_gate_kind lt_gate_inverse(lt_gate_kind kind)
{
    static const struct { lt_gate_kind a, b; } pairs[] = { { LT_GATE_S, LT_GATE_SDG }, { LT_GATE_T, LT_GATE_TDG }, { LT_GATE_SX, LT_GATE_SXDG } };
    for (size_t i = 0; i < LT_LEN(pairs); i++) {
        if (kind == pairs[i].a) return pairs[i].b;
        if (kind == pairs[i].b) return pairs[i].a;
    }
    return kind == LT_GATE_U3 || kind == LT_GATE_ISWAP || kind == LT_GATE_UNITARY ? LT_GATE_COUNT : kind;
}
