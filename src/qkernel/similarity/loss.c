/* How well a kernel fits labels, and its derivatives by K. SPDX-License-Identifier: BSD-3-Clause */
#include "lathe/circuit.h"

#include "base/alloc.h"
#include "base/status.h"
#include "qkernel/svm/machines/svm.h"

#include <math.h>
#include <string.h>

static const char *const loss_names[] = { "alignment", "centred-alignment", "svm-margin" };
_Static_assert(LT_LEN(loss_names) == LT_KERNEL_LOSS_COUNT, "one name per loss");
const char *lt_kernel_loss_name(lt_kernel_loss k) { return (unsigned)k < LT_KERNEL_LOSS_COUNT ? loss_names[k] : "?"; }

/* ---- alignment ---- */

/* The kernel labels would have: 1 inside a class, -1/(classes - 1) between two, so that y y' comes out for two. */
static void fill_target(const int32_t *label, int64_t n, int32_t n_classes, double *T)
{
    const double other = n_classes > 1 ? -1.0 / (n_classes - 1) : 1;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) T[i * n + j] = label[i] == label[j] ? 1 : other;
}

static double dot(const double *a, const double *b, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

/* <K, T> / (|K| |T|); its derivative by K is T / (|K| |T|) less the alignment times K / |K|^2, and centring both changes nothing in that. */
static lt_status alignment(const double *K, int64_t n, const int32_t *label, int32_t n_classes, bool centred, double *value, double *dK)
{
    double *own = lt_malloc((size_t)(2 * n * n + n) * sizeof *own), *T = own, *C = own + n * n, *means = C + n * n, mean;
    if (!own) return LT_ERR_MEMORY;
    fill_target(label, n, n_classes, T);
    memcpy(C, K, (size_t)(n * n) * sizeof *C);
    lt_status s = LT_OK;
    if (centred) s = lt_gram_center(C, n, means, &mean);
    if (!s && centred) s = lt_gram_center(T, n, means, &mean);
    double length_K = sqrt(dot(C, C, n * n)), length_T = sqrt(dot(T, T, n * n));
    if (!s && !(length_K > 0 && length_T > 0))
        s = LT_FAIL(LT_ERR_NUMERIC, "loss: the kernel or the labels are constant, and have no %s", centred ? "centred alignment" : "alignment");
    double a = s ? 0 : dot(C, T, n * n) / (length_K * length_T);
    for (int64_t i = 0; !s && dK && i < n * n; i++) dK[i] = -(T[i] / (length_K * length_T) - a * C[i] / (length_K * length_K));
    *value = -a;
    lt_free(own);
    return s;
}

/* ---- margin ---- */

/* The optimum of the dual, sum |beta| - beta' K beta / 2, is half the squared length of the machine's normal plus what errors cost: small where
   the margin is wide. The solution being optimal, its derivative by K is -beta beta' / 2. */
static lt_status margin(const double *K, int64_t n, const int32_t *label, double cost, double *value, double *dK)
{
    uint8_t *y = lt_malloc((size_t)n);
    double *beta = lt_calloc((size_t)n, sizeof *beta);
    lt_svm svm = { .K = K, .y = y, .n = n, .solver = LT_SVM_SMO, .tolerance = 1e-6, .max_iterations = -1 };
    lt_svm_result result;
    lt_status s = y && beta ? LT_OK : LT_ERR_MEMORY;
    for (int64_t i = 0; !s && i < n; i++) y[i] = label[i] == 1;
    if (!s) s = lt_svm_prepare(&svm);
    if (!s) s = lt_svm_fit(&svm, (double[]){ cost, cost }, beta, &result);
    double sum = 0, square = 0;
    for (int64_t i = 0; !s && i < n; i++) {
        sum += fabs(beta[i]);
        square += beta[i] * dot(K + i * n, beta, n);
        for (int64_t j = 0; dK && j < n; j++) dK[i * n + j] = -beta[i] * beta[j] / 2;
    }
    *value = sum - square / 2;
    lt_svm_release(&svm);
    lt_free(y);
    lt_free(beta);
    return s;
}

lt_status lt_kernel_loss_evaluate(lt_kernel_loss kind, const double *K, int64_t n, const int32_t *label, double cost, double *value, double *dK)
{
    if (!K || !label || !value) return LT_FAIL(LT_ERR_ARGUMENT, "loss: K, the labels or the value are NULL");
    if (n < 2) return LT_FAIL(LT_ERR_ARGUMENT, "loss: %lld rows, expected at least 2", (long long)n);
    int32_t n_classes = 0;
    for (int64_t i = 0; i < n; i++) {
        if (label[i] < 0 || label[i] > 1 << 20) return LT_FAIL(LT_ERR_ARGUMENT, "loss: label %d of row %lld, expected the number of a class from 0", (int)label[i], (long long)i);
        n_classes = LT_MAX(n_classes, label[i] + 1);
    }
    if (kind != LT_KERNEL_LOSS_SVM_MARGIN) return alignment(K, n, label, n_classes, kind == LT_KERNEL_LOSS_CENTRED_ALIGNMENT, value, dK);
    if (n_classes > 2) return LT_FAIL(LT_ERR_ARGUMENT, "loss: svm-margin is of two classes, and the labels have %d", (int)n_classes);
    if (!(cost > 0)) return LT_FAIL(LT_ERR_ARGUMENT, "loss: the cost is %g, expected more than 0", cost);
    return margin(K, n, label, cost, value, dK);
}
