/* Writes weights, a field and one application of several operators as files, for comparison in PyTorch:
   export_step DIRECTORY. SPDX-License-Identifier: BSD-3-Clause */
#include "lathe/npy.h"
#include "lathe/operator.h"
#include "lathe/rng.h"

#include <stdio.h>
#include <stdlib.h>

static const char *folder;

typedef struct output { const char *path; lt_shape shape; } output;

static lt_status save(void *ctx, int64_t t, const float *states, const int64_t *failed)
{
    const output *o = ctx;
    (void)t;
    (void)failed;
    return lt_npy_write(o->path, LT_F32, &o->shape, states);
}

static lt_status export_one(const char *name, lt_operator_spec s)
{
    char path[512];
    lt_operator_weights *w = NULL;
    lt_rollout *r = NULL;
    lt_rollout_options opt = lt_rollout_defaults();
    lt_shape shape = lt_shape4(1, LT_FIELD_CHANNELS, s.grid, s.grid);
    int64_t n = lt_shape_count(&shape);
    float *field = malloc((size_t)n * sizeof *field);
    lt_draws d = lt_draws_make(5, "test field", 0, 0, 0);
    opt.steps = 1;
    s.noise = LT_NOISE_NONE;
    lt_status status = field ? lt_draws_normal_f32(&d, 0, n, field) : LT_ERR_MEMORY;
    snprintf(path, sizeof path, "%s/%s.field.npy", folder, name);
    if (!status) status = lt_npy_write(path, LT_F32, &shape, field);
    if (!status) status = lt_operator_weights_create(&s, &w);
    if (!status) status = lt_operator_weights_draw(w, 3, 1);
    snprintf(path, sizeof path, "%s/%s.weights.npz", folder, name);
    if (!status) status = lt_operator_weights_save(w, path);
    if (!status) status = lt_rollout_create(&s, &opt, &r);
    if (!status) status = lt_rollout_set_operator(r, &s, w);
    snprintf(path, sizeof path, "%s/%s.output.npy", folder, name);
    output o = { path, shape };
    if (!status) status = lt_rollout_run(r, field, -1, save, &o, NULL);
    lt_rollout_destroy(r);
    lt_operator_weights_destroy(w);
    free(field);
    return status;
}

static lt_status export_all(void)
{
    for (int layers = 2; layers <= 4; layers += 2)
        for (int norm = 0; norm < LT_NORM_COUNT; norm++) {
            lt_operator_spec s = lt_operator_defaults(LT_OPERATOR_CNN);
            char name[64];
            s.num_layers = layers, s.base_channels = 16, s.grid = 24, s.kernel_size = layers == 2 ? 5 : 3, s.normalization = (lt_normalization)norm;
            snprintf(name, sizeof name, "cnn.%s.%d", lt_normalization_name(s.normalization), layers);
            lt_status status = export_one(name, s);
            if (status) return status;
        }
    lt_operator_spec s = lt_operator_defaults(LT_OPERATOR_UAFNO);
    s.base_channels = 6, s.grid = 32, s.encoder_levels = 2, s.modes = 5, s.afno_blocks = 2, s.hidden_dim = 20;
    return export_one("uafno.instance.2", s);
}

int main(int argc, char **argv)
{
    if (argc != 2) return fprintf(stderr, "usage: export_step DIRECTORY\n"), 2;
    folder = argv[1];
    if (export_all()) return fprintf(stderr, "%s\n", lt_error_text()), 1;
    return 0;
}
