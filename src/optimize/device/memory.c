/* Memory on both sides of an exchange. SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/device/memory.h"

#include "base/alloc.h"
#include "base/status.h"

#include <stdio.h>

lt_status lt_host_block_create(lt_device *dev, const lt_solve_options *opt, int64_t count, lt_host_block *out)
{
    size_t bytes = (size_t)LT_MAX(count, 1) * sizeof(double);
    void *p = NULL;
    out->pinned = opt->pinned_transfers && (int64_t)bytes <= opt->pin_max_bytes
                  && dev->backend->host_alloc(dev, bytes, &p) == LT_OK;
    out->at = out->pinned ? p : lt_malloc_aligned(bytes);
    return out->at ? LT_OK : LT_FAIL(LT_ERR_MEMORY, "solve: %zu bytes of host memory to exchange with %s", bytes, dev->id);
}

void lt_host_block_release(lt_device *dev, lt_host_block *b)
{
    if (b->pinned) (void)dev->backend->host_release(dev, b->at);
    else lt_free_aligned(b->at);
    *b = (lt_host_block){ 0 };
}

lt_status lt_device_numbers(lt_device *dev, lt_stream *st, int64_t count, const char *what, double **out)
{
    void *p;
    lt_status s = lt_device_alloc(dev, st, (size_t)LT_MAX(count, 1) * sizeof(double), what, &p);
    *out = p;
    if (s != LT_ERR_MEMORY) return s;
    char text[400];
    snprintf(text, sizeof text, "%s", lt_error_text());
    return LT_FAIL(s, "solve: no room for %s, %lld numbers, on %s: %s; hessian_on=host, a smaller limited_mem_size or "
                      "the CPU need less", what, (long long)count, dev->id, text);
}

lt_status lt_cross_up(lt_stream *st, double *dst, const double *src, int64_t count, bool pinned, lt_solve_crossings *n)
{
    size_t bytes = (size_t)count * sizeof *src;
    n->uploads++;
    n->bytes_up += (int64_t)bytes;
    return lt_stream_copy(st, dst, src, bytes, LT_TRANSFER_H2D, pinned);
}

lt_status lt_cross_down(lt_stream *st, double *dst, const double *src, int64_t count, bool pinned, lt_solve_crossings *n)
{
    size_t bytes = (size_t)count * sizeof *src;
    n->downloads++;
    n->bytes_down += (int64_t)bytes;
    return lt_stream_copy(st, dst, src, bytes, LT_TRANSFER_D2H, pinned);
}
