/* What the library prints goes to sys.stdout, so that notebooks and tests see it. SPDX-License-Identifier: BSD-3-Clause */
#include "core.h"

#include <stdio.h>

static ssize_t write_text(void *cookie, const char *text, size_t bytes)
{
    (void)cookie;
    PyGILState_STATE gil = PyGILState_Ensure();
    PyObject *out = PySys_GetObject("stdout"); /* borrowed */
    PyObject *words = out && out != Py_None ? PyUnicode_DecodeUTF8(text, (Py_ssize_t)bytes, "replace") : NULL;
    PyObject *done = words ? PyObject_CallMethod(out, "write", "O", words) : NULL;
    if (PyErr_Occurred()) PyErr_Clear(); /* a stream that is closed prints nothing */
    Py_XDECREF(done);
    Py_XDECREF(words);
    PyGILState_Release(gil);
    return (ssize_t)bytes;
}

FILE *core_stdout_stream(void)
{
    FILE *f = fopencookie(NULL, "w", (cookie_io_functions_t){ .write = write_text });
    if (f) setvbuf(f, NULL, _IOLBF, 4096);
    return f;
}
