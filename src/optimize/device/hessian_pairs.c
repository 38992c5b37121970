/* Limited memory on the device. The two loops need only inner products among s, y and the right-hand sides: one pass
   over the pairs gives those with the new vectors, one block runs the loops on them, and a second pass combines the rows. Nobody waits
   in between. SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/device/hessian_internal.h"

#include "base/status.h"

#include <string.h>

static int64_t slot_of_age(const lt_hessian *h, int64_t age) /* 0 = newest */
{
    return (h->newest - age + h->capacity) % h->capacity;
}

static double *row_s(const lt_device_hessian *m, int64_t slot) { return m->matrix + slot * m->z.stride; }
static double *row_y(const lt_device_hessian *m, int64_t slot) { return m->matrix + (m->z.pairs + slot) * m->z.stride; }

/* ---- A product ---------------------------------------------------------------------------------------------------------- */
static lt_status multiply(lt_device_hessian *m, int width, int64_t first, bool changes, double *targets)
{
    double *column = m->in + LT_HESSIAN_HEAD + first * m->z.stride;
    double *part = m->part + (1 + first) * 2 * m->z.pairs * m->z.chunks, *factor = m->factor + first * 2 * m->z.pairs;
    void *head = (void *)(uintptr_t)m->head;
    (void)changes; /* a new pair goes with every product */
    LT_TRY(lt_device_hessian_launch(m, LT_HESSIAN_DOTS, width, (void *[]){ m->sizes, m->matrix, head, column, m->part, part }));
    LT_TRY(lt_device_hessian_launch(m, LT_HESSIAN_LOOPS, width, (void *[]){ m->sizes, head, m->part, part, m->table, factor }));
    return lt_device_hessian_launch(m, LT_HESSIAN_COMBINE, width, (void *[]){ m->sizes, m->matrix, head, column, factor, targets });
}

static lt_status make(lt_device_hessian *m, const lt_solve_options *opt)
{
    const int64_t pairs = m->z.pairs, rows = 2 * pairs, table = (3 * pairs + 1) * pairs;
    LT_TRY(lt_device_hessian_matrix(m, rows));
    LT_TRY(lt_device_numbers(m->dev, m->stream, (1 + m->columns) * rows * m->z.chunks, "inner products", &m->part));
    LT_TRY(lt_device_numbers(m->dev, m->stream, m->columns * rows, "factors", &m->factor));
    LT_TRY(lt_device_numbers(m->dev, m->stream, table, "inner products of pairs", &m->table));
    LT_TRY(lt_stream_fill(m->stream, m->table, 0, (size_t)table * sizeof(double)));
    m->head = m->resident ? lt_device_vectors_passed(m->resident) : m->in;
    return lt_host_numbers(m->dev, opt, 2 * m->z.stride, &m->update);
}

/* ---- Pairs --------------------------------------------------------------------------------------------------------------------- */
static lt_status send_pair(lt_device_hessian *m, int64_t slot, const double *s, const double *y)
{
    if (m->updating) LT_TRY(lt_device_hessian_wait(m)); /* only when no product came between two updates */
    m->updating = true;
    memcpy(lt_numbers(&m->update), s, (size_t)m->z.n * sizeof *s);
    memcpy(lt_numbers(&m->update) + m->z.stride, y, (size_t)m->z.n * sizeof *y);
    LT_TRY(lt_device_hessian_send(m, row_s(m, slot), &m->update, 0, m->z.stride));
    return lt_device_hessian_send(m, row_y(m, slot), &m->update, m->z.stride, m->z.stride);
}

/* The newest pair's inner products into the table, for want of a product that would take them along. */
static lt_status enter_pair(lt_device_hessian *m, int64_t used, int64_t slot, double rho)
{
    const double head[LT_HEAD_COUNT] = { (double)used, 1, (double)slot, rho };
    m->fresh = false;
    LT_TRY(lt_device_hessian_run_empty(m, head));
    return lt_device_hessian_wait(m); /* the host's head is used again */
}

static lt_status push(lt_hessian *h, const double *s, const double *y)
{
    lt_device_hessian *m = h->device;
    const int64_t before = slot_of_age(h, 1);
    if (m->fresh) LT_TRY(enter_pair(m, h->count, before, h->rho[before]));
    m->fresh = true;
    if (!m->resident) return send_pair(m, h->newest, s, y);
    lt_vectors_copy(&m->vectors, 1, s, row_s(m, h->newest)); /* goes with the next product */
    lt_vectors_copy(&m->vectors, 1, y, row_y(m, h->newest));
    return LT_OK;
}

/* Nobody waits: inner products of the pair are made by the next product. */
void lt_device_hessian_push(lt_hessian *h, const double *s, const double *y) { lt_device_hessian_update(h, push, s, y); }

/* Oldest first, as they came: each pair's products with those before it are then complete. */
static lt_status put(lt_hessian *h)
{
    for (int64_t age = h->count - 1; age >= 0; age--) {
        int64_t slot = slot_of_age(h, age);
        LT_TRY(send_pair(h->device, slot, h->S + slot * h->n, h->Y + slot * h->n));
        LT_TRY(enter_pair(h->device, h->count, slot, h->rho[slot]));
    }
    return LT_OK;
}

static lt_status get_row(lt_device_hessian *m, const double *row, double *to)
{
    LT_TRY(lt_device_hessian_bring(m, row, m->z.stride));
    LT_TRY(lt_device_hessian_wait(m));
    memcpy(to, m->down.at, (size_t)m->z.n * sizeof *to);
    return LT_OK;
}

static lt_status get(const lt_hessian *h, lt_hessian *host)
{
    lt_device_hessian *m = h->device;
    if (m->resident) lt_device_vectors_flush(m->resident); /* the newest pair may still be a statement */
    for (int64_t slot = 0; slot < h->count; slot++) {
        LT_TRY(get_row(m, row_s(m, slot), host->S + slot * h->n));
        LT_TRY(get_row(m, row_y(m, slot), host->Y + slot * h->n));
    }
    return LT_OK;
}

const lt_device_hessian_kind lt_device_hessian_pairs = { make, multiply, NULL, put, get };
