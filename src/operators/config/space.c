/* The parameter space: from unit rows to operators. SPDX-License-Identifier: BSD-3-Clause */
#include "operators/config/space.h"

#include "base/status.h"
#include "operators/config/names.h"
#include "operators/sample/sobol.h"

#include <math.h>
#include <string.h>

/* ---- What the columns mean --------------------------------------------------------- */
#define TARGET(field_) .offset = offsetof(lt_operator_spec, field_)
#define WHOLE(name_, field_, ...) { .name = name_, .kind = LT_TARGET_INT, TARGET(field_), .range = __VA_ARGS__ }
#define REAL(name_, field_, ...) { .name = name_, .kind = LT_TARGET_REAL, TARGET(field_), .range = __VA_ARGS__ }
#define NAME(name_, field_, names_) { .name = name_, .kind = LT_TARGET_NAME, TARGET(field_), .names = names_ }

static const lt_param_target targets[] = {
    WHOLE("num_layers", num_layers, LT_RANGE_CLOSED(1, 64)),
    WHOLE("base_channels", base_channels, LT_RANGE_CLOSED(1, 1024)),
    { .name = "kernel_size", .kind = LT_TARGET_INT, TARGET(kernel_size), .range = LT_RANGE_CLOSED(1, 31), .odd = true },
    NAME("activation", activation, lt_activation_names),
    { .name = "dropout_rate", .kind = LT_TARGET_NOTHING, .range = LT_RANGE_CLOSED(0, 1) }, /* never acts in inference */
    NAME("noise_type", noise, lt_noise_names),
    REAL("noise_scale", noise_scale, LT_AT_LEAST(0)),
    NAME("noise_schedule", schedule, lt_noise_schedule_names),
    REAL("schedule_period", schedule_period, LT_ABOVE(0)),
    REAL("spatial_correlation", spatial_correlation, LT_AT_LEAST(0)),
    NAME("normalization", normalization, lt_normalization_names),
    WHOLE("grid_size", grid, LT_RANGE_CLOSED(2, 8192)),
    NAME("update_policy", policy, lt_policy_names),
    REAL("alpha", alpha, LT_RANGE_OPEN_HI(0, 1)),
    REAL("dt", dt, LT_ABOVE(0)),
    WHOLE("modes", modes, LT_RANGE_CLOSED(1, 4096)),
    WHOLE("hidden_dim", hidden_dim, LT_RANGE_CLOSED(1, 65536)),
    WHOLE("encoder_levels", encoder_levels, LT_RANGE_CLOSED(1, 10)),
    WHOLE("afno_blocks", afno_blocks, LT_RANGE_CLOSED(1, 64)),
    WHOLE("blocks_per_level", blocks_per_level, LT_RANGE_CLOSED(1, 64)),
};

const lt_param_target *lt_param_target_of(const char *name)
{
    for (size_t i = 0; i < LT_LEN(targets); i++)
        if (!strcmp(targets[i].name, name)) return &targets[i];
    return NULL;
}

const char *lt_param_target_nearest(const char *name)
{
    const char *names[LT_LEN(targets)];
    for (size_t i = 0; i < LT_LEN(targets); i++) names[i] = targets[i].name;
    return lt_text_nearest(name, names, (int)LT_LEN(targets));
}

int lt_param_name_position(const lt_param_target *t, const char *text)
{
    if (t->names == lt_activation_names && !strcmp(text, "swish")) return LT_ACT_SILU;
    if (t->names == lt_noise_names && !strcmp(text, "uniform")) return LT_NOISE_NONE; /* Spinlock knows the name and adds nothing; read_choices warns */
    for (int i = 0; t->names[i]; i++)
        if (!strcmp(t->names[i], text)) return i;
    return -1;
}

const lt_param *lt_space_find(const lt_space *s, const char *name, int *column)
{
    for (int i = 0; i < s->n; i++)
        if (!strcmp(s->param[i].name, name)) {
            if (column) *column = i;
            return &s->param[i];
        }
    return NULL;
}

/* ---- Mapping ------------------------------------------------------------------------- */
static int choose(const lt_param *p, double unit)
{
    if (!p->weights) return (int)fmin(floor(unit * p->n_choices), p->n_choices - 1);
    double sum = 0;
    for (int i = 0; i < p->n_choices; i++) {
        sum += p->weights[i];
        if (sum > unit) return i;
    }
    return p->n_choices - 1;
}

lt_param_value lt_param_map(const lt_param *p, double unit)
{
    lt_param_value v = { .choice = -1 };
    switch (p->kind) {
    case LT_PARAM_INTEGER: v.number = rint(p->lo + unit * (p->hi - p->lo)); break; /* ties to even */
    case LT_PARAM_CONTINUOUS:
        v.number = p->log_scale ? pow(10, log10(p->lo) + unit * (log10(p->hi) - log10(p->lo))) : p->lo + unit * (p->hi - p->lo);
        break;
    case LT_PARAM_CHOICE:
        v.choice = choose(p, unit);
        v.number = p->choices[v.choice].number;
        v.text = p->choices[v.choice].text;
        break;
    case LT_PARAM_BOOLEAN: v.number = unit > 0.5; break;
    }
    return v;
}

static void assign(const lt_param_target *t, const lt_param_value *v, lt_operator_spec *out)
{
    void *field = (char *)out + t->offset;
    if (t->kind == LT_TARGET_REAL) *(double *)field = v->number;
    else if (t->kind == LT_TARGET_INT) *(int *)field = (int)v->number;
    else if (t->kind == LT_TARGET_NAME) *(int *)field = lt_param_name_position(t, v->text);
}
_Static_assert(sizeof(lt_activation) == sizeof(int) && sizeof(lt_policy) == sizeof(int), "names are assigned as int");

lt_status lt_dataset_map_row(const lt_dataset_config *c, const float *unit, lt_operator_spec *out)
{
    *out = lt_operator_defaults(c->kind);
    out->noise = LT_NOISE_NONE;
    out->noise_scale = 0;
    out->grid = 64;
    out->policy = LT_POLICY_RESIDUAL;
    for (int i = 0; i < c->space.n; i++) {
        const lt_param *p = &c->space.param[i];
        const lt_param_target *t = lt_param_target_of(p->name);
        if (!(unit[i] >= 0 && unit[i] <= 1))
            return LT_FAIL(LT_ERR_ARGUMENT, "unit row: column %d (%s) is %g: expected a number in [0, 1]", i, p->name, (double)unit[i]);
        lt_param_value v = lt_param_map(p, unit[i]);
        if (t) assign(t, &v, out);
    }
    if (out->noise_scale <= 0) out->noise = LT_NOISE_NONE; /* noise needs a type and a scale */
    /* A unit value that float32 rounded up to 1 may not leave a half-open range. */
    if (out->alpha >= 1) out->alpha = nextafter(1, 0);
    if (out->noise == LT_NOISE_DROPOUT && out->noise_scale >= 1) out->noise_scale = nextafter(1, 0);
    out->circular_padding = c->circular_padding;
    out->tanh_gelu = c->tanh_gelu;
    out->full_noise = c->full_noise;
    return LT_OK;
}

lt_status lt_dataset_unit_row(const lt_dataset_config *c, int64_t i, float *unit)
{
    if (i < 0 || i >= c->total_samples)
        return LT_FAIL(LT_ERR_ARGUMENT, "row %lld of '%s': expected 0..%lld", (long long)i, c->name, (long long)c->total_samples - 1);
    double point[LT_SOBOL_MAX_COLUMNS];
    lt_sobol_point(c->sobol, c->space.n, i, point);
    for (int d = 0; d < c->space.n; d++) unit[d] = (float)point[d];
    return LT_OK;
}
