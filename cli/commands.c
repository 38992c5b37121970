/* The one table of subcommands, and the options they all have. SPDX-License-Identifier: BSD-3-Clause */
#include "cli.h"

const cli_command *const cli_commands[] = {
    &cli_solve, &cli_gram, &cli_qsvm, &cli_qsvm_predict, &cli_demo, &cli_devices, &cli_doctor, &cli_tune, &cli_explain,
    &cli_generate_dataset, &cli_info, &cli_inspect, &cli_validate, &cli_replay, &cli_merge, &cli_extract_features, &cli_cloud_generate,
    &cli_visualize_dataset, &cli_visualize_features, &cli_visualize_ic_types,
    &cli_bench_roofline, &cli_bench_transfers, &cli_bench_graph, &cli_bench_fused, &cli_bench_generate, &cli_bench_gram, &cli_bench_qsvm, &cli_bench_solve,
};
const int cli_n_commands = CLI_LEN(cli_commands);

const lt_option cli_common_rows[CLI_N_COMMON_ROWS] = {
    LT_OPTION_BOOL(cli_common, json, "json", "false", "one JSON object on standard output, nothing else there"),
    LT_OPTION_BOOL(cli_common, quiet, "quiet", "false", "no progress and no remarks, results only", .letter = 'q'),
    LT_OPTION_STRING(cli_common, device, "device", "auto", "DEVICE", "where to compute: auto, cpu, null, cuda or cuda:N"),
    LT_OPTION_PATH(cli_common, profile, "profile", NULL, "FILE.json", "record a trace of the run for Perfetto or chrome://tracing"),
    LT_OPTION_INT(cli_common, seed, "seed", "0", LT_AT_LEAST(0), "N", "seed of all random inputs"),
};
