/* What the parts of `lathe solve` share. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LATHE_CLI_SOLVE_SOLVE_H
#define LATHE_CLI_SOLVE_SOLVE_H

#include "cli/frame/cli.h"

/* A problem with what was made of it. */
typedef struct solve_job {
    cli_context      *c;
    lt_model         *model;
    lt_model_view     view;
    lt_problem       *problem;
    lt_solve_options  opt;
    double            sign;      /* -1 for "maximize": f as the user means it is sign times ours */
} solve_job;

/* The point a user wants: the best feasible one, else the last. */
const lt_solution_point *solve_result(const lt_solution *s);
/* Values of every variable by name; long tensors are shortened. */
void      solve_print_variables(const solve_job *j, const double *x);
/* Where the functions ran and, on a device, what an evaluation moved. */
void      solve_print_device(const lt_solution *s);
/* The record of a run as fields of the open JSON object. */
void      solve_json(const solve_job *j, const lt_solution *s);
/* Device, why there, and the counts of transfers. */
void      solve_json_device(lt_json *json, const lt_solution *s);
/* Multipliers of prescaling and H_final. */
void      solve_json_state(lt_json *json, const lt_solution *s);
/* Residual, multipliers and what they say about constraints, as an object and by name (certificate.c). */
void      solve_json_certificate(const solve_job *j, const lt_solution *s);
/* The same as text: a line on the residual, one for each constraint that counts. */
void      solve_print_certificate(const solve_job *j, const lt_solution *s);
/* What a constraint of a certificate's lists is called: name or line, and element. */
void      solve_constraint_name(const solve_job *j, int64_t number, char *text, size_t size);
/* And as tables of a report. */
void      solve_report_certificate(lt_report *r, const solve_job *j, const lt_solution *s);
/* Many runs (many.c): the rows of --starts and their distribution, as text or JSON, and in a report; all of --sweep. */
lt_status solve_show_starts(const solve_job *j, const lt_runs *runs);
void      solve_report_starts(lt_report *r, const solve_job *j, const lt_runs *runs);
bool      solve_was_interrupted(const lt_runs *runs);
lt_status solve_sweep(solve_job *j, const char *path, const char *text, const char *out, const char *report);
/* --check --json: sizes, the description as text, warnings. */
lt_status solve_json_check(const solve_job *j);
void      solve_json_vector(lt_json *json, const char *key, const double *x, int64_t n); /* NULL: no field */
/* Vectors and tensors as nested lists. */
void      solve_json_tensor(lt_json *json, const lt_shape *shape, const double *x);
/* --out: x.npy holds the packed x, sol.npz every variable by name with f, mu, ci, ce. */
lt_status solve_write(const solve_job *j, const lt_solution *s, const char *path);
/* --report; runs: of --starts, or NULL. */
lt_status solve_report(const solve_job *j, const lt_solution *s, const lt_runs *runs, const char *path);

#endif
