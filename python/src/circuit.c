/* Circuits of any gates, from a named map or OpenQASM. SPDX-License-Identifier: BSD-3-Clause */
#include "core.h"

#include <limits.h>
#include <string.h>

typedef struct core_circuit { PyObject_HEAD lt_circuit *handle; } core_circuit;
static PyTypeObject *circuit_type;

static void circuit_dealloc(PyObject *self)
{
    lt_circuit_destroy(((core_circuit *)self)->handle);
    core_free(self);
}

static PyObject *circuit_new(PyObject *type, PyObject *args)
{
    long long wires, features = 0, weights = 0;
    if (!PyArg_ParseTuple(args, "L|LL:of_wires", &wires, &features, &weights)) return NULL;
    core_circuit *c = (core_circuit *)PyType_GenericAlloc((PyTypeObject *)type, 0);
    if (c && core_check(lt_circuit_create(wires, features, weights, &c->handle))) Py_CLEAR(c);
    return (PyObject *)c;
}

enum { MOST_WIRES = 64, MOST_ANGLES = 4 };

/* A sequence of whole numbers. */
static int take_wires(PyObject *obj, int *wires, int *n)
{
    PyObject *list = PySequence_List(obj);
    Py_ssize_t size = list ? PyList_Size(list) : -1;
    if (size > MOST_WIRES) PyErr_Format(PyExc_ValueError, "%zd wires, expected at most %d", size, MOST_WIRES);
    for (Py_ssize_t i = 0; i < size && size <= MOST_WIRES && !PyErr_Occurred(); i++) {
        long wire = PyLong_AsLong(PyList_GetItem(list, i));
        wires[i] = wire < 0 || wire > INT_MAX ? INT_MAX : (int)wire; /* refused with the gate's name */
    }
    Py_XDECREF(list);
    *n = (int)size;
    return PyErr_Occurred() ? -1 : 0;
}

static PyObject *circuit_gate(PyObject *self, PyObject *args)
{
    const char *name, *angle[MOST_ANGLES];
    PyObject *wires_obj, *angles = NULL;
    int wires[MOST_WIRES], n_wires;
    if (!PyArg_ParseTuple(args, "sO|O!:gate", &name, &wires_obj, &PyTuple_Type, &angles) || take_wires(wires_obj, wires, &n_wires)) return NULL;
    Py_ssize_t n = angles ? PyTuple_Size(angles) : 0;
    if (n > MOST_ANGLES) return PyErr_Format(PyExc_ValueError, "%s with %zd angles", name, n);
    for (Py_ssize_t i = 0; i < n; i++)
        if (!(angle[i] = PyUnicode_AsUTF8AndSize(PyTuple_GetItem(angles, i), NULL))) return NULL;
    if (core_check(lt_circuit_gate(((core_circuit *)self)->handle, name, wires, n_wires, angle, (int)n))) return NULL;
    Py_RETURN_NONE;
}

static PyObject *circuit_pauli(PyObject *self, PyObject *args)
{
    const char *word, *angle;
    PyObject *wires_obj;
    int wires[MOST_WIRES], n_wires;
    if (!PyArg_ParseTuple(args, "ssO:pauli", &word, &angle, &wires_obj) || take_wires(wires_obj, wires, &n_wires)) return NULL;
    if (strlen(word) != (size_t)n_wires) return PyErr_Format(PyExc_ValueError, "the word %s for %d wires", word, n_wires);
    if (core_check(lt_circuit_pauli(((core_circuit *)self)->handle, word, angle, wires, n_wires))) return NULL;
    Py_RETURN_NONE;
}

/* Real and imaginary parts as (2^n, 2^n, 2). */
static PyObject *circuit_unitary(PyObject *self, PyObject *args)
{
    PyObject *matrix, *wires_obj;
    int wires[MOST_WIRES], n_wires;
    core_array m;
    if (!PyArg_ParseTuple(args, "OO:unitary", &matrix, &wires_obj) || take_wires(wires_obj, wires, &n_wires)) return NULL;
    if (core_array_take(matrix, LT_F64, "the matrix", &m)) return NULL;
    const int64_t side = n_wires > LT_CIRCUIT_MAX_MATRIX_QUBITS ? 0 : (int64_t)1 << n_wires;
    int rc = m.shape.rank == 3 && m.shape.dim[0] == side && m.shape.dim[1] == side && m.shape.dim[2] == 2 ? 0 : -1;
    if (rc) PyErr_Format(core.error[LT_ERR_SHAPE], "a matrix of shape %s for %d wires", lt_shape_str(&m.shape).s, n_wires);
    else rc = core_check(lt_circuit_unitary(((core_circuit *)self)->handle, m.data, wires, n_wires));
    core_array_release(&m);
    if (rc) return NULL;
    Py_RETURN_NONE;
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
    { "of_wires", circuit_new, METH_VARARGS | METH_CLASS, "of_wires(wires, features=0, weights=0): without gates." },
    { "gate", circuit_gate, METH_VARARGS, "gate(name, wires, angles=()): appends a gate; angles are texts of x[i], w[j] and numbers." },
    { "pauli", circuit_pauli, METH_VARARGS, "pauli(word, angle, wires): exp(-i angle/2 P)." },
    { "unitary", circuit_unitary, METH_VARARGS, "unitary(matrix, wires): (2^n, 2^n, 2) real and imaginary parts; the first wire is the most significant bit." },
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
