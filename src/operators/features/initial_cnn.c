/* An embedding of an initial field by a small residual network with drawn weights: convolution 7x7/2 to 32 channels, maximum 3x3/2, three residual blocks
   of stride 2 with 64, 128 and 256 channels, average, linear map. Norms have their initial statistics, mean 0 and variance 1. Nothing is trained, so weights depend on the
   seed of the dataset alone (decision 207). SPDX-License-Identifier: BSD-3-Clause */
#include "operators/features/initial_cnn.h"

#include "base/alloc.h"
#include "base/status.h"
#include "lathe/operator.h"
#include "lathe/rng.h"

#include <math.h>
#include <string.h>

enum { STEM = 32, BLOCKS = 3, LAST = 256, LAYERS = 2 + 3 * BLOCKS };

typedef struct layer { int in, out, kernel, stride; float *weight; } layer; /* (out, in, kernel, kernel) */

struct lt_initial_cnn {
    int    dim;
    layer  conv[LAYERS];     /* stem; three a block: first, second, shortcut; the linear map, as a 1x1 convolution */
    float *map[3];           /* work: (channels, y, x) */
};

static float *weights_of(layer *l, uint64_t seed, const char *purpose, int index)
{
    int64_t n_inputs = (int64_t)l->in * l->kernel * l->kernel, n = n_inputs * l->out;
    lt_draws d = lt_draws_make(seed, purpose, (uint32_t)index, 0, 0);
    l->weight = lt_malloc((size_t)n * sizeof *l->weight);
    if (l->weight && lt_draws_normal_f32(&d, 0, n, l->weight)) return NULL;
    for (int64_t i = 0; l->weight && i < n; i++) l->weight[i] *= (float)sqrt(2.0 / (double)n_inputs);
    return l->weight;
}

static void describe(lt_initial_cnn *c)
{
    c->conv[0] = (layer){ 1, STEM, 7, 2, NULL };
    for (int b = 0, in = STEM; b < BLOCKS; b++, in *= 2) {
        c->conv[1 + 3 * b] = (layer){ in, 2 * in, 3, 2, NULL };
        c->conv[2 + 3 * b] = (layer){ 2 * in, 2 * in, 3, 1, NULL };
        c->conv[3 + 3 * b] = (layer){ in, 2 * in, 1, 2, NULL };
    }
    c->conv[LAYERS - 1] = (layer){ LAST, c->dim, 1, 1, NULL };
}

lt_status lt_initial_cnn_create(uint64_t seed, int dim, bool vae, int max_grid, lt_initial_cnn **out)
{
    lt_initial_cnn *c = lt_calloc(1, sizeof *c);
    int half = (max_grid + 1) / 2;
    bool whole = c != NULL;
    *out = NULL;
    if (c) c->dim = dim;
    if (c) describe(c);
    for (int i = 0; i < LAYERS && whole; i++) /* the mean of an autoencoder's code is a map of its own */
        whole = weights_of(&c->conv[i], seed, vae && i == LAYERS - 1 ? "initial cnn mean" : "initial cnn", i) != NULL;
    for (int i = 0; i < 3 && whole; i++) whole = (c->map[i] = lt_malloc((size_t)LT_MAX(STEM * half * half, LAST) * sizeof(float))) != NULL;
    if (!whole) {
        lt_initial_cnn_destroy(c);
        return LT_ERR_MEMORY;
    }
    *out = c;
    return LT_OK;
}

void lt_initial_cnn_destroy(lt_initial_cnn *c)
{
    if (!c) return;
    for (int i = 0; i < LAYERS; i++) lt_free(c->conv[i].weight);
    for (int i = 0; i < 3; i++) lt_free(c->map[i]);
    lt_free(c);
}

static int reduced(int side, int stride) { return (side + stride - 1) / stride; }

/* One value: zero padding of half a kernel on each side. */
static double at(const layer *l, const float *x, int side, int o, int oy, int ox)
{
    int pad = l->kernel / 2;
    double sum = 0;
    for (int i = 0; i < l->in; i++)
        for (int ky = 0; ky < l->kernel; ky++) {
            int y = oy * l->stride + ky - pad;
            if (y < 0 || y >= side) continue;
            const float *w = l->weight + (((int64_t)o * l->in + i) * l->kernel + ky) * l->kernel, *row = x + ((int64_t)i * side + y) * side;
            for (int kx = 0; kx < l->kernel; kx++) {
                int xx = ox * l->stride + kx - pad;
                if (xx >= 0 && xx < side) sum += (double)w[kx] * row[xx];
            }
        }
    return sum;
}

/* Convolution and norm, plus what `add` holds (NULL: nothing), then ReLU where asked for. */
static void convolve(const layer *l, const float *x, int side, const float *add, bool relu, float *out)
{
    const double norm = 1 / sqrt(1 + 1e-5);
    int to = reduced(side, l->stride);
    for (int o = 0; o < l->out; o++)
        for (int k = 0; k < to * to; k++) {
            int64_t here = (int64_t)o * to * to + k;
            double v = norm * at(l, x, side, o, k / to, k % to) + (add ? (double)add[here] : 0);
            out[here] = (float)(relu ? fmax(v, 0) : v);
        }
}

static void pool(const float *x, int channels, int side, float *out)
{
    int to = reduced(side, 2);
    for (int k = 0; k < channels * to * to; k++) {
        int c = k / (to * to), oy = k / to % to, ox = k % to;
        float most = 0; /* values are not negative */
        for (int y = LT_MAX(2 * oy - 1, 0); y <= LT_MIN(2 * oy + 1, side - 1); y++)
            for (int xx = LT_MAX(2 * ox - 1, 0); xx <= LT_MIN(2 * ox + 1, side - 1); xx++) most = LT_MAX(most, x[(c * side + y) * side + xx]);
        out[k] = most;
    }
}

static void embed(lt_initial_cnn *c, const float *plane, int side, float *add_to)
{
    convolve(&c->conv[0], plane, side, NULL, true, c->map[1]);
    side = reduced(side, 2);
    pool(c->map[1], STEM, side, c->map[0]);
    side = reduced(side, 2);
    for (int b = 0; b < BLOCKS; b++) {
        const layer *l = &c->conv[1 + 3 * b];
        convolve(&l[0], c->map[0], side, NULL, true, c->map[1]);
        convolve(&l[2], c->map[0], side, NULL, false, c->map[2]);
        side = reduced(side, 2);
        convolve(&l[1], c->map[1], side, c->map[2], true, c->map[0]);
    }
    for (int i = 0; i < LAST; i++) {
        double sum = 0;
        for (int k = 0; k < side * side; k++) sum += c->map[0][i * side * side + k];
        c->map[1][i] = (float)(sum / (side * side));
    }
    convolve(&c->conv[LAYERS - 1], c->map[1], 1, NULL, false, c->map[2]);
    for (int i = 0; i < c->dim; i++) add_to[i] += c->map[2][i] / LT_FIELD_CHANNELS;
}

void lt_initial_cnn_compute(lt_initial_cnn *c, const float *field, int grid, float *out)
{
    memset(out, 0, (size_t)c->dim * sizeof *out);
    for (int k = 0; k < LT_FIELD_CHANNELS; k++) embed(c, field + (int64_t)k * grid * grid, grid, out);
}
