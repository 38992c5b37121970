/* Compiled rollouts kept by architecture, and field makers by grid. SPDX-License-Identifier: BSD-3-Clause */
#include "operators/generate/prefetch.h"

#include "base/alloc.h"
#include "base/status.h"
#include "device/flags.h"

#include <pthread.h>
#include <string.h>

enum { MAX_KEPT = 64 };
#define KEPT_BYTES ((int64_t)2 << 30) /* of host memory: operators come sorted by architecture, so few are wanted again */

typedef struct kept { lt_rollout *rollout; lt_device_features *features; bool in_use; int64_t last_use; } kept;

struct lt_rollout_cache {
    lt_rollout_options opt;
    const lt_feature_set *set;        /* measured on the device; NULL: nothing */
    int                capacity, n;
    kept               item[MAX_KEPT];
    int64_t            uses, bytes, peak_bytes;
    pthread_mutex_t    lock;
};

static int64_t bytes_of(const kept *k)
{
    lt_rollout_info i = lt_rollout_get_info(k->rollout);
    return i.arena_bytes + i.weight_bytes + i.state_bytes + (k->features ? lt_device_features_bytes(k->features) : 0);
}

static void drop(kept *k)
{
    lt_rollout_destroy(k->rollout);
    lt_device_features_destroy(k->features); /* before the rollout, whose states it reads */
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
    for (int i = 0; i < c->n; i++) drop(&c->item[i]);
    pthread_mutex_destroy(&c->lock);
    lt_free(c);
}

void lt_rollout_cache_measure(lt_rollout_cache *c, const lt_feature_set *set) { c->set = set; }

bool lt_rollout_cache_has_device(const lt_rollout_cache *c) { return lt_device_has(c->opt.device, LT_DEVICE_OWN_MEMORY); }

static bool is_full(const lt_rollout_cache *c) { return c->n >= c->capacity || (c->bytes > KEPT_BYTES && !lt_rollout_cache_has_device(c)); }

/* Under the lock. */
static kept remove_item(lt_rollout_cache *c, int i)
{
    kept old = c->item[i];
    c->item[i] = c->item[--c->n];
    c->bytes -= bytes_of(&old);
    return old;
}

/* Removes the one unused for longest, when it is full or, with `any`, at all; false when there is none. Under the lock. */
static bool evict(lt_rollout_cache *c, bool any, kept *out)
{
    int oldest = -1;
    for (int i = 0; i < c->n; i++)
        if (!c->item[i].in_use && (oldest < 0 || c->item[i].last_use < c->item[oldest].last_use)) oldest = i;
    if (oldest < 0 || (!any && !is_full(c))) return false;
    *out = remove_item(c, oldest);
    return true;
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

static lt_status create(const lt_rollout_cache *c, const lt_operator_spec *spec, kept *out)
{
    char why[160];
    lt_state_reader reader;
    *out = (kept){ 0 };
    if (c->set && lt_rollout_cache_has_device(c) && lt_device_features_fit(c->set, spec->grid, c->opt.realizations, c->opt.steps, why)) {
        LT_TRY(lt_device_features_create(c->opt.device, c->set, spec->grid, c->opt.realizations, c->opt.steps, &out->features));
        reader = lt_device_features_reader(out->features);
    }
    lt_status s = lt_rollout_create_read(spec, &c->opt, out->features ? &reader : NULL, &out->rollout);
    if (s) drop(out);
    return s;
}

/* Puts the advice before the device's own words, which may be cut. */
lt_status lt_rollout_refuse_size(const lt_operator_spec *spec, const lt_rollout_options *opt, const char *device)
{
    char why[LT_ERROR_TEXT_BYTES];
    lt_error_reason(why, sizeof why);
    return LT_FAIL(LT_ERR_MEMORY, "generate: %lld realizations of a %s operator (base_channels %d, grid %d, %lld steps, %s) do not fit on %s: fewer realizations "
                   "(--num-realizations)%s or --device cpu would help; %s", (long long)opt->realizations,
                   lt_operator_kind_name(spec->kind), spec->base_channels, spec->grid, (long long)opt->steps, lt_precision_name(opt->precision),
                   device, opt->precision == LT_PRECISION_FLOAT32 ? ", simulation.precision float16" : "", why);
}

/* A full device has room again after unused rollouts are released and the allocator gives back what it keeps. */
static lt_status create_in_room(lt_rollout_cache *c, const lt_operator_spec *spec, kept *out)
{
    for (bool trimmed = false;;) {
        lt_status s = create(c, spec, out);
        kept old;
        if (s != LT_ERR_MEMORY || !lt_rollout_cache_has_device(c)) return s;
        pthread_mutex_lock(&c->lock);
        bool room = evict(c, true, &old);
        pthread_mutex_unlock(&c->lock);
        if (room) drop(&old);
        else if (trimmed) return lt_rollout_refuse_size(spec, &c->opt, c->opt.device->id);
        else LT_TRY(lt_device_memory_trim(c->opt.device));
        trimmed = !room;
    }
}

/* Adds a rollout that the caller uses. */
static lt_status make(lt_rollout_cache *c, const lt_operator_spec *spec, lt_rollout **out)
{
    kept made;
    LT_TRY(create_in_room(c, spec, &made));
    pthread_mutex_lock(&c->lock);
    bool room = c->n < MAX_KEPT;
    if (room) {
        made.in_use = true;
        made.last_use = ++c->uses;
        c->item[c->n++] = made;
        c->bytes += bytes_of(&made);
        c->peak_bytes = LT_MAX(c->peak_bytes, c->bytes);
        *out = made.rollout;
    }
    pthread_mutex_unlock(&c->lock);
    if (room) return LT_OK;
    drop(&made);
    return LT_FAIL(LT_ERR_INTERNAL, "more than %d rollouts in use", MAX_KEPT);
}

lt_status lt_rollout_cache_take(lt_rollout_cache *c, const lt_operator_spec *spec, lt_rollout **out)
{
    kept old;
    for (bool evicted = true; evicted;) {
        pthread_mutex_lock(&c->lock);
        *out = find(c, spec);
        evicted = !*out && evict(c, false, &old);
        pthread_mutex_unlock(&c->lock);
        if (*out) return LT_OK;
        if (evicted) drop(&old);
    }
    return make(c, spec, out);
}

lt_status lt_rollout_cache_renew(lt_rollout_cache *c, const lt_operator_spec *spec, lt_rollout **r)
{
    kept old = { 0 };
    pthread_mutex_lock(&c->lock);
    for (int i = 0; i < c->n && *r && !old.rollout; i++)
        if (c->item[i].rollout == *r) old = remove_item(c, i);
    pthread_mutex_unlock(&c->lock);
    if (old.rollout) drop(&old);
    *r = NULL;
    return make(c, spec, r);
}

lt_device_features *lt_rollout_cache_features(lt_rollout_cache *c, const lt_rollout *r)
{
    lt_device_features *found = NULL;
    pthread_mutex_lock(&c->lock);
    for (int i = 0; i < c->n; i++)
        if (c->item[i].rollout == r) found = c->item[i].features;
    pthread_mutex_unlock(&c->lock);
    return found;
}

void lt_rollout_cache_give(lt_rollout_cache *c, lt_rollout *r)
{
    pthread_mutex_lock(&c->lock);
    for (int i = 0; i < c->n; i++)
        if (c->item[i].rollout == r) c->item[i].in_use = false;
    pthread_mutex_unlock(&c->lock);
}

int64_t lt_rollout_cache_peak_bytes(lt_rollout_cache *c)
{
    pthread_mutex_lock(&c->lock); /* the prefetch thread may be making one */
    int64_t bytes = c->peak_bytes;
    pthread_mutex_unlock(&c->lock);
    return bytes;
}

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
