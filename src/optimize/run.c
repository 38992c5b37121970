/* Setting up a run: memory, start, first evaluation. SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/options.h"
#include "optimize/device/functions.h"
#include "optimize/device/hessian.h"
#include "optimize/problem/bounds.h"
#include "optimize/solver.h"
#include "optimize/vectors/vector.h"

#include "base/alloc.h"
#include "base/pool.h"
#include "base/number.h"
#include "base/status.h"
#include "trace/clock.h"

#include <math.h>
#include <string.h>

static int64_t default_ngrad(int64_t n) { return LT_MIN(100, LT_MIN(2 * n, n + 10)); }

static double *take(lt_run *r, int64_t count)
{
    return lt_arena_alloc(&r->arena, (size_t)LT_MAX(count, 1) * sizeof(double));
}

/* A vector, wherever the run's vectors are. */
static lt_status take_vector(lt_run *r, const char *what, double **out) { return r->vectors.on->take(&r->vectors, r->n, what, out); }

/* A device lends memory into which it writes itself. */
static lt_status create_point(lt_run *r, int i)
{
    lt_point *p = &r->store[i];
    if (r->evaluator->on_device) LT_TRY(lt_device_functions_lend(r->evaluator->on_device, r->vectors.device, i, &p->x, &p->c, &p->grads));
    if (!p->x) p->x = take(r, r->n);
    if (!p->c) p->c = take(r, r->q + r->p);
    if (!p->grads) p->grads = r->cache.takes_over ? lt_cache_lend(&r->cache) : take(r, r->k * r->n);
    p->grad_phi = p->grads;
    if (r->constrained) LT_TRY(take_vector(r, "a gradient of the penalty function", &p->grad_phi));
    return p->x && p->c && p->grads ? LT_OK : LT_ERR_MEMORY;
}

static lt_status create_record(lt_run *r, lt_record *m)
{
    m->c = take(r, r->q + r->p);
    return m->c ? r->vectors.on->take_kept(&r->vectors, &m->x) : LT_ERR_MEMORY;
}

/* Two of each where x arrives later, so that one has arrived at any time. */
static lt_status create_records(lt_run *r)
{
    const bool late = r->vectors.on->queues;
    lt_record *record[] = { &r->best, &r->most_feasible, &r->patience.met, &r->reached };
    const bool used[] = { true, true, r->opt.patience > 0, late };
    for (size_t i = 0; i < LT_LEN(record); i++) {
        if (!used[i]) continue;
        LT_TRY(create_record(r, record[i]));
        if (!late) continue;
        record[i]->before = lt_arena_alloc(&r->arena, sizeof(lt_record));
        if (!record[i]->before) return LT_ERR_MEMORY;
        *record[i]->before = (lt_record){ 0 };
        LT_TRY(create_record(r, record[i]->before));
    }
    return LT_OK;
}

static lt_status create_regular(lt_run *r)
{
    if (isinf(r->opt.condition_limit) || r->hessian.limited) return LT_OK;
    r->regular.H = take(r, r->n * r->n);
    r->regular.vectors = take(r, r->n * r->n);
    r->regular.values = take(r, r->n);
    r->regular.work = take(r, 4 * r->n);
    return r->regular.H && r->regular.vectors && r->regular.values && r->regular.work ? LT_OK : LT_ERR_MEMORY;
}

static lt_status create_vectors(lt_run *r)
{
    LT_TRY(take_vector(r, "a direction", &r->d));
    r->last.s = r->d;
    if (r->opt.iterate_fn) LT_TRY(take_vector(r, "a step", &r->last.s));
    if (r->cache.takes_over && !r->constrained && !(r->last.change = take(r, r->n))) return LT_ERR_MEMORY;
    if (r->opt.iterate_fn || r->vectors.on->queues) LT_TRY(take_vector(r, "a stationarity vector", &r->stat.vector));
    const int64_t functions = 1 + r->q + r->p;
    r->oracle.scale = take(r, functions);
    r->steering.u = take(r, r->q + r->p);
    r->steering.Cd = take(r, functions);
    r->steering.factor = take(r, functions);
    r->steering.multiplier = take(r, r->q + r->p);
    r->penalty.factor = take(r, functions);
    r->pause.y = take(r, r->q + r->p);
    r->steering.of = lt_arena_alloc(&r->arena, (size_t)r->k * sizeof *r->steering.of);
    r->penalty.gradient = lt_arena_alloc(&r->arena, (size_t)r->k * sizeof *r->penalty.gradient);
    if (!r->oracle.scale || !r->steering.u || !r->steering.Cd || !r->steering.factor || !r->steering.multiplier || !r->penalty.factor || !r->pause.y
        || !r->steering.of || !r->penalty.gradient)
        return LT_ERR_MEMORY;
    if (r->constrained && r->opt.lagrangian_updates) {
        r->steering.shifted = take(r, r->q + r->p);
        if (!r->steering.shifted) return LT_ERR_MEMORY;
        LT_TRY(take_vector(r, "a corrected direction", &r->steering.corrected));
        if (lt_bounded(&r->bounds) && !r->opt.lbfgs_pairs) {
            r->steering.pull = take(r, 2 * r->n);
            if (!r->steering.pull) return LT_ERR_MEMORY;
            r->steering.pull_tried = r->steering.pull + r->n;
        }
    }
    for (int64_t j = 0; j < functions; j++) r->oracle.scale[j] = 1;
    bool has_lower = r->opt.go_on_after_bracket_failure; /* otherwise no step is taken to a bracket's lower end */
    for (int i = 0; i < 2 + has_lower; i++) LT_TRY(create_point(r, i));
    r->cur = &r->store[0];
    r->trial = &r->store[1];
    if (has_lower) r->lower = &r->store[2];
    LT_TRY(create_records(r));
    return lt_history_create(r);
}

/* ---- Where vectors live ------------------------------------------------------------------------------------- */
/* From here on vectors stay on the device, by docs/performance.md. */
#define VECTORS_FROM_VARIABLES 1024

/* What keeps them on the host; NULL: nothing. */
static const char *obstacle(const lt_run *r)
{
    const lt_solve_options *o = &r->opt;
    const lt_problem *p = r->problem;
    if (!r->evaluator->on_device) return "functions on the host";
    if (!lt_device_hessian_wanted(&r->hessian, o)) return "H on the host";
    if (o->compat) return "compat=1";
    if (!lt_debug_of(o)->pinned_transfers || !lt_debug_of(o)->async_transfers) return "transfers that are not page-locked and asynchronous";
    if (p->linear[0] || p->linear[1] || p->pattern[0].start || p->pattern[1].start) return "constraints stated as linear or sparse";
    if (r->k > LT_VECTORS_MAX_GRADIENTS) return "as many constraints";
    return NULL;
}

static lt_status choose_vectors(lt_run *r)
{
    const bool asked = r->opt.vectors_on == LT_HESSIAN_DEVICE;
    const char *why = obstacle(r);
    lt_device_vectors *vectors;
    if (r->opt.vectors_on == LT_HESSIAN_HOST || (!asked && (why || r->n < VECTORS_FROM_VARIABLES))) return LT_OK;
    if (why) return LT_FAIL(LT_ERR_UNSUPPORTED, "option 'vectors_on' is device: with %s they stay on the host", why);
    lt_status s = lt_device_functions_vectors(r->evaluator->on_device, &vectors);
    if (s == LT_ERR_UNSUPPORTED && !asked) return LT_OK;
    LT_TRY(s);
    LT_TRY(lt_vectors_on_device(vectors, r->n, r->k + 4, &r->arena, &r->vectors)); /* a callback sees that many vectors at once */
    return lt_hessian_move(&r->hessian, &r->vectors);
}

/* Programs, with room for bounds where these are rows. */
static lt_status reserve(lt_run *r, lt_subproblem *s, int64_t m)
{
    return r->bounds.rows ? lt_boxed_reserve(r, s, m) : lt_subproblem_reserve(s, m, &r->opt);
}

static lt_status create_parts(lt_run *r)
{
    LT_TRY(lt_start_hessian(r));
    LT_TRY(choose_vectors(r));
    LT_TRY(lt_steps_create(r));
    LT_TRY(lt_cache_create(r));
    LT_TRY(create_vectors(r));
    LT_TRY(create_regular(r));
    LT_TRY(lt_products_create(r));
    LT_TRY(lt_certification_create(r));
    LT_TRY(lt_bounds_create(r));
    LT_TRY(lt_rows_create(r));
    if ((r->constrained && !r->rows.on) || r->bounds.rows) LT_TRY(reserve(r, &r->steering.sub, r->q + r->p));
    int64_t columns = LT_MIN(r->opt.max_samples * r->k, LT_MAX(1024, 2 * r->k));
    if (columns > 1 || r->bounds.rows) LT_TRY(reserve(r, &r->stat.sub, columns));
    return lt_console_create(r);
}

/* ---- The start ---------------------------------------------------------------------------------------------- */
static lt_status choose_start(lt_run *r, double *x)
{
    const lt_solve_options *opt = &r->opt;
    lt_draws stream = lt_draws_make((uint64_t)opt->seed, "x0", 0, 0, 0);
    LT_TRY(lt_draws_normal_f64(&stream, 0, r->n, x));
    if (opt->x0) memcpy(x, opt->x0, (size_t)r->n * sizeof *x);
    else if (r->warm.x) memcpy(x, r->warm.x, (size_t)r->n * sizeof *x);
    else if (opt->x0_file) LT_TRY(lt_start_read(opt->x0_file, NULL, "x0", r->n, x));
    else if (r->problem->x0)
        for (int64_t i = 0; i < r->n; i++)
            if (!isnan(r->problem->x0[i])) x[i] = r->problem->x0[i];
    if (!opt->double_precision) lt_vec_round_f32(r->n, x);
    for (int64_t i = 0; i < r->n; i++)
        if (!isfinite(x[i])) return LT_FAIL(LT_ERR_ARGUMENT, "x0[%lld] is %g: expected a finite number", (long long)i, lt_plain(x[i]));
    if (lt_bounded(&r->bounds)) lt_bounds_start(r, x);
    return LT_OK;
}

/* PyGRANSO asks for no more than a small measure of phi, once, and knows phi alone. */
static void be_compatible(lt_solve_options *o)
{
    o->kkt_tol = INFINITY;
    o->patience = 0;
    o->steering_halvings = 0;
    o->lagrangian_updates = o->correct_steps = false;
    o->scale_functions = o->scale_variables = false;
}

static void complete_options(lt_run *r)
{
    lt_solve_options *o = &r->opt;
    if (lt_bounded(&r->bounds)) o->hessian_on = o->vectors_on = LT_HESSIAN_HOST, o->trials_at_once = 1; /* steps are cut on the host */
    if (o->bfgs_damping < 0) o->bfgs_damping = o->compat ? 1e-4 : 0;
    if (o->compat) be_compatible(o);
    if (!o->max_samples) o->max_samples = default_ngrad(r->n);
    if (r->problem->maximize && o->target_f != -INFINITY) o->target_f = -o->target_f; /* given in the user's sense (decision 47) */
    if (!r->constrained && !(lt_bounded(&r->bounds) && !o->lbfgs_pairs)) o->first_fallback = LT_MAX(o->first_fallback, LT_LEVEL_QUASI_NEWTON);
    o->last_fallback = LT_MAX(o->last_fallback, o->first_fallback);
}

static lt_status start(lt_run *r)
{
    lt_point *x = r->cur;
    double *x0 = lt_vectors_stage(&r->vectors, x->x);
    LT_TRY(choose_start(r, x0));
    lt_vectors_put(&r->vectors, r->n, x0, x->x);
    x->mu = !r->constrained ? 1 : r->warm.takes_mu ? r->warm.mu : r->opt.mu0;
    LT_TRY(lt_oracle_start(r, x));
    if (r->oracle.hidden && r->opt.iterate_fn && !(r->oracle.shown = take(r, r->k * (r->n + 1)))) return LT_ERR_MEMORY;
    LT_TRY(lt_record_start(r));
    lt_warm_multipliers(r);
    lt_warm_release(r);
    r->start_ns = r->last_checkpoint_ns = lt_clock_ns();
    lt_penalty_restore(r);
    return LT_OK;
}

/* The problem that is run: without the rows that are bounds, where these are kept. */
static lt_status choose_problem(lt_run *r, lt_problem *given, const lt_solve_options *opt)
{
    r->given = r->problem = given;
    const lt_problem_bounds *b = lt_problem_bounds_of(given, opt);
    if (given->bounds_set && !b)
        return LT_FAIL(LT_ERR_UNSUPPORTED, "option '%s': bounds that lt_problem_set_bounds set are always kept; write them as constraints",
                       opt->compat ? "compat" : "honor_bounds");
    if (!b) return LT_OK;
    LT_TRY(lt_problem_check_bounds(given, b));
    if (opt->hessian_on == LT_HESSIAN_DEVICE || opt->vectors_on == LT_HESSIAN_DEVICE)
        return LT_FAIL(LT_ERR_UNSUPPORTED, "option '%s' is device: with bounds that are kept it is the host (or set honor_bounds=false)",
                       opt->hessian_on == LT_HESSIAN_DEVICE ? "hessian_on" : "vectors_on");
    r->bounds.from = b;
    r->bounds.lower = b->lower;
    r->bounds.upper = b->upper;
    if (b->reduced) r->problem = b->reduced;
    return LT_OK;
}

static lt_status fill(lt_run *r, lt_problem *given, const lt_solve_options *opt)
{
    *r = (lt_run){ .code = LT_TERMINATION_NONE };
    r->vectors = lt_vectors_on_host(given->n, &r->arena);
    LT_TRY(choose_problem(r, given, opt));
    lt_problem *p = r->problem;
    const lt_bounds bounds = r->bounds;
    lt_solve_options chosen = *opt;
    LT_TRY(lt_rows_choose(r, &p, &chosen));
    const bool sparse = r->rows.on;
    *r = (lt_run){ .opt = chosen, .rows.on = sparse, .problem = p, .given = given, .bounds = bounds, .n = p->n, .p = p->p, .q = p->q, .k = sparse ? 1 : 1 + p->p + p->q,
                   .constrained = p->p + p->q > 0, .code = LT_TERMINATION_NONE, .penalty.lowest = INFINITY, .last.rel_diff = INFINITY,
                   .rng = lt_rng_seed((uint64_t)opt->seed), .allocations_at_2 = -1 };
    r->vectors = lt_vectors_on_host(r->n, &r->arena);
    complete_options(r);
    if (opt->threads) {
        lt_pool *pool = lt_pool_shared();
        if (!pool) return LT_ERR_MEMORY;
        if (lt_pool_threads(pool) != opt->threads) LT_TRY(lt_pool_shared_resize((int)opt->threads));
    }
    LT_TRY(lt_evaluator_acquire(p, &r->opt, &r->evaluator));
    LT_TRY(lt_warm_read(r));
    LT_TRY(create_parts(r));
    r->start_ns = r->last_checkpoint_ns = lt_clock_ns();
    LT_TRY(opt->resume ? lt_checkpoint_read(r, opt->resume) : start(r));
    int64_t begin = lt_clock_ns();
    LT_TRY(lt_device_hessian_take(&r->hessian, r->evaluator->on_device ? r->evaluator->device : NULL, opt, r->k + 2,
                       &r->evaluator->hessian));
    r->start_ns += lt_clock_ns() - begin; /* setting up, as compiling is */
    return LT_OK;
}

lt_status lt_run_create(lt_problem *p, const lt_solve_options *opt, lt_run **out)
{
    lt_run *r = lt_malloc(sizeof *r);
    if (!r) return LT_ERR_MEMORY;
    lt_status s = fill(r, p, opt);
    if (s) lt_run_destroy(r);
    else *out = r;
    return s;
}

void lt_run_destroy(lt_run *r)
{
    if (!r) return;
    lt_console_destroy(r->console);
    if (r->evaluator) lt_device_hessian_keep(&r->hessian, &r->evaluator->hessian);
    lt_vectors_end_run(&r->vectors);
    lt_evaluator_release(r->evaluator);
    lt_subproblem_release(&r->stat.sub);
    lt_subproblem_release(&r->steering.sub);
    lt_products_release(r);
    lt_rows_release(r);
    lt_certification_release(r);
    lt_recovery_release(r);
    lt_conflict_release(r);
    lt_free(r->bounds.base);
    lt_free(r->bounds.member);
    lt_warm_release(r);
    lt_hessian_release(&r->hessian);
    lt_cache_release(&r->cache);
    lt_free(r->stat.y_of_slot);
    lt_free(r->history.row);
    lt_arena_release(&r->arena);
    lt_free(r);
}
