/* YAML trees: scalars, places, anchors, limits. SPDX-License-Identifier: BSD-3-Clause */
#include "lt_test.h"

#include "operators/config/yaml.h"

#include "base/status.h"

static lt_arena arena;
static lt_notes notes = { .arena = &arena };

static lt_status read_text(const char *text, lt_yaml_node **out) { return lt_yaml_read(&arena, text, strlen(text), "t", &notes, out); }

LT_TEST(scalars_mean_what_pyyaml_makes_of_them)
{
    static const struct { const char *text; lt_yaml_kind kind; double value; } cases[] = {
        { "", LT_YAML_NULL, 0 }, { "~", LT_YAML_NULL, 0 }, { "Null", LT_YAML_NULL, 0 }, { "nULL", LT_YAML_TEXT, 0 },
        { "yes", LT_YAML_BOOL, 1 }, { "Off", LT_YAML_BOOL, 0 }, { "TRUE", LT_YAML_BOOL, 1 }, { "y", LT_YAML_TEXT, 0 }, { "tRue", LT_YAML_TEXT, 0 },
        { "12", LT_YAML_INT, 12 }, { "-0", LT_YAML_INT, 0 }, { "+7", LT_YAML_INT, 7 }, { "1_000", LT_YAML_INT, 1000 }, { "0x1F", LT_YAML_INT, 31 },
        { "0b101", LT_YAML_INT, 5 }, { "010", LT_YAML_INT, 8 }, { "0o10", LT_YAML_TEXT, 0 }, { "_1", LT_YAML_TEXT, 0 },
        { "1.5", LT_YAML_REAL, 1.5 }, { ".5", LT_YAML_REAL, 0.5 }, { "5.", LT_YAML_REAL, 5 }, { "1e-3", LT_YAML_REAL, 1e-3 }, { "1.0e+3", LT_YAML_REAL, 1000 },
        { "-.inf", LT_YAML_REAL, -INFINITY }, { "inf", LT_YAML_TEXT, 0 }, { "nan", LT_YAML_TEXT, 0 }, { "0x1p3", LT_YAML_TEXT, 0 }, { "1e999", LT_YAML_TEXT, 0 },
        { "2025-12-29", LT_YAML_TEXT, 0 }, { "1.2.3", LT_YAML_TEXT, 0 }, { "e5", LT_YAML_TEXT, 0 }, { ".", LT_YAML_TEXT, 0 }, { "-", LT_YAML_TEXT, 0 },
        { "099", LT_YAML_REAL, 99 }, { "99999999999999999999", LT_YAML_REAL, 1e20 },
    };
    for (size_t i = 0; i < LT_LEN(cases); i++) {
        lt_yaml_node *n;
        LT_CHECK_OK(lt_yaml_scalar(&arena, cases[i].text, true, "t", &n));
        if (n->kind != cases[i].kind) LT_TEST_FAIL("'%s' is %s", cases[i].text, lt_yaml_kind_name(n->kind));
        if (n->kind == LT_YAML_BOOL) LT_CHECK_EQ_INT(n->integer, cases[i].value);
        if (n->kind == LT_YAML_INT || n->kind == LT_YAML_REAL) LT_CHECK_NEAR(n->real, cases[i].value, 1e-15);
        LT_CHECK_OK(lt_yaml_scalar(&arena, cases[i].text, false, "t", &n));
        LT_CHECK(n->kind == LT_YAML_TEXT); /* in quotes it is a text in any case */
    }
    lt_arena_release(&arena);
}

LT_TEST(blocks_flows_and_quotes_give_the_same_tree)
{
    lt_yaml_node *a = NULL, *b = NULL;
    LT_CHECK_OK(read_text("x:\n  - 1\n  - 'two'\n  - {y: true, \"z\": null}  # comment\ntext: |\n  two\n  lines\npath: .NAN\n", &a));
    LT_CHECK_OK(read_text("{\"x\":[1,\"two\",{\"y\":true,\"z\":null}],\"text\":\"two\\nlines\\n\",\"path\":\".NAN\"}", &b)); /* JSON has no NaN */
    lt_json *j[2];
    for (int i = 0; i < 2; i++) {
        LT_CHECK_OK(lt_json_create(LT_JSON_COMPACT, &j[i]));
        lt_yaml_json(i ? b : a, j[i]);
        LT_CHECK_OK(lt_json_finish(j[i]));
    }
    LT_CHECK(!strcmp(lt_json_text(j[0]), lt_json_text(j[1])));
    const lt_yaml_node *z = lt_yaml_member(a->first->last, "z");
    LT_CHECK(z && z->line == 4 && z->column == 20 && !strcmp(lt_yaml_place(z).s, "t:4:20"));
    for (int i = 0; i < 2; i++) lt_json_destroy(j[i]);
    lt_arena_release(&arena);
}

LT_TEST(anchors_are_copied_and_merge_keys_fill_what_is_missing)
{
    lt_yaml_node *n = NULL;
    LT_CHECK_OK(read_text("base: &b {x: 1, y: 2}\nuse: {<<: *b, y: 3}\nlist: [*b, *b]\nmany: {<<: [*b, {z: 9}]}\n", &n));
    LT_CHECK_EQ_INT(lt_yaml_member(lt_yaml_member(n, "use"), "x")->integer, 1);
    LT_CHECK_EQ_INT(lt_yaml_member(lt_yaml_member(n, "use"), "y")->integer, 3);
    LT_CHECK_EQ_INT(lt_yaml_member(lt_yaml_member(n, "many"), "z")->integer, 9);
    LT_CHECK(lt_yaml_member(n, "list")->first != lt_yaml_member(n, "list")->last && lt_yaml_member(n, "list")->count == 2);
    lt_arena_release(&arena);
}

LT_TEST(documents_cannot_grow_without_end)
{
    lt_yaml_node *n = NULL;
    char text[4096] = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
    for (int i = 1; i < 12; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "a%d: &a%d [*a%d, *a%d, *a%d, *a%d, *a%d, *a%d, *a%d, *a%d]\n", i, i, i - 1, i - 1,
                 i - 1, i - 1, i - 1, i - 1, i - 1, i - 1);
    LT_CHECK_FAILS(read_text(text, &n), LT_ERR_FORMAT, "more than 20000 nodes");
    lt_arena_release(&arena);
    char deep[200] = { 0 };
    memset(deep, '[', 100);
    LT_CHECK_FAILS(read_text(deep, &n), LT_ERR_FORMAT, "nested deeper than 32");
    lt_arena_release(&arena);
    strcpy(text, "a0: &a0 [[[[[[[[[[x]]]]]]]]]]\n"); /* depth through aliases counts too */
    for (int i = 1; i < 5; i++) snprintf(text + strlen(text), sizeof text - strlen(text), "a%d: &a%d [[[[[[[[[[*a%d]]]]]]]]]]\n", i, i, i - 1);
    LT_CHECK_FAILS(read_text(text, &n), LT_ERR_FORMAT, "nested deeper than 32");
    lt_arena_release(&arena);
    char *large = calloc(1, LT_YAML_MAX_BYTES + 2);
    memset(large, ' ', LT_YAML_MAX_BYTES + 1);
    LT_CHECK_FAILS(read_text(large, &n), LT_ERR_FORMAT, "at most 1048576");
    free(large);
    lt_arena_release(&arena);
    LT_CHECK_FAILS(read_text("a: &a [*a]", &n), LT_ERR_FORMAT, "stands for nothing"); /* no loops */
    lt_arena_release(&arena);
}

LT_TEST(a_key_given_twice_counts_the_second_time_with_a_note)
{
    lt_yaml_node *n = NULL;
    notes.n = notes.capacity = 0;
    LT_CHECK_OK(read_text("a: 1\nb: 2\na: 3\n", &n));
    LT_CHECK_EQ_INT(lt_yaml_member(n, "a")->integer, 3);
    LT_CHECK(notes.n == 1 && strstr(notes.line[0], "t:3:4: key 'a' was already given at line 1"));
    LT_CHECK_EQ_INT(n->count, 2);
    lt_arena_release(&arena);
    notes.n = notes.capacity = 0;
}

LT_TEST_MAIN()
