/* Rows of circuits of any gates on a device: what the files above this folder call. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_QKERNEL_DEVICE_CIRCUITS_CIRCUITS_H
#define LT_QKERNEL_DEVICE_CIRCUITS_CIRCUITS_H

#include "qkernel/device/circuits/sweeps.h"
#include "qkernel/device/parts.h"

/* Kernels: coefficients and sweeps of chunks of chunk_bits, or the closed form of circuits whose wires never meet. */
void lt_circuit_kernels_add(lt_builder *b, const lt_device_info *info, const lt_kernel_request *q, lt_gram_kernels *k);

/* Tables on the device and lists for the host, of one circuit. */
typedef struct lt_circuit_rows {
    const lt_compiled *program; /* borrowed */
    lt_sweeps       sweeps;
    lt_device_block memory;     /* all tables */
    lt_sweep_job    job;        /* with the addresses of tables */
    lt_coefficient_job coefficients;
} lt_circuit_rows;

lt_status lt_circuit_rows_open(lt_row_maker *m, const lt_compiled *p, bool closed);
void      lt_circuit_rows_close(lt_row_maker *m);
lt_status lt_circuit_rows_states(lt_row_maker *m, const lt_rows *x, int64_t first, int64_t n, void *to);
lt_status lt_circuit_rows_wires(lt_row_maker *m, const lt_rows *x, int64_t first, int64_t n, int64_t padded, void *to);
/* Its parts: how many rows have their coefficients on the device at a time; those of some rows, as *job says; one launch. */
int64_t   lt_circuit_rows_at_once(const lt_row_maker *m, int64_t n);
lt_status lt_circuit_rows_coefficients(lt_row_maker *m, const lt_rows *x, int64_t first, int64_t n, lt_sweep_job *job);
lt_status lt_circuit_launch(lt_row_maker *m, const lt_kernel *k, const void *job, size_t bytes);

/* ---- apart from Gram handles ---- */

/* States of all rows to the host, as they are: p is compiled for states; or their Bloch vectors (n_rows, 3, wires): p has one factor. */
lt_status lt_circuit_device_states(lt_device *dev, const lt_compiled *p, lt_gram_float type, const lt_rows *x, void *out);
lt_status lt_circuit_device_bloch(lt_device *dev, const lt_compiled *p, lt_gram_float type, const lt_rows *x, double *out);

typedef struct lt_circuit_slopes {
    const lt_compiled *p;     /* of one factor, that keeps weights */
    const lt_rows *x;
    const double *loss;       /* (n, n) */
    bool    real_part;
    double *dw, *dx;          /* dx (n, features) may be NULL */
} lt_circuit_slopes;
/* Derivatives of sum_ij loss_ij K_ij, as lt_gram_gradient has them. */
lt_status lt_circuit_device_gradient(lt_device *dev, lt_pool *pool, const lt_circuit_slopes *s);

#endif
