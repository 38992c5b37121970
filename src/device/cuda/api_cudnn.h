/* The part of cuDNN that lathe calls: the backend graph API. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_DEVICE_CUDA_API_CUDNN_H
#define LT_DEVICE_CUDA_API_CUDNN_H

#include "device/cuda/api_driver.h"

typedef struct cudnnContext *lt_cudnn_handle;
typedef void *lt_cudnn_descriptor;

/* X(name): the constant CUDNN_<name>, which we call LT_CUDNN_<name>. */
#define LT_CUDNN_CONSTANTS(X)                                                                     \
    X(TYPE_HANDLE, 0) X(TYPE_DATA_TYPE, 1) X(TYPE_BOOLEAN, 2) X(TYPE_INT64, 3) X(TYPE_FLOAT, 4) X(TYPE_DOUBLE, 5) \
    X(TYPE_VOID_PTR, 6) X(TYPE_CONVOLUTION_MODE, 7) X(TYPE_HEUR_MODE, 8) X(TYPE_KNOB_TYPE, 9) X(TYPE_NAN_PROPOGATION, 10) X(TYPE_NUMERICAL_NOTE, 11) \
    X(TYPE_POINTWISE_MODE, 14) X(TYPE_BACKEND_DESCRIPTOR, 15)                                     \
    X(DATA_FLOAT, 0) X(DATA_DOUBLE, 1) X(DATA_HALF, 2) X(DATA_BFLOAT16, 9)                        \
    X(BACKEND_CONVOLUTION_DESCRIPTOR, 1) X(BACKEND_ENGINECFG_DESCRIPTOR, 3)                       \
    X(BACKEND_POINTWISE_DESCRIPTOR, 0) X(BACKEND_ENGINE_DESCRIPTOR, 2) X(BACKEND_KNOB_CHOICE_DESCRIPTOR, 7) \
    X(BACKEND_OPERATION_POINTWISE_DESCRIPTOR, 13)                                                               \
    X(BACKEND_ENGINEHEUR_DESCRIPTOR, 4) X(BACKEND_EXECUTION_PLAN_DESCRIPTOR, 5)                   \
    X(BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR, 10)                                       \
    X(BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR, 11)                               \
    X(BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR, 12)                                 \
    X(BACKEND_OPERATIONGRAPH_DESCRIPTOR, 15) X(BACKEND_VARIANT_PACK_DESCRIPTOR, 16) X(BACKEND_TENSOR_DESCRIPTOR, 17) \
    X(ATTR_CONVOLUTION_COMP_TYPE, 100) X(ATTR_CONVOLUTION_CONV_MODE, 101) X(ATTR_CONVOLUTION_DILATIONS, 102) \
    X(ATTR_CONVOLUTION_FILTER_STRIDES, 103) X(ATTR_CONVOLUTION_POST_PADDINGS, 104)                \
    X(ATTR_CONVOLUTION_PRE_PADDINGS, 105) X(ATTR_CONVOLUTION_SPATIAL_DIMS, 106)                   \
    X(ATTR_ENGINEHEUR_MODE, 200) X(ATTR_ENGINEHEUR_OPERATION_GRAPH, 201) X(ATTR_ENGINEHEUR_RESULTS, 202) \
    X(ATTR_POINTWISE_MODE, 0) X(ATTR_POINTWISE_MATH_PREC, 1) X(ATTR_POINTWISE_NAN_PROPAGATION, 2)     \
    X(ATTR_ENGINECFG_ENGINE, 300) X(ATTR_ENGINECFG_KNOB_CHOICES, 302) X(ATTR_EXECUTION_PLAN_HANDLE, 400)                              \
    X(ATTR_EXECUTION_PLAN_ENGINE_CONFIG, 401) X(ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, 402)          \
    X(ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, 700) X(ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA, 706) \
    X(ATTR_KNOB_CHOICE_KNOB_TYPE, 600) X(ATTR_KNOB_CHOICE_KNOB_VALUE, 601)                        \
    X(ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, 750) X(ATTR_OPERATION_POINTWISE_XDESC, 751)         \
    X(ATTR_OPERATION_POINTWISE_BDESC, 752) X(ATTR_OPERATION_POINTWISE_YDESC, 753)                 \
    X(ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA, 712)                                           \
    X(ATTR_OPERATIONGRAPH_HANDLE, 800) X(ATTR_OPERATIONGRAPH_OPS, 801)                            \
    X(ATTR_TENSOR_BYTE_ALIGNMENT, 900) X(ATTR_TENSOR_DATA_TYPE, 901) X(ATTR_TENSOR_DIMENSIONS, 902) \
    X(ATTR_TENSOR_STRIDES, 903) X(ATTR_TENSOR_UNIQUE_ID, 906) X(ATTR_TENSOR_IS_VIRTUAL, 907)                                     \
    X(ATTR_VARIANT_PACK_UNIQUE_IDS, 1000) X(ATTR_VARIANT_PACK_DATA_POINTERS, 1001) X(ATTR_VARIANT_PACK_WORKSPACE, 1003) \
    X(ATTR_ENGINE_GLOBAL_INDEX, 1301) X(ATTR_ENGINE_NUMERICAL_NOTE, 1303)                                                           \
    X(NUMERICAL_NOTE_TENSOR_CORE, 0) X(NUMERICAL_NOTE_DOWN_CONVERT_INPUTS, 1) X(NUMERICAL_NOTE_STRICT_NAN_PROP, 9)                         \
    X(POINTWISE_ADD, 0) X(POINTWISE_MUL, 1) X(POINTWISE_RELU_FWD, 100) X(POINTWISE_GELU_FWD, 104) X(PROPAGATE_NAN, 1) \
    X(CROSS_CORRELATION, 1) X(HEUR_MODE_FALLBACK, 2) X(HEUR_MODE_A, 3)
enum {
#define X(name, value) LT_CUDNN_##name = value,
    LT_CUDNN_CONSTANTS(X)
#undef X
};

#define LT_CUDNN_FUNCTIONS(X)                                                                        \
    X(size_t, cudnnGetVersion, (void))                                                               \
    X(const char *, cudnnGetErrorString, (unsigned))                                                 \
    X(void, cudnnGetLastErrorString, (char *, size_t))                                               \
    X(unsigned, cudnnCreate, (lt_cudnn_handle *))                                                    \
    X(unsigned, cudnnDestroy, (lt_cudnn_handle))                                                     \
    X(unsigned, cudnnSetStream, (lt_cudnn_handle, lt_cu_stream))                                     \
    X(unsigned, cudnnBackendCreateDescriptor, (unsigned, lt_cudnn_descriptor *))                     \
    X(unsigned, cudnnBackendDestroyDescriptor, (lt_cudnn_descriptor))                                \
    X(unsigned, cudnnBackendFinalize, (lt_cudnn_descriptor))                                         \
    X(unsigned, cudnnBackendSetAttribute, (lt_cudnn_descriptor, unsigned, unsigned, int64_t, const void *)) \
    X(unsigned, cudnnBackendGetAttribute, (lt_cudnn_descriptor, unsigned, unsigned, int64_t, int64_t *, void *)) \
    X(unsigned, cudnnBackendExecute, (lt_cudnn_handle, lt_cudnn_descriptor, lt_cudnn_descriptor))

typedef struct lt_cudnn {
#define X(result, name, args) result (*name) args;
    LT_CUDNN_FUNCTIONS(X)
#undef X
} lt_cudnn;

#endif
