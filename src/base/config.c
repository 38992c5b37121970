/* The environment variables lathe knows: one table, and the only place that reads them.
   SPDX-License-Identifier: BSD-3-Clause */
#include "base/config.h"

#include "base/status.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const lt_env_row rows[] = {
    [LT_CONFIG_THREADS] = { "LATHE_THREADS", "N", "the cores this process may use",
                            "threads of the shared pool, the calling one included" },
    [LT_CONFIG_CACHE] = { "LATHE_CACHE", "DIR", "$XDG_CACHE_HOME/lathe, else ~/.cache/lathe",
                          "folder for compiled kernels and tuning results" },
    [LT_CONFIG_ISA] = { "LATHE_ISA", "plain|avx2|avx512", "the best this processor has",
                        "highest instruction set the CPU kernels may use" },
    [LT_CONFIG_CUDA] = { "LATHE_CUDA", "DIR", "where the system finds them",
                         "folder that holds the CUDA libraries (NVRTC, cuBLASLt, cuDNN, ...); begins with /" },
    [LT_CONFIG_BF16] = { "LATHE_BF16", "auto|native|widen", "native where matrix tiles (AMX) work, else widen",
                         "bfloat16 convolutions: products of bfloat16, or of float32 on the rounded values" },
    [LT_CONFIG_OPENBLAS] = { "LATHE_OPENBLAS", "FILE", "libopenblas.so.0, where the system finds it",
                             "the OpenBLAS library to open" },
    [LT_CONFIG_CUDA_EARLY] = { "LATHE_CUDA_EARLY", "0|1", "1",
                               "start GPU kernels before the one they follow has ended (sm_90 and later)" },
    [LT_CONFIG_CUDA_STEP] = { "LATHE_CUDA_STEP", "auto|mma|graph", "auto: what is measured to be fastest",
                              "steps of CNN operators on a GPU: mma, the fused kernels for every card since Ampere; graph, one kernel or library call an op" },
    [LT_CONFIG_AMPL_OPTIONS] = { "lathe_options", "'NAME=VALUE ...'", "none", "options of lathe-ampl, as AMPL hands them on" },
    [LT_CONFIG_MPI] = { "LATHE_MPI", "auto|off|openmpi|mpich", "auto: the launcher's",
                        "which MPI ranks speak; off: every process works alone, whatever launched it" },
    [LT_CONFIG_RANK_SECONDS] = { "LATHE_RANK_SECONDS", "N", "60", "a rank that has been silent for so long is lost, and the run ends" },
    [LT_CONFIG_OOM_AT] = { "LT_OOM_AT", "N", "off",
                           "for tests: the N-th allocation of the process fails" },
    [LT_CONFIG_XDG_CACHE] = { "XDG_CACHE_HOME", "DIR", "~/.cache", "see LATHE_CACHE" },
    [LT_CONFIG_USER_FOLDER] = { "HOME", "DIR", "none", "see LATHE_CACHE" },
};
_Static_assert(LT_LEN(rows) == LT_CONFIG_COUNT, "one row per variable");

const lt_env_row *lt_env_rows(int *n_rows)
{
    *n_rows = LT_CONFIG_COUNT;
    return rows;
}

const char *lt_config_text(lt_config_id id)
{
    /* Privileged programs must not let the caller's environment choose files. */
    const char *value = secure_getenv(rows[id].name);
    return value && *value ? value : NULL;
}

const char *lt_config_variable(const char *name) { return secure_getenv(name); }

const char *lt_env_value(const lt_env_row *row)
{
    return lt_config_text((lt_config_id)(row - rows));
}

lt_status lt_config_int(lt_config_id id, int64_t lo, int64_t hi, int64_t fallback, int64_t *out)
{
    *out = fallback;
    const char *text = lt_config_text(id);
    if (!text) return LT_OK;
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (end == text || *end || errno || value < lo || value > hi)
        return LT_FAIL(LT_ERR_ARGUMENT, "environment variable %s is '%.80s': expected an integer in %lld..%lld",
                       rows[id].name, text, (long long)lo, (long long)hi);
    *out = value;
    return LT_OK;
}

static lt_status refuse_choice(lt_config_id id)
{
    return LT_FAIL(LT_ERR_ARGUMENT, "environment variable %s is '%.80s': expected one of %s", rows[id].name, lt_config_text(id), rows[id].metavar);
}

lt_status lt_config_choice(lt_config_id id, const char *const *names, int n, int fallback, int *out)
{
    *out = fallback;
    const char *text = lt_config_text(id);
    if (!text) return LT_OK;
    for (int i = 0; i < n; i++)
        if (!strcmp(text, names[i])) {
            *out = i;
            return LT_OK;
        }
    return refuse_choice(id);
}

/* The names stand in the row, as in "plain|avx2|avx512". */
static bool is_listed(const char *word, const char *names)
{
    const size_t n = strlen(word);
    if (strchr(word, '|')) return false;
    for (const char *at = names; at; at = strchr(at, '|')) {
        at += *at == '|';
        if (!strncmp(at, word, n) && (at[n] == '|' || !at[n])) return true;
    }
    return false;
}

/* Libraries are loaded from there. */
static lt_status check_absolute(lt_config_id id)
{
    const char *text = lt_config_text(id);
    return text[0] == '/' ? LT_OK : LT_FAIL(LT_ERR_ARGUMENT, "environment variable %s is '%.80s': expected a path that begins with /", rows[id].name, text);
}

lt_status lt_env_check(const lt_env_row *row)
{
    LT_NEED(row);
    const lt_config_id id = (lt_config_id)(row - rows);
    int64_t number;
    if (!lt_env_value(row)) return LT_OK;
    if (id == LT_CONFIG_THREADS) return lt_config_int(id, 1, LT_CONFIG_MAX_THREADS, 1, &number);
    if (id == LT_CONFIG_OOM_AT) return lt_config_int(id, 0, INT64_MAX, 0, &number);
    if (id == LT_CONFIG_RANK_SECONDS) return lt_config_int(id, 2, 86400, 60, &number);
    if (id == LT_CONFIG_CUDA) return check_absolute(id);
    return !strchr(row->metavar, '|') || is_listed(lt_env_value(row), row->metavar) ? LT_OK : refuse_choice(id);
}
