/* Tiles learnt from earlier runs. SPDX-License-Identifier: BSD-3-Clause */
#include "qkernel/history.h"

#include "base/alloc.h"
#include "base/files/file.h"
#include "base/status.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define LINE_FORMAT "%" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 "\n"
#define LINE_SCAN "%" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64 "%n"
enum { LINE_MAX_BYTES = 128, RUNS_FOR_CERTAINTY = 10 };

/* ---- prediction ---- */

static double distance(int64_t a, int64_t b) { return fabs(log((double)a / (double)b)); }

lt_tile_prediction lt_history_predict(const lt_tile_history *h, int64_t n, int64_t n_qubits, int64_t memory_bytes)
{
    lt_tile_prediction p = { .source = h->n_records ? LT_TILES_NO_VALID_HISTORY : LT_TILES_DEFAULT, .state_tile = -1 };
    bool same_qubits = false;
    int count = 0;
    double nearest = INFINITY;
    for (int i = 0; i < h->n_records; i++) same_qubits |= h->record[i].n_qubits == n_qubits;
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < h->n_records; i++) {
            const lt_tile_record *r = &h->record[i];
            if ((same_qubits && r->n_qubits != n_qubits) || (double)r->peak_bytes > 0.9 * (double)memory_bytes) continue;
            double d = distance(r->n, n);
            if (pass == 0) {
                count++;
                nearest = fmin(nearest, d);
            } else if (d <= nearest + 1e-9 && r->pairs_per_second > p.pairs_per_second) {
                p = (lt_tile_prediction){ LT_TILES_LEARNED, fmin(1, (double)count / RUNS_FOR_CERTAINTY), r->state_tile, r->tile_size,
                                          r->pairs_per_second };
            }
        }
    return p;
}

void lt_history_append(lt_tile_history *h, const lt_tile_record *r)
{
    if (h->n_records == LT_HISTORY_MAX) memmove(h->record, h->record + 1, (LT_HISTORY_MAX - 1) * sizeof *h->record);
    else h->n_records++;
    h->record[h->n_records - 1] = *r;
}

static bool same_configuration(const lt_tile_record *a, const lt_tile_record *b)
{
    return a->n_qubits == b->n_qubits && a->state_tile == b->state_tile && a->tile_size == b->tile_size;
}

lt_tile_statistics lt_history_statistics(const lt_tile_history *h)
{
    lt_tile_statistics s = { .runs = h->n_records };
    for (int i = 0; i < h->n_records; i++) {
        bool seen = false;
        for (int j = 0; j < i; j++) seen |= same_configuration(&h->record[i], &h->record[j]);
        s.configurations += !seen;
        s.mean_pairs_per_second += (double)h->record[i].pairs_per_second / h->n_records;
    }
    return s;
}

/* ---- storage ---- */

typedef struct key { char s[160]; } key;

static key key_of(const char *device, lt_gram_method m, lt_gram_float f)
{
    key k;
    snprintf(k.s, sizeof k.s, "gram tiles %s %s %s", device, lt_gram_method_name(m), lt_gram_float_name(f));
    return k;
}

static bool within(int64_t v, int64_t least, int64_t most) { return v >= least && v <= most; }

/* The digest of a cache entry has no key: what it says becomes options, and is held to their ranges. */
static bool sensible(const lt_tile_record *r)
{
    const int64_t rows = INT64_C(1) << 40;
    return within(r->n, 1, rows) && within(r->n_qubits, 1, 4096) && (r->state_tile == -1 || within(r->state_tile, 1, rows)) &&
           within(r->tile_size, 1, 65536) && r->pairs_per_second > 0 && r->peak_bytes >= 0;
}

lt_status lt_history_load(const char *device, lt_gram_method m, lt_gram_float f, lt_tile_history *out)
{
    char *text;
    size_t bytes;
    out->n_records = 0;
    LT_TRY(lt_cache_get(key_of(device, m, f).s, (size_t)LT_HISTORY_MAX * LINE_MAX_BYTES, &text, &bytes));
    int used;
    lt_tile_record r;
    for (const char *at = text; at && sscanf(at, LINE_SCAN, &r.n, &r.n_qubits, &r.state_tile, &r.tile_size, &r.pairs_per_second,
                                             &r.peak_bytes, &used) == 6; at += used)
        if (sensible(&r)) lt_history_append(out, &r);
    lt_free(text);
    return LT_OK;
}

lt_status lt_history_save(const char *device, lt_gram_method m, lt_gram_float f, const lt_tile_history *h)
{
    size_t room = (size_t)LT_MAX(1, h->n_records) * LINE_MAX_BYTES, used = 0;
    char *text = lt_malloc(room);
    if (!text) return LT_ERR_MEMORY;
    for (int i = 0; i < h->n_records; i++) {
        const lt_tile_record *r = &h->record[i];
        used += (size_t)snprintf(text + used, room - used, LINE_FORMAT, r->n, r->n_qubits, r->state_tile, r->tile_size, r->pairs_per_second,
                                 r->peak_bytes);
    }
    lt_status s = lt_cache_put(key_of(device, m, f).s, text, used);
    lt_free(text);
    return s;
}
