/* Convolution of bfloat16 maps by matrix tiles (AMX): what the row and its loops share. SPDX-License-Identifier: BSD-3-Clause

   A tile register holds 16 rows of 64 bytes. One instruction multiplies 16 pixels of 32 channels with those channels of 16
   outputs and adds to 16 x 16 sums in float32. Four such sums, of 32 pixels by 32 outputs, stay in registers while channels
   and taps go by. For that, the rows of the input that a band of results needs are spread out first, zeros around them, with
   32 channels of a pixel side by side and the next 32 in another plane: every tap of a tile is then 16 whole lines of a
   cache that follow each other, and all taps of 32 channels share a few kilobytes. */
#ifndef LT_KERNELS_CPU_CONV_TILES_TILES_H
#define LT_KERNELS_CPU_CONV_TILES_TILES_H

#include "kernels/kernel_table.h"

enum {
    LT_TILE_SIDE = 16,      /* pixels or outputs of a tile */
    LT_TILE_BLOCK = 32,     /* channels that are multiplied at once; pixels and outputs of the sums in registers */
    LT_TILE_LINE = 64,      /* bytes of a block of channels */
};

/* Rows of results of one image, from rows that were spread. Steps are in bytes. */
typedef struct lt_tile_band {
    const char *x;             /* [block][row][pixel][32] */
    int64_t     n_blocks, plane_step;
    int64_t     taps[2], tap_step[2];
    int64_t     row_step, pixel_step; /* from where one result's window starts to where the next one's does */
    const char *w;             /* [output block][block][tap][2 halves][16 pairs of channels][16 outputs][2] */
    uint16_t   *y;             /* [rows][width][outputs] */
    int64_t     rows, width, outputs;
} lt_tile_band;

typedef struct lt_tile_loops {
    /* Pixels of c channels to lines: block b of pixel i goes to to + b * plane_step + i * LT_TILE_LINE; channels beyond c are zero. */
    void (*spread)(const uint16_t *x, int64_t n_pixels, int64_t c, char *to, int64_t plane_step);
    void (*band)(const lt_tile_band *b);
} lt_tile_loops;

extern const lt_tile_loops lt_tiles_amx;   /* needs lt_tiles_work() */
extern const lt_tile_loops lt_tiles_plain; /* the same without tiles: slow, and what tests compare with */

/* Whether the processor has tiles for bfloat16, the system lets this process use them and a child process survived doing so. */
bool lt_tiles_work(void);

/* The row whatever the machine, with given loops. */
bool      lt_conv_tiles_fits(const lt_problem_key *p);
lt_status lt_conv_tiles_prepare_with(const lt_problem_key *p, const lt_tile_loops *loops, lt_kernel **out);

#endif
