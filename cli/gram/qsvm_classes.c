/* Which two classes the rows of `lathe qsvm` are of, and which rows are held out for tests. SPDX-License-Identifier: BSD-3-Clause */
#include "cli/gram/qsvm.h"

#include <stdlib.h>
#include <string.h>

/* ---- classes ---- */

static int by_value(const void *a, const void *b)
{
    char *end_a, *end_b;
    double x = strtod(a, &end_a), y = strtod(b, &end_b);
    if (!*end_a && !*end_b && x != y) return x < y ? -1 : 1;
    return strcmp(a, b);
}

static bool has_label(const qsvm_rows *r, const char *label)
{
    for (int64_t i = 0; i < r->n; i++)
        if (!strcmp(r->label[i], label)) return true;
    return false;
}

static lt_status named_classes(const qsvm_rows *r, const char *asked, qsvm_name name[2])
{
    const char *comma = strchr(asked, ',');
    char first[2 * sizeof(qsvm_name)];
    if (!comma || comma == asked || !comma[1] || strchr(comma + 1, ',') || (size_t)(comma - asked) >= sizeof first)
        return cli_fail(LT_ERR_ARGUMENT, "--classes is '%.100s', expected two names A,B: B is the positive class", asked);
    snprintf(first, sizeof first, "%.*s", (int)(comma - asked), asked);
    CLI_TRY(qsvm_set_label(name[0], first, "--classes", 0));
    CLI_TRY(qsvm_set_label(name[1], comma + 1, "--classes", 1));
    if (!strcmp(name[0], name[1])) return cli_fail(LT_ERR_ARGUMENT, "--classes names '%s' twice", name[0]);
    for (int i = 0; i < 2; i++)
        if (!has_label(r, name[i])) return cli_fail(LT_ERR_ARGUMENT, "--classes names '%s', which is the label of no row", name[i]);
    return LT_OK;
}

typedef struct found_class { qsvm_name name; int64_t row; } found_class; /* row: the first of it */

static int by_name(const void *a, const void *b) { return by_value(((const found_class *)a)->name, ((const found_class *)b)->name); }

/* The first classes that occur, at most `room`. */
static int find_classes(const qsvm_rows *r, found_class *found, int room)
{
    int n = 0;
    for (int64_t i = 0; i < r->n && n < room; i++) {
        int k = 0;
        while (k < n && strcmp(found[k].name, r->label[i])) k++;
        if (k < n) continue;
        memcpy(found[n].name, r->label[i], sizeof found[n].name);
        found[n++].row = i;
    }
    return n;
}

static lt_status too_many_classes(const found_class *found, int n, bool more)
{
    char list[1024];
    size_t used = 0;
    for (int k = 0; k < n && used < sizeof list; k++)
        used += (size_t)snprintf(list + used, sizeof list - used, "%s'%s' in row %lld", k ? ", " : "", found[k].name, (long long)found[k].row);
    return cli_fail(LT_ERR_ARGUMENT, "labels hold %s%d classes, first met as %s%s (rows counted from 0): name two of them, as in --classes %s,%s; rows of others are left out then",
                    more ? "more than " : "", n, list, more ? ", ..." : "", found[0].name, found[1].name);
}

lt_status qsvm_classes(const qsvm_rows *r, const char *asked, qsvm_name name[2])
{
    enum { SHOWN = 8 };
    if (asked) return named_classes(r, asked, name);
    found_class found[SHOWN + 1];
    int n = find_classes(r, found, SHOWN + 1);
    if (n == 1) return cli_fail(LT_ERR_ARGUMENT, "all %lld labels are '%s': a machine needs rows of two classes", (long long)r->n, found[0].name);
    bool more = n > SHOWN;
    if (more) n = SHOWN;
    qsort(found, (size_t)n, sizeof found[0], by_name);
    if (n > 2) return too_many_classes(found, n, more);
    for (int k = 0; k < 2; k++) memcpy(name[k], found[k].name, sizeof name[k]);
    return LT_OK;
}

/* ---- rows of the classes ---- */

/* Row i takes the place of row `to`. */
static void move_row(qsvm_rows *r, int64_t to, int64_t i)
{
    if (to == i) return;
    memcpy(r->x + to * r->n_features, r->x + i * r->n_features, (size_t)r->n_features * sizeof *r->x);
    memcpy(r->label[to], r->label[i], sizeof r->label[0]);
    r->y[to] = r->y[i];
}

lt_status qsvm_rows_classify(qsvm_rows *r, const qsvm_name name[2], bool keep_all)
{
    int64_t kept = 0;
    r->y = malloc((size_t)r->n);
    if (!r->y) return cli_fail(LT_ERR_MEMORY, "no memory for labels");
    for (int64_t i = 0; i < r->n; i++) {
        bool first = !strcmp(r->label[i], name[0]), second = !strcmp(r->label[i], name[1]);
        if (!first && !second && keep_all)
            return cli_fail(LT_ERR_ARGUMENT, "the label of row %lld (counted from 0) is '%s', expected '%s' or '%s'", (long long)i, r->label[i], name[0], name[1]);
        if (!first && !second) continue;
        r->y[i] = second;
        move_row(r, kept++, i);
    }
    if (kept == 0) return cli_fail(LT_ERR_ARGUMENT, "no row is of class '%s' or '%s'", name[0], name[1]);
    r->n_left_out = r->n - kept;
    r->n = kept;
    return LT_OK;
}

/* ---- a part for tests ---- */

static void mark_share(const qsvm_rows *r, double share, uint64_t seed, int64_t *order, bool *is_test)
{
    lt_rng g = { lt_draws_make(seed, "qsvm split", 0, 0, 0), 0 };
    for (int c = 0; c < 2; c++) {
        int64_t count = 0;
        for (int64_t i = 0; i < r->n; i++)
            if (r->y[i] == c) order[count++] = i;
        int64_t take = (int64_t)(share * (double)count + 0.5);
        for (int64_t k = 0; k < take; k++) { /* the first of a shuffle */
            int64_t other = k + (int64_t)lt_rng_below(&g, (uint64_t)(count - k)), t = order[k];
            order[k] = order[other];
            order[other] = t;
            is_test[order[k]] = true;
        }
    }
}

lt_status qsvm_rows_split(qsvm_rows *r, double share, uint64_t seed, qsvm_rows *test)
{
    int64_t *order = malloc((size_t)r->n * sizeof *order), n = 0, kept = 0;
    bool *is_test = calloc((size_t)r->n, sizeof *is_test);
    *test = (qsvm_rows){ .n_features = r->n_features };
    if (order && is_test) mark_share(r, share, seed, order, is_test);
    for (int64_t i = 0; is_test && i < r->n; i++) n += is_test[i];
    test->x = malloc((size_t)(n * r->n_features + 1) * sizeof *test->x);
    test->y = malloc((size_t)n + 1);
    test->label = calloc((size_t)n + 1, sizeof *test->label);
    bool ok = order && is_test && test->x && test->y && test->label;
    for (int64_t i = 0; ok && i < r->n; i++) {
        if (!is_test[i]) {
            move_row(r, kept++, i);
            continue;
        }
        memcpy(test->x + test->n * r->n_features, r->x + i * r->n_features, (size_t)r->n_features * sizeof *r->x);
        memcpy(test->label[test->n], r->label[i], sizeof r->label[0]);
        test->y[test->n++] = r->y[i];
    }
    free(order);
    free(is_test);
    if (!ok) return cli_fail(LT_ERR_MEMORY, "no memory to hold rows out");
    r->n = kept;
    return LT_OK;
}
