/* Choosing between the kernels that can compute an op: by order, or by timing them.
   SPDX-License-Identifier: BSD-3-Clause */
#include "device/flags.h"
#include "graph/lower/choose.h"

#include "base/alloc.h"
#include "base/hash.h"
#include "base/pool.h"
#include "base/status.h"
#include "graph/program/evaluate.h"
#include "graph/program/program.h"
#include "kernels/cuda/cuda_table.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define MAX_CANDIDATES 8
#define MAX_SHARED 16           /* devices with a tuner of the process */
#define CUDA_TRUST_NS 500000    /* waiting for a GPU takes some microseconds */

/* ---- the tuner ---- */

static bool is_cuda(const lt_device *device) { return lt_device_has(device, LT_DEVICE_TEXT_KERNELS | LT_DEVICE_COMPUTES); }

/* Names of all rows: another list of kernels makes stored choices worthless. */
static lt_digest_text kernels_digest(const lt_device *device)
{
    int n;
    lt_sha256 h;
    const lt_kernel_row *row = lt_kernel_rows(&n);
    lt_sha256_start(&h);
    if (is_cuda(device)) {
        lt_digest table = lt_cuda_table_digest();
        lt_sha256_add(&h, &table, sizeof table);
        n = 0;
    }
    for (int i = 0; i < n; i++) lt_sha256_add(&h, row[i].name, strlen(row[i].name) + 1);
    lt_sha256_add(&h, lt_version(), strlen(lt_version()));
    lt_digest d = lt_sha256_finish(&h);
    return lt_digest_hex(&d);
}

lt_status lt_tuner_open(lt_device *device, lt_tune_mode mode, const char *path, lt_tuner **out)
{
    lt_device_info info = { .size = sizeof info };
    char text[320];
    if (!out) return LT_FAIL(LT_ERR_ARGUMENT, "lt_tuner_open: out is NULL");
    *out = NULL;
    if (!device) LT_TRY(lt_default_device(&device));
    LT_TRY(lt_device_describe(device, &info));
    /* Equal GPUs share their answers, whatever their ordinal. */
    if (is_cuda(device)) snprintf(text, sizeof text, "cuda %s %s", info.name, info.features);
    else snprintf(text, sizeof text, "%s %s %s", info.id, info.name, lt_isa_name(lt_isa_best()));
    lt_digest_text digest = kernels_digest(device);
    digest.s[8] = '\0';
    lt_tuner_options opt = lt_tuner_defaults();
    opt.device = text;
    opt.driver = info.driver[0] ? info.driver : "none";
    opt.kernels = digest.s;
    opt.path = path;
    opt.mode = mode;
    if (is_cuda(device)) opt.trust_ns = CUDA_TRUST_NS;
    return lt_tuner_create(&opt, out);
}

/* The tuner of programs that are given none: one per device for the process, over the cache folder. */
static lt_status shared_tuner(lt_device *device, lt_tuner **out)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static struct { char id[16]; lt_tuner *tuner; } shared[MAX_SHARED]; /* live until the process ends */
    const char *id = device ? lt_device_id(device) : "cpu";
    lt_status s = LT_OK;
    int i = 0;
    *out = NULL;
    pthread_mutex_lock(&lock);
    while (i < MAX_SHARED && shared[i].tuner && strcmp(shared[i].id, id)) i++;
    if (i == MAX_SHARED) s = LT_FAIL(LT_ERR_UNSUPPORTED, "tuning on more than %d devices in one process", MAX_SHARED);
    else if (!shared[i].tuner) s = lt_tuner_open(device, LT_TUNE_MEASURE, NULL, &shared[i].tuner);
    if (!s) {
        snprintf(shared[i].id, sizeof shared[i].id, "%s", id);
        *out = shared[i].tuner;
    }
    pthread_mutex_unlock(&lock);
    return s;
}

/* ---- timing ---- */

typedef struct row_trial {
    lt_kernel *kernel[MAX_CANDIDATES];
    void      *arg[LT_KERNEL_MAX_ARGS + 2];
    void      *scratch;
    lt_pool   *pool;
} row_trial;

static lt_status run_candidate(void *ctx, int candidate, int64_t repeats)
{
    row_trial *t = ctx;
    const lt_kernel *k = t->kernel[candidate];
    t->arg[k->n_args] = t->scratch;
    for (int64_t i = 0; i < repeats; i++) LT_TRY(k->run(k, t->pool, t->arg));
    return LT_OK;
}

static size_t tensor_bytes(const lt_tensor_type *t) { return LT_MAX((size_t)lt_shape_count(&t->shape) * lt_dtype_size(t->dtype), 64); }

/* Memory for every argument; indices are zero and values small, so that any kernel can run on it. */
static lt_status make_arguments(const lt_problem_key *key, row_trial *t)
{
    for (int i = 0; i <= key->n_in; i++) {
        size_t bytes = tensor_bytes(i < key->n_in ? &key->in[i] : &key->out);
        if (!(t->arg[i] = lt_malloc_aligned(bytes))) return LT_ERR_MEMORY;
        memset(t->arg[i], 0, bytes);
    }
    return LT_OK;
}

static lt_status prepare_all(const lt_problem_key *key, const lt_kernel_row *const *row, int n, row_trial *t)
{
    size_t scratch = 64;
    for (int i = 0; i < n; i++) {
        LT_TRY(row[i]->prepare(key, &t->kernel[i]));
        scratch = LT_MAX(scratch, t->kernel[i]->scratch_bytes);
    }
    t->scratch = lt_malloc_aligned(scratch);
    t->pool = lt_pool_shared();
    return t->scratch && t->pool ? make_arguments(key, t) : LT_ERR_MEMORY;
}

static void release(const lt_problem_key *key, row_trial *t, int n)
{
    for (int i = 0; i < n; i++) lt_kernel_destroy(t->kernel[i]);
    for (int i = 0; i <= key->n_in; i++) lt_free_aligned(t->arg[i]);
    lt_free_aligned(t->scratch);
}

/* "conv2d f32[8, 3, 32, 32] f32[6, 3, 5, 5] -> f32[8, 6, 28, 28] stride 1x1 …" */
void lt_choose_describe(const lt_problem_key *key, char *text, size_t size)
{
    size_t at = (size_t)snprintf(text, size, "%s", lt_op_name(key->op));
    for (int i = 0; i <= key->n_in && at < size; i++) {
        const lt_tensor_type *t = i < key->n_in ? &key->in[i] : &key->out;
        at += (size_t)snprintf(text + at, size - at, " %s%s%s", i == key->n_in ? "-> " : "", lt_dtype_name(t->dtype), lt_shape_str(&t->shape).s);
    }
    const lt_window *w = &key->attr->u.conv;
    if (at < size && key->op == LT_OP_MATMUL)
        snprintf(text + at, size - at, " trans=%d%d", key->attr->u.trans.a, key->attr->u.trans.b);
    else if (at < size && key->op >= LT_OP_CONV2D && key->op <= LT_OP_AVGPOOL_GRAD)
        snprintf(text + at, size - at, " kernel=%lldx%lld stride=%lldx%lld pad=%lldx%lld dilation=%lldx%lld groups=%lld last=%d",
                 (long long)w->kernel[0], (long long)w->kernel[1], (long long)w->stride[0], (long long)w->stride[1],
                 (long long)w->pad[0], (long long)w->pad[1], (long long)w->dilation[0], (long long)w->dilation[1],
                 (long long)w->groups, w->channels_last);
    if (key->op >= LT_OP_CONV2D && key->op <= LT_OP_CONV2D_WGRAD && w->tf32 && (at = strlen(text)) < size) snprintf(text + at, size - at, " tf32");
}

/* The fastest of the rows that apply; the plain one, listed last, is not in the race. Timed without
   the epilogue, which costs every row the same. */
static lt_status choose_row(const lt_problem_key *key, lt_tuner *tuner, const lt_kernel_row *const *row, int n, int *choice)
{
    char problem[400];
    const char *names[MAX_CANDIDATES];
    lt_problem_key plain = *key;
    row_trial t = { 0 };
    plain.epilogue = NULL;
    lt_choose_describe(key, problem, sizeof problem);
    for (int i = 0; i < n; i++) names[i] = row[i]->name;
    lt_status s = prepare_all(&plain, row, n, &t);
    if (!s) s = lt_tuner_choose(tuner, problem, n, names, run_candidate, &t, choice);
    release(&plain, &t, n);
    return s;
}

/* ---- by device and mode ---- */

static lt_status tuner_of(const lt_compile_options *opt, lt_tuner **out)
{
    *out = opt->tuner;
    return opt->tuner ? LT_OK : shared_tuner(opt->device, out);
}

typedef struct fused_batch { lt_device *device; const lt_fused *const *f; lt_kernel **const *out; } fused_batch;

static lt_status prepare_one(void *ctx, int64_t i, int worker)
{
    const fused_batch *b = ctx;
    (void)worker;
    return lt_fused_prepare_cuda(b->device, b->f[i], b->out[i]);
}

lt_status lt_choose_fused(const lt_fused *const f[], int n, const lt_compile_options *opt, lt_kernel **const out[])
{
    lt_tuner *tuner;
    fused_batch b = { opt->device, f, out };
    if (!is_cuda(opt->device)) {
        for (int i = 0; i < n; i++) LT_TRY(lt_fused_prepare_cpu(f[i], lt_isa_best(), out[i]));
        return LT_OK;
    }
    if (opt->mode != LT_MODE_MAX_AUTOTUNE) return lt_pool_run(lt_device_pool(opt->device), n, prepare_one, &b);
    LT_TRY(tuner_of(opt, &tuner));
    for (int i = 0; i < n; i++) LT_TRY(lt_choose_cuda_fused(f[i], opt->device, tuner, out[i]));
    return LT_OK;
}

lt_status lt_choose_kernel(const lt_problem_key *key, const lt_compile_options *opt, lt_kernel **out)
{
    const lt_kernel_row *row[MAX_CANDIDATES];
    lt_tuner *tuner;
    *out = NULL;
    if (opt->mode != LT_MODE_MAX_AUTOTUNE) return is_cuda(opt->device) ? lt_cuda_prepare(opt->device, key, out) : lt_kernel_best(key, out);
    if (is_cuda(opt->device)) {
        LT_TRY(tuner_of(opt, &tuner));
        return lt_choose_cuda_kernel(key, opt->device, tuner, out);
    }
    int n = lt_kernel_candidates(key, row, MAX_CANDIDATES), choice = 0;
    if (n < 3) return lt_kernel_best(key, out);
    LT_TRY(tuner_of(opt, &tuner));
    LT_TRY(choose_row(key, tuner, row, n - 1, &choice));
    return row[choice]->prepare(key, out);
}

void lt_choose_finish(const lt_compile_options *opt)
{
    lt_tuner *tuner;
    if (opt->mode != LT_MODE_MAX_AUTOTUNE || opt->tuner || shared_tuner(opt->device, &tuner)) return;
    /* A cache that cannot be written costs time on the next run, nothing else. */
    if (lt_tuner_measured(tuner)) (void)lt_tuner_save(tuner);
}
