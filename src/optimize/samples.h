/* The last iterates with their gradients, products of H with these, and what they say about stationarity (cache.c, vectors/trail.c,
   vectors/products.c, stationarity.c, foresight.c). SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_OPTIMIZE_SAMPLES_H
#define LT_OPTIMIZE_SAMPLES_H

#include "optimize/hessian/hessian.h"
#include "optimize/point.h"
#include "optimize/subproblem.h"
#include "optimize/vectors/columns.h"
#include "optimize/vectors/sparse.h"
#include "optimize/vectors/vector.h"

/* ---- samples ------------------------------------------------------------------------------------------ */
typedef struct lt_trail {    /* where samples are, by the steps between them (trail.c) */
    lt_hessian *hessian;     /* whose rows of S the steps are; NULL: points are kept instead */
    bool     single;         /* points are rounded to float32 */
    double  *start;          /* n: the point of the oldest sample */
    int64_t *row;            /* by slot, but the oldest's: the step from the sample before it, or its point */
    bool    *is_point;       /* by slot */
    bool    *wanted;         /* by slot: set before lt_trail_distances is asked */
    lt_vec_sums *sums;       /* by slot: work */
} lt_trail;

/* The last iterates with their gradients, and which of them lie near the current one. */
typedef struct lt_cache {
    int64_t n, k, capacity, count, newest;
    int64_t live;            /* samples that are still needed: all, or all but the one that the next will replace */
    double  radius, moved;   /* moved: the way from the sample before the newest to it */
    bool    compat;
    bool    takes_over;      /* gradients are not copied: a sample takes the memory in which they were computed (decision 104) */
    double *x;               /* capacity times n; NULL: `trail` has them */
    lt_trail trail;
    double **grads;          /* capacity: k times n numbers each */
    double *memory;          /* of gradients, in blocks; blocks of points not sampled are among them */
    int64_t block, n_fresh;  /* numbers of a block; the first block that was never used */
    double **spare;          /* blocks that were, and are not in use */
    int64_t n_spare;
    const lt_vectors *vectors; /* where these are */
    double *bound, *least;   /* capacity: upper and lower bound of the distance to the newest */
    int64_t n_near, *near_;  /* slots within the radius, ascending */
} lt_cache;

lt_status lt_cache_create(lt_run *r);
void lt_cache_release(lt_cache *c);
bool lt_cache_may_take_over(const lt_run *r);
/* p becomes a sample; where samples take over, its gradients stay where they are. left: the newest sample's x, if it is at hand. */
void lt_cache_insert(lt_cache *c, lt_point *p, const double *left);
/* Where samples take over: the sample that the next insertion replaces will not be asked for again. Its slot; -1: there is none. */
int64_t lt_cache_retire(lt_cache *c);
double *lt_cache_lend(lt_cache *c);                        /* memory for the gradients of a point, where samples take over */
static inline bool lt_cache_doubts(const lt_cache *c, int64_t i) /* sample i may have crossed the radius, by the bounds on both sides */
{
    return c->bound[i] > c->radius && c->least[i] <= c->radius;
}
static inline int64_t lt_cache_slot(const lt_cache *c, int64_t age) /* 0 = newest */
{
    return c->newest - age + (age > c->newest ? c->capacity : 0);
}

bool lt_trail_wanted(const lt_run *r);
lt_status lt_trail_create(lt_run *r, lt_trail *t);
void lt_trail_release(lt_trail *t);
void lt_trail_begin(const lt_cache *c, const double *x);   /* the newest sample is the only one */
/* How a sample is reached from the one before: by a step, which may have become a pair's, or not at all, where its point is stored. */
void lt_trail_add_step(const lt_cache *c, const double *s, bool paired);
void lt_trail_add_point(const lt_cache *c, int64_t slot, const double *x);
void lt_trail_leave_oldest(const lt_cache *c);             /* of two or more */
/* Tightens bounds on distances, of the wanted samples and all that are younger, by the sums of the steps since: fewer rows to read
   than for the distances, mostly, but not bit for bit. left: the newest sample's point. */
void lt_trail_look_back(lt_cache *c, const double *x, const double *left);
void lt_trail_distances(const lt_cache *c, const double *x, double *out); /* of the wanted samples, by slot */
double lt_trail_distance(const lt_cache *c, const double *x);             /* of the newest */
/* Numbers first.. of the point before that of this slot become those of its own. */
void lt_trail_advance(const lt_cache *c, int64_t slot, int64_t first, int64_t count, double *z);

/* ---- products (vectors/products.c, products_gram.c) ------------------------------------------------------- */
/* Products with the H of the QPs, by cache slot, carried through the updates of H. */
typedef struct lt_products {
    bool    incremental;     /* else everything is computed anew in every iteration */
    bool    shares;          /* looks for gradients that are the same in all samples */
    int64_t n_updates;       /* since all were computed from scratch */
    double  noise;           /* by how much such products disagree among themselves */
    bool   *valid;           /* by slot */
    int64_t *block;          /* by slot: which block of HG holds its products */
    bool   *taken;           /* by block */
    lt_columns columns;      /* what is kept, once or by slot */
    bool    shared_valid;    /* of those kept once */
    double *HG;              /* those kept once, then the blocks; limited memory on the host: block_columns vectors */
    int64_t block_columns;   /* products made at a time then; 1: in lt_run_work() instead */
    lt_sparse sparse;        /* the gradients at cur, where that helps */
    double *Q;               /* columns.count squared: G'HG among valid columns; NULL when too large */
    int64_t Q_columns;       /* that there is room for */
    double *Hy, *Hs;         /* n each, for the update of H; valid where has_… says so */
    bool    has_Hy, has_Hs;
    const double **from;     /* capacity k + 2: work */
    double **to;
    double *u, *v;           /* capacity k: work */
    int64_t *column;         /* capacity k: work */
    int64_t slot;            /* of the current point; -1: none */
} lt_products;

lt_status lt_products_create(lt_run *r);
void lt_products_release(lt_run *r);
void lt_products_sample(lt_run *r);           /* after an insertion: every near slot becomes valid */
void lt_products_leave(lt_run *r, int64_t slot); /* its products are no longer carried */
void lt_products_updated(lt_run *r);          /* H has had its update, or was skipped */
void lt_products_forget(lt_run *r);           /* H for the QPs changed in another way */
/* W times the gradients at cur: k times n, perhaps in the memory of the point to be tried next. */
const double *lt_products_current(lt_run *r);
/* out = -W G y for the m columns of these slots, as lt_columns_pick has them; plain is G y, perhaps in the same memory. */
void lt_products_combine(lt_run *r, int64_t m, const int64_t *slot, const double *y, const double *plain, double *out);
/* out[j] = gradient j at cur times x, for j = first..k-1. */
void lt_products_dots(lt_run *r, int64_t first, const lt_combination *x, double *out);
/* Gradients at cur from `skip` on, as rows first.. of Q (m squared), times x[0..m-1]; both triangles of Q. */
void lt_products_rows(lt_run *r, int64_t skip, int64_t first, int64_t m, const double *const *x, double *Q);
bool lt_products_current_gram(lt_run *r, double *Q); /* C'WC at cur, if it is carried */
/* out[j] = gradient j at cur times W times (c_0 gradient 0 + …), for j = first..k-1, if that is carried and saves a wait. */
bool lt_products_carried(const lt_run *r, int64_t first, double c_0, const double *c, double *out);
typedef struct lt_gram_view { const double *Q; int64_t stride; } lt_gram_view;
/* G'HG of these valid slots, ascending: where it lies already, or in work. Valid until H changes. */
lt_gram_view lt_products_gram(lt_run *r, int64_t l, const int64_t *slot, double *work);

/* ---- stationarity -------------------------------------------------------------------------------------- */
typedef struct lt_stationarity {
    double *vector;          /* n, for the callback; NULL: there is none, and the vector is work */
    double  value, unweighted, normalised;
    int64_t n_samples;
    int     attempts;        /* QPs tried: 0, 1, 2 or 4 */
    lt_subproblem sub;
    double *y_of_slot;       /* cache capacity times k: the last answer, by slot */
    double *bounds;          /* n: multipliers of bounds, lower minus upper, where these are rows */
} lt_stationarity;

lt_status lt_stationarity_measure(lt_run *r);
void lt_sample_retire(lt_run *r);             /* lt_cache_retire; its products, too */

/* ---- numbers that will be asked for (foresight.c): on the host nothing ----------------------------------- */
void lt_foresee_trial(const lt_run *r, const lt_point *p);  /* whichever way the search goes on; p's gradients are about to be written */
void lt_foresee_direction(const lt_run *r);
void lt_foresee_distances(const lt_cache *c, const double *x); /* of samples in doubt */
void lt_foresee_steering(const lt_run *r, const double *WG);
void lt_foresee_rows(const lt_run *r, int64_t skip, int64_t first, int64_t m, const double *const *x); /* of lt_products_rows */
void lt_foresee_gram(const lt_run *r, int64_t m, const double *const *G);
void lt_foresee_products(const lt_run *r, bool with_update);

#endif
