/* CNN operators in double precision. SPDX-License-Identifier: BSD-3-Clause */
#include "bench/generate/operator_oracle.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_TENSORS = 64 };

typedef struct oracle {
    const lt_operator_spec *spec;
    const char *file;
    lt_graph   *graph;
    int         n;
    double     *tensor[MAX_TENSORS];
    lt_status   status;      /* of the first tensor that could not be read */
} oracle;

/* A tensor of the file as an input in double precision. */
static lt_node tensor(oracle *o, const char *prefix, const char *suffix)
{
    char name[80];
    lt_array a;
    snprintf(name, sizeof name, "%s%s", prefix, suffix);
    if (o->status || o->n == MAX_TENSORS) return LT_NONE;
    o->status = lt_npz_read(o->file, name, &a);
    if (o->status) return LT_NONE;
    int64_t count = lt_shape_count(&a.shape);
    double *wide = malloc((size_t)count * sizeof *wide);
    if (!wide) o->status = cli_fail(LT_ERR_MEMORY, "no memory for %lld weights", (long long)count);
    for (int64_t i = 0; wide && i < count; i++) wide[i] = ((const float *)a.data)[i];
    lt_shape shape = a.shape;
    lt_array_free(&a);
    if (!wide) return LT_NONE;
    o->tensor[o->n++] = wide;
    return lt_input(o->graph, name, LT_F64, shape);
}

static lt_node conv(oracle *o, const char *name, lt_node x, int kernel, lt_node bias)
{
    lt_conv_options opt = lt_conv_defaults();
    opt.padding[0] = opt.padding[1] = kernel / 2;
    return lt_conv2d(o->graph, x, tensor(o, name, ".weight"), bias, &opt);
}

static lt_node block(oracle *o, const char *name, lt_node x)
{
    lt_graph *g = o->graph;
    lt_node y = conv(o, name, x, o->spec->kernel_size, LT_NONE);
    lt_node gamma = tensor(o, name, ".norm.weight"), beta = tensor(o, name, ".norm.bias");
    return lt_gelu(g, lt_groupnorm(g, y, lt_node_shape(g, y).dim[1], gamma, beta, 1e-5));
}

static lt_node layer(oracle *o, int i, lt_node x)
{
    char name[32], part[48];
    snprintf(name, sizeof name, "blocks.%d", i);
    if (o->spec->num_layers <= 3) return block(o, name, x);
    snprintf(part, sizeof part, "%s.conv1", name);
    lt_node y = block(o, part, x);
    snprintf(part, sizeof part, "%s.conv2", name);
    y = block(o, part, y);
    if (lt_node_shape(o->graph, x).dim[1] == lt_node_shape(o->graph, y).dim[1]) return lt_add(o->graph, y, x);
    snprintf(part, sizeof part, "%s.proj", name);
    return lt_add(o->graph, y, conv(o, part, x, 1, LT_NONE));
}

static lt_status apply(oracle *o, const float *field, double *out)
{
    int64_t side = o->spec->grid, n = LT_FIELD_CHANNELS * side * side;
    lt_node x = lt_input(o->graph, "field", LT_F64, lt_shape4(1, LT_FIELD_CHANNELS, side, side));
    lt_node y = block(o, "stem", x);
    for (int i = 0; i < o->spec->num_layers; i++) y = layer(o, i, y);
    lt_node w = tensor(o, "output", ".weight");
    y = lt_conv2d(o->graph, y, w, tensor(o, "output", ".bias"), NULL);
    if (o->status) return o->status;
    double *wide = malloc((size_t)n * sizeof *wide);
    if (!wide) return cli_fail(LT_ERR_MEMORY, "no memory for a field");
    for (int64_t i = 0; i < n; i++) wide[i] = field[i];
    const void *input[MAX_TENSORS + 1] = { wide };
    for (int i = 0; i < o->n; i++) input[i + 1] = o->tensor[i];
    lt_program *p = NULL;
    lt_status s = lt_program_create(o->graph, &y, 1, NULL, &p);
    if (!s) s = lt_program_run(p, input, (void *[]){ out });
    lt_program_destroy(p);
    free(wide);
    return s;
}

static lt_status from_file(const lt_operator_spec *spec, const char *weights, const float *field, double *out)
{
    oracle o = { .spec = spec, .file = weights };
    CLI_TRY(lt_graph_create(&o.graph));
    lt_status s = apply(&o, field, out);
    lt_graph_destroy(o.graph);
    for (int i = 0; i < o.n; i++) free(o.tensor[i]);
    return s;
}

static size_t field_size(const lt_operator_spec *s) { return LT_FIELD_CHANNELS * (size_t)s->grid * (size_t)s->grid; }

lt_status operator_oracle(const lt_operator_spec *spec, const lt_operator_weights *w, const float *field, double **out)
{
    cli_folder folder;
    *out = malloc(field_size(spec) * sizeof **out);
    if (!*out) return cli_fail(LT_ERR_MEMORY, "no memory for a state in double precision");
    CLI_TRY(cli_folder_make(&folder));
    cli_folder_path path = cli_folder_file(&folder, "weights.npz");
    lt_status s = lt_operator_weights_save(w, path.s);
    if (!s) s = from_file(spec, path.s, field, *out);
    cli_folder_remove(&folder);
    return s;
}

/* ---- Errors --------------------------------------------------------------------------------------- */

typedef struct distance { const double *want; size_t n; double error; } distance;

static lt_status measure(void *ctx, int64_t t, const float *state, const int64_t *failed)
{
    distance *d = ctx;
    double difference = 0, size = 0;
    (void)t, (void)failed;
    for (size_t i = 0; i < d->n; i++) {
        difference += (state[i] - d->want[i]) * (state[i] - d->want[i]);
        size += d->want[i] * d->want[i];
    }
    d->error = sqrt(difference / size);
    return LT_OK;
}

lt_status operator_error_on(lt_device *device, const lt_operator_spec *spec, lt_precision precision, const lt_operator_weights *w, const float *field,
                            const double *want, double *error)
{
    lt_operator_spec quiet = *spec;
    lt_rollout_options opt = lt_rollout_defaults();
    distance d = { want, field_size(spec), NAN };
    lt_rollout *r = NULL;
    quiet.noise_scale = 0;
    opt.steps = 1;
    opt.precision = precision;
    opt.device = device;
    lt_status s = lt_rollout_create(&quiet, &opt, &r);
    if (!s) s = lt_rollout_set_operator(r, &quiet, w);
    if (!s) s = lt_rollout_run(r, field, -1, measure, &d, NULL);
    lt_rollout_destroy(r);
    *error = d.error;
    return s;
}

lt_status operator_error(const lt_operator_spec *spec, lt_precision precision, const lt_operator_weights *w, const float *field, const double *want,
                         double *error)
{
    return operator_error_on(NULL, spec, precision, w, field, want, error);
}

double operator_error_limit(lt_precision precision)
{
    static const double limit[LT_PRECISION_COUNT] = { [LT_PRECISION_FLOAT32] = 1e-5, [LT_PRECISION_FLOAT16] = 4e-3, [LT_PRECISION_BFLOAT16] = 3e-2, [LT_PRECISION_TF32] = 2e-3 };
    return limit[precision];
}
