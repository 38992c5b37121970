/* Inner loops for one element type T and one vector size; included by cpu/conv/direct/isa.h.
   SPDX-License-Identifier: BSD-3-Clause */

typedef T VECTOR __attribute__((vector_size(LT_VECTOR_BYTES), aligned(sizeof(T)), may_alias));
#define LANES (LT_VECTOR_BYTES / (int)sizeof(T))

/* `channels` x `wide` vectors of results stay in registers while the taps run. */
static inline __attribute__((always_inline)) void
NAME(rows_tile)(const lt_direct_rows *r, int64_t o, int64_t p, const int channels, const int wide)
{
    const T *x[4], *w = (const T *)r->w + o;
    T *y[4];
    VECTOR acc[8][4];
    LT_UNROLL for (int j = 0; j < wide; j++) {
        x[j] = (const T *)r->x + r->x_at[p + j];
        y[j] = (T *)r->y + o * r->y_step + r->y_at[p + j];
    }
    LT_UNROLL for (int i = 0; i < channels; i++)
        LT_UNROLL for (int j = 0; j < wide; j++)
            acc[i][j] = r->add ? *(const VECTOR *)(y[j] + i * r->y_step) : (VECTOR){ 0 };
    for (int64_t t = 0; t < r->n_taps; t++, w += r->n_out) {
        VECTOR in[4];
        LT_UNROLL for (int j = 0; j < wide; j++) in[j] = *(const VECTOR *)(x[j] + r->tap[t]);
        LT_UNROLL for (int i = 0; i < channels; i++)
            LT_UNROLL for (int j = 0; j < wide; j++) acc[i][j] += in[j] * w[i];
    }
    LT_UNROLL for (int i = 0; i < channels; i++)
        LT_UNROLL for (int j = 0; j < wide; j++) *(VECTOR *)(y[j] + i * r->y_step) = acc[i][j];
}

static inline __attribute__((always_inline)) void NAME(rows_channels)(const lt_direct_rows *r, int64_t p, const int wide)
{
    int64_t o = 0, n = r->n_out;
    if (wide < 4)
        for (; n - o >= LT_TILE_CHANNELS; o += LT_TILE_CHANNELS) NAME(rows_tile)(r, o, p, LT_TILE_CHANNELS, wide);
    for (; LT_TILE_CHANNELS > 6 && n - o >= 6; o += 6) NAME(rows_tile)(r, o, p, 6, wide);
    for (; n - o >= 4; o += 4) NAME(rows_tile)(r, o, p, 4, wide);
    for (; n - o >= 2; o += 2) NAME(rows_tile)(r, o, p, 2, wide);
    for (; o < n; o++) NAME(rows_tile)(r, o, p, 1, wide);
}

static void NAME(rows)(const lt_direct_rows *r)
{
    int64_t p = 0, n = r->n_positions;
    bool fours = LT_TILE_WIDE == 4 && r->n_out % LT_TILE_CHANNELS != 0; /* 6 x 4 unless 8 x 3 fits */
    for (; fours && n - p >= 4; p += 4) NAME(rows_channels)(r, p, LT_TILE_WIDE);
    for (; n - p >= 3; p += 3) NAME(rows_channels)(r, p, 3);
    if (n - p == 2) NAME(rows_channels)(r, p, 2);
    if (n - p == 1) NAME(rows_channels)(r, p, 1);
}

static inline __attribute__((always_inline)) void
NAME(weights_tile)(const lt_direct_weights *g, int64_t o, int64_t t, const int channels, const int taps)
{
    VECTOR acc[4][LT_TILE_TAPS];
    LT_UNROLL for (int i = 0; i < channels; i++)
        LT_UNROLL for (int j = 0; j < taps; j++) acc[i][j] = (VECTOR){ 0 };
    for (int64_t r = 0; r < g->n_rows; r++) {
        const T *y = (const T *)g->y + o * g->y_channel + g->row_y[r], *x = (const T *)g->x + g->row_x[r];
        for (int64_t v = 0; v < g->n_vectors; v++, x += LANES, y += LANES) {
            VECTOR out[4];
            LT_UNROLL for (int i = 0; i < channels; i++) out[i] = *(const VECTOR *)(y + i * g->y_channel);
            LT_UNROLL for (int j = 0; j < taps; j++) {
                VECTOR in = *(const VECTOR *)(x + g->tap[t + j]);
                LT_KEEP_IN_REGISTER(in); /* else it is loaded again for every channel, across cache lines */
                LT_UNROLL for (int i = 0; i < channels; i++) acc[i][j] += in * out[i];
            }
        }
    }
    for (int i = 0; i < channels; i++)
        for (int j = 0; j < taps; j++) {
            T lane[LANES];
            *(VECTOR *)lane = acc[i][j];
            for (int64_t half = LANES / 2; half > 0; half /= 2)
                for (int64_t l = 0; l < half; l++) lane[l] += lane[l + half];
            ((T *)g->w)[(t + j) * g->n_out + o + i] += lane[0];
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
