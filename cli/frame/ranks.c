/* A subcommand on several ranks: rank 0 speaks for all, and all end with the same status. SPDX-License-Identifier: BSD-3-Clause */
#include "cli/frame/cli.h"

#include <string.h>

bool cli_first_rank(const cli_context *c) { return lt_cluster_get_info(c->cluster).rank == 0; }
bool cli_several_ranks(const cli_context *c) { return lt_cluster_get_info(c->cluster).ranks > 1; }

lt_status cli_ranks_open(const cli_command *command, cli_context *c)
{
    int ranks;
    if (!command->ranks && !command->stops) return LT_OK; /* short, and alike everywhere */
    bool speaks = lt_cluster_launched(&ranks) == 0;
    c->silent = !speaks;
    CLI_TRY(lt_cluster_open(&c->cluster));
    if (ranks == 1) {
        lt_cluster_close(c->cluster); /* alone: as ever */
        c->cluster = NULL;
        return LT_OK;
    }
    if (!speaks && !freopen("/dev/null", "w", stdout)) return cli_fail(LT_ERR_IO, "/dev/null cannot be opened");
    CLI_TRY(lt_cluster_agree(c->cluster, LT_OK, "subcommand", command->name, strlen(command->name)));
    if (command->ranks) return LT_OK;
    return cli_fail(LT_ERR_UNSUPPORTED, "%s does not share its work between ranks: run it without the launcher, or set LATHE_MPI=off, and every process works alone", command->name);
}

lt_status cli_ranks_end(cli_context *c, lt_status s)
{
    if (!c->cluster || lt_cluster_has_failed(c->cluster)) return s;
    char text[1024];
    snprintf(text, sizeof text, "%s", cli_error_text());
    if (s) s = lt_fail(s, text);
    return lt_cluster_agree(c->cluster, s, "end", NULL, 0);
}

void cli_ranks_close(cli_context *c)
{
    fflush(stdout);
    lt_cluster_close(c->cluster);
    c->cluster = NULL;
}

lt_status cli_say_resume(const cli_context *c, const char *what, int64_t done, int64_t total)
{
    if (cli_first_rank(c)) fprintf(stderr, "lathe: resume me: %lld of %lld %s are done; the same command with --resume goes on\n", (long long)done, (long long)total, what);
    return LT_OK;
}
