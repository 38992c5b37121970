/* Fields made of gradients, fronts and mixtures with noise. SPDX-License-Identifier: BSD-3-Clause */
#include "operators/fields/draw.h"

#include "base/status.h"

/* ---- Gradients ------------------------------------------------------------------------------- */
/* x/G, y/G or their mean. */
static double ramp(const lt_field_job *j, int direction, int r, int c)
{
    double x = (double)c / j->grid, y = (double)r / j->grid;
    return direction == 0 ? x : direction == 1 ? y : (x + y) / 2;
}

lt_status lt_paint_thermal(lt_field_job *j)
{
    const lt_field_value *range = &j->recipe->value[1];
    int direction = (int)j->number[0] ? (int)j->number[0] - 1 : lt_field_below(j, 3);
    double *plane = j->m->plane[1];
    for (int r = 0; r < j->grid; r++)
        for (int c = 0; c < j->grid; c++)
            plane[(int64_t)r * j->grid + c] = range->item[0] + (range->item[1] - range->item[0]) * pow(ramp(j, direction, r, c), j->number[2]);
    lt_field_copy_channels(j, plane);
    return lt_field_add_grf_channels(j, j->number[4] / j->grid, j->number[3] * j->number[3]);
}

lt_status lt_paint_morphogen(lt_field_job *j)
{
    int g = j->grid, type = (int)j->number[3];
    double d = j->number[0], *plane = j->m->plane[1];
    for (int64_t i = 0; i < j->pixels; i++) plane[i] = 0;
    for (int s = 0; s < (int)j->number[1]; s++) {
        double x = lt_field_uniform(j, 0, g), y = lt_field_uniform(j, 0, g), top = lt_field_uniform(j, 0.5, 1);
        for (int r = 0; r < g; r++)
            for (int c = 0; c < g; c++) {
                double t = hypot(c - x, r - y) / d;
                plane[(int64_t)r * g + c] += top * (type == 0 ? exp(-t) : type == 1 ? 1 / (1 + t * t) : lt_field_sigmoid((1 - t) / 0.2));
            }
    }
    lt_field_copy_channels(j, plane);
    LT_TRY(lt_field_add_grf_channels(j, 0.05, j->number[2] * j->number[2]));
    lt_field_scale_to(j->out, LT_FIELD_CHANNELS * j->pixels, 0, 1);
    return LT_OK;
}

/* ---- Fronts --------------------------------------------------------------------------------------- */
/* Signed distance from a line through the middle (centred coordinates), moved by `offset`. */
static double from_line(const lt_field_job *j, double cosine, double sine, double offset, int r, int c)
{
    double middle = (j->grid - 1) / 2.0;
    return (c - middle) * cosine + (r - middle) * sine - offset;
}

/* What is put into 0.5 (1 + tanh(t)): one front. */
static lt_status front_distance(lt_field_job *j, int shape, double width, double *t)
{
    int g = j->grid;
    if (shape == 2) {
        LT_TRY(lt_field_grf(j, 0.2, 1, t));
        double level = lt_field_uniform(j, -1, 1);
        for (int64_t i = 0; i < j->pixels; i++) t[i] = (t[i] - level) / width;
        return LT_OK;
    }
    double angle = lt_field_angle(j), offset = lt_field_uniform(j, -0.25, 0.25) * g;
    double x = lt_field_uniform(j, 0, g), y = lt_field_uniform(j, 0, g), radius = (0.2 + 0.3 * lt_rng_uniform(&j->rng)) * g;
    double cosine = cos(angle), sine = sin(angle);
    for (int r = 0; r < g; r++)
        for (int c = 0; c < g; c++)
            t[(int64_t)r * g + c] = (shape == 0 ? from_line(j, cosine, sine, offset, r, c) : radius - hypot(c - x, r - y)) / width;
    return LT_OK;
}

lt_status lt_paint_reaction_front(lt_field_job *j)
{
    double *most = j->m->plane[1], *t = j->m->plane[2];
    for (int64_t i = 0; i < j->pixels; i++) most[i] = 0;
    for (int n = 0; n < (int)j->number[2]; n++) {
        LT_TRY(front_distance(j, (int)j->number[0], j->number[1], t));
        for (int64_t i = 0; i < j->pixels; i++) most[i] = fmax(most[i], 0.5 * (1 + tanh(t[i])));
    }
    lt_field_copy_channels(j, most);
    return LT_OK;
}

lt_status lt_paint_phase_boundary(lt_field_job *j)
{
    double angle = isnan(j->number[1]) ? lt_field_angle(j) : j->number[1], cosine = cos(angle), sine = sin(angle), *plane = j->m->plane[1];
    for (int r = 0; r < j->grid; r++)
        for (int c = 0; c < j->grid; c++)
            plane[(int64_t)r * j->grid + c] = tanh(from_line(j, cosine, sine, 0, r, c) / (M_SQRT2 * j->number[0]));
    lt_field_copy_channels(j, plane);
    return lt_field_add_grf_channels(j, 0.1, j->number[2] * j->number[2]);
}

lt_status lt_paint_shock(lt_field_job *j)
{
    int g = j->grid;
    double position = isnan(j->number[0]) ? lt_field_uniform(j, 0.2, 0.8) : j->number[0];
    double angle = isnan(j->number[1]) ? lt_field_angle(j) : j->number[1], width = j->number[2] / g, *plane = j->m->plane[1];
    for (int r = 0; r < g; r++)
        for (int c = 0; c < g; c++) {
            double q = tanh(((c * cos(angle) + r * sin(angle)) / g - position) / width);
            plane[(int64_t)r * g + c] = (1 - q) / 2 + j->number[3] * (1 + q) / 2;
        }
    lt_field_copy_channels(j, plane);
    return lt_field_add_grf_channels(j, 0.05, j->number[4] * j->number[4]);
}

lt_status lt_paint_light_cone(lt_field_job *j)
{
    int g = j->grid;
    double *inside = j->m->plane[1], *plane = j->m->plane[0];
    for (int n = 0; n < (int)j->number[3]; n++) {
        double x = lt_field_uniform(j, 0, g), y = lt_field_uniform(j, 0, g);
        for (int r = 0; r < g; r++)
            for (int c = 0; c < g; c++) inside[(int64_t)r * g + c] = lt_field_sigmoid((j->number[0] - hypot(c - x, r - y)) / j->number[1]);
        for (int c = 0; c < LT_FIELD_CHANNELS; c++) {
            LT_TRY(lt_field_grf(j, j->number[2] / g, 1, plane));
            for (int64_t i = 0; i < j->pixels; i++) j->out[c * j->pixels + i] += inside[i] * plane[i];
        }
    }
    return LT_OK;
}

/* ---- Fields mixed with noise ------------------------------------------------------------------------- */
static lt_status entropy_pattern(lt_field_job *j, double *e)
{
    int direction;
    switch ((int)j->number[0]) {
    case 0:
        direction = lt_field_below(j, 3);
        for (int r = 0; r < j->grid; r++)
            for (int c = 0; c < j->grid; c++) e[(int64_t)r * j->grid + c] = ramp(j, direction, r, c);
        return LT_OK;
    case 1:
        LT_TRY(lt_field_grf(j, j->number[2] / j->grid, 1, e));
        lt_field_scale_to(e, j->pixels, 0, 1);
        return LT_OK;
    default:
        lt_field_uniforms(j, j->pixels, e);
        return LT_OK;
    }
}

lt_status lt_paint_shannon(lt_field_job *j)
{
    const lt_field_value *range = &j->recipe->value[1];
    double *amount = j->m->plane[1], *noise = j->m->plane[2];
    LT_TRY(entropy_pattern(j, amount));
    for (int64_t i = 0; i < j->pixels; i++) amount[i] = exp(range->item[0] + (range->item[1] - range->item[0]) * amount[i]);
    for (int c = 0; c < LT_FIELD_CHANNELS; c++) {
        lt_field_normals(j, j->pixels, noise);
        for (int64_t i = 0; i < j->pixels; i++) j->out[c * j->pixels + i] = amount[i] * noise[i];
    }
    return lt_field_add_grf_channels(j, 0.2, 0.5);
}

lt_status lt_paint_mutual_information(lt_field_job *j)
{
    double l = j->number[1], a = 1 - j->number[2], b = sqrt(1 - a * a), *latent = j->m->plane[1];
    int pattern = (int)j->number[0];
    if (pattern == 2) LT_TRY(lt_field_multiscale(j, 3, (const double[]){ l, l / 2, l / 4 }, 1, latent));
    else LT_TRY(lt_field_grf(j, l * (pattern == 0 ? 0.5 : 2), 1, latent));
    for (int c = 0; c < LT_FIELD_CHANNELS; c++) {
        double *out = j->out + c * j->pixels;
        lt_field_normals(j, j->pixels, out);
        if (c < (int)j->number[3])
            for (int64_t i = 0; i < j->pixels; i++) out[i] = a * latent[i] + b * out[i];
    }
    return LT_OK;
}
