/* Limited memory on the device. The two loops need only inner products among s, y and the right-hand sides: one pass
   over the pairs gives those with the new vectors, the loops run on the host on numbers, and a second pass combines
   the rows. SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/device/far_internal.h"

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
static double inner(const lt_far *m, int64_t column, int64_t row)
{
    const double *share = m->small.at + column * parts_of_column(m) + row * m->z.chunks;
    double sum = 0;
    for (int64_t i = 0; i < m->z.chunks; i++) sum += share[i];
    return sum;
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
        sb[i] = inner(m, column, i);
        for (int64_t newer = 0; newer < age; newer++) {
            int64_t j = slot_of_age(h, newer);
            sb[i] -= alpha[j] * m->sy[i * pairs + j];
        }
        alpha[i] = h->rho[i] * sb[i];
    }
    for (int64_t i = 0; i < h->count; i++) { /* slots 0..count-1 are the ones in use */
        yq[i] = inner(m, column, pairs + i);
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

lt_status lt_far_apply_pairs(lt_hessian *h, int64_t k, const double *const *b, double *const *out)
{
    lt_far *m = h->far;
    const int64_t rows = 2 * m->z.pairs;
    const double head[LT_FAR_HEAD] = { (double)h->count, h->gamma };
    LT_TRY(lt_far_send_columns(m, k, b, head));
    if (h->count) {
        LT_TRY(lt_far_groups(m, k, dots));
        LT_TRY(lt_far_bring(m, &m->small, m->part, k * parts_of_column(m)));
        LT_TRY(lt_far_wait(m));
    }
    /* Column j's factors overwrite shares of columns up to j only: there are at most as many of them. */
    for (int64_t j = 0; j < k && h->count; j++) two_loops(h, j, m->small.at + j * rows);
    if (!h->count) memset(m->small.at, 0, (size_t)(k * rows) * sizeof(double));
    LT_TRY(lt_far_send(m, m->factor, &m->small, 0, k * rows));
    LT_TRY(lt_far_groups(m, k, combine));
    return lt_far_take_columns(m, k, 1, out);
}

/* ---- Pairs --------------------------------------------------------------------------------------------------------------------- */
/* Inner products of the pair in `slot` with all `count` pairs; the newest slot's y is the column. */
static lt_status fill_products(lt_far *m, int64_t slot, int64_t count)
{
    const int64_t pairs = m->z.pairs;
    void *arg[] = { m->sizes, m->matrix, m->in, row_y(m, slot), m->part };
    memset(m->up.at, 0, LT_FAR_HEAD * sizeof(double));
    m->up.at[0] = (double)count;
    LT_TRY(lt_far_send(m, m->in, &m->up, 0, LT_FAR_HEAD));
    LT_TRY(lt_stream_launch(m->stream, &(lt_launch){ m->dots[0], arg }));
    LT_TRY(lt_far_bring(m, &m->small, m->part, parts_of_column(m)));
    LT_TRY(lt_far_wait(m));
    for (int64_t i = 0; i < count; i++) {
        m->sy[i * pairs + slot] = inner(m, 0, i);
        m->yy[i * pairs + slot] = m->yy[slot * pairs + i] = inner(m, 0, pairs + i);
    }
    return LT_OK;
}

static lt_status put_pair(lt_far *m, int64_t slot, const double *s, const double *y)
{
    double *stage = m->up.at + LT_FAR_HEAD;
    memcpy(stage, s, (size_t)m->z.n * sizeof *s);
    memcpy(stage + m->z.stride, y, (size_t)m->z.n * sizeof *y);
    LT_TRY(lt_far_send(m, row_s(m, slot), &m->up, LT_FAR_HEAD, m->z.stride));
    return lt_far_send(m, row_y(m, slot), &m->up, LT_FAR_HEAD + m->z.stride, m->z.stride);
}

void lt_far_push(lt_hessian *h, const double *s, const double *y)
{
    lt_far *m = h->far;
    m->crossings.calls++;
    if (m->failure) return;
    lt_status status = put_pair(m, h->newest, s, y);
    if (!status) status = fill_products(m, h->newest, h->count);
    lt_far_fail(m, status);
}

lt_status lt_far_put_pairs(lt_hessian *h)
{
    lt_far *m = h->far;
    for (int64_t slot = 0; slot < h->count; slot++) {
        LT_TRY(put_pair(m, slot, h->S + slot * h->n, h->Y + slot * h->n));
        LT_TRY(lt_far_wait(m)); /* the stage is used again */
    }
    for (int64_t slot = 0; slot < h->count; slot++) LT_TRY(fill_products(m, slot, h->count));
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
