/* Finding an engine of cuDNN for an operation graph. SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/cuda/conv/cudnn_graph.h"

#include "base/status.h"

#include <stdio.h>
#include <string.h>

#define WORKSPACE_LIMIT_BYTES ((size_t)1 << 30)
enum { MAX_NOTES = 16, MAX_KNOBS = 24, NAME_TEXT = LT_CUDA_VARIANT_TEXT - 8 }; /* of a name: with room for what callers put before it */

/* Looks for one configuration, or writes the names of all that are welcome. */
typedef struct plan_search {
    lt_cudnn_maker  m;
    lt_cudnn_handle handle;
    lt_op           op;
    lt_dtype        type;
    bool            tf32;           /* operands are numbers of TF32 already */
    const char     *wanted;         /* the name of the one to take; NULL: the first that works */
    char          (*name)[LT_CUDA_VARIANT_TEXT]; /* NULL: a plan is wanted */
    int             n_names, max_names;
    lt_cudnn_descriptor plan;
    size_t          workspace_bytes;
} plan_search;

/* ---- One configuration ------------------------------------------------------------------------------ */
/* Everything but plain arithmetic is refused: engines that round f32 inputs (which is all tensor cores can do
   with f32, welcome where operands are numbers of TF32), add up in less than f32, go through Winograd's or Fourier's transform, or change
   bits from run to run. */
static bool is_refused(int note, lt_dtype t, bool tf32)
{
    if (note == LT_CUDNN_NUMERICAL_NOTE_STRICT_NAN_PROP || (tf32 && note == LT_CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS)) return false;
    return note != LT_CUDNN_NUMERICAL_NOTE_TENSOR_CORE || (t == LT_F32 && !tf32);
}

/* Engines that transform without a note that says so: seen with cuDNN 9.14, whose engine 17 for weight gradients
   answers with five digits of f32 (test_ops_conv walks all engines). */
static bool is_refused_engine(lt_op op, int64_t index) { return op == LT_OP_CONV2D_WGRAD && index == 17; }

static bool is_welcome(const plan_search *s, lt_cudnn_descriptor engine, int64_t index)
{
    int note[MAX_NOTES];
    int64_t n = 0;
    if (is_refused_engine(s->op, index)) return false;
    if (s->m.api->cudnnBackendGetAttribute(engine, LT_CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, LT_CUDNN_TYPE_NUMERICAL_NOTE, MAX_NOTES, &n, note)) return false;
    for (int64_t i = 0; i < n && i < MAX_NOTES; i++)
        if (is_refused(note[i], s->type, s->tf32)) return false;
    return true;
}

/* " 2=3": the values of the engine's parameters that the configuration sets. */
static void append_knobs(plan_search *s, lt_cudnn_descriptor config, char *text, size_t at)
{
    const lt_cudnn *api = s->m.api;
    lt_cudnn_descriptor knob[MAX_KNOBS];
    int64_t n = 0, one, value;
    int type, first = s->m.n_made;
    for (int i = 0; i < MAX_KNOBS; i++)
        if (lt_cudnn_create(&s->m, LT_CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR, &knob[i])) return lt_cudnn_drop(&s->m, first);
    if (api->cudnnBackendGetAttribute(config, LT_CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, LT_CUDNN_TYPE_BACKEND_DESCRIPTOR, MAX_KNOBS, &n, knob)) n = 0;
    for (int64_t i = 0; i < n && i < MAX_KNOBS && at < NAME_TEXT; i++) {
        if (api->cudnnBackendGetAttribute(knob[i], LT_CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, LT_CUDNN_TYPE_KNOB_TYPE, 1, &one, &type)
            || api->cudnnBackendGetAttribute(knob[i], LT_CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, LT_CUDNN_TYPE_INT64, 1, &one, &value)) continue;
        at += (size_t)snprintf(text + at, NAME_TEXT - at, " %d=%lld", type, (long long)value);
    }
    lt_cudnn_drop(&s->m, first);
}

/* The configuration's name; false when its engine is not welcome. */
static bool name_configuration(plan_search *s, lt_cudnn_descriptor config, char text[NAME_TEXT])
{
    const lt_cudnn *api = s->m.api;
    lt_cudnn_descriptor engine;
    int64_t n = 0, index = 0;
    int first = s->m.n_made;
    bool good = !lt_cudnn_create(&s->m, LT_CUDNN_BACKEND_ENGINE_DESCRIPTOR, &engine)
        && !api->cudnnBackendGetAttribute(config, LT_CUDNN_ATTR_ENGINECFG_ENGINE, LT_CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &n, &engine)
        && !api->cudnnBackendGetAttribute(engine, LT_CUDNN_ATTR_ENGINE_GLOBAL_INDEX, LT_CUDNN_TYPE_INT64, 1, &n, &index) && is_welcome(s, engine, index);
    lt_cudnn_drop(&s->m, first);
    if (!good) return false;
    append_knobs(s, config, text, (size_t)snprintf(text, NAME_TEXT, "e%lld", (long long)index));
    return true;
}

/* A plan of this configuration; none when it cannot run the problem. */
static void try_plan(plan_search *s, lt_cudnn_descriptor config)
{
    const lt_cudnn *api = s->m.api;
    lt_cudnn_descriptor plan;
    int64_t n = 0, bytes = 0;
    if (api->cudnnBackendCreateDescriptor(LT_CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, &plan)) return;
    unsigned r = api->cudnnBackendSetAttribute(plan, LT_CUDNN_ATTR_EXECUTION_PLAN_HANDLE, LT_CUDNN_TYPE_HANDLE, 1, &s->handle);
    if (!r) r = api->cudnnBackendSetAttribute(plan, LT_CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, LT_CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &config);
    if (!r) r = api->cudnnBackendFinalize(plan);
    if (!r) r = api->cudnnBackendGetAttribute(plan, LT_CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, LT_CUDNN_TYPE_INT64, 1, &n, &bytes);
    if (!r && (size_t)bytes <= WORKSPACE_LIMIT_BYTES) {
        s->plan = plan;
        s->workspace_bytes = (size_t)bytes;
        return;
    }
    (void)api->cudnnBackendDestroyDescriptor(plan);
}

/* ---- All of them -------------------------------------------------------------------------------------- */
static void note_name(plan_search *s, const char *text)
{
    for (int i = 0; i < s->n_names; i++)
        if (strcmp(s->name[i], text) == 0) return;
    if (s->n_names < s->max_names) memcpy(s->name[s->n_names++], text, strlen(text) + 1);
}

static lt_status walk(plan_search *s, lt_cudnn_descriptor graph, unsigned mode)
{
    lt_cudnn_descriptor heuristic, config[LT_CUDNN_MAX_CONFIGS];
    int64_t n = 0;
    int first = s->m.n_made;
    LT_TRY(lt_cudnn_create(&s->m, LT_CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, &heuristic));
    LT_TRY(lt_cudnn_set(&s->m, heuristic, LT_CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, LT_CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &graph));
    LT_TRY(lt_cudnn_set(&s->m, heuristic, LT_CUDNN_ATTR_ENGINEHEUR_MODE, LT_CUDNN_TYPE_HEUR_MODE, 1, &mode));
    LT_TRY(lt_cudnn_finalize(&s->m, heuristic, "heuristic"));
    for (int i = 0; i < LT_CUDNN_MAX_CONFIGS; i++) LT_TRY(lt_cudnn_create(&s->m, LT_CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, &config[i]));
    unsigned r = s->m.api->cudnnBackendGetAttribute(heuristic, LT_CUDNN_ATTR_ENGINEHEUR_RESULTS, LT_CUDNN_TYPE_BACKEND_DESCRIPTOR, LT_CUDNN_MAX_CONFIGS, &n, config);
    if (r) return lt_cudnn_failed(s->m.api, r, "heuristic");
    for (int64_t i = 0; i < n && i < LT_CUDNN_MAX_CONFIGS && !s->plan; i++) {
        char text[NAME_TEXT];
        if (!name_configuration(s, config[i], text)) continue;
        if (s->name) note_name(s, text);
        else if (!s->wanted || strcmp(s->wanted, text) == 0) try_plan(s, config[i]);
    }
    lt_cudnn_drop(&s->m, first);
    return LT_OK;
}

static lt_status look(plan_search *s, const lt_cudnn_problem *p)
{
    lt_cudnn_descriptor graph;
    lt_status status = lt_cudnn_describe(&s->m, s->handle, p, &graph);
    bool described = !status;
    if (described) status = walk(s, graph, LT_CUDNN_HEUR_MODE_A);
    if (described && !s->plan && (!status || status == LT_ERR_UNSUPPORTED)) status = walk(s, graph, LT_CUDNN_HEUR_MODE_FALLBACK);
    lt_cudnn_drop(&s->m, 0);
    return status;
}

int lt_cudnn_configurations(const lt_cudnn *api, lt_cudnn_handle handle, const lt_cudnn_problem *p, char (*name)[LT_CUDA_VARIANT_TEXT], int max)
{
    plan_search s = { .m.api = api, .handle = handle, .op = p->key->op, .type = p->key->out.dtype, .tf32 = p->key->attr->u.conv.tf32, .name = name, .max_names = max };
    return look(&s, p) ? 0 : s.n_names;
}

lt_status lt_cudnn_plan(const lt_cudnn *api, lt_cudnn_handle handle, const lt_cudnn_problem *p, const char *name, lt_cudnn_descriptor *plan,
                        size_t *workspace_bytes)
{
    plan_search s = { .m.api = api, .handle = handle, .op = p->key->op, .type = p->key->out.dtype, .tf32 = p->key->attr->u.conv.tf32, .wanted = name };
    LT_TRY(look(&s, p));
    *plan = s.plan;
    *workspace_bytes = s.workspace_bytes;
    if (s.plan) return LT_OK;
    return LT_FAIL(LT_ERR_UNSUPPORTED, "cuDNN: no engine%s%s for %s%s of %s%s", name ? " " : "", name ? name : "", lt_op_name(p->key->op),
                   p->chain ? " and what follows it" : "", lt_dtype_name(p->key->out.dtype), lt_shape_str(&p->key->out.shape).s);
}
