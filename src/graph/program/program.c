/* Programs: creating, running, describing. SPDX-License-Identifier: BSD-3-Clause */
#include "device/flags.h"
#include "graph/program/program.h"

#include "base/alloc.h"
#include "base/sized.h"
#include "base/status.h"
#include "graph/build/build.h"
#include "trace/clock.h"
#include "trace/trace.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

const char *lt_mode_name(lt_mode m)
{
    static const char *const names[LT_MODE_COUNT] = { "default", "eager", "reduce-overhead", "max-autotune" };
    return (unsigned)m < LT_MODE_COUNT ? names[m] : "?";
}

lt_status lt_default_device(lt_device **out)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static lt_device *shared; /* lives until the process ends */
    lt_status s = LT_OK;
    pthread_mutex_lock(&lock);
    if (!shared) s = lt_device_open("cpu", &shared);
    *out = shared;
    pthread_mutex_unlock(&lock);
    return s;
}

void lt_program_drop_copies(lt_program *p)
{
    for (int i = 0; p->input_copy && i < p->n_inputs; i++) lt_device_free(p->device, p->stream, p->input_copy[i]);
    for (int j = 0; p->output_copy && j < p->n_outputs; j++) lt_device_free(p->device, p->stream, p->output_copy[j]);
    p->input_copy = p->output_copy = NULL;
}

void lt_program_destroy(lt_program *p)
{
    if (!p) return;
    lt_capture_destroy(p->capture);
    for (int i = 0; i < p->n_steps; i++) lt_kernel_destroy(p->step[i].kernel);
    if (p->device) {
        lt_device_free(p->device, p->stream, p->arena);
        lt_device_free(p->device, p->stream, p->constants);
        lt_program_drop_copies(p);
    }
    lt_arena_release(&p->memory);
    lt_free(p);
}

/* The nodes the outputs need, as a module of their own. */
static lt_status extract(const lt_graph *g, const lt_node *outputs, int n_outputs, int n_lead, lt_arena *arena, lt_module *m)
{
    *m = (lt_module){ .ir = { .arena = arena, .n_inputs = g->ir.n_inputs }, .n_outputs = n_outputs, .n_lead = n_lead };
    int n = g->ir.n_nodes;
    bool *live = lt_calloc((size_t)n + 1, sizeof *live);
    int32_t *map = lt_malloc(((size_t)n + 1) * sizeof *map);
    m->output = lt_arena_alloc(arena, (size_t)n_outputs * sizeof *m->output);
    lt_status s = live && map && m->output ? LT_OK : LT_ERR_MEMORY;
    for (int i = 0; !s && i < n_outputs; i++) live[outputs[i].id] = true;
    for (int32_t id = n - 1; !s && id >= 0; id--)
        for (int i = 0; live[id] && i < g->ir.node[id].n_in; i++) live[lt_ir_in(&g->ir.node[id], i)] = true;
    for (int32_t id = 0; !s && id < n; id++)
        if (live[id] && (map[id] = lt_ir_copy_node(&m->ir, &g->ir.node[id], map)) < 0) s = LT_ERR_MEMORY;
    for (int i = 0; !s && i < n_outputs; i++) m->output[i] = map[outputs[i].id];
    lt_free(live);
    lt_free(map);
    return s;
}

static lt_status check_request(lt_graph *g, const lt_node *outputs, int n_outputs, const lt_compile_options *opt)
{
    LT_TRY(lt_graph_status(g));
    if (n_outputs < 1 || !outputs) return LT_FAIL(LT_ERR_ARGUMENT, "program: needs at least one output, got %d", n_outputs);
    if (!lt_operands_ok(g, "program output", n_outputs, outputs)) return lt_graph_status(g);
    if ((unsigned)opt->mode >= LT_MODE_COUNT) return LT_FAIL(LT_ERR_ARGUMENT, "program: unknown mode %d", (int)opt->mode);
    if (opt->low_precision && opt->storage_type != LT_F16 && opt->storage_type != LT_BF16)
        return LT_FAIL(LT_ERR_ARGUMENT, "program: storage_type is %s, need f16 or bf16", lt_dtype_name(opt->storage_type));
    if (opt->low_precision && opt->tf32)
        return LT_FAIL(LT_ERR_ARGUMENT, "program: tf32 is about products of f32, low_precision stores %s", lt_dtype_name(opt->storage_type));
    if (opt->lead_outputs < 0 || opt->lead_outputs > n_outputs)
        return LT_FAIL(LT_ERR_ARGUMENT, "program: lead_outputs is %d, need 0 to %d", opt->lead_outputs, n_outputs);
    return LT_OK;
}

static lt_status remember_inputs(lt_program *p, const lt_graph *g)
{
    p->n_inputs = g->ir.n_inputs;
    p->input = lt_arena_alloc(&p->memory, ((size_t)p->n_inputs + 1) * sizeof *p->input);
    p->output = lt_arena_alloc(&p->memory, ((size_t)p->n_outputs + 1) * sizeof *p->output);
    p->input_name = lt_arena_alloc(&p->memory, ((size_t)p->n_inputs + 1) * sizeof *p->input_name);
    if (!p->input || !p->output || !p->input_name) return LT_ERR_MEMORY;
    for (int32_t id = 0; id < g->ir.n_nodes; id++) {
        const lt_ir_node *n = &g->ir.node[id];
        if (n->op != LT_OP_INPUT || !n->name) continue;
        if (!(p->input_name[n->attr.u.input.input] = lt_arena_strdup(&p->memory, n->name))) return LT_ERR_MEMORY;
    }
    return LT_OK;
}

/* A device with memory of its own gets room for what the caller passes in host memory. */
static lt_status make_copies(lt_program *p)
{
    if (!lt_device_has(p->device, LT_DEVICE_OWN_MEMORY)) return LT_OK;
    p->input_copy = lt_arena_alloc(&p->memory, ((size_t)p->n_inputs + 1) * sizeof *p->input_copy);
    p->output_copy = lt_arena_alloc(&p->memory, ((size_t)p->n_outputs + 1) * sizeof *p->output_copy);
    if (!p->input_copy || !p->output_copy) return LT_ERR_MEMORY;
    for (int i = 0; i < p->n_inputs; i++)
        if (p->needs_input[i]) LT_TRY(lt_device_alloc(p->device, p->stream, LT_MAX(p->input_bytes[i], 1), "inputs", &p->input_copy[i]));
    for (int j = 0; j < p->n_outputs; j++)
        LT_TRY(lt_device_alloc(p->device, p->stream, LT_MAX(p->output_bytes[j], 1), "outputs", &p->output_copy[j]));
    return LT_OK;
}

/* ---- binding and recording ---- */

static lt_status missing(lt_program *p, const char *what, int i)
{
    p->output[0] = NULL; /* some pointers may be noted already: the next run must bind them all */
    const char *name = what[0] == 'i' && p->input_name[i] ? p->input_name[i] : "";
    return LT_FAIL(LT_ERR_ARGUMENT, "run: %s %d %s%s%sis NULL", what, i, name[0] ? "'" : "", name, name[0] ? "' " : "");
}

static max_align_t no_elements; /* where tensors without elements may be */

/* Points the arguments at the caller's memory where that changed since the last run. */
static lt_status rebind_some(lt_program *p, const void *const *inputs, void *const *outputs, bool lead_only)
{
    bool changed = false;
    for (int i = 0; i < p->n_inputs; i++) {
        if (!p->needs_input[i]) continue;
        const void *given = inputs && inputs[i] ? inputs[i] : p->input_bytes[i] ? NULL : &no_elements;
        if (!given) return missing(p, "input", i);
        changed = changed || given != p->input[i];
        p->stale = p->stale || (i >= p->held_from && given != p->input[i]);
        p->input[i] = given;
    }
    for (int j = 0; j < p->n_outputs; j++) {
        if (lead_only && !p->leads[j]) continue;
        void *given = outputs[j] ? outputs[j] : p->output_bytes[j] ? NULL : &no_elements;
        if (!given) return missing(p, "output", j);
        changed = changed || given != p->output[j];
        p->output[j] = given;
    }
    if (!changed) return LT_OK;
    for (int i = 0; i < p->n_patches; i++) {
        const lt_patch *t = &p->patch[i];
        const void *base = t->number >= 0 ? p->input[t->number] : p->output[-1 - t->number];
        if (base) p->step[t->step].arg[t->arg] = (char *)(uintptr_t)base + t->offset; /* NULL: not bound before it is needed */
    }
    for (int i = 0; p->capture && i < p->n_patches; i++)
        if (i == 0 || p->patch[i].step != p->patch[i - 1].step)
            LT_TRY(lt_capture_rebind(p->capture, p->patch[i].step, p->step[p->patch[i].step].arg));
    return LT_OK;
}

static lt_status rebind(lt_program *p, const void *const *inputs, void *const *outputs)
{
    p->led = false;
    return rebind_some(p, inputs, outputs, false);
}

/* Records the launches; runs bind their arguments. On a stream of its own: the device's is in use
   by programs of other threads, whose work would be recorded, too. */
static lt_status record(lt_program *p)
{
    lt_stream *own;
    if (p->input_copy) LT_TRY(rebind(p, (const void *const *)p->input_copy, p->output_copy));
    LT_TRY(lt_stream_create(p->device, &own));
    lt_status s = lt_capture_begin(own);
    if (!s) s = lt_stream_launch_all(own, p->launch, p->n_live);
    if (!s) s = lt_capture_end(own, &p->capture);
    lt_stream_destroy(own); /* ends a capture that failed */
    return s;
}

/* A library that waits for the device inside a call keeps the program from being one sequence. */
bool lt_program_can_capture(const lt_program *p)
{
    for (int i = 0; i < p->n_steps; i++)
        if (p->step[i].kernel->uncapturable) return false;
    return true;
}

/* What follows from held inputs alone, and operands in the form their kernels read them. */
static lt_status compute_held(lt_program *p, lt_stream *on)
{
    for (int i = 0; i < p->n_steps; i++) {
        const lt_step *st = &p->step[i];
        const lt_kernel *k = st->kernel;
        if (st->held) LT_TRY(lt_stream_launch(on, &(lt_launch){ k, st->arg }));
        if (st->packs && k->queue_pack) LT_TRY(k->queue_pack(k, on, st->arg[k->pack_arg], k->packed));
        else if (st->packs) LT_TRY(k->pack(k, p->device->pool, st->arg[k->pack_arg], k->packed));
    }
    p->stale = false;
    return LT_OK;
}

/* Constants never change: what kernels pack of them is packed here, before any stream or capture needs it. */
static lt_status pack_constants(lt_program *p)
{
    if (!p->stale || p->held_from != INT32_MAX) return LT_OK;
    LT_TRY(compute_held(p, p->stream));
    return lt_stream_sync(p->stream);
}

/* ---- creating ---- */

static lt_status create(lt_program *p, lt_graph *g, const lt_node *outputs, int n_outputs, const lt_compile_options *opt)
{
    lt_arena arena = { 0 };
    lt_module m = { 0 };
    p->mode = opt->mode;
    p->n_outputs = n_outputs;
    p->device = opt->device;
    if (!p->device) LT_TRY(lt_default_device(&p->device));
    p->stream = lt_device_stream(p->device);
    LT_TRY(remember_inputs(p, g));
    bool host = !lt_device_has(p->device, LT_DEVICE_OWN_MEMORY); /* elsewhere a run is one sequence */
    lt_status s = extract(g, outputs, n_outputs, host ? opt->lead_outputs : 0, &arena, &m);
    if (!s) s = lt_program_build(p, &m, opt);
    if (!s) s = pack_constants(p);
    if (!s && !p->on_device) s = make_copies(p);
    if (!s && p->mode >= LT_MODE_REDUCE_OVERHEAD && lt_program_can_capture(p)) s = record(p);
    lt_ir_free(&m.ir);
    lt_arena_release(&arena);
    return s;
}

static lt_status create_in(bool on_device, lt_graph *g, const lt_node *outputs, int n_outputs, const lt_compile_options *given,
                           lt_program **out)
{
    if (!out) return LT_FAIL(LT_ERR_ARGUMENT, "lt_program_create: out is NULL");
    *out = NULL;
    lt_compile_options own = lt_compile_defaults(), *opt = &own;
    LT_TRY(LT_TAKE(lt_compile_options, given, opt));
    LT_TRY(check_request(g, outputs, n_outputs, opt));
    lt_program *p = lt_calloc(1, sizeof *p);
    if (!p) return LT_ERR_MEMORY;
    p->info.size = sizeof p->info;
    p->on_device = on_device;
    lt_span span = lt_span_begin("compile");
    int64_t start = lt_clock_ns();
    lt_status s = create(p, g, outputs, n_outputs, opt);
    p->info.compile_seconds = lt_seconds_since(start);
    lt_span_end(span);
    if (s) { lt_program_destroy(p); return s; }
    *out = p;
    return LT_OK;
}

void lt_compile_defaults_into(lt_compile_options *out)
{
    LT_GIVE(out, &(lt_compile_options){ .size = sizeof(lt_compile_options) });
}

lt_status lt_program_create(lt_graph *g, const lt_node *outputs, int n_outputs, const lt_compile_options *opt, lt_program **out)
{
    return create_in(false, g, outputs, n_outputs, opt, out);
}

lt_status lt_program_create_on_device(lt_graph *g, const lt_node *outputs, int n_outputs, const lt_compile_options *opt, lt_program **out)
{
    return create_in(true, g, outputs, n_outputs, opt, out);
}

lt_status lt_program_note_texts(lt_graph *g, const lt_node *outputs, int n_outputs, const lt_compile_options *opt)
{
    lt_arena arena = { 0 };
    lt_module m = { 0 };
    LT_TRY(check_request(g, outputs, n_outputs, opt));
    lt_status s = extract(g, outputs, n_outputs, 0, &arena, &m);
    if (!s) s = lt_program_build_texts(&m, opt);
    lt_ir_free(&m.ir);
    lt_arena_release(&arena);
    return s;
}

/* ---- running ---- */

static lt_status launch(lt_program *p)
{
    if (lt_trace_is_on()) return lt_program_launch_traced(p, 0, p->n_live);
    if (!p->capture) return lt_stream_launch_all(p->stream, p->launch, p->n_live);
    return lt_capture_replay(p->stream, p->capture);
}

/* Data over, work, results back: all in order on the stream, one wait at the end. */
static lt_status run_on_device(lt_program *p, const void *const *inputs, void *const *outputs)
{
    LT_TRY(rebind(p, (const void *const *)p->input_copy, p->output_copy));
    for (int i = 0; i < p->n_inputs; i++) {
        if (!p->needs_input[i] || !p->input_bytes[i]) continue;
        if (!inputs || !inputs[i]) return missing(p, "input", i);
        LT_TRY(lt_stream_copy(p->stream, p->input_copy[i], inputs[i], p->input_bytes[i], LT_TRANSFER_H2D, false));
    }
    LT_TRY(launch(p));
    for (int j = 0; j < p->n_outputs; j++) {
        if (!p->output_bytes[j]) continue;
        if (!outputs[j]) return missing(p, "output", j);
        LT_TRY(lt_stream_copy(p->stream, outputs[j], p->output_copy[j], p->output_bytes[j], LT_TRANSFER_D2H, false));
    }
    return lt_stream_sync(p->stream);
}

void lt_program_renew(lt_program *p)
{
    if (p) p->stale = p->held_from < p->n_inputs;
}

lt_status lt_program_bind(lt_program *p, const void *const *inputs, void *const *outputs)
{
    LT_TRY(rebind(p, inputs, outputs));
    return p->stale ? compute_held(p, p->stream) : LT_OK;
}

lt_status lt_program_hold(lt_program *p, const void *const *inputs, void *const *outputs)
{
    if (!p || !outputs) return LT_FAIL(LT_ERR_ARGUMENT, "hold: %s is NULL", p ? "outputs" : "program");
    if (p->on_device || p->input_copy) return LT_FAIL(LT_ERR_ARGUMENT, "hold: the program holds nothing for others");
    return lt_program_bind(p, inputs, outputs);
}

lt_status lt_program_run(lt_program *p, const void *const *inputs, void *const *outputs)
{
    if (!p || !outputs) return LT_FAIL(LT_ERR_ARGUMENT, "run: %s is NULL", p ? "outputs" : "program");
    if (p->on_device) return LT_FAIL(LT_ERR_ARGUMENT, "run: the program was compiled for data on the device");
    if (p->input_copy) return run_on_device(p, inputs, outputs);
    LT_TRY(lt_program_bind(p, inputs, outputs));
    return launch(p);
}

lt_status lt_program_queue(lt_program *p, lt_stream *st, const void *const *inputs, void *const *outputs)
{
    LT_TRY(rebind(p, inputs, outputs));
    if (p->stale) LT_TRY(compute_held(p, st));
    if (p->capture && !st->capturing) return lt_capture_replay(st, p->capture);
    return lt_stream_launch_all(st, p->launch, p->n_live);
}

lt_status lt_program_queue_held(lt_program *p, lt_stream *st, const void *const *inputs, void *const *outputs)
{
    LT_TRY(rebind(p, inputs, outputs));
    return compute_held(p, st);
}

static lt_status launch_part(lt_program *p, int first, int last)
{
    if (lt_trace_is_on()) return lt_program_launch_traced(p, first, last);
    return lt_stream_launch_all(p->stream, p->launch + first, last - first);
}

bool lt_program_output_leads(const lt_program *p, int output)
{
    return p && output >= 0 && output < p->n_outputs && p->leads[output];
}

lt_status lt_program_run_lead(lt_program *p, const void *const *inputs, void *const *outputs)
{
    if (!p || !outputs) return LT_FAIL(LT_ERR_ARGUMENT, "run_lead: %s is NULL", p ? "outputs" : "program");
    if (!p->info.n_lead) return LT_FAIL(LT_ERR_UNSUPPORTED, "run_lead: the program's outputs come all at once");
    p->led = false;
    LT_TRY(rebind_some(p, inputs, outputs, true));
    if (p->stale) LT_TRY(compute_held(p, p->stream));
    LT_TRY(launch_part(p, 0, p->n_lead));
    p->led = true;
    return LT_OK;
}

lt_status lt_program_run_rest(lt_program *p, const void *const *inputs, void *const *outputs)
{
    if (!p || !outputs) return LT_FAIL(LT_ERR_ARGUMENT, "run_rest: %s is NULL", p ? "outputs" : "program");
    if (!p->led) return LT_FAIL(LT_ERR_ARGUMENT, "run_rest: expected after lt_program_run_lead, once");
    LT_TRY(rebind(p, inputs, outputs));
    return launch_part(p, p->n_lead, p->n_live);
}

static lt_status queue_runs(lt_program *p, int repeats, lt_event *start, lt_event *end, double *ns)
{
    LT_TRY(lt_event_record(start, p->stream));
    for (int i = 0; i < repeats; i++) LT_TRY(launch(p));
    LT_TRY(lt_event_record(end, p->stream));
    LT_TRY(lt_event_sync(end));
    return lt_event_elapsed(start, end, ns);
}

lt_status lt_program_time(lt_program *p, int repeats, double *seconds)
{
    lt_event *start = NULL, *end = NULL;
    double ns = 0;
    if (!seconds) return LT_FAIL(LT_ERR_ARGUMENT, "time: seconds is NULL");
    *seconds = 0;
    if (!p || repeats < 1) return LT_FAIL(LT_ERR_ARGUMENT, "time: %s", p ? "expected at least one repeat" : "program is NULL");
    if (!p->output[0]) return LT_FAIL(LT_ERR_ARGUMENT, "time: the program has not run yet");
    lt_status s = lt_event_create(p->device, &start);
    if (!s) s = lt_event_create(p->device, &end);
    if (!s) s = queue_runs(p, repeats, start, end, &ns);
    lt_event_destroy(start);
    lt_event_destroy(end);
    *seconds = 1e-9 * ns / repeats;
    return s;
}

/* ---- describing ---- */

void lt_program_get_info_into(const lt_program *p, lt_program_info *out)
{
    LT_GIVE(out, p ? &p->info : &(lt_program_info){ .size = sizeof(lt_program_info) });
}

static void dump_step(const lt_program *p, int i, FILE *to)
{
    const lt_step *st = &p->step[i];
    fprintf(to, "%4d  %-28s %s%s", i, st->kernel->name, lt_dtype_name(st->type), lt_shape_str(&st->shape).s);
    if (st->held || st->packs) fprintf(to, " (%s)", st->held ? "once" : "packed");
    if (st->op >= 0) fprintf(to, "  %s", lt_op_name((lt_op)st->op));
    for (int k = 0; k < st->n_ops; k++) fprintf(to, "%s%s", k || st->op >= 0 ? "+" : "  ", lt_op_name((lt_op)st->ops[k]));
    fprintf(to, "  %.3g FLOP, %.3g B\n", st->kernel->flops, st->kernel->bytes);
}

lt_status lt_program_dump(const lt_program *p, FILE *to)
{
    if (!p || !to) return LT_FAIL(LT_ERR_ARGUMENT, "lt_program_dump: %s is NULL", p ? "file" : "program");
    fprintf(to, "program: mode %s on %s, %d nodes in %d kernels (%d fused), %.3g FLOP, %.3g B moved, compiled in %.2f ms\n",
            lt_mode_name(p->mode), lt_device_id(p->device), p->info.n_nodes, p->info.n_kernels, p->info.n_fused,
            p->info.flops, p->info.bytes, 1e3 * p->info.compile_seconds);
    for (int i = 0; i < p->n_steps; i++) dump_step(p, i, to);
    fprintf(to, "memory: arena %zu B for %d values (%zu B without reuse), constants %zu B\n", p->info.arena_bytes,
            p->n_intervals, p->info.unplanned_bytes, p->info.constant_bytes);
    for (int i = 0; i < p->n_intervals; i++) {
        const lt_interval *v = &p->interval[i];
        fprintf(to, "  %8zu + %-10zu steps %d..%d%s\n", v->offset, v->bytes, v->first, v->last, v->in_place >= 0 ? " in place" : "");
    }
    return ferror(to) ? LT_FAIL(LT_ERR_IO, "lt_program_dump: write failed") : LT_OK;
}
