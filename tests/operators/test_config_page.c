/* docs/dataset-config.md lists exactly the keys there are: its tables are made from the schema here and
   compared. On a difference the tables as they should be are left in dataset-config-tables.md.
   SPDX-License-Identifier: BSD-3-Clause */
#include "lt_test.h"

#include "operators/config/keys.h"
#include "operators/fields/types.h"

#include <stdarg.h>

static char made[100000], page[100000];
static size_t used;

static void put(const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    used += (size_t)vsnprintf(made + used, sizeof made - used, format, ap);
    va_end(ap);
}

/* Markdown cells end at a bar. */
static void put_cell(const char *text)
{
    for (; *text; text++) put(*text == '|' ? "\\|" : "%c", *text);
}

static void put_option(const lt_option *o, const char *remark)
{
    char expects[512] = "a value";
    if (o->names || o->type != LT_OPTION_TYPE_STRING) lt_option_expects(o, expects, sizeof expects);
    put("| `%s` | ", o->name);
    put_cell(expects);
    put(" | %s%s%s | ", o->default_text && *o->default_text ? "`" : "", o->default_text ? o->default_text : "", o->default_text && *o->default_text ? "`" : "");
    put_cell(o->help);
    put("%s |\n", remark);
}

static void put_keys(void)
{
    lt_schema s = lt_config_schema();
    put("| key | value | default | meaning |\n| --- | --- | --- | --- |\n");
    for (int i = 0; i < s.n_rows; i++) {
        const lt_schema_row *row = &s.rows[i];
        const char *required = row->flags & LT_KEY_REQUIRED ? " (required)" : "";
        if (row->flags & (LT_KEY_SECTION | LT_KEY_OPEN | LT_KEY_STRICT))
            put("| **`%s`** | a mapping%s | | %s%s |\n", row->option.name, row->flags & LT_KEY_STRICT ? ", unknown keys are errors" : "", row->option.help, required);
        else put_option(&row->option, required);
    }
}

/* Keys without effect: the meaning they had, and why it is not followed. */
static void put_unused(void)
{
    put("\n| key | value | meaning | why it has no effect |\n| --- | --- | --- | --- |\n");
    for (int i = 0; i < lt_accepted_unused_count; i++) {
        const lt_option *o = &lt_accepted_unused[i].option;
        char expects[512] = "a value";
        if (o->type != LT_OPTION_TYPE_STRING) lt_option_expects(o, expects, sizeof expects);
        put("| `%s` | ", o->name);
        put_cell(expects);
        put(" | %s | %s |\n", o->help, lt_accepted_unused[i].why);
    }
}

static void put_default(const lt_field_param *p)
{
    if (!p->n_defaults) put("null");
    for (int i = 0; i < p->n_defaults; i++) {
        if (i) put(", ");
        if (p->names) put("%s", p->names[(int)p->defaults[i]]);
        else put("%g", p->defaults[i]);
    }
    if (p->kind == LT_FIELD_NAME) {
        put(" (");
        for (int i = 1; p->names[i]; i++) put("%s%s", i > 1 ? ", " : "", p->names[i]);
        put(")");
    }
}

static void put_types(void)
{
    put("\n| type | tier | parameters and their defaults |\n| --- | --- | --- |\n");
    for (int t = 0; t < LT_FIELD_TYPE_COUNT; t++) {
        put("| `%s` | %s | ", lt_field_types[t].name, lt_field_tier_names[lt_field_types[t].tier]);
        for (int i = 0; i < lt_field_types[t].n_params; i++) {
            put("%s`%s` ", i ? "; " : "", lt_field_types[t].params[i].name);
            put_default(&lt_field_types[t].params[i]);
        }
        put(" |\n");
    }
}

LT_TEST(the_page_is_that_of_the_schema)
{
    put_keys();
    put_unused();
    put_types();
    LT_CHECK(used < sizeof made - 1);
    FILE *f = fopen(LT_CONFIG_PAGE, "rb");
    LT_CHECK(f != NULL);
    if (!f) return;
    page[fread(page, 1, sizeof page - 1, f)] = 0;
    fclose(f);
    const char *begin = strstr(page, "| key | value | default | meaning |");
    if (begin && !strncmp(begin, made, used)) return;
    LT_TEST_FAIL("the tables of docs/dataset-config.md are not those of the schema: see dataset-config-tables.md here");
    f = fopen("dataset-config-tables.md", "wb");
    if (f) {
        fwrite(made, 1, used, f);
        fclose(f);
    }
}

LT_TEST_MAIN()
