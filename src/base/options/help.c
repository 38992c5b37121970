/* The help page of an option table. SPDX-License-Identifier: BSD-3-Clause */
#include "base/options.h"
#include "base/status.h"

#include <string.h>

enum { HELP_COLUMN = 30, WIDTH = 96 };

static bool on_by_default(const lt_option *row)
{
    return row->type == LT_OPTION_TYPE_BOOL && row->default_text && !strcmp(row->default_text, "true");
}

/* "  -o, --out F.npy", cut to the buffer; returns its length. */
static int flag_text(const lt_option *row, char *text, size_t bytes)
{
    char letter[8] = "    ";
    if (row->letter) snprintf(letter, sizeof letter, "-%c, ", row->letter);
    const char *value = row->metavar ? row->metavar : row->type == LT_OPTION_TYPE_ENUM ? "NAME" : "";
    int n = snprintf(text, bytes, "  %s--%s%s%s%s", letter, on_by_default(row) ? "[no-]" : "", row->name, *value ? " " : "", value);
    return LT_MIN(n, (int)bytes - 1);
}

/* The text in words, broken before WIDTH and continued at HELP_COLUMN; `at` is the column. */
static void wrap(FILE *to, const char *text, int at)
{
    while (*text) {
        int n = (int)strcspn(text, " ");
        if (at > HELP_COLUMN && at + 1 + n > WIDTH) at = fprintf(to, "\n%*s", HELP_COLUMN, "") - 1;
        else if (at > HELP_COLUMN) at += fprintf(to, " ");
        at += fprintf(to, "%.*s", n, text);
        text += n;
        text += strspn(text, " ");
    }
}

/* The help phrase, then what is accepted and the default where they say something new. */
static void describe(const lt_option *row, char *text, size_t bytes)
{
    char expected[256] = "";
    bool number = row->type == LT_OPTION_TYPE_INT || row->type == LT_OPTION_TYPE_REAL;
    if (row->type == LT_OPTION_TYPE_ENUM || (number && row->range.limited))
        lt_option_expects(row, expected, sizeof expected);
    if (row->type == LT_OPTION_TYPE_LIST) snprintf(expected, sizeof expected, "may be given several times");
    const struct { const char *before, *text; } part[] = {
        { "", *expected ? expected : NULL },
        { "default ", on_by_default(row) ? "on" : row->type != LT_OPTION_TYPE_BOOL ? row->default_text : NULL },
        { "also called ", row->alias },
    };
    size_t used = (size_t)snprintf(text, bytes, "%s", row->help);
    const char *open = " (";
    for (size_t i = 0; i < LT_LEN(part) && used < bytes; i++) {
        if (!part[i].text) continue;
        used += (size_t)snprintf(text + used, bytes - used, "%s%s%s", open, part[i].before, part[i].text);
        open = "; ";
    }
    if (*open == ';' && used < bytes) snprintf(text + used, bytes - used, ")");
}

static void print_row(const lt_option *row, FILE *to)
{
    char flags[128], text[768];
    int n = flag_text(row, flags, sizeof flags);
    fputs(flags, to);
    if (n >= HELP_COLUMN) fprintf(to, "\n%*s", HELP_COLUMN, "");
    else fprintf(to, "%*s", HELP_COLUMN - n, "");
    describe(row, text, sizeof text);
    wrap(to, text, HELP_COLUMN);
    fputc('\n', to);
}

void lt_options_help(const lt_option_table *t, FILE *to)
{
    fprintf(to, "usage: %s [options]%s%s\n", t->program, t->operands ? " " : "", t->operands ? t->operands : "");
    if (t->summary) fprintf(to, "\n%s\n", t->summary);
    for (int g = 0; g < t->n_groups; g++) {
        const lt_option_group *group = &t->groups[g];
        fprintf(to, "\n%s:\n", group->title ? group->title : "Options");
        const lt_option *row;
        for (int i = 0; (row = lt_option_group_row(group, i)); i++)
            if (!row->hidden) print_row(row, to);
    }
    fprintf(to, "\n  -h, --help%*sshow this page\n", HELP_COLUMN - 12, "");
    if (t->example) fprintf(to, "\nExample:\n  %s\n", t->example);
}
