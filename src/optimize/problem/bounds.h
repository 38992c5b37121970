/* Bounds of a problem: those that were set, and rows of constraints that are bounds (bounds.c). SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_OPTIMIZE_PROBLEM_BOUNDS_H
#define LT_OPTIMIZE_PROBLEM_BOUNDS_H

#include "optimize/problem/evaluator.h"
#include "optimize/problem/rows.h"

typedef struct lt_problem_bounds {
    double  *lower, *upper;         /* n, infinite where there is none */
    int64_t *lower_row, *upper_row; /* n: the inequality that says so; -1: none, it was set */
    int64_t  n_rows;                /* inequalities that are bounds, */
    int64_t *row;                   /*   their numbers, ascending, */
    lt_row  *says;                  /*   and what they say */
    int64_t  n_kept, *kept;         /* the other inequalities */
    lt_problem *reduced;            /* the problem with these alone; NULL: no row is a bound */
} lt_problem_bounds;

/* For a problem made of a graph, whose nodes of derivatives may be there or not. Declared, p of them: which inequalities were meant as bounds; NULL: none. */
lt_status lt_problem_find_bounds(lt_problem *p, lt_node f, const lt_node *ci, const lt_node *ce);
lt_status lt_problem_declare_bounds(lt_problem *p, const lt_node *ci, const lt_node *ce, lt_node f, const bool *declared);
void      lt_problem_share_names(lt_problem *p);  /* names, start and sense go to reduced problems, too */
void      lt_problem_bounds_destroy(lt_problem *p);
/* Those that a run with these options keeps; NULL: none. */
const lt_problem_bounds *lt_problem_bounds_of(const lt_problem *p, const lt_solve_options *o);
lt_status lt_problem_check_bounds(const lt_problem *p, const lt_problem_bounds *b); /* a lower one above an upper one is named */

#endif
