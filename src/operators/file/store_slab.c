/* From finished rows to chunks of the file: assembly, compression, commits.
   SPDX-License-Identifier: BSD-3-Clause */
#include "operators/file/store_internal.h"

#include "base/alloc.h"
#include "base/files/file.h"
#include "operators/file/lzf.h"
#include "trace/clock.h"
#include "trace/trace.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#if LT_HAVE_ZLIB
#include <zlib.h>
#endif

/* Chunks compressed at a time: enough for every thread while their memory is modest. */
enum { MAX_BATCH = 32, PADDING = 8 /* behind each buffer, up to where the next chunk begins */ };
#define BATCH_BYTES ((size_t)256 << 20)

typedef struct chunk_job {
    int      part;
    int64_t  chunk;                      /* within the slab */
    size_t   raw_bytes, packed_bytes;
    uint8_t *raw, *packed;               /* packed == raw: stored as it is */
    uint32_t filter_mask;
} chunk_job;

typedef struct slab_job {
    lt_store  *s;
    int64_t    first_row, n_rows, slab;
    chunk_job *job;
} slab_job;

lt_status lt_store_check_compression(lt_compression c)
{
#if !LT_HAVE_ZLIB
    if (c == LT_COMPRESS_GZIP)
        return LT_FAIL(LT_ERR_UNSUPPORTED, "dataset.storage.compression is gzip, and lathe was built without zlib: use lzf or none, or build with zlib");
#endif
    (void)c;
    return LT_OK;
}

static size_t packed_capacity(const lt_store_plan *p, size_t raw)
{
#if LT_HAVE_ZLIB
    if (p->compression == LT_COMPRESS_GZIP) return compressBound(raw);
#endif
    return p->compression == LT_COMPRESS_LZF ? raw : 0;
}

/* A chunk that does not shrink is stored as it is, and its filter marked as skipped. */
static lt_status pack(const lt_store_plan *p, chunk_job *j, uint8_t *space)
{
    size_t n = 0;
#if LT_HAVE_ZLIB
    if (p->compression == LT_COMPRESS_GZIP) {
        uLongf length = compressBound(j->raw_bytes);
        int code = compress2(space, &length, j->raw, j->raw_bytes, p->level);
        /* stored as it is, the file would be another */
        if (code == Z_MEM_ERROR) return LT_FAIL(LT_ERR_MEMORY, "zlib has no memory to compress a chunk of %zu bytes", j->raw_bytes);
        if (code == Z_OK && length < j->raw_bytes) n = length;
    }
#endif
    if (p->compression == LT_COMPRESS_LZF) n = lt_lzf_pack(j->raw, j->raw_bytes, space, j->raw_bytes);
    j->packed = n ? space : j->raw;
    j->packed_bytes = n ? n : j->raw_bytes;
    j->filter_mask = n || p->compression == LT_COMPRESS_NONE ? 0 : 1;
    return LT_OK;
}

/* Where in a row's record the slice of this chunk begins. Records hold states step by step; chunks
   count realization by realization. */
static uint64_t slice_offset(const lt_store_plan *p, int part, int64_t chunk, size_t slice)
{
    if (part != LT_PART_OUTPUT) return p->part[part].offset;
    int64_t m = chunk / p->steps, t = chunk % p->steps;
    return (uint64_t)(t * p->realizations + m) * slice;
}

static lt_status make_chunk(void *ctx, int64_t index, int worker)
{
    (void)worker;
    slab_job *w = ctx;
    chunk_job *j = &w->job[index];
    lt_store *s = w->s;
    size_t slice = j->raw_bytes / (size_t)s->p.chunk_rows;
    uint64_t offset = slice_offset(&s->p, j->part, j->chunk, slice);
    for (int64_t r = 0; r < s->p.chunk_rows; r++) {
        int64_t slot = r < w->n_rows ? s->slot[w->first_row + r] : -1;
        uint8_t *to = j->raw + (size_t)r * slice;
        if (slot < 0) memset(to, 0, slice);
        else LT_TRY(lt_journal_read(&s->journal, slot, offset, to, slice));
    }
    uint8_t *space = j->packed;
    return pack(&s->p, j, space);
}

static lt_status append_chunk(lt_store *s, const chunk_job *j, int64_t slab, int64_t chunks_per_slab)
{
    size_t padded = (j->packed_bytes + 7) / 8 * 8; /* the buffer has room for the padding, which is zeroed so that no old bytes reach the file */
    memset(j->packed + j->packed_bytes, 0, padded - j->packed_bytes);
    LT_TRY(lt_file_write_at(s->fd, s->path, s->end, j->packed, padded));
    s->index[j->part].span[slab * chunks_per_slab + j->chunk] =
        (lt_chunk_span){ s->end, (uint32_t)j->packed_bytes, j->filter_mask };
    s->end += padded;
    s->stats.raw_bytes += j->raw_bytes;
    return LT_OK;
}

/* Chunks [from, from + n) of one part of the slab. */
static lt_status write_batch(slab_job *w, int part, int64_t from, int n, uint8_t *memory, size_t raw, size_t packed)
{
    lt_store *s = w->s;
    for (int i = 0; i < n; i++) {
        uint8_t *at = memory + (size_t)i * (raw + packed + 2 * PADDING);
        w->job[i] = (chunk_job){ .part = part, .chunk = from + i, .raw_bytes = raw, .raw = at, .packed = at + raw + PADDING };
    }
    int64_t start = lt_clock_ns();
    LT_TRY(lt_pool_run(s->pool, n, make_chunk, w));
    s->stats.compress_seconds += lt_seconds_since(start);
    for (int i = 0; i < n; i++) LT_TRY(append_chunk(s, &w->job[i], w->slab, s->index[part].n_chunks / s->n_slabs));
    return LT_OK;
}

static lt_status write_part(slab_job *w, int part)
{
    lt_store *s = w->s;
    size_t raw = sizeof(float) * (size_t)s->p.chunk_rows;
    for (int k = 0; k < s->p.part[part].rank; k++) raw *= (size_t)s->p.part[part].chunk[k];
    size_t packed = packed_capacity(&s->p, raw);
    int64_t n_chunks = s->index[part].n_chunks / s->n_slabs;
    int batch = (int)LT_MIN(LT_MIN((int64_t)MAX_BATCH, n_chunks), (int64_t)LT_MAX(BATCH_BYTES / (raw + packed), (size_t)1));
    uint8_t *memory = lt_malloc((size_t)batch * (raw + packed + 2 * PADDING));
    if (!memory) return LT_ERR_MEMORY;
    lt_status st = LT_OK;
    for (int64_t from = 0; from < n_chunks && !st; from += batch)
        st = write_batch(w, part, from, (int)LT_MIN((int64_t)batch, n_chunks - from), memory, raw, packed);
    lt_free(memory);
    return st;
}

lt_status lt_store_write_slab(lt_store *s, int64_t slab)
{
    chunk_job jobs[MAX_BATCH];
    lt_span span = lt_span_begin("dataset slab");
    slab_job w = { .s = s, .slab = slab, .first_row = slab * s->p.chunk_rows, .job = jobs };
    w.n_rows = LT_MIN(s->p.chunk_rows, s->p.rows - w.first_row);
    lt_status st = LT_OK;
    for (int part = 0; part < LT_PART_COUNT && !st; part++)
        if (s->p.part[part].rank) st = write_part(&w, part);
    if (!st) s->slab[slab].written = s->slab[slab].dirty = true;
    lt_span_end(span);
    return st;
}

/* ---- Commits ------------------------------------------------------------------------------------- */

lt_status lt_store_sync(const lt_store *s)
{
    return fdatasync(s->fd) ? LT_FAIL(LT_ERR_IO, "%s: cannot sync: %s", s->path, strerror(errno)) : LT_OK;
}

/* Sensitivity values are those of the operator, equal in all realizations except failed ones, which have none. */
static lt_status write_operator_arrays(lt_store *s, int64_t slab)
{
    const lt_part_plan *part = &s->p.part[LT_PART_PER_TRAJECTORY];
    int64_t first = slab * s->p.chunk_rows, last = LT_MIN(first + s->p.chunk_rows, s->p.rows), width = s->p.summary_columns;
    float *row = s->p.operator_columns ? lt_malloc(part->row_bytes) : NULL;
    if (!row) return s->p.operator_columns ? LT_ERR_MEMORY : LT_OK;
    lt_status st = LT_OK;
    for (int64_t r = first; r < last && !st; r++) {
        if (s->slot[r] < 0) continue;
        st = lt_journal_read(&s->journal, s->slot[r], part->offset, row, part->row_bytes);
        int64_t m = 0;
        while (m + 1 < s->p.realizations && isnan(row[m * width + s->p.first_operator_column])) m++;
        for (int i = 0; i < s->p.operator_columns && !st; i++)
            st = lt_file_write_at(s->fd, s->path, s->operator_at[i] + (uint64_t)r * sizeof *row, &row[m * width + s->p.first_operator_column + i], sizeof *row);
    }
    lt_free(row);
    return st;
}

static lt_status write_status(lt_store *s, int64_t slab)
{
    int64_t first = slab * s->p.chunk_rows, n = LT_MIN(s->p.chunk_rows, s->p.rows - first);
    LT_TRY(write_operator_arrays(s, slab));
    LT_TRY(lt_file_write_at(s->fd, s->path, s->status_at[1] + (uint64_t)first * 4, s->step + first, (size_t)n * 4));
    LT_TRY(lt_file_write_at(s->fd, s->path, s->status_at[2] + (uint64_t)first * 4, s->seconds + first, (size_t)n * 4));
    if (s->device)
        LT_TRY(lt_file_write_at(s->fd, s->path, s->status_at[LT_STORE_STATUS_DEVICE] + (uint64_t)first * sizeof *s->device, s->device + first, (size_t)n * sizeof *s->device));
    return lt_file_write_at(s->fd, s->path, s->status_at[0] + (uint64_t)first, s->code + first, (size_t)n);
}

/* Frees the slots of rows whose slab is whole and in the file. */
static void release_slots(lt_store *s, int64_t slab)
{
    int64_t first = slab * s->p.chunk_rows, last = LT_MIN(first + s->p.chunk_rows, s->p.rows);
    if (s->slab[slab].left) return;
    for (int64_t r = first; r < last; r++) {
        if (s->slot[r] >= 0) lt_journal_release(&s->journal, s->slot[r]);
        s->slot[r] = -1;
    }
}

/* Data and new indexes first, then the end of the file, then the pointers: see store_index.h. */
static lt_status commit_all(lt_store *s)
{
    uint64_t root[LT_PART_COUNT], end = s->end;
    for (int i = 0; i < LT_PART_COUNT; i++)
        if (s->p.part[i].rank) LT_TRY(lt_chunk_index_write(s->fd, s->path, &s->index[i], &end, &root[i]));
    LT_TRY(lt_store_sync(s));
    s->end = s->committed_end = end;
    LT_TRY(lt_hdf5_set_end(s->fd, s->path, end));
    for (int i = 0; i < LT_PART_COUNT; i++)
        if (s->p.part[i].rank) LT_TRY(lt_chunk_index_point(s->fd, s->path, &s->index[i], root[i]));
    for (int64_t b = 0; b < s->n_slabs; b++)
        if (s->slab[b].dirty) LT_TRY(write_status(s, b));
    LT_TRY(lt_store_sync(s));
    for (int64_t b = 0; b < s->n_slabs; b++) {
        if (s->slab[b].dirty) release_slots(s, b);
        s->slab[b].dirty = false;
    }
    return LT_OK;
}

static bool has_changed(const lt_store *s)
{
    for (int64_t b = 0; b < s->n_slabs; b++)
        if (s->slab[b].dirty) return true;
    return false;
}

/* What is written to a file without a name is lost when the run ends. */
static lt_status check_place(const lt_store *s)
{
    struct stat open_one, named;
    if (fstat(s->fd, &open_one) || stat(s->path, &named) || open_one.st_dev != named.st_dev || open_one.st_ino != named.st_ino)
        return LT_FAIL(LT_ERR_IO, "%s: was removed or replaced while it was being written: its rows are lost", s->path);
    return LT_OK;
}

lt_status lt_store_commit(lt_store *s)
{
    LT_TRY(check_place(s));
    if (!has_changed(s)) return LT_OK; /* new indexes of unchanged data would only lengthen the file */
    lt_span span = lt_span_begin("dataset commit");
    lt_status st = commit_all(s);
    s->stats.commits += !st;
    lt_span_end(span);
    return st;
}
