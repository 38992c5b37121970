/* Plain TAKE, PUT, TAKE_ALONG and PUT_ALONG. Gathers move bytes, so they fit every element type;
   scatters add in double and round once. SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/ref/ref.h"
#include "kernels/rows.h"

#include "base/status.h"

#include <string.h>

/* ---- TAKE and PUT along attr.axis ------------------------------------------------- */
/* x is [before, extent, after]; the gathered side is [before, index count, after]. */
typedef struct axis_split { int64_t before, extent, after, n_index; } axis_split;

static axis_split take_split(const lt_problem_key *p)
{
    const lt_shape *x = p->op == LT_OP_TAKE ? &p->in[0].shape : &p->out.shape;
    int axis = p->attr->u.index.axis;
    axis_split v = { lt_leading_count(x, axis), x->dim[axis], 1, lt_tensor_count(&p->in[1]) };
    for (int d = axis + 1; d < x->rank; d++) v.after *= x->dim[d];
    return v;
}

/* Negative indices count from the end, as NumPy's do. */
static lt_status check_index(const char *op, int64_t i, int64_t extent)
{
    if (i >= -extent && i < extent) return LT_OK;
    return LT_FAIL(LT_ERR_ARGUMENT, "%s: index %lld, expected %lld to %lld (the extent is %lld)", op,
                   (long long)i, -(long long)extent, (long long)extent - 1, (long long)extent);
}

/* Back from the widened double; what no extent reaches is kept out of range, not overflowed. */
static int64_t to_index(double x) { return x >= 0x1p62 ? INT64_MAX : x <= -0x1p62 ? INT64_MIN : (int64_t)x; }

static int64_t from_start(int64_t i, int64_t extent) { return i < 0 ? i + extent : i; }

static lt_status take_run(const lt_kernel *k, lt_pool *pool, void *const *arg)
{
    (void)pool;
    const lt_problem_key *p = &((const lt_host_kernel *)k)->key;
    axis_split v = take_split(p);
    const int64_t *index = arg[1];
    for (int64_t i = 0; i < v.n_index; i++) LT_TRY(check_index("take", index[i], v.extent));
    size_t row = (size_t)v.after * lt_dtype_size(p->out.dtype);
    if (!row) return LT_OK;
    for (int64_t b = 0; b < v.before; b++)
        for (int64_t i = 0; i < v.n_index; i++)
            memcpy(lt_offset(arg[2], (size_t)(b * v.n_index + i) * row),
                   lt_offset(arg[0], (size_t)(b * v.extent + from_start(index[i], v.extent)) * row), row);
    return LT_OK;
}

lt_status lt_take_ref_prepare(const lt_problem_key *p, lt_kernel **out)
{
    *out = lt_host_kernel_create(p, sizeof(lt_host_kernel), "take_ref", take_run);
    return *out ? LT_OK : LT_ERR_MEMORY;
}

static lt_status put(const lt_problem_key *p, const double *const *in, double *out, double *work)
{
    (void)work;
    axis_split v = take_split(p);
    for (int64_t i = 0; i < v.n_index; i++) LT_TRY(check_index("put", to_index(in[1][i]), v.extent));
    memset(out, 0, (size_t)lt_tensor_count(&p->out) * sizeof *out);
    for (int64_t b = 0; b < v.before; b++)
        for (int64_t i = 0; i < v.n_index; i++) {
            double *to = out + (b * v.extent + from_start(to_index(in[1][i]), v.extent)) * v.after;
            const double *from = in[0] + (b * v.n_index + i) * v.after;
            for (int64_t a = 0; a < v.after; a++) to[a] += from[a];
        }
    return LT_OK;
}

lt_status lt_put_ref_prepare(const lt_problem_key *p, lt_kernel **out)
{
    return lt_ref_prepare(p, "put_ref", put, 0, (double)lt_tensor_count(&p->in[0]), out);
}

/* ---- TAKE_ALONG and PUT_ALONG on the last axis -------------------------------------- */
/* The index tensor may have fewer leading dims than the rows: it is right-aligned, so the row
   of indices repeats with its own period; extents of 1 in it broadcast as well. */
int64_t lt_along_index_row(const lt_shape *rows, const lt_shape *index, int64_t row)
{
    int64_t at = 0, step = 1;
    for (int d = rows->rank - 2, e = index->rank - 2; d >= 0; d--, e--) {
        int64_t i = row % rows->dim[d];
        row /= rows->dim[d];
        if (e < 0) continue;
        if (index->dim[e] > 1) at += i * step;
        step *= index->dim[e];
    }
    return at;
}

static lt_status take_along_run(const lt_kernel *k, lt_pool *pool, void *const *arg)
{
    (void)pool;
    const lt_problem_key *p = &((const lt_host_kernel *)k)->key;
    const lt_shape *x = &p->in[0].shape, *o = &p->out.shape;
    int64_t extent = x->dim[x->rank - 1], q = o->dim[o->rank - 1], rows = lt_leading_count(o, o->rank - 1);
    size_t bytes = lt_dtype_size(p->out.dtype);
    for (int64_t r = 0; r < rows; r++) {
        const int64_t *index = (const int64_t *)arg[1] + lt_along_index_row(o, &p->in[1].shape, r) * q;
        for (int64_t i = 0; i < q; i++) {
            LT_TRY(check_index("take_along", index[i], extent));
            memcpy(lt_offset(arg[2], (size_t)(r * q + i) * bytes),
                   lt_offset(arg[0], (size_t)(r * extent + from_start(index[i], extent)) * bytes), bytes);
        }
    }
    return LT_OK;
}

lt_status lt_take_along_ref_prepare(const lt_problem_key *p, lt_kernel **out)
{
    *out = lt_host_kernel_create(p, sizeof(lt_host_kernel), "take_along_ref", take_along_run);
    return *out ? LT_OK : LT_ERR_MEMORY;
}

static lt_status put_along(const lt_problem_key *p, const double *const *in, double *out, double *work)
{
    (void)work;
    const lt_shape *g = &p->in[0].shape;
    int64_t extent = p->attr->u.index.extent, q = g->dim[g->rank - 1], rows = lt_leading_count(g, g->rank - 1);
    memset(out, 0, (size_t)lt_tensor_count(&p->out) * sizeof *out);
    for (int64_t r = 0; r < rows; r++) {
        const double *index = in[1] + lt_along_index_row(g, &p->in[1].shape, r) * q;
        for (int64_t i = 0; i < q; i++) {
            LT_TRY(check_index("put_along", to_index(index[i]), extent));
            out[r * extent + from_start(to_index(index[i]), extent)] += in[0][r * q + i];
        }
    }
    return LT_OK;
}

lt_status lt_put_along_ref_prepare(const lt_problem_key *p, lt_kernel **out)
{
    return lt_ref_prepare(p, "put_along_ref", put_along, 0, (double)lt_tensor_count(&p->in[0]), out);
}
