/* H on a device: full memory as an n x n matrix, limited memory as rows of s and y. Vectors cross, H does not.
   SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_OPTIMIZE_DEVICE_HESSIAN_H
#define LT_OPTIMIZE_DEVICE_HESSIAN_H

#include "device/stream.h"
#include "optimize/hessian/hessian.h"

typedef struct lt_device_hessian lt_device_hessian;

/* Moves H to the device where the options and its size say so; otherwise h stays as it is. columns: right-hand sides
   of a usual product. *kept is used where it fits, and then NULL. LT_ERR_UNSUPPORTED when hessian_on=device asks for
   what only the host does. With vectors on the device nothing but numbers crosses from then on. */
lt_status lt_device_hessian_take(lt_hessian *h, lt_device *dev, const lt_solve_options *opt, int64_t columns, lt_device_hessian **kept);
bool      lt_device_hessian_wanted(const lt_hessian *h, const lt_solve_options *opt); /* whether that would */
/* Keeps memory, kernels and sequences for the next run on the same device; h has no H afterwards. */
void      lt_device_hessian_keep(lt_hessian *h, lt_device_hessian **kept);
void      lt_device_hessian_destroy(lt_device_hessian *m); /* NULL is allowed; waits for work in flight */

/* Products and updates, as hessian/hessian.h has them; after a failure they do nothing but give NaN. */
void lt_device_hessian_apply(lt_hessian *h, int64_t k, const double *const *b, double *const *out);
void lt_device_hessian_scale(lt_hessian *h, double gamma);
void lt_device_hessian_rank2(lt_hessian *h, const double *s, const double *w);
void lt_device_hessian_push(lt_hessian *h, const double *s, const double *y); /* as the newest pair */

/* The first failure, its text again in lt_error_text(); LT_OK if none. NULL is allowed. */
lt_status lt_device_hessian_failure(const lt_device_hessian *m);
lt_solve_crossings lt_device_hessian_crossings(const lt_device_hessian *m);

/* A copy of h on the host, for reading; give it back with lt_device_hessian_return. */
lt_status lt_device_hessian_borrow(const lt_hessian *h, lt_hessian *host);
void      lt_device_hessian_return(lt_hessian *host);

#endif
