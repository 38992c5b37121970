/* What a model is made of, whichever reader made it: problem files (language/), AMPL's files (nl/). SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_OPTIMIZE_LANGUAGE_MODEL_H
#define LT_OPTIMIZE_LANGUAGE_MODEL_H

#include "base/arena.h"
#include "lathe/problem.h"

struct lt_ampl; /* nl/ampl.h */

struct lt_model {
    lt_arena arena;              /* names, constraints, options, text of the name */
    char    *messages;           /* NULL: none */
    int      n_errors;
    lt_model_view view;
    lt_model_variable   *variables;
    lt_model_constraint *constraints;
    lt_model_option     *options;
    double  *x0;
    bool    *declared;           /* p: inequalities that were meant as bounds; NULL: none */
    struct lt_ampl *ampl;        /* in the arena; NULL: no model of AMPL's */
};

#endif
