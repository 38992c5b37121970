/* Circuits of any gates, from a named map or OpenQASM. SPDX-License-Identifier: BSD-3-Clause */
#include "core.h"

typedef struct core_circuit { PyObject_HEAD lt_circuit *handle; } core_circuit;
static PyTypeObject *circuit_type;

static void circuit_dealloc(PyObject *self)
{
    lt_circuit_destroy(((core_circuit *)self)->handle);
    core_free(self);
}

static PyObject *circuit_from_map(PyObject *type, PyObject *args)
{
    const char *text;
    long long features, layers = 0;
    if (!PyArg_ParseTuple(args, "sL|L:from_map", &text, &features, &layers)) return NULL;
    core_circuit *c = (core_circuit *)PyType_GenericAlloc((PyTypeObject *)type, 0);
    lt_map_options opt = lt_map_defaults();
    opt.n_features = features;
    opt.n_layers = layers;
    if (c && core_check(lt_circuit_from_map(text, &opt, &c->handle))) Py_CLEAR(c);
    return (PyObject *)c;
}

static PyObject *circuit_from_qasm(PyObject *type, PyObject *args)
{
    const char *text, *name = "circuit";
    Py_ssize_t bytes;
    if (!PyArg_ParseTuple(args, "s#|s:from_qasm", &text, &bytes, &name)) return NULL;
    core_circuit *c = (core_circuit *)PyType_GenericAlloc((PyTypeObject *)type, 0);
    if (c && core_check(lt_circuit_from_qasm(text, (size_t)bytes, name, &c->handle))) Py_CLEAR(c);
    return (PyObject *)c;
}

static PyObject *circuit_qasm(PyObject *self, PyObject *unused)
{
    (void)unused;
    char *text;
    if (core_check(lt_circuit_to_qasm(((core_circuit *)self)->handle, &text))) return NULL;
    PyObject *made = core_text(text);
    lt_circuit_text_free(text);
    return made;
}

static PyObject *circuit_info(PyObject *self, void *unused)
{
    (void)unused;
    lt_circuit_info i = lt_circuit_describe(((core_circuit *)self)->handle);
    return Py_BuildValue("{s:L,s:L,s:L,s:N,s:L,s:O}", "qubits", (long long)i.n_qubits, "features", (long long)i.n_features, "weights", (long long)i.n_weights, "shape",
                         core_shape_tuple(&i.weights), "gates", (long long)i.n_gates, "amplitudes", i.amplitudes ? Py_True : Py_False);
}

const lt_circuit *core_circuit_of(PyObject *obj)
{
    if (PyObject_TypeCheck(obj, circuit_type)) return ((core_circuit *)obj)->handle;
    PyErr_SetString(PyExc_TypeError, "expected a Circuit");
    return NULL;
}

static PyMethodDef circuit_methods[] = {
    { "from_map", circuit_from_map, METH_VARARGS | METH_CLASS, "from_map(text, features, layers=0): 'zz(reps=2)' of so many features." },
    { "from_qasm", circuit_from_qasm, METH_VARARGS | METH_CLASS, "from_qasm(text, name='circuit'): OpenQASM 3 or 2; name stands in messages." },
    { "qasm", circuit_qasm, METH_NOARGS, "The circuit as OpenQASM 3." },
    { 0 },
};
static PyGetSetDef circuit_fields[] = { { "info", circuit_info, NULL, "qubits, features, weights and their shape, gates.", NULL }, { 0 } };
static PyType_Slot circuit_slots[] = {
    { Py_tp_dealloc, circuit_dealloc }, { Py_tp_methods, circuit_methods }, { Py_tp_getset, circuit_fields },
    { Py_tp_doc, "Circuit.from_map(...) or Circuit.from_qasm(...)." }, { 0, NULL },
};
static PyType_Spec circuit_spec = { "lathe._core.Circuit", sizeof(core_circuit), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, circuit_slots };

int core_circuit_init(PyObject *module) { return (circuit_type = core_add_type(module, &circuit_spec)) ? 0 : -1; }
