/* The function on a device: x goes over, kernels run, values and gradients come back, and the host waits once.
   SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_OPTIMIZE_DEVICE_EXCHANGE_H
#define LT_OPTIMIZE_DEVICE_EXCHANGE_H

#include "optimize/device/fan.h"
#include "optimize/problem/evaluator.h"

typedef struct lt_exchange lt_exchange;

/* For an evaluator whose programs are compiled for e->device and whose ports are described; it must outlive this. */
lt_status lt_exchange_create(const lt_evaluator *e, const lt_solve_options *opt, lt_exchange **out);
void      lt_exchange_destroy(lt_exchange *x); /* NULL is allowed; waits for work in flight */
/* Made with the same switches? */
bool      lt_exchange_fits(const lt_exchange *x, const lt_solve_options *opt);

/* Vectors on the device beside the solver's points, which then stay there: evaluations move values only. They belong to the exchange.
   LT_ERR_UNSUPPORTED where page-locked memory or double precision are missing. */
lt_status lt_exchange_vectors(lt_exchange *x, lt_device_vectors **out);
/* Memory for point number i (0, 1, 2) of the solver, where evaluations at `at` arrive without another copy: x, then constraint
   values (equalities first), then all gradients; with v, what lt_exchange_vectors gave, x and gradients on the device. What is not lent
   is left as it is: the solver takes its own, and results are copied there. */
lt_status lt_exchange_lend(lt_exchange *x, const lt_device_vectors *v, int i, double **at, double **c, double **grads);

lt_status lt_exchange_run(lt_exchange *x, const double *at, const lt_outputs *out);
/* Values at `count` points at once; v: what lt_exchange_vectors gave, if x is there. The exchange keeps them. */
lt_status lt_exchange_fan(lt_exchange *x, const lt_device_vectors *v, int count, lt_fan **out);
/* How many that would be where nobody says: 1 where it could not pay, or takes much memory to find out. */
int       lt_exchange_fan_auto(const lt_exchange *x);
lt_status lt_exchange_run_fan(lt_exchange *x); /* lt_fan_run, counted here */
/* Counts since the last call of reset; the Hessian's part stays zero here. */
lt_solve_transfers lt_exchange_read(const lt_exchange *x);
void      lt_exchange_reset(lt_exchange *x);

#endif
