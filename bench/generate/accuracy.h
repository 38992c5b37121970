/* The checks of lathe-bench generate. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LATHE_BENCH_GENERATE_ACCURACY_H
#define LATHE_BENCH_GENERATE_ACCURACY_H

#include "cli/frame/cli.h"

/* The error of one step of `operators` random operators, and distributions of features of `samples` of them, each in every
   precision; 0 leaves one out. LT_ERR_NUMERIC when a limit is passed. */
lt_status bench_accuracy(cli_context *c, int64_t operators, int64_t samples, bool quick);
/* A checksum of the features of 100 fixed operators in every precision, twice, and whether it is the recorded one: timings of
   results that changed are worth nothing. LT_ERR_NUMERIC when the two runs differ. */
lt_status bench_checksum(cli_context *c);

#endif
