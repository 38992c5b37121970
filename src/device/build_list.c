/* A list of texts to compile, and the device that fills it. SPDX-License-Identifier: BSD-3-Clause */
#include "device/build_list.h"

#include "base/alloc.h"
#include "base/hash.h"
#include "base/status.h"
#include "device/backend.h"

#include <pthread.h>
#include <string.h>

typedef struct noted {
    uint64_t digest;        /* of source and options */
    lt_kernel_key key;      /* its strings stand behind it */
    struct noted *next;
    const char *option[];
} noted;

/* decision 300 */
struct lt_build_list {
    lt_device  device;      /* the real one but for `build`; first, so that a device is its list */
    lt_backend table;
    lt_device *real;
    noted     *first, **last;
    int64_t    n;
    pthread_mutex_t lock;
};

/* For a run: the list by number. */
typedef struct work { const lt_build_list *l; const noted **text; lt_status (*before)(void *ctx); void *ctx; _Atomic int64_t missing; } work;

static uint64_t digest_of(const lt_kernel_key *key)
{
    uint64_t h = lt_hash64(key->source, strlen(key->source), 1);
    for (int i = 0; i < key->n_options; i++) h = lt_hash64(key->options[i], strlen(key->options[i]), h);
    return h;
}

static bool same_text(const noted *a, const lt_kernel_key *b)
{
    if (a->key.n_options != b->n_options || strcmp(a->key.source, b->source)) return false;
    for (int i = 0; i < b->n_options; i++)
        if (strcmp(a->option[i], b->options[i])) return false;
    return true;
}

static char *copy_text(char **at, const char *s)
{
    size_t bytes = strlen(s) + 1;
    char *to = memcpy(*at, s, bytes);
    *at += bytes;
    return to;
}

/* One block: the strings may be gone when the text is compiled. */
static noted *make_note(const lt_kernel_key *key, uint64_t digest)
{
    size_t head = sizeof(noted) + (size_t)key->n_options * sizeof(char *), bytes = head + strlen(key->name) + strlen(key->source) + strlen(key->entry) + 3;
    for (int i = 0; i < key->n_options; i++) bytes += strlen(key->options[i]) + 1;
    noted *t = lt_calloc(1, bytes);
    if (!t) return NULL;
    char *at = (char *)t + head;
    t->digest = digest;
    for (int i = 0; i < key->n_options; i++) t->option[i] = copy_text(&at, key->options[i]);
    t->key = (lt_kernel_key){ .name = copy_text(&at, key->name), .source = copy_text(&at, key->source), .entry = copy_text(&at, key->entry),
                              .options = t->option, .n_options = key->n_options, .grid = { 1, 1, 1 }, .block = { 1, 1, 1 } };
    return t;
}

static lt_status note(lt_build_list *l, const lt_kernel_key *key)
{
    uint64_t digest = digest_of(key);
    lt_status s = LT_OK;
    pthread_mutex_lock(&l->lock);
    noted *t = l->first;
    while (t && (t->digest != digest || !same_text(t, key))) t = t->next;
    if (!t) {
        if ((*l->last = make_note(key, digest))) l->last = &(*l->last)->next, l->n++;
        else s = LT_FAIL(LT_ERR_MEMORY, "%s: no memory for the text of kernel '%s'", l->real->id, key->name);
    }
    pthread_mutex_unlock(&l->lock);
    return s;
}

static void drop(lt_kernel *k) { lt_free(k); }

static lt_status build(lt_device *dev, const lt_kernel_key *key, lt_kernel **out)
{
    lt_build_list *l = (lt_build_list *)dev;
    if (key->source) LT_TRY(note(l, key));
    lt_kernel *k = lt_calloc(1, sizeof *k);
    if (!k) return LT_FAIL(LT_ERR_MEMORY, "%s: no memory for kernel '%s'", dev->id, key->name);
    *k = (lt_kernel){ .name = "noted", .destroy = drop, .n_args = key->n_args, .scratch_bytes = key->scratch_bytes, .flops = key->flops, .bytes = key->bytes };
    if (key->host) lt_kernel_destroy(key->host);
    *out = k;
    return LT_OK;
}

lt_status lt_build_list_create(lt_device *dev, lt_build_list **out)
{
    lt_build_list *l = lt_calloc(1, sizeof *l);
    *out = l;
    if (!l) return LT_FAIL(LT_ERR_MEMORY, "%s: %zu bytes for a list of kernels", dev->id, sizeof *l);
    l->real = dev;
    l->table = *dev->backend;
    l->table.build = build;
    l->device = *dev;
    l->device.backend = &l->table;
    l->last = &l->first;
    pthread_mutex_init(&l->lock, NULL);
    return LT_OK;
}

void lt_build_list_destroy(lt_build_list *l)
{
    if (!l) return;
    for (noted *t = l->first, *next; t; t = next) {
        next = t->next;
        lt_free(t);
    }
    pthread_mutex_destroy(&l->lock);
    lt_free(l);
}

lt_device *lt_build_list_device(lt_build_list *l) { return &l->device; }
int64_t    lt_build_list_texts(const lt_build_list *l) { return l->n; }

/* The device keeps machine code that nobody uses. */
static lt_status build_one(void *ctx, int64_t i, int worker)
{
    const work *w = ctx;
    lt_kernel *k;
    (void)worker;
    if (w->before) LT_TRY(w->before(w->ctx));
    LT_TRY(lt_device_build(w->l->real, &w->text[i]->key, &k));
    lt_kernel_destroy(k);
    return LT_OK;
}

static lt_status compile_one(void *ctx, int64_t i, int worker)
{
    const work *w = ctx;
    bool known;
    (void)worker;
    if (w->before) LT_TRY(w->before(w->ctx));
    return w->l->real->backend->have_code(w->l->real, &w->text[i]->key, true, &known);
}

static lt_status find_one(void *ctx, int64_t i, int worker)
{
    work *w = ctx;
    bool known;
    (void)worker;
    LT_TRY(w->l->real->backend->have_code(w->l->real, &w->text[i]->key, false, &known));
    w->missing += !known;
    return LT_OK;
}

static lt_status for_each(const lt_build_list *l, lt_pool *pool, lt_task task, work *w)
{
    int64_t n = 0;
    w->l = l;
    w->text = lt_malloc((size_t)LT_MAX(l->n, 1) * sizeof *w->text);
    if (!w->text) return LT_FAIL(LT_ERR_MEMORY, "%s: no memory for a list of %lld kernels", l->real->id, (long long)l->n);
    for (const noted *t = l->first; t; t = t->next) w->text[n++] = t;
    lt_status s = lt_pool_run(pool, n, task, w);
    lt_free((void *)w->text);
    return s;
}

lt_status lt_build_list_run(lt_build_list *l, lt_pool *pool, lt_status (*before)(void *ctx), void *ctx)
{
    return for_each(l, pool, build_one, &(work){ .before = before, .ctx = ctx });
}

lt_status lt_build_list_compile(lt_build_list *l, lt_pool *pool, lt_status (*before)(void *ctx), void *ctx)
{
    return l->real->backend->have_code ? for_each(l, pool, compile_one, &(work){ .before = before, .ctx = ctx }) : LT_OK;
}

lt_status lt_build_list_find(lt_build_list *l, lt_pool *pool, int64_t *missing)
{
    work w = { 0 };
    lt_status s = l->real->backend->have_code ? for_each(l, pool, find_one, &w) : LT_OK;
    *missing = w.missing;
    return s;
}
