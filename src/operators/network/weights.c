/* Drawing and saving weights. SPDX-License-Identifier: BSD-3-Clause */
#include "operators/network/weights.h"

#include "base/alloc.h"
#include "base/pool.h"
#include "base/status.h"
#include "operators/rollout/noise_loops.h"

#include "lathe/npy.h"
#include "lathe/rng.h"

#define PIECE 65536 /* elements drawn as one task; a multiple of four */

lt_status lt_operator_weights_create(const lt_operator_spec *spec, lt_operator_weights **out)
{
    if (!out) return LT_FAIL(LT_ERR_ARGUMENT, "lt_operator_weights_create: out is NULL");
    *out = NULL;
    lt_operator_spec own = { .size = sizeof own };
    LT_TRY(lt_operator_take(spec, &own));
    lt_operator_weights *w = lt_calloc(1, sizeof *w);
    if (!w) return LT_ERR_MEMORY;
    w->index = -1;
    lt_status s = lt_network_create(&own, &w->network);
    if (!s) {
        lt_network_drop_graph(&w->network);
        w->block = lt_malloc_aligned((size_t)w->network.n_floats * sizeof *w->block);
        if (!w->block) s = LT_ERR_MEMORY;
    }
    if (s) lt_operator_weights_destroy(w);
    else *out = w;
    return s;
}

void lt_operator_weights_destroy(lt_operator_weights *w)
{
    if (!w) return;
    lt_network_release(&w->network);
    lt_free_aligned(w->block);
    lt_free(w);
}

/* Elements [first, first + n) of one tensor. */
static void draw_piece(const lt_operator_weights *w, int tensor, int64_t first, int64_t n)
{
    const lt_network_tensor *t = &w->network.tensor[tensor];
    float *out = w->block + t->offset + first;
    lt_draws s = lt_draws_make(w->seed, "weights", (uint32_t)tensor, (uint32_t)w->index, (uint32_t)((uint64_t)w->index >> 32));
    switch (t->init) {
    case LT_INIT_UNIFORM: lt_draw_fill(&s, LT_VARIATE_UNIFORM, first, n, t->scale, out); break;
    case LT_INIT_NORMAL: lt_draw_fill(&s, LT_VARIATE_NORMAL, first, n, t->scale, out); break;
    default:
        for (int64_t i = 0; i < n; i++) out[i] = t->init == LT_INIT_ONE ? 1.0f : 0.0f;
    }
}

/* Piece `index` of all tensors' pieces, in order. */
static lt_status draw_task(void *ctx, int64_t index, int worker)
{
    const lt_operator_weights *w = ctx;
    (void)worker;
    int t = 0;
    for (;; t++) {
        int64_t pieces = (w->network.tensor[t].count + PIECE - 1) / PIECE;
        if (index < pieces) break;
        index -= pieces;
    }
    int64_t first = index * PIECE;
    draw_piece(w, t, first, LT_MIN(PIECE, w->network.tensor[t].count - first));
    return LT_OK;
}

static lt_status note(lt_operator_weights *w, uint64_t seed, int64_t index)
{
    if (!w) return LT_FAIL(LT_ERR_ARGUMENT, "lt_operator_weights_draw: no weights");
    if (index < 0 || index > UINT32_MAX) /* a word of the noise's counter */
        return LT_FAIL(LT_ERR_ARGUMENT, "weights: operator index %lld: expected 0..%lld", (long long)index, (long long)UINT32_MAX);
    w->seed = seed;
    w->index = index;
    return LT_OK;
}

lt_status lt_operator_weights_draw_output(lt_operator_weights *w, uint64_t seed, int64_t index)
{
    LT_TRY(note(w, seed, index));
    for (int i = w->network.n_tensors - 2; i < w->network.n_tensors; i++) draw_piece(w, i, 0, w->network.tensor[i].count);
    return LT_OK;
}

lt_status lt_operator_weights_draw(lt_operator_weights *w, uint64_t seed, int64_t index)
{
    LT_TRY(note(w, seed, index));
    int64_t pieces = 0;
    for (int i = 0; i < w->network.n_tensors; i++) pieces += (w->network.tensor[i].count + PIECE - 1) / PIECE;
    /* Small networks are drawn on the calling thread: the pool may be busy with a rollout. */
    lt_pool *pool = w->network.n_floats > 4 * PIECE ? lt_pool_shared() : NULL;
    if (pool) return lt_pool_run(pool, pieces, draw_task, w);
    for (int64_t i = 0; i < pieces; i++) LT_TRY(draw_task(w, i, 0));
    return LT_OK;
}

lt_status lt_operator_weights_save(const lt_operator_weights *w, const char *path)
{
    if (!w || w->index < 0 || !path) return LT_FAIL(LT_ERR_ARGUMENT, "lt_operator_weights_save: weights that were drawn and a path are needed");
    size_t n = (size_t)w->network.n_tensors;
    const char **name = lt_malloc(n * sizeof *name);
    lt_array *array = lt_malloc(n * sizeof *array);
    lt_status s = name && array ? LT_OK : LT_ERR_MEMORY;
    for (size_t i = 0; !s && i < n; i++) {
        const lt_network_tensor *t = &w->network.tensor[i];
        name[i] = t->name;
        array[i] = (lt_array){ LT_F32, t->shape, w->block + t->offset };
    }
    if (!s) s = lt_npz_write(path, (int)n, name, array);
    lt_free(name);
    lt_free(array);
    return s;
}
