/* A picture of all types of initial fields. SPDX-License-Identifier: BSD-3-Clause */
#include "lathe/fields.h"

#include "base/alloc.h"
#include "base/sized.h"
#include "base/status.h"
#include "operators/fields/draw.h"
#include "operators/tools/pictures/image.h"

#include <string.h>

int lt_field_type_count(void) { return LT_FIELD_TYPE_COUNT; }
const char *lt_field_type_name(int type) { return (unsigned)type < LT_FIELD_TYPE_COUNT ? lt_field_types[type].name : "?"; }
const char *lt_field_type_tier(int type) { return (unsigned)type < LT_FIELD_TYPE_COUNT ? lt_field_tier_names[lt_field_types[type].tier] : "?"; }
const char *lt_colormap_name(int which) { return (unsigned)which < LT_COLORMAP_COUNT ? lt_colormap_names[which] : NULL; }

static lt_status find_type(const char *name, lt_field_type *out)
{
    if (lt_field_type_find(name, out)) return LT_OK;
    const char *near = lt_field_type_nearest(name);
    return LT_FAIL(LT_ERR_ARGUMENT, "no type of initial field is called '%.80s'%s%s%s", name, near ? ": did you mean '" : "", near ? near : "", near ? "'?" : "");
}

lt_status lt_field_sample(const char *type, int grid, uint64_t seed, int64_t index, bool physical, float *field)
{
    if (!field) return LT_FAIL(LT_ERR_ARGUMENT, "field: field is NULL");
    lt_field_recipe recipe;
    lt_field_maker *m;
    lt_field_type t;
    LT_TRY(find_type(type, &t));
    LT_TRY(lt_field_maker_create(grid, &m));
    lt_field_recipe_default(t, type, &recipe);
    lt_status s = lt_field_draw_recipe(m, &recipe, physical, seed, index, field);
    lt_field_maker_destroy(m);
    return s;
}

void lt_field_gallery_defaults_into(lt_field_gallery *out)
{
    LT_GIVE(out, &(lt_field_gallery){ .size = sizeof(lt_field_gallery), .variations = 3, .grid = 128, .channels = 3, .seed = 42, .cell_width = 128,
                                            .cell_height = 128, .colormap = "viridis" });
}

/* ---- Which types --------------------------------------------------------------------------- */
static lt_status select_tier(const char *name, bool chosen[LT_FIELD_TYPE_COUNT])
{
    bool found = !strcmp(name, "all");
    for (int t = 0; t < LT_FIELD_TYPE_COUNT; t++)
        if (!strcmp(name, "all") || !strcmp(name, lt_field_type_tier(t))) chosen[t] = found = true;
    return found ? LT_OK : LT_FAIL(LT_ERR_ARGUMENT, "tier '%.80s': expected baseline, tier1, tier2, tier3, tier4 or all", name);
}

static lt_status select_types(const lt_field_gallery *g, bool chosen[LT_FIELD_TYPE_COUNT])
{
    for (int i = 0; i < g->n_tiers; i++) LT_TRY(select_tier(g->tier[i], chosen));
    for (int i = 0; i < g->n_types; i++) {
        lt_field_type t;
        LT_TRY(find_type(g->type[i], &t));
        chosen[t] = true;
    }
    return g->n_tiers || g->n_types ? LT_OK : select_tier("all", chosen);
}

/* ---- The picture ------------------------------------------------------------------------------ */
enum { GAP = 2, MARGIN = 6, MOST_VARIATIONS = 100 };
static const uint32_t white = 0xffffff, ink = 0x202020;

typedef struct page {
    const lt_field_gallery *g;
    bool            chosen[LT_FIELD_TYPE_COUNT];
    uint8_t         table[256][3];
    int             label_scale, label_width, gap;
    lt_field_maker *maker;
    float          *field, *scratch;
    lt_image        image;
} page;

static lt_status check(const lt_field_gallery *g, int *map)
{
    if (g->variations < 1 || g->variations > MOST_VARIATIONS)
        return LT_FAIL(LT_ERR_ARGUMENT, "%d variations: expected 1..%d", g->variations, MOST_VARIATIONS);
    if (g->channels != 1 && g->channels != LT_FIELD_CHANNELS) return LT_FAIL(LT_ERR_ARGUMENT, "%d channels: expected 1 or 3", g->channels);
    if (g->cell_width < 8 || g->cell_height < 8 || g->cell_width > 1024 || g->cell_height > 1024)
        return LT_FAIL(LT_ERR_ARGUMENT, "cells of %d by %d pixels: expected 8..1024 each way", g->cell_width, g->cell_height);
    return lt_colormap_find(g->colormap, map);
}

/* Sizes follow from the labels of the rows there are. */
static lt_status lay_out(page *p)
{
    const lt_field_gallery *g = p->g;
    int rows = 0;
    p->gap = g->spacing ? GAP : 0;
    p->label_scale = g->cell_height >= 96 ? 2 : 1;
    for (int t = 0; t < LT_FIELD_TYPE_COUNT; t++) {
        rows += p->chosen[t];
        if (g->labels && p->chosen[t]) p->label_width = LT_MAX(p->label_width, lt_image_text_width(lt_field_types[t].name, p->label_scale) + 2 * MARGIN);
    }
    return lt_image_create(p->label_width + g->variations * (g->cell_width + p->gap) - p->gap, rows * (g->cell_height + p->gap) - p->gap, white, &p->image);
}

static lt_status paint_row(page *p, lt_field_type t, int y)
{
    const lt_field_gallery *g = p->g;
    int64_t n = (int64_t)g->grid * g->grid * g->channels;
    lt_field_recipe recipe;
    lt_field_recipe_default(t, lt_field_types[t].name, &recipe);
    if (g->labels) lt_image_text(&p->image, MARGIN, y + (g->cell_height - LT_FONT_HEIGHT * p->label_scale) / 2, p->label_scale, ink, recipe.alias);
    for (int v = 0; v < g->variations; v++) {
        lt_rect cell = { p->label_width + v * (g->cell_width + p->gap), y, g->cell_width, g->cell_height };
        float lo, hi;
        LT_TRY(lt_field_draw_recipe(p->maker, &recipe, g->physical, g->seed, v, p->field));
        lt_image_quantiles(p->field, n, p->scratch, &lo, &hi);
        if (g->channels == 1) lt_image_plane(&p->image, cell, p->field, g->grid, g->grid, lo, hi, p->table);
        else lt_image_colour_planes(&p->image, cell, p->field, g->grid, g->grid, lo, hi);
    }
    return LT_OK;
}

static lt_status paint(page *p)
{
    int map, y = 0;
    size_t n = (size_t)p->g->grid * (size_t)p->g->grid * LT_FIELD_CHANNELS;
    LT_TRY(check(p->g, &map));
    lt_colormap_table(map, p->table);
    LT_TRY(select_types(p->g, p->chosen));
    LT_TRY(lt_field_maker_create(p->g->grid, &p->maker));
    p->field = lt_malloc(n * sizeof *p->field);
    p->scratch = lt_malloc(n * sizeof *p->scratch);
    if (!p->field || !p->scratch) return LT_ERR_MEMORY;
    LT_TRY(lay_out(p));
    for (int t = 0; t < LT_FIELD_TYPE_COUNT; t++)
        if (p->chosen[t]) {
            LT_TRY(paint_row(p, (lt_field_type)t, y));
            y += p->g->cell_height + p->gap;
        }
    return LT_OK;
}

lt_status lt_field_gallery_write(const lt_field_gallery *g, const char *path, int *width, int *height)
{
    lt_field_gallery own = lt_field_gallery_defaults();
    LT_TRY(LT_TAKE(lt_field_gallery, g, &own));
    page p = { .g = &own };
    lt_status s = paint(&p);
    if (!s) s = lt_image_write_png(&p.image, path);
    if (!s && width) *width = p.image.width;
    if (!s && height) *height = p.image.height;
    lt_image_free(&p.image);
    lt_field_maker_destroy(p.maker);
    lt_free(p.field);
    lt_free(p.scratch);
    return s;
}
