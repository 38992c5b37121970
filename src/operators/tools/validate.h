/* Checks of a dataset file: what validate*.c share. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_OPERATORS_TOOLS_VALIDATE_H
#define LT_OPERATORS_TOOLS_VALIDATE_H

#include "lathe/dataset.h"

typedef struct lt_check {
    lt_dataset      *d;
    lt_dataset_info  info;
    int64_t         *code;            /* [rows]; all done where the file keeps none */
    lt_finding       finding;
    void            *ctx;
} lt_check;

void lt_check_report(lt_check *k, lt_finding_level level, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Labels and parameters against the configuration in the file. */
lt_status lt_check_metadata(lt_check *k, const lt_dataset_config *c);
/* Shares of field families and policies against their weights. */
lt_status lt_check_shares(lt_check *k, const lt_dataset_config *c);
/* Features of some finished rows, computed again on a device of the kind that made the file (NULL: the CPU) and compared: bit
   for bit on the CPU; where the device measured them, up to what its own order of sums changes. */
lt_status lt_check_replays(lt_check *k, const lt_dataset_config *c, int replays, lt_device *device);

#endif
