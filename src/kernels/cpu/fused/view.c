/* Strided blocks: gathers for loads that are not dense, scatters for such stores.
   SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/cpu/fused/plan.h"

#include "base/status.h"

#include <string.h>

fused_view lt_fused_view_merge(const lt_shape *domain, const lt_affine *view)
{
    fused_view v = { .offset = view->offset };
    for (int i = 0; i < domain->rank; i++) {
        if (domain->dim[i] == 1) continue;
        int last = v.rank - 1;
        if (v.rank && v.stride[last] == view->stride[i] * domain->dim[i]) {
            v.dim[last] *= domain->dim[i];
            v.stride[last] = view->stride[i];
        } else {
            v.dim[v.rank] = domain->dim[i];
            v.stride[v.rank++] = view->stride[i];
        }
    }
    if (v.rank == 1 && v.stride[0] == 0) v.rank = 0; /* one element for every point */
    return v;
}

/* A position in the view: index of every dim, and the element it stands on. */
typedef struct cursor {
    int64_t index[LT_MAX_RANK];
    int64_t at;
} cursor;

static cursor cursor_at(const fused_view *v, int64_t position)
{
    cursor c = { .at = v->offset };
    for (int d = v->rank - 1; d >= 0; d--) {
        c.index[d] = position % v->dim[d];
        position /= v->dim[d];
        c.at += c.index[d] * v->stride[d];
    }
    return c;
}

int64_t lt_fused_view_at(const fused_view *v, int64_t position) { return cursor_at(v, position).at; }

/* Moves past the end of the innermost dim, which the caller has walked to its end. */
static void cursor_carry(const fused_view *v, cursor *c)
{
    int d = v->rank - 1;
    c->at -= v->stride[d] * v->dim[d];
    c->index[d] = 0;
    while (--d >= 0) {
        c->at += v->stride[d];
        if (++c->index[d] < v->dim[d]) return;
        c->at -= v->stride[d] * v->dim[d];
        c->index[d] = 0;
    }
}

#define DEFINE_MOVES(T, bits)                                                                \
    static void get_run_##bits(T *restrict d, const T *s, int64_t stride, int64_t n)         \
    {                                                                                        \
        if (stride == 1 && n > 8) memcpy(d, s, (size_t)n * sizeof(T));                       \
        else if (stride == 0) { T x = *s; for (int64_t i = 0; i < n; i++) d[i] = x; }        \
        else for (int64_t i = 0; i < n; i++) d[i] = s[i * stride];                           \
    }                                                                                        \
    static void put_run_##bits(T *d, const T *restrict s, int64_t stride, int64_t n)         \
    {                                                                                        \
        if (stride == 1 && n > 8) memcpy(d, s, (size_t)n * sizeof(T));                       \
        else for (int64_t i = 0; i < n; i++) d[i * stride] = s[i];                           \
    }                                                                                        \
    static void gather_##bits(const fused_view *v, T *d, const T *base, int64_t first, int64_t n) \
    {                                                                                        \
        cursor c = cursor_at(v, first);                                                      \
        const int last = v->rank - 1;                                                        \
        while (n > 0) {                                                                      \
            int64_t run = LT_MIN(v->dim[last] - c.index[last], n);                           \
            get_run_##bits(d, base + c.at, v->stride[last], run);                            \
            d += run; n -= run;                                                              \
            c.at += run * v->stride[last];                                                   \
            cursor_carry(v, &c);                                                             \
        }                                                                                    \
    }                                                                                        \
    static void scatter_##bits(const fused_view *v, T *base, const T *s, int64_t first, int64_t n) \
    {                                                                                        \
        cursor c = cursor_at(v, first);                                                      \
        const int last = v->rank - 1;                                                        \
        while (n > 0) {                                                                      \
            int64_t run = LT_MIN(v->dim[last] - c.index[last], n);                           \
            put_run_##bits(base + c.at, s, v->stride[last], run);                            \
            s += run; n -= run;                                                              \
            c.at += run * v->stride[last];                                                   \
            cursor_carry(v, &c);                                                             \
        }                                                                                    \
    }

DEFINE_MOVES(uint8_t, 8)
DEFINE_MOVES(uint16_t, 16)
DEFINE_MOVES(uint32_t, 32)
DEFINE_MOVES(uint64_t, 64)

static void gather(const fused_view *v, int size, void *dst, const void *base, int64_t first, int64_t n)
{
    switch (size) {
    case 1: gather_8(v, dst, base, first, n); break;
    case 2: gather_16(v, dst, base, first, n); break;
    case 4: gather_32(v, dst, base, first, n); break;
    default: gather_64(v, dst, base, first, n); break;
    }
}

/* A short row repeated: gathered once, then copied onto itself in doubling lengths. */
void lt_fused_gather(const fused_view *v, int size, void *dst, const void *base, int64_t first, int64_t n)
{
    bool repeats = v->rank == 2 && v->stride[0] == 0 && n > v->dim[1];
    int64_t done = repeats ? v->dim[1] : n;
    gather(v, size, dst, base, first, done);
    for (int64_t more; done < n; done += more) {
        more = LT_MIN(done, n - done);
        memcpy((char *)dst + done * size, dst, (size_t)(more * size));
    }
}

void lt_fused_scatter(const fused_view *v, int size, void *base, const void *src, int64_t first, int64_t n)
{
    switch (size) {
    case 1: scatter_8(v, base, src, first, n); break;
    case 2: scatter_16(v, base, src, first, n); break;
    case 4: scatter_32(v, base, src, first, n); break;
    default: scatter_64(v, base, src, first, n); break;
    }
}
