/* H on the device: making it, moving vectors, failures. SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/device/far_internal.h"

#include "base/alloc.h"
#include "base/status.h"
#include "trace/trace.h"

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
    if (isfinite(opt->regularize_threshold)) return "regularize_threshold";
    if (h->base_lower || h->base_diagonal) return "an H0 of limited memory";
    if (h->limited && h->capacity > LT_FAR_MAX_PAIRS) return "more than 1024 pairs";
    return NULL;
}

static bool is_large(const lt_hessian *h)
{
    return h->limited ? h->n * h->capacity >= PAIRS_FROM_NUMBERS : h->n >= FULL_FROM_VARIABLES;
}

bool lt_far_wanted(const lt_hessian *h, const lt_solve_options *opt)
{
    if (opt->hessian_on == LT_HESSIAN_HOST || obstacle(h, opt)) return false;
    return opt->hessian_on == LT_HESSIAN_DEVICE || is_large(h);
}

/* ---- Making ---------------------------------------------------------------------------------------------------------- */
static lt_status make_common(lt_far *m, const lt_solve_options *opt)
{
    const int64_t in = LT_FAR_HEAD + (LT_FAR_STEP + m->columns) * m->z.stride, out = m->columns * m->z.stride;
    if (m->resident) m->stream = lt_device_vectors_stream(m->resident);
    else LT_TRY(lt_stream_create(m->dev, &m->stream));
    LT_TRY(lt_mover_create(m->stream, opt, &m->mover));
    LT_TRY(lt_far_build(m));
    LT_TRY(lt_device_numbers(m->dev, m->stream, sizeof m->z / sizeof(double), "sizes", &m->sizes));
    LT_TRY(lt_device_numbers(m->dev, m->stream, in, "columns for H", &m->in));
    LT_TRY(lt_device_numbers(m->dev, m->stream, out, "products with H", &m->out));
    LT_TRY(lt_device_numbers(m->dev, m->stream, m->columns, "places of products", &m->places));
    LT_TRY(lt_host_block_create(m->dev, opt, in, &m->up));
    LT_TRY(lt_host_block_create(m->dev, opt, out, &m->down));
    memset(m->up.at, 0, (size_t)in * sizeof(double)); /* rows stay zero behind the last variable */
    LT_TRY(lt_stream_fill(m->stream, m->in, 0, (size_t)in * sizeof(double)));
    LT_TRY(lt_stream_copy(m->stream, m->sizes, &m->z, sizeof m->z, LT_TRANSFER_H2D, false));
    double *place[MAX_COLUMNS];
    for (int64_t j = 0; j < m->columns; j++) place[j] = m->out + j * m->z.stride;
    LT_TRY(lt_stream_copy(m->stream, m->places, place, (size_t)m->columns * sizeof *place, LT_TRANSFER_H2D, false));
    return lt_stream_sync(m->stream);
}

lt_status lt_far_make_matrix(lt_far *m, int64_t rows)
{
    LT_TRY(lt_device_numbers(m->dev, m->stream, rows * m->z.stride, m->z.pairs ? "pairs of limited memory" : "H", &m->matrix));
    return lt_stream_fill(m->stream, m->matrix, 0, (size_t)(rows * m->z.stride) * sizeof(double));
}

static lt_status create(const lt_hessian *h, lt_device *dev, const lt_solve_options *opt, int64_t columns, lt_far **out)
{
    lt_far *m = lt_calloc(1, sizeof *m);
    *out = m;
    if (!m) return LT_ERR_MEMORY;
    int64_t stride = lt_padded(h->n), chunk = LT_MAX(MIN_CHUNK, lt_padded((stride + MAX_CHUNKS - 1) / MAX_CHUNKS));
    m->dev = dev;
    m->vectors = h->vectors;
    m->resident = h->vectors.device;
    m->captured = opt->captured_evaluation;
    m->pinned = opt->pinned_transfers;
    m->by_kernel = opt->small_by_kernel;
    m->gamma = 1;
    m->defers = !h->limited && !m->resident && h->n <= DEFERS_UP_TO_VARIABLES;
    m->z = (lt_far_sizes){ h->n, stride, h->limited ? h->capacity : 0, chunk, (stride + chunk - 1) / chunk };
    m->columns = lt_padded(LT_MIN(LT_MAX(columns, LT_FAR_WIDEST), MAX_COLUMNS)); /* whole groups */
    LT_TRY(make_common(m, opt));
    return h->limited ? lt_far_make_pairs(m, opt) : lt_far_make_full(m, opt);
}

/* One of an earlier run, as new. */
static lt_status renew(lt_far *m, const lt_vectors *s)
{
    m->vectors = *s;
    m->gamma = 1;
    m->stale = m->fresh = false;
    LT_TRY(lt_far_wait(m));
    if (!m->z.pairs) return LT_OK; /* H is written whole */
    return lt_stream_fill(m->stream, m->matrix, 0, (size_t)(2 * m->z.pairs * m->z.stride) * sizeof(double));
}

static bool fits(const lt_far *m, const lt_hessian *h, const lt_device *dev, const lt_solve_options *opt, int64_t columns)
{
    const bool same = m->dev == dev && m->z.n == h->n && m->z.pairs == (h->limited ? h->capacity : 0) && m->columns >= columns;
    return same && m->resident == h->vectors.device && m->captured == opt->captured_evaluation && m->pinned == opt->pinned_transfers && m->by_kernel == opt->small_by_kernel;
}

void lt_far_keep(lt_hessian *h, lt_far **kept)
{
    if (!h->far) return;
    lt_far_destroy(*kept);
    *kept = h->far;
    h->far = NULL;
    if (!(*kept)->failure) return;
    lt_far_destroy(*kept);
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

lt_status lt_far_take(lt_hessian *h, lt_device *dev, const lt_solve_options *opt, int64_t columns, lt_far **kept)
{
    if (!dev || opt->hessian_on == LT_HESSIAN_HOST) return LT_OK;
    const char *why = obstacle(h, opt);
    if (opt->hessian_on == LT_HESSIAN_DEVICE && why)
        return LT_FAIL(LT_ERR_UNSUPPORTED, "option 'hessian_on' is device: with %s H stays on the host", why);
    if (!lt_far_wanted(h, opt)) return LT_OK;
    lt_far *m = *kept;
    const bool again = m && fits(m, h, dev, opt, LT_MIN(columns, MAX_COLUMNS));
    if (again) *kept = NULL;
    lt_status s = again ? renew(m, &h->vectors) : create(h, dev, opt, columns, &m);
    h->far = m;
    if (!s) s = h->limited ? lt_far_put_pairs(h) : lt_far_put_full(h);
    if (s) {
        lt_far_destroy(m);
        h->far = NULL;
        return s;
    }
    m->crossings = (lt_solve_crossings){ 0 };
    drop_host(h);
    h->diagonal = false;
    return LT_OK;
}

static void drop_sequence(lt_far_sequence *s)
{
    for (int w = 0; w < LT_FAR_WIDTHS; w++) lt_capture_destroy(s->capture[w]);
}

void lt_far_destroy(lt_far *m)
{
    if (!m) return;
    if (m->stream) (void)lt_stream_sync(m->stream);
    drop_sequence(&m->first);
    drop_sequence(&m->changing);
    drop_sequence(&m->first_with);
    drop_sequence(&m->changing_with);
    drop_sequence(&m->first_sums);
    drop_sequence(&m->changing_sums);
    double *device[] = { m->sizes, m->matrix, m->in, m->out, m->places, m->step, m->part, m->factor, m->table };
    for (size_t i = 0; m->stream && i < LT_LEN(device); i++) (void)lt_device_free(m->dev, m->stream, device[i]);
    lt_host_block *host[] = { &m->up, &m->down, &m->update };
    for (size_t i = 0; i < LT_LEN(host); i++)
        if (host[i]->at) lt_host_block_release(m->dev, host[i]);
    for (int w = 0; w < LT_FAR_WIDTHS; w++) {
        lt_kernel_destroy(m->multiply[w]);
        lt_kernel_destroy(m->dots[w]);
        lt_kernel_destroy(m->combine[w]);
        lt_kernel_destroy(m->change[w]);
        lt_kernel_destroy(m->loops[w]);
    }
    lt_kernel_destroy(m->identity);
    lt_kernel_destroy(m->rank2);
    lt_mover_release(&m->mover);
    if (!m->resident) lt_stream_destroy(m->stream);
    lt_free(m);
}

/* ---- Moving ----------------------------------------------------------------------------------------------------------- */
lt_status lt_far_wait(lt_far *m)
{
    m->crossings.syncs++;
    m->updating = false;
    return lt_mover_wait(&m->mover, false);
}

lt_status lt_far_wait_home(lt_far *m)
{
    m->crossings.syncs++;
    m->updating = false;
    return lt_mover_wait(&m->mover, m->tells);
}

lt_status lt_far_send(lt_far *m, double *dst, const lt_host_block *from, int64_t first, int64_t count)
{
    return lt_cross_up(&m->mover, dst, from->at + first, count, from->pinned, &m->crossings);
}

lt_status lt_far_bring(lt_far *m, const lt_host_block *to, const double *src, int64_t count)
{
    LT_TRY(lt_cross_down(&m->mover, to->at, src, count, to->pinned, &m->crossings));
    m->tells = m->mover.tells;
    return LT_OK;
}

/* Between vectors there and columns there: `from` into columns, or (from NULL) out of them. */
static void move_columns(lt_far *m, int64_t k, double scale, const double *const *from, double *columns, double *const *to)
{
    lt_device_vectors_many_begin(m->resident, k);
    for (int64_t j = 0; j < k; j++) {
        double *column = columns + j * m->z.stride;
        const double *a = from ? from[j] : column;
        lt_device_vectors_combine(m->resident, 1, &scale, &a, from ? column : to[j]);
    }
    lt_device_vectors_many_end(m->resident);
}

double *lt_far_places(const lt_far *m)
{
    return m->resident ? (double *)(uintptr_t)lt_device_vectors_passed(m->resident) + LT_FAR_HEAD_USED : m->places;
}

_Static_assert(LT_FAR_HEAD_USED + LT_FAR_WIDEST <= LT_VECTORS_MAX_PASSED && sizeof(double *) == sizeof(double), "addresses go with the numbers");

/* The sequence begins with their list, which also says where products go. Columns that are there for the width's sake go nowhere. */
static void put_there(lt_far *m, int64_t k, const double *const *b, const double *head, double *const *out)
{
    double passed[LT_VECTORS_MAX_PASSED] = { 0 };
    if (head) memcpy(passed, head, LT_FAR_HEAD_USED * sizeof *head);
    for (int64_t j = 0; j < LT_FAR_WIDEST; j++) {
        double *to = j < k && k <= LT_FAR_WIDEST ? out[j] : m->out + j * m->z.stride;
        memcpy(&passed[LT_FAR_HEAD_USED + j], &to, sizeof to);
        if (j < k && k <= LT_FAR_WIDEST) lt_device_vectors_overwrite(m->resident, to);
    }
    move_columns(m, k, 1, b, m->in + LT_FAR_HEAD, NULL);
    lt_device_vectors_pack(m->resident, LT_LIST_PRODUCT, passed, LT_FAR_HEAD_USED + LT_FAR_WIDEST);
}

void lt_far_put_columns(lt_far *m, int64_t k, const double *const *b, const double *head, double *const *out)
{
    if (m->resident) {
        put_there(m, k, b, head, out);
        return;
    }
    if (head) memcpy(m->up.at, head, LT_FAR_HEAD_USED * sizeof *head);
    double *columns = m->up.at + LT_FAR_HEAD + (m->stale ? LT_FAR_STEP * m->z.stride : 0);
    for (int64_t j = 0; j < k; j++) memcpy(columns + j * m->z.stride, b[j], (size_t)m->z.n * sizeof(double));
}

void lt_far_take_columns(lt_far *m, int64_t k, double scale, double *const *out)
{
    if (m->resident && k > LT_FAR_WIDEST) move_columns(m, k, scale, NULL, m->out, out);
    for (int64_t j = 0; m->resident && k <= LT_FAR_WIDEST && scale != 1 && j < k; j++) lt_vectors_scale(&m->vectors, scale, out[j]);
    for (int64_t j = 0; j < k && !m->resident; j++) {
        const double *from = m->down.at + j * m->z.stride;
        if (scale == 1) memcpy(out[j], from, (size_t)m->z.n * sizeof(double));
        for (int64_t i = 0; scale != 1 && i < m->z.n; i++) out[j][i] = scale * from[i];
    }
}

/* A column too many costs less than another launch; there is room for it. */
int lt_far_width(int64_t k)
{
    int w = 0;
    while (1 << w < k) w++;
    return w;
}

lt_status lt_far_groups(lt_far *m, int64_t k, lt_far_group one)
{
    for (int64_t first = 0; first < k; first += LT_FAR_WIDEST) LT_TRY(one(m, lt_far_width(LT_MIN(k - first, LT_FAR_WIDEST)), first));
    return LT_OK;
}

/* ---- Sequences ---------------------------------------------------------------------------------------------------------- */
static lt_status record_one(lt_far *m, lt_far_sequence *s, int width)
{
    const lt_solve_crossings before = m->crossings;
    m->crossings = (lt_solve_crossings){ 0 };
    LT_TRY(lt_capture_begin(m->stream));
    lt_status status = s->queue(m, width);
    if (!status) status = lt_capture_end(m->stream, &s->capture[width]);
    else lt_capture_abort(m->stream);
    s->cost[width] = m->crossings;
    s->tells[width] = m->tells;
    m->crossings = before;
    return status;
}

lt_status lt_far_record(lt_far *m, lt_far_sequence *s, lt_status (*queue)(lt_far *m, int width))
{
    s->queue = queue;
    for (int w = 0; w < LT_FAR_WIDTHS; w++) LT_TRY(record_one(m, s, w));
    return LT_OK;
}

lt_status lt_far_play(lt_far *m, lt_far_sequence *s, int width)
{
    if (!s->capture[width]) return s->queue(m, width);
    const lt_solve_crossings *c = &s->cost[width];
    m->crossings.uploads += c->uploads;
    m->crossings.downloads += c->downloads;
    m->crossings.bytes_up += c->bytes_up;
    m->crossings.bytes_down += c->bytes_down;
    m->tells = s->tells[width];
    if (c->uploads) lt_trace_transfer(LT_TRANSFER_H2D, true, c->bytes_up);
    if (c->downloads) lt_trace_transfer(LT_TRANSFER_D2H, true, c->bytes_down);
    return lt_capture_replay(m->stream, s->capture[width]);
}

lt_status lt_far_play_there(lt_far *m, lt_far_sequence *alone, lt_far_sequence *with, lt_far_sequence *sums, int width)
{
    if (!alone->capture[width]) return alone->queue(m, width);
    lt_device_vectors_defer(m->resident, &(lt_deferred){ alone->capture[width], with->capture[width], sums->capture[width] });
    return LT_OK;
}

/* ---- Failures ----------------------------------------------------------------------------------------------------------- */
void lt_far_fail(lt_far *m, lt_status s)
{
    if (!s || m->failure) return;
    m->failure = s;
    snprintf(m->text, sizeof m->text, "%s", lt_error_text());
}

lt_status lt_far_failure(const lt_far *m)
{
    if (!m || !m->failure) return LT_OK;
    lt_error_set(m->text);
    return m->failure;
}

lt_solve_crossings lt_far_crossings(const lt_far *m) { return m->crossings; }

/* H before its first update, which takes no kernel: what it multiplies by; 0 afterwards. */
static double multiple_of_identity(const lt_hessian *h)
{
    if (h->limited) return h->count ? 0 : h->gamma;
    return h->far->gamma * h->far->multiple;
}

void lt_far_apply(lt_hessian *h, int64_t k, const double *const *b, double *const *out)
{
    lt_far *m = h->far;
    const double multiple = multiple_of_identity(h);
    m->crossings.calls++;
    if (multiple != 0 && !m->failure) {
        for (int64_t j = 0; j < k; j++) lt_vectors_scaled(&m->vectors, multiple, b[j], out[j]);
        return;
    }
    for (int64_t j = 0; j < k && !m->failure; j += m->columns) {
        int64_t some = LT_MIN(k - j, m->columns);
        lt_far_fail(m, h->limited ? lt_far_apply_pairs(h, some, b + j, out + j) : lt_far_apply_full(h, some, b + j, out + j));
    }
    for (int64_t j = 0; m->failure && j < k; j++) lt_vectors_fill(&m->vectors, NAN, out[j]);
}

/* ---- A copy on the host --------------------------------------------------------------------------------------------------- */
lt_status lt_far_borrow(const lt_hessian *h, lt_hessian *host)
{
    LT_TRY(lt_far_failure(h->far));
    *host = *h;
    host->far = NULL;
    const size_t row = (size_t)h->n * sizeof(double);
    if (h->limited) {
        host->S = lt_malloc_aligned((size_t)h->capacity * row);
        host->Y = lt_malloc_aligned((size_t)h->capacity * row);
    } else {
        host->lower = lt_malloc_aligned((size_t)h->n * row);
    }
    lt_status s = (h->limited ? host->S && host->Y : host->lower != NULL) ? LT_OK : LT_ERR_MEMORY;
    if (!s) s = h->limited ? lt_far_get_pairs(h, host->S, host->Y) : lt_far_get_full(h, host->lower);
    if (s) lt_far_return(host);
    return s;
}

void lt_far_return(lt_hessian *host)
{
    lt_free_aligned(host->lower);
    lt_free_aligned(host->S);
    lt_free_aligned(host->Y);
    host->lower = host->S = host->Y = NULL;
}
