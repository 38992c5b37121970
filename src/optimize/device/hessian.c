/* H on a device: making it, products, failures. SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/options.h"
#include "optimize/device/hessian_internal.h"

#include "base/alloc.h"
#include "base/status.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* From here on the device is faster, by docs/performance.md: variables of a full H; numbers in the rows s. */
#define FULL_FROM_VARIABLES 256
#define PAIRS_FROM_NUMBERS 40000
/* A pass over an H up to here takes as long as a launch. */
#define DEFERS_UP_TO_VARIABLES 1024

enum { MAX_COLUMNS = 256, MIN_CHUNK = 8192, MAX_CHUNKS = 16 };

/* ---- Whether ------------------------------------------------------------------------------------------------------- */
/* What keeps H on the host; NULL: nothing. */
static const char *obstacle(const lt_hessian *h, const lt_solve_options *opt)
{
    if (h->single) return "double_precision=false";
    if (h->spare) return "in_place_bfgs=false";
    if (isfinite(opt->condition_limit)) return "condition_limit";
    if (h->base_lower || h->base_diagonal) return "an H0 of limited memory";
    if (h->limited && h->capacity > LT_HESSIAN_MAX_PAIRS) return "more than 1024 pairs";
    return NULL;
}

static bool is_large(const lt_hessian *h)
{
    return h->limited ? h->n * h->capacity >= PAIRS_FROM_NUMBERS : h->n >= FULL_FROM_VARIABLES;
}

bool lt_device_hessian_wanted(const lt_hessian *h, const lt_solve_options *opt)
{
    if (opt->hessian_on == LT_HESSIAN_HOST || obstacle(h, opt)) return false;
    return opt->hessian_on == LT_HESSIAN_DEVICE || is_large(h);
}

/* ---- Moving ----------------------------------------------------------------------------------------------------------- */
lt_status lt_device_hessian_launch(lt_device_hessian *m, lt_hessian_entry entry, int width, void **arg)
{
    return lt_stream_launch(m->stream, &(lt_launch){ m->kernel[entry][width], arg });
}

lt_status lt_device_hessian_wait(lt_device_hessian *m)
{
    m->updating = false;
    return lt_mover_wait(&m->mover);
}

lt_status lt_device_hessian_send(lt_device_hessian *m, double *to, const lt_host_memory *from, int64_t first, int64_t count)
{
    return lt_mover_send(&m->mover, to, lt_numbers(from) + first, count, from->pinned);
}

lt_status lt_device_hessian_bring(lt_device_hessian *m, const double *from, int64_t count)
{
    return lt_mover_bring(&m->mover, lt_numbers(&m->down), from, count, m->down.pinned);
}

/* Between vectors and columns of the device: `from` into columns, or (from NULL) out of them. */
static void move_columns(lt_device_hessian *m, int64_t k, double scale, const double *const *from, double *columns, double *const *to)
{
    lt_vectors_many_begin(&m->vectors, k);
    for (int64_t j = 0; j < k; j++) {
        double *column = columns + j * m->z.stride;
        lt_vectors_scaled(&m->vectors, scale, from ? from[j] : column, from ? column : to[j]);
    }
    lt_vectors_many_end(&m->vectors);
}

_Static_assert(LT_HEAD_COUNT + LT_HESSIAN_WIDEST <= LT_VECTORS_MAX_PASSED && sizeof(double *) == sizeof(double), "addresses go with the numbers");

/* The sequence begins with their list, which also says where products go. Columns that fill up the width go nowhere. */
static void put_resident(lt_device_hessian *m, int64_t k, const double *const *b, const double *head, double *const *out)
{
    double passed[LT_VECTORS_MAX_PASSED] = { 0 };
    memcpy(passed, head, LT_HEAD_COUNT * sizeof *head);
    for (int64_t j = 0; j < LT_HESSIAN_WIDEST; j++) {
        const bool wanted = j < k && k <= LT_HESSIAN_WIDEST;
        double *to = wanted ? out[j] : m->out + j * m->z.stride;
        memcpy(&passed[LT_HEAD_COUNT + j], &to, sizeof to);
        if (wanted) lt_device_vectors_overwrite(m->resident, to);
    }
    move_columns(m, k, 1, b, m->in + LT_HESSIAN_HEAD, NULL);
    lt_device_vectors_pack(m->resident, LT_LIST_PRODUCT, passed, LT_HEAD_COUNT + LT_HESSIAN_WIDEST);
}

static void put_columns(lt_device_hessian *m, int64_t k, const double *const *b, const double *head, double *const *out)
{
    if (m->resident) {
        put_resident(m, k, b, head, out);
        return;
    }
    double *columns = lt_numbers(&m->up) + LT_HESSIAN_HEAD + (m->stale ? LT_HESSIAN_STEP * m->z.stride : 0);
    memcpy(m->up.at, head, LT_HEAD_COUNT * sizeof *head);
    for (int64_t j = 0; j < k; j++) memcpy(columns + j * m->z.stride, b[j], (size_t)m->z.n * sizeof(double));
}

static void take_columns(lt_device_hessian *m, int64_t k, double *const *out)
{
    if (m->resident && k > LT_HESSIAN_WIDEST) move_columns(m, k, m->gamma, NULL, m->out, out);
    for (int64_t j = 0; j < k; j++) {
        if (!m->resident) memcpy(out[j], lt_numbers(&m->down) + j * m->z.stride, (size_t)m->z.n * sizeof(double));
        if (m->gamma != 1 && (!m->resident || k <= LT_HESSIAN_WIDEST)) lt_vectors_scale(&m->vectors, m->gamma, out[j]);
    }
}

/* ---- Products ----------------------------------------------------------------------------------------------------------- */
/* A column too many costs less than another launch; there is room for it. */
static int width_of(int64_t k)
{
    int w = 0;
    while (1 << w < k) w++;
    return w;
}

/* Columns to the device, in front of kernels; their products back, behind them. Vectors on the device need not cross. */
static lt_status begin(lt_device_hessian *m, int64_t k, bool changes)
{
    if (m->resident) return lt_device_vectors_queue(m->resident, LT_LIST_PRODUCT);
    return lt_device_hessian_send(m, m->in, &m->up, 0, LT_HESSIAN_HEAD + ((changes ? LT_HESSIAN_STEP : 0) + k) * m->z.stride);
}

static lt_status end(lt_device_hessian *m, int64_t k) { return m->resident ? LT_OK : lt_device_hessian_bring(m, m->out, k * m->z.stride); }

typedef struct product { lt_device_hessian *m; int width, behind; bool changes; } product;

static lt_status queue(void *ctx, lt_stream *st)
{
    const product *p = ctx;
    lt_device_hessian *m = p->m;
    const int64_t k = 1 << p->width;
    double *targets = m->resident ? (double *)(uintptr_t)lt_device_vectors_passed(m->resident) + LT_HEAD_COUNT : m->targets;
    (void)st; /* m->stream */
    LT_TRY(begin(m, k, p->changes));
    LT_TRY(m->kind->multiply(m, p->width, 0, p->changes, targets));
    LT_TRY(end(m, k));
    if (p->behind == LT_BEHIND_NUMBERS) return lt_device_vectors_queue_exchange(m->resident);
    return p->behind == LT_BEHIND_SUMS ? lt_device_vectors_queue_sums(m->resident, LT_LIST_PRODUCT) : LT_OK;
}

static lt_status record(lt_device_hessian *m)
{
    const bool can_change = m->kernel[LT_HESSIAN_CHANGE][0];
    for (int changes = 0; changes <= can_change; changes++)
        for (int behind = 0; behind < (m->resident ? LT_BEHIND_COUNT : 1); behind++)
            for (int width = 0; width < LT_HESSIAN_WIDTHS; width++)
                LT_TRY(lt_sequence_make(&m->sequence[changes][behind][width], &m->mover, queue, &(product){ m, width, behind, changes }));
    return LT_OK;
}

static lt_status play(lt_device_hessian *m, int width)
{
    return lt_sequence_run(&m->sequence[m->stale][LT_BEHIND_NOTHING][width], &m->mover, queue, &(product){ m, width, LT_BEHIND_NOTHING, m->stale });
}

/* With vectors on the device a product is put off: numbers about it are asked for next, mostly, and one launch then does both. */
static lt_status play_later(lt_device_hessian *m, int width)
{
    const lt_sequence(*s)[LT_HESSIAN_WIDTHS] = m->sequence[m->stale];
    if (!lt_sequence_is_made(&s[LT_BEHIND_NOTHING][width])) return play(m, width);
    lt_device_vectors_defer(m->resident, &(lt_deferred){ &s[LT_BEHIND_NOTHING][width].recording, &s[LT_BEHIND_NUMBERS][width].recording,
                                                         &s[LT_BEHIND_SUMS][width].recording });
    return LT_OK;
}

/* In groups of the widths there are. */
static lt_status multiply_many(lt_device_hessian *m, int64_t k)
{
    LT_TRY(begin(m, k, false));
    for (int64_t first = 0; first < k; first += LT_HESSIAN_WIDEST)
        LT_TRY(m->kind->multiply(m, width_of(LT_MIN(k - first, LT_HESSIAN_WIDEST)), first, false, m->targets + first));
    return end(m, k);
}

static lt_status apply(lt_hessian *h, int64_t k, const double *const *b, double *const *out)
{
    lt_device_hessian *m = h->device;
    const double head[LT_HEAD_COUNT] = { (double)h->count, h->gamma, (double)h->newest, m->fresh ? h->rho[h->newest] : 0 };
    const bool few = k <= LT_HESSIAN_WIDEST;
    if (!few && m->kind->catch_up) LT_TRY(m->kind->catch_up(m));
    put_columns(m, k, b, head, out);
    LT_TRY(!few ? multiply_many(m, k) : m->resident ? play_later(m, width_of(k)) : play(m, width_of(k)));
    m->stale = m->fresh = m->updating = false;
    if (!m->resident) LT_TRY(lt_mover_await_last(&m->mover));
    take_columns(m, k, out);
    return LT_OK;
}

lt_status lt_device_hessian_run_empty(lt_device_hessian *m, const double *head)
{
    put_columns(m, 0, NULL, head, NULL);
    return play(m, 0);
}

/* H before its first update, which takes no kernel: what it multiplies by; 0 afterwards. */
static double multiple_of_identity(const lt_hessian *h)
{
    if (h->limited) return h->count ? 0 : h->gamma;
    return h->device->gamma * h->device->multiple;
}

static void fail(lt_device_hessian *m, lt_status s) /* keeps the first */
{
    if (!s || m->failure) return;
    m->failure = s;
    snprintf(m->text, sizeof m->text, "%s", lt_error_text());
}

void lt_device_hessian_apply(lt_hessian *h, int64_t k, const double *const *b, double *const *out)
{
    lt_device_hessian *m = h->device;
    const double multiple = multiple_of_identity(h);
    m->crossings.calls++;
    if (multiple != 0 && !m->failure) {
        for (int64_t j = 0; j < k; j++) lt_vectors_scaled(&m->vectors, multiple, b[j], out[j]);
        return;
    }
    for (int64_t j = 0; j < k && !m->failure; j += m->columns) fail(m, apply(h, LT_MIN(k - j, m->columns), b + j, out + j));
    for (int64_t j = 0; m->failure && j < k; j++) lt_vectors_fill(&m->vectors, NAN, out[j]);
}

void lt_device_hessian_update(lt_hessian *h, lt_status (*update)(lt_hessian *h, const double *s, const double *other), const double *s, const double *other)
{
    lt_device_hessian *m = h->device;
    m->crossings.calls++;
    if (!m->failure) fail(m, update(h, s, other));
}

lt_status lt_device_hessian_failure(const lt_device_hessian *m)
{
    if (!m || !m->failure) return LT_OK;
    lt_error_set(m->text);
    return m->failure;
}

lt_solve_crossings lt_device_hessian_crossings(const lt_device_hessian *m) { return m->crossings; }

/* ---- Making ---------------------------------------------------------------------------------------------------------- */
static lt_status make_common(lt_device_hessian *m, const lt_solve_options *opt)
{
    const int64_t in = LT_HESSIAN_HEAD + (LT_HESSIAN_STEP + m->columns) * m->z.stride, out = m->columns * m->z.stride;
    if (m->resident) m->stream = lt_device_vectors_stream(m->resident);
    else LT_TRY(lt_stream_create(m->dev, &m->stream));
    LT_TRY(lt_mover_create(m->stream, opt, &m->crossings, &m->mover));
    LT_TRY(lt_device_hessian_build(m));
    LT_TRY(lt_device_numbers(m->dev, m->stream, sizeof m->z / sizeof(double), "sizes", &m->sizes));
    LT_TRY(lt_device_numbers(m->dev, m->stream, in, "columns for H", &m->in));
    LT_TRY(lt_device_numbers(m->dev, m->stream, out, "products with H", &m->out));
    LT_TRY(lt_device_numbers(m->dev, m->stream, m->columns, "targets of products", &m->targets));
    LT_TRY(lt_host_numbers(m->dev, opt, in, &m->up)); /* rows stay zero behind the last variable */
    LT_TRY(lt_host_numbers(m->dev, opt, out, &m->down));
    LT_TRY(lt_stream_fill(m->stream, m->in, 0, (size_t)in * sizeof(double)));
    LT_TRY(lt_stream_copy(m->stream, m->sizes, &m->z, sizeof m->z, LT_TRANSFER_H2D, false));
    double *target[MAX_COLUMNS];
    for (int64_t j = 0; j < m->columns; j++) target[j] = m->out + j * m->z.stride;
    LT_TRY(lt_stream_copy(m->stream, m->targets, target, (size_t)m->columns * sizeof *target, LT_TRANSFER_H2D, false));
    return lt_stream_sync(m->stream);
}

lt_status lt_device_hessian_matrix(lt_device_hessian *m, int64_t rows)
{
    LT_TRY(lt_device_numbers(m->dev, m->stream, rows * m->z.stride, m->z.pairs ? "pairs of limited memory" : "H", &m->matrix));
    return lt_stream_fill(m->stream, m->matrix, 0, (size_t)(rows * m->z.stride) * sizeof(double));
}

static lt_status create(const lt_hessian *h, lt_device *dev, const lt_solve_options *opt, int64_t columns, lt_device_hessian **out)
{
    lt_device_hessian *m = lt_calloc(1, sizeof *m);
    *out = m;
    if (!m) return LT_ERR_MEMORY;
    int64_t stride = lt_padded(h->n), chunk = LT_MAX(MIN_CHUNK, lt_padded((stride + MAX_CHUNKS - 1) / MAX_CHUNKS));
    m->kind = h->limited ? &lt_device_hessian_pairs : &lt_device_hessian_full;
    m->dev = dev;
    m->vectors = h->vectors;
    m->resident = h->vectors.device;
    m->captured = lt_debug_of(opt)->captured_evaluation;
    m->pinned = lt_debug_of(opt)->pinned_transfers;
    m->by_kernel = lt_debug_of(opt)->small_by_kernel;
    m->gamma = 1;
    m->defers = !h->limited && !m->resident && h->n <= DEFERS_UP_TO_VARIABLES;
    m->z = (lt_hessian_sizes){ h->n, stride, h->limited ? h->capacity : 0, chunk, (stride + chunk - 1) / chunk };
    m->columns = lt_padded(LT_MIN(LT_MAX(columns, LT_HESSIAN_WIDEST), MAX_COLUMNS)); /* whole groups */
    LT_TRY(make_common(m, opt));
    LT_TRY(m->kind->make(m, opt));
    return m->captured && (m->resident || (m->up.pinned && m->down.pinned)) ? record(m) : LT_OK;
}

/* One of an earlier run, as new. */
static lt_status renew(lt_device_hessian *m, const lt_hessian *h)
{
    m->vectors = h->vectors;
    m->gamma = 1;
    m->stale = m->fresh = false;
    LT_TRY(lt_device_hessian_wait(m));
    if (!m->z.pairs) return LT_OK; /* H is written whole */
    return lt_stream_fill(m->stream, m->matrix, 0, (size_t)(2 * m->z.pairs * m->z.stride) * sizeof(double));
}

static bool fits(const lt_device_hessian *m, const lt_hessian *h, const lt_device *dev, const lt_solve_options *opt, int64_t columns)
{
    const bool same = m->dev == dev && m->z.n == h->n && m->z.pairs == (h->limited ? h->capacity : 0) && m->columns >= columns;
    return same && m->resident == h->vectors.device && m->captured == lt_debug_of(opt)->captured_evaluation && m->pinned == lt_debug_of(opt)->pinned_transfers
           && m->by_kernel == lt_debug_of(opt)->small_by_kernel;
}

void lt_device_hessian_keep(lt_hessian *h, lt_device_hessian **kept)
{
    if (!h->device) return;
    lt_device_hessian_destroy(*kept);
    *kept = h->device;
    h->device = NULL;
    if (!(*kept)->failure) return;
    lt_device_hessian_destroy(*kept);
    *kept = NULL;
}

static void drop_host(lt_hessian *h)
{
    lt_free_aligned(h->lower);
    lt_free_aligned(h->partial);
    lt_free_aligned(h->S);
    lt_free_aligned(h->Y);
    h->lower = h->partial = h->S = h->Y = NULL;
}

lt_status lt_device_hessian_take(lt_hessian *h, lt_device *dev, const lt_solve_options *opt, int64_t columns, lt_device_hessian **kept)
{
    if (!dev || opt->hessian_on == LT_HESSIAN_HOST) return LT_OK;
    const char *why = obstacle(h, opt);
    if (opt->hessian_on == LT_HESSIAN_DEVICE && why)
        return LT_FAIL(LT_ERR_UNSUPPORTED, "option 'hessian_on' is device: with %s H stays on the host", why);
    if (!lt_device_hessian_wanted(h, opt)) return LT_OK;
    lt_device_hessian *m = *kept;
    const bool again = m && fits(m, h, dev, opt, LT_MIN(columns, MAX_COLUMNS));
    if (again) *kept = NULL;
    lt_status s = again ? renew(m, h) : create(h, dev, opt, columns, &m);
    h->device = m;
    if (!s) s = m->kind->put(h);
    if (s) {
        lt_device_hessian_destroy(m);
        h->device = NULL;
        return s;
    }
    m->crossings = (lt_solve_crossings){ 0 };
    drop_host(h);
    h->diagonal = false;
    return LT_OK;
}

void lt_device_hessian_destroy(lt_device_hessian *m)
{
    if (!m) return;
    if (m->stream) (void)lt_stream_sync(m->stream);
    for (int i = 0; i < 2 * LT_BEHIND_COUNT * LT_HESSIAN_WIDTHS; i++) lt_sequence_drop(&m->sequence[0][0][0] + i);
    double *device[] = { m->sizes, m->matrix, m->in, m->out, m->targets, m->step, m->part, m->factor, m->table };
    for (size_t i = 0; m->stream && i < LT_LEN(device); i++) (void)lt_device_free(m->dev, m->stream, device[i]);
    lt_host_memory_release(&m->up);
    lt_host_memory_release(&m->down);
    lt_host_memory_release(&m->update);
    for (int e = 0; e < LT_HESSIAN_ENTRY_COUNT; e++)
        for (int w = 0; w < LT_HESSIAN_WIDTHS; w++) lt_kernel_destroy(m->kernel[e][w]);
    lt_mover_release(&m->mover);
    if (!m->resident) lt_stream_destroy(m->stream);
    lt_free(m);
}

/* ---- A copy on the host --------------------------------------------------------------------------------------------------- */
lt_status lt_device_hessian_borrow(const lt_hessian *h, lt_hessian *host)
{
    LT_TRY(lt_device_hessian_failure(h->device));
    *host = *h;
    host->device = NULL;
    const size_t row = (size_t)h->n * sizeof(double);
    if (h->limited) {
        host->S = lt_malloc_aligned((size_t)h->capacity * row);
        host->Y = lt_malloc_aligned((size_t)h->capacity * row);
    } else {
        host->lower = lt_malloc_aligned((size_t)h->n * row);
    }
    lt_status s = (h->limited ? host->S && host->Y : host->lower != NULL) ? h->device->kind->get(h, host) : LT_ERR_MEMORY;
    if (s) lt_device_hessian_return(host);
    return s;
}

void lt_device_hessian_return(lt_hessian *host)
{
    lt_free_aligned(host->lower);
    lt_free_aligned(host->S);
    lt_free_aligned(host->Y);
    host->lower = host->S = host->Y = NULL;
}
