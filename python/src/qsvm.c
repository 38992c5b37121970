/* Support vector machines on quantum kernels. SPDX-License-Identifier: BSD-3-Clause */
#include "core.h"

#include <string.h>

typedef struct core_qsvm {
    PyObject_HEAD
    lt_qsvm   *handle;
    lt_device *device; /* NULL: the CPU */
    lt_qsvm_task task;
    PyThread_type_lock lock;
} core_qsvm;

static void qsvm_dealloc(PyObject *self)
{
    core_qsvm *q = (core_qsvm *)self;
    lt_qsvm_destroy(q->handle);
    lt_device_close(q->device);
    if (q->lock) PyThread_free_lock(q->lock);
    core_free(self);
}

static bool on_progress(void *ctx, const char *step, int64_t done, int64_t total)
{
    (void)ctx, (void)step, (void)done, (void)total;
    return !core_watch_interrupted();
}

/* Options of the machine itself, else of its kernel: one list of names for both. core_options_set reads numbers by the rows of one
   table, so each name goes with the table that has it. */
static int set_options(lt_qsvm_options *o, lt_gram_options *kernel, PyObject *options, PyObject *keep)
{
    PyObject *key, *value, *own = PyDict_New(), *gram = PyDict_New();
    Py_ssize_t at = 0;
    size_t base;
    int rc = own && gram ? 0 : -1;
    while (!rc && PyDict_Next(options, &at, &key, &value)) {
        const char *name = PyUnicode_AsUTF8AndSize(key, NULL);
        bool of_gram = name && !lt_options_find(lt_qsvm_options_table(), name, &base) && lt_options_find(lt_gram_options_table(), name, &base);
        rc = name ? PyDict_SetItem(of_gram ? gram : own, key, value) : -1;
    }
    if (!rc) rc = core_options_set(lt_qsvm_options_table(), lt_options_set, o, own, keep) || core_options_set(lt_gram_options_table(), lt_options_set, kernel, gram, keep) ? -1 : 0;
    Py_XDECREF(own);
    Py_XDECREF(gram);
    return rc;
}

static int make_qsvm(core_qsvm *q, PyObject *weights, PyObject *options, const char *device, long long classes, bool precomputed)
{
    lt_qsvm_options o = lt_qsvm_defaults();
    lt_gram_options kernel = lt_gram_defaults();
    PyObject *keep = PyList_New(0);
    core_array w = { 0 };
    o.progress = on_progress;
    o.n_classes = classes;
    o.precomputed = precomputed;
    o.gram = &kernel;
    q->lock = PyThread_allocate_lock();
    int rc = !keep || !q->lock || set_options(&o, &kernel, options, keep) || core_device_open(device, &q->device) ? -1 : 0;
    if (!rc && weights != Py_None) {
        rc = core_array_take(weights, LT_F64, "weights", &w);
        if (!rc && w.shape.rank < 2) {
            PyErr_Format(core.error[LT_ERR_SHAPE], "weights of shape %s: expected [layers, qubits]", lt_shape_str(&w.shape).s);
            rc = -1;
        }
        if (!rc) o.weights = (lt_weights){ w.data, w.shape.dim[0], w.shape.dim[1] };
    }
    q->task = o.task;
    if (!rc) rc = core_check(lt_qsvm_create(q->device, &o, &q->handle));
    core_array_release(&w);
    Py_XDECREF(keep);
    return rc;
}

static PyObject *qsvm_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = { "options", "weights", "device", "classes", "precomputed", NULL };
    PyObject *options, *weights = Py_None;
    const char *device = "cpu";
    long long classes = 0;
    int precomputed = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!|OsLp:QSVM", names, &PyDict_Type, &options, &weights, &device, &classes, &precomputed)) return NULL;
    core_qsvm *q = (core_qsvm *)PyType_GenericAlloc(type, 0);
    if (q && make_qsvm(q, weights, options, device, classes, precomputed)) Py_CLEAR(q);
    return (PyObject *)q;
}

static PyObject *qsvm_load(PyObject *type, PyObject *path)
{
    const char *name = PyUnicode_AsUTF8AndSize(path, NULL);
    core_qsvm *q = name ? (core_qsvm *)PyType_GenericAlloc((PyTypeObject *)type, 0) : NULL;
    if (!q) return NULL;
    q->lock = PyThread_allocate_lock();
    if (!q->lock || core_check(lt_qsvm_load(NULL, name, &q->handle))) Py_CLEAR(q);
    if (q) q->task = lt_qsvm_get_info(q->handle)->task;
    return (PyObject *)q;
}

static int rows_of(PyObject *obj, core_array *a, lt_rows *out)
{
    if (core_array_take(obj, LT_F64, "X", a)) return -1;
    if (a->shape.rank != 2) {
        PyErr_Format(core.error[LT_ERR_SHAPE], "X has shape %s: expected rows and columns", lt_shape_str(&a->shape).s);
        core_array_release(a);
        return -1;
    }
    *out = (lt_rows){ a->data, LT_F64, a->shape.dim[0], a->shape.dim[1], 0 };
    return 0;
}

static int finish(lt_status s)
{
    if (!s) return 0;
    if (!core_watch_raise()) core_raise(s);
    return -1;
}

/* One number per row of the wanted type; none for None. */
static int column_of(PyObject *obj, lt_dtype want, const char *what, int64_t n, core_array *out)
{
    *out = (core_array){ 0 };
    if (obj == Py_None) return 0;
    if (core_array_take(obj, want, what, out)) return -1;
    if (core_array_count(out) == n) return 0;
    PyErr_Format(core.error[LT_ERR_SHAPE], "%lld %s for %lld rows", (long long)core_array_count(out), what, (long long)n);
    core_array_release(out);
    return -1;
}

static PyObject *qsvm_fit(PyObject *self, PyObject *args)
{
    core_qsvm *q = (core_qsvm *)self;
    PyObject *x_obj, *y_obj = Py_None, *w_obj = Py_None;
    core_array xa, ya = { 0 }, wa = { 0 };
    lt_rows x;
    if (!PyArg_ParseTuple(args, "O|OO:fit", &x_obj, &y_obj, &w_obj)) return NULL;
    core_copies_clear();
    if (rows_of(x_obj, &xa, &x)) return NULL;
    const bool values = q->task == LT_QSVM_REGRESS;
    int rc = column_of(y_obj, values ? LT_F64 : LT_I32, values ? "values" : "labels", x.n, &ya) || column_of(w_obj, LT_F64, "weights", x.n, &wa) ? -1 : 0;
    lt_status s = LT_OK;
    if (!rc) {
        const lt_qsvm_targets t = { sizeof t, values ? NULL : ya.data, values ? ya.data : NULL, wa.data };
        core_watch watch;
        core_watch_begin(&watch);
        Py_BEGIN_ALLOW_THREADS
        PyThread_acquire_lock(q->lock, WAIT_LOCK);
        s = lt_qsvm_fit_targets(q->handle, &x, &t);
        PyThread_release_lock(q->lock);
        Py_END_ALLOW_THREADS
        core_watch_end(&watch);
    }
    core_array_release(&xa);
    core_array_release(&ya);
    core_array_release(&wa);
    return rc || finish(s) ? NULL : Py_NewRef(Py_None);
}

static PyObject *qsvm_decide(PyObject *self, PyObject *args)
{
    core_qsvm *q = (core_qsvm *)self;
    PyObject *x_obj;
    int rbf = 0;
    core_array xa;
    lt_rows x;
    void *data;
    if (!PyArg_ParseTuple(args, "O|p:decide", &x_obj, &rbf)) return NULL;
    core_copies_clear();
    if (rows_of(x_obj, &xa, &x)) return NULL;
    const lt_qsvm_info *info = lt_qsvm_get_info(q->handle);
    lt_shape shape = info && info->n_machines > 1 ? lt_shape2(x.n, info->n_machines) : lt_shape1(x.n);
    PyObject *made = core_array_new(LT_F64, &shape, &data);
    lt_status s = LT_OK;
    if (made) {
        core_watch watch;
        core_watch_begin(&watch);
        Py_BEGIN_ALLOW_THREADS
        PyThread_acquire_lock(q->lock, WAIT_LOCK);
        s = lt_qsvm_decide_pairs(q->handle, rbf ? LT_QSVM_RBF : LT_QSVM_QUANTUM, &x, data);
        PyThread_release_lock(q->lock);
        Py_END_ALLOW_THREADS
        core_watch_end(&watch);
    }
    core_array_release(&xa);
    if (made && finish(s)) Py_CLEAR(made);
    return made;
}

/* Decision values, and how many rows they are of. */
static const lt_qsvm_info *decisions_of(core_qsvm *q, PyObject *obj, core_array *a, int64_t *n)
{
    const lt_qsvm_info *i = lt_qsvm_get_info(q->handle);
    if (!i) PyErr_SetString(core.error[LT_ERR_ARGUMENT], "the machine has not been trained");
    if (!i || core_array_take(obj, LT_F64, "decision values", a)) return NULL;
    *n = core_array_count(a) / i->n_machines;
    if (*n * i->n_machines == core_array_count(a)) return i;
    PyErr_Format(core.error[LT_ERR_SHAPE], "decision values of shape %s: expected %lld for each row", lt_shape_str(&a->shape).s, (long long)i->n_machines);
    core_array_release(a);
    return NULL;
}

static PyObject *qsvm_labels(PyObject *self, PyObject *obj)
{
    core_array a;
    int64_t n;
    void *data;
    if (!decisions_of((core_qsvm *)self, obj, &a, &n)) return NULL;
    lt_shape shape = lt_shape1(n);
    PyObject *made = core_array_new(LT_I32, &shape, &data);
    if (made && core_check(lt_qsvm_labels(((core_qsvm *)self)->handle, LT_QSVM_QUANTUM, a.data, n, data))) Py_CLEAR(made);
    core_array_release(&a);
    return made;
}

static PyObject *qsvm_probabilities(PyObject *self, PyObject *obj)
{
    core_array a;
    int64_t n;
    void *data;
    const lt_qsvm_info *i = decisions_of((core_qsvm *)self, obj, &a, &n);
    if (!i) return NULL;
    lt_shape shape = lt_shape2(n, i->n_classes);
    PyObject *made = core_array_new(LT_F64, &shape, &data);
    if (made && core_check(lt_qsvm_probabilities(((core_qsvm *)self)->handle, a.data, n, data))) Py_CLEAR(made);
    core_array_release(&a);
    return made;
}

static PyObject *qsvm_save(PyObject *self, PyObject *path)
{
    const char *name = PyUnicode_AsUTF8AndSize(path, NULL);
    return !name || core_check(lt_qsvm_save(((core_qsvm *)self)->handle, name)) ? NULL : Py_NewRef(Py_None);
}

/* ---- What a fit found ------------------------------------------------------------------------------------ */
static PyObject *scores(const lt_qsvm_scores *s)
{
    return Py_BuildValue("{s:d,s:d,s:d,s:d,s:d,s:d,s:d}", "f1", s->f1, "accuracy", s->accuracy, "precision", s->precision, "recall", s->recall,
                         "balanced_accuracy", s->balanced_accuracy, "roc_auc", s->roc_auc, "average_precision", s->average_precision);
}

static PyObject *machine(const lt_qsvm_fitted *m)
{
    return Py_BuildValue("{s:d,s:d,s:d,s:d,s:d,s:(LL),s:L,s:d,s:O,s:s,s:N}", "C", m->C, "gamma", m->gamma, "objective", m->objective, "bias", m->bias,
                         "threshold", m->threshold, "n_support", (long long)m->n_support[0], (long long)m->n_support[1], "iterations",
                         (long long)m->iterations, "support_fraction", m->support_fraction, "converged", m->converged ? Py_True : Py_False, "solver",
                         lt_svm_solver_name(m->solver), "cross_validation", scores(&m->best.mean));
}

static PyObject *qsvm_info(PyObject *self, void *unused)
{
    (void)unused;
    const lt_qsvm_info *i = lt_qsvm_get_info(((core_qsvm *)self)->handle);
    if (!i) return Py_NewRef(Py_None);
    PyObject *advice = PyList_New(0);
    for (int a = 0; advice && a < i->n_advice; a++) {
        PyObject *text = core_text(i->advice[a]);
        if (!text || PyList_Append(advice, text)) Py_CLEAR(advice);
        Py_XDECREF(text);
    }
    return Py_BuildValue("{s:s,s:d,s:O,s:O,s:s,s:L,s:L,s:L,s:L,s:L,s:N,s:N,s:N,s:N,s:d}", "embed_mode", lt_embed_name(i->embed_mode), "angle_scale",
                         i->angle_scale, "re_embed", i->re_embed ? Py_True : Py_False, "reduced", i->reduced ? Py_True : Py_False, "range",
                         lt_qsvm_range_name(i->range), "n", (long long)i->n, "n_features", (long long)i->n_features, "n_qubits", (long long)i->n_qubits,
                         "n_layers", (long long)i->n_layers, "n_folds", (long long)i->n_folds, "quantum", machine(&i->machine[LT_QSVM_QUANTUM]), "rbf",
                         i->has_rbf ? machine(&i->machine[LT_QSVM_RBF]) : Py_NewRef(Py_None), "gram", core_gram_info(i->gram), "advice", advice,
                         "total_seconds", i->total_seconds);
}

static PyObject *qsvm_kernel(PyObject *self, void *unused)
{
    (void)unused;
    int64_t n = 0;
    const double *K = lt_qsvm_kernel(((core_qsvm *)self)->handle, &n);
    return core_matrix(K, n, n);
}

static PyObject *qsvm_coefficients(PyObject *self, void *unused)
{
    (void)unused;
    int64_t n = 0;
    int64_t columns = 0;
    const double *c = lt_qsvm_dual(((core_qsvm *)self)->handle, &n, &columns);
    return columns > 1 ? core_matrix(c, n, columns) : core_vector(c, n);
}

static PyMethodDef qsvm_methods[] = {
    { "fit", qsvm_fit, METH_VARARGS, "fit(X, y=None, weight=None): y of classes from 0, or of values." },
    { "decide", qsvm_decide, METH_VARARGS, "decide(X, rbf=False): decision values; above the threshold is class 1; a column for each pair of several classes." },
    { "labels", qsvm_labels, METH_O, "labels(decision): classes by number." },
    { "probabilities", qsvm_probabilities, METH_O, "probabilities(decision): a column for each class." },
    { "save", qsvm_save, METH_O, "save(path): the quantum machine as a .npz archive." },
    { "load", qsvm_load, METH_O | METH_CLASS, "load(path): a saved machine." },
    { 0 },
};
static PyGetSetDef qsvm_fields[] = {
    { "info", qsvm_info, NULL, "What the fit found; None before it.", NULL },
    { "kernel", qsvm_kernel, NULL, "The training kernel before centring.", NULL },
    { "coefficients", qsvm_coefficients, NULL, "y_i alpha_i of the training rows; a column for each other class of several.", NULL },
    { 0 },
};
static PyType_Slot qsvm_slots[] = {
    { Py_tp_new, qsvm_new }, { Py_tp_dealloc, qsvm_dealloc }, { Py_tp_methods, qsvm_methods }, { Py_tp_getset, qsvm_fields },
    { Py_tp_doc, "QSVM(options, weights=None, device='cpu'): reduce, scale, kernel, search of C, fit." }, { 0, NULL },
};
static PyType_Spec qsvm_spec = { "lathe._core.QSVM", sizeof(core_qsvm), 0, Py_TPFLAGS_DEFAULT, qsvm_slots };

int core_qsvm_init(PyObject *module) { return core_add_type(module, &qsvm_spec) ? 0 : -1; }
