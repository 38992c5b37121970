/* States of any circuit: sweeps over them, a chunk at a time. SPDX-License-Identifier: BSD-3-Clause

   A sweep is one launch: each chunk begins as a product state, as the row itself, or with what is in memory, goes through a list of
   operations that lies in memory too, and is written back. So one text serves all circuits, whatever their length. Stands behind chunk.cuh. */

static __device__ __forceinline__ double2 times(double2 a, double2 b) { return make_double2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x); }

/* The first column of the gate of a bit. */
static __device__ __forceinline__ double2 column_of(const view &v, int state, int bit, unsigned address)
{
    const lt_su2 *g = v.gate + min(state, v.last) * v.job->n_gates + v.sweep->first_gate + (v.job->q - 1 - bit);
    return address >> bit & 1 ? make_double2(g->br, g->bi) : make_double2(g->ar, g->ai);
}

/* Products of four first columns each: a table of 16 for every four bits, where there are enough amplitudes to make use of it. */
static __device__ void product_chunk(double2 *chunk, double2 *table, const view &v)
{
    int fours = (int)(v.job->q + 3) / 4;
    bool by_table = v.job->q >= 8;
    for (int i = threadIdx.x; by_table && i < states_of(v) * fours * 16; i += THREADS) {
        int state = i / (16 * fours), four = i / 16 % fours;
        double2 x = make_double2(1, 0);
        for (int b = 4 * four; b < 4 * four + 4 && b < v.job->q; b++) x = times(x, column_of(v, state, b, (unsigned)(i % 16) << (4 * four)));
        table[i] = x;
    }
    __syncthreads();
#pragma unroll 1
    for (int k = 0; k < HELD; k++) {
        int e = threadIdx.x + k * THREADS, state = e >> v.local;
        unsigned o = address_of(v, e);
        if (v.sweep->mapped) o = mapped(v, o);
        double2 x = make_double2(1, 0);
        for (int f = 0; by_table && f < fours; f++) x = times(x, table[(state * fours + f) * 16 + (o >> (4 * f) & 15)]);
        for (int b = 0; !by_table && b < v.job->q; b++) x = times(x, column_of(v, state, b, o));
        chunk[place(e)] = x;
    }
}

static __device__ void row_chunk(double2 *chunk, const view &v)
{
#pragma unroll 1
    for (int k = 0; k < HELD; k++) {
        int e = threadIdx.x + k * THREADS;
        unsigned o = address_of(v, e);
        const double *x = v.job->value + (v.row + state_of(v, e)) * v.job->n_values + v.job->first_column;
        chunk[place(e)] = make_double2(o < v.job->n_columns ? x[o] : 0, 0);
    }
}

static __device__ void zero_chunk(double2 *chunk, const view &v)
{
#pragma unroll 1
    for (int k = 0; k < HELD; k++) {
        int e = threadIdx.x + k * THREADS;
        chunk[place(e)] = make_double2(address_of(v, e) == 0, 0);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS) sweep(const lt_sweep_job *where)
{
    extern __shared__ double2 memory[];
    double2 *chunk = memory, *list[1] = { memory };
    double *angle = (double *)(memory + CHUNK);
    const lt_sweep *s = where->sweep;
    i64 n_chunks = chunks_of(where);
    for (i64 c = blockIdx.x; c < n_chunks; c += gridDim.x) {
        const view v = view_of(where, s, c);
        if (s->begin == LT_SWEEP_PRODUCT) product_chunk(chunk, (double2 *)angle, v);
        else if (s->begin == LT_SWEEP_ROW) row_chunk(chunk, v);
        else if (s->begin == LT_SWEEP_ZERO) zero_chunk(chunk, v);
        else load_chunk(chunk, v, (const amplitude_t *)where->from, s->mapped);
        __syncthreads();
        for (int i = s->first_op; i < s->first_op + s->n_ops; i++) {
            const lt_sweep_op op = where->op[i];
            if (op.kind == LT_SWEEP_PHASES) phases(list, 1, angle, v, op, false);
            else if (op.kind == LT_SWEEP_PERMUTE) permute_chunk(chunk, v, op.first, op.place, op.n, false);
            else if (op.kind == LT_SWEEP_MATRIX) matrix_chunk(chunk, v, op, false);
            else gates_chunk(chunk, v, op, false);
            __syncthreads();
        }
        store_chunk(chunk, v, (amplitude_t *)where->to, false);
        __syncthreads();
    }
}
