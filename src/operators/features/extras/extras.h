/* Optional per-step categories: histogram, multiscale, distributional, structural, physics, morphology.
   SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_OPERATORS_FEATURES_EXTRAS_EXTRAS_H
#define LT_OPERATORS_FEATURES_EXTRAS_EXTRAS_H

#include "operators/features/field/field.h"

/* Their work memory, laid out in w->extra; planes hold g (g + 2) numbers. */
typedef struct lt_extra_work {
    double  *plane[3];
    double  *line;       /* (g g + 2): a transform of the flattened field */
    int32_t *label;      /* (2 g g): of components */
    uint8_t *mask[2];    /* (g g) */
    void    *scratch;    /* of their FFT kernels */
} lt_extra_work;

/* Further work memory for the features that are wanted. */
size_t lt_extra_bytes(const lt_field_plan *p);
lt_status lt_extra_plan(lt_field_plan *p); /* transforms they need besides */
/* w->power holds the spectrum of u, and keeps it. */
void lt_extra_values(const lt_field_plan *p, lt_field_work *w, const float *u, const lt_channel *now, double *value);
/* cross_channel_coherence_*. */
void lt_coherence_values(const lt_field_plan *p, lt_field_work *w, const float *u, double *value);

void lt_multiscale_values(const lt_field_plan *p, const lt_extra_work *x, const float *u, double *value);
void lt_distributional_values(const lt_field_plan *p, const lt_extra_work *x, const float *u, double *value);
void lt_structural_values(const lt_field_plan *p, const lt_extra_work *x, const float *u, const lt_channel *now, double *value);
void lt_physics_values(const lt_field_plan *p, const lt_extra_work *x, const lt_field_work *w, const float *u, const lt_channel *now,
                       double *value);
void lt_morphological_values(const lt_field_plan *p, const lt_extra_work *x, const float *u, const lt_channel *now, double *value);

/* mask = u > median + threshold std; returns how many. Flat fields have no shapes. */
int64_t lt_threshold_mask(const lt_field_plan *p, const float *u, const lt_channel *now, double threshold, uint8_t *mask);
/* Sizes of the 8-connected components of a mask, largest in *largest; label: 2 n of work. */
typedef struct lt_components { int64_t n, largest; double mean, std; } lt_components;
lt_components lt_count_components(const uint8_t *mask, int g, int32_t *label);
/* Zero-padded Sobel magnitude of a field. */
void lt_sobel(const float *u, int g, double *magnitude);

#endif
