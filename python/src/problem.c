/* Problems: from text, from a graph, from Python functions. SPDX-License-Identifier: BSD-3-Clause */
#include "core.h"

static int problem_traverse(PyObject *self, visitproc visit, void *arg)
{
    core_problem *p = (core_problem *)self;
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(p->graph);
    Py_VISIT(p->values);
    Py_VISIT(p->gradients);
    Py_VISIT(p->variables);
    return 0;
}

static int problem_clear(PyObject *self)
{
    core_problem *p = (core_problem *)self;
    Py_CLEAR(p->values);
    Py_CLEAR(p->gradients);
    Py_CLEAR(p->variables);
    return 0;
}

static void problem_dealloc(PyObject *self)
{
    core_problem *p = (core_problem *)self;
    PyObject_GC_UnTrack(self);
    lt_problem_destroy(p->handle); /* before what it borrows */
    lt_model_destroy(p->model);
    problem_clear(self);
    Py_CLEAR(p->graph);
    Py_CLEAR(p->spare);
    core_free(self);
}

static PyObject *variables_list(const lt_problem *p)
{
    int n = lt_problem_variables(p, NULL, 0);
    lt_variable *v = PyMem_Malloc(((size_t)n + 1) * sizeof *v);
    if (!v) return PyErr_NoMemory();
    lt_problem_variables(p, v, n);
    PyObject *list = PyList_New(0);
    for (int i = 0; list && i < n; i++) {
        PyObject *item = Py_BuildValue("(sN)", v[i].name ? v[i].name : "x", core_shape_tuple(&v[i].shape));
        if (!item || PyList_Append(list, item)) Py_CLEAR(list);
        Py_XDECREF(item);
    }
    PyMem_Free(v);
    return list;
}

static PyObject *finish(core_problem *p, lt_status s)
{
    if (core_check(s)) {
        Py_DECREF(p);
        return NULL;
    }
    lt_problem_size size = lt_problem_get_size(p->handle);
    p->n = size.n;
    p->p = size.p;
    p->q = size.q;
    if (!p->variables && !(p->variables = variables_list(p->handle))) {
        Py_DECREF(p);
        return NULL;
    }
    return (PyObject *)p;
}

static core_problem *new_problem(PyTypeObject *type) { return (core_problem *)PyType_GenericAlloc(type, 0); }

/* ---- From text ------------------------------------------------------------------------------------------ */
/* The messages of a text that is wrong, with line, column and caret, are the sentence here. */
static PyObject *finish_model(core_problem *p, lt_status s)
{
    if (s == LT_ERR_FORMAT && p->model && *lt_model_messages(p->model)) {
        PyObject *text = core_text(lt_model_messages(p->model));
        if (text) PyErr_SetObject(core.error[LT_ERR_FORMAT], text);
        Py_XDECREF(text);
        Py_DECREF(p);
        return NULL;
    }
    if (!s) s = lt_problem_from_model(p->model, &p->handle);
    return finish(p, s);
}

static PyObject *from_path(PyObject *type, PyObject *path)
{
    const char *name = PyUnicode_AsUTF8AndSize(path, NULL);
    core_problem *p = name ? new_problem((PyTypeObject *)type) : NULL;
    if (!p) return NULL;
    lt_status s;
    Py_BEGIN_ALLOW_THREADS
    s = lt_model_read(name, &p->model);
    Py_END_ALLOW_THREADS
    return finish_model(p, s);
}

static PyObject *from_text(PyObject *type, PyObject *args)
{
    const char *text, *name = "problem", *folder = "";
    Py_ssize_t length;
    if (!PyArg_ParseTuple(args, "s#|ss:from_text", &text, &length, &name, &folder)) return NULL;
    core_problem *p = new_problem((PyTypeObject *)type);
    if (!p) return NULL;
    lt_status s;
    Py_BEGIN_ALLOW_THREADS
    s = lt_model_parse(name, folder, text, (size_t)length, &p->model);
    Py_END_ALLOW_THREADS
    return finish_model(p, s);
}

/* ---- From a graph ----------------------------------------------------------------------------------------- */
static PyObject *from_graph(PyObject *type, PyObject *args)
{
    PyObject *graph, *f_obj, *ci_obj, *ce_obj;
    if (!PyArg_ParseTuple(args, "O!OOO:from_graph", core.graph, &graph, &f_obj, &ci_obj, &ce_obj)) return NULL;
    core_graph *g = (core_graph *)graph;
    lt_node f, *ci = NULL, *ce = NULL;
    int n_ci = 0, n_ce = 0;
    PyObject *made = NULL;
    if (!core_node_of(g, f_obj, false, &f) && !core_nodes_of(g, ci_obj, &ci, &n_ci) && !core_nodes_of(g, ce_obj, &ce, &n_ce)) {
        core_problem *p = new_problem((PyTypeObject *)type);
        if (p) {
            p->graph = Py_NewRef(graph);
            made = finish(p, lt_problem_from_graph(g->handle, f, ci, n_ci, ce, n_ce, &p->handle));
        }
    }
    PyMem_Free(ci);
    PyMem_Free(ce);
    return made;
}

/* ---- From functions ---------------------------------------------------------------------------------------- */
static PyObject *from_functions(PyObject *type, PyObject *args)
{
    long long n, n_ci, n_ce;
    PyObject *values, *gradients, *variables;
    if (!PyArg_ParseTuple(args, "LLLOOO:from_functions", &n, &n_ci, &n_ce, &values, &gradients, &variables)) return NULL;
    core_problem *p = new_problem((PyTypeObject *)type);
    if (!p) return NULL;
    p->values = Py_NewRef(values);
    p->gradients = Py_NewRef(gradients);
    p->variables = PySequence_List(variables);
    return finish(p, p->variables ? lt_problem_from_function(n, n_ci, n_ce, core_problem_call, p, &p->handle) : LT_ERR_ARGUMENT);
}

static PyObject *declare_linear(PyObject *self, PyObject *equality)
{
    int truth = PyObject_IsTrue(equality);
    if (truth < 0) return NULL;
    lt_constraint_kind kind = truth ? LT_CONSTRAINT_EQUALITY : LT_CONSTRAINT_INEQUALITY;
    return core_check(lt_problem_declare_linear(((core_problem *)self)->handle, kind)) ? NULL : Py_NewRef(Py_None);
}

/* ---- Evaluating ------------------------------------------------------------------------------------------- */
static int point_of(core_problem *p, PyObject *x, core_array *out)
{
    if (core_array_take(x, LT_F64, "x", out)) return -1;
    if (core_array_count(out) == p->n) return 0;
    PyErr_Format(core.error[LT_ERR_SHAPE], "x has %lld numbers: the problem has %lld variables", (long long)core_array_count(out), (long long)p->n);
    core_array_release(out);
    return -1;
}

/* New arrays for everything an evaluation gives, by name; out points at their memory. */
static PyObject *places(core_problem *p, lt_outputs *out)
{
    lt_shape s1 = lt_shape0(), sn = lt_shape1(p->n), sp = lt_shape1(p->p), sq = lt_shape1(p->q);
    lt_shape spn = lt_shape2(p->p, p->n), sqn = lt_shape2(p->q, p->n);
    const struct { const char *name; const lt_shape *shape; double **at; } rows[] = {
        { "f", &s1, &out->f }, { "grad_f", &sn, &out->grad_f }, { "ci", &sp, &out->ci }, { "grad_ci", &spn, &out->grad_ci },
        { "ce", &sq, &out->ce }, { "grad_ce", &sqn, &out->grad_ce },
    };
    PyObject *d = PyDict_New();
    for (size_t i = 0; d && i < sizeof rows / sizeof *rows; i++) {
        void *data = NULL;
        if (core_put(d, rows[i].name, core_array_new(LT_F64, rows[i].shape, &data))) Py_CLEAR(d);
        *rows[i].at = data;
    }
    return d;
}

static PyObject *problem_evaluate(PyObject *self, PyObject *x)
{
    core_problem *p = (core_problem *)self;
    core_array a;
    lt_outputs out;
    core_copies_clear();
    if (point_of(p, x, &a)) return NULL;
    PyObject *made = places(p, &out);
    lt_status s = LT_OK;
    if (made) {
        Py_BEGIN_ALLOW_THREADS
        s = lt_problem_evaluate(p->handle, a.data, &out);
        Py_END_ALLOW_THREADS
    }
    core_array_release(&a);
    PyObject *failed = core_kept_exception();
    if (s && failed) core_raise_object(failed);
    else {
        Py_XDECREF(failed);
        if (s) core_raise(s);
    }
    if (s) Py_CLEAR(made);
    return made;
}

static PyObject *problem_check(PyObject *self, PyObject *args)
{
    core_problem *p = (core_problem *)self;
    PyObject *x;
    double tolerance = 0;
    long long directions = 100;
    core_array a = { 0 };
    if (!PyArg_ParseTuple(args, "O|dL:check", &x, &tolerance, &directions) || (x != Py_None && point_of(p, x, &a))) return NULL;
    lt_check_result r = { .size = sizeof r };
    lt_status s;
    Py_BEGIN_ALLOW_THREADS
    s = lt_problem_check(p->handle, a.data, tolerance, directions, &r);
    Py_END_ALLOW_THREADS
    core_array_release(&a);
    PyObject *failed = core_kept_exception();
    if (s && failed) return core_raise_object(failed), NULL;
    Py_XDECREF(failed);
    if (core_check(s)) return NULL;
    return Py_BuildValue("{s:d,s:L,s:L,s:d,s:d,s:L,s:O}", "worst", r.worst, "worst_function", (long long)r.worst_function, "worst_direction",
                         (long long)r.worst_direction, "gradient", r.gradient, "difference", r.difference, "n_checked", (long long)r.n_checked,
                         "passed", r.passed ? Py_True : Py_False);
}

/* ---- Fields --------------------------------------------------------------------------------------------- */
static PyObject *problem_n(PyObject *self, void *u) { (void)u; return PyLong_FromLongLong(((core_problem *)self)->n); }
static PyObject *problem_p(PyObject *self, void *u) { (void)u; return PyLong_FromLongLong(((core_problem *)self)->p); }
static PyObject *problem_q(PyObject *self, void *u) { (void)u; return PyLong_FromLongLong(((core_problem *)self)->q); }
static PyObject *problem_variables(PyObject *self, void *u)
{
    (void)u;
    core_problem *p = (core_problem *)self;
    return p->variables ? PySequence_List(p->variables) : PyList_New(0);
}
static PyObject *problem_start(PyObject *self, void *u)
{
    (void)u;
    core_problem *p = (core_problem *)self;
    return p->model ? core_vector(lt_model_get(p->model).x0, p->n) : Py_NewRef(Py_None);
}
static PyObject *problem_maximizes(PyObject *self, void *u)
{
    (void)u;
    const core_problem *p = (core_problem *)self;
    return PyBool_FromLong(p->model && lt_model_get(p->model).maximize);
}

static PyMethodDef problem_methods[] = {
    { "from_path", from_path, METH_O | METH_CLASS, "from_path(path): a problem file or 'example:NAME'." },
    { "from_text", from_text, METH_VARARGS | METH_CLASS, "from_text(text, name='problem', folder=''): the problem language." },
    { "from_graph", from_graph, METH_VARARGS | METH_CLASS, "from_graph(graph, f, ci, ce): nodes of a graph." },
    { "from_functions", from_functions, METH_VARARGS | METH_CLASS,
      "from_functions(n, p, q, values, gradients, variables): values(x) -> (f, ci, ce); gradients(x) -> (df, dci, dce) at the x of the last values." },
    { "declare_linear", declare_linear, METH_O, "declare_linear(equality): all constraints of this kind are linear." },
    { "evaluate", problem_evaluate, METH_O, "evaluate(x) -> dict of f, grad_f, ci, grad_ci, ce, grad_ce." },
    { "check", problem_check, METH_VARARGS, "check(x, tolerance=1e-5, directions=100): gradients against differences." },
    { 0 },
};
static PyGetSetDef problem_fields[] = {
    { "n", problem_n, NULL, "Number of variables.", NULL }, { "p", problem_p, NULL, "Number of inequalities.", NULL },
    { "q", problem_q, NULL, "Number of equalities.", NULL }, { "variables", problem_variables, NULL, "(name, shape) of each part of x.", NULL },
    { "start", problem_start, NULL, "x0 of the problem's text, NaN where it gives none; or None.", NULL },
    { "maximizes", problem_maximizes, NULL, "Whether the text says maximize: f is then its negative.", NULL }, { 0 },
};
static PyType_Slot problem_slots[] = {
    { Py_tp_dealloc, problem_dealloc }, { Py_tp_traverse, problem_traverse }, { Py_tp_clear, problem_clear }, { Py_tp_methods, problem_methods },
    { Py_tp_getset, problem_fields }, { Py_tp_doc, "min f(x) subject to ci(x) <= 0, ce(x) = 0." }, { 0, NULL },
};
static PyType_Spec problem_spec = { "lathe._core.Problem", sizeof(core_problem), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, problem_slots };

int core_problem_init(PyObject *module) { return (core.problem = core_add_type(module, &problem_spec)) ? 0 : -1; }
