/* The jailed process that has a dataset file open: the only code through which the HDF5 library reads one. SPDX-License-Identifier: BSD-3-Clause */
#include "operators/file/dataset_scan.h"

#include "base/alloc.h"
#include "base/config.h"
#include "base/files/file.h"
#include "base/jail.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BYTES_A_SECOND = 1 << 26 }; /* the slowest rate at which chunks unpack; a file that takes longer is taken to be malicious */

/* ---- Opening --------------------------------------------------------------------------------------------- */

static const struct { const char *object, *name; } texts[LT_FILE_TEXTS] = {
    [LT_FILE_CONFIG] = { "/metadata", "config" }, [LT_FILE_ENGINE_CONFIG] = { "/", "engine_config" }, [LT_FILE_ENGINE_VERSION] = { "/", "engine_version" },
    [LT_FILE_PRECISION] = { "/", "precision" }, [LT_FILE_DATE] = { "/metadata", "creation_date" }, [LT_FILE_METRICS] = { "/metadata", "sampling_metrics" },
    [LT_FILE_DEVICE] = { "/", "device" },
}, ints[LT_FILE_INTS] = {
    [LT_FILE_ROWS] = { "/metadata", "num_parameter_sets" }, [LT_FILE_REALIZATIONS] = { "/metadata", "num_realizations" },
    [LT_FILE_GRID] = { "/metadata", "grid_size" }, [LT_FILE_SHARD_INDEX] = { "/", "shard_index" }, [LT_FILE_SHARD_COUNT] = { "/", "shard_count" },
    [LT_FILE_SEED] = { "/", "seed" }, [LT_FILE_SKELETON] = { "/status", "skeleton_bytes" },
};

/* An object of the list: its path leads over hard links alone. *at is -1 where it is not in the list; one that is there and cannot be opened is a failure. */
static lt_status open_listed(const lt_file_scan *s, const char *path, hid_t *at)
{
    *at = -1;
    for (int i = 0; i < s->n; i++) {
        if (strcmp(s->item[i].path, path)) continue;
        *at = H5Oopen(s->file, path, H5P_DEFAULT);
        return *at < 0 ? lt_hdf5_fail(LT_ERR_FORMAT, s->path, path) : LT_OK;
    }
    return LT_OK;
}

static lt_status read_text(const lt_file_scan *s, int which, lt_file_head *h, char **out)
{
    hid_t at;
    *out = NULL;
    h->text_bytes[which] = UINT64_MAX;
    LT_TRY(open_listed(s, texts[which].object, &at));
    if (at < 0) return LT_OK;
    htri_t exists = H5Aexists(at, texts[which].name);
    lt_status st = exists < 0 ? lt_hdf5_fail(LT_ERR_FORMAT, s->path, texts[which].name) : exists ? lt_hdf5_get_text(at, s->path, texts[which].name, out) : LT_OK;
    H5Oclose(at);
    if (!st && exists && !*out) st = LT_FAIL(LT_ERR_FORMAT, "%s: attribute %s of %s is not a text", s->path, texts[which].name, texts[which].object);
    if (!st && exists) h->text_bytes[which] = strlen(*out);
    return st;
}

static lt_status read_int(const lt_file_scan *s, int which, lt_file_head *h)
{
    hid_t at;
    bool found = false;
    LT_TRY(open_listed(s, ints[which].object, &at));
    if (at < 0) return LT_OK;
    lt_status st = lt_hdf5_get_int(at, s->path, ints[which].name, &found, &h->value[which]);
    H5Oclose(at);
    if (st == LT_ERR_TYPE) st = LT_FAIL(LT_ERR_FORMAT, "%s: attribute %s of %s is not an integer", s->path, ints[which].name, ints[which].object);
    h->has_int[which] = !st && found;
    return st;
}

/* The library's descriptor of the file. */
static int descriptor(const lt_file_scan *s)
{
    void *handle = NULL;
    return H5Fget_vfd_handle(s->file, H5P_DEFAULT, &handle) < 0 || !handle ? -1 : s->by_stdio ? fileno(*(FILE **)handle) : *(int *)handle;
}

/* The path may lead to another file by now. */
static lt_status check_identity(const lt_file_scan *s, const lt_dataset_source *source)
{
    struct stat st;
    int fd = descriptor(s);
    if (fd < 0 || fstat(fd, &st)) return lt_hdf5_fail(LT_ERR_FORMAT, s->path, "cannot open as HDF5");
    if (st.st_dev != source->device || st.st_ino != source->inode) return LT_FAIL(LT_ERR_IO, "%s: was replaced while it was being opened", s->path);
    return LT_OK;
}

/* Where there are none, the library would not open the file for reading either. */
static bool has_locks(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool has = fd < 0 || !flock(fd, LOCK_SH | LOCK_NB) || !lt_file_lacks_locks(errno);
    if (fd >= 0) close(fd);
    return has;
}

/* Opens with a plain driver, whatever HDF5_DRIVER says, and loads no plugin. A file that the parent's program has open is open in this
   process too, without a descriptor. The library would hand out that one if the same file were opened with the same driver again. */
static lt_status open_plainly(lt_file_scan *s, const char *own)
{
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    s->by_stdio = H5Fget_obj_count((hid_t)H5F_OBJ_ALL, H5F_OBJ_FILE) > 0;
    herr_t chosen = access < 0 ? -1 : s->by_stdio ? H5Pset_fapl_stdio(access) : H5Pset_fapl_sec2(access);
#if H5_VERSION_GE(1, 10, 7) && !(H5_VERS_MINOR == 12 && H5_VERS_RELEASE == 0)
    if (chosen >= 0 && !has_locks(own)) chosen = H5Pset_file_locking(access, false, true);
#endif
    s->file = chosen < 0 || H5PLset_loading_state(0) < 0 ? -1 : H5Fopen(own, H5F_ACC_RDONLY, access);
    lt_status st = s->file < 0 ? lt_hdf5_fail(LT_ERR_FORMAT, s->path, "cannot open as HDF5") : LT_OK; /* the next call of the library forgets why */
    if (access >= 0) H5Pclose(access);
    return st;
}

static lt_status open_file(lt_file_scan *s, const lt_dataset_source *source, lt_file_head *h, char **text)
{
    LT_TRY(open_plainly(s, source->own));
    lt_jail_shut();
    LT_TRY(check_identity(s, source));
    LT_TRY(lt_file_scan_all(s));
    for (int i = 0; i < LT_FILE_INTS; i++) LT_TRY(read_int(s, i, h));
    for (int i = 0; i < LT_FILE_TEXTS; i++) LT_TRY(read_text(s, i, h, &text[i]));
    h->n_items = s->n;
    return LT_OK;
}

/* ---- Numbers ------------------------------------------------------------------------------------------------ */

static size_t out_bytes(const lt_file_item *item, int what)
{
    if (what == LT_READ_AS_STORED) return lt_element_bytes(item->element);
    return what == LT_READ_U8 ? 1 : what == LT_READ_I64 ? 8 : 4;
}

static hid_t out_type(const lt_file_item *item, int what)
{
    const hid_t types[] = { [LT_READ_F32] = H5T_NATIVE_FLOAT, [LT_READ_I64] = H5T_NATIVE_INT64, [LT_READ_U8] = H5T_NATIVE_UINT8 };
    const hid_t stored[LT_ELEMENT_COUNT] = {
        [LT_ELEMENT_I8] = H5T_NATIVE_INT8, [LT_ELEMENT_I16] = H5T_NATIVE_INT16, [LT_ELEMENT_I32] = H5T_NATIVE_INT32, [LT_ELEMENT_I64] = H5T_NATIVE_INT64,
        [LT_ELEMENT_U8] = H5T_NATIVE_UINT8, [LT_ELEMENT_U16] = H5T_NATIVE_UINT16, [LT_ELEMENT_U32] = H5T_NATIVE_UINT32, [LT_ELEMENT_U64] = H5T_NATIVE_UINT64,
        [LT_ELEMENT_F16] = H5T_NATIVE_FLOAT, [LT_ELEMENT_F32] = H5T_NATIVE_FLOAT, [LT_ELEMENT_F64] = H5T_NATIVE_DOUBLE,
    };
    return what == LT_READ_AS_STORED ? stored[item->element] : types[what];
}

size_t lt_read_row_bytes(const lt_file_item *item, const lt_read_request *q)
{
    size_t bytes = out_bytes(item, q->what);
    for (int k = 1; k < item->rank; k++) bytes *= (size_t)q->count[k];
    return bytes;
}

int64_t lt_read_piece(const lt_file_item *item, const lt_read_request *q, int64_t row)
{
    enum { PIECE_BYTES = 1 << 22 };
    int64_t left = q->start[0] + q->count[0] - row, chunk = item->chunk_rank ? item->chunk[0] : 1;
    int64_t rows = PIECE_BYTES / (int64_t)LT_MIN(lt_read_row_bytes(item, q), (size_t)PIECE_BYTES);
    rows = LT_MAX(rows / chunk, 1) * chunk - row % chunk; /* ends where a chunk ends */
    return LT_MIN(rows, left);
}

/* Of the library's buffer for conversions, which it clears at each call: what this many values take, not a megabyte for a few. */
static hid_t transfer_of(int64_t values)
{
    enum { MOST = 1 << 20, LEAST = 1 << 12 /* for types that nothing of ours has */, VALUE = 16 };
    hid_t transfer = H5Pcreate(H5P_DATASET_XFER);
    if (transfer >= 0 && values < MOST / VALUE) (void)H5Pset_buffer(transfer, LT_MAX((size_t)values * VALUE, (size_t)LEAST), NULL, NULL);
    return transfer;
}

static lt_status read_piece(const lt_file_scan *s, const lt_file_item *item, const lt_read_request *q, hid_t array, int64_t row, int64_t n, void *out)
{
    hsize_t start[LT_MAX_RANK], count[LT_MAX_RANK];
    for (int k = 0; k < item->rank; k++) start[k] = (hsize_t)(k ? q->start[k] : row), count[k] = (hsize_t)(k ? q->count[k] : n);
    hid_t from = H5Dget_space(array), to = H5Screate_simple(item->rank, count, NULL);
    hid_t transfer = transfer_of(n * (int64_t)(lt_read_row_bytes(item, q) / out_bytes(item, q->what)));
    bool read = from >= 0 && to >= 0 && transfer >= 0 && H5Sget_simple_extent_ndims(from) == item->rank
                && H5Sselect_hyperslab(from, H5S_SELECT_SET, start, NULL, count, NULL) >= 0 && H5Dread(array, out_type(item, q->what), to, from, transfer, out) >= 0;
    lt_status st = read ? LT_OK : lt_hdf5_fail(LT_ERR_FORMAT, s->path, item->path); /* the next call of the library forgets why */
    if (transfer >= 0) H5Pclose(transfer);
    if (from >= 0) H5Sclose(from);
    if (to >= 0) H5Sclose(to);
    return st;
}

static lt_status serve_numbers(const lt_file_scan *s, const lt_read_request *q, int fd)
{
    const lt_file_item *item = &s->item[q->item];
    size_t row_bytes = lt_read_row_bytes(item, q), capacity = 0;
    char *out = NULL;
    hid_t array = H5Dopen2(s->file, item->path, H5P_DEFAULT);
    lt_status st = array < 0 ? lt_hdf5_fail(LT_ERR_FORMAT, s->path, item->path) : LT_OK;
    for (int64_t row = q->start[0], n; row < q->start[0] + q->count[0] && !st; row += n) {
        n = lt_read_piece(item, q, row);
        size_t bytes = (size_t)n * row_bytes;
        lt_jail_allow_seconds(2 + (unsigned)(bytes / BYTES_A_SECOND));
        if (bytes > capacity) {
            lt_free(out);
            out = lt_malloc(capacity = bytes);
        }
        st = out ? read_piece(s, item, q, array, row, n, out) : LT_ERR_MEMORY;
        if (!st) lt_jail_answer(fd, LT_OK, out, bytes);
    }
    if (array >= 0) H5Dclose(array);
    lt_free(out);
    return st;
}

/* ---- Texts ----------------------------------------------------------------------------------------------------- */

static lt_status answer_texts(int fd, char *const *list, int64_t n)
{
    size_t bytes = 0;
    for (int64_t i = 0; i < n; i++) bytes += (list[i] ? strlen(list[i]) : 0) + 1;
    char *block = lt_malloc(bytes), *at = block;
    if (!block) return LT_ERR_MEMORY;
    for (int64_t i = 0; i < n; i++) {
        size_t length = list[i] ? strlen(list[i]) : 0;
        if (length) memcpy(at, list[i], length);
        at[length] = '\0';
        at += length + 1;
    }
    lt_jail_answer(fd, LT_OK, block, bytes);
    lt_free(block);
    return LT_OK;
}

enum { MOST_FIXED = 64 };

/* Texts of one length, as /status/device has them in files of several kinds of device. */
static lt_status answer_fixed_texts(int fd, const char *path, hid_t d, hid_t type, int64_t n)
{
    size_t each = H5Tget_size(type);
    if (each < 1 || each > MOST_FIXED) return answer_texts(fd, NULL, 0);
    hid_t space = H5Dget_space(d);
    bool whole = space >= 0 && H5Sget_simple_extent_npoints(space) == n;
    if (space >= 0) H5Sclose(space);
    if (!whole) return lt_hdf5_fail(LT_ERR_FORMAT, path, "texts of another number than its head says");
    char *block = lt_calloc((size_t)n, each), *copy = lt_calloc((size_t)n, each + 1), **list = lt_calloc((size_t)n, sizeof *list);
    lt_status st = block && copy && list ? LT_OK : LT_ERR_MEMORY;
    if (!st && H5Dread(d, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, block) < 0) st = lt_hdf5_fail(LT_ERR_FORMAT, path, "cannot read its texts");
    for (int64_t i = 0; i < n && !st; i++) list[i] = memcpy(copy + (size_t)i * (each + 1), block + (size_t)i * each, each);
    if (!st) st = answer_texts(fd, list, n);
    lt_free(block);
    lt_free(copy);
    lt_free(list);
    return st;
}

/* All rows of a label array: texts of variable length, or of one. */
static lt_status read_labels(const lt_file_scan *s, const lt_file_item *item, hid_t array, hid_t type, int fd)
{
    if (type < 0 || H5Tget_class(type) != H5T_STRING || item->rank != 1) return answer_texts(fd, NULL, 0);
    if (H5Tis_variable_str(type) <= 0) return answer_fixed_texts(fd, s->path, array, type, item->dim[0]);
    char **raw = lt_calloc((size_t)item->dim[0], sizeof *raw);
    hid_t space = H5Dget_space(array);
    if (!raw || space < 0 || H5Sget_simple_extent_npoints(space) != item->dim[0]) {
        lt_free(raw);
        return raw ? lt_hdf5_fail(LT_ERR_FORMAT, s->path, item->path) : LT_ERR_MEMORY;
    }
    lt_status st = H5Dread(array, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, raw) < 0 ? lt_hdf5_fail(LT_ERR_FORMAT, s->path, item->path)
                                                                               : answer_texts(fd, raw, item->dim[0]);
    H5Dvlen_reclaim(type, space, H5P_DEFAULT, raw);
    H5Sclose(space);
    lt_free(raw);
    return st;
}

static lt_status serve_labels(const lt_file_scan *s, const lt_read_request *q, int fd)
{
    const lt_file_item *item = &s->item[q->item];
    lt_jail_allow_seconds(2 + (unsigned)(item->dim[0] / (1 << 20)));
    hid_t array = H5Dopen2(s->file, item->path, H5P_DEFAULT), type = array < 0 ? -1 : H5Dget_type(array);
    lt_status st = array < 0 ? lt_hdf5_fail(LT_ERR_FORMAT, s->path, item->path) : read_labels(s, item, array, type, fd);
    if (type >= 0) H5Tclose(type);
    if (array >= 0) H5Dclose(array);
    return st;
}

static lt_status serve_attribute(const lt_file_scan *s, const lt_read_request *q, int fd)
{
    int n = 0;
    char **list = NULL;
    lt_jail_allow_seconds(2);
    hid_t at = H5Oopen(s->file, s->item[q->item].path, H5P_DEFAULT);
    if (at < 0) return lt_hdf5_fail(LT_ERR_FORMAT, s->path, s->item[q->item].path);
    lt_status st = lt_hdf5_get_texts(at, s->path, q->attribute, &n, &list);
    H5Oclose(at);
    if (!st) st = answer_texts(fd, list, n);
    lt_free(list);
    return st;
}

/* ---- Resting ------------------------------------------------------------------------------------------------------- */

/* As the library does when it opens a file for reading. */
static bool lock_again(int file)
{
    const char *use = lt_config_variable("HDF5_USE_FILE_LOCKING");
    if (use && (!strcmp(use, "FALSE") || !strcmp(use, "0"))) return true;
    return !flock(file, LOCK_SH | LOCK_NB) || errno != EWOULDBLOCK;
}

/* Others may write the file meanwhile; the parent then finds that it changed and ends this process. Whether to go on serving. */
static bool serve_rest(const lt_file_scan *s, int fd)
{
    lt_read_request q;
    int file = descriptor(s);
    if (file < 0 || flock(file, LOCK_UN)) return false;
    lt_jail_answer(fd, LT_OK, NULL, 0);
    if (!lt_jail_request_within(fd, &q, sizeof q, LT_READ_REST_SECONDS) || q.what != LT_READ_WAKE || !lock_again(file)) return false;
    lt_jail_answer(fd, LT_OK, NULL, 0);
    return true;
}

/* ---- The process -------------------------------------------------------------------------------------------------- */

static void serve_requests(const lt_file_scan *s, int fd)
{
    for (lt_read_request q; lt_jail_request(fd, &q, sizeof q);) {
        if (q.what == LT_READ_REST) {
            if (serve_rest(s, fd)) continue;
            return;
        }
        lt_status st = q.what == LT_READ_LABELS ? serve_labels(s, &q, fd) : q.what == LT_READ_ATTRIBUTE ? serve_attribute(s, &q, fd) : serve_numbers(s, &q, fd);
        if (st) lt_jail_answer(fd, st, NULL, 0);
        H5Eclear2(H5E_DEFAULT);
    }
}

static void answer_contents(const lt_file_scan *s, const lt_file_head *h, char *const *text, int fd)
{
    lt_jail_answer(fd, LT_OK, h, sizeof *h);
    lt_jail_answer(fd, LT_OK, s->item, (size_t)s->n * sizeof *s->item);
    for (int i = 0; i < LT_FILE_TEXTS; i++)
        if (text[i]) lt_jail_answer(fd, LT_OK, text[i], (size_t)h->text_bytes[i]);
}

void lt_dataset_serve(void *source, int fd)
{
    lt_file_scan s = { .path = ((lt_dataset_source *)source)->path, .file = -1 };
    lt_file_head h = { 0 };
    char *text[LT_FILE_TEXTS] = { NULL };
    lt_status st = open_file(&s, source, &h, text);
    if (st) lt_jail_answer(fd, st, NULL, 0);
    else answer_contents(&s, &h, text, fd);
    for (int i = 0; i < LT_FILE_TEXTS; i++) lt_free(text[i]);
    if (!st) serve_requests(&s, fd);
    if (s.file >= 0) H5Fclose(s.file);
    lt_free(s.item);
}
