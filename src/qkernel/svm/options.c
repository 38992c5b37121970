/* The options of the pipeline: one row each. SPDX-License-Identifier: BSD-3-Clause */
#include "lathe/qsvm.h"

#include "base/sized.h"
#include "base/status.h"

static const char *const range_names[] = { "auto", "unit", "pi", "none", NULL };
static const char *const solver_names[] = { "auto", "libsvm", "smo", NULL };
static const char *const task_names[] = { "classify", "regress", "one-class", NULL };
_Static_assert(LT_LEN(task_names) == LT_QSVM_TASK_COUNT + 1, "one name per task");
_Static_assert(LT_LEN(range_names) == LT_QSVM_RANGE_COUNT + 1, "one name per range");
_Static_assert(LT_LEN(solver_names) == LT_SVM_SOLVER_COUNT + 1, "one name per solver");

const char *lt_qsvm_task_name(lt_qsvm_task t) { return (unsigned)t < LT_QSVM_TASK_COUNT ? task_names[t] : "?"; }
const char *lt_qsvm_range_name(lt_qsvm_range r) { return (unsigned)r < LT_QSVM_RANGE_COUNT ? range_names[r] : "?"; }
const char *lt_svm_solver_name(lt_svm_solver s) { return (unsigned)s < LT_SVM_SOLVER_COUNT ? solver_names[s] : "?"; }

#define Q lt_qsvm_options
static const lt_option rows[] = {
    LT_OPTION_INT(Q, n_qubits, "qubits", "0", LT_RANGE_CLOSED(0, 4096), "Q", "principal components, one qubit each; 0 = one per feature up to 16, else 16"),
    LT_OPTION_INT(Q, n_layers, "layers", "0", LT_RANGE_CLOSED(0, 1024), "L", "layers; 0 = all of the weights given, or 2"),
    LT_OPTION_REAL(Q, weight_std, "weight-std", "0.1", LT_AT_LEAST(0), "S", "deviation of drawn weights"),
    LT_OPTION_ENUM(Q, range, "range", "auto", range_names, "where training features are scaled to: [0, 1], [0, pi], or left alone; auto: pi for angle"),
    LT_OPTION_BOOL(Q, center, "center", "false", "centre the kernel"),
    LT_OPTION_REAL(Q, C, "c", NULL, LT_ABOVE(0), "C", "regularisation; searched when not given"),
    LT_OPTION_REAL(Q, C_low, "c-low", "0.1", LT_ABOVE(0), "C", "lower end of the search"),
    LT_OPTION_REAL(Q, C_high, "c-high", "100", LT_ABOVE(0), "C", "upper end of the search"),
    LT_OPTION_INT(Q, n_trials, "trials", "15", LT_RANGE_CLOSED(1, 10000), "N", "values tried"),
    LT_OPTION_INT(Q, n_folds, "folds", "3", LT_RANGE_CLOSED(0, 1000), "K", "folds of cross-validation; 0 = none, which needs --c"),
    LT_OPTION_BOOL(Q, balanced, "balanced", "true", "weigh classes by n / (2 n_c)"),
    LT_OPTION_REAL(Q, class_weight[0], "weight-0", "1", LT_ABOVE(0), "W", "further weight of the first class"),
    LT_OPTION_REAL(Q, class_weight[1], "weight-1", "1", LT_ABOVE(0), "W", "further weight of the second class"),
    LT_OPTION_REAL(Q, tolerance, "tolerance", "1e-4", LT_RANGE_CLOSED(1e-14, 1), "T", "of the optimality conditions"),
    LT_OPTION_INT(Q, max_iterations, "max-iterations", "0", LT_AT_LEAST(0), "N", "of the solver smo; 0 = the larger of 10^7 and 100 rows"),
    LT_OPTION_ENUM(Q, solver, "solver", "auto", solver_names, "LIBSVM, or the own one in double precision; auto: libsvm where built in"),
    LT_OPTION_BOOL(Q, tune_threshold, "tune-threshold", "false", "cut decision values where held-out rows have the best F1, not at 0"),
    LT_OPTION_BOOL(Q, select, "select", "false", "choose embedding, angle scale and layers by alignment, then cross-validation"),
    LT_OPTION_BOOL(Q, compare_rbf, "compare-rbf", "false", "the same rows and folds with a Gaussian kernel"),
    LT_OPTION_ENUM(Q, task, "task", "classify", task_names, "classes, numbers (epsilon-SVR), or which rows are like the training rows"),
    LT_OPTION_REAL(Q, epsilon, "epsilon", "0.1", LT_AT_LEAST(0), "E", "regress: errors up to it cost nothing"),
    LT_OPTION_REAL(Q, nu, "nu", "0.5", LT_RANGE_OPEN_LO(0, 1), "NU", "one-class: at most this share of the training rows lies outside"),
    LT_OPTION_BOOL(Q, probability, "probability", "false", "probabilities of classes, by sigmoids from folds of their own and pairwise coupling"),
    LT_OPTION_INT(Q, seed, "seed", "0", LT_AT_LEAST(0), "N", "seed of weights, folds and trials"),
};
#undef Q
static const lt_option_group groups[] = { { .rows = rows, .n_rows = LT_LEN(rows) } };
static const lt_option_table table = { .program = "qsvm", .summary = "Options of support vector machines", .groups = groups, .n_groups = 1 };

const lt_option_table *lt_qsvm_options_table(void) { return &table; }

void lt_qsvm_defaults_into(lt_qsvm_options *out)
{
    lt_qsvm_options opt = { .size = sizeof opt };
    (void)lt_options_defaults(&table, &opt); /* fails only on a bad row, which a test would show */
    LT_GIVE(out, &opt);
}
