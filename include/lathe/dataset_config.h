/* Configurations of operator datasets: YAML in, a checked whole out; and what a row of the
   parameter space means. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LATHE_DATASET_CONFIG_H
#define LATHE_DATASET_CONFIG_H

#include "lathe/operator.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct lt_dataset_config lt_dataset_config; /* opaque; never changes once loaded */

/* What the command line overrides; start from lt_dataset_overrides_defaults(): nothing. Checked like the file. */
typedef struct lt_dataset_overrides {
    size_t      size;
    const char *output, *device, *watchdog; /* NULL: as in the file */
    int64_t     total_samples, batch_size, realizations; /* 0: as in the file */
    bool        has_seed, any_devices;   /* any_devices: simulation.parallelism and notes of metadata are left out, to compare with another file */
    uint64_t    seed;
    const char *const *names, *const *values; /* what values that are ${NAME} stand for, before the environment; a name that none is gives a warning */
    int         n_names;
    const char *merge_path;              /* a YAML document deep-merged onto the file; NULL: none */
} lt_dataset_overrides;
LT_API void lt_dataset_overrides_defaults_into(lt_dataset_overrides *out);
static inline lt_dataset_overrides lt_dataset_overrides_defaults(void) { lt_dataset_overrides sized; sized.size = sizeof sized; lt_dataset_overrides_defaults_into(&sized); return sized; }

/* Errors name file, line, column, key, value and what was expected. over may be NULL. */
LT_API lt_status lt_dataset_config_load(const char *path, const lt_dataset_overrides *over, lt_dataset_config **out);
/* From text (YAML, so JSON too); name stands for the file in messages. */
LT_API lt_status lt_dataset_config_parse(const char *text, size_t length, const char *name,
                                         const lt_dataset_overrides *over, lt_dataset_config **out);
LT_API void      lt_dataset_config_destroy(lt_dataset_config *c); /* NULL is allowed */

LT_API int         lt_dataset_config_warning_count(const lt_dataset_config *c);
LT_API const char *lt_dataset_config_warning(const lt_dataset_config *c, int i); /* one line, without a full stop */

/* A key of the file that has no effect on the run. The texts live as long as the configuration. */
typedef struct lt_idle_key {
    const char *key;    /* the path from the root, "sampling.refinement.enabled" */
    const char *place;  /* "FILE:LINE:COLUMN" */
    const char *reason; /* one line, without a full stop */
} lt_idle_key;
LT_API const lt_idle_key *lt_dataset_config_idle(const lt_dataset_config *c, int i); /* in the order of the file; NULL past the last */

LT_API const char *lt_dataset_config_json(const lt_dataset_config *c);

#ifdef __cplusplus
}
#endif
#endif
