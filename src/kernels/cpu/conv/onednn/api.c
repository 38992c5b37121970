/* One interface over oneDNN 2 and 3. SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/cpu/conv/onednn/api.h"

#include <stddef.h>
#include <string.h>

#if DNNL_VERSION_MAJOR >= 3

dnnl_status_t lt_dnnl_desc_make(lt_dnnl_desc *d, int rank, const dnnl_dims_t dims, dnnl_data_type_t type, dnnl_format_tag_t tag)
{
    *d = NULL;
    return dnnl_memory_desc_create_with_tag(d, rank, dims, type, tag);
}

dnnl_status_t lt_dnnl_desc_copy(lt_dnnl_desc *d, lt_dnnl_view from)
{
    *d = NULL;
    return dnnl_memory_desc_clone(d, from);
}

void lt_dnnl_desc_release(lt_dnnl_desc *d)
{
    if (*d) (void)dnnl_memory_desc_destroy(*d);
    *d = NULL;
}

/* No hint of a forward pass is given: convolutions do not need one. */
dnnl_status_t lt_dnnl_conv_create(dnnl_primitive_desc_t *out, dnnl_engine_t engine, const lt_dnnl_conv *c, const_dnnl_primitive_attr_t attr)
{
    switch (c->pass) {
    case LT_DNNL_FORWARD:
        return dnnl_convolution_forward_primitive_desc_create(out, engine, dnnl_forward_inference, dnnl_convolution_direct, c->x, c->w, c->bias, c->y, c->stride,
                                                              c->dilation, c->begin, c->end, attr);
    case LT_DNNL_TO_INPUT:
        return dnnl_convolution_backward_data_primitive_desc_create(out, engine, dnnl_convolution_direct, c->x, c->w, c->y, c->stride, c->dilation, c->begin,
                                                                    c->end, NULL, attr);
    default:
        return dnnl_convolution_backward_weights_primitive_desc_create(out, engine, dnnl_convolution_direct, c->x, c->w, NULL, c->y, c->stride, c->dilation,
                                                                       c->begin, c->end, NULL, attr);
    }
}

dnnl_status_t lt_dnnl_append_activation(dnnl_post_ops_t ops, dnnl_alg_kind_t activation) { return dnnl_post_ops_append_eltwise(ops, activation, 0, 0); }

#else

dnnl_status_t lt_dnnl_desc_make(lt_dnnl_desc *d, int rank, const dnnl_dims_t dims, dnnl_data_type_t type, dnnl_format_tag_t tag)
{
    return dnnl_memory_desc_init_by_tag(d, rank, dims, type, tag);
}

dnnl_status_t lt_dnnl_desc_copy(lt_dnnl_desc *d, lt_dnnl_view from)
{
    *d = *from;
    return dnnl_success;
}

void lt_dnnl_desc_release(lt_dnnl_desc *d) { memset(d, 0, sizeof *d); }

dnnl_status_t lt_dnnl_conv_create(dnnl_primitive_desc_t *out, dnnl_engine_t engine, const lt_dnnl_conv *c, const_dnnl_primitive_attr_t attr)
{
    dnnl_convolution_desc_t d;
    dnnl_status_t s;
    switch (c->pass) {
    case LT_DNNL_FORWARD:
        s = dnnl_dilated_convolution_forward_desc_init(&d, dnnl_forward_inference, dnnl_convolution_direct, c->x, c->w, c->bias, c->y, c->stride, c->dilation,
                                                       c->begin, c->end);
        break;
    case LT_DNNL_TO_INPUT:
        s = dnnl_dilated_convolution_backward_data_desc_init(&d, dnnl_convolution_direct, c->x, c->w, c->y, c->stride, c->dilation, c->begin, c->end);
        break;
    default:
        s = dnnl_dilated_convolution_backward_weights_desc_init(&d, dnnl_convolution_direct, c->x, c->w, NULL, c->y, c->stride, c->dilation, c->begin, c->end);
    }
    return s ? s : dnnl_primitive_desc_create(out, &d, attr, engine, NULL);
}

dnnl_status_t lt_dnnl_append_activation(dnnl_post_ops_t ops, dnnl_alg_kind_t activation) { return dnnl_post_ops_append_eltwise(ops, 1, activation, 0, 0); }

#endif
