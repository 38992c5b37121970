/* lathe gram --map and --circuit. SPDX-License-Identifier: BSD-3-Clause */
#include "cli/gram/gram.h"

#include <stdlib.h>
#include <string.h>

bool gram_has_circuit(const gram_cli *o) { return o->map || o->circuit; }

lt_similarity_options gram_similarity(const gram_job *j)
{
    lt_similarity_options s = j->o->similarity;
    s.size = sizeof s;
    s.seed = j->o->common.seed;
    return s;
}

static lt_status read_numbers(const char *path, lt_array *a)
{
    CLI_TRY(cli_blame_input(lt_npy_read(path, a)));
    if (a->dtype != LT_F64 && a->dtype != LT_F32) return cli_fail(LT_ERR_ARGUMENT, "--weights %s holds %s, expected float64 or float32", path, lt_dtype_name(a->dtype));
    return LT_OK;
}

/* The shape of the map, or all numbers in a row; any shape of the right size where the circuit has none of its own. */
static lt_status check_weights(const lt_circuit *c, const char *path, const lt_array *a)
{
    lt_circuit_info i = lt_circuit_describe(c);
    lt_shape flat = lt_shape1(i.n_weights);
    if (i.n_weights == 0) return cli_fail(LT_ERR_ARGUMENT, "--weights %s: this circuit has no weights", path);
    if (lt_shape_equal(&a->shape, &i.weights) || lt_shape_equal(&a->shape, &flat)) return LT_OK;
    if (i.weights.rank == 1 && lt_shape_count(&a->shape) == i.n_weights) return LT_OK; /* a circuit from a file knows no layers */
    return cli_fail(LT_ERR_ARGUMENT, "--weights %s has shape %s, expected %s", path, lt_shape_str(&a->shape).s, lt_shape_str(&i.weights).s);
}

static lt_status make(const char *map, const char *file, const lt_array *w, int64_t n_features, lt_circuit **out)
{
    lt_map_options opt = lt_map_defaults();
    if (file) return cli_blame_input(lt_circuit_read(file, out));
    opt.n_features = n_features;
    opt.n_layers = w->shape.rank > 1 ? w->shape.dim[0] : 0;
    return lt_circuit_from_map(map, &opt, out);
}

static lt_status copy_weights(const lt_circuit *c, const char *path, const lt_array *a, double **w)
{
    lt_circuit_info info = lt_circuit_describe(c);
    const int64_t n = info.n_weights;
    *w = calloc((size_t)n + 1, sizeof **w);
    if (!*w) return cli_fail(LT_ERR_MEMORY, "no memory for the weights");
    if (!path && n) return cli_fail(LT_ERR_ARGUMENT, "this circuit has weights: give --weights W.npy of shape %s", lt_shape_str(&info.weights).s);
    if (!path) return LT_OK;
    CLI_TRY(check_weights(c, path, a));
    for (int64_t i = 0; i < n; i++) (*w)[i] = a->dtype == LT_F64 ? ((double *)a->data)[i] : (double)((float *)a->data)[i];
    return LT_OK;
}

lt_status gram_circuit_make(const char *map, const char *file, const char *weights, int64_t n_features, bool without_weights, lt_circuit **out, double **w)
{
    lt_array a = { 0 };
    *out = NULL;
    *w = NULL;
    if (map && file) return cli_fail(LT_ERR_ARGUMENT, "--map and --circuit both name a circuit; give one of them");
    lt_status s = weights ? read_numbers(weights, &a) : LT_OK;
    if (!s) s = make(map, file, &a, n_features, out);
    if (!s && !without_weights) s = copy_weights(*out, weights, &a, w);
    lt_array_free(&a);
    return s;
}

/* Nor do options of circuits say anything about layers. */
lt_status gram_refuse_circuit_options(const gram_job *j)
{
    const lt_similarity_options *s = &j->o->similarity;
    if (s->kind != LT_SIMILARITY_FIDELITY || s->gamma > 0 || s->shots || s->depolarizing > 0)
        return cli_fail(LT_ERR_ARGUMENT, "--similarity, --gamma, --shots and --depolarizing are for circuits: give --map or --circuit; today's layers are --map basic and strong");
    if (j->o->circuit_out) return cli_fail(LT_ERR_ARGUMENT, "--circuit-out writes the circuit of --map or --circuit: give one of them");
    return LT_OK;
}

/* Options of layers say nothing about circuits: better refused than ignored. */
static lt_status check_options(const gram_job *j)
{
    const lt_gram_options *o = &j->o->gram, d = lt_gram_defaults();
    if (o->embed_mode != d.embed_mode || o->entangler != d.entangler || o->re_embed_between_layers || o->angle_scale != d.angle_scale)
        return cli_fail(LT_ERR_ARGUMENT, "--embed, --entangler, --re-embed and --angle-scale are for layers of --weights; a map or circuit says these things itself");
    return LT_OK;
}

lt_status gram_read_circuit(gram_job *j)
{
    CLI_TRY(check_options(j));
    CLI_TRY(gram_circuit_make(j->o->map, j->o->circuit, j->o->weights, j->X.columns, false, &j->circuit, &j->weights));
    j->qubits = lt_circuit_describe(j->circuit).n_qubits;
    return LT_OK;
}

/* --device auto means the CPU here: what a GPU takes for circuits has not been measured (decision 363). */
static lt_status choose_device(gram_job *j)
{
    if (j->n_devices || strcmp(j->c->common.device, "auto")) return LT_OK;
    CLI_TRY(lt_device_open("cpu", &j->device[0]));
    j->n_devices = 1;
    return LT_OK;
}

lt_status gram_open_circuit(gram_job *j, const lt_gram_options *opt)
{
    lt_similarity_options s = gram_similarity(j);
    CLI_TRY(choose_device(j));
    return lt_gram_create_circuit_on(j->n_devices ? j->device : &j->c->device, j->n_devices ? j->n_devices : 1, opt, &s, j->circuit, j->weights,
                                     lt_circuit_describe(j->circuit).n_weights, &j->gram);
}

lt_status gram_print_plan(gram_job *j)
{
    char text[2048];
    lt_weights w = { j->weights, j->w.shape.dim[0], j->w.shape.dim[1] };
    if (j->circuit) CLI_TRY(gram_open_circuit(j, &j->o->gram));
    else CLI_TRY(lt_gram_create(j->c->device, &j->o->gram, &w, &j->gram));
    CLI_TRY(lt_gram_explain(j->gram, j->X.n, j->o->y ? j->Y.n : 0, text, sizeof text));
    if (j->c->json) lt_json_field_string(j->c->json, "plan", text);
    else printf("%s\n", text);
    return LT_OK;
}
