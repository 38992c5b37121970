/* Plain CAST, RESHAPE, VIEW and PLACE for every element type: one element at a time.
   SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/ref/ref.h"
#include "kernels/rows.h"

#include "base/dtype.h"
#include "base/status.h"

#include <complex.h>
#include <string.h>

/* Advances index over shape in row-major order and keeps *at = offset + index . stride. */
static void step_index(const lt_shape *s, const int64_t *stride, int64_t *index, int64_t *at)
{
    for (int d = s->rank - 1; d >= 0; d--) {
        *at += stride[d];
        if (++index[d] < s->dim[d]) return;
        *at -= stride[d] * s->dim[d];
        index[d] = 0;
    }
}

/* ---- CAST and RESHAPE ------------------------------------------------------------ */
static lt_status cast_run(const lt_kernel *k, lt_pool *pool, void *const *arg)
{
    (void)pool;
    const lt_problem_key *p = &((const lt_host_kernel *)k)->key;
    lt_convert(p->out.dtype, arg[1], p->in[0].dtype, arg[0], lt_tensor_count(&p->out));
    return LT_OK;
}

lt_status lt_cast_ref_prepare(const lt_problem_key *p, lt_kernel **out)
{
    *out = lt_host_kernel_create(p, sizeof(lt_host_kernel), "cast_ref", cast_run);
    return *out ? LT_OK : LT_ERR_MEMORY;
}

static lt_status reshape_run(const lt_kernel *k, lt_pool *pool, void *const *arg)
{
    (void)pool;
    size_t bytes = lt_tensor_bytes(&((const lt_host_kernel *)k)->key.out);
    if (bytes && arg[0] != arg[1]) memcpy(arg[1], arg[0], bytes);
    return LT_OK;
}

lt_status lt_reshape_ref_prepare(const lt_problem_key *p, lt_kernel **out)
{
    *out = lt_host_kernel_create(p, sizeof(lt_host_kernel), "reshape_ref", reshape_run);
    return *out ? LT_OK : LT_ERR_MEMORY;
}

/* ---- VIEW ------------------------------------------------------------------------ */
static lt_status view_run(const lt_kernel *k, lt_pool *pool, void *const *arg)
{
    (void)pool;
    const lt_problem_key *p = &((const lt_host_kernel *)k)->key;
    const lt_affine *v = &p->attr->u.view;
    size_t bytes = lt_dtype_size(p->out.dtype);
    int64_t index[LT_MAX_RANK] = { 0 }, at = v->offset, n = lt_tensor_count(&p->out);
    for (int64_t i = 0; i < n; i++) {
        memcpy(lt_offset(arg[1], (size_t)i * bytes), lt_offset(arg[0], (size_t)at * bytes), bytes);
        step_index(&p->out.shape, v->stride, index, &at);
    }
    return LT_OK;
}

lt_status lt_view_ref_prepare(const lt_problem_key *p, lt_kernel **out)
{
    *out = lt_host_kernel_create(p, sizeof(lt_host_kernel), "view_ref", view_run);
    return *out ? LT_OK : LT_ERR_MEMORY;
}

/* ---- PLACE ----------------------------------------------------------------------- */
/* Floats are summed in double and rounded once; that would lose bits of large integers and the
   imaginary parts of complex numbers, which are therefore added in their own type. */
static lt_status place_double(const lt_problem_key *p, const double *const *in, double *out, double *work)
{
    (void)work;
    memset(out, 0, (size_t)lt_tensor_count(&p->out) * sizeof *out);
    for (int i = 0; i < p->n_in; i++) {
        const lt_affine *v = &p->attr->u.place[i];
        int64_t index[LT_MAX_RANK] = { 0 }, at = v->offset, n = lt_tensor_count(&p->in[i]);
        for (int64_t j = 0; j < n; j++) {
            out[at] += in[i][j];
            step_index(&p->in[i].shape, v->stride, index, &at);
        }
    }
    return LT_OK;
}

static void add_element(lt_dtype t, void *dst, int64_t to, const void *src, int64_t from)
{
    switch (t) {
    case LT_C64:  ((float complex *)dst)[to] += ((const float complex *)src)[from]; break;
    case LT_C128: ((double complex *)dst)[to] += ((const double complex *)src)[from]; break;
    case LT_I32:  ((uint32_t *)dst)[to] += ((const uint32_t *)src)[from]; break; /* wraps */
    case LT_I64:  ((uint64_t *)dst)[to] += ((const uint64_t *)src)[from]; break;
    case LT_U8:   ((uint8_t *)dst)[to] = (uint8_t)(((uint8_t *)dst)[to] + ((const uint8_t *)src)[from]); break;
    default: break; /* real floats take place_double */
    }
}

static lt_status place_run(const lt_kernel *k, lt_pool *pool, void *const *arg)
{
    (void)pool;
    const lt_problem_key *p = &((const lt_host_kernel *)k)->key;
    size_t bytes = lt_tensor_bytes(&p->out);
    if (bytes) memset(arg[p->n_in], 0, bytes);
    for (int i = 0; i < p->n_in; i++) {
        const lt_affine *v = &p->attr->u.place[i];
        int64_t index[LT_MAX_RANK] = { 0 }, at = v->offset, n = lt_tensor_count(&p->in[i]);
        for (int64_t j = 0; j < n; j++) {
            add_element(p->out.dtype, arg[p->n_in], at, arg[i], j);
            step_index(&p->in[i].shape, v->stride, index, &at);
        }
    }
    return LT_OK;
}

lt_status lt_place_ref_prepare(const lt_problem_key *p, lt_kernel **out)
{
    if (lt_dtype_is_float(p->out.dtype))
        return lt_ref_prepare(p, "place_ref", place_double, 0, 0, out);
    *out = lt_host_kernel_create(p, sizeof(lt_host_kernel), "place_ref", place_run);
    return *out ? LT_OK : LT_ERR_MEMORY;
}
