/* Random valid graphs with a bound on rounding. SPDX-License-Identifier: BSD-3-Clause */
#include "graph/random_graph.h"

#include "base/dtype.h"
#include "tolerance.h"

#include <stdlib.h>

static int below(maker *m, int n) { return (int)lt_rng_below(&m->rng, (uint64_t)n); }
static bool chance(maker *m, int percent) { return below(m, 100) < percent; }
static double unit(const maker *m) { return lt_unit_roundoff(m->type); }
static lt_shape shape_of(const maker *m, maker_value v) { return lt_node_shape(m->g, v.node); }
static int64_t count_of(const maker *m, maker_value v) { lt_shape s = shape_of(m, v); return lt_shape_count(&s); }

/* A result of size at most `size`, whose operands' errors come through as `error`; it adds a few
   roundings of its own (elementary functions: 4 ulp, and twice, once in each evaluation). */
static maker_value made(const maker *m, lt_node node, double size, double error)
{
    return (maker_value){ node, size, error + 20 * unit(m) * size + lt_smallest_step(m->type), false };
}

static maker_value moved(maker_value from, lt_node node) { from.node = node; return from; }

static void keep(maker *m, maker_value v)
{
    if (m->n < MAKER_VALUES && !lt_is_none(v.node)) m->v[m->n++] = v;
}

/* Recent values more often, so that graphs get deep. */
static maker_value pick(maker *m)
{
    int span = chance(m, 60) && m->n > 6 ? 6 : m->n;
    return m->v[m->n - 1 - below(m, span)];
}

/* Keeps numbers near 1, so that errors cannot explode. */
static maker_value tame(maker *m, maker_value x)
{
    if (x.size <= 4) return x;
    return made(m, chance(m, 50) ? lt_tanh(m->g, lt_scale(m->g, x.node, 1 / x.size)) : lt_atan(m->g, lt_scale(m->g, x.node, 2 / x.size)),
                1.6, 2 * x.error / x.size + 4 * unit(m));
}

/* ---- elementwise ---- */

static maker_value unary(maker *m)
{
    lt_graph *g = m->g;
    maker_value x = tame(m, pick(m));
    double s = x.size, e = x.error;
    switch (below(m, 20)) {
    case 0: return made(m, lt_neg(g, x.node), s, e);
    case 1: return made(m, lt_abs(g, x.node), s, e);
    case 2: return made(m, lt_square(g, x.node), s * s, 2 * s * e);
    case 3: return made(m, lt_sqrt(g, lt_shift(g, lt_abs(g, x.node), 0.5)), s + 1, e + unit(m));
    case 4: return made(m, lt_exp(g, lt_neg(g, lt_square(g, x.node))), 1, 2 * e + s * s * unit(m));
    case 5: return made(m, lt_log(g, lt_shift(g, lt_square(g, x.node), 1)), s + 1, e + 2 * unit(m));
    case 6: return made(m, lt_sin(g, x.node), 1, e);
    case 7: return made(m, lt_cos(g, lt_scale(g, x.node, 2)), 1, 2 * e + 2 * s * unit(m));
    case 8: return made(m, lt_tanh(g, x.node), 1, e);
    case 9: return made(m, lt_sigmoid(g, x.node), 1, e);
    case 10: return made(m, lt_softplus(g, x.node), s + 1, e);
    case 11: return made(m, lt_relu(g, x.node), s, e);
    case 12: return made(m, lt_gelu(g, x.node), s, 1.2 * e);
    case 13: return made(m, lt_erf(g, x.node), 1, 1.2 * e);
    case 14: return made(m, lt_recip(g, lt_shift(g, lt_abs(g, x.node), 1)), 1, e + s * unit(m));
    case 15: return made(m, lt_log(g, lt_shift(g, lt_exp(g, x.node), 1)), s + 1, e);
    case 16: return made(m, lt_pow_scalar(g, x.node, 3), s * s * s, 3 * s * s * e);
    case 17: return made(m, lt_clamp_scalar(g, x.node, -0.7, 0.9), 0.9, e);
    case 18: return made(m, lt_rsub(g, 1.5, lt_scale(g, x.node, 0.3)), s + 2, e + unit(m) * s);
    default: return made(m, lt_rdiv(g, 1, lt_shift(g, lt_exp(g, lt_neg(g, x.node)), 1)), 1, e + 60 * unit(m));
    }
}

/* Jumps only on exact values: there all evaluations see the same side. */
static maker_value jump(maker *m)
{
    maker_value x = pick(m);
    if (!x.exact || m->smooth) return unary(m);
    maker_value y = { LT_NONE, x.size + 1, 0, true };
    switch (below(m, 4)) {
    case 0: y.node = lt_floor(m->g, x.node); break;
    case 1: y.node = lt_sign(m->g, x.node); break;
    case 2: y.node = lt_gt(m->g, x.node, lt_scalar(m->g, m->type, 0.25)); break;
    default: y.node = lt_le(m->g, x.node, shape_of(m, x).rank ? lt_flip(m->g, x.node, 0) : x.node); break;
    }
    return y;
}

/* An operand whose shape broadcasts with x's: x's own shape, some of its axes, or one number. */
static maker_value partner(maker *m, maker_value x)
{
    lt_shape want = shape_of(m, x);
    for (int tries = 0; tries < 8; tries++) {
        maker_value y = tame(m, pick(m));
        lt_shape s = shape_of(m, y);
        bool fits = s.rank <= want.rank;
        for (int i = 1; fits && i <= s.rank; i++) fits = s.dim[s.rank - i] == want.dim[want.rank - i] || s.dim[s.rank - i] == 1;
        if (fits) return y;
    }
    if (want.rank && chance(m, 50)) { /* the last element along one axis, kept as an axis of extent 1 */
        int axis = below(m, want.rank);
        maker_value y = tame(m, x);
        return moved(y, lt_slice(m->g, y.node, axis, -1, LT_END, 1));
    }
    double c = 0.25 * (1 + below(m, 8));
    return (maker_value){ lt_scalar(m->g, m->type, c), c, 0, true };
}

static maker_value binary(maker *m)
{
    lt_graph *g = m->g;
    maker_value a = tame(m, pick(m)), b = partner(m, a);
    if (chance(m, 30)) { maker_value t = a; a = b; b = t; }
    double s = a.size * b.size, e = a.size * b.error + b.size * a.error + a.error * b.error;
    lt_node positive = lt_shift(g, lt_abs(g, b.node), 1);
    switch (below(m, 10)) {
    case 0: return made(m, lt_add(g, a.node, b.node), a.size + b.size, a.error + b.error);
    case 1: return made(m, lt_sub(g, a.node, b.node), a.size + b.size, a.error + b.error);
    case 2: case 3: return made(m, lt_mul(g, a.node, b.node), s, e);
    case 4: return made(m, lt_div(g, a.node, positive), a.size, a.error + a.size * (b.error + 4 * unit(m) * b.size));
    case 5: return made(m, lt_maximum(g, a.node, b.node), fmax(a.size, b.size), fmax(a.error, b.error));
    case 6: return made(m, lt_minimum(g, a.node, b.node), fmax(a.size, b.size), fmax(a.error, b.error));
    case 7: return made(m, lt_hypot(g, positive, a.node), a.size + b.size + 1, a.error + b.error);
    case 8: return made(m, lt_atan2(g, a.node, positive), 1.6, a.error + b.error + 4 * unit(m) * b.size);
    default: return made(m, lt_where(g, lt_ge(g, lt_abs(g, lt_scalar(g, m->type, 1)), lt_scalar(g, m->type, 0.5)), a.node, b.node), fmax(a.size, b.size), fmax(a.error, b.error));
    }
}

/* ---- movement ---- */

static maker_value view(maker *m)
{
    lt_graph *g = m->g;
    maker_value x = pick(m);
    lt_shape s = shape_of(m, x);
    if (!s.rank) return moved(x, lt_broadcast_to(g, x.node, lt_shape2(2, 3)));
    int axis = below(m, s.rank), axes[LT_MAX_RANK];
    int64_t n = s.dim[axis];
    switch (below(m, 9)) {
    case 0: return moved(x, lt_transpose(g, x.node));
    case 1:
        for (int i = 0; i < s.rank; i++) axes[i] = (i + 1) % s.rank;
        return moved(x, lt_permute(g, x.node, axes));
    case 2: return moved(x, lt_flip(g, x.node, axis));
    case 3: return n > 1 ? moved(x, lt_slice(g, x.node, axis, below(m, (int)n - 1), LT_END, 1 + below(m, 2))) : moved(x, m->smooth ? x.node : lt_detach(g, x.node));
    case 4: return moved(x, lt_reshape(g, x.node, n % 2 == 0 && s.rank == 1 ? lt_shape2(2, -1) : lt_shape1(-1)));
    case 5: return s.rank > 1 && n > 0 ? moved(x, lt_select(g, x.node, axis, below(m, (int)n))) : moved(x, lt_unsqueeze(g, x.node, 0));
    case 6: return s.rank < 4 ? moved(x, lt_unsqueeze(g, x.node, axis)) : x;
    case 7:
        if (s.rank < 4 && count_of(m, x) * 3 <= MAKER_LARGEST) {
            lt_shape wide = { .rank = s.rank + 1, .dim = { 1 + below(m, 3) } };
            for (int i = 0; i < s.rank; i++) wide.dim[i + 1] = s.dim[i];
            return moved(x, lt_broadcast_to(g, x.node, wide));
        }
        return x;
    default: return s.rank == 2 ? moved(x, lt_diag(g, x.node)) : moved(x, lt_flip(g, x.node, 0));
    }
}

static maker_value join(maker *m)
{
    lt_graph *g = m->g;
    maker_value x = pick(m);
    lt_shape s = shape_of(m, x);
    if (!s.rank) return moved(x, lt_stack(g, (lt_node[]){ x.node, x.node }, 2, 0));
    int axis = below(m, s.rank);
    int64_t n = s.dim[axis];
    if (count_of(m, x) * 3 > MAKER_LARGEST) return unary(m);
    switch (below(m, 5)) {
    case 0: return moved(x, lt_pad(g, x.node, axis, below(m, 3), below(m, 2)));
    case 1: return moved(x, lt_roll(g, x.node, below(m, 5) - 2, axis));
    case 2: return made(m, lt_concat(g, (lt_node[]){ x.node, lt_neg(g, x.node) }, 2, axis), x.size, x.error);
    case 3: return s.rank < 4 ? moved(x, lt_stack(g, (lt_node[]){ x.node, lt_flip(g, x.node, axis) }, 2, below(m, s.rank + 1))) : x;
    default: /* halves exchanged */
        return n > 1 ? moved(x, lt_concat(g, (lt_node[]){ lt_slice(g, x.node, axis, n / 2, LT_END, 1), lt_slice(g, x.node, axis, 0, n / 2, 1) }, 2, axis)) : x;
    }
}

static maker_value indexed(maker *m)
{
    maker_value x = pick(m);
    lt_shape s = shape_of(m, x);
    if (!s.rank || count_of(m, x) == 0 || count_of(m, x) * 3 > MAKER_LARGEST) return unary(m);
    int axis = below(m, s.rank);
    int64_t index[3];
    for (int i = 0; i < 3; i++) index[i] = below(m, (int)s.dim[axis]);
    if (x.exact && !m->smooth && chance(m, 40)) return moved(x, lt_topk(m->g, x.node, 1 + below(m, (int)s.dim[s.rank - 1])));
    return moved(x, lt_gather(m->g, x.node, lt_constant(m->g, LT_I64, lt_shape1(3), index), axis));
}

/* ---- reductions and products ---- */

static maker_value reduced(maker *m)
{
    lt_graph *g = m->g;
    maker_value x = tame(m, pick(m));
    lt_shape s = shape_of(m, x);
    if (!s.rank || count_of(m, x) == 0) return unary(m);
    int axis = below(m, s.rank);
    bool kept = chance(m, 50);
    double n = (double)s.dim[axis], all = (double)count_of(m, x), sum_error = all * x.error + all * all * unit(m) * x.size;
    switch (below(m, 10)) {
    case 0: return made(m, lt_sum(g, x.node), all * x.size, sum_error);
    case 1: return made(m, lt_mean(g, x.node), x.size, sum_error / all + unit(m));
    case 2: return made(m, lt_sum_axis(g, x.node, axis, kept), n * x.size, n * x.error + n * n * unit(m) * x.size);
    case 3: return made(m, lt_mean_axis(g, x.node, axis, kept), x.size, x.error + n * unit(m) * x.size);
    case 4: return made(m, lt_max(g, x.node), x.size, x.error);
    case 5: return made(m, lt_min_axis(g, x.node, axis, kept), x.size, x.error);
    case 6: return made(m, lt_logsumexp_axis(g, x.node, axis, kept), x.size + log(n) + 1, x.error + n * unit(m) * (x.size + 4));
    case 7: return made(m, lt_cumsum(g, x.node, axis), n * x.size, n * x.error + n * n * unit(m) * x.size);
    case 8: return made(m, lt_softmax(g, x.node, axis), 1, 2 * x.error + (n + 30) * unit(m) * (x.size + 1));
    default: return made(m, lt_norm(g, lt_shift(g, x.node, 5)), sqrt(all) * (x.size + 5), sqrt(all) * x.error + all * unit(m) * (x.size + 5) * sqrt(all));
    }
}

static lt_node random_constant(maker *m, lt_shape s)
{
    int64_t n = lt_shape_count(&s);
    double *w = malloc((size_t)(n + 1) * sizeof *w);
    for (int64_t i = 0; i < n; i++) w[i] = lt_rng_uniform(&m->rng) - 0.5;
    lt_node c = lt_cast(m->g, lt_constant(m->g, LT_F64, s, w), m->type);
    free(w);
    return c;
}

static maker_value product(maker *m)
{
    lt_graph *g = m->g;
    maker_value x = tame(m, pick(m));
    lt_shape s = shape_of(m, x);
    if (!s.rank || count_of(m, x) > 600) return unary(m);
    double k = (double)s.dim[s.rank - 1], rounding = (k + 1) * (k + 1) * unit(m);
    if (s.rank == 2 && chance(m, 30)) { /* x' x and the like */
        double rows = (double)s.dim[0], size = rows * x.size * x.size;
        return made(m, lt_matmul(g, lt_transpose(g, x.node), x.node), size, 2 * rows * x.size * x.error + rows * rows * unit(m) * x.size * x.size);
    }
    int64_t n = 1 + below(m, 5);
    maker_value y = made(m, lt_matmul(g, x.node, random_constant(m, lt_shape2(s.dim[s.rank - 1], n))), k * x.size / 2, k * x.error / 2 + rounding * x.size);
    if (chance(m, 50)) y = made(m, lt_relu(g, lt_add(g, y.node, random_constant(m, lt_shape1(n)))), y.size + 0.5, y.error + unit(m));
    return y;
}

static maker_value window(maker *m)
{
    lt_graph *g = m->g;
    maker_value x = tame(m, pick(m));
    lt_shape s = shape_of(m, x);
    if (s.rank < 2 || s.dim[s.rank - 1] < 2 || s.dim[s.rank - 2] < 2 || count_of(m, x) == 0 || count_of(m, x) > 600) return product(m);
    if (chance(m, 30)) return made(m, lt_maxpool2d(g, x.node, 2, 1, below(m, 2)), x.size, x.error);
    if (chance(m, 30)) return made(m, lt_avgpool2d(g, x.node, 2, 2, 0), x.size, x.error + 6 * unit(m) * x.size);
    while (s.rank < 4) { x = moved(x, lt_unsqueeze(g, x.node, 0)); s = shape_of(m, x); }
    lt_conv_options opt = lt_conv_defaults();
    opt.padding[0] = below(m, 2);
    double taps = (double)(s.dim[1] * 4);
    lt_node w = random_constant(m, lt_shape4(1 + below(m, 3), s.dim[1], 2, 2));
    return made(m, lt_conv2d(g, x.node, w, LT_NONE, &opt), taps * x.size / 2, taps * x.error / 2 + taps * taps * unit(m) * x.size);
}

static maker_value converted(maker *m)
{
    if (m->smooth) return unary(m);
    maker_value x = tame(m, pick(m));
    lt_dtype to = chance(m, 30) ? LT_F16 : chance(m, 50) ? LT_F32 : LT_F64;
    double rounding = fmax(lt_unit_roundoff(to), unit(m));
    maker_value y = made(m, lt_cast(m->g, lt_cast(m->g, x.node, to), m->type), x.size, x.error);
    y.exact = x.exact;
    y.error = x.exact ? 0 : x.error + 2 * rounding * x.size + lt_smallest_step(to); /* a number near the middle may go either way */
    return y;
}

static maker_value grow(maker *m)
{
    int k = below(m, 100);
    if (k < 22) return unary(m);
    if (k < 44) return binary(m);
    if (k < 62) return view(m);
    if (k < 70) return join(m);
    if (k < 75) return indexed(m);
    if (k < 85) return reduced(m);
    if (k < 91) return product(m);
    if (k < 94) return window(m);
    if (k < 97) return converted(m);
    return jump(m);
}

/* ---- inputs and outputs ---- */

static void add_inputs(maker *m)
{
    m->n_inputs = 1 + below(m, MAKER_INPUTS);
    for (int i = 0; i < m->n_inputs; i++) {
        lt_shape s = { .rank = below(m, 5) };
        for (int k = 0; k < s.rank; k++) s.dim[k] = 1 + below(m, s.rank > 2 ? 4 : 9);
        int64_t n = m->count[i] = lt_shape_count(&s);
        m->data[i] = malloc((size_t)(n + 1) * sizeof(double));
        m->raw[i] = malloc((size_t)(n + 1) * sizeof(double));
        for (int64_t k = 0; k < n; k++) m->data[i][k] = 4 * lt_rng_uniform(&m->rng) - 2;
        lt_convert(m->type, m->raw[i], LT_F64, m->data[i], n);
        lt_convert(LT_F64, m->data[i], m->type, m->raw[i], n);
        m->input[i] = lt_input(m->g, "x", m->type, s);
        keep(m, (maker_value){ m->input[i], 2, 0, true });
    }
}

/* The last node, and others anywhere: inputs, constants, views, repeats. */
static void pick_outputs(maker *m)
{
    m->n_outputs = 1 + below(m, MAKER_OUTPUTS - 1);
    m->output[0] = m->v[m->n - 1];
    for (int i = 1; i < m->n_outputs; i++) m->output[i] = chance(m, 15) ? m->output[i - 1] : m->v[below(m, m->n)];
    if (chance(m, 20)) m->output[m->n_outputs++] = (maker_value){ lt_full(m->g, m->type, lt_shape1(3), 1.5), 2, 0, true };
}

void maker_begin(maker *m, uint64_t seed, lt_dtype type, bool smooth, int n_nodes)
{
    *m = (maker){ .rng = lt_rng_seed(seed), .type = type, .smooth = smooth };
    if (lt_graph_create(&m->g)) return;
    add_inputs(m);
    while (m->n < n_nodes && m->n < MAKER_VALUES && !lt_graph_status(m->g)) {
        maker_value v = grow(m);
        if (count_of(m, v) <= MAKER_LARGEST) keep(m, v);
    }
    pick_outputs(m);
}

void maker_end(maker *m)
{
    for (int i = 0; i < m->n_inputs; i++) { free(m->data[i]); free(m->raw[i]); }
    lt_graph_destroy(m->g);
}
