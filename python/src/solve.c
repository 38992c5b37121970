/* One run of the optimizer. SPDX-License-Identifier: BSD-3-Clause */
#include "core.h"

#include <stdio.h>

/* What a run borrows from Python while it lasts. */
typedef struct borrowed {
    core_array x0, H0, H0_diagonal, S, Y, rho;
    lt_hessian_state warm;
    FILE     *print_to;
    PyObject *keep; /* texts of options */
} borrowed;

static void give_back(borrowed *b)
{
    core_array *all[] = { &b->x0, &b->H0, &b->H0_diagonal, &b->S, &b->Y, &b->rho };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) core_array_release(all[i]);
    if (b->print_to) {
        Py_BEGIN_ALLOW_THREADS
        fclose(b->print_to);
        Py_END_ALLOW_THREADS
    }
    Py_XDECREF(b->keep);
}

/* dict[name], or an object of n numbers; absent or None leaves *to alone. */
static int take_numbers(PyObject *dict, const char *name, int64_t n, core_array *a, const double **to)
{
    PyObject *obj = PyDict_GetItemString(dict, name); /* borrowed */
    if (!obj || obj == Py_None) return 0;
    if (core_array_take(obj, LT_F64, name, a)) return -1;
    if (n >= 0 && core_array_count(a) != n) {
        PyErr_Format(core.error[LT_ERR_SHAPE], "%s has %lld numbers: expected %lld", name, (long long)core_array_count(a), (long long)n);
        return -1;
    }
    *to = a->data;
    return 0;
}

static int take_warm_start(PyObject *dict, int64_t n, borrowed *b, lt_solve_options *opt)
{
    PyObject *warm = PyDict_GetItemString(dict, "lbfgs_state");
    if (!warm || warm == Py_None) return 0;
    const double *S = NULL, *Y = NULL, *rho = NULL;
    PyObject *gamma = PyDict_Check(warm) ? PyDict_GetItemString(warm, "gamma") : NULL;
    if (!gamma || take_numbers(warm, "S", -1, &b->S, &S) || take_numbers(warm, "Y", -1, &b->Y, &Y) || take_numbers(warm, "rho", -1, &b->rho, &rho) || !S || !Y || !rho) {
        if (!PyErr_Occurred()) PyErr_SetString(core.error[LT_ERR_ARGUMENT], "lbfgs_state: expected S, Y, rho and gamma");
        return -1;
    }
    int64_t m = core_array_count(&b->rho);
    if (m < 1 || core_array_count(&b->S) != m * n || core_array_count(&b->Y) != m * n) {
        PyErr_Format(core.error[LT_ERR_SHAPE], "lbfgs_state: S and Y need %lld rows of %lld numbers", (long long)m, (long long)n);
        return -1;
    }
    b->warm = (lt_hessian_state){ .n = n, .m = m, .S = b->S.data, .Y = b->Y.data, .rho = b->rho.data, .gamma = PyFloat_AsDouble(gamma) };
    opt->lbfgs_state = &b->warm;
    return PyErr_Occurred() ? -1 : 0;
}

static lt_status set_option(const lt_option_table *t, const char *name, const char *value, void *options)
{
    (void)t;
    return lt_solve_options_set(options, name, value);
}

/* objects: x0, H0, H0_diagonal, lbfgs_state, iterate_fn; print: whether the table goes to sys.stdout. */
static int fill_options(core_problem *p, PyObject *options, PyObject *objects, int print, borrowed *b, lt_solve_options *opt)
{
    *opt = lt_solve_defaults();
    b->keep = PyList_New(0);
    if (!b->keep || (p->model && core_check(lt_solve_options_from_model(opt, p->model)))) return -1;
    if (core_options_set(lt_solve_options_table(), set_option, opt, options, b->keep)) return -1;
    if (take_numbers(objects, "x0", p->n, &b->x0, &opt->x0) || take_numbers(objects, "H0", p->n * p->n, &b->H0, &opt->H0) ||
        take_numbers(objects, "H0_diagonal", p->n, &b->H0_diagonal, &opt->H0_diagonal) || take_warm_start(objects, p->n, b, opt)) return -1;
    PyObject *log = PyDict_GetItemString(objects, "iterate_fn");
    if (log && log != Py_None) {
        opt->iterate_fn = core_iterate_call;
        opt->iterate_ctx = log;
    }
    if (print && !(opt->print_to = b->print_to = core_stdout_stream())) return PyErr_NoMemory(), -1;
    return 0;
}

/* (solution as a dict or None, exception of a callback or None); raises for a mistake in the call. */
static PyObject *result(lt_status s, lt_solution *solution)
{
    PyObject *failed = core_kept_exception();
    if (s && failed) return core_raise_object(failed), NULL; /* at x0: the function's own exception */
    if (s) return core_raise(s);
    PyObject *d = core_solution_dict(solution);
    lt_solution_destroy(solution);
    if (!failed && core_watch_raise()) {
        PyObject *type, *trace;
        PyErr_Fetch(&type, &failed, &trace);
        PyErr_NormalizeException(&type, &failed, &trace);
        Py_XDECREF(type);
        Py_XDECREF(trace);
    }
    if (!d) return Py_XDECREF(failed), NULL;
    return Py_BuildValue("(NN)", d, failed ? failed : Py_NewRef(Py_None));
}

PyObject *core_solve(PyObject *self, PyObject *args, PyObject *kwargs)
{
    (void)self;
    static char *names[] = { "problem", "options", "objects", "print", NULL };
    PyObject *problem, *options, *objects;
    int print = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!O!O!|p:solve", names, core.problem, &problem, &PyDict_Type, &options, &PyDict_Type, &objects, &print))
        return NULL;
    core_problem *p = (core_problem *)problem;
    borrowed b = { 0 };
    lt_solve_options opt;
    core_copies_clear();
    if (fill_options(p, options, objects, print, &b, &opt)) return give_back(&b), NULL;
    lt_solution *solution = NULL;
    lt_status s;
    core_watch watch;
    Py_XDECREF(core_kept_exception());
    core_watch_begin(&watch);
    opt.interrupt = core_watch_flag();
    Py_BEGIN_ALLOW_THREADS
    s = lt_solve(p->handle, &opt, &solution);
    Py_END_ALLOW_THREADS
    core_watch_end(&watch);
    give_back(&b);
    return result(s, solution);
}
