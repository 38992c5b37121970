/* The manual page in mdoc, from the table of subcommands. SPDX-License-Identifier: BSD-3-Clause */
#include "cli/pages/pages.h"

#include <string.h>

static const char manual_date[] = "November 15, 2026"; /* of the last change to this text */

/* Running text: a line may not begin with a control sign, a backslash starts an escape. */
static void put_text(FILE *to, const char *text)
{
    bool line_start = true;
    for (; *text; text++) {
        if (line_start && (*text == '.' || *text == '\'')) fputs("\\&", to);
        line_start = *text == '\n';
        if (*text == '\\') fputs("\\e", to);
        else fputc(*text, to);
    }
    fputc('\n', to);
}

/* Plain sentences, each on a line of its own as mdoc wants; \n splits paragraphs. */
static void put_paragraphs(FILE *to, const char *text)
{
    while (*text) {
        size_t n = strcspn(text, "\n");
        char paragraph[1600];
        snprintf(paragraph, sizeof paragraph, "%.*s", (int)n, text);
        for (char *dot = paragraph; (dot = strstr(dot, ". ")); dot++) dot[1] = '\n';
        fputs(".Pp\n", to);
        put_text(to, paragraph);
        text += n;
        text += *text == '\n';
    }
}

/* One argument of a macro: quoted, since words such as "No" are macros themselves. */
static void put_argument(FILE *to, const char *text)
{
    fputs(" \"", to);
    for (; *text; text++) {
        if (*text == '"') fputs("\"\"", to);
        else if (*text == '\\') fputs("\\e", to);
        else fputc(*text, to);
    }
    fputc('"', to);
}

static void put_option(FILE *to, const lt_option *row)
{
    fputs(".It", to);
    if (row->letter) fprintf(to, " Fl %c ,", row->letter);
    const bool flag = row->type == LT_OPTION_TYPE_BOOL, on = flag && row->default_text && !strcmp(row->default_text, "true");
    fprintf(to, " Fl -%s%s", on ? "[no-]" : "", row->name);
    if (!flag) {
        fputs(" Ar", to);
        put_argument(to, row->metavar ? row->metavar : "NAME");
    }
    fputc('\n', to);
    char help[700], expects[256] = "";
    bool listed = row->type == LT_OPTION_TYPE_ENUM || row->range.limited;
    if (listed) lt_option_expects(row, expects, sizeof expects);
    bool shows_default = row->default_text && (!flag || on);
    snprintf(help, sizeof help, "%c%s%s%s%s%s.", row->help[0] >= 'a' && row->help[0] <= 'z' ? row->help[0] - 32 : row->help[0],
             row->help + 1, listed ? "; " : "", expects, shows_default ? "; default " : "", !shows_default ? "" : on ? "on" : row->default_text);
    put_text(to, help);
}

static void put_command(FILE *to, const cli_command *command)
{
    fputs(".Ss", to);
    put_argument(to, command->options->program);
    fprintf(to, "\n.Bd -ragged -compact\n.Nm lathe\n.Cm %s\n.Op Ar options\n", command->name);
    if (command->options->operands) {
        fputs(".Ar", to);
        put_argument(to, command->options->operands);
        fputc('\n', to);
    }
    fputs(".Ed\n", to);
    put_paragraphs(to, command->description);
    const lt_option_group *own = &command->options->groups[0];
    if (own->rows == cli_common_rows) return;
    fputs(".Bl -tag -width Ds\n", to);
    for (int i = 0; i < own->n_rows; i++)
        if (!own->rows[i].hidden) put_option(to, &own->rows[i]);
    fputs(".El\n", to);
}

static void put_environment(FILE *to)
{
    int n;
    const lt_env_row *row = lt_env_rows(&n);
    fputs(".Sh ENVIRONMENT\n.Bl -tag -width Ds\n", to);
    for (int i = 0; i < n; i++) {
        fprintf(to, ".It Ev %s\n", row[i].name);
        char text[400];
        snprintf(text, sizeof text, "%c%s; when not set: %s.", row[i].help[0] >= 'a' && row[i].help[0] <= 'z' ? row[i].help[0] - 32 : row[i].help[0],
                 row[i].help + 1, row[i].fallback);
        put_text(to, text);
    }
    fputs(".El\n", to);
}

void cli_generate_man(FILE *to)
{
    fprintf(to, ".\\\" Written by 'lathe --generate man'; edit the tables in cli/ instead.\n"
                ".Dd %s\n.Dt LATHE 1\n.Os\n.Sh NAME\n.Nm lathe\n"
                ".Nd nonsmooth optimization, operator datasets and quantum kernels on one tensor compiler\n"
                ".Sh SYNOPSIS\n.Nm\n.Ar subcommand\n.Op Ar options\n.Op Ar operands\n"
                ".Nm\n.Cm help\n.Op Ar subcommand\n.Nm\n.Fl -version\n", manual_date);
    fputs(".Sh DESCRIPTION\n.Nm\nminimises nonsmooth functions under constraints, makes datasets of neural-operator rollouts, and computes\n"
          "Gram matrices of quantum feature maps with the support vector machines on them.\n"
          "All three stand on one compiler of tensor graphs, on the CPU and on NVIDIA GPUs.\n"
          "The other subcommands show what is here, tune it, measure it and explain it.\n", to);
    for (int i = 0; i < cli_n_commands; i++) put_command(to, cli_commands[i]);
    fputs(".Ss \"Options of every subcommand\"\n.Bl -tag -width Ds\n.It Fl h , Fl -help\nShow options and an example.\n", to);
    for (int i = 0; i < CLI_N_COMMON_ROWS; i++) put_option(to, &cli_common_rows[i]);
    fputs(".El\n", to);
    put_environment(to);
    fputs(".Sh EXIT STATUS\n.Bl -tag -width Ds\n.It 0\nSuccess.\n.It 1\nThe run failed.\n"
          ".It 2\nBad usage or bad input.\n.It 130\nInterrupted by Ctrl-C, SIGTERM, SIGHUP, SIGALRM, SIGUSR1 or SIGUSR2; a second one ends the run at once.\n.El\n.Sh EXAMPLES\n", to);
    for (int i = 0; i < cli_n_commands; i++) {
        put_text(to, cli_commands[i]->options->summary);
        fputs(".Pp\n.Dl", to);
        put_argument(to, cli_commands[i]->options->example);
        fprintf(to, "\n%s", i + 1 < cli_n_commands ? ".Pp\n" : "");
    }
}
