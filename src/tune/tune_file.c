/* The tuning file: a line that says whose it is, then one line per problem. Refused whole when
   anything in it is not as written here. SPDX-License-Identifier: BSD-3-Clause

       lathe-tune 1 device="cuda NVIDIA H200 sm_90" driver=580.95 nvrtc=13.0 kernels=9f2c41d7
       matmul f32 m=1024 n=1024 k=64 : matmul_tiled TM=128 TN=64 TK=16 : 11.8 us
*/
#include "tune/tune_table.h"

#include "base/alloc.h"
#include "base/files/file.h"
#include "base/status.h"
#include "lathe/json.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Reading ---------------------------------------------------------------------------------- */
/* Digits, at most one point, an exponent: what lt_double_text writes. strtod alone would take
   hexadecimal, "nan", leading spaces and the locale's point. */
static bool parse_time(const char *text, double *out)
{
    const char *p = text;
    double value = 0;
    int scale = 0, digits = 0, exponent = 0;
    for (; isdigit((unsigned char)*p); p++, digits++) value = value * 10 + (*p - '0');
    if (*p == '.')
        for (p++; isdigit((unsigned char)*p); p++, digits++, scale++) value = value * 10 + (*p - '0');
    if (!digits || digits > 30) return false;
    if (*p == 'e') {
        bool minus = p[1] == '-';
        p += p[1] == '-' || p[1] == '+' ? 2 : 1;
        if (!isdigit((unsigned char)*p)) return false;
        for (; isdigit((unsigned char)*p) && exponent < 1000; p++) exponent = exponent * 10 + (*p - '0');
        if (minus) exponent = -exponent;
    }
    if (*p) return false;
    exponent -= scale;
    for (; exponent > 0 && value < 1e300; exponent--) value *= 10;
    for (; exponent < 0 && value > 0; exponent++) value /= 10;
    *out = value;
    return lt_tune_time_ok(value);
}

/* Cuts text at the first " : "; returns what follows, or NULL. */
static char *cut(char *text)
{
    char *at = strstr(text, " : ");
    if (!at) return NULL;
    *at = 0;
    return at + 3;
}

static lt_status parse_line(char *line, int64_t number, const char *path, lt_tune_table *out)
{
    char *choice = cut(line), *time = choice ? cut(choice) : NULL;
    if (!time)
        return LT_FAIL(LT_ERR_FORMAT, "%s:%lld: expected 'problem : choice : time us', got '%.60s'", path, (long long)number, line);
    if (!lt_tune_text_ok(line) || !lt_tune_text_ok(choice))
        return LT_FAIL(LT_ERR_FORMAT, "%s:%lld: problem or choice is empty, too long or not plain text", path, (long long)number);
    size_t n = strlen(time);
    double us = 0;
    bool unit = n > 3 && strcmp(time + n - 3, " us") == 0;
    if (unit) time[n - 3] = 0;
    if (!unit || !parse_time(time, &us))
        return LT_FAIL(LT_ERR_FORMAT, "%s:%lld: time '%.40s' is not a positive number of 'us'", path, (long long)number, time);
    if (lt_tune_table_find(out, line))
        return LT_FAIL(LT_ERR_FORMAT, "%s:%lld: problem '%.80s' is there twice", path, (long long)number, line);
    if (out->n == LT_TUNE_ENTRIES_MAX)
        return LT_FAIL(LT_ERR_FORMAT, "%s:%lld: more than %d problems", path, (long long)number, LT_TUNE_ENTRIES_MAX);
    return lt_tune_table_put(out, line, choice, us, false);
}

static lt_status parse_lines(char *text, size_t bytes, const char *header, const char *path, lt_tune_table *out)
{
    char *end = text + bytes;
    for (int64_t number = 1; text < end; number++) {
        char *stop = memchr(text, '\n', (size_t)(end - text));
        if (!stop) return LT_FAIL(LT_ERR_FORMAT, "%s:%lld: the last line is cut off", path, (long long)number);
        *stop = 0;
        if (strlen(text) != (size_t)(stop - text)) return LT_FAIL(LT_ERR_FORMAT, "%s:%lld: a zero byte", path, (long long)number);
        if (number > 1) LT_TRY(parse_line(text, number, path, out));
        else if (strcmp(text, header))
            return LT_FAIL(LT_ERR_FORMAT, "%s: made for another device, driver or kernel list: '%.160s', expected '%s'", path, text, header);
        text = stop + 1;
    }
    return LT_OK;
}

lt_status lt_tune_parse(const char *text, size_t bytes, const char *header, const char *path, lt_tune_table *out)
{
    *out = (lt_tune_table){ NULL, 0, 0, NULL, 0 };
    if (!bytes) return LT_FAIL(LT_ERR_FORMAT, "%s: the file is empty, expected '%s'", path, header);
    char *copy = lt_malloc(bytes + 1);
    if (!copy) return LT_FAIL(LT_ERR_MEMORY, "%s: %zu bytes to read it", path, bytes);
    memcpy(copy, text, bytes);
    copy[bytes] = 0;
    lt_status s = parse_lines(copy, bytes, header, path, out);
    lt_free(copy);
    if (s) lt_tune_table_release(out);
    return s;
}

lt_status lt_tune_read(const char *path, const char *header, lt_tune_table *out)
{
    char *text;
    size_t bytes;
    *out = (lt_tune_table){ NULL, 0, 0, NULL, 0 };
    LT_TRY(lt_file_read(path, LT_TUNE_FILE_MAX_BYTES, &text, &bytes));
    lt_status s = lt_tune_parse(text, bytes, header, path, out);
    lt_free(text);
    return s;
}

/* ---- Writing ------------------------------------------------------------------------------------ */
static lt_status write_lines(lt_atomic_file *f, const char *header, const lt_tune_table *t)
{
    char line[2 * LT_TUNE_TEXT_MAX + LT_TUNE_HEADER_MAX], digits[32];
    int n = snprintf(line, sizeof line, "%s\n", header);
    LT_TRY(lt_atomic_write(f, line, (size_t)n));
    for (int64_t i = 0; i < t->n; i++) {
        lt_double_text(t->item[i].time_us, digits);
        n = snprintf(line, sizeof line, "%s : %s : %s us\n", t->item[i].problem, t->item[i].choice, digits);
        LT_TRY(lt_atomic_write(f, line, (size_t)n));
    }
    return LT_OK;
}

lt_status lt_tune_write(const char *path, const char *header, const lt_tune_table *t)
{
    lt_atomic_file f = { .fd = -1 };
    LT_TRY(lt_atomic_open(path, &f));
    lt_status s = write_lines(&f, header, t);
    if (!s) return lt_atomic_commit(&f);
    lt_atomic_cancel(&f);
    return s;
}
