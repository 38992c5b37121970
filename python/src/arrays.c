/* Arrays in and out. In: the buffer protocol, without a copy where layout and type fit; everything else goes through
   lathe.arrays.convert, which knows DLPack, lists and strides. Out: NumPy arrays. SPDX-License-Identifier: BSD-3-Clause */
#include "core.h"

#include <stdio.h>
#include <string.h>

int PyObject_GetBuffer(PyObject *obj, core_buffer *view, int flags);
void PyBuffer_Release(core_buffer *view);
enum { BUFFER_WRITABLE = 0x0001, BUFFER_FORMAT = 0x0004, BUFFER_STRIDES = 0x0010 | 0x0008 }; /* PyBUF_WRITABLE, … */

/* ---- What was copied ------------------------------------------------------------------------- */
enum { MAX_COPIES = 16, COPY_TEXT = 200 };
static _Thread_local struct { int n; char text[MAX_COPIES][COPY_TEXT]; } copies;

void core_copies_clear(void) { copies.n = 0; }

static void note_copy(const char *what, const char *why)
{
    if (copies.n < MAX_COPIES) snprintf(copies.text[copies.n++], COPY_TEXT, "%s: %s", what, why);
}

PyObject *core_last_copies(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    PyObject *list = PyList_New(0);
    for (int i = 0; list && i < copies.n; i++) {
        PyObject *text = core_text(copies.text[i]);
        if (!text || PyList_Append(list, text)) Py_CLEAR(list);
        Py_XDECREF(text);
    }
    return list;
}

/* ---- Element types ------------------------------------------------------------------------------ */
/* The type of a buffer's format, this machine's byte order only; CORE_ANY_TYPE when we have none like it. */
static lt_dtype dtype_of_format(const char *f, Py_ssize_t itemsize)
{
    if (!f) return LT_U8;
    if (*f == '@' || *f == '=' || *f == '<') f++;
    bool complex = *f == 'Z';
    if (complex) f++;
    if (!*f || f[1]) return CORE_ANY_TYPE;
    if (complex) return *f == 'd' ? LT_C128 : *f == 'f' ? LT_C64 : CORE_ANY_TYPE;
    if (*f == 'd') return LT_F64;
    if (*f == 'f') return LT_F32;
    if (*f == 'e') return LT_F16;
    if (*f == 'B' || *f == '?') return LT_U8;
    if (strchr("ilq", *f)) return itemsize == 8 ? LT_I64 : itemsize == 4 ? LT_I32 : CORE_ANY_TYPE;
    return CORE_ANY_TYPE;
}

int core_dtype_from(PyObject *obj, lt_dtype *out)
{
    PyObject *text = PyObject_Str(obj);
    const char *name = text ? PyUnicode_AsUTF8AndSize(text, NULL) : NULL;
    int rc = name ? 0 : -1;
    if (name && !lt_dtype_parse(name, out)) {
        PyErr_Format(core.error[LT_ERR_TYPE], "element type %R: expected one such as 'float64', 'float32', 'int64'", obj);
        rc = -1;
    }
    Py_XDECREF(text);
    return rc;
}

/* ---- In -------------------------------------------------------------------------------------------- */
static bool is_dense(const core_buffer *v)
{
    Py_ssize_t expected = v->itemsize;
    for (int i = v->ndim - 1; i >= 0; i--) {
        if (v->shape[i] != 1 && v->strides[i] != expected) return v->len == 0;
        expected *= v->shape[i];
    }
    return !v->suboffsets;
}

/* 1: taken; 0: does not fit as it is; no exception either way. */
static int take_buffer(PyObject *obj, lt_dtype want, core_array *out)
{
    if (PyObject_GetBuffer(obj, &out->view, BUFFER_STRIDES | BUFFER_FORMAT)) {
        PyErr_Clear();
        out->view.obj = NULL;
        return 0;
    }
    const core_buffer *v = &out->view;
    lt_dtype t = dtype_of_format(v->format, v->itemsize);
    bool fits = t != CORE_ANY_TYPE && (want == CORE_ANY_TYPE || t == want) && v->ndim <= LT_MAX_RANK && is_dense(v);
    if (!fits) {
        PyBuffer_Release(&out->view);
        return 0;
    }
    out->data = v->buf;
    out->dtype = t;
    out->shape.rank = v->ndim;
    for (int i = 0; i < v->ndim; i++) out->shape.dim[i] = v->shape[i];
    return 1;
}

int core_array_take(PyObject *obj, lt_dtype want, const char *what, core_array *out)
{
    *out = (core_array){ 0 };
    if (take_buffer(obj, want, out)) return 0;
    PyObject *pair = PyObject_CallFunction(core.convert, "Oss", obj, want == CORE_ANY_TYPE ? "" : lt_dtype_name(want), what);
    if (!pair) return -1;
    PyObject *array = PyTuple_GetItem(pair, 0), *why = array ? PyTuple_GetItem(pair, 1) : NULL;
    if (why && why != Py_None) {
        const char *text = PyUnicode_AsUTF8AndSize(why, NULL);
        if (text) note_copy(what, text);
    }
    int rc = -1;
    if (array && take_buffer(array, want, out)) {
        out->owner = Py_NewRef(array);
        rc = 0;
    } else if (!PyErr_Occurred())
        PyErr_Format(core.error[LT_ERR_TYPE], "%s: %R is no array that can be taken", what, array ? array : Py_None);
    Py_DECREF(pair);
    return rc;
}

int core_array_take_exact(PyObject *obj, lt_dtype want, core_array *out)
{
    *out = (core_array){ 0 };
    return (PyObject *)Py_TYPE(obj) == core.ndarray && take_buffer(obj, want, out);
}

void core_array_release(core_array *a)
{
    if (a->view.obj) PyBuffer_Release(&a->view);
    Py_CLEAR(a->owner);
    a->data = NULL;
}

int64_t core_array_count(const core_array *a) { return lt_shape_count(&a->shape); }

int core_shape_from(PyObject *sequence, lt_shape *out)
{
    if (PyLong_Check(sequence)) {
        *out = lt_shape1(PyLong_AsLongLong(sequence));
        return PyErr_Occurred() ? -1 : 0;
    }
    Py_ssize_t n = PySequence_Size(sequence);
    if (n < 0) return -1;
    if (n > LT_MAX_RANK) {
        PyErr_Format(core.error[LT_ERR_SHAPE], "a shape of %zd axes: at most %d", n, LT_MAX_RANK);
        return -1;
    }
    *out = (lt_shape){ .rank = (int)n };
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *d = PySequence_GetItem(sequence, i), *whole = d ? PyNumber_Index(d) : NULL;
        out->dim[i] = whole ? PyLong_AsLongLong(whole) : 0;
        Py_XDECREF(whole);
        Py_XDECREF(d);
        if (PyErr_Occurred()) return -1;
    }
    return 0;
}

/* ---- Out -------------------------------------------------------------------------------------------- */
PyObject *core_shape_tuple(const lt_shape *s)
{
    PyObject *t = PyTuple_New(s->rank);
    for (int i = 0; t && i < s->rank; i++) {
        PyObject *d = PyLong_FromLongLong(s->dim[i]);
        if (!d || PyTuple_SetItem(t, i, d)) Py_CLEAR(t);
    }
    return t;
}

PyObject *core_array_arguments(lt_dtype t, const lt_shape *s)
{
    return Py_BuildValue("(NO)", core_shape_tuple(s), core.dtype[t == LT_BF16 ? LT_F32 : t]);
}

static PyObject *call_for_array(PyObject *function, PyObject *arguments, void **data)
{
    core_buffer view;
    PyObject *array = PyObject_Call(function, arguments, NULL);
    if (!array || PyObject_GetBuffer(array, &view, BUFFER_WRITABLE)) {
        Py_XDECREF(array);
        return NULL;
    }
    *data = view.buf; /* stays where it is as long as the array lives */
    PyBuffer_Release(&view);
    return array;
}

int core_array_into(PyObject *obj, size_t bytes, const char *what, core_buffer *view)
{
    if (PyObject_GetBuffer(obj, view, BUFFER_WRITABLE)) return -1; /* asked for without strides, it is dense */
    if ((size_t)view->len == bytes) return 0;
    PyErr_Format(core.error[LT_ERR_SHAPE], "%s has %zd bytes: expected %zu", what, view->len, bytes);
    PyBuffer_Release(view);
    return -1;
}

void core_array_into_done(core_buffer *view) { PyBuffer_Release(view); }

PyObject *core_array_call(PyObject *arguments, void **data) { return call_for_array(core.empty, arguments, data); }

PyObject *core_array_new(lt_dtype t, const lt_shape *s, void **data)
{
    PyObject *arguments = core_array_arguments(t, s), *array = arguments ? core_array_call(arguments, data) : NULL;
    Py_XDECREF(arguments);
    return array;
}

PyObject *core_array_zeros(lt_dtype t, const lt_shape *s, void **data)
{
    PyObject *arguments = core_array_arguments(t, s), *array = arguments ? call_for_array(core.zeros, arguments, data) : NULL;
    Py_XDECREF(arguments);
    return array;
}

PyObject *core_array_copy(lt_dtype t, const lt_shape *s, const void *data)
{
    void *to;
    PyObject *array = core_array_new(t, s, &to);
    if (array) memcpy(to, data, (size_t)lt_shape_count(s) * lt_dtype_size(t));
    return array;
}

PyObject *core_vector(const double *data, int64_t n)
{
    lt_shape s = lt_shape1(n);
    return data ? core_array_copy(LT_F64, &s, data) : Py_NewRef(Py_None);
}

PyObject *core_matrix(const double *data, int64_t rows, int64_t columns)
{
    lt_shape s = lt_shape2(rows, columns);
    return data ? core_array_copy(LT_F64, &s, data) : Py_NewRef(Py_None);
}

int core_arrays_init(void)
{
    static const char *const names[LT_DTYPE_COUNT] = {
        [LT_F16] = "float16", [LT_F32] = "float32", [LT_F64] = "float64", [LT_C64] = "complex64", [LT_C128] = "complex128",
        [LT_I32] = "int32", [LT_I64] = "int64", [LT_U8] = "uint8",
    };
    PyObject *numpy = PyImport_ImportModule("numpy"), *arrays = numpy ? PyImport_ImportModule("lathe.arrays") : NULL;
    core.empty = arrays ? PyObject_GetAttrString(numpy, "empty") : NULL;
    core.zeros = core.empty ? PyObject_GetAttrString(numpy, "zeros") : NULL;
    core.ndarray = core.zeros ? PyObject_GetAttrString(numpy, "ndarray") : NULL;
    core.convert = core.ndarray ? PyObject_GetAttrString(arrays, "convert") : NULL;
    for (int t = 0; core.convert && t < LT_DTYPE_COUNT; t++)
        if (names[t] && !(core.dtype[t] = PyObject_CallMethod(numpy, "dtype", "s", names[t]))) break;
    Py_XDECREF(numpy);
    Py_XDECREF(arrays);
    return PyErr_Occurred() ? -1 : 0;
}
