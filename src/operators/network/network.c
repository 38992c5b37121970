/* What an operator is: defaults, checks, counts; and the graph of its step.
   SPDX-License-Identifier: BSD-3-Clause */
#include "operators/network/network.h"

#include "graph/build/build.h"

#include "base/alloc.h"
#include "base/sized.h"
#include "base/status.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define MAX_CHANNELS 4096
#define MAX_GRID 4096

void lt_operator_defaults_into(lt_operator_kind kind, lt_operator_spec *out)
{
    LT_GIVE(out, &(lt_operator_spec){
        .size = sizeof(lt_operator_spec), .kind = kind, .num_layers = 4, .base_channels = 32, .kernel_size = 3, .activation = LT_ACT_GELU,
        .normalization = LT_NORM_INSTANCE, .noise = LT_NOISE_GAUSSIAN, .noise_scale = 0.01, .schedule = LT_SCHEDULE_CONSTANT,
        .schedule_period = 100, .grid = 64, .policy = LT_POLICY_RESIDUAL, .dt = 0.01, .alpha = 0.5,
        .modes = 32, .hidden_dim = 0, .encoder_levels = 3, .afno_blocks = 4, .blocks_per_level = 2,
    });
}

/* ---- Checks -------------------------------------------------------------------------------- */
static lt_status check_int(const char *name, int64_t value, int64_t lo, int64_t hi)
{
    if (value < lo || value > hi)
        return lt_place_option(LT_FAIL(LT_ERR_ARGUMENT, "operator: %s is %lld: expected %lld..%lld", name, (long long)value, (long long)lo, (long long)hi), name);
    return LT_OK;
}

static lt_status check_real(const char *name, double value, bool ok, const char *expected)
{
    return isfinite(value) && ok ? LT_OK : LT_FAIL(LT_ERR_ARGUMENT, "operator: %s is %g: expected %s", name, value, expected);
}

static lt_status check_cnn(const lt_operator_spec *s)
{
    LT_TRY(check_int("num_layers", s->num_layers, 1, LT_MAX_LAYERS));
    LT_TRY(check_int("kernel_size", s->kernel_size, 1, 31));
    if (s->kernel_size % 2 == 0) return LT_FAIL(LT_ERR_ARGUMENT, "operator: kernel_size is %d: expected an odd number", s->kernel_size);
    if (s->circular_padding) LT_TRY(check_int("grid with circular padding", s->grid, s->kernel_size / 2, MAX_GRID));
    return LT_OK;
}

static lt_status check_uafno(const lt_operator_spec *s)
{
    LT_TRY(check_int("encoder_levels", s->encoder_levels, 1, 10));
    LT_TRY(check_int("modes", s->modes, 1, MAX_GRID));
    LT_TRY(check_int("hidden_dim", s->hidden_dim, 0, 16 * MAX_CHANNELS));
    LT_TRY(check_int("afno_blocks", s->afno_blocks, 0, LT_MAX_LAYERS));
    LT_TRY(check_int("blocks_per_level", s->blocks_per_level, 1, LT_MAX_LAYERS));
    if (s->grid % (1 << s->encoder_levels) || s->grid >> s->encoder_levels < 2)
        return LT_FAIL(LT_ERR_ARGUMENT, "operator: grid is %d: expected a multiple of %d (2^encoder_levels), at least %d",
                       s->grid, 1 << s->encoder_levels, 2 << s->encoder_levels);
    return LT_OK;
}

static lt_status check_noise(const lt_operator_spec *s)
{
    LT_TRY(check_real("noise_scale", s->noise_scale, s->noise_scale >= 0, "at least 0"));
    if (s->noise == LT_NOISE_DROPOUT) LT_TRY(check_real("noise_scale of dropout", s->noise_scale, s->noise_scale < 1, "0 <= p < 1"));
    LT_TRY(check_real("schedule_period", s->schedule_period, s->schedule_period > 0, "a positive number of steps"));
    return check_real("spatial_correlation", s->spatial_correlation, s->spatial_correlation >= 0, "at least 0");
}

static lt_status check_policy(const lt_operator_spec *s)
{
    LT_TRY(check_real("dt", s->dt, s->dt > 0, "a positive number"));
    return check_real("alpha", s->alpha, s->alpha >= 0 && s->alpha < 1, "0 <= alpha < 1");
}

static lt_status check_all(const lt_operator_spec *s)
{
    LT_TRY(check_int("kind", s->kind, 0, LT_OPERATOR_KIND_COUNT - 1));
    LT_TRY(check_int("activation", s->activation, 0, LT_ACT_COUNT - 1));
    LT_TRY(check_int("normalization", s->normalization, 0, LT_NORM_COUNT - 1));
    LT_TRY(check_int("noise", s->noise, 0, LT_NOISE_COUNT - 1));
    LT_TRY(check_int("schedule", s->schedule, 0, LT_SCHEDULE_COUNT - 1));
    LT_TRY(check_int("policy", s->policy, 0, LT_POLICY_COUNT - 1));
    LT_TRY(check_int("base_channels", s->base_channels, 1, MAX_CHANNELS));
    LT_TRY(check_int("grid", s->grid, 1, MAX_GRID));
    LT_TRY(s->kind == LT_OPERATOR_CNN ? check_cnn(s) : check_uafno(s));
    LT_TRY(check_noise(s));
    return check_policy(s);
}

lt_status lt_operator_take(const lt_operator_spec *from, lt_operator_spec *to)
{
    if (!from) return LT_FAIL(LT_ERR_ARGUMENT, "operator: the specification is NULL");
    *to = lt_operator_defaults(LT_OPERATOR_CNN);
    LT_TRY(LT_TAKE(lt_operator_spec, from, to));
    return check_all(to);
}

lt_status lt_operator_check(const lt_operator_spec *spec)
{
    lt_operator_spec own = { .size = sizeof own };
    return lt_operator_take(spec, &own);
}

/* ---- Widths ---------------------------------------------------------------------------------- */
int64_t lt_cnn_width(const lt_operator_spec *s, int block) { return (int64_t)s->base_channels << LT_MIN(block, 2); }

int64_t lt_uafno_width(const lt_operator_spec *s, int level) { return (int64_t)s->base_channels << LT_MIN(level + 1, 3); }

int64_t lt_uafno_hidden(const lt_operator_spec *s)
{
    return s->hidden_dim ? s->hidden_dim : 2 * lt_uafno_width(s, s->encoder_levels - 1);
}

int64_t lt_group_count(int64_t channels)
{
    int64_t groups = LT_MIN(channels, 32);
    while (channels % groups) groups--;
    return groups;
}

lt_noise_shape lt_network_noise(const lt_operator_spec *s)
{
    bool cnn = s->kind == LT_OPERATOR_CNN;
    lt_noise_shape n = { .channels = cnn ? lt_cnn_width(s, s->num_layers - 1) : LT_FIELD_CHANNELS };
    if (s->noise == LT_NOISE_NONE) return n;
    bool factor = s->noise == LT_NOISE_MULTIPLICATIVE || s->noise == LT_NOISE_DROPOUT;
    n.by_channel = s->noise == LT_NOISE_DROPOUT;
    /* Spinlock applies the correlation to U-AFNO only. */
    n.correlated = !n.by_channel && s->spatial_correlation > 0 && (s->full_noise || !cnn);
    if (!cnn) {
        n.site = factor ? LT_SITE_OUTPUT_FACTOR : LT_SITE_OUTPUT;
    } else if (s->noise == LT_NOISE_GAUSSIAN && !n.correlated) {
        /* Noise before a linear map W is normal behind it, with covariance s^2 W W'. */
        n.site = LT_SITE_OUTPUT, n.mixed = true, n.channels = LT_FIELD_CHANNELS;
    } else {
        n.site = factor ? LT_SITE_MAP_FACTOR : LT_SITE_MAP;
    }
    return n;
}

/* ---- The graph of a step ----------------------------------------------------------------------- */
lt_node lt_network_tensor_next(lt_network *n, const char *prefix, const char *suffix, lt_shape shape,
                               lt_tensor_init init, double scale)
{
    if (n->n_tensors == n->capacity) {
        int capacity = n->capacity ? 2 * n->capacity : 64;
        lt_network_tensor *t = lt_realloc(n->tensor, (size_t)capacity * sizeof *t);
        if (!t) return lt_graph_fail(n->graph, LT_ERR_MEMORY); /* recorded as a lack of memory; otherwise a missing tensor would be reported */
        n->tensor = t;
        n->capacity = capacity;
    }
    lt_network_tensor *t = &n->tensor[n->n_tensors++];
    *t = (lt_network_tensor){ .shape = shape, .init = init, .scale = (float)scale, .count = lt_shape_count(&shape), .offset = n->n_floats };
    snprintf(t->name, sizeof t->name, "%s%s", prefix, suffix);
    n->n_floats += (t->count + 15) / 16 * 16; /* whole cache lines */
    return t->node = lt_input(n->graph, t->name, LT_F32, shape);
}

void lt_network_tap_add(lt_network *n, lt_tap_kind kind, int index, const char *name, lt_node node)
{
    lt_network_tap *t = &n->tap[n->n_taps++];
    *t = (lt_network_tap){ .kind = kind, .index = index, .node = node };
    snprintf(t->name, sizeof t->name, "%s", name);
}

static lt_shape noise_shape(const lt_network *n, const lt_noise_shape *at)
{
    int64_t side = at->by_channel ? 1 : n->spec.grid;
    return lt_shape4(n->batch, at->channels, side, side);
}

static lt_status build(lt_network *n)
{
    lt_graph *g = n->graph;
    const lt_operator_spec *s = &n->spec;
    lt_noise_shape at = lt_network_noise(s);
    lt_node state = lt_input(g, "state", LT_F32, lt_shape4(n->batch, LT_FIELD_CHANNELS, s->grid, s->grid));
    lt_node noise = n->noise = lt_input(g, "noise", LT_F32, noise_shape(n, &at));
    lt_node keep = lt_input(g, "keep", LT_F32, lt_shape4(1, 1, 1, 1)), gain = lt_input(g, "gain", LT_F32, lt_shape4(1, 1, 1, 1));
    lt_node x = lt_permute(g, state, (int[]){ 0, 2, 3, 1 });
    lt_node out = s->kind == LT_OPERATOR_CNN ? lt_network_cnn(n, x, noise) : lt_network_uafno(n, x);
    n->output = out = lt_permute(g, out, (int[]){ 0, 3, 1, 2 });
    if (at.site == LT_SITE_OUTPUT) out = lt_add(g, out, noise);
    else if (at.site == LT_SITE_OUTPUT_FACTOR) out = lt_mul(g, out, noise);
    n->next = lt_add(g, lt_mul(g, state, keep), lt_mul(g, out, gain));
    return lt_graph_status(g);
}

lt_status lt_network_create_batch(const lt_operator_spec *spec, int64_t batch, lt_network *out)
{
    *out = (lt_network){ .spec = *spec, .batch = batch };
    lt_status s = lt_graph_create(&out->graph);
    if (!s) s = build(out);
    if (s) lt_network_release(out);
    return s;
}

lt_status lt_network_create(const lt_operator_spec *spec, lt_network *out) { return lt_network_create_batch(spec, 1, out); }

void lt_network_drop_graph(lt_network *n)
{
    lt_graph_destroy(n->graph);
    n->graph = NULL;
}

void lt_network_release(lt_network *n)
{
    lt_network_drop_graph(n);
    lt_free(n->tensor);
    *n = (lt_network){ 0 };
}

/* ---- Counts --------------------------------------------------------------------------------------- */
int64_t lt_operator_parameter_count(const lt_operator_spec *spec)
{
    lt_network n;
    lt_operator_spec own = { .size = sizeof own };
    if (lt_operator_take(spec, &own) || lt_network_create(&own, &n)) return -1;
    int64_t count = n.n_unread;
    for (int i = 0; i < n.n_tensors; i++) count += n.tensor[i].count;
    lt_network_release(&n);
    return count;
}

double lt_operator_flops(const lt_operator_spec *spec)
{
    lt_network n;
    lt_operator_spec own = { .size = sizeof own };
    if (lt_operator_take(spec, &own) || lt_network_create(&own, &n)) return NAN;
    double flops = n.flops;
    lt_network_release(&n);
    return flops;
}
