/* What the drawing functions of the field types share. SPDX-License-Identifier: BSD-3-Clause

   A field is made in double precision in j->out [3, G, G] and rounded once. Every random number comes
   from (seed, operator index): single numbers from j->rng in order, whole planes from streams
   numbered in the order of their use. */
#ifndef LT_OPERATORS_FIELDS_DRAW_H
#define LT_OPERATORS_FIELDS_DRAW_H

#include "lathe/graph.h"
#include "lathe/rng.h"
#include "operators/fields/types.h"

#include <math.h>

#ifndef M_PI
#define M_PI 3.14159265358979323846
#endif
#define LT_TURN (2 * M_PI)

struct lt_field_maker {
    int         grid;
    lt_graph   *graph;
    lt_program *inverse;      /* irfft2 of [G, G/2+1, 2] */
    double     *half;         /* (G, G/2+1, 2): a spectrum */
    float      *random;       /* (G, G/2+1, 2): numbers as they were drawn */
    double     *filter;       /* (G, G/2+1): amplitudes */
    double     *out;          /* (3, G, G) */
    double     *plane[3];     /* (G, G) each: patterns, fields, scratch */
    uint8_t    *cell[2];      /* (G, G): clusters; bits of codes */
    uint32_t   *words;        /* (G * G / 32 + 1): bits of codes */
};

typedef struct lt_field_job {
    lt_field_maker        *m;
    const lt_field_recipe *recipe;
    bool                   physical;
    uint64_t               seed;
    int64_t                index;
    lt_rng                 rng;
    uint32_t               n_streams;
    int                    grid;
    int64_t                pixels;                      /* G * G */
    double                *out;
    double                 number[LT_FIELD_MAX_PARAMS]; /* single numbers, ranges drawn; NaN for null */
} lt_field_job;

typedef lt_status (*lt_field_painter)(lt_field_job *j);
extern const lt_field_painter lt_field_painters[LT_FIELD_TYPE_COUNT];

lt_status lt_field_draw_recipe(lt_field_maker *m, const lt_field_recipe *recipe, bool physical, uint64_t seed, int64_t index, float *field);

/* ---- Numbers ------------------------------------------------------------------------ */
static inline double lt_field_uniform(lt_field_job *j, double lo, double hi) { return lo + lt_rng_uniform(&j->rng) * (hi - lo); }
static inline double lt_field_normal(lt_field_job *j) { return lt_rng_normal(&j->rng); }
static inline int    lt_field_below(lt_field_job *j, int n) { return (int)lt_rng_below(&j->rng, (uint64_t)n); }
static inline double lt_field_angle(lt_field_job *j) { return lt_field_uniform(j, 0, LT_TURN); }
static inline double lt_field_sigmoid(double t) { return 1 / (1 + exp(-t)); }
static inline double lt_field_from_pair(lt_field_job *j, int param)
{
    const lt_field_value *v = &j->recipe->value[param];
    return lt_field_uniform(j, v->item[0], v->item[1]);
}
/* n independent standard normals, n uniforms in [0, 1): 24 bits each, at most G (G/2+1) 2 of them. */
void lt_field_normals(lt_field_job *j, int64_t n, double *out);
void lt_field_uniforms(lt_field_job *j, int64_t n, double *out);

/* ---- Planes ---------------------------------------------------------------------------- */
void lt_field_copy_channels(lt_field_job *j, const double *plane);    /* the same pattern in all */
void lt_field_scale_by_largest(double *x, int64_t n, bool absolute);  /* divides by max, or by max abs; zeros stay */
void lt_field_scale_to(double *x, int64_t n, double lo, double hi);   /* min-max; a constant becomes lo */
/* plane += amount * exp(-d^2 / 2 sigma^2) around (x, y). */
void lt_field_add_bump(const lt_field_job *j, double x, double y, double sigma, double amount, double *plane);
/* plane += amount * cos(k (x cos a + y sin a) + phase). */
void lt_field_add_wave(const lt_field_job *j, double k, double angle, double phase, double amount, double *plane);

/* ---- Random fields ------------------------------------------------------------------------ */
/* grf(length, variance) of the specification into plane: replaced, or added to. */
lt_status lt_field_grf(lt_field_job *j, double length, double variance, double *plane);
lt_status lt_field_add_grf_channels(lt_field_job *j, double length, double variance); /* out += one each */
/* The sum of independent fields of these lengths, variance shared among them. */
lt_status lt_field_multiscale(lt_field_job *j, int n, const double *length, double variance, double *plane);

/* ---- Painters, by file ---------------------------------------------------------------------- */
#define LT_FIELD_PAINTER(name) lt_status lt_paint_##name(lt_field_job *j);
LT_FIELD_PAINTER(grf) LT_FIELD_PAINTER(multiscale) LT_FIELD_PAINTER(heavy_tailed) LT_FIELD_PAINTER(critical)
LT_FIELD_PAINTER(structured) LT_FIELD_PAINTER(localized) LT_FIELD_PAINTER(composite) LT_FIELD_PAINTER(mixed)
LT_FIELD_PAINTER(quantum_packet) LT_FIELD_PAINTER(turing) LT_FIELD_PAINTER(bz) LT_FIELD_PAINTER(interference)
LT_FIELD_PAINTER(coherent) LT_FIELD_PAINTER(relativistic)
LT_FIELD_PAINTER(thermal) LT_FIELD_PAINTER(morphogen) LT_FIELD_PAINTER(reaction_front) LT_FIELD_PAINTER(light_cone)
LT_FIELD_PAINTER(phase_boundary) LT_FIELD_PAINTER(shock) LT_FIELD_PAINTER(shannon) LT_FIELD_PAINTER(mutual_information)
LT_FIELD_PAINTER(cells) LT_FIELD_PAINTER(chromatin) LT_FIELD_PAINTER(genes) LT_FIELD_PAINTER(regulatory)
LT_FIELD_PAINTER(dla) LT_FIELD_PAINTER(code)

#endif
