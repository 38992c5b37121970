/* Stands where the CUDA device will: says that there is none. SPDX-License-Identifier: BSD-3-Clause */
#include "device/backend.h"

#include "base/status.h"

const lt_backend *lt_backend_cuda(void)
{
    (void)LT_FAIL(LT_ERR_UNSUPPORTED, "this build has no CUDA device yet");
    return NULL;
}
