/* Which engine wrote a file. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_OPERATORS_FILE_ENGINE_H
#define LT_OPERATORS_FILE_ENGINE_H

#include <stdint.h>

/* -1 for an older engine than this one, 1 for a newer one, 0 for this one and for files of other programs (""). A text that is no version
   counts as newer: nothing is known of it. */
int64_t lt_engine_age(const char *version);

#endif
