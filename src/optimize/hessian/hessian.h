/* The inverse Hessian approximation H, in full or limited memory.
   SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_OPTIMIZE_HESSIAN_HESSIAN_H
#define LT_OPTIMIZE_HESSIAN_HESSIAN_H

#include "lathe/solve.h"
#include "optimize/vectors/vectors.h"

typedef enum lt_update_code {
    LT_UPDATE_DONE, LT_UPDATE_NOT_SCALED, LT_UPDATE_NO_CURVATURE, LT_UPDATE_NOT_FINITE
} lt_update_code;

/* What the last full-memory update did: H+ = gamma H - rho (h s' + s h') + b s s', h = gamma H y. */
typedef struct lt_rank2 {
    bool    done;       /* false: H did not change */
    double  gamma;      /* scaling before the update, mostly 1 */
    double  rho, b;
    const double *h, *s; /* n each; s is the caller's, h valid until the next update */
} lt_rank2;

typedef struct lt_hessian {
    int64_t n;
    lt_vectors vectors;           /* of the vectors given to it, and of its work */
    bool    limited, single;  /* single: entries are rounded to float32 */
    bool    scale_pending;    /* the first update scales H */
    bool    fixed_scaling, blocked;
    double  damping, gamma;
    /* full memory */
    double *lower;            /* rows of the lower triangle, packed: row i has i + 1 entries; room for n x n */
    bool    diagonal;         /* H is `scale` times the identity and lower is not written yet */
    double  scale;
    double  trace;
    double *metric;           /* n: the first H is this diagonal, times `scale`; NULL: the identity */
    double *partial;          /* work of products in parts; NULL for small n */
    double *spare;            /* where the next H is made; NULL: in place */
    lt_rank2 last;
    /* limited memory */
    int64_t capacity, count, newest; /* pairs; ring position of the newest */
    double *S, *Y, *rho;      /* rows of n, n_rows of them; capacity rows of n; capacity */
    int64_t n_rows, *row;     /* capacity: which row of S is a pair's step */
    uint8_t *users;           /* n_rows: of a row, a pair and a sample that it leads to (trail.c) */
    double *base_lower, *base_diagonal; /* H0: packed triangle, diagonal, or both NULL */
    double *coefficient;      /* capacity times LT_LBFGS_BLOCK: work of the two loops */
    const uint8_t *free;      /* n, limited memory: products are of these variables alone, as if the others were constants; NULL: of all */
    double *free_rho;         /* capacity: of pairs as far as they are of these; 0: of no use */
    int64_t n_passes;         /* over a pair's two vectors, by products; for tests */
    double *Hs, *h;           /* n each: work of updates; a caller may set Hs to its own memory */
    double *memory;           /* of work */
    struct lt_device_hessian *device; /* H on a device: lower, or S and Y, are NULL; see device/hessian.h */
    lt_bfgs_counts counts;
} lt_hessian;

#define LT_LBFGS_BLOCK 16     /* right-hand sides taken together */

/* out[j] = H b[j] for k vectors. */
void lt_hessian_apply_rows(lt_hessian *h, int64_t k, const double *const *b, double *const *out);
void lt_hessian_apply(lt_hessian *h, const double *b, double *out);
/* Damps and updates with a step and the change of the gradient. Hs and Hy may hold H s and H y (one
   pass over H for several products is cheaper), or be NULL. */
lt_update_code lt_hessian_update(lt_hessian *h, const double *s, const double *y, const double *Hs, const double *Hy);
/* Whether damping may have to know H s. Where asking costs a wait the product costs less, and is made without asking. */
bool lt_hessian_may_want_Hs(const lt_hessian *h, const double *s, const double *y);

lt_update_code lt_bfgs_update(lt_hessian *h, const double *s, const double *y, double sty, const double *Hy);
lt_update_code lt_lbfgs_update(lt_hessian *h, const double *s, const double *y, double sty);
void           lt_lbfgs_apply(lt_hessian *h, int64_t k, const double *const *b, double *const *out);

lt_status lt_hessian_create(int64_t n, const lt_solve_options *opt, lt_hessian *h);
void      lt_hessian_release(lt_hessian *h);
/* Products from here on are of the variables with a nonzero flag; NULL: of all. Nothing in full memory. */
void      lt_hessian_free_variables(lt_hessian *h, const uint8_t *free);
/* H begins anew: the identity or `metric`, scaled by the next update; limited memory without pairs. False: on a device it stays as it is. */
bool      lt_hessian_reset(lt_hessian *h);
/* Vectors given to it and its own are of this kind from here on, H itself is on the device from lt_device_hessian_take on. */
lt_status lt_hessian_move(lt_hessian *h, const lt_vectors *s);
/* Writes an H that is still a multiple of the identity out into `lower`. */
void      lt_hessian_fill(lt_hessian *h);
lt_status lt_hessian_export(const lt_hessian *h, lt_hessian_state *out);
/* The same without a copy where that can be had: H is not used any more. */
lt_status lt_hessian_give(lt_hessian *h, lt_hessian_state *out);

/* ---- Steps: rows of S -------------------------------------------------------------------------- */
static inline double *lt_hessian_step(const lt_hessian *h, int64_t at) { return h->S + h->row[at] * h->n; } /* of the pair at ring position `at` */
int64_t lt_hessian_take_row(lt_hessian *h);             /* that nobody uses */
int64_t lt_hessian_share_row(lt_hessian *h, int64_t at); /* of the pair at ring position `at` */
void    lt_hessian_leave_row(lt_hessian *h, int64_t row);

/* ---- Packed triangles ------------------------------------------------------------------------ */
static inline int64_t lt_packed_row(int64_t i) { return i * (i + 1) / 2; }
#define LT_PACKED_PARTS 8
#define LT_PACKED_PARTS_FROM 768 /* variables; below, one thread is faster */
/* partial: work of LT_PACKED_PARTS * LT_DENSE_BLOCK * n for the product in parts; NULL: in one piece. */
void lt_packed_apply_rows(int64_t n, const double *lower, int64_t k, const double *const *b, double *const *out,
                          double *partial);
void lt_packed_identity(int64_t first, int64_t last, double scale, double *lower); /* these rows of scale I */
bool lt_packed_is_definite(int64_t n, const double *lower, double *work); /* Cholesky; work n(n+1)/2 */

#endif
