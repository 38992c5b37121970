/* Trajectories that feature tests are run on. SPDX-License-Identifier: BSD-3-Clause */
#ifndef FEATURE_RUNS_H
#define FEATURE_RUNS_H

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

typedef struct run { int m, t, g; float *x; } run; /* x (M, T, 3, G, G) */

static inline run run_create(int m, int t, int g) { return (run){ m, t, g, calloc((size_t)(m * t) * 3 * (size_t)(g * g), sizeof(float)) }; }
static inline float *state_of(const run *r, int m, int t) { return r->x + ((int64_t)m * r->t + t) * 3 * r->g * r->g; }

static inline double uniform(uint64_t *state) /* splitmix64: the test's own numbers */
{
    uint64_t z = *state += 0x9e3779b97f4a7c15ull;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return (double)((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

static inline double normal(uint64_t *s) { return sqrt(-2 * log(1 - uniform(s))) * cos(2 * M_PI * uniform(s)); }

typedef enum kind { NOISE, SMOOTH, SPARSE, DECAY, KINDS } kind;

/* Noise; moving waves; a few blobs on a zero background; a smooth field that dies away. */
static inline void fill(run *r, kind k, uint64_t seed)
{
    for (int m = 0; m < r->m; m++)
        for (int c = 0; c < 3; c++) {
            double phase = 6 * uniform(&seed), fx = floor(1 + 3 * uniform(&seed)), fy = floor(1 + 3 * uniform(&seed)), bias = normal(&seed);
            for (int t = 0; t < r->t; t++)
                for (int i = 0; i < r->g * r->g; i++) {
                    double x = (double)(i % r->g) / r->g, y = (double)(i / r->g) / r->g, v = 0;
                    if (k == NOISE) v = normal(&seed) * (1 + 0.1 * t) + 0.3 * bias * t;
                    if (k == SMOOTH) v = sin(2 * M_PI * (fx * x + fy * y) + phase + 0.4 * t) + 0.5 * bias + 0.02 * normal(&seed);
                    if (k == SPARSE) v = hypot(x - 0.4 - 0.01 * t, y - 0.1 * (c + 3)) < 0.15 ? 1 + x + 0.1 * t : 0;
                    if (k == DECAY) v = (bias + cos(2 * M_PI * fx * x) * sin(2 * M_PI * fy * y + phase)) * exp(-0.3 * t);
                    state_of(r, m, t)[c * r->g * r->g + i] = (float)v;
                }
        }
}

#endif
