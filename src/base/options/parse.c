/* Command-line arguments read through an option table, and suggestions for misspelt names.
   SPDX-License-Identifier: BSD-3-Clause */
#include "base/options.h"
#include "base/status.h"

#include <ctype.h>
#include <string.h>

/* ---- Nearest names ---------------------------------------------------------------- */
enum { LONGEST_WORD = 63 };

static char lower(char c) { return (char)tolower((unsigned char)c); }

/* Insertions, deletions, replacements and swaps of neighbours that turn a into b; capitals count as their letters. */
static int edit_distance(const char *a, const char *b)
{
    int row[3][LONGEST_WORD + 1];
    int n_a = (int)strlen(a), n_b = (int)strlen(b);
    for (int j = 0; j <= n_b; j++) row[0][j] = j;
    for (int i = 1; i <= n_a; i++) {
        int *now = row[i % 3], *up = row[(i + 2) % 3], *up2 = row[(i + 1) % 3];
        now[0] = i;
        for (int j = 1; j <= n_b; j++) {
            int best = up[j - 1] + (lower(a[i - 1]) != lower(b[j - 1]));
            best = LT_MIN(best, LT_MIN(up[j], now[j - 1]) + 1);
            if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) && lower(a[i - 2]) == lower(b[j - 1])) best = LT_MIN(best, up2[j - 2] + 1);
            now[j] = best;
        }
    }
    return row[n_a % 3][n_b];
}

/* Whether `word` is one of the words that make up `name`: "tol" of "opt_tol". */
static bool is_part(const char *word, const char *name)
{
    size_t n = strlen(word);
    for (const char *at = name; *at; at += strcspn(at, "-_"), at += strspn(at, "-_"))
        if (strcspn(at, "-_") == n && !strncmp(at, word, n)) return true;
    return false;
}

/* Updates *best with `name` when it is nearer to `word` and near enough to be meant. */
static void consider(const char *word, const char *name, const char **best, int *best_distance)
{
    size_t n_word = strlen(word), n_name = strlen(name);
    if (n_word > LONGEST_WORD || n_name > LONGEST_WORD) return;
    int distance = edit_distance(word, name), limit = LT_MAX(1, (int)LT_MAX(n_word, n_name) / 3);
    if (n_word >= 3 && !strncmp(word, name, n_word)) distance = 1; /* the beginning of a longer name */
    bool longer = n_name >= 4 && !strncmp(word, name, n_name); /* "opt_tolerance" for "opt_tol" */
    if (distance > limit && ((n_word >= 3 && is_part(word, name)) || longer)) distance = limit;
    if (distance <= limit && (!*best || distance < *best_distance)) {
        *best = name;
        *best_distance = distance;
    }
}

const char *lt_text_nearest(const char *word, const char *const *names, int n_names)
{
    const char *best = NULL;
    int distance = 0;
    for (int i = 0; i < n_names; i++) consider(word, names[i], &best, &distance);
    return best;
}

lt_status lt_option_unknown(const lt_option_table *t, const char *name)
{
    const char *best = NULL;
    int distance = 0;
    const lt_option *row;
    for (int g = 0; g < t->n_groups; g++)
        for (int i = 0; (row = lt_option_group_row(&t->groups[g], i)); i++) {
            if (!row->hidden) consider(name, row->name, &best, &distance);
            if (!row->hidden && row->alias) consider(name, row->alias, &best, &distance);
        }
    lt_status s = best ? LT_FAIL(LT_ERR_ARGUMENT, "unknown option '%.100s': did you mean '%s'?", name, best)
                       : LT_FAIL(LT_ERR_ARGUMENT, "unknown option '%.100s': see %s for those there are", name, t->listed_by ? t->listed_by : "--help");
    return lt_place_option(s, name);
}

/* ---- Arguments ----------------------------------------------------------------------- */
typedef struct reader {
    const lt_option_table *table;
    int    argc, at;
    char **argv;
    void  *options;
} reader;

static lt_status set_row(reader *r, const lt_option *row, size_t base, const char *value)
{
    return lt_option_set_field(row, value, (char *)r->options + base + row->offset);
}

/* A row that needs a value takes the attached one, or the next argument. */
static lt_status set_with_value(reader *r, const lt_option *row, size_t base, const char *attached)
{
    if (attached) return set_row(r, row, base, attached);
    if (row->type == LT_OPTION_TYPE_BOOL) return set_row(r, row, base, "true");
    if (r->at >= r->argc) {
        char expected[256];
        lt_option_expects(row, expected, sizeof expected);
        return lt_place_option(LT_FAIL(LT_ERR_ARGUMENT, "option '%s' has no value: expected %s", row->name, expected), row->name);
    }
    return set_row(r, row, base, r->argv[r->at++]);
}

static lt_status read_long(reader *r, const char *argument)
{
    char name[LONGEST_WORD + 1];
    const char *equals = strchr(argument, '=');
    size_t length = equals ? (size_t)(equals - argument) : strlen(argument);
    if (length > LONGEST_WORD) return lt_option_unknown(r->table, argument);
    memcpy(name, argument, length);
    name[length] = 0;
    size_t base;
    const lt_option *row = lt_options_find(r->table, name, &base);
    if (row) return set_with_value(r, row, base, equals ? equals + 1 : NULL);
    if (!strncmp(name, "no-", 3)) {
        row = lt_options_find(r->table, name + 3, &base);
        if (row && row->type == LT_OPTION_TYPE_BOOL) {
            if (!equals) return set_row(r, row, base, "false");
            return lt_place_option(LT_FAIL(LT_ERR_ARGUMENT, "option '%s' takes no value, got '%.100s'", name, equals + 1), name);
        }
    }
    return lt_option_unknown(r->table, name);
}

static const lt_option *find_letter(const lt_option_table *t, char letter, size_t *base)
{
    const lt_option *row;
    for (int g = 0; g < t->n_groups; g++)
        for (int i = 0; (row = lt_option_group_row(&t->groups[g], i)); i++)
            if (row->letter == letter) {
                *base = t->groups[g].base;
                return row;
            }
    return NULL;
}

/* "-qv" are two flags; "-ofile" and "-o file" give a value. */
static lt_status read_letters(reader *r, const char *letters)
{
    for (const char *c = letters; *c; c++) {
        size_t base;
        const lt_option *row = find_letter(r->table, *c, &base);
        if (!row) return lt_place_option(LT_FAIL(LT_ERR_ARGUMENT, "unknown option '-%c': see --help for those there are",
                                                 isprint((unsigned char)*c) ? *c : '?'), (char[]){ *c, '\0' });
        bool has_more = c[1] && row->type != LT_OPTION_TYPE_BOOL;
        LT_TRY(set_with_value(r, row, base, has_more ? c + 1 : NULL));
        if (row->type != LT_OPTION_TYPE_BOOL) break;
    }
    return LT_OK;
}

/* A lone "-" is an operand (standard input), and so is a negative number. */
static bool is_option(const char *argument)
{
    return argument[0] == '-' && argument[1] && !isdigit((unsigned char)argument[1]) && argument[1] != '.';
}

static bool asks_help(const lt_option_table *t, const char *argument)
{
    size_t base;
    return !strcmp(argument, "--help") || (!strcmp(argument, "-h") && !find_letter(t, 'h', &base));
}

static lt_status check_operands(const lt_option_table *t, const lt_parsed *p)
{
    if (t->max_operands >= 0 && p->n_operands > t->max_operands)
        return LT_FAIL(LT_ERR_ARGUMENT, "unexpected argument '%.100s': %s takes %s%s", p->operand[t->max_operands],
                       t->program, t->max_operands ? "only " : "no operands",
                       t->max_operands && t->operands ? t->operands : "");
    if (p->n_operands < t->min_operands)
        return LT_FAIL(LT_ERR_ARGUMENT, "%s got %d operands: expected %s", t->program, p->n_operands,
                       t->operands ? t->operands : "more");
    return LT_OK;
}

lt_status lt_options_parse(const lt_option_table *t, int argc, char **argv, void *options, lt_parsed *out)
{
    if (!out) return LT_FAIL(LT_ERR_ARGUMENT, "options: out is NULL");
    *out = (lt_parsed){ .operand = argv };
    LT_TRY(lt_options_defaults(t, options));
    reader r = { .table = t, .argc = argc, .argv = argv, .options = options };
    bool only_operands = false;
    while (r.at < argc) {
        char *argument = argv[r.at++];
        if (only_operands || !is_option(argument)) argv[out->n_operands++] = argument; /* never ahead of r.at */
        else if (!strcmp(argument, "--")) only_operands = true;
        else if (asks_help(t, argument)) {
            out->help = true;
            return LT_OK;
        } else LT_TRY(argument[1] == '-' ? read_long(&r, argument + 2) : read_letters(&r, argument + 1));
    }
    return check_operands(t, out);
}
