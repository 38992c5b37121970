/* The networks behind operators, as graphs: one walk over an architecture makes the graph of a step
   and the list of its tensors. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_OPERATORS_NETWORK_NETWORK_H
#define LT_OPERATORS_NETWORK_NETWORK_H

#include "lathe/graph.h"
#include "lathe/operator.h"

#define LT_NORM_EPSILON 1e-5

typedef enum lt_tensor_init { LT_INIT_UNIFORM, LT_INIT_NORMAL, LT_INIT_ONE, LT_INIT_ZERO } lt_tensor_init;

typedef struct lt_network_tensor {
    char           name[56];      /* as in weights files */
    lt_shape       shape;         /* PyTorch's */
    lt_tensor_init init;
    float          scale;         /* uniform in +-scale; normal times scale */
    int64_t        count, offset; /* elements; where it starts in the block of weights, in floats */
    lt_node        node;          /* of the graph, while there is one */
} lt_network_tensor;

/* Maps inside a network that learned features use. A program that does not use them does not pay for them. */
typedef enum lt_tap_kind { LT_TAP_EARLY, LT_TAP_MID, LT_TAP_PRE_OUTPUT, LT_TAP_BOTTLENECK, LT_TAP_SKIP } lt_tap_kind;
typedef struct lt_network_tap {
    lt_tap_kind kind;
    int         index;            /* of the block or level, from 0 */
    char        name[16];         /* "early", "mid_1", …, "pre_output"; "bottleneck", "skip_0", … */
    lt_node     node;             /* [batch, h, w, c] */
} lt_network_tap;
enum { LT_MAX_LAYERS = 64, LT_MAX_TAPS = LT_MAX_LAYERS + 2 };

/* Where noise enters a step, and how. It is drawn outside the graph. */
typedef enum lt_noise_site {
    LT_SITE_NONE,
    LT_SITE_OUTPUT,         /* added to the three output channels */
    LT_SITE_OUTPUT_FACTOR,  /* multiplies them */
    LT_SITE_MAP,            /* added to the map before the output convolution */
    LT_SITE_MAP_FACTOR,     /* multiplies it */
} lt_noise_site;

typedef struct lt_noise_shape {
    lt_noise_site site;
    bool          by_channel;     /* one number per channel instead of one per element */
    bool          mixed;          /* three normals per pixel, mixed by a 3x3 factor: stands for noise on the map */
    bool          correlated;     /* white noise is smoothed and scaled before use */
    int64_t       channels;       /* of the place where it enters */
} lt_noise_shape;

lt_noise_shape lt_network_noise(const lt_operator_spec *spec);

/* Inputs of a step's graph, before the tensors in the order of the list. */
enum { LT_STEP_STATE, LT_STEP_NOISE, LT_STEP_KEEP, LT_STEP_GAIN, LT_STEP_TENSORS };

/* X' = keep X + gain O(X), for `batch` independent samples [batch, 3, G, G]. On the CPU the batch is 1, and each sample has its own noise. */
typedef struct lt_network {
    lt_operator_spec   spec;
    int64_t            batch;
    lt_graph          *graph;
    lt_node            next;         /* X' */
    lt_node            noise;        /* input LT_STEP_NOISE */
    lt_node            output;       /* O(X) without noise added to or multiplied with it */
    int                n_taps;
    lt_network_tap     tap[LT_MAX_TAPS];
    int                n_tensors, capacity;
    lt_network_tensor *tensor;
    int64_t            n_floats;     /* of the block of weights */
    int64_t            n_unread;     /* parameters PyTorch would hold and never read */
    double             flops;        /* of one sample and step; a multiply-add is 2 */
} lt_network;

/* A specification of the caller, whole and checked. */
lt_status lt_operator_take(const lt_operator_spec *from, lt_operator_spec *to);

/* spec must have passed lt_operator_check. */
lt_status lt_network_create(const lt_operator_spec *spec, lt_network *out); /* of one sample */
lt_status lt_network_create_batch(const lt_operator_spec *spec, int64_t batch, lt_network *out);
void      lt_network_release(lt_network *n); /* graph and list; safe on a zeroed one */
/* The graph is no longer needed once compiled. */
void      lt_network_drop_graph(lt_network *n);

/* Width of the map before the output convolution; c(i) of the CNN. */
int64_t lt_cnn_width(const lt_operator_spec *spec, int block);
int64_t lt_uafno_width(const lt_operator_spec *spec, int level);  /* after encoder level; -1: of the stem */
int64_t lt_uafno_hidden(const lt_operator_spec *spec);
/* Groups of a group normalisation: the largest divisor of channels that is at most 32. */
int64_t lt_group_count(int64_t channels);

/* ---- Walking (network_*.c) ------------------------------------------------------------- */
/* Maps between blocks are [batch, h, w, c]. */
int64_t lt_network_channels(const lt_network *n, lt_node x);
/* The next tensor of the list, as an input of the graph. */
lt_node lt_network_tensor_next(lt_network *n, const char *prefix, const char *suffix, lt_shape shape,
                               lt_tensor_init init, double scale);
void    lt_network_tap_add(lt_network *n, lt_tap_kind kind, int index, const char *name, lt_node node);
lt_node lt_network_conv(lt_network *n, const char *name, lt_node x, int64_t out, int64_t kernel, int64_t stride, bool bias);
lt_node lt_network_conv_block(lt_network *n, const char *name, lt_node x, int64_t out, int64_t kernel, int64_t stride);
lt_node lt_network_residual_block(lt_network *n, const char *name, lt_node x, int64_t out, int64_t kernel);
lt_node lt_network_normalise(lt_network *n, const char *name, lt_node x, int64_t groups);
lt_node lt_network_activate(lt_network *n, lt_node x);
lt_node lt_network_cnn(lt_network *n, lt_node x, lt_node noise);
lt_node lt_network_uafno(lt_network *n, lt_node x);

#endif
