/* A kernel made of several parts: launches, fills and library calls in order.
   SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_KERNELS_CUDA_SEQUENCE_H
#define LT_KERNELS_CUDA_SEQUENCE_H

#include "device/stream.h"

typedef struct lt_sequence lt_sequence;

/* Where a part finds an argument: byte `offset` of argument `from` of the whole kernel, whose
   scratch memory is number LT_SEQUENCE_SCRATCH; LT_SEQUENCE_FAULT is the device's fault word. */
typedef struct lt_part_arg { int32_t from; size_t offset; } lt_part_arg;
#define LT_SEQUENCE_SCRATCH (-1)
#define LT_SEQUENCE_FAULT   (-2)

/* A kernel of n_args arguments without parts: it does nothing. */
lt_status lt_sequence_create(lt_device *dev, const char *name, int n_args, lt_sequence **out);
/* Such a kernel, finished: for outputs without elements. */
lt_status lt_sequence_nothing(lt_device *dev, const char *name, int n_args, lt_kernel **out);
void      lt_sequence_destroy(lt_sequence *s); /* NULL is allowed */
/* Reserves scratch memory; the offset of the piece. */
size_t    lt_sequence_scratch(lt_sequence *s, size_t bytes);
/* Adds k, which the sequence owns from now on (on failure it is destroyed). arg[] holds k->n_args
   places, and one more when k has scratch: NULL means arguments 0, 1, … as they are. */
lt_status lt_sequence_add(lt_sequence *s, lt_kernel *k, const lt_part_arg *arg);
lt_status lt_sequence_add_fill(lt_sequence *s, lt_part_arg at, int byte, size_t bytes);
lt_status lt_sequence_add_copy(lt_sequence *s, lt_part_arg to, lt_part_arg from, size_t bytes);
/* Lets a launcher pack an operand of k, a part that takes the whole kernel's arguments in order, beforehand. */
void      lt_sequence_forward_pack(lt_sequence *s, lt_kernel *k);
/* Ends the making. With status not LT_OK destroys s. A single part that takes all arguments as they
   are becomes the kernel itself. */
lt_status lt_sequence_finish(lt_sequence *s, lt_status status, lt_kernel **out);

#endif
