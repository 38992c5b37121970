/* Pooling of one plane (h, w, c) in element type T; included by pool.c. Loops run over output rows so
   that the innermost one goes over neighbouring columns or channels. SPDX-License-Identifier: BSD-3-Clause */

/* best and index: one output row (ow, c). NaN counts as the maximum; the first of ties stays. */
static void NAME(max_row)(const lt_pool_sizes *s, const T *x, int64_t oy, T *best, int64_t *index)
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

/* Whether b comes before a as the maximum of a window: larger, or the first NaN. Of vectors: all ones or zero each. */
#define BEATS(b, a) (((b) > (a)) | (((b) != (b)) & ((a) == (a))))

/* A few windows side by side, in vectors that every x86-64 has. */
#define SOME (16 / (int)sizeof(T))
typedef T NAME(some) __attribute__((vector_size(16), aligned(sizeof(T)), may_alias));
typedef BITS NAME(mask) __attribute__((vector_size(16)));

static inline NAME(mask) NAME(choose)(NAME(mask) which, NAME(mask) yes, NAME(mask) no) { return (which & yes) | (~which & no); }

/* Of neighbours in a row: whether the right one wins, and the winner. */
static inline NAME(mask) NAME(winners)(const T *row, NAME(mask) *best)
{
    NAME(some) low = *(const NAME(some) *)row, high = *(const NAME(some) *)(row + SOME);
    NAME(some) left = __builtin_shufflevector(low, high, EVEN), right = __builtin_shufflevector(low, high, ODD);
    NAME(mask) is_right = BEATS(right, left);
    *best = NAME(choose)(is_right, (NAME(mask))right, (NAME(mask))left);
    return is_right;
}

/* The commonest window, 2 by 2 in steps of 2 inside the plane. Which of the four wins is arithmetic, not branches:
   those would be guessed wrong every other time. */
static void NAME(max_plane_2x2)(const lt_pool_sizes *s, const T *x, int64_t *index)
{
    const int64_t wide = s->w;
    for (int64_t oy = 0; oy < s->oh; oy++) {
        const T *row = x + 2 * oy * wide, *below = row + wide;
        int64_t ox = 0, at = 2 * oy * wide;
        for (; ox + SOME <= s->ow; ox += SOME, at += 2 * SOME, row += 2 * SOME, below += 2 * SOME, index += SOME) {
            NAME(mask) top, bottom, above = NAME(winners)(row, &top), under = NAME(winners)(below, &bottom);
            NAME(mask) step = NAME(choose)(BEATS((NAME(some))bottom, (NAME(some))top), (BITS)wide - under, -above);
            for (int i = 0; i < SOME; i++) index[i] = at + 2 * i + step[i];
        }
        for (; ox < s->ow; ox++, at += 2, row += 2, below += 2, index++) {
            int64_t above = BEATS(row[1], row[0]), under = BEATS(below[1], below[0]);
            int64_t lower = BEATS(below[under], row[above]);
            *index = at + above + lower * (wide + under - above);
        }
    }
}
#undef BEATS
#undef SOME

static bool NAME(is_2x2)(const lt_pool_sizes *s)
{
    const lt_window *w = &s->win;
    bool plain = s->c == 1;
    for (int i = 0; i < 2; i++) plain = plain && w->kernel[i] == 2 && w->stride[i] == 2 && w->pad[i] == 0 && w->dilation[i] == 1;
    return plain;
}

static void NAME(max_plane)(const lt_pool_sizes *s, const void *x, void *out, void *work)
{
    if (NAME(is_2x2)(s)) {
        NAME(max_plane_2x2)(s, x, out);
        return;
    }
    for (int64_t oy = 0; oy < s->oh; oy++)
        NAME(max_row)(s, x, oy, work, (int64_t *)out + oy * s->ow * s->c);
}

/* The mean when grad is false: y from x; its transpose otherwise: x from y. */
static void NAME(mean_plane)(const lt_pool_sizes *s, T *x, T *y, bool grad)
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
