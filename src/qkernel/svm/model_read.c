/* Stored machines read back: everything in the file is checked against everything else. SPDX-License-Identifier: BSD-3-Clause */
#include "qkernel/svm/model_file.h"

#include "base/alloc.h"
#include "base/status.h"
#include "device/flags.h"
#include "qkernel/circuit/circuit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static lt_status broken(const char *path, const char *name, const char *what)
{
    return LT_FAIL(LT_ERR_FORMAT, "%s: not a machine of lathe qsvm: '%s' %s", path, name, what);
}

/* ---- members ---- */

/* A failure that is a matter of the file's content, not of files as such. */
static lt_status of_content(const char *path, lt_status s)
{
    if (!s || s == LT_ERR_MEMORY || s == LT_ERR_IO || s == LT_ERR_DEVICE || s == LT_ERR_UNSUPPORTED) return s;
    char text[512];
    snprintf(text, sizeof text, "%s", lt_error_text());
    return LT_FAIL(LT_ERR_FORMAT, "%s: not a machine of lathe qsvm: %s", path, text);
}

static lt_status read_member(const char *path, const char *name, lt_dtype dtype, lt_array *a)
{
    LT_TRY(of_content(path, lt_npz_read(path, name, a)));
    return a->dtype == dtype ? LT_OK : broken(path, name, "has another type than expected");
}

static lt_status read_whole(const char *path, const lt_model_whole *w, lt_model *m)
{
    lt_array a = { 0 };
    lt_status s = read_member(path, w->name, LT_I64, &a);
    if (!s && a.shape.rank != 0) s = broken(path, w->name, "is not a single number");
    if (!s) {
        int64_t v = *(int64_t *)a.data;
        *(int64_t *)((char *)m + w->offset) = v;
        if (v < w->least || v > w->most) s = broken(path, w->name, "is out of range");
    }
    lt_array_free(&a);
    return s;
}

static lt_status read_real(const char *path, const lt_model_real *r, lt_model *m)
{
    lt_array a = { 0 };
    lt_status s = read_member(path, r->name, LT_F64, &a);
    if (!s && a.shape.rank != 0) s = broken(path, r->name, "is not a single number");
    if (!s) {
        double v = *(double *)a.data;
        *(double *)((char *)m + r->offset) = v;
        if (!isfinite(v) || v < r->least || v > r->most) s = broken(path, r->name, "is out of range");
    }
    lt_array_free(&a);
    return s;
}

static lt_status read_scalars(const char *path, lt_model *m)
{
    LT_TRY(read_whole(path, &lt_model_wholes[0], m)); /* the format, which says what else there is */
    for (int k = 1; k < LT_MODEL_WHOLES; k++)
        if (lt_model_wholes[k].since <= m->format) LT_TRY(read_whole(path, &lt_model_wholes[k], m));
    for (int k = 0; k < LT_MODEL_REALS; k++)
        if (lt_model_reals[k].since <= m->format) LT_TRY(read_real(path, &lt_model_reals[k], m));
    if (m->format < LT_MODEL_TASKS) m->n_classes = 2;
    return LT_OK;
}

static lt_status read_parts(const char *path, lt_model *m)
{
    for (int k = 0; k < LT_MODEL_PARTS; k++) {
        const lt_model_part *p = &lt_model_parts[k];
        lt_array *a = (lt_array *)((char *)m + p->offset);
        if (p->since > m->format) continue;
        LT_TRY(read_member(path, p->name, p->dtype, a));
        if (a->shape.rank < p->rank_low || a->shape.rank > p->rank_high) return broken(path, p->name, "has another shape than expected");
        int64_t n = lt_shape_count(&a->shape);
        for (int64_t i = 0; p->dtype == LT_F64 && i < n; i++)
            if (!isfinite(((double *)a->data)[i])) return broken(path, p->name, "holds numbers that are not finite");
    }
    return LT_OK;
}

/* ---- every extent against every other ---- */

static int64_t extent(const lt_array *a, int axis) { return a->data && axis < a->shape.rank ? a->shape.dim[axis] : 0; }
static bool is_new(const lt_model *m) { return m->format >= LT_MODEL_TASKS; }
static bool has_circuit(const lt_model *m) { return extent(&m->map, 0) > 0 || extent(&m->circuit, 0) > 0; }
static int64_t n_machines(const lt_model *m) { return m->task == LT_QSVM_CLASSIFY ? m->n_classes * (m->n_classes - 1) / 2 : 1; }

static lt_status check_prepared(const char *path, const lt_model *m)
{
    const int64_t q = m->low.shape.dim[0], n_components = m->components.shape.dim[0], n_features = m->components.shape.dim[1];
    if (m->width.shape.dim[0] != q) return broken(path, "width", "does not go with 'low'");
    if (m->mean.shape.dim[0] != (n_components ? n_features : 0)) return broken(path, "mean", "does not go with 'components'");
    if (m->precomputed) {
        if (q != 0) return broken(path, "low", "has entries, but the kernel was computed before");
        return n_components == 0 && n_features == m->n_train ? LT_OK : broken(path, "components", "does not go with 'n_train' and 'precomputed'");
    }
    if (q < 1 || q > LT_MODEL_MAX_QUBITS) return broken(path, "low", "has no entries, or too many");
    if (n_features < q || (n_components == 0 && n_features != q)) return broken(path, "components", "does not go with 'low'");
    if (n_components != 0 && (n_components != q || n_components >= n_features)) return broken(path, "components", "does not go with 'low'");
    return LT_OK;
}

static lt_status check_weights(const char *path, const lt_model *m)
{
    const bool strong = m->entangler == LT_ENTANGLER_STRONG;
    const lt_shape *w = &m->weights.shape;
    if (m->precomputed && has_circuit(m)) return broken(path, "precomputed", "does not go with 'map' and 'circuit'");
    if (extent(&m->map, 0) > 0 && extent(&m->circuit, 0) > 0) return broken(path, "circuit", "does not go with 'map'");
    if (m->precomputed || has_circuit(m)) return LT_OK;
    if (w->rank != 2 + strong || w->dim[0] < 1 || w->dim[0] > LT_MODEL_MAX_LAYERS || w->dim[1] != m->low.shape.dim[0] || (strong && w->dim[2] != 3))
        return broken(path, "weights", "does not go with 'low' and 'entangler'");
    return LT_OK;
}

static lt_status check_machines(const char *path, const lt_model *m)
{
    const int64_t n = m->coefficient.shape.dim[0], machines = n_machines(m);
    if (m->task == LT_QSVM_CLASSIFY ? m->n_classes < 2 : m->n_classes != 0) return broken(path, "n_classes", "does not go with 'task'");
    if (m->support.shape.dim[0] != n || m->support.shape.dim[1] != m->low.shape.dim[0] || n > m->n_train)
        return broken(path, "support", "does not go with 'coefficient', 'low' and 'n_train'");
    if (m->coefficient.shape.rank != (machines > 1 ? 2 : 1) || (machines > 1 && m->coefficient.shape.dim[1] != m->n_classes - 1))
        return broken(path, "coefficient", "does not go with 'n_classes'");
    if (m->class_names.shape.dim[0] != LT_MAX(2, m->n_classes) || m->class_names.shape.dim[1] != LT_QSVM_CLASS_NAME)
        return broken(path, "class_names", "has another shape than expected");
    if (!is_new(m)) return LT_OK;
    if (extent(&m->biases, 0) != machines) return broken(path, "biases", "does not go with 'n_classes'");
    if (extent(&m->sigmoid, 1) != 2 || (extent(&m->sigmoid, 0) != 0 && (extent(&m->sigmoid, 0) != machines || m->task != LT_QSVM_CLASSIFY)))
        return broken(path, "sigmoid", "does not go with 'task' and 'n_classes'");
    if (extent(&m->support_class, 0) != (machines > 1 ? n : 0)) return broken(path, "support_class", "does not go with 'coefficient'");
    if (extent(&m->support_row, 0) != n) return broken(path, "support_row", "does not go with 'coefficient'");
    return LT_OK;
}

/* ---- values ---- */

static lt_status check_names(const char *path, const lt_model *m)
{
    for (int64_t c = 0; c < m->class_names.shape.dim[0]; c++) {
        const char *name = (const char *)m->class_names.data + c * LT_QSVM_CLASS_NAME;
        size_t n = strnlen(name, LT_QSVM_CLASS_NAME);
        if (n == 0 || n == LT_QSVM_CLASS_NAME) return broken(path, "class_names", "holds no name, or one too long");
        for (size_t k = 0; k < n; k++)
            if ((unsigned char)name[k] < 0x20 || name[k] == 0x7f) return broken(path, "class_names", "holds control characters");
    }
    return LT_OK;
}

static lt_status check_values(const char *path, const lt_model *m)
{
    const int32_t *class_of = m->support_class.data;
    const int64_t *row = m->support_row.data;
    for (int64_t k = 0; k < m->width.shape.dim[0]; k++)
        if (((double *)m->width.data)[k] < 0) return broken(path, "width", "holds a negative number");
    for (int64_t k = 0; k < extent(&m->support_class, 0); k++)
        if (class_of[k] < 0 || class_of[k] >= m->n_classes) return broken(path, "support_class", "holds a class that does not exist");
    for (int64_t k = 0; k < extent(&m->support_row, 0); k++)
        if (row[k] < (k ? row[k - 1] + 1 : 0) || row[k] >= m->n_train) return broken(path, "support_row", "does not hold growing numbers of training rows");
    if (is_new(m) && m->task == LT_QSVM_ONE_CLASS && !(m->nu > 0)) return broken(path, "nu", "is out of range");
    if (m->gamma > 0 && m->similarity != LT_SIMILARITY_PROJECTED) return broken(path, "gamma", "does not go with 'similarity'");
    if (m->similarity == LT_SIMILARITY_PROJECTED && !(m->gamma > 0)) return broken(path, "gamma", "is out of range");
    return check_names(path, m);
}

/* ---- a handle ---- */

/* Hands an array's numbers over; released by lt_free, so they are copied out of the aligned block. NULL of none, where that is allowed. */
static lt_status take(const lt_array *a, size_t size, bool none, void *out)
{
    const size_t n = a->data ? (size_t)lt_shape_count(&a->shape) : 0;
    void *copy = none && n == 0 ? NULL : lt_malloc(LT_MAX(n, 1) * size);
    if (!copy && !(none && n == 0)) return LT_ERR_MEMORY;
    if (n) memcpy(copy, a->data, n * size);
    memcpy(out, &copy, sizeof copy);
    return LT_OK;
}
static lt_status take_reals(const lt_array *a, double **out) { return take(a, sizeof **out, false, out); }

static lt_status build_prepare(lt_qsvm *q, const lt_model *m)
{
    lt_prepare *p = &q->prepare;
    *p = (lt_prepare){ .n_features = m->components.shape.dim[1], .n_outputs = m->low.shape.dim[0], .scales = m->range != LT_QSVM_RANGE_NONE };
    if (m->precomputed) return LT_OK;
    if (m->components.shape.dim[0] > 0) {
        LT_TRY(take_reals(&m->components, &p->components));
        LT_TRY(take_reals(&m->mean, &p->mean));
    }
    LT_TRY(take_reals(&m->low, &p->low));
    return take_reals(&m->width, &p->width);
}

static lt_status build_decider(lt_decider *d, const lt_model *m)
{
    *d = (lt_decider){ .n_support = m->coefficient.shape.dim[0], .n_machines = n_machines(m), .width = LT_MAX(1, m->n_classes - 1) };
    LT_TRY(take_reals(&m->support, &d->support));
    LT_TRY(take_reals(&m->coefficient, &d->coefficient));
    LT_TRY(take(&m->sigmoid, sizeof *d->sigmoid, true, &d->sigmoid));
    LT_TRY(take(&m->support_class, sizeof *d->class_of, true, &d->class_of));
    if (d->n_machines > 1 && !d->class_of && !(d->class_of = lt_calloc(1, sizeof *d->class_of))) return LT_ERR_MEMORY; /* no support vector, but pairs */
    LT_TRY(take(&m->support_row, sizeof *d->row, true, &d->row));
    if (is_new(m)) return take_reals(&m->biases, &d->bias);
    d->bias = lt_malloc(sizeof *d->bias);
    if (!d->bias) return LT_ERR_MEMORY;
    d->bias[0] = m->bias;
    return LT_OK;
}

static void build_info(lt_qsvm *q, const lt_model *m)
{
    lt_qsvm_info *i = &q->info;
    const lt_decider *d = &q->decider[LT_QSVM_QUANTUM];
    i->embed_mode = q->circuit.embed_mode;
    i->angle_scale = m->angle_scale;
    i->re_embed = q->circuit.re_embed;
    i->reduced = q->prepare.components != NULL;
    i->range = (lt_qsvm_range)m->range;
    i->n = m->n_train;
    i->n_features = q->prepare.n_features;
    i->n_qubits = q->prepare.n_outputs;
    i->n_layers = q->circuit.n_layers;
    i->n_supports = d->n_support;
    i->probability = d->sigmoid != NULL;
    i->circuit = q->circuit_text;
    i->class_counts = NULL;
    lt_qsvm_fitted *f = &i->machine[LT_QSVM_QUANTUM];
    f->C = m->C;
    f->bias = d->bias[0];
    f->threshold = m->threshold;
    if (d->n_machines > 1) f->n_support[0] = d->n_support;
    for (int64_t k = 0; d->n_machines == 1 && k < d->n_support; k++) f->n_support[d->coefficient[k] > 0]++;
    f->support_fraction = (double)d->n_support / (double)m->n_train;
}

static lt_status build(lt_qsvm *q, const lt_model *m)
{
    LT_TRY(build_prepare(q, m));
    LT_TRY(build_decider(&q->decider[LT_QSVM_QUANTUM], m));
    const bool layers = !m->precomputed && !has_circuit(m);
    if (has_circuit(m)) LT_TRY(lt_qsvm_make_circuit_weights(q, q->prepare.n_outputs));
    if (layers) {
        LT_TRY(take_reals(&m->weights, &q->weights));
        q->n_weight_layers = m->weights.shape.dim[0];
    }
    q->circuit = (lt_qsvm_candidate){ .embed_mode = (lt_embed)m->embed, .angle_scale = m->angle_scale, .re_embed = m->re_embed != 0, .n_layers = layers ? q->n_weight_layers : 0 };
    build_info(q, m);
    if (!m->precomputed) LT_TRY(lt_qsvm_make_gram(q, &q->circuit, &q->gram));
    q->fitted = true;
    return LT_OK;
}

/* A machine trained on a GPU also predicts without one. */
static lt_gram_float precision_on(lt_device *dev, lt_gram_float trained_in)
{
    bool cpu = !lt_device_has(dev, LT_DEVICE_OWN_MEMORY);
    return cpu && trained_in == LT_GRAM_FLOAT16 ? LT_GRAM_FLOAT32 : trained_in;
}

/* Texts, which a file does not end with a zero byte. NULL in *out: none. */
static lt_status take_text(const char *path, const char *name, const lt_array *a, char **out)
{
    const size_t n = (size_t)extent(a, 0);
    *out = NULL;
    if (!n) return LT_OK;
    *out = lt_calloc(n + 1, 1);
    if (!*out) return LT_ERR_MEMORY;
    memcpy(*out, a->data, n);
    return strlen(*out) == n ? LT_OK : broken(path, name, "holds bytes of zero");
}

typedef struct texts { char *features, *map, *qasm; lt_circuit *circuit; } texts;

static lt_status take_texts(const char *path, const lt_model *m, texts *t)
{
    if (take_text(path, "feature_names", &m->feature_names, &t->features) || !lt_qsvm_names_fit(t->features, m->components.shape.dim[1]))
        return broken(path, "feature_names", "are not a line for each feature");
    LT_TRY(take_text(path, "map", &m->map, &t->map));
    LT_TRY(take_text(path, "circuit", &m->circuit, &t->qasm));
    if (!t->qasm) return LT_OK;
    LT_TRY(of_content(path, lt_circuit_from_qasm(t->qasm, strlen(t->qasm), "circuit", &t->circuit)));
    return t->circuit->n_features == m->low.shape.dim[0] ? LT_OK : broken(path, "circuit", "does not go with 'low'");
}

static void drop_texts(texts *t)
{
    lt_free(t->features);
    lt_free(t->map);
    lt_free(t->qasm);
    lt_circuit_destroy(t->circuit);
}

static lt_gram_options gram_of(lt_device *dev, const lt_model *m)
{
    lt_gram_options gram = lt_gram_defaults();
    gram.entangler = (lt_entangler)m->entangler;
    gram.normalize = m->normalize != 0;
    gram.jitter = m->jitter;
    gram.method = (lt_gram_method)m->method;
    gram.dtype = precision_on(dev, (lt_gram_float)m->dtype);
    return gram;
}

static lt_status create(lt_device *dev, const lt_model *m, const texts *t, lt_qsvm **out)
{
    const bool circuit = t->map || t->circuit;
    const char *names[LT_QSVM_MAX_CLASSES];
    for (int64_t c = 0; c < m->class_names.shape.dim[0]; c++) names[c] = (const char *)m->class_names.data + c * LT_QSVM_CLASS_NAME;
    lt_qsvm_options opt = lt_qsvm_defaults();
    lt_gram_options gram = gram_of(dev, m);
    lt_similarity_options similarity = lt_similarity_defaults();
    similarity.kind = (lt_similarity)m->similarity;
    similarity.gamma = m->gamma;
    similarity.depolarizing = m->depolarizing;
    opt.gram = &gram;
    opt.range = m->precomputed ? LT_QSVM_RANGE_AUTO : (lt_qsvm_range)m->range;
    opt.feature_names = t->features;
    opt.task = (lt_qsvm_task)m->task;
    opt.n_classes = m->n_classes;
    opt.class_names = names;
    opt.precomputed = m->precomputed != 0;
    opt.probability = extent(&m->sigmoid, 0) > 0;
    opt.map = t->map;
    opt.n_layers = t->map ? m->map_layers : 0;
    opt.circuit = t->circuit;
    if (is_new(m)) opt.epsilon = m->epsilon;
    if (m->nu > 0) opt.nu = m->nu;
    if (circuit) {
        opt.similarity = &similarity;
        opt.circuit_weights = m->circuit_weights.data;
        opt.n_circuit_weights = extent(&m->circuit_weights, 0);
    }
    return lt_qsvm_create(dev, &opt, out);
}

static lt_status from_model(lt_device *dev, const lt_model *m, const texts *t, lt_qsvm **out)
{
    LT_TRY(create(dev, m, t, out));
    lt_status s = build(*out, m);
    if (s) {
        lt_qsvm_destroy(*out);
        *out = NULL;
    }
    return s;
}

lt_status lt_qsvm_load(lt_device *dev, const char *path, lt_qsvm **out)
{
    if (!out || !path) return LT_FAIL(LT_ERR_ARGUMENT, "qsvm: the path or out is NULL");
    *out = NULL;
    lt_model m = { 0 };
    texts t = { 0 };
    lt_status s = read_scalars(path, &m);
    if (!s) s = read_parts(path, &m);
    if (!s) s = check_prepared(path, &m);
    if (!s) s = check_weights(path, &m);
    if (!s) s = check_machines(path, &m);
    if (!s) s = check_values(path, &m);
    if (!s) s = take_texts(path, &m, &t);
    if (!s) s = of_content(path, from_model(dev, &m, &t, out));
    drop_texts(&t);
    for (int k = 0; k < LT_MODEL_PARTS; k++) lt_array_free((lt_array *)((char *)&m + lt_model_parts[k].offset));
    return s;
}
