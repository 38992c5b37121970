/* Temporary files beside what they will replace. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_BASE_FILES_TEMPORARY_H
#define LT_BASE_FILES_TEMPORARY_H

#include "lathe/files.h"

#include <sys/types.h>

enum { LT_TEMPORARY_SUFFIX = 32 }; /* name needs this many bytes more than path */

/* A new file PATH.lathe-N.tmp with this mode (less the umask), open and locked as long as it is open; *place is its entry in the list of
   lt_files_abandon, 0 where that is full. What killed writers of `path` left is removed first. Where hosts share a file system whose locks
   each keeps to itself (NFS with nolock, Lustre with localflock), two that write the same `path` at the same time may take each other's
   files for leftovers: the one that commits first succeeds, the other gets an error. */
lt_status lt_temporary_open(const char *path, mode_t mode, char *name, size_t name_bytes, int *fd, int *place);
/* Puts another file on that list, which its next writer knows by its name. The place, or 0. */
int lt_temporary_list(const char *name);
/* Takes the lock by which a temporary file or folder is known to have a writer; false: another has it, or there are no locks here. */
bool lt_temporary_lock(int fd);
/* Neither removed nor replaced by another since it was opened. */
bool lt_temporary_is_named(int fd, const char *name);
/* Once it is renamed or removed: takes it off the list of lt_files_abandon. 0 is allowed. */
void lt_temporary_unlist(int place);

#endif
