/* The table of one instruction set and REAL: part of cpu/vec/body.h, which then forgets the helper
   macros of this type. SPDX-License-Identifier: BSD-3-Clause */
const lt_vec_set VEC_SET = {
    .op = {
#define LT_UNARY(ID, name, ...) [LT_OP_##ID] = { FN(name) },
#define LT_BINARY(ID, name, ...) [LT_OP_##ID] = { FN(vv_##name), FN(sv_##name), FN(vs_##name) },
#define LT_TERNARY(ID, name, ...) [LT_OP_##ID] = { FN(vv_##name), FN(sv_##name), FN(vs_##name), FN(ss_##name) },
#include "kernels/ops.def"
    },
    .chain = FN(chain),
    .fill = FN(fill), .copy = FN(copy), .copy_streaming = FN(copy_streaming), .fence = stream_fence,
    .load = {
        [LT_F16] = FN(load_f16), [LT_BF16] = FN(load_bf16), [LT_I32] = FN(load_i32),
        [LT_I64] = FN(load_i64), [LT_U8] = FN(load_u8),
#if REAL_IS_F64
        [LT_F32] = FN(load_f32), [LT_F64] = FN(copy),
#else
        [LT_F32] = FN(copy), [LT_F64] = FN(load_f64),
#endif
    },
    .store = {
        [LT_F16] = FN(store_f16), [LT_BF16] = FN(store_bf16), [LT_I32] = FN(store_i32),
        [LT_I64] = FN(store_i64), [LT_U8] = FN(store_u8),
#if REAL_IS_F64
        [LT_F32] = FN(store_f32), [LT_F64] = FN(copy),
#else
        [LT_F32] = FN(copy), [LT_F64] = FN(store_f64),
#endif
    },
    .rows = { FN(rows_sum), FN(rows_maximum), FN(rows_minimum) },
    .columns = { FN(columns_sum), FN(columns_maximum), FN(columns_minimum) },
#if !REAL_IS_F64
    .turn = { FN(turn_copy), FN(turn_relu), FN(turn_gelu) },
#endif
};

#undef C
#undef VEC
#undef VEC_WIDTH
#undef VEC_SIDE
