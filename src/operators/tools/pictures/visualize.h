/* Pictures of datasets: what visualize*.c share. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_OPERATORS_TOOLS_PICTURES_VISUALIZE_H
#define LT_OPERATORS_TOOLS_PICTURES_VISUALIZE_H

#include "lathe/dataset.h"
#include "operators/tools/pictures/image.h"

/* ---- Which operators (visualize_pick.c) -------------------------------------------------------- */
/* n distinct rows of the file, ascending. */
lt_status lt_pick_rows(lt_dataset *d, lt_pick how, uint64_t seed, int n, int64_t *rows);
/* Picks n rows: distant from each other (alpha 1) to typical (alpha 0). */
lt_status lt_pick_spread(lt_dataset *d, double alpha, uint64_t seed, int n, int64_t *rows);

/* ---- Cells (visualize_cells.c) -------------------------------------------------------------------- */
/* A cell's content: three planes as colours, or one for the colour map. */
typedef struct lt_cell { int planes; float *value; } lt_cell; /* value [planes, G, G] */

typedef struct lt_cell_maker {
    int      m, grid;             /* realizations, grid */
    double  *work;
    float   *planes, *scratch;
} lt_cell_maker;

lt_status lt_cell_maker_create(int m, int grid, lt_cell_maker *out);
void      lt_cell_maker_release(lt_cell_maker *k);
/* An aggregate over states [M, 3, G, G]; the cell's memory is the maker's, until the next call. Not overlay. */
void      lt_cell_aggregate(lt_cell_maker *k, lt_aggregate which, const float *states, lt_cell *out);
void      lt_cell_draw(lt_cell_maker *k, const lt_cell *cell, float lo, float hi, const uint8_t table[256][3], lt_image *m, lt_rect where);
/* The 1 % and 99 % quantiles of a cell. */
void      lt_cell_range(lt_cell_maker *k, const lt_cell *cell, float *lo, float *hi);

/* ---- Frames (visualize_video.c) ---------------------------------------------------------------------- */
typedef struct lt_frame_sink lt_frame_sink;
/* Writes a video, frames or both; see lt_dataset_movie. note says what was done instead, if ffmpeg is missing. */
lt_status lt_frame_sink_open(const char *video, const char *frames, int width, int height, int fps, char *note, size_t note_bytes, lt_frame_sink **out);
lt_status lt_frame_sink_put(lt_frame_sink *s, const lt_image *frame);
/* Frames ended early, for this reason (LT_OK: they did not): an animated PNG is then not left behind. */
void      lt_frame_sink_stop(lt_frame_sink *s, lt_status why);
lt_status lt_frame_sink_close(lt_frame_sink *s, bool *video); /* gone, even on failure; NULL is allowed */

#endif
