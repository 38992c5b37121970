/* The closed form of collapsed kernels, a product over wires: part of loops_isa.h (double only).
   SPDX-License-Identifier: BSD-3-Clause */

/* Wires after which products are scaled back by 2^-512: 1 + n.n' reaches 2, and 2^1024 is too large. */
enum { WIRES_AT_ONCE = 512 };

/* One wire of MV row vectors and PRODUCT_COLUMNS columns. Rows stay in registers while columns are spread one by one:
   read from memory at each use they would keep the load ports busier than the arithmetic. */
static inline __attribute__((always_inline)) void FN(product_wire)(const V *a, const T *b, int components, V product[PRODUCT_COLUMNS][MV])
{
    V x[LT_CLOSED_BLOCH][MV];
    UNROLL for (int i = 0; i < components; i++)
        UNROLL for (int v = 0; v < MV; v++) x[i][v] = a[i * MV + v];
    UNROLL for (int j = 0; j < PRODUCT_COLUMNS; j++) {
        V y[LT_CLOSED_BLOCH];
        UNROLL for (int i = 0; i < components; i++) y[i] = SPREAD(b[i * MV * LANES + j]);
        UNROLL for (int v = 0; v < MV; v++) {
            V sum = x[0][v] * y[0] + x[1][v] * y[1];
            if (components == LT_CLOSED_BLOCH) product[j][v] += product[j][v] * (sum + x[2][v] * y[2]);
            else product[j][v] *= sum;
        }
    }
}

/* A panel of rows by LT_LINE_DOUBLES columns on its way to K: its columns are lines of the mirror image, its rows are turned. It
   leaves in as many steps as it has columns, while the next block is computed: sent at once, its lines fill the store buffer,
   and the arithmetic waits for memory (decision 120). */
typedef struct FN(block) {
    V       column[LT_LINE_DOUBLES * MV];
    T      *rows, *mirror; /* NULL: not there */
    int64_t pitch;
    bool    streaming;
} FN(block);

static inline __attribute__((always_inline)) void FN(put_rows)(const FN(block) *b, int v)
{
    T *to = b->rows + v * LANES * b->pitch;
    UNROLL for (int s = 0; s < LT_LINE_DOUBLES / LANES; s++) {
        V square[LANES];
        UNROLL for (int i = 0; i < LANES; i++) square[i] = b->column[(s * LANES + i) * MV + v];
        FN(turn_square)(square);
        UNROLL for (int i = 0; i < LANES; i++) PUT((V *)(to + i * b->pitch) + s, square[i], b->streaming);
    }
}

static inline __attribute__((always_inline)) void FN(put_step)(const FN(block) *b, int step)
{
    if (b->mirror)
        UNROLL for (int v = 0; v < MV; v++) PUT((V *)(b->mirror + step * b->pitch) + v, b->column[step * MV + v], b->streaming);
    if (b->rows && step * MV % LT_LINE_DOUBLES < MV) FN(put_rows)(b, step * MV / LT_LINE_DOUBLES);
}

/* cos((a-b)/2) = c c' + s s', squared at the end; 2 |<a|b>|^2 = 1 + n.n' with Bloch vectors: scaled first by 2^-1 for each wire
   of a run, so that nothing can overflow. before (may be NULL) leaves meanwhile, in steps from first_step on. Returns the sum of
   one row and one column of vectors: it is finite where all entries are, for what is wrong with a row shows in all its entries (decision 100). */
static inline __attribute__((always_inline)) V FN(product_kernel)(const V *a, const T *b, int64_t wires, const T scale[2], int components,
                                                                  V *k, int64_t step, const FN(block) *before, int first_step)
{
    V product[PRODUCT_COLUMNS][MV], start = SPREAD(components == LT_CLOSED_BLOCH ? scale[wires >= WIRES_AT_ONCE] : (T)1);
    UNROLL for (int j = 0; j < PRODUCT_COLUMNS; j++)
        UNROLL for (int v = 0; v < MV; v++) product[j][v] = start;
    for (int64_t rest = wires; rest > 0; rest -= WIRES_AT_ONCE) {
        int64_t n = rest < WIRES_AT_ONCE ? rest : WIRES_AT_ONCE;
        if (components == LT_CLOSED_BLOCH && rest < wires)
            UNROLL for (int j = 0; j < PRODUCT_COLUMNS; j++)
                UNROLL for (int v = 0; v < MV; v++) product[j][v] *= scale[rest >= WIRES_AT_ONCE];
        for (int part = 0; part < PRODUCT_COLUMNS; part++) {
            for (int64_t w = part * n / PRODUCT_COLUMNS; w < (part + 1) * n / PRODUCT_COLUMNS; w++, a += components * MV, b += components * MV * LANES)
                FN(product_wire)(a, b, components, product);
            if (before && rest == wires) FN(put_step)(before, first_step + part);
        }
    }
    UNROLL for (int j = 0; j < PRODUCT_COLUMNS; j++)
        UNROLL for (int v = 0; v < MV; v++) {
            if (components != LT_CLOSED_BLOCH) product[j][v] *= product[j][v];
            k[j * step + v] = product[j][v];
        }
    V sum = product[0][0];
    UNROLL for (int v = 1; v < MV; v++) sum += product[0][v];
    UNROLL for (int j = 1; j < PRODUCT_COLUMNS; j++) sum += product[j][0];
    return sum;
}

static inline __attribute__((always_inline)) V FN(product_columns)(const lt_overlap_job *job, int components, const T scale[2], int64_t i, int64_t j,
                                                                   V *k, int64_t step, const FN(block) *before, int first_step)
{
    const V *a = (const V *)((const T *)job->a + i * job->a_step);
    const T *b = (const T *)job->b + (j / (MV * LANES)) * job->b_step + j % (MV * LANES);
    if (components == LT_CLOSED_BLOCH) return FN(product_kernel)(a, b, job->amplitudes, scale, LT_CLOSED_BLOCH, k, step, before, first_step);
    return FN(product_kernel)(a, b, job->amplitudes, scale, LT_CLOSED_RY, k, step, before, first_step);
}

/* A block of which only a part exists leaves at once. It begins at (row, column) of the tile. */
static __attribute__((noinline)) void FN(put_edge)(const FN(block) *b, const lt_overlap_job *job, int64_t row, int64_t column)
{
    for (int64_t j = 0; j < LT_LINE_DOUBLES; j++)
        for (int64_t i = 0; i < MV * LANES; i++) {
            if (row + i < job->first_row || row + i >= job->end_row || column + j < job->first_column || column + j >= job->end_column) continue;
            T k = ((const T *)b->column)[j * MV * LANES + i];
            b->rows[i * b->pitch + j] = k;
            if (b->mirror) b->mirror[j * b->pitch + i] = k;
        }
}

static inline bool FN(is_whole)(const lt_overlap_job *job, int64_t row, int64_t column)
{
    return row >= job->first_row && row + MV * LANES <= job->end_row && column >= job->first_column && column + LT_LINE_DOUBLES <= job->end_column;
}

/* Straight to K. Of squares on the diagonal both halves are computed, which are the same to the bit. */
static double FN(product_to_rows)(const lt_overlap_job *job, int components, const T scale[2])
{
    FN(block) blocks[2] = { { .pitch = job->pitch, .streaming = job->streaming }, { .pitch = job->pitch, .streaming = job->streaming } };
    FN(block) *before = &blocks[0], *now = &blocks[1];
    V sum = { 0 };
    double total = 0;
    for (int64_t j = 0; j < job->n_columns; j += LT_LINE_DOUBLES) /* walking down columns meets fewer pages of K than along rows */
        for (int64_t i = 0; i < job->n_a; i++) {
            int64_t row = i * MV * LANES, ahead = j + job->diagonal - row / LT_SQUARE * LT_SQUARE;
            if (ahead < 0) break;
            for (int c = 0; c < LT_LINE_DOUBLES; c += PRODUCT_COLUMNS)
                sum += FN(product_columns)(job, components, scale, i, j + c, now->column + c * MV, MV, before, c);
            now->rows = job->rows + row * job->pitch + j;
            now->mirror = job->mirror && ahead >= LT_SQUARE ? job->mirror + j * job->pitch + row : NULL;
            if (!FN(is_whole)(job, row, j)) {
                FN(put_edge)(now, job, row, j);
                now->rows = now->mirror = NULL;
            }
            FN(block) *left = before;
            before = now;
            now = left;
        }
    for (int step = 0; step < LT_LINE_DOUBLES; step++) FN(put_step)(before, step);
    for (int i = 0; i < LANES; i++) total += sum[i];
    return total;
}

static double FN(product)(const lt_overlap_job *job, int components)
{
    const T scale[2] = { ldexp(1, -(int)(job->amplitudes % WIRES_AT_ONCE)), ldexp(1, -WIRES_AT_ONCE) };
    int64_t step = job->n_a * MV;
    if (job->rows) return FN(product_to_rows)(job, components, scale);
    for (int64_t i = 0; i < job->n_a; i++) /* a panel of rows stays in the first-level cache while columns pass */
        for (int64_t j = 0; j < job->n_columns; j += PRODUCT_COLUMNS)
            if (i * MV * LANES <= j + PRODUCT_COLUMNS - 1 + job->diagonal)
                (void)FN(product_columns)(job, components, scale, i, j, (V *)job->k + j * step + i * MV, step, NULL, 0);
    return NAN;
}
