/* Expressions of .nl files: read into nodes, without recursion. SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/nl/nl.h"

#include "base/alloc.h"
#include "base/status.h"

#include <inttypes.h>
#include <string.h>

enum { MOST_OPERANDS = 1 << 24, MOST_PIECES = 1 << 16 };

/* Room for one more of *n things of this size. */
static lt_status grow(void **list, int64_t n, int64_t *capacity, size_t bytes)
{
    if (n < *capacity) return LT_OK;
    int64_t wanted = LT_MAX(2 * *capacity, 64);
    void *more = lt_realloc(*list, (size_t)wanted * bytes);
    if (!more) return LT_ERR_MEMORY;
    *list = more;
    *capacity = wanted;
    return LT_OK;
}

static lt_status add_node(lt_nl *nl, lt_nl_node node)
{
    LT_TRY(grow((void **)&nl->node, nl->n_nodes, &nl->nodes_capacity, sizeof node));
    nl->node[nl->n_nodes++] = node;
    return LT_OK;
}

static lt_status add_breakpoint(lt_nl *nl, double v)
{
    LT_TRY(grow((void **)&nl->breakpoints, nl->n_breakpoints, &nl->breakpoints_capacity, sizeof v));
    nl->breakpoints[nl->n_breakpoints++] = v;
    return LT_OK;
}

static lt_status read_constant(lt_nl_cursor *c, char letter, double *out)
{
    int64_t whole;
    if (letter == 'n') return lt_nl_number(c, "a number", out);
    if (letter == 's') return lt_nl_short(c, "a number", out);
    if (letter != 'l') return lt_nl_fail(c, "'%c' where a number is expected", letter);
    LT_TRY(lt_nl_int(c, "a number", INT32_MIN, INT32_MAX, &whole));
    *out = (double)whole;
    return LT_OK;
}

/* Slopes and the breakpoints between them; the variable follows as the operand. */
static lt_status read_pieces(lt_nl_cursor *c, lt_nl *nl, lt_nl_node *node)
{
    int64_t slopes;
    LT_TRY(lt_nl_int(c, "the number of slopes", 1, MOST_PIECES, &slopes));
    node->variable = nl->n_breakpoints;
    node->count = (int32_t)slopes;
    for (int64_t k = 0; k < 2 * slopes - 1; k++) {
        char letter;
        double v;
        LT_TRY(lt_nl_letter(c, &letter));
        LT_TRY(read_constant(c, letter, &v));
        LT_TRY(add_breakpoint(nl, v));
        if (k % 2 && k > 1 && v < nl->breakpoints[nl->n_breakpoints - 3]) return lt_nl_fail(c, "breakpoint %g after a larger one", v);
    }
    return LT_OK;
}

/* The op itself; *operands follow. */
static lt_status read_op(lt_nl_cursor *c, lt_nl *nl, int64_t *operands)
{
    int64_t code, count;
    LT_TRY(lt_nl_int(c, "an operator", 0, INT32_MAX, &code));
    int row = lt_nl_op_find((int)code);
    if (row < 0) return lt_nl_fail(c, "operator o%" PRId64 " does not exist", code);
    const lt_nl_op *op = lt_nl_op_row(row);
    if (!op->build) return lt_nl_fail(c, "operator o%d (%s) is not supported", op->code, op->name);
    lt_nl_node node = { .kind = LT_NL_OP, .op = (uint8_t)row, .count = op->arity };
    *operands = op->arity;
    if (op->code == LT_NL_OP_PIECES_CODE) LT_TRY(read_pieces(c, nl, &node));
    if (op->arity < 0) {
        LT_TRY(lt_nl_int(c, "the number of operands", 1, MOST_OPERANDS, &count));
        if (count > c->end - c->at) return lt_nl_fail(c, "%" PRId64 " operands in a file that ends before them", count);
        node.count = (int32_t)count;
        *operands = count;
    }
    return add_node(nl, node);
}

static lt_status read_leaf(lt_nl_cursor *c, lt_nl *nl, char letter)
{
    lt_nl_node node = { .kind = LT_NL_NUMBER };
    if (letter == 'v') {
        node.kind = LT_NL_VARIABLE;
        LT_TRY(lt_nl_int(c, "a variable", 0, nl->n + nl->n_defined - 1, &node.variable));
        if (node.variable >= nl->n && !nl->defined[node.variable - nl->n].given)
            return lt_nl_fail(c, "v%" PRId64 " is used before it is defined", node.variable);
    } else {
        LT_TRY(read_constant(c, letter, &node.number));
    }
    return add_node(nl, node);
}

static int64_t n_operands(const lt_nl_node *node)
{
    if (node->kind != LT_NL_OP) return 0;
    return lt_nl_op_row(node->op)->code == LT_NL_OP_PIECES_CODE ? 1 : node->count;
}

bool lt_nl_is_power(const lt_nl_node *node)
{
    return node->kind == LT_NL_OP && (lt_nl_op_row(node->op)->code == LT_NL_OP_POWER_CODE || lt_nl_op_row(node->op)->code == 75);
}

/* From the last node to the first, so that the operands of each are known. */
static void measure(lt_nl *nl, int64_t first)
{
    for (int64_t i = nl->n_nodes - 1; i >= first; i--) {
        lt_nl_node *node = &nl->node[i];
        node->size = 1;
        for (int64_t k = 0, operands = n_operands(node); k < operands; k++) {
            lt_nl_node *operand = &nl->node[i + node->size];
            operand->exponent = k == 1 && operand->kind == LT_NL_NUMBER && lt_nl_is_power(node);
            node->size += operand->size;
        }
    }
}

lt_status lt_nl_read_expression(lt_nl_cursor *c, lt_nl *nl, int64_t *first)
{
    *first = nl->n_nodes;
    for (int64_t open = 1; open > 0; open--) {
        char letter;
        LT_TRY(lt_nl_letter(c, &letter));
        if (letter == 0) return lt_nl_fail(c, "the file ends inside an expression");
        if (letter == 'f' || letter == 'h') return lt_nl_fail(c, "%s are not supported", letter == 'f' ? "imported functions" : "texts in expressions");
        if (letter == 'o') {
            int64_t operands = 0;
            LT_TRY(read_op(c, nl, &operands));
            open += operands;
        } else {
            LT_TRY(read_leaf(c, nl, letter));
        }
        lt_nl_end_line(c);
    }
    measure(nl, *first);
    return LT_OK;
}
