/* JSON that is read: values found by their keys, and every mistake with its line. SPDX-License-Identifier: BSD-3-Clause */
#include "base/alloc.h"
#include "base/files/json_read.h"
#include "lathe/json.h"
#include "lt_test.h"

#define CHECK(text) lt_json_check("t.json", text, sizeof(text) - 1)

LT_TEST(values_are_found)
{
    static const char text[] = " {\"a\": [1, [2.5, -3e2]], \"b\\\"c\": {\"d\": \"x]\\\\\"}, \"e\": [\"NaN\", \"-Infinity\", \"Infinity\"], \"f\": null, \"g\": [ ], \"h\": {}}\n";
    double v[3];
    const char *key;
    size_t bytes;
    lt_json_at value;
    LT_CHECK_OK(CHECK(text));
    lt_json_at root = text + 1;
    LT_CHECK_EQ_INT(lt_json_count(lt_json_member(root, "a")), 3);
    lt_json_numbers(lt_json_member(root, "a"), v);
    LT_CHECK(v[0] == 1 && v[1] == 2.5 && v[2] == -300);
    LT_CHECK_EQ_INT(lt_json_count(lt_json_member(root, "e")), 3);
    lt_json_numbers(lt_json_member(root, "e"), v);
    LT_CHECK(isnan(v[0]) && v[1] == -INFINITY && v[2] == INFINITY);
    LT_CHECK_EQ_INT(lt_json_count(lt_json_member(root, "f")), -1);
    LT_CHECK_EQ_INT(lt_json_count(lt_json_member(root, "g")), 0);
    LT_CHECK_EQ_INT(lt_json_count(lt_json_member(root, "h")), -1);
    LT_CHECK(!lt_json_member(root, "d") && !lt_json_member(root, "") && !lt_json_member(lt_json_member(root, "a"), "a"));
    LT_CHECK(lt_json_key_at(root, 1, &key, &bytes, &value) && bytes == 4 && !memcmp(key, "b\\\"c", 4) && *lt_json_member(value, "d") == '"');
    LT_CHECK(!lt_json_key_at(root, 6, &key, &bytes, &value));
}

LT_TEST(what_is_no_json_is_refused_with_its_line)
{
    LT_CHECK_FAILS(CHECK(""), LT_ERR_FORMAT, "t.json:1: no JSON: the file ends early");
    LT_CHECK_FAILS(CHECK("{\"a\": 1,\n\"b\": [1, 2"), LT_ERR_FORMAT, "t.json:2: no JSON: the file ends early");
    LT_CHECK_FAILS(CHECK("{\"a\": 1,\n\"b\": [1 2]}"), LT_ERR_FORMAT, "t.json:2: no JSON: '2]}'");
    LT_CHECK_FAILS(CHECK("{a: 1}"), LT_ERR_FORMAT, "'a: 1}'");
    LT_CHECK_FAILS(CHECK("[1, nan]"), LT_ERR_FORMAT, "'nan]'");
    LT_CHECK_FAILS(CHECK("[1, 0x10]"), LT_ERR_FORMAT, "'0x10]'");
    LT_CHECK_FAILS(CHECK("[1, 2] 3"), LT_ERR_FORMAT, "'3'");
    LT_CHECK_FAILS(CHECK("[1, \"a\nb\"]"), LT_ERR_FORMAT, "t.json:1");
    LT_CHECK_FAILS(CHECK("[1, 2]\0"), LT_ERR_FORMAT, "no JSON");
    char deep[300];
    memset(deep, '[', 200), deep[200] = 0;
    LT_CHECK_FAILS(lt_json_check("deep", deep, 200), LT_ERR_FORMAT, "deep:1");
}

/* Every text that is cut is refused, and what is changed never reads beyond its end (sanitizers see to that). */
LT_TEST(cut_and_changed_texts)
{
    static const char text[] = "{\"a\": [1, [2.5, -3e2]], \"b\": {\"d\": \"x]\\\\\"}, \"e\": [\"NaN\", true], \"f\": null}";
    const size_t n = sizeof text - 1;
    int taken = 0;
    for (size_t k = 0; k < n; k++) {
        char *cut = malloc(k + 1);
        memcpy(cut, text, k), cut[k] = 0;
        LT_CHECK(lt_json_check("cut", cut, k) == LT_ERR_FORMAT);
        free(cut);
    }
    for (size_t k = 0; k < n; k++)
        for (int c = 0; c < 256; c++) {
            char *changed = malloc(n + 1);
            memcpy(changed, text, n + 1), changed[k] = (char)c;
            if (!lt_json_check("changed", changed, n)) taken++, (void)lt_json_count(lt_json_member(changed, "e"));
            free(changed);
        }
    LT_CHECK(taken > 100);
}

LT_TEST(what_lathe_writes_is_read)
{
    lt_json *j;
    const double written[] = { 0.1, -0.0, 1e-300, 123456789.123, 7 };
    double read[5];
    LT_CHECK_OK(lt_json_create(LT_JSON_INDENT, &j));
    lt_json_object_begin(j);
    lt_json_key(j, "v");
    lt_json_array_begin(j);
    for (int i = 0; i < 5; i++) lt_json_double(j, written[i]);
    lt_json_array_end(j);
    lt_json_object_end(j);
    LT_CHECK_OK(lt_json_finish(j));
    const char *text = lt_json_text(j);
    LT_CHECK_OK(lt_json_check("own", text, strlen(text)));
    LT_CHECK_EQ_INT(lt_json_count(lt_json_member(text, "v")), 5);
    lt_json_numbers(lt_json_member(text, "v"), read);
    LT_CHECK(!memcmp(read, written, sizeof read));
    lt_json_destroy(j);
}

LT_TEST_MAIN()
