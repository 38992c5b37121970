/* The page `lathe train-kernel --report` writes. SPDX-License-Identifier: BSD-3-Clause */
#include "cli/gram/train.h"

#include <math.h>
#include <stdlib.h>

static lt_status put_curve(lt_report *r, const train_job *j)
{
    const double sign = j->o->loss == LT_KERNEL_LOSS_SVM_MARGIN ? 1 : -1;
    double *y = malloc((size_t)(2 * j->n_steps + 1) * sizeof *y);
    if (!y) return cli_fail(LT_ERR_MEMORY, "no memory for the training curve");
    for (int64_t i = 0; i < j->n_steps; i++) {
        y[i] = sign * j->step[i].loss;
        y[j->n_steps + i] = sign * j->step[i].validation;
    }
    lt_series series[2] = { { "training rows", NULL, y, j->n_steps }, { "validation rows", NULL, y + j->n_steps, j->n_steps } };
    lt_report_plot(r, &(lt_plot){ .size = sizeof(lt_plot), .title = sign < 0 ? "Alignment" : "Optimum of the dual", .x_label = "step",
                                  .n_series = j->test.n ? 2 : 1, .series = series });
    free(y);
    return LT_OK;
}

static void put_facts(lt_report *r, const train_job *j)
{
    const double sign = j->o->loss == LT_KERNEL_LOSS_SVM_MARGIN ? 1 : -1;
    char text[7][128];
    const char *names[7] = { "rows", "circuit", "loss", "training rows, before and after", "validation rows, before and after", "work", "time" }, *values[7];
    lt_circuit_info c = lt_circuit_describe(j->circuit);
    snprintf(text[0], sizeof text[0], "%lld to train on, %lld to validate on, %d classes", (long long)j->rows.n, (long long)j->test.n, j->n_classes);
    snprintf(text[1], sizeof text[1], "%.60s: %lld qubits, %lld gates, %lld weights", j->o->map ? j->o->map : j->o->circuit, (long long)c.n_qubits,
             (long long)c.n_gates, (long long)c.n_weights);
    snprintf(text[2], sizeof text[2], "%s", lt_kernel_loss_name((lt_kernel_loss)j->o->loss));
    snprintf(text[3], sizeof text[3], "%.6f, %.6f", sign * j->start[0], sign * j->end[0]);
    if (j->test.n) snprintf(text[4], sizeof text[4], "%.6f, %.6f", sign * j->start[1], sign * j->end[1]);
    else snprintf(text[4], sizeof text[4], "none");
    snprintf(text[5], sizeof text[5], "%lld steps, %lld kernels, %lld gradients", (long long)j->n_steps, (long long)j->evaluations, (long long)j->gradients);
    snprintf(text[6], sizeof text[6], "%s", cli_seconds(j->seconds).s);
    for (int k = 0; k < 7; k++) values[k] = text[k];
    lt_report_facts(r, 7, names, values);
}

lt_status train_report(train_job *j)
{
    lt_report *r;
    CLI_TRY(lt_report_create("Training of a quantum kernel", &r));
    put_facts(r, j);
    lt_status s = put_curve(r, j);
    lt_report_histogram(r, "Trained weights", "weight", j->n_weights, j->w, 0);
    cli_report_machine(j->c, r);
    if (!s) s = lt_report_write(r, j->o->report);
    lt_report_destroy(r);
    return s;
}
