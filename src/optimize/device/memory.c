/* Memory on both sides of an exchange. SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/device/memory.h"

#include "base/alloc.h"
#include "base/status.h"
#include "trace/trace.h"

#include <stdio.h>
#include <string.h>

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

/* ---- Crossing -------------------------------------------------------------------------------------------------------- */
extern const char lt_text_move_cu[];

/* Measured on an H200: a kernel beats a copy by a few microseconds while the piece is small against the bus. */
enum { MOVE_MAX = 16384, MOVE_BLOCKS = 16, MOVE_THREADS = 256 };

lt_status lt_mover_create(lt_stream *st, const lt_solve_options *opt, lt_mover *out)
{
    *out = (lt_mover){ .stream = st };
    if (!opt->small_by_kernel || !opt->pinned_transfers || !strcmp(st->dev->backend->name, "cpu")) return LT_OK;
    lt_kernel_key key = { .name = "move", .source = lt_text_move_cu, .entry = "move", .n_args = 3, .grid = { MOVE_BLOCKS, 1, 1 },
                          .block = { MOVE_THREADS, 1, 1 } };
    return lt_device_build(st->dev, &key, &out->kernel);
}

void lt_mover_release(lt_mover *m)
{
    lt_kernel_destroy(m->kernel);
    m->kernel = NULL;
}

static lt_status cross(const lt_mover *m, double *dst, const double *src, int64_t count, bool pinned, lt_transfer dir)
{
    const size_t bytes = (size_t)count * sizeof *src;
    if (!m->kernel || !pinned || count > MOVE_MAX) return lt_stream_copy(m->stream, dst, src, bytes, dir, pinned);
    lt_trace_transfer(dir, true, (int64_t)bytes);
    void *arg[] = { (void *)(uintptr_t)src, dst, dst + count - 1 };
    return lt_stream_launch(m->stream, &(lt_launch){ m->kernel, arg });
}

lt_status lt_cross_up(const lt_mover *m, double *dst, const double *src, int64_t count, bool pinned, lt_solve_crossings *n)
{
    n->uploads++;
    n->bytes_up += count * (int64_t)sizeof *src;
    return cross(m, dst, src, count, pinned, LT_TRANSFER_H2D);
}

lt_status lt_cross_down(const lt_mover *m, double *dst, const double *src, int64_t count, bool pinned, lt_solve_crossings *n)
{
    n->downloads++;
    n->bytes_down += count * (int64_t)sizeof *src;
    return cross(m, dst, src, count, pinned, LT_TRANSFER_D2H);
}
