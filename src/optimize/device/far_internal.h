/* H on the device from inside. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_OPTIMIZE_DEVICE_FAR_INTERNAL_H
#define LT_OPTIMIZE_DEVICE_FAR_INTERNAL_H

#include "optimize/device/memory.h"
#include "optimize/device/far.h"

enum { LT_FAR_WIDTHS = 4, LT_FAR_WIDEST = 8, LT_FAR_HEAD = 8 }; /* kernels for 1, 2, 4, 8 vectors; numbers before the columns */

typedef struct lt_far_sizes { int64_t n, stride, pairs, chunk, chunks; } lt_far_sizes; /* as in hessian.cu */

struct lt_far {
    lt_device *dev;
    lt_stream *stream;        /* its own: an update runs beside the next evaluation */
    lt_far_sizes z;
    lt_kernel *multiply[LT_FAR_WIDTHS], *dots[LT_FAR_WIDTHS], *combine[LT_FAR_WIDTHS], *rank2;
    double    *sizes;         /* z, there */
    double    *matrix;        /* n rows, or pairs of s and then as many of y */
    double    *in, *out;      /* there: head and columns; columns */
    double    *step;          /* there: s, w, gamma of the update */
    double    *part, *factor; /* there, limited memory: shares of inner products; what rows are multiplied by */
    int64_t    columns;       /* that fit at once */
    lt_host_block up, down, update, small; /* page-locked twins of in, out, step, and of part and factor */
    bool       updating;      /* the host's s and w may still be read */
    double     gamma;         /* full memory: H is this times the matrix */
    double    *sy, *yy;       /* limited memory, by slot: s_i'y_j and y_i'y_j */
    double    *work;          /* limited memory: 4 pairs */
    lt_status  failure;
    char       text[400];
    lt_solve_crossings crossings;
};

lt_status lt_far_build(lt_far *m);            /* the kernels, for sizes z */
/* The functions of hessian.cu in C, for a device that is the host: width vectors at once. NULL: no memory. */
typedef enum lt_far_entry { LT_FAR_MULTIPLY, LT_FAR_RANK2, LT_FAR_DOTS, LT_FAR_COMBINE, LT_FAR_ENTRY_COUNT } lt_far_entry;
lt_kernel *lt_far_host_kernel(lt_far_entry entry, int width, const char *name);
lt_status lt_far_wait(lt_far *m);
lt_status lt_far_send(lt_far *m, double *dst, const lt_host_block *from, int64_t first, int64_t count);
lt_status lt_far_bring(lt_far *m, const lt_host_block *to, const double *src, int64_t count);
_Static_assert(LT_FAR_WIDEST == 1 << (LT_FAR_WIDTHS - 1) && LT_FAR_WIDEST == 8, "lt_padded rounds to whole groups");
/* Calls one after the other for all columns, in groups of the widths there are. */
typedef lt_status (*lt_far_group)(lt_far *m, int width_index, int64_t first);
lt_status lt_far_groups(lt_far *m, int64_t columns, lt_far_group call);
void      lt_far_fail(lt_far *m, lt_status s); /* keeps the first */

lt_status lt_far_apply_full(lt_hessian *h, int64_t k, const double *const *b, double *const *out);
lt_status lt_far_apply_pairs(lt_hessian *h, int64_t k, const double *const *b, double *const *out);
lt_status lt_far_put_full(lt_hessian *h);
lt_status lt_far_put_pairs(lt_hessian *h);
lt_status lt_far_get_full(const lt_hessian *h, double *lower);
lt_status lt_far_get_pairs(const lt_hessian *h, double *S, double *Y);

/* Columns first..first+k-1 of b into the up block behind the head, sent there. */
lt_status lt_far_send_columns(lt_far *m, int64_t k, const double *const *b, const double *head);
/* The results of k columns, brought back and waited for. */
lt_status lt_far_take_columns(lt_far *m, int64_t k, double scale, double *const *out);

#endif
