/* Support vector machines on quantum kernels: reduce, scale, kernel, search of C, fit, scores, model files. Two classes or
   many, numbers (regression), or one class; on a kernel of layers, of any circuit, or on one computed before.
   SPDX-License-Identifier: BSD-3-Clause

       lt_qsvm_options opt = lt_qsvm_defaults();
       lt_qsvm *q;
       lt_qsvm_create(NULL, &opt, &q);
       lt_qsvm_fit(q, &(lt_rows){ x, LT_F64, n, n_features, 0 }, labels);
       lt_qsvm_decide(q, LT_QSVM_QUANTUM, &(lt_rows){ new_x, LT_F64, m, n_features, 0 }, decision);
       lt_qsvm_save(q, "model.qsvm");
       lt_qsvm_destroy(q);

   Nothing a fold or a fit learns from comes from the rows it is judged on: components, ranges, means of the kernel
   and C are taken from training rows only. */
#ifndef LATHE_QSVM_H
#define LATHE_QSVM_H

#include "lathe/circuit.h"
#include "lathe/gram.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Options ------------------------------------------------------------------ */
typedef enum lt_qsvm_range {   /* where min-max scaling of the training rows puts a feature */
    LT_QSVM_RANGE_AUTO,        /* pi for the embedding `angle`, unit for the others */
    LT_QSVM_RANGE_UNIT,        /* [0, 1] */
    LT_QSVM_RANGE_PI,          /* [0, pi] */
    LT_QSVM_RANGE_NONE,        /* features as they are */
    LT_QSVM_RANGE_COUNT
} lt_qsvm_range;

typedef enum lt_svm_solver {
    LT_SVM_AUTO,               /* libsvm where built in, unless max_iterations is given; else smo */
    LT_SVM_LIBSVM,             /* keeps the kernel in single precision while it solves */
    LT_SVM_SMO,                /* own, in double precision throughout */
    LT_SVM_SOLVER_COUNT
} lt_svm_solver;

typedef enum lt_qsvm_task {
    LT_QSVM_CLASSIFY,          /* C-SVC, of several classes one against one */
    LT_QSVM_REGRESS,           /* epsilon-SVR */
    LT_QSVM_ONE_CLASS,         /* nu-one-class: which rows are like the training rows */
    LT_QSVM_TASK_COUNT
} lt_qsvm_task;

LT_API const char *lt_qsvm_task_name(lt_qsvm_task t);     /* "classify", ... */
LT_API const char *lt_qsvm_range_name(lt_qsvm_range r);   /* "unit", …; "?" when out of range, as below */
LT_API const char *lt_svm_solver_name(lt_svm_solver s);

/* Called between steps, and now and then while a kernel is computed, on the thread that called lt_qsvm_fit or
   lt_qsvm_decide, with the step's name. False asks it to stop: LT_ERR_CANCELLED. */
typedef bool (*lt_qsvm_progress_fn)(void *ctx, const char *step, int64_t done, int64_t total);

/* Plain data: start from lt_qsvm_defaults(). lt_options_help(lt_qsvm_options_table()) lists it. */
typedef struct lt_qsvm_options {
    size_t          size;
    lt_qsvm_progress_fn progress;  /* may be NULL */
    void           *progress_ctx;
    const lt_gram_options *gram;   /* copied; NULL: lt_gram_defaults(). packed, return_dtype, profile_memory: only as by default; progress: the one above counts */
    lt_weights      weights;       /* data NULL: normal numbers of deviation weight_std from the seed; copied */
    const char     *class_name[2]; /* of labels 0 and 1; NULL: "0", "1"; copied, at most 63 bytes */
    const char     *feature_names; /* of the columns of X, a line each: "a\nb\nc"; NULL: none; copied. Kept with the machine, for callers to compare */
    int64_t         n_qubits;      /* fewer than features: PCA; 0 = one per feature up to 16, else 16 */
    int64_t         n_layers;      /* the first of the weights given; 0 = all of them, or 2 drawn ones; of a map that names none, 0 = 1 */
    double          weight_std;
    lt_qsvm_range   range;
    bool            center;        /* double centring of the kernel; a fit with a bias does not depend on it */
    double          C;             /* 0 = search */
    double          C_low, C_high; /* of the search, log-uniform */
    int64_t         n_trials;
    int64_t         n_folds;       /* stratified; 0 = no cross-validation, which needs a C */
    bool            balanced;      /* C of class c times n / (2 n_c) */
    double          class_weight[2];
    double          tolerance;     /* of the optimality conditions */
    int64_t         max_iterations; /* of smo; 0 = the larger of 10^7 and 100 n */
    lt_svm_solver   solver;
    bool            tune_threshold; /* best F1 of the held-out decision values, instead of 0 */
    bool            select;        /* choose embedding, angle scale and layers: by alignment, then by cross-validation */
    bool            compare_rbf;   /* the same with exp(-gamma |x - y|^2) */
    int64_t         seed;          /* of weights, folds and trials */
    lt_qsvm_task    task;
    int64_t         n_classes;     /* labels are 0 .. n_classes - 1; 0 = 2 */
    const char *const *class_names; /* n_classes of them; NULL: class_name where there are two, else the numbers; copied, at most 63 bytes each */
    const double   *class_weights; /* n_classes factors of C; NULL: class_weight where there are two, else 1; copied */
    double          epsilon;       /* regress: errors up to it cost nothing */
    double          nu;            /* one-class: at most this share of the training rows lies outside, at least this share supports */
    bool            probability;   /* classify: sigmoids for lt_qsvm_probabilities, from folds of their own */
    bool            precomputed;   /* X of a fit is the kernel of its rows with themselves, that of a decision new rows by training rows */
    const char     *map;           /* a named map of as many features as rows have when prepared, instead of layers; NULL: none; copied */
    const lt_circuit *circuit;     /* or a circuit, whose features say how far rows are reduced; copied */
    const double   *circuit_weights; /* of map or circuit; NULL: drawn as those of layers; copied */
    int64_t         n_circuit_weights;
    const lt_similarity_options *similarity; /* of map or circuit; copied; without draws, and of projected with its gamma */
} lt_qsvm_options;

LT_API void lt_qsvm_defaults_into(lt_qsvm_options *out);
static inline lt_qsvm_options lt_qsvm_defaults(void) { lt_qsvm_options sized; sized.size = sizeof sized; lt_qsvm_defaults_into(&sized); return sized; }
LT_API const lt_option_table *lt_qsvm_options_table(void); /* its own rows; those of gram are lt_gram_options_table() */

/* ---- Scores --------------------------------------------------------------------- */
typedef struct lt_qsvm_scores {    /* class 1 is the positive one */
    double  f1, accuracy, precision, recall, balanced_accuracy; /* 0 where undefined */
    double  roc_auc, average_precision;                         /* NaN when a class is absent */
    int64_t true_positive, false_positive, true_negative, false_negative;
} lt_qsvm_scores;

/* Class 1 is predicted where decision > threshold; AUC and average precision rank by decision. */
LT_API lt_status lt_qsvm_score(const uint8_t *y, const double *decision, int64_t n, double threshold, lt_qsvm_scores *out);
/* The corners of the ROC curve from (0, 0) to (1, 1): at most n + 1 points, *n_points of them filled. */
LT_API lt_status lt_qsvm_roc(const uint8_t *y, const double *decision, int64_t n, double *false_positive_rate,
                             double *true_positive_rate, int64_t *n_points);

/* Of any number of classes, by labels: means over the classes that occur, of each against the rest; the areas NaN and the
   four counts 0. confusion (n_classes, n_classes; may be NULL): rows of a class, by what was predicted. */
LT_API lt_status lt_qsvm_score_labels(const int32_t *label, const int32_t *predicted, int64_t n, int64_t n_classes, lt_qsvm_scores *out, int64_t *confusion);

typedef struct lt_qsvm_errors { double r2, rmse, mae; } lt_qsvm_errors; /* r2: 0 where all values are one */
LT_API lt_status lt_qsvm_score_values(const double *value, const double *predicted, int64_t n, lt_qsvm_errors *out);

/* ---- What a fit found -------------------------------------------------------------- */
typedef struct lt_qsvm_spread { double min, max, mean, std; } lt_qsvm_spread;

typedef struct lt_qsvm_diagnostics {  /* of the training kernel before centring */
    size_t         size;
    double         finite_fraction, frobenius, row_mean_std;
    lt_qsvm_spread all, diagonal, off_diagonal, same_class, other_class; /* the last two without the diagonal */
    double         max_asymmetry, mean_asymmetry;
    double         class_gap, class_separation; /* same - other mean; over the sum of both deviations */
    double         alignment;         /* of the centred kernel with the labels: 1 = perfect, 0 = unrelated */
    int64_t        n_eigenvalues;     /* of evenly spaced rows when there are more than 1024 */
    double         eigen_min, eigen_max, negative_fraction, negative_mass, condition;
    double         effective_rank;    /* (sum of eigenvalues)^2 / sum of their squares */
    double         largest_angle;     /* in radians */
} lt_qsvm_diagnostics;

typedef struct lt_qsvm_trial {
    double         C, gamma;          /* gamma 0: the quantum kernel */
    lt_qsvm_scores mean, std;         /* over the folds, at threshold 0 */
    double         support_fraction;  /* mean over the folds */
} lt_qsvm_trial;

typedef struct lt_qsvm_candidate {    /* of select */
    lt_embed embed_mode;
    double   angle_scale, alignment;
    int64_t  n_layers;                /* re-embedded when above 1, but for the candidate given in the options */
    bool     re_embed;
    double   f1, f1_std;              /* of cross-validation; NaN when not reached */
} lt_qsvm_candidate;

typedef struct lt_qsvm_fitted {       /* one machine */
    double         C, cost[2];        /* cost: of either class */
    double         gamma;             /* rbf */
    double         objective, bias, threshold;
    int64_t        n_support[2], iterations;
    double         support_fraction;
    bool           converged;
    lt_svm_solver  solver;
    lt_qsvm_trial  best;              /* scores of cross-validation; all NaN without */
} lt_qsvm_fitted;

typedef enum lt_qsvm_machine { LT_QSVM_QUANTUM, LT_QSVM_RBF, LT_QSVM_MACHINE_COUNT } lt_qsvm_machine;

enum { LT_QSVM_MAX_ADVICE = 12, LT_QSVM_CLASS_NAME = 64, LT_QSVM_MAX_CLASSES = 1000 };
typedef struct lt_qsvm_info {
    size_t         size;
    lt_embed       embed_mode;
    double         angle_scale;
    bool           re_embed, reduced; /* reduced: by PCA */
    lt_qsvm_range  range;             /* unit, pi or none */
    int64_t        n, n_class[2], n_features, n_qubits, n_layers, n_folds;
    char           class_name[2][LT_QSVM_CLASS_NAME];
    const char    *feature_names;     /* as in the options; NULL: none */
    bool           has_rbf;
    lt_qsvm_fitted machine[LT_QSVM_MACHINE_COUNT];
    const lt_qsvm_diagnostics *diagnostics;
    const lt_gram_info *gram;         /* of the training kernel */
    double         prepare_seconds, kernel_seconds, fit_seconds, search_seconds, select_seconds, rbf_seconds,
                   diagnose_seconds, total_seconds; /* kernel and fit: of the final machine alone */
    int            n_advice;
    char           advice[LT_QSVM_MAX_ADVICE][320];
    lt_qsvm_task   task;
    int64_t        n_classes, n_machines; /* classes: of classify; machines: one for each pair of classes, else 1 */
    const char   (*class_names)[LT_QSVM_CLASS_NAME]; /* n_classes; the first two are class_name too */
    const int64_t *class_counts;      /* n_classes: training rows; NULL of a loaded machine */
    int64_t        n_supports;        /* training rows that count in any machine */
    double         epsilon, nu;
    bool           probability, precomputed;
    const char    *circuit;           /* the map's text, or OpenQASM; NULL: layers, or precomputed */
    lt_qsvm_errors errors, errors_std; /* regress: of the best trial over the folds; NaN without */
} lt_qsvm_info;

/* ---- Machines ------------------------------------------------------------------------ */
typedef struct lt_qsvm lt_qsvm; /* opaque; one thread at a time, several handles at once */

/* dev NULL: the CPU. Borrows dev, which must outlive *out. On failure *out is NULL. */
LT_API lt_status lt_qsvm_create(lt_device *dev, const lt_qsvm_options *opt, lt_qsvm **out);
LT_API void      lt_qsvm_destroy(lt_qsvm *q);  /* NULL is allowed */

/* Learns from n rows and their labels (0 or 1, both present). Same inputs, seed, device and solver: same bits. */
LT_API lt_status lt_qsvm_fit(lt_qsvm *q, const lt_rows *x, const uint8_t *y);
/* The same of any task. n_classes of labels as in the options, each present; or values; or neither (one-class). */
typedef struct lt_qsvm_targets {
    size_t         size;
    const int32_t *label;
    const double  *value;
    const double  *weight;            /* factors of the rows' C, none negative; NULL: 1 */
} lt_qsvm_targets;
LT_API lt_status lt_qsvm_fit_targets(lt_qsvm *q, const lt_rows *x, const lt_qsvm_targets *t);
/* Decision values of new rows, which have the features of the training rows: above the threshold is class 1. */
LT_API lt_status lt_qsvm_decide(lt_qsvm *q, lt_qsvm_machine which, const lt_rows *x, double *decision);
/* The same of every machine: decision (x->n, n_machines), of the pairs (0, 1), (0, 2), ..., (1, 2), ...; above 0 the second of a
   pair gets a vote. One machine as above; of regress the values themselves; of one-class above 0 for rows like the training rows. */
LT_API lt_status lt_qsvm_decide_pairs(lt_qsvm *q, lt_qsvm_machine which, const lt_rows *x, double *decision);
/* Labels from such decision values: by votes, of equal ones the first class; of two classes by the threshold; of one-class 1 or -1. */
LT_API lt_status lt_qsvm_labels(const lt_qsvm *q, lt_qsvm_machine which, const double *decision, int64_t n, int32_t *label);
/* p (n, n_classes): sigmoids of the pairs, coupled (Wu, Lin and Weng 2004). Of the quantum machine, with options.probability. */
LT_API lt_status lt_qsvm_probabilities(const lt_qsvm *q, const double *decision, int64_t n, double *p);

/* NULL before a fit; of a loaded machine: what its file holds (no diagnostics, trials or times). */
LT_API const lt_qsvm_info *lt_qsvm_get_info(const lt_qsvm *q);
/* Valid until the next fit; NULL and 0 where there are none. */
LT_API const double            *lt_qsvm_kernel(const lt_qsvm *q, int64_t *n);         /* (n, n), before centring */
LT_API const double            *lt_qsvm_eigenvalues(const lt_qsvm *q, int64_t *n);    /* ascending */
LT_API const double            *lt_qsvm_coefficients(const lt_qsvm *q, int64_t *n);   /* y_i alpha_i of the training rows; of one machine */
/* (n, n_classes - 1) of the training rows: of a row of class c in the machine against d, at d - (d > c). One column of one machine. */
LT_API const double            *lt_qsvm_dual(const lt_qsvm *q, int64_t *n, int64_t *columns);
LT_API const double            *lt_qsvm_biases(const lt_qsvm *q, int64_t *n);         /* of the machines in order; also of a loaded one */
LT_API const double            *lt_qsvm_components(const lt_qsvm *q, int64_t *n_qubits, int64_t *n_features); /* of PCA */
LT_API const lt_qsvm_trial     *lt_qsvm_trials(const lt_qsvm *q, lt_qsvm_machine which, int64_t *n); /* by growing C */
LT_API const lt_qsvm_errors    *lt_qsvm_trial_errors(const lt_qsvm *q, lt_qsvm_machine which, int64_t *n); /* of the trials of a regression */
LT_API const lt_qsvm_candidate *lt_qsvm_candidates(const lt_qsvm *q, int64_t *n);     /* best alignment first */

/* The quantum machine as a .npz archive, whatever its name ends with. */
LT_API lt_status lt_qsvm_save(const lt_qsvm *q, const char *path);
/* Everything in the file is checked; LT_ERR_FORMAT says what is wrong. dev as for create. */
LT_API lt_status lt_qsvm_load(lt_device *dev, const char *path, lt_qsvm **out);

/* ---- Synthetic images ----------------------------------------------------------------- */
enum { LT_QSVM_IMAGES = 800, LT_QSVM_PIXELS = 256 };
/* Bars against rings (easy) or whole rings against open ones (hard), 16 x 16 with noise, from a fixed generator:
   x (LT_QSVM_IMAGES, LT_QSVM_PIXELS), y 0, 1, 0, 1, …; the first half is for training, the second for tests. */
LT_API void lt_qsvm_synthetic(bool hard, double *x, uint8_t *y);
/* The weights that go with them: W[l][k] = 0.05 ((3l + 5k) mod 7 - 3). */
LT_API void lt_qsvm_synthetic_weights(int64_t n_layers, int64_t n_qubits, double *weights);

#ifdef __cplusplus
}
#endif
#endif
