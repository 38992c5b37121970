/* One file that every rank writes parts of. SPDX-License-Identifier: BSD-3-Clause */
#include "cluster/inside.h"

#include "base/alloc.h"
#include "base/files/file.h"
#include "base/hash.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct lt_region {
    int   fd;
    char *path;
};

static lt_status open_at(lt_region *r, int flags)
{
    r->fd = open(r->path, O_RDWR | O_CLOEXEC | flags, 0666);
    return r->fd >= 0 ? LT_OK : LT_FAIL(lt_file_status(errno), "%s: cannot open: %s", r->path, strerror(errno));
}

static lt_status size_to(lt_region *r, uint64_t bytes)
{
    struct stat st;
    if (fstat(r->fd, &st)) return LT_FAIL(LT_ERR_IO, "%s: cannot read: %s", r->path, strerror(errno));
    if ((uint64_t)st.st_size == bytes) return LT_OK;
    return ftruncate(r->fd, (off_t)bytes) ? LT_FAIL(lt_file_status(errno), "%s: cannot have %llu bytes: %s", r->path, (unsigned long long)bytes, strerror(errno)) : LT_OK;
}

/* A file of the same name on a disk of its own would take this rank's parts, and nobody would miss them: rank 0 leaves a mark behind the last byte, which the others look for. */
static lt_status leave_mark(lt_cluster *c, lt_region *r, uint64_t bytes, uint64_t *mark)
{
    if (lt_cluster_rank(c)) return LT_OK;
    struct { int64_t pid, address; } seed = { getpid(), (int64_t)(intptr_t)r };
    *mark = lt_hash64(&seed, sizeof seed, (uint64_t)bytes) | 1;
    LT_TRY(lt_file_write_at(r->fd, r->path, bytes, mark, sizeof *mark));
    return fsync(r->fd) ? LT_FAIL(lt_file_status(errno), "%s: cannot sync: %s", r->path, strerror(errno)) : LT_OK;
}

static lt_status find_mark(lt_cluster *c, lt_region *r, uint64_t bytes, uint64_t mark)
{
    uint64_t found = 0;
    if (!lt_cluster_rank(c)) return LT_OK;
    LT_TRY(open_at(r, 0));
    if (lt_file_read_at(r->fd, r->path, bytes, &found, sizeof found) || found != mark)
        return LT_FAIL(LT_ERR_IO, "%s: is not the file that rank 0 has: ranks that write one file need a file system they share", r->path);
    return LT_OK;
}

static lt_status open_all(lt_cluster *c, lt_region *r, uint64_t bytes, bool keep)
{
    uint64_t mark = 0;
    lt_status s = lt_cluster_rank(c) ? LT_OK : open_at(r, keep ? O_CREAT : O_CREAT | O_TRUNC);
    if (!s && !lt_cluster_rank(c)) s = size_to(r, bytes);
    if (lt_cluster_size(c) == 1) return s;
    if (!s) s = leave_mark(c, r, bytes, &mark);
    LT_TRY(lt_cluster_agree(c, s, "file", NULL, 0));
    LT_TRY(lt_cluster_broadcast(c, &mark, sizeof mark));
    LT_TRY(lt_cluster_agree(c, find_mark(c, r, bytes, mark), "file", NULL, 0));
    return lt_cluster_rank(c) ? LT_OK : size_to(r, bytes);
}

lt_status lt_region_open(lt_cluster *c, const char *path, uint64_t bytes, bool keep, lt_region **out)
{
    *out = NULL;
    lt_region *r = lt_calloc(1, sizeof *r);
    if (r) r->path = lt_strdup(path);
    if (r) r->fd = -1;
    lt_status s = r && r->path ? open_all(c, r, bytes, keep) : LT_ERR_MEMORY;
    if (s) lt_region_close(r);
    else *out = r;
    return s;
}

lt_status lt_region_write(lt_region *r, uint64_t offset, const void *data, size_t bytes) { return lt_file_write_at(r->fd, r->path, offset, data, bytes); }
lt_status lt_region_read(lt_region *r, uint64_t offset, void *data, size_t bytes) { return lt_file_read_at(r->fd, r->path, offset, data, bytes); }
lt_status lt_region_sync(lt_region *r) { return fdatasync(r->fd) ? LT_FAIL(lt_file_status(errno), "%s: cannot sync: %s", r->path, strerror(errno)) : LT_OK; }

int lt_region_fd(const lt_region *r) { return r->fd; }

/* Not posix_fallocate, which writes zeros where a file system cannot reserve. */
lt_status lt_region_reserve(lt_region *r, uint64_t bytes)
{
    int rc;
    do rc = fallocate(r->fd, 0, 0, (off_t)bytes);
    while (rc && errno == EINTR);
    if (!rc || errno == EOPNOTSUPP || errno == ENOSYS || errno == EINVAL) return LT_OK;
    return LT_FAIL(lt_file_status(errno), "%s: cannot reserve %llu bytes: %s", r->path, (unsigned long long)bytes, strerror(errno));
}

void lt_region_close(lt_region *r)
{
    if (!r) return;
    if (r->fd >= 0) close(r->fd);
    lt_free(r->path);
    lt_free(r);
}
