/* Ties an open store to its file: checks the arrays, finds their indexes.
   SPDX-License-Identifier: BSD-3-Clause */
#include "operators/file/dataset_file.h"
#include "operators/file/store_internal.h"

#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool extents_match(const lt_file_item *item, const lt_store_plan *p, const lt_part_plan *part)
{
    bool same = item->rank == part->rank + 1 && item->element == LT_ELEMENT_F32 && item->dim[0] == p->rows;
    for (int k = 0; same && k < part->rank; k++) same = item->dim[k + 1] == part->dim[k];
    return same;
}

static lt_status attach_part(lt_store *s, const lt_dataset *d, int i, uint64_t file_bytes)
{
    const lt_part_plan *part = &s->p.part[i];
    const lt_file_item *item = lt_dataset_find(d, part->path);
    if (!item || item->group) return LT_FAIL(LT_ERR_FORMAT, "%s: no array %s", s->path, part->path);
    if (!extents_match(item, &s->p, part)) return LT_FAIL(LT_ERR_FORMAT, "%s: %s has other extents than this configuration gives", s->path, part->path);
    LT_TRY(lt_chunk_index_locate(s->fd, s->path, item->header, &s->index[i], &s->root[i]));
    return lt_chunk_index_load(s->fd, s->path, s->root[i], file_bytes, &s->index[i]);
}

/* Where an array of one value a row lies, in one piece. */
static lt_status attach_column(lt_store *s, const lt_dataset *d, uint64_t file_bytes, const char *name, size_t value_bytes, uint64_t *out)
{
    const lt_file_item *item = lt_dataset_find(d, name);
    if (!item || item->group) return LT_FAIL(LT_ERR_FORMAT, "%s: no array %s", s->path, name);
    uint64_t at = item->data, size = item->stored_bytes;
    if (at == LT_FILE_NOWHERE || size != (uint64_t)s->p.rows * value_bytes || at > file_bytes || size > file_bytes - at)
        return LT_FAIL(LT_ERR_FORMAT, "%s: %s is not an array of %" PRId64 " rows in one piece", s->path, name, s->p.rows);
    *out = at;
    return LT_OK;
}

static lt_status attach_columns(lt_store *s, const lt_dataset *d, uint64_t file_bytes)
{
    static const char *const names[LT_STORE_STATUS_ARRAYS] = { "/status/code", "/status/step", "/status/seconds" };
    static const size_t bytes[LT_STORE_STATUS_ARRAYS] = { 1, 4, 4 };
    for (int i = 0; i < LT_STORE_STATUS_ARRAYS; i++) LT_TRY(attach_column(s, d, file_bytes, names[i], bytes[i], &s->status_at[i]));
    if (s->p.row_devices) LT_TRY(attach_column(s, d, file_bytes, "/status/device", LT_DEVICE_KIND, &s->status_at[LT_STORE_STATUS_DEVICE]));
    for (int i = 0; i < s->p.operator_columns; i++) {
        char path[160];
        lt_store_operator_path(&s->p, i, path);
        LT_TRY(attach_column(s, d, file_bytes, path, sizeof(float), &s->operator_at[i]));
    }
    return LT_OK;
}

static lt_status attach_open(lt_store *s, const lt_dataset *d, uint64_t file_bytes)
{
    if (d->skeleton_bytes <= s->end) s->skeleton_bytes = d->skeleton_bytes; /* files of early versions do not have it */
    for (int i = 0; i < LT_PART_COUNT; i++)
        if (s->p.part[i].rank) LT_TRY(attach_part(s, d, i, file_bytes));
    return attach_columns(s, d, file_bytes);
}

lt_status lt_store_attach(lt_store *s)
{
    struct stat st;
    if (fstat(s->fd, &st)) return LT_FAIL(LT_ERR_IO, "%s: cannot read its size", s->path);
    LT_TRY(lt_hdf5_get_end(s->fd, s->path, &s->end));
    if (s->end > (uint64_t)st.st_size)
        return LT_FAIL(LT_ERR_FORMAT, "%s: truncated: %" PRIu64 " bytes, its head says %" PRIu64, s->path, (uint64_t)st.st_size, s->end);
    s->end = s->committed_end = (s->end + 7) / 8 * 8;
    lt_dataset *d;
    LT_TRY(lt_dataset_open(s->path, &d));
    lt_status status = attach_open(s, d, (uint64_t)st.st_size);
    lt_dataset_close(d);
    return status;
}
