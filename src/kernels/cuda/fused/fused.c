/* Fused programs on the CUDA device: their passes, built and put in order.
   SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/cuda/cuda_table.h"
#include "kernels/cuda/fused/pass.h"
#include "kernels/cuda/sequence.h"

#include "base/status.h"

#include <stdio.h>

/* ---- One pass -------------------------------------------------------------------------------- */
static lt_status build(lt_device *dev, const lt_fused_pass *p, lt_kernel **out)
{
    static const char *const options[] = { "--fmad=false" }; /* compiled and eager give the same bits (decision 50) */
    const lt_fused *f = p->f;
    lt_text text = { 0 };
    char name[64];
    *out = NULL;
    lt_fused_render(p, &text);
    snprintf(name, sizeof name, "fused_cuda_%s%s", p->reduces ? "reduce_" : "", lt_dtype_name(f->type));
    lt_kernel_key key = { .name = name, .source = text.s, .entry = "fused", .options = options, .n_options = (int)LT_LEN(options),
                          .n_args = f->n_args + (p->parts > 1), .grid = { p->grid[0], p->grid[1], p->grid[2] },
                          .block = { LT_FUSED_THREADS, 1, 1 }, .waits = true,
                          .flops = (double)(f->n_steps + f->n_reduces) * (double)lt_shape_count(&f->domain), .bytes = lt_fused_bytes(f) };
    lt_status s = text.failed ? LT_FAIL(LT_ERR_MEMORY, "no memory for the text of a fused kernel") : lt_device_build(dev, &key, out);
    lt_text_free(&text);
    return s;
}

/* The second pass of a reduction in parts: folds [parts, kept] partial results. */
static lt_status add_fold(lt_device *dev, const lt_fused_pass *p, const lt_fused_reduce *r, lt_part_arg partial, lt_sequence *seq)
{
    const lt_fused *f = p->f;
    lt_fused_load load = { 0, 0, f->type, { 0, { p->walk.kept, 1 } } };
    lt_fused_reduce reduce = { r->op, 0, 1, r->to, 1u };
    lt_fused fold = { .type = f->type, .domain = lt_shape2(p->parts, p->walk.kept), .n_regs = 1, .n_args = 2, .n_loads = 1, .loads = &load,
                      .n_reduces = 1, .reduces = &reduce };
    lt_fused_pass pass;
    lt_kernel *k;
    LT_TRY(lt_fused_pass_plan(&fold, 1u, false, &pass));
    pass.parts = 1; /* parts are at most a thousand: one block each is enough */
    pass.part_items = pass.walk.reduced / pass.vector;
    pass.grid[1] = 1;
    LT_TRY(build(dev, &pass, &k));
    return lt_sequence_add(seq, k, (lt_part_arg[]){ partial, { r->arg, 0 } });
}

static lt_status add_pass(lt_device *dev, const lt_fused *f, uint32_t axes, bool stores, lt_sequence *seq)
{
    lt_fused_pass p;
    lt_kernel *k;
    LT_TRY(lt_fused_pass_plan(f, axes, stores, &p));
    LT_TRY(build(dev, &p, &k));
    if (p.parts == 1) return lt_sequence_add(seq, k, NULL);
    int n = 0;
    size_t each = (size_t)p.parts * (size_t)p.walk.kept * lt_dtype_size(f->type);
    for (int i = 0; i < f->n_reduces; i++) n += f->reduces[i].axes == axes;
    lt_part_arg arg[LT_KERNEL_MAX_ARGS + 1] = { { 0, 0 } };
    for (int i = 0; i < f->n_args; i++) arg[i] = (lt_part_arg){ i, 0 };
    arg[f->n_args] = (lt_part_arg){ LT_SEQUENCE_SCRATCH, lt_sequence_scratch(seq, each * (size_t)n) };
    LT_TRY(lt_sequence_add(seq, k, arg));
    size_t at = arg[f->n_args].offset;
    for (int i = 0; i < f->n_reduces; i++) {
        if (f->reduces[i].axes != axes) continue;
        LT_TRY(add_fold(dev, &p, &f->reduces[i], (lt_part_arg){ LT_SEQUENCE_SCRATCH, at }, seq));
        at += each;
    }
    return LT_OK;
}

/* ---- All passes ------------------------------------------------------------------------------ */
/* No points: nothing is stored, and sums are zero (a maximum of nothing was refused before). */
static lt_status add_zero_sums(const lt_fused *f, lt_sequence *seq)
{
    for (int i = 0; i < f->n_reduces; i++) {
        size_t kept = 1;
        for (int d = 0; d < f->domain.rank; d++)
            if (!(f->reduces[i].axes >> d & 1)) kept *= (size_t)f->domain.dim[d];
        if (kept) LT_TRY(lt_sequence_add_fill(seq, (lt_part_arg){ f->reduces[i].arg, 0 }, 0, kept * lt_dtype_size(f->reduces[i].to)));
    }
    return LT_OK;
}

static bool seen_before(const lt_fused *f, int i)
{
    for (int j = 0; j < i; j++)
        if (f->reduces[j].axes == f->reduces[i].axes) return true;
    return false;
}

/* The last pass stores: only then may an output that lies on an input be written. */
static lt_status add_passes(lt_device *dev, const lt_fused *f, lt_sequence *seq)
{
    if (lt_shape_count(&f->domain) == 0) return add_zero_sums(f, seq);
    int last = -1;
    for (int i = 0; i < f->n_reduces; i++)
        if (!seen_before(f, i)) last = i;
    for (int i = 0; i < f->n_reduces; i++)
        if (!seen_before(f, i)) LT_TRY(add_pass(dev, f, f->reduces[i].axes, i == last, seq));
    return last < 0 ? add_pass(dev, f, 0, true, seq) : LT_OK;
}

lt_status lt_fused_prepare_cuda(lt_device *dev, const lt_fused *f, lt_kernel **out)
{
    lt_sequence *seq;
    *out = NULL;
    LT_TRY(lt_fused_check(f));
    if (f->n_args >= LT_KERNEL_MAX_ARGS)
        return LT_FAIL(LT_ERR_UNSUPPORTED, "fused kernel with %d arguments, at most %d on this device", f->n_args, LT_KERNEL_MAX_ARGS - 1);
    LT_TRY(lt_sequence_create(dev, "fused_cuda", f->n_args, &seq));
    return lt_sequence_finish(seq, add_passes(dev, f, seq), out);
}

lt_status lt_fused_prepare_cuda_shaped(lt_device *dev, const lt_fused *f, lt_fused_shape shape, lt_kernel **out)
{
    lt_fused_pass p;
    *out = NULL;
    LT_TRY(lt_fused_check(f));
    LT_TRY(lt_fused_pass_plan(f, 0, true, &p));
    LT_TRY(lt_fused_pass_reshape(&p, shape));
    return build(dev, &p, out);
}
