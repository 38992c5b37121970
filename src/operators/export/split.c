/* Rows for training, validation and test, by a rule that anyone can repeat. SPDX-License-Identifier: BSD-3-Clause

   An operator is one row with all its realizations, so none of them leaks from one part into another. Rows are put in the order of SHA-256("lathe split SEED ROW") and
   cut. Stratified, the rows of a stratum lie together, those of an architecture too, and rows are dealt in that order, each to the part that lacks most of its
   share: so a part gets its share of each architecture and each stratum up to a row or two, and its exact share of all (decision 260). */
#include "operators/export/split.h"

#include "base/alloc.h"
#include "base/sized.h"
#include "base/status.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Entries are ordered by the bytes of their digests. */
typedef struct entry {
    lt_digest architecture, stratum, key;
    int64_t   row;
} entry;

_Static_assert(offsetof(entry, row) == 3 * sizeof(lt_digest), "digests lie side by side");

/* The key that orders rows: of its number in the whole dataset. */
static lt_digest key_of(int64_t seed, int64_t number)
{
    char text[80];
    int n = snprintf(text, sizeof text, "lathe split %" PRId64 " %" PRId64, seed, number);
    return lt_sha256_of(text, (size_t)n);
}

static int compare_entries(const void *a, const void *b) { return memcmp(a, b, offsetof(entry, row)); }
static bool is_equal(const lt_digest *a, const lt_digest *b) { return !memcmp(a, b, sizeof *a); }

static int compare_rows(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

/* ---- Sizes of the parts -------------------------------------------------------------------------------------- */

static lt_status check_shares(const lt_row_split_options *o, const double share[LT_SPLIT_PARTS], int64_t n)
{
    double sum = share[0] + share[1] + share[2];
    bool sound = share[0] >= 0 && share[1] >= 0 && share[2] >= 0 && isfinite(sum);
    if (o->counts) {
        for (int i = 0; i < LT_SPLIT_PARTS; i++) sound = sound && share[i] == floor(share[i]);
        if (sound && sum <= (double)n) return LT_OK;
        return LT_FAIL(LT_ERR_ARGUMENT, "split %g, %g, %g: expected whole numbers that add up to %" PRId64 " rows at most", share[0], share[1], share[2], n);
    }
    if (sound && sum > 0 && sum <= 1 + 1e-9) return LT_OK;
    return LT_FAIL(LT_ERR_ARGUMENT, "split %g, %g, %g: expected shares that add up to 1 at most, or three numbers of rows", share[0], share[1], share[2]);
}

/* Rounded down, and the rows that are left to the largest remainders. */
static lt_status choose_sizes(const lt_row_split_options *o, int64_t n, int64_t size[LT_SPLIT_PARTS])
{
    const double share[LT_SPLIT_PARTS] = { o->train, o->val, o->test };
    double lacks[LT_SPLIT_PARTS];
    LT_TRY(check_shares(o, share, n));
    int64_t left = (int64_t)rint((share[0] + share[1] + share[2]) * (double)n);
    for (int i = 0; i < LT_SPLIT_PARTS; i++) {
        double exact = o->counts ? share[i] : share[i] * (double)n;
        size[i] = (int64_t)(exact + 1e-9);
        lacks[i] = exact - (double)size[i];
        left -= size[i];
    }
    if (o->counts) return LT_OK;
    for (; left > 0; left--) {
        int most = 0;
        for (int i = 1; i < LT_SPLIT_PARTS; i++)
            if (lacks[i] > lacks[most]) most = i;
        size[most]++;
        lacks[most] = -1;
    }
    return LT_OK;
}

/* ---- Order ------------------------------------------------------------------------------------------------------ */

/* The name of a group becomes the key of its first row: groups of a kind then come in an order that the seed decides. */
static void name_groups(entry *list, int64_t n, size_t group)
{
    for (int64_t i = 0, end; i < n; i = end) {
        lt_digest *first = (lt_digest *)((char *)&list[i] + group), name = *first, least = list[i].key;
        for (end = i; end < n && is_equal((lt_digest *)((char *)&list[end] + group), &name); end++)
            if (memcmp(&list[end].key, &least, sizeof least) < 0) least = list[end].key;
        for (int64_t k = i; k < end; k++) *(lt_digest *)((char *)&list[k] + group) = least;
    }
}

static void order_entries(entry *list, int64_t n, bool stratified)
{
    qsort(list, (size_t)n, sizeof *list, compare_entries);
    if (!stratified) return;
    name_groups(list, n, offsetof(entry, stratum)); /* names of architectures are still their own: strata stay apart */
    name_groups(list, n, offsetof(entry, architecture));
    qsort(list, (size_t)n, sizeof *list, compare_entries);
}

static void give(lt_row_split *s, int part, int64_t row) { s->rows[part][s->n[part]++] = row; }

/* One after the other to the part that lacks most of its share of the rows so far; the fourth part is that of rows that no part asks for. Numbers of rows stay below
   2^28, so the products fit. */
static void deal(const entry *list, int64_t n, const int64_t size[LT_SPLIT_PARTS], lt_row_split *s)
{
    int64_t want[LT_SPLIT_PARTS + 1] = { size[0], size[1], size[2], n - size[0] - size[1] - size[2] }, given[LT_SPLIT_PARTS + 1] = { 0 };
    for (int64_t i = 0; i < n; i++) {
        int most = -1;
        int64_t lack = 0;
        for (int p = 0; p <= LT_SPLIT_PARTS; p++) {
            int64_t lacks = want[p] * (i + 1) - given[p] * n;
            if (given[p] < want[p] && (most < 0 || lacks > lack)) most = p, lack = lacks;
        }
        given[most]++;
        if (most < LT_SPLIT_PARTS) give(s, most, list[i].row);
    }
}

static void cut(const entry *list, const int64_t size[LT_SPLIT_PARTS], lt_row_split *s)
{
    int64_t at = 0;
    for (int p = 0; p < LT_SPLIT_PARTS; p++)
        for (int64_t k = 0; k < size[p]; k++) give(s, p, list[at++].row);
}

/* ---- Entries ------------------------------------------------------------------------------------------------------ */

typedef struct draft { lt_dataset *d; int64_t n; entry *list; uint8_t *code; int64_t *number; lt_digest *architecture, *stratum; } draft;

static lt_status read_numbers(draft *w)
{
    int64_t rows = w->d->info.rows;
    for (int64_t r = 0; r < rows; r++) w->number[r] = r;
    return lt_dataset_shape(w->d, "/status/row").rank == 1 ? lt_dataset_read_ints(w->d, "/status/row", 0, rows, w->number, rows) : LT_OK;
}

static lt_status list_entries(draft *w, const lt_row_split_options *o)
{
    LT_TRY(lt_dataset_read_codes(w->d, w->code));
    LT_TRY(read_numbers(w));
    if (o->stratify) LT_TRY(lt_split_strata(w->d, w->architecture, w->stratum));
    for (int64_t r = 0; r < w->d->info.rows; r++) {
        if (w->code[r] >= LT_RUN_STATUS_COUNT || !(o->status >> w->code[r] & 1)) continue;
        entry *e = &w->list[w->n++];
        *e = (entry){ .key = key_of(o->seed, w->number[r]), .row = r };
        if (o->stratify) e->architecture = w->architecture[r], e->stratum = w->stratum[r];
    }
    order_entries(w->list, w->n, o->stratify);
    return LT_OK;
}

static lt_status allocate(draft *w, bool stratify)
{
    size_t rows = (size_t)w->d->info.rows;
    w->list = lt_malloc(rows * sizeof *w->list);
    w->code = lt_malloc(rows);
    w->number = lt_malloc(rows * sizeof *w->number);
    w->architecture = stratify ? lt_malloc(rows * sizeof *w->architecture) : NULL;
    w->stratum = stratify ? lt_malloc(rows * sizeof *w->stratum) : NULL;
    return w->list && w->code && w->number && (!stratify || (w->architecture && w->stratum)) ? LT_OK : LT_ERR_MEMORY;
}

static void release(draft *w)
{
    lt_free(w->list);
    lt_free(w->code);
    lt_free(w->number);
    lt_free(w->architecture);
    lt_free(w->stratum);
}

static lt_status make(draft *w, const lt_row_split_options *o, lt_row_split *s)
{
    int64_t size[LT_SPLIT_PARTS];
    LT_TRY(allocate(w, o->stratify));
    LT_TRY(list_entries(w, o));
    LT_TRY(choose_sizes(o, w->n, size));
    for (int p = 0; p < LT_SPLIT_PARTS; p++)
        if (!(s->rows[p] = lt_malloc((size_t)LT_MAX(size[p], (int64_t)1) * sizeof *s->rows[p]))) return LT_ERR_MEMORY;
    if (o->stratify) deal(w->list, w->n, size, s);
    else cut(w->list, size, s);
    for (int p = 0; p < LT_SPLIT_PARTS; p++) qsort(s->rows[p], (size_t)s->n[p], sizeof *s->rows[p], compare_rows);
    return LT_OK;
}

/* ---- The interface ------------------------------------------------------------------------------------------------- */

void lt_row_split_defaults_into(lt_row_split_options *out)
{
    LT_GIVE(out, &(lt_row_split_options){ .size = sizeof(lt_row_split_options), .train = 0.8, .val = 0.1, .test = 0.1, .status = 1u << LT_RUN_DONE });
}

lt_status lt_dataset_split(lt_dataset *d, const lt_row_split_options *options, lt_row_split **out)
{
    LT_NEED(d);
    LT_NEED(out);
    lt_row_split_options o = lt_row_split_defaults();
    *out = NULL;
    LT_TRY(LT_TAKE(lt_row_split_options, options, &o));
    lt_row_split *s = lt_calloc(1, sizeof *s);
    draft w = { .d = d };
    if (!s) return LT_ERR_MEMORY;
    s->seed = o.seed;
    s->stratified = o.stratify;
    s->status = o.status;
    lt_status st = make(&w, &o, s);
    release(&w);
    if (st) lt_row_split_destroy(s);
    else *out = s;
    return st;
}

void lt_row_split_destroy(lt_row_split *s)
{
    for (int p = 0; s && p < LT_SPLIT_PARTS; p++) lt_free(s->rows[p]);
    lt_free(s);
}

int64_t lt_row_split_rows(const lt_row_split *s, int part, const int64_t **rows)
{
    bool known = s && part >= 0 && part < LT_SPLIT_PARTS;
    if (rows) *rows = known ? s->rows[part] : NULL;
    return known ? s->n[part] : 0;
}

const char *lt_row_split_rule(const lt_row_split *s)
{
    return s->stratified ? "rows in the order of SHA-256('lathe split SEED ROW'), ROW the number of the operator in the whole dataset, architecture by architecture and in "
                           "each initial field by initial field, those with the first row first; one by one to the part that lacks most of its share"
                         : "rows in the order of SHA-256('lathe split SEED ROW'), ROW the number of the operator in the whole dataset; the first are for training, then validation, then test";
}
