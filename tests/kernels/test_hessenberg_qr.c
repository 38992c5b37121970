/* Eigenvalues of Hessenberg matrices: known spectra, traces of powers, matrices that need exceptional
   shifts. SPDX-License-Identifier: BSD-3-Clause */
#include "lt_test.h"

#include "kernels/cpu/linalg/hessenberg_qr.h"
#include "lathe/rng.h"

#include <complex.h>
#include <string.h>

enum { MOST = 150 };

static double uniform(lt_rng *r) { return 2 * lt_rng_uniform(r) - 1; }

static void random_hessenberg(lt_rng *r, int n, double *h)
{
    for (int j = 0; j < n; j++)
        for (int i = 0; i < n; i++) h[i + j * n] = i <= j + 1 ? uniform(r) : 0;
}

/* Sums of powers of the eigenvalues are traces of powers of the matrix. */
static void check_traces(int n, const double *h, const double *re, const double *im)
{
    static double power[MOST * MOST], next[MOST * MOST];
    memcpy(power, h, (size_t)(n * n) * sizeof *power);
    for (int k = 1; k <= 3; k++) {
        double trace = 0, size = 1;
        double complex sum = 0;
        for (int i = 0; i < n; i++) {
            double complex w = cpow(re[i] + I * im[i], k);
            sum += w;
            size += cabs(w);
            trace += power[i + i * n];
        }
        LT_CHECK_NEAR(creal(sum), trace, 1e-12 * n * size);
        LT_CHECK_NEAR(cimag(sum), 0, 1e-12 * n * size);
        for (int i = 0; i < n * n; i++) {
            next[i] = 0;
            for (int l = 0; l < n; l++) next[i] += power[i % n + l * n] * h[l + i / n * n];
        }
        memcpy(power, next, (size_t)(n * n) * sizeof *power);
    }
}

static void check_pairs(int n, const double *re, const double *im)
{
    for (int i = 0; i < n; i++) {
        if (im[i] == 0) continue;
        LT_CHECK(i + 1 < n && im[i] > 0 && re[i + 1] == re[i] && im[i + 1] == -im[i]);
        i++;
    }
}

LT_TEST(random_matrices_of_all_sizes)
{
    static double h[MOST * MOST], copy[MOST * MOST], re[MOST], im[MOST];
    lt_rng r = lt_rng_seed(1);
    for (int n = 0; n <= MOST; n += n < 12 ? 1 : 23) {
        random_hessenberg(&r, n, h);
        memcpy(copy, h, sizeof h);
        LT_CHECK(lt_hessenberg_qr(n, copy, re, im));
        check_traces(n, h, re, im);
        check_pairs(n, re, im);
    }
}

LT_TEST(cyclic_shifts_have_the_roots_of_unity)
{
    static double h[MOST * MOST], re[MOST], im[MOST];
    for (int n = 2; n <= 60; n += 7) {
        memset(h, 0, sizeof h);
        for (int j = 0; j < n; j++) h[(j + 1) % n + j * n] = 1;
        LT_CHECK(lt_hessenberg_qr(n, h, re, im));
        check_pairs(n, re, im);
        for (int i = 0; i < n; i++) {
            double complex w = cpow(re[i] + I * im[i], n);
            LT_CHECK_NEAR(cabs(w - 1), 0, 1e-11);
        }
    }
}

LT_TEST(blocks_that_are_already_apart)
{
    static double h[MOST * MOST], re[MOST], im[MOST];
    const int n = 6;
    for (int j = 0; j < n; j++) h[j + j * n] = j + 1;
    for (int j = 2; j < n; j++) h[1 + j * n] = 1e8; /* far from normal, but triangular */
    h[1] = -3, h[n] = 3, h[n + 1] = 1;                /* 1 +- 3i on top */
    LT_CHECK(lt_hessenberg_qr(n, h, re, im));
    LT_CHECK_NEAR(re[0], 1, 1e-14);
    LT_CHECK_NEAR(im[0], 3, 1e-14);
    for (int j = 2; j < n; j++) LT_CHECK_NEAR(re[j], j + 1, 0);
    memset(h, 0, sizeof h);
    LT_CHECK(lt_hessenberg_qr(n, h, re, im));
    for (int j = 0; j < n; j++) LT_CHECK(re[j] == 0 && im[j] == 0);
}

/* A defective matrix: the eigenvalues lie on a small circle, and their mean is exact. */
LT_TEST(jordan_blocks_converge)
{
    static double h[MOST * MOST], re[MOST], im[MOST];
    const int n = 30;
    double mean = 0;
    memset(h, 0, sizeof h);
    for (int j = 0; j < n; j++) {
        h[j + j * n] = 2;
        if (j) h[j - 1 + j * n] = 1;
        if (j + 1 < n) h[j + 1 + j * n] = 1e-30;
    }
    LT_CHECK(lt_hessenberg_qr(n, h, re, im));
    for (int j = 0; j < n; j++) mean += re[j] / n;
    LT_CHECK_NEAR(mean, 2, 1e-12);
}

LT_TEST_MAIN()
