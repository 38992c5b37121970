/* The table of tiles: a checksum for each that is there. SPDX-License-Identifier: BSD-3-Clause */
#include "qkernel/file/file.h"

#include "base/alloc.h"
#include "base/hash.h"
#include "base/status.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static const char magic[16] = "lathe tiles 1\n";
enum { HALF = 1, PACKED = 2, F32 = 4, KNOWN = 7 };
_Static_assert(sizeof(lt_tile_head) == LT_TABLE_HEAD, "the head has no gaps");

static uint64_t seal_of_head(const lt_tile_head *h) { return lt_hash64(h, offsetof(lt_tile_head, seal), 1) | 1; }

lt_tile_head lt_table_head(const lt_layout *l, const char *digest, const char *kind)
{
    lt_tile_head h;
    memset(&h, 0, sizeof h);
    memcpy(h.magic, magic, sizeof magic);
    memcpy(h.digest, digest, strnlen(digest, sizeof h.digest));
    snprintf(h.kind, sizeof h.kind, "%s", kind);
    h.n = l->n;
    h.m = l->m;
    h.side = l->side;
    h.tiles = lt_layout_tiles(l);
    h.flags = (l->half ? HALF : 0) | (l->packed ? PACKED : 0) | (l->f32 ? F32 : 0);
    h.seal = seal_of_head(&h);
    return h;
}

lt_layout lt_table_layout(const lt_tile_head *h)
{
    lt_layout l = lt_layout_of(h->n, h->m, h->flags & HALF, h->flags & PACKED, h->flags & F32);
    l.side = h->side;
    return l;
}

static lt_tile_entry make_entry(const lt_tile_head *h, int64_t unit, uint64_t sum)
{
    uint64_t all[3] = { h->seal, (uint64_t)unit, sum };
    return (lt_tile_entry){ sum, lt_hash64(all, sizeof all, 2) | 1 };
}

/* ---- Reading ------------------------------------------------------------------------------------------------------------------------ */

static lt_status not_one(const char *path, const char *why)
{
    return LT_FAIL(LT_ERR_FORMAT, "%s: is not a table of tiles: %s; remove it, with what it belongs to, and compute the matrix anew", path, why);
}

static lt_status check_head(const char *path, const lt_tile_head *h)
{
    if (memcmp(h->magic, magic, sizeof magic)) return not_one(path, "it does not begin like one");
    if (h->seal != seal_of_head(h) || !memchr(h->kind, 0, sizeof h->kind) || h->flags & ~(uint64_t)KNOWN) return not_one(path, "its head was changed");
    const int64_t most = INT64_C(1) << 40;
    if (h->n < 1 || h->m < 1 || h->side < 1 || h->n > most || h->m > most || h->side > most) return not_one(path, "its sizes make no sense");
    if (h->flags & HALF && h->n != h->m) return not_one(path, "its sizes make no sense");
    if (h->flags & PACKED && !(h->flags & HALF)) return not_one(path, "its sizes make no sense");
    if (h->side > LT_MAX(h->n, h->m)) return not_one(path, "its sizes make no sense");
    lt_layout l = lt_table_layout(h);
    /* their number would overflow */
    if (ceil((double)h->n / (double)h->side) * ceil((double)h->m / (double)h->side) > (double)most) return not_one(path, "its sizes make no sense");
    return h->tiles == lt_layout_tiles(&l) ? LT_OK : not_one(path, "its sizes make no sense");
}

static lt_status read_entries(lt_open_file f, const lt_tile_head *h, lt_tile_entry *e)
{
    LT_TRY(lt_file_read_at(f.fd, f.path, LT_TABLE_HEAD, e, (size_t)h->tiles * sizeof *e));
    for (int64_t i = 0; i < h->tiles; i++) {
        lt_tile_entry want = make_entry(h, i, e[i].sum);
        char why[64];
        if ((!e[i].sum && !e[i].seal) || e[i].seal == want.seal) continue;
        snprintf(why, sizeof why, "the entry of tile %lld was changed", (long long)i);
        return not_one(f.path, why);
    }
    return LT_OK;
}

lt_status lt_table_read(lt_open_file f, lt_tile_head *h, lt_tile_entry **entries)
{
    struct stat st;
    char why[96];
    *entries = NULL;
    if (fstat(f.fd, &st)) return LT_FAIL(LT_ERR_IO, "%s: cannot read: %s", f.path, strerror(errno));
    if (st.st_size < LT_TABLE_HEAD) return not_one(f.path, "it is too short");
    LT_TRY(lt_file_read_at(f.fd, f.path, 0, h, sizeof *h));
    LT_TRY(check_head(f.path, h));
    if ((uint64_t)st.st_size != LT_TABLE_HEAD + (uint64_t)h->tiles * sizeof(lt_tile_entry)) {
        snprintf(why, sizeof why, "it has %lld bytes, its %lld tiles take %lld", (long long)st.st_size, (long long)h->tiles,
                 (long long)(LT_TABLE_HEAD + h->tiles * (int64_t)sizeof(lt_tile_entry)));
        return not_one(f.path, why);
    }
    lt_tile_entry *e = lt_malloc((size_t)h->tiles * sizeof *e);
    if (!e) return LT_ERR_MEMORY;
    lt_status s = read_entries(f, h, e);
    if (s) lt_free(e);
    else *entries = e;
    return s;
}

/* ---- Writing --------------------------------------------------------------------------------------------------------------------------- */

/* All entries zero. The head comes last: a table whose maker was killed here is too short, or begins with zeros. */
lt_status lt_table_begin(lt_open_file f, const lt_tile_head *h)
{
    static const lt_tile_entry none[4096];
    for (int64_t i = 0; i < h->tiles; i += (int64_t)LT_LEN(none))
        LT_TRY(lt_file_write_at(f.fd, f.path, LT_TABLE_HEAD + (uint64_t)i * sizeof *none, none, (size_t)LT_MIN((int64_t)LT_LEN(none), h->tiles - i) * sizeof *none));
    return lt_file_write_at(f.fd, f.path, 0, h, sizeof *h);
}

lt_status lt_table_put(lt_open_file f, const lt_tile_head *h, int64_t unit, uint64_t sum)
{
    lt_tile_entry e = make_entry(h, unit, sum);
    return lt_file_write_at(f.fd, f.path, LT_TABLE_HEAD + (uint64_t)unit * sizeof e, &e, sizeof e);
}

lt_status lt_table_match(const char *path, const lt_tile_head *found, const lt_tile_head *wanted)
{
    if (found->n != wanted->n || found->m != wanted->m || found->flags != wanted->flags)
        return LT_FAIL(LT_ERR_ARGUMENT, "%s: is of a matrix of %lld x %lld of another form, this one is %lld x %lld: finish that one, choose another --out, or remove the file", path,
                       (long long)found->n, (long long)found->m, (long long)wanted->n, (long long)wanted->m);
    if (memcmp(found->digest, wanted->digest, sizeof found->digest))
        return LT_FAIL(LT_ERR_ARGUMENT, "%s: is of another matrix: rows, weights or options were different; finish that one, choose another --out, or remove the file", path);
    if (strcmp(found->kind, wanted->kind))
        return LT_FAIL(LT_ERR_ARGUMENT, "%s: was begun with %s, here it is %s: last bits would differ; go on as it was begun, or remove the file", path, found->kind, wanted->kind);
    return LT_OK;
}
