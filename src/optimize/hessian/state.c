/* H handed out to a callback (a copy) and at the end (the memory itself). SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/device/hessian.h"

#include "base/alloc.h"
#include "base/status.h"

#include <string.h>

/* A packed triangle at the front of an n x n block becomes the whole matrix in that block. From the last rows
   to the first, since a row's place in the matrix is never before its place in the triangle; a band of rows at
   a time, so that what is written stays in cache. */
static void unpack(int64_t n, double *H)
{
    enum { BAND = 8 };
    for (int64_t i1 = n; i1 > 0; i1 -= LT_MIN(BAND, i1)) {
        int64_t i0 = LT_MAX(i1 - BAND, 0);
        for (int64_t i = i1 - 1; i >= i0; i--) memmove(H + i * n, H + lt_packed_row(i), (size_t)(i + 1) * sizeof *H);
        for (int64_t j = i0; j < n; j++)
            for (int64_t i = i0; i < LT_MIN(i1, j); i++) H[i * n + j] = H[j * n + i];
    }
}

static lt_status export_full(const lt_hessian *h, lt_hessian_state *out)
{
    int64_t n = h->n;
    out->H = lt_malloc_aligned((size_t)(n * n) * sizeof(double));
    if (!out->H) return LT_ERR_MEMORY;
    if (h->diagonal) lt_packed_identity(0, n, h->scale, out->H);
    else memcpy(out->H, h->lower, (size_t)lt_packed_row(n) * sizeof(double));
    unpack(n, out->H);
    return LT_OK;
}

static lt_status export_limited(const lt_hessian *h, lt_hessian_state *out)
{
    int64_t n = h->n, m = h->count;
    if (!m) return LT_OK;
    out->S = lt_malloc_aligned((size_t)(m * n) * sizeof(double));
    out->Y = lt_malloc_aligned((size_t)(m * n) * sizeof(double));
    out->rho = lt_malloc((size_t)m * sizeof(double));
    if (!out->S || !out->Y || !out->rho) return LT_ERR_MEMORY;
    for (int64_t i = 0; i < m; i++) {
        int64_t at = (h->newest - (m - 1 - i) + h->capacity) % h->capacity;
        memcpy(out->S + i * n, lt_hessian_step(h, at), (size_t)n * sizeof(double));
        memcpy(out->Y + i * n, h->Y + at * n, (size_t)n * sizeof(double));
        out->rho[i] = h->rho[at];
    }
    out->m = m;
    return LT_OK;
}

/* Through a copy on the host, which has only the large arrays to itself. */
static lt_status export_from_device(const lt_hessian *h, lt_hessian_state *out)
{
    lt_hessian host;
    LT_TRY(lt_device_hessian_borrow(h, &host));
    lt_status s = h->limited ? lt_hessian_export(&host, out) : lt_hessian_give(&host, out);
    lt_device_hessian_return(&host);
    return s;
}

lt_status lt_hessian_export(const lt_hessian *h, lt_hessian_state *out)
{
    if (h->device) return export_from_device(h, out);
    *out = (lt_hessian_state){ .n = h->n, .gamma = h->gamma };
    lt_status s = h->limited ? export_limited(h, out) : export_full(h, out);
    if (s) lt_hessian_state_release(out);
    return s;
}

static void swap_rows(double *rows, int64_t n, int64_t a, int64_t b)
{
    for (int64_t i = 0; i < n; i++) {
        double t = rows[a * n + i];
        rows[a * n + i] = rows[b * n + i];
        rows[b * n + i] = t;
    }
}

/* Rows first..last-1 of n numbers each, in the opposite order. */
static void reverse_rows(double *rows, int64_t n, int64_t first, int64_t last)
{
    for (last--; first < last; first++, last--) swap_rows(rows, n, first, last);
}

/* Puts the steps of pairs, oldest first, into the first rows of S. */
static void order_steps(lt_hessian *h, int64_t oldest)
{
    for (int64_t i = 0; i < h->count; i++) {
        const int64_t at = (oldest + i) % h->capacity, from = h->row[at];
        if (from == i) continue;
        swap_rows(h->S, h->n, i, from);
        for (int64_t j = 0; j < h->count; j++)
            if (h->row[j] == i) h->row[j] = from;
        h->row[at] = i;
    }
}

/* Turns a ring that has gone round so that its oldest row comes first. */
static void unwind(double *rows, int64_t n, int64_t count, int64_t oldest)
{
    if (!oldest) return;
    reverse_rows(rows, n, 0, oldest);
    reverse_rows(rows, n, oldest, count);
    reverse_rows(rows, n, 0, count);
}

static lt_status give_limited(lt_hessian *h, lt_hessian_state *out)
{
    int64_t oldest = (h->newest - (h->count - 1) + h->capacity) % h->capacity; /* not 0 only in a full ring */
    *out = (lt_hessian_state){ .n = h->n, .gamma = h->gamma };
    if (!h->count) return LT_OK;
    order_steps(h, oldest);
    unwind(h->Y, h->n, h->count, oldest);
    unwind(h->rho, 1, h->count, oldest);
    *out = (lt_hessian_state){ .n = h->n, .m = h->count, .S = h->S, .Y = h->Y, .rho = h->rho, .gamma = h->gamma };
    h->S = h->Y = h->rho = NULL;
    return LT_OK;
}

lt_status lt_hessian_give(lt_hessian *h, lt_hessian_state *out)
{
    if (h->device) return lt_hessian_export(h, out);
    if (h->limited) return give_limited(h, out);
    lt_hessian_fill(h);
    *out = (lt_hessian_state){ .n = h->n, .gamma = h->gamma, .H = h->lower };
    h->lower = NULL;
    unpack(out->n, out->H);
    return LT_OK;
}

lt_status lt_iterate_hessian(const lt_iterate *it, lt_hessian_state *out)
{
    if (!it || !out) return LT_FAIL(LT_ERR_ARGUMENT, "iterate_hessian: an argument is NULL");
    return lt_hessian_export(it->hessian, out);
}

void lt_hessian_state_release(lt_hessian_state *s)
{
    if (!s) return;
    lt_free_aligned(s->H);
    lt_free_aligned(s->S);
    lt_free_aligned(s->Y);
    lt_free(s->rho);
    *s = (lt_hessian_state){ 0 };
}

static void fill_metric(lt_hessian *h)
{
    lt_packed_identity(0, h->n, 1, h->lower);
    h->trace = 0;
    for (int64_t i = 0; i < h->n; i++) {
        h->lower[lt_packed_row(i) + i] = h->metric[i];
        h->trace += h->metric[i];
    }
}

bool lt_hessian_reset(lt_hessian *h)
{
    if (h->device) return false;
    for (int64_t age = 0; h->limited && age < h->count; age++) lt_hessian_leave_row(h, h->row[(h->newest - age + h->capacity) % h->capacity]);
    h->count = 0;
    h->newest = h->capacity - 1;
    h->gamma = h->scale = 1;
    h->diagonal = !h->limited && !h->metric;
    h->trace = (double)h->n;
    if (h->metric) fill_metric(h);
    h->scale_pending = true;
    h->last.done = false;
    return true;
}
