/* Limited memory on the device. The two loops need only inner products among s, y and the right-hand sides: one pass
   over the pairs gives those with the new vectors, one block runs the loops on them, and a second pass combines the rows. Nobody waits
   in between. SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/device/far_internal.h"

#include "base/alloc.h"
#include "base/status.h"

#include <string.h>

static int64_t slot_of_age(const lt_hessian *h, int64_t age) /* 0 = newest */
{
    return (h->newest - age + h->capacity) % h->capacity;
}

static double *row_s(const lt_far *m, int64_t slot) { return m->matrix + slot * m->z.stride; }
static double *row_y(const lt_far *m, int64_t slot) { return m->matrix + (m->z.pairs + slot) * m->z.stride; }

/* ---- A product ---------------------------------------------------------------------------------------------------------- */
static lt_status product_to(lt_far *m, int width, int64_t first, double *places)
{
    const double *b = m->in + LT_FAR_HEAD + first * m->z.stride;
    double *part = m->part + (1 + first) * 2 * m->z.pairs * m->z.chunks, *factor = m->factor + first * 2 * m->z.pairs;
    void *head = (void *)(uintptr_t)m->head, *column = (void *)(uintptr_t)b;
    void *inner[] = { m->sizes, m->matrix, head, column, m->part, part };
    void *loops[] = { m->sizes, head, m->part, part, m->table, factor };
    void *combine[] = { m->sizes, m->matrix, head, column, factor, places };
    LT_TRY(lt_stream_launch(m->stream, &(lt_launch){ m->dots[width], inner }));
    LT_TRY(lt_stream_launch(m->stream, &(lt_launch){ m->loops[width], loops }));
    return lt_stream_launch(m->stream, &(lt_launch){ m->combine[width], combine });
}

static lt_status product_of_group(lt_far *m, int width, int64_t first) { return product_to(m, width, first, m->places + first); }

/* Head and columns there, the kernels, products back; with vectors there, only the kernels. */
static lt_status begin(lt_far *m, int64_t k)
{
    if (m->resident) return lt_device_vectors_queue(m->resident, LT_LIST_PRODUCT);
    return lt_far_send(m, m->in, &m->up, 0, LT_FAR_HEAD + k * m->z.stride);
}

static lt_status end(lt_far *m, int64_t k) { return m->resident ? LT_OK : lt_far_bring(m, &m->down, m->out, k * m->z.stride); }

static lt_status product(lt_far *m, int width)
{
    LT_TRY(begin(m, 1 << width));
    LT_TRY(product_to(m, width, 0, lt_far_places(m)));
    return end(m, 1 << width);
}

static lt_status product_and_numbers(lt_far *m, int width)
{
    LT_TRY(product(m, width));
    return lt_device_vectors_queue_exchange(m->resident);
}

static lt_status product_and_sums(lt_far *m, int width)
{
    LT_TRY(product(m, width));
    return lt_device_vectors_queue_sums(m->resident, LT_LIST_PRODUCT);
}

static lt_status many_products(lt_far *m, int64_t k)
{
    LT_TRY(begin(m, k));
    LT_TRY(lt_far_groups(m, k, product_of_group));
    return end(m, k);
}

lt_status lt_far_make_pairs(lt_far *m, const lt_solve_options *opt)
{
    const int64_t pairs = m->z.pairs, rows = 2 * pairs, table = (3 * pairs + 1) * pairs;
    LT_TRY(lt_far_make_matrix(m, rows));
    LT_TRY(lt_device_numbers(m->dev, m->stream, (1 + m->columns) * rows * m->z.chunks, "inner products", &m->part));
    LT_TRY(lt_device_numbers(m->dev, m->stream, m->columns * rows, "factors", &m->factor));
    LT_TRY(lt_device_numbers(m->dev, m->stream, table, "inner products of pairs", &m->table));
    LT_TRY(lt_stream_fill(m->stream, m->table, 0, (size_t)table * sizeof(double)));
    LT_TRY(lt_host_block_create(m->dev, opt, 2 * m->z.stride, &m->update));
    memset(m->update.at, 0, (size_t)(2 * m->z.stride) * sizeof(double));
    m->head = m->resident ? lt_device_vectors_passed(m->resident) : m->in;
    m->first.queue = product;
    if (!opt->captured_evaluation || !m->up.pinned || !m->down.pinned) return LT_OK;
    if (m->resident) LT_TRY(lt_far_record(m, &m->first_with, product_and_numbers));
    if (m->resident) LT_TRY(lt_far_record(m, &m->first_sums, product_and_sums));
    return lt_far_record(m, &m->first, product);
}

lt_status lt_far_apply_pairs(lt_hessian *h, int64_t k, const double *const *b, double *const *out)
{
    lt_far *m = h->far;
    const double head[LT_FAR_HEAD_USED] = { (double)h->count, h->gamma, (double)h->newest, m->fresh ? h->rho[h->newest] : 0 };
    const int width = lt_far_width(LT_MIN(k, LT_FAR_WIDEST));
    lt_far_put_columns(m, k, b, head, out);
    m->fresh = false;
    if (k > LT_FAR_WIDEST) LT_TRY(many_products(m, k));
    else LT_TRY(m->resident ? lt_far_play_there(m, &m->first, &m->first_with, &m->first_sums, width) : lt_far_play(m, &m->first, width));
    if (!m->resident) LT_TRY(lt_far_wait_home(m));
    lt_far_take_columns(m, k, 1, out);
    return LT_OK;
}

/* ---- Pairs --------------------------------------------------------------------------------------------------------------------- */
static lt_status send_pair(lt_far *m, int64_t slot, const double *s, const double *y)
{
    if (m->updating) LT_TRY(lt_far_wait(m)); /* only when no product came between two updates */
    m->updating = true;
    memcpy(m->update.at, s, (size_t)m->z.n * sizeof *s);
    memcpy(m->update.at + m->z.stride, y, (size_t)m->z.n * sizeof *y);
    LT_TRY(lt_far_send(m, row_s(m, slot), &m->update, 0, m->z.stride));
    return lt_far_send(m, row_y(m, slot), &m->update, m->z.stride, m->z.stride);
}

/* The newest pair's inner products into the table, for want of a product that would take them along; columns do not matter. */
static lt_status enter_pair(lt_far *m, int64_t used, int64_t slot, double rho)
{
    const double head[LT_FAR_HEAD_USED] = { (double)used, 1, (double)slot, rho };
    m->fresh = false;
    lt_far_put_columns(m, 0, NULL, head, NULL);
    LT_TRY(lt_far_play(m, &m->first, 0));
    return lt_far_wait(m); /* the host's head is used again */
}

static lt_status push(lt_hessian *h, const double *s, const double *y)
{
    lt_far *m = h->far;
    const int64_t before = slot_of_age(h, 1);
    if (m->fresh) LT_TRY(enter_pair(m, h->count, before, h->rho[before]));
    m->fresh = true;
    if (!m->resident) return send_pair(m, h->newest, s, y);
    lt_vectors_copy(&m->vectors, 1, s, row_s(m, h->newest)); /* goes with the next product */
    lt_vectors_copy(&m->vectors, 1, y, row_y(m, h->newest));
    return LT_OK;
}

/* Nobody waits: inner products of the pair are made by the next product. */
void lt_far_push(lt_hessian *h, const double *s, const double *y)
{
    lt_far *m = h->far;
    m->crossings.calls++;
    if (!m->failure) lt_far_fail(m, push(h, s, y));
}

/* Oldest first, as they came: each pair's products with those before it are then complete. */
lt_status lt_far_put_pairs(lt_hessian *h)
{
    for (int64_t age = h->count - 1; age >= 0; age--) {
        int64_t slot = slot_of_age(h, age);
        LT_TRY(send_pair(h->far, slot, h->S + slot * h->n, h->Y + slot * h->n));
        LT_TRY(enter_pair(h->far, h->count, slot, h->rho[slot]));
    }
    return LT_OK;
}

lt_status lt_far_get_pairs(const lt_hessian *h, double *S, double *Y)
{
    lt_far *m = h->far;
    const size_t bytes = (size_t)h->n * sizeof *S;
    if (m->resident) lt_device_vectors_flush(m->resident); /* the newest pair may still be a statement */
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
