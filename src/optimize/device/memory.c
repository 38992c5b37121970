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

/* Measured on an H200: a kernel beats a copy by 2.5 us while the piece is small. What kernels write to the host leaves one behind the other, but
   what they read is asked for in pieces of 128 bytes, which take 40 ns each. */
enum { MOVE_MAX = 16384, MOVE_UP_MAX = 1024, MOVE_BLOCKS = 64, MOVE_THREADS = 256 }; /* one number for each thread */

static lt_status build(lt_stream *st, const char *entry, int n_args, lt_kernel **out)
{
    lt_kernel_key key = { .name = entry, .source = lt_text_move_cu, .entry = entry, .n_args = n_args, .grid = { MOVE_BLOCKS, 1, 1 },
                          .block = { MOVE_THREADS, 1, 1 }, .waits = true };
    return lt_device_build(st->dev, &key, out);
}

static lt_status make(lt_mover *m, const lt_solve_options *opt)
{
    const int64_t ended = 2;
    LT_TRY(build(m->stream, "move", 3, &m->kernel));
    LT_TRY(build(m->stream, "move_home", 5, &m->home));
    LT_TRY(lt_device_numbers(m->stream->dev, m->stream, ended, "counts of copies", &m->ended));
    LT_TRY(lt_stream_fill(m->stream, m->ended, 0, (size_t)ended * sizeof *m->ended));
    LT_TRY(lt_host_block_create(m->stream->dev, opt, 1, &m->told));
    *m->told.at = 0;
    return LT_OK;
}

lt_status lt_mover_create(lt_stream *st, const lt_solve_options *opt, lt_mover *out)
{
    *out = (lt_mover){ .stream = st };
    if (!opt->small_by_kernel || !opt->pinned_transfers || !strcmp(st->dev->backend->name, "cpu")) return LT_OK;
    lt_status s = make(out, opt);
    if (s) lt_mover_release(out);
    return s;
}

void lt_mover_release(lt_mover *m)
{
    lt_kernel_destroy(m->kernel);
    lt_kernel_destroy(m->home);
    if (m->told.at) lt_host_block_release(m->stream->dev, &m->told);
    if (m->stream) (void)lt_device_free(m->stream->dev, m->stream, m->ended);
    *m = (lt_mover){ 0 };
}

static bool by_kernel(const lt_mover *m, int64_t count, bool pinned, lt_transfer dir)
{
    return m->kernel && pinned && count <= (dir == LT_TRANSFER_H2D ? MOVE_UP_MAX : MOVE_MAX);
}

static lt_status cross(const lt_mover *m, double *dst, const double *src, int64_t count, bool pinned, lt_transfer dir)
{
    const size_t bytes = (size_t)count * sizeof *src;
    if (!by_kernel(m, count, pinned, dir)) return lt_stream_copy(m->stream, dst, src, bytes, dir, pinned);
    lt_trace_transfer(dir, true, (int64_t)bytes);
    void *arg[] = { (void *)(uintptr_t)src, dst, dst + count - 1, m->ended, m->told.at };
    return lt_stream_launch(m->stream, &(lt_launch){ dir == LT_TRANSFER_H2D ? m->kernel : m->home, arg });
}

lt_status lt_cross_up(lt_mover *m, double *dst, const double *src, int64_t count, bool pinned, lt_solve_crossings *n)
{
    n->uploads++;
    n->bytes_up += count * (int64_t)sizeof *src;
    return cross(m, dst, src, count, pinned, LT_TRANSFER_H2D);
}

lt_status lt_cross_down(lt_mover *m, double *dst, const double *src, int64_t count, bool pinned, lt_solve_crossings *n)
{
    n->downloads++;
    n->bytes_down += count * (int64_t)sizeof *src;
    m->tells = by_kernel(m, count, pinned, LT_TRANSFER_D2H) && m->told.pinned;
    return cross(m, dst, src, count, pinned, LT_TRANSFER_D2H);
}

void lt_crossings_replayed(lt_solve_crossings *sum, const lt_solve_crossings *cost)
{
    sum->uploads += cost->uploads;
    sum->downloads += cost->downloads;
    sum->bytes_up += cost->bytes_up;
    sum->bytes_down += cost->bytes_down;
    if (cost->uploads) lt_trace_transfer(LT_TRANSFER_H2D, true, cost->bytes_up);
    if (cost->downloads) lt_trace_transfer(LT_TRANSFER_D2H, true, cost->bytes_down);
}

static bool has_told(void *ctx)
{
    const lt_mover *m = ctx;
    double runs;
    __atomic_load((const double *)m->told.at, &runs, __ATOMIC_ACQUIRE);
    return runs == (double)m->runs;
}

lt_status lt_mover_wait(lt_mover *m, bool tells)
{
    if (tells) {
        m->runs++;
        return lt_stream_await(m->stream, has_told, m);
    }
    LT_TRY(lt_stream_sync(m->stream));
    if (m->told.at) m->runs = (int64_t)*m->told.at;
    return LT_OK;
}
