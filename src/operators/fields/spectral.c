/* Fields given by their spectrum. SPDX-License-Identifier: BSD-3-Clause

   The definition draws z(k) ~ CN(0, 1) at every mode, without symmetry, and keeps the real part of the
   inverse transform of z(k) s(k). The real part is the inverse transform of the Hermitian part
   h(k) = (z(k) + conj z(-k)) / 2, whose modes are CN(0, 1/2), or N(0, 1/2) where k = -k: half as many
   numbers and a real transform, the same distribution (decision 39). */
#include "operators/fields/draw.h"

#include "base/status.h"

/* ---- The transform ------------------------------------------------------------------------- */
/* A column that is its own mirror image: k_x = 0 or the highest frequency. */
static bool mirrors_itself(int grid, int column) { return column == 0 || 2 * column == grid; }

/* half = h(k) filter(k) from one normal per number drawn, (row, column, part) in order. */
static void shape_spectrum(const lt_field_job *j, double *half)
{
    int g = j->grid, columns = g / 2 + 1;
    for (int r = 0; r < g; r++)
        for (int c = 0; c < columns; c++) {
            double *z = half + 2 * ((int64_t)r * columns + c), s = j->m->filter[(int64_t)r * columns + c];
            int mirror = (g - r) % g;
            if (!mirrors_itself(g, c) || r < mirror) {
                z[0] *= 0.5 * s;
                z[1] *= 0.5 * s;
            } else if (r == mirror) {
                z[0] *= M_SQRT1_2 * s;
                z[1] = 0;
            } else { /* the mirror image is shaped already: its row is smaller */
                const double *w = half + 2 * ((int64_t)mirror * columns + c);
                z[0] = w[0];
                z[1] = -w[1];
            }
        }
}

/* plane = Re ifft2(z filter). */
static lt_status draw_spectrum(lt_field_job *j, double *plane)
{
    lt_field_normals(j, 2 * (int64_t)j->grid * (j->grid / 2 + 1), j->m->half);
    shape_spectrum(j, j->m->half);
    LT_TRY(lt_program_run(j->m->inverse, (const void *[]){ j->m->half }, (void *[]){ plane }));
    for (int64_t i = 0; i < j->pixels; i++) plane[i] /= (double)j->pixels;
    return LT_OK;
}

/* ---- Filters ----------------------------------------------------------------------------------- */
typedef double (*density)(const double *arg, double k2); /* spectral density at k^2, cycles per pixel */

static double k_squared(int grid, int row, int column)
{
    double ky = (double)(2 * row < grid ? row : row - grid) / grid, kx = (double)column / grid;
    return kx * kx + ky * ky;
}

/* The sum of a density over all G^2 modes. */
static double density_sum(const lt_field_job *j, density q, const double *arg)
{
    int g = j->grid;
    double sum = 0;
    for (int r = 0; r < g; r++)
        for (int c = 0; c <= g / 2; c++) sum += (mirrors_itself(g, c) ? 1 : 2) * q(arg, k_squared(g, r, c));
    return sum;
}

/* The filter holds densities from clear to finish, amplitudes afterwards. */
static void clear_filter(const lt_field_job *j)
{
    for (int64_t i = 0; i < (int64_t)j->grid * (j->grid / 2 + 1); i++) j->m->filter[i] = 0;
}

static void add_density(const lt_field_job *j, density q, const double *arg, double amount)
{
    int g = j->grid, columns = g / 2 + 1;
    for (int r = 0; r < g; r++)
        for (int c = 0; c < columns; c++) j->m->filter[(int64_t)r * columns + c] += amount * q(arg, k_squared(g, r, c));
}

static void finish_filter(const lt_field_job *j)
{
    for (int64_t i = 0; i < (int64_t)j->grid * (j->grid / 2 + 1); i++) j->m->filter[i] = sqrt(j->m->filter[i]);
}

/* The sum over all modes that gives pixels this variance: each mode carries half of its density
   over G^4. */
static double sum_for(const lt_field_job *j, double variance) { return 2 * variance * (double)j->pixels * (double)j->pixels; }

static void set_normalised(const lt_field_job *j, density q, const double *arg, double sum)
{
    clear_filter(j);
    add_density(j, q, arg, sum / density_sum(j, q, arg));
    finish_filter(j);
}

/* ---- Random fields of given length -------------------------------------------------------------- */
static double gaussian(const double *length, double k2) { return exp(-k2 * *length * *length / 2); }

/* Independent fields add up to one whose density is the sum of theirs. In physical mode lengths are
   fractions of the grid and every scale has its share of the variance, whatever its sum. */
static void set_lengths(const lt_field_job *j, int n, const double *length, double variance)
{
    clear_filter(j);
    for (int i = 0; i < n; i++) {
        double l = j->physical ? length[i] * j->grid : length[i], amount = variance / n;
        if (j->physical) amount = sum_for(j, amount) / density_sum(j, gaussian, &l);
        add_density(j, gaussian, &l, amount);
    }
    finish_filter(j);
}

lt_status lt_field_multiscale(lt_field_job *j, int n, const double *length, double variance, double *plane)
{
    set_lengths(j, n, length, variance);
    return draw_spectrum(j, plane);
}

lt_status lt_field_grf(lt_field_job *j, double length, double variance, double *plane)
{
    return lt_field_multiscale(j, 1, &length, variance, plane);
}

/* All channels through the filter that is set; added to what is there. */
static lt_status add_channels(lt_field_job *j)
{
    double *plane = j->m->plane[0];
    for (int c = 0; c < LT_FIELD_CHANNELS; c++) {
        LT_TRY(draw_spectrum(j, plane));
        for (int64_t i = 0; i < j->pixels; i++) j->out[c * j->pixels + i] += plane[i];
    }
    return LT_OK;
}

lt_status lt_field_add_grf_channels(lt_field_job *j, double length, double variance)
{
    set_lengths(j, 1, &length, variance);
    return add_channels(j);
}

lt_status lt_paint_grf(lt_field_job *j) { return lt_field_add_grf_channels(j, j->number[0], j->number[1]); }

lt_status lt_paint_multiscale(lt_field_job *j)
{
    const lt_field_value *scales = &j->recipe->value[0];
    set_lengths(j, scales->n, scales->item, j->number[1]);
    return add_channels(j);
}

/* ---- Power laws ------------------------------------------------------------------------------------ */
static double power_law(const double *alpha, double k2) { return pow(k2 + 1e-10, -*alpha / 2); }
/* Without the mean, which would outweigh all else. */
static double power_law_without_mean(const double *alpha, double k2) { return k2 > 0 ? pow(k2, -*alpha / 2) : 0; }

lt_status lt_paint_heavy_tailed(lt_field_job *j)
{
    if (j->physical) set_normalised(j, power_law_without_mean, &j->number[0], sum_for(j, j->number[1]));
    else set_normalised(j, power_law, &j->number[0], (double)j->pixels * j->number[1]);
    return add_channels(j);
}

static double critical(const double *arg, double k2) { return pow(k2 + 1 / (arg[0] * arg[0]), -arg[1] / 2); }
/* Ornstein and Zernike's form, in radians per pixel (decision 42): eta is the anomalous part of the exponent. */
static double critical_physical(const double *arg, double k2)
{
    return pow(LT_TURN * LT_TURN * k2 + 1 / (arg[0] * arg[0]), -(2 - arg[1]) / 2);
}

lt_status lt_paint_critical(lt_field_job *j)
{
    if (j->physical) set_normalised(j, critical_physical, j->number, sum_for(j, 1));
    else set_normalised(j, critical, j->number, (double)j->pixels);
    return add_channels(j);
}
