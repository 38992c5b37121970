/* The options that every subcommand has, and the kinds of devices they name. SPDX-License-Identifier: BSD-3-Clause */
#include "cli/frame/cli.h"

const lt_option cli_common_rows[CLI_N_COMMON_ROWS] = {
    LT_OPTION_BOOL(cli_common, json, "json", "false", "one JSON object on standard output, nothing else there"),
    LT_OPTION_BOOL(cli_common, quiet, "quiet", "false", "no progress and no remarks, results only", .letter = 'q'),
    LT_OPTION_STRING(cli_common, device, "device", "auto", "DEVICE", "where to compute: auto, cpu, null, cuda or cuda:N"),
    LT_OPTION_PATH(cli_common, profile, "profile", NULL, "FILE.json", "record a trace of the run for Perfetto or chrome://tracing"),
    LT_OPTION_INT(cli_common, seed, "seed", "0", LT_AT_LEAST(0), "N", "seed of all random inputs"),
};

bool cli_on_cpu(lt_device *dev)
{
    lt_device_info info = { .size = sizeof info };
    return !dev || (!lt_device_describe(dev, &info) && !info.own_memory);
}

bool cli_on_gpu(lt_device *dev)
{
    lt_device_info info = { .size = sizeof info };
    return dev && !lt_device_describe(dev, &info) && info.own_memory && info.computes;
}
