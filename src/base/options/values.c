/* Option tables: defaults, checked setting from text, and reading values back.
   SPDX-License-Identifier: BSD-3-Clause */
#include "base/options.h"

#include "base/status.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <locale.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static const char *const type_names[] = {
    [LT_OPTION_TYPE_BOOL] = "bool",
    [LT_OPTION_TYPE_INT] = "integer",
    [LT_OPTION_TYPE_REAL] = "number",
    [LT_OPTION_TYPE_STRING] = "text",
    [LT_OPTION_TYPE_PATH] = "path",
    [LT_OPTION_TYPE_ENUM] = "name",
    [LT_OPTION_TYPE_LIST] = "list",
};
_Static_assert(LT_LEN(type_names) == LT_OPTION_TYPE_COUNT, "one name per option type");

const char *lt_option_type_name(lt_option_type t)
{
    return (unsigned)t < LT_OPTION_TYPE_COUNT ? type_names[t] : "?";
}

/* ---- Numbers ---------------------------------------------------------------- */
/* Always with a decimal point, whatever locale the host program has chosen. */
static locale_t c_locale;
static pthread_once_t c_locale_made = PTHREAD_ONCE_INIT;
static void make_c_locale(void) { c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0); }

bool lt_text_real(const char *text, double *out)
{
    pthread_once(&c_locale_made, make_c_locale);
    if (!*text || isspace((unsigned char)*text)) return false;
    char *end;
    double value = c_locale ? strtod_l(text, &end, c_locale) : strtod(text, &end);
    if (*end || isnan(value)) return false;
    /* A finite text beyond the largest double is a mistake; "inf" is not. */
    if (isinf(value) && !strpbrk(text, "iI")) return false;
    *out = value;
    return true;
}

bool lt_text_int(const char *text, int64_t *out)
{
    if (!isdigit((unsigned char)*text) && *text != '-' && *text != '+') return false;
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (end == text || *end || errno) return false;
    *out = value;
    return true;
}

bool lt_range_holds(const lt_range *r, double v)
{
    if (!r->limited) return isfinite(v);
    return (r->lo_open ? v > r->lo : v >= r->lo) && (r->hi_open ? v < r->hi : v <= r->hi);
}

/* ---- What a row accepts ------------------------------------------------------ */
static void append(char *text, size_t bytes, const char *more)
{
    size_t used = strlen(text);
    if (used + 1 < bytes) snprintf(text + used, bytes - used, "%s", more);
}

static void expects_number(const lt_option *row, char *text, size_t bytes)
{
    const lt_range *r = &row->range;
    const char *noun = row->type == LT_OPTION_TYPE_INT ? "an integer" : "a number";
    if (!r->limited || (isinf(r->lo) && isinf(r->hi))) snprintf(text, bytes, "%s", noun);
    else if (isinf(r->hi) && r->hi_open && isfinite(r->lo))
        snprintf(text, bytes, "%s %s %.15g", noun, r->lo_open ? "above" : "of at least", r->lo);
    else
        snprintf(text, bytes, "%s in %c%.15g, %.15g%c", noun, r->lo_open ? '(' : '[', r->lo, r->hi,
                 r->hi_open ? ')' : ']');
}

void lt_option_expects(const lt_option *row, char *text, size_t bytes)
{
    if (!bytes) return;
    text[0] = 0;
    switch (row->type) {
    case LT_OPTION_TYPE_BOOL: append(text, bytes, "true or false"); break;
    case LT_OPTION_TYPE_INT:
    case LT_OPTION_TYPE_REAL: expects_number(row, text, bytes); break;
    case LT_OPTION_TYPE_ENUM:
        append(text, bytes, "one of ");
        for (int i = 0; lt_option_names(row)[i]; i++) {
            append(text, bytes, i ? ", " : "");
            append(text, bytes, lt_option_names(row)[i]);
        }
        break;
    case LT_OPTION_TYPE_LIST: snprintf(text, bytes, "at most %d texts", LT_TEXT_LIST_MAX); break;
    default: append(text, bytes, row->type == LT_OPTION_TYPE_PATH ? "a path" : "a text"); break;
    }
}

static lt_status refuse(const lt_option *row, const char *value)
{
    char expected[256];
    lt_option_expects(row, expected, sizeof expected);
    return lt_place_option(LT_FAIL(LT_ERR_ARGUMENT, "option '%s' is '%.100s': expected %s", row->name, value, expected), row->name);
}

/* ---- Finding rows -------------------------------------------------------------- */
static bool same_name(const char *a, const char *b)
{
    for (; *a && *b; a++, b++)
        if ((*a == '_' ? '-' : *a) != (*b == '_' ? '-' : *b)) return false;
    return *a == *b;
}

const char *const *lt_option_names(const lt_option *row)
{
    return row->names_of ? row->names_of() : row->names;
}

/* Whether a group takes this row of a library's table: older programs have structs that end before newer fields. */
static bool takes(const lt_option_group *g, const lt_option *row)
{
    return row->offset + row->size <= g->size && !(g->except && same_name(g->except, row->name));
}

const lt_option *lt_option_group_row(const lt_option_group *g, int i)
{
    if (i < 0) return NULL;
    if (!g->table) return i < g->n_rows ? &g->rows[i] : NULL;
    const lt_option_table *t = g->table();
    for (int k = 0; k < t->n_groups; k++)
        for (int j = 0; j < t->groups[k].n_rows; j++)
            if (takes(g, &t->groups[k].rows[j]) && i-- == 0) return &t->groups[k].rows[j];
    return NULL;
}

const lt_option *lt_options_find(const lt_option_table *t, const char *name, size_t *base)
{
    const lt_option *row;
    for (int g = 0; g < t->n_groups; g++)
        for (int i = 0; (row = lt_option_group_row(&t->groups[g], i)); i++)
            if (same_name(row->name, name) || (row->alias && same_name(row->alias, name))) {
                *base = t->groups[g].base;
                return row;
            }
    return NULL;
}

/* ---- Setting ---------------------------------------------------------------------- */
static bool bool_from_text(const char *text, bool *out)
{
    static const char *const yes[] = { "true", "yes", "on", "1" }, *const no[] = { "false", "no", "off", "0" };
    for (size_t i = 0; i < LT_LEN(yes); i++) {
        if (!strcmp(text, yes[i])) return *out = true, true;
        if (!strcmp(text, no[i])) return *out = false, true;
    }
    return false;
}

static lt_status set_int(const lt_option *row, const char *value, void *field)
{
    int64_t v;
    if (!lt_text_int(value, &v) || !lt_range_holds(&row->range, (double)v)) return refuse(row, value);
    if (row->size == sizeof(int64_t)) {
        memcpy(field, &v, sizeof v);
        return LT_OK;
    }
    if (v < INT_MIN || v > INT_MAX)
        return lt_place_option(LT_FAIL(LT_ERR_ARGUMENT, "option '%s' is '%.100s': expected an integer in %d..%d", row->name, value,
                                       INT_MIN, INT_MAX), row->name);
    int narrow = (int)v;
    memcpy(field, &narrow, sizeof narrow);
    return LT_OK;
}

static lt_status set_real(const lt_option *row, const char *value, void *field)
{
    double v;
    if (!lt_text_real(value, &v) || !lt_range_holds(&row->range, v)) return refuse(row, value);
    float narrow = (float)v;
    if (row->size == sizeof v) memcpy(field, &v, sizeof v);
    else memcpy(field, &narrow, sizeof narrow);
    return LT_OK;
}

static lt_status set_enum(const lt_option *row, const char *value, void *field)
{
    const char *const *names = lt_option_names(row);
    int n = 0;
    for (; names[n]; n++)
        if (same_name(names[n], value)) {
            memcpy(field, &n, sizeof n);
            return LT_OK;
        }
    const char *near = lt_text_nearest(value, names, n);
    if (!near) return refuse(row, value);
    char expected[256];
    lt_option_expects(row, expected, sizeof expected);
    return lt_place_option(LT_FAIL(LT_ERR_ARGUMENT, "option '%s' is '%.100s' (did you mean '%s'?): expected %s", row->name, value,
                                   near, expected), row->name);
}

lt_status lt_option_set_field(const lt_option *row, const char *value, void *field)
{
    switch (row->type) {
    case LT_OPTION_TYPE_BOOL: {
        bool v;
        if (!bool_from_text(value, &v)) return refuse(row, value);
        memcpy(field, &v, sizeof v);
        return LT_OK;
    }
    case LT_OPTION_TYPE_INT: return set_int(row, value, field);
    case LT_OPTION_TYPE_REAL: return set_real(row, value, field);
    case LT_OPTION_TYPE_ENUM: return set_enum(row, value, field);
    case LT_OPTION_TYPE_LIST: {
        lt_text_list *list = field;
        if (list->n >= LT_TEXT_LIST_MAX) return refuse(row, value);
        list->item[list->n++] = value;
        return LT_OK;
    }
    default:
        if (row->type == LT_OPTION_TYPE_PATH && !*value) return refuse(row, value);
        memcpy(field, &value, sizeof value);
        return LT_OK;
    }
}

lt_status lt_options_set(const lt_option_table *t, const char *name, const char *value, void *options)
{
    size_t base;
    if (!name || !value) return LT_FAIL(LT_ERR_ARGUMENT, "%s of an option to set is NULL", name ? "value" : "name");
    const lt_option *row = lt_options_find(t, name, &base);
    if (!row) return lt_option_unknown(t, name);
    lt_option called = *row; /* a failure names the option as the caller did */
    if (row->alias && same_name(row->alias, name)) called.name = row->alias;
    return lt_option_set_field(&called, value, (char *)options + base + row->offset);
}

lt_status lt_options_defaults(const lt_option_table *t, void *options)
{
    if (!t || !options) return LT_FAIL(LT_ERR_ARGUMENT, "options: %s is NULL", t ? "the struct" : "the table");
    const lt_option *row;
    for (int g = 0; g < t->n_groups; g++) {
        const lt_option_group *group = &t->groups[g];
        if (group->table) memcpy((char *)options + group->base, &group->size, sizeof group->size);
        for (int i = 0; (row = lt_option_group_row(group, i)); i++) {
            void *field = (char *)options + group->base + row->offset;
            memset(field, 0, row->size);
            if (row->default_text && lt_option_set_field(row, row->default_text, field))
                return LT_FAIL(LT_ERR_INTERNAL, "default of '%s': %s", row->name, lt_error_text());
        }
    }
    return LT_OK;
}

/* ---- Reading back -------------------------------------------------------------------- */
static void real_to_text(double v, char *text, size_t bytes)
{
    char digits[32];
    lt_double_text(v, digits);
    snprintf(text, bytes, "%s", digits);
}

static void list_to_text(const lt_text_list *list, char *text, size_t bytes)
{
    text[0] = 0;
    for (int i = 0; i < list->n; i++) {
        append(text, bytes, i ? "," : "");
        append(text, bytes, list->item[i]);
    }
}

static void field_to_text(const lt_option *row, const char *field, char *text, size_t bytes)
{
    switch (row->type) {
    case LT_OPTION_TYPE_BOOL: snprintf(text, bytes, "%s", *(const bool *)field ? "true" : "false"); break;
    case LT_OPTION_TYPE_INT:
        snprintf(text, bytes, "%" PRId64,
                 row->size == sizeof(int64_t) ? *(const int64_t *)field : (int64_t) * (const int *)field);
        break;
    case LT_OPTION_TYPE_REAL:
        real_to_text(row->size == sizeof(double) ? *(const double *)field : (double)*(const float *)field, text, bytes);
        break;
    case LT_OPTION_TYPE_ENUM: {
        const char *const *names = lt_option_names(row);
        int at = *(const int *)field, n = 0;
        while (names[n]) n++;
        snprintf(text, bytes, "%s", at >= 0 && at < n ? names[at] : "?");
        break;
    }
    case LT_OPTION_TYPE_LIST: list_to_text((const lt_text_list *)field, text, bytes); break;
    default: {
        const char *s = *(const char *const *)field;
        snprintf(text, bytes, "%s", s ? s : "");
    }
    }
}

lt_status lt_options_get(const lt_option_table *t, const char *name, const void *options, char *text, size_t text_bytes)
{
    size_t base;
    if (!name) return LT_FAIL(LT_ERR_ARGUMENT, "name of an option to read is NULL");
    if (!options || (!text && text_bytes)) return LT_FAIL(LT_ERR_ARGUMENT, "options: %s is NULL", options ? "text" : "the struct");
    const lt_option *row = lt_options_find(t, name, &base);
    if (!row) return lt_option_unknown(t, name);
    if (text_bytes) field_to_text(row, (const char *)options + base + row->offset, text, text_bytes);
    return LT_OK;
}
