/* States of two stages with a ring of parities between them, written in one pass.
   SPDX-License-Identifier: BSD-3-Clause

   Before the second stage the amplitude of o is a product over wires of u_k[o_k ^ o_(k-1)], but for
   u_0[o_0 ^ o_(Q-1)] and u_1[o_1 ^ o_0 ^ o_(Q-1)]: neighbours only. So the wires before and behind the middle
   know of each other two bits, the bond o_(LEFT-1) and the end o_(Q-1), and after one-wire gates the state is a
   sum of four products of a vector over the first wires and one over the last. Both are built wire by wire, in
   shared memory; each amplitude then costs four complex multiplications and one store.
   Stands behind states.cuh. Q is 4 at least. */

#define LEFT (Q / 2)
#define RIGHT (Q - LEFT)
#define TERMS 4                                   /* (bond, end) */
#define LARGE_LEFT (TERMS << LEFT)                /* entries of the tables as they end ... */
#define LARGE (LARGE_LEFT + (TERMS << RIGHT))
#define SMALL_LEFT (TERMS << (RIGHT - 1))         /* ... and one wire of the right side before that */
#define SMALL (SMALL_LEFT + (TERMS << (RIGHT - 1)))
#define PER_STORE (16 / (int)sizeof(amplitude_t)) /* amplitudes of 16 bytes */
#define COLUMNS ((1 << RIGHT) / PER_STORE)
#define ACROSS (COLUMNS < THREADS ? COLUMNS : THREADS)

/* Entry (after, before) of a gate. */
static __device__ __forceinline__ double2 entry(const lt_su2 &g, int after, int before)
{
    if (before) return after ? make_double2(g.ar, -g.ai) : make_double2(-g.br, g.bi);
    return after ? make_double2(g.br, g.bi) : make_double2(g.ar, g.ai);
}

static __device__ __forceinline__ double2 plus(double2 a, double2 b) { return make_double2(a.x + b.x, a.y + b.y); }

/* One more wire: entry e of the table that holds it, from the table without it. Left tables are (bits so far, bond,
   end), right ones (bits so far, bond to the left, last bit). */
static __device__ __forceinline__ double2 extend(const double2 *before, int e, bool left, int wire, const lt_su2 *gates)
{
    int term = e % TERMS, o = left ? term >> 1 : term & 1, other = left ? term & 1 : term >> 1, after = e / TERMS & 1;
    const lt_su2 u = gates[wire];
    double2 v;
    if (wire == 0 || wire == LEFT) {
        v = entry(u, o ^ other, 0); /* the end, or the bond */
    } else {
        const double2 *from = before + e / TERMS / 2 * TERMS;
        int flip = wire == 1 ? o ^ other : o;
        double2 with0 = from[left ? other : other << 1], with1 = from[left ? 2 | other : other << 1 | 1];
        v = plus(times(entry(u, flip, 0), with0), times(entry(u, flip ^ 1, 0), with1));
    }
    return times(entry(gates[Q + wire], after, o), v);
}

/* Both tables, grown together from one buffer to the other; the last ones are where the pointers say. */
static __device__ void build_tables(const lt_su2 *gates, double2 *room, const double2 **left, const double2 **right)
{
    *left = *right = room;
    for (int i = 0; i < RIGHT; i++) {
        bool large = (RIGHT - 1 - i) % 2 == 0;
        int size = TERMS << (i + 1), n_left = i < LEFT ? size : 0;
        double2 *to_left = large ? room : room + LARGE, *to_right = to_left + (large ? LARGE_LEFT : SMALL_LEFT);
        for (int e = threadIdx.x; e < n_left + size; e += THREADS) {
            if (e < n_left) to_left[e] = extend(*left, e, true, i, gates);
            else to_right[e - n_left] = extend(*right, e - n_left, false, LEFT + i, gates);
        }
        if (n_left) *left = to_left;
        *right = to_right;
        __syncthreads();
    }
}

static __device__ __forceinline__ double2 amplitude(const double2 *left, const double2 *right)
{
    double2 v = times(left[0], right[0]);
#pragma unroll
    for (int k = 1; k < TERMS; k++) {
        v.x += left[k].x * right[k].x - left[k].y * right[k].y;
        v.y += left[k].x * right[k].y + left[k].y * right[k].x;
    }
    return v;
}

static __device__ __forceinline__ void put(amplitude_t *to, const double2 *v)
{
    if (PER_STORE == 1) {
        *(double2 *)to = v[0];
        return;
    }
    float x[4] = { (float)v[0].x, (float)v[0].y, (float)v[PER_STORE - 1].x, (float)v[PER_STORE - 1].y };
    if (SPLIT) put_split((uint4 *)to, x);
    else *(uint4 *)to = make_uint4(__float_as_uint(x[0]), __float_as_uint(x[1]), __float_as_uint(x[2]), __float_as_uint(x[3]));
}

/* coef: (row, stage, wire), two stages. */
extern "C" __global__ void __launch_bounds__(THREADS) two_stages(const lt_states_job *where, const lt_su2 *coef, amplitude_t *states)
{
    extern __shared__ double2 room[]; /* large tables, small ones, the gates */
    lt_su2 *gates = (lt_su2 *)(room + LARGE + SMALL);
    const i64 n = where->n_rows;
    for (i64 row = blockIdx.x; row < n; row += gridDim.x) {
        for (int i = threadIdx.x; i < 2 * Q; i += THREADS) gates[i] = coef[row * 2 * Q + i];
        __syncthreads();
        const double2 *left, *right;
        build_tables(gates, room, &left, &right);
        amplitude_t *out = states + (row << Q);
        for (int column = threadIdx.x % ACROSS; column < COLUMNS; column += ACROSS) {
            double2 mine[PER_STORE][TERMS];
#pragma unroll
            for (int i = 0; i < PER_STORE; i++)
#pragma unroll
                for (int k = 0; k < TERMS; k++) mine[i][k] = right[(column * PER_STORE + i) * TERMS + k];
            for (int line = threadIdx.x / ACROSS; line < 1 << LEFT; line += THREADS / ACROSS) {
                double2 v[PER_STORE];
#pragma unroll
                for (int i = 0; i < PER_STORE; i++) v[i] = amplitude(left + line * TERMS, mine[i]);
                put(out + ((i64)line << RIGHT) + column * PER_STORE, v);
            }
        }
        __syncthreads();
    }
}
