/* The packed product's loops for one element type T and one vector size; included by cpu/gemm/tile_isa.h.
   SPDX-License-Identifier: BSD-3-Clause */

#define PANEL (LT_TILE_VECTORS * LANES) /* columns of a panel of b */

typedef T VECTOR __attribute__((vector_size(LT_VECTOR_BYTES), aligned(sizeof(T)), may_alias));

/* ---- Register tiles -------------------------------------------------------------------------- */
/* A tile at the right edge leaves by way of memory, since whole vectors would write past the matrix. */
static __attribute__((noinline)) void NAME(store_edge)(const lt_gemm_block *g, T *c, const T *tile, int64_t rows, int64_t columns)
{
    for (int64_t i = 0; i < rows; i++, c += g->ldc, tile += PANEL)
        for (int64_t j = 0; j < columns; j++) c[j] = g->add ? c[j] + tile[j] : tile[j];
}

/* One tile: its panels of a and b, its corner of c, and where the next panel of b is to be fetched meanwhile:
   `lines` cache lines with every STRIDE steps of k. */
typedef struct NAME(place) {
    const T    *a, *b;
    T          *c;
    const char *ahead;
    int64_t     columns, lines;
} NAME(place);

/* rows x wide vectors of results stay in registers while k runs. */
static inline __attribute__((always_inline)) void
NAME(tile)(const lt_gemm_block *g, const NAME(place) *at, const int rows, const int wide)
{
    const T *a = at->a, *b = at->b;
    const char *ahead = at->ahead;
    T *c = at->c;
    const int64_t ldc = g->ldc, k = g->k, lines = at->lines;
    const bool add = g->add;
    VECTOR acc[LT_TILE_ROWS][LT_TILE_VECTORS];
    LT_UNROLL for (int i = 0; i < rows; i++)
        LT_UNROLL for (int j = 0; j < wide; j++) acc[i][j] = (VECTOR){ 0 };
    const T *soon = c;
    for (int64_t from = 0; from < k; from += STRIDE) {
        if (from < rows * STRIDE) { /* a row of c at a time: all at once would keep a and b waiting (decision 123) */
            LT_UNROLL for (int j = 0; j < wide; j++) __builtin_prefetch(soon + j * LANES, 1);
            soon += ldc;
        }
        LT_UNROLL for (int i = 0; i < rows * STRIDE; i += 64 / (int)sizeof(T)) __builtin_prefetch(a + rows * STRIDE + i);
        for (int64_t line = 0; line < lines; line++, ahead += 64) __builtin_prefetch(ahead);
        for (int64_t l = LT_MIN(k - from, STRIDE); l > 0; l--, a += rows, b += PANEL) {
            VECTOR right[LT_TILE_VECTORS];
            LT_UNROLL for (int j = 0; j < wide; j++) right[j] = *(const VECTOR *)(b + j * LANES);
            LT_UNROLL for (int i = 0; i < rows; i++) {
                VECTOR left = a[i] - (VECTOR){ 0 }; /* -0 stays -0 */
                LT_KEEP_IN_REGISTER(left);          /* else it is loaded for every vector of the row */
                LT_UNROLL for (int j = 0; j < wide; j++) MULTIPLY_ADD(acc[i][j], left, right[j]);
            }
        }
    }
    if (at->columns < wide * LANES) {
        T tile[LT_TILE_ROWS * PANEL];
        LT_UNROLL for (int i = 0; i < rows; i++)
            LT_UNROLL for (int j = 0; j < wide; j++) *(VECTOR *)(tile + i * PANEL + j * LANES) = acc[i][j];
        NAME(store_edge)(g, c, tile, rows, at->columns);
        return;
    }
    LT_UNROLL for (int i = 0; i < rows; i++)
        LT_UNROLL for (int j = 0; j < wide; j++) {
            VECTOR *to = (VECTOR *)(c + i * ldc + j * LANES);
            if (add) acc[i][j] += *to;
            *to = acc[i][j];
        }
}

typedef void (*NAME(tile_function))(const lt_gemm_block *g, const NAME(place) *at);
#define TILE_OF(rows, wide) static void NAME(tile_##rows##x##wide)(const lt_gemm_block *g, const NAME(place) *at) { NAME(tile)(g, at, rows, wide); }
#define X(rows) LT_TILE_WIDTHS(TILE_OF, rows)
LT_TILE_HEIGHTS(X)
#undef X
#undef TILE_OF
static const NAME(tile_function) NAME(tile_of)[LT_TILE_ROWS + 1][LT_TILE_VECTORS + 1] = {
#define TILE_OF(rows, wide) [wide] = NAME(tile_##rows##x##wide),
#define X(rows) [rows] = { LT_TILE_WIDTHS(TILE_OF, rows) },
    LT_TILE_HEIGHTS(X)
#undef X
#undef TILE_OF
};

/* The panel of b stays in the first-level cache while those of a stream past it; the next one, which other
   threads may have packed, is fetched a little with every tile. */
static void NAME(block)(const lt_gemm_block *g)
{
    int64_t n_panels = (g->rows + LT_TILE_ROWS - 1) / LT_TILE_ROWS, strides = n_panels * ((g->k + STRIDE - 1) / STRIDE);
    int64_t lines = PANEL * g->k * (int64_t)sizeof(T) / 64;
    NAME(place) at = { .b = g->b, .lines = (lines + strides - 1) / strides };
    for (int64_t j = 0; j < g->columns; j += PANEL, at.b += PANEL * g->k) {
        at.columns = LT_MIN(g->columns - j, PANEL);
        at.ahead = (const char *)(at.b + PANEL * g->k);
        int64_t wide = (at.columns + LANES - 1) / LANES;
        for (int64_t p = 0; p < n_panels; p++, at.ahead += 64 * at.lines * (strides / n_panels)) {
            int64_t begin, end;
            lt_part_range(g->rows, n_panels, p, &begin, &end);
            at.a = (const T *)g->a + begin * g->k;
            at.c = (T *)g->c + begin * g->ldc + j;
            NAME(tile_of)[end - begin][wide](g, &at);
        }
    }
}

/* ---- Packing --------------------------------------------------------------------------------- */
static void NAME(pack_along)(const lt_gemm_panel *p)
{
    const T *from = p->from;
    T *to = p->to;
    int64_t n_vectors = (p->n + LANES - 1) / LANES, l = 0;
    for (; l < p->k && l * p->ld + n_vectors * LANES <= p->room; l++, to += p->step)
        for (int64_t j = 0; j < n_vectors; j++) *(VECTOR *)(to + j * LANES) = *(const VECTOR *)(from + l * p->ld + j * LANES);
    for (; l < p->k; l++, to += p->step)
        for (int64_t i = 0; i < n_vectors * LANES; i++) to[i] = i < p->n ? from[l * p->ld + i] : 0;
}

/* One bit of the index after the other: rows whose numbers differ in it exchange the halves that lie on
   the wrong side. Afterwards v[i] holds what was element i of every vector. */
#define KEPT(j, bit) ((j) & (bit) ? LANES + (j) - (bit) : (j))
#define TAKEN(j, bit) (((j) & (bit) ? LANES + (j) : (j) + (bit)) & (2 * LANES - 1))
#define EXCHANGE(bit)                                                                        \
    LT_UNROLL for (int i = 0; i < LANES && (bit) < LANES; i++) {                                \
        if (i & (bit)) continue;                                                             \
        VECTOR low = v[i], high = v[i + (bit)];                                              \
        v[i] = __builtin_shufflevector(low, high, INDICES(KEPT, bit));                       \
        v[i + (bit)] = __builtin_shufflevector(low, high, INDICES(TAKEN, bit));              \
    }

static inline __attribute__((always_inline)) void NAME(transpose)(VECTOR *v)
{
    EXCHANGE(1)
    EXCHANGE(2)
    EXCHANGE(4)
    EXCHANGE(8)
}
#undef EXCHANGE
#undef KEPT
#undef TAKEN

/* The last vector of each row first: what it writes too much belongs to the first of the next row. */
static void NAME(pack_across)(const lt_gemm_panel *p)
{
    const T *from = p->from;
    int64_t whole = p->k / LANES * LANES, n_vectors = (p->n + LANES - 1) / LANES;
    for (int64_t q = n_vectors - 1; q >= 0; q--)
        for (int64_t l = 0; l < whole; l += LANES) {
            VECTOR v[LANES];
            T *to = (T *)p->to + l * p->step + q * LANES;
            LT_UNROLL for (int i = 0; i < LANES; i++)
                v[i] = q * LANES + i < p->n ? *(const VECTOR *)(from + (q * LANES + i) * p->ld + l) : (VECTOR){ 0 };
            NAME(transpose)(v);
            LT_UNROLL for (int i = 0; i < LANES; i++) *(VECTOR *)(to + i * p->step) = v[i];
        }
    for (int64_t l = whole; l < p->k; l++)
        for (int64_t i = 0; i < n_vectors * LANES; i++) ((T *)p->to)[l * p->step + i] = i < p->n ? from[i * p->ld + l] : 0;
}

const lt_gemm_loops NAME(LT_LOOPS) = { LT_TILE_ROWS, LANES, PANEL, NAME(block), NAME(pack_along), NAME(pack_across) };

#undef PANEL
