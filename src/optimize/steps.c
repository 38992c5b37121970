/* Steps of a line search whose values are computed together on a device: the one asked for, and those that follow if each is too long.
   SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/solver.h"

#include "base/status.h"
#include "optimize/device/exchange.h"

_Static_assert(LT_LEN(((lt_steps *)0)->t) == LT_FAN_MOST, "as many as a device evaluates at once");

/* Nobody asked for it: a device that is full, or has no room for it, does without. */
static lt_status create_if_possible(lt_run *r, lt_exchange *x)
{
    const int count = r->opt.double_precision && r->opt.gradients != LT_GRADIENTS_ALWAYS ? lt_exchange_fan_auto(x) : 1;
    if (count < 2) return LT_OK;
    lt_status s = lt_exchange_fan(x, r->vectors, count, &r->steps.fan);
    r->steps.must_pay = true;
    return s == LT_ERR_MEMORY || s == LT_ERR_UNSUPPORTED ? LT_OK : s;
}

lt_status lt_steps_create(lt_run *r)
{
    lt_exchange *x = r->evaluator->exchange;
    const int count = (int)r->opt.trials_at_once;
    if (!x || count == 1) return LT_OK;
    if (!count) return create_if_possible(r, x);
    if (!r->opt.double_precision) return LT_FAIL(LT_ERR_UNSUPPORTED, "option 'trials_at_once' is %d, expected 1 with double_precision=false", count);
    return lt_exchange_fan(x, r->vectors, count, &r->steps.fan);
}

void lt_steps_forget(lt_run *r) { r->steps.n = 0; }

void lt_steps_next(lt_run *r, double t, double lower, int64_t tried)
{
    r->steps.next = t;
    r->steps.lower = lower;
    r->steps.tried = tried;
}

/* At least one more than the next, going by the last search; or this one has gone on for a while. */
static bool expects_several(const lt_steps *s)
{
    return LT_MAX(s->last, 2 * s->tried) - s->tried >= 2 && (!s->must_pay || lt_fan_pays(lt_fan_so_far(s->fan)));
}

static int index_of(const lt_steps *s, double t)
{
    int i = 0;
    while (i < s->n && s->t[i] != t) i++;
    return i < s->n ? i : -1;
}

/* What next_step of the line search would do as long as steps are too long. */
static lt_status run_together(lt_run *r)
{
    lt_steps *s = &r->steps;
    const int count = lt_fan_count(s->fan);
    double t = s->next;
    for (int i = 0; i < count; i++, t = 0.5 * (s->lower + t)) {
        s->t[i] = t;
        lt_space_step(r->vectors, r->n, r->cur->x, t, r->d, lt_fan_x(s->fan, i));
    }
    LT_TRY(lt_exchange_run_fan(r->evaluator->exchange));
    s->n = count;
    return LT_OK;
}

bool lt_steps_values(lt_run *r, const lt_outputs *out, lt_status *status)
{
    lt_steps *s = &r->steps;
    int i = s->fan ? index_of(s, s->next) : -1;
    *status = LT_OK;
    if (i < 0) {
        if (!s->fan || !expects_several(s)) return false;
        s->n = i = 0;
        *status = run_together(r);
    }
    if (*status) return true;
    lt_fan_take(s->fan, i, out);
    s->used++;
    return true;
}
