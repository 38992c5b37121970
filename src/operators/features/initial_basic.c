/* The 38 statistics an older script stored as INITIAL: per channel moments, gradients and quadrants.
   SPDX-License-Identifier: BSD-3-Clause */
#include "operators/features/field/field.h"
#include "operators/features/initial.h"

#include "base/alloc.h"
#include "base/status.h"

#include <math.h>

enum { CHANNELS = 3, MOMENTS = 6 };

static const char *const names[] = {
#define MOMENT_NAMES(c) "ic_" c "_mean", "ic_" c "_std", "ic_" c "_min", "ic_" c "_max", "ic_" c "_median", "ic_" c "_central_std"
    MOMENT_NAMES("ch0"), MOMENT_NAMES("ch1"), MOMENT_NAMES("ch2"),
    "ic_channel_means_std", "ic_channel_means_range",
    "ic_ch0_grad_x", "ic_ch0_grad_y", "ic_ch1_grad_x", "ic_ch1_grad_y", "ic_ch2_grad_x", "ic_ch2_grad_y",
#define QUADRANT_NAMES(c) "ic_" c "_q0_std", "ic_" c "_q1_std", "ic_" c "_q2_std", "ic_" c "_q3_std"
    QUADRANT_NAMES("ch0"), QUADRANT_NAMES("ch1"), QUADRANT_NAMES("ch2"),
};
_Static_assert(LT_LEN(names) == LT_INITIAL_BASIC_COUNT, "one name per column");

const char *lt_initial_basic_name(int column) { return names[column]; }

/* Mean and unbiased deviation over rows [y0, y1) and columns [x0, x1). */
static void spread(const float *u, int g, int y0, int y1, int x0, int x1, double *mean, double *std)
{
    double sum = 0, square = 0, n = (double)(y1 - y0) * (x1 - x0);
    for (int y = y0; y < y1; y++)
        for (int x = x0; x < x1; x++) sum += (double)u[(int64_t)y * g + x];
    *mean = n > 0 ? sum / n : 0;
    for (int y = y0; y < y1; y++)
        for (int x = x0; x < x1; x++) square += ((double)u[(int64_t)y * g + x] - *mean) * ((double)u[(int64_t)y * g + x] - *mean);
    *std = n > 1 ? sqrt(square / (n - 1)) : 0;
}

static double mean_step(const float *u, int g, bool along_x)
{
    double sum = 0;
    for (int y = 0; y < g - !along_x; y++)
        for (int x = 0; x < g - along_x; x++) {
            const float *at = u + (int64_t)y * g + x;
            sum += fabs((double)at[along_x ? 1 : g] - (double)at[0]);
        }
    return sum / ((double)g * (g - 1));
}

lt_status lt_initial_basic(const float *field, int grid, float *out)
{
    int64_t n = (int64_t)grid * grid;
    int h = grid / 2, q = grid / 4;
    double *sorted = lt_malloc((size_t)n * sizeof *sorted), mean[CHANNELS], std, unused;
    if (!sorted) return LT_ERR_MEMORY;
    for (int c = 0; c < CHANNELS; c++) {
        const float *u = field + c * n;
        float *moment = out + c * MOMENTS, *step = out + CHANNELS * MOMENTS + 2 + 2 * c, *quadrant = out + CHANNELS * (MOMENTS + 2) + 2 + 4 * c;
        for (int64_t i = 0; i < n; i++) sorted[i] = (double)u[i];
        lt_sort_numbers(sorted, n);
        spread(u, grid, 0, grid, 0, grid, &mean[c], &std);
        moment[0] = (float)mean[c];
        moment[1] = (float)std;
        moment[2] = (float)sorted[0];
        moment[3] = (float)sorted[n - 1];
        moment[4] = (float)sorted[(n - 1) / 2];
        spread(u, grid, q, grid - q, q, grid - q, &unused, &std);
        moment[5] = (float)std;
        step[0] = (float)mean_step(u, grid, true);
        step[1] = (float)mean_step(u, grid, false);
        for (int k = 0; k < 4; k++) {
            spread(u, grid, k / 2 ? h : 0, k / 2 ? grid : h, k % 2 ? h : 0, k % 2 ? grid : h, &unused, &std);
            quadrant[k] = (float)std;
        }
    }
    lt_free(sorted);
    double average = (mean[0] + mean[1] + mean[2]) / CHANNELS, square = 0;
    for (int c = 0; c < CHANNELS; c++) square += (mean[c] - average) * (mean[c] - average);
    out[CHANNELS * MOMENTS] = (float)sqrt(square / (CHANNELS - 1));
    out[CHANNELS * MOMENTS + 1] = (float)(fmax(mean[0], fmax(mean[1], mean[2])) - fmin(mean[0], fmin(mean[1], mean[2])));
    return LT_OK;
}
