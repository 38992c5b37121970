/* One builder for all kernels that are compiled from text: an engine writes texts, says which kernels it wants of them,
   and has them compiled side by side. SPDX-License-Identifier: BSD-3-Clause

   A text is made of parts that lt_embed put into the library, and of names that are fixed when it is compiled. What C and
   kernels both read, jobs above all, stands in one header of plain types, which C includes and the text begins with.
   Kernels of one text share its machine code, and the device keeps that in its cache folder.

       lt_builder b = lt_builder_begin(dev);
       lt_text *t = lt_builder_text(&b);
       lt_text_define(t, "CHANNELS", 32);
       lt_text_part(t, lt_text_job_h);
       lt_text_part(t, lt_text_join_cu);
       lt_builder_add(&b, t, &(lt_kernel_key){ .name = "join", .entry = "join", .n_args = 1, .grid = { 64 }, .block = { 256 } }, &join);
       return lt_builder_finish(&b, lt_device_pool(dev)); */
#ifndef LT_KERNELS_CUDA_BUILDER_H
#define LT_KERNELS_CUDA_BUILDER_H

#include "device/stream.h"
#include "kernels/cuda/text.h"

typedef struct lt_builder {
    lt_device               *dev;
    struct lt_owned_text    *texts;   /* the last one first */
    struct lt_build_order   *orders;
    int                      n, max;
    bool                     failed;  /* no memory; lt_builder_finish reports it */
    lt_text                  spare;   /* what is written to when there is no memory for another text */
} lt_builder;

static inline lt_builder lt_builder_begin(lt_device *dev) { return (lt_builder){ .dev = dev }; }
/* An empty text, which the builder owns. Never NULL. */
lt_text  *lt_builder_text(lt_builder *b);
/* Wants the kernel `key->entry` of t. key without source; 0 in grid and block counts as 1; its name and options stay until
   lt_builder_finish. *out is the kernel then, NULL until then. */
void      lt_builder_add(lt_builder *b, const lt_text *t, const lt_kernel_key *key, lt_kernel **out);
/* Builds all of them, by the threads of `pool` (NULL: one after the other), or none: after a failure every *out is NULL.
   The builder is empty afterwards. */
lt_status lt_builder_finish(lt_builder *b, lt_pool *pool);

/* "#define NAME value" */
void lt_text_define(lt_text *t, const char *name, int64_t value);
void lt_text_define_as(lt_text *t, const char *name, const char *value);
void lt_text_part(lt_text *t, const char *part);
/* lt_wait() and the short names of types (kernels/cuda/fused/prelude.cu). */
void lt_text_prelude(lt_text *t);

#endif
