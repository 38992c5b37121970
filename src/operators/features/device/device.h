/* Features of rollouts measured where their states are: a device's kernels make a record of each state, and
   records are copied to the host instead of states. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_OPERATORS_FEATURES_DEVICE_DEVICE_H
#define LT_OPERATORS_FEATURES_DEVICE_DEVICE_H

#include "operators/features/features.h"
#include "operators/rollout/device/device.h"

typedef struct lt_device_features lt_device_features; /* one set, grid, M and T; any number of runs, one at a time */

/* Whether the features of such rollouts are measured on the device; else why not, and the states travel to the
   CPU: optional per-step categories, channels averaged first, grids above 256 or with a prime factor above 7, and
   runs whose records would take more than 256 MiB. */
bool      lt_device_features_fit(const lt_feature_set *s, int grid, int64_t realizations, int64_t steps, char why[static 160]);
/* Device memory that those would take, before they are made. */
lt_status lt_device_features_need(const lt_feature_set *s, int grid, int64_t realizations, int64_t steps, int64_t *bytes);
lt_status lt_device_features_create(lt_device *dev, const lt_feature_set *s, int grid, int64_t realizations, int64_t steps,
                                    lt_device_features **out);
/* Builds their kernels and lets them go, for a device that notes their texts (device/build_list.h). */
lt_status lt_device_features_prepare(lt_device *dev, const lt_feature_set *s, int grid, int64_t realizations, int64_t steps);
void      lt_device_features_destroy(lt_device_features *f); /* NULL is allowed; none of its work may be under way */
int64_t   lt_device_features_bytes(const lt_device_features *f); /* of device memory */
/* For lt_rollout_set_reader, while f lives. */
lt_state_reader lt_device_features_reader(lt_device_features *f);
/* Of the last run, or of the steps a sink was called for: (T, M), until the next one. */
const struct lt_state_record *lt_device_features_records(const lt_device_features *f);
/* Gives the records of step t to s, which must have come to it: once a sink was called for it, or after a run. */
lt_status lt_device_features_push(const lt_device_features *f, lt_feature_stream *s, int64_t t);

#endif
