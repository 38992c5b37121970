/* Compiled rollouts kept by architecture, and field makers by grid. SPDX-License-Identifier: BSD-3-Clause */
#include "operators/generate_lane.h"

#include "base/alloc.h"
#include "base/status.h"

#include <pthread.h>

enum { MAX_KEPT = 64 };

typedef struct kept { lt_rollout *rollout; bool in_use; int64_t last_use; } kept;

struct lt_rollout_cache {
    lt_rollout_options opt;
    int                capacity, n;
    kept               item[MAX_KEPT];
    int64_t            uses, bytes, peak_bytes;
    pthread_mutex_t    lock;
};

static int64_t bytes_of(const lt_rollout *r)
{
    lt_rollout_info i = lt_rollout_get_info(r);
    return i.arena_bytes + i.weight_bytes + i.state_bytes;
}

lt_status lt_rollout_cache_create(const lt_rollout_options *opt, int capacity, lt_rollout_cache **out)
{
    lt_rollout_cache *c = lt_calloc(1, sizeof *c);
    if (!(*out = c)) return LT_ERR_MEMORY;
    c->opt = *opt;
    c->capacity = LT_MIN(LT_MAX(capacity, 1), MAX_KEPT - 8);
    pthread_mutex_init(&c->lock, NULL);
    return LT_OK;
}

void lt_rollout_cache_destroy(lt_rollout_cache *c)
{
    if (!c) return;
    for (int i = 0; i < c->n; i++) lt_rollout_destroy(c->item[i].rollout);
    pthread_mutex_destroy(&c->lock);
    lt_free(c);
}

/* Makes room: removes the one unused for longest and returns it, or NULL. Under the lock. */
static lt_rollout *evict(lt_rollout_cache *c)
{
    int oldest = -1;
    for (int i = 0; i < c->n; i++)
        if (!c->item[i].in_use && (oldest < 0 || c->item[i].last_use < c->item[oldest].last_use)) oldest = i;
    if (oldest < 0 || c->n < c->capacity) return NULL;
    lt_rollout *r = c->item[oldest].rollout;
    c->item[oldest] = c->item[--c->n];
    c->bytes -= bytes_of(r);
    return r;
}

static lt_rollout *find(lt_rollout_cache *c, const lt_operator_spec *spec)
{
    for (int i = 0; i < c->n; i++)
        if (!c->item[i].in_use && lt_rollout_fits(c->item[i].rollout, spec)) {
            c->item[i].in_use = true;
            c->item[i].last_use = ++c->uses;
            return c->item[i].rollout;
        }
    return NULL;
}

lt_status lt_rollout_cache_take(lt_rollout_cache *c, const lt_operator_spec *spec, lt_rollout **out)
{
    pthread_mutex_lock(&c->lock);
    *out = find(c, spec);
    lt_rollout *old = *out ? NULL : evict(c);
    pthread_mutex_unlock(&c->lock);
    if (*out) return LT_OK;
    lt_rollout_destroy(old);
    LT_TRY(lt_rollout_create(spec, &c->opt, out));
    pthread_mutex_lock(&c->lock);
    bool room = c->n < MAX_KEPT;
    if (room) {
        c->item[c->n++] = (kept){ *out, true, ++c->uses };
        c->bytes += bytes_of(*out);
        c->peak_bytes = LT_MAX(c->peak_bytes, c->bytes);
    }
    pthread_mutex_unlock(&c->lock);
    if (room) return LT_OK;
    lt_rollout_destroy(*out);
    *out = NULL;
    return LT_FAIL(LT_ERR_INTERNAL, "more than %d rollouts in use", MAX_KEPT);
}

void lt_rollout_cache_give(lt_rollout_cache *c, lt_rollout *r)
{
    pthread_mutex_lock(&c->lock);
    for (int i = 0; i < c->n; i++)
        if (c->item[i].rollout == r) c->item[i].in_use = false;
    pthread_mutex_unlock(&c->lock);
}

int64_t lt_rollout_cache_peak_bytes(const lt_rollout_cache *c) { return c->peak_bytes; }

/* ---- Fields --------------------------------------------------------------------------------------- */

lt_status lt_field_makers_draw(lt_field_makers *m, const lt_dataset_config *c, int which, int64_t index, int grid, float *out)
{
    int at = 0;
    while (at < m->n && m->item[at].grid != grid) at++;
    if (at == m->n) {
        if (m->n == (int)LT_LEN(m->item)) { /* more sizes than kept: the last place serves them in turn */
            at = --m->n;
            lt_field_maker_destroy(m->item[at].maker);
        }
        LT_TRY(lt_field_maker_create(grid, &m->item[at].maker));
        m->item[at].grid = grid;
        m->n++;
    }
    return lt_field_draw(m->item[at].maker, c, which, index, out);
}

void lt_field_makers_release(lt_field_makers *m)
{
    for (int i = 0; i < m->n; i++) lt_field_maker_destroy(m->item[i].maker);
    m->n = 0;
}
