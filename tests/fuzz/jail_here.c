/* The two sides of a jail in one process. SPDX-License-Identifier: BSD-3-Clause */
#include "jail_here.h"

#include "base/alloc.h"
#include "base/jail.h"
#include "base/status.h"
#include "fuzz.h"

#include <stdbool.h>
#include <string.h>
#include <ucontext.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ADDRESS_SANITIZER 1
#endif
#endif
#ifdef ADDRESS_SANITIZER
#include <sanitizer/common_interface_defs.h>
#endif

enum { STACK_BYTES = 1 << 20, MOST_ANSWERS = 4096, MOST_KEPT = 32, RECORD = 8 };

typedef struct answer { lt_status status; char *data; size_t bytes; } answer;

static struct {
    ucontext_t caller, worker;
    void (*work)(void *ctx, int fd);
    void *ctx;
    bool started, ended, must_end;
    const void *request;
    size_t request_bytes;
    answer answers[MOST_ANSWERS];
    int n_answers, next_answer;
} here;

/* Answers of another day, and how they are changed. */
static struct { bool record, replay; answer answers[MOST_KEPT]; int n_answers, next; const uint8_t *changes; size_t n_changes; } kept;

static char stack[STACK_BYTES] __attribute__((aligned(64)));

/* ---- Taking turns -------------------------------------------------------------------------------------- */
#ifdef ADDRESS_SANITIZER
static const void *caller_stack;
static size_t caller_stack_bytes;
static void leave_caller(void **fake) { __sanitizer_start_switch_fiber(fake, stack, STACK_BYTES); }
static void enter_worker(void *fake) { __sanitizer_finish_switch_fiber(fake, &caller_stack, &caller_stack_bytes); }
static void leave_worker(void **fake) { __sanitizer_start_switch_fiber(fake, caller_stack, caller_stack_bytes); }
static void enter_caller(void *fake) { __sanitizer_finish_switch_fiber(fake, NULL, NULL); }
#else
static void leave_caller(void **fake) { *fake = NULL; }
static void enter_worker(void *fake) { (void)fake; }
static void leave_worker(void **fake) { if (fake) *fake = NULL; }
static void enter_caller(void *fake) { (void)fake; }
#endif

static void worker_main(void)
{
    enter_worker(NULL);
    here.work(here.ctx, 0);
    here.ended = true;
    leave_worker(NULL);
    swapcontext(&here.worker, &here.caller);
}

/* The worker goes on until it wants a request or has ended. */
static void let_work(void)
{
    void *fake = NULL;
    if (here.ended || kept.replay) return;
    if (!here.started) {
        getcontext(&here.worker);
        here.worker.uc_stack.ss_sp = stack;
        here.worker.uc_stack.ss_size = STACK_BYTES;
        here.worker.uc_link = NULL;
        makecontext(&here.worker, worker_main, 0);
        here.started = true;
    }
    leave_caller(&fake);
    swapcontext(&here.caller, &here.worker);
    enter_caller(fake);
}

/* ---- In the child --------------------------------------------------------------------------------------- */
void lt_jail_shut(void) { }
void lt_jail_allow_seconds(unsigned n) { (void)n; }

bool lt_jail_request(int fd, void *request, size_t bytes)
{
    void *fake = NULL;
    (void)fd;
    while (!here.request && !here.must_end) {
        leave_worker(&fake);
        swapcontext(&here.worker, &here.caller);
        enter_worker(fake);
    }
    if (here.must_end) return false;
    LT_FUZZ_REQUIRE(here.request_bytes == bytes);
    memcpy(request, here.request, bytes);
    here.request = NULL;
    return true;
}

bool lt_jail_request_within(int fd, void *request, size_t bytes, int seconds)
{
    (void)seconds;
    return lt_jail_request(fd, request, bytes);
}

void lt_jail_answer(int fd, lt_status s, const void *data, size_t bytes)
{
    (void)fd;
    if (here.must_end) return;
    LT_FUZZ_REQUIRE(here.n_answers < MOST_ANSWERS);
    const void *from = s ? lt_error_text() : data;
    answer *a = &here.answers[here.n_answers++];
    *a = (answer){ .status = s, .bytes = s ? strlen(from) + 1 : bytes };
    a->data = malloc(a->bytes + 1);
    LT_FUZZ_REQUIRE(a->data);
    if (a->bytes) memcpy(a->data, from, a->bytes);
}

/* ---- In the parent ----------------------------------------------------------------------------------------- */
static void drop_answers(void)
{
    while (here.next_answer < here.n_answers) free(here.answers[here.next_answer++].data);
    here.n_answers = here.next_answer = 0;
}

lt_status lt_jail_start(const lt_jail_rules *rules, void (*work)(void *ctx, int fd), void *ctx, lt_jail *out)
{
    (void)rules;
    LT_FUZZ_REQUIRE(!here.work); /* one at a time */
    here.work = work;
    here.ctx = ctx;
    here.started = here.ended = here.must_end = false;
    *out = (lt_jail){ .pid = 1, .fd = -1 };
    return LT_OK;
}

void lt_jail_stop(lt_jail *j)
{
    if (!j->pid) return;
    here.must_end = true;
    if (here.started) let_work();
    LT_FUZZ_REQUIRE(kept.replay || !here.started || here.ended);
    drop_answers();
    here.work = NULL;
    here.request = NULL;
    *j = (lt_jail){ 0 };
}

static lt_status gone(lt_jail *j, const char *what)
{
    lt_jail_stop(j);
    return LT_FAIL(LT_ERR_FORMAT, "%s: damaged: the process that parses it does not survive", what);
}

lt_status lt_jail_ask(lt_jail *j, const char *what, const void *request, size_t bytes)
{
    if (!j->pid) return LT_FAIL(LT_ERR_FORMAT, "%s: damaged: the process that parsed it is gone", what);
    if (kept.replay) return LT_OK;
    here.request = request;
    here.request_bytes = bytes;
    let_work();
    return here.request ? gone(j, what) : LT_OK;
}

static answer copy_of(const answer *a, size_t wanted)
{
    answer out = { .status = a ? a->status : LT_OK, .bytes = a ? a->bytes : wanted };
    out.data = calloc(1, out.bytes + 1);
    LT_FUZZ_REQUIRE(out.data);
    if (a && a->bytes) memcpy(out.data, a->data, a->bytes);
    return out;
}

/* One change of answer `which`: number, place (two bytes), kind, value (four bytes). */
static void change_answer(answer *a, int which, const uint8_t *d)
{
    size_t at = a->bytes ? (size_t)(d[1] | d[2] << 8) % a->bytes : 0, widths[] = { 1, 4, 8, 2 }, n = widths[d[3] % 4];
    int32_t low = (int32_t)((uint32_t)d[4] | (uint32_t)d[5] << 8 | (uint32_t)d[6] << 16 | (uint32_t)d[7] << 24);
    int64_t value = d[3] & 0x80 ? (int64_t)low * ((int64_t)1 << 32) : low;
    if (d[0] % MOST_KEPT != which || a->status) return;
    switch (d[3] >> 2 & 7) {
    case 6: a->bytes -= d[4] < a->bytes ? d[4] : a->bytes; break;                       /* too short */
    case 7: free(a->data); *a = (answer){ (lt_status)(1 + d[4] % (LT_STATUS_COUNT - 1)), strdup("because"), 8 }; break;
    default: if (at + n <= a->bytes) memcpy(a->data + at, &value, n); break;
    }
}

static answer replayed(size_t wanted)
{
    int which = kept.next < MOST_KEPT - 1 ? kept.next++ : MOST_KEPT - 1;
    answer a = copy_of(which < kept.n_answers ? &kept.answers[which] : NULL, wanted);
    for (size_t i = 0; i < kept.n_changes; i++) change_answer(&a, which, kept.changes + RECORD * i);
    return a;
}

static lt_status hear(lt_jail *j, const char *what, size_t wanted, answer *a)
{
    if (!j->pid) return LT_FAIL(LT_ERR_FORMAT, "%s: damaged: the process that parsed it is gone", what);
    if (here.next_answer == here.n_answers) let_work();
    if (!kept.replay && here.next_answer == here.n_answers) return gone(j, what);
    *a = kept.replay ? replayed(wanted) : here.answers[here.next_answer++];
    if (here.next_answer == here.n_answers) here.next_answer = here.n_answers = 0;
    if (kept.record && kept.n_answers < MOST_KEPT) kept.answers[kept.n_answers++] = copy_of(a, 0);
    if (!a->status) return LT_OK;
    lt_status s = a->status;
    lt_error_set(a->data);
    free(a->data);
    return s;
}

lt_status lt_jail_hear(lt_jail *j, const char *what, void *data, size_t bytes)
{
    answer a;
    LT_TRY(hear(j, what, bytes, &a));
    bool fits = a.bytes == bytes;
    if (fits && bytes) memcpy(data, a.data, bytes);
    free(a.data);
    return fits ? LT_OK : gone(j, what);
}

lt_status lt_jail_hear_any(lt_jail *j, const char *what, size_t limit, void **data, size_t *bytes)
{
    answer a;
    *data = NULL;
    LT_TRY(hear(j, what, 100, &a));
    if (a.bytes > limit || !(*data = lt_malloc(a.bytes))) {
        free(a.data);
        return gone(j, what);
    }
    if (a.bytes) memcpy(*data, a.data, a.bytes);
    *bytes = a.bytes;
    free(a.data);
    return LT_OK;
}

void lt_jail_here_record(bool on) { kept.record = on; }

void lt_jail_here_replay(const uint8_t *changes, size_t n_bytes)
{
    kept.replay = true;
    kept.next = 0;
    kept.changes = changes;
    kept.n_changes = n_bytes / RECORD;
}
