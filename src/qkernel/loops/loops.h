/* The inner loops of Gram matrices: one table per instruction set and element type.
   SPDX-License-Identifier: BSD-3-Clause

   Rows are handled in vectors of `lanes` and stored in panels of `panel` rows, so that the loops of
   a product read vectors of rows on one side and single elements on the other, from the same
   storage. What is computed for a row or a pair never depends on its place in a panel or tile. */
#ifndef LT_QKERNEL_LOOPS_LOOPS_H
#define LT_QKERNEL_LOOPS_LOOPS_H

#include "kernels/fused.h"
#include "qkernel/rows/circuit.h"

/* A panel of states is stored part after part, each of `lanes` rows; inside a part, chunk after chunk
   of amplitudes; inside a chunk, plane after plane; inside a plane, amplitude after amplitude, each a
   vector of rows. A part is written in one stream, and a kernel reads three. */
enum { LT_CHUNK = 256 };

/* Three real products give a complex one. Planes: r, r + 2i, r - 2i of each amplitude r + i i. With
   p = r.r', s = (r-2i).(r+2i)', d = (r+2i).(r-2i)' the overlap <a|b> is
       re = p + (2p - s - d)/8,  im = (s - d)/4.
   The three forms go over into each other under conjugation, so rows and columns share one storage;
   the factor 2 keeps the scalings exact and the rounding error below 2.5 times that of one product. */
enum { LT_PLANES_REAL = 1, LT_PLANES_COMPLEX = 3 };

/* Single precision is summed over runs of this many amplitudes, at most five runs of a chunk are
   added in single, chunks in double: 2 * 2.5 * (52 + 5) * 2^-24 = 1.7e-5 bounds the error of
   |<a|b>|^2 however the amplitudes lie and however many there are. */
enum { LT_F32_RUN = 52 };

/* A multiple of lines and of every panel of closed forms: squares of K on the diagonal, which are not cut by it. */
enum { LT_LINE_BYTES = 64, LT_LINE_DOUBLES = 8, LT_SQUARE = 24 };

typedef struct lt_overlap_job {      /* one tile of K: columns by rows */
    const void *a, *b;               /* first row panel, first column panel */
    int64_t     a_step, b_step;      /* elements from one panel to the next */
    int64_t     n_a;                 /* row panels */
    int64_t     n_columns;           /* from the start of b */
    int64_t     amplitudes;          /* of the panels: 2^q or a slice of them; wires for the closed forms */
    int         planes;
    int64_t     diagonal;            /* pairs with row > column + diagonal are not needed */
    double     *k;                   /* (n_columns rounded up, n_a * panel): K, and real parts before */
    double     *im;                  /* the same for imaginary parts; unused with one plane */
    bool        resume, unfinished;  /* states in slices: k and im hold the sums of earlier ones; more will follow */
    /* Products only: entry (row, column) goes to rows[row pitch + column], and to mirror[column pitch + row] where that is not
       NULL. rows NULL: everything goes to k. */
    double     *rows, *mirror;       /* of 64-byte lines; where rows or columns begin later, they may point before K */
    int64_t     first_row, end_row, first_column, end_column; /* of the tile that exist */
    int64_t     pitch;               /* a multiple of eight; with a mirror, diagonal is one of LT_SQUARE */
    bool        streaming;           /* past the caches */
} lt_overlap_job;

typedef struct lt_gram_loops {
    int lanes, panel, columns;       /* rows per vector; per panel; columns a kernel works on at once,
                                        which divide lanes */
    const char *shape;               /* "24x8", for names */
    /* A state of `lanes` rows: amplitude k as a vector of real and a vector of imaginary parts.
       coef: four vectors per wire, alpha and beta of the SU(2) gate [[a, -b*], [b, a*]]. */
    /* coef of one stage: the embedding, whose half angles have these sines and cosines (a vector per wire), then the gate,
       which is the same for all rows; gate may be NULL, and without `embed` stands alone. In double, rounded once. */
    void (*fuse)(void *coef, const double *sine, const double *cosine, const lt_stage *stage, lt_embed mode, int q);
    /* Of n angles, in double; all three hold whole vectors. */
    void (*sincos)(double *sine, double *cosine, const double *angle, int n);
    /* The product of the first columns of the gates of q wires; amplitude o is that of
       high[o >> low_bits] ^ low[o % 2^low_bits]. table holds 2^low_bits + 2^(q - low_bits) amplitudes. */
    void (*product_state)(void *state, const void *coef, int q, int low_bits, const uint32_t *low,
                          const uint32_t *high, void *table);
    void (*gates)(void *state, const void *coef, int q);
    void (*permute)(void *to, const void *from, int q, int low_bits, const uint32_t *low, const uint32_t *high);
    /* States of two stages with a ring of parities between, without passing over them wire by wire (bond_body.h). Tables, of
       4 (2^low_bits + 2^(q - low_bits)) amplitudes and room for 2^max of the two exponents behind, serve for sums of any
       range of amplitudes that begins and ends at multiples of 2^low_bits. q - low_bits >= 2, low_bits >= 1. */
    void (*bond_tables)(void *tables, const void *first_coef, const void *second_coef, int q, int low_bits);
    void (*bond_sums)(void *state, const void *tables, int q, int low_bits, int64_t begin, int64_t n);
    /* Amplitudes begin..begin+n-1 (whole chunks; state holds these only) into vector `part` of a panel, past the caches when
       streaming; squared norms are added to those of the rows where wanted (else NULL). */
    void (*pack)(void *panel, int part, int planes, const void *state, int64_t begin, int64_t n, int64_t amplitudes, double *norm, bool streaming);
    /* Interleaved complex numbers of the first n_rows rows, through such a map. */
    void (*unpack)(void *const *rows, int n_rows, const void *state, int q, int low_bits,
                   const uint32_t *low, const uint32_t *high);
    void (*overlap)(const lt_overlap_job *job);
} lt_gram_loops;

/* Closed forms are computed in double whatever the type of states would be. Panels hold, for each
   wire, `components` vectors of panel rows. */
enum {
    LT_CLOSED_RY = 2,                /* cos, sin of half the angle: prod (c c' + s s')^2 */
    LT_CLOSED_BLOCH = 3,             /* Bloch vector: prod (1 + n.n')/2 */
    LT_TRANSFER_REALS = 8,           /* lambda+, lambda-, alpha, beta: see transfer_body.h */
    LT_CLOSED_MAX_PANEL = 24         /* rows */
};
typedef struct lt_closed_loops {
    int  lanes, panel;
    const char *product_shape, *transfer_shape;
    /* Returns a number that is finite where everything put into rows is; what went to k is not covered. */
    double (*product)(const lt_overlap_job *job, int components);
    void (*sincos)(double *sine, double *cosine, const double *angle, int n); /* as above */
    /* coef: 12 vectors per wire of scratch. parity_ring: whether wire 0 ends on the parity of the others. */
    void (*transfer)(const lt_overlap_job *job, bool parity_ring, void *coef);
} lt_closed_loops;

typedef struct lt_gram_isa {
    lt_gram_loops   f32, f64;
    lt_gram_loops   narrow_f32, narrow_f64; /* one row at a time, for states too large for vectors of rows */
    lt_closed_loops closed;
    int             lanes;                  /* doubles of a vector */
    /* Columns of `lanes` numbers, `step` apart, as `lanes` rows, to_step apart. The sum of all of them is returned: it
       is finite where all of them are. */
    double        (*turn)(double *to, int64_t to_step, const double *from, int64_t step, int64_t n_columns);
} lt_gram_isa;

extern const lt_gram_isa lt_gram_plain;
#if LT_VEC_X86
extern const lt_gram_isa lt_gram_avx2, lt_gram_avx512;
#endif

const lt_gram_isa *lt_gram_isa_of(lt_isa isa); /* NULL when the build does not hold it */

#endif
