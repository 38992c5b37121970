/* lathe-bench generate: the standard rollout in every precision, its layers against oneDNN, its cost
   per realization, and what each technique is worth. SPDX-License-Identifier: BSD-3-Clause */
#include "bench/commands.h"
#include "bench/generate/accuracy.h"
#include "bench/generate/rollout.h"
#include "cli/system/machine.h"
#include "bench/generate/operator_oracle.h"
#include "bench/peer/peers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct generate_options {
    cli_common  common;
    bool        quick, ablate, checksum, datasets, flat;
    int64_t     realizations, steps, samples, accuracy, ks;
    const char *peer;
} generate_options;

static const lt_option rows[] = {
    LT_OPTION_BOOL(generate_options, quick, "quick", "false", "a small operator and few steps: a look, not a figure to keep"),
    LT_OPTION_BOOL(generate_options, ablate, "ablate", "false", "the step again with one technique left out at a time"),
    LT_OPTION_INT(generate_options, realizations, "realizations", "5", LT_RANGE_CLOSED(1, 100), "M", "realizations advanced together"),
    LT_OPTION_INT(generate_options, steps, "steps", "500", LT_RANGE_CLOSED(2, 10000), "T", "on a GPU: states of a whole rollout"),
    LT_OPTION_INT(generate_options, samples, "samples", "5", LT_RANGE_CLOSED(1, 1000), "N", "steps timed per row; the median counts"),
    LT_OPTION_INT(generate_options, accuracy, "accuracy", "0", LT_RANGE_CLOSED(0, 100000), "N",
                  "instead of timings: the error of one step of N random operators against double precision"),
    LT_OPTION_INT(generate_options, ks, "ks", "0", LT_RANGE_CLOSED(0, 100000), "N",
                  "instead of timings: whether features of N operators have the same distribution in every precision"),
    LT_OPTION_BOOL(generate_options, checksum, "checksum", "false", "instead of timings: the checksum of 100 fixed operators that timings end with"),
    LT_OPTION_BOOL(generate_options, flat, "flat", "false", "of all timings only those of 1 to 15 realizations together"),
    LT_OPTION_BOOL(generate_options, datasets, "datasets", "false", "on a GPU: of all timings only those of whole datasets"),
    LT_OPTION_PATH(generate_options, peer, "peer", NULL, "FILE.json", "timings of PyTorch to compare with, from bench/peers/torch_rollout.py"),
};
static const lt_option_group groups[] = CLI_GROUPS(rows);
static const lt_option_table table = {
    .program = "lathe-bench generate", .summary = "Time operator rollouts against this machine's convolutions and PyTorch",
    .groups = groups, .n_groups = CLI_LEN(groups), .example = "lathe-bench generate --quick --ablate",
};

/* ---- The workload --------------------------------------------------------------------------- */
static lt_operator_spec workload(bool quick)
{
    lt_operator_spec s = lt_operator_defaults(LT_OPERATOR_CNN);
    s.num_layers = 4, s.base_channels = quick ? 16 : 64, s.kernel_size = 3, s.grid = quick ? 32 : 128;
    s.noise = LT_NOISE_GAUSSIAN, s.noise_scale = 0.01, s.policy = LT_POLICY_CONVEX, s.alpha = 0.5;
    return s;
}

static int64_t field_size(const lt_operator_spec *s) { return LT_FIELD_CHANNELS * (int64_t)s->grid * s->grid; }

static lt_status make_field(const lt_operator_spec *s, int64_t seed, float **out)
{
    *out = malloc((size_t)field_size(s) * sizeof **out);
    if (!*out) return cli_fail(LT_ERR_MEMORY, "no memory for a field");
    lt_draws d = lt_draws_make((uint64_t)seed, "bench field", 0, 0, 0);
    return lt_draws_normal_f32(&d, 0, field_size(s), *out);
}

/* ---- Timing steps ------------------------------------------------------------------------------ */
enum { MAX_SAMPLES = 1000 };

typedef struct steps {
    double  last, last_used, sample[MAX_SAMPLES], used[MAX_SAMPLES]; /* by the clock, and of all processors */
    int     n;
} steps;

/* What other programs take by the clock is not in it. */
static double processor_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static lt_status note_step(void *ctx, int64_t t, const float *states, const int64_t *failed)
{
    steps *s = ctx;
    double now = cli_now(), used = processor_seconds();
    (void)states, (void)failed;
    if (t > 1 && s->n < MAX_SAMPLES) s->used[s->n] = used - s->last_used, s->sample[s->n++] = now - s->last; /* the first step also packs weights */
    s->last = cli_now();
    s->last_used = processor_seconds();
    return cli_interrupted() ? cli_stopped() : LT_OK;
}

typedef struct rollout_time {
    double          seconds, low;  /* median and least of a step, all realizations */
    lt_rollout_info info;
} rollout_time;

static lt_status time_rollout(const lt_operator_spec *spec, const lt_rollout_options *opt, const lt_operator_weights *w, const float *field, rollout_time *out)
{
    steps s = { 0 };
    lt_rollout *r;
    CLI_TRY(lt_rollout_create(spec, opt, &r));
    lt_status status = lt_rollout_set_operator(r, spec, w);
    if (!status) status = lt_rollout_run(r, field, -1, note_step, &s, NULL);
    out->info = lt_rollout_get_info(r);
    lt_rollout_destroy(r);
    if (status) return status;
    qsort(s.sample, (size_t)s.n, sizeof *s.sample, cli_ascending);
    out->seconds = s.sample[s.n / 2];
    out->low = s.sample[0];
    return LT_OK;
}

/* ---- Precisions --------------------------------------------------------------------------------- */
typedef struct bench {
    cli_context            *c;
    const generate_options *o;
    lt_operator_spec        spec;
    lt_operator_weights    *weights;
    float                  *field;
    double                  float32_seconds, convolutions_seconds, peak;
    peer_file               peer;
} bench;

static lt_rollout_options options_of(const bench *b)
{
    lt_rollout_options opt = lt_rollout_defaults();
    opt.realizations = b->o->realizations;
    opt.steps = b->o->samples + 2;
    opt.device = b->c->device;
    return opt;
}

static void begin(bench *b, const char *key)
{
    if (!b->c->json) return;
    lt_json_key(b->c->json, key);
    lt_json_array_begin(b->c->json);
}

static lt_status end(bench *b, cli_table *t)
{
    if (b->c->json) lt_json_array_end(b->c->json);
    else cli_table_print(t, stdout), putchar('\n');
    cli_table_destroy(t);
    return LT_OK;
}

static void precision_row(bench *b, cli_table *t, lt_precision p, const rollout_time *r, double error)
{
    const double limit = operator_error_limit(p);
    lt_json *j = b->c->json;
    double memory = (double)(r->info.arena_bytes + r->info.weight_bytes + r->info.state_bytes);
    char key[32];
    snprintf(key, sizeof key, "%s_eager", lt_precision_name(p));
    double eager = peer_file_seconds(&b->peer, key);
    snprintf(key, sizeof key, "%s_best", lt_precision_name(p));
    double best = peer_file_seconds(&b->peer, key);
    cli_table_row(t);
    cli_table_cell(t, 0, "%s", lt_precision_name(p));
    cli_table_cell(t, 1, "%s", cli_seconds(r->seconds).s);
    cli_table_cell(t, 2, "%.0f", r->info.flops / r->seconds * 1e-9);
    cli_table_cell(t, 3, "%.2fx", b->float32_seconds / r->seconds);
    if (isfinite(b->convolutions_seconds)) cli_table_cell(t, 4, "%.2fx", r->seconds / b->convolutions_seconds);
    if (isfinite(eager)) cli_table_cell(t, 5, "%.2fx / %.2fx", eager / r->seconds, best / r->seconds);
    cli_table_cell(t, 6, "%s", cli_bytes(memory).s);
    cli_table_cell(t, 7, "%.1e (limit %.0e)", error, limit);
    cli_table_cell(t, 8, "%s", r->info.arithmetic);
    if (!j) return;
    lt_json_object_begin(j);
    lt_json_field_string(j, "precision", lt_precision_name(p));
    lt_json_field_double(j, "seconds", r->seconds);
    lt_json_field_double(j, "seconds_least", r->low);
    lt_json_field_double(j, "flops", r->info.flops);
    lt_json_field_double(j, "speedup", b->float32_seconds / r->seconds);
    lt_json_field_double(j, "convolutions_ratio", r->seconds / b->convolutions_seconds);
    lt_json_field_double(j, "torch_eager_ratio", eager / r->seconds);
    lt_json_field_double(j, "torch_best_ratio", best / r->seconds);
    lt_json_field_int(j, "arena_bytes", r->info.arena_bytes);
    lt_json_field_int(j, "weight_bytes", r->info.weight_bytes);
    lt_json_field_int(j, "state_bytes", r->info.state_bytes);
    lt_json_field_double(j, "one_step_error", error);
    lt_json_field_double(j, "error_limit", limit);
    lt_json_field_string(j, "arithmetic", r->info.arithmetic);
    lt_json_field_int(j, "kernels_per_step", r->info.kernels_per_step);
    lt_json_object_end(j);
}

static lt_status run_precisions(bench *b)
{
    static const char *const columns[] = { "precision", "step", "GFLOP/s", "speed-up", "convs alone", "PyTorch eager/best", "memory", "one-step error", "arithmetic" };
    cli_table *t;
    double *want = NULL, error[LT_PRECISION_COUNT];
    rollout_time r[LT_PRECISION_COUNT];
    CLI_TRY(cli_table_create("One step of the standard operator", CLI_LEN(columns), columns, &t));
    lt_status s = operator_oracle(&b->spec, b->weights, b->field, &want);
    for (int p = 0; !s && p < LT_PRECISION_COUNT; p++) {
        lt_rollout_options opt = options_of(b);
        opt.precision = (lt_precision)p;
        s = time_rollout(&b->spec, &opt, b->weights, b->field, &r[p]);
        if (!s) s = operator_error(&b->spec, opt.precision, b->weights, b->field, want, &error[p]);
    }
    free(want);
    if (s) { cli_table_destroy(t); return s; }
    b->float32_seconds = r[LT_PRECISION_FLOAT32].seconds;
    begin(b, "precisions");
    for (int p = 0; p < LT_PRECISION_COUNT; p++) precision_row(b, t, (lt_precision)p, &r[p], error[p]);
    return end(b, t);
}

/* ---- Layers --------------------------------------------------------------------------------------- */
typedef struct layer_run { lt_program *program; const void *input[2]; void *output[1]; } layer_run;

static lt_status run_layer(void *ctx)
{
    layer_run *r = ctx;
    return lt_program_run(r->program, r->input, r->output);
}

/* The convolution as rollouts run it: channels last, one image, its weights packed ahead. */
static lt_status time_layer(const peer_layer *l, double budget, cli_timing *out)
{
    lt_graph *g;
    lt_conv_options opt = lt_conv_defaults();
    lt_compile_options compile = { .size = sizeof compile, .held_from = 1 };
    int64_t pixels = l->side * l->side;
    float *x = calloc((size_t)(pixels * l->in), sizeof *x), *w = calloc((size_t)(l->in * l->out * l->kernel * l->kernel), sizeof *w);
    float *y = malloc((size_t)(pixels * l->out) * sizeof *y);
    layer_run r = { .input = { x, w }, .output = { y } };
    lt_status s = x && w && y ? lt_graph_create(&g) : cli_fail(LT_ERR_MEMORY, "no memory for a layer");
    if (!s) {
        opt.channels_last = true;
        opt.padding[0] = opt.padding[1] = l->kernel / 2;
        lt_node in = lt_input(g, "x", LT_F32, lt_shape4(1, l->side, l->side, l->in));
        lt_node weights = lt_input(g, "w", LT_F32, lt_shape4(l->out, l->in, l->kernel, l->kernel));
        lt_node result = lt_conv2d(g, in, weights, LT_NONE, &opt);
        for (int64_t i = 0; i < pixels * l->in; i++) x[i] = (float)(i % 7) - 3;
        for (int64_t i = 0; i < l->in * l->out * l->kernel * l->kernel; i++) w[i] = (float)(i % 5) - 2;
        s = lt_program_create(g, &result, 1, &compile, &r.program);
        if (!s) s = cli_time(run_layer, &r, budget, out);
        lt_program_destroy(r.program);
        lt_graph_destroy(g);
    }
    free(x);
    free(w);
    free(y);
    return s;
}

/* The distinct convolutions of the workload and how often a step has each. */
static int layers_of(const lt_operator_spec *s, peer_layer *layer, int *times)
{
    int64_t b = s->base_channels, k = s->kernel_size, g = s->grid;
    const struct { int64_t in, out, kernel; int times; } row[] = {
        { LT_FIELD_CHANNELS, b, k, 1 }, { b, b, k, 2 }, { b, 2 * b, k, 1 }, { 2 * b, 2 * b, k, 1 }, { b, 2 * b, 1, 1 }, { 2 * b, 4 * b, k, 1 },
        { 4 * b, 4 * b, k, 3 }, { 2 * b, 4 * b, 1, 1 }, { 4 * b, LT_FIELD_CHANNELS, 1, 1 },
    };
    for (int i = 0; i < CLI_LEN(row); i++) {
        layer[i] = (peer_layer){ 1, row[i].in, row[i].out, row[i].kernel, g };
        times[i] = row[i].times;
    }
    return CLI_LEN(row);
}

static lt_status run_layers(bench *b)
{
    static const char *const columns[] = { "layer", "times", "lathe", "oneDNN", "GFLOP/s", "share of peak", "lathe : oneDNN" };
    cli_table *t;
    peer_layer layer[16];
    int times[16], n = layers_of(&b->spec, layer, times);
    double budget = b->o->quick ? 0.02 : 0.3, total = 0, ours = 0;
    CLI_TRY(cli_measure_peak(LT_F32, cli_core_count(), budget, &b->peak));
    CLI_TRY(cli_table_create("Convolutions of one realization alone", CLI_LEN(columns), columns, &t));
    begin(b, "layers");
    lt_status s = LT_OK;
    for (int i = 0; i < n && !s; i++) {
        const peer_layer *l = &layer[i];
        peer_layer batch = *l;
        cli_timing own, other = { .median = NAN };
        batch.batch = b->o->realizations;
        s = time_layer(l, budget, &own);
        if (s) break;
        if (peer_onednn_conv(&batch, true, budget, &other)) other.median = NAN;
        double flops = 2.0 * (double)(l->in * l->out * l->kernel * l->kernel * l->side * l->side), each = other.median / (double)batch.batch;
        total += other.median * times[i];
        ours += own.median * times[i];
        cli_table_row(t);
        cli_table_cell(t, 0, "%lld -> %lld, %lldx%lld", (long long)l->in, (long long)l->out, (long long)l->kernel, (long long)l->kernel);
        cli_table_cell(t, 1, "%d", times[i]);
        cli_table_cell(t, 2, "%s", cli_seconds(own.median).s);
        if (isfinite(each)) cli_table_cell(t, 3, "%s", cli_seconds(each).s);
        cli_table_cell(t, 4, "%.0f", flops / own.median * 1e-9);
        cli_table_cell(t, 5, "%.0f %%", 100 * flops / own.median / b->peak);
        if (isfinite(each)) cli_table_cell(t, 6, "%.2fx", each / own.median);
        if (!b->c->json) continue;
        lt_json *j = b->c->json;
        lt_json_object_begin(j);
        lt_json_field_int(j, "in", l->in);
        lt_json_field_int(j, "out", l->out);
        lt_json_field_int(j, "kernel", l->kernel);
        lt_json_field_int(j, "times", times[i]);
        lt_json_field_double(j, "seconds", own.median);
        lt_json_field_double(j, "onednn_seconds", each);
        lt_json_field_double(j, "flops", flops);
        lt_json_field_double(j, "share_of_peak", flops / own.median / b->peak);
        lt_json_object_end(j);
    }
    b->convolutions_seconds = total;
    CLI_TRY(end(b, t));
    if (b->c->json) {
        lt_json_field_double(b->c->json, "onednn_convolutions_seconds", total);
        lt_json_field_double(b->c->json, "lathe_convolutions_seconds", ours * (double)b->o->realizations);
        lt_json_field_double(b->c->json, "peak_flops", b->peak);
    } else if (!s) {
        printf("convolutions of a step alone, %lld realizations: oneDNN %s, lathe %s; multiply-adds in registers %.0f GFLOP/s\n\n",
               (long long)b->o->realizations, cli_seconds(total).s, cli_seconds(ours * (double)b->o->realizations).s, b->peak * 1e-9);
    }
    return s;
}

/* ---- Realizations and ablation ------------------------------------------------------------------------ */
enum { FLAT_COUNTS = 6, FLAT_STEPS = 4 };
static const int64_t flat_count[FLAT_COUNTS] = { 1, 2, 3, 5, 10, 15 };
static const double  flat_limit = 1.03; /* what is asked of a realization among many, times that of one alone */

typedef struct flat {
    lt_rollout *rollout[FLAT_COUNTS];
    steps       time[FLAT_COUNTS];
} flat;

static lt_status create_flat(const bench *b, const lt_operator_spec *spec, const lt_operator_weights *w, flat *f)
{
    for (int i = 0; i < FLAT_COUNTS; i++) {
        lt_rollout_options opt = options_of(b);
        opt.realizations = flat_count[i];
        opt.steps = FLAT_STEPS;
        CLI_TRY(lt_rollout_create(spec, &opt, &f->rollout[i]));
        CLI_TRY(lt_rollout_set_operator(f->rollout[i], spec, w));
    }
    return LT_OK;
}

/* All numbers in turns, so that a machine that slows down slows all of them. */
static lt_status time_flat(const bench *b, const float *field, flat *f)
{
    for (int64_t round = 0; round < b->o->samples; round++)
        for (int i = 0; i < FLAT_COUNTS; i++) CLI_TRY(lt_rollout_run(f->rollout[i], field, -1, note_step, &f->time[i], NULL));
    for (int i = 0; i < FLAT_COUNTS; i++) {
        qsort(f->time[i].sample, (size_t)f->time[i].n, sizeof *f->time[i].sample, cli_ascending);
        qsort(f->time[i].used, (size_t)f->time[i].n, sizeof *f->time[i].used, cli_ascending);
    }
    return LT_OK;
}

static lt_status show_flat(bench *b, const lt_operator_spec *spec, const flat *f)
{
    static const char *const columns[] = { "realizations", "step", "per realization", "of M = 1", "by processor time" };
    char title[96];
    cli_table *t;
    lt_json *j = b->c->json;
    double worst = 0;
    snprintf(title, sizeof title, "Cost per realization, %d x %d", spec->grid, spec->grid);
    CLI_TRY(cli_table_create(title, CLI_LEN(columns), columns, &t));
    for (int i = 0; i < FLAT_COUNTS; i++) {
        const steps *one = &f->time[0], *s = &f->time[i];
        double step = s->sample[s->n / 2], each = step / (double)flat_count[i], ratio = each / one->sample[one->n / 2];
        double used = s->used[s->n / 2] / (double)flat_count[i] / one->used[one->n / 2];
        worst = fmax(worst, ratio);
        cli_table_row(t);
        cli_table_cell(t, 0, "%lld", (long long)flat_count[i]);
        cli_table_cell(t, 1, "%s", cli_seconds(step).s);
        cli_table_cell(t, 2, "%s", cli_seconds(each).s);
        cli_table_cell(t, 3, "%.3fx", ratio);
        cli_table_cell(t, 4, "%.3fx", used);
        if (!j) continue;
        lt_json_object_begin(j);
        lt_json_field_int(j, "grid", spec->grid);
        lt_json_field_int(j, "realizations", flat_count[i]);
        lt_json_field_double(j, "seconds_per_realization", each);
        lt_json_field_double(j, "ratio", ratio);
        lt_json_field_double(j, "ratio_of_processor_time", used);
        lt_json_object_end(j);
    }
    if (!j) cli_table_print(t, stdout), printf("worst %.3f times that of M = 1, %.2f asked: %s\n\n", worst, flat_limit, worst <= flat_limit ? "met" : "missed");
    cli_table_destroy(t);
    return LT_OK;
}

static lt_status run_flat(bench *b, int grid)
{
    lt_operator_spec spec = b->spec;
    flat f = { 0 };
    lt_operator_weights *w = NULL;
    spec.grid = grid;
    lt_status s = lt_operator_weights_create(&spec, &w);
    if (!s) s = lt_operator_weights_draw(w, (uint64_t)b->c->common.seed, 0);
    if (!s) s = create_flat(b, &spec, w, &f);
    if (!s) s = time_flat(b, b->field, &f);
    if (!s) s = show_flat(b, &spec, &f);
    for (int i = 0; i < FLAT_COUNTS; i++) lt_rollout_destroy(f.rollout[i]);
    lt_operator_weights_destroy(w);
    return s;
}

/* The grids of the standard spaces; the field of the larger begins like one of the smaller. */
static lt_status run_realizations(bench *b)
{
    begin(b, "realizations");
    lt_status s = run_flat(b, b->spec.grid);
    if (!s) s = run_flat(b, b->spec.grid / 2);
    if (b->c->json) lt_json_array_end(b->c->json);
    return s;
}

typedef struct technique {
    const char *name, *what;
    void (*leave_out)(lt_operator_spec *s, lt_rollout_options *o);
} technique;

static void no_fusion(lt_operator_spec *s, lt_rollout_options *o) { (void)s; o->skip_passes |= 1u << LT_PASS_FUSE; }
static void no_layout(lt_operator_spec *s, lt_rollout_options *o) { (void)s; o->skip_passes |= 1u << LT_PASS_LAYOUT; }
static void no_reuse(lt_operator_spec *s, lt_rollout_options *o) { (void)s; o->skip_passes |= 1u << LT_PASS_REUSE; }
static void no_hold(lt_operator_spec *s, lt_rollout_options *o) { (void)s; o->forget_weights = true; }
static void no_shortcut(lt_operator_spec *s, lt_rollout_options *o) { (void)o; s->noise = LT_NOISE_LAPLACE; }
static void wrap_around(lt_operator_spec *s, lt_rollout_options *o) { (void)o; s->circular_padding = true; }
static void fast_gelu(lt_operator_spec *s, lt_rollout_options *o) { (void)o; s->tanh_gelu = true; }
static void no_norm(lt_operator_spec *s, lt_rollout_options *o) { (void)o; s->normalization = LT_NORM_BATCH; }

static const technique techniques[] = {
    { "fusion", "every elementwise operation a pass of its own", no_fusion },
    { "layout", "channels not side by side", no_layout },
    { "memory_reuse", "every value in memory of its own", no_reuse },
    { "packed_weights", "weights transformed at every step", no_hold },
    { "noise_shortcut", "noise drawn on the widest map (laplace)", no_shortcut },
    { "zero_padding", "circular padding by copies", wrap_around },
    { "erf_gelu", "tanh form of GELU", fast_gelu },
    { "statistics", "normalisation without statistics (batch)", no_norm },
};

static lt_status run_ablation(bench *b)
{
    static const char *const columns[] = { "without", "which means", "step", "of the whole" };
    cli_table *t;
    CLI_TRY(cli_table_create("What each technique is worth, float32", CLI_LEN(columns), columns, &t));
    begin(b, "ablation");
    lt_status s = LT_OK;
    for (int i = 0; i < CLI_LEN(techniques) && !s; i++) {
        lt_operator_spec spec = b->spec;
        lt_rollout_options opt = options_of(b);
        lt_operator_weights *w = NULL;
        rollout_time r;
        techniques[i].leave_out(&spec, &opt);
        s = lt_operator_weights_create(&spec, &w);
        if (!s) s = lt_operator_weights_draw(w, (uint64_t)b->c->common.seed, 0);
        if (!s) s = time_rollout(&spec, &opt, w, b->field, &r);
        lt_operator_weights_destroy(w);
        if (s) break;
        cli_table_row(t);
        cli_table_cell(t, 0, "%s", techniques[i].name);
        cli_table_cell(t, 1, "%s", techniques[i].what);
        cli_table_cell(t, 2, "%s", cli_seconds(r.seconds).s);
        cli_table_cell(t, 3, "%.2fx", r.seconds / b->float32_seconds);
        if (!b->c->json) continue;
        lt_json_object_begin(b->c->json);
        lt_json_field_string(b->c->json, "without", techniques[i].name);
        lt_json_field_double(b->c->json, "seconds", r.seconds);
        lt_json_field_double(b->c->json, "ratio", r.seconds / b->float32_seconds);
        lt_json_object_end(b->c->json);
    }
    CLI_TRY(end(b, t));
    return s;
}

static lt_status run_on_device(const bench *b)
{
    return bench_rollout(&(bench_rollout_request){ .c = b->c, .spec = b->spec, .weights = b->weights, .field = b->field, .peer = &b->peer,
                                                   .realizations = b->o->realizations, .steps = b->o->quick ? 17 : b->o->steps,
                                                   .samples = b->o->samples, .quick = b->o->quick, .ablate = b->o->ablate, .datasets_only = b->o->datasets });
}

static lt_status run_all(bench *b)
{
    b->spec = workload(b->o->quick);
    CLI_TRY(make_field(&b->spec, b->c->common.seed, &b->field));
    CLI_TRY(lt_operator_weights_create(&b->spec, &b->weights));
    CLI_TRY(lt_operator_weights_draw(b->weights, (uint64_t)b->c->common.seed, 0));
    if (b->c->json) {
        CLI_TRY(cli_json_machine(b->c));
        lt_json_field_bool(b->c->json, "quick", b->o->quick);
        lt_json_field_int(b->c->json, "realizations_timed", b->o->realizations);
        lt_json_field_string(b->c->json, "peer", b->peer.peer);
    }
    if (!cli_on_cpu(b->c->device)) return run_on_device(b);
    if (b->o->datasets) return cli_fail(LT_ERR_ARGUMENT, "--datasets: whole datasets are timed on a GPU only; this is %s", lt_device_id(b->c->device));
    if (b->o->flat) return run_realizations(b);
    CLI_TRY(run_layers(b));
    CLI_TRY(run_precisions(b));
    CLI_TRY(run_realizations(b));
    if (b->o->ablate) CLI_TRY(run_ablation(b));
    return b->o->quick ? LT_OK : bench_checksum(b->c);
}

static lt_status run(cli_context *c)
{
    const generate_options *o = c->options;
    if (o->accuracy || o->ks) return bench_accuracy(c, o->accuracy, o->ks, o->quick);
    if (o->checksum) {
        if (c->json) CLI_TRY(cli_json_machine(c));
        return bench_checksum(c);
    }
    bench b = { .c = c, .o = c->options };
    lt_status s = b.o->peer ? peer_file_read(b.o->peer, &b.peer) : LT_OK;
    if (!s) s = run_all(&b);
    lt_operator_weights_destroy(b.weights);
    free(b.field);
    return s;
}

const cli_command bench_generate = {
    .name = "generate", .options = &table, .options_bytes = sizeof(generate_options), .need = CLI_NEED_CPU, .stops = true, .run = run,
    .description = "Times the rollout of one operator of the reference workload (4 residual blocks, 64 channels, 3x3, 128x128, five realizations): "
                   "its convolutions alone, in lathe and in oneDNN, as a share of the multiply-adds the cores can do; a whole step in each precision with "
                   "memory and the error of one step against double precision; the cost per realization for M = 1 to 15 (--flat: that alone); with --ablate, the step "
                   "with one technique left out at a time.\n"
                   "With --device cuda whole rollouts of --steps states are timed on the GPU, in every precision; then 1 to 40 realizations, small operators "
                   "one at a time and side by side, whole datasets with features and without, and with --ablate recorded sequences, their length and the fused step.\n"
                   "Timings end with a checksum of the features of 100 fixed operators in every precision, computed twice, beside the recorded one; --checksum prints it "
                   "alone.\n"
                   "--accuracy and --ks check instead of timing, and fail when a limit is passed: one step of random operators in every precision "
                   "against double precision; two-sample Kolmogorov-Smirnov tests of every feature between precisions.\n"
                   "bench/peers/torch_rollout.py times the same step in PyTorch; with --peer its ratios are added.",
};
