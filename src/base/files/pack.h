/* Many entries in one file of the cache folder, which processes share: compiled kernels, of which a run may want hundreds.
   SPDX-License-Identifier: BSD-3-Clause

   Entries stand one behind the other, each with digests of its key and content. Writers append, one at a time; what one that was killed left
   behind is cut off by the next. Where an entry lies is remembered in the process, so that a file is gone through once (decision 432). */
#ifndef LT_BASE_FILES_PACK_H
#define LT_BASE_FILES_PACK_H

#include "lathe/base.h"

/* file: a name in the cache folder. One that is not there, is damaged or has more than limit_bytes gives *data NULL and LT_OK. The caller frees
   *data, behind which stands a zero. Safe from several threads. */
lt_status lt_pack_get(const char *file, const char *key, size_t limit_bytes, char **data, size_t *n_bytes);
/* A file that would pass most_bytes begins anew. */
lt_status lt_pack_put(const char *file, const char *key, const void *data, size_t n_bytes, size_t most_bytes);

#endif
