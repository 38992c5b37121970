/* Which instruction sets are compiled in and run here. SPDX-License-Identifier: BSD-3-Clause */
#include "base/config.h"
#include "base/status.h"
#include "kernels/cpu/vec/vec.h"

static const char *const isa_names[] = {
    [LT_ISA_PLAIN] = "plain", [LT_ISA_AVX2] = "avx2", [LT_ISA_AVX512] = "avx512",
};
_Static_assert(LT_LEN(isa_names) == LT_ISA_COUNT, "one name per instruction set");

const char *lt_isa_name(lt_isa isa) { return (unsigned)isa < LT_ISA_COUNT ? isa_names[isa] : "?"; }

/* The compiler's probe also asks whether the system saves the wide registers. */
bool lt_isa_usable(lt_isa isa)
{
    switch (isa) {
    case LT_ISA_PLAIN: return true;
#if LT_VEC_X86
    case LT_ISA_AVX2:
        /* Every processor with AVX2 and FMA has F16C, which not every compiler can ask for. */
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    case LT_ISA_AVX512:
        return lt_isa_usable(LT_ISA_AVX2) && __builtin_cpu_supports("avx512f") &&
               __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
               __builtin_cpu_supports("avx512bw");
#endif
    default: return false;
    }
}

lt_isa lt_isa_best(void)
{
    int best = LT_ISA_COUNT - 1, limit;
    if (lt_config_choice(LT_CONFIG_ISA, isa_names, LT_ISA_COUNT, best, &limit) == LT_OK && limit < best)
        best = limit;
    while (best > LT_ISA_PLAIN && !lt_isa_usable((lt_isa)best)) best--;
    return (lt_isa)best;
}

const lt_vec_set *lt_vec_set_of(lt_isa isa, lt_dtype type)
{
    bool wide = type == LT_F64;
    switch (isa) {
    case LT_ISA_PLAIN: return wide ? &lt_vec_plain_f64 : &lt_vec_plain_f32;
#if LT_VEC_X86
    case LT_ISA_AVX2: return wide ? &lt_vec_avx2_f64 : &lt_vec_avx2_f32;
    case LT_ISA_AVX512: return wide ? &lt_vec_avx512_f64 : &lt_vec_avx512_f32;
#endif
    default: return NULL;
    }
}
