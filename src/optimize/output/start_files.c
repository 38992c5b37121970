/* Starts given as files: x0, H0, and the pairs of limited memory.
   SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/solver.h"

#include "base/alloc.h"
#include "base/dtype.h"
#include "base/status.h"
#include "lathe/npy.h"

#include <string.h>

static lt_status read_array(const char *path, const char *member, lt_array *out)
{
    return member ? lt_npz_read(path, member, out) : lt_npy_read(path, out);
}

lt_status lt_start_read(const char *path, const char *member, const char *what, int64_t count, double *out)
{
    lt_array a = { 0 };
    LT_TRY(read_array(path, member, &a));
    lt_dtype held = a.dtype;
    lt_status s = lt_array_widen(&a);
    if (s == LT_ERR_TYPE) s = LT_FAIL(s, "%s: '%s' holds %s, expected real numbers", what, path, lt_dtype_name(held));
    else if (!s && lt_shape_count(&a.shape) != count)
        s = LT_FAIL(LT_ERR_SHAPE, "%s: '%s' holds %s, expected %lld numbers", what, path, lt_shape_str(&a.shape).s, (long long)count);
    if (!s) memcpy(out, a.data, (size_t)count * sizeof *out);
    lt_array_free(&a);
    return s;
}

static lt_status read_pairs(lt_run *r, lt_hessian_state *w)
{
    const char *path = r->opt.lbfgs_state_file;
    lt_array rho = { 0 };
    LT_TRY(lt_npz_read(path, "rho", &rho));
    w->m = lt_shape_count(&rho.shape);
    w->n = r->n;
    lt_array_free(&rho);
    size_t bytes = (size_t)LT_MAX(w->m, 1) * sizeof(double);
    w->rho = lt_malloc(bytes);
    w->S = lt_malloc_aligned(bytes * (size_t)r->n);
    w->Y = lt_malloc_aligned(bytes * (size_t)r->n);
    if (!w->rho || !w->S || !w->Y) return LT_ERR_MEMORY;
    LT_TRY(lt_start_read(path, "rho", "lbfgs_state rho", w->m, w->rho));
    LT_TRY(lt_start_read(path, "S", "lbfgs_state S", w->m * r->n, w->S));
    LT_TRY(lt_start_read(path, "Y", "lbfgs_state Y", w->m * r->n, w->Y));
    return lt_start_read(path, "gamma", "lbfgs_state gamma", 1, &w->gamma);
}

/* What was read is dropped as soon as H has been made: it may be large. */
lt_status lt_start_hessian(lt_run *r)
{
    lt_solve_options opt = r->opt;
    lt_hessian_state pairs = { 0 };
    double *H0 = NULL;
    if (!lt_trail_wanted(r)) opt.max_samples = 0; /* no steps but those of pairs */
    lt_status s = LT_OK;
    if (!opt.H0 && opt.H0_file) {
        H0 = lt_malloc((size_t)(r->n * r->n) * sizeof *H0);
        s = H0 ? lt_start_read(opt.H0_file, NULL, "H0", r->n * r->n, H0) : LT_ERR_MEMORY;
        opt.H0 = H0;
    }
    if (!s && !opt.lbfgs_state && opt.lbfgs_state_file) {
        s = read_pairs(r, &pairs);
        opt.lbfgs_state = &pairs;
    }
    if (r->warm.H.H || r->warm.H.m) { /* as that run left it, rounding included */
        opt.H0 = r->warm.H.H;
        opt.lbfgs_state = r->warm.H.m ? &r->warm.H : NULL;
        opt.check_H0 = opt.scale_H0 = false;
    }
    if (!s) s = lt_hessian_create(r->n, &opt, &r->hessian);
    if (s == LT_ERR_ARGUMENT && (r->warm.H.H || r->warm.H.m)) {
        char why[300];
        snprintf(why, sizeof why, "%s", lt_error_text());
        s = LT_FAIL(s, "%s: %s", r->opt.x0_file, why);
    }
    lt_hessian_state_release(&pairs);
    lt_free(H0);
    r->opt.H0 = NULL;
    r->opt.lbfgs_state = NULL;
    return s;
}
