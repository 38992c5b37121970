/* Two states back through the passes of a factor, and the derivatives that fall off on the way. SPDX-License-Identifier: BSD-3-Clause

   With phi the states of a group of rows and lambda what they are differentiated against, a rotation exp(-i t/2 P) adds Im <lambda|P|phi> / 2
   to the derivative by t, both taken just behind it. All rotations about products of Zs of one pass come out of one transform of
   Im(conj(lambda) phi). */
#ifndef LT_QKERNEL_SIMULATE_ADJOINT_H
#define LT_QKERNEL_SIMULATE_ADJOINT_H

#include "qkernel/simulate/simulate.h"

typedef struct lt_adjoint {
    const lt_simulator *m;
    int      needs;            /* LT_EXPR_NEEDS_*: derivatives by angles that depend on none of these are left out */
    lt_slot  phi, lambda;      /* lambda shares all but its states with phi */
    double  *slope;            /* (tape, lanes): derivatives are added to it */
    double  *twist;            /* (32, 3, lanes) of scratch */
    double  *transform, *sums; /* of scratch: (2^q, lanes); (terms of a factor, at least one, lanes) */
} lt_adjoint;

/* phi holds the coefficients of the factor's gates. The states are used up. */
void lt_adjoint_run(lt_adjoint *a, const lt_factor *f);

#endif
