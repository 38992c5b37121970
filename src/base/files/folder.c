/* Folders that appear whole or not at all. SPDX-License-Identifier: BSD-3-Clause */
#include "base/files/folder.h"

#include "base/alloc.h"
#include "base/files/file.h"
#include "base/files/temporary.h"
#include "base/status.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_ATTEMPTS = 100, SUFFIX = 32, MAX_DEPTH = 64 };

/* ---- Removing --------------------------------------------------------------------------------------------- */

/* Links are removed, never followed. */
static bool remove_below(int fd, int depth)
{
    DIR *d = depth < MAX_DEPTH ? fdopendir(fd) : NULL;
    bool all = d != NULL;
    if (!d) close(fd);
    for (struct dirent *e; d && (e = readdir(d));) {
        if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..")) continue;
        if (!unlinkat(dirfd(d), e->d_name, 0)) continue;
        int inner = openat(dirfd(d), e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (inner < 0 || !remove_below(inner, depth + 1) || unlinkat(dirfd(d), e->d_name, AT_REMOVEDIR)) all = false;
    }
    if (d) closedir(d);
    return all;
}

static bool remove_folder(const char *name)
{
    int fd = open(name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return fd >= 0 && remove_below(fd, 0) && !rmdir(name);
}

/* ---- Opening ---------------------------------------------------------------------------------------------- */

/* False: it stays, since a process writes it. */
static bool remove_leftover(const char *name)
{
    int fd = open(name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    bool gone = fd >= 0 && lt_temporary_lock(fd) && lt_temporary_is_named(fd, name) && remove_folder(name);
    if (fd >= 0) close(fd);
    return gone;
}

/* Nobody can write there, whatever happens. */
static bool is_of_path(int error) { return error == ENOENT || error == ENOTDIR || error == EACCES || error == EROFS || error == ENAMETOOLONG; }

/* Opens and locks it; *taken false: another process has it. */
static lt_status take_temporary(lt_atomic_folder *f, bool *taken)
{
    *taken = false;
    f->fd = open(f->temporary, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (f->fd < 0 && errno == ENOENT) return LT_OK; /* taken for a leftover and removed */
    if (f->fd < 0) return LT_FAIL(lt_file_status(errno), "%s: cannot open the folder beside it: %s", f->path, strerror(errno));
    const bool locked = lt_temporary_lock(f->fd) || errno != EWOULDBLOCK; /* a file system without locks: nothing is removed there */
    if (locked && lt_temporary_is_named(f->fd, f->temporary)) {
        *taken = true;
        return LT_OK;
    }
    close(f->fd);
    f->fd = -1;
    return LT_OK;
}

static lt_status make_temporary(lt_atomic_folder *f, size_t bytes)
{
    for (int n = 0; n < MAX_ATTEMPTS; n++) {
        bool taken;
        snprintf(f->temporary, bytes, "%s.lathe-%d.tmp", f->path, n);
        int error = mkdir(f->temporary, 0777) ? errno : 0;
        if (is_of_path(error)) return LT_FAIL(LT_ERR_ARGUMENT, "%s: cannot be made: %s", f->path, strerror(error));
        if (error && error != EEXIST) return LT_FAIL(LT_ERR_IO, "%s: cannot make a folder beside it: %s", f->path, strerror(error));
        if (error && (!remove_leftover(f->temporary) || mkdir(f->temporary, 0777))) continue;
        lt_status s = take_temporary(f, &taken);
        if (s) (void)rmdir(f->temporary);
        if (s || taken) return s;
    }
    return LT_FAIL(LT_ERR_IO, "%s: cannot make a folder beside it: there are %s.lathe-0.tmp to -%d.tmp; remove them", f->path, f->path, MAX_ATTEMPTS - 1);
}

static void make_idle(lt_atomic_folder *f)
{
    if (f->path && f->fd >= 0) close(f->fd);
    lt_free(f->path);
    lt_free(f->temporary);
    *f = (lt_atomic_folder){ .fd = -1 };
}

lt_status lt_atomic_folder_open(const char *path, lt_atomic_folder *f)
{
    struct stat st;
    *f = (lt_atomic_folder){ .fd = -1 };
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/') n--; /* "out.zarr/" is beside itself */
    if (n == 0) return LT_FAIL(LT_ERR_ARGUMENT, "path of a folder to write is empty");
    f->path = lt_strdup(path);
    f->temporary = f->path ? lt_malloc(n + SUFFIX) : NULL;
    lt_status s = f->temporary ? LT_OK : LT_ERR_MEMORY;
    if (!s) f->path[n] = '\0';
    if (!s && !lstat(f->path, &st)) s = LT_FAIL(LT_ERR_ARGUMENT, "%s: exists already; a new folder is made, none is replaced", f->path);
    if (!s) s = make_temporary(f, n + SUFFIX);
    if (s) make_idle(f);
    return s;
}

/* ---- Content and end --------------------------------------------------------------------------------------- */

lt_status lt_atomic_folder_write(const lt_atomic_folder *f, const char *name, const void *data, size_t n_bytes)
{
    size_t bytes = strlen(f->temporary) + strlen(name) + 2;
    char *path = lt_malloc(bytes);
    if (!path) return LT_ERR_MEMORY;
    snprintf(path, bytes, "%s/%s", f->temporary, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    lt_status s = LT_OK;
    if (fd < 0 && errno == ENOENT) {
        s = lt_file_make_folders(path, 0777);
        fd = s ? -1 : open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    }
    if (!s && fd < 0) s = LT_FAIL(LT_ERR_IO, "%s: cannot make %s: %s", f->path, name, strerror(errno));
    if (!s) s = lt_file_write_at(fd, f->path, 0, data, n_bytes);
    if (fd >= 0 && close(fd) && !s) s = LT_FAIL(LT_ERR_IO, "%s: cannot write %s: %s", f->path, name, strerror(errno));
    lt_free(path);
    return s;
}

/* A file system without the first call gets two steps, between which another process may make an empty folder of that name, which is replaced. */
static bool rename_new(const char *from, const char *to)
{
    struct stat st;
    if (!renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE)) return true;
    if (errno != EINVAL && errno != ENOSYS) return false;
    errno = EEXIST;
    return lstat(to, &st) && !rename(from, to);
}

lt_status lt_atomic_folder_commit(lt_atomic_folder *f)
{
    lt_status s = LT_OK;
    if (syncfs(f->fd)) s = LT_FAIL(LT_ERR_IO, "%s: cannot sync: %s", f->path, strerror(errno));
    else if (!rename_new(f->temporary, f->path)) s = LT_FAIL(LT_ERR_IO, "%s: cannot rename into place: %s", f->path, strerror(errno));
    if (s) (void)remove_folder(f->temporary);
    else lt_file_sync_folder(f->path);
    make_idle(f);
    return s;
}

void lt_atomic_folder_cancel(lt_atomic_folder *f)
{
    if (f->temporary) (void)remove_folder(f->temporary);
    make_idle(f);
}
