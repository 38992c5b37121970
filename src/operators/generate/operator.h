/* One operator of a dataset on its way: rollout, features, row. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_OPERATORS_GENERATE_OPERATOR_H
#define LT_OPERATORS_GENERATE_OPERATOR_H

#include "operators/generate/generate.h"

typedef struct lt_operator_run {
    lt_generator       *g;
    lt_ready           *ready;         /* what runs; lt_ahead's, until it is done */
    int64_t             row;           /* of the table */
    lt_feature_stream  *stream;        /* until its features are finished; NULL: none are wanted */
    lt_store_row       *out;           /* NULL: in the file already, it runs for the sake of its batch */
    float              *field;         /* a copy when finishing waits for the batch */
    lt_learned         *learned;
    lt_device_features *measured;      /* features are measured on the device; NULL: here, from the states */
    int64_t             steps;         /* shown so far */
    lt_rollout_result   result;
    bool                ended;
    lt_status           started, failure; /* of the rollout's start; of the operator, once it has ended */
    char                why[160];      /* of the failure */
} lt_operator_run;

/* Starts the rollout. A fault of the operator, or of the device under it, is noted in *o and LT_OK. */
lt_status lt_operator_run_start(lt_generator *g, lt_ready *ready, lt_operator_run *o);
/* Waits for it, and noted is what became of it; one that has ended is left as it is. */
lt_status lt_operator_run_end(lt_operator_run *o);
/* Whether it failed for the sake of the device: a fault of driver or library says nothing about the operator. */
static inline bool lt_operator_run_is_lost(const lt_operator_run *o) { return o->failure == LT_ERR_DEVICE; }
/* Runs one that is lost again, as long as the device can be used: by its rollout, then by one made anew, with streams and library handles
   of its own. Nothing else may be under way; the thread ahead rests meanwhile. */
lt_status lt_operator_run_again(lt_operator_run *o);
/* Features to their arrays, the row to the writer, whatever became of it. The row is gone afterwards. */
lt_status lt_operator_run_finish(lt_operator_run *o, const float *field);
/* A fault may have taken the device along: then the operators to come would all fail for no fault of theirs. */
lt_status lt_operator_run_check_device(const lt_operator_run *o);
void      lt_operator_run_release(lt_operator_run *o); /* a row that is not finished is dropped; a zeroed one is allowed */

#endif
