/* Kernels from .cu files. SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/cuda/text_kernel.h"

#include "base/status.h"
#include "kernels/cuda/builder.h"
#include "kernels/host_kernel.h"

#include <inttypes.h>
#include <string.h>

extern const char lt_text_prelude_cu[];

void lt_text_constant(lt_text *t, const char *name, int64_t value)
{
    lt_text_add(t, "enum : i64 { %s = %" PRId64 " };\n", name, value);
}

void lt_text_type(lt_text *t, const char *name, lt_dtype type) { lt_text_add(t, "typedef %s %s;\n", lt_dtype_name(type), name); }

unsigned lt_blocks(int64_t n, int threads) { return (unsigned)LT_MAX(1, (n + threads - 1) / threads); }

double lt_problem_bytes(const lt_problem_key *p)
{
    double bytes = (double)lt_tensor_bytes(&p->out);
    for (int i = 0; i < p->n_in; i++) bytes += (double)lt_tensor_bytes(&p->in[i]);
    return bytes;
}

void lt_text_kernel_join(const lt_text *constants, const char *body, lt_text *out)
{
    lt_text_add(out, "%s\n%s\n%s", lt_text_prelude_cu, constants->s ? constants->s : "", body);
    out->failed = out->failed || constants->failed;
}

lt_status lt_text_kernel_build(lt_device *dev, const lt_text_kernel *t, lt_text *constants, lt_kernel **out)
{
    lt_builder b = lt_builder_begin(dev);
    lt_text *whole = lt_builder_text(&b);
    lt_text_kernel_join(constants, t->body, whole);
    lt_text_free(constants);
    lt_kernel_key key = { .name = t->name, .entry = t->entry, .n_args = t->n_args, .waits = true, .flops = t->flops, .bytes = t->bytes };
    memcpy(key.grid, t->grid, sizeof key.grid);
    memcpy(key.block, t->block, sizeof key.block);
    lt_builder_add(&b, whole, &key, out);
    return lt_builder_finish(&b, NULL);
}
