/* lathe._core: the public C API as Python objects. What its files share. SPDX-License-Identifier: BSD-3-Clause

   Each file of this folder is one area: graph.c, program.c, problem.c, solve.c, gram.c, … Functions that can fail return -1 or NULL
   with a Python exception set. Every call that computes releases the GIL; what it calls back takes it again. Sub-interpreters are
   refused, so the few objects that live as long as the process are plain globals (core). */
#ifndef LATHE_PYTHON_CORE_H
#define LATHE_PYTHON_CORE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "lathe/lathe.h"

typedef struct core_globals {
    PyObject *error[LT_STATUS_COUNT]; /* exception classes of lathe.errors */
    PyObject *describe;               /* lathe.errors.describe(exception) -> text with the user's file and line */
    PyObject *convert;                /* lathe.arrays.convert(object, type, what) -> (array, why it was copied or None) */
    PyObject *empty, *zeros, *ndarray; /* of numpy */
    PyObject *dtype[LT_DTYPE_COUNT];  /* numpy.dtype objects; NULL for bf16 */
    PyTypeObject *node, *graph, *program, *problem;
} core_globals;
extern core_globals core;

/* ---- module.c ------------------------------------------------------------------------------ */
/* Makes a type of the module; NULL on failure. */
PyTypeObject *core_add_type(PyObject *module, PyType_Spec *spec);
void core_free(PyObject *self); /* ends a tp_dealloc: gives the memory and the type back */
/* dict[name] = value, whose reference is taken; -1 when value is NULL or the dict refuses. */
int core_put(PyObject *dict, const char *name, PyObject *value);
PyObject *core_text(const char *text); /* a str, None for NULL; bytes that are not UTF-8 are replaced */

/* ---- errors.c ------------------------------------------------------------------------------ */
int core_errors_init(void);
/* Raises the exception of a status with the library's sentence; returns NULL. */
PyObject *core_raise(lt_status s);
/* 0 for LT_OK, else raises and returns -1. */
int core_check(lt_status s);
/* A callback failed with a Python exception: it is kept for this thread, and its text is the library's error text. */
lt_status core_keep_exception(void);
/* The exception kept by this thread, as a new reference, or NULL; it is kept no longer. */
PyObject *core_kept_exception(void);
/* Raises an exception object, whose reference is taken. */
void core_raise_object(PyObject *exception);
/* Gives the exception being raised an attribute `partial`, what was computed so far; its reference is taken, NULL is allowed. */
void core_attach_partial(PyObject *made);

/* ---- arrays.c ------------------------------------------------------------------------------ */
int core_arrays_init(void);
/* Py_buffer, which the limited API has from Python 3.11 on and Python 3.10 has with the same layout. */
typedef struct core_buffer {
    void *buf;
    PyObject *obj;
    Py_ssize_t len, itemsize;
    int readonly, ndim;
    char *format;
    Py_ssize_t *shape, *strides, *suboffsets;
    void *internal;
} core_buffer;

typedef struct core_array { /* zero-initialised: none */
    void      *data;        /* dense, row major */
    lt_dtype   dtype;
    lt_shape   shape;
    core_buffer view;
    PyObject  *owner;       /* the array made in place of one that did not fit; else NULL */
} core_array;

#define CORE_ANY_TYPE LT_DTYPE_COUNT
/* obj as a dense array of the wanted type: its own memory where layout and type fit, else a copy that core_last_copies reports.
   `what` names it in messages. */
int  core_array_take(PyObject *obj, lt_dtype want, const char *what, core_array *out);
void core_array_release(core_array *a);
/* The memory of a dense array that can be written, of so many bytes, until core_array_into_done. */
int  core_array_into(PyObject *obj, size_t bytes, const char *what, core_buffer *view);
void core_array_into_done(core_buffer *view);
/* 1: obj is a numpy.ndarray that fits as it is; 0: it is not, and nothing was taken. Never raises. */
int  core_array_take_exact(PyObject *obj, lt_dtype want, core_array *out);
int64_t core_array_count(const core_array *a);
PyObject *core_shape_tuple(const lt_shape *s);
/* A new NumPy array and its memory; dims are copied. */
PyObject *core_array_new(lt_dtype t, const lt_shape *s, void **data);
PyObject *core_array_zeros(lt_dtype t, const lt_shape *s, void **data);
PyObject *core_array_arguments(lt_dtype t, const lt_shape *s); /* of core_array_call, for arrays that are made often */
PyObject *core_array_call(PyObject *arguments, void **data);
PyObject *core_array_copy(lt_dtype t, const lt_shape *s, const void *data);
PyObject *core_vector(const double *data, int64_t n);           /* None where data is NULL */
PyObject *core_matrix(const double *data, int64_t rows, int64_t columns);
int  core_shape_from(PyObject *sequence, lt_shape *out);
int  core_dtype_from(PyObject *name, lt_dtype *out);            /* "f64", "float64", a numpy.dtype */
void core_copies_clear(void);                                   /* at the start of a public call */
PyObject *core_last_copies(PyObject *self, PyObject *unused);

/* ---- options.c ----------------------------------------------------------------------------- */
typedef lt_status (*core_setter)(const lt_option_table *t, const char *name, const char *value, void *options);
/* Sets the options in a dict by name, through the rows of the table; None leaves the default. Texts live as long as `keep`, a list. */
int core_options_set(const lt_option_table *t, core_setter set, void *options, PyObject *dict, PyObject *keep);
/* The rows as dicts: name, type, default, expects, help, group, names. */
PyObject *core_options_rows(const lt_option_table *t);
PyObject *core_option_rows(PyObject *self, PyObject *which);

/* ---- watch.c: Ctrl-C ------------------------------------------------------------------------ */
typedef struct core_watch { bool outermost; } core_watch;
/* From here to the end Ctrl-C sets *core_watch_flag, on the main thread. */
void core_watch_begin(core_watch *w);
void core_watch_end(core_watch *w);
const volatile int *core_watch_flag(void);  /* NULL on other threads: they are not interrupted */
bool core_watch_interrupted(void);          /* Ctrl-C came, on the main thread */
/* With the GIL, after core_watch_end: the handlers of Python run. -1 when one raised, as KeyboardInterrupt. */
int core_watch_raise(void);

/* ---- stream.c --------------------------------------------------------------------------------- */
FILE *core_stdout_stream(void); /* writes to sys.stdout, taking the GIL; NULL when memory is out. Close it without the GIL */

/* ---- graph.c, build.c, program.c ---------------------------------------------------------------- */
typedef struct core_graph { PyObject_HEAD lt_graph *handle; lt_node *inputs; int n_inputs; } core_graph; /* inputs in order of creation */
typedef struct core_node { PyObject_HEAD core_graph *graph; lt_node node; } core_node;
int core_graph_init(PyObject *module);
int core_program_init(PyObject *module);
PyObject *core_node_new(core_graph *g, lt_node n);
/* The node of an object; none for None where optional. */
int core_node_of(core_graph *g, PyObject *obj, bool optional, lt_node *out);
/* The nodes of a sequence; *out belongs to the caller (PyMem_Free). */
int core_nodes_of(core_graph *g, PyObject *sequence, lt_node **out, int *n);
PyObject *core_build(core_graph *g, const char *op, PyObject *const *args, Py_ssize_t n_args);
PyObject *core_op_names(PyObject *self, PyObject *unused);
PyObject *core_program_create(core_graph *g, PyObject *outputs, const char *mode, const char *device);

/* ---- problem.c, callbacks.c ------------------------------------------------------------------------ */
typedef struct core_problem {
    PyObject_HEAD
    lt_problem *handle;
    lt_model   *model;     /* read from text; else NULL */
    PyObject   *graph;     /* of a graph; else NULL */
    PyObject   *values, *gradients; /* of callbacks; else NULL */
    PyObject   *spare;     /* an array of n numbers to hand to callbacks when nobody else holds it */
    PyObject   *variables; /* list of (name, shape) */
    int64_t     n, p, q;
} core_problem;
int core_problem_init(PyObject *module);
lt_status core_problem_call(void *ctx, const double *x, const lt_outputs *out); /* an lt_problem_fn; ctx is a core_problem */

/* ---- solve.c, solution.c, iterate.c -------------------------------------------------------------------- */
PyObject *core_solve(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *core_solution_dict(const lt_solution *s);
PyObject *core_hessian_dict(const lt_hessian_state *h); /* None when empty */
PyObject *core_iterate_dict(const lt_iterate *it);
bool core_iterate_call(void *callback, const lt_iterate *it); /* an lt_iterate_fn */

/* ---- The other areas ------------------------------------------------------------------------------------ */
int core_circuit_init(PyObject *module);
const lt_circuit *core_circuit_of(PyObject *obj); /* borrowed; NULL with TypeError */
int core_gram_init(PyObject *module);
int core_qsvm_init(PyObject *module);
int core_dataset_init(PyObject *module);
int core_report_init(PyObject *module);
int core_device_open(const char *name, lt_device **out); /* NULL in *out for the CPU */
PyObject *core_generate(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *core_replay(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *core_gram_info(const lt_gram_info *i);
extern PyMethodDef core_system_methods[];

#endif
