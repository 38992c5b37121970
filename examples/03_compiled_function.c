/* A function of tensors that compiles itself for every new combination of shapes and types: layer normalisation of rows, called
   with batches of several sizes. Plans are kept, so only new shapes cost a compilation; the counters say how many there were.
   SPDX-License-Identifier: BSD-3-Clause */
#include <lathe/lathe.h>

#include <math.h>
#include <stdio.h>

enum { FEATURES = 4, MOST_ROWS = 8 };

/* (x - mean) / sqrt(variance + eps), row by row; the graph's inputs have the shapes of the call. */
static lt_status build(void *ctx, lt_graph *g, const lt_node *in, int n_in, lt_node *out, int n_out)
{
    (void)n_in, (void)n_out;
    lt_node centred = lt_sub(g, in[0], lt_mean_axis(g, in[0], -1, true));
    lt_node variance = lt_mean_axis(g, lt_square(g, centred), -1, true);
    out[0] = lt_div(g, centred, lt_sqrt(g, lt_shift(g, variance, *(const double *)ctx)));
    return lt_graph_status(g);
}

/* Normalises the first rows of x; the largest distance of a row's squares from their sum, FEATURES. */
static lt_status normalise(lt_function *f, float *x, int64_t rows, double *worst)
{
    float y[MOST_ROWS * FEATURES];
    lt_tensor in = { LT_F32, lt_shape2(rows, FEATURES), x }, out = { LT_F32, lt_shape2(rows, FEATURES), y };
    lt_status s = lt_function_call(f, &in, &out);
    for (int64_t r = 0; !s && r < rows; r++) {
        double sum = 0;
        for (int i = 0; i < FEATURES; i++) sum += (double)y[r * FEATURES + i] * (double)y[r * FEATURES + i];
        *worst = fmax(*worst, fabs(sum - FEATURES));
    }
    return s;
}

int main(void)
{
    static const int64_t batch[] = { 8, 8, 3, 8, 3, 1 }; /* three shapes */
    float x[MOST_ROWS * FEATURES];
    for (int i = 0; i < MOST_ROWS * FEATURES; i++) x[i] = (float)((i * 7 + i * i) % 11);
    double eps = 1e-9, worst = 0;
    lt_function *f;
    lt_status s = lt_function_create(build, &eps, 1, 1, NULL, &f);
    if (s) {
        fprintf(stderr, "%s\n", lt_error_text());
        return 1;
    }
    for (size_t i = 0; i < sizeof batch / sizeof *batch && !s; i++) s = normalise(f, x, batch[i], &worst);
    lt_function_stats stats = lt_function_get_stats(f);
    if (s) fprintf(stderr, "%s\n", lt_error_text());
    else printf("%d compilations, %d calls of plans that were kept; the last compilation: %s\nrows are normal to %.1e\n", stats.compiles, stats.hits,
                stats.last_reason, worst);
    lt_function_destroy(f);
    return s != LT_OK || stats.compiles != 3 || stats.hits != 3 || worst > 1e-5;
}
