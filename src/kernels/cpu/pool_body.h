/* Pooling of one plane (h, w, c) in element type T; included by pool.c. Loops run over output rows so
   that the innermost one goes over neighbouring columns or channels. SPDX-License-Identifier: BSD-3-Clause */

/* best and index: one output row (ow, c). NaN counts as the maximum; the first of ties stays. */
static void NAME(max_row)(const lt_pool_shape *s, const T *x, int64_t oy, T *best, int64_t *index)
{
    const lt_window *w = &s->win;
    for (int64_t i = 0; i < s->ow * s->c; i++) index[i] = -1, best[i] = -(T)INFINITY;
    for (int64_t r = 0; r < w->kernel[0]; r++) {
        int64_t y = oy * w->stride[0] - w->pad[0] + r * w->dilation[0];
        if (y < 0 || y >= s->h) continue;
        for (int64_t q = 0; q < w->kernel[1]; q++) {
            int64_t shift = q * w->dilation[1] - w->pad[1], begin, end;
            lt_window_range(s->ow, s->w, w->stride[1], shift, &begin, &end);
            for (int64_t ox = begin; ox < end; ox++) {
                int64_t at = y * s->w + ox * w->stride[1] + shift;
                for (int64_t c = 0; c < s->c; c++) {
                    T next = x[at * s->c + c], have = best[ox * s->c + c];
                    int64_t *i = &index[ox * s->c + c];
                    bool take = next > have || (next != next && have == have) || *i < 0;
                    best[ox * s->c + c] = take ? next : have;
                    *i = take ? at : *i;
                }
            }
        }
    }
    for (int64_t i = 0; i < s->ow * s->c; i++) index[i] = index[i] < 0 ? 0 : index[i];
}

static void NAME(max_plane)(const lt_pool_shape *s, const void *x, void *out, void *work)
{
    for (int64_t oy = 0; oy < s->oh; oy++)
        NAME(max_row)(s, x, oy, work, (int64_t *)out + oy * s->ow * s->c);
}

/* The mean when grad is false: y from x; its transpose otherwise: x from y. */
static void NAME(mean_plane)(const lt_pool_shape *s, T *x, T *y, bool grad)
{
    const lt_window *w = &s->win;
    T area = (T)(w->kernel[0] * w->kernel[1]);
    memset(grad ? x : y, 0, (size_t)((grad ? s->h * s->w : s->oh * s->ow) * s->c) * sizeof(T));
    for (int64_t oy = 0; oy < s->oh; oy++)
        for (int64_t r = 0; r < w->kernel[0]; r++) {
            int64_t iy = oy * w->stride[0] - w->pad[0] + r * w->dilation[0];
            if (iy < 0 || iy >= s->h) continue;
            for (int64_t q = 0; q < w->kernel[1]; q++) {
                int64_t shift = q * w->dilation[1] - w->pad[1], begin, end;
                lt_window_range(s->ow, s->w, w->stride[1], shift, &begin, &end);
                for (int64_t ox = begin; ox < end; ox++) {
                    T *px = x + (iy * s->w + ox * w->stride[1] + shift) * s->c, *py = y + (oy * s->ow + ox) * s->c;
                    if (grad) for (int64_t c = 0; c < s->c; c++) px[c] += py[c] / area;
                    else for (int64_t c = 0; c < s->c; c++) py[c] += px[c] / area;
                }
            }
        }
}
