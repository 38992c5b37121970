/* What normalising divides by, for a matrix that is never held: its diagonal comes first. SPDX-License-Identifier: BSD-3-Clause */
#include "qkernel/file/run.h"

#include "base/alloc.h"
#include "base/status.h"
#include "qkernel/post.h"

enum { BLOCK = 64 }; /* rows whose small matrix is computed for the sake of its diagonal */

static double number(const lt_layout *l, const void *from, int64_t at) { return l->f32 ? (double)((const float *)from)[at] : ((const double *)from)[at]; }

/* Of rows first .. end - 1, in the precision of K, as lt_gram_fill has them. */
static lt_status make_range(lt_file_run *r, int64_t first, int64_t end, double *out)
{
    double K[BLOCK * BLOCK], jitter = r->g->opt.jitter; /* K: or as many floats */
    for (int64_t at = first; at < end; at += BLOCK) {
        int64_t n = LT_MIN((int64_t)BLOCK, end - at);
        lt_rows part = lt_rows_part(r->x, at, n);
        LT_TRY(lt_gram_fill(r->g, &part, NULL, K));
        for (int64_t i = 0; i < n; i++) {
            double d = number(&r->layout, K, i * n + i);
            out[at - first + i] = lt_post_root(jitter > 0 ? d + jitter : d);
        }
    }
    return LT_OK;
}

/* Each rank has an equal part, rank 0 puts them together. */
lt_status lt_roots_make(lt_file_run *r)
{
    int ranks = lt_cluster_size(r->c);
    int64_t n = r->x->n, each = (n + ranks - 1) / ranks, first = LT_MIN(each * lt_cluster_rank(r->c), n);
    double *own = lt_calloc((size_t)each, sizeof *own);
    r->roots = lt_calloc((size_t)(each * ranks), sizeof *r->roots);
    lt_status s = own && r->roots ? make_range(r, first, LT_MIN(first + each, n), own) : LT_ERR_MEMORY;
    s = lt_cluster_agree(r->c, s, "diagonal", NULL, 0);
    if (!s) s = lt_cluster_gather(r->c, own, (size_t)each * sizeof *own, r->roots);
    if (!s) s = lt_cluster_broadcast(r->c, r->roots, (size_t)n * sizeof *r->roots);
    lt_free(own);
    return s;
}

void lt_roots_divide(const lt_file_run *r, lt_tile t, void *tile)
{
    for (int64_t i = 0; i < t.n_rows; i++)
        for (int64_t j = 0; j < t.n_columns; j++) {
            int64_t at = i * t.n_columns + j;
            double v = t.row + i == t.column + j ? 1 : number(&r->layout, tile, at) / (r->roots[t.row + i] * r->roots[t.column + j]);
            if (r->layout.f32) ((float *)tile)[at] = (float)v;
            else ((double *)tile)[at] = v;
        }
}
