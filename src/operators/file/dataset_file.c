/* Opening dataset files for reading: a jailed process has the file, we have what it found. SPDX-License-Identifier: BSD-3-Clause */
#include "operators/file/dataset_file.h"
#include "operators/file/engine.h"
#include "operators/file/hdf5.h"

#include "base/alloc.h"
#include "base/files/file.h"
#include "base/sized.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Memory of the jailed process: what the library takes for any file, and more for larger ones, up to a few of the largest possible chunks. */
#define READER_BYTES (UINT64_C(512) << 20)
#define READER_BYTES_MOST (UINT64_C(13) << 30)

const lt_file_item *lt_dataset_find(const lt_dataset *d, const char *path)
{
    for (int i = 0; i < d->n_items; i++)
        if (!strcmp(d->item[i].path, path)) return &d->item[i];
    return NULL;
}

/* ---- What the process found -------------------------------------------------------------------------- */

static lt_status receive_texts(lt_dataset *d, const lt_file_head *h)
{
    for (int i = 0; i < LT_FILE_TEXTS; i++) {
        if (h->text_bytes[i] == UINT64_MAX) continue;
        if (h->text_bytes[i] > LT_FILE_MAX_TEXT_BYTES) return LT_FAIL(LT_ERR_FORMAT, "%s: an attribute of %llu bytes", d->path, (unsigned long long)h->text_bytes[i]);
        if (!(d->text[i] = lt_calloc(1, (size_t)h->text_bytes[i] + 1))) return LT_ERR_MEMORY;
        LT_TRY(lt_jail_hear(&d->reader, d->path, d->text[i], (size_t)h->text_bytes[i]));
        lt_text_disarm(d->text[i]);
    }
    const char **to[LT_FILE_TEXTS] = { &d->info.config, &d->info.engine_config, &d->info.engine_version, &d->info.precision, &d->info.creation_date,
                                       &d->info.sampling_metrics, &d->info.device };
    for (int i = 0; i < LT_FILE_TEXTS; i++) *to[i] = d->text[i] ? d->text[i] : "";
    d->info.engine_age = lt_engine_age(d->info.engine_version);
    return LT_OK;
}

static lt_status count_codes(lt_dataset *d)
{
    int64_t n = d->info.rows;
    uint8_t *code = lt_malloc((size_t)n);
    if (!code) return LT_ERR_MEMORY;
    lt_status s = lt_dataset_read_codes(d, code);
    for (int64_t r = 0; r < n && !s; r++) d->info.status[code[r] < LT_RUN_STATUS_COUNT ? code[r] : LT_RUN_FAILED]++;
    lt_free(code);
    return s;
}

static lt_status receive_contents(lt_dataset *d)
{
    lt_file_head h;
    LT_TRY(lt_jail_hear(&d->reader, d->path, &h, sizeof h));
    if (h.n_items < 1 || h.n_items > LT_FILE_MAX_ITEMS) return LT_FAIL(LT_ERR_FORMAT, "%s: damaged: %d objects", d->path, h.n_items);
    d->item = lt_malloc((size_t)h.n_items * sizeof *d->item);
    if (!d->item) return LT_ERR_MEMORY;
    LT_TRY(lt_jail_hear(&d->reader, d->path, d->item, (size_t)h.n_items * sizeof *d->item));
    d->n_items = h.n_items;
    for (int i = 0; i < d->n_items; i++) {
        d->item[i].path[sizeof d->item[i].path - 1] = 0;
        lt_text_disarm(d->item[i].path);
    }
    LT_TRY(receive_texts(d, &h));
    LT_TRY(lt_dataset_check_layout(d, &h));
    LT_TRY(lt_dataset_check_stored(d, true, d->info.rows));
    LT_TRY(count_codes(d));
    return lt_dataset_check_stored(d, false, d->info.rows - d->info.status[LT_RUN_PENDING]);
}

/* ---- Opening and closing ---------------------------------------------------------------------------- */

static lt_status check_signature(int fd, const char *path, uint64_t bytes)
{
    char head[8];
    if (bytes < sizeof head) return LT_FAIL(LT_ERR_FORMAT, "%s: not an HDF5 file: only %llu bytes", path, (unsigned long long)bytes);
    LT_TRY(lt_file_read_at(fd, path, 0, head, sizeof head));
    if (memcmp(head, "\x89HDF\r\n\x1a\n", sizeof head)) return LT_FAIL(LT_ERR_FORMAT, "%s: not an HDF5 file", path);
    return LT_OK;
}

/* Whether another change would show: clocks of file systems stand still for up to two seconds. */
static bool is_settled(const struct stat *st)
{
    enum { STANDS_STILL = 2 };
    struct timespec now;
    return !clock_gettime(CLOCK_REALTIME, &now) && LT_MAX(st->st_mtim.tv_sec, st->st_ctim.tv_sec) + STANDS_STILL < now.tv_sec;
}

/* Holds the lock of the HDF5 library during the fork, so that no other thread is inside the library when the child copies it. */
static lt_status start_reader(lt_dataset *d, int fd)
{
    char own[PATH_MAX];
    struct stat st;
    uint64_t more = LT_MIN(d->info.file_bytes, READER_BYTES_MOST / 1024) * 1024;
    lt_jail_rules rules = { .memory_bytes = READER_BYTES + more, .file = fd };
    if (fstat(fd, &st)) return LT_FAIL(LT_ERR_IO, "%s: cannot read its state", d->path);
    if (!(d->own = lt_strdup(realpath(d->path, own) ? own : d->path))) return LT_ERR_MEMORY;
    d->source = (lt_dataset_source){ d->path, d->own, st.st_dev, st.st_ino };
    d->modified = st.st_mtim, d->changed = st.st_ctim;
    d->may_rest = is_settled(&st);
    LT_TRY(lt_hdf5_lock());
    lt_status s = lt_jail_start(&rules, lt_dataset_serve, &d->source, &d->reader);
    lt_hdf5_unlock();
    return s ? s : receive_contents(d);
}

lt_status lt_dataset_open(const char *path, lt_dataset **out)
{
    int fd;
    uint64_t bytes;
    if (!out) return LT_FAIL(LT_ERR_ARGUMENT, "dataset: out is NULL");
    *out = NULL;
    LT_TRY(lt_file_open(path, &fd, &bytes));
    lt_status s = check_signature(fd, path, bytes);
    lt_dataset *d = s ? NULL : lt_calloc(1, sizeof *d);
    if (!s && (!d || !(d->path = lt_strdup(path)))) s = LT_ERR_MEMORY;
    if (!s) {
        d->info.size = sizeof d->info;
        d->info.file_bytes = bytes;
        s = start_reader(d, fd);
    }
    close(fd);
    if (s) lt_dataset_close(d);
    else *out = d;
    return s;
}

void lt_dataset_close(lt_dataset *d)
{
    if (!d) return;
    lt_jail_stop(&d->reader);
    for (int i = 0; i < LT_FILE_TEXTS; i++) lt_free(d->text[i]);
    for (lt_dataset_texts_kept *k = d->kept, *next; k; k = next) {
        next = k->next;
        lt_free(k->list);
        lt_free(k->path);
        lt_free(k);
    }
    lt_free(d->item);
    lt_free(d->path);
    lt_free(d->own);
    lt_free(d);
}

/* ---- Resting (decision 340) --------------------------------------------------------------------------------- */

static bool ask_briefly(lt_dataset *d, lt_read_what what)
{
    char nothing;
    lt_status s = lt_jail_ask(&d->reader, d->path, &(lt_read_request){ .what = what }, sizeof(lt_read_request));
    return !s && !lt_jail_hear(&d->reader, d->path, &nothing, 0);
}

static bool is_unchanged(const lt_dataset *d)
{
    struct stat st;
    return !stat(d->path, &st) && st.st_dev == d->source.device && st.st_ino == d->source.inode && (uint64_t)st.st_size == d->info.file_bytes
           && st.st_mtim.tv_sec == d->modified.tv_sec && st.st_mtim.tv_nsec == d->modified.tv_nsec && st.st_ctim.tv_sec == d->changed.tv_sec
           && st.st_ctim.tv_nsec == d->changed.tv_nsec;
}

bool lt_dataset_rest(lt_dataset *d)
{
    if (!d || d->rests) return d != NULL;
    return d->rests = d->may_rest && ask_briefly(d, LT_READ_REST);
}

/* The lock comes first: afterwards nobody who heeds it writes the file. */
bool lt_dataset_wake(lt_dataset *d)
{
    if (!d || !d->rests) return d && d->reader.pid;
    d->rests = false;
    if (ask_briefly(d, LT_READ_WAKE) && is_unchanged(d)) return true;
    lt_jail_stop(&d->reader);
    return false;
}

void lt_dataset_get_info_into(const lt_dataset *d, lt_dataset_info *out) { LT_GIVE(out, &d->info); }

bool lt_dataset_is_at(const lt_dataset *d, const char *path)
{
    struct stat other;
    return path && !stat(path, &other) && d->source.device == other.st_dev && d->source.inode == other.st_ino;
}
