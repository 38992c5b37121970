/* Making rollouts on a device: memory, kernels, recorded sequences, and what changes from operator to operator.
   SPDX-License-Identifier: BSD-3-Clause */
#include "operators/rollout/device/parts.h"

#include "base/alloc.h"
#include "base/status.h"
#include "graph/program/program.h"
#include "lathe/rng.h"

#include <string.h>

#define RING_BYTES ((size_t)512 << 20) /* of states on the device, beyond two */
enum { MAX_REALIZATIONS = 65535 / LT_FIELD_CHANNELS }; /* rows of a launch */
enum { AHEAD_FLOATS = 4 << 20 }; /* of noise drawn for a whole sequence */

/* ---- Sizes ---- */

static lt_status set_sizes(lt_device_rollout *e)
{
    int64_t m = e->opt.realizations, pixels = (int64_t)e->spec.grid * e->spec.grid, field = LT_FIELD_CHANNELS * pixels;
    const lt_noise_shape at = e->noise_at = lt_network_noise(&e->spec);
    int64_t count = at.site == LT_SITE_NONE ? 0 : at.channels * (at.by_channel ? 1 : pixels);
    if (m > MAX_REALIZATIONS || (at.correlated && m * at.channels > 65535))
        return LT_FAIL(LT_ERR_ARGUMENT, "rollout: %lld realizations on %s: expected at most %d", (long long)m, e->dev->id,
                       at.correlated ? (int)(65535 / at.channels) : MAX_REALIZATIONS);
    e->state_bytes = (size_t)lt_state_stride(m, e->spec.grid) * sizeof(float);
    e->k = e->opt.steps_per_launch ? e->opt.steps_per_launch : LT_USUAL_STEPS_PER_LAUNCH;
    e->k = LT_MAX(1, LT_MIN(e->k, e->opt.steps - 1));
    while (e->k > 1 && 2 * (size_t)e->k * e->state_bytes > RING_BYTES) e->k--;
    e->job = (lt_rollout_job){ .clamp_lo = (float)e->opt.clamp_lo, .clamp_hi = (float)e->opt.clamp_hi, .post = (int32_t)e->opt.post,
                               .clamp = e->opt.clamp, .whole_batch = at.correlated && !e->spec.full_noise,
                               .laplace = e->spec.noise == LT_NOISE_LAPLACE, .shift = e->spec.noise == LT_NOISE_MULTIPLICATIVE,
                               .realizations = m, .field = field, .pixels = pixels, .channels = at.channels, .noise_count = count,
                               .steps_per_launch = e->k, .noise_step = (m * count + 63) / 64 * 64, .noise_steps = 1 };
    if (!at.correlated && count && e->job.noise_step * e->k <= AHEAD_FLOATS) e->job.noise_steps = e->k;
    return LT_OK;
}

/* ---- Memory: one piece on the device, one on the host, a ring for states ---- */

/* Cuts a piece; with base NULL it only counts. */
static void *cut(char *base, size_t *used, size_t bytes)
{
    void *p = base ? base + *used : NULL;
    *used += (bytes + 255) / 256 * 256;
    return p;
}

static size_t lay_out_device(lt_device_rollout *e, const lt_network *n, char *base)
{
    size_t used = 0, floats = sizeof(float), m = (size_t)e->opt.realizations, noise = m * (size_t)e->job.noise_count * floats;
    size_t side = (size_t)e->spec.grid;
    bool correlated = e->noise_at.correlated;
    e->ring = cut(base, &used, 2 * (size_t)e->k * e->state_bytes);
    e->weights = cut(base, &used, (size_t)n->n_floats * floats);
    e->tensors = cut(base, &used, (size_t)(n->n_tensors + 1) * sizeof *e->tensors);
    e->noise = cut(base, &used, (size_t)(e->job.noise_step * e->job.noise_steps) * floats + floats);
    e->white = correlated ? cut(base, &used, noise) : NULL;
    e->filter = correlated ? cut(base, &used, side * (side / 2 + 1) * floats) : NULL;
    e->moments = correlated ? cut(base, &used, 2 * m * (size_t)e->job.channels * sizeof(double)) : NULL;
    e->field = cut(base, &used, (size_t)e->job.field * floats);
    e->scale = cut(base, &used, (size_t)e->opt.steps * floats);
    e->device_job = cut(base, &used, sizeof *e->device_job);
    e->failed = cut(base, &used, m * sizeof *e->failed);
    e->steps = cut(base, &used, (size_t)(e->k + 1) * sizeof *e->steps);
    return used;
}

static size_t lay_out_host(lt_device_rollout *e, char *base)
{
    size_t used = 0, m = (size_t)e->opt.realizations, side = (size_t)e->spec.grid;
    e->host_field = cut(base, &used, (size_t)e->job.field * sizeof(float));
    e->host_scale = cut(base, &used, (size_t)e->opt.steps * sizeof(float));
    e->host_filter = e->noise_at.correlated ? cut(base, &used, side * (side / 2 + 1) * sizeof(float)) : NULL;
    e->host_job = cut(base, &used, sizeof *e->host_job);
    e->host_failed = cut(base, &used, m * sizeof(int64_t));
    e->shown = cut(base, &used, m * sizeof(int64_t));
    return used;
}

static lt_status make_memory(lt_device_rollout *e, lt_rollout_info *info)
{
    const lt_network *n = lt_application_network(e->application);
    size_t device = lay_out_device(e, n, NULL);
    size_t m = (size_t)e->opt.realizations, slot = (size_t)e->k * m * (size_t)e->job.field * sizeof(float) + m * sizeof(int64_t);
    LT_TRY(lt_device_alloc(e->dev, e->stream, device, "rollout states", &e->memory));
    (void)lay_out_device(e, n, e->memory);
    LT_TRY(lt_host_memory_create(e->dev, lay_out_host(e, NULL), LT_PIN_ALWAYS, &e->host));
    (void)lay_out_host(e, e->host.at);
    LT_TRY(lt_host_ring_open(e->dev, &(lt_ring_options){ (slot + 255) / 256 * 256, LT_STATE_SLOTS, LT_PIN_ALWAYS, false }, &e->states));
    LT_TRY(lt_host_ring_open(e->dev, &(lt_ring_options){ .n_slots = LT_AHEAD_WITHOUT_STATES }, &e->stays));
    info->state_bytes = (int64_t)device - info->weight_bytes;
    return lt_stream_fill(e->stream, e->memory, 0, device);
}

/* ---- Kernels ---- */

/* Noise filtered in the Fourier domain, all realizations at once; see make_smoothing in operators/rollout/noise.c. */
static lt_status make_smoothing(lt_device_rollout *e)
{
    lt_graph *g;
    int64_t side = e->spec.grid;
    lt_compile_options opt = { .size = sizeof opt, .device = e->dev };
    LT_TRY(lt_graph_create(&g));
    lt_node white = lt_input(g, "white", LT_F32, lt_shape3(e->job.realizations * e->job.channels, side, side));
    lt_node gain = lt_input(g, "gain", LT_F32, lt_shape3(side, side / 2 + 1, 1));
    lt_node y = lt_irfft2(g, lt_mul(g, lt_rfft2(g, white), gain), side);
    lt_status s = lt_program_create_on_device(g, &y, 1, &opt, &e->smooth);
    lt_graph_destroy(g);
    return s;
}

static lt_status list_tensors(lt_device_rollout *e, lt_drawn_tensor *list, int64_t *quads)
{
    const lt_network *n = lt_application_network(e->application);
    *quads = 0;
    for (int i = 0; i < n->n_tensors; i++) {
        const lt_network_tensor *t = &n->tensor[i];
        list[i] = (lt_drawn_tensor){ *quads, t->offset, t->scale, (int32_t)t->init };
        *quads += (t->count + 3) / 4;
    }
    list[n->n_tensors] = (lt_drawn_tensor){ .first_quad = *quads };
    return LT_OK;
}

/* Whether a launch of its own ends a step: fused steps know themselves what is not finite. */
static bool settles(const lt_device_rollout *e)
{
    return !lt_application_ends_steps(e->application) || e->job.post || e->job.clamp;
}

static lt_status make_kernels(lt_device_rollout *e, lt_rollout_info *info)
{
    const lt_network *n = lt_application_network(e->application);
    size_t bytes = (size_t)(n->n_tensors + 1) * sizeof *e->tensors;
    int64_t quads;
    lt_drawn_tensor *list = lt_malloc(bytes);
    if (!list) return LT_ERR_MEMORY;
    e->job.n_tensors = n->n_tensors;
    lt_status s = list_tensors(e, list, &quads);
    if (!s) s = lt_stream_copy(e->stream, e->tensors, list, bytes, LT_TRANSFER_H2D, false);
    if (!s) s = lt_stream_sync(e->stream);
    lt_free(list);
    if (!s) s = lt_rollout_kernels_build(e->dev, &e->job, &e->spec, quads, &e->kernels);
    if (!s && e->noise_at.correlated) s = make_smoothing(e);
    info->kernels_per_step += settles(e) + (e->kernels.noise ? 1 : 0) + (e->smooth ? lt_program_get_info(e->smooth).n_kernels + 2 : 0);
    info->steps_per_launch = e->opt.apart ? 1 : (int)e->k;
    return s;
}

/* ---- Sequences ---- */

static lt_status launch(lt_device_rollout *e, const lt_kernel *k, void **arg) { return lt_stream_launch(e->stream, &(lt_launch){ k, arg }); }

static void *at(const void *p) { return (void *)(uintptr_t)p; }

static lt_status draw_noise(lt_device_rollout *e, const int64_t *t)
{
    const lt_rollout_kernels *k = &e->kernels;
    if (!k->noise) return LT_OK;
    LT_TRY(launch(e, k->noise, (void *[]){ e->device_job, at(t), e->scale, e->smooth ? e->white : e->noise }));
    if (!e->smooth) return LT_OK;
    LT_TRY(lt_program_queue(e->smooth, e->stream, (const void *[]){ e->white, e->filter }, (void *[]){ e->noise }));
    LT_TRY(launch(e, k->moments, (void *[]){ e->device_job, e->noise, e->moments }));
    return launch(e, k->finish, (void *[]){ e->device_job, at(t), e->scale, e->moments, e->noise });
}

/* With noise that is drawn. */
static lt_status step(lt_device_rollout *e, const float *from, const float *noise, float *to, const int64_t *t)
{
    LT_TRY(lt_application_step(e->application, e->stream, from, noise, e->device_job->policy, to, (lt_step_end){ t, e->failed }));
    return settles(e) ? launch(e, e->kernels.settle, (void *[]){ e->device_job, at(t), to, e->failed }) : LT_OK;
}

/* What comes first, X_0 or a snapshot, has nothing before it. */
lt_status lt_device_rollout_show(lt_device_rollout *e, int64_t first, int64_t n, const int64_t *t)
{
    int64_t all = 2 * e->k, before = t == e->steps + e->k ? first : (first + all - 1) % all;
    if (!e->has_reader) return LT_OK;
    return e->reader.states(e->reader.ctx, e->stream, &(lt_state_view){ n, lt_ring_state(e, first), lt_ring_state(e, before), t, e->failed });
}

lt_status lt_device_rollout_step(lt_device_rollout *e, const float *from, float *to, const int64_t *t)
{
    LT_TRY(draw_noise(e, t));
    return step(e, from, e->noise, to, t);
}

/* Small noise is drawn for all steps of a sequence at once: a launch takes longer than the drawing. */
typedef struct half_ring { lt_device_rollout *e; int64_t half; } half_ring;

static lt_status queue_half(void *ctx, lt_stream *st)
{
    lt_device_rollout *e = ((half_ring *)ctx)->e;
    int64_t first = ((half_ring *)ctx)->half * e->k;
    (void)st; /* the rollout's own */
    if (e->kernels.noises) LT_TRY(launch(e, e->kernels.noises, (void *[]){ e->device_job, at(e->steps), e->scale, e->noise }));
    for (int64_t i = 0; i < e->k; i++) {
        const float *from = lt_ring_state(e, (first + i + 2 * e->k - 1) % (2 * e->k));
        float *to = lt_ring_state(e, first + i);
        if (e->kernels.noises) LT_TRY(step(e, from, e->noise + i * e->job.noise_step, to, e->steps + i));
        else LT_TRY(lt_device_rollout_step(e, from, to, e->steps + i));
    }
    LT_TRY(lt_device_rollout_show(e, first, e->k, e->steps));
    return launch(e, e->kernels.advance, (void *[]){ e->device_job, e->steps });
}

/* Records both sequences anew. */
static lt_status record_both(lt_device_rollout *e)
{
    int64_t sequences = (e->opt.steps - 1) / e->k; /* what is left over runs step by step */
    for (int64_t half = 0; half < 2; half++) {
        lt_recording_drop(&e->sequence[half]);
        if (!e->opt.apart && sequences > half) LT_TRY(lt_recording_make(&e->sequence[half], e->stream, queue_half, &(half_ring){ e, half }));
    }
    return LT_OK;
}

/* ---- Creating ---- */

/* For activations. */
static int64_t budget(const lt_rollout_options *opt, int64_t available) { return opt->memory_bytes ? opt->memory_bytes : available / 2; }

lt_status lt_device_rollout_plan(const lt_operator_spec *spec, const lt_rollout_options *opt, int64_t available, bool graphs, lt_rollout_need *out)
{
    lt_device_rollout e = { .dev = opt->device, .opt = *opt, .spec = *spec };
    lt_network network;
    LT_TRY(set_sizes(&e));
    lt_application_request q = { .dev = e.dev, .spec = spec, .opt = opt, .budget_bytes = budget(opt, available) };
    *out = (lt_rollout_need){ 0 };
    LT_TRY(lt_application_need(&q, graphs, &out->exact, &out->step_bytes));
    if (!out->exact && !graphs) return LT_OK;
    LT_TRY(lt_network_create(spec, &network));
    out->state_bytes = (int64_t)lay_out_device(&e, &network, NULL);
    lt_network_release(&network);
    return LT_OK;
}

static lt_status create(lt_device_rollout *e, lt_rollout_info *info)
{
    lt_application_request q = { .dev = e->dev, .spec = &e->spec, .opt = &e->opt };
    int64_t available;
    LT_TRY(set_sizes(e));
    LT_TRY(lt_stream_create(e->dev, &e->stream));
    LT_TRY(lt_stream_create(e->dev, &e->copies));
    lt_event **event[] = { &e->uploaded, &e->begun, &e->computed, &e->done };
    for (size_t i = 0; i < LT_LEN(event); i++) LT_TRY(lt_event_create(e->dev, event[i]));
    LT_TRY(lt_device_available_memory(e->dev, &available));
    q.budget_bytes = budget(&e->opt, available);
    LT_TRY(lt_application_create(&q, &e->application, info));
    LT_TRY(make_memory(e, info));
    LT_TRY(make_kernels(e, info));
    /* Programs took their memory on the device's own stream; what is held must be made before it is recorded. */
    LT_TRY(lt_event_record(e->done, lt_device_stream(e->dev)));
    LT_TRY(lt_event_wait(e->stream, e->done));
    LT_TRY(lt_application_set_weights(e->application, e->stream, e->weights));
    return record_both(e);
}

lt_status lt_device_rollout_settle(lt_device *dev, lt_precision precision, lt_step_choice *out)
{
    lt_wanted_step wanted;
    bool measured = lt_fused_cnn_measured(dev, precision), taken = true;
    *out = (lt_step_choice){ .kind = "" };
    LT_TRY(lt_fused_wanted_step(&wanted));
    if (wanted == LT_STEP_GRAPH) snprintf(out->reason, sizeof out->reason, "LATHE_CUDA_STEP is graph");
    else if (wanted == LT_STEP_AUTO && !measured) LT_TRY(lt_step_trial(dev, precision, true, &taken, out->reason));
    taken &= wanted != LT_STEP_GRAPH;
    snprintf(out->kind, sizeof out->kind, "%s", !taken ? "graph" : measured ? "sm_90" : "mma");
    return LT_OK;
}

lt_status lt_device_rollout_prepare(const lt_operator_spec *spec, const lt_rollout_options *opt)
{
    lt_device_rollout e = { .dev = opt->device, .opt = *opt, .spec = *spec };
    LT_TRY(lt_application_prepare(&(lt_application_request){ .dev = opt->device, .spec = spec, .opt = opt }));
    LT_TRY(set_sizes(&e));
    lt_status s = lt_rollout_kernels_build(e.dev, &e.job, spec, 1, &e.kernels);
    lt_rollout_kernels_destroy(&e.kernels);
    return s;
}

lt_status lt_device_rollout_create(const lt_operator_spec *spec, const lt_rollout_options *opt, const lt_state_reader *reader,
                                   lt_device_rollout **out, lt_rollout_info *info)
{
    *out = NULL;
    lt_device_rollout *e = lt_calloc(1, sizeof *e);
    if (!e) return LT_ERR_MEMORY;
    e->dev = opt->device;
    e->opt = *opt;
    e->spec = *spec;
    e->has_reader = reader != NULL;
    if (reader) e->reader = *reader;
    lt_status s = create(e, info);
    if (s) lt_device_rollout_destroy(e);
    else *out = e;
    return s;
}

void lt_device_rollout_destroy(lt_device_rollout *e)
{
    if (!e) return;
    lt_stream_destroy(e->copies); /* both wait for their work */
    if (e->stream) (void)lt_stream_sync(e->stream);
    for (int half = 0; half < 2; half++) lt_recording_drop(&e->sequence[half]);
    lt_application_destroy(e->application);
    lt_program_destroy(e->smooth);
    lt_rollout_kernels_destroy(&e->kernels);
    if (e->memory) (void)lt_device_free(e->dev, e->stream, e->memory);
    lt_event_destroy(e->uploaded);
    lt_event_destroy(e->begun);
    lt_event_destroy(e->computed);
    lt_event_destroy(e->done);
    lt_stream_destroy(e->stream);
    lt_host_ring_close(&e->states);
    lt_host_ring_close(&e->stays);
    lt_host_memory_release(&e->host);
    lt_free(e);
}

lt_status lt_device_rollout_set_reader(lt_device_rollout *e, const lt_state_reader *reader)
{
    e->has_reader = reader != NULL;
    if (reader) e->reader = *reader;
    return record_both(e);
}

void lt_device_rollout_keep_states(lt_device_rollout *e, bool stay) { e->stay = stay; }

/* ---- Operators ---- */

static void set_key(uint32_t key[2], uint64_t seed, const char *purpose)
{
    lt_draws d = lt_draws_make(seed, purpose, 0, 0, 0);
    memcpy(key, d.key, sizeof d.key);
}

static void fill_job(lt_device_rollout *e, const lt_operator_spec *spec, const lt_operator_weights *w, const float policy[2])
{
    lt_rollout_job *j = &e->job;
    int64_t last = LT_MAX(e->opt.steps - 1, 1);
    set_key(j->noise_key, w->seed, "noise");
    set_key(j->sign_key, w->seed, "noise sign");
    set_key(j->weight_key, w->seed, "weights");
    j->index = (uint32_t)w->index;
    j->index_high = (uint32_t)((uint64_t)w->index >> 32);
    memcpy(j->policy, policy, sizeof j->policy);
    if (e->noise_at.mixed) lt_noise_mix(w, (float (*)[LT_FIELD_CHANNELS])j->mix);
    for (int64_t t = 0; t < e->opt.steps; t++) e->host_scale[t] = (float)lt_noise_scale(spec, t, last);
    if (e->noise_at.correlated) lt_noise_filter(spec, e->host_filter);
    *e->host_job = *j;
}

static lt_status upload(lt_device_rollout *e, void *to, const void *from, size_t bytes)
{
    return lt_stream_copy(e->stream, to, from, bytes, LT_TRANSFER_H2D, e->host.pinned);
}

lt_status lt_device_rollout_set(lt_device_rollout *e, const lt_operator_spec *spec, const lt_operator_weights *w, const float policy[2])
{
    size_t side = (size_t)spec->grid;
    if (e->uploading) LT_TRY(lt_event_sync(e->uploaded)); /* what was set before may still be on its way */
    fill_job(e, spec, w, policy);
    e->uploading = true;
    LT_TRY(upload(e, e->device_job, e->host_job, sizeof *e->host_job));
    LT_TRY(upload(e, e->scale, e->host_scale, (size_t)e->opt.steps * sizeof *e->scale));
    if (e->noise_at.correlated) LT_TRY(upload(e, e->filter, e->host_filter, side * (side / 2 + 1) * sizeof *e->filter));
    LT_TRY(lt_event_record(e->uploaded, e->stream));
    LT_TRY(launch(e, e->kernels.weights, (void *[]){ e->device_job, e->tensors, e->weights }));
    return lt_application_set_weights(e->application, e->stream, e->weights);
}
