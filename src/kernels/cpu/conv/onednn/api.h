/* One interface over oneDNN 2 and 3, which differ in how tensors and convolutions are described: plain structs
   there, handles that must be destroyed here. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_KERNELS_CPU_CONV_ONEDNN_API_H
#define LT_KERNELS_CPU_CONV_ONEDNN_API_H

#include <oneapi/dnnl/dnnl.h>

/* ---- Descriptions of tensors: zeroed is none; released ones are none again ---- */
typedef dnnl_memory_desc_t lt_dnnl_desc;

#if DNNL_VERSION_MAJOR >= 3
typedef const_dnnl_memory_desc_t lt_dnnl_view; /* what the library's functions take */
static inline lt_dnnl_view lt_dnnl_look(const lt_dnnl_desc *d) { return *d; }
#else
typedef const dnnl_memory_desc_t *lt_dnnl_view;
static inline lt_dnnl_view lt_dnnl_look(const lt_dnnl_desc *d) { return d; }
#endif

dnnl_status_t lt_dnnl_desc_make(lt_dnnl_desc *d, int rank, const dnnl_dims_t dims, dnnl_data_type_t type, dnnl_format_tag_t tag);
dnnl_status_t lt_dnnl_desc_copy(lt_dnnl_desc *d, lt_dnnl_view from);
void          lt_dnnl_desc_release(lt_dnnl_desc *d);

/* ---- Convolutions ---- */
typedef enum lt_dnnl_pass { LT_DNNL_FORWARD, LT_DNNL_TO_INPUT, LT_DNNL_TO_WEIGHTS } lt_dnnl_pass; /* the latter two: gradients */

typedef struct lt_dnnl_conv {
    lt_dnnl_pass pass;
    lt_dnnl_view x, w, bias, y;  /* bias: of LT_DNNL_FORWARD, or NULL */
    dnnl_dims_t  stride, dilation, begin, end; /* dilation: 0 is dense; begin, end: padding */
} lt_dnnl_conv;

/* attr may be NULL. */
dnnl_status_t lt_dnnl_conv_create(dnnl_primitive_desc_t *out, dnnl_engine_t engine, const lt_dnnl_conv *c, const_dnnl_primitive_attr_t attr);
dnnl_status_t lt_dnnl_append_activation(dnnl_post_ops_t ops, dnnl_alg_kind_t activation);

#endif
