/* Rolls a random neural operator out from a field and prints the energy of two realizations: weights,
   noise and states are functions of (seed, index) alone. SPDX-License-Identifier: BSD-3-Clause */
#include <lathe/lathe.h>

#include <math.h>
#include <stdio.h>

enum { GRID = 32, REALIZATIONS = 2, STEPS = 6 };

/* Called with the states of every step, [realization, channel, row, column]; nothing is kept unless we keep it. */
static lt_status print_energy(void *ctx, int64_t t, const float *states, const int64_t *failed)
{
    (void)ctx;
    printf("t = %lld ", (long long)t);
    for (int m = 0; m < REALIZATIONS; m++) {
        const float *x = states + m * LT_FIELD_CHANNELS * GRID * GRID;
        double energy = 0;
        for (int i = 0; i < LT_FIELD_CHANNELS * GRID * GRID; i++) energy += (double)x[i] * x[i];
        printf("  %10.4f%s", energy, failed[m] < 0 ? "" : " (not finite)");
    }
    puts("");
    return LT_OK;
}

static lt_status roll(void)
{
    static float field[LT_FIELD_CHANNELS * GRID * GRID];
    lt_operator_spec spec = lt_operator_defaults(LT_OPERATOR_CNN);
    lt_rollout_options opt = lt_rollout_defaults();
    lt_operator_weights *weights = NULL;
    lt_rollout *rollout = NULL;
    lt_rollout_result result = { .size = sizeof result };
    for (int i = 0; i < LT_FIELD_CHANNELS * GRID * GRID; i++) field[i] = sinf(0.3f * (float)(i % GRID)) * cosf(0.2f * (float)(i / GRID));
    spec.grid = GRID;
    spec.base_channels = 16;
    spec.policy = LT_POLICY_CONVEX;
    opt.realizations = REALIZATIONS;
    opt.steps = STEPS;

    lt_status s = lt_operator_weights_create(&spec, &weights);
    if (!s) s = lt_operator_weights_draw(weights, 42, 7);       /* operator 7 of seed 42 */
    if (!s) s = lt_rollout_create(&spec, &opt, &rollout);       /* compiles; serves every operator of this architecture */
    if (!s) s = lt_rollout_set_operator(rollout, &spec, weights);
    if (!s) s = lt_rollout_run(rollout, field, -1, print_energy, NULL, &result);
    if (!s) printf("%lld parameters, %.1f MFLOP a step, %s\n", (long long)lt_operator_parameter_count(&spec),
                   lt_rollout_get_info(rollout).flops * 1e-6, lt_rollout_get_info(rollout).arithmetic);
    lt_rollout_destroy(rollout);
    lt_operator_weights_destroy(weights);
    return s;
}

int main(void)
{
    if (!roll()) return 0;
    fprintf(stderr, "%s\n", lt_error_text());
    return 1;
}
