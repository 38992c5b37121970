/* The journal of a dataset being written. SPDX-License-Identifier: BSD-3-Clause */
#include "operators/file/journal.h"

#include "base/alloc.h"
#include "base/files/file.h"
#include "base/status.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { HEAD_BYTES = 4096, NOTE_AT = 2048, SLOT_HEAD = 64 };
static const char suffix[] = ".journal";
static const char head_magic[8] = "LATHEJ01";
static const char slot_magic[8] = "LTJSLOT1";

typedef struct journal_head { /* this machine's byte order: a journal does not travel */
    char      magic[8];
    lt_digest identity;
    int64_t   n_rows, n_steps;
    uint64_t  step_bytes, rest_bytes;
    uint64_t  check;
} journal_head;

typedef struct journal_note { char text[LT_JOURNAL_NOTE]; uint64_t check; } journal_note;

typedef struct slot_head {
    char     magic[8];
    int64_t  row;
    uint64_t hash, check;
} slot_head;
_Static_assert(sizeof(journal_head) <= NOTE_AT && NOTE_AT + sizeof(journal_note) <= HEAD_BYTES && sizeof(slot_head) <= SLOT_HEAD, "heads fit their places");

static char *journal_path(const char *dataset)
{
    size_t n = strlen(dataset) + sizeof suffix;
    char *path = lt_malloc(n);
    if (path) snprintf(path, n, "%s%s", dataset, suffix);
    return path;
}

bool lt_journal_exists(const char *dataset)
{
    char *path = journal_path(dataset);
    struct stat st;
    bool exists = path && stat(path, &st) == 0 && st.st_size > 0;
    lt_free(path);
    return exists;
}

/* ---- Rows ------------------------------------------------------------------------------- */

static uint64_t slot_offset(const lt_journal *j, int64_t slot) { return HEAD_BYTES + (uint64_t)slot * j->slot_bytes; }

/* Room in the list of free slots for every slot there is, so that releasing one cannot fail. */
static lt_status reserve(lt_journal *j, int64_t n_slots)
{
    if (n_slots <= j->capacity) return LT_OK;
    int64_t capacity = LT_MAX(n_slots, 2 * j->capacity + 16);
    int64_t *list = lt_realloc(j->free_slot, (size_t)capacity * sizeof *list);
    if (!list) return LT_ERR_MEMORY;
    j->free_slot = list;
    j->capacity = capacity;
    return LT_OK;
}

lt_status lt_journal_begin(lt_journal *j, lt_journal_row *r)
{
    *r = (lt_journal_row){ .slot = 0, .at = 0, .hash = 0 };
    pthread_mutex_lock(&j->lock);
    lt_status s = LT_OK;
    if (j->n_free) r->slot = j->free_slot[--j->n_free];
    else if (!(s = reserve(j, j->n_slots + 1))) r->slot = j->n_slots++;
    pthread_mutex_unlock(&j->lock);
    return s;
}

void lt_journal_release(lt_journal *j, int64_t slot)
{
    pthread_mutex_lock(&j->lock);
    j->free_slot[j->n_free++] = slot;
    pthread_mutex_unlock(&j->lock);
}

lt_status lt_journal_add(lt_journal *j, lt_journal_row *r, const void *data, size_t n_bytes)
{
    LT_TRY(lt_file_write_at(j->fd, j->path, slot_offset(j, r->slot) + SLOT_HEAD + r->at, data, n_bytes));
    r->hash = lt_hash64(data, n_bytes, r->hash);
    r->at += n_bytes;
    return LT_OK;
}

lt_status lt_journal_end(lt_journal *j, lt_journal_row *r, int64_t row)
{
    if (r->at != (uint64_t)j->n_steps * j->step_bytes + j->rest_bytes)
        return LT_FAIL(LT_ERR_INTERNAL, "%s: row %" PRId64 " has %" PRIu64 " bytes", j->path, row, r->at);
    slot_head h = { .row = row, .hash = r->hash };
    memcpy(h.magic, slot_magic, sizeof h.magic);
    h.check = lt_hash64(&h, offsetof(slot_head, check), 0);
    return lt_file_write_at(j->fd, j->path, slot_offset(j, r->slot), &h, sizeof h);
}

lt_status lt_journal_read(const lt_journal *j, int64_t slot, uint64_t offset, void *data, size_t n_bytes)
{
    return lt_file_read_at(j->fd, j->path, slot_offset(j, slot) + SLOT_HEAD + offset, data, n_bytes);
}

/* ---- Finding rows again --------------------------------------------------------------------- */

/* Whether slot holds a whole row. */
static lt_status check_slot(lt_journal *j, int64_t slot, void *piece, int64_t n_rows, int64_t *row, bool *whole)
{
    slot_head h;
    *whole = false;
    LT_TRY(lt_file_read_at(j->fd, j->path, slot_offset(j, slot), &h, sizeof h));
    if (memcmp(h.magic, slot_magic, sizeof h.magic) || h.check != lt_hash64(&h, offsetof(slot_head, check), 0)) return LT_OK;
    if (h.row < 0 || h.row >= n_rows) return LT_OK;
    uint64_t hash = 0, at = 0;
    for (int64_t t = 0; t <= j->n_steps; t++) {
        size_t bytes = t < j->n_steps ? j->step_bytes : j->rest_bytes;
        LT_TRY(lt_journal_read(j, slot, at, piece, bytes));
        hash = lt_hash64(piece, bytes, hash);
        at += bytes;
    }
    *row = h.row;
    *whole = hash == h.hash;
    return LT_OK;
}

static lt_status find_rows(lt_journal *j, uint64_t file_bytes, int64_t n_rows, lt_journal_found found, void *ctx)
{
    uint64_t used = SLOT_HEAD + (uint64_t)j->n_steps * j->step_bytes + j->rest_bytes, room = file_bytes - HEAD_BYTES;
    int64_t n = room < used ? 0 : (int64_t)((room - used) / j->slot_bytes) + 1; /* the last one has no padding */
    LT_TRY(reserve(j, n));
    j->n_slots = n;
    void *piece = lt_malloc(LT_MAX(j->step_bytes, j->rest_bytes));
    if (!piece) return LT_ERR_MEMORY;
    lt_status s = LT_OK;
    for (int64_t i = 0; i < n && !s; i++) {
        int64_t row = 0;
        bool whole = false;
        s = check_slot(j, i, piece, n_rows, &row, &whole);
        if (!s && whole) s = found(ctx, row, i);
        else if (!s) lt_journal_release(j, i); /* torn */
    }
    lt_free(piece);
    return s;
}

/* ---- Opening and closing ---------------------------------------------------------------------- */

static journal_head make_head(const lt_journal_shape *shape)
{
    journal_head h;
    memset(&h, 0, sizeof h);
    memcpy(h.magic, head_magic, sizeof h.magic);
    h.identity = shape->identity;
    h.n_rows = shape->n_rows;
    h.n_steps = shape->n_steps;
    h.step_bytes = shape->step_bytes;
    h.rest_bytes = shape->rest_bytes;
    h.check = lt_hash64(&h, offsetof(journal_head, check), 0);
    return h;
}

static lt_status start_empty(lt_journal *j, const journal_head *h)
{
    if (ftruncate(j->fd, 0)) return LT_FAIL(LT_ERR_IO, "%s: cannot empty it: %s", j->path, strerror(errno));
    LT_TRY(lt_file_write_at(j->fd, j->path, 0, h, sizeof *h));
    if (ftruncate(j->fd, HEAD_BYTES)) return LT_FAIL(LT_ERR_IO, "%s: cannot size it: %s", j->path, strerror(errno));
    return LT_OK;
}

lt_status lt_journal_note(lt_journal *j, const char *text, char found[LT_JOURNAL_NOTE])
{
    journal_note n;
    LT_TRY(lt_file_read_at(j->fd, j->path, NOTE_AT, &n, sizeof n));
    if (n.check != lt_hash64(n.text, sizeof n.text, 1)) { /* none, or torn: before the first row */
        memset(&n, 0, sizeof n);
        snprintf(n.text, sizeof n.text, "%s", text);
        n.check = lt_hash64(n.text, sizeof n.text, 1);
        LT_TRY(lt_file_write_at(j->fd, j->path, NOTE_AT, &n, sizeof n));
    }
    memcpy(found, n.text, sizeof n.text);
    found[sizeof n.text - 1] = 0;
    return LT_OK;
}

/* Whether the journal belongs to this run. One shorter than its header is from a process killed while it made the journal, and holds
   nothing yet. */
static lt_status check_head(const lt_journal *j, const journal_head *want, uint64_t file_bytes, bool *empty)
{
    journal_head got;
    size_t n = (size_t)LT_MIN(file_bytes, (uint64_t)sizeof got);
    *empty = file_bytes < HEAD_BYTES;
    memset(&got, 0, sizeof got);
    LT_TRY(lt_file_read_at(j->fd, j->path, 0, &got, n));
    if (memcmp(&got, want, n) == 0) return LT_OK;
    if (memcmp(got.magic, head_magic, sizeof head_magic) || got.check != lt_hash64(&got, offsetof(journal_head, check), 0))
        return LT_FAIL(LT_ERR_ARGUMENT, "%s: damaged: it does not begin as a journal does, so that the rows in it are lost; the dataset itself keeps those "
                       "it has: remove this file and resume, or start again (--overwrite)", j->path);
    return LT_FAIL(LT_ERR_ARGUMENT, "%s: belongs to a run with another configuration: resume with that one, or start again (--overwrite)", j->path);
}

/* The lock is valid only while the path leads to the locked file: the process that held it before may have removed the file after we opened
   it. */
static bool is_in_place(const lt_journal *j)
{
    struct stat open_one, named;
    return !fstat(j->fd, &open_one) && !lstat(j->path, &named) && open_one.st_dev == named.st_dev && open_one.st_ino == named.st_ino;
}

/* The lock of a process that ended goes with its last descriptor, and a child that it had just forked has a copy of each until it closes
   them. So the writer marks the file as well, by a lock that no child inherits: without the mark, whoever holds the lock is about to let go
   of it, and is waited for (decision 180). The mark alone would not do: closing any descriptor of the file takes it away. */
enum { PATIENCE_MS = 3000 };

static void mark(int fd) { (void)fcntl(fd, F_SETLK, &(struct flock){ .l_type = F_WRLCK, .l_whence = SEEK_SET }); }

static bool is_marked(int fd)
{
    struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
    return fcntl(fd, F_OFD_GETLK, &whole) || whole.l_type != F_UNLCK; /* this process's own mark counts, and unknown is marked */
}

static lt_status lock_file(lt_journal *j)
{
    for (int ms = 0;;) {
        bool taken;
        LT_TRY(lt_file_try_lock(j->fd, j->path, &taken));
        if (taken) break;
        if (ms++ >= PATIENCE_MS || is_marked(j->fd)) return LT_FAIL(LT_ERR_ARGUMENT, "%s: another process is writing this dataset", j->path);
        nanosleep(&(struct timespec){ 0, 1000000 }, NULL);
    }
    mark(j->fd);
    return LT_OK;
}

/* Whether another path would have done: the user's to mend, not the machine's. */
static bool is_of_path(int error) { return error == EACCES || error == EPERM || error == EROFS || error == ENOTDIR || error == ENAMETOOLONG; }

static lt_status open_locked(lt_journal *j, mode_t mode)
{
    enum { ATTEMPTS = 100 };
    struct stat st;
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        j->fd = open(j->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, mode);
        if (j->fd < 0) return LT_FAIL(is_of_path(errno) ? LT_ERR_ARGUMENT : LT_ERR_IO, "%s: cannot open: %s", j->path, strerror(errno));
        if (fstat(j->fd, &st) || !S_ISREG(st.st_mode)) return LT_FAIL(LT_ERR_ARGUMENT, "%s: not a regular file, and cannot be the journal of a dataset", j->path);
        LT_TRY(lock_file(j));
        if (is_in_place(j)) return LT_OK;
        close(j->fd);
        j->fd = -1;
    }
    return LT_FAIL(LT_ERR_ARGUMENT, "%s: other processes keep writing this dataset", j->path);
}

/* Releases the lock; the content of the file stays as it is. */
static void drop_lock(lt_journal *j)
{
    if (j->fd >= 0) close(j->fd);
    pthread_mutex_destroy(&j->lock);
    lt_free(j->free_slot);
    lt_free(j->path);
    *j = (lt_journal){ .fd = -1 };
}

lt_status lt_journal_claim(const char *dataset, lt_journal *j)
{
    struct stat st;
    mode_t mode = stat(dataset, &st) ? 0666 : st.st_mode & 0666; /* rows of a private dataset are private too */
    *j = (lt_journal){ .fd = -1, .path = journal_path(dataset) };
    if (!j->path) return LT_ERR_MEMORY;
    pthread_mutex_init(&j->lock, NULL);
    lt_status s = open_locked(j, mode);
    if (s) drop_lock(j);
    return s;
}

lt_status lt_journal_open(lt_journal *j, const lt_journal_shape *shape, bool keep, lt_journal_found found, void *ctx)
{
    j->n_steps = shape->n_steps;
    j->step_bytes = shape->step_bytes;
    j->rest_bytes = shape->rest_bytes;
    j->slot_bytes = (SLOT_HEAD + (size_t)shape->n_steps * shape->step_bytes + shape->rest_bytes + 63) / 64 * 64;
    struct stat st;
    if (fstat(j->fd, &st)) return LT_FAIL(LT_ERR_IO, "%s: cannot read: %s", j->path, strerror(errno));
    journal_head want = make_head(shape);
    bool empty = true;
    if (keep) LT_TRY(check_head(j, &want, (uint64_t)st.st_size, &empty));
    return empty ? start_empty(j, &want) : find_rows(j, (uint64_t)st.st_size, shape->n_rows, found, ctx);
}

lt_status lt_journal_is_foreign(const lt_journal *j, const lt_digest *identity, bool *foreign)
{
    struct stat st;
    journal_head h;
    if (fstat(j->fd, &st)) return LT_FAIL(LT_ERR_IO, "%s: cannot read: %s", j->path, strerror(errno));
    *foreign = st.st_size > 0;
    if ((uint64_t)st.st_size < sizeof h) return LT_OK;
    LT_TRY(lt_file_read_at(j->fd, j->path, 0, &h, sizeof h));
    *foreign = memcmp(h.magic, head_magic, sizeof head_magic) || memcmp(&h.identity, identity, sizeof *identity);
    return LT_OK;
}

lt_status lt_journal_sync(lt_journal *j)
{
    return fdatasync(j->fd) ? LT_FAIL(LT_ERR_IO, "%s: cannot sync: %s", j->path, strerror(errno)) : LT_OK;
}

/* Removes the file while holding the lock, so that a process that has just opened it can see that it is gone (is_in_place). */
void lt_journal_close(lt_journal *j)
{
    struct stat st;
    if (!j->path) return;
    if (!fstat(j->fd, &st) && st.st_size == 0 && is_in_place(j)) unlink(j->path);
    drop_lock(j);
}

void lt_journal_remove(lt_journal *j)
{
    if (!j->path) return;
    if (is_in_place(j)) unlink(j->path); /* another run may have one of that name, where somebody removed ours */
    drop_lock(j);
}
