/* The table of subcommands of lathe-bench. SPDX-License-Identifier: BSD-3-Clause */
#include "bench/commands.h"

const cli_command *const cli_commands[] = {
    &bench_roofline, &bench_transfers, &bench_graph, &bench_fused, &bench_generate, &bench_gram, &bench_qsvm, &bench_solve,
};
const int cli_n_commands = CLI_LEN(cli_commands);

const cli_program_row cli_program = { .name = "lathe-bench", .example = "lathe-bench roofline --quick" };
