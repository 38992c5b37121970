/* Inside of a Gram handle: what the files that make, fill and end one share. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_QKERNEL_GRAM_INSIDE_H
#define LT_QKERNEL_GRAM_INSIDE_H

#include "lathe/circuit.h"
#include "lathe/gram.h"
#include "qkernel/rows/batch.h"
#include "qkernel/history.h"
#include "qkernel/file/states.h"
#include "qkernel/plan.h"
#include "qkernel/device/device.h"
#include "qkernel/tiles.h"

typedef struct lt_gram_buffer { void *p; size_t bytes; } lt_gram_buffer;

struct lt_gram {
    lt_device      *dev;
    lt_pool        *pool, *own_pool;  /* own_pool NULL: the device's */
    lt_gram_options opt, used;        /* as given; as planned, with learnt tiles */
    lt_layers      circuit;
    lt_compiled     *program;          /* of a circuit of any gates, which g->circuit points to; else NULL */
    lt_similarity_options similarity;
    const lt_gram_isa *isa;
    int             transfer_from;    /* qubits; where auto takes transfer matrices */
    const char     *transfer_reason;
    lt_stored_choices stored;
    lt_gram_buffer  a, b, work, scratch, norms, tables, sums;
    lt_gram_plan    plan;             /* of the last fill */
    bool            planned;          /* plan holds, with its memory */
    lt_gram_info    info;
    lt_gram_profile profile;
    int             n_devices;        /* devices with memory of their own; 0 = the CPU */
    lt_device_gram      *on_device[LT_GRAM_MAX_DEVICES];
    lt_pool        *device_pool[LT_GRAM_MAX_DEVICES]; /* of their own where there are several; else NULL */
    bool            history_read;
    lt_tile_history *history;         /* with learn_tiles, once a plan was made */
    lt_large_matrix large;            /* zero, but in tests */
    bool            keeps_rows;       /* tiles beside each other have the same rows, which stay packed (file/make.c) */
    const void     *kept_rows;        /* what g->a holds then; NULL: nothing known */
    lt_shared_states *shared;         /* while K grows in a file: states of other tiles and ranks; NULL: none */
    int64_t         memory_limit;     /* of what the CPU holds for a fill, while K grows in a file (file/make.c); 0: what is free */
    lt_tile_record  best;             /* the fastest fill so far; n 0 = none worth remembering */
};

/* One call. */
typedef struct lt_gram_filling {
    lt_gram       *g;
    const lt_rows *x, *y;        /* y NULL: x with itself */
    lt_gram_out    out;
    lt_gram_meter  meter;
    double        *left, *right; /* k(x,x), k(y,y) where normalising needs them; else NULL */
    int64_t        states_ns, product_ns, states_built, n_packs;
    int64_t        rows;         /* of the row blocks from here on */
    int64_t        lead;         /* rows that are packed before the first one, so that panels begin where lines of K do */
    lt_batch_sizer batch;
    int64_t        least_rows, most_rows, block_ns, block_pairs;
} lt_gram_filling;

/* Results and packed rows larger than this leave the second-level cache anyway. */
#define LT_STREAM_FROM_BYTES 4e6

/* At least this many bytes; the contents are lost when it must grow (gram.c). */
lt_status lt_gram_reserve(lt_gram *g, lt_gram_buffer *b, size_t bytes, const char *owner);
int64_t   lt_gram_held_bytes(const lt_gram *g);
lt_status lt_gram_check_rows(const lt_gram *g, const char *name, const lt_rows *x);

/* A handle on devices, whose circuit `make` fills in (gram.c). */
typedef lt_status (*lt_gram_circuit_fn)(lt_gram *g, const void *from);
lt_status lt_gram_open(lt_device *const *devices, int n_devices, const lt_gram_options *opt, lt_gram_circuit_fn make, const void *from, lt_gram **out);

/* Kernels other than exact fidelities (similarity.c): all of K from reduced states; draws and noise, on K and on diagonals as they were. */
lt_status lt_gram_run_projected(lt_gram_filling *f);
bool      lt_similarity_disturbs(const lt_similarity_options *s);
lt_status lt_similarity_disturb(lt_gram_filling *f);

/* Fills K on the CPU, by blocks (gram_fill.c); on devices with memory of their own (gram_devices.c). */
lt_status lt_gram_run(lt_gram_filling *f);
lt_status lt_gram_run_on_devices(lt_gram_filling *f);
/* Whole lines written past the caches need not be read first. */
void      lt_gram_choose_copy(lt_gram_filling *f, double entries);

/* What both say about a call (gram_report.c). */
void      lt_gram_report(lt_gram_filling *f, int64_t post_ns, int64_t total_ns);
lt_status lt_gram_report_memory(lt_gram_filling *f);
void      lt_gram_report_devices(lt_gram_filling *f, int64_t total_ns);

/* Tiles of earlier runs (gram_tiles.c): those of the fastest run like this one, where the caller leaves them to us;
   a call that is worth remembering; writing it down when the handle ends. */
bool lt_gram_learned_tiles(lt_gram *g, lt_gram_method method, int64_t n, int64_t memory_bytes, lt_gram_options *opt);
void lt_gram_note_run(lt_gram *g);
void lt_gram_remember_tiles(lt_gram *g);

#endif
