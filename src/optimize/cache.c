/* The last iterates and their gradients: a ring, with bounds on each sample's distance so that few
   distances have to be computed. SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/solver.h"
#include "optimize/vectors/vector.h"

#include "base/alloc.h"
#include "base/status.h"

#include <math.h>
#include <string.h>

/* ---- Memory ------------------------------------------------------------------------------------- */
/* Not where a device writes gradients into memory of its own choice, nor where PyGRANSO's rule looks at
   samples already replaced; and a single sample would give its memory away while it is the current point. */
bool lt_cache_may_take_over(const lt_run *r) { return !r->evaluator->on_device && !r->opt.compat && r->opt.max_samples > 1; }

/* Taken whole: one for each sample, and three for points that are not samples. Their pages are used as they fill. */
static lt_status create_blocks(lt_cache *c)
{
    const int64_t blocks = c->capacity + (c->takes_over ? 3 : 0);
    c->block = c->takes_over ? (c->k * c->n + 7) / 8 * 8 : c->k * c->n;
    c->grads = lt_malloc((size_t)c->capacity * sizeof *c->grads);
    c->spare = lt_malloc((size_t)blocks * sizeof *c->spare);
    if (!c->grads || !c->spare) return LT_ERR_MEMORY;
    LT_TRY(c->vectors->on->take_block(c->vectors, blocks * c->block, "gradients of samples", &c->memory));
    for (int64_t i = 0; i < c->capacity; i++) c->grads[i] = c->takes_over ? NULL : c->memory + i * c->block;
    return LT_OK;
}

static lt_status create_points(lt_run *r, lt_cache *c)
{
    if (lt_trail_wanted(r)) return lt_trail_create(r, &c->trail);
    return c->vectors->on->take_block(c->vectors, c->capacity * c->n, "samples", &c->x);
}

lt_status lt_cache_create(lt_run *r)
{
    lt_cache *c = &r->cache;
    const int64_t slots = r->opt.max_samples;
    *c = (lt_cache){ .n = r->n, .k = r->k, .capacity = slots, .newest = -1, .radius = r->opt.sample_radius, .compat = r->opt.compat,
                     .takes_over = lt_cache_may_take_over(r), .vectors = &r->vectors };
    LT_TRY(create_points(r, c));
    LT_TRY(create_blocks(c));
    c->bound = lt_arena_alloc(&r->arena, (size_t)(2 * slots) * sizeof *c->bound);
    c->near_ = lt_arena_alloc(&r->arena, (size_t)slots * sizeof *c->near_);
    r->stat.y_of_slot = lt_calloc((size_t)(slots * r->k), sizeof(double));
    if (!c->bound || !c->near_ || !r->stat.y_of_slot) return LT_ERR_MEMORY;
    c->least = c->bound + slots;
    return LT_OK;
}

void lt_cache_release(lt_cache *c)
{
    if (!c->vectors) return; /* not made yet */
    c->vectors->on->give_block(c->vectors, c->x);
    c->vectors->on->give_block(c->vectors, c->memory);
    lt_trail_release(&c->trail);
    lt_free(c->grads);
    lt_free(c->spare);
    c->x = c->memory = NULL;
    c->grads = c->spare = NULL;
    c->count = c->live = 0;
}

double *lt_cache_lend(lt_cache *c) { return c->n_spare ? c->spare[--c->n_spare] : c->memory + c->n_fresh++ * c->block; }

int64_t lt_cache_retire(lt_cache *c)
{
    if (!c->takes_over || c->live < c->capacity) return -1;
    const int64_t slot = lt_cache_slot(c, c->live - 1);
    if (!c->x) lt_trail_leave_oldest(c);
    c->spare[c->n_spare++] = c->grads[slot];
    c->bound[slot] = c->least[slot] = INFINITY;
    c->live--;
    return slot;
}

/* ---- Distances ---------------------------------------------------------------------------------- */
/* The new point is away from the one before by `moved`, and that from sample i by least to bound. */
static void move_bounds(lt_cache *c, double moved)
{
    for (int64_t i = 0; i < c->count; i++) {
        c->least[i] = fmax(c->least[i] - moved, moved - c->bound[i]);
        c->bound[i] += moved;
    }
}

/* PyGRANSO measures all samples that seem to have left at once, as the Frobenius norm of their
   stored points. Those are wrong while the ring fills (see place), and so is the way moved since the
   last of them: it is rarely right, but published runs depend on it. */
static void remeasure_compat(lt_cache *c)
{
    double sum = 0;
    for (int64_t i = 0; i < c->count; i++)
        if (c->bound[i] > c->radius) sum += lt_vec_dot(c->n, c->x + i * c->n, c->x + i * c->n);
    double norm = sqrt(sum);
    for (int64_t i = 0; i < c->count; i++)
        if (c->bound[i] > c->radius) c->bound[i] = norm;
}

static void ask_for_doubtful(lt_cache *c)
{
    for (int64_t i = 0; i < c->count; i++) c->trail.wanted[i] = lt_cache_doubts(c, i);
}

/* Better bounds first: these are cheap for samples as young as most that are in doubt. */
static void remeasure_along_trail(lt_cache *c, const double *x, const double *left)
{
    ask_for_doubtful(c);
    if (left) {
        lt_trail_look_back(c, x, left);
        ask_for_doubtful(c);
    }
    lt_trail_distances(c, x, c->bound);
    for (int64_t i = 0; i < c->count; i++)
        if (c->trail.wanted[i]) c->least[i] = c->bound[i];
}

/* Only samples that may have crossed the radius, by the bounds on both sides. */
static void remeasure(lt_cache *c, const double *x, const double *left)
{
    if (c->compat) remeasure_compat(c);
    else if (!c->x) remeasure_along_trail(c, x, left);
    else {
        lt_foresee_distances(c, x);
        for (int64_t i = 0; i < c->count; i++)
            if (lt_cache_doubts(c, i)) c->bound[i] = c->least[i] = lt_vectors_distance(c->vectors, c->x + i * c->n, x);
    }
}

/* The way from the newest sample to x. */
static double distance_moved(const lt_cache *c, const double *x, const double *left)
{
    if (c->x) return lt_vectors_distance(c->vectors, x, c->x + c->newest * c->n);
    return left ? lt_vec_distance(c->n, x, left) : lt_trail_distance(c, x);
}

/* ---- Samples ------------------------------------------------------------------------------------ */
static void place_point(lt_cache *c, const double *x, bool filling)
{
    if (!c->x) { /* how it was reached is recorded when the step has found its place */
        if (c->live == 1) lt_trail_begin(c, x);
        return;
    }
    double *at = c->x + c->newest * c->n;
    lt_vectors_copy(c->vectors, 1, x, at);
    if (c->compat && filling && c->newest > 0)
        for (int64_t i = 0; i < c->n; i++) at[i] = x[0];
}

static void place_gradients(lt_cache *c, lt_point *p)
{
    if (c->takes_over) {
        c->grads[c->newest] = p->grads;
        p->sampled = true;
        return;
    }
    lt_vectors_copy(c->vectors, c->k, p->grads, c->grads[c->newest]);
}

void lt_cache_insert(lt_cache *c, lt_point *p, const double *left)
{
    const bool filling = c->count < c->capacity;
    if (c->count) {
        c->moved = distance_moved(c, p->x, left);
        move_bounds(c, c->moved);
        remeasure(c, p->x, left);
    }
    c->newest = filling ? c->count++ : (c->newest + 1) % c->capacity;
    c->live = LT_MIN(c->live + 1, c->capacity);
    place_point(c, p->x, filling);
    place_gradients(c, p);
    c->bound[c->newest] = c->least[c->newest] = 0;
    c->n_near = 0;
    for (int64_t i = 0; i < c->count; i++)
        if (c->bound[i] <= c->radius) c->near_[c->n_near++] = i;
}
