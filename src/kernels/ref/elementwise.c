/* The elementwise ops in plain C over libm: the bodies of ops.def in double, one element at a time, with broadcasting.
   SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/ref/ref.h"
#include "kernels/rows.h"

#include <math.h>

#define R double
#define LIBM(name) name
#define LT_UNARY(ID, name, x, flops, kind, vector, builder, language, doc, domain, body, ...) static R one_##name(R x) body
#define LT_BINARY(ID, name, a, b, flops, kind, vector, builder, language, doc, domain, body, ...) static R one_##name(R a, R b) body
#define LT_TERNARY(ID, name, x, y, z, flops, kind, vector, builder, language, doc, domain, body, ...) static R one_##name(R x, R y, R z) body
#include "kernels/ops.def"

/* op(a), op(a, b) or op(a, b, c); operands the op does not take are ignored. NaN when op is not
   an elementwise op. */
static double value_of(lt_op op, double a, double b, double c)
{
    switch (op) {
#define LT_UNARY(ID, name, ...) case LT_OP_##ID: return one_##name(a);
#define LT_BINARY(ID, name, ...) case LT_OP_##ID: return one_##name(a, b);
#define LT_TERNARY(ID, name, ...) case LT_OP_##ID: return one_##name(a, b, c);
#include "kernels/ops.def"
    default: return NAN;
    }
}

/* ---- the plain row of every elementwise op ---- */

/* Where element i of the output (row major in shape out) lies in a tensor of shape s. */
static int64_t broadcast_index(const lt_shape *s, const lt_shape *out, int64_t i)
{
    int64_t at = 0, step = 1;
    for (int d = out->rank - 1, e = s->rank - 1; e >= 0; d--, e--) {
        at += s->dim[e] == 1 ? 0 : i % out->dim[d] * step;
        step *= s->dim[e];
        i /= out->dim[d];
    }
    return at;
}

static lt_status elementwise(const lt_problem_key *p, const double *const *in, double *out, double *work)
{
    (void)work;
    int64_t n = lt_tensor_count(&p->out);
    for (int64_t i = 0; i < n; i++) {
        double x[3] = { 0 };
        for (int a = 0; a < p->n_in; a++) x[a] = in[a][broadcast_index(&p->in[a].shape, &p->out.shape, i)];
        out[i] = value_of(p->op, x[0], x[1], x[2]);
    }
    return LT_OK;
}

lt_status lt_elementwise_ref_prepare(const lt_problem_key *p, lt_kernel **out)
{
    return lt_ref_prepare(p, "elementwise_ref", elementwise, 0, (double)lt_tensor_count(&p->out), out);
}
