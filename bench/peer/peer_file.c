/* Reads the timings of another framework, one flat JSON object per file (decision 18). SPDX-License-Identifier: BSD-3-Clause */
#include "bench/peer/peers.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A reader of just the JSON that bench/peers/ writes: objects, arrays, strings without \u, numbers,
   true, false, null. Unknown members are passed over. */
typedef struct reader {
    const char *path, *text, *at;
    int depth;
} reader;

static lt_status bad(const reader *r, const char *expected)
{
    int line = 1;
    for (const char *p = r->text; p < r->at; p++) line += *p == '\n';
    return cli_fail(LT_ERR_FORMAT, "%s:%d: expected %s, got '%.12s'", r->path, line, expected, *r->at ? r->at : "the end");
}

static bool next_is(reader *r, char c)
{
    while (isspace((unsigned char)*r->at)) r->at++;
    if (*r->at != c) return false;
    r->at++;
    return true;
}

static lt_status read_string(reader *r, char *out, size_t capacity)
{
    if (!next_is(r, '"')) return bad(r, "a string");
    size_t n = 0;
    while (*r->at && *r->at != '"') {
        if (*r->at == '\\' && r->at[1]) r->at++;
        if (n + 1 < capacity) out[n++] = *r->at;
        r->at++;
    }
    out[n] = '\0';
    return next_is(r, '"') ? LT_OK : bad(r, "the end of a string");
}

static lt_status skip_value(reader *r);

/* Calls member for each member of the object that begins here. */
static lt_status read_object(reader *r, lt_status (*member)(reader *r, const char *key, void *ctx), void *ctx)
{
    if (!next_is(r, '{')) return bad(r, "an object");
    if (++r->depth > 32) return bad(r, "fewer levels");
    for (bool first = true; !next_is(r, '}'); first = false) {
        char key[64];
        if (!first && !next_is(r, ',')) return bad(r, "',' or '}'");
        CLI_TRY(read_string(r, key, sizeof key));
        if (!next_is(r, ':')) return bad(r, "':'");
        CLI_TRY(member(r, key, ctx));
    }
    r->depth--;
    return LT_OK;
}

static lt_status read_array(reader *r, lt_status (*element)(reader *r, void *ctx), void *ctx)
{
    if (!next_is(r, '[')) return bad(r, "an array");
    if (++r->depth > 32) return bad(r, "fewer levels");
    for (bool first = true; !next_is(r, ']'); first = false) {
        if (!first && !next_is(r, ',')) return bad(r, "',' or ']'");
        CLI_TRY(element(r, ctx));
    }
    r->depth--;
    return LT_OK;
}

static lt_status skip_member(reader *r, const char *key, void *ctx)
{
    (void)key;
    (void)ctx;
    return skip_value(r);
}

static lt_status skip_element(reader *r, void *ctx)
{
    (void)ctx;
    return skip_value(r);
}

static lt_status read_number(reader *r, double *out)
{
    char *end;
    while (isspace((unsigned char)*r->at)) r->at++;
    *out = strtod(r->at, &end);
    if (end == r->at) return bad(r, "a number");
    r->at = end;
    return LT_OK;
}

static lt_status skip_value(reader *r)
{
    static const char *const word[] = { "true", "false", "null" };
    char text[8];
    double number;
    while (isspace((unsigned char)*r->at)) r->at++;
    if (*r->at == '{') return read_object(r, skip_member, NULL);
    if (*r->at == '[') return read_array(r, skip_element, NULL);
    if (*r->at == '"') return read_string(r, text, sizeof text);
    for (int i = 0; i < 3; i++)
        if (!strncmp(r->at, word[i], strlen(word[i]))) {
            r->at += strlen(word[i]);
            return LT_OK;
        }
    return read_number(r, &number);
}

typedef struct numbers { int *n; double *value; } numbers;

static lt_status add_number(reader *r, void *ctx)
{
    const numbers *to = ctx;
    if (*to->n == PEER_MAX_STARTS) return bad(r, "at most 100 numbers");
    return read_number(r, &to->value[(*to->n)++]);
}

/* One number, or an array of them. */
static lt_status read_numbers(reader *r, int *n, double *value)
{
    numbers to = { n, value };
    while (isspace((unsigned char)*r->at)) r->at++;
    return *r->at == '[' ? read_array(r, add_number, &to) : add_number(r, &to);
}

static lt_status row_member(reader *r, const char *key, void *ctx)
{
    peer_file *f = ctx;
    peer_row *row = &f->row[f->n_rows];
    if (!strcmp(key, "name")) return read_string(r, row->name, sizeof row->name);
    if (!strcmp(key, "seconds")) return read_number(r, &row->seconds);
    if (!strcmp(key, "f")) return read_numbers(r, &row->n_f, row->f);
    if (!strcmp(key, "violation")) return read_numbers(r, &row->n_violation, row->violation);
    return skip_value(r);
}

static lt_status read_row(reader *r, void *ctx)
{
    peer_file *f = ctx;
    if (f->n_rows == PEER_MAX_ROWS) return bad(r, "at most 64 rows");
    f->row[f->n_rows].seconds = NAN;
    CLI_TRY(read_object(r, row_member, f));
    if (!f->row[f->n_rows].name[0] || !(f->row[f->n_rows].seconds > 0)) return bad(r, "a row with a name and positive seconds");
    f->n_rows++;
    return LT_OK;
}

static lt_status top_member(reader *r, const char *key, void *ctx)
{
    peer_file *f = ctx;
    if (!strcmp(key, "peer")) return read_string(r, f->peer, sizeof f->peer);
    if (!strcmp(key, "rows")) return read_array(r, read_row, f);
    return skip_value(r);
}

lt_status peer_file_read(const char *path, peer_file *out)
{
    static char text[1 << 20];
    memset(out, 0, sizeof *out);
    FILE *f;
    CLI_TRY(cli_open_input(path, &f));
    size_t n = fread(text, 1, sizeof text - 1, f);
    fclose(f);
    if (n == sizeof text - 1) return cli_fail(LT_ERR_FORMAT, "%s: more than %zu bytes", path, sizeof text - 1);
    text[n] = '\0';
    reader r = { .path = path, .text = text, .at = text };
    CLI_TRY(read_object(&r, top_member, out));
    if (!out->n_rows) return cli_fail(LT_ERR_FORMAT, "%s: no rows; expected {\"peer\": …, \"rows\": [{\"name\": …, \"seconds\": …}]}", path);
    return LT_OK;
}

const peer_row *peer_file_row(const peer_file *f, const char *name)
{
    for (int i = 0; i < f->n_rows; i++)
        if (!strcmp(f->row[i].name, name)) return &f->row[i];
    return NULL;
}

double peer_file_seconds(const peer_file *f, const char *name)
{
    const peer_row *row = peer_file_row(f, name);
    return row ? row->seconds : NAN;
}
