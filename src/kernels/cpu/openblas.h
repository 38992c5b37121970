/* OpenBLAS, opened when the first kernel needs it: a program that multiplies nothing large never loads it, one binary runs with
   it and without, and no thread of its own is ever started (decision 146). Its LAPACK keeps the Fortran names; matrices are column major there,
   so a row-major matrix passed as it is reads as its transpose. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_KERNELS_CPU_OPENBLAS_H
#define LT_KERNELS_CPU_OPENBLAS_H

#include "lathe/base.h"

/* The enumerations of CBLAS, which are ints in every version. */
enum { LT_BLAS_ROWS = 101, LT_BLAS_COLUMNS = 102, LT_BLAS_PLAIN = 111, LT_BLAS_TRANSPOSED = 112,
       LT_BLAS_LOWER = 122, LT_BLAS_NOT_UNIT = 131, LT_BLAS_LEFT = 141 };

/* Character arguments have their length appended, as gfortran and flang expect. */
#define LT_OPENBLAS_LAPACK(X, T, p)                                                                                         \
    X(p##getrf_, (const int *m, const int *n, T *a, const int *lda, int *pivot, int *info))                                 \
    X(p##getrs_, (const char *trans, const int *n, const int *nrhs, const T *a, const int *lda, const int *pivot, T *b,     \
                  const int *ldb, int *info, size_t))                                                                       \
    X(p##getri_, (const int *n, T *a, const int *lda, const int *pivot, T *work, const int *lwork, int *info))              \
    X(p##potrf_, (const char *uplo, const int *n, T *a, const int *lda, int *info, size_t))                                 \
    X(p##geev_, (const char *jobvl, const char *jobvr, const int *n, T *a, const int *lda, T *wr, T *wi, T *vl, const int *ldvl, \
                 T *vr, const int *ldvr, T *work, const int *lwork, int *info, size_t, size_t))                             \
    X(p##syevd_, (const char *jobz, const char *uplo, const int *n, T *a, const int *lda, T *w, T *work, const int *lwork,  \
                  int *iwork, const int *liwork, int *info, size_t, size_t))                                                \
    X(p##gesdd_, (const char *jobz, const int *m, const int *n, T *a, const int *lda, T *s, T *u, const int *ldu, T *vt,    \
                  const int *ldvt, T *work, const int *lwork, int *iwork, int *info, size_t))                               \
    X(p##gebal_, (const char *job, const int *n, T *a, const int *lda, int *low, int *high, T *scale, int *info, size_t))   \
    X(p##gehrd_, (const int *n, const int *ilo, const int *ihi, T *a, const int *lda, T *tau, T *work, const int *lwork, int *info)) \
    X(p##ormhr_, (const char *side, const char *trans, const int *m, const int *n, const int *ilo, const int *ihi, const T *a, \
                  const int *lda, const T *tau, T *c, const int *ldc, T *work, const int *lwork, int *info, size_t, size_t)) \
    X(p##hsein_, (const char *side, const char *eigsrc, const char *initv, int *select, const int *n, const T *h, const int *ldh, \
                  T *wr, const T *wi, T *vl, const int *ldvl, T *vr, const int *ldvr, const int *mm, int *m, T *work,       \
                  int *ifaill, int *ifailr, int *info, size_t, size_t, size_t))

#define LT_OPENBLAS_BLAS(X, T, p)                                                                                           \
    X(cblas_##p##gemm, (int order, int trans_a, int trans_b, int m, int n, int k, T alpha, const T *a, int lda, const T *b, \
                        int ldb, T beta, T *c, int ldc))                                                                    \
    X(cblas_##p##gemv, (int order, int trans, int m, int n, T alpha, const T *a, int lda, const T *x, int step_x, T beta, T *y, int step_y)) \
    X(cblas_##p##trsm, (int order, int side, int uplo, int trans, int diag, int m, int n, T alpha, const T *a, int lda, T *b, int ldb)) \
    X(cblas_##p##syrk, (int order, int uplo, int trans, int n, int k, T alpha, const T *a, int lda, T beta, T *c, int ldc))

#define LT_OPENBLAS_FUNCTIONS(X)                                                                                            \
    LT_OPENBLAS_BLAS(X, float, s) LT_OPENBLAS_BLAS(X, double, d) LT_OPENBLAS_LAPACK(X, float, s) LT_OPENBLAS_LAPACK(X, double, d) \
    X(openblas_set_num_threads, (int n))

typedef struct lt_openblas {
#define X(name, args) void (*name) args;
    LT_OPENBLAS_FUNCTIONS(X)
#undef X
} lt_openblas;

/* Opens the library once per process. LT_ERR_UNSUPPORTED: there is none that fits; LT_ERR_MEMORY: it finds no room here. Both are
   remembered with their text. */
lt_status lt_openblas_open(void);
/* Whether rows that use it apply: false where there is no library. One without room applies, and preparing its kernel fails. */
bool lt_openblas_is_here(void);

/* Its functions, after lt_openblas_open() has succeeded. */
extern lt_openblas lt_openblas_table;

/* Around every call. Where address space is limited, no more threads are inside than there are buffers for: OpenBLAS asks for
   one for each of them, and tries for ever when it gets none. */
void lt_openblas_enter(void);
void lt_openblas_leave(void);

#define LT_OPENBLAS_CALL(name, ...)            \
    do {                                       \
        lt_openblas_enter();                   \
        lt_openblas_table.name(__VA_ARGS__);   \
        lt_openblas_leave();                   \
    } while (0)

#endif
