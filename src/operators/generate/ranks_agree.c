/* What ranks that make a dataset together must have in common, so that the file does not depend on who made which row. SPDX-License-Identifier: BSD-3-Clause */
#include "operators/generate/ranks.h"

#include "base/alloc.h"
#include "base/status.h"
#include "device/flags.h"
#include "kernels/arithmetic.h"
#include "operators/rollout/device/device.h"

#include <string.h>

static lt_status refuse(const lt_generator *g)
{
    const lt_generate_options *o = g->opt;
    if (g->c->features.clip_batch) return LT_FAIL(LT_ERR_ARGUMENT, "engine.clip: batch needs all operators of a batch in one process: run it without mpirun");
    if (g->c->engine.watchdog == LT_WATCHDOG_ON) return LT_FAIL(LT_ERR_ARGUMENT, "engine.watchdog is on, which ranks do not have: set it to auto or off, or run without mpirun");
    if (o->n_devices > 1) return LT_FAIL(LT_ERR_ARGUMENT, "a rank uses one device, %d are given: start a rank for each", o->n_devices);
    return LT_OK;
}

static lt_status agree_on_configuration(const lt_generator *g, lt_status s)
{
    lt_dataset_config *alike = NULL; /* where devices may differ: the configuration with one and the same */
    if (!s && g->opt->mixed_devices) {
        lt_dataset_overrides over = { .size = sizeof over, .output = g->c->output_path, .device = "cpu", .batch_size = g->c->batch_size, .watchdog = "auto", .any_devices = true };
        s = lt_dataset_config_parse(g->c->record_json, strlen(g->c->record_json), g->c->output_path, &over, &alike);
    }
    const char *json = s ? NULL : alike ? alike->json : g->c->json;
    s = lt_cluster_agree(g->opt->cluster, s, "configuration", json, json ? strlen(json) : 0);
    lt_dataset_config_destroy(alike);
    return s;
}

/* Processors and libraries change last bits, too (decision 400). */
static lt_status agree_on_arithmetic(const lt_generator *g)
{
    lt_cluster *c = g->opt->cluster;
    lt_arithmetic a;
    if (lt_cluster_size(c) == 1) return LT_OK;
    LT_TRY(lt_cluster_agree(c, lt_arithmetic_describe(g->opt->device, true, &a), "number of libraries", &a.n, sizeof a.n));
    for (int i = 0; i < a.n; i++) LT_TRY(lt_cluster_agree_on_text(c, LT_OK, a.trait[i].what, a.trait[i].text));
    return LT_OK;
}

/* Of rank 0: whether all ranks take steps of one kind. */
static lt_status compare_steps(lt_cluster *c, const lt_step_choice *own, bool *differ)
{
    lt_step_choice *all = lt_calloc((size_t)lt_cluster_size(c), sizeof *all);
    lt_status s = all ? lt_cluster_gather(c, own, sizeof *own, all) : LT_ERR_MEMORY;
    *differ = false;
    for (int i = 1; !s && !lt_cluster_rank(c) && i < lt_cluster_size(c); i++) *differ |= strcmp(all[i].kind, own->kind) != 0;
    lt_free(all);
    return s ? s : lt_cluster_broadcast(c, differ, sizeof *differ);
}

/* A clock may have chosen differently for ranks with cache folders of their own. Compiled graphs run everywhere (decision 401). */
static lt_status agree_on_step(lt_generator *g)
{
    lt_cluster *c = g->opt->cluster;
    lt_step_choice own;
    bool differ;
    if (!lt_device_has(g->opt->device, LT_DEVICE_OWN_MEMORY)) return LT_OK;
    LT_TRY(lt_cluster_agree(c, lt_device_rollout_settle(g->opt->device, g->c->precision, &own), "trial of fused steps", NULL, 0));
    LT_TRY(compare_steps(c, &own, &differ));
    g->rollout.plain_step |= differ;
    snprintf(g->info->step, sizeof g->info->step, "%s", differ ? "graph" : own.kind);
    if (differ) snprintf(g->info->step_reason, sizeof g->info->step_reason, "ranks would take different steps: %s on rank %d", own.kind, lt_cluster_rank(c));
    return LT_OK;
}

static lt_status agree_on_device(lt_generator *g)
{
    char text[160];
    if (g->opt->mixed_devices) return lt_cluster_agree_on_text(g->opt->cluster, LT_OK, "precision", lt_precision_name(g->info->precision));
    snprintf(text, sizeof text, "%s, %s", lt_generator_device(g), g->info->arithmetic);
    LT_TRY(lt_cluster_agree_on_text(g->opt->cluster, LT_OK, "kind of device", text));
    LT_TRY(agree_on_arithmetic(g));
    return agree_on_step(g);
}

lt_status lt_generator_ranks_agree(lt_generator *g, lt_status s)
{
    if (!s) s = refuse(g);
    LT_TRY(agree_on_configuration(g, s));
    return agree_on_device(g);
}
