/* A worker of lt_generate that hangs or dies where it is told to: faulty_worker [hang|crash ROW STEP]…
   SPDX-License-Identifier: BSD-3-Clause */
#include "operators/worker.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct faults { int n; char **argument; } faults;

static void strike(void *ctx, int64_t row, int64_t t)
{
    const faults *f = ctx;
    for (int i = 0; i + 2 < f->n; i += 3) {
        if (atoll(f->argument[i + 1]) != row || atoll(f->argument[i + 2]) != t) continue;
        if (!strcmp(f->argument[i], "crash")) raise(SIGKILL);
        for (;;) pause();
    }
}

int main(int argc, char **argv)
{
    faults f = { argc - 1, argv + 1 };
    return lt_worker_serve(LT_WORKER_FD, strike, &f) != LT_OK;
}
