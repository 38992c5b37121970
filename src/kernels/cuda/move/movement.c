/* CAST, RESHAPE, VIEW and PLACE on the CUDA device. SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/cuda/fused/pass.h"
#include "kernels/cuda/rows.h"
#include "kernels/cuda/sequence.h"
#include "kernels/cuda/text_kernel.h"
#include "kernels/host_kernel.h"

#include "base/dtype.h"
#include "base/status.h"

#include <inttypes.h>

extern const char lt_text_cast_cu[], lt_text_place_cu[];
enum { THREADS = 256 };

/* ---- CAST ------------------------------------------------------------------------------------ */
bool lt_cuda_cast_applies(const lt_problem_key *p) { (void)p; return true; }

lt_status lt_cuda_cast_prepare(lt_device *dev, const lt_problem_key *p, lt_kernel **out)
{
    int64_t n = lt_tensor_count(&p->out);
    if (n == 0) return lt_sequence_nothing(dev, "cast_cuda", p->n_in + 1, out);
    lt_text t = { 0 };
    lt_text_type(&t, "From", p->in[0].dtype);
    lt_text_type(&t, "To", p->out.dtype);
    lt_text_constant(&t, "COUNT", n);
    return lt_text_kernel_build(dev, &(lt_text_kernel){ "cast_cuda", "cast", lt_text_cast_cu, 2, { lt_blocks(n, THREADS) }, { THREADS },
                                                        (double)n, lt_problem_bytes(p) }, &t, out);
}

/* ---- RESHAPE --------------------------------------------------------------------------------- */
bool lt_cuda_reshape_applies(const lt_problem_key *p) { (void)p; return true; }

lt_status lt_cuda_reshape_prepare(lt_device *dev, const lt_problem_key *p, lt_kernel **out)
{
    lt_sequence *s;
    size_t bytes = lt_tensor_bytes(&p->out);
    LT_TRY(lt_sequence_create(dev, "reshape_cuda", 2, &s));
    return lt_sequence_finish(s, bytes ? lt_sequence_add_copy(s, (lt_part_arg){ 1, 0 }, (lt_part_arg){ 0, 0 }, bytes) : LT_OK, out);
}

/* ---- VIEW ------------------------------------------------------------------------------------ */
bool lt_cuda_view_applies(const lt_problem_key *p) { (void)p; return true; }

lt_status lt_cuda_view_prepare(lt_device *dev, const lt_problem_key *p, lt_kernel **out)
{
    if (lt_tensor_count(&p->out) == 0) return lt_sequence_nothing(dev, "view_cuda", p->n_in + 1, out);
    lt_fused_load load = { 0, 0, p->in[0].dtype, p->attr->u.view };
    lt_fused_store store = { 0, 1, p->out.dtype, { 0 } };
    int64_t at = 1;
    for (int d = p->out.shape.rank - 1; d >= 0; d--) {
        store.view.stride[d] = at;
        at *= p->out.shape.dim[d];
    }
    lt_fused f = { .type = LT_F32, .domain = p->out.shape, .n_regs = 1, .n_args = 2, .n_loads = 1, .loads = &load, .n_stores = 1, .stores = &store };
    lt_fused_pass pass;
    lt_text text = { 0 };
    LT_TRY(lt_fused_pass_plan_copy(&f, &pass));
    lt_fused_render(&pass, &text);
    lt_kernel_key key = { .name = "view_cuda", .source = text.s, .entry = "fused", .n_args = 2, .grid = { pass.grid[0], 1, 1 },
                          .block = { LT_FUSED_THREADS, 1, 1 }, .waits = true, .bytes = 2 * (double)lt_tensor_bytes(&p->out) };
    lt_status s = text.failed ? LT_FAIL(LT_ERR_MEMORY, "no memory for the text of a view") : lt_device_build(dev, &key, out);
    lt_text_free(&text);
    return s;
}

/* ---- PLACE ----------------------------------------------------------------------------------- */
/* Each output element asks every input which of its elements fall on it. Dims whose steps, largest first,
   each pass everything the smaller ones reach are read off by division; the others are walked. */
typedef struct placing {
    int64_t offset;
    int     n_read, n_walked;
    int     read[LT_MAX_RANK], walked[LT_MAX_RANK];  /* dims; read: by step, largest first */
    int64_t step[LT_MAX_RANK];                       /* of every dim, made positive */
    bool    flipped[LT_MAX_RANK];
} placing;

static void make_positive(const lt_affine *v, const lt_shape *s, placing *o)
{
    o->offset = v->offset;
    for (int d = 0; d < s->rank; d++) {
        o->flipped[d] = v->stride[d] < 0;
        o->step[d] = o->flipped[d] ? -v->stride[d] : v->stride[d];
        if (o->flipped[d]) o->offset += v->stride[d] * (s->dim[d] - 1);
    }
}

static placing plan_placing(const lt_affine *v, const lt_shape *s)
{
    placing o = { 0 };
    int order[LT_MAX_RANK];
    make_positive(v, s, &o);
    for (int d = 0; d < s->rank; d++) { /* by step, smallest first */
        int at = d;
        for (; at > 0 && o.step[order[at - 1]] > o.step[d]; at--) order[at] = order[at - 1];
        order[at] = d;
    }
    int64_t reach = 0; /* of the dims read so far */
    for (int i = 0; i < s->rank; i++) {
        int d = order[i];
        if (s->dim[d] == 1) continue;
        if (o.step[d] > reach) {
            for (int k = o.n_read; k > 0; k--) o.read[k] = o.read[k - 1];
            o.read[0] = d;
            o.n_read++;
            reach += o.step[d] * (s->dim[d] - 1);
        } else {
            o.walked[o.n_walked++] = d;
        }
    }
    return o;
}

/* The block that adds input i to `sum`. */
static void add_input(const lt_problem_key *p, int i, lt_text *t)
{
    const lt_shape *s = &p->in[i].shape;
    placing o = plan_placing(&p->attr->u.place[i], s);
    int64_t dense[LT_MAX_RANK], at = 1;
    for (int d = s->rank - 1; d >= 0; d--) {
        dense[d] = at;
        at *= s->dim[d];
    }
    lt_text_add(t, "    {\n");
    for (int k = 0; k < o.n_walked; k++)
        lt_text_add(t, "    for (i64 c%d = 0; c%d < %" PRId64 "; c%d++)\n", o.walked[k], o.walked[k], s->dim[o.walked[k]], o.walked[k]);
    lt_text_add(t, "    {\n        i64 left = o - (%" PRId64 "ll), at = 0;\n        bool hit = true;\n", o.offset);
    for (int k = 0; k < o.n_walked; k++) {
        int d = o.walked[k];
        lt_text_add(t, "        left -= c%d * %" PRId64 "ll; at += ", d, o.step[d]);
        if (o.flipped[d]) lt_text_add(t, "(%" PRId64 "ll - c%d) * %" PRId64 "ll;\n", s->dim[d] - 1, d, dense[d]);
        else lt_text_add(t, "c%d * %" PRId64 "ll;\n", d, dense[d]);
    }
    lt_text_add(t, "        hit = left >= 0;\n");
    for (int k = 0; k < o.n_read; k++) {
        int d = o.read[k];
        lt_text_add(t, "        { i64 c = left / %" PRId64 "ll; hit = hit && c < %" PRId64 "ll; left -= c * %" PRId64 "ll; at += ", o.step[d],
                    s->dim[d], o.step[d]);
        if (o.flipped[d]) lt_text_add(t, "(%" PRId64 "ll - c) * %" PRId64 "ll; }\n", s->dim[d] - 1, dense[d]);
        else lt_text_add(t, "c * %" PRId64 "ll; }\n", dense[d]);
    }
    lt_text_add(t, "        if (hit && left == 0) add(sum, a%d[at]);\n    }\n    }\n", i);
}

bool lt_cuda_place_applies(const lt_problem_key *p) { (void)p; return true; }

lt_status lt_cuda_place_prepare(lt_device *dev, const lt_problem_key *p, lt_kernel **out)
{
    int64_t n = lt_tensor_count(&p->out);
    if (n == 0) return lt_sequence_nothing(dev, "place_cuda", p->n_in + 1, out);
    lt_text t = { 0 };
    lt_text_type(&t, "T", p->out.dtype);
    lt_text_add(&t, "%s\nextern \"C\" __global__ void __launch_bounds__(256) place(", lt_text_place_cu);
    for (int i = 0; i < p->n_in; i++) lt_text_add(&t, "const T *a%d, ", i);
    lt_text_add(&t, "T *out)\n{\n    lt_wait();\n    i64 o = (i64)blockIdx.x * 256 + threadIdx.x;\n    if (o >= %" PRId64 "ll) return;\n    Sum sum = Sum();\n", n);
    for (int i = 0; i < p->n_in; i++)
        if (lt_tensor_count(&p->in[i]) > 0) add_input(p, i, &t);
    lt_text_add(&t, "    put(sum, out[o]);\n}\n");
    return lt_text_kernel_build(dev, &(lt_text_kernel){ "place_cuda", "place", "", p->n_in + 1, { lt_blocks(n, THREADS) }, { THREADS },
                                                        (double)n, lt_problem_bytes(p) }, &t, out);
}
