/* Chunk indexes of an HDF5 file: version-1 B-trees, found, read and written.
   SPDX-License-Identifier: BSD-3-Clause */
#include "operators/file/store_index.h"

#include "base/alloc.h"
#include "base/files/file.h"
#include "base/status.h"

#include <inttypes.h>
#include <string.h>

enum { NODE_HEAD = 24, MAX_LEVELS = 10, MAX_MESSAGES = 256, SUPERBLOCK = 96, END_OFFSET = 40 };
enum { MESSAGE_LAYOUT = 0x0008, MESSAGE_CONTINUATION = 0x0010, LAYOUT_VERSION = 3, LAYOUT_CHUNKED = 2 };

/* ---- Little-endian numbers ------------------------------------------------------------ */

static uint64_t get(const uint8_t *p, int bytes)
{
    uint64_t v = 0;
    for (int i = 0; i < bytes; i++) v |= (uint64_t)p[i] << (8 * i);
    return v;
}

static uint8_t *put(uint8_t *p, uint64_t v, int bytes)
{
    for (int i = 0; i < bytes; i++) p[i] = (uint8_t)(v >> (8 * i));
    return p + bytes;
}

/* ---- Superblock --------------------------------------------------------------------------- */

static lt_status read_superblock(int fd, const char *path, uint8_t s[SUPERBLOCK])
{
    LT_TRY(lt_file_read_at(fd, path, 0, s, SUPERBLOCK));
    if (memcmp(s, "\x89HDF\r\n\x1a\n", 8)) return LT_FAIL(LT_ERR_FORMAT, "%s: not an HDF5 file", path);
    if (s[8] != 0 || s[13] != 8 || s[14] != 8 || get(s + 24, 8) != 0)
        return LT_FAIL(LT_ERR_FORMAT, "%s: superblock version %d with %d-byte addresses, expected version 0 with 8 as lathe writes it", path,
                       s[8], s[13]);
    return LT_OK;
}

lt_status lt_hdf5_get_end(int fd, const char *path, uint64_t *end)
{
    uint8_t s[SUPERBLOCK];
    LT_TRY(read_superblock(fd, path, s));
    *end = get(s + END_OFFSET, 8);
    return LT_OK;
}

lt_status lt_hdf5_set_end(int fd, const char *path, uint64_t end)
{
    uint8_t s[8];
    put(s, end, 8);
    return lt_file_write_at(fd, path, END_OFFSET, s, sizeof s);
}

/* ---- The layout message of a dataset ------------------------------------------------------- */

typedef struct header_walk {
    int         fd;
    const char *path;
    int         n_messages;      /* still to come */
    uint64_t    next, next_bytes; /* a continuation block; 0 = none */
} header_walk;

/* The layout message in this block of messages, or 0; remembers the last continuation seen. */
static lt_status scan_block(header_walk *w, uint64_t at, uint64_t bytes, uint64_t *layout)
{
    uint8_t head[8], more[16];
    w->next = 0;
    while (bytes >= 8 && w->n_messages > 0) {
        LT_TRY(lt_file_read_at(w->fd, w->path, at, head, sizeof head));
        uint64_t type = get(head, 2), size = get(head + 2, 2);
        if (size + 8 > bytes) return LT_FAIL(LT_ERR_FORMAT, "%s: object header message of %" PRIu64 " bytes overruns its block", w->path, size);
        if (type == MESSAGE_LAYOUT) {
            *layout = at + 8;
            return LT_OK;
        }
        if (type == MESSAGE_CONTINUATION && size >= 16) {
            LT_TRY(lt_file_read_at(w->fd, w->path, at + 8, more, sizeof more));
            w->next = get(more, 8);
            w->next_bytes = get(more + 8, 8);
        }
        at += 8 + size;
        bytes -= 8 + size;
        w->n_messages--;
    }
    return LT_OK;
}

static lt_status find_layout(int fd, const char *path, uint64_t header, uint64_t *layout)
{
    uint8_t h[16];
    *layout = 0;
    LT_TRY(lt_file_read_at(fd, path, header, h, sizeof h));
    if (h[0] != 1) return LT_FAIL(LT_ERR_FORMAT, "%s: object header version %d, expected 1", path, h[0]);
    header_walk w = { fd, path, (int)LT_MIN(get(h + 2, 2), (uint64_t)MAX_MESSAGES), 0, 0 };
    LT_TRY(scan_block(&w, header + 16, get(h + 8, 4), layout));
    for (int blocks = 0; !*layout && w.next && blocks < MAX_MESSAGES; blocks++)
        LT_TRY(scan_block(&w, w.next, w.next_bytes, layout));
    return *layout ? LT_OK : LT_FAIL(LT_ERR_FORMAT, "%s: a dataset without a layout message", path);
}

lt_status lt_chunk_index_locate(int fd, const char *path, uint64_t header, lt_chunk_index *x, uint64_t *root)
{
    uint64_t at;
    uint8_t m[3 + 8 + 4 * (LT_MAX_RANK + 1)];
    LT_TRY(find_layout(fd, path, header, &at));
    size_t bytes = (size_t)(3 + 8 + 4 * (x->rank + 1));
    LT_TRY(lt_file_read_at(fd, path, at, m, bytes));
    if (m[0] != LAYOUT_VERSION || m[1] != LAYOUT_CHUNKED || m[2] != x->rank + 1)
        return LT_FAIL(LT_ERR_FORMAT, "%s: layout version %d, class %d, %d axes; expected version 3, chunked, %d axes", path, m[0], m[1], m[2] - 1,
                       x->rank);
    for (int k = 0; k <= x->rank; k++) {
        uint64_t want = k < x->rank ? (uint64_t)x->chunk[k] : (uint64_t)x->element_bytes, got = get(m + 11 + 4 * k, 4);
        if (got != want) return LT_FAIL(LT_ERR_FORMAT, "%s: chunk extent %" PRIu64 " along axis %d, expected %" PRIu64, path, got, k, want);
    }
    x->pointer = at + 3;
    *root = get(m + 3, 8);
    return LT_OK;
}

lt_status lt_chunk_index_point(int fd, const char *path, const lt_chunk_index *x, uint64_t root)
{
    uint8_t p[8];
    put(p, root, 8);
    return lt_file_write_at(fd, path, x->pointer, p, sizeof p);
}

/* ---- Chunk numbers and keys ------------------------------------------------------------------ */

void lt_chunk_index_shape(lt_chunk_index *x, int rank, const int64_t *dims, const int64_t *chunk)
{
    x->rank = rank;
    x->element_bytes = 4;
    x->n_chunks = 1;
    for (int k = 0; k < rank; k++) {
        x->chunk[k] = chunk[k];
        x->grid[k] = (dims[k] + chunk[k] - 1) / chunk[k];
        x->n_chunks *= x->grid[k];
    }
}

static size_t key_bytes(const lt_chunk_index *x) { return 8 + 8 * (size_t)(x->rank + 1); }
static size_t node_bytes(const lt_chunk_index *x)
{
    return NODE_HEAD + LT_HDF5_NODE_ENTRIES * 8 + (LT_HDF5_NODE_ENTRIES + 1) * key_bytes(x);
}

uint64_t lt_chunk_index_node_bytes(const lt_chunk_index *x) { return node_bytes(x); }

uint64_t lt_chunk_index_bytes(const lt_chunk_index *x, int64_t n_chunks)
{
    int64_t nodes = 0, n = n_chunks;
    for (int level = 0; n > 0 && (level == 0 || n > 1); level++) {
        n = (n + LT_HDF5_NODE_ENTRIES - 1) / LT_HDF5_NODE_ENTRIES;
        nodes += n;
    }
    return (uint64_t)nodes * node_bytes(x);
}

/* The key of chunk `number`; beyond = 1 gives one past it along every axis: the right end of a tree. */
static uint8_t *put_key(const lt_chunk_index *x, int64_t number, int beyond, uint8_t *p)
{
    int64_t at[LT_MAX_RANK], rest = number;
    for (int k = x->rank - 1; k >= 0; k--) {
        at[k] = rest % x->grid[k] + beyond;
        rest /= x->grid[k];
    }
    p = put(p, beyond ? 0 : x->span[number].bytes, 4);
    p = put(p, beyond ? 0 : x->span[number].filter_mask, 4);
    for (int k = 0; k < x->rank; k++) p = put(p, (uint64_t)(at[k] * x->chunk[k]), 8);
    return put(p, beyond ? (uint64_t)x->element_bytes : 0, 8);
}

/* The number of the chunk at the key's offsets; false when they are not those of a chunk. */
static bool number_of_key(const lt_chunk_index *x, const uint8_t *key, int64_t *number)
{
    *number = 0;
    for (int k = 0; k < x->rank; k++) {
        uint64_t offset = get(key + 8 + 8 * k, 8), step = (uint64_t)x->chunk[k];
        if (offset % step || offset / step >= (uint64_t)x->grid[k]) return false;
        *number = *number * x->grid[k] + (int64_t)(offset / step);
    }
    return true;
}

/* ---- Reading a tree ------------------------------------------------------------------------- */

typedef struct tree_walk {
    int             fd;
    const char     *path;
    uint64_t        file_bytes;
    lt_chunk_index *x;
    int64_t         nodes_left;  /* a tree with more nodes than chunks can fill has a cycle */
} tree_walk;

static lt_status load_entry(tree_walk *w, const uint8_t *key, uint64_t child)
{
    int64_t number;
    uint64_t bytes = get(key, 4);
    if (!number_of_key(w->x, key, &number)) return LT_FAIL(LT_ERR_FORMAT, "%s: a chunk index names a chunk outside its dataset", w->path);
    if (child > w->file_bytes || bytes > w->file_bytes - child)
        return LT_FAIL(LT_ERR_FORMAT, "%s: chunk %" PRId64 " lies beyond the end of the file", w->path, number);
    w->x->span[number] = (lt_chunk_span){ child, (uint32_t)bytes, (uint32_t)get(key + 4, 4) };
    return LT_OK;
}

static lt_status load_node(tree_walk *w, uint64_t at, int level)
{
    size_t key = key_bytes(w->x), bytes = node_bytes(w->x);
    if (w->nodes_left-- <= 0) return LT_FAIL(LT_ERR_FORMAT, "%s: a chunk index with too many nodes", w->path);
    if (at > w->file_bytes || bytes > w->file_bytes - at) return LT_FAIL(LT_ERR_FORMAT, "%s: a chunk index beyond the end of the file", w->path);
    uint8_t *node = lt_malloc(bytes);
    if (!node) return LT_ERR_MEMORY;
    lt_status s = lt_file_read_at(w->fd, w->path, at, node, bytes);
    int n = (int)get(node + 6, 2);
    if (!s && (memcmp(node, "TREE", 4) || node[4] != 1 || n > LT_HDF5_NODE_ENTRIES || node[5] > MAX_LEVELS || (level >= 0 && node[5] != level)))
        s = LT_FAIL(LT_ERR_FORMAT, "%s: no chunk index at byte %" PRIu64, w->path, at);
    for (int i = 0; !s && i < n; i++) {
        const uint8_t *entry = node + NODE_HEAD + (size_t)i * (key + 8);
        uint64_t child = get(entry + key, 8);
        s = node[5] ? load_node(w, child, node[5] - 1) : load_entry(w, entry, child);
    }
    lt_free(node);
    return s;
}

lt_status lt_chunk_index_load(int fd, const char *path, uint64_t root, uint64_t file_bytes, lt_chunk_index *x)
{
    for (int64_t i = 0; i < x->n_chunks; i++) x->span[i] = (lt_chunk_span){ LT_HDF5_NOWHERE, 0, 0 };
    tree_walk w = { fd, path, file_bytes, x, 2 * x->n_chunks + MAX_LEVELS };
    return root == LT_HDF5_NOWHERE ? LT_OK : load_node(&w, root, -1);
}

/* ---- Writing a tree --------------------------------------------------------------------------- */

typedef struct tree_entry { int64_t first; uint64_t address; } tree_entry; /* of a child: its lowest chunk */

/* One node over entries [from, to) of a level with n of them; siblings lie side by side in the file. */
static lt_status write_node(int fd, const char *path, const lt_chunk_index *x, int level, const tree_entry *e, int64_t n, int64_t from,
                            int64_t to, uint64_t at, uint8_t *node)
{
    size_t bytes = node_bytes(x);
    memset(node, 0, bytes);
    memcpy(node, "TREE", 4);
    node[4] = 1;
    node[5] = (uint8_t)level;
    put(node + 6, (uint64_t)(to - from), 2);
    put(node + 8, from > 0 ? at - bytes : LT_HDF5_NOWHERE, 8);
    put(node + 16, to < n ? at + bytes : LT_HDF5_NOWHERE, 8);
    uint8_t *p = node + NODE_HEAD;
    for (int64_t i = from; i < to; i++) {
        p = put_key(x, e[i].first, 0, p);
        p = put(p, e[i].address, 8);
    }
    if (to < n) put_key(x, e[to].first, 0, p);
    else put_key(x, x->n_chunks - 1, 1, p);
    return lt_file_write_at(fd, path, at, node, bytes);
}

/* Groups the entries of one level into nodes; e becomes the entries of the next. */
static lt_status write_level(int fd, const char *path, const lt_chunk_index *x, int level, tree_entry *e, int64_t *n, uint64_t *end,
                             uint8_t *node)
{
    int64_t n_nodes = (*n + LT_HDF5_NODE_ENTRIES - 1) / LT_HDF5_NODE_ENTRIES;
    for (int64_t i = 0; i < n_nodes; i++) {
        int64_t from = i * LT_HDF5_NODE_ENTRIES, to = LT_MIN(from + LT_HDF5_NODE_ENTRIES, *n);
        LT_TRY(write_node(fd, path, x, level, e, *n, from, to, *end, node));
        e[i] = (tree_entry){ e[from].first, *end }; /* from >= i: what is overwritten was used */
        *end += node_bytes(x);
    }
    *n = n_nodes;
    return LT_OK;
}

lt_status lt_chunk_index_write(int fd, const char *path, const lt_chunk_index *x, uint64_t *end, uint64_t *root)
{
    int64_t n = 0;
    *root = LT_HDF5_NOWHERE;
    for (int64_t i = 0; i < x->n_chunks; i++) n += x->span[i].address != LT_HDF5_NOWHERE;
    if (n == 0) return LT_OK;
    tree_entry *e = lt_malloc((size_t)n * sizeof *e);
    uint8_t *node = lt_malloc(node_bytes(x));
    lt_status s = e && node ? LT_OK : LT_ERR_MEMORY;
    int64_t at = 0;
    for (int64_t i = 0; !s && i < x->n_chunks; i++)
        if (x->span[i].address != LT_HDF5_NOWHERE) e[at++] = (tree_entry){ i, x->span[i].address };
    for (int level = 0; !s && (level == 0 || n > 1); level++) s = write_level(fd, path, x, level, e, &n, end, node);
    if (!s) *root = e[0].address;
    lt_free(e);
    lt_free(node);
    return s;
}
