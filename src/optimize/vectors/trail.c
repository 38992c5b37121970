/* The points of samples, known by the steps between them. Limited memory keeps the steps of its pairs anyway, and adding a step
   to a point is what the line search did: points come out bit for bit, and only the oldest has to be kept (decision 104).
   SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/solver.h"
#include "optimize/vectors/vector.h"

#include "base/alloc.h"
#include "base/status.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define PART 2048 /* numbers of a point made at a time: they stay in the first cache */
#define SURELY 1e-9 /* of a distance: far above what rounding does to sums */

bool lt_trail_wanted(const lt_run *r) { return r->opt.lbfgs_pairs > 0 && lt_cache_may_take_over(r); }

lt_status lt_trail_create(lt_run *r, lt_trail *t)
{
    const size_t slots = (size_t)r->opt.max_samples;
    *t = (lt_trail){ .hessian = &r->hessian, .single = !r->opt.double_precision };
    t->start = lt_malloc_aligned((size_t)r->n * sizeof(double));
    t->row = lt_malloc(slots * sizeof *t->row);
    t->is_point = lt_malloc(slots * sizeof *t->is_point);
    t->wanted = lt_calloc(slots, sizeof *t->wanted);
    t->sums = lt_malloc(slots * sizeof *t->sums);
    return t->start && t->row && t->is_point && t->wanted && t->sums ? LT_OK : LT_ERR_MEMORY;
}

void lt_trail_release(lt_trail *t)
{
    lt_free_aligned(t->start);
    lt_free(t->row);
    lt_free(t->is_point);
    lt_free(t->wanted);
    lt_free(t->sums);
    *t = (lt_trail){ 0 };
}

void lt_trail_advance(const lt_cache *c, int64_t slot, int64_t first, int64_t count, double *z)
{
    const lt_trail *t = &c->trail;
    const double *row = t->hessian->S + t->row[slot] * c->n + first;
    if (t->is_point[slot]) {
        memcpy(z, row, (size_t)count * sizeof *z);
        return;
    }
    lt_vec_axpy(count, 1, row, z); /* the product with 1 is exact */
    if (t->single) lt_vec_round_f32(count, z);
}

/* The age of the oldest wanted sample that sums of steps reach. */
static int64_t look_back_to(const lt_cache *c)
{
    int64_t to = 0;
    for (int64_t age = 1; age < c->live && !c->trail.is_point[lt_cache_slot(c, age - 1)]; age++)
        if (c->trail.wanted[lt_cache_slot(c, age)]) to = age;
    return to;
}

void lt_trail_look_back(lt_cache *c, const double *x, const double *left)
{
    const lt_trail *t = &c->trail;
    const int64_t to = look_back_to(c);
    if (!to) return;
    const double unit = t->single ? FLT_EPSILON : DBL_EPSILON;
    double longest = lt_vec_norm2(c->n, x);
    for (int64_t age = 1; age <= to; age++) t->sums[lt_cache_slot(c, age)].part[0] = 0;
    for (int64_t i = 0; i < c->n; i += PART) {
        const int64_t count = LT_MIN(PART, c->n - i);
        double way[PART];
        for (int64_t j = 0; j < count; j++) way[j] = x[i + j] - left[i + j];
        for (int64_t age = 1; age <= to; age++) {
            lt_vec_axpy(count, 1, t->hessian->S + t->row[lt_cache_slot(c, age - 1)] * c->n + i, way);
            t->sums[lt_cache_slot(c, age)].part[0] += lt_vec_dot(count, way, way);
        }
    }
    for (int64_t age = 1; age <= to; age++) {
        const int64_t slot = lt_cache_slot(c, age);
        const double distance = sqrt(t->sums[slot].part[0]);
        longest = fmax(longest, distance);
        const double margin = SURELY * distance + 4 * (double)(age + 1) * unit * longest;
        c->least[slot] = fmax(c->least[slot], distance - margin);
        c->bound[slot] = fmin(c->bound[slot], distance + margin);
    }
}

/* Squares of the distances of wanted samples, from the oldest to the newest of these. */
static void add_squares(const lt_cache *c, const double *x)
{
    const lt_trail *t = &c->trail;
    int64_t last = 0;
    while (last < c->live && !t->wanted[lt_cache_slot(c, last)]) last++;
    for (int64_t age = last; age < c->live; age++) t->sums[lt_cache_slot(c, age)] = (lt_vec_sums){ { 0 } };
    for (int64_t i = 0; last < c->live && i < c->n; i += PART) {
        const int64_t count = LT_MIN(PART, c->n - i);
        double z[PART];
        memcpy(z, t->start + i, (size_t)count * sizeof *z);
        for (int64_t age = c->live - 1; age >= last; age--) {
            const int64_t slot = lt_cache_slot(c, age);
            if (age < c->live - 1) lt_trail_advance(c, slot, i, count, z);
            if (t->wanted[slot]) lt_vec_add_squares(count, z, x + i, &t->sums[slot]);
        }
    }
}

void lt_trail_distances(const lt_cache *c, const double *x, double *out)
{
    const lt_trail *t = &c->trail;
    add_squares(c, x);
    for (int64_t slot = 0; slot < c->count; slot++)
        if (t->wanted[slot]) out[slot] = lt_vec_root(&t->sums[slot]);
}

double lt_trail_distance(const lt_cache *c, const double *x)
{
    const lt_trail *t = &c->trail;
    memset(t->wanted, 0, (size_t)c->capacity * sizeof *t->wanted);
    t->wanted[c->newest] = true;
    add_squares(c, x);
    return lt_vec_root(&t->sums[c->newest]);
}

static void keep_row(const lt_cache *c, int64_t slot, bool is_point, const double *from)
{
    const lt_trail *t = &c->trail;
    const int64_t row = lt_hessian_take_row(t->hessian);
    t->row[slot] = row;
    t->is_point[slot] = is_point;
    memcpy(t->hessian->S + row * c->n, from, (size_t)c->n * sizeof *from);
}

void lt_trail_begin(const lt_cache *c, const double *x) { memcpy(c->trail.start, x, (size_t)c->n * sizeof *x); }

void lt_trail_add_point(const lt_cache *c, int64_t slot, const double *x) { keep_row(c, slot, true, x); }

void lt_trail_add_step(const lt_cache *c, const double *s, bool paired)
{
    const lt_trail *t = &c->trail;
    lt_hessian *h = t->hessian;
    if (!paired) {
        keep_row(c, c->newest, false, s);
        return;
    }
    t->row[c->newest] = lt_hessian_share_row(h, h->newest);
    t->is_point[c->newest] = false;
}

void lt_trail_leave_oldest(const lt_cache *c)
{
    const int64_t next = lt_cache_slot(c, c->live - 2);
    lt_trail_advance(c, next, 0, c->n, c->trail.start);
    lt_hessian_leave_row(c->trail.hessian, c->trail.row[next]);
}
