/* Timing of a call: enough calls per sample to trust the clock, median and quartiles of samples.
   SPDX-License-Identifier: BSD-3-Clause */
#include "cli/frame/cli.h"

#include <stdlib.h>
#include <time.h>

enum { MIN_SAMPLES = 5, MAX_SAMPLES = 200 };
static const double sample_seconds = 2e-3; /* against a clock good to well under a microsecond */

double cli_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int cli_ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static lt_status one_sample(cli_timed call, void *ctx, int64_t calls, double *seconds)
{
    double start = cli_now();
    for (int64_t i = 0; i < calls; i++) CLI_TRY(call(ctx));
    *seconds = (cli_now() - start) / (double)calls;
    return LT_OK;
}

lt_status cli_time(cli_timed call, void *ctx, double budget, cli_timing *out)
{
    double sample[MAX_SAMPLES], once;
    int64_t calls = 1;
    CLI_TRY(one_sample(call, ctx, 1, &once)); /* warms caches and pages */
    for (;;) {
        CLI_TRY(one_sample(call, ctx, calls, &once));
        if (once * (double)calls >= sample_seconds || calls >= (int64_t)1 << 30) break;
        calls *= 2;
    }
    int n = 0;
    double start = cli_now();
    while (n < MAX_SAMPLES && (n < MIN_SAMPLES || cli_now() - start < budget)) {
        if (cli_interrupted()) return cli_stopped();
        CLI_TRY(one_sample(call, ctx, calls, &sample[n++]));
    }
    qsort(sample, (size_t)n, sizeof sample[0], cli_ascending);
    *out = (cli_timing){ .median = sample[n / 2], .low = sample[n / 4], .high = sample[n - 1 - n / 4],
                         .samples = n, .calls_per_sample = calls };
    return LT_OK;
}
