/* Which wires an entanglement joins. SPDX-License-Identifier: BSD-3-Clause */
#include "qkernel/circuit/map.h"

#include "base/alloc.h"
#include "base/status.h"

#include <string.h>

enum { MAX_TUPLES = 1 << 22 };

lt_status lt_tuples_add(lt_tuples *t, const int32_t *wires)
{
    if (t->n == t->capacity) {
        if (t->n >= MAX_TUPLES) return LT_FAIL(LT_ERR_ARGUMENT, "circuit: more than %d tuples of wires in the entanglement", MAX_TUPLES);
        int64_t capacity = LT_MAX(16, 2 * t->capacity);
        int32_t *more = lt_realloc(t->wire, (size_t)(capacity * t->width) * sizeof *more);
        if (!more) return LT_ERR_MEMORY;
        t->wire = more;
        t->capacity = capacity;
    }
    memcpy(t->wire + t->n++ * t->width, wires, (size_t)t->width * sizeof *wires);
    return LT_OK;
}

void lt_tuples_destroy(lt_tuples *t)
{
    lt_free(t->wire);
    *t = (lt_tuples){ 0 };
}

/* All combinations in the order of the dictionary. */
static lt_status add_all(int64_t n, lt_tuples *t)
{
    int32_t at[LT_MAP_MAX_WORD];
    const int k = t->width;
    for (int i = 0; i < k; i++) at[i] = i;
    for (;;) {
        LT_TRY(lt_tuples_add(t, at));
        int i = k - 1;
        while (i >= 0 && at[i] == n - k + i) i--;
        if (i < 0) return LT_OK;
        at[i]++;
        for (int j = i + 1; j < k; j++) at[j] = at[j - 1] + 1;
    }
}

/* Neighbours from wire `first` on, around the end. */
static lt_status add_run(int64_t n, int64_t first, lt_tuples *t)
{
    int32_t at[LT_MAP_MAX_WORD];
    for (int i = 0; i < t->width; i++) at[i] = (int32_t)((first + i) % n);
    return lt_tuples_add(t, at);
}

static lt_status add_linear(int64_t n, bool reverse, lt_tuples *t)
{
    int64_t last = n - t->width;
    for (int64_t i = 0; i <= last; i++) LT_TRY(add_run(n, reverse ? last - i : i, t));
    return LT_OK;
}

static lt_status add_circular(int64_t n, lt_tuples *t)
{
    if (n > t->width) LT_TRY(add_run(n, n - t->width + 1, t));
    return add_linear(n, false, t);
}

static lt_status add_pairwise(int64_t n, lt_tuples *t)
{
    for (int odd = 0; odd < 2; odd++)
        for (int64_t i = odd; i + 1 < n; i += 2) LT_TRY(add_run(n, i, t));
    return LT_OK;
}

/* Circular, shifted by one tuple with each repetition; every other one has its tuples turned round. */
static lt_status add_sca(int64_t n, int64_t repetition, lt_tuples *t)
{
    lt_tuples all = { .width = t->width };
    int32_t turned[LT_MAP_MAX_WORD];
    lt_status s = add_circular(n, &all);
    for (int64_t i = 0; !s && i < all.n; i++) {
        const int32_t *from = all.wire + (i - repetition % all.n + all.n) % all.n * t->width;
        for (int k = 0; k < t->width; k++) turned[k] = from[repetition % 2 ? t->width - 1 - k : k];
        s = lt_tuples_add(t, turned);
    }
    lt_tuples_destroy(&all);
    return s;
}

static lt_status add_list(const lt_tuples *list, lt_tuples *t)
{
    if (list->width != t->width)
        return LT_FAIL(LT_ERR_ARGUMENT, "circuit: the entanglement lists tuples of %d wires, but a word has %d letters", list->width, t->width);
    for (int64_t i = 0; i < list->n; i++) LT_TRY(lt_tuples_add(t, list->wire + i * list->width));
    return LT_OK;
}

lt_status lt_tuples_of(lt_entanglement e, int64_t n, int width, int64_t repetition, const lt_tuples *list, lt_tuples *out)
{
    out->width = width;
    if (width > n) return LT_FAIL(LT_ERR_ARGUMENT, "circuit: a word of %d letters on %lld wires", width, (long long)n);
    if (width == 1) return add_linear(n, false, out); /* every wire, whatever the entanglement */
    switch (e) {
    case LT_ENTANGLE_LINEAR: return add_linear(n, false, out);
    case LT_ENTANGLE_REVERSE_LINEAR: return add_linear(n, true, out);
    case LT_ENTANGLE_CIRCULAR: return add_circular(n, out);
    case LT_ENTANGLE_PAIRWISE:
        if (width != 2) return LT_FAIL(LT_ERR_ARGUMENT, "circuit: entanglement pairwise joins two wires, but a word has %d letters", width);
        return add_pairwise(n, out);
    case LT_ENTANGLE_SCA: return add_sca(n, repetition, out);
    case LT_ENTANGLE_LIST: return add_list(list, out);
    default: return add_all(n, out);
    }
}
