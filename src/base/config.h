/* Settings from the environment. config.c is the only file that reads it.
   SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_BASE_CONFIG_H
#define LT_BASE_CONFIG_H

#include "lathe/options.h"

typedef enum lt_config_id {
    LT_CONFIG_THREADS,
    LT_CONFIG_CACHE,
    LT_CONFIG_ISA,
    LT_CONFIG_CUDA,
    LT_CONFIG_CUDA_EARLY,
    LT_CONFIG_CUDA_STEP,
    LT_CONFIG_BF16,
    LT_CONFIG_OPENBLAS,
    LT_CONFIG_AMPL_OPTIONS,
    LT_CONFIG_MPI,
    LT_CONFIG_RANK_SECONDS,
    LT_CONFIG_OOM_AT,
    LT_CONFIG_XDG_CACHE,
    LT_CONFIG_USER_FOLDER,
    LT_CONFIG_COUNT
} lt_config_id;

enum { LT_CONFIG_MAX_THREADS = 1024 };

/* The value, or NULL when the variable is unset or empty. Borrowed from the environment. */
const char *lt_config_text(lt_config_id id);
/* Any variable by its name, for texts of the user's that refer to one; NULL when unset. */
const char *lt_config_variable(const char *name);
/* The value as an integer in lo..hi; fallback when unset. LT_ERR_ARGUMENT names the variable. */
lt_status lt_config_int(lt_config_id id, int64_t lo, int64_t hi, int64_t fallback, int64_t *out);
/* The position of the value among n names; fallback when unset. LT_ERR_ARGUMENT lists the names. */
lt_status lt_config_choice(lt_config_id id, const char *const *names, int n, int fallback, int *out);

#endif
