/* Gates of OpenQASM: definitions, calls, modifiers. SPDX-License-Identifier: BSD-3-Clause */
#include "qkernel/qasm/reader.h"

#include "base/alloc.h"
#include "base/status.h"

#include <string.h>

/* ---- standard gates ---- */

static const struct { const char *name; lt_gate_kind kind; } others[] = {
    { "CX", LT_GATE_CX }, { "phase", LT_GATE_P }, { "u1", LT_GATE_P }, { "cphase", LT_GATE_CP }, { "cu1", LT_GATE_CP }, { "rxx", LT_GATE_RXX },
    { "ryy", LT_GATE_RYY }, { "rzz", LT_GATE_RZZ }, { "iswap", LT_GATE_ISWAP }, { "sxdg", LT_GATE_SXDG },
    { "u", LT_GATE_U3 },
};

/* Gates known in every program; the rest needs the include. u3 is not U3 here: its phase differs, see add_u3 (decision 167). */
static lt_gate_kind standard_gate(const lt_qasm *r, const lt_script_word *w)
{
    if (lt_script_word_is(w, "gphase")) return LT_GATE_GPHASE;
    if (lt_script_word_is(w, "U")) return LT_GATE_U3;
    if (lt_script_word_is(w, "CX") && r->version == 2) return LT_GATE_CX;
    if (!r->standard) return LT_GATE_COUNT;
    for (int k = 0; k < LT_GATE_COUNT; k++)
        if (lt_gate_at(k)->qasm && k != LT_GATE_GPHASE && lt_script_word_is(w, lt_gate_at(k)->qasm)) return (lt_gate_kind)k;
    for (size_t i = 0; i < LT_LEN(others); i++)
        if (lt_script_word_is(w, others[i].name)) return others[i].kind;
    return LT_GATE_COUNT;
}

/* ---- a call ---- */

typedef struct call {
    lt_script_word name;
    const lt_qasm_gate *gate;      /* defined in the program; or … */
    lt_gate_kind kind;             /* … a standard one */
    int32_t      angle[LT_QASM_MAX_PARAMETERS];
    int          n_angles, n_wires; /* n_wires: of the gate, without modifiers' */
    int          n_controls;
    uint64_t     negative;         /* controls that must be 0 */
    bool         inverse;
    int64_t      power;
} call;

static lt_status add(lt_qasm *r, lt_gate_kind kind, int n_controls, const int32_t *wires, int n_wires, const int32_t *angles, int n_angles)
{
    return lt_circuit_add(r->c, &(lt_gate_request){ .kind = kind, .n_controls = n_controls, .wires = wires, .n_wires = n_wires, .angles = angles, .n_angles = n_angles });
}

static int32_t half_of(lt_qasm *r, int32_t a, double sign)
{
    int32_t number = lt_expr_number(&r->c->exprs, sign / 2);
    return lt_expr_binary(&r->c->exprs, LT_EXPR_MUL, number, a);
}

static int32_t sum_of(lt_qasm *r, int32_t a, int32_t b) { return lt_expr_binary(&r->c->exprs, LT_EXPR_ADD, a, b); }

/* The language fixes phases that matter under control: U is RZ RY RZ in version 2, that times e^{i(theta + phi + lambda)/2} in version 3;
   u3 and u are RZ RY RZ in both. U3 of the table is RZ RY RZ times e^{i(phi + lambda)/2}. */
static lt_status add_u3(lt_qasm *r, bool builtin, int n_controls, const int32_t *wires, const int32_t *angle)
{
    int32_t phase = r->version == 3 && builtin ? half_of(r, angle[0], 1) : half_of(r, sum_of(r, angle[1], angle[2]), -1);
    LT_TRY(add(r, LT_GATE_U3, n_controls, wires, n_controls + 1, angle, 3));
    return add(r, LT_GATE_GPHASE, n_controls, wires, n_controls, &phase, 1);
}

/* The body is read again with the gate's parameters and wires in their place. */
static lt_status run_body(lt_qasm *r, const call *k, const int32_t *wires)
{
    const lt_qasm saved = *r;
    const lt_qasm_gate gate = *k->gate; /* the list may move while the body is read */
    if (r->depth >= LT_QASM_MAX_DEPTH) return lt_script_fail(&r->s, &k->name, "more than %d loops and calls inside each other", LT_QASM_MAX_DEPTH);
    r->depth++;
    r->frame = r->n_symbols;
    r->inside = &gate;
    r->operand = wires;
    r->visible = k->gate - r->gate;
    r->s = gate.body;
    for (int i = 0; i < gate.n_parameters; i++) LT_TRY(lt_qasm_define(r, (lt_qasm_symbol){ .name = gate.parameter[i], .node = k->angle[i] }));
    LT_TRY(lt_qasm_statements(r));
    LT_TRY(lt_script_expect(&r->s, '}', "at the end of the gate"));
    r->s = saved.s;
    r->depth = saved.depth;
    r->frame = saved.frame;
    r->inside = saved.inside;
    r->operand = saved.operand;
    r->visible = saved.visible;
    r->n_symbols = saved.n_symbols;
    return LT_OK;
}

static lt_status add_once(lt_qasm *r, const call *k, const int32_t *wires)
{
    if (k->gate) return run_body(r, k, wires);
    if (k->kind == LT_GATE_U3) return lt_qasm_blame(r, &k->name, add_u3(r, lt_script_word_is(&k->name, "U"), 0, wires, k->angle));
    return lt_qasm_blame(r, &k->name, add(r, k->kind, 0, wires, k->n_wires, k->angle, k->n_angles));
}

/* ---- modifiers, on what was appended ---- */

static lt_status negate(lt_circuit *c, int32_t *angle)
{
    *angle = lt_expr_unary(&c->exprs, LT_EXPR_NEG, *angle);
    return *angle < 0 ? LT_ERR_MEMORY : LT_OK;
}

/* Four iSWAPs are the identity, so three undo one. */
static lt_status invert_gate(lt_qasm *r, lt_gate g)
{
    lt_circuit *c = r->c;
    lt_gate_kind kind = lt_gate_inverse(g.kind);
    int32_t wires[LT_QASM_MAX_OPERANDS];
    const int n_angles = lt_gate_at(g.kind)->n_angles;
    if (g.n_wires > LT_QASM_MAX_OPERANDS) return LT_FAIL(LT_ERR_ARGUMENT, "circuit: more than %d wires", LT_QASM_MAX_OPERANDS);
    memcpy(wires, c->wire + g.first_wire, (size_t)g.n_wires * sizeof *wires);
    if (g.kind == LT_GATE_ISWAP) {
        for (int i = 0; i < 3; i++) LT_TRY(add(r, g.kind, g.n_controls, wires, g.n_wires, NULL, 0));
        return LT_OK;
    }
    for (int i = 0; i < n_angles; i++) LT_TRY(negate(c, &g.angle[i]));
    if (g.kind == LT_GATE_U3) {
        int32_t phi = g.angle[1];
        kind = LT_GATE_U3;
        g.angle[1] = g.angle[2];
        g.angle[2] = phi;
    }
    return add(r, kind, g.n_controls, wires, g.n_wires, g.angle, n_angles);
}

/* Gates from `end` on take the place of those from `first` on. There may be none, and no list either. */
static void move_over(lt_circuit *c, int64_t first, int64_t end)
{
    if (end == first) return;
    memmove(c->gate + first, c->gate + end, (size_t)(c->n_gates - end) * sizeof *c->gate);
    c->n_gates -= end - first;
}

/* Gates from `first` on, the last first and each undone: appended behind, then moved over them. */
static lt_status invert_from(lt_qasm *r, int64_t first)
{
    lt_circuit *c = r->c;
    const int64_t end = c->n_gates;
    for (int64_t i = end - 1; i >= first; i--) LT_TRY(invert_gate(r, c->gate[i]));
    move_over(c, first, end);
    return LT_OK;
}

/* The same gates with more controls before their own. */
static lt_status control_from(lt_qasm *r, int64_t first, const int32_t *controls, int n)
{
    lt_circuit *c = r->c;
    const int64_t end = c->n_gates;
    for (int64_t i = first; i < end; i++) {
        lt_gate g = c->gate[i];
        int32_t wires[LT_QASM_MAX_OPERANDS + LT_CIRCUIT_MAX_CONTROLS];
        if (g.n_wires + n > (int)LT_LEN(wires)) return LT_FAIL(LT_ERR_ARGUMENT, "circuit: more than %d wires", (int)LT_LEN(wires));
        memcpy(wires, controls, (size_t)n * sizeof *wires);
        memcpy(wires + n, c->wire + g.first_wire, (size_t)g.n_wires * sizeof *wires);
        LT_TRY(add(r, g.kind, g.n_controls + n, wires, g.n_wires + n, g.angle, lt_gate_at(g.kind)->n_angles));
    }
    move_over(c, first, end);
    return LT_OK;
}

static lt_status flip_negative(lt_qasm *r, const call *k, const int32_t *wires)
{
    for (int i = 0; i < k->n_controls; i++)
        if (k->negative >> i & 1) LT_TRY(add(r, LT_GATE_X, 0, wires + i, 1, NULL, 0));
    return LT_OK;
}

static lt_status add_call(lt_qasm *r, const call *k, const int32_t *wires)
{
    const int64_t times = k->power < 0 ? -k->power : k->power;
    LT_TRY(lt_qasm_blame(r, &k->name, flip_negative(r, k, wires)));
    const int64_t first = r->c->n_gates;
    for (int64_t i = 0; i < times; i++) {
        if (++r->n_steps > LT_QASM_MAX_STEPS) return lt_script_fail(&r->s, &k->name, "more than %d statements are carried out", LT_QASM_MAX_STEPS);
        LT_TRY(add_once(r, k, wires + k->n_controls));
    }
    if (k->inverse != (k->power < 0)) LT_TRY(lt_qasm_blame(r, &k->name, invert_from(r, first)));
    if (k->n_controls) LT_TRY(lt_qasm_blame(r, &k->name, control_from(r, first, wires, k->n_controls)));
    return lt_qasm_blame(r, &k->name, flip_negative(r, k, wires));
}

/* ---- operands ---- */

/* Registers of one length, and single qubits as often as needed. */
static lt_status add_for_all(lt_qasm *r, const call *k, const lt_qasm_operand *o, int n)
{
    int64_t rounds = 1;
    int32_t wires[LT_QASM_MAX_OPERANDS];
    for (int i = 0; i < n; i++) {
        if (o[i].n > 1 && rounds > 1 && o[i].n != rounds)
            return lt_script_fail(&r->s, &k->name, "registers of %lld and %lld qubits in one call", (long long)rounds, (long long)o[i].n);
        rounds = LT_MAX(rounds, o[i].n);
    }
    for (int64_t round = 0; round < rounds; round++) {
        for (int i = 0; i < n; i++) wires[i] = lt_qasm_operand_wire(r, &o[i], o[i].n > 1 ? round : 0);
        LT_TRY(add_call(r, k, wires));
    }
    return LT_OK;
}

/* PennyLane writes global phases into version 2, which has none, with all qubits behind them. */
static lt_status skip_operands_of_phase(lt_qasm *r, const call *k)
{
    lt_qasm_operand o;
    if (k->gate || k->kind != LT_GATE_GPHASE || r->version != 2 || lt_script_sees(&r->s, ';')) return LT_OK;
    do LT_TRY(lt_qasm_operand_read(r, &o));
    while (lt_script_takes(&r->s, ','));
    return LT_OK;
}

static lt_status read_operands(lt_qasm *r, const call *k)
{
    lt_qasm_operand o[LT_QASM_MAX_OPERANDS];
    const int64_t n_listed = r->n_wires; /* lists of indices go behind */
    int n = 0, want = k->n_controls + k->n_wires;
    if (want == 0) LT_TRY(skip_operands_of_phase(r, k));
    while (n < want) {
        if (n > 0 && !lt_script_takes(&r->s, ',')) break;
        LT_TRY(lt_qasm_operand_read(r, &o[n]));
        n++;
    }
    if (n < want || lt_script_sees(&r->s, ','))
        return lt_script_fail(&r->s, &k->name, "%s on %s%d qubits, expected %d", lt_script_word_str(&k->name).s, n < want ? "" : "more than ", n, want);
    LT_TRY(lt_script_expect(&r->s, ';', "at the end of the statement"));
    LT_TRY(add_for_all(r, k, o, n));
    r->n_wires = n_listed;
    return LT_OK;
}

/* ---- reading ---- */

static lt_status read_modifier(lt_qasm *r, call *k, bool *more)
{
    const lt_script_word at = r->s.word;
    const bool ctrl = lt_script_word_is(&at, "ctrl"), negctrl = lt_script_word_is(&at, "negctrl"), inv = lt_script_word_is(&at, "inv"), power = lt_script_word_is(&at, "pow");
    int64_t n = 1;
    *more = ctrl || negctrl || inv || power;
    if (!*more) return LT_OK;
    lt_script_next(&r->s);
    if (power || ((ctrl || negctrl) && lt_script_sees(&r->s, '('))) {
        LT_TRY(lt_script_expect(&r->s, '(', "after the modifier"));
        LT_TRY(lt_qasm_whole(r, power ? "a power" : "a number of controls", &n));
        LT_TRY(lt_script_expect(&r->s, ')', "after the number"));
    }
    if (inv) k->inverse = !k->inverse;
    if (power) {
        if (n > 1000000 || n < -1000000 || (k->power && (n * k->power > 1000000 || n * k->power < -1000000)))
            return lt_script_fail(&r->s, &at, "a power of %lld, expected at most 1000000", (long long)n);
        k->power *= n;
    }
    if (ctrl || negctrl) {
        if (n < 1 || n + k->n_controls > LT_CIRCUIT_MAX_CONTROLS) return lt_script_fail(&r->s, &at, "%lld controls, expected 1 to %d", (long long)n, LT_CIRCUIT_MAX_CONTROLS);
        for (int64_t i = 0; negctrl && i < n; i++) k->negative |= UINT64_C(1) << (k->n_controls + i);
        k->n_controls += (int)n;
    }
    return lt_script_expect(&r->s, '@', "after the modifier");
}

/* Which gate this is, and how many angles and wires it takes. */
static lt_status find_gate(lt_qasm *r, call *k, int *n_angles)
{
    for (int64_t i = r->visible - 1; i >= 0; i--)
        if (lt_qasm_same(r->gate[i].name, &k->name)) {
            k->gate = &r->gate[i];
            k->n_wires = k->gate->n_operands;
            *n_angles = k->gate->n_parameters;
            return LT_OK;
        }
    k->kind = standard_gate(r, &k->name);
    if (k->kind == LT_GATE_COUNT)
        return lt_script_fail(&r->s, &k->name, "unknown gate %s%s", lt_script_word_str(&k->name).s,
                              r->inside ? ": a gate may use those defined before it" : r->standard ? "" : "; include \"stdgates.inc\" for the standard ones");
    k->n_wires = lt_gate_at(k->kind)->n_wires;
    *n_angles = lt_gate_at(k->kind)->n_angles;
    return LT_OK;
}

static lt_status read_angles(lt_qasm *r, call *k, int want)
{
    if (lt_script_takes(&r->s, '(') && !lt_script_takes(&r->s, ')')) {
        do {
            if (k->n_angles == LT_QASM_MAX_PARAMETERS) return lt_script_fail(&r->s, &r->s.word, "more than %d angles", LT_QASM_MAX_PARAMETERS);
            LT_TRY(lt_qasm_angle(r, &k->angle[k->n_angles]));
            k->n_angles++;
        } while (lt_script_takes(&r->s, ','));
        LT_TRY(lt_script_expect(&r->s, ')', "after the angles"));
    }
    if (k->n_angles == want) return LT_OK;
    return lt_script_fail(&r->s, &k->name, "%s with %d angle%s, expected %d", lt_script_word_str(&k->name).s, k->n_angles, k->n_angles == 1 ? "" : "s", want);
}

lt_status lt_qasm_call(lt_qasm *r)
{
    call k = { .power = 1 };
    bool more = true;
    int n_angles = 0;
    while (more) LT_TRY(read_modifier(r, &k, &more));
    k.name = r->s.word;
    if (k.name.kind != LT_SCRIPT_NAME) return lt_script_fail(&r->s, &k.name, "%s, expected a gate", lt_script_word_str(&k.name).s);
    lt_script_next(&r->s);
    LT_TRY(find_gate(r, &k, &n_angles));
    LT_TRY(read_angles(r, &k, n_angles));
    return read_operands(r, &k);
}

/* ---- definitions ---- */

static lt_status read_names(lt_qasm *r, lt_qasm_name *names, int most, int *n, const char *what)
{
    do {
        const lt_script_word w = r->s.word;
        if (w.kind != LT_SCRIPT_NAME) return lt_script_fail(&r->s, &w, "%s, expected %s", lt_script_word_str(&w).s, what);
        if (*n == most) return lt_script_fail(&r->s, &w, "more than %d of them", most);
        for (int i = 0; i < *n; i++)
            if (lt_qasm_same(names[i], &w)) return lt_script_fail(&r->s, &w, "%s twice", lt_script_word_str(&w).s);
        names[(*n)++] = lt_qasm_name_of(&w);
        lt_script_next(&r->s);
    } while (lt_script_takes(&r->s, ','));
    return LT_OK;
}

/* Carries the body out once on wires and numbers that stand for its arguments, and takes back what it did: mistakes show where they are made. */
static lt_status try_body(lt_qasm *r, const lt_qasm_gate *g, const lt_script_word *name)
{
    lt_circuit *c = r->c;
    const int64_t n_gates = c->n_gates, n_wires = c->n_wires, n_qubits = c->n_qubits;
    const int32_t n_nodes = c->exprs.n;
    int32_t wires[LT_QASM_MAX_OPERANDS];
    call k = { .name = *name, .gate = g, .power = 1 };
    for (int i = 0; i < g->n_operands; i++) wires[i] = i;
    for (int i = 0; i < g->n_parameters; i++)
        if ((k.angle[i] = lt_expr_number(&c->exprs, 0.5)) < 0) return LT_ERR_MEMORY;
    c->n_qubits = LT_QASM_MAX_OPERANDS;
    lt_status s = run_body(r, &k, wires);
    c->n_gates = n_gates;
    c->n_wires = n_wires;
    c->n_qubits = n_qubits;
    c->exprs.n = n_nodes;
    return s;
}

static lt_status skip_body(lt_qasm *r)
{
    for (int open = 1; open > 0; lt_script_next(&r->s)) {
        if (r->s.word.kind == LT_SCRIPT_END || r->s.word.kind == LT_SCRIPT_BAD)
            return lt_script_fail(&r->s, &r->s.word, "%s, expected '}' at the end of the gate", lt_script_word_str(&r->s.word).s);
        open += lt_script_sees(&r->s, '{') - lt_script_sees(&r->s, '}');
    }
    return LT_OK;
}

lt_status lt_qasm_definition(lt_qasm *r)
{
    const lt_script_word name = r->s.word;
    if (name.kind != LT_SCRIPT_NAME) return lt_script_fail(&r->s, &name, "%s, expected the gate's name", lt_script_word_str(&name).s);
    for (int64_t i = 0; i < r->n_gates; i++)
        if (lt_qasm_same(r->gate[i].name, &name) && !r->gate[i].library) return lt_script_fail(&r->s, &name, "gate %s is defined already", lt_script_word_str(&name).s);
    LT_TRY(lt_qasm_grow(&r->gate, r->n_gates, &r->gate_capacity, sizeof *r->gate));
    lt_qasm_gate *g = &r->gate[r->n_gates];
    *g = (lt_qasm_gate){ .name = lt_qasm_name_of(&name), .library = r->in_library };
    lt_script_next(&r->s);
    if (lt_script_takes(&r->s, '(') && !lt_script_takes(&r->s, ')')) {
        LT_TRY(read_names(r, g->parameter, LT_QASM_MAX_PARAMETERS, &g->n_parameters, "a parameter's name"));
        LT_TRY(lt_script_expect(&r->s, ')', "after the parameters"));
    }
    LT_TRY(read_names(r, g->operand, LT_QASM_MAX_OPERANDS, &g->n_operands, "a qubit's name"));
    LT_TRY(lt_script_expect(&r->s, '{', "before the gate's body"));
    g->body = r->s;
    r->visible = r->n_gates++;
    LT_TRY(skip_body(r));
    LT_TRY(try_body(r, g, &name));
    r->visible = r->n_gates;
    return LT_OK;
}
