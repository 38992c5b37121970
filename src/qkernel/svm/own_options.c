/* Options as the handle keeps them: checked, nothing of the caller's left in them. SPDX-License-Identifier: BSD-3-Clause */
#include "qkernel/svm/machine.h"

#include "base/alloc.h"
#include "base/sized.h"
#include "base/status.h"
#include "lathe/rng.h"
#include "qkernel/circuit/circuit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

int64_t lt_qsvm_count_classes(const lt_qsvm_options *opt) { return opt->task != LT_QSVM_CLASSIFY ? 0 : opt->n_classes ? opt->n_classes : 2; }
bool    lt_qsvm_has_circuit(const lt_qsvm_options *opt) { return opt->map || opt->circuit; }

/* ---- checks ---- */

static lt_status check_name(const char *name)
{
    if (name[0] && strlen(name) < LT_QSVM_CLASS_NAME) return LT_OK;
    return LT_FAIL(LT_ERR_ARGUMENT, "qsvm: a class is called '%.80s', expected 1 to %d bytes", name, LT_QSVM_CLASS_NAME - 1);
}

static lt_status check_classes(const lt_qsvm_options *opt)
{
    if (opt->n_classes != 0 && (opt->n_classes < 2 || opt->n_classes > LT_QSVM_MAX_CLASSES))
        return LT_FAIL(LT_ERR_ARGUMENT, "qsvm: %lld classes, expected 2 to %d", (long long)opt->n_classes, LT_QSVM_MAX_CLASSES);
    const int64_t n = lt_qsvm_count_classes(opt);
    for (int64_t c = 0; opt->class_names && c < n; c++) {
        if (!opt->class_names[c]) return LT_FAIL(LT_ERR_ARGUMENT, "qsvm: class %lld has no name", (long long)c);
        LT_TRY(check_name(opt->class_names[c]));
    }
    for (int c = 0; c < 2; c++)
        if (opt->class_name[c]) LT_TRY(check_name(opt->class_name[c]));
    for (int64_t c = 0; opt->class_weights && c < n; c++)
        if (!(opt->class_weights[c] > 0 && isfinite(opt->class_weights[c])))
            return LT_FAIL(LT_ERR_ARGUMENT, "qsvm: the weight of class %lld is %g, expected a finite number above 0", (long long)c, opt->class_weights[c]);
    return LT_OK;
}

/* Options that say nothing about a task are refused rather than ignored. */
static lt_status check_task(const lt_qsvm_options *opt)
{
    const char *task = lt_qsvm_task_name(opt->task);
    const bool classify = opt->task == LT_QSVM_CLASSIFY, two = classify && lt_qsvm_count_classes(opt) == 2;
    if (!classify && opt->probability) return LT_FAIL(LT_ERR_ARGUMENT, "qsvm: probabilities are of classes, and the task is %s", task);
    if (!classify && opt->select) return LT_FAIL(LT_ERR_ARGUMENT, "qsvm: select compares F1 of classes, and the task is %s", task);
    if (!classify && opt->class_weights) return LT_FAIL(LT_ERR_ARGUMENT, "qsvm: class_weights are of classes, and the task is %s", task);
    if (!two && opt->tune_threshold) return LT_FAIL(LT_ERR_ARGUMENT, "qsvm: tune_threshold is for two classes");
    if (!two && (opt->class_weight[0] != 1 || opt->class_weight[1] != 1))
        return LT_FAIL(LT_ERR_ARGUMENT, "qsvm: weight-0 and weight-1 are of two classes; class weights of several go by their names");
    if (opt->task != LT_QSVM_ONE_CLASS) return LT_OK;
    if (opt->C > 0) return LT_FAIL(LT_ERR_ARGUMENT, "qsvm: one-class has no C: nu says how many rows may lie outside");
    if (opt->compare_rbf) return LT_FAIL(LT_ERR_ARGUMENT, "qsvm: compare_rbf compares scores on held-out rows, and one-class has none");
    if (opt->center) return LT_FAIL(LT_ERR_ARGUMENT, "qsvm: a centred kernel has its middle at 0, where one-class puts what it knows nothing about: leave center out");
    return LT_OK;
}

static lt_status check_precomputed(const lt_qsvm_options *opt)
{
    if (!opt->precomputed) return LT_OK;
    if (lt_qsvm_has_circuit(opt) || opt->weights.data || opt->n_qubits || opt->n_layers)
        return LT_FAIL(LT_ERR_ARGUMENT, "qsvm: the kernel is computed already: map, circuit, weights, qubits and layers say nothing about it");
    if (opt->select || opt->compare_rbf) return LT_FAIL(LT_ERR_ARGUMENT, "qsvm: select and compare_rbf need features, and the kernel is computed already");
    if (opt->range != LT_QSVM_RANGE_AUTO) return LT_FAIL(LT_ERR_ARGUMENT, "qsvm: range is about features, and the kernel is computed already");
    return LT_OK;
}

static lt_status check_circuit(const lt_qsvm_options *opt, const lt_gram_options *gram)
{
    const lt_gram_options d = lt_gram_defaults();
    if (!lt_qsvm_has_circuit(opt)) {
        if (opt->circuit_weights || opt->n_circuit_weights) return LT_FAIL(LT_ERR_ARGUMENT, "qsvm: circuit_weights are of a map or a circuit, and there is none");
        if (opt->similarity) return LT_FAIL(LT_ERR_ARGUMENT, "qsvm: a similarity is of a map or a circuit, and there is none");
        return LT_OK;
    }
    if (opt->map && opt->circuit) return LT_FAIL(LT_ERR_ARGUMENT, "qsvm: a map and a circuit, expected one of them");
    if (opt->weights.data || opt->select || (opt->n_layers && opt->circuit))
        return LT_FAIL(LT_ERR_ARGUMENT, "qsvm: weights, layers and select are about layers; a map or circuit says these things itself, and its weights are circuit_weights");
    if (gram->embed_mode != d.embed_mode || gram->entangler != d.entangler || gram->re_embed_between_layers || gram->angle_scale != d.angle_scale)
        return LT_FAIL(LT_ERR_ARGUMENT, "qsvm: embed, entangler, re-embed and angle-scale are about layers; a map or circuit says these things itself");
    return LT_OK;
}

/* New rows must meet the kernel that the training rows met (decision 273). */
static lt_status check_similarity(const lt_similarity_options *s)
{
    if (s->shots) return LT_FAIL(LT_ERR_ARGUMENT, "qsvm: draws differ for new rows: compute the kernel with lathe gram --shots, and give it as it is (precomputed, --kernel)");
    if (s->kind == LT_SIMILARITY_PROJECTED && !(s->gamma > 0))
        return LT_FAIL(LT_ERR_ARGUMENT, "qsvm: projected kernels need their gamma here: the median of new rows would be another one than that of the training rows");
    return LT_OK;
}

/* ---- copies ---- */

static void *copy(const void *from, size_t bytes)
{
    void *to = lt_malloc(bytes ? bytes : 1);
    if (to) memcpy(to, from, bytes);
    return to;
}

static lt_status copy_names(lt_qsvm *q, const lt_qsvm_options *opt)
{
    const int64_t n = lt_qsvm_count_classes(opt);
    q->class_names = lt_calloc((size_t)LT_MAX(2, n), sizeof *q->class_names);
    q->class_counts = lt_calloc((size_t)LT_MAX(2, n), sizeof *q->class_counts);
    if (!q->class_names || !q->class_counts) return LT_ERR_MEMORY;
    for (int64_t c = 0; c < LT_MAX(2, n); c++) {
        const char *name = opt->class_names && c < n ? opt->class_names[c] : c < 2 && n <= 2 ? opt->class_name[c] : NULL;
        if (name) snprintf(q->class_names[c], sizeof *q->class_names, "%s", name);
        else snprintf(q->class_names[c], sizeof *q->class_names, "%lld", (long long)c);
    }
    q->opt.class_names = NULL;
    for (int c = 0; c < 2; c++) {
        q->opt.class_name[c] = q->class_names[c];
        memcpy(q->info.class_name[c], q->class_names[c], sizeof q->info.class_name[c]);
    }
    q->info.class_names = (const char (*)[LT_QSVM_CLASS_NAME])q->class_names;
    return LT_OK;
}

static lt_status copy_circuit(lt_qsvm *q, const lt_qsvm_options *opt)
{
    if (opt->map) {
        q->circuit_text = lt_strdup(opt->map);
        q->opt.map = q->circuit_text;
        if (!q->circuit_text) return LT_ERR_MEMORY;
    }
    if (opt->circuit) {
        lt_circuit *own;
        char *text = NULL;
        LT_TRY(lt_circuit_copy(opt->circuit, &own));
        q->opt.circuit = own;
        if (!lt_circuit_to_qasm(own, &text) && !(q->circuit_text = lt_strdup(text))) return LT_ERR_MEMORY; /* one without words in OpenQASM cannot be saved */
        lt_circuit_text_free(text);
    }
    if (opt->similarity) {
        q->similarity = lt_similarity_defaults();
        LT_TRY(LT_TAKE(lt_similarity_options, opt->similarity, &q->similarity));
        LT_TRY(check_similarity(&q->similarity));
        q->opt.similarity = &q->similarity;
    }
    if (!opt->circuit_weights) return LT_OK;
    if (opt->n_circuit_weights < 0 || opt->n_circuit_weights > INT64_C(1) << 32)
        return LT_FAIL(LT_ERR_ARGUMENT, "qsvm: %lld weights of a circuit, expected 0 or more", (long long)opt->n_circuit_weights);
    q->opt.circuit_weights = copy(opt->circuit_weights, (size_t)opt->n_circuit_weights * sizeof(double));
    return q->opt.circuit_weights ? LT_OK : LT_ERR_MEMORY;
}

static lt_status copy_layers(lt_qsvm *q, const lt_qsvm_options *opt, const lt_gram_options *gram)
{
    if (!opt->weights.data) return LT_OK;
    const int64_t n = opt->weights.n_layers * opt->weights.n_qubits * (gram->entangler == LT_ENTANGLER_STRONG ? 3 : 1);
    q->opt.weights.data = copy(opt->weights.data, (size_t)n * sizeof(double));
    return q->opt.weights.data ? LT_OK : LT_ERR_MEMORY;
}

lt_status lt_qsvm_copy_options(lt_qsvm *q, const lt_qsvm_options *opt, const lt_gram_options *gram)
{
    LT_TRY(check_classes(opt));
    LT_TRY(check_task(opt));
    LT_TRY(check_precomputed(opt));
    LT_TRY(check_circuit(opt, gram));
    q->opt = *opt;
    q->gram_options = *gram;
    q->opt.gram = &q->gram_options;
    q->opt.weights.data = NULL;
    q->opt.feature_names = q->opt.map = NULL;
    q->opt.class_weights = q->opt.circuit_weights = NULL;
    q->opt.circuit = NULL;
    q->opt.similarity = NULL;
    if (opt->task == LT_QSVM_ONE_CLASS) { /* nothing to search */
        q->opt.n_folds = 0;
        q->opt.C = 1;
    }
    LT_TRY(copy_names(q, opt));
    if (opt->feature_names && !(q->opt.feature_names = lt_strdup(opt->feature_names))) return LT_ERR_MEMORY;
    q->info.feature_names = q->opt.feature_names;
    if (opt->class_weights && !(q->opt.class_weights = copy(opt->class_weights, (size_t)lt_qsvm_count_classes(opt) * sizeof(double)))) return LT_ERR_MEMORY;
    LT_TRY(copy_circuit(q, opt));
    return copy_layers(q, opt, gram);
}

void lt_qsvm_free_options(lt_qsvm *q)
{
    lt_free((void *)q->opt.weights.data);
    lt_free((char *)q->opt.feature_names);
    lt_free((void *)q->opt.class_weights);
    lt_free((void *)q->opt.circuit_weights);
    lt_circuit_destroy((lt_circuit *)q->opt.circuit);
    lt_free(q->circuit_text);
    lt_free(q->class_names);
    lt_free(q->class_counts);
}

/* ---- circuits ---- */

static lt_status make_circuit(const lt_qsvm *q, int64_t n_features, lt_circuit **out)
{
    if (q->opt.circuit) return lt_circuit_copy(q->opt.circuit, out);
    lt_map_options opt = lt_map_defaults();
    opt.n_features = n_features;
    opt.n_layers = q->opt.n_layers;
    return lt_circuit_from_map(q->opt.map, &opt, out);
}

lt_status lt_qsvm_make_circuit_weights(lt_qsvm *q, int64_t n_features)
{
    lt_circuit *c;
    LT_TRY(make_circuit(q, n_features, &c));
    const int64_t n = lt_circuit_describe(c).n_weights;
    lt_status s = q->opt.circuit_weights ? lt_circuit_check_weights(c, q->opt.circuit_weights, q->opt.n_circuit_weights) : LT_OK;
    lt_circuit_destroy(c);
    LT_TRY(s);
    q->n_weight_layers = n;
    q->weights = lt_malloc((size_t)LT_MAX(1, n) * sizeof *q->weights);
    if (!q->weights) return LT_ERR_MEMORY;
    if (q->opt.circuit_weights) {
        memcpy(q->weights, q->opt.circuit_weights, (size_t)n * sizeof *q->weights);
        return LT_OK;
    }
    lt_draws stream = lt_draws_make((uint64_t)q->opt.seed, "qsvm weights", 0, 0, 0);
    LT_TRY(lt_draws_normal_f64(&stream, 0, n, q->weights));
    for (int64_t i = 0; i < n; i++) q->weights[i] *= q->opt.weight_std;
    return LT_OK;
}

lt_status lt_qsvm_make_circuit_gram(lt_qsvm *q, const lt_gram_options *opt, lt_gram **out)
{
    lt_circuit *c;
    LT_TRY(make_circuit(q, q->prepare.n_outputs, &c));
    lt_status s = lt_gram_create_circuit(q->dev, opt, q->opt.similarity, c, q->weights, q->n_weight_layers, out);
    lt_circuit_destroy(c);
    return s;
}
