/* The limits of this machine, measured: memory bandwidth and multiply-add rate of the cores.
   SPDX-License-Identifier: BSD-3-Clause */
#ifndef LATHE_CLI_SYSTEM_MACHINE_H
#define LATHE_CLI_SYSTEM_MACHINE_H

#include "cli/frame/cli.h"

typedef enum cli_stream { CLI_STREAM_COPY, CLI_STREAM_TRIAD, CLI_STREAM_WRITE, CLI_STREAM_COUNT } cli_stream;
const char *cli_stream_name(cli_stream s);

/* Seconds of one copy (b = a), triad (c = a + s b) or write (b = 0) over arrays of array_bytes each. */
lt_status cli_measure_stream(cli_stream which, int n_threads, int64_t array_bytes, double budget, cli_timing *out);
int       cli_stream_arrays(cli_stream s); /* arrays read or written, each once: 1 to 3, as STREAM counts */

/* Multiply-adds kept in registers: the most the cores can do. FLOPs per second. */
lt_status cli_measure_peak(lt_dtype type, int n_threads, double budget, double *flops_per_second);

/* One thread of the multiply-add loop for f32 or f64, and how many FLOPs a call of it does. */
void (*cli_peak_kernel(lt_dtype type, int64_t *flops_per_call))(void *ctx, int thread, int n_threads);

int     cli_core_count(void);          /* cores this process may use, or LATHE_THREADS */
int64_t cli_stream_array_bytes(void);  /* large enough for the last-level cache to play no part */

#endif
