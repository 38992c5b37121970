/* Memory on both sides, and what crosses between them. SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/options.h"
#include "optimize/device/mover.h"

#include "base/status.h"
#include "kernels/cuda/builder.h"

#include <stdio.h>
#include <string.h>

/* ---- Memory ---------------------------------------------------------------------------------------------------------- */
lt_status lt_host_numbers(lt_device *dev, const lt_solve_options *opt, int64_t count, lt_host_memory *out)
{
    const size_t bytes = (size_t)LT_MAX(count, 1) * sizeof(double);
    LT_TRY(lt_host_memory_create(dev, bytes, lt_debug_of(opt)->pinned_transfers ? opt->pin_max_bytes : LT_PIN_NEVER, out));
    memset(out->at, 0, bytes);
    return LT_OK;
}

lt_status lt_device_numbers(lt_device *dev, lt_stream *st, int64_t count, const char *what, double **out)
{
    void *p;
    lt_status s = lt_device_alloc(dev, st, (size_t)LT_MAX(count, 1) * sizeof(double), what, &p);
    *out = p;
    if (s != LT_ERR_MEMORY) return s;
    char text[400];
    snprintf(text, sizeof text, "%s", lt_error_text());
    return LT_FAIL(s, "solve: no room for %s, %lld numbers, on %s: %s; hessian_on=host, a smaller lbfgs_pairs or "
                      "the CPU need less", what, (long long)count, lt_device_id(dev), text);
}

/* ---- Pieces ---------------------------------------------------------------------------------------------------------- */
extern const char lt_text_move_cu[];

/* Measured on an H200: a kernel beats a copy by 2.5 us while the piece is small. What kernels write to the host leaves one behind the other, but
   what they read is asked for in pieces of 128 bytes, which take 40 ns each (decision 139). */
enum { MOVE_MAX = 16384, MOVE_UP_MAX = 1024, MOVE_BLOCKS = 64, MOVE_THREADS = 256 }; /* one number for each thread */

static lt_kernel_key key_of(const char *entry, int n_args)
{
    return (lt_kernel_key){ .name = entry, .entry = entry, .n_args = n_args, .grid = { MOVE_BLOCKS }, .block = { MOVE_THREADS }, .waits = true };
}

static lt_status make(lt_mover *m, const lt_solve_options *opt)
{
    enum { ENDED = 2 };
    lt_device *dev = m->stream->dev;
    lt_builder b = lt_builder_begin(dev);
    lt_text *t = lt_builder_text(&b);
    const lt_kernel_key up = key_of("move_to_device", 3), down = key_of("move_to_host", 5);
    lt_text_part(t, lt_text_move_cu);
    lt_builder_add(&b, t, &up, &m->to_device);
    lt_builder_add(&b, t, &down, &m->to_host);
    LT_TRY(lt_builder_finish(&b, NULL));
    LT_TRY(lt_device_numbers(dev, m->stream, ENDED, "counts of copies", &m->ended));
    LT_TRY(lt_stream_fill(m->stream, m->ended, 0, ENDED * sizeof *m->ended));
    return lt_host_numbers(dev, opt, 1, &m->reported);
}

lt_status lt_mover_create(lt_stream *st, const lt_solve_options *opt, lt_solve_crossings *counts, lt_mover *out)
{
    *out = (lt_mover){ .stream = st, .counts = counts };
    if (!lt_debug_of(opt)->small_by_kernel || !lt_debug_of(opt)->pinned_transfers || !lt_device_has(st->dev, LT_DEVICE_TEXT_KERNELS)) return LT_OK;
    lt_status s = make(out, opt);
    if (s) lt_mover_release(out);
    return s;
}

void lt_mover_release(lt_mover *m)
{
    lt_kernel_destroy(m->to_device);
    lt_kernel_destroy(m->to_host);
    lt_host_memory_release(&m->reported);
    if (m->stream) (void)lt_device_free(m->stream->dev, m->stream, m->ended);
    *m = (lt_mover){ 0 };
}

static bool by_kernel(const lt_mover *m, int64_t count, bool pinned, lt_transfer dir)
{
    return m->to_device && pinned && count <= (dir == LT_TRANSFER_H2D ? MOVE_UP_MAX : MOVE_MAX);
}

static lt_status cross(const lt_mover *m, double *to, const double *from, int64_t count, bool pinned, lt_transfer dir)
{
    const size_t bytes = (size_t)count * sizeof *from;
    if (!by_kernel(m, count, pinned, dir)) return lt_stream_copy(m->stream, to, from, bytes, dir, pinned);
    lt_stream_note_copy(m->stream, dir, true, bytes);
    void *arg[] = { (void *)(uintptr_t)from, to, to + count - 1, m->ended, m->reported.at };
    return lt_stream_launch(m->stream, &(lt_launch){ dir == LT_TRANSFER_H2D ? m->to_device : m->to_host, arg });
}

/* What is recorded counts when it is replayed. */
static void count(const lt_mover *m, int64_t up, int64_t bytes_up, int64_t down, int64_t bytes_down)
{
    m->counts->uploads += up;
    m->counts->bytes_up += bytes_up;
    m->counts->downloads += down;
    m->counts->bytes_down += bytes_down;
}

lt_status lt_mover_send(lt_mover *m, double *to, const double *from, int64_t n, bool pinned)
{
    if (!m->stream->capturing) count(m, 1, n * (int64_t)sizeof *from, 0, 0);
    return cross(m, to, from, n, pinned, LT_TRANSFER_H2D);
}

lt_status lt_mover_bring(lt_mover *m, double *to, const double *from, int64_t n, bool pinned)
{
    if (!m->stream->capturing) count(m, 0, 0, 1, n * (int64_t)sizeof *from);
    m->reports = by_kernel(m, n, pinned, LT_TRANSFER_D2H) && m->reported.pinned;
    return cross(m, to, from, n, pinned, LT_TRANSFER_D2H);
}

static bool has_reported(void *ctx)
{
    const lt_mover *m = ctx;
    double runs;
    __atomic_load((const double *)m->reported.at, &runs, __ATOMIC_ACQUIRE);
    return runs == (double)m->runs;
}

lt_status lt_mover_wait(lt_mover *m)
{
    m->counts->syncs++;
    LT_TRY(lt_stream_sync(m->stream));
    if (m->reported.at) m->runs = (int64_t)*(const double *)m->reported.at;
    return LT_OK;
}

lt_status lt_mover_await_last(lt_mover *m)
{
    if (!m->reports) return lt_mover_wait(m);
    m->counts->syncs++;
    m->runs++;
    return lt_stream_await(m->stream, has_reported, m);
}

/* ---- Sequences ------------------------------------------------------------------------------------------------------- */
lt_status lt_sequence_make(lt_sequence *s, lt_mover *m, lt_record_fn fn, void *ctx)
{
    m->reports = false;
    LT_TRY(lt_recording_make(&s->recording, m->stream, fn, ctx));
    s->reports = m->reports;
    return LT_OK;
}

lt_status lt_sequence_run(const lt_sequence *s, lt_mover *m, lt_record_fn fn, void *ctx)
{
    if (!lt_sequence_is_made(s)) return fn(ctx, m->stream);
    const lt_transfer_row *up = s->recording.cost.of[LT_TRANSFER_H2D], *down = s->recording.cost.of[LT_TRANSFER_D2H];
    count(m, up[0].count + up[1].count, up[0].bytes + up[1].bytes, down[0].count + down[1].count, down[0].bytes + down[1].bytes);
    m->reports = s->reports;
    return lt_recording_replay(&s->recording, m->stream);
}
