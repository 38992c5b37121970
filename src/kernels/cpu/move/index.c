/* TAKE, TAKE_ALONG and PUT_ALONG, threaded over rows; the indices may count from the end, as in the
   plain kernels. SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/host_kernel.h"
#include "kernels/rows.h"

#include "base/status.h"

#include <string.h>

enum { PART_ELEMENTS = 1 << 14 }; /* work of one task */

typedef struct index_kernel {
    lt_host_kernel host;
    int64_t rows, extent, q;      /* rows of x; entries of one; indices per row */
    int64_t n_parts;
    size_t  bytes;                /* moved per index */
} index_kernel;

typedef struct index_job { const index_kernel *v; void *const *arg; } index_job;

static lt_status out_of_range(lt_op op, int64_t i, int64_t extent)
{
    return LT_FAIL(LT_ERR_ARGUMENT, "%s: index %lld, expected %lld to %lld (the extent is %lld)", lt_op_name(op),
                   (long long)i, -(long long)extent, (long long)extent - 1, (long long)extent);
}

/* Sets `at` to the place of index i in a row, or returns from the caller. */
#define LOCATE(at, i)                                                                    \
    int64_t at = (i);                                                                    \
    if (at < -v->extent || at >= v->extent) return out_of_range(v->host.key.op, at, v->extent); \
    if (at < 0) at += v->extent

static index_kernel *create(const lt_problem_key *p, const char *name, lt_host_run run, int64_t extent, int64_t q, int64_t rows, size_t bytes)
{
    index_kernel *v = lt_host_kernel_create(p, sizeof *v, name, run);
    if (!v) return NULL;
    v->rows = rows;
    v->extent = extent;
    v->q = q;
    v->bytes = bytes;
    int64_t work = LT_MAX(lt_tensor_count(&p->in[0]), lt_tensor_count(&p->out));
    v->n_parts = LT_MAX(1, LT_MIN(rows, work / PART_ELEMENTS));
    v->host.kernel.flops = (double)lt_tensor_count(&p->in[1]);
    return v;
}

static lt_status run_parts(const lt_kernel *k, lt_pool *pool, void *const *arg, lt_task task)
{
    index_job j = { (const index_kernel *)k, arg };
    return lt_pool_run(pool, j.v->n_parts, task, &j);
}

/* ---- TAKE_ALONG and PUT_ALONG: each row belongs to one task, so duplicates add in the order of the indices ------- */
#define TAKE_ROW(T)                                                                      \
    do {                                                                                 \
        const T *x = (const T *)j->arg[0] + r * v->extent;                               \
        T *y = (T *)j->arg[2] + r * v->q;                                                \
        for (int64_t i = 0; i < v->q; i++) {                                             \
            LOCATE(at, index[i]);                                                        \
            y[i] = x[at];                                                                \
        }                                                                                \
    } while (0)

#define PUT_ROW(T)                                                                       \
    do {                                                                                 \
        const T *g = (const T *)j->arg[0] + r * v->q;                                    \
        T *y = (T *)j->arg[2] + r * v->extent;                                           \
        memset(y, 0, (size_t)v->extent * sizeof *y);                                     \
        for (int64_t i = 0; i < v->q; i++) {                                             \
            LOCATE(at, index[i]);                                                        \
            y[at] += g[i];                                                               \
        }                                                                                \
    } while (0)

static lt_status along_part(void *ctx, int64_t part, int worker)
{
    (void)worker;
    const index_job *j = ctx;
    const index_kernel *v = j->v;
    const lt_problem_key *p = &v->host.key;
    bool puts = p->op == LT_OP_PUT_ALONG, narrow = v->bytes == 4;
    int64_t begin, end;
    lt_part_range(v->rows, v->n_parts, part, &begin, &end);
    for (int64_t r = begin; r < end; r++) {
        const int64_t *index = (const int64_t *)j->arg[1] + lt_along_index_row(puts ? &p->in[0].shape : &p->out.shape, &p->in[1].shape, r) * v->q;
        if (puts && narrow) PUT_ROW(float);
        else if (puts) PUT_ROW(double);
        else if (narrow) TAKE_ROW(uint32_t);
        else TAKE_ROW(uint64_t);
    }
    return LT_OK;
}

static lt_status along_run(const lt_kernel *k, lt_pool *pool, void *const *arg) { return run_parts(k, pool, arg, along_part); }

bool lt_take_along_rows_applies(const lt_problem_key *p)
{
    size_t size = lt_dtype_size(p->out.dtype);
    return p->in[0].dtype == p->out.dtype && p->in[1].dtype == LT_I64 && (size == 4 || size == 8) && lt_tensor_count(&p->out) > 0;
}

lt_status lt_take_along_rows_prepare(const lt_problem_key *p, lt_kernel **out)
{
    const lt_shape *x = &p->in[0].shape, *y = &p->out.shape;
    index_kernel *v = create(p, "take_along_rows", along_run, x->dim[x->rank - 1], y->dim[y->rank - 1],
                             lt_leading_count(y, y->rank - 1), lt_dtype_size(p->out.dtype));
    *out = v ? &v->host.kernel : NULL;
    return v ? LT_OK : LT_ERR_MEMORY;
}

bool lt_put_along_rows_applies(const lt_problem_key *p)
{
    lt_dtype t = p->out.dtype;
    return (t == LT_F32 || t == LT_F64) && p->in[0].dtype == t && p->in[1].dtype == LT_I64 && lt_tensor_count(&p->out) > 0;
}

lt_status lt_put_along_rows_prepare(const lt_problem_key *p, lt_kernel **out)
{
    const lt_shape *g = &p->in[0].shape;
    index_kernel *v = create(p, "put_along_rows", along_run, p->attr->u.index.extent, g->dim[g->rank - 1],
                             lt_leading_count(g, g->rank - 1), lt_dtype_size(p->out.dtype));
    *out = v ? &v->host.kernel : NULL;
    return v ? LT_OK : LT_ERR_MEMORY;
}

/* ---- TAKE: x is [before, extent, after]; one row is what one index moves ------------------------- */
static lt_status take_part(void *ctx, int64_t part, int worker)
{
    (void)worker;
    const index_job *j = ctx;
    const index_kernel *v = j->v;
    const int64_t *index = j->arg[1];
    int64_t begin, end;
    lt_part_range(v->rows, v->n_parts, part, &begin, &end);
    for (int64_t r = begin; r < end; r++) {
        int64_t before = r / v->q;
        LOCATE(at, index[r % v->q]);
        memcpy(lt_offset(j->arg[2], (size_t)r * v->bytes), lt_offset(j->arg[0], (size_t)(before * v->extent + at) * v->bytes), v->bytes);
    }
    return LT_OK;
}

static lt_status take_run(const lt_kernel *k, lt_pool *pool, void *const *arg) { return run_parts(k, pool, arg, take_part); }

bool lt_take_rows_applies(const lt_problem_key *p)
{
    return p->in[0].dtype == p->out.dtype && p->in[1].dtype == LT_I64 && lt_tensor_count(&p->out) > 0;
}

lt_status lt_take_rows_prepare(const lt_problem_key *p, lt_kernel **out)
{
    const lt_shape *x = &p->in[0].shape;
    int axis = p->attr->u.index.axis;
    int64_t q = lt_tensor_count(&p->in[1]), after = 1;
    for (int d = axis + 1; d < x->rank; d++) after *= x->dim[d];
    index_kernel *v = create(p, "take_rows", take_run, x->dim[axis], q, lt_leading_count(x, axis) * q, (size_t)after * lt_dtype_size(p->out.dtype));
    *out = v ? &v->host.kernel : NULL;
    return v ? LT_OK : LT_ERR_MEMORY;
}
