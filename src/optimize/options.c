/* The solver's options: one row each, from which come defaults, checks, help and command lines.
   SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/solver.h"

#include "base/options.h"
#include "base/status.h"

#include <math.h>
#include <string.h>

#define BOOL(field, def, ...) LT_OPTION_BOOL(lt_solve_options, field, #field, def, __VA_ARGS__)
/* Not through LT_OPTION_INT: a range expands to a list whose commas would part its arguments. */
#define INT(field, def, range_, help_)                                                                \
    { .name = #field, .type = LT_OPTION_TYPE_INT, LT_OPTION_FIELD_(lt_solve_options, field),           \
      .default_text = def, .range = range_, .metavar = "N", .help = help_ }
#define REAL(field, def, range_, help_)                                                               \
    { .name = #field, .type = LT_OPTION_TYPE_REAL, LT_OPTION_FIELD_(lt_solve_options, field),          \
      .default_text = def, .range = range_, .metavar = "X", .help = help_ }

static const char *const qp_names[] = { "native", "osqp", "gurobi", NULL };
static const char *const mode_names[] = { "default", "eager", "reduce-overhead", "max-autotune", NULL };
static const char *const place_names[] = { "auto", "host", "device", NULL };
static const char *const gradient_names[] = { "auto", "on-demand", "always", NULL };

#define ANY_POSITIVE LT_RANGE_OPEN_LO(0, INFINITY)
#define NOT_NEGATIVE LT_RANGE_CLOSED(0, INFINITY)
#define FRACTION LT_RANGE_OPEN(0, 1)

static const lt_option start_rows[] = {
    LT_OPTION_PATH(lt_solve_options, x0_file, "x0", NULL, "FILE.npy", "start; standard normal when there is none"),
    REAL(mu0, "1", LT_AT_LEAST(0), "first penalty parameter"),
    LT_OPTION_PATH(lt_solve_options, H0_file, "H0", NULL, "FILE.npy", "first inverse-Hessian approximation, n x n"),
    BOOL(checkH0, "true", "refuse an H0 that is not positive definite"),
    BOOL(scaleH0, "true", "scale H0 at the first update"),
    INT(seed, "0", LT_AT_LEAST(0), "of drawn starts and random directions"),
};
static const lt_option hessian_rows[] = {
    REAL(bfgs_damping, "1e-4", LT_RANGE_CLOSED(0, 1), "damping of the update; 0 = none"),
    INT(limited_mem_size, "0", LT_AT_LEAST(0), "pairs of limited-memory BFGS; 0 = full memory"),
    BOOL(limited_mem_fixed_scaling, "true", "keep the first scaling for the whole run"),
    LT_OPTION_PATH(lt_solve_options, warm_start_file, "limited_mem_warm_start", NULL, "FILE.npz",
                   "limited-memory state to start from: S, Y, rho, gamma"),
    REAL(regularize_threshold, "inf", LT_RANGE_CLOSED(1, INFINITY), "condition number allowed for H in the QPs"),
    BOOL(regularize_max_eigenvalues, "false", "lower large eigenvalues instead of raising small ones"),
};
static const lt_option stop_rows[] = {
    REAL(opt_tol, "1e-8", NOT_NEGATIVE, "stationarity at which a feasible point is accepted"),
    INT(opt_patience, "0", LT_AT_LEAST(0), "after opt_tol is met, go on until so many steps in a row lower f by less than opt_tol; 0 = stop at once"),
    REAL(rel_tol, "0", NOT_NEGATIVE, "relative change of the penalty function that ends the run"),
    REAL(step_tol, "1e-12", ANY_POSITIVE, "relative width at which a line search gives up its bracket"),
    REAL(viol_ineq_tol, "1e-6", NOT_NEGATIVE, "violation allowed, inequalities"),
    REAL(viol_eq_tol, "1e-6", NOT_NEGATIVE, "violation allowed, equalities"),
    INT(maxit, "1000", LT_AT_LEAST(1), "accepted steps"),
    REAL(maxclocktime, "inf", ANY_POSITIVE, "seconds"),
    REAL(fvalquit, "-inf", LT_RANGE_CLOSED(-INFINITY, INFINITY), "value of f at a feasible point that is good enough; with maximize, one to reach from below"),
    BOOL(halt_on_quadprog_error, "false", "stop with code 12 when a QP fails"),
    BOOL(halt_on_linesearch_bracket, "true", "stop with code 6 when a search fails at a feasible point"),
};
static const lt_option direction_rows[] = {
    INT(min_fallback_level, "0", LT_RANGE_CLOSED(0, 4), "first kind of direction tried"),
    INT(max_fallback_level, "3", LT_RANGE_CLOSED(0, 4), "last kind of direction tried; 4 = random"),
    INT(max_random_attempts, "5", LT_AT_LEAST(1), "random directions per iteration"),
    BOOL(steering_l1_model, "true", "l1 model of the violation in steering; else the largest"),
    REAL(steering_ineq_margin, "1e-6", NOT_NEGATIVE, "no steering when every inequality holds by more"),
    INT(steering_maxit, "10", LT_AT_LEAST(1), "reductions of mu per iteration"),
    REAL(steering_c_viol, "0.1", FRACTION, "share of the possible violation decrease asked for"),
    REAL(steering_c_mu, "0.9", FRACTION, "factor of one reduction of mu"),
    BOOL(search_direction_rescaling, "false", "unit-norm directions"),
    LT_OPTION_ENUM(lt_solve_options, QPsolver, "QPsolver", "native", qp_names, "solver of the quadratic programs"),
    REAL(qp_tol, "1e-12", LT_RANGE_OPEN(0, 1), "accuracy of the quadratic programs"),
};
static const lt_option search_rows[] = {
    REAL(wolfe1, "1e-4", LT_RANGE_CLOSED(0, 0.5), "sufficient decrease"),
    REAL(wolfe2, "0.5", LT_RANGE_OPEN_HI(0, 1), "slope condition; at least wolfe1"),
    INT(linesearch_nondescent_maxit, "0", LT_AT_LEAST(0), "evaluations along a direction that does not descend"),
    INT(linesearch_reattempts, "0", LT_AT_LEAST(0), "reductions of mu when a search finds no bracket"),
    INT(linesearch_reattempts_x0, "10", LT_AT_LEAST(0), "the same in the first iteration"),
    REAL(linesearch_c_mu, "0.5", FRACTION, "factor of one such reduction"),
    REAL(linesearch_c_mu_x0, "0.5", FRACTION, "the same in the first iteration"),
    REAL(init_step_size, "1", ANY_POSITIVE, "first step tried"),
    REAL(linesearch_maxit, "inf", NOT_NEGATIVE, "evaluations per line search"),
    INT(ls_eval_cap, "100", LT_AT_LEAST(1), "evaluations per line search when linesearch_maxit is inf"),
    BOOL(is_backtrack_linesearch, "false", "only shrink, without the slope condition"),
    BOOL(disable_terminationcode_6, "false", "move on when the last search fails"),
};
static const lt_option measure_rows[] = {
    INT(ngrad, NULL, LT_AT_LEAST(1), "gradients kept for stationarity (default min(100, 2n, n+10))"),
    REAL(evaldist, "1e-4", ANY_POSITIVE, "distance within which old gradients count"),
    BOOL(stat_l2_model, "true", "2-norm of the stationarity vector; else its largest entry"),
};
static const lt_option function_rows[] = {
    REAL(prescaling_threshold, "inf", ANY_POSITIVE, "scale functions whose gradient at x0 is longer"),
    BOOL(globalAD, "true", "gradients come from the problem's graph; false: from its function"),
    BOOL(double_precision, "true", "float64 state; false: every number kept is rounded to float32"),
    BOOL(precision_mixed, "false", "graphs over f32 variables keep their tensors in 16 bits"),
    LT_OPTION_STRING(lt_solve_options, torch_device, "torch_device", "cpu", "NAME", "where the functions are evaluated: cpu, cuda[:i], null, auto"),
    LT_OPTION_ENUM(lt_solve_options, compile_mode, "compile_mode", "default", mode_names, "how graphs are compiled"),
    LT_OPTION_ENUM(lt_solve_options, gradients, "gradients", "auto", gradient_names, "when gradients are computed"),
    INT(num_threads, "0", LT_RANGE_CLOSED(0, 4096), "threads of the library; 0 = as it is"),
    BOOL(qp_warm_start, "true", "start QPs from the previous active set"),
    BOOL(incremental_products, "true", "carry products with H from one iteration to the next"),
    BOOL(blocked_lbfgs, "true", "limited memory: all right-hand sides at once"),
    BOOL(in_place_bfgs, "true", "full memory: update H where it lies; else in a copy, looked through before it is taken"),
    INT(compat, "0", LT_RANGE_CLOSED(0, 1), "1 = follow the reference in its known slips"),
};
static const lt_option device_rows[] = {
    BOOL(pinned_transfers, "true", "exchange through page-locked memory"),
    INT(pin_max_bytes, "100000000", LT_AT_LEAST(0), "bytes page-locked in one piece at most; larger ones stay pageable"),
    BOOL(async_transfers, "true", "copies and kernels in one queue, one wait; else a wait after each"),
    BOOL(direct_assembly, "true", "results arrive where the solver reads them; else they are copied there"),
    BOOL(captured_evaluation, "true", "an evaluation is one captured sequence; else its kernels are launched one by one"),
    BOOL(small_by_kernel, "true", "a kernel moves what is small through page-locked memory; else copies do"),
    LT_OPTION_ENUM(lt_solve_options, hessian_on, "hessian_on", "auto", place_names, "where H lives when the functions run on a device"),
    LT_OPTION_ENUM(lt_solve_options, vectors_on, "vectors_on", "auto", place_names, "where vectors live when H is on a device"),
    INT(trials_at_once, "0", LT_RANGE_CLOSED(0, 8), "values of so many steps of a line search together on a device, once searches take several; 0 = four, as long as that pays"),
    BOOL(time_function, "false", "time the kernels of an evaluation alone, for reports"),
};
static const lt_option print_rows[] = {
    INT(print_level, "1", LT_RANGE_CLOSED(0, 3), "0 nothing, 1 rows, 2 searches and skipped updates, 3 QPs"),
    REAL(print_frequency, "1", LT_RANGE_CLOSED(1, INFINITY), "print every N-th row"),
    INT(print_width, "14", LT_RANGE_CLOSED(9, 23), "characters for the values of f and phi"),
    BOOL(print_ascii, "false", "plain borders, no colour"),
    BOOL(print_use_orange, "true", "colour for notices and fallbacks"),
    BOOL(prescaling_info_msg, "true", "print what was scaled"),
    BOOL(quadprog_info_msg, "true", "print the notice on the QP solver"),
    BOOL(debug_mode, "false", "stop at the first internal inconsistency with code 13"),
    LT_OPTION_PATH(lt_solve_options, profile, "profile", NULL, "FILE.json", "write a Chrome trace of the run"),
};
static const lt_option checkpoint_rows[] = {
    LT_OPTION_PATH(lt_solve_options, checkpoint, "checkpoint", NULL, "FILE", "save the state of the run here"),
    INT(checkpoint_every, "50", LT_AT_LEAST(0), "iterations between checkpoints; 0 = by time only"),
    REAL(checkpoint_seconds, "60", ANY_POSITIVE, "seconds between checkpoints"),
    LT_OPTION_PATH(lt_solve_options, resume, "resume", NULL, "FILE", "go on from a checkpoint"),
};

#define GROUP(title_, rows_) { .title = title_, .rows = rows_, .n_rows = (int)LT_LEN(rows_) }
static const lt_option_group groups[] = {
    GROUP("Start", start_rows), GROUP("Stopping", stop_rows), GROUP("Directions", direction_rows),
    GROUP("Line search", search_rows), GROUP("Hessian", hessian_rows), GROUP("Stationarity", measure_rows),
    GROUP("Functions", function_rows), GROUP("Devices", device_rows), GROUP("Printing", print_rows), GROUP("Checkpoints", checkpoint_rows),
};
static const lt_option_table table = {
    .program = "lathe solve", .summary = "Options of the optimizer.", .groups = groups, .n_groups = (int)LT_LEN(groups), .listed_by = "'lathe explain'",
};

const lt_option_table *lt_solve_options_table(void) { return &table; }

lt_solve_options lt_solve_options_defaults(void) { return (lt_solve_options){ LT_SOLVE_DEFAULTS }; }

lt_status lt_solve_options_set(lt_solve_options *opt, const char *name, const char *value)
{
    if (!opt || !name || !value) return LT_FAIL(LT_ERR_ARGUMENT, "solve options: an argument is NULL");
    if (!strcmp(name, "halt_log_fn"))
        return LT_FAIL(LT_ERR_ARGUMENT, "option 'halt_log_fn' is a function: a program sets it in lt_solve_options");
    size_t base;
    int64_t number;
    const lt_option *row = lt_options_find(&table, name, &base);
    /* Programs written for other solvers set switches to numbers. */
    if (row && row->type == LT_OPTION_TYPE_BOOL && lt_text_int(value, &number)) value = number ? "true" : "false";
    return lt_options_set(&table, name, value, opt);
}

/* ---- Checks ---------------------------------------------------------------------------------- */
static bool row_value(const lt_option *row, const void *field, double *value)
{
    switch (row->type) {
    case LT_OPTION_TYPE_INT:
        *value = row->size == sizeof(int) ? *(const int *)field : (double)*(const int64_t *)field;
        return true;
    case LT_OPTION_TYPE_REAL: *value = *(const double *)field; return true;
    case LT_OPTION_TYPE_ENUM: *value = *(const int *)field; return true;
    default: return false;
    }
}

static bool allowed(const lt_option *row, double v)
{
    if (row->type == LT_OPTION_TYPE_ENUM) {
        int n = 0;
        while (row->names[n]) n++;
        return v >= 0 && v < n;
    }
    const lt_range *r = &row->range;
    return (r->lo_open ? v > r->lo : v >= r->lo) && (r->hi_open ? v < r->hi : v <= r->hi);
}

static bool whole(double v) { return isinf(v) || v == floor(v); }

lt_status lt_solve_options_check(const lt_solve_options *opt)
{
    if (!opt) return LT_FAIL(LT_ERR_ARGUMENT, "solve options: NULL");
    for (int g = 0; g < table.n_groups; g++)
        for (int i = 0; i < groups[g].n_rows; i++) {
            const lt_option *row = &groups[g].rows[i];
            double v;
            if (!row_value(row, (const char *)opt + row->offset, &v) || allowed(row, v)) continue;
            if (!strcmp(row->name, "ngrad") && v == 0) continue; /* 0: chosen from n */
            char expected[128];
            lt_option_expects(row, expected, sizeof expected);
            return LT_FAIL(LT_ERR_ARGUMENT, "option '%s' is %.15g: expected %s", row->name, v, expected);
        }
    if (opt->wolfe2 < opt->wolfe1)
        return LT_FAIL(LT_ERR_ARGUMENT, "option 'wolfe2' is %g: expected at least wolfe1 = %g", opt->wolfe2, opt->wolfe1);
    if (!whole(opt->print_frequency))
        return LT_FAIL(LT_ERR_ARGUMENT, "option 'print_frequency' is %g: expected a whole number or inf", opt->print_frequency);
    if (!whole(opt->linesearch_maxit))
        return LT_FAIL(LT_ERR_ARGUMENT, "option 'linesearch_maxit' is %g: expected a whole number or inf", opt->linesearch_maxit);
    if (opt->QPsolver != LT_SOLVE_QP_NATIVE)
        return LT_FAIL(LT_ERR_ARGUMENT, "option 'QPsolver' is %s, which this build has no adapter for: expected native", qp_names[opt->QPsolver]);
    if ((opt->limited_mem_warm_start || opt->warm_start_file) && !opt->limited_mem_size)
        return LT_FAIL(LT_ERR_ARGUMENT, "option 'limited_mem_warm_start' is given, but limited_mem_size is 0: expected at least 1");
    if (opt->H0_diagonal && !opt->limited_mem_size)
        return LT_FAIL(LT_ERR_ARGUMENT, "H0_diagonal is given, but limited_mem_size is 0: full memory takes H0, n x n");
    if (!opt->torch_device) return LT_FAIL(LT_ERR_ARGUMENT, "option 'torch_device' is NULL: expected a device name");
    return LT_OK;
}
