/* Checks of a dataset file against the configuration it carries: labels, shares, replays.
   SPDX-License-Identifier: BSD-3-Clause */
#include "operators/generate/generate.h"
#include "operators/tools/validate.h"

#include "base/alloc.h"
#include "base/status.h"
#include "device/flags.h"
#include "operators/fields/types.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* ---- Shares ------------------------------------------------------------------------------------------ */

/* Within `slack`, or what chance allows with so few rows. */
static bool share_fits(double share, double weight, int64_t n, double slack)
{
    return fabs(share - weight) <= fmax(slack, 4 * sqrt(weight * (1 - weight) / (double)n) + 1.0 / (double)n);
}

static lt_status check_families(lt_check *k, const lt_dataset_config *c)
{
    double weight[LT_FIELD_TYPE_COUNT] = { 0 }, count[LT_FIELD_TYPE_COUNT] = { 0 }, sum = 0;
    const char *const *labels;
    int64_t n, unknown = 0;
    LT_TRY(lt_dataset_texts(k->d, "/metadata/ic_types", &n, &labels));
    if (n == 0) {
        lt_check_report(k, LT_FINDING_WARNING, "no labels of initial fields in /metadata/ic_types");
        return LT_OK;
    }
    for (int i = 0; i < c->n_fields; i++) {
        weight[c->field[i].type] += c->field_weight[i];
        sum += c->field_weight[i];
    }
    for (int64_t i = 0; i < n; i++) {
        lt_field_type t;
        if (lt_field_type_find(labels[i], &t)) count[t]++;
        else unknown++;
    }
    if (unknown) lt_check_report(k, LT_FINDING_ERROR, "%" PRId64 " labels of initial fields name no known type", unknown);
    int wrong = 0;
    for (int t = 0; t < LT_FIELD_TYPE_COUNT; t++) {
        double share = count[t] / (double)n, want = sum > 0 ? weight[t] / sum : 0;
        if (share_fits(share, want, n, 0.02)) continue;
        lt_check_report(k, LT_FINDING_WARNING, "initial fields: %s has a share of %.1f %%, its weight is %.1f %%", lt_field_types[t].name, 100 * share, 100 * want);
        wrong++;
    }
    if (!wrong && !unknown) lt_check_report(k, LT_FINDING_OK, "shares of initial-field families fit their weights");
    return LT_OK;
}

static double policy_weight(const lt_dataset_config *c, int policy)
{
    const lt_param *p = lt_space_find(&c->space, "update_policy", NULL);
    if (!p || p->kind != LT_PARAM_CHOICE) return policy == LT_POLICY_RESIDUAL;
    double w = 0;
    for (int i = 0; i < p->n_choices; i++)
        if (!strcmp(p->choices[i].text, lt_policy_name((lt_policy)policy))) w += p->weights ? p->weights[i] : 1.0 / p->n_choices;
    return w;
}

static lt_status check_policies(lt_check *k, const lt_dataset_config *c)
{
    const char *const *labels;
    int64_t n, wrong = 0;
    LT_TRY(lt_dataset_texts(k->d, "/metadata/evolution_policies", &n, &labels));
    for (int p = 0; p < LT_POLICY_COUNT && n; p++) {
        int64_t count = 0;
        for (int64_t i = 0; i < n; i++) count += !strcmp(labels[i], lt_policy_name((lt_policy)p));
        double share = (double)count / (double)n, want = policy_weight(c, p);
        if (share_fits(share, want, n, 0.02)) continue;
        lt_check_report(k, LT_FINDING_WARNING, "policy %s has a share of %.1f %%, its weight is %.1f %%", lt_policy_name((lt_policy)p), 100 * share, 100 * want);
        wrong++;
    }
    if (n && !wrong) lt_check_report(k, LT_FINDING_OK, "shares of update policies fit their weights");
    return LT_OK;
}

lt_status lt_check_shares(lt_check *k, const lt_dataset_config *c)
{
    LT_TRY(check_families(k, c));
    return check_policies(k, c);
}

/* ---- Labels and parameters ----------------------------------------------------------------------------- */

static lt_status compare_labels(lt_check *k, const char *path, const char *const *want, int64_t n)
{
    const char *const *labels;
    int64_t found, wrong = 0;
    LT_TRY(lt_dataset_texts(k->d, path, &found, &labels));
    for (int64_t i = 0; i < n && found == n; i++) wrong += strcmp(labels[i], want[i]) != 0;
    if (found != n) lt_check_report(k, LT_FINDING_ERROR, "%s: %" PRId64 " labels for %" PRId64 " rows", path, found, n);
    else if (wrong) lt_check_report(k, LT_FINDING_ERROR, "%s: %" PRId64 " of %" PRId64 " labels differ from what the configuration gives", path, wrong, n);
    else lt_check_report(k, LT_FINDING_OK, "%s: as the configuration gives them", path);
    return LT_OK;
}

static lt_status compare_parameters(lt_check *k, const lt_row_table *t)
{
    int64_t wrong = 0;
    if (k->info.parameters != t->parameters) {
        lt_check_report(k, LT_FINDING_ERROR, "/parameters/params has %" PRId64 " columns, the configuration %" PRId64, k->info.parameters, t->parameters);
        return LT_OK;
    }
    float *x = lt_malloc((size_t)(t->n * t->parameters) * sizeof *x);
    if (!x) return LT_ERR_MEMORY;
    lt_status s = lt_dataset_read(k->d, "/parameters/params", 0, t->n, x, t->n * t->parameters);
    for (int64_t i = 0; i < t->n * t->parameters && !s; i++) wrong += x[i] != t->unit[i];
    lt_free(x);
    if (!s) lt_check_report(k, wrong ? LT_FINDING_ERROR : LT_FINDING_OK, "unit parameters: %" PRId64 " differ from what seed and configuration give", wrong);
    return s;
}

/* Whether the arrays are there that a run with this configuration writes, with as many columns. */
static lt_status compare_arrays(lt_check *k, const lt_dataset_config *c, int max_grid)
{
    lt_feature_set *set;
    int learned = 0, wrong = 0;
    LT_TRY(lt_feature_set_create(&c->features, c->operator_features, &set));
    const int64_t temporal = c->temporal ? lt_feature_temporal_count(set) : 0, summary = c->summary ? lt_feature_summary_count(set) : 0;
    lt_feature_set_destroy(set);
    if (c->learned.enabled) LT_TRY(lt_learned_columns(&c->learned, c->kind, max_grid, &learned));
    const struct { const char *path; int64_t columns; } arrays[] = {
        { "/features/temporal/features", temporal },
        { "/features/summary/per_trajectory/features", summary },
        { "/features/summary/aggregated/features", 3 * summary },
        { "/features/summary/learned/features", learned },
        { "/features/initial/aggregated/features", c->initial ? lt_initial_count(c->initial_variant) : 0 },
        { "/features/architecture/aggregated/features", c->architecture ? lt_architecture_count(c) : 0 },
        { "/outputs/fields", c->store_trajectories ? max_grid : 0 },
    };
    for (size_t i = 0; i < LT_LEN(arrays); i++) {
        lt_shape shape = lt_dataset_shape(k->d, arrays[i].path);
        const int64_t found = shape.rank ? shape.dim[shape.rank - 1] : 0;
        if (found == arrays[i].columns) continue;
        wrong++;
        if (!found) lt_check_report(k, LT_FINDING_ERROR, "%s is missing: the configuration gives it %" PRId64 " columns", arrays[i].path, arrays[i].columns);
        else lt_check_report(k, LT_FINDING_ERROR, "%s has %" PRId64 " columns, the configuration gives it %" PRId64, arrays[i].path, found, arrays[i].columns);
    }
    if (!wrong) lt_check_report(k, LT_FINDING_OK, "features and states: the arrays that the configuration gives");
    return LT_OK;
}

lt_status lt_check_metadata(lt_check *k, const lt_dataset_config *c)
{
    lt_row_table t;
    int64_t n = (c->total_samples - k->info.shard_index + k->info.shard_count - 1) / k->info.shard_count;
    if (!k->info.engine_version[0]) return LT_OK; /* another program's rows */
    if (n != k->info.rows) { /* before as many are drawn */
        lt_check_report(k, LT_FINDING_ERROR, "the configuration gives %" PRId64 " rows, the file has %" PRId64, LT_MAX(n, 0), k->info.rows);
        return LT_OK;
    }
    lt_status s = lt_row_table_create(c, k->info.shard_index, k->info.shard_count, c->total_samples, &t);
    if (s == LT_ERR_MEMORY) return s; /* says nothing about the file */
    if (s) {
        lt_check_report(k, LT_FINDING_ERROR, "rows of the configuration: %s", lt_error_text());
        return LT_OK;
    }
    s = compare_parameters(k, &t);
    if (!s) s = compare_labels(k, "/metadata/ic_types", t.alias, t.n);
    if (!s) s = compare_labels(k, "/metadata/evolution_policies", t.policy, t.n);
    if (!s) s = compare_labels(k, "/metadata/noise_regimes", t.noise, t.n);
    if (!s) s = compare_arrays(k, c, t.max_grid);
    lt_row_table_release(&t);
    return s;
}

/* ---- Replays -------------------------------------------------------------------------------------------------- */

/* Files that do not say were made on the CPU. */
static const char *made_on(const lt_check *k) { return k->info.device[0] ? k->info.device : "cpu"; }

static lt_status push_state(void *ctx, int64_t t, const float *states, const int64_t *failed)
{
    return lt_feature_stream_push(ctx, t, states, failed);
}

/* Whether features are equal: exactly on the CPU; where a device measured them, nearly equal in all but the few that lie at a threshold. */
static bool same_features(const float *a, const float *b, int64_t n, bool exact)
{
    int64_t apart = 0;
    if (exact) return memcmp(a, b, (size_t)n * sizeof *a) == 0;
    for (int64_t i = 0; i < n; i++)
        apart += !(fabs((double)a[i] - b[i]) <= 1e-3 * fmax(1, fabs((double)a[i]))) && !(isnan(a[i]) && isnan(b[i]));
    return apart <= n / 50;
}

/* Features of one row, replayed; *same says whether the stored ones are these. */
static lt_status replay_row(lt_check *k, const lt_dataset_config *c, lt_replay *r, const lt_feature_set *set, int64_t row, bool *same)
{
    static const char path[] = "/features/temporal/features";
    int64_t index = k->info.shard_index + row * k->info.shard_count, n = k->info.steps * k->info.temporal_columns;
    lt_operator_spec spec = { .size = sizeof spec };
    lt_feature_stream *s = NULL;
    float *stored = lt_malloc(2 * (size_t)n * sizeof *stored), *again = stored + n;
    lt_status st = stored ? lt_replay_row(r, index, &spec, NULL) : LT_ERR_MEMORY;
    if (!st) st = lt_feature_stream_create(set, c->realizations, c->steps, spec.grid, lt_pool_shared(), &s);
    if (!st) st = lt_replay_run(r, index, -1, push_state, s, NULL);
    if (!st) st = lt_feature_stream_finish(s, again, NULL, NULL);
    if (!st) st = lt_dataset_read(k->d, path, row, 1, stored, n);
    if (!st) *same = same_features(stored, again, n, strcmp(made_on(k), "cpu") == 0);
    lt_feature_stream_destroy(s);
    lt_free(stored);
    return st;
}

static lt_status replay_rows(lt_check *k, const lt_dataset_config *c, lt_replay *r, const lt_feature_set *set, int replays)
{
    int64_t looked = 0, wrong = 0, n = LT_MIN((int64_t)replays, k->info.rows);
    for (int64_t i = 0; i < n; i++) {
        int64_t row = i * k->info.rows / n;
        bool same = false;
        if (k->code[row] != LT_RUN_DONE && k->code[row] != LT_RUN_NON_FINITE) continue;
        LT_TRY(replay_row(k, c, r, set, row, &same));
        looked++;
        wrong += !same;
    }
    lt_check_report(k, wrong ? LT_FINDING_ERROR : LT_FINDING_OK, "%" PRId64 " rows replayed, features of %" PRId64 " differ from the stored ones", looked, wrong);
    return LT_OK;
}

lt_status lt_check_replays(lt_check *k, const lt_dataset_config *c, int replays, lt_device *device)
{
    lt_feature_set *set = NULL;
    lt_replay *r = NULL;
    const char *kind = lt_device_kind(device);
    if (strcmp(kind, made_on(k))) {
        lt_check_report(k, LT_FINDING_WARNING, "rows were not replayed: the file was made on %s, this is %s (--device)", made_on(k), kind);
        return LT_OK;
    }
    if (!k->info.engine_version[0] || k->info.engine_age || c->features.clip_batch || k->info.temporal_columns < 1 || k->info.steps != c->steps) {
        lt_check_report(k, LT_FINDING_WARNING, "rows were not replayed: %s", !k->info.engine_version[0] ? "lathe did not write the file"
                      : k->info.engine_age < 0 ? "an older engine wrote the file: see lathe upgrade" : k->info.engine_age ? "a newer engine wrote the file"
                      : c->features.clip_batch ? "engine.clip is batch, so features depend on whole batches" : "the file has no TEMPORAL features of its states");
        return LT_OK;
    }
    lt_replay_options opt = lt_replay_defaults();
    opt.device = device;
    lt_status s = lt_feature_set_create(&c->features, c->operator_features, &set);
    if (!s && lt_feature_temporal_count(set) != k->info.temporal_columns)
        lt_check_report(k, LT_FINDING_ERROR, "TEMPORAL has %" PRId64 " columns, the configuration gives %d", k->info.temporal_columns, lt_feature_temporal_count(set));
    else if (!s) {
        s = lt_replay_create(c, &opt, &r);
        if (!s) s = replay_rows(k, c, r, set, replays);
    }
    lt_replay_destroy(r);
    lt_feature_set_destroy(set);
    return s;
}
