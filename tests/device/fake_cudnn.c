/* A cuDNN that is none: it plans everything, computes nothing, and keeps the rules of the real one. A handle is for one thread at a
   time. Its own streams, which every convolution here forks, belong to the capture of the stream they were forked from until that ends:
   work of any other stream through the handle fails meanwhile, as the real one's does. SPDX-License-Identifier: BSD-3-Clause */
#include "fake_library.h"

#include "device/cuda/api_cudnn.h"

#include <dlfcn.h>

#define X(result, name, args) result name args;
#pragma GCC visibility push(default)
LT_CUDNN_FUNCTIONS(X)
#pragma GCC visibility pop
#undef X

enum { BAD_PARAM = 2000, INTERNAL_ERROR = 4000 };

struct cudnnContext { fake_use use; lt_cu_stream stream; uint64_t capture; };
typedef struct descriptor { unsigned type; lt_cudnn_handle handle; } descriptor;

static atomic_int executed;
static _Thread_local const char *reason = "";

static unsigned refuse(unsigned status, const char *why)
{
    reason = why;
    return status;
}

size_t cudnnGetVersion(void) { return 90000; }
const char *cudnnGetErrorString(unsigned r) { return r == INTERNAL_ERROR ? "CUDNN_STATUS_INTERNAL_ERROR" : "CUDNN_STATUS_BAD_PARAM"; }
void cudnnGetLastErrorString(char *text, size_t bytes) { snprintf(text, bytes, "%s", reason); }
unsigned cudnnCreate(lt_cudnn_handle *h) { *h = calloc(1, sizeof **h); return *h ? 0 : INTERNAL_ERROR; }
unsigned cudnnDestroy(lt_cudnn_handle h) { free(h); return 0; }

unsigned cudnnSetStream(lt_cudnn_handle h, lt_cu_stream st)
{
    bool alone = fake_enter(&h->use);
    h->stream = st;
    fake_leave(&h->use);
    return alone ? 0 : refuse(INTERNAL_ERROR, "two threads use one handle");
}

/* ---- Descriptors: each asks for nothing but a handle ---- */
unsigned cudnnBackendCreateDescriptor(unsigned type, lt_cudnn_descriptor *out)
{
    descriptor *d = calloc(1, sizeof *d);
    if (d) d->type = type;
    *out = d;
    return d ? 0 : INTERNAL_ERROR;
}
unsigned cudnnBackendDestroyDescriptor(lt_cudnn_descriptor d) { free(d); return 0; }

unsigned cudnnBackendSetAttribute(lt_cudnn_descriptor d, unsigned name, unsigned type, int64_t n, const void *value)
{
    (void)type, (void)n;
    if (name == LT_CUDNN_ATTR_OPERATIONGRAPH_HANDLE || name == LT_CUDNN_ATTR_EXECUTION_PLAN_HANDLE) memcpy(&((descriptor *)d)->handle, value, sizeof(lt_cudnn_handle));
    return 0;
}

unsigned cudnnBackendFinalize(lt_cudnn_descriptor p)
{
    descriptor *d = p;
    if (!d->handle) return 0;
    bool alone = fake_enter(&d->handle->use);
    fake_leave(&d->handle->use);
    return alone ? 0 : refuse(INTERNAL_ERROR, "two threads use one handle");
}

unsigned cudnnBackendGetAttribute(lt_cudnn_descriptor d, unsigned name, unsigned type, int64_t most, int64_t *n, void *out)
{
    (void)d, (void)type, (void)most;
    *n = name != LT_CUDNN_ATTR_ENGINE_NUMERICAL_NOTE && name != LT_CUDNN_ATTR_ENGINECFG_KNOB_CHOICES;
    if (name == LT_CUDNN_ATTR_ENGINE_GLOBAL_INDEX || name == LT_CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE) *(int64_t *)out = 1;
    return 0;
}

/* ---- Work ---- */
typedef unsigned capture_info(lt_cu_stream, unsigned *, uint64_t *, lt_cu_graph *, const lt_cu_graph_node **, const lt_cu_edge_data **, size_t *);
typedef bool capture_is_open(uint64_t);

/* A function of the made-up driver, which lies beside this library. */
static void *of_driver(const char *name)
{
    Dl_info self;
    char path[512];
    if (!dladdr((void *)&executed, &self)) abort();
    snprintf(path, sizeof path, "%.*s/libcuda.so.1", (int)(strrchr(self.dli_fname, '/') - self.dli_fname), self.dli_fname);
    void *driver = dlopen(path, RTLD_NOW | RTLD_NOLOAD), *at = driver ? dlsym(driver, name) : NULL;
    if (!at) abort();
    return at;
}

/* 0: the stream is not captured. */
static uint64_t capture_of(lt_cu_stream st)
{
    capture_info *ask;
    unsigned state;
    uint64_t id = 0;
    lt_cu_graph graph;
    const lt_cu_graph_node *node;
    const lt_cu_edge_data *edge;
    size_t n;
    *(void **)&ask = of_driver("cuStreamGetCaptureInfo_v3");
    return ask(st, &state, &id, &graph, &node, &edge, &n) ? 0 : id;
}

static bool may_fork(lt_cudnn_handle h)
{
    capture_is_open *is_open;
    uint64_t now = capture_of(h->stream);
    *(void **)&is_open = of_driver("fake_capture_is_open");
    if (h->capture != now && is_open(h->capture)) return false;
    h->capture = now;
    return true;
}

unsigned cudnnBackendExecute(lt_cudnn_handle h, lt_cudnn_descriptor plan, lt_cudnn_descriptor pack)
{
    (void)pack;
    if (!plan || !h->stream) return refuse(BAD_PARAM, "no plan, or no stream");
    bool alone = fake_enter(&h->use), forks = may_fork(h);
    fake_leave(&h->use);
    if (!alone) return refuse(INTERNAL_ERROR, "two threads use one handle");
    if (!forks) return refuse(INTERNAL_ERROR, "ForkInternalStreams");
    return fake_fault(&executed) ? refuse(INTERNAL_ERROR, "a fault made up by the test") : 0;
}
