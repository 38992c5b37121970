/* What the files of this folder share. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_QKERNEL_DEVICE_PARTS_H
#define LT_QKERNEL_DEVICE_PARTS_H

#include "device/host_ring.h"
#include "kernels/cuda/builder.h"
#include "device/recording.h"
#include "qkernel/device/device.h"
#include "qkernel/device/tile_job.h"
#include "qkernel/rows/batch.h"

/* ---- kernels ---- */
typedef struct lt_gram_kernels {
    lt_kernel *fuse_gates, *two_stages, *chunks, *high_wires, *permute, *split_pairs; /* states */
    lt_kernel *coefficients, *sweep;                                /* states of circuits of any gates */
    lt_kernel *adjoint, *adjoint_sums, *lambda_weights, *lambda_states; /* their derivatives */
    lt_kernel *bloch;                                               /* their one-qubit states */
    int        chunk_bits;                                          /* of sweep */
    lt_kernel *wire_numbers;                                        /* closed forms */
    lt_kernel *roots;                                               /* of k(x,x), for normalising */
    lt_kernel *tiles;                                               /* K */
    bool       meets;            /* blocks of `tiles` wait for each other: two such launches must not run side by side */
    int        tile_rows, tile_columns;
    lt_gram_float precision;     /* in which `tiles` computes */
    char       name[48];
} lt_gram_kernels;

typedef struct lt_kernel_request {
    lt_gram_method method;
    int            q, components;
    bool           single;       /* states in f32 */
    bool           one_product;  /* of these: overlaps in float16, by one product of three (overlap_f32.cu) */
    bool           k_single;     /* K in f32 */
    bool           parity_ring;
    bool           two_stages;   /* states in one pass: two stages with a ring of parities between */
    bool           overlaps;     /* states are for overlaps; else they go to the host as they are */
    bool           normalize, repair;
    bool           program;      /* rows are of a circuit of any gates */
    bool           real_part;    /* K is the real part of overlaps */
    bool           adjoint;      /* sweeps will be undone, for derivatives */
    bool           bloch;        /* one-qubit states are wanted */
    const lt_tile_shape *shape;  /* NULL: the built-in choice */
} lt_kernel_request;
lt_status lt_gram_kernels_build(lt_device *dev, const lt_kernel_request *q, lt_gram_kernels *out);
void      lt_gram_kernels_destroy(lt_gram_kernels *k);
uint64_t  lt_gram_tiles_digest(bool single); /* of the texts of tiles of overlaps */

/* ---- plan ---- */
typedef struct lt_gram_device_plan {
    int64_t n, m;
    bool    cross, half, shared, keep;
    bool    whole_k;             /* all of K lies on the device */
    bool    bulk;                /* all rows are made once */
    int64_t panel_rows;          /* of K computed by one launch and copied to the host together */
    lt_batch_bounds batch;       /* of block_rows, with dynamic_batch */
    int64_t block_rows, block_columns; /* of states held at once */
    size_t  row_bytes;           /* of one row of states or wire numbers */
    size_t  a_bytes, b_bytes, k_bytes, slot_bytes;
    char    text[480];
} lt_gram_device_plan;

typedef struct lt_gram_device_sizes {
    int64_t n, m, tile_rows, tile_columns, free_bytes, total_bytes;
    int     n_slots;             /* panels under way at once */
    bool    cross, half, keep;
    bool    shared;              /* other devices compute parts of K: it does not lie here as a whole */
    size_t  row_bytes, element;  /* of a row; of an entry of K */
    const lt_gram_options *opt;
} lt_gram_device_sizes;
lt_status lt_gram_device_plan_make(const lt_gram_device_sizes *s, lt_gram_device_plan *out);

/* ---- rows ---- */
typedef struct lt_circuit_tables { /* what stays on the device for a circuit */
    lt_device_block memory;
    void *scale, *jitter, *ryrz, *kinds, *fixed, *low, *high, *bits, *gates; /* parts of it; jitter: as asked, then 0 */
} lt_circuit_tables;
enum { LT_CHUNK_WIRES = 12, LT_WIRES_AT_ONCE = 4 };

typedef struct lt_row_maker {
    lt_device   *dev;
    lt_stream   *stream;
    lt_pool     *pool;           /* evaluates expressions */
    const lt_layers *circuit;
    struct lt_circuit_rows *any; /* of a circuit of any gates; else NULL */
    bool         of_states;      /* else closed forms */
    const lt_gram_kernels *kernels;
    lt_circuit_tables tables;
    const lt_stage *stages;      /* circuit->overlap or ->full */
    int64_t      n_stages;
    bool         single;
    double       jitter;
    lt_device_block x, coefficients, spare, jobs;
    lt_event    *begin;          /* to be recorded before the first kernel; NULL = none */
    lt_host_memory host_jobs;    /* what `jobs` is copied from */
    size_t       jobs_used;
    lt_host_ring upload;         /* of one slot: rows and tables on their way to the device */
    bool         staged;         /* rows lie in the slot already, from staged_at on: queue their copies, touch nothing else */
    size_t       staged_at;
    lt_event    *sent[2];        /* around the last upload, where timed */
    bool         timed, sending;
    int64_t      launches, sent_bytes;
    double       sent_ns;
} lt_row_maker;
typedef struct lt_row_maker_options { bool single, page_locked, timed, of_states; double jitter; lt_pool *pool; } lt_row_maker_options;
lt_status lt_row_maker_open(lt_row_maker *m, lt_device *dev, lt_stream *st, const lt_layers *c, const lt_gram_kernels *k,
                            const lt_row_maker_options *opt);
void      lt_row_maker_close(lt_row_maker *m);
/* States of rows first..first+n-1 to `to`, row after row, as the kernel of tiles reads them. */
lt_status lt_row_maker_states(lt_row_maker *m, const lt_rows *x, int64_t first, int64_t n, void *to);
/* Numbers of wires, padded to a multiple of the tile. */
lt_status lt_row_maker_wires(lt_row_maker *m, const lt_rows *x, int64_t first, int64_t n, int64_t padded, void *to);
/* The roots of k(x,x) of n rows that were made, padded as they were. */
lt_status lt_row_maker_roots(lt_row_maker *m, int64_t n, int64_t padded, const void *rows, bool jitter, void *roots);
/* Rows into the slot of the ring, `at` bytes from its beginning; the bytes they take. */
size_t    lt_row_maker_stage(lt_row_maker *m, const lt_rows *x, int64_t first, int64_t n, size_t at);
/* A small struct for a kernel, at *out on the device once the stream has come so far; and what stands before the first kernel of rows. */
lt_status lt_row_maker_job(lt_row_maker *m, const void *job, size_t bytes, void **out);
lt_status lt_row_maker_begin(lt_row_maker *m);
void      lt_row_maker_reset(lt_row_maker *m); /* the counts begin anew */
lt_status lt_row_maker_sent(lt_row_maker *m);  /* sent_ns is up to date afterwards; waits for uploads */

/* ---- copying K to the host ---- */
typedef enum lt_fetch_part { LT_FETCH_ALL, LT_FETCH_UPPER, LT_FETCH_MIRROR } lt_fetch_part;
typedef struct lt_fetch_job {
    const void *from;            /* dense: rows of `columns` entries */
    int64_t     row, column, n_rows, n_columns; /* in K */
    lt_fetch_part part;          /* upper: from the diagonal on; mirror: below it */
} lt_fetch_job;
typedef struct lt_fetch_options {
    bool       page_locked, timed;
    lt_stream *stream;           /* NULL: one of its own */
    lt_pool   *pool;             /* spreads rows over K */
} lt_fetch_options;
typedef struct lt_fetch {        /* zero-initialised is closed */
    lt_stream   *stream, *own;   /* own NULL: somebody else's */
    lt_pool     *pool;
    lt_host_ring ring;           /* its copy_ns: copying, by the device's clock, where timed */
    int64_t      bytes, ns;      /* since the last reset: copied; spreading, by the host's clock */
} lt_fetch;
lt_status lt_fetch_open(lt_device *dev, const lt_fetch_options *opt, lt_fetch *out); /* on failure it is closed */
void      lt_fetch_close(lt_fetch *f);
/* Copies a part of K to the host (pitch entries a row, packed where wanted). Returns when it is in K. */
lt_status lt_fetch_run(lt_fetch *f, const lt_fetch_job *j, const lt_gram_out *out, size_t element);
/* The same in two steps, for parts that fit into the ring: the copy is queued on st, and spread once that is done. */
bool      lt_fetch_holds(const lt_fetch *f, size_t bytes);
lt_status lt_fetch_queue(lt_fetch *f, lt_stream *st, const lt_fetch_job *j, size_t element);
lt_status lt_fetch_spread(lt_fetch *f, const lt_fetch_job *j, const lt_gram_out *out, size_t element);
void      lt_fetch_reset(lt_fetch *f); /* the counts begin anew */

#endif
