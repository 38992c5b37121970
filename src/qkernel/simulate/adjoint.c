/* Two states back through the passes of a factor. SPDX-License-Identifier: BSD-3-Clause */
#include "qkernel/simulate/adjoint.h"

#include "base/status.h"

/* The vector t turned back by a gate: with the quaternion (c0; c), t + 2 c0 (t x c) + 2 c x (c x t), which is the inverse rotation. */
void lt_turn_back(double t[3], const lt_su2 *g)
{
    const double c0 = g->ar, c[3] = { -g->bi, g->br, -g->ai };
    double u[3] = { t[1] * c[2] - t[2] * c[1], t[2] * c[0] - t[0] * c[2], t[0] * c[1] - t[1] * c[0] };         /* t x c */
    double v[3] = { u[1] * c[2] - u[2] * c[1], u[2] * c[0] - u[0] * c[2], u[0] * c[1] - u[1] * c[0] };         /* (t x c) x c = c x (c x t) */
    for (int k = 0; k < 3; k++) t[k] += 2 * c0 * u[k] + 2 * v[k];
}

lt_su2 lt_turn_of(const lt_turn *t, double sine, double cosine)
{
    if (t->axis < 0) return t->fixed;
    if (t->axis == LT_AXIS_X) return (lt_su2){ cosine, 0, 0, -sine };
    if (t->axis == LT_AXIS_Y) return (lt_su2){ cosine, 0, sine, 0 };
    return (lt_su2){ cosine, -sine, 0, 0 };
}

bool lt_gate_varies(const lt_factor *f, const lt_wire_gate *gate)
{
    for (int32_t k = gate->first; k < gate->first + gate->n; k++)
        if (f->turn[k].axis >= 0 && f->turn[k].step >= 0) return true;
    return false;
}

/* ---- what is asked for ---- */

static bool step_wanted(const lt_adjoint *a, int32_t step)
{
    const lt_compiled *p = a->m->program;
    return step >= 0 && p->circuit->exprs.node[p->tape.step[step].node].needs & a->needs;
}

static bool gate_wanted(const lt_adjoint *a, const lt_factor *f, const lt_wire_gate *gate)
{
    for (int32_t k = gate->first; k < gate->first + gate->n; k++)
        if (f->turn[k].axis >= 0 && step_wanted(a, f->turn[k].step)) return true;
    return false;
}

static bool pass_wanted(const lt_adjoint *a, const lt_factor *f, const lt_state_pass *pass)
{
    bool any = false;
    for (int32_t i = pass->first; !any && i < pass->first + pass->n; i++) {
        if (pass->kind == LT_STATE_PASS_PHASES) any = step_wanted(a, f->term[i].step);
        if (pass->kind == LT_STATE_PASS_GATES || pass->kind == LT_STATE_PASS_PRODUCT) any = gate_wanted(a, f, &f->gate[i]);
    }
    return any;
}

/* ---- derivatives ---- */

/* Im <lambda|P|phi> of a wire behind its gate, turned back through the gate's turns one by one. */
static void slopes_of_gate(const lt_adjoint *a, const lt_factor *f, const lt_wire_gate *gate, const double *twist)
{
    const int lanes = a->m->loops->lanes;
    if (!gate_wanted(a, f, gate)) return;
    for (int r = 0; r < lanes; r++) {
        double t[3] = { twist[r], twist[lanes + r], twist[2 * lanes + r] };
        for (int32_t k = gate->first + gate->n - 1; k >= gate->first; k--) {
            const lt_turn *turn = &f->turn[k];
            if (turn->axis >= 0 && turn->step >= 0) a->slope[(int64_t)turn->step * lanes + r] += turn->factor * t[turn->axis] / 2;
            lt_su2 su2 = lt_turn_of(turn, a->phi.sine[(int64_t)k * lanes + r], a->phi.cosine[(int64_t)k * lanes + r]);
            lt_turn_back(t, &su2);
        }
    }
}

static void slopes_of_phases(const lt_adjoint *a, const lt_factor *f, const lt_state_pass *pass)
{
    const int lanes = a->m->loops->lanes;
    a->m->loops->parities(a->lambda.state, a->phi.state, f->q, pass->n, f->term + pass->first, a->transform, a->sums);
    for (int32_t t = 0; t < pass->n; t++) {
        const lt_phase_term *term = &f->term[pass->first + t];
        for (int r = 0; term->step >= 0 && r < lanes; r++) a->slope[(int64_t)term->step * lanes + r] += term->factor * a->sums[(int64_t)t * lanes + r] / 2;
    }
}

/* A phase e^{i a} of all amplitudes: -Im <lambda|phi> by a. */
static void slopes_of_global_phase(const lt_adjoint *a, const lt_factor *f)
{
    const lt_compiled *p = a->m->program;
    const int lanes = a->m->loops->lanes;
    if (f != p->factor || p->n_phases == 0) return;
    a->m->loops->parities(a->lambda.state, a->phi.state, f->q, 1, &(lt_phase_term){ 0 }, a->transform, a->sums);
    for (int32_t i = 0; i < p->n_phases; i++)
        for (int r = 0; p->phase[i].step >= 0 && r < lanes; r++) a->slope[(int64_t)p->phase[i].step * lanes + r] -= p->phase[i].factor * a->sums[r];
}

/* The gates that the states begin with are not undone. */
static void slopes_of_product(const lt_adjoint *a, const lt_factor *f, const lt_state_pass *pass)
{
    for (int32_t i = pass->first; i < pass->first + pass->n; i++) {
        if (!gate_wanted(a, f, &f->gate[i])) continue;
        a->m->loops->twist(a->lambda.state, a->phi.state, f->q, f->gate[i].bit, a->twist);
        slopes_of_gate(a, f, &f->gate[i], a->twist);
    }
}

/* ---- passes ---- */

static void undo(lt_adjoint *a, const lt_factor *f, const lt_state_pass *pass)
{
    lt_simulate_pass(a->m, &a->phi, f, pass, true);
    lt_simulate_pass(a->m, &a->lambda, f, pass, true);
}

static void back_through_gates(lt_adjoint *a, const lt_factor *f, const lt_state_pass *pass)
{
    const lt_simulate_loops *l = a->m->loops;
    int bit[LT_STATES_MAX_QUBITS];
    for (int32_t i = 0; i < pass->n; i++) bit[i] = f->gate[pass->first + i].bit;
    l->back(a->lambda.state, a->phi.state, f->q, pass->n, bit, lt_simulate_coef_at(a->m, &a->phi, pass->first), a->twist);
    for (int32_t i = 0; i < pass->n; i++) slopes_of_gate(a, f, &f->gate[pass->first + i], a->twist + 3 * i * l->lanes);
}

static void back_through(lt_adjoint *a, const lt_factor *f, const lt_state_pass *pass)
{
    const bool wanted = pass_wanted(a, f, pass);
    if (wanted && pass->kind == LT_STATE_PASS_GATES) {
        back_through_gates(a, f, pass);
        return;
    }
    if (wanted) slopes_of_phases(a, f, pass);
    undo(a, f, pass);
}

static void undo_ring(const lt_adjoint *a, lt_slot *s, const lt_factor *f, const lt_state_pass *pass)
{
    if (pass->back.low) lt_simulate_pass(a->m, s, f, &(lt_state_pass){ .kind = LT_STATE_PASS_PERMUTE, .ring = pass->back }, false);
}

/* The tables are the slot's own until the next factor: turns of phi serve lambda too, coefficients likewise. */
void lt_adjoint_run(lt_adjoint *a, const lt_factor *f)
{
    int32_t earliest = 0;
    while (earliest < f->n_passes && !pass_wanted(a, f, &f->pass[earliest])) earliest++;
    slopes_of_global_phase(a, f);
    if (earliest == f->n_passes) return;
    lt_simulate_turns(a->m, &a->phi, f); /* the global phase used their place */
    for (int32_t i = f->n_passes - 1; i >= LT_MAX(earliest, 1); i--) back_through(a, f, &f->pass[i]);
    if (earliest > 0) return;
    undo_ring(a, &a->phi, f, &f->pass[0]);
    undo_ring(a, &a->lambda, f, &f->pass[0]);
    slopes_of_product(a, f, &f->pass[0]);
}
