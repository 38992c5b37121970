/* A CUDA driver that is none: memory is the host's, work is done when it is given, kernels only count.
   Built as libcuda.so.1 and found through LATHE_CUDA, it lets the whole device run on any machine, and
   fail on demand. SPDX-License-Identifier: BSD-3-Clause */
#include "fake_cuda.h"

#include "device/cuda/api_driver.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Every function with the type the device expects it to have. */
#define X(result, name, args) result name args;
#define EXPORT __attribute__((visibility("default")))
#pragma GCC visibility push(default)
LT_CUDA_DRIVER_FUNCTIONS(X)
#pragma GCC visibility pop
#undef X

#ifndef FAKE_MEMORY_BYTES
#define FAKE_MEMORY_BYTES 0
#endif
EXPORT fake_cuda fake_state = { .memory_bytes = FAKE_MEMORY_BYTES }; /* the test finds it by name */

static unsigned answer(void)
{
    if (fake_state.sticky) return fake_state.sticky;
    if (fake_state.fail_after > 0 && --fake_state.fail_after == 0) return fake_state.sticky = fake_state.fail_with;
    return 0;
}

/* What a driver that does not fit says otherwise: tests/device/CMakeLists.txt builds some of those too. */
#ifndef FAKE_VERSION
#define FAKE_VERSION 13000
#endif
#ifndef FAKE_INIT
#define FAKE_INIT 0
#endif
#ifndef FAKE_DEVICES
#define FAKE_DEVICES 1
#endif
#ifndef FAKE_SM_MAJOR
#define FAKE_SM_MAJOR 9
#endif
#ifndef FAKE_OTHER /* the name of those after the first */
#define FAKE_OTHER "fake GPU"
#endif

/* ---- Devices ---- */
unsigned cuInit(unsigned flags) { (void)flags; return FAKE_INIT; }
unsigned cuDriverGetVersion(int *v) { *v = FAKE_VERSION; return 0; }
unsigned cuGetErrorName(unsigned r, const char **s) { static char name[32]; snprintf(name, sizeof name, "FAKE_ERROR_%u", r); *s = name; return 0; }
unsigned cuGetErrorString(unsigned r, const char **s) { (void)r; *s = "a fault made up by the test"; return 0; }
unsigned cuDeviceGetCount(int *n) { *n = FAKE_DEVICES; return 0; }
unsigned cuDeviceGet(int *dev, int ordinal) { *dev = ordinal; return 0; }
unsigned cuDeviceGetName(char *s, int n, int dev) { snprintf(s, (size_t)n, "%s", dev ? FAKE_OTHER : "fake GPU"); return 0; }
unsigned cuDeviceGetAttribute(int *v, unsigned which, int dev)
{
    (void)dev;
    *v = which == LT_CU_ATTRIBUTE_SM_MAJOR ? FAKE_SM_MAJOR : which == LT_CU_ATTRIBUTE_SM_MINOR ? 0 : which == LT_CU_ATTRIBUTE_SHARED_BYTES_OPTIN ? 232448 : 100;
    return 0;
}

/* One context a device, which goes when everyone who retained it has released it. */
static int              retained[FAKE_DEVICES + 1];
static __thread int     current;
static pthread_mutex_t  lock = PTHREAD_MUTEX_INITIALIZER; /* of contexts and allocations */
unsigned cuDevicePrimaryCtxRetain(lt_cu_context *c, int dev)
{
    pthread_mutex_lock(&lock);
    retained[dev]++;
    pthread_mutex_unlock(&lock);
    *c = (lt_cu_context)&retained[dev];
    return 0;
}
unsigned cuCtxSetCurrent(lt_cu_context c) { if (c) current = (int)((int *)(void *)c - retained); return 0; }

/* ---- Memory ---- */
unsigned cuMemGetInfo_v2(size_t *f, size_t *t) { *t = fake_state.memory_bytes; *f = *t - fake_state.used_bytes; return 0; }

/* In front of every allocation; a context that goes takes what is left along. */
typedef struct header { struct header *next, *before; size_t bytes; int device; } header;
static header *allocated;

static void take_out(const header *h) /* under the lock */
{
    if (h->next) h->next->before = h->before;
    *(h->before ? &h->before->next : &allocated) = h->next;
}

unsigned cuDevicePrimaryCtxRelease_v2(int dev)
{
    pthread_mutex_lock(&lock);
    bool last = --retained[dev] <= 0;
    for (header *h = last ? allocated : NULL, *next; h; h = next) {
        next = h->next;
        if (h->device != dev) continue;
        take_out(h);
        free(h); /* still counted in used_bytes: the device did not give it back */
    }
    pthread_mutex_unlock(&lock);
    return 0;
}

unsigned cuMemAlloc_v2(lt_cu_address *out, size_t bytes)
{
    unsigned r = answer();
    if (r) return r;
    if (bytes > fake_state.memory_bytes - fake_state.used_bytes) return LT_CU_ERROR_OUT_OF_MEMORY;
    header *h = aligned_alloc(256, (bytes + 511) / 256 * 256);
    if (!h) return LT_CU_ERROR_OUT_OF_MEMORY;
    memset((char *)h + 256, 0, bytes); /* what kernels that only count leave behind is the same each time */
    pthread_mutex_lock(&lock);
    *h = (header){ allocated, NULL, bytes, current };
    if (allocated) allocated->before = h;
    allocated = h;
    fake_state.used_bytes += bytes;
    pthread_mutex_unlock(&lock);
    *out = (lt_cu_address)(uintptr_t)((char *)h + 256);
    return 0;
}

unsigned cuMemFree_v2(lt_cu_address at)
{
    header *h = (header *)(void *)((char *)(uintptr_t)at - 256);
    pthread_mutex_lock(&lock);
    take_out(h);
    fake_state.used_bytes -= h->bytes;
    pthread_mutex_unlock(&lock);
    free(h);
    return 0;
}

unsigned cuMemHostAlloc(void **out, size_t bytes, unsigned flags)
{
    (void)flags;
    if (fake_state.most_locked && fake_state.locked >= fake_state.most_locked) return LT_CU_ERROR_OUT_OF_MEMORY;
    if (!(*out = calloc(1, bytes))) return LT_CU_ERROR_OUT_OF_MEMORY;
    fake_state.locked++;
    fake_state.locks++;
    return 0;
}
unsigned cuMemFreeHost(void *p) { free(p); fake_state.locked--; return 0; }

/* ---- Streams: a graph being recorded, or work done at once ---- */
typedef struct node { lt_cu_function kernel; void *arg; lt_cu_address dst, src; size_t bytes; int byte; } node;
enum { MAX_NODES = 2048 }; /* of a graph */
struct CUgraph_st { node item[MAX_NODES]; size_t n; uint64_t id; };
struct CUgraphExec_st { struct CUgraph_st graph; };
struct CUstream_st { struct CUgraph_st *recording; bool follows; lt_cu_graph_node last; }; /* follows: records into another stream's graph */
struct CUfunc_st { char name[64]; };
struct CUmod_st { struct CUfunc_st function; };
struct CUevent_st { int records; lt_cu_stream at; };

static unsigned run(const node *n)
{
    if (n->kernel) {
        fake_state.launches++;
        fake_state.last_arg = n->arg;
    } else if (n->src) memcpy((void *)(uintptr_t)n->dst, (const void *)(uintptr_t)n->src, n->bytes);
    else memset((void *)(uintptr_t)n->dst, n->byte, n->bytes);
    return 0;
}

static unsigned give(lt_cu_stream st, node n)
{
    unsigned r = answer();
    if (r || !st->recording) return r ? r : run(&n);
    if (st->recording->n == MAX_NODES) return LT_CU_ERROR_INVALID_VALUE;
    st->recording->item[st->recording->n++] = n;
    st->last = (lt_cu_graph_node)st->recording->n; /* its number, from 1 */
    return 0;
}

unsigned cuMemcpyAsync(lt_cu_address dst, lt_cu_address src, size_t n, lt_cu_stream st) { return give(st, (node){ .dst = dst, .src = src, .bytes = n }); }
unsigned cuMemsetD8Async(lt_cu_address dst, unsigned char byte, size_t n, lt_cu_stream st) { return give(st, (node){ .dst = dst, .byte = byte, .bytes = n }); }
unsigned cuStreamCreate(lt_cu_stream *st, unsigned flags) { (void)flags; *st = calloc(1, sizeof **st); return 0; }
unsigned cuStreamDestroy_v2(lt_cu_stream st) { free(st); return 0; }
unsigned cuStreamSynchronize(lt_cu_stream st) { (void)st; return answer(); }
/* An event of a stream that records makes others record there, too, until that stream waits for one of theirs. */
unsigned cuStreamWaitEvent(lt_cu_stream st, lt_cu_event e, unsigned flags)
{
    (void)flags;
    if (e->at->recording && !st->recording) st->recording = e->at->recording, st->follows = true;
    else if (st->recording && e->at->follows) e->at->recording = NULL, e->at->follows = false;
    return 0;
}
unsigned cuEventCreate(lt_cu_event *e, unsigned flags) { (void)flags; *e = calloc(1, sizeof **e); return 0; }
unsigned cuEventDestroy_v2(lt_cu_event e) { free(e); return 0; }
unsigned cuEventRecord(lt_cu_event e, lt_cu_stream st) { e->at = st; e->records++; return 0; }
unsigned cuEventSynchronize(lt_cu_event e) { (void)e; return answer(); }
unsigned cuEventQuery(lt_cu_event e) { return e->records % 2 ? LT_CU_ERROR_NOT_READY : 0; }
unsigned cuEventElapsedTime(float *ms, lt_cu_event a, lt_cu_event b) { (void)a; (void)b; *ms = 1.5f; return 0; }

/* ---- Kernels ---- */
unsigned cuModuleLoadData(lt_cu_module *m, const void *image)
{
    if (memcmp(image, "\177ELF", 4)) return LT_CU_ERROR_INVALID_VALUE;
    *m = calloc(1, sizeof **m);
    fake_state.modules++;
    fake_state.loads++;
    return 0;
}
unsigned cuModuleUnload(lt_cu_module m) { free(m); fake_state.modules--; return 0; }
unsigned cuModuleGetFunction(lt_cu_function *f, lt_cu_module m, const char *name) { (void)name; *f = &m->function; return 0; }
unsigned cuFuncSetAttribute(lt_cu_function f, unsigned which, int value) { (void)f; (void)which; (void)value; return 0; }
unsigned cuLaunchKernel(lt_cu_function f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared, lt_cu_stream st,
                        void **param, void **extra)
{
    (void)gx; (void)gy; (void)gz; (void)bx; (void)by; (void)bz; (void)shared; (void)extra;
    return give(st, (node){ .kernel = f, .arg = *(void **)param[0] });
}
unsigned cuLaunchKernelEx(const lt_cu_launch_config *at, lt_cu_function f, void **param, void **extra)
{
    (void)extra;
    fake_state.early += at->numAttrs == 1 && at->attrs[0].id == LT_CU_LAUNCH_OVERLAP;
    return give(at->hStream, (node){ .kernel = f, .arg = *(void **)param[0] });
}

/* ---- Graphs ---- */
/* Captures have numbers, as the driver's have; those that are open are known to whoever asks. */
enum { MAX_CAPTURES = 64 };
static uint64_t captures, open_capture[MAX_CAPTURES];
static pthread_mutex_t capture_lock = PTHREAD_MUTEX_INITIALIZER;

static void replace_capture(uint64_t from, uint64_t to)
{
    pthread_mutex_lock(&capture_lock);
    for (int i = 0; i < MAX_CAPTURES; i++)
        if (open_capture[i] == from) {
            open_capture[i] = to;
            break;
        }
    pthread_mutex_unlock(&capture_lock);
}

EXPORT bool fake_capture_is_open(uint64_t id);
bool fake_capture_is_open(uint64_t id)
{
    bool known = false;
    pthread_mutex_lock(&capture_lock);
    for (int i = 0; i < MAX_CAPTURES; i++) known = known || (id && open_capture[i] == id);
    pthread_mutex_unlock(&capture_lock);
    return known;
}

unsigned cuStreamBeginCapture_v2(lt_cu_stream st, unsigned mode)
{
    (void)mode;
    st->recording = calloc(1, sizeof *st->recording);
    st->recording->id = __atomic_add_fetch(&captures, 1, __ATOMIC_RELAXED);
    replace_capture(0, st->recording->id);
    return 0;
}
unsigned cuStreamEndCapture(lt_cu_stream st, lt_cu_graph *g)
{
    replace_capture(st->recording->id, 0);
    *g = st->recording;
    st->recording = NULL;
    return 0;
}
unsigned cuStreamGetCaptureInfo_v3(lt_cu_stream st, unsigned *state, uint64_t *id, lt_cu_graph *g, const lt_cu_graph_node **node_out,
                                   const lt_cu_edge_data **edge, size_t *n)
{
    *state = st->recording != NULL, *id = st->recording ? st->recording->id : 0, *g = st->recording, *node_out = &st->last, *edge = NULL, *n = 1;
    return 0;
}
unsigned cuGraphInstantiateWithFlags(lt_cu_graph_exec *e, lt_cu_graph g, unsigned long long flags)
{
    (void)flags;
    *e = malloc(sizeof **e);
    (*e)->graph = *g;
    fake_state.instantiated++;
    return 0;
}
unsigned cuGraphLaunch(lt_cu_graph_exec e, lt_cu_stream st)
{
    (void)st;
    unsigned r = answer();
    for (size_t i = 0; i < e->graph.n && !r; i++) r = run(&e->graph.item[i]);
    return r;
}
unsigned cuGraphDestroy(lt_cu_graph g) { free(g); return 0; }
unsigned cuGraphExecDestroy(lt_cu_graph_exec e) { free(e); return 0; }
unsigned cuGraphExecKernelNodeSetParams_v2(lt_cu_graph_exec e, lt_cu_graph_node n, const lt_cu_kernel_node *to)
{
    if (fake_state.refuse_updates) return LT_CU_ERROR_INVALID_VALUE;
    e->graph.item[(uintptr_t)n - 1].arg = *(void **)to->kernelParams[0];
    return 0;
}
