/* The remote handle. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_QKERNEL_REMOTE_FILL_H
#define LT_QKERNEL_REMOTE_FILL_H

#include "qkernel/remote/parts.h"

enum { LT_REMOTE_MARKS = 3 };

struct lt_remote {
    lt_device             *dev;
    lt_stream             *stream;
    const lt_gram_options *opt;          /* the handle's; borrowed */
    const lt_circuit      *circuit;      /* likewise */
    bool                   prepared, kept, has_shape;
    lt_tile_shape          shape;
    lt_gram_method         method;
    lt_remote_kernels      kernels;
    lt_row_maker           maker;
    lt_fetch              *fetch;
    lt_remote_memory       a, b, k, slot[2], jobs[2];
    void                  *pinned[2];    /* tile lists and jobs on their way up, in turns with jobs */
    size_t                 pinned_bytes[2];
    lt_event              *done[2];      /* the last panel of each turn is computed */
    bool                   under_way[2];
    lt_event              *mark[LT_REMOTE_MARKS];
    lt_remote_plan         plan;
};

lt_status lt_remote_prepare(lt_remote *r, lt_gram_method method, const lt_stage *stages, int64_t n_stages);

#endif
