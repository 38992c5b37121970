/* A run's vectors on the device. What is to be done with them is noted down in lists, which kernels read from page-locked
   memory: one launch for all arithmetic since the last one, one for all numbers that are wanted.
   SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/device/vectors_internal.h"

#include "base/alloc.h"
#include "base/status.h"
#include "kernels/cuda/builder.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Statements: reading them takes a thread longer than what they say, so that few threads share a multiprocessor; but every cluster of
   blocks fetches its list over the bus, so that there are few of these. Sums have many blocks: each thread then adds eight products. */
enum { FEW_THREADS = 256, MANY_THREADS = 1024, MANY_FROM = 8192, TOGETHER = 8, FEW_BLOCKS = 32, MAX_BLOCKS = 128, BLOCKS_FROM = 1 << 17,
       SIDE_BLOCKS = 32, SUM_THREADS = 512, SUM_BLOCKS = 64 /* for each chunk */, MAX_SUM_BLOCKS = 264 };
enum { MIN_CHUNK = 4096, MAX_CHUNKS = 16 };

/* ---- Making ---------------------------------------------------------------------------------------------------------- */
extern const char lt_text_measure_h[], lt_text_vectors_job_h[], lt_text_vectors_cu[];

static const struct { const char *name; int n_args; } entries[LT_VECTORS_ENTRY_COUNT] = {
    [LT_VECTORS_IN_ORDER] = { "in_order", 3 }, [LT_VECTORS_SIDE_BY_SIDE] = { "side_by_side", 3 }, [LT_VECTORS_FINISH] = { "finish", 6 },
};

typedef struct shape { unsigned blocks, threads; } shape;

/* One or two blocks on their own, or whole clusters. */
static shape statement_shape(int64_t n)
{
    const int64_t threads = n <= MANY_FROM ? FEW_THREADS : MANY_THREADS, whole = (n + threads - 1) / threads;
    const int64_t rounded = (whole + TOGETHER - 1) / TOGETHER * TOGETHER;
    return (shape){ (unsigned)(whole <= 2 ? whole : LT_MIN(rounded, n <= BLOCKS_FROM ? FEW_BLOCKS : MAX_BLOCKS)), (unsigned)threads };
}

static shape shape_of(const lt_device_vectors *v, lt_vector_entry e)
{
    if (e == LT_VECTORS_IN_ORDER) return statement_shape(v->z.n);
    if (e == LT_VECTORS_SIDE_BY_SIDE) return (shape){ SIDE_BLOCKS, MANY_THREADS };
    return (shape){ (unsigned)LT_MIN(SUM_BLOCKS * v->z.chunks, MAX_SUM_BLOCKS), SUM_THREADS };
}

static lt_status build_on_host(lt_device_vectors *v, lt_vector_entry e)
{
    lt_kernel_key key = { .name = entries[e].name, .n_args = entries[e].n_args, .host = lt_device_vectors_host_kernel(e, entries[e].name) };
    if (!key.host) return LT_ERR_MEMORY;
    lt_status s = lt_device_build(v->dev, &key, &v->kernel[e]);
    if (s) lt_kernel_destroy(key.host);
    return s;
}

static void add_kernel(lt_builder *b, const lt_text *t, lt_device_vectors *v, lt_vector_entry e)
{
    static const char *const options[] = { "--fmad=false" }; /* what the host would compute */
    const shape at = shape_of(v, e);
    lt_builder_add(b, t, &(lt_kernel_key){ .name = entries[e].name, .entry = entries[e].name, .n_args = entries[e].n_args, .options = options, .n_options = 1,
                                           .waits = true, .grid = { at.blocks }, .block = { at.threads } }, &v->kernel[e]);
}

static lt_status build(lt_device_vectors *v)
{
    if (!lt_device_has(v->dev, LT_DEVICE_TEXT_KERNELS)) {
        for (int e = 0; e < LT_VECTORS_ENTRY_COUNT; e++) LT_TRY(build_on_host(v, (lt_vector_entry)e));
        return LT_OK;
    }
    lt_builder b = lt_builder_begin(v->dev);
    lt_text *t = lt_builder_text(&b);
    lt_text_define(t, "TOGETHER", statement_shape(v->z.n).blocks < TOGETHER ? 1 : TOGETHER);
    lt_text_part(t, lt_text_measure_h);
    lt_text_part(t, lt_text_vectors_job_h);
    lt_text_part(t, lt_text_vectors_cu);
    for (int e = 0; e < LT_VECTORS_ENTRY_COUNT; e++) add_kernel(&b, t, v, (lt_vector_entry)e);
    return lt_builder_finish(&b, NULL);
}

static lt_status page_locked(lt_device_vectors *v, int64_t count, lt_host_memory *out)
{
    LT_TRY(lt_host_numbers(v->dev, &v->settings.opt, count, out));
    if (out->pinned) return LT_OK;
    lt_host_memory_release(out);
    return LT_FAIL(LT_ERR_UNSUPPORTED, "vectors on %s need page-locked host memory, which is switched off, too small or refused", lt_device_id(v->dev));
}

static lt_status queue_exchange(void *ctx, lt_stream *st)
{
    (void)st; /* v->stream */
    return lt_device_vectors_queue_exchange(ctx);
}

static lt_status make(lt_device_vectors *v)
{
    LT_TRY(build(v));
    for (int i = 0; i < LT_VECTORS_LISTS; i++) {
        LT_TRY(page_locked(v, LT_LIST_WORDS, &v->lists[i].words));
        LT_TRY(page_locked(v, LT_VECTORS_ARRIVAL * LT_LIST_MAX_SUMS * v->z.chunks, &v->lists[i].results));
        LT_TRY(lt_device_numbers(v->dev, v->stream, LT_LIST_WORDS, "a list of sums", &v->lists[i].rest));
    }
    LT_TRY(lt_device_numbers(v->dev, v->stream, LT_VECTORS_MAX_PASSED, "numbers passed", &v->passed));
    v->z.passed = v->passed;
    LT_TRY(lt_device_numbers(v->dev, v->stream, sizeof v->z / sizeof(double), "sizes", &v->sizes));
    LT_TRY(lt_device_numbers(v->dev, v->stream, v->z.n, "scratch", &v->scratch));
    LT_TRY(lt_stream_copy(v->stream, v->sizes, &v->z, sizeof v->z, LT_TRANSFER_H2D, false));
    LT_TRY(lt_stream_sync(v->stream));
    return v->settings.debug.captured_evaluation ? lt_recording_make(&v->exchange, v->stream, queue_exchange, v) : LT_OK;
}

lt_status lt_device_vectors_create(lt_device *dev, lt_stream *st, const lt_solve_options *opt, int64_t n, lt_device_vectors **out)
{
    const int64_t chunk = LT_MAX(MIN_CHUNK, (n + MAX_CHUNKS - 1) / MAX_CHUNKS);
    *out = NULL;
    lt_device_vectors *v = lt_calloc(1, sizeof *v);
    if (!v) return LT_ERR_MEMORY;
    v->dev = dev;
    v->stream = st;
    lt_settings_copy(opt, &v->settings);
    v->z = (lt_vector_sizes){ .n = n, .chunk = chunk, .chunks = (n + chunk - 1) / chunk };
    v->next = LT_LIST_FIRST_FREE;
    lt_status s = make(v);
    if (s) lt_device_vectors_destroy(v);
    else *out = v;
    return s;
}

lt_stream *lt_device_vectors_stream(const lt_device_vectors *v) { return v->stream; }
const double *lt_device_vectors_passed(const lt_device_vectors *v) { return v->passed; }

void lt_device_vectors_destroy(lt_device_vectors *v)
{
    if (!v) return;
    lt_device_vectors_reset(v);
    lt_recording_drop(&v->exchange);
    for (int i = 0; i < LT_VECTORS_LISTS; i++) {
        lt_host_memory_release(&v->lists[i].words);
        lt_host_memory_release(&v->lists[i].results);
        (void)lt_device_free(v->dev, v->stream, v->lists[i].rest);
    }
    (void)lt_device_free(v->dev, v->stream, v->passed);
    for (int e = 0; e < LT_VECTORS_ENTRY_COUNT; e++) lt_kernel_destroy(v->kernel[e]);
    (void)lt_device_free(v->dev, v->stream, v->sizes);
    (void)lt_device_free(v->dev, v->stream, v->scratch);
    lt_free(v);
}

/* ---- Memory ----------------------------------------------------------------------------------------------------------- */
lt_status lt_device_vectors_take(lt_device_vectors *v, int64_t count, const char *what, double **out)
{
    *out = NULL;
    if (v->n_pieces == LT_VECTORS_MAX_PIECES) return LT_FAIL(LT_ERR_INTERNAL, "vectors: more than %d pieces", LT_VECTORS_MAX_PIECES);
    LT_TRY(lt_device_numbers(v->dev, v->stream, count, what, out));
    v->piece[v->n_pieces++] = *out;
    return lt_stream_fill(v->stream, *out, 0, (size_t)LT_MAX(count, 1) * sizeof(double));
}

lt_status lt_device_vectors_take_host(lt_device_vectors *v, int64_t count, double **out)
{
    *out = NULL;
    if (v->n_host_pieces == LT_VECTORS_MAX_PIECES) return LT_FAIL(LT_ERR_INTERNAL, "vectors: more than %d pieces on the host", LT_VECTORS_MAX_PIECES);
    LT_TRY(page_locked(v, LT_MAX(count, 1), &v->host_piece[v->n_host_pieces]));
    *out = v->host_piece[v->n_host_pieces++].at;
    return LT_OK;
}

void lt_device_vectors_reset(lt_device_vectors *v)
{
    (void)lt_stream_sync(v->stream); /* a fault was reported before; memory must not be used any more */
    for (int i = 0; i < v->n_pieces; i++) (void)lt_device_free(v->dev, v->stream, v->piece[i]);
    for (int i = 0; i < v->n_host_pieces; i++) lt_host_memory_release(&v->host_piece[i]);
    for (int i = 0; i < LT_VECTORS_LISTS; i++) v->lists[i].in_flight = false;
    v->n_pieces = v->n_host_pieces = 0;
    v->n_statements = v->n_terms = v->list_bytes = 0;
    v->n_kept = v->noted = v->due = v->launched = v->arrived = 0;
    v->n_levels = v->n_copies = 0;
    v->side_by_side = false;
    v->deferred.alone = NULL;
    v->failure = LT_OK;
    v->crossings = (lt_solve_crossings){ 0 };
    lt_device_vectors_forget(v);
}

/* ---- Failures --------------------------------------------------------------------------------------------------------- */
static void fail(lt_device_vectors *v, lt_status s)
{
    if (!s || v->failure) return;
    v->failure = s;
    snprintf(v->text, sizeof v->text, "%s", lt_error_text());
}

lt_status lt_device_vectors_failure(const lt_device_vectors *v)
{
    if (!v || !v->failure) return LT_OK;
    lt_error_set(v->text);
    return v->failure;
}

int64_t lt_device_vectors_arrived(const lt_device_vectors *v) { return v->arrived; }
lt_solve_crossings lt_device_vectors_crossings(const lt_device_vectors *v) { return v->crossings; }

/* ---- Launches ----------------------------------------------------------------------------------------------------------- */
static lt_word *words_of(const lt_list *l) { return (lt_word *)l->words.at; }

static lt_status launch_statements(lt_device_vectors *v, const lt_list *l, bool side_by_side)
{
    void *arg[] = { v->sizes, l->words.at, l->rest };
    return lt_stream_launch(v->stream, &(lt_launch){ v->kernel[side_by_side ? LT_VECTORS_SIDE_BY_SIDE : LT_VECTORS_IN_ORDER], arg });
}

static lt_status launch_sums(lt_device_vectors *v, const lt_list *l, const double *values, int64_t count, double *host)
{
    void *arg[] = { v->sizes, l->rest, l->results.at, (void *)(uintptr_t)values, host, count ? host + LT_VECTORS_ARRIVAL * (count - 1) : host };
    return lt_stream_launch(v->stream, &(lt_launch){ v->kernel[LT_VECTORS_FINISH], arg });
}

static void waited(lt_device_vectors *v, lt_status s)
{
    for (int i = 0; i < LT_VECTORS_LISTS; i++) v->lists[i].in_flight = false;
    fail(v, s);
    if (!s) v->arrived = v->due;
}

/* Results of sums, and values of functions, as they arrive in page-locked memory (decision 116). */
typedef struct arrivals { const lt_arrival *at[2]; int64_t count[2]; uint32_t ticket; } arrivals;

/* Looks on from where it stopped: what has arrived stays. */
static bool have_arrived(void *ctx)
{
    arrivals *a = ctx;
    for (int i = 0; i < 2; i++)
        for (; a->count[i]; a->at[i]++, a->count[i]--)
            if (__atomic_load_n(&a->at[i]->ticket, __ATOMIC_ACQUIRE) != a->ticket || __atomic_load_n(&a->at[i]->again, __ATOMIC_ACQUIRE) != a->ticket) return false;
    return true;
}

static lt_status await_sums(lt_device_vectors *v, const lt_list *l, const double *values, int64_t count)
{
    arrivals a = { { (const lt_arrival *)l->results.at, (const lt_arrival *)values }, { v->n_wanted * v->z.chunks, count }, v->ticket };
    return lt_stream_await(v->stream, have_arrived, &a);
}

/* For the sums of a list, or (NULL) for everything. */
static void wait_for(lt_device_vectors *v, const lt_list *sums)
{
    if (v->failure) return;
    v->crossings.syncs++;
    v->crossings.bytes_up += v->list_bytes;
    v->list_bytes = 0;
    if (!sums) v->due = v->launched;
    waited(v, sums ? await_sums(v, sums, NULL, 0) : lt_stream_sync(v->stream));
}

static void wait(lt_device_vectors *v) { wait_for(v, NULL); }

void lt_device_vectors_defer(lt_device_vectors *v, const lt_deferred *d) { v->deferred = *d; }

/* Before anything else is launched. */
static void catch_up(lt_device_vectors *v)
{
    if (v->deferred.alone && !v->failure) fail(v, lt_recording_replay(v->deferred.alone, v->stream));
    v->deferred.alone = NULL;
}

/* A list that no kernel reads any more. */
static lt_list *free_list(lt_device_vectors *v)
{
    lt_list *l = &v->lists[v->next];
    if (l->in_flight) wait(v);
    v->next = v->next + 1 < LT_VECTORS_LISTS ? v->next + 1 : LT_LIST_FIRST_FREE;
    l->in_flight = true;
    return l;
}

void lt_device_vectors_flush(lt_device_vectors *v)
{
    catch_up(v);
    if (!v->n_statements) return;
    lt_list *l = free_list(v);
    lt_device_vectors_pack_statements(v, words_of(l));
    v->crossings.uploads++;
    if (!v->failure) fail(v, launch_statements(v, l, v->side_by_side));
}

lt_status lt_device_vectors_queue_exchange(lt_device_vectors *v)
{
    const lt_list *l = &v->lists[LT_LIST_EXCHANGE];
    LT_TRY(launch_statements(v, l, false));
    return launch_sums(v, l, l->results.at, 0, l->results.at);
}

lt_status lt_device_vectors_queue_sums(lt_device_vectors *v, lt_device_vectors_list where)
{
    const lt_list *l = &v->lists[where];
    return launch_sums(v, l, l->results.at, 0, l->results.at);
}

/* Which sequence makes an exchange, and the list that holds its sums: a product that was put off may take them along in its own. */
static const lt_recording *choose_sequence(const lt_device_vectors *v, lt_device_vectors_list *where)
{
    const lt_deferred *d = &v->deferred;
    const bool along = d->alone && !v->n_statements;
    *where = along ? LT_LIST_PRODUCT : LT_LIST_EXCHANGE;
    return along ? d->with_sums : d->alone ? d->with_exchange : &v->exchange;
}

/* All numbers wanted until now, in one wait. */
void lt_device_vectors_exchange(lt_device_vectors *v)
{
    lt_device_vectors_list where;
    if (v->side_by_side) lt_device_vectors_flush(v);
    const lt_recording *sequence = choose_sequence(v, &where);
    const lt_list *l = &v->lists[where];
    if (where == LT_LIST_EXCHANGE) lt_device_vectors_pack_statements(v, words_of(l));
    lt_device_vectors_pack_sums(v, words_of(l));
    v->crossings.calls++;
    v->crossings.uploads++;
    v->crossings.downloads++;
    v->crossings.bytes_down += v->n_wanted * v->z.chunks * (int64_t)sizeof(double);
    v->deferred.alone = NULL;
    if (!v->failure) fail(v, lt_recording_is_made(sequence) ? lt_recording_replay(sequence, v->stream) : lt_device_vectors_queue_exchange(v));
    wait_for(v, l);
    lt_device_vectors_take_results(v, l);
}

void lt_device_vectors_pack(lt_device_vectors *v, lt_device_vectors_list where, const double *passed, int count)
{
    lt_list *l = &v->lists[where];
    lt_word *w = words_of(l);
    catch_up(v);
    if (l->in_flight) wait(v); /* only when nothing was asked for since it was used last */
    l->in_flight = true;
    lt_device_vectors_pack_statements(v, w);
    w[LT_LIST_PASSED].i = count;
    for (int i = 0; i < count; i++) w[LT_LIST_PASSED + 1 + i].d = passed[i];
    v->crossings.uploads++;
}

lt_status lt_device_vectors_queue(lt_device_vectors *v, lt_device_vectors_list where) { return launch_statements(v, &v->lists[where], false); }

/* ---- Whole vectors ----------------------------------------------------------------------------------------------------------- */
void lt_device_vectors_settle(lt_device_vectors *v)
{
    lt_device_vectors_note_copies(v);
    lt_device_vectors_flush(v);
    wait(v);
}

void lt_device_vectors_put(lt_device_vectors *v, int64_t count, const double *from_host, double *to)
{
    const size_t bytes = (size_t)count * sizeof *to;
    lt_device_vectors_note_copies(v);
    lt_device_vectors_flush(v);
    lt_device_vectors_written(v, to, count);
    v->crossings.uploads++;
    v->crossings.bytes_up += (int64_t)bytes;
    if (!v->failure) fail(v, lt_stream_copy(v->stream, to, from_host, bytes, LT_TRANSFER_H2D, false));
    wait(v);
}

void lt_device_vectors_get(lt_device_vectors *v, int64_t count, const double *from, double *to_host)
{
    const size_t bytes = (size_t)count * sizeof *from;
    lt_device_vectors_note_copies(v);
    lt_device_vectors_flush(v);
    v->crossings.downloads++;
    v->crossings.bytes_down += (int64_t)bytes;
    if (!v->failure) fail(v, lt_stream_copy(v->stream, to_host, from, bytes, LT_TRANSFER_D2H, false));
    wait(v);
    for (int64_t i = 0; v->failure && i < count; i++) to_host[i] = NAN;
}

/* ---- Evaluations ----------------------------------------------------------------------------------------------------------------- */
lt_status lt_device_vectors_queue_after(lt_device_vectors *v, const double *values, int64_t count, double *host)
{
    return launch_sums(v, &v->lists[LT_LIST_EVALUATION], values, count, host);
}

lt_status lt_device_vectors_evaluate(lt_device_vectors *v, const lt_recording *recorded, lt_record_fn queue, void *ctx, const double *host, int64_t count,
                                     lt_solve_crossings *n)
{
    const lt_list *l = &v->lists[LT_LIST_EVALUATION];
    catch_up(v);
    lt_device_vectors_pack_statements(v, words_of(l));
    lt_device_vectors_pack_sums(v, words_of(l));
    n->uploads++;
    n->downloads++;
    n->bytes_up += v->list_bytes;
    n->bytes_down += (count + v->n_wanted * v->z.chunks) * (int64_t)sizeof(double);
    v->list_bytes = 0;
    lt_status s = lt_device_vectors_failure(v);
    if (!s) s = lt_recording_is_made(recorded) ? lt_recording_replay(recorded, v->stream) : queue(ctx, v->stream);
    if (!s) n->syncs++;
    if (!s) s = await_sums(v, l, host, count);
    waited(v, s);
    lt_device_vectors_take_results(v, l);
    return s;
}

void lt_device_vectors_values(const double *host, int64_t first, int64_t count, double *to)
{
    for (int64_t i = 0; to && i < count; i++) to[i] = lt_arrival_number((const lt_arrival *)host + first + i);
}
