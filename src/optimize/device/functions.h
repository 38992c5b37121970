/* The functions of a problem on a device: x goes over, kernels run, values and gradients come back, and the host waits once.
   SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_OPTIMIZE_DEVICE_FUNCTIONS_H
#define LT_OPTIMIZE_DEVICE_FUNCTIONS_H

#include "optimize/device/batch.h"
#include "optimize/problem/evaluator.h"

typedef struct lt_device_functions lt_device_functions;

/* For an evaluator whose programs are compiled for e->device and whose ports are described; it must outlive this. */
lt_status lt_device_functions_create(const lt_evaluator *e, const lt_solve_options *opt, lt_device_functions **out);
void      lt_device_functions_destroy(lt_device_functions *x); /* NULL is allowed; waits for work in flight */
/* Made with the same switches? */
bool      lt_device_functions_fits(const lt_device_functions *x, const lt_solve_options *opt);

/* Vectors on the device beside the solver's points, which then stay on it: evaluations move values only. They belong to the functions.
   LT_ERR_UNSUPPORTED where page-locked memory or double precision are missing. */
lt_status lt_device_functions_vectors(lt_device_functions *x, lt_device_vectors **out);
/* Memory for point number i (0, 1, 2) of the solver, where evaluations at `at` arrive without another copy: x, then constraint
   values (equalities first), then all gradients; with v, what lt_device_functions_vectors gave, x and gradients on the device. What is not lent
   is left as it is: the solver takes its own, and results are copied into that. */
lt_status lt_device_functions_lend(lt_device_functions *x, const lt_device_vectors *v, int i, double **at, double **c, double **grads);

lt_status lt_device_functions_run(lt_device_functions *x, const double *at, const lt_outputs *out);
/* Values at `count` points at once; v: what lt_device_functions_vectors gave, if x is on the device. The functions keep the batch. */
lt_status lt_device_functions_batch(lt_device_functions *x, const lt_device_vectors *v, int count, lt_batch **out);
/* How many that would be where nobody says: 1 where it could not pay, or takes much memory to find out. */
int       lt_device_functions_batch_auto(const lt_device_functions *x);
lt_status lt_device_functions_run_batch(lt_device_functions *x); /* lt_batch_run, counted here */
/* Counts since the last call of reset; the Hessian's part stays zero here. */
lt_solve_transfers lt_device_functions_read(const lt_device_functions *x);
void      lt_device_functions_reset(lt_device_functions *x);

#endif
