/* The part of `lathe demo` about the three engines: a nonsmooth problem solved, a neural operator rolled
   out, a support vector machine trained on a quantum kernel. SPDX-License-Identifier: BSD-3-Clause */
#include "cli/system/demo.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- The optimizer --------------------------------------------------------------------------- */

static void report_solution(demo *d, const lt_model_view *v, const lt_solution *s)
{
    DEMO_SAY(d, "Total-variation denoising of %lld samples, minimise |x - b|^2 + 0.5 sum |x[i+1] - x[i]|: %lld iterations and %lld evaluations in "
                 "%s to f = %.11g (published: 5.07795525617), %s.", (long long)v->n, (long long)s->iters, (long long)s->fn_evals,
              cli_seconds(s->time_total).s, s->best.f, lt_termination_text(s->termination_code));
    double *f = d->page ? malloc((size_t)s->n_history * sizeof *f) : NULL;
    for (int64_t i = 0; f && i < s->n_history; i++) f[i] = s->history[i].f - s->best.f;
    if (f) {
        lt_report_plot(d->page, &(lt_plot){ .size = sizeof(lt_plot), .title = "Distance to the best value", .x_label = "iteration", .y_label = "f - best f", .y_log = true,
                                            .n_series = 1, .series = &(lt_series){ NULL, NULL, f, s->n_history } });
        lt_report_plot(d->page, &(lt_plot){ .size = sizeof(lt_plot), .title = "The denoised signal: steps, as total variation wants them", .x_label = "sample",
                                            .n_series = 1, .series = &(lt_series){ NULL, NULL, s->best.x, v->n } });
    }
    free(f);
    if (!d->c->json) return;
    lt_json_key(d->c->json, "optimizer");
    lt_json_object_begin(d->c->json);
    lt_json_field_double(d->c->json, "f", s->best.f);
    lt_json_field_int(d->c->json, "iterations", s->iters);
    lt_json_field_double(d->c->json, "seconds", s->time_total);
    lt_json_object_end(d->c->json);
}

lt_status demo_optimizer(demo *d)
{
    lt_model *m = NULL;
    lt_problem *p = NULL;
    lt_solution *solution = NULL;
    demo_heading(d, "A nonsmooth problem, solved");
    lt_status s = lt_model_read("example:C2", &m);
    if (!s) s = lt_problem_from_model(m, &p);
    if (!s) s = lt_solve(p, NULL, &solution);
    if (!s) {
        lt_model_view v = lt_model_get(m);
        report_solution(d, &v, solution);
    }
    lt_solution_destroy(solution);
    lt_problem_destroy(p);
    lt_model_destroy(m);
    return s;
}

/* ---- A rollout ------------------------------------------------------------------------------- */

enum { GRID = 64, PLANE = GRID * GRID, FIELD = LT_FIELD_CHANNELS * PLANE, REALIZATIONS = 3, STEPS = 32, SHOWN = 3 };

typedef struct path {
    double energy[REALIZATIONS][STEPS]; /* mean square of all channels */
    double plane[SHOWN][PLANE];         /* the first channel of the first realization: start, middle, end */
} path;

static lt_status keep_step(void *ctx, int64_t t, const float *states, const int64_t *failed)
{
    path *p = ctx;
    (void)failed;
    for (int m = 0; m < REALIZATIONS; m++) {
        double sum = 0;
        for (int i = 0; i < FIELD; i++) sum += (double)states[m * FIELD + i] * states[m * FIELD + i];
        p->energy[m][t] = sum / FIELD;
    }
    if (t % (STEPS / 2) && t != STEPS - 1) return LT_OK;
    for (int i = 0; i < PLANE; i++) p->plane[t == 0 ? 0 : t == STEPS - 1 ? 2 : 1][i] = states[i];
    return cli_interrupted() ? cli_stopped() : LT_OK;
}

static void report_rollout(demo *d, const lt_operator_spec *spec, const lt_rollout_info *info, const lt_rollout_result *r, const path *p)
{
    static const char *const title[SHOWN] = { "The field it starts from", "Half way", "The last state" };
    static const char *const name[REALIZATIONS] = { "realization 0", "realization 1", "realization 2" };
    DEMO_SAY(d, "A random convolutional network of %lld parameters moves a %d x %d field %d steps on, %d times with different noise: %s, %.1f GFLOP/s "
                 "by %s. Seed and number of the operator give the same states again, bit for bit.", (long long)lt_operator_parameter_count(spec), GRID,
              GRID, STEPS - 1, REALIZATIONS, cli_seconds(r->seconds).s, info->flops * (STEPS - 1) / r->seconds * 1e-9, info->arithmetic);
    if (d->page) {
        lt_series s[REALIZATIONS];
        for (int m = 0; m < REALIZATIONS; m++) s[m] = (lt_series){ name[m], NULL, p->energy[m], STEPS };
        lt_report_plot(d->page, &(lt_plot){ .size = sizeof(lt_plot), .title = "Energy", .x_label = "step", .y_label = "mean square", .n_series = REALIZATIONS, .series = s });
        for (int i = 0; i < SHOWN; i++)
            lt_report_heatmap(d->page, &(lt_heatmap){ .size = sizeof(lt_heatmap), .title = title[i], .rows = GRID, .columns = GRID, .values = p->plane[i], .diverging = true });
    }
    if (!d->c->json) return;
    lt_json_key(d->c->json, "operators");
    lt_json_object_begin(d->c->json);
    lt_json_field_int(d->c->json, "steps", STEPS);
    lt_json_field_int(d->c->json, "realizations", REALIZATIONS);
    lt_json_field_double(d->c->json, "last_energy", p->energy[0][STEPS - 1]);
    lt_json_field_double(d->c->json, "seconds", r->seconds);
    lt_json_object_end(d->c->json);
}

lt_status demo_operators(demo *d)
{
    static float field[FIELD];
    lt_operator_spec spec = lt_operator_defaults(LT_OPERATOR_CNN);
    lt_rollout_options opt = lt_rollout_defaults();
    lt_operator_weights *weights = NULL;
    lt_rollout *rollout = NULL;
    lt_rollout_result result = { .size = sizeof result };
    demo_heading(d, "A neural operator, rolled out");
    path *p = calloc(1, sizeof *p);
    if (!p) return cli_fail(LT_ERR_MEMORY, "out of memory for the states of a rollout");
    spec.grid = GRID;
    spec.base_channels = 16;
    spec.circular_padding = true; /* a field without edges */
    spec.policy = LT_POLICY_CONVEX;
    opt.realizations = REALIZATIONS;
    opt.steps = STEPS;
    opt.device = d->c->device;
    uint64_t seed = (uint64_t)d->c->common.seed;
    lt_status s = lt_field_sample("multiscale_grf", GRID, seed, 0, true, field);
    if (!s) s = lt_operator_weights_create(&spec, &weights);
    if (!s) s = lt_operator_weights_draw(weights, seed, 0);
    if (!s) s = lt_rollout_create(&spec, &opt, &rollout);
    if (!s) s = lt_rollout_set_operator(rollout, &spec, weights);
    if (!s) s = lt_rollout_run(rollout, field, -1, keep_step, p, &result);
    if (!s) {
        lt_rollout_info info = lt_rollout_get_info(rollout);
        report_rollout(d, &spec, &info, &result, p);
    }
    lt_rollout_destroy(rollout);
    lt_operator_weights_destroy(weights);
    free(p);
    return s;
}

/* ---- A quantum kernel --------------------------------------------------------------------------- */

enum { HALF = LT_QSVM_IMAGES / 2, QUBITS = 8, DRAWN = 100 };

/* Images of class 0 before those of class 1, so that what the kernel separates shows as blocks. */
static lt_status draw_kernel(demo *d, const lt_qsvm *q, const uint8_t *y)
{
    int64_t n, row[DRAWN];
    const double *K = lt_qsvm_kernel(q, &n);
    int filled = 0;
    for (int class = 0; class < 2; class++)
        for (int64_t i = 0, taken = 0; i < n && taken < DRAWN / 2; i++)
            if (y[i] == class) row[filled++] = i, taken++;
    double *v = malloc((size_t)filled * (size_t)filled * sizeof *v);
    if (!v) return cli_fail(LT_ERR_MEMORY, "out of memory for a picture of the kernel");
    for (int i = 0; i < filled; i++)
        for (int j = 0; j < filled; j++) v[i * filled + j] = K[row[i] * n + row[j]];
    lt_report_heatmap(d->page, &(lt_heatmap){ .size = sizeof(lt_heatmap), .title = "The kernel of fifty images of each class", .x_label = "image", .y_label = "image",
                                              .rows = filled, .columns = filled, .values = v });
    free(v);
    return LT_OK;
}

static void report_machine(demo *d, const lt_qsvm_info *info, const lt_qsvm_scores *test, double seconds)
{
    const lt_qsvm_fitted *m = &info->machine[LT_QSVM_QUANTUM];
    DEMO_SAY(d, "Whole rings against open ones, 16 x 16 pixels with noise: %d qubits, kernel of %d images, C = %.3g by cross-validation and fit in %s. "
                 "Of %d images not seen before %.1f %% are told apart rightly, F1 = %.3f.", QUBITS, HALF, m->C, cli_seconds(seconds).s, HALF,
              100 * test->accuracy, test->f1);
    if (!d->c->json) return;
    lt_json_key(d->c->json, "qkernel");
    lt_json_object_begin(d->c->json);
    lt_json_field_int(d->c->json, "qubits", QUBITS);
    lt_json_field_double(d->c->json, "accuracy", test->accuracy);
    lt_json_field_double(d->c->json, "f1", test->f1);
    lt_json_field_double(d->c->json, "seconds", seconds);
    lt_json_object_end(d->c->json);
}

lt_status demo_qkernel(demo *d)
{
    static double x[LT_QSVM_IMAGES * LT_QSVM_PIXELS], decision[HALF];
    static uint8_t y[LT_QSVM_IMAGES];
    lt_rows train = { x, LT_F64, HALF, LT_QSVM_PIXELS, 0 }, test = { x + HALF * LT_QSVM_PIXELS, LT_F64, HALF, LT_QSVM_PIXELS, 0 };
    lt_qsvm_options opt = lt_qsvm_defaults();
    lt_gram_options gram = lt_gram_defaults();
    lt_qsvm_scores scores;
    lt_qsvm *q = NULL;
    demo_heading(d, "A quantum kernel, and the machine on it");
    lt_qsvm_synthetic(true, x, y);
    opt.n_qubits = QUBITS;
    opt.gram = &gram;
    gram.re_embed_between_layers = true;
    gram.angle_scale = 2;
    double start = cli_now();
    lt_status s = lt_qsvm_create(d->c->device, &opt, &q);
    if (!s) s = lt_qsvm_fit(q, &train, y);
    double seconds = cli_now() - start;
    if (!s) s = lt_qsvm_decide(q, LT_QSVM_QUANTUM, &test, decision);
    if (!s) s = lt_qsvm_score(y + HALF, decision, HALF, lt_qsvm_get_info(q)->machine[LT_QSVM_QUANTUM].threshold, &scores);
    if (!s) report_machine(d, lt_qsvm_get_info(q), &scores, seconds);
    if (!s && d->page) s = draw_kernel(d, q, y);
    lt_qsvm_destroy(q);
    return s;
}
