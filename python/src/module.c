/* The module lathe._core: its types, its functions, and what it takes from NumPy and from lathe itself. SPDX-License-Identifier: BSD-3-Clause */
#include "core.h"

#include <string.h>

core_globals core;

PyTypeObject *core_add_type(PyObject *module, PyType_Spec *spec)
{
    PyObject *type = PyType_FromSpec(spec);
    if (type && PyModule_AddObjectRef(module, strrchr(spec->name, '.') + 1, type)) Py_CLEAR(type);
    return (PyTypeObject *)type; /* a reference that is ours for the life of the process */
}

void core_free(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(self);
    Py_DECREF(type); /* instances of heap types hold their type */
}

int core_put(PyObject *dict, const char *name, PyObject *value)
{
    int rc = value ? PyDict_SetItemString(dict, name, value) : -1;
    Py_XDECREF(value);
    return rc;
}

PyObject *core_text(const char *text)
{
    return text ? PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace") : Py_NewRef(Py_None);
}

/* The library and this module keep state of the process: a second interpreter would share it behind Python's back. */
static int refuse_sub_interpreters(void)
{
    if (PyInterpreterState_GetID(PyInterpreterState_Get()) == 0) return 0;
    PyErr_SetString(PyExc_ImportError, "lathe runs in the main interpreter only: sub-interpreters are not supported");
    return -1;
}

static int execute(PyObject *module)
{
    if (refuse_sub_interpreters() || core_errors_init() || core_arrays_init() || core_graph_init(module) || core_program_init(module) ||
        core_problem_init(module) || core_circuit_init(module) || core_gram_init(module) || core_qsvm_init(module) || core_dataset_init(module) ||
        core_report_init(module)) return -1;
    return PyModule_AddStringConstant(module, "__version__", lt_version());
}

static PyModuleDef_Slot slots[] = { { Py_mod_exec, execute }, { 0, NULL } };
static PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, .m_name = "lathe._core", .m_doc = "The public C API of lathe as Python objects; use the package lathe.",
    .m_methods = core_system_methods, .m_slots = slots,
};

PyMODINIT_FUNC PyInit__core(void);
PyMODINIT_FUNC PyInit__core(void) { return PyModuleDef_Init(&definition); }
