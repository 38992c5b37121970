/* An embedding of an initial field by a small network with drawn weights. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_OPERATORS_FEATURES_INITIAL_CNN_H
#define LT_OPERATORS_FEATURES_INITIAL_CNN_H

#include "lathe/base.h"

typedef struct lt_initial_cnn lt_initial_cnn; /* one user at a time */

/* vae: the code is the mean of an autoencoder's, a linear map of its own. */
lt_status lt_initial_cnn_create(uint64_t seed, int dim, bool vae, int max_grid, lt_initial_cnn **out);
void      lt_initial_cnn_destroy(lt_initial_cnn *c); /* NULL is allowed */
/* Of a field [3, grid, grid]: [dim], averaged over channels. */
void      lt_initial_cnn_compute(lt_initial_cnn *c, const float *field, int grid, float *out);

#endif
