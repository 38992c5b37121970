/* Machines in files: a .npz archive of named arrays, everything checked when it is read.
   SPDX-License-Identifier: BSD-3-Clause */
#include "qkernel/svm/machine.h"

#include "base/alloc.h"
#include "base/status.h"
#include "device/flags.h"
#include "lathe/npy.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { FORMAT = 2, /* 1: without feature_names */ MOST_QUBITS = 4096, MOST_LAYERS = 1 << 20 };

/* ---- the members ---- */

typedef struct model { /* what the file says, before it becomes a handle */
    int64_t format, embed, entangler, re_embed, range, normalize, method, dtype, n_train;
    double  angle_scale, jitter, bias, threshold, C;
    lt_array weights, mean, components, low, width, support, coefficient, class_names, feature_names;
} model;

typedef struct whole { const char *name; size_t offset; int64_t least, most; } whole;
static const whole wholes[] = {
    { "format", offsetof(model, format), 1, FORMAT },
    { "embed", offsetof(model, embed), 0, LT_EMBED_COUNT - 1 },
    { "entangler", offsetof(model, entangler), 0, LT_ENTANGLER_COUNT - 1 },
    { "re_embed", offsetof(model, re_embed), 0, 1 },
    { "range", offsetof(model, range), LT_QSVM_RANGE_UNIT, LT_QSVM_RANGE_COUNT - 1 },
    { "normalize", offsetof(model, normalize), 0, 1 },
    { "method", offsetof(model, method), 0, LT_GRAM_METHOD_COUNT - 1 },
    { "dtype", offsetof(model, dtype), 0, LT_GRAM_FLOAT_COUNT - 1 },
    { "n_train", offsetof(model, n_train), 2, INT64_C(1) << 40 },
};
typedef struct real { const char *name; size_t offset; double least; } real;
static const real reals[] = {
    { "angle_scale", offsetof(model, angle_scale), -INFINITY }, { "jitter", offsetof(model, jitter), 0 },
    { "bias", offsetof(model, bias), -INFINITY }, { "threshold", offsetof(model, threshold), -INFINITY }, { "C", offsetof(model, C), 0 },
};
typedef struct part { const char *name; size_t offset; lt_dtype dtype; int rank_low, rank_high; } part;
static const part parts[] = {
    { "weights", offsetof(model, weights), LT_F64, 2, 3 }, { "mean", offsetof(model, mean), LT_F64, 1, 1 },
    { "components", offsetof(model, components), LT_F64, 2, 2 }, { "low", offsetof(model, low), LT_F64, 1, 1 },
    { "width", offsetof(model, width), LT_F64, 1, 1 }, { "support", offsetof(model, support), LT_F64, 2, 2 },
    { "coefficient", offsetof(model, coefficient), LT_F64, 1, 1 }, { "class_names", offsetof(model, class_names), LT_U8, 2, 2 },
    { "feature_names", offsetof(model, feature_names), LT_U8, 1, 1 }, /* the last: older files lack it */
};
enum { N_MEMBERS = LT_LEN(wholes) + LT_LEN(reals) + LT_LEN(parts) };

/* ---- writing ---- */

static const char *names_of(const lt_qsvm_info *i) { return i->feature_names ? i->feature_names : ""; }

lt_status lt_qsvm_save(const lt_qsvm *q, const char *path)
{
    if (!q || !path) return LT_FAIL(LT_ERR_ARGUMENT, "qsvm: the handle or the path is NULL");
    if (!q->fitted) return LT_FAIL(LT_ERR_ARGUMENT, "qsvm: the machine has not been trained: nothing to save");
    const lt_decider *d = &q->decider[LT_QSVM_QUANTUM];
    const lt_qsvm_info *i = &q->info;
    const lt_prepare *p = &q->prepare;
    bool strong = q->gram_options.entangler == LT_ENTANGLER_STRONG;
    lt_shape of_weights = strong ? lt_shape3(i->n_layers, i->n_qubits, 3) : lt_shape2(i->n_layers, i->n_qubits);
    int64_t n_components = p->components ? p->n_outputs : 0;
    model m = {
        .format = FORMAT, .embed = i->embed_mode, .entangler = q->gram_options.entangler, .re_embed = i->re_embed, .range = i->range,
        .normalize = q->gram_options.normalize, .method = q->gram_options.method, .dtype = q->gram_options.dtype, .n_train = i->n,
        .angle_scale = i->angle_scale, .jitter = q->gram_options.jitter, .bias = d->bias, .threshold = i->machine[LT_QSVM_QUANTUM].threshold,
        .C = i->machine[LT_QSVM_QUANTUM].C,
        .weights = { LT_F64, of_weights, q->weights },
        .mean = { LT_F64, lt_shape1(p->components ? p->n_features : 0), p->mean },
        .components = { LT_F64, lt_shape2(n_components, p->n_features), p->components },
        .low = { LT_F64, lt_shape1(p->n_outputs), p->low }, .width = { LT_F64, lt_shape1(p->n_outputs), p->width },
        .support = { LT_F64, lt_shape2(d->n_support, p->n_outputs), d->support },
        .coefficient = { LT_F64, lt_shape1(d->n_support), d->coefficient },
        .class_names = { LT_U8, lt_shape2(2, LT_QSVM_CLASS_NAME), (void *)i->class_name },
        .feature_names = { LT_U8, lt_shape1((int64_t)strlen(names_of(i))), (void *)names_of(i) },
    };
    const char *names[N_MEMBERS];
    lt_array arrays[N_MEMBERS];
    int n = 0;
    for (size_t k = 0; k < LT_LEN(wholes); k++, n++) {
        names[n] = wholes[k].name;
        arrays[n] = (lt_array){ LT_I64, lt_shape0(), (char *)&m + wholes[k].offset };
    }
    for (size_t k = 0; k < LT_LEN(reals); k++, n++) {
        names[n] = reals[k].name;
        arrays[n] = (lt_array){ LT_F64, lt_shape0(), (char *)&m + reals[k].offset };
    }
    for (size_t k = 0; k < LT_LEN(parts); k++, n++) {
        names[n] = parts[k].name;
        arrays[n] = *(lt_array *)((char *)&m + parts[k].offset);
    }
    return lt_npz_write(path, N_MEMBERS, names, arrays);
}

/* ---- reading ---- */

static lt_status broken(const char *path, const char *name, const char *what)
{
    return LT_FAIL(LT_ERR_FORMAT, "%s: not a machine of lathe qsvm: '%s' %s", path, name, what);
}

/* A member of the right type; its absence is a matter of format, not of files. */
static lt_status read_member(const char *path, const char *name, lt_dtype dtype, lt_array *a)
{
    lt_status s = lt_npz_read(path, name, a);
    if (s == LT_ERR_MEMORY || s == LT_ERR_IO || s == LT_ERR_DEVICE) return s;
    if (s) {
        char text[512];
        snprintf(text, sizeof text, "%s", lt_error_text());
        return LT_FAIL(LT_ERR_FORMAT, "%s: not a machine of lathe qsvm: %s", path, text);
    }
    return a->dtype == dtype ? LT_OK : broken(path, name, "has another type than expected");
}

static lt_status read_scalars(const char *path, model *m)
{
    for (size_t k = 0; k < LT_LEN(wholes) + LT_LEN(reals); k++) {
        bool is_whole = k < LT_LEN(wholes);
        const whole *w = &wholes[is_whole ? k : 0];
        const real *r = &reals[is_whole ? 0 : k - LT_LEN(wholes)];
        const char *name = is_whole ? w->name : r->name;
        lt_array a = { 0 };
        lt_status s = read_member(path, name, is_whole ? LT_I64 : LT_F64, &a);
        if (!s && a.shape.rank != 0) s = broken(path, name, "is not a single number");
        if (!s && is_whole) {
            int64_t v = *(int64_t *)a.data;
            *(int64_t *)((char *)m + w->offset) = v;
            if (v < w->least || v > w->most) s = broken(path, name, "is out of range");
        } else if (!s) {
            double v = *(double *)a.data;
            *(double *)((char *)m + r->offset) = v;
            if (!isfinite(v) || v < r->least) s = broken(path, name, "is out of range");
        }
        lt_array_free(&a);
        LT_TRY(s);
    }
    return LT_OK;
}

static lt_status read_parts(const char *path, model *m)
{
    const size_t n_parts = LT_LEN(parts) - (m->format < FORMAT);
    for (size_t k = 0; k < n_parts; k++) {
        lt_array *a = (lt_array *)((char *)m + parts[k].offset);
        LT_TRY(read_member(path, parts[k].name, parts[k].dtype, a));
        if (a->shape.rank < parts[k].rank_low || a->shape.rank > parts[k].rank_high)
            return broken(path, parts[k].name, "has another shape than expected");
        int64_t n = lt_shape_count(&a->shape);
        for (int64_t i = 0; parts[k].dtype == LT_F64 && i < n; i++)
            if (!isfinite(((double *)a->data)[i])) return broken(path, parts[k].name, "holds numbers that are not finite");
    }
    return LT_OK;
}

/* Every extent against every other. */
static lt_status check_shapes(const char *path, const model *m)
{
    int64_t q = m->low.shape.dim[0], n_support = m->coefficient.shape.dim[0], n_components = m->components.shape.dim[0],
            n_features = m->components.shape.dim[1];
    bool strong = m->entangler == LT_ENTANGLER_STRONG;
    const lt_shape *w = &m->weights.shape;
    if (q < 1 || q > MOST_QUBITS) return broken(path, "low", "has no entries, or too many");
    if (m->width.shape.dim[0] != q) return broken(path, "width", "does not go with 'low'");
    if (n_features < q || (n_components == 0 && n_features != q)) return broken(path, "components", "does not go with 'low'");
    if (n_components != 0 && (n_components != q || n_components >= n_features)) return broken(path, "components", "does not go with 'low'");
    if (m->mean.shape.dim[0] != (n_components ? n_features : 0)) return broken(path, "mean", "does not go with 'components'");
    if (w->rank != 2 + strong || w->dim[0] < 1 || w->dim[0] > MOST_LAYERS || w->dim[1] != q || (strong && w->dim[2] != 3))
        return broken(path, "weights", "does not go with 'low' and 'entangler'");
    if (m->support.shape.dim[0] != n_support || m->support.shape.dim[1] != q || n_support > m->n_train)
        return broken(path, "support", "does not go with 'coefficient', 'low' and 'n_train'");
    if (m->class_names.shape.dim[0] != 2 || m->class_names.shape.dim[1] != LT_QSVM_CLASS_NAME) return broken(path, "class_names", "has another shape than expected");
    return LT_OK;
}

static lt_status check_values(const char *path, const model *m)
{
    const uint8_t *names = m->class_names.data;
    for (int64_t k = 0; k < m->width.shape.dim[0]; k++)
        if (((double *)m->width.data)[k] < 0) return broken(path, "width", "holds a negative number");
    for (int c = 0; c < 2; c++) {
        const char *name = (const char *)names + c * LT_QSVM_CLASS_NAME;
        size_t n = strnlen(name, LT_QSVM_CLASS_NAME);
        if (n == 0 || n == LT_QSVM_CLASS_NAME) return broken(path, "class_names", "holds no name, or one too long");
        for (size_t k = 0; k < n; k++)
            if ((unsigned char)name[k] < 0x20 || name[k] == 0x7f) return broken(path, "class_names", "holds control characters");
    }
    return LT_OK;
}

/* Hands an array's numbers over; released by lt_free, so they are copied out of the aligned block. */
static lt_status take(const lt_array *a, double **out)
{
    int64_t n = lt_shape_count(&a->shape);
    *out = lt_malloc((size_t)LT_MAX(n, 1) * sizeof **out);
    if (!*out) return LT_ERR_MEMORY;
    memcpy(*out, a->data, (size_t)n * sizeof **out);
    return LT_OK;
}

static lt_status build(lt_qsvm *q, const model *m)
{
    lt_decider *d = &q->decider[LT_QSVM_QUANTUM];
    lt_prepare *p = &q->prepare;
    lt_qsvm_info *i = &q->info;
    bool reduced = m->components.shape.dim[0] > 0;
    *p = (lt_prepare){ .n_features = m->components.shape.dim[1], .n_outputs = m->low.shape.dim[0], .scales = m->range != LT_QSVM_RANGE_NONE };
    if (reduced) {
        LT_TRY(take(&m->components, &p->components));
        LT_TRY(take(&m->mean, &p->mean));
    }
    LT_TRY(take(&m->low, &p->low));
    LT_TRY(take(&m->width, &p->width));
    LT_TRY(take(&m->support, &d->support));
    LT_TRY(take(&m->coefficient, &d->coefficient));
    LT_TRY(take(&m->weights, &q->weights));
    d->n_support = m->coefficient.shape.dim[0];
    d->bias = m->bias;
    q->n_weight_layers = m->weights.shape.dim[0];
    q->circuit = (lt_qsvm_candidate){ .embed_mode = (lt_embed)m->embed, .angle_scale = m->angle_scale, .re_embed = m->re_embed != 0,
                                      .n_layers = m->weights.shape.dim[0] };
    i->embed_mode = q->circuit.embed_mode;
    i->angle_scale = m->angle_scale;
    i->re_embed = q->circuit.re_embed;
    i->reduced = reduced;
    i->range = (lt_qsvm_range)m->range;
    i->n = m->n_train;
    i->n_features = p->n_features;
    i->n_qubits = p->n_outputs;
    i->n_layers = q->circuit.n_layers;
    lt_qsvm_fitted *f = &i->machine[LT_QSVM_QUANTUM];
    f->C = m->C;
    f->bias = m->bias;
    f->threshold = m->threshold;
    for (int64_t k = 0; k < d->n_support; k++) f->n_support[d->coefficient[k] > 0]++;
    f->support_fraction = (double)d->n_support / (double)m->n_train;
    LT_TRY(lt_qsvm_make_gram(q, &q->circuit, &q->gram));
    q->fitted = true;
    return LT_OK;
}

/* A machine trained on a GPU also predicts without one. */
static lt_gram_float precision_on(lt_device *dev, lt_gram_float trained_in)
{
    bool cpu = !lt_device_has(dev, LT_DEVICE_OWN_MEMORY);
    return cpu && trained_in == LT_GRAM_FLOAT16 ? LT_GRAM_FLOAT32 : trained_in;
}

/* Names as text, which a file does not end with a zero byte; NULL in *out: none. */
static lt_status take_names(const char *path, const model *m, char **out)
{
    const size_t n = m->feature_names.data ? (size_t)m->feature_names.shape.dim[0] : 0;
    *out = NULL;
    if (!n) return LT_OK;
    *out = lt_calloc(n + 1, 1);
    if (!*out) return LT_ERR_MEMORY;
    memcpy(*out, m->feature_names.data, n);
    return strlen(*out) == n && lt_qsvm_names_fit(*out, m->components.shape.dim[1]) ? LT_OK : broken(path, "feature_names", "are not a line for each feature");
}

static lt_status from_model(lt_device *dev, const model *m, const char *feature_names, lt_qsvm **out)
{
    lt_qsvm_options opt = lt_qsvm_defaults();
    lt_gram_options gram = lt_gram_defaults();
    opt.gram = &gram;
    gram.entangler = (lt_entangler)m->entangler;
    gram.normalize = m->normalize != 0;
    gram.jitter = m->jitter;
    gram.method = (lt_gram_method)m->method;
    gram.dtype = precision_on(dev, (lt_gram_float)m->dtype);
    opt.range = (lt_qsvm_range)m->range;
    opt.class_name[0] = m->class_names.data;
    opt.class_name[1] = opt.class_name[0] + LT_QSVM_CLASS_NAME;
    opt.feature_names = feature_names;
    LT_TRY(lt_qsvm_create(dev, &opt, out));
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
    model m = { 0 };
    char *names = NULL;
    lt_status s = read_scalars(path, &m);
    if (!s) s = read_parts(path, &m);
    if (!s) s = check_shapes(path, &m);
    if (!s) s = check_values(path, &m);
    if (!s) s = take_names(path, &m, &names);
    if (!s) s = from_model(dev, &m, names, out);
    lt_free(names);
    for (size_t k = 0; k < LT_LEN(parts); k++) lt_array_free((lt_array *)((char *)&m + parts[k].offset));
    return s;
}
