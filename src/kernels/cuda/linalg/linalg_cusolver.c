/* Factorisations and eigenvalues by cuSOLVER. SPDX-License-Identifier: BSD-3-Clause

   As on the CPU a matrix without an answer (singular, not positive definite, not finite) gives NaN, so that a
   line search can reject the point. cuSOLVER's matrices are columns of ours: it sees the transpose.
   It waits for the device inside, so that nothing around it is captured (decision 54). */
#include "kernels/cuda/linalg/linalg.h"

#include "base/alloc.h"
#include "base/status.h"
#include "kernels/cuda/rows.h"
#include "kernels/cuda/text_kernel.h"
#include "kernels/cuda/through.h"
#include "kernels/host_kernel.h"

extern const char lt_text_linalg_cu[];

/* ---- Running --------------------------------------------------------------------------------------- */
static lt_status launch(lt_stream *st, const lt_kernel *k, void *a, void *b, void *c, void *d)
{
    void *arg[] = { a, b, c, d };
    return k ? lt_stream_launch(st, &(lt_launch){ k, arg }) : LT_OK;
}

/* The kernel's host memory is one call's at a time; what the call queues reads it before the call returns. */
static lt_status call_locked(const lt_solver *v, lt_stream *st, const lt_solver_places *p, char *out)
{
    pthread_mutex_t *use = (pthread_mutex_t *)(uintptr_t)&v->use; /* what is locked is not part of what const promises */
    const lt_library_handle *h;
    LT_TRY(lt_cuda_stream_lock(st, LT_LIBRARY_SOLVER, &h));
    pthread_mutex_lock(use);
    unsigned r = lt_solver_call(v, h, p, out);
    pthread_mutex_unlock(use);
    lt_cuda_stream_unlock(st);
    if (!r) return LT_OK;
    return LT_FAIL(LT_ERR_DEVICE, "cuSOLVER: %s of [%lld, %lld]: status %u", lt_op_name(v->op), (long long)v->m, (long long)v->n, r);
}

/* What becomes of the library's result. */
static lt_status finish(const lt_solver *v, lt_stream *st, const lt_solver_places *p, char *a, char *out)
{
    char *vt = out + (size_t)(v->m * v->r + v->r) * v->element;
    switch (v->op) {
    case LT_OP_SOLVE: return launch(st, v->turn[1], p->second, out, p->state, NULL);
    case LT_OP_DET: case LT_OP_LOGABSDET: return launch(st, v->finish, p->work, p->pivot, out, p->state);
    case LT_OP_LOGDET:
        LT_TRY(launch(st, v->finish, p->work, p->pivot, out, p->state));
        return launch(st, v->spoil, a, p->work, out, NULL);
    case LT_OP_EIG: return launch(st, v->finish, p->second, out, p->state, NULL);
    case LT_OP_CHOLESKY: return launch(st, v->finish, out, p->state, NULL, NULL);
    case LT_OP_EIGH:
        LT_TRY(launch(st, v->spoil, out, p->state, NULL, NULL));
        return launch(st, v->turn[0], p->work, out, p->state, NULL);
    case LT_OP_SVD:
        LT_TRY(launch(st, v->spoil, out, p->state, NULL, NULL));
        LT_TRY(launch(st, v->turn[0], p->second, out, p->state, NULL));
        return launch(st, v->turn[1], p->third, vt, p->state, NULL);
    default: return launch(st, v->spoil, out, p->state, NULL, NULL); /* INV */
    }
}

static lt_status run_one(const lt_solver *v, lt_stream *st, char *a, char *b, char *out, const lt_solver_places *p)
{
    LT_TRY(launch(st, v->copy_in, a, v->op == LT_OP_CHOLESKY ? out : p->work, p->state, NULL));
    if (v->op == LT_OP_INV) LT_TRY(launch(st, v->identity, out, NULL, NULL, NULL));
    if (v->op == LT_OP_SOLVE) LT_TRY(launch(st, v->turn[0], b, p->second, p->state, NULL));
    LT_TRY(call_locked(v, st, p, out));
    return finish(v, st, p, a, out);
}

static lt_status enqueue(const lt_kernel *k, lt_stream *st, void *const *arg)
{
    const lt_solver *v = (const lt_solver *)k;
    char *s = (char *)(((uintptr_t)arg[k->n_args] + 255) / 256 * 256);
    lt_solver_places p = { s + v->at[0], s + v->at[1], s + v->at[2], (int64_t *)(void *)(s + v->at[3]), (int *)(void *)(s + v->at[4]), s + v->at[5] };
    bool solves = v->op == LT_OP_SOLVE;
    for (int64_t i = 0; i < v->count; i++)
        LT_TRY(run_one(v, st, (char *)arg[0] + (size_t)(i % v->count_a * v->m * v->n) * v->element,
                       solves ? (char *)arg[1] + (size_t)(i * v->out_count) * v->element : NULL,
                       (char *)arg[solves ? 2 : 1] + (size_t)(i * v->out_count) * v->element, &p));
    return LT_OK;
}

static void destroy(lt_kernel *k)
{
    lt_solver *v = (lt_solver *)k;
    lt_kernel *part[] = { v->copy_in, v->finish, v->spoil, v->identity, v->turn[0], v->turn[1] };
    for (size_t i = 0; i < LT_LEN(part); i++) lt_kernel_destroy(part[i]);
    lt_free(v->host);
    pthread_mutex_destroy(&v->use);
    lt_free(v);
}

/* ---- Making ------------------------------------------------------------------------------------------ */
/* info > 0 of LU says singular, of the iterations that they did not converge; a determinant is 0 then. */
static lt_status build(const lt_solver *v, const char *entry, int n_args, int64_t rows, int64_t columns, unsigned blocks, lt_kernel **out)
{
    lt_text t = { 0 };
    lt_text_type(&t, "T", v->element == 8 ? LT_F64 : LT_F32);
    lt_text_constant(&t, "M", v->m), lt_text_constant(&t, "N", v->n);
    lt_text_constant(&t, "ROWS", rows), lt_text_constant(&t, "COLUMNS", columns);
    lt_text_constant(&t, "COUNT", v->out_count);
    lt_text_constant(&t, "TRANSPOSE", v->turned);
    lt_text_constant(&t, "LOGARITHM", v->op != LT_OP_DET);
    lt_text_constant(&t, "POSITIVE", v->op == LT_OP_LOGDET);
    lt_text_constant(&t, "CHECK_INFO", v->op != LT_OP_DET && v->op != LT_OP_LOGDET && v->op != LT_OP_LOGABSDET);
    unsigned threads = n_args == 4 ? 1 : 256; /* determinant walks the diagonal alone */
    return lt_text_kernel_build(v->dev, &(lt_text_kernel){ .name = entry, .entry = entry, .body = lt_text_linalg_cu, .n_args = n_args,
                                                           .grid = { blocks }, .block = { threads } }, &t, out);
}

static lt_status build_parts(lt_solver *v)
{
    LT_TRY(build(v, "copy_in", 3, 0, 0, 1, &v->copy_in));
    switch (v->op) {
    case LT_OP_SOLVE: {
        int64_t columns = v->out_count / (v->n * v->n_systems);
        LT_TRY(build(v, "turn", 3, v->n, columns, (unsigned)v->n_systems, &v->turn[0]));
        return build(v, "turn", 3, columns, v->n, (unsigned)v->n_systems, &v->turn[1]);
    }
    case LT_OP_DET: case LT_OP_LOGABSDET: return build(v, "determinant", 4, 0, 0, 1, &v->finish);
    case LT_OP_LOGDET:
        LT_TRY(build(v, "determinant", 4, 0, 0, 1, &v->finish));
        return build(v, "spoil_indefinite", 3, 0, 0, 1, &v->spoil);
    case LT_OP_CHOLESKY: return build(v, "lower", 2, 0, 0, 1, &v->finish);
    case LT_OP_EIG: return build(v, "split", 3, 0, 0, 1, &v->finish);
    case LT_OP_INV: LT_TRY(build(v, "identity", 1, 0, 0, 1, &v->identity)); break;
    case LT_OP_EIGH: LT_TRY(build(v, "turn", 3, v->n, v->n, 1, &v->turn[0])); break;
    default: /* SVD of a tall matrix: factors in columns become ours in rows */
        if (!v->turned) break;
        LT_TRY(build(v, "turn", 3, v->r, v->m, 1, &v->turn[0]));
        LT_TRY(build(v, "turn", 3, v->n, v->r, 1, &v->turn[1]));
    }
    return build(v, "spoil", 2, 0, 0, 1, &v->spoil);
}

static lt_status ask_sizes(lt_solver *v)
{
    lt_library_handle *h;
    LT_TRY(lt_cuda_solver_api(&v->api));
    LT_TRY(lt_cuda_library_take(v->dev, LT_LIBRARY_SOLVER, &h));
    unsigned r = lt_solver_sizes(v, h);
    lt_cuda_library_give(v->dev, h);
    if (!r) return LT_OK;
    return LT_FAIL(LT_ERR_DEVICE, "cuSOLVER: sizes for %s of [%lld, %lld]: status %u", lt_op_name(v->op), (long long)v->m, (long long)v->n, r);
}

static lt_status size_scratch(lt_solver *v)
{
    size_t second = v->op == LT_OP_SOLVE ? (size_t)v->out_count : v->op == LT_OP_EIG ? (size_t)(2 * v->n) : (size_t)(v->m * v->r);
    size_t bytes[] = { (size_t)(v->m * v->n) * v->element, second * v->element, (size_t)(v->r * v->n) * v->element, (size_t)v->n * sizeof(int64_t),
                       4 * sizeof(int), 0 };
    LT_TRY(ask_sizes(v));
    bytes[5] = v->device_bytes;
    size_t at = 0;
    for (int i = 0; i < 6; i++) {
        v->at[i] = at;
        at += (bytes[i] + 255) / 256 * 256;
    }
    v->base.scratch_bytes = at + 256;
    v->host = lt_malloc(LT_MAX(v->host_bytes, 1));
    return v->host ? LT_OK : LT_FAIL(LT_ERR_MEMORY, "%zu bytes of host memory for cuSOLVER", v->host_bytes);
}

static lt_solver *create(lt_device *dev, const lt_problem_key *p)
{
    lt_solver *v = lt_calloc(1, sizeof *v);
    if (!v) return NULL;
    const lt_shape *s = &p->in[0].shape;
    pthread_mutex_init(&v->use, NULL);
    v->dev = dev;
    v->op = p->op;
    v->element = lt_dtype_size(p->out.dtype);
    v->m = s->dim[s->rank - 2], v->n = s->dim[s->rank - 1], v->r = LT_MIN(v->m, v->n);
    v->count = v->count_a = lt_leading_count(s, s->rank - 2);
    v->n_systems = 1;
    v->turned = p->op == LT_OP_SVD && v->m > v->n;
    v->transposed = p->op == LT_OP_SOLVE && p->attr->u.trans.a;
    int64_t all = lt_tensor_count(&p->out);
    if (p->op == LT_OP_SOLVE) { /* systems that share a are solved as one */
        const lt_shape *b = &p->in[1].shape;
        int64_t systems = lt_leading_count(b, b->rank - 2);
        v->count = v->count_a == 1 ? 1 : systems;
        v->n_systems = v->count_a == 1 ? systems : 1;
    }
    v->out_count = all / LT_MAX(v->count, 1);
    v->base = (lt_kernel){ .name = "linalg_cusolver", .enqueue = enqueue, .destroy = destroy, .module = dev->state, .n_args = p->n_in + 1,
                           .uncapturable = true, .bytes = lt_problem_bytes(p),
                           .flops = (p->op == LT_OP_EIG || p->op == LT_OP_SVD || p->op == LT_OP_EIGH ? 10.0 : 0.67) * (double)v->r * (double)lt_tensor_count(&p->in[0]) };
    return v;
}

static lt_status prepare_real(lt_device *dev, const lt_problem_key *p, lt_kernel **out)
{
    *out = NULL;
    lt_solver *v = create(dev, p);
    if (!v) return LT_FAIL(LT_ERR_MEMORY, "no memory for %s", lt_op_name(p->op));
    lt_status s = LT_OK;
    if (v->out_count && v->m && v->n) {
        s = size_scratch(v);
        if (!s) s = build_parts(v);
    } else {
        v->count = 0; /* nothing to compute */
    }
    if (s) destroy(&v->base);
    else *out = &v->base;
    return s;
}

bool lt_linalg_cusolver_applies(const lt_problem_key *p) { return lt_key_is_float(p); }

/* The determinant of no rows is 1. */
static bool is_determinant_of_nothing(const lt_problem_key *p)
{
    const lt_shape *s = &p->in[0].shape;
    return (p->op == LT_OP_DET || p->op == LT_OP_LOGDET || p->op == LT_OP_LOGABSDET) && s->dim[s->rank - 1] == 0;
}

static lt_status prepare_determinant_of_nothing(lt_device *dev, const lt_problem_key *p, lt_kernel **out)
{
    lt_fused_const value = { 0, p->op == LT_OP_DET };
    lt_fused_store store = { 0, 1, p->out.dtype, { 0, { 1 } } };
    return lt_fused_prepare_cuda(dev, &(lt_fused){ .type = lt_compute_type(p->out.dtype), .domain = lt_shape1(lt_tensor_count(&p->out)), .n_regs = 1,
                                                   .n_args = 2, .n_consts = 1, .consts = &value, .n_stores = 1, .stores = &store }, out);
}

lt_status lt_linalg_cusolver_prepare(lt_device *dev, const lt_problem_key *p, lt_kernel **out)
{
    if (is_determinant_of_nothing(p)) return prepare_determinant_of_nothing(dev, p, out);
    bool half = p->out.dtype == LT_F16 || p->out.dtype == LT_BF16;
    return half ? lt_through_f32(dev, p, prepare_real, out) : prepare_real(dev, p, out);
}
