/* Several classes one against one: a machine for each pair, on the rows of that pair. SPDX-License-Identifier: BSD-3-Clause */
#include "qkernel/svm/machines/machines.h"

#include "base/alloc.h"
#include "base/status.h"
#include "lathe/rng.h"

#include <string.h>

/* ---- targets and costs ---- */

lt_targets lt_targets_gather(const lt_targets *t, const int64_t *row, int64_t n, int32_t *label, double *value, double *weight)
{
    lt_targets out = { .task = t->task, .n_classes = t->n_classes, .label = t->label ? label : NULL, .value = t->value ? value : NULL, .weight = t->weight ? weight : NULL };
    for (int64_t i = 0; i < n; i++) {
        if (t->label) label[i] = t->label[row[i]];
        if (t->value) value[i] = t->value[row[i]];
        if (t->weight) weight[i] = t->weight[row[i]];
    }
    return out;
}

static double factor_of(const lt_qsvm_options *opt, const lt_targets *t, int64_t c)
{
    return opt->class_weights ? opt->class_weights[c] : t->n_classes == 2 ? opt->class_weight[c] : 1;
}

void lt_costs_of(const lt_costs *c, const lt_targets *t, int64_t n, double *cost)
{
    if (t->task != LT_QSVM_CLASSIFY) {
        cost[0] = c->C;
        return;
    }
    double all = 0;
    memset(cost, 0, (size_t)t->n_classes * sizeof *cost);
    for (int64_t i = 0; i < n; i++) {
        const double w = t->weight ? t->weight[i] : 1;
        cost[t->label[i]] += w;
        all += w;
    }
    for (int64_t k = 0; k < t->n_classes; k++)
        cost[k] = c->C * factor_of(c->opt, t, k) * (c->opt->balanced && cost[k] > 0 ? all / ((double)t->n_classes * cost[k]) : 1);
}

/* ---- pairs ---- */

int64_t lt_machines_count(const lt_targets *t) { return t->task == LT_QSVM_CLASSIFY ? t->n_classes * (t->n_classes - 1) / 2 : 1; }

static bool has_pairs(const lt_targets *t) { return t->task == LT_QSVM_CLASSIFY && t->n_classes > 2; }

/* Classes a < b of a pair; b is the positive one (decision 271). */
static void pair_of(int64_t n_classes, int64_t number, int64_t *a, int64_t *b)
{
    int64_t first = 0;
    while (number >= n_classes - 1 - first) number -= n_classes - 1 - first++;
    *a = first;
    *b = first + 1 + number;
}

/* The rows of two classes with their kernel, or those of some of their rows. */
typedef struct part {
    lt_svm   svm;
    int64_t *row;              /* numbers among all rows */
    uint8_t *y;
    double  *K, *weight, *beta;
} part;

static void part_release(part *p)
{
    lt_svm_release(&p->svm);
    lt_free(p->row);
    lt_free(p->K);
}

/* row: those wanted, n of them; second: the class that counts as 1. */
static lt_status part_make(const lt_svm *s, const lt_targets *t, const int64_t *row, int64_t n, int64_t second, part *p)
{
    *p = (part){ .svm = *s };
    p->svm.nodes = NULL; /* those are of s, which releases them */
    p->row = lt_malloc((size_t)n * (sizeof *p->row + sizeof *p->y));
    p->K = lt_malloc((size_t)(n * n + 2 * n) * sizeof *p->K);
    if (!p->row || !p->K) return LT_ERR_MEMORY;
    p->y = (uint8_t *)(p->row + n);
    p->weight = p->K + n * n;
    p->beta = p->weight + n;
    memcpy(p->row, row, (size_t)n * sizeof *row);
    for (int64_t i = 0; i < n; i++) {
        p->y[i] = t->label[row[i]] == second;
        p->weight[i] = t->weight ? t->weight[row[i]] : 1;
        for (int64_t j = 0; j < n; j++) p->K[i * n + j] = s->K[row[i] * s->n + row[j]];
    }
    p->svm.K = p->K;
    p->svm.y = p->y;
    p->svm.n = n;
    p->svm.weight = t->weight ? p->weight : NULL;
    return lt_svm_prepare(&p->svm);
}

typedef struct pairs {
    const lt_svm     *s;
    const lt_targets *t;
    const double     *cost;    /* of the classes */
    lt_machines      *m;
    lt_svm_result    *result;  /* of each pair */
    uint64_t          seed;
} pairs;

/* All rows of classes a and b, in their order. */
static lt_status rows_of_pair(const pairs *w, int64_t a, int64_t b, int64_t **row, int64_t *n)
{
    *row = lt_malloc((size_t)w->s->n * sizeof **row);
    if (!*row) return LT_ERR_MEMORY;
    *n = 0;
    for (int64_t i = 0; i < w->s->n; i++)
        if (w->t->label[i] == a || w->t->label[i] == b) (*row)[(*n)++] = i;
    return LT_OK;
}

static lt_status fit_pair(void *ctx, int64_t number, int worker)
{
    const pairs *w = ctx;
    int64_t a, b, n = 0, *row = NULL;
    part p = { 0 };
    (void)worker;
    pair_of(w->t->n_classes, number, &a, &b);
    lt_status s = rows_of_pair(w, a, b, &row, &n);
    if (!s) s = part_make(w->s, w->t, row, n, b, &p);
    if (!s) s = lt_svm_fit(&p.svm, (double[]){ w->cost[a], w->cost[b] }, p.beta, &w->result[number]);
    /* Places of different pairs are different: of class a at b - 1, of class b at a. */
    for (int64_t i = 0; !s && i < n; i++) w->m->beta[row[i] * w->m->width + (p.y[i] ? a : b - 1)] = p.beta[i];
    part_release(&p);
    lt_free(row);
    return s;
}

static lt_status run(lt_pool *pool, int64_t n, lt_status (*fn)(void *, int64_t, int), void *ctx)
{
    if (pool) return lt_pool_run(pool, n, fn, ctx);
    for (int64_t i = 0; i < n; i++) LT_TRY(fn(ctx, i, 0));
    return LT_OK;
}

static lt_status fit_pairs(pairs *w, lt_pool *pool)
{
    lt_machines *m = w->m;
    w->result = lt_calloc((size_t)m->n_machines, sizeof *w->result);
    lt_status s = w->result ? run(pool, m->n_machines, fit_pair, w) : LT_ERR_MEMORY;
    m->converged = true;
    for (int64_t k = 0; !s && k < m->n_machines; k++) {
        m->bias[k] = w->result[k].bias;
        m->objective += w->result[k].objective;
        m->iterations += w->result[k].iterations;
        m->converged = m->converged && w->result[k].converged;
    }
    for (int64_t i = 0; !s && i < m->n; i++) {
        bool counts = false;
        for (int64_t k = 0; k < m->width; k++) counts = counts || m->beta[i * m->width + k] != 0;
        m->n_support[0] += counts;
    }
    lt_free(w->result);
    return s;
}

static lt_status fit_one(const lt_svm *s, const double *cost, lt_machines *m)
{
    lt_svm_result r;
    LT_TRY(lt_svm_fit(s, cost, m->beta, &r));
    m->bias[0] = r.bias;
    m->objective = r.objective;
    m->iterations = r.iterations;
    m->converged = r.converged;
    for (int c = 0; c < 2; c++) m->n_support[c] = r.n_support[c];
    return LT_OK;
}

lt_status lt_machines_fit(const lt_svm *s, const lt_targets *t, const lt_costs *c, lt_pool *pool, lt_machines *out)
{
    const int64_t width = has_pairs(t) ? t->n_classes - 1 : 1;
    *out = (lt_machines){ .n = s->n, .n_classes = t->n_classes, .n_machines = lt_machines_count(t), .width = width };
    double *cost = lt_malloc((size_t)LT_MAX(2, t->n_classes) * sizeof *cost);
    out->beta = lt_calloc((size_t)(s->n * width), sizeof *out->beta);
    out->bias = lt_calloc((size_t)out->n_machines, sizeof *out->bias);
    lt_status status = cost && out->beta && out->bias ? LT_OK : LT_ERR_MEMORY;
    if (!status) {
        lt_costs_of(c, t, s->n, cost);
        status = has_pairs(t) ? fit_pairs(&(pairs){ .s = s, .t = t, .cost = cost, .m = out }, pool) : fit_one(s, cost, out);
    }
    lt_free(cost);
    if (status) lt_machines_release(out);
    return status;
}

void lt_machines_release(lt_machines *m)
{
    lt_free(m->beta);
    lt_free(m->bias);
    lt_free(m->sigmoid);
    *m = (lt_machines){ 0 };
}

/* ---- votes ---- */

void lt_voters_decide(const lt_voters *v, const double *k, double *decision)
{
    const int64_t classes = v->n_classes;
    if (!v->class_of) {
        decision[0] = v->bias[0];
        for (int64_t i = 0; i < v->n; i++) decision[0] += v->beta[i] * k[i];
        return;
    }
    memcpy(decision, v->bias, (size_t)(classes * (classes - 1) / 2) * sizeof *decision);
    for (int64_t i = 0; i < v->n; i++) {
        const int64_t c = v->class_of[i];
        for (int64_t d = 0; d < classes; d++) {
            if (d == c) continue;
            const int64_t a = LT_MIN(c, d), b = LT_MAX(c, d);
            decision[a * (2 * classes - a - 1) / 2 + b - a - 1] += v->beta[i * v->width + d - (d > c)] * k[i];
        }
    }
}

int32_t lt_voters_elect(const double *decision, int64_t n_classes, int64_t *votes)
{
    int32_t best = 0;
    memset(votes, 0, (size_t)n_classes * sizeof *votes);
    for (int64_t a = 0; a < n_classes; a++)
        for (int64_t b = a + 1; b < n_classes; b++) votes[*decision++ > 0 ? b : a]++;
    for (int32_t c = 1; c < n_classes; c++)
        if (votes[c] > votes[best]) best = c;
    return best;
}

/* ---- probabilities ---- */

enum { SIGMOID_FOLDS = 5 };

/* Decisions on a fold's rows by a machine of the others; of one class alone, or none, that class's sign or 0. */
static lt_status decide_fold(const pairs *w, const double cost[2], const int64_t *row, const int64_t *fold_of, int64_t n, int64_t fold, int64_t second, double *decision)
{
    int64_t *train = lt_malloc((size_t)n * sizeof *train), m = 0, seconds = 0;
    part p = { 0 };
    lt_svm_result r = { 0 };
    if (!train) return LT_ERR_MEMORY;
    for (int64_t i = 0; i < n; i++) {
        if (fold_of[i] == fold) continue;
        seconds += w->t->label[row[i]] == second;
        train[m++] = row[i];
    }
    const bool both = seconds > 0 && seconds < m;
    lt_status s = both ? part_make(w->s, w->t, train, m, second, &p) : LT_OK;
    if (!s && both) s = lt_svm_fit(&p.svm, cost, p.beta, &r);
    for (int64_t i = 0; !s && i < n; i++) {
        if (fold_of[i] != fold) continue;
        decision[i] = both ? r.bias : m == 0 ? 0 : seconds ? 1 : -1;
        for (int64_t j = 0; both && j < m; j++) decision[i] += p.beta[j] * w->s->K[row[i] * w->s->n + train[j]];
    }
    part_release(&p);
    lt_free(train);
    return s;
}

/* Rows of either class are shuffled and dealt round. */
static void deal(const pairs *w, int64_t number, const int64_t *row, int64_t n, int64_t second, int64_t *order, int64_t *fold_of)
{
    lt_rng r = { lt_draws_make(w->seed, "qsvm sigmoid folds", (uint32_t)number, 0, 0), 0 };
    int64_t next = 0;
    for (int c = 0; c < 2; c++) {
        int64_t count = 0;
        for (int64_t i = 0; i < n; i++)
            if ((w->t->label[row[i]] == second) == c) order[count++] = i;
        for (int64_t i = count - 1; i > 0; i--) {
            int64_t k = (int64_t)lt_rng_below(&r, (uint64_t)i + 1), swap = order[i];
            order[i] = order[k];
            order[k] = swap;
        }
        for (int64_t i = 0; i < count; i++) fold_of[order[i]] = next++ % SIGMOID_FOLDS;
    }
}

static lt_status calibrate_pair(void *ctx, int64_t number, int worker)
{
    const pairs *w = ctx;
    int64_t a, b, n = 0, *row = NULL;
    (void)worker;
    pair_of(w->t->n_classes, number, &a, &b);
    lt_status s = rows_of_pair(w, a, b, &row, &n);
    int64_t *order = lt_malloc((size_t)LT_MAX(1, n) * (2 * sizeof *order + sizeof(double) + 1));
    if (!s && !order) s = LT_ERR_MEMORY;
    if (!s) {
        int64_t *fold_of = order + n;
        double *decision = (double *)(fold_of + n);
        uint8_t *y = (uint8_t *)(decision + n);
        deal(w, number, row, n, b, order, fold_of);
        for (int64_t i = 0; i < n; i++) y[i] = w->t->label[row[i]] == b;
        for (int64_t f = 0; !s && f < SIGMOID_FOLDS; f++) s = decide_fold(w, (double[]){ w->cost[a], w->cost[b] }, row, fold_of, n, f, b, decision);
        if (!s) s = lt_sigmoid_fit(decision, y, n, w->m->sigmoid + 2 * number);
    }
    lt_free(order);
    lt_free(row);
    return s;
}

lt_status lt_machines_calibrate(const lt_svm *s, const lt_targets *t, const lt_costs *c, lt_pool *pool, uint64_t seed, lt_machines *m)
{
    double *cost = lt_malloc((size_t)t->n_classes * sizeof *cost);
    m->sigmoid = lt_calloc((size_t)(2 * m->n_machines), sizeof *m->sigmoid);
    lt_status status = cost && m->sigmoid ? LT_OK : LT_ERR_MEMORY;
    if (!status) {
        lt_costs_of(c, t, s->n, cost);
        status = run(pool, m->n_machines, calibrate_pair, &(pairs){ .s = s, .t = t, .cost = cost, .m = m, .seed = seed });
    }
    lt_free(cost);
    return status;
}
