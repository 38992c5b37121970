/* Lead outputs: had alone first, the others later from what is there, with the bits of a whole run.
   SPDX-License-Identifier: BSD-3-Clause */
#include "base/status.h"
#include "graph/program/program.h"
#include "lathe/rng.h"
#include "lathe/trace.h"
#include "lt_test.h"

enum { ROWS = 40, COLUMNS = 300, N_OUT = 4 };

static double matrix[ROWS * COLUMNS], x[COLUMNS];
static double whole[N_OUT][COLUMNS], parts[N_OUT][COLUMNS];

static void fill(double *to, int64_t n, uint32_t stream)
{
    lt_draws d = lt_draws_make(2, "test", stream, 0, 0);
    LT_CHECK_OK(lt_draws_normal_f64(&d, 0, n, to));
}

/* f = |A x|_1 and c = x'x - 1 lead; their gradients follow. The gradient of c reads x alone, so it may be
   fused with c. */
static lt_program *make(lt_mode mode, int lead)
{
    lt_graph *g;
    lt_program *p = NULL;
    lt_compile_options opt = { .size = sizeof opt, .mode = mode, .lead_outputs = lead };
    LT_CHECK_OK(lt_graph_create(&g));
    lt_node in = lt_input(g, "x", LT_F64, lt_shape1(COLUMNS));
    lt_node a = lt_constant(g, LT_F64, lt_shape2(ROWS, COLUMNS), matrix);
    lt_node out[N_OUT] = { lt_norm1(g, lt_matmul(g, a, in)), lt_shift(g, lt_dot(g, in, in), -1) };
    for (int i = 0; i < 2; i++) LT_CHECK_OK(lt_grad(g, out[i], &in, 1, &out[2 + i]));
    LT_CHECK_OK(lt_program_create(g, out, N_OUT, &opt, &p));
    lt_graph_destroy(g);
    return p;
}

static void run_whole(lt_program *p)
{
    LT_CHECK_OK(lt_program_run(p, (const void *[]){ x }, (void *[]){ whole[0], whole[1], whole[2], whole[3] }));
}

static void run_in_parts(lt_program *p)
{
    void *out[N_OUT] = { parts[0], parts[1], lt_program_output_leads(p, 2) ? parts[2] : NULL, lt_program_output_leads(p, 3) ? parts[3] : NULL };
    memset(parts, 0, sizeof parts);
    LT_CHECK_OK(lt_program_run_lead(p, (const void *[]){ x }, out));
    LT_CHECK(parts[0][0] == whole[0][0] && parts[1][0] == whole[1][0]);
    out[2] = parts[2];
    out[3] = parts[3];
    LT_CHECK_OK(lt_program_run_rest(p, (const void *[]){ x }, out));
    LT_CHECK(memcmp(parts[2], whole[2], sizeof whole[2]) == 0 && memcmp(parts[3], whole[3], sizeof whole[3]) == 0);
}

/* Every kernel stands in the trace once per run, whole or in parts. */
LT_TEST(a_trace_shows_each_kernel_once_per_run)
{
    fill(matrix, ROWS * COLUMNS, 0);
    for (int mode = 0; mode < LT_MODE_MAX_AUTOTUNE; mode++) {
        lt_program *p = make((lt_mode)mode, 2);
        lt_trace_row row[64];
        LT_CHECK_OK(lt_trace_start(NULL));
        run_whole(p);
        run_in_parts(p);
        lt_trace_stop();
        int64_t n = lt_trace_rows(LT_TRACE_NAME, row, (int64_t)LT_LEN(row)), kernels = 0, programs = 0;
        LT_CHECK(n > 1 && n <= (int64_t)LT_LEN(row));
        for (int64_t i = 0; i < n; i++) *(strcmp(row[i].name, "program") ? &kernels : &programs) += row[i].calls;
        LT_CHECK_EQ_INT(programs, 3);
        LT_CHECK_EQ_INT(kernels, 2 * lt_program_get_info(p).n_kernels);
        lt_program_destroy(p);
    }
    lt_trace_clear();
}

LT_TEST(parts_have_the_bits_of_a_whole_run)
{
    fill(matrix, ROWS * COLUMNS, 0);
    for (int mode = 0; mode < LT_MODE_MAX_AUTOTUNE; mode++) {
        lt_program *p = make((lt_mode)mode, 2);
        lt_program_info info = lt_program_get_info(p);
        LT_CHECK(info.n_lead > 0 && info.n_lead < info.n_kernels && info.lead_bytes < info.bytes && info.lead_flops <= info.flops);
        LT_CHECK(lt_program_output_leads(p, 0) && lt_program_output_leads(p, 1) && !lt_program_output_leads(p, 2));
        LT_CHECK(!lt_program_output_leads(p, -1) && !lt_program_output_leads(p, N_OUT));
        for (uint32_t round = 0; round < 3; round++) {
            fill(x, COLUMNS, 1 + round);
            run_whole(p);
            run_in_parts(p);
        }
        lt_program_destroy(p);
    }
}

LT_TEST(the_rest_must_follow_its_lead)
{
    lt_program *p = make(LT_MODE_DEFAULT, 2), *plain = make(LT_MODE_DEFAULT, 0);
    void *out[N_OUT] = { parts[0], parts[1], parts[2], parts[3] };
    LT_CHECK_FAILS(lt_program_run_rest(p, (const void *[]){ x }, out), LT_ERR_ARGUMENT, "after lt_program_run_lead");
    LT_CHECK_OK(lt_program_run_lead(p, (const void *[]){ x }, out));
    run_whole(p); /* overwrites what the lead left */
    LT_CHECK_FAILS(lt_program_run_rest(p, (const void *[]){ x }, out), LT_ERR_ARGUMENT, "after lt_program_run_lead");
    LT_CHECK_OK(lt_program_run_lead(p, (const void *[]){ x }, out));
    LT_CHECK_OK(lt_program_run_rest(p, (const void *[]){ x }, out));
    LT_CHECK_FAILS(lt_program_run_rest(p, (const void *[]){ x }, out), LT_ERR_ARGUMENT, "after lt_program_run_lead");
    out[1] = NULL;
    LT_CHECK_FAILS(lt_program_run_lead(p, (const void *[]){ x }, out), LT_ERR_ARGUMENT, "NULL");
    out[1] = parts[1];
    LT_CHECK_FAILS(lt_program_run_lead(plain, (const void *[]){ x }, out), LT_ERR_UNSUPPORTED, "all at once");
    LT_CHECK_FAILS(lt_program_run_lead(NULL, NULL, out), LT_ERR_ARGUMENT, "NULL");
    LT_CHECK_FAILS(lt_program_run_rest(p, NULL, NULL), LT_ERR_ARGUMENT, "NULL");
    lt_program_destroy(p);
    lt_program_destroy(plain);
}

LT_TEST(more_lead_outputs_than_outputs_are_refused)
{
    lt_graph *g;
    lt_program *p;
    LT_CHECK_OK(lt_graph_create(&g));
    lt_node f = lt_sum(g, lt_input(g, "x", LT_F64, lt_shape1(COLUMNS)));
    LT_CHECK_FAILS(lt_program_create(g, &f, 1, &(lt_compile_options){ .size = sizeof(lt_compile_options), .lead_outputs = 2 }, &p), LT_ERR_ARGUMENT, "lead_outputs");
    LT_CHECK_FAILS(lt_program_create(g, &f, 1, &(lt_compile_options){ .size = sizeof(lt_compile_options), .lead_outputs = -1 }, &p), LT_ERR_ARGUMENT, "lead_outputs");
    lt_graph_destroy(g);
}

LT_TEST_MAIN()
