/* lathe demo: a small problem for each engine, graphs for the compiler under them, and a page about it all.
   SPDX-License-Identifier: BSD-3-Clause */
#include "cli/system/cases.h"
#include "cli/system/demo.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct demo_options {
    cli_common  common;
    const char *report;
} demo_options;

static const lt_option rows[] = {
    LT_OPTION_PATH(demo_options, report, "report", NULL, "FILE.html", "write a page with what was done"),
};
static const lt_option_group groups[] = CLI_GROUPS(rows);
static const lt_option_table table = {
    .program = "lathe demo", .summary = "Run a small problem through each engine and the compiler under them",
    .groups = groups, .n_groups = CLI_LEN(groups), .example = "lathe demo --report demo-report.html",
};

/* The plan of a program as text; the caller frees it; NULL when it cannot be had. */
static char *plan_text(const lt_program *p)
{
    char *text = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&text, &n);
    if (!f) return NULL;
    lt_status s = lt_program_dump(p, f);
    if (fclose(f) || s) {
        free(text);
        return NULL;
    }
    return text;
}

/* ---- 1: a nonsmooth function ---------------------------------------------------------------- */

enum { STEPS = 4000 };

/* Steepest descent with shrinking steps: enough to show value and gradient at work, not a solver. */
static lt_status descend(demo *d, case_run *run, double *best_at)
{
    double *x = run->input[0], *f = run->output[0], *g = run->output[1];
    static double value[STEPS], best[STEPS], path_x[STEPS], path_y[STEPS];
    x[0] = 0.1;
    x[1] = 0.1;
    double lowest = INFINITY, start = cli_now();
    for (int k = 0; k < STEPS; k++) {
        CLI_TRY(case_call(run));
        value[k] = f[0];
        path_x[k] = x[0];
        path_y[k] = x[1];
        if (f[0] < lowest) lowest = f[0], best_at[0] = x[0], best_at[1] = x[1];
        best[k] = lowest;
        double length = hypot(g[0], g[1]), step = 0.3 / pow(k + 1, 0.6);
        if (length == 0) break;
        x[0] -= step * g[0] / length;
        x[1] -= step * g[1] / length;
    }
    double seconds = cli_now() - start;
    DEMO_SAY(d, "8 |x0^2 - x1| + (1 - x0)^2 from (0.1, 0.1): after %d steps of steepest descent the best value is %.2g at (%.3f, %.3f); "
            "the minimum is 0 at (1, 1), and steepest descent creeps along the kink towards it. Value and gradient took %s a step.", STEPS, lowest,
            best_at[0], best_at[1], cli_seconds(seconds / STEPS).s);
    if (d->page) {
        lt_series s[] = { { "value", NULL, value, STEPS }, { "best so far", NULL, best, STEPS } };
        lt_report_plot(d->page, &(lt_plot){ .size = sizeof(lt_plot), .title = "Descent", .x_label = "step", .y_label = "f", .y_log = true, .n_series = 2, .series = s });
        lt_series path[] = { { "iterates", path_x, path_y, STEPS } };
        lt_report_plot(d->page, &(lt_plot){ .size = sizeof(lt_plot), .title = "The path, drawn into the kink x1 = x0^2", .x_label = "x0",
                                            .y_label = "x1", .n_series = 1, .series = path });
    }
    if (d->c->json) {
        lt_json_key(d->c->json, "rosenbrock");
        lt_json_object_begin(d->c->json);
        lt_json_field_int(d->c->json, "steps", STEPS);
        lt_json_field_double(d->c->json, "best_value", lowest);
        lt_json_field_double(d->c->json, "seconds_per_step", seconds / STEPS);
        lt_json_object_end(d->c->json);
    }
    return LT_OK;
}

static lt_status demo_rosenbrock(demo *d)
{
    case_run run;
    lt_compile_options opt = { .size = sizeof opt, .mode = LT_MODE_REDUCE_OVERHEAD, .device = d->c->device };
    demo_heading(d, "A nonsmooth function");
    CLI_TRY(case_open(&case_rosenbrock, true, &opt, 0, &run));
    double best[2] = { 0 };
    lt_status s = descend(d, &run, best);
    char *plan = s || !d->page ? NULL : plan_text(run.program);
    if (plan) lt_report_listing(d->page, plan);
    free(plan);
    case_close(&run);
    return s;
}

/* ---- 2: a network ------------------------------------------------------------------------------ */

enum { N_PARAMETERS = 10, EPOCHS = 120 };

/* Gradient descent with momentum on all ten parameter tensors. */
static lt_status train(case_run *run, double *loss, double *seconds)
{
    float *velocity[N_PARAMETERS] = { NULL };
    lt_status s = LT_OK;
    for (int i = 0; i < N_PARAMETERS; i++)
        if (!(velocity[i] = calloc((size_t)run->input_count[i], sizeof(float)))) s = cli_fail(LT_ERR_MEMORY, "out of memory for the momentum");
    *seconds = 0;
    for (int k = 0; k < EPOCHS && !s; k++) {
        double start = cli_now();
        s = case_call(run);
        *seconds += (cli_now() - start) / EPOCHS;
        loss[k] = *(float *)run->output[0];
        for (int i = 0; i < N_PARAMETERS && !s; i++) {
            float *w = run->input[i];
            const float *g = run->output[i + 1];
            for (int64_t j = 0; j < run->input_count[i]; j++) {
                velocity[i][j] = 0.9f * velocity[i][j] - 0.03f * g[j];
                w[j] += velocity[i][j];
            }
        }
        if (cli_interrupted()) s = cli_stopped();
    }
    for (int i = 0; i < N_PARAMETERS; i++) free(velocity[i]);
    return s;
}

static lt_status demo_lenet(demo *d)
{
    case_run run;
    lt_compile_options opt = { .size = sizeof opt, .mode = LT_MODE_REDUCE_OVERHEAD, .device = d->c->device };
    demo_heading(d, "A convolutional network");
    CLI_TRY(case_open(&case_lenet_f32, true, &opt, (uint64_t)d->c->common.seed, &run));
    double loss[EPOCHS], seconds;
    lt_status s = train(&run, loss, &seconds);
    if (!s) {
        DEMO_SAY(d, "LeNet-5 learns 32 random images by heart: cross-entropy %.3f before, %.2g after %d steps. Loss and the gradient of all 62006 "
                "parameters took %s a step, in %d kernels with %s of memory.", loss[0], loss[EPOCHS - 1], EPOCHS, cli_seconds(seconds).s,
             run.info.n_kernels, cli_bytes((double)run.info.arena_bytes).s);
        lt_series curve = { "cross-entropy", NULL, loss, EPOCHS };
        if (d->page)
            lt_report_plot(d->page, &(lt_plot){ .size = sizeof(lt_plot), .title = "Training", .x_label = "step", .y_label = "loss", .y_log = true,
                                                .n_series = 1, .series = &curve });
    }
    if (!s && d->c->json) {
        lt_json_key(d->c->json, "lenet");
        lt_json_object_begin(d->c->json);
        lt_json_field_double(d->c->json, "loss_before", loss[0]);
        lt_json_field_double(d->c->json, "loss_after", loss[EPOCHS - 1]);
        lt_json_field_double(d->c->json, "seconds_per_step", seconds);
        lt_json_field_int(d->c->json, "kernels", run.info.n_kernels);
        lt_json_object_end(d->c->json);
    }
    case_close(&run);
    return s;
}

/* ---- 3: fusion ----------------------------------------------------------------------------------- */

static lt_status demo_fusion(demo *d)
{
    static const lt_mode mode[] = { LT_MODE_REDUCE_OVERHEAD, LT_MODE_EAGER };
    cli_timing t[2];
    lt_program_info info[2];
    demo_heading(d, "A chain of elementwise operations");
    for (int i = 0; i < 2; i++) {
        case_run run;
        lt_compile_options opt = { .size = sizeof opt, .mode = mode[i], .device = d->c->device };
        CLI_TRY(case_open(&case_chain, true, &opt, (uint64_t)d->c->common.seed, &run));
        lt_status s = cli_time(case_call, &run, 0.2, &t[i]);
        info[i] = run.info;
        case_close(&run);
        CLI_TRY(s);
    }
    DEMO_SAY(d, "Eight operations on a million doubles: %s fused into %d kernel%s, %s one by one in %d kernels: %.1f times as fast.",
         cli_seconds(t[0].median).s, info[0].n_kernels, info[0].n_kernels == 1 ? "" : "s", cli_seconds(t[1].median).s, info[1].n_kernels,
         t[1].median / t[0].median);
    const char *label[] = { "fused", "one by one" };
    double ms[] = { t[0].median * 1e3, t[1].median * 1e3 };
    if (d->page) lt_report_bars(d->page, "Time of one run", "ms", 2, label, ms);
    if (d->c->json) {
        lt_json_key(d->c->json, "chain");
        lt_json_object_begin(d->c->json);
        lt_json_field_double(d->c->json, "fused_seconds", t[0].median);
        lt_json_field_double(d->c->json, "eager_seconds", t[1].median);
        lt_json_object_end(d->c->json);
    }
    return LT_OK;
}

static lt_status run(cli_context *c)
{
    static lt_status (*const part[])(demo *) = { demo_optimizer, demo_operators, demo_qkernel, demo_rosenbrock, demo_lenet, demo_fusion };
    const demo_options *o = c->options;
    demo d = { .c = c };
    lt_status s = LT_OK;
    if (o->report) {
        CLI_TRY(lt_report_create("lathe: a first look", &d.page));
        cli_report_machine(c, d.page);
    }
    for (int i = 0; i < CLI_LEN(part) && !s; i++) s = cli_interrupted() ? cli_stopped() : part[i](&d);
    if (!s && o->report) {
        s = lt_report_write(d.page, o->report);
        if (!s && !c->json && !c->common.quiet) printf("\nReport: %s\n", o->report);
        if (!s && c->json) lt_json_field_string(c->json, "report", o->report);
    }
    lt_report_destroy(d.page);
    return s;
}

const cli_command cli_demo = {
    .name = "demo", .options = &table, .options_bytes = sizeof(demo_options), .need = CLI_NEED_CPU, .stops = true, .run = run,
    .description = "Gives each engine a small problem: a nonsmooth function is minimised, a random neural operator is rolled out from a field, and a "
                   "support vector machine is trained on a quantum kernel. Then shows the compiler they stand on: value and gradient of a nonsmooth "
                   "function under steepest descent, a small convolutional network learning a few images, and a fused chain of elementwise operations "
                   "against the same run op by op. With --report it leaves a page with plots, pictures and a compiled plan.",
};
