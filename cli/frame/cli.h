/* What the files of the command share: the table of subcommands, their context, output helpers.
   SPDX-License-Identifier: BSD-3-Clause */
#ifndef LATHE_CLI_FRAME_CLI_H
#define LATHE_CLI_FRAME_CLI_H

#include "lathe/lathe.h"

#include <stdio.h>

#define CLI_MIN(a, b) ((a) < (b) ? (a) : (b))
#define CLI_LEN(array) (int)(sizeof(array) / sizeof(array)[0])

/* ---- Subcommands -------------------------------------------------------------- */

/* The options every subcommand has: the first member of each options struct. */
typedef struct cli_common {
    bool        json, quiet;
    const char *device, *profile;
    int64_t     seed;
} cli_common;

typedef struct cli_context {
    const void *options;       /* the subcommand's struct, parsed and checked */
    cli_common  common;
    lt_device  *device;        /* opened as --device says; NULL unless the row asks for it */
    lt_json    *json;          /* NULL without --json; else an open object: add fields, print nothing */
    lt_cluster *cluster;       /* the ranks of mpirun or srun, where the row has `ranks`; NULL: this process is alone */
    bool        silent;        /* another rank speaks for this one */
    bool        json_complete; /* it holds a result, to be printed even where the command then fails */
    int         n_operands;
    char      **operand;
} cli_context;

/* What --device auto opens: nothing, the best device here, the CPU where that is all the command knows, or what the
   command chooses itself, the CPU again where it opened nothing. */
typedef enum cli_need { CLI_NEED_NOTHING, CLI_NEED_DEVICE, CLI_NEED_CPU, CLI_NEED_CHOSEN } cli_need;

typedef struct cli_command {
    const char            *name;         /* "devices", "qsvm predict" */
    const lt_option_table *options;
    size_t                 options_bytes;
    cli_need               need;
    bool                   reports_device; /* its own output says where it computed */
    bool                   makes_folders; /* those of --output that are missing */
    bool                   any_environment; /* runs whatever the environment variables are set to: it reports them */
    bool                   stops;        /* looks at the interrupt flag all the while; without it a signal ends the process at once */
    bool                   ranks;        /* shares its work between ranks, where there are several */
    lt_status            (*run)(cli_context *c);
    const char            *description;  /* for the manual: plain sentences, paragraphs split by \n */
    const char *const   *(*operands)(int *n); /* completion of operands; NULL = none */
} cli_command;

/* A subcommand of an earlier version, and what does its work now. */
typedef struct cli_gone { const char *name, *instead; } cli_gone;

/* A heading of the list of subcommands, and the subcommand it stands before. */
typedef struct cli_heading { const char *text; const cli_command *first; } cli_heading;

/* What makes a program of these files: lathe (cli/commands.c) and lathe-bench (bench/commands.c) define one each. */
typedef struct cli_program_row {
    const char     *name, *example;        /* a first thing to try */
    const cli_gone *gone;
    int             n_gone;
    const cli_heading *headings;           /* in the order of the table; NULL = none */
    int             n_headings;
    int           (*generate)(const char *form); /* --generate; NULL = this program has no such option */
} cli_program_row;
extern const cli_program_row cli_program;
int cli_main(int argc, char **argv); /* all of main(): the exit status */
extern const cli_command *const cli_commands[];
extern const int cli_n_commands;

enum { CLI_N_COMMON_ROWS = 5 };
extern const lt_option cli_common_rows[CLI_N_COMMON_ROWS];

/* The groups of a subcommand's table: its own rows, then the common ones. */
#define CLI_GROUPS(own_rows)                                                              \
    { { .title = "Options", .rows = own_rows, .n_rows = CLI_LEN(own_rows) },              \
      { .title = "Common options", .rows = cli_common_rows, .n_rows = CLI_N_COMMON_ROWS } }
#define CLI_COMMON_GROUP { { .title = "Common options", .rows = cli_common_rows, .n_rows = CLI_N_COMMON_ROWS } }

extern const cli_command cli_solve, cli_gram, cli_qsvm, cli_qsvm_predict, cli_train_kernel, cli_devices, cli_doctor, cli_tune, cli_explain, cli_demo;
extern const cli_command cli_visualize_ic_types;
extern const cli_command cli_generate_dataset, cli_info, cli_validate, cli_replay, cli_merge, cli_extract_features, cli_upgrade, cli_table_command, cli_export, cli_split, cli_card,
    cli_visualize_dataset, cli_visualize_features;

/* The word that makes the command a worker of its own `lathe generate` (lt_generate_worker). */
#define CLI_WORKER "--dataset-worker"

/* Where a device computes: in the host's memory (NULL is the CPU), or on a GPU; "null" does neither. */
bool cli_on_cpu(lt_device *dev);
bool cli_on_gpu(lt_device *dev);

/* ---- Failures and interruption -------------------------------------------------- */

/* Sets the command's message and returns s; LT_ERR_ARGUMENT and LT_ERR_FORMAT end with status 2. */
lt_status   cli_fail(lt_status s, const char *format, ...) __attribute__((format(printf, 2, 3)));
const char *cli_error_text(void);      /* the command's own message, else the library's */
/* Where in the library a failure arose, "(src/…)", helps those who mend it, not those who made a slip: left out. */
void        cli_drop_sources(char *text);
/* Raises the limit of the stack as far as it may be, and fails where that is too little; makes do with a limited address space. */
lt_status   cli_take_room(void);
/* Ctrl-C and other signals that end a run (signals.c). */
void        cli_catch_signals(void);
void        cli_stop_politely(bool politely); /* the first signal sets the flag from here on, and only a second one ends the process */
bool        cli_interrupted(void);     /* one came: stop soon, return cli_stopped() */
lt_status   cli_stopped(void);
const volatile int *cli_interrupt_flag(void); /* not 0 once one came */
const char *cli_stop_reason(void);     /* "interrupted by SIGTERM" */
int         cli_stop_status(void);     /* what the process exits with */

#define CLI_TRY(call)                                    \
    do {                                                 \
        lt_status cli_try_status_ = (call);              \
        if (cli_try_status_) return cli_try_status_;     \
    } while (0)

/* For batch systems with a time limit: the first SIGTERM sets a flag of its own, which asks to finish what has begun; a second ends the process at once. */
void        cli_drain_on_term(void);
const volatile int *cli_drain_flag(void);
/* A run that was drained before its end: "resume me" and status 0 (decision 224). */
lt_status   cli_say_resume(const cli_context *c, const char *what, int64_t done, int64_t total);

/* ---- Ranks (ranks.c) ------------------------------------------------------------------------ */

bool      cli_first_rank(const cli_context *c);    /* rank 0, or alone: writes results and speaks */
bool      cli_several_ranks(const cli_context *c);
/* Joins the other ranks, where a launcher started several. */
lt_status cli_ranks_open(const cli_command *command, cli_context *c);
/* One status for all ranks: that of the first which failed, with its message. */
lt_status cli_ranks_end(cli_context *c, lt_status s);
void      cli_ranks_close(cli_context *c);

/* ---- Files the user names (NULL is fine) -------------------------------------------- */

/* What is wrong with a file the user named is the user's to mend: status 2. */
lt_status cli_blame_input(lt_status s);
/* Fails early when a file cannot be read, or the folder of an output is missing or read-only. */
lt_status cli_check_input(const char *path);
/* A file, or what the shell has opened for us (/dev/fd/N); a pipe by its name is refused, since nobody may ever write to it. */
lt_status cli_open_input(const char *path, FILE **out);
lt_status cli_check_output(const char *path);
lt_status cli_check_no_folder(const char *path); /* for outputs whose folders are made */
bool      cli_ends_in(const char *path, const char *ending); /* ".csv", in capitals or not */
/* An output whose name says what it holds: ".npy", and ".csv" where csv; other endings are refused. */
lt_status cli_check_ending(const char *option, const char *path, bool csv);
bool      cli_same_file(const char *a, const char *b); /* also under two names; files that are not there: by folder and name */
/* All files of a command line: what is written can be, and is neither read nor written for another purpose. Called before any command runs. */
lt_status cli_check_files(const cli_command *command, const cli_context *c);
/* A fresh folder for files that are not kept; removing it removes them too. Zeroed, or one that could not be made, is no folder. */
typedef struct cli_folder { char path[64]; } cli_folder;
typedef struct cli_folder_path { char s[128]; } cli_folder_path;
lt_status       cli_folder_make(cli_folder *f);
cli_folder_path cli_folder_file(const cli_folder *f, const char *name);
void            cli_folder_remove(cli_folder *f);

/* ---- Output ----------------------------------------------------------------------- */

enum { CLI_MAX_COLUMNS = 16, CLI_MAX_ROWS = 128, CLI_CELL = 88 };

/* A table built once and written three ways: as text, into a report, as JSON. */
typedef struct cli_table {
    const char *title;
    int         n_columns, n_rows;
    const char *column[CLI_MAX_COLUMNS];
    char        cell[CLI_MAX_ROWS][CLI_MAX_COLUMNS][CLI_CELL];
} cli_table;

lt_status cli_table_create(const char *title, int n_columns, const char *const *columns, cli_table **out);
void      cli_table_row(cli_table *t); /* begins a row; a full table keeps its last one */
void      cli_table_cell(cli_table *t, int column, const char *format, ...) __attribute__((format(printf, 3, 4)));
void      cli_table_print(const cli_table *t, FILE *to);
void      cli_table_report(const cli_table *t, lt_report *r);
void      cli_table_destroy(cli_table *t);

typedef struct cli_text { char s[48]; } cli_text;
double   cli_plain(double v);          /* NaN without a sign, which C libraries print */
cli_text cli_number(double v);         /* all its digits and no more: reads back as v */
cli_text cli_bytes(double bytes);      /* "1.50 GiB" */
cli_text cli_seconds(double seconds);  /* "12.3 us" */
typedef struct cli_line { char s[1024]; } cli_line;
cli_line cli_shown(const char *text);  /* text of a file, with nothing in it that steers a terminal */

/* Command line, commit, machine: what every stored measurement carries. */
lt_status cli_json_machine(cli_context *c);
void      cli_report_machine(cli_context *c, lt_report *r);
/* A page with the machine and one table. */
lt_status cli_table_page(cli_context *c, const cli_table *t, const char *title, const char *path);
extern char cli_command_line[1024];
const char *cli_commit(void);

/* ---- Timing ------------------------------------------------------------------------- */

typedef struct cli_timing {
    double median, low, high;  /* seconds of one call; low and high are the quartiles */
    int    samples;
    int64_t calls_per_sample;
} cli_timing;

typedef lt_status (*cli_timed)(void *ctx);

/* Doubles the calls of a sample until it takes long enough to trust the clock, then takes samples
   for about `budget` seconds. */
lt_status cli_time(cli_timed call, void *ctx, double budget, cli_timing *out);
double    cli_now(void);
int       cli_ascending(const void *a, const void *b); /* doubles, for qsort */

#endif
