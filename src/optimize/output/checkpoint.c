/* Checkpoints: everything a run needs to go on as if it had never stopped, bit for bit. One walk over
   the state serves both directions, so that what is written is what is read; each field states its range.
   SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/output/checkpoint_fields.h"
#include "optimize/device/hessian.h"
#include "optimize/vectors/products.h"

#include "base/alloc.h"
#include "base/status.h"
#include "trace/clock.h"
#include "trace/trace.h"

#include <string.h>

/* Rows of n numbers, wherever vectors are. */
static void vectors(lt_saved *io, lt_run *r, const char *name, double *v, int64_t rows, lt_saved_rule rule)
{
    const lt_vectors *s = &r->vectors;
    for (int64_t i = 0; !io->status && i < rows; i++) {
        double *vector = v + i * r->n, *at = lt_vectors_stage(s, vector);
        if (io->writing) lt_vectors_get(s, r->n, vector, at);
        lt_saved_reals(io, name, at, r->n, rule);
        if (!io->writing) lt_vectors_put(s, r->n, at, vector);
        if (!io->status) io->status = lt_vectors_failure(s);
    }
}

/* What the arrays' sizes follow from: must be the same in the run that reads. */
typedef struct shape_of_run {
    int64_t n, p, q, max_samples, pairs, compat, single, incremental;
} shape_of_run;

/* Names what differs. */
static lt_status refuse_shape(const shape_of_run *made, const shape_of_run *own)
{
    static const char *const names[] = { "n", "p", "q", "max_samples", "lbfgs_pairs", "compat", "single precision", "incremental products" };
    const int64_t *a = &made->n, *b = &own->n;
    char text[400] = "";
    for (size_t i = 0, used = 0; i < LT_LEN(names); i++)
        if (a[i] != b[i])
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%s %lld, this run has %lld", used ? "; " : "", names[i], (long long)a[i], (long long)b[i]);
    return LT_FAIL(LT_ERR_MISMATCH, "checkpoint: made with %s", text);
}

static void walk_shape(lt_saved *io, const lt_run *r)
{
    const shape_of_run own = { r->n, r->p, r->q, r->opt.max_samples, r->opt.lbfgs_pairs, r->opt.compat,
                               !r->opt.double_precision, r->products.incremental };
    shape_of_run t = own;
    lt_saved_counts(io, (lt_saved_count[]){ { "n", &t.n, INT64_MIN, INT64_MAX }, { "p", &t.p, INT64_MIN, INT64_MAX },
                                            { "q", &t.q, INT64_MIN, INT64_MAX }, { "max_samples", &t.max_samples, INT64_MIN, INT64_MAX },
                                            { "lbfgs_pairs", &t.pairs, INT64_MIN, INT64_MAX }, { "compat", &t.compat, INT64_MIN, INT64_MAX },
                                            { "single", &t.single, INT64_MIN, INT64_MAX }, { "incremental", &t.incremental, INT64_MIN, INT64_MAX } }, 8);
    if (!io->status && memcmp(&own, &t, sizeof own)) io->status = refuse_shape(&t, &own);
}

static void walk_counts(lt_saved *io, lt_run *r)
{
    int64_t elapsed = lt_clock_ns() - r->start_ns;
    const int64_t most = LT_SAVED_MOST;
    const lt_saved_count count[] = {
        { "iterations", &r->iter, 0, most }, { "evaluations", &r->oracle.evals, 0, most }, { "evaluations of gradients", &r->oracle.gradient_evals, 0, most },
        { "evaluations of the last search", &r->last.evals, 0, most }, { "whole steps that were short", &r->last.n_short, 0, most },
        { "reductions of mu", &r->penalty.n_reductions, 0, most },
        { "random directions", &r->fallback.random_attempts, 0, most }, { "first trials", &r->oracle.first_tried, 0, most },
        { "first trials that passed", &r->oracle.first_passed, 0, most }, { "steps of the last search", &r->steps.last, 0, most },
        { "ns of evaluations", &r->oracle.time_ns, 0, most }, { "ns of updates", &r->hessian_ns, 0, most }, { "ns of the run", &elapsed, 0, most },
        { "QPs of steering", &r->steering.sub.n_solved, 0, most }, { "failed QPs of steering", &r->steering.sub.n_failed, 0, most },
        { "ns of steering", &r->steering.sub.time_ns, 0, most }, { "QPs of stationarity", &r->stat.sub.n_solved, 0, most },
        { "failed QPs of stationarity", &r->stat.sub.n_failed, 0, most }, { "ns of stationarity", &r->stat.sub.time_ns, 0, most },
        { "samples measured", &r->stat.n_samples, 0, most } };
    const lt_saved_number number[] = {
        { "the lowest mu", &r->penalty.lowest, LT_SAVED_NUMBER }, { "the relative change", &r->last.rel_diff, LT_SAVED_NUMBER },
        { "the last step", &r->last.alpha, LT_SAVED_FINITE }, { "stationarity", &r->stat.value, LT_SAVED_ANY },
        { "stationarity without weight", &r->stat.unweighted, LT_SAVED_ANY }, { "stationarity by mu", &r->stat.normalised, LT_SAVED_ANY } };
    lt_saved_counts(io, count, LT_LEN(count));
    lt_saved_numbers(io, number, LT_LEN(number));
    lt_saved_int(io, "the level of the last step", &r->last.level, LT_LEVEL_STEERING, LT_LEVEL_RANDOM);
    lt_saved_int(io, "attempts at the last QP", &r->stat.attempts, 0, 4);
    lt_saved_flags(io, "an objective", &r->oracle.has_objective, 1);
    lt_saved_flags(io, "prescaled", &r->oracle.prescaled, 1);
    lt_saved_flags(io, "scaled inside", &r->oracle.hidden, 1);
    lt_saved_word(io, &r->rng.position);
    lt_saved_reals(io, "a scale", r->oracle.scale, r->k, LT_SAVED_FINITE);
    if (!io->writing) r->start_ns = lt_clock_ns() - elapsed;
}

static void walk_point(lt_saved *io, lt_run *r)
{
    lt_point *x = r->cur;
    lt_saved_reals(io, "f", &x->f, 1, LT_SAVED_FINITE);
    lt_saved_reals(io, "mu", &x->mu, 1, LT_SAVED_FINITE);
    vectors(io, r, "an entry of x", x->x, 1, LT_SAVED_FINITE);
    lt_saved_reals(io, "a constraint", x->c, r->q + r->p, LT_SAVED_FINITE);
    vectors(io, r, "a gradient", x->grads, r->k, LT_SAVED_ANY);
    lt_saved_flags(io, "sampled", &x->sampled, 1);
    x->sampled = x->sampled && r->cache.takes_over;
}

/* Nothing has been written yet into a record that is not present. */
static void walk_record(lt_saved *io, const lt_run *r, lt_record *m)
{
    lt_saved_flags(io, "a record's presence", &m->present, 1);
    lt_saved_flags(io, "a record's feasibility", &m->feasible, 1);
    const lt_saved_rule rule = m->present ? LT_SAVED_FINITE : LT_SAVED_ANY;
    const lt_saved_number number[] = { { "a record's f", &m->f, rule }, { "a record's mu", &m->mu, rule },
                                       { "a record's tvi", &m->tvi, rule }, { "a record's tve", &m->tve, rule }, { "a record's tv", &m->tv, rule } };
    lt_saved_numbers(io, number, LT_LEN(number));
    lt_saved_reals(io, "a record's x", m->x, r->n, rule);
    lt_saved_reals(io, "a record's constraint", m->c, r->q + r->p, rule);
}

static void walk_kkt(lt_saved *io, lt_run *r, lt_kkt *k, bool known)
{
    lt_saved_flags(io, "a certificate", &known, 1);
    if (io->status || !known) return;
    const lt_saved_number number[] = { { "a KKT residual", &k->residual, LT_SAVED_NUMBER }, { "its stationarity", &k->stationarity, LT_SAVED_NUMBER },
                                       { "its complementarity", &k->complementarity, LT_SAVED_NUMBER }, { "its weight", &k->weight, LT_SAVED_NUMBER } };
    lt_saved_numbers(io, number, LT_LEN(number));
    lt_saved_counts(io, &(lt_saved_count){ "samples of a certificate", &k->n_samples, 1, LT_SAVED_MOST }, 1);
    lt_saved_reals(io, "a multiplier", k->multiplier, r->q + r->p, LT_SAVED_NUMBER);
    if (k->bound) lt_saved_reals(io, "a bound's multiplier", k->bound, r->n, LT_SAVED_NUMBER);
    if (!io->writing && !io->status) k->known = true;
}

/* A run may go on with more patience, or with none: what it has no use for is read into memory that nothing is in yet. */
static void walk_patience(lt_saved *io, lt_run *r)
{
    lt_patience unused = { .met = { .x = lt_vectors_stage(&r->vectors, r->trial->x), .c = r->trial->c } };
    lt_patience *p = r->opt.patience ? &r->patience : &unused;
    bool kept = r->opt.patience > 0;
    lt_saved_flags(io, "patience", &kept, 1);
    if (io->status || !kept) return;
    walk_record(io, r, &p->met);
    const lt_saved_rule rule = p->met.present ? LT_SAVED_FINITE : LT_SAVED_ANY;
    const lt_saved_number number[] = { { "stationarity where met", &p->stat.value, LT_SAVED_ANY },
                                       { "stationarity without weight where met", &p->stat.unweighted, LT_SAVED_ANY },
                                       { "stationarity by mu where met", &p->stat.normalised, LT_SAVED_ANY },
                                       { "f at the last fall", &p->f, rule }, { "the violation at the last fall", &p->violation, rule } };
    lt_saved_numbers(io, number, LT_LEN(number));
    lt_saved_counts(io, &(lt_saved_count){ "idle steps", &p->idle, 0, LT_SAVED_MOST }, 1);
    lt_saved_flags(io, "met since", &p->met_since, 1);
    walk_kkt(io, r, &r->certification.met, r->certification.met.known);
}

/* What was found out about cur, perhaps from gradients that are gone. */
static void walk_certificate(lt_saved *io, lt_run *r)
{
    lt_kkt *k = &r->certification.now;
    walk_kkt(io, r, k, k->known && r->certification.iter == r->iter);
    if (!io->writing && !io->status && k->known) r->certification.iter = r->iter;
}

/* A direction that waits is written whole; there is memory for it only from then on. */
static void walk_recovery(lt_saved *io, lt_run *r)
{
    lt_recovery *c = &r->recovery;
    const lt_saved_count count[] = { { "recoveries", &c->n_used, 0, LT_SAVED_MOST }, { "the iteration recovery waits for", &c->wait_until, 0, LT_SAVED_MOST } };
    const lt_saved_number number[] = { { "f at the last recovery", &c->f, LT_SAVED_FINITE }, { "the violation at the last recovery", &c->violation, LT_SAVED_FINITE } };
    lt_saved_counts(io, count, LT_LEN(count));
    lt_saved_numbers(io, number, LT_LEN(number));
    lt_saved_int(io, "the stage of recovery", &c->stage, 0, LT_RECOVERY_STAGES);
    lt_saved_flags(io, "a recovery begun", &c->begun, 1);
    lt_saved_flags(io, "a step back", &c->back, 1);
    lt_saved_flags(io, "a direction of recovery", &c->directed, 1);
    lt_saved_flags(io, "a step away", &c->away, 1);
    if (io->status || !(c->directed || c->away)) return;
    if (!c->direction && !(c->direction = lt_malloc((size_t)r->n * sizeof *c->direction))) io->status = LT_ERR_MEMORY;
    if (!io->status) lt_saved_reals(io, "an entry of a direction", c->direction, r->n, LT_SAVED_FINITE);
}

static void walk_pairs(lt_saved *io, lt_hessian *h)
{
    const lt_saved_count count[] = { { "pairs", &h->count, 0, h->capacity }, { "the newest pair", &h->newest, 0, h->capacity - 1 } };
    lt_saved_counts(io, count, LT_LEN(count));
    lt_saved_expect(io, h->count == h->capacity || h->newest == (h->count - 1 + h->capacity) % h->capacity,
                    "the newest of %lld pairs is %lld", (long long)h->count, (long long)h->newest);
    for (int64_t age = 0; age < h->count && !io->status; age++) {
        int64_t at = (h->newest - age + h->capacity) % h->capacity;
        if (!io->writing) h->row[at] = at, h->users[at] = 1;
        lt_saved_reals(io, "a pair's step", lt_hessian_step(h, at), h->n, LT_SAVED_FINITE);
        lt_saved_reals(io, "a pair's change", h->Y + at * h->n, h->n, LT_SAVED_FINITE);
        lt_saved_reals(io, "a pair's rho", h->rho + at, 1, LT_SAVED_FINITE);
    }
}

/* What H begins anew with. */
static void walk_metric(lt_saved *io, lt_run *r)
{
    bool present = r->hessian.metric != NULL;
    double *metric = r->hessian.metric;
    lt_saved_flags(io, "scales of the variables", &present, 1);
    if (io->status || !present) return;
    if (!io->writing && !(metric = lt_arena_alloc(&r->arena, (size_t)r->n * sizeof *metric))) io->status = LT_ERR_MEMORY;
    if (!io->status) lt_saved_reals(io, "a variable's scale", metric, r->n, LT_SAVED_FINITE);
    r->hessian.metric = io->status ? NULL : metric;
}

static void walk_hessian(lt_saved *io, lt_hessian *h)
{
    const int64_t most = LT_SAVED_MOST;
    lt_bfgs_counts *c = &h->counts;
    const lt_saved_count count[] = { { "updates asked for", &c->requests, 0, most }, { "updates", &c->updates, 0, most },
                                     { "damped requests", &c->damped_requests, 0, most }, { "damped updates", &c->damped_updates, 0, most },
                                     { "scalings skipped", &c->scaling_skips, 0, most }, { "updates without curvature", &c->sty_fails, 0, most },
                                     { "updates that were not finite", &c->infnan_fails, 0, most } };
    lt_saved_counts(io, count, LT_LEN(count));
    lt_saved_flags(io, "scaling pending", &h->scale_pending, 1);
    lt_saved_reals(io, "the scale of H", &h->gamma, 1, LT_SAVED_FINITE);
    if (h->limited) {
        walk_pairs(io, h);
        return;
    }
    lt_saved_reals(io, "the trace of H", &h->trace, 1, LT_SAVED_ANY);
    lt_hessian_fill(h);
    lt_saved_reals(io, "an entry of H", h->lower, lt_packed_row(h->n), LT_SAVED_ANY);
}

/* Reading comes before H goes to a device; writing takes a copy from the device. */
static void walk_host_hessian(lt_saved *io, lt_run *r)
{
    lt_hessian host;
    if (!r->hessian.device) walk_hessian(io, &r->hessian);
    else if (!io->status && !(io->status = lt_device_hessian_borrow(&r->hessian, &host))) {
        walk_hessian(io, &host);
        lt_device_hessian_return(&host);
    }
}

/* Where columns stand, and those that stand once. */
static void walk_columns(lt_saved *io, lt_run *r)
{
    lt_products *p = &r->products;
    lt_columns *c = &p->columns;
    lt_saved_flags(io, "a shared gradient", c->is_shared, r->k);
    lt_saved_flags(io, "shared gradients known", &c->decided, 1);
    lt_saved_int(io, "changes of shared gradients", &c->n_changes, 0, INT32_MAX / 2);
    lt_saved_flags(io, "products of shared gradients", &p->shared_valid, 1);
    lt_saved_expect(io, !c->is_shared[0], "the objective's gradient is called shared");
    if (io->status) return;
    if (!io->writing) {
        lt_columns_arrange(c);
        lt_saved_expect(io, !c->n_shared || r->cache.count, "gradients of no sample are called shared");
        lt_saved_expect(io, !p->shared_valid || !lt_products_keeps_none(r), "products that limited memory does not keep");
        if (!io->status && c->n_shared && !p->shares)
            io->status = LT_FAIL(LT_ERR_MISMATCH, "checkpoint: some gradients are kept once for all samples; with vectors on a device that is not "
                                 "done: go on with vectors_on=host");
        if (!io->status) io->status = lt_products_make_room(r);
    }
    if (p->shared_valid && !io->status) lt_saved_reals(io, "a product", p->HG, c->n_shared * r->n, LT_SAVED_ANY);
}

/* Points that steps describe are written as points, since the run that goes on may keep them otherwise; in one that does not, their
   steps are gone. */
static void walk_trail_point(lt_saved *io, lt_run *r, int64_t age)
{
    const lt_cache *c = &r->cache;
    const int64_t slot = lt_cache_slot(c, age);
    const bool oldest = age == c->live - 1;
    double *z = lt_run_work(r);
    if (io->writing) {
        if (oldest) memcpy(z, c->trail.start, (size_t)r->n * sizeof *z);
        else lt_trail_advance(c, slot, 0, r->n, z);
    }
    lt_saved_reals(io, "a sample's point", z, r->n, LT_SAVED_ANY);
    if (io->writing || io->status) return;
    if (oldest) lt_trail_begin(c, z);
    else lt_trail_add_point(c, slot, z);
}

/* From the oldest sample that is still needed to the newest. */
static void walk_sample_vectors(lt_saved *io, lt_run *r)
{
    lt_cache *c = &r->cache;
    for (int64_t age = c->live - 1; age >= 0 && !io->status; age--) {
        const int64_t slot = lt_cache_slot(c, age);
        if (c->x) vectors(io, r, "a sample's point", c->x + slot * r->n, 1, LT_SAVED_ANY);
        else walk_trail_point(io, r, age);
        if (c->takes_over && !io->writing) c->grads[slot] = !age && r->cur->sampled ? r->cur->grads : lt_cache_lend(c);
        vectors(io, r, "a sample's gradient", c->grads[slot], r->k, LT_SAVED_ANY);
    }
}

/* A ring that is not full was filled from its first slot. Where samples take over, the oldest of a full one may have left. */
static bool ring_is_whole(const lt_cache *c)
{
    if (c->count < c->capacity) return c->newest == c->count - 1 && c->live == c->count;
    return c->newest >= 0 && (c->live == c->count || c->live == c->count - 1);
}

static bool is_live(const lt_cache *c, int64_t slot) { return (c->newest - slot + c->capacity) % c->capacity < c->live; }

static void walk_ring(lt_saved *io, lt_run *r)
{
    lt_cache *c = &r->cache;
    lt_products *p = &r->products;
    const lt_saved_count count[] = { { "samples", &c->count, 0, c->capacity }, { "samples still needed", &c->live, 0, c->capacity },
                                     { "the newest sample", &c->newest, -1, c->capacity - 1 }, { "samples near", &c->n_near, 0, c->capacity },
                                     { "updates of products", &p->n_updates, 0, LT_SAVED_MOST }, { "the current sample", &p->slot, -1, c->capacity - 1 } };
    lt_saved_counts(io, count, LT_LEN(count));
    lt_saved_expect(io, ring_is_whole(c), "the newest of %lld samples is %lld, and %lld are needed", (long long)c->count, (long long)c->newest,
                    (long long)c->live);
    lt_saved_expect(io, c->n_near <= c->count, "%lld of %lld samples are near", (long long)c->n_near, (long long)c->count);
    lt_saved_expect(io, p->slot < 0 || p->slot == c->newest, "the current sample is %lld, the newest %lld", (long long)p->slot, (long long)c->newest);
    lt_saved_expect(io, c->live || !r->cur->sampled, "the current point is called a sample, of which there is none");
}

/* Products are kept of samples that are needed, and not at all in limited memory on the host. */
static void walk_valid(lt_saved *io, lt_run *r)
{
    lt_products *p = &r->products;
    lt_saved_flags(io, "a sample's products", p->valid, r->cache.count);
    for (int64_t slot = 0; slot < r->cache.count && !io->status; slot++)
        lt_saved_expect(io, !p->valid[slot] || (is_live(&r->cache, slot) && !lt_products_keeps_none(r)), "products of sample %lld, which has none",
                        (long long)slot);
}

static void walk_products(lt_saved *io, lt_run *r)
{
    lt_products *p = &r->products;
    for (int64_t slot = 0; slot < r->cache.count && !io->status; slot++) {
        if (!p->valid[slot]) continue;
        if (!io->writing) lt_products_take_block(p, slot); /* laid out anew, in order */
        vectors(io, r, "a product", lt_column_HG(r, lt_columns_first(&p->columns, slot)), p->columns.n_own, LT_SAVED_ANY);
    }
    const int64_t columns = lt_columns_first(&p->columns, r->cache.count);
    for (int64_t i = 0; lt_products_carries_Q(p) && i < columns && !io->status; i++)
        lt_saved_reals(io, "an entry of Q", lt_entry_Q(r, i, 0), columns, LT_SAVED_ANY);
}

static void walk_samples(lt_saved *io, lt_run *r)
{
    lt_cache *c = &r->cache;
    walk_ring(io, r);
    lt_saved_reals(io, "the noise of products", &r->products.noise, 1, LT_SAVED_ANY);
    if (io->status) return;
    walk_sample_vectors(io, r);
    lt_saved_reals(io, "a bound", c->bound, c->count, LT_SAVED_ANY);
    lt_saved_reals(io, "a bound", c->least, c->count, LT_SAVED_ANY);
    lt_saved_ascending(io, "a sample near", c->near_, c->n_near, c->count);
    lt_saved_reals(io, "an answer", r->stat.y_of_slot, c->count * r->k, LT_SAVED_FINITE);
    walk_valid(io, r);
    walk_columns(io, r);
    walk_products(io, r);
}

static void walk_row(lt_saved *io, lt_history_row *h)
{
    const int64_t most = LT_SAVED_MOST;
    const lt_saved_count count[] = { { "a row's iteration", &h->iter, 0, most }, { "a row's evaluations", &h->evals, 0, most } };
    const lt_saved_number number[] = { { "a row's mu", &h->mu, LT_SAVED_FINITE }, { "a row's phi", &h->phi, LT_SAVED_FINITE },
                                       { "a row's f", &h->f, LT_SAVED_FINITE }, { "a row's tvi", &h->tvi, LT_SAVED_FINITE },
                                       { "a row's tve", &h->tve, LT_SAVED_FINITE }, { "a row's step", &h->t, LT_SAVED_FINITE },
                                       { "a row's stationarity", &h->stat, LT_SAVED_ANY },
                                       { "a row's stationarity without weight", &h->stat_unweighted, LT_SAVED_ANY } };
    lt_saved_counts(io, count, LT_LEN(count));
    lt_saved_numbers(io, number, LT_LEN(number));
    lt_saved_int(io, "a row's level", &h->level, LT_LEVEL_STEERING, LT_LEVEL_RANDOM);
    lt_saved_int(io, "a row's attempts", &h->qp_attempts, 0, 4);
    lt_saved_counts(io, &(lt_saved_count){ "a row's samples", &h->n_gradients, 0, most }, 1);
    lt_saved_reals(io, "a row's seconds", &h->seconds, 1, LT_SAVED_FINITE);
}

/* This run may keep fewer rows (another max_iterations): the first ones then. */
static void walk_history(lt_saved *io, lt_run *r)
{
    int64_t count = r->history.n;
    const int64_t most = io->writing ? count : (io->end - io->at) / (int64_t)sizeof *r->history.row;
    const lt_saved_count field[] = { { "rows of history", &count, 0, most }, { "iterations of a row", &r->history.step, 1, LT_SAVED_MOST } };
    lt_saved_counts(io, field, LT_LEN(field));
    if (io->status) return;
    const int64_t kept = LT_MIN(count, r->history.capacity);
    for (int64_t i = 0; i < kept; i++) walk_row(io, &r->history.row[i]);
    if (io->writing) return;
    r->history.n = kept;
    lt_saved_skip(io, (size_t)(count - kept) * sizeof *r->history.row);
}

static void walk_linear(lt_saved *io, lt_run *r)
{
    lt_evaluator *e = r->evaluator;
    const int64_t rows[2] = { r->p, r->q };
    for (int k = 0; k < 2; k++) {
        bool known = e->linear_known[k];
        lt_saved_flags(io, "linear gradients known", &known, 1);
        if (io->status || !known || !e->linear[k]) continue;
        lt_saved_reals(io, "a linear gradient", e->linear[k], rows[k] * r->n, LT_SAVED_ANY);
        e->linear_known[k] = !io->status;
    }
}

static void walk(lt_saved *io, lt_run *r)
{
    if (io->writing) lt_vectors_settle(&r->vectors); /* records arrive with a wait */
    walk_shape(io, r);
    lt_resumed_walk(io, r);
    walk_counts(io, r);
    walk_point(io, r);
    walk_record(io, r, &r->best);
    walk_record(io, r, &r->most_feasible);
    walk_patience(io, r);
    walk_recovery(io, r);
    walk_certificate(io, r);
    walk_metric(io, r);
    walk_host_hessian(io, r);
    lt_saved_flags(io, "an answer of steering", &r->steering.warm, 1);
    if (r->constrained) lt_saved_reals(io, "steering's answer", r->steering.sub.y, r->q + r->p, r->steering.warm ? LT_SAVED_FINITE : LT_SAVED_ANY);
    walk_samples(io, r);
    walk_linear(io, r);
    walk_history(io, r);
}

lt_status lt_checkpoint_write(lt_run *r, const char *path)
{
    lt_span span = lt_span_begin("checkpoint");
    lt_saved io;
    lt_saved_create(&io, path);
    walk(&io, r);
    lt_status s = lt_saved_commit(&io);
    lt_span_end(span);
    return s;
}

lt_status lt_checkpoint_read(lt_run *r, const char *path)
{
    lt_saved io;
    lt_saved_open(&io, path);
    walk(&io, r);
    LT_TRY(lt_saved_close(&io));
    lt_sample_retire(r); /* unless the run that wrote it has */
    r->cur->has_gradients = true;
    lt_point_measure(r, r->cur);
    lt_point_gradients(r, r->cur);
    lt_penalty_restore(r);
    LT_TRY(lt_record_start(r));
    lt_regularize(r);
    return LT_OK;
}
