/* Scheduling: units, views, epilogues, outputs, and the order of it all.
   SPDX-License-Identifier: BSD-3-Clause */
#include "graph/lower/schedule_internal.h"

#include "base/alloc.h"
#include "base/dtype.h"
#include "base/status.h"

#include <string.h>

int32_t lt_schedule_strip(const lt_schedule *s, int32_t id)
{
    while (s->m->ir.node[id].op == LT_OP_RESHAPE && s->unit_of[id] < 0) id = s->m->ir.node[id].in[0];
    return id;
}

static bool is_source(const lt_ir_node *n) { return n->op == LT_OP_INPUT || n->op == LT_OP_CONST || n->op == LT_OP_FULL; }

int32_t lt_schedule_memory(const lt_schedule *s, int32_t id)
{
    for (;;) {
        id = lt_schedule_strip(s, id);
        if (s->m->ir.node[id].op != LT_OP_VIEW || s->unit_of[id] >= 0) return id;
        id = s->m->ir.node[id].in[0];
    }
}

int lt_schedule_available(const lt_schedule *s, int32_t id)
{
    int32_t u = s->unit_of[lt_schedule_memory(s, id)];
    return u < 0 ? 0 : s->unit[u].depth;
}

lt_status lt_schedule_add_unit(lt_schedule *s, int32_t op, int depth, int32_t *out)
{
    if (s->n_units == s->capacity) {
        int capacity = s->capacity ? 2 * s->capacity : 64;
        lt_unit *unit = lt_realloc(s->unit, (size_t)capacity * sizeof *unit);
        if (!unit) return LT_ERR_MEMORY;
        s->unit = unit;
        s->capacity = capacity;
    }
    s->unit[s->n_units] = (lt_unit){ .op = op, .first = -1, .last = -1, .depth = depth };
    *out = s->n_units++;
    return LT_OK;
}

/* ---- views ---- */

static lt_status materialise(lt_schedule *s, int32_t id);

lt_status lt_schedule_copy_view(lt_schedule *s, int32_t id)
{
    int32_t base = s->m->ir.node[id].in[0], u;
    LT_TRY(materialise(s, base));
    LT_TRY(lt_schedule_add_unit(s, id, lt_schedule_available(s, base) + 1, &u));
    s->unit_of[id] = u;
    s->stored[id] = true;
    return LT_OK;
}

/* Makes sure an operand lies dense in memory: views are copied unless they are a dense piece. */
static lt_status materialise(lt_schedule *s, int32_t id)
{
    int32_t r = lt_schedule_strip(s, id);
    const lt_ir_node *n = &s->m->ir.node[r];
    if (n->op == LT_OP_VIEW && s->unit_of[r] < 0) {
        if (s->fuse && lt_affine_is_dense(&n->attr.u.view, &n->shape)) return materialise(s, n->in[0]);
        return lt_schedule_copy_view(s, r);
    }
    if (s->waiting[r]) LT_TRY(lt_schedule_place_waiting(s, r));
    s->stored[r] = true;
    return LT_OK;
}

/* ---- ops with kernels of their own ---- */

static lt_status place_op(lt_schedule *s, int32_t id)
{
    const lt_ir_node *n = &s->m->ir.node[id];
    int depth = 0;
    int32_t u;
    for (int i = 0; i < n->n_in; i++) {
        LT_TRY(materialise(s, lt_ir_in(n, i)));
        depth = LT_MAX(depth, lt_schedule_available(s, lt_ir_in(n, i)));
    }
    LT_TRY(lt_schedule_add_unit(s, id, depth + 1, &u));
    s->unit_of[id] = u;
    s->stored[id] = true;
    return LT_OK;
}

/* ---- epilogues ---- */

/* Hands a group to the product or convolution it works on, when that is its only reader. */
static void attach_epilogue(lt_schedule *s, int32_t group, const int32_t *readers)
{
    lt_unit *u = &s->unit[group];
    for (int i = 0; i < u->n_externals && !u->dropped; i++) {
        int32_t id = u->external[i], host = s->unit_of[id];
        const lt_ir_node *n = &s->m->ir.node[id];
        if (host < 0 || s->unit[host].op != id || s->unit[host].first >= 0 || (n->op != LT_OP_MATMUL && n->op != LT_OP_CONV2D)) continue;
        if (readers[id] != 1 || s->unit[host].depth + 1 != u->depth || u->type != lt_compute_type((lt_dtype)n->dtype)) continue;
        lt_shape plain = lt_group_domain(&s->m->ir, id);
        if (u->reduces || (u->rigid ? !lt_shape_equal(&plain, &u->domain) : lt_shape_count(&plain) != lt_shape_count(&u->domain))) continue;
        lt_unit *h = &s->unit[host];
        h->first = u->first;
        h->last = u->last;
        h->n_members = u->n_members;
        h->n_externals = u->n_externals;
        memcpy(h->external, u->external, sizeof h->external);
        h->type = u->type;
        h->domain = n->shape;
        h->rigid = true;
        u->dropped = true;
        for (int32_t k = u->first; k >= 0; k = s->next[k]) s->unit_of[k] = host;
    }
}

bool lt_schedule_reads_through(const lt_schedule *s, const lt_unit *u, int32_t view)
{
    if (s->m->ir.node[view].op != LT_OP_VIEW) return false;
    for (int i = 0; s->unit_of[view] >= 0 && i < u->n_externals; i++)
        if (u->external[i] == view) return false;
    return true;
}

/* Loads of the raw result through views see elements before they are final: not an epilogue. */
static bool loads_only_dense(const lt_schedule *s, const lt_unit *u, int32_t id)
{
    for (int32_t k = u->first; k >= 0; k = s->next[k]) {
        const lt_ir_node *n = &s->m->ir.node[k];
        for (int i = 0; i < n->n_in; i++) {
            int32_t r = lt_schedule_strip(s, n->in[i]);
            if (lt_schedule_reads_through(s, u, r) && lt_schedule_memory(s, s->m->ir.node[r].in[0]) == id) return false;
        }
    }
    return true;
}

static lt_status attach_epilogues(lt_schedule *s)
{
    int32_t *readers = lt_calloc((size_t)LT_MAX(s->m->ir.n_nodes, 1), sizeof *readers);
    if (!readers) return LT_ERR_MEMORY;
    for (int i = 0; i < s->m->n_outputs; i++) readers[lt_schedule_memory(s, s->m->output[i])] += 2;
    for (int u = 0; u < s->n_units; u++) {
        const lt_unit *unit = &s->unit[u];
        for (int i = 0; i < unit->n_externals; i++)
            readers[unit->external[i]] += loads_only_dense(s, unit, unit->external[i]) ? 1 : 2;
        if (unit->op < 0) continue;
        const lt_ir_node *n = &s->m->ir.node[unit->op];
        for (int i = 0; i < n->n_in; i++) readers[lt_schedule_memory(s, lt_ir_in(n, i))] += 2;
    }
    for (int u = 0; u < s->n_units; u++)
        if (s->unit[u].op < 0) attach_epilogue(s, u, readers);
    lt_free(readers);
    return LT_OK;
}

/* ---- outputs and order ---- */

/* Outputs must have memory of their own: views are copied out, sources and repeats are copied by a
   reshape node that is given a unit. */
static lt_status claim_outputs(lt_module *m)
{
    bool *claimed = lt_calloc((size_t)m->ir.n_nodes + 1, sizeof *claimed);
    lt_status s = claimed ? LT_OK : LT_ERR_MEMORY;
    int n_before = m->ir.n_nodes;
    for (int i = 0; !s && i < m->n_outputs; i++) {
        int32_t id = m->output[i], base = id;
        while (m->ir.node[base].op == LT_OP_RESHAPE && base < n_before) base = m->ir.node[base].in[0];
        if (base < n_before && !claimed[base] && !is_source(&m->ir.node[base]) && m->ir.node[base].op != LT_OP_VIEW) {
            claimed[base] = true;
            continue;
        }
        bool view = m->ir.node[base].op == LT_OP_VIEW;
        lt_ir_node n = m->ir.node[view ? base : id];
        int32_t copy = view ? lt_ir_push(&m->ir, LT_OP_VIEW, (lt_dtype)n.dtype, &n.shape, 1, n.in, &n.attr)
                            : lt_ir_push(&m->ir, LT_OP_RESHAPE, (lt_dtype)n.dtype, &n.shape, 1, &id, NULL);
        if (copy < 0) s = LT_ERR_MEMORY; else m->output[i] = copy;
    }
    lt_free(claimed);
    return s;
}

/* Marks what the outputs need and counts uses, not counting those by reshapes but by what they
   are used for. */
static void mark_live(lt_schedule *s)
{
    const lt_ir *ir = &s->m->ir;
    for (int i = 0; i < s->m->n_outputs; i++) {
        s->live[s->m->output[i]] = true;
        s->uses[lt_schedule_strip(s, s->m->output[i])] += 2; /* never only once: it needs memory */
    }
    for (int32_t id = ir->n_nodes - 1; id >= 0; id--)
        for (int i = 0; s->live[id] && i < ir->node[id].n_in; i++) {
            int32_t in = lt_ir_in(&ir->node[id], i);
            s->live[in] = true;
            if (ir->node[id].op != LT_OP_RESHAPE || id >= s->first_copy) s->uses[lt_schedule_strip(s, in)]++;
        }
}

/* The i-th unit a unit depends on, with repeats; -1: a source, -2: no more. */
static int32_t dependency(const lt_schedule *s, const lt_unit *u, int i)
{
    if (i < u->n_externals) return s->unit_of[u->external[i]];
    i -= u->n_externals;
    if (u->op < 0 || i >= s->m->ir.node[u->op].n_in) return -2;
    return s->unit_of[lt_schedule_memory(s, lt_ir_in(&s->m->ir.node[u->op], i))];
}

/* Who waits for whom: users of unit u are user[first[u]..first[u+1]-1]. */
typedef struct users { int32_t *first, *user, *missing; } users;

static lt_status find_users(const lt_schedule *s, users *w)
{
    size_t n = (size_t)s->n_units;
    int32_t d;
    w->first = lt_calloc(n + 2, sizeof *w->first);
    w->missing = lt_calloc(n + 1, sizeof *w->missing);
    if (!w->first || !w->missing) return LT_ERR_MEMORY;
    for (int32_t u = 0; u < s->n_units; u++)
        for (int i = 0; !s->unit[u].dropped && (d = dependency(s, &s->unit[u], i)) != -2; i++)
            if (d >= 0 && d != u) { w->first[d + 2]++; w->missing[u]++; }
    for (size_t u = 2; u < n + 2; u++) w->first[u] += w->first[u - 1];
    w->user = lt_malloc(((size_t)w->first[n + 1] + 1) * sizeof *w->user);
    if (!w->user) return LT_ERR_MEMORY;
    for (int32_t u = 0; u < s->n_units; u++)
        for (int i = 0; !s->unit[u].dropped && (d = dependency(s, &s->unit[u], i)) != -2; i++)
            if (d >= 0 && d != u) w->user[w->first[d + 1]++] = u;
    return LT_OK;
}

/* Marks the units that the lead outputs need; stack has room for all units. */
static void mark_lead(lt_schedule *s, int32_t *stack)
{
    int n = 0;
    for (int o = 0; o < s->m->n_lead; o++) {
        int32_t u = s->unit_of[lt_schedule_memory(s, s->m->output[o])];
        if (u >= 0 && !s->unit[u].lead) s->unit[stack[n++] = u].lead = true;
    }
    while (n) {
        const lt_unit *u = &s->unit[stack[--n]];
        int32_t d;
        for (int i = 0; (d = dependency(s, u, i)) != -2; i++)
            if (d >= 0 && !s->unit[d].lead) s->unit[stack[n++] = d].lead = true;
    }
}

/* Ready units: lead ones first, then the one whose node was built first on top. */
typedef struct ready { int32_t *unit; int n; } ready;

static int64_t key_of(const lt_schedule *s, int32_t u)
{
    const lt_unit *unit = &s->unit[u];
    return (unit->op >= 0 ? unit->op : unit->first) + (unit->lead ? 0 : (int64_t)s->m->ir.n_nodes);
}

static void push_ready(const lt_schedule *s, ready *q, int32_t u)
{
    int at = q->n++;
    for (; at && key_of(s, q->unit[(at - 1) / 2]) > key_of(s, u); at = (at - 1) / 2) q->unit[at] = q->unit[(at - 1) / 2];
    q->unit[at] = u;
}

static int32_t pop_ready(const lt_schedule *s, ready *q)
{
    int32_t top = q->unit[0], last = q->unit[--q->n];
    int at = 0;
    for (int child = 1; child < q->n; child = 2 * at + 1) {
        if (child + 1 < q->n && key_of(s, q->unit[child + 1]) < key_of(s, q->unit[child])) child++;
        if (key_of(s, q->unit[child]) >= key_of(s, last)) break;
        q->unit[at] = q->unit[child];
        at = child;
    }
    q->unit[at] = last;
    return top;
}

/* The order in which the nodes were built, as far as dependencies allow: it is the order a person
   thought of, and a reverse sweep uses adjoints as soon as it has made them (decision 26). */
static lt_status order_units(lt_schedule *s)
{
    users w = { 0 };
    ready q = { lt_malloc(((size_t)s->n_units + 1) * sizeof *q.unit), 0 };
    int n_kept = 0;
    s->order = lt_malloc(((size_t)s->n_units + 1) * sizeof *s->order);
    lt_status status = q.unit && s->order ? find_users(s, &w) : LT_ERR_MEMORY;
    if (!status) mark_lead(s, q.unit);
    for (int32_t u = 0; !status && u < s->n_units; u++) {
        n_kept += !s->unit[u].dropped;
        if (!s->unit[u].dropped && !w.missing[u]) push_ready(s, &q, u);
    }
    while (!status && q.n) {
        int32_t u = pop_ready(s, &q);
        s->order[s->n_order++] = u;
        for (int32_t i = w.first[u]; i < w.first[u + 1]; i++)
            if (--w.missing[w.user[i]] == 0) push_ready(s, &q, w.user[i]);
    }
    if (!status && s->n_order != n_kept) status = LT_FAIL(LT_ERR_INTERNAL, "schedule: kernels depend on each other in a circle");
    lt_free(w.first);
    lt_free(w.user);
    lt_free(w.missing);
    lt_free(q.unit);
    return status;
}

/* A lazy view can be read through by one affine map only: what it looks at must be memory. */
static lt_status place_view(lt_schedule *s, int32_t id)
{
    if (!s->fuse || id >= s->first_copy) return place_op(s, id);
    int32_t base = lt_schedule_strip(s, s->m->ir.node[id].in[0]);
    if (s->waiting[base]) return lt_schedule_place_waiting(s, base);
    return s->m->ir.node[base].op == LT_OP_VIEW && s->unit_of[base] < 0 ? lt_schedule_copy_view(s, base) : LT_OK;
}

static lt_status schedule_nodes(lt_schedule *s)
{
    const lt_ir *ir = &s->m->ir;
    mark_live(s);
    for (int32_t id = 0; id < ir->n_nodes; id++) {
        const lt_ir_node *n = &ir->node[id];
        if (!s->live[id] || is_source(n)) continue;
        if (lt_is_groupable(ir, id)) LT_TRY(lt_schedule_place_groupable(s, id));
        else if (n->op == LT_OP_VIEW) LT_TRY(place_view(s, id));
        else if (n->op != LT_OP_RESHAPE || id >= s->first_copy) LT_TRY(place_op(s, id));
    }
    for (int i = 0; i < s->m->n_outputs; i++) s->stored[lt_schedule_strip(s, s->m->output[i])] = true;
    return LT_OK;
}

void lt_schedule_free(lt_schedule *s)
{
    lt_free(s->unit);
    lt_free(s->unit_of);
    lt_free(s->next);
    lt_free(s->stored);
    lt_free(s->live);
    lt_free(s->uses);
    lt_free(s->waiting);
    lt_free(s->wait_length);
    lt_free(s->wait_reread);
    lt_free(s->order);
    *s = (lt_schedule){ 0 };
}

lt_status lt_schedule_make(lt_module *m, bool fuse, lt_schedule *out)
{
    *out = (lt_schedule){ .m = m, .fuse = fuse, .first_copy = m->ir.n_nodes };
    LT_TRY(claim_outputs(m));
    size_t n = (size_t)LT_MAX(m->ir.n_nodes, 1);
    out->unit_of = lt_malloc(n * sizeof *out->unit_of);
    out->next = lt_malloc(n * sizeof *out->next);
    out->stored = lt_calloc(n, sizeof *out->stored);
    out->live = lt_calloc(n, sizeof *out->live);
    out->uses = lt_calloc(n, sizeof *out->uses);
    out->waiting = lt_calloc(n, sizeof *out->waiting);
    out->wait_length = lt_calloc(n, sizeof *out->wait_length);
    out->wait_reread = lt_calloc(n, sizeof *out->wait_reread);
    bool made = out->unit_of && out->next && out->stored && out->live && out->uses && out->waiting && out->wait_length && out->wait_reread;
    lt_status s = made ? LT_OK : LT_ERR_MEMORY;
    if (!s) {
        memset(out->unit_of, -1, n * sizeof *out->unit_of);
        memset(out->next, -1, n * sizeof *out->next);
        s = schedule_nodes(out);
    }
    if (!s && fuse) s = attach_epilogues(out);
    if (!s) s = order_units(out);
    if (s) lt_schedule_free(out);
    return s;
}
