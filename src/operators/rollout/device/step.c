/* One application of the operator to all realizations: by fused kernels where they fit (fused.h), else by its
   compiled graph, on as many of them at once as memory allows. SPDX-License-Identifier: BSD-3-Clause */
#include "operators/rollout/device/parts.h"

#include "base/alloc.h"
#include "base/status.h"
#include "device/null/null.h"
#include "graph/program/program.h"
#include "operators/rollout/fused/fused.h"

#include <stdio.h>

struct lt_application {
    lt_network   network;        /* without its graph */
    int64_t      realizations, batch;
    int64_t      field, noise;   /* elements of one realization */
    lt_fused_cnn *fused;         /* NULL: the program runs */
    lt_program  *program;        /* of `batch` realizations */
    const void **input;          /* LT_STEP_TENSORS + n_tensors */
    const float *block;
};

/* ---- Making ---- */

static lt_status compile(lt_application *a, const lt_application_request *q, const lt_compile_options *opt)
{
    lt_network_release(&a->network);
    lt_program_destroy(a->program);
    a->program = NULL;
    LT_TRY(lt_network_create_batch(q->spec, a->batch, &a->network));
    LT_TRY(lt_program_create_on_device(a->network.graph, &a->network.next, 1, opt, &a->program));
    lt_network_drop_graph(&a->network);
    if (!lt_program_can_capture(a->program))
        return LT_FAIL(LT_ERR_UNSUPPORTED, "rollout: %s cannot record the step of this operator", q->dev->id);
    return LT_OK;
}

static lt_status too_large(int64_t needed, const lt_application_request *q)
{
    return LT_FAIL(LT_ERR_MEMORY, "rollout: one realization needs %lld bytes for activations, of %lld allowed", (long long)needed, (long long)q->budget_bytes);
}

static int n_batches(const lt_application *a) { return (int)((a->realizations + a->batch - 1) / a->batch); }

/* Halves the batch until its activations fit. What does not fit even once is refused here, before anything runs. */
static lt_status compile_to_fit(lt_application *a, const lt_application_request *q, const lt_compile_options *opt)
{
    for (;; a->batch = (a->batch + 1) / 2) {
        LT_TRY(compile(a, q, opt));
        int64_t needed = (int64_t)lt_program_get_info(a->program).arena_bytes;
        if (needed <= q->budget_bytes) return LT_OK;
        if (a->batch == 1) return too_large(needed, q);
    }
}

/* Sets *fused, and info->step_reason when it is not. */
static lt_status choose_step(const lt_application_request *q, bool may_try, lt_rollout_info *info, bool *fused)
{
    lt_wanted_step wanted = q->step;
    *fused = false;
    if (wanted == LT_STEP_AUTO) LT_TRY(lt_fused_wanted_step(&wanted));
    if (q->opt->plain_step) snprintf(info->step_reason, sizeof info->step_reason, "the plain step was asked for");
    else if (wanted == LT_STEP_GRAPH) snprintf(info->step_reason, sizeof info->step_reason, "LATHE_CUDA_STEP is graph");
    else if (lt_fused_cnn_fits(q->dev, q->spec, info->precision, info->step_reason)) *fused = true;
    if (!*fused || wanted == LT_STEP_MMA || lt_fused_cnn_measured(q->dev, info->precision)) return LT_OK;
    return lt_step_trial(q->dev, info->precision, may_try, fused, info->step_reason);
}

/* The same for fused steps, whose needs are known before they are made. */
static lt_status fit_fused(const lt_application_request *q, int64_t *batch, int64_t *needed)
{
    for (;; *batch = (*batch + 1) / 2) {
        LT_TRY(lt_fused_cnn_need(q->dev, q->spec, q->opt->precision, *batch, needed));
        if (*needed <= q->budget_bytes) return LT_OK;
        if (*batch == 1) return too_large(*needed, q);
    }
}

static lt_status make_fused(lt_application *a, const lt_application_request *q, lt_rollout_info *info)
{
    int64_t needed;
    LT_TRY(fit_fused(q, &a->batch, &needed));
    LT_TRY(lt_network_create(q->spec, &a->network));
    lt_network_drop_graph(&a->network);
    LT_TRY(lt_fused_cnn_create(q->dev, &a->network, info->precision, a->batch, &a->fused));
    info->arena_bytes = lt_fused_cnn_bytes(a->fused);
    info->kernels_per_step = lt_fused_cnn_kernels(a->fused) * n_batches(a);
    snprintf(info->step, sizeof info->step, "fused");
    return LT_OK;
}

static lt_status make_graph(lt_application *a, const lt_application_request *q, const lt_compile_options *opt, lt_rollout_info *info)
{
    LT_TRY(compile_to_fit(a, q, opt));
    a->input = lt_calloc((size_t)(LT_STEP_TENSORS + a->network.n_tensors), sizeof *a->input);
    if (!a->input) return LT_ERR_MEMORY;
    info->arena_bytes = (int64_t)lt_program_get_info(a->program).arena_bytes;
    info->kernels_per_step = a->program->n_live * n_batches(a);
    snprintf(info->step, sizeof info->step, "graph");
    return LT_OK;
}

static int64_t first_batch(const lt_rollout_options *o) { return o->micro_batch ? LT_MIN(o->micro_batch, o->realizations) : o->realizations; }

static lt_status make(lt_application *a, const lt_application_request *q, lt_rollout_info *info)
{
    lt_compile_options opt = { .size = sizeof opt, .device = q->dev, .skip_passes = q->opt->skip_passes,
                               .held_from = q->opt->forget_weights ? 0 : LT_STEP_TENSORS };
    LT_TRY(lt_rollout_choose_precision(q->dev, q->opt->precision, info, &opt));
    a->realizations = q->opt->realizations;
    a->field = (int64_t)LT_FIELD_CHANNELS * q->spec->grid * q->spec->grid;
    lt_noise_shape at = lt_network_noise(q->spec);
    a->noise = at.site == LT_SITE_NONE ? 0 : at.channels * (at.by_channel ? 1 : (int64_t)q->spec->grid * q->spec->grid);
    a->batch = first_batch(q->opt);
    bool fused;
    LT_TRY(choose_step(q, true, info, &fused));
    LT_TRY(fused ? make_fused(a, q, info) : make_graph(a, q, &opt, info));
    info->micro_batch = a->batch;
    info->weight_bytes = a->network.n_floats * (int64_t)sizeof(float);
    info->flops = a->network.flops * (double)a->realizations;
    return LT_OK;
}

lt_status lt_application_prepare(const lt_application_request *q)
{
    lt_rollout_info info = { .size = sizeof info };
    lt_compile_options opt = { .size = sizeof opt, .device = q->dev };
    LT_TRY(lt_rollout_choose_precision(q->dev, q->opt->precision, &info, &opt));
    bool fused;
    LT_TRY(choose_step(q, false, &info, &fused));
    if (fused) return lt_fused_cnn_prepare(q->dev, q->spec, info.precision, first_batch(q->opt));
    lt_network network = { 0 };
    opt.skip_passes = q->opt->skip_passes;
    LT_TRY(lt_network_create_batch(q->spec, first_batch(q->opt), &network)); /* memory may allow fewer at once, whose texts come then */
    lt_status s = lt_program_note_texts(network.graph, &network.next, 1, &opt);
    lt_network_release(&network);
    return s;
}

/* ---- Planning ---- */

/* Memory of the values between kernels, which every device has; what its own kernels take besides is not known before they are built. */
static int64_t values_bytes(const lt_program *p)
{
    size_t scratch = 0;
    for (int k = 0; k < p->n_steps; k++) scratch = LT_MAX(scratch, p->step[k].kernel->scratch_bytes);
    lt_program_info info = lt_program_get_info(p);
    return (int64_t)info.arena_bytes - (int64_t)info.held_bytes - (int64_t)scratch;
}

/* One realization by its compiled graph, planned on a null device that takes everything. */
static lt_status plan_graph(const lt_application_request *q, lt_compile_options *opt, int64_t *needed)
{
    lt_application a = { .batch = 1 };
    lt_application_request on_null = *q;
    LT_TRY(lt_device_open("null", &on_null.dev));
    lt_null_capacity(on_null.dev, INT64_MAX);
    opt->device = on_null.dev;
    lt_status s = compile(&a, &on_null, opt);
    if (!s) *needed = LT_MAX(values_bytes(a.program), 0);
    lt_program_destroy(a.program);
    lt_network_release(&a.network);
    lt_device_close(on_null.dev);
    if (!s && *needed > q->budget_bytes) s = too_large(*needed, q);
    return s;
}

lt_status lt_application_need(const lt_application_request *q, bool graphs, bool *fused, int64_t *bytes)
{
    lt_rollout_info info = { .size = sizeof info };
    lt_compile_options opt = { .size = sizeof opt, .skip_passes = q->opt->skip_passes, .held_from = LT_STEP_TENSORS };
    int64_t batch = first_batch(q->opt);
    *bytes = 0;
    LT_TRY(lt_rollout_choose_precision(q->dev, q->opt->precision, &info, &opt));
    LT_TRY(choose_step(q, false, &info, fused));
    if (*fused) return fit_fused(q, &batch, bytes);
    return graphs ? plan_graph(q, &opt, bytes) : LT_OK;
}

lt_status lt_application_create(const lt_application_request *q, lt_application **out, lt_rollout_info *info)
{
    *out = NULL;
    lt_application *a = lt_calloc(1, sizeof *a);
    if (!a) return LT_ERR_MEMORY;
    lt_status s = make(a, q, info);
    if (s) lt_application_destroy(a);
    else *out = a;
    return s;
}

void lt_application_destroy(lt_application *a)
{
    if (!a) return;
    lt_fused_cnn_destroy(a->fused);
    lt_program_destroy(a->program);
    lt_network_release(&a->network);
    lt_free(a->input);
    lt_free(a);
}

const lt_network *lt_application_network(const lt_application *a) { return &a->network; }

/* ---- Queueing ---- */

lt_status lt_application_set_weights(lt_application *a, lt_stream *st, const float *block)
{
    if (a->fused) return lt_fused_cnn_set_weights(a->fused, st, block);
    for (int i = 0; i < LT_STEP_TENSORS; i++) a->input[i] = block; /* not read by what follows from weights alone */
    for (int k = 0; k < a->network.n_tensors; k++) a->input[LT_STEP_TENSORS + k] = block + a->network.tensor[k].offset;
    a->block = block;
    return lt_program_queue_held(a->program, st, a->input, (void *[]){ (void *)(uintptr_t)block });
}

bool lt_application_ends_steps(const lt_application *a) { return a->fused; }

/* The last batch ends with the last realization: where they do not divide, a few are computed twice, alike. */
lt_status lt_application_step(lt_application *a, lt_stream *st, const float *state, const float *noise, const float policy[2], float *next, lt_step_end end)
{
    for (int64_t done = 0; done < a->realizations; done += a->batch) {
        int64_t first = LT_MIN(done, a->realizations - a->batch);
        if (a->fused) {
            LT_TRY(lt_fused_cnn_step(a->fused, st, state + first * a->field, a->noise ? noise + first * a->noise : NULL, policy, next + first * a->field,
                                     (lt_step_end){ end.t, end.failed + first }));
            continue;
        }
        a->input[LT_STEP_STATE] = state + first * a->field;
        a->input[LT_STEP_NOISE] = a->noise ? noise + first * a->noise : state;
        a->input[LT_STEP_KEEP] = &policy[0];
        a->input[LT_STEP_GAIN] = &policy[1];
        LT_TRY(lt_program_queue(a->program, st, a->input, (void *[]){ next + first * a->field }));
    }
    return LT_OK;
}
