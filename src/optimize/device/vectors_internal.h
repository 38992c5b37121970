/* Vectors on the device from inside. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_OPTIMIZE_DEVICE_VECTORS_INTERNAL_H
#define LT_OPTIMIZE_DEVICE_VECTORS_INTERNAL_H

#include "optimize/options.h"
#include "optimize/device/mover.h"
#include "optimize/device/vectors.h"
#include "optimize/device/vectors_job.h"

typedef enum lt_vector_entry { LT_VECTORS_IN_ORDER, LT_VECTORS_SIDE_BY_SIDE, LT_VECTORS_FINISH, LT_VECTORS_ENTRY_COUNT } lt_vector_entry; /* its functions */

/* Room in a list. */
enum { LT_LIST_STATEMENTS = 64, LT_LIST_MAX_SUMS = 1024,
       LT_LIST_TERMS = (LT_LIST_MOST - LT_LIST_HEAD - 4 * LT_LIST_STATEMENTS) / 2,
       LT_LIST_COPIES = 8, LT_LIST_WORDS = LT_LIST_MOST + 4 * (LT_LIST_MAX_SUMS + LT_LIST_COPIES) };

static inline int64_t lt_list_sums(const lt_word *w) { return LT_LIST_HEAD + 4 * w[0].i + 2 * w[1].i; } /* where they begin */

_Static_assert((int)LT_LIST_COPY == (int)LT_MEASURE_COUNT, "copies differ from sums by their kind");
_Static_assert(LT_LIST_PASSED + 1 + LT_VECTORS_MAX_PASSED == LT_LIST_HEAD, "numbers passed stand behind their count");

enum { LT_VECTORS_ARRIVAL = sizeof(lt_arrival) / sizeof(double) };
enum { LT_VECTORS_LISTS = 16, LT_VECTORS_MAX_PIECES = 48, LT_VECTORS_MAX_KNOWN = 4096, LT_VECTORS_TABLE = 8192, LT_VECTORS_SUM_TERMS = 96 };

typedef struct lt_list { lt_host_memory words, results; double *rest; bool in_flight; } lt_list; /* rest: on the device, for the sums' kernel */
/* Statements of one level may run side by side; those of the next one after them. */
typedef struct lt_vector_statement { double *to; int64_t first, count; double constant; int level; bool dead; } lt_vector_statement;
typedef struct lt_vector_term { double c; const double *a; } lt_vector_term;
typedef struct lt_kept { const double *from; double *host; } lt_kept;
typedef struct lt_sum_of { double *to; int64_t m; bool onto; double c[LT_VECTORS_SUM_TERMS]; const double *a[LT_VECTORS_SUM_TERMS]; } lt_sum_of;
/* A number that is known, or wanted (place >= 0: which sum of the next launch). */
typedef struct lt_number { lt_measure what; double value; int place, entry; } lt_number; /* entry: in the table */

struct lt_device_vectors {
    lt_device *dev;
    lt_stream *stream;
    lt_settings settings;      /* for memory; pointers in them are not followed */
    lt_vector_sizes z;
    double    *sizes, *passed, *scratch; /* on the device: z; numbers that go with a list; n numbers */
    uint32_t   ticket;         /* of the sums launched last */
    lt_kernel *kernel[LT_VECTORS_ENTRY_COUNT];
    lt_list    lists[LT_VECTORS_LISTS];   /* the first ones belong to captured sequences */
    int        next;           /* list of the next launch */
    lt_recording exchange;     /* statements and sums of an exchange; empty: launched one by one */
    lt_deferred deferred;      /* a sequence that goes first; NULL: none */
    double    *piece[LT_VECTORS_MAX_PIECES];
    lt_host_memory host_piece[LT_VECTORS_MAX_PIECES];
    int        n_pieces, n_host_pieces;
    lt_vector_statement statement[LT_LIST_STATEMENTS];
    lt_vector_term    term[LT_LIST_TERMS];
    int64_t    n_statements, n_terms;
    int        n_levels;
    bool       side_by_side;   /* the statements noted now */
    lt_sum_of  sum;            /* the statement in the making */
    lt_number  known[LT_VECTORS_MAX_KNOWN];
    const double *about[2][LT_VECTORS_MAX_KNOWN]; /* by number: its vectors; NULL: one of them was written, so the number is no longer known */
    int16_t    table[LT_VECTORS_TABLE];   /* by hash: one more than the index in known */
    int        n_known, wanted[LT_LIST_MAX_SUMS], n_wanted;
    int64_t    list_bytes;     /* of launches since the last wait */
    lt_kept    copies[LT_LIST_COPIES]; /* that go with the next sums */
    int        n_copies;
    int64_t    n_kept;         /* copies asked for; and up to which one they are … */
    int64_t    noted, launched, due, arrived; /* … statements, in a list that was filled, arrived when the next wait ends, arrived */
    lt_status  failure;
    char       text[400];
    lt_solve_crossings crossings;
};

/* ---- What the files about them share ---- */
/* What was noted down, into a list: statements, then sums and copies. */
void lt_device_vectors_pack_statements(lt_device_vectors *v, lt_word *w);
void lt_device_vectors_pack_sums(lt_device_vectors *v, lt_word *w);
void lt_device_vectors_note_copies(lt_device_vectors *v);  /* those not gone yet become statements */
void lt_device_vectors_exchange(lt_device_vectors *v);     /* all numbers wanted until now, in one wait */
void lt_device_vectors_take_results(lt_device_vectors *v, const lt_list *l);
double lt_arrival_number(const lt_arrival *a);

/* The same in C for a device that is the host. */
lt_kernel *lt_device_vectors_host_kernel(lt_vector_entry entry, const char *name); /* NULL: no memory */
/* Shares of one sum, folded; also of the shares themselves. */
double     lt_device_vectors_fold(lt_measure what, double sum, double more);

#endif
