/* Images of bars, rings and open rings with noise, the same on every machine up to the last digits of exp, sin and
   cos. SPDX-License-Identifier: BSD-3-Clause */
#include "lathe/qsvm.h"

#include <math.h>

enum { SIDE = 16 };
_Static_assert(SIDE * SIDE == LT_QSVM_PIXELS, "square images");
static const double pi = 3.14159265358979323846;

/* SplitMix64 (Steele, Lea and Flood, 2014): the recipe of the images names this generator. */
static double next(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    z ^= z >> 31;
    return (double)(z >> 11) * 0x1p-53;
}

typedef struct shape { bool bar, open; double x, y, turn, radius, gap; } shape;

static double intensity(const shape *s, double x, double y)
{
    double dx = x - s->x, dy = y - s->y;
    if (s->bar) {
        double across = dx * cos(s->turn) + dy * sin(s->turn);
        return exp(-across * across / 2.88);
    }
    double distance = hypot(dx, dy), off = distance - s->radius;
    if (s->open && dx * cos(s->gap) + dy * sin(s->gap) > 0.55 * distance) return 0;
    return exp(-off * off / 2.88);
}

void lt_qsvm_synthetic(bool hard, double *x, uint8_t *y)
{
    uint64_t state = 2026;
    double noise = hard ? 0.5 : 0.9;
    for (int i = 0; i < LT_QSVM_IMAGES; i++) {
        double u[4];
        y[i] = (uint8_t)(i % 2);
        for (int k = 0; k < 4; k++) u[k] = next(&state);
        shape s = { .bar = !hard && !y[i], .open = hard && y[i], .x = 7.5 + 3 * (u[0] - 0.5), .y = 7.5 + 3 * (u[1] - 0.5),
                    .turn = (u[2] - 0.5) * pi / 2, .radius = 3 + 2.5 * u[2], .gap = 2 * pi * u[3] };
        for (int p = 0; p < LT_QSVM_PIXELS; p++) {
            double v = intensity(&s, p % SIDE, p / SIDE) + noise * (2 * next(&state) - 1);
            x[i * LT_QSVM_PIXELS + p] = 2 * fmin(fmax(v, 0), 1) - 1;
        }
    }
}

void lt_qsvm_synthetic_weights(int64_t n_layers, int64_t n_qubits, double *weights)
{
    for (int64_t l = 0; l < n_layers; l++)
        for (int64_t k = 0; k < n_qubits; k++) weights[l * n_qubits + k] = 0.05 * (double)((3 * l + 5 * k) % 7 - 3);
}
