/* One support vector machine on a kernel matrix: two solvers behind one handle. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_QKERNEL_SVM_SVM_H
#define LT_QKERNEL_SVM_SVM_H

#include "lathe/qsvm.h"

/* min 1/2 sum beta_i beta_j K_ij - sum |beta_i|  subject to  sum beta_i = 0,  0 <= y_i beta_i <= cost of i's class,
   where y is -1 for class 0 and +1 for class 1, and beta_i = y_i alpha_i are the signed coefficients. A regression has
   - sum beta_i value_i + epsilon sum |beta_i| and |beta_i| <= cost instead; one class nothing but the square, 0 <= beta_i <= 1 and
   sum beta_i = nu n. Weights are factors of the rows' bounds. */
typedef struct lt_svm_result {
    double  bias;              /* decision(x) = sum beta_i k(x_i, x) + bias */
    double  objective;
    int64_t n_support[2], iterations;
    bool    converged;
} lt_svm_result;

typedef struct lt_svm {        /* plain data; zero-initialised is empty */
    const double  *K;          /* (n, n), borrowed */
    const uint8_t *y;          /* (n), borrowed; of classify */
    const double  *value;      /* (n), borrowed; of regress */
    const double  *weight;     /* (n), borrowed; NULL: 1 */
    lt_qsvm_task   task;
    double         epsilon, nu;
    int64_t        n;
    lt_svm_solver  solver;     /* not auto */
    double         tolerance;
    int64_t        max_iterations;
    void          *nodes;      /* LIBSVM's form of K */
} lt_svm;

/* What auto stands for, LIBSVM where it is built in (decision 38); smo for whatever is not classification, and with weights (decision 270);
   LT_ERR_UNSUPPORTED for LIBSVM in a build without. */
lt_status lt_svm_resolve(lt_svm_solver asked, int64_t max_iterations, lt_svm_solver *out);
lt_status lt_svm_resolve_for(const lt_svm *s, lt_svm_solver asked, lt_svm_solver *out);

/* Makes the form of K the solver reads. lt_svm_fit may then run on several threads at once. */
lt_status lt_svm_prepare(lt_svm *s);
void      lt_svm_release(lt_svm *s);
/* beta (n): filled. cost: of the classes; its first one of a regression. */
lt_status lt_svm_fit(const lt_svm *s, const double cost[2], double *beta, lt_svm_result *out);

/* The two solvers; objective and counts are filled by lt_svm_fit. */
lt_status lt_smo_fit(const lt_svm *s, const double cost[2], double *beta, lt_svm_result *out);
lt_status lt_libsvm_prepare(lt_svm *s);
void      lt_libsvm_release(lt_svm *s);
lt_status lt_libsvm_fit(const lt_svm *s, const double cost[2], double *beta, lt_svm_result *out);

#endif
