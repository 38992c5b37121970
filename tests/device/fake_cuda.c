/* A CUDA driver that is none: memory is the host's, work is done when it is given, kernels only count.
   Built as libcuda.so.1 and found through LATHE_CUDA, it lets the whole device run on any machine, and
   fail on demand. What a real one would refuse, or take and then do something undefined, ends the process with a sentence
   (fake_rules.h), as far as it can be seen here. SPDX-License-Identifier: BSD-3-Clause */
#include "fake_cuda.h"
#include "fake_rules.h"

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
#ifndef FAKE_SM
#define FAKE_SM 90
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
    *v = which == LT_CU_ATTRIBUTE_SM_MAJOR ? FAKE_SM / 10 : which == LT_CU_ATTRIBUTE_SM_MINOR ? FAKE_SM % 10
       : which == LT_CU_ATTRIBUTE_SHARED_BYTES_OPTIN ? (int)cubin_most_shared(FAKE_SM) : 100;
    return 0;
}

/* One context a device, which goes when everyone who retained it has released it. */
static int              retained[FAKE_DEVICES + 1];
static __thread int     current = -1;
static pthread_mutex_t  lock = PTHREAD_MUTEX_INITIALIZER; /* of contexts and allocations */
static void need_context(const char *what) { if (current < 0 || retained[current] <= 0) fake_refuse("%s: no context is current on this thread", what); }
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

/* The allocation that holds so many bytes from here on. */
static bool is_allocated(lt_cu_address at, size_t bytes)
{
    bool found = false;
    pthread_mutex_lock(&lock);
    for (const header *h = allocated; h && !found; h = h->next) {
        lt_cu_address first = (lt_cu_address)(uintptr_t)((const char *)h + 256);
        found = at >= first && at + bytes <= first + h->bytes;
    }
    pthread_mutex_unlock(&lock);
    return found;
}

unsigned cuMemAlloc_v2(lt_cu_address *out, size_t bytes)
{
    need_context("cuMemAlloc");
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
    need_context("cuMemFree");
    if (!is_allocated(at, 1) || at % 256) fake_refuse("cuMemFree: %p is no allocation", (void *)(uintptr_t)at);
    header *h = (header *)(void *)((char *)(uintptr_t)at - 256);
    pthread_mutex_lock(&lock);
    take_out(h);
    fake_state.used_bytes -= h->bytes;
    pthread_mutex_unlock(&lock);
    free(h);
    return 0;
}

/* Page-locked memory: a head, then the bytes. */
typedef struct locked { struct locked *next; size_t bytes; } locked;
enum { LOCKED_HEAD = 64 };
static locked *all_locked;
static void *locked_bytes(locked *l) { return (char *)l + LOCKED_HEAD; }

unsigned cuMemHostAlloc(void **out, size_t bytes, unsigned flags)
{
    (void)flags;
    if (fake_state.most_locked && fake_state.locked >= fake_state.most_locked) return LT_CU_ERROR_OUT_OF_MEMORY;
    need_context("cuMemHostAlloc");
    locked *l = calloc(1, sizeof *l + bytes + LOCKED_HEAD);
    if (!l) return LT_CU_ERROR_OUT_OF_MEMORY;
    pthread_mutex_lock(&lock);
    *l = (locked){ all_locked, bytes };
    all_locked = l;
    fake_state.locked++;
    fake_state.locks++;
    pthread_mutex_unlock(&lock);
    *out = locked_bytes(l);
    return 0;
}

static bool is_locked(lt_cu_address at, size_t bytes)
{
    bool found = false;
    pthread_mutex_lock(&lock);
    for (locked *l = all_locked; l && !found; l = l->next) {
        lt_cu_address first = (lt_cu_address)(uintptr_t)locked_bytes(l);
        found = at >= first && at + bytes <= first + l->bytes;
    }
    pthread_mutex_unlock(&lock);
    return found;
}

unsigned cuMemFreeHost(void *p)
{
    need_context("cuMemFreeHost");
    pthread_mutex_lock(&lock);
    locked **at = &all_locked, *l;
    while (*at && locked_bytes(*at) != p) at = &(*at)->next;
    if ((l = *at)) *at = l->next, fake_state.locked--;
    pthread_mutex_unlock(&lock);
    if (!l) fake_refuse("cuMemFreeHost: %p is not page-locked", p);
    free(l);
    return 0;
}

/* ---- Streams: a graph being recorded, or work done at once ---- */
struct CUfunc_st { fake_function f; };
enum { MAX_NODES = 2048, MAX_PARAMS = 160, MAX_FUNCTIONS = 24 }; /* of a graph, a kernel, a module */
typedef struct node { lt_cu_function kernel; unsigned grid[3], block[3], shared; void **arg; lt_cu_address dst, src; size_t bytes; int byte; } node;
struct CUgraph_st { node item[MAX_NODES]; size_t n; uint64_t id; };
struct CUgraphExec_st { struct CUgraph_st graph; };
struct CUstream_st { struct CUgraph_st *recording; bool follows; lt_cu_graph_node last; }; /* follows: records into another stream's graph */
struct CUmod_st { struct CUmod_st *next; char *image; struct CUfunc_st function[MAX_FUNCTIONS]; int n_functions; };
struct CUevent_st { int records; bool captured; lt_cu_stream at; };

static int n_params(lt_cu_function k) { return k->f.known ? k->f.code.n_params : 1; }

/* Kernels take addresses of memory that is there: when they are launched, and when what was recorded is replayed. */
static void check_args(const node *n)
{
#ifndef FAKE_ANY_ARGUMENT
    for (int i = 0; i < n_params(n->kernel); i++) {
        lt_cu_address at = (lt_cu_address)(uintptr_t)n->arg[i];
        if (n->kernel->f.known && at && !is_allocated(at, 1) && !is_locked(at, 1)) fake_refuse("%s: argument %d, %p, is in no memory of the device", n->kernel->f.name, i, n->arg[i]);
    }
#endif
    (void)n;
}

/* One side of a copy: wholly in a piece of memory, as far as that is known. */
static void check_side(const char *what, lt_cu_address at, size_t bytes, bool recorded)
{
    if (!bytes || is_allocated(at, bytes) || is_locked(at, bytes)) return;
    if (is_allocated(at, 1) || is_locked(at, 1)) fake_refuse("%s: %zu bytes from %p on pass the end of its memory", what, bytes, (void *)(uintptr_t)at);
#ifndef FAKE_ANY_ARGUMENT
    if (recorded) fake_refuse("%s: %p is recorded, but neither of the device nor page-locked", what, (void *)(uintptr_t)at);
#endif
    (void)recorded;
}

static void check(const node *n, bool recorded)
{
    if (n->kernel) {
        fake_check_launch(&n->kernel->f, FAKE_SM, n->grid, n->block, n->shared);
        check_args(n);
        return;
    }
    check_side(n->src ? "copy" : "fill", n->dst, n->bytes, recorded);
    if (n->src) check_side("copy", n->src, n->bytes, recorded);
}

static unsigned run(const node *n)
{
    if (n->kernel) {
        fake_state.launches++;
        fake_state.last_arg = n->arg[0];
    } else if (n->src) memcpy((void *)(uintptr_t)n->dst, (const void *)(uintptr_t)n->src, n->bytes);
    else memset((void *)(uintptr_t)n->dst, n->byte, n->bytes);
    return 0;
}

static void **copy_args(lt_cu_function k, void **arg)
{
    size_t bytes = (size_t)n_params(k) * sizeof *arg;
    return memcpy(malloc(bytes), arg, bytes);
}

static unsigned give(lt_cu_stream st, node n)
{
    need_context("work on a stream");
    unsigned r = answer();
    if (r) return r;
    check(&n, st->recording != NULL);
    if (!st->recording) return run(&n);
    if (st->recording->n == MAX_NODES) return LT_CU_ERROR_INVALID_VALUE;
    if (n.kernel) n.arg = copy_args(n.kernel, n.arg);
    st->recording->item[st->recording->n++] = n;
    st->last = (lt_cu_graph_node)st->recording->n; /* its number, from 1 */
    return 0;
}

unsigned cuMemcpyAsync(lt_cu_address dst, lt_cu_address src, size_t n, lt_cu_stream st) { return give(st, (node){ .dst = dst, .src = src, .bytes = n }); }
unsigned cuMemsetD8Async(lt_cu_address dst, unsigned char byte, size_t n, lt_cu_stream st) { return give(st, (node){ .dst = dst, .byte = byte, .bytes = n }); }
unsigned cuStreamCreate(lt_cu_stream *st, unsigned flags) { (void)flags; need_context("cuStreamCreate"); *st = calloc(1, sizeof **st); return 0; }
static void not_recording(const char *what, lt_cu_stream st) { if (st->recording) fake_refuse("%s: the stream is being recorded", what); }
unsigned cuStreamDestroy_v2(lt_cu_stream st) { not_recording("cuStreamDestroy", st); free(st); return 0; }
unsigned cuStreamSynchronize(lt_cu_stream st) { not_recording("cuStreamSynchronize", st); need_context("cuStreamSynchronize"); return answer(); }
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
unsigned cuEventRecord(lt_cu_event e, lt_cu_stream st) { need_context("cuEventRecord"); e->at = st; e->captured = st->recording != NULL; e->records++; return 0; }
static void not_captured(const char *what, lt_cu_event e) { if (e->captured) fake_refuse("%s: the event belongs to a recording", what); }
unsigned cuEventSynchronize(lt_cu_event e) { not_captured("cuEventSynchronize", e); return answer(); }
unsigned cuEventQuery(lt_cu_event e) { not_captured("cuEventQuery", e); return e->records % 2 ? LT_CU_ERROR_NOT_READY : 0; }
unsigned cuEventElapsedTime(float *ms, lt_cu_event a, lt_cu_event b) { not_captured("cuEventElapsedTime", a); not_captured("cuEventElapsedTime", b); *ms = 1.5f; return 0; }

/* ---- Kernels ---- */
/* Modules that are gone stay known: a graph may still name their functions. */
static struct CUmod_st *gone;

unsigned cuModuleLoadData(lt_cu_module *m, const void *image)
{
    need_context("cuModuleLoadData");
    if (memcmp(image, ELFMAG, SELFMAG)) return LT_CU_ERROR_INVALID_VALUE;
    size_t bytes = cubin_bytes(image);
    *m = calloc(1, sizeof **m);
    (*m)->image = memcpy(malloc(bytes), image, bytes);
    fake_state.modules++;
    fake_state.loads++;
    return 0;
}

unsigned cuModuleUnload(lt_cu_module m)
{
    need_context("cuModuleUnload");
    for (int i = 0; i < m->n_functions; i++) m->function[i].f.loaded = false;
    free(m->image);
    m->image = NULL;
    pthread_mutex_lock(&lock);
    m->next = gone;
    gone = m;
    pthread_mutex_unlock(&lock);
    fake_state.modules--;
    return 0;
}

unsigned cuModuleGetFunction(lt_cu_function *f, lt_cu_module m, const char *name)
{
    need_context("cuModuleGetFunction");
    int i = 0;
    pthread_mutex_lock(&lock);
    while (i < m->n_functions && strcmp(m->function[i].f.name, name)) i++;
    if (i == MAX_FUNCTIONS) fake_refuse("%s: more functions than a module has here", name);
    if (i == m->n_functions) m->function[m->n_functions++].f = fake_function_of(m->image, name, FAKE_SM);
    pthread_mutex_unlock(&lock);
    *f = &m->function[i];
    return 0;
}

unsigned cuFuncSetAttribute(lt_cu_function f, unsigned which, int value)
{
    if (which == LT_CU_FUNCTION_MAX_SHARED_BYTES) fake_allow_dynamic(&f->f, (size_t)value, FAKE_SM);
    return 0;
}

/* param: where each argument lies. */
static node launch_of(lt_cu_function f, void **param, void *arg[static MAX_PARAMS])
{
    for (int i = 0; i < n_params(f); i++) arg[i] = *(void **)param[i];
    return (node){ .kernel = f, .arg = arg };
}

unsigned cuLaunchKernel(lt_cu_function f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared, lt_cu_stream st,
                        void **param, void **extra)
{
    void *arg[MAX_PARAMS];
    node n = launch_of(f, param, arg);
    (void)extra;
    n.grid[0] = gx, n.grid[1] = gy, n.grid[2] = gz, n.block[0] = bx, n.block[1] = by, n.block[2] = bz, n.shared = shared;
    return give(st, n);
}
unsigned cuLaunchKernelEx(const lt_cu_launch_config *at, lt_cu_function f, void **param, void **extra)
{
    fake_state.early += at->numAttrs == 1 && at->attrs[0].id == LT_CU_LAUNCH_OVERLAP;
    return cuLaunchKernel(f, at->gridDimX, at->gridDimY, at->gridDimZ, at->blockDimX, at->blockDimY, at->blockDimZ, at->sharedMemBytes, at->hStream, param, extra);
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
    for (size_t i = 0; i < g->n; i++)
        if (g->item[i].kernel) (*e)->graph.item[i].arg = copy_args(g->item[i].kernel, g->item[i].arg);
    fake_state.instantiated++;
    return 0;
}
unsigned cuGraphLaunch(lt_cu_graph_exec e, lt_cu_stream st)
{
    not_recording("cuGraphLaunch", st);
    need_context("cuGraphLaunch");
    unsigned r = answer();
    for (size_t i = 0; i < e->graph.n && !r; i++) {
        check(&e->graph.item[i], true);
        r = run(&e->graph.item[i]);
    }
    return r;
}
static void free_args(struct CUgraph_st *g)
{
    for (size_t i = 0; i < g->n; i++) free((void *)g->item[i].arg);
}
unsigned cuGraphDestroy(lt_cu_graph g) { free_args(g); free(g); return 0; }
unsigned cuGraphExecDestroy(lt_cu_graph_exec e) { free_args(&e->graph); free(e); return 0; }
unsigned cuGraphExecKernelNodeSetParams_v2(lt_cu_graph_exec e, lt_cu_graph_node n, const lt_cu_kernel_node *to)
{
    if (fake_state.refuse_updates) return LT_CU_ERROR_INVALID_VALUE;
    node *own = &e->graph.item[(uintptr_t)n - 1];
    if (own->kernel != to->func) fake_refuse("%s: its node is of %s", to->func->f.name, own->kernel ? own->kernel->f.name : "a copy");
    for (int i = 0; i < n_params(to->func); i++) own->arg[i] = *(void **)to->kernelParams[i];
    return 0;
}
