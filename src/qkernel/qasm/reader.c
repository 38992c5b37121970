/* Reads OpenQASM 3 and 2 as circuits. SPDX-License-Identifier: BSD-3-Clause */
#include "qkernel/qasm/reader.h"

#include "base/alloc.h"
#include "base/status.h"

#include <string.h>

/* What stands before the number at the end of an input's name. */
static lt_qasm_name stem_of(const lt_qasm_input *in)
{
    int digits = 1;
    for (int32_t v = in->number; v >= 10; v /= 10) digits++;
    return (lt_qasm_name){ in->name.text, in->name.length - digits };
}

/* Whether scalar inputs of one kind are one name with the numbers 0..n-1 at its end: those numbers are then columns. */
static bool numbered(const lt_qasm *r, bool weight)
{
    lt_qasm_name stem = { 0 };
    int64_t n = 0, sum = 0, largest = -1;
    for (int64_t i = 0; i < r->n_inputs; i++) {
        const lt_qasm_input *in = &r->input[i];
        if (in->weight != weight) continue;
        if (in->number < 0) return false;
        lt_qasm_name own = stem_of(in);
        if (n == 0) stem = own;
        if (own.length != stem.length || memcmp(own.text, stem.text, (size_t)own.length)) return false;
        n++;
        sum += in->number;
        largest = LT_MAX(largest, in->number);
    }
    return largest < n && sum == n * (n - 1) / 2; /* different names below n with the sum of all: each once */
}

/* Inputs in the order of their numbers, where they have some. */
static lt_status number_inputs(lt_qasm *r)
{
    int32_t *number = lt_malloc((size_t)(r->n_inputs + 1) * sizeof *number);
    if (!number) return LT_ERR_MEMORY;
    for (int weight = 0; weight < 2; weight++) {
        int64_t n = 0;
        if (!numbered(r, weight)) continue;
        for (int64_t k = 0; k < r->n_inputs; k++)
            if (r->input[k].weight == (bool)weight) number[n++] = r->input[k].number;
        for (int32_t i = 0; i < r->c->exprs.n; i++) {
            lt_expr_node *node = &r->c->exprs.node[i];
            if (node->op == (weight ? LT_EXPR_W : LT_EXPR_X)) node->a = number[node->a];
        }
    }
    lt_free(number);
    return LT_OK;
}

static lt_status finish(lt_qasm *r)
{
    if (lt_script_sees(&r->s, '}')) return lt_script_fail(&r->s, &r->s.word, "'}' without a block before it");
    if (r->c->n_qubits < 1) return lt_script_fail(&r->s, &r->s.word, "no qubits are declared");
    LT_TRY(number_inputs(r));
    lt_qasm_sort_physical(r);
    if (r->c->n_weights) r->c->weights = lt_shape1(r->c->n_weights);
    return LT_OK;
}

enum { MAX_BYTES = 256 << 20 };

lt_status lt_circuit_from_qasm(const char *text, size_t n_bytes, const char *name, lt_circuit **out)
{
    if (!out) return LT_FAIL(LT_ERR_ARGUMENT, "circuit: out is NULL");
    *out = NULL;
    if (!text) return LT_FAIL(LT_ERR_ARGUMENT, "circuit: the text is NULL");
    if (n_bytes > MAX_BYTES) return LT_FAIL(LT_ERR_FORMAT, "circuit: a text of %zu bytes, expected at most %d", n_bytes, MAX_BYTES);
    lt_qasm r = { .version = 3 };
    LT_TRY(lt_circuit_create(1, 0, 0, &r.c));
    r.c->n_qubits = 0; /* declared by the text */
    lt_script_open(&r.s, name ? name : "circuit", text, n_bytes);
    lt_status s = lt_qasm_statements(&r);
    if (!s) s = finish(&r);
    lt_free(r.registers);
    lt_free(r.symbol);
    lt_free(r.gate);
    lt_free(r.input);
    lt_free(r.wire);
    lt_free(r.physical);
    lt_free(r.element);
    if (s) {
        lt_circuit_destroy(r.c);
        return s;
    }
    *out = r.c;
    return LT_OK;
}
