/* Graph and Node. A mistake while building is raised at once; the graph keeps it, as in C, and is then good for nothing else.
   SPDX-License-Identifier: BSD-3-Clause */
#include "core.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- Nodes ------------------------------------------------------------------------------------------- */
PyObject *core_node_new(core_graph *g, lt_node n)
{
    core_node *self = (core_node *)PyType_GenericAlloc(core.node, 0);
    if (!self) return NULL;
    self->graph = (core_graph *)Py_NewRef((PyObject *)g);
    self->node = n;
    return (PyObject *)self;
}

int core_node_of(core_graph *g, PyObject *obj, bool optional, lt_node *out)
{
    *out = LT_NONE;
    if (optional && obj == Py_None) return 0;
    if (!PyObject_TypeCheck(obj, core.node)) {
        PyErr_Format(core.error[LT_ERR_ARGUMENT], "%R is no node of a graph", obj);
        return -1;
    }
    const core_node *n = (core_node *)obj;
    if (n->graph != g) {
        PyErr_SetString(core.error[LT_ERR_ARGUMENT], "a node of another graph");
        return -1;
    }
    *out = n->node;
    return 0;
}

int core_nodes_of(core_graph *g, PyObject *sequence, lt_node **out, int *n)
{
    *out = NULL;
    *n = 0;
    Py_ssize_t size = PySequence_Size(sequence);
    if (size < 0) return -1;
    lt_node *list = PyMem_Malloc(((size_t)size + 1) * sizeof *list);
    if (!list) return PyErr_NoMemory(), -1;
    int rc = 0;
    for (Py_ssize_t i = 0; !rc && i < size; i++) {
        PyObject *item = PySequence_GetItem(sequence, i);
        rc = item ? core_node_of(g, item, false, &list[i]) : -1;
        Py_XDECREF(item);
    }
    if (rc) return PyMem_Free(list), -1;
    *out = list;
    *n = (int)size;
    return 0;
}

static void node_dealloc(PyObject *self)
{
    Py_CLEAR(((core_node *)self)->graph);
    core_free(self);
}

static PyObject *node_shape(PyObject *self, void *unused)
{
    (void)unused;
    core_node *n = (core_node *)self;
    lt_shape s = lt_node_shape(n->graph->handle, n->node);
    return core_shape_tuple(&s);
}

static PyObject *node_dtype(PyObject *self, void *unused)
{
    (void)unused;
    core_node *n = (core_node *)self;
    lt_dtype t = lt_node_dtype(n->graph->handle, n->node);
    return Py_NewRef(core.dtype[t] ? core.dtype[t] : core.dtype[LT_F32]);
}

static PyObject *node_graph(PyObject *self, void *unused) { (void)unused; return Py_NewRef((PyObject *)((core_node *)self)->graph); }
static PyObject *node_id(PyObject *self, void *unused) { (void)unused; return PyLong_FromLong(((core_node *)self)->node.id); }

static PyGetSetDef node_fields[] = {
    { "shape", node_shape, NULL, "Extents of the value.", NULL },
    { "dtype", node_dtype, NULL, "Element type, as a numpy.dtype.", NULL },
    { "graph", node_graph, NULL, "The graph it belongs to.", NULL },
    { "id", node_id, NULL, "Its number in the graph.", NULL },
    { 0 },
};
static PyType_Slot node_slots[] = {
    { Py_tp_dealloc, node_dealloc }, { Py_tp_getset, node_fields }, { Py_tp_doc, "A value of a graph; made by Graph.op." }, { 0, NULL },
};
static PyType_Spec node_spec = { "lathe._core.Node", sizeof(core_node), 0, Py_TPFLAGS_DEFAULT, node_slots };

/* ---- Graphs ------------------------------------------------------------------------------------------- */
static PyObject *graph_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    (void)args, (void)kwargs;
    core_graph *self = (core_graph *)PyType_GenericAlloc(type, 0);
    if (self && core_check(lt_graph_create(&self->handle))) Py_CLEAR(self);
    return (PyObject *)self;
}

static void graph_dealloc(PyObject *self)
{
    lt_graph_destroy(((core_graph *)self)->handle);
    PyMem_Free(((core_graph *)self)->inputs);
    core_free(self);
}

static PyObject *graph_input(PyObject *self, PyObject *args)
{
    core_graph *g = (core_graph *)self;
    const char *name;
    PyObject *dtype, *shape;
    lt_dtype t;
    lt_shape s;
    if (!PyArg_ParseTuple(args, "sOO:input", &name, &dtype, &shape) || core_dtype_from(dtype, &t) || core_shape_from(shape, &s)) return NULL;
    lt_node *more = PyMem_Realloc(g->inputs, ((size_t)g->n_inputs + 1) * sizeof *more);
    if (!more) return PyErr_NoMemory();
    g->inputs = more;
    lt_node n = lt_input(g->handle, name, t, s);
    if (core_check(lt_graph_status(g->handle))) return NULL;
    g->inputs[g->n_inputs++] = n;
    return core_node_new(g, n);
}

static PyObject *graph_constant(PyObject *self, PyObject *array)
{
    core_graph *g = (core_graph *)self;
    core_array a;
    if (core_array_take(array, CORE_ANY_TYPE, "constant", &a)) return NULL;
    lt_node n = lt_constant(g->handle, a.dtype, a.shape, a.data);
    core_array_release(&a);
    return core_check(lt_graph_status(g->handle)) ? NULL : core_node_new(g, n);
}

static PyObject *graph_op(PyObject *self, PyObject *const *args, Py_ssize_t n_args)
{
    const char *op = n_args ? PyUnicode_AsUTF8AndSize(args[0], NULL) : NULL;
    if (op) return core_build((core_graph *)self, op, args + 1, n_args - 1);
    return PyErr_Occurred() ? NULL : PyErr_Format(core.error[LT_ERR_ARGUMENT], "op: expected a name first");
}

/* out nodes as a tuple */
static PyObject *nodes_tuple(core_graph *g, const lt_node *n, int count)
{
    PyObject *t = PyTuple_New(count);
    for (int i = 0; t && i < count; i++) {
        PyObject *node = core_node_new(g, n[i]);
        if (!node || PyTuple_SetItem(t, i, node)) Py_CLEAR(t);
    }
    return t;
}

static PyObject *graph_grad(PyObject *self, PyObject *args)
{
    core_graph *g = (core_graph *)self;
    PyObject *f_obj, *wrt_obj, *seed_obj = Py_None, *made = NULL;
    lt_node f, seed, *wrt, *out = NULL;
    int n;
    if (!PyArg_ParseTuple(args, "OO|O:grad", &f_obj, &wrt_obj, &seed_obj) || core_node_of(g, f_obj, false, &f) ||
        core_node_of(g, seed_obj, true, &seed) || core_nodes_of(g, wrt_obj, &wrt, &n)) return NULL;
    out = PyMem_Malloc(((size_t)n + 1) * sizeof *out);
    if (!out) PyErr_NoMemory();
    else if (!core_check(lt_is_none(seed) ? lt_grad(g->handle, f, wrt, n, out) : lt_vjp(g->handle, f, seed, wrt, n, out)))
        made = nodes_tuple(g, out, n);
    PyMem_Free(out);
    PyMem_Free(wrt);
    return made;
}

static PyObject *graph_jacobian(PyObject *self, PyObject *args)
{
    core_graph *g = (core_graph *)self;
    PyObject *y_obj, *x_obj, *made = NULL;
    lt_node x, *y, *out = NULL;
    int n;
    if (!PyArg_ParseTuple(args, "OO:jacobian", &y_obj, &x_obj) || core_node_of(g, x_obj, false, &x) || core_nodes_of(g, y_obj, &y, &n)) return NULL;
    out = PyMem_Malloc(((size_t)n + 1) * sizeof *out);
    if (!out) PyErr_NoMemory();
    else if (!core_check(lt_jacobian(g->handle, y, n, x, out))) made = nodes_tuple(g, out, n);
    PyMem_Free(out);
    PyMem_Free(y);
    return made;
}

static PyObject *graph_compile(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = { "outputs", "mode", "device", NULL };
    PyObject *outputs;
    const char *mode = "default", *device = "cpu";
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|ss:compile", names, &outputs, &mode, &device)) return NULL;
    return core_program_create((core_graph *)self, outputs, mode, device);
}

static PyObject *graph_dump(PyObject *self, PyObject *unused)
{
    (void)unused;
    char *text = NULL;
    size_t bytes = 0;
    FILE *f = open_memstream(&text, &bytes);
    if (!f) return PyErr_NoMemory();
    lt_status s = lt_graph_dump(((core_graph *)self)->handle, f);
    fclose(f);
    PyObject *made = core_check(s) ? NULL : core_text(text);
    free(text);
    return made;
}

static PyObject *graph_count(PyObject *self, void *unused)
{
    (void)unused;
    return PyLong_FromLong(lt_graph_node_count(((core_graph *)self)->handle));
}

static PyMethodDef graph_methods[] = {
    { "input", graph_input, METH_VARARGS, "input(name, dtype, shape): the next input." },
    { "constant", graph_constant, METH_O, "constant(array): a value that is copied into the graph." },
    { "op", (PyCFunction)(void (*)(void))graph_op, METH_FASTCALL, "op(name, *arguments): a builder of lathe/graph.h by name; _core.op_names() lists them." },
    { "grad", graph_grad, METH_VARARGS, "grad(f, [x, …][, seed]): derivatives of f, or of seed . f, as nodes of the same graph." },
    { "jacobian", graph_jacobian, METH_VARARGS, "jacobian([y, …], x): all rows in one reverse sweep." },
    { "compile", (PyCFunction)(void (*)(void))graph_compile, METH_VARARGS | METH_KEYWORDS, "compile(outputs, mode='default', device='cpu') -> Program" },
    { "dump", graph_dump, METH_NOARGS, "One line per node." },
    { 0 },
};
static PyGetSetDef graph_fields[] = { { "node_count", graph_count, NULL, "Number of nodes.", NULL }, { 0 } };
static PyType_Slot graph_slots[] = {
    { Py_tp_new, graph_new }, { Py_tp_dealloc, graph_dealloc }, { Py_tp_methods, graph_methods }, { Py_tp_getset, graph_fields },
    { Py_tp_doc, "A graph of tensor operations: build once, differentiate, compile, run many times." }, { 0, NULL },
};
static PyType_Spec graph_spec = { "lathe._core.Graph", sizeof(core_graph), 0, Py_TPFLAGS_DEFAULT, graph_slots };

int core_graph_init(PyObject *module)
{
    core.node = core_add_type(module, &node_spec);
    core.graph = core_add_type(module, &graph_spec);
    return core.node && core.graph ? 0 : -1;
}
