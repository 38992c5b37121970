/* Fuzz target: what a worker process may send to its parent, in any order, of any length, cut anywhere. The parent takes it, loses the
   worker, or fails with a sentence; rows are dealt, begun and handed over at most once each. SPDX-License-Identifier: BSD-3-Clause */
#include "fuzz.h"

#include "base/alloc.h"
#include "base/status.h"
#include "operators/generate/worker/pool.h"

#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROWS = 6 };

static const char config_text[] =
    "metadata: {name: fuzz}\n"
    "parameter_space:\n"
    "  architecture: {num_layers: {type: integer, bounds: [2, 3]}, base_channels: {type: integer, bounds: [4, 5]}, kernel_size: {type: choice, choices: [3]}}\n"
    "  stochastic: {noise_type: {type: choice, choices: [gaussian]}}\n"
    "  operator: {normalization: {type: choice, choices: [none]}, grid_size: {type: choice, choices: [8]}}\n"
    "sampling: {total_samples: 6, batch_size: 2}\n"
    "simulation: {device: cpu, precision: float32, num_realizations: 1, num_timesteps: 2}\n"
    "dataset: {output_path: x.h5, storage: {chunk_size: 2, store_trajectories: true}}\n";

static lt_generator g;
static lt_generate_info info;
static int puts_of[ROWS];

static lt_status ignore_step(void *ctx, const lt_store_row *row, const float *states)
{
    (void)ctx, (void)row, (void)states;
    return LT_OK;
}

static lt_status count_row(void *ctx, const lt_store_row *row)
{
    (void)ctx;
    LT_FUZZ_REQUIRE(row->row >= 0 && row->row < ROWS && ++puts_of[row->row] == 1);
    return LT_OK;
}

static void make_generator(void)
{
    static lt_generate_options opt = { .size = sizeof opt };
    static const char *const worker[] = { "fuzz", NULL };
    lt_dataset_config *c = NULL;
    LT_FUZZ_REQUIRE(lt_dataset_config_parse(config_text, sizeof config_text - 1, "fuzz.yaml", NULL, &c) == LT_OK);
    opt = lt_generate_defaults();
    opt.worker = worker;
    opt.shard_count = 1;
    g = (lt_generator){ .c = c, .opt = &opt, .info = &info };
    LT_FUZZ_REQUIRE(lt_generator_prepare(&g) == LT_OK && g.rows.n == ROWS);
    g.n_order = ROWS;
}

/* A worker that only waits: what it says comes from the input. */
static void start(lt_worker *w, int *other)
{
    int pair[2];
    LT_FUZZ_REQUIRE(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair));
    w->fd = pair[0];
    *other = pair[1];
    w->pid = getpid() + (1 << 24); /* no process has it: killing and waiting find nothing */
    w->ready = false;
}

/* One record: word, row, value, how many bytes, and what fills them. */
static size_t say(int fd, const uint8_t *d, size_t n, const lt_worker_pool *p)
{
    static uint8_t message[1 << 16];
    enum { RECORD = 6 };
    if (n < RECORD) return n;
    const lt_store_plan *plan = &g.plan;
    const size_t sizes[] = { 0, sizeof(lt_worker_ready), plan->step_bytes, sizeof(lt_worker_row) + plan->rest_bytes, 7, p->message_bytes, p->message_bytes + 1, SIZE_MAX };
    lt_worker_head h = { .word = d[0] % 16, .row = (int8_t)d[1] % 8, .value = (int8_t)d[2], .bytes = sizes[d[3] % 8] };
    size_t body = h.bytes < sizeof message ? (size_t)h.bytes : 0;
    memset(message, d[4], body);
    if (h.word == LT_WORD_READY && d[5] % 4) {
        lt_worker_ready r = { .rest_bytes = plan->rest_bytes, .step_bytes = plan->step_bytes };
        snprintf(r.version, sizeof r.version, "%s", lt_version());
        memcpy(message, &r, sizeof r);
    }
    if (h.word == LT_WORD_ROW && d[5] % 4 && body >= sizeof(lt_worker_row)) memcpy(message + offsetof(lt_worker_row, result.status), &(lt_run_status){ (lt_run_status)(d[5] % 8) }, sizeof(lt_run_status));
    if (d[5] & 0x80) body /= 2; /* cut: what follows is taken for the rest */
    (void)!send(fd, &h, sizeof h, MSG_NOSIGNAL | MSG_DONTWAIT);
    (void)!send(fd, message, body, MSG_NOSIGNAL | MSG_DONTWAIT);
    return RECORD;
}

static void drain(int fd)
{
    static uint8_t nowhere[1 << 16];
    while (recv(fd, nowhere, sizeof nowhere, MSG_DONTWAIT) > 0) { }
}

static void run(lt_worker_pool *p, const uint8_t *data, size_t n_bytes)
{
    lt_worker *w = &p->worker[0];
    int other;
    lt_status s = LT_OK;
    start(w, &other);
    for (size_t at = 0; at < n_bytes && !s && w->pid;) {
        at += say(other, data + at, n_bytes - at, p);
        for (int i = 0; i < 4 && !s && w->pid; i++) s = lt_worker_take(w);
        if (!s && w->pid && w->asks && w->n_dealt < LT_WORKER_DEALT) s = lt_worker_deal(w, p->next < ROWS ? p->left[p->next++] : -1);
        drain(other);
        LT_FUZZ_REQUIRE(w->n_dealt >= 0 && w->n_dealt <= LT_WORKER_DEALT && w->n_open >= 0 && w->n_open <= LT_WORKER_OPEN && p->next >= 0 && p->next <= ROWS);
    }
    close(other);
    if (!s && w->pid) s = lt_worker_take(w); /* sees the end */
    if (s) LT_FUZZ_REQUIRE(lt_error_text()[0]);
    lt_worker_stop(w);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    static int64_t left[ROWS];
    if (!g.c) make_generator();
    int64_t live = lt_alloc_live();
    bool suspect[ROWS] = { false }, renewed[ROWS] = { false };
    lt_store_sink sink = { ignore_step, count_row, NULL };
    lt_worker w = { .device = "" };
    memset(puts_of, 0, sizeof puts_of);
    memset(&info, 0, sizeof info);
    for (int i = 0; i < ROWS; i++) left[i] = i;
    size_t longest = LT_MAX(LT_MAX(g.plan.step_bytes, sizeof(lt_worker_row) + g.plan.rest_bytes), (size_t)LT_ERROR_TEXT_BYTES);
    lt_worker_pool p = { .g = &g, .n = 1, .worker = &w, .left = left, .suspect = suspect, .renewed = renewed, .message_bytes = longest };
    LT_FUZZ_REQUIRE(lt_store_open_sink(&g.plan, &sink, &g.store) == LT_OK);
    w.pool = &p;
    w.message = malloc(longest); /* exactly as long as it is: an overrun is seen */
    p.block = malloc(g.plan.step_bytes);
    LT_FUZZ_REQUIRE(w.message && p.block);
    run(&p, data, n_bytes);
    lt_store_close_sink(g.store);
    lt_field_makers_release(&p.makers);
    free(w.message);
    free(p.block);
    LT_FUZZ_REQUIRE(lt_alloc_live() == live);
    return 0;
}

size_t lt_fuzz_seed(int index, uint8_t *out, size_t capacity)
{
    /* Ready, ask, begin row 0, beats, states of both steps, the row; then an end, a failure, half a message, nonsense. */
    static const uint8_t good[] = { 3, 0, 0, 1, 0, 1, 5, 0, 0, 0, 0, 1, 6, 0, 0, 0, 0, 1, 7, 0, 0, 0, 0, 1, 8, 0, 0, 2, 1, 1, 8, 0, 0, 2, 2, 1, 9, 0, 0, 3, 0, 1 };
    static const uint8_t last[][6] = { { 10, 0, 0, 0, 0, 1 }, { 11, 0, 8, 4, 65, 1 }, { 7, 0, 0, 3, 0, 0x81 }, { 9, 0, 0, 3, 0xff, 4 }, { 15, 0, 0, 7, 0, 0 }, { 6, 0, 0, 0, 0, 0 } };
    if (index >= 6 || capacity < sizeof good + 6) return 0;
    memcpy(out, good, sizeof good);
    memcpy(out + sizeof good - (index == 3 ? 6 : 0), last[index], 6);
    return sizeof good + 6 - (index == 3 ? 6 : 0);
}
