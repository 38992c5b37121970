/* The layout of the printed table. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_OPTIMIZE_OUTPUT_CONSOLE_H
#define LT_OPTIMIZE_OUTPUT_CONSOLE_H

#include "optimize/solver.h"

enum { LT_COL_ITER, LT_COL_MU, LT_COL_PHI, LT_COL_F, LT_COL_INEQ, LT_COL_EQ, LT_COL_SD, LT_COL_EVALS, LT_COL_T,
       LT_COL_GRADS, LT_COL_STAT, LT_COL_COUNT };
#define LT_CELL_BYTES 64

typedef struct lt_borders {
    const char *across, *down, *bar, *tee, *cross, *foot, *right;
    const char *top_left, *top_right, *bottom_left, *bottom_right;
} lt_borders;

typedef struct lt_console_column { const char *label; int width; } lt_console_column;
typedef struct lt_console_group { const char *label; int first, n_columns, width; } lt_console_group;

struct lt_console {
    FILE *to;
    bool  colour;
    const lt_borders *border;
    lt_console_group  group[8];
    lt_console_column column[LT_COL_COUNT];
    int   n_groups, n_columns, width, n_rows;
};

void lt_console_number(double v, int w, bool with_sign, char *text, size_t size);

#endif
