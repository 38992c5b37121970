/* Fuzz target: any text, split at newlines, as the arguments of a command.
   SPDX-License-Identifier: BSD-3-Clause */
#include "fuzz.h"

#include "lathe/options.h"

#include <string.h>

static const char *const modes[] = { "auto", "fast", "exact", NULL };
typedef struct options {
    int n;
    int64_t wide;
    double rate;
    float small;
    int mode;
    bool flag;
    const char *path, *text;
    lt_text_list list;
} options;
static const lt_option rows[] = {
    LT_OPTION_INT(options, n, "count", "1", LT_RANGE_CLOSED(1, 1000), "N", "a count", .letter = 'n'),
    LT_OPTION_INT(options, wide, "wide", "0", LT_RANGE_ANY, "N", "any integer"),
    LT_OPTION_REAL(options, rate, "rate", "0.5", LT_RANGE_OPEN(0, 1), "R", "a rate", .letter = 'r'),
    LT_OPTION_REAL(options, small, "small", "0", LT_RANGE_ANY, "R", "any number"),
    LT_OPTION_ENUM(options, mode, "mode", "auto", modes, "a mode"),
    LT_OPTION_BOOL(options, flag, "flag", "true", "a flag", .letter = 'f'),
    LT_OPTION_PATH(options, path, "path", NULL, "FILE", "a path"),
    LT_OPTION_STRING(options, text, "text", "none", "TEXT", "a text"),
    LT_OPTION_LIST(options, list, "list", "TEXT", "texts", .letter = 'l'),
};
static const lt_option_group groups[] = { { .rows = rows, .n_rows = (int)(sizeof rows / sizeof *rows) } };
static const lt_option_table table = { .program = "fuzz", .operands = "A B", .max_operands = 2, .groups = groups, .n_groups = 1 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    char *text = malloc(n_bytes + 1); /* exactly as long as it is: an overrun is seen */
    if (!text) return 0;
    if (n_bytes) memcpy(text, data, n_bytes);
    text[n_bytes] = 0;
    char *argv[300];
    int argc = 0;
    for (char *at = text; at && argc < 300;) {
        argv[argc++] = at;
        at = strchr(at, '\n');
        if (at) *at++ = 0;
    }
    options o;
    lt_parsed parsed;
    lt_status s = lt_options_parse(&table, argc, argv, &o, &parsed);
    LT_FUZZ_REQUIRE(s == LT_OK || (s == LT_ERR_ARGUMENT && !strncmp(lt_error_text(), "argument: ", 10)));
    /* Whatever was accepted satisfies its row, and reads back to the same value. */
    LT_FUZZ_REQUIRE(o.n >= 1 && o.n <= 1000 && o.rate > 0 && o.rate < 1 && o.mode >= 0 && o.mode < 3);
    LT_FUZZ_REQUIRE(o.list.n >= 0 && o.list.n <= LT_TEXT_LIST_MAX && parsed.n_operands <= argc);
    char value[64];
    double rate = o.rate;
    LT_FUZZ_REQUIRE(lt_options_get(&table, "rate", &o, value, sizeof value) == LT_OK);
    LT_FUZZ_REQUIRE(lt_options_set(&table, "rate", value, &o) == LT_OK && o.rate == rate);
    free(text);
    return 0;
}

size_t lt_fuzz_seed(int index, uint8_t *out, size_t capacity)
{
    static const char *const seeds[] = {
        "--count\n7\n--rate=0.25\nfile\n--no-flag", "-fn3\n-r\n0.5\n-lx\n-ly\n--\n-z", "--mode=fast\n--path\np\n--text=\n-",
        "--wide=-9223372036854775808\n--small\n1e30\n--help", "--list=a\n--list\nb\n--couunt\n3\n-1\n-.5",
    };
    if (index >= (int)(sizeof seeds / sizeof *seeds)) return 0;
    size_t n = strlen(seeds[index]);
    if (n > capacity) return 0;
    memcpy(out, seeds[index], n);
    return n;
}
