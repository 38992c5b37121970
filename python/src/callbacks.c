/* Python functions called from C: values(x) and gradients(x) of a problem. SPDX-License-Identifier: BSD-3-Clause

   x is an array of n numbers. It is handed out again only when nobody kept it, so a function may store it.
   values returns (f, ci, ce), gradients (df, dci, dce) with one row of n numbers per constraint; a single object stands for the first alone. */
#include "core.h"

#include <string.h>

/* An array with x in it; the spare one if no other reference to it is left. */
static PyObject *point_array(core_problem *p, const double *x)
{
    PyObject *spare = p->spare;
    p->spare = NULL;
    if (!spare || Py_REFCNT(spare) != 1) {
        Py_XDECREF(spare);
        return core_vector(x, p->n);
    }
    core_array a;
    if (core_array_take(spare, LT_F64, "x", &a)) {
        Py_DECREF(spare);
        return NULL;
    }
    memcpy(a.data, x, (size_t)p->n * sizeof *x);
    core_array_release(&a);
    return spare;
}

static int wrong_count(const char *what, int64_t got, int64_t expected)
{
    PyErr_Format(core.error[LT_ERR_SHAPE], "%s has %lld numbers: expected %lld", what, (long long)got, (long long)expected);
    return -1;
}

static int fill(PyObject *obj, const char *what, double *to, int64_t n)
{
    if (!to) return 0;
    if (n == 1 && (PyFloat_Check(obj) || PyLong_Check(obj))) {
        *to = PyFloat_AsDouble(obj);
        return *to == -1 && PyErr_Occurred() ? -1 : 0;
    }
    if (obj == Py_None) return n ? wrong_count(what, 0, n) : 0;
    core_array a;
    if (core_array_take(obj, LT_F64, what, &a)) return -1;
    int64_t got = core_array_count(&a);
    if (got == n) memcpy(to, a.data, (size_t)n * sizeof *to);
    core_array_release(&a);
    return got == n ? 0 : wrong_count(what, got, n);
}

typedef struct part { const char *name; double *to; int64_t n; } part;

/* Spreads what a function returned over three places. */
static int spread(PyObject *made, const part parts[3])
{
    if (!PyTuple_Check(made)) return fill(made, parts[0].name, parts[0].to, parts[0].n);
    if (PyTuple_Size(made) != 3) {
        PyErr_Format(core.error[LT_ERR_ARGUMENT], "a function returned %zd things: expected three, for f, ci and ce", PyTuple_Size(made));
        return -1;
    }
    for (int i = 0; i < 3; i++)
        if (fill(PyTuple_GetItem(made, i), parts[i].name, parts[i].to, parts[i].n)) return -1;
    return 0;
}

static int call(PyObject *function, PyObject *x, const part parts[3])
{
    PyObject *made = PyObject_CallFunctionObjArgs(function, x, NULL);
    if (!made) return -1;
    int rc = spread(made, parts);
    Py_DECREF(made);
    return rc;
}

lt_status core_problem_call(void *ctx, const double *x, const lt_outputs *out)
{
    core_problem *p = ctx;
    PyGILState_STATE gil = PyGILState_Ensure();
    const part values[3] = { { "f", out->f, 1 }, { "ci", out->ci, p->p }, { "ce", out->ce, p->q } };
    const part gradients[3] = { { "the gradient of f", out->grad_f, p->n }, { "the gradients of ci", out->grad_ci, p->p * p->n },
                                { "the gradients of ce", out->grad_ce, p->q * p->n } };
    PyObject *point = point_array(p, x);
    int rc = point ? 0 : -1;
    if (!rc && (out->f || out->ci || out->ce)) rc = call(p->values, point, values);
    if (!rc && (out->grad_f || out->grad_ci || out->grad_ce)) rc = call(p->gradients, point, gradients);
    lt_status s = rc ? core_keep_exception() : LT_OK;
    if (!p->spare) p->spare = point;
    else Py_XDECREF(point);
    PyGILState_Release(gil);
    return s;
}
