/* The QP workspace and the parts of the solver that share it. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_OPTIMIZE_QP_INTERNAL_H
#define LT_OPTIMIZE_QP_INTERNAL_H

#include "lathe/qp.h"
#include "optimize/qp/loops.h"

#include <float.h>

enum { LT_QP_PANEL = 48 }; /* columns a blocked append handles at once */

typedef enum lt_qp_place {
    AT_LOWER, AT_UPPER,
    FREE,   /* in the factor: moves with every step */
    PARKED, /* between its bounds but dependent on the free entries, so kept out of the factor */
    FIXED,  /* lower == upper */
} lt_qp_place;

/* With a sum constraint the factor is that of Q + rho a a' (a = the members): the same problem on
   the constraint, and positive definite exactly where Q is on directions that keep the sum. */
struct lt_qp {
    lt_qp_options      opt;
    const lt_qp_loops *loops;
    int                max_m, m;    /* m = 0: no matrix yet */
    const double      *q;           /* (m x m), borrowed */
    size_t             stride;
    double             max_diagonal; /* of Q, unshifted */
    double             shift;       /* added to the diagonal of Q, wherever this solver speaks of Q */
    double            *root;        /* (m) sqrt of the diagonal: |Q_ij| <= root_i root_j */

    /* the problem at hand, borrowed */
    const double *c, *lower, *upper;
    double       *a;                /* (m) 1 for members that are not fixed, else 0 */
    int           n_members;        /* ones in a */
    double        mu;               /* less the fixed members */
    double        rho, sigma;

    /* the iterate */
    double       *y, *g;            /* (m) point; Qy + c */
    double        nu;
    double        excess;           /* largest violation beyond what rounding y explains: lt_qp_certify */
    uint8_t      *place;            /* (m) lt_qp_place */
    uint8_t      *want;             /* (m) entries that should become FREE */
    uint8_t      *banned;           /* (m) entered and bounced without moving */
    bool          has_answer;       /* y and place hold the last answer */

    /* Cholesky factor over the free entries */
    int           n;                /* free entries */
    int           n_sum;            /* of which members */
    int          *index;            /* (n) factor row -> entry */
    int          *row;              /* (m) entry -> factor row; -1 = not in the factor */
    double       *l;                /* (n x n) lower, column major, step max_m */
    double       *inverse;          /* (n) reciprocal diagonal */
    double       *panel;            /* (max_m x LT_QP_PANEL) */
    double       *panel_gram;       /* (LT_QP_PANEL^2) */
    int           updates;          /* since the factor was last built from nothing */
    double        worst_curvature;  /* most negative curvature met, relative to the largest diagonal entry */

    double       *p;                /* (m) step over the free entries, in factor order */
    double       *t, *h, *work;     /* (m) each */
    double       *best;             /* (m) best point certified so far */
    double       *pulled;           /* (m) linear term of lt_qp_steady */
    double       *interior;         /* (9 m) the interior point's vectors */
    int          *list;             /* (m) */

    int           iterations, interior_iterations, max_iterations;
    lt_qp_cause   cause;
};

#define LT_QP_EPS DBL_EPSILON

static inline double lt_qp_clamp(double v, double lower, double upper) { return v < lower ? lower : v > upper ? upper : v; }

/* One entry of the factored matrix. */
static inline double lt_qp_entry(const lt_qp *w, int i, int j)
{
    return w->q[(size_t)j * w->stride + (size_t)i] + (i == j ? w->shift : 0) + w->rho * w->a[i] * w->a[j];
}

/* ---- qp/factor.c --------------------------------------------------------------- */
void lt_qp_factor_reset(lt_qp *w);
/* Takes the listed entries into the factor and makes them FREE; those that depend on the ones
   already there go to the bound they stand on, or are PARKED. After a single entry the panel's
   first column is L^-1 times its column, and panel_gram[0] its pivot. */
void lt_qp_factor_append(lt_qp *w, int count, const int *entry);
void lt_qp_factor_remove(lt_qp *w, int entry); /* the caller sets its place */
/* Makes the factor hold the entries with want set: changes it, or builds it anew when that is less work. */
void lt_qp_factor_match(lt_qp *w);

/* ---- qp/step.c --------------------------------------------------------------------- */
/* out += Q times a vector with `count` entries: coef[k] at entry[k]. */
void   lt_qp_add_product(const lt_qp *w, int count, const int *entry, const double *coef, double *out);
void   lt_qp_gradient(lt_qp *w, bool precise);                /* g = Qy + c */
double lt_qp_sum_defect(const lt_qp *w);                      /* mu - a'y */
/* p and nu: from y to the minimiser over the free entries, other entries kept. */
void   lt_qp_newton_step(lt_qp *w);
/* p over the free entries when entry j moves by +1 and the objective's slope along them stays 0. */
void   lt_qp_null_step(lt_qp *w, int j);
void   lt_qp_restore_sum(lt_qp *w);                           /* clamps y, makes the members sum to mu; may add to want */
/* Rounding error to expect in g_i: allowance * root_i + eps |c_i|. */
double lt_qp_noise_scale(const lt_qp *w);

/* ---- qp/active.c --------------------------------------------------------------------- */
void lt_qp_start(lt_qp *w, const double *start, bool warm);   /* y and want; the factor is not touched */
bool lt_qp_settle(lt_qp *w);                                  /* guesses whole active sets; true when one fits */
bool lt_qp_active_set(lt_qp *w, bool precise);                /* from a feasible y; false on failure */

/* ---- qp/interior.c ---------------------------------------------------------------------- */
void lt_qp_interior(lt_qp *w);                                /* y near the optimum, and want */

/* ---- qp/steady.c ------------------------------------------------------------------------ */
bool lt_qp_steady(lt_qp *w, const lt_qp_problem *p, lt_qp_info *info); /* guesses held near one another; true when certified */

/* ---- qp/certify.c ----------------------------------------------------------------------- */
bool lt_qp_closed_form(lt_qp *w);                             /* m = 1; m = 2 without a sum */
void lt_qp_certify(lt_qp *w, bool precise, lt_qp_info *info); /* residuals at y */
bool lt_qp_certified(const lt_qp *w, const lt_qp_info *info);  /* within the tolerance */
bool lt_qp_acceptable(const lt_qp *w, const lt_qp_info *info); /* but for what rounding y explains */

/* ---- qp/blas.c ---------------------------------------------------------------------------- */
/* Solves L X = X for count columns of x; lower triangle of s -= X'X. */
void lt_qp_panel_solve(const lt_qp *w, int count, double *x, size_t x_stride, double *s, size_t s_stride);
/* As lt_qp_loops.cholesky, faster where a library is. */
int  lt_qp_cholesky(const lt_qp *w, int n, double *a, size_t stride, double *inverse);

#endif
