/* Per-row data of the closed forms. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_QKERNEL_ROWS_CLOSED_H
#define LT_QKERNEL_ROWS_CLOSED_H

#include "base/pool.h"
#include "qkernel/rows/circuit.h"
#include "qkernel/loops/loops.h"

/* Numbers per wire and row: LT_CLOSED_RY or LT_CLOSED_BLOCH for the product, LT_TRANSFER_REALS. */
int lt_closed_components(const lt_layers *c, lt_gram_method method);
/* Rows first..first+n-1 of x, and what fills up the last panel, into panels of doubles. Rows that are not there have angles 0. */
lt_status lt_closed_pack(const lt_layers *c, const lt_closed_loops *l, lt_gram_method method, lt_pool *pool,
                         const lt_rows *x, int64_t first, int64_t n, double *panels);

#endif
