/* The training loop of `lathe train-kernel`: the optimizer on one batch of rows after the other. SPDX-License-Identifier: BSD-3-Clause */
#include "cli/gram/train.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- one kernel ---- */

static lt_status loss_of(train_job *j, train_rows *r, const double *w, double *value, bool slopes)
{
    CLI_TRY(lt_gram_set_weights(j->gram, w, j->n_weights));
    CLI_TRY(lt_gram_fill(j->gram, &r->x, NULL, r->K));
    return lt_kernel_loss_evaluate((lt_kernel_loss)j->o->loss, r->K, r->x.n, r->label, j->o->cost, value, slopes ? r->dK : NULL);
}

static bool bounded(double v) { return isfinite(v); }

/* Values first, then gradients at the same weights: the derivatives by K are kept between the two. */
static lt_status evaluate(void *ctx, const double *w, const lt_outputs *out)
{
    train_job *j = ctx;
    const int64_t n = j->n_weights;
    const bool lower = bounded(j->o->lower), upper = bounded(j->o->upper);
    if (out->f) {
        CLI_TRY(loss_of(j, &j->batch, w, out->f, true));
        j->evaluations++;
    }
    if (out->grad_f) {
        CLI_TRY(lt_gram_gradient(j->gram, &j->batch.x, j->batch.dK, out->grad_f, NULL));
        j->gradients++;
    }
    for (int64_t i = 0; out->ci && i < n; i++) {
        if (lower) out->ci[i] = j->o->lower - w[i];
        if (upper) out->ci[(lower ? n : 0) + i] = w[i] - j->o->upper;
    }
    if (!out->grad_ci) return LT_OK;
    memset(out->grad_ci, 0, (size_t)(n * n * (lower + upper)) * sizeof *out->grad_ci);
    for (int64_t i = 0; i < n; i++) {
        if (lower) out->grad_ci[i * n + i] = -1;
        if (upper) out->grad_ci[((lower ? n : 0) + i) * n + i] = 1;
    }
    return LT_OK;
}

/* ---- the curve ---- */

static lt_status note_step(train_job *j, const lt_iterate *it)
{
    if (j->n_steps == j->step_capacity) {
        int64_t larger = j->step_capacity ? 2 * j->step_capacity : 64;
        train_step *more = realloc(j->step, (size_t)larger * sizeof *more);
        if (!more) return cli_fail(LT_ERR_MEMORY, "no memory for the training curve");
        j->step = more;
        j->step_capacity = larger;
    }
    train_step *s = &j->step[j->n_steps++];
    *s = (train_step){ j->round, it->iter, it->f, NAN };
    return j->validation.x.n ? loss_of(j, &j->validation, it->x, &s->validation, false) : LT_OK;
}

static bool after_step(void *ctx, const lt_iterate *it)
{
    train_job *j = ctx;
    j->failure = note_step(j, it);
    lt_progress_set(j->bar, j->round * j->o->iterations + it->iter);
    return j->failure || cli_interrupted();
}

/* ---- rounds ---- */

/* Other rows in each round, drawn without repetition; all of them in order where no batch is asked for. */
static void draw_batch(train_job *j, int64_t *order)
{
    const int64_t n = j->rows.n, d = j->rows.n_features, size = j->batch.x.n;
    lt_rng r = lt_rng_seed((uint64_t)j->c->common.seed * 1000003 + (uint64_t)j->round);
    for (int64_t i = 0; i < n; i++) order[i] = i;
    for (int64_t i = 0; size < n && i < size; i++) {
        int64_t k = i + (int64_t)lt_rng_below(&r, (uint64_t)(n - i)), swap = order[i];
        order[i] = order[k];
        order[k] = swap;
    }
    for (int64_t i = 0; i < size; i++) {
        memcpy(j->batch.own + i * d, j->rows.x + order[i] * d, (size_t)d * sizeof(double));
        j->batch.label[i] = j->label[order[i]];
    }
}

static lt_status run_round(train_job *j, lt_problem *p)
{
    lt_solve_options opt = lt_solve_defaults();
    lt_solution *s = NULL;
    opt.x0 = j->w;
    opt.max_iterations = j->o->iterations;
    opt.print_level = 0;
    opt.stationarity_tol = 1e-6;
    opt.iterate_fn = after_step;
    opt.iterate_ctx = j;
    lt_status status = lt_solve(p, &opt, &s);
    if (!status && j->failure) status = j->failure;
    if (!status && cli_interrupted()) status = cli_stopped();
    if (!status && s->termination_code == 11) status = cli_fail(LT_ERR_NUMERIC, "the kernel could not be computed: %s", lt_error_text());
    if (!status && s->best.present) memcpy(j->w, s->best.x, (size_t)j->n_weights * sizeof *j->w);
    else if (!status && s->final.present) memcpy(j->w, s->final.x, (size_t)j->n_weights * sizeof *j->w);
    lt_solution_destroy(s);
    return status;
}

static lt_status make_rows(train_rows *r, int64_t n, int64_t d, bool own)
{
    r->K = malloc((size_t)(n * n) * sizeof *r->K);
    r->dK = malloc((size_t)(n * n) * sizeof *r->dK);
    if (own) {
        r->own = malloc((size_t)(n * d) * sizeof *r->own);
        r->label = malloc((size_t)n * sizeof *r->label);
        r->x = (lt_rows){ r->own, LT_F64, n, d, 0 };
    }
    return r->K && r->dK && (!own || (r->own && r->label)) ? LT_OK : cli_fail(LT_ERR_MEMORY, "no memory for kernels of %lld rows", (long long)n);
}

/* The loss of all training rows and of validation rows. */
static lt_status measure(train_job *j, double out[2])
{
    train_rows all = { .x = { j->rows.x, LT_F64, j->rows.n, j->rows.n_features, 0 }, .label = j->label };
    lt_status s = make_rows(&all, j->rows.n, j->rows.n_features, false);
    if (!s) s = loss_of(j, &all, j->w, &out[0], false);
    out[1] = NAN;
    if (!s && j->validation.x.n) s = loss_of(j, &j->validation, j->w, &out[1], false);
    free(all.K);
    free(all.dK);
    return s;
}

static lt_status run_rounds(train_job *j, lt_problem *p)
{
    int64_t *order = malloc((size_t)j->rows.n * sizeof *order);
    lt_status s = order ? LT_OK : cli_fail(LT_ERR_MEMORY, "no memory for the order of rows");
    for (j->round = 0; !s && j->round < j->o->rounds; j->round++) {
        draw_batch(j, order);
        s = run_round(j, p);
    }
    free(order);
    return s;
}

lt_status train_run(train_job *j)
{
    const int64_t n = j->rows.n, d = j->rows.n_features, size = j->o->batch && j->o->batch < n ? j->o->batch : n;
    const int64_t n_bounds = j->n_weights * (bounded(j->o->lower) + bounded(j->o->upper));
    const double begin = cli_now();
    lt_problem *p = NULL;
    CLI_TRY(make_rows(&j->batch, size, d, true));
    if (j->test.n) {
        CLI_TRY(make_rows(&j->validation, j->test.n, d, false));
        j->validation.x = (lt_rows){ j->test.x, LT_F64, j->test.n, d, 0 };
        j->validation.label = j->test_label;
    }
    CLI_TRY(measure(j, j->start));
    (void)lt_progress_create("train", "step", j->o->rounds * j->o->iterations, j->c->common.quiet || j->c->json, &j->bar); /* goes on without a bar */
    lt_status s = lt_problem_from_function(j->n_weights, n_bounds, 0, evaluate, j, &p);
    if (!s) s = run_rounds(j, p);
    lt_problem_destroy(p);
    lt_progress_destroy(j->bar);
    j->bar = NULL;
    if (!s) s = measure(j, j->end);
    j->seconds = cli_now() - begin;
    return s;
}
