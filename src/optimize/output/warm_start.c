/* Starting from the result of another run: what `lathe solve` wrote with --json, or --out FILE.npz (decision 240). SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/solver.h"

#include "base/alloc.h"
#include "base/files/file.h"
#include "base/files/json_read.h"
#include "base/number.h"
#include "base/status.h"
#include "lathe/npy.h"

#include <math.h>
#include <string.h>

#define MOST_BYTES ((size_t)1 << 32)

static bool ends_in(const char *path, const char *ending)
{
    const size_t n = strlen(path), m = strlen(ending);
    return n > m && !strcmp(path + n - m, ending);
}

static bool is_warm_start(const char *path) { return path && (ends_in(path, ".json") || ends_in(path, ".npz")); }

/* ---- What is taken ------------------------------------------------------------------------------------------------------- */
typedef struct source {      /* a file, and what it is asked for */
    const char *path;
    lt_run     *r;
    char       *text;        /* JSON */
    lt_json_at  root;
    lt_npz_names names;      /* .npz */
} source;

/* Memory of its own for `count` numbers; all must be finite. */
static lt_status keep(const source *f, const char *what, const double *v, int64_t count, double **out)
{
    for (int64_t i = 0; i < count; i++)
        if (!isfinite(v[i])) return LT_FAIL(LT_ERR_FORMAT, "%s: entry %lld of %s is %g, expected a finite number", f->path, (long long)i, what, lt_plain(v[i]));
    if (!(*out = lt_malloc_aligned((size_t)LT_MAX(count, 1) * sizeof **out))) return LT_ERR_MEMORY;
    memcpy(*out, v, (size_t)count * sizeof *v);
    return LT_OK;
}

static lt_status other_problem(const source *f, const char *what, int64_t got, int64_t expected)
{
    return LT_FAIL(LT_ERR_MISMATCH, "%s is the result of another problem: %s %lld, this one's %lld", f->path, what, (long long)got, (long long)expected);
}

static lt_status expect_count(const source *f, const char *what, int64_t got, int64_t expected)
{
    if (got < 0) return LT_FAIL(LT_ERR_FORMAT, "%s: %s: expected numbers", f->path, what);
    return got == expected ? LT_OK : other_problem(f, what, got, expected);
}

/* Files have the caller's inequalities, also those that the run keeps as bounds. */
static int64_t inequalities(const lt_run *r) { return r->given->p; }

/* Multipliers of the caller's inequalities and equalities, as the run has them. */
static lt_status keep_multipliers(const lt_run *r, const double *ci, const double *ce, lt_warm *w)
{
    if (!(w->multiplier = lt_calloc((size_t)LT_MAX(r->p + r->q, 1), sizeof(double)))) return LT_ERR_MEMORY;
    for (int64_t j = 0; j < r->q; j++) w->multiplier[j] = ce[j];
    for (int64_t j = 0; j < r->p; j++) w->multiplier[r->q + j] = ci[lt_bounds_row(r, j)];
    return LT_OK;
}

/* A full H in a run of limited memory, or pairs in one of full memory, say nothing to it. */
static bool fits_memory(const lt_run *r, bool pairs) { return pairs == (r->opt.lbfgs_pairs > 0); }

/* H is the caller's where the caller gave one. */
static bool wants_hessian(const lt_run *r)
{
    const lt_solve_options *o = &r->opt;
    return !o->H0 && !o->H0_file && !o->H0_diagonal && !o->lbfgs_state && !o->lbfgs_state_file;
}

/* ---- JSON ------------------------------------------------------------------------------------------------------------------ */
static lt_status json_numbers(const source *f, lt_json_at at, const char *what, int64_t count, double **out)
{
    if (!at) return LT_FAIL(LT_ERR_FORMAT, "%s has no '%s': expected the JSON of lathe solve", f->path, what);
    LT_TRY(expect_count(f, what, lt_json_count(at), count));
    double *v = lt_malloc((size_t)LT_MAX(count, 1) * sizeof *v);
    if (!v) return LT_ERR_MEMORY;
    lt_json_numbers(at, v);
    lt_status s = keep(f, what, v, count, out);
    lt_free(v);
    return s;
}

static lt_status json_size(const source *f, const char *key, int64_t expected)
{
    double v;
    const lt_json_at at = lt_json_member(lt_json_member(f->root, "problem"), key);
    if (lt_json_count(at) != 1) return LT_FAIL(LT_ERR_FORMAT, "%s has no problem.%s: expected the JSON of lathe solve", f->path, key);
    lt_json_numbers(at, &v);
    return v == (double)expected ? LT_OK : other_problem(f, key, (int64_t)v, expected);
}

/* Names and sizes of variables, in order. */
static lt_status json_variables(const source *f)
{
    const lt_problem *p = f->r->problem;
    const lt_json_at all = lt_json_member(f->root, "variables");
    const char *key;
    size_t bytes;
    lt_json_at value;
    for (int i = 0; all && i < p->n_variables; i++) {
        const char *name = p->variable[i].name;
        if (!name) continue;
        if (!lt_json_key_at(all, i, &key, &bytes, &value) || strlen(name) != bytes || memcmp(key, name, bytes))
            return LT_FAIL(LT_ERR_MISMATCH, "%s is the result of another problem: it has no variable '%s' in place %d", f->path, name, i);
        LT_TRY(expect_count(f, name, lt_json_count(value), lt_shape_count(&p->variable[i].shape)));
    }
    return LT_OK;
}

static lt_status json_pairs(const source *f, lt_json_at at, lt_hessian_state *h)
{
    const int64_t n = f->r->n, m = lt_json_count(lt_json_member(at, "rho"));
    double *gamma = NULL;
    if (m < 1) return LT_OK; /* no pairs yet, or left out */
    h->n = n;
    h->m = m;
    double *rho = NULL;
    lt_status s = json_numbers(f, lt_json_member(at, "S"), "H_final.S", m * n, &h->S);
    if (!s) s = json_numbers(f, lt_json_member(at, "Y"), "H_final.Y", m * n, &h->Y);
    if (!s) s = json_numbers(f, lt_json_member(at, "rho"), "H_final.rho", m, &rho);
    if (!s) s = json_numbers(f, lt_json_member(at, "gamma"), "H_final.gamma", 1, &gamma);
    if (!s && !(h->rho = lt_malloc((size_t)m * sizeof *rho))) s = LT_ERR_MEMORY;
    if (!s) memcpy(h->rho, rho, (size_t)m * sizeof *rho);
    if (!s) h->gamma = *gamma;
    lt_free_aligned(rho);
    lt_free_aligned(gamma);
    return s;
}

static lt_status json_hessian(const source *f, lt_warm *w)
{
    const int64_t n = f->r->n;
    const lt_json_at at = lt_json_member(f->root, "H_final");
    if (!at || (*at != '[' && *at != '{')) return LT_OK;
    const bool pairs = *at == '{';
    if (!fits_memory(f->r, pairs)) return LT_OK;
    w->H.n = n;
    return pairs ? json_pairs(f, at, &w->H) : json_numbers(f, at, "H_final", n * n, &w->H.H);
}

static lt_status json_multipliers(const source *f, lt_warm *w)
{
    const lt_run *r = f->r;
    const lt_json_at certificate = lt_json_member(f->root, "certificate");
    const lt_json_at ci_at = lt_json_member(certificate, "ci_multipliers"), ce_at = lt_json_member(certificate, "ce_multipliers");
    double *ci = NULL, *ce = NULL;
    lt_status s = LT_OK;
    if (!(r->p + r->q) || (r->p && !ci_at) || (r->q && !ce_at)) return LT_OK;
    if (r->p) s = json_numbers(f, ci_at, "ci_multipliers", inequalities(r), &ci);
    if (!s && r->q) s = json_numbers(f, ce_at, "ce_multipliers", r->q, &ce);
    if (!s) s = keep_multipliers(r, ci, ce, w);
    lt_free_aligned(ci);
    lt_free_aligned(ce);
    return s;
}

/* The best feasible point, or else the last: the one that the text of a run shows. */
static lt_status read_json(source *f, lt_warm *w)
{
    const lt_run *r = f->r;
    size_t bytes;
    LT_TRY(lt_file_read(f->path, MOST_BYTES, &f->text, &bytes));
    LT_TRY(lt_json_check(f->path, f->text, bytes));
    f->root = f->text + strspn(f->text, " \t\r\n");
    LT_TRY(json_size(f, "n", r->n));
    LT_TRY(json_size(f, "p", inequalities(r)));
    LT_TRY(json_size(f, "q", r->q));
    LT_TRY(json_variables(f));
    lt_json_at point = lt_json_member(f->root, "best");
    if (!point) point = lt_json_member(f->root, "final");
    LT_TRY(json_numbers(f, lt_json_member(point, "x"), "x", r->n, &w->x));
    const lt_json_at mu = lt_json_member(point, "mu");
    if (lt_json_count(mu) == 1) lt_json_numbers(mu, &w->mu);
    LT_TRY(json_multipliers(f, w));
    return wants_hessian(r) ? json_hessian(f, w) : LT_OK;
}

/* ---- .npz ------------------------------------------------------------------------------------------------------------------ */
static bool is_variable(const lt_problem *p, const char *name)
{
    for (int i = 0; i < p->n_variables; i++)
        if (p->variable[i].name && !strcmp(p->variable[i].name, name)) return true;
    return false;
}

/* A result has an underscore behind its name where a variable has that name. NULL: the file has none. */
static const char *member_of(const source *f, const char *name, const char *other)
{
    const char *wanted = is_variable(f->r->problem, name) ? other : name;
    for (int i = 0; i < f->names.n; i++)
        if (!strcmp(f->names.name[i], wanted)) return wanted;
    return NULL;
}

static lt_status npz_numbers(const source *f, const char *member, int64_t count, double **out)
{
    lt_array a = { 0 };
    LT_TRY(lt_npz_read(f->path, member, &a));
    lt_status s = lt_array_widen(&a);
    if (s) s = LT_FAIL(LT_ERR_FORMAT, "%s: '%s': expected real numbers", f->path, member);
    if (!s) s = expect_count(f, member, lt_shape_count(&a.shape), count);
    if (!s) s = keep(f, member, a.data, count, out);
    lt_array_free(&a);
    return s;
}

static lt_status npz_x(const source *f, lt_warm *w)
{
    const lt_problem *p = f->r->problem;
    if (!(w->x = lt_malloc_aligned((size_t)f->r->n * sizeof *w->x))) return LT_ERR_MEMORY;
    const lt_variable whole = { .name = "x", .shape = lt_shape1(f->r->n) };
    for (int i = 0; i < LT_MAX(p->n_variables, 1); i++) {
        const lt_variable *v = p->n_variables ? &p->variable[i] : &whole;
        const int64_t count = lt_shape_count(&v->shape);
        double *part = NULL;
        bool found = false;
        for (int k = 0; k < f->names.n && v->name; k++) found = found || !strcmp(f->names.name[k], v->name);
        if (!found) return LT_FAIL(LT_ERR_MISMATCH, "%s is the result of another problem: it has no variable '%s'", f->path, v->name ? v->name : "?");
        LT_TRY(npz_numbers(f, v->name, count, &part));
        memcpy(w->x + v->offset, part, (size_t)count * sizeof *part);
        lt_free_aligned(part);
    }
    return LT_OK;
}

/* A member of one run's results, where the file has it. */
static lt_status npz_part(const source *f, const char *name, const char *other, int64_t count, double **out)
{
    const char *member = member_of(f, name, other);
    return member ? npz_numbers(f, member, count, out) : LT_OK;
}

static lt_status npz_multipliers(const source *f, lt_warm *w)
{
    const lt_run *r = f->r;
    double *ci = NULL, *ce = NULL;
    lt_status s = npz_part(f, "ci_multipliers", "ci_multipliers_", inequalities(r), &ci);
    if (!s) s = npz_part(f, "ce_multipliers", "ce_multipliers_", r->q, &ce);
    if (!s && (ci || !r->p) && (ce || !r->q) && r->p + r->q) s = keep_multipliers(r, ci, ce, w);
    lt_free_aligned(ci);
    lt_free_aligned(ce);
    return s;
}

static lt_status npz_pairs(const source *f, lt_hessian_state *h)
{
    const char *member = member_of(f, "rho", "rho_");
    lt_array a = { 0 };
    double *rho = NULL, *gamma = NULL;
    if (!member || !member_of(f, "S", "S_") || !member_of(f, "Y", "Y_") || !member_of(f, "gamma", "gamma_")) return LT_OK;
    LT_TRY(lt_npz_read(f->path, member, &a));
    const int64_t m = lt_shape_count(&a.shape), n = f->r->n;
    lt_array_free(&a);
    if (m < 1) return LT_OK;
    h->n = n;
    h->m = m;
    lt_status s = npz_part(f, "S", "S_", m * n, &h->S);
    if (!s) s = npz_part(f, "Y", "Y_", m * n, &h->Y);
    if (!s) s = npz_part(f, "rho", "rho_", m, &rho);
    if (!s) s = npz_part(f, "gamma", "gamma_", 1, &gamma);
    if (!s && !(h->rho = lt_malloc((size_t)m * sizeof *rho))) s = LT_ERR_MEMORY;
    if (!s) memcpy(h->rho, rho, (size_t)m * sizeof *rho);
    if (!s) h->gamma = *gamma;
    lt_free_aligned(rho);
    lt_free_aligned(gamma);
    return s;
}

static lt_status read_npz(source *f, lt_warm *w)
{
    const lt_run *r = f->r;
    double *mu = NULL;
    LT_TRY(lt_npz_list(f->path, &f->names));
    LT_TRY(npz_x(f, w));
    LT_TRY(npz_part(f, "mu", "mu_", 1, &mu));
    if (mu) w->mu = *mu;
    lt_free_aligned(mu);
    LT_TRY(npz_multipliers(f, w));
    if (!wants_hessian(r)) return LT_OK;
    if (!fits_memory(r, false)) return npz_pairs(f, &w->H);
    w->H.n = r->n;
    return npz_part(f, "H", "H_", r->n * r->n, &w->H.H);
}

/* ---- The whole --------------------------------------------------------------------------------------------------------------- */
static void describe(const lt_run *r, lt_warm *w)
{
    char mu[40] = "";
    if (w->takes_mu) snprintf(mu, sizeof mu, ", mu = %g", w->mu);
    snprintf(w->text, sizeof w->text, "Start: x%s%s%s of %.80s", mu, w->H.H ? ", H" : w->H.m ? ", the pairs of H" : "", w->multiplier ? ", multipliers" : "", r->opt.x0_file);
}

/* mu0 other than its default is asked for. */
static bool takes_mu(const lt_run *r, double mu) { return r->constrained && mu > 0 && isfinite(mu) && r->opt.mu0 == lt_solve_defaults().mu0; }

lt_status lt_warm_read(lt_run *r)
{
    lt_warm *w = &r->warm;
    source f = { .path = r->opt.x0_file, .r = r };
    *w = (lt_warm){ .mu = NAN };
    if (r->opt.x0 || r->opt.resume || !is_warm_start(f.path)) return LT_OK;
    lt_status s = ends_in(f.path, ".npz") ? read_npz(&f, w) : read_json(&f, w);
    lt_free(f.text);
    lt_npz_names_free(&f.names);
    w->takes_mu = takes_mu(r, w->mu);
    if (!s) describe(r, w);
    return s;
}

/* Multipliers of the constraints times mu are what steering's QP answers near a solution. */
void lt_warm_multipliers(lt_run *r)
{
    const lt_warm *w = &r->warm;
    const double *scale = r->oracle.scale;
    if (!w->multiplier || !r->constrained) return;
    for (int64_t j = 0; j < r->q + r->p; j++) {
        const double y = r->cur->mu * w->multiplier[j] * scale[0] / scale[1 + j];
        r->steering.sub.y[j] = fmin(fmax(y, j < r->q ? -1 : 0), 1);
    }
    r->steering.warm = true;
}

void lt_warm_release(lt_run *r)
{
    lt_warm *w = &r->warm;
    lt_free_aligned(w->x);
    lt_free(w->multiplier);
    lt_hessian_state_release(&w->H);
    w->x = w->multiplier = NULL;
}
