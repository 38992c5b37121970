/* Baseline fields made of shapes. SPDX-License-Identifier: BSD-3-Clause */
#include "operators/fields/draw.h"

#include "base/status.h"

/* ---- Structures ------------------------------------------------------------------------- */
static void add_circle(lt_field_job *j, double *plane)
{
    int g = j->grid;
    double x = lt_field_uniform(j, 0, g), y = lt_field_uniform(j, 0, g), radius = lt_field_uniform(j, 0, 0.2 * g), value = 2 * lt_field_normal(j);
    for (int r = 0; r < g; r++)
        for (int c = 0; c < g; c++)
            if (hypot(c - x, r - y) < radius) plane[(int64_t)r * g + c] += value;
}

/* sin t = cos(t - a quarter turn) */
static void add_stripe(lt_field_job *j, double least, double most, double *plane)
{
    double angle = lt_field_angle(j), frequency = lt_field_uniform(j, least, most);
    lt_field_add_wave(j, frequency * LT_TURN / j->grid, angle, -M_PI_2, 1, plane);
}

static void add_blob(lt_field_job *j, double *plane)
{
    double x = lt_field_uniform(j, 0, j->grid), y = lt_field_uniform(j, 0, j->grid), sigma = lt_field_uniform(j, 0, 0.15 * j->grid);
    lt_field_add_bump(j, x, y, sigma, 3 * lt_field_normal(j), plane);
}

static void add_structures(lt_field_job *j, int count, const lt_field_value *types)
{
    for (int i = 0; i < count; i++) {
        int type = (int)types->item[lt_field_below(j, types->n)];
        double *plane = j->out + lt_field_below(j, LT_FIELD_CHANNELS) * j->pixels;
        if (type == 0) add_circle(j, plane);
        else if (type == 1) add_stripe(j, 1, 6, plane);
        else add_blob(j, plane);
    }
}

lt_status lt_paint_structured(lt_field_job *j)
{
    add_structures(j, (int)j->number[0], &j->recipe->value[1]);
    return LT_OK;
}

lt_status lt_paint_mixed(lt_field_job *j)
{
    if (lt_rng_uniform(&j->rng) < 0.5) return lt_paint_grf(j);
    add_structures(j, (int)j->number[2], &j->recipe->value[3]);
    return LT_OK;
}

lt_status lt_paint_localized(lt_field_job *j)
{
    for (int i = 0; i < (int)j->number[0]; i++) {
        double x = lt_field_uniform(j, 0, j->grid), y = lt_field_uniform(j, 0, j->grid);
        double sigma = lt_field_uniform(j, j->number[1], j->number[2]);
        for (int c = 0; c < LT_FIELD_CHANNELS; c++) lt_field_add_bump(j, x, y, sigma, 2 * lt_field_normal(j), j->out + c * j->pixels);
    }
    return LT_OK;
}

/* ---- Composite ----------------------------------------------------------------------------- */
static void add_grid(lt_field_job *j, double *plane)
{
    double k = lt_field_uniform(j, 3, 6) * LT_TURN / j->grid;
    for (int r = 0; r < j->grid; r++)
        for (int c = 0; c < j->grid; c++) plane[(int64_t)r * j->grid + c] += sin(k * c) * sin(k * r);
}

static void add_rings(lt_field_job *j, double *plane)
{
    double k = lt_field_uniform(j, 2, 6) * LT_TURN / j->grid, middle = j->grid / 2.0;
    for (int r = 0; r < j->grid; r++)
        for (int c = 0; c < j->grid; c++) plane[(int64_t)r * j->grid + c] += sin(k * hypot(c - middle, r - middle));
}

lt_status lt_paint_composite(lt_field_job *j)
{
    double *plane = j->m->plane[1];
    for (int64_t i = 0; i < j->pixels; i++) plane[i] = 0;
    switch ((int)j->number[0]) {
    case 0: add_stripe(j, 2, 6, plane); break;
    case 1: add_grid(j, plane); break;
    default: add_rings(j, plane);
    }
    lt_field_copy_channels(j, plane);
    return lt_field_add_grf_channels(j, j->number[2], j->number[1] * j->number[1]);
}
