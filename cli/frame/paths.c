/* Files the user names: checked before work begins, blamed on the right side afterwards.
   SPDX-License-Identifier: BSD-3-Clause */
#include "cli/frame/cli.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

lt_status cli_blame_input(lt_status s)
{
    if (s == LT_ERR_IO || s == LT_ERR_TYPE || s == LT_ERR_SHAPE) return cli_fail(LT_ERR_ARGUMENT, "%s", lt_error_text());
    return s;
}

lt_status cli_check_input(const char *path)
{
    struct stat st;
    if (!path) return LT_OK;
    if (access(path, R_OK) || stat(path, &st)) return cli_fail(LT_ERR_ARGUMENT, "%s: cannot open: %s", path, strerror(errno));
    return S_ISREG(st.st_mode) ? LT_OK : cli_fail(LT_ERR_ARGUMENT, "%s: not a regular file", path);
}

lt_status cli_open_input(const char *path, FILE **out)
{
    const bool opened = !strncmp(path, "/dev/fd/", 8) || !strcmp(path, "/dev/stdin");
    if (!opened) CLI_TRY(cli_check_input(path));
    *out = fopen(path, "r");
    return *out ? LT_OK : cli_fail(LT_ERR_ARGUMENT, "%s: cannot open: %s", path, strerror(errno));
}

lt_status cli_check_no_folder(const char *path)
{
    struct stat st;
    return !stat(path, &st) && S_ISDIR(st.st_mode) ? cli_fail(LT_ERR_ARGUMENT, "%s cannot be written: it is a folder", path) : LT_OK;
}

/* The folder of a path; returns the name in it. */
static const char *folder_of(const char *path, char *folder, size_t bytes)
{
    const char *slash = strrchr(path, '/');
    snprintf(folder, bytes, "%.*s", slash ? (int)(slash - path) + (slash == path) : 1, slash ? path : ".");
    return slash ? slash + 1 : path;
}

/* As in --output /dev/stdout > FILE: what is printed would go to the file that was replaced, and be lost. */
static bool is_printed_to(const struct stat *st)
{
    struct stat printed;
    for (int fd = 1; fd <= 2; fd++)
        if (!fstat(fd, &printed) && printed.st_dev == st->st_dev && printed.st_ino == st->st_ino) return true;
    return false;
}

lt_status cli_check_output(const char *path)
{
    char folder[4096], found[PATH_MAX];
    if (!path) return LT_OK;
    struct stat st;
    CLI_TRY(cli_check_no_folder(path));
    const bool exists = !stat(path, &st), link = !lstat(path, &(struct stat){ 0 }) && !exists;
    if (exists && !S_ISREG(st.st_mode)) return cli_fail(LT_ERR_ARGUMENT, "%s cannot be written: it is not a regular file", path);
    if (exists && is_printed_to(&st)) return cli_fail(LT_ERR_ARGUMENT, "%s cannot be written: what the command prints goes there", path);
    if (link) return cli_fail(LT_ERR_ARGUMENT, "%s cannot be written: it is a symbolic link that leads to no file", path);
    folder_of(exists && realpath(path, found) ? found : path, folder, sizeof folder);
    if (access(folder, W_OK)) return cli_fail(LT_ERR_ARGUMENT, "%s cannot be written: folder '%s': %s", path, folder, strerror(errno));
    return LT_OK;
}

bool cli_ends_in(const char *path, const char *ending)
{
    size_t n = strlen(path), k = strlen(ending);
    return n > k && !strcasecmp(path + n - k, ending);
}

/* Before any work (decision 151). */
lt_status cli_check_ending(const char *option, const char *path, bool csv)
{
    if (!path || cli_ends_in(path, ".npy") || (csv && cli_ends_in(path, ".csv"))) return LT_OK;
    return cli_fail(LT_ERR_ARGUMENT, "--%s %s: expected a name that ends in .npy%s", option, path, csv ? " or .csv" : "");
}

/* Of files that are not there yet. */
static bool same_place(const char *a, const char *b)
{
    char x[4096], y[4096];
    struct stat of_a, of_b;
    if (strcmp(folder_of(a, x, sizeof x), folder_of(b, y, sizeof y))) return false;
    return !stat(x, &of_a) && !stat(y, &of_b) && of_a.st_dev == of_b.st_dev && of_a.st_ino == of_b.st_ino;
}

bool cli_same_file(const char *a, const char *b)
{
    struct stat x, y;
    if (!a || !b) return false;
    const bool no_a = stat(a, &x) != 0, no_b = stat(b, &y) != 0;
    if (no_a && no_b) return same_place(a, b);
    return !no_a && !no_b && S_ISREG(x.st_mode) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* ---- All files of a command line ---- */

enum { MAX_NAMED = 32 + LT_TEXT_LIST_MAX };

typedef struct named_file { const char *option, *path; bool written; } named_file; /* option NULL: an operand */

/* Options of all commands that name what is written, apart from caches: those that end in "out", and these. A new one belongs here. */
static bool is_written(const char *option)
{
    static const char *const names[] = { "output", "report", "csv", "parquet", "statistics", "npz", "the-well", "profile", "checkpoint" };
    const size_t n = strlen(option);
    if (n >= 3 && !strcmp(option + n - 3, "out")) return true;
    for (int i = 0; i < CLI_LEN(names); i++)
        if (!strcmp(option, names[i])) return true;
    return false;
}

/* Folders that are made: nothing reads them. */
static bool is_folder(const named_file *f) { return f->option && !strcmp(f->option, "zarr"); }

static int list_files(const cli_command *command, const cli_context *c, named_file *file)
{
    int n = 0;
    for (int g = 0; g < command->options->n_groups; g++) {
        const lt_option_group *group = &command->options->groups[g];
        const lt_option *row;
        for (int r = 0; n < MAX_NAMED && (row = lt_option_group_row(group, r)); r++) {
            if (row->type != LT_OPTION_TYPE_PATH) continue;
            const char *path = *(const char *const *)((const char *)c->options + group->base + row->offset);
            if (path) file[n++] = (named_file){ row->name, path, is_written(row->name) };
        }
    }
    for (int i = 0; i < c->n_operands && n < MAX_NAMED; i++) file[n++] = (named_file){ NULL, c->operand[i], false };
    return n;
}

static lt_status check_apart(const named_file *out, const named_file *other)
{
    if (!cli_same_file(out->path, other->path)) return LT_OK;
    if (!strcmp(out->option, "checkpoint") && other->option && !strcmp(other->option, "resume")) return LT_OK; /* a run that goes on in its file */
    if (other->written || is_folder(other)) return cli_fail(LT_ERR_ARGUMENT, "--%s and --%s are the same file, %s: they must differ", out->option, other->option, out->path);
    return cli_fail(LT_ERR_ARGUMENT, "--%s %s is also what %s%s reads: it must differ", out->option, out->path, other->option ? "--" : "the command",
                    other->option ? other->option : "");
}

lt_status cli_check_files(const cli_command *command, const cli_context *c)
{
    named_file file[MAX_NAMED];
    const int n = list_files(command, c, file);
    for (int i = 0; i < n; i++) {
        if (!file[i].written) continue;
        const bool made = command->makes_folders && !strcmp(file[i].option, "output");
        CLI_TRY(made ? cli_check_no_folder(file[i].path) : cli_check_output(file[i].path));
        for (int k = 0; k < n; k++)
            if (k != i) CLI_TRY(check_apart(&file[i], &file[k]));
    }
    return LT_OK;
}

/* ---- Files that are not kept ---- */

lt_status cli_folder_make(cli_folder *f)
{
    snprintf(f->path, sizeof f->path, "%s/lathe-XXXXXX", P_tmpdir);
    if (mkdtemp(f->path)) return LT_OK;
    f->path[0] = '\0';
    return cli_fail(LT_ERR_IO, "no temporary folder can be made in %s: %s", P_tmpdir, strerror(errno));
}

cli_folder_path cli_folder_file(const cli_folder *f, const char *name)
{
    cli_folder_path p;
    snprintf(p.s, sizeof p.s, "%s/%.60s", f->path, name);
    return p;
}

void cli_folder_remove(cli_folder *f)
{
    DIR *d = f->path[0] ? opendir(f->path) : NULL;
    for (struct dirent *e; d && (e = readdir(d));)
        if (strcmp(e->d_name, ".") && strcmp(e->d_name, "..")) (void)unlinkat(dirfd(d), e->d_name, 0);
    if (d) closedir(d);
    if (f->path[0]) (void)rmdir(f->path);
    f->path[0] = '\0';
}
