/* Files the user names: checked before work begins, blamed on the right side afterwards.
   SPDX-License-Identifier: BSD-3-Clause */
#include "cli.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
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

lt_status cli_check_output(const char *path)
{
    char folder[4096];
    struct stat st;
    if (!path) return LT_OK;
    if (!stat(path, &st) && S_ISDIR(st.st_mode)) return cli_fail(LT_ERR_ARGUMENT, "%s cannot be written: it is a folder", path);
    const char *slash = strrchr(path, '/');
    snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - path) + (slash == path) : 1, slash ? path : ".");
    if (access(folder, W_OK)) return cli_fail(LT_ERR_ARGUMENT, "%s cannot be written: folder '%s': %s", path, folder, strerror(errno));
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
