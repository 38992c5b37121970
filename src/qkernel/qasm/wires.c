/* Qubits that calls and aliases name. SPDX-License-Identifier: BSD-3-Clause */
#include "qkernel/qasm/reader.h"

#include "base/alloc.h"
#include "base/status.h"

lt_status lt_qasm_add_wire(lt_qasm *r, int32_t qubit)
{
    LT_TRY(lt_qasm_grow(&r->wire, r->n_wires, &r->wire_capacity, sizeof *r->wire));
    r->wire[r->n_wires++] = qubit;
    return LT_OK;
}

int32_t lt_qasm_operand_wire(const lt_qasm *r, const lt_qasm_operand *o, int64_t i) { return o->wire >= 0 ? o->wire : r->wire[o->first + i * o->step]; }

/* ---- parts of registers ---- */

static lt_status refuse_wire(const lt_qasm *r, const lt_qasm_register *g, const lt_script_word *at, int64_t index)
{
    return lt_script_fail(&r->s, at, "wire %lld of %.*s, which has %lld", (long long)index, g->name.length, g->name.text, (long long)g->n);
}

/* {0, 2, -1}: put behind the list, where they stay until the call is done. */
static lt_status read_listed(lt_qasm *r, const lt_qasm_register *g, lt_qasm_operand *o)
{
    const int64_t first = r->n_wires;
    do {
        const lt_script_word at = r->s.word;
        int64_t i;
        LT_TRY(lt_qasm_whole(r, "an index", &i));
        if (i < -g->n || i >= g->n) return refuse_wire(r, g, &at, i);
        LT_TRY(lt_qasm_add_wire(r, r->wire[g->first + (i < 0 ? i + g->n : i)]));
    } while (lt_script_takes(&r->s, ','));
    *o = (lt_qasm_operand){ first, r->n_wires - first, 1, -1 };
    LT_TRY(lt_script_expect(&r->s, '}', "after the indices"));
    return lt_script_expect(&r->s, ']', "after the indices");
}

static lt_status read_index(lt_qasm *r, const lt_qasm_register *g, lt_qasm_operand *o)
{
    const lt_script_word at = r->s.word;
    int64_t a, b;
    if (lt_script_takes(&r->s, '{')) return read_listed(r, g, o);
    LT_TRY(lt_qasm_whole(r, "an index", &a));
    b = a;
    o->step = 1;
    if (lt_script_takes(&r->s, ':')) {
        LT_TRY(lt_qasm_whole(r, "an index", &b));
        if (lt_script_takes(&r->s, ':')) {
            o->step = b;
            LT_TRY(lt_qasm_whole(r, "an index", &b));
        }
    }
    if (a < 0) a += g->n; /* counted from the end */
    if (b < 0) b += g->n;
    if (o->step == 0 || a < 0 || b < 0 || a >= g->n || b >= g->n || (b - a) / o->step < 0) return refuse_wire(r, g, &at, a < 0 || a >= g->n ? a : b);
    o->first = g->first + a;
    o->n = (b - a) / o->step + 1;
    return lt_script_expect(&r->s, ']', "after the index");
}

/* ---- physical qubits ---- */

/* The number of a physical qubit, behind its '$'. Wires are numbered as they are met, and sorted at the end (decision 412). */
static lt_status read_physical(lt_qasm *r, lt_qasm_operand *o)
{
    const lt_script_word at = r->s.word;
    if (at.kind != LT_SCRIPT_NUMBER || !at.whole || !(at.value < LT_CIRCUIT_MAX_QUBITS))
        return lt_script_fail(&r->s, &at, "%s, expected the number of a physical qubit below %d", lt_script_word_str(&at).s, LT_CIRCUIT_MAX_QUBITS);
    if (!r->physical) {
        r->physical = lt_malloc(LT_CIRCUIT_MAX_QUBITS * sizeof *r->physical);
        if (!r->physical) return LT_ERR_MEMORY;
        for (int i = 0; i < LT_CIRCUIT_MAX_QUBITS; i++) r->physical[i] = -1;
    }
    int32_t *qubit = &r->physical[(int)at.value];
    if (*qubit < 0 && r->c->n_qubits == LT_CIRCUIT_MAX_QUBITS) return lt_script_fail(&r->s, &at, "more than %d qubits", LT_CIRCUIT_MAX_QUBITS);
    if (*qubit < 0) *qubit = (int32_t)r->c->n_qubits++;
    *o = (lt_qasm_operand){ .n = 1, .step = 1, .wire = *qubit };
    lt_script_next(&r->s);
    return LT_OK;
}

void lt_qasm_sort_physical(lt_qasm *r)
{
    int32_t to[LT_CIRCUIT_MAX_QUBITS], met[LT_CIRCUIT_MAX_QUBITS]; /* where each qubit goes; which qubits are physical */
    int n = 0, next = 0;
    if (!r->physical) return;
    for (int i = 0; i < LT_CIRCUIT_MAX_QUBITS; i++) met[i] = 0, to[i] = i;
    for (int i = 0; i < LT_CIRCUIT_MAX_QUBITS; i++)
        if (r->physical[i] >= 0) met[r->physical[i]] = 1, n++;
    for (int i = 0; i < LT_CIRCUIT_MAX_QUBITS && n > 0; i++) {
        if (r->physical[i] < 0) continue;
        while (!met[next]) next++;
        to[r->physical[i]] = next++;
    }
    for (int64_t i = 0; i < r->c->n_wires; i++) r->c->wire[i] = to[r->c->wire[i]];
}

/* ---- operands ---- */

static lt_status read_in_gate(lt_qasm *r, const lt_script_word *name, lt_qasm_operand *o)
{
    for (int i = 0; i < r->inside->n_operands; i++)
        if (lt_qasm_same(r->inside->operand[i], name)) {
            *o = (lt_qasm_operand){ .n = 1, .step = 1, .wire = r->operand[i] };
            return LT_OK;
        }
    return lt_script_fail(&r->s, name, "%s is no qubit of this gate", lt_script_word_str(name).s);
}

lt_status lt_qasm_operand_read(lt_qasm *r, lt_qasm_operand *o)
{
    const lt_script_word name = r->s.word;
    if (!r->inside && lt_script_takes(&r->s, '$')) return read_physical(r, o);
    if (name.kind != LT_SCRIPT_NAME) return lt_script_fail(&r->s, &name, "%s, expected a qubit", lt_script_word_str(&name).s);
    lt_script_next(&r->s);
    if (r->inside) return read_in_gate(r, &name, o);
    for (int64_t i = 0; i < r->n_registers; i++) {
        const lt_qasm_register g = r->registers[i];
        if (!lt_qasm_same(g.name, &name)) continue;
        if (g.classical) return lt_script_fail(&r->s, &name, "%s holds bits, expected qubits", lt_script_word_str(&name).s);
        *o = (lt_qasm_operand){ g.first, g.n, 1, -1 };
        return lt_script_takes(&r->s, '[') ? read_index(r, &g, o) : LT_OK;
    }
    return lt_script_fail(&r->s, &name, "unknown qubits %s", lt_script_word_str(&name).s);
}
