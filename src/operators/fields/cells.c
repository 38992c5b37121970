/* Fields made on cells: aggregates and codes. SPDX-License-Identifier: BSD-3-Clause */
#include "operators/fields/draw.h"

#include "base/status.h"

#include <string.h>

/* ---- Aggregates ---------------------------------------------------------------------------------- */
/* Occupied cells among the 3x3 around (r, c); outside the grid nothing is. */
static bool touches(const uint8_t *cell, int g, int r, int c)
{
    for (int y = LT_MAX(0, r - 1); y <= LT_MIN(g - 1, r + 1); y++)
        for (int x = LT_MAX(0, c - 1); x <= LT_MIN(g - 1, c + 1); x++)
            if (cell[(int64_t)y * g + x]) return true;
    return false;
}

/* Every empty cell beside the cluster joins with the probability given, round after round. */
static void grow_rounds(lt_field_job *j, int rounds, double stickiness)
{
    int g = j->grid;
    uint8_t *cell = j->m->cell[0], *next = j->m->cell[1];
    for (int i = 0, grown = 1; i < rounds && grown; i++) {
        grown = 0;
        memcpy(next, cell, (size_t)j->pixels);
        for (int r = 0; r < g; r++)
            for (int c = 0; c < g; c++) {
                int64_t at = (int64_t)r * g + c;
                if (cell[at] || !touches(cell, g, r, c)) continue;
                grown = 1; /* some cell could have been taken */
                next[at] = lt_rng_uniform(&j->rng) < stickiness;
            }
        memcpy(cell, next, (size_t)j->pixels);
    }
}

/* A walker that is a long way from the cluster may take one long step, so the extent of the cluster is kept: its radius around a point, its
   height above a line. */
typedef struct walkers {
    bool    line;
    int     middle;
    double  reach;
    int64_t steps_left;
} walkers;

static double distance_from_seed(const walkers *w, double x, double y)
{
    return w->line ? fabs(y - w->middle) : hypot(x - w->middle, y - w->middle);
}

/* On the rim, three cells outside the cluster. */
static void launch(lt_field_job *j, const walkers *w, double *x, double *y)
{
    double angle = lt_field_angle(j), radius = w->reach + 3;
    *x = w->line ? lt_field_uniform(j, 0, j->grid) : w->middle + radius * cos(angle);
    *y = w->middle + (w->line ? (angle < M_PI ? radius : -radius) : radius * sin(angle));
}

static bool stick(lt_field_job *j, walkers *w, double stickiness, double x, double y)
{
    int r = (int)floor(y + 0.5), c = (int)floor(x + 0.5), g = j->grid;
    if (r < 0 || c < 0 || r >= g || c >= g || j->m->cell[0][(int64_t)r * g + c] || !touches(j->m->cell[0], g, r, c)) return false;
    if (lt_rng_uniform(&j->rng) >= stickiness) return false;
    j->m->cell[0][(int64_t)r * g + c] = 1;
    w->reach = fmax(w->reach, distance_from_seed(w, c, r));
    return true;
}

/* False when steps ran out. */
static bool walk_one(lt_field_job *j, walkers *w, double stickiness)
{
    double x, y;
    launch(j, w, &x, &y);
    while (w->steps_left-- > 0) {
        if (stick(j, w, stickiness, x, y)) return true;
        double outside = distance_from_seed(w, x, y) - w->reach, angle = lt_field_angle(j), length = fmax(1, outside - 2);
        x += length * cos(angle);
        y += length * sin(angle);
        if (w->line) x -= j->grid * floor(x / j->grid);
        if (outside > 2 * w->reach + 20) launch(j, w, &x, &y); /* lost */
    }
    return false;
}

/* Diffusion-limited aggregation proper, for physical mode: until it is large enough or at the edge. */
static void grow_by_walkers(lt_field_job *j, int size, double stickiness, bool line)
{
    walkers w = { .line = line, .middle = j->grid / 2, .steps_left = 100 * j->pixels };
    for (int n = 0; n < size && w.reach < j->grid / 2 - 2 && walk_one(j, &w, stickiness); n++) {}
}

/* Mean of the 5x5 around each cell, zeros outside. */
static void box_mean(const lt_field_job *j, double *plane)
{
    int g = j->grid;
    for (int r = 0; r < g; r++)
        for (int c = 0; c < g; c++) {
            int sum = 0;
            for (int y = LT_MAX(0, r - 2); y <= LT_MIN(g - 1, r + 2); y++)
                for (int x = LT_MAX(0, c - 2); x <= LT_MIN(g - 1, c + 2); x++) sum += j->m->cell[0][(int64_t)y * g + x];
            plane[(int64_t)r * g + c] = sum / 25.0;
        }
}

lt_status lt_paint_dla(lt_field_job *j)
{
    int g = j->grid, size = (int)j->number[0];
    uint8_t *cell = j->m->cell[0];
    double *plane = j->m->plane[1];
    memset(cell, 0, (size_t)j->pixels);
    if ((int)j->number[1] == 0) cell[(int64_t)(g / 2) * g + g / 2] = 1;
    else memset(cell + (int64_t)(g / 2) * g, 1, (size_t)g);
    if (j->physical) grow_by_walkers(j, size, j->number[2], (int)j->number[1] == 1);
    else grow_rounds(j, size / 20, j->number[2]);
    if ((int)j->number[3] == 1) {
        for (int64_t i = 0; i < j->pixels; i++) plane[i] = cell[i];
    } else {
        box_mean(j, plane);
        for (int64_t i = 0; i < j->pixels; i++) plane[i] = exp(3 * plane[i] - 1);
        lt_field_scale_by_largest(plane, j->pixels, false);
    }
    lt_field_copy_channels(j, plane);
    return LT_OK;
}

/* ---- Codes -------------------------------------------------------------------------------------------- */
static void draw_bits(lt_field_job *j, uint32_t *words, int n)
{
    for (int i = 0; i < (n + 31) / 32; i++) words[i] = (uint32_t)(lt_rng_u64(&j->rng) >> 32);
    if (n % 32) words[n / 32] &= (1u << n % 32) - 1;
}

static int bit(const uint32_t *words, int i) { return words[i / 32] >> i % 32 & 1; }

static int parity_of(const uint32_t *words, int n)
{
    int sum = 0;
    for (int i = 0; i < (n + 31) / 32; i++) sum ^= __builtin_popcount(words[i]) & 1;
    return sum;
}

/* One bit of the message times a column of random bits, modulo 2. */
static int random_combination(lt_field_job *j, const uint32_t *message, int k)
{
    uint32_t sum = 0;
    for (int i = 0; i < (k + 31) / 32; i++) sum ^= message[i] & (uint32_t)(lt_rng_u64(&j->rng) >> 32);
    return __builtin_popcount(sum) & 1;
}

lt_status lt_paint_code(lt_field_job *j)
{
    int g = j->grid, block = (int)j->number[2], side = LT_MAX(1, g / block), n = side * side, type = (int)j->number[0];
    int k = LT_MAX(1, (int)(n * j->number[1])), repeats = n / k;
    uint32_t *message = j->m->words;
    uint8_t *code = j->m->cell[0];
    draw_bits(j, message, k);
    int parity = parity_of(message, k);
    for (int i = 0; i < n; i++) {
        if (type == 0) code[i] = (uint8_t)bit(message, LT_MIN(i / repeats, k - 1));
        else if (type == 1) code[i] = (uint8_t)(i < k ? bit(message, i) : parity);
        else code[i] = (uint8_t)random_combination(j, message, k);
        code[i] ^= lt_rng_uniform(&j->rng) < j->number[3];
    }
    double *plane = j->m->plane[1];
    for (int r = 0; r < g; r++)
        for (int c = 0; c < g; c++)
            plane[(int64_t)r * g + c] = code[LT_MIN(r / block, side - 1) * side + LT_MIN(c / block, side - 1)] ? 1 : -1;
    lt_field_copy_channels(j, plane);
    return LT_OK;
}
