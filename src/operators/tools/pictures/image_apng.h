/* Animated PNG files. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_OPERATORS_TOOLS_PICTURES_IMAGE_APNG_H
#define LT_OPERATORS_TOOLS_PICTURES_IMAGE_APNG_H

#include "operators/tools/pictures/image.h"

typedef struct lt_apng lt_apng;

/* LT_ERR_UNSUPPORTED without zlib. The file appears when it is finished. */
lt_status lt_apng_begin(const char *path, int width, int height, int fps, lt_apng **out);
lt_status lt_apng_put(lt_apng *a, const lt_image *frame); /* of the size it was begun with */
/* s not LT_OK: nothing is left. Returns the first failure. NULL is allowed. */
lt_status lt_apng_finish(lt_apng *a, lt_status s);

#endif
