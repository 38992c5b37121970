/* Small images: a canvas, text, fields in colour, PNG files. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_OPERATORS_TOOLS_PICTURES_IMAGE_H
#define LT_OPERATORS_TOOLS_PICTURES_IMAGE_H

#include "lathe/base.h"

/* ---- Canvas ---------------------------------------------------------------------- */
typedef struct lt_image {
    int      width, height;
    uint8_t *rgb;              /* (height, width, 3); NULL when empty */
} lt_image;

typedef struct lt_rect { int x, y, width, height; } lt_rect;

#define LT_IMAGE_MAX_SIDE 65500

/* Colours are 0xRRGGBB. Whatever lies outside the canvas is cut off. */
lt_status lt_image_create(int width, int height, uint32_t background, lt_image *out);
void      lt_image_free(lt_image *m);
void      lt_image_fill(lt_image *m, lt_rect r, uint32_t colour);
/* Letters of 5 by 7 dots on a raster of 6, enlarged; ASCII, other bytes show as boxes. */
void      lt_image_text(lt_image *m, int x, int y, int scale, uint32_t colour, const char *text);
int       lt_image_text_width(const char *text, int scale);
enum { LT_FONT_HEIGHT = 7 };
/* Written beside its place and renamed. LT_ERR_UNSUPPORTED without libpng. */
lt_status lt_image_write_png(const lt_image *m, const char *path);

/* ---- Colours ----------------------------------------------------------------------- */
extern const char *const lt_colormap_names[]; /* "viridis", …; ends with NULL */
enum { LT_COLORMAP_COUNT = 9 };
void lt_colormap_table(int which, uint8_t table[256][3]);
lt_status lt_colormap_find(const char *name, int *which); /* LT_ERR_ARGUMENT names those there are */

/* ---- Fields -------------------------------------------------------------------------- */
/* The 1 % and 99 % quantiles of n finite values; a constant gives lo = hi. scratch holds n. */
void lt_image_quantiles(const float *x, int64_t n, float *scratch, float *lo, float *hi);
/* A plane [rows, columns] through a colour map, or three planes as red, green and blue, scaled from
   lo..hi and enlarged to the rectangle by nearest neighbour. Values that are not finite are grey. */
void lt_image_plane(lt_image *m, lt_rect r, const float *plane, int rows, int columns, float lo, float hi, const uint8_t table[256][3]);
void lt_image_colour_planes(lt_image *m, lt_rect r, const float *planes, int rows, int columns, float lo, float hi);

#endif
