/* Gram matrices. A Gram holds the library's handle: its second call of the same sizes allocates nothing but the result.
   SPDX-License-Identifier: BSD-3-Clause */
#include "core.h"

typedef struct core_gram {
    PyObject_HEAD
    lt_gram   *handle;
    lt_device *device;   /* NULL: the CPU */
    lt_gram_options options;
    PyObject  *progress; /* during a fill; borrowed */
    int64_t    pairs_done, pairs_total; /* of the last fill */
    PyThread_type_lock lock;
} core_gram;

static void gram_dealloc(PyObject *self)
{
    core_gram *g = (core_gram *)self;
    lt_gram_destroy(g->handle);
    lt_device_close(g->device);
    if (g->lock) PyThread_free_lock(g->lock);
    core_free(self);
}

/* Called while a matrix is computed, on the thread that asked for it: Ctrl-C ends it here. */
static bool on_progress(void *ctx, const lt_gram_progress *p)
{
    core_gram *g = ctx;
    g->pairs_done = p->pairs_done;
    g->pairs_total = p->pairs_total;
    if (core_watch_interrupted()) return false;
    if (!g->progress) return true;
    PyGILState_STATE gil = PyGILState_Ensure();
    PyObject *made = PyObject_CallFunction(g->progress, "LL", (long long)p->pairs_done, (long long)p->pairs_total);
    bool go_on = made && made != Py_False;
    if (!made) core_keep_exception();
    Py_XDECREF(made);
    PyGILState_Release(gil);
    return go_on;
}

static int weights_of(PyObject *obj, core_array *a, lt_weights *out)
{
    if (core_array_take(obj, LT_F64, "weights", a)) return -1;
    if (a->shape.rank != 2 && a->shape.rank != 3) {
        PyErr_Format(core.error[LT_ERR_SHAPE], "weights of shape %s: expected [layers, qubits], or [layers, qubits, 3] for the strong entangler", lt_shape_str(&a->shape).s);
        core_array_release(a);
        return -1;
    }
    *out = (lt_weights){ a->data, a->shape.dim[0], a->shape.dim[1] };
    return 0;
}

static int make_gram(core_gram *g, PyObject *weights, PyObject *options, const char *device)
{
    PyObject *keep = PyList_New(0);
    core_array w = { 0 };
    lt_weights view;
    g->options = lt_gram_defaults();
    g->lock = PyThread_allocate_lock();
    int rc = !keep || !g->lock || core_options_set(lt_gram_options_table(), lt_options_set, &g->options, options, keep) ||
             weights_of(weights, &w, &view) || core_device_open(device, &g->device) ? -1 : 0;
    g->options.progress = on_progress;
    g->options.progress_ctx = g;
    if (!rc && w.shape.rank == 3 && (g->options.entangler != LT_ENTANGLER_STRONG || w.shape.dim[2] != 3)) {
        PyErr_Format(core.error[LT_ERR_SHAPE], "weights of shape %s: only the strong entangler has three numbers per wire", lt_shape_str(&w.shape).s);
        rc = -1;
    }
    if (!rc && w.shape.rank == 2 && g->options.entangler == LT_ENTANGLER_STRONG) {
        PyErr_Format(core.error[LT_ERR_SHAPE], "weights of shape %s: the strong entangler needs [layers, qubits, 3]", lt_shape_str(&w.shape).s);
        rc = -1;
    }
    if (!rc) rc = core_check(lt_gram_create(g->device, &g->options, &view, &g->handle));
    core_array_release(&w);
    Py_XDECREF(keep);
    return rc;
}

/* Of a circuit: weights are numbers of any shape. similarity: a dict, with the seed of its draws. */
static int make_circuit_gram(core_gram *g, PyObject *circuit, PyObject *weights, PyObject *options, PyObject *similarity, long long seed, const char *device)
{
    PyObject *keep = PyList_New(0);
    core_array w = { 0 };
    lt_similarity_options s = lt_similarity_defaults();
    const lt_circuit *c = core_circuit_of(circuit);
    g->options = lt_gram_defaults();
    g->lock = PyThread_allocate_lock();
    int rc = !c || !keep || !g->lock || core_options_set(lt_gram_options_table(), lt_options_set, &g->options, options, keep) ||
             core_options_set(lt_similarity_options_table(), lt_options_set, &s, similarity, keep) || core_array_take(weights, LT_F64, "weights", &w) ||
             core_device_open(device, &g->device) ? -1 : 0;
    g->options.progress = on_progress;
    g->options.progress_ctx = g;
    s.seed = seed;
    if (!rc) rc = core_check(lt_gram_create_circuit(g->device, &g->options, &s, c, w.data, core_array_count(&w), &g->handle));
    core_array_release(&w);
    Py_XDECREF(keep);
    return rc;
}

static PyObject *gram_of_circuit(PyObject *type, PyObject *args)
{
    PyObject *circuit, *weights, *options, *similarity;
    long long seed;
    const char *device;
    if (!PyArg_ParseTuple(args, "OOO!O!Ls:of_circuit", &circuit, &weights, &PyDict_Type, &options, &PyDict_Type, &similarity, &seed, &device)) return NULL;
    core_gram *g = (core_gram *)PyType_GenericAlloc((PyTypeObject *)type, 0);
    if (g && make_circuit_gram(g, circuit, weights, options, similarity, seed, device)) Py_CLEAR(g);
    return (PyObject *)g;
}

static PyObject *gram_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = { "weights", "options", "device", NULL };
    PyObject *weights, *options;
    const char *device = "cpu";
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO!|s:Gram", names, &weights, &PyDict_Type, &options, &device)) return NULL;
    core_gram *g = (core_gram *)PyType_GenericAlloc(type, 0);
    if (g && make_gram(g, weights, options, device)) Py_CLEAR(g);
    return (PyObject *)g;
}

/* Rows of f64 or f32 as they are; other numbers become f64. Steps between rows need no copy. */
static int rows_of(PyObject *obj, const char *what, core_array *a, lt_rows *out)
{
    if (core_array_take(obj, CORE_ANY_TYPE, what, a)) return -1;
    if (a->dtype != LT_F64 && a->dtype != LT_F32) {
        core_array_release(a);
        if (core_array_take(obj, LT_F64, what, a)) return -1;
    }
    if (a->shape.rank != 2) {
        PyErr_Format(core.error[LT_ERR_SHAPE], "%s has shape %s: expected rows and columns", what, lt_shape_str(&a->shape).s);
        core_array_release(a);
        return -1;
    }
    *out = (lt_rows){ a->data, a->dtype, a->shape.dim[0], a->shape.dim[1], 0 };
    return 0;
}

static PyObject *place_for(const core_gram *g, const lt_rows *x, const lt_rows *y, void **data)
{
    lt_shape s = y ? lt_shape2(x->n, y->n) : g->options.packed ? lt_shape1(x->n * (x->n + 1) / 2) : lt_shape2(x->n, x->n);
    return core_array_zeros(g->options.return_dtype == LT_GRAM_FLOAT32 ? LT_F32 : LT_F64, &s, data); /* what a run that ends early leaves are zeros */
}

static PyObject *outcome(lt_status s, PyObject *made)
{
    PyObject *failed = core_kept_exception();
    if (failed) {
        core_raise_object(failed);
        Py_CLEAR(made);
    } else if (s && !core_watch_raise()) core_raise(s);
    if (s) Py_CLEAR(made);
    return made;
}

/* The same, where what was computed before Ctrl-C goes with the exception. */
static PyObject *outcome_of_fill(core_gram *g, lt_status s, PyObject *made)
{
    Py_INCREF(made);
    PyObject *whole = outcome(s, made);
    if (whole) return Py_DECREF(made), whole;
    core_attach_partial(Py_BuildValue("{s:N,s:L,s:L}", "matrix", made, "pairs_done", (long long)g->pairs_done, "pairs_total", (long long)g->pairs_total));
    return NULL;
}

static PyObject *gram_fill(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = { "x", "y", "progress", NULL };
    core_gram *g = (core_gram *)self;
    PyObject *x_obj, *y_obj = Py_None, *progress = Py_None;
    core_array xa = { 0 }, ya = { 0 };
    lt_rows x, y;
    void *data;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|OO:fill", names, &x_obj, &y_obj, &progress)) return NULL;
    core_copies_clear();
    bool two = y_obj != Py_None;
    if (rows_of(x_obj, "X", &xa, &x) || (two && rows_of(y_obj, "Y", &ya, &y))) return core_array_release(&xa), NULL;
    PyObject *made = place_for(g, &x, two ? &y : NULL, &data);
    lt_status s = LT_OK;
    if (made) {
        core_watch watch;
        core_watch_begin(&watch);
        Py_BEGIN_ALLOW_THREADS
        PyThread_acquire_lock(g->lock, WAIT_LOCK);
        g->progress = progress == Py_None ? NULL : progress;
        g->pairs_done = g->pairs_total = 0;
        s = lt_gram_fill(g->handle, &x, two ? &y : NULL, data);
        g->progress = NULL;
        PyThread_release_lock(g->lock);
        Py_END_ALLOW_THREADS
        core_watch_end(&watch);
    }
    core_array_release(&xa);
    core_array_release(&ya);
    return made ? outcome_of_fill(g, s, made) : NULL;
}

static PyObject *gram_states(PyObject *self, PyObject *args)
{
    core_gram *g = (core_gram *)self;
    PyObject *x_obj;
    long long wires = -1;
    core_array xa;
    lt_rows x;
    void *data;
    if (!PyArg_ParseTuple(args, "O|L:states", &x_obj, &wires)) return NULL;
    core_copies_clear();
    if (rows_of(x_obj, "X", &xa, &x)) return NULL;
    const int64_t qubits = wires >= 0 ? wires : x.columns;
    if (qubits > 40) return core_array_release(&xa), PyErr_Format(core.error[LT_ERR_SHAPE], "states of %lld qubits do not fit any memory", (long long)qubits);
    lt_shape shape = lt_shape2(x.n, (int64_t)1 << qubits);
    PyObject *made = core_array_new(g->options.dtype == LT_GRAM_FLOAT64 ? LT_C128 : LT_C64, &shape, &data);
    lt_status s = LT_OK;
    if (made) {
        Py_BEGIN_ALLOW_THREADS
        PyThread_acquire_lock(g->lock, WAIT_LOCK);
        s = lt_gram_states(g->handle, &x, data);
        PyThread_release_lock(g->lock);
        Py_END_ALLOW_THREADS
    }
    core_array_release(&xa);
    return made ? outcome(s, made) : NULL;
}

/* (n, n) numbers into the derivatives by weights and, on request, by X. */
static PyObject *gram_gradient(PyObject *self, PyObject *args)
{
    core_gram *g = (core_gram *)self;
    PyObject *x_obj, *loss_obj, *dw = NULL, *dx = NULL;
    long long n_weights;
    int by_x = 0;
    core_array xa, la;
    lt_rows x;
    void *w_data, *x_data = NULL;
    if (!PyArg_ParseTuple(args, "OOL|p:gradient", &x_obj, &loss_obj, &n_weights, &by_x)) return NULL;
    core_copies_clear();
    if (rows_of(x_obj, "X", &xa, &x)) return NULL;
    if (core_array_take(loss_obj, LT_F64, "loss", &la)) return core_array_release(&xa), NULL;
    const lt_shape of_w = lt_shape1(n_weights), of_x = lt_shape2(x.n, x.columns);
    if (la.shape.rank != 2 || la.shape.dim[0] != x.n || la.shape.dim[1] != x.n)
        PyErr_Format(core.error[LT_ERR_SHAPE], "the derivatives by K have shape %s: expected (%lld, %lld)", lt_shape_str(&la.shape).s, (long long)x.n, (long long)x.n);
    else {
        dw = core_array_new(LT_F64, &of_w, &w_data);
        if (by_x && dw && !(dx = core_array_new(LT_F64, &of_x, &x_data))) Py_CLEAR(dw);
    }
    lt_status s = LT_OK;
    if (dw) {
        Py_BEGIN_ALLOW_THREADS
        PyThread_acquire_lock(g->lock, WAIT_LOCK);
        s = lt_gram_gradient(g->handle, &x, la.data, w_data, x_data);
        PyThread_release_lock(g->lock);
        Py_END_ALLOW_THREADS
    }
    core_array_release(&xa);
    core_array_release(&la);
    if (s) {
        core_raise(s);
        Py_CLEAR(dw);
    }
    if (!dw || !by_x) return Py_XDECREF(dx), dw;
    return Py_BuildValue("(NN)", dw, dx);
}

PyObject *core_gram_info(const lt_gram_info *i)
{
    return Py_BuildValue("{s:s,s:s,s:s,s:s,s:d,s:L,s:L,s:L,s:L,s:i,s:{s:d,s:d,s:d,s:d},s:d,s:d,s:L,s:s,s:s}", "method", lt_gram_method_name(i->method), "backend",
                         i->backend ? i->backend : "", "kernel", i->kernel, "precision", lt_gram_float_name(i->precision), "error_bound", i->error_bound,
                         "n", (long long)i->n, "m", (long long)i->m, "qubits", (long long)i->n_qubits, "layers", (long long)i->n_layers, "threads", i->threads,
                         "seconds", "states", i->states_seconds, "product", i->product_seconds, "transfer", i->transfer_seconds, "total", i->total_seconds,
                         "mpairs_per_s", i->mpairs_per_s, "tflops", i->tflops, "peak_bytes", (long long)i->peak_bytes, "plan", i->plan, "note", i->note);
}

static PyObject *gram_info(PyObject *self, void *unused)
{
    (void)unused;
    lt_gram_info i = lt_gram_get_info(((core_gram *)self)->handle);
    return core_gram_info(&i);
}

static PyMethodDef gram_methods[] = {
    { "fill", (PyCFunction)(void (*)(void))gram_fill, METH_VARARGS | METH_KEYWORDS, "fill(x, y=None, progress=None): the matrix of the rows of x with those of y." },
    { "states", gram_states, METH_VARARGS, "states(x, wires=-1): psi of each row; wires of a circuit." },
    { "gradient", gram_gradient, METH_VARARGS, "gradient(x, dK, n_weights, by_x=False): of a circuit: sum dK_ij dK_ij/dw, and by x." },
    { "of_circuit", gram_of_circuit, METH_VARARGS | METH_CLASS, "of_circuit(circuit, weights, options, similarity, seed, device): matrices of a Circuit." },
    { 0 },
};
static PyGetSetDef gram_fields[] = { { "info", gram_info, NULL, "Method, kernel, times and plan of the last fill.", NULL }, { 0 } };
static PyType_Slot gram_slots[] = {
    { Py_tp_new, gram_new }, { Py_tp_dealloc, gram_dealloc }, { Py_tp_methods, gram_methods }, { Py_tp_getset, gram_fields },
    { Py_tp_doc, "Gram(weights, options, device='cpu'): matrices of one quantum feature map." }, { 0, NULL },
};
static PyType_Spec gram_spec = { "lathe._core.Gram", sizeof(core_gram), 0, Py_TPFLAGS_DEFAULT, gram_slots };

int core_gram_init(PyObject *module) { return core_add_type(module, &gram_spec) ? 0 : -1; }
