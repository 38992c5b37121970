/* Cases: movement of elements, joining and indexing. SPDX-License-Identifier: BSD-3-Clause */
#include "graph/case.h"

#include <math.h>

/* want[i] = x[0][source(i)]; -1 gives 0. */
static void moved(case_run *c, int64_t (*source)(const case_run *c, int64_t i))
{
    for (int64_t i = 0; i < c->n_out; i++) {
        int64_t at = source(c, i);
        c->want[i] = at < 0 ? 0 : c->x[0][at];
        c->size[i] = fabs(c->want[i]);
    }
}

/* Index of element i of the result along an axis. */
static int64_t index_of(const lt_shape *s, int64_t i, int axis)
{
    case_axis a = case_split(s, axis);
    return i / a.inner % a.extent;
}

/* Position in a tensor of shape s of element i of a result that differs along one axis only,
   with `k` as its index there. */
static int64_t with_index(const lt_shape *out, const lt_shape *s, int64_t i, int axis, int64_t k)
{
    case_axis a = case_split(out, axis);
    return (i / (a.extent * a.inner) * s->dim[axis] + k) * a.inner + i % a.inner;
}

#define MOVE(name, call, source)                                                 \
    static lt_node build_##name(lt_graph *g, const lt_node *x) { return call; }  \
    static int64_t source_##name(const case_run *c, int64_t i) { (void)c; return source; } \
    static void oracle_##name(case_run *c) { moved(c, source_##name); }
#define OUT (&c->out_shape)
#define IN (&c->in_shape[0])

MOVE(reshape, lt_reshape(g, x[0], lt_shape3(4, -1, 1)), i)
MOVE(flatten, lt_flatten(g, x[0]), i)
MOVE(squeeze, lt_squeeze(g, x[0], -2), i)
MOVE(unsqueeze, lt_unsqueeze(g, x[0], -1), i)
MOVE(broadcast, lt_broadcast_to(g, x[0], lt_shape4(2, 3, 4, 5)), case_broadcast_at(OUT, i, IN))
MOVE(transpose, lt_transpose(g, x[0]), i / (IN->dim[1] * IN->dim[2]) * (IN->dim[1] * IN->dim[2]) + i % IN->dim[1] * IN->dim[2] + i / IN->dim[1] % IN->dim[2])
MOVE(permute, lt_permute(g, x[0], (int[]){ 2, 0, -2 }), (i / OUT->dim[2] % OUT->dim[1] * IN->dim[1] + i % OUT->dim[2]) * IN->dim[2] + i / (OUT->dim[1] * OUT->dim[2]))
MOVE(at, lt_at(g, x[0], -1), (IN->dim[0] - 1) * c->n_out + i)
MOVE(select, lt_select(g, x[0], 1, 2), (i / IN->dim[2] * IN->dim[1] + 2) * IN->dim[2] + i % IN->dim[2])
MOVE(slice, lt_slice(g, x[0], 1, 1, LT_END, 2), with_index(OUT, IN, i, 1, 1 + 2 * index_of(OUT, i, 1)))
MOVE(slice_back, lt_slice(g, x[0], 1, -2, 0, -1), with_index(OUT, IN, i, 1, IN->dim[1] - 2 - index_of(OUT, i, 1)))
MOVE(slice_none, lt_slice(g, x[0], 1, 2, 2, 1), i)
MOVE(slice_clipped, lt_slice(g, x[0], 0, -99, 99, 1), i)
MOVE(flip, lt_flip(g, x[0], 1), with_index(OUT, IN, i, 1, IN->dim[1] - 1 - index_of(OUT, i, 1)))
MOVE(roll, lt_roll(g, x[0], 2, 1), with_index(OUT, IN, i, 1, (index_of(OUT, i, 1) + 3 * IN->dim[1] - 2) % IN->dim[1]))
MOVE(roll_back, lt_roll(g, x[0], -7, 0), with_index(OUT, IN, i, 0, (index_of(OUT, i, 0) + 7) % IN->dim[0]))
MOVE(pad, lt_pad(g, x[0], 1, 2, 1), index_of(OUT, i, 1) < 2 || index_of(OUT, i, 1) >= 2 + IN->dim[1] ? -1 : with_index(OUT, IN, i, 1, index_of(OUT, i, 1) - 2))
MOVE(pad_2, lt_pad(g, lt_pad(g, x[0], 0, 1, 0), 1, 0, 2), i / OUT->dim[1] < 1 || i % OUT->dim[1] >= IN->dim[1] ? -1 : (i / OUT->dim[1] - 1) * IN->dim[1] + i % OUT->dim[1])
MOVE(diag_of, lt_diag(g, x[0]), i * (IN->dim[1] + 1))
MOVE(diag, lt_diag(g, x[0]), i / OUT->dim[0] == i % OUT->dim[0] ? i % OUT->dim[0] : -1)
MOVE(diag_of_transposed, lt_diag(g, lt_transpose(g, x[0])), i * (IN->dim[1] + 1))
/* Row r of the triangle starts at r (r + 1) / 2. */
static int64_t lower_source(int64_t n, int64_t i)
{
    int64_t r = 0;
    while ((r + 1) * (r + 2) / 2 <= i) r++;
    return r * n + i - r * (r + 1) / 2;
}
MOVE(lower, lt_lower(g, x[0]), lower_source(IN->dim[0], i))
/* Views of views, reshapes between them. */
MOVE(view_chain, lt_flip(g, lt_slice(g, lt_transpose(g, lt_reshape(g, x[0], lt_shape2(6, 4))), 0, 1, 4, 2), 1),
     (5 - i % 6) * 4 + 1 + 2 * (i / 6))
MOVE(reshape_of_view, lt_reshape(g, lt_transpose(g, x[0]), lt_shape2(3, 4)), i % 4 * 3 + i / 4)
MOVE(views_of_none, lt_exp(g, lt_flip(g, lt_slice(g, lt_transpose(g, x[0]), 2, 1, LT_END, 1), 2)), i)
/* Slices that tile the tensor, put together again: nothing moves. */
static lt_node build_concat_slices(lt_graph *g, const lt_node *x)
{
    return lt_concat(g, (lt_node[]){ lt_slice(g, x[0], 1, 0, 2, 1), lt_slice(g, x[0], 1, 2, 3, 1), lt_slice(g, x[0], 1, 3, LT_END, 1) }, 3, 1);
}
static int64_t source_same(const case_run *c, int64_t i) { (void)c; return i; }
static void oracle_concat_slices(case_run *c) { moved(c, source_same); }

static lt_node build_split(lt_graph *g, const lt_node *x)
{
    lt_node part[3];
    if (lt_split(g, x[0], 3, 1, part)) return LT_NONE;
    return lt_concat(g, (lt_node[]){ part[2], part[0], part[1] }, 3, 1);
}
static int64_t source_split(const case_run *c, int64_t i)
{
    int64_t third = IN->dim[1] / 3;
    return with_index(OUT, IN, i, 1, (index_of(OUT, i, 1) + 2 * third) % IN->dim[1]);
}
static void oracle_split(case_run *c) { moved(c, source_split); }

/* ---- joining ---- */

static lt_node build_concat_0(lt_graph *g, const lt_node *x) { return lt_concat(g, x, 3, 0); }
static lt_node build_concat_last(lt_graph *g, const lt_node *x) { return lt_concat(g, x, 3, -1); }
static lt_node build_stack_0(lt_graph *g, const lt_node *x) { return lt_stack(g, x, 3, 0); }
static lt_node build_stack_last(lt_graph *g, const lt_node *x) { return lt_stack(g, x, 3, -1); }

/* Parts one after the other along an axis; a stack is a concatenation of parts of extent 1. */
static void joined(case_run *c, int axis, bool stacked)
{
    int64_t inner = 1, outer = 1, row = 0;
    for (int i = 0; i < axis; i++) outer *= c->out_shape.dim[i];
    for (int i = axis + 1; i < c->out_shape.rank; i++) inner *= c->out_shape.dim[i];
    for (int p = 0; p < 3; p++) {
        int64_t extent = stacked ? 1 : c->in_shape[p].dim[axis];
        for (int64_t i = 0; i < c->n_in[p]; i++) {
            int64_t o = i / (extent * inner), rest = i % (extent * inner);
            int64_t at = (o * c->out_shape.dim[axis] + row) * inner + rest;
            c->want[at] = c->x[p][i];
            c->size[at] = fabs(c->want[at]);
        }
        row += extent;
    }
    (void)outer;
}
static void oracle_concat_0(case_run *c) { joined(c, 0, false); }
static void oracle_concat_last(case_run *c) { joined(c, c->out_shape.rank - 1, false); }
static void oracle_stack_0(case_run *c) { joined(c, 0, true); }
static void oracle_stack_last(case_run *c) { joined(c, c->out_shape.rank - 1, true); }

/* More parts than one node takes. */
static lt_node build_stack_many(lt_graph *g, const lt_node *x)
{
    lt_node part[70];
    for (int i = 0; i < 70; i++) part[i] = lt_at(g, x[0], 69 - i);
    return lt_stack(g, part, 70, 0);
}
static int64_t source_stack_many(const case_run *c, int64_t i) { (void)c; return (69 - i / 2) * 2 + i % 2; }
static void oracle_stack_many(case_run *c) { moved(c, source_stack_many); }

/* ---- indexing ---- */

static const int64_t picks[] = { 2, 0, 1, 2, 2 };
static const int32_t small_picks[] = { 2, 0, 1, 2, 2 };
static lt_node five(lt_graph *g) { return lt_constant(g, LT_I64, lt_shape1(5), picks); }
static const int64_t along[] = { 0, 2, 1, 1, 2, 0, 0, 0 }; /* [4, 2] */

MOVE(gather_rows, lt_gather(g, x[0], five(g), 0), picks[i / IN->dim[1]] * IN->dim[1] + i % IN->dim[1])
MOVE(gather_columns, lt_gather(g, x[0], five(g), 1), i / 5 * IN->dim[1] + picks[i % 5])
MOVE(gather_middle, lt_gather(g, x[0], lt_constant(g, LT_I32, lt_shape1(5), small_picks), 1),
     (i / (5 * IN->dim[2]) * IN->dim[1] + picks[i / IN->dim[2] % 5]) * IN->dim[2] + i % IN->dim[2])
MOVE(gather_one, lt_gather(g, x[0], lt_constant(g, LT_I64, lt_shape0(), picks), 1), i * IN->dim[1] + 2)
MOVE(gather_vector, lt_gather(g, x[0], five(g), 0), picks[i])
MOVE(gather_along_1, lt_gather(g, x[0], lt_constant(g, LT_I64, lt_shape2(4, 2), along), 1), i / 2 * IN->dim[1] + along[i])
MOVE(gather_along_0, lt_gather(g, x[0], lt_constant(g, LT_I64, lt_shape2(2, 4), along), 0), along[i] * 4 + i % 4)
static const int64_t from_end[] = { -1, -3, 0 };
MOVE(gather_negative, lt_gather(g, x[0], lt_constant(g, LT_I64, lt_shape1(3), from_end), 0), (from_end[i / 2] + 3) % 3 * 2 + i % 2)

#define ALL (CASE_SMALL | CASE_GRAD | CASE_GRAD2)
#define M(name, ...) { #name, build_##name, oracle_##name, 1, { __VA_ARGS__ }, -3, 3, 0.5, ALL, 0 }

const op_case cases_shape[] = {
    M(reshape, S2(6, 4)), M(flatten, S3(2, 3, 2)), M(flatten, S0), M(squeeze, S3(2, 1, 3)), M(unsqueeze, S2(2, 3)), M(unsqueeze, S0),
    M(broadcast, S3(3, 1, 5)), M(broadcast, S0), M(broadcast, S2(1, 1)), M(transpose, S3(2, 3, 4)), M(transpose, S3(1, 1, 4)), M(transpose, S3(2, 65, 33)),
    M(permute, S3(2, 3, 4)), M(permute, S3(3, 1, 2)), M(permute, S3(17, 9, 33)), M(at, S2(3, 4)), M(at, S1(5)), M(select, S3(2, 3, 4)), M(slice, S3(2, 6, 3)), M(slice, S2(3, 5)),
    M(slice_back, S2(2, 6)), M(slice_clipped, S2(3, 2)), M(flip, S3(2, 5, 3)), M(flip, S2(2, 1)), M(roll, S2(2, 5)), M(roll_back, S2(4, 3)),
    { "slice to none", build_slice_none, oracle_slice_none, 1, { S2(3, 5) }, -3, 3, 0.5, CASE_SMALL, 0 },
    { "views of none", build_views_of_none, oracle_views_of_none, 1, { S3(2, 3, 0) }, -3, 3, 0.5, CASE_SMALL, 0 },
    M(pad, S3(2, 3, 2)), M(pad, S2(2, 1)), M(pad_2, S2(3, 2)), M(diag, S1(4)), M(diag, S1(1)), M(diag_of, S2(3, 5)), M(diag_of, S2(3, 3)),
    M(diag_of_transposed, S2(4, 4)), M(lower, S2(4, 4)), M(lower, S2(1, 1)), M(view_chain, S1(24)), M(reshape_of_view, S2(4, 3)),
    M(concat_slices, S2(3, 5)), M(split, S3(2, 6, 2)), M(stack_many, S2(70, 2)),
    { "concat", build_concat_0, oracle_concat_0, 3, { S2(2, 3), S2(1, 3), S2(4, 3) }, -3, 3, 0.5, ALL, 0 },
    { "concat last", build_concat_last, oracle_concat_last, 3, { S3(2, 2, 3), S3(2, 2, 1), S3(2, 2, 2) }, -3, 3, 0.5, ALL, 0 },
    { "concat with none", build_concat_0, oracle_concat_0, 3, { S2(2, 3), S2(0, 3), S2(1, 3) }, -3, 3, 0.5, CASE_SMALL, 0 },
    { "stack", build_stack_0, oracle_stack_0, 3, { S2(2, 3), S2(2, 3), S2(2, 3) }, -3, 3, 0.5, ALL, 0 },
    { "stack of scalars", build_stack_0, oracle_stack_0, 3, { S0, S0, S0 }, -3, 3, 0.5, ALL, 0 },
    { "stack last", build_stack_last, oracle_stack_last, 3, { S2(2, 3), S2(2, 3), S2(2, 3) }, -3, 3, 0.5, ALL, 0 },
    M(gather_rows, S2(3, 4)), M(gather_columns, S2(2, 3)), M(gather_middle, S3(2, 3, 2)), M(gather_one, S2(2, 3)), M(gather_vector, S1(4)),
    M(gather_along_1, S2(4, 3)), M(gather_along_0, S2(3, 4)), M(gather_negative, S2(3, 2)),
    { 0 },
};
