/* A program of subcommands (lathe, lathe-bench): finds the subcommand, parses its options, runs it, reports.
   SPDX-License-Identifier: BSD-3-Clause */
#include "cli/frame/cli.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { EXIT_OK = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

/* ---- Failures -------------------------------------------------------------------- */

static char own_message[1024];

lt_status cli_fail(lt_status s, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    vsnprintf(own_message, sizeof own_message, format, ap);
    va_end(ap);
    lt_text_disarm(own_message);
    return s;
}

const char *cli_error_text(void) { return own_message[0] ? own_message : lt_error_text(); }

/* By the kind of failure (decision 14). */
static int exit_status(lt_status s)
{
    switch (s) {
    case LT_OK:            return EXIT_OK;
    case LT_ERR_ARGUMENT:
    case LT_ERR_FORMAT:    return EXIT_USAGE;
    case LT_ERR_CANCELLED: return cli_stop_status();
    default:               return EXIT_FAILED;
    }
}

/* ---- Finding the subcommand ------------------------------------------------------- */

/* How many of the arguments name `command` ("qsvm predict" takes two); 0 when they do not. */
static int words_matching(const cli_command *command, int argc, char **argv)
{
    const char *name = command->name;
    int n = 0;
    while (*name) {
        size_t length = strcspn(name, " ");
        if (n >= argc || strlen(argv[n]) != length || memcmp(argv[n], name, length)) return 0;
        name += length + strspn(name + length, " ");
        n++;
    }
    return n;
}

/* The longest name that fits: "qsvm predict" before "qsvm". */
static const cli_command *find_command(int argc, char **argv, int *n_words)
{
    const cli_command *found = NULL;
    *n_words = 0;
    for (int i = 0; i < cli_n_commands; i++) {
        int n = words_matching(cli_commands[i], argc, argv);
        if (n <= *n_words) continue;
        *n_words = n;
        found = cli_commands[i];
    }
    return found;
}

/* True when some subcommand's name begins with this word and a space. */
static bool is_family(const char *word)
{
    size_t n = strlen(word);
    for (int i = 0; i < cli_n_commands; i++)
        if (!strncmp(cli_commands[i]->name, word, n) && cli_commands[i]->name[n] == ' ') return true;
    return false;
}

static void list_command(FILE *to, const cli_command *command, const char *prefix)
{
    size_t n = strlen(prefix);
    if (!strncmp(command->name, prefix, n)) fprintf(to, "  %-18s %s\n", command->name + n, command->options->summary);
}

/* Prints the subcommands whose names begin with prefix, without it. */
static void list_commands(FILE *to, const char *prefix)
{
    for (int i = 0; i < cli_n_commands; i++) list_command(to, cli_commands[i], prefix);
}

/* All of them, under their headings. */
static void list_all(FILE *to)
{
    fputs(cli_program.n_headings ? "" : "\nSubcommands:\n", to);
    for (int i = 0; i < cli_n_commands; i++) {
        for (int k = 0; k < cli_program.n_headings; k++)
            if (cli_program.headings[k].first == cli_commands[i]) fprintf(to, "\n%s:\n", cli_program.headings[k].text);
        list_command(to, cli_commands[i], "");
    }
}

static void print_usage(FILE *to)
{
    const char *name = cli_program.name;
    fprintf(to, "usage: %s SUBCOMMAND [options] [operands]\n", name);
    list_all(to);
    fprintf(to, "\n  %s help SUBCOMMAND   options and an example (also: %s SUBCOMMAND --help)\n"
                "  %s --version         version of the command and the library\n\n"
                "Example:\n  %s\n", name, name, name, cli_program.example);
}

/* "lathe: 'inspect' is gone: use 'lathe info'" */
static bool is_gone(const char *word)
{
    for (int i = 0; i < cli_program.n_gone; i++)
        if (!strcmp(word, cli_program.gone[i].name)) {
            fprintf(stderr, "%s: '%s' is gone: use %s\n", cli_program.name, word, cli_program.gone[i].instead);
            return true;
        }
    return false;
}

/* "lathe: no subcommand 'sovle'; did you mean 'solve'?" */
static int unknown_command(int argc, char **argv)
{
    const char *names[64] = { NULL };
    char first[64][32];
    int n = 0;
    if (is_gone(argv[0])) return EXIT_USAGE;
    bool family = is_family(argv[0]);
    if (family && argc < 2) {
        fprintf(stderr, "%s: '%s' needs one of these after it:\n", cli_program.name, argv[0]);
        char prefix[64];
        snprintf(prefix, sizeof prefix, "%s ", argv[0]);
        list_commands(stderr, prefix);
        return EXIT_USAGE;
    }
    for (int i = 0; i < cli_n_commands && n < 64; i++) {
        const char *name = cli_commands[i]->name;
        if (family) {
            size_t skip = strlen(argv[0]);
            if (strncmp(name, argv[0], skip) || name[skip] != ' ') continue;
            names[n++] = name + skip + 1;
        } else {
            snprintf(first[n], sizeof first[n], "%.*s", (int)strcspn(name, " "), name);
            names[n] = first[n];
            n++;
        }
    }
    const char *word = argv[family ? 1 : 0], *near = lt_text_nearest(word, names, n);
    fprintf(stderr, "%s: no subcommand '%s%s%s'", cli_program.name, family ? argv[0] : "", family ? " " : "", word);
    if (near) fprintf(stderr, "; did you mean '%s%s%s'?\n", family ? argv[0] : "", family ? " " : "", near);
    else fprintf(stderr, "; '%s --help' lists them\n", cli_program.name);
    return EXIT_USAGE;
}

/* ---- Running one -------------------------------------------------------------------- */

void cli_drop_sources(char *text)
{
    for (char *at = text; (at = strstr(at, " (src/"));) {
        char *end = strchr(at, ')');
        if (!end || end - at > 80) return;
        memmove(at, end + 1, strlen(end + 1) + 1);
    }
}

/* text, without the n bytes of a word and ": " in front. */
static const char *without(const char *text, const char *word, size_t n)
{
    return !strncmp(text, word, n) && !strncmp(text + n, ": ", 2) ? text + n + 2 : text;
}

/* The sentence for people: without the kind of failure where it says as much, of wrong calls and files, and without the command, which stands before it. */
static const char *sentence(const cli_command *command, const char *text)
{
    static const lt_status plain[] = { LT_ERR_ARGUMENT, LT_ERR_FORMAT, LT_ERR_IO };
    for (int i = 0; i < CLI_LEN(plain); i++) {
        const char *kind = lt_status_name(plain[i]), *rest = without(text, kind, strlen(kind));
        if (rest != text) return without(rest, command->name, strcspn(command->name, " "));
    }
    return text;
}

/* The error goes to standard error; with --json the object on standard output holds it too. */
static int report_failure(const cli_command *command, lt_status s, bool json)
{
    char text[1024], brief[1024];
    snprintf(text, sizeof text, "%s", cli_error_text());
    snprintf(brief, sizeof brief, "%s", text);
    if (s != LT_ERR_INTERNAL) cli_drop_sources(brief);
    fprintf(stderr, "%s %s: %s\n", cli_program.name, command->name, sentence(command, brief));
    if (json) {
        lt_json *j;
        if (!lt_json_create_file(stdout, LT_JSON_INDENT, &j)) {
            lt_json_object_begin(j);
            lt_json_field_string(j, "command", command->name);
            lt_json_field_string(j, "error", lt_status_name(s));
            lt_json_field_string(j, "message", text);
            lt_json_object_end(j);
            lt_json_finish(j);
            lt_json_destroy(j);
        }
    }
    return exit_status(s);
}

/* Where the time, the memory and the transfers went, in short; the file has all of it. */
static lt_status report_profile(const char *path)
{
    CLI_TRY(lt_trace_print_table(stderr, LT_TRACE_SELF, 12));
    lt_trace_memory_row row;
    if (lt_trace_memory_rows(&row, 1) > 0) {
        fputc('\n', stderr);
        CLI_TRY(lt_trace_print_memory(stderr));
    }
    int64_t moved = 0;
    for (int t = 0; t < LT_TRANSFER_COUNT; t++) moved += lt_trace_transfers((lt_transfer)t, false).count + lt_trace_transfers((lt_transfer)t, true).count;
    if (moved) {
        fputc('\n', stderr);
        CLI_TRY(lt_trace_print_transfers(stderr));
    }
    fprintf(stderr, "\n%s: trace in %s; open it in https://ui.perfetto.dev\n", cli_program.name, path);
    return LT_OK;
}

/* Says where it was computed when nobody had named a device, and what results of one that computes nothing are worth. */
static void report_device(const cli_command *command, const cli_context *c, bool asked)
{
    lt_device_info d = { .size = sizeof d };
    if (command->need == CLI_NEED_NOTHING || c->common.quiet) return;
    if (c->device ? lt_device_describe(c->device, &d) : lt_device_list(0, &d)) return;
    if (!strcmp(d.id, "null")) fprintf(stderr, "%s: device %s %s: results mean nothing\n", cli_program.name, d.id, d.name);
    else if (!asked && !c->json && !command->reports_device) fprintf(stderr, "%s: device %s: %s\n", cli_program.name, d.id, d.name);
}

/* A value that means nothing would be passed over in silence. Doctor reports it, explain says what it could be. */
static lt_status check_environment(const cli_command *command)
{
    int n;
    const lt_env_row *rows = lt_env_rows(&n);
    if (command->any_environment) return LT_OK;
    for (int i = 0; i < n; i++) CLI_TRY(lt_env_check(&rows[i]));
    return LT_OK;
}

/* Opens what the subcommand needs, runs it under the trace, writes the trace and the JSON. */
static lt_status run_in_context(const cli_command *command, cli_context *c)
{
    CLI_TRY(check_environment(command));
    CLI_TRY(cli_check_files(command, c)); /* what cannot be written is said first, not after an hour of work */
    bool asked = strcmp(c->common.device, "auto") != 0;
    const char *name = !asked && command->need == CLI_NEED_CPU ? "cpu" : c->common.device;
    if (command->need == CLI_NEED_DEVICE || command->need == CLI_NEED_CPU || asked) CLI_TRY(lt_device_open(name, &c->device));
    if (c->common.profile) CLI_TRY(lt_trace_start(NULL));
    if (c->json) {
        lt_json_object_begin(c->json);
        lt_json_field_string(c->json, "command", command->name);
        lt_json_field_string(c->json, "version", lt_version());
    }
    cli_stop_politely(command->stops);
    lt_status s = command->run(c);
    if (!s) report_device(command, c, asked);
    if (c->common.profile) {
        lt_trace_stop();
        lt_status written = lt_trace_write_chrome(c->common.profile);
        if (!s) s = written;
        if (!s && !c->common.quiet) s = report_profile(c->common.profile);
    }
    if (c->json && (!s || c->json_complete)) {
        lt_json_object_end(c->json);
        lt_status written = lt_json_finish(c->json);
        if (!written && puts(lt_json_text(c->json)) < 0) written = cli_fail(LT_ERR_IO, "could not write to standard output");
        if (!s) s = written;
    }
    return s;
}

static int run_command(const cli_command *command, int argc, char **argv)
{
    void *options = calloc(1, command->options_bytes);
    if (!options) {
        fprintf(stderr, "%s: out of memory\n", cli_program.name);
        return EXIT_FAILED;
    }
    lt_parsed parsed = { 0 };
    cli_context c = { .options = options };
    lt_status s = cli_ranks_open(command, &c);
    bool opened = !s;
    if (!s) s = lt_options_parse(command->options, argc, argv, options, &parsed);
    c.common = *(const cli_common *)options;
    c.common.quiet |= c.silent;
    if (c.silent) c.common.profile = NULL; /* a trace is of rank 0 */
    c.n_operands = parsed.n_operands;
    c.operand = parsed.operand;
    int code;
    if (s) {
        if (opened) s = cli_ranks_end(&c, s);
        code = c.silent ? exit_status(s) : report_failure(command, s, c.common.json);
        if (!c.silent && opened) fprintf(stderr, "%s: '%s help %s' lists the options\n", cli_program.name, cli_program.name, command->name);
    } else if (parsed.help) {
        lt_options_help(command->options, stdout);
        code = EXIT_OK;
    } else {
        if (c.common.json) s = lt_json_create(LT_JSON_INDENT, &c.json);
        if (!s) s = run_in_context(command, &c);
        s = cli_ranks_end(&c, s);
        code = !s ? EXIT_OK : c.silent ? exit_status(s) : report_failure(command, s, c.common.json && !c.json_complete);
    }
    cli_ranks_close(&c);
    lt_json_destroy(c.json);
    lt_device_close(c.device);
    free(options);
    return code;
}

/* `lathe help X`: the page of X, or the list. */
static int run_help(int argc, char **argv)
{
    int n_words;
    if (argc == 0) {
        print_usage(stdout);
        return EXIT_OK;
    }
    const cli_command *command = find_command(argc, argv, &n_words);
    if (command) {
        lt_options_help(command->options, stdout);
        return EXIT_OK;
    }
    if (argc == 1 && is_family(argv[0])) {
        char prefix[64];
        snprintf(prefix, sizeof prefix, "%s ", argv[0]);
        printf("usage: %s %s NAME [options]\n\n", cli_program.name, argv[0]);
        list_commands(stdout, prefix);
        return EXIT_OK;
    }
    return unknown_command(argc, argv);
}

static int dispatch(int argc, char **argv)
{
    if (argc == 0) {
        print_usage(stderr);
        return EXIT_USAGE;
    }
    if (!strcmp(argv[0], "--version") || !strcmp(argv[0], "-V")) {
        printf("%s %s (%s)\n", cli_program.name, lt_version(), cli_commit());
        return EXIT_OK;
    }
    if (!strcmp(argv[0], "--help") || !strcmp(argv[0], "-h")) return run_help(argc - 1, argv + 1);
    if (!strcmp(argv[0], "help")) return run_help(argc - 1, argv + 1);
    if (!strcmp(argv[0], "--generate") && cli_program.generate) return cli_program.generate(argc > 1 ? argv[1] : "");
    int n_words;
    const cli_command *command = find_command(argc, argv, &n_words);
    if (command) return run_command(command, argc - n_words, argv + n_words);
    if (argc == 2 && is_family(argv[0]) && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))) return run_help(1, argv);
    if (argv[0][0] == '-') {
        fprintf(stderr, "%s: the subcommand comes first, got '%s'; '%s --help' lists them\n", cli_program.name, argv[0], cli_program.name);
        return EXIT_USAGE;
    }
    return unknown_command(argc, argv);
}

static void remember_command_line(int argc, char **argv)
{
    size_t used = (size_t)snprintf(cli_command_line, sizeof cli_command_line, "%s", cli_program.name);
    for (int i = 1; i < argc && used < sizeof cli_command_line; i++)
        used += (size_t)snprintf(cli_command_line + used, sizeof cli_command_line - used, " %s", argv[i]);
}

/* The process of lathe generate in which rollouts run. Signals stay as they are: the command that started it decides what they mean. */
static int serve_as_worker(void)
{
    if (fcntl(LT_WORKER_FD, F_GETFD) >= 0) return lt_generate_worker(LT_WORKER_FD) ? EXIT_FAILED : EXIT_OK;
    fprintf(stderr, "lathe: " CLI_WORKER " is for 'lathe generate' to start\n");
    return EXIT_USAGE;
}

int cli_main(int argc, char **argv)
{
    if (cli_take_room()) {
        fprintf(stderr, "%s: memory: %s\n", cli_program.name, cli_error_text());
        return EXIT_FAILED;
    }
    if (argc > 1 && !strcmp(argv[1], CLI_WORKER)) return serve_as_worker();
    cli_catch_signals();
    remember_command_line(argc, argv);
    int code = dispatch(argc - 1, argv + 1);
    /* Output that did not arrive is a failure, even when all else went well. */
    if ((fflush(stdout) || ferror(stdout)) && code == EXIT_OK) {
        fprintf(stderr, "%s: could not write to standard output\n", cli_program.name);
        code = EXIT_FAILED;
    }
    return code;
}
