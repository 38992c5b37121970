/* A folder being written beside the path it will have. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_BASE_FILES_FOLDER_H
#define LT_BASE_FILES_FOLDER_H

#include "lathe/base.h"

/* Nothing is seen under `path` before commit, which renames; cancel removes what was written. What a killed process left is removed by the next that makes the same
   folder: whoever writes holds a lock on the folder, so one without a lock is a leftover. Zero-initialised is idle. */
typedef struct lt_atomic_folder {
    int   fd;
    char *path, *temporary; /* both NULL when idle; files are written below `temporary` */
} lt_atomic_folder;

/* LT_ERR_ARGUMENT when there is something at `path`, since no folder is replaced, and where none can be made. */
lt_status lt_atomic_folder_open(const char *path, lt_atomic_folder *f);
/* What lies in it lasts once this returns LT_OK. Idle afterwards, whether it succeeds or not. */
lt_status lt_atomic_folder_commit(lt_atomic_folder *f);
void      lt_atomic_folder_cancel(lt_atomic_folder *f); /* an idle one is allowed */

/* A new file with this content below the folder, "a/b/c": folders on the way are made. */
lt_status lt_atomic_folder_write(const lt_atomic_folder *f, const char *name, const void *data, size_t n_bytes);

#endif
