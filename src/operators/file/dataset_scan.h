/* What is in an HDF5 file, without following anything out of it. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_OPERATORS_FILE_DATASET_SCAN_H
#define LT_OPERATORS_FILE_DATASET_SCAN_H

#include "operators/file/dataset_reader.h"
#include "operators/file/hdf5.h"

typedef struct lt_file_scan {
    const char   *path;
    hid_t         file;
    bool          by_stdio; /* the file is a FILE to the library, not a descriptor */
    int           n, capacity;
    lt_file_item *item;
    lt_status     status;
} lt_file_scan;

/* Lists every group and array in alphabetical order. LT_ERR_FORMAT, with its name, for what leads out of the file or to code that is not
   ours: soft, external and user-defined links, external storage, virtual arrays, committed types, unknown filters. */
lt_status lt_file_scan_all(lt_file_scan *s);

#endif
