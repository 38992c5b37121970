/* What is tried before a run is given up (recover.c, sampling.c; decision 186). SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_OPTIMIZE_RECOVER_H
#define LT_OPTIMIZE_RECOVER_H

#include "optimize/search.h"

enum { LT_RECOVERY_STAGES = 8 };

typedef struct lt_recovery {
    int64_t n_used;          /* attempts in this run */
    int     stage;           /* the next attempt since the run last made progress by itself */
    int64_t wait_until;      /* iteration before which a small measure that is not certified is no reason to act */
    double  f, violation;    /* at the last attempt */
    bool    begun;           /* these are set */
    double *direction;       /* n: from sampled gradients, to be searched first, or the way to a lower point; NULL: not made yet */
    bool    directed;        /* it waits */
    bool    away;            /* the next step leads along all of it */
    bool    back;            /* the next step leads to the best feasible point */
    bool    direct;          /* it is the direction at hand */
    int64_t n_allocations;   /* made meanwhile: iterations themselves make none */
} lt_recovery;

void lt_recovery_release(lt_run *r);
/* The run would end with this code. True: something was changed, and it is to go on (or has been stopped for another reason). */
bool lt_recover(lt_run *r, lt_termination code);
/* A step that recovery has decided on, whatever phi says there; false: none. */
bool lt_recover_step_back(lt_run *r, lt_line_result *line);
/* phi is stationary at cur, but the KKT residual says otherwise: goes on, or ends the run. */
void lt_recover_uncertified(lt_run *r);
/* At the end, once the point has its certificate: a search that failed where the KKT conditions hold was the end. */
void lt_recover_settle(lt_run *r);
void lt_recover_slow(lt_run *r);          /* now and then: the run gets on, but mu is much too small */

/* Where the run has ended at its start it goes on, if there is a lower point nearby (leave.c). */
void lt_recover_start(lt_run *r);

/* Gradients at random points within `radius` of cur. They may certify it; otherwise the shortest vector of their hull is a direction.
   False: neither, or vectors are on a device. */
bool lt_sample_around(lt_run *r, double radius);

#endif
