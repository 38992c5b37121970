/* The options of Gram matrices: one row each. SPDX-License-Identifier: BSD-3-Clause */
#include "lathe/gram.h"

#include "base/sized.h"
#include "base/status.h"

#include <math.h>

static const char *const embed_names[] = { "ry", "ryrz", "angle", NULL };
static const char *const entangler_names[] = { "basic", "strong", NULL };
static const char *const method_names[] = { "auto", "states", "product", "transfer", NULL };
static const char *const float_names[] = { "float64", "float32", "float16", NULL };
static const char *const result_names[] = { "float64", "float32", NULL }; /* types of K: the first of the precisions */
_Static_assert(LT_LEN(embed_names) == LT_EMBED_COUNT + 1, "one name per embedding");
_Static_assert(LT_LEN(entangler_names) == LT_ENTANGLER_COUNT + 1, "one name per entangler");
_Static_assert(LT_LEN(method_names) == LT_GRAM_METHOD_COUNT + 1, "one name per method");
_Static_assert(LT_LEN(float_names) == LT_GRAM_FLOAT_COUNT + 1, "one name per precision");

/* float16: h is the half-precision number nearest to x, within u = 2^-11 of it, so by Cauchy and Schwarz an overlap s of states of
   length 1 is off by at most d = 2u + u^2, and |s|^2 by d (2 + d) = 4u + 6u^2 + ... = 1.955e-3; float32's own error comes on top (decision 138). */
static const double bounds[] = { 1e-12, 2e-5, 2e-3 };
_Static_assert(LT_LEN(bounds) == LT_GRAM_FLOAT_COUNT, "one bound per precision");

const char *lt_embed_name(lt_embed e) { return (unsigned)e < LT_EMBED_COUNT ? embed_names[e] : "?"; }
const char *lt_entangler_name(lt_entangler e) { return (unsigned)e < LT_ENTANGLER_COUNT ? entangler_names[e] : "?"; }
const char *lt_gram_method_name(lt_gram_method m) { return (unsigned)m < LT_GRAM_METHOD_COUNT ? method_names[m] : "?"; }
const char *lt_gram_float_name(lt_gram_float f) { return (unsigned)f < LT_GRAM_FLOAT_COUNT ? float_names[f] : "?"; }
double lt_gram_float_bound(lt_gram_float f) { return (unsigned)f < LT_GRAM_FLOAT_COUNT ? bounds[f] : NAN; }

#define G lt_gram_options
static const lt_option rows[] = {
    LT_OPTION_ENUM(G, embed_mode, "embed", "ryrz", embed_names, "embedding of a feature: RY, RY then RZ, or RY under its other name"),
    LT_OPTION_REAL(G, angle_scale, "angle-scale", "1", LT_RANGE_ANY, "S", "angles are features times S"),
    LT_OPTION_BOOL(G, re_embed_between_layers, "re-embed", "false", "embed the features before every layer, not only the first"),
    LT_OPTION_ENUM(G, entangler, "entangler", "basic", entangler_names, "layers: RX and a ring, or three rotations and rings of growing range"),
    LT_OPTION_ENUM(G, method, "method", "auto", method_names, "state vectors, or a closed form where it is exact"),
    LT_OPTION_ENUM(G, dtype, "dtype", "float64", float_names,
                   "precision of states and products; float16 (errors below 2e-3): states as float32, products of half numbers, on a GPU only"),
    LT_OPTION_ENUM(G, return_dtype, "return-dtype", "float64", result_names, "element type of K"),
    LT_OPTION_BOOL(G, symmetric, "symmetric", "true", "without Y, compute one half and mirror it"),
    LT_OPTION_BOOL(G, packed, "packed", "false", "without Y, K as its upper triangle, row by row"),
    LT_OPTION_BOOL(G, normalize, "normalize", "false", "divide by the square roots of the diagonal"),
    LT_OPTION_REAL(G, jitter, "jitter", "0", LT_AT_LEAST(0), "J", "added to the diagonal before normalising"),
    LT_OPTION_INT(G, tile_size, "tile-size", "128", LT_RANGE_CLOSED(1, 65536), "N", "columns of K a task computes"),
    LT_OPTION_INT(G, state_tile, "state-tile", "-1", LT_AT_LEAST(-1), "N", "rows of states held at once when not all are; -1 = by memory"),
    LT_OPTION_BOOL(G, precompute_all_states, "precompute", "true", "hold all states when they fit"),
    LT_OPTION_REAL(G, vram_fraction, "vram-fraction", "0.95", LT_RANGE_OPEN_LO(0, 1), "F", "share of the device's free memory to use"),
    LT_OPTION_BOOL(G, autotune, "autotune", "true", "prefer stored timings to what is built in: method auto, shapes of a GPU's tiles"),
    LT_OPTION_BOOL(G, dynamic_batch, "dynamic-batch", "false", "when not all states fit, change how many are held as memory and times allow"),
    LT_OPTION_BOOL(G, learn_tiles, "learn-tiles", "true", "remember which tiles were fast on this device, and use them where none are given"),
    LT_OPTION_BOOL(G, profile_memory, "profile-memory", "false", "record memory, transfers and kernel times"),
    LT_OPTION_BOOL(G, repair, "repair", "false", "replace numbers that are not finite (NaN and -Inf by 0, +Inf by 1) and count them, instead of failing"),
    LT_OPTION_INT(G, n_workers, "workers", "0", LT_RANGE_CLOSED(0, 4096), "N", "threads; 0 = all the device has"),
    LT_OPTION_INT(G, streams, "streams", "2", LT_RANGE_CLOSED(1, 9), "N", "GPU: 1 all in order, 2 K is copied to the host beside computing, more compute side by side"),
    LT_OPTION_BOOL(G, pinned, "pinned", "true", "GPU: page-locked memory for X and K on their way"),
    LT_OPTION_INT(G, sync_interval, "sync-interval", "32", LT_AT_LEAST(0), "N", "GPU: the host waits after N launches; 0 = never before the end"),
    LT_OPTION_BOOL(G, cuda_graphs, "cuda-graphs", "false", "GPU: repeated small calls are captured once and replayed"),
};
#undef G
static const lt_option_group groups[] = { { .rows = rows, .n_rows = LT_LEN(rows) } };
static const lt_option_table table = { .program = "gram", .summary = "Options of Gram matrices", .groups = groups, .n_groups = 1 };

const lt_option_table *lt_gram_options_table(void) { return &table; }

void lt_gram_defaults_into(lt_gram_options *out)
{
    lt_gram_options opt = { .size = sizeof opt };
    (void)lt_options_defaults(&table, &opt); /* fails only on a bad row, which a test would show */
    LT_GIVE(out, &opt);
}
