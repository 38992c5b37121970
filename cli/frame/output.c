/* Tables and units as the command prints them; what a stored measurement carries along.
   SPDX-License-Identifier: BSD-3-Clause */
#include "cli/frame/cli.h"

#include "commit.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

char cli_command_line[1024];

double cli_plain(double v) { return isnan(v) ? (double)NAN : v; }

cli_text cli_number(double v)
{
    cli_text t;
    lt_double_text(v, t.s);
    return t;
}

cli_line cli_shown(const char *text)
{
    cli_line l;
    snprintf(l.s, sizeof l.s, "%s", text);
    lt_text_disarm(l.s);
    return l;
}

const char *cli_commit(void) { return CLI_COMMIT; }

lt_status cli_table_create(const char *title, int n_columns, const char *const *columns, cli_table **out)
{
    *out = calloc(1, sizeof **out);
    if (!*out) return cli_fail(LT_ERR_MEMORY, "out of memory for a table");
    (*out)->title = title;
    (*out)->n_columns = n_columns;
    for (int j = 0; j < n_columns; j++) (*out)->column[j] = columns[j];
    return LT_OK;
}

void cli_table_destroy(cli_table *t) { free(t); }

void cli_table_row(cli_table *t)
{
    if (t->n_rows < CLI_MAX_ROWS) t->n_rows++;
}

void cli_table_cell(cli_table *t, int column, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    vsnprintf(t->cell[t->n_rows - 1][column], CLI_CELL, format, ap);
    va_end(ap);
}

/* Columns on the screen: bytes that do not continue a UTF-8 character. */
static int text_width(const char *s)
{
    int n = 0;
    for (; *s; s++) n += ((unsigned char)*s & 0xc0) != 0x80;
    return n;
}

static bool is_number(const char *s) { return strspn(s, "+-0123456789.") > 0; }

static void print_cell(FILE *to, const char *text, int width, bool right, bool last)
{
    int pad = width - text_width(text);
    if (right) fprintf(to, "%*s%s", pad, "", text);
    else fprintf(to, "%s%*s", text, last ? 0 : pad, "");
    fputs(last ? "\n" : "  ", to);
}

void cli_table_print(const cli_table *t, FILE *to)
{
    if (t->title) fprintf(to, "%s\n", t->title);
    int width[CLI_MAX_COLUMNS];
    bool right[CLI_MAX_COLUMNS];
    for (int j = 0; j < t->n_columns; j++) {
        width[j] = text_width(t->column[j]);
        right[j] = t->n_rows > 0;
        for (int i = 0; i < t->n_rows; i++) {
            int w = text_width(t->cell[i][j]);
            if (w > width[j]) width[j] = w;
            right[j] = right[j] && (is_number(t->cell[i][j]) || !t->cell[i][j][0]);
        }
    }
    for (int j = 0; j < t->n_columns; j++) print_cell(to, t->column[j], width[j], right[j], j + 1 == t->n_columns);
    for (int i = 0; i < t->n_rows; i++)
        for (int j = 0; j < t->n_columns; j++) print_cell(to, t->cell[i][j], width[j], right[j], j + 1 == t->n_columns);
}

void cli_table_report(const cli_table *t, lt_report *r)
{
    const char *cells[CLI_MAX_ROWS * CLI_MAX_COLUMNS];
    for (int i = 0; i < t->n_rows; i++)
        for (int j = 0; j < t->n_columns; j++) cells[i * t->n_columns + j] = t->cell[i][j];
    lt_report_table(r, t->title, t->n_columns, t->column, t->n_rows, cells);
}

cli_text cli_bytes(double bytes)
{
    static const char *const unit[] = { "B", "KiB", "MiB", "GiB", "TiB" };
    int k = 0;
    while (bytes >= 1024 && k < 4) bytes /= 1024, k++;
    cli_text t;
    snprintf(t.s, sizeof t.s, k == 0 ? "%.0f %s" : "%.2f %s", bytes, unit[k]);
    return t;
}

cli_text cli_seconds(double seconds)
{
    cli_text t;
    if (seconds < 1e-6) snprintf(t.s, sizeof t.s, "%.1f ns", seconds * 1e9);
    else if (seconds < 1e-3) snprintf(t.s, sizeof t.s, "%.2f us", seconds * 1e6);
    else if (seconds < 1) snprintf(t.s, sizeof t.s, "%.2f ms", seconds * 1e3);
    else if (seconds < 600) snprintf(t.s, sizeof t.s, "%.2f s", seconds);
    else if (seconds < 2 * 3600) snprintf(t.s, sizeof t.s, "%.1f min", seconds / 60);
    else if (seconds < 48 * 3600) snprintf(t.s, sizeof t.s, "%.1f h", seconds / 3600);
    else snprintf(t.s, sizeof t.s, "%.1f days", seconds / 86400);
    return t;
}

/* The device in use, or the CPU when the subcommand opened none. */
static void describe_device(cli_context *c, lt_device_info *info)
{
    *info = (lt_device_info){ .size = sizeof *info };
    if (c->device) lt_device_describe(c->device, info);
    else lt_device_list(0, info);
}

lt_status cli_json_machine(cli_context *c)
{
    lt_device_info info = { .size = sizeof info };
    struct utsname os;
    describe_device(c, &info);
    uname(&os);
    lt_json_field_string(c->json, "command_line", cli_command_line);
    lt_json_field_string(c->json, "commit", cli_commit());
    lt_json_key(c->json, "machine");
    lt_json_object_begin(c->json);
    lt_json_field_string(c->json, "device", info.id);
    lt_json_field_string(c->json, "name", info.name);
    lt_json_field_string(c->json, "features", info.features);
    lt_json_field_int(c->json, "cores", info.cores);
    lt_json_field_int(c->json, "memory_bytes", info.memory_total_bytes);
    lt_json_field_string(c->json, "system", os.sysname);
    lt_json_field_string(c->json, "release", os.release);
    lt_json_field_string(c->json, "compiler", lt_build_compiler());
    lt_json_field_string(c->json, "build", lt_build_type());
    lt_json_object_end(c->json);
    return LT_OK;
}

void cli_report_machine(cli_context *c, lt_report *r)
{
    lt_device_info info = { .size = sizeof info };
    describe_device(c, &info);
    char device[200], version[200];
    snprintf(device, sizeof device, "%s: %s, %d cores", info.id, info.name, info.cores);
    snprintf(version, sizeof version, "%s, commit %s, %s, %s", lt_version(), cli_commit(), lt_build_compiler(), lt_build_type());
    const char *names[] = { "Command", "Device", "Library" }, *values[] = { cli_command_line, device, version };
    lt_report_facts(r, 3, names, values);
}

lt_status cli_table_page(cli_context *c, const cli_table *t, const char *title, const char *path)
{
    lt_report *page;
    CLI_TRY(lt_report_create(title, &page));
    cli_report_machine(c, page);
    cli_table_report(t, page);
    lt_status s = lt_report_write(page, path);
    lt_report_destroy(page);
    return s;
}
