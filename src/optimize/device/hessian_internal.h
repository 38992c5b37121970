/* H on a device from inside. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_OPTIMIZE_DEVICE_HESSIAN_INTERNAL_H
#define LT_OPTIMIZE_DEVICE_HESSIAN_INTERNAL_H

#include "optimize/device/hessian.h"
#include "optimize/device/hessian_job.h"
#include "optimize/device/mover.h"
#include "optimize/device/vectors.h"

/* Kernels take 1, 2, 4 or 8 vectors; LT_HESSIAN_HEAD numbers stand before the columns that are sent. */
enum { LT_HESSIAN_WIDTHS = 4, LT_HESSIAN_WIDEST = 8, LT_HESSIAN_HEAD = 8 };
enum { LT_HESSIAN_STEP = 3 };         /* rows of an update: s, w, and one that begins with gamma */
enum { LT_HESSIAN_MAX_PAIRS = 1024 }; /* a thread for each in the two loops */
_Static_assert(LT_HESSIAN_WIDEST == 1 << (LT_HESSIAN_WIDTHS - 1) && LT_HESSIAN_WIDEST == 8, "lt_padded rounds to whole groups");

typedef enum lt_hessian_entry { LT_HESSIAN_MULTIPLY, LT_HESSIAN_IDENTITY, LT_HESSIAN_RANK2, LT_HESSIAN_DOTS, LT_HESSIAN_COMBINE, LT_HESSIAN_CHANGE,
                                LT_HESSIAN_LOOPS, LT_HESSIAN_ENTRY_COUNT } lt_hessian_entry;

/* What a recorded product has behind it, with vectors on the device: nothing, an exchange of numbers, or sums that came with its list. */
enum { LT_BEHIND_NOTHING, LT_BEHIND_NUMBERS, LT_BEHIND_SUMS, LT_BEHIND_COUNT };

/* What full and limited memory do in their own way. */
typedef struct lt_device_hessian_kind {
    lt_status (*make)(lt_device_hessian *m, const lt_solve_options *opt);
    /* Kernels for 1 << width columns from number `first` on; changes: the update that is due goes with them. */
    lt_status (*multiply)(lt_device_hessian *m, int width, int64_t first, bool changes, double *targets);
    lt_status (*catch_up)(lt_device_hessian *m); /* before many columns: an update that is due is made alone; NULL: there is none */
    lt_status (*put)(lt_hessian *h);
    lt_status (*get)(const lt_hessian *h, lt_hessian *host);
} lt_device_hessian_kind;
extern const lt_device_hessian_kind lt_device_hessian_full, lt_device_hessian_pairs;

struct lt_device_hessian {
    const lt_device_hessian_kind *kind;
    lt_device *dev;
    lt_stream *stream;        /* its own: an update runs beside the next evaluation; or that of the vectors */
    lt_vectors vectors;       /* columns and products */
    lt_device_vectors *resident; /* those, where they are on the device; NULL: they cross */
    lt_mover   mover;
    bool       captured, pinned, by_kernel; /* the switches it was made with */
    lt_hessian_sizes z;
    lt_kernel *kernel[LT_HESSIAN_ENTRY_COUNT][LT_HESSIAN_WIDTHS];
    lt_sequence sequence[2][LT_BEHIND_COUNT][LT_HESSIAN_WIDTHS]; /* a product: without and with an update; what is behind it */
    bool       defers;        /* full memory, vectors on the host: an update goes with the next product, too */
    bool       stale;         /* an update is due: that in `step`, or on the host before the columns in `up` */
    int64_t    columns;       /* that fit at once */
    /* on the device */
    double    *sizes;         /* z */
    double    *matrix;        /* n rows, or pairs of s and then as many of y */
    double    *in, *out;      /* head and columns; columns */
    double    *targets;       /* addresses of the columns of `out` */
    double    *step;          /* s, w, gamma of the update */
    double    *part, *factor; /* limited memory: shares of inner products, of the newest y first; what rows are multiplied by */
    double    *table;         /* limited memory: inner products among pairs, as in hessian.cu */
    const double *head;       /* limited memory: where kernels read it */
    /* on the host */
    lt_host_memory up, down;  /* page-locked twins of in and out */
    lt_host_memory update;    /* of s and w, or of the newest pair */
    bool       updating;      /* the device may still read `update` */
    double     gamma;         /* full memory: H is this times the matrix */
    double     multiple;      /* full memory: the matrix is this times the identity; 0: it no longer is */
    bool       fresh;         /* limited memory: the newest pair's products are not in the table yet */
    lt_status  failure;
    char       text[400];
    lt_solve_crossings crossings;
};

/* ---- Kernels (hessian_kernels.c, hessian_on_host.c) ---- */
lt_status  lt_device_hessian_build(lt_device_hessian *m); /* for sizes z */
/* The functions of hessian.cu in C, for a device that is the host: width vectors at once. NULL: no memory. */
lt_kernel *lt_device_hessian_host_kernel(lt_hessian_entry entry, int width, const char *name, int n_args);

/* ---- For full and limited memory (hessian.c) ---- */
static inline double *lt_numbers(const lt_host_memory *m) { return m->at; }
lt_status lt_device_hessian_launch(lt_device_hessian *m, lt_hessian_entry entry, int width, void **arg);
lt_status lt_device_hessian_wait(lt_device_hessian *m);
lt_status lt_device_hessian_send(lt_device_hessian *m, double *to, const lt_host_memory *from, int64_t first, int64_t count);
lt_status lt_device_hessian_bring(lt_device_hessian *m, const double *from, int64_t count); /* into `down` */
lt_status lt_device_hessian_matrix(lt_device_hessian *m, int64_t rows); /* memory for it, zeros */
/* An update by s and another vector, counted; nothing after a failure. */
void lt_device_hessian_update(lt_hessian *h, lt_status (*update)(lt_hessian *h, const double *s, const double *other), const double *s, const double *other);
/* A product of one column that does not matter, at once: for what kernels do beside it. */
lt_status lt_device_hessian_run_empty(lt_device_hessian *m, const double *head);

#endif
