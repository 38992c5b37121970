/* Shell completion from the table of subcommands. SPDX-License-Identifier: BSD-3-Clause */
#include "cli/pages/pages.h"

#include <string.h>

int cli_generate(const char *what)
{
    static const struct { const char *name; void (*write)(FILE *); } form[] = {
        { "man", cli_generate_man }, { "bash", cli_generate_bash },
        { "zsh", cli_generate_zsh }, { "fish", cli_generate_fish } };
    for (int i = 0; i < CLI_LEN(form); i++)
        if (!strcmp(what, form[i].name)) {
            form[i].write(stdout);
            return 0;
        }
    fprintf(stderr, "lathe: --generate '%s': expected man, bash, zsh or fish\n", what);
    return 2;
}

void cli_each_option(const cli_command *command, void (*visit)(FILE *to, const lt_option *row), FILE *to)
{
    const lt_option *row;
    for (int g = 0; g < command->options->n_groups; g++)
        for (int i = 0; (row = lt_option_group_row(&command->options->groups[g], i)); i++)
            if (!row->hidden) visit(to, row);
}

const char *const *cli_option_words(const lt_option *row, int *n)
{
    static const char *const devices[] = { "auto", "cpu", "null", "cuda" };
    *n = 0;
    if (row->type == LT_OPTION_TYPE_ENUM) {
        while (lt_option_names(row)[*n]) ++*n;
        return lt_option_names(row);
    }
    if (!strcmp(row->name, "device")) {
        *n = CLI_LEN(devices);
        return devices;
    }
    return NULL;
}

static bool takes_value(const lt_option *row) { return row->type != LT_OPTION_TYPE_BOOL; }

/* The first words of all subcommands, each once; then "help". */
static void first_words(FILE *to, const char *between)
{
    for (int i = 0; i < cli_n_commands; i++) {
        size_t n = strcspn(cli_commands[i]->name, " ");
        bool seen = false;
        for (int k = 0; k < i; k++)
            seen = seen || (strcspn(cli_commands[k]->name, " ") == n && !memcmp(cli_commands[k]->name, cli_commands[i]->name, n));
        if (!seen) fprintf(to, "%.*s%s", (int)n, cli_commands[i]->name, between);
    }
    fputs("help", to);
}

static const char *second_word(const cli_command *command)
{
    const char *space = strchr(command->name, ' ');
    return space ? space + 1 : NULL;
}

/* True when the first word alone is a subcommand too: its second word may be an option. */
static bool stands_alone(const char *name, int length)
{
    for (int i = 0; i < cli_n_commands; i++)
        if (!strncmp(cli_commands[i]->name, name, (size_t)length) && !cli_commands[i]->name[length]) return true;
    return false;
}

/* The second words of a family, from row `first` of the table on. */
static void second_words(FILE *to, int first, int length, const char *between)
{
    const char *name = cli_commands[first]->name;
    bool begun = false;
    for (int k = first; k < cli_n_commands; k++)
        if (!strncmp(cli_commands[k]->name, name, (size_t)length + 1)) {
            fprintf(to, "%s%s", begun ? between : "", second_word(cli_commands[k]));
            begun = true;
        }
}

/* ---- bash -------------------------------------------------------------------------- */

static void bash_flag(FILE *to, const lt_option *row) { fprintf(to, " --%s", row->name); }

/* One arm of the case over the previous word, for options whose value can be completed. */
static void bash_value(FILE *to, const lt_option *row)
{
    int n;
    const char *const *word = cli_option_words(row, &n);
    if (!word && row->type != LT_OPTION_TYPE_PATH) return;
    fprintf(to, "        *\" --%s\") ", row->name);
    if (!word) {
        fprintf(to, "COMPREPLY=($(compgen -f -- \"$cur\")); return ;;\n");
        return;
    }
    fprintf(to, "COMPREPLY=($(compgen -W \"");
    for (int i = 0; i < n; i++) fprintf(to, "%s%s", i ? " " : "", word[i]);
    fprintf(to, "\" -- \"$cur\")); return ;;\n");
}

static void bash_command(FILE *to, const cli_command *command)
{
    fprintf(to, "    \"%s\")\n        words=\"", command->name);
    int n = 0;
    const char *const *operand = command->operands ? command->operands(&n) : NULL;
    for (int i = 0; i < n; i++) fprintf(to, "%s ", operand[i]);
    fprintf(to, "--help");
    cli_each_option(command, bash_flag, to);
    fprintf(to, "\"\n        case \"$command $prev\" in\n");
    cli_each_option(command, bash_value, to);
    fprintf(to, "        esac ;;\n");
}

void cli_generate_bash(FILE *to)
{
    fprintf(to, "# bash completion for lathe, written by 'lathe --generate bash'\n"
                "_lathe() {\n"
                "    local cur prev command words\n"
                "    COMPREPLY=()\n"
                "    cur=${COMP_WORDS[COMP_CWORD]}\n"
                "    prev=${COMP_WORDS[COMP_CWORD-1]}\n"
                "    command=${COMP_WORDS[1]}\n"
                "    if [ \"$COMP_CWORD\" -le 1 ]; then\n"
                "        COMPREPLY=($(compgen -W \"");
    first_words(to, " ");
    fprintf(to, " --help --version\" -- \"$cur\"))\n        return\n    fi\n"
                "    if [ \"$command\" = help ]; then\n        COMPREPLY=($(compgen -W \"");
    first_words(to, " ");
    fprintf(to, "\" -- \"$cur\"))\n        return\n    fi\n    case \"$command\" in\n");
    for (int i = 0; i < cli_n_commands; i++) { /* families: the second word first */
        const char *name = cli_commands[i]->name;
        int length = (int)strcspn(name, " ");
        if (!second_word(cli_commands[i])) continue;
        if (i > 0 && !strncmp(cli_commands[i - 1]->name, name, (size_t)length + 1)) continue;
        bool alone = stands_alone(name, length);
        fprintf(to, "    %.*s)\n        if [ \"$COMP_CWORD\" -eq 2 ]%s; then\n            COMPREPLY=($(compgen -W \"", length, name,
                alone ? " && [ \"${cur#-}\" = \"$cur\" ]" : "");
        second_words(to, i, length, " ");
        fprintf(to, "%s\" -- \"$cur\"))\n            return\n        fi\n        case \"${COMP_WORDS[2]}\" in\n        ", alone ? "" : " --help");
        if (alone) second_words(to, i, length, "|");
        else fprintf(to, "*");
        fprintf(to, ") command=\"$command ${COMP_WORDS[2]}\" ;;\n        esac ;;\n");
    }
    fprintf(to, "    esac\n    case \"$command\" in\n");
    for (int i = 0; i < cli_n_commands; i++) bash_command(to, cli_commands[i]);
    fprintf(to, "    *) return ;;\n    esac\n    COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n}\n"
                "complete -F _lathe lathe\n");
}

/* ---- zsh --------------------------------------------------------------------------- */

/* Text inside a single-quoted '--flag[text]' specification. */
static void zsh_text(FILE *to, const char *text)
{
    for (; *text; text++) {
        if (*text == '\'') fputs("'\\''", to);
        else if (strchr("[]:\\", *text)) fprintf(to, "\\%c", *text);
        else fputc(*text, to);
    }
}

static void zsh_option(FILE *to, const lt_option *row)
{
    fprintf(to, " \\\n            '%s--%s%s[", row->type == LT_OPTION_TYPE_LIST ? "*" : "", row->name, takes_value(row) ? "=" : "");
    zsh_text(to, row->help);
    fprintf(to, "]");
    if (takes_value(row)) {
        int n;
        const char *const *word = cli_option_words(row, &n);
        fprintf(to, ":");
        zsh_text(to, row->metavar ? row->metavar : "NAME");
        if (word) {
            fprintf(to, ":(");
            for (int i = 0; i < n; i++) fprintf(to, "%s%s", i ? " " : "", word[i]);
            fprintf(to, ")");
        } else {
            fprintf(to, row->type == LT_OPTION_TYPE_PATH ? ":_files" : ": ");
        }
    }
    fprintf(to, "'");
}

void cli_generate_zsh(FILE *to)
{
    fprintf(to, "#compdef lathe\n# zsh completion for lathe, written by 'lathe --generate zsh'\n"
                "_lathe() {\n    local command=$words[2]\n    if (( CURRENT == 2 )); then\n        compadd -- ");
    first_words(to, " ");
    fprintf(to, " --help --version\n        return\n    fi\n");
    for (int i = 0; i < cli_n_commands; i++) {
        const char *name = cli_commands[i]->name;
        int length = (int)strcspn(name, " ");
        if (!second_word(cli_commands[i]) || (i > 0 && !strncmp(cli_commands[i - 1]->name, name, (size_t)length + 1))) continue;
        bool alone = stands_alone(name, length);
        fprintf(to, "    if [[ $command == %.*s ]]; then\n        if (( CURRENT == 3 ))%s; then\n            compadd -- ", length, name,
                alone ? " && [[ $words[3] != -* ]]" : "");
        second_words(to, i, length, " ");
        fprintf(to, "\n            return\n        fi\n        if [[ $words[3] == (");
        if (alone) second_words(to, i, length, "|");
        else fprintf(to, "*");
        fprintf(to, ") ]]; then\n            command=\"$command $words[3]\"\n            shift words\n            (( CURRENT-- ))\n        fi\n    fi\n");
    }
    fprintf(to, "    shift words\n    (( CURRENT-- ))\n    case $command in\n");
    for (int i = 0; i < cli_n_commands; i++) {
        fprintf(to, "    '%s')\n        _arguments '(- *)--help[show the help page]'", cli_commands[i]->name);
        cli_each_option(cli_commands[i], zsh_option, to);
        int n = 0;
        const char *const *operand = cli_commands[i]->operands ? cli_commands[i]->operands(&n) : NULL;
        if (operand) {
            fprintf(to, " \\\n            '*:operand:(");
            for (int k = 0; k < n; k++) fprintf(to, "%s%s", k ? " " : "", operand[k]);
            fprintf(to, ")'");
        }
        fprintf(to, " ;;\n");
    }
    fprintf(to, "    help) compadd -- ");
    first_words(to, " ");
    fprintf(to, " ;;\n    esac\n}\n_lathe \"$@\"\n");
}

/* ---- fish -------------------------------------------------------------------------- */

static const cli_command *fish_command; /* the one whose options are being written */

static void fish_quoted(FILE *to, const char *text)
{
    fputc('\'', to);
    for (; *text; text++) {
        if (*text == '\'' || *text == '\\') fputc('\\', to);
        fputc(*text, to);
    }
    fputc('\'', to);
}

/* "qsvm predict" holds when both words were typed. */
static void fish_condition(FILE *to, const cli_command *command)
{
    const char *second = second_word(command);
    fprintf(to, "complete -c lathe -n '__fish_seen_subcommand_from %.*s", (int)strcspn(command->name, " "), command->name);
    if (second) fprintf(to, "; and __fish_seen_subcommand_from %s", second);
    fprintf(to, "'");
}

static void fish_option(FILE *to, const lt_option *row)
{
    fish_condition(to, fish_command);
    fprintf(to, " -l %s", row->name);
    if (row->letter) fprintf(to, " -s %c", row->letter);
    if (takes_value(row)) {
        int n;
        const char *const *word = cli_option_words(row, &n);
        fprintf(to, row->type == LT_OPTION_TYPE_PATH ? " -r -F" : " -x");
        if (word) {
            fprintf(to, " -a '");
            for (int i = 0; i < n; i++) fprintf(to, "%s%s", i ? " " : "", word[i]);
            fprintf(to, "'");
        }
    }
    fprintf(to, " -d ");
    fish_quoted(to, row->help);
    fprintf(to, "\n");
}

void cli_generate_fish(FILE *to)
{
    fprintf(to, "# fish completion for lathe, written by 'lathe --generate fish'\ncomplete -c lathe -f\n"
                "complete -c lathe -n __fish_use_subcommand -a '");
    first_words(to, " ");
    fprintf(to, "'\ncomplete -c lathe -n __fish_use_subcommand -l version -d 'show the version'\n"
                "complete -c lathe -l help -s h -d 'show the help page'\n");
    for (int i = 0; i < cli_n_commands; i++) {
        const char *second = second_word(cli_commands[i]);
        if (second) {
            fprintf(to, "complete -c lathe -n '__fish_seen_subcommand_from %.*s' -a %s -d ",
                    (int)strcspn(cli_commands[i]->name, " "), cli_commands[i]->name, second);
            fish_quoted(to, cli_commands[i]->options->summary);
            fprintf(to, "\n");
        }
        fish_command = cli_commands[i];
        cli_each_option(cli_commands[i], fish_option, to);
        int n = 0;
        const char *const *operand = cli_commands[i]->operands ? cli_commands[i]->operands(&n) : NULL;
        for (int k = 0; k < n; k++) {
            fish_condition(to, cli_commands[i]);
            fprintf(to, " -a %s\n", operand[k]);
        }
    }
}
