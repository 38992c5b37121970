/* Pages as of the command: facts, plots, bars, heat maps; for notebooks and files. SPDX-License-Identifier: BSD-3-Clause */
#include "core.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct core_report { PyObject_HEAD lt_report *handle; } core_report;
enum { MAX_SERIES = 16, MAX_FACTS = 64 };

static PyObject *report_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    (void)kwargs;
    const char *title;
    if (!PyArg_ParseTuple(args, "s:Report", &title)) return NULL;
    core_report *r = (core_report *)PyType_GenericAlloc(type, 0);
    if (r && core_check(lt_report_create(title, &r->handle))) Py_CLEAR(r);
    return (PyObject *)r;
}

static void report_dealloc(PyObject *self)
{
    lt_report_destroy(((core_report *)self)->handle);
    core_free(self);
}

static PyObject *report_heading(PyObject *self, PyObject *text)
{
    const char *s = PyUnicode_AsUTF8AndSize(text, NULL);
    if (!s) return NULL;
    lt_report_heading(((core_report *)self)->handle, s);
    return Py_NewRef(Py_None);
}

static PyObject *report_paragraph(PyObject *self, PyObject *text)
{
    const char *s = PyUnicode_AsUTF8AndSize(text, NULL);
    if (!s) return NULL;
    lt_report_paragraph(((core_report *)self)->handle, "%s", s);
    return Py_NewRef(Py_None);
}

static PyObject *report_facts(PyObject *self, PyObject *dict)
{
    const char *names[MAX_FACTS], *values[MAX_FACTS];
    PyObject *key, *value;
    Py_ssize_t at = 0;
    int n = 0;
    while (n < MAX_FACTS && PyDict_Next(dict, &at, &key, &value)) {
        if (!(names[n] = PyUnicode_AsUTF8AndSize(key, NULL)) || !(values[n] = PyUnicode_AsUTF8AndSize(value, NULL))) return NULL;
        n++;
    }
    if (PyErr_Occurred()) return NULL;
    lt_report_facts(((core_report *)self)->handle, n, names, values);
    return Py_NewRef(Py_None);
}

/* plot(title, x_label, log, {name: y}): series over 0, 1, 2, … */
static PyObject *report_plot(PyObject *self, PyObject *args)
{
    const char *title, *label;
    int log;
    PyObject *dict, *key, *value;
    if (!PyArg_ParseTuple(args, "sspO!:plot", &title, &label, &log, &PyDict_Type, &dict)) return NULL;
    core_array y[MAX_SERIES] = { 0 };
    lt_series series[MAX_SERIES] = { 0 };
    Py_ssize_t at = 0;
    int n = 0;
    while (n < MAX_SERIES && PyDict_Next(dict, &at, &key, &value)) {
        if (core_array_take(value, LT_F64, "series", &y[n])) break;
        series[n] = (lt_series){ .name = PyUnicode_AsUTF8AndSize(key, NULL), .y = y[n].data, .n = core_array_count(&y[n]) };
        n++;
    }
    if (!PyErr_Occurred())
        lt_report_plot(((core_report *)self)->handle, &(lt_plot){ .size = sizeof(lt_plot), .title = title, .x_label = label, .y_log = log, .n_series = n, .series = series });
    for (int i = 0; i < n; i++) core_array_release(&y[i]);
    return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
}

/* heatmap(title, matrix, diverging) */
static PyObject *report_heatmap(PyObject *self, PyObject *args)
{
    const char *title;
    PyObject *matrix;
    int diverging = 0;
    core_array a;
    if (!PyArg_ParseTuple(args, "sO|p:heatmap", &title, &matrix, &diverging) || core_array_take(matrix, LT_F64, "matrix", &a)) return NULL;
    if (a.shape.rank != 2) PyErr_Format(core.error[LT_ERR_SHAPE], "a heat map of shape %s: expected a matrix", lt_shape_str(&a.shape).s);
    else
        lt_report_heatmap(((core_report *)self)->handle, &(lt_heatmap){ .size = sizeof(lt_heatmap), .title = title, .rows = a.shape.dim[0], .columns = a.shape.dim[1],
                                                                       .values = a.data, .diverging = diverging });
    core_array_release(&a);
    return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
}

static PyObject *report_html(PyObject *self, PyObject *unused)
{
    (void)unused;
    char *text = NULL;
    size_t bytes = 0;
    FILE *f = open_memstream(&text, &bytes);
    if (!f) return PyErr_NoMemory();
    lt_status s = lt_report_print(((core_report *)self)->handle, f);
    fclose(f);
    PyObject *made = core_check(s) ? NULL : core_text(text);
    free(text);
    return made;
}

static PyMethodDef methods[] = {
    { "heading", report_heading, METH_O, "heading(text): opens a section." },
    { "paragraph", report_paragraph, METH_O, "paragraph(text)" },
    { "facts", report_facts, METH_O, "facts({what: value})" },
    { "plot", report_plot, METH_VARARGS, "plot(title, x_label, log, {name: y})" },
    { "heatmap", report_heatmap, METH_VARARGS, "heatmap(title, matrix, diverging=False)" },
    { "html", report_html, METH_NOARGS, "The page as text." },
    { 0 },
};
static PyType_Slot slots[] = {
    { Py_tp_new, report_new }, { Py_tp_dealloc, report_dealloc }, { Py_tp_methods, methods },
    { Py_tp_doc, "Report(title): a self-contained HTML page." }, { 0, NULL },
};
static PyType_Spec spec = { "lathe._core.Report", sizeof(core_report), 0, Py_TPFLAGS_DEFAULT, slots };

int core_report_init(PyObject *module) { return core_add_type(module, &spec) ? 0 : -1; }
