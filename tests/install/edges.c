/* The edges of the public functions, each call in a process of its own: NULL where a result is stored is refused, NULL for nothing at all
   is taken, and what a callback returns is a status or refused. Public headers only. SPDX-License-Identifier: BSD-3-Clause */
#include "lathe/lathe.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static lt_device *cpu;
static lt_graph *graph;
static lt_node x, f;
static lt_tuner *tuner;
static lt_problem *problem;
static double two[2] = { 1, 2 };

static lt_status evaluate(void *ctx, const double *at, const lt_outputs *out)
{
    (void)ctx;
    if (out->f) *out->f = at[0] * at[0];
    if (out->grad_f) out->grad_f[0] = 2 * at[0];
    return LT_OK;
}

static lt_status build(void *ctx, lt_graph *g, const lt_node *in, int n_in, lt_node *out, int n_out)
{
    (void)ctx, (void)n_in, (void)n_out;
    out[0] = lt_square(g, in[0]);
    return LT_OK;
}

static lt_status time_nothing(void *ctx, int candidate, int64_t repeats)
{
    (void)ctx, (void)candidate, (void)repeats;
    return LT_OK;
}

/* What they need beside the pointer. */
static lt_status prepare(void)
{
    lt_status s = lt_device_open("cpu", &cpu);
    if (!s) s = lt_graph_create(&graph);
    if (s) return s;
    x = lt_input(graph, "x", LT_F64, lt_shape1(2));
    f = lt_sum(graph, lt_square(graph, x));
    lt_tuner_options timing = lt_tuner_defaults();
    timing.device = "a test";
    s = lt_tuner_create(&timing, &tuner);
    if (!s) s = lt_problem_from_function(1, 0, 0, evaluate, NULL, &problem);
    return s;
}

/* X(name, call): a call that returns a status, with NULL where it would store. */
#define STATUS_CALLS(X)                                                                                   \
    X(lt_device_open, lt_device_open("cpu", NULL))                                                        \
    X(lt_device_open_auto, lt_device_open("auto", NULL))                                                  \
    X(lt_device_list, lt_device_list(0, NULL))                                                            \
    X(lt_device_describe, lt_device_describe(cpu, NULL))                                                  \
    X(lt_device_memory, lt_device_memory(cpu, NULL))                                                      \
    X(lt_device_bandwidth, lt_device_bandwidth(cpu, 1 << 16, NULL))                                       \
    X(lt_device_transfer_seconds, lt_device_transfer_seconds(cpu, 64, true, 1, NULL, NULL, NULL))          \
    X(lt_graph_create, lt_graph_create(NULL))                                                             \
    X(lt_grad, lt_grad(graph, f, &x, 1, NULL))                                                            \
    X(lt_vjp, lt_vjp(graph, f, lt_scalar(graph, LT_F64, 1), &x, 1, NULL))                                 \
    X(lt_jacobian, lt_jacobian(graph, &f, 1, x, NULL))                                                    \
    X(lt_split, lt_split(graph, x, 2, 0, NULL))                                                           \
    X(lt_program_create, lt_program_create(graph, &f, 1, NULL, NULL))                                     \
    X(lt_function_create, lt_function_create(build, NULL, 1, 1, NULL, NULL))                              \
    X(lt_tuner_create, lt_tuner_create(&(lt_tuner_options){ .size = sizeof(lt_tuner_options), .device = "a test" }, NULL))                  \
    X(lt_tuner_open, lt_tuner_open(cpu, LT_TUNE_ESTIMATE, NULL, NULL))                                    \
    X(lt_tuner_choose, lt_tuner_choose(tuner, "p", 1, (const char *const[]){ "a" }, time_nothing, NULL, NULL)) \
    X(lt_npy_read, lt_npy_read("/dev/null", NULL))                                                        \
    X(lt_npy_info, lt_npy_info("/dev/null", NULL, NULL))                                                  \
    X(lt_npy_map_create, lt_npy_map_create("/nowhere/x.npy", LT_F64, &(lt_shape){ 1, { 2 } }, NULL))      \
    X(lt_npz_read, lt_npz_read("/dev/null", "a", NULL))                                                   \
    X(lt_npz_list, lt_npz_list("/dev/null", NULL))                                                        \
    X(lt_csv_read, lt_csv_read("/dev/null", NULL, NULL))                                                  \
    X(lt_json_create, lt_json_create(0, NULL))                                                            \
    X(lt_json_create_file, lt_json_create_file(stdout, 0, NULL))                                          \
    X(lt_report_create, lt_report_create("title", NULL))                                                  \
    X(lt_progress_create, lt_progress_create("label", NULL, 1, true, NULL))                               \
    X(lt_options_parse, lt_options_parse(lt_gram_options_table(), 0, NULL, &(lt_gram_options){ .size = sizeof(lt_gram_options) }, NULL)) \
    X(lt_options_defaults, lt_options_defaults(lt_gram_options_table(), NULL))                            \
    X(lt_options_get, lt_options_get(lt_gram_options_table(), "method", &(lt_gram_options){ .size = sizeof(lt_gram_options) }, NULL, 9)) \
    X(lt_qp_create, lt_qp_create(2, NULL, NULL))                                                          \
    X(lt_model_read, lt_model_read("/dev/null", NULL))                                                    \
    X(lt_model_parse, lt_model_parse("name", NULL, "", 0, NULL))                                          \
    X(lt_example_find, lt_example_find("A1", NULL))                                                       \
    X(lt_problem_from_function, lt_problem_from_function(1, 0, 0, evaluate, NULL, NULL))                  \
    X(lt_problem_from_graph, lt_problem_from_graph(graph, f, NULL, 0, NULL, 0, NULL))                     \
    X(lt_problem_from_model, lt_problem_from_model(NULL, NULL))                                           \
    X(lt_problem_evaluate, lt_problem_evaluate(problem, two, NULL))                                       \
    X(lt_problem_check, lt_problem_check(problem, two, 0, 1, NULL))                                       \
    X(lt_solve, lt_solve(problem, NULL, NULL))                                                            \
    X(lt_solve_multistart, lt_solve_multistart(problem, NULL, 2, 1, NULL))                                \
    X(lt_solve_options_set, lt_solve_options_set(NULL, "max_iterations", "3"))                                     \
    X(lt_iterate_hessian, lt_iterate_hessian(NULL, NULL))                                                 \
    X(lt_gram_create, lt_gram_create(cpu, &(lt_gram_options){ .size = sizeof(lt_gram_options) }, NULL, NULL))                           \
    X(lt_gram_create_on, lt_gram_create_on(&cpu, 1, &(lt_gram_options){ .size = sizeof(lt_gram_options) }, NULL, NULL))                 \
    X(lt_gram_normalize, lt_gram_normalize(NULL, 2, 0))                                                   \
    X(lt_gram_center, lt_gram_center(two, 1, NULL, NULL))                                                 \
    X(lt_qsvm_create, lt_qsvm_create(cpu, &(lt_qsvm_options){ .size = sizeof(lt_qsvm_options) }, NULL))                                 \
    X(lt_qsvm_load, lt_qsvm_load(cpu, "/dev/null", NULL))                                                 \
    X(lt_qsvm_score, lt_qsvm_score((const uint8_t[]){ 0, 1 }, two, 2, 0, NULL))                           \
    X(lt_qsvm_roc, lt_qsvm_roc((const uint8_t[]){ 0, 1 }, two, 2, NULL, NULL, NULL))                      \
    X(lt_dataset_open, lt_dataset_open("/dev/null", NULL))                                                \
    X(lt_dataset_config_load, lt_dataset_config_load("/dev/null", NULL, NULL))                            \
    X(lt_dataset_config_parse, lt_dataset_config_parse("{}", 2, "text", NULL, NULL))                      \
    X(lt_generate_choose_devices, lt_generate_choose_devices(NULL, NULL))                                 \
    X(lt_generate_make_plan, lt_generate_make_plan(NULL, NULL, NULL))                                     \
    X(lt_replay_create, lt_replay_create(NULL, NULL, NULL))                                               \
    X(lt_operator_weights_create, lt_operator_weights_create(&(lt_operator_spec){ .size = sizeof(lt_operator_spec) }, NULL))             \
    X(lt_rollout_create, lt_rollout_create(&(lt_operator_spec){ .size = sizeof(lt_operator_spec) }, NULL, NULL))                         \
    X(lt_field_sample, lt_field_sample("gaussian_random_field", 8, 1, 0, false, NULL))                    \
    X(lt_draws_uniform_f32, lt_draws_uniform_f32(&(lt_draws){ 0 }, 0, 2, NULL))                           \
    X(lt_draws_uniform_f64, lt_draws_uniform_f64(&(lt_draws){ 0 }, 0, 2, NULL))                           \
    X(lt_draws_normal_f32, lt_draws_normal_f32(&(lt_draws){ 0 }, 0, 2, NULL))                             \
    X(lt_draws_normal_f64, lt_draws_normal_f64(&(lt_draws){ 0 }, 0, 2, NULL))                             \
    X(lt_variables_pack, lt_variables_pack(&(lt_variable){ "x", { 1, { 2 } }, 0 }, 1, (const double *const[]){ two }, NULL)) \
    X(lt_variables_unpack, lt_variables_unpack(&(lt_variable){ "x", { 1, { 2 } }, 0 }, 1, two, NULL))

/* Those that return whether there is something: nothing, when there is nowhere to put it. */
#define TRUTH_CALLS(X)                                                  \
    X(lt_dtype_parse, lt_dtype_parse("f32", NULL))                      \
    X(lt_tune_mode_parse, lt_tune_mode_parse("estimate", NULL))         \
    X(lt_trace_column_parse, lt_trace_column_parse("total", NULL))      \
    X(lt_tuner_lookup, lt_tuner_lookup(tuner, "p", NULL))               \
    X(lt_tuner_entry, lt_tuner_entry(tuner, 0, NULL))                   \
    X(lt_example_get, lt_example_get(0, NULL))                          \
    X(lt_device_library, lt_device_library(0, NULL))

/* ---- callbacks ---- */

enum { NO_STATUS = 99 };
static lt_status wrong_function(void *ctx, const double *at, const lt_outputs *out) { return (void)ctx, (void)at, (void)out, (lt_status)NO_STATUS; }
static lt_status wrong_builder(void *ctx, lt_graph *g, const lt_node *in, int n_in, lt_node *out, int n_out)
{
    return (void)ctx, (void)g, (void)in, (void)n_in, (void)out, (void)n_out, (lt_status)-1;
}
static lt_status wrong_sink(void *ctx, int64_t t, const float *states, const int64_t *failed) { return (void)ctx, (void)t, (void)states, (void)failed, (lt_status)NO_STATUS; }

static lt_status evaluate_wrong(bool whole_run)
{
    lt_problem *p = NULL;
    lt_solution *solution = NULL;
    double value;
    lt_status s = lt_problem_from_function(1, 0, 0, wrong_function, NULL, &p);
    return s ? s : whole_run ? lt_solve(p, NULL, &solution) : lt_problem_evaluate(p, two, &(lt_outputs){ .f = &value });
}

static lt_status build_wrong(void)
{
    lt_function *function = NULL;
    double result[2];
    const lt_tensor in = { LT_F64, lt_shape1(2), two }, out = { LT_F64, lt_shape1(2), result };
    lt_status s = lt_function_create(wrong_builder, NULL, 1, 1, NULL, &function);
    return s ? s : lt_function_call(function, &in, &out);
}

static lt_status roll_wrong(void)
{
    enum { GRID = 16 };
    static float field[LT_FIELD_CHANNELS * GRID * GRID];
    lt_operator_spec spec = lt_operator_defaults(LT_OPERATOR_CNN);
    lt_rollout_options opt = lt_rollout_defaults();
    lt_operator_weights *weights = NULL;
    lt_rollout *rollout = NULL;
    lt_rollout_result result = { .size = sizeof result };
    spec.grid = GRID;
    spec.base_channels = 8;
    opt.realizations = opt.steps = 1;
    lt_status s = lt_operator_weights_create(&spec, &weights);
    if (!s) s = lt_operator_weights_draw(weights, 1, 0);
    if (!s) s = lt_rollout_create(&spec, &opt, &rollout);
    if (!s) s = lt_rollout_set_operator(rollout, &spec, weights);
    return s ? s : lt_rollout_run(rollout, field, -1, wrong_sink, NULL, &result);
}

#define CALLBACKS(X)                           \
    X(evaluate_wrong, evaluate_wrong(false))   \
    X(solve_wrong, evaluate_wrong(true))       \
    X(build_wrong, build_wrong())              \
    X(roll_wrong, roll_wrong())

/* ---- nothing at all ---- */

/* An input and an output without elements. */
static lt_status run_on_nothing(void)
{
    lt_graph *g = NULL;
    lt_program *p = NULL;
    lt_status s = lt_graph_create(&g);
    if (s) return s;
    lt_node none = lt_input(g, "none", LT_F64, lt_shape1(0)), outputs[2] = { lt_square(g, none), lt_sum(g, none) };
    double sum = 1;
    s = lt_program_create(g, outputs, 2, NULL, &p);
    if (!s) s = lt_program_run(p, (const void *const[]){ NULL }, (void *const[]){ NULL, &sum });
    return s ? s : sum == 0 ? LT_OK : LT_ERR_MISMATCH;
}

static lt_status declare_nothing(void)
{
    lt_problem *p = NULL;
    lt_status s = lt_problem_from_function(1, 2, 0, evaluate, NULL, &p);
    return s ? s : lt_problem_declare_sparse(p, LT_CONSTRAINT_INEQUALITY, (const int64_t[]){ 0, 0, 0 }, NULL);
}

static lt_status parse_nothing(void)
{
    lt_dataset_config *c = NULL;
    lt_status s = lt_dataset_config_parse(NULL, 0, "nothing", NULL, &c); /* an empty configuration: refused for what it lacks */
    return s == LT_ERR_FORMAT || s == LT_ERR_ARGUMENT || s == LT_ERR_UNSUPPORTED ? LT_OK : s;
}

#define NOTHINGS(X)                                                                                          \
    X(run_on_nothing, run_on_nothing())                                                                      \
    X(declare_nothing, declare_nothing())                                                                    \
    X(parse_nothing, parse_nothing())                                                                        \
    X(draw_nothing, lt_draws_normal_f64(&(lt_draws){ 0 }, 0, 0, NULL))                                       \
    X(constant_of_nothing, lt_is_none(lt_constant(graph, LT_F64, lt_shape1(0), NULL)))                       \
    X(permute_nothing, lt_is_none(lt_permute(graph, f, NULL)))                                               \
    X(pack_nothing, lt_variables_pack(&(lt_variable){ "x", { 1, { 0 } }, 0 }, 1, (const double *const[]){ NULL }, two)) \
    X(get_no_text, lt_options_get(lt_gram_options_table(), "method", &(lt_gram_options){ .size = sizeof(lt_gram_options) }, NULL, 0))

#define CASE(name, call) static int case_##name(void) { return (int)(call); }
STATUS_CALLS(CASE)
TRUTH_CALLS(CASE)
CALLBACKS(CASE)
NOTHINGS(CASE)

static const struct { const char *name; int (*call)(void); lt_status expected; const char *says; } cases[] = {
#define ROW(name, call) { #name " with NULL to store to", case_##name, LT_ERR_ARGUMENT, "" },
    STATUS_CALLS(ROW)
#undef ROW
#define ROW(name, call) { #name " with NULL to store to", case_##name, LT_OK, "" },
    TRUTH_CALLS(ROW)
#undef ROW
#define ROW(name, call) { #name, case_##name, LT_ERR_ARGUMENT, "which is no status" },
    CALLBACKS(ROW)
#undef ROW
#define ROW(name, call) { #name, case_##name, LT_OK, "" },
    NOTHINGS(ROW)
};

static int in_child(size_t i)
{
    int got = cases[i].call();
    bool good = got == (int)cases[i].expected && (!got || (lt_error_text()[0] && strstr(lt_error_text(), cases[i].says)));
    if (!good) printf("status %d (%s): ", got, lt_error_text());
    return !good;
}

int main(void)
{
    int failed = 0;
    if (prepare()) {
        printf("cannot prepare: %s\n", lt_error_text());
        return 1;
    }
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int status = 0;
        fflush(stdout);
        pid_t child = fork();
        if (child == 0) {
            alarm(10);
            int bad = in_child(i);
            fflush(stdout);
            _exit(bad);
        }
        if (waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0) continue;
        if (WIFSIGNALED(status)) printf("signal %d: ", WTERMSIG(status));
        printf("%s\n", cases[i].name);
        failed++;
    }
    printf("%zu calls, %d failed\n", sizeof cases / sizeof *cases, failed);
    return failed != 0;
}
