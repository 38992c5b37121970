/* The members of a stored machine. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_QKERNEL_SVM_MODEL_FILE_H
#define LT_QKERNEL_SVM_MODEL_FILE_H

#include "lathe/npy.h"
#include "qkernel/svm/machine.h"

/* 1: two classes on layers; 2: with feature_names; 3: any task, number of classes and kernel. */
enum { LT_MODEL_NAMES = 2, LT_MODEL_TASKS = 3, LT_MODEL_FORMAT = LT_MODEL_TASKS };
enum { LT_MODEL_MAX_QUBITS = 4096, LT_MODEL_MAX_LAYERS = 1 << 20 };

typedef struct lt_model { /* what the file says, before it becomes a handle */
    int64_t format, embed, entangler, re_embed, range, normalize, method, dtype, n_train, task, n_classes, precomputed, similarity, map_layers;
    double  angle_scale, jitter, bias, threshold, C, epsilon, nu, gamma, depolarizing;
    lt_array weights, mean, components, low, width, support, coefficient, class_names, feature_names;
    lt_array biases, sigmoid, support_class, support_row, map, circuit, circuit_weights;
} lt_model;

/* since: the format that brought the member. */
typedef struct lt_model_whole { const char *name; size_t offset; int64_t least, most; int since; } lt_model_whole;
typedef struct lt_model_real  { const char *name; size_t offset; double least, most; int since; } lt_model_real;
typedef struct lt_model_part  { const char *name; size_t offset; lt_dtype dtype; int rank_low, rank_high, since; } lt_model_part;
enum { LT_MODEL_WHOLES = 14, LT_MODEL_REALS = 9, LT_MODEL_PARTS = 16 };
extern const lt_model_whole lt_model_wholes[LT_MODEL_WHOLES];
extern const lt_model_real  lt_model_reals[LT_MODEL_REALS];
extern const lt_model_part  lt_model_parts[LT_MODEL_PARTS];

#endif
