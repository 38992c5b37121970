/* Structs that begin with their size, and option tables made of other tables: programs of an older and a newer library.
   SPDX-License-Identifier: BSD-3-Clause */
#include "lt_test.h"

#include "base/options.h"
#include "base/sized.h"
#include "base/status.h"

typedef struct thing { size_t size; int a, b; double c; } thing;
typedef struct old_thing { size_t size; int a, b; } old_thing;
typedef struct new_thing { size_t size; int a, b; double c, d; } new_thing;

LT_TEST(sizes_that_make_no_sense_are_refused)
{
    thing t = { 0 };
    LT_CHECK_FAILS(LT_CHECK_SIZE(thing, &t), LT_ERR_ARGUMENT, "thing: its size is 0: begin it with");
    t.size = sizeof(size_t);
    LT_CHECK_FAILS(LT_CHECK_SIZE(thing, &t), LT_ERR_ARGUMENT, "its size is 8");
    t.size = sizeof t + 1;
    LT_CHECK_FAILS(LT_CHECK_SIZE(thing, &t), LT_ERR_ARGUMENT, "made for a newer library");
    t.size = sizeof t;
    LT_CHECK_OK(LT_CHECK_SIZE(thing, &t));
    t.size = sizeof(size_t) + 1;
    LT_CHECK_OK(LT_CHECK_SIZE(thing, &t));
    LT_CHECK_OK(lt_sized_check("thing", NULL, sizeof t));
    (void)LT_CHECK_SIZE(thing, &(thing){ 0 });
    LT_CHECK(!strcmp(lt_error_get_place().name, "thing"));
}

LT_TEST(an_older_struct_keeps_the_other_defaults)
{
    thing t = { sizeof t, 1, 2, 3 };
    old_thing old = { sizeof old, 10, 20 };
    LT_CHECK_OK(lt_sized_take("thing", &old, &t));
    LT_CHECK(t.size == sizeof t && t.a == 10 && t.b == 20 && t.c == 3);
    LT_CHECK_OK(lt_sized_take("thing", NULL, &t));
    LT_CHECK(t.a == 10);
    new_thing newer = { sizeof newer, 5, 6, 7, 8 };
    LT_CHECK_FAILS(lt_sized_take("thing", &newer, &t), LT_ERR_ARGUMENT, "thing");
    LT_CHECK(t.a == 10 && t.c == 3);
}

LT_TEST(each_caller_gets_what_its_struct_holds)
{
    const thing from = { sizeof from, 1, 2, 3 };
    new_thing newer = { sizeof newer, -1, -1, -1, -1 };
    struct { old_thing old; int behind; } o = { { sizeof o.old, -1, -1 }, 77 };
    lt_sized_give(&newer, &from, sizeof from);
    LT_CHECK(newer.size == sizeof newer && newer.a == 1 && newer.b == 2 && newer.c == 3 && newer.d == 0);
    lt_sized_give(&o.old, &from, sizeof from);
    LT_CHECK(o.old.size == sizeof o.old && o.old.a == 1 && o.old.b == 2 && o.behind == 77);
    thing none = { 0, -1, -1, -1 };
    lt_sized_give(&none, &from, sizeof from);
    lt_sized_give(NULL, &from, sizeof from);
    LT_CHECK(none.size == 0 && none.a == -1);
}

/* ---- Tables of the library inside a program's --------------------------------------------------------- */
typedef struct inner { size_t size; int count; double rate; bool loud; int later; } inner;

static const lt_option inner_first[] = {
    LT_OPTION_INT(inner, count, "count", "4", LT_RANGE_CLOSED(1, 9), "N", "how many"),
    LT_OPTION_REAL(inner, rate, "rate", "0.5", LT_RANGE_OPEN(0, 1), "R", "how fast"),
};
static const lt_option inner_second[] = {
    LT_OPTION_BOOL(inner, loud, "loud", "true", "how loud"),
    LT_OPTION_INT(inner, later, "later", "3", LT_RANGE_ANY, "N", "what an older program has no room for"),
};
static const lt_option_group inner_groups[] = { { .rows = inner_first, .n_rows = 2 }, { .rows = inner_second, .n_rows = 2 } };
static const lt_option_table inner_table = { .program = "inner", .groups = inner_groups, .n_groups = 2 };
static const lt_option_table *get_inner(void) { return &inner_table; }

typedef struct outer { int own; lt_text_list words; inner part; } outer;

static const lt_option outer_rows[] = {
    LT_OPTION_INT(outer, own, "loud", "7", LT_RANGE_ANY, "N", "the program's own"),
    LT_OPTION_LIST(outer, words, "word", "W", "words"),
};

static const lt_option_group outer_groups[] = {
    { .rows = outer_rows, .n_rows = 2 },
    { .title = "Inner", LT_OPTIONS_OF(outer, part, get_inner), .except = "loud" },
};
static const lt_option_table outer_table = { .program = "outer", .groups = outer_groups, .n_groups = 2 };

LT_TEST(rows_of_the_library_are_found_through_the_programs_table)
{
    outer o;
    memset(&o, 0xff, sizeof o);
    LT_CHECK_OK(lt_options_defaults(&outer_table, &o));
    LT_CHECK(o.own == 7 && o.part.size == sizeof(inner) && o.part.count == 4 && o.part.rate == 0.5 && o.part.later == 3);
    LT_CHECK_OK(lt_options_set(&outer_table, "count", "9", &o));
    LT_CHECK_OK(lt_options_set(&outer_table, "loud", "11", &o)); /* the program's own row, not the library's */
    LT_CHECK(o.part.count == 9 && o.own == 11);
    LT_CHECK_FAILS(lt_options_set(&outer_table, "count", "10", &o), LT_ERR_ARGUMENT, "an integer in [1, 9]");
    LT_CHECK_FAILS(lt_options_set(&outer_table, "count", "3000000000", &o), LT_ERR_ARGUMENT, "count");
    LT_CHECK_FAILS(lt_options_set(&outer_table, "loud", "3000000000", &o), LT_ERR_ARGUMENT, "loud");
    LT_CHECK_FAILS(lt_options_set(&outer_table, "loud", "-3000000000", &o), LT_ERR_ARGUMENT, "loud");
    LT_CHECK_EQ_INT(o.own, 11);
    const lt_option_group *g = &outer_groups[1];
    const char *const names[] = { "count", "rate", "later" };
    for (int i = 0; i < 3; i++) LT_CHECK(!strcmp(lt_option_group_row(g, i)->name, names[i]));
    LT_CHECK(!lt_option_group_row(g, 3) && !lt_option_group_row(g, -1) && !lt_option_group_row(&outer_groups[0], 2));
}

LT_TEST(an_older_program_sees_the_rows_it_has_room_for)
{
    struct { int own; struct { size_t size; int count; double rate; } part; } o;
    const lt_option_group older[] = { { .base = offsetof(__typeof__(o), part), .table = get_inner, .size = sizeof o.part } };
    const lt_option_table t = { .program = "older", .groups = older, .n_groups = 1 };
    LT_CHECK_OK(lt_options_defaults(&t, &o));
    LT_CHECK(o.part.size == sizeof o.part && o.part.count == 4 && o.part.rate == 0.5);
    LT_CHECK(lt_option_group_row(older, 1) && !lt_option_group_row(older, 2));
    LT_CHECK_FAILS(lt_options_set(&t, "later", "1", &o), LT_ERR_ARGUMENT, "unknown option 'later'");
}

LT_TEST(values_read_back_as_texts_that_set_them)
{
    outer o;
    char text[64], small[4];
    LT_CHECK_OK(lt_options_defaults(&outer_table, &o));
    LT_CHECK_OK(lt_options_get(&outer_table, "word", &o, text, sizeof text));
    LT_CHECK(!text[0]);
    LT_CHECK_OK(lt_options_set(&outer_table, "word", "one", &o));
    LT_CHECK_OK(lt_options_set(&outer_table, "word", "two", &o));
    LT_CHECK_OK(lt_options_get(&outer_table, "word", &o, text, sizeof text));
    LT_CHECK(!strcmp(text, "one,two"));
    LT_CHECK_OK(lt_options_get(&outer_table, "word", &o, small, sizeof small));
    LT_CHECK(!strcmp(small, "one"));
    LT_CHECK_OK(lt_options_get(&outer_table, "rate", &o, text, sizeof text));
    LT_CHECK(!strcmp(text, "0.5"));
    LT_CHECK_OK(lt_options_get(&outer_table, "word", &o, NULL, 0));
    LT_CHECK_FAILS(lt_options_get(&outer_table, NULL, &o, text, sizeof text), LT_ERR_ARGUMENT, "name of an option");
    LT_CHECK_FAILS(lt_options_get(&outer_table, "word", NULL, text, sizeof text), LT_ERR_ARGUMENT, "the struct is NULL");
    LT_CHECK_FAILS(lt_options_get(&outer_table, "word", &o, NULL, 5), LT_ERR_ARGUMENT, "text is NULL");
    LT_CHECK_FAILS(lt_options_defaults(NULL, &o), LT_ERR_ARGUMENT, "the table is NULL");
    LT_CHECK_FAILS(lt_options_defaults(&outer_table, NULL), LT_ERR_ARGUMENT, "the struct is NULL");
    lt_option_expects(&outer_rows[0], small, 0);
    lt_option_expects(&outer_rows[0], text, sizeof text);
    LT_CHECK(!strcmp(text, "an integer"));
    static const struct { const lt_option *row; const char *want; } rows[] = {
        { &inner_second[0], "true or false" }, { &inner_first[0], "an integer in [1, 9]" }, { &inner_first[1], "a number in (0, 1)" }, { &outer_rows[1], "at most 64 texts" },
    };
    for (size_t i = 0; i < LT_LEN(rows); i++) {
        lt_option_expects(rows[i].row, text, sizeof text);
        if (strcmp(text, rows[i].want)) LT_TEST_FAIL("'%s', expected '%s'", text, rows[i].want);
    }
    LT_CHECK(!strcmp(lt_option_type_name(LT_OPTION_TYPE_LIST), "list") && !strcmp(lt_option_type_name(LT_OPTION_TYPE_COUNT), "?"));
}

LT_TEST_MAIN()
