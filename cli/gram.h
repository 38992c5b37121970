/* What the files of `lathe gram` share. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LATHE_CLI_GRAM_H
#define LATHE_CLI_GRAM_H

#include "cli.h"

typedef struct gram_cli {
    cli_common      common;
    lt_gram_options gram;
    const char     *x, *y, *weights, *out, *states_out, *report, *devices;
} gram_cli;
enum { GRAM_MAX_DEVICES = 16 };

typedef struct gram_job {
    cli_context    *c;
    const gram_cli *o;
    lt_array        x, y, w;
    lt_rows         X, Y;
    double         *weights;
    lt_npy_map     *map, *states_map;
    void           *K, *own_K;     /* K: in the map, or own_K */
    int64_t         n, m;
    lt_device      *device[GRAM_MAX_DEVICES]; /* of --devices */
    int             n_devices;
    lt_gram        *gram;
    lt_progress    *bar;
    lt_gram_info    info;
} gram_job;

lt_status gram_report(gram_job *j);

#endif
