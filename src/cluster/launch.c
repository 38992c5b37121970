/* Who launched this process, and the plugin for its MPI. SPDX-License-Identifier: BSD-3-Clause */
#include "base/config.h"
#include "cluster/inside.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- Launchers --------------------------------------------------------------------------------------------------------- */

typedef struct launcher { const char *rank, *ranks, *name, *flavour[2]; } launcher;

/* The variables that launchers set for each process, the surest first: Open MPI under srun has those of PMIx only. */
static const launcher launchers[] = {
    { "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "mpirun of Open MPI", { "openmpi", NULL } },
    { "PMIX_RANK", "SLURM_STEP_NUM_TASKS", "srun with PMIx", { "openmpi", "mpich" } },
    { "PMI_RANK", "PMI_SIZE", "mpirun of MPICH, or srun with PMI", { "mpich", "openmpi" } },
};

static const char *const choices[] = { "auto", "off", "openmpi", "mpich" };

static bool read_number(const char *name, int *out)
{
    const char *text = lt_config_variable(name);
    char *end;
    long n = text ? strtol(text, &end, 10) : -1;
    if (!text || end == text || *end || n < 0 || n > 1 << 24) return false;
    *out = (int)n;
    return true;
}

/* Each task would do the whole work, and all write the same file. */
static lt_status refuse_plain_srun(int tasks)
{
    return LT_FAIL(LT_ERR_UNSUPPORTED, "srun started %d tasks without MPI, and each would do all of the work: give srun --mpi=pmix or --mpi=pmi2 (srun --mpi=list names those that are here)", tasks);
}

lt_status lt_launch_find(lt_launch *out)
{
    int choice, tasks = 1;
    *out = (lt_launch){ .ranks = 1, .launcher = "nobody" };
    LT_TRY(lt_config_choice(LT_CONFIG_MPI, choices, LT_LEN(choices), 0, &choice));
    if (choice == 1) return LT_OK;
    for (size_t i = 0; i < LT_LEN(launchers); i++) {
        const launcher *l = &launchers[i];
        int rank, ranks;
        if (!read_number(l->rank, &rank) || !read_number(l->ranks, &ranks) || ranks <= 1 || rank >= ranks) continue;
        *out = (lt_launch){ rank, ranks, l->name, { l->flavour[0], l->flavour[1] } };
        if (choice >= 2) {
            out->flavour[0] = choices[choice];
            out->flavour[1] = NULL;
        }
        return LT_OK;
    }
    return read_number("SLURM_STEP_NUM_TASKS", &tasks) && tasks > 1 && read_number("SLURM_PROCID", &out->rank) ? refuse_plain_srun(tasks) : LT_OK;
}

int lt_cluster_launched(int *ranks)
{
    lt_launch l;
    (void)lt_launch_find(&l);
    if (ranks) *ranks = l.ranks;
    return l.rank;
}

/* ---- Plugins --------------------------------------------------------------------------------------------------------------- */

/* Beside the library, or beside the program that has it inside; in the build folder and installed. */
static const char *const folders[] = { "lathe", "../lib/lathe", "../lib64/lathe" };

static bool find_plugin(const char *flavour, char *path, size_t bytes)
{
    Dl_info own;
    char folder[3072];
    if (!dladdr((const void *)folders, &own) || !own.dli_fname) return false;
    const char *slash = strrchr(own.dli_fname, '/');
    ssize_t n = slash ? 0 : readlink("/proc/self/exe", folder, sizeof folder - 1); /* a program found by PATH has no folder in its name */
    if (slash) snprintf(folder, sizeof folder, "%.*s", (int)(slash - own.dli_fname), own.dli_fname);
    else if (n > 0) {
        folder[n] = 0;
        *strrchr(folder, '/') = 0;
    } else return false;
    for (size_t i = 0; i < LT_LEN(folders); i++) {
        snprintf(path, bytes, "%s/%s/mpi-%s.so", folder, folders[i], flavour);
        if (access(path, R_OK) == 0) return true;
    }
    return false;
}

static lt_status join(const char *path, const char *flavour, const lt_launch *l, lt_mpi_table *out)
{
    char why[256] = "";
    /* Global: the parts that Open MPI opens for itself look for symbols of its library. */
    void *plugin = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    if (!plugin) return LT_FAIL(LT_ERR_UNSUPPORTED, "%s launched %d ranks, and lathe's part for %s cannot be opened: %s", l->launcher, l->ranks, flavour, dlerror());
    lt_mpi_join_fn call;
    *(void **)&call = dlsym(plugin, LT_MPI_JOIN);
    if (!call || call(LT_MPI_PLUGIN, out, why, sizeof why))
        return LT_FAIL(LT_ERR_UNSUPPORTED, "%s launched %d ranks, and lathe's part for %s could not join them: %s", l->launcher, l->ranks, flavour,
                       call ? why : "it is no such part");
    if (out->ranks != l->ranks)
        return LT_FAIL(LT_ERR_UNSUPPORTED, "%s launched %d ranks, and %s sees %d: this is another MPI than the one lathe was built for; LATHE_MPI=openmpi or mpich chooses",
                       l->launcher, l->ranks, out->library, out->ranks);
    return LT_OK;
}

lt_status lt_launch_join(const lt_launch *l, lt_mpi_table *out, char name[16])
{
    char path[4096];
    for (int i = 0; i < 2 && l->flavour[i]; i++) {
        if (!find_plugin(l->flavour[i], path, sizeof path)) continue;
        snprintf(name, 16, "%s", l->flavour[i]);
        return join(path, l->flavour[i], l, out);
    }
    return LT_FAIL(LT_ERR_UNSUPPORTED, "%s launched %d ranks, and this lathe was built without a part for %s: build it with LT_%s=ON, or use the MPI it was built for ('lathe doctor' names it)",
                   l->launcher, l->ranks, l->flavour[0], strcmp(l->flavour[0], "mpich") ? "OPENMPI" : "MPICH");
}
