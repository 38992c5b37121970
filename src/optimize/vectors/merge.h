/* Variables of a QP that do not differ, made one. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_OPTIMIZE_VECTORS_MERGE_H
#define LT_OPTIMIZE_VECTORS_MERGE_H

#include "lathe/base.h"

/* A symmetric constraint written in full has each gradient twice, and so has Q its columns: such a Q is
   singular, and twice as large as it has to be. Only the sum of such variables matters, so it becomes the
   variable, and is shared out evenly afterwards (decision 43). */
typedef struct lt_merge {
    int64_t  m, n_groups;      /* n_groups = m: nothing was merged */
    int32_t *group;            /* m: the group of each variable */
    int32_t *first, *size;     /* n_groups: its first variable, and how many it has */
    int32_t *table;            /* work: hashed groups */
    int64_t  table_size;
} lt_merge;

/* What variables differ by; each has m entries. Q itself does not: it is symmetric by construction, and
   its equal columns differ in the last bit. */
typedef struct lt_merge_keys {
    const double *value, *lower, *upper;
    const double *const *gradient; /* n numbers each: the columns of G in Q = G'HG */
    int64_t        n;
    const uint8_t *member;         /* NULL: none */
} lt_merge_keys;

lt_status lt_merge_create(int64_t capacity, lt_merge *g);
void      lt_merge_release(lt_merge *g);
/* Groups variables whose keys agree in every bit. */
void      lt_merge_find(lt_merge *g, int64_t m, const double *Q, int64_t stride, const lt_merge_keys *keys);
/* Q of the groups, n_groups squared. `to` may be Q itself. */
void      lt_merge_matrix(const lt_merge *g, const double *Q, int64_t stride, double *to);
void      lt_merge_pick(const lt_merge *g, const double *each, double *of_group);  /* from the first of each */
void      lt_merge_sum(const lt_merge *g, const double *each, double *of_group);
void      lt_merge_share(const lt_merge *g, const double *of_group, double *each);

#endif
