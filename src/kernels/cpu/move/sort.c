/* TOPK_INDEX for large k, sorts among them: a merge sort of each row, threaded over rows. SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/host_kernel.h"
#include "kernels/rows.h"

#include "base/dtype.h"
#include "base/status.h"

#include <math.h>
#include <string.h>

enum { LEAST_K = 16, RUN = 8 }; /* below, the plain kernel's k passes are as quick; entries that insertion puts in order */

typedef struct entry { int64_t key, index; } entry; /* the larger key comes first */

typedef struct sort_kernel {
    lt_host_kernel host;
    int64_t n, k, rows;
    int     n_lanes;
} sort_kernel;

typedef struct sort_job { const sort_kernel *v; void *const *arg; entry *scratch; } sort_job;

/* A whole number in the order of the values, NaN above all: the bits of a double, those of negative ones but the sign turned round. */
static int64_t key_of(double value)
{
    double x = value + 0.0; /* -0 is 0 */
    int64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return isnan(x) ? INT64_MAX : bits < 0 ? bits ^ INT64_MAX : bits;
}

static void insertion(entry *e, int64_t n)
{
    for (int64_t i = 1; i < n; i++) {
        entry moved = e[i];
        int64_t at = i;
        for (; at > 0 && moved.key > e[at - 1].key; at--) e[at] = e[at - 1];
        e[at] = moved;
    }
}

static void merge(const entry *a, int64_t na, const entry *b, int64_t nb, entry *out)
{
    while (na && nb) { /* without a branch: which is taken cannot be predicted */
        bool second = b->key > a->key;
        *out++ = *(second ? b : a);
        b += second, nb -= second;
        a += !second, na -= !second;
    }
    memcpy(out, na ? a : b, (size_t)(na + nb) * sizeof *out);
}

/* Sorts n entries, equal ones in the order of their indices, at e; returns where they are then: e or other. */
static const entry *sorted(entry *e, entry *other, int64_t n)
{
    for (int64_t at = 0; at < n; at += RUN) insertion(e + at, LT_MIN(RUN, n - at));
    for (int64_t width = RUN; width < n; width *= 2) {
        for (int64_t at = 0; at < n; at += 2 * width) {
            int64_t na = LT_MIN(width, n - at), nb = LT_MIN(width, n - at - na);
            merge(e + at, na, e + at + na, nb, other + at);
        }
        entry *done = other;
        other = e, e = done;
    }
    return e;
}

static lt_status sort_row(void *ctx, int64_t r, int lane)
{
    const sort_job *j = ctx;
    const sort_kernel *v = j->v;
    entry *e = j->scratch + (size_t)lane * 2 * (size_t)v->n;
    for (int64_t i = 0; i < v->n; i++) e[i] = (entry){ key_of(lt_load_double(v->host.key.in[0].dtype, j->arg[0], r * v->n + i)), i };
    const entry *made = sorted(e, e + v->n, v->n);
    int64_t *index = (int64_t *)j->arg[1] + r * v->k;
    for (int64_t i = 0; i < v->k; i++) index[i] = made[i].index;
    return LT_OK;
}

static lt_status sort_run(const lt_kernel *k, lt_pool *pool, void *const *arg)
{
    const sort_kernel *v = (const sort_kernel *)k;
    sort_job j = { v, arg, arg[k->n_args] };
    return lt_host_run_lanes(pool, v->n_lanes, v->rows, sort_row, &j);
}

bool lt_topk_sorted_applies(const lt_problem_key *p)
{
    return p->attr->u.index.k >= LEAST_K && lt_key_is_real(p) && p->out.dtype == LT_I64 && lt_tensor_count(&p->out) > 0;
}

lt_status lt_topk_sorted_prepare(const lt_problem_key *p, lt_kernel **out)
{
    *out = NULL;
    sort_kernel *v = lt_host_kernel_create(p, sizeof *v, "topk_sorted", sort_run);
    if (!v) return LT_ERR_MEMORY;
    const lt_shape *s = &p->in[0].shape;
    v->n = s->dim[s->rank - 1];
    v->k = p->attr->u.index.k;
    v->rows = lt_leading_count(s, s->rank - 1);
    v->n_lanes = lt_host_lanes(v->rows);
    v->host.kernel.scratch_bytes = lt_align64((size_t)v->n_lanes * 2 * (size_t)v->n * sizeof(entry));
    v->host.kernel.flops = (double)(v->rows * v->n) * log2((double)v->n + 1);
    return lt_host_kernel_finish(&v->host, LT_OK, out);
}
