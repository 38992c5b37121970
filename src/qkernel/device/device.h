/* Gram matrices on a device with memory of its own: it makes states or closed forms and computes tiles of K, which are
   copied to the host while the next rows are computed. SPDX-License-Identifier: BSD-3-Clause

   kernels.c builds what runs on the device from the texts of this folder, plan.c decides what is held
   on it, rows.c makes states and wire numbers, fill.c walks the blocks of K, panel.c launches their tiles, fetch.c
   copies them to the host, captured.c replays small calls, share.c deals K to several devices, report.c says what was done. */
#ifndef LT_QKERNEL_DEVICE_DEVICE_H
#define LT_QKERNEL_DEVICE_DEVICE_H

#include "device/stream.h"
#include "qkernel/rows/circuit.h"
#include "qkernel/tiles.h"

typedef struct lt_device_gram lt_device_gram;

typedef struct lt_tile_shape {  /* of the tensor-core kernels; what tuning chooses among */
    int warps_m, warps_n, fragments_m, fragments_n, depth, stages, blocks;
} lt_tile_shape;

typedef struct lt_device_gram_setup {  /* borrowed, with what it points to, but for shape */
    const lt_gram_options *opt;
    const lt_layers      *circuit;
    lt_pool               *pool;  /* spreads K over host memory */
    const lt_tile_shape   *shape; /* NULL: the built-in choice */
    bool                   real_part; /* K is the real part of overlaps, of a circuit of any gates */
} lt_device_gram_setup;
lt_status lt_device_gram_create(lt_device *dev, const lt_device_gram_setup *s, lt_device_gram **out);
/* The circuit has changed: what was made of it is made again. */
void      lt_device_gram_forget(lt_device_gram *d);
void      lt_device_gram_destroy(lt_device_gram *d); /* NULL is allowed */
const lt_tile_shape *lt_device_gram_shape(const lt_device_gram *d); /* that of the setup */

typedef struct lt_device_gram_share { atomic_llong next_row; } lt_device_gram_share; /* rows of K that no device has taken yet */

typedef struct lt_device_gram_request {
    lt_gram_method method;       /* decided */
    const char    *reason;
    const lt_rows *x, *y;        /* y NULL: x with itself */
    lt_gram_out    out;          /* host memory; out.K NULL: K stays on the device */
    lt_gram_meter *meter;
    lt_device_gram_share *share;      /* NULL: this device computes all of K */
    bool           leads;        /* sets the meter's totals and speaks to the progress function */
} lt_device_gram_request;

/* info and profile are filled but for what lt_gram_fill itself knows. */
lt_status lt_device_gram_fill(lt_device_gram *d, const lt_device_gram_request *q, lt_gram_info *info, lt_gram_profile *profile);
/* The same on n devices, which take rows of K as they finish; times are those of the slowest, counts are sums. */
lt_status lt_device_gram_fill_shared(lt_device_gram *const *d, int n, const lt_device_gram_request *q, lt_gram_info *info, lt_gram_profile *profile);
enum { LT_GRAM_MAX_DEVICES = 16 };
lt_status lt_device_gram_states(lt_device_gram *d, const lt_rows *x, void *out);
void     *lt_device_gram_matrix(const lt_device_gram *d); /* K of the last fill that left it on the device; NULL = none */

#endif
