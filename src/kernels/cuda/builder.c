/* The builder of kernels from text. SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/cuda/builder.h"

#include "base/alloc.h"
#include "base/status.h"

#include <inttypes.h>

extern const char lt_text_prelude_cu[];

typedef struct lt_owned_text { lt_text text; struct lt_owned_text *next; } owned_text;
typedef struct lt_build_order { const lt_text *text; lt_kernel_key key; lt_kernel **out; } order;

void lt_text_define(lt_text *t, const char *name, int64_t value) { lt_text_add(t, "#define %s %" PRId64 "\n", name, value); }
void lt_text_define_as(lt_text *t, const char *name, const char *value) { lt_text_add(t, "#define %s %s\n", name, value); }
void lt_text_part(lt_text *t, const char *part) { lt_text_add(t, "%s\n", part); }
void lt_text_prelude(lt_text *t) { lt_text_part(t, lt_text_prelude_cu); }

lt_text *lt_builder_text(lt_builder *b)
{
    owned_text *t = lt_calloc(1, sizeof *t);
    if (!t) {
        b->failed = b->spare.failed = true;
        return &b->spare;
    }
    t->next = b->texts;
    b->texts = t;
    return &t->text;
}

void lt_builder_add(lt_builder *b, const lt_text *t, const lt_kernel_key *key, lt_kernel **out)
{
    *out = NULL;
    if (b->n == b->max) {
        int more = b->max ? 2 * b->max : 16;
        order *p = lt_realloc(b->orders, (size_t)more * sizeof *p);
        b->failed = b->failed || !p;
        if (!p) return;
        b->orders = p;
        b->max = more;
    }
    order *o = &b->orders[b->n++];
    *o = (order){ t, *key, out };
    for (int i = 0; i < 3; i++) {
        o->key.grid[i] = LT_MAX(o->key.grid[i], 1);
        o->key.block[i] = LT_MAX(o->key.block[i], 1);
    }
}

static lt_status build_one(void *ctx, int64_t i, int worker)
{
    lt_builder *b = ctx;
    order *o = &b->orders[i];
    (void)worker;
    if (o->text->failed) return LT_FAIL(LT_ERR_MEMORY, "no memory for the text of kernel '%s'", o->key.name);
    o->key.source = o->text->s;
    return lt_device_build(b->dev, &o->key, o->out);
}

static void release(lt_builder *b)
{
    for (owned_text *t = b->texts, *next; t; t = next) {
        next = t->next;
        lt_text_free(&t->text);
        lt_free(t);
    }
    lt_free(b->orders);
    *b = lt_builder_begin(b->dev);
}

lt_status lt_builder_finish(lt_builder *b, lt_pool *pool)
{
    lt_status s = b->failed ? LT_FAIL(LT_ERR_MEMORY, "no memory to build kernels for %s", b->dev->id) : lt_pool_run(pool, b->n, build_one, b);
    for (int i = 0; i < b->n && s; i++) {
        lt_kernel_destroy(*b->orders[i].out);
        *b->orders[i].out = NULL;
    }
    release(b);
    return s;
}
