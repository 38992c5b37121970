/* Graph builders by name: one row per builder of lathe/graph.h with what its arguments are. SPDX-License-Identifier: BSD-3-Clause

   To add a builder: its name in the list of its form below, or a function of its own and a row. tests/python/test_graph.py compares
   this table with the header. */
#include "core.h"

#include <string.h>

/* Arguments in order, by the letters of a row:
   n node   ? node or None   N nodes   i whole number   d number   b truth   s shape   A whole numbers   t element type */
typedef struct op_args {
    lt_node  node[6];
    int64_t  whole[4];
    double   real[3];
    bool     truth;
    lt_shape shape, axes[3]; /* lists of whole numbers are kept as shapes: at most LT_MAX_RANK of them */
    lt_node *list;
    int      n_list, n_node, n_whole, n_real, n_axes;
    lt_dtype dtype;
    lt_node  more[2];        /* second and third result */
    int      n_more;
} op_args;

typedef lt_node (*op_builder)(lt_graph *g, op_args *a);

#define X_NODE(X) \
    X(neg) X(abs) X(sign) X(square) X(sqrt) X(cbrt) X(exp) X(expm1) X(log) X(log1p) X(sin) X(cos) X(tan) X(asin) X(acos) X(atan) \
    X(sinh) X(cosh) X(tanh) X(sigmoid) X(softplus) X(relu) X(gelu) X(erf) X(floor) X(recip) X(detach) X(sum) X(mean) X(prod) X(max) \
    X(min) X(amax_abs) X(logsumexp) X(norm) X(norm1) X(norm_inf) X(norm_nuc) X(norm_spec) X(transpose) X(trace) X(diag) X(lower) \
    X(det) X(logdet) X(logabsdet) X(inv) X(cholesky) X(eigvals_re) X(eigvals_im) X(eigvalsh) X(svdvals) X(flatten) X(rfft2) X(fold_max) \
    X(fold_max_abs) X(fold_l1) X(fold_l2)
#define X_NODES2(X) \
    X(add) X(sub) X(mul) X(div) X(pow) X(atan2) X(hypot) X(mod) X(minimum) X(maximum) X(lt) X(le) X(gt) X(ge) X(eq) X(matmul) X(dot) \
    X(outer) X(linsolve) X(cross_entropy)
#define X_NODES3(X) X(where) X(clamp)
#define X_NODE_REAL(X) X(scale) X(shift) X(pow_scalar)
#define X_REAL_NODE(X) X(rsub) X(rdiv)
#define X_NODE_AXIS(X) X(argmax) X(argmin) X(cumsum) X(squeeze) X(unsqueeze) X(flip) X(softmax) X(log_softmax)
#define X_NODE_AXIS_KEEP(X) \
    X(sum_axis) X(mean_axis) X(prod_axis) X(max_axis) X(min_axis) X(amax_abs_axis) X(logsumexp_axis)
#define X_NODE_AXES_KEEP(X) X(sum_axes) X(mean_axes)
#define X_NODE_WHOLE(X) X(topk) X(topk_index) X(at) X(irfft2)
#define X_NODE_SHAPE(X) X(reshape) X(broadcast_to)
#define X_WINDOW(X) X(maxpool2d) X(avgpool2d)
#define X_LIST_AXIS(X) X(concat) X(stack)
#define X_TYPE_SHAPE(X) X(zeros) X(ones)

#define OP(name, call) static lt_node op_##name(lt_graph *g, op_args *a) { return call; }
#define MAKE_NODE(name) OP(name, lt_##name(g, a->node[0]))
#define MAKE_NODES2(name) OP(name, lt_##name(g, a->node[0], a->node[1]))
#define MAKE_NODES3(name) OP(name, lt_##name(g, a->node[0], a->node[1], a->node[2]))
#define MAKE_NODE_REAL(name) OP(name, lt_##name(g, a->node[0], a->real[0]))
#define MAKE_REAL_NODE(name) OP(name, lt_##name(g, a->real[0], a->node[0]))
#define MAKE_NODE_AXIS(name) OP(name, lt_##name(g, a->node[0], (int)a->whole[0]))
#define MAKE_NODE_AXIS_KEEP(name) OP(name, lt_##name(g, a->node[0], (int)a->whole[0], a->truth))
#define MAKE_NODE_AXES_KEEP(name) OP(name, lt_##name(g, a->node[0], a->axes[0].rank, ints(&a->axes[0]).i, a->truth))
#define MAKE_NODE_WHOLE(name) OP(name, lt_##name(g, a->node[0], a->whole[0]))
#define MAKE_NODE_SHAPE(name) OP(name, lt_##name(g, a->node[0], a->shape))
#define MAKE_WINDOW(name) OP(name, lt_##name(g, a->node[0], a->whole[0], a->whole[1], a->whole[2]))
#define MAKE_LIST_AXIS(name) OP(name, lt_##name(g, a->list, a->n_list, (int)a->whole[0]))
#define MAKE_TYPE_SHAPE(name) OP(name, lt_##name(g, a->dtype, a->shape))

typedef struct int_list { int i[LT_MAX_RANK]; } int_list;
static int_list ints(const lt_shape *s)
{
    int_list l;
    for (int i = 0; i < LT_MAX_RANK; i++) l.i[i] = (int)s->dim[i];
    return l;
}

X_NODE(MAKE_NODE) X_NODES2(MAKE_NODES2) X_NODES3(MAKE_NODES3) X_NODE_REAL(MAKE_NODE_REAL) X_REAL_NODE(MAKE_REAL_NODE)
X_NODE_AXIS(MAKE_NODE_AXIS) X_NODE_AXIS_KEEP(MAKE_NODE_AXIS_KEEP) X_NODE_AXES_KEEP(MAKE_NODE_AXES_KEEP) X_NODE_WHOLE(MAKE_NODE_WHOLE)
X_NODE_SHAPE(MAKE_NODE_SHAPE) X_WINDOW(MAKE_WINDOW) X_LIST_AXIS(MAKE_LIST_AXIS) X_TYPE_SHAPE(MAKE_TYPE_SHAPE)
OP(scalar, lt_scalar(g, a->dtype, a->real[0]))
OP(full, lt_full(g, a->dtype, a->shape, a->real[0]))
OP(eye, lt_eye(g, a->dtype, a->whole[0]))
OP(arange, lt_arange(g, a->dtype, a->real[0], a->real[1], a->whole[0]))
OP(linspace, lt_linspace(g, a->dtype, a->real[0], a->real[1], a->whole[0]))
OP(clamp_scalar, lt_clamp_scalar(g, a->node[0], a->real[0], a->real[1]))
OP(cast, lt_cast(g, a->node[0], a->dtype))
OP(norm_axis, lt_norm_axis(g, a->node[0], a->real[0], (int)a->whole[0], a->truth))
OP(permute, lt_permute(g, a->node[0], ints(&a->axes[0]).i))
OP(select, lt_select(g, a->node[0], (int)a->whole[0], a->whole[1]))
OP(slice, lt_slice(g, a->node[0], (int)a->whole[0], a->whole[1], a->whole[2], a->whole[3]))
OP(roll, lt_roll(g, a->node[0], a->whole[0], (int)a->whole[1]))
OP(pad, lt_pad(g, a->node[0], (int)a->whole[0], a->whole[1], a->whole[2]))
OP(gather, lt_gather(g, a->node[0], a->node[1], (int)a->whole[0]))
OP(adaptive_avgpool2d, lt_adaptive_avgpool2d(g, a->node[0], a->whole[0], a->whole[1]))
OP(batchnorm, lt_batchnorm(g, a->node[0], a->node[1], a->node[2], a->node[3], a->node[4], a->real[0]))
OP(groupnorm, lt_groupnorm(g, a->node[0], a->whole[0], a->node[1], a->node[2], a->real[0]))
OP(linear, lt_linear(g, a->node[0], a->node[1], a->node[2]))
OP(rnn_tanh, lt_rnn_tanh(g, a->node[0], a->node[1], a->node[2], a->node[3], a->node[4]))

static lt_node op_conv2d(lt_graph *g, op_args *a)
{
    const lt_shape *stride = &a->axes[0], *padding = &a->axes[1], *dilation = &a->axes[2];
    lt_conv_options o = { sizeof o, { stride->dim[0], stride->dim[1] }, { padding->dim[0], padding->dim[1] },
                          { dilation->dim[0], dilation->dim[1] }, a->whole[0], a->truth };
    return lt_conv2d(g, a->node[0], a->node[1], a->node[2], &o);
}

static lt_node op_eigh(lt_graph *g, op_args *a)
{
    a->n_more = 1;
    return lt_eigh(g, a->node[0], &a->more[0]);
}

static lt_node op_svd(lt_graph *g, op_args *a)
{
    a->n_more = 2;
    return lt_svd(g, a->node[0], &a->more[0], &a->more[1]);
}

/* ---- The table ------------------------------------------------------------------------------------ */
typedef struct op_row { const char *name, *form; op_builder build; } op_row;
#define ROW(name_, form_) { #name_, form_, op_##name_ },
#define ROW_NODE(n) ROW(n, "n")
#define ROW_NODES2(n) ROW(n, "nn")
#define ROW_NODES3(n) ROW(n, "nnn")
#define ROW_NODE_REAL(n) ROW(n, "nd")
#define ROW_REAL_NODE(n) ROW(n, "dn")
#define ROW_NODE_AXIS(n) ROW(n, "ni")
#define ROW_NODE_AXIS_KEEP(n) ROW(n, "nib")
#define ROW_NODE_AXES_KEEP(n) ROW(n, "nAb")
#define ROW_NODE_SHAPE(n) ROW(n, "ns")
#define ROW_WINDOW(n) ROW(n, "niii")
#define ROW_LIST_AXIS(n) ROW(n, "Ni")
#define ROW_TYPE_SHAPE(n) ROW(n, "ts")
static const op_row rows[] = {
    X_NODE(ROW_NODE) X_NODES2(ROW_NODES2) X_NODES3(ROW_NODES3) X_NODE_REAL(ROW_NODE_REAL) X_REAL_NODE(ROW_REAL_NODE)
    X_NODE_AXIS(ROW_NODE_AXIS) X_NODE_AXIS_KEEP(ROW_NODE_AXIS_KEEP) X_NODE_AXES_KEEP(ROW_NODE_AXES_KEEP) X_NODE_WHOLE(ROW_NODE_AXIS)
    X_NODE_SHAPE(ROW_NODE_SHAPE) X_WINDOW(ROW_WINDOW) X_LIST_AXIS(ROW_LIST_AXIS) X_TYPE_SHAPE(ROW_TYPE_SHAPE)
    ROW(scalar, "td") ROW(full, "tsd") ROW(eye, "ti") ROW(arange, "tddi") ROW(linspace, "tddi") ROW(clamp_scalar, "ndd") ROW(cast, "nt")
    ROW(norm_axis, "ndib") ROW(permute, "nA") ROW(select, "nii") ROW(slice, "niiii") ROW(roll, "nii") ROW(pad, "niii") ROW(gather, "nni")
    ROW(adaptive_avgpool2d, "nii") ROW(batchnorm, "n????d") ROW(groupnorm, "ni??d") ROW(linear, "nn?") ROW(rnn_tanh, "nnn??")
    ROW(conv2d, "nn?AAAib") ROW(eigh, "n") ROW(svd, "n")
};
enum { N_ROWS = sizeof rows / sizeof *rows };

PyObject *core_op_names(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    PyObject *d = PyDict_New();
    for (int i = 0; d && i < N_ROWS; i++)
        if (core_put(d, rows[i].name, core_text(rows[i].form))) Py_CLEAR(d);
    return d;
}

static const op_row *find_row(const char *op)
{
    for (int i = 0; i < N_ROWS; i++)
        if (!strcmp(rows[i].name, op)) return &rows[i];
    const char *names[N_ROWS];
    for (int i = 0; i < N_ROWS; i++) names[i] = rows[i].name;
    const char *near = lt_text_nearest(op, names, N_ROWS);
    PyErr_Format(core.error[LT_ERR_ARGUMENT], "there is no op '%s'%s%s%s", op, near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
    return NULL;
}

/* ---- Arguments ---------------------------------------------------------------------------------------- */
static int take_whole(PyObject *obj, int64_t *out)
{
    PyObject *whole = PyNumber_Index(obj);
    *out = whole ? PyLong_AsLongLong(whole) : 0;
    Py_XDECREF(whole);
    return PyErr_Occurred() ? -1 : 0;
}

static int take_argument(core_graph *g, char form, PyObject *obj, op_args *a)
{
    switch (form) {
    case 'n': case '?': return core_node_of(g, obj, form == '?', &a->node[a->n_node++]);
    case 'N': return core_nodes_of(g, obj, &a->list, &a->n_list);
    case 'i': return take_whole(obj, &a->whole[a->n_whole++]);
    case 'd': a->real[a->n_real++] = PyFloat_AsDouble(obj); return PyErr_Occurred() ? -1 : 0;
    case 'b': return (a->truth = PyObject_IsTrue(obj) > 0), PyErr_Occurred() ? -1 : 0;
    case 's': return core_shape_from(obj, &a->shape);
    case 'A': return core_shape_from(obj, &a->axes[a->n_axes++]);
    default: return core_dtype_from(obj, &a->dtype);
    }
}

static PyObject *results(core_graph *g, lt_node first, const op_args *a)
{
    if (!a->n_more) return core_node_new(g, first);
    PyObject *t = PyTuple_New(1 + a->n_more);
    for (int i = 0; t && i <= a->n_more; i++) {
        PyObject *n = core_node_new(g, i ? a->more[i - 1] : first);
        if (!n || PyTuple_SetItem(t, i, n)) Py_CLEAR(t);
    }
    return t;
}

PyObject *core_build(core_graph *g, const char *op, PyObject *const *args, Py_ssize_t n_args)
{
    const op_row *row = find_row(op);
    if (!row) return NULL;
    if (n_args != (Py_ssize_t)strlen(row->form))
        return PyErr_Format(core.error[LT_ERR_ARGUMENT], "op '%s' takes %zu arguments, not %zd", op, strlen(row->form), n_args);
    op_args a = { 0 };
    PyObject *made = NULL;
    int rc = 0;
    for (Py_ssize_t i = 0; !rc && i < n_args; i++) rc = take_argument(g, row->form[i], args[i], &a);
    if (!rc) {
        lt_node n = row->build(g->handle, &a);
        if (!core_check(lt_graph_status(g->handle))) made = results(g, n, &a);
    }
    PyMem_Free(a.list);
    return made;
}
