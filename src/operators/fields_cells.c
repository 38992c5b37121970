/* Fields made on cells: aggregates and codes. SPDX-License-Identifier: BSD-3-Clause */
#include "operators/fields_draw.h"

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
                grown = 1; /* there was room, whether or not it was taken */
                next[at] = lt_rng_uniform(&j->rng) < stickiness;
            }
        memcpy(cell, next, (size_t)j->pixels);
    }
}

/* A random walker starts anywhere and joins where it touches the cluster and sticks. */
static bool walk_one(lt_field_job *j, double stickiness, int64_t *steps_left)
{
    int g = j->grid;
    uint8_t *cell = j->m->cell[0];
    int r = lt_field_below(j, g), c = lt_field_below(j, g);
    for (; *steps_left > 0; --*steps_left) {
        int64_t at = (int64_t)r * g + c;
        if (!cell[at] && touches(cell, g, r, c) && lt_rng_uniform(&j->rng) < stickiness) {
            cell[at] = 1;
            return true;
        }
        uint64_t way = lt_rng_u64(&j->rng) >> 62;
        int y = r + (way == 0) - (way == 1), x = c + (way == 2) - (way == 3);
        r = (y + g) % g; /* the grid is a torus for walkers */
        c = (x + g) % g;
        if (cell[(int64_t)r * g + c]) { /* never onto the cluster */
            r = (r + g - (way == 0) + (way == 1)) % g;
            c = (c + g - (way == 2) + (way == 3)) % g;
        }
    }
    return false;
}

/* Diffusion-limited aggregation proper, for physical mode. */
static void grow_by_walkers(lt_field_job *j, int size, double stickiness)
{
    int64_t steps_left = 200 * j->pixels; /* ends with fewer particles where none will stick */
    for (int n = 0; n < LT_MIN(size, j->pixels / 4) && walk_one(j, stickiness, &steps_left); n++) {}
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
    if (j->physical) grow_by_walkers(j, size, j->number[2]);
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
