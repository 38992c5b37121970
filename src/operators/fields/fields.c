/* Initial fields: choice of the type, work memory, and the draw itself. SPDX-License-Identifier: BSD-3-Clause */
#include "operators/fields/draw.h"

#include "base/alloc.h"
#include "base/status.h"

#include <string.h>

/* ---- Which one ------------------------------------------------------------------------ */
int lt_field_choose(const lt_dataset_config *c, int64_t index)
{
    double sum = 0, u = 0, reached = 0;
    for (int i = 0; i < c->n_fields; i++) sum += c->field_weight[i];
    lt_draws stream = lt_draws_make(c->seed, "field type", (uint32_t)index, (uint32_t)(index >> 32), 0);
    lt_rng rng = { .stream = stream };
    u = lt_rng_uniform(&rng) * sum;
    for (int i = 0; i < c->n_fields; i++)
        if ((reached += c->field_weight[i]) > u) return i;
    return c->n_fields - 1;
}

const char *lt_field_alias(const lt_dataset_config *c, int which) { return c->field[which].alias; }

/* ---- Work memory -------------------------------------------------------------------------- */
static lt_status compile_inverse(lt_field_maker *m)
{
    LT_TRY(lt_graph_create(&m->graph));
    int64_t g = m->grid;
    lt_node out = lt_irfft2(m->graph, lt_input(m->graph, "spectrum", LT_F64, lt_shape3(g, g / 2 + 1, 2)), g);
    return lt_program_create(m->graph, &out, 1, NULL, &m->inverse);
}

static lt_status fill_maker(lt_field_maker *m)
{
    size_t n = (size_t)m->grid * (size_t)m->grid, half = (size_t)m->grid * (size_t)(m->grid / 2 + 1);
    m->half = lt_malloc(2 * half * sizeof(double));
    m->filter = lt_malloc(half * sizeof(double));
    m->out = lt_malloc(LT_FIELD_CHANNELS * n * sizeof(double));
    m->words = lt_malloc((n / 32 + 1) * sizeof(uint32_t));
    m->random = lt_malloc(2 * half * sizeof(float));
    bool all = m->half && m->filter && m->out && m->words && m->random;
    for (int i = 0; i < 3; i++) all &= (m->plane[i] = lt_malloc(n * sizeof(double))) != NULL;
    for (int i = 0; i < 2; i++) all &= (m->cell[i] = lt_malloc(n)) != NULL;
    return all ? compile_inverse(m) : LT_ERR_MEMORY;
}

lt_status lt_field_maker_create(int grid, lt_field_maker **out)
{
    *out = NULL;
    if (grid < 2 || grid > 8192) return LT_FAIL(LT_ERR_ARGUMENT, "initial fields: a grid of %d: expected 2..8192", grid);
    lt_field_maker *m = lt_calloc(1, sizeof *m);
    if (!m) return LT_ERR_MEMORY;
    m->grid = grid;
    lt_status s = fill_maker(m);
    if (s) {
        lt_field_maker_destroy(m);
        return s;
    }
    *out = m;
    return LT_OK;
}

void lt_field_maker_destroy(lt_field_maker *m)
{
    if (!m) return;
    lt_program_destroy(m->inverse);
    lt_graph_destroy(m->graph);
    lt_free(m->half);
    lt_free(m->filter);
    lt_free(m->out);
    lt_free(m->words);
    lt_free(m->random);
    for (int i = 0; i < 3; i++) lt_free(m->plane[i]);
    for (int i = 0; i < 2; i++) lt_free(m->cell[i]);
    lt_free(m);
}

/* ---- Drawing ----------------------------------------------------------------------------------- */
/* Single numbers of the recipe; ranges are drawn here, in the order of the table. */
static void settle_numbers(lt_field_job *j)
{
    const lt_field_type_row *row = &lt_field_types[j->recipe->type];
    for (int i = 0; i < row->n_params; i++) {
        const lt_field_value *v = &j->recipe->value[i];
        j->number[i] = v->drawn ? lt_field_from_pair(j, i) : v->n ? v->item[0] : NAN;
        if (v->drawn && row->params[i].kind == LT_FIELD_INT) j->number[i] = floor(j->number[i]);
    }
}

lt_status lt_field_draw_recipe(lt_field_maker *m, const lt_field_recipe *recipe, bool physical, uint64_t seed, int64_t index, float *field)
{
    lt_field_job j = { .m = m, .recipe = recipe, .physical = physical, .seed = seed, .index = index, .grid = m->grid,
                       .pixels = (int64_t)m->grid * m->grid, .out = m->out };
    j.rng.stream = lt_draws_make(seed, "field", (uint32_t)index, (uint32_t)(index >> 32), 0);
    memset(j.out, 0, (size_t)(LT_FIELD_CHANNELS * j.pixels) * sizeof *j.out);
    settle_numbers(&j);
    LT_TRY(lt_field_painters[recipe->type](&j));
    for (int64_t i = 0; i < LT_FIELD_CHANNELS * j.pixels; i++) field[i] = (float)j.out[i];
    return LT_OK;
}

lt_status lt_field_draw(lt_field_maker *m, const lt_dataset_config *c, int which, int64_t index, float *field)
{
    if (which < 0 || which >= c->n_fields) return LT_FAIL(LT_ERR_ARGUMENT, "initial field %d: expected 0..%d", which, c->n_fields - 1);
    return lt_field_draw_recipe(m, &c->field[which], c->physical_grf, c->seed, index, field);
}

const lt_field_painter lt_field_painters[LT_FIELD_TYPE_COUNT] = {
    [LT_FIELD_GRF] = lt_paint_grf,
    [LT_FIELD_MULTISCALE] = lt_paint_multiscale,
    [LT_FIELD_HEAVY_TAILED] = lt_paint_heavy_tailed,
    [LT_FIELD_STRUCTURED] = lt_paint_structured,
    [LT_FIELD_LOCALIZED] = lt_paint_localized,
    [LT_FIELD_COMPOSITE] = lt_paint_composite,
    [LT_FIELD_MIXED] = lt_paint_mixed,
    [LT_FIELD_QUANTUM_PACKET] = lt_paint_quantum_packet,
    [LT_FIELD_TURING] = lt_paint_turing,
    [LT_FIELD_THERMAL] = lt_paint_thermal,
    [LT_FIELD_MORPHOGEN] = lt_paint_morphogen,
    [LT_FIELD_REACTION_FRONT] = lt_paint_reaction_front,
    [LT_FIELD_LIGHT_CONE] = lt_paint_light_cone,
    [LT_FIELD_CRITICAL] = lt_paint_critical,
    [LT_FIELD_PHASE_BOUNDARY] = lt_paint_phase_boundary,
    [LT_FIELD_BZ] = lt_paint_bz,
    [LT_FIELD_SHANNON] = lt_paint_shannon,
    [LT_FIELD_INTERFERENCE] = lt_paint_interference,
    [LT_FIELD_CELLS] = lt_paint_cells,
    [LT_FIELD_CHROMATIN] = lt_paint_chromatin,
    [LT_FIELD_SHOCK] = lt_paint_shock,
    [LT_FIELD_GENES] = lt_paint_genes,
    [LT_FIELD_COHERENT] = lt_paint_coherent,
    [LT_FIELD_RELATIVISTIC] = lt_paint_relativistic,
    [LT_FIELD_MUTUAL_INFORMATION] = lt_paint_mutual_information,
    [LT_FIELD_REGULATORY] = lt_paint_regulatory,
    [LT_FIELD_DLA] = lt_paint_dla,
    [LT_FIELD_CODE] = lt_paint_code,
};
