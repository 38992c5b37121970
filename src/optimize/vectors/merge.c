/* Variables of a QP that do not differ, made one. SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/vectors/merge.h"

#include "base/alloc.h"
#include "base/status.h"

#include <string.h>

lt_status lt_merge_create(int64_t capacity, lt_merge *g)
{
    *g = (lt_merge){ .table_size = 16 };
    while (g->table_size < 2 * capacity) g->table_size *= 2;
    g->group = lt_malloc((size_t)(3 * capacity + g->table_size) * sizeof *g->group);
    if (!g->group) return LT_ERR_MEMORY;
    g->first = g->group + capacity;
    g->size = g->first + capacity;
    g->table = g->size + capacity;
    return LT_OK;
}

void lt_merge_release(lt_merge *g)
{
    lt_free(g->group);
    *g = (lt_merge){ 0 };
}

static bool same(double a, double b) { return memcmp(&a, &b, sizeof a) == 0; }

static bool is_alike(const lt_merge_keys *k, int64_t i, int64_t j)
{
    return same(k->value[i], k->value[j]) && same(k->lower[i], k->lower[j]) && same(k->upper[i], k->upper[j])
           && (!k->member || k->member[i] == k->member[j])
           && memcmp(k->gradient[i], k->gradient[j], (size_t)k->n * sizeof(double)) == 0;
}

/* Equal gradients have equal entries on the diagonal of Q: both come from the same operations. */
static int64_t slot_of(const lt_merge *g, double diagonal, double value)
{
    uint64_t bits[2];
    memcpy(&bits[0], &diagonal, sizeof diagonal);
    memcpy(&bits[1], &value, sizeof value);
    return (int64_t)(((bits[0] + 31 * bits[1]) * UINT64_C(0x9e3779b97f4a7c15)) >> 32) & (g->table_size - 1);
}

void lt_merge_find(lt_merge *g, int64_t m, const double *Q, int64_t stride, const lt_merge_keys *keys)
{
    g->m = m;
    g->n_groups = 0;
    memset(g->table, -1, (size_t)g->table_size * sizeof *g->table);
    for (int64_t i = 0; i < m; i++) {
        int64_t at = slot_of(g, Q[i * stride + i], keys->value[i]);
        while (g->table[at] >= 0 && !is_alike(keys, i, g->first[g->table[at]])) at = (at + 1) & (g->table_size - 1);
        if (g->table[at] < 0) {
            g->table[at] = (int32_t)g->n_groups;
            g->first[g->n_groups] = (int32_t)i;
            g->size[g->n_groups++] = 0;
        }
        g->group[i] = g->table[at];
        g->size[g->table[at]]++;
    }
}

/* Entries move to lower addresses only, in ascending order, so that `to` may be Q. */
void lt_merge_matrix(const lt_merge *g, const double *Q, int64_t stride, double *to)
{
    for (int64_t a = 0; a < g->n_groups; a++)
        for (int64_t b = 0; b < g->n_groups; b++) to[a * g->n_groups + b] = Q[g->first[a] * stride + g->first[b]];
}

void lt_merge_pick(const lt_merge *g, const double *each, double *of_group)
{
    for (int64_t a = 0; a < g->n_groups; a++) of_group[a] = each[g->first[a]];
}

void lt_merge_sum(const lt_merge *g, const double *each, double *of_group)
{
    memset(of_group, 0, (size_t)g->n_groups * sizeof *of_group);
    for (int64_t i = 0; i < g->m; i++) of_group[g->group[i]] += each[i];
}

void lt_merge_share(const lt_merge *g, const double *of_group, double *each)
{
    for (int64_t i = 0; i < g->m; i++) each[i] = of_group[g->group[i]] / g->size[g->group[i]];
}
