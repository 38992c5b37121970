/* Choosing between ways to compute something on a GPU by timing them: engines of cuDNN, algorithms of cuBLASLt,
   shapes of generated kernels. SPDX-License-Identifier: BSD-3-Clause */
#include "graph/lower/choose.h"

#include "base/hash.h"
#include "base/status.h"
#include "graph/lower/trial.h"
#include "kernels/cuda/cuda_table.h"
#include "kernels/cuda/fused/pass.h"

#include <stdio.h>
#include <string.h>

enum { MAX_WAYS = 48, LIBRARY_TEXT = 32, PROBLEM_TEXT = 400 };
#define PLAIN_LIMIT    ((int64_t)1 << 16) /* results up to which plain rows take part */
#define FUSED_MINIMUM  ((int64_t)1 << 20) /* elements from which the shape of a generated kernel is timed */

/* ---- what a program reads and writes ---- */

static size_t view_bytes(const lt_shape *domain, const lt_affine *v, lt_dtype t)
{
    int64_t last = v->offset;
    for (int i = 0; i < domain->rank; i++) last += v->stride[i] > 0 ? v->stride[i] * (domain->dim[i] - 1) : 0;
    return (size_t)(last + 1) * lt_dtype_size(t);
}

static void grow(size_t *bytes, size_t to) { *bytes = LT_MAX(*bytes, to); }

/* Bytes of each argument, which is number `first` + its own of the kernel. */
static void fused_bytes(const lt_fused *f, int first, size_t *bytes)
{
    for (int i = 0; i < f->n_loads; i++) grow(&bytes[first + f->loads[i].arg], view_bytes(&f->domain, &f->loads[i].view, f->loads[i].from));
    for (int i = 0; i < f->n_stores; i++) grow(&bytes[first + f->stores[i].arg], view_bytes(&f->domain, &f->stores[i].view, f->stores[i].to));
    for (int i = 0; i < f->n_reduces; i++) {
        int64_t kept = 1;
        for (int d = 0; d < f->domain.rank; d++)
            if (!(f->reduces[i].axes >> d & 1)) kept *= f->domain.dim[d];
        grow(&bytes[first + f->reduces[i].arg], (size_t)kept * lt_dtype_size(f->reduces[i].to));
    }
}

static size_t tensor_bytes(const lt_tensor_type *t) { return (size_t)lt_shape_count(&t->shape) * lt_dtype_size(t->dtype); }

/* The program's text says everything about it. */
static lt_status fused_hash(const lt_fused *f, uint64_t *hash)
{
    lt_fused_pass pass;
    lt_text text = { 0 };
    LT_TRY(lt_fused_pass_plan(f, 0, true, &pass));
    lt_fused_render(&pass, &text);
    lt_status s = text.failed ? LT_FAIL(LT_ERR_MEMORY, "no memory for the text of a fused kernel") : LT_OK;
    if (!s) *hash = lt_hash64(text.s, strlen(text.s), 0);
    lt_text_free(&text);
    return s;
}

/* ---- ops ---- */

typedef struct op_ways {
    lt_device *dev;
    const lt_problem_key *key;
    lt_cuda_way way[MAX_WAYS];
    const char *name[MAX_WAYS];
    int n;
} op_ways;

static lt_status prepare_way(void *ctx, int way, lt_kernel **out)
{
    op_ways *w = ctx;
    return lt_cuda_way_prepare(w->dev, w->key, &w->way[way], out);
}

/* Rows without variants of their own are plain loops: on large problems they would only cost time. */
static void list_ways(op_ways *w)
{
    int n = lt_cuda_ways(w->dev, w->key, w->way, MAX_WAYS);
    bool large = lt_shape_count(&w->key->out.shape) > PLAIN_LIMIT;
    for (int i = 0; i < n; i++) {
        if (large && w->n > 0 && !w->way[i].row->variants) continue;
        w->way[w->n] = w->way[i];
        w->name[w->n] = w->way[w->n].name;
        w->n++;
    }
}

/* Answers hold for the version of the library that took part, which is named behind the problem: an op has one at most. */
static void add_library(const op_ways *w, char *problem, size_t bytes)
{
    for (int i = 0; i < w->n; i++) {
        char library[LIBRARY_TEXT - 1];
        lt_cuda_way_library(&w->way[i], library, sizeof library);
        size_t n = strlen(problem);
        if (library[0] && !strstr(problem, library) && n + strlen(library) + 2 <= bytes) snprintf(problem + n, bytes - n, " %s", library);
    }
}

lt_status lt_choose_cuda_kernel(const lt_problem_key *key, lt_device *dev, lt_tuner *tuner, lt_kernel **out)
{
    op_ways w = { .dev = dev, .key = key };
    char problem[PROBLEM_TEXT];
    size_t bytes[LT_KERNEL_MAX_ARGS + 1] = { 0 };
    uint64_t hash = 0;
    list_ways(&w);
    if (w.n < 2) return lt_cuda_prepare(dev, key, out);
    lt_choose_describe(key, problem, sizeof problem - 32 - LIBRARY_TEXT);
    if (key->epilogue) {
        LT_TRY(fused_hash(key->epilogue, &hash));
        snprintf(problem + strlen(problem), 32, " epilogue=%016llx", (unsigned long long)hash);
    }
    add_library(&w, problem, sizeof problem);
    for (int i = 0; i < key->n_in; i++) bytes[i] = tensor_bytes(&key->in[i]);
    bytes[key->n_in] = tensor_bytes(&key->out);
    if (key->epilogue) fused_bytes(key->epilogue, key->n_in, bytes);
    lt_trial t = { .dev = dev, .problem = problem, .n_ways = w.n, .name = w.name, .prepare = prepare_way, .ctx = &w,
                   .n_args = key->n_in + (key->epilogue ? key->epilogue->n_args : 1), .arg_bytes = bytes };
    return lt_trial_choose(tuner, &t, out);
}

/* ---- fused programs ---- */

typedef struct fused_ways {
    lt_device *dev;
    const lt_fused *f;
    lt_fused_shape shape[8];
    char  text[8][48];
    const char *name[8];
    int n;
} fused_ways;

static lt_status prepare_shape(void *ctx, int way, lt_kernel **out)
{
    fused_ways *w = ctx;
    return lt_fused_prepare_cuda_shaped(w->dev, w->f, w->shape[way], out);
}

static void add_shape(fused_ways *w, int vector, int unroll)
{
    for (int i = 0; i < w->n; i++)
        if (w->shape[i].vector == vector && w->shape[i].unroll == unroll) return;
    w->shape[w->n] = (lt_fused_shape){ vector, unroll };
    snprintf(w->text[w->n], sizeof w->text[0], "vector=%d unroll=%d", vector, unroll);
    w->name[w->n] = w->text[w->n];
    w->n++;
}

lt_status lt_choose_cuda_fused(const lt_fused *f, lt_device *dev, lt_tuner *tuner, lt_kernel **out)
{
    fused_ways w = { .dev = dev, .f = f };
    lt_fused_pass pass;
    char problem[PROBLEM_TEXT];
    size_t bytes[LT_KERNEL_MAX_ARGS + 1] = { 0 };
    uint64_t hash;
    /* Sums are left alone: another shape adds up in another order. */
    if (f->n_reduces || lt_shape_count(&f->domain) < FUSED_MINIMUM || f->n_args >= LT_KERNEL_MAX_ARGS) return lt_fused_prepare_cuda(dev, f, out);
    LT_TRY(fused_hash(f, &hash));
    LT_TRY(lt_fused_pass_plan(f, 0, true, &pass));
    add_shape(&w, pass.vector, pass.unroll);
    for (int unroll = 1; unroll <= 4; unroll *= 2) add_shape(&w, pass.vector, unroll); /* compiling takes longer than timing: few */
    snprintf(problem, sizeof problem, "fused %s %s text=%016llx", lt_dtype_name(f->type), lt_shape_str(&f->domain).s, (unsigned long long)hash);
    fused_bytes(f, 0, bytes);
    lt_trial t = { .dev = dev, .problem = problem, .n_ways = w.n, .name = w.name, .prepare = prepare_shape, .ctx = &w, .n_args = f->n_args,
                   .arg_bytes = bytes };
    return lt_trial_choose(tuner, &t, out);
}
