/* Machines in files: a .npz archive of named arrays. SPDX-License-Identifier: BSD-3-Clause */
#include "qkernel/svm/model_file.h"

#include "base/alloc.h"
#include "base/status.h"

#include <math.h>
#include <string.h>

/* ---- the members ---- */

#define AT(member) offsetof(lt_model, member)
const lt_model_whole lt_model_wholes[LT_MODEL_WHOLES] = {
    { "format", AT(format), 1, LT_MODEL_FORMAT, 1 },
    { "embed", AT(embed), 0, LT_EMBED_COUNT - 1, 1 },
    { "entangler", AT(entangler), 0, LT_ENTANGLER_COUNT - 1, 1 },
    { "re_embed", AT(re_embed), 0, 1, 1 },
    { "range", AT(range), LT_QSVM_RANGE_UNIT, LT_QSVM_RANGE_COUNT - 1, 1 },
    { "normalize", AT(normalize), 0, 1, 1 },
    { "method", AT(method), 0, LT_GRAM_METHOD_COUNT - 1, 1 },
    { "dtype", AT(dtype), 0, LT_GRAM_FLOAT_COUNT - 1, 1 },
    { "n_train", AT(n_train), 1, INT64_C(1) << 40, 1 },
    { "task", AT(task), 0, LT_QSVM_TASK_COUNT - 1, LT_MODEL_TASKS },
    { "n_classes", AT(n_classes), 0, LT_QSVM_MAX_CLASSES, LT_MODEL_TASKS },
    { "precomputed", AT(precomputed), 0, 1, LT_MODEL_TASKS },
    { "map_layers", AT(map_layers), 0, 1024, LT_MODEL_TASKS },
    { "similarity", AT(similarity), 0, LT_SIMILARITY_COUNT - 1, LT_MODEL_TASKS },
};
const lt_model_real lt_model_reals[LT_MODEL_REALS] = {
    { "angle_scale", AT(angle_scale), -INFINITY, INFINITY, 1 },
    { "jitter", AT(jitter), 0, INFINITY, 1 },
    { "bias", AT(bias), -INFINITY, INFINITY, 1 },
    { "threshold", AT(threshold), -INFINITY, INFINITY, 1 },
    { "C", AT(C), 0, INFINITY, 1 },
    { "epsilon", AT(epsilon), 0, INFINITY, LT_MODEL_TASKS },
    { "nu", AT(nu), 0, 1, LT_MODEL_TASKS },
    { "gamma", AT(gamma), 0, INFINITY, LT_MODEL_TASKS },
    { "depolarizing", AT(depolarizing), 0, 1, LT_MODEL_TASKS },
};
const lt_model_part lt_model_parts[LT_MODEL_PARTS] = {
    { "weights", AT(weights), LT_F64, 2, 3, 1 },
    { "mean", AT(mean), LT_F64, 1, 1, 1 },
    { "components", AT(components), LT_F64, 2, 2, 1 },
    { "low", AT(low), LT_F64, 1, 1, 1 },
    { "width", AT(width), LT_F64, 1, 1, 1 },
    { "support", AT(support), LT_F64, 2, 2, 1 },
    { "coefficient", AT(coefficient), LT_F64, 1, 2, 1 },
    { "class_names", AT(class_names), LT_U8, 2, 2, 1 },
    { "feature_names", AT(feature_names), LT_U8, 1, 1, LT_MODEL_NAMES },
    { "biases", AT(biases), LT_F64, 1, 1, LT_MODEL_TASKS },
    { "sigmoid", AT(sigmoid), LT_F64, 2, 2, LT_MODEL_TASKS },
    { "support_class", AT(support_class), LT_I32, 1, 1, LT_MODEL_TASKS },
    { "support_row", AT(support_row), LT_I64, 1, 1, LT_MODEL_TASKS },
    { "map", AT(map), LT_U8, 1, 1, LT_MODEL_TASKS },
    { "circuit", AT(circuit), LT_U8, 1, 1, LT_MODEL_TASKS },
    { "circuit_weights", AT(circuit_weights), LT_F64, 1, 1, LT_MODEL_TASKS },
};
#undef AT

/* ---- writing ---- */

static lt_array numbers(lt_dtype dtype, int64_t n, const void *data) { return (lt_array){ dtype, lt_shape1(data ? n : 0), (void *)(uintptr_t)data }; }
static lt_array text(const char *s) { return numbers(LT_U8, s ? (int64_t)strlen(s) : 0, s ? s : ""); }

static void put_kernel(const lt_qsvm *q, lt_model *m)
{
    const lt_gram_options *g = &q->gram_options;
    const lt_qsvm_info *i = &q->info;
    const int64_t qubits = q->prepare.n_outputs;
    const bool strong = g->entangler == LT_ENTANGLER_STRONG, layers = !q->opt.precomputed && !lt_qsvm_has_circuit(&q->opt);
    const int64_t n_layers = layers ? i->n_layers : 0;
    m->embed = i->embed_mode;
    m->entangler = g->entangler;
    m->re_embed = i->re_embed;
    m->range = i->range;
    m->normalize = g->normalize;
    m->method = g->method;
    m->dtype = g->dtype;
    m->angle_scale = i->angle_scale;
    m->jitter = g->jitter;
    m->weights = (lt_array){ LT_F64, strong ? lt_shape3(n_layers, qubits, 3) : lt_shape2(n_layers, qubits), q->weights };
    m->precomputed = q->opt.precomputed;
    m->map = text(q->opt.map);
    m->map_layers = q->opt.map ? q->opt.n_layers : 0;
    m->circuit = text(q->opt.circuit ? q->circuit_text : NULL);
    m->circuit_weights = numbers(LT_F64, q->n_weight_layers, lt_qsvm_has_circuit(&q->opt) ? q->weights : NULL);
    if (!q->opt.similarity) return;
    m->similarity = q->similarity.kind;
    m->gamma = q->similarity.gamma;
    m->depolarizing = q->similarity.depolarizing;
}

static void put_machines(const lt_qsvm *q, lt_model *m)
{
    const lt_decider *d = &q->decider[LT_QSVM_QUANTUM];
    const lt_qsvm_info *i = &q->info;
    const bool several = d->n_machines > 1;
    m->task = i->task;
    m->n_classes = i->n_classes;
    m->n_train = i->n;
    m->bias = d->bias[0];
    m->threshold = i->machine[LT_QSVM_QUANTUM].threshold;
    m->C = i->machine[LT_QSVM_QUANTUM].C;
    m->epsilon = i->epsilon;
    m->nu = i->nu;
    m->support = (lt_array){ LT_F64, lt_shape2(d->n_support, q->prepare.n_outputs), d->support };
    m->coefficient = (lt_array){ LT_F64, several ? lt_shape2(d->n_support, d->width) : lt_shape1(d->n_support), d->coefficient };
    m->biases = numbers(LT_F64, d->n_machines, d->bias);
    m->sigmoid = (lt_array){ LT_F64, lt_shape2(d->sigmoid ? d->n_machines : 0, 2), d->sigmoid };
    m->support_class = numbers(LT_I32, d->n_support, d->class_of);
    m->support_row = numbers(LT_I64, d->n_support, d->row);
    m->class_names = (lt_array){ LT_U8, lt_shape2(LT_MAX(2, i->n_classes), LT_QSVM_CLASS_NAME), q->class_names };
}

static lt_status write_members(const lt_model *m, const char *path)
{
    enum { ALL = LT_MODEL_WHOLES + LT_MODEL_REALS + LT_MODEL_PARTS };
    static const double nothing[1];
    const char *names[ALL];
    lt_array arrays[ALL];
    int n = 0;
    for (int k = 0; k < LT_MODEL_WHOLES; k++, n++) {
        names[n] = lt_model_wholes[k].name;
        arrays[n] = (lt_array){ LT_I64, lt_shape0(), (char *)(uintptr_t)m + lt_model_wholes[k].offset };
    }
    for (int k = 0; k < LT_MODEL_REALS; k++, n++) {
        names[n] = lt_model_reals[k].name;
        arrays[n] = (lt_array){ LT_F64, lt_shape0(), (char *)(uintptr_t)m + lt_model_reals[k].offset };
    }
    for (int k = 0; k < LT_MODEL_PARTS; k++, n++) {
        names[n] = lt_model_parts[k].name;
        arrays[n] = *(const lt_array *)((const char *)m + lt_model_parts[k].offset);
        if (!arrays[n].data) arrays[n].data = (void *)(uintptr_t)nothing; /* of no entries */
    }
    return lt_npz_write(path, ALL, names, arrays);
}

lt_status lt_qsvm_save(const lt_qsvm *q, const char *path)
{
    if (!q || !path) return LT_FAIL(LT_ERR_ARGUMENT, "qsvm: the handle or the path is NULL");
    if (!q->fitted) return LT_FAIL(LT_ERR_ARGUMENT, "qsvm: the machine has not been trained: nothing to save");
    if (q->opt.circuit && !q->circuit_text)
        return LT_FAIL(LT_ERR_ARGUMENT, "qsvm: the circuit has matrices or amplitudes, which OpenQASM has no words for: a machine of it cannot be kept; one of a named map can");
    const lt_prepare *p = &q->prepare;
    lt_model m = {
        .format = LT_MODEL_FORMAT,
        .mean = { LT_F64, lt_shape1(p->components ? p->n_features : 0), p->mean },
        .components = { LT_F64, lt_shape2(p->components ? p->n_outputs : 0, p->n_features), p->components },
        .low = { LT_F64, lt_shape1(p->n_outputs), p->low }, .width = { LT_F64, lt_shape1(p->n_outputs), p->width },
        .feature_names = text(q->info.feature_names),
    };
    put_kernel(q, &m);
    put_machines(q, &m);
    return write_members(&m, path);
}
