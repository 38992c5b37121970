/* Gram matrices on a device with memory of its own: states or closed forms made there, tiles of K
   computed there, K brought back while the next rows are computed. SPDX-License-Identifier: BSD-3-Clause

   kernels.c builds what runs on the device (texts under qkernel/cuda), plan.c decides what is held
   there, rows.c makes states and wire numbers, fill.c walks the blocks of K, panel.c launches their tiles, fetch.c
   brings them home, captured.c replays small calls, share.c deals K to several devices, report.c says what was done. */
#ifndef LT_QKERNEL_DEVICE_DEVICE_H
#define LT_QKERNEL_DEVICE_DEVICE_H

#include "device/stream.h"
#include "qkernel/rows/circuit.h"
#include "qkernel/tiles.h"

typedef struct lt_remote lt_remote;

typedef struct lt_tile_shape {  /* of the tensor-core kernels; what tuning chooses among */
    int warps_m, warps_n, fragments_m, fragments_n, depth, stages, blocks;
} lt_tile_shape;

typedef struct lt_remote_setup {  /* borrowed, with what it points to, but for shape */
    const lt_gram_options *opt;
    const lt_layers      *circuit;
    lt_pool               *pool;  /* spreads K over host memory */
    const lt_tile_shape   *shape; /* NULL: the built-in choice */
} lt_remote_setup;
lt_status lt_remote_create(lt_device *dev, const lt_remote_setup *s, lt_remote **out);
void      lt_remote_destroy(lt_remote *r); /* NULL is allowed */

typedef struct lt_remote_share { atomic_llong next_row; } lt_remote_share; /* rows of K that no device has taken yet */

typedef struct lt_remote_request {
    lt_gram_method method;       /* decided */
    const char    *reason;
    const lt_rows *x, *y;        /* y NULL: x with itself */
    lt_gram_out    out;          /* host memory; out.K NULL: K stays on the device */
    lt_gram_meter *meter;
    lt_remote_share *share;      /* NULL: this device computes all of K */
    bool           leads;        /* sets the meter's totals and speaks to the progress function */
} lt_remote_request;

/* info and profile are filled but for what lt_gram_fill itself knows. */
lt_status lt_remote_fill(lt_remote *r, const lt_remote_request *q, lt_gram_info *info, lt_gram_profile *profile);
/* The same on n devices, which take rows of K as they finish; times are those of the slowest, counts are sums. */
lt_status lt_remote_fill_shared(lt_remote *const *r, int n, const lt_remote_request *q, lt_gram_info *info, lt_gram_profile *profile);
enum { LT_REMOTE_MAX_DEVICES = 16 };
lt_status lt_remote_states(lt_remote *r, const lt_rows *x, void *out);
void     *lt_remote_matrix(const lt_remote *r); /* K of the last fill that left it there; NULL = none */

#endif
