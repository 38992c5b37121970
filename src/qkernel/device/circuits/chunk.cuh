/* Chunks of amplitudes in shared memory, and what is done to them: shared by the texts of sweeps forwards and backwards.
   SPDX-License-Identifier: BSD-3-Clause

   A chunk is 2^CHUNK_BITS amplitudes: several small states, one whole state, or those amplitudes of a larger one whose addresses differ in
   the bits of a window. A thread holds 16 of them at a time, which differ in four neighbouring bits. All arithmetic is double; REAL_T is what
   lies in memory between launches. Stands behind rows_job.h and sweep_job.h. Fixed when compiled: CHUNK_BITS (at least 8), REAL_T. */

typedef long long i64;
struct amplitude_t { REAL_T x, y; };

#define CHUNK (1 << CHUNK_BITS)
#define HELD 16
#define THREADS (CHUNK / HELD)
#define PLACES ((CHUNK_BITS + 3) / 4)                                                     /* fours of bits; the last may overlap the one before */
#define FIRST_OF(place) (4 * (place) + 4 <= CHUNK_BITS ? 4 * (place) : CHUNK_BITS - 4)

/* No pass meets a bank conflict: 16 bytes an amplitude, 8 an angle. */
static __device__ __forceinline__ int place(int e) { return e ^ ((e >> 4) & 7); }
static __device__ __forceinline__ int angle_place(int e) { return e ^ ((e >> 4) & 15); }

/* The chunk at hand. */
struct view {
    const lt_sweep_job *job;
    const lt_sweep *sweep;
    i64 row;               /* of its first state */
    int local, last;       /* bits of a state inside; its last state that there is */
    unsigned base;         /* of addresses */
    const lt_su2 *gate;    /* of that row */
    const double *term;
};

static __device__ __forceinline__ int states_of(const view &v) { return 1 << (CHUNK_BITS - v.local); }
static __device__ __forceinline__ int state_of(const view &v, int e) { return min(e >> v.local, v.last); }

static __device__ view view_of(const lt_sweep_job *job, const lt_sweep *sweep, i64 chunk)
{
    view v;
    v.job = job, v.sweep = sweep;
    v.local = (int)min(job->q, (i64)CHUNK_BITS);
    i64 parts = (i64)1 << (job->q - v.local), part = chunk % parts;
    v.row = chunk / parts * states_of(v);
    v.last = (int)min((i64)states_of(v), job->n_rows - v.row) - 1;
    v.base = 0;
    for (int i = 0; i < job->q - v.local; i++) v.base |= (unsigned)(part >> i & 1) << sweep->rest[i];
    v.gate = job->gate + v.row * job->n_gates;
    v.term = job->term + v.row * job->n_terms;
    return v;
}

static __device__ __forceinline__ i64 chunks_of(const lt_sweep_job *job)
{
    int local = (int)min(job->q, (i64)CHUNK_BITS);
    i64 states = 1 << (CHUNK_BITS - local);
    return (job->n_rows + states - 1) / states << (job->q - local);
}

/* The address in its state of number e of the chunk. */
static __device__ __forceinline__ unsigned address_of(const view &v, int e)
{
    unsigned o = (unsigned)(e & ((1 << v.local) - 1)), to = o & ((1u << v.sweep->straight) - 1);
    for (int i = v.sweep->straight; i < v.local; i++) to |= (o >> i & 1) << v.sweep->bit[i];
    return v.base | to;
}

static __device__ __forceinline__ unsigned mapped(const view &v, unsigned o)
{
    const unsigned *map = v.job->map;
    return map[v.sweep->high_at + (o >> v.sweep->low_bits)] ^ map[v.sweep->low_at + (o & ((1u << v.sweep->low_bits) - 1))];
}

/* The 16 amplitudes of a thread that differ in bits FIRST..FIRST+3 begin here. */
template <int FIRST> static __device__ __forceinline__ int first_held()
{
    int t = threadIdx.x;
    return (t >> FIRST << (FIRST + 4)) | (t & ((1 << FIRST) - 1));
}

/* ---- gates of one wire ---- */

static __device__ __forceinline__ void apply(const lt_su2 &g, double2 &x, double2 &y)
{
    double xr = x.x, xi = x.y, yr = y.x, yi = y.y;
    x.x = g.ar * xr - g.ai * xi - g.br * yr - g.bi * yi;
    x.y = g.ar * xi + g.ai * xr - g.br * yi + g.bi * yr;
    y.x = g.br * xr - g.bi * xi + g.ar * yr + g.ai * yi;
    y.y = g.br * xi + g.bi * xr + g.ar * yi - g.ai * yr;
}

/* The inverse of [[a, -b*], [b, a*]] has a* and -b. */
static __device__ __forceinline__ lt_su2 gate_for(const view &v, int e, int index, bool undo)
{
    lt_su2 g = v.gate[state_of(v, e) * v.job->n_gates + index];
    return undo ? lt_su2{ g.ar, -g.ai, -g.br, -g.bi } : g;
}

template <int PLACE> static __device__ __forceinline__ void gates_at(double2 *chunk, const view &v, const lt_sweep_op &op, bool undo)
{
    const int FIRST = FIRST_OF(PLACE);
    int base = first_held<FIRST>();
    double2 a[HELD];
#pragma unroll
    for (int k = 0; k < HELD; k++) a[k] = chunk[place(base | k << FIRST)];
#pragma unroll
    for (int b = 0; b < 4; b++) {
        if (!(op.n >> b & 1)) continue;
        const lt_su2 g = gate_for(v, base, op.index[b], undo);
#pragma unroll
        for (int k = 0; k < HELD; k++)
            if (!(k >> b & 1)) apply(g, a[k], a[k | 1 << b]);
    }
#pragma unroll
    for (int k = 0; k < HELD; k++) chunk[place(base | k << FIRST)] = a[k];
}

/* The same where the amplitudes that a thread would hold are of several states: bit by bit, in shared memory. Waits before all but the first. */
static __device__ void gates_of_small_states(double2 *chunk, const view &v, const lt_sweep_op &op, int first, bool undo)
{
    bool begun = false;
    for (int b = 0; b < 4; b++) {
        if (!(op.n >> b & 1)) continue;
        if (begun) __syncthreads();
        begun = true;
#pragma unroll 1
        for (int k = threadIdx.x; k < CHUNK / 2; k += THREADS) {
            int low = k & ((1 << (first + b)) - 1), e = (k - low) * 2 + low;
            const lt_su2 g = gate_for(v, e, op.index[b], undo);
            apply(g, chunk[place(e)], chunk[place(e | 1 << (first + b))]);
        }
    }
}

template <int PLACE> static __device__ __forceinline__ void hadamards_at(double2 *chunk, const lt_sweep_op &op)
{
    const int FIRST = FIRST_OF(PLACE);
    int base = first_held<FIRST>();
    double scale = 1;
    double2 a[HELD];
#pragma unroll
    for (int k = 0; k < HELD; k++) a[k] = chunk[place(base | k << FIRST)];
#pragma unroll
    for (int b = 0; b < 4; b++) {
        if (!(op.n >> b & 1)) continue;
        scale *= 0.70710678118654752440;
#pragma unroll
        for (int k = 0; k < HELD; k++) {
            if (k >> b & 1) continue;
            double2 x = a[k], y = a[k | 1 << b];
            a[k] = make_double2(x.x + y.x, x.y + y.y);
            a[k | 1 << b] = make_double2(x.x - y.x, x.y - y.y);
        }
    }
#pragma unroll
    for (int k = 0; k < HELD; k++) chunk[place(base | k << FIRST)] = make_double2(a[k].x * scale, a[k].y * scale);
}

/* ---- phases ---- */

/* Bits of this place that are the state's own and of no place before. */
template <int PLACE> static __device__ __forceinline__ bool transforms(const view &v, int b)
{
    int bit = FIRST_OF(PLACE) + b;
    return bit >= 4 * PLACE && bit < v.local;
}

/* a_b becomes the sum over m of (-1)^(m . b) a_m, in the bits of a place. */
template <int PLACE> static __device__ __forceinline__ void transform_at(double a[HELD], const double *angle, const view &v)
{
    const int FIRST = FIRST_OF(PLACE);
    int base = first_held<FIRST>();
#pragma unroll
    for (int k = 0; k < HELD; k++) a[k] = angle[angle_place(base | k << FIRST)];
#pragma unroll
    for (int b = 0; b < 4; b++) {
        if (!transforms<PLACE>(v, b)) continue;
#pragma unroll
        for (int k = 0; k < HELD; k++) {
            if (k >> b & 1) continue;
            double x = a[k], y = a[k | 1 << b];
            a[k] = x + y;
            a[k | 1 << b] = x - y;
        }
    }
}

template <int PLACE> static __device__ __forceinline__ void put_angles(double *angle, const double a[HELD])
{
    const int FIRST = FIRST_OF(PLACE);
    int base = first_held<FIRST>();
#pragma unroll
    for (int k = 0; k < HELD; k++) angle[angle_place(base | k << FIRST)] = a[k];
}

/* The transform in all bits of a state. */
template <int PLACE> static __device__ void transform(double *angle, const view &v)
{
    if (PLACE >= PLACES || 4 * PLACE >= v.local) return;
    double a[HELD];
    transform_at<PLACE>(a, angle, v);
    put_angles<PLACE>(angle, a);
    __syncthreads();
    transform<(PLACE < PLACES ? PLACE + 1 : PLACE)>(angle, v);
}

/* Sums of the terms with the same mask, each by one thread in the same order always. */
static __device__ void gather_terms(double *angle, const view &v, const lt_sweep_op &op)
{
    for (int i = threadIdx.x; i < CHUNK; i += THREADS) angle[i] = 0;
    __syncthreads();
    for (int i = threadIdx.x; i < op.n * states_of(v); i += THREADS) {
        int state = i / op.n;
        const lt_phase_group g = v.job->group[op.first + i % op.n];
        const double *c = v.term + min(state, v.last) * v.job->n_terms;
        double sum = 0;
        for (int k = g.first; k < g.first + g.n; k++) {
            const lt_phase_part p = v.job->part[k];
            sum += __popc(p.outside & v.base) & 1 ? -c[p.term] : c[p.term];
        }
        angle[angle_place(state << v.local | g.local)] = sum;
    }
    __syncthreads();
}

/* Every thread turns the same amplitudes of each chunk of a list: two of them going backwards, else one. */
static __device__ void multiply_phases(double2 *const *chunk, int n, const double *angle, double sign)
{
#pragma unroll 1
    for (int k = 0; k < HELD; k++) {
        int e = threadIdx.x + k * THREADS;
        double s, c;
        sincos(sign * angle[angle_place(e)], &s, &c);
        for (int i = 0; i < n; i++) {
            double2 x = chunk[i][place(e)];
            chunk[i][place(e)] = make_double2(x.x * c - x.y * s, x.x * s + x.y * c);
        }
    }
}

static __device__ void phases(double2 *const *chunk, int n, double *angle, const view &v, const lt_sweep_op &op, bool undo)
{
    gather_terms(angle, v, op);
    transform<0>(angle, v);
    multiply_phases(chunk, n, angle, undo ? -1 : 1);
}

/* ---- permutations and matrices ---- */

/* Only of whole states. Undone, what was read is written. */
static __device__ void permute_chunk(double2 *chunk, const view &v, int low_at, int high_at, int low_bits, bool undo)
{
    const unsigned *low = v.job->map + low_at, *high = v.job->map + high_at;
    double2 a[HELD];
#pragma unroll
    for (int k = 0; k < HELD; k++) {
        int e = threadIdx.x + k * THREADS, o = e & ((1 << v.local) - 1);
        a[k] = chunk[place(undo ? e : (e ^ o) | (int)(high[o >> low_bits] ^ low[o & ((1 << low_bits) - 1)]))];
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < HELD; k++) {
        int e = threadIdx.x + k * THREADS, o = e & ((1 << v.local) - 1);
        chunk[place(undo ? (e ^ o) | (int)(high[o >> low_bits] ^ low[o & ((1 << low_bits) - 1)]) : e)] = a[k];
    }
}

static __device__ void matrix_chunk(double2 *chunk, const view &v, const lt_sweep_op &op, bool undo)
{
    const double *m = v.job->number + op.first;
    const int n = 1 << op.n;
    int ascending[4];
    for (int i = 0; i < op.n; i++) {
        int j = i;
        for (; j > 0 && ascending[j - 1] > op.index[i]; j--) ascending[j] = ascending[j - 1];
        ascending[j] = op.index[i];
    }
#pragma unroll 1
    for (int k = threadIdx.x; k < CHUNK >> op.n; k += THREADS) {
        int base = k, at[16];
        double2 in[16];
        for (int i = 0; i < op.n; i++) {
            int low = base & ((1 << ascending[i]) - 1);
            base = (base - low) * 2 + low;
        }
        for (int i = 0; i < n; i++) {
            at[i] = base;
            for (int b = 0; b < op.n; b++) at[i] |= (i >> (op.n - 1 - b) & 1) << op.index[b];
            in[i] = chunk[place(at[i])];
        }
        for (int i = 0; i < n; i++) {
            double2 sum = make_double2(0, 0);
            for (int c = 0; c < n; c++) { /* undone by the conjugate of the transpose */
                double re = m[2 * (undo ? c * n + i : i * n + c)], im = undo ? -m[2 * (c * n + i) + 1] : m[2 * (i * n + c) + 1];
                sum.x += in[c].x * re - in[c].y * im;
                sum.y += in[c].x * im + in[c].y * re;
            }
            chunk[place(at[i])] = sum;
        }
    }
}

/* ---- all of them ---- */

static __device__ void gates_chunk(double2 *chunk, const view &v, const lt_sweep_op &op, bool undo)
{
    bool hadamards = op.kind == LT_SWEEP_HADAMARDS;
    if (!hadamards && v.local < FIRST_OF(op.place) + 4) {
        gates_of_small_states(chunk, v, op, FIRST_OF(op.place), undo);
        return;
    }
    switch (op.place) {
    case 0: hadamards ? hadamards_at<0>(chunk, op) : gates_at<0>(chunk, v, op, undo); break;
    case 1: hadamards ? hadamards_at<1>(chunk, op) : gates_at<1>(chunk, v, op, undo); break;
    case 2: hadamards ? hadamards_at<2>(chunk, op) : gates_at<2>(chunk, v, op, undo); break;
    default: hadamards ? hadamards_at<PLACES - 1>(chunk, op) : gates_at<PLACES - 1>(chunk, v, op, undo);
    }
}

/* ---- memory ---- */

static __device__ void load_chunk(double2 *chunk, const view &v, const amplitude_t *from, bool through_map)
{
#pragma unroll 4
    for (int k = 0; k < HELD; k++) {
        int e = threadIdx.x + k * THREADS, state = e >> v.local;
        unsigned o = address_of(v, e);
        if (through_map) o = mapped(v, o);
        const amplitude_t *s = from + ((v.row + state) << v.job->q) + o;
        chunk[place(e)] = state <= v.last ? make_double2(s->x, s->y) : make_double2(0, 0);
    }
}

static __device__ void store_chunk(const double2 *chunk, const view &v, amplitude_t *to, bool through_map)
{
#pragma unroll 4
    for (int k = 0; k < HELD; k++) {
        int e = threadIdx.x + k * THREADS, state = e >> v.local;
        unsigned o = address_of(v, e);
        double2 x = chunk[place(e)];
        if (through_map) o = mapped(v, o);
        if (state <= v.last) to[((v.row + state) << v.job->q) + o] = amplitude_t{ (REAL_T)x.x, (REAL_T)x.y };
    }
}
