/* Spans, totals, counters, accounts, and what happens when buffers fill or memory runs out.
   SPDX-License-Identifier: BSD-3-Clause */
#include "lt_test.h"

#include "base/alloc.h"
#include "trace/clock.h"
#include "trace/trace.h"

#include <pthread.h>

static void spin(int64_t ns) { for (int64_t end = lt_clock_ns() + ns; lt_clock_ns() < end;) {} }

static const lt_trace_row *row_named(const lt_trace_row *rows, int64_t n, const char *name)
{
    for (int64_t i = 0; i < n; i++)
        if (strcmp(rows[i].name, name) == 0) return &rows[i];
    LT_TEST_FAIL("no row '%s'", name);
    static const lt_trace_row none;
    return &none;
}

LT_TEST(off_records_nothing)
{
    lt_trace_clear();
    lt_span s = lt_span_begin("idle");
    LT_CHECK(s == 0);
    lt_span_end(s);
    lt_trace_counter("idle", 1);
    LT_CHECK_EQ_INT(lt_trace_rows(LT_TRACE_TOTAL, NULL, 0), 0);
}

LT_TEST(self_time_leaves_out_what_is_nested)
{
    LT_CHECK_OK(lt_trace_start(NULL));
    for (int i = 0; i < 3; i++) {
        lt_span outer = lt_span_begin("outer");
        spin(200000);
        lt_span inner = lt_span_begin("inner");
        lt_span_note(inner, 100, "[2, 3]");
        spin(400000);
        lt_span_end(inner);
        lt_span_end(outer);
    }
    lt_trace_stop();
    lt_trace_row r[8];
    int64_t n = lt_trace_rows(LT_TRACE_TOTAL, r, 8);
    LT_CHECK_EQ_INT(n, 2);
    const lt_trace_row *o = row_named(r, n, "outer"), *in = row_named(r, n, "inner");
    LT_CHECK(o == &r[0]);
    LT_CHECK_EQ_INT(o->calls, 3);
    LT_CHECK_EQ_INT(in->bytes, 300);
    LT_CHECK(in->detail && strcmp(in->detail, "[2, 3]") == 0);
    LT_CHECK(in->min_ns >= 390000 && in->min_ns <= in->max_ns && in->total_ns >= 3 * in->min_ns);
    LT_CHECK(in->self_ns == in->total_ns);
    /* Exact in ticks; each conversion rounds by half a nanosecond. */
    LT_CHECK(llabs(o->total_ns - in->total_ns - o->self_ns) <= 2);
}

LT_TEST(ending_an_outer_span_ends_the_inner_ones)
{
    LT_CHECK_OK(lt_trace_start(NULL));
    lt_span outer = lt_span_begin("outer"), inner = lt_span_begin("inner");
    lt_span_end(outer);
    lt_span_end(inner); /* already closed: nothing happens */
    lt_span_end(outer);
    lt_trace_stop();
    lt_trace_row r[4];
    int64_t n = lt_trace_rows(LT_TRACE_NAME, r, 4);
    LT_CHECK_EQ_INT(n, 2);
    LT_CHECK(strcmp(r[0].name, "inner") == 0 && r[0].calls == 1 && r[1].calls == 1);
}

LT_TEST(spans_survive_stop_but_not_clear)
{
    LT_CHECK_OK(lt_trace_start(NULL));
    LT_CHECK_FAILS(lt_trace_start(NULL), LT_ERR_ARGUMENT, "already running");
    lt_span a = lt_span_begin("a");
    lt_trace_stop();
    lt_span_end(a);
    LT_CHECK_EQ_INT(lt_trace_rows(LT_TRACE_TOTAL, NULL, 0), 1);
    LT_CHECK_OK(lt_trace_start(NULL));
    lt_span b = lt_span_begin("b");
    lt_trace_clear();
    lt_span_end(b);
    lt_span_end(a);
    LT_CHECK_EQ_INT(lt_trace_rows(LT_TRACE_TOTAL, NULL, 0), 0);
    LT_CHECK(lt_trace_running());
    lt_trace_stop();
    LT_CHECK_FAILS(lt_trace_start(&(lt_trace_options){ .size = sizeof(lt_trace_options), .max_events = 0 }), LT_ERR_ARGUMENT, "max_events is 0");
}

LT_TEST(a_full_timeline_keeps_totals_exact_and_says_so)
{
    LT_CHECK_OK(lt_trace_start(&(lt_trace_options){ .size = sizeof(lt_trace_options), .max_events = 10 }));
    for (int i = 0; i < 1000; i++) lt_span_end(lt_span_begin("tick"));
    lt_trace_stop();
    lt_trace_row r[2];
    LT_CHECK_EQ_INT(lt_trace_rows(LT_TRACE_CALLS, r, 2), 1);
    LT_CHECK_EQ_INT(r[0].calls, 1000);
    LT_CHECK_EQ_INT(lt_trace_dropped(), 990);
    char *text = NULL; size_t bytes = 0;
    FILE *f = open_memstream(&text, &bytes);
    LT_CHECK_OK(lt_trace_print_table(f, LT_TRACE_SELF, 0));
    fclose(f);
    LT_CHECK(strstr(text, "990 entries did not fit"));
    LT_CHECK(strstr(text, "tick"));
    free(text);
}

LT_TEST(more_names_or_depth_than_fit_are_counted)
{
    static char name[400][8];
    LT_CHECK_OK(lt_trace_start(NULL));
    for (int i = 0; i < 400; i++) {
        snprintf(name[i], sizeof name[i], "n%d", i);
        lt_span_end(lt_span_begin(name[i]));
    }
    LT_CHECK_EQ_INT(lt_trace_rows(LT_TRACE_TOTAL, NULL, 0), 256);
    LT_CHECK_EQ_INT(lt_trace_dropped(), 144);
    lt_trace_clear();
    lt_span s[100];
    for (int i = 0; i < 100; i++) s[i] = lt_span_begin("deep");
    LT_CHECK(s[63] && !s[64]);
    lt_span_end(s[0]);
    lt_trace_stop();
    LT_CHECK_EQ_INT(lt_trace_dropped(), 36);
    lt_trace_row r;
    lt_trace_rows(LT_TRACE_TOTAL, &r, 1);
    LT_CHECK_EQ_INT(r.calls, 64);
}

LT_TEST(cpu_time_is_measured_when_asked)
{
    LT_CHECK_OK(lt_trace_start(&(lt_trace_options){ .size = sizeof(lt_trace_options), .max_events = 100, .cpu_time = true }));
    lt_span s = lt_span_begin("busy");
    int64_t end = lt_clock_thread_ns() + 2000000;
    while (lt_clock_thread_ns() < end) {}
    lt_span_end(s);
    lt_trace_stop();
    lt_trace_row r;
    LT_CHECK_EQ_INT(lt_trace_rows(LT_TRACE_CPU, &r, 1), 1);
    LT_CHECK(r.cpu_ns >= 2000000 && r.cpu_ns <= r.total_ns + 100000);
}

LT_TEST(memory_is_kept_by_owner_with_peaks)
{
    LT_CHECK_OK(lt_trace_start(NULL));
    lt_span s = lt_span_begin("work");
    lt_trace_memory("arena", 1000);
    lt_trace_memory("states", 300);
    lt_trace_memory("arena", 500);
    lt_trace_memory("arena", -1500);
    lt_span_end(s);
    lt_trace_memory("states", -9999); /* taken before: clamps at nothing */
    lt_trace_stop();
    lt_trace_memory_row m[4];
    LT_CHECK_EQ_INT(lt_trace_memory_rows(m, 4), 3);
    LT_CHECK(strcmp(m[0].owner, "(all)") == 0 && m[0].peak_bytes == 1800 && m[0].current_bytes == 0);
    LT_CHECK(strcmp(m[1].owner, "arena") == 0 && m[1].peak_bytes == 1500 && m[1].current_bytes == 0);
    LT_CHECK(strcmp(m[2].owner, "states") == 0 && m[2].peak_bytes == 300 && m[2].frees == 1);
    lt_trace_row r;
    lt_trace_rows(LT_TRACE_PEAK, &r, 1);
    LT_CHECK_EQ_INT(r.peak_bytes, 1800);
    char *text = NULL; size_t bytes = 0;
    FILE *f = open_memstream(&text, &bytes);
    LT_CHECK_OK(lt_trace_print_memory(f));
    fclose(f);
    LT_CHECK(strstr(text, "arena") && strstr(text, "1.46 KiB"));
    free(text);
}

LT_TEST(transfers_are_counted_by_direction_and_pinning)
{
    LT_CHECK_OK(lt_trace_start(NULL));
    lt_trace_transfer(LT_TRANSFER_H2D, true, 100);
    lt_trace_transfer(LT_TRANSFER_H2D, true, 50);
    lt_trace_transfer(LT_TRANSFER_D2H, false, 7);
    lt_trace_stop();
    lt_trace_transfer(LT_TRANSFER_D2H, false, 7);
    LT_CHECK_EQ_INT(lt_trace_transfers(LT_TRANSFER_H2D, true).bytes, 150);
    LT_CHECK_EQ_INT(lt_trace_transfers(LT_TRANSFER_H2D, true).count, 2);
    LT_CHECK_EQ_INT(lt_trace_transfers(LT_TRANSFER_H2D, false).count, 0);
    LT_CHECK_EQ_INT(lt_trace_transfers(LT_TRANSFER_D2H, false).bytes, 7);
    LT_CHECK_EQ_INT(lt_trace_transfers((lt_transfer)9, false).bytes, 0);
    char *text = NULL; size_t bytes = 0;
    FILE *f = open_memstream(&text, &bytes);
    LT_CHECK_OK(lt_trace_print_transfers(f));
    fclose(f);
    LT_CHECK(strstr(text, "pinned") && strstr(text, "150 B") && !strstr(text, "d2d"));
    free(text);
}

LT_TEST(columns_have_names)
{
    for (int c = 0; c < LT_TRACE_COLUMN_COUNT; c++) {
        lt_trace_column back;
        LT_CHECK(lt_trace_column_parse(lt_trace_column_name((lt_trace_column)c), &back) && (int)back == c);
    }
    lt_trace_column none;
    LT_CHECK(!lt_trace_column_parse("speed", &none) && !lt_trace_column_parse(NULL, &none));
    LT_CHECK(strcmp(lt_trace_column_name((lt_trace_column)99), "?") == 0);
}

LT_TEST(interned_names_are_shared)
{
    char text[] = "gram tile";
    const char *a = lt_trace_intern(text);
    text[0] = 'x';
    LT_CHECK(a && strcmp(a, "gram tile") == 0);
    LT_CHECK(lt_trace_intern("gram tile") == a);
    LT_CHECK(lt_trace_intern(NULL) == NULL);
}

/* ---- Threads --------------------------------------------------------------------- */
static void *record_many(void *arg)
{
    lt_trace_thread_name("worker");
    for (int i = 0; i < *(int *)arg; i++) {
        lt_span a = lt_span_begin("outer");
        lt_span_end(lt_span_begin("inner"));
        lt_trace_memory("arena", 8);
        lt_trace_memory("arena", -8);
        lt_trace_transfer(LT_TRANSFER_D2D, false, 1);
        lt_span_end(a);
    }
    return NULL;
}

LT_TEST(threads_record_while_others_report_and_clear)
{
    int n = 3000;
    pthread_t t[4];
    LT_CHECK_OK(lt_trace_start(&(lt_trace_options){ .size = sizeof(lt_trace_options), .max_events = 2000 }));
    for (int i = 0; i < 4; i++) pthread_create(&t[i], NULL, record_many, &n);
    for (int i = 0; i < 20; i++) {
        LT_CHECK_OK(lt_trace_write_chrome("trace_threads.json"));
        LT_CHECK(lt_trace_rows(LT_TRACE_TOTAL, NULL, 0) >= 0);
        if (i % 8 == 7) lt_trace_clear();
    }
    for (int i = 0; i < 4; i++) pthread_join(t[i], NULL);
    lt_trace_clear();
    for (int i = 0; i < 4; i++) pthread_create(&t[i], NULL, record_many, &n);
    for (int i = 0; i < 4; i++) pthread_join(t[i], NULL);
    lt_trace_stop();
    lt_trace_row r[2];
    LT_CHECK_EQ_INT(lt_trace_rows(LT_TRACE_CALLS, r, 2), 2);
    LT_CHECK_EQ_INT(r[0].calls, 12000);
    LT_CHECK_EQ_INT(r[1].calls, 12000);
    LT_CHECK_EQ_INT(lt_trace_transfers(LT_TRANSFER_D2D, false).bytes, 12000);
    /* Ended threads stay readable; two spans and two values each, 2000 kept per thread. */
    LT_CHECK_EQ_INT(lt_trace_dropped(), 4 * (4 * 3000 - 2000));
    remove("trace_threads.json");
}

LT_TEST(every_failing_allocation_is_survived)
{
    lt_trace_intern("arena"); /* kept for ever: not part of the balance below */
    lt_trace_clear();
    int64_t live = lt_alloc_live();
    for (int64_t at = 1; at < 12; at++) {
        lt_alloc_fail_at(at);
        if (lt_trace_start(NULL) == LT_OK) {
            lt_span s = lt_span_begin("a");
            lt_trace_memory("arena", 8);
            lt_span_end(s);
            lt_trace_stop();
            lt_trace_row r;
            (void)lt_trace_rows(LT_TRACE_TOTAL, &r, 1);
            lt_status st = lt_trace_write_chrome("trace_oom.json");
            LT_CHECK(st == LT_OK || st == LT_ERR_MEMORY);
        }
        lt_alloc_fail_at(0);
        lt_trace_clear();
        LT_CHECK_EQ_INT(lt_alloc_live(), live);
    }
    remove("trace_oom.json");
}

LT_TEST(ticks_agree_with_the_clock)
{
    lt_tick_scale scale = lt_clock_calibrate();
    int64_t ns0 = lt_clock_ns();
    uint64_t t0 = lt_clock_ticks();
    spin(5000000);
    int64_t ns1 = lt_clock_ns();
    uint64_t t1 = lt_clock_ticks();
    LT_CHECK_NEAR((double)(t1 - t0) * scale.ns_per_tick / (double)(ns1 - ns0), 1.0, 0.05);
}

LT_TEST_MAIN()
