/* Overlaps of packed states, for one T and V: part of loops_body.h. SPDX-License-Identifier: BSD-3-Clause */

/* sum[j][v] = sum over n amplitudes of the row vectors a[v][k] times the elements b[k][j], in NR x MV
   registers; row vectors of one amplitude are `part` vectors apart. Both sides stream from the
   second-level cache, so they are asked for ahead of time: worth a third of the speed. */
static inline __attribute__((always_inline)) void FN(sweep)(const V *a, int64_t part, const T *b, int64_t n, V sum[NR][MV])
{
    V s[NR][MV];
    UNROLL for (int j = 0; j < NR; j++)
        UNROLL for (int v = 0; v < MV; v++) s[j][v] = (V){ 0 };
    for (int64_t k = 0; k < n; k++, a++, b += LANES) {
        V x[MV];
        UNROLL for (int v = 0; v < MV; v++) {
            x[v] = a[v * part];
            __builtin_prefetch(a + v * part + AHEAD);
        }
        __builtin_prefetch(b + AHEAD * LANES);
        UNROLL for (int j = 0; j < NR; j++)
            UNROLL for (int v = 0; v < MV; v++) s[j][v] += x[v] * b[j];
    }
    UNROLL for (int j = 0; j < NR; j++)
        UNROLL for (int v = 0; v < MV; v++) sum[j][v] = s[j][v];
}

/* The same over a whole chunk: one run in double precision, the sum of short ones in single. */
static inline __attribute__((always_inline)) void FN(sweep_chunk)(const V *a, int64_t part, const T *b, int64_t n, V sum[NR][MV])
{
    int64_t run = sizeof(T) == 4 && n > LT_F32_RUN ? LT_F32_RUN : n;
    FN(sweep)(a, part, b, run, sum);
    for (int64_t k = run; k < n; k += run) {
        V more[NR][MV];
        FN(sweep)(a + k, part, b + k * LANES, n - k < run ? n - k : run, more);
        UNROLL for (int j = 0; j < NR; j++)
            UNROLL for (int v = 0; v < MV; v++) sum[j][v] += more[j][v];
    }
}

typedef struct FN(place) { /* where the results of one kernel call go */
    VD     *k, *im;        /* column 0; columns are `step` vectors apart */
    int64_t step;
    bool    first, last;   /* of the chunks of amplitudes */
} FN(place);

static inline __attribute__((always_inline)) void FN(finish_real)(const FN(place) *at, V p[NR][MV])
{
    for (int j = 0; j < NR; j++)
        for (int v = 0; v < MV; v++) {
            VD *k = at->k + j * at->step + v;
            VD re = WIDEN(p[j][v]);
            if (!at->first) re += *k;
            if (at->last) re *= re;
            *k = re;
        }
}

static inline __attribute__((always_inline)) void FN(finish)(const FN(place) *at, V p[NR][MV], V s[NR][MV], V d[NR][MV])
{
    for (int j = 0; j < NR; j++)
        for (int v = 0; v < MV; v++) {
            VD *k = at->k + j * at->step + v, *i = at->im + j * at->step + v;
            V plus = p[j][v] + ((p[j][v] - s[j][v]) + (p[j][v] - d[j][v])) * (T)0.125;
            VD re = WIDEN(plus), im = WIDEN((s[j][v] - d[j][v]) * (T)0.25);
            if (!at->first) {
                re += *k;
                im += *i;
            }
            if (at->last) *k = re * re + im * im;
            else {
                *k = re;
                *i = im;
            }
        }
}

/* MV * LANES rows by NR columns over one chunk of n amplitudes. */
static void FN(kernel)(const V *a, int64_t part, const T *b, int64_t n, int planes, const FN(place) *at)
{
    V p[NR][MV], s[NR][MV], d[NR][MV];
    FN(sweep_chunk)(a, part, b, n, p);
    if (planes == LT_PLANES_REAL) {
        FN(finish_real)(at, p);
        return;
    }
    FN(sweep_chunk)(a + 2 * n, part, b + n * LANES, n, s);
    FN(sweep_chunk)(a + n, part, b + 2 * n * LANES, n, d);
    FN(finish)(at, p, s, d);
}

/* All kernel calls of one chunk over a tile: NR columns stay near while the rows pass. */
static void FN(overlap_chunk)(const lt_overlap_job *job, int64_t begin, int64_t n)
{
    int64_t part = job->planes * job->amplitudes; /* vectors of one part of a panel */
    for (int64_t j = 0; j < job->n_columns; j += NR) {
        int64_t panel = j / (MV * LANES), in_panel = j % (MV * LANES);
        const T *b = (const T *)job->b + panel * job->b_step + (in_panel / LANES * part + begin * job->planes) * LANES + in_panel % LANES;
        FN(place) at = { .step = job->n_a * MV, .first = begin == 0 && !job->resume,
                         .last = begin + n == job->amplitudes && !job->unfinished };
        for (int64_t i = 0; i < job->n_a && i * MV * LANES <= j + NR - 1 + job->diagonal; i++) {
            const V *a = (const V *)((const T *)job->a + i * job->a_step) + begin * job->planes;
            at.k = (VD *)job->k + j * at.step + i * MV;
            at.im = (VD *)job->im + j * at.step + i * MV;
            FN(kernel)(a, part, b, n, job->planes, &at);
        }
    }
}

static void FN(overlap)(const lt_overlap_job *job)
{
    int64_t chunk = job->amplitudes < LT_CHUNK ? job->amplitudes : LT_CHUNK;
    for (int64_t c = 0; c < job->amplitudes; c += chunk) FN(overlap_chunk)(job, c, chunk);
}
