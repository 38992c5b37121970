/* The table of one instruction set and REAL: part of cpu/vec/body.h, which then forgets the helper
   macros of this type. SPDX-License-Identifier: BSD-3-Clause */
#define ROW1(OP, name) [LT_OP_##OP] = { FN(name) }
#define ROW2(OP, name) [LT_OP_##OP] = { FN(vv_##name), FN(sv_##name), FN(vs_##name) }
#define ROW3(OP, name) [LT_OP_##OP] = { FN(vv_##name), FN(sv_##name), FN(vs_##name), FN(ss_##name) }

const lt_vec_set VEC_SET = {
    .op = {
        ROW1(NEG, neg), ROW1(ABS, abs), ROW1(SIGN, sign), ROW1(SQUARE, square), ROW1(SQRT, sqrt),
        ROW1(CBRT, cbrt), ROW1(EXP, exp), ROW1(EXPM1, expm1), ROW1(LOG, log), ROW1(LOG1P, log1p),
        ROW1(SIN, sin), ROW1(COS, cos), ROW1(TAN, tan), ROW1(ASIN, asin), ROW1(ACOS, acos),
        ROW1(ATAN, atan), ROW1(SINH, sinh), ROW1(COSH, cosh), ROW1(TANH, tanh),
        ROW1(SIGMOID, sigmoid), ROW1(SOFTPLUS, softplus), ROW1(RELU, relu), ROW1(GELU, gelu),
        ROW1(ERF, erf), ROW1(FLOOR, floor), ROW1(RECIP, recip),
        ROW2(ADD, add), ROW2(SUB, sub), ROW2(MUL, mul), ROW2(DIV, div), ROW2(POW, pow),
        ROW2(ATAN2, atan2), ROW2(HYPOT, hypot), ROW2(MIN, min), ROW2(MAX, max),
        ROW2(LT, lt), ROW2(LE, le), ROW2(GT, gt), ROW2(GE, ge), ROW2(EQ, eq),
        ROW3(WHERE, where), ROW3(CLAMP, clamp),
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
    .rows = { FN(rows_sum), FN(rows_max), FN(rows_min) },
    .columns = { FN(columns_sum), FN(columns_max), FN(columns_min) },
#if !REAL_IS_F64
    .turn = { FN(turn_copy), FN(turn_relu), FN(turn_gelu) },
#endif
};

#undef ROW1
#undef ROW2
#undef ROW3
#undef C
#undef VEC
#undef VEC_WIDTH
#undef VEC_SIDE
