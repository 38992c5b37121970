/* Option tables: defaults, checks, arguments, suggestions, help. SPDX-License-Identifier: BSD-3-Clause */
#include "lt_test.h"

#include "base/options.h"
#include "base/status.h"

#include <locale.h>

typedef enum mode { MODE_AUTO, MODE_FAST, MODE_EXACT } mode;
static const char *const mode_names[] = { "auto", "fast", "exact", NULL };

typedef struct common { bool quiet; const char *device; } common;
typedef struct options {
    int n_steps;
    int64_t limit_bytes;
    double rate, margin;
    float tolerance;
    mode how;
    bool checks;
    const char *out, *title;
    lt_text_list sets;
    common shared;
} options;

static const lt_option own_rows[] = {
    LT_OPTION_INT(options, n_steps, "steps", "100", LT_RANGE_CLOSED(1, 1000), "N", "number of steps", .letter = 'n'),
    LT_OPTION_INT(options, limit_bytes, "limit-bytes", "0", LT_AT_LEAST(0), "B", "memory limit; 0 for none"),
    LT_OPTION_REAL(options, rate, "rate", "0.1", LT_RANGE_OPEN_LO(0, 1), "R", "step length"),
    LT_OPTION_REAL(options, margin, "margin", "inf", LT_RANGE_CLOSED(0, INFINITY), "M", "safety margin", .alias = "slack_room"),
    LT_OPTION_REAL(options, tolerance, "tolerance", "1e-3", LT_ABOVE(0), "T", "when to stop"),
    LT_OPTION_ENUM(options, how, "mode", "fast", mode_names, "how to compute"),
    LT_OPTION_BOOL(options, checks, "checks", "true", "check the input first"),
    LT_OPTION_PATH(options, out, "out", NULL, "F.npy", "where the result goes", .letter = 'o'),
    LT_OPTION_STRING(options, title, "title", "untitled", "TEXT", "title of the report"),
    LT_OPTION_LIST(options, sets, "set", "NAME=VALUE", "set a solver option"),
};
static const lt_option common_rows[] = {
    LT_OPTION_BOOL(common, quiet, "quiet", "false", "say nothing", .letter = 'q'),
    LT_OPTION_STRING(common, device, "device", "auto", "NAME", "device to use"),
};
static const lt_option_group groups[] = {
    { .rows = own_rows, .n_rows = (int)LT_LEN(own_rows) },
    { .title = "Common", .rows = common_rows, .n_rows = (int)LT_LEN(common_rows), .base = offsetof(options, shared) },
};
static const lt_option_table table = {
    .program = "lathe fit", .summary = "Fits a thing.", .operands = "FILE [X0]", .min_operands = 1, .max_operands = 2,
    .groups = groups, .n_groups = 2, .example = "lathe fit --rate 0.5 problem.lt",
};

/* Parses a line split at blanks. */
static lt_status parse_line(const char *line, options *opt, lt_parsed *parsed)
{
    static char copy[4096];
    static char *argv[256];
    int argc = 0;
    snprintf(copy, sizeof copy, "%s", line);
    for (char *word = strtok(copy, " "); word; word = strtok(NULL, " ")) argv[argc++] = word;
    return lt_options_parse(&table, argc, argv, opt, parsed);
}

LT_TEST(defaults_come_from_the_table)
{
    options o;
    memset(&o, 0xff, sizeof o);
    LT_CHECK_OK(lt_options_defaults(&table, &o));
    LT_CHECK(o.n_steps == 100 && o.limit_bytes == 0 && o.rate == 0.1 && isinf(o.margin) && o.tolerance == 1e-3f);
    LT_CHECK(o.how == MODE_FAST && o.checks && !o.out && !strcmp(o.title, "untitled") && o.sets.n == 0);
    LT_CHECK(!o.shared.quiet && !strcmp(o.shared.device, "auto"));
}

LT_TEST(arguments_in_every_form)
{
    options o;
    lt_parsed p;
    LT_CHECK_OK(parse_line("a.lt --steps 7 --rate=0.5 -q --no-checks -oout.npy --mode exact b.npy --set a=1 --set=b=2", &o, &p));
    LT_CHECK(o.n_steps == 7 && o.rate == 0.5 && o.shared.quiet && !o.checks && o.how == MODE_EXACT);
    LT_CHECK(!strcmp(o.out, "out.npy") && o.sets.n == 2 && !strcmp(o.sets.item[1], "b=2"));
    LT_CHECK(p.n_operands == 2 && !strcmp(p.operand[0], "a.lt") && !strcmp(p.operand[1], "b.npy"));
    LT_CHECK_OK(parse_line("-qn 9 -o x --limit_bytes 9000000000 -- -odd", &o, &p));
    LT_CHECK(o.shared.quiet && o.n_steps == 9 && o.limit_bytes == 9000000000 && !strcmp(p.operand[0], "-odd"));
    LT_CHECK_OK(parse_line("- -1.5", &o, &p));
    LT_CHECK(p.n_operands == 2 && !strcmp(p.operand[0], "-") && !strcmp(p.operand[1], "-1.5"));
    LT_CHECK_OK(parse_line("x --checks=off --quiet=true", &o, &p));
    LT_CHECK(!o.checks && o.shared.quiet);
    LT_CHECK_OK(parse_line("--title -h x", &o, &p));
    LT_CHECK(!p.help && !strcmp(o.title, "-h")); /* a value may look like a flag */
    LT_CHECK_OK(parse_line("--stepz --help", &o, &p) == LT_ERR_ARGUMENT ? LT_OK : LT_ERR_INTERNAL);
    LT_CHECK_OK(parse_line("-h --stepz", &o, &p));
    LT_CHECK(p.help);
}

LT_TEST(bad_arguments_name_option_value_and_expectation)
{
    static const struct { const char *line, *text; } bad[] = {
        { "x --steps 0", "option 'steps' is '0': expected an integer in [1, 1000]" },
        { "x --steps 1001", "option 'steps' is '1001'" },
        { "x --steps 1.5", "option 'steps' is '1.5': expected an integer" },
        { "x --steps=", "option 'steps' is ''" },
        { "x --steps 99999999999999999999", "option 'steps' is '99999999999999999999'" },
        { "x --steps", "option 'steps' has no value: expected an integer in [1, 1000]" },
        { "x -n", "option 'steps' has no value" },
        { "x --rate 0", "option 'rate' is '0': expected a number in (0, 1]" },
        { "x --rate nan", "option 'rate' is 'nan'" },
        { "x --rate inf", "option 'rate' is 'inf'" },
        { "x --rate 1e999", "option 'rate' is '1e999'" },
        { "x --rate 0,5", "option 'rate' is '0,5'" },
        { "x --tolerance inf", "expected a number above 0" },
        { "x --margin -1", "expected a number in [0, inf]" },
        { "x --limit-bytes -1", "expected an integer of at least 0" },
        { "x --mode fats", "'fats' (did you mean 'fast'?): expected one of auto, fast, exact" },
        { "x --mode zzzzzz", "expected one of auto, fast, exact" },
        { "x --checks=maybe", "option 'checks' is 'maybe': expected true or false" },
        { "x --no-checks=1", "option 'no-checks' takes no value, got '1'" },
        { "x --no-steps", "unknown option 'no-steps'" },
        { "x --setps 3", "unknown option 'setps': did you mean 'steps'?" },
        { "x --dev cpu", "unknown option 'dev': did you mean 'device'?" },
        { "x --completely-different", "unknown option 'completely-different': see --help" },
        { "x -z", "unknown option '-z'" },
        { "x --out=", "option 'out' is '': expected a path" },
        { "", "lathe fit got 0 operands: expected FILE [X0]" },
        { "a b c", "unexpected argument 'c': lathe fit takes only FILE [X0]" },
        { "x --aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "unknown option 'aaaa" },
    };
    for (size_t i = 0; i < LT_LEN(bad); i++) {
        options o;
        lt_parsed p;
        LT_CHECK_FAILS(parse_line(bad[i].line, &o, &p), LT_ERR_ARGUMENT, bad[i].text);
    }
}

LT_TEST(lists_have_a_limit)
{
    options o;
    LT_CHECK_OK(lt_options_defaults(&table, &o));
    for (int i = 0; i < LT_TEXT_LIST_MAX; i++) LT_CHECK_OK(lt_options_set(&table, "set", "a=b", &o));
    LT_CHECK_FAILS(lt_options_set(&table, "set", "a=b", &o), LT_ERR_ARGUMENT, "at most 64");
}

LT_TEST(values_read_back_as_text_that_sets_them)
{
    options o, again;
    lt_parsed p;
    char text[64];
    LT_CHECK_OK(parse_line("x --rate 0.30000000000000004 --tolerance 0.25 --mode exact --no-checks --limit-bytes 12345678901", &o, &p));
    LT_CHECK_OK(lt_options_defaults(&table, &again));
    for (int g = 0; g < table.n_groups; g++)
        for (int i = 0; i < table.groups[g].n_rows; i++) {
            const lt_option *row = &table.groups[g].rows[i];
            if (row->type == LT_OPTION_TYPE_LIST || row->type == LT_OPTION_TYPE_PATH) continue;
            LT_CHECK_OK(lt_options_get(&table, row->name, &o, text, sizeof text));
            if (row->type != LT_OPTION_TYPE_STRING) LT_CHECK_OK(lt_options_set(&table, row->name, text, &again));
        }
    LT_CHECK(again.rate == o.rate && again.tolerance == o.tolerance && again.how == o.how && again.checks == o.checks);
    LT_CHECK(again.limit_bytes == o.limit_bytes && isinf(again.margin));
    LT_CHECK_OK(lt_options_get(&table, "limit_bytes", &o, text, 6));
    LT_CHECK(!strcmp(text, "12345"));
    LT_CHECK_FAILS(lt_options_get(&table, "nothing-here", &o, text, 6), LT_ERR_ARGUMENT, "unknown option");
}

LT_TEST(missing_arguments_are_refused)
{
    options o;
    LT_CHECK_OK(lt_options_defaults(&table, &o));
    LT_CHECK_FAILS(lt_options_set(&table, NULL, "1", &o), LT_ERR_ARGUMENT, "name of an option to set is NULL");
    LT_CHECK_FAILS(lt_options_set(&table, "steps", NULL, &o), LT_ERR_ARGUMENT, "value of an option to set is NULL");
    LT_CHECK_FAILS(lt_options_get(&table, NULL, &o, NULL, 0), LT_ERR_ARGUMENT, "name of an option to read is NULL");
    LT_CHECK_OK(lt_options_get(&table, "steps", &o, NULL, 0)); /* no room: nothing is written */
}

LT_TEST(bad_default_is_our_own_mistake)
{
    static const lt_option rows[] = { LT_OPTION_INT(options, n_steps, "steps", "x", LT_RANGE_ANY, "N", "steps") };
    static const lt_option_group one[] = { { .rows = rows, .n_rows = 1 } };
    options o;
    LT_CHECK_FAILS(lt_options_defaults(&(lt_option_table){ .program = "p", .groups = one, .n_groups = 1 }, &o),
                   LT_ERR_INTERNAL, "default of 'steps'");
}

LT_TEST(numbers_ignore_the_locale)
{
    static const char *const with_comma[] = { "de_DE.UTF-8", "fr_FR.UTF-8", "de_DE" };
    bool found = false;
    for (size_t i = 0; i < LT_LEN(with_comma) && !found; i++) found = setlocale(LC_ALL, with_comma[i]) != NULL;
    double v = 0;
    LT_CHECK(lt_text_real("0.5", &v) && v == 0.5);
    LT_CHECK(!lt_text_real("0,5", &v) && !lt_text_real(" 1", &v) && !lt_text_real("1 ", &v) && !lt_text_real("", &v));
    int64_t n;
    LT_CHECK(!lt_text_int("0x10", &n) && !lt_text_int(" 1", &n) && !lt_text_int("-", &n) && !lt_text_int("", &n));
    LT_CHECK(lt_text_int("-9223372036854775808", &n) && n == INT64_MIN);
    setlocale(LC_ALL, "C");
}

LT_TEST(help_shows_every_row_within_the_width)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *to = open_memstream(&text, &bytes);
    lt_options_help(&table, to);
    fclose(to);
    static const char *const parts[] = { "usage: lathe fit [options] FILE [X0]", "-n, --steps N", "[1, 1000]",
        "default 100", "--[no-]checks", "--mode NAME", "one of auto, fast, exact; default fast", "-q, --quiet",
        "may be given several times", "Common:", "--help", "lathe fit --rate 0.5 problem.lt" };
    for (size_t i = 0; i < LT_LEN(parts); i++)
        if (!strstr(text, parts[i])) LT_TEST_FAIL("help lacks '%s':\n%s", parts[i], text);
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) LT_CHECK(strlen(line) <= 100);
    free(text);
}

LT_TEST(nearest_name)
{
    static const char *const names[] = { "solve", "generate", "gram", "devices", "doctor" };
    static const struct { const char *word, *want; } table_of[] = {
        { "slove", "solve" }, { "gran", "gram" }, { "device", "devices" }, { "docter", "doctor" }, { "gen", "generate" },
        { "xyzzy", NULL }, { "", NULL }, { "s", NULL },
    };
    for (size_t i = 0; i < LT_LEN(table_of); i++) {
        const char *got = lt_text_nearest(table_of[i].word, names, 5);
        if (table_of[i].want ? !got || strcmp(got, table_of[i].want) : got != NULL)
            LT_TEST_FAIL("'%s' gave '%s'", table_of[i].word, got ? got : "nothing");
    }
}

LT_TEST(aliases_are_understood_and_shown)
{
    options opt = { 0 };
    LT_CHECK_OK(lt_options_set(&table, "slack-room", "2", &opt));
    LT_CHECK(opt.margin == 2);
    LT_CHECK_FAILS(lt_options_set(&table, "slack_rom", "2", &opt), LT_ERR_ARGUMENT, "did you mean 'slack_room'?");
    LT_CHECK(lt_error_get_place().kind == LT_PLACE_OPTION && !strcmp(lt_error_get_place().name, "slack_rom"));
    LT_CHECK_FAILS(lt_options_set(&table, "slack_room", "-2", &opt), LT_ERR_ARGUMENT, "option 'slack_room' is '-2'"); /* as the user called it */
    LT_CHECK(!strcmp(lt_error_get_place().name, "slack_room"));
    char page[8192] = "";
    FILE *to = fmemopen(page, sizeof page, "w");
    lt_options_help(&table, to);
    fclose(to);
    LT_CHECK(strstr(page, "slack_room)")); /* "also called" may stand on the line before */
}

LT_TEST_MAIN()
