/* lathe explain: what a name means: an op, a status, an option, an environment variable.
   SPDX-License-Identifier: BSD-3-Clause */
#include "cli/frame/cli.h"

#include <string.h>

typedef struct explain_options { cli_common common; } explain_options;

static const lt_option_group groups[] = CLI_COMMON_GROUP;
static const lt_option_table table = {
    .program = "lathe explain", .summary = "Explain an op, a status, an option, a termination code or an environment variable",
    .operands = "[NAME...]", .max_operands = -1, .groups = groups, .n_groups = CLI_LEN(groups),
    .example = "lathe explain matmul option mu0 code 6",
};

/* ---- The tables ---------------------------------------------------------------------- */

typedef struct op_row { const char *name, *signature, *section, *note; } op_row;
static const op_row ops[] = {
#include "op_table.inc"
};

/* What the user can do about each status. */
static const char *const status_help[LT_STATUS_COUNT] = {
    [LT_OK] = "The call did what it was asked to.",
    [LT_ERR_ARGUMENT] = "A value outside what the function accepts. The text names the value and what was expected.",
    [LT_ERR_SHAPE] = "Tensor extents that do not fit together. The text shows both shapes.",
    [LT_ERR_TYPE] = "An element type that does not fit. Convert with lt_cast, or build the inputs in one type.",
    [LT_ERR_MEMORY] = "An allocation failed or a limit was reached. Use smaller tiles or batches, or raise the limit.",
    [LT_ERR_IO] = "A file could not be opened, read or written. The text names it and the system's reason.",
    [LT_ERR_FORMAT] = "A file or text that does not follow its format. The text says where.",
    [LT_ERR_UNSUPPORTED] = "Correct, but this build or device cannot do it. 'lathe doctor' says what is missing.",
    [LT_ERR_DEVICE] = "A device reported a fault. Later calls on it may fail too; open it again.",
    [LT_ERR_NUMERIC] = "A factorisation or iteration failed: a singular matrix, one that is not positive definite, no convergence.",
    [LT_ERR_MISMATCH] = "Two results that should agree do not; lt_graph_verify names the first node that differs.",
    [LT_ERR_CANCELLED] = "The caller asked to stop.",
    [LT_ERR_INTERNAL] = "A mistake in lathe itself. Please report it with the text.",
};

/* ---- Output ---------------------------------------------------------------------------- */

/* One answer: what kind of thing it is, then name, text and up to two details. */
static void answer(cli_context *c, const char *kind, const char *name, const char *text, const char *detail)
{
    if (c->json) {
        lt_json_object_begin(c->json);
        lt_json_field_string(c->json, "kind", kind);
        lt_json_field_string(c->json, "name", name);
        lt_json_field_string(c->json, "text", text);
        lt_json_field_string(c->json, "detail", detail);
        lt_json_object_end(c->json);
        return;
    }
    printf("%s (%s)\n", name, kind);
    if (text && *text) printf("  %s\n", text);
    if (detail && *detail) printf("  %s\n", detail);
}

static const char *op_text(const op_row *op)
{
    return *op->note ? op->note : op->section;
}

static int explain_ops(cli_context *c, const char *name)
{
    for (int i = 0; i < CLI_LEN(ops); i++)
        if (!strcmp(ops[i].name, name) || (!strncmp(name, "lt_", 3) && !strcmp(ops[i].name, name + 3))) {
            answer(c, "op", ops[i].name, ops[i].signature, op_text(&ops[i]));
            return 1;
        }
    return 0;
}

static int explain_status(cli_context *c, const char *name)
{
    for (int s = 0; s < LT_STATUS_COUNT; s++) {
        char number[8], constant[48];
        snprintf(number, sizeof number, "%d", s);
        snprintf(constant, sizeof constant, s ? "LT_ERR_%s" : "LT_%s", lt_status_name((lt_status)s));
        for (char *p = constant; *p; p++)
            if (*p >= 'a' && *p <= 'z') *p -= 32;
        if (strcmp(name, lt_status_name((lt_status)s)) && strcmp(name, number) && strcmp(name, constant)) continue;
        char detail[80];
        snprintf(detail, sizeof detail, "%s, value %d", constant, s);
        answer(c, "status", lt_status_name((lt_status)s), status_help[s], detail);
        return 1;
    }
    return 0;
}

static int explain_option(cli_context *c, const char *name)
{
    int found = 0;
    name += strspn(name, "-");
    for (int i = 0; i < cli_n_commands; i++) {
        size_t base;
        const lt_option *row = lt_options_find(cli_commands[i]->options, name, &base);
        if (!row) continue;
        bool common = row >= cli_common_rows && row < cli_common_rows + CLI_N_COMMON_ROWS;
        if (common && found) break;
        char kind[80], detail[400], expects[200];
        lt_option_expects(row, expects, sizeof expects);
        snprintf(kind, sizeof kind, "option of %s", common ? "every subcommand" : cli_commands[i]->options->program);
        snprintf(detail, sizeof detail, "takes %s%s%s", expects, row->default_text ? "; default " : "", row->default_text ? row->default_text : "");
        answer(c, kind, row->name, row->help, detail);
        found++;
    }
    return found;
}

/* Options of the solver, set with --set or in the problem file. */
static int explain_solver_option(cli_context *c, const char *name)
{
    char detail[400], expects[200];
    size_t base;
    const lt_option *row = lt_options_find(lt_solve_options_table(), name, &base);
    if (!row) return 0;
    lt_option_expects(row, expects, sizeof expects);
    snprintf(detail, sizeof detail, "takes %s%s%s; %s%s%sset it with --set %s=VALUE or 'option %s = VALUE' in the problem file", expects,
             row->default_text ? "; default " : "", row->default_text ? row->default_text : "",
             row->alias ? "also called " : "", row->alias ? row->alias : "", row->alias ? "; " : "", row->name, row->name);
    answer(c, "option of the solver", row->name, row->help, detail);
    return 1;
}

static void explain_solver_options(cli_context *c)
{
    const lt_option_table *t = lt_solve_options_table();
    for (int g = 0; g < t->n_groups; g++)
        for (int i = 0; i < t->groups[g].n_rows; i++)
            if (!t->groups[g].rows[i].hidden) explain_solver_option(c, t->groups[g].rows[i].name);
}

static int explain_code(cli_context *c, const char *number)
{
    char text[8];
    for (lt_termination code = LT_TERMINATION_CONVERGED; code < LT_TERMINATION_COUNT; code++) {
        snprintf(text, sizeof text, "%d", (int)code);
        if (strcmp(text, number)) continue;
        answer(c, "termination code of lathe solve", text, lt_termination_text(code), "");
        return 1;
    }
    return 0;
}

static void explain_all_codes(cli_context *c)
{
    char number[8];
    for (lt_termination code = LT_TERMINATION_CONVERGED; code < LT_TERMINATION_COUNT; code++) {
        snprintf(number, sizeof number, "%d", code);
        explain_code(c, number);
    }
}

static int explain_variable(cli_context *c, const char *name)
{
    int n;
    const lt_env_row *rows = lt_env_rows(&n);
    for (int i = 0; i < n; i++)
        if (!strcmp(rows[i].name, name)) {
            char detail[300];
            const char *value = lt_env_value(&rows[i]);
            snprintf(detail, sizeof detail, value ? "set to %.200s here" : "not set; then: %s", value ? value : rows[i].fallback);
            answer(c, "environment variable", name, rows[i].help, detail);
            return 1;
        }
    return 0;
}

/* ---- Names -------------------------------------------------------------------------------- */

enum { MAX_NAMES = 480 };

/* Every name there is, for lists, completion and suggestions. */
static const char *const *all_names(int *n)
{
    static const char *name[MAX_NAMES];
    static int count;
    if (!count) {
        int n_env;
        const lt_env_row *env = lt_env_rows(&n_env);
        for (int i = 0; i < CLI_LEN(ops) && count < MAX_NAMES; i++) name[count++] = ops[i].name;
        for (int s = 0; s < LT_STATUS_COUNT && count < MAX_NAMES; s++) name[count++] = lt_status_name((lt_status)s);
        for (int i = 0; i < n_env && count < MAX_NAMES; i++) name[count++] = env[i].name;
        for (int i = 0; i < CLI_N_COMMON_ROWS && count < MAX_NAMES; i++) name[count++] = cli_common_rows[i].name;
        const lt_option_table *solver = lt_solve_options_table();
        for (int g = 0; g < solver->n_groups; g++)
            for (int i = 0; i < solver->groups[g].n_rows && count < MAX_NAMES; i++) name[count++] = solver->groups[g].rows[i].name;
    }
    *n = count;
    return name;
}

static void list_names(cli_context *c)
{
    const char *section = "";
    if (c->json) {
        int n;
        const char *const *name = all_names(&n);
        lt_json_key(c->json, "names");
        lt_json_array_begin(c->json);
        for (int i = 0; i < n; i++) lt_json_string(c->json, name[i]);
        lt_json_array_end(c->json);
        return;
    }
    for (int i = 0; i < CLI_LEN(ops); i++) {
        if (strcmp(section, ops[i].section)) printf("%s%s:\n ", i ? "\n" : "", section = ops[i].section);
        printf(" %s", ops[i].name);
    }
    printf("\nStatus:\n ");
    for (int s = 0; s < LT_STATUS_COUNT; s++) printf(" %s", lt_status_name((lt_status)s));
    int n;
    const lt_env_row *env = lt_env_rows(&n);
    printf("\nEnvironment variables:\n ");
    for (int i = 0; i < n; i++) printf(" %s", env[i].name);
    printf("\nOptions of the solver:\n ");
    const lt_option_table *solver = lt_solve_options_table();
    for (int g = 0; g < solver->n_groups; g++)
        for (int i = 0; i < solver->groups[g].n_rows; i++) printf(" %s", solver->groups[g].rows[i].name);
    printf("\nOptions of the command: by their name, such as 'lathe explain device'\n"
           "Termination codes of the solver: 'lathe explain code 6'\n");
}

static lt_status explain(cli_context *c, const char *name)
{
    int found = explain_ops(c, name) + explain_status(c, name) + explain_option(c, name) + explain_solver_option(c, name) + explain_variable(c, name);
    if (found) return LT_OK;
    int n;
    const char *const *names = all_names(&n), *near = lt_text_nearest(name, names, n);
    return cli_fail(LT_ERR_ARGUMENT, "nothing is called '%s'%s%s%s; 'lathe explain' lists all names", name,
                    near ? ", did you mean '" : "", near ? near : "", near ? "'?" : "");
}

static lt_status run(cli_context *c)
{
    if (c->n_operands == 0) {
        list_names(c);
        return LT_OK;
    }
    if (c->json) {
        lt_json_key(c->json, "answers");
        lt_json_array_begin(c->json);
    }
    for (int i = 0; i < c->n_operands; i++) {
        bool more = i + 1 < c->n_operands;
        if (!more && !strcmp(c->operand[i], "code")) {
            explain_all_codes(c);
        } else if (!more && !strcmp(c->operand[i], "option")) {
            explain_solver_options(c);
        } else if (more && !strcmp(c->operand[i], "code")) {
            if (!explain_code(c, c->operand[++i]))
                return cli_fail(LT_ERR_ARGUMENT, "there is no termination code '%s'; they go from 0 to %d", c->operand[i], LT_TERMINATION_COUNT - 1);
        } else if (more && !strcmp(c->operand[i], "option")) {
            if (!(explain_option(c, c->operand[i + 1]) + explain_solver_option(c, c->operand[i + 1]))) CLI_TRY(explain(c, c->operand[i + 1]));
            i++;
        } else {
            CLI_TRY(explain(c, c->operand[i]));
        }
    }
    if (c->json) lt_json_array_end(c->json);
    return LT_OK;
}

const cli_command cli_explain = {
    .name = "explain", .options = &table, .any_environment = true, .options_bytes = sizeof(explain_options), .run = run, .operands = all_names,
    .description = "Explains each name: an op of the graph with its C signature, a status by name, number or constant, "
                   "an option of any subcommand or of the solver ('option mu0' if the name means other things, too; 'option' alone: all of the solver), a "
                   "termination code "
                   "('code 6'), an environment variable with its value here. "
                   "Without a name it lists all of them.",
};
