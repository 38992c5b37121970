/* The subcommands of lathe-bench. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LATHE_BENCH_COMMANDS_H
#define LATHE_BENCH_COMMANDS_H

#include "cli/frame/cli.h"

extern const cli_command bench_roofline, bench_transfers, bench_graph, bench_fused, bench_generate, bench_gram, bench_qsvm, bench_solve;

#endif
