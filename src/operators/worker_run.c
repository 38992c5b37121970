/* The watching side of the watchdog: a worker process is started, its rows are taken, and when it hangs or dies the row at
   fault is marked failed and the rest given to another. SPDX-License-Identifier: BSD-3-Clause */
#include "operators/worker.h"

#include "base/alloc.h"
#include "base/status.h"
#include "trace/clock.h"
#include "trace/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define SLOWER 100      /* a step that takes so many times what is expected of it hangs */
#define LEAST_SECONDS 10 /* but no step is suspected before … */
#define FIRST_STEP 12   /* … and the first one, of which nothing is expected yet, not before so many times that; */
#define BETWEEN 60      /* nor what happens between rollouts: compiling, drawing, finishing */

enum { MAX_OPEN = 8 }; /* rows whose rollouts have begun; devices run a few side by side */

typedef struct open_row {
    int64_t       row;
    lt_store_row *out;
    int64_t       beats, states, begun_ns;
} open_row;

typedef struct watch {
    lt_generator    *g;
    pid_t            pid;          /* 0: no worker */
    int              fd;
    bool             ready;
    int64_t         *left, next;   /* rows in order; those before `next` are done */
    int              n_open;
    open_row         open[MAX_OPEN]; /* oldest first */
    lt_generate_info before, now;  /* of workers that are gone; of this one */
    lt_field_makers  makers;
    float           *block;        /* states of a step, or a field */
} watch;

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

static lt_status send_setup(watch *w)
{
    const lt_generator *g = w->g;
    lt_worker_setup u = { g->opt->shard_index, g->opt->shard_count, g->opt->memory_bytes, g->n_order - w->next, g->opt->threads, g->opt->at_once, "",
                          strlen(g->c->json) };
    lt_device_info device;
    if (g->opt->device) {
        LT_TRY(lt_device_describe(g->opt->device, &device));
        snprintf(u.device, sizeof u.device, "%s", device.id);
    }
    const lt_worker_piece piece[] = { { &u, sizeof u }, { g->c->json, u.config_bytes }, { w->left + w->next, (size_t)u.n_rows * sizeof *w->left } };
    return lt_worker_send(w->fd, (lt_worker_head){ .word = LT_WORD_SETUP }, 3, piece);
}

static lt_status start_worker(watch *w)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair)) return LT_FAIL(LT_ERR_IO, "no socket for a worker process: %s", strerror(errno));
    w->pid = fork();
    if (w->pid == 0) become_worker(pair[1], w->g->opt->worker);
    close(pair[1]);
    w->fd = pair[0];
    w->ready = false;
    if (w->pid < 0) {
        w->pid = 0;
        close(w->fd);
        return LT_FAIL(LT_ERR_IO, "no worker process: %s", strerror(errno));
    }
    w->g->info->workers++;
    lt_status s = send_setup(w);
    return s == LT_ERR_IO ? LT_OK : s; /* it ended at once: the next message is its end */
}

/* Ends the worker if it still runs and says how it ended. */
static void end_worker(watch *w, bool kill_it, char *how, size_t bytes)
{
    int status = 0;
    if (!w->pid) return;
    if (kill_it) kill(w->pid, SIGKILL);
    close(w->fd);
    while (waitpid(w->pid, &status, 0) < 0 && errno == EINTR) { }
    w->pid = 0;
    if (!how) return;
    if (WIFSIGNALED(status)) snprintf(how, bytes, "signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
    else snprintf(how, bytes, "exit status %d", WEXITSTATUS(status));
}

/* ---- Rows ----------------------------------------------------------------------------------------------- */

static open_row *find_open(watch *w, int64_t row)
{
    for (int i = 0; i < w->n_open; i++)
        if (w->open[i].row == row) return &w->open[i];
    return NULL;
}

/* Rows end nearly in order: those that were to come before this one move up. */
static void mark_done(watch *w, int64_t row)
{
    int64_t at = w->next;
    while (at < w->g->n_order && w->left[at] != row) at++;
    memmove(w->left + w->next + 1, w->left + w->next, (size_t)(at - w->next) * sizeof *w->left);
    w->left[w->next++] = row;
}

static void close_row(watch *w, const open_row *o)
{
    int at = (int)(o - w->open);
    memmove(w->open + at, w->open + at + 1, (size_t)(--w->n_open - at) * sizeof *w->open);
}

static lt_status begin_row(watch *w, int64_t row)
{
    if (w->n_open == MAX_OPEN || find_open(w, row) || row < 0 || row >= w->g->rows.n)
        return LT_FAIL(LT_ERR_INTERNAL, "worker process: row %lld begins with %d others under way", (long long)row, w->n_open);
    open_row *o = &w->open[w->n_open];
    *o = (open_row){ .row = row, .begun_ns = lt_clock_ns() };
    LT_TRY(lt_store_row_take(w->g->store, row, &o->out));
    w->n_open++;
    return LT_OK;
}

static void note_failure(lt_generator *g, int64_t row, const char *why)
{
    if (!g->info->first_failure[0])
        snprintf(g->info->first_failure, sizeof g->info->first_failure, "operator %lld: %.120s", (long long)g->rows.index[row], why);
}

/* The oldest row is marked failed, or the next one when none has begun; what is known of it without running is written all
   the same. Others that were under way run again. */
static lt_status fail_row(watch *w, const char *why)
{
    lt_generator *g = w->g;
    if (!w->n_open) LT_TRY(begin_row(w, w->left[w->next]));
    open_row o = w->open[0];
    for (int i = 1; i < w->n_open; i++) lt_store_row_drop(g->store, w->open[i].out);
    w->n_open = 1;
    int grid = g->rows.spec[o.row].grid;
    lt_rollout_result result = { .status = LT_RUN_FAILED, .step = o.beats, .seconds = 1e-9 * (double)(lt_clock_ns() - o.begun_ns) };
    lt_feature_lane known = { .c = g->c };
    note_failure(g, o.row, why);
    for (size_t i = 0; i < g->plan.step_bytes / sizeof(float); i++) w->block[i] = NAN;
    for (; o.states < g->plan.n_steps; o.states++) LT_TRY(lt_store_row_step(g->store, o.out, w->block, (int)g->plan.grid));
    LT_TRY(lt_field_makers_draw(&w->makers, g->c, g->rows.field[o.row], g->rows.index[o.row], grid, w->block));
    LT_TRY(lt_feature_lane_fail(&known, &g->plan, g->rows.unit + o.row * g->rows.parameters, w->block, grid, o.out));
    w->n_open = 0;
    mark_done(w, o.row);
    return lt_generator_put_row(g, o.out, &result);
}

/* The worker hung or died. Before it was ready that is no operator's fault. */
static lt_status lose_worker(watch *w, bool hangs, double limit)
{
    char how[96], why[160];
    bool ready = w->ready;
    end_worker(w, true, how, sizeof how);
    if (hangs) snprintf(why, sizeof why, "%s took more than %.3g s", w->n_open ? "a step" : "preparing it", limit);
    else snprintf(why, sizeof why, "the worker process ended: %s", how);
    if (ready) return fail_row(w, why);
    return LT_FAIL(LT_ERR_DEVICE, "worker process '%s' did not start: %s", w->g->opt->worker[0], hangs ? "it does not answer" : how);
}

/* ---- Messages ------------------------------------------------------------------------------------------------- */

/* What one step of the oldest row should take, from those it has done; 0: not known. The first beat is the initial field. */
static double expected_seconds(const open_row *o)
{
    return o->beats > 1 ? 1e-9 * (double)(lt_clock_ns() - o->begun_ns) / (double)(o->beats - 1) : 0;
}

/* How long the worker may say nothing. Rollouts whose states stay on their device have no beats: all their steps together get
   what a first step gets, or what operators before them needed. */
static double limit_seconds(const watch *w)
{
    const lt_generate_info *i = w->g->info;
    double least = w->g->opt->watchdog_seconds > 0 ? w->g->opt->watchdog_seconds : LEAST_SECONDS;
    if (!w->n_open) return BETWEEN * least;
    const open_row *o = &w->open[0];
    if (o->beats >= w->g->plan.steps) return w->g->c->learned.enabled ? INFINITY : BETWEEN * least; /* training takes what it takes */
    if (o->beats > 1) return fmax(least, SLOWER * expected_seconds(o));
    double mean = i->samples ? i->inference_seconds / (double)i->samples : 0;
    return fmax(FIRST_STEP * least, SLOWER * mean);
}

static lt_status check_ready(watch *w, const lt_worker_head *h)
{
    lt_worker_ready r;
    if (h->bytes != sizeof r) return LT_FAIL(LT_ERR_DEVICE, "worker process '%s' is another program", w->g->opt->worker[0]);
    LT_TRY(lt_worker_receive(w->fd, &r, sizeof r));
    r.version[sizeof r.version - 1] = 0;
    if (strcmp(r.version, lt_version()) || r.rest_bytes != w->g->plan.rest_bytes || r.step_bytes != w->g->plan.step_bytes)
        return LT_FAIL(LT_ERR_DEVICE, "worker process '%s' is version %s, this is %s", w->g->opt->worker[0], r.version, lt_version());
    w->ready = true;
    return LT_OK;
}

/* Times and counts of all workers together. */
static void add_up(watch *w)
{
    lt_generate_info *to = w->g->info;
    const lt_generate_info *a = &w->before, *b = &w->now;
    to->inference_seconds = a->inference_seconds + b->inference_seconds;
    to->feature_seconds = a->feature_seconds + b->feature_seconds;
    to->warmup_seconds = a->warmup_seconds + b->warmup_seconds;
    to->input_seconds = a->input_seconds + b->input_seconds;
    to->device_seconds = a->device_seconds + b->device_seconds;
    to->total_flops = a->total_flops + b->total_flops;
    to->peak_bytes = LT_MAX(a->peak_bytes, b->peak_bytes);
}

static lt_status take_row(watch *w, const lt_worker_head *h)
{
    lt_generator *g = w->g;
    lt_worker_row r;
    open_row *o = find_open(w, h->row);
    if (!o || h->bytes != sizeof r + g->plan.rest_bytes) return LT_FAIL(LT_ERR_INTERNAL, "worker process: a row of %llu bytes", (unsigned long long)h->bytes);
    LT_TRY(lt_worker_receive(w->fd, &r, sizeof r));
    LT_TRY(lt_worker_receive(w->fd, o->out->record, g->plan.rest_bytes));
    lt_store_row *out = o->out;
    close_row(w, o);
    mark_done(w, h->row);
    w->now = r.info;
    memcpy(g->info->feature_reason, r.info.feature_reason, sizeof r.info.feature_reason);
    add_up(w);
    if (r.result.status == LT_RUN_FAILED) note_failure(g, h->row, r.info.first_failure);
    return lt_generator_put_row(g, out, &r.result);
}

static lt_status take_states(watch *w, const lt_worker_head *h)
{
    lt_generator *g = w->g;
    open_row *o = find_open(w, h->row);
    if (!o || h->bytes != g->plan.step_bytes || o->states >= g->plan.n_steps) return LT_FAIL(LT_ERR_INTERNAL, "worker process: unexpected states");
    LT_TRY(lt_worker_receive(w->fd, w->block, g->plan.step_bytes));
    o->states++;
    return lt_store_row_step(g->store, o->out, w->block, (int)g->plan.grid);
}

static lt_status take_beat(watch *w, int64_t row)
{
    open_row *o = find_open(w, row);
    if (!o) return LT_FAIL(LT_ERR_INTERNAL, "worker process: a step of row %lld, which has not begun", (long long)row);
    if (o->beats++ == 0) o->begun_ns = lt_clock_ns();
    return LT_OK;
}

/* What ended the worker's run ends ours, but for a device lost under a rollout: that costs the rollout, as a crash does. */
static lt_status take_failure(watch *w, const lt_worker_head *h)
{
    char text[LT_ERROR_TEXT_BYTES] = "";
    size_t n = LT_MIN((size_t)h->bytes, sizeof text - 1);
    LT_TRY(lt_worker_receive(w->fd, text, n));
    if (h->value == LT_ERR_DEVICE && w->n_open) {
        end_worker(w, true, NULL, 0);
        return fail_row(w, text);
    }
    lt_error_set(text);
    return h->value > 0 ? (lt_status)h->value : LT_ERR_INTERNAL;
}

static lt_status take_message(watch *w, const lt_worker_head *h)
{
    switch ((lt_worker_word)h->word) {
    case LT_WORD_READY: return check_ready(w, h);
    case LT_WORD_BEGIN: return begin_row(w, h->row);
    case LT_WORD_BEAT: return take_beat(w, h->row);
    case LT_WORD_STATES: return take_states(w, h);
    case LT_WORD_ROW: return take_row(w, h);
    case LT_WORD_END: end_worker(w, false, NULL, 0); return LT_OK;
    case LT_WORD_FAILED: return take_failure(w, h);
    case LT_WORD_SETUP: break;
    }
    return LT_FAIL(LT_ERR_INTERNAL, "worker process: unknown word %lld", (long long)h->word);
}

/* ---- The loop ----------------------------------------------------------------------------------------------------- */

static void drop_open(watch *w)
{
    while (w->n_open > 0) lt_store_row_drop(w->g->store, w->open[--w->n_open].out);
}

/* Counts of a worker that is gone are kept; rows it had begun run again. */
static lt_status next_worker(watch *w)
{
    add_up(w);
    w->before = *w->g->info;
    w->now = (lt_generate_info){ 0 };
    drop_open(w);
    return start_worker(w);
}

static lt_status watch_rows(watch *w)
{
    while (w->next < w->g->n_order) {
        bool timed_out, stopped;
        lt_worker_head h;
        if (!w->pid) LT_TRY(next_worker(w));
        double limit = limit_seconds(w);
        LT_TRY(lt_worker_wait(w->fd, limit, w->g->opt->stop, &timed_out, &stopped));
        if (stopped) return LT_FAIL(LT_ERR_CANCELLED, "stopped");
        if (timed_out || lt_worker_receive(w->fd, &h, sizeof h)) LT_TRY(lose_worker(w, timed_out, limit));
        else LT_TRY(take_message(w, &h));
    }
    return LT_OK;
}

lt_status lt_generator_run_watched(lt_generator *g)
{
    watch w = { .g = g, .fd = -1 };
    size_t field = sizeof(float) * LT_FIELD_CHANNELS * (size_t)g->rows.max_grid * (size_t)g->rows.max_grid;
    w.block = lt_malloc(LT_MAX(g->plan.step_bytes, field));
    w.left = lt_malloc((size_t)g->n_order * sizeof *w.left);
    if (!w.block || !w.left) {
        lt_free(w.block);
        lt_free(w.left);
        return LT_ERR_MEMORY;
    }
    memcpy(w.left, g->order, (size_t)g->n_order * sizeof *w.left);
    lt_span span = lt_span_begin("watched rollouts");
    lt_status s = watch_rows(&w);
    end_worker(&w, true, NULL, 0);
    drop_open(&w);
    lt_field_makers_release(&w.makers);
    lt_free(w.block);
    lt_free(w.left);
    lt_span_end(span);
    return s;
}
