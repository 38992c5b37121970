/* Timing states against transfer matrices, and the stored answers. SPDX-License-Identifier: BSD-3-Clause */
#include "qkernel/tuning.h"

#include "base/alloc.h"
#include "base/status.h"
#include "lathe/graph.h"

#include <stdio.h>
#include <string.h>

enum { TUNE_ROWS = 192, FIRST_QUBITS = 7, LAST_QUBITS = 12 };

static const lt_gram_method candidates[] = { LT_GRAM_STATES, LT_GRAM_TRANSFER };

static void name_problem(int q, lt_gram_float type, char *text, size_t bytes)
{
    snprintf(text, bytes, "gram re-embedded layers=2 %s q=%d", lt_gram_float_name(type), q);
}

bool lt_gram_stored_choice(lt_device *dev, int q, lt_gram_float type, lt_gram_method *method)
{
    char problem[96];
    lt_tuner *tuner;
    lt_tune_entry entry;
    bool found = false;
    if (q < FIRST_QUBITS || q > LAST_QUBITS) return false;
    /* A cache folder that cannot be read costs a tuned choice, not the result. */
    if (lt_tuner_open(dev, LT_TUNE_ESTIMATE, NULL, &tuner)) return false;
    name_problem(q, type, problem, sizeof problem);
    if (lt_tuner_lookup(tuner, problem, &entry))
        for (size_t i = 0; i < LT_LEN(candidates) && !found; i++)
            if ((found = !strcmp(entry.choice, lt_gram_method_name(candidates[i])))) *method = candidates[i];
    lt_tuner_destroy(tuner);
    return found;
}

/* ---- measuring ---- */

typedef struct trial {
    lt_gram *gram[LT_LEN(candidates)];
    lt_rows  x;
    double  *K;
} trial;

static lt_status run_candidate(void *ctx, int candidate, int64_t repeats)
{
    trial *t = ctx;
    for (int64_t i = 0; i < repeats; i++) LT_TRY(lt_gram_fill(t->gram[candidate], &t->x, NULL, t->K));
    return LT_OK;
}

static lt_status choose(lt_tuner *tuner, lt_device *dev, int q, lt_gram_float type, trial *t, const double *weights)
{
    char problem[96];
    const char *names[LT_LEN(candidates)];
    lt_gram_options opt = lt_gram_defaults();
    int choice;
    opt.re_embed_between_layers = true;
    opt.dtype = type;
    t->x.columns = q;
    for (size_t i = 0; i < LT_LEN(candidates); i++) {
        opt.method = candidates[i];
        names[i] = lt_gram_method_name(candidates[i]);
        LT_TRY(lt_gram_create(dev, &opt, &(lt_weights){ weights, 2, q }, &t->gram[i]));
    }
    name_problem(q, type, problem, sizeof problem);
    return lt_tuner_choose(tuner, problem, (int)LT_LEN(candidates), names, run_candidate, t, &choice);
}

lt_status lt_gram_tune(lt_device *dev, lt_tuner *tuner)
{
    if (!tuner) return LT_FAIL(LT_ERR_ARGUMENT, "gram_tune: the tuner is NULL");
    if (dev && strncmp(lt_device_id(dev), "cpu", 3)) return LT_OK; /* nothing to choose between there */
    double *x = lt_malloc((TUNE_ROWS + 2) * LAST_QUBITS * sizeof *x), *K = lt_malloc(TUNE_ROWS * TUNE_ROWS * sizeof *K);
    lt_status s = x && K ? LT_OK : LT_ERR_MEMORY;
    for (int i = 0; !s && i < (TUNE_ROWS + 2) * LAST_QUBITS; i++) x[i] = (double)(i * 37 % 101) * 0.06 - 3; /* any angles will do */
    for (int type = 0; type < LT_GRAM_FLOAT_COUNT; type++)
        for (int q = FIRST_QUBITS; !s && q <= LAST_QUBITS; q++) {
            trial t = { .x = { .data = x, .dtype = LT_F64, .n = TUNE_ROWS }, .K = K };
            s = choose(tuner, dev, q, type, &t, x + TUNE_ROWS * LAST_QUBITS);
            for (size_t i = 0; i < LT_LEN(t.gram); i++) lt_gram_destroy(t.gram[i]);
        }
    lt_free(x);
    lt_free(K);
    return s;
}
