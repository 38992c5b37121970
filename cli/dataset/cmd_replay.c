/* lathe replay: the exact states of a stored operator again. SPDX-License-Identifier: BSD-3-Clause */
#include "cli/dataset/dataset.h"

#include <math.h>
#include <stdlib.h>

typedef struct replay_cli { cli_common common; const char *dataset, *out, *weights_out; int64_t index, realization; } replay_cli;

static const lt_option rows[] = {
    LT_OPTION_PATH(replay_cli, dataset, "dataset", NULL, "FILE.h5", "the dataset; may also be given as the operand"),
    LT_OPTION_INT(replay_cli, index, "index", "-1", LT_AT_LEAST(-1), "i", "which operator, counted from 0 in the whole dataset"),
    LT_OPTION_INT(replay_cli, realization, "realization", "-1", LT_AT_LEAST(-1), "m", "only this one; -1 = all"),
    LT_OPTION_PATH(replay_cli, out, "out", NULL, "R.h5", "write the states as /outputs/fields of a file of one operator"),
    LT_OPTION_PATH(replay_cli, weights_out, "weights-out", NULL, "W.npz", "write the weights, named and shaped as PyTorch modules have them"),
};
static const lt_option_group groups[] = CLI_GROUPS(rows);
static const lt_option_table table = {
    .program = "lathe replay", .summary = "Recompute the states of a stored operator", .operands = "[FILE.h5]", .max_operands = 1, .groups = groups, .n_groups = 2,
    .example = "lathe replay small.h5 --index 3 --out states.h5 --weights-out weights.npz",
};

/* What is reported of a replay that goes nowhere: the energy of the last state. */
typedef struct measure { int64_t n, steps; double first, last; } measure;

static lt_status take_state(void *ctx, int64_t t, const float *states, const int64_t *failed)
{
    measure *m = ctx;
    double sum = 0;
    (void)failed;
    if (cli_interrupted()) return cli_stopped();
    for (int64_t i = 0; i < m->n; i++) sum += (double)states[i] * states[i];
    if (t == 0) m->first = sum / (double)m->n;
    m->last = sum / (double)m->n;
    m->steps = t + 1;
    return LT_OK;
}

static lt_status replay_all(cli_context *c, const replay_cli *o, lt_dataset *d, const lt_dataset_config *config)
{
    lt_replay *r;
    lt_operator_spec spec = { .size = sizeof spec };
    lt_rollout_result result = { .size = sizeof result, .status = LT_RUN_DONE };
    lt_replay_options opt = dataset_replay_options(c, d);
    measure m = { 0 };
    CLI_TRY(lt_replay_create(config, &opt, &r));
    lt_status s = lt_replay_row(r, o->index, &spec, NULL);
    if (!s && o->weights_out) s = lt_replay_save_weights(r, o->index, o->weights_out);
    if (!s && o->out) s = lt_replay_to_file(config, &opt, o->index, o->realization, o->out, &result);
    else if (!s) {
        m.n = (o->realization < 0 ? lt_dataset_config_summary(config).realizations : 1) * LT_FIELD_CHANNELS * spec.grid * spec.grid;
        s = lt_replay_run(r, o->index, o->realization, take_state, &m, &result);
    }
    lt_replay_destroy(r);
    CLI_TRY(s);
    static const char *const words[] = { "pending", "done", "non-finite", "failed" };
    if (c->json) {
        lt_json_field_int(c->json, "index", o->index);
        lt_json_field_int(c->json, "realization", o->realization);
        lt_json_field_string(c->json, "operator", lt_operator_kind_name(spec.kind));
        lt_json_field_int(c->json, "grid", spec.grid);
        lt_json_field_string(c->json, "policy", lt_policy_name(spec.policy));
        lt_json_field_int(c->json, "parameters", lt_operator_parameter_count(&spec));
        lt_json_field_string(c->json, "status", words[result.status]);
        lt_json_field_int(c->json, "step", result.step);
        lt_json_field_double(c->json, "seconds", result.seconds);
        lt_json_field_string(c->json, "out", o->out);
        lt_json_field_string(c->json, "weights_out", o->weights_out);
        return LT_OK;
    }
    printf("operator %lld: %s, %d layers, %d channels, kernel %d, grid %d, policy %s, noise %.3g\n", (long long)o->index, lt_operator_kind_name(spec.kind),
           spec.num_layers, spec.base_channels, spec.kernel_size, spec.grid, lt_policy_name(spec.policy), spec.noise_scale);
    printf("%s at step %lld in %s", words[result.status], (long long)result.step, cli_seconds(result.seconds).s);
    if (!o->out) printf("; mean square %.4g at first, %.4g at the end", m.first, m.last);
    putchar('\n');
    if (o->out) printf("%s\n", cli_shown(o->out).s);
    if (o->weights_out) printf("%s\n", cli_shown(o->weights_out).s);
    return LT_OK;
}

static lt_status run(cli_context *c)
{
    const replay_cli *o = c->options;
    lt_dataset *d;
    lt_dataset_config *config = NULL;
    CLI_TRY(dataset_open(c, o->dataset, &d));
    lt_status s = o->index < 0 ? cli_fail(LT_ERR_ARGUMENT, "which operator? Give --index i") : dataset_config(d, dataset_path(c, o->dataset), &config);
    if (!s && o->realization >= lt_dataset_config_summary(config).realizations)
        s = cli_fail(LT_ERR_ARGUMENT, "--realization %lld: expected 0..%lld, or -1 for all", (long long)o->realization,
                     (long long)lt_dataset_config_summary(config).realizations - 1);
    if (!s) s = replay_all(c, o, d, config);
    lt_dataset_config_destroy(config);
    lt_dataset_close(d);
    return s;
}

const cli_command cli_replay = {
    .name = "replay", .options = &table, .options_bytes = sizeof(replay_cli), .need = CLI_NEED_CHOSEN, .stops = true, .run = run,
    .description = "Weights, initial field and noise are functions of seed and operator number, so the states of any stored operator can be computed again "
                   "bit for bit: at the same precision and engine version. Nothing but the configuration in the file is needed.",
};
