/* Problems: creation, structure stated by the user, the pool of evaluators, packing of named tensors.
   SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/options.h"
#include "optimize/device/functions.h"
#include "optimize/problem/bounds.h"
#include "optimize/problem/compressed.h"
#include "optimize/problem/graph.h"

#include "base/alloc.h"
#include "base/callback.h"
#include "base/status.h"
#include "trace/trace.h"

#include <math.h>
#include <string.h>

lt_status lt_problem_too_many(int64_t n, int64_t constraints)
{
    return LT_FAIL(LT_ERR_MEMORY, "problem: %lld variables with %lld constraints are too many", (long long)n, (long long)constraints);
}

lt_status lt_problem_alloc(const lt_problem_kind *kind, int64_t n, int64_t p, int64_t q, lt_problem **out)
{
    *out = NULL;
    const int64_t limit = INT64_C(1) << 40; /* far above any memory, far below overflow */
    if (n < 1) return LT_FAIL(LT_ERR_ARGUMENT, "problem: %lld variables, expected at least 1", (long long)n);
    if (p < 0 || q < 0) return LT_FAIL(LT_ERR_ARGUMENT, "problem: a negative number of constraints");
    if (p > limit || q > limit || n > limit) return lt_problem_too_many(n, p + q);
    if (kind != &lt_problem_kind_graph && n > limit / (1 + p + q)) return lt_problem_too_many(n, p + q); /* rows of graphs may turn out to be bounds */
    lt_problem *problem = lt_calloc(1, sizeof *problem);
    if (!problem) return LT_ERR_MEMORY;
    *problem = (lt_problem){ .kind = kind, .n = n, .p = p, .q = q };
    pthread_mutex_init(&problem->lock, NULL);
    *out = problem;
    return LT_OK;
}

lt_status lt_problem_from_function(int64_t n, int64_t p, int64_t q, lt_problem_fn fn, void *ctx, lt_problem **out)
{
    if (!out || !fn) return LT_FAIL(LT_ERR_ARGUMENT, "problem: the function is NULL");
    LT_TRY(lt_problem_alloc(&lt_problem_kind_function, n, p, q, out));
    (*out)->fn = fn;
    (*out)->ctx = ctx;
    return LT_OK;
}

static void destroy_evaluator(lt_evaluator *e)
{
    if (e->problem->kind->close) e->problem->kind->close(e);
    for (int k = 0; k < 2; k++) {
        lt_free(e->sparse[k]);
        lt_free(e->linear[k]);
    }
    lt_free(e);
}

void lt_problem_destroy(lt_problem *p)
{
    if (!p) return;
    for (lt_evaluator *e = p->idle, *next; e; e = next) {
        next = e->next;
        destroy_evaluator(e);
    }
    for (int k = 0; k < 2; k++) {
        lt_free(p->pattern[k].start);
        lt_free(p->pattern[k].column);
    }
    lt_problem_bounds_destroy(p);
    lt_problem_sparse_destroy(p->sparse);
    lt_compressed_destroy(p->compressed);
    lt_free(p->built_ci);
    lt_free(p->node);
    lt_free(p->variable);
    lt_free(p->x0);
    pthread_mutex_destroy(&p->lock);
    lt_free(p);
}

lt_problem_size lt_problem_get_size(const lt_problem *p)
{
    return p ? (lt_problem_size){ p->n, p->p, p->q } : (lt_problem_size){ 0, 0, 0 };
}

/* ---- Stated structure ----------------------------------------------------------------------------- */
static lt_status check_kind(const lt_problem *p, lt_constraint_kind kind)
{
    if (!p) return LT_FAIL(LT_ERR_ARGUMENT, "problem: NULL");
    if (kind != LT_CONSTRAINT_INEQUALITY && kind != LT_CONSTRAINT_EQUALITY)
        return LT_FAIL(LT_ERR_ARGUMENT, "problem: %d is no kind of constraint", (int)kind);
    if (p->idle) return LT_FAIL(LT_ERR_ARGUMENT, "problem: structure must be stated before the first evaluation");
    return LT_OK;
}

lt_status lt_problem_declare_linear(lt_problem *p, lt_constraint_kind kind)
{
    LT_TRY(check_kind(p, kind));
    p->linear[kind] = true;
    return LT_OK;
}

lt_status lt_problem_declare_sparse(lt_problem *p, lt_constraint_kind kind, const int64_t *start, const int64_t *column)
{
    LT_TRY(check_kind(p, kind));
    if (p->kind != &lt_problem_kind_function)
        return LT_FAIL(LT_ERR_ARGUMENT, "problem: the pattern of a graph's gradients is found by itself");
    if (!start) return LT_FAIL(LT_ERR_ARGUMENT, "problem: the pattern is NULL");
    int64_t rows = kind == LT_CONSTRAINT_EQUALITY ? p->q : p->p;
    if (start[0] != 0) return LT_FAIL(LT_ERR_ARGUMENT, "pattern: start[0] is %lld, expected 0", (long long)start[0]);
    for (int64_t i = 0; i < rows; i++) {
        if (start[i + 1] < start[i]) return LT_FAIL(LT_ERR_ARGUMENT, "pattern: start[%lld] falls", (long long)i + 1);
        if (start[i + 1] && !column) return LT_FAIL(LT_ERR_ARGUMENT, "problem: the pattern is NULL");
        for (int64_t e = start[i]; e < start[i + 1]; e++)
            if (column[e] < 0 || column[e] >= p->n || (e > start[i] && column[e] <= column[e - 1]))
                return LT_FAIL(LT_ERR_ARGUMENT, "pattern: constraint %lld, column %lld is out of range or order",
                               (long long)i, (long long)column[e]);
    }
    lt_pattern copy = { lt_malloc((size_t)(rows + 1) * sizeof *start), lt_malloc((size_t)(start[rows] + 1) * sizeof *column) };
    if (!copy.start || !copy.column) {
        lt_free(copy.start);
        lt_free(copy.column);
        return LT_ERR_MEMORY;
    }
    memcpy(copy.start, start, (size_t)(rows + 1) * sizeof *start);
    if (column) memcpy(copy.column, column, (size_t)start[rows] * sizeof *column);
    lt_free(p->pattern[kind].start);
    lt_free(p->pattern[kind].column);
    p->pattern[kind] = copy;
    return LT_OK;
}

/* ---- Evaluators ------------------------------------------------------------------------------------- */
static bool fits(const lt_evaluator *e, const lt_solve_options *opt)
{
    const bool same_device = opt->device ? e->device == opt->device : !e->borrowed && !strcmp(e->device_name, opt->device_name);
    return same_device && e->mode == opt->compile_mode && e->mixed == opt->mixed_precision
           && (!e->on_device || lt_device_functions_fits(e->on_device, opt));
}

static lt_evaluator *take_idle(lt_problem *p, const lt_solve_options *opt)
{
    for (lt_evaluator **at = &p->idle; *at; at = &(*at)->next)
        if (fits(*at, opt)) {
            lt_evaluator *e = *at;
            *at = e->next;
            e->compile_seconds = 0; /* paid by an earlier run */
            if (e->on_device) lt_device_functions_reset(e->on_device);
            return e;
        }
    return NULL;
}

static lt_status create_evaluator(lt_problem *p, const lt_solve_options *opt, lt_evaluator **out)
{
    lt_evaluator *e = lt_calloc(1, sizeof *e);
    if (!e) return LT_ERR_MEMORY;
    e->problem = p;
    e->mode = opt->compile_mode;
    e->mixed = opt->mixed_precision;
    snprintf(e->device_name, sizeof e->device_name, "%s", opt->device_name);
    lt_status s = LT_OK;
    const int64_t rows[2] = { p->p, p->q };
    for (int k = 0; k < 2 && !s; k++) {
        if (p->pattern[k].start && !(e->sparse[k] = lt_malloc((size_t)(p->pattern[k].start[rows[k]] + 1) * sizeof(double))))
            s = LT_ERR_MEMORY;
        else if (p->linear[k] && rows[k] && !(e->linear[k] = lt_malloc((size_t)(rows[k] * p->n) * sizeof(double))))
            s = LT_ERR_MEMORY;
    }
    if (!s) s = p->kind->open(p, opt, e);
    if (s) {
        destroy_evaluator(e);
        return s;
    }
    *out = e;
    return LT_OK;
}

void lt_problem_lock_graph(lt_problem *p)
{
    if (p->outer) pthread_mutex_lock(&p->outer->lock);
    pthread_mutex_lock(&p->lock);
}

void lt_problem_unlock_graph(lt_problem *p)
{
    pthread_mutex_unlock(&p->lock);
    if (p->outer) pthread_mutex_unlock(&p->outer->lock);
}

lt_status lt_evaluator_acquire(lt_problem *p, const lt_solve_options *opt, lt_evaluator **out)
{
    if (p->kind == &lt_problem_kind_graph && !opt->graph_gradients)
        return LT_FAIL(LT_ERR_ARGUMENT, "option 'graph_gradients' is false, but the problem is a graph: its gradients come from it");
    lt_problem_lock_graph(p); /* while compiling: the graph is for one thread at a time */
    lt_status s = lt_problem_build_now(p);
    if (!s) {
        *out = take_idle(p, opt);
        if (!*out) s = create_evaluator(p, opt, out);
    }
    lt_problem_unlock_graph(p);
    return s;
}

void lt_evaluator_release(lt_evaluator *e)
{
    if (!e) return;
    pthread_mutex_lock(&e->problem->lock);
    e->next = e->problem->idle;
    e->problem->idle = e;
    pthread_mutex_unlock(&e->problem->lock);
}

static void spread(const lt_pattern *t, int64_t rows, int64_t n, const double *entries, double *out)
{
    memset(out, 0, (size_t)(rows * n) * sizeof *out);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t e = t->start[i]; e < t->start[i + 1]; e++) out[i * n + t->column[e]] = entries[e];
}

/* Hides what is already known or stored differently from the problem's own function. */
lt_status lt_evaluator_run(lt_evaluator *e, const double *x, const lt_outputs *out)
{
    const lt_problem *p = e->problem;
    if (p->compressed) return p->kind->run(e, x, out);
    lt_outputs ask = *out;
    double **grads[2] = { &ask.grad_ci, &ask.grad_ce };
    const int64_t rows[2] = { p->p, p->q };
    double *wanted[2] = { ask.grad_ci, ask.grad_ce };
    for (int k = 0; k < 2; k++) {
        if (!rows[k]) *grads[k] = wanted[k] = NULL;
        if (!wanted[k]) continue;
        if (e->linear_known[k]) *grads[k] = NULL;
        else if (p->pattern[k].start) *grads[k] = e->sparse[k];
    }
    LT_TRY(p->kind->run(e, x, &ask));
    for (int k = 0; k < 2; k++) {
        if (!wanted[k]) continue;
        size_t bytes = (size_t)(rows[k] * p->n) * sizeof(double);
        if (e->linear_known[k]) {
            memcpy(wanted[k], e->linear[k], bytes);
            continue;
        }
        if (p->pattern[k].start) spread(&p->pattern[k], rows[k], p->n, e->sparse[k], wanted[k]);
        if (p->linear[k]) {
            memcpy(e->linear[k], wanted[k], bytes);
            e->linear_known[k] = true;
        }
    }
    return LT_OK;
}

static lt_status function_open(lt_problem *p, const lt_solve_options *opt, lt_evaluator *e)
{
    (void)p;
    if (opt->device || (strcmp(opt->device_name, "cpu") && strcmp(opt->device_name, "auto")))
        return LT_FAIL(LT_ERR_ARGUMENT, "option 'device_name' is %s: a function runs where it is; only graphs move",
                       opt->device ? lt_device_id(opt->device) : opt->device_name);
    snprintf(e->reason, sizeof e->reason, "a function runs where it is");
    if (opt->mixed_precision)
        return LT_FAIL(LT_ERR_ARGUMENT, "option 'mixed_precision': the problem is a function, not a graph");
    e->value_share = 0; /* a function may keep what it computed for the values */
    return LT_OK;
}

/* The text of a function that failed is its own, where it set one (lt_fail). */
static lt_status function_run(lt_evaluator *e, const double *x, const lt_outputs *out)
{
    lt_error_set("");
    lt_status got = e->problem->fn(e->problem->ctx, x, out), s = lt_callback_status("the problem's function", got);
    if (s != got) return s;
    return s && !*lt_error_text() ? LT_FAIL(s, "the problem's function returned '%s'", lt_status_name(s)) : s;
}

const lt_problem_kind lt_problem_kind_function = { "function", function_open, NULL, function_run };

lt_status lt_problem_evaluate(lt_problem *p, const double *x, const lt_outputs *out)
{
    return lt_problem_evaluate_with(p, NULL, x, out);
}

lt_status lt_problem_evaluate_with(lt_problem *p, const lt_solve_options *opt, const double *x, const lt_outputs *out)
{
    if (!p || !x || !out) return LT_FAIL(LT_ERR_ARGUMENT, "problem_evaluate: an argument is NULL");
    lt_settings settings;
    LT_TRY(lt_settings_take(opt, &settings));
    lt_evaluator *e;
    LT_TRY(lt_evaluator_acquire(p, &settings.opt, &e));
    lt_status s = lt_evaluator_run(e, x, out);
    lt_evaluator_release(e);
    return s;
}

/* ---- Named tensors ------------------------------------------------------------------------------------ */
int64_t lt_variables_layout(lt_variable *v, int n_variables)
{
    int64_t n = 0;
    for (int i = 0; i < n_variables; i++) {
        int64_t count = lt_shape_count(&v[i].shape);
        if (count < 0 || count > INT64_MAX - n) return -1;
        v[i].offset = n;
        n += count;
    }
    return n;
}

lt_status lt_variables_pack(const lt_variable *v, int n_variables, const double *const *tensors, double *x)
{
    if (n_variables && (!v || !tensors || !x)) return LT_FAIL(LT_ERR_ARGUMENT, "variables_pack: an argument is NULL");
    for (int i = 0; i < n_variables; i++) {
        const int64_t count = lt_shape_count(&v[i].shape);
        if (!count) continue;
        if (!tensors[i]) return LT_FAIL(LT_ERR_ARGUMENT, "variables_pack: no tensor for '%s'", v[i].name ? v[i].name : "?");
        memcpy(x + v[i].offset, tensors[i], (size_t)count * sizeof *x);
    }
    return LT_OK;
}

lt_status lt_variables_unpack(const lt_variable *v, int n_variables, const double *x, double *const *tensors)
{
    if (n_variables && (!v || !tensors || !x)) return LT_FAIL(LT_ERR_ARGUMENT, "variables_unpack: an argument is NULL");
    for (int i = 0; i < n_variables; i++)
        if (tensors[i]) memcpy(tensors[i], x + v[i].offset, (size_t)lt_shape_count(&v[i].shape) * sizeof *x);
    return LT_OK;
}

int lt_problem_variables(const lt_problem *p, lt_variable *v, int max)
{
    if (!p) return 0;
    for (int i = 0; i < p->n_variables && i < max; i++) v[i] = p->variable[i];
    return p->n_variables;
}
