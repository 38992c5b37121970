/* Writes one pass of a fused program as CUDA text. SPDX-License-Identifier: BSD-3-Clause

   Both forms load everything of a turn before they compute and store, so that loads overlap and an
   output may lie exactly on an input. */
#include "kernels/cuda/fused/pass.h"

#include "base/status.h"

#include <inttypes.h>
#include <string.h>

extern const char lt_text_prelude_cu[];

enum { WARP = 32 };

/* op_NAME for every elementwise op. */
static const char *const op_text[LT_N_ELEMENTWISE] = {
#define TEXT(ID, name, parameters, body) [LT_OP_##ID] = "template <class R> R op_" #name parameters " " #body "\n",
#define LT_UNARY(ID, name, x, flops, kind, vector, builder, language, doc, domain, body, ...) TEXT(ID, name, "(R " #x ")", body)
#define LT_BINARY(ID, name, a, b, flops, kind, vector, builder, language, doc, domain, body, ...) TEXT(ID, name, "(R " #a ", R " #b ")", body)
#define LT_TERNARY(ID, name, x, y, z, flops, kind, vector, builder, language, doc, domain, body, ...) TEXT(ID, name, "(R " #x ", R " #y ", R " #z ")", body)
#include "kernels/ops.def"
};

/* The prelude's names of element types are those of dtype.h. */
static const char *type_name(const lt_fused_pass *p, lt_dtype t)
{
    if (!p->raw) return lt_dtype_name(t);
    switch (lt_dtype_size(t)) {
    case 1: return "raw8";
    case 2: return "raw16";
    case 4: return "raw32";
    case 8: return "raw64";
    default: return "raw128";
    }
}

/* Whether a load's register is needed by this pass at all is left to the compiler: unused loads vanish. */
static void add_parameters(const lt_fused_pass *p, lt_text *o)
{
    const lt_fused *f = p->f;
    for (int a = 0; a < f->n_args; a++) {
        const char *type = "u8";
        for (int i = 0; i < f->n_loads; i++)
            if (f->loads[i].arg == a) type = type_name(p, f->loads[i].from);
        for (int i = 0; i < f->n_stores; i++)
            if (f->stores[i].arg == a) type = type_name(p, f->stores[i].to);
        for (int i = 0; i < f->n_reduces; i++)
            if (f->reduces[i].arg == a) type = type_name(p, f->reduces[i].to);
        lt_text_add(o, "%s%s *a%d", a ? ", " : "", type, a);
    }
    if (p->parts > 1) lt_text_add(o, "%sreal *scratch", f->n_args ? ", " : "");
}

/* Coordinates c<first>… of `index` over dims first..end-1. */
static void add_coordinates(const lt_fused_pass *p, int first, int end, const char *index, const char *indent, lt_text *o)
{
    if (first == end) return;
    lt_text_add(o, "%sindex q%d = %s;\n", indent, first, index);
    for (int d = end - 1; d > first; d--)
        lt_text_add(o, "%sindex c%d = q%d %% %" PRId64 "; q%d /= %" PRId64 ";\n", indent, d, first, p->walk.dim[d], first, p->walk.dim[d]);
    lt_text_add(o, "%sindex c%d = q%d;\n", indent, first, first);
}

/* "offset + c0 * s0 + …" */
static void add_offset(const lt_fused_pass *p, const lt_affine *v, lt_text *o)
{
    int64_t s[LT_MAX_RANK];
    lt_fused_walk_strides(&p->walk, v, s);
    lt_text_add(o, "%" PRId64, v->offset);
    for (int d = 0; d < p->walk.n_dims; d++)
        if (s[d] == 1) lt_text_add(o, " + c%d", d);
        else if (s[d]) lt_text_add(o, " + c%d * %" PRId64, d, s[d]);
}

static int64_t last_stride(const lt_fused_pass *p, const lt_affine *v)
{
    int64_t s[LT_MAX_RANK];
    lt_fused_walk_strides(&p->walk, v, s);
    return p->walk.n_dims ? s[p->walk.n_dims - 1] : 0;
}

/* ---- Shared pieces ---- */
static void add_load(const lt_fused_pass *p, int i, lt_text *o)
{
    const lt_fused_load *l = &p->f->loads[i];
    const char *t = type_name(p, l->from);
    lt_text_add(o, "            { const %s *at = a%d + (", t, l->arg);
    add_offset(p, &l->view, o);
    lt_text_add(o, ");\n");
    switch (lt_fused_pass_access(p, &l->view)) {
    case LT_ACCESS_PACK: lt_text_add(o, "              w%d[u] = get_pack<PACKED, V>(at); }\n", i); break;
    case LT_ACCESS_SAME: lt_text_add(o, "              %s x = *at; for (int v = 0; v < V; v++) w%d[u].e[v] = x; }\n", t, i); break;
    default:
        lt_text_add(o, "              for (int v = 0; v < V; v++) w%d[u].e[v] = at[v * %" PRId64 "]; }\n", i, last_stride(p, &l->view));
    }
}

/* Written so that the compiler cannot see the value: NVRTC takes for granted that constants never
   make a NaN, and folds 0/0 == 0/0 to true. */
static void add_constant(const lt_fused *f, const lt_fused_const *c, lt_text *o)
{
    uint64_t wide;
    uint32_t bits;
    float narrow = (float)c->value;
    memcpy(&wide, &c->value, sizeof wide);
    memcpy(&bits, &narrow, sizeof bits);
    lt_text_add(o, "                real r%d; ", c->reg);
    if (f->type == LT_F64) lt_text_add(o, "asm(\"mov.f64 %%0, 0d%016" PRIx64 ";\" : \"=d\"(r%d)); /* %g */\n", wide, c->reg, c->value);
    else lt_text_add(o, "asm(\"mov.f32 %%0, 0f%08" PRIx32 ";\" : \"=f\"(r%d)); /* %g */\n", bits, c->reg, c->value);
}

static void add_steps(const lt_fused *f, lt_text *o)
{
    for (int i = 0; i < f->n_loads; i++)
        lt_text_add(o, "                real r%d = widen<real>(w%d[u].e[v]);\n", f->loads[i].reg, i);
    for (int i = 0; i < f->n_consts; i++) add_constant(f, &f->consts[i], o);
    for (int i = 0; i < f->n_steps; i++) {
        const lt_fused_step *s = &f->steps[i];
        lt_text_add(o, "                real r%d = op_%s<real>(", s->reg, lt_op_name(s->op));
        for (int k = 0; k < lt_op_arity(s->op); k++) lt_text_add(o, "%sr%d", k ? ", " : "", s->src[k]);
        lt_text_add(o, ");\n");
    }
}

static void add_store(const lt_fused_pass *p, int i, lt_text *o)
{
    const lt_fused_store *s = &p->f->stores[i];
    const char *t = type_name(p, s->to);
    lt_text_add(o, "            { %s *at = a%d + (", t, s->arg);
    add_offset(p, &s->view, o);
    if (lt_fused_pass_access(p, &s->view) == LT_ACCESS_PACK) lt_text_add(o, ");\n              put_pack<PACKED>(z%d, at); }\n", i);
    else lt_text_add(o, ");\n              for (int v = 0; v < V; v++) at[v * %" PRId64 "] = z%d.e[v]; }\n", last_stride(p, &s->view), i);
}

void lt_fused_add_ops(const bool used[LT_N_ELEMENTWISE], lt_text *o)
{
    for (int op = 0; op < LT_N_ELEMENTWISE; op++)
        if (used[op]) lt_text_add(o, "%s", op_text[op]);
}

static void add_ops(const lt_fused *f, lt_text *o)
{
    bool used[LT_N_ELEMENTWISE] = { false };
    for (int i = 0; i < f->n_steps; i++) used[f->steps[i].op] = true;
    lt_fused_add_ops(used, o);
}

static void add_head(const lt_fused_pass *p, lt_text *o)
{
    const lt_fused *f = p->f;
    lt_text_add(o, "%s\n", lt_text_prelude_cu);
    add_ops(f, o);
    lt_text_add(o, "typedef %s real;\ntypedef %s index;\nenum { VECTOR = %d, UNROLL = %d, THREADS = %d };\n",
                p->raw ? type_name(p, f->loads[0].from) : f->type == LT_F64 ? "f64" : "f32", p->wide ? "i64" : "i32", p->vector, p->unroll, LT_FUSED_THREADS);
}

static void add_turn_arrays(const lt_fused_pass *p, lt_text *o)
{
    const lt_fused *f = p->f;
    for (int i = 0; i < f->n_loads; i++) lt_text_add(o, "        pack<%s, V> w%d[U];\n", type_name(p, f->loads[i].from), i);
}

/* Packs need aligned addresses, which user pointers and offsets do not promise: asked once per thread. */
static void add_alignment(const lt_fused_pass *p, lt_text *o)
{
    const lt_fused *f = p->f;
    lt_text_add(o, "true");
    for (int i = 0; p->vector > 1 && i < f->n_loads; i++)
        if (lt_fused_pass_access(p, &f->loads[i].view) == LT_ACCESS_PACK)
            lt_text_add(o, " && fits<%s, VECTOR>(a%d)", type_name(p, f->loads[i].from), f->loads[i].arg);
    for (int i = 0; p->vector > 1 && i < f->n_stores; i++)
        if (lt_fused_pass_access(p, &f->stores[i].view) == LT_ACCESS_PACK)
            lt_text_add(o, " && fits<%s, VECTOR>(a%d)", type_name(p, f->stores[i].to), f->stores[i].arg);
}

static void add_arguments(const lt_fused *f, lt_text *o)
{
    for (int a = 0; a < f->n_args; a++) lt_text_add(o, ", a%d", a);
}

/* ---- Elementwise ---- */
/* turn<V, U> computes U items of V elements, THREADS items apart. Blocks at the end, and memory that is
   not aligned, take it element by element: same code, short text. */
static void add_turn(const lt_fused_pass *p, lt_text *o)
{
    const lt_fused *f = p->f;
    lt_text_add(o, "template <int V, int U> void turn(index first%s", f->n_args ? ", " : "");
    add_parameters(p, o);
    lt_text_add(o, ")\n{\n        constexpr bool PACKED = true;\n");
    add_turn_arrays(p, o);
    for (int half = 0; half < 2; half++) {
        lt_text_add(o, "        _Pragma(\"unroll\") for (int u = 0; u < U; u++) {\n");
        add_coordinates(p, 0, p->walk.n_dims, "(first + u * THREADS) * V", "            ", o);
        if (half) break;
        for (int i = 0; i < f->n_loads; i++) add_load(p, i, o);
        lt_text_add(o, "        }\n");
    }
    for (int i = 0; i < f->n_stores; i++) lt_text_add(o, "            pack<%s, V> z%d;\n", type_name(p, f->stores[i].to), i);
    lt_text_add(o, "            _Pragma(\"unroll\") for (int v = 0; v < V; v++) {\n");
    add_steps(f, o);
    for (int i = 0; i < f->n_stores; i++) lt_text_add(o, "                narrow(r%d, z%d.e[v]);\n", f->stores[i].reg, i);
    lt_text_add(o, "            }\n");
    for (int i = 0; i < f->n_stores; i++) add_store(p, i, o);
    lt_text_add(o, "        }\n}\n\n");
}

static void render_elementwise(const lt_fused_pass *p, lt_text *o)
{
    int64_t n = p->walk.kept;
    add_head(p, o);
    lt_text_add(o, "enum : i64 { COUNT = %" PRId64 ", WHOLE_ITEMS = %" PRId64 " };\n\n", n, n / p->vector);
    add_turn(p, o);
    lt_text_add(o, "extern \"C\" __global__ void __launch_bounds__(THREADS) fused(");
    add_parameters(p, o);
    lt_text_add(o, ")\n{\n    lt_wait();\n    index first = (index)blockIdx.x * (THREADS * UNROLL) + threadIdx.x;\n    bool packed = ");
    add_alignment(p, o);
    lt_text_add(o, ";\n    if (packed && ((i64)blockIdx.x + 1) * (THREADS * UNROLL) <= WHOLE_ITEMS) {\n        turn<VECTOR, UNROLL>(first");
    add_arguments(p->f, o);
    lt_text_add(o, ");\n        return;\n    }\n    _Pragma(\"unroll 1\") for (int i = 0; i < UNROLL * VECTOR; i++) {\n"
                   "        index element = (first + i / VECTOR * THREADS) * VECTOR + i %% VECTOR;\n        if (element < COUNT) turn<1, 1>(element");
    add_arguments(p->f, o);
    lt_text_add(o, ");\n    }\n}\n");
}

/* ---- Reductions ---- */
static const char *fold_name(lt_op op) { return op == LT_OP_SUM ? "fold_sum" : op == LT_OP_RMAX ? "fold_max" : "fold_min"; }

static const char *fold_start(lt_op op)
{
    return op == LT_OP_SUM ? "(real)0" : op == LT_OP_RMAX ? "-(real)__longlong_as_double(0x7ff0000000000000ll)"
                                                          : "(real)__longlong_as_double(0x7ff0000000000000ll)";
}

static void add_folds(const lt_fused_pass *p, const char *format, lt_text *o)
{
    for (int i = 0; i < p->f->n_reduces; i++)
        if (p->f->reduces[i].axes == p->axes) lt_text_add(o, format, i);
}

/* gather<PACKED>: what a thread adds up, in turns of U items of V elements each, LANES items apart. */
static void add_gather(const lt_fused_pass *p, lt_text *o)
{
    const lt_fused *f = p->f;
    const lt_fused_walk *w = &p->walk;
    lt_text_add(o, "template <bool PACKED> void gather(int lane, index result, index begin, index end");
    add_folds(p, ", real &t%d", o);
    lt_text_add(o, "%s", f->n_args ? ", " : "");
    add_parameters(p, o);
    lt_text_add(o, ")\n{\n    for (index from = begin + lane; from < end; from += LANES * U) {\n");
    add_coordinates(p, 0, w->n_kept, "result", "        ", o);
    add_turn_arrays(p, o);
    lt_text_add(o, "        _Pragma(\"unroll\") for (int u = 0; u < U; u++) {\n            if (from + u * LANES >= end) continue;\n");
    add_coordinates(p, w->n_kept, w->n_dims, "(from + u * LANES) * V", "            ", o);
    for (int i = 0; i < f->n_loads; i++) add_load(p, i, o);
    lt_text_add(o, "        }\n        _Pragma(\"unroll\") for (int u = 0; u < U; u++) {\n            if (from + u * LANES >= end) continue;\n");
    add_coordinates(p, w->n_kept, w->n_dims, "(from + u * LANES) * V", "            ", o);
    for (int i = 0; p->stores && i < f->n_stores; i++) lt_text_add(o, "            pack<%s, V> z%d;\n", type_name(p, f->stores[i].to), i);
    lt_text_add(o, "            _Pragma(\"unroll\") for (int v = 0; v < V; v++) {\n");
    add_steps(f, o);
    for (int i = 0; p->stores && i < f->n_stores; i++) lt_text_add(o, "                narrow(r%d, z%d.e[v]);\n", f->stores[i].reg, i);
    for (int i = 0; i < f->n_reduces; i++)
        if (f->reduces[i].axes == p->axes) lt_text_add(o, "                t%d = %s(t%d, r%d);\n", i, fold_name(f->reduces[i].op), i, f->reduces[i].reg);
    lt_text_add(o, "            }\n");
    for (int i = 0; p->stores && i < f->n_stores; i++) add_store(p, i, o);
    lt_text_add(o, "        }\n    }\n}\n\n");
}

static void add_gather_call(const lt_fused_pass *p, bool packed, lt_text *o)
{
    lt_text_add(o, "gather<%s>(lane, result, begin, end", packed ? "true" : "false");
    add_folds(p, ", t%d", o);
    add_arguments(p->f, o);
    lt_text_add(o, "%s);\n", p->parts > 1 ? ", scratch" : "");
}

/* Lanes of one result fold pairwise, in shared memory until they are of one warp: the order follows from LANES alone. */
static void add_lane_fold(const lt_fused_pass *p, const char *fold, int i, lt_text *o)
{
    int by_warp = p->inner ? LT_MIN(p->lanes, WARP) : 1;
    if (p->lanes > by_warp)
        lt_text_add(o, "    pile[lane * RESULTS + column] = t%d;\n    __syncthreads();\n"
                       "    for (int half = LANES / 2; half >= %d; half /= 2) {\n"
                       "        if (lane < half) pile[lane * RESULTS + column] = %s(pile[lane * RESULTS + column], pile[(lane + half) * RESULTS + column]);\n"
                       "        __syncthreads();\n    }\n    t%d = pile[lane %% %d * RESULTS + column];\n    __syncthreads();\n", i, by_warp, fold, i, by_warp);
    if (by_warp > 1)
        lt_text_add(o, "    for (int half = %d; half > 0; half /= 2) t%d = %s(t%d, __shfl_down_sync(0xffffffffu, t%d, half, %d));\n",
                    by_warp / 2, i, fold, i, i, by_warp);
}

static void add_reduce_tail(const lt_fused_pass *p, lt_text *o)
{
    const lt_fused *f = p->f;
    int n = 0;
    for (int i = 0; i < f->n_reduces; i++) {
        if (f->reduces[i].axes != p->axes) continue;
        add_lane_fold(p, fold_name(f->reduces[i].op), i, o);
        if (p->parts > 1)
            lt_text_add(o, "    if (lane == 0 && result < KEPT) scratch[((i64)%d * PARTS + blockIdx.y) * KEPT + result] = t%d;\n", n++, i);
        else
            lt_text_add(o, "    if (lane == 0 && result < KEPT) narrow(t%d, a%d[result]);\n", i, f->reduces[i].arg);
    }
}

static void render_reduction(const lt_fused_pass *p, lt_text *o)
{
    const lt_fused *f = p->f;
    const lt_fused_walk *w = &p->walk;
    add_head(p, o);
    lt_text_add(o, "enum { LANES = %d, RESULTS = THREADS / LANES };\nenum : i64 { KEPT = %" PRId64 ", ITEMS = %" PRId64
                   ", PARTS = %" PRId64 ", PART = %" PRId64 " };\nenum { V = VECTOR, U = UNROLL };\n\n", p->lanes, w->kept, w->reduced / p->vector, p->parts, p->part_items);
    add_gather(p, o);
    lt_text_add(o, "extern \"C\" __global__ void __launch_bounds__(THREADS) fused(");
    add_parameters(p, o);
    lt_text_add(o, ")\n{\n");
    lt_text_add(o, "    lt_wait();\n");
    if (p->lanes > (p->inner ? WARP : 1)) lt_text_add(o, "    __shared__ real pile[THREADS];\n");
    lt_text_add(o, p->inner ? "    const int lane = threadIdx.x %% LANES, column = threadIdx.x / LANES;\n"
                            : "    const int lane = threadIdx.x / RESULTS, column = threadIdx.x %% RESULTS;\n");
    lt_text_add(o, "    const index result = (index)blockIdx.x * RESULTS + column;\n"
                   "    const index begin = (index)blockIdx.y * PART, end = begin + PART < ITEMS ? begin + PART : ITEMS;\n");
    for (int i = 0; i < f->n_reduces; i++)
        if (f->reduces[i].axes == p->axes) lt_text_add(o, "    real t%d = %s;\n", i, fold_start(f->reduces[i].op));
    if (p->vector > 1) {
        lt_text_add(o, "    const bool packed = ");
        add_alignment(p, o);
        lt_text_add(o, ";\n    if (result < KEPT && packed) ");
        add_gather_call(p, true, o);
    }
    lt_text_add(o, "    if (result < KEPT%s) ", p->vector > 1 ? " && !packed" : "");
    add_gather_call(p, false, o);
    add_reduce_tail(p, o);
    lt_text_add(o, "}\n");
}

void lt_fused_render(const lt_fused_pass *p, lt_text *out)
{
    if (p->reduces) render_reduction(p, out);
    else render_elementwise(p, out);
}
