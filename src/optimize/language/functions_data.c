/* Functions: constants, random draws, data files, sizes. SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/language/functions.h"

#include "base/status.h"

#include <math.h>
#include <string.h>

static lt_value failed(lt_node none) { (void)none; return lt_value_none(); }

lt_value lt_fn_len(lt_builtin_call *c)
{
    lt_shape s = lt_value_element(&c->value[0]);
    if (!s.rank) return failed(lt_call_fail(c, "len of a number; it has no axes"));
    return lt_value_number(c->r, (double)s.dim[0]);
}

lt_value lt_fn_size(lt_builtin_call *c)
{
    lt_shape s = lt_value_element(&c->value[0]);
    int axis;
    if (!c->given[1]) return lt_value_number(c->r, (double)lt_shape_count(&s));
    if (!lt_call_axis(c, 1, &c->value[0], 0, 0, &axis)) return lt_value_none();
    return lt_value_number(c->r, (double)c->value[0].shape.dim[axis]);
}

/* ---- plain constants ---- */

static bool good_extents(lt_builtin_call *c, int n_rest, lt_shape *s)
{
    if (!lt_call_extents(c, n_rest, s)) return false;
    for (int i = 0; i < s->rank; i++)
        if (s->dim[i] < 0) { lt_call_fail(c, "%s of sizes %s: must be >= 0", c->fn->name, lt_shape_str(s).s); return false; }
    return true;
}

static lt_value filled(lt_builtin_call *c, int n_rest, double value)
{
    lt_shape s;
    if (!good_extents(c, n_rest, &s)) return lt_value_none();
    double *data = lt_value_alloc(c->r, c->e->where, &s);
    if (!data) return lt_value_none();
    int64_t n = lt_shape_count(&s);
    for (int64_t i = 0; i < n; i++) data[i] = value;
    return lt_value_constant(&s, data);
}

lt_value lt_fn_zeros(lt_builtin_call *c) { return filled(c, c->n_rest, 0); }
lt_value lt_fn_ones(lt_builtin_call *c) { return filled(c, c->n_rest, 1); }

/* full(3, 4, 0.5) or full(3, 4, value=0.5): the last argument is the value. */
lt_value lt_fn_full(lt_builtin_call *c)
{
    if (c->given[1]) return filled(c, c->n_rest, c->real[1]);
    const lt_value *last = c->n_rest ? &c->rest[c->n_rest - 1] : NULL;
    if (!last || last->kind != LT_VALUE_CONSTANT || last->lead || lt_value_count(last) != 1)
        return failed(lt_call_fail(c, "full takes the sizes and then a number, as in full(3, 4, 0.5)"));
    return filled(c, c->n_rest - 1, last->data[0]);
}

lt_value lt_fn_eye(lt_builtin_call *c)
{
    int64_t n = c->integer[0][0];
    if (n < 0) return failed(lt_call_fail(c, "eye of size %lld: must be >= 0", (long long)n));
    lt_shape s = lt_shape2(n, n);
    double *data = lt_value_alloc(c->r, c->e->where, &s);
    if (!data) return lt_value_none();
    for (int64_t i = 0; i < n; i++) data[i * n + i] = 1; /* arena memory is zero */
    return lt_value_constant(&s, data);
}

static lt_value ramp(lt_builtin_call *c, double first, double step, int64_t n, const double *last)
{
    lt_shape s = lt_shape1(n);
    double *data = lt_value_alloc(c->r, c->e->where, &s);
    if (!data) return lt_value_none();
    for (int64_t i = 0; i < n; i++) data[i] = first + step * (double)i;
    if (last && n > 1) data[n - 1] = *last;
    return lt_value_constant(&s, data);
}

lt_value lt_fn_arange(lt_builtin_call *c)
{
    double first = c->given[1] ? c->real[0] : 0, stop = c->given[1] ? c->real[1] : c->real[0], step = c->given[2] ? c->real[2] : 1;
    double n = ceil((stop - first) / step);
    if (step == 0 || !isfinite(n)) return failed(lt_call_fail(c, "arange from %g to %g by %g: needs finite numbers and a step that is not 0", first, stop, step));
    if (n > (double)c->r->limits.elements) n = (double)c->r->limits.elements + 1; /* refused below, with the limit */
    return ramp(c, first, step, n > 0 ? (int64_t)n : 0, NULL);
}

lt_value lt_fn_linspace(lt_builtin_call *c)
{
    int64_t n = c->integer[2][0];
    if (n < 0) return failed(lt_call_fail(c, "linspace of %lld points: must be >= 0", (long long)n));
    return ramp(c, c->real[0], n > 1 ? (c->real[1] - c->real[0]) / (double)(n - 1) : 0, n, &c->real[1]);
}

/* ---- random numbers ---- */

static bool fill_philox(lt_random *s, bool normal, bool wide, int64_t n, double *out)
{
    lt_draws draws = lt_draws_make(s->seed, normal ? "normal" : "uniform", s->draws++, 0, 0);
    if (wide) return !(normal ? lt_draws_normal_f64(&draws, 0, n, out) : lt_draws_uniform_f64(&draws, 0, n, out));
    float x;
    for (int64_t i = 0; i < n; i++) {
        if (normal ? lt_draws_normal_f32(&draws, i, 1, &x) : lt_draws_uniform_f32(&draws, i, 1, &x)) return false;
        out[i] = (double)x;
    }
    return true;
}

static bool fill_random(lt_reader *r, lt_text_span where, lt_random *s, bool normal, bool wide, int64_t n, double *out)
{
    if (s->is_philox) {
        bool filled_in = fill_philox(s, normal, wide, n, out);
        if (!filled_in) lt_reader_error(r, where, "%lld random numbers in one draw are too many", (long long)n);
        return filled_in;
    }
    if (wide) {
        normal ? lt_mt_normal_f64(&s->mt, n, out) : lt_mt_uniform_f64(&s->mt, n, out);
        return true;
    }
    /* Drawn as single precision into the second half of the room, then widened from the front:
       element i is read before anything is written over it. */
    float *narrow = (float *)out + n;
    normal ? lt_mt_normal_f32(&s->mt, n, narrow) : lt_mt_uniform_f32(&s->mt, n, narrow);
    for (int64_t i = 0; i < n; i++) {
        float x;
        memcpy(&x, narrow + i, sizeof x);
        double d = (double)x;
        memcpy(out + i, &d, sizeof d);
    }
    return true;
}

/* normal and uniform: d… rng= seed= type=. */
static lt_value draw(lt_builtin_call *c, bool normal)
{
    enum { RNG = 1, SEED, TYPE };
    if (c->r->loops) return lt_cannot_lift(c->r, c->fn->name); /* each element has a draw of its own */
    lt_shape s;
    bool wide = c->given[TYPE] ? !strcmp(c->value[TYPE].text, "f64") : c->given[RNG] && c->value[RNG].symbol->random->is_philox;
    if (c->given[TYPE] && !wide && strcmp(c->value[TYPE].text, "f32"))
        return failed(lt_call_fail(c, "type \"%.40s\": \"f32\" and \"f64\" are possible", c->value[TYPE].text));
    if (c->given[RNG] == c->given[SEED])
        return failed(lt_call_fail(c, "'%s' needs a stream: rng=g after 'rng g = mt19937(0)', or seed=0", c->fn->name));
    if (!good_extents(c, c->n_rest, &s)) return lt_value_none();
    lt_random own = { .is_philox = false };
    if (c->given[SEED]) {
        if (c->integer[SEED][0] < 0 || c->integer[SEED][0] > UINT32_MAX) return failed(lt_call_fail(c, "a seed is in 0..4294967295"));
        lt_mt_seed(&own.mt, (uint32_t)c->integer[SEED][0]);
    }
    lt_random *from = c->given[RNG] ? c->value[RNG].symbol->random : &own;
    double *data = lt_value_alloc(c->r, c->e->where, &s);
    if (!data || !fill_random(c->r, c->e->point, from, normal, wide, lt_shape_count(&s), data)) return lt_value_none();
    return lt_value_constant(&s, data);
}

lt_value lt_fn_normal(lt_builtin_call *c) { return draw(c, true); }
lt_value lt_fn_uniform(lt_builtin_call *c) { return draw(c, false); }

lt_value lt_fn_stream(lt_builtin_call *c)
{
    return failed(lt_call_fail(c, "'%s' starts a stream; write 'rng g = %s(0)' and draw with rng=g", c->fn->name, c->fn->name));
}

/* ---- files ---- */

lt_value lt_fn_load(lt_builtin_call *c)
{
    return lt_read_npy(c->r, c->where[0], c->value[0].text, c->given[1] ? c->value[1].text : NULL);
}

lt_value lt_fn_csv(lt_builtin_call *c)
{
    int64_t column = c->given[1] ? c->integer[1][0] : -1, skip = c->given[2] ? c->integer[2][0] : -1;
    if (c->given[1] && column < 0) return failed(lt_call_fail(c, "column %lld: columns count from 0", (long long)column));
    if (c->given[2] && skip < 0) return failed(lt_call_fail(c, "skip %lld: must be >= 0", (long long)skip));
    return lt_read_csv(c->r, c->where[0], c->value[0].text, column, skip);
}
