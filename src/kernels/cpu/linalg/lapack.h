/* What the rows that call LAPACK share; OpenBLAS provides it. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_KERNELS_CPU_LINALG_LAPACK_H
#define LT_KERNELS_CPU_LINALG_LAPACK_H

#include "kernels/cpu/openblas.h"
#include "kernels/host_kernel.h"

/* Calls the routine of the right precision; array arguments are void pointers. */
#define LT_LAPACK_CALL(t, name, ...)                                 \
    do {                                                             \
        if ((t) == LT_F32) LT_OPENBLAS_CALL(s##name##_, __VA_ARGS__); \
        else LT_OPENBLAS_CALL(d##name##_, __VA_ARGS__);              \
    } while (0)

/* Helpers on n elements of type t (F32 or F64). */
bool lt_all_finite(lt_dtype t, const void *x, int64_t n);
void lt_fill_nan(lt_dtype t, void *x, int64_t n);
void lt_matrix_transpose(lt_dtype t, void *dst, const void *src, int64_t rows, int64_t columns); /* dst: columns x rows */

/* f32 or f64 throughout, with extents LAPACK can count; and OpenBLAS is here. */
bool lt_lapack_applies(const lt_problem_key *p);

#endif
