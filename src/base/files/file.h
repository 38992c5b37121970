/* Files: whole reads with a limit, replacement in one step, locks, and the cache folder.
   SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_BASE_FILES_FILE_H
#define LT_BASE_FILES_FILE_H

#include "lathe/base.h"

#include <sys/types.h>

/* What an error of the system is: LT_ERR_MEMORY where a limit was reached (descriptors, processes, memory), LT_ERR_DEVICE where the disk
   failed, else LT_ERR_IO, which is the path's: a caller may blame whoever gave it (decision 160). */
lt_status lt_file_status(int error);
/* The whole file, with a zero byte after its end; the caller frees *data with lt_free. A file of
   more than limit_bytes is LT_ERR_FORMAT, one that cannot be opened or read LT_ERR_IO. */
lt_status lt_file_read(const char *path, size_t limit_bytes, char **data, size_t *n_bytes);
/* Opens a regular file for reading; *n_bytes is its size. */
lt_status lt_file_open(const char *path, int *fd, uint64_t *n_bytes);
/* Exactly n bytes from an offset; `path` is for the message. */
lt_status lt_file_read_at(int fd, const char *path, uint64_t offset, void *data, size_t n_bytes);
/* All n bytes at an offset; a full disk or a size limit is LT_ERR_IO with the system's reason. */
lt_status lt_file_write_at(int fd, const char *path, uint64_t offset, const void *data, size_t n_bytes);

/* ---- Replacing files --------------------------------------------------------- */
/* The file that a name leads to, which the caller frees with lt_free: what replaces a file must not replace a symbolic link to it. A link that
   leads nowhere is LT_ERR_ARGUMENT. */
lt_status lt_file_resolve(const char *path, char **out);
/* A file being written beside `path`, or beside the file that a symbolic link leads to. Nothing is seen under the name before commit, which syncs
   and renames; cancel removes what was written. A file that is replaced hands its mode on. Zero-initialised is idle. What a killed process left is removed by
   the next that writes `path` (temporary.h). */
typedef struct lt_atomic_file {
    int   fd;
    char *path, *temporary; /* both NULL when idle */
    int   place;            /* among those that lt_files_abandon removes; 0 = none */
} lt_atomic_file;

lt_status lt_atomic_open(const char *path, lt_atomic_file *f);
lt_status lt_atomic_write(lt_atomic_file *f, const void *data, size_t n_bytes);
lt_status lt_atomic_commit(lt_atomic_file *f); /* idle afterwards, whether it succeeds or not */
void      lt_atomic_cancel(lt_atomic_file *f); /* an idle one is allowed */
lt_status lt_file_write(const char *path, const void *data, size_t n_bytes); /* all of it */
/* Gives an open file these rights; one that has them is left alone, since some file systems refuse every change. */
lt_status lt_file_set_mode(int fd, const char *path, mode_t mode);
/* Room on the disk for the first n bytes, as zeros where nothing was written; on any file system. */
lt_status lt_file_reserve(int fd, const char *path, uint64_t n_bytes);
/* Makes a rename to `path` last; a file system that cannot sync folders has nothing to add. */
void      lt_file_sync_folder(const char *path);
/* Makes the folders above `path` that are missing, with this mode. */
lt_status lt_file_make_folders(const char *path, mode_t mode);

/* ---- Locks ------------------------------------------------------------------- */
/* Locks an open file for this process alone, without waiting. Where the file system has no locks, LT_ERR_IO says so, or, if whoever runs this
   said that this is known (HDF5_USE_FILE_LOCKING, decision 425), the file counts as free. */
lt_status lt_file_try_lock(int fd, const char *path, bool *taken);
bool      lt_file_lacks_locks(int error); /* what flock() answered there */
/* An advisory lock among processes, held on a file made for it. With wait false, *taken says
   whether it was free. */
typedef struct lt_file_lock { int fd; } lt_file_lock;
lt_status lt_file_lock_take(const char *path, bool wait, lt_file_lock *lock, bool *taken);
void      lt_file_lock_release(lt_file_lock *lock);

/* ---- Cache ------------------------------------------------------------------- */
/* $LATHE_CACHE, else $XDG_CACHE_HOME/lathe, else ~/.cache/lathe: made with mode 0700 when missing,
   refused (LT_ERR_IO) when it is another user's or others may write to it. */
lt_status lt_cache_dir(char *path, size_t path_bytes);
/* Entries are kept under the digest of their key, with a digest of their content. A get that finds
   none, or one that fails its check (which it removes), gives *data NULL and LT_OK. */
lt_status lt_cache_put(const char *key, const void *data, size_t n_bytes);
lt_status lt_cache_get(const char *key, size_t limit_bytes, char **data, size_t *n_bytes);

#endif
