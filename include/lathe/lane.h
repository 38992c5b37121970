/* Lanes: a piece of device memory and its way to and from the host.
   SPDX-License-Identifier: BSD-3-Clause */
#ifndef LATHE_LANE_H
#define LATHE_LANE_H

#include "lathe/device.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct lt_lane lt_lane; /* opaque; one thread at a time; gone before its device closes */

typedef enum lt_lane_way {
    LT_LANE_DIRECT, /* from and to the caller's own, pageable memory */
    LT_LANE_STAGED  /* through a ring of page-locked memory, several pieces in flight */
} lt_lane_way;

/* Borrows dev. bytes >= 1. */
LT_API lt_status lt_lane_create(lt_device *dev, size_t bytes, lt_lane_way way, lt_lane **out);
LT_API void      lt_lane_destroy(lt_lane *l); /* NULL is allowed */
/* The first n_bytes of the lane's memory; both return when the copy is complete. */
LT_API lt_status lt_lane_upload(lt_lane *l, const void *from, size_t n_bytes);
LT_API lt_status lt_lane_download(lt_lane *l, void *to, size_t n_bytes);
LT_API bool      lt_lane_pinned(const lt_lane *l); /* the ring got page-locked memory */

#ifdef __cplusplus
}
#endif
#endif
