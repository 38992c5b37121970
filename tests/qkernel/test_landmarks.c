/* Nystrom features: exact where every row is a landmark, better with more of them, honest about the error. SPDX-License-Identifier: BSD-3-Clause */
#include "lathe/gram.h"
#include "lathe/rng.h"
#include "lt_test.h"

enum { N = 600, Q = 4 };

static double x[N * Q], K[N * N], Z[N * N];

static lt_gram *make(lt_gram_float dtype)
{
    lt_gram *g = NULL;
    lt_gram_options opt = lt_gram_defaults();
    double w[2 * Q];
    lt_rng r = lt_rng_seed(3);
    for (int i = 0; i < N * Q; i++) x[i] = lt_rng_normal(&r);
    for (int i = 0; i < 2 * Q; i++) w[i] = lt_rng_normal(&r);
    opt.re_embed_between_layers = true;
    opt.dtype = dtype;
    LT_CHECK_OK(lt_gram_create(NULL, &opt, &(lt_weights){ w, 2, Q }, &g));
    return g;
}

static const lt_rows rows = { x, LT_F64, N, Q, 0 };

/* The largest entry of |K - Z Z'| over all of K. */
static double error_of(int64_t m, double *rms)
{
    double most = 0, squares = 0;
    for (int a = 0; a < N; a++)
        for (int b = 0; b < N; b++) {
            double sum = 0;
            for (int64_t i = 0; i < m; i++) sum += Z[a * m + i] * Z[b * m + i];
            most = fmax(most, fabs(sum - K[a * N + b]));
            squares += (sum - K[a * N + b]) * (sum - K[a * N + b]);
        }
    *rms = sqrt(squares / N / N);
    return most;
}

LT_TEST(more_landmarks_are_better_and_enough_are_exact)
{
    lt_gram *g = make(LT_GRAM_FLOAT64);
    double before = 1, rms;
    static const int64_t count[] = { 10, 40, 300 }; /* K of 4 qubits has rank 4^4 = 256 at most */
    LT_CHECK_OK(lt_gram_fill(g, &rows, NULL, K));
    for (int k = 0; k < 3; k++) {
        lt_landmark_info i = { .size = sizeof i };
        LT_CHECK_OK(lt_gram_landmarks(g, &rows, count[k], 5, Z, &i));
        double most = error_of(count[k], &rms);
        LT_CHECK(most < before);
        LT_CHECK((double)i.rank <= fmin((double)count[k], 256) && i.entries == 512 * 512);
        LT_CHECK(i.max_error <= most * (1 + 1e-6) + 1e-15 && i.rms_error > rms / 2 && i.rms_error < rms * 2 + 1e-15);
        before = most;
    }
    LT_CHECK(before < 1e-6);
    lt_gram_destroy(g);
}

LT_TEST(rows_that_repeat_add_nothing)
{
    lt_gram *g = make(LT_GRAM_FLOAT64);
    lt_landmark_info i = { .size = sizeof i };
    for (int r = 1; r < N; r++) memcpy(x + r * Q, x + r % 5 * Q, Q * sizeof *x);
    LT_CHECK_OK(lt_gram_fill(g, &rows, NULL, K));
    LT_CHECK_OK(lt_gram_landmarks(g, &rows, 100, 5, Z, &i));
    double rms;
    LT_CHECK(i.rank == 5 && error_of(100, &rms) < 1e-9);
    lt_gram_destroy(g);
}

LT_TEST(single_precision_does_not_amplify_rounding)
{
    lt_gram *g = make(LT_GRAM_FLOAT32);
    lt_landmark_info i = { .size = sizeof i };
    LT_CHECK_OK(lt_gram_landmarks(g, &rows, 300, 5, Z, &i));
    LT_CHECK(i.rank < 300 && i.max_error < 1e-2 && i.rms_error < 1e-3);
    lt_gram_destroy(g);
}

LT_TEST(bad_numbers_of_landmarks_are_refused)
{
    lt_gram *g = make(LT_GRAM_FLOAT64);
    LT_CHECK(lt_gram_landmarks(g, &rows, 0, 0, Z, NULL) == LT_ERR_ARGUMENT);
    LT_CHECK(lt_gram_landmarks(g, &rows, N + 1, 0, Z, NULL) == LT_ERR_ARGUMENT && strstr(lt_error_text(), "601 landmarks of 600 rows"));
    LT_CHECK(lt_gram_landmarks(g, NULL, 5, 0, Z, NULL) == LT_ERR_ARGUMENT);
    lt_gram_destroy(g);
}
LT_TEST_MAIN()
