/* H on the device from inside. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_OPTIMIZE_DEVICE_FAR_INTERNAL_H
#define LT_OPTIMIZE_DEVICE_FAR_INTERNAL_H

#include "optimize/device/far.h"
#include "optimize/device/memory.h"
#include "optimize/device/vectors.h"

/* Kernels take 1, 2, 4 or 8 vectors; so many numbers stand before the columns that are sent. */
enum { LT_FAR_WIDTHS = 4, LT_FAR_WIDEST = 8, LT_FAR_HEAD = 8 };
enum { LT_FAR_STEP = 3 }; /* rows of an update: s, w, and one that begins with gamma */
/* What limited memory has in them, as in hessian.cu: pairs in use, the factor of the identity, the newest pair's slot, and its
   1 / s'y where it came since the last product (else 0). */
enum { LT_FAR_USED, LT_FAR_GAMMA, LT_FAR_NEWEST, LT_FAR_RHO, LT_FAR_HEAD_USED };
enum { LT_FAR_MAX_PAIRS = 1024 }; /* a thread for each in the two loops */
_Static_assert(LT_FAR_WIDEST == 1 << (LT_FAR_WIDTHS - 1) && LT_FAR_WIDEST == 8, "lt_padded rounds to whole groups");

typedef struct lt_far_sizes { int64_t n, stride, pairs, chunk, chunks; } lt_far_sizes; /* as in hessian.cu */

/* Copies there, a kernel, copies back, as one captured sequence by width. */
typedef struct lt_far_sequence {
    lt_status (*queue)(lt_far *m, int width);
    lt_capture *capture[LT_FAR_WIDTHS];
    lt_solve_crossings cost[LT_FAR_WIDTHS];
    bool tells[LT_FAR_WIDTHS]; /* that it has ended: see lt_mover */
} lt_far_sequence;

struct lt_far {
    lt_device *dev;
    lt_stream *stream;        /* its own: an update runs beside the next evaluation; or that of the vectors */
    lt_vectors   vectors;       /* of the columns and products */
    lt_device_vectors *resident;     /* where they are; NULL: on the host, and they cross */
    lt_mover   mover;
    bool       captured, pinned, by_kernel; /* the switches it was made with */
    lt_far_sizes z;
    lt_kernel *multiply[LT_FAR_WIDTHS], *dots[LT_FAR_WIDTHS], *combine[LT_FAR_WIDTHS], *change[LT_FAR_WIDTHS],
              *loops[LT_FAR_WIDTHS], *identity, *rank2;
    lt_far_sequence first;    /* a product */
    lt_far_sequence first_with, changing_with; /* with an exchange of numbers behind */
    lt_far_sequence first_sums, changing_sums; /* with sums behind that came with the product's list */
    lt_far_sequence changing; /* an update and the product after it, in one pass over H */
    bool       defers;        /* full memory, vectors on the host: an update goes with the next product, too */
    bool       stale;         /* an update is still to be made: that in `step`, or on the host before the columns in `up` */
    double    *sizes;         /* z, there */
    double    *matrix;        /* n rows, or pairs of s and then as many of y */
    double    *in, *out;      /* there: head and columns; columns */
    double    *places;        /* there: addresses of the columns of `out` */
    double    *step;          /* there: s, w, gamma of the update */
    double    *part, *factor; /* there, limited memory: shares of inner products, of the newest y first; what rows are multiplied by */
    double    *table;         /* there, limited memory: inner products among pairs, as in hessian.cu */
    const double *head;       /* there, limited memory: where kernels read it */
    int64_t    columns;       /* that fit at once */
    lt_host_block up, down;   /* page-locked twins of in and out */
    lt_host_block update;     /* of s and w, or of the newest pair */
    bool       updating;      /* the device may still read `update` */
    bool       tells;         /* what came home last says that it has */
    double     gamma;         /* full memory: H is this times the matrix */
    double     multiple;      /* full memory: the matrix is this times the identity; 0: it no longer is */
    bool       fresh;         /* limited memory: the newest pair's products are not in the table yet */
    lt_status  failure;
    char       text[400];
    lt_solve_crossings crossings;
};

lt_status lt_far_build(lt_far *m);            /* the kernels, for sizes z */
/* The functions of hessian.cu in C, for a device that is the host: width vectors at once. NULL: no memory. */
typedef enum lt_far_entry { LT_FAR_MULTIPLY, LT_FAR_IDENTITY, LT_FAR_RANK2, LT_FAR_DOTS, LT_FAR_COMBINE, LT_FAR_CHANGE,
                            LT_FAR_LOOPS, LT_FAR_ENTRY_COUNT } lt_far_entry;
lt_kernel *lt_far_host_kernel(lt_far_entry entry, int width, const char *name);

/* ---- Moving (far.c) ---- */
lt_status lt_far_wait(lt_far *m);
lt_status lt_far_wait_home(lt_far *m); /* for work that ended with one lt_far_bring: sooner */
/* Columns to and from where kernels want them: across, or by arithmetic of the vectors. */
lt_status lt_far_send(lt_far *m, double *dst, const lt_host_block *from, int64_t first, int64_t count);
lt_status lt_far_bring(lt_far *m, const lt_host_block *to, const double *src, int64_t count);
/* Into `up`. With vectors there, and no more than LT_FAR_WIDEST columns, products go to `out` at once. */
void      lt_far_put_columns(lt_far *m, int64_t k, const double *const *b, const double *head, double *const *out);
double   *lt_far_places(const lt_far *m); /* there: where products of captured sequences go */
void      lt_far_take_columns(lt_far *m, int64_t k, double scale, double *const *out);          /* from `down` */
/* Runs `one` on k columns, in groups of the widths there are. */
typedef lt_status (*lt_far_group)(lt_far *m, int width, int64_t first);
lt_status lt_far_groups(lt_far *m, int64_t k, lt_far_group one);
int       lt_far_width(int64_t k);            /* the index of the least width for k columns; k <= LT_FAR_WIDEST */
lt_status lt_far_record(lt_far *m, lt_far_sequence *s, lt_status (*queue)(lt_far *m, int width));
lt_status lt_far_play(lt_far *m, lt_far_sequence *s, int width);
/* The same with vectors there: put off, since numbers about the products are asked for next, mostly: then one launch does both. */
lt_status lt_far_play_there(lt_far *m, lt_far_sequence *alone, lt_far_sequence *with, lt_far_sequence *sums, int width);
void      lt_far_fail(lt_far *m, lt_status s); /* keeps the first */

/* ---- The two kinds (far_full.c, far_pairs.c) ---- */
lt_status lt_far_make_full(lt_far *m, const lt_solve_options *opt);
lt_status lt_far_make_pairs(lt_far *m, const lt_solve_options *opt);
lt_status lt_far_apply_full(lt_hessian *h, int64_t k, const double *const *b, double *const *out);
lt_status lt_far_apply_pairs(lt_hessian *h, int64_t k, const double *const *b, double *const *out);
lt_status lt_far_put_full(lt_hessian *h);
lt_status lt_far_put_pairs(lt_hessian *h);
lt_status lt_far_get_full(const lt_hessian *h, double *lower);
lt_status lt_far_get_pairs(const lt_hessian *h, double *S, double *Y);
lt_status lt_far_make_matrix(lt_far *m, int64_t rows);

#endif
