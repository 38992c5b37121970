/* The same work done without lathe: by the vendor's library directly, or by another framework whose
   timings come in a file (decision 17). SPDX-License-Identifier: BSD-3-Clause */
#ifndef LATHE_BENCH_PEER_PEERS_H
#define LATHE_BENCH_PEER_PEERS_H

#include "cli/frame/cli.h"

enum { PEER_ROWS = 101, PEER_PLAIN = 111, PEER_CONJUGATE = 113 }; /* as CBLAS numbers them */

/* Seconds of one square matmul in OpenBLAS; LT_ERR_UNSUPPORTED where there is none. */
lt_status peer_openblas_matmul(lt_dtype t, int64_t n, int n_threads, double budget, cli_timing *out);
void      peer_openblas_threads(int n); /* of its own, for what follows; lathe wants 1 */
/* A square convolution that keeps the size of its images. */
typedef struct peer_layer { int64_t batch, in, out, kernel, side; } peer_layer;
/* Seconds of it in oneDNN, on tensors laid out as PyTorch's are or, with own_layout, in the layout it
   likes best (reorders not counted). LT_ERR_UNSUPPORTED when not built in. */
lt_status peer_onednn_conv(const peer_layer *l, bool own_layout, double budget, cli_timing *out);

/* Timings of another framework: {"peer": "…", "rows": [{"name": "…", "seconds": …}, …]}. Rows of the optimizer may have "f", where
   it ended, and rows of several starts "f": […] and "violation": […], one number for each. */
enum { PEER_MAX_ROWS = 64, PEER_MAX_STARTS = 100 };
typedef struct peer_row {
    char   name[32];
    double seconds;
    int    n_f, n_violation;
    double f[PEER_MAX_STARTS], violation[PEER_MAX_STARTS];
} peer_row;
typedef struct peer_file {
    char     peer[64];
    int      n_rows;
    peer_row row[PEER_MAX_ROWS];
} peer_file;

lt_status peer_file_read(const char *path, peer_file *out);
const peer_row *peer_file_row(const peer_file *f, const char *name); /* NULL when it has no such row */
double    peer_file_seconds(const peer_file *f, const char *name); /* NaN when it has no such row */

#endif
