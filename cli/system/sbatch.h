/* lathe cluster sbatch. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LATHE_CLI_SYSTEM_SBATCH_H
#define LATHE_CLI_SYSTEM_SBATCH_H

#include "cli/frame/cli.h"

extern const cli_command cli_cluster_sbatch;

#endif
