/* The solver's options: one row each, from which come defaults, checks, help and command lines.
   SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/options.h"

#include "base/options.h"
#include "base/sized.h"
#include "base/status.h"

#include <math.h>
#include <string.h>

#define BOOL(field, def, ...) LT_OPTION_BOOL(lt_solve_options, field, #field, def, __VA_ARGS__)
/* Not through LT_OPTION_INT: a range expands to a list whose commas would part its arguments. */
#define INT(field, def, range_, ...)                                                                \
    { .name = #field, .type = LT_OPTION_TYPE_INT, LT_OPTION_FIELD_(lt_solve_options, field),           \
      .default_text = def, .range = range_, .metavar = "N", .help = __VA_ARGS__ }
#define REAL(field, def, range_, ...)                                                               \
    { .name = #field, .type = LT_OPTION_TYPE_REAL, LT_OPTION_FIELD_(lt_solve_options, field),          \
      .default_text = def, .range = range_, .metavar = "X", .help = __VA_ARGS__ }

static const char *const mode_names[] = { "default", "eager", "reduce-overhead", "max-autotune", NULL };
static const char *const place_names[] = { "auto", "host", "device", NULL };
static const char *const honor_names[] = { "auto", "true", "false", NULL };
static const char *const jacobian_names[] = { "auto", "dense", "sparse", NULL };
static const char *const gradient_names[] = { "auto", "on-demand", "always", NULL };

#define ANY_POSITIVE LT_RANGE_OPEN_LO(0, INFINITY)
#define NOT_NEGATIVE LT_RANGE_CLOSED(0, INFINITY)
#define FRACTION LT_RANGE_OPEN(0, 1)

static const lt_option start_rows[] = {
    LT_OPTION_PATH(lt_solve_options, x0_file, "x0", NULL, "FILE",
                   "start: packed variables (.npy), or the result of another run with its mu, H and multipliers (.json of --json, .npz of --out); "
                   "standard normal when there is none"),
    REAL(mu0, "1", LT_AT_LEAST(0), "first penalty parameter; at its default, that of an x0 file which has one"),
    LT_OPTION_PATH(lt_solve_options, H0_file, "H0", NULL, "FILE.npy", "first inverse-Hessian approximation, n x n"),
    BOOL(check_H0, "true", "refuse an H0 that is not positive definite", .alias = "checkH0"),
    BOOL(scale_H0, "true", "scale H0 at the first update", .alias = "scaleH0"),
    LT_OPTION_ENUM(lt_solve_options, honor_bounds, "honor_bounds", "auto", honor_names,
                   "bounds outside of which no point is evaluated, the start moved inside: auto, those that were declared (in, AMPL), and below 256 "
                   "variables inequalities of one variable where the start satisfies them all; true, these always; false, none: constraints like others"),
    INT(seed, "0", LT_AT_LEAST(0), "of drawn starts and random directions"),
};
static const lt_option hessian_rows[] = {
    REAL(bfgs_damping, "-1", LT_RANGE_CLOSED(-1, 1), "damping of updates by a share of s'Hs, as PyGRANSO has it; 0 = none; -1 = 1e-4 with compat=1, else none"),
    BOOL(lagrangian_updates, "true",
         "H learns from the gradient of the Lagrangian, and steps of steering are never longer than first_step; false, and always with compat=1: "
         "from that of the penalty function"),
    INT(lbfgs_pairs, "0", LT_AT_LEAST(0), "pairs of limited-memory BFGS; 0 = full memory", .alias = "limited_mem_size"),
    BOOL(lbfgs_fixed_scaling, "true", "keep the first scaling for the whole run", .alias = "limited_mem_fixed_scaling"),
    LT_OPTION_PATH(lt_solve_options, lbfgs_state_file, "lbfgs_state", NULL, "FILE.npz",
                   "limited-memory state to start from: S, Y, rho, gamma", .alias = "limited_mem_warm_start"),
    REAL(condition_limit, "inf", LT_RANGE_CLOSED(1, INFINITY), "condition number allowed for H in the QPs", .alias = "regularize_threshold"),
    BOOL(clip_large_eigenvalues, "false", "lower large eigenvalues instead of raising small ones", .alias = "regularize_max_eigenvalues"),
};
static const lt_option stop_rows[] = {
    REAL(stationarity_tol, "1e-8", NOT_NEGATIVE, "stationarity at which a feasible point is accepted", .alias = "opt_tol"),
    REAL(kkt_tol, "1e-6", NOT_NEGATIVE,
         "code 0 also asks for a KKT residual of at most this (or stationarity_tol, if larger), in which mu and H take no part; inf = it does not"),
    INT(patience, "2", LT_AT_LEAST(0),
        "after stationarity_tol is met, go on until this many steps in a row lower f by less than stationarity_tol; 0, and always with compat=1: "
        "stop at once", .alias = "opt_patience"),
    REAL(decrease_tol, "0", NOT_NEGATIVE, "relative change of the penalty function that ends the run", .alias = "rel_tol"),
    REAL(bracket_tol, "1e-12", ANY_POSITIVE, "relative width at which a line search gives up its bracket", .alias = "step_tol"),
    REAL(inequality_tol, "1e-6", NOT_NEGATIVE, "violation allowed, inequalities", .alias = "viol_ineq_tol"),
    REAL(equality_tol, "1e-6", NOT_NEGATIVE, "violation allowed, equalities", .alias = "viol_eq_tol"),
    INT(max_iterations, "1000", LT_AT_LEAST(1), "accepted steps", .alias = "maxit"),
    REAL(max_seconds, "inf", ANY_POSITIVE, "seconds", .alias = "maxclocktime"),
    REAL(target_f, "-inf", LT_RANGE_CLOSED(-INFINITY, INFINITY),
         "value of f at a feasible point that is good enough; with maximize, one to reach from below", .alias = "fvalquit"),
    BOOL(stop_on_qp_failure, "false", "stop with code 12 when a QP fails", .alias = "halt_on_quadprog_error"),
    BOOL(stop_on_bracket_failure, "true", "stop with code 6 when a search fails at a feasible point", .alias = "halt_on_linesearch_bracket"),
};
static const lt_option direction_rows[] = {
    INT(first_fallback, "0", LT_RANGE_CLOSED(0, 4), "first kind of direction tried", .alias = "min_fallback_level"),
    INT(last_fallback, "3", LT_RANGE_CLOSED(0, 4), "last kind of direction tried; 4 = random", .alias = "max_fallback_level"),
    INT(random_directions, "5", LT_AT_LEAST(1), "random directions per iteration", .alias = "max_random_attempts"),
    BOOL(steering_l1_model, "true", "l1 model of the violation in steering; else the largest"),
    REAL(steering_margin, "1e-6", NOT_NEGATIVE, "no steering when every inequality holds by more", .alias = "steering_ineq_margin"),
    INT(steering_reductions, "10", LT_AT_LEAST(1), "reductions of mu per iteration", .alias = "steering_maxit"),
    REAL(steering_share, "0.1", FRACTION, "share of the possible violation decrease asked for", .alias = "steering_c_viol"),
    REAL(steering_factor, "0.9", FRACTION, "factor of one reduction of mu", .alias = "steering_c_mu"),
    INT(steering_halvings, "10", LT_AT_LEAST(0), "further reductions of mu per iteration, each to a half, where these did not do; 0, and always with compat=1: none"),
    BOOL(unit_directions, "false", "unit-norm directions", .alias = "search_direction_rescaling"),
    REAL(qp_tol, "1e-12", LT_RANGE_OPEN(0, 1), "accuracy of the quadratic programs"),
};
static const lt_option recovery_rows[] = {
    INT(recoveries, "30", LT_AT_LEAST(0), "attempts per run to go on where it would end without a certified point; 0 = none"),
    BOOL(recover_H, "true", "one attempt: H begins anew"),
    BOOL(recover_mu, "true", "one attempt: mu is raised where the KKT residual is large, lowered where phi falls without end or the violation stays"),
    BOOL(recover_samples, "true", "one attempt: gradients at random points near x, of which the shortest combination is searched"),
    BOOL(recover_scales, "true", "one attempt: H begins anew with scales of the variables from the gradients at hand, where one is shorter than before by a factor of 1e4"),
    INT(recover_start, "30", LT_AT_LEAST(0), "points tried around a start where gradients balance (a tie, a saddle, a maximum); the lowest, where it is lower, is the first step; 0 = none"),
};
static const lt_option search_rows[] = {
    REAL(wolfe_decrease, "1e-4", LT_RANGE_CLOSED(0, 0.5), "sufficient decrease", .alias = "wolfe1"),
    REAL(wolfe_slope, "0.5", LT_RANGE_OPEN_HI(0, 1), "slope condition; at least wolfe_decrease", .alias = "wolfe2"),
    INT(nondescent_evals, "0", LT_AT_LEAST(0), "evaluations along a direction that does not descend", .alias = "linesearch_nondescent_maxit"),
    INT(search_retries, "0", LT_AT_LEAST(0), "reductions of mu when a search finds no bracket", .alias = "linesearch_reattempts"),
    INT(search_retries_at_start, "10", LT_AT_LEAST(0), "the same in the first iteration", .alias = "linesearch_reattempts_x0"),
    REAL(search_retry_factor, "0.5", FRACTION, "factor of one such reduction", .alias = "linesearch_c_mu"),
    REAL(search_retry_factor_at_start, "0.5", FRACTION, "the same in the first iteration", .alias = "linesearch_c_mu_x0"),
    REAL(first_step, "1", ANY_POSITIVE, "first step tried", .alias = "init_step_size"),
    REAL(search_evals, "inf", NOT_NEGATIVE, "evaluations per line search", .alias = "linesearch_maxit"),
    INT(search_evals_cap, "100", LT_AT_LEAST(1), "evaluations per line search when search_evals is inf", .alias = "ls_eval_cap"),
    BOOL(correct_steps, "true", "a whole step that fails is corrected once for the curvature of the constraints; with lagrangian_updates only, and never with compat=1"),
    BOOL(backtracking, "false", "only shrink, without the slope condition", .alias = "is_backtrack_linesearch"),
    BOOL(go_on_after_bracket_failure, "false", "move on when the last search fails", .alias = "disable_terminationcode_6"),
};
static const lt_option measure_rows[] = {
    INT(max_samples, NULL, LT_AT_LEAST(1), "gradients kept for stationarity (default min(100, 2n, n+10))", .alias = "ngrad"),
    REAL(sample_radius, "1e-4", ANY_POSITIVE, "distance within which old gradients count", .alias = "evaldist"),
    BOOL(stationarity_l2, "true", "2-norm of the stationarity vector; else its largest entry", .alias = "stat_l2_model"),
};
static const lt_option function_rows[] = {
    BOOL(scale_functions, "true",
         "with constraints, functions whose gradient at x0 is long for the variables' scales are divided by a power of two inside of the run; "
         "values, violations and multipliers stay in your units, mu and phi are of the scaled functions; not with mu0 or prescale_above, never "
         "with compat=1"),
    BOOL(scale_variables, "true",
         "the first H has the scales of the variables, by x0 and the widths of kept bounds, where these differ by ten times; full memory only, not "
         "with an H0, never with compat=1"),
    REAL(prescale_above, "inf", ANY_POSITIVE, "scale functions whose gradient at x0 is longer", .alias = "prescaling_threshold"),
    BOOL(graph_gradients, "true", "gradients come from the problem's graph; false: from its function", .alias = "globalAD"),
    BOOL(double_precision, "true", "float64 state; false: every number kept is rounded to float32"),
    BOOL(mixed_precision, "false", "graphs over f32 variables keep their tensors in 16 bits", .alias = "precision_mixed"),
    LT_OPTION_STRING(lt_solve_options, device_name, "device_name", "cpu", "NAME",
                     "where the functions are evaluated: cpu, cuda[:i], null, auto; for many starts and sweeps several, as cuda:0,cuda:1",
                     .alias = "torch_device"),
    LT_OPTION_ENUM(lt_solve_options, compile_mode, "compile_mode", "default", mode_names, "how graphs are compiled"),
    LT_OPTION_ENUM(lt_solve_options, gradients, "gradients", "auto", gradient_names, "when gradients are computed"),
    LT_OPTION_ENUM(lt_solve_options, jacobian, "jacobian", "auto", jacobian_names,
                   "gradients of constraints: dense, or sparse all the way through the QPs, with lbfgs_pairs=20 where it is 0 and without samples; "
                   "auto, sparse where dense ones would take 64 MiB and few entries can be other than zero"),
    INT(threads, "0", LT_RANGE_CLOSED(0, 4096), "threads of the library; 0 = as it is", .alias = "num_threads"),
    INT(compat, "0", LT_RANGE_CLOSED(0, 1), "1 = follow the reference in its known slips"),
};
static const lt_option device_rows[] = {
    INT(pin_max_bytes, "100000000", LT_AT_LEAST(0), "bytes page-locked in one piece at most; larger ones stay pageable"),
    LT_OPTION_ENUM(lt_solve_options, hessian_on, "hessian_on", "auto", place_names, "where H lives when the functions run on a device"),
    LT_OPTION_ENUM(lt_solve_options, vectors_on, "vectors_on", "auto", place_names, "where vectors live when H is on a device"),
    INT(trials_at_once, "0", LT_RANGE_CLOSED(0, 8),
        "how many steps of a line search a device computes values of together, once searches take several; 0 = four, as long as that pays"),
};
static const lt_option print_rows[] = {
    INT(print_level, "1", LT_RANGE_CLOSED(0, 3), "0 nothing, 1 rows, 2 searches and skipped updates, 3 QPs"),
    REAL(print_every, "1", LT_RANGE_CLOSED(1, INFINITY), "print every N-th row", .alias = "print_frequency"),
    INT(print_width, "14", LT_RANGE_CLOSED(9, 23), "characters for the values of f and phi"),
    BOOL(print_ascii, "false", "plain borders, no colour"),
    BOOL(print_color, "true", "colour for notices and fallbacks", .alias = "print_use_orange"),
    BOOL(print_prescaling, "true", "print what was scaled", .alias = "prescaling_info_msg"),
    BOOL(print_qp_notice, "true", "print the notice on the QP solver", .alias = "quadprog_info_msg"),
    BOOL(check_internals, "false", "stop at the first internal inconsistency with code 13", .alias = "debug_mode"),
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
    GROUP("Line search", search_rows), GROUP("Recovery", recovery_rows), GROUP("Hessian", hessian_rows), GROUP("Stationarity", measure_rows),
    GROUP("Functions", function_rows), GROUP("Devices", device_rows), GROUP("Printing", print_rows), GROUP("Checkpoints", checkpoint_rows),
};
static const lt_option_table table = {
    .program = "lathe solve", .summary = "Options of the optimizer.", .groups = groups, .n_groups = (int)LT_LEN(groups), .listed_by = "'lathe explain'",
};

const lt_option_table *lt_solve_options_table(void) { return &table; }

void lt_solve_defaults_into(lt_solve_options *out)
{
    lt_solve_options opt = { .size = sizeof opt };
    (void)lt_options_defaults(&table, &opt); /* fails only on a bad row, which a test would show */
    LT_GIVE(out, &opt);
}

/* Between -1, which asks for the default, and 0 there is nothing. */
static lt_status check_damping(const lt_solve_options *opt)
{
    if (!(opt->bfgs_damping < 0) || opt->bfgs_damping == -1) return LT_OK;
    return LT_FAIL(LT_ERR_ARGUMENT, "option 'bfgs_damping' is %g: expected a number in [0, 1], or -1", opt->bfgs_damping);
}

lt_status lt_solve_options_set(lt_solve_options *opt, const char *name, const char *value)
{
    if (!opt || !name || !value) return LT_FAIL(LT_ERR_ARGUMENT, "solve options: an argument is NULL");
    LT_TRY(LT_CHECK_SIZE(lt_solve_options, opt));
    if (!strcmp(name, "iterate_fn") || !strcmp(name, "halt_log_fn"))
        return LT_FAIL(LT_ERR_ARGUMENT, "option '%s' is a function: a program sets it in lt_solve_options", name);
    size_t base;
    int64_t number;
    const lt_option *row = lt_options_find(&table, name, &base);
    if (row && row->offset + row->size > opt->size)
        return LT_FAIL(LT_ERR_ARGUMENT, "option '%s' is newer than this program: compile it again with this library's headers", name);
    /* Programs written for other solvers set switches to numbers. */
    if (row && row->type == LT_OPTION_TYPE_BOOL && lt_text_int(value, &number)) value = number ? "true" : "false";
    const double damping = opt->bfgs_damping;
    LT_TRY(lt_options_set(&table, name, value, opt));
    const lt_status s = check_damping(opt);
    if (s) opt->bfgs_damping = damping;
    return s;
}

/* ---- Switches of benchmarks and tests ----------------------------------------------------------- */
#define DEBUG_SWITCHES(SWITCH)                                                                                                    \
    SWITCH(qp_warm_start, true, "start QPs from the previous active set")                                                         \
    SWITCH(incremental_products, true, "carry products with H from one iteration to the next")                                    \
    SWITCH(blocked_lbfgs, true, "limited memory: all right-hand sides at once")                                                   \
    SWITCH(in_place_bfgs, true, "full memory: update H where it lies; else in a copy, looked through before it is taken")         \
    SWITCH(pinned_transfers, true, "exchange through page-locked memory")                                                         \
    SWITCH(async_transfers, true, "copies and kernels in one queue, one wait; else a wait after each")                            \
    SWITCH(direct_assembly, true, "results arrive where the solver reads them; else they are copied there")                       \
    SWITCH(captured_evaluation, true, "an evaluation is one captured sequence; else its kernels are launched one by one")         \
    SWITCH(small_by_kernel, true, "a kernel moves what is small through page-locked memory; else copies do")                      \
    SWITCH(time_function, false, "time the kernels of an evaluation alone, for reports")
#define DEBUG_ROW(field, default_, help_) LT_OPTION_BOOL(lt_solve_debug, field, #field, #default_, help_),
#define DEBUG_VALUE(field, default_, help_) .field = default_,

static const lt_option debug_rows[] = { DEBUG_SWITCHES(DEBUG_ROW) };
static const lt_option_group debug_groups[] = { GROUP("Debugging", debug_rows) };
static const lt_option_table debug_table = { .program = "lathe-bench solve", .summary = "Switches of the optimizer's benchmarks and tests.",
                                             .groups = debug_groups, .n_groups = 1 };
static const lt_solve_debug debug_defaults = { .size = sizeof(lt_solve_debug), DEBUG_SWITCHES(DEBUG_VALUE) };

const lt_option_table *lt_solve_debug_table(void) { return &debug_table; }
void lt_solve_debug_defaults_into(lt_solve_debug *out) { LT_GIVE(out, &debug_defaults); }
const lt_solve_debug *lt_debug_of(const lt_solve_options *opt) { return opt->debug ? opt->debug : &debug_defaults; }

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

static lt_status check(const lt_solve_options *opt)
{
    for (int g = 0; g < table.n_groups; g++)
        for (int i = 0; i < groups[g].n_rows; i++) {
            const lt_option *row = &groups[g].rows[i];
            double v;
            if (!row_value(row, (const char *)opt + row->offset, &v) || allowed(row, v)) continue;
            if (!strcmp(row->name, "max_samples") && v == 0) continue; /* 0: chosen from n */
            char expected[128];
            lt_option_expects(row, expected, sizeof expected);
            return LT_FAIL(LT_ERR_ARGUMENT, "option '%s' is %.15g: expected %s", row->name, v, expected);
        }
    LT_TRY(check_damping(opt));
    if (opt->wolfe_slope < opt->wolfe_decrease)
        return LT_FAIL(LT_ERR_ARGUMENT, "option 'wolfe_slope' is %g: expected at least wolfe_decrease = %g", opt->wolfe_slope, opt->wolfe_decrease);
    if (!whole(opt->print_every))
        return LT_FAIL(LT_ERR_ARGUMENT, "option 'print_every' is %g: expected a whole number or inf", opt->print_every);
    if (!whole(opt->search_evals))
        return LT_FAIL(LT_ERR_ARGUMENT, "option 'search_evals' is %g: expected a whole number or inf", opt->search_evals);
    if ((opt->lbfgs_state || opt->lbfgs_state_file) && !opt->lbfgs_pairs)
        return LT_FAIL(LT_ERR_ARGUMENT, "option 'lbfgs_state' is given, but lbfgs_pairs is 0: expected at least 1");
    if (opt->H0_diagonal && !opt->lbfgs_pairs)
        return LT_FAIL(LT_ERR_ARGUMENT, "H0_diagonal is given, but lbfgs_pairs is 0: full memory takes H0, n x n");
    if (!opt->device_name) return LT_FAIL(LT_ERR_ARGUMENT, "option 'device_name' is NULL: expected a device name");
    return LT_OK;
}

lt_status lt_settings_take(const lt_solve_options *from, lt_settings *to)
{
    *to = (lt_settings){ .opt = lt_solve_defaults(), .debug = debug_defaults };
    LT_TRY(LT_TAKE(lt_solve_options, from, &to->opt));
    LT_TRY(LT_TAKE(lt_solve_debug, to->opt.debug, &to->debug));
    to->opt.debug = &to->debug;
    return check(&to->opt);
}

void lt_settings_copy(const lt_solve_options *from, lt_settings *to)
{
    *to = (lt_settings){ .opt = *from, .debug = *lt_debug_of(from) };
    to->opt.debug = &to->debug;
}

lt_status lt_solve_options_check(const lt_solve_options *opt)
{
    if (!opt) return LT_FAIL(LT_ERR_ARGUMENT, "solve options: NULL");
    lt_settings all;
    return lt_settings_take(opt, &all);
}
