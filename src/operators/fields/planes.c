/* Planes of numbers: random ones, bumps, waves, scaling. SPDX-License-Identifier: BSD-3-Clause */
#include "operators/fields/draw.h"

#include "operators/rollout/noise_loops.h"

#include <string.h>

static void draw(lt_field_job *j, lt_variate variate, int64_t n)
{
    lt_draws s = lt_draws_make(j->seed, "field", (uint32_t)j->index, (uint32_t)(j->index >> 32), ++j->n_streams);
    lt_draw_fill(&s, variate, 0, n, 1, j->m->random);
}

void lt_field_normals(lt_field_job *j, int64_t n, double *out)
{
    draw(j, LT_VARIATE_NORMAL, n);
    for (int64_t i = 0; i < n; i++) out[i] = j->m->random[i];
}

/* They are drawn in [-1, 1). */
void lt_field_uniforms(lt_field_job *j, int64_t n, double *out)
{
    draw(j, LT_VARIATE_UNIFORM, n);
    for (int64_t i = 0; i < n; i++) out[i] = 0.5 * j->m->random[i] + 0.5;
}

void lt_field_copy_channels(lt_field_job *j, const double *plane)
{
    for (int c = 0; c < LT_FIELD_CHANNELS; c++) memcpy(j->out + c * j->pixels, plane, (size_t)j->pixels * sizeof *plane);
}

void lt_field_scale_by_largest(double *x, int64_t n, bool absolute)
{
    double largest = 0;
    for (int64_t i = 0; i < n; i++) largest = fmax(largest, absolute ? fabs(x[i]) : x[i]);
    if (largest > 0)
        for (int64_t i = 0; i < n; i++) x[i] /= largest;
}

void lt_field_scale_to(double *x, int64_t n, double lo, double hi)
{
    double least = x[0], most = x[0];
    for (int64_t i = 1; i < n; i++) {
        least = fmin(least, x[i]);
        most = fmax(most, x[i]);
    }
    double factor = most > least ? (hi - lo) / (most - least) : 0;
    for (int64_t i = 0; i < n; i++) x[i] = lo + (x[i] - least) * factor;
}

/* The bump is a product of one in x and one in y: 2 G exponentials instead of G^2. */
void lt_field_add_bump(const lt_field_job *j, double x, double y, double sigma, double amount, double *plane)
{
    double *along_x = j->m->filter; /* free between random fields; at least 2 G numbers */
    double factor = -0.5 / fmax(sigma * sigma, 1e-12);
    for (int c = 0; c < j->grid; c++) along_x[c] = exp((c - x) * (c - x) * factor);
    for (int r = 0; r < j->grid; r++) {
        double row = amount * exp((r - y) * (r - y) * factor), *p = plane + (int64_t)r * j->grid;
        for (int c = 0; c < j->grid; c++) p[c] += row * along_x[c];
    }
}

/* Likewise by the sum formula of the cosine: 4 G of them. */
void lt_field_add_wave(const lt_field_job *j, double k, double angle, double phase, double amount, double *plane)
{
    double kx = k * cos(angle), ky = k * sin(angle), *cosine = j->m->filter, *sine = cosine + j->grid;
    for (int c = 0; c < j->grid; c++) {
        cosine[c] = cos(kx * c + phase);
        sine[c] = sin(kx * c + phase);
    }
    for (int r = 0; r < j->grid; r++) {
        double a = amount * cos(ky * r), b = amount * sin(ky * r), *p = plane + (int64_t)r * j->grid;
        for (int c = 0; c < j->grid; c++) p[c] += a * cosine[c] - b * sine[c];
    }
}
