/* The steps of a chain on one tile: part of cpu/vec/chain.h, which says how large a tile is and how
   it is read and written. SPDX-License-Identifier: BSD-3-Clause */
#define ARRAY(slot) ((const REAL *)(const void *)addr[slot] + at)
#define TARGET(slot) ((REAL *)(void *)addr[slot] + at)
#define ELEMENT(slot) FN(vec_splat)(*(const REAL *)(const void *)addr[slot])

#define DO_LOAD(k, p) a##k = TILE_LOAD(p, k);
#define DO_FETCH(k, p) __builtin_prefetch((p) + TILE_AHEAD + (k) * VEC_WIDTH);
#define DO_STORE(k, p) TILE_STORE(p, k, a##k);
#define DO_STREAM(k, p) TILE_STREAM(p, k, a##k);
#define DO_FETCH_HALF(k, p) if ((k) * VEC_BYTES % 128 == 0) __builtin_prefetch((const char *)(p) + HALF_AHEAD + (k) * VEC_BYTES / 2);
#define DO_LOAD_HALF(k, fn, p) a##k = fn(TILE_LOAD_HALF(p, k));
#define DO_STORE_HALF(k, fn, p) TILE_STORE_HALF(p, k, fn(a##k));
#define DO_FORGET(k, p) (void)a##k;
#define DO_UNARY(k, fn) a##k = fn(a##k);
#define DO_GIVE(k, x) x[k] = a##k;
#define DO_TAKE(k, x) a##k = x[k];
#define DO_AV(k, fn, p) a##k = fn(a##k, TILE_LOAD(p, k));
#define DO_VA(k, fn, p) a##k = fn(TILE_LOAD(p, k), a##k);
#define DO_AS(k, fn, s) a##k = fn(a##k, s);
#define DO_SA(k, fn, s) a##k = fn(s, a##k);
#define DO_AVV(k, fn, p, q) a##k = fn(a##k, TILE_LOAD(p, k), TILE_LOAD(q, k));
#define DO_AVS(k, fn, p, s) a##k = fn(a##k, TILE_LOAD(p, k), s);
#define DO_ASV(k, fn, s, q) a##k = fn(a##k, s, TILE_LOAD(q, k));
#define DO_ASS(k, fn, s, r) a##k = fn(a##k, s, r);
#define DO_VAV(k, fn, p, q) a##k = fn(TILE_LOAD(p, k), a##k, TILE_LOAD(q, k));
#define DO_VAS(k, fn, p, s) a##k = fn(TILE_LOAD(p, k), a##k, s);
#define DO_VVA(k, fn, p, q) a##k = fn(TILE_LOAD(p, k), TILE_LOAD(q, k), a##k);
#define DO_VSA(k, fn, p, s) a##k = fn(TILE_LOAD(p, k), s, a##k);

/* extra: elements left of a part of a vector, or from a whole tile to what is asked for ahead of time. */
#define PARAMETERS const lt_chain_step *s, char *const *addr, int64_t at, int64_t extra, TILE_PARAMETERS
typedef void (*TILE_FN(step))(PARAMETERS);
static const TILE_FN(step) TILE_FN(steps)[LT_CHAIN_CODE_COUNT];

/* A step goes on to the next by a jump, the tile in the registers of arguments: each then has a jump of its own,
   which processors predict better than one that all share. */
#define STEP(id, ...)                                                                        \
    static void TILE_FN(id)(PARAMETERS)                                                      \
    {                                                                                        \
        __VA_ARGS__                                                                          \
        s++;                                                                                 \
        TILE_FN(steps)[s->code](s, addr, at, extra, TILE_ARGUMENTS);                         \
    }
STEP(LOAD_AHEAD, const REAL *p = ARRAY(s->a); TILE_EACH(DO_FETCH, p) TILE_EACH(DO_LOAD, p))
STEP(LOAD, const REAL *p = ARRAY(s->a); TILE_EACH(DO_LOAD, p))
STEP(STORE, REAL *p = TARGET(s->a); TILE_EACH(DO_STORE, p))
STEP(STREAM, REAL *p = TARGET(s->a); if ((uintptr_t)p % VEC_BYTES) { TILE_EACH(DO_STORE, p) } else { TILE_EACH(DO_STREAM, p) })
#if !REAL_IS_F64
STEP(LOAD_BF16, const uint16_t *p = (const uint16_t *)(const void *)addr[s->a] + at; TILE_EACH(DO_FETCH_HALF, p) TILE_EACH(DO_LOAD_HALF, vec_from_bf16, p))
STEP(LOAD_F16, const uint16_t *p = (const uint16_t *)(const void *)addr[s->a] + at; TILE_EACH(DO_FETCH_HALF, p) TILE_EACH(DO_LOAD_HALF, vec_from_f16, p))
STEP(STORE_BF16, uint16_t *p = (uint16_t *)(void *)addr[s->a] + at; TILE_EACH(DO_STORE_HALF, vec_to_bf16, p))
STEP(STORE_F16, uint16_t *p = (uint16_t *)(void *)addr[s->a] + at; TILE_EACH(DO_STORE_HALF, vec_to_f16, p))
#endif
#define ROW1_CHAIN(ID, name) STEP(ID, TILE_EACH(DO_UNARY, FN(vec_##name)))
#if !REAL_IS_F64
#define SIDE_STEP(ID, name)                                                                  \
    STEP(ID, VEC x[TILE_VECTORS]; TILE_EACH(DO_GIVE, x)                                      \
         for (int k = 0; k < TILE_VECTORS; k += VEC_SIDE) FN(side_##name)(TILE_VECTORS < VEC_SIDE ? TILE_VECTORS : VEC_SIDE, x + k); \
         TILE_EACH(DO_TAKE, x))
#define ROW1_OWN_CHAIN(ID, name) SIDE_STEP(ID, name)
#define ROW1_OWN_SIDE(ID, name) SIDE_STEP(ID, name)
#endif
#define ROW2_CHAIN(ID, name)                                                                     \
    STEP(ID##_AV, const REAL *p = ARRAY(s->a); TILE_EACH(DO_AV, FN(vec_##name), p))          \
    STEP(ID##_VA, const REAL *p = ARRAY(s->a); TILE_EACH(DO_VA, FN(vec_##name), p))          \
    STEP(ID##_AS, const VEC x = ELEMENT(s->a); TILE_EACH(DO_AS, FN(vec_##name), x))          \
    STEP(ID##_SA, const VEC x = ELEMENT(s->a); TILE_EACH(DO_SA, FN(vec_##name), x))
#include "kernels/cpu/vec/rows.def"
#define WHERE(form, T1, get1, T2, get2) STEP(WHERE_##form, T1 x = get1(s->a); T2 y = get2(s->b); TILE_EACH(DO_##form, FN(vec_where), x, y))
#define WHERE_ARRAY const REAL *
WHERE(AVV, WHERE_ARRAY, ARRAY, WHERE_ARRAY, ARRAY)
WHERE(AVS, WHERE_ARRAY, ARRAY, VEC, ELEMENT)
WHERE(ASV, VEC, ELEMENT, WHERE_ARRAY, ARRAY)
WHERE(ASS, VEC, ELEMENT, VEC, ELEMENT)
WHERE(VAV, WHERE_ARRAY, ARRAY, WHERE_ARRAY, ARRAY)
WHERE(VAS, WHERE_ARRAY, ARRAY, VEC, ELEMENT)
WHERE(VVA, WHERE_ARRAY, ARRAY, WHERE_ARRAY, ARRAY)
WHERE(VSA, WHERE_ARRAY, ARRAY, VEC, ELEMENT)
#undef WHERE
#undef WHERE_ARRAY
STEP(CLAMP_AVV, const REAL *p = ARRAY(s->a), *q = ARRAY(s->b); TILE_EACH(DO_AVV, FN(vec_clamp), p, q))
STEP(CLAMP_ASS, const VEC x = ELEMENT(s->a), y = ELEMENT(s->b); TILE_EACH(DO_ASS, FN(vec_clamp), x, y))
static void TILE_FN(END)(PARAMETERS) { (void)s, (void)addr, (void)at, (void)extra; TILE_EACH(DO_FORGET, 0) }

static const TILE_FN(step) TILE_FN(steps)[LT_CHAIN_CODE_COUNT] = {
#define ROW(id) [LT_CHAIN_##id] = TILE_FN(id),
    ROW(LOAD) ROW(LOAD_AHEAD) ROW(STORE) ROW(STREAM)
#define ROW1_CHAIN(ID, name) ROW(ID)
#define ROW2_CHAIN(ID, name) ROW(ID##_AV) ROW(ID##_AS) ROW(ID##_VA) ROW(ID##_SA)
#if !REAL_IS_F64
    ROW(LOAD_BF16) ROW(LOAD_F16) ROW(STORE_BF16) ROW(STORE_F16)
#define ROW1_OWN_CHAIN(ID, name) ROW(ID)
#define ROW1_OWN_SIDE(ID, name) ROW(ID)
#endif
#include "kernels/cpu/vec/rows.def"
    ROW(WHERE_AVV) ROW(WHERE_AVS) ROW(WHERE_ASV) ROW(WHERE_ASS) ROW(WHERE_VAV) ROW(WHERE_VAS) ROW(WHERE_VVA) ROW(WHERE_VSA)
    ROW(CLAMP_AVV) ROW(CLAMP_ASS) ROW(END)
#undef ROW
};

static inline void TILE_FN(run)(const lt_chain_step *s, char *const *addr, int64_t at, int64_t extra)
{
    const VEC a0 = { 0 };
    TILE_FN(steps)[s->code](s, addr, at, extra, TILE_START);
}

#undef PARAMETERS
#undef STEP
#undef SIDE_STEP
#undef TILE_PARAMETERS
#undef TILE_ARGUMENTS
#undef TILE_START
#undef TILE_FN
#undef DO_FORGET
#undef DO_FETCH_HALF
#undef DO_LOAD_HALF
#undef DO_STORE_HALF
#undef ARRAY
#undef TARGET
#undef ELEMENT
#undef DO_LOAD
#undef DO_FETCH
#undef DO_STORE
#undef DO_STREAM
#undef DO_UNARY
#undef DO_GIVE
#undef DO_TAKE
#undef DO_AV
#undef DO_VA
#undef DO_AS
#undef DO_SA
#undef DO_AVV
#undef DO_AVS
#undef DO_ASV
#undef DO_ASS
#undef DO_VAV
#undef DO_VAS
#undef DO_VVA
#undef DO_VSA
#undef TILE_EACH
#undef TILE_VECTORS
#undef TILE_LOAD
#undef TILE_STORE
#undef TILE_LOAD_HALF
#undef TILE_STORE_HALF
#undef TILE_STREAM
#undef TILE_AHEAD
