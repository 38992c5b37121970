/* Compilation: a scheduled module becomes kernels with planned memory.
   SPDX-License-Identifier: BSD-3-Clause */
#include "device/flags.h"
#include "base/alloc.h"
#include "base/dtype.h"
#include "base/status.h"
#include "graph/lower/choose.h"
#include "graph/passes/passes.h"
#include "graph/program/program.h"

#include <string.h>

/* A compilation in progress. */
typedef struct compiler {
    lt_program  *p;
    lt_module   *m;
    const lt_compile_options *opt;
    lt_schedule  s;
    lt_arena     scratch;        /* released when done */
    lt_memory   *memory;         /* of every node that has some; by node */
    lt_interval *interval;
    int          n_intervals;
    int32_t    **arg_node;       /* per step: the node behind each argument */
    size_t     **arg_offset;
    bool       **arg_writes;
    int32_t     *scratch_of;     /* per step: interval of its scratch, or -1 */
    size_t       constant_bytes;
    bool        *held;           /* by node: follows from held inputs and constants alone */
    int          n_held;         /* the first intervals: of what is computed once */
    int32_t     *packed_of;      /* per step: interval of its packed operand, or -1 */
} compiler;

static size_t node_bytes(const compiler *c, int32_t id)
{
    return (size_t)lt_ir_count(&c->m->ir, id) * lt_dtype_size((lt_dtype)c->m->ir.node[id].dtype);
}

static void *keep(compiler *c, size_t count, size_t bytes) { return lt_arena_alloc(&c->p->memory, LT_MAX(count, 1) * bytes); }
static void *temporary(compiler *c, size_t count, size_t bytes) { return lt_arena_alloc(&c->scratch, LT_MAX(count, 1) * bytes); }

/* ---- kernels ---- */

static void describe_step(compiler *c, const lt_unit *u, lt_step *st)
{
    const lt_ir *ir = &c->m->ir;
    int32_t lead = u->op >= 0 ? u->op : u->first;
    st->op = u->op >= 0 ? ir->node[u->op].op : -1;
    st->type = (lt_dtype)ir->node[lead].dtype;
    st->shape = u->op >= 0 ? ir->node[lead].shape : u->domain;
    st->ops = keep(c, (size_t)u->n_members, 1);
    for (int32_t id = u->first; st->ops && id >= 0; id = c->s.next[id]) st->ops[st->n_ops++] = ir->node[id].op;
}

/* Arguments of an op: operands, result, then what the epilogue adds. */
static lt_status op_arguments(compiler *c, const lt_unit *u, const lt_lowered *low, int k, int *n_args)
{
    const lt_ir_node *n = &c->m->ir.node[u->op];
    int extra = u->first >= 0 ? low->fused.n_args - 1 : 0, count = n->n_in + 1 + extra;
    c->arg_node[k] = temporary(c, (size_t)count, sizeof **c->arg_node);
    c->arg_offset[k] = temporary(c, (size_t)count, sizeof **c->arg_offset);
    c->arg_writes[k] = temporary(c, (size_t)count, sizeof **c->arg_writes);
    if (!c->arg_node[k] || !c->arg_offset[k] || !c->arg_writes[k]) return LT_ERR_MEMORY;
    for (int i = 0; i < n->n_in; i++) {
        lt_place_of at = lt_schedule_locate(&c->s, lt_ir_in(n, i));
        c->arg_node[k][i] = at.node;
        c->arg_offset[k][i] = at.offset_bytes;
    }
    c->arg_node[k][n->n_in] = u->op;
    c->arg_writes[k][n->n_in] = true;
    for (int i = 1; i <= extra; i++) {
        const lt_ir_node *e = &c->m->ir.node[low->arg[i]];
        c->arg_node[k][n->n_in + i] = low->arg[i];
        c->arg_writes[k][n->n_in + i] = low->writes[i];
        /* Nobody else reads the raw result: let it lie where the epilogue's own result goes. */
        if (low->writes[i] && e->dtype == n->dtype && c->arg_node[k][n->n_in] == u->op) c->arg_node[k][n->n_in] = low->arg[i];
    }
    *n_args = count;
    return LT_OK;
}

static lt_status build_op(compiler *c, const lt_unit *u, int k, lt_step *st)
{
    lt_problem_key key;
    lt_lowered low = { 0 };
    if (u->first >= 0) LT_TRY(lt_lower_group(&c->s, u, &c->scratch, &low));
    lt_lower_key(&c->s, u, &low, &key);
    LT_TRY(op_arguments(c, u, &low, k, &st->n_args));
    return lt_choose_kernel(&key, c->opt, &st->kernel);
}

/* Its kernel is built with those of the other groups. */
static lt_status lower_group(compiler *c, const lt_unit *u, int k, lt_step *st, const lt_fused **out)
{
    lt_lowered *low = temporary(c, 1, sizeof *low);
    if (!low) return LT_ERR_MEMORY;
    LT_TRY(lt_lower_group(&c->s, u, &c->scratch, low));
    c->arg_node[k] = low->arg;
    c->arg_writes[k] = low->writes;
    st->n_args = low->fused.n_args;
    c->arg_offset[k] = temporary(c, (size_t)st->n_args, sizeof **c->arg_offset);
    *out = &low->fused;
    return c->arg_offset[k] ? LT_OK : LT_ERR_MEMORY;
}

/* A host kernel becomes one of the device, which may wrap it; others were built for it. */
static lt_status register_kernel(compiler *c, lt_step *st)
{
    lt_kernel *host = st->kernel;
    if (!host->run) return LT_OK;
    st->kernel = NULL;
    lt_kernel_key key = { .name = host->name, .host = host, .n_args = host->n_args };
    lt_status s = lt_device_build(c->p->device, &key, &st->kernel);
    if (s) lt_kernel_destroy(host);
    return s;
}

/* What stays NULL is not built yet. */
static lt_status build_steps(compiler *c)
{
    const lt_fused **group = temporary(c, (size_t)c->s.n_order, sizeof *group);
    lt_kernel ***of_group = temporary(c, (size_t)c->s.n_order, sizeof *of_group);
    int n_groups = 0;
    if (!group || !of_group) return LT_ERR_MEMORY;
    c->p->n_steps = c->s.n_order; /* from here on lt_program_destroy releases their kernels */
    for (int k = 0; k < c->s.n_order; k++) {
        const lt_unit *u = &c->s.unit[c->s.order[k]];
        lt_step *st = &c->p->step[k];
        LT_TRY(u->op >= 0 ? build_op(c, u, k, st) : lower_group(c, u, k, st, &group[n_groups]));
        if (u->op < 0) of_group[n_groups++] = &st->kernel;
    }
    return lt_choose_fused(group, n_groups, c->opt, of_group);
}

static lt_status build_kernels(compiler *c)
{
    size_t n = (size_t)c->s.n_order;
    c->p->step = keep(c, n, sizeof *c->p->step);
    c->p->launch = keep(c, n, sizeof *c->p->launch);
    c->arg_node = temporary(c, n, sizeof *c->arg_node);
    c->arg_offset = temporary(c, n, sizeof *c->arg_offset);
    c->arg_writes = temporary(c, n, sizeof *c->arg_writes);
    if (!c->p->step || !c->p->launch || !c->arg_node || !c->arg_offset || !c->arg_writes) return LT_ERR_MEMORY;
    LT_TRY(build_steps(c));
    for (int k = 0; k < c->s.n_order; k++) {
        const lt_unit *u = &c->s.unit[c->s.order[k]];
        lt_step *st = &c->p->step[k];
        LT_TRY(register_kernel(c, st));
        describe_step(c, u, st);
        if (!st->ops) return LT_ERR_MEMORY;
        c->p->info.n_fused += u->n_members > 1 || (u->op >= 0 && u->first >= 0);
        c->p->info.flops += st->kernel->flops;
        c->p->info.bytes += st->kernel->bytes;
        if (!u->lead) continue;
        c->p->info.n_lead++;
        c->p->info.lead_flops += st->kernel->flops;
        c->p->info.lead_bytes += st->kernel->bytes;
    }
    return LT_OK;
}

/* ---- what is computed once ---- */

static bool is_output(const compiler *c, int32_t id)
{
    for (int i = 0; i < c->m->n_outputs; i++)
        if (lt_schedule_strip(&c->s, c->m->output[i]) == id) return true;
    return false;
}

static bool step_is_held(const compiler *c, int k)
{
    for (int i = 0; i < c->p->step[k].n_args; i++) {
        int32_t id = c->arg_node[k][i];
        if (c->arg_writes[k][i] ? is_output(c, id) : !c->held[id]) return false;
    }
    return true;
}

/* Whether the step's kernel reads an operand that stays the same in a form of its own. */
static bool step_packs(const compiler *c, int k)
{
    const lt_step *st = &c->p->step[k];
    if (st->held || !(st->kernel->pack || st->kernel->queue_pack)) return false;
    int32_t id = c->arg_node[k][st->kernel->pack_arg];
    return c->held[id] || c->m->ir.node[id].op == LT_OP_CONST;
}

/* Marks the steps that depend on held inputs alone, and operands that can be packed once. Captured
   programs replay all their launches, and those that copy their inputs to a device anew hold nothing;
   constants stay the same in all. */
static lt_status find_held(compiler *c)
{
    lt_program *p = c->p;
    bool stays = p->on_device || !lt_device_has(p->device, LT_DEVICE_OWN_MEMORY);
    bool able = c->opt->held_from > 0 && c->opt->mode < LT_MODE_REDUCE_OVERHEAD && stays;
    p->held_from = able ? c->opt->held_from : INT32_MAX;
    p->stale = able;
    c->held = temporary(c, (size_t)c->m->ir.n_nodes, sizeof *c->held);
    if (!c->held) return LT_ERR_MEMORY;
    for (int32_t id = 0; able && id < c->m->ir.n_nodes; id++) {
        const lt_ir_node *n = &c->m->ir.node[id];
        c->held[id] = n->op == LT_OP_CONST || n->op == LT_OP_FULL || (n->op == LT_OP_INPUT && n->attr.u.input.input >= p->held_from);
    }
    for (int k = 0; k < p->n_steps; k++) {
        lt_step *st = &p->step[k];
        st->held = able && step_is_held(c, k);
        for (int i = 0; st->held && i < st->n_args; i++) c->held[c->arg_node[k][i]] = true;
        st->packs = step_packs(c, k);
        if (st->packs && st->kernel->pack) st->kernel->scratch_bytes -= st->kernel->packed_bytes;
        p->stale = p->stale || st->packs;
    }
    return LT_OK;
}

/* ---- memory ---- */

/* Gives a node's memory its kind: the user's, a constant, or a piece of the arena. */
static void classify(compiler *c, int32_t id, int step)
{
    const lt_ir_node *n = &c->m->ir.node[id];
    lt_memory *mem = &c->memory[id];
    if (mem->bytes) { /* known already; arena values live on */
        if (mem->kind == LT_MEM_ARENA) c->interval[mem->index].last = LT_MAX(c->interval[mem->index].last, step);
        return;
    }
    mem->bytes = LT_MAX(node_bytes(c, id), 1);
    if (n->op == LT_OP_INPUT) {
        *mem = (lt_memory){ LT_MEM_INPUT, n->attr.u.input.input, 0, mem->bytes };
        c->p->needs_input[n->attr.u.input.input] = true;
        c->p->input_bytes[n->attr.u.input.input] = node_bytes(c, id);
    } else if (n->op == LT_OP_CONST || n->op == LT_OP_FULL) {
        *mem = (lt_memory){ LT_MEM_CONST, 0, c->constant_bytes, mem->bytes };
        c->constant_bytes += (mem->bytes + 63) / 64 * 64;
    } else {
        *mem = (lt_memory){ LT_MEM_ARENA, c->n_intervals, 0, mem->bytes };
        c->interval[c->n_intervals++] = (lt_interval){ mem->bytes, step, step, -1, 0 };
        c->p->info.unplanned_bytes += mem->bytes;
    }
}

/* A group may write over an operand that ends with it, when both are dense and of one size:
   every block is loaded before it is stored. */
static void find_in_place(compiler *c, int k)
{
    const lt_unit *u = &c->s.unit[c->s.order[k]];
    const lt_step *st = &c->p->step[k];
    if (u->op >= 0 || u->reduces) return;
    for (int w = 0; w < st->n_args; w++) {
        int32_t out = c->arg_node[k][w];
        if (!c->arg_writes[k][w] || c->memory[out].kind != LT_MEM_ARENA) continue;
        lt_interval *v = &c->interval[c->memory[out].index];
        for (int r = 0; r < st->n_args && v->in_place < 0; r++) {
            int32_t in = c->arg_node[k][r];
            if (c->arg_writes[k][r] || c->memory[in].kind != LT_MEM_ARENA) continue;
            const lt_interval *x = &c->interval[c->memory[in].index];
            bool same = c->m->ir.node[in].dtype == c->m->ir.node[out].dtype && x->bytes == v->bytes;
            bool dense = !u->rigid; /* a rigid group may read through views */
            if (same && dense && x->last == k) v->in_place = c->memory[in].index;
        }
    }
}

static lt_status claim_user_outputs(compiler *c)
{
    for (int i = 0; i < c->m->n_outputs; i++) {
        int32_t id = lt_schedule_strip(&c->s, c->m->output[i]);
        if (c->memory[id].bytes) return LT_FAIL(LT_ERR_INTERNAL, "output %d shares its memory with another", i);
        c->memory[id] = (lt_memory){ LT_MEM_OUTPUT, i, 0, LT_MAX(node_bytes(c, id), 1) };
        c->p->output_bytes[i] = node_bytes(c, id);
    }
    return LT_OK;
}

/* Another program has them: none of ours is planned (decision 127). */
static lt_status borrow_held(compiler *c)
{
    const lt_program *from = c->opt->held_by;
    bool same = from->n_held == c->n_held;
    for (int i = 0; same && i < c->n_held; i++) same = from->interval[i].bytes == c->interval[i].bytes;
    if (!same) return LT_FAIL(LT_ERR_ARGUMENT, "lt_program_create: held_by is a program of another graph or of other options");
    for (int i = 0; i < c->n_held; i++) c->interval[i].bytes = 0;
    return LT_OK;
}

/* Held values and packed operands come first and live as long as the program. */
static lt_status plan_held(compiler *c)
{
    lt_program *p = c->p;
    for (int k = 0; k < p->n_steps; k++) {
        const lt_step *st = &p->step[k];
        c->packed_of[k] = -1;
        for (int i = 0; st->held && i < st->n_args; i++) classify(c, c->arg_node[k][i], 0);
        if (!st->packs) continue;
        c->packed_of[k] = c->n_intervals;
        c->interval[c->n_intervals++] = (lt_interval){ st->kernel->packed_bytes, 0, 0, -1, 0 };
    }
    p->n_held = c->n_held = c->n_intervals;
    for (int i = 0; i < c->n_held; i++) {
        c->interval[i].last = p->n_steps;
        p->info.held_bytes += (c->interval[i].bytes + 63) / 64 * 64;
    }
    return c->opt->held_by ? borrow_held(c) : LT_OK;
}

static lt_status plan_values(compiler *c)
{
    lt_program *p = c->p;
    size_t n = (size_t)c->m->ir.n_nodes;
    c->memory = temporary(c, n, sizeof *c->memory);
    c->interval = keep(c, n + 2 * (size_t)p->n_steps, sizeof *c->interval);
    c->scratch_of = temporary(c, (size_t)p->n_steps, sizeof *c->scratch_of);
    c->packed_of = temporary(c, (size_t)p->n_steps, sizeof *c->packed_of);
    if (!c->memory || !c->interval || !c->scratch_of || !c->packed_of) return LT_ERR_MEMORY;
    LT_TRY(claim_user_outputs(c));
    LT_TRY(plan_held(c));
    for (int k = 0; k < p->n_steps; k++) {
        for (int i = 0; i < p->step[k].n_args; i++) classify(c, c->arg_node[k][i], k);
        c->scratch_of[k] = -1;
        if (!p->step[k].kernel->scratch_bytes) continue;
        c->scratch_of[k] = c->n_intervals;
        c->interval[c->n_intervals++] = (lt_interval){ p->step[k].kernel->scratch_bytes, k, k, -1, 0 };
    }
    bool reuse = !(c->opt->skip_passes >> LT_PASS_REUSE & 1) && c->opt->mode != LT_MODE_EAGER;
    for (int k = 0; reuse && k < p->n_steps; k++) find_in_place(c, k);
    p->interval = c->interval;
    p->n_intervals = c->n_intervals;
    LT_TRY(lt_plan_memory(c->interval, c->n_intervals, reuse, &p->info.arena_bytes));
    return lt_plan_check(c->interval, c->n_intervals, p->info.arena_bytes);
}

static void write_constants(const compiler *c, char *to)
{
    for (int32_t id = 0; id < c->m->ir.n_nodes; id++) {
        const lt_ir_node *n = &c->m->ir.node[id];
        if (c->memory[id].kind != LT_MEM_CONST || !c->memory[id].bytes) continue;
        int64_t count = lt_shape_count(&n->shape);
        if (n->op == LT_OP_CONST) memcpy(to + c->memory[id].offset, n->attr.u.data, node_bytes(c, id));
        else for (int64_t i = 0; i < count; i++) lt_store_double((lt_dtype)n->dtype, to + c->memory[id].offset, i, n->attr.u.value);
    }
}

/* On the host they are written in place: data of megabytes would be copied twice. */
static lt_status upload_constants(compiler *c)
{
    lt_program *p = c->p;
    p->info.constant_bytes = c->constant_bytes;
    if (!c->constant_bytes) return LT_OK;
    LT_TRY(lt_device_alloc(p->device, p->stream, c->constant_bytes, "constants", &p->constants));
    if (!c->opt->device) {
        LT_TRY(lt_stream_sync(p->stream)); /* the memory may have been another's, whose work is queued */
        write_constants(c, p->constants);
        return LT_OK;
    }
    char *staging = lt_malloc_aligned(c->constant_bytes);
    if (!staging) return LT_ERR_MEMORY;
    write_constants(c, staging);
    lt_status s = lt_stream_copy(p->stream, p->constants, staging, c->constant_bytes, LT_TRANSFER_H2D, false);
    if (!s) s = lt_stream_sync(p->stream);
    lt_free_aligned(staging);
    return s;
}

/* ---- binding ---- */

static char *arena_address(const compiler *c, int32_t interval)
{
    const lt_program *owner = c->opt->held_by && interval < c->n_held ? c->opt->held_by : c->p;
    return (char *)owner->arena + owner->interval[interval].offset;
}

static void *fixed_address(const compiler *c, const lt_memory *mem)
{
    return mem->kind == LT_MEM_CONST ? (char *)c->p->constants + mem->offset : arena_address(c, mem->index);
}

static lt_status bind_steps(compiler *c)
{
    lt_program *p = c->p;
    int n_user = 0;
    for (int k = 0; k < p->n_steps; k++)
        for (int i = 0; i < p->step[k].n_args; i++) n_user += c->memory[c->arg_node[k][i]].kind >= LT_MEM_INPUT;
    p->patch = keep(c, (size_t)n_user, sizeof *p->patch);
    if (!p->patch) return LT_ERR_MEMORY;
    for (int k = 0; k < p->n_steps; k++) {
        lt_step *st = &p->step[k];
        bool lead = c->s.unit[c->s.order[k]].lead;
        st->arg = keep(c, (size_t)st->n_args + 1, sizeof *st->arg);
        if (!st->arg) return LT_ERR_MEMORY;
        for (int i = 0; i < st->n_args; i++) {
            const lt_memory *mem = &c->memory[c->arg_node[k][i]];
            size_t offset = c->arg_offset[k][i];
            if (lead && mem->kind == LT_MEM_OUTPUT) p->leads[mem->index] = true;
            if (mem->kind >= LT_MEM_INPUT)
                p->patch[p->n_patches++] = (lt_patch){ k, i, mem->kind == LT_MEM_INPUT ? mem->index : -1 - mem->index, offset };
            else
                st->arg[i] = (char *)fixed_address(c, mem) + offset;
        }
        if (c->scratch_of[k] >= 0) st->arg[st->n_args] = arena_address(c, c->scratch_of[k]);
        if (st->packs) st->kernel->packed = arena_address(c, c->packed_of[k]);
        if (st->held) continue;
        p->launch[p->n_live++] = (lt_launch){ st->kernel, st->arg };
        if (lead) p->n_lead = p->n_live;
    }
    if (c->opt->held_by) p->held_from = INT32_MAX, p->stale = false; /* its owner sees to that */
    return LT_OK;
}

static lt_status compile(compiler *c)
{
    lt_program *p = c->p;
    bool eager = c->opt->mode == LT_MODE_EAGER; /* a kernel for each node, no pass and no fusion (decision 27) */
    if (eager) LT_TRY(lt_ir_check(c->m, "building"));
    else LT_TRY(lt_passes_run(c->m, c->opt));
    LT_TRY(lt_schedule_make(c->m, !eager && !(c->opt->skip_passes >> LT_PASS_FUSE & 1), &c->s));
    p->needs_input = keep(c, (size_t)p->n_inputs, sizeof *p->needs_input);
    p->input_bytes = keep(c, (size_t)p->n_inputs, sizeof *p->input_bytes);
    p->output_bytes = keep(c, (size_t)p->n_outputs, sizeof *p->output_bytes);
    p->leads = keep(c, (size_t)p->n_outputs, sizeof *p->leads);
    if (!p->needs_input || !p->input_bytes || !p->output_bytes || !p->leads) return LT_ERR_MEMORY;
    LT_TRY(build_kernels(c));
    LT_TRY(find_held(c));
    LT_TRY(plan_values(c));
    if (p->info.arena_bytes) LT_TRY(lt_device_alloc(p->device, p->stream, p->info.arena_bytes, "arena", &p->arena));
    LT_TRY(upload_constants(c));
    for (int32_t id = 0; id < c->m->ir.n_nodes; id++) p->info.n_nodes += c->s.live[id];
    p->info.n_kernels = p->n_steps;
    return bind_steps(c);
}

lt_status lt_program_build(lt_program *p, lt_module *m, const lt_compile_options *opt)
{
    compiler c = { .p = p, .m = m, .opt = opt };
    lt_status s = compile(&c);
    lt_choose_finish(opt);
    lt_schedule_free(&c.s);
    lt_arena_release(&c.scratch);
    return s;
}
