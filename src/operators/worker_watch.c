/* One worker, watched: its process, its messages, and what becomes of its rows when it hangs or dies.
   SPDX-License-Identifier: BSD-3-Clause */
#include "operators/worker_pool.h"

#include "base/status.h"
#include "trace/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define SLOWER 100      /* a step that takes so many times what is expected of it hangs */
#define LEAST_SECONDS 10 /* but no step is suspected before … */
#define FIRST_STEP 12   /* … and the first one, of which nothing is expected yet, not before so many times that; */
#define BETWEEN 60      /* nor what happens between rollouts: compiling, drawing, finishing */

/* ---- Processes ------------------------------------------------------------------------------------------ */

/* In the child, after fork: nothing but what is safe there. Standard output stays the parent's alone. */
static _Noreturn void become_worker(int fd, const char *const *argv)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(SIGINT, SIG_IGN); /* the parent decides what Ctrl-C means */
    dup2(STDERR_FILENO, STDOUT_FILENO);
    if (fd == LT_WORKER_FD ? fcntl(fd, F_SETFD, 0) < 0 : dup2(fd, LT_WORKER_FD) < 0) _exit(126);
    execvp(argv[0], (char *const *)argv);
    _exit(127);
}

/* Rows that may come. Each worker's list begins elsewhere, and with it what it compiles first: they then find each other's kernels in the
   cache. */
static lt_status send_setup(const lt_worker *w)
{
    const lt_worker_pool *p = w->pool;
    const lt_generator *g = p->g;
    const int64_t *left = p->left + p->next, n = g->n_order - p->next, first = n * (w - p->worker) / p->n;
    lt_worker_setup u = { g->opt->shard_index, g->opt->shard_count, g->opt->memory_bytes, n, g->opt->threads, g->opt->at_once, "", strlen(g->c->json) };
    memcpy(u.device, w->device, sizeof u.device);
    const lt_worker_piece piece[] = { { &u, sizeof u }, { g->c->json, u.config_bytes },
                                      { left + first, (size_t)(n - first) * sizeof *left }, { left, (size_t)first * sizeof *left } };
    return lt_worker_send(w->fd, (lt_worker_head){ .word = LT_WORD_SETUP }, LT_LEN(piece), piece);
}

lt_status lt_worker_start(lt_worker *w)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair)) return LT_FAIL(LT_ERR_IO, "no socket for a worker process: %s", strerror(errno));
    w->pid = fork();
    if (w->pid == 0) become_worker(pair[1], w->pool->g->opt->worker);
    close(pair[1]);
    w->fd = pair[0];
    w->ready = w->asks = false;
    w->silent_seconds = 0;
    if (w->pid < 0) {
        w->pid = 0;
        close(w->fd);
        return LT_FAIL(LT_ERR_IO, "no worker process: %s", strerror(errno));
    }
    w->pool->g->info->workers++;
    lt_status s = send_setup(w);
    return s == LT_ERR_IO ? LT_OK : s; /* it ended at once: the next message is its end */
}

/* Ends the process if it still runs and says how it ended. Its counts are kept. */
static void end_process(lt_worker *w, bool kill_it, char *how, size_t bytes)
{
    int status = 0;
    if (!w->pid) return;
    if (kill_it) kill(w->pid, SIGKILL);
    close(w->fd);
    while (waitpid(w->pid, &status, 0) < 0 && errno == EINTR) { }
    w->pid = 0;
    lt_worker_pool_retire(w);
    if (!how) return;
    if (WIFSIGNALED(status)) snprintf(how, bytes, "signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
    else snprintf(how, bytes, "exit status %d", WEXITSTATUS(status));
}

/* ---- Rows ----------------------------------------------------------------------------------------------- */

static lt_worker_open *find_open(lt_worker *w, int64_t row)
{
    for (int i = 0; i < w->n_open; i++)
        if (w->open[i].row == row) return &w->open[i];
    return NULL;
}

/* The row is not this worker's any more. */
static void forget_dealt(lt_worker *w, int64_t row)
{
    int at = 0;
    while (at < w->n_dealt && w->dealt[at] != row) at++;
    if (at == w->n_dealt) return;
    memmove(w->dealt + at, w->dealt + at + 1, (size_t)(--w->n_dealt - at) * sizeof *w->dealt);
}

static void close_row(lt_worker *w, const lt_worker_open *o)
{
    int at = (int)(o - w->open);
    memmove(w->open + at, w->open + at + 1, (size_t)(--w->n_open - at) * sizeof *w->open);
}

static lt_status begin_row(lt_worker *w, int64_t row)
{
    bool dealt = false;
    for (int i = 0; i < w->n_dealt; i++) dealt |= w->dealt[i] == row;
    if (w->n_open == LT_WORKER_OPEN || find_open(w, row) || !dealt)
        return LT_FAIL(LT_ERR_INTERNAL, "worker process: row %lld begins with %d others under way", (long long)row, w->n_open);
    lt_worker_open *o = &w->open[w->n_open];
    *o = (lt_worker_open){ .row = row, .begun_ns = lt_clock_ns() };
    LT_TRY(lt_store_row_take(w->pool->g->store, row, &o->out));
    w->n_open++;
    return LT_OK;
}

/* Handed to the writer, whatever became of it. */
static lt_status put_row(lt_worker *w, int64_t row, lt_store_row *out, const lt_rollout_result *result)
{
    forget_dealt(w, row);
    w->pool->n_done++;
    return lt_generator_put_row(w->pool->g, out, result);
}

/* What it had begun or was dealt runs again. */
static void return_rows(lt_worker *w)
{
    while (w->n_open > 0) lt_store_row_drop(w->pool->g->store, w->open[--w->n_open].out);
    while (w->n_dealt > 0) lt_worker_pool_return(w->pool, w->dealt[--w->n_dealt]);
}

static void note_failure(lt_generator *g, int64_t row, const char *why)
{
    if (!g->info->first_failure[0])
        snprintf(g->info->first_failure, sizeof g->info->first_failure, "operator %lld: %.120s", (long long)g->rows.index[row], why);
}

/* What is known of a row without running it is written all the same. */
static lt_status put_failed(lt_worker *w, lt_worker_open o, const char *why)
{
    lt_worker_pool *p = w->pool;
    lt_generator *g = p->g;
    int grid = g->rows.spec[o.row].grid;
    lt_rollout_result result = { .status = LT_RUN_FAILED, .step = o.beats, .seconds = 1e-9 * (double)(lt_clock_ns() - o.begun_ns) };
    lt_feature_lane known = { .c = g->c };
    lt_status s = LT_OK;
    note_failure(g, o.row, why);
    for (size_t i = 0; i < g->plan.step_bytes / sizeof(float); i++) p->block[i] = NAN;
    for (; o.states < g->plan.n_steps && !s; o.states++) s = lt_store_row_step(g->store, o.out, p->block, (int)g->plan.grid);
    if (!s) s = lt_field_makers_draw(&p->makers, g->c, g->rows.field[o.row], g->rows.index[o.row], grid, p->block);
    if (!s) s = lt_feature_lane_fail(&known, &g->plan, g->rows.unit + o.row * g->rows.parameters, p->block, grid, o.out);
    if (!s) return put_row(w, o.row, o.out, &result);
    lt_store_row_drop(g->store, o.out);
    return s;
}

/* The process is gone. The oldest row is marked failed, or the next one when none has begun, so that no row is tried for ever; others run again. */
static lt_status fail_row(lt_worker *w, const char *why)
{
    lt_worker_pool *p = w->pool;
    if (!w->n_dealt && p->next < p->g->n_order) w->dealt[w->n_dealt++] = p->left[p->next++];
    if (!w->n_dealt) return LT_OK; /* it had nothing to do, and nothing is left */
    if (!w->n_open) LT_TRY(begin_row(w, w->dealt[0]));
    lt_worker_open oldest = w->open[0];
    close_row(w, &w->open[0]);
    lt_status s = put_failed(w, oldest, why);
    return_rows(w);
    return s;
}

/* The process hung or died. Before it was ready that is no operator's fault. */
static lt_status lose_process(lt_worker *w, bool hangs)
{
    char how[96], why[160];
    bool ready = w->ready;
    end_process(w, true, how, sizeof how);
    if (hangs) snprintf(why, sizeof why, "%s took more than %.3g s", w->n_open ? "a step" : "preparing it", w->limit_seconds);
    else snprintf(why, sizeof why, "the worker process ended: %s", how);
    if (ready) return fail_row(w, why);
    return lt_worker_pool_give_up(w->pool, w, LT_FAIL(LT_ERR_DEVICE, "worker process '%s' did not start: %s", w->pool->g->opt->worker[0],
                                                      hangs ? "it does not answer" : how));
}

lt_status lt_worker_hangs(lt_worker *w) { return lose_process(w, true); }

void lt_worker_stop(lt_worker *w)
{
    end_process(w, true, NULL, 0);
    return_rows(w);
}

lt_status lt_worker_deal(lt_worker *w, int64_t row)
{
    w->asks = false;
    if (row >= 0) w->dealt[w->n_dealt++] = row;
    lt_status s = lt_worker_send(w->fd, (lt_worker_head){ .word = LT_WORD_DEAL, .row = row }, 0, NULL);
    return s == LT_ERR_IO ? LT_OK : s; /* it is about to end: what it says next tells why */
}

/* ---- Messages ------------------------------------------------------------------------------------------------- */

/* What one step of the oldest row should take, from those it has done; 0: not known. The first beat is the initial field. */
static double expected_seconds(const lt_worker_open *o)
{
    return o->beats > 1 ? 1e-9 * (double)(lt_clock_ns() - o->begun_ns) / (double)(o->beats - 1) : 0;
}

/* Rollouts whose states stay on their device have no beats: all their steps together get what a first step gets, or what operators
   before them needed. */
double lt_worker_limit(const lt_worker *w)
{
    const lt_generator *g = w->pool->g;
    double least = g->opt->watchdog_seconds > 0 ? g->opt->watchdog_seconds : LEAST_SECONDS;
    if (!w->n_open) return BETWEEN * least;
    const lt_worker_open *o = &w->open[0];
    if (o->beats >= g->plan.steps) return g->c->learned.enabled ? INFINITY : BETWEEN * least; /* training takes what it takes */
    if (o->beats > 1) return fmax(least, SLOWER * expected_seconds(o));
    double mean = g->info->samples ? g->info->inference_seconds / (double)g->info->samples : 0;
    return fmax(FIRST_STEP * least, SLOWER * mean);
}

static lt_status check_ready(lt_worker *w, const lt_worker_head *h)
{
    const lt_generator *g = w->pool->g;
    lt_worker_ready r;
    if (h->bytes != sizeof r) return LT_FAIL(LT_ERR_DEVICE, "worker process '%s' is another program", g->opt->worker[0]);
    LT_TRY(lt_worker_receive(w->fd, &r, sizeof r));
    r.version[sizeof r.version - 1] = 0;
    if (strcmp(r.version, lt_version()) || r.rest_bytes != g->plan.rest_bytes || r.step_bytes != g->plan.step_bytes)
        return LT_FAIL(LT_ERR_DEVICE, "worker process '%s' is version %s, this is %s", g->opt->worker[0], r.version, lt_version());
    w->ready = true;
    return LT_OK;
}

static lt_status take_row(lt_worker *w, const lt_worker_head *h)
{
    lt_generator *g = w->pool->g;
    lt_worker_row r;
    lt_worker_open *o = find_open(w, h->row);
    if (!o || h->bytes != sizeof r + g->plan.rest_bytes) return LT_FAIL(LT_ERR_INTERNAL, "worker process: a row of %llu bytes", (unsigned long long)h->bytes);
    LT_TRY(lt_worker_receive(w->fd, &r, sizeof r));
    LT_TRY(lt_worker_receive(w->fd, o->out->record, g->plan.rest_bytes));
    lt_store_row *out = o->out;
    close_row(w, o);
    w->now = r.info;
    w->rows++;
    memcpy(g->info->feature_reason, r.info.feature_reason, sizeof r.info.feature_reason);
    lt_worker_pool_add_up(w->pool);
    if (r.result.status == LT_RUN_FAILED) note_failure(g, h->row, r.info.first_failure);
    return put_row(w, h->row, out, &r.result);
}

static lt_status take_states(lt_worker *w, const lt_worker_head *h)
{
    lt_generator *g = w->pool->g;
    lt_worker_open *o = find_open(w, h->row);
    if (!o || h->bytes != g->plan.step_bytes || o->states >= g->plan.n_steps) return LT_FAIL(LT_ERR_INTERNAL, "worker process: unexpected states");
    LT_TRY(lt_worker_receive(w->fd, w->pool->block, g->plan.step_bytes));
    o->states++;
    return lt_store_row_step(g->store, o->out, w->pool->block, (int)g->plan.grid);
}

static lt_status take_beat(lt_worker *w, int64_t row)
{
    lt_worker_open *o = find_open(w, row);
    if (!o) return LT_FAIL(LT_ERR_INTERNAL, "worker process: a step of row %lld, which has not begun", (long long)row);
    if (o->beats++ == 0) o->begun_ns = lt_clock_ns();
    return LT_OK;
}

/* What ended the worker's run ends ours, but for its device: one lost under a rollout costs the rollout, as a crash does. Where there are
   others, one lost between rollouts gets a fresh process, and one that made nothing is left out. */
static lt_status take_failure(lt_worker *w, const lt_worker_head *h)
{
    char text[LT_ERROR_TEXT_BYTES] = "";
    size_t n = LT_MIN((size_t)h->bytes, sizeof text - 1);
    LT_TRY(lt_worker_receive(w->fd, text, n));
    lt_status s = h->value > 0 ? (lt_status)h->value : LT_ERR_INTERNAL;
    bool own = !w->ready || s == LT_ERR_DEVICE, worked = w->now.samples > 0;
    end_process(w, true, NULL, 0);
    if (s == LT_ERR_DEVICE && w->n_open) return fail_row(w, text);
    return_rows(w);
    if (own && worked && w->pool->n > 1) return LT_OK;
    lt_error_set(text);
    return own ? lt_worker_pool_give_up(w->pool, w, s) : s;
}

static lt_status take_message(lt_worker *w, const lt_worker_head *h)
{
    switch ((lt_worker_word)h->word) {
    case LT_WORD_READY: return check_ready(w, h);
    case LT_WORD_ASK: w->asks = true; return LT_OK;
    case LT_WORD_BEGIN: return begin_row(w, h->row);
    case LT_WORD_BEAT: return take_beat(w, h->row);
    case LT_WORD_STATES: return take_states(w, h);
    case LT_WORD_ROW: return take_row(w, h);
    case LT_WORD_END:
        end_process(w, false, NULL, 0);
        return_rows(w);
        return LT_OK;
    case LT_WORD_FAILED: return take_failure(w, h);
    case LT_WORD_SETUP:
    case LT_WORD_DEAL: break;
    }
    return LT_FAIL(LT_ERR_INTERNAL, "worker process: unknown word %lld", (long long)h->word);
}

lt_status lt_worker_take(lt_worker *w)
{
    lt_worker_head h;
    w->silent_seconds = 0;
    return lt_worker_receive(w->fd, &h, sizeof h) ? lose_process(w, false) : take_message(w, &h);
}
