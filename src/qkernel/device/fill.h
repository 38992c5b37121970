/* The handle of Gram matrices on a device, and one call of it. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_QKERNEL_DEVICE_FILL_H
#define LT_QKERNEL_DEVICE_FILL_H

#include "qkernel/device/parts.h"

enum { LT_GRAM_MARKS = 3, LT_MAX_PANEL_STREAMS = 8, LT_MAX_TURNS = LT_MAX_PANEL_STREAMS + 1 };

/* What a launch of tiles needs while it is under way: its list on the way up, a part of K, events. */
typedef struct lt_panel_turn {
    lt_device_block slot, jobs;
    lt_host_memory  host_jobs;   /* job and list of tiles, which `jobs` is copied from */
    lt_event *begun, *done;
    bool      under_way;
    int       on;                /* which panel stream */
    int64_t   number, tiles;     /* of the launch */
} lt_panel_turn;

typedef struct lt_panel_stream { /* a stream that computes panels */
    lt_stream *stream;           /* the first: the device's own; others belong to the handle */
    int64_t    launches;
    int64_t    outstanding;      /* tiles of launches not known to have ended */
    double     busy_ns;          /* where timed */
} lt_panel_stream;

typedef struct lt_captured_call { /* a whole call of small size, recorded */
    lt_recording recording;
    int64_t      n, m;
    bool         cross, keep;
    int64_t      captures, replays; /* since the handle was made */
} lt_captured_call;

struct lt_device_gram {
    lt_device             *dev;
    lt_stream             *stream;       /* rows are made here; also the first panel stream */
    lt_pool               *pool;
    const lt_gram_options *opt;          /* the handle's; borrowed */
    const lt_layers      *circuit;      /* likewise */
    bool                   prepared, kept, has_shape, real_part;
    lt_tile_shape          shape;
    lt_gram_method         method;
    lt_gram_kernels        kernels;
    lt_row_maker           maker;
    lt_fetch               fetch;
    lt_device_block        a, b, k, roots[2], faults;
    lt_host_memory         host_faults;
    int                    n_panel_streams, n_turns;
    lt_panel_stream        panel_stream[LT_MAX_PANEL_STREAMS];
    lt_panel_turn          turn[LT_MAX_TURNS];
    lt_event              *rows_ready;
    lt_event              *mark[LT_GRAM_MARKS]; /* first kernel, last one, first rows made */
    lt_gram_device_plan    plan;
    bool                   plan_is_new;  /* this call had to make it, and to reserve its memory */
    lt_captured_call       captured;
};

/* One launch: a panel of rows against a block of columns. */
typedef struct lt_panel {
    int64_t row, n_rows;                 /* of K */
    int64_t column, n_columns;
    int64_t a_row, b_row;                /* in the blocks held */
    const lt_device_block *b;            /* &d->a or &d->b */
    int64_t b_padded;
    int     turn;                        /* from here on: set when it is launched */
    int64_t number, tiles;
} lt_panel;

typedef struct lt_call {
    lt_device_gram *d;
    const lt_device_gram_request *q;
    lt_gram_out out;
    size_t   element;
    bool     replayed;
    bool     capturing;                  /* work is being recorded, not done: no events, no waits */
    int64_t  a_padded;
    int64_t  rows_made, launches, tiles, syncs;
    int      n_waiting;                  /* panels that are computed, or being, and not yet on the host; oldest first */
    lt_panel waiting[LT_MAX_TURNS];
    int64_t  rows;                       /* of the next block of rows */
    lt_batch_sizer batch;
    int64_t  block_ns, block_pairs, least_rows, most_rows;
    lt_tile_faults faults;
} lt_call;

lt_status lt_device_gram_prepare(lt_device_gram *d, lt_gram_method method, const lt_stage *stages, int64_t n_stages);

/* ---- panel.c ---- */
int64_t   lt_panel_tiles(const lt_call *f, const lt_panel *p); /* that hold wanted entries */
int64_t   lt_panel_pairs(const lt_call *f, const lt_panel *p); /* wanted entries */
lt_status lt_panel_compute(lt_call *f, lt_panel *p);
lt_status lt_panel_fetch(lt_call *f, const lt_panel *p);
lt_status lt_panels_join(lt_call *f);                          /* the main stream waits for all panel streams */

/* ---- fill.c: what a captured call is made of ---- */
lt_status lt_call_rows(lt_call *f, const lt_rows *x, int64_t first, int64_t n, bool columns, int64_t padded);
lt_status lt_call_begin_faults(lt_call *f);
lt_status lt_call_end_faults(lt_call *f);

/* ---- captured.c: calls of small size as one sequence ---- */
bool      lt_captured_fits(const lt_call *f);
lt_status lt_captured_run(lt_call *f);
void      lt_captured_drop(lt_device_gram *d);

/* ---- report.c ---- */
lt_status lt_device_gram_report(lt_call *f, lt_gram_info *info, lt_gram_profile *profile);

#endif
