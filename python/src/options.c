/* Options by name: from Python values to the texts that the library's own rows read, check and explain. SPDX-License-Identifier: BSD-3-Clause */
#include "core.h"

#include <math.h>
#include <string.h>

/* The text of a number that stands for a whole one: 1e3 is 1000, 2.5 stays and the library refuses it. */
static PyObject *whole_text(PyObject *value)
{
    if (PyIndex_Check(value)) {
        PyObject *whole = PyNumber_Index(value), *text = whole ? PyObject_Str(whole) : NULL;
        Py_XDECREF(whole);
        return text;
    }
    double d = PyFloat_AsDouble(value);
    if (d == -1 && PyErr_Occurred()) return NULL;
    if (floor(d) == d && fabs(d) < 9e15) return PyUnicode_FromFormat("%lld", (long long)d);
    char text[32];
    lt_double_text(d, text);
    return PyUnicode_FromString(text);
}

static PyObject *real_text(PyObject *value)
{
    char text[32];
    double d = PyFloat_AsDouble(value);
    if (d == -1 && PyErr_Occurred()) return NULL;
    lt_double_text(d, text);
    return PyUnicode_FromString(text);
}

static PyObject *truth_text(PyObject *value)
{
    int truth = PyObject_IsTrue(value);
    return truth < 0 ? NULL : PyUnicode_FromString(truth ? "true" : "false");
}

/* What sets the option to value, as a new str. */
static PyObject *value_text(const lt_option *row, PyObject *value)
{
    if (PyUnicode_Check(value)) return Py_NewRef(value);
    bool number = PyNumber_Check(value) != 0;
    if (row && number && row->type == LT_OPTION_TYPE_BOOL) return truth_text(value);
    if (PyBool_Check(value)) return truth_text(value);
    if (row && number && row->type == LT_OPTION_TYPE_INT) return whole_text(value);
    if (row && number && row->type == LT_OPTION_TYPE_REAL) return real_text(value);
    if (row && (row->type == LT_OPTION_TYPE_PATH || row->type == LT_OPTION_TYPE_STRING) && PyObject_HasAttrString(value, "__fspath__"))
        return PyOS_FSPath(value);
    return PyObject_Str(value);
}

static int set_one(const lt_option_table *t, core_setter set, void *options, const char *name, const lt_option *row, PyObject *value, PyObject *keep)
{
    PyObject *text = value_text(row, value);
    const char *s = text ? PyUnicode_AsUTF8AndSize(text, NULL) : NULL;
    int rc = !s || PyList_Append(keep, text) ? -1 : core_check(set(t, name, s, options));
    Py_XDECREF(text);
    return rc;
}

static int set_each(const lt_option_table *t, core_setter set, void *options, const char *name, const lt_option *row, PyObject *values, PyObject *keep)
{
    PyObject *it = PyObject_GetIter(values), *value;
    if (!it) return -1;
    int rc = 0;
    while (!rc && (value = PyIter_Next(it))) {
        rc = set_one(t, set, options, name, row, value, keep);
        Py_DECREF(value);
    }
    Py_DECREF(it);
    return rc || PyErr_Occurred() ? -1 : 0;
}

int core_options_set(const lt_option_table *t, core_setter set, void *options, PyObject *dict, PyObject *keep)
{
    PyObject *key, *value;
    Py_ssize_t at = 0;
    while (dict && PyDict_Next(dict, &at, &key, &value)) {
        const char *name = PyUnicode_AsUTF8AndSize(key, NULL);
        if (!name) return -1;
        if (value == Py_None) continue;
        size_t base;
        const lt_option *row = lt_options_find(t, name, &base);
        bool several = row && row->type == LT_OPTION_TYPE_LIST && !PyUnicode_Check(value);
        if ((several ? set_each : set_one)(t, set, options, name, row, value, keep)) return -1;
    }
    return 0;
}

/* ---- The rows, for help ------------------------------------------------------------------------------ */
static PyObject *names_tuple(const char *const *names)
{
    if (!names) return Py_NewRef(Py_None);
    Py_ssize_t n = 0;
    while (names[n]) n++;
    PyObject *t = PyTuple_New(n);
    for (Py_ssize_t i = 0; t && i < n; i++)
        if (PyTuple_SetItem(t, i, core_text(names[i]))) Py_CLEAR(t);
    return t;
}

static PyObject *row_dict(const lt_option *row, const char *group)
{
    char expects[400];
    lt_option_expects(row, expects, sizeof expects);
    PyObject *d = PyDict_New();
    if (!d || core_put(d, "name", core_text(row->name)) || core_put(d, "type", core_text(lt_option_type_name(row->type))) ||
        core_put(d, "alias", core_text(row->alias)) || core_put(d, "default", core_text(row->default_text)) || core_put(d, "expects", core_text(expects)) ||
        core_put(d, "help", core_text(row->help)) || core_put(d, "group", core_text(group)) || core_put(d, "names", names_tuple(row->names)))
        Py_CLEAR(d);
    return d;
}

PyObject *core_options_rows(const lt_option_table *t)
{
    PyObject *list = PyList_New(0);
    for (int g = 0; list && g < t->n_groups; g++)
        for (int i = 0; list && i < t->groups[g].n_rows; i++) {
            if (t->groups[g].rows[i].hidden) continue;
            PyObject *row = row_dict(&t->groups[g].rows[i], t->groups[g].title);
            if (!row || PyList_Append(list, row)) Py_CLEAR(list);
            Py_XDECREF(row);
        }
    return list;
}

PyObject *core_option_rows(PyObject *self, PyObject *which)
{
    (void)self;
    static const struct { const char *name; const lt_option_table *(*table)(void); } tables[] = {
        { "solve", lt_solve_options_table }, { "gram", lt_gram_options_table }, { "qsvm", lt_qsvm_options_table }, { "similarity", lt_similarity_options_table },
    };
    const char *name = PyUnicode_AsUTF8AndSize(which, NULL);
    if (!name) return NULL;
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        if (!strcmp(tables[i].name, name)) return core_options_rows(tables[i].table());
    return PyErr_Format(core.error[LT_ERR_ARGUMENT], "options of %R: expected 'solve', 'gram', 'qsvm' or 'similarity'", which);
}
