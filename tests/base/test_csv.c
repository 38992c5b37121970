/* CSV files: what is read, and how every mistake is named. SPDX-License-Identifier: BSD-3-Clause */
#include "base/alloc.h"
#include "base/scratch.h"
#include "lathe/csv.h"
#include "lt_test.h"

static const char *file_of(const char *text, size_t n)
{
    const char *path = scratch("t.csv");
    FILE *f = fopen(path, "wb");
    fwrite(text, 1, n, f);
    fclose(f);
    return path;
}
#define FILE_OF(text) file_of(text, sizeof(text) - 1)

static lt_csv c;

LT_TEST(numbers_without_a_header)
{
    LT_CHECK_OK(lt_csv_read(FILE_OF("1,2.5\n-3e2, +4 \r\n\n \n"), NULL, &c));
    LT_CHECK_EQ_INT(c.n_rows, 2);
    LT_CHECK_EQ_INT(c.n_columns, 2);
    LT_CHECK(!c.column_name && !c.label);
    LT_CHECK(c.values[0] == 1 && c.values[1] == 2.5 && c.values[2] == -300 && c.values[3] == 4);
    lt_csv_free(&c);
    LT_CHECK_OK(lt_csv_read(FILE_OF("7"), NULL, &c)); /* no newline at the end */
    LT_CHECK(c.n_rows == 1 && c.n_columns == 1 && c.values[0] == 7);
    lt_csv_free(&c);
}

LT_TEST(header_and_labels_by_name_number_and_place)
{
    static const char text[] = "\xef\xbb\xbfwidth,\"kind, of \"\"it\"\"\",height\n1,cat,2\n3,\"dog\",4\n";
    const char *const by[] = { "kind, of \"it\"", "2" };
    for (int k = 0; k < 2; k++) {
        LT_CHECK_OK(lt_csv_read(FILE_OF(text), by[k], &c));
        LT_CHECK(c.n_rows == 2 && c.n_columns == 2);
        LT_CHECK(!strcmp(c.column_name[0], "width") && !strcmp(c.column_name[1], "height"));
        LT_CHECK(!strcmp(c.label[0], "cat") && !strcmp(c.label[1], "dog"));
        LT_CHECK(c.values[0] == 1 && c.values[1] == 2 && c.values[2] == 3 && c.values[3] == 4);
        lt_csv_free(&c);
    }
    LT_CHECK_OK(lt_csv_read(FILE_OF("1,2,yes\n3,4,no\n"), "last", &c)); /* a text label makes no header */
    LT_CHECK(c.n_rows == 2 && !c.column_name && !strcmp(c.label[0], "yes"));
    lt_csv_free(&c);
    LT_CHECK_OK(lt_csv_read(FILE_OF("0,1,y\n1,2,5\n"), "y", &c)); /* numbers as names */
    LT_CHECK(c.n_rows == 1 && !strcmp(c.column_name[1], "1") && !strcmp(c.label[0], "5"));
    lt_csv_free(&c);
}

LT_TEST(semicolons_and_tabs_separate_where_the_first_line_has_no_comma)
{
    const char *const texts[] = { "w;kind;h\n1;cat;2\n3;a,b;4\n", "w\tkind\th\n1\tcat\t 2\n3\t\"a,b\"\t4 \n", "\"w\",kind,h\n1,cat,2\n3,\"a,b\",4\n" };
    for (int k = 0; k < 3; k++) {
        LT_CHECK_OK(lt_csv_read(file_of(texts[k], strlen(texts[k])), "kind", &c));
        LT_CHECK(c.n_rows == 2 && c.n_columns == 2 && !strcmp(c.label[1], "a,b") && c.values[1] == 2 && c.values[3] == 4);
        lt_csv_free(&c);
    }
    LT_CHECK_OK(lt_csv_read(FILE_OF("\"a;b\",c\n1,2\n"), NULL, &c)); /* a separator in quotes is text */
    LT_CHECK(c.n_columns == 2 && !strcmp(c.column_name[0], "a;b"));
    lt_csv_free(&c);
    LT_CHECK_FAILS(lt_csv_read(FILE_OF("1\t\t2\n"), NULL, &c), LT_ERR_FORMAT, "column 2 is ''");
}

LT_TEST(a_lone_column_of_labels)
{
    LT_CHECK_OK(lt_csv_read(FILE_OF("class\n0\n1\n"), "1", &c));
    LT_CHECK(c.n_rows == 2 && c.n_columns == 0 && !strcmp(c.label[0], "0") && !strcmp(c.label[1], "1"));
    lt_csv_free(&c);
    LT_CHECK_OK(lt_csv_read(FILE_OF("a\nb\n"), "1", &c));
    LT_CHECK(c.n_rows == 2 && !strcmp(c.label[0], "a"));
    lt_csv_free(&c);
}

LT_TEST(mistakes_are_named)
{
    static const struct { const char *text; size_t n; const char *label, *part; } bad[] = {
#define BAD(text, label, part) { text, sizeof(text) - 1, label, part }
        BAD("", NULL, "empty"),
        BAD("\n\n", NULL, "empty"),
        BAD("a,b\n", NULL, "no rows"),
        BAD("1,2\n3\n", NULL, ":2: 1 columns, expected 2"),
        BAD("1,2\n3,4,5\n", NULL, ":2: 3 columns, expected 2"),
        BAD("w,h\n1,2\n3,x\n", NULL, ":3: column 2 ('h') is 'x', expected a finite decimal number"),
        BAD("1,2\n3,\n", NULL, ":2: column 2 is '', expected a finite decimal number"),
        BAD("1,2\n3,nan\n", NULL, "'nan'"),
        BAD("1,2\n3,inf\n", NULL, "'inf'"),
        BAD("1,2\n3,1e999\n", NULL, "'1e999'"),
        BAD("1,two\n3,4\n", NULL, ":1: column 2 is 'two'"),
        BAD("1,2;3\n", NULL, "separated by commas"),
        BAD("1;2\n3,4\n", NULL, ":2: 1 columns, expected 2"),
        BAD("a;b\n1,5;2\n", NULL, ":2: column 1 ('a') is '1,5', expected a finite decimal number; columns of this file are separated by semicolons"),
        BAD("a b\n1 2\n", NULL, ":2: column 1 ('a b') is '1 2', expected a finite decimal number; columns of this file are separated by commas"),
        BAD("1,2\n3,0x10\n", NULL, ":2: column 2 is '0x10', expected a finite decimal number"),
        BAD("0x10,0x11\n", NULL, ":1: column 1 is '0x10'"),
        BAD("nan,nan\n1,2\n", NULL, ":1: column 1 is 'nan'"), /* no header */
        BAD("1;\"2\"x\n", NULL, "expected semicolons between fields"),
        BAD("1,2\n\n3,4\n", NULL, ":2: an empty line"),
        BAD("1,\"2\n3,4\n", NULL, "does not end on its line"),
        BAD("1,\"2\"x\n", NULL, "follows a closing"),
        BAD("1,2\0\n3,4\n", NULL, "zero byte"),
        BAD("a,b\n1,2\n", "c", "no column is called 'c'"),
        BAD("a,a,b\n1,2,3\n", "a", "columns 1 and 2 are both called 'a'"),
        BAD("1,2\n", "3", "columns 1 to 2"),
        BAD("1,2\n", "0", "columns 1 to 2"),
        BAD("1,a\n2,\n", "2", "expected a label"),
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        LT_CHECK_FAILS(lt_csv_read(file_of(bad[i].text, bad[i].n), bad[i].label, &c), LT_ERR_FORMAT, bad[i].part);
        LT_CHECK(!c.values && !c.text && !c.label && !c.column_name);
    }
    LT_CHECK_FAILS(lt_csv_read(scratch("missing.csv"), NULL, &c), LT_ERR_IO, "missing.csv");
    LT_CHECK_FAILS(lt_csv_read(NULL, NULL, &c), LT_ERR_ARGUMENT, "NULL");
}

LT_TEST(what_is_written_is_read_back)
{
    const char *const cell[] = { "1", "a, \"b\"", "2.5", " c;d\te ", "-3", "\"" };
    const char *path = scratch("w.csv");
    LT_CHECK_OK(lt_csv_write(path, 3, 2, cell));
    LT_CHECK_OK(lt_csv_read(path, "2", &c));
    LT_CHECK(c.n_rows == 3 && c.n_columns == 1 && c.values[1] == 2.5);
    for (int i = 0; i < 3; i++) LT_CHECK(!strcmp(c.label[i], cell[2 * i + 1]));
    lt_csv_free(&c);
    LT_CHECK_FAILS(lt_csv_write(path, 1, 1, (const char *[]){ "a\nb" }), LT_ERR_ARGUMENT, "several lines");
    LT_CHECK_FAILS(lt_csv_write(path, 1, 0, cell), LT_ERR_ARGUMENT, "missing");
    LT_CHECK_OK(lt_csv_read(path, "2", &c)); /* a refused write leaves the old file */
    lt_csv_free(&c);
}

LT_TEST(failing_allocations_leave_nothing)
{
    static const char text[] = "a,b,c\n1,2,x\n3,4,y\n5,6,x\n";
    int64_t live = lt_alloc_live(), n = lt_alloc_count();
    LT_CHECK_OK(lt_csv_read(FILE_OF(text), "c", &c));
    n = lt_alloc_count() - n;
    lt_csv_free(&c);
    for (int64_t k = 1; k <= n; k++) {
        lt_alloc_fail_at(k);
        LT_CHECK(lt_csv_read(FILE_OF(text), "c", &c) == LT_ERR_MEMORY);
        lt_alloc_fail_at(0);
        LT_CHECK_EQ_INT(lt_alloc_live(), live);
    }
}

LT_TEST_MAIN()
