/* The kernels of H on a device: from optimize/device/hessian.cu, or in C where the device is the host.
   SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/device/far_internal.h"

#include "base/status.h"

#include <stdio.h>
#include <string.h>

extern const char lt_text_hessian_cu[];

static const struct { const char *entry; int n_args; unsigned threads; } rows[LT_FAR_ENTRY_COUNT] = {
    [LT_FAR_MULTIPLY] = { "multiply", 4, 256 }, [LT_FAR_IDENTITY] = { "identity", 3, 256 }, [LT_FAR_RANK2] = { "rank2", 3, 256 },
    [LT_FAR_DOTS] = { "dots", 6, 256 }, [LT_FAR_COMBINE] = { "combine", 6, 128 },
    [LT_FAR_CHANGE] = { "change", 5, 256 }, [LT_FAR_LOOPS] = { "loops", 6, 0 /* one for each pair */ },
};

static unsigned blocks_of(const lt_far_sizes *z, lt_far_entry e, int width)
{
    const int64_t rows_per_block = rows[LT_FAR_MULTIPLY].threads / 32, pairs_per_block = rows[LT_FAR_COMBINE].threads;
    switch (e) {
    case LT_FAR_CHANGE:
    case LT_FAR_MULTIPLY: return (unsigned)((z->n + rows_per_block - 1) / rows_per_block);
    case LT_FAR_IDENTITY:
    case LT_FAR_RANK2: return (unsigned)z->n;
    case LT_FAR_LOOPS: return (unsigned)width;
    case LT_FAR_DOTS: return (unsigned)(2 * z->pairs * z->chunks);
    default: return (unsigned)((z->stride / 2 + pairs_per_block - 1) / pairs_per_block);
    }
}

static lt_status build(lt_far *m, lt_far_entry e, int width, lt_kernel **out)
{
    static const char *const options[] = { "--fmad=false" }; /* an H that is symmetric to the bit */
    char entry[24], name[40];
    snprintf(entry, sizeof entry, width && e != LT_FAR_LOOPS ? "%s%d" : "%s", rows[e].entry, width);
    snprintf(name, sizeof name, "hessian %s", entry);
    lt_kernel_key key = { .name = name, .n_args = rows[e].n_args };
    if (!strcmp(m->dev->backend->name, "cpu")) {
        key.host = lt_far_host_kernel(e, width, rows[e].entry);
        if (!key.host) return LT_ERR_MEMORY;
    } else {
        key.source = lt_text_hessian_cu;
        key.entry = entry;
        key.options = options;
        key.n_options = 1;
        key.waits = true;
        key.grid[0] = blocks_of(&m->z, e, width);
        key.block[0] = rows[e].threads ? rows[e].threads : (unsigned)(m->z.pairs + 31) / 32 * 32;
        key.grid[1] = key.grid[2] = key.block[1] = key.block[2] = 1;
    }
    lt_status s = lt_device_build(m->dev, &key, out);
    if (s) lt_kernel_destroy(key.host);
    return s;
}

lt_status lt_far_build(lt_far *m)
{
    if (!m->z.pairs) LT_TRY(build(m, LT_FAR_IDENTITY, 0, &m->identity));
    if (!m->z.pairs) LT_TRY(build(m, LT_FAR_RANK2, 0, &m->rank2));
    for (int w = 0; w < LT_FAR_WIDTHS; w++) {
        if (!m->z.pairs) LT_TRY(build(m, LT_FAR_MULTIPLY, 1 << w, &m->multiply[w]));
        if (!m->z.pairs && (m->resident || m->defers)) LT_TRY(build(m, LT_FAR_CHANGE, 1 << w, &m->change[w]));
        if (m->z.pairs) LT_TRY(build(m, LT_FAR_DOTS, 1 << w, &m->dots[w]));
        if (m->z.pairs) LT_TRY(build(m, LT_FAR_LOOPS, 1 << w, &m->loops[w]));
        if (m->z.pairs) LT_TRY(build(m, LT_FAR_COMBINE, 1 << w, &m->combine[w]));
    }
    return LT_OK;
}
