/* Full memory on the device: H as an n x n matrix. SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/device/hessian_internal.h"

#include "base/status.h"

#include <string.h>

static lt_status make(lt_device_hessian *m, const lt_solve_options *opt)
{
    const int64_t count = LT_HESSIAN_STEP * m->z.stride;
    LT_TRY(lt_device_hessian_matrix(m, m->z.n));
    LT_TRY(lt_device_numbers(m->dev, m->stream, count, "an update of H", &m->step));
    return lt_host_numbers(m->dev, opt, count, &m->update);
}

/* An update goes with the product: with vectors on the device it is in `step`, otherwise it stands before the columns. */
static lt_status multiply(lt_device_hessian *m, int width, int64_t first, bool changes, double *targets)
{
    double *const columns = m->in + LT_HESSIAN_HEAD, *const step = m->resident ? m->step : columns;
    if (!changes) return lt_device_hessian_launch(m, LT_HESSIAN_MULTIPLY, width, (void *[]){ m->sizes, m->matrix, columns + first * m->z.stride, targets });
    return lt_device_hessian_launch(m, LT_HESSIAN_CHANGE, width, (void *[]){ m->sizes, step, m->matrix, columns + (m->resident ? 0 : LT_HESSIAN_STEP * m->z.stride), targets });
}

/* ---- Updates ------------------------------------------------------------------------------------------------------------- */
static lt_status launch_rank2(lt_device_hessian *m) { return lt_device_hessian_launch(m, LT_HESSIAN_RANK2, 0, (void *[]){ m->sizes, m->step, m->matrix }); }

/* The update alone, for callers that read H itself. */
static lt_status catch_up(lt_device_hessian *m)
{
    if (m->resident) lt_device_vectors_flush(m->resident); /* a product that was put off may hold an update */
    if (!m->stale) return LT_OK;
    m->stale = false;
    if (m->resident) return launch_rank2(m);
    LT_TRY(lt_device_hessian_send(m, m->step, &m->up, LT_HESSIAN_HEAD, LT_HESSIAN_STEP * m->z.stride));
    LT_TRY(launch_rank2(m));
    return lt_device_hessian_wait(m); /* columns go where it stands */
}

/* Goes into the next update: a pass over H of its own would cost as much as that. */
void lt_device_hessian_scale(lt_hessian *h, double gamma) { h->device->gamma *= gamma; }

/* Only noted down: there is a product before the next one, mostly, and one that was put off runs before what is noted now. */
static void note_step(lt_device_hessian *m, const double *s, const double *w)
{
    lt_vectors_copy(&m->vectors, 1, s, m->step);
    lt_vectors_copy(&m->vectors, 1, w, m->step + m->z.stride);
    lt_vectors_fill(&m->vectors, m->gamma, m->step + 2 * m->z.stride);
}

static void put_step(lt_device_hessian *m, const double *s, const double *w, double *to)
{
    const size_t bytes = (size_t)m->z.n * sizeof *s;
    memcpy(to, s, bytes);
    memcpy(to + m->z.stride, w, bytes);
    to[2 * m->z.stride] = m->gamma;
}

/* The next product makes it: that costs it next to nothing where H is small, and saves two launches. */
static lt_status put_off(lt_device_hessian *m, const double *s, const double *w)
{
    if (m->stale) LT_TRY(catch_up(m));
    if (m->resident) note_step(m, s, w);
    else put_step(m, s, w, lt_numbers(&m->up) + LT_HESSIAN_HEAD);
    m->stale = true;
    return LT_OK;
}

/* Nobody waits for it: it runs while the host goes on to the next quadratic program and the next evaluation. */
static lt_status update_now(lt_device_hessian *m, const double *s, const double *w)
{
    if (m->updating) LT_TRY(lt_device_hessian_wait(m)); /* only when no product came between two updates */
    put_step(m, s, w, lt_numbers(&m->update));
    m->updating = true;
    LT_TRY(lt_device_hessian_send(m, m->step, &m->update, 0, 2 * m->z.stride + 1));
    return launch_rank2(m);
}

static lt_status update(lt_hessian *h, const double *s, const double *w)
{
    lt_device_hessian *m = h->device;
    LT_TRY(m->resident || m->defers ? put_off(m, s, w) : update_now(m, s, w));
    m->gamma = 1;
    return LT_OK;
}

void lt_device_hessian_rank2(lt_hessian *h, const double *s, const double *w)
{
    h->device->multiple = 0;
    lt_device_hessian_update(h, update, s, w);
}

/* ---- Whole, in bands of rows ------------------------------------------------------------------------------------------ */
static double entry(const lt_hessian *h, int64_t i, int64_t j)
{
    return i >= j ? h->lower[lt_packed_row(i) + j] : h->lower[lt_packed_row(j) + i];
}

static lt_status put_identity(lt_device_hessian *m, double scale)
{
    lt_numbers(&m->update)[0] = scale;
    LT_TRY(lt_device_hessian_send(m, m->step, &m->update, 0, 1));
    LT_TRY(lt_device_hessian_launch(m, LT_HESSIAN_IDENTITY, 0, (void *[]){ m->sizes, m->step, m->matrix }));
    return lt_device_hessian_wait(m); /* the host's copy of the scale is used again */
}

static lt_status put(lt_hessian *h)
{
    lt_device_hessian *m = h->device;
    m->multiple = h->diagonal ? h->scale : 0;
    if (h->diagonal) return put_identity(m, h->scale);
    double *band = lt_numbers(&m->up) + LT_HESSIAN_HEAD;
    for (int64_t i0 = 0; i0 < h->n; i0 += m->columns) {
        int64_t rows = LT_MIN(m->columns, h->n - i0);
        for (int64_t i = 0; i < rows; i++)
            for (int64_t j = 0; j < h->n; j++) band[i * m->z.stride + j] = entry(h, i0 + i, j);
        LT_TRY(lt_device_hessian_send(m, m->matrix + i0 * m->z.stride, &m->up, LT_HESSIAN_HEAD, rows * m->z.stride));
        LT_TRY(lt_device_hessian_wait(m));
    }
    return LT_OK;
}

static lt_status get(const lt_hessian *h, lt_hessian *host)
{
    lt_device_hessian *m = h->device;
    LT_TRY(catch_up(m));
    for (int64_t i0 = 0; i0 < h->n; i0 += m->columns) {
        int64_t rows = LT_MIN(m->columns, h->n - i0);
        LT_TRY(lt_device_hessian_bring(m, m->matrix + i0 * m->z.stride, rows * m->z.stride));
        LT_TRY(lt_device_hessian_wait(m));
        for (int64_t i = 0; i < rows; i++)
            for (int64_t j = 0; j <= i0 + i; j++) host->lower[lt_packed_row(i0 + i) + j] = m->gamma * lt_numbers(&m->down)[i * m->z.stride + j];
    }
    return LT_OK;
}

const lt_device_hessian_kind lt_device_hessian_full = { make, multiply, catch_up, put, get };
