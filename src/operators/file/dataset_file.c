/* Opening dataset files for reading; nothing in a file can bring the process down.
   SPDX-License-Identifier: BSD-3-Clause */
#include "operators/file/dataset_file.h"

#include "base/alloc.h"
#include "base/files/file.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CONFIG, ENGINE_CONFIG, ENGINE_VERSION, PRECISION, DATE, METRICS, DEVICE };
enum { TRIAL_SECONDS = 60, TRIAL_CPU_SECONDS = 3, TRIAL_OK = 0, TRIAL_REFUSED = 3, TRIAL_ELEMENTS = 1 << 24 };

/* ---- What the file says of itself ------------------------------------------------------------ */

static lt_status read_text(lt_dataset *d, const char *object, const char *name, int which)
{
    hid_t at = H5Oopen(d->file, object, H5P_DEFAULT);
    if (at < 0) return LT_OK;
    lt_status s = lt_hdf5_get_text(at, d->path, name, &d->text[which]);
    H5Oclose(at);
    return s;
}

static lt_status read_texts(lt_dataset *d)
{
    LT_TRY(read_text(d, "/metadata", "config", CONFIG));
    LT_TRY(read_text(d, "/metadata", "creation_date", DATE));
    LT_TRY(read_text(d, "/metadata", "sampling_metrics", METRICS));
    LT_TRY(read_text(d, "/", "engine_config", ENGINE_CONFIG));
    LT_TRY(read_text(d, "/", "engine_version", ENGINE_VERSION));
    LT_TRY(read_text(d, "/", "precision", PRECISION));
    LT_TRY(read_text(d, "/", "device", DEVICE));
    const char **to[] = { &d->info.config, &d->info.engine_config, &d->info.engine_version, &d->info.precision, &d->info.creation_date,
                          &d->info.sampling_metrics, &d->info.device };
    for (size_t i = 0; i < LT_LEN(to); i++) *to[i] = d->text[i] ? d->text[i] : "";
    return LT_OK;
}

static lt_shape shape_of(lt_dataset *d, const char *path)
{
    hid_t array = lt_dataset_open_array(d, path);
    lt_shape s = array < 0 ? lt_shape0() : lt_dataset_array_shape(array);
    if (array >= 0) H5Dclose(array);
    return s;
}

static int64_t root_int(lt_dataset *d, const char *object, const char *name, int64_t fallback)
{
    int64_t v = fallback;
    hid_t at = H5Oopen(d->file, object, H5P_DEFAULT);
    if (at < 0) return fallback;
    if (!lt_hdf5_get_int(at, name, &v)) v = fallback;
    H5Oclose(at);
    return v;
}

static void read_sizes(lt_dataset *d)
{
    lt_dataset_info *i = &d->info;
    lt_shape params = shape_of(d, "/parameters/params"), fields = shape_of(d, "/inputs/fields"), outputs = shape_of(d, "/outputs/fields");
    lt_shape temporal = shape_of(d, "/features/temporal/features"), summary = shape_of(d, "/features/summary/per_trajectory/features");
    if (params.rank == 2) i->rows = params.dim[0], i->parameters = params.dim[1];
    else if (fields.rank == 4) i->rows = fields.dim[0];
    if (fields.rank == 4) i->grid = fields.dim[2];
    i->has_outputs = outputs.rank == 6 || outputs.rank == 5;
    i->steps = outputs.rank == 6 ? outputs.dim[2] : temporal.rank == 3 ? temporal.dim[1] : outputs.rank == 5 ? 1 : 0;
    if (temporal.rank == 3) i->temporal_columns = temporal.dim[2];
    if (summary.rank == 3) i->summary_columns = summary.dim[2];
    i->realizations = root_int(d, "/metadata", "num_realizations", summary.rank == 3 ? summary.dim[1] : i->has_outputs ? outputs.dim[1] : 0);
    i->shard_index = root_int(d, "/", "shard_index", 0);
    i->shard_count = root_int(d, "/", "shard_count", 1);
    i->seed = (uint64_t)root_int(d, "/", "seed", 0);
}

static lt_status count_status(lt_dataset *d)
{
    int64_t n = d->info.rows;
    lt_shape shape = shape_of(d, "/status/code");
    if (shape.rank != 1 || shape.dim[0] != n || n == 0) {
        d->info.status[LT_RUN_DONE] = n;
        return LT_OK;
    }
    uint8_t *code = lt_malloc((size_t)n);
    if (!code) return LT_ERR_MEMORY;
    lt_status s = lt_dataset_read_rows(d, "/status/code", 0, n, H5T_NATIVE_UINT8, code);
    for (int64_t r = 0; r < n && !s; r++) d->info.status[code[r] < LT_RUN_STATUS_COUNT ? code[r] : LT_RUN_FAILED]++;
    lt_free(code);
    return s;
}

static lt_status open_file(lt_dataset *d)
{
    d->file = H5Fopen(d->path, H5F_ACC_RDONLY, H5P_DEFAULT);
    if (d->file < 0) return lt_hdf5_fail(LT_ERR_FORMAT, d->path, "cannot open as HDF5");
    LT_TRY(read_texts(d));
    read_sizes(d);
    if (d->info.rows < 1)
        return LT_FAIL(LT_ERR_FORMAT, "%s: an HDF5 file, but not an operator dataset: no rows in /parameters/params or /inputs/fields", d->path);
    return count_status(d);
}

/* ---- The trial ----------------------------------------------------------------------------------- */

static herr_t touch_attribute(hid_t at, const char *name, const H5A_info_t *info, void *ctx)
{
    int n;
    char **texts;
    (void)info, (void)ctx;
    if (lt_hdf5_get_texts(at, "trial", name, &n, &texts) == LT_OK) lt_free(texts);
    return 0;
}

/* The index of an array, its first row, and all of its texts. */
static void touch_array(lt_dataset *d, const char *name)
{
    char path[512];
    const char *const *texts;
    int64_t n;
    snprintf(path, sizeof path, "/%s", name);
    hid_t array = lt_dataset_open_array(d, path);
    if (array < 0) return;
    lt_shape shape = lt_dataset_array_shape(array);
    hid_t type = H5Dget_type(array);
    bool text = type >= 0 && H5Tget_class(type) == H5T_STRING;
    int64_t count = 1;
    for (int k = 1; k < shape.rank; k++) count *= shape.dim[k];
    H5Dget_storage_size(array);
    H5Dclose(array);
    if (type >= 0) H5Tclose(type);
    if (text) lt_dataset_read_labels(d, path, &n, &texts);
    else if (shape.rank && count <= TRIAL_ELEMENTS) {
        float *row = lt_malloc((size_t)count * sizeof *row);
        if (row) lt_dataset_read_rows(d, path, shape.dim[0] - 1, 1, H5T_NATIVE_FLOAT, row);
        lt_free(row);
    }
}

static herr_t touch_object(hid_t root, const char *name, const H5O_info_t *info, void *ctx)
{
    hid_t object = H5Oopen(root, name, H5P_DEFAULT);
    if (object >= 0) {
        H5Aiterate2(object, H5_INDEX_NAME, H5_ITER_NATIVE, NULL, touch_attribute, NULL);
        H5Oclose(object);
    }
    if (info->type == H5O_TYPE_DATASET) touch_array(ctx, name);
    return 0;
}

/* Damaged metadata can make the HDF5 library itself fail in any way, so a child process meets it
   first: it opens the file, visits every object and reads what we read. */
static _Noreturn void trial_in_child(const char *path)
{
    lt_dataset d = { .path = (char *)path, .file = -1 };
    setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
    setrlimit(RLIMIT_CPU, &(struct rlimit){ TRIAL_CPU_SECONDS, TRIAL_CPU_SECONDS }); /* a loop without end; a slow disk is none */
    int nowhere = open("/dev/null", O_WRONLY); /* what the library or a sanitizer says of its end is not for the user */
    if (nowhere >= 0) dup2(nowhere, 2);
    for (int sig = 1; sig < 32; sig++)
        if (sig != SIGKILL && sig != SIGSTOP) signal(sig, SIG_DFL);
    alarm(TRIAL_SECONDS);
    lt_status s = open_file(&d);
    if (!s && H5Ovisit(d.file, H5_INDEX_NAME, H5_ITER_NATIVE, touch_object, &d) < 0) s = LT_ERR_FORMAT;
    _exit(s ? TRIAL_REFUSED : TRIAL_OK);
}

static lt_status trial(const char *path)
{
    int status = 0;
    pid_t child = fork();
    if (child < 0) return LT_FAIL(LT_ERR_IO, "%s: cannot start a process to look at it: %s", path, strerror(errno));
    if (child == 0) trial_in_child(path);
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR) return LT_FAIL(LT_ERR_IO, "%s: lost the process that looked at it: %s", path, strerror(errno));
    /* What it refused in an orderly way is refused again here, with the reason. */
    if (WIFEXITED(status) && (WEXITSTATUS(status) == TRIAL_OK || WEXITSTATUS(status) == TRIAL_REFUSED)) return LT_OK;
    return LT_FAIL(LT_ERR_FORMAT, "%s: damaged: the HDF5 library does not survive reading it", path);
}

static lt_status check_signature(const char *path, uint64_t *file_bytes)
{
    int fd;
    char head[8];
    LT_TRY(lt_file_open(path, &fd, file_bytes));
    lt_status s = *file_bytes < sizeof head ? LT_FAIL(LT_ERR_FORMAT, "%s: not an HDF5 file: only %llu bytes", path, (unsigned long long)*file_bytes)
                                            : lt_file_read_at(fd, path, 0, head, sizeof head);
    close(fd);
    if (!s && memcmp(head, "\x89HDF\r\n\x1a\n", sizeof head)) s = LT_FAIL(LT_ERR_FORMAT, "%s: not an HDF5 file", path);
    return s;
}

/* ---- Opening and closing ---------------------------------------------------------------------------- */

lt_status lt_dataset_open(const char *path, lt_dataset **out)
{
    if (!out) return LT_FAIL(LT_ERR_ARGUMENT, "dataset: out is NULL");
    uint64_t bytes;
    *out = NULL;
    LT_TRY(check_signature(path, &bytes));
    lt_dataset *d = lt_calloc(1, sizeof *d);
    if (!d || !(d->path = lt_strdup(path))) {
        lt_free(d);
        return LT_ERR_MEMORY;
    }
    d->info.file_bytes = bytes;
    lt_hdf5_lock();
    d->file = -1;
    lt_status s = trial(path);
    if (!s) s = open_file(d);
    lt_hdf5_unlock();
    if (s) lt_dataset_close(d);
    else *out = d;
    return s;
}

void lt_dataset_close(lt_dataset *d)
{
    if (!d) return;
    lt_hdf5_lock();
    if (d->file >= 0) H5Fclose(d->file);
    lt_hdf5_unlock();
    for (size_t i = 0; i < LT_LEN(d->text); i++) lt_free(d->text[i]);
    for (lt_dataset_texts_kept *k = d->kept, *next; k; k = next) {
        next = k->next;
        lt_free(k->list);
        lt_free(k->path);
        lt_free(k);
    }
    lt_free(d->path);
    lt_free(d);
}

lt_dataset_info lt_dataset_get_info(const lt_dataset *d) { return d->info; }

bool lt_dataset_is_at(const lt_dataset *d, const char *path)
{
    struct stat own, other;
    return path && !stat(d->path, &own) && !stat(path, &other) && own.st_dev == other.st_dev && own.st_ino == other.st_ino;
}
