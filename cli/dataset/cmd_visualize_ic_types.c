/* lathe visualize-ic-types: a picture of the types of initial fields. SPDX-License-Identifier: BSD-3-Clause */
#include "cli/frame/cli.h"

#include <stdlib.h>
#include <string.h>

typedef struct gallery_options {
    cli_common   common;
    const char  *output, *cell_size, *colormap;
    lt_text_list tiers, types;
    int          variations, grid, channels;
    int64_t      seed;
    bool         labels, spacing, physical, verbose;
} gallery_options;

static const lt_option rows[] = {
    LT_OPTION_PATH(gallery_options, output, "output", NULL, "FILE.png", "where the picture goes"),
    LT_OPTION_LIST(gallery_options, tiers, "tiers", "TIER", "baseline, tier1 to tier4 or all; several: again, or with commas"),
    LT_OPTION_LIST(gallery_options, types, "ic-types", "TYPE", "single types, as with --tiers"),
    LT_OPTION_INT(gallery_options, variations, "variations", "3", LT_RANGE_CLOSED(1, 100), "N", "fields of each type"),
    LT_OPTION_INT(gallery_options, grid, "grid-size", "128", LT_RANGE_CLOSED(2, 4096), "G", "side of a field"),
    LT_OPTION_INT(gallery_options, channels, "num-channels", "3", LT_RANGE_CLOSED(1, 3), "C", "3: channels as red, green, blue; 1: the first, in false colours"),
    LT_OPTION_INT(gallery_options, seed, "seed", "42", LT_AT_LEAST(0), "N", "seed of the fields"),
    LT_OPTION_STRING(gallery_options, cell_size, "cell-size", "128x128", "WxH", "pixels of a field in the picture"),
    LT_OPTION_STRING(gallery_options, colormap, "colormap", "viridis", "NAME",
                     "false colours: viridis, plasma, inferno, magma, cividis, turbo, coolwarm, twilight, gray"),
    LT_OPTION_BOOL(gallery_options, labels, "add-labels", "false", "names of the types beside their rows"),
    LT_OPTION_BOOL(gallery_options, spacing, "add-spacing", "false", "white lines between fields"),
    LT_OPTION_BOOL(gallery_options, physical, "physical", "false", "random fields as engine.grf: physical draws them"),
    LT_OPTION_BOOL(gallery_options, verbose, "verbose", "false", "list the types"),
};
/* The common rows without their last, the seed, which has another default here. */
static const lt_option_group groups[] = {
    { .title = "Options", .rows = rows, .n_rows = CLI_LEN(rows) },
    { .title = "Common options", .rows = cli_common_rows, .n_rows = CLI_N_COMMON_ROWS - 1 },
};
static const lt_option_table table = {
    .program = "lathe visualize-ic-types", .summary = "Show the types of initial fields in one picture",
    .groups = groups, .n_groups = CLI_LEN(groups),
    .example = "lathe visualize-ic-types --output fields.png --tiers baseline,tier1 --add-labels --add-spacing",
};

/* Items given one by one or with commas, cut apart in a copy. */
typedef struct name_list {
    char       *copy[LT_TEXT_LIST_MAX];
    int         n_copies, n;
    const char *name[LT_TEXT_LIST_MAX];
} name_list;

static lt_status split(const lt_text_list *from, name_list *out)
{
    for (int i = 0; i < from->n; i++) {
        char *rest, *copy = out->copy[out->n_copies++] = strdup(from->item[i]);
        if (!copy) return cli_fail(LT_ERR_MEMORY, "out of memory");
        for (char *part = strtok_r(copy, ",", &rest); part; part = strtok_r(NULL, ",", &rest)) {
            if (out->n == LT_TEXT_LIST_MAX) return cli_fail(LT_ERR_ARGUMENT, "more than %d names in one list", LT_TEXT_LIST_MAX);
            out->name[out->n++] = part;
        }
    }
    return LT_OK;
}

static void release(name_list *l)
{
    for (int i = 0; i < l->n_copies; i++) free(l->copy[i]);
}

static lt_status fill(const gallery_options *o, const name_list *tiers, const name_list *types, lt_field_gallery *g)
{
    *g = lt_field_gallery_defaults();
    char end;
    if (sscanf(o->cell_size, "%dx%d%c", &g->cell_width, &g->cell_height, &end) != 2)
        return cli_fail(LT_ERR_ARGUMENT, "--cell-size is '%s': expected WIDTHxHEIGHT, like 128x128", o->cell_size);
    g->tier = tiers->name;
    g->n_tiers = tiers->n;
    g->type = types->name;
    g->n_types = types->n;
    g->variations = o->variations;
    g->grid = o->grid;
    g->channels = o->channels;
    g->seed = (uint64_t)o->seed;
    g->colormap = o->colormap;
    g->labels = o->labels;
    g->spacing = o->spacing;
    g->physical = o->physical;
    return LT_OK;
}

static lt_status write_picture(cli_context *c, const lt_field_gallery *g)
{
    const gallery_options *o = c->options;
    int width, height;
    CLI_TRY(lt_field_gallery_write(g, o->output, &width, &height));
    if (c->json) {
        lt_json_field_string(c->json, "output", o->output);
        lt_json_field_int(c->json, "width", width);
        lt_json_field_int(c->json, "height", height);
        return LT_OK;
    }
    if (o->verbose)
        for (int t = 0; t < lt_field_type_count(); t++) printf("%-26s %s\n", lt_field_type_name(t), lt_field_type_tier(t));
    if (!c->common.quiet) printf("%s: %d by %d pixels\n", cli_shown(o->output).s, width, height);
    return LT_OK;
}

static lt_status run(cli_context *c)
{
    const gallery_options *o = c->options;
    if (!o->output) return cli_fail(LT_ERR_ARGUMENT, "where does the picture go? Give --output FILE.png");
    name_list tiers = { .n = 0 }, types = { .n = 0 };
    lt_field_gallery g;
    lt_status s = split(&o->tiers, &tiers);
    if (!s) s = split(&o->types, &types);
    if (!s) s = fill(o, &tiers, &types, &g);
    if (!s) s = write_picture(c, &g);
    release(&tiers);
    release(&types);
    return s;
}

const cli_command cli_visualize_ic_types = {
    .name = "visualize-ic-types", .options = &table, .options_bytes = sizeof(gallery_options), .run = run,
    .description = "Draws fields of every type of initial condition, one row per type, as a PNG image. Each field is scaled from its 1 % to its "
                   "99 % quantile.\nFields depend on the seed and their position in the row alone: the same command gives the same picture.",
};
