/* The kernels of H on a device: from hessian.cu, or in C where the device is the host. SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/device/hessian_internal.h"

#include "base/status.h"
#include "kernels/cuda/builder.h"

#include <stdio.h>

extern const char lt_text_hessian_job_h[], lt_text_hessian_cu[];

/* by_width: one for each number of vectors. threads 0: one for each pair. */
static const struct { const char *entry; int n_args; unsigned threads; bool limited, by_width; } rows[LT_HESSIAN_ENTRY_COUNT] = {
    [LT_HESSIAN_MULTIPLY] = { "multiply", 4, 256, false, true }, [LT_HESSIAN_IDENTITY] = { "identity", 3, 256, false, false },
    [LT_HESSIAN_RANK2] = { "rank2", 3, 256, false, false }, [LT_HESSIAN_CHANGE] = { "change", 5, 256, false, true },
    [LT_HESSIAN_DOTS] = { "dots", 6, 256, true, true }, [LT_HESSIAN_COMBINE] = { "combine", 6, 128, true, true },
    [LT_HESSIAN_LOOPS] = { "loops", 6, 0, true, true },
};

static unsigned blocks_of(const lt_hessian_sizes *z, lt_hessian_entry e, int width)
{
    const int64_t rows_per_block = rows[LT_HESSIAN_MULTIPLY].threads / 32, pairs_per_block = rows[LT_HESSIAN_COMBINE].threads;
    switch (e) {
    case LT_HESSIAN_CHANGE:
    case LT_HESSIAN_MULTIPLY: return (unsigned)((z->n + rows_per_block - 1) / rows_per_block);
    case LT_HESSIAN_IDENTITY:
    case LT_HESSIAN_RANK2: return (unsigned)z->n;
    case LT_HESSIAN_LOOPS: return (unsigned)width;
    case LT_HESSIAN_DOTS: return (unsigned)(2 * z->pairs * z->chunks);
    default: return (unsigned)((z->stride / 2 + pairs_per_block - 1) / pairs_per_block);
    }
}

/* Only the memory that H has, and an update with a product only where one is put off. */
static bool is_used(const lt_device_hessian *m, lt_hessian_entry e, int w)
{
    if (rows[e].limited != (m->z.pairs > 0) || (!rows[e].by_width && w)) return false;
    return e != LT_HESSIAN_CHANGE || m->resident || m->defers;
}

static lt_status build_on_host(lt_device_hessian *m, lt_hessian_entry e, int w)
{
    lt_kernel_key key = { .name = rows[e].entry, .n_args = rows[e].n_args, .host = lt_device_hessian_host_kernel(e, 1 << w, rows[e].entry, rows[e].n_args) };
    if (!key.host) return LT_ERR_MEMORY;
    lt_status s = lt_device_build(m->dev, &key, &m->kernel[e][w]);
    if (s) lt_kernel_destroy(key.host);
    return s;
}

typedef struct names { char entry[24], name[40]; } names;

/* All widths of the two loops are one function. */
static lt_kernel_key key_of(const lt_device_hessian *m, lt_hessian_entry e, int w, names *n)
{
    static const char *const options[] = { "--fmad=false" }; /* an H that is symmetric to the bit */
    snprintf(n->entry, sizeof n->entry, rows[e].by_width && e != LT_HESSIAN_LOOPS ? "%s%d" : "%s", rows[e].entry, 1 << w);
    snprintf(n->name, sizeof n->name, "hessian %.*s", (int)sizeof n->entry - 1, n->entry);
    return (lt_kernel_key){ .name = n->name, .entry = n->entry, .n_args = rows[e].n_args, .options = options, .n_options = 1, .waits = true,
                            .grid = { blocks_of(&m->z, e, 1 << w) },
                            .block = { rows[e].threads ? rows[e].threads : (unsigned)(m->z.pairs + 31) / 32 * 32 } };
}

lt_status lt_device_hessian_build(lt_device_hessian *m)
{
    const bool from_text = lt_device_has(m->dev, LT_DEVICE_TEXT_KERNELS);
    names name[LT_HESSIAN_ENTRY_COUNT][LT_HESSIAN_WIDTHS];
    lt_builder b = lt_builder_begin(m->dev);
    lt_text *t = lt_builder_text(&b);
    lt_status s = LT_OK;
    lt_text_part(t, lt_text_hessian_job_h);
    lt_text_part(t, lt_text_hessian_cu);
    for (int e = 0; e < LT_HESSIAN_ENTRY_COUNT; e++)
        for (int w = 0; w < LT_HESSIAN_WIDTHS && !s; w++) {
            if (!is_used(m, (lt_hessian_entry)e, w)) continue;
            if (!from_text) {
                s = build_on_host(m, (lt_hessian_entry)e, w);
                continue;
            }
            const lt_kernel_key key = key_of(m, (lt_hessian_entry)e, w, &name[e][w]);
            lt_builder_add(&b, t, &key, &m->kernel[e][w]);
        }
    const lt_status built = lt_builder_finish(&b, NULL);
    return s ? s : built;
}
