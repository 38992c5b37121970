/* Random fused programs, an evaluator that takes one element at a time, and comparisons: what the
   tests of fused kernels share. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_TEST_FUSED_PROGRAM_H
#define LT_TEST_FUSED_PROGRAM_H

#include "lt_test.h"

#include "base/alloc.h"
#include "base/dtype.h"
#include "base/pool.h"
#include "base/status.h"
#include "kernels/cpu/vec/vec.h"
#include "kernels/op.h"

#include <float.h>

/* ---- random numbers: fixed seeds, so a failure repeats ------------------------- */
static uint64_t rng_state;
static inline uint64_t rng(void)
{
    rng_state += 0x9e3779b97f4a7c15u;
    uint64_t z = rng_state;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}
static inline int pick(int n) { return (int)(rng() % (uint64_t)n); }
static inline bool chance(int percent) { return pick(100) < percent; }
static inline double uniform(double lo, double hi) { return lo + (hi - lo) * (double)(rng() >> 11) * 0x1p-53; }

/* ---- one random case ------------------------------------------------------------- */
enum { MAX_LOADS = 6, MAX_CONSTS = 3, MAX_STEPS = 24, MAX_STORES = 4, MAX_REDUCES = 4, MAX_REGS = 40, MAX_ARGS = 16 };

typedef struct program {
    lt_fused f;
    lt_fused_load loads[MAX_LOADS];
    lt_fused_const consts[MAX_CONSTS];
    lt_fused_step steps[MAX_STEPS];
    lt_fused_store stores[MAX_STORES];
    lt_fused_reduce reduces[MAX_REDUCES];
    int64_t arg_count[MAX_ARGS];     /* elements */
    lt_dtype arg_type[MAX_ARGS];
    int alias[MAX_ARGS];             /* output in place of this input, -1 none */
    bool is_output[MAX_ARGS];
} program;

static const lt_dtype real_types[] = { LT_F16, LT_BF16, LT_F32, LT_F64, LT_I32, LT_I64, LT_U8 };

static inline lt_shape random_domain(void)
{
    static const int64_t large[] = { 37, 64, 511, 512, 513, 1030, 2500, 40000 };
    lt_shape s = { .rank = pick(6) };
    int64_t budget = chance(15) ? 150000 : 6000;
    for (int i = 0; i < s.rank; i++) {
        int64_t d = chance(20) ? 1 : chance(25) ? large[pick(8)] : 2 + pick(6);
        while (d > budget) d = (d + 1) / 2;
        s.dim[i] = d;
        budget /= d;
    }
    if (s.rank && chance(3)) s.dim[pick(s.rank)] = 0;
    return s;
}

/* A view whose points lie apart (gather: may also coincide); returns how many elements it spans. */
static inline int64_t random_view(const lt_shape *d, bool broadcasts, lt_affine *v)
{
    int order[LT_MAX_RANK];
    *v = (lt_affine){ .offset = pick(4) };
    for (int i = 0; i < d->rank; i++) order[i] = i;
    if (chance(50))
        for (int i = d->rank - 1; i > 0; i--) {
            int j = pick(i + 1), t = order[i];
            order[i] = order[j];
            order[j] = t;
        }
    int64_t span = 1;
    for (int i = d->rank - 1; i >= 0; i--) {
        int a = order[i];
        int64_t n = LT_MAX(d->dim[a], 1);
        if (broadcasts && chance(30)) continue;
        if (chance(10)) span *= 2;
        v->stride[a] = span;
        if (chance(15)) {
            v->offset += span * (n - 1);
            v->stride[a] = -span;
        }
        span *= n;
    }
    return span + 4;
}

static inline lt_affine dense_view(const lt_shape *d)
{
    lt_affine v = { 0 };
    int64_t stride = 1;
    for (int i = d->rank - 1; i >= 0; i--) {
        v.stride[i] = stride;
        stride *= d->dim[i];
    }
    return v;
}

static inline int add_arg(program *p, lt_dtype type, int64_t count, bool output)
{
    int a = p->f.n_args++;
    p->arg_count[a] = count;
    p->arg_type[a] = type;
    p->is_output[a] = output;
    p->alias[a] = -1;
    return a;
}

static inline void random_loads(program *p, int64_t count)
{
    lt_fused *f = &p->f;
    f->n_loads = 1 + pick(MAX_LOADS);
    for (int i = 0; i < f->n_loads; i++) {
        lt_fused_load *l = &p->loads[i];
        l->from = chance(60) ? f->type : real_types[pick(7)];
        int64_t span = count;
        if (chance(50)) l->view = dense_view(&f->domain);
        else span = random_view(&f->domain, true, &l->view);
        l->arg = add_arg(p, l->from, LT_MAX(span, 1), false);
        l->reg = f->n_regs++;
    }
    f->n_consts = pick(MAX_CONSTS + 1);
    for (int i = 0; i < f->n_consts; i++)
        p->consts[i] = (lt_fused_const){ f->n_regs++, uniform(-2, 2) };
}

/* ops: what to choose from; NULL for every elementwise op. */
static inline void random_steps(program *p, const lt_op *ops, int n_ops)
{
    lt_fused *f = &p->f;
    f->n_steps = pick(MAX_STEPS + 1);
    for (int i = 0; i < f->n_steps; i++) {
        lt_fused_step *s = &p->steps[i];
        s->op = ops ? ops[pick(n_ops)] : (lt_op)pick(LT_N_ELEMENTWISE);
        for (int j = 0; j < 3; j++) s->src[j] = chance(50) ? pick(f->n_regs) : f->n_regs - 1 - pick(LT_MIN(f->n_regs, 4));
        s->reg = f->n_regs++;
    }
}

static inline bool view_is_dense(const program *p, const lt_fused_load *l)
{
    lt_affine v = dense_view(&p->f.domain);
    return memcmp(&v, &l->view, sizeof v) == 0;
}

static inline void random_outputs(program *p, int64_t count)
{
    lt_fused *f = &p->f;
    f->n_stores = pick(MAX_STORES + 1);
    f->n_reduces = f->n_stores && chance(50) ? 0 : 1 + pick(MAX_REDUCES);
    bool taken[MAX_ARGS] = { false };
    for (int i = 0; i < f->n_stores; i++) {
        lt_fused_store *s = &p->stores[i];
        s->reg = pick(f->n_regs);
        s->to = chance(60) ? f->type : real_types[pick(7)];
        const lt_fused_load *l = &p->loads[pick(f->n_loads)];
        bool in_place = chance(40) && view_is_dense(p, l) && !taken[l->arg] &&
                        lt_dtype_size(l->from) == lt_dtype_size(s->to);
        int64_t span = count;
        if (in_place || chance(60)) s->view = dense_view(&f->domain);
        else span = random_view(&f->domain, false, &s->view);
        s->arg = add_arg(p, s->to, LT_MAX(span, 1), true);
        if (in_place) {
            p->alias[s->arg] = l->arg;
            taken[l->arg] = true;
        }
    }
    for (int i = 0; i < f->n_reduces; i++) {
        lt_fused_reduce *r = &p->reduces[i];
        int64_t n_kept = 1;
        bool empty = count == 0;
        *r = (lt_fused_reduce){ .op = empty ? LT_OP_SUM : (lt_op)(LT_OP_SUM + pick(3)), .reg = pick(f->n_regs),
                                .to = chance(70) ? f->type : real_types[pick(4)],
                                .axes = (uint32_t)pick(1 << f->domain.rank) };
        if (i && chance(50)) r->axes = p->reduces[0].axes;
        for (int d = 0; d < f->domain.rank; d++)
            if (!(r->axes >> d & 1)) n_kept *= f->domain.dim[d];
        r->arg = add_arg(p, r->to, LT_MAX(n_kept, 1), true);
    }
}

static inline void random_program_of(program *p, lt_dtype type, const lt_op *ops, int n_ops)
{
    memset(p, 0, sizeof *p);
    p->f = (lt_fused){ .type = type, .domain = random_domain() };
    int64_t count = lt_shape_count(&p->f.domain);
    random_loads(p, count);
    random_steps(p, ops, n_ops);
    random_outputs(p, count);
    p->f.loads = p->loads;
    p->f.consts = p->consts;
    p->f.steps = p->steps;
    p->f.stores = p->stores;
    p->f.reduces = p->reduces;
}

static inline void random_program(program *p, lt_dtype type) { random_program_of(p, type, NULL, 0); }

/* ---- memory ----------------------------------------------------------------------- */
typedef struct memory { char *arg[MAX_ARGS + 1]; } memory;

static inline size_t arg_bytes(const program *p, int a) { return (size_t)p->arg_count[a] * lt_dtype_size(p->arg_type[a]); }

static inline memory make_memory(const program *p, size_t scratch_bytes)
{
    memory m = { 0 };
    for (int a = 0; a < p->f.n_args; a++) {
        if (p->alias[a] >= 0) {
            m.arg[a] = m.arg[p->alias[a]];
            continue;
        }
        m.arg[a] = lt_malloc_aligned(arg_bytes(p, a) + 64);
        memset(m.arg[a], 0x5a, arg_bytes(p, a) + 64);   /* the last 64 bytes are a guard */
        for (int64_t i = 0; !p->is_output[a] && i < p->arg_count[a]; i++)
            lt_store_double(p->arg_type[a], m.arg[a], i, chance(3) ? 0 : uniform(-3, 3));
    }
    m.arg[p->f.n_args] = lt_malloc_aligned(scratch_bytes + 64);
    return m;
}

static inline memory copy_memory(const program *p, const memory *from, size_t scratch_bytes)
{
    memory m = { 0 };
    for (int a = 0; a < p->f.n_args; a++) {
        if (p->alias[a] >= 0) {
            m.arg[a] = m.arg[p->alias[a]];
            continue;
        }
        m.arg[a] = lt_malloc_aligned(arg_bytes(p, a) + 64);
        memcpy(m.arg[a], from->arg[a], arg_bytes(p, a) + 64);
    }
    m.arg[p->f.n_args] = lt_malloc_aligned(scratch_bytes + 64);
    return m;
}

static inline void free_memory(const program *p, memory *m)
{
    for (int a = 0; a < p->f.n_args; a++)
        if (p->alias[a] < 0) lt_free_aligned(m->arg[a]);
    lt_free_aligned(m->arg[p->f.n_args]);
}

/* ---- the evaluator: one element at a time ------------------------------------------ */
static inline int64_t view_at(const lt_shape *d, const lt_affine *v, int64_t point)
{
    int64_t at = v->offset;
    for (int i = d->rank - 1; i >= 0; i--) {
        at += point % d->dim[i] * v->stride[i];
        point /= d->dim[i];
    }
    return at;
}

static inline int64_t kept_index(const lt_shape *d, uint32_t axes, int64_t point)
{
    int64_t at = 0, stride = 1;
    for (int i = d->rank - 1; i >= 0; i--) {
        int64_t index = point % d->dim[i];
        point /= d->dim[i];
        if (axes >> i & 1) continue;
        at += index * stride;
        stride *= d->dim[i];
    }
    return at;
}

/* Registers of one point, in the compute type and with the vector functions on one element. */
static inline void evaluate_point(const program *p, const lt_vec_set *set, const memory *in, int64_t point, double *reg)
{
    const lt_fused *f = &p->f;
    for (int i = 0; i < f->n_loads; i++) {
        const lt_fused_load *l = &f->loads[i];
        lt_convert(f->type, &reg[l->reg], l->from,
                   in->arg[l->arg] + view_at(&f->domain, &l->view, point) * (int64_t)lt_dtype_size(l->from), 1);
    }
    for (int i = 0; i < f->n_consts; i++) lt_convert(f->type, &reg[f->consts[i].reg], LT_F64, &f->consts[i].value, 1);
    for (int i = 0; i < f->n_steps; i++) {
        const lt_fused_step *s = &f->steps[i];
        set->op[s->op][0](&reg[s->reg], &reg[s->src[0]], &reg[s->src[1]], &reg[s->src[2]], 1);
    }
}

/* acc folded with x by LT_OP_SUM, LT_OP_RMAX or LT_OP_RMIN; extremes pass NaN on. */
static inline double fold(lt_op op, double acc, double x)
{
    if (op == LT_OP_SUM) return acc + x;
    if (isnan(acc) || isnan(x)) return NAN;
    return op == LT_OP_RMAX ? fmax(acc, x) : fmin(acc, x);
}

typedef struct fold_want { double *value, *magnitude; int64_t *n; } fold_want;

static inline void evaluate(const program *p, const lt_vec_set *set, const memory *in, memory *out, fold_want *want)
{
    const lt_fused *f = &p->f;
    int64_t count = lt_shape_count(&f->domain);
    double reg[MAX_REGS] = { 0 };
    for (int64_t point = 0; point < count; point++) {
        evaluate_point(p, set, in, point, reg);
        for (int i = 0; i < f->n_stores; i++) {
            const lt_fused_store *s = &f->stores[i];
            lt_convert(s->to, out->arg[s->arg] + view_at(&f->domain, &s->view, point) * (int64_t)lt_dtype_size(s->to),
                       f->type, &reg[s->reg], 1);
        }
        for (int i = 0; i < f->n_reduces; i++) {
            const lt_fused_reduce *r = &f->reduces[i];
            int64_t at = kept_index(&f->domain, r->axes, point);
            double x = lt_load_double(f->type, &reg[r->reg], 0);
            want[i].value[at] = want[i].n[at] ? fold(r->op, want[i].value[at], x) : x;
            want[i].magnitude[at] += fabs(x);
            want[i].n[at]++;
        }
    }
}

/* ---- comparing ---------------------------------------------------------------------- */
/* Unit roundoff, and below which results may differ by one step of the denormal range. */
static inline double type_unit(lt_dtype t) { return t == LT_F64 ? DBL_EPSILON / 2 : t == LT_F32 ? FLT_EPSILON / 2 : t == LT_BF16 ? 0x1p-8 : 0x1p-11; }
static inline double type_tiny(lt_dtype t) { return t == LT_F64 ? 0x1p-1074 : t == LT_F32 ? 0x1p-149 : t == LT_BF16 ? 0x1p-133 : 0x1p-24; }
static inline double type_max(lt_dtype t) { return t == LT_F64 ? DBL_MAX : t == LT_F32 ? FLT_MAX : t == LT_BF16 ? 0x1.fep127 : 65504; }

static inline bool sum_agrees(const program *p, const lt_fused_reduce *r, double got, double want, double magnitude, int64_t n)
{
    double u = type_unit(p->f.type), bound = (double)n * u * magnitude * 1.01 + 2 * type_unit(r->to) * fabs(want) + 2 * type_tiny(r->to);
    if (isnan(want) || !(magnitude < 0.5 * type_max(p->f.type)) || !(fabs(want) < 0.999 * type_max(r->to))) return true;
    return fabs(got - want) <= bound;
}

static inline void check_reduce(const program *p, int i, const memory *got, const fold_want *want)
{
    const lt_fused_reduce *r = &p->f.reduces[i];
    for (int64_t j = 0; j < p->arg_count[r->arg]; j++) {
        double g = lt_load_double(r->to, got->arg[r->arg], j), w = want->value[j];
        if (r->op == LT_OP_SUM) {
            if (!sum_agrees(p, r, g, w, want->magnitude[j], want->n[j])) {
                LT_TEST_FAIL("sum %d element %lld: %.17g, expected %.17g", i, (long long)j, g, w);
                return;
            }
            continue;
        }
        double rounded[1];
        lt_convert(r->to, rounded, LT_F64, &w, 1);
        w = lt_load_double(r->to, rounded, 0);
        if (g != w && !(isnan(g) && isnan(w))) {
            LT_TEST_FAIL("%s %d element %lld: %.17g, expected %.17g", lt_op_name(r->op), i, (long long)j, g, w);
            return;
        }
    }
}

static inline bool same_element(lt_dtype t, const char *a, const char *b, int64_t i)
{
    size_t size = lt_dtype_size(t);
    if (!memcmp(a + (size_t)i * size, b + (size_t)i * size, size)) return true;
    return isnan(lt_load_double(t, a, i)) && isnan(lt_load_double(t, b, i)); /* payloads are free */
}

static inline void check_stores(const program *p, const memory *got, const memory *want)
{
    for (int a = 0; a < p->f.n_args; a++) {
        bool reduced = false;
        for (int i = 0; i < p->f.n_reduces; i++) reduced |= p->f.reduces[i].arg == a;
        if (reduced || (p->alias[a] < 0 && !p->is_output[a])) continue;
        for (int64_t i = 0; i < p->arg_count[a]; i++)
            if (!same_element(p->arg_type[a], got->arg[a], want->arg[a], i)) {
                LT_TEST_FAIL("argument %d (%s) element %lld of %lld: %.17g, expected %.17g", a, lt_dtype_name(p->arg_type[a]),
                             (long long)i, (long long)p->arg_count[a], lt_load_double(p->arg_type[a], got->arg[a], i),
                             lt_load_double(p->arg_type[a], want->arg[a], i));
                return;
            }
    }
}

/* Room for what the reductions should give. */
static inline void make_folds(const program *p, fold_want *folds)
{
    for (int i = 0; i < p->f.n_reduces; i++) {
        size_t n = (size_t)p->arg_count[p->f.reduces[i].arg];
        folds[i] = (fold_want){ calloc(n, 8), calloc(n, 8), calloc(n, 8) };
    }
}

static inline void free_folds(const program *p, fold_want *folds)
{
    for (int i = 0; i < p->f.n_reduces; i++) {
        free(folds[i].value);
        free(folds[i].magnitude);
        free(folds[i].n);
    }
}

static inline void check_reduces(const program *p, const memory *got, const fold_want *folds)
{
    const lt_fused *f = &p->f;
    bool zero_sized = lt_shape_count(&f->domain) == 0;
    for (int i = 0; i < f->n_reduces; i++) {
        int64_t n_kept = 1;
        for (int d = 0; d < f->domain.rank; d++)
            if (!(f->reduces[i].axes >> d & 1)) n_kept *= f->domain.dim[d];
        if (!zero_sized || n_kept) check_reduce(p, i, got, &folds[i]);
    }
}

#endif
