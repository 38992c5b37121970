/* Random numbers. Two kinds: counter streams, where element i is a function of (seed, purpose,
   coordinates, i) alone and so never depends on how work is split; and the Mersenne Twister, to
   draw the same data as the problems' published recipes. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LATHE_RNG_H
#define LATHE_RNG_H

#include "lathe/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Counter streams (Philox4x32-10) ---------------------------------------- */
/* The block function itself (Salmon et al., SC 2011). */
LT_API void lt_philox4x32(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]);

/* One stream. The key comes from seed and purpose, so that streams of different use never meet;
   the coordinates (time step, realisation, operator, …) are counter words 1 to 3. */
typedef struct lt_draws {
    uint32_t key[2];
    uint32_t coordinate[3];
} lt_draws;

/* purpose is a text of the caller's choice, not NULL: "noise", "weights". */
LT_API lt_draws lt_draws_make(uint64_t seed, const char *purpose, uint32_t c1, uint32_t c2, uint32_t c3);

#define LT_STREAM_MAX_F32 (INT64_C(1) << 34) /* elements in one stream: 2^32 blocks of four … */
#define LT_STREAM_MAX_F64 (INT64_C(1) << 33) /* … or of two */

/* Elements first..first+n-1 of a stream; LT_ERR_ARGUMENT beyond the limits above.
   f32: element i uses word i%4 of block i/4;         uniform = (word >> 8) * 2^-24.
   f64: element i uses words 2(i%2), +1 of block i/2; uniform = (word64 >> 11) * 2^-53.
   Both lie in [0, 1). Normals are Box-Muller pairs (elements 2j, 2j+1): radius
   sqrt(-2 log u) from the pair's first word, u = (w + 1) * 2^-32 or ((w64 >> 11) + 1) * 2^-53 in
   (0, 1]; angle 2 pi v from its second, v = w * 2^-32 or (w64 >> 11) * 2^-53; radius times cosine,
   then sine, computed in double and rounded once. Of a 64-bit value the first word is the high half. */
LT_API lt_status lt_draws_uniform_f32(const lt_draws *s, int64_t first, int64_t n, float *out);
LT_API lt_status lt_draws_uniform_f64(const lt_draws *s, int64_t first, int64_t n, double *out);
LT_API lt_status lt_draws_normal_f32(const lt_draws *s, int64_t first, int64_t n, float *out);
LT_API lt_status lt_draws_normal_f64(const lt_draws *s, int64_t first, int64_t n, double *out);

/* ---- One number after another ------------------------------------------------- */
/* A stream read in order, for places where a loop just needs the next number. Plain data: a copy
   repeats the same numbers. */
typedef struct lt_rng {
    lt_draws stream;
    uint64_t  position; /* 64-bit words drawn so far */
} lt_rng;

LT_API lt_rng   lt_rng_seed(uint64_t seed);
LT_API uint64_t lt_rng_u64(lt_rng *r);
LT_API double   lt_rng_uniform(lt_rng *r);                 /* [0, 1), 53 bits */
LT_API double   lt_rng_normal(lt_rng *r);                  /* by the inverse CDF: one draw each */
LT_API uint64_t lt_rng_below(lt_rng *r, uint64_t n);       /* 0..n-1, every value equally likely; 0 when n is 0 */

/* ---- Mersenne Twister (MT19937) -------------------------------------------------- */
typedef struct lt_mt {
    uint32_t state[624];
    int      at;
    bool     has_spare; /* a normal kept from the last pair */
    double   spare;
} lt_mt;

LT_API void     lt_mt_seed(lt_mt *m, uint32_t seed);
LT_API uint32_t lt_mt_u32(lt_mt *m);
/* As PyTorch's CPU generator: low 24 bits of one output each. */
LT_API void lt_mt_uniform_f32(lt_mt *m, int64_t n, float *out);
/* As PyTorch's CPU generator: pairs in double with a carried spare below 16 elements, blocks of
   16 in float from there on (agreement about 7 digits: its vector functions differ in the last bit). */
LT_API void lt_mt_normal_f32(lt_mt *m, int64_t n, float *out);
/* As NumPy's legacy generator: 53 bits from two outputs. */
LT_API void lt_mt_uniform_f64(lt_mt *m, int64_t n, double *out);
/* The inverse normal CDF of the previous. */
LT_API void lt_mt_normal_f64(lt_mt *m, int64_t n, double *out);

/* x with P(Z <= x) = p for standard normal Z, to near double precision; -inf at 0, inf at 1, NaN
   outside [0, 1]. */
LT_API double lt_normal_quantile(double p);

#ifdef __cplusplus
}
#endif
#endif
