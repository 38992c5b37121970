/* Writes circuits as OpenQASM 3. SPDX-License-Identifier: BSD-3-Clause */
#include "qkernel/circuit/circuit.h"

#include "base/alloc.h"
#include "base/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

typedef struct writer {
    const lt_circuit *c;
    char     *text;
    size_t    used, capacity;
    lt_status status;
    bool      defined[LT_GATE_COUNT];
    const lt_gate **shown;       /* gates whose definitions are written: MultiRZ by width, PauliRot by word */
    int64_t   n_shown, shown_capacity;
} writer;

__attribute__((format(printf, 2, 3))) static void say(writer *w, const char *format, ...)
{
    va_list ap;
    while (!w->status) {
        va_start(ap, format);
        int n = vsnprintf(w->text ? w->text + w->used : NULL, w->capacity - w->used, format, ap);
        va_end(ap);
        if (n >= 0 && (size_t)n < w->capacity - w->used) {
            w->used += (size_t)n;
            return;
        }
        size_t larger = 2 * w->capacity + (size_t)(n > 0 ? n : 0) + 256;
        char *more = lt_realloc(w->text, larger);
        if (!more) w->status = LT_ERR_MEMORY;
        else w->text = more, w->capacity = larger;
    }
}

/* ---- angles ---- */

/* Arrays keep their names; the text of ln is log. */
static int leaf_text(void *ctx, lt_expr_op op, int32_t index, char *to, size_t bytes)
{
    (void)ctx;
    return snprintf(to, bytes, "%c[%d]", op == LT_EXPR_X ? 'x' : 'w', (int)index);
}

static void say_angle(writer *w, int32_t node)
{
    char small[512], *large = NULL;
    if (w->status) return;
    if (lt_expr_text(&w->c->exprs, node, leaf_text, NULL, small, sizeof small)) {
        say(w, "%s", small);
        return;
    }
    for (size_t bytes = 1 << 14; bytes <= 1 << 24; bytes *= 4) {
        large = lt_malloc(bytes);
        if (!large) w->status = LT_ERR_MEMORY;
        else if (lt_expr_text(&w->c->exprs, node, leaf_text, NULL, large, bytes)) {
            say(w, "%s", large);
            lt_free(large);
            return;
        }
        lt_free(large);
        if (w->status) return;
    }
    w->status = LT_FAIL(LT_ERR_UNSUPPORTED, "circuit: an angle is too long to be written");
}

static void say_angles(writer *w, const lt_gate *g)
{
    const int n = lt_gate_at(g->kind)->n_angles;
    for (int i = 0; i < n; i++) {
        say(w, i ? ", " : "(");
        say_angle(w, g->angle[i]);
    }
    if (n) say(w, ")");
}

/* ---- definitions of what the standard gates lack ---- */

static const struct { lt_gate_kind kind; const char *name, *text; } lacking[] = {
    { LT_GATE_SXDG, "sxdg", "gate sxdg a { inv @ sx a; }\n" },
    { LT_GATE_ISWAP, "iswap", "gate iswap a, b { s a; s b; cz a, b; swap a, b; }\n" },
    { LT_GATE_RZZ, "rzz", "gate rzz(t) a, b { cx a, b; rz(t) b; cx a, b; }\n" },
    { LT_GATE_RXX, "rxx", "gate rxx(t) a, b { h a; h b; cx a, b; rz(t) b; cx a, b; h a; h b; }\n" },
    { LT_GATE_RYY, "ryy", "gate ryy(t) a, b { rx(pi/2) a; rx(pi/2) b; cx a, b; rz(t) b; cx a, b; rx(-pi/2) a; rx(-pi/2) b; }\n" },
};

static int own_wires(const lt_gate *g) { return g->n_wires - g->n_controls; }

/* The letter of wire i of a product of Paulis: MultiRZ has Zs alone. */
static char letter(const writer *w, const lt_gate *g, int i) { return g->kind == LT_GATE_MULTIRZ ? 'Z' : w->c->letter[g->extra + i]; }

static void say_word_name(writer *w, const lt_gate *g)
{
    if (g->kind == LT_GATE_MULTIRZ) say(w, "multirz%d", own_wires(g));
    else say(w, "paulirot_");
    for (int i = 0; g->kind == LT_GATE_PAULIROT && i < own_wires(g); i++) say(w, "%c", letter(w, g, i) + ('a' - 'A'));
}

static bool same_word(const writer *w, const lt_gate *a, const lt_gate *b)
{
    if (a->kind != b->kind || own_wires(a) != own_wires(b)) return false;
    for (int i = 0; i < own_wires(a); i++)
        if (letter(w, a, i) != letter(w, b, i)) return false;
    return true;
}

static void say_bases(writer *w, const lt_gate *g, bool undo)
{
    for (int i = 0; i < own_wires(g); i++) {
        if (letter(w, g, i) == 'X') say(w, " h a%d;", i);
        if (letter(w, g, i) == 'Y') say(w, " rx(%spi/2) a%d;", undo ? "-" : "", i);
    }
}

/* Nots along the wires that are no I, forwards or back; *last is the wire they end on, -1 when there is none. */
static void say_ladder(writer *w, const lt_gate *g, bool back, int *last)
{
    const int n = own_wires(g);
    int before = -1;
    for (int k = 0; k < n; k++) {
        int i = back ? n - 1 - k : k;
        if (letter(w, g, i) == 'I') continue;
        if (before >= 0) say(w, " cx a%d, a%d;", back ? i : before, back ? before : i);
        before = i;
    }
    if (!back) *last = before;
}

static void say_word(writer *w, const lt_gate *g)
{
    int last;
    say(w, "gate ");
    say_word_name(w, g);
    say(w, "(t) ");
    for (int i = 0; i < own_wires(g); i++) say(w, "%sa%d", i ? ", " : "", i);
    say(w, " {");
    say_bases(w, g, false);
    say_ladder(w, g, false, &last);
    if (last >= 0) say(w, " rz(t) a%d;", last);
    else say(w, " gphase(-t/2);");
    say_ladder(w, g, true, &last);
    say_bases(w, g, true);
    say(w, " }\n");
}

static void define_word(writer *w, const lt_gate *g)
{
    for (int64_t i = w->n_shown - 1; i >= 0; i--)
        if (same_word(w, w->shown[i], g)) return;
    if (w->n_shown == w->shown_capacity) {
        int64_t larger = LT_MAX(16, 2 * w->shown_capacity);
        const lt_gate **more = lt_realloc(w->shown, (size_t)larger * sizeof *more);
        if (!more) {
            w->status = LT_ERR_MEMORY;
            return;
        }
        w->shown = more;
        w->shown_capacity = larger;
    }
    w->shown[w->n_shown++] = g;
    say_word(w, g);
}

static void define_gates(writer *w)
{
    for (int64_t i = 0; i < w->c->n_gates && !w->status; i++) {
        const lt_gate *g = &w->c->gate[i];
        if (g->kind == LT_GATE_MULTIRZ || g->kind == LT_GATE_PAULIROT) define_word(w, g);
        for (size_t k = 0; k < LT_LEN(lacking); k++)
            if (lacking[k].kind == g->kind && !w->defined[g->kind]) {
                w->defined[g->kind] = true;
                say(w, "%s", lacking[k].text);
            }
    }
}

/* ---- gates ---- */

static void say_name(writer *w, const lt_gate *g)
{
    if (g->kind == LT_GATE_MULTIRZ || g->kind == LT_GATE_PAULIROT) say_word_name(w, g);
    for (size_t k = 0; k < LT_LEN(lacking); k++)
        if (lacking[k].kind == g->kind) say(w, "%s", lacking[k].name);
    if (g->kind == LT_GATE_U3) say(w, "U");
    else if (lt_gate_at(g->kind)->qasm) say(w, "%s", lt_gate_at(g->kind)->qasm);
}

static void say_controls(writer *w, const lt_gate *g)
{
    if (g->n_controls == 1) say(w, "ctrl @ ");
    if (g->n_controls > 1) say(w, "ctrl(%d) @ ", g->n_controls);
}

static void say_wires(writer *w, const lt_gate *g, int n)
{
    for (int i = 0; i < n; i++) say(w, "%sq[%d]", i ? ", " : " ", (int)w->c->wire[g->first_wire + i]);
    say(w, ";\n");
}

static void say_gate(writer *w, const lt_gate *g)
{
    say_controls(w, g);
    say_name(w, g);
    say_angles(w, g);
    say_wires(w, g, g->n_wires);
    if (g->kind != LT_GATE_U3) return;
    say_controls(w, g); /* U of the language has a phase of half its first angle */
    say(w, "gphase(-(");
    say_angle(w, g->angle[0]);
    say(w, ")/2)");
    say_wires(w, g, g->n_controls);
}

static lt_status check_words(const lt_circuit *c)
{
    if (c->amplitudes) return LT_FAIL(LT_ERR_UNSUPPORTED, "circuit: a state that begins as x itself (amplitude) has no gates to write as OpenQASM");
    for (int64_t i = 0; i < c->n_gates; i++)
        if (c->gate[i].kind == LT_GATE_UNITARY) return LT_FAIL(LT_ERR_UNSUPPORTED, "circuit: gate %lld is a matrix, which OpenQASM has no word for", (long long)i);
    return LT_OK;
}

lt_status lt_circuit_to_qasm(const lt_circuit *c, char **text)
{
    if (!c || !text) return LT_FAIL(LT_ERR_ARGUMENT, "circuit: the circuit or the text is NULL");
    *text = NULL;
    LT_TRY(check_words(c));
    writer w = { .c = c };
    say(&w, "OPENQASM 3.0;\ninclude \"stdgates.inc\";\n");
    define_gates(&w);
    if (c->n_features) say(&w, "input array[float[64], %lld] x;\n", (long long)c->n_features);
    if (c->n_weights) say(&w, "input array[float[64], %lld] w;\n", (long long)c->n_weights);
    say(&w, "qubit[%lld] q;\n", (long long)c->n_qubits);
    for (int64_t i = 0; i < c->n_gates && !w.status; i++) say_gate(&w, &c->gate[i]);
    lt_free(w.shown);
    if (w.status) {
        lt_free(w.text);
        return w.status;
    }
    *text = w.text;
    return LT_OK;
}

void lt_circuit_text_free(char *text) { lt_free(text); }
