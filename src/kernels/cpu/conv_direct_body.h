/* Inner loops for one element type T and one vector size; included by conv_direct_isa.h.
   SPDX-License-Identifier: BSD-3-Clause */

typedef T VECTOR __attribute__((vector_size(LT_VECTOR_BYTES), aligned(sizeof(T)), may_alias));
#define LANES ((int64_t)(LT_VECTOR_BYTES / sizeof(T)))

/* `channels` x `wide` vectors of results stay in registers while the taps run. */
static inline __attribute__((always_inline)) void
NAME(row_tile)(const lt_direct_row *r, int64_t o, int64_t v, const int channels, const int wide)
{
    const T *x = (const T *)r->x + v * LANES, *w = (const T *)r->w + o;
    T *y = (T *)r->y + o * r->y_step + v * LANES;
    VECTOR acc[8][4];
    UNROLL for (int i = 0; i < channels; i++)
        UNROLL for (int j = 0; j < wide; j++)
            acc[i][j] = r->add ? *(const VECTOR *)(y + i * r->y_step + j * LANES) : (VECTOR){ 0 };
    for (int64_t t = 0; t < r->n_taps; t++, w += r->n_out) {
        const T *at = x + r->tap[t];
        VECTOR in[4];
        UNROLL for (int j = 0; j < wide; j++) in[j] = *(const VECTOR *)(at + j * LANES);
        UNROLL for (int i = 0; i < channels; i++)
            UNROLL for (int j = 0; j < wide; j++) acc[i][j] += in[j] * w[i];
    }
    UNROLL for (int i = 0; i < channels; i++)
        UNROLL for (int j = 0; j < wide; j++) *(VECTOR *)(y + i * r->y_step + j * LANES) = acc[i][j];
}

static inline __attribute__((always_inline)) void NAME(row_columns)(const lt_direct_row *r, int64_t v, const int wide)
{
    int64_t o = 0, n = r->n_out;
    if (wide < 4)
        for (; n - o >= LT_TILE_CHANNELS; o += LT_TILE_CHANNELS) NAME(row_tile)(r, o, v, LT_TILE_CHANNELS, wide);
    for (; LT_TILE_CHANNELS > 6 && n - o >= 6; o += 6) NAME(row_tile)(r, o, v, 6, wide);
    for (; n - o >= 4; o += 4) NAME(row_tile)(r, o, v, 4, wide);
    for (; n - o >= 2; o += 2) NAME(row_tile)(r, o, v, 2, wide);
    for (; o < n; o++) NAME(row_tile)(r, o, v, 1, wide);
}

static void NAME(row)(const lt_direct_row *r)
{
    int64_t v = 0;
    for (; LT_TILE_WIDE == 4 && r->n_vectors - v >= 4; v += 4) NAME(row_columns)(r, v, LT_TILE_WIDE);
    for (; r->n_vectors - v >= 3; v += 3) NAME(row_columns)(r, v, 3);
    if (r->n_vectors - v == 2) NAME(row_columns)(r, v, 2);
    if (r->n_vectors - v == 1) NAME(row_columns)(r, v, 1);
}

static inline __attribute__((always_inline)) void
NAME(weights_tile)(const lt_direct_weights *g, int64_t o, int64_t t, const int channels, const int taps)
{
    VECTOR acc[4][LT_TILE_TAPS];
    UNROLL for (int i = 0; i < channels; i++)
        UNROLL for (int j = 0; j < taps; j++) acc[i][j] = (VECTOR){ 0 };
    for (int64_t r = 0; r < g->n_rows; r++) {
        const T *y = (const T *)g->y + o * g->y_channel + g->row_y[r], *x = (const T *)g->x + g->row_x[r];
        for (int64_t v = 0; v < g->n_vectors; v++, x += LANES, y += LANES) {
            VECTOR out[4];
            UNROLL for (int i = 0; i < channels; i++) out[i] = *(const VECTOR *)(y + i * g->y_channel);
            UNROLL for (int j = 0; j < taps; j++) {
                VECTOR in = *(const VECTOR *)(x + g->tap[t + j]);
                UNROLL for (int i = 0; i < channels; i++) acc[i][j] += in * out[i];
            }
        }
    }
    for (int i = 0; i < channels; i++)
        for (int j = 0; j < taps; j++) {
            T sum = 0;
            for (int64_t l = 0; l < LANES; l++) sum += acc[i][j][l];
            ((T *)g->w)[(t + j) * g->n_out + o + i] += sum;
        }
}

static inline __attribute__((always_inline)) void NAME(weights_channels)(const lt_direct_weights *g, int64_t t, const int taps)
{
    int64_t o = 0, n = g->n_out;
    for (; n - o >= 4 && n - o != 6 && n - o != 5; o += 4) NAME(weights_tile)(g, o, t, 4, taps);
    for (; n - o >= 3; o += 3) NAME(weights_tile)(g, o, t, 3, taps);
    for (; n - o >= 2; o += 2) NAME(weights_tile)(g, o, t, 2, taps);
    for (; o < n; o++) NAME(weights_tile)(g, o, t, 1, taps);
}

static void NAME(weights)(const lt_direct_weights *g)
{
    int64_t t = 0;
    for (; g->n_taps - t >= LT_TILE_TAPS; t += LT_TILE_TAPS) NAME(weights_channels)(g, t, LT_TILE_TAPS);
    for (; t < g->n_taps; t++) NAME(weights_channels)(g, t, 1);
}

#undef LANES
