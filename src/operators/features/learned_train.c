/* Trains operators on their own trajectories: applied to a state, the operator should give the next state. SPDX-License-Identifier:
   BSD-3-Clause

   Full batch: the loss is the mean over all pairs of neighbouring states. A program computes loss and gradient of a few pairs at once, as
   many as divide the number of pairs and fit in memory. Programs run in order, so sums do not depend on the number of threads. */
#include "operators/features/learned.h"

#include "base/alloc.h"
#include "base/pool.h"
#include "base/status.h"
#include "operators/network/weights.h"
#include "trace/trace.h"

#include <math.h>
#include <string.h>

#define PIECE 65536 /* elements updated as one task */
#define BETA1 0.9
#define BETA2 0.999
#define ADAM_EPSILON 1e-8
#define LEAST_IMPROVEMENT 1e-6
#define LAST_RATE 0.01 /* of the first: where the cosine ends */
#define MOST_PAIRS 4   /* at once, … */
#define MOST_FLOPS 2e10 /* … unless the batch needs more FLOPs than this, and then too much memory for its maps */

struct lt_trainer {
    lt_operator_spec spec;
    lt_device   *device;
    lt_network   network;       /* without its graph */
    lt_pool     *pool;
    int64_t      batch;         /* pairs the program takes; 0: there is none */
    lt_program  *program;       /* their mean loss, then the gradient of every tensor */
    float       *pairs;         /* states of pairs that do not lie side by side: [2][batch][field]; NULL: none yet */
    const void **input;         /* of the step; the next state is in the place of noise */
    void       **output;
    float       *weight, *gradient, *sum, *first, *second; /* blocks: trained; of a program's pairs; of all pairs; moments */
};

/* ---- The program -------------------------------------------------------------------------------- */

/* Training has no noise, so the noise input of the graph takes the next state. It stands before the tensors, which stay the same for an
   epoch. */
static lt_status make_network(lt_trainer *t, int64_t batch)
{
    lt_operator_spec quiet = t->spec;
    quiet.noise = LT_NOISE_NONE;
    lt_network_release(&t->network);
    return lt_network_create_batch(&quiet, batch, &t->network);
}

static lt_status compile(lt_trainer *t)
{
    lt_network *n = &t->network;
    lt_graph *g = n->graph;
    lt_compile_options opt = { .size = sizeof opt, .device = t->device, .held_from = LT_STEP_TENSORS };
    size_t count = (size_t)n->n_tensors;
    lt_node *node = lt_malloc((2 * count + 1) * sizeof *node), *wrt = node + count + 1;
    if (!node) return LT_ERR_MEMORY;
    node[0] = lt_mean(g, lt_square(g, lt_sub(g, n->output, n->noise)));
    for (size_t i = 0; i < count; i++) wrt[i] = n->tensor[i].node;
    lt_status s = lt_grad(g, node[0], wrt, n->n_tensors, node + 1);
    if (!s) s = lt_program_create(g, node, n->n_tensors + 1, &opt, &t->program);
    lt_free(node);
    return s;
}

static lt_status make_memory(lt_trainer *t)
{
    float **block[] = { &t->weight, &t->gradient, &t->sum, &t->first, &t->second };
    size_t bytes = (size_t)t->network.n_floats * sizeof(float);
    for (size_t i = 0; i < LT_LEN(block); i++) {
        if (!(*block[i] = lt_malloc_aligned(bytes))) return LT_ERR_MEMORY;
        memset(*block[i], 0, bytes); /* the gaps between tensors are updated along with them */
    }
    t->input = lt_calloc((size_t)(LT_STEP_TENSORS + t->network.n_tensors), sizeof *t->input);
    t->output = lt_calloc((size_t)(t->network.n_tensors + 1), sizeof *t->output);
    if (!t->input || !t->output) return LT_ERR_MEMORY;
    for (int i = 0; i < t->network.n_tensors; i++) {
        t->input[LT_STEP_TENSORS + i] = t->weight + t->network.tensor[i].offset;
        t->output[1 + i] = t->gradient + t->network.tensor[i].offset;
    }
    return LT_OK;
}

/* Makes the program for `batch` pairs, unless it exists already. */
static lt_status prepare(lt_trainer *t, int64_t batch)
{
    if (t->batch == batch) return LT_OK;
    lt_program_destroy(t->program);
    t->program = NULL;
    t->batch = 0;
    LT_TRY(make_network(t, batch));
    lt_status s = compile(t);
    lt_network_drop_graph(&t->network);
    if (!s) t->batch = batch;
    return s;
}

lt_status lt_trainer_create(const lt_operator_spec *spec, lt_device *device, lt_trainer **out)
{
    lt_trainer *t = lt_calloc(1, sizeof *t);
    if (!(*out = t)) return LT_ERR_MEMORY;
    t->spec = *spec;
    t->device = device;
    t->pool = lt_pool_shared();
    lt_status s = t->pool ? make_network(t, 1) : LT_ERR_MEMORY;
    lt_network_drop_graph(&t->network);
    if (!s) s = make_memory(t);
    if (!s) return LT_OK;
    lt_trainer_destroy(t);
    *out = NULL;
    return s;
}

void lt_trainer_destroy(lt_trainer *t)
{
    if (!t) return;
    lt_program_destroy(t->program);
    lt_network_release(&t->network);
    float *block[] = { t->weight, t->gradient, t->sum, t->first, t->second };
    for (size_t i = 0; i < LT_LEN(block); i++) lt_free_aligned(block[i]);
    lt_free_aligned(t->pairs);
    lt_free((void *)t->input);
    lt_free((void *)t->output);
    lt_free(t);
}

const float *lt_trainer_weights(const lt_trainer *t) { return t->weight; }

/* ---- Passes over blocks ----------------------------------------------------------------------------- */

typedef struct update { lt_trainer *t; double rate, scale, correct1, correct2; } update;

static int64_t piece_of(const lt_trainer *t, int64_t index, int64_t *begin)
{
    *begin = index * PIECE;
    return LT_MIN(PIECE, t->network.n_floats - *begin);
}

static lt_status add_task(void *ctx, int64_t index, int worker)
{
    lt_trainer *t = ctx;
    (void)worker;
    int64_t at, n = piece_of(t, index, &at);
    for (int64_t i = at; i < at + n; i++) t->sum[i] += t->gradient[i];
    return LT_OK;
}

static lt_status adam_task(void *ctx, int64_t index, int worker)
{
    const update *u = ctx;
    lt_trainer *t = u->t;
    (void)worker;
    int64_t at, n = piece_of(t, index, &at);
    for (int64_t i = at; i < at + n; i++) {
        double g = t->sum[i] * u->scale;
        double m = BETA1 * t->first[i] + (1 - BETA1) * g, v = BETA2 * t->second[i] + (1 - BETA2) * g * g;
        t->first[i] = (float)m;
        t->second[i] = (float)v;
        t->weight[i] -= (float)(u->rate * (m / u->correct1) / (sqrt(v / u->correct2) + ADAM_EPSILON));
    }
    return LT_OK;
}

static lt_status over_blocks(lt_trainer *t, lt_task task, void *ctx)
{
    return lt_pool_run(t->pool, (t->network.n_floats + PIECE - 1) / PIECE, task, ctx);
}

/* ---- Epochs --------------------------------------------------------------------------------------------- */

static int64_t kept_count(const lt_trajectory *x)
{
    int64_t n = 0;
    for (int64_t m = 0; m < x->realizations; m++) n += x->kept[m] >= 0;
    return n;
}

/* Pairs in a batch: a divisor of their number, so that no pair is left over (decision 94). */
static int64_t choose_batch(const lt_trainer *t, int64_t pairs)
{
    int64_t n = LT_MIN(pairs, (int64_t)MOST_PAIRS);
    while (n > 1 && (pairs % n || (double)n * t->network.flops > MOST_FLOPS)) n--;
    return n;
}

/* Pair p of those that are kept, in order of time: where its first state lies. */
static const float *pair_at(const lt_trajectory *x, int64_t kept, int64_t p)
{
    int64_t m = 0;
    for (int64_t left = p % kept; left > 0 || x->kept[m] < 0; m++) left -= x->kept[m] >= 0;
    return x->states + (p / kept * x->realizations + m) * x->field;
}

/* Points the inputs at pairs first, first + 1, … . Where all realizations are kept, the states already lie in the right order. */
static void point_at_pairs(lt_trainer *t, const lt_trajectory *x, int64_t kept, int64_t first)
{
    const float *from = x->states + first * x->field, *to = from + x->realizations * x->field;
    if (kept < x->realizations) {
        for (int64_t i = 0; i < t->batch; i++) {
            const float *pair = pair_at(x, kept, first + i);
            memcpy(t->pairs + i * x->field, pair, (size_t)x->field * sizeof *pair);
            memcpy(t->pairs + (t->batch + i) * x->field, pair + x->realizations * x->field, (size_t)x->field * sizeof *pair);
        }
        from = t->pairs;
        to = from + t->batch * x->field;
    }
    t->input[LT_STEP_STATE] = from;
    t->input[LT_STEP_NOISE] = to;
}

/* Mean loss and the sum over programs of the mean gradients of their pairs. */
static lt_status pass_over_pairs(lt_trainer *t, const lt_trajectory *x, const volatile int *stop, int64_t kept, double *loss)
{
    float one;
    int64_t pairs = kept * (x->steps - 1);
    *loss = 0;
    t->output[0] = &one;
    memset(t->sum, 0, (size_t)t->network.n_floats * sizeof *t->sum);
    lt_program_renew(t->program); /* the last epoch changed the weights */
    for (int64_t p = 0; p < pairs; p += t->batch) {
        if (stop && *stop) return LT_FAIL(LT_ERR_CANCELLED, "stopped");
        point_at_pairs(t, x, kept, p);
        LT_TRY(lt_program_run(t->program, t->input, t->output));
        LT_TRY(over_blocks(t, add_task, t));
        *loss += one * (double)t->batch / (double)pairs;
    }
    return LT_OK;
}

static double rate_at(const lt_learned_options *o, int epoch)
{
    double last = LAST_RATE * o->learning_rate;
    return o->cosine ? last + (o->learning_rate - last) * (1 + cos(M_PI * epoch / o->training_epochs)) / 2 : o->learning_rate;
}

static void start(lt_trainer *t, const lt_operator_weights *w)
{
    for (int i = 0; i < t->network.n_tensors; i++) {
        const lt_network_tensor *a = &t->network.tensor[i];
        memcpy(t->weight + a->offset, w->block + w->network.tensor[i].offset, (size_t)a->count * sizeof *t->weight);
    }
    memset(t->first, 0, (size_t)t->network.n_floats * sizeof *t->first);
    memset(t->second, 0, (size_t)t->network.n_floats * sizeof *t->second);
}

static lt_status train(lt_trainer *t, const lt_learned_options *o, const lt_trajectory *x, const volatile int *stop, lt_training_result *r)
{
    double best = INFINITY;
    int waited = 0;
    int64_t kept = kept_count(x), pairs = kept * (x->steps - 1);
    if (pairs < 1) return LT_OK;
    LT_TRY(prepare(t, choose_batch(t, pairs)));
    lt_free_aligned(t->pairs);
    t->pairs = kept < x->realizations ? lt_malloc_aligned((size_t)(2 * t->batch * x->field) * sizeof *t->pairs) : NULL;
    if (kept < x->realizations && !t->pairs) return LT_ERR_MEMORY;
    while (r->epochs < o->training_epochs && waited < o->patience) {
        double loss;
        LT_TRY(pass_over_pairs(t, x, stop, kept, &loss));
        if (!isfinite(loss)) return LT_FAIL(LT_ERR_NUMERIC, "training: the loss is not finite in epoch %d", r->epochs);
        update u = { t, rate_at(o, r->epochs), (double)t->batch / (double)pairs, 1 - pow(BETA1, r->epochs + 1), 1 - pow(BETA2, r->epochs + 1) };
        LT_TRY(over_blocks(t, adam_task, &u));
        if (r->epochs++ == 0) r->first_loss = loss;
        r->last_loss = loss;
        waited = loss < best - LEAST_IMPROVEMENT ? 0 : waited + 1;
        best = waited ? best : loss;
    }
    return LT_OK;
}

lt_status lt_trainer_run(lt_trainer *t, const lt_learned_options *opt, const lt_trajectory *x, const lt_operator_weights *w,
                         const volatile int *stop, lt_training_result *result)
{
    lt_training_result own;
    if (!result) result = &own;
    *result = (lt_training_result){ 0 };
    lt_span span = lt_span_begin("training");
    start(t, w);
    lt_status s = train(t, opt, x, stop, result);
    lt_span_end(span);
    return s;
}
