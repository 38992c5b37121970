/* What the files of this folder share. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_QKERNEL_DEVICE_PARTS_H
#define LT_QKERNEL_DEVICE_PARTS_H

#include "qkernel/device/device.h"

/* ---- what kernels read and write; the same structs stand at the head of the texts ---- */
typedef struct lt_tile_job {
    int64_t n_tiles, n_rows, n_columns, first_row, first_column, half, mirror, pitch, mirror_pitch, a_rows, b_rows, arrived;
    const void *left, *right;    /* device addresses, as faults */
    int64_t unit_diagonal;
    void   *faults;
} lt_tile_job;
typedef struct lt_tile_faults { uint64_t count, first; } lt_tile_faults; /* entries that are not finite; the first one's row << 32 | column */
typedef struct lt_states_job { int64_t n_rows, n_stages, first_stage, last_stage, generate; } lt_states_job;
typedef struct lt_closed_job { int64_t n_rows, padded_rows; } lt_closed_job;
typedef struct lt_tile_at { int32_t row, column; } lt_tile_at;

/* ---- kernels ---- */
typedef struct lt_remote_kernels {
    lt_kernel *fuse_gates, *two_stages, *chunks, *high_wires, *permute, *split_pairs; /* states */
    lt_kernel *wire_numbers;                                        /* closed forms */
    lt_kernel *roots;                                               /* of k(x,x), for normalising */
    lt_kernel *tiles;                                               /* K */
    bool       meets;            /* blocks of `tiles` wait for each other: two such launches must not run side by side */
    int        tile_rows, tile_columns;
    lt_gram_float precision;     /* in which `tiles` computes */
    char       name[48];
} lt_remote_kernels;

typedef struct lt_kernel_request {
    lt_gram_method method;
    int            q, components;
    bool           single;       /* states in f32 */
    bool           one_product;  /* of these: overlaps in float16, by one product of three (overlap_f32.cu) */
    bool           k_single;     /* K in f32 */
    bool           parity_ring;
    bool           two_stages;   /* states in one pass: two stages with a ring of parities between */
    bool           overlaps;     /* states are for overlaps; else they go home as they are */
    bool           normalize, repair;
    const lt_tile_shape *shape;  /* NULL: the built-in choice */
} lt_kernel_request;
lt_status lt_remote_kernels_build(lt_device *dev, const lt_kernel_request *q, lt_remote_kernels *out);
void      lt_remote_kernels_destroy(lt_remote_kernels *k);
uint64_t  lt_remote_tiles_digest(bool single); /* of the texts of tiles of overlaps */

/* ---- memory on the device ---- */
typedef struct lt_remote_memory { void *p; size_t bytes; } lt_remote_memory;
/* At least this many bytes; what was there is lost when it must grow. */
lt_status lt_remote_reserve(lt_device *dev, lt_remote_memory *m, size_t bytes, const char *owner);
void      lt_remote_release(lt_device *dev, lt_remote_memory *m);

/* ---- plan ---- */
typedef struct lt_remote_plan {
    int64_t n, m;
    bool    cross, half, shared, keep;
    bool    whole_k;             /* all of K lies on the device */
    bool    bulk;                /* all rows are made once */
    int64_t panel_rows;          /* of K computed by one launch and brought home together */
    int64_t batch_min, batch_max; /* bounds of block_rows, with dynamic_batch */
    int64_t block_rows, block_columns; /* of states held at once */
    size_t  row_bytes;           /* of one row of states or wire numbers */
    size_t  a_bytes, b_bytes, k_bytes, slot_bytes;
    char    text[480];
} lt_remote_plan;

typedef struct lt_remote_sizes {
    int64_t n, m, tile_rows, tile_columns, free_bytes, total_bytes;
    int     n_slots;             /* panels under way at once */
    bool    cross, half, keep;
    bool    shared;              /* other devices compute parts of K: it does not lie here as a whole */
    size_t  row_bytes, element;  /* of a row; of an entry of K */
    const lt_gram_options *opt;
} lt_remote_sizes;
lt_status lt_remote_plan_make(const lt_remote_sizes *s, lt_remote_plan *out);

/* ---- rows ---- */
typedef struct lt_remote_circuit { /* what stays on the device for a circuit */
    lt_remote_memory memory;
    void *scale, *jitter, *ryrz, *kinds, *fixed, *low, *high, *bits, *gates; /* parts of it; jitter: as asked, then 0 */
} lt_remote_circuit;
enum { LT_CHUNK_WIRES = 12, LT_WIRES_AT_ONCE = 4 };

typedef struct lt_row_maker {
    lt_device   *dev;
    lt_stream   *stream;
    const lt_layers *circuit;
    const lt_remote_kernels *kernels;
    lt_remote_circuit tables;
    const lt_stage *stages;      /* circuit->overlap or ->full */
    int64_t      n_stages;
    bool         single;
    double       jitter;
    lt_remote_memory x, coefficients, spare, jobs;
    lt_event    *begin;          /* to be recorded before the first kernel; NULL = none */
    void        *jobs_pinned;
    size_t       jobs_used;
    void        *pinned;         /* rows on their way up */
    size_t       pinned_bytes;
    bool         page_locked;
    lt_event    *pinned_free;
    bool         pinned_busy;
    bool         staged;         /* rows lie in `pinned` already, from staged_at on: queue their copies, touch nothing else */
    size_t       staged_at;
    lt_event    *sent[2];        /* around the last upload, where timed */
    bool         timed, sending;
    int64_t      launches, sent_bytes;
    double       sent_ns;
} lt_row_maker;
typedef struct lt_row_maker_options { bool single, page_locked, timed; double jitter; } lt_row_maker_options;
lt_status lt_row_maker_open(lt_row_maker *m, lt_device *dev, lt_stream *st, const lt_layers *c, const lt_remote_kernels *k,
                            const lt_row_maker_options *opt);
void      lt_row_maker_close(lt_row_maker *m);
/* States of rows first..first+n-1 to `to`, row after row, as the kernel of tiles reads them. */
lt_status lt_row_maker_states(lt_row_maker *m, const lt_rows *x, int64_t first, int64_t n, void *to);
/* Numbers of wires, padded to a multiple of the tile. */
lt_status lt_row_maker_wires(lt_row_maker *m, const lt_rows *x, int64_t first, int64_t n, int64_t padded, void *to);
/* The roots of k(x,x) of n rows that were made, padded as they were. */
lt_status lt_row_maker_roots(lt_row_maker *m, int64_t n, int64_t padded, const void *rows, bool jitter, void *roots);
/* Rows into page-locked memory, `at` bytes from its beginning; the bytes they take. */
size_t    lt_row_maker_stage(lt_row_maker *m, const lt_rows *x, int64_t first, int64_t n, size_t at);
void      lt_row_maker_reset(lt_row_maker *m); /* the counts begin anew */
lt_status lt_row_maker_sent(lt_row_maker *m);  /* sent_ns is up to date afterwards; waits for uploads */

/* ---- bringing K home ---- */
typedef enum lt_fetch_part { LT_FETCH_ALL, LT_FETCH_UPPER, LT_FETCH_MIRROR } lt_fetch_part;
typedef struct lt_fetch_job {
    const void *from;            /* dense: rows of `columns` entries */
    int64_t     row, column, n_rows, n_columns; /* in K */
    lt_fetch_part part;          /* upper: from the diagonal on; mirror: below it */
} lt_fetch_job;
typedef struct lt_fetch lt_fetch;
typedef struct lt_fetch_options {
    size_t     slot_bytes;
    int        n_slots;
    bool       page_locked, timed;
    lt_stream *stream;           /* NULL: one of its own */
    lt_pool   *pool;             /* spreads rows over K */
} lt_fetch_options;
lt_status lt_fetch_create(lt_device *dev, const lt_fetch_options *opt, lt_fetch **out);
void      lt_fetch_destroy(lt_fetch *f);
/* What comes next waits for the event. */
lt_status lt_fetch_after(lt_fetch *f, lt_event *ready);
/* Copies a part of K home (pitch entries a row, packed where wanted). Returns when it is there. */
lt_status lt_fetch_run(lt_fetch *f, const lt_fetch_job *j, const lt_gram_out *out, size_t element);
/* The same in two steps, for parts that fit into the ring: the copy is queued on st, and spread once that is done. */
bool      lt_fetch_holds(const lt_fetch *f, size_t bytes);
lt_status lt_fetch_queue(lt_fetch *f, lt_stream *st, const lt_fetch_job *j, size_t element);
lt_status lt_fetch_spread(lt_fetch *f, const lt_fetch_job *j, const lt_gram_out *out, size_t element);
void      lt_fetch_reset(lt_fetch *f); /* the counts below begin anew */
int64_t   lt_fetch_bytes(const lt_fetch *f);
double    lt_fetch_seconds(const lt_fetch *f);      /* spreading, by the host's clock */
double    lt_fetch_copy_seconds(const lt_fetch *f); /* copying, by the device's, where timed */

#endif
