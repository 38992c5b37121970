/* Checkpoints: everything a run needs to go on as if it had never stopped, bit for bit. One walk over
   the state serves both directions, so that what is written is what is read.
   SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/device/far.h"
#include "optimize/vectors/products.h"

#include "base/alloc.h"
#include "base/files/file.h"
#include "base/hash.h"
#include "base/status.h"
#include "trace/clock.h"
#include "trace/trace.h"

#include <string.h>

static const char magic[] = "lathe checkpoint 5\n";
#define FILE_LIMIT ((size_t)1 << 40)

typedef struct stream {
    bool   writing;
    lt_status status;      /* the first failure; later items are skipped */
    lt_atomic_file file;   /* writing */
    lt_sha256 hash;
    const char *at, *end;  /* reading: what is left of the body */
} stream;

static void item(stream *io, void *data, size_t bytes)
{
    if (io->status || !bytes) return;
    if (io->writing) {
        lt_sha256_add(&io->hash, data, bytes);
        io->status = lt_atomic_write(&io->file, data, bytes);
    } else if ((size_t)(io->end - io->at) < bytes) {
        io->status = LT_FAIL(LT_ERR_FORMAT, "checkpoint: it ends early");
    } else {
        memcpy(data, io->at, bytes);
        io->at += bytes;
    }
}

static void numbers(stream *io, double *v, int64_t count) { item(io, v, (size_t)count * sizeof *v); }

/* Rows of n numbers, wherever vectors are. */
static void vectors(stream *io, lt_run *r, double *v, int64_t rows)
{
    if (!r->vectors) numbers(io, v, rows * r->n);
    for (int64_t i = 0; r->vectors && !io->status && i < rows; i++) {
        if (io->writing) lt_vectors_get(r->vectors, r->n, v + i * r->n, r->home);
        numbers(io, r->home, r->n);
        if (!io->writing) lt_vectors_put(r->vectors, r->n, r->home, v + i * r->n);
        if (!io->status) io->status = lt_vectors_failure(r->vectors);
    }
}

/* What the arrays' sizes follow from: must be the same in the run that reads. */
typedef struct shape_of_run {
    int64_t n, p, q, ngrad, pairs, compat, single, incremental;
} shape_of_run;

static void walk_shape(stream *io, const lt_run *r)
{
    shape_of_run own = { r->n, r->p, r->q, r->opt.ngrad, r->opt.limited_mem_size, r->opt.compat,
                         !r->opt.double_precision, r->products.incremental }, stored = own;
    item(io, &stored, sizeof stored);
    if (!io->status && memcmp(&own, &stored, sizeof own))
        io->status = LT_FAIL(LT_ERR_MISMATCH,
                             "checkpoint: made with n %lld, p %lld, q %lld, ngrad %lld, limited_mem_size %lld, compat %lld; "
                             "this run has %lld, %lld, %lld, %lld, %lld, %lld",
                             (long long)stored.n, (long long)stored.p, (long long)stored.q, (long long)stored.ngrad,
                             (long long)stored.pairs, (long long)stored.compat, (long long)own.n, (long long)own.p,
                             (long long)own.q, (long long)own.ngrad, (long long)own.pairs, (long long)own.compat);
}

static void walk_counts(stream *io, lt_run *r)
{
    int64_t elapsed = lt_clock_ns() - r->start_ns;
    int64_t *whole[] = { &r->iter, &r->evals, &r->gradient_evals, &r->ls_evals, &r->n_mu_reductions, &r->random_attempts,
                         &r->first_tried, &r->first_passed, &r->steps.last, &r->eval_ns, &r->hessian_ns, &elapsed,
                         &r->steering.sub.n_solved, &r->steering.sub.n_failed, &r->steering.sub.time_ns,
                         &r->stat.sub.n_solved, &r->stat.sub.n_failed, &r->stat.sub.time_ns, &r->stat.n_samples };
    double *real[] = { &r->mu_lowest, &r->rel_diff, &r->alpha, &r->stat.value, &r->stat.unweighted, &r->stat.normalised };
    for (size_t i = 0; i < LT_LEN(whole); i++) item(io, whole[i], sizeof *whole[i]);
    for (size_t i = 0; i < LT_LEN(real); i++) item(io, real[i], sizeof *real[i]);
    item(io, &r->last_level, sizeof r->last_level);
    item(io, &r->stat.attempts, sizeof r->stat.attempts);
    item(io, &r->prescaled, sizeof r->prescaled);
    item(io, &r->rng.position, sizeof r->rng.position);
    numbers(io, r->scale, r->k);
    if (!io->writing) r->start_ns = lt_clock_ns() - elapsed;
}

static void walk_point(stream *io, lt_run *r)
{
    lt_point *x = r->cur;
    numbers(io, &x->f, 1);
    numbers(io, &x->mu, 1);
    vectors(io, r, x->x, 1);
    numbers(io, x->c, r->q + r->p);
    vectors(io, r, x->grads, r->k);
    item(io, &x->sampled, sizeof x->sampled);
    x->sampled = x->sampled && r->cache.takes_over;
}

static void walk_record(stream *io, const lt_run *r, lt_record *m)
{
    item(io, &m->present, sizeof m->present);
    item(io, &m->feasible, sizeof m->feasible);
    double *real[] = { &m->f, &m->mu, &m->tvi, &m->tve, &m->tv };
    for (size_t i = 0; i < LT_LEN(real); i++) numbers(io, real[i], 1);
    numbers(io, m->x, r->n);
    numbers(io, m->c, r->q + r->p);
}

/* A run may go on with more patience, or with none: what it has no use for is read into memory that nothing is in yet. */
static void walk_patience(stream *io, lt_run *r)
{
    lt_patience unused = { .met = { .x = r->vectors ? r->home : r->trial->x, .c = r->trial->c } };
    lt_patience *p = r->opt.opt_patience ? &r->patience : &unused;
    bool kept = r->opt.opt_patience > 0;
    item(io, &kept, sizeof kept);
    if (!kept) return;
    walk_record(io, r, &p->met);
    item(io, &p->stat, sizeof p->stat);
    numbers(io, &p->f, 1);
    numbers(io, &p->violation, 1);
    item(io, &p->idle, sizeof p->idle);
    item(io, &p->met_since, sizeof p->met_since);
}

static void walk_hessian(stream *io, lt_hessian *h)
{
    item(io, &h->counts, sizeof h->counts);
    item(io, &h->scale_pending, sizeof h->scale_pending);
    numbers(io, &h->gamma, 1);
    if (!h->limited) {
        numbers(io, &h->trace, 1);
        lt_hessian_fill(h);
        numbers(io, h->lower, lt_packed_row(h->n));
        return;
    }
    item(io, &h->count, sizeof h->count);
    item(io, &h->newest, sizeof h->newest);
    if (!io->status && (h->count < 0 || h->count > h->capacity || h->newest < 0 || h->newest >= h->capacity))
        io->status = LT_FAIL(LT_ERR_FORMAT, "checkpoint: %lld pairs of %lld", (long long)h->count, (long long)h->capacity);
    if (io->status) return;
    for (int64_t age = 0; age < h->count; age++) {
        int64_t at = (h->newest - age + h->capacity) % h->capacity;
        if (!io->writing) h->row[at] = at, h->users[at] = 1;
        numbers(io, lt_hessian_step(h, at), h->n);
        numbers(io, h->Y + at * h->n, h->n);
        numbers(io, h->rho + at, 1);
    }
}

/* Reading comes before H goes to a device; writing takes a copy from there. */
static void walk_host_hessian(stream *io, lt_run *r)
{
    lt_hessian host;
    if (!r->hessian.far) walk_hessian(io, &r->hessian);
    else if (!io->status && !(io->status = lt_far_borrow(&r->hessian, &host))) {
        walk_hessian(io, &host);
        lt_far_return(&host);
    }
}

/* Where columns stand, and those that stand once. */
static void walk_columns(stream *io, lt_run *r)
{
    lt_products *p = &r->products;
    lt_columns *c = &p->columns;
    item(io, c->is_shared, (size_t)r->k * sizeof *c->is_shared);
    item(io, &c->decided, sizeof c->decided);
    item(io, &c->n_changes, sizeof c->n_changes);
    item(io, &p->shared_valid, sizeof p->shared_valid);
    if (io->status) return;
    if (!io->writing) {
        c->is_shared[0] = false;
        lt_columns_arrange(c);
        io->status = lt_products_make_room(r);
    }
    if (p->shared_valid) numbers(io, p->HG, c->n_shared * r->n);
}

/* Points that steps tell are written as points, since the run that goes on may keep them otherwise; in one that does not, their
   steps are gone. */
static void walk_told_point(stream *io, lt_run *r, int64_t age)
{
    const lt_cache *c = &r->cache;
    const int64_t slot = lt_cache_slot(c, age);
    const bool oldest = age == c->live - 1;
    double *z = lt_run_work(r);
    if (io->writing) {
        if (oldest) memcpy(z, c->trail.start, (size_t)r->n * sizeof *z);
        else lt_trail_advance(c, slot, 0, r->n, z);
    }
    numbers(io, z, r->n);
    if (io->writing || io->status) return;
    if (oldest) lt_trail_begin(c, z);
    else lt_trail_add_point(c, slot, z);
}

/* From the oldest sample that is still needed to the newest. */
static void walk_sample_vectors(stream *io, lt_run *r)
{
    lt_cache *c = &r->cache;
    for (int64_t age = c->live - 1; age >= 0 && !io->status; age--) {
        const int64_t slot = lt_cache_slot(c, age);
        if (c->x) vectors(io, r, c->x + slot * r->n, 1);
        else walk_told_point(io, r, age);
        if (c->takes_over && !io->writing) c->grads[slot] = !age && r->cur->sampled ? r->cur->grads : lt_cache_lend(c);
        vectors(io, r, c->grads[slot], r->k);
    }
}

static void walk_samples(stream *io, lt_run *r)
{
    lt_cache *c = &r->cache;
    lt_products *p = &r->products;
    int64_t *whole[] = { &c->count, &c->live, &c->newest, &c->n_near, &p->n_updates, &p->slot };
    for (size_t i = 0; i < LT_LEN(whole); i++) item(io, whole[i], sizeof *whole[i]);
    if (!io->status && (c->count < 0 || c->count > c->capacity || c->live < 0 || c->live > c->count || c->n_near < 0 || c->n_near > c->count
                        || c->newest < -1 || c->newest >= c->count || p->slot < -1 || p->slot >= c->count))
        io->status = LT_FAIL(LT_ERR_FORMAT, "checkpoint: %lld samples of %lld", (long long)c->count, (long long)c->capacity);
    if (io->status) return;
    numbers(io, &p->noise, 1);
    walk_sample_vectors(io, r);
    numbers(io, c->bound, c->count);
    numbers(io, c->least, c->count);
    item(io, c->near_, (size_t)c->n_near * sizeof *c->near_);
    numbers(io, r->stat.y_of_slot, c->count * r->k);
    item(io, p->valid, (size_t)c->count * sizeof *p->valid);
    walk_columns(io, r);
    for (int64_t slot = 0; slot < c->count && !io->status; slot++) {
        if (!p->valid[slot]) continue;
        if (!io->writing) lt_products_take_place(p, slot); /* laid out anew, in order */
        vectors(io, r, lt_column_HG(r, lt_columns_first(&p->columns, slot)), p->columns.n_own);
    }
    const int64_t columns = lt_columns_first(&p->columns, c->count);
    for (int64_t i = 0; lt_products_carries_Q(p) && i < columns && !io->status; i++) numbers(io, lt_entry_Q(r, i, 0), columns);
}

static void walk_history(stream *io, lt_run *r)
{
    int64_t count = r->n_history, step = r->history_step;
    item(io, &count, sizeof count);
    item(io, &step, sizeof step);
    if (io->status || io->writing) {
        item(io, r->history, (size_t)count * sizeof *r->history);
        return;
    }
    if (count < 0 || step < 1 || (size_t)(io->end - io->at) / sizeof *r->history < (size_t)count) {
        io->status = LT_FAIL(LT_ERR_FORMAT, "checkpoint: a history of %lld rows", (long long)count);
        return;
    }
    /* This run may keep fewer rows (another maxit): the first ones then. */
    int64_t kept = LT_MIN(count, r->history_capacity);
    r->n_history = kept;
    r->history_step = step;
    item(io, r->history, (size_t)kept * sizeof *r->history);
    io->at += (size_t)(count - kept) * sizeof *r->history;
}

static void walk_linear(stream *io, lt_run *r)
{
    lt_evaluator *e = r->evaluator;
    const int64_t rows[2] = { r->p, r->q };
    for (int k = 0; k < 2; k++) {
        bool known = e->linear_known[k];
        item(io, &known, sizeof known);
        if (!known || !e->linear[k]) continue;
        numbers(io, e->linear[k], rows[k] * r->n);
        e->linear_known[k] = true;
    }
}

static void walk(stream *io, lt_run *r)
{
    if (io->writing && r->vectors) lt_vectors_settle(r->vectors); /* records arrive with a wait */
    walk_shape(io, r);
    walk_counts(io, r);
    walk_point(io, r);
    walk_record(io, r, &r->best);
    walk_record(io, r, &r->most_feasible);
    walk_patience(io, r);
    walk_host_hessian(io, r);
    item(io, &r->steering.warm, sizeof r->steering.warm);
    if (r->constrained) numbers(io, r->steering.sub.y, r->q + r->p);
    walk_samples(io, r);
    walk_linear(io, r);
    walk_history(io, r);
}

lt_status lt_checkpoint_write(lt_run *r, const char *path)
{
    lt_span span = lt_span_begin("checkpoint");
    stream io = { .writing = true };
    lt_sha256_start(&io.hash);
    io.status = lt_atomic_open(path, &io.file);
    if (!io.status) io.status = lt_atomic_write(&io.file, magic, sizeof magic - 1);
    walk(&io, r);
    lt_digest digest = lt_sha256_finish(&io.hash);
    if (!io.status) io.status = lt_atomic_write(&io.file, &digest, sizeof digest);
    if (!io.status) io.status = lt_atomic_commit(&io.file);
    else lt_atomic_cancel(&io.file);
    lt_span_end(span);
    return io.status;
}

static lt_status check_file(const char *path, const char *data, size_t bytes)
{
    static const char any[] = "lathe checkpoint ";
    size_t head = sizeof magic - 1;
    if (bytes < head || memcmp(data, any, sizeof any - 1)) return LT_FAIL(LT_ERR_FORMAT, "'%s' is no checkpoint", path);
    if (memcmp(data, magic, head))
        return LT_FAIL(LT_ERR_FORMAT, "'%s' is a checkpoint of another version of lathe: only that version can go on from it", path);
    if (bytes < head + sizeof(lt_digest)) return LT_FAIL(LT_ERR_FORMAT, "'%s' ends early", path);
    lt_digest digest = lt_sha256_of(data + head, bytes - head - sizeof(lt_digest));
    if (memcmp(&digest, data + bytes - sizeof digest, sizeof digest))
        return LT_FAIL(LT_ERR_FORMAT, "'%s' is damaged: its digest does not match", path);
    return LT_OK;
}

lt_status lt_checkpoint_read(lt_run *r, const char *path)
{
    char *data;
    size_t bytes;
    LT_TRY(lt_file_read(path, FILE_LIMIT, &data, &bytes));
    stream io = { .status = check_file(path, data, bytes), .at = data + sizeof magic - 1 };
    io.end = io.status ? io.at : data + bytes - sizeof(lt_digest);
    walk(&io, r);
    if (!io.status && io.at != io.end) io.status = LT_FAIL(LT_ERR_FORMAT, "'%s' is longer than expected", path);
    lt_free(data);
    if (io.status) return io.status;
    lt_sample_retire(r); /* unless the run that wrote it has */
    r->cur->has_gradients = true;
    lt_point_measure(r, r->cur);
    lt_point_gradients(r, r->cur);
    lt_penalty_restore(r);
    LT_TRY(lt_record_start(r));
    lt_regularize(r);
    return LT_OK;
}
