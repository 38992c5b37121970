/* From status to exception, and from exceptions in callbacks to status. SPDX-License-Identifier: BSD-3-Clause */
#include "core.h"

#include <string.h>

/* The exception of the callback that failed last on this thread: a run that ends for its sake raises it. */
static _Thread_local PyObject *kept;

int core_errors_init(void)
{
    PyObject *errors = PyImport_ImportModule("lathe.errors");
    if (!errors) return -1;
    PyObject *by_status = PyObject_GetAttrString(errors, "BY_STATUS");
    core.describe = PyObject_GetAttrString(errors, "describe");
    Py_DECREF(errors);
    for (int s = 1; by_status && s < LT_STATUS_COUNT; s++) {
        PyObject *name = PyUnicode_FromString(lt_status_name((lt_status)s));
        core.error[s] = name ? PyObject_GetItem(by_status, name) : NULL;
        Py_XDECREF(name);
        if (!core.error[s]) break;
    }
    Py_XDECREF(by_status);
    return PyErr_Occurred() ? -1 : 0;
}

PyObject *core_raise(lt_status s)
{
    PyObject *kind = (unsigned)s < LT_STATUS_COUNT && core.error[s] ? core.error[s] : PyExc_RuntimeError;
    PyObject *text = core_text(lt_error_text());
    if (text) PyErr_SetObject(kind, text);
    Py_XDECREF(text);
    return NULL;
}

int core_check(lt_status s)
{
    if (s == LT_OK) return 0;
    core_raise(s);
    return -1;
}

static PyObject *pending_exception(void)
{
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    if (value && trace) PyException_SetTraceback(value, trace);
    Py_XDECREF(type);
    Py_XDECREF(trace);
    return value;
}

lt_status core_keep_exception(void)
{
    PyObject *e = pending_exception();
    PyObject *text = e ? PyObject_CallFunctionObjArgs(core.describe, e, NULL) : NULL;
    const char *words = text ? PyUnicode_AsUTF8AndSize(text, NULL) : NULL;
    if (!words) PyErr_Clear();
    lt_status s = lt_fail(LT_ERR_ARGUMENT, words ? words : "a Python function failed");
    Py_XDECREF(text);
    Py_XDECREF(kept);
    kept = e;
    return s;
}

PyObject *core_kept_exception(void)
{
    PyObject *e = kept;
    kept = NULL;
    return e;
}

void core_raise_object(PyObject *exception)
{
    PyErr_SetObject((PyObject *)Py_TYPE(exception), exception);
    Py_DECREF(exception);
}

void core_attach_partial(PyObject *made)
{
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    if (made && value && PyObject_SetAttrString(value, "partial", made)) PyErr_Clear(); /* the exception matters more */
    PyErr_Restore(type, value, trace);
    Py_XDECREF(made);
}
