/* Fields made of waves: packets, spirals, interference, Turing patterns. SPDX-License-Identifier: BSD-3-Clause */
#include "operators/fields/draw.h"

#include "base/status.h"

#include <string.h>

static double *cleared(lt_field_job *j, int which)
{
    memset(j->m->plane[which], 0, (size_t)j->pixels * sizeof(double));
    return j->m->plane[which];
}

/* ---- Packets ----------------------------------------------------------------------------- */
lt_status lt_paint_quantum_packet(lt_field_job *j)
{
    int g = j->grid;
    double sigma = j->number[0], *re = j->out, *im = re + j->pixels, *density = im + j->pixels;
    for (int i = 0; i < (int)j->number[2]; i++) {
        double x = lt_field_uniform(j, 0, g), y = lt_field_uniform(j, 0, g), k = lt_field_from_pair(j, 1), angle = lt_field_angle(j);
        double kx = k * cos(angle), ky = k * sin(angle);
        for (int r = 0; r < g; r++)
            for (int c = 0; c < g; c++) {
                int64_t at = (int64_t)r * g + c;
                double dx = c - x, dy = r - y, e = exp(-(dx * dx + dy * dy) / (4 * sigma * sigma)), phase = kx * dx + ky * dy;
                re[at] += e * cos(phase);
                im[at] += e * sin(phase);
                density[at] += e * e;
            }
    }
    lt_field_scale_by_largest(density, j->pixels, false);
    return LT_OK;
}

lt_status lt_paint_coherent(lt_field_job *j)
{
    int g = j->grid;
    double *plane = cleared(j, 1), sigma = j->number[1];
    for (int i = 0; i < (int)j->number[3]; i++) {
        double x = lt_field_uniform(j, 0, g), y = lt_field_uniform(j, 0, g), angle = lt_field_angle(j);
        double kx = j->number[2] * cos(angle), ky = j->number[2] * sin(angle);
        for (int r = 0; r < g; r++)
            for (int c = 0; c < g; c++) {
                double d2 = (c - x) * (c - x) + (r - y) * (r - y);
                plane[(int64_t)r * g + c] += j->number[0] * exp(-d2 / (2 * sigma * sigma)) * cos(kx * c + ky * r);
            }
    }
    lt_field_copy_channels(j, plane);
    return lt_field_add_grf_channels(j, 0.1, 0.5);
}

lt_status lt_paint_relativistic(lt_field_job *j)
{
    int g = j->grid;
    double v = j->number[0], sigma = j->number[1], gamma2 = 1 / (1 - v * v), *plane = j->m->plane[1];
    double middle = (g - 1) / 2.0, x = middle + lt_field_uniform(j, -g / 4.0, g / 4.0), y = middle + lt_field_uniform(j, -g / 4.0, g / 4.0);
    double k = lt_field_from_pair(j, 2), phase = lt_field_angle(j);
    for (int r = 0; r < g; r++)
        for (int c = 0; c < g; c++) {
            double dx = c - x, dy = r - y;
            plane[(int64_t)r * g + c] = exp(-(gamma2 * dx * dx + dy * dy) / (2 * sigma * sigma)) * cos(k * dx + phase);
        }
    lt_field_copy_channels(j, plane);
    return LT_OK;
}

/* ---- Turing patterns ------------------------------------------------------------------------- */
static void add_turing(lt_field_job *j, int type, double *plane)
{
    double k = LT_TURN / j->number[1];
    int n = type == 0 ? 3 : type == 1 ? 1 : 2 + lt_field_below(j, 3);
    for (int i = 0; i < n; i++) {
        double angle = type == 0 ? i * LT_TURN / 3 : lt_field_angle(j);
        lt_field_add_wave(j, k, angle, 0, 1.0 / n, plane);
    }
}

lt_status lt_paint_turing(lt_field_job *j)
{
    double *plane = cleared(j, 1);
    int type = (int)j->number[0];
    add_turing(j, type == 3 ? lt_field_below(j, 3) : type, plane); /* mixed: one of the three */
    lt_field_copy_channels(j, plane);
    return lt_field_add_grf_channels(j, j->number[1] / j->grid, j->number[2] * j->number[2]);
}

/* ---- Spirals and targets ------------------------------------------------------------------------ */
typedef enum bz_pattern { SPIRAL, TARGET, TURBULENT } bz_pattern;

static void add_rotor(lt_field_job *j, bz_pattern pattern, double k, double offset, double amount)
{
    int g = j->grid;
    double x = lt_field_uniform(j, 0, g), y = lt_field_uniform(j, 0, g), hand = lt_field_below(j, 2) ? 1 : -1;
    for (int r = 0; r < g; r++)
        for (int c = 0; c < g; c++) {
            double *p = j->out + (int64_t)r * g + c, distance = hypot(c - x, r - y);
            double phase = pattern == TARGET ? k * distance : hand * atan2(r - y, c - x) - k * distance;
            double first = amount * cos(phase), second = amount * sin(phase + (pattern == TURBULENT ? 0 : offset));
            p[0] += first;
            p[j->pixels] += second;
            if (pattern != TURBULENT) p[2 * j->pixels] += pattern == TARGET ? first : (first + second) / 2;
        }
}

lt_status lt_paint_bz(lt_field_job *j)
{
    bz_pattern pattern = (bz_pattern)j->number[0];
    int n = pattern == TURBULENT ? 3 + lt_field_below(j, 5) : (int)j->number[1];
    for (int i = 0; i < n; i++) add_rotor(j, pattern, LT_TURN / j->number[2], j->number[3], pattern == TURBULENT ? 1.0 / n : 1);
    lt_field_scale_by_largest(j->out, LT_FIELD_CHANNELS * j->pixels, true);
    return LT_OK;
}

/* ---- Interference --------------------------------------------------------------------------------- */
lt_status lt_paint_interference(lt_field_job *j)
{
    int g = j->grid, n = (int)j->number[0];
    double k = LT_TURN / j->number[1], length = j->number[2], spacing = j->number[3];
    bool pair = n == 2 && !isnan(spacing);
    for (int i = 0; i < n; i++) {
        double x = pair ? g / 2.0 + (i ? 0.5 : -0.5) * spacing : lt_field_uniform(j, 0.1 * g, 0.9 * g);
        double y = pair ? g / 2.0 : lt_field_uniform(j, 0.1 * g, 0.9 * g), phase = lt_field_angle(j), amount[LT_FIELD_CHANNELS];
        for (int c = 0; c < LT_FIELD_CHANNELS; c++) amount[c] = cos(lt_field_angle(j));
        for (int r = 0; r < g; r++)
            for (int q = 0; q < g; q++) {
                double distance = hypot(q - x, r - y), wave = cos(k * distance + phase) * exp(-distance * distance / (2 * length * length));
                for (int c = 0; c < LT_FIELD_CHANNELS; c++) j->out[c * j->pixels + (int64_t)r * g + q] += amount[c] * wave;
            }
    }
    lt_field_scale_by_largest(j->out, LT_FIELD_CHANNELS * j->pixels, true);
    return LT_OK;
}
