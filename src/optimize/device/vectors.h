/* A run's vectors on the device: arithmetic is noted down and carried out in few launches, inner products come to the host as
   single numbers, many in one wait. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_OPTIMIZE_DEVICE_VECTORS_H
#define LT_OPTIMIZE_DEVICE_VECTORS_H

#include "device/recording.h"
#include "lathe/solve.h"
#include "optimize/vectors/vectors.h"

typedef struct lt_device_vectors lt_device_vectors;
#define LT_VECTORS_MAX_GRADIENTS 64 /* at one point, for those who lay out lists of them */
#define LT_VECTORS_MAX_PASSED 12

/* For vectors of n numbers; work is queued on st, which must outlive this. Its lists and numbers need page-locked memory:
   LT_ERR_UNSUPPORTED without. */
lt_status lt_device_vectors_create(lt_device *dev, lt_stream *st, const lt_solve_options *opt, int64_t n, lt_device_vectors **out);
void      lt_device_vectors_destroy(lt_device_vectors *v); /* NULL is allowed; waits for work in flight */
lt_stream *lt_device_vectors_stream(const lt_device_vectors *v);

/* ---- Memory: until lt_device_vectors_reset ---- */
lt_status lt_device_vectors_take(lt_device_vectors *v, int64_t count, const char *what, double **out); /* on the device; zeros */
lt_status lt_device_vectors_take_host(lt_device_vectors *v, int64_t count, double **out); /* page-locked: both sides reach it */
void      lt_device_vectors_reset(lt_device_vectors *v);   /* waits; gives all of it back, forgets everything */

/* ---- Arithmetic: queued, in the order of the calls ---- */
/* to = c[0] a[0] + c[1] a[1] + …; `to` may be among them. */
void lt_device_vectors_combine(lt_device_vectors *v, int64_t m, const double *c, const double *const *a, double *to);
void lt_device_vectors_fill(lt_device_vectors *v, double value, double *to);
/* The same term by term: to = sum of c a. */
void lt_device_vectors_sum_begin(lt_device_vectors *v, double *to);
void lt_device_vectors_sum_add(lt_device_vectors *v, double c, const double *a);
void lt_device_vectors_sum_end(lt_device_vectors *v);
/* Statements between these touch different vectors and read none that another writes: they may run side by side. */
void lt_device_vectors_many_begin(lt_device_vectors *v, int64_t count);
void lt_device_vectors_many_end(lt_device_vectors *v);
/* A copy in page-locked memory of lt_device_vectors_take_host: on its way with the next numbers that are waited for, behind them, so that nobody
   waits for it. Copies are numbered from 1 on, and arrive in that order. */
int64_t lt_device_vectors_keep(lt_device_vectors *v, const double *from, double *host);
int64_t lt_device_vectors_arrived(const lt_device_vectors *v); /* the last that has */
void lt_device_vectors_put(lt_device_vectors *v, int64_t count, const double *from_host, double *to); /* these two wait */
void lt_device_vectors_get(lt_device_vectors *v, int64_t count, const double *from, double *to_host);

/* ---- Numbers ---- */
/* One is known from an earlier wait, or everything expected until now is computed, and waited for once. A vector that is
   written makes what is known about it unknown. NaN after a failure. */
double lt_device_vectors_measure(lt_device_vectors *v, lt_measure what, const double *a, const double *b);
void   lt_device_vectors_expect(lt_device_vectors *v, lt_measure what, const double *a, const double *b);
bool   lt_device_vectors_awaited(lt_device_vectors *v, lt_measure what, const double *a, const double *b); /* expected: it comes with the next wait */
bool   lt_device_vectors_known(lt_device_vectors *v, lt_measure what, const double *a, const double *b, double *out); /* false: not without a wait */
double lt_device_vectors_norm2(lt_device_vectors *v, const double *a); /* scaled where squares would overflow */
void   lt_device_vectors_written(lt_device_vectors *v, const double *first, int64_t count); /* by others: no longer known */
void   lt_device_vectors_forget(lt_device_vectors *v); /* all that is known: cheaper than one by one */

/* ---- Launches ---- */
/* Lists of a fixed place, for sequences that are recorded: `pack` puts what was noted down into the list, the recorded sequence begins
   with what `queue` launches. */
typedef enum lt_device_vectors_list { LT_LIST_EVALUATION, LT_LIST_EXCHANGE, LT_LIST_PRODUCT, LT_LIST_FIRST_FREE } lt_device_vectors_list;
void      lt_device_vectors_pack(lt_device_vectors *v, lt_device_vectors_list where, const double *passed, int count);
const double *lt_device_vectors_passed(const lt_device_vectors *v); /* on the device: where `count` numbers (at most LT_VECTORS_MAX_PASSED) arrive with a list */
lt_status lt_device_vectors_queue(lt_device_vectors *v, lt_device_vectors_list where);
lt_status lt_device_vectors_queue_exchange(lt_device_vectors *v); /* what a wait for numbers launches */
lt_status lt_device_vectors_queue_sums(lt_device_vectors *v, lt_device_vectors_list where); /* the same after a list that holds them, without statements in between */
/* A captured sequence, begun by the list of products, that is to run before anything noted down from here on: alone, with the exchange that follows it
   behind, or, where that has no statements, with its sums behind. All must last until then. */
typedef struct lt_deferred { const lt_recording *alone, *with_exchange, *with_sums; } lt_deferred;
void      lt_device_vectors_defer(lt_device_vectors *v, const lt_deferred *d);
void      lt_device_vectors_overwrite(lt_device_vectors *v, const double *to); /* the deferred sequence will write `to`: call this before its list is packed */
void lt_device_vectors_flush(lt_device_vectors *v);    /* what was noted down is queued: other kernels may follow it */
void lt_device_vectors_settle(lt_device_vectors *v);   /* and waited for */
/* An evaluation, recorded or queued by `queue`, which begins with the list of evaluations and ends with lt_device_vectors_queue_after: statements
   before it, numbers after it, and `count` values to the host (2 count doubles), in one wait. */
lt_status lt_device_vectors_evaluate(lt_device_vectors *v, const lt_recording *recorded, lt_record_fn queue, void *ctx, const double *host, int64_t count,
                                     lt_solve_crossings *n);
lt_status lt_device_vectors_queue_after(lt_device_vectors *v, const double *values, int64_t count, double *host);
void      lt_device_vectors_values(const double *host, int64_t first, int64_t count, double *to); /* to NULL: nothing */

/* The first failure, its text again in lt_error_text(); LT_OK if none. */
lt_status lt_device_vectors_failure(const lt_device_vectors *v);
lt_solve_crossings lt_device_vectors_crossings(const lt_device_vectors *v); /* waits of its own; evaluations count theirs */

#endif
