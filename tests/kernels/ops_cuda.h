/* Rows of the GPU dressed as rows of the CPU, so that every op test runs on them as it stands: the same
   source is compiled again with OPS_CUDA. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_OPS_CUDA_H
#define LT_OPS_CUDA_H

#include "kernels/cuda/cuda_table.h"

enum { OPS_SLOTS = 4 };
static lt_device *ops_gpu; /* NULL: there is none, and the program is skipped */
static const lt_cuda_way *ops_only_way; /* when set, the one that faces the plain row */

/* Before any test: without a GPU the program ends as skipped. */
__attribute__((constructor)) static void ops_gpu_open(void)
{
    if (!lt_device_open("cuda", &ops_gpu)) return;
    printf("skip: %s\n", lt_error_text());
    exit(77);
}

/* A host kernel that copies its arguments to the GPU, launches there, and copies the results back. */
typedef struct ops_proxy {
    lt_kernel  base, *on_gpu;
    void      *arg[LT_KERNEL_MAX_ARGS + 1];
    size_t     bytes[LT_KERNEL_MAX_ARGS + 1];
    bool       writes[LT_KERNEL_MAX_ARGS + 1];
} ops_proxy;

static lt_status ops_proxy_run(const lt_kernel *k, lt_pool *pool, void *const *arg)
{
    const ops_proxy *p = (const ops_proxy *)k;
    lt_stream *st = lt_device_stream(ops_gpu);
    (void)pool;
    for (int i = 0; i < k->n_args; i++) LT_TRY(lt_stream_copy(st, p->arg[i], arg[i], p->bytes[i], LT_TRANSFER_H2D, false));
    LT_TRY(lt_stream_fill(st, p->arg[k->n_args], 0xff, p->on_gpu->scratch_bytes));
    LT_TRY(lt_stream_launch(st, &(lt_launch){ p->on_gpu, (void **)(uintptr_t)p->arg }));
    for (int i = 0; i < k->n_args; i++)
        if (p->writes[i]) LT_TRY(lt_stream_copy(st, arg[i], p->arg[i], p->bytes[i], LT_TRANSFER_D2H, false));
    return lt_stream_sync(st);
}

static void ops_proxy_destroy(lt_kernel *k)
{
    ops_proxy *p = (ops_proxy *)k;
    for (int i = 0; i <= k->n_args; i++) (void)lt_device_free(ops_gpu, NULL, p->arg[i]);
    lt_kernel_destroy(p->on_gpu);
    lt_free(p);
}

/* Bytes a view of an epilogue's argument reaches. */
static size_t ops_view_bytes(const lt_shape *d, const lt_affine *v, lt_dtype t)
{
    int64_t last = v->offset;
    for (int i = 0; i < d->rank; i++) last += v->stride[i] > 0 ? v->stride[i] * (d->dim[i] - 1) : 0;
    return (size_t)(last + 1) * lt_dtype_size(t);
}

static void ops_size_epilogue(const lt_problem_key *key, ops_proxy *p)
{
    const lt_fused *f = key->epilogue;
    for (int i = 0; f && i < f->n_loads; i++) {
        size_t *at = &p->bytes[key->n_in + f->loads[i].arg];
        *at = LT_MAX(*at, ops_view_bytes(&f->domain, &f->loads[i].view, f->loads[i].from));
    }
    for (int i = 0; f && i < f->n_stores; i++) {
        p->bytes[key->n_in + f->stores[i].arg] = ops_view_bytes(&f->domain, &f->stores[i].view, f->stores[i].to);
        p->writes[key->n_in + f->stores[i].arg] = true;
    }
}

static lt_status ops_proxy_make(const lt_problem_key *key, int slot, lt_kernel **out)
{
    const lt_cuda_row *row[OPS_SLOTS];
    ops_proxy *p = lt_calloc(1, sizeof *p);
    *out = NULL;
    if (!p) return LT_ERR_MEMORY;
    (void)lt_cuda_candidates(key, row, OPS_SLOTS);
    p->base = (lt_kernel){ .name = row[slot]->name, .run = ops_proxy_run, .destroy = ops_proxy_destroy };
    lt_status s = ops_only_way ? lt_cuda_way_prepare(ops_gpu, key, ops_only_way, &p->on_gpu) : row[slot]->prepare(ops_gpu, key, &p->on_gpu);
    if (!s) p->base.n_args = p->on_gpu->n_args;
    for (int i = 0; i <= key->n_in && !s; i++) p->bytes[i] = lt_tensor_bytes(i < key->n_in ? &key->in[i] : &key->out);
    p->writes[key->n_in] = true;
    ops_size_epilogue(key, p);
    for (int i = 0; i <= p->base.n_args && !s; i++)
        s = lt_device_alloc(ops_gpu, NULL, (i < p->base.n_args ? p->bytes[i] : p->on_gpu->scratch_bytes) + 64, "test", &p->arg[i]);
    if (s) ops_proxy_destroy(&p->base);
    else *out = &p->base;
    return s;
}

static lt_status ops_make_0(const lt_problem_key *p, lt_kernel **out) { return ops_proxy_make(p, 0, out); }
static lt_status ops_make_1(const lt_problem_key *p, lt_kernel **out) { return ops_proxy_make(p, 1, out); }
static lt_status ops_make_2(const lt_problem_key *p, lt_kernel **out) { return ops_proxy_make(p, 2, out); }
static lt_status ops_make_3(const lt_problem_key *p, lt_kernel **out) { return ops_proxy_make(p, 3, out); }

/* The GPU's rows, best first, then the CPU's plain one. */
static int ops_cuda_candidates(const lt_problem_key *p, const lt_kernel_row **out, int max)
{
    static lt_kernel_row slot[OPS_SLOTS];
    static lt_status (*const make[OPS_SLOTS])(const lt_problem_key *, lt_kernel **) = { ops_make_0, ops_make_1, ops_make_2, ops_make_3 };
    const lt_cuda_row *row[OPS_SLOTS];
    const lt_kernel_row *cpu[16];
    int n = lt_cuda_candidates(p, row, LT_MIN(OPS_SLOTS, max - 1)), n_cpu = lt_kernel_candidates(p, cpu, 16);
    if (ops_only_way) n = 1;
    for (int i = 0; i < n; i++) {
        slot[i] = (lt_kernel_row){ ops_only_way ? ops_only_way->name : row[i]->name, row[i]->op, NULL, make[i] };
        out[i] = &slot[i];
    }
    if (n_cpu) out[n++] = cpu[n_cpu - 1];
    return n;
}
#define lt_kernel_candidates ops_cuda_candidates

#endif
