/* Refuses fused programs that do not hold together, so that no later step has to look; and counts what they move.
   SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/cpu/fused/plan.h"

#include "base/alloc.h"
#include "base/status.h"

typedef struct checker {
    const lt_fused *f;
    unsigned char *set;                    /* per register: has a value by now */
} checker;

static lt_status check_type(lt_dtype t, const char *what)
{
    if ((unsigned)t >= LT_DTYPE_COUNT || t == LT_C64 || t == LT_C128)
        return LT_FAIL(LT_ERR_TYPE, "fused kernel: %s of type %s, expected a real type", what, lt_dtype_name(t));
    return LT_OK;
}

static lt_status check_arg(const lt_fused *f, int32_t arg, const char *what)
{
    if (arg < 0 || arg >= f->n_args)
        return LT_FAIL(LT_ERR_ARGUMENT, "fused kernel: %s of argument %d, expected 0..%d", what, arg, f->n_args - 1);
    return LT_OK;
}

static lt_status define(checker *c, int32_t reg)
{
    if (reg < 0 || reg >= c->f->n_regs)
        return LT_FAIL(LT_ERR_ARGUMENT, "fused kernel: register %d, expected 0..%d", reg, c->f->n_regs - 1);
    if (c->set[reg]) return LT_FAIL(LT_ERR_ARGUMENT, "fused kernel: register %d is set twice", reg);
    c->set[reg] = 1;
    return LT_OK;
}

static lt_status use(const checker *c, int32_t reg, const char *what)
{
    if (reg < 0 || reg >= c->f->n_regs || !c->set[reg])
        return LT_FAIL(LT_ERR_ARGUMENT, "fused kernel: %s reads register %d, which has no value", what, reg);
    return LT_OK;
}

static lt_status check_steps(checker *c)
{
    for (int i = 0; i < c->f->n_steps; i++) {
        const lt_fused_step *s = &c->f->steps[i];
        if ((unsigned)s->op >= LT_OP_COUNT || !lt_op_is_elementwise(s->op))
            return LT_FAIL(LT_ERR_ARGUMENT, "fused kernel: step %d is '%s', expected an elementwise op", i,
                           lt_op_name(s->op));
        for (int j = 0; j < lt_op_arity(s->op); j++) LT_TRY(use(c, s->src[j], lt_op_name(s->op)));
        LT_TRY(define(c, s->reg));
    }
    return LT_OK;
}

static lt_status check_reduce(const checker *c, const lt_fused_reduce *r)
{
    const lt_shape *d = &c->f->domain;
    if (!lt_op_is_reduce(r->op))
        return LT_FAIL(LT_ERR_ARGUMENT, "fused kernel: reduction by '%s', expected sum, max or min", lt_op_name(r->op));
    if (r->axes >> d->rank)
        return LT_FAIL(LT_ERR_SHAPE, "fused kernel: reduction over axes 0x%x of domain %s", r->axes, lt_shape_str(d).s);
    int64_t n_reduced = 1, n_kept = 1;
    for (int i = 0; i < d->rank; i++) *(r->axes >> i & 1 ? &n_reduced : &n_kept) *= d->dim[i];
    if (n_reduced == 0 && n_kept > 0 && r->op != LT_OP_SUM)
        return LT_FAIL(LT_ERR_SHAPE, "%s over no elements: axes 0x%x of %s", lt_op_name(r->op), r->axes,
                       lt_shape_str(d).s);
    LT_TRY(check_arg(c->f, r->arg, "reduction"));
    LT_TRY(check_type(r->to, "reduction"));
    return use(c, r->reg, "reduction");
}

static lt_status check_program(checker *c)
{
    const lt_fused *f = c->f;
    for (int i = 0; i < f->n_loads; i++) {
        LT_TRY(check_arg(f, f->loads[i].arg, "load"));
        LT_TRY(check_type(f->loads[i].from, "load"));
        LT_TRY(define(c, f->loads[i].reg));
    }
    for (int i = 0; i < f->n_consts; i++) LT_TRY(define(c, f->consts[i].reg));
    LT_TRY(check_steps(c));
    for (int i = 0; i < f->n_stores; i++) {
        LT_TRY(check_arg(f, f->stores[i].arg, "store"));
        LT_TRY(check_type(f->stores[i].to, "store"));
        LT_TRY(use(c, f->stores[i].reg, "store"));
    }
    for (int i = 0; i < f->n_reduces; i++) LT_TRY(check_reduce(c, &f->reduces[i]));
    return LT_OK;
}

lt_status lt_fused_check(const lt_fused *f)
{
    if (f->type != LT_F32 && f->type != LT_F64)
        return LT_FAIL(LT_ERR_TYPE, "fused kernel computes in %s, expected f32 or f64", lt_dtype_name(f->type));
    if (f->domain.rank < 0 || f->domain.rank > LT_MAX_RANK || lt_shape_count(&f->domain) < 0)
        return LT_FAIL(LT_ERR_SHAPE, "fused kernel over domain %s", lt_shape_str(&f->domain).s);
    if (f->n_args < 0 || f->n_args > LT_KERNEL_MAX_ARGS)
        return LT_FAIL(LT_ERR_ARGUMENT, "fused kernel with %d arguments, at most %d", f->n_args, LT_KERNEL_MAX_ARGS);
    if (f->n_regs < 0 || f->n_loads < 0 || f->n_consts < 0 || f->n_steps < 0 || f->n_stores < 0 || f->n_reduces < 0)
        return LT_FAIL(LT_ERR_ARGUMENT, "fused kernel with a negative count");
    checker c = { f, lt_calloc((size_t)f->n_regs + 1, 1) };
    if (!c.set) return LT_ERR_MEMORY;
    lt_status s = check_program(&c);
    lt_free(c.set);
    return s;
}

double lt_fused_bytes(const lt_fused *f)
{
    double bytes = 0, count = (double)lt_shape_count(&f->domain);
    for (int i = 0; i < f->n_loads; i++) {
        double n = count ? 1 : 0;
        for (int d = 0; d < f->domain.rank; d++)
            if (f->loads[i].view.stride[d]) n *= (double)f->domain.dim[d];
        bytes += n * (double)lt_dtype_size(f->loads[i].from);
    }
    for (int i = 0; i < f->n_stores; i++) bytes += count * (double)lt_dtype_size(f->stores[i].to);
    for (int i = 0; i < f->n_reduces; i++) {
        double n = 1;
        for (int d = 0; d < f->domain.rank; d++)
            if (!(f->reduces[i].axes >> d & 1)) n *= (double)f->domain.dim[d];
        bytes += n * (double)lt_dtype_size(f->reduces[i].to);
    }
    return bytes;
}
