/* Creation and destruction of host kernels, epilogues, and lanes.
   SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/host_kernel.h"

#include "base/alloc.h"
#include "base/dtype.h"
#include "base/status.h"

#include <stdatomic.h>
#include <string.h>

int64_t lt_tensor_count(const lt_tensor_type *t) { return lt_shape_count(&t->shape); }

size_t lt_tensor_bytes(const lt_tensor_type *t)
{
    int64_t n = lt_tensor_count(t);
    return n > 0 ? (size_t)n * lt_dtype_size(t->dtype) : 0;
}

int64_t lt_leading_count(const lt_shape *s, int n)
{
    int64_t count = 1;
    for (int i = 0; i < n; i++) count *= s->dim[i];
    return count;
}

bool lt_key_is_real(const lt_problem_key *p)
{
    for (int i = 0; i < p->n_in; i++)
        if (lt_dtype_is_complex(p->in[i].dtype)) return false;
    return !lt_dtype_is_complex(p->out.dtype);
}

bool lt_key_is_all(const lt_problem_key *p, lt_dtype t)
{
    for (int i = 0; i < p->n_in; i++)
        if (p->in[i].dtype != t) return false;
    return p->out.dtype == t;
}

bool lt_key_is_float(const lt_problem_key *p) { return lt_dtype_is_float(p->out.dtype) && lt_key_is_all(p, p->out.dtype); }

static void host_kernel_destroy(lt_kernel *k)
{
    lt_host_kernel *h = (lt_host_kernel *)k;
    if (h->release) h->release(h);
    lt_kernel_destroy(h->epilogue);
    lt_free(h->place);
    lt_free(h);
}

static lt_status copy_problem(lt_host_kernel *h, const lt_problem_key *p)
{
    h->key = *p;
    h->key.epilogue = NULL;
    if (p->attr) h->attr = *p->attr;
    h->key.attr = &h->attr;
    if (p->op == LT_OP_PLACE && p->n_in > 0) {
        size_t bytes = (size_t)p->n_in * sizeof *h->place;
        h->place = lt_malloc(bytes);
        if (!h->place) return LT_ERR_MEMORY;
        memcpy(h->place, p->attr->u.place, bytes);
        h->attr.u.place = h->place;
    }
    return LT_OK;
}

void *lt_host_kernel_create(const lt_problem_key *p, size_t bytes, const char *name, lt_host_run run)
{
    lt_host_kernel *h = lt_calloc(1, bytes);
    if (!h) return NULL;
    h->kernel.name = name;
    h->kernel.run = run;
    h->kernel.destroy = host_kernel_destroy;
    h->kernel.n_args = p->n_in + (p->epilogue ? p->epilogue->n_args : 1);
    h->kernel.bytes = (double)lt_tensor_bytes(&p->out);
    for (int i = 0; i < p->n_in; i++) h->kernel.bytes += (double)lt_tensor_bytes(&p->in[i]);
    if (copy_problem(h, p)) {
        host_kernel_destroy(&h->kernel);
        return NULL;
    }
    return h;
}

lt_status lt_host_epilogue_prepare(lt_host_kernel *h, const lt_problem_key *p)
{
    if (!p->epilogue) return LT_OK;
    lt_fused f = *p->epilogue;
    f.near = true;
    return lt_fused_prepare_cpu(&f, p->isa, &h->epilogue);
}

lt_status lt_host_kernel_finish(lt_host_kernel *h, lt_status s, lt_kernel **out)
{
    *out = s ? NULL : &h->kernel;
    if (s) host_kernel_destroy(&h->kernel);
    return s;
}

lt_status lt_host_epilogue(const lt_host_kernel *h, lt_pool *pool, void *const *arg)
{
    return h->epilogue ? h->epilogue->run(h->epilogue, pool, arg + h->key.n_in) : LT_OK;
}

lt_status lt_host_epilogue_rows(const lt_host_kernel *h, void *const *arg, int64_t first, int64_t count)
{
    return h->epilogue ? lt_fused_run_rows(h->epilogue, arg + h->key.n_in, first, count) : LT_OK;
}

lt_status lt_host_epilogue_range(const lt_host_kernel *h, void *const *arg, int64_t first, int64_t end)
{
    return h->epilogue ? lt_fused_run_range(h->epilogue, arg + h->key.n_in, first, end) : LT_OK;
}

/* ---- Lanes --------------------------------------------------------------------- */
typedef struct lanes {
    _Atomic int64_t next;
    int64_t n_items;
    lt_lane_item item;
    void *ctx;
} lanes;

static lt_status run_lane(void *ctx, int64_t lane, int worker)
{
    (void)worker; /* the lane is what owns scratch: the pool may be larger than prepare assumed */
    lanes *l = ctx;
    for (;;) {
        int64_t i = atomic_fetch_add_explicit(&l->next, 1, memory_order_relaxed);
        if (i >= l->n_items) return LT_OK;
        LT_TRY(l->item(l->ctx, i, (int)lane));
    }
}

int lt_host_lanes(int64_t n_items)
{
    lt_pool *shared = lt_pool_shared();
    int64_t threads = shared ? lt_pool_threads(shared) : 1;
    return (int)LT_MAX(1, LT_MIN(n_items, threads));
}

lt_status lt_host_run_lanes(lt_pool *pool, int n_lanes, int64_t n_items, lt_lane_item item, void *ctx)
{
    lanes l = { .n_items = n_items, .item = item, .ctx = ctx };
    if (n_items <= 1 || n_lanes <= 1) return run_lane(&l, 0, 0);
    return lt_pool_run(pool, n_lanes, run_lane, &l);
}
