/* A solution as a dict of plain Python and NumPy values: lathe.solution makes the object users see. SPDX-License-Identifier: BSD-3-Clause */
#include "core.h"

/* What a point has beside x and f when there are constraints. */
static int put_measures(PyObject *d, const lt_solution_point *p, const lt_solution *s)
{
    return core_put(d, "ci", core_vector(p->ci ? p->ci : p->x, s->p)) || core_put(d, "ce", core_vector(p->ce ? p->ce : p->x, s->q)) ||
           core_put(d, "tvi", PyFloat_FromDouble(p->tvi)) || core_put(d, "tve", PyFloat_FromDouble(p->tve)) ||
           core_put(d, "tv", PyFloat_FromDouble(p->tv)) || core_put(d, "feasible_to_tol", PyBool_FromLong(p->feasible_to_tol)) ||
           core_put(d, "mu", PyFloat_FromDouble(p->mu));
}

static PyObject *point_dict(const lt_solution_point *p, const lt_solution *s)
{
    if (!p->present) return Py_NewRef(Py_None);
    PyObject *d = PyDict_New();
    if (!d || core_put(d, "x", core_vector(p->x, s->n)) || core_put(d, "f", PyFloat_FromDouble(p->f)) || ((s->p || s->q) && put_measures(d, p, s)))
        Py_CLEAR(d);
    return d;
}

PyObject *core_hessian_dict(const lt_hessian_state *h)
{
    if (h->H) return core_matrix(h->H, h->n, h->n);
    if (!h->S) return Py_NewRef(Py_None);
    PyObject *d = PyDict_New();
    if (!d || core_put(d, "S", core_matrix(h->S, h->m, h->n)) || core_put(d, "Y", core_matrix(h->Y, h->m, h->n)) ||
        core_put(d, "rho", core_vector(h->rho, h->m)) || core_put(d, "gamma", PyFloat_FromDouble(h->gamma)))
        Py_CLEAR(d);
    return d;
}

static PyObject *counts_dict(const lt_bfgs_counts *c)
{
    return Py_BuildValue("{s:L,s:L,s:L,s:L,s:L,s:L,s:L}", "requests", (long long)c->requests, "updates", (long long)c->updates, "damped_requests",
                         (long long)c->damped_requests, "damped_updates", (long long)c->damped_updates, "scaling_skips",
                         (long long)c->scaling_skips, "sty_fails", (long long)c->sty_fails, "infnan_fails", (long long)c->infnan_fails);
}

static PyObject *scalings_dict(const lt_solution *s)
{
    PyObject *d = PyDict_New();
    if (!d || (s->scalings.f && core_put(d, "f", PyFloat_FromDouble(*s->scalings.f))) ||
        (s->scalings.ci && core_put(d, "ci", core_vector(s->scalings.ci, s->p))) ||
        (s->scalings.ce && core_put(d, "ce", core_vector(s->scalings.ce, s->q))))
        Py_CLEAR(d);
    return d;
}

/* One row of numbers per accepted step; lathe.solution names the columns. */
static PyObject *history_array(const lt_solution *s)
{
    enum { COLUMNS = 14 };
    lt_shape shape = lt_shape2(s->n_history, COLUMNS);
    void *data;
    PyObject *array = core_array_new(LT_F64, &shape, &data);
    double *to = data;
    for (int64_t i = 0; array && i < s->n_history; i++, to += COLUMNS) {
        const lt_history_row *h = &s->history[i];
        const double row[COLUMNS] = { (double)h->iter, (double)h->evals, h->mu, h->phi, h->f, h->tvi, h->tve, h->t, h->stat, h->stat_unweighted,
                                      h->level, h->qp_attempts, (double)h->n_gradients, h->seconds };
        for (int j = 0; j < COLUMNS; j++) to[j] = row[j];
    }
    return array;
}

static int put_points(PyObject *d, const lt_solution *s)
{
    return core_put(d, "final", point_dict(&s->final, s)) || core_put(d, "best", point_dict(&s->best, s)) ||
           core_put(d, "most_feasible", point_dict(&s->most_feasible, s)) || core_put(d, "final_unscaled", point_dict(&s->final_unscaled, s)) ||
           core_put(d, "best_unscaled", point_dict(&s->best_unscaled, s)) ||
           core_put(d, "most_feasible_unscaled", point_dict(&s->most_feasible_unscaled, s)) || core_put(d, "scalings", scalings_dict(s)) ||
           core_put(d, "H_final", core_hessian_dict(&s->H_final));
}

static int put_numbers(PyObject *d, const lt_solution *s)
{
    const struct { const char *name; int64_t value; } whole[] = {
        { "n", s->n }, { "p", s->p }, { "q", s->q }, { "iters", s->iters }, { "fn_evals", s->fn_evals }, { "gradient_evals", s->gradient_evals },
        { "termination_code", s->termination_code }, { "n_qp", s->n_qp }, { "n_mu_reductions", s->n_mu_reductions }, { "n_start_moved", s->n_start_moved },
    };
    const struct { const char *name; double value; } real[] = {
        { "stat_value", s->stat_value }, { "stat_unweighted", s->stat_unweighted }, { "stat_mu_normalised", s->stat_mu_normalised },
        { "quadprog_failure_rate", s->quadprog_failure_rate }, { "mu_lowest", s->mu_lowest }, { "time_total", s->time_total },
        { "time_eval", s->time_eval }, { "time_qp", s->time_qp }, { "time_h", s->time_h }, { "time_compile", s->time_compile },
    };
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
        if (core_put(d, whole[i].name, PyLong_FromLongLong(whole[i].value))) return -1;
    for (size_t i = 0; i < sizeof real / sizeof *real; i++)
        if (core_put(d, real[i].name, PyFloat_FromDouble(real[i].value))) return -1;
    return 0;
}

/* Numbers of a list as a NumPy array of integers. */
static PyObject *numbers_array(const int64_t *from, int64_t n)
{
    lt_shape shape = lt_shape1(n);
    void *data;
    PyObject *array = core_array_new(LT_I64, &shape, &data);
    for (int64_t i = 0; array && i < n; i++) ((int64_t *)data)[i] = from[i];
    return array;
}

static PyObject *certificate_dict(const lt_solution *s)
{
    const lt_certificate *c = s->certificate;
    const struct { const char *name; double value; } real[] = {
        { "residual", c->residual }, { "stationarity", c->stationarity }, { "complementarity", c->complementarity },
        { "weight", c->weight }, { "mu", c->mu }, { "condition", c->condition },
    };
    PyObject *d = PyDict_New();
    for (size_t i = 0; d && i < sizeof real / sizeof *real; i++)
        if (core_put(d, real[i].name, PyFloat_FromDouble(real[i].value))) Py_CLEAR(d);
    if (d && (core_put(d, "stationary", PyBool_FromLong(c->stationary)) || core_put(d, "samples", PyLong_FromLongLong(c->n_samples)) ||
              core_put(d, "ci_multipliers", c->ci_multipliers ? core_vector(c->ci_multipliers, s->p) : Py_NewRef(Py_None)) ||
              core_put(d, "ce_multipliers", c->ce_multipliers ? core_vector(c->ce_multipliers, s->q) : Py_NewRef(Py_None)) ||
              core_put(d, "violated", numbers_array(c->violated, c->n_violated)) || core_put(d, "active", numbers_array(c->active, c->n_active)) ||
              core_put(d, "bound_multipliers", core_vector(c->bound_multipliers, s->n)) || core_put(d, "conflict", numbers_array(c->conflict, c->n_conflict)) || core_put(d, "conflict_weights", core_vector(c->conflict_weights, c->n_conflict))))
        Py_CLEAR(d);
    return d;
}

/* (name, was, now) of each. */
static PyObject *changes_list(const lt_solution *s)
{
    PyObject *list = PyList_New(0);
    for (int64_t i = 0; list && i < s->n_changed_options; i++) {
        const lt_option_change *c = &s->changed_options[i];
        PyObject *item = Py_BuildValue("(sss)", c->name, c->was, c->now);
        if (!item || PyList_Append(list, item)) Py_CLEAR(list);
        Py_XDECREF(item);
    }
    return list;
}

PyObject *core_solution_dict(const lt_solution *s)
{
    PyObject *d = PyDict_New();
    if (!d || put_points(d, s) || put_numbers(d, s) || core_put(d, "BFGS_updates", counts_dict(&s->BFGS_updates)) || core_put(d, "certificate", certificate_dict(s)) ||
        core_put(d, "message", core_text(lt_termination_text(s->termination_code))) || core_put(d, "error", core_text(s->error)) ||
        core_put(d, "device", core_text(s->device)) || core_put(d, "device_reason", core_text(s->device_reason)) ||
        core_put(d, "changed_options", changes_list(s)) || core_put(d, "interrupted", PyBool_FromLong(s->interrupted)) || core_put(d, "history", history_array(s)))
        Py_CLEAR(d);
    return d;
}
