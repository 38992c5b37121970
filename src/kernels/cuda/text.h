/* Growing text, for kernels that are written at run time. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_KERNELS_CUDA_TEXT_H
#define LT_KERNELS_CUDA_TEXT_H

#include "lathe/base.h"

typedef struct lt_text { char *s; size_t length, capacity; bool failed; } lt_text; /* zero-initialised is empty */

/* Appends; when memory is out the text is marked failed and stays as it is. */
void lt_text_add(lt_text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
void lt_text_free(lt_text *t);

#endif
