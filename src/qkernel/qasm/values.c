/* Numbers and angles in OpenQASM. SPDX-License-Identifier: BSD-3-Clause */
#include "qkernel/qasm/reader.h"

#include "base/alloc.h"
#include "base/status.h"

#include <math.h>
#include <string.h>

lt_status lt_qasm_grow(void *list, int64_t n, int64_t *capacity, size_t element)
{
    void **p = list;
    if (n < *capacity) return LT_OK;
    int64_t larger = LT_MAX(16, 2 * *capacity);
    void *more = lt_realloc(*p, (size_t)larger * element);
    if (!more) return LT_ERR_MEMORY;
    *p = more;
    *capacity = larger;
    return LT_OK;
}

bool lt_qasm_same(lt_qasm_name a, const lt_script_word *w)
{
    return w->kind == LT_SCRIPT_NAME && a.length == w->length && !memcmp(a.text, w->text, (size_t)a.length);
}

lt_qasm_name lt_qasm_name_of(const lt_script_word *w) { return (lt_qasm_name){ w->text, w->length }; }

lt_status lt_qasm_blame(const lt_qasm *r, const lt_script_word *at, lt_status s)
{
    char reason[LT_ERROR_TEXT_BYTES];
    if (s == LT_OK || s == LT_ERR_MEMORY) return s;
    lt_error_reason(reason, sizeof reason);
    return lt_script_fail(&r->s, at, "%.400s", !strncmp(reason, "circuit: ", 9) ? reason + 9 : reason);
}

lt_status lt_qasm_define(lt_qasm *r, lt_qasm_symbol symbol)
{
    LT_TRY(lt_qasm_grow(&r->symbol, r->n_symbols, &r->symbol_capacity, sizeof *r->symbol));
    r->symbol[r->n_symbols++] = symbol;
    return LT_OK;
}

/* The latest of this name that can be seen from here. */
static const lt_qasm_symbol *find_symbol(const lt_qasm *r, const lt_script_word *name)
{
    for (int64_t i = r->n_symbols - 1; i >= 0; i--) {
        if (i < r->frame && i >= r->n_globals) continue;
        if (lt_qasm_same(r->symbol[i].name, name)) return &r->symbol[i];
    }
    return NULL;
}

static lt_status look_up(void *ctx, lt_script *s, const lt_script_word *name, lt_exprs *e, int32_t *node)
{
    static const struct { const char *name; double value; } constants[] = { { "tau", 2 * M_PI }, { "\xcf\x84", 2 * M_PI }, { "euler", M_E }, { "\xe2\x84\x87", M_E } };
    lt_qasm *r = ctx;
    const lt_qasm_symbol *found = find_symbol(r, name);
    (void)s;
    if (!found) {
        for (size_t i = 0; i < LT_LEN(constants); i++)
            if (lt_script_word_is(name, constants[i].name)) *node = lt_expr_number(e, constants[i].value);
        return LT_OK;
    }
    if (found->node >= 0) {
        *node = found->node;
        return LT_OK;
    }
    int64_t index, n = found->n, first = found->first;
    lt_expr_op leaf = found->leaf;
    LT_TRY(lt_script_expect(&r->s, '[', "after the name of an array"));
    const lt_script_word at = r->s.word;
    LT_TRY(lt_qasm_whole(r, "an index", &index));
    if (index < 0 || index >= n)
        return lt_script_fail(&r->s, &at, "index %lld of %.*s, which has %lld elements", (long long)index, name->length, name->text, (long long)n);
    LT_TRY(lt_script_expect(&r->s, ']', "after the index"));
    *node = leaf == LT_EXPR_NUMBER ? r->element[first + index] : lt_expr_leaf(e, leaf, (int32_t)(first + index));
    return *node < 0 ? LT_ERR_MEMORY : LT_OK;
}

lt_status lt_qasm_angle(lt_qasm *r, int32_t *node)
{
    lt_expr_names names = { look_up, r, r->version == 2 };
    *node = -1;
    return lt_expr_read(&r->s, &r->c->exprs, &names, node);
}

lt_status lt_qasm_whole(lt_qasm *r, const char *what, int64_t *out)
{
    const lt_script_word at = r->s.word;
    int32_t node, n = r->c->exprs.n;
    double value = NAN;
    LT_TRY(lt_qasm_angle(r, &node));
    if (!lt_expr_constant(&r->c->exprs, node, &value)) return lt_script_fail(&r->s, &at, "%s that is not a constant", what);
    if (node >= n) r->c->exprs.n = n; /* the number is all that is needed */
    if (!(fabs(value) < 1e15) || value != floor(value)) return lt_script_fail(&r->s, &at, "%s of %.17g, expected a whole number", what, value);
    *out = (int64_t)value;
    return LT_OK;
}
