/* Status names, error text, shapes, environment, allocation counting and arenas.
   SPDX-License-Identifier: BSD-3-Clause */
#include "lt_test.h"

#include "base/alloc.h"
#include "base/arena.h"
#include "base/config.h"
#include "base/status.h"

#include <pthread.h>

LT_TEST(version_is_the_three_numbers)
{
    char want[32];
    snprintf(want, sizeof want, "%d.%d.%d", LT_VERSION_MAJOR, LT_VERSION_MINOR, LT_VERSION_PATCH);
    LT_CHECK(!strcmp(lt_version(), want));
}

LT_TEST(every_status_has_its_own_name)
{
    for (int i = 0; i < LT_STATUS_COUNT; i++) {
        LT_CHECK(strlen(lt_status_name((lt_status)i)) > 1);
        for (int j = 0; j < i; j++) LT_CHECK(strcmp(lt_status_name((lt_status)i), lt_status_name((lt_status)j)));
    }
    LT_CHECK(!strcmp(lt_status_name((lt_status)-1), "?"));
    LT_CHECK(!strcmp(lt_status_name(LT_STATUS_COUNT), "?"));
}

LT_TEST(text_says_status_message_and_place)
{
    LT_CHECK_EQ_INT(lt_fail_at(LT_ERR_SHAPE, "src/x.c", 27, "got %d, expected %d", 3, 4), LT_ERR_SHAPE);
    LT_CHECK(!strcmp(lt_error_text(), "shape: got 3, expected 4 (src/x.c:27)"));
}

LT_TEST(text_from_outside_does_not_steer_a_terminal)
{
    char text[] = "a\x1b[31m\x07\x7f\tb\n\xc2\x9b \x9b \xe2\x80\xae \xe2\x81\xa6 \xe2\x80\x93 \xc3\xa9 \xff";
    lt_text_disarm(text);
    LT_CHECK(!strcmp(text, "a?[31m??\tb\n?? ? ??? ??? \xe2\x80\x93 \xc3\xa9 \xff"));
    lt_fail_at(LT_ERR_IO, "a.c", 1, "\x1b]0;title\x07: cannot open");
    LT_CHECK(!strcmp(lt_error_text(), "io: ?]0;title?: cannot open (a.c:1)"));
    lt_error_set("\x1b[2J");
    LT_CHECK(!strcmp(lt_error_text(), "?[2J"));
}

LT_TEST(text_may_quote_the_previous_text)
{
    lt_fail_at(LT_ERR_IO, "a.c", 1, "inner");
    lt_fail_at(LT_ERR_INTERNAL, "b.c", 2, "outer: %s", lt_error_text());
    LT_CHECK(!strcmp(lt_error_text(), "internal: outer: io: inner (a.c:1) (b.c:2)"));
}

LT_TEST(long_text_is_cut_but_keeps_its_place)
{
    char big[4000];
    memset(big, 'x', sizeof big);
    big[sizeof big - 1] = 0;
    lt_fail_at(LT_ERR_IO, "src/y.c", 99, "%s", big);
    size_t n = strlen(lt_error_text());
    LT_CHECK(n < LT_ERROR_TEXT_BYTES);
    LT_CHECK(!strcmp(lt_error_text() + n - 14, "x (src/y.c:99)"));
    lt_error_set(big);
    LT_CHECK_EQ_INT(strlen(lt_error_text()), LT_ERROR_TEXT_BYTES - 1);
}

LT_TEST(a_reason_has_neither_status_nor_place)
{
    static const struct { const char *text, *reason; } c[] = {
        { "memory: no room (src/y.c:99)", "no room" },
        { "no room (src/y.c:99)", "no room" },
        { "memory: no room (of two kinds: 7 and 8)", "no room (of two kinds: 7 and 8)" }, /* no place */
        { "memorable: so it is", "memorable: so it is" },
        { "device: lost (memory: none (a.c:1)): gone (src/b.c:2)", "lost (memory: none (a.c:1)): gone" },
        { "io: (src/y.c:99)", "(src/y.c:99)" },
        { "", "" },
    };
    for (size_t i = 0; i < LT_LEN(c); i++) {
        char reason[64];
        lt_error_set(c[i].text);
        lt_error_reason(reason, sizeof reason);
        if (strcmp(reason, c[i].reason)) LT_TEST_FAIL("'%s' of '%s', expected '%s'", reason, c[i].text, c[i].reason);
    }
    char small[5];
    lt_error_set("io: a long story (src/y.c:99)");
    lt_error_reason(small, sizeof small);
    LT_CHECK(!strcmp(small, "a lo"));
}

static void *other_thread(void *out)
{
    *(bool *)out = lt_error_text()[0] == 0;
    LT_FAIL(LT_ERR_IO, "of the other thread");
    return NULL;
}

LT_TEST(text_is_per_thread)
{
    LT_FAIL(LT_ERR_IO, "of the main thread");
    bool began_empty = false;
    pthread_t t;
    LT_CHECK(!pthread_create(&t, NULL, other_thread, &began_empty));
    pthread_join(t, NULL);
    LT_CHECK(began_empty);
    LT_CHECK(strstr(lt_error_text(), "main thread"));
}

LT_TEST(places_go_with_their_failure)
{
    lt_place_line(LT_FAIL(LT_ERR_FORMAT, "f.lt:3:7: no"), "f.lt", 3, 7);
    lt_error_place p = lt_error_get_place();
    LT_CHECK(p.kind == LT_PLACE_LINE && p.line == 3 && p.column == 7 && p.index == -1 && !strcmp(p.name, "f.lt"));
    lt_error kept;
    lt_error_keep(&kept);
    LT_FAIL(LT_ERR_IO, "another");
    LT_CHECK(lt_error_get_place().kind == LT_PLACE_NONE && !lt_error_get_place().name[0]);
    lt_error_restore(&kept);
    LT_CHECK(lt_error_get_place().line == 3 && strstr(lt_error_text(), "f.lt:3:7"));
    lt_place_again(LT_FAIL(LT_ERR_FORMAT, "while reading: %s", kept.text), &kept.place);
    LT_CHECK(lt_error_get_place().line == 3 && strstr(lt_error_text(), "while reading"));
    for (int k = 0; k < LT_PLACE_KIND_COUNT; k++) LT_CHECK(strlen(lt_place_kind_name((lt_place_kind)k)) > 2);
    LT_CHECK(!strcmp(lt_place_kind_name(LT_PLACE_KIND_COUNT), "?"));
}

/* ---- Shapes ------------------------------------------------------------------ */
LT_TEST(shape_counts_and_refuses_overflow)
{
    static const struct { lt_shape s; int64_t count; } table[] = {
        { { 0, { 0 } }, 1 },
        { { 1, { 7 } }, 7 },
        { { 3, { 2, 0, 5 } }, 0 },
        { { 2, { 3, -1 } }, -1 },
        { { 3, { 0, 3, -1 } }, -1 },
        { { 2, { INT64_MAX, 1 } }, INT64_MAX },
        { { 2, { INT64_MAX, 2 } }, -1 },
        { { 3, { INT64_MAX, 2, 0 } }, -1 },
        { { 8, { 2, 2, 2, 2, 2, 2, 2, 2 } }, 256 },
        { { 9, { 1 } }, -1 },
        { { -1, { 1 } }, -1 },
    };
    for (size_t i = 0; i < LT_LEN(table); i++) LT_CHECK_EQ_INT(lt_shape_count(&table[i].s), table[i].count);
}

LT_TEST(shape_makers_equality_and_text)
{
    lt_shape a = lt_shape3(2, 3, 4), b = lt_shape_of(3, (int64_t[]){ 2, 3, 4 }), c = lt_shape4(2, 3, 4, 1);
    LT_CHECK(lt_shape_equal(&a, &b));
    LT_CHECK(!lt_shape_equal(&a, &c));
    LT_CHECK(!strcmp(lt_shape_str(&a).s, "[2, 3, 4]"));
    lt_shape scalar = lt_shape0(), wide = { 8, { INT64_MIN, INT64_MIN, INT64_MIN, INT64_MIN,
                                                 INT64_MIN, INT64_MIN, INT64_MIN, INT64_MIN } };
    LT_CHECK(!strcmp(lt_shape_str(&scalar).s, "[]"));
    LT_CHECK(strlen(lt_shape_str(&wide).s) == 8 * 20 + 7 * 2 + 2);
    LT_CHECK_EQ_INT(lt_shape_of(99, (int64_t[]){ 1, 1, 1, 1, 1, 1, 1, 1 }).rank, LT_MAX_RANK);
    LT_CHECK_EQ_INT(lt_shape_of(-3, NULL).rank, 0);
    LT_CHECK_EQ_INT(lt_shape1(5).dim[0] + lt_shape2(5, 6).dim[1], 11);
}

/* ---- Environment --------------------------------------------------------------- */
LT_TEST(environment_values_are_checked)
{
    int64_t n = 0;
    unsetenv("LATHE_THREADS");
    LT_CHECK_OK(lt_config_int(LT_CONFIG_THREADS, 1, 64, 5, &n));
    LT_CHECK_EQ_INT(n, 5);
    setenv("LATHE_THREADS", "3", 1);
    LT_CHECK_OK(lt_config_int(LT_CONFIG_THREADS, 1, 64, 5, &n));
    LT_CHECK_EQ_INT(n, 3);
    static const char *const bad[] = { "0", "65", "3x", "x", "99999999999999999999", "-1", " " };
    for (size_t i = 0; i < LT_LEN(bad); i++) {
        setenv("LATHE_THREADS", bad[i], 1);
        LT_CHECK_FAILS(lt_config_int(LT_CONFIG_THREADS, 1, 64, 5, &n), LT_ERR_ARGUMENT, "LATHE_THREADS");
    }
    unsetenv("LATHE_THREADS");

    static const char *const names[] = { "plain", "avx2", "avx512" };
    int choice = -1;
    setenv("LATHE_ISA", "avx2", 1);
    LT_CHECK_OK(lt_config_choice(LT_CONFIG_ISA, names, 3, 2, &choice));
    LT_CHECK_EQ_INT(choice, 1);
    setenv("LATHE_ISA", "sse9", 1);
    LT_CHECK_FAILS(lt_config_choice(LT_CONFIG_ISA, names, 3, 2, &choice), LT_ERR_ARGUMENT, "'sse9': expected one of plain|avx2");
    unsetenv("LATHE_ISA");
}

LT_TEST(environment_rows_are_complete)
{
    int n;
    const lt_env_row *row = lt_env_rows(&n);
    LT_CHECK_EQ_INT(n, LT_CONFIG_COUNT);
    for (int i = 0; i < n; i++) LT_CHECK(row[i].name && row[i].metavar && row[i].fallback && row[i].help);
    setenv("LATHE_CACHE", "", 1);
    LT_CHECK(lt_env_value(&row[LT_CONFIG_CACHE]) == NULL);
    unsetenv("LATHE_CACHE");
}

LT_TEST(values_of_the_environment_are_judged_by_their_rows)
{
    static const struct { lt_config_id id; const char *value; bool right; } cases[] = {
        { LT_CONFIG_THREADS, "1", true },   { LT_CONFIG_THREADS, "1024", true },  { LT_CONFIG_THREADS, "0", false },  { LT_CONFIG_THREADS, "1025", false },
        { LT_CONFIG_THREADS, "x", false },  { LT_CONFIG_ISA, "plain", true },     { LT_CONFIG_ISA, "avx2", true },    { LT_CONFIG_ISA, "avx512", true },
        { LT_CONFIG_ISA, "avx", false },    { LT_CONFIG_ISA, "avx2|avx512", false }, { LT_CONFIG_ISA, "|", false },    { LT_CONFIG_BF16, "widen", true },
        { LT_CONFIG_BF16, "wide", false },  { LT_CONFIG_CUDA_EARLY, "0", true },  { LT_CONFIG_CUDA_EARLY, "yes", false }, { LT_CONFIG_CACHE, "/any|thing", true },
    };
    int n;
    const lt_env_row *row = lt_env_rows(&n);
    for (size_t i = 0; i < LT_LEN(cases); i++) {
        const lt_env_row *r = &row[cases[i].id];
        setenv(r->name, cases[i].value, 1);
        if (cases[i].right) LT_CHECK_OK(lt_env_check(r));
        else LT_CHECK_FAILS(lt_env_check(r), LT_ERR_ARGUMENT, r->name);
        unsetenv(r->name);
        LT_CHECK_OK(lt_env_check(r));
    }
}

/* ---- Allocation ------------------------------------------------------------------ */
LT_TEST(chosen_allocation_fails_and_only_that_one)
{
    int64_t live = lt_alloc_live(), made = lt_alloc_count();
    lt_alloc_fail_at(3);
    void *a = lt_malloc(1), *b = lt_calloc(2, 3), *c = lt_malloc_aligned(100), *d = lt_strdup("text");
    LT_CHECK(a && b && !c && d);
    LT_CHECK(strstr(lt_error_text(), "memory: no memory for 100 bytes"));
    LT_CHECK_EQ_INT(lt_alloc_count() - made, 4);
    LT_CHECK_EQ_INT(lt_alloc_live() - live, 3);
    lt_alloc_fail_at(1);
    LT_CHECK(lt_realloc(a, 1000) == NULL); /* and a is still ours */
    a = lt_realloc(a, 1000);
    LT_CHECK(a != NULL);
    lt_free(a), lt_free(b), lt_free(d), lt_free_aligned(c);
    LT_CHECK_EQ_INT(lt_alloc_live(), live);
    lt_alloc_fail_at(1);
    lt_alloc_fail_at(0);
    a = lt_malloc(0);
    LT_CHECK(a != NULL);
    lt_free(a);
}

LT_TEST(absurd_sizes_fail_cleanly)
{
    LT_CHECK(lt_calloc(SIZE_MAX / 2, 3) == NULL);
    LT_CHECK(lt_malloc_aligned(SIZE_MAX - 3) == NULL);
    lt_arena arena = { 0 };
    LT_CHECK(lt_arena_alloc(&arena, SIZE_MAX - 7) == NULL);
    lt_arena_release(&arena);
}

LT_TEST(aligned_memory_is_aligned)
{
    for (size_t bytes = 0; bytes < 300; bytes += 37) {
        void *p = lt_malloc_aligned(bytes);
        LT_CHECK(p && (uintptr_t)p % 64 == 0);
        lt_free_aligned(p);
    }
}

LT_TEST(arena_blocks_are_zero_aligned_and_apart)
{
    int64_t live = lt_alloc_live();
    lt_arena arena = { 0 };
    enum { N = 3000 };
    static unsigned char *p[N];
    for (int i = 0; i < N; i++) {
        size_t bytes = (size_t)(i * 7919 % 1500);
        p[i] = lt_arena_alloc(&arena, bytes);
        LT_CHECK(p[i] && (uintptr_t)p[i] % 16 == 0);
        for (size_t k = 0; k < bytes; k++)
            if (p[i][k]) { LT_TEST_FAIL("block %d not zero at %zu", i, k); break; }
        memset(p[i], i & 255 ? i & 255 : 1, bytes);
    }
    for (int i = 0; i < N; i++) /* nothing written later reached an earlier block */
        for (size_t k = 0; k < (size_t)(i * 7919 % 1500); k++)
            if (p[i][k] != (i & 255 ? i & 255 : 1)) { LT_TEST_FAIL("block %d overwritten", i); break; }
    LT_CHECK(arena.used_bytes <= arena.total_bytes);
    LT_CHECK(!strcmp(lt_arena_strdup(&arena, "name"), "name"));
    lt_arena_release(&arena);
    LT_CHECK_EQ_INT(lt_alloc_live(), live);
    LT_CHECK(lt_arena_alloc(&arena, 10) != NULL); /* usable again */
    lt_arena_release(&arena);
}

LT_TEST(arena_survives_each_failing_allocation)
{
    for (int at = 1; at <= 6; at++) {
        int64_t live = lt_alloc_live();
        lt_arena arena = { 0 };
        int n_failed = 0;
        lt_alloc_fail_at(at);
        for (int i = 0; i < 5; i++) n_failed += lt_arena_alloc(&arena, 2 << 20) == NULL; /* a block each */
        lt_alloc_fail_at(0);
        LT_CHECK_EQ_INT(n_failed, at <= 5);
        lt_arena_release(&arena);
        LT_CHECK_EQ_INT(lt_alloc_live(), live);
    }
}

LT_TEST(a_callbacks_text_stands_as_it_is)
{
    LT_CHECK_EQ_INT(lt_fail(LT_ERR_NUMERIC, "ValueError: no (user.py:3)"), LT_ERR_NUMERIC);
    LT_CHECK(!strcmp(lt_error_text(), "ValueError: no (user.py:3)"));
}

LT_TEST_MAIN()
