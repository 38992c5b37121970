/* Gram matrices of quantum feature maps: K_ij = |<psi(x_i)|psi(y_j)>|^2.
   SPDX-License-Identifier: BSD-3-Clause

       lt_gram_options opt = lt_gram_defaults();
       opt.re_embed_between_layers = true;
       lt_gram *g;
       lt_gram_create(NULL, &opt, &(lt_weights){ weights, n_layers, n_qubits }, &g);
       lt_gram_fill(g, &(lt_rows){ x, LT_F64, n, n_qubits }, NULL, K);
       lt_gram_destroy(g);

   psi(x) is made by a circuit on q wires, wire 0 being the most significant bit: the embedding of
   x, then per layer one rotation per wire by the weights and a ring of controlled nots. */
#ifndef LATHE_GRAM_H
#define LATHE_GRAM_H

#include "lathe/cluster.h"
#include "lathe/device.h"
#include "lathe/json.h"
#include "lathe/options.h"
#include "lathe/tune.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Options ------------------------------------------------------------------ */
typedef enum lt_embed {
    LT_EMBED_RY,               /* RY(s x_k) on wire k */
    LT_EMBED_RYRZ,             /* RY(s x_k), then RZ(s x_k) */
    LT_EMBED_ANGLE,            /* another name of ry */
    LT_EMBED_COUNT
} lt_embed;

typedef enum lt_entangler {
    LT_ENTANGLER_BASIC,        /* RX(W[l][k]), then a ring of controlled nots */
    LT_ENTANGLER_STRONG,       /* RZ RY RZ by W[l][k][0..2], then a ring of range l mod (q-1) + 1 */
    LT_ENTANGLER_COUNT
} lt_entangler;

typedef enum lt_gram_method {
    LT_GRAM_AUTO,              /* product where exact, transfer where exact and faster, else states */
    LT_GRAM_STATES,            /* state vectors and their overlaps: always exact */
    LT_GRAM_PRODUCT,           /* closed form; exact without re-embedding or with one layer */
    LT_GRAM_TRANSFER,          /* transfer matrices; exact with re-embedding and two layers */
    LT_GRAM_METHOD_COUNT
} lt_gram_method;

typedef enum lt_gram_float {
    LT_GRAM_FLOAT64,           /* error of an entry below 1e-12 */
    LT_GRAM_FLOAT32,           /* below 2e-5 */
    LT_GRAM_FLOAT16,           /* below 2e-3; of a GPU, for dtype only: states as in float32, products of half numbers */
    LT_GRAM_FLOAT_COUNT
} lt_gram_float;

LT_API const char *lt_embed_name(lt_embed e);              /* "ry", …; "?" when out of range, as all below */
LT_API const char *lt_entangler_name(lt_entangler e);
LT_API const char *lt_gram_method_name(lt_gram_method m);
LT_API const char *lt_gram_float_name(lt_gram_float f);    /* "float64" */
LT_API double      lt_gram_float_bound(lt_gram_float f);   /* no entry of K is further off before it is normalised; NaN when out of range */

typedef struct lt_gram_progress {
    size_t  size;
    int64_t tiles_done, tiles_total, pairs_done, pairs_total;
    double  seconds;
    int64_t states_done, states_total; /* of the rows being prepared for the next pairs; 0 and 0 while pairs are computed */
} lt_gram_progress;
/* Called now and then on the thread that called lt_gram_fill, and once at the end. False asks it to stop. */
typedef bool (*lt_gram_progress_fn)(void *ctx, const lt_gram_progress *p);

/* Plain data: start from lt_gram_defaults(). lt_options_help(lt_gram_options_table()) lists it. */
typedef struct lt_gram_options {
    size_t         size;
    lt_gram_progress_fn progress;  /* may be NULL */
    void          *progress_ctx;
    lt_embed       embed_mode;
    double         angle_scale;    /* s */
    bool           re_embed_between_layers;
    lt_entangler   entangler;
    lt_gram_method method;
    lt_gram_float  dtype;          /* of states and products; the CPU refuses float16 */
    lt_gram_float  return_dtype;   /* of K: float64 or float32 */
    bool           symmetric;      /* without Y: compute one half, mirror it; ignored with Y */
    bool           packed;         /* without Y: K is the upper triangle, row by row, N(N+1)/2 entries */
    bool           normalize;      /* K_ij / sqrt(K_ii K_jj) */
    double         jitter;         /* added to the diagonal before normalising; no effect without */
    int64_t        tile_size;      /* columns of K a task computes */
    int64_t        state_tile;     /* rows of states held at once when not all are; -1 = by memory */
    bool           precompute_all_states; /* hold all states when they fit */
    double         vram_fraction;  /* of the device's free memory to use */
    bool           autotune;       /* prefer stored timings to what is built in: method auto; shapes of a GPU's tiles */
    bool           dynamic_batch;  /* when not all states fit: row blocks follow memory and times */
    bool           learn_tiles;    /* tile_size, state_tile: use what was fast before, where they are at their defaults */
    bool           profile_memory; /* fill lt_gram_get_profile */
    bool           repair;         /* entries that are not finite: NaN, -Inf to 0, +Inf to 1, counted; else an error */
    int64_t        n_workers;      /* threads of this handle; 0 = the device's */
    /* Devices with memory of their own; the CPU has no use for these: */
    int64_t        streams;        /* 1: all in order; 2: K is copied to the host beside computing; more: panels beside each other */
    bool           pinned;         /* page-locked memory for X and K on their way */
    int64_t        sync_interval;  /* the host waits after this many launches; 0 = never before the end */
    bool           cuda_graphs;    /* repeated small calls are captured once and replayed */
} lt_gram_options;

LT_API void lt_gram_defaults_into(lt_gram_options *out);
static inline lt_gram_options lt_gram_defaults(void) { lt_gram_options sized; sized.size = sizeof sized; lt_gram_defaults_into(&sized); return sized; }
LT_API const lt_option_table *lt_gram_options_table(void);

/* ---- Matrices ------------------------------------------------------------------- */
typedef struct lt_rows {       /* n rows of `columns` numbers, row major, borrowed during the call */
    const void *data;
    lt_dtype    dtype;         /* LT_F64 or LT_F32 */
    int64_t     n, columns;
    int64_t     step;          /* elements from one row to the next; 0 = columns */
} lt_rows;

typedef struct lt_weights {    /* copied */
    const double *data;        /* (n_layers, n_qubits), or (n_layers, n_qubits, 3) of the strong entangler */
    int64_t       n_layers, n_qubits;
} lt_weights;

/* ---- Gram matrices --------------------------------------------------------------- */
typedef struct lt_gram lt_gram; /* opaque; one thread at a time, several handles at once */

/* dev NULL: the CPU. Borrows dev, which must outlive *out. On failure *out is NULL. */
LT_API lt_status lt_gram_create(lt_device *dev, const lt_gram_options *opt, const lt_weights *w, lt_gram **out);
/* On several devices with memory of their own: each takes rows of K as it finishes and makes the states it
   needs; K comes to one place on the host. One device is lt_gram_create. */
LT_API lt_status lt_gram_create_on(lt_device *const *devices, int n_devices, const lt_gram_options *opt, const lt_weights *w, lt_gram **out);
LT_API void      lt_gram_destroy(lt_gram *g);  /* NULL is allowed */

/* K (x->n by y->n, or by x->n when y is NULL; row major, element type return_dtype) of the rows of
   x with those of y. Without y the matrix is symmetric to the bit. Numbers that are not finite are
   refused by row and column. Same inputs and device: same bits, whatever the tiles, the number of
   threads and the memory at hand. A second call of the same sizes allocates nothing. LT_ERR_CANCELLED
   when the progress function said so; K is then partly written. */
LT_API lt_status lt_gram_fill(lt_gram *g, const lt_rows *x, const lt_rows *y, void *K);
/* On a device with memory of its own K may be NULL: the matrix then stays there, x->n by y->n, row major,
   until the next fill. NULL where the last fill copied it to the host. */
LT_API void     *lt_gram_device_matrix(const lt_gram *g);

/* All layers of psi(x) for each row: out (x->n, 2^q), complex numbers of options.dtype (of float32 for float16). */
LT_API lt_status lt_gram_states(lt_gram *g, const lt_rows *x, void *out);

typedef struct lt_gram_info {          /* of the last fill */
    size_t         size;
    lt_gram_method method;             /* the one used */
    const char    *backend;            /* "cpu", "cuda" */
    int            devices;
    char           kernel[48];         /* "overlap3_f64_avx512_24x8" */
    lt_gram_float  precision;          /* in which K was computed: closed forms are float64, float16 below 4 qubits is float32 */
    double         error_bound;        /* lt_gram_float_bound of it */
    int64_t        n, m, n_qubits, n_layers;
    int            threads;
    double         states_seconds, product_seconds, post_seconds, total_seconds;
    double         device_seconds, transfer_seconds; /* by the device's own clock; copying K to the host. 0 on the CPU */
    double         mpairs_per_s;       /* pairs computed (half the square when symmetric) over total time */
    double         tflops;             /* counted as 8 2^q (states), 8 q, 370 (q-1) per pair, over product time */
    int64_t        pairs, tiles, states_built;
    int64_t        peak_bytes;         /* held by the handle; K not counted */
    int64_t        repaired;           /* entries replaced, with options.repair */
    int64_t        graph_captures, graph_replays; /* of this handle so far, with options.cuda_graphs */
    char           plan[1024];         /* why this method, these tiles, this memory: lines of text */
    char           note[256];          /* what the user should know, as that weights cannot matter; "" = nothing */
} lt_gram_info;
LT_API void lt_gram_get_info_into(const lt_gram *g, lt_gram_info *out);
static inline lt_gram_info lt_gram_get_info(const lt_gram *g) { lt_gram_info sized; sized.size = sizeof sized; lt_gram_get_info_into(g, &sized); return sized; }

/* ---- K in a file, by one process or several ranks ------------------------------------------------------------ */
enum { LT_GRAM_DIGEST_BYTES = 33 };
typedef struct lt_gram_file_options {
    size_t      size;
    lt_cluster *cluster;               /* shares tiles between its ranks, which see one file system; NULL: this process is alone */
    const char *digest;                /* needed: lt_gram_digest (of a circuit lt_gram_digest_circuit), so that only a run of the same matrix is resumed */
    int64_t     memory_bytes;          /* of each rank, X and Y included; 0 = half of what is free, shared by the ranks of a machine */
    int64_t     side;                  /* rows and columns of a tile; 0 = by the sizes and the memory. A run that is resumed keeps its own */
    bool        resume;                /* keep finished tiles of a run that was ended; without one, begin */
    const volatile int *drain;         /* not 0: finish the tiles at hand and return, incomplete; NULL: never */
} lt_gram_file_options;
LT_API void lt_gram_file_defaults_into(lt_gram_file_options *out);
static inline lt_gram_file_options lt_gram_file_defaults(void) { lt_gram_file_options sized; sized.size = sizeof sized; lt_gram_file_defaults_into(&sized); return sized; }

typedef struct lt_gram_file_info {
    size_t  size;
    bool    complete;                  /* false after a drain */
    int64_t n, m, side, tiles, kept, made; /* kept: of an earlier run, read and compared with their checksums */
    int     ranks;
    int64_t file_bytes, memory_bytes;
    double  seconds;
    char    kind[112];                 /* "states, float64, cpu avx512" */
    int64_t states_made, states_taken; /* of all ranks: rows whose states were computed, and read from PATH.part.states instead, where that is faster */
} lt_gram_file_info;

/* K of x (with y, or with x itself where y is NULL) as a .npy file, never held as a whole: every byte is that of lt_gram_fill, for any number of ranks and
   any memory. It grows as PATH.part beside PATH.part.tiles, a table with a checksum for each tile, and both get their names, PATH and PATH.tiles, when K is
   whole. After a failure on the way the finished tiles stay, for a run with `resume`. All ranks call it; info of all is the same, and may be NULL. LT_ERR_ARGUMENT where another process
   writes it, or where what is there is of another matrix. Kernels whose entries depend on more than two rows (draws; projected ones without gamma) are refused. */
LT_API lt_status lt_gram_fill_file(lt_gram *g, const lt_rows *x, const lt_rows *y, const char *path, const lt_gram_file_options *opt, lt_gram_file_info *info);

typedef struct lt_gram_file lt_gram_file; /* opaque: K in a finished .npy file, of lathe or not */
LT_API lt_status lt_gram_file_open(const char *path, lt_gram_file **out);
LT_API void      lt_gram_file_close(lt_gram_file *f); /* NULL is allowed */
typedef struct lt_gram_file_shape { int64_t n, m; bool packed; lt_dtype dtype; int64_t tiles; } lt_gram_file_shape; /* tiles: of the table beside it; 0 = none */
LT_API lt_gram_file_shape lt_gram_file_get_shape(const lt_gram_file *f);
/* Rows first .. first + count - 1, all m columns, also of a packed file, as they are stored (shape.dtype); nothing else is read. */
LT_API lt_status lt_gram_file_rows(lt_gram_file *f, int64_t first, int64_t count, void *out);
/* Reads all tiles and compares them with the table. LT_ERR_MISMATCH names the first that differs; LT_ERR_ARGUMENT without a table. */
LT_API lt_status lt_gram_file_check(lt_gram_file *f);

/* ---- Nystrom features: for more rows than K has room for --------------------------------------------------- */
typedef struct lt_landmark_info {
    size_t  size;
    int64_t landmarks, rank;           /* columns of Z; those that are not zero */
    int64_t entries;                   /* of K that were computed to compare, in rows and columns drawn by lot */
    double  rms_error, max_error;      /* of Z Z' among them */
    double  seconds;
} lt_landmark_info;
/* Z (x->n by m, row major, element type return_dtype) with K ~ Z Z', from the m rows of x that the seed draws. K itself is never held. The kernel,
   its options and devices are those of the handle; packed is refused. info may be NULL. */
LT_API lt_status lt_gram_landmarks(lt_gram *g, const lt_rows *x, int64_t m, uint64_t seed, void *Z, lt_landmark_info *info);

/* ---- Profile of the last fill (options.profile_memory; zeros without) ------------------------------------ */
enum { LT_GRAM_MAX_ALLOCATIONS = 8 };
typedef struct lt_gram_profile {
    size_t         size;
    int            n_allocations;
    struct { const char *name; int64_t bytes; } allocation[LT_GRAM_MAX_ALLOCATIONS];
    int64_t        peak_bytes, total_bytes;      /* held by the handle; of the device */
    int64_t        h2d_bytes, d2h_bytes;         /* to and from the device; the CPU has none */
    double         h2d_seconds, d2h_seconds;
    int64_t        kernel_launches;              /* tiles, and groups of states */
    double         kernel_seconds;               /* of all launches, summed over threads */
    int64_t        batch_calls, batch_adjustments; /* with dynamic_batch */
    int64_t        batch_min, batch_max;         /* rows held, over the run */
    int            streams;                      /* that computed; 0 on the CPU, as all below */
    double         stream_utilization;           /* 1 - var/mean^2 of their launches */
    double         stream_busy;                  /* share of the device time they were at work */
    int64_t        syncs;                        /* times the host waited before the end */
    int64_t        graph_captures, graph_replays;
    double         mpairs_per_s;
} lt_gram_profile;
LT_API void lt_gram_get_profile_into(const lt_gram *g, lt_gram_profile *out);
static inline lt_gram_profile lt_gram_get_profile(const lt_gram *g) { lt_gram_profile sized; sized.size = sizeof sized; lt_gram_get_profile_into(g, &sized); return sized; }
/* The same as text in a box. */
LT_API lt_status lt_gram_profile_print(const lt_gram_profile *p, FILE *to);
/* The same as members of the JSON object being written: peak_allocated_gb, h2d_total_gb, … */
LT_API void      lt_gram_profile_json(const lt_gram_profile *p, lt_json *j);

/* ---- After the kernel --------------------------------------------------------------- */
/* K += jitter I where jitter > 0; d = sqrt(max(diag, 1e-12)); K_ij /= d_i d_j; diagonal exactly 1. */
LT_API lt_status lt_gram_normalize(double *K, int64_t n, double jitter);
/* K_ij /= sqrt(max(left_i, 1e-12)) sqrt(max(right_j, 1e-12)): left and right are k(x,x) and k(y,y). */
LT_API lt_status lt_gram_normalize_cross(double *K, int64_t n, int64_t m, const double *left, const double *right);

/* Double centring as of training: column_means (n) and *mean are what test rows need. */
LT_API lt_status lt_gram_center(double *K, int64_t n, double *column_means, double *mean);
/* Rows of K(test, train), centred with the training set's means. */
LT_API lt_status lt_gram_center_cross(double *K, int64_t n_test, int64_t n_train, const double *column_means, double mean);

/* Times states against transfer matrices for the numbers of qubits where either may win; method auto
   follows what the tuner of the cache folder holds (options.autotune). */
LT_API lt_status lt_gram_tune(lt_device *dev, lt_tuner *tuner);

/* 32 hexadecimal digits that stand for a matrix: for X, Y (may be NULL) and the weights by value, the circuit, precisions and what
   is done afterwards, and the version of results; for no switch that leaves entries as they are, such as methods, tiles or threads. */
LT_API lt_status lt_gram_digest(const lt_gram_options *opt, const lt_weights *w, const lt_rows *x, const lt_rows *y, char text[LT_GRAM_DIGEST_BYTES]);

/* ---- Sizes ---------------------------------------------------------------------------- */
/* States per tile of a device of total_bytes: the largest power of two not above
   (total fraction - 2 GiB) / state bytes, in 256..32768; 8192 when the arguments make no sense. */
LT_API int64_t lt_gram_state_tile(int64_t total_bytes, double fraction, int n_qubits, int bytes_per_amplitude);
/* States that may be held at once for both operands: at least 1024. */
LT_API int64_t lt_gram_max_precompute(int64_t total_bytes, double fraction, int n_qubits, int bytes_per_amplitude);

#ifdef __cplusplus
}
#endif
#endif
