/* The order of a file: where an uninterrupted run puts everything, how an interrupted one returns to that, and how a file that cannot is
   put in order. SPDX-License-Identifier: BSD-3-Clause

   Slabs are appended by number. A commit (store_index.h) follows when enough bytes came since the last; this rule knows sizes and no
   clocks, so the file depends on its rows alone. A kill leaves the file at a commit of that sequence. A stop also appends what the journal
   holds, so that readers can see it. A later run returns to the last commit of the sequence, since everything after it is still in the
   journal. Where something is missing there, or a reader has the file open, the file stays as it is, and at the end of the run it is
   written anew, in order. */
#include "operators/file/store_internal.h"

#include "base/alloc.h"
#include "base/files/file.h"

#include <errno.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

/* A commit costs two syncs and fresh indexes: never more index than data, and seldom in large files. */
#define LEAST_BYTES ((uint64_t)1 << 20)
#define MOST_BYTES ((uint64_t)4 << 30) /* the journal keeps rows until they are committed */

static uint64_t aligned(uint64_t bytes) { return (bytes + 7) / 8 * 8; }

static int64_t chunks_per_slab(const lt_store *s, int part) { return s->index[part].n_chunks / s->n_slabs; }

static uint64_t index_bytes(const lt_store *s, int64_t slabs)
{
    uint64_t bytes = 0;
    for (int i = 0; i < LT_PART_COUNT; i++)
        if (s->p.part[i].rank) bytes += lt_chunk_index_bytes(&s->index[i], slabs * chunks_per_slab(s, i));
    return bytes;
}

bool lt_store_commit_due(const lt_store *s, uint64_t committed, uint64_t end)
{
    if (s->p.commit_bytes) return end - committed > s->p.commit_bytes;
    uint64_t enough = LT_MAX(LT_MAX(4 * index_bytes(s, s->n_slabs), LEAST_BYTES), committed / 16);
    return end - committed > LT_MIN(enough, MOST_BYTES);
}

/* ---- The last commit in order ------------------------------------------------------------------- */

/* Whether the chunks of the slab lie one behind the other from *at on, which moves to their end. */
static bool is_in_order(const lt_store *s, int64_t slab, uint64_t *at)
{
    for (int i = 0; i < LT_PART_COUNT; i++) {
        int64_t n = s->p.part[i].rank ? chunks_per_slab(s, i) : 0;
        for (int64_t c = 0; c < n; c++) {
            const lt_chunk_span *span = &s->index[i].span[slab * n + c];
            if (span->address != *at) return false;
            *at = aligned(*at + span->bytes);
        }
    }
    return true;
}

/* Trees of the first slabs from `at` on: their roots, and where they end. */
static void locate_indexes(const lt_store *s, uint64_t at, lt_commit_point *out)
{
    for (int i = 0; i < LT_PART_COUNT; i++) {
        if (!s->p.part[i].rank) continue;
        at += lt_chunk_index_bytes(&s->index[i], out->slabs * chunks_per_slab(s, i));
        out->root[i] = at - lt_chunk_index_node_bytes(&s->index[i]);
    }
    out->end = at;
}

static lt_commit_point first_point(const lt_store *s)
{
    lt_commit_point p = { .slabs = 0, .end = aligned(s->skeleton_bytes) };
    for (int i = 0; i < LT_PART_COUNT; i++) p.root[i] = LT_HDF5_NOWHERE;
    return p;
}

lt_commit_point lt_store_last_point(const lt_store *s)
{
    lt_commit_point last = first_point(s);
    uint64_t at = last.end;
    for (int64_t b = 0; b < s->n_slabs && s->slab[b].whole && is_in_order(s, b, &at); b++) {
        if (b + 1 < s->n_slabs && !lt_store_commit_due(s, last.end, at)) continue;
        last.slabs = b + 1;
        locate_indexes(s, at, &last);
        at = last.end;
    }
    return last;
}

bool lt_store_is_at(const lt_store *s, const lt_commit_point *p)
{
    for (int i = 0; i < LT_PART_COUNT; i++)
        if (s->p.part[i].rank && s->root[i] != p->root[i]) return false;
    return s->skeleton_bytes && s->end == p->end;
}

/* ---- Going back --------------------------------------------------------------------------------- */

/* Marks rows after the commit as pending, then restores its indexes, then its end. */
static lt_status point_back(lt_store *s, const lt_commit_point *p)
{
    int64_t first = LT_MIN(p->slabs * s->p.chunk_rows, s->p.rows);
    size_t n = (size_t)(s->p.rows - first);
    uint8_t *pending = lt_calloc(n + 1, 1);
    if (!pending) return LT_ERR_MEMORY;
    lt_status st = lt_file_write_at(s->fd, s->path, s->status_at[0] + (uint64_t)first, pending, n);
    lt_free(pending);
    if (!st) st = lt_store_sync(s);
    for (int i = 0; i < LT_PART_COUNT && !st; i++)
        if (s->p.part[i].rank) st = lt_chunk_index_point(s->fd, s->path, &s->index[i], p->root[i]);
    if (!st) st = lt_hdf5_set_end(s->fd, s->path, p->end);
    return st ? st : lt_store_sync(s);
}

lt_status lt_store_go_back(lt_store *s, const lt_commit_point *p, bool *done)
{
    /* Readers hold a shared lock, taken by the HDF5 library. What they may still read must not be overwritten. */
    *done = flock(s->fd, LOCK_EX | LOCK_NB) == 0;
    if (!*done) return LT_OK;
    lt_status st = LT_OK;
    for (int i = 0; i < LT_PART_COUNT && !st; i++)
        if (s->p.part[i].rank) st = lt_chunk_index_load(s->fd, s->path, p->root[i], s->end, &s->index[i]);
    if (!st) st = point_back(s, p);
    if (!st) memcpy(s->root, p->root, sizeof s->root);
    if (!st) s->end = s->committed_end = p->end;
    flock(s->fd, LOCK_UN);
    return st;
}

/* ---- In order, in a new file ---------------------------------------------------------------------- */

typedef struct copy {
    const lt_store *s;
    int             fd;
    const char     *path;
    lt_chunk_index  index[LT_PART_COUNT]; /* with spans of its own */
    uint64_t        end, committed;
    uint8_t        *block;
    size_t          block_bytes;
} copy;

static lt_status copy_bytes(copy *c, uint64_t from, uint64_t to, uint64_t bytes)
{
    for (uint64_t at = 0; at < bytes;) {
        size_t n = (size_t)LT_MIN(bytes - at, (uint64_t)c->block_bytes);
        LT_TRY(lt_file_read_at(c->s->fd, c->s->path, from + at, c->block, n));
        LT_TRY(lt_file_write_at(c->fd, c->path, to + at, c->block, n));
        at += n;
    }
    return LT_OK;
}

static lt_status copy_slab(copy *c, int64_t slab)
{
    for (int i = 0; i < LT_PART_COUNT; i++) {
        int64_t n = c->s->p.part[i].rank ? chunks_per_slab(c->s, i) : 0;
        for (int64_t k = slab * n; k < (slab + 1) * n; k++) {
            lt_chunk_span span = c->s->index[i].span[k];
            LT_TRY(copy_bytes(c, span.address, c->end, span.bytes));
            span.address = c->end;
            c->index[i].span[k] = span;
            c->end = aligned(c->end + span.bytes);
        }
    }
    return LT_OK;
}

static lt_status write_indexes(copy *c, bool in_force)
{
    for (int i = 0; i < LT_PART_COUNT; i++) {
        uint64_t root;
        if (!c->s->p.part[i].rank) continue;
        LT_TRY(lt_chunk_index_write(c->fd, c->path, &c->index[i], &c->end, &root));
        if (in_force) LT_TRY(lt_chunk_index_point(c->fd, c->path, &c->index[i], root));
    }
    c->committed = c->end;
    return LT_OK;
}

static lt_status copy_all(copy *c)
{
    const lt_store *s = c->s;
    for (int i = 0; i < LT_PART_COUNT; i++) {
        c->index[i] = s->index[i];
        if (!s->p.part[i].rank) continue;
        c->index[i].span = lt_malloc((size_t)s->index[i].n_chunks * sizeof *c->index[i].span);
        if (!c->index[i].span) return LT_ERR_MEMORY;
        for (int64_t k = 0; k < s->index[i].n_chunks; k++) c->index[i].span[k] = (lt_chunk_span){ LT_HDF5_NOWHERE, 0, 0 };
    }
    LT_TRY(copy_bytes(c, 0, 0, s->skeleton_bytes));
    for (int64_t b = 0; b < s->n_slabs; b++) {
        LT_TRY(copy_slab(c, b));
        if (b + 1 == s->n_slabs || lt_store_commit_due(s, c->committed, c->end)) LT_TRY(write_indexes(c, b + 1 == s->n_slabs));
    }
    LT_TRY(lt_hdf5_set_end(c->fd, c->path, c->end));
    return ftruncate(c->fd, (off_t)c->end) ? LT_FAIL(LT_ERR_IO, "%s: cannot set its size: %s", c->path, strerror(errno)) : LT_OK;
}

lt_status lt_store_write_in_order(lt_store *s)
{
    lt_atomic_file f;
    LT_TRY(lt_atomic_open(s->path, &f));
    copy c = { .s = s, .fd = f.fd, .path = f.path, .block_bytes = (size_t)8 << 20, .end = first_point(s).end };
    c.committed = c.end;
    c.block = lt_malloc(c.block_bytes);
    lt_status st = c.block ? LT_OK : LT_ERR_MEMORY;
    for (int i = 0; i < LT_PART_COUNT; i++) c.index[i].span = NULL;
    if (!st) st = copy_all(&c);
    for (int i = 0; i < LT_PART_COUNT; i++)
        if (c.index[i].span != s->index[i].span) lt_free(c.index[i].span);
    lt_free(c.block);
    if (st) lt_atomic_cancel(&f);
    else st = lt_atomic_commit(&f);
    if (!st) s->end = c.end;
    return st;
}
