/* Kernels from .cu files. SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/cuda/text_kernel.h"

#include "base/status.h"
#include "kernels/host_kernel.h"

#include <inttypes.h>

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
    lt_text whole = { 0 };
    lt_text_kernel_join(constants, t->body, &whole);
    lt_kernel_key key = { .name = t->name, .source = whole.s, .entry = t->entry, .n_args = t->n_args, .waits = true, .flops = t->flops, .bytes = t->bytes };
    for (int i = 0; i < 3; i++) {
        key.grid[i] = LT_MAX(t->grid[i], 1);
        key.block[i] = LT_MAX(t->block[i], 1);
    }
    *out = NULL;
    lt_status s = whole.failed ? LT_FAIL(LT_ERR_MEMORY, "no memory for the text of kernel '%s'", t->name) : lt_device_build(dev, &key, out);
    lt_text_free(&whole);
    lt_text_free(constants);
    return s;
}
