/* The memory planner, affine views, the IR checker, and what passes and fusion are expected to
   achieve on known graphs. SPDX-License-Identifier: BSD-3-Clause */
#include "base/status.h"
#include "graph/build/build.h"
#include "graph/passes/passes.h"
#include "graph/lower/planner.h"
#include "lathe/rng.h"
#include "lt_test.h"

/* ---- planner ---- */

#define N_VALUES 60

static int by_first(const void *a, const void *b) { return ((const lt_interval *)a)->first - ((const lt_interval *)b)->first; }

/* Random lifetimes; some values may take over the memory of one that ends where they begin. */
static int random_intervals(lt_rng *r, lt_interval *v)
{
    int n = 1 + (int)lt_rng_below(r, N_VALUES), steps = 1 + (int)lt_rng_below(r, 40);
    for (int i = 0; i < n; i++) {
        int first = (int)lt_rng_below(r, (uint64_t)steps);
        v[i] = (lt_interval){ .bytes = (size_t)lt_rng_below(r, 5) * 64 + 1 + lt_rng_below(r, 64), .first = first,
                              .last = first + (int)lt_rng_below(r, (uint64_t)(steps - first)), .in_place = -1 };
    }
    qsort(v, (size_t)n, sizeof *v, by_first);
    for (int i = 0; i < n; i++)
        for (int k = 0; k < i && v[i].in_place < 0; k++)
            if (v[k].last == v[i].first && lt_rng_below(r, 3) == 0) v[i].in_place = k;
    return n;
}

static size_t rounded(size_t bytes) { return ((bytes ? bytes : 1) + 63) / 64 * 64; }

/* Overlap found by trying every pair: what lt_plan_check must agree with. */
static bool pairs_are_apart(const lt_interval *v, int n, size_t total)
{
    for (int i = 0; i < n; i++) {
        if (v[i].offset % 64 || v[i].offset + v[i].bytes > total) return false;
        for (int k = 0; k < i; k++) {
            bool together = v[i].first <= v[k].last && v[k].first <= v[i].last;
            bool touch = v[i].offset < v[k].offset + v[k].bytes && v[k].offset < v[i].offset + v[i].bytes;
            if (together && touch && !(v[i].in_place == k && v[k].last == v[i].first && v[k].offset == v[i].offset)) return false;
        }
    }
    return true;
}

LT_TEST(plans_never_overlap)
{
    lt_rng r = lt_rng_seed(11);
    for (int trial = 0; trial < 2000; trial++) {
        lt_interval v[N_VALUES];
        size_t total, sum = 0, at_once = 0;
        int n = random_intervals(&r, v);
        for (int i = 0; i < n; i++) sum += rounded(v[i].bytes);
        for (int step = 0; step < 40; step++) { /* no plan can do with less than what is alive, but for what is taken over */
            size_t alive = 0;
            for (int i = 0; i < n; i++) alive += v[i].first < step && step < v[i].last ? rounded(v[i].bytes) : 0;
            if (alive > at_once) at_once = alive;
        }
        LT_CHECK_OK(lt_plan_memory(v, n, true, &total));
        LT_CHECK_OK(lt_plan_check(v, n, total));
        LT_CHECK(pairs_are_apart(v, n, total));
        LT_CHECK(total <= sum && total >= at_once);
        LT_CHECK_OK(lt_plan_memory(v, n, false, &total));
        LT_CHECK_OK(lt_plan_check(v, n, total));
        LT_CHECK(total == sum);
        for (int i = 0; i < n; i++) LT_CHECK(v[i].in_place < 0);
    }
}

/* The same plan by hand: units of 64 bytes, each free or taken. Among the runs of free units the smallest that holds a value is taken, the lowest
   of equal ones; where none does, the value begins in the run at the top, or on top. */
enum { UNITS = 2000 };

static size_t place_by_hand(const bool *taken, size_t top, size_t need)
{
    size_t best = SIZE_MAX, best_length = SIZE_MAX, run = 0;
    for (size_t at = 0; at < top; at++) {
        run = taken[at] ? 0 : run + 1;
        bool ends = run && (at + 1 == top || taken[at + 1]);
        if (ends && run >= need && run < best_length) best = at + 1 - run, best_length = run;
    }
    return best != SIZE_MAX ? best : top - (top && !taken[top - 1] ? run : 0);
}

static size_t plan_by_hand(const lt_interval *v, int n, size_t *offset)
{
    static bool taken[UNITS];
    bool given[N_VALUES] = { false }, freed[N_VALUES] = { false };
    size_t top = 0;
    memset(taken, 0, sizeof taken);
    for (int i = 0; i < n; i++) {
        size_t need = rounded(v[i].bytes) / 64;
        int p = v[i].in_place;
        for (int k = 0; k < i; k++)
            if (v[k].last < v[i].first && !given[k] && !freed[k]) {
                memset(taken + offset[k], false, rounded(v[k].bytes) / 64);
                freed[k] = true;
            }
        if (p >= 0 && !given[p] && v[p].first < v[i].first && rounded(v[p].bytes) / 64 == need) offset[i] = offset[p], given[p] = true;
        else offset[i] = place_by_hand(taken, top, need);
        memset(taken + offset[i], true, need);
        if (offset[i] + need > top) top = offset[i] + need;
    }
    return top;
}

LT_TEST(plans_are_those_made_by_hand)
{
    lt_rng r = lt_rng_seed(13);
    for (int trial = 0; trial < 1000; trial++) {
        lt_interval v[N_VALUES], asked[N_VALUES];
        size_t total, offset[N_VALUES];
        int n = random_intervals(&r, v);
        memcpy(asked, v, sizeof asked);
        LT_CHECK_OK(lt_plan_memory(v, n, true, &total));
        LT_CHECK_EQ_INT(total, 64 * plan_by_hand(asked, n, offset));
        for (int i = 0; i < n; i++) LT_CHECK_EQ_INT(v[i].offset, 64 * offset[i]);
    }
}

/* Whatever single offset is changed, the check says what trying every pair says. */
LT_TEST(corrupted_plans_are_refused)
{
    lt_rng r = lt_rng_seed(12);
    int refused = 0;
    for (int trial = 0; trial < 2000; trial++) {
        lt_interval v[N_VALUES];
        size_t total;
        int n = random_intervals(&r, v), victim = (int)lt_rng_below(&r, (uint64_t)n);
        LT_CHECK_OK(lt_plan_memory(v, n, true, &total));
        v[victim].offset = 64 * lt_rng_below(&r, total / 64 + 2) + (lt_rng_below(&r, 8) == 0 ? 8 : 0);
        bool apart = pairs_are_apart(v, n, total);
        lt_status s = lt_plan_check(v, n, total);
        LT_CHECK((s == LT_OK) == apart);
        if (!apart) { LT_CHECK(s == LT_ERR_INTERNAL); LT_CHECK(strstr(lt_error_text(), "plan: value")); refused++; }
    }
    LT_CHECK(refused > 500);
}

LT_TEST(a_chain_in_place_needs_one_buffer)
{
    lt_interval v[10];
    size_t total;
    for (int i = 0; i < 10; i++) v[i] = (lt_interval){ .bytes = 640, .first = i, .last = i + 1, .in_place = i - 1 };
    LT_CHECK_OK(lt_plan_memory(v, 10, true, &total));
    LT_CHECK_EQ_INT(total, 640);
    for (int i = 0; i < 10; i++) v[i].in_place = -1;
    LT_CHECK_OK(lt_plan_memory(v, 10, true, &total));
    LT_CHECK_EQ_INT(total, 1280);
}

/* ---- affine views ---- */

static int64_t view_at(const lt_affine *v, const lt_shape *s, int64_t i)
{
    int64_t at = v->offset;
    for (int k = s->rank - 1; k >= 0; k--) { at += i % s->dim[k] * v->stride[k]; i /= s->dim[k]; }
    return at;
}

static lt_shape random_shape(lt_rng *r, int max_rank, int64_t max_dim)
{
    lt_shape s = { .rank = (int)lt_rng_below(r, (uint64_t)max_rank + 1) };
    for (int i = 0; i < s.rank; i++) s.dim[i] = 1 + (int64_t)lt_rng_below(r, (uint64_t)max_dim);
    return s;
}

/* A view that stays inside `count` elements: strides at random, then the offset that fits. */
static bool random_view(lt_rng *r, const lt_shape *s, int64_t count, lt_affine *v)
{
    int64_t lo, hi;
    *v = (lt_affine){ 0 };
    for (int i = 0; i < s->rank; i++) v->stride[i] = (int64_t)lt_rng_below(r, 9) - 4;
    if (!lt_affine_range(v, s, &lo, &hi)) return false;
    v->offset = -lo;
    return hi - lo < count;
}

LT_TEST(composed_views_agree_with_enumeration)
{
    lt_rng r = lt_rng_seed(13);
    int composed = 0;
    for (int trial = 0; trial < 20000; trial++) {
        lt_shape mid = random_shape(&r, 3, 4), s = random_shape(&r, 3, 4);
        lt_affine inner, outer, both;
        if (!random_view(&r, &mid, 64, &inner) || !random_view(&r, &s, lt_shape_count(&mid), &outer)) continue;
        if (!lt_affine_compose(&inner, &mid, &outer, &s, &both)) continue;
        composed++;
        for (int64_t i = 0; i < lt_shape_count(&s); i++)
            if (view_at(&both, &s, i) != view_at(&inner, &mid, view_at(&outer, &s, i))) {
                LT_TEST_FAIL("trial %d: element %lld differs", trial, (long long)i);
                break;
            }
    }
    LT_CHECK(composed > 1000);
}

/* A transposed view by slices, flips and transposes must compose: passes rely on it. */
LT_TEST(slices_and_transposes_compose)
{
    lt_shape base = lt_shape2(4, 6), t = lt_shape2(6, 4), part = lt_shape2(3, 4);
    lt_affine transpose = { 0, { 1, 6 } }, every_other = { 4, { 8, 1 } }, both;
    LT_CHECK(lt_affine_compose(&transpose, &t, &every_other, &part, &both));
    for (int64_t i = 0; i < 12; i++) LT_CHECK_EQ_INT(view_at(&both, &part, i), (1 + 2 * (i / 4)) + 6 * (i % 4));
    lt_affine back = { 0, { 1, 4 } };
    LT_CHECK(lt_affine_compose(&transpose, &t, &back, &base, &both));
    LT_CHECK(lt_affine_is_dense(&both, &base) && both.offset == 0);
}

LT_TEST(reshaped_views_agree_with_enumeration)
{
    lt_rng r = lt_rng_seed(14);
    int reshaped = 0;
    for (int trial = 0; trial < 20000; trial++) {
        lt_shape from = random_shape(&r, 4, 3), to = random_shape(&r, 4, 3);
        lt_affine v, out;
        if (lt_shape_count(&from) != lt_shape_count(&to) || !random_view(&r, &from, 100, &v)) continue;
        if (lt_rng_below(&r, 2)) lt_dense_strides(&from, v.stride), v.offset = 5;
        bool dense = lt_affine_is_dense(&v, &from);
        if (!lt_affine_reshape(&v, &from, &to, &out)) { LT_CHECK(!dense); continue; }
        reshaped++;
        for (int64_t i = 0; i < lt_shape_count(&to); i++)
            if (view_at(&out, &to, i) != view_at(&v, &from, i)) { LT_TEST_FAIL("trial %d: element %lld differs", trial, (long long)i); break; }
    }
    LT_CHECK(reshaped > 300);
}

LT_TEST(views_of_empty_tensors_do_not_divide_by_zero)
{
    lt_shape mid = lt_shape2(3, 0), s = lt_shape2(2, 0);
    lt_affine inner = { 0, { 2, 1 } }, outer = { 0, { 0, 1 } }, out;
    if (lt_affine_compose(&inner, &mid, &outer, &s, &out)) LT_CHECK(lt_affine_range(&out, &s, &(int64_t){ 0 }, &(int64_t){ 0 }) == false);
    LT_CHECK(!lt_affine_reshape(&inner, &mid, &s, &out) || lt_shape_count(&s) == 0);
}

/* ---- the checker ---- */

typedef struct fixture { lt_arena arena; lt_module m; int32_t output[2]; } fixture;

/* y = sum(exp(view of x) * c): a module that is right. */
static void fixture_begin(fixture *f)
{
    static const double data[] = { 1, 2, 3 };
    lt_shape x = lt_shape2(2, 3), v = lt_shape1(3), scalar = lt_shape0();
    *f = (fixture){ 0 };
    f->m = (lt_module){ .ir = { .arena = &f->arena }, .output = f->output, .n_outputs = 2 };
    lt_ir_push(&f->m.ir, LT_OP_INPUT, LT_F64, &x, 0, NULL, &(lt_attr){ .u.input.input = 0 });
    lt_ir_push(&f->m.ir, LT_OP_VIEW, LT_F64, &v, 1, (int32_t[]){ 0 }, &(lt_attr){ .u.view = { 3, { 1 } } });
    lt_ir_push(&f->m.ir, LT_OP_EXP, LT_F64, &v, 1, (int32_t[]){ 1 }, NULL);
    lt_ir_push(&f->m.ir, LT_OP_CONST, LT_F64, &v, 0, NULL, &(lt_attr){ .u.data = data });
    lt_ir_push(&f->m.ir, LT_OP_MUL, LT_F64, &v, 2, (int32_t[]){ 2, 3 }, NULL);
    lt_ir_push(&f->m.ir, LT_OP_SUM, LT_F64, &scalar, 1, (int32_t[]){ 4 }, &(lt_attr){ .u.reduce.axes = 1 });
    f->output[0] = 5;
    f->output[1] = 2;
}

static void fixture_end(fixture *f)
{
    lt_ir_free(&f->m.ir);
    lt_arena_release(&f->arena);
}

LT_TEST(the_checker_refuses_broken_modules)
{
    static const struct { const char *what, *part; } damage[] = {
        { "op out of range", "has op" }, { "type out of range", "has op" }, { "input after its user", "does not come before" },
        { "negative input", "does not come before" }, { "wrong shape", "the rule gives" }, { "wrong type", "breaks its rule" },
        { "view outside its base", "breaks its rule" }, { "constant without data", "has no data" }, { "axes outside the rank", "breaks its rule" },
        { "output out of range", "output 0" }, { "too few operands", "breaks its rule" }, { "operands of different shapes", "breaks its rule" },
    };
    fixture f;
    fixture_begin(&f);
    LT_CHECK_OK(lt_ir_check(&f.m, "nothing"));
    fixture_end(&f);
    for (int i = 0; i < (int)LT_LEN(damage); i++) {
        fixture_begin(&f);
        lt_ir_node *n = f.m.ir.node;
        switch (i) {
        case 0: n[2].op = LT_OP_COUNT; break;
        case 1: n[2].dtype = LT_DTYPE_COUNT; break;
        case 2: n[2].in[0] = 4; break;
        case 3: n[2].in[0] = -1; break;
        case 4: n[2].shape = lt_shape1(4); break;
        case 5: n[3].dtype = LT_F32; break;
        case 6: n[1].attr.u.view.offset = 4; break;
        case 7: n[3].attr.u.data = NULL; break;
        case 8: n[5].attr.u.reduce.axes = 2; break;
        case 9: f.output[0] = 6; break;
        case 10: n[4].n_in = 1; break;
        default: n[4].in[1] = 0; break;
        }
        lt_status s = lt_ir_check(&f.m, "damage");
        if (s != LT_ERR_INTERNAL || !strstr(lt_error_text(), damage[i].part) || !strstr(lt_error_text(), "after damage"))
            LT_TEST_FAIL("%s: status %s, text '%s'", damage[i].what, lt_status_name(s), s ? lt_error_text() : "");
        fixture_end(&f);
    }
}

/* ---- what the passes leave ---- */

typedef lt_node (*function)(lt_graph *g, lt_node x, lt_node y); /* of two inputs, both of one shape */

/* Runs the passes and counts the nodes of each op that are left. */
static int left_over(function f, lt_shape s, int *count)
{
    lt_graph *g;
    lt_arena arena = { 0 };
    memset(count, 0, LT_OP_COUNT * sizeof *count);
    LT_CHECK_OK(lt_graph_create(&g));
    lt_node out = f(g, lt_input(g, "x", LT_F64, s), lt_input(g, "y", LT_F64, s));
    LT_CHECK_OK(lt_graph_status(g));
    lt_module m = { .ir = { .arena = &arena, .n_inputs = g->ir.n_inputs }, .n_outputs = 1, .output = &(int32_t){ out.id } };
    int32_t map[512];
    for (int32_t id = 0; id < g->ir.n_nodes && id < 512; id++) map[id] = lt_ir_copy_node(&m.ir, &g->ir.node[id], map);
    lt_compile_options opt = { .size = sizeof opt };
    LT_CHECK_OK(lt_passes_run(&m, &opt));
    int n = m.ir.n_nodes;
    for (int32_t id = 0; id < n; id++) count[m.ir.node[id].op]++;
    lt_ir_free(&m.ir);
    lt_arena_release(&arena);
    lt_graph_destroy(g);
    return n;
}

static lt_node x_dot_x(lt_graph *g, lt_node x, lt_node y) { (void)y; return lt_matmul(g, lt_transpose(g, x), x); }
static lt_node twice_transposed(lt_graph *g, lt_node x, lt_node y) { (void)y; return lt_exp(g, lt_transpose(g, lt_transpose(g, x))); }
static lt_node log_1_exp(lt_graph *g, lt_node x, lt_node y) { (void)y; return lt_log(g, lt_shift(g, lt_exp(g, x), 1)); }
static lt_node scaled_thrice(lt_graph *g, lt_node x, lt_node y) { (void)y; return lt_scale(g, lt_scale(g, lt_neg(g, lt_scale(g, x, 2)), 3), 0.5); }
static lt_node scaled_to_nothing(lt_graph *g, lt_node x, lt_node y) { (void)y; return lt_scale(g, lt_scale(g, x, 1e-200), 1e-200); }
static lt_node slices_joined(lt_graph *g, lt_node x, lt_node y)
{
    (void)y;
    return lt_concat(g, (lt_node[]){ lt_slice(g, x, 0, 0, 2, 1), lt_slice(g, x, 0, 2, LT_END, 1) }, 2, 0);
}
static lt_node products_transposed(lt_graph *g, lt_node x, lt_node y) { return lt_matmul(g, lt_transpose(g, x), lt_transpose(g, y)); }
static lt_node same_twice(lt_graph *g, lt_node x, lt_node y) { return lt_add(g, lt_exp(g, lt_add(g, x, y)), lt_sin(g, lt_exp(g, lt_add(g, x, y)))); }
static lt_node constants_only(lt_graph *g, lt_node x, lt_node y)
{
    (void)y;
    return lt_mul(g, x, lt_cast(g, lt_exp(g, lt_sum(g, lt_arange(g, LT_F64, 0, 0.1, 5))), LT_F64));
}
static lt_node neutral(lt_graph *g, lt_node x, lt_node y)
{
    lt_node z = lt_sub(g, lt_mul(g, lt_shift(g, x, 0), lt_ones(g, LT_F64, lt_node_shape(g, x))), lt_zeros(g, LT_F64, lt_node_shape(g, x)));
    return lt_maximum(g, lt_div(g, z, lt_ones(g, LT_F64, lt_node_shape(g, x))), y);
}
static lt_node view_of_views(lt_graph *g, lt_node x, lt_node y)
{
    (void)y;
    return lt_exp(g, lt_flip(g, lt_slice(g, lt_transpose(g, lt_flip(g, x, 0)), 0, 0, LT_END, 2), 1));
}

LT_TEST(passes_simplify)
{
    int n[LT_OP_COUNT];
    left_over(x_dot_x, lt_shape1(5), n);
    LT_CHECK_EQ_INT(n[LT_OP_SUM], 1);
    LT_CHECK_EQ_INT(n[LT_OP_SQUARE] + n[LT_OP_MUL] + n[LT_OP_MATMUL], 1);
    LT_CHECK_EQ_INT(left_over(twice_transposed, lt_shape2(3, 4), n), 2);
    LT_CHECK_EQ_INT(left_over(log_1_exp, lt_shape1(4), n), 2);
    LT_CHECK_EQ_INT(n[LT_OP_SOFTPLUS], 1);
    LT_CHECK_EQ_INT(left_over(scaled_thrice, lt_shape1(4), n), 3);
    LT_CHECK_EQ_INT(n[LT_OP_MUL], 1);
    LT_CHECK_EQ_INT(n[LT_OP_NEG], 0);
    left_over(scaled_to_nothing, lt_shape1(4), n);
    LT_CHECK_EQ_INT(n[LT_OP_MUL], 2); /* the product of the factors is zero, that of the scales need not be */
    left_over(products_transposed, lt_shape2(4, 4), n);
    LT_CHECK_EQ_INT(n[LT_OP_VIEW], 0);
    LT_CHECK_EQ_INT(n[LT_OP_MATMUL], 1);
    LT_CHECK_EQ_INT(left_over(same_twice, lt_shape1(4), n), 6);
    LT_CHECK_EQ_INT(n[LT_OP_EXP], 1);
    LT_CHECK_EQ_INT(left_over(neutral, lt_shape1(4), n), 3);
    left_over(constants_only, lt_shape1(4), n);
    LT_CHECK_EQ_INT(n[LT_OP_EXP] + n[LT_OP_SUM], 0);
    left_over(view_of_views, lt_shape2(4, 6), n);
    LT_CHECK_EQ_INT(n[LT_OP_VIEW], 1);
    left_over(slices_joined, lt_shape2(4, 3), n);
    LT_CHECK(n[LT_OP_PLACE] <= 1 && n[LT_OP_VIEW] <= 2);
}

/* ---- what fusion achieves ---- */

static lt_program_info compiled(lt_graph *g, const lt_node *out, int n_out)
{
    lt_program *p;
    LT_CHECK_OK(lt_program_create(g, out, n_out, NULL, &p));
    lt_program_info info = lt_program_get_info(p);
    lt_program_destroy(p);
    return info;
}

LT_TEST(rosenbrock_is_at_most_two_kernels)
{
    lt_graph *g;
    LT_CHECK_OK(lt_graph_create(&g));
    lt_node x = lt_input(g, "x", LT_F64, lt_shape1(2)), x0 = lt_at(g, x, 0), x1 = lt_at(g, x, 1), d;
    lt_node f = lt_add(g, lt_scale(g, lt_abs(g, lt_sub(g, lt_square(g, x0), x1)), 8), lt_square(g, lt_rsub(g, 1, x0)));
    LT_CHECK_OK(lt_grad(g, f, &x, 1, &d));
    LT_CHECK(compiled(g, (lt_node[]){ f, d }, 2).n_kernels <= 2);
    lt_graph_destroy(g);
}

LT_TEST(chains_are_one_kernel)
{
    lt_graph *g;
    LT_CHECK_OK(lt_graph_create(&g));
    lt_node x = lt_input(g, "x", LT_F64, lt_shape1(100000)), y = x;
    for (int i = 0; i < 4; i++) y = lt_sin(g, lt_shift(g, y, 0.5));
    lt_program_info info = compiled(g, &y, 1);
    LT_CHECK_EQ_INT(info.n_kernels, 1);
    LT_CHECK_EQ_INT(info.arena_bytes, 0);
    lt_node gauss = lt_sum(g, lt_exp(g, lt_neg(g, lt_square(g, x))));
    LT_CHECK_EQ_INT(compiled(g, &gauss, 1).n_kernels, 1);
    lt_node rows = lt_input(g, "rows", LT_F64, lt_shape2(300, 40)), soft = lt_sum_axis(g, lt_exp(g, lt_square(g, rows)), 1, false);
    LT_CHECK_EQ_INT(compiled(g, &soft, 1).n_kernels, 1);
    lt_graph_destroy(g);
}

LT_TEST(products_carry_their_epilogue)
{
    lt_graph *g;
    LT_CHECK_OK(lt_graph_create(&g));
    lt_node x = lt_input(g, "x", LT_F32, lt_shape2(32, 20)), w = lt_input(g, "w", LT_F32, lt_shape2(10, 20)), b = lt_input(g, "b", LT_F32, lt_shape1(10));
    lt_node y = lt_relu(g, lt_linear(g, x, w, b));
    LT_CHECK_EQ_INT(compiled(g, &y, 1).n_kernels, 1);
    lt_node image = lt_input(g, "image", LT_F32, lt_shape4(2, 3, 8, 8)), k = lt_input(g, "k", LT_F32, lt_shape4(4, 3, 3, 3));
    lt_node z = lt_gelu(g, lt_conv2d(g, image, k, lt_input(g, "kb", LT_F32, lt_shape1(4)), NULL));
    LT_CHECK_EQ_INT(compiled(g, &z, 1).n_kernels, 1);
    lt_graph_destroy(g);
}

static lt_program_info chain_of_products(int n)
{
    lt_graph *g;
    LT_CHECK_OK(lt_graph_create(&g));
    lt_node x = lt_input(g, "x", LT_F64, lt_shape2(16, 16)), y = x;
    for (int i = 0; i < n; i++) y = lt_tanh(g, lt_matmul(g, y, x));
    lt_program_info info = compiled(g, &y, 1);
    lt_graph_destroy(g);
    return info;
}

/* Reuse must pay: a deep chain of products needs two buffers, not thirty, and what one product works in, which is the machine's affair. */
LT_TEST(memory_is_reused)
{
    lt_program_info few = chain_of_products(3), many = chain_of_products(30);
    LT_CHECK_EQ_INT(many.arena_bytes, few.arena_bytes);
    LT_CHECK(many.unplanned_bytes >= 29 * 16 * 16 * sizeof(double));
}

/* The plan as text names every kernel and what it fuses; the graph's dump has a line per node. */
LT_TEST(dumps_name_what_they_show)
{
    lt_graph *g;
    lt_program *p;
    char text[4096] = "";
    LT_CHECK_OK(lt_graph_create(&g));
    lt_node x = lt_input(g, "x", LT_F64, lt_shape2(4, 3)), y = lt_name(g, lt_sum(g, lt_exp(g, x)), "total");
    LT_CHECK_OK(lt_program_create(g, &y, 1, NULL, &p));
    FILE *f = fmemopen(text, sizeof text, "w");
    LT_CHECK_OK(lt_program_dump(p, f));
    fclose(f);
    LT_CHECK(strstr(text, "exp+sum") && strstr(text, "f64[4, 3]") && strstr(text, "FLOP") && strstr(text, "mode default on cpu"));
    f = fmemopen(text, sizeof text, "w");
    LT_CHECK_OK(lt_graph_dump(g, f));
    fclose(f);
    LT_CHECK(strstr(text, "%0 = input f64[4, 3]") && strstr(text, "# total"));
    lt_program_destroy(p);
    lt_graph_destroy(g);
}

LT_TEST_MAIN()
