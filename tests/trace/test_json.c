/* The JSON writer: escaping, numbers, layout, misuse. SPDX-License-Identifier: BSD-3-Clause */
#include "lt_test.h"

#include "base/alloc.h"
#include "base/status.h"
#include "lathe/json.h"
#include "trace/trace.h"

#include <float.h>

static const char *quoted(const char *text)
{
    static char buffer[256];
    lt_json *j;
    if (lt_json_create(LT_JSON_COMPACT, &j)) return "";
    lt_json_string(j, text);
    LT_CHECK_OK(lt_json_finish(j));
    snprintf(buffer, sizeof buffer, "%s", lt_json_text(j));
    lt_json_destroy(j);
    return buffer;
}

LT_TEST(strings_are_escaped)
{
    static const struct { const char *in, *out; } c[] = {
        { "", "\"\"" }, { "plain", "\"plain\"" }, { "a\"b\\c/", "\"a\\\"b\\\\c/\"" },
        { "\b\f\n\r\t", "\"\\b\\f\\n\\r\\t\"" }, { "\x01\x1f\x7f", "\"\\u0001\\u001f\x7f\"" },
        { "\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80", "\"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80\"" },
        { "\xff", "\"\xef\xbf\xbd\"" }, { "a\xc3", "\"a\xef\xbf\xbd\"" },
        { "\xc0\xaf", "\"\xef\xbf\xbd\xef\xbf\xbd\"" },                     /* overlong */
        { "\xed\xa0\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"" },     /* surrogate */
        { "\xf4\x90\x80\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"" },
        { NULL, "null" },
    };
    for (size_t i = 0; i < LT_LEN(c); i++)
        if (strcmp(quoted(c[i].in), c[i].out)) LT_TEST_FAIL("case %zu: %s, expected %s", i, quoted(c[i].in), c[i].out);
}

LT_TEST(doubles_are_short_and_read_back)
{
    static const struct { double v; const char *text; } c[] = {
        { 0, "0" }, { -0.0, "-0" }, { 1, "1" }, { 0.1, "0.1" }, { 1.0 / 3, "0.3333333333333333" },
        { 1e300, "1e+300" }, { 12.345, "12.345" }, { NAN, "nan" }, { INFINITY, "inf" }, { -INFINITY, "-inf" },
    };
    char b[32];
    for (size_t i = 0; i < LT_LEN(c); i++) {
        LT_CHECK_EQ_INT(lt_double_text(c[i].v, b), strlen(c[i].text));
        if (strcmp(b, c[i].text)) LT_TEST_FAIL("%s, expected %s", b, c[i].text);
    }
    static const double hard[] = { DBL_MIN, DBL_MAX, DBL_TRUE_MIN, 5e-324, 0.1 + 0.2, 9007199254740993.0, 2.2250738585072011e-308 };
    for (size_t i = 0; i < LT_LEN(hard); i++) {
        lt_double_text(hard[i], b);
        LT_CHECK(strtod(b, NULL) == hard[i]);
    }
}

static void write_sample(lt_json *j)
{
    lt_json_object_begin(j);
    lt_json_field_string(j, "name", "x");
    lt_json_field_int(j, "n", INT64_MIN);
    lt_json_field_bool(j, "ok", true);
    lt_json_key(j, "list");
    lt_json_array_begin(j);
    lt_json_double(j, 0.5);
    lt_json_double(j, NAN);
    lt_json_array_begin(j);
    lt_json_array_end(j);
    lt_json_object_begin(j);
    lt_json_object_end(j);
    lt_json_array_end(j);
    lt_json_object_end(j);
}

LT_TEST(layouts)
{
    lt_json *j;
    LT_CHECK_OK(lt_json_create(LT_JSON_COMPACT, &j));
    write_sample(j);
    LT_CHECK_OK(lt_json_finish(j));
    LT_CHECK(strcmp(lt_json_text(j), "{\"name\":\"x\",\"n\":-9223372036854775808,\"ok\":true,\"list\":[0.5,null,[],{}]}") == 0);
    lt_json_destroy(j);
    LT_CHECK_OK(lt_json_create(LT_JSON_INDENT | LT_JSON_NONFINITE_TEXT, &j));
    write_sample(j);
    LT_CHECK_OK(lt_json_finish(j));
    LT_CHECK(strcmp(lt_json_text(j), "{\n  \"name\": \"x\",\n  \"n\": -9223372036854775808,\n  \"ok\": true,\n"
                                     "  \"list\": [\n    0.5,\n    \"NaN\",\n    [],\n    {}\n  ]\n}") == 0);
    lt_json_destroy(j);
}

static void value_without_key(lt_json *j) { lt_json_object_begin(j); lt_json_int(j, 1); }
static void key_in_array(lt_json *j) { lt_json_array_begin(j); lt_json_key(j, "k"); }
static void two_keys(lt_json *j) { lt_json_object_begin(j); lt_json_key(j, "a"); lt_json_key(j, "b"); }
static void wrong_end(lt_json *j) { lt_json_object_begin(j); lt_json_array_end(j); }
static void end_at_top(lt_json *j) { lt_json_object_end(j); }
static void key_then_end(lt_json *j) { lt_json_object_begin(j); lt_json_key(j, "a"); lt_json_object_end(j); }
static void two_documents(lt_json *j) { lt_json_int(j, 1); lt_json_int(j, 2); }
static void unfinished(lt_json *j) { lt_json_array_begin(j); }
static void nothing(lt_json *j) { (void)j; }
static void too_deep(lt_json *j) { for (int i = 0; i < 100; i++) lt_json_array_begin(j); }

LT_TEST(misuse_is_reported_once_at_the_end)
{
    static const struct { void (*write)(lt_json *); const char *text; } c[] = {
        { value_without_key, "without a key" }, { key_in_array, "key where none" }, { two_keys, "key where none" },
        { wrong_end, "matches no begin" }, { end_at_top, "matches no begin" }, { key_then_end, "matches no begin" },
        { two_documents, "second value" }, { unfinished, "not complete" }, { nothing, "not complete" }, { too_deep, "deeper" },
    };
    for (size_t i = 0; i < LT_LEN(c); i++) {
        lt_json *j;
        LT_CHECK_OK(lt_json_create(LT_JSON_COMPACT, &j));
        c[i].write(j);
        if (c[i].write != nothing) lt_json_int(j, 3); /* after a failure: ignored */
        LT_CHECK_FAILS(lt_json_finish(j), LT_ERR_INTERNAL, c[i].text);
        lt_json_destroy(j);
    }
    lt_json_destroy(NULL);
}

LT_TEST(a_full_disk_is_an_error)
{
    FILE *full = fopen("/dev/full", "w");
    if (!full) LT_SKIP("no /dev/full here");
    lt_json *j;
    LT_CHECK_OK(lt_json_create_file(full, LT_JSON_COMPACT, &j));
    write_sample(j);
    LT_CHECK_FAILS(lt_json_finish(j), LT_ERR_IO, "cannot write: No space left on device");
    lt_json_destroy(j);
    fclose(full);
}

LT_TEST(every_failing_allocation_is_survived)
{
    int64_t live = lt_alloc_live();
    for (int64_t at = 1; at < 8; at++) {
        lt_alloc_fail_at(at);
        lt_json *j;
        lt_status s = lt_json_create(LT_JSON_COMPACT, &j);
        if (!s) {
            write_sample(j);
            s = lt_json_finish(j);
            lt_json_destroy(j);
        }
        lt_alloc_fail_at(0);
        LT_CHECK(s == LT_OK || s == LT_ERR_MEMORY);
        LT_CHECK_EQ_INT(lt_alloc_live(), live);
    }
}

/* ---- The Chrome trace ----------------------------------------------------------------- */
static char *read_all(const char *path)
{
    FILE *f = fopen(path, "r");
    if (!f) return NULL;
    char *text = calloc(1, 1 << 20);
    if (fread(text, 1, (1 << 20) - 1, f) == 0) { free(text); text = NULL; }
    fclose(f);
    return text;
}

LT_TEST(the_chrome_trace_holds_every_kind_of_entry)
{
    LT_CHECK_OK(lt_trace_start(&(lt_trace_options){ .size = sizeof(lt_trace_options), .max_events = 6 }));
    lt_trace_thread_name("main \"loop\"");
    lt_span a = lt_span_begin("outer\n");
    lt_span_note(a, 64, "[4, 4]");
    lt_span_end(lt_span_begin("inner"));
    lt_span_end(a);
    lt_trace_counter("queue", 3);
    lt_trace_memory("arena", 4096);
    lt_trace_device_span("cuda:0 stream 1", "matmul", 1, 2000);
    for (int i = 0; i < 3; i++) lt_trace_counter("queue", i);
    lt_trace_stop();
    LT_CHECK_OK(lt_trace_write_chrome("trace_chrome.json"));
    char *t = read_all("trace_chrome.json");
    LT_CHECK(t != NULL);
    if (!t) return;
    static const char *const want[] = {
        "{\"traceEvents\":[", "\"name\":\"thread_name\",\"pid\":1,\"tid\":1,\"args\":{\"name\":\"main \\\"loop\\\"\"}",
        "\"ph\":\"X\",\"name\":\"outer\\n\",\"cat\":\"lathe\",\"pid\":1,\"tid\":1,\"ts\":", "\"dur\":",
        "\"args\":{\"bytes\":64,\"detail\":\"[4, 4]\"}", "\"ph\":\"C\",\"name\":\"queue\"", "\"args\":{\"value\":3}",
        "\"name\":\"memory: arena\"", "\"args\":{\"bytes\":4096}", "\"name\":\"cuda:0 stream 1\"", "\"dur\":2}",
        "2 entries dropped", "\"dropped\":2",
    };
    for (size_t i = 0; i < LT_LEN(want); i++)
        if (!strstr(t, want[i])) LT_TEST_FAIL("lacks %s", want[i]);
    LT_CHECK(strchr(t, '\n') == t + strlen(t) - 1);
    free(t);
    LT_CHECK_FAILS(lt_trace_write_chrome("no/such/folder/t.json"), LT_ERR_IO, "no/such/folder/t.json");
    LT_CHECK_FAILS(lt_trace_write_chrome(""), LT_ERR_ARGUMENT, "no path");
    remove("trace_chrome.json");
}

LT_TEST_MAIN()
