/* Sweeps undone, for derivatives: the adjoint method, a chunk at a time. SPDX-License-Identifier: BSD-3-Clause

   A chunk of states phi and one of lambda go backwards through the operations of a sweep. Before a gate of a wire is undone, the imaginary parts
   of <lambda|P|phi> for P = X, Y, Z of that wire are summed over the chunk; before phases are, one transform of Im(conj(lambda) phi)
   has the sums for all their terms (gradient.c says what they are good for). Every sum is made by the same threads in the same order. Stands
   behind chunk.cuh, with REAL_T double. */

/* Numbers of one chunk: 3 for each gate, then one for each term. */
static __device__ __forceinline__ double *items_of(const lt_adjoint_job *where, const view &v, int state, i64 part)
{
    i64 n_items = 3 * where->sweep.n_gates + where->sweep.n_terms, n_parts = (i64)1 << (where->sweep.q - v.local);
    return where->out + ((v.row + state) * n_parts + part) * n_items;
}

/* Pair j of amplitudes of a state that differ in a bit. */
static __device__ __forceinline__ void add_pair(const double2 *phi, const double2 *lambda, int e, int bit, double sum[3])
{
    double2 a0 = lambda[place(e)], a1 = lambda[place(e | 1 << bit)], b0 = phi[place(e)], b1 = phi[place(e | 1 << bit)];
    double re01 = a0.x * b1.x + a0.y * b1.y, im01 = a0.x * b1.y - a0.y * b1.x;
    double re10 = a1.x * b0.x + a1.y * b0.y, im10 = a1.x * b0.y - a1.y * b0.x;
    sum[0] += im01 + im10;
    sum[1] += re10 - re01;
    sum[2] += (a0.x * b0.y - a0.y * b0.x) - (a1.x * b1.y - a1.y * b1.x);
}

/* How many threads share a state: each then has eight pairs of every bit. Smaller states have a thread each. */
static __device__ __forceinline__ int sharers_of(const view &v) { return v.local > 4 ? 1 << (v.local - 4) : 1; }

static __device__ void twist_of_state(const double2 *phi, const double2 *lambda, const view &v, int state, int lane, int bit, double sum[3])
{
    int sharers = sharers_of(v), pairs = v.local > 0 ? 1 << (v.local - 1) : 0;
    sum[0] = sum[1] = sum[2] = 0;
#pragma unroll 2
    for (int j = lane; j < pairs; j += sharers) {
        int low = j & ((1 << bit) - 1), o = (j - low) * 2 + low;
        add_pair(phi, lambda, state << v.local | o, bit, sum);
    }
}

/* part: the chunk's number in its state. scratch: CHUNK doubles, of which each thread uses 12. */
static __device__ void twists(const lt_adjoint_job *where, const double2 *phi, const double2 *lambda, double *scratch, const view &v, const lt_sweep_op &op, i64 part)
{
    int sharers = sharers_of(v), items = states_of(v) * sharers, first = 4 * op.place + 4 <= CHUNK_BITS ? 4 * op.place : CHUNK_BITS - 4;
    for (int from = 0; from < items; from += THREADS) {
        int item = from + (int)threadIdx.x, state = item / sharers, lane = item % sharers;
#pragma unroll 1
        for (int b = 0; b < 4; b++) {
            double sum[3] = { 0, 0, 0 };
            if (!(op.first >> b & 1)) continue;
            if (item < items) twist_of_state(phi, lambda, v, state, lane, first + b, sum);
            for (int i = 0; i < 3; i++) scratch[(3 * b + i) * THREADS + threadIdx.x] = sum[i];
        }
        __syncthreads();
        for (int step = sharers / 2; step > 0; step /= 2) {
            for (int i = 0; i < 12 && lane < step; i++)
                if (op.first >> i / 3 & 1) scratch[i * THREADS + threadIdx.x] += scratch[i * THREADS + threadIdx.x + step];
            __syncthreads();
        }
        for (int i = 0; i < 12 && lane == 0 && item < items && state <= v.last; i++)
            if (op.first >> i / 3 & 1) items_of(where, v, state, part)[3 * op.index[i / 3] + i % 3] = scratch[i * THREADS + threadIdx.x];
        __syncthreads();
    }
}

static __device__ void parities(const lt_adjoint_job *where, const double2 *phi, const double2 *lambda, double *angle, const view &v, const lt_sweep_op &op, i64 part)
{
#pragma unroll 4
    for (int k = 0; k < HELD; k++) {
        int e = threadIdx.x + k * THREADS;
        double2 a = lambda[place(e)], b = phi[place(e)];
        angle[angle_place(e)] = a.x * b.y - a.y * b.x;
    }
    __syncthreads();
    transform<0>(angle, v);
    for (int i = threadIdx.x; i < op.n * states_of(v); i += THREADS) {
        int state = i / op.n;
        const lt_phase_group g = where->sweep.group[op.first + i % op.n];
        double sum = angle[angle_place(state << v.local | g.local)];
        if (state > v.last) continue;
        double *to = items_of(where, v, state, part) + 3 * where->sweep.n_gates;
        for (int k = g.first; k < g.first + g.n; k++) {
            const lt_phase_part p = where->sweep.part[k];
            to[p.term] = __popc(p.outside & v.base) & 1 ? -sum : sum;
        }
    }
    __syncthreads();
}

static __device__ void undo(const lt_adjoint_job *where, double2 *const chunk[2], double *angle, const view &v, const lt_sweep_op &op, i64 part)
{
    if (op.kind == LT_SWEEP_PHASES) {
        parities(where, chunk[0], chunk[1], angle, v, op, part);
        phases(chunk, 2, angle, v, op, true);
        return;
    }
    if (op.kind == LT_SWEEP_GATES && op.first) twists(where, chunk[0], chunk[1], angle, v, op, part);
#pragma unroll 1
    for (int i = 0; i < 2; i++) {
        if (op.kind == LT_SWEEP_PERMUTE) permute_chunk(chunk[i], v, op.first, op.place, op.n, true);
        else if (op.kind == LT_SWEEP_MATRIX) matrix_chunk(chunk[i], v, op, true);
        else gates_chunk(chunk[i], v, op, true);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS) adjoint(const lt_adjoint_job *where)
{
    extern __shared__ double2 memory[];
    double2 *chunk[2] = { memory, memory + CHUNK };
    double *angle = (double *)(memory + 2 * CHUNK);
    const lt_sweep_job *job = &where->sweep;
    const lt_sweep *s = job->sweep;
    i64 n_chunks = chunks_of(job);
    for (i64 c = blockIdx.x; c < n_chunks; c += gridDim.x) {
        const view v = view_of(job, s, c);
        i64 part = c & (((i64)1 << (job->q - v.local)) - 1);
        load_chunk(chunk[0], v, (const amplitude_t *)job->from, false);
        load_chunk(chunk[1], v, (const amplitude_t *)where->lambda_from, false);
        __syncthreads();
        for (int i = s->first_op + s->n_ops - 1; i >= s->first_op; i--) {
            const lt_sweep_op op = job->op[i];
            undo(where, chunk, angle, v, op, part);
            __syncthreads();
        }
        if (s->begin == LT_SWEEP_LOAD) {
            store_chunk(chunk[0], v, (amplitude_t *)job->to, s->mapped);
            store_chunk(chunk[1], v, (amplitude_t *)where->lambda_to, s->mapped);
        }
        __syncthreads();
    }
}
