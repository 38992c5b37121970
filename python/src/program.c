/* Programs: compiled outputs of a graph, called with arrays. SPDX-License-Identifier: BSD-3-Clause */
#include "core.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct port { lt_dtype dtype; lt_shape shape; PyObject *how_made; char name[32]; } port; /* how_made: what numpy.empty is called with */

typedef struct core_program {
    PyObject_HEAD
    lt_program *handle;
    lt_device  *device;  /* NULL: the CPU */
    PyThread_type_lock lock; /* one run at a time */
    int         n_inputs, n_outputs;
    port       *ports;   /* inputs, then outputs */
    core_array *taken;   /* scratch of a run: n_inputs */
    void      **pointers; /* n_inputs, then n_outputs */
} core_program;

static void program_dealloc(PyObject *self)
{
    core_program *p = (core_program *)self;
    lt_program_destroy(p->handle);
    lt_device_close(p->device);
    if (p->lock) PyThread_free_lock(p->lock);
    for (int i = 0; p->ports && i < p->n_inputs + p->n_outputs; i++) Py_CLEAR(p->ports[i].how_made);
    PyMem_Free(p->ports);
    PyMem_Free(p->taken);
    PyMem_Free(p->pointers);
    core_free(self);
}

/* ---- Making ------------------------------------------------------------------------------------------- */
static int describe_port(core_graph *g, lt_node n, const char *kind, int i, port *out)
{
    out->dtype = lt_node_dtype(g->handle, n);
    out->shape = lt_node_shape(g->handle, n);
    snprintf(out->name, sizeof out->name, "%s %d", kind, i);
    out->how_made = core_array_arguments(out->dtype, &out->shape);
    return out->how_made ? 0 : -1;
}

static int describe_ports(core_program *p, core_graph *g, const lt_node *outputs)
{
    size_t n = (size_t)p->n_inputs + (size_t)p->n_outputs;
    p->ports = PyMem_Calloc(n + 1, sizeof *p->ports);
    p->taken = PyMem_Calloc((size_t)p->n_inputs + 1, sizeof *p->taken);
    p->pointers = PyMem_Calloc(n + 1, sizeof *p->pointers);
    p->lock = PyThread_allocate_lock();
    if (!p->ports || !p->taken || !p->pointers || !p->lock) return PyErr_NoMemory(), -1;
    for (int i = 0; i < p->n_inputs; i++)
        if (describe_port(g, g->inputs[i], "argument", i, &p->ports[i])) return -1;
    for (int i = 0; i < p->n_outputs; i++)
        if (describe_port(g, outputs[i], "result", i, &p->ports[p->n_inputs + i])) return -1;
    return 0;
}

static int mode_of(const char *name, lt_mode *out)
{
    for (int m = 0; m < LT_MODE_COUNT; m++)
        if (!strcmp(name, lt_mode_name((lt_mode)m))) return *out = (lt_mode)m, 0;
    PyErr_Format(core.error[LT_ERR_ARGUMENT], "mode '%s': expected default, eager, reduce-overhead or max-autotune", name);
    return -1;
}

PyObject *core_program_create(core_graph *g, PyObject *nodes, const char *mode, const char *device)
{
    lt_node *outputs;
    lt_compile_options opt = { .size = sizeof opt };
    int n_outputs;
    if (mode_of(mode, &opt.mode) || core_nodes_of(g, nodes, &outputs, &n_outputs)) return NULL;
    core_program *p = (core_program *)PyType_GenericAlloc(core.program, 0);
    if (p) {
        p->n_inputs = g->n_inputs;
        p->n_outputs = n_outputs;
        int rc = describe_ports(p, g, outputs) || core_device_open(device, &p->device) ? -1 : 0;
        opt.device = p->device;
        lt_status s = LT_OK;
        if (!rc) {
            Py_BEGIN_ALLOW_THREADS
            s = lt_program_create(g->handle, outputs, n_outputs, &opt, &p->handle);
            Py_END_ALLOW_THREADS
        }
        if (rc || core_check(s)) Py_CLEAR(p);
    }
    PyMem_Free(outputs);
    return (PyObject *)p;
}

/* ---- Running ------------------------------------------------------------------------------------------- */
static int take_inputs(core_program *p, PyObject *args)
{
    if (PyTuple_Size(args) != p->n_inputs) {
        PyErr_Format(core.error[LT_ERR_ARGUMENT], "%zd arguments: expected %d", PyTuple_Size(args), p->n_inputs);
        return -1;
    }
    for (int i = 0; i < p->n_inputs; i++) {
        const port *want = &p->ports[i];
        core_array *a = &p->taken[i];
        if (core_array_take(PyTuple_GetItem(args, i), want->dtype, want->name, a)) return -1;
        if (!lt_shape_equal(&a->shape, &want->shape)) {
            PyErr_Format(core.error[LT_ERR_SHAPE], "%s has shape %s: expected %s", want->name, lt_shape_str(&a->shape).s, lt_shape_str(&want->shape).s);
            return -1;
        }
        p->pointers[i] = a->data;
    }
    return 0;
}

static PyObject *make_outputs(core_program *p)
{
    PyObject *t = PyTuple_New(p->n_outputs);
    for (int i = 0; t && i < p->n_outputs; i++) {
        const port *o = &p->ports[p->n_inputs + i];
        PyObject *a = core_array_call(o->how_made, &p->pointers[p->n_inputs + i]);
        if (!a || PyTuple_SetItem(t, i, a)) Py_CLEAR(t);
    }
    return t;
}

static PyObject *run(core_program *p)
{
    PyObject *made = make_outputs(p);
    if (!made) return NULL;
    lt_status s;
    Py_BEGIN_ALLOW_THREADS
    s = lt_program_run(p->handle, (const void *const *)p->pointers, p->pointers + p->n_inputs);
    Py_END_ALLOW_THREADS
    if (core_check(s)) Py_CLEAR(made);
    return made;
}

static void lock_program(core_program *p)
{
    if (PyThread_acquire_lock(p->lock, NOWAIT_LOCK)) return;
    Py_BEGIN_ALLOW_THREADS
    PyThread_acquire_lock(p->lock, WAIT_LOCK);
    Py_END_ALLOW_THREADS
}

static void finish_run(core_program *p)
{
    for (int i = 0; i < p->n_inputs; i++) core_array_release(&p->taken[i]);
    PyThread_release_lock(p->lock);
}

static PyObject *program_call(PyObject *self, PyObject *args, PyObject *kwargs)
{
    core_program *p = (core_program *)self;
    if (kwargs && PyDict_Size(kwargs)) return PyErr_Format(core.error[LT_ERR_ARGUMENT], "a program takes no keywords");
    core_copies_clear();
    lock_program(p);
    PyObject *made = take_inputs(p, args) ? NULL : run(p);
    finish_run(p);
    return made;
}

static bool take_exact(core_program *p, PyObject *const *args, Py_ssize_t n_args)
{
    if (n_args != p->n_inputs) return false;
    for (int i = 0; i < p->n_inputs; i++) {
        core_array *a = &p->taken[i];
        if (!core_array_take_exact(args[i], p->ports[i].dtype, a) || !lt_shape_equal(&a->shape, &p->ports[i].shape)) return false;
        p->pointers[i] = a->data;
    }
    return true;
}

static PyObject *call_exact(PyObject *self, PyObject *const *args, Py_ssize_t n_args)
{
    core_program *p = (core_program *)self;
    core_copies_clear();
    lock_program(p);
    PyObject *made = take_exact(p, args, n_args) ? run(p) : Py_NewRef(Py_None);
    finish_run(p);
    return made;
}

/* ---- What it is ------------------------------------------------------------------------------------------ */
static PyObject *program_plan(PyObject *self, PyObject *unused)
{
    (void)unused;
    char *text = NULL;
    size_t bytes = 0;
    FILE *f = open_memstream(&text, &bytes);
    if (!f) return PyErr_NoMemory();
    lt_status s = lt_program_dump(((core_program *)self)->handle, f);
    fclose(f);
    PyObject *made = core_check(s) ? NULL : core_text(text);
    free(text);
    return made;
}

static PyObject *program_info(PyObject *self, void *unused)
{
    (void)unused;
    lt_program_info i = lt_program_get_info(((core_program *)self)->handle);
    return Py_BuildValue("{s:i,s:i,s:i,s:n,s:n,s:n,s:d,s:d,s:d}", "n_nodes", i.n_nodes, "n_kernels", i.n_kernels, "n_fused", i.n_fused,
                         "arena_bytes", (Py_ssize_t)i.arena_bytes, "unplanned_bytes", (Py_ssize_t)i.unplanned_bytes,
                         "constant_bytes", (Py_ssize_t)i.constant_bytes, "flops", i.flops, "bytes", i.bytes, "compile_seconds", i.compile_seconds);
}

static PyMethodDef program_methods[] = {
    { "exact", (PyCFunction)(void (*)(void))call_exact, METH_FASTCALL,
      "exact(*arrays): the results, or None unless every argument is a dense numpy.ndarray of the very type and shape." },
    { "plan", program_plan, METH_NOARGS, "Every kernel with what it fuses, bytes and FLOPs; then memory." },
    { 0 },
};
static PyGetSetDef program_fields[] = { { "info", program_info, NULL, "Kernels, memory, FLOPs and bytes of one run.", NULL }, { 0 } };
static PyType_Slot program_slots[] = {
    { Py_tp_dealloc, program_dealloc }, { Py_tp_call, program_call }, { Py_tp_methods, program_methods }, { Py_tp_getset, program_fields },
    { Py_tp_doc, "Compiled outputs of a graph: call it with the inputs, get a tuple of new arrays." }, { 0, NULL },
};
static PyType_Spec program_spec = { "lathe._core.Program", sizeof(core_program), 0, Py_TPFLAGS_DEFAULT, program_slots };

int core_program_init(PyObject *module) { return (core.program = core_add_type(module, &program_spec)) ? 0 : -1; }
