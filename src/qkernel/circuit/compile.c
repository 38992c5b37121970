/* Compiles circuits: binds angles, leaves out what cancels in overlaps, finds wires that never meet. SPDX-License-Identifier: BSD-3-Clause */
#include "qkernel/circuit/compile.h"

#include "base/alloc.h"
#include "base/number.h"
#include "base/status.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct work {
    lt_compiled *p;
    lt_compile_for what;
    bool        one_factor;
    lt_prims    prims;
    lt_bound   *bound;
    int32_t    *root, *local;    /* of each wire: union-find; its place in its factor */
    int64_t    *which;           /* primitives by factor */
} work;

/* ---- angles ---- */

static lt_status make_tape(work *k)
{
    lt_compiled *p = k->p;
    int32_t *wanted = lt_malloc((size_t)LT_MAX(1, k->prims.n) * sizeof *wanted), n = 0;
    if (!wanted) return LT_ERR_MEMORY;
    for (int64_t i = 0; i < k->prims.n; i++)
        if (k->prims.prim[i].angle.node >= 0) wanted[n++] = k->prims.prim[i].angle.node;
    lt_status s = lt_tape_make(&p->circuit->exprs, wanted, n, p->weights, p->keep_weights, &p->tape);
    lt_free(wanted);
    return s;
}

static void bind(work *k)
{
    const lt_compiled *p = k->p;
    for (int64_t i = 0; i < k->prims.n; i++) {
        const lt_angle *a = &k->prims.prim[i].angle;
        lt_bound b = { .prim = k->prims.prim[i], .step = -1, .factor = a->factor, .offset = a->offset };
        if (a->node >= 0) {
            int32_t step = p->tape.at[a->node];
            b.of_x = p->circuit->exprs.node[a->node].needs & LT_EXPR_NEEDS_X;
            if (p->tape.step[step].op == LT_EXPR_NUMBER) b.offset += a->factor * p->tape.step[step].value;
            else b.step = step;
        }
        k->bound[i] = b;
    }
}

/* ---- what cancels ---- */

/* Backwards: a primitive without x whose wires are touched by nothing that stays behind it is part of a unitary that all rows share. */
static void drop_suffix(work *k)
{
    lt_compiled *p = k->p;
    int32_t *blocked = k->local; /* not used before factors are made */
    for (int64_t i = k->prims.n - 1; i >= 0; i--) {
        lt_bound *b = &k->bound[i];
        const int32_t *wire = k->prims.wire + b->prim.first;
        bool stays = b->of_x || b->prim.n == 0;
        for (int j = 0; j < b->prim.n; j++) stays |= blocked[wire[j]] != 0;
        for (int j = 0; stays && j < b->prim.n; j++) blocked[wire[j]] = 1;
        b->dropped = !stays;
        p->n_dropped += b->dropped;
    }
}

/* Global phases leave the list: they cancel in fidelities, and where they do not depend on x in all overlaps. */
static lt_status take_phases(work *k)
{
    lt_compiled *p = k->p;
    int32_t n = 0;
    for (int64_t i = 0; i < k->prims.n; i++) n += k->bound[i].prim.op == LT_PRIM_PHASE;
    p->phase = lt_malloc((size_t)LT_MAX(1, n) * sizeof *p->phase);
    if (!p->phase) return LT_ERR_MEMORY;
    for (int64_t i = 0; i < k->prims.n; i++) {
        lt_bound *b = &k->bound[i];
        if (b->prim.op != LT_PRIM_PHASE) continue;
        b->dropped = true;
        bool wanted = k->what == LT_COMPILE_STATES || (k->what == LT_COMPILE_REAL && b->of_x);
        if (wanted) p->phase[p->n_phases++] = (lt_phase_term){ 0, b->step, b->factor, b->offset };
        else p->n_dropped++;
    }
    return LT_OK;
}

/* ---- factors ---- */

static int32_t root_of(int32_t *root, int32_t w)
{
    while (root[w] != w) w = root[w] = root[root[w]];
    return w;
}

static void join_wires(work *k)
{
    const lt_circuit *c = k->p->circuit;
    bool all = k->p->whole || c->amplitudes;
    int32_t touched = -1;
    for (int32_t w = 0; w < c->n_qubits; w++) k->root[w] = all ? 0 : w;
    for (int64_t i = 0; !all && i < k->prims.n; i++) {
        const lt_bound *b = &k->bound[i];
        const int32_t *wire = k->prims.wire + b->prim.first;
        if (b->dropped) continue;
        for (int j = 1; j < b->prim.n; j++) k->root[root_of(k->root, wire[j])] = root_of(k->root, wire[0]);
        if (k->one_factor && b->prim.n > 0 && touched >= 0) k->root[root_of(k->root, wire[0])] = root_of(k->root, touched);
        if (b->prim.n > 0) touched = wire[0];
    }
}

/* The factor of the wires with this root, of the n primitives `which`; wires that none touches are in no factor. */
static lt_status make_factor(work *k, int32_t root, const int64_t *which, int64_t n, bool wanted)
{
    lt_compiled *p = k->p;
    const int64_t q = p->circuit->n_qubits;
    int n_wires = 0;
    if (n == 0 && !wanted) return LT_OK;
    lt_factor *f = &p->factor[p->n_factors++];
    for (int32_t w = 0; w < q; w++) n_wires += root_of(k->root, w) == root;
    f->wire = lt_malloc((size_t)n_wires * sizeof *f->wire);
    if (!f->wire) return LT_ERR_MEMORY;
    for (int32_t w = 0; w < q; w++)
        if (root_of(k->root, w) == root) k->local[w] = f->q, f->wire[f->q++] = w;
    if (f->q > LT_STATES_MAX_QUBITS)
        return LT_FAIL(LT_ERR_ARGUMENT, "circuit: %d qubits are joined by its gates, too many for state vectors (at most %d)", f->q, LT_STATES_MAX_QUBITS);
    return lt_schedule(p, f, k->bound, which, n, k->prims.wire, k->local);
}

static int32_t root_of_prim(work *k, int64_t i) { return root_of(k->root, k->prims.wire[k->bound[i].prim.first]); }

/* Primitives sorted by factor, in their order inside each: first[root] begins a factor's. */
static lt_status make_factors(work *k)
{
    lt_compiled *p = k->p;
    const int64_t q = p->circuit->n_qubits;
    int64_t *first = lt_calloc((size_t)q + 1, sizeof *first);
    p->factor = lt_calloc((size_t)q, sizeof *p->factor);
    lt_status s = first && p->factor ? LT_OK : LT_ERR_MEMORY;
    if (!s) join_wires(k);
    for (int64_t i = 0; !s && i < k->prims.n; i++)
        if (!k->bound[i].dropped) first[root_of_prim(k, i) + 1]++;
    for (int64_t w = 0; !s && w < q; w++) first[w + 1] += first[w];
    for (int64_t i = 0; !s && i < k->prims.n; i++)
        if (!k->bound[i].dropped) k->which[first[root_of_prim(k, i)]++] = i;
    for (int32_t w = 0; !s && w < q; w++) { /* filling moved each beginning to its end */
        int64_t begin = w ? first[w - 1] : 0;
        bool wanted = p->whole || p->circuit->amplitudes || (w == q - 1 && p->n_factors == 0); /* a circuit without x has one too */
        if (root_of(k->root, w) == w) s = make_factor(k, w, k->which + begin, first[w] - begin, wanted);
    }
    lt_free(first);
    return s;
}

/* ---- what came out ---- */

static bool turns_are_real(const lt_factor *f, const lt_wire_gate *g)
{
    for (int32_t i = 0; i < g->n; i++) {
        const lt_turn *t = &f->turn[g->first + i];
        if (t->axis == -1 ? t->fixed.ai != 0 || t->fixed.bi != 0 : t->axis != LT_AXIS_Y) return false;
    }
    return true;
}

static bool pass_is_real(const lt_compiled *p, const lt_factor *f, const lt_state_pass *a)
{
    if (a->kind == LT_STATE_PASS_PHASES) return false;
    for (int32_t i = 0; a->kind == LT_STATE_PASS_PRODUCT && i < a->n; i++)
        if (!turns_are_real(f, &f->gate[a->first + i])) return false;
    for (int32_t i = 0; a->kind == LT_STATE_PASS_GATES && i < a->n; i++)
        if (!turns_are_real(f, &f->gate[a->first + i])) return false;
    for (int64_t i = 0; a->kind == LT_STATE_PASS_MATRIX && i < INT64_C(1) << (2 * a->n_bits); i++)
        if (p->circuit->number[a->matrix + 2 * i + 1] != 0) return false;
    return true;
}

/* Operations of one row, counted as real ones: a gate 14 for each amplitude, a Hadamard 2, a phase 8 for its sum, 30 for sine and cosine and 6. */
static double pass_flops(const lt_factor *f, const lt_state_pass *a)
{
    double amplitudes = ldexp(1, f->q);
    switch (a->kind) {
    case LT_STATE_PASS_PRODUCT: return 8 * amplitudes;
    case LT_STATE_PASS_GATES: return 14 * amplitudes * a->n;
    case LT_STATE_PASS_HADAMARDS: return 2 * amplitudes * a->n;
    case LT_STATE_PASS_PHASES: return 44 * amplitudes;
    case LT_STATE_PASS_MATRIX: return 8 * amplitudes * ldexp(1, a->n_bits);
    default: return 2 * amplitudes;
    }
}

static void summarise(work *k)
{
    lt_compiled *p = k->p;
    for (int64_t i = 0; i < k->prims.n; i++) {
        const lt_prim *prim = &k->bound[i].prim;
        p->weights_matter |= !k->bound[i].dropped && prim->angle.node >= 0 && (p->circuit->exprs.node[prim->angle.node].needs & LT_EXPR_NEEDS_W);
    }
    p->product = !p->whole && !p->circuit->amplitudes;
    p->real = p->n_phases == 0;
    for (int i = 0; i < p->n_factors; i++) {
        const lt_factor *f = &p->factor[i];
        p->product &= f->q == 1;
        p->widest = LT_MAX(p->widest, f->q);
        p->amplitudes += INT64_C(1) << f->q;
        for (int32_t a = 0; a < f->n_passes; a++) {
            p->real &= pass_is_real(p, f, &f->pass[a]);
            p->flops += pass_flops(f, &f->pass[a]);
        }
    }
}

static lt_status compile(work *k)
{
    lt_compiled *p = k->p;
    const size_t q = (size_t)p->circuit->n_qubits;
    LT_TRY(lt_prims_of(p->circuit, &k->prims));
    LT_TRY(make_tape(k));
    k->bound = lt_calloc((size_t)LT_MAX(1, k->prims.n), sizeof *k->bound);
    k->which = lt_calloc((size_t)LT_MAX(1, k->prims.n), sizeof *k->which);
    k->root = lt_calloc(q, sizeof *k->root);
    k->local = lt_calloc(q, sizeof *k->local);
    if (!k->bound || !k->which || !k->root || !k->local) return LT_ERR_MEMORY;
    p->n_gates = p->circuit->n_gates;
    p->n_prims = k->prims.n;
    bind(k);
    if (!p->whole) drop_suffix(k);
    LT_TRY(take_phases(k));
    LT_TRY(make_factors(k));
    summarise(k);
    return LT_OK;
}

lt_status lt_compiled_create(const lt_circuit *c, const double *weights, lt_compile_for what, unsigned flags, lt_compiled **out)
{
    *out = NULL;
    lt_compiled *p = lt_calloc(1, sizeof *p);
    if (!p) return LT_ERR_MEMORY;
    work k = { .p = p, .what = what, .one_factor = (flags & LT_COMPILE_ONE_FACTOR) != 0 };
    p->keep_weights = (flags & LT_COMPILE_KEEP_WEIGHTS) != 0;
    p->whole = what == LT_COMPILE_STATES;
    p->weights = lt_calloc((size_t)LT_MAX(1, c->n_weights), sizeof *p->weights);
    lt_status s = p->weights ? lt_circuit_copy(c, &p->circuit) : LT_ERR_MEMORY;
    if (!s && c->n_weights) memcpy(p->weights, weights, (size_t)c->n_weights * sizeof *weights);
    if (!s) s = compile(&k);
    lt_prims_destroy(&k.prims);
    lt_free(k.bound);
    lt_free(k.which);
    lt_free(k.root);
    lt_free(k.local);
    if (s) {
        lt_compiled_destroy(p);
        return s;
    }
    *out = p;
    return LT_OK;
}

void lt_compiled_destroy(lt_compiled *p)
{
    if (!p) return;
    for (int i = 0; i < p->n_factors; i++) {
        lt_factor *f = &p->factor[i];
        for (int32_t a = 0; a < f->n_passes; a++) {
            lt_ring_destroy(&f->pass[a].ring);
            lt_ring_destroy(&f->pass[a].back);
        }
        lt_free(f->wire);
        lt_free(f->pass);
        lt_free(f->gate);
        lt_free(f->turn);
        lt_free(f->term);
    }
    lt_free(p->factor);
    lt_free(p->phase);
    lt_tape_destroy(&p->tape);
    lt_circuit_destroy(p->circuit);
    lt_free(p->weights);
    lt_free(p);
}

void lt_compiled_describe(const lt_compiled *p, char *text, size_t bytes)
{
    static const char *const names[] = { "product", "amplitudes", "of gates", "of Hadamards", "of phases", "of permutations", "of a matrix" };
    _Static_assert(LT_LEN(names) == LT_STATE_PASS_COUNT, "one name per pass");
    int64_t n_passes = 0, count[LT_STATE_PASS_COUNT] = { 0 };
    for (int i = 0; i < p->n_factors; i++)
        for (int32_t a = 0; a < p->factor[i].n_passes; a++) n_passes++, count[p->factor[i].pass[a].kind]++;
    int used = snprintf(text, bytes, "circuit: %lld gates, %lld primitives of which %lld cancel; %lld pass%s over states", (long long)p->n_gates,
                        (long long)p->n_prims, (long long)p->n_dropped, (long long)n_passes, n_passes == 1 ? "" : "es");
    for (int k = 0, first = 1; k < LT_STATE_PASS_COUNT && used > 0 && (size_t)used < bytes; k++) {
        if (!count[k]) continue;
        used += snprintf(text + used, bytes - (size_t)used, "%s%lld %s", first ? " (" : ", ", (long long)count[k], names[k]);
        first = 0;
    }
    if (used > 0 && (size_t)used < bytes)
        snprintf(text + used, bytes - (size_t)used, "%s\nfactors: %d, the largest of %d qubit%s; %.0f floating-point operations and %s for a row's states",
                 n_passes ? ")" : "", p->n_factors, p->widest, p->widest == 1 ? "" : "s", p->flops, lt_bytes_str((double)p->amplitudes * (p->real ? 8 : 16)).s);
}
