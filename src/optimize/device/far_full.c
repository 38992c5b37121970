/* Full memory on the device: H as an n x n matrix. SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/device/far_internal.h"

#include "base/status.h"

#include <string.h>

static lt_status multiply_to(lt_far *m, int width, int64_t first, double *places)
{
    void *arg[] = { m->sizes, m->matrix, m->in + LT_FAR_HEAD + first * m->z.stride, places };
    return lt_stream_launch(m->stream, &(lt_launch){ m->multiply[width], arg });
}

static lt_status multiply(lt_far *m, int width, int64_t first) { return multiply_to(m, width, first, m->places + first); }

/* Columns there, products, products back: `width` of them. With vectors there, only the product. */
static lt_status product(lt_far *m, int width)
{
    const int64_t count = (int64_t)(1 << width) * m->z.stride;
    if (m->resident) {
        LT_TRY(lt_device_vectors_queue(m->resident, LT_LIST_PRODUCT));
        return multiply_to(m, width, 0, lt_far_places(m));
    }
    LT_TRY(lt_far_send(m, m->in, &m->up, 0, LT_FAR_HEAD + count));
    LT_TRY(multiply(m, width, 0));
    return lt_far_bring(m, &m->down, m->out, count);
}

/* An update that waits for the next product goes with it: with vectors there it is in `step`, otherwise it stands before the columns. */
static lt_status change(lt_far *m, int width)
{
    double *const columns = m->in + LT_FAR_HEAD;
    void *arg[] = { m->sizes, m->step, m->matrix, columns, lt_far_places(m) };
    if (m->resident) {
        LT_TRY(lt_device_vectors_queue(m->resident, LT_LIST_PRODUCT));
        return lt_stream_launch(m->stream, &(lt_launch){ m->change[width], arg });
    }
    const int64_t count = (int64_t)(1 << width) * m->z.stride, before = LT_FAR_STEP * m->z.stride;
    arg[1] = columns;
    arg[3] = columns + before;
    LT_TRY(lt_far_send(m, m->in, &m->up, 0, LT_FAR_HEAD + before + count));
    LT_TRY(lt_stream_launch(m->stream, &(lt_launch){ m->change[width], arg }));
    return lt_far_bring(m, &m->down, m->out, count);
}

/* The same with an exchange behind. */
static lt_status product_and_numbers(lt_far *m, int width)
{
    LT_TRY(product(m, width));
    return lt_device_vectors_queue_exchange(m->resident);
}

static lt_status change_and_numbers(lt_far *m, int width)
{
    LT_TRY(change(m, width));
    return lt_device_vectors_queue_exchange(m->resident);
}

/* The same with sums behind that are in the product's list. */
static lt_status product_and_sums(lt_far *m, int width)
{
    LT_TRY(product(m, width));
    return lt_device_vectors_queue_sums(m->resident, LT_LIST_PRODUCT);
}

static lt_status change_and_sums(lt_far *m, int width)
{
    LT_TRY(change(m, width));
    return lt_device_vectors_queue_sums(m->resident, LT_LIST_PRODUCT);
}

static lt_status record_there(lt_far *m)
{
    LT_TRY(lt_far_record(m, &m->first_sums, product_and_sums));
    LT_TRY(lt_far_record(m, &m->changing_sums, change_and_sums));
    LT_TRY(lt_far_record(m, &m->changing, change));
    LT_TRY(lt_far_record(m, &m->changing_with, change_and_numbers));
    return lt_far_record(m, &m->first_with, product_and_numbers);
}

lt_status lt_far_make_full(lt_far *m, const lt_solve_options *opt)
{
    const int64_t count = LT_FAR_STEP * m->z.stride;
    LT_TRY(lt_far_make_matrix(m, m->z.n));
    LT_TRY(lt_device_numbers(m->dev, m->stream, count, "an update of H", &m->step));
    LT_TRY(lt_host_block_create(m->dev, opt, count, &m->update));
    memset(m->update.at, 0, (size_t)count * sizeof(double));
    m->first.queue = product;
    m->changing.queue = change;
    if (opt->captured_evaluation && m->resident) LT_TRY(record_there(m));
    if (!opt->captured_evaluation || !m->up.pinned || !m->down.pinned) return LT_OK;
    if (!m->resident && m->defers) LT_TRY(lt_far_record(m, &m->changing, change));
    return lt_far_record(m, &m->first, product);
}

static lt_status many_products(lt_far *m, int64_t k)
{
    if (m->resident) {
        LT_TRY(lt_device_vectors_queue(m->resident, LT_LIST_PRODUCT));
        return lt_far_groups(m, k, multiply);
    }
    LT_TRY(lt_far_send(m, m->in, &m->up, 0, LT_FAR_HEAD + k * m->z.stride));
    LT_TRY(lt_far_groups(m, k, multiply));
    return lt_far_bring(m, &m->down, m->out, k * m->z.stride);
}

static lt_status launch_rank2(lt_far *m)
{
    void *arg[] = { m->sizes, m->step, m->matrix };
    return lt_stream_launch(m->stream, &(lt_launch){ m->rank2, arg });
}

/* The update alone, for whoever wants H itself. */
static lt_status catch_up(lt_far *m)
{
    if (m->resident) lt_device_vectors_flush(m->resident); /* a product that was put off may hold an update */
    if (!m->stale) return LT_OK;
    m->stale = false;
    if (m->resident) return launch_rank2(m);
    LT_TRY(lt_far_send(m, m->step, &m->up, LT_FAR_HEAD, LT_FAR_STEP * m->z.stride));
    LT_TRY(launch_rank2(m));
    return lt_far_wait(m); /* columns go where it stands */
}

static lt_status play_there(lt_far *m, int width)
{
    if (m->stale) return lt_far_play_there(m, &m->changing, &m->changing_with, &m->changing_sums, width);
    return lt_far_play_there(m, &m->first, &m->first_with, &m->first_sums, width);
}

lt_status lt_far_apply_full(lt_hessian *h, int64_t k, const double *const *b, double *const *out)
{
    lt_far *m = h->far;
    const bool few = k <= LT_FAR_WIDEST;
    if (!few) LT_TRY(catch_up(m));
    lt_far_put_columns(m, k, b, NULL, out);
    if (!few) LT_TRY(many_products(m, k));
    else LT_TRY(m->resident ? play_there(m, lt_far_width(k)) : lt_far_play(m, m->stale ? &m->changing : &m->first, lt_far_width(k)));
    m->stale = false;
    if (!m->resident) LT_TRY(lt_far_wait_home(m));
    lt_far_take_columns(m, k, m->gamma, out);
    return LT_OK;
}

/* Goes into the next update: a pass over H of its own would cost as much as that. */
void lt_far_scale(lt_hessian *h, double gamma) { h->far->gamma *= gamma; }

/* Only noted down: there is a product before the next one, mostly, and one that was put off runs before what is noted now. */
static lt_status update_there(lt_far *m, const double *s, const double *w)
{
    if (m->stale) LT_TRY(catch_up(m));
    lt_vectors_copy(&m->vectors, 1, s, m->step);
    lt_vectors_copy(&m->vectors, 1, w, m->step + m->z.stride);
    lt_device_vectors_fill(m->resident, m->gamma, m->step + 2 * m->z.stride);
    m->gamma = 1;
    m->stale = true;
    return LT_OK;
}

static void put_step(lt_far *m, const double *s, const double *w, double *to)
{
    const size_t bytes = (size_t)m->z.n * sizeof *s;
    memcpy(to, s, bytes);
    memcpy(to + m->z.stride, w, bytes);
    to[2 * m->z.stride] = m->gamma;
    m->gamma = 1;
}

/* A small H is changed by the next product: that costs it next to nothing, and saves two launches. */
static lt_status put_off(lt_far *m, const double *s, const double *w)
{
    if (m->stale) LT_TRY(catch_up(m));
    put_step(m, s, w, m->up.at + LT_FAR_HEAD);
    m->stale = true;
    return LT_OK;
}

/* Nobody waits for it: it runs while the host goes on to the next quadratic program and the next evaluation. */
static lt_status update(lt_far *m, const double *s, const double *w)
{
    if (m->updating) LT_TRY(lt_far_wait(m)); /* only when no product came between two updates */
    put_step(m, s, w, m->update.at);
    m->updating = true;
    LT_TRY(lt_far_send(m, m->step, &m->update, 0, 2 * m->z.stride + 1));
    return launch_rank2(m);
}

void lt_far_rank2(lt_hessian *h, const double *s, const double *w)
{
    lt_far *m = h->far;
    m->crossings.calls++;
    m->multiple = 0;
    if (m->failure) return;
    lt_far_fail(m, m->resident ? update_there(m, s, w) : m->defers ? put_off(m, s, w) : update(m, s, w));
}

/* ---- Whole, in bands of rows ------------------------------------------------------------------------------------------ */
static double entry(const lt_hessian *h, int64_t i, int64_t j)
{
    return i >= j ? h->lower[lt_packed_row(i) + j] : h->lower[lt_packed_row(j) + i];
}

static lt_status put_identity(lt_far *m, double scale)
{
    void *arg[] = { m->sizes, m->step, m->matrix };
    m->update.at[0] = scale;
    LT_TRY(lt_far_send(m, m->step, &m->update, 0, 1));
    LT_TRY(lt_stream_launch(m->stream, &(lt_launch){ m->identity, arg }));
    return lt_far_wait(m); /* the host's copy of the scale is used again */
}

lt_status lt_far_put_full(lt_hessian *h)
{
    lt_far *m = h->far;
    m->multiple = h->diagonal ? h->scale : 0;
    if (h->diagonal) return put_identity(m, h->scale);
    double *band = m->up.at + LT_FAR_HEAD;
    for (int64_t i0 = 0; i0 < h->n; i0 += m->columns) {
        int64_t rows = LT_MIN(m->columns, h->n - i0);
        for (int64_t i = 0; i < rows; i++)
            for (int64_t j = 0; j < h->n; j++) band[i * m->z.stride + j] = entry(h, i0 + i, j);
        LT_TRY(lt_far_send(m, m->matrix + i0 * m->z.stride, &m->up, LT_FAR_HEAD, rows * m->z.stride));
        LT_TRY(lt_far_wait(m));
    }
    return LT_OK;
}

lt_status lt_far_get_full(const lt_hessian *h, double *lower)
{
    lt_far *m = h->far;
    LT_TRY(catch_up(m));
    for (int64_t i0 = 0; i0 < h->n; i0 += m->columns) {
        int64_t rows = LT_MIN(m->columns, h->n - i0);
        LT_TRY(lt_far_bring(m, &m->down, m->matrix + i0 * m->z.stride, rows * m->z.stride));
        LT_TRY(lt_far_wait(m));
        for (int64_t i = 0; i < rows; i++)
            for (int64_t j = 0; j <= i0 + i; j++) lower[lt_packed_row(i0 + i) + j] = m->gamma * m->down.at[i * m->z.stride + j];
    }
    return LT_OK;
}
