/* Order statistics and histograms without sorting. SPDX-License-Identifier: BSD-3-Clause

   One pass puts the values in buckets of equal width; only the few buckets that hold a wanted rank
   are gathered and searched further. */
#include "operators/features/field/field.h"

#include <math.h>
#include <string.h>

static inline void swap(float *a, float *b) { float t = *a; *a = *b; *b = t; }

static void insertion_sort(float *x, int64_t n)
{
    for (int64_t i = 1; i < n; i++) {
        float v = x[i];
        int64_t j = i;
        for (; j > 0 && x[j - 1] > v; j--) x[j] = x[j - 1];
        x[j] = v;
    }
}

static float median_of_three(float a, float b, float c)
{
    if (a > b) swap(&a, &b);
    if (b > c) b = c;
    return a > b ? a : b;
}

/* Puts order statistic k in its place. Equal values are gathered in the middle, so that fields with
   a constant background end at once. */
static float select_rank(float *x, int64_t n, int64_t k)
{
    int64_t begin = 0, end = n;
    while (end - begin > 16) {
        float pivot = median_of_three(x[begin], x[begin + (end - begin) / 2], x[end - 1]);
        int64_t less = begin, at = begin, more = end;
        while (at < more) {
            if (x[at] < pivot) swap(&x[less++], &x[at++]);
            else if (x[at] > pivot) swap(&x[at], &x[--more]);
            else at++;
        }
        if (k < less) end = less;
        else if (k >= more) begin = more;
        else return pivot;
    }
    insertion_sort(x + begin, end - begin);
    return x[k];
}

/* Counts in four tables, so that equal neighbours do not wait for each other. */
static void count_buckets(const uint16_t *bucket, int64_t n, int n_buckets, uint32_t *count)
{
    uint32_t table[4][LT_BUCKETS];
    for (int k = 0; k < 4; k++) memset(table[k], 0, (size_t)n_buckets * sizeof table[k][0]);
    int64_t i = 0;
    for (; i + 4 <= n; i += 4)
        for (int k = 0; k < 4; k++) table[k][bucket[i + k]]++;
    for (; i < n; i++) table[0][bucket[i]]++;
    for (int b = 0; b < n_buckets; b++) count[b] = table[0][b] + table[1][b] + table[2][b] + table[3][b];
}

/* Small fields would spend their time on empty buckets. */
static int bucket_count(int64_t n)
{
    int buckets = 64;
    while (buckets < LT_BUCKETS && buckets < n) buckets *= 2;
    return buckets;
}

void lt_order_statistics(const lt_field_plan *p, lt_field_work *w, const float *u, float lo, float hi, const int64_t *rank, int n_ranks,
                         float *value)
{
    enum { MAX_RANKS = 16 };
    int64_t n = p->n, first[MAX_RANKS], gathered[MAX_RANKS], before = 0, total = 0;
    uint32_t count[LT_BUCKETS];
    uint8_t mark[LT_BUCKETS];
    int list_of[MAX_RANKS], n_lists = 0, n_buckets = bucket_count(n);
    float scale = (float)((n_buckets - 1) / ((double)hi - (double)lo));
    if (!(hi > lo) || !isfinite(scale) || !isfinite(hi - lo)) scale = 0; /* one bucket: plain selection */
    memset(mark, 0, (size_t)n_buckets * sizeof *mark);
    p->loops->buckets(u, n, lo, scale, n_buckets - 1, w->bucket);
    count_buckets(w->bucket, n, n_buckets, count);
    int64_t below[MAX_RANKS];                                            /* values under each list's bucket */
    for (int b = 0, k = 0; b < n_buckets && k < n_ranks; before += count[b++]) {
        if (rank[k] >= before + count[b]) continue;
        mark[b] = (uint8_t)++n_lists;
        first[n_lists - 1] = gathered[n_lists - 1] = total;
        below[n_lists - 1] = before;
        total += count[b];
        for (; k < n_ranks && rank[k] < before + count[b]; k++) list_of[k] = n_lists - 1;
    }
    float *list = w->spare;
    for (int64_t i = 0; i < n; i++) {
        int m = mark[w->bucket[i]];
        if (m) list[gathered[m - 1]++] = u[i];
    }
    for (int k = 0; k < n_ranks; k++) {
        int l = list_of[k];
        value[k] = select_rank(list + first[l], gathered[l] - first[l], rank[k] - below[l]);
    }
}

/* ---- Sorting --------------------------------------------------------------------------- */
/* Ascending. Unlike the C library's it never allocates; equal numbers are set aside at once. */
void lt_sort_numbers(double *x, int64_t n)
{
    while (n > 16) {
        double a = x[0], b = x[n / 2], c = x[n - 1];
        double pivot = fmax(fmin(a, b), fmin(fmax(a, b), c)), t;
        int64_t less = 0, at = 0, more = n;
        while (at < more) {
            if (x[at] < pivot) { t = x[less]; x[less++] = x[at]; x[at++] = t; }
            else if (x[at] > pivot) { t = x[--more]; x[more] = x[at]; x[at] = t; }
            else at++;
        }
        /* The smaller part by recursion, so that the depth stays below log2 n. */
        if (less < n - more) {
            lt_sort_numbers(x, less);
            x += more;
            n -= more;
        } else {
            lt_sort_numbers(x + more, n - more);
            n = less;
        }
    }
    for (int64_t i = 1; i < n; i++) {
        double v = x[i];
        int64_t j = i;
        for (; j > 0 && x[j - 1] > v; j--) x[j] = x[j - 1];
        x[j] = v;
    }
}

/* ---- Histograms ----------------------------------------------------------------------- */
void lt_field_bins(const lt_field_plan *p, const float *u, float lo, float hi, int n_bins, uint8_t *bin)
{
    float width = hi - lo + 1e-8f, top = (float)(n_bins - 1);
    if (isfinite(width)) {
        p->loops->bins(u, p->n, lo, width, top, bin);
        return;
    }
    double wide = (double)hi - (double)lo; /* a range that float32 cannot hold */
    for (int64_t i = 0; i < p->n; i++) bin[i] = (uint8_t)(((double)u[i] - (double)lo) / wide * (double)top);
}

void lt_count_bins(const uint8_t *bin, int64_t n, int n_bins, uint32_t *count)
{
    uint32_t table[4][LT_MAX_ENTROPY_BINS];
    memset(table, 0, sizeof table);
    int64_t i = 0;
    for (; i + 4 <= n; i += 4)
        for (int k = 0; k < 4; k++) table[k][bin[i + k]]++;
    for (; i < n; i++) table[0][bin[i]]++;
    for (int b = 0; b < n_bins; b++) count[b] = table[0][b] + table[1][b] + table[2][b] + table[3][b];
}

double lt_bin_entropy(const uint32_t *count, int n_bins, int64_t n)
{
    double entropy = 0;
    for (int b = 0; b < n_bins; b++) {
        double share = (double)count[b] / (double)n;
        if (count[b]) entropy -= share * log(share + 1e-10);
    }
    return entropy;
}
