/* ARGMAX, ARGMIN, CUMSUM, TOPK_INDEX, TAKE, PUT, TAKE_ALONG and PUT_ALONG on the CUDA device.
   SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/cuda/rows.h"
#include "kernels/cuda/sequence.h"
#include "kernels/cuda/text_kernel.h"
#include "kernels/host_kernel.h"

#include "base/status.h"

#include <inttypes.h>

extern const char lt_text_index_cu[];
enum { THREADS = 256 };

/* Wraps k, which takes the fault word after p's arguments; without k (nothing to do) an empty kernel. */
static lt_status with_fault(lt_device *dev, const lt_problem_key *p, const char *name, lt_kernel *k, lt_kernel **out)
{
    lt_sequence *s;
    lt_status status = lt_sequence_create(dev, name, p->n_in + 1, &s);
    if (status) {
        lt_kernel_destroy(k);
        return status;
    }
    lt_part_arg arg[LT_OP_MAX_INPUTS + 2];
    for (int i = 0; i <= p->n_in; i++) arg[i] = (lt_part_arg){ i, 0 };
    arg[p->n_in + 1] = (lt_part_arg){ LT_SEQUENCE_FAULT, 0 };
    return lt_sequence_finish(s, k ? lt_sequence_add(s, k, arg) : LT_OK, out);
}

static lt_status empty(lt_device *dev, const lt_problem_key *p, const char *name, lt_kernel **out)
{
    return with_fault(dev, p, name, NULL, out);
}

/* ---- Along an axis --------------------------------------------------------------------------- */
/* Constants BEFORE, ALONG, AFTER of s around an axis; the number of lines. */
static int64_t add_axis(lt_text *t, const lt_shape *s, int axis)
{
    int64_t before = lt_leading_count(s, axis), after = 1;
    for (int d = axis + 1; d < s->rank; d++) after *= s->dim[d];
    lt_text_constant(t, "BEFORE", before);
    lt_text_constant(t, "ALONG", s->dim[axis]);
    lt_text_constant(t, "AFTER", after);
    return before * after;
}

/* Threads that share a line, and the grid for n lines. */
static unsigned share_lines(lt_text *t, int64_t along, int64_t n)
{
    int64_t lanes = 1;
    while (lanes < THREADS && lanes * 16 < along) lanes *= 2;
    lt_text_constant(t, "LANES", lanes);
    return lt_blocks(n, (int)(THREADS / lanes));
}

bool lt_cuda_arg_applies(const lt_problem_key *p) { return lt_key_is_real(p); }

lt_status lt_cuda_arg_prepare(lt_device *dev, const lt_problem_key *p, lt_kernel **out)
{
    if (lt_tensor_count(&p->out) == 0) return empty(dev, p, "arg_cuda", out);
    lt_text t = { 0 };
    int axis = p->attr->u.index.axis;
    lt_text_add(&t, "#define ARG\n");
    lt_text_type(&t, "T", p->in[0].dtype);
    lt_text_constant(&t, "SIGN", p->op == LT_OP_ARGMAX ? 1 : -1);
    int64_t n = add_axis(&t, &p->in[0].shape, axis);
    unsigned grid = share_lines(&t, p->in[0].shape.dim[axis], n);
    return lt_text_kernel_build(dev, &(lt_text_kernel){ "arg_cuda", "arg", lt_text_index_cu, 2, { grid }, { THREADS },
                                                        (double)lt_tensor_count(&p->in[0]), lt_problem_bytes(p) }, &t, out);
}

bool lt_cuda_cumsum_applies(const lt_problem_key *p) { return lt_key_is_real(p) && p->in[0].dtype == p->out.dtype; }

lt_status lt_cuda_cumsum_prepare(lt_device *dev, const lt_problem_key *p, lt_kernel **out)
{
    if (lt_tensor_count(&p->out) == 0) return empty(dev, p, "cumsum_cuda", out);
    lt_text t = { 0 };
    int axis = p->attr->u.index.axis;
    lt_text_add(&t, "#define CUMSUM\n");
    lt_text_type(&t, "T", p->in[0].dtype);
    lt_text_constant(&t, "REVERSE", p->attr->u.index.reverse);
    int64_t n = add_axis(&t, &p->in[0].shape, axis);
    unsigned grid = share_lines(&t, p->in[0].shape.dim[axis], n);
    return lt_text_kernel_build(dev, &(lt_text_kernel){ "cumsum_cuda", "cumsum", lt_text_index_cu, 2, { grid }, { THREADS },
                                                        (double)lt_tensor_count(&p->in[0]), lt_problem_bytes(p) }, &t, out);
}

bool lt_cuda_topk_applies(const lt_problem_key *p) { return lt_key_is_real(p); }

lt_status lt_cuda_topk_prepare(lt_device *dev, const lt_problem_key *p, lt_kernel **out)
{
    const lt_shape *s = &p->in[0].shape;
    if (lt_tensor_count(&p->out) == 0) return empty(dev, p, "topk_cuda", out);
    lt_text t = { 0 };
    lt_text_add(&t, "#define TOPK\n");
    lt_text_type(&t, "T", p->in[0].dtype);
    lt_text_constant(&t, "ALONG", s->dim[s->rank - 1]);
    lt_text_constant(&t, "K", p->attr->u.index.k);
    return lt_text_kernel_build(dev, &(lt_text_kernel){ "topk_cuda", "topk", lt_text_index_cu, 2, { (unsigned)lt_leading_count(s, s->rank - 1) },
                                                        { THREADS }, (double)lt_tensor_count(&p->in[0]), lt_problem_bytes(p) }, &t, out);
}

/* ---- Gathers and scatters ---------------------------------------------------------------------- */
typedef struct indexed { const char *define, *name, *entry; bool by_row; } indexed; /* by_row: one row of indices per row */

static lt_status build_indexed(lt_device *dev, const lt_problem_key *p, const indexed *what, lt_text *t, lt_kernel **out)
{
    int64_t n = lt_tensor_count(&p->out);
    lt_kernel *k;
    lt_text_add(t, "#define %s\n", what->define);
    lt_text_constant(t, "COUNT", n);
    lt_text_constant(t, "N_INDEX", what->by_row ? p->in[1].shape.dim[p->in[1].shape.rank - 1] : lt_tensor_count(&p->in[1]));
    LT_TRY(lt_text_kernel_build(dev, &(lt_text_kernel){ what->name, what->entry, lt_text_index_cu, 4, { lt_blocks(n, THREADS) }, { THREADS },
                                                        (double)n, lt_problem_bytes(p) }, t, &k));
    return with_fault(dev, p, what->name, k, out);
}

/* Elements that are only moved go by their size, whatever their type. */
static void add_moved_type(lt_text *t, lt_dtype type) { lt_text_add(t, "typedef raw%d T;\n", 8 * (int)lt_dtype_size(type)); }

bool lt_cuda_take_applies(const lt_problem_key *p) { return p->in[1].dtype == LT_I64; }

lt_status lt_cuda_take_prepare(lt_device *dev, const lt_problem_key *p, lt_kernel **out)
{
    if (lt_tensor_count(&p->out) == 0) return empty(dev, p, "take_cuda", out);
    lt_text t = { 0 };
    add_moved_type(&t, p->out.dtype);
    (void)add_axis(&t, &p->in[0].shape, p->attr->u.index.axis);
    return build_indexed(dev, p, &(indexed){ "TAKE", "take_cuda", "take", false }, &t, out);
}

bool lt_cuda_put_applies(const lt_problem_key *p) { return lt_key_is_real(p) && p->in[1].dtype == LT_I64 && p->in[0].dtype == p->out.dtype; }

lt_status lt_cuda_put_prepare(lt_device *dev, const lt_problem_key *p, lt_kernel **out)
{
    if (lt_tensor_count(&p->out) == 0) return empty(dev, p, "put_cuda", out);
    lt_text t = { 0 };
    lt_text_type(&t, "T", p->out.dtype);
    (void)add_axis(&t, &p->out.shape, p->attr->u.index.axis);
    return build_indexed(dev, p, &(indexed){ "PUT", "put_cuda", "put", false }, &t, out);
}

/* index_row(row): which row of indices serves that row; right-aligned, extents of 1 broadcast. */
static void add_index_row(lt_text *t, const lt_shape *rows, const lt_shape *index)
{
    int64_t step = 1;
    lt_text_add(t, "inline i64 index_row(i64 row)\n{\n    i64 at = 0;\n");
    for (int d = rows->rank - 2, e = index->rank - 2; d >= 0; d--, e--) {
        if (e >= 0 && index->dim[e] > 1) lt_text_add(t, "    at += row %% %" PRId64 "ll * %" PRId64 "ll;\n", rows->dim[d], step);
        lt_text_add(t, "    row /= %" PRId64 "ll;\n", rows->dim[d]);
        if (e >= 0) step *= index->dim[e];
    }
    lt_text_add(t, "    return at;\n}\n");
}

bool lt_cuda_take_along_applies(const lt_problem_key *p) { return p->in[1].dtype == LT_I64; }

lt_status lt_cuda_take_along_prepare(lt_device *dev, const lt_problem_key *p, lt_kernel **out)
{
    const lt_shape *x = &p->in[0].shape;
    if (lt_tensor_count(&p->out) == 0) return empty(dev, p, "take_along_cuda", out);
    lt_text t = { 0 };
    add_moved_type(&t, p->out.dtype);
    lt_text_constant(&t, "ALONG", x->dim[x->rank - 1]);
    add_index_row(&t, &p->out.shape, &p->in[1].shape);
    return build_indexed(dev, p, &(indexed){ "TAKE_ALONG", "take_along_cuda", "take_along", true }, &t, out);
}

bool lt_cuda_put_along_applies(const lt_problem_key *p) { return lt_cuda_put_applies(p); }

lt_status lt_cuda_put_along_prepare(lt_device *dev, const lt_problem_key *p, lt_kernel **out)
{
    if (lt_tensor_count(&p->out) == 0) return empty(dev, p, "put_along_cuda", out);
    lt_text t = { 0 };
    lt_text_type(&t, "T", p->out.dtype);
    lt_text_constant(&t, "ALONG", p->attr->u.index.extent);
    add_index_row(&t, &p->in[0].shape, &p->in[1].shape);
    return build_indexed(dev, p, &(indexed){ "PUT_ALONG", "put_along_cuda", "put_along", true }, &t, out);
}
