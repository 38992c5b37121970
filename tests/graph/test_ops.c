/* Every op against plain loops: each case of the tables, in every element type it takes, in every
   mode, with one thread and with two. SPDX-License-Identifier: BSD-3-Clause */
#include "base/dtype.h"
#include "base/pool.h"
#include "graph/build/build.h"
#include "graph/case.h"
#include "graph/test_device.h"
#include "lathe/rng.h"
#include "lt_test.h"
#include "tolerance.h"

static bool op_seen[LT_OP_COUNT];

/* ---- one case in one type ---- */

typedef struct trial {
    const op_case *c;
    lt_dtype  type, out_type;
    lt_graph *g;
    lt_node   x[CASE_INPUTS], y;
    void     *raw[CASE_INPUTS];      /* the inputs in their type, … */
    double   *value[CASE_INPUTS];    /* … and what they hold exactly */
    case_run  run;
    double   *got;
    void     *raw_out;
} trial;

static void symmetrise(double *a, int64_t n, double diagonal, bool symmetric)
{
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j <= i; j++) {
            if (symmetric) a[j * n + i] = a[i * n + j];
            if (i == j) a[i * n + j] += diagonal;
        }
}

static void draw_input(trial *t, int i, lt_rng *r)
{
    const op_case *c = t->c;
    int64_t n = t->run.n_in[i];
    for (int64_t k = 0; k < n; k++) t->value[i][k] = c->lo + (c->hi - c->lo) * lt_rng_uniform(r);
    if (i == 0 && c->draw != DRAW_UNIFORM)
        symmetrise(t->value[0], c->in[0].dim[1], c->draw == DRAW_SYMMETRIC ? 0 : 2 * (double)c->in[0].dim[1], c->draw != DRAW_DOMINANT);
    lt_convert(t->type, t->raw[i], LT_F64, t->value[i], n);
    lt_convert(LT_F64, t->value[i], t->type, t->raw[i], n);
}

static size_t bytes_for(int64_t n) { return (size_t)(n > 0 ? n : 1) * sizeof(double); }

/* Builds the graph; false when that failed, which is reported. */
static bool trial_begin(trial *t, const op_case *c, lt_dtype type)
{
    *t = (trial){ .c = c, .type = type };
    LT_CHECK_OK(lt_graph_create(&t->g));
    lt_rng r = lt_rng_seed(strlen(c->name) * 1000 + (uint64_t)c->in[0].rank * 100 + (uint64_t)type);
    for (int i = 0; i < c->n_inputs; i++) {
        t->run.in_shape[i] = c->in[i];
        t->run.n_in[i] = lt_shape_count(&c->in[i]);
        t->raw[i] = malloc(bytes_for(t->run.n_in[i]));
        t->value[i] = malloc(bytes_for(t->run.n_in[i]));
        t->run.x[i] = t->value[i];
        draw_input(t, i, &r);
        t->x[i] = lt_input(t->g, "x", type, c->in[i]);
    }
    t->y = c->build(t->g, t->x);
    if (lt_graph_status(t->g)) { LT_TEST_FAIL("%s %s: %s", c->name, lt_dtype_name(type), lt_error_text()); return false; }
    t->run.out_shape = lt_node_shape(t->g, t->y);
    t->out_type = lt_node_dtype(t->g, t->y);
    t->run.n_out = lt_shape_count(&t->run.out_shape);
    size_t bytes = bytes_for(t->run.n_out);
    t->got = malloc(bytes);
    t->raw_out = malloc(bytes);
    t->run.want = calloc(1, bytes);
    t->run.size = calloc(1, bytes);
    t->run.got = t->got;
    for (int id = 0; id < t->g->ir.n_nodes; id++) op_seen[t->g->ir.node[id].op] = true;
    return true;
}

static void trial_end(trial *t)
{
    for (int i = 0; i < CASE_INPUTS; i++) { free(t->raw[i]); free(t->value[i]); }
    free(t->got);
    free(t->raw_out);
    free(t->run.want);
    free(t->run.size);
    lt_graph_destroy(t->g);
}

static lt_status run_program(trial *t, lt_mode mode)
{
    lt_program *p;
    lt_compile_options opt = { .size = sizeof opt, .mode = mode, .device = test_device() };
    lt_status s = lt_program_create(t->g, &t->y, 1, &opt, &p);
    if (s) return s;
    memset(t->raw_out, 0x5A, bytes_for(t->run.n_out));
    s = lt_program_run(p, (const void *const *)t->raw, &t->raw_out);
    lt_program_destroy(p);
    lt_convert(LT_F64, t->got, t->out_type, t->raw_out, t->run.n_out);
    return s;
}

static void compare(trial *t, lt_mode mode)
{
    const op_case *c = t->c;
    c->oracle(&t->run);
    lt_dtype rounding = t->out_type == LT_I64 ? LT_F64 : lt_unit_roundoff(t->type) > lt_unit_roundoff(t->out_type) ? t->type : t->out_type;
    for (int64_t i = 0; i < t->run.n_out; i++) {
        double n = c->roundings >= 1 ? c->roundings + 1 : c->roundings; /* the oracle is rounded, too */
        if (lt_within(t->got[i], t->run.want[i], t->run.size[i], n, rounding)) continue;
        LT_TEST_FAIL("%s %s %s: element %lld of %s is %.17g, expected %.17g, off by %.3g roundings of %g (%g allowed)", c->name,
                     lt_dtype_name(t->type), lt_mode_name(mode), (long long)i, lt_shape_str(&t->run.out_shape).s, t->got[i], t->run.want[i],
                     fabs(t->got[i] - t->run.want[i]) / lt_unit_roundoff(rounding) / t->run.size[i], t->run.size[i], n);
        return;
    }
}

static void check_modes(trial *t)
{
    static const lt_mode modes[] = { LT_MODE_EAGER, LT_MODE_DEFAULT, LT_MODE_REDUCE_OVERHEAD };
    for (size_t m = 0; m < sizeof modes / sizeof *modes; m++) {
        lt_status s = run_program(t, modes[m]);
        if (s) LT_TEST_FAIL("%s %s %s: %s", t->c->name, lt_dtype_name(t->type), lt_mode_name(modes[m]), lt_error_text());
        else compare(t, modes[m]);
    }
}

static void check_case(const op_case *c)
{
    static const lt_dtype types[] = { LT_F64, LT_F32, LT_F16, LT_BF16 };
    for (size_t k = 0; k < sizeof types / sizeof *types; k++) {
        trial t;
        if (types[k] != LT_F64 && c->flags & CASE_F64) continue;
        if (types[k] <= LT_BF16 && !(c->flags & CASE_SMALL)) continue;
        if (trial_begin(&t, c, types[k])) {
            if ((t.out_type == LT_I64) != !!(c->flags & CASE_I64)) LT_TEST_FAIL("%s: result of type %s", c->name, lt_dtype_name(t.out_type));
            check_modes(&t);
        }
        trial_end(&t);
    }
}

static void walk(const op_case *table, void (*check)(const op_case *))
{
    for (const op_case *c = table; c->name; c++) check(c);
}

/* Of an op's cases: those called after it, alone or with more words. */
static unsigned flags_of_cases(const char *name)
{
    unsigned flags = 0;
    size_t length = strlen(name);
    for (const op_case *c = cases_elementwise; c->name; c++)
        if (!strncmp(c->name, name, length) && strchr(" _", c->name[length])) flags |= c->flags; /* strchr finds the end, too */
    return flags;
}

LT_TEST(every_slope_has_a_case)
{
    for (int op = 0; op < LT_N_ELEMENTWISE; op++)
        if (lt_op_kind_of((lt_op)op) != LT_KIND_STEP && !(flags_of_cases(lt_op_name((lt_op)op)) & CASE_GRAD))
            LT_TEST_FAIL("no case of %s in cases_elementwise.c has CASE_GRAD", lt_op_name((lt_op)op));
}

LT_TEST(elementwise) { walk(cases_elementwise, check_case); }
LT_TEST(reductions) { walk(cases_reduce, check_case); }
LT_TEST(shapes) { walk(cases_shape, check_case); }
LT_TEST(linear_algebra) { walk(cases_linalg, check_case); }
LT_TEST(networks) { walk(cases_network, check_case); }

/* ---- threads ---- */

/* The same bits with one thread and with two. */
static void check_threads(const op_case *c)
{
    static const lt_dtype types[] = { LT_F64, LT_F32 };
    for (int k = 0; k < 2; k++) {
        trial t;
        if (types[k] != LT_F64 && c->flags & CASE_F64) continue;
        if (trial_begin(&t, c, types[k])) {
            size_t bytes = (size_t)t.run.n_out * lt_dtype_size(t.out_type);
            void *one = malloc(bytes + 1);
            LT_CHECK_OK(lt_pool_shared_resize(1));
            LT_CHECK_OK(run_program(&t, LT_MODE_DEFAULT));
            memcpy(one, t.raw_out, bytes);
            LT_CHECK_OK(lt_pool_shared_resize(2));
            LT_CHECK_OK(run_program(&t, LT_MODE_DEFAULT));
            if (memcmp(one, t.raw_out, bytes)) LT_TEST_FAIL("%s %s: bits differ between one thread and two", c->name, lt_dtype_name(types[k]));
            free(one);
        }
        trial_end(&t);
    }
}

LT_TEST(bits_do_not_depend_on_threads)
{
    walk(cases_elementwise, check_threads);
    walk(cases_reduce, check_threads);
    walk(cases_shape, check_threads);
    walk(cases_linalg, check_threads);
    walk(cases_network, check_threads);
}

/* ---- integers and masks: exact, saturating, the same in every mode ---- */

typedef struct exact_row {
    const char *what;
    lt_node   (*build)(lt_graph *g, lt_node bytes, lt_node words, lt_node longs, lt_node reals, lt_node floats);
    double      want[4];
} exact_row;

#define EXACT(id, expression)                                                                          \
    static lt_node id(lt_graph *g, lt_node u, lt_node i, lt_node l, lt_node r, lt_node f)               \
    { (void)u; (void)i; (void)l; (void)r; (void)f; return (expression); }

EXACT(bytes_up_and_down, lt_shift(g, lt_shift(g, u, 100), -100))
EXACT(bytes_down_and_up, lt_shift(g, lt_shift(g, u, -10), 10))
EXACT(words_up_and_down, lt_shift(g, lt_shift(g, i, 1), -1))
EXACT(longs_chain, lt_sub(g, lt_mul(g, lt_abs(g, l), l), lt_neg(g, l)))
EXACT(longs_clamped, lt_clamp_scalar(g, lt_square(g, l), 2, 10))
EXACT(longs_compared, lt_add(g, lt_lt(g, l, lt_flip(g, l, 0)), lt_ge(g, l, l)))
EXACT(words_summed, lt_cumsum(g, lt_maximum(g, lt_minimum(g, i, lt_full(g, LT_I32, lt_shape1(4), 9)), lt_full(g, LT_I32, lt_shape1(4), -9)), 0))
EXACT(bytes_promoted, lt_sub(g, l, lt_cast(g, u, LT_I64)))
EXACT(mixed_promoted, lt_mul(g, u, f))
EXACT(reals_truncated, lt_cast(g, lt_scale(g, r, 3), LT_I32))
EXACT(reals_saturated, lt_cast(g, lt_scale(g, r, 1e3), LT_U8))
EXACT(small_mask_of_floats, lt_where(g, r, f, lt_neg(g, f)))
EXACT(real_mask_of_longs, lt_where(g, r, l, lt_neg(g, l)))
EXACT(byte_mask, lt_where(g, lt_gt(g, u, lt_full(g, LT_U8, lt_shape1(4), 100)), r, f))

static const exact_row exact_rows[] = {
    { "bytes up and down", bytes_up_and_down, { 155, 3, 155, 0 } }, { "bytes down and up", bytes_down_and_up, { 200, 10, 255, 10 } },
    { "words up and down", words_up_and_down, { 2147483646, -2147483647, 5, -7 } }, { "longs chain", longs_chain, { 2, -6, 12, -20 } },
    { "longs clamped", longs_clamped, { 2, 4, 9, 10 } }, { "longs compared", longs_compared, { 1, 2, 1, 2 } }, { "words summed", words_summed, { 9, 0, 5, -2 } },
    { "bytes promoted", bytes_promoted, { -199, -5, -252, -4 } }, { "mixed promoted", mixed_promoted, { 200, 6, 765, 0 } },
    { "reals truncated", reals_truncated, { 1, 0, 0, -6 } }, { "reals saturated", reals_saturated, { 255, 0, 0, 0 } },
    { "small mask", small_mask_of_floats, { 1, -2, 3, 4 } }, { "real mask of longs", real_mask_of_longs, { 1, 2, 3, -4 } },
    { "byte mask", byte_mask, { 0.5, 2, 1e-300, 4 } },
};

LT_TEST(integers_and_masks_are_exact)
{
    static const lt_mode modes[] = { LT_MODE_EAGER, LT_MODE_DEFAULT, LT_MODE_REDUCE_OVERHEAD };
    static const uint8_t bytes[4] = { 200, 3, 255, 0 };
    static const int32_t words[4] = { 2147483647, -2147483647, 5, -7 };
    static const int64_t longs[4] = { 1, -2, 3, -4 };
    static const double reals[4] = { 0.5, 0, 1e-300, -2 };
    static const float floats[4] = { 1, 2, 3, 4 };
    for (size_t k = 0; k < sizeof exact_rows / sizeof *exact_rows; k++)
        for (int m = 0; m < 3; m++) {
            const exact_row *row = &exact_rows[k];
            lt_graph *g;
            lt_program *p = NULL;
            double out[4];
            LT_CHECK_OK(lt_graph_create(&g));
            lt_node u = lt_input(g, "u", LT_U8, lt_shape1(4)), i = lt_input(g, "i", LT_I32, lt_shape1(4)), l = lt_input(g, "l", LT_I64, lt_shape1(4));
            lt_node r = lt_input(g, "r", LT_F64, lt_shape1(4)), f = lt_input(g, "f", LT_F32, lt_shape1(4)), y = row->build(g, u, i, l, r, f);
            LT_CHECK_OK(lt_program_create(g, &y, 1, &(lt_compile_options){ .size = sizeof(lt_compile_options), .mode = modes[m] }, &p));
            LT_CHECK_OK(lt_program_run(p, (const void *[]){ bytes, words, longs, reals, floats }, (void *[]){ out }));
            for (int64_t e = 0; p && e < 4; e++)
                if (lt_load_double(lt_node_dtype(g, y), out, e) != row->want[e])
                    LT_TEST_FAIL("%s %s: element %lld is %.17g, expected %.17g", row->what, lt_mode_name(modes[m]), (long long)e,
                                 lt_load_double(lt_node_dtype(g, y), out, e), row->want[e]);
            lt_program_destroy(p);
            lt_graph_destroy(g);
        }
}

/* ---- coverage ---- */

/* Derivatives use ops that no public builder makes: they count as met when a gradient has them. */
static void differentiate(const op_case *c)
{
    trial t;
    if (trial_begin(&t, c, LT_F64) && c->flags & CASE_GRAD) {
        lt_node d[CASE_INPUTS], f = lt_sum(t.g, lt_mul(t.g, t.y, t.y));
        LT_CHECK_OK(lt_grad(t.g, f, t.x, c->n_inputs, d));
        for (int id = 0; id < t.g->ir.n_nodes; id++) op_seen[t.g->ir.node[id].op] = true;
    }
    trial_end(&t);
}

LT_TEST(every_op_is_in_some_case)
{
    walk(cases_elementwise, differentiate);
    walk(cases_reduce, differentiate);
    walk(cases_shape, differentiate);
    walk(cases_linalg, differentiate);
    walk(cases_network, differentiate);
    for (int op = 0; op < LT_OP_COUNT; op++)
        if (!op_seen[op]) LT_TEST_FAIL("no case uses %s", lt_op_name((lt_op)op));
}

LT_TEST_MAIN()
