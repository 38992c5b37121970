/* What a logging function sees after each step. SPDX-License-Identifier: BSD-3-Clause */
#include "core.h"

PyObject *core_iterate_dict(const lt_iterate *it)
{
    lt_hessian_state h = { 0 };
    PyObject *d = PyDict_New();
    if (!d) return NULL;
    if (lt_iterate_hessian(it, &h)) h = (lt_hessian_state){ 0 };
    bool bad = core_put(d, "iter", PyLong_FromLongLong(it->iter)) || core_put(d, "x", core_vector(it->x, it->n)) ||
        core_put(d, "f", PyFloat_FromDouble(it->f)) || core_put(d, "mu", PyFloat_FromDouble(it->mu)) ||
        core_put(d, "phi", PyFloat_FromDouble(it->phi)) || core_put(d, "grad_f", core_vector(it->grad_f, it->n)) ||
        core_put(d, "grad_phi", core_vector(it->grad_phi, it->n)) || core_put(d, "ci", core_vector(it->ci, it->p)) ||
        core_put(d, "grad_ci", core_matrix(it->grad_ci, it->p, it->n)) || core_put(d, "ce", core_vector(it->ce, it->q)) ||
        core_put(d, "grad_ce", core_matrix(it->grad_ce, it->q, it->n)) || core_put(d, "tvi", PyFloat_FromDouble(it->tvi)) ||
        core_put(d, "tve", PyFloat_FromDouble(it->tve)) || core_put(d, "tv", PyFloat_FromDouble(it->tv)) ||
        core_put(d, "tvi_l1", PyFloat_FromDouble(it->tvi_l1)) || core_put(d, "tve_l1", PyFloat_FromDouble(it->tve_l1)) ||
        core_put(d, "tv_l1", PyFloat_FromDouble(it->tv_l1)) || core_put(d, "feasible_to_tol", PyBool_FromLong(it->feasible_to_tol)) ||
        core_put(d, "d", core_vector(it->d, it->n)) || core_put(d, "alpha", PyFloat_FromDouble(it->alpha)) ||
        core_put(d, "ls_evals", PyLong_FromLongLong(it->ls_evals)) || core_put(d, "n_gradients", PyLong_FromLongLong(it->n_gradients)) ||
        core_put(d, "stat_vec", core_vector(it->stat_vec, it->n)) || core_put(d, "stat_val", PyFloat_FromDouble(it->stat_val)) ||
        core_put(d, "fallback_level", PyLong_FromLong(it->fallback_level)) ||
        core_put(d, "H_regularised", core_matrix(it->H_regularised, it->n, it->n)) || core_put(d, "H", core_hessian_dict(&h));
    lt_hessian_state_release(&h);
    if (bad) Py_CLEAR(d);
    return d;
}

/* True to stop: the function returned something true, or failed. */
bool core_iterate_call(void *callback, const lt_iterate *it)
{
    PyGILState_STATE gil = PyGILState_Ensure();
    PyObject *d = core_iterate_dict(it), *made = d ? PyObject_CallFunctionObjArgs(callback, d, NULL) : NULL;
    int stop = made ? PyObject_IsTrue(made) : -1;
    if (stop < 0) core_keep_exception();
    Py_XDECREF(made);
    Py_XDECREF(d);
    PyGILState_Release(gil);
    return stop != 0;
}
