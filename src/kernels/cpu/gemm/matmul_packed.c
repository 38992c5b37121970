/* MATMUL by our own packed product, for every float type and without any library: a large product is shared
   out by all threads, a batch of small ones goes product by product. Bits depend on the instruction set, not on
   the number of threads (decision 48). SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/cpu/gemm/packed.h"
#include "kernels/cpu/gemm/matmul_wide.h"
#include "kernels/matmul_shape.h"
#include "kernels/rows.h"

#include "base/dtype.h"
#include "base/status.h"

#include <unistd.h>

typedef struct packed_kernel {
    lt_host_kernel  host;
    lt_matmul_shape s;
    lt_matmul_wide  wide;
    lt_packed_gemm  g;             /* one product of the batch */
    int64_t unit;                  /* rows of the product in one row of the epilogue's domain */
    bool    across;                /* one item per `step` products; else all threads share each product */
    bool    epilogue_by_item;
    int64_t step;
    int     n_lanes;
    size_t  b_at, a_at, lane_step; /* scratch; with `across` every lane has its own b and a */
} packed_kernel;

typedef struct packed_job {
    const packed_kernel *v;
    char *abc[3], *scratch;
    void *const *arg; /* NULL: the epilogue is not run by items */
} packed_job;

#define SHARED_FLOPS 2e7              /* from here on all threads share one product of a batch */
#define GROUP_FLOPS 4e5               /* products below it go several to an item */
#define PASS_BYTES ((size_t)32 << 20) /* of b packed at once: what a last-level cache holds */
#define LANE_PASS_BYTES ((size_t)2 << 20)
enum { UNIT_MAX = 128, SIDE_MIN = 48, MANY_PROCESSORS = 5 };

/* ---- Running -------------------------------------------------------------------------------------- */
static lt_status finish_rows(void *ctx, int64_t first, int64_t count)
{
    const packed_job *j = ctx;
    return lt_host_epilogue_rows(&j->v->host, j->arg, first / j->v->unit, count / j->v->unit);
}

static lt_packed_call call_of(const packed_job *j, int64_t product, int lane)
{
    const lt_matmul_shape *s = &j->v->s;
    size_t size = lt_dtype_size(j->v->wide.t), own = (size_t)lane * j->v->lane_step;
    int64_t a, b;
    lt_matmul_operands(s, product, &a, &b);
    return (lt_packed_call){ .a = lt_offset(j->abc[0], (size_t)(a * s->m * s->k) * size), .b = lt_offset(j->abc[1], (size_t)(b * s->k * s->n) * size),
                             .c = lt_offset(j->abc[2], (size_t)(product * s->m * s->n) * size),
                             .packed_b = lt_offset(j->scratch, j->v->b_at + own), .lanes = lt_offset(j->scratch, j->v->a_at + own) };
}

static lt_status product_item(void *ctx, int64_t item, int lane)
{
    packed_job *j = ctx;
    const packed_kernel *v = j->v;
    int64_t begin = item * v->step, end = LT_MIN(begin + v->step, v->s.batch);
    for (int64_t i = begin; i < end; i++) {
        lt_packed_call call = call_of(j, i, lane);
        LT_TRY(lt_packed_gemm_run(&v->g, NULL, &call));
    }
    return j->arg ? finish_rows(j, begin * v->s.m, (end - begin) * v->s.m) : LT_OK;
}

static lt_status run_products(packed_job *j, lt_pool *pool)
{
    const packed_kernel *v = j->v;
    if (v->across) return lt_host_run_lanes(pool, v->n_lanes, (v->s.batch + v->step - 1) / v->step, product_item, j);
    for (int64_t i = 0; i < v->s.batch; i++) {
        lt_packed_call call = call_of(j, i, 0);
        if (j->arg) call.finish = finish_rows, call.ctx = j;
        LT_TRY(lt_packed_gemm_run(&v->g, pool, &call));
    }
    return LT_OK;
}

static lt_status packed_run(const lt_kernel *k, lt_pool *pool, void *const *arg)
{
    const packed_kernel *v = (const packed_kernel *)k;
    const lt_problem_key *p = &v->host.key;
    packed_job j = { .v = v, .scratch = arg[k->n_args] };
    LT_TRY(lt_matmul_wide_begin(&v->wide, p, pool, arg, j.scratch, j.abc));
    if (v->epilogue_by_item) j.arg = arg;
    LT_TRY(run_products(&j, pool));
    LT_TRY(lt_matmul_wide_end(&v->wide, p, pool, arg, j.abc[2]));
    return v->epilogue_by_item ? LT_OK : lt_host_epilogue(&v->host, pool, arg);
}

/* ---- Preparing ------------------------------------------------------------------------------------- */
static void plan_shared(packed_kernel *v, const lt_problem_key *p, bool epilogue)
{
    bool by_item = epilogue && v->s.batch == 1 && v->unit <= UNIT_MAX;
    lt_packed_gemm_plan(&v->g, p->isa, lt_host_lanes(INT32_MAX), by_item ? v->unit : 1, by_item, PASS_BYTES);
    v->epilogue_by_item = by_item && lt_packed_gemm_has_whole_rows(&v->g);
}

/* With an epilogue an item is made of whole units, if units are made of whole products. */
static void plan_across(packed_kernel *v, const lt_problem_key *p, bool epilogue)
{
    const lt_matmul_shape *s = &v->s;
    double each = lt_matmul_flops(s) / (double)s->batch + 200;
    lt_packed_gemm_plan(&v->g, p->isa, 1, 1, false, LANE_PASS_BYTES);
    v->step = LT_MAX(1, LT_MIN(s->batch, (int64_t)(GROUP_FLOPS / each)));
    v->epilogue_by_item = epilogue && s->m > 0 && v->unit % s->m == 0;
    if (v->epilogue_by_item) {
        int64_t products = v->unit / s->m;
        v->step = LT_MIN(s->batch, (v->step + products - 1) / products * products);
    }
    v->n_lanes = lt_host_lanes((s->batch + v->step - 1) / v->step);
}

static lt_status prepare(const lt_problem_key *p, const char *name, lt_kernel **out)
{
    *out = NULL;
    packed_kernel *v = lt_host_kernel_create(p, sizeof *v, name, packed_run);
    if (!v) return LT_ERR_MEMORY;
    v->s = lt_matmul_shape_of(p);
    v->host.kernel.flops = lt_matmul_flops(&v->s);
    v->unit = lt_matmul_unit(&v->s);
    lt_matmul_stack_rows(&v->s);
    v->b_at = lt_matmul_wide_place(&v->wide, p);
    v->g = (lt_packed_gemm){ .t = v->wide.t, .trans_a = v->s.trans_a, .trans_b = v->s.trans_b, .m = v->s.m, .n = v->s.n, .k = v->s.k };
    v->across = v->s.batch > 1 && v->host.kernel.flops / (double)v->s.batch < SHARED_FLOPS;
    bool epilogue = p->epilogue && !v->wide.half;
    if (v->across) plan_across(v, p, epilogue);
    else plan_shared(v, p, epilogue);
    v->a_at = v->b_at + v->g.b_bytes;
    v->lane_step = v->across ? v->g.b_bytes + v->g.lane_bytes : 0;
    v->host.kernel.scratch_bytes = v->a_at + (v->across ? (size_t)(v->n_lanes - 1) * v->lane_step + v->g.lane_bytes
                                                        : (size_t)v->g.n_lanes * v->g.lane_bytes);
    return lt_host_kernel_finish(&v->host, lt_host_epilogue_prepare(&v->host, p), out);
}

/* ---- The rows: where it is the best choice, and everywhere else ------------------------------------------ */

/* With AVX-512 our tiles are faster than OpenBLAS's; with AVX2 as fast on one thread, but tiles of single-threaded
   calls pack b again and again, which many threads pay for. The machine decides, not the threads in use: bits must
   not depend on those. */
static bool is_preferred(const lt_problem_key *p)
{
    lt_matmul_shape s = lt_matmul_shape_of(p);
    lt_matmul_stack_rows(&s);
    bool by_machine = p->isa >= LT_ISA_AVX512 || (p->isa >= LT_ISA_AVX2 && sysconf(_SC_NPROCESSORS_CONF) >= MANY_PROCESSORS);
    return by_machine && LT_MIN(s.m, LT_MIN(s.n, s.k)) >= SIDE_MIN && lt_matmul_flops(&s) >= SHARED_FLOPS * (double)s.batch;
}

bool lt_matmul_packed_applies(const lt_problem_key *p) { return lt_key_is_float(p) && is_preferred(p); }
bool lt_matmul_packed_any_applies(const lt_problem_key *p) { return lt_key_is_float(p) && !is_preferred(p); }

lt_status lt_matmul_packed_prepare(const lt_problem_key *p, lt_kernel **out) { return prepare(p, "matmul_packed", out); }
lt_status lt_matmul_packed_any_prepare(const lt_problem_key *p, lt_kernel **out) { return prepare(p, "matmul_packed_any", out); }
