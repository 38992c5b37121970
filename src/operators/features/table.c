/* The feature table: which columns a dataset has, what they are called, where they stand in the
   file's registry. SPDX-License-Identifier: BSD-3-Clause */
#include "operators/features/table.h"
#include "operators/features/features.h"

#include "base/alloc.h"
#include "base/number.h"
#include "base/options.h"
#include "base/status.h"
#include "lathe/json.h"

#include <stdio.h>
#include <string.h>

static const lt_feature_row rows[] = {
#define X(id, category_, family_, axis_, loop_, joined_, clip_, name_, include_) \
    [LT_F_##id] = { LT_CATEGORY_##category_, LT_FAMILY_##family_, LT_AXIS_##axis_, LT_LOOP_##loop_, joined_, clip_, name_, include_ },
    LT_FEATURE_ROWS(X)
#undef X
};
_Static_assert(LT_LEN(rows) == LT_F_COUNT, "one row per feature");

static const char *const category_names[] = {
#define X(id, name) [LT_CATEGORY_##id] = name,
    LT_FEATURE_CATEGORIES(X)
#undef X
};

static const char *const filter_names[] = { "raw", "lowpass", "highpass" };
static const char *const band_names[] = { "low", "mid", "high" };
static const char *const statistic_names[] = { "mean", "std", "cv" };

const lt_feature_row *lt_feature_row_of(int id) { return &rows[id]; }
const char *lt_feature_category_name(int category) { return category_names[category]; }

/* ---- Loops --------------------------------------------------------------------- */
int lt_feature_loop_count(const lt_feature_set *s, lt_feature_loop loop)
{
    const lt_feature_options *o = &s->opt;
    switch (loop) {
    case LT_LOOP_FFT_SCALE: return o->num_fft_scales;
    case LT_LOOP_EIGEN: return LT_MIN(o->num_eigen_top, LT_MAX_CHANNELS);
    case LT_LOOP_WINDOW: return s->n_windows;
    case LT_LOOP_LAG: return o->max_lag_correlation;
    case LT_LOOP_PREDICTION: return o->max_lag_prediction;
    case LT_LOOP_FILTER: return o->num_scales;
    case LT_LOOP_EPSILON: return s->n_epsilons;
    case LT_LOOP_GAIN: return s->n_gains;
    case LT_LOOP_BAND: return s->n_bands;
    case LT_LOOP_WAVELET: return o->num_wavelet_levels;
    case LT_LOOP_PYRAMID: return o->num_pyramid_levels;
    case LT_LOOP_ENTROPY_SCALE: return o->num_entropy_scales;
    case LT_LOOP_PACF: return o->pacf_max_lag;
    default: return 1;
    }
}

static void loop_label(const lt_feature_set *s, lt_feature_loop loop, int k, char *text, size_t bytes)
{
    switch (loop) {
    case LT_LOOP_NONE: snprintf(text, bytes, "%s", ""); break;
    case LT_LOOP_FFT_SCALE: snprintf(text, bytes, "%d", k); break;
    case LT_LOOP_WINDOW: snprintf(text, bytes, "%g", 100 * s->window[k]); break;
    case LT_LOOP_FILTER: snprintf(text, bytes, "%s", filter_names[k]); break;
    case LT_LOOP_BAND: snprintf(text, bytes, "%s", band_names[s->band[k]]); break;
    case LT_LOOP_EPSILON: snprintf(text, bytes, "%.0e", s->epsilon[k]); break;
    case LT_LOOP_GAIN: snprintf(text, bytes, "%.2f", s->gain[k]); break;
    case LT_LOOP_ENTROPY_SCALE: snprintf(text, bytes, "%d", 2 << k); break;
    default: snprintf(text, bytes, "%d", k + 1); break;
    }
    lt_number_point(text); /* names of columns are the same in every locale */
}

/* ---- Options that are lists -------------------------------------------------------- */
static lt_status read_numbers(const lt_text_list *list, const char *key, int n_default, const double *defaults, double lo, double hi,
                              int max, double *out, int *n)
{
    *n = list->n ? list->n : n_default;
    if (*n > max) return LT_FAIL(LT_ERR_ARGUMENT, "%s has %d numbers: expected at most %d", key, *n, max);
    for (int i = 0; i < *n; i++) {
        out[i] = list->n ? 0 : defaults[i];
        if (list->n && !lt_text_real(list->item[i], &out[i]))
            return LT_FAIL(LT_ERR_ARGUMENT, "%s: '%.60s' is not a number", key, list->item[i]);
        if (!(out[i] > lo && out[i] <= hi))
            return LT_FAIL(LT_ERR_ARGUMENT, "%s: %g is outside (%g, %g]", key, out[i], lo, hi);
    }
    return LT_OK;
}

/* Names out of a list of known ones, each at most once. */
static lt_status read_names(const lt_text_list *list, const char *key, const char *const *known, int n_known, int *out, int *n)
{
    unsigned seen = 0;
    *n = list->n ? LT_MIN(list->n, n_known + 1) : n_known;
    for (int i = 0; i < *n; i++) {
        int at = list->n ? 0 : i;
        while (list->n && at < n_known && strcmp(list->item[i], known[at])) at++;
        if (at == n_known || (seen >> at & 1))
            return LT_FAIL(LT_ERR_ARGUMENT, "%s: '%.60s' is unknown or given twice: expected among %s, %s, %s", key, list->item[i],
                           known[0], known[1], known[2]);
        seen |= 1u << at;
        out[i] = at;
    }
    return LT_OK;
}

static lt_status read_lists(lt_feature_set *s)
{
    const lt_feature_options *o = &s->opt;
    int order[LT_MAX_BANDS], n;
    LT_TRY(read_numbers(&o->rolling_window_fractions, "temporal.rolling_window_fractions", 3, (double[]){ 0.05, 0.10, 0.20 }, 0, 1,
                        LT_MAX_WINDOWS, s->window, &s->n_windows));
    LT_TRY(read_numbers(&o->lipschitz_epsilon_scales, "operator_sensitivity.lipschitz_epsilon_scales", 3, (double[]){ 1e-4, 1e-3, 1e-2 },
                        0, 1e6, LT_MAX_SCALES, s->epsilon, &s->n_epsilons));
    LT_TRY(read_numbers(&o->gain_scale_factors, "operator_sensitivity.gain_scale_factors", 4, (double[]){ 0.5, 0.75, 1.25, 1.5 }, 0, 1e6,
                        LT_MAX_SCALES, s->gain, &s->n_gains));
    LT_TRY(read_names(&o->coherence_freq_bands, "cross_channel.coherence_freq_bands", band_names, LT_MAX_BANDS, s->band, &s->n_bands));
    LT_TRY(read_names(&o->temporal_aggregation, "temporal_aggregation", statistic_names, 3, order, &n));
    LT_TRY(read_names(&o->realization_aggregation, "realization_aggregation", statistic_names, 3, order, &n));
    if (o->wavelet != 0) return LT_FAIL(LT_ERR_ARGUMENT, "multiscale.wavelet: only haar exists");
    return LT_OK;
}

/* ---- Rows to columns ------------------------------------------------------------------ */
static void find_stored(lt_feature_set *s)
{
    const lt_feature_options *o = &s->opt;
    int owner = 0;
    for (int f = 0; f < LT_F_COUNT; f++) {
        if (rows[f].include) owner = f;
        bool on = o->include[owner];
        if (owner == LT_F_GRANGER_MEAN) on = on || o->complexity_level >= LT_COMPLEXITY_MEDIUM;
        if (owner == LT_F_TRANSFER_MEAN) on = on || o->complexity_level == LT_COMPLEXITY_FULL;
        s->stored[f] = on && o->enabled[rows[f].category];
        if (rows[f].category == LT_CATEGORY_SENSITIVITY) s->stored[f] = s->stored[f] && s->operator_features;
        if (rows[f].family == LT_FAMILY_STEP) s->stored[f] = s->stored[f] && o->extract_per_timestep;
        if (!s->stored[f]) continue;
        s->wanted[rows[f].category] = true;
        if (f >= LT_F_FIRST_EXTRA && rows[f].family == LT_FAMILY_STEP && rows[f].axis == LT_AXIS_EACH) s->wanted_extra = true;
    }
}

enum { NAME_BYTES = 128 };

static void expand_name(const lt_feature_set *s, int id, int k, char text[NAME_BYTES])
{
    char label[32];
    const char *name = rows[id].name, *hole = strstr(name, "{}");
    loop_label(s, rows[id].loop, k, label, sizeof label);
    if (hole) snprintf(text, NAME_BYTES, "%.*s%s%s", (int)(hole - name), name, label, hole + 2);
    else snprintf(text, NAME_BYTES, "%s", name);
}

typedef lt_status (*visit_fn)(lt_feature_set *s, int id, int k);

/* Rows [first, first+n) in the order of columns: those that share a loop take turns. */
static lt_status visit_block(lt_feature_set *s, int first, int n, visit_fn visit)
{
    int count = lt_feature_loop_count(s, rows[first].loop);
    for (int k = 0; k < count; k++)
        for (int f = first; f < first + n; f++) LT_TRY(visit(s, f, k));
    return LT_OK;
}

static lt_status visit_columns(lt_feature_set *s, visit_fn visit)
{
    for (int f = 0, n; f < LT_F_COUNT; f += n) {
        n = 1;
        while (f + n < LT_F_COUNT && rows[f + n].joined) n++;
        LT_TRY(visit_block(s, f, n, visit));
    }
    return LT_OK;
}

static lt_status add_column(lt_feature_set *s, int id, int k)
{
    if (!s->stored[id]) return LT_OK;
    lt_feature_columns *c = &s->of[rows[id].family];
    char text[NAME_BYTES];
    expand_name(s, id, k, text);
    char *name = lt_arena_strdup(&s->arena, text);
    if (!name) return LT_ERR_MEMORY;
    c->column[c->n++] = (lt_feature_column){ id, s->slot[id] + k, name };
    return LT_OK;
}

static lt_status lay_out(lt_feature_set *s)
{
    int total = 0;
    for (int f = 0; f < LT_F_COUNT; f++) {
        int count = lt_feature_loop_count(s, rows[f].loop);
        s->slot[f] = s->n_slots[rows[f].family];
        s->n_slots[rows[f].family] += count;
        total += count;
    }
    for (int i = 0; i < LT_FAMILY_COUNT; i++) {
        s->of[i].column = lt_arena_alloc(&s->arena, (size_t)total * sizeof *s->of[i].column);
        if (!s->of[i].column) return LT_ERR_MEMORY;
    }
    return visit_columns(s, add_column);
}

static lt_status name_aggregated(lt_feature_set *s)
{
    const lt_feature_columns *c = &s->of[LT_FAMILY_RUN];
    s->aggregated_name = lt_arena_alloc(&s->arena, (size_t)LT_MAX(1, 3 * c->n) * sizeof *s->aggregated_name);
    if (!s->aggregated_name) return LT_ERR_MEMORY;
    for (int i = 0; i < 3 * c->n; i++) {
        char text[160];
        snprintf(text, sizeof text, "%s_%s", c->column[i % c->n].name, statistic_names[i / c->n]);
        s->aggregated_name[i] = lt_arena_strdup(&s->arena, text);
        if (!s->aggregated_name[i]) return LT_ERR_MEMORY;
    }
    return LT_OK;
}

/* ---- The file's registry ----------------------------------------------------------------- */
/* Indices run through the categories: first the default rows (the operator's sensitivity among them,
   stored or not, as readers expect), then what was asked for besides. */
static void number_columns(lt_feature_set *s, int *index_of_slot[LT_FAMILY_COUNT])
{
    int index = 0;
    for (int extra = 0; extra < 2; extra++)
        for (int c = 0; c < LT_CATEGORY_COUNT; c++)
            for (int f = 0, n; f < LT_F_COUNT; f += n) {
                for (n = 1; f + n < LT_F_COUNT && rows[f + n].joined; n++) { }
                if ((int)rows[f].category != c || (f >= LT_F_FIRST_EXTRA) != extra) continue;
                int count = lt_feature_loop_count(s, rows[f].loop);
                for (int k = 0; k < count; k++)
                    for (int g = f; g < f + n; g++)
                        if (s->stored[g] || c == LT_CATEGORY_SENSITIVITY) index_of_slot[rows[g].family][s->slot[g] + k] = index++;
            }
}

static void write_category(lt_feature_set *s, lt_json *j, int category, int *const index_of_slot[LT_FAMILY_COUNT])
{
    lt_json_key(j, category_names[category]);
    lt_json_object_begin(j);
    for (int f = 0, n; f < LT_F_COUNT; f += n) {
        for (n = 1; f + n < LT_F_COUNT && rows[f + n].joined; n++) { }
        if ((int)rows[f].category != category) continue;
        for (int k = 0; k < lt_feature_loop_count(s, rows[f].loop); k++)
            for (int g = f; g < f + n; g++) {
                int index = index_of_slot[rows[g].family][s->slot[g] + k];
                if (index < 0) continue;
                char name[NAME_BYTES];
                expand_name(s, g, k, name);
                lt_json_field_int(j, name, index);
            }
    }
    lt_json_object_end(j);
}

static lt_status write_registry(lt_feature_set *s)
{
    int *index_of_slot[LT_FAMILY_COUNT];
    for (int i = 0; i < LT_FAMILY_COUNT; i++) {
        index_of_slot[i] = lt_arena_alloc(&s->arena, (size_t)s->n_slots[i] * sizeof(int));
        if (!index_of_slot[i]) return LT_ERR_MEMORY;
        for (int k = 0; k < s->n_slots[i]; k++) index_of_slot[i][k] = -1;
    }
    number_columns(s, index_of_slot);
    lt_json *j;
    LT_TRY(lt_json_create(LT_JSON_COMPACT, &j));
    lt_json_object_begin(j);
    for (int c = 0; c < LT_CATEGORY_COUNT; c++)
        if (s->wanted[c] || c == LT_CATEGORY_SENSITIVITY) write_category(s, j, c, index_of_slot);
    lt_json_object_end(j);
    lt_status status = lt_json_finish(j);
    if (!status && !(s->registry = lt_arena_strdup(&s->arena, lt_json_text(j)))) status = LT_ERR_MEMORY;
    lt_json_destroy(j);
    return status;
}

/* ---- The set --------------------------------------------------------------------------------- */
lt_status lt_feature_set_create(const lt_feature_options *opt, bool operator_features, lt_feature_set **out)
{
    *out = NULL;
    lt_feature_set *s = lt_calloc(1, sizeof *s);
    if (!s) return LT_ERR_MEMORY;
    s->opt = *opt;
    s->operator_features = operator_features;
    s->channels = opt->per_channel ? LT_MAX_CHANNELS : 1;
    lt_status status = read_lists(s);
    if (!status) {
        find_stored(s);
        status = lay_out(s);
    }
    if (!status) status = name_aggregated(s);
    if (!status) status = write_registry(s);
    if (status) {
        lt_feature_set_destroy(s);
        return status;
    }
    *out = s;
    return LT_OK;
}

void lt_feature_set_destroy(lt_feature_set *s)
{
    if (!s) return;
    lt_arena_release(&s->arena);
    lt_free(s);
}

int lt_feature_temporal_count(const lt_feature_set *s) { return s->of[LT_FAMILY_STEP].n; }
int lt_feature_summary_count(const lt_feature_set *s) { return s->of[LT_FAMILY_RUN].n; }
const char *lt_feature_temporal_name(const lt_feature_set *s, int column) { return s->of[LT_FAMILY_STEP].column[column].name; }
const char *lt_feature_summary_name(const lt_feature_set *s, int column) { return s->of[LT_FAMILY_RUN].column[column].name; }
const char *lt_feature_aggregated_name(const lt_feature_set *s, int column) { return s->aggregated_name[column]; }
const char *lt_feature_registry_json(const lt_feature_set *s) { return s->registry; }

int lt_feature_registry_count(const lt_feature_set *s)
{
    int n = 0;
    for (int f = 0; f < LT_F_COUNT; f++)
        if (f < LT_F_FIRST_EXTRA || s->stored[f]) n += lt_feature_loop_count(s, rows[f].loop);
    return n;
}

int lt_feature_sensitivity_count(const lt_feature_set *s) { return s->n_epsilons + s->n_gains + 3; }

int lt_feature_sensitivity_columns(const lt_feature_set *s, int *first)
{
    const lt_feature_columns *c = &s->of[LT_FAMILY_RUN];
    int n = 0;
    *first = 0;
    for (int i = 0; i < c->n; i++)
        if (rows[c->column[i].id].category == LT_CATEGORY_SENSITIVITY && !n++) *first = i;
    return n;
}

const double *lt_feature_epsilons(const lt_feature_set *s, int *n) { *n = s->n_epsilons; return s->epsilon; }
const double *lt_feature_gains(const lt_feature_set *s, int *n) { *n = s->n_gains; return s->gain; }
