/* Initial fields of operator datasets: what types there are, and pictures of them.
   SPDX-License-Identifier: BSD-3-Clause */
#ifndef LATHE_FIELDS_H
#define LATHE_FIELDS_H

#include "lathe/base.h"

#ifdef __cplusplus
extern "C" {
#endif

LT_API int         lt_field_type_count(void);
LT_API const char *lt_field_type_name(int type);   /* "gaussian_random_field", …; "?" when out of range */
LT_API const char *lt_field_type_tier(int type);   /* "baseline", "tier1" … "tier4" */
/* One field [3, grid, grid] of a type with default parameters: a function of (seed, index) alone.
   physical: length scales and variances as engine.grf: physical has them. */
LT_API lt_status   lt_field_sample(const char *type, int grid, uint64_t seed, int64_t index, bool physical, float *field);

/* Names of the colour maps, in order; NULL past the last. */
LT_API const char *lt_colormap_name(int which);

/* ---- A picture of all types ------------------------------------------------------- */
typedef struct lt_field_gallery {   /* plain data; start from lt_field_gallery_defaults() */
    size_t             size;
    const char *const *type;        /* which types, or NULL … */
    int                n_types;
    const char *const *tier;        /* … and all of which tiers; both NULL: every type */
    int                n_tiers;
    int                variations;  /* fields of each type, side by side */
    int                grid;
    int                channels;    /* 3: red, green and blue; 1: the first through a colour map */
    uint64_t           seed;
    int                cell_width, cell_height; /* pixels of a field */
    const char        *colormap;
    bool               labels, spacing, physical;
} lt_field_gallery;

LT_API void lt_field_gallery_defaults_into(lt_field_gallery *out);
static inline lt_field_gallery lt_field_gallery_defaults(void) { lt_field_gallery sized; sized.size = sizeof sized; lt_field_gallery_defaults_into(&sized); return sized; }
/* One row per type, one column per variation; sizes of the picture may be NULL. */
LT_API lt_status lt_field_gallery_write(const lt_field_gallery *g, const char *path, int *width, int *height);

#ifdef __cplusplus
}
#endif
#endif
