/* What a kernel matrix looks like to a support vector machine. SPDX-License-Identifier: BSD-3-Clause */
#include "qkernel/svm/machine.h"

#include "base/alloc.h"
#include "base/status.h"
#include "lathe/graph.h"

#include <math.h>
#include <stdlib.h>

enum { MOST_EIGENVALUES = 1024 };
static const double zero_eigenvalue = 1e-10;

/* ---- moments in one pass; shifted by the first value, since kernels may differ in the last digits only ---- */

typedef struct moments { double first, sum, square, min, max; int64_t n; } moments;

static void add(moments *m, double v)
{
    if (m->n++ == 0) *m = (moments){ .first = v, .min = v, .max = v, .n = 1 };
    double d = v - m->first;
    m->sum += d;
    m->square += d * d;
    m->min = fmin(m->min, v);
    m->max = fmax(m->max, v);
}

static lt_qsvm_spread spread_of(const moments *m)
{
    if (m->n == 0) return (lt_qsvm_spread){ NAN, NAN, NAN, NAN };
    double mean = m->sum / (double)m->n;
    return (lt_qsvm_spread){ m->min, m->max, m->first + mean, sqrt(fmax(m->square / (double)m->n - mean * mean, 0)) };
}

static void entries(const double *K, const lt_targets *t, int64_t n, lt_qsvm_diagnostics *d)
{
    moments all = { 0 }, diagonal = { 0 }, off = { 0 }, same = { 0 }, other = { 0 }, rows = { 0 };
    double square = 0, asymmetry = 0;
    int64_t finite = 0;
    for (int64_t i = 0; i < n; i++) {
        double row = 0;
        for (int64_t j = 0; j < n; j++) {
            double k = K[i * n + j], difference = fabs(k - K[j * n + i]);
            finite += isfinite(k) != 0;
            row += k;
            square += k * k;
            asymmetry += difference;
            d->max_asymmetry = fmax(d->max_asymmetry, difference);
            add(&all, k);
            add(i == j ? &diagonal : &off, k);
            if (i != j && t->label) add(t->label[i] == t->label[j] ? &same : &other, k);
        }
        add(&rows, row / (double)n);
    }
    d->finite_fraction = (double)finite / ((double)n * (double)n);
    d->frobenius = sqrt(square);
    d->row_mean_std = spread_of(&rows).std;
    d->mean_asymmetry = asymmetry / ((double)n * (double)n);
    d->all = spread_of(&all);
    d->diagonal = spread_of(&diagonal);
    d->off_diagonal = spread_of(&off);
    d->same_class = spread_of(&same);
    d->other_class = spread_of(&other);
    d->class_gap = d->same_class.mean - d->other_class.mean;
    d->class_separation = d->class_gap / (d->same_class.std + d->other_class.std + 1e-12);
}

/* Means of the rows of K, and that of all entries. */
static double means_of(const double *K, int64_t n, double *mean)
{
    double total = 0;
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < n; j++) mean[i] += K[i * n + j] / (double)n;
        total += mean[i] / (double)n;
    }
    return total;
}

/* <Kc, yc yc'> / (|Kc| |yc yc'|) with both centred (Cortes, Mohri and Rostamizadeh, JMLR 13, 2012). y: -1 and 1, or values. */
static double alignment_with(const double *K, const double *y, int64_t n, const double *mean, double total)
{
    double target = 0, inner = 0, square = 0, labels = 0;
    for (int64_t i = 0; i < n; i++) target += y[i];
    target /= (double)n;
    for (int64_t i = 0; i < n; i++) {
        double yi = y[i] - target;
        labels += yi * yi;
        for (int64_t j = 0; j < n; j++) {
            double k = K[i * n + j] - mean[i] - mean[j] + total;
            inner += k * yi * (y[j] - target);
            square += k * k;
        }
    }
    return square > 0 && labels > 0 ? inner / (sqrt(square) * labels) : 0;
}

/* The same with the kernel that is 1 inside a class and 0 between two; centring it leaves its product with Kc as it is. */
static lt_status alignment_with_classes(const double *K, const lt_targets *t, int64_t n, const double *mean, double total, double *out)
{
    double inner = 0, square = 0, squares = 0, cubes = 0, *count = lt_calloc((size_t)t->n_classes, sizeof *count);
    if (!count) return LT_ERR_MEMORY;
    for (int64_t i = 0; i < n; i++) {
        count[t->label[i]]++;
        for (int64_t j = 0; j < n; j++) {
            double k = K[i * n + j] - mean[i] - mean[j] + total;
            if (t->label[i] == t->label[j]) inner += k;
            square += k * k;
        }
    }
    for (int64_t c = 0; c < t->n_classes; c++) {
        squares += count[c] * count[c];
        cubes += count[c] * count[c] * count[c];
    }
    lt_free(count);
    const double target = squares - 2 * cubes / (double)n + squares * squares / ((double)n * (double)n);
    *out = square > 0 && target > 0 ? inner / sqrt(square * target) : 0;
    return LT_OK;
}

lt_status lt_qsvm_alignment(const double *K, const lt_targets *t, int64_t n, double *out)
{
    *out = NAN;
    if (t->task == LT_QSVM_ONE_CLASS) return LT_OK;
    double *mean = lt_calloc(2 * (size_t)n, sizeof *mean), *y = mean + n;
    if (!mean) return LT_ERR_MEMORY;
    const double total = means_of(K, n, mean);
    lt_status s = LT_OK;
    for (int64_t i = 0; i < n; i++) y[i] = t->value ? t->value[i] : t->label[i] == 1 ? 1 : -1;
    if (t->n_classes > 2) s = alignment_with_classes(K, t, n, mean, total, out);
    else *out = alignment_with(K, y, n, mean, total);
    lt_free(mean);
    return s;
}

/* ---- eigenvalues ---- */

static lt_status eigenvalues(const double *K, int64_t n, double *values)
{
    lt_graph *g;
    lt_program *p = NULL;
    LT_TRY(lt_graph_create(&g));
    lt_node e = lt_eigvalsh(g, lt_input(g, "K", LT_F64, lt_shape2(n, n)));
    lt_status s = lt_program_create(g, &e, 1, NULL, &p);
    if (!s) s = lt_program_run(p, (const void *[]){ K }, (void *[]){ values });
    lt_program_destroy(p);
    lt_graph_destroy(g);
    return s;
}

static lt_status spectrum(const double *K, int64_t n, lt_qsvm_diagnostics *d, double **values)
{
    int64_t step = (n - 1) / MOST_EIGENVALUES + 1, m = (n - 1) / step + 1;
    double *part = lt_malloc((size_t)(m * m) * sizeof *part), *v = lt_malloc((size_t)m * sizeof *v);
    lt_status s = part && v ? LT_OK : LT_ERR_MEMORY;
    for (int64_t i = 0; !s && i < m; i++)
        for (int64_t j = 0; j < m; j++) part[i * m + j] = K[i * step * n + j * step];
    if (!s) s = eigenvalues(part, m, v);
    lt_free(part);
    if (s) {
        lt_free(v);
        return s;
    }
    double sum = 0, square = 0, magnitude = 0, negative = 0, least = INFINITY;
    int64_t n_negative = 0;
    for (int64_t i = 0; i < m; i++) {
        sum += v[i];
        square += v[i] * v[i];
        magnitude += fabs(v[i]);
        if (v[i] < -zero_eigenvalue) {
            n_negative++;
            negative -= v[i];
        }
        if (v[i] > zero_eigenvalue) least = fmin(least, v[i]);
    }
    d->n_eigenvalues = m;
    d->eigen_min = v[0];
    d->eigen_max = v[m - 1];
    d->negative_fraction = (double)n_negative / (double)m;
    d->negative_mass = magnitude > 0 ? negative / magnitude : 0;
    d->condition = v[m - 1] / least;
    d->effective_rank = square > 0 ? sum * sum / square : 0;
    *values = v;
    return LT_OK;
}

lt_status lt_qsvm_diagnose(const double *K, const lt_targets *t, int64_t n, lt_qsvm_diagnostics *out, double **values)
{
    *out = (lt_qsvm_diagnostics){ .size = sizeof(lt_qsvm_diagnostics) };
    *values = NULL;
    entries(K, t, n, out);
    /* Angles are finite, so this is ours to find out about, not the user's to repair. */
    if (out->finite_fraction < 1) return LT_FAIL(LT_ERR_INTERNAL, "qsvm: the kernel of %lld rows holds numbers that are not finite", (long long)n);
    LT_TRY(lt_qsvm_alignment(K, t, n, &out->alignment));
    return spectrum(K, n, out, values);
}
