/* A ring: slots of host memory that copies between host and device use in turn. SPDX-License-Identifier: BSD-3-Clause

   A slot is taken, copied to or from, and free again once its copy has ended, which an event reports. One thread at a time. */
#ifndef LT_DEVICE_HOST_RING_H
#define LT_DEVICE_HOST_RING_H

#include "device/memory.h"

enum { LT_RING_MAX_SLOTS = 64 };

typedef struct lt_ring_slot {
    void     *at;                 /* slot_bytes of the ring's memory; NULL where the ring has none */
    lt_event *begun, *ended;      /* of its last copy; begun NULL: the ring is not timed */
    bool      busy;               /* copied to or from; nobody has waited for it yet */
} lt_ring_slot;

typedef struct lt_ring_options {
    size_t  slot_bytes;           /* 0: events alone, for work that leaves nothing on the host */
    int     n_slots;              /* 1..LT_RING_MAX_SLOTS */
    int64_t pin_limit;            /* of the whole ring: see lt_host_memory_create */
    bool    timed;                /* copy_ns is counted */
} lt_ring_options;

/* Zero-initialised is closed. Whoever holds the struct owns what is in it. */
typedef struct lt_host_ring {
    lt_device      *dev;          /* borrowed */
    lt_host_memory  memory;       /* all slots, one behind the other */
    size_t          slot_bytes;
    int             n_slots;
    int64_t         next;         /* number of slots taken so far */
    double          copy_ns;      /* of copies that were waited for, where timed */
    lt_ring_slot    slot[LT_RING_MAX_SLOTS];
} lt_host_ring;

/* On failure the ring is closed. */
lt_status lt_host_ring_open(lt_device *dev, const lt_ring_options *opt, lt_host_ring *out);
void      lt_host_ring_close(lt_host_ring *r); /* waits for its copies */

/* ---- Slot by slot ------------------------------------------------------------ */
/* The next slot in turn; waits for its last copy. */
lt_status lt_host_ring_take(lt_host_ring *r, lt_ring_slot **out);
/* Queue a copy of the first `bytes` of a slot to device memory, or to the slot from there. */
lt_status lt_host_ring_send(lt_host_ring *r, lt_ring_slot *s, lt_stream *st, void *dst, size_t bytes);
lt_status lt_host_ring_fetch(lt_host_ring *r, lt_ring_slot *s, lt_stream *st, const void *src, size_t bytes);
/* The host waits for the slot's last copy; at once when there is none. */
lt_status lt_host_ring_wait(lt_host_ring *r, lt_ring_slot *s);
/* The slot of number `turn` of those that use the ring one after the other. */
static inline lt_ring_slot *lt_host_ring_slot(lt_host_ring *r, int64_t turn) { return &r->slot[turn % r->n_slots]; }

/* ---- Whole arrays, of any size ----------------------------------------------- */
/* Returns when src may be changed; the device has the bytes once st has come so far. */
lt_status lt_host_ring_upload(lt_host_ring *r, lt_stream *st, void *dst, const void *src, size_t bytes);
/* Returns when dst holds the bytes. */
lt_status lt_host_ring_download(lt_host_ring *r, lt_stream *st, void *dst, const void *src, size_t bytes);

#endif
