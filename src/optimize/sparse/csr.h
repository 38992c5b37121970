/* Gradients of constraints as the entries that they may have, row after row (csr.c), and linear systems with their products (skyline.c).
   SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_OPTIMIZE_SPARSE_CSR_H
#define LT_OPTIMIZE_SPARSE_CSR_H

#include "lathe/base.h"

/* Where entries may be. Their values stand elsewhere, in the same order. */
typedef struct lt_csr {
    int64_t m, n;
    int64_t *start;         /* m + 1: entries of row i are start[i] … start[i + 1] - 1 */
    int32_t *column;        /* ascending within a row */
} lt_csr;

void      lt_csr_release(lt_csr *a);
double    lt_csr_dot(const lt_csr *a, const double *value, int64_t row, const double *x);
void      lt_csr_apply(const lt_csr *a, const double *value, const double *x, double *out);      /* out = A x, m numbers */
void      lt_csr_add(const lt_csr *a, const double *value, const double *c, double *y);           /* y += A'c */
/* Which rows share a variable with which: those of row i, without itself, are at to[from[i]] … to[from[i + 1] - 1]. LT_ERR_UNSUPPORTED: more than
   `most` in all. Released with lt_free, both. */
lt_status lt_csr_neighbours(const lt_csr *a, int64_t most, int64_t **from, int32_t **to);

/* ---- Symmetric matrices with a few entries beside the diagonal: row i of the lower triangle from its first entry on ---- */
typedef struct lt_skyline {
    int64_t  m;
    int32_t *place;         /* where a row stands among the others, which keeps entries near the diagonal */
    int64_t *first;         /* by place: of its first entry, */
    int64_t *at;            /*   which is value[at]; m + 1 */
    double  *value, *inverse; /* inverse: of the factor's diagonal */
} lt_skyline;

#define LT_SKYLINE_MOST ((int64_t)1 << 26) /* entries: 512 MiB, twice */

/* For rows that are neighbours as lt_csr_neighbours says. LT_ERR_UNSUPPORTED: there would be more than LT_SKYLINE_MOST. */
lt_status lt_skyline_create(int64_t m, const int64_t *from, const int32_t *to, lt_skyline *out);
void      lt_skyline_release(lt_skyline *s);
static inline int64_t lt_skyline_entry(const lt_skyline *s, int64_t place, int64_t other) { return s->at[place] + other - s->first[place]; } /* other <= place */
bool      lt_skyline_factor(lt_skyline *s);                  /* in place; false: not positive definite */
/* After it, with L of L L': m numbers by place. */
void      lt_skyline_forward(const lt_skyline *s, double *x);  /* x = L^-1 x */
void      lt_skyline_backward(const lt_skyline *s, double *x); /* x = L^-T x */
void      lt_skyline_forward_rows(const lt_skyline *s, int64_t k, double *x); /* L^-1 x for k right-hand sides at once: m rows of k */

#endif
