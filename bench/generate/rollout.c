/* lathe-bench generate --device cuda: whole rollouts of the standard operator on a GPU.
   SPDX-License-Identifier: BSD-3-Clause */
#include "bench/generate/rollout.h"

#include "bench/generate/operator_oracle.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- One rollout, timed ----------------------------------------------------------------------------- */
enum { MAX_SAMPLES = 100 };

typedef struct timed {
    double          seconds, device_seconds; /* of one rollout, median; the device's clock */
    lt_rollout_info info;
    int64_t         applications;            /* of the operator */
    uint64_t        checksum;                /* of the last states */
} timed;

static lt_rollout_options options_of(const bench_rollout_request *q, int64_t steps)
{
    lt_rollout_options o = lt_rollout_defaults();
    o.device = q->c->device;
    o.realizations = q->realizations;
    o.steps = steps;
    o.precision = LT_PRECISION_FLOAT16;
    return o;
}

typedef struct last_states { int64_t last, count; uint64_t checksum; } last_states;

/* FNV-1a over the bits of the last states. */
static lt_status note_states(void *ctx, int64_t t, const float *states, const int64_t *failed)
{
    last_states *l = ctx;
    (void)failed;
    if (t != l->last) return cli_interrupted() ? cli_stopped() : LT_OK;
    const unsigned char *byte = (const unsigned char *)states;
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    for (int64_t i = 0; i < l->count * (int64_t)sizeof *states; i++) h = (h ^ byte[i]) * UINT64_C(0x100000001b3);
    l->checksum = h;
    return LT_OK;
}

/* The first run warms up, unless it is so long that it may as well count. */
static lt_status time_runs(lt_rollout *r, const float *field, int64_t samples, timed *out)
{
    double all[MAX_SAMPLES], device[MAX_SAMPLES];
    int n = 0;
    for (int64_t i = 0; i <= samples && n < MAX_SAMPLES; i++) {
        lt_rollout_result result = { .size = sizeof result };
        if (cli_interrupted()) return cli_stopped();
        CLI_TRY(lt_rollout_run(r, field, -1, NULL, NULL, &result));
        if (i == 0 && result.seconds < 1.5) continue;
        all[n] = result.seconds;
        device[n++] = result.device_seconds;
        if (i == 0) break;
    }
    qsort(all, (size_t)n, sizeof *all, cli_ascending);
    qsort(device, (size_t)n, sizeof *device, cli_ascending);
    out->seconds = all[n / 2];
    out->device_seconds = device[n / 2];
    return LT_OK;
}

static lt_status time_rollout(const bench_rollout_request *q, const lt_operator_spec *spec, const lt_operator_weights *w, const lt_rollout_options *o,
                              timed *out)
{
    lt_rollout *r;
    last_states last = { o->steps - 1, o->realizations * LT_FIELD_CHANNELS * spec->grid * spec->grid, 0 };
    CLI_TRY(lt_rollout_create(spec, o, &r));
    lt_status s = lt_rollout_set_operator(r, spec, w);
    if (!s) s = time_runs(r, q->field, q->samples, out);
    out->info = lt_rollout_get_info(r);
    out->applications = o->steps > 1 ? o->steps - 1 : 1;
    if (!s && out->seconds < 1.5) s = lt_rollout_run(r, q->field, -1, note_states, &last, NULL);
    out->checksum = last.checksum;
    lt_rollout_destroy(r);
    return s;
}

/* ---- Tables ------------------------------------------------------------------------------------------ */
static lt_status begin(const bench_rollout_request *q, const char *key, const char *title, int n, const char *const *columns, cli_table **t)
{
    if (q->c->json) {
        lt_json_key(q->c->json, key);
        lt_json_array_begin(q->c->json);
    }
    return cli_table_create(title, n, columns, t);
}

static lt_status end(const bench_rollout_request *q, cli_table *t, lt_status s)
{
    if (q->c->json) lt_json_array_end(q->c->json);
    else if (!s) cli_table_print(t, stdout), putchar('\n');
    cli_table_destroy(t);
    return s;
}

static void json_row(const bench_rollout_request *q, const char *key, const char *name, int64_t realizations, const timed *r)
{
    lt_json *j = q->c->json;
    if (!j) return;
    char checksum[24];
    double rate = (double)(r->applications * realizations) / r->seconds;
    snprintf(checksum, sizeof checksum, "%016llx", (unsigned long long)r->checksum);
    lt_json_object_begin(j);
    lt_json_field_string(j, key, name);
    lt_json_field_int(j, "realizations", realizations);
    lt_json_field_int(j, "applications", r->applications);
    lt_json_field_double(j, "seconds", r->seconds);
    lt_json_field_double(j, "device_seconds", r->device_seconds);
    lt_json_field_double(j, "step_seconds", r->seconds / (double)r->applications);
    lt_json_field_double(j, "sample_steps_per_second", rate);
    lt_json_field_double(j, "tflops", 1e-12 * r->info.flops * (double)r->applications / r->seconds);
    lt_json_field_string(j, "step", r->info.step);
    lt_json_field_string(j, "step_reason", r->info.step_reason);
    lt_json_field_int(j, "steps_per_launch", r->info.steps_per_launch);
    lt_json_field_int(j, "kernels_per_step", r->info.kernels_per_step);
    lt_json_field_int(j, "device_bytes", r->info.arena_bytes + r->info.weight_bytes + r->info.state_bytes);
    lt_json_field_string(j, "checksum", r->checksum ? checksum : "");
}

static void json_row_end(const bench_rollout_request *q)
{
    if (q->c->json) lt_json_object_end(q->c->json);
}

/* ---- Precisions ---------------------------------------------------------------------------------------- */
static lt_status precision_row(const bench_rollout_request *q, lt_precision p, const double *want, double half_seconds, cli_table *t, timed *r)
{
    lt_rollout_options o = options_of(q, q->steps);
    double error;
    char key[40];
    o.precision = p;
    CLI_TRY(time_rollout(q, &q->spec, q->weights, &o, r));
    CLI_TRY(operator_error_on(q->c->device, &q->spec, p, q->weights, q->field, want, &error));
    snprintf(key, sizeof key, "%s_eager", lt_precision_name(p));
    double eager = peer_file_seconds(q->peer, key) * (double)r->applications;
    snprintf(key, sizeof key, "%s_best", lt_precision_name(p));
    double best = peer_file_seconds(q->peer, key) * (double)r->applications;
    cli_table_row(t);
    cli_table_cell(t, 0, "%s", lt_precision_name(p));
    cli_table_cell(t, 1, "%s", cli_seconds(r->seconds).s);
    cli_table_cell(t, 2, "%s", cli_seconds(r->seconds / (double)r->applications).s);
    cli_table_cell(t, 3, "%.1f", 1e-12 * r->info.flops * (double)r->applications / r->seconds);
    if (isfinite(eager)) cli_table_cell(t, 4, "%.2fx / %.2fx", eager / r->seconds, best / r->seconds);
    cli_table_cell(t, 5, "%.1e (limit %.0e)", error, operator_error_limit(p));
    cli_table_cell(t, 6, "%s", r->info.step);
    cli_table_cell(t, 7, "%d", r->info.kernels_per_step);
    cli_table_cell(t, 8, "%s", cli_bytes((double)(r->info.arena_bytes + r->info.weight_bytes + r->info.state_bytes)).s);
    json_row(q, "precision", lt_precision_name(p), q->realizations, r);
    if (q->c->json) {
        lt_json_field_double(q->c->json, "of_float16", r->seconds / half_seconds);
        lt_json_field_double(q->c->json, "torch_eager_ratio", eager / r->seconds);
        lt_json_field_double(q->c->json, "torch_best_ratio", best / r->seconds);
        lt_json_field_double(q->c->json, "one_step_error", error);
        lt_json_field_double(q->c->json, "error_limit", operator_error_limit(p));
        lt_json_field_string(q->c->json, "arithmetic", r->info.arithmetic);
    }
    json_row_end(q);
    return LT_OK;
}

static lt_status run_precisions(const bench_rollout_request *q, timed *half)
{
    static const char *const columns[] = { "precision", "rollout", "step", "TFLOP/s", "PyTorch eager/best", "one-step error", "step is", "kernels", "memory" };
    static const lt_precision order[] = { LT_PRECISION_FLOAT16, LT_PRECISION_BFLOAT16, LT_PRECISION_TF32, LT_PRECISION_FLOAT32 };
    cli_table *t;
    double *want = NULL;
    timed r = { 0 };
    CLI_TRY(operator_oracle(&q->spec, q->weights, q->field, &want));
    lt_status s = begin(q, "precisions", "The reference operator, whole rollouts", CLI_LEN(columns), columns, &t);
    for (int i = 0; i < CLI_LEN(order) && !s; i++) {
        s = precision_row(q, order[i], want, i ? half->seconds : NAN, t, &r);
        if (i == 0) *half = r;
    }
    free(want);
    return end(q, t, s);
}

/* ---- Realizations ---------------------------------------------------------------------------------------- */
static lt_status run_realizations(const bench_rollout_request *q)
{
    static const int64_t count[] = { 1, 2, 3, 5, 10, 15, 20, 40 };
    static const char *const columns[] = { "realizations", "step", "sample-steps/s", "per sample, of M = 1" };
    cli_table *t;
    double first = NAN;
    CLI_TRY(begin(q, "realizations", "Realizations advanced together, float16", CLI_LEN(columns), columns, &t));
    lt_status s = LT_OK;
    for (int i = 0; i < CLI_LEN(count) && !s; i++) {
        lt_rollout_options o = options_of(q, q->quick ? 9 : 97);
        timed r;
        char name[16];
        o.realizations = count[i];
        if ((s = time_rollout(q, &q->spec, q->weights, &o, &r))) break;
        double each = r.seconds / (double)(r.applications * count[i]);
        if (i == 0) first = each;
        snprintf(name, sizeof name, "M = %lld", (long long)count[i]);
        cli_table_row(t);
        cli_table_cell(t, 0, "%lld", (long long)count[i]);
        cli_table_cell(t, 1, "%s", cli_seconds(r.seconds / (double)r.applications).s);
        cli_table_cell(t, 2, "%.0f", 1 / each);
        cli_table_cell(t, 3, "%.2fx", each / first);
        json_row(q, "name", name, count[i], &r);
        json_row_end(q);
    }
    return end(q, t, s);
}

/* ---- Small operators side by side ------------------------------------------------------------------------ */
enum { MAX_SIDE = 8 };

typedef struct side { lt_rollout *r[MAX_SIDE]; int n; } side;

/* `operators` rollouts, n of them under way at any time. */
static lt_status run_side_by_side(const bench_rollout_request *q, const side *b, int64_t operators, double *seconds)
{
    double start = cli_now();
    lt_status s = LT_OK;
    int64_t started = 0, done = 0;
    for (; done < operators && !s; done++) {
        for (; started < operators && started < done + b->n && !s; started++) s = lt_rollout_start(b->r[started % b->n], q->field, -1, NULL, NULL);
        if (!s) s = lt_rollout_wait(b->r[done % b->n], NULL);
    }
    *seconds = (cli_now() - start) / (double)operators;
    return s;
}

static lt_status time_side(const bench_rollout_request *q, const lt_operator_spec *spec, const lt_operator_weights *w, int n, int64_t steps, double *seconds)
{
    lt_rollout_options o = options_of(q, steps);
    side b = { .n = n };
    double warm;
    lt_status s = LT_OK;
    for (int i = 0; i < n && !s; i++) {
        s = lt_rollout_create(spec, &o, &b.r[i]);
        if (!s) s = lt_rollout_set_operator(b.r[i], spec, w);
    }
    if (!s) s = run_side_by_side(q, &b, n, &warm);
    if (!s) s = run_side_by_side(q, &b, 4 * (int64_t)MAX_SIDE, seconds);
    for (int i = 0; i < n; i++) lt_rollout_destroy(b.r[i]);
    return s;
}

static lt_status run_small(const bench_rollout_request *q)
{
    static const char *const columns[] = { "operator", "at once", "per operator", "TFLOP/s", "of one at a time" };
    static const struct { int layers, base, kernel; } shape[] = { { 2, 16, 3 }, { 2, 64, 3 }, { 3, 32, 3 }, { 2, 32, 7 } };
    static const int counts[] = { 1, 2, 4 };
    cli_table *t;
    int64_t steps = q->quick ? 9 : 97;
    CLI_TRY(begin(q, "side_by_side", "Small operators side by side, float16", CLI_LEN(columns), columns, &t));
    lt_status s = LT_OK;
    for (int i = 0; i < CLI_LEN(shape) && !s; i++) {
        lt_operator_spec spec = q->spec;
        lt_operator_weights *w = NULL;
        double one = NAN, seconds;
        spec.num_layers = shape[i].layers, spec.base_channels = shape[i].base, spec.kernel_size = shape[i].kernel;
        s = lt_operator_weights_create(&spec, &w);
        if (!s) s = lt_operator_weights_draw(w, (uint64_t)q->c->common.seed, 0);
        double flops = lt_operator_flops(&spec) * (double)(q->realizations * (steps - 1));
        for (int k = 0; k < CLI_LEN(counts) && !s; k++) {
            if ((s = time_side(q, &spec, w, counts[k], steps, &seconds))) break;
            if (k == 0) one = seconds;
            cli_table_row(t);
            cli_table_cell(t, 0, "%d layers, %d channels, %dx%d", spec.num_layers, spec.base_channels, spec.kernel_size, spec.kernel_size);
            cli_table_cell(t, 1, "%d", counts[k]);
            cli_table_cell(t, 2, "%s", cli_seconds(seconds).s);
            cli_table_cell(t, 3, "%.1f", 1e-12 * flops / seconds);
            cli_table_cell(t, 4, "%.2fx", seconds / one);
            if (!q->c->json) continue;
            lt_json_object_begin(q->c->json);
            lt_json_field_int(q->c->json, "layers", spec.num_layers);
            lt_json_field_int(q->c->json, "base_channels", spec.base_channels);
            lt_json_field_int(q->c->json, "kernel", spec.kernel_size);
            lt_json_field_int(q->c->json, "at_once", counts[k]);
            lt_json_field_double(q->c->json, "seconds_per_operator", seconds);
            lt_json_field_double(q->c->json, "tflops", 1e-12 * flops / seconds);
            lt_json_field_double(q->c->json, "of_one_at_a_time", seconds / one);
            lt_json_object_end(q->c->json);
        }
        lt_operator_weights_destroy(w);
    }
    return end(q, t, s);
}

/* ---- Ablation ----------------------------------------------------------------------------------------------- */
typedef struct technique {
    const char *name, *what;
    void (*change)(lt_rollout_options *o);
} technique;

static void nothing(lt_rollout_options *o) { (void)o; }
static void launched_apart(lt_rollout_options *o) { o->apart = true; }
static void one_step(lt_rollout_options *o) { o->steps_per_launch = 1; }
static void two_steps(lt_rollout_options *o) { o->steps_per_launch = 2; }
static void sixteen_steps(lt_rollout_options *o) { o->steps_per_launch = 16; }
static void graph_step(lt_rollout_options *o) { o->plain_step = true; }
static void forget(lt_rollout_options *o) { o->plain_step = true, o->forget_weights = true; }
static void no_fusion(lt_rollout_options *o) { o->plain_step = true, o->skip_passes |= 1u << LT_PASS_FUSE; }

static const technique techniques[] = {
    { "whole", "as it runs: 8 steps a launch", nothing },
    { "recorded", "every kernel launched by itself", launched_apart },
    { "steps_1", "1 step a launch", one_step },
    { "steps_2", "2 steps a launch", two_steps },
    { "steps_16", "16 steps a launch", sixteen_steps },
    { "fused_step", "the compiled graph instead of fused kernels", graph_step },
    { "held_weights", "the graph, weights cast at every step", forget },
    { "fusion", "the graph, every elementwise operation a pass", no_fusion },
};

static lt_status run_ablation(const bench_rollout_request *q)
{
    static const char *const columns[] = { "change", "which means", "step", "of the whole" };
    cli_table *t;
    double whole = NAN;
    CLI_TRY(begin(q, "ablation", "What each technique is worth, float16", CLI_LEN(columns), columns, &t));
    lt_status s = LT_OK;
    for (int i = 0; i < CLI_LEN(techniques) && !s; i++) {
        lt_rollout_options o = options_of(q, q->quick ? 17 : 97);
        timed r;
        techniques[i].change(&o);
        if ((s = time_rollout(q, &q->spec, q->weights, &o, &r))) break;
        double step = r.seconds / (double)r.applications;
        if (i == 0) whole = step;
        cli_table_row(t);
        cli_table_cell(t, 0, "%s", techniques[i].name);
        cli_table_cell(t, 1, "%s", techniques[i].what);
        cli_table_cell(t, 2, "%s", cli_seconds(step).s);
        cli_table_cell(t, 3, "%.2fx", step / whole);
        json_row(q, "without", techniques[i].name, q->realizations, &r);
        if (q->c->json) lt_json_field_double(q->c->json, "ratio", step / whole);
        json_row_end(q);
    }
    return end(q, t, s);
}

lt_status bench_rollout(const bench_rollout_request *q)
{
    timed half = { 0 };
    lt_device_info info = { .size = sizeof info };
    CLI_TRY(lt_device_describe(q->c->device, &info));
    if (!info.computes) return cli_fail(LT_ERR_UNSUPPORTED, "device %s plans and counts only: its times mean nothing", info.id);
    if (q->datasets_only) return bench_generation(q);
    CLI_TRY(run_precisions(q, &half));
    CLI_TRY(run_realizations(q));
    CLI_TRY(run_small(q));
    CLI_TRY(bench_generation(q));
    return q->ablate ? run_ablation(q) : LT_OK;
}
