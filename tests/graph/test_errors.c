/* Bad input: every row is a mistake, the status it must give and a part of its text. Nothing may
   crash, and the graph must stay fit to be destroyed. SPDX-License-Identifier: BSD-3-Clause */
#include "lathe/graph.h"
#include "lt_test.h"

/* What a row may use. */
typedef struct place {
    lt_graph *g, *other;
    lt_node   x, y, v, cube, image, whole, foreign, small; /* [3,4] [4,5] [6] [2,3,4] [1,2,5,5] i64[3] f16[3] */
} place;

static place place_begin(void)
{
    place p;
    LT_CHECK_OK(lt_graph_create(&p.g));
    LT_CHECK_OK(lt_graph_create(&p.other));
    p.x = lt_input(p.g, "x", LT_F64, lt_shape2(3, 4));
    p.y = lt_input(p.g, "y", LT_F64, lt_shape2(4, 5));
    p.v = lt_input(p.g, "v", LT_F64, lt_shape1(6));
    p.cube = lt_input(p.g, "cube", LT_F64, lt_shape3(2, 3, 4));
    p.image = lt_input(p.g, "image", LT_F64, lt_shape4(1, 2, 5, 5));
    p.whole = lt_input(p.g, "whole", LT_I64, lt_shape1(3));
    p.small = lt_input(p.g, "small", LT_F16, lt_shape1(3));
    p.foreign = lt_input(p.other, "foreign", LT_F64, lt_shape2(3, 4));
    return p;
}

static void place_end(place *p)
{
    lt_graph_destroy(p->g);
    lt_graph_destroy(p->other);
}

typedef struct row {
    const char *what;
    lt_node   (*build)(place *p);
    lt_status   status;
    const char *text;
} row;

/* ---- builders ---- */

#define BAD(id, expression) static lt_node id(place *p) { lt_graph *g = p->g; (void)g; return (expression); }
#define HUGE_EXTENT ((int64_t)1 << 62)

static lt_conv_options conv_with(int64_t stride, int64_t padding, int64_t dilation, int64_t groups)
{
    return (lt_conv_options){ sizeof(lt_conv_options), { stride, stride }, { padding, padding }, { dilation, dilation }, groups, false };
}
static lt_node conv(place *p, lt_conv_options o, lt_shape weights)
{
    return lt_conv2d(p->g, p->image, lt_input(p->g, "w", LT_F64, weights), LT_NONE, &o);
}
static lt_node split_into(place *p, int n)
{
    lt_node part[8] = { { -1, 0 } };
    (void)lt_split(p->g, p->v, n, 0, part);
    return part[0];
}

BAD(add_shapes, lt_add(g, p->x, p->y))
BAD(add_none, lt_add(g, p->x, LT_NONE))
BAD(add_foreign, lt_add(g, p->x, p->foreign))
BAD(add_made_up, lt_add(g, p->x, ((lt_node){ 100000, p->x.graph })))
BAD(exp_integer, lt_exp(g, p->whole))
BAD(div_integers, lt_div(g, p->whole, p->whole))
BAD(where_shapes, lt_where(g, p->x, p->x, p->y))
BAD(clamp_shapes, lt_clamp(g, p->x, p->y, p->v))
BAD(cast_unknown, lt_cast(g, p->x, (lt_dtype)77))
BAD(cast_complex, lt_cast(g, p->x, LT_C128))
BAD(input_type, lt_input(g, "bad", (lt_dtype)99, lt_shape1(2)))
BAD(input_negative, lt_input(g, "bad", LT_F64, lt_shape2(3, -1)))
BAD(input_rank, lt_input(g, "bad", LT_F64, ((lt_shape){ .rank = 9 })))
BAD(input_negative_rank, lt_input(g, "bad", LT_F64, ((lt_shape){ .rank = -1 })))
BAD(input_huge, lt_input(g, "bad", LT_F64, lt_shape1(HUGE_EXTENT)))
BAD(input_overflow, lt_input(g, "bad", LT_F64, lt_shape3(HUGE_EXTENT, HUGE_EXTENT, 4)))
BAD(constant_null, lt_constant(g, LT_F64, lt_shape1(2), NULL))
BAD(constant_negative, lt_constant(g, LT_F64, lt_shape1(-2), "12345678"))
BAD(full_complex, lt_full(g, LT_C64, lt_shape1(2), 1))
BAD(full_huge, lt_full(g, LT_F64, lt_shape2(HUGE_EXTENT, 2), 1))
BAD(eye_negative, lt_eye(g, LT_F64, -3))
BAD(eye_huge, lt_eye(g, LT_F64, (int64_t)1 << 40))
BAD(eye_large, lt_eye(g, LT_F64, (int64_t)1 << 31))
BAD(arange_negative, lt_arange(g, LT_F64, 0, 1, -1))
BAD(arange_huge, lt_arange(g, LT_F64, 0, 1, HUGE_EXTENT))
BAD(sum_axis_high, lt_sum_axis(g, p->x, 2, false))
BAD(sum_axis_low, lt_sum_axis(g, p->x, -3, false))
BAD(sum_axes_null, lt_sum_axes(g, p->x, 2, NULL, false))
BAD(max_none, lt_max(g, lt_input(g, "empty", LT_F64, lt_shape1(0))))
BAD(max_axis_none, lt_max_axis(g, lt_input(g, "empty", LT_F64, lt_shape2(3, 0)), 1, false))
BAD(argmax_scalar, lt_argmax(g, lt_scalar(g, LT_F64, 1), 0))
BAD(logsumexp_axis, lt_logsumexp_axis(g, p->x, 5, true))
BAD(cumsum_axis, lt_cumsum(g, p->x, 9))
BAD(topk_zero, lt_topk(g, p->v, 0))
BAD(topk_many, lt_topk(g, p->v, 7))
BAD(norm_order, lt_norm_axis(g, p->x, 3, 0, false))
BAD(norm_nuc_vector, lt_norm_nuc(g, p->v))
BAD(matmul_inner, lt_matmul(g, p->x, p->x))
BAD(matmul_scalar, lt_matmul(g, lt_scalar(g, LT_F64, 1), p->x))
BAD(matmul_batch, lt_matmul(g, p->cube, lt_input(g, "b", LT_F64, lt_shape3(3, 4, 2))))
BAD(matmul_integer, lt_matmul(g, lt_input(g, "i", LT_I64, lt_shape2(2, 2)), lt_input(g, "j", LT_I64, lt_shape2(2, 2))))
BAD(matmul_huge, lt_matmul(g, lt_input(g, "tall", LT_F64, lt_shape2((int64_t)1 << 40, 1)), lt_input(g, "wide", LT_F64, lt_shape2(1, (int64_t)1 << 40))))
BAD(outer_huge, lt_outer(g, lt_input(g, "a", LT_F64, lt_shape1((int64_t)1 << 31)), lt_input(g, "b", LT_F64, lt_shape1((int64_t)1 << 31))))
BAD(dot_lengths, lt_dot(g, p->v, lt_input(g, "u", LT_F64, lt_shape1(5))))
BAD(dot_matrix, lt_dot(g, p->x, p->x))
BAD(permute_twice, lt_permute(g, p->x, (int[]){ 0, 0 }))
BAD(permute_range, lt_permute(g, p->x, (int[]){ 0, 2 }))
BAD(permute_null, lt_permute(g, p->x, NULL))
BAD(trace_vector, lt_trace(g, p->v))
BAD(diag_cube, lt_diag(g, p->cube))
BAD(lower_wide, lt_lower(g, p->x))
BAD(det_wide, lt_det(g, p->x))
BAD(inv_vector, lt_inv(g, p->v))
BAD(inv_small, lt_inv(g, lt_input(g, "h", LT_F16, lt_shape2(2, 2))))
BAD(solve_sizes, lt_linsolve(g, lt_input(g, "a", LT_F64, lt_shape2(3, 3)), p->v))
BAD(solve_types, lt_linsolve(g, lt_input(g, "a", LT_F32, lt_shape2(6, 6)), p->v))
BAD(cholesky_wide, lt_cholesky(g, p->x))
BAD(eigvals_wide, lt_eigvals_re(g, p->x))
BAD(eigh_vector, lt_eigh(g, p->v, NULL))
BAD(svd_cube, lt_svd(g, p->cube, NULL, NULL))
BAD(reshape_count, lt_reshape(g, p->x, lt_shape2(5, 3)))
BAD(reshape_two_unknown, lt_reshape(g, p->x, lt_shape2(-1, -1)))
BAD(reshape_unknown, lt_reshape(g, p->x, lt_shape2(5, -1)))
BAD(reshape_negative, lt_reshape(g, p->x, lt_shape2(-3, -4)))
BAD(reshape_rank, lt_reshape(g, p->x, ((lt_shape){ .rank = 20 })))
BAD(reshape_overflow, lt_reshape(g, p->x, lt_shape3(HUGE_EXTENT, HUGE_EXTENT, 3)))
BAD(squeeze_extent, lt_squeeze(g, p->x, 0))
BAD(squeeze_axis, lt_squeeze(g, p->x, 7))
BAD(unsqueeze_axis, lt_unsqueeze(g, p->x, 4))
BAD(unsqueeze_full, lt_unsqueeze(g, lt_input(g, "eight", LT_F64, ((lt_shape){ 8, { 1, 1, 1, 1, 1, 1, 1, 1 } })), 0))
BAD(broadcast_fit, lt_broadcast_to(g, p->x, lt_shape2(3, 5)))
BAD(broadcast_rank, lt_broadcast_to(g, p->x, lt_shape1(4)))
BAD(broadcast_negative, lt_broadcast_to(g, p->x, lt_shape3(-2, 3, 4)))
BAD(broadcast_huge, lt_broadcast_to(g, p->x, lt_shape4(HUGE_EXTENT, 2, 3, 4)))
BAD(broadcast_large, lt_exp(g, lt_broadcast_to(g, lt_at(g, p->v, 0), lt_shape1(HUGE_EXTENT))))
BAD(broadcast_deep, lt_broadcast_to(g, p->x, ((lt_shape){ .rank = 12 })))
BAD(at_high, lt_at(g, p->x, 3))
BAD(at_low, lt_at(g, p->x, -4))
BAD(at_scalar, lt_at(g, lt_scalar(g, LT_F64, 1), 0))
BAD(select_axis, lt_select(g, p->x, 2, 0))
BAD(select_index, lt_select(g, p->x, 1, 4))
BAD(slice_step, lt_slice(g, p->v, 0, 0, 3, 0))
BAD(slice_axis, lt_slice(g, p->v, 1, 0, 3, 1))
BAD(flip_axis, lt_flip(g, p->v, -2))
BAD(roll_axis, lt_roll(g, p->v, 1, 1))
BAD(pad_negative, lt_pad(g, p->v, 0, -1, 0))
BAD(pad_huge, lt_pad(g, p->v, 0, HUGE_EXTENT, HUGE_EXTENT))
BAD(pad_large, lt_pad(g, p->v, 0, HUGE_EXTENT, 0))
BAD(concat_nothing, lt_concat(g, NULL, 0, 0))
BAD(concat_null, lt_concat(g, NULL, 2, 0))
BAD(concat_shapes, lt_concat(g, (lt_node[]){ p->x, p->y }, 2, 0))
BAD(concat_types, lt_concat(g, (lt_node[]){ p->whole, p->small }, 2, 0))
BAD(concat_axis, lt_concat(g, (lt_node[]){ p->x, p->x }, 2, 2))
static lt_node concat_many(place *p)
{
    lt_node part[40];
    for (int i = 0; i < 40; i++) part[i] = lt_input(p->g, "large", LT_F64, lt_shape1((int64_t)1 << 58));
    return lt_concat(p->g, part, 40, 0);
}
static lt_node stack_many(place *p)
{
    lt_node part[40];
    for (int i = 0; i < 40; i++) part[i] = lt_input(p->g, "large", LT_F64, lt_shape1((int64_t)1 << 58));
    return lt_stack(p->g, part, 40, 0);
}
BAD(stack_shapes, lt_stack(g, (lt_node[]){ p->x, p->y }, 2, 0))
BAD(stack_axis, lt_stack(g, (lt_node[]){ p->x, p->x }, 2, 5))
BAD(split_uneven, split_into(p, 4))
BAD(split_zero, split_into(p, 0))
BAD(gather_type, lt_gather(g, p->x, p->x, 0))
BAD(gather_axis, lt_gather(g, p->x, p->whole, 2))
BAD(gather_rank, lt_gather(g, p->cube, lt_input(g, "two", LT_I64, lt_shape2(2, 2)), 0))
BAD(gather_extents, lt_gather(g, p->x, lt_input(g, "wide", LT_I64, lt_shape2(2, 9)), 0))
BAD(conv_rank, lt_conv2d(g, p->x, p->x, LT_NONE, NULL))
BAD(conv_channels, conv(p, conv_with(1, 0, 1, 1), lt_shape4(2, 3, 3, 3)))
BAD(conv_stride, conv(p, conv_with(0, 0, 1, 1), lt_shape4(2, 2, 3, 3)))
BAD(conv_padding, conv(p, conv_with(1, -1, 1, 1), lt_shape4(2, 2, 3, 3)))
BAD(conv_dilation, conv(p, conv_with(1, 0, 0, 1), lt_shape4(2, 2, 3, 3)))
BAD(conv_groups, conv(p, conv_with(1, 0, 1, 0), lt_shape4(2, 2, 3, 3)))
BAD(conv_groups_uneven, conv(p, conv_with(1, 0, 1, 2), lt_shape4(3, 1, 3, 3)))
BAD(conv_large_window, conv(p, conv_with(1, 0, 1, 1), lt_shape4(2, 2, 6, 3)))
BAD(conv_huge_padding, conv(p, conv_with(1, HUGE_EXTENT, 1, 1), lt_shape4(2, 2, 3, 3)))
BAD(conv_huge_dilation, conv(p, conv_with(1, 0, HUGE_EXTENT, 1), lt_shape4(2, 2, 3, 3)))
BAD(conv_huge_groups, conv(p, conv_with(1, 0, 1, HUGE_EXTENT), lt_shape4(2, 4, 3, 3)))
BAD(conv_types, lt_conv2d(g, p->image, lt_input(g, "w", LT_F32, lt_shape4(2, 2, 3, 3)), LT_NONE, NULL))
BAD(conv_bias, lt_conv2d(g, p->image, lt_input(g, "w", LT_F64, lt_shape4(2, 2, 3, 3)), p->v, NULL))
BAD(pool_rank, lt_maxpool2d(g, p->v, 2, 2, 0))
BAD(pool_kernel, lt_maxpool2d(g, p->image, 0, 1, 0))
BAD(pool_large, lt_avgpool2d(g, p->image, 6, 1, 0))
BAD(pool_padding, lt_maxpool2d(g, p->image, 2, 2, 2))
BAD(pool_huge, lt_avgpool2d(g, p->image, HUGE_EXTENT, 1, HUGE_EXTENT - 1))
BAD(pool_stride, lt_avgpool2d(g, p->image, 2, -1, 0))
BAD(adaptive_uneven, lt_adaptive_avgpool2d(g, p->image, 2, 5))
BAD(adaptive_zero, lt_adaptive_avgpool2d(g, p->image, 0, 1))
BAD(batchnorm_rank, lt_batchnorm(g, p->v, LT_NONE, LT_NONE, LT_NONE, LT_NONE, 1e-5))
BAD(batchnorm_half, lt_batchnorm(g, p->image, LT_NONE, LT_NONE, p->v, LT_NONE, 1e-5))
BAD(batchnorm_gamma, lt_batchnorm(g, p->image, p->v, LT_NONE, LT_NONE, LT_NONE, 1e-5))
BAD(groupnorm_groups, lt_groupnorm(g, p->image, 3, LT_NONE, LT_NONE, 1e-5))
BAD(linear_sizes, lt_linear(g, p->x, p->y, LT_NONE))
BAD(rnn_shape, lt_rnn_tanh(g, p->x, p->x, p->x, LT_NONE, LT_NONE))
BAD(softmax_axis, lt_softmax(g, p->x, 2))
BAD(cross_entropy_shape, lt_cross_entropy(g, p->x, p->v))
BAD(rfft2_rank, lt_rfft2(g, p->v))
BAD(rfft2_small, lt_rfft2(g, lt_input(g, "h", LT_F16, lt_shape2(2, 2))))
BAD(irfft2_width, lt_irfft2(g, lt_input(g, "s", LT_F64, lt_shape3(4, 3, 2)), 7))
BAD(name_none, lt_name(g, LT_NONE, "nobody"))

#define R(id, status, text) { #id, id, LT_ERR_##status, text }
static const row builders[] = {
    R(add_shapes, SHAPE, "extents 4 and 5 do not broadcast"), R(add_none, ARGUMENT, "operand 1 is none"), R(add_foreign, ARGUMENT, "another graph"),
    R(add_made_up, ARGUMENT, "another graph"), R(exp_integer, TYPE, "'whole' i64"), R(div_integers, TYPE, "real floating"),
    R(where_shapes, SHAPE, "do not broadcast"), R(clamp_shapes, SHAPE, "do not broadcast"), R(cast_unknown, TYPE, "unknown element type 77"),
    R(cast_complex, TYPE, "real and complex"), R(input_type, TYPE, "unknown element type 99"), R(input_negative, SHAPE, "[3, -1]"),
    R(input_rank, SHAPE, "rank 9"), R(input_negative_rank, SHAPE, "rank -1"), R(input_huge, SHAPE, "too many elements"), R(input_overflow, SHAPE, "below 2^63"),
    R(constant_null, ARGUMENT, "data is NULL"), R(constant_negative, ARGUMENT, ">= 0"), R(full_complex, TYPE, "lt_constant"),
    R(full_huge, SHAPE, "full"), R(eye_negative, SHAPE, ">= 0"), R(eye_huge, SHAPE, "elements"), R(eye_large, SHAPE, "too many elements"), R(arange_negative, ARGUMENT, "-1 elements"),
    R(arange_huge, SHAPE, "too many elements"), R(sum_axis_high, SHAPE, "axis 2 is outside -2..1"), R(sum_axis_low, SHAPE, "axis -3"),
    R(sum_axes_null, ARGUMENT, "axes"), R(max_none, SHAPE, "length 0"), R(max_axis_none, SHAPE, "length 0"), R(argmax_scalar, SHAPE, "axis 0"),
    R(logsumexp_axis, SHAPE, "axis 5"), R(cumsum_axis, SHAPE, "axis 9"), R(topk_zero, SHAPE, "k = 0, need 1..6"), R(topk_many, SHAPE, "k = 7"),
    R(norm_order, ARGUMENT, "order 3"), R(norm_nuc_vector, SHAPE, "needs a matrix"), R(matmul_inner, SHAPE, "inner sizes 4 and 3 differ"),
    R(matmul_scalar, SHAPE, "scalars multiply with *"), R(matmul_batch, SHAPE, "batch sizes 2 and 3"), R(matmul_integer, TYPE, "real floating"),
    R(matmul_huge, SHAPE, "too many elements"), R(outer_huge, SHAPE, "too many elements"), R(dot_lengths, SHAPE, "[6]"), R(dot_matrix, SHAPE, "two vectors"),
    R(permute_twice, ARGUMENT, "named twice"), R(permute_range, ARGUMENT, "axis 2"), R(permute_null, ARGUMENT, "axes"), R(trace_vector, SHAPE, "needs a matrix"),
    R(diag_cube, SHAPE, "vector or a matrix"), R(lower_wide, SHAPE, "square"), R(det_wide, SHAPE, "det of 'x' [3, 4]"), R(inv_vector, SHAPE, "square"),
    R(inv_small, TYPE, "f32 or f64"), R(solve_sizes, SHAPE, "need [n, n]"), R(solve_types, TYPE, "types differ"), R(cholesky_wide, SHAPE, "square"),
    R(eigvals_wide, SHAPE, "square"), R(eigh_vector, SHAPE, "needs a matrix"), R(svd_cube, SHAPE, "needs a matrix"),
    R(reshape_count, SHAPE, "12 elements into 15"), R(reshape_two_unknown, SHAPE, "one may be -1"), R(reshape_unknown, SHAPE, "elements"),
    R(reshape_negative, SHAPE, ">= 0"), R(reshape_rank, SHAPE, "rank 20"), R(reshape_overflow, SHAPE, "reshape"), R(squeeze_extent, SHAPE, "extent 3, not 1"),
    R(squeeze_axis, SHAPE, "axis 7"), R(unsqueeze_axis, SHAPE, "at 4"), R(unsqueeze_full, SHAPE, "no room"), R(broadcast_fit, SHAPE, "does not fit"),
    R(broadcast_rank, SHAPE, "does not fit"), R(broadcast_negative, SHAPE, "view of 'x'"), R(broadcast_huge, SHAPE, "too many elements"), R(broadcast_large, SHAPE, "too many elements"),
    R(broadcast_deep, SHAPE, "broadcast"), R(at_high, SHAPE, "index 3"), R(at_low, SHAPE, "index -4"), R(at_scalar, SHAPE, "axis 0"), R(select_axis, SHAPE, "axis 2"),
    R(select_index, SHAPE, "index 4 of 'x' [3, 4] is outside axis 1 of extent 4"), R(slice_step, ARGUMENT, "step is 0"), R(slice_axis, SHAPE, "axis 1"),
    R(flip_axis, SHAPE, "axis -2"), R(roll_axis, SHAPE, "axis 1"), R(pad_negative, ARGUMENT, ">= 0"), R(pad_huge, SHAPE, "too many elements"), R(pad_large, SHAPE, "too many elements"),
    R(concat_nothing, ARGUMENT, "0 parts"), R(concat_null, ARGUMENT, "parts"), R(concat_shapes, SHAPE, "other extents differ"), R(concat_types, TYPE, "types differ"),
    R(concat_axis, SHAPE, "axis 2"), R(concat_many, SHAPE, "too many elements"), R(stack_many, SHAPE, "too many elements"), R(stack_shapes, SHAPE, "shapes differ"), R(stack_axis, SHAPE, "at 5"), R(split_uneven, SHAPE, "extent 6 into 4"), R(split_zero, SHAPE, "into 0"),
    R(gather_type, TYPE, "index"), R(gather_axis, SHAPE, "axis 2"), R(gather_rank, SHAPE, "rank 0, 1"), R(gather_extents, SHAPE, "leading axes"),
    R(conv_rank, SHAPE, "need [n, c, h, w]"), R(conv_channels, SHAPE, "2 input channels"), R(conv_stride, ARGUMENT, "stride 0"), R(conv_padding, ARGUMENT, "padding -1"),
    R(conv_dilation, ARGUMENT, "dilation 0"), R(conv_groups, ARGUMENT, "groups 0"), R(conv_groups_uneven, SHAPE, "groups"), R(conv_large_window, SHAPE, "window of 6"),
    R(conv_huge_padding, ARGUMENT, "2^30"), R(conv_huge_dilation, ARGUMENT, "2^30"), R(conv_huge_groups, SHAPE, "conv2d"), R(conv_types, TYPE, "types differ"),
    R(conv_bias, SHAPE, "do not broadcast"), R(pool_rank, SHAPE, "[.., h, w]"), R(pool_kernel, ARGUMENT, "kernel 0"), R(pool_large, SHAPE, "window of 6"),
    R(pool_padding, ARGUMENT, "padding 2"), R(pool_huge, ARGUMENT, "2^30"), R(pool_stride, ARGUMENT, "stride -1"), R(adaptive_uneven, SHAPE, "must divide"),
    R(adaptive_zero, SHAPE, "must divide"), R(batchnorm_rank, SHAPE, "[n, c, ..]"), R(batchnorm_half, ARGUMENT, "both"), R(batchnorm_gamma, SHAPE, "do not broadcast"),
    R(groupnorm_groups, SHAPE, "3 groups"), R(linear_sizes, SHAPE, "inner sizes"), R(rnn_shape, SHAPE, "[batch, time, in]"), R(softmax_axis, SHAPE, "axis 2"),
    R(cross_entropy_shape, SHAPE, "[n, classes]"), R(rfft2_rank, SHAPE, "[.., h, w]"), R(rfft2_small, TYPE, "f32 or f64"), R(irfft2_width, SHAPE, "width 7"),
    R(name_none, ARGUMENT, "none"),
};

LT_TEST(builders_refuse_mistakes)
{
    for (size_t i = 0; i < sizeof builders / sizeof *builders; i++) {
        const row *r = &builders[i];
        place p = place_begin();
        lt_node n = r->build(&p);
        lt_status s = lt_graph_status(p.g);
        if (s != r->status || !strstr(lt_error_text(), r->text))
            LT_TEST_FAIL("%s: status %s, text '%s'; expected %s and '%s'", r->what, lt_status_name(s), s ? lt_error_text() : "", lt_status_name(r->status), r->text);
        if (!lt_is_none(n)) LT_TEST_FAIL("%s: a node came back", r->what);
        lt_program *program = NULL; /* what was built before is of no use either, and says so */
        if (lt_program_create(p.g, &p.x, 1, NULL, &program) != r->status) LT_TEST_FAIL("%s: the mistake was forgotten", r->what);
        LT_CHECK(program == NULL);
        place_end(&p);
    }
}

/* Extreme arguments that NumPy takes: they are cut to the tensor. */
LT_TEST(extreme_slices_are_legal)
{
    static const struct { int64_t start, stop, step, count; } slices[] = {
        { INT64_MIN, LT_END, 1, 6 }, { INT64_MIN, INT64_MAX - 1, 1, 6 }, { 0, LT_END, INT64_MAX, 1 }, { -1, LT_END, INT64_MIN, 1 },
        { INT64_MAX, INT64_MIN, -1, 6 }, { INT64_MAX, LT_END, 1, 0 }, { 3, 2, 1, 0 }, { 2, 3, -1, 0 }, { -1, LT_END, -INT64_MAX, 1 }, { 1, LT_END, 4, 2 },
    };
    for (size_t i = 0; i < sizeof slices / sizeof *slices; i++) {
        place p = place_begin();
        lt_node s = lt_slice(p.g, p.v, 0, slices[i].start, slices[i].stop, slices[i].step);
        LT_CHECK_OK(lt_graph_status(p.g));
        if (lt_node_shape(p.g, s).dim[0] != slices[i].count)
            LT_TEST_FAIL("slice %zu has %lld elements, expected %lld", i, (long long)lt_node_shape(p.g, s).dim[0], (long long)slices[i].count);
        (void)lt_roll(p.g, p.v, INT64_MIN, 0);
        (void)lt_roll(p.g, p.v, INT64_MAX, 0);
        LT_CHECK_OK(lt_graph_status(p.g));
        place_end(&p);
    }
}

/* ---- handles ---- */

LT_TEST(the_first_mistake_is_kept)
{
    place p = place_begin();
    int before = lt_graph_node_count(p.g);
    LT_CHECK(lt_is_none(lt_add(p.g, p.x, p.y)));
    LT_CHECK(lt_is_none(lt_matmul(p.g, p.x, p.x)));
    LT_CHECK(lt_is_none(lt_exp(p.g, p.x)));
    LT_CHECK(lt_is_none(lt_input(p.g, "late", LT_F64, lt_shape1(1))));
    LT_CHECK_EQ_INT(lt_graph_node_count(p.g), before);
    (void)lt_graph_status(NULL); /* another failure in between */
    LT_CHECK_FAILS(lt_graph_status(p.g), LT_ERR_SHAPE, "extents 4 and 5 do not broadcast");
    LT_CHECK_FAILS(lt_graph_status(p.g), LT_ERR_SHAPE, "'x' [3, 4]");
    place_end(&p);
}

LT_TEST(null_graphs_are_refused)
{
    lt_node none = LT_NONE, parts[2] = { LT_NONE, LT_NONE };
    lt_program *p = NULL;
    LT_CHECK(lt_is_none(lt_input(NULL, "x", LT_F64, lt_shape1(2))));
    LT_CHECK(lt_is_none(lt_scalar(NULL, LT_F64, 1)));
    LT_CHECK(lt_is_none(lt_eye(NULL, LT_F64, 2)));
    LT_CHECK(lt_is_none(lt_arange(NULL, LT_F64, 0, 1, 2)));
    LT_CHECK(lt_is_none(lt_add(NULL, none, none)));
    LT_CHECK(lt_is_none(lt_exp(NULL, none)));
    LT_CHECK(lt_is_none(lt_log(NULL, none)));
    LT_CHECK(lt_is_none(lt_pow_scalar(NULL, none, 3)));
    LT_CHECK(lt_is_none(lt_sum(NULL, none)));
    LT_CHECK(lt_is_none(lt_sum_axis(NULL, none, 0, false)));
    LT_CHECK(lt_is_none(lt_prod(NULL, none)));
    LT_CHECK(lt_is_none(lt_logsumexp(NULL, none)));
    LT_CHECK(lt_is_none(lt_norm(NULL, none)));
    LT_CHECK(lt_is_none(lt_norm_axis(NULL, none, 3, 0, false)));
    LT_CHECK(lt_is_none(lt_norm_nuc(NULL, none)));
    LT_CHECK(lt_is_none(lt_matmul(NULL, none, none)));
    LT_CHECK(lt_is_none(lt_outer(NULL, none, none)));
    LT_CHECK(lt_is_none(lt_linsolve(NULL, none, none)));
    LT_CHECK(lt_is_none(lt_eigvals_re(NULL, none)));
    LT_CHECK(lt_is_none(lt_svd(NULL, none, NULL, NULL)));
    LT_CHECK(lt_is_none(lt_reshape(NULL, none, lt_shape0())));
    LT_CHECK(lt_is_none(lt_concat(NULL, parts, 2, 0)));
    LT_CHECK(lt_is_none(lt_concat(NULL, NULL, 0, 0)));
    LT_CHECK(lt_is_none(lt_stack(NULL, parts, 2, 0)));
    LT_CHECK(lt_is_none(lt_gather(NULL, none, none, 0)));
    LT_CHECK(lt_is_none(lt_topk(NULL, none, 1)));
    LT_CHECK(lt_is_none(lt_topk_index(NULL, none, 1)));
    LT_CHECK(lt_is_none(lt_conv2d(NULL, none, none, none, NULL)));
    LT_CHECK(lt_is_none(lt_batchnorm(NULL, none, none, none, none, none, 0)));
    LT_CHECK(lt_is_none(lt_linear(NULL, none, none, none)));
    LT_CHECK(lt_is_none(lt_rnn_tanh(NULL, none, none, none, none, none)));
    LT_CHECK(lt_is_none(lt_softmax(NULL, none, 0)));
    LT_CHECK(lt_is_none(lt_log_softmax(NULL, none, 0)));
    LT_CHECK(lt_is_none(lt_cross_entropy(NULL, none, none)));
    LT_CHECK(lt_is_none(lt_irfft2(NULL, none, 4)));
    LT_CHECK(lt_is_none(lt_name(NULL, none, "x")));
    LT_CHECK_EQ_INT(lt_graph_node_count(NULL), 0);
    LT_CHECK_EQ_INT(lt_node_shape(NULL, none).rank, 0);
    LT_CHECK_FAILS(lt_split(NULL, none, 2, 0, parts), LT_ERR_ARGUMENT, "NULL");
    LT_CHECK_FAILS(lt_grad(NULL, none, &none, 1, parts), LT_ERR_ARGUMENT, "NULL");
    LT_CHECK_FAILS(lt_vjp(NULL, none, none, &none, 1, parts), LT_ERR_ARGUMENT, "NULL");
    LT_CHECK_FAILS(lt_graph_create(NULL), LT_ERR_ARGUMENT, "out is NULL");
    LT_CHECK_FAILS(lt_graph_status(NULL), LT_ERR_ARGUMENT, "NULL");
    LT_CHECK_FAILS(lt_graph_dump(NULL, stdout), LT_ERR_ARGUMENT, "graph is NULL");
    LT_CHECK_FAILS(lt_program_create(NULL, parts, 1, NULL, &p), LT_ERR_ARGUMENT, "NULL");
    LT_CHECK_FAILS(lt_program_run(NULL, NULL, NULL), LT_ERR_ARGUMENT, "program is NULL");
    LT_CHECK_FAILS(lt_program_dump(NULL, stdout), LT_ERR_ARGUMENT, "program is NULL");
    LT_CHECK_EQ_INT(lt_program_get_info(NULL).n_kernels, 0);
    lt_graph_destroy(NULL);
    lt_program_destroy(NULL);
}

LT_TEST(split_without_room_is_refused)
{
    place p = place_begin();
    LT_CHECK_FAILS(lt_split(p.g, p.v, 2, 0, NULL), LT_ERR_ARGUMENT, "NULL");
    place_end(&p);
}

/* ---- derivatives ---- */

LT_TEST(derivatives_refuse_mistakes)
{
    lt_node d[2];
    place p = place_begin();
    LT_CHECK_FAILS(lt_grad(p.g, p.x, &p.x, 1, d), LT_ERR_SHAPE, "needs one real number");
    place_end(&p);
    p = place_begin();
    LT_CHECK_FAILS(lt_grad(p.g, lt_sum(p.g, p.x), &p.foreign, 1, d), LT_ERR_ARGUMENT, "another graph");
    LT_CHECK(lt_is_none(d[0]));
    place_end(&p);
    p = place_begin();
    LT_CHECK_FAILS(lt_grad(p.g, lt_sum(p.g, p.x), &p.whole, 1, d), LT_ERR_TYPE, "'whole' of type i64");
    place_end(&p);
    p = place_begin();
    LT_CHECK_FAILS(lt_grad(p.g, lt_sum(p.g, p.x), NULL, 0, d), LT_ERR_ARGUMENT, "at least one");
    place_end(&p);
    p = place_begin();
    LT_CHECK_FAILS(lt_grad(p.g, lt_sum(p.g, p.x), &p.x, 1, NULL), LT_ERR_ARGUMENT, "room for the result");
    place_end(&p);
    p = place_begin();
    LT_CHECK_FAILS(lt_grad(p.g, LT_NONE, &p.x, 1, d), LT_ERR_ARGUMENT, "none");
    place_end(&p);
    p = place_begin();
    LT_CHECK_FAILS(lt_vjp(p.g, p.x, p.y, &p.x, 1, d), LT_ERR_SHAPE, "they must agree");
    place_end(&p);
}

/* ---- programs ---- */

LT_TEST(programs_refuse_bad_requests)
{
    lt_program *p = NULL;
    place q = place_begin();
    LT_CHECK_FAILS(lt_program_create(q.g, NULL, 0, NULL, &p), LT_ERR_ARGUMENT, "at least one output");
    LT_CHECK_FAILS(lt_program_create(q.g, &q.x, 0, NULL, &p), LT_ERR_ARGUMENT, "got 0");
    LT_CHECK_FAILS(lt_program_create(q.g, &q.x, -4, NULL, &p), LT_ERR_ARGUMENT, "got -4");
    LT_CHECK_FAILS(lt_program_create(q.g, &q.x, 1, NULL, NULL), LT_ERR_ARGUMENT, "out is NULL");
    LT_CHECK_FAILS(lt_program_create(q.g, &q.x, 1, &(lt_compile_options){ .size = sizeof(lt_compile_options), .mode = (lt_mode)42 }, &p), LT_ERR_ARGUMENT, "unknown mode 42");
    LT_CHECK_FAILS(lt_program_create(q.g, &q.x, 1, &(lt_compile_options){ .size = sizeof(lt_compile_options), .low_precision = true, .storage_type = LT_F64 }, &p), LT_ERR_ARGUMENT, "need f16 or bf16");
    LT_CHECK(p == NULL);
    LT_CHECK_OK(lt_graph_status(q.g)); /* a bad request leaves the graph as it was */
    LT_CHECK_FAILS(lt_program_create(q.g, &q.foreign, 1, NULL, &p), LT_ERR_ARGUMENT, "another graph");
    place_end(&q);
    q = place_begin();
    LT_CHECK_FAILS(lt_program_create(q.g, &(lt_node){ -1, 0 }, 1, NULL, &p), LT_ERR_ARGUMENT, "none");
    place_end(&q);
    LT_CHECK(strcmp(lt_mode_name((lt_mode)42), "?") == 0 && strcmp(lt_pass_name((lt_pass)42), "?") == 0);
}

/* Sizes that are legal to write down but not to have: an error, not an attempt to touch them. */
LT_TEST(programs_too_large_for_memory_are_refused)
{
    lt_program *p = NULL;
    place q = place_begin();
    int64_t n = (int64_t)1 << 57;
    lt_node big = lt_broadcast_to(q.g, lt_at(q.g, q.v, 0), lt_shape1(n));
    lt_node sorted = lt_sum(q.g, lt_cumsum(q.g, lt_exp(q.g, big), 0)); /* needs all of it at once */
    LT_CHECK_OK(lt_graph_status(q.g));
    LT_CHECK_FAILS(lt_program_create(q.g, &sorted, 1, NULL, &p), LT_ERR_MEMORY, "");
    LT_CHECK(p == NULL);
    lt_node all = lt_scalar(q.g, LT_F64, 0); /* sizes whose sum overflows */
    for (int i = 0; i < 40; i++) all = lt_add(q.g, all, lt_sum(q.g, lt_cumsum(q.g, lt_shift(q.g, big, i), 0)));
    LT_CHECK_OK(lt_graph_status(q.g));
    LT_CHECK_FAILS(lt_program_create(q.g, &all, 1, &(lt_compile_options){ .size = sizeof(lt_compile_options), .skip_passes = 1u << LT_PASS_REUSE }, &p), LT_ERR_MEMORY, "");
    place_end(&q);
}

LT_TEST(runs_refuse_missing_pointers)
{
    static const lt_mode modes[] = { LT_MODE_EAGER, LT_MODE_DEFAULT, LT_MODE_REDUCE_OVERHEAD };
    for (int m = 0; m < 3; m++) {
        lt_program *p;
        place q = place_begin();
        double x[12] = { 0 }, y[20] = { 0 }, out[15];
        lt_node f = lt_matmul(q.g, q.x, q.y);
        LT_CHECK_OK(lt_program_create(q.g, &f, 1, &(lt_compile_options){ .size = sizeof(lt_compile_options), .mode = modes[m] }, &p));
        LT_CHECK_FAILS(lt_program_run(p, NULL, (void *[]){ out }), LT_ERR_ARGUMENT, "input 0 'x' is NULL");
        LT_CHECK_FAILS(lt_program_run(p, (const void *[]){ x, NULL }, (void *[]){ out }), LT_ERR_ARGUMENT, "input 1 'y' is NULL");
        LT_CHECK_FAILS(lt_program_run(p, (const void *[]){ x, y }, NULL), LT_ERR_ARGUMENT, "outputs is NULL");
        LT_CHECK_FAILS(lt_program_run(p, (const void *[]){ x, y }, (void *[]){ NULL }), LT_ERR_ARGUMENT, "output 0 is NULL");
        LT_CHECK_OK(lt_program_run(p, (const void *[]){ x, y, NULL, NULL }, (void *[]){ out })); /* unused inputs may be NULL */
        place_end(&q);
        LT_CHECK_OK(lt_program_run(p, (const void *[]){ x, y }, (void *[]){ out })); /* and the graph may be gone */
        lt_program_destroy(p);
    }
}

/* After a refused run with new pointers, the next good one must not use the old ones. */
LT_TEST(a_refused_run_does_not_confuse_the_next)
{
    lt_program *p;
    place q = place_begin();
    double a[12], b[12], out[12];
    for (int i = 0; i < 12; i++) { a[i] = i; b[i] = 100 + i; }
    lt_node f = lt_neg(q.g, q.x);
    LT_CHECK_OK(lt_program_create(q.g, &f, 1, &(lt_compile_options){ .size = sizeof(lt_compile_options), .mode = LT_MODE_REDUCE_OVERHEAD }, &p));
    LT_CHECK_OK(lt_program_run(p, (const void *[]){ a }, (void *[]){ out }));
    LT_CHECK_FAILS(lt_program_run(p, (const void *[]){ b }, (void *[]){ NULL }), LT_ERR_ARGUMENT, "output 0");
    LT_CHECK_OK(lt_program_run(p, (const void *[]){ b }, (void *[]){ out }));
    LT_CHECK(out[0] == -100 && out[11] == -111);
    lt_program_destroy(p);
    place_end(&q);
}

/* ---- failures while running ---- */

/* A matrix without a factor has NaN for one, also where it is a constant that passes could fold. */
LT_TEST(failed_factorisations_give_nan)
{
    static const lt_mode modes[] = { LT_MODE_EAGER, LT_MODE_DEFAULT, LT_MODE_REDUCE_OVERHEAD };
    for (int m = 0; m < 3; m++) {
        lt_compile_options opt = { .size = sizeof opt, .mode = modes[m] };
        lt_graph *g;
        lt_program *p;
        double indefinite[4] = { 1, 2, 2, 1 }, singular[4] = { 1, 2, 2, 4 }, c[4], i[4], s[4], k[4];
        LT_CHECK_OK(lt_graph_create(&g));
        lt_node x = lt_input(g, "x", LT_F64, lt_shape2(2, 2)), y = lt_input(g, "y", LT_F64, lt_shape2(2, 2));
        lt_node out[] = { lt_cholesky(g, x), lt_inv(g, y), lt_linsolve(g, y, x), lt_cholesky(g, lt_constant(g, LT_F64, lt_shape2(2, 2), indefinite)) };
        LT_CHECK_OK(lt_program_create(g, out, 4, &opt, &p));
        LT_CHECK_OK(lt_program_run(p, (const void *[]){ indefinite, singular }, (void *[]){ c, i, s, k }));
        LT_CHECK(isnan(c[0]) && isnan(c[3]) && isnan(k[0]) && isnan(k[3]));
        LT_CHECK(!isfinite(i[0]) && !isfinite(s[0]));
        lt_program_destroy(p);
        lt_graph_destroy(g);
    }
}

LT_TEST(indices_are_checked_while_running)
{
    static const struct { int64_t index[3]; const char *text; } rows[] = {
        { { 0, 3, 1 }, "index 3" }, { { -4, 0, 0 }, "index -4" }, { { 0, 0, INT64_MAX }, "9223372036854775807" }, { { INT64_MIN, 0, 0 }, "-9223372036854775808" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        lt_program *p;
        place q = place_begin();
        double x[12] = { 0 }, out[12];
        lt_node f = lt_gather(q.g, q.x, q.whole, 0), d;
        LT_CHECK_OK(lt_grad(q.g, lt_sum(q.g, lt_square(q.g, f)), &q.x, 1, &d));
        LT_CHECK_OK(lt_program_create(q.g, (lt_node[]){ f, d }, 2, NULL, &p));
        double grad[12];
        const void *in[] = { x, NULL, NULL, NULL, NULL, rows[i].index };
        LT_CHECK_FAILS(lt_program_run(p, in, (void *[]){ out, grad }), LT_ERR_ARGUMENT, rows[i].text);
        in[5] = (const int64_t[]){ -1, -3, 2 };
        LT_CHECK_OK(lt_program_run(p, in, (void *[]){ out, grad }));
        lt_program_destroy(p);
        place_end(&q);
    }
}

LT_TEST_MAIN()
