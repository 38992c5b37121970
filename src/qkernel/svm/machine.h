/* What the files of the pipeline share: the handle, kernels between prepared rows, folds, trials.
   SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_QKERNEL_SVM_MACHINE_H
#define LT_QKERNEL_SVM_MACHINE_H

#include "qkernel/svm/prepare.h"
#include "qkernel/svm/svm.h"

/* ---- Kernels ---------------------------------------------------------------------- */
typedef struct lt_row_kernel { /* between rows of n_qubits prepared features */
    lt_gram *gram;             /* NULL: exp(-gamma |x - y|^2) */
    double   gamma, jitter;    /* jitter: what normalising adds to the diagonal, else 0 */
    int64_t  n_qubits;
} lt_row_kernel;

/* K (n, n) of z with itself, or (n, m) of z with other. */
lt_status lt_row_kernel_fill(const lt_row_kernel *k, const double *z, int64_t n, const double *other, int64_t m, double *K);

/* ---- Folds and trials --------------------------------------------------------------- */
typedef struct lt_fold {
    int64_t  n_train, n_test;
    int64_t *row;              /* numbers of the rows: training ones, then held-out ones */
    double  *z;                /* prepared features in that order; learnt from the training ones */
    uint8_t *y;
} lt_fold;

typedef struct lt_folds { int64_t n, n_folds, n_qubits; lt_fold *fold; } lt_folds;

/* Every class dealt out evenly after a shuffle by the seed. */
lt_status lt_folds_make(const double *x, const uint8_t *y, int64_t n, const lt_prepare *like, int64_t n_folds, uint64_t seed, lt_folds *out);
void      lt_folds_release(lt_folds *f);

/* One value of C per cell of a log-uniform grid, or the C of the options; gamma likewise in shuffled order.
   trials: n_trials of the options, or 1; returns how many. */
int64_t   lt_trials_draw(const lt_qsvm_options *opt, bool rbf, double gamma_scale, lt_qsvm_trial *trials);

/* Scores every trial on every fold. held_out (n, may be NULL): decision values of the best trial, each from the
   fold that did not see the row. Returns the best in *best: highest mean F1, then AUC, then smallest C. */
lt_status lt_trials_run(const lt_folds *folds, const lt_qsvm_options *opt, lt_svm_solver solver, const lt_row_kernel *kernel,
                        int64_t n_trials, lt_qsvm_trial *trials, double *held_out, int64_t *best);

/* Costs of the two classes for these labels. */
void      lt_class_costs(const lt_qsvm_options *opt, double C, const uint8_t *y, int64_t n, double cost[2]);

/* ---- The handle ------------------------------------------------------------------------ */
typedef struct lt_decider {    /* what new rows meet */
    double *support;           /* (n_support, n_qubits) */
    double *coefficient;       /* (n_support) */
    int64_t n_support;
    double  bias;
} lt_decider;

struct lt_qsvm {
    lt_device      *dev;
    lt_qsvm_options opt;        /* weights.data, feature_names and gram are ours */
    lt_gram_options gram_options;
    lt_svm_solver   solver;
    double         *weights;    /* (n_layers, n_qubits[, 3]) in use; more layers than used when selecting */
    int64_t         n_weight_layers;
    lt_qsvm_candidate circuit;  /* in use */
    lt_gram        *gram;       /* of the circuit */
    lt_prepare      prepare;
    lt_decider      decider[LT_QSVM_MACHINE_COUNT];
    bool            fitted;
    double         *K, *eigenvalues, *beta;
    int64_t         n_kernel, n_eigenvalues;
    lt_qsvm_trial  *trials[LT_QSVM_MACHINE_COUNT];
    int64_t         n_trials[LT_QSVM_MACHINE_COUNT];
    lt_qsvm_candidate *candidates;
    int64_t         n_candidates;
    lt_qsvm_info    info;       /* points to the next two */
    lt_qsvm_diagnostics diagnostics;
    lt_gram_info    gram_info;
};

/* The range in use, never auto; pi as a factor of angles, else 1. */
lt_qsvm_range lt_qsvm_range_of(const lt_qsvm_options *opt, lt_embed embed);
double        lt_qsvm_range_factor(lt_qsvm_range r);
lt_status     lt_qsvm_step(const lt_qsvm *q, const char *step, int64_t done, int64_t total); /* LT_ERR_CANCELLED when asked to stop */

/* Whether names are as many lines as there are features, and text; NULL is. */
bool          lt_qsvm_names_fit(const char *names, int64_t n_features);
/* Features that never change in the training rows: all of them are refused, some are mentioned in the advice. */
lt_status     lt_qsvm_check_features(lt_qsvm *q, const double *x, int64_t n, int64_t n_features);
/* Empties the information, but for the names of classes and features. */
void          lt_qsvm_begin_info(lt_qsvm *q);
/* Drops what the last fit left. */
void          lt_qsvm_forget(lt_qsvm *q);
/* The circuit of the options, with weights given or drawn, for this many qubits. */
lt_status     lt_qsvm_make_weights(lt_qsvm *q, int64_t n_qubits);
/* A Gram handle for these settings; the kernel that uses it. */
lt_status     lt_qsvm_make_gram(lt_qsvm *q, const lt_qsvm_candidate *c, lt_gram **out);
lt_row_kernel lt_qsvm_row_kernel(const lt_qsvm *q, lt_gram *gram);

/* Fills q->circuit with the best of several; z are the prepared training rows. */
lt_status lt_qsvm_choose_circuit(lt_qsvm *q, const double *z, const uint8_t *y, int64_t n, const lt_folds *folds);

/* Of a square kernel; eigenvalues (ascending) go to *values, the caller frees them with lt_free. */
lt_status lt_qsvm_diagnose(const double *K, const uint8_t *y, int64_t n, lt_qsvm_diagnostics *out, double **values);
/* The centred alignment alone. */
lt_status lt_qsvm_alignment(const double *K, const uint8_t *y, int64_t n, double *out);
/* Fills info.advice from the rest of info. */
void      lt_qsvm_advise(lt_qsvm *q);

#endif
