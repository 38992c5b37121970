/* Principal components and min-max scaling. SPDX-License-Identifier: BSD-3-Clause */
#include "qkernel/svm/prepare.h"

#include "base/alloc.h"
#include "base/number.h"
#include "base/status.h"
#include "lathe/graph.h"
#include "qkernel/rows/rows.h"

#include <float.h>
#include <math.h>
#include <string.h>

lt_status lt_prepare_rows(const char *name, const lt_rows *x, int64_t n_features, double **out)
{
    *out = NULL;
    if (!x || !x->data) return LT_FAIL(LT_ERR_ARGUMENT, "qsvm: %s has no data", name);
    if (x->dtype != LT_F64 && x->dtype != LT_F32)
        return LT_FAIL(LT_ERR_ARGUMENT, "qsvm: %s has type %s, expected f64 or f32", name, lt_dtype_name(x->dtype));
    if (x->n < 1 || x->columns < 1 || x->n > (INT64_C(1) << 40) / x->columns)
        return LT_FAIL(LT_ERR_ARGUMENT, "qsvm: %s is %lld x %lld, expected at least one row and column", name, (long long)x->n, (long long)x->columns);
    if (x->columns != n_features)
        return LT_FAIL(LT_ERR_ARGUMENT, "qsvm: %s has %lld columns, but the machine was trained on %lld features", name,
                       (long long)x->columns, (long long)n_features);
    if (x->step != 0 && x->step < x->columns)
        return LT_FAIL(LT_ERR_ARGUMENT, "qsvm: rows of %s are %lld elements apart, fewer than its %lld columns", name,
                       (long long)x->step, (long long)x->columns);
    double *v = lt_malloc((size_t)(x->n * x->columns) * sizeof *v);
    if (!v) return LT_ERR_MEMORY;
    for (int64_t i = 0; i < x->n; i++)
        for (int64_t k = 0; k < x->columns; k++) {
            double value = v[i * x->columns + k] = lt_rows_at(x, i, k);
            if (isfinite(value)) continue;
            lt_free(v);
            return lt_place_row(LT_FAIL(LT_ERR_ARGUMENT, "qsvm: %s is %g at row %lld, column %lld: every number must be finite", name, lt_plain(value),
                                        (long long)i, (long long)k), name, i, k);
        }
    *out = v;
    return LT_OK;
}

int64_t lt_prepare_find_constant(const double *x, int64_t n, int64_t n_features, bool *is_constant)
{
    int64_t count = 0;
    for (int64_t k = 0; k < n_features; k++) is_constant[k] = true;
    for (int64_t i = 1; i < n; i++)
        for (int64_t k = 0; k < n_features; k++) is_constant[k] = is_constant[k] && x[i * n_features + k] == x[k];
    for (int64_t k = 0; k < n_features; k++) count += is_constant[k];
    return count;
}

/* ---- principal components ---- */

/* Eigenvalues (ascending) and vectors (in columns) of x'x or xx' over n - 1; x (n, d) is centred. */
static lt_status decompose(const double *x, int64_t n, int64_t d, bool of_rows, double *values, double *vectors)
{
    lt_graph *g;
    lt_program *p = NULL;
    LT_TRY(lt_graph_create(&g));
    lt_node in = lt_input(g, "x", LT_F64, lt_shape2(n, d)), turned = lt_transpose(g, in), out[2];
    lt_node product = of_rows ? lt_matmul(g, in, turned) : lt_matmul(g, turned, in);
    out[0] = lt_eigh(g, lt_scale(g, product, 1 / (double)LT_MAX(n - 1, 1)), &out[1]);
    lt_status s = lt_program_create(g, out, 2, NULL, &p);
    if (!s) s = lt_program_run(p, (const void *[]){ x }, (void *[]){ values, vectors });
    lt_program_destroy(p);
    lt_graph_destroy(g);
    return s;
}

/* Unit length; the coefficient of largest magnitude (the first of several) positive. */
static void normalise_component(double *c, int64_t d)
{
    double square = 0, largest = 0;
    for (int64_t k = 0; k < d; k++) {
        square += c[k] * c[k];
        if (fabs(c[k]) > fabs(largest)) largest = c[k];
    }
    double scale = copysign(1 / sqrt(square), largest);
    for (int64_t k = 0; k < d; k++) c[k] *= scale;
}

/* With more features than rows the vectors of xx' are cheaper; x' takes them to those of x'x. */
static void take_component(const double *x, int64_t n, int64_t d, bool of_rows, const double *vectors, int64_t column, double *c)
{
    int64_t size = of_rows ? n : d;
    memset(c, 0, (size_t)d * sizeof *c);
    if (!of_rows)
        for (int64_t k = 0; k < d; k++) c[k] = vectors[k * size + column];
    else
        for (int64_t i = 0; i < n; i++)
            for (int64_t k = 0; k < d; k++) c[k] += vectors[i * size + column] * x[i * d + k];
    normalise_component(c, d);
}

static lt_status fit_components(const double *x, int64_t n, lt_prepare *p)
{
    int64_t d = p->n_features, q = p->n_outputs;
    bool of_rows = d > n;
    int64_t size = of_rows ? n : d;
    double *centred = lt_malloc((size_t)(n * d + size + size * size) * sizeof *centred);
    if (!centred) return LT_ERR_MEMORY;
    double *values = centred + n * d, *vectors = values + size;
    for (int64_t k = 0; k < d; k++) p->mean[k] = 0;
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = 0; k < d; k++) p->mean[k] += x[i * d + k];
    for (int64_t k = 0; k < d; k++) p->mean[k] /= (double)n;
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = 0; k < d; k++) centred[i * d + k] = x[i * d + k] - p->mean[k];
    lt_status s = decompose(centred, n, d, of_rows, values, vectors);
    /* Directions of rounding noise would be stretched to the whole range like any other. */
    int64_t rank = 0;
    for (int64_t i = 0; !s && i < size; i++) rank += values[i] > (double)LT_MAX(n, d) * DBL_EPSILON * values[size - 1];
    if (!s && rank < q)
        s = LT_FAIL(LT_ERR_ARGUMENT, "qsvm: %lld training rows of %lld features span %lld directions, too few for %lld qubits",
                    (long long)n, (long long)d, (long long)rank, (long long)q);
    for (int64_t j = 0; !s && j < q; j++) take_component(centred, n, d, of_rows, vectors, size - 1 - j, p->components + j * d);
    lt_free(centred);
    return s;
}

/* ---- both steps ---- */

static void project(const lt_prepare *p, const double *row, double *z)
{
    if (!p->components) {
        memcpy(z, row, (size_t)p->n_outputs * sizeof *z);
        return;
    }
    for (int64_t j = 0; j < p->n_outputs; j++) {
        const double *c = p->components + j * p->n_features;
        double sum = 0;
        for (int64_t k = 0; k < p->n_features; k++) sum += (row[k] - p->mean[k]) * c[k];
        z[j] = sum;
    }
}

static lt_status fit_range(const double *x, int64_t n, lt_prepare *p)
{
    int64_t q = p->n_outputs;
    double *high = lt_malloc(2 * (size_t)q * sizeof *high);
    if (!high) return LT_ERR_MEMORY;
    double *z = high + q;
    for (int64_t j = 0; j < q; j++) {
        p->low[j] = INFINITY;
        high[j] = -INFINITY;
    }
    for (int64_t i = 0; i < n; i++) {
        project(p, x + i * p->n_features, z);
        for (int64_t j = 0; j < q; j++) {
            p->low[j] = fmin(p->low[j], z[j]);
            high[j] = fmax(high[j], z[j]);
        }
    }
    for (int64_t j = 0; j < q; j++) p->width[j] = high[j] - p->low[j];
    lt_free(high);
    return LT_OK;
}

lt_status lt_prepare_fit(const double *x, int64_t n, int64_t n_features, int64_t n_outputs, bool scales, lt_prepare *out)
{
    bool reduces = n_outputs < n_features;
    *out = (lt_prepare){ .n_features = n_features, .n_outputs = n_outputs, .scales = scales };
    if (reduces) {
        out->components = lt_malloc((size_t)(n_outputs * n_features) * sizeof(double));
        out->mean = lt_malloc((size_t)n_features * sizeof(double));
    }
    out->low = lt_malloc((size_t)n_outputs * sizeof(double));
    out->width = lt_malloc((size_t)n_outputs * sizeof(double));
    lt_status s = out->low && out->width && (!reduces || (out->components && out->mean)) ? LT_OK : LT_ERR_MEMORY;
    if (!s && reduces) s = fit_components(x, n, out);
    if (!s) s = fit_range(x, n, out);
    if (s) lt_prepare_release(out);
    return s;
}

void lt_prepare_release(lt_prepare *p)
{
    double *all[] = { p->components, p->mean, p->low, p->width };
    for (size_t i = 0; i < LT_LEN(all); i++) lt_free(all[i]);
    *p = (lt_prepare){ 0 };
}

void lt_prepare_apply(const lt_prepare *p, const double *x, int64_t n, double *z)
{
    for (int64_t i = 0; i < n; i++) {
        double *row = z + i * p->n_outputs;
        project(p, x + i * p->n_features, row);
        /* A feature that never changes in training carries nothing: 0. */
        for (int64_t j = 0; p->scales && j < p->n_outputs; j++)
            row[j] = p->width[j] > 0 ? (row[j] - p->low[j]) / p->width[j] : 0;
    }
}
