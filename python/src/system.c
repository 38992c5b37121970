/* Devices, libraries, threads, traces. SPDX-License-Identifier: BSD-3-Clause */
#include "core.h"

#include <string.h>

int core_device_open(const char *name, lt_device **out)
{
    lt_status s;
    *out = NULL;
    if (!strcmp(name, "cpu")) return 0;
    Py_BEGIN_ALLOW_THREADS
    s = lt_device_open(name, out);
    Py_END_ALLOW_THREADS
    if (core_check(s)) return -1;
    if (strcmp(lt_device_id(*out), "cpu")) return 0;
    lt_device_close(*out); /* auto, and there is nothing better */
    *out = NULL;
    return 0;
}

static PyObject *devices(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    PyObject *list = PyList_New(0);
    for (int i = 0; list && i < lt_device_count(); i++) {
        lt_device_info d = { .size = sizeof d };
        if (core_check(lt_device_list(i, &d))) return Py_DECREF(list), NULL;
        PyObject *row = Py_BuildValue("{s:s,s:s,s:s,s:s,s:i,s:L,s:L,s:O}", "id", d.id, "name", d.name, "features", d.features, "driver", d.driver, "cores",
                                      d.cores, "memory_total_bytes", (long long)d.memory_total_bytes, "memory_free_bytes", (long long)d.memory_free_bytes,
                                      "computes", d.computes ? Py_True : Py_False);
        if (!row || PyList_Append(list, row)) Py_CLEAR(list);
        Py_XDECREF(row);
    }
    return list;
}

static PyObject *libraries(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    PyObject *list = PyList_New(0);
    lt_device_library_info d = { .size = sizeof d };
    for (int i = 0; list && lt_device_library(i, &d); i++) {
        PyObject *row = Py_BuildValue("{s:s,s:s,s:s,s:O,s:s}", "name", d.name, "purpose", d.purpose, "version", d.version, "usable",
                                      d.usable ? Py_True : Py_False, "reason", d.reason);
        if (!row || PyList_Append(list, row)) Py_CLEAR(list);
        Py_XDECREF(row);
    }
    return list;
}

static PyObject *features(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    lt_feature f = { .size = sizeof f };
    PyObject *list = PyList_New(0);
    for (int i = 0; list && lt_feature_get(i, &f); i++) {
        PyObject *row = Py_BuildValue("{s:s,s:s,s:s,s:s,s:O}", "name", f.name, "purpose", f.purpose, "package", f.package, "configure",
                                      f.configure, "built_in", f.built_in ? Py_True : Py_False);
        if (!row || PyList_Append(list, row)) Py_CLEAR(list);
        Py_XDECREF(row);
    }
    return list;
}

static PyObject *environment(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    int n;
    const lt_env_row *e = lt_env_rows(&n);
    PyObject *list = PyList_New(0);
    for (int i = 0; list && i < n; i++) {
        bool wrong = lt_env_check(&e[i]) != LT_OK;
        PyObject *row = Py_BuildValue("{s:s,s:N,s:s,s:s,s:N}", "name", e[i].name, "value", core_text(lt_env_value(&e[i])), "fallback", e[i].fallback, "help",
                                      e[i].help, "problem", wrong ? core_text(lt_error_text()) : Py_NewRef(Py_None));
        if (!row || PyList_Append(list, row)) Py_CLEAR(list);
        Py_XDECREF(row);
    }
    return list;
}

static PyObject *build(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    return Py_BuildValue("{s:s,s:s,s:s,s:s}", "version", lt_version(), "compiler", lt_build_compiler(), "type", lt_build_type(), "jail", lt_jail_walls());
}

static PyObject *set_threads(PyObject *self, PyObject *n)
{
    (void)self;
    long threads = PyLong_AsLong(n);
    if (threads == -1 && PyErr_Occurred()) return NULL;
    if (threads < 0 || threads > 1 << 20) return PyErr_Format(core.error[LT_ERR_ARGUMENT], "%ld threads: expected 0 for all cores, or a positive number", threads);
    lt_status s;
    Py_BEGIN_ALLOW_THREADS
    s = lt_set_threads((int)threads);
    Py_END_ALLOW_THREADS
    return core_check(s) ? NULL : Py_NewRef(Py_None);
}

static PyObject *get_threads(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    return PyLong_FromLong(lt_get_threads());
}

/* ---- Traces --------------------------------------------------------------------------------------------------- */
static PyObject *trace_start(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    return core_check(lt_trace_start(NULL)) ? NULL : Py_NewRef(Py_None);
}

static PyObject *trace_stop(PyObject *self, PyObject *path)
{
    (void)self;
    lt_trace_stop();
    if (path == Py_None) return Py_NewRef(Py_None);
    const char *name = PyUnicode_AsUTF8AndSize(path, NULL);
    return !name || core_check(lt_trace_write_chrome(name)) ? NULL : Py_NewRef(Py_None);
}

static PyObject *trace_rows(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    int64_t n = lt_trace_rows(LT_TRACE_TOTAL, NULL, 0);
    lt_trace_row *rows = n > 0 ? PyMem_Malloc((size_t)n * sizeof *rows) : NULL;
    PyObject *list = PyList_New(0);
    int64_t got = rows ? lt_trace_rows(LT_TRACE_TOTAL, rows, n) : 0;
    for (int64_t i = 0; list && i < (got < n ? got : n); i++) {
        PyObject *row = Py_BuildValue("{s:s,s:L,s:d,s:d,s:L}", "name", rows[i].name, "calls", (long long)rows[i].calls, "total", 1e-9 * (double)rows[i].total_ns,
                                      "self", 1e-9 * (double)rows[i].self_ns, "bytes", (long long)rows[i].bytes);
        if (!row || PyList_Append(list, row)) Py_CLEAR(list);
        Py_XDECREF(row);
    }
    PyMem_Free(rows);
    return list;
}

static PyObject *example_names(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    PyObject *d = PyDict_New();
    lt_example e = { .size = sizeof e };
    for (int i = 0; d && lt_example_get(i, &e); i++)
        if (core_put(d, e.name, core_text(e.title))) Py_CLEAR(d);
    return d;
}

PyMethodDef core_system_methods[] = {
    { "solve", (PyCFunction)(void (*)(void))core_solve, METH_VARARGS | METH_KEYWORDS, "solve(problem, options, objects, print=False) -> (dict, exception or None)" },
    { "generate", (PyCFunction)(void (*)(void))core_generate, METH_VARARGS | METH_KEYWORDS, "generate(path, text, output, …) -> dict" },
    { "replay", (PyCFunction)(void (*)(void))core_replay, METH_VARARGS | METH_KEYWORDS, "replay(config, name, index, …) -> dict" },
    { "option_rows", core_option_rows, METH_O, "option_rows('solve'|'gram'|'qsvm'): the library's own rows." },
    { "op_names", core_op_names, METH_NOARGS, "The ops of Graph.op and the form of their arguments." },
    { "last_copies", core_last_copies, METH_NOARGS, "Which arrays the last call of this thread copied, and why." },
    { "devices", devices, METH_NOARGS, "Devices that open here." },
    { "libraries", libraries, METH_NOARGS, "Libraries a GPU works with." },
    { "features", features, METH_NOARGS, "Outside libraries of this build." },
    { "environment", environment, METH_NOARGS, "Environment variables the library reads." },
    { "build", build, METH_NOARGS, "Version and compiler." },
    { "set_threads", set_threads, METH_O, "set_threads(n): of the library's pool; 0 for all cores." },
    { "get_threads", get_threads, METH_NOARGS, "Threads of the library's pool." },
    { "trace_start", trace_start, METH_NOARGS, "Starts recording spans." },
    { "trace_stop", trace_stop, METH_O, "trace_stop(path or None): stops, and writes a Chrome trace." },
    { "trace_rows", trace_rows, METH_NOARGS, "Where the time went: rows by total seconds." },
    { "example_names", example_names, METH_NOARGS, "Built-in problems and their titles." },
    { 0 },
};
