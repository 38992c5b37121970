/* What the files of the pipeline share: the handle, kernels between prepared rows, folds, trials.
   SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_QKERNEL_SVM_MACHINE_H
#define LT_QKERNEL_SVM_MACHINE_H

#include "qkernel/svm/machines/machines.h"
#include "qkernel/svm/prepare.h"

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
    int64_t    n_train, n_test;
    int64_t   *row;            /* numbers of the rows: training ones, then held-out ones */
    double    *z;              /* prepared features in that order; learnt from the training ones; NULL: a kernel computed before */
    uint8_t   *y;              /* of two classes, for one machine */
    lt_targets targets;        /* all in that order; label, value and weight are ours */
    int32_t   *label;
    double    *value, *weight;
} lt_fold;

typedef struct lt_folds { int64_t n, n_folds, n_qubits; lt_fold *fold; } lt_folds;

/* Every class dealt out evenly after a shuffle by the seed. x NULL: rows of a kernel computed before. */
lt_status lt_folds_make(const double *x, const lt_targets *t, int64_t n, const lt_prepare *like, int64_t n_folds, uint64_t seed, lt_folds *out);
void      lt_folds_release(lt_folds *f);

/* One value of C per cell of a log-uniform grid, or the C of the options; gamma likewise in shuffled order.
   trials: n_trials of the options, or 1; returns how many. */
int64_t   lt_trials_draw(const lt_qsvm_options *opt, bool rbf, double gamma_scale, lt_qsvm_trial *trials);

typedef struct lt_search {     /* of C, and of gamma */
    const lt_folds        *folds;
    const lt_qsvm_options *opt;
    lt_svm_solver          solver;
    const lt_row_kernel   *kernel;
    const double          *K;       /* (n, n) computed before; NULL: kernel says how */
    int64_t                n_trials;
    lt_qsvm_trial         *trials;
    lt_qsvm_errors        *errors, *errors_std; /* of each trial: mean and deviation over the folds; of a regression */
    double                *held_out; /* (n, may be NULL): decision values of the best trial, each from the fold that did not see the row; of one machine */
    int64_t                best;    /* out: highest mean F1, then AUC, then smallest C; of a regression the highest R2 */
} lt_search;
/* Scores every trial on every fold. */
lt_status lt_trials_run(lt_search *s);

/* What lt_machines_fit needs of n rows whose kernel is K; y of two classes. */
lt_svm    lt_qsvm_problem(const lt_qsvm_options *opt, lt_svm_solver solver, const lt_targets *t, const uint8_t *y, const double *K, int64_t n);

/* ---- The handle ------------------------------------------------------------------------ */
typedef struct lt_decider {    /* what new rows meet */
    double *support;           /* (n_support, n_qubits) */
    double *coefficient;       /* (n_support, width), as in lt_machines */
    double *bias;              /* (n_machines) */
    double *sigmoid;           /* (n_machines, 2); NULL: no probabilities */
    int32_t *class_of;         /* (n_support); NULL: one machine */
    int64_t *row;              /* (n_support): of the training rows */
    int64_t n_support, n_machines, width;
} lt_decider;

typedef char lt_class_name[LT_QSVM_CLASS_NAME];

struct lt_qsvm {
    lt_device      *dev;
    lt_qsvm_options opt;        /* what its pointers point to is ours */
    lt_similarity_options similarity;
    lt_class_name *class_names; /* (n_classes) */
    int64_t        *class_counts;
    char           *circuit_text; /* the map, or OpenQASM of the circuit */
    lt_gram_options gram_options;
    lt_svm_solver   solver;
    double         *weights;    /* (n_layers, n_qubits[, 3]) in use; more layers than used when selecting */
    int64_t         n_weight_layers; /* of map or circuit: how many weights */
    lt_qsvm_candidate circuit;  /* in use */
    lt_gram        *gram;       /* of the circuit; NULL: a kernel computed before */
    lt_prepare      prepare;
    lt_decider      decider[LT_QSVM_MACHINE_COUNT];
    bool            fitted;
    double         *K, *eigenvalues, *beta; /* beta: (n_kernel, beta_width) */
    int64_t         n_kernel, n_eigenvalues, beta_width;
    lt_qsvm_trial  *trials[LT_QSVM_MACHINE_COUNT];
    lt_qsvm_errors *trial_errors[LT_QSVM_MACHINE_COUNT]; /* means, then deviations */
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
/* Labels, values and weights of n rows (targets.c); a kernel of rows with themselves: square, and symmetric up to rounding. */
lt_status     lt_qsvm_check_targets(lt_qsvm *q, const lt_targets *t, int64_t n);
lt_status     lt_qsvm_check_kernel(const double *K, int64_t n, int64_t columns);
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

/* Options are copied, so that nothing of the caller's is kept (own_options.c). */
lt_status     lt_qsvm_copy_options(lt_qsvm *q, const lt_qsvm_options *opt, const lt_gram_options *gram);
void          lt_qsvm_free_options(lt_qsvm *q);
/* How many classes: 0 but for classify. */
int64_t       lt_qsvm_count_classes(const lt_qsvm_options *opt);
/* Whether a map or a circuit stands for layers; a handle of it for rows of q->prepare.n_outputs features. */
bool          lt_qsvm_has_circuit(const lt_qsvm_options *opt);
lt_status     lt_qsvm_make_circuit_gram(lt_qsvm *q, const lt_gram_options *opt, lt_gram **out);
/* Weights of map or circuit for this number of features, given or drawn. */
lt_status     lt_qsvm_make_circuit_weights(lt_qsvm *q, int64_t n_features);

/* Fills q->circuit with the best of several; z are the prepared training rows. */
lt_status lt_qsvm_choose_circuit(lt_qsvm *q, const double *z, const lt_targets *t, int64_t n, const lt_folds *folds);

/* Of a square kernel; eigenvalues (ascending) go to *values, the caller frees them with lt_free. */
lt_status lt_qsvm_diagnose(const double *K, const lt_targets *t, int64_t n, lt_qsvm_diagnostics *out, double **values);
/* The centred alignment alone; NaN of one class. */
lt_status lt_qsvm_alignment(const double *K, const lt_targets *t, int64_t n, double *out);
/* Fills info.advice from the rest of info. */
void      lt_qsvm_advise(lt_qsvm *q);

#endif
