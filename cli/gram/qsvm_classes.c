/* Which classes the rows of `lathe qsvm` are of, and which rows are held out for tests. SPDX-License-Identifier: BSD-3-Clause */
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

static int64_t class_of(const qsvm_classes_of *c, const char *label)
{
    for (int64_t k = 0; k < c->n; k++)
        if (!strcmp(c->name[k], label)) return k;
    return -1;
}

/* "A,B,C", each the label of some row. */
static lt_status named_classes(const qsvm_rows *r, const char *asked, qsvm_classes_of *out)
{
    int64_t most = 1;
    for (const char *c = asked; *c; c++) most += *c == ',';
    out->name = calloc((size_t)most, sizeof *out->name);
    if (!out->name) return cli_fail(LT_ERR_MEMORY, "no memory for the classes");
    for (const char *at = asked; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
        char name[2 * sizeof(qsvm_name)];
        const size_t length = strcspn(at, ",");
        if (length == 0 || length >= sizeof name || most < 2)
            return cli_fail(LT_ERR_ARGUMENT, "--classes is '%.100s', expected two names A,B or more: of two B is the positive class", asked);
        snprintf(name, sizeof name, "%.*s", (int)length, at);
        CLI_TRY(qsvm_set_label(out->name[out->n], name, "--classes", out->n));
        if (class_of(out, out->name[out->n]) >= 0) return cli_fail(LT_ERR_ARGUMENT, "--classes names '%s' twice", out->name[out->n]);
        if (!has_label(r, out->name[out->n])) return cli_fail(LT_ERR_ARGUMENT, "--classes names '%s', which is the label of no row", out->name[out->n]);
        out->n++;
    }
    return LT_OK;
}

static int by_text(const void *a, const void *b) { return strcmp(*(const char *const *)a, *(const char *const *)b); }

/* All labels in order, each once. */
static lt_status find_classes(const qsvm_rows *r, qsvm_classes_of *out)
{
    const char **label = malloc((size_t)r->n * sizeof *label);
    int64_t n = 0;
    if (!label) return cli_fail(LT_ERR_MEMORY, "no memory for the classes");
    for (int64_t i = 0; i < r->n; i++) label[i] = r->label[i];
    qsort(label, (size_t)r->n, sizeof *label, by_text);
    for (int64_t i = 0; i < r->n; i++)
        if (i == 0 || strcmp(label[i], label[i - 1])) label[n++] = label[i];
    out->name = calloc((size_t)n, sizeof *out->name);
    for (int64_t k = 0; out->name && k < n; k++) memcpy(out->name[k], label[k], sizeof out->name[k]);
    free(label);
    if (!out->name) return cli_fail(LT_ERR_MEMORY, "no memory for the classes");
    out->n = n;
    qsort(out->name, (size_t)n, sizeof *out->name, by_value);
    return LT_OK;
}

lt_status qsvm_classes(const qsvm_rows *r, const char *asked, qsvm_classes_of *out)
{
    *out = (qsvm_classes_of){ 0 };
    if (asked) return named_classes(r, asked, out);
    CLI_TRY(find_classes(r, out));
    if (out->n == 1) return cli_fail(LT_ERR_ARGUMENT, "all %lld labels are '%s': a machine needs rows of two classes", (long long)r->n, out->name[0]);
    if (out->n > LT_QSVM_MAX_CLASSES)
        return cli_fail(LT_ERR_ARGUMENT, "the labels of %lld rows are %lld different ones ('%s', '%s', '%s', ...), expected at most %d classes: numbers are learnt by --task regress, "
                        "and --classes A,B keeps some", (long long)r->n, (long long)out->n, out->name[0], out->name[1], out->name[2], LT_QSVM_MAX_CLASSES);
    return LT_OK;
}

/* ---- rows of the classes ---- */

/* Row i takes the place of row `to`. */
static void move_row(qsvm_rows *r, int64_t to, int64_t i)
{
    if (to == i) return;
    memcpy(r->x + to * r->n_features, r->x + i * r->n_features, (size_t)r->n_features * sizeof *r->x);
    if (r->label) memcpy(r->label[to], r->label[i], sizeof r->label[0]);
    if (r->y) r->y[to] = r->y[i];
    if (r->value) r->value[to] = r->value[i];
    if (r->weight) r->weight[to] = r->weight[i];
}

static lt_status unknown_class(const char *label, int64_t row, const qsvm_classes_of *c)
{
    char list[400];
    size_t used = 0;
    for (int64_t k = 0; k < c->n && used < sizeof list - 80; k++)
        used += (size_t)snprintf(list + used, sizeof list - used, "%s'%s'", k == 0 ? "" : k + 1 == c->n ? " or " : ", ", c->name[k]);
    if (used >= sizeof list - 80) snprintf(list + sizeof list - 80, 80, ", ...");
    return cli_fail(LT_ERR_ARGUMENT, "the label of row %lld (counted from 0) is '%s', expected %s", (long long)row, label, list);
}

lt_status qsvm_rows_classify(qsvm_rows *r, const qsvm_classes_of *classes, bool keep_all)
{
    int64_t kept = 0;
    r->y = malloc((size_t)r->n * sizeof *r->y);
    if (!r->y) return cli_fail(LT_ERR_MEMORY, "no memory for labels");
    for (int64_t i = 0; i < r->n; i++) {
        const int64_t c = class_of(classes, r->label[i]);
        if (c < 0 && keep_all) return unknown_class(r->label[i], i, classes);
        if (c < 0) continue;
        r->y[i] = (int32_t)c;
        move_row(r, kept++, i);
    }
    if (kept == 0) return cli_fail(LT_ERR_ARGUMENT, "no row is of class '%s' or '%s'", classes->name[0], classes->name[1]);
    r->n_left_out = r->n - kept;
    r->n = kept;
    return LT_OK;
}

lt_status qsvm_rows_measure(qsvm_rows *r, const char *path)
{
    r->value = malloc((size_t)r->n * sizeof *r->value);
    if (!r->value) return cli_fail(LT_ERR_MEMORY, "no memory for values");
    for (int64_t i = 0; i < r->n; i++)
        if (!qsvm_is_number(r->label[i], &r->value[i]))
            return cli_fail(LT_ERR_ARGUMENT, "%s: the value of row %lld (counted from 0) is '%s', expected a number: --task regress learns numbers",
                            path, (long long)i, r->label[i]);
    return LT_OK;
}

/* ---- a part for tests ---- */

static void mark_share(const qsvm_rows *r, double share, uint64_t seed, int64_t n_classes, int64_t *order, bool *is_test)
{
    lt_rng g = { lt_draws_make(seed, "qsvm split", 0, 0, 0), 0 };
    for (int64_t c = 0; c < (n_classes ? n_classes : 1); c++) {
        int64_t count = 0;
        for (int64_t i = 0; i < r->n; i++)
            if (!n_classes || r->y[i] == c) order[count++] = i;
        int64_t take = (int64_t)(share * (double)count + 0.5);
        for (int64_t k = 0; k < take; k++) { /* the first of a shuffle */
            int64_t other = k + (int64_t)lt_rng_below(&g, (uint64_t)(count - k)), t = order[k];
            order[k] = order[other];
            order[other] = t;
            is_test[order[k]] = true;
        }
    }
}

/* Room for n rows with what r has of each. */
static bool make_like(const qsvm_rows *r, int64_t n, qsvm_rows *out)
{
    const size_t room = (size_t)n + 1;
    *out = (qsvm_rows){ .n_features = r->n_features };
    out->x = malloc((size_t)(n * r->n_features + 1) * sizeof *out->x);
    if (r->y) out->y = malloc(room * sizeof *out->y);
    if (r->label) out->label = calloc(room, sizeof *out->label);
    if (r->value) out->value = malloc(room * sizeof *out->value);
    if (r->weight) out->weight = malloc(room * sizeof *out->weight);
    return out->x && (!r->y || out->y) && (!r->label || out->label) && (!r->value || out->value) && (!r->weight || out->weight);
}

static void copy_row(const qsvm_rows *r, int64_t i, qsvm_rows *to)
{
    memcpy(to->x + to->n * r->n_features, r->x + i * r->n_features, (size_t)r->n_features * sizeof *r->x);
    if (r->label) memcpy(to->label[to->n], r->label[i], sizeof r->label[0]);
    if (r->y) to->y[to->n] = r->y[i];
    if (r->value) to->value[to->n] = r->value[i];
    if (r->weight) to->weight[to->n] = r->weight[i];
    to->n++;
}

lt_status qsvm_rows_split(qsvm_rows *r, double share, uint64_t seed, int64_t n_classes, qsvm_rows *test)
{
    int64_t *order = malloc((size_t)r->n * sizeof *order), n = 0, kept = 0;
    bool *is_test = calloc((size_t)r->n, sizeof *is_test);
    if (order && is_test) mark_share(r, share, seed, n_classes, order, is_test);
    for (int64_t i = 0; is_test && i < r->n; i++) n += is_test[i];
    bool ok = order && is_test && make_like(r, n, test);
    for (int64_t i = 0; ok && i < r->n; i++) {
        if (is_test[i]) copy_row(r, i, test);
        else move_row(r, kept++, i);
    }
    free(order);
    free(is_test);
    if (!ok) return cli_fail(LT_ERR_MEMORY, "no memory to hold rows out");
    r->n = kept;
    return LT_OK;
}
