/* One operator of a dataset on its way: rollout, features, row. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_OPERATORS_GENERATE_OPERATOR_H
#define LT_OPERATORS_GENERATE_OPERATOR_H

#include "operators/generate/generate.h"

typedef struct lt_operator_run {
    lt_generator       *g;
    lt_ready           *ready;         /* what runs; owned by the prefetch thread, to which it returns */
    int64_t             row;           /* of the table */
    lt_feature_stream  *stream;        /* until its features are finished; NULL: none are wanted */
    lt_store_row       *out;           /* the row is in the file already and runs only because its batch is clipped together */
    float              *field;         /* a copy when finishing waits for the batch */
    lt_learned         *learned;
    lt_device_features *measured;      /* measures features on the device; NULL: the host computes them from the states */
    int64_t             steps;         /* states received so far */
    lt_rollout_result   result;
    bool                ended;
    lt_status           started, failure; /* of the rollout's start; of the operator, once it has ended */
    char                why[160];      /* of the failure */
} lt_operator_run;

/* Starts the rollout. A fault of the operator, or of its device, is noted in *o and returns LT_OK. */
lt_status lt_operator_run_start(lt_generator *g, lt_ready *ready, lt_operator_run *o);
/* Waits until the rollout has ended and notes the result in *o. Does nothing for one that has ended. */
lt_status lt_operator_run_end(lt_operator_run *o);
/* Whether the device, driver or a library failed, which says nothing about the operator (decision 145). */
static inline bool lt_operator_run_is_lost(const lt_operator_run *o) { return o->failure == LT_ERR_DEVICE; }
/* Runs a lost operator again while the device can be used: first with the same rollout, then with a new one that has its own streams and
   library handles. Nothing else may be running; the prefetch thread is held meanwhile. */
lt_status lt_operator_run_again(lt_operator_run *o);
/* Writes features to their arrays and hands the row to the writer, whether or not it succeeded. The row is gone afterwards. */
lt_status lt_operator_run_finish(lt_operator_run *o, const float *field);
/* Whether the device still works after a fault: if not, all operators to come would fail because of it. */
lt_status lt_operator_run_check_device(const lt_operator_run *o);
void      lt_operator_run_release(lt_operator_run *o); /* a row that is not finished is dropped; a zeroed one is allowed */

#endif
