/* Affine copies: dims merged and ordered when planned; runs, fills, tiled transposes and strided
   loops when run. SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/cpu/move/affine_copy.h"

#include "base/status.h"

#include <complex.h>
#include <stdlib.h>
#include <string.h>

enum {
    TASK_BYTES = 1 << 17, /* less than this per task is not worth handing out */
    TILE = 16             /* elements: a 16 x 16 tile of doubles touches 16 lines on each side */
};

/* ---- Planning ------------------------------------------------------------------------ */
static void swap_dims(lt_copy_plan *p, int i, int j)
{
    int64_t e = p->extent[i], d = p->dst[i], s = p->src[i];
    p->extent[i] = p->extent[j], p->dst[i] = p->dst[j], p->src[i] = p->src[j];
    p->extent[j] = e, p->dst[j] = d, p->src[j] = s;
}

/* Largest dst steps first, so that writes run forward; equal ones by src. */
static bool comes_before(const lt_copy_plan *p, int i, int j)
{
    int64_t di = llabs(p->dst[i]), dj = llabs(p->dst[j]);
    return di != dj ? di > dj : llabs(p->src[i]) > llabs(p->src[j]);
}

static void merge_dims(lt_copy_plan *p)
{
    int last = 0;
    for (int d = 1; d < p->rank; d++) {
        bool nested = p->dst[last] == p->dst[d] * p->extent[d] && p->src[last] == p->src[d] * p->extent[d];
        if (nested) {
            p->extent[last] *= p->extent[d];
            p->dst[last] = p->dst[d];
            p->src[last] = p->src[d];
        } else if (++last != d) {
            swap_dims(p, last, d);
        }
    }
    p->rank = last + 1;
}

void lt_copy_plan_make(lt_copy_plan *p, lt_dtype type, const lt_shape *extent, int64_t dst_offset,
                       const int64_t *dst, int64_t src_offset, const int64_t *src, bool add)
{
    *p = (lt_copy_plan){ .type = type, .bytes = lt_dtype_size(type), .add = add,
                         .dst_offset = dst_offset, .src_offset = src_offset };
    int64_t count = 1;
    for (int d = 0; d < extent->rank; d++) {
        count *= extent->dim[d];
        if (extent->dim[d] == 1) continue;
        p->extent[p->rank] = extent->dim[d];
        p->dst[p->rank] = dst[d];
        p->src[p->rank++] = src[d];
    }
    if (count == 0) {
        p->rank = 1;
        p->extent[0] = 0;
        return;
    }
    if (p->rank == 0) { /* a single element */
        p->rank = 1;
        p->extent[0] = p->dst[0] = p->src[0] = 1;
    }
    for (int i = 1; i < p->rank; i++)
        for (int j = i; j > 0 && comes_before(p, j, j - 1); j--) swap_dims(p, j, j - 1);
    merge_dims(p);
    int64_t parts = count * (int64_t)p->bytes / TASK_BYTES;
    p->n_tasks = LT_MAX(1, LT_MIN(parts, p->extent[0]));
}

/* ---- Inner loops ----------------------------------------------------------------------- */
#define STRIDED(T)                                                                  \
    do {                                                                            \
        T *d = dst;                                                                 \
        const T *s = src;                                                           \
        if (ds == 1 && ss == 0) for (int64_t i = 0; i < n; i++) d[i] = s[0];        \
        else if (ds == 1) for (int64_t i = 0; i < n; i++) d[i] = s[i * ss];         \
        else for (int64_t i = 0; i < n; i++) d[i * ds] = s[i * ss];                 \
    } while (0)

typedef struct sixteen { uint64_t half[2]; } sixteen;

static void copy_line(size_t bytes, void *dst, int64_t ds, const void *src, int64_t ss, int64_t n)
{
    if (ds == 1 && ss == 1) {
        memcpy(dst, src, (size_t)n * bytes);
        return;
    }
    switch (bytes) {
    case 1: STRIDED(uint8_t); break;
    case 2: STRIDED(uint16_t); break;
    case 4: STRIDED(uint32_t); break;
    case 8: STRIDED(uint64_t); break;
    default: STRIDED(sixteen); break;
    }
}

#define ADD(T)                                                                      \
    do {                                                                            \
        T *d = dst;                                                                 \
        const T *s = src;                                                           \
        if (ds == 1 && ss == 1) for (int64_t i = 0; i < n; i++) d[i] = (T)(d[i] + s[i]); \
        else for (int64_t i = 0; i < n; i++) d[i * ds] = (T)(d[i * ds] + s[i * ss]); \
    } while (0)

static void add_line(lt_dtype type, void *dst, int64_t ds, const void *src, int64_t ss, int64_t n)
{
    switch (type) {
    case LT_F32:  ADD(float); break;
    case LT_F64:  ADD(double); break;
    case LT_C64:  ADD(float complex); break;
    case LT_C128: ADD(double complex); break;
    case LT_I32:  ADD(uint32_t); break; /* unsigned: overflow wraps */
    case LT_I64:  ADD(uint64_t); break;
    case LT_U8:   ADD(uint8_t); break;
    default: break; /* half types never add here: they would round more than once */
    }
}

/* dst[i * ld + j] = src[i + j * ls], for rows x columns elements. */
#define TRANSPOSE(T)                                                                \
    do {                                                                            \
        T *d = dst;                                                                 \
        const T *s = src;                                                           \
        for (int64_t i0 = 0; i0 < rows; i0 += TILE)                                 \
            for (int64_t j0 = 0; j0 < columns; j0 += TILE) {                        \
                int64_t i1 = LT_MIN(rows, i0 + TILE), j1 = LT_MIN(columns, j0 + TILE); \
                for (int64_t i = i0; i < i1; i++)                                   \
                    for (int64_t j = j0; j < j1; j++) d[i * ld + j] = s[i + j * ls]; \
            }                                                                       \
    } while (0)

static void transpose(size_t bytes, void *dst, int64_t ld, const void *src, int64_t ls, int64_t rows, int64_t columns)
{
    switch (bytes) {
    case 1: TRANSPOSE(uint8_t); break;
    case 2: TRANSPOSE(uint16_t); break;
    case 4: TRANSPOSE(uint32_t); break;
    case 8: TRANSPOSE(uint64_t); break;
    default: TRANSPOSE(sixteen); break;
    }
}

/* ---- Running ----------------------------------------------------------------------------- */
static void copy_dims(const lt_copy_plan *p, int d, char *dst, const char *src, int64_t extent)
{
    int left = p->rank - d;
    int64_t size = (int64_t)p->bytes;
    if (left == 1) {
        if (p->add) add_line(p->type, dst, p->dst[d], src, p->src[d], extent);
        else copy_line(p->bytes, dst, p->dst[d], src, p->src[d], extent);
        return;
    }
    if (left == 2 && !p->add && p->dst[d + 1] == 1 && p->src[d] == 1 && p->src[d + 1] != 0) {
        transpose(p->bytes, dst, p->dst[d], src, p->src[d + 1], extent, p->extent[d + 1]);
        return;
    }
    for (int64_t i = 0; i < extent; i++)
        copy_dims(p, d + 1, dst + i * p->dst[d] * size, src + i * p->src[d] * size, p->extent[d + 1]);
}

typedef struct copy_job {
    const lt_copy_plan *plan;
    char *dst;
    const char *src;
} copy_job;

static lt_status run_part(void *ctx, int64_t part, int worker)
{
    (void)worker;
    const copy_job *j = ctx;
    const lt_copy_plan *p = j->plan;
    int64_t begin, end, size = (int64_t)p->bytes;
    lt_part_range(p->extent[0], p->n_tasks, part, &begin, &end);
    copy_dims(p, 0, j->dst + begin * p->dst[0] * size, j->src + begin * p->src[0] * size, end - begin);
    return LT_OK;
}

lt_status lt_copy_run(const lt_copy_plan *p, lt_pool *pool, void *dst, const void *src)
{
    if (p->extent[0] == 0) return LT_OK;
    int64_t size = (int64_t)p->bytes;
    copy_job j = { p, (char *)dst + p->dst_offset * size, (const char *)src + p->src_offset * size };
    if (p->n_tasks <= 1) return run_part(&j, 0, 0);
    return lt_pool_run(pool, p->n_tasks, run_part, &j);
}
