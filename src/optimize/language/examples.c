/* The built-in examples: files of examples/problems, embedded. SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/language/reader.h"

#include "base/sized.h"
#include "base/status.h"
#include "lathe/options.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#define EMBEDDED(id) extern const char lt_text_##id[], lt_text_##id##_end[];
#define EXAMPLES(row) \
    row("A1", a1_lt) row("A1b", a1b_lt) row("A2", a2_lt) row("A2full", a2full_lt) row("A3", a3_lt) row("B1", b1_lt) \
    row("B2", b2_lt) row("B3", b3_lt) row("B3d2", b3d2_lt) row("C1", c1_lt) row("C2", c2_lt) row("C3", c3_lt) \
    row("D1v", d1v_lt) row("D2v", d2v_lt) row("D3v", d3v_lt)
#define DECLARE(name_, id) EMBEDDED(id)
EXAMPLES(DECLARE)
EMBEDDED(iris100_csv)

typedef struct embedded { const char *name, *text, *end; } embedded;
#define ROW(name_, id) { name_, lt_text_##id, lt_text_##id##_end },
static const embedded examples[] = { EXAMPLES(ROW) };
static const embedded files[] = { { "data/iris100.csv", lt_text_iris100_csv, lt_text_iris100_csv_end } };

int lt_example_count(void) { return (int)LT_LEN(examples); }

/* "# A1: title" is the first line of every example. */
static void read_title(const char *text, char *title, size_t size)
{
    const char *from = strstr(text, ": "), *end = strchr(text, '\n');
    snprintf(title, size, "%.*s", from && end && from < end ? (int)(end - from - 2) : 0, from ? from + 2 : "");
}

bool lt_example_get(int index, lt_example *out)
{
    if (index < 0 || index >= lt_example_count() || !out || LT_CHECK_SIZE(lt_example, out)) return false;
    lt_example e = { .size = sizeof e, .name = examples[index].name, .text = examples[index].text };
    read_title(e.text, e.title, sizeof e.title);
    LT_GIVE(out, &e);
    return true;
}

lt_status lt_example_find(const char *name, lt_example *out)
{
    if (!name || !out) return LT_FAIL(LT_ERR_ARGUMENT, "lt_example_find: %s is NULL", name ? "out" : "name");
    LT_TRY(LT_CHECK_SIZE(lt_example, out));
    const char *names[LT_LEN(examples)];
    for (int i = 0; i < lt_example_count(); i++) {
        names[i] = examples[i].name;
        if (!strcasecmp(name, names[i])) { lt_example_get(i, out); return LT_OK; }
    }
    const char *near = strlen(name) < 60 ? lt_text_nearest(name, names, lt_example_count()) : NULL;
    if (near) return LT_FAIL(LT_ERR_ARGUMENT, "no example '%s'; did you mean '%s'?", name, near);
    return LT_FAIL(LT_ERR_ARGUMENT, "no example '%.60s'; there are A1 to D3v, 'lathe solve --list' names them", name);
}

const char *lt_example_file(const char *name, size_t *n_bytes)
{
    for (size_t i = 0; i < LT_LEN(files); i++)
        if (!strcmp(files[i].name, name)) {
            *n_bytes = (size_t)(files[i].end - files[i].text);
            return files[i].text;
        }
    return NULL;
}
