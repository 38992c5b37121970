/* lathe-bench gram --sweep targets: the promised times of a GPU, one row each, checked against the CPU.
   SPDX-License-Identifier: BSD-3-Clause */
#include "bench/gram/gram.h"
#include "bench/peer/peers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLED = 48, MAX_TARGETS = 40 };

typedef enum measure { ON_DEVICE, WHOLE_CALL } measure; /* K stays on the device, by its clock; or K in host memory, by the host's */

typedef struct target {
    const char    *id, *what;
    int64_t        n, q;
    lt_gram_method method;
    lt_gram_float  type;
    measure        measured;
    double         must, seed;   /* seconds; 0: none */
    const char    *peer;         /* a row of the peer's file; NULL = none */
    bool           no_precompute, pageable, large;
    int64_t        state_tile;   /* 0: by memory */
    const char    *against;      /* what: the row whose time counts as 1; NULL = none */
    double         at_most;      /* times that row */
} target;

/* States of 20000 rows, K left on the device; and whole calls for 16 qubits. */
#define STATES64(tag, qubits, limit) { .id = tag, .what = "states float64 q=" #qubits, .n = 20000, .q = qubits, .method = LT_GRAM_STATES, \
                                       .type = LT_GRAM_FLOAT64, .must = limit, .peer = "c128 q" #qubits }
#define STATES32(qubits, limit) { .id = "", .what = "states float32 q=" #qubits, .n = 20000, .q = qubits, .method = LT_GRAM_STATES, \
                                  .type = LT_GRAM_FLOAT32, .must = limit, .peer = "c64 q" #qubits }
#define STATES16(qubits) { .id = "", .what = "states float16 q=" #qubits, .n = 20000, .q = qubits, .method = LT_GRAM_STATES, .type = LT_GRAM_FLOAT16 }
#define CALL(tag, rows, limit, before) { .id = tag, .what = "call q=16 N=" #rows, .n = rows, .q = 16, .method = LT_GRAM_STATES, \
                                         .measured = WHOLE_CALL, .must = limit, .seed = before, .peer = "call q16 n" #rows }
#define OTHER(tag, text, way, clock) .id = tag, .what = text, .n = 20000, .q = 16, .method = way, .measured = clock
static const target targets[] = {
    STATES64("T7", 6, 2.5e-3), STATES64("", 8, 10e-3), STATES64("T3", 10, 38e-3), STATES64("T3", 12, 145e-3),
    STATES32(6, 2e-3), STATES32(8, 6e-3), STATES32(10, 22e-3), STATES32(12, 85e-3),
    STATES16(6), STATES16(8), STATES16(10), STATES16(12),
    CALL("T2", 2000, 0.06, 16.1), CALL("T2", 4000, 0.15, 33.6), CALL("T2", 8000, 0.5, 71.4), CALL("T2", 16000, 1.7, 166), CALL("T1", 20000, 2.5, 218),
    { OTHER("T4", "product q=16", LT_GRAM_PRODUCT, ON_DEVICE), .must = 3e-3, .peer = "product q16" },
    { OTHER("T4", "product q=16, call", LT_GRAM_PRODUCT, WHOLE_CALL), .must = 0.1, .peer = "product q16 call" },
    { OTHER("T5", "transfer q=16", LT_GRAM_TRANSFER, ON_DEVICE), .must = 0.12 },
    { OTHER("T9", "call, no precompute", LT_GRAM_STATES, WHOLE_CALL), .no_precompute = true, .against = "call q=16 N=20000", .at_most = 1.15 },
    { OTHER("T9", "the same, 4096 rows held", LT_GRAM_STATES, WHOLE_CALL), .no_precompute = true, .state_tile = 4096, .against = "call q=16 N=20000",
      .at_most = 1.15 },
    { OTHER("T10", "product, K by pageable memory", LT_GRAM_PRODUCT, WHOLE_CALL), .pageable = true },
    { .id = "T8", .what = "call q=16 N=100000", .n = 100000, .q = 16, .method = LT_GRAM_STATES, .measured = WHOLE_CALL, .must = 75, .large = true },
};

static bool is_named(const target *t, const char *only) { return !strcmp(t->id, only) || !strncmp(t->what, only, strlen(only)); }

/* Large rows only where asked for; float16 is nothing for the CPU, which says so to who asks by name. */
static bool is_wanted(const target *t, const gram_bench *b)
{
    const gram_bench_options *o = b->o;
    bool named = o->only.n == 0 && !(t->type == LT_GRAM_FLOAT16 && gram_on_cpu(b));
    for (int i = 0; i < o->only.n; i++) named |= is_named(t, o->only.item[i]);
    return named && (!t->large || o->large);
}

lt_status gram_targets_check(const gram_bench_options *o)
{
    for (int i = 0; i < o->only.n; i++) {
        bool known = false, small = false;
        for (int k = 0; k < CLI_LEN(targets); k++)
            if (is_named(&targets[k], o->only.item[i])) known = true, small |= !targets[k].large;
        if (!known) return cli_fail(LT_ERR_ARGUMENT, "--only %s: no row has this name; they are T1 to T5, T7 to T10, 'states float64 q=6' and the like", o->only.item[i]);
        if (!small && !o->large) return cli_fail(LT_ERR_ARGUMENT, "--only %s: that row needs 80 GB of memory; say --large too", o->only.item[i]);
    }
    return LT_OK;
}

typedef struct outcome {
    const target *t;
    int64_t       n, q;
    double        seconds, peer, error;  /* peer: NaN = not measured */
    double        must;
    bool          met;                   /* where must > 0 */
    double        states_seconds, states_rate, copy_rate; /* bytes written per second; bytes of K copied to the host per second */
    lt_gram_info  info;
} outcome;

typedef struct targets_run {
    gram_bench *b;
    double     *x, *w, *K;
    bool        judged;                  /* full sizes on a device of its own: the promises apply */
    peer_file   peer;
    double      bandwidth;               /* of the device's memory, bytes per second; 0 = not asked */
    int         n_rows;
    outcome     row[MAX_TARGETS];
} targets_run;

/* ---- accuracy ---- */

/* Rows spread over X, and their K by states on the CPU. */
static lt_status oracle(const target *t, const targets_run *r, const outcome *o, int64_t m, double *sample, double *want)
{
    lt_gram_options opt = lt_gram_defaults();
    lt_gram *g;
    opt.re_embed_between_layers = t->method != LT_GRAM_PRODUCT;
    opt.method = LT_GRAM_STATES;
    for (int64_t i = 0; i < m; i++)
        memcpy(sample + i * o->q, r->x + (m > 1 ? i * (o->n - 1) / (m - 1) : 0) * o->q, (size_t)o->q * sizeof *sample);
    CLI_TRY(lt_gram_create(NULL, &opt, &(lt_weights){ r->w, r->b->o->layers, o->q }, &g));
    lt_status s = lt_gram_fill(g, &(lt_rows){ sample, LT_F64, m, o->q, 0 }, NULL, want);
    lt_gram_destroy(g);
    return s;
}

static lt_status compare(const target *t, const targets_run *r, outcome *o)
{
    int64_t m = o->n < SAMPLED ? o->n : SAMPLED;
    double *sample = malloc((size_t)(m * o->q) * sizeof *sample), *want = malloc((size_t)(m * m) * sizeof *want);
    lt_status s = sample && want ? oracle(t, r, o, m, sample, want) : cli_fail(LT_ERR_MEMORY, "no memory for the rows to compare");
    for (int64_t i = 0; !s && i < m; i++)
        for (int64_t j = 0; j < m; j++) {
            int64_t row = m > 1 ? i * (o->n - 1) / (m - 1) : 0, column = m > 1 ? j * (o->n - 1) / (m - 1) : 0;
            double d = fabs(r->K[row * o->n + column] - want[i * m + j]);
            if (!(d <= o->error)) o->error = d;
        }
    free(sample);
    free(want);
    return s;
}

/* ---- measuring ---- */

static lt_status call(const targets_run *r, lt_gram *g, const outcome *o, void *K, double *seconds, lt_gram_info *info)
{
    double start = cli_now();
    CLI_TRY(lt_gram_fill(g, &(lt_rows){ r->x, LT_F64, o->n, o->q, 0 }, NULL, K));
    *info = lt_gram_get_info(g);
    *seconds = K || info->device_seconds <= 0 ? cli_now() - start : info->device_seconds;
    return cli_interrupted() ? cli_stopped() : LT_OK;
}

/* The first call, with K on the host, is compared and not timed, unless it alone takes long. */
static lt_status time_calls(targets_run *r, lt_gram *g, const target *t, outcome *o)
{
    double seconds[GRAM_MAX_REPEATS], first;
    void *K = t->measured == ON_DEVICE && r->judged ? NULL : r->K;
    CLI_TRY(call(r, g, o, r->K, &first, &o->info));
    CLI_TRY(compare(t, r, o));
    o->seconds = first;
    if (first > 20) return LT_OK;
    int n = first > 0.5 && r->b->repeats > 2 ? 2 : r->b->repeats;
    for (int i = 0; i < n; i++) CLI_TRY(call(r, g, o, K, &seconds[i], &o->info));
    qsort(seconds, (size_t)n, sizeof *seconds, cli_ascending);
    o->seconds = n % 2 ? seconds[n / 2] : (seconds[n / 2 - 1] + seconds[n / 2]) / 2;
    return LT_OK;
}

static void look_at(targets_run *r, lt_gram *g, outcome *o)
{
    lt_gram_profile p = lt_gram_get_profile(g);
    o->copy_rate = p.d2h_seconds > 0 ? (double)p.d2h_bytes / p.d2h_seconds : 0;
    o->states_seconds = o->info.states_seconds;
    if (o->info.method == LT_GRAM_STATES && o->states_seconds > 0)
        o->states_rate = (double)o->info.states_built * ldexp(o->t->type == LT_GRAM_FLOAT64 ? 16 : 8, (int)o->q) / o->states_seconds;
    o->must = r->judged ? o->t->must : 0;
    for (int i = 0; o->t->against && r->judged && i < r->n_rows; i++)
        if (!strcmp(r->row[i].t->what, o->t->against)) o->must = o->t->at_most * r->row[i].seconds;
    o->met = o->seconds <= o->must;
}

/* The error of a row says which one it was. */
static lt_status name_row(const target *t, lt_status s)
{
    char text[512];
    snprintf(text, sizeof text, "%s", lt_error_text());
    return cli_fail(s, "%s: %s", t->what, text);
}

static lt_status run_target(targets_run *r, const target *t)
{
    outcome *o = &r->row[r->n_rows];
    lt_gram_options opt = lt_gram_defaults();
    bool quick = r->b->o->quick;
    lt_gram *g = NULL;
    *o = (outcome){ .t = t, .n = quick ? 90 : t->n, .q = quick && t->q > 8 ? 8 : t->q, .peer = t->peer ? peer_file_seconds(&r->peer, t->peer) : NAN };
    opt.re_embed_between_layers = t->method != LT_GRAM_PRODUCT;
    opt.method = t->method;
    opt.dtype = t->type;
    opt.precompute_all_states = !t->no_precompute;
    if (t->state_tile) opt.state_tile = t->state_tile;
    opt.pinned = !t->pageable;
    opt.profile_memory = t->method == LT_GRAM_PRODUCT && t->measured == WHOLE_CALL; /* rates of the copies */
    opt.learn_tiles = false;
    lt_status s = lt_gram_create(r->b->c->device, &opt, &(lt_weights){ r->w, r->b->o->layers, o->q }, &g);
    if (!s) s = time_calls(r, g, t, o);
    if (!s) look_at(r, g, o);
    lt_gram_destroy(g);
    r->n_rows += s == LT_OK;
    return s && s != LT_ERR_CANCELLED ? name_row(t, s) : s;
}

/* ---- presenting ---- */

static double tflops(const outcome *o)
{
    return o->info.method == LT_GRAM_STATES ? 1e-12 * (double)o->info.pairs * ldexp(8, (int)o->q) / o->seconds : NAN;
}

static void optional_cell(cli_table *t, int column, bool present, const char *format, double v)
{
    char text[32] = "";
    if (present) snprintf(text, sizeof text, format, v);
    cli_table_cell(t, column, "%s", text);
}

static const outcome *find(const targets_run *r, const char *what)
{
    for (int i = 0; i < r->n_rows; i++)
        if (!strcmp(r->row[i].t->what, what)) return &r->row[i];
    return NULL;
}

/* T6 and T10 are shares and rates of rows above. */
static void print_rates(const targets_run *r)
{
    const outcome *call = find(r, "call q=16 N=20000"), *pinned = find(r, "product q=16, call"), *pageable = find(r, "product, K by pageable memory");
    if (call && call->states_rate > 0 && r->bandwidth > 0)
        printf("T6: states take %.2g %% of the call (at most 10), written at %.3g TB/s, %.0f %% of the memory's %.3g TB/s (at least 40)\n",
               100 * call->states_seconds / call->seconds, 1e-12 * call->states_rate, 100 * call->states_rate / r->bandwidth, 1e-12 * r->bandwidth);
    if (pinned && pageable && pageable->copy_rate > 0)
        printf("T10: K comes home at %.3g GB/s, by pageable memory at %.3g GB/s: %.2f times (at least 2); states never do\n", 1e-9 * pinned->copy_rate,
               1e-9 * pageable->copy_rate, pinned->copy_rate / pageable->copy_rate);
}

static lt_status print_table(const targets_run *r)
{
    const char *columns[] = { "target", "row", "N", "clock", "time", "must", "", "seed", "peer", "x peer", "TFLOP/s", "max diff" };
    cli_table *t;
    CLI_TRY(cli_table_create(NULL, CLI_LEN(columns), columns, &t));
    for (int i = 0; i < r->n_rows; i++) {
        const outcome *o = &r->row[i];
        cli_table_row(t);
        cli_table_cell(t, 0, "%s", o->t->id);
        cli_table_cell(t, 1, "%s", o->t->what);
        cli_table_cell(t, 2, "%lld", (long long)o->n);
        cli_table_cell(t, 3, "%s", o->t->measured == ON_DEVICE ? "device" : "call");
        cli_table_cell(t, 4, "%s", cli_seconds(o->seconds).s);
        cli_table_cell(t, 5, "%s", o->must > 0 ? cli_seconds(o->must).s : "");
        cli_table_cell(t, 6, "%s", o->must > 0 ? o->met ? "met" : "missed" : "");
        cli_table_cell(t, 7, "%s", o->t->seed > 0 ? cli_seconds(o->t->seed).s : "");
        cli_table_cell(t, 8, "%s", isnan(o->peer) ? "" : cli_seconds(o->peer).s);
        optional_cell(t, 9, !isnan(o->peer), "%.2f", o->peer / o->seconds);
        optional_cell(t, 10, !isnan(tflops(o)), "%.1f", tflops(o));
        cli_table_cell(t, 11, "%.2g", o->error);
    }
    cli_table_print(t, stdout);
    cli_table_destroy(t);
    print_rates(r);
    return LT_OK;
}

static void put_row(lt_json *j, const targets_run *r, const outcome *o)
{
    lt_json_object_begin(j);
    lt_json_field_string(j, "target", o->t->id);
    lt_json_field_string(j, "row", o->t->what);
    lt_json_field_int(j, "n", o->n);
    lt_json_field_int(j, "qubits", o->q);
    lt_json_field_string(j, "method", lt_gram_method_name(o->info.method));
    lt_json_field_string(j, "precision", lt_gram_float_name(o->info.precision));
    lt_json_field_double(j, "error_bound", o->info.error_bound);
    lt_json_field_string(j, "kernel", o->info.kernel);
    lt_json_field_string(j, "clock", o->t->measured == ON_DEVICE ? "device" : "call");
    lt_json_field_double(j, "seconds", o->seconds);
    lt_json_field_double(j, "must_seconds", o->must > 0 ? o->must : NAN);
    if (o->must > 0) lt_json_field_bool(j, "met", o->met);
    lt_json_field_double(j, "seed_seconds", o->t->seed > 0 ? o->t->seed : NAN);
    lt_json_field_double(j, "peer_seconds", o->peer);
    lt_json_field_double(j, "tflops", tflops(o));
    lt_json_field_double(j, "device_seconds", o->info.device_seconds);
    lt_json_field_double(j, "states_seconds", o->states_seconds);
    lt_json_field_double(j, "states_bytes_per_second", o->states_rate);
    if (r->bandwidth > 0) lt_json_field_double(j, "states_share_of_bandwidth", o->states_rate / r->bandwidth);
    lt_json_field_double(j, "copy_bytes_per_second", o->copy_rate);
    lt_json_field_double(j, "max_difference", o->error);
    lt_json_field_int(j, "peak_bytes", o->info.peak_bytes);
    lt_json_field_string(j, "plan", o->info.plan);
    lt_json_object_end(j);
}

static lt_status put_json(const targets_run *r)
{
    lt_json *j = r->b->c->json;
    CLI_TRY(cli_json_machine(r->b->c));
    lt_json_field_string(j, "sweep", "targets");
    lt_json_field_string(j, "peer", r->peer.peer);
    lt_json_field_double(j, "bandwidth_bytes_per_second", r->bandwidth > 0 ? r->bandwidth : NAN);
    lt_json_key(j, "rows");
    lt_json_array_begin(j);
    for (int i = 0; i < r->n_rows; i++) put_row(j, r, &r->row[i]);
    lt_json_array_end(j);
    return LT_OK;
}

/* Missing a time is a finding; a wrong number is a failure. */
static lt_status judge(const targets_run *r)
{
    for (int i = 0; i < r->n_rows; i++) {
        const outcome *o = &r->row[i];
        double allowed = o->info.error_bound;
        if (!(o->error <= allowed)) return cli_fail(LT_ERR_MISMATCH, "%s: differs from the CPU by %g, allowed %g", o->t->what, o->error, allowed);
    }
    return LT_OK;
}

static lt_status run_all(targets_run *r)
{
    const gram_bench_options *o = r->b->o;
    lt_device_info info = { .size = sizeof info };
    CLI_TRY(lt_device_describe(r->b->c->device, &info));
    r->judged = !o->quick && strncmp(info.id, "cpu", 3);
    if (o->peer) CLI_TRY(peer_file_read(o->peer, &r->peer));
    if (r->judged) CLI_TRY(lt_device_bandwidth(r->b->c->device, (int64_t)1 << 30, &r->bandwidth));
    for (int i = 0; i < CLI_LEN(targets); i++)
        if (is_wanted(&targets[i], r->b)) CLI_TRY(run_target(r, &targets[i]));
    CLI_TRY(r->b->c->json ? put_json(r) : print_table(r));
    r->b->c->json_complete = true; /* also when a number is wrong */
    return judge(r);
}

lt_status gram_targets(gram_bench *b)
{
    targets_run *r = calloc(1, sizeof *r);
    int64_t n = 0, q = 0;
    for (int i = 0; i < CLI_LEN(targets); i++) {
        if (!is_wanted(&targets[i], b)) continue;
        n = targets[i].n > n ? targets[i].n : n;
        q = targets[i].q > q ? targets[i].q : q;
    }
    if (b->o->quick) n = 90;
    if (!r) return cli_fail(LT_ERR_MEMORY, "no memory for the rows");
    r->b = b;
    r->x = malloc((size_t)(n * q) * sizeof(double));
    r->w = malloc((size_t)(b->o->layers * q) * sizeof(double));
    r->K = malloc((size_t)(n * n) * sizeof(double));
    lt_status s = r->x && r->w && r->K ? LT_OK : cli_fail(LT_ERR_MEMORY, "no memory for matrices of %lld rows", (long long)n);
    if (!s) {
        gram_draw((uint64_t)b->c->common.seed, r->x, n * q, 3);
        gram_draw((uint64_t)b->c->common.seed + 1, r->w, b->o->layers * q, 0.3);
        s = run_all(r);
    }
    free(r->x), free(r->w), free(r->K), free(r);
    return s;
}
