/* lathe gram --landmarks: Nystrom features instead of K. SPDX-License-Identifier: BSD-3-Clause */
#include "cli/gram/gram.h"

lt_status gram_check_landmarks(const gram_job *j)
{
    const gram_cli *o = j->o;
    const char *other = o->y ? "y" : o->states_out ? "states-out" : o->report ? "report" : o->kernel_cache ? "kernel-cache" : NULL;
    if (!o->landmarks) return LT_OK;
    if (other) return cli_fail(LT_ERR_ARGUMENT, "--landmarks makes features of the rows of X, and no K: leave --%s out", other);
    return o->out || j->c->json || o->plan ? LT_OK : cli_fail(LT_ERR_ARGUMENT, "--landmarks: where does Z go? Give --out Z.npy");
}

lt_status gram_make_landmarks(gram_job *j)
{
    j->landmarks.size = sizeof j->landmarks;
    return lt_gram_landmarks(j->gram, &j->X, j->o->landmarks, (uint64_t)j->c->common.seed, j->K, &j->landmarks);
}

void gram_put_landmarks(const gram_job *j)
{
    const lt_landmark_info *i = &j->landmarks;
    if (!j->c->json) {
        printf("Z %lld x %lld, %lld columns not zero, in %s on %s: K ~ Z Z' within %.2g (root mean square; %.2g at most) on %lld sampled entries\n", (long long)j->n,
               (long long)i->landmarks, (long long)i->rank, cli_seconds(i->seconds).s, j->info.backend, i->rms_error, i->max_error, (long long)i->entries);
        return;
    }
    lt_json_field_int(j->c->json, "n", j->n);
    lt_json_field_int(j->c->json, "landmarks", i->landmarks);
    lt_json_field_int(j->c->json, "rank", i->rank);
    lt_json_field_int(j->c->json, "entries", i->entries);
    lt_json_field_double(j->c->json, "rms_error", i->rms_error);
    lt_json_field_double(j->c->json, "max_error", i->max_error);
    lt_json_field_double(j->c->json, "seconds", i->seconds);
    lt_json_field_string(j->c->json, "backend", j->info.backend);
}
