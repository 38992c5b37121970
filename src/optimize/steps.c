/* Steps of a line search whose values are computed together on a device: the one asked for, and those that follow if each is too long (decision 141).
   SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/solver.h"

#include "base/status.h"
#include "optimize/device/functions.h"

_Static_assert(LT_LEN(((lt_steps *)0)->t) == LT_BATCH_MOST, "as many as a device evaluates at once");

/* Not asked for by the user: a full device does without, and the plans stay what they are. */
static lt_status create_if_possible(lt_run *r, lt_device_functions *x)
{
    r->steps.count = r->opt.double_precision && r->opt.gradients != LT_GRADIENTS_ALWAYS ? lt_device_functions_batch_auto(x) : 1;
    r->steps.must_pay = true;
    if (r->steps.count < 2) return LT_OK;
    lt_status s = lt_device_functions_batch(x, r->vectors.device, r->steps.count, &r->steps.batch);
    return s == LT_ERR_MEMORY ? LT_OK : s;
}

lt_status lt_steps_create(lt_run *r)
{
    lt_device_functions *x = r->evaluator->on_device;
    const int count = (int)r->opt.trials_at_once;
    r->steps.count = 1;
    if (!x || count == 1 || lt_bounded(&r->bounds)) return LT_OK;
    if (!count) return create_if_possible(r, x);
    if (!r->opt.double_precision) return LT_FAIL(LT_ERR_UNSUPPORTED, "option 'trials_at_once' is %d, expected 1 with double_precision=false", count);
    r->steps.count = count;
    return lt_device_functions_batch(x, r->vectors.device, count, &r->steps.batch);
}

/* ---- Planning ----------------------------------------------------------------------------------------- */
/* At least one more than the next, going by the last search; or this one has gone on for a while. */
static bool expects_several(const lt_steps *s) { return LT_MAX(s->last, 2 * s->tried) - s->tried >= 2; }

static int index_of(const lt_steps *s, double t)
{
    int i = 0;
    while (i < s->n && s->t[i] != t) i++;
    return i < s->n ? i : -1;
}

/* What next_step of the line search would do as long as steps are too long. */
static void plan(lt_steps *s)
{
    double t = s->next;
    for (int i = 0; i < s->count; i++, t = 0.5 * (s->lower + t)) s->t[i] = t;
    s->n = s->count;
    s->begun = s->known = false;
}

void lt_steps_next(lt_run *r, const lt_line_trial *at)
{
    lt_steps *s = &r->steps;
    s->next = at->t;
    s->lower = at->lower;
    s->tried = at->tried;
    if (s->count < 2 || index_of(s, at->t) >= 0) return;
    if (expects_several(s)) plan(s);
    else s->n = 0;
}

bool lt_steps_planned(const lt_run *r)
{
    const lt_steps *s = &r->steps;
    return index_of(s, s->next) >= 0 && (s->begun || expects_several(s));
}

/* ---- Computing ---------------------------------------------------------------------------------------- */
static bool pays(const lt_steps *s) { return s->batch && (!s->must_pay || lt_batch_pays(lt_batch_measured(s->batch))); }

static lt_status run_together(lt_run *r)
{
    lt_steps *s = &r->steps;
    for (int i = 0; i < s->n; i++) lt_vectors_step(&r->vectors, r->cur->x, s->t[i], r->d, lt_batch_x(s->batch, i));
    LT_TRY(lt_device_functions_run_batch(r->evaluator->on_device));
    s->known = true;
    return LT_OK;
}

bool lt_steps_values(lt_run *r, const lt_outputs *out, lt_status *status)
{
    lt_steps *s = &r->steps;
    *status = LT_OK;
    if (!lt_steps_planned(r)) return false;
    if (!s->begun) {
        plan(s); /* from here: steps before were evaluated with their gradients */
        s->begun = true;
        if (pays(s)) *status = run_together(r);
    }
    if (*status) return true;
    if (!s->known) return false;
    lt_batch_take(s->batch, index_of(s, s->next), out);
    s->used++;
    return true;
}
