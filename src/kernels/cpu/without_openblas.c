/* For builds with LT_OPENBLAS=OFF. SPDX-License-Identifier: BSD-3-Clause */
#include "base/status.h"
#include "lathe/features.h"

void *lt_openblas_function(const char *name)
{
    LT_FAIL(LT_ERR_UNSUPPORTED, "%s of OpenBLAS: this build was made with LT_OPENBLAS=OFF", name);
    return NULL;
}
