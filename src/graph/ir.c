/* Nodes: appending, copying, comparing and hashing them. SPDX-License-Identifier: BSD-3-Clause */
#include "graph/ir.h"

#include "base/alloc.h"
#include "base/status.h"
#include "graph/ops.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

void lt_ir_free(lt_ir *ir)
{
    lt_free(ir->node);
    ir->node = NULL;
    ir->n_nodes = ir->capacity = 0;
}

bool lt_ir_reserve(lt_ir *ir, int extra)
{
    if (ir->n_nodes + extra <= ir->capacity) return true;
    int capacity = LT_MAX(2 * ir->capacity, ir->n_nodes + extra + 64);
    lt_ir_node *node = lt_realloc(ir->node, (size_t)capacity * sizeof *node);
    if (!node) return false;
    ir->node = node;
    ir->capacity = capacity;
    return true;
}

/* PLACE keeps one affine map per input; the caller's array may be on its stack. */
static bool own_attr(lt_ir *ir, lt_ir_node *n)
{
    if (n->op != LT_OP_PLACE) return true;
    lt_affine *copy = lt_arena_alloc(ir->arena, LT_MAX((size_t)n->n_in, 1) * sizeof *copy);
    if (!copy) return false;
    memcpy(copy, n->attr.u.place, (size_t)n->n_in * sizeof *copy);
    n->attr.u.place = copy;
    return true;
}

int32_t lt_ir_push(lt_ir *ir, lt_op op, lt_dtype dtype, const lt_shape *shape,
                   int n_in, const int32_t *in, const lt_attr *attr)
{
    if (!lt_ir_reserve(ir, 1)) return -1;
    lt_ir_node *n = &ir->node[ir->n_nodes];
    *n = (lt_ir_node){ .op = (uint8_t)op, .dtype = (uint8_t)dtype, .n_in = (uint16_t)n_in, .shape = *shape };
    if (attr) n->attr = *attr;
    if (n_in <= 3) {
        for (int i = 0; i < n_in; i++) n->in[i] = in[i];
    } else {
        int32_t *more = lt_arena_alloc(ir->arena, (size_t)n_in * sizeof *more);
        if (!more) return -1;
        memcpy(more, in, (size_t)n_in * sizeof *more);
        n->more = more;
    }
    if (!own_attr(ir, n)) return -1;
    if (op == LT_OP_INPUT && n->attr.u.input.input >= ir->n_inputs) ir->n_inputs = n->attr.u.input.input + 1;
    return ir->n_nodes++;
}

int32_t lt_ir_copy_node(lt_ir *to, const lt_ir_node *node, const int32_t *map)
{
    int32_t small[3], *in = small;
    if (node->n_in > 3 && !(in = lt_arena_alloc(to->arena, node->n_in * sizeof *in))) return -1;
    for (int i = 0; i < node->n_in; i++) in[i] = map[lt_ir_in(node, i)];
    int32_t id = lt_ir_push(to, (lt_op)node->op, (lt_dtype)node->dtype, &node->shape, node->n_in, in, &node->attr);
    if (id < 0) return -1;
    to->node[id].name = node->name;
    to->node[id].detached = node->detached;
    return id;
}

/* The bytes of attr that the op uses; constants compare by address. */
static size_t attr_bytes(lt_op op)
{
    switch (op) {
    case LT_OP_FULL: return sizeof(double);
    case LT_OP_CONST: return sizeof(void *);
    case LT_OP_VIEW: return sizeof(lt_affine);
    case LT_OP_CONV2D: case LT_OP_CONV2D_DGRAD: case LT_OP_CONV2D_WGRAD:
    case LT_OP_MAXPOOL_INDEX: case LT_OP_AVGPOOL: case LT_OP_AVGPOOL_GRAD:
        return offsetof(lt_window, tf32) + sizeof(bool);
    case LT_OP_INPUT: return sizeof(int32_t);
    default: return 0;
    }
}

static bool same_attr(const lt_ir_node *a, const lt_ir_node *b)
{
    const lt_attr *x = &a->attr, *y = &b->attr;
    switch ((lt_op)a->op) {
    case LT_OP_PLACE:
        return memcmp(x->u.place, y->u.place, a->n_in * sizeof *x->u.place) == 0;
    case LT_OP_SUM: case LT_OP_RMAX: case LT_OP_RMIN: case LT_OP_NORM: return x->u.reduce.axes == y->u.reduce.axes;
    case LT_OP_MATMUL: return x->u.trans.a == y->u.trans.a && x->u.trans.b == y->u.trans.b;
    case LT_OP_SOLVE: return x->u.trans.a == y->u.trans.a;
    case LT_OP_ARGMAX: case LT_OP_ARGMIN: case LT_OP_TAKE: return x->u.index.axis == y->u.index.axis;
    case LT_OP_CUMSUM: return x->u.index.axis == y->u.index.axis && x->u.index.reverse == y->u.index.reverse;
    case LT_OP_TOPK_INDEX: return x->u.index.k == y->u.index.k;
    case LT_OP_PUT: return x->u.index.axis == y->u.index.axis && x->u.index.extent == y->u.index.extent;
    case LT_OP_PUT_ALONG: case LT_OP_IRFFT2: return x->u.index.extent == y->u.index.extent;
    default: return memcmp(&x->u, &y->u, attr_bytes((lt_op)a->op)) == 0;
    }
}

bool lt_ir_same(const lt_ir_node *a, const lt_ir_node *b)
{
    if (a->op != b->op || a->dtype != b->dtype || a->n_in != b->n_in || a->detached != b->detached) return false;
    if (!lt_shape_equal(&a->shape, &b->shape)) return false;
    for (int i = 0; i < a->n_in; i++)
        if (lt_ir_in(a, i) != lt_ir_in(b, i)) return false;
    return same_attr(a, b);
}

static uint64_t mix(uint64_t h, uint64_t v)
{
    h ^= v;
    h *= 0x9E3779B97F4A7C15u;
    return h ^ (h >> 29);
}

/* Attributes need not all enter the hash: nodes that differ only there are distinguished by lt_ir_same. */
uint64_t lt_ir_hash(const lt_ir_node *n)
{
    uint64_t h = mix(n->op * 64u + n->dtype, n->n_in);
    for (int i = 0; i < n->n_in; i++) h = mix(h, (uint64_t)lt_ir_in(n, i) + 1);
    for (int i = 0; i < n->shape.rank; i++) h = mix(h, (uint64_t)n->shape.dim[i]);
    if (n->op == LT_OP_VIEW) {
        h = mix(h, (uint64_t)n->attr.u.view.offset);
        for (int i = 0; i < n->shape.rank; i++) h = mix(h, (uint64_t)n->attr.u.view.stride[i] + 7);
    } else if (n->op == LT_OP_FULL || n->op == LT_OP_CONST) {
        uint64_t bits;
        memcpy(&bits, &n->attr.u, sizeof bits);
        h = mix(h, bits);
    } else if (n->op == LT_OP_INPUT) {
        h = mix(h, (uint64_t)n->attr.u.input.input);
    } else if (n->op == LT_OP_PLACE && n->n_in) {
        h = mix(h, (uint64_t)n->attr.u.place[0].offset);
    }
    return h;
}

static int print_attr(const lt_ir_node *n, char *text, size_t size)
{
    switch ((lt_op)n->op) {
    case LT_OP_FULL: return snprintf(text, size, " value=%g", n->attr.u.value);
    case LT_OP_INPUT: return snprintf(text, size, " number=%d", n->attr.u.input.input);
    case LT_OP_SUM: case LT_OP_RMAX: case LT_OP_RMIN: case LT_OP_NORM:
        return snprintf(text, size, " axes=0x%x", n->attr.u.reduce.axes);
    case LT_OP_MATMUL:
        return snprintf(text, size, "%s%s", n->attr.u.trans.a ? " a'" : "", n->attr.u.trans.b ? " b'" : "");
    case LT_OP_VIEW: {
        lt_shape s = { .rank = n->shape.rank };
        memcpy(s.dim, n->attr.u.view.stride, sizeof s.dim);
        return snprintf(text, size, " offset=%lld stride=%s", (long long)n->attr.u.view.offset, lt_shape_str(&s).s);
    }
    default: return 0;
    }
}

void lt_ir_print_node(const lt_ir *ir, int32_t id, char *text, size_t size)
{
    const lt_ir_node *n = &ir->node[id];
    size_t at = 0;
#define APPEND(...) do { if (at < size) { int k_ = snprintf(text + at, size - at, __VA_ARGS__); \
                                           if (k_ > 0) at += (size_t)k_; } } while (0)
    APPEND("%%%d = %s %s%s", id, lt_op_name((lt_op)n->op), lt_dtype_name((lt_dtype)n->dtype), lt_shape_str(&n->shape).s);
    for (int i = 0; i < n->n_in; i++) APPEND(" %%%d", lt_ir_in(n, i));
    if (at < size) at += (size_t)LT_MAX(print_attr(n, text + at, size - at), 0);
    if (n->detached) APPEND(" detached");
    if (n->name) APPEND("   # %s", n->name);
#undef APPEND
}
