/* The prefetch thread: it compiles, draws weights and fields before operators run. SPDX-License-Identifier: BSD-3-Clause */
#include "operators/generate/prefetch.h"

#include "base/alloc.h"
#include "base/status.h"
#include "operators/network/weights.h"
#include "trace/clock.h"
#include "trace/trace.h"

#include <pthread.h>
#include <string.h>

/* Operators in flight: LT_MOST_AT_ONCE run, one waits, one is being made. */
enum { DEPTH = LT_MOST_AT_ONCE + 2 };

struct lt_prefetch {
    const lt_dataset_config *c;
    const lt_row_table      *t;
    lt_row_source            rows;
    int64_t                  n;                       /* the number of rows, or the largest possible number while it is not known */
    lt_rollout_cache        *cache;
    lt_field_makers          makers;
    lt_ready                 slot[DEPTH];
    pthread_t                thread;
    pthread_mutex_t          lock;
    pthread_cond_t           changed;
    int64_t                  made, taken, given_back; /* operators, counted from the start */
    bool                     stop;
    bool                     makes, held;             /* an operator is being made; none may be */
    lt_status                status;
    char                     text[LT_ERROR_TEXT_BYTES];
    int64_t                  busy_ns;                 /* read and written under the lock */
};

static lt_status draw_weights(lt_prefetch *l, lt_ready *r, const lt_operator_spec *spec)
{
    if (!r->weights || lt_architecture_compare(&r->weights_spec, spec)) {
        lt_operator_weights_destroy(r->weights);
        r->weights = NULL;
        LT_TRY(lt_operator_weights_create(spec, &r->weights));
        r->weights_spec = *spec;
    }
    int64_t index = l->t->index[r->row];
    bool elsewhere = lt_rollout_cache_has_device(l->cache) && !l->c->learned.enabled; /* devices draw weights themselves */
    return elsewhere ? lt_operator_weights_draw_output(r->weights, l->c->seed, index) : lt_operator_weights_draw(r->weights, l->c->seed, index);
}

/* Called under the lock: making waits while the thread is held. */
static void begin_making(lt_prefetch *l)
{
    while (l->held) pthread_cond_wait(&l->changed, &l->lock);
    l->makes = true;
}

static void rest(lt_prefetch *l)
{
    l->makes = false;
    pthread_cond_broadcast(&l->changed);
}

void lt_prefetch_hold(lt_prefetch *l)
{
    pthread_mutex_lock(&l->lock);
    l->held = true;
    while (l->makes) pthread_cond_wait(&l->changed, &l->lock);
    pthread_mutex_unlock(&l->lock);
}

void lt_prefetch_resume(lt_prefetch *l)
{
    pthread_mutex_lock(&l->lock);
    l->held = false;
    pthread_cond_broadcast(&l->changed);
    pthread_mutex_unlock(&l->lock);
}

static int64_t count_given_back(lt_prefetch *l)
{
    pthread_mutex_lock(&l->lock);
    int64_t n = l->given_back;
    pthread_mutex_unlock(&l->lock);
    return n;
}

/* Waits until more than `before` operators were given back; false when no operator is in use, or when the thread has to stop. */
static bool wait_for_room(lt_prefetch *l, int64_t before)
{
    pthread_mutex_lock(&l->lock);
    rest(l);
    while (!l->stop && l->given_back == before && l->made > before) pthread_cond_wait(&l->changed, &l->lock);
    bool more = !l->stop && l->given_back > before;
    begin_making(l);
    pthread_mutex_unlock(&l->lock);
    return more;
}

/* A full device has room for this operator when others have ended: only an operator that does not fit alone is refused. */
static lt_status take_rollout(lt_prefetch *l, lt_ready *r, const lt_operator_spec *spec)
{
    for (;;) {
        int64_t before = count_given_back(l);
        lt_status s = lt_rollout_cache_take(l->cache, spec, &r->rollout);
        if (s != LT_ERR_MEMORY || !lt_rollout_cache_has_device(l->cache) || !wait_for_room(l, before)) return s;
    }
}

static lt_status make(lt_prefetch *l, lt_ready *r, int64_t row)
{
    const lt_operator_spec *spec = &l->t->spec[row];
    lt_span span = lt_span_begin("draw ahead");
    int64_t start = lt_clock_ns();
    r->row = row;
    lt_status s = draw_weights(l, r, spec);
    if (!s) s = lt_field_makers_draw(&l->makers, l->c, l->t->field[row], l->t->index[row], spec->grid, r->field);
    r->draw_seconds = lt_seconds_since(start);
    start = lt_clock_ns();
    r->failure = s ? LT_OK : take_rollout(l, r, spec);
    if (r->failure == LT_ERR_DEVICE) snprintf(r->why, sizeof r->why, "%.150s", lt_error_text()); /* the run tries it again */
    else if (!s) s = r->failure;
    r->compile_seconds = lt_seconds_since(start);
    lt_span_end(span);
    return s;
}

/* On the CPU one operator runs at a time, and fewer are kept ahead. */
static int64_t depth_of(const lt_prefetch *l) { return lt_rollout_cache_has_device(l->cache) ? DEPTH : 3; }

/* Waits for a free slot; false when there is nothing more to do. */
static bool wait_for_slot(lt_prefetch *l)
{
    pthread_mutex_lock(&l->lock);
    while (!l->stop && l->made - l->given_back >= depth_of(l)) pthread_cond_wait(&l->changed, &l->lock);
    bool go = !l->stop && l->made < l->n;
    pthread_mutex_unlock(&l->lock);
    return go;
}

static lt_status next_row(lt_prefetch *l, int64_t *row)
{
    if (l->rows.next) return l->rows.next(l->rows.ctx, row);
    *row = l->rows.order[l->made];
    return LT_OK;
}

/* Makes the next operator, if there is one. */
static lt_status make_next(lt_prefetch *l, bool *last, int64_t *busy_ns)
{
    int64_t row;
    LT_TRY(next_row(l, &row));
    *last = row < 0;
    if (*last) return LT_OK;
    pthread_mutex_lock(&l->lock);
    begin_making(l);
    pthread_mutex_unlock(&l->lock);
    int64_t start = lt_clock_ns();
    lt_status s = make(l, &l->slot[l->made % DEPTH], row);
    *busy_ns = lt_clock_ns() - start;
    pthread_mutex_lock(&l->lock);
    rest(l);
    pthread_mutex_unlock(&l->lock);
    return s;
}

static void *run_ahead(void *ctx)
{
    lt_prefetch *l = ctx;
    lt_trace_thread_name("dataset ahead");
    while (l->made < l->n && wait_for_slot(l)) { /* only this thread changes them */
        bool last = false;
        int64_t busy_ns = 0;
        lt_status s = make_next(l, &last, &busy_ns);
        pthread_mutex_lock(&l->lock);
        l->busy_ns += busy_ns;
        if (s) {
            l->status = s;
            memcpy(l->text, lt_error_text(), sizeof l->text - 1);
            l->stop = true;
        } else if (last) l->n = l->made;
        else l->made++;
        pthread_cond_broadcast(&l->changed);
        pthread_mutex_unlock(&l->lock);
    }
    return NULL;
}

lt_status lt_prefetch_next(lt_prefetch *l, lt_ready **out)
{
    *out = NULL;
    pthread_mutex_lock(&l->lock);
    while (l->taken == l->made && l->made < l->n && !l->stop) pthread_cond_wait(&l->changed, &l->lock);
    if (l->taken < l->made) *out = &l->slot[l->taken++ % DEPTH];
    lt_status s = *out ? LT_OK : l->status;
    pthread_mutex_unlock(&l->lock);
    if (s) lt_error_set(l->text);
    return s;
}

bool lt_prefetch_ready(lt_prefetch *l)
{
    pthread_mutex_lock(&l->lock);
    bool ready = l->taken < l->made || l->made == l->n || l->stop;
    pthread_mutex_unlock(&l->lock);
    return ready;
}

double lt_prefetch_busy_seconds(lt_prefetch *l)
{
    pthread_mutex_lock(&l->lock);
    double seconds = 1e-9 * (double)l->busy_ns;
    pthread_mutex_unlock(&l->lock);
    return seconds;
}

void lt_prefetch_done(lt_prefetch *l, lt_ready *r)
{
    lt_rollout_cache_give(l->cache, r->rollout);
    r->rollout = NULL;
    pthread_mutex_lock(&l->lock);
    l->given_back++;
    pthread_cond_broadcast(&l->changed);
    pthread_mutex_unlock(&l->lock);
}

static void release(lt_prefetch *l)
{
    for (int i = 0; i < DEPTH; i++) {
        if (l->slot[i].rollout) lt_rollout_cache_give(l->cache, l->slot[i].rollout);
        lt_operator_weights_destroy(l->slot[i].weights);
        lt_free(l->slot[i].field);
    }
    lt_field_makers_release(&l->makers);
    pthread_mutex_destroy(&l->lock);
    pthread_cond_destroy(&l->changed);
    lt_free(l);
}

lt_status lt_prefetch_start(const lt_dataset_config *c, const lt_row_table *t, const lt_row_source *rows, lt_rollout_cache *cache,
                              lt_prefetch **out)
{
    *out = NULL;
    lt_prefetch *l = lt_calloc(1, sizeof *l);
    if (!l) return LT_ERR_MEMORY;
    l->c = c;
    l->t = t;
    l->rows = *rows;
    l->n = rows->next ? INT64_MAX : rows->n;
    l->cache = cache;
    pthread_mutex_init(&l->lock, NULL);
    pthread_cond_init(&l->changed, NULL);
    lt_status s = LT_OK;
    for (int i = 0; i < DEPTH && !s; i++) {
        l->slot[i].field = lt_malloc(sizeof(float) * LT_FIELD_CHANNELS * (size_t)t->max_grid * (size_t)t->max_grid);
        if (!l->slot[i].field) s = LT_ERR_MEMORY;
    }
    if (!s && pthread_create(&l->thread, NULL, run_ahead, l)) s = LT_FAIL(LT_ERR_MEMORY, "no thread to draw operators ahead");
    if (s) release(l);
    else *out = l;
    return s;
}

void lt_prefetch_stop(lt_prefetch *l, double *busy_seconds)
{
    if (!l) return;
    pthread_mutex_lock(&l->lock);
    l->stop = true;
    pthread_cond_broadcast(&l->changed);
    pthread_mutex_unlock(&l->lock);
    if (l->rows.cancel) l->rows.cancel(l->rows.ctx);
    pthread_join(l->thread, NULL);
    if (busy_seconds) *busy_seconds = lt_prefetch_busy_seconds(l);
    release(l);
}
