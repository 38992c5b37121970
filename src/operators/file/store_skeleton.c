/* Creates a dataset file: every group, attribute, label and array, all rows pending.
   SPDX-License-Identifier: BSD-3-Clause */
#include "lathe/dataset.h"
#include "operators/file/hdf5.h"
#include "operators/file/store_internal.h"

#include "base/alloc.h"
#include "base/files/file.h"

#include <math.h>
#include <string.h>

static const char file_version[] = "1.0", family_version[] = "1.0.0";

typedef struct skeleton {
    const char            *path;
    const lt_store_plan   *p;
    const lt_store_labels *l;
    const lt_store_texts  *t;
    hid_t                  file;
    lt_status              failed; /* sticky: calls after a failure do nothing */
} skeleton;

/* The first failure, with the reason that the library gives at once or never. */
static void note(skeleton *k, int result)
{
    if (result < 0 && !k->failed) k->failed = lt_hdf5_fail(LT_ERR_IO, k->path, "cannot create the dataset");
}

/* Groups and datasets carry no times: equal runs, equal bytes. */
static hid_t make_group(skeleton *k, const char *name)
{
    hid_t create = H5Pcreate(H5P_GROUP_CREATE), group = -1;
    if (!k->failed && create >= 0 && H5Pset_obj_track_times(create, false) >= 0)
        group = H5Gcreate2(k->file, name, H5P_DEFAULT, create, H5P_DEFAULT);
    note(k, group < 0 ? -1 : 0);
    if (create >= 0) H5Pclose(create);
    return group;
}

static void close_group(skeleton *k, hid_t group)
{
    if (group >= 0) note(k, H5Gclose(group));
}

static int set_compression(hid_t create, const lt_store_plan *p, size_t chunk_bytes)
{
    if (p->compression == LT_COMPRESS_GZIP) return H5Pset_deflate(create, (unsigned)p->level);
    if (p->compression == LT_COMPRESS_NONE) return 0;
    unsigned values[3] = { 4, 0x0105, (unsigned)chunk_bytes }; /* h5py's: its version, LZF's, the chunk */
    return H5Pset_filter(create, LT_FILTER_LZF, H5Z_FLAG_OPTIONAL, 3, values);
}

/* The library converts texts in a buffer that it clears first, by default a megabyte. A smaller one is faster for the labels of a small
   file. */
static int write_whole(hid_t dataset, hid_t type, const void *data)
{
    enum { BUFFER_BYTES = 1 << 16 };
    hid_t transfer = H5Pcreate(H5P_DATASET_XFER);
    int r = transfer < 0 || H5Pset_buffer(transfer, BUFFER_BYTES, NULL, NULL) < 0 ? -1 : H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, transfer, data);
    if (transfer >= 0) H5Pclose(transfer);
    return r;
}

/* A dataset with `rank` extents; chunk NULL: contiguous with its space taken at once. data NULL: not written. */
static hid_t make_dataset(skeleton *k, const char *path, hid_t type, int rank, const hsize_t *dims, const hsize_t *chunk, bool packed,
                          const void *data)
{
    if (k->failed) return -1;
    hid_t create = H5Pcreate(H5P_DATASET_CREATE), space = H5Screate_simple(rank, dims, NULL), dataset = -1;
    size_t bytes = H5Tget_size(type);
    int r = H5Pset_obj_track_times(create, false);
    if (chunk) {
        for (int i = 0; i < rank; i++) bytes *= (size_t)chunk[i];
        if (r >= 0) r = H5Pset_chunk(create, rank, chunk);
        if (r >= 0 && packed) r = set_compression(create, k->p, bytes);
    } else if (r >= 0 && H5Pset_alloc_time(create, H5D_ALLOC_TIME_EARLY) >= 0) r = H5Pset_fill_time(create, H5D_FILL_TIME_ALLOC);
    if (r >= 0) dataset = H5Dcreate2(k->file, path, type, space, H5P_DEFAULT, create, H5P_DEFAULT);
    if (dataset >= 0 && data) note(k, write_whole(dataset, type, data));
    note(k, dataset < 0 ? -1 : 0);
    if (create >= 0) H5Pclose(create);
    if (space >= 0) H5Sclose(space);
    return dataset;
}

/* Chunks are written when their array is closed: a full disk shows here. */
static void close_dataset(skeleton *k, hid_t dataset)
{
    if (dataset >= 0) note(k, H5Dclose(dataset));
}

static void put_column(skeleton *k, const char *path, hid_t type, const void *data)
{
    hsize_t n = (hsize_t)k->p->rows, chunk = (hsize_t)k->p->chunk_rows;
    close_dataset(k, make_dataset(k, path, type, 1, &n, &chunk, false, data));
}

static void put_texts(skeleton *k, const char *path, const char *const *texts)
{
    hid_t type = H5Tcopy(H5T_C_S1);
    note(k, H5Tset_size(type, H5T_VARIABLE));
    note(k, H5Tset_cset(type, H5T_CSET_UTF8));
    put_column(k, path, type, texts);
    H5Tclose(type);
}

/* ---- Attributes ------------------------------------------------------------------------------ */

/* The root attribute `metadata`, which Spinlock's info and validate read. */
static char *metadata_json(const skeleton *k)
{
    static const char format[] = "{\"version\": \"%s\", \"creation_date\": \"%s\", \"grid_size\": %lld, \"num_parameter_sets\": %lld, "
                                 "\"num_realizations\": %lld, \"sampling_metrics\": %s}";
    const lt_store_plan *p = k->p;
    size_t bytes = sizeof format + strlen(k->t->sampling_metrics) + strlen(k->t->date) + 128;
    char *text = lt_malloc(bytes);
    if (text)
        snprintf(text, bytes, format, file_version, k->t->date, (long long)p->grid, (long long)p->rows, (long long)p->realizations,
                 k->t->sampling_metrics);
    return text;
}

static lt_status put_root(skeleton *k)
{
    char *metadata = metadata_json(k);
    if (!metadata) return LT_ERR_MEMORY;
    note(k, lt_hdf5_put_text(k->file, "engine_version", lt_dataset_engine()));
    note(k, lt_hdf5_put_text(k->file, "engine_config", k->t->engine_config));
    note(k, lt_hdf5_put_text(k->file, "precision", k->t->precision));
    note(k, lt_hdf5_put_text(k->file, "device", k->t->device));
    note(k, lt_hdf5_put_int(k->file, "seed", (int64_t)k->t->seed));
    note(k, lt_hdf5_put_text(k->file, "metadata", metadata));
    if (k->p->shard_count > 1) {
        note(k, lt_hdf5_put_int(k->file, "shard_index", k->p->shard_index));
        note(k, lt_hdf5_put_int(k->file, "shard_count", k->p->shard_count));
    }
    lt_free(metadata);
    return LT_OK;
}

static void put_metadata(skeleton *k)
{
    hid_t g = make_group(k, "/metadata");
    if (g < 0) return;
    note(k, lt_hdf5_put_text(g, "creation_date", k->t->date));
    note(k, lt_hdf5_put_text(g, "version", file_version));
    note(k, lt_hdf5_put_int(g, "grid_size", k->p->grid));
    note(k, lt_hdf5_put_int(g, "num_realizations", k->p->realizations));
    note(k, lt_hdf5_put_int(g, "num_parameter_sets", k->p->rows));
    note(k, lt_hdf5_put_bool(g, "track_ic_metadata", true));
    note(k, lt_hdf5_put_text(g, "config", k->t->config));
    note(k, lt_hdf5_put_text(g, "sampling_metrics", k->t->sampling_metrics));
    close_group(k, g);
    put_texts(k, "/metadata/ic_types", k->l->field);
    put_texts(k, "/metadata/evolution_policies", k->l->policy);
    put_texts(k, "/metadata/noise_regimes", k->l->noise);
    put_column(k, "/metadata/grid_sizes", H5T_STD_I32LE, k->l->grid);
}

static void put_parameters(skeleton *k)
{
    hsize_t dims[2] = { (hsize_t)k->p->rows, (hsize_t)k->p->parameters }, chunk[2] = { (hsize_t)k->p->chunk_rows, dims[1] };
    hid_t g = make_group(k, "/parameters");
    if (g < 0) return;
    note(k, lt_hdf5_put_texts(g, "dimension_names", (int)k->p->parameters, k->t->dimension_names));
    close_group(k, g);
    close_dataset(k, make_dataset(k, "/parameters/params", H5T_IEEE_F32LE, 2, dims, chunk, true, k->l->unit));
    if (!k->failed) note(k, H5Lcreate_soft("/parameters/params", k->file, "/parameters/vectors", H5P_DEFAULT, H5P_DEFAULT));
}

/* Texts of one length lie in one piece, where rows can fill them in. */
static void put_row_devices(skeleton *k)
{
    hsize_t n = (hsize_t)k->p->rows;
    hid_t type = H5Tcopy(H5T_C_S1);
    note(k, H5Tset_size(type, LT_DEVICE_KIND));
    note(k, H5Tset_strpad(type, H5T_STR_NULLPAD));
    close_dataset(k, make_dataset(k, "/status/device", type, 1, &n, NULL, false, NULL));
    H5Tclose(type);
}

static void put_status(skeleton *k)
{
    hsize_t n = (hsize_t)k->p->rows;
    hid_t g = make_group(k, "/status");
    if (g >= 0) note(k, lt_hdf5_put_int(g, "skeleton_bytes", 0)); /* record_size fills it in */
    close_group(k, g);
    close_dataset(k, make_dataset(k, "/status/code", H5T_STD_U8LE, 1, &n, NULL, false, NULL));
    close_dataset(k, make_dataset(k, "/status/step", H5T_STD_I32LE, 1, &n, NULL, false, NULL));
    close_dataset(k, make_dataset(k, "/status/seconds", H5T_IEEE_F32LE, 1, &n, NULL, false, NULL));
    close_dataset(k, make_dataset(k, "/status/row", H5T_STD_I64LE, 1, &n, NULL, false, k->l->row));
    if (k->p->row_devices) put_row_devices(k);
    else if (k->l->device) put_texts(k, "/status/device", k->l->device);
}

/* ---- Arrays that rows fill ------------------------------------------------------------------------- */

static void put_part(skeleton *k, lt_part which)
{
    const lt_part_plan *part = &k->p->part[which];
    hsize_t dims[LT_MAX_RANK], chunk[LT_MAX_RANK];
    if (!part->rank) return;
    dims[0] = (hsize_t)k->p->rows;
    chunk[0] = (hsize_t)k->p->chunk_rows;
    for (int i = 0; i < part->rank; i++) {
        dims[i + 1] = (hsize_t)part->dim[i];
        chunk[i + 1] = (hsize_t)part->chunk[i];
    }
    hid_t d = make_dataset(k, part->path, H5T_IEEE_F32LE, part->rank + 1, dims, chunk, true, NULL);
    if (d < 0) return;
    if (part->n_names) note(k, lt_hdf5_put_texts(d, "column_names", part->n_names, part->names));
    if (which >= LT_PART_INITIAL && which <= LT_PART_ARCHITECTURE) note(k, lt_hdf5_put_bytes(d, "feature_names", part->n_names, part->names));
    if (which == LT_PART_AGGREGATED) note(k, lt_hdf5_put_texts(d, "aggregation_order", 3, (const char *[]){ "mean", "std", "cv" }));
    if (which == LT_PART_TEMPORAL && k->p->steps == 1) note(k, lt_hdf5_put_bool(d, "single_step", true));
    close_dataset(k, d);
}

static void put_outputs(skeleton *k)
{
    hid_t g = make_group(k, "/outputs");
    if (g >= 0) {
        note(k, lt_hdf5_put_bool(g, "feature_only_mode", !k->p->outputs));
        if (!k->p->outputs) note(k, lt_hdf5_put_text(g, "note", "States are not stored; `lathe replay` computes them again, bit for bit."));
    }
    close_group(k, g);
    put_part(k, LT_PART_OUTPUT);
}

/* The sensitivity of the operators once more, as one array per column, as readers of Spinlock's files expect. */
static void put_operator_arrays(skeleton *k)
{
    hsize_t n = (hsize_t)k->p->rows;
    char path[160];
    if (!k->p->operator_columns) return;
    close_group(k, make_group(k, "/features/summary/operator_sensitivity_inline"));
    float *blank = lt_malloc((size_t)n * sizeof *blank);
    if (!blank && !k->failed) k->failed = LT_ERR_MEMORY;
    for (hsize_t i = 0; blank && i < n; i++) blank[i] = NAN;
    for (int i = 0; i < k->p->operator_columns; i++) {
        lt_store_operator_path(k->p, i, path);
        close_dataset(k, make_dataset(k, path, H5T_IEEE_F32LE, 1, &n, NULL, false, blank));
    }
    lt_free(blank);
}

static void put_summary(skeleton *k)
{
    hid_t g = make_group(k, "/features/summary");
    if (g < 0) return;
    note(k, lt_hdf5_put_text(g, "version", family_version));
    if (k->p->summary_columns) {
        note(k, lt_hdf5_put_text(g, "feature_registry", k->t->registry));
        note(k, lt_hdf5_put_int(g, "num_features", k->t->registered));
        note(k, lt_hdf5_put_text(g, "extraction_config", k->t->extraction_config));
    }
    close_group(k, g);
    if (k->p->summary_columns) {
        close_group(k, make_group(k, "/features/summary/per_trajectory"));
        close_group(k, make_group(k, "/features/summary/aggregated"));
        close_group(k, make_group(k, "/features/summary/aggregated/metadata"));
        put_part(k, LT_PART_PER_TRAJECTORY);
        put_part(k, LT_PART_AGGREGATED);
        put_column(k, "/features/summary/aggregated/metadata/extraction_time", H5T_IEEE_F64LE, NULL);
        put_operator_arrays(k);
    }
    if (!k->p->learned_columns) return;
    g = make_group(k, "/features/summary/learned");
    if (g < 0) return;
    note(k, lt_hdf5_put_text(g, "version", family_version));
    note(k, lt_hdf5_put_text(g, "description", k->t->learned ? k->t->learned : ""));
    close_group(k, g);
    put_part(k, LT_PART_LEARNED);
}

static void put_versioned(skeleton *k, const char *group)
{
    hid_t g = make_group(k, group);
    if (g >= 0) note(k, lt_hdf5_put_text(g, "version", family_version));
    close_group(k, g);
}

/* An array alone in its group. */
static void put_alone(skeleton *k, const char *group, lt_part part)
{
    if (!k->p->part[part].rank) return;
    close_group(k, make_group(k, group));
    put_part(k, part);
}

static void put_rows(skeleton *k)
{
    if (k->p->initial_columns || k->p->manual_columns || k->p->cnn_columns) put_versioned(k, "/features/initial");
    put_alone(k, "/features/initial/aggregated", LT_PART_INITIAL);
    put_alone(k, "/features/initial/manual", LT_PART_INITIAL_MANUAL);
    put_alone(k, "/features/initial/cnn", LT_PART_INITIAL_CNN);
    if (k->p->architecture_columns) put_versioned(k, "/features/architecture");
    put_alone(k, "/features/architecture/aggregated", LT_PART_ARCHITECTURE);
}

static void put_features(skeleton *k)
{
    hid_t g = make_group(k, "/features");
    if (g < 0) return;
    note(k, lt_hdf5_put_text(g, "extraction_timestamp", k->t->date));
    static const char *const notes[] = { "extraction_name", "extraction_description", "extraction_author", "extraction_created", "extraction_purpose" };
    for (size_t i = 0; k->t->notes && i < LT_LEN(notes); i++)
        if (k->t->notes[i]) note(k, lt_hdf5_put_text(g, notes[i], k->t->notes[i]));
    note(k, lt_hdf5_put_text(g, "family_versions", "{\"temporal\": \"1.0.0\", \"summary\": \"1.0.0\"}"));
    close_group(k, g);
    if (k->p->temporal_columns) {
        g = make_group(k, "/features/temporal");
        if (g >= 0) note(k, lt_hdf5_put_text(g, "version", family_version));
        close_group(k, g);
        put_part(k, LT_PART_TEMPORAL);
    }
    if (k->p->summary_columns || k->p->learned_columns) put_summary(k);
    put_rows(k);
}

/* ---- The whole ------------------------------------------------------------------------------------------ */

/* The oldest file format: no checksums over what commits change in place, and every reader knows it. */
/* A failure is asked for its reason at once: the next call of the library forgets it. */
static lt_status create_file(skeleton *k, const char *path)
{
    hid_t access = H5Pcreate(H5P_FILE_ACCESS), create = H5Pcreate(H5P_FILE_CREATE);
    if (access >= 0 && create >= 0 && H5Pset_libver_bounds(access, H5F_LIBVER_EARLIEST, H5F_LIBVER_LATEST) >= 0
        && H5Pset_obj_track_times(create, false) >= 0 && H5Pset_file_locking(access, false, true) >= 0) /* we hold a lock on it ourselves (base/files/temporary.c) */
        k->file = H5Fcreate(path, H5F_ACC_TRUNC, create, access);
    lt_status s = k->file < 0 ? lt_hdf5_fail(LT_ERR_IO, k->path, "cannot create the file") : LT_OK;
    if (access >= 0) H5Pclose(access);
    if (create >= 0) H5Pclose(create);
    return s;
}

static lt_status fill_file(skeleton *k)
{
    LT_TRY(put_root(k));
    put_metadata(k);
    put_parameters(k);
    close_group(k, make_group(k, "/inputs"));
    put_part(k, LT_PART_FIELD);
    put_outputs(k);
    put_features(k);
    put_status(k);
    return k->failed;
}

/* Writes into the closed file how many bytes it has: what is appended begins there. The attribute keeps its place, the file its size. */
static lt_status record_size(skeleton *k, const lt_atomic_file *f)
{
    uint64_t end;
    LT_TRY(lt_hdf5_get_end(f->fd, k->path, &end));
    int64_t bytes = (int64_t)end;
    hid_t access = H5Pcreate(H5P_FILE_ACCESS), file = -1;
    if (access >= 0 && H5Pset_file_locking(access, false, true) >= 0) file = H5Fopen(f->temporary, H5F_ACC_RDWR, access); /* no other process knows the file */
    hid_t g = file < 0 ? -1 : H5Gopen2(file, "/status", H5P_DEFAULT), a = g < 0 ? -1 : H5Aopen(g, "skeleton_bytes", H5P_DEFAULT);
    lt_status s = a < 0 || H5Awrite(a, H5T_NATIVE_INT64, &bytes) < 0 ? lt_hdf5_fail(LT_ERR_IO, k->path, "cannot write the file") : LT_OK;
    if (a >= 0 && H5Aclose(a) < 0 && !s) s = lt_hdf5_fail(LT_ERR_IO, k->path, "cannot write the file");
    close_group(k, g);
    if (file >= 0 && H5Fclose(file) < 0 && !s) s = lt_hdf5_fail(LT_ERR_IO, k->path, "cannot write the file");
    if (access >= 0) H5Pclose(access);
    return s;
}

static lt_status create_at(skeleton *k, const lt_atomic_file *f)
{
    LT_TRY(lt_hdf5_lock());
    lt_status s = create_file(k, f->temporary);
    if (!s) s = fill_file(k);
    if (k->file >= 0 && H5Fclose(k->file) < 0 && !s) s = lt_hdf5_fail(LT_ERR_IO, k->path, "cannot write the file");
    if (!s) s = record_size(k, f);
    H5Eclear2(H5E_DEFAULT);
    lt_hdf5_unlock();
    return s;
}

lt_status lt_store_skeleton(const lt_store_claim *c, const lt_store_plan *p, const lt_store_labels *l, const lt_store_texts *t)
{
    skeleton k = { .path = c->path, .p = p, .l = l, .t = t, .file = -1 };
    lt_atomic_file f;
    LT_TRY(lt_atomic_open(c->path, &f));
    lt_status s = create_at(&k, &f);
    if (s) lt_atomic_cancel(&f);
    else s = lt_atomic_commit(&f);
    return s;
}
