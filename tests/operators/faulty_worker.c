/* A worker of lt_generate that hangs, dies or is slow where it is told to: faulty_worker [hang|crash|lose|nap ROW STEP]…; row -1 is any.
   SPDX-License-Identifier: BSD-3-Clause */
#include "operators/worker.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct faults { int n; char **argument; } faults;

/* What a worker says whose device is gone before its rollout was waited for. */
static _Noreturn void lose_device(void)
{
    const char text[] = "the test's device is lost";
    (void)lt_worker_send(LT_WORKER_FD, (lt_worker_head){ .word = LT_WORD_FAILED, .value = LT_ERR_DEVICE }, 1, &(lt_worker_piece){ text, sizeof text - 1 });
    _exit(1);
}

static void strike(void *ctx, int64_t row, int64_t t)
{
    const faults *f = ctx;
    for (int i = 0; i + 2 < f->n; i += 3) {
        int64_t at = atoll(f->argument[i + 1]);
        if ((at >= 0 && at != row) || atoll(f->argument[i + 2]) != t) continue;
        if (!strcmp(f->argument[i], "nap")) {
            usleep(300000);
            continue;
        }
        if (!strcmp(f->argument[i], "crash")) raise(SIGKILL);
        if (!strcmp(f->argument[i], "lose")) lose_device();
        for (;;) pause();
    }
}

int main(int argc, char **argv)
{
    faults f = { argc - 1, argv + 1 };
    return lt_worker_serve(LT_WORKER_FD, strike, &f) != LT_OK;
}
