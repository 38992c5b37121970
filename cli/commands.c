/* The table of subcommands of lathe (decision 12). SPDX-License-Identifier: BSD-3-Clause */
#include "cli/frame/cli.h"
#include "cli/pages/pages.h"
#include "cli/system/sbatch.h"

const cli_command *const cli_commands[] = {
    &cli_solve,
    &cli_generate_dataset, &cli_info, &cli_validate, &cli_replay, &cli_merge, &cli_extract_features, &cli_upgrade, &cli_table_command,
    &cli_export, &cli_split, &cli_card, &cli_visualize_dataset, &cli_visualize_features, &cli_visualize_ic_types,
    &cli_gram, &cli_qsvm, &cli_qsvm_predict, &cli_train_kernel,
    &cli_demo, &cli_devices, &cli_doctor, &cli_explain, &cli_tune, &cli_cluster_sbatch,
};
const int cli_n_commands = CLI_LEN(cli_commands);

static const cli_heading headings[] = {
    { "Optimization", &cli_solve },
    { "Datasets of operator rollouts", &cli_generate_dataset },
    { "Quantum kernels", &cli_gram },
    { "lathe and this machine", &cli_demo },
};

static const cli_gone gone[] = {
    { "bench", "the program lathe-bench: 'make bench' builds and runs it" },
    { "cloud-generate", "'lathe generate', on the machine it is to run on" },
    { "inspect", "'lathe info'" },
};

const cli_program_row cli_program = { .name = "lathe", .example = "lathe doctor", .gone = gone, .n_gone = CLI_LEN(gone),
                                      .headings = headings, .n_headings = CLI_LEN(headings), .generate = cli_generate };
