/* The last iterates and their gradients: a ring, with bounds on each sample's distance so that few
   distances have to be computed. SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/solver.h"
#include "optimize/vector.h"

#include "base/alloc.h"
#include "base/status.h"

#include <math.h>
#include <string.h>

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

/* Only samples that may have crossed the radius, by the bounds on both sides. */
static void remeasure(lt_cache *c, const double *x)
{
    for (int64_t i = 0; c->vectors && i < c->count; i++)
        if (may_have_crossed(c, i)) lt_vectors_expect(c->vectors, LT_MEASURE_SQUARES, c->x + i * c->n, x);
    for (int64_t i = 0; i < c->count; i++)
        if (may_have_crossed(c, i)) c->bound[i] = c->least[i] = lt_space_distance(c->vectors, c->n, c->x + i * c->n, x);
}

static void place(lt_cache *c, const double *x, const double *grads)
{
    bool filling = c->count < c->capacity;
    c->newest = filling ? c->count++ : (c->newest + 1) % c->capacity;
    double *at = c->x + c->newest * c->n;
    lt_space_copy(c->vectors, c->n, x, at);
    if (c->compat && filling && c->newest > 0)
        for (int64_t i = 0; i < c->n; i++) at[i] = x[0];
    double *to = c->grads + c->newest * c->k * c->n;
    if (!c->vectors) memcpy(to, grads, (size_t)(c->k * c->n) * sizeof *grads);
    for (int64_t j = 0; c->vectors && j < c->k; j++) lt_space_copy(c->vectors, c->n, grads + j * c->n, to + j * c->n);
    c->bound[c->newest] = c->least[c->newest] = 0;
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

void lt_cache_insert(lt_cache *c, const double *x, const double *grads)
{
    if (c->count) {
        c->moved = lt_space_distance(c->vectors, c->n, x, c->x + c->newest * c->n);
        move_bounds(c, c->moved);
        if (c->compat) remeasure_compat(c);
        else remeasure(c, x);
    }
    place(c, x, grads);
    c->n_near = 0;
    for (int64_t i = 0; i < c->count; i++)
        if (c->bound[i] <= c->radius) c->near_[c->n_near++] = i;
}

void lt_cache_release(lt_cache *c)
{
    if (!c->vectors) { /* else it goes with them */
        lt_free_aligned(c->x);
        lt_free_aligned(c->grads);
    }
    c->x = c->grads = NULL;
    c->count = 0;
}
