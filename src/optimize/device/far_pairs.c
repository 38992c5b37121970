/* Limited memory on the device. The two loops need only inner products among s, y and the right-hand sides: one pass
   over the pairs gives those with the new vectors, the loops run on the host on numbers, and a second pass combines
   the rows. SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/device/far_internal.h"
#include "optimize/space.h"

#include "base/alloc.h"
#include "base/status.h"

#include <string.h>

static int64_t slot_of_age(const lt_hessian *h, int64_t age) /* 0 = newest */
{
    return (h->newest - age + h->capacity) % h->capacity;
}

static double *row_s(const lt_far *m, int64_t slot) { return m->matrix + slot * m->z.stride; }
static double *row_y(const lt_far *m, int64_t slot) { return m->matrix + (m->z.pairs + slot) * m->z.stride; }
static int64_t parts_of_column(const lt_far *m) { return 2 * m->z.pairs * m->z.chunks; }

/* ---- Passes over the pairs -------------------------------------------------------------------------------------------- */
static lt_status dots(lt_far *m, int width, int64_t first)
{
    void *arg[] = { m->sizes, m->matrix, m->in, m->in + LT_FAR_HEAD + first * m->z.stride, m->part + first * parts_of_column(m) };
    return lt_stream_launch(m->stream, &(lt_launch){ m->dots[width], arg });
}

static lt_status combine(lt_far *m, int width, int64_t first)
{
    void *arg[] = { m->sizes, m->matrix, m->in, m->in + LT_FAR_HEAD + first * m->z.stride, m->factor + first * 2 * m->z.pairs,
                    m->out + first * m->z.stride };
    return lt_stream_launch(m->stream, &(lt_launch){ m->combine[width], arg });
}

/* Row times column, from the shares that came back; row below pairs: s, else y. */
static double inner(const lt_far *m, const lt_host_block *shares, int64_t column, int64_t row)
{
    const double *share = shares->at + column * parts_of_column(m) + row * m->z.chunks;
    double sum = 0;
    for (int64_t i = 0; i < m->z.chunks; i++) sum += share[i];
    return sum;
}

/* How many numbers cross with k columns, and come back: none but the head where the columns are there. */
static int64_t count_up(const lt_far *m, int64_t k) { return LT_FAR_HEAD + (m->vectors ? 0 : k * m->z.stride); }
static int64_t count_down(const lt_far *m, int64_t k) { return m->vectors ? 0 : k * m->z.stride; }

static lt_status bring_columns(lt_far *m, int64_t k)
{
    return count_down(m, k) ? lt_far_bring(m, &m->down, m->out, count_down(m, k)) : LT_OK;
}

/* Columns there and their inner products back; then factors there and the combined rows back. */
static lt_status first_pass(lt_far *m, int width)
{
    if (m->vectors) LT_TRY(lt_vectors_queue(m->vectors, LT_LIST_PRODUCT));
    LT_TRY(lt_far_send(m, m->in, &m->up, 0, count_up(m, 1 << width)));
    LT_TRY(dots(m, width, 0));
    return lt_far_bring(m, &m->small, m->part, (int64_t)(1 << width) * parts_of_column(m));
}

static lt_status second_pass(lt_far *m, int width)
{
    LT_TRY(lt_far_send(m, m->factor, &m->small, 0, (int64_t)(1 << width) * 2 * m->z.pairs));
    LT_TRY(combine(m, width, 0));
    return bring_columns(m, 1 << width);
}

lt_status lt_far_make_pairs(lt_far *m, const lt_solve_options *opt)
{
    const int64_t pairs = m->z.pairs, rows = 2 * pairs, parts = parts_of_column(m);
    LT_TRY(lt_far_make_matrix(m, rows));
    LT_TRY(lt_device_numbers(m->dev, m->stream, m->columns * parts, "inner products", &m->part));
    LT_TRY(lt_device_numbers(m->dev, m->stream, m->columns * rows, "factors", &m->factor));
    LT_TRY(lt_device_numbers(m->dev, m->stream, LT_FAR_HEAD, "counts", &m->head));
    LT_TRY(lt_host_block_create(m->dev, opt, m->columns * parts, &m->small)); /* no fewer than the factors */
    LT_TRY(lt_host_block_create(m->dev, opt, 2 * m->z.stride, &m->update));
    LT_TRY(lt_host_block_create(m->dev, opt, parts, &m->shares));
    memset(m->update.at, 0, (size_t)(2 * m->z.stride) * sizeof(double));
    memset(m->small.at, 0, (size_t)(m->columns * parts) * sizeof(double));
    m->sy = lt_calloc((size_t)(2 * pairs * pairs), sizeof(double));
    m->work = lt_malloc((size_t)(4 * pairs) * sizeof(double));
    if (!m->sy || !m->work) return LT_ERR_MEMORY;
    m->yy = m->sy + pairs * pairs;
    m->up.at[0] = (double)pairs;
    LT_TRY(lt_far_send(m, m->head, &m->up, 0, LT_FAR_HEAD));
    LT_TRY(lt_far_wait(m));
    m->first.queue = first_pass;
    m->second.queue = second_pass;
    if (!opt->captured_evaluation || !m->up.pinned || !m->down.pinned || !m->small.pinned) return LT_OK;
    LT_TRY(lt_far_record(m, &m->first, first_pass));
    return lt_far_record(m, &m->second, second_pass);
}

/* ---- Products ------------------------------------------------------------------------------------------------------------- */
/* What the rows are multiplied by in H b: -gamma alpha for y, alpha - beta for s. */
static void two_loops(const lt_hessian *h, int64_t column, double *factor)
{
    const lt_far *m = h->far;
    const int64_t pairs = m->z.pairs;
    double *alpha = m->work, *sb = alpha + pairs, *yq = sb + pairs, *c = yq + pairs;
    for (int64_t age = 0; age < h->count; age++) {
        int64_t i = slot_of_age(h, age);
        sb[i] = inner(m, &m->small, column, i);
        for (int64_t newer = 0; newer < age; newer++) {
            int64_t j = slot_of_age(h, newer);
            sb[i] -= alpha[j] * m->sy[i * pairs + j];
        }
        alpha[i] = h->rho[i] * sb[i];
    }
    for (int64_t i = 0; i < h->count; i++) { /* slots 0..count-1 are the ones in use */
        yq[i] = inner(m, &m->small, column, pairs + i);
        for (int64_t j = 0; j < h->count; j++) yq[i] -= alpha[j] * m->yy[i * pairs + j];
        yq[i] *= h->gamma;
    }
    for (int64_t age = h->count - 1; age >= 0; age--) {
        int64_t i = slot_of_age(h, age);
        for (int64_t older = age + 1; older < h->count; older++) {
            int64_t j = slot_of_age(h, older);
            yq[i] += c[j] * m->sy[j * pairs + i];
        }
        c[i] = alpha[i] - h->rho[i] * yq[i];
    }
    for (int64_t i = 0; i < pairs; i++) {
        factor[i] = i < h->count ? c[i] : 0;
        factor[pairs + i] = i < h->count ? -h->gamma * alpha[i] : 0;
    }
}

static lt_status many_dots(lt_far *m, int64_t k)
{
    LT_TRY(lt_far_send(m, m->in, &m->up, 0, count_up(m, k)));
    LT_TRY(lt_far_groups(m, k, dots));
    return lt_far_bring(m, &m->small, m->part, k * parts_of_column(m));
}

static lt_status many_combines(lt_far *m, int64_t k)
{
    LT_TRY(lt_far_send(m, m->factor, &m->small, 0, k * 2 * m->z.pairs));
    LT_TRY(lt_far_groups(m, k, combine));
    return bring_columns(m, k);
}

/* Takes over the inner products of the pair pushed last; they are here once the stream was waited for. */
static void settle(lt_far *m)
{
    const int64_t pairs = m->z.pairs, slot = m->unsettled;
    if (slot < 0) return;
    for (int64_t i = 0; i < pairs; i++) {
        m->sy[i * pairs + slot] = inner(m, &m->shares, 0, i);
        m->yy[i * pairs + slot] = m->yy[slot * pairs + i] = inner(m, &m->shares, 0, pairs + i);
    }
    m->unsettled = -1;
}

lt_status lt_far_apply_pairs(lt_hessian *h, int64_t k, const double *const *b, double *const *out)
{
    lt_far *m = h->far;
    const double head[LT_FAR_HEAD] = { (double)h->count, h->gamma };
    const bool few = k <= LT_FAR_WIDEST;
    lt_far_put_columns(m, k, b, head);
    LT_TRY(few ? lt_far_play(m, &m->first, lt_far_width(k)) : many_dots(m, k));
    LT_TRY(lt_far_wait(m));
    settle(m);
    /* Column j's factors overwrite shares of columns up to j only: there are at most as many of them. */
    for (int64_t j = 0; j < k; j++) two_loops(h, j, m->small.at + j * 2 * m->z.pairs);
    LT_TRY(few ? lt_far_play(m, &m->second, lt_far_width(k)) : many_combines(m, k));
    if (!m->vectors) LT_TRY(lt_far_wait(m));
    lt_far_take_columns(m, k, 1, out);
    return LT_OK;
}

/* ---- Pairs --------------------------------------------------------------------------------------------------------------------- */
static lt_status send_pair(lt_far *m, int64_t slot, const double *s, const double *y)
{
    memcpy(m->update.at, s, (size_t)m->z.n * sizeof *s);
    memcpy(m->update.at + m->z.stride, y, (size_t)m->z.n * sizeof *y);
    LT_TRY(lt_far_send(m, row_s(m, slot), &m->update, 0, m->z.stride));
    return lt_far_send(m, row_y(m, slot), &m->update, m->z.stride, m->z.stride);
}

static lt_status copy_pair(lt_far *m, int64_t slot, const double *s, const double *y)
{
    lt_space_copy(m->vectors, m->z.n, s, row_s(m, slot));
    lt_space_copy(m->vectors, m->z.n, y, row_y(m, slot));
    lt_vectors_flush(m->vectors);
    return LT_OK;
}

/* The pair (here: on the host) goes into its rows, and inner products of its y with all rows come back. Nobody waits: they are settled
   when the next product is waited for anyway. */
static lt_status push(lt_far *m, int64_t slot, const double *s, const double *y, bool here)
{
    if (m->updating) LT_TRY(lt_far_wait(m));
    settle(m);
    m->updating = true;
    LT_TRY(here ? send_pair(m, slot, s, y) : copy_pair(m, slot, s, y));
    void *arg[] = { m->sizes, m->matrix, m->head, row_y(m, slot), m->part };
    LT_TRY(lt_stream_launch(m->stream, &(lt_launch){ m->dots[0], arg }));
    LT_TRY(lt_far_bring(m, &m->shares, m->part, parts_of_column(m)));
    m->unsettled = slot;
    return LT_OK;
}

void lt_far_push(lt_hessian *h, const double *s, const double *y)
{
    lt_far *m = h->far;
    m->crossings.calls++;
    if (!m->failure) lt_far_fail(m, push(m, h->newest, s, y, !m->vectors));
}

/* Oldest first, as they came: each pair's products with those before it are then complete. */
lt_status lt_far_put_pairs(lt_hessian *h)
{
    for (int64_t age = h->count - 1; age >= 0; age--) {
        int64_t slot = slot_of_age(h, age);
        LT_TRY(push(h->far, slot, h->S + slot * h->n, h->Y + slot * h->n, true));
    }
    LT_TRY(lt_far_wait(h->far));
    settle(h->far);
    return LT_OK;
}

lt_status lt_far_get_pairs(const lt_hessian *h, double *S, double *Y)
{
    lt_far *m = h->far;
    const size_t bytes = (size_t)h->n * sizeof *S;
    for (int64_t slot = 0; slot < h->count; slot++) {
        LT_TRY(lt_far_bring(m, &m->down, row_s(m, slot), m->z.stride));
        LT_TRY(lt_far_wait(m));
        memcpy(S + slot * h->n, m->down.at, bytes);
        LT_TRY(lt_far_bring(m, &m->down, row_y(m, slot), m->z.stride));
        LT_TRY(lt_far_wait(m));
        memcpy(Y + slot * h->n, m->down.at, bytes);
    }
    return LT_OK;
}
