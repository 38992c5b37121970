/* CAST, RESHAPE, VIEW and PLACE, threaded. SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/cpu/move/affine_copy.h"
#include "kernels/host_kernel.h"
#include "kernels/rows.h"

#include "base/alloc.h"
#include "base/dtype.h"
#include "base/status.h"

#include <stdlib.h>
#include <string.h>

/* ---- CAST: parts of a flat array --------------------------------------------------------- */
enum { PART_ELEMENTS = 1 << 15 };

typedef struct flat_job {
    const lt_problem_key *key;
    void *const *arg;
    int64_t n, n_parts;
} flat_job;

static lt_status cast_part(void *ctx, int64_t part, int worker)
{
    (void)worker;
    const flat_job *j = ctx;
    lt_dtype to = j->key->out.dtype, from = j->key->in[0].dtype;
    int64_t begin, end;
    lt_part_range(j->n, j->n_parts, part, &begin, &end);
    lt_convert(to, lt_offset(j->arg[1], (size_t)begin * lt_dtype_size(to)), from,
               lt_offset(j->arg[0], (size_t)begin * lt_dtype_size(from)), end - begin);
    return LT_OK;
}

static lt_status cast_run(const lt_kernel *k, lt_pool *pool, void *const *arg)
{
    flat_job j = { .key = &((const lt_host_kernel *)k)->key, .arg = arg };
    j.n = lt_tensor_count(&j.key->out);
    j.n_parts = LT_MAX(1, j.n / PART_ELEMENTS);
    return lt_pool_run(pool, j.n_parts, cast_part, &j);
}

bool lt_cast_threaded_applies(const lt_problem_key *p) { return lt_tensor_count(&p->out) >= 2 * PART_ELEMENTS; }

lt_status lt_cast_threaded_prepare(const lt_problem_key *p, lt_kernel **out)
{
    *out = lt_host_kernel_create(p, sizeof(lt_host_kernel), "cast_threaded", cast_run);
    return *out ? LT_OK : LT_ERR_MEMORY;
}

/* ---- VIEW and RESHAPE: one copy ------------------------------------------------------------ */
typedef struct view_kernel {
    lt_host_kernel host;
    lt_copy_plan plan;
} view_kernel;

static lt_status view_run(const lt_kernel *k, lt_pool *pool, void *const *arg)
{
    if (arg[0] == arg[1]) return LT_OK; /* a reshape onto itself */
    return lt_copy_run(&((const view_kernel *)k)->plan, pool, arg[1], arg[0]);
}

static void dense_steps(const lt_shape *s, int64_t *step)
{
    int64_t at = 1;
    for (int d = s->rank - 1; d >= 0; d--) {
        step[d] = at;
        at *= s->dim[d];
    }
}

static lt_status prepare_view(const lt_problem_key *p, const char *name, const lt_affine *src, lt_kernel **out)
{
    *out = NULL;
    view_kernel *v = lt_host_kernel_create(p, sizeof *v, name, view_run);
    if (!v) return LT_ERR_MEMORY;
    int64_t dst[LT_MAX_RANK];
    dense_steps(&p->out.shape, dst);
    lt_copy_plan_make(&v->plan, p->out.dtype, &p->out.shape, 0, dst, src->offset, src->stride, false);
    v->host.kernel.bytes = 2.0 * (double)lt_tensor_bytes(&p->out);
    return lt_host_kernel_finish(&v->host, LT_OK, out);
}

bool lt_view_affine_applies(const lt_problem_key *p) { (void)p; return true; }

lt_status lt_view_affine_prepare(const lt_problem_key *p, lt_kernel **out)
{
    return prepare_view(p, "view_affine", &p->attr->u.view, out);
}

bool lt_reshape_threaded_applies(const lt_problem_key *p) { (void)p; return true; }

lt_status lt_reshape_threaded_prepare(const lt_problem_key *p, lt_kernel **out)
{
    lt_affine same = { 0 };
    dense_steps(&p->out.shape, same.stride);
    return prepare_view(p, "reshape_threaded", &same, out);
}

/* ---- PLACE: one copy per piece -------------------------------------------------------------- */
/* A piece that covers a box of the output: along each of its dims, every step-th position. */
typedef struct box { int64_t start[LT_MAX_RANK], step[LT_MAX_RANK], count[LT_MAX_RANK]; } box;

typedef struct place_kernel {
    lt_host_kernel host;
    bool zero_first;       /* some element may be covered by no piece */
    lt_copy_plan plan[];   /* one per input */
} place_kernel;

/* Assigns one dim of the piece (extent n, element step s) to a dim of the output. */
static bool add_to_box(box *b, const lt_shape *out, const int64_t *dense, int64_t n, int64_t s)
{
    for (int d = 0; d < out->rank; d++) {
        if (out->dim[d] == 1 || b->count[d] != 1 || llabs(s) < dense[d] || llabs(s) % dense[d]) continue;
        int64_t step = llabs(s) / dense[d], reach = (n - 1) * step;
        int64_t low = s > 0 ? b->start[d] : b->start[d] - reach;
        if (low < 0 || low + reach >= out->dim[d]) return false;
        b->start[d] = low;
        b->step[d] = step;
        b->count[d] = n;
        return true;
    }
    return false;
}

/* Whether the piece is a box, and which; a diagonal, for example, is none. */
static bool find_box(const lt_shape *piece, const lt_affine *v, const lt_shape *out, box *b)
{
    int64_t dense[LT_MAX_RANK], rest = v->offset;
    dense_steps(out, dense);
    for (int d = 0; d < out->rank; d++) {
        b->start[d] = rest / dense[d];
        rest %= dense[d];
        b->step[d] = b->count[d] = 1;
    }
    for (int d = 0; d < piece->rank; d++)
        if (piece->dim[d] > 1 && !add_to_box(b, out, dense, piece->dim[d], v->stride[d])) return false;
    return true;
}

/* False when the two may share an element. */
static bool boxes_disjoint(const box *a, const box *b, int rank)
{
    for (int d = 0; d < rank; d++) {
        int64_t end_a = a->start[d] + (a->count[d] - 1) * a->step[d], end_b = b->start[d] + (b->count[d] - 1) * b->step[d];
        if (end_a < b->start[d] || end_b < a->start[d]) return true;
        int64_t step_a = a->count[d] > 1 ? a->step[d] : 0, step_b = b->count[d] > 1 ? b->step[d] : 0;
        int64_t step = step_a ? step_a : step_b;
        if (step > 1 && (!step_a || !step_b || step_a == step_b) && (a->start[d] - b->start[d]) % step) return true;
    }
    return false;
}

/* Whether distinct elements of the piece surely go to distinct places: each step exceeds the
   reach of all smaller ones together. */
static bool is_injective(const lt_shape *piece, const lt_affine *v)
{
    int64_t step[LT_MAX_RANK], extent[LT_MAX_RANK], reach = 0;
    int n = 0;
    for (int d = 0; d < piece->rank; d++) {
        if (piece->dim[d] == 0) return true;
        if (piece->dim[d] == 1) continue;
        int at = n++;
        for (; at > 0 && step[at - 1] > llabs(v->stride[d]); at--) step[at] = step[at - 1], extent[at] = extent[at - 1];
        step[at] = llabs(v->stride[d]);
        extent[at] = piece->dim[d];
    }
    for (int d = 0; d < n; d++) {
        if (step[d] <= reach) return false;
        reach += step[d] * (extent[d] - 1);
    }
    return true;
}

/* Whether no two pieces share an element: empty pieces aside, all must be boxes. */
static bool pieces_disjoint(const lt_problem_key *p)
{
    box b[LT_OP_MAX_INPUTS];
    int n = 0;
    for (int i = 0; i < p->n_in; i++) {
        if (lt_tensor_count(&p->in[i]) == 0) continue;
        if (!find_box(&p->in[i].shape, &p->attr->u.place[i], &p->out.shape, &b[n])) return p->n_in == 1;
        for (int j = 0; j < n; j++)
            if (!boxes_disjoint(&b[n], &b[j], p->out.shape.rank)) return false;
        n++;
    }
    return true;
}

/* Sums within a piece, and sums of half types, are left to the plain row: it rounds once. */
bool lt_place_affine_applies(const lt_problem_key *p)
{
    for (int i = 0; i < p->n_in; i++)
        if (!is_injective(&p->in[i].shape, &p->attr->u.place[i])) return false;
    return (p->out.dtype != LT_F16 && p->out.dtype != LT_BF16) || pieces_disjoint(p);
}

typedef struct zero_job { char *to; size_t bytes; int64_t n_parts; } zero_job;

static lt_status zero_part(void *ctx, int64_t part, int worker)
{
    (void)worker;
    const zero_job *j = ctx;
    int64_t begin, end;
    lt_part_range((int64_t)j->bytes, j->n_parts, part, &begin, &end);
    memset(j->to + begin, 0, (size_t)(end - begin));
    return LT_OK;
}

static lt_status place_run(const lt_kernel *k, lt_pool *pool, void *const *arg)
{
    const place_kernel *v = (const place_kernel *)k;
    const lt_problem_key *p = &v->host.key;
    zero_job zero = { arg[p->n_in], lt_tensor_bytes(&p->out), 1 };
    zero.n_parts = LT_MAX(1, (int64_t)(zero.bytes >> 18));
    if (v->zero_first && zero.bytes) LT_TRY(lt_pool_run(pool, zero.n_parts, zero_part, &zero));
    for (int i = 0; i < p->n_in; i++) LT_TRY(lt_copy_run(&v->plan[i], pool, arg[p->n_in], arg[i]));
    return LT_OK;
}

lt_status lt_place_affine_prepare(const lt_problem_key *p, lt_kernel **out)
{
    *out = NULL;
    place_kernel *v = lt_host_kernel_create(p, sizeof *v + (size_t)p->n_in * sizeof v->plan[0], "place_affine", place_run);
    if (!v) return LT_ERR_MEMORY;
    bool disjoint = pieces_disjoint(p);
    int64_t covered = 0;
    for (int i = 0; i < p->n_in; i++) {
        int64_t src[LT_MAX_RANK];
        const lt_affine *at = &p->attr->u.place[i];
        dense_steps(&p->in[i].shape, src);
        lt_copy_plan_make(&v->plan[i], p->out.dtype, &p->in[i].shape, at->offset, at->stride, 0, src, !disjoint);
        covered += lt_tensor_count(&p->in[i]);
    }
    v->zero_first = !disjoint || covered < lt_tensor_count(&p->out);
    return lt_host_kernel_finish(&v->host, LT_OK, out);
}
