/* The table of functions. SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/language/functions.h"

#include "base/status.h"

#include <stdlib.h>
#include <string.h>

static const lt_builtin table[] = {
#define LT_BUILTIN(name_, signature_, lifting_, how, function) { .name = #name_, .signature = signature_, .lifting = LT_LIFT_##lifting_, .how = function },
#include "optimize/language/functions.def"
};

int lt_builtin_count(void) { return (int)LT_LEN(table); }
const lt_builtin *lt_builtin_at(int i) { return &table[i]; }

const lt_builtin *lt_builtin_find(const char *name)
{
    for (size_t i = 0; i < LT_LEN(table); i++)
        if (!strcmp(table[i].name, name)) return &table[i];
    return NULL;
}

void lt_builtin_report_unknown(lt_reader *r, const lt_expr *e)
{
    const char *near = lt_reader_nearest(r, e->text, true);
    if (near) lt_reader_error(r, e->point, "unknown function '%.60s'; did you mean '%s'?", e->text, near);
    else lt_reader_error(r, e->point, "unknown function '%.60s'", e->text);
    lt_symbol *s = lt_reader_define(r, e->text, e->point, LT_SYMBOL_ERROR);
    if (s) s->where = (lt_text_span){ 0, 0 };
}
