/* Capture and replay of work as CUDA graphs. SPDX-License-Identifier: BSD-3-Clause

   Beside the driver's graph a capture keeps its own list of steps. New arguments for a plain kernel
   change one node in place; a library call hides its nodes, so new arguments for one record the steps
   again, once, before the next replay. */
#include "device/cuda/cuda.h"

#include "base/alloc.h"
#include "base/status.h"
#include "device/cuda/libraries.h"

#include <string.h>

typedef enum step_kind { STEP_LAUNCH, STEP_COPY, STEP_FILL } step_kind;

typedef struct step {
    step_kind kind;
    const lt_kernel *kernel;       /* LAUNCH */
    void  **arg;                   /* owned copies */
    lt_cu_graph_node node;         /* of a plain kernel */
    void   *dst;                   /* COPY, FILL */
    const void *src;
    int     byte;
    size_t  bytes;
} step;

struct lt_cuda_capture {
    lt_capture base;
    step      *step;
    int        n_steps, max_steps;
    bool       spans_streams;      /* events: other streams take part, so it cannot be recorded again */
    bool       stale;              /* arguments of a library call changed since it was recorded */
    lt_cu_graph      graph;
    lt_cu_graph_exec exec;
};

static int n_pointers(const lt_kernel *k) { return k->n_args + (k->scratch_bytes ? 1 : 0); }

/* ---- Recording ------------------------------------------------------------------------------ */
static lt_status add_step(lt_cuda_capture *c, step s)
{
    if (c->n_steps == c->max_steps) {
        int more = c->max_steps ? 2 * c->max_steps : 16;
        step *p = lt_realloc(c->step, (size_t)more * sizeof *p);
        if (!p) return LT_FAIL(LT_ERR_MEMORY, "cuda: no memory for captured step %d", c->n_steps + 1);
        c->step = p;
        c->max_steps = more;
    }
    c->step[c->n_steps++] = s;
    return LT_OK;
}

/* The node the last launch made: the only one that the next work on the stream waits for. */
static lt_status last_node(lt_cuda_stream *st, lt_cu_graph_node *out)
{
    lt_cuda *c = lt_cuda_of(st->base.dev);
    unsigned state;
    uint64_t id;
    lt_cu_graph graph;
    const lt_cu_graph_node *node;
    const lt_cu_edge_data *edge;
    size_t n;
    LT_CUDA_TRY(c, "reading a capture", c->cu->cuStreamGetCaptureInfo_v3(st->handle, &state, &id, &graph, &node, &edge, &n));
    *out = n == 1 ? node[0] : NULL;
    return LT_OK;
}

lt_status lt_cuda_note_launch(lt_cuda_stream *st, const lt_kernel *k, void *const *arg)
{
    if (!st->capture || st->depth) return LT_OK;
    step s = { .kind = STEP_LAUNCH, .kernel = k };
    size_t bytes = (size_t)n_pointers(k) * sizeof *arg;
    if (!k->enqueue) LT_TRY(last_node(st, &s.node));
    s.arg = lt_malloc(LT_MAX(bytes, 1));
    if (!s.arg) return LT_FAIL(LT_ERR_MEMORY, "cuda: no memory for captured arguments");
    memcpy(s.arg, arg, bytes);
    lt_status status = add_step(st->capture, s);
    if (status) lt_free(s.arg);
    else st->capture->base.n_launches++;
    return status;
}

lt_status lt_cuda_note_copy(lt_cuda_stream *st, void *dst, const void *src, size_t bytes)
{
    if (!st->capture || st->depth) return LT_OK;
    return add_step(st->capture, (step){ .kind = STEP_COPY, .dst = dst, .src = src, .bytes = bytes });
}

lt_status lt_cuda_note_fill(lt_cuda_stream *st, void *dst, int byte, size_t bytes)
{
    if (!st->capture || st->depth) return LT_OK;
    return add_step(st->capture, (step){ .kind = STEP_FILL, .dst = dst, .byte = byte, .bytes = bytes });
}

void lt_cuda_note_event(lt_cuda_stream *st)
{
    if (st->capture) st->capture->spans_streams = true;
}

/* ---- Begin, end ------------------------------------------------------------------------------ */
lt_status lt_cuda_capture_begin(lt_stream *base)
{
    lt_cuda *c = lt_cuda_of(base->dev);
    lt_cuda_stream *st = (lt_cuda_stream *)base;
    LT_TRY(lt_cuda_enter(c));
    LT_TRY(lt_cuda_stream_equip(st));
    lt_cuda_capture *g = lt_calloc(1, sizeof *g);
    if (!g) return LT_FAIL(LT_ERR_MEMORY, "cuda: %zu bytes for a capture", sizeof *g);
    g->base.dev = base->dev;
    /* Relaxed: other threads, and libraries inside this one, may allocate meanwhile. */
    unsigned r = c->cu->cuStreamBeginCapture_v2(st->handle, LT_CU_CAPTURE_RELAXED);
    if (r) {
        lt_free(g);
        return lt_cuda_fail(c, r, "beginning a capture", __FILE__, __LINE__);
    }
    st->capture = g;
    return LT_OK;
}

static void drop_graph(lt_cuda_capture *g)
{
    const lt_cuda_driver *cu = lt_cuda_of(g->base.dev)->cu;
    if (g->exec) (void)cu->cuGraphExecDestroy(g->exec);
    if (g->graph) (void)cu->cuGraphDestroy(g->graph);
    g->exec = NULL;
    g->graph = NULL;
}

void lt_cuda_capture_destroy(lt_capture *base)
{
    lt_cuda_capture *g = (lt_cuda_capture *)base;
    lt_cuda *c = lt_cuda_of(base->dev);
    (void)c->cu->cuCtxSetCurrent(c->context);
    drop_graph(g);
    for (int i = 0; i < g->n_steps; i++) lt_free(g->step[i].arg);
    lt_free(g->step);
    lt_free(g);
}

static lt_status instantiate(lt_cuda *c, lt_cuda_stream *st, lt_cuda_capture *g)
{
    LT_CUDA_TRY(c, "ending a capture", c->cu->cuStreamEndCapture(st->handle, &g->graph));
    LT_CUDA_TRY(c, "preparing a captured sequence", c->cu->cuGraphInstantiateWithFlags(&g->exec, g->graph, 0));
    return LT_OK;
}

lt_status lt_cuda_capture_end(lt_stream *base, lt_capture **out)
{
    lt_cuda_stream *st = (lt_cuda_stream *)base;
    lt_cuda_capture *g = st->capture;
    lt_cuda *c = lt_cuda_of(base->dev);
    st->capture = NULL;
    lt_status s = lt_cuda_enter(c);
    if (!s) s = instantiate(c, st, g);
    if (s) lt_cuda_capture_destroy(&g->base);
    else *out = &g->base;
    return s;
}

void lt_cuda_capture_abort(lt_stream *base)
{
    lt_cuda_stream *st = (lt_cuda_stream *)base;
    if (!st->capture) return;
    lt_cuda *c = lt_cuda_of(base->dev);
    (void)c->cu->cuCtxSetCurrent(c->context);
    (void)c->cu->cuStreamEndCapture(st->handle, &st->capture->graph);
    lt_cuda_capture_destroy(&st->capture->base);
    st->capture = NULL;
}

/* ---- Replay and new arguments ------------------------------------------------------------------ */
static lt_status queue_step(lt_cuda *c, lt_cuda_stream *st, step *s)
{
    if (s->kind == STEP_COPY)
        LT_CUDA_TRY(c, "copy", c->cu->cuMemcpyAsync(lt_cuda_address(s->dst), lt_cuda_address(s->src), s->bytes, st->handle));
    else if (s->kind == STEP_FILL)
        LT_CUDA_TRY(c, "fill", c->cu->cuMemsetD8Async(lt_cuda_address(s->dst), (unsigned char)s->byte, s->bytes, st->handle));
    else {
        LT_TRY(lt_cuda_queue(st, s->kernel, s->arg));
        if (!s->kernel->enqueue) LT_TRY(last_node(st, &s->node));
    }
    return LT_OK;
}

static lt_status record_steps(lt_cuda *c, lt_cuda_stream *st, lt_cuda_capture *g)
{
    LT_TRY(lt_cuda_stream_equip(st));
    LT_CUDA_TRY(c, "beginning a capture", c->cu->cuStreamBeginCapture_v2(st->handle, LT_CU_CAPTURE_RELAXED));
    lt_status s = LT_OK;
    for (int i = 0; i < g->n_steps && !s; i++) s = queue_step(c, st, &g->step[i]);
    if (!s) return instantiate(c, st, g);
    lt_cu_graph unused = NULL;
    (void)c->cu->cuStreamEndCapture(st->handle, &unused);
    if (unused) (void)c->cu->cuGraphDestroy(unused);
    return s;
}

/* Records all steps again, on a stream of its own: the caller's may hold work. */
static lt_status record_again(lt_cuda *c, lt_cuda_capture *g)
{
    lt_stream *own;
    drop_graph(g);
    LT_TRY(lt_cuda_stream_create(c->dev, &own));
    lt_status s = record_steps(c, (lt_cuda_stream *)own, g);
    lt_cuda_stream_destroy(own);
    g->stale = s != LT_OK;
    return s;
}

lt_status lt_cuda_replay(lt_stream *base, lt_capture *capture)
{
    lt_cuda_capture *g = (lt_cuda_capture *)capture;
    lt_cuda *c = lt_cuda_of(base->dev);
    LT_TRY(lt_cuda_enter(c));
    if (g->stale && g->spans_streams)
        return LT_FAIL(LT_ERR_UNSUPPORTED, "%s: captured across streams, with a library call whose arguments changed: it cannot be recorded again",
                       base->dev->id);
    if (g->stale) LT_TRY(record_again(c, g));
    LT_CUDA_TRY(c, "replay", c->cu->cuGraphLaunch(g->exec, ((lt_cuda_stream *)base)->handle));
    return LT_OK;
}

/* False when the driver cannot change this node in place. */
static bool change_node(lt_cuda *c, lt_cuda_capture *g, const step *s)
{
    const lt_cuda_kernel *k = (const lt_cuda_kernel *)s->kernel;
    void *param[LT_KERNEL_MAX_ARGS + 1];
    for (int i = 0; i < n_pointers(s->kernel); i++) param[i] = &s->arg[i];
    lt_cu_kernel_node node = { .func = k->function, .gridDimX = k->grid[0], .gridDimY = k->grid[1], .gridDimZ = k->grid[2],
                               .blockDimX = k->block[0], .blockDimY = k->block[1], .blockDimZ = k->block[2],
                               .sharedMemBytes = k->shared_bytes, .kernelParams = param };
    return c->cu->cuGraphExecKernelNodeSetParams_v2(g->exec, s->node, &node) == 0;
}

lt_status lt_cuda_rebind(lt_capture *base, int launch, void *const *arg)
{
    lt_cuda_capture *g = (lt_cuda_capture *)base;
    lt_cuda *c = lt_cuda_of(base->dev);
    step *s = g->step;
    while (s->kind != STEP_LAUNCH || launch-- > 0) s++;
    size_t bytes = (size_t)n_pointers(s->kernel) * sizeof *arg;
    if (!bytes || memcmp(s->arg, arg, bytes) == 0) return LT_OK;
    bool in_place = s->node && !g->stale;
    LT_TRY(lt_cuda_enter(c));
    memcpy(s->arg, arg, bytes);
    g->stale = g->stale || !in_place || !change_node(c, g, s);
    return LT_OK;
}
