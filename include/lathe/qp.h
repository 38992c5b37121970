/* Dense convex quadratic programs with bounds and at most one sum constraint:

       minimise   1/2 y'Qy + c'y
       subject to lower <= y <= upper   and, where asked,   sum of the member entries of y = mu

   Q is symmetric positive semidefinite; singular is normal. Answers are certified: every solve
   measures how well the optimality conditions hold at the y it returns. docs/qp.md has an example.
   SPDX-License-Identifier: BSD-3-Clause */
#ifndef LATHE_QP_H
#define LATHE_QP_H

#include "lathe/base.h"

#ifdef __cplusplus
extern "C" {
#endif

#define LT_QP_MAX_SIZE 20000 /* variables; the workspace holds about 8 m^2 bytes */

typedef enum lt_qp_method {
    LT_QP_AUTO,       /* active set; interior point first where large problems start cold and stay unsettled */
    LT_QP_ACTIVE_SET, /* never the interior point */
    LT_QP_INTERIOR,   /* always the interior point, then the active-set polish */
    LT_QP_METHOD_COUNT
} lt_qp_method;

typedef struct lt_qp_options {    /* start from lt_qp_defaults() */
    size_t       size;
    double       tolerance;       /* 1e-12, in (0, 1): certified residual, relative to sigma (below) */
    int          max_iterations;  /* 0 = 100 + 10 m; changes of the active set in one solve */
    int          interior_above;  /* 300: AUTO considers the interior point for m above this */
    lt_qp_method method;
    double       max_shift;       /* 0, in [0, 1]: 0 refuses a Q that is not convex; above, for a Q that is so by rounding alone, up to
                                     this share of its norm (largest sum of |entries| in a row) goes to the diagonal until it is */
} lt_qp_options;

typedef enum lt_qp_status {
    LT_QP_OK,         /* certified to the tolerance */
    LT_QP_INACCURATE, /* feasible, but the residual is above the tolerance: see info */
    LT_QP_FAILED,     /* no answer: cause says why; y is feasible or untouched */
    LT_QP_STATUS_COUNT
} lt_qp_status;

typedef enum lt_qp_cause {
    LT_QP_CAUSE_NONE,
    LT_QP_CAUSE_INPUT,      /* the call was refused; the returned lt_status and lt_error_text() say why */
    LT_QP_CAUSE_INFEASIBLE, /* no y within the bounds has the sum asked for */
    LT_QP_CAUSE_UNBOUNDED,  /* an infinite bound lets the objective fall for ever */
    LT_QP_CAUSE_NONCONVEX,  /* Q has an eigenvalue clearly below zero */
    LT_QP_CAUSE_ITERATIONS, /* max_iterations reached */
    LT_QP_CAUSE_ROUNDING,   /* stuck above the tolerance: Q, c or the bounds differ too much in scale */
    LT_QP_CAUSE_COUNT
} lt_qp_cause;

typedef struct lt_qp_problem {
    const double  *c;       /* (m) */
    const double  *lower;   /* (m), may hold -inf */
    const double  *upper;   /* (m), may hold +inf; equal to lower fixes the entry */
    const uint8_t *members; /* (m), nonzero = the entry counts in the sum; NULL = no sum constraint */
    double         mu;      /* what the members sum to; read only with members */
    const double  *start;   /* (m) or NULL: where to begin, clamped to the bounds; may be y itself */
    bool           warm;    /* without start: begin from this workspace's last answer of the same m */
} lt_qp_problem;

/* With r = Qy + c - nu * members and sigma = max(1e-300, max|c|, max diag Q), residual is the
   largest of |r_i| over entries strictly between their bounds, -r_i over those at the lower bound
   and r_i over those at the upper bound, divided by sigma. The status is OK when it is at most the
   tolerance, not counting what rounding y to double may do to r: that matters where entries of y
   are far above 1 (from about 1e3 for the default tolerance). With a shift, Q stands for Q + shift I. */
typedef struct lt_qp_info {
    size_t       size;
    lt_qp_status status;
    lt_qp_cause  cause;
    double       residual;
    double       sum_residual; /* |sum - mu| / max(|mu|, largest member, 1e-300); 0 without members */
    double       nu;           /* multiplier of the sum constraint; 0 without members */
    double       sigma;
    double       objective;
    double       shift;        /* what was added to the diagonal of Q: see max_shift */
    int          n_free;       /* entries strictly between their bounds */
    int          iterations;   /* active-set rounds and steps */
    int          interior_iterations;
} lt_qp_info;

typedef struct lt_qp lt_qp;   /* opaque; one thread at a time each, any number in parallel */

LT_API void lt_qp_defaults_into(lt_qp_options *out);
static inline lt_qp_options lt_qp_defaults(void) { lt_qp_options sized; sized.size = sizeof sized; lt_qp_defaults_into(&sized); return sized; }
LT_API const char   *lt_qp_status_name(lt_qp_status s); /* "ok", "inaccurate", "failed"; "?" when out of range */
LT_API const char   *lt_qp_cause_name(lt_qp_cause c);   /* "", "unbounded", … */

/* A workspace for problems of up to max_m variables. It allocates here and never again. opt may be
   NULL. On failure *out is NULL. */
LT_API lt_status lt_qp_create(int64_t max_m, const lt_qp_options *opt, lt_qp **out);
LT_API void      lt_qp_destroy(lt_qp *qp);   /* NULL is allowed */

/* Sets Q (m x m, both triangles, entry (i, j) at q[i + j * stride], stride >= m). Borrowed: q must
   stay as it is until the next call. Refused when an entry is not finite, a diagonal entry is
   clearly negative (and max_shift is 0), or the triangles differ by more than rounding. The last answer stays, for
   warm starts. */
LT_API lt_status lt_qp_set_matrix(lt_qp *qp, int64_t m, const double *q, int64_t stride);

/* Solves with the matrix set last; several calls may follow one lt_qp_set_matrix, and share its
   factorisation. Fills y (m) and info (may be NULL). Bounds hold exactly. Returns an error only for
   input it refuses (y untouched); what became of the solve is info->status. Deterministic: the
   answer depends on the calls made since the last lt_qp_set_matrix, start and (with warm) the
   last answer, nothing else. */
LT_API lt_status lt_qp_solve(lt_qp *qp, const lt_qp_problem *problem, double *y, lt_qp_info *info);

/* Forgets the last answer, so that the next warm solve starts cold. */
LT_API void lt_qp_forget(lt_qp *qp);

#ifdef __cplusplus
}
#endif
#endif
