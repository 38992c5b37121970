/* The part of the CUDA driver API that lathe calls, in our own words: no CUDA header is needed to
   build. tests/device/check_cuda_*.c compares all of it with the real headers where they exist (decision 49).
   SPDX-License-Identifier: BSD-3-Clause

   Enumerations are passed as unsigned, which is what compilers give those without negative values. */
#ifndef LT_DEVICE_CUDA_API_DRIVER_H
#define LT_DEVICE_CUDA_API_DRIVER_H

#include <stddef.h>
#include <stdint.h>

typedef struct CUctx_st *lt_cu_context;
typedef struct CUstream_st *lt_cu_stream;
typedef struct CUevent_st *lt_cu_event;
typedef struct CUmod_st *lt_cu_module;
typedef struct CUfunc_st *lt_cu_function;
typedef struct CUkern_st *lt_cu_kernel;
typedef struct CUgraph_st *lt_cu_graph;
typedef struct CUgraphExec_st *lt_cu_graph_exec;
typedef struct CUgraphNode_st *lt_cu_graph_node;
typedef unsigned long long lt_cu_address; /* device memory */

enum {
    LT_CU_ERROR_INVALID_VALUE = 1,
    LT_CU_ERROR_OUT_OF_MEMORY = 2,
    LT_CU_ERROR_NO_DEVICE = 100,
    LT_CU_ERROR_ECC_UNCORRECTABLE = 214,
    LT_CU_ERROR_NOT_READY = 600,
    LT_CU_ERROR_ILLEGAL_ADDRESS = 700,
    LT_CU_ERROR_LAUNCH_TIMEOUT = 702,
    LT_CU_ERROR_CONTEXT_IS_DESTROYED = 709,
    LT_CU_ERROR_ASSERT = 710,
    LT_CU_ERROR_HARDWARE_STACK_ERROR = 714,
    LT_CU_ERROR_ILLEGAL_INSTRUCTION = 715,
    LT_CU_ERROR_MISALIGNED_ADDRESS = 716,
    LT_CU_ERROR_INVALID_ADDRESS_SPACE = 717,
    LT_CU_ERROR_INVALID_PC = 718,
    LT_CU_ERROR_LAUNCH_FAILED = 719,
    LT_CU_ERROR_UNKNOWN = 999,

    LT_CU_ATTRIBUTE_CLOCK_RATE = 13,
    LT_CU_ATTRIBUTE_MULTIPROCESSORS = 16,
    LT_CU_ATTRIBUTE_MEMORY_CLOCK_RATE = 36,
    LT_CU_ATTRIBUTE_MEMORY_BUS_WIDTH = 37,
    LT_CU_ATTRIBUTE_L2_BYTES = 38,
    LT_CU_ATTRIBUTE_SM_MAJOR = 75,
    LT_CU_ATTRIBUTE_SM_MINOR = 76,
    LT_CU_ATTRIBUTE_SHARED_BYTES_PER_SM = 81,
    LT_CU_ATTRIBUTE_SHARED_BYTES_OPTIN = 97,

    LT_CU_STREAM_NON_BLOCKING = 1,
    LT_CU_CAPTURE_RELAXED = 2,
    LT_CU_HOST_ALLOC_PORTABLE = 1,
    LT_CU_FUNCTION_MAX_SHARED_BYTES = 8,
    LT_CU_LAUNCH_OVERLAP = 6, /* programmatic stream serialization */
};

/* Members in a macro, so that the test can lay the same struct out beside the real one. */
#define LT_CU_KERNEL_NODE_MEMBERS                                                          \
    lt_cu_function func;                                                                   \
    unsigned gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes; \
    void **kernelParams, **extra;                                                          \
    lt_cu_kernel kern;                                                                     \
    lt_cu_context ctx;
#define LT_CU_LAUNCH_ATTRIBUTE_MEMBERS                                                     \
    unsigned id;                                                                           \
    char pad[4];                                                                           \
    union { char space[64]; int programmaticStreamSerializationAllowed; } value;
#define LT_CU_LAUNCH_CONFIG_MEMBERS(attribute_type)                                        \
    unsigned gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes; \
    lt_cu_stream hStream;                                                                  \
    attribute_type *attrs;                                                                 \
    unsigned numAttrs;
#ifndef CUDA_VERSION /* the real header is not there */
struct CUDA_KERNEL_NODE_PARAMS_v2_st { LT_CU_KERNEL_NODE_MEMBERS };
struct CUlaunchAttribute_st { LT_CU_LAUNCH_ATTRIBUTE_MEMBERS };
struct CUlaunchConfig_st { LT_CU_LAUNCH_CONFIG_MEMBERS(struct CUlaunchAttribute_st) };
#endif
typedef struct CUlaunchAttribute_st lt_cu_launch_attribute;
typedef struct CUlaunchConfig_st lt_cu_launch_config;
typedef struct CUDA_KERNEL_NODE_PARAMS_v2_st lt_cu_kernel_node;
typedef struct CUgraphEdgeData_st lt_cu_edge_data; /* only its address is passed */

/* X(result, symbol, arguments): symbols as the library exports them. */
#define LT_CUDA_DRIVER_FUNCTIONS(X)                                                                         \
    X(unsigned, cuInit, (unsigned))                                                                         \
    X(unsigned, cuDriverGetVersion, (int *))                                                                \
    X(unsigned, cuGetErrorName, (unsigned, const char **))                                                  \
    X(unsigned, cuGetErrorString, (unsigned, const char **))                                                \
    X(unsigned, cuDeviceGetCount, (int *))                                                                  \
    X(unsigned, cuDeviceGet, (int *, int))                                                                  \
    X(unsigned, cuDeviceGetName, (char *, int, int))                                                        \
    X(unsigned, cuDeviceGetAttribute, (int *, unsigned, int))                                               \
    X(unsigned, cuDevicePrimaryCtxRetain, (lt_cu_context *, int))                                           \
    X(unsigned, cuDevicePrimaryCtxRelease_v2, (int))                                                        \
    X(unsigned, cuCtxSetCurrent, (lt_cu_context))                                                           \
    X(unsigned, cuMemGetInfo_v2, (size_t *, size_t *))                                                      \
    X(unsigned, cuMemAlloc_v2, (lt_cu_address *, size_t))                                                   \
    X(unsigned, cuMemFree_v2, (lt_cu_address))                                                              \
    X(unsigned, cuMemHostAlloc, (void **, size_t, unsigned))                                                \
    X(unsigned, cuMemFreeHost, (void *))                                                                    \
    X(unsigned, cuMemcpyAsync, (lt_cu_address, lt_cu_address, size_t, lt_cu_stream))                        \
    X(unsigned, cuMemsetD8Async, (lt_cu_address, unsigned char, size_t, lt_cu_stream))                      \
    X(unsigned, cuStreamCreate, (lt_cu_stream *, unsigned))                                                 \
    X(unsigned, cuStreamDestroy_v2, (lt_cu_stream))                                                         \
    X(unsigned, cuStreamSynchronize, (lt_cu_stream))                                                        \
    X(unsigned, cuStreamWaitEvent, (lt_cu_stream, lt_cu_event, unsigned))                                   \
    X(unsigned, cuEventCreate, (lt_cu_event *, unsigned))                                                   \
    X(unsigned, cuEventDestroy_v2, (lt_cu_event))                                                           \
    X(unsigned, cuEventRecord, (lt_cu_event, lt_cu_stream))                                                 \
    X(unsigned, cuEventSynchronize, (lt_cu_event))                                                          \
    X(unsigned, cuEventQuery, (lt_cu_event))                                                                \
    X(unsigned, cuEventElapsedTime, (float *, lt_cu_event, lt_cu_event))                                    \
    X(unsigned, cuModuleLoadData, (lt_cu_module *, const void *))                                           \
    X(unsigned, cuModuleUnload, (lt_cu_module))                                                             \
    X(unsigned, cuModuleGetFunction, (lt_cu_function *, lt_cu_module, const char *))                        \
    X(unsigned, cuFuncSetAttribute, (lt_cu_function, unsigned, int))                                        \
    X(unsigned, cuLaunchKernel, (lt_cu_function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, \
                                 unsigned, lt_cu_stream, void **, void **))                                 \
    X(unsigned, cuLaunchKernelEx, (const lt_cu_launch_config *, lt_cu_function, void **, void **))          \
    X(unsigned, cuStreamBeginCapture_v2, (lt_cu_stream, unsigned))                                          \
    X(unsigned, cuStreamEndCapture, (lt_cu_stream, lt_cu_graph *))                                          \
    X(unsigned, cuStreamGetCaptureInfo_v3, (lt_cu_stream, unsigned *, uint64_t *, lt_cu_graph *,            \
                                            const lt_cu_graph_node **, const lt_cu_edge_data **, size_t *)) \
    X(unsigned, cuGraphInstantiateWithFlags, (lt_cu_graph_exec *, lt_cu_graph, unsigned long long))         \
    X(unsigned, cuGraphLaunch, (lt_cu_graph_exec, lt_cu_stream))                                            \
    X(unsigned, cuGraphDestroy, (lt_cu_graph))                                                              \
    X(unsigned, cuGraphExecDestroy, (lt_cu_graph_exec))                                                     \
    X(unsigned, cuGraphExecKernelNodeSetParams_v2, (lt_cu_graph_exec, lt_cu_graph_node, const lt_cu_kernel_node *))

typedef struct lt_cuda_driver {
#define X(result, name, args) result (*name) args;
    LT_CUDA_DRIVER_FUNCTIONS(X)
#undef X
} lt_cuda_driver;

#define LT_CUDA_DRIVER_MIN 12040 /* CUDA 12.4: graph edges, sm_90 */

#endif
