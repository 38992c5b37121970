/* Files: whole reads with a limit, replacement in one step, and locks.
   SPDX-License-Identifier: BSD-3-Clause */
#include "base/files/file.h"

#include "base/alloc.h"
#include "base/config.h"
#include "base/status.h"
#include "base/files/temporary.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- Reading ----------------------------------------------------------------------- */
lt_status lt_file_status(int error)
{
    switch (error) {
    case EMFILE: case ENFILE: case ENOMEM: case EAGAIN: return LT_ERR_MEMORY;
    case EIO: return LT_ERR_DEVICE;
    default: return LT_ERR_IO;
    }
}

lt_status lt_file_open(const char *path, int *fd, uint64_t *n_bytes)
{
    struct stat st;
    *fd = -1;
    *n_bytes = 0;
    if (!path) return LT_FAIL(LT_ERR_ARGUMENT, "path of a file to read is NULL");
    /* Not blocking: opening a pipe that nobody writes to must not hang. */
    *fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (*fd < 0) return LT_FAIL(lt_file_status(errno), "%s: cannot open: %s", path, strerror(errno));
    if (fstat(*fd, &st) || !S_ISREG(st.st_mode)) {
        close(*fd);
        *fd = -1;
        return LT_FAIL(LT_ERR_IO, "%s: not a regular file", path);
    }
    *n_bytes = (uint64_t)st.st_size;
    return LT_OK;
}

lt_status lt_file_read_at(int fd, const char *path, uint64_t offset, void *data, size_t n_bytes)
{
    char *at = data;
    while (n_bytes) {
        ssize_t got = pread(fd, at, LT_MIN(n_bytes, (size_t)1 << 30), (off_t)offset);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return LT_FAIL(lt_file_status(errno), "%s: cannot read at byte %" PRIu64 ": %s", path, offset, strerror(errno));
        if (got == 0)
            return LT_FAIL(LT_ERR_IO, "%s: ends at byte %" PRIu64 ", expected %zu more", path, offset, n_bytes);
        at += got;
        offset += (uint64_t)got;
        n_bytes -= (size_t)got;
    }
    return LT_OK;
}

lt_status lt_file_write_at(int fd, const char *path, uint64_t offset, const void *data, size_t n_bytes)
{
    const char *at = data;
    while (n_bytes) {
        ssize_t put = pwrite(fd, at, LT_MIN(n_bytes, (size_t)1 << 30), (off_t)offset);
        if (put < 0 && errno == EINTR) continue;
        if (put < 0)
            return LT_FAIL(LT_ERR_IO, "%s: cannot write %zu bytes at byte %" PRIu64 ": %s", path, n_bytes, offset, strerror(errno));
        at += put;
        offset += (uint64_t)put;
        n_bytes -= (size_t)put;
    }
    return LT_OK;
}

lt_status lt_file_read(const char *path, size_t limit_bytes, char **data, size_t *n_bytes)
{
    *data = NULL;
    *n_bytes = 0;
    int fd;
    uint64_t size;
    LT_TRY(lt_file_open(path, &fd, &size));
    lt_status s = LT_OK;
    char *buffer = NULL;
    if (size > limit_bytes)
        s = LT_FAIL(LT_ERR_FORMAT, "%s: %" PRIu64 " bytes, expected at most %zu", path, size, limit_bytes);
    else if (!(buffer = lt_malloc((size_t)size + 1))) s = LT_ERR_MEMORY;
    else s = lt_file_read_at(fd, path, 0, buffer, (size_t)size);
    close(fd);
    if (s) {
        lt_free(buffer);
        return s;
    }
    buffer[size] = 0;
    *data = buffer;
    *n_bytes = (size_t)size;
    return LT_OK;
}

/* ---- Replacing ---------------------------------------------------------------------- */
static void make_idle(lt_atomic_file *f)
{
    if (f->path && f->fd >= 0) close(f->fd);
    lt_temporary_unlist(f->place);
    lt_free(f->path);
    lt_free(f->temporary);
    *f = (lt_atomic_file){ .fd = -1 };
}

lt_status lt_file_set_mode(int fd, const char *path, mode_t mode)
{
    struct stat st;
    if (!fstat(fd, &st) && (st.st_mode & 0777) == mode) return LT_OK;
    return fchmod(fd, mode) ? LT_FAIL(LT_ERR_IO, "%s: cannot set its mode: %s", path, strerror(errno)) : LT_OK;
}

/* What replaces a file may be read and written by those who might before; of another group's rights nothing is passed on. */
static lt_status keep_mode(const lt_atomic_file *f, const struct stat *old)
{
    struct stat st;
    mode_t mode = old->st_mode & 0777;
    if (fstat(f->fd, &st) || (st.st_gid != old->st_gid && fchown(f->fd, (uid_t)-1, old->st_gid))) mode &= ~(mode_t)070;
    return lt_file_set_mode(f->fd, f->temporary, mode);
}

lt_status lt_file_resolve(const char *path, char **out)
{
    char found[PATH_MAX];
    struct stat st;
    *out = NULL;
    if (lstat(path, &st) || !S_ISLNK(st.st_mode)) *out = lt_strdup(path);
    else if (realpath(path, found)) *out = lt_strdup(found);
    else return LT_FAIL(LT_ERR_ARGUMENT, "%s: is a symbolic link that leads to no file (%s): give the path of the file itself", path, strerror(errno));
    return *out ? LT_OK : LT_ERR_MEMORY;
}

/* f->path is set, and is no link. */
static lt_status open_beside(lt_atomic_file *f)
{
    struct stat st;
    bool replaces = stat(f->path, &st) == 0;
    if (replaces && !S_ISREG(st.st_mode)) /* a rename would put a file in its place */
        return LT_FAIL(LT_ERR_IO, "%s: not a regular file, and cannot be replaced by one", f->path);
    size_t bytes = strlen(f->path) + LT_TEMPORARY_SUFFIX;
    char *name = lt_malloc(bytes);
    if (!name) return LT_ERR_MEMORY;
    lt_status s = lt_temporary_open(f->path, replaces ? st.st_mode & 0777 : 0666, name, bytes, &f->fd, &f->place);
    if (s) {
        lt_free(name);
        return s;
    }
    f->temporary = name;
    return replaces ? keep_mode(f, &st) : LT_OK;
}

lt_status lt_atomic_open(const char *path, lt_atomic_file *f)
{
    *f = (lt_atomic_file){ .fd = -1 };
    if (!path) return LT_FAIL(LT_ERR_ARGUMENT, "path of a file to write is NULL");
    LT_TRY(lt_file_resolve(path, &f->path));
    lt_status s = open_beside(f);
    if (s) lt_atomic_cancel(f);
    return s;
}

lt_status lt_atomic_write(lt_atomic_file *f, const void *data, size_t n_bytes)
{
    const char *at = data;
    while (n_bytes) {
        ssize_t put = write(f->fd, at, LT_MIN(n_bytes, (size_t)1 << 30));
        if (put < 0 && errno == EINTR) continue;
        if (put < 0) return LT_FAIL(LT_ERR_IO, "%s: cannot write %zu bytes: %s", f->path, n_bytes, strerror(errno));
        at += put;
        n_bytes -= (size_t)put;
    }
    return LT_OK;
}

void lt_file_sync_folder(const char *path)
{
    char folder[PATH_MAX] = ".";
    const char *slash = strrchr(path, '/');
    if (slash) snprintf(folder, sizeof folder, "%.*s", (int)LT_MAX(slash - path, 1), path);
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return;
    fsync(fd);
    close(fd);
}

lt_status lt_atomic_commit(lt_atomic_file *f)
{
    lt_status s = LT_OK;
    if (fsync(f->fd)) s = LT_FAIL(LT_ERR_IO, "%s: cannot sync: %s", f->path, strerror(errno));
    else if (rename(f->temporary, f->path))
        s = LT_FAIL(LT_ERR_IO, "%s: cannot rename into place: %s", f->path, strerror(errno));
    close(f->fd); /* with its lock: readers of the file may want one */
    f->fd = -1;
    if (s) unlink(f->temporary);
    else lt_file_sync_folder(f->path);
    make_idle(f);
    return s;
}

void lt_atomic_cancel(lt_atomic_file *f)
{
    if (f->temporary) unlink(f->temporary);
    make_idle(f);
}

lt_status lt_file_write(const char *path, const void *data, size_t n_bytes)
{
    lt_atomic_file f;
    LT_TRY(lt_atomic_open(path, &f));
    lt_status s = lt_atomic_write(&f, data, n_bytes);
    if (s) lt_atomic_cancel(&f);
    else s = lt_atomic_commit(&f);
    return s;
}

/* One that is there already, made by us or not, is left as it is. */
lt_status lt_file_make_folders(const char *path, mode_t mode)
{
    char *part = lt_strdup(path);
    if (!part) return LT_ERR_MEMORY;
    lt_status s = LT_OK;
    for (char *at = part[0] ? strchr(part + 1, '/') : NULL; at && !s; at = strchr(at + 1, '/')) {
        *at = 0;
        if (mkdir(part, mode) && errno != EEXIST) s = LT_FAIL(LT_ERR_IO, "folder '%s': cannot be made: %s", part, strerror(errno));
        *at = '/';
    }
    lt_free(part);
    return s;
}

/* ---- Room --------------------------------------------------------------------------- */
static lt_status write_zeros(int fd, const char *path, uint64_t from, uint64_t to)
{
    static const char zeros[1 << 16];
    lt_status s = LT_OK;
    for (uint64_t at = from; at < to && !s; at += sizeof zeros) s = lt_file_write_at(fd, path, at, zeros, (size_t)LT_MIN(to - at, sizeof zeros));
    return s;
}

lt_status lt_file_reserve(int fd, const char *path, uint64_t n_bytes)
{
    struct stat st;
    int error;
    do error = posix_fallocate(fd, 0, (off_t)n_bytes);
    while (error == EINTR);
    if (!error) return LT_OK;
    if (error != EINVAL && error != ENOSYS && error != EOPNOTSUPP) /* these: not on this file system */
        return LT_FAIL(LT_ERR_IO, "%s: cannot reserve %" PRIu64 " bytes: %s", path, n_bytes, strerror(error));
    if (fstat(fd, &st)) return LT_FAIL(LT_ERR_IO, "%s: cannot ask for its size: %s", path, strerror(errno));
    return write_zeros(fd, path, (uint64_t)st.st_size, n_bytes);
}

/* ---- Locks -------------------------------------------------------------------------- */
/* Lustre mounted without flock, NFS without its lock service, some file systems of user space. */
bool lt_file_lacks_locks(int error) { return error == ENOSYS || error == ENOLCK || error == EOPNOTSUPP; }

static bool locks_are_optional(void)
{
    const char *use = lt_config_variable("HDF5_USE_FILE_LOCKING");
    return use && (!strcmp(use, "FALSE") || !strcmp(use, "0") || !strcmp(use, "BEST_EFFORT"));
}

lt_status lt_file_try_lock(int fd, const char *path, bool *taken)
{
    int result;
    do result = flock(fd, LOCK_EX | LOCK_NB);
    while (result && errno == EINTR);
    *taken = !result || (lt_file_lacks_locks(errno) && locks_are_optional());
    if (*taken || errno == EWOULDBLOCK) return LT_OK;
    if (!lt_file_lacks_locks(errno)) return LT_FAIL(LT_ERR_IO, "%s: cannot lock: %s", path, strerror(errno));
    return LT_FAIL(LT_ERR_IO, "%s: cannot lock: %s: this file system has no locks; set HDF5_USE_FILE_LOCKING=FALSE if no other process writes this file", path, strerror(errno));
}

lt_status lt_file_lock_take(const char *path, bool wait, lt_file_lock *lock, bool *taken)
{
    *taken = false;
    lock->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (lock->fd < 0) return LT_FAIL(lt_file_status(errno), "%s: cannot open lock: %s", path, strerror(errno));
    int result;
    do result = flock(lock->fd, LOCK_EX | (wait ? 0 : LOCK_NB));
    while (result && errno == EINTR);
    if (result == 0) {
        *taken = true;
        return LT_OK;
    }
    int error = errno;
    lt_file_lock_release(lock);
    if (error == EWOULDBLOCK) return LT_OK;
    return LT_FAIL(LT_ERR_IO, "%s: cannot lock: %s", path, strerror(error));
}

void lt_file_lock_release(lt_file_lock *lock)
{
    if (lock->fd >= 0) close(lock->fd); /* closing gives the lock up */
    lock->fd = -1;
}
