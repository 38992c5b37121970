/* One worker as the parent sees it: its messages, and what happens to its rows when it hangs or dies. SPDX-License-Identifier: BSD-3-Clause */
#include "operators/generate/worker/pool.h"

#include "base/status.h"
#include "trace/clock.h"

#include <math.h>
#include <string.h>

#define SLOWER 100      /* a step that takes this many times its expected time hangs */
#define LEAST_SECONDS 10 /* but at least this many seconds; */
#define FIRST_STEP 12   /* … the first step has no expected time and gets this many times the least, */
#define BETWEEN 60      /* … and work between rollouts (compiling, drawing, finishing) this many */
enum { IDLE_TRIES = 3 }; /* processes lost one after the other before they had any row */

/* ---- Beginning ------------------------------------------------------------------------------------------- */

/* Sends the rows that may come. Each worker's list begins at another row, so that workers compile different kernels first and find each
   other's in the cache. */
static lt_status send_setup(lt_worker *w)
{
    const lt_worker_pool *p = w->pool;
    const lt_generator *g = p->g;
    const int64_t *left = p->left + p->next, n = g->n_order - p->next, first = n * (w - p->worker) / p->n;
    lt_worker_setup u = { g->opt->shard_index, g->opt->shard_count, g->opt->memory_bytes, n, g->opt->threads, g->opt->at_once, "", strlen(g->c->json) };
    memcpy(u.device, w->device, sizeof u.device);
    const lt_worker_piece piece[] = { { &u, sizeof u }, { g->c->json, u.config_bytes },
                                      { left + first, (size_t)(n - first) * sizeof *left }, { left, (size_t)first * sizeof *left } };
    return lt_worker_post(w, (lt_worker_head){ .word = LT_WORD_SETUP }, LT_LEN(piece), piece);
}

lt_status lt_worker_start(lt_worker *w)
{
    w->ready = w->asks = w->dismissed = w->renews = w->ended = false;
    w->silent_seconds = 0;
    w->now = (lt_generate_info){ .size = sizeof(lt_generate_info) };
    LT_TRY(lt_worker_launch(w));
    w->pool->g->info->workers++;
    return send_setup(w);
}

/* ---- Rows ----------------------------------------------------------------------------------------------- */

static lt_worker_open *find_open(lt_worker *w, int64_t row)
{
    for (int i = 0; i < w->n_open; i++)
        if (w->open[i].row == row) return &w->open[i];
    return NULL;
}

static int find_dealt(const lt_worker *w, int64_t row) /* -1: it is not this worker's */
{
    int at = w->n_dealt - 1;
    while (at >= 0 && w->dealt[at] != row) at--;
    return at;
}

/* The row is not this worker's any more. */
static void forget_dealt(lt_worker *w, int64_t row)
{
    int at = find_dealt(w, row);
    if (at < 0) return;
    memmove(w->dealt + at, w->dealt + at + 1, (size_t)(--w->n_dealt - at) * sizeof *w->dealt);
}

static void close_row(lt_worker *w, const lt_worker_open *o)
{
    int at = (int)(o - w->open);
    memmove(w->open + at, w->open + at + 1, (size_t)(--w->n_open - at) * sizeof *w->open);
}

/* Begins a row. If it had begun before, its earlier states are dropped; its position in the order stays. */
static lt_status begin_row(lt_worker *w, int64_t row)
{
    lt_worker_open *o = find_open(w, row), *place = o ? o : &w->open[w->n_open];
    if (o) lt_store_row_drop(w->pool->g->store, o->out);
    *place = (lt_worker_open){ .row = row, .begun_ns = lt_clock_ns() };
    lt_status s = lt_store_row_take(w->pool->g->store, row, &place->out);
    if (!s && !o) w->n_open++;
    if (s && o) close_row(w, o);
    return s;
}

/* Hands the row to the writer, whether or not it succeeded. */
static lt_status put_row(lt_worker *w, int64_t row, lt_store_row *out, const lt_rollout_result *result)
{
    forget_dealt(w, row);
    w->pool->n_done++;
    return lt_generator_put_row(w->pool->g, out, result);
}

/* Returns all rows of the worker, so that they are dealt again. */
static void return_rows(lt_worker *w)
{
    while (w->n_open > 0) lt_store_row_drop(w->pool->g->store, w->open[--w->n_open].out);
    while (w->n_dealt > 0) lt_worker_pool_return(w->pool, w->dealt[--w->n_dealt]);
}

lt_status lt_worker_deal(lt_worker *w, int64_t row)
{
    w->asks = false;
    w->dismissed = row < 0;
    w->idle_losses = 0;
    if (row >= 0) w->dealt[w->n_dealt++] = row;
    return lt_worker_post(w, (lt_worker_head){ .word = LT_WORD_DEAL, .row = row }, 0, NULL);
}

/* ---- Failures --------------------------------------------------------------------------------------------- */

static void note_failure(lt_generator *g, int64_t row, const char *why)
{
    if (!g->info->first_failure[0])
        snprintf(g->info->first_failure, sizeof g->info->first_failure, "operator %lld: %.120s", (long long)g->rows.index[row], why);
}

/* Writes a failed row with all that is known of it without running it. */
static lt_status put_failed(lt_worker *w, lt_worker_open o, const char *why)
{
    lt_worker_pool *p = w->pool;
    lt_generator *g = p->g;
    int grid = g->rows.spec[o.row].grid;
    lt_rollout_result result = { .size = sizeof result, .status = LT_RUN_LOST, .step = o.beats, .seconds = lt_seconds_since(o.begun_ns) };
    lt_row_features known;
    lt_status s = lt_row_features_open_known(g->c, (int)g->plan.grid, &known);
    note_failure(g, o.row, why);
    for (size_t i = 0; i < g->plan.step_bytes / sizeof(float); i++) p->block[i] = NAN;
    for (; !s && o.states < g->plan.n_steps; o.states++) s = lt_store_row_step(g->store, o.out, p->block, (int)g->plan.grid);
    if (!s) s = lt_field_makers_draw(&p->makers, g->c, g->rows.field[o.row], g->rows.index[o.row], grid, p->block);
    if (!s) s = lt_row_features_fail(&known, &g->plan, g->rows.unit + o.row * g->rows.parameters, p->block, grid, o.out);
    lt_row_features_close(&known);
    if (!s) return put_row(w, o.row, o.out, &result);
    lt_store_row_drop(g->store, o.out);
    return s;
}

/* Whether the row gets a fresh process of its own before it is marked lost; each row gets one once. */
static bool gets_another(lt_worker_pool *p, int64_t row, const char *why)
{
    lt_generate_info *info = p->g->info;
    if (p->renewed[row]) return false;
    p->renewed[row] = p->suspect[row] = true;
    info->retries++;
    if (!info->retry_reason[0]) snprintf(info->retry_reason, sizeof info->retry_reason, "operator %lld: %.120s", (long long)p->g->rows.index[row], why);
    return true;
}

/* The oldest row runs again or is marked lost, whether or not it had begun; the other rows run again. */
static lt_status fail_oldest(lt_worker *w, const char *why)
{
    if (gets_another(w->pool, w->n_open ? w->open[0].row : w->dealt[0], why)) {
        return_rows(w);
        return LT_OK;
    }
    if (!w->n_open) LT_TRY(begin_row(w, w->dealt[0]));
    lt_worker_open oldest = w->open[0];
    close_row(w, &w->open[0]);
    lt_status s = put_failed(w, oldest, why);
    return_rows(w);
    return s;
}

/* Decides which row to blame for a lost process. A row is to blame when its step hangs, or when the process had no other row; a row that
   had not begun gets a second try. When several may be to blame, each of them runs again alone (decision 90). */
static lt_status blame(lt_worker *w, bool oldest_hangs, const char *why)
{
    lt_worker_pool *p = w->pool;
    bool sure = oldest_hangs || (w->n_dealt == 1 && (w->n_open || p->suspect[w->dealt[0]]));
    if (sure) return fail_oldest(w, why);
    if (!w->n_dealt && ++w->idle_losses >= IDLE_TRIES)
        return lt_worker_pool_give_up(p, w, LT_FAIL(LT_ERR_DEVICE, "%d worker processes one after the other were lost before they took a row: %s", w->idle_losses, why));
    for (int i = 0; i < w->n_dealt; i++) p->suspect[w->dealt[i]] = true;
    return_rows(w);
    return LT_OK;
}

/* Ends the process if it still runs, and finds the row to blame. Before the process was ready, no row is. why NULL: the process died, and
   the text describes how. */
static lt_status lose_process(lt_worker *w, bool hangs, const char *why)
{
    char how[64], died[96];
    bool ready = w->ready;
    lt_worker_end_process(w, how, sizeof how);
    snprintf(died, sizeof died, "the worker process ended: %s", how);
    if (w->ended) {
        return_rows(w); /* it had said so */
        return LT_OK;
    }
    if (ready) return blame(w, hangs && w->n_open == 1, why ? why : died);
    return lt_worker_pool_give_up(w->pool, w, LT_FAIL(LT_ERR_DEVICE, "worker process '%s' did not start: %s", w->pool->g->opt->worker[0], why ? why : how));
}

lt_status lt_worker_hangs(lt_worker *w)
{
    char why[96];
    if (w->ready) snprintf(why, sizeof why, "%s took more than %.3g s", w->n_open ? "a step" : "preparing it", w->limit_seconds);
    else snprintf(why, sizeof why, "it does not answer");
    return lose_process(w, true, why);
}

void lt_worker_stop(lt_worker *w)
{
    lt_worker_end_process(w, NULL, 0);
    return_rows(w);
}

/* ---- Time ------------------------------------------------------------------------------------------------------ */

/* Expected seconds of one step of the oldest row, from the steps it has done; 0: not known. The first beat is the initial field. */
static double expected_seconds(const lt_worker_open *o)
{
    return o->beats > 1 ? lt_seconds_since(o->begun_ns) / (double)(o->beats - 1) : 0;
}

/* The time limit of the next message. Rollouts whose states stay on the device send no beats: all their steps together get the limit of a
   first step, or what earlier operators needed. */
double lt_worker_limit(const lt_worker *w)
{
    const lt_generator *g = w->pool->g;
    double least = g->opt->watchdog_seconds > 0 ? g->opt->watchdog_seconds : LEAST_SECONDS;
    if (!w->n_open) return BETWEEN * least;
    const lt_worker_open *o = &w->open[0];
    if (o->beats >= g->plan.steps) return g->c->learned.enabled ? INFINITY : BETWEEN * least; /* training has no expected time */
    if (o->beats > 1) return fmax(least, SLOWER * expected_seconds(o));
    double mean = g->info->samples ? g->info->inference_seconds / (double)g->info->samples : 0;
    return fmax(FIRST_STEP * least, SLOWER * mean);
}

/* ---- Messages ------------------------------------------------------------------------------------------------- */

/* Whether a row that the worker reports as done is complete. */
static bool is_done(const lt_worker *w, const lt_worker_open *o)
{
    lt_worker_row r;
    memcpy(&r, w->message, sizeof r);
    return o && o->states == w->pool->g->plan.n_steps && r.result.status > LT_RUN_PENDING && r.result.status < LT_RUN_STATUS_COUNT;
}

/* Whether this message, with this many bytes, is valid in the state of the worker. A process that sends an invalid one is treated as lost. */
static lt_status check_message(lt_worker *w)
{
    const lt_worker_head *h = &w->head;
    const lt_store_plan *plan = &w->pool->g->plan;
    const lt_worker_open *o = find_open(w, h->row);
    size_t bytes = 0;
    bool fits = false;
    switch ((lt_worker_word)h->word) {
    case LT_WORD_READY: fits = !w->ready, bytes = sizeof(lt_worker_ready); break;
    case LT_WORD_ALIVE: fits = w->ready; break;
    case LT_WORD_ASK: fits = w->ready && !w->asks && !w->dismissed; break;
    case LT_WORD_BEGIN: fits = o || (w->n_open < LT_WORKER_OPEN && find_dealt(w, h->row) >= 0); break;
    case LT_WORD_BEAT: fits = o; break;
    case LT_WORD_STATES: fits = o && o->states < plan->n_steps, bytes = plan->step_bytes; break;
    case LT_WORD_ROW: bytes = sizeof(lt_worker_row) + plan->rest_bytes, fits = h->bytes == bytes && is_done(w, o); break;
    case LT_WORD_END: fits = w->renews || (w->dismissed && !w->n_dealt); break;
    case LT_WORD_FAILED: fits = h->value > LT_OK && h->value < LT_STATUS_COUNT, bytes = h->bytes; break;
    case LT_WORD_SETUP:
    case LT_WORD_DEAL: break;
    }
    if (fits && h->bytes == bytes && !w->ended) return LT_OK;
    return LT_FAIL(LT_ERR_FORMAT, "it sent word %lld of row %lld with %llu bytes, which makes no sense there", (long long)h->word, (long long)h->row,
                   (unsigned long long)h->bytes);
}

static lt_status take_ready(lt_worker *w)
{
    const lt_generator *g = w->pool->g;
    lt_worker_ready r;
    memcpy(&r, w->message, sizeof r);
    r.version[sizeof r.version - 1] = 0;
    if (strcmp(r.version, lt_version())) return LT_FAIL(LT_ERR_DEVICE, "worker process '%s' is version %s, this is %s", g->opt->worker[0], r.version, lt_version());
    if (r.rest_bytes != g->plan.rest_bytes || r.step_bytes != g->plan.step_bytes)
        return LT_FAIL(LT_ERR_DEVICE, "worker process '%s' makes rows of %llu bytes and steps of %llu, expected %zu and %zu", g->opt->worker[0],
                       (unsigned long long)r.rest_bytes, (unsigned long long)r.step_bytes, g->plan.rest_bytes, g->plan.step_bytes);
    w->ready = true;
    return LT_OK;
}

void lt_worker_add_times(lt_generate_info *to, const lt_generate_info *before, const lt_generate_info *now)
{
    to->inference_seconds += now->inference_seconds - before->inference_seconds;
    to->feature_seconds += now->feature_seconds - before->feature_seconds;
    to->warmup_seconds += now->warmup_seconds - before->warmup_seconds;
    to->input_seconds += now->input_seconds - before->input_seconds;
    to->ahead_seconds += now->ahead_seconds - before->ahead_seconds;
    to->device_seconds += now->device_seconds - before->device_seconds;
    to->total_flops += now->total_flops - before->total_flops;
    to->retries += now->retries - before->retries;
    if (!to->retry_reason[0]) memcpy(to->retry_reason, now->retry_reason, sizeof to->retry_reason);
    if (!to->step[0]) memcpy(to->step, now->step, sizeof to->step);
    if (!to->step_reason[0]) memcpy(to->step_reason, now->step_reason, sizeof to->step_reason);
    to->peak_bytes = LT_MAX(to->peak_bytes, now->peak_bytes);
    to->kernels_compiled += now->kernels_compiled - before->kernels_compiled;
    to->kernels_loaded += now->kernels_loaded - before->kernels_loaded;
    to->compile_seconds += now->compile_seconds - before->compile_seconds;
}

/* Texts of a process that may have gone wrong end where their places do. */
static void end_texts(lt_generate_info *i)
{
    i->first_failure[sizeof i->first_failure - 1] = i->retry_reason[sizeof i->retry_reason - 1] = i->feature_reason[sizeof i->feature_reason - 1] = 0;
    i->step[sizeof i->step - 1] = i->step_reason[sizeof i->step_reason - 1] = 0;
}

static lt_status take_row(lt_worker *w)
{
    lt_generator *g = w->pool->g;
    lt_worker_row r;
    lt_worker_open *o = find_open(w, w->head.row);
    lt_store_row *out = o->out;
    memcpy(&r, w->message, sizeof r);
    end_texts(&r.info);
    if (w->rows == 0) LT_TRY(lt_generator_note_step(g, r.info.step));
    memcpy(out->record, w->message + sizeof r, g->plan.rest_bytes);
    close_row(w, o);
    g->info->devices += w->rows++ == 0;
    lt_worker_add_times(g->info, &w->now, &r.info);
    w->now = r.info;
    w->renews = r.result.status == LT_RUN_FAILED || r.result.status == LT_RUN_LOST;
    memcpy(g->info->feature_reason, r.info.feature_reason, sizeof r.info.feature_reason);
    if (r.result.status == LT_RUN_LOST && gets_another(w->pool, w->head.row, r.info.first_failure)) {
        lt_store_row_drop(g->store, out); /* the row stays dealt: it runs again after this process has ended */
        return LT_OK;
    }
    if (w->renews) note_failure(g, w->head.row, r.info.first_failure);
    return put_row(w, w->head.row, out, &r.result);
}

static lt_status take_states(lt_worker *w)
{
    lt_generator *g = w->pool->g;
    lt_worker_open *o = find_open(w, w->head.row);
    o->states++;
    return lt_store_row_step(g->store, o->out, (const float *)(const void *)w->message, (int)g->plan.grid);
}

static void take_beat(lt_worker_open *o)
{
    if (o->beats++ == 0) o->begun_ns = lt_clock_ns();
}

/* A failure that ends the worker's run ends ours, unless its device failed. A device lost during a rollout costs the row, as a crash does.
   A device lost between rollouts gets a fresh process. A worker that made no row is dropped while others remain. */
static lt_status take_failure(lt_worker *w)
{
    char text[LT_ERROR_TEXT_BYTES] = "";
    lt_status s = (lt_status)w->head.value;
    memcpy(text, w->message, LT_MIN((size_t)w->head.bytes, sizeof text - 1));
    if (!text[0]) snprintf(text, sizeof text, "%s: a worker process failed and did not say why", lt_status_name(s));
    bool own = !w->ready || s == LT_ERR_DEVICE, worked = w->now.samples > 0;
    lt_worker_end_process(w, NULL, 0);
    if (s == LT_ERR_DEVICE && w->n_open) return blame(w, false, text);
    return_rows(w);
    if (own && worked) return LT_OK;
    lt_error_set(text);
    return own ? lt_worker_pool_give_up(w->pool, w, s) : s;
}

static lt_status take_message(lt_worker *w)
{
    switch ((lt_worker_word)w->head.word) {
    case LT_WORD_READY: return take_ready(w);
    case LT_WORD_ASK: w->asks = true; break;
    case LT_WORD_BEGIN: return begin_row(w, w->head.row);
    case LT_WORD_BEAT: take_beat(find_open(w, w->head.row)); break;
    case LT_WORD_STATES: return take_states(w);
    case LT_WORD_ROW: return take_row(w);
    case LT_WORD_END: w->ended = true, w->asks = false; break;
    case LT_WORD_FAILED: return take_failure(w);
    case LT_WORD_ALIVE:
    case LT_WORD_SETUP:
    case LT_WORD_DEAL: break;
    }
    return LT_OK;
}

lt_status lt_worker_take(lt_worker *w)
{
    char why[160];
    bool whole;
    w->silent_seconds = 0;
    lt_status s = lt_worker_read(w, &whole);
    if (s == LT_ERR_IO) return lose_process(w, false, NULL);
    if (!s && whole) s = check_message(w);
    if (!s) return whole ? take_message(w) : LT_OK;
    lt_error_reason(why, sizeof why);
    return lose_process(w, false, why);
}
