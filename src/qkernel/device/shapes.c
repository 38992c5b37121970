/* Shapes of tiles of overlaps: what there is to choose from, timing them, the stored answers.
   SPDX-License-Identifier: BSD-3-Clause */
#include "qkernel/device/parts.h"

#include "base/alloc.h"
#include "base/status.h"
#include "lathe/graph.h"
#include "qkernel/tuning.h"

#include <stdio.h>
#include <string.h>

/* The built-in choice is among them; which is first depends on it. */
static const lt_tile_shape double_shapes[] = {
    { 2, 2, 2, 4, 8, 4, 2 }, { 2, 2, 2, 4, 16, 2, 2 }, { 2, 2, 2, 3, 8, 4, 2 }, { 2, 2, 2, 2, 8, 4, 3 }, { 2, 4, 2, 4, 8, 4, 1 },
};
static const lt_tile_shape single_shapes[] = {
    { 2, 2, 2, 4, 16, 3, 2 }, { 2, 2, 2, 4, 8, 4, 2 }, { 2, 2, 2, 3, 16, 3, 2 }, { 2, 2, 2, 2, 16, 3, 3 }, { 2, 4, 2, 4, 16, 3, 1 },
};
enum { MAX_SHAPES = 5, NAME_BYTES = 96 };
_Static_assert(LT_LEN(double_shapes) == MAX_SHAPES && LT_LEN(single_shapes) == MAX_SHAPES, "as many names as shapes");

static const lt_tile_shape *shapes_of(lt_gram_float type) { return type == LT_GRAM_FLOAT64 ? double_shapes : single_shapes; }

static void name_shape(const lt_tile_shape *s, char *text)
{
    snprintf(text, NAME_BYTES, "warps %dx%d fragments %dx%d depth %d stages %d blocks %d", s->warps_m, s->warps_n, s->fragments_m, s->fragments_n,
             s->depth, s->stages, s->blocks);
}

/* Another kernel text is another problem: what was stored for the old one no longer counts. */
static void name_problem(int q, lt_gram_float type, char *text, size_t bytes)
{
    type = lt_gram_timed_as(type);
    snprintf(text, bytes, "gram tiles %s q=%d text=%08x", lt_gram_float_name(type), q, (unsigned)lt_gram_tiles_digest(type != LT_GRAM_FLOAT64));
}

bool lt_gram_stored_shape(lt_device *dev, int q, lt_gram_float type, lt_tile_shape *shape)
{
    char problem[96], name[NAME_BYTES];
    lt_tuner *tuner;
    lt_tune_entry entry;
    bool found = false;
    /* A cache folder that cannot be read costs a tuned choice, not the result. */
    if (lt_tuner_open(dev, LT_TUNE_ESTIMATE, NULL, &tuner)) return false;
    name_problem(q, type, problem, sizeof problem);
    if (lt_tuner_lookup(tuner, problem, &entry))
        for (int i = 0; i < MAX_SHAPES && !found; i++) {
            name_shape(&shapes_of(type)[i], name);
            if ((found = !strcmp(entry.choice, name))) *shape = shapes_of(type)[i];
        }
    lt_tuner_destroy(tuner);
    return found;
}

/* ---- measuring ---- */

typedef struct trial {
    lt_gram_options opt;
    lt_layers      circuit;
    lt_device_gram      *candidate[MAX_SHAPES];
    lt_rows         x;
} trial;

/* K stays on the device: a call is over when the device is. */
static lt_status run_candidate(void *ctx, int candidate, int64_t repeats)
{
    trial *t = ctx;
    for (int64_t i = 0; i < repeats; i++) {
        lt_gram_meter meter = { 0 };
        lt_gram_info info = { .size = sizeof info };
        LT_TRY(lt_device_gram_fill(t->candidate[candidate], &(lt_device_gram_request){ .method = LT_GRAM_STATES, .reason = "timed", .x = &t->x, .meter = &meter,
                                                                          .leads = true }, &info, NULL));
    }
    return LT_OK;
}

static lt_status choose(lt_tuner *tuner, lt_device *dev, trial *t)
{
    char problem[96], name[MAX_SHAPES][NAME_BYTES];
    const char *names[MAX_SHAPES];
    int choice;
    for (int i = 0; i < MAX_SHAPES; i++) {
        const lt_tile_shape *shape = &shapes_of(t->opt.dtype)[i];
        name_shape(shape, name[i]);
        names[i] = name[i];
        LT_TRY(lt_device_gram_create(dev, &(lt_device_gram_setup){ &t->opt, &t->circuit, lt_device_pool(dev), shape, false }, &t->candidate[i]));
    }
    name_problem(t->circuit.q, t->opt.dtype, problem, sizeof problem);
    return lt_tuner_choose(tuner, problem, MAX_SHAPES, names, run_candidate, t, &choice);
}

lt_status lt_gram_tune_shapes(lt_device *dev, lt_tuner *tuner, int q, lt_gram_float type, const lt_rows *x, const double *weights)
{
    trial t = { .opt = lt_gram_defaults(), .x = *x };
    t.opt.re_embed_between_layers = true;
    t.opt.dtype = type;
    t.x.columns = q;
    lt_status s = lt_layers_create(&t.opt, &(lt_weights){ weights, 2, q }, &t.circuit);
    if (!s) s = choose(tuner, dev, &t);
    for (int i = 0; i < MAX_SHAPES; i++) lt_device_gram_destroy(t.candidate[i]);
    lt_layers_destroy(&t.circuit);
    return s;
}
