/* The graphs the benchmarks and the demo run, with their inputs and outputs.
   SPDX-License-Identifier: BSD-3-Clause */
#ifndef LATHE_CLI_SYSTEM_CASES_H
#define LATHE_CLI_SYSTEM_CASES_H

#include "cli/frame/cli.h"

enum { CASE_MAX_IO = 24 };

/* A graph under construction: what goes in (with the spread of its random values), what comes out. */
typedef struct case_graph {
    lt_graph *g;
    int       n_inputs, n_outputs;
    lt_node   input[CASE_MAX_IO], output[CASE_MAX_IO];
    double    spread[CASE_MAX_IO];
} case_graph;

typedef struct case_row {
    const char *name;              /* "rosenbrock" */
    const char *what;              /* one phrase for tables */
    void      (*build)(case_graph *c, bool quick); /* mistakes stay in the graph until it is compiled */
} case_row;

extern const case_row case_rosenbrock, case_chain, case_chain_f32, case_launches, case_sum_exp, case_matmul, case_matmul_f64, case_conv, case_conv_gelu,
    case_lenet_f32, case_lenet_f64, case_jacobian, case_softmax, case_group_norm;

/* Adds an input whose random values lie in -spread..spread (class labels below spread for i64). */
lt_node case_input(case_graph *c, const char *name, lt_dtype t, lt_shape s, double spread);

/* A compiled case with memory for all it reads and writes. */
typedef struct case_run {
    lt_program *program;
    int   n_inputs, n_outputs;
    void *input[CASE_MAX_IO], *output[CASE_MAX_IO];
    int64_t input_count[CASE_MAX_IO]; /* elements */
    lt_program_info info;
} case_run;

/* Builds, compiles and fills the inputs from the seed (uniform within the spread). */
lt_status case_open(const case_row *row, bool quick, const lt_compile_options *opt, uint64_t seed, case_run *out);
void      case_close(case_run *r);   /* a zeroed one is allowed */
lt_status case_call(void *run);      /* one run; a cli_timed */

/* Times the run: whole calls on the CPU; on a device with memory of its own the kernels alone, by its clock. */
lt_status case_measure(case_run *r, lt_device *dev, double budget, cli_timing *out);

/* A graph of n elementwise and reduction nodes; *seconds is building plus compiling it. */
lt_status case_compile_large(int n_nodes, const lt_compile_options *opt, double *seconds);

#endif
