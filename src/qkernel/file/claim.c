/* The right to write a matrix: a lock on its table of tiles, and what an earlier run left (decision 251). SPDX-License-Identifier: BSD-3-Clause

   A run has PATH.part and PATH.part.tiles. It is over when PATH.part was renamed to PATH, and then PATH.part.tiles to PATH.tiles; one that was killed between the two
   left a whole table and no part. */
#include "qkernel/file/claim.h"

#include "base/alloc.h"
#include "base/status.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- The lock ------------------------------------------------------------------------------------------------------------------------------ */

static bool is_regular_or_none(const char *path)
{
    struct stat st;
    return lstat(path, &st) || S_ISREG(st.st_mode);
}

static bool is_in_place(const lt_open_file *f)
{
    struct stat open_one, named;
    return !fstat(f->fd, &open_one) && !lstat(f->path, &named) && open_one.st_dev == named.st_dev && open_one.st_ino == named.st_ino;
}

/* The table is renamed at the end: the lock counts on the file that has the name. */
static lt_status lock_table(lt_file_run *r)
{
    enum { ATTEMPTS = 100 };
    struct stat st;
    mode_t mode = stat(r->path[LT_PATH_DONE], &st) ? 0666 : st.st_mode & 0666; /* a private matrix stays private */
    r->table.path = r->path[LT_PATH_PART_TABLE];
    if (access(r->table.path, F_OK) && !access(r->path[LT_PATH_PART], F_OK))
        return LT_FAIL(LT_ERR_ARGUMENT, "%s: is there without a table of its tiles (%s): remove it, or choose another --out", r->path[LT_PATH_PART], r->table.path);
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        r->table.fd = open(r->table.path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, mode);
        if (r->table.fd < 0) return LT_FAIL(lt_file_status(errno), "%s: cannot open: %s", r->table.path, strerror(errno));
        bool taken;
        lt_status s = lt_file_try_lock(r->table.fd, r->table.path, &taken);
        if (!s && taken && is_in_place(&r->table)) return LT_OK;
        close(r->table.fd);
        r->table.fd = -1;
        if (s) return s;
        if (!taken) return LT_FAIL(LT_ERR_ARGUMENT, "%s: another process is writing this matrix", r->path[LT_PATH_DONE]);
    }
    return LT_FAIL(LT_ERR_ARGUMENT, "%s: other processes keep writing this matrix", r->path[LT_PATH_DONE]);
}

/* ---- What is there --------------------------------------------------------------------------------------------------------------------------- */

/* A table whose maker was killed before it had a head: nothing was made. */
static bool is_blank(const lt_open_file *f)
{
    struct stat st;
    char begin[16] = "";
    static const char none[16];
    if (fstat(f->fd, &st) || st.st_size == 0) return true;
    return !lt_file_read_at(f->fd, f->path, 0, begin, LT_MIN((size_t)st.st_size, sizeof begin)) && !memcmp(begin, none, sizeof none);
}

static bool has_bytes(const char *path, uint64_t bytes, uint64_t more)
{
    struct stat st;
    return !lstat(path, &st) && S_ISREG(st.st_mode) && ((uint64_t)st.st_size == bytes || (uint64_t)st.st_size == bytes + more);
}

static bool is_full(const lt_file_run *r)
{
    for (int64_t i = 0; i < r->head.tiles; i++)
        if (!lt_table_has(&r->entry[i])) return false;
    return true;
}

static lt_status match(lt_file_run *r, const char *path, const lt_tile_head *found)
{
    lt_layout own = r->layout;
    own.side = found->side;
    lt_tile_head wanted = lt_table_head(&own, r->opt.digest, r->info.kind);
    return lt_table_match(path, found, &wanted);
}

/* The part of a run that was ended; while ranks open it, it may be longer by a mark. */
static lt_status find_part(lt_file_run *r)
{
    lt_tile_head h;
    LT_TRY(lt_table_read(r->table, &h, &r->entry));
    if (!r->opt.resume)
        return LT_FAIL(LT_ERR_ARGUMENT, "%s: holds an unfinished matrix: finish it (--resume), choose another --out, or remove it with %s",
                       r->path[LT_PATH_PART], r->path[LT_PATH_PART_TABLE]);
    LT_TRY(match(r, r->table.path, &h));
    r->head = h;
    r->layout.side = h.side;
    uint64_t bytes = lt_layout_bytes(&r->layout);
    r->resumes = has_bytes(r->path[LT_PATH_PART], bytes, sizeof(uint64_t));
    if (r->resumes) return LT_OK;
    r->is_whole = access(r->path[LT_PATH_PART], F_OK) && is_full(r) && has_bytes(r->path[LT_PATH_DONE], bytes, 0);
    if (r->is_whole) return lt_claim_finish(r);
    return LT_FAIL(LT_ERR_FORMAT, "%s: is %s, and %s says that tiles of it are made: remove the table, and the matrix is computed anew", r->path[LT_PATH_PART],
                   access(r->path[LT_PATH_PART], F_OK) ? "not there" : "of another size", r->table.path);
}

/* --resume of a matrix that is whole: nothing is left to do. Anything else under its name is replaced, as ever. */
static void find_done(lt_file_run *r)
{
    lt_tile_head h;
    lt_open_file f = { open(r->path[LT_PATH_TABLE], O_RDONLY | O_CLOEXEC), r->path[LT_PATH_TABLE] };
    if (f.fd < 0) return;
    if (!lt_table_read(f, &h, &r->entry) && !match(r, f.path, &h)) {
        r->head = h;
        r->is_whole = is_full(r) && has_bytes(r->path[LT_PATH_DONE], lt_layout_bytes(&r->layout), 0);
        if (r->is_whole) r->layout.side = h.side;
    }
    lt_free(r->entry);
    r->entry = NULL;
    close(f.fd);
}

static lt_status find(lt_file_run *r)
{
    if (!is_blank(&r->table)) return find_part(r);
    if (r->opt.resume) find_done(r);
    if (r->is_whole) return LT_OK;
    r->head = lt_table_head(&r->layout, r->opt.digest, r->info.kind);
    return ftruncate(r->table.fd, 0) ? LT_FAIL(LT_ERR_IO, "%s: cannot be emptied: %s", r->table.path, strerror(errno)) : LT_OK;
}

lt_status lt_claim_take(lt_file_run *r)
{
    for (size_t i = 0; i < LT_LEN(r->path); i++)
        if (!is_regular_or_none(r->path[i])) return LT_FAIL(LT_ERR_ARGUMENT, "%s: is not a regular file, and cannot be replaced by one", r->path[i]);
    LT_TRY(lock_table(r));
    return find(r);
}

/* ---- The end ---------------------------------------------------------------------------------------------------------------------------------- */

static lt_status rename_to(const char *from, const char *to)
{
    return rename(from, to) ? LT_FAIL(lt_file_status(errno), "%s: cannot be renamed to %s: %s", from, to, strerror(errno)) : LT_OK;
}

/* The table stays beside the matrix (decision 252). */
lt_status lt_claim_finish(lt_file_run *r)
{
    if (fsync(r->table.fd)) return LT_FAIL(lt_file_status(errno), "%s: cannot sync: %s", r->table.path, strerror(errno));
    if (r->part) LT_TRY(rename_to(r->path[LT_PATH_PART], r->path[LT_PATH_DONE]));
    LT_TRY(rename_to(r->path[LT_PATH_PART_TABLE], r->path[LT_PATH_TABLE]));
    lt_file_sync_folder(r->path[LT_PATH_DONE]);
    r->is_whole = true;
    return LT_OK;
}

/* A table that nothing was written to goes away, with its part. */
void lt_claim_release(lt_file_run *r)
{
    if (r->table.fd < 0) return;
    if (is_in_place(&r->table) && is_blank(&r->table)) {
        (void)unlink(r->path[LT_PATH_PART]);
        (void)unlink(r->path[LT_PATH_STATES]);
        (void)unlink(r->table.path);
    }
    close(r->table.fd);
    r->table.fd = -1;
}
