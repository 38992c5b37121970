/* The page: create, sections, paragraphs, facts, tables, write (decision 9). SPDX-License-Identifier: BSD-3-Clause */
#include "report/markup.h"

#include "base/alloc.h"
#include "base/files/file.h"
#include "base/status.h"

#include <string.h>

extern const char lt_text_page_css[], lt_text_page_css_end[];

lt_status lt_report_create(const char *title, lt_report **out)
{
    if (!out) return LT_FAIL(LT_ERR_ARGUMENT, "report: out is NULL");
    *out = NULL;
    if (!title) return LT_FAIL(LT_ERR_ARGUMENT, "report: the title is NULL");
    lt_report *r = lt_calloc(1, sizeof *r);
    if (!r) return LT_ERR_MEMORY;
    r->title = lt_strdup(title);
    if (!r->title) {
        lt_report_destroy(r);
        return LT_ERR_MEMORY;
    }
    *out = r;
    return LT_OK;
}

void lt_report_destroy(lt_report *r)
{
    if (!r) return;
    lt_markup_release(&r->body);
    lt_free(r->title);
    lt_free(r);
}

void lt_report_fail(lt_report *r, lt_status s)
{
    if (!r->body.status) r->body.status = s;
}

/* ---- Output ------------------------------------------------------------------ */

static void put_page(lt_markup *page, const lt_report *r)
{
    lt_markup_raw(page, "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>");
    lt_markup_text(page, r->title);
    lt_markup_raw(page, "</title>\n<style>\n");
    lt_markup_bytes(page, lt_text_page_css, (size_t)(lt_text_page_css_end - lt_text_page_css));
    lt_markup_raw(page, "</style>\n</head>\n<body>\n<h1>");
    lt_markup_text(page, r->title);
    lt_markup_raw(page, "</h1>\n");
    if (r->body.length) lt_markup_bytes(page, r->body.text, r->body.length);
    lt_markup_raw(page, "<footer>Written by lathe ");
    lt_markup_text(page, lt_version());
    lt_markup_raw(page, ".</footer>\n</body>\n</html>\n");
}

static lt_status finished_page(const lt_report *r, lt_markup *page)
{
    if (r->body.status) return r->body.status;
    put_page(page, r);
    return page->status;
}

lt_status lt_report_write(lt_report *r, const char *path)
{
    if (!r || !path) return LT_FAIL(LT_ERR_ARGUMENT, "report: %s is NULL", r ? "the path" : "the report");
    lt_markup page = { 0 };
    lt_status s = finished_page(r, &page);
    if (!s) s = lt_file_write(path, page.text, page.length);
    lt_markup_release(&page);
    return s;
}

lt_status lt_report_print(lt_report *r, FILE *to)
{
    if (!r || !to) return LT_FAIL(LT_ERR_ARGUMENT, "report: %s is NULL", r ? "the file" : "the report");
    lt_markup page = { 0 };
    lt_status s = finished_page(r, &page);
    if (!s && (fwrite(page.text, 1, page.length, to) != page.length || fflush(to)))
        s = LT_FAIL(LT_ERR_IO, "report: could not write %zu bytes", page.length);
    lt_markup_release(&page);
    return s;
}

/* ---- Text -------------------------------------------------------------------- */

void lt_report_heading(lt_report *r, const char *text)
{
    if (!r) return;
    lt_markup_raw(&r->body, "<h2>");
    lt_markup_text(&r->body, text);
    lt_markup_raw(&r->body, "</h2>\n");
}

void lt_report_paragraph(lt_report *r, const char *format, ...)
{
    if (!r) return;
    char text[4096];
    va_list ap;
    va_start(ap, format);
    int n = vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    if (n < 0 || (size_t)n >= sizeof text) {
        lt_report_fail(r, LT_FAIL(LT_ERR_ARGUMENT, "report: a paragraph of %d bytes, at most %zu", n, sizeof text - 1));
        return;
    }
    lt_markup_raw(&r->body, "<p>");
    lt_markup_text(&r->body, text);
    lt_markup_raw(&r->body, "</p>\n");
}

void lt_report_listing(lt_report *r, const char *text)
{
    if (!r) return;
    lt_markup_raw(&r->body, "<pre>");
    lt_markup_text(&r->body, text);
    lt_markup_raw(&r->body, "</pre>\n");
}

/* ---- Tables ------------------------------------------------------------------ */

void lt_report_facts(lt_report *r, int n, const char *const *names, const char *const *values)
{
    if (!r) return;
    if (n < 0 || (n > 0 && (!names || !values))) {
        lt_report_fail(r, LT_FAIL(LT_ERR_ARGUMENT, "facts: %d rows, expected a name and a value for each", n));
        return;
    }
    lt_markup_raw(&r->body, "<table class=\"facts\">\n");
    for (int i = 0; i < n; i++) {
        lt_markup_raw(&r->body, "<tr><th scope=\"row\">");
        lt_markup_text(&r->body, names[i]);
        lt_markup_raw(&r->body, "</th><td>");
        lt_markup_text(&r->body, values[i]);
        lt_markup_raw(&r->body, "</td></tr>\n");
    }
    lt_markup_raw(&r->body, "</table>\n");
}

/* "12", "-1.5e3 us", "3.1x", "97 %": a number, then at most one short word. */
static bool reads_as_number(const char *cell)
{
    if (!cell || !*cell) return true;     /* empty cells follow their column */
    cell += strspn(cell, "+-<>=~ ");
    size_t digits = strspn(cell, "0123456789.");
    if (!digits) return !strcmp(cell, "nan") || !strcmp(cell, "inf") || !strcmp(cell, "");
    cell += digits;
    if ((*cell == 'e' || *cell == 'E') && strspn(cell + 1, "+-0123456789")) cell += 1 + strspn(cell + 1, "+-0123456789");
    cell += strspn(cell, " ");
    return strcspn(cell, " ") == strlen(cell) && strlen(cell) <= 8;
}

static bool column_is_numeric(int column, int n_columns, int64_t n_rows, const char *const *cells)
{
    bool any = false;
    for (int64_t i = 0; i < n_rows; i++) {
        const char *cell = cells[i * n_columns + column];
        if (!reads_as_number(cell)) return false;
        any = any || (cell && *cell);
    }
    return any;
}

enum { MAX_COLUMNS = 64 };

static void put_row(lt_markup *m, const char *tag, int n, const char *const *cells, const bool *numeric)
{
    lt_markup_raw(m, "<tr>");
    for (int j = 0; j < n; j++) {
        lt_markup_format(m, numeric[j] ? "<%s class=\"number\">" : "<%s>", tag);
        lt_markup_text(m, cells[j]);
        lt_markup_format(m, "</%s>", tag);
    }
    lt_markup_raw(m, "</tr>\n");
}

void lt_report_table(lt_report *r, const char *title, int n_columns, const char *const *columns,
                     int64_t n_rows, const char *const *cells)
{
    if (!r) return;
    if (n_columns < 1 || n_columns > MAX_COLUMNS || !columns || n_rows < 0 || (n_rows > 0 && !cells)) {
        lt_report_fail(r, LT_FAIL(LT_ERR_ARGUMENT, "table of %d columns and %lld rows, expected 1..%d columns with their cells",
                                  n_columns, (long long)n_rows, MAX_COLUMNS));
        return;
    }
    bool numeric[MAX_COLUMNS];
    for (int j = 0; j < n_columns; j++) numeric[j] = column_is_numeric(j, n_columns, n_rows, cells);
    lt_markup *m = &r->body;
    lt_markup_raw(m, "<div class=\"scroll\"><table>\n");
    if (title) {
        lt_markup_raw(m, "<caption>");
        lt_markup_text(m, title);
        lt_markup_raw(m, "</caption>\n");
    }
    lt_markup_raw(m, "<thead>");
    put_row(m, "th", n_columns, columns, numeric);
    lt_markup_raw(m, "</thead>\n<tbody>\n");
    for (int64_t i = 0; i < n_rows; i++) put_row(m, "td", n_columns, cells + i * n_columns, numeric);
    lt_markup_raw(m, "</tbody>\n</table></div>\n");
}
