/* Chunk indexes of an HDF5 file, written so that the file is valid at every instant.
   SPDX-License-Identifier: BSD-3-Clause

   The library creates the file; what is added later is raw chunks at its end, then a new index
   (a version-1 B-tree, HDF5 File Format Specification 3.0, III.A.1) beside the old one, then one
   eight-byte pointer in the dataset's layout message. A process killed anywhere in between leaves
   the old index or the new one in force, never half of either (decision 60). */
#ifndef LT_OPERATORS_FILE_STORE_INDEX_H
#define LT_OPERATORS_FILE_STORE_INDEX_H

#include "lathe/base.h"

#define LT_HDF5_NOWHERE UINT64_MAX /* the format's undefined address */
#define LT_HDF5_NODE_ENTRIES 64    /* twice the default rank of chunk indexes */

typedef struct lt_chunk_span {
    uint64_t address;             /* LT_HDF5_NOWHERE: not written */
    uint32_t bytes, filter_mask;
} lt_chunk_span;

typedef struct lt_chunk_index {
    int             rank;
    int             element_bytes;
    int64_t         chunk[LT_MAX_RANK], grid[LT_MAX_RANK]; /* elements of a chunk, chunks, by axis */
    int64_t         n_chunks;
    lt_chunk_span *span;         /* by chunk number, row major over the grid; owned by the user */
    uint64_t        pointer;      /* where in the file the address of the index stands */
} lt_chunk_index;

/* Chunk grid of a dataset of these extents; place stays as it is. */
void lt_chunk_index_shape(lt_chunk_index *x, int rank, const int64_t *dims, const int64_t *chunk);
/* Finds the pointer in the object header at `header`. LT_ERR_FORMAT unless the dataset is chunked
   with a version-1 B-tree. *root is where the index now stands, or LT_HDF5_NOWHERE. */
lt_status lt_chunk_index_locate(int fd, const char *path, uint64_t header, lt_chunk_index *x, uint64_t *root);
/* Fills x->span from the index at root; every address is checked against file_bytes. */
lt_status lt_chunk_index_load(int fd, const char *path, uint64_t root, uint64_t file_bytes, lt_chunk_index *x);
/* Writes the index of what x->span holds at *end, which moves on. *root is LT_HDF5_NOWHERE when
   there are no chunks. Nothing refers to it until lt_chunk_index_point. */
lt_status lt_chunk_index_write(int fd, const char *path, const lt_chunk_index *x, uint64_t *end, uint64_t *root);
lt_status lt_chunk_index_point(int fd, const char *path, const lt_chunk_index *x, uint64_t root);
/* Bytes of an index of n_chunks chunks; its root is the last node. */
uint64_t  lt_chunk_index_bytes(const lt_chunk_index *x, int64_t n_chunks);
uint64_t  lt_chunk_index_node_bytes(const lt_chunk_index *x);

/* The end of the file that its superblock (version 0) records. */
lt_status lt_hdf5_get_end(int fd, const char *path, uint64_t *end);
lt_status lt_hdf5_set_end(int fd, const char *path, uint64_t end);

#endif
