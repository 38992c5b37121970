/* Statements of OpenQASM. SPDX-License-Identifier: BSD-3-Clause */
#include "qkernel/qasm/reader.h"

#include "base/status.h"

#include <string.h>

static lt_status take_name(lt_qasm *r, const char *what, lt_script_word *out)
{
    *out = r->s.word;
    if (out->kind != LT_SCRIPT_NAME) return lt_script_fail(&r->s, out, "%s, expected %s", lt_script_word_str(out).s, what);
    lt_script_next(&r->s);
    return LT_OK;
}

static lt_status end_statement(lt_qasm *r) { return lt_script_expect(&r->s, ';', "at the end of the statement"); }

/* A name that nothing has yet in this scope. */
static lt_status check_free(lt_qasm *r, const lt_script_word *name)
{
    for (int64_t i = 0; i < r->n_registers; i++)
        if (lt_qasm_same(r->registers[i].name, name)) return lt_script_fail(&r->s, name, "%s is declared already", lt_script_word_str(name).s);
    for (int64_t i = r->frame; i < r->n_symbols; i++)
        if (lt_qasm_same(r->symbol[i].name, name)) return lt_script_fail(&r->s, name, "%s is declared already", lt_script_word_str(name).s);
    return LT_OK;
}

static lt_status only_outside(lt_qasm *r, const lt_script_word *at)
{
    if (!r->inside && r->depth == 0) return LT_OK;
    return lt_script_fail(&r->s, at, "%s inside a gate or a loop", lt_script_word_str(at).s);
}

/* ---- declarations ---- */

static lt_status add_register(lt_qasm *r, const lt_script_word *name, int64_t n, bool classical, const lt_script_word *at)
{
    LT_TRY(check_free(r, name));
    if (n < 1 || r->c->n_qubits + (classical ? 0 : n) > LT_CIRCUIT_MAX_QUBITS)
        return lt_script_fail(&r->s, at, "%lld qubits in %s, expected 1 to %d in all", (long long)n, lt_script_word_str(name).s, LT_CIRCUIT_MAX_QUBITS);
    LT_TRY(lt_qasm_grow(&r->registers, r->n_registers, &r->register_capacity, sizeof *r->registers));
    r->registers[r->n_registers++] = (lt_qasm_register){ lt_qasm_name_of(name), r->c->n_qubits, n, classical };
    if (!classical) r->c->n_qubits += n;
    return LT_OK;
}

/* qubit[4] a; bit[4] c; qreg a[4]; creg c[4]; bits are never used, but programs declare them. */
static lt_status read_register(lt_qasm *r, const lt_script_word *at, bool old, bool classical)
{
    lt_script_word name;
    int64_t n = 1;
    LT_TRY(only_outside(r, at));
    if (old) LT_TRY(take_name(r, "the register's name", &name));
    if (lt_script_takes(&r->s, '[')) {
        LT_TRY(lt_qasm_whole(r, "a size", &n));
        LT_TRY(lt_script_expect(&r->s, ']', "after the size"));
    }
    if (!old) LT_TRY(take_name(r, "the register's name", &name));
    if (!classical) LT_TRY(add_register(r, &name, n, false, at));
    else LT_TRY(add_register(r, &name, n, true, at));
    return end_statement(r);
}

/* float[64], angle[32], int, … : sizes do not matter here. */
static bool is_number_type(const lt_script_word *w)
{
    static const char *const types[] = { "float", "angle", "int", "uint" };
    for (size_t i = 0; i < LT_LEN(types); i++)
        if (lt_script_word_is(w, types[i])) return true;
    return false;
}

static lt_status skip_type(lt_qasm *r)
{
    const lt_script_word at = r->s.word;
    int64_t size;
    if (!is_number_type(&at)) return lt_script_fail(&r->s, &at, "%s, expected float, angle, int or uint", lt_script_word_str(&at).s);
    lt_script_next(&r->s);
    if (!lt_script_takes(&r->s, '[')) return LT_OK;
    LT_TRY(lt_qasm_whole(r, "a size", &size));
    return lt_script_expect(&r->s, ']', "after the size");
}

static int32_t number_at_end(const lt_script_word *name)
{
    int i = name->length;
    int64_t value = 0;
    while (i > 0 && name->text[i - 1] >= '0' && name->text[i - 1] <= '9') i--;
    if (i == name->length || name->length - i > 6 || (name->text[i] == '0' && name->length - i > 1)) return -1;
    for (; i < name->length; i++) value = 10 * value + (name->text[i] - '0');
    return (int32_t)value;
}

/* input float[64] x0;  input array[float[64], 4] w; Names that begin with w are weights. */
static lt_status read_input(lt_qasm *r, const lt_script_word *at)
{
    lt_script_word name;
    int64_t n = 1;
    bool array = lt_script_word_is(&r->s.word, "array");
    LT_TRY(only_outside(r, at));
    if (array) {
        lt_script_next(&r->s);
        LT_TRY(lt_script_expect(&r->s, '[', "after array"));
        LT_TRY(skip_type(r));
        LT_TRY(lt_script_expect(&r->s, ',', "between the type and the size"));
        LT_TRY(lt_qasm_whole(r, "a size", &n));
        LT_TRY(lt_script_expect(&r->s, ']', "after the size"));
    } else LT_TRY(skip_type(r));
    LT_TRY(take_name(r, "the input's name", &name));
    LT_TRY(check_free(r, &name));
    if (n < 1 || n > 1 << 20) return lt_script_fail(&r->s, &name, "an input of %lld numbers, expected 1 to %d", (long long)n, 1 << 20);
    bool weight = name.text[0] == 'w';
    int64_t *count = weight ? &r->c->n_weights : &r->c->n_features, first = *count;
    *count += n;
    lt_expr_op leaf = weight ? LT_EXPR_W : LT_EXPR_X;
    int32_t node = array ? -1 : lt_expr_leaf(&r->c->exprs, leaf, (int32_t)first);
    if (!array && node < 0) return LT_ERR_MEMORY;
    LT_TRY(lt_qasm_define(r, (lt_qasm_symbol){ lt_qasm_name_of(&name), node, leaf, first, n }));
    for (int64_t i = 0; i < n; i++) {
        LT_TRY(lt_qasm_grow(&r->input, r->n_inputs, &r->input_capacity, sizeof *r->input));
        r->input[r->n_inputs++] = (lt_qasm_input){ lt_qasm_name_of(&name), weight, array ? -1 : number_at_end(&name) };
    }
    return end_statement(r);
}

/* const float[64] a = 2*pi; also without const: a name for an expression, which nothing changes afterwards. */
static lt_status read_value(lt_qasm *r)
{
    lt_script_word name;
    int32_t node;
    LT_TRY(skip_type(r));
    LT_TRY(take_name(r, "a name", &name));
    LT_TRY(check_free(r, &name));
    LT_TRY(lt_script_expect(&r->s, '=', "and a value after the name"));
    LT_TRY(lt_qasm_angle(r, &node));
    LT_TRY(lt_qasm_define(r, (lt_qasm_symbol){ .name = lt_qasm_name_of(&name), .node = node }));
    return end_statement(r);
}

/* ---- heads ---- */

static lt_status read_version(lt_qasm *r, const lt_script_word *at)
{
    const lt_script_word w = r->s.word;
    if (r->n_steps > 1) return lt_script_fail(&r->s, at, "OPENQASM must be the first statement");
    if (w.kind != LT_SCRIPT_NUMBER || (w.value != 2 && !(w.value >= 3 && w.value < 4)))
        return lt_script_fail(&r->s, &w, "version %s, expected 2.0 or 3", lt_script_word_str(&w).s);
    r->version = w.value < 3 ? 2 : 3;
    lt_script_next(&r->s);
    return end_statement(r);
}

static lt_status read_include(lt_qasm *r)
{
    const lt_script_word w = r->s.word;
    static const char *const files[] = { "stdgates.inc", "qelib1.inc" };
    bool known = false;
    for (size_t i = 0; i < LT_LEN(files); i++)
        known |= w.kind == LT_SCRIPT_STRING && strlen(files[i]) == (size_t)w.length && !strncmp(files[i], w.text, (size_t)w.length);
    if (!known) return lt_script_fail(&r->s, &w, "include %s, expected \"stdgates.inc\" or \"qelib1.inc\"", lt_script_word_str(&w).s);
    r->standard = true;
    lt_script_next(&r->s);
    return end_statement(r);
}

/* ---- loops ---- */

static lt_status skip_block(lt_qasm *r)
{
    int open = 1;
    while (open > 0) {
        if (r->s.word.kind == LT_SCRIPT_END || r->s.word.kind == LT_SCRIPT_BAD)
            return lt_script_fail(&r->s, &r->s.word, "%s, expected '}' at the end of a block", lt_script_word_str(&r->s.word).s);
        open += lt_script_sees(&r->s, '{') - lt_script_sees(&r->s, '}');
        lt_script_next(&r->s);
    }
    return LT_OK;
}

/* One round: the body is read from its beginning with the variable set. */
static lt_status run_round(lt_qasm *r, const lt_script *body, const lt_script_word *name, int64_t value)
{
    const int64_t n_symbols = r->n_symbols;
    int32_t node = lt_expr_number(&r->c->exprs, (double)value);
    if (node < 0) return LT_ERR_MEMORY;
    r->s = *body;
    LT_TRY(lt_qasm_define(r, (lt_qasm_symbol){ .name = lt_qasm_name_of(name), .node = node }));
    r->depth++;
    LT_TRY(lt_qasm_statements(r));
    r->depth--;
    r->n_symbols = n_symbols;
    return lt_script_expect(&r->s, '}', "at the end of the loop");
}

enum { MAX_LISTED = 64 };

/* [first:last], [first:step:last] with the last included, or {a, b, c}. */
static lt_status read_range(lt_qasm *r, int64_t *first, int64_t *step, int64_t *last, int64_t *listed, int *n_listed)
{
    const lt_script_word at = r->s.word;
    *n_listed = -1;
    if (lt_script_takes(&r->s, '{')) {
        *n_listed = 0;
        do {
            if (*n_listed == MAX_LISTED) return lt_script_fail(&r->s, &at, "more than %d values in a list", MAX_LISTED);
            LT_TRY(lt_qasm_whole(r, "a value", &listed[(*n_listed)++]));
        } while (lt_script_takes(&r->s, ','));
        return lt_script_expect(&r->s, '}', "after the values");
    }
    *step = 1;
    LT_TRY(lt_script_expect(&r->s, '[', "before the range of a loop"));
    LT_TRY(lt_qasm_whole(r, "the beginning of a range", first));
    LT_TRY(lt_script_expect(&r->s, ':', "inside the range"));
    LT_TRY(lt_qasm_whole(r, "the end of a range", last));
    if (lt_script_takes(&r->s, ':')) {
        *step = *last;
        LT_TRY(lt_qasm_whole(r, "the end of a range", last));
    }
    if (*step == 0) return lt_script_fail(&r->s, &at, "a range with steps of 0");
    return lt_script_expect(&r->s, ']', "after the range");
}

static lt_status read_for(lt_qasm *r)
{
    int64_t first = 0, step = 1, last = 0, listed[MAX_LISTED];
    int n_listed;
    lt_script_word name;
    const lt_script_word at = r->s.word;
    if (is_number_type(&r->s.word)) LT_TRY(skip_type(r));
    LT_TRY(take_name(r, "the loop's variable", &name));
    if (!lt_script_word_is(&r->s.word, "in")) return lt_script_fail(&r->s, &r->s.word, "%s, expected in", lt_script_word_str(&r->s.word).s);
    lt_script_next(&r->s);
    LT_TRY(read_range(r, &first, &step, &last, listed, &n_listed));
    LT_TRY(lt_script_expect(&r->s, '{', "before the body of a loop"));
    if (r->depth >= LT_QASM_MAX_DEPTH) return lt_script_fail(&r->s, &at, "more than %d loops and calls inside each other", LT_QASM_MAX_DEPTH);
    const lt_script body = r->s;
    bool any = false;
    for (int i = 0; i < n_listed; i++, any = true) LT_TRY(run_round(r, &body, &name, listed[i]));
    for (int64_t v = first; n_listed < 0 && (step > 0 ? v <= last : v >= last); v += step, any = true) LT_TRY(run_round(r, &body, &name, v));
    return any ? LT_OK : skip_block(r);
}

/* ---- statements ---- */

static lt_status refuse(lt_qasm *r, const lt_script_word *at)
{
    static const struct { const char *word, *why; } refused[] = {
        { "measure", "measurements have no place in a kernel: it needs the state before them" }, { "reset", "reset is not a unitary gate" },
        { "if", "classical control is not supported" }, { "else", "classical control is not supported" }, { "while", "classical control is not supported" },
        { "switch", "classical control is not supported" }, { "def", "subroutines are not supported; gates are" }, { "return", "subroutines are not supported; gates are" },
        { "extern", "extern functions are not supported" }, { "opaque", "opaque gates have no definition" }, { "delay", "timing is not supported" },
        { "box", "timing is not supported" }, { "stretch", "timing is not supported" }, { "duration", "timing is not supported" }, { "defcal", "calibrations are not supported" },
        { "cal", "calibrations are not supported" }, { "defcalgrammar", "calibrations are not supported" }, { "output", "outputs are not supported" },
        { "bool", "classical variables are not supported" }, { "complex", "classical variables are not supported" }, { "let", "aliases of registers are not supported" },
        { "break", "classical control is not supported" }, { "continue", "classical control is not supported" }, { "end", "classical control is not supported" },
    };
    for (size_t i = 0; i < LT_LEN(refused); i++)
        if (lt_script_word_is(at, refused[i].word)) return lt_script_fail(&r->s, at, "%s: %s", refused[i].word, refused[i].why);
    return LT_OK;
}

/* Barriers order pulses, not mathematics. */
static lt_status skip_barrier(lt_qasm *r)
{
    while (!lt_script_sees(&r->s, ';')) {
        if (r->s.word.kind == LT_SCRIPT_END || r->s.word.kind == LT_SCRIPT_BAD) return end_statement(r);
        lt_script_next(&r->s);
    }
    return end_statement(r);
}

/* Whether the word is one of these statements; *status is then what came of it. */
static bool read_known(lt_qasm *r, const lt_script_word *at, lt_status *status)
{
    enum { VERSION, INCLUDE, QUBIT, BIT, QREG, CREG, INPUT, CONST, GATE, FOR, BARRIER };
    static const char *const words[] = { "OPENQASM", "include", "qubit", "bit", "qreg", "creg", "input", "const", "gate", "for", "barrier" };
    int which = -1;
    for (size_t i = 0; i < LT_LEN(words); i++)
        if (lt_script_word_is(at, words[i])) which = (int)i;
    if (which < 0 || (r->inside && which != FOR && which != BARRIER)) return false;
    lt_script_next(&r->s);
    switch (which) {
    case VERSION: *status = read_version(r, at); break;
    case INCLUDE: *status = read_include(r); break;
    case QUBIT: case BIT: *status = read_register(r, at, false, which == BIT); break;
    case QREG: case CREG: *status = read_register(r, at, true, which == CREG); break;
    case INPUT: *status = read_input(r, at); break;
    case CONST: *status = read_value(r); break;
    case GATE: *status = only_outside(r, at); if (!*status) *status = lt_qasm_definition(r); break;
    case FOR: *status = read_for(r); break;
    default: *status = skip_barrier(r);
    }
    return true;
}

/* A register or a number at the beginning of a statement is assigned to, perhaps from a measurement. */
static lt_status check_call(lt_qasm *r, const lt_script_word *at)
{
    lt_script ahead = r->s;
    lt_script_next(&ahead);
    if (lt_script_sees(&ahead, '=')) return lt_script_fail(&r->s, at, "%s is assigned to: classical variables and measurements are not supported", lt_script_word_str(at).s);
    for (int64_t i = 0; i < r->n_registers; i++)
        if (lt_qasm_same(r->registers[i].name, at)) return lt_script_fail(&r->s, at, "%s is a register, expected a gate", lt_script_word_str(at).s);
    return LT_OK;
}

static lt_status read_statement(lt_qasm *r)
{
    const lt_script_word at = r->s.word;
    lt_status status = LT_OK;
    if (++r->n_steps > LT_QASM_MAX_STEPS) return lt_script_fail(&r->s, &at, "more than %d statements are carried out", LT_QASM_MAX_STEPS);
    if (lt_script_takes(&r->s, ';')) return LT_OK;
    if (at.kind != LT_SCRIPT_NAME) return lt_script_fail(&r->s, &at, "%s, expected a statement", lt_script_word_str(&at).s);
    LT_TRY(refuse(r, &at));
    if (read_known(r, &at, &status)) return status;
    if (is_number_type(&at) && !r->inside) return read_value(r);
    LT_TRY(check_call(r, &at));
    return lt_qasm_call(r);
}

lt_status lt_qasm_statements(lt_qasm *r)
{
    while (r->s.word.kind != LT_SCRIPT_END && !lt_script_sees(&r->s, '}')) {
        LT_TRY(read_statement(r));
        if (r->depth == 0 && !r->inside) r->n_globals = r->n_symbols;
    }
    return LT_OK;
}
