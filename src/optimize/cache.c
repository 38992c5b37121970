/* The last iterates and their gradients: a ring, with bounds on each sample's distance so that few
   distances have to be computed. SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/solver.h"
#include "optimize/vectors/vector.h"

#include "base/alloc.h"
#include "base/status.h"

#include <math.h>
#include <string.h>

/* ---- Memory ------------------------------------------------------------------------------------- */
/* Not where a device writes gradients into memory of its own choice, nor where the rule of the reference looks at
   samples already replaced; and a single sample would give its memory away while it is the current point. */
bool lt_cache_may_take_over(const lt_run *r) { return !r->evaluator->exchange && !r->opt.compat && r->opt.ngrad > 1; }

/* Taken whole: one for each sample, and three for points that are none. Their pages are used as they fill. */
static lt_status create_blocks(lt_cache *c)
{
    const int64_t blocks = c->capacity + (c->takes_over ? 3 : 0);
    c->block = c->takes_over ? (c->k * c->n + 7) / 8 * 8 : c->k * c->n;
    c->grads = lt_malloc((size_t)c->capacity * sizeof *c->grads);
    c->spare = lt_malloc((size_t)blocks * sizeof *c->spare);
    if (c->vectors) LT_TRY(lt_vectors_take(c->vectors, blocks * c->block, "gradients of samples", &c->memory));
    else c->memory = lt_malloc_aligned((size_t)(blocks * c->block) * sizeof(double));
    if (!c->grads || !c->spare || !c->memory) return LT_ERR_MEMORY;
    for (int64_t i = 0; i < c->capacity; i++) c->grads[i] = c->takes_over ? NULL : c->memory + i * c->block;
    return LT_OK;
}

static lt_status create_points(lt_run *r, lt_cache *c)
{
    if (lt_trail_wanted(r)) return lt_trail_create(r, &c->trail);
    if (r->vectors) return lt_vectors_take(r->vectors, c->capacity * c->n, "samples", &c->x);
    c->x = lt_malloc_aligned((size_t)(c->capacity * c->n) * sizeof(double));
    return c->x ? LT_OK : LT_ERR_MEMORY;
}

lt_status lt_cache_create(lt_run *r)
{
    lt_cache *c = &r->cache;
    const int64_t slots = r->opt.ngrad;
    *c = (lt_cache){ .n = r->n, .k = r->k, .capacity = slots, .newest = -1, .radius = r->opt.evaldist, .compat = r->opt.compat,
                     .takes_over = lt_cache_may_take_over(r), .vectors = r->vectors };
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
    if (!c->vectors) { /* else it goes with them */
        lt_free_aligned(c->x);
        lt_free_aligned(c->memory);
    }
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

/* The reference measures all samples that seem to have left at once, as the Frobenius norm of their
   stored points. Those are wrong while the ring fills (see place), and so is the way moved since the
   last of them: rarely right, but it decides published runs. */
static void remeasure_compat(lt_cache *c)
{
    double sum = 0;
    for (int64_t i = 0; i < c->count; i++)
        if (c->bound[i] > c->radius) sum += lt_vec_dot(c->n, c->x + i * c->n, c->x + i * c->n);
    double norm = sqrt(sum);
    for (int64_t i = 0; i < c->count; i++)
        if (c->bound[i] > c->radius) c->bound[i] = norm;
}

static bool may_have_crossed(const lt_cache *c, int64_t i) { return c->bound[i] > c->radius && c->least[i] <= c->radius; }

static void ask_for_doubtful(lt_cache *c)
{
    for (int64_t i = 0; i < c->count; i++) c->trail.wanted[i] = may_have_crossed(c, i);
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
        for (int64_t i = 0; c->vectors && i < c->count; i++)
            if (may_have_crossed(c, i)) lt_vectors_expect(c->vectors, LT_MEASURE_SQUARES, c->x + i * c->n, x);
        for (int64_t i = 0; i < c->count; i++)
            if (may_have_crossed(c, i)) c->bound[i] = c->least[i] = lt_space_distance(c->vectors, c->n, c->x + i * c->n, x);
    }
}

/* The way from the newest sample to x. */
static double distance_moved(const lt_cache *c, const double *x, const double *left)
{
    if (c->x) return lt_space_distance(c->vectors, c->n, x, c->x + c->newest * c->n);
    return left ? lt_vec_distance(c->n, x, left) : lt_trail_distance(c, x);
}

/* The next step is likely not much longer than the last one. Sums over this many numbers cost next to nothing. */
void lt_cache_foresee(const lt_cache *c, const double *x)
{
    const int64_t numbers = 1 << 19;
    int64_t left = LT_MAX(numbers / c->n, 4);
    if (!c->count) return;
    lt_vectors_expect(c->vectors, LT_MEASURE_SQUARES, x, c->x + c->newest * c->n);
    for (int64_t i = 0; i < c->count && left; i++)
        if (i != c->newest && c->least[i] <= c->radius + 2 * c->moved && c->bound[i] + 2 * c->moved > c->radius) {
            lt_vectors_expect(c->vectors, LT_MEASURE_SQUARES, x, c->x + i * c->n);
            left--;
        }
}

/* ---- Samples ------------------------------------------------------------------------------------ */
static void place_point(lt_cache *c, const double *x, bool filling)
{
    if (!c->x) { /* how it was reached is told when the step has found its place */
        if (c->live == 1) lt_trail_begin(c, x);
        return;
    }
    double *at = c->x + c->newest * c->n;
    lt_space_copy(c->vectors, c->n, x, at);
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
    double *to = c->grads[c->newest];
    if (!c->vectors) memcpy(to, p->grads, (size_t)(c->k * c->n) * sizeof *to);
    for (int64_t j = 0; c->vectors && j < c->k; j++) lt_space_copy(c->vectors, c->n, p->grads + j * c->n, to + j * c->n);
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
