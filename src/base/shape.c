/* Tensor extents: making, comparing, counting and printing them.
   SPDX-License-Identifier: BSD-3-Clause */
#include "base/status.h"

#include <inttypes.h>
#include <stdio.h>

lt_shape lt_shape_of(int rank, const int64_t *dim)
{
    lt_shape s = { .rank = LT_MAX(0, LT_MIN(rank, LT_MAX_RANK)) };
    for (int i = 0; i < s.rank; i++) s.dim[i] = dim[i];
    return s;
}

lt_shape lt_shape0(void) { return (lt_shape){ .rank = 0 }; }
lt_shape lt_shape1(int64_t d0) { return (lt_shape){ 1, { d0 } }; }
lt_shape lt_shape2(int64_t d0, int64_t d1) { return (lt_shape){ 2, { d0, d1 } }; }
lt_shape lt_shape3(int64_t d0, int64_t d1, int64_t d2) { return (lt_shape){ 3, { d0, d1, d2 } }; }

lt_shape lt_shape4(int64_t d0, int64_t d1, int64_t d2, int64_t d3)
{
    return (lt_shape){ 4, { d0, d1, d2, d3 } };
}

bool lt_shape_equal(const lt_shape *a, const lt_shape *b)
{
    if (a->rank != b->rank) return false;
    for (int i = 0; i < a->rank; i++)
        if (a->dim[i] != b->dim[i]) return false;
    return true;
}

int64_t lt_shape_count(const lt_shape *s)
{
    if (s->rank < 0 || s->rank > LT_MAX_RANK) return -1;
    int64_t product = 1;
    bool empty = false;
    for (int i = 0; i < s->rank; i++) {
        if (s->dim[i] < 0) return -1;
        /* An empty tensor's other extents must fit too: strides are products of them. */
        if (s->dim[i] == 0) empty = true;
        else if (__builtin_mul_overflow(product, s->dim[i], &product)) return -1;
    }
    return empty ? 0 : product;
}

lt_shape_text lt_shape_str(const lt_shape *s)
{
    lt_shape_text t = { "[" };
    int rank = LT_MAX(0, LT_MIN(s->rank, LT_MAX_RANK)), at = 1;
    for (int i = 0; i < rank; i++) /* at most 8 * 22 + 2 characters */
        at += snprintf(t.s + at, sizeof t.s - (size_t)at, "%s%" PRId64, i ? ", " : "", s->dim[i]);
    snprintf(t.s + at, sizeof t.s - (size_t)at, "]");
    return t;
}
