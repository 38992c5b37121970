/* Answers to models of AMPL's: .sol files. SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/nl/ampl.h"

#include "base/alloc.h"
#include "base/files/file.h"
#include "base/sized.h"
#include "base/status.h"
#include "optimize/language/model.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Messages end at an empty line: there is none inside. */
static void put_message(FILE *to, const char *text)
{
    for (const char *at = text; *at;) {
        size_t n = strcspn(at, "\n");
        fprintf(to, "%.*s\n", (int)n, n ? at : " ");
        at += n + (at[n] == '\n');
    }
    fputs("\n", to);
}

static void put_options(FILE *to, const lt_ampl *a)
{
    fprintf(to, "Options\n%d\n", a->n_options);
    for (int i = 0; i < a->n_options; i++) fprintf(to, "%d\n", a->options[i]);
}

static void put_number(FILE *to, double v)
{
    char text[32];
    lt_double_text(v, text);
    fprintf(to, "%s\n", text);
}

static double multiplier(const double *list, int64_t row) { return list && row >= 0 ? list[row] : 0; }

/* What the objective gains by one unit more of the right-hand side. */
static double dual_of(const lt_model *m, const lt_ampl_answer *a, int64_t i)
{
    const lt_nl_rows *where = &m->ampl->constraint;
    double v = multiplier(a->ci_multipliers, where->lower[i]) - multiplier(a->ci_multipliers, where->upper[i]) - multiplier(a->ce_multipliers, where->equal[i]);
    return m->view.maximize ? -v : v;
}

static void put_answer(FILE *to, const lt_model *m, const lt_ampl_answer *a)
{
    const lt_ampl *ampl = m->ampl;
    bool duals = a->x && (a->ci_multipliers || !m->view.p) && (a->ce_multipliers || !m->view.q);
    put_message(to, a->message ? a->message : "lathe");
    put_options(to, ampl);
    fprintf(to, "%" PRId64 "\n%" PRId64 "\n%" PRId64 "\n%" PRId64 "\n", ampl->m, duals ? ampl->m : 0, ampl->n, a->x ? ampl->n : 0);
    if (ampl->has_tolerance) put_number(to, ampl->options_tolerance);
    for (int64_t i = 0; duals && i < ampl->m; i++) put_number(to, dual_of(m, a, i));
    for (int64_t i = 0; a->x && i < ampl->n; i++) put_number(to, a->x[i]);
    fprintf(to, "objno 0 %d\n", a->code);
}

void lt_ampl_answer_defaults_into(lt_ampl_answer *out) { LT_GIVE(out, &(lt_ampl_answer){ .size = sizeof(lt_ampl_answer) }); }

lt_status lt_model_write_sol(const lt_model *m, const char *path, const lt_ampl_answer *answer)
{
    if (!m || !path || !answer) return LT_FAIL(LT_ERR_ARGUMENT, "lt_model_write_sol: %s is NULL", !m ? "the model" : !path ? "the path" : "the answer");
    if (!m->ampl) return LT_FAIL(LT_ERR_ARGUMENT, "%s: only a model read from a .nl file has an answer file", m->view.name ? m->view.name : "?");
    lt_ampl_answer own = lt_ampl_answer_defaults();
    LT_TRY(LT_TAKE(lt_ampl_answer, answer, &own));
    char *text = NULL;
    size_t n = 0;
    FILE *to = open_memstream(&text, &n);
    if (!to) return LT_FAIL(LT_ERR_MEMORY, "%s: no memory for the answer", path);
    put_answer(to, m, &own);
    bool ok = !ferror(to);
    ok = !fclose(to) && ok;
    lt_status s = ok ? lt_file_write(path, text, n) : LT_FAIL(LT_ERR_MEMORY, "%s: no memory for the answer", path);
    free(text); /* from open_memstream */
    return s;
}
