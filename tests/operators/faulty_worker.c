/* A worker of lt_generate that goes wrong where it is told to: faulty_worker [FAULT ROW STEP]…; row -1 is any. hang: for ever; crash; nap: is slow;
   lose: says that its device is lost; cut, stall: dies or hangs amid a message; lie: says what nobody can; leave: ends unasked;
   signal: gets those that a whole group of processes gets; linger: hangs when all is done; deaf: does not even listen.
   Where FAULTY_ONCE names a file, faults strike as long as it is there, and the first of all processes removes it.
   SPDX-License-Identifier: BSD-3-Clause */
#include "operators/generate/worker/worker.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct faults { int n; char **argument; } faults;

static _Noreturn void hang(void)
{
    for (;;) pause();
}

static void say(lt_worker_word word, lt_status value, const char *text)
{
    (void)lt_worker_send(LT_WORKER_FD, (lt_worker_head){ .word = word, .value = value }, 1, &(lt_worker_piece){ text, strlen(text) });
}

/* A head that is cut off. */
static void say_half(int64_t row)
{
    lt_worker_head h = { .word = LT_WORD_BEAT, .row = row };
    if (write(LT_WORKER_FD, &h, sizeof h / 2) < 0) _exit(1);
}

static void strike_with(const char *fault, int64_t row)
{
    if (!strcmp(fault, "nap")) usleep(300000);
    if (!strcmp(fault, "crash")) raise(SIGKILL);
    if (!strcmp(fault, "lose")) say(LT_WORD_FAILED, LT_ERR_DEVICE, "the test's device is lost");
    if (!strcmp(fault, "leave")) say(LT_WORD_END, LT_OK, "");
    if (!strcmp(fault, "lie")) say((lt_worker_word)99, LT_OK, "");
    if (!strcmp(fault, "cut") || !strcmp(fault, "stall")) say_half(row);
    if (!strcmp(fault, "cut")) raise(SIGKILL);
    if (!strcmp(fault, "lose") || !strcmp(fault, "leave")) _exit(1);
    if (!strcmp(fault, "hang") || !strcmp(fault, "stall")) hang();
    if (!strcmp(fault, "signal"))
        for (size_t i = 0; i < 4; i++) raise((const int[]){ SIGINT, SIGTERM, SIGHUP, SIGQUIT }[i]);
}

static bool strikes(void)
{
    const char *once = getenv("FAULTY_ONCE");
    return !once || unlink(once) == 0;
}

static void strike(void *ctx, int64_t row, int64_t t)
{
    const faults *f = ctx;
    for (int i = 0; i + 2 < f->n; i += 3) {
        int64_t at = atoll(f->argument[i + 1]);
        if ((at < 0 || at == row) && atoll(f->argument[i + 2]) == t && strikes()) strike_with(f->argument[i], row);
    }
}

static bool has(const faults *f, const char *fault)
{
    for (int i = 0; i + 2 < f->n; i += 3)
        if (!strcmp(f->argument[i], fault)) return true;
    return false;
}

/* Files of the parent are none of a worker's business. */
static bool has_others_files(void)
{
    for (int fd = LT_WORKER_FD + 1; fd < 256; fd++)
        if (fcntl(fd, F_GETFD) >= 0) return true;
    return false;
}

int main(int argc, char **argv)
{
    faults f = { argc - 1, argv + 1 };
    if (has_others_files()) return 9;
    if (has(&f, "deaf")) hang();
    lt_status s = lt_worker_serve(LT_WORKER_FD, strike, &f);
    if (has(&f, "linger")) hang();
    return s != LT_OK;
}
