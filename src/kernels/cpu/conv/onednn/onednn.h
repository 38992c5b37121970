/* oneDNN on the calling thread only: the pool shares out the work, so that results do not depend
   on the number of threads and no second set of threads competes for the cores (decision 30).
   SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_KERNELS_CPU_CONV_ONEDNN_ONEDNN_H
#define LT_KERNELS_CPU_CONV_ONEDNN_ONEDNN_H

#include "base/status.h"
#include "kernels/cpu/conv/onednn/api.h"

/* The one CPU engine of the process, made on first use; NULL (error text set) when it failed. */
dnnl_engine_t lt_onednn_engine(void);

/* Room for what a call may take: without memory the library throws, or writes code through a null pointer. */
lt_status lt_onednn_need_room(void);

/* Whether bfloat16 convolutions run as such: where matrix tiles work, or as LATHE_BF16 says. Elsewhere
   oneDNN's are slower than its float32 ones. */
bool lt_onednn_bf16_is_native(void);

/* Version, and the instruction set its kernels are chosen for: "2.7.3, isa 0x3ff". */
void lt_onednn_describe(char *out, size_t bytes);

/* Makes this thread's calls into oneDNN use one thread until lt_onednn_leave(token). */
int  lt_onednn_enter(void);
void lt_onednn_leave(int token);

#define LT_TRY_DNNL(call)                                                                          \
    do {                                                                                           \
        dnnl_status_t lt_dnnl_status_ = (call);                                                    \
        if (lt_dnnl_status_ != dnnl_success)                                                       \
            return LT_FAIL(lt_dnnl_status_ == dnnl_out_of_memory ? LT_ERR_MEMORY                   \
                           : lt_dnnl_status_ == dnnl_unimplemented ? LT_ERR_UNSUPPORTED            \
                                                                   : LT_ERR_INTERNAL,              \
                           "oneDNN: status %d from %s", (int)lt_dnnl_status_, #call);              \
    } while (0)

#endif
