/* Ties an open store to its file: checks the arrays, finds their indexes.
   SPDX-License-Identifier: BSD-3-Clause */
#include "operators/file/hdf5.h"
#include "operators/file/store_internal.h"

#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool extents_match(hid_t dataset, const lt_store_plan *p, const lt_part_plan *part)
{
    hsize_t dims[H5S_MAX_RANK];
    hid_t space = H5Dget_space(dataset);
    int rank = space < 0 ? -1 : H5Sget_simple_extent_ndims(space);
    bool same = rank == part->rank + 1 && H5Sget_simple_extent_dims(space, dims, NULL) == rank && dims[0] == (hsize_t)p->rows;
    for (int k = 0; same && k < part->rank; k++) same = dims[k + 1] == (hsize_t)part->dim[k];
    if (space >= 0) H5Sclose(space);
    return same;
}

static lt_status attach_part(lt_store *s, hid_t file, int i, uint64_t file_bytes)
{
    const lt_part_plan *part = &s->p.part[i];
    H5O_info_t info;
    hid_t d = H5Dopen2(file, part->path, H5P_DEFAULT);
    if (d < 0) return lt_hdf5_fail(LT_ERR_FORMAT, s->path, part->path);
    bool same = extents_match(d, &s->p, part), found = H5Oget_info(d, &info) >= 0;
    H5Dclose(d);
    if (!same) return LT_FAIL(LT_ERR_FORMAT, "%s: %s has other extents than this configuration gives", s->path, part->path);
    if (!found) return lt_hdf5_fail(LT_ERR_FORMAT, s->path, part->path);
    LT_TRY(lt_chunk_index_locate(s->fd, s->path, info.addr, &s->index[i], &s->root[i]));
    return lt_chunk_index_load(s->fd, s->path, s->root[i], file_bytes, &s->index[i]);
}

/* Where an array of one value a row lies, in one piece. */
static lt_status attach_column(lt_store *s, hid_t file, uint64_t file_bytes, const char *name, size_t value_bytes, uint64_t *out)
{
    hid_t d = H5Dopen2(file, name, H5P_DEFAULT);
    if (d < 0) return lt_hdf5_fail(LT_ERR_FORMAT, s->path, name);
    haddr_t at = H5Dget_offset(d);
    uint64_t size = H5Dget_storage_size(d);
    H5Dclose(d);
    if (at == HADDR_UNDEF || size != (uint64_t)s->p.rows * value_bytes || at > file_bytes || size > file_bytes - at)
        return LT_FAIL(LT_ERR_FORMAT, "%s: %s is not an array of %" PRId64 " rows in one piece", s->path, name, s->p.rows);
    *out = at;
    return LT_OK;
}

static lt_status attach_columns(lt_store *s, hid_t file, uint64_t file_bytes)
{
    static const char *const names[LT_STORE_STATUS_ARRAYS] = { "/status/code", "/status/step", "/status/seconds" };
    static const size_t bytes[LT_STORE_STATUS_ARRAYS] = { 1, 4, 4 };
    for (int i = 0; i < LT_STORE_STATUS_ARRAYS; i++) LT_TRY(attach_column(s, file, file_bytes, names[i], bytes[i], &s->status_at[i]));
    for (int i = 0; i < s->p.operator_columns; i++) {
        char path[160];
        lt_store_operator_path(&s->p, i, path);
        LT_TRY(attach_column(s, file, file_bytes, path, sizeof(float), &s->operator_at[i]));
    }
    return LT_OK;
}

/* Files of early versions do not say. */
static void read_skeleton_bytes(lt_store *s, hid_t file)
{
    int64_t bytes = 0;
    hid_t g = H5Gopen2(file, "/status", H5P_DEFAULT);
    if (g < 0) return;
    if (lt_hdf5_get_int(g, "skeleton_bytes", &bytes) && bytes > 0 && (uint64_t)bytes <= s->end) s->skeleton_bytes = (uint64_t)bytes;
    H5Gclose(g);
}

static lt_status attach_open(lt_store *s, hid_t file, uint64_t file_bytes)
{
    read_skeleton_bytes(s, file);
    for (int i = 0; i < LT_PART_COUNT; i++)
        if (s->p.part[i].rank) LT_TRY(attach_part(s, file, i, file_bytes));
    return attach_columns(s, file, file_bytes);
}

lt_status lt_store_attach(lt_store *s)
{
    struct stat st;
    if (fstat(s->fd, &st)) return LT_FAIL(LT_ERR_IO, "%s: cannot read its size", s->path);
    LT_TRY(lt_hdf5_get_end(s->fd, s->path, &s->end));
    if (s->end > (uint64_t)st.st_size)
        return LT_FAIL(LT_ERR_FORMAT, "%s: truncated: %" PRIu64 " bytes, its head says %" PRIu64, s->path, (uint64_t)st.st_size, s->end);
    s->end = s->committed_end = (s->end + 7) / 8 * 8;
    lt_hdf5_lock();
    hid_t file = H5Fopen(s->path, H5F_ACC_RDONLY, H5P_DEFAULT);
    lt_status status = file < 0 ? lt_hdf5_fail(LT_ERR_FORMAT, s->path, "cannot open as HDF5") : attach_open(s, file, (uint64_t)st.st_size);
    if (file >= 0) H5Fclose(file);
    lt_hdf5_unlock();
    return status;
}
