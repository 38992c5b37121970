/* ARCHITECTURE: what an operator is, as numbers: its unit row, that with products, or named columns.
   SPDX-License-Identifier: BSD-3-Clause */
#include "operators/features/features.h"

#include "base/status.h"

#include <math.h>
#include <stdio.h>

/* Columns are listed by one walk, which counts, names or computes them. unit NULL: no values. */
typedef struct walk {
    const lt_dataset_config *c;
    const float *unit;
    float       *out;
    int          n, wanted;     /* wanted: the column whose name is asked for, or -1 */
    char        *name;
    size_t       name_bytes;
} walk;

static void emit(walk *w, const char *prefix, const char *name, double value)
{
    if (w->n == w->wanted) snprintf(w->name, w->name_bytes, "%s%s", prefix, name);
    if (w->unit) w->out[w->n] = (float)value;
    w->n++;
}

/* The mapped value of a parameter; false when the space has none of that name. */
static bool mapped(const walk *w, const char *name, const lt_param **p, lt_param_value *v)
{
    int column;
    *p = lt_space_find(&w->c->space, name, &column);
    if (*p && w->unit) *v = lt_param_map(*p, (double)w->unit[column]);
    return *p != NULL;
}

static void emit_number(walk *w, const char *parameter, const char *name, bool log_scale)
{
    const lt_param *p;
    lt_param_value v = { 0 };
    if (mapped(w, parameter, &p, &v)) emit(w, name, "", log_scale ? log10(v.number + 1e-10) : v.number);
}

/* One column per choice. */
static void emit_choices(walk *w, const char *parameter, const char *prefix)
{
    const lt_param *p;
    lt_param_value v = { 0 };
    if (!mapped(w, parameter, &p, &v) || p->kind != LT_PARAM_CHOICE) return;
    for (int i = 0; i < p->n_choices; i++) emit(w, prefix, p->choices[i].text, v.choice == i);
}

static void emit_size(walk *w)
{
    const lt_param *p;
    lt_param_value layers = { 0 }, channels = { 0 };
    if (mapped(w, "num_layers", &p, &layers) && mapped(w, "base_channels", &p, &channels))
        emit(w, "arch_total_params_log10", "", log10(layers.number * channels.number * channels.number + 1e-10));
}

/* Where the noise lies between its smallest and its largest scale, in decades. */
static void emit_score(walk *w)
{
    const lt_param *p;
    lt_param_value v = { 0 };
    if (!mapped(w, "noise_scale", &p, &v)) return;
    double lo = p->lo, hi = p->hi;
    for (int i = 0; p->kind == LT_PARAM_CHOICE && i < p->n_choices; i++) {
        lo = i ? fmin(lo, p->choices[i].number) : p->choices[i].number;
        hi = i ? fmax(hi, p->choices[i].number) : p->choices[i].number;
    }
    double decades = log10(hi + 1e-10) - log10(lo + 1e-10), at = log10(v.number + 1e-10) - log10(lo + 1e-10);
    emit(w, "stoch_score", "", decades > 0 ? fmin(fmax(at / decades, 0), 1) : 0);
}

static void emit_strata(walk *w, const lt_architecture_switches *on)
{
    double hash = 0, power = 1, distance = 0.5, square = 0;
    for (int i = 0; i < w->c->space.n; i++) {
        char name[32];
        double u = w->unit ? (double)w->unit[i] : 0, stratum = fmin(floor(4 * u), 3);
        snprintf(name, sizeof name, "%d_stratum", i);
        if (on->strata) emit(w, "strat_dim", name, stratum);
        hash += stratum * power;
        power *= 4;
        distance = fmin(distance, fmin(u, 1 - u));
        square += (u - 0.5) * (u - 0.5);
    }
    if (on->hash) emit(w, "strat_hash", "", hash);
    if (on->boundary) emit(w, "strat_boundary_dist", "", distance);
    if (on->extremeness) emit(w, "strat_extremeness", "", sqrt(square));
}

static void walk_network(walk *w, const lt_architecture_switches *on)
{
    if (on->depth) emit_number(w, "num_layers", "arch_num_layers", false);
    if (on->width) emit_number(w, "base_channels", "arch_base_channels", false);
    if (on->kernel_size) emit_number(w, "kernel_size", "arch_kernel_size", false);
    if (on->activation) emit_choices(w, "activation", "arch_activation_");
    if (on->dropout) emit_number(w, "dropout_rate", "arch_dropout_rate", false);
    if (on->parameters) emit_size(w);
}

static void walk_noise(walk *w, const lt_architecture_switches *on)
{
    if (on->noise_scale) emit_number(w, "noise_scale", "stoch_noise_scale_log", true);
    if (on->schedule) emit_choices(w, "noise_schedule", "stoch_schedule_");
    if (on->correlation) emit_number(w, "spatial_correlation", "stoch_spatial_corr", false);
    if (on->noise_type) emit_choices(w, "noise_type", "stoch_noise_");
    if (on->score) emit_score(w);
}

static void walk_evolution(walk *w, const lt_architecture_switches *on)
{
    if (on->policy) emit_choices(w, "update_policy", "evol_policy_");
    if (on->dt) emit_number(w, "dt", "evol_dt_log", true);
    if (on->alpha) emit_number(w, "alpha", "evol_alpha", false);
}

static void walk_named(walk *w)
{
    const lt_architecture_switches *on = &w->c->named;
    if (on->architecture) walk_network(w, on);
    if (on->stochastic) walk_noise(w, on);
    if (on->operators && on->normalization) emit_choices(w, "normalization", "op_norm_");
    if (on->operators && on->grid_size) emit_number(w, "grid_size", "op_grid_size", false);
    if (on->operators && on->grid_class) emit_choices(w, "grid_size", "op_grid_");
    if (on->evolution) walk_evolution(w, on);
    if (on->stratification) emit_strata(w, on);
}

static void walk_unit(walk *w)
{
    const lt_space *s = &w->c->space;
    for (int i = 0; i < s->n; i++) emit(w, s->param[i].name, "", w->unit ? (double)w->unit[i] : 0);
}

/* Products of pairs of unit parameters, those that the space has. */
static void walk_products(walk *w)
{
    static const int pair[][2] = { { 0, 1 }, { 2, 3 }, { 4, 5 }, { 6, 7 }, { 8, 9 }, { 10, 11 }, { 0, 11 }, { 1, 10 }, { 2, 9 } };
    walk_unit(w);
    for (size_t k = 0; k < LT_LEN(pair); k++) {
        int a = pair[k][0], b = pair[k][1];
        char name[32];
        if (LT_MAX(a, b) >= w->c->space.n) continue;
        snprintf(name, sizeof name, "%d_x_%d", a, b);
        emit(w, "product_", name, w->unit ? (double)w->unit[a] * (double)w->unit[b] : 0);
    }
}

static void walk_columns(walk *w)
{
    switch (w->c->architecture_variant) {
    case LT_ARCHITECTURE_NAMED: walk_named(w); break;
    case LT_ARCHITECTURE_PRODUCTS: walk_products(w); break;
    default: walk_unit(w); break;
    }
}

int lt_architecture_count(const lt_dataset_config *c)
{
    walk w = { .c = c, .wanted = -1 };
    walk_columns(&w);
    return w.n;
}

lt_status lt_architecture_name(const lt_dataset_config *c, int column, char *out, size_t size)
{
    walk w = { .c = c, .wanted = column, .name = out, .name_bytes = size };
    walk_columns(&w);
    if (column < 0 || column >= w.n) return LT_FAIL(LT_ERR_ARGUMENT, "architecture column %d of %d", column, w.n);
    return LT_OK;
}

lt_status lt_architecture_compute(const lt_dataset_config *c, const float *unit, float *out)
{
    walk w = { .c = c, .unit = unit, .out = out, .wanted = -1 };
    walk_columns(&w);
    return LT_OK;
}
