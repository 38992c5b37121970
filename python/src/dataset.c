/* Reading dataset files. lathe.dataset makes the lazy arrays that users see. SPDX-License-Identifier: BSD-3-Clause */
#include "core.h"

#include <stdlib.h>
#include <string.h>

typedef struct core_dataset {
    PyObject_HEAD
    lt_dataset *handle; /* NULL when closed */
    PyThread_type_lock lock; /* one user at a time */
} core_dataset;

static void dataset_dealloc(PyObject *self)
{
    core_dataset *d = (core_dataset *)self;
    lt_dataset_close(d->handle);
    if (d->lock) PyThread_free_lock(d->lock);
    core_free(self);
}

static PyObject *dataset_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    (void)kwargs;
    const char *path;
    if (!PyArg_ParseTuple(args, "s:DatasetFile", &path)) return NULL;
    core_dataset *d = (core_dataset *)PyType_GenericAlloc(type, 0);
    if (!d) return NULL;
    lt_status s;
    d->lock = PyThread_allocate_lock();
    Py_BEGIN_ALLOW_THREADS
    s = lt_dataset_open(path, &d->handle);
    Py_END_ALLOW_THREADS
    if (core_check(s)) Py_CLEAR(d);
    return (PyObject *)d;
}

static int is_open(const core_dataset *d)
{
    if (d->handle) return 1;
    PyErr_SetString(core.error[LT_ERR_ARGUMENT], "the dataset is closed");
    return 0;
}

static PyObject *dataset_close(PyObject *self, PyObject *unused)
{
    (void)unused;
    core_dataset *d = (core_dataset *)self;
    Py_BEGIN_ALLOW_THREADS
    PyThread_acquire_lock(d->lock, WAIT_LOCK);
    lt_dataset_close(d->handle);
    d->handle = NULL;
    PyThread_release_lock(d->lock);
    Py_END_ALLOW_THREADS
    return Py_NewRef(Py_None);
}

/* Both wait for other threads' reads. */
static PyObject *change_rest(PyObject *self, bool (*change)(lt_dataset *))
{
    core_dataset *d = (core_dataset *)self;
    bool done;
    Py_BEGIN_ALLOW_THREADS
    PyThread_acquire_lock(d->lock, WAIT_LOCK);
    done = change(d->handle);
    PyThread_release_lock(d->lock);
    Py_END_ALLOW_THREADS
    return PyBool_FromLong(done);
}

static PyObject *dataset_rest(PyObject *self, PyObject *unused) { (void)unused; return change_rest(self, lt_dataset_rest); }
static PyObject *dataset_wake(PyObject *self, PyObject *unused) { (void)unused; return change_rest(self, lt_dataset_wake); }

static PyObject *dataset_info(PyObject *self, void *unused)
{
    (void)unused;
    const core_dataset *d = (core_dataset *)self;
    if (!is_open(d)) return NULL;
    lt_dataset_info i = lt_dataset_get_info(d->handle);
    PyObject *status = PyList_New(0);
    for (int k = 0; status && k < LT_RUN_STATUS_COUNT; k++) {
        PyObject *n = PyLong_FromLongLong(i.status[k]);
        if (!n || PyList_Append(status, n)) Py_CLEAR(status);
        Py_XDECREF(n);
    }
    return Py_BuildValue("{s:L,s:L,s:L,s:L,s:L,s:L,s:L,s:L,s:L,s:O,s:N,s:N,s:N,s:N,s:N,s:N,s:N,s:K,s:K,s:N}", "rows", (long long)i.rows, "parameters",
                         (long long)i.parameters, "realizations", (long long)i.realizations, "steps", (long long)i.steps, "grid", (long long)i.grid,
                         "temporal_columns", (long long)i.temporal_columns, "summary_columns", (long long)i.summary_columns, "shard_index",
                         (long long)i.shard_index, "shard_count", (long long)i.shard_count, "has_outputs", i.has_outputs ? Py_True : Py_False, "config",
                         core_text(i.config), "engine_config", core_text(i.engine_config), "engine_version", core_text(i.engine_version), "precision",
                         core_text(i.precision), "creation_date", core_text(i.creation_date), "sampling_metrics", core_text(i.sampling_metrics), "device",
                         core_text(i.device), "seed", (unsigned long long)i.seed, "file_bytes", (unsigned long long)i.file_bytes, "status", status);
}

/* ---- What is in it --------------------------------------------------------------------------------------- */
static lt_status add_item(void *list, const lt_dataset_item *item)
{
    PyObject *d = Py_BuildValue("{s:N,s:O,s:N,s:N,s:N,s:K}", "path", core_text(item->path), "group", item->group ? Py_True : Py_False, "dtype",
                                core_text(item->dtype), "shape", core_shape_tuple(&item->shape), "compression", core_text(item->compression), "stored_bytes",
                                (unsigned long long)item->stored_bytes);
    lt_status s = !d || PyList_Append(list, d) ? core_keep_exception() : LT_OK;
    Py_XDECREF(d);
    return s;
}

static PyObject *dataset_items(PyObject *self, PyObject *unused)
{
    (void)unused;
    const core_dataset *d = (core_dataset *)self;
    PyObject *list = is_open(d) ? PyList_New(0) : NULL;
    if (list && core_check(lt_dataset_walk(d->handle, add_item, list))) Py_CLEAR(list);
    Py_XDECREF(core_kept_exception());
    return list;
}

/* ---- Reading ----------------------------------------------------------------------------------------------- */
static lt_status read_rows(core_dataset *d, const char *path, long long first, long long n, int integers, void *data, const lt_shape *s)
{
    lt_status status;
    Py_BEGIN_ALLOW_THREADS
    PyThread_acquire_lock(d->lock, WAIT_LOCK);
    status = integers ? lt_dataset_read_ints(d->handle, path, first, n, data, lt_shape_count(s)) : lt_dataset_read(d->handle, path, first, n, data, lt_shape_count(s));
    PyThread_release_lock(d->lock);
    Py_END_ALLOW_THREADS
    return status;
}

/* read(path, first, n[, integers[, into]]): rows as float32, or int64; written into an array where one is given. */
static PyObject *dataset_read(PyObject *self, PyObject *args)
{
    core_dataset *d = (core_dataset *)self;
    const char *path;
    long long first, n;
    int integers = 0;
    PyObject *made = NULL;
    if (!PyArg_ParseTuple(args, "sLL|pO:read", &path, &first, &n, &integers, &made) || !is_open(d)) return NULL;
    lt_shape s = lt_dataset_shape(d->handle, path);
    if (!s.rank) return PyErr_Format(core.error[LT_ERR_ARGUMENT], "the file has no array '%s'", path);
    if (n < 0) return PyErr_Format(core.error[LT_ERR_ARGUMENT], "%lld rows of '%s'", n, path);
    s.dim[0] = n;
    core_buffer view;
    void *data;
    bool into = made != NULL;
    if (into && core_array_into(made, (size_t)lt_shape_count(&s) * (integers ? 8 : 4), "read: the array", &view)) return NULL;
    made = into ? Py_NewRef(made) : core_array_new(integers ? LT_I64 : LT_F32, &s, &data);
    if (!made) return NULL;
    lt_status status = read_rows(d, path, first, n, integers, into ? view.buf : data, &s);
    if (into) core_array_into_done(&view);
    if (core_check(status)) Py_CLEAR(made);
    return made;
}

/* read_step(first, n, t): states [n, M, 3, G, G]. */
static PyObject *dataset_read_step(PyObject *self, PyObject *args)
{
    core_dataset *d = (core_dataset *)self;
    long long first, n, t;
    if (!PyArg_ParseTuple(args, "LLL:read_step", &first, &n, &t) || !is_open(d)) return NULL;
    lt_dataset_info i = lt_dataset_get_info(d->handle);
    lt_shape s = { .rank = 5, .dim = { n, i.realizations, 3, i.grid, i.grid } };
    if (n < 0) return PyErr_Format(core.error[LT_ERR_ARGUMENT], "%lld rows", n);
    void *data;
    PyObject *made = core_array_new(LT_F32, &s, &data);
    if (!made) return NULL;
    lt_status status;
    Py_BEGIN_ALLOW_THREADS
    PyThread_acquire_lock(d->lock, WAIT_LOCK);
    status = lt_dataset_read_step(d->handle, first, n, t, data, lt_shape_count(&s));
    PyThread_release_lock(d->lock);
    Py_END_ALLOW_THREADS
    if (core_check(status)) Py_CLEAR(made);
    return made;
}

static PyObject *dataset_texts(PyObject *self, PyObject *path)
{
    core_dataset *d = (core_dataset *)self;
    const char *name = PyUnicode_AsUTF8AndSize(path, NULL);
    int64_t n = 0;
    const char *const *texts = NULL;
    if (!name || !is_open(d) || core_check(lt_dataset_texts(d->handle, name, &n, &texts))) return NULL;
    PyObject *list = PyList_New(0);
    for (int64_t i = 0; list && i < n; i++) {
        PyObject *t = core_text(texts[i]);
        if (!t || PyList_Append(list, t)) Py_CLEAR(list);
        Py_XDECREF(t);
    }
    return list;
}

/* ---- Splits and cards ---------------------------------------------------------------------------------------- */
static PyObject *rows_array(const lt_row_split *s, int part)
{
    const int64_t *rows;
    void *data;
    lt_shape shape = { .rank = 1, .dim = { lt_row_split_rows(s, part, &rows) } };
    PyObject *made = core_array_new(LT_I64, &shape, &data);
    if (made && shape.dim[0]) memcpy(data, rows, (size_t)shape.dim[0] * sizeof *rows);
    return made;
}

/* split(train, val, test, counts, seed, status, stratify, save): arrays of row numbers, and the rule; status: bits. */
static PyObject *dataset_split(PyObject *self, PyObject *args)
{
    core_dataset *d = (core_dataset *)self;
    lt_row_split_options o = lt_row_split_defaults();
    long long seed;
    int counts, stratify, save;
    if (!PyArg_ParseTuple(args, "dddpLIpp:split", &o.train, &o.val, &o.test, &counts, &seed, &o.status, &stratify, &save) || !is_open(d)) return NULL;
    o.counts = counts, o.seed = seed, o.stratify = stratify;
    lt_row_split *made = NULL;
    lt_status s;
    Py_BEGIN_ALLOW_THREADS
    PyThread_acquire_lock(d->lock, WAIT_LOCK);
    s = lt_dataset_split(d->handle, &o, &made);
    if (!s && save) s = lt_row_split_save(made, d->handle, NULL);
    PyThread_release_lock(d->lock);
    Py_END_ALLOW_THREADS
    PyObject *out = core_check(s) ? NULL : Py_BuildValue("(N,N,N,s)", rows_array(made, LT_SPLIT_TRAIN), rows_array(made, LT_SPLIT_VAL), rows_array(made, LT_SPLIT_TEST), lt_row_split_rule(made));
    lt_row_split_destroy(made);
    return out;
}

/* card(checksum, license): the text. */
static PyObject *dataset_card(PyObject *self, PyObject *args)
{
    core_dataset *d = (core_dataset *)self;
    lt_card_options o = lt_card_defaults();
    int checksum;
    if (!PyArg_ParseTuple(args, "pz:card", &checksum, &o.license) || !is_open(d)) return NULL;
    o.checksum = checksum;
    char *text = NULL;
    size_t n = 0;
    FILE *to = open_memstream(&text, &n);
    if (!to) return PyErr_NoMemory();
    lt_status s;
    Py_BEGIN_ALLOW_THREADS
    PyThread_acquire_lock(d->lock, WAIT_LOCK);
    s = lt_dataset_card(d->handle, &o, to);
    PyThread_release_lock(d->lock);
    Py_END_ALLOW_THREADS
    if (fclose(to) && !s) s = LT_ERR_MEMORY;
    PyObject *made = core_check(s) ? NULL : core_text(text);
    free(text);
    return made;
}

static PyMethodDef dataset_methods[] = {
    { "split", dataset_split, METH_VARARGS, "split(train, val, test, counts, seed, status, stratify, save): (train, val, test, rule)." },
    { "card", dataset_card, METH_VARARGS, "card(checksum, license): Markdown." },
    { "close", dataset_close, METH_NOARGS, "Closes the file." },
    { "rest", dataset_rest, METH_NOARGS, "Instead of close: whether it waits for a second, without its lock on the file." },
    { "wake", dataset_wake, METH_NOARGS, "Whether it is open again, and the file what it was." },
    { "items", dataset_items, METH_NOARGS, "Every group and array: path, group, dtype, shape, compression, stored_bytes." },
    { "read", dataset_read, METH_VARARGS, "read(path, first, n, integers=False, into): rows as float32, or int64; written into an array where one is given." },
    { "read_step", dataset_read_step, METH_VARARGS, "read_step(first, n, t): states of step t." },
    { "texts", dataset_texts, METH_O, "texts(path): labels, or an attribute 'path@name'." },
    { 0 },
};
static PyGetSetDef dataset_fields[] = { { "info", dataset_info, NULL, "Sizes and metadata.", NULL }, { 0 } };
static PyType_Slot dataset_slots[] = {
    { Py_tp_new, dataset_new }, { Py_tp_dealloc, dataset_dealloc }, { Py_tp_methods, dataset_methods }, { Py_tp_getset, dataset_fields },
    { Py_tp_doc, "DatasetFile(path): a dataset open for reading." }, { 0, NULL },
};
static PyType_Spec dataset_spec = { "lathe._core.DatasetFile", sizeof(core_dataset), 0, Py_TPFLAGS_DEFAULT, dataset_slots };

int core_dataset_init(PyObject *module) { return core_add_type(module, &dataset_spec) ? 0 : -1; }
