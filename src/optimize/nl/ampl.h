/* Models of AMPL's as lathe's models. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_OPTIMIZE_NL_AMPL_H
#define LT_OPTIMIZE_NL_AMPL_H

#include "lathe/problem.h"
#include "optimize/nl/nl.h"

typedef struct lt_ampl {      /* what the answer file needs of the model file; in the model's arena */
    int        options[9], n_options;
    double     options_tolerance;
    bool       has_tolerance;
    int64_t    n, m;
    lt_nl_rows constraint;
} lt_ampl;

bool      lt_ampl_is_path(const char *path);                /* ends in .nl */
lt_status lt_ampl_read(const char *path, lt_model **out);
/* columns and rows: the texts of .col and .row, or NULL. */
lt_status lt_ampl_parse(const char *name, const char *bytes, size_t n, const char *columns, const char *rows, lt_model **out);

#endif
