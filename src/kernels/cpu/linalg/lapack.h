/* The LAPACK routines used, by their Fortran names; OpenBLAS provides them. Matrices are column
   major there: a row-major matrix passed as it is reads as its transpose.
   SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_KERNELS_CPU_LINALG_LAPACK_H
#define LT_KERNELS_CPU_LINALG_LAPACK_H

#include "kernels/host_kernel.h"

#include <stddef.h>

/* Character arguments have their length appended, as gfortran and flang expect. */
#define LT_LAPACK(T, p)                                                                             \
    void p##getrf_(const int *m, const int *n, T *a, const int *lda, int *pivot, int *info);        \
    void p##getrs_(const char *trans, const int *n, const int *nrhs, const T *a, const int *lda,    \
                   const int *pivot, T *b, const int *ldb, int *info, size_t);                      \
    void p##getri_(const int *n, T *a, const int *lda, const int *pivot, T *work, const int *lwork, int *info); \
    void p##potrf_(const char *uplo, const int *n, T *a, const int *lda, int *info, size_t);        \
    void p##geev_(const char *jobvl, const char *jobvr, const int *n, T *a, const int *lda, T *wr, T *wi, \
                  T *vl, const int *ldvl, T *vr, const int *ldvr, T *work, const int *lwork, int *info, size_t, size_t); \
    void p##syevd_(const char *jobz, const char *uplo, const int *n, T *a, const int *lda, T *w, T *work, \
                   const int *lwork, int *iwork, const int *liwork, int *info, size_t, size_t);     \
    void p##gesdd_(const char *jobz, const int *m, const int *n, T *a, const int *lda, T *s, T *u, const int *ldu, \
                   T *vt, const int *ldvt, T *work, const int *lwork, int *iwork, int *info, size_t); \
    void p##gebal_(const char *job, const int *n, T *a, const int *lda, int *low, int *high, T *scale, int *info, size_t); \
    void p##gehrd_(const int *n, const int *ilo, const int *ihi, T *a, const int *lda, T *tau, T *work, const int *lwork, int *info); \
    void p##ormhr_(const char *side, const char *trans, const int *m, const int *n, const int *ilo, const int *ihi, const T *a, \
                   const int *lda, const T *tau, T *c, const int *ldc, T *work, const int *lwork, int *info, size_t, size_t); \
    void p##hsein_(const char *side, const char *eigsrc, const char *initv, int *select, const int *n, const T *h, const int *ldh, \
                   T *wr, const T *wi, T *vl, const int *ldvl, T *vr, const int *ldvr, const int *mm, int *m, T *work, \
                   int *ifaill, int *ifailr, int *info, size_t, size_t, size_t);
LT_LAPACK(float, s)
LT_LAPACK(double, d)

/* Calls the routine of the right precision; array arguments are void pointers. */
#define LT_LAPACK_CALL(t, name, ...)            \
    do {                                        \
        if ((t) == LT_F32) s##name##_(__VA_ARGS__); \
        else d##name##_(__VA_ARGS__);           \
    } while (0)

/* Helpers on n elements of type t (F32 or F64). */
bool lt_all_finite(lt_dtype t, const void *x, int64_t n);
void lt_fill_nan(lt_dtype t, void *x, int64_t n);
void lt_matrix_transpose(lt_dtype t, void *dst, const void *src, int64_t rows, int64_t columns); /* dst: columns x rows */

/* f32 or f64 throughout, with extents LAPACK can count. */
bool lt_lapack_applies(const lt_problem_key *p);

#endif
