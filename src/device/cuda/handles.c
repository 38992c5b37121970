/* Handles of the vendor's libraries: who has which. SPDX-License-Identifier: BSD-3-Clause */
#include "device/cuda/libraries.h"

#include "base/alloc.h"
#include "base/status.h"

_Static_assert(LT_LEN(((lt_cuda_stream *)0)->library) == LT_LIBRARY_KINDS, "a stream has one of each kind");

struct lt_cuda_libraries {
    pthread_mutex_t  lock;           /* of what follows; held while one is made, as cuDNN wants its first to be */
    cublasLtHandle_t blaslt;
    lt_library_handle  *idle[LT_LIBRARY_KINDS];
    int              made[LT_LIBRARY_KINDS];
};

static lt_status of_device(lt_device *dev, struct lt_cuda_libraries **out)
{
    lt_cuda *c = lt_cuda_of(dev);
    LT_TRY(lt_cuda_enter(c));
    pthread_mutex_lock(&c->lock);
    if (!c->libraries && (c->libraries = lt_calloc(1, sizeof *c->libraries))) pthread_mutex_init(&c->libraries->lock, NULL);
    *out = c->libraries;
    pthread_mutex_unlock(&c->lock);
    return *out ? LT_OK : LT_FAIL(LT_ERR_MEMORY, "%s: no memory for library handles", dev->id);
}

lt_status lt_cuda_blaslt(lt_device *dev, const lt_cublaslt **api, cublasLtHandle_t *handle)
{
    struct lt_cuda_libraries *l;
    LT_TRY(lt_cuda_blaslt_api(api));
    LT_TRY(of_device(dev, &l));
    pthread_mutex_lock(&l->lock);
    unsigned r = l->blaslt ? 0 : (*api)->cublasLtCreate(&l->blaslt);
    *handle = l->blaslt;
    pthread_mutex_unlock(&l->lock);
    return r ? LT_FAIL(LT_ERR_DEVICE, "%s: cuBLASLt does not start: %s", dev->id, (*api)->cublasLtGetStatusString(r)) : LT_OK;
}

/* ---- Making ---------------------------------------------------------------------------------- */
static lt_status make_dnn(lt_device *dev, lt_library_handle *h)
{
    const lt_cudnn *api;
    LT_TRY(lt_cuda_dnn_api(&api));
    unsigned r = api->cudnnCreate(&h->dnn);
    return r ? LT_FAIL(LT_ERR_DEVICE, "%s: cuDNN does not start: %s", dev->id, api->cudnnGetErrorString(r)) : LT_OK;
}

static lt_status make_solver(lt_device *dev, lt_library_handle *h)
{
    const lt_cusolver *api;
    LT_TRY(lt_cuda_solver_api(&api));
    unsigned r = api->cusolverDnCreate(&h->solver);
    if (!r) r = api->cusolverDnCreateParams(&h->params);
    return r ? LT_FAIL(LT_ERR_DEVICE, "%s: cuSOLVER does not start (status %u)", dev->id, r) : LT_OK;
}

/* The context is current, the libraries are open: what the handle holds says so. */
static void destroy(lt_library_handle *h)
{
    const lt_cudnn *dnn;
    const lt_cusolver *solver;
    if (h->dnn && !lt_cuda_dnn_api(&dnn)) (void)dnn->cudnnDestroy(h->dnn);
    if (h->solver && !lt_cuda_solver_api(&solver)) {
        if (h->params) (void)solver->cusolverDnDestroyParams(h->params);
        (void)solver->cusolverDnDestroy(h->solver);
    }
    lt_free(h);
}

static lt_status make(lt_device *dev, lt_library_kind kind, lt_library_handle **out)
{
    lt_library_handle *h = lt_calloc(1, sizeof *h);
    *out = NULL;
    if (!h) return LT_FAIL(LT_ERR_MEMORY, "%s: no memory for a library handle", dev->id);
    h->kind = kind;
    lt_status s = kind == LT_LIBRARY_DNN ? make_dnn(dev, h) : make_solver(dev, h);
    if (s) destroy(h);
    else *out = h;
    return s;
}

static lt_status set_stream(lt_device *dev, const lt_library_handle *h, lt_cu_stream to)
{
    const lt_cudnn *dnn;
    const lt_cusolver *solver;
    unsigned r;
    if (h->kind == LT_LIBRARY_DNN) {
        LT_TRY(lt_cuda_dnn_api(&dnn));
        r = dnn->cudnnSetStream(h->dnn, to);
    } else {
        LT_TRY(lt_cuda_solver_api(&solver));
        r = solver->cusolverDnSetStream(h->solver, to);
    }
    return r ? LT_FAIL(LT_ERR_DEVICE, "%s: %s: stream: status %u", dev->id, h->kind == LT_LIBRARY_DNN ? "cuDNN" : "cuSOLVER", r) : LT_OK;
}

/* ---- Handing out ------------------------------------------------------------------------------ */
lt_status lt_cuda_library_take(lt_device *dev, lt_library_kind kind, lt_library_handle **out)
{
    struct lt_cuda_libraries *l;
    LT_TRY(of_device(dev, &l));
    pthread_mutex_lock(&l->lock);
    lt_status s = LT_OK;
    if ((*out = l->idle[kind])) l->idle[kind] = (*out)->next;
    else if (!(s = make(dev, kind, out))) l->made[kind]++;
    pthread_mutex_unlock(&l->lock);
    return s;
}

void lt_cuda_library_give(lt_device *dev, lt_library_handle *h)
{
    struct lt_cuda_libraries *l = lt_cuda_of(dev)->libraries;
    if (!h) return;
    pthread_mutex_lock(&l->lock);
    h->next = l->idle[h->kind];
    l->idle[h->kind] = h;
    pthread_mutex_unlock(&l->lock);
}

/* Under the stream's lock. */
static lt_status equip(lt_cuda_stream *st, lt_library_kind kind)
{
    lt_library_handle *h;
    if (st->library[kind]) return LT_OK;
    LT_TRY(lt_cuda_library_take(st->base.dev, kind, &h));
    lt_status s = set_stream(st->base.dev, h, st->handle);
    if (s) lt_cuda_library_give(st->base.dev, h);
    else st->library[kind] = h;
    return s;
}

lt_status lt_cuda_stream_lock(lt_stream *base, lt_library_kind kind, const lt_library_handle **out)
{
    lt_cuda_stream *st = (lt_cuda_stream *)base;
    pthread_mutex_lock(&st->library_lock);
    lt_status s = equip(st, kind);
    *out = st->library[kind];
    if (s) pthread_mutex_unlock(&st->library_lock);
    return s;
}

void lt_cuda_stream_unlock(lt_stream *base) { pthread_mutex_unlock(&((lt_cuda_stream *)base)->library_lock); }

static bool uses(lt_cuda *c, lt_library_kind kind)
{
    pthread_mutex_lock(&c->lock);
    struct lt_cuda_libraries *l = c->libraries;
    pthread_mutex_unlock(&c->lock);
    if (!l) return false;
    pthread_mutex_lock(&l->lock);
    bool some = l->made[kind] > 0;
    pthread_mutex_unlock(&l->lock);
    return some;
}

lt_status lt_cuda_stream_equip(lt_cuda_stream *st)
{
    if (!uses(lt_cuda_of(st->base.dev), LT_LIBRARY_DNN)) return LT_OK;
    pthread_mutex_lock(&st->library_lock);
    lt_status s = equip(st, LT_LIBRARY_DNN);
    pthread_mutex_unlock(&st->library_lock);
    return s;
}

void lt_cuda_stream_strip(lt_cuda_stream *st)
{
    for (int kind = 0; kind < LT_LIBRARY_KINDS; kind++) {
        lt_library_handle *h = st->library[kind];
        st->library[kind] = NULL;
        if (!h) continue;
        (void)set_stream(st->base.dev, h, NULL); /* the one it worked on is about to go */
        lt_cuda_library_give(st->base.dev, h);
    }
}

/* All streams but the device's own are gone, and that one has given its handles back. */
void lt_cuda_libraries_close(lt_cuda *c)
{
    struct lt_cuda_libraries *l = c->libraries;
    const lt_cublaslt *blaslt;
    if (!l) return;
    (void)c->cu->cuCtxSetCurrent(c->context);
    if (l->blaslt && !lt_cuda_blaslt_api(&blaslt)) (void)blaslt->cublasLtDestroy(l->blaslt);
    for (int kind = 0; kind < LT_LIBRARY_KINDS; kind++)
        for (lt_library_handle *h; (h = l->idle[kind]);) {
            l->idle[kind] = h->next;
            destroy(h);
        }
    pthread_mutex_destroy(&l->lock);
    lt_free(l);
    c->libraries = NULL;
}
