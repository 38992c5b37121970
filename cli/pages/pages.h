/* Manual page and shell completion, written from the table of subcommands.
   SPDX-License-Identifier: BSD-3-Clause */
#ifndef LATHE_CLI_PAGES_PAGES_H
#define LATHE_CLI_PAGES_PAGES_H

#include "cli/frame/cli.h"

/* `lathe --generate man|bash|zsh|fish`, used by the build; returns the exit status. */
int cli_generate(const char *what);

void cli_generate_man(FILE *to);
void cli_generate_bash(FILE *to);
void cli_generate_zsh(FILE *to);
void cli_generate_fish(FILE *to);

/* Calls visit for every option of a command that is not hidden. */
void cli_each_option(const cli_command *command, void (*visit)(FILE *to, const lt_option *row), FILE *to);
/* The words an option's value can be, NULL when they cannot be listed; *n is their number. */
const char *const *cli_option_words(const lt_option *row, int *n);

#endif
