/* Programs over sparse rows: a primal-dual interior-point method (Mehrotra's predictor and corrector), then the entries between their bounds
   once more as a system. SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/sparse/program.h"

#include "base/alloc.h"
#include "base/status.h"
#include "optimize/vectors/vector.h"

#include <math.h>
#include <string.h>

enum { MOST_ITERATIONS = 80, REFINEMENTS = 6, POLISHES = 4, GUESSES = 12, LEFT_OUT_MOST = 31 };
#define NEIGHBOURS_MOST ((int64_t)1 << 27)
#define HELD 1e20            /* weight, relative: of an entry that stays where it is */
#define ACCURATE 1e-14       /* relative error that needs no more */
#define RUNS_AWAY 1e6
#define USABLE 1e-6          /* what an answer that is no better is still good for */

lt_status lt_sparse_program_create(const lt_csr *a, int64_t pairs, lt_sparse_program *p)
{
    const size_t m = (size_t)LT_MAX(a->m, 1);
    *p = (lt_sparse_program){ .a = a, .m = a->m };
    lt_status s = lt_csr_neighbours(a, NEIGHBOURS_MOST, &p->from, &p->to);
    if (!s) s = lt_skyline_create(a->m, p->from, p->to, &p->factor);
    if (!s) s = lt_lowrank_create(a->m, pairs, &p->lowrank);
    if (!s) {
        p->gram = lt_malloc_aligned((size_t)LT_MAX(p->factor.at[a->m], 1) * sizeof *p->gram);
        p->along = lt_calloc((size_t)a->n, sizeof *p->along);
        p->memory = lt_malloc(12 * m * sizeof *p->memory);
        if (!p->gram || !p->along || !p->memory) s = LT_ERR_MEMORY;
    }
    if (s) {
        lt_sparse_program_release(p);
        return s;
    }
    double **part[] = { &p->g, &p->zl, &p->zu, &p->sl, &p->su, &p->dy, &p->dzl, &p->dzu, &p->rhs, &p->weight, &p->rest, &p->kept };
    for (size_t i = 0; i < LT_LEN(part); i++) *part[i] = p->memory + i * m;
    return LT_OK;
}

void lt_sparse_program_release(lt_sparse_program *p)
{
    lt_skyline_release(&p->factor);
    lt_lowrank_release(&p->lowrank);
    lt_free(p->from);
    lt_free(p->to);
    lt_free_aligned(p->gram);
    lt_free(p->along);
    lt_free(p->memory);
    *p = (lt_sparse_program){ 0 };
}

/* ---- The matrix ----------------------------------------------------------------------------------------- */
/* One row spread out, then its product with each of its neighbours. */
static void form_gram(lt_sparse_program *p)
{
    const lt_csr *a = p->a;
    const lt_skyline *s = &p->factor;
    const double gamma = p->lowrank.gamma;
    memset(p->gram, 0, (size_t)s->at[p->m] * sizeof *p->gram);
    memset(p->along, 0, (size_t)a->n * sizeof *p->along);
    for (int64_t i = 0; i < p->m; i++) {
        const int64_t place = s->place[i];
        for (int64_t e = a->start[i]; e < a->start[i + 1]; e++) p->along[a->column[e]] = p->value[e];
        for (int64_t k = p->from[i]; k < p->from[i + 1]; k++)
            if (s->place[p->to[k]] < place) p->gram[lt_skyline_entry(s, place, s->place[p->to[k]])] = gamma * lt_csr_dot(a, p->value, p->to[k], p->along);
        p->gram[lt_skyline_entry(s, place, place)] = gamma * lt_csr_dot(a, p->value, i, p->along) + (p->diagonal ? p->diagonal[i] : 0);
        for (int64_t e = a->start[i]; e < a->start[i + 1]; e++) p->along[a->column[e]] = 0;
    }
}

void lt_sparse_program_set(lt_sparse_program *p, const double *value, const double *diagonal, const lt_hessian *h)
{
    p->value = value;
    p->diagonal = diagonal;
    lt_lowrank_set(&p->lowrank, p->a, value, h);
    form_gram(p);
}

void lt_sparse_program_multiply(const lt_sparse_program *p, const double *y, double *out)
{
    const double gamma = p->lowrank.gamma;
    memset(p->along, 0, (size_t)p->a->n * sizeof *p->along);
    lt_csr_add(p->a, p->value, y, p->along);
    lt_csr_apply(p->a, p->value, p->along, out);
    for (int64_t i = 0; i < p->m; i++) out[i] = gamma * out[i] + (p->diagonal ? p->diagonal[i] * y[i] : 0);
    lt_lowrank_add(&p->lowrank, y, out);
}

/* ---- Systems with a weight on the diagonal ----------------------------------------------------------------- */
static bool factor(lt_sparse_program *p, double scale)
{
    lt_skyline *s = &p->factor;
    double shift = 1e-15 * scale;
    for (int attempt = 0; attempt < 6; attempt++, shift *= 100) {
        memcpy(s->value, p->gram, (size_t)s->at[p->m] * sizeof *s->value);
        for (int64_t i = 0; i < p->m; i++) s->value[lt_skyline_entry(s, s->place[i], s->place[i])] += p->weight[i] + shift;
        if (lt_skyline_factor(s) && lt_lowrank_prepare(&p->lowrank, s)) return true;
    }
    return false;
}

/* x = (Q + weight)^-1 b, refined as long as that helps: the terms of the pairs may cancel those of the rows. */
static void solve_system(lt_sparse_program *p, const double *b, double *x)
{
    double *rest = p->rest, before = INFINITY;
    memcpy(x, b, (size_t)p->m * sizeof *x);
    lt_lowrank_solve(&p->lowrank, &p->factor, x);
    for (int k = 0; k < REFINEMENTS; k++) {
        lt_sparse_program_multiply(p, x, rest);
        for (int64_t i = 0; i < p->m; i++) rest[i] = b[i] - rest[i] - p->weight[i] * x[i];
        const double left = lt_vec_max_abs(p->m, rest);
        if (!(left < 0.5 * before)) break;
        before = left;
        lt_lowrank_solve(&p->lowrank, &p->factor, rest);
        for (int64_t i = 0; i < p->m; i++) x[i] += rest[i];
    }
}

/* ---- The interior ------------------------------------------------------------------------------------------- */
typedef struct program_run {
    lt_sparse_program *p;
    const double *c, *lower, *upper;
    double *y, scale, square; /* of the gradient at the start; of the matrix' diagonal, largest */
} program_run;

static bool is_fixed(const program_run *q, int64_t i) { return q->lower[i] >= q->upper[i]; }

static void gradient(const program_run *q)
{
    lt_sparse_program *p = q->p;
    lt_sparse_program_multiply(p, q->y, p->g);
    for (int64_t i = 0; i < p->m; i++) p->g[i] += q->c[i];
}

static void begin(program_run *q)
{
    lt_sparse_program *p = q->p;
    q->square = 0;
    for (int64_t i = 0; i < p->m; i++) {
        const double l = q->lower[i], u = q->upper[i];
        q->y[i] = is_fixed(q, i) ? l : isfinite(l) && isfinite(u) ? 0.5 * (l + u) : isfinite(l) ? l + 1 : isfinite(u) ? u - 1 : 0;
        q->square = fmax(q->square, p->gram[lt_skyline_entry(&p->factor, p->factor.place[i], p->factor.place[i])]);
    }
    gradient(q);
    q->scale = q->square;
    for (int64_t i = 0; i < p->m; i++)
        if (!is_fixed(q, i)) q->scale = fmax(q->scale, fabs(p->g[i]));
    if (!(q->scale > 0)) q->scale = 1;
    for (int64_t i = 0; i < p->m; i++) {
        const bool live = !is_fixed(q, i);
        p->sl[i] = live ? q->y[i] - q->lower[i] : INFINITY;
        p->su[i] = live ? q->upper[i] - q->y[i] : INFINITY;
        p->zl[i] = isfinite(p->sl[i]) ? q->scale : 0;
        p->zu[i] = isfinite(p->su[i]) ? q->scale : 0;
    }
}

static double over(double z, double s) { return isfinite(s) ? z / s : 0; }

/* Mean complementarity after a step alpha. */
static double gap(const program_run *q, double alpha)
{
    const lt_sparse_program *p = q->p;
    double sum = 0;
    int64_t count = 0;
    for (int64_t i = 0; i < p->m; i++) {
        const double d = alpha > 0 ? alpha * p->dy[i] : 0;
        if (isfinite(p->sl[i])) sum += (p->sl[i] + d) * (p->zl[i] + (alpha > 0 ? alpha * p->dzl[i] : 0)), count++;
        if (isfinite(p->su[i])) sum += (p->su[i] - d) * (p->zu[i] + (alpha > 0 ? alpha * p->dzu[i] : 0)), count++;
    }
    return count ? sum / (double)count : 0;
}

/* Towards complementarity `target`; with_corrector adds the second-order term of the direction at hand. */
static void direction(const program_run *q, double target, bool with_corrector)
{
    lt_sparse_program *p = q->p;
    for (int64_t i = 0; i < p->m; i++) {
        const double low = with_corrector ? p->dy[i] * p->dzl[i] : 0, high = with_corrector ? -p->dy[i] * p->dzu[i] : 0;
        p->dzl[i] = isfinite(p->sl[i]) ? (target - low) / p->sl[i] - p->zl[i] : 0;
        p->dzu[i] = isfinite(p->su[i]) ? (target - high) / p->su[i] - p->zu[i] : 0;
        p->rhs[i] = is_fixed(q, i) ? 0 : p->dzl[i] - p->dzu[i] - (p->g[i] - p->zl[i] + p->zu[i]);
    }
    solve_system(p, p->rhs, p->dy);
    for (int64_t i = 0; i < p->m; i++) {
        if (is_fixed(q, i)) p->dy[i] = 0;
        p->dzl[i] -= over(p->zl[i], p->sl[i]) * p->dy[i];
        p->dzu[i] += over(p->zu[i], p->su[i]) * p->dy[i];
    }
}

static double longest(const program_run *q)
{
    const lt_sparse_program *p = q->p;
    double alpha = 1e30;
    for (int64_t i = 0; i < p->m; i++) {
        if (p->dy[i] < 0) alpha = fmin(alpha, -p->sl[i] / p->dy[i]);
        if (p->dy[i] > 0) alpha = fmin(alpha, p->su[i] / p->dy[i]);
        if (p->dzl[i] < 0) alpha = fmin(alpha, -p->zl[i] / p->dzl[i]);
        if (p->dzu[i] < 0) alpha = fmin(alpha, -p->zu[i] / p->dzu[i]);
    }
    return alpha;
}

static void take(const program_run *q, double alpha)
{
    lt_sparse_program *p = q->p;
    for (int64_t i = 0; i < p->m; i++) {
        p->sl[i] += alpha * p->dy[i];
        p->su[i] -= alpha * p->dy[i];
        p->zl[i] += alpha * p->dzl[i];
        p->zu[i] += alpha * p->dzu[i];
        q->y[i] += alpha * p->dy[i];
    }
}

static bool converged(const program_run *q)
{
    const lt_sparse_program *p = q->p;
    double dual = 0, complementarity = 0;
    for (int64_t i = 0; i < p->m; i++) {
        const double width = q->upper[i] - q->lower[i], span = isfinite(width) ? width : 1;
        if (is_fixed(q, i)) continue;
        dual = fmax(dual, fabs(p->g[i] - p->zl[i] + p->zu[i]));
        if (isfinite(p->sl[i])) complementarity = fmax(complementarity, p->sl[i] * p->zl[i] / span);
        if (isfinite(p->su[i])) complementarity = fmax(complementarity, p->su[i] * p->zu[i] / span);
    }
    return dual <= 1e-11 * q->scale && complementarity <= 1e-12 * q->scale;
}

static void go_inside(program_run *q)
{
    lt_sparse_program *p = q->p;
    for (int k = 0; k < MOST_ITERATIONS; k++) {
        gradient(q);
        if (converged(q)) break;
        for (int64_t i = 0; i < p->m; i++) p->weight[i] = is_fixed(q, i) ? HELD * q->scale : over(p->zl[i], p->sl[i]) + over(p->zu[i], p->su[i]);
        if (!factor(p, q->scale)) break;
        p->n_iterations++;
        direction(q, 0, false);
        const double now = gap(q, 0), ahead = gap(q, fmin(1, longest(q))), ratio = now > 0 ? ahead / now : 0;
        direction(q, now * ratio * ratio * ratio, true);
        const double alpha = fmin(1, 0.995 * longest(q));
        if (!(alpha > 1e-9)) break;
        take(q, alpha);
    }
}

/* ---- The end --------------------------------------------------------------------------------------------------- */
/* How far y is from the answer: the projected gradient, by the scale of the program. */
static double error(const program_run *q)
{
    double worst = 0;
    gradient(q);
    for (int64_t i = 0; i < q->p->m; i++) {
        const double g = q->p->g[i], y = q->y[i];
        if (is_fixed(q, i)) continue;
        const double room = g > 0 ? y - q->lower[i] : q->upper[i] - y;
        const double v = fmin(fabs(g) / q->scale, fmax(room, 0));
        if (!(v <= worst)) worst = v;
    }
    return worst;
}

static void settle_bounds(const program_run *q)
{
    lt_sparse_program *p = q->p;
    for (int64_t i = 0; i < p->m; i++) {
        const double width = q->upper[i] - q->lower[i], span = isfinite(width) ? width : 1;
        const bool low = isfinite(p->sl[i]) && p->zl[i] * span > q->scale * p->sl[i], high = isfinite(p->su[i]) && p->zu[i] * span > q->scale * p->su[i];
        if (low) q->y[i] = q->lower[i];
        else if (high) q->y[i] = q->upper[i];
        p->weight[i] = low || high || is_fixed(q, i) ? HELD * q->scale : 0;
    }
}

/* Newton's step among the entries without a weight, from the gradient at hand; false: no system. */
static bool step_among_free(const program_run *q)
{
    lt_sparse_program *p = q->p;
    if (!factor(p, q->scale)) return false;
    for (int64_t i = 0; i < p->m; i++) p->rhs[i] = p->weight[i] > 0 ? 0 : -p->g[i];
    solve_system(p, p->rhs, p->dy);
    for (int64_t i = 0; i < p->m; i++)
        if (!(p->weight[i] > 0)) q->y[i] = fmin(fmax(q->y[i] + p->dy[i], q->lower[i]), q->upper[i]);
    p->n_iterations++;
    return true;
}

/* As long as it brings y nearer. */
static double polish(const program_run *q)
{
    lt_sparse_program *p = q->p;
    double best = error(q);
    for (int k = 0; k < POLISHES && best > 0; k++) {
        memcpy(p->kept, q->y, (size_t)p->m * sizeof *p->kept);
        if (!step_among_free(q)) break;
        const double now = error(q);
        if (now < best) {
            best = now;
            continue;
        }
        memcpy(q->y, p->kept, (size_t)p->m * sizeof *p->kept);
        break;
    }
    return best;
}

/* ---- From an answer to a program like this one ------------------------------------------------------------------ */
/* Which entries stay at a bound: those that a step down the gradient, by the diagonal, would leave there. */
static void guess_bounds(const program_run *q)
{
    lt_sparse_program *p = q->p;
    for (int64_t i = 0; i < p->m; i++) {
        const double square = p->gram[lt_skyline_entry(&p->factor, p->factor.place[i], p->factor.place[i])];
        const double way = square > 0 ? p->g[i] / square : p->g[i] > 0 ? INFINITY : p->g[i] < 0 ? -INFINITY : 0;
        const bool low = q->y[i] - way <= q->lower[i], high = q->y[i] - way >= q->upper[i];
        if (is_fixed(q, i) || low) q->y[i] = q->lower[i];
        else if (high) q->y[i] = q->upper[i];
        p->weight[i] = low || high || is_fixed(q, i) ? HELD * q->scale : 0;
    }
}

/* Guesses and steps in turns (Hintermueller, Ito and Kunisch 2002; decision 331): mostly a few, where the guess is nearly right from the beginning. Where entries
   between their bounds depend on each other there is no one step, and y runs away. */
static bool go_on(const program_run *q)
{
    lt_sparse_program *p = q->p;
    double first = 0;
    for (int64_t i = 0; i < p->m; i++) q->y[i] = fmin(fmax(q->y[i], q->lower[i]), q->upper[i]);
    for (int k = 0; k <= GUESSES; k++) {
        const double now = error(q);
        if (now <= ACCURATE) return true;
        if (!k) first = now;
        if (k == GUESSES || !(now <= RUNS_AWAY * first)) return false;
        guess_bounds(q);
        gradient(q);
        if (!step_among_free(q)) return false;
    }
    return false;
}

/* Not again and again where it fails: after each failure in a row it is left out twice as often. */
static bool goes_on(program_run *q)
{
    lt_sparse_program *p = q->p;
    if (p->n_left_out < p->leave_out) {
        p->n_left_out++;
        return false;
    }
    p->n_left_out = 0;
    if (go_on(q)) {
        p->leave_out = 0;
        return true;
    }
    p->leave_out = LT_MIN(2 * p->leave_out + 1, LEFT_OUT_MOST);
    return false;
}

bool lt_sparse_program_solve(lt_sparse_program *p, const double *c, const double *lower, const double *upper, bool warm, double *y)
{
    program_run q = { .p = p, .c = c, .lower = lower, .upper = upper, .y = y };
    p->n_iterations = 0;
    if (!p->m) return true;
    memcpy(p->kept, y, (size_t)p->m * sizeof *y);
    begin(&q);
    if (warm) {
        memcpy(y, p->kept, (size_t)p->m * sizeof *y);
        if (goes_on(&q)) return true;
        begin(&q);
    }
    go_inside(&q);
    const double inside = error(&q);
    memcpy(p->dzl, y, (size_t)p->m * sizeof *y); /* the multipliers are not needed after settling */
    settle_bounds(&q);
    if (polish(&q) <= inside) return inside <= USABLE || error(&q) <= USABLE;
    memcpy(y, p->dzl, (size_t)p->m * sizeof *y);
    return inside <= USABLE;
}
