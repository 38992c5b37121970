/* Plain MATMUL, and the shape arithmetic all its rows share. SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/matmul_shape.h"
#include "kernels/ref/ref.h"
#include "kernels/rows.h"

#include "base/status.h"

static void broadcast_steps(const lt_shape *s, const lt_matmul_shape *m, int64_t *step)
{
    int64_t at = 1;
    for (int d = m->rank - 1, e = s->rank - 3; d >= 0; d--, e--) {
        step[d] = e >= 0 && s->dim[e] > 1 ? at : 0;
        if (e >= 0) at *= s->dim[e];
    }
}

lt_matmul_shape lt_matmul_shape_of(const lt_problem_key *p)
{
    const lt_shape *a = &p->in[0].shape, *o = &p->out.shape;
    lt_matmul_shape s = { .m = o->dim[o->rank - 2], .n = o->dim[o->rank - 1], .rank = o->rank - 2,
                          .trans_a = p->attr->u.trans.a, .trans_b = p->attr->u.trans.b };
    s.k = a->dim[a->rank - (s.trans_a ? 2 : 1)];
    s.batch = lt_leading_count(o, s.rank);
    for (int d = 0; d < s.rank; d++) s.dim[d] = o->dim[d];
    broadcast_steps(a, &s, s.a);
    broadcast_steps(&p->in[1].shape, &s, s.b);
    return s;
}

void lt_matmul_operands(const lt_matmul_shape *s, int64_t i, int64_t *a, int64_t *b)
{
    *a = *b = 0;
    for (int d = s->rank - 1; d >= 0; d--) {
        int64_t at = i % s->dim[d];
        i /= s->dim[d];
        *a += at * s->a[d];
        *b += at * s->b[d];
    }
}

double lt_matmul_flops(const lt_matmul_shape *s) { return 2.0 * (double)s->batch * (double)s->m * (double)s->n * (double)s->k; }

int64_t lt_matmul_unit(const lt_matmul_shape *s)
{
    int64_t outer = s->rank ? s->dim[0] : s->m;
    return outer ? LT_MAX(1, s->batch * s->m / outer) : 1;
}

void lt_matmul_stack_rows(lt_matmul_shape *s)
{
    bool shares_b = s->batch > 1 && !s->trans_a;
    for (int d = 0; d < s->rank; d++) shares_b = shares_b && (s->dim[d] == 1 || (s->b[d] == 0 && s->a[d] != 0));
    if (!shares_b) return;
    s->m *= s->batch;
    s->batch = 1;
    s->rank = 0;
}

static lt_status matmul(const lt_problem_key *p, const double *const *in, double *out, double *work)
{
    (void)work;
    lt_matmul_shape s = lt_matmul_shape_of(p);
    int64_t row_a = s.trans_a ? 1 : s.k, col_a = s.trans_a ? s.m : 1;
    int64_t row_b = s.trans_b ? 1 : s.n, col_b = s.trans_b ? s.k : 1;
    for (int64_t i = 0; i < s.batch; i++) {
        int64_t at_a, at_b;
        lt_matmul_operands(&s, i, &at_a, &at_b);
        const double *a = in[0] + at_a * s.m * s.k, *b = in[1] + at_b * s.k * s.n;
        for (int64_t r = 0; r < s.m; r++) {
            double *o = out + (i * s.m + r) * s.n;
            for (int64_t c = 0; c < s.n; c++) o[c] = 0;
            for (int64_t l = 0; l < s.k; l++)
                for (int64_t c = 0; c < s.n; c++)
                    o[c] += a[r * row_a + l * col_a] * b[l * row_b + c * col_b];
        }
    }
    return LT_OK;
}

lt_status lt_matmul_ref_prepare(const lt_problem_key *p, lt_kernel **out)
{
    lt_matmul_shape s = lt_matmul_shape_of(p);
    return lt_ref_prepare(p, "matmul_ref", matmul, 0, lt_matmul_flops(&s), out);
}
