/* The solver's vectors, wherever they live: one table of functions, filled for the host (host_vectors.c) and for a device
   (../device/vectors_table.c). The algorithm calls these and never asks where it runs (decision 110). SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_OPTIMIZE_VECTORS_VECTORS_H
#define LT_OPTIMIZE_VECTORS_VECTORS_H

#include "base/arena.h"
#include "lathe/solve.h"
#include "optimize/vectors/measure.h"

typedef struct lt_vectors lt_vectors;

/* A vector that was formed as c[0] a[0] + c[1] a[1] + …, and stands in `whole`. */
typedef struct lt_combination { int64_t m; const double *c; const double *const *a; const double *whole; } lt_combination;

typedef struct lt_vectors_table {
    /* Work is queued, a number costs a wait of the host, and only these functions reach a vector. Otherwise the host reads vectors
       where they are, and everything is done at once. */
    bool queues;

    /* ---- memory ---- */
    lt_status (*take)(const lt_vectors *v, int64_t count, const char *what, double **out); /* zeros, until the run ends */
    lt_status (*take_kept)(const lt_vectors *v, double **out);                             /* n numbers on the host, for `keep` */
    lt_status (*take_block)(const lt_vectors *v, int64_t count, const char *what, double **out); /* large; pages are used as they fill */
    void      (*give_block)(const lt_vectors *v, double *block);

    /* ---- arithmetic ---- */
    void (*combine)(const lt_vectors *v, int64_t m, const double *c, const double *const *a, double *to);
    void (*copy)(const lt_vectors *v, int64_t rows, const double *a, double *to);
    void (*fill)(const lt_vectors *v, double value, double *to);
    void (*sum_begin)(const lt_vectors *v, double *y);
    void (*sum_add)(const lt_vectors *v, double c, const double *a, double *y);

    /* ---- numbers ---- */
    double (*dot)(const lt_vectors *v, const double *a, const double *b);
    double (*dot_sum)(const lt_vectors *v, const double *a, const lt_combination *b);
    double (*norm2)(const lt_vectors *v, const double *a);
    double (*max_abs)(const lt_vectors *v, const double *a);
    double (*distance)(const lt_vectors *v, const double *a, const double *b);
    bool   (*finite)(const lt_vectors *v, const double *a);

    /* ---- the host's side ---- */
    void    (*put)(const lt_vectors *v, int64_t count, const double *from_host, double *to);
    void    (*get)(const lt_vectors *v, int64_t count, const double *from, double *to_host);
    const double *(*look)(const lt_vectors *v, int64_t count, const double *from, int64_t row);
    double *(*stage)(const lt_vectors *v, double *vector);
    int64_t (*keep)(const lt_vectors *v, const double *from, double *kept);

    /* ---- what is queued: NULL on the host ---- */
    void (*sum_end)(const lt_vectors *v);
    void (*many_begin)(const lt_vectors *v, int64_t count);
    void (*many_end)(const lt_vectors *v);
    void (*expect)(const lt_vectors *v, lt_measure what, const double *a, const double *b);
    bool (*awaited)(const lt_vectors *v, lt_measure what, const double *a, const double *b);
    bool (*known)(const lt_vectors *v, lt_measure what, const double *a, const double *b, double *out);
    void (*forget)(const lt_vectors *v);
    void (*written)(const lt_vectors *v, const double *first, int64_t count);
    int64_t (*arrived)(const lt_vectors *v);
    void (*settle)(const lt_vectors *v);
    lt_status (*failure)(const lt_vectors *v);
    void (*report)(const lt_vectors *v, lt_solve_transfers *to);
    void (*end_run)(const lt_vectors *v);
} lt_vectors_table;

struct lt_vectors {
    const lt_vectors_table *on;
    int64_t     n;               /* numbers of a vector */
    lt_arena   *arena;           /* host: what `take` gives */
    const struct lt_dense *dense; /* host: its loops */
    struct lt_device_vectors *device;   /* device */
    double     *window;          /* device: host memory through which vectors are seen, `rows` of n numbers */
};

/* Vectors of n numbers on the host. The arena may be NULL where nothing is taken. */
lt_vectors  lt_vectors_on_host(int64_t n, lt_arena *arena);
/* The same on a device. The window has `rows` vectors, and belongs to the arena. */
lt_status lt_vectors_on_device(struct lt_device_vectors *v, int64_t n, int64_t rows, lt_arena *arena, lt_vectors *out);

static inline bool lt_vectors_reads(const lt_vectors *v) { return !v->on->queues; } /* the host does, where vectors are */

/* ---- Arithmetic: carried out, or queued in the order of the calls --------------------------------------------------------- */
static inline void lt_vectors_combine(const lt_vectors *v, int64_t m, const double *c, const double *const *a, double *to) /* to = c[0] a[0] + …; may be among them */
{
    v->on->combine(v, m, c, a, to);
}

static inline void lt_vectors_scaled(const lt_vectors *v, double c, const double *a, double *to) { v->on->combine(v, 1, &c, &a, to); } /* to = c a */
static inline void lt_vectors_scale(const lt_vectors *v, double c, double *y) { lt_vectors_scaled(v, c, y, y); }
static inline void lt_vectors_copy(const lt_vectors *v, int64_t rows, const double *a, double *to) { v->on->copy(v, rows, a, to); } /* vectors one after the other */
static inline void lt_vectors_fill(const lt_vectors *v, double value, double *y) { v->on->fill(v, value, y); }

static inline void lt_vectors_mix(const lt_vectors *v, double c, const double *a, double d, const double *b, double *to) /* to = c a + d b */
{
    v->on->combine(v, 2, (const double[]){ c, d }, (const double *const[]){ a, b }, to);
}

static inline void lt_vectors_step(const lt_vectors *v, const double *x, double t, const double *d, double *y) { lt_vectors_mix(v, 1, x, t, d, y); } /* y = x + t d */
static inline void lt_vectors_difference(const lt_vectors *v, const double *a, const double *b, double *to) { lt_vectors_mix(v, 1, a, -1, b, to); }

/* y = 0, then y += c a for some c and a, then the end: on a device one statement, made of what came in between. */
static inline void lt_vectors_sum(const lt_vectors *v, double *y) { v->on->sum_begin(v, y); }
static inline void lt_vectors_add(const lt_vectors *v, double c, const double *a, double *y) { v->on->sum_add(v, c, a, y); }
static inline void lt_vectors_sum_end(const lt_vectors *v) { if (v->on->sum_end) v->on->sum_end(v); }
/* Statements between these touch different vectors and read none that another writes: they may run side by side. */
static inline void lt_vectors_many_begin(const lt_vectors *v, int64_t count) { if (v->on->many_begin) v->on->many_begin(v, count); }
static inline void lt_vectors_many_end(const lt_vectors *v) { if (v->on->many_end) v->on->many_end(v); }

/* ---- Numbers ----------------------------------------------------------------------------------------------------------------- */
static inline double lt_vectors_dot(const lt_vectors *v, const double *a, const double *b) { return v->on->dot(v, a, b); }
static inline double lt_vectors_norm2(const lt_vectors *v, const double *a) { return v->on->norm2(v, a); }
static inline double lt_vectors_max_abs(const lt_vectors *v, const double *a) { return v->on->max_abs(v, a); }
static inline double lt_vectors_distance(const lt_vectors *v, const double *a, const double *b) { return v->on->distance(v, a, b); }
static inline bool   lt_vectors_finite(const lt_vectors *v, const double *a) { return v->on->finite(v, a); }

/* a'b: the host takes the vector, a device the numbers about its terms, which are known or come together. */
static inline double lt_vectors_dot_sum(const lt_vectors *v, const double *a, const lt_combination *b) { return v->on->dot_sum(v, a, b); }

/* Numbers that will be asked for soon: they come with the next wait, whatever it is for. Nothing on the host. Never needed for an answer,
   only for the number of waits. */
static inline void lt_vectors_expect(const lt_vectors *v, lt_measure what, const double *a, const double *b) { if (v->on->expect) v->on->expect(v, what, a, b); }
static inline bool lt_vectors_awaited(const lt_vectors *v, lt_measure what, const double *a, const double *b) { return v->on->queues && v->on->awaited(v, what, a, b); } /* expected */
/* False: not without a wait; on the host always. */
static inline bool lt_vectors_known(const lt_vectors *v, lt_measure what, const double *a, const double *b, double *out) { return v->on->queues && v->on->known(v, what, a, b, out); }
static inline void lt_vectors_forget(const lt_vectors *v) { if (v->on->forget) v->on->forget(v); } /* all that is known: cheaper than one by one */
/* by others: no longer known */
static inline void lt_vectors_written(const lt_vectors *v, const double *first, int64_t count) { if (v->on->written) v->on->written(v, first, count); }

/* ---- The host's side: these wait ---------------------------------------------------------------------------------------------- */
static inline void lt_vectors_put(const lt_vectors *v, int64_t count, const double *from_host, double *to) { v->on->put(v, count, from_host, to); }
static inline void lt_vectors_get(const lt_vectors *v, int64_t count, const double *from, double *to_host) { v->on->get(v, count, from, to_host); }
/* For reading: where it is, or in the window from row `row` on. */
static inline const double *lt_vectors_look(const lt_vectors *v, int64_t count, const double *from, int64_t row) { return v->on->look(v, count, from, row); }
/* n numbers on the host for a vector: the vector itself, or the window, from where lt_vectors_put brings them. */
static inline double *lt_vectors_stage(const lt_vectors *v, double *vector) { return v->on->stage(v, vector); }

/* A copy in memory of take_kept, which nobody waits for: on a device it is on its way behind the next numbers. Copies are numbered, and
   arrive in that order; on the host they have arrived at once. */
static inline int64_t lt_vectors_keep(const lt_vectors *v, const double *from, double *kept) { return v->on->keep(v, from, kept); }
static inline int64_t lt_vectors_arrived(const lt_vectors *v) { return v->on->queues ? v->on->arrived(v) : 0; } /* the last that has */
static inline void lt_vectors_settle(const lt_vectors *v) { if (v->on->settle) v->on->settle(v); }             /* waits for everything */
/* The first failure, its text again in lt_error_text(); LT_OK if none. */
static inline lt_status lt_vectors_failure(const lt_vectors *v) { return v->on->queues ? v->on->failure(v) : LT_OK; }

static inline void lt_vectors_report(const lt_vectors *v, lt_solve_transfers *to) { if (v->on->report) v->on->report(v, to); }
static inline void lt_vectors_end_run(const lt_vectors *v) { if (v->on->end_run) v->on->end_run(v); } /* gives back what was taken and not given back */

#endif
