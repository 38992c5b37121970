/* lathe cluster sbatch: a batch script for Slurm that runs lathe on ranks, and asks for more time until the work is done. SPDX-License-Identifier: BSD-3-Clause */
#include "cli/system/sbatch.h"

#include <string.h>

typedef struct sbatch_cli {
    cli_common  common;
    int64_t     nodes, ranks_per_node, gpus_per_node, cpus_per_rank, notice, array;
    const char *time, *partition, *account, *name, *mpi;
} sbatch_cli;

#define O sbatch_cli
static const lt_option rows[] = {
    LT_OPTION_INT(O, nodes, "nodes", "1", LT_AT_LEAST(1), "N", "machines"),
    LT_OPTION_INT(O, ranks_per_node, "ranks-per-node", "0", LT_AT_LEAST(0), "N", "ranks on each; 0 = one per GPU, else one"),
    LT_OPTION_INT(O, gpus_per_node, "gpus-per-node", "0", LT_AT_LEAST(0), "N", "GPUs on each, one for each rank"),
    LT_OPTION_INT(O, cpus_per_rank, "cpus-per-rank", "0", LT_AT_LEAST(0), "N", "cores of a rank; 0 = Slurm's default"),
    LT_OPTION_STRING(O, time, "time", "24:00:00", "LIMIT", "time limit of one run, as Slurm writes it; the job is queued again until the work is done"),
    LT_OPTION_INT(O, notice, "notice", "60", LT_RANGE_CLOSED(1, 65535), "S", "seconds before the limit at which ranks begin no more operators or tiles"),
    LT_OPTION_INT(O, array, "array", "0", LT_RANGE_CLOSED(0, 1000000), "N",
                  "of generate: an array of N jobs with --nodes nodes each, for clusters without MPI or for more than one writer; each makes a shard, "
                  "a file of its own, and the script's last line merges them"),
    LT_OPTION_STRING(O, partition, "partition", NULL, "NAME", "partition of the cluster"),
    LT_OPTION_STRING(O, account, "account", NULL, "NAME", "account to charge"),
    LT_OPTION_STRING(O, name, "name", "lathe", "NAME", "name of the job"),
    LT_OPTION_STRING(O, mpi, "mpi", "pmix", "KIND", "how srun starts ranks: pmix or pmi2 ('srun --mpi=list' names those that are there)"),
};
#undef O
static const lt_option_group groups[] = CLI_GROUPS(rows);
static const lt_option_table table = {
    .program = "lathe cluster sbatch", .summary = "Write a batch script for Slurm", .operands = "-- generate|gram OPTION...", .min_operands = 1,
    .max_operands = -1, .groups = groups,
    .n_groups = CLI_LEN(groups), .example = "lathe cluster sbatch --nodes 4 --gpus-per-node 8 -- generate --config big.yaml --output big.h5 > job.sbatch",
};

/* In single quotes; one inside ends them, stands by itself and begins them anew. */
static void put_quoted(const char *text)
{
    putchar('\'');
    for (; *text; text++)
        if (*text == '\'') fputs("'\\''", stdout);
        else putchar(*text);
    putchar('\'');
}

/* Lines of #SBATCH have no quotes: nothing in a value may end it or begin another option. */
static lt_status check_word(const char *option, const char *text)
{
    if (!text) return LT_OK;
    if (!*text || strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.:,-") != strlen(text))
        return cli_fail(LT_ERR_ARGUMENT, "--%s '%s': expected letters, digits and _ . : , -", option, text);
    return LT_OK;
}

/* The subcommands that can go on: where their output goes, and what lies beside it while work is left. */
typedef struct resumable { const char *command, *option, *left; } resumable;
static const resumable commands[] = { { "generate", "--output", ".journal" }, { "gram", "--out", ".part.tiles" } };

static lt_status check(const cli_context *c, const sbatch_cli *o, const resumable **found, const char **output)
{
    const char *const words[][2] = { { "time", o->time }, { "partition", o->partition }, { "account", o->account }, { "name", o->name }, { "mpi", o->mpi } };
    for (int i = 0; i < CLI_LEN(words); i++) CLI_TRY(check_word(words[i][0], words[i][1]));
    for (int i = 0; i < CLI_LEN(commands); i++)
        if (!strcmp(c->operand[0], commands[i].command)) *found = &commands[i];
    if (!*found) return cli_fail(LT_ERR_ARGUMENT, "'%s' cannot be ended and resumed on ranks: 'generate' and 'gram' can", c->operand[0]);
    const size_t n = strlen((*found)->option);
    if (o->array && strcmp((*found)->command, "generate")) return cli_fail(LT_ERR_ARGUMENT, "--array: a matrix is one file, which one job makes; give --nodes");
    for (int i = 1; i < c->n_operands; i++) {
        if (o->array && !strncmp(c->operand[i], "--shard", 7)) return cli_fail(LT_ERR_ARGUMENT, "--array and --shard: the tasks of the array are the shards; leave --shard out");
        if (!strncmp(c->operand[i], (*found)->option, n) && c->operand[i][n] == '=') *output = c->operand[i] + n + 1;
        else if (!strcmp(c->operand[i], (*found)->option) && i + 1 < c->n_operands) *output = c->operand[i + 1];
    }
    return *output ? LT_OK : cli_fail(LT_ERR_ARGUMENT, "give %s FILE behind '%s': the script looks at that file to see whether work is left", (*found)->option, (*found)->command);
}

/* The output of a task of an array: `number`, which the shell sees, goes in front of the ending. */
static void put_shard(const char *output, const char *number)
{
    const char *slash = strrchr(output, '/'), *dot = strrchr(slash ? slash : output, '.');
    char stem[4096];
    snprintf(stem, sizeof stem, "%.*s", (int)(dot ? (size_t)(dot - output) : strlen(output)), output);
    put_quoted(stem);
    printf("-%s", number);
    if (dot) put_quoted(dot);
}

static void put_output(const sbatch_cli *o, const char *output)
{
    if (o->array) put_shard(output, "\"$SLURM_ARRAY_TASK_ID\"");
    else put_quoted(output);
}

/* The words behind --, and where the output stands among them, that of the task. */
static void put_command(const cli_context *c, const sbatch_cli *o, const resumable *command)
{
    const size_t n = strlen(command->option);
    for (int i = 0; i < c->n_operands; i++) {
        const char *word = c->operand[i];
        putchar(' ');
        if (o->array && i && !strncmp(word, command->option, n) && word[n] == '=') fprintf(stdout, "%s=", command->option), put_output(o, word + n + 1);
        else if (o->array && i && !strcmp(c->operand[i - 1], command->option)) put_output(o, word);
        else put_quoted(word);
    }
    if (o->array) printf(" --shard \"$SLURM_ARRAY_TASK_ID\"/%lld", (long long)o->array);
}

/* What is to be done when all tasks have ended. */
static void put_merge(const sbatch_cli *o, const char *output)
{
    char numbers[48];
    snprintf(numbers, sizeof numbers, o->array > 1 ? "{0..%lld}" : "%lld", (long long)o->array - 1);
    fputs("# When all tasks are done: lathe merge --out ", stdout);
    put_quoted(output);
    putchar(' ');
    put_shard(output, numbers);
    putchar('\n');
}

static void put_requests(const sbatch_cli *o, int64_t ranks)
{
    printf("#!/bin/bash\n#SBATCH --job-name=%s\n#SBATCH --nodes=%lld\n#SBATCH --ntasks-per-node=%lld\n", o->name, (long long)o->nodes, (long long)ranks);
    if (o->gpus_per_node) printf("#SBATCH --gpus-per-node=%lld\n", (long long)o->gpus_per_node);
    if (o->cpus_per_rank) printf("#SBATCH --cpus-per-task=%lld\n", (long long)o->cpus_per_rank);
    if (o->array) printf("#SBATCH --array=0-%lld\n", (long long)o->array - 1);
    if (o->partition) printf("#SBATCH --partition=%s\n", o->partition);
    if (o->account) printf("#SBATCH --account=%s\n", o->account);
    printf("#SBATCH --time=%s\n#SBATCH --requeue\n#SBATCH --open-mode=append\n", o->time);
    printf("# Ranks get SIGTERM before the limit, finish the operators or tiles at hand and end with status 0.\n#SBATCH --signal=TERM@%lld\n\n", (long long)o->notice);
}

static lt_status run(cli_context *c)
{
    const sbatch_cli *o = c->options;
    const char *output = NULL;
    const resumable *command = NULL;
    CLI_TRY(check(c, o, &command, &output));
    if (c->json) return cli_fail(LT_ERR_ARGUMENT, "the script is text: leave --json out");
    put_requests(o, o->ranks_per_node ? o->ranks_per_node : o->gpus_per_node ? o->gpus_per_node : 1);
    printf("srun --mpi=%s --kill-on-bad-exit=1 lathe", o->mpi);
    put_command(c, o, command);
    printf(" --resume --requeue\nstatus=$?\n[ $status -eq 0 ] || exit $status\n\n# %s beside the output: work is left, so the job is queued again.\nif [ -e \"$(readlink -m -- ", command->left + 1);
    put_output(o, output); /* beside the file that a link leads to */
    printf(")\"%s ]; then scontrol requeue \"$SLURM_JOB_ID\"; fi\n", command->left);
    if (o->array) put_merge(o, output);
    return LT_OK;
}

const cli_command cli_cluster_sbatch = {
    .name = "cluster sbatch", .options = &table, .options_bytes = sizeof(sbatch_cli), .need = CLI_NEED_NOTHING, .run = run,
    .description = "Prints a script for sbatch that runs a subcommand on ranks (docs/scaling.md). Before the time limit Slurm sends SIGTERM: ranks finish the operators or tiles at hand, and the "
                   "script has the job queued again until none are left. What stands behind -- is the subcommand with its options. With --array N each of N "
                   "tasks makes a shard, FILE-i.h5, without any other; lathe merge makes one file of them.",
};
