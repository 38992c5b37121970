/* MATMUL through OpenBLAS: the output is cut into tiles by its shape alone, and the pool runs one
   single-threaded product per tile. SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/cpu/gemm/blas.h"
#include "kernels/cpu/gemm/matmul_wide.h"
#include "kernels/cpu/openblas.h"
#include "kernels/host_kernel.h"
#include "kernels/matmul_shape.h"
#include "kernels/rows.h"

#include "base/dtype.h"
#include "base/status.h"

#include <unistd.h>

typedef struct matmul_kernel {
    lt_host_kernel  host;
    lt_matmul_shape s;
    lt_matmul_wide wide;
    int64_t tile_m, tile_n, tiles_m, tiles_n;
    int64_t batch_step;       /* products per task; more than 1 only with a single tile each */
    int64_t k_parts;          /* > 1: a long inner dim is summed in parts, then in order */
    int64_t n_tasks;
    int64_t rows_per_unit;    /* rows of the product in one row of the epilogue's domain */
    bool    epilogue_by_task; /* each task covers whole units and finishes them itself */
    size_t  part_at;          /* scratch: partial sums, behind what `wide` takes */
} matmul_kernel;

/* ---- Cutting, by shape and machine, never by the number of threads in use ------------------ */
/* OpenBLAS packs b anew for every row panel and a anew for every column panel. Measured on 1024^3
   in f64: panels of 512 rows cost 1 %, 256 rows 6 %, 512 columns 14 %. So rows are cut first, and
   no finer than the machine has processors to use. */
#define TASK_FLOPS 3e6
enum { ROWS_MIN = 64, ROWS_ENOUGH = 512, MAX_TILES = 64, TILE_STEP = 32, K_PART = 4096, K_PARTS_MAX = 16 };

static int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

static void cut_tiles(matmul_kernel *v, bool rows_only)
{
    const lt_matmul_shape *s = &v->s;
    int64_t processors = LT_MAX(1, (int64_t)sysconf(_SC_NPROCESSORS_CONF));
    int64_t rows = LT_MAX(ROWS_MIN, LT_MIN(s->m / processors, ROWS_ENOUGH));
    int64_t columns = processors > 4 || s->m < 2 * ROWS_MIN ? ROWS_ENOUGH : 4 * ROWS_ENOUGH;
    double wanted = 2.0 * (double)s->m * (double)s->n * (double)s->k / TASK_FLOPS;
    if (wanted > (double)MAX_TILES) wanted = (double)MAX_TILES;
    if (s->batch > 1 && (double)s->batch >= wanted) wanted = 1; /* the batch spreads well enough */
    v->tile_m = LT_MAX(s->m, 1);
    v->tile_n = LT_MAX(s->n, 1);
    while ((double)(ceil_div(s->m, v->tile_m) * ceil_div(s->n, v->tile_n)) < wanted) {
        bool split_rows = v->tile_m / 2 >= rows;
        if (!split_rows && (rows_only || v->tile_n / 2 < columns)) break;
        int64_t *side = split_rows ? &v->tile_m : &v->tile_n;
        *side = ceil_div(ceil_div(*side, 2), TILE_STEP) * TILE_STEP;
    }
    v->tiles_m = ceil_div(s->m, v->tile_m);
    v->tiles_n = ceil_div(s->n, v->tile_n);
}

static void plan_tasks(matmul_kernel *v, bool has_epilogue)
{
    lt_matmul_shape *s = &v->s;
    v->rows_per_unit = lt_matmul_unit(s);
    lt_matmul_stack_rows(s);
    cut_tiles(v, has_epilogue && s->n <= 1024);
    if (has_epilogue && s->batch == 1 && v->tiles_m > 1)
        v->tile_m = LT_MIN(s->m, ceil_div(v->tile_m, v->rows_per_unit) * v->rows_per_unit);
    v->tiles_m = ceil_div(s->m, v->tile_m);
    v->k_parts = 1;
    if (s->batch == 1 && v->tiles_m * v->tiles_n == 1 && s->k >= 2 * K_PART &&
        2.0 * (double)s->m * (double)s->n * (double)s->k > TASK_FLOPS / 8)
        v->k_parts = LT_MIN(K_PARTS_MAX, s->k / K_PART);
    v->batch_step = 1;
    if (v->tiles_m * v->tiles_n == 1) {
        double each = 2.0 * (double)s->m * (double)s->n * (double)s->k + 200;
        v->batch_step = LT_MAX(1, LT_MIN(s->batch, (int64_t)(TASK_FLOPS / 8 / each)));
    }
    int64_t unit = v->rows_per_unit; /* of a batch: whole matrices */
    if (has_epilogue && s->batch > 1 && s->m && unit % s->m == 0)
        v->batch_step = LT_MIN(s->batch, ceil_div(v->batch_step, unit / s->m) * (unit / s->m));
    v->n_tasks = v->k_parts > 1 ? v->k_parts : ceil_div(s->batch, v->batch_step) * v->tiles_m * v->tiles_n;
    int64_t per_task = s->batch == 1 ? v->tile_m : v->batch_step * s->m;
    v->epilogue_by_task = v->k_parts == 1 && v->tiles_n == 1 && (s->batch == 1 || v->tiles_m == 1) &&
                          per_task % unit == 0;
}

/* ---- Running ------------------------------------------------------------------------------ */
typedef struct matmul_job {
    const matmul_kernel *v;
    const char *a, *b;
    char *c, *part;
    void *const *arg; /* NULL: the epilogue is not run by tasks */
} matmul_job;

static lt_gemm whole_product(const matmul_kernel *v)
{
    const lt_matmul_shape *s = &v->s;
    return (lt_gemm){ .t = v->wide.t, .trans_a = s->trans_a, .trans_b = s->trans_b, .m = s->m, .n = s->n, .k = s->k,
                      .lda = s->trans_a ? s->m : s->k, .ldb = s->trans_b ? s->k : s->n, .ldc = s->n };
}

static void run_tile(const matmul_job *j, int64_t product, int64_t tile)
{
    const matmul_kernel *v = j->v;
    lt_gemm g = whole_product(v);
    int64_t at_a, at_b, size = (int64_t)lt_dtype_size(v->wide.t);
    lt_matmul_operands(&v->s, product, &at_a, &at_b);
    int64_t r = tile / v->tiles_n * v->tile_m, c = tile % v->tiles_n * v->tile_n;
    g.m = LT_MIN(v->tile_m, v->s.m - r);
    g.n = LT_MIN(v->tile_n, v->s.n - c);
    const char *a = j->a + (at_a * v->s.m * v->s.k + r * (g.trans_a ? 1 : g.lda)) * size;
    const char *b = j->b + (at_b * v->s.k * v->s.n + c * (g.trans_b ? g.ldb : 1)) * size;
    lt_gemm_run(&g, a, b, j->c + ((product * v->s.m + r) * v->s.n + c) * size);
}

static lt_status matmul_task(void *ctx, int64_t task, int worker)
{
    (void)worker;
    const matmul_job *j = ctx;
    const matmul_kernel *v = j->v;
    int64_t tiles = v->tiles_m * v->tiles_n;
    int64_t begin = task / tiles * v->batch_step, end = LT_MIN(v->s.batch, begin + v->batch_step);
    for (int64_t i = begin; i < end; i++) run_tile(j, i, task % tiles);
    if (!j->arg) return LT_OK;
    int64_t row = begin * v->s.m + task % tiles * v->tile_m;
    int64_t rows = v->s.batch == 1 ? LT_MIN(v->tile_m, v->s.m - row) : (end - begin) * v->s.m;
    return lt_host_epilogue_rows(&v->host, j->arg, row / v->rows_per_unit, rows / v->rows_per_unit);
}

static lt_status k_part_task(void *ctx, int64_t part, int worker)
{
    (void)worker;
    const matmul_job *j = ctx;
    const matmul_kernel *v = j->v;
    lt_gemm g = whole_product(v);
    int64_t begin, end, size = (int64_t)lt_dtype_size(v->wide.t);
    lt_part_range(v->s.k, v->k_parts, part, &begin, &end);
    g.k = end - begin;
    lt_gemm_run(&g, j->a + begin * (g.trans_a ? g.lda : 1) * size, j->b + begin * (g.trans_b ? 1 : g.ldb) * size,
                j->part + part * g.m * g.n * size);
    return LT_OK;
}

#define ADD_PARTS(T)                                                                \
    do {                                                                            \
        const T *x = (const T *)j->part;                                            \
        T *y = (T *)j->c;                                                           \
        for (int64_t i = 0; i < n; i++) {                                           \
            T sum = x[i];                                                           \
            for (int64_t l = 1; l < v->k_parts; l++) sum += x[l * n + i];           \
            y[i] = sum;                                                             \
        }                                                                           \
    } while (0)

static void add_parts(const matmul_kernel *v, const matmul_job *j)
{
    int64_t n = v->s.m * v->s.n;
    if (v->wide.t == LT_F32) ADD_PARTS(float);
    else ADD_PARTS(double);
}

static lt_status matmul_run(const lt_kernel *k, lt_pool *pool, void *const *arg)
{
    const matmul_kernel *v = (const matmul_kernel *)k;
    const lt_problem_key *p = &v->host.key;
    char *scratch = k->scratch_bytes ? arg[k->n_args] : NULL;
    char *abc[3];
    LT_TRY(lt_matmul_wide_begin(&v->wide, p, pool, arg, scratch, abc));
    matmul_job j = { .v = v, .a = abc[0], .b = abc[1], .c = abc[2], .part = lt_offset(scratch, v->part_at) };
    bool by_task = v->host.epilogue && v->epilogue_by_task && !v->wide.half;
    if (by_task) j.arg = arg;
    if (v->k_parts > 1) {
        LT_TRY(lt_pool_run(pool, v->n_tasks, k_part_task, &j));
        add_parts(v, &j);
    } else if (v->n_tasks == 1) {
        LT_TRY(matmul_task(&j, 0, 0));
    } else {
        LT_TRY(lt_pool_run(pool, v->n_tasks, matmul_task, &j));
    }
    LT_TRY(lt_matmul_wide_end(&v->wide, p, pool, arg, j.c));
    return by_task ? LT_OK : lt_host_epilogue(&v->host, pool, arg);
}

/* ---- The row ---------------------------------------------------------------------------------- */
bool lt_matmul_openblas_applies(const lt_problem_key *p)
{
    lt_dtype t = p->out.dtype;
    lt_matmul_shape s = lt_matmul_shape_of(p);
    return lt_key_is_all(p, t) && lt_dtype_is_float(t) && lt_blas_fits(s.batch * s.m) && lt_blas_fits(s.n) && lt_blas_fits(s.k) &&
           lt_openblas_is_here();
}

lt_status lt_matmul_openblas_prepare(const lt_problem_key *p, lt_kernel **out)
{
    *out = NULL;
    LT_TRY(lt_openblas_open());
    matmul_kernel *v = lt_host_kernel_create(p, sizeof *v, "matmul_openblas", matmul_run);
    if (!v) return LT_ERR_MEMORY;
    v->s = lt_matmul_shape_of(p);
    v->host.kernel.flops = lt_matmul_flops(&v->s);
    plan_tasks(v, p->epilogue != NULL);
    v->part_at = v->host.kernel.scratch_bytes = lt_matmul_wide_place(&v->wide, p);
    if (v->k_parts > 1) v->host.kernel.scratch_bytes += lt_align64((size_t)(v->k_parts * v->s.m * v->s.n) * lt_dtype_size(v->wide.t));
    return lt_host_kernel_finish(&v->host, lt_host_epilogue_prepare(&v->host, p), out);
}
